//! Stops: an agent parks its work, sees that it was paused or ended, and goes on or hands in what it has.

use std::time::Duration;

use domain::base::ids::{IntentId, SuspensionId};
use domain::intent::body::PAUSE_KEY;
use domain::suspension::Kind;
use domain::suspension::stop::{Conditions, Mode, Stage};
use domain::wire::{
    AskedConditions, IntentView, ParkRequest, PauseRequest, ResumeRequest, SettleRequest, StopRecord, StopRequest,
    StopResolution, SuspensionView,
};
use serde_json::Value;

use crate::backoff::Repeat;
use crate::client::Client;
use crate::error::CallError;
use crate::intent::Intent;
use crate::key::fresh_key;
use crate::transport::{Call, Patience};

/// How long one request for a stop waits on the server.
const WAIT_SECONDS: u32 = 50;

/// How an agent goes on after [`Client::between_steps`].
#[derive(Clone, Debug, PartialEq)]
pub enum GoOn {
    /// Nothing stops the work.
    Free,
    /// The work was stopped and goes on now. The record has the `input` for it, and says whether the agent is to begin anew
    /// (`continue_transcript`).
    Resumed(Box<StopRecord>),
    /// The work is being ended: the agent has until `expires_at` to call [`Client::hand_in`].
    Ending(Box<StopRecord>),
    /// The intent has ended; the stop with which it ended is absent if it had ended before.
    Closed(Option<Box<StopRecord>>),
}

impl Client {
    /// Pauses the work of another agent on an intent.
    ///
    /// # Errors
    ///
    /// `Refused` with `not_active` if the intent does not run, and with `forbidden` for the agent's own work, which is
    /// [parked](Client::park).
    pub async fn pause(&self, id: IntentId, mode: Mode, reason: Option<&str>) -> Result<StopRecord, CallError> {
        let request = PauseRequest { mode: Some(mode), reason: reason.map(str::to_owned) };
        self.send(Call::write("/api/v1/intents/{intent_id}/pause", [id.to_string()], &request, Repeat::Safe)?).await
    }

    /// Parks the agent's own work until one of the conditions is met, or until it is resumed. Wait with [`Client::stop_ended`].
    ///
    /// ```no_run
    /// # async fn example(client: placet::Client, intent: placet::IntentId) -> Result<(), placet::CallError> {
    /// let conditions = placet::Conditions { on_event: Some("review.approved".to_owned()), trigger: None, timeout: None };
    /// let parked = client.park(intent, "Waiting for the review.", Some(conditions)).await?;
    /// let gone = client.stop_ended(parked).await?;
    /// println!("{:?} {:?}", gone.cause, gone.input);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `Refused` with `invalid` for each condition that breaks a rule, and with `not_active` if the intent is not active, or is parked under
    /// other conditions.
    pub async fn park(&self, id: IntentId, reason: &str, conditions: Option<Conditions>) -> Result<StopRecord, CallError> {
        let conditions = conditions.map(AskedConditions::from).map(serde_json::to_value).transpose();
        let conditions = conditions.map_err(|error| crate::transport::unreadable(&error))?;
        let request = ParkRequest { reason: reason.to_owned(), conditions, resume_owner: None };
        let call = Call::write("/api/v1/intents/{intent_id}/park", [id.to_string()], &request, Repeat::Safe)?;
        self.send(call.header("idempotency-key", fresh_key())).await
    }

    /// Ends the work of another agent on an intent: it has a minute to hand in what it has, or none if the end is not `graceful`.
    ///
    /// # Errors
    ///
    /// `Refused` with `not_active` if the intent has ended.
    pub async fn stop(&self, id: IntentId, graceful: bool, reason: Option<&str>) -> Result<StopRecord, CallError> {
        let request = StopRequest { graceful: Some(graceful), reason: reason.map(str::to_owned) };
        let call = Call::write("/api/v1/intents/{intent_id}/stop", [id.to_string()], &request, Repeat::Safe)?;
        self.send(call.header("idempotency-key", fresh_key())).await
    }

    /// Lets stopped work go on, with something for its agent.
    ///
    /// # Errors
    ///
    /// `Refused` with `already_resolved` if it was resumed before, and with `forbidden` for the agent whose work is paused.
    pub async fn resume(&self, id: SuspensionId, input: Option<Value>) -> Result<StopRecord, CallError> {
        let request = ResumeRequest { input, ..ResumeRequest::default() };
        let call = Call::write("/api/v1/suspensions/{id}/resume", [id.expose()], &request, Repeat::Safe)?;
        self.send(call.header("idempotency-key", fresh_key())).await
    }

    /// Says how far the agent has stopped.
    pub async fn settle(&self, id: SuspensionId, stage: Stage) -> Result<StopRecord, CallError> {
        self.settled(id, SettleRequest { stage: Some(stage), handoff: None }).await
    }

