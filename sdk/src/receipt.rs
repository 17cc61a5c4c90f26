//! Receipts of decisions: the agent has one made and hands it on; a third party checks it with [`verify_receipt`], uses it once with
//! [`Client::consume_receipt`], and then acts.

use domain::base::ids::{ReceiptId, SuspensionId};
use domain::base::passkey::KnownPasskey;
use domain::base::sealed::Hash;
use domain::intent::receipt::Decision;
use domain::people::principal::Assurance;
use domain::wire::{ConsumeReceiptRequest, ReceiptView, RevokeReceiptRequest};
use proof::passkey::{PasskeyError, verify_known};
use proof::receipt::{FileError, LogKeys, verify_file};
use serde_json::{Map, Value};
use thiserror::Error;

use crate::backoff::Repeat;
use crate::client::Client;
use crate::error::CallError;
use crate::transport::Call;

impl Client {
    /// Gives the receipt of an answered question, and has it made if there is none. [`ReceiptView::receipt`] is the part to hand on.
    ///
    /// Safe to repeat: a question has one receipt.
    ///
    /// # Errors
    ///
    /// `Refused` with `not_answered` if no person answered the question, and with `log_not_signed` if the server has no key to sign with.
    pub async fn receipt_of(&self, question: SuspensionId) -> Result<ReceiptView, CallError> {
        let nothing = Map::<String, Value>::new();
        self.send(Call::write("/api/v1/suspensions/{id}/receipt", [question.expose()], &nothing, Repeat::Safe)?).await
    }

    /// Reads a receipt, and whether it was used or revoked.
    pub async fn receipt(&self, id: ReceiptId) -> Result<ReceiptView, CallError> {
        self.send(Call::read("/api/v1/receipts/{id}", [id.to_string()])).await
    }

    /// Uses a receipt, with a verifier's key. The caller may act if this returns, and must not act otherwise.
    ///
    /// Not repeated if the reply is lost: the caller then reads the receipt, and sees in `closed_by` whether its own key used it.
    ///
    /// # Errors
    ///
    /// `Refused` with `receipt_used`, `receipt_revoked`, or `receipt_mismatch` if the receipt is about another action or says another answer.
    pub async fn consume_receipt(&self, id: ReceiptId, action_digest: Hash, value: Value) -> Result<ReceiptView, CallError> {
        let request = ConsumeReceiptRequest { action_digest, value };
        self.send(Call::write("/api/v1/receipts/{id}/consume", [id.to_string()], &request, Repeat::Unsafe)?).await
    }

    /// Revokes a receipt before it is used: an admin may, and the person who answered.
    ///
    /// # Errors
    ///
    /// `Refused` with `receipt_used` if it is too late, and with `receipt_revoked` if it was revoked before.
    pub async fn revoke_receipt(&self, id: ReceiptId, reason: Option<&str>) -> Result<ReceiptView, CallError> {
        let request = RevokeReceiptRequest { reason: reason.map(str::to_owned) };
        self.send(Call::write("/api/v1/receipts/{id}/revoke", [id.to_string()], &request, Repeat::Unsafe)?).await
    }
}

/// Checks the file of a receipt without a server, and gives the decision. `keys` are the log's public keys, as its holder gave them to
/// the caller, and not as the receipt's bearer did: a slice of [`VerifyingKey`](crate::VerifyingKey)s, or [`LogKeys`] if the log had
/// earlier keys.
///
/// This does not show whether the receipt was used or revoked. Compare [`Decision::action_digest`] with [`action_digest`](crate::action_digest) of the action, which is the context of its question.
///
/// # Errors
///
/// The first reason not to accept the file.
pub fn verify_receipt<'a>(file: &[u8], keys: impl Into<LogKeys<'a>>) -> Result<Decision, FileError> {
    let verified = verify_file(file, keys)?;
    serde_json::from_value(verified.decision).map_err(|error| FileError::Form(error.to_string()))
}

/// How the signature of a passkey under a decision was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signed {
    /// The question demanded no passkey.
    NotDemanded,
    /// A passkey signed that is not among those that the caller knows.
    Unknown,
    /// A passkey that the caller knows as this person's signed exactly this answer.
    ByKnown,
}

/// Checks the signature of a passkey under a decision, which [`verify_receipt`] gave. `known` are passkeys of people, as the caller knew
/// them beforehand. The signature proves consent to the two digests and the value; it does not prove that the screen was truthful.
///
/// # Errors
///
/// The question demanded a passkey, and no signature is there; or the passkey is known, and the signature is wrong.
pub fn verify_signature(decision: &Decision, known: &[KnownPasskey]) -> Result<Signed, SignatureError> {
    let Some(assertion) = &decision.assertion else {
        return if decision.assurance == Assurance::Passkey { Err(SignatureError::Missing) } else { Ok(Signed::NotDemanded) };
    };
    let challenge = decision.challenge().ok_or(SignatureError::Missing)?;
    match verify_known(assertion, &challenge, &decision.responded_by, known) {
        Ok(true) => Ok(Signed::ByKnown),
        Ok(false) => Ok(Signed::Unknown),
        Err(error) => Err(SignatureError::Wrong(error)),
    }
}

/// Why the signature of a passkey under a decision is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SignatureError {
    /// The decision says that a passkey signed, and carries no signature.
    #[error("the decision says that a passkey signed it, and carries no signature of one")]
    Missing,
    /// The signature is wrong.
    #[error("the passkey is not accepted: {0}")]
    Wrong(#[source] PasskeyError),
}
