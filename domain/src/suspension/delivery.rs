//! Messages about a question: their states, and the reports about them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::base::ids::{DeliveryId, SuspensionId};
use crate::suspension::Question;
use crate::suspension::channel::{Channels, Route};

/// The longest token that names a returned message, in characters. In an address it follows a name and a plus, and all three
/// together have at most 64 characters (RFC 5321 §4.5.3.1.1).
pub const BOUNCE_TOKEN_CHARS_MAX: usize = 41;

/// The state of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// The message waits for its turn, or for another try.
    Queued,
    /// A worker is sending it.
    Sending,
    /// The other side accepted it; whether it was read is unknown.
    Sent,
    /// It was accepted, and then reported as never going to arrive.
    Bounced,
    /// It will never be accepted.
    Failed,
    /// It was not sent, because its question ended or another message asks the same person the same question.
    Obsolete,
}

impl DeliveryState {
    /// Whether the message is still to be sent.
    pub fn is_under_way(self) -> bool {
        matches!(self, Self::Queued | Self::Sending)
    }

    /// Whether the message can no longer reach its recipient.
    pub fn is_lost(self) -> bool {
        match self {
            Self::Bounced | Self::Failed | Self::Obsolete => true,
            Self::Queued | Self::Sending | Self::Sent => false,
        }
    }
}

/// The final result of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The message was accepted.
    Sent,
    /// The message was refused for good, or given up.
    Failed,
    /// The message was accepted and came back.
    Bounced,
}

/// Whether a returned message may still arrive (RFC 3463 §3.1: class 4 or class 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BounceKind {
    /// It will never arrive.
    Hard,
    /// It is delayed, or this one copy was lost.
    Soft,
}

/// One of the messages about a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sibling {
    /// The attempt it belongs to.
    pub attempt: u32,
    /// The channel that carries it.
    pub channel: String,
    /// The recipient.
    pub recipient: String,
    /// The state of the message.
    pub state: DeliveryState,
    /// Whether the message left with an answer link; absent before the message leaves, and for messages for which this was not
    /// recorded.
    pub linked: Option<bool>,
}

impl Sibling {
    /// The way that the message took, or is to take.
    pub fn route(&self) -> Route<'_> {
        Route { channel: &self.channel, recipient: &self.recipient }
    }

    /// Whether the message carries the answer link. A message that has left keeps what was recorded then, even if its channel has
    /// changed or is gone.
    pub(crate) fn carries_link(&self, channels: &Channels) -> bool {
        self.linked.unwrap_or_else(|| channels.carries_links(&self.channel))
    }

    /// Whether this message counts as one that its recipient can answer: it has a link, or no channel of the server carries
    /// links.
    pub(crate) fn is_answered(&self, channels: &Channels) -> bool {
        self.carries_link(channels) || !channels.carry_links()
    }
}

/// The result of a message, with everything needed to see whether anyone is still reached.
#[derive(Clone, Debug)]
pub struct DeliveryRecord {
    /// The message.
    pub delivery: Delivery,
    /// The result.
    pub fate: Fate,
    /// All other messages about the question; needed if this one is lost.
    pub siblings: Vec<Sibling>,
    /// The question with its ladder; needed if this one is lost and the question is open.
    pub question: Option<Box<Question>>,
    /// The server's channels; needed in the same case.
    pub channels: Channels,
}

/// No person of an attempt can be reached, so the people of a later step of the escalation ladder are asked now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failover {
    /// The suspension.
    pub suspension_id: SuspensionId,
    /// The attempt that reached no one; it stays the current one.
    pub attempt: u32,
    /// The attempt whose people are asked instead.
    pub rung_attempt: u32,
    /// The channel preferred at that attempt.
    pub channel_hint: Option<String>,
    /// The people who are asked.
    pub notify_to: Vec<String>,
    /// The people who cannot be reached.
    pub unreachable: Vec<String>,
    /// Why the last of them cannot be reached.
    pub reason: String,
}

/// The facts about a question that a reminder needs.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The question, with its recipients.
    pub question: Question,
    /// The messages about the question.
    pub messages: Vec<Sibling>,
    /// The server's channels.
    pub channels: Channels,
}

/// One message, with its last known state.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The suspension it asks about.
    pub suspension_id: SuspensionId,
    /// The id of the message.
    pub delivery_id: DeliveryId,
    /// The attempt it belongs to.
    pub attempt: u32,
    /// Its place among the messages about the suspension, from 1.
    pub sequence: u32,
    /// The channel.
    pub channel: String,
    /// The recipient.
    pub recipient: String,
    /// The last reply of the other side, or why the message failed.
    pub detail: String,
    /// How many times it was tried.
    pub tries: u32,
}
