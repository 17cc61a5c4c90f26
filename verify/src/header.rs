//! The first line of an export, and its checkpoint.

use proof::checkpoint::{CheckpointError, TreeHead};
use proof::key::VerifyingKey;
use proof::succession::Succession;
use serde::Deserialize;
use serde_json::Value;

use crate::event::{INTEGER_MAX, Misshapen, Time};
use crate::finding::{Code, Findings, Place};
use crate::report::Kind;

/// The version of the format that this crate reads.
const VERSION: u64 = 1;
const MEMBERS: [&str; 8] = ["placet_export", "origin", "key", "succession", "checkpoint", "size", "selection", "exported_at"];

/// The header of an export.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    pub(crate) origin: String,
    /// The public key that signed the checkpoint, as the exporter says.
    pub(crate) key: String,
    /// How the log came from its first key to this one, as the exporter says.
    pub(crate) succession: Vec<Succession>,
    pub(crate) checkpoint: String,
    pub(crate) size: u64,
    pub(crate) kind: Kind,
    pub(crate) exported_at: Time,
    pub(crate) exported_at_text: String,
    /// The name of a member that the format does not know.
    pub(crate) unknown: Option<String>,
}

impl Header {
    pub(crate) fn read(value: &Value) -> Result<Self, Misshapen> {
        if value.get("placet_export").and_then(Value::as_u64) != Some(VERSION) {
            let text =
                format!("The export has another version than {VERSION}, the one that this program reads. Use a newer program.");
            return Err(Misshapen { code: Code::UnknownVersion, text });
        }
        Self::of(value).map_err(|name| Misshapen {
            code: Code::HeaderForm,
            text: format!("The header's member \"{name}\" is missing or does not have the form that the format gives it."),
        })
    }

    /// The header, or the member that is missing or has another form.
    fn of(value: &Value) -> Result<Self, &'static str> {
        let text = |name: &'static str| value.get(name).and_then(Value::as_str).map(str::to_owned).ok_or(name);
        let unknown = value.as_object().and_then(|members| members.keys().find(|name| !MEMBERS.contains(&name.as_str())));
        let exported_at_text = text("exported_at")?;
        // A time in an event is in UTC without saying so, and this one ends with a Z.
        let exported_at = exported_at_text.strip_suffix('Z').ok_or("exported_at")?;
        Ok(Self {
            origin: text("origin")?,
            key: text("key")?,
            succession: match value.get("succession") {
                // A list would be read as an object without names.
                Some(Value::Array(statements)) if statements.iter().all(Value::is_object) => {
                    statements.iter().map(Succession::deserialize).collect::<Result<_, _>>().map_err(|_| "succession")?
                }
                Some(_) => return Err("succession"),
                None => Vec::new(),
            },
            checkpoint: text("checkpoint")?,
            size: value.get("size").and_then(Value::as_u64).filter(|size| *size <= INTEGER_MAX).ok_or("size")?,
            kind: match value.get("selection") {
                Some(Value::Null) => Kind::Whole,
                Some(Value::Object(_)) => Kind::Selection,
                _ => return Err("selection"),
            },
            exported_at: Time::read(exported_at.as_bytes()).ok_or("exported_at")?,
            exported_at_text,
            unknown: unknown.cloned(),
        })
    }

    /// Checks the checkpoint against the keys and the rest of the header. Returns the head of the tree, if the checkpoint has the
    /// form of one, and the trusted key that signed it.
    pub(crate) fn check(
        &self,
        keys: &[VerifyingKey],
        place: Place,
        findings: &mut Findings,
    ) -> (Option<TreeHead>, Option<VerifyingKey>) {
        if let Some(name) = &self.unknown {
            let text = format!("The header has the member \"{name}\", which the format does not know.");
            findings.add(place, Code::UnknownMember, text);
        }
        let head = match TreeHead::read(&self.checkpoint) {
            Ok(head) => head,
            Err(error) => {
                findings.add(place, Code::CheckpointForm, format!("The header's checkpoint cannot be read: {error}."));
                return (None, None);
            }
        };
        let signer = self.check_signature(&head, keys, place, findings);
        if self.size != head.size {
            let text = format!("The header says {} events, and its signed checkpoint {}.", self.size, head.size);
            findings.add(place, Code::SizeDiffers, text);
        }
        (Some(head), signer)
    }

    fn check_signature(
        &self,
        head: &TreeHead,
        keys: &[VerifyingKey],
        place: Place,
        findings: &mut Findings,
    ) -> Option<VerifyingKey> {
        if self.origin != head.origin {
            let text =
                format!("The header names the log \"{}\", and its signed checkpoint the log \"{}\".", self.origin, head.origin);
            findings.add(place, Code::WrongOrigin, text);
            return None;
        }
        if let Err(error) = TreeHead::verify(&self.checkpoint, keys) {
            let (code, text) = match error {
                CheckpointError::OtherOrigin(origin) => {
                    (Code::WrongOrigin, format!("The export belongs to the log \"{origin}\", and no trusted key has that name."))
                }
                CheckpointError::WrongSignature(key) => (
                    Code::WrongSignature,
                    format!(
                        "The checkpoint carries a signature of the trusted key {key} that is wrong: the checkpoint was changed."
                    ),
                ),
                CheckpointError::NotSigned | CheckpointError::Form(_) | CheckpointError::TooLong => (
                    Code::UnknownKey,
                    format!(
                        "No trusted key has signed the checkpoint. The header names the key {}; trust it only if you know from \
                         another source that it is the log's.",
                        self.key
                    ),
                ),
            };
            findings.add(place, code, text);
            return None;
        }
        let is_signed_by = |key: &&VerifyingKey| TreeHead::verify(&self.checkpoint, std::slice::from_ref(*key)).is_ok();
        if !self.key.parse::<VerifyingKey>().is_ok_and(|key| is_signed_by(&&key)) {
            let text = "The key that the header names did not sign the checkpoint; a trusted key did. The header was changed.";
            findings.add(place, Code::KeyDiffers, text);
        }
        keys.iter().find(is_signed_by).cloned()
    }
}