    /// Hands in what the agent has, when its work is being ended: an object of at most 64 KiB. The intent ends with it.
    ///
    /// # Errors
    ///
    /// `Refused` with `expired` or `not_active` if the time was over.
    pub async fn hand_in(&self, id: SuspensionId, handoff: Value) -> Result<StopRecord, CallError> {
        self.settled(id, SettleRequest { stage: Some(Stage::Suspended), handoff: Some(handoff) }).await
    }

    async fn settled(&self, id: SuspensionId, request: SettleRequest) -> Result<StopRecord, CallError> {
        let call = Call::write("/api/v1/suspensions/{id}/settle", [id.expose()], &request, Repeat::Safe)?;
        self.send(call.header("idempotency-key", fresh_key())).await
    }

    /// Reads the present state of a stop. [`Client::suspension`] reads questions, and [`Client::suspension_of_any_kind`] both.
    pub async fn stop_record(&self, id: SuspensionId) -> Result<StopRecord, CallError> {
        self.send(Call::read("/api/v1/suspensions/{id}", [id.expose()])).await
    }

    /// The stop that holds an intent; `None` if it is neither paused nor parked, and its work is not being ended.
    pub async fn open_stop(&self, id: IntentId) -> Result<Option<StopRecord>, CallError> {
        match stop_in(&self.intent_view(id).await?) {
            Some(stop) => self.stop_record(stop).await.map(Some),
            None => Ok(None),
        }
    }

    /// Reads a suspension of any kind: a question or a stop.
    pub async fn suspension_of_any_kind(&self, id: SuspensionId) -> Result<SuspensionView, CallError> {
        self.send(Call::read("/api/v1/suspensions/{id}", [id.expose()])).await
    }

    /// Waits until a stop has ended, however long that takes.
    pub async fn stop_ended(&self, mut record: StopRecord) -> Result<StopRecord, CallError> {
        while record.resolution.is_none() {
            let wait = Duration::from_secs(u64::from(WAIT_SECONDS));
            let patience = self.outage_tolerance().map_or(Patience::Endless, Patience::For);
            let call = Call::read("/api/v1/suspensions/{id}", [record.id.expose()])
                .query("wait", WAIT_SECONDS.to_string())
                .query("after_version", record.version.to_string());
            record = self.send(call.patient(wait, patience)).await?;
        }
        Ok(record)
    }

    /// The place between two steps of an agent's work. If the work is paused, this tells the hooks, says to the server that the
    /// agent has stopped, and waits until the work goes on or the intent has ended. If the work is being ended, it returns at once.
    ///
    /// ```no_run
    /// # async fn example(client: placet::Client, intent: placet::IntentId) -> Result<(), placet::CallError> {
    /// match client.between_steps(intent).await? {
    ///     placet::GoOn::Free => {}
    ///     placet::GoOn::Resumed(record) => println!("go on with {:?}", record.input),
    ///     placet::GoOn::Ending(record) => {
    ///         client.hand_in(record.id, serde_json::json!({"left": ["the invoice"]})).await?;
    ///     }
    ///     placet::GoOn::Closed(_) => return Ok(()),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn between_steps(&self, id: IntentId) -> Result<GoOn, CallError> {
        let view = self.intent_view(id).await?;
        let Some(stop) = stop_in(&view) else {
            return Ok(if view.status.is_final() { GoOn::Closed(None) } else { GoOn::Free });
        };
        let mut record = self.stop_record(stop).await?;
        self.hooks().tell(|hooks| hooks.on_stopped(&record));
        if record.resolution.is_none() && record.kind == Kind::Stopping {
            return Ok(GoOn::Ending(Box::new(record)));
        }
        if record.resolution.is_none() && record.stage != Stage::Suspended {
            record = match self.settle(stop, Stage::Suspended).await {
                // It ended a moment before: the record says how.
                Err(CallError::Refused(_)) => self.stop_record(stop).await?,
                settled => settled?,
            };
        }
        let record = self.stop_ended(record).await?;
        self.hooks().tell(|hooks| hooks.on_stop_ended(&record));
        let goes_on = record.resolution == Some(StopResolution::Resumed);
        Ok(if goes_on { GoOn::Resumed(Box::new(record)) } else { GoOn::Closed(Some(Box::new(record))) })
    }
}

impl Intent {
    /// Parks the work on the intent; see [`Client::park`].
    pub async fn park(&self, reason: &str, conditions: Option<Conditions>) -> Result<StopRecord, CallError> {
        self.client.park(self.id(), reason, conditions).await
    }

    /// The place between two steps of the work; see [`Client::between_steps`].
    pub async fn between_steps(&self) -> Result<GoOn, CallError> {
        self.client.between_steps(self.id()).await
    }
}

/// The open stop of an intent, as its state names it.
fn stop_in(view: &IntentView) -> Option<SuspensionId> {
    let named = view.state.get(PAUSE_KEY).and_then(|stop| stop.get("id")).and_then(Value::as_str);
    named.and_then(SuspensionId::parse)
}
