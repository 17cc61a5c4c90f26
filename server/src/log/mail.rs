//! Mails the newest checkpoint to auditors, once in a while.

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
    // One loop takes turns; the lock is held while mails are handed over. A server that stops meanwhile does not try again.
    under_way: Mutex<UnderWay>,
}

/// The checkpoint that is being mailed.
#[derive(Default)]
struct UnderWay {
    checkpoint: Option<CheckpointRow>,
    /// The addresses that do not have it yet.
    recipients: Vec<String>,
    /// The size of the last one that a mail server took.
    taken: u64,
}

impl Mails {
    pub(crate) fn new(
        post: Arc<dyn CheckpointPost>,
        settings: LogMailConfig,
        (store, clock): (Arc<dyn Store>, Arc<dyn Clock>),
        public_url: &Url,
    ) -> Self {
        let domain = public_url.domain().unwrap_or("localhost").to_owned();
        Self { post, settings, store, clock, domain, under_way: Mutex::default() }
    }

    /// Mails the newest checkpoint if its time has come; returns the size of the last one that was taken for an address. An address that is
    /// put off is tried again until a newer checkpoint is due; one that is refused is not.
    pub(super) async fn turn(&self) -> Result<u64, Failure> {
        let mut under_way = self.under_way.lock().await;
        let due = self.store.checkpoint_to_mail(self.settings.every).await.map_err(|error| Failure::later(&error))?;
        if due.is_some() {
            *under_way = UnderWay { checkpoint: due, recipients: self.settings.to.clone(), taken: under_way.taken };
        }
        let UnderWay { checkpoint: Some(checkpoint), recipients, taken } = &mut *under_way else { return Ok(under_way.taken) };
        let mut failed = None;
        for recipient in std::mem::take(recipients) {
            match self.post.send_checkpoint(&self.written(checkpoint, &recipient)).await {
                Ok(_) => *taken = checkpoint.size,
                Err(error) => {
                    failed = Some(Failure::later(&error));
                    if matches!(error, DeliveryError::Retry { .. }) {
                        recipients.push(recipient);
                    }
                }
            }
        }
        failed.map_or(Ok(*taken), Err)
    }

    fn written(&self, checkpoint: &CheckpointRow, recipient: &str) -> CheckpointMail {
        let CheckpointRow { size, root, note, .. } = checkpoint;
        // After a rollback another checkpoint may have the same size, and a mailbox must not take it for the same mail.
        let [a, b, c, d, ..] = root;
        CheckpointMail {
            message_id: format!("checkpoint-{size}-{:08x}@{}", u32::from_be_bytes([*a, *b, *c, *d]), self.domain),
            recipient: recipient.to_owned(),
            sent_at: self.clock.now(),
            origin: checkpoint.origin().to_owned(),
            size: *size,
            note: note.clone(),
        }
    }
}
