//! Receipts of decisions: the agent has one made and hands it on; a third party checks it with [`verify_receipt`], uses it once with
//! [`Client::consume_receipt`], and then acts.

use domain::base::ids::{ReceiptId, SuspensionId};
use domain::base::sealed::Hash;
use domain::intent::receipt::Decision;
use domain::wire::{ConsumeReceiptRequest, ReceiptView, RevokeReceiptRequest};
use proof::key::VerifyingKey;
use proof::receipt::{FileError, verify_file};
use serde_json::{Map, Value};

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
/// the caller, and not as the receipt's bearer did.
///
/// This does not show whether the receipt was used or revoked. Compare [`Decision::action_digest`] with [`action_digest`](crate::action_digest) of the action, which is the context of its question.
///
/// # Errors
///
/// The first reason not to accept the file.
pub fn verify_receipt(file: &[u8], keys: &[VerifyingKey]) -> Result<Decision, FileError> {
    let verified = verify_file(file, keys)?;
    serde_json::from_value(verified.decision).map_err(|error| FileError::Form(error.to_string()))
}
