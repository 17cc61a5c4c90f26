//! Claims, releases, delegations and reassignments of open questions, with the key of a person.

use domain::base::ids::SuspensionId;
use domain::suspension::assignees::Assignees;
use domain::wire::{ClaimRequest, DelegateRequest, ReassignRequest, SuspensionRecord};
use serde::Serialize;

use crate::backoff::Repeat;
use crate::client::Client;
use crate::error::CallError;
use crate::transport::Call;

impl Client {
    /// Tells others that this key's person works on a question. They may answer all the same.
    ///
    /// # Errors
    ///
    /// `Refused` with `not_assigned` or `forbidden` if the person may not answer, and with `expired` or `already_resolved` if the question
    /// is no longer open.
    pub async fn claim(&self, id: SuspensionId) -> Result<SuspensionRecord, CallError> {
        self.hand("/api/v1/suspensions/{id}/claim", id, &ClaimRequest {}).await
    }

    /// Takes the claim of this key's person back; with an admin's key, that of another person, too.
    ///
    /// # Errors
    ///
    /// `Refused` with `not_claimed` if there is none.
    pub async fn release(&self, id: SuspensionId) -> Result<SuspensionRecord, CallError> {
        self.hand("/api/v1/suspensions/{id}/release", id, &ClaimRequest {}).await
    }

    /// Hands the place of this key's person to the listed person with the address `to`.
    ///
    /// # Errors
    ///
    /// `Refused` with `invalid` if that person cannot have the place, with `has_answered` if an answer of this key's person counts, and with
    /// `not_assigned` if this key's person has no place.
    pub async fn delegate(&self, id: SuspensionId, to: &str) -> Result<SuspensionRecord, CallError> {
        self.hand("/api/v1/suspensions/{id}/delegate", id, &DelegateRequest { to: to.to_owned() }).await
    }

    /// Assigns a question to other people.
    ///
    /// # Errors
    ///
    /// `Refused` with `invalid` if people or groups do not exist, may not be named by this key, or are too few.
    pub async fn reassign(&self, id: SuspensionId, assignees: Assignees) -> Result<SuspensionRecord, CallError> {
        self.hand("/api/v1/suspensions/{id}/reassign", id, &ReassignRequest { assignees }).await
    }

    async fn hand(
        &self,
        path: &'static str,
        id: SuspensionId,
        request: &(impl Serialize + Sync),
    ) -> Result<SuspensionRecord, CallError> {
        self.send(Call::write(path, [id.expose()], request, Repeat::Unsafe)?).await
    }
}
