use async_trait::async_trait;
use chrono::{DateTime, Utc};
use domain::base::words;

use crate::columns::wrapped;
use crate::{DeliveryError, Receipt};

/// A mail that carries a checkpoint of the log to an auditor.
#[derive(Clone, Debug)]
pub struct CheckpointMail {
    /// `local@domain` without angle brackets.
    pub message_id: String,
    /// The address of the auditor.
    pub recipient: String,
    /// When the mail is sent; its `Date`.
    pub sent_at: DateTime<Utc>,
    /// The name of the log.
    pub origin: String,
    /// How many events the checkpoint covers.
    pub size: u64,
    /// The signed note, which is attached as a file. It holds hashes and signatures, and nothing of any event.
    pub note: String,
}

/// A way to mail checkpoints.
#[async_trait]
pub trait CheckpointPost: Send + Sync {
    /// Hands the mail over, and returns once the other side has taken responsibility for it; see [`Channel`](crate::Channel).
    async fn send_checkpoint(&self, mail: &CheckpointMail) -> Result<Receipt, DeliveryError>;
}

impl CheckpointMail {
    pub(crate) fn subject(&self) -> String {
        words::checkpoint_subject(self.size, &self.origin)
    }

    /// The name of the attached file.
    pub(crate) fn file_name(&self) -> String {
        format!("checkpoint-{}.txt", self.size)
    }

    /// The words of the mail. The note is only in the attached file, because mail programs wrap and change the lines of a text.
    pub(crate) fn text(&self) -> String {
        let paragraphs = [
            words::checkpoint_covers(self.size, &self.origin),
            words::KEEP_THE_CHECKPOINT.to_owned(),
            words::REPLIES_ARE_NOT_READ.to_owned(),
        ];
        paragraphs.iter().map(|paragraph| wrapped(paragraph, "", "").join("\n")).collect::<Vec<_>>().join("\n\n") + "\n"
    }
}
