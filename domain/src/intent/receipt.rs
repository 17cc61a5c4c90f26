//! Decision receipts: what was decided, in a form that a third party checks offline before it acts, and uses once.
//!
//! Guarantee: a receipt is used at most once, and never after it was revoked. Mechanism: [`Receipt::consume`] and [`Receipt::revoke`]
//! decide from the row of the receipt, which a store locks. Failure: a caller that does not hear the reply reads the receipt again, and
//! sees which key used it.

use chrono::{DateTime, Utc};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::ids::{IntentId, ReceiptId, SuspensionId};
use crate::base::json::canonical;
use crate::base::name::is_same;
use crate::base::passkey::Assertion;
use crate::base::sealed::Hash;
use crate::people::principal::{Assurance, Credential, Principal, Role};
use crate::problem::Rejection;
use crate::suspension::evidence::Evidence;

/// The version of the form of [`Decision`].
pub const DECISION_VERSION: u32 = 1;

/// The decision that a receipt proves: the content of the signed statement, in canonical JSON. A receipt is verified for as long as a copy of it exists, so a
/// member never changes its name or its form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// [`DECISION_VERSION`].
    pub version: u32,
    /// The receipt.
    pub receipt_id: ReceiptId,
    /// The intent.
    pub intent_id: IntentId,
    /// The question.
    pub suspension_id: SuspensionId,
    /// The words of the question.
    pub question: String,
    /// The name of the key that asked.
    pub asked_by: String,
    /// When it was asked.
    #[serde(with = "crate::base::time::naive_form")]
    pub asked_at: DateTime<Utc>,
    /// The answer.
    pub value: Value,
    /// The meaning of the answer, in words: `approved` or `denied`, or the label of the selected choice; absent for other answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meaning: Option<String>,
    /// The person who answered.
    pub responded_by: String,
    /// When the person answered.
    #[serde(with = "crate::base::time::naive_form")]
    pub responded_at: DateTime<Utc>,
    /// The role of the credential.
    pub role: Role,
    /// How sure the server is of the person.
    pub assurance: Assurance,
    /// SHA-256 of the action as the person approved it.
    pub action_digest: Hash,
    /// SHA-256 of the action as the agent proposed it; absent if the question proposed none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposed_digest: Option<Hash>,
    /// SHA-256 of what was shown for the decision.
    pub presented_hash: Hash,
    /// The hash of the event that recorded the answer.
    pub answer_event_hash: Hash,
    /// The signature of a passkey under the answer; absent if the question demanded none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assertion: Option<Box<Assertion>>,
}

impl Decision {
    /// The canonical bytes, which are signed.
    ///
    /// # Errors
    ///
    /// As [`canonical`].
    pub fn bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        canonical(self)
    }

    /// The challenge that a passkey signed for this answer, see [`Evidence::challenge`].
    pub fn challenge(&self) -> Option<[u8; 32]> {
        let Self { action_digest, proposed_digest, presented_hash, .. } = *self;
        Evidence { action_digest, proposed_digest, presented_hash }.challenge(self.suspension_id, &self.value)
    }
}

/// How far a receipt has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It can be used.
    Unused,
    /// A key used it.
    Consumed {
        /// The name of the key.
        by: String,
        /// When.
        at: DateTime<Utc>,
    },
    /// It was revoked before it was used.
    Revoked {
        /// The name of the key.
        by: String,
        /// When.
        at: DateTime<Utc>,
    },
}

/// A receipt, as far as its use needs it.
#[derive(Clone, Debug, PartialEq)]
pub struct Receipt {
    /// The decision.
    pub decision: Decision,
    /// How far it has come.
    pub standing: Standing,
}

/// The decision on which a caller is about to act.
#[derive(Clone, Debug, PartialEq)]
pub struct Use {
    /// SHA-256 of the action, as the caller computed it.
    pub action_digest: Hash,
    /// The answer that the action needs.
    pub value: Value,
}

