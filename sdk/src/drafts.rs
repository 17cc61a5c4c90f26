//! Drafts of answers, with the key of a person.

use domain::base::ids::SuspensionId;
use domain::suspension::draft::DraftValues;
use domain::wire::{DraftList, SaveDraftRequest};
use reqwest::Method;

use crate::backoff::Repeat;
use crate::client::Client;
use crate::error::CallError;
use crate::transport::Call;

impl Client {
    /// Saves a draft of an answer, in place of the one that this key's person saved before; `DraftValues::default()` takes that one back.
    /// The other people who may answer see it. A draft is no answer.
    ///
    /// # Errors
    ///
    /// `Refused` with `invalid` if the draft is too large, with `not_assigned`, `self_response`, `assurance_too_low` or `forbidden` if the
    /// person may not answer, and with `expired` or `already_resolved` if the question is no longer open.
    pub async fn save_draft(&self, id: SuspensionId, values: DraftValues) -> Result<DraftList, CallError> {
        let call = Call::write("/api/v1/suspensions/{id}/draft", [id.expose()], &SaveDraftRequest { values }, Repeat::Safe)?;
        self.send(call.method(Method::PUT)).await
    }

    /// The drafts of an open question, oldest first. Those of a question that has ended without an answer are in its record.
    ///
    /// # Errors
    ///
    /// `Refused` as with [`save_draft`](Client::save_draft), except that a question that is no longer open has an empty list.
    pub async fn drafts(&self, id: SuspensionId) -> Result<DraftList, CallError> {
        self.send(Call::read("/api/v1/suspensions/{id}/drafts", [id.expose()])).await
    }
}
