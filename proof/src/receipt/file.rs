//! A decision receipt as a JSON file, which holds everything that a third party needs to check it: the decision, the signature of the
//! statement, the event that carries the statement's hash, the path from the event's leaf to a root, and the checkpoint of that root.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::base::json::{canonical, unambiguous};
use domain::base::sealed::{Hash, Sealed};
use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

use super::form::{Claims, Signed, to_sign};
use super::{CONTENT_BYTES_MAX, LogKeys, PATH_HASHES_MAX};
use crate::checkpoint::{CheckpointError, TreeHead};
use crate::leaf;
use crate::tree::{NodeHash, is_included};

/// The version of the file's form.
pub const FILE_VERSION: u32 = 1;
/// The longest file, in bytes.
pub const FILE_BYTES_MAX: usize = 2 * CONTENT_BYTES_MAX;
/// The type of the events that carry the hash of a statement.
const ISSUED: &str = "receipt.issued";

/// Why a receipt's file is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FileError {
    /// The file has more than [`FILE_BYTES_MAX`] bytes.
    #[error("the file of a receipt has at most {FILE_BYTES_MAX} bytes")]
    TooLong,
    /// The file is not JSON, or JSON that two readers may understand differently.
    #[error("the file is not JSON in one meaning: {0}")]
    Json(String),
    /// A member is missing, unknown, or has another form.
    #[error("this is not the file of a decision receipt: {0}")]
    Form(String),
    /// The file has another version.
    #[error("the file has version {0}, and this program reads version {FILE_VERSION}")]
    Version(u32),
    /// The checkpoint is not accepted.
    #[error("the checkpoint is not accepted: {0}")]
    Checkpoint(CheckpointError),
    /// An earlier key signed the checkpoint, and no trusted key did.
    #[error(
        "an earlier key of the log \"{0}\" signed the checkpoint, and an earlier key counts for the statement alone; fetch the receipt \
         again from the server"
    )]
    EarlierCheckpoint(String),
    /// The decision has more than [`CONTENT_BYTES_MAX`] bytes.
    #[error("the decision of a receipt has at most {CONTENT_BYTES_MAX} bytes")]
    DecisionTooLong,
    /// The file does not say which key signed the statement, so a change and a signature by a key that is not given look the same.
    #[error("no given key has signed the statement: it was changed, or an earlier key of the log signed it, which was not given")]
    Signature,
    /// The event's bytes do not give its hash.
    #[error("the event was changed: its bytes do not give its hash")]
    Event,
    /// The event is about something else.
    #[error("the event does not carry the hash of this statement")]
    OtherEvent,
    /// The path does not lead from the event's leaf to the root of the checkpoint.
    #[error("the path does not lead from the event to the root of the checkpoint")]
    Path,
}

/// The members of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    placet_receipt: u32,
    decision: Value,
    signature: String,
    event: Value,
    leaf: u64,
    proof: Vec<String>,
    checkpoint: String,
}

/// The facts that a receipt's file proves.
#[derive(Clone, Debug, PartialEq)]
pub struct VerifiedFile {
    /// The decision, as it was signed.
    pub decision: Value,
    /// The name of the log.
    pub origin: String,
    /// The hash of the signed statement.
    pub statement_hash: Hash,
    /// The number of leaves of the checkpoint.
    pub size: u64,
}

