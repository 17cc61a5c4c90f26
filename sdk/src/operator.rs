//! What a program does on the other side of a question, with an operator's key: look for open ones, and answer.

use domain::log::Hash;
use domain::problem::FieldError;
use domain::wire::{RespondRequest, RespondResponse, SuspensionPage, SuspensionRecord};
use serde_json::{Map, Value};

use crate::backoff::Repeat;
use crate::client::Client;
use crate::error::CallError;
use crate::key::key_header;
use crate::problem::Problem;
use crate::transport::Call;

impl Client {
    /// One page of the open questions this key may read, newest first. `cursor` is the `next_cursor` of the page before.
    pub async fn open_suspensions(&self, cursor: Option<&str>) -> Result<SuspensionPage, CallError> {
        let call = Call::read(&["suspensions"]).query("state", "open");
        let call = match cursor {
            Some(cursor) => call.query("cursor", cursor),
            None => call,
        };
        self.send(call).await
    }

    /// Answers `question`, which somebody else asked. `metadata` is kept with the answer, such as `{"comment": …}`.
    ///
    /// Safe to repeat: the same answer of the same key is recorded once, and a repetition hears what the first one heard.
    ///
    /// # Errors
    ///
    /// `Refused` with `invalid_choice`, with `expired`, `already_resolved` or `suspension_mismatch` if it is no longer open, and with
    /// `self_response` or `forbidden` if this key may not answer it.
    pub async fn respond(
        &self,
        question: &SuspensionRecord,
        value: Value,
        metadata: Option<Map<String, Value>>,
    ) -> Result<RespondResponse, CallError> {
        let segment = question.intent_id.to_string();
        let path = ["intents", segment.as_str(), "suspend", "respond"];
        let suspension_id = question.id.expose();
        let request = RespondRequest { suspension_id, value: Some(value), responded_by: None, metadata };
        let refused = |error| CallError::Refused(Box::new(Problem::invalid(vec![error])));
        let bytes = domain::json::canonical(&request)
            .map_err(|_| refused(FieldError::new("value", "type", "holds a number that JSON cannot")))?;
        let key = key_header(&format!("placet-respond-1-{}", Hash::of(&bytes))).map_err(refused)?;
        self.send(Call::write(&path, &request, Repeat::Safe)?.header("idempotency-key", key)).await
    }
}
