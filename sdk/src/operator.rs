//! The calls on the other side of a question, with an operator's key: look for open questions, and answer them.

use domain::base::ids::SuspensionId;
use domain::wire::{
    ExtendRequest, RemindRequest, RespondRequest, RespondResponse, SuspensionPage, SuspensionRecord, TakeBackRequest,
};
use reqwest::header::HeaderValue;
use serde_json::{Map, Value};

use crate::backoff::Repeat;
use crate::client::Client;
use crate::error::CallError;
use crate::key::{derived_key, fresh_key};
use crate::transport::Call;

impl Client {
    /// One page of the open questions this key may read, newest first. `cursor` is the `next_cursor` of the page before.
    pub async fn open_suspensions(&self, cursor: Option<&str>) -> Result<SuspensionPage, CallError> {
        self.page("open", cursor).await
    }

    /// One page of the questions this key may read, open or ended, newest first. `cursor` is the `next_cursor` of the page before.
    pub async fn all_suspensions(&self, cursor: Option<&str>) -> Result<SuspensionPage, CallError> {
        self.page("all", cursor).await
    }

    async fn page(&self, state: &str, cursor: Option<&str>) -> Result<SuspensionPage, CallError> {
        let call = Call::read("/api/v1/suspensions", []).query("state", state);
        let call = match cursor {
            Some(cursor) => call.query("cursor", cursor),
            None => call,
        };
        self.send(call).await
    }

    /// Answers `question`, which another key asked. `metadata` is kept with the answer, for example `{"comment": …}`.
    ///
    /// Safe to repeat: the same answer of the same key is recorded once, and a repetition gets the same reply. If several people must
    /// agree, a repetition is an answer of its own: the person may have given another one in between, or taken it back.
    ///
    /// # Errors
    ///
    /// `Refused` with `invalid_choice`; with `expired`, `already_resolved` or `suspension_mismatch` if the question is no longer
    /// open; and with `self_response` or `forbidden` if this key may not answer it.
    pub async fn respond(
        &self,
        question: &SuspensionRecord,
        value: Value,
        metadata: Option<Map<String, Value>>,
    ) -> Result<RespondResponse, CallError> {
        self.respond_with(question, value, None, metadata).await
    }

    /// Answers `question` as [`respond`](Client::respond) does, and approves its proposal as `proposal` has it: with the edits of the
    /// person. The answer is based on `question` as it was read.
    ///
    /// # Errors
    ///
    /// As `respond`; also `Refused` with `invalid` if something was edited that may not be, and with `proposal_changed` if another person
    /// has edited the proposal since `question` was read.
    pub async fn respond_with(
        &self,
        question: &SuspensionRecord,
        value: Value,
        proposal: Option<Map<String, Value>>,
        metadata: Option<Map<String, Value>>,
    ) -> Result<RespondResponse, CallError> {
        let suspension_id = question.id.expose();
        let based_on = question.action_digest.map(|digest| digest.to_string());
        let request = RespondRequest { suspension_id, value: Some(value), responded_by: None, metadata, proposal, based_on };
        let key = match question.quorum {
            None => derived_key("placet-respond-1", "value", &request)?,
            Some(_) => fresh_key(),
        };
        let ids = [question.intent_id.to_string()];
        let call = Call::write("/api/v1/intents/{intent_id}/suspend/respond", ids, &request, Repeat::Safe)?;
        self.send(call.header("idempotency-key", key)).await
    }

    /// Takes back the answer of this key's person to `question`, while more people must agree.
    ///
    /// # Errors
    ///
    /// `Refused` with `not_counted` if the person has given no answer that counts, and with `expired` or `already_resolved` if the question
    /// is no longer open.
    pub async fn take_back(&self, question: &SuspensionRecord) -> Result<SuspensionRecord, CallError> {
        let request = TakeBackRequest::default();
        let call = Call::write("/api/v1/suspensions/{id}/take-back", [question.id.expose()], &request, Repeat::Unsafe)?;
        self.send(call).await
    }

    /// Moves the deadline of `question`, which another key asked, `seconds` later; never beyond 366 days after it was asked.
    ///
    /// Safe to repeat: the call is based on `question` as it was read, and another extension in between gives a
    /// `version_conflict`.
    ///
    /// # Errors
    ///
    /// `Refused` with `invalid` or `version_conflict`; with `expired` or `already_resolved` if the question is no longer open;
    /// and with `forbidden` if this key may not do it: the agent that asked may not.
    pub async fn extend(
        &self,
        question: &SuspensionRecord,
        seconds: u32,
        reason: Option<&str>,
    ) -> Result<SuspensionRecord, CallError> {
        let request = ExtendRequest { seconds: Some(seconds), reason: reason.map(str::to_owned), ..ExtendRequest::default() };
        let key = derived_key("placet-extend-1", "value", &(question.id, question.version, &request))?;
        let call = Call::write("/api/v1/suspensions/{id}/extend", [question.id.expose()], &request, Repeat::Safe)?
            .header("idempotency-key", key);
        self.send(call.header("if-match", HeaderValue::from(question.version))).await
    }

    /// Sends a reminder now to the people who are asked at present; at most once in five minutes for each question.
    ///
    /// # Errors
    ///
    /// `Refused` with `rate_limited` if that is too soon and the pause that the server asks for, 300 seconds at most, is longer
    /// than [`retry_for`](crate::ClientBuilder::retry_for); the call waits for a shorter pause. `Refused` with `expired` or
    /// `already_resolved` if the question is no longer open, and with `forbidden` if this key may not do it: the agent that asked
    /// may not.
    pub async fn remind(&self, id: SuspensionId) -> Result<SuspensionRecord, CallError> {
        self.send(Call::write("/api/v1/suspensions/{id}/remind", [id.expose()], &RemindRequest {}, Repeat::Unsafe)?).await
    }
}