/// Verifies the file of a receipt. `keys` are the public keys that the caller trusts, or [`LogKeys`] with earlier ones. This does not
/// show whether the receipt was used or revoked: only the server knows that.
///
/// # Errors
///
/// The first reason not to accept it.
pub fn verify_file<'a>(bytes: &[u8], keys: impl Into<LogKeys<'a>>) -> Result<VerifiedFile, FileError> {
    let keys = keys.into();
    if bytes.len() > FILE_BYTES_MAX {
        return Err(FileError::TooLong);
    }
    let value = unambiguous(bytes).map_err(|error| FileError::Json(error.to_string()))?;
    if !value.is_object() {
        return Err(FileError::Form("it is not an object".to_owned()));
    }
    let version = value.get("placet_receipt").and_then(Value::as_u64).and_then(|version| u32::try_from(version).ok());
    if let Some(version) = version.filter(|version| *version != FILE_VERSION) {
        return Err(FileError::Version(version));
    }
    let file: File = serde_json::from_value(value).map_err(|error| FileError::Form(error.to_string()))?;
    if file.placet_receipt != FILE_VERSION {
        return Err(FileError::Version(file.placet_receipt));
    }
    let head = head(&file.checkpoint, keys)?;
    let statement_hash = file.statement(&head.origin, keys)?;
    let event = file.event(statement_hash)?;
    let leaf = leaf::of(&event).ok_or(FileError::Event)?;
    if file.proof.len() > PATH_HASHES_MAX {
        return Err(FileError::Path);
    }
    let path = file.proof.iter().map(|hash| node(hash)).collect::<Option<Vec<_>>>().ok_or(FileError::Path)?;
    if !is_included(&leaf, file.leaf, &path, head.size, head.root) {
        return Err(FileError::Path);
    }
    Ok(VerifiedFile { decision: file.decision, origin: head.origin, statement_hash, size: head.size })
}

/// The head of the checkpoint, if a trusted key has signed it.
fn head(note: &str, keys: LogKeys<'_>) -> Result<TreeHead, FileError> {
    TreeHead::verify(note, keys.trusted).map_err(|error| match TreeHead::verify(note, keys.earlier) {
        Ok(head) if error == CheckpointError::NotSigned => FileError::EarlierCheckpoint(head.origin),
        Ok(_) | Err(_) => FileError::Checkpoint(error),
    })
}

fn node(text: &str) -> Option<NodeHash> {
    let bytes: NodeHash = STANDARD.decode(text).ok()?.try_into().ok()?;
    // The alphabet has spare bits, and one hash has one spelling.
    (STANDARD.encode(bytes) == text).then_some(bytes)
}

impl File {
    /// Verifies the signature of the statement, and gives the statement's hash. The file holds the parts of the statement that its reader
    /// cannot know; the others follow from the key.
    fn statement(&self, origin: &str, keys: LogKeys<'_>) -> Result<Hash, FileError> {
        let form = |why: &str| FileError::Form(why.to_owned());
        let subject = self.decision.get("suspension_id").and_then(Value::as_str);
        let subject = subject.ok_or_else(|| form("the decision names no suspension"))?;
        let content = canonical(&self.decision).map_err(|error| FileError::Json(error.to_string()))?;
        if content.len() > CONTENT_BYTES_MAX {
            return Err(FileError::DecisionTooLong);
        }
        let signature = STANDARD.decode(&self.signature).map_err(|_| form("the signature is not base64"))?;
        for key in keys.of_statements().filter(|key| key.name() == origin) {
            let protected = Claims::of(key, subject).statement_header();
            if key.verifies(&to_sign(&protected, &content), &signature) {
                let signed = Signed { protected: &protected, content: &content, signature: &signature };
                return Ok(Hash::of(&signed.write(None)));
            }
        }
        Err(FileError::Signature)
    }

    /// The event, if it carries the hash of the statement.
    fn event(&self, statement_hash: Hash) -> Result<Sealed, FileError> {
        let event = Sealed::from_served(&self.event).ok_or(FileError::Event)?;
        if Hash::of(&event.bytes) != event.hash {
            return Err(FileError::Event);
        }
        let is_issued = self.event["event_type"] == ISSUED;
        let payload = &self.event["payload"];
        let names = |name: &str| payload[name].is_string() && payload[name] == self.decision[name];
        let carries = payload["statement_hash"] == statement_hash.to_string();
        if is_issued && carries && names("receipt_id") && names("suspension_id") {
            return Ok(event);
        }
        Err(FileError::OtherEvent)
    }
}
