//! Channels: the ways in which a question reaches a person.
//!
//! A channel gets a [`Message`], which holds all that is sent, and hands it to one recipient. It decides nothing about the
//! question: the server decides when to send, to which recipient, and the effect of a failure on the question. A channel
//! only says whether another try can help.
#![warn(missing_docs)]

mod alert;
mod checkpoint;
mod columns;
mod compose;
mod email;
#[cfg(test)]
mod german;
mod login;
mod memory;
mod message;
mod rendered;
mod session;
mod smtp_server;
mod webhook;

use std::time::Duration;

use async_trait::async_trait;

pub use self::{
    alert::AlertMail,
    checkpoint::{CheckpointMail, CheckpointPost},
    email::{DELIVERY_TIMEOUT, EmailChannel, EmailSettings},
    login::{LoginMail, Postbox},
    memory::{MAILS_KEPT_MAX, MemoryMailbox, StoredMail, Withheld},
    message::{Answers, Message, Occasion},
    rendered::{RenderError, Rendered, render},
    session::SessionError,
    smtp_server::SettingsError,
    webhook::{
        KnownBy, MESSAGE_ID_MAX, Notification, NotificationData, Refusal, SIGNED_WITHIN_SECONDS, SignedHook, SignedMessage,
        SignedSender, Subscribers, TOTAL_TIMEOUT, Template, Unresolved, WebhookChannel, WebhookSettings, WebhookSettingsError,
        WitnessAnswer, WitnessEndpoint,
    },
};

/// The longest reply or reason a channel reports, in characters; both end up in events.
pub const REPORT_CHARS_MAX: usize = 200;

/// A way to reach one person.
#[async_trait]
pub trait Channel: Send + Sync {
    /// The name that policies and outbox rows use.
    fn name(&self) -> &str;

    /// Hands `message` over, and returns once the other side has taken responsibility for it.
    ///
    /// A message is handed over at least once: if the outcome is unknown, this reports [`DeliveryError::Retry`], and the same
    /// message id lets the receiving side recognise the second copy. Cancelling the future never counts as delivered.
    async fn deliver(&self, message: &Message) -> Result<Receipt, DeliveryError>;
}

/// The reply of the other side that accepted the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The last reply on one line, without control characters, at most [`REPORT_CHARS_MAX`] characters.
    pub reply: String,
}

impl Receipt {
    pub(crate) fn new(reply: &str) -> Self {
        Self { reply: reported(reply) }
    }
}

/// Why a message was not handed over; the variant says whether another try can help.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeliveryError {
    /// The same message may get through later.
    #[error("{reason}")]
    Retry {
        /// The failure, on one line, at most [`REPORT_CHARS_MAX`] characters.
        reason: String,
        /// How long the other side asked for a pause, if it did.
        after: Option<Duration>,
    },
    /// This message will never reach this recipient this way.
    #[error("{reason}")]
    Permanent {
        /// The failure, on one line, at most [`REPORT_CHARS_MAX`] characters.
        reason: String,
    },
    /// No message will ever reach anyone this way.
    #[error("{reason}")]
    Gone {
        /// The failure, on one line, at most [`REPORT_CHARS_MAX`] characters.
        reason: String,
    },
}

impl DeliveryError {
    pub(crate) fn retry(reason: &str) -> Self {
        Self::retry_after(reason, None)
    }

    pub(crate) fn retry_after(reason: &str, after: Option<Duration>) -> Self {
        Self::Retry { reason: reported(reason), after }
    }

    pub(crate) fn gone(reason: &str) -> Self {
        Self::Gone { reason: reported(reason) }
    }

    pub(crate) fn permanent(reason: &str) -> Self {
        Self::Permanent { reason: reported(reason) }
    }
}

fn reported(text: &str) -> String {
    domain::base::text::truncated(&domain::base::text::visible_line(text), REPORT_CHARS_MAX)
}
