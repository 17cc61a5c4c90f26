//! The stop of an intent in the words of the extensions for pauses: pure functions.

use chrono::{DateTime, Utc};
use domain::base::ids::SuspensionId;
use domain::intent::stop_event::StopEvent;
use domain::suspension::Kind;
use domain::suspension::stop::{Conditions, Mode, Stage};
use domain::wire::StopRecord;
use serde_json::{Map, Value, json};

use super::wire::{Pause, timestamp};

/// A stop as far as it is told: that of a record, or that of an event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stopped {
    pub(crate) id: SuspensionId,
    /// Whether the agent parked itself; otherwise another principal has paused it.
    by_agent: bool,
    reason: Option<String>,
    pub(crate) at: DateTime<Utc>,
    until: Option<DateTime<Utc>>,
    conditions: Option<Conditions>,
    mode: Option<Mode>,
    stage: Stage,
}

impl Stopped {
    pub(crate) fn of(record: &StopRecord) -> Self {
        Self {
            id: record.id,
            by_agent: record.kind == Kind::Parked,
            reason: record.reason.clone(),
            at: record.suspended_at,
            until: record.expires_at,
            conditions: record.conditions.clone(),
            mode: record.mode,
            stage: record.stage,
        }
    }

    /// The stop that an event begins; `None` if it begins none.
    pub(crate) fn begun(event: &StopEvent, at: DateTime<Utc>) -> Option<Self> {
        let terms = event.terms()?;
        let (by_agent, until, stage) = match event {
            StopEvent::Paused(paused) => (false, None, paused.stage),
            StopEvent::Parked(parked) => (true, parked.expires_at, Stage::Suspended),
            // The protocol has no word for the end of work: the task reads as one that is paused, and then as one that was abandoned.
            StopEvent::Stopping(stopping) => (false, stopping.expires_at, stopping.stage),
            StopEvent::TakenOver(_)
            | StopEvent::Extended(_)
            | StopEvent::Settled(_)
            | StopEvent::Resumed(_)
            | StopEvent::Closed(_) => return None,
        };
        let id = event.suspension_id();
        Some(Self { id, by_agent, reason: terms.reason, at, until, conditions: terms.conditions, mode: terms.mode, stage })
    }

    /// The state in the words of the proposal.
    pub(crate) fn state(&self) -> &'static str {
        if self.by_agent { "paused-by-agent" } else { "paused-by-client" }
    }

    /// The members that the proposal gives a stop. The handle is shown only to those who may return it.
    pub(crate) fn members(&self, may_resume: bool) -> Value {
        let mut members = json!({
            "state": self.state(),
            "initiator": if self.by_agent { "agent" } else { "client" },
            "pausedAt": timestamp(self.at),
            "stage": self.stage,
        });
        let mut put = |name: &str, fact: Option<Value>| {
            if let Some(fact) = fact {
                members[name] = fact;
            }
        };
        put("handle", may_resume.then(|| json!(self.id)));
        put("reason", self.reason.as_ref().map(|reason| json!(reason)));
        put("mode", self.mode.map(|mode| json!(mode)));
        put("conditions", self.conditions.as_ref().map(in_camel));
        members
    }

    /// The stop as the revision describes it.
    pub(crate) fn pause(&self, may_resume: bool) -> Pause {
        let conditions = self.conditions.as_ref();
        let waits = conditions.is_some_and(|conditions| conditions.on_event.is_some() || conditions.trigger.is_some());
        let timed = conditions.is_some_and(|conditions| conditions.timeout.is_some());
        let resume_mode = if waits { Some("RESUME_MODE_EXTERNAL_EVENT") } else { timed.then_some("RESUME_MODE_TIMEOUT") };
        Pause {
            initiated_by: if self.by_agent { "PAUSE_INITIATOR_AGENT" } else { "PAUSE_INITIATOR_CLIENT" },
            reason: self.reason.clone(),
            paused_at: timestamp(self.at),
            paused_until: self.until.map(timestamp),
            resume_token: may_resume.then(|| self.id.expose()),
            resumable: may_resume,
            conditions: conditions.map(in_camel),
            resume_mode,
        }
    }

    /// The stop in words, for every client.
    pub(crate) fn in_words(&self) -> String {
        let done = if self.by_agent { "parked itself" } else { "was paused by another" };
        let reason = self.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let until = self.until.map(|until| format!("\n\nIt waits until {} at most.", timestamp(until))).unwrap_or_default();
        format!("The agent {done}{reason}{until}")
    }
}

/// Conditions in camelCase. The input and the names of events are the agent's own.
fn in_camel(conditions: &Conditions) -> Value {
    let mut written = Map::new();
    if let Some(name) = &conditions.on_event {
        written.insert("onEvent".to_owned(), json!(name));
    }
    if let Some(trigger) = &conditions.trigger {
        let described = json!({ "kind": trigger.kind, "provider": trigger.provider, "match": { "events": trigger.events } });
        written.insert("trigger".to_owned(), described);
    }
    if let Some(timeout) = &conditions.timeout {
        let mut described = json!({ "durationMinutes": timeout.duration_minutes, "onTimeout": timeout.on_timeout });
        if let Some(input) = &timeout.input {
            described["input"] = input.clone();
        }
        written.insert("timeout".to_owned(), described);
    }
    Value::Object(written)
}