/// A receipt was made; the payload of `receipt.issued`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issued {
    /// The receipt.
    pub receipt_id: ReceiptId,
    /// The question.
    pub suspension_id: SuspensionId,
    /// SHA-256 of the signed statement.
    pub statement_hash: Hash,
    /// The credential that asked for the receipt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// A receipt was used; the payload of `receipt.consumed`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consumed {
    /// The receipt.
    pub receipt_id: ReceiptId,
    /// The question.
    pub suspension_id: SuspensionId,
    /// SHA-256 of the action.
    pub action_digest: Hash,
    /// The subject that used it.
    pub consumed_by: String,
    /// The credential.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// A receipt was revoked; the payload of `receipt.revoked`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revoked {
    /// The receipt.
    pub receipt_id: ReceiptId,
    /// The question.
    pub suspension_id: SuspensionId,
    /// The caller's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The subject that revoked it.
    pub revoked_by: String,
    /// The credential.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// An event about a receipt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ReceiptEvent {
    /// `receipt.issued`.
    Issued(Issued),
    /// `receipt.consumed`.
    Consumed(Consumed),
    /// `receipt.revoked`.
    Revoked(Revoked),
}

/// The type of the events that make a receipt.
pub const ISSUED: &str = "receipt.issued";
/// The type of the events that use a receipt.
pub const CONSUMED: &str = "receipt.consumed";
/// The type of the events that revoke a receipt.
pub const REVOKED: &str = "receipt.revoked";

impl ReceiptEvent {
    /// The type of the event.
    pub fn event_type(&self) -> &'static str {
        match self {
            Self::Issued(_) => ISSUED,
            Self::Consumed(_) => CONSUMED,
            Self::Revoked(_) => REVOKED,
        }
    }

    /// Reads a payload; `None` if the event is not about a receipt.
    ///
    /// # Errors
    ///
    /// A member that is missing or has another form.
    pub fn read(event_type: &str, payload: &Value) -> Option<Result<Self, serde_json::Error>> {
        fn of<T: DeserializeOwned>(payload: &Value, kind: fn(T) -> ReceiptEvent) -> Result<ReceiptEvent, serde_json::Error> {
            T::deserialize(payload).map(kind)
        }
        match event_type {
            ISSUED => Some(of(payload, Self::Issued)),
            CONSUMED => Some(of(payload, Self::Consumed)),
            REVOKED => Some(of(payload, Self::Revoked)),
            _ => None,
        }
    }
}

impl Receipt {
    /// Uses the receipt for an action.
    ///
    /// # Errors
    ///
    /// `ReceiptUsed`, `ReceiptRevoked`, or `ReceiptMismatch` if it is about another action or another answer.
    pub fn consume(&self, used: &Use, by: &Principal) -> Result<ReceiptEvent, Rejection> {
        let Decision { receipt_id, suspension_id, action_digest, value, .. } = &self.decision;
        if used.action_digest != *action_digest {
            return Err(Rejection::ReceiptMismatch { field: "action_digest".to_owned() });
        }
        if used.value != *value {
            return Err(Rejection::ReceiptMismatch { field: "value".to_owned() });
        }
        self.is_unused()?;
        Ok(ReceiptEvent::Consumed(Consumed {
            receipt_id: *receipt_id,
            suspension_id: *suspension_id,
            action_digest: used.action_digest,
            consumed_by: by.subject.clone(),
            credential: by.credential,
        }))
    }

    /// Revokes the receipt: an admin may, and the person who answered.
    ///
    /// # Errors
    ///
    /// `Forbidden` for another person, `ReceiptUsed` if it is too late, `ReceiptRevoked` if it was revoked before.
    pub fn revoke(&self, reason: Option<String>, by: &Principal) -> Result<ReceiptEvent, Rejection> {
        if by.role != Role::Admin && !is_same(&by.subject, &self.decision.responded_by) {
            let reason = "only an admin and the person who answered may revoke a receipt".to_owned();
            return Err(Rejection::Forbidden { reason });
        }
        self.is_unused()?;
        Ok(ReceiptEvent::Revoked(Revoked {
            receipt_id: self.decision.receipt_id,
            suspension_id: self.decision.suspension_id,
            reason,
            revoked_by: by.subject.clone(),
            credential: by.credential,
        }))
    }

    fn is_unused(&self) -> Result<(), Rejection> {
        match self.standing {
            Standing::Unused => Ok(()),
            Standing::Consumed { at, .. } => Err(Rejection::ReceiptUsed { at }),
            Standing::Revoked { at, .. } => Err(Rejection::ReceiptRevoked { at }),
        }
    }
}
