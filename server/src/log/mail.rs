//! Mails the newest checkpoint to auditors, once in a while.

use std::collections::VecDeque;
use std::sync::Arc;

use channels::{CheckpointMail, CheckpointPost, DeliveryError};
use domain::base::clock::Clock;
use store::{CheckpointRow, Store};
use tokio::sync::Mutex;
use url::Url;

use super::failure::Failure;
use crate::config::LogMailConfig;

/// The mails to all auditors.
pub(crate) struct Mails {
    post: Arc<dyn CheckpointPost>,
    settings: LogMailConfig,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    domain: String,
    // The checkpoint that is being mailed, and the addresses that do not have it yet. One loop takes turns; the lock is held while a mail is
    // handed over. A server that stops meanwhile does not try again: the next checkpoint covers this one.
    under_way: Mutex<(u64, VecDeque<Mail>)>,
}

/// A mail that was not taken yet.
struct Mail {
    checkpoint: Arc<CheckpointRow>,
    recipient: String,
}

impl Mails {
    pub(crate) fn new(
        post: Arc<dyn CheckpointPost>,
        settings: LogMailConfig,
        (store, clock): (Arc<dyn Store>, Arc<dyn Clock>),
        public_url: &Url,
    ) -> Self {
        let domain = public_url.domain().unwrap_or("localhost").to_owned();
        Self { post, settings, store, clock, domain, under_way: Mutex::new((0, VecDeque::new())) }
    }

    /// Mails the newest checkpoint if its time has come; returns the size of the last one that each auditor's server took.
    pub(super) async fn turn(&self) -> Result<u64, Failure> {
        let mut under_way = self.under_way.lock().await;
        let (taken, mails) = &mut *under_way;
        if mails.is_empty() {
            let due = self.store.checkpoint_to_mail(self.settings.every).await.map_err(|error| Failure::later(&error))?;
            let Some(checkpoint) = due.map(Arc::new) else { return Ok(*taken) };
            let mail = |recipient: &String| Mail { checkpoint: checkpoint.clone(), recipient: recipient.clone() };
            mails.extend(self.settings.to.iter().map(mail));
        }
        let mut refused = None;
        while let Some(mail) = mails.front() {
            let size = mail.checkpoint.size;
            match self.post.send_checkpoint(&self.written(mail)).await {
                Ok(_) => *taken = size,
                Err(error @ DeliveryError::Retry { .. }) => return Err(Failure::later(&error)),
                // The address will not take the next try either, and the others must not wait for it.
                Err(error) => refused = Some(Failure::later(&error)),
            }
            mails.pop_front();
        }
        refused.map_or(Ok(*taken), Err)
    }

    fn written(&self, mail: &Mail) -> CheckpointMail {
        let CheckpointRow { size, note, .. } = &*mail.checkpoint;
        CheckpointMail {
            message_id: format!("checkpoint-{size}@{}", self.domain),
            recipient: mail.recipient.clone(),
            sent_at: self.clock.now(),
            origin: note.lines().next().unwrap_or_default().to_owned(),
            size: *size,
            note: note.clone(),
        }
    }
}
