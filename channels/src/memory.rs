use std::{
    collections::VecDeque,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::{
    AlertMail, Channel, DeliveryError, LoginMail, Message, Postbox, Receipt,
    compose::{Composed, compose, compose_alert, compose_login, sender},
};

/// How many mails the mailbox keeps; beyond that the oldest one is dropped.
pub const MAILS_KEPT_MAX: usize = 500;

/// The reason reported for a mail that was kept and shown here although real people are asked: it did not reach them.
const REACHES_NOBODY: &str = "kept in memory: this server is in development, so the mail was not sent";

const FROM: &str = "Placet <placet@localhost>";

/// A mailbox in memory, for development: the newest mails are kept here, none is sent and none is written to the disk.
///
/// Clones share their mails.
#[derive(Clone, Debug, Default)]
pub struct MemoryMailbox {
    mails: Arc<Mutex<VecDeque<Arc<StoredMail>>>>,
    reaches_nobody: Arc<AtomicBool>,
}

/// A mail as it would have been sent.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredMail {
    /// Its message id, without angle brackets.
    pub message_id: String,
    /// The sender.
    pub from: String,
    /// The recipient.
    pub to: String,
    /// The subject, decoded.
    pub subject: String,
    /// The text part, decoded.
    pub text: String,
    /// The HTML part, decoded.
    pub html: String,
    /// The header lines as they would have been sent.
    pub headers: String,
    /// When it would have been sent.
    pub sent_at: DateTime<Utc>,
}

/// `Debug` leaves out both parts, because they contain the answer link.
impl fmt::Debug for StoredMail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredMail")
            .field("message_id", &self.message_id)
            .field("to", &self.to)
            .field("sent_at", &self.sent_at)
            .finish_non_exhaustive()
    }
}

impl MemoryMailbox {
    /// An empty mailbox.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes every later delivery end with a permanent error, although the mail is still kept and shown. This is for a server
    /// that asks real people: a mail that is only shown here does not reach them.
    pub fn reach_nobody(&self) {
        self.reaches_nobody.store(true, Ordering::Relaxed);
    }

    /// The mails, newest first.
    pub fn messages(&self) -> Vec<Arc<StoredMail>> {
        self.mails().iter().rev().cloned().collect()
    }

    /// The newest mail with this message id.
    pub fn get(&self, message_id: &str) -> Option<Arc<StoredMail>> {
        self.mails().iter().rev().find(|mail| mail.message_id == message_id).cloned()
    }

    /// Renders a message, and keeps it as a mail.
    ///
    /// # Errors
    ///
    /// Fails if no mail can be made of the message.
    pub fn keep(&self, message: &Message) -> Result<Arc<StoredMail>, DeliveryError> {
        let from = sender(FROM).map_err(|error| DeliveryError::permanent(&error.to_string()))?;
        Ok(self.put(&message.message_id, &message.recipient, message.sent_at, compose(message, &from)?))
    }

    fn put(&self, message_id: &str, to: &str, sent_at: DateTime<Utc>, composed: Composed) -> Arc<StoredMail> {
        let mail = Arc::new(StoredMail {
            message_id: message_id.to_owned(),
            from: FROM.to_owned(),
            to: to.to_owned(),
            subject: composed.rendered.subject,
            text: composed.rendered.text,
            html: composed.rendered.html,
            headers: composed.mail.headers().to_string(),
            sent_at,
        });
        let mut mails = self.mails();
        if mails.len() == MAILS_KEPT_MAX {
            mails.pop_front();
        }
        mails.push_back(mail.clone());
        mail
    }

    fn mails(&self) -> MutexGuard<'_, VecDeque<Arc<StoredMail>>> {
        // A panic while the lock is held leaves the list whole: it is only pushed to and popped from.
        self.mails.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Channel for MemoryMailbox {
    fn name(&self) -> &'static str {
        "memory"
    }

    async fn deliver(&self, message: &Message) -> Result<Receipt, DeliveryError> {
        self.keep(message)?;
        if self.reaches_nobody.load(Ordering::Relaxed) {
            return Err(DeliveryError::permanent(REACHES_NOBODY));
        }
        Ok(Receipt::new("250 kept in memory"))
    }
}

#[async_trait]
impl Postbox for MemoryMailbox {
    async fn send_login(&self, mail: &LoginMail) -> Result<Receipt, DeliveryError> {
        let from = sender(FROM).map_err(|error| DeliveryError::permanent(&error.to_string()))?;
        self.put(&mail.message_id, &mail.recipient, mail.sent_at, compose_login(mail, &from)?);
        Ok(Receipt::new("250 kept in memory"))
    }

    async fn send_alert(&self, mail: &AlertMail) -> Result<Receipt, DeliveryError> {
        let from = sender(FROM).map_err(|error| DeliveryError::permanent(&error.to_string()))?;
        self.put(&mail.message_id, &mail.recipient, mail.sent_at, compose_alert(mail, &from)?);
        Ok(Receipt::new("250 kept in memory"))
    }
}

/// Replaces a webhook in development: nothing leaves the machine, and its messages are shown among the mails.
pub struct Withheld {
    name: String,
    mailbox: MemoryMailbox,
}

impl Withheld {
    /// Replaces the channel `name`.
    pub fn new(name: String, mailbox: MemoryMailbox) -> Self {
        Self { name, mailbox }
    }
}

#[async_trait]
impl Channel for Withheld {
    fn name(&self) -> &str {
        &self.name
    }

    async fn deliver(&self, message: &Message) -> Result<Receipt, DeliveryError> {
        let mut message = message.clone();
        // The recipient may be a chat room, which has no address. The reserved domain ensures that the address made here belongs
        // to no one (RFC 2606).
        if !message.recipient.contains('@') {
            message.recipient = format!("{}@{}.invalid", message.recipient, self.name);
        }
        self.mailbox.deliver(&message).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::sample;

    #[tokio::test]
    async fn the_mailbox_shows_what_would_have_been_sent() {
        let mailbox = MemoryMailbox::new();
        let channel: Box<dyn Channel> = Box::new(mailbox.clone());
        channel.deliver(&sample::question()).await.unwrap();
        channel.deliver(&sample::reminder()).await.unwrap();

        let mails = mailbox.messages();
        assert_eq!(mails.len(), 2);
        assert!(mails[0].subject.starts_with("Re: [Placet] "), "newest first");
        assert!(mails[0].headers.contains("In-Reply-To: <"));
        let first = mailbox.get(&sample::question().message_id).unwrap();
        assert_eq!(first.text, crate::render(&sample::question()).unwrap().text);
        assert!(mailbox.get("unknown").is_none());
        assert!(!format!("{mailbox:?}").contains("plc_"));
    }

    #[tokio::test]
    async fn the_oldest_mail_makes_room() {
        let mailbox = MemoryMailbox::new();
        for number in 0..=MAILS_KEPT_MAX {
            let message = Message { message_id: format!("{number}@northpine.example"), ..sample::question() };
            mailbox.deliver(&message).await.unwrap();
        }
        assert_eq!(mailbox.messages().len(), MAILS_KEPT_MAX);
        assert!(mailbox.get("0@northpine.example").is_none());
        assert!(mailbox.get("1@northpine.example").is_some());
    }
}
