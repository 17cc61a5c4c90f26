//! The stop of an intent in the words of the extensions for pauses: pure functions.

use chrono::{DateTime, Utc};
use domain::base::ids::SuspensionId;
use domain::base::text::{defanged, quoted};
use domain::intent::stop_event::StopEvent;
use domain::suspension::Kind;
use domain::suspension::at_time::AtTime;
use domain::suspension::stop::{Conditions, Mode, Stage};
use domain::wire::StopRecord;
use serde_json::{Map, Value, json};

use super::wire::{Pause, timestamp};

/// A stop as far as it is told: that of a record, or that of an event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stopped {
    pub(crate) id: SuspensionId,
    kind: Kind,
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
            kind: record.kind,
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
        let (kind, until, stage) = match event {
            StopEvent::Paused(paused) => (Kind::Paused, None, paused.stage),
            StopEvent::Parked(parked) => (Kind::Parked, parked.expires_at, Stage::Suspended),
            StopEvent::Stopping(stopping) => (Kind::Stopping, stopping.expires_at, stopping.stage),
            StopEvent::TakenOver(_)
            | StopEvent::Extended(_)
            | StopEvent::Settled(_)
            | StopEvent::Resumed(_)
            | StopEvent::Closed(_) => return None,
        };
        let id = event.suspension_id();
        Some(Self { id, kind, reason: terms.reason, at, until, conditions: terms.conditions, mode: terms.mode, stage })
    }

    /// Whether the agent parked itself; otherwise another principal has stopped it.
    fn is_by_agent(&self) -> bool {
        self.kind == Kind::Parked
    }

    /// Whether the work is being ended, so that it does not go on.
    fn is_ending(&self) -> bool {
        self.kind == Kind::Stopping
    }

    /// When the work ends at the latest; `None` if it is not being ended.
    fn ends_at(&self) -> Option<String> {
        self.until.filter(|_| self.is_ending()).map(timestamp)
    }

    /// The state in the words of the proposal. It has none for the end of work: that reads as a pause which no client can lift.
    pub(crate) fn state(&self) -> &'static str {
        if self.is_by_agent() { "paused-by-agent" } else { "paused-by-client" }
    }

    /// The members that the proposal gives a stop. The handle is shown only to those who may return it.
    pub(crate) fn members(&self, may_resume: bool) -> Value {
        let mut members = json!({
            "state": self.state(),
            "initiator": if self.is_by_agent() { "agent" } else { "client" },
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
        put("endsAt", self.ends_at().map(|at| json!(at)));
        members
    }

    /// The stop as the revision describes it.
    pub(crate) fn pause(&self, may_resume: bool) -> Pause {
        let conditions = self.conditions.as_ref();
        let waits = conditions.is_some_and(|conditions| conditions.on_event.is_some() || conditions.trigger.is_some());
        let timed = conditions.is_some_and(|conditions| conditions.timeout.is_some());
        let resume_mode = if waits { Some("RESUME_MODE_EXTERNAL_EVENT") } else { timed.then_some("RESUME_MODE_TIMEOUT") };
        Pause {
            initiated_by: if self.is_by_agent() { "PAUSE_INITIATOR_AGENT" } else { "PAUSE_INITIATOR_CLIENT" },
            reason: self.reason.clone(),
            paused_at: timestamp(self.at),
            paused_until: self.until.filter(|_| !self.is_ending()).map(timestamp),
            ends_at: self.ends_at(),
            resume_token: may_resume.then(|| self.id.expose()),
            resumable: may_resume,
            conditions: conditions.map(in_camel),
            resume_mode,
        }
    }

    /// The stop in words, for every client.
    pub(crate) fn in_words(&self) -> String {
        let reason = self.reason.as_deref();
        let until = self.until.map(timestamp);
        if self.is_ending() {
            let hands_in = |at: String| format!("\n\nIt does not go on. Its agent may hand in what it has until {at}.");
            return because("The work is being ended by another", reason) + &until.map(hands_in).unwrap_or_default();
        }
        let done = if self.is_by_agent() { "The agent parked itself" } else { "The agent was paused by another" };
        let effect = AtTime::of(self.conditions.as_ref()).in_english();
        let waits = |at: String| format!("\n\nThe work waits until {at} at the latest; then {effect}.");
        because(done, reason) + &until.map(waits).unwrap_or_default()
    }
}

/// What was done, with the reason. Programs show these words to people, so nothing in a reason is hidden in them or can be clicked, and a reason
/// cannot go on as if the server had written it: it stands on one line, in quotation marks that it cannot close.
pub(crate) fn because(done: &str, reason: Option<&str>) -> String {
    reason.map_or_else(|| format!("{done}."), |reason| format!("{done}: “{}”", defanged(&quoted(reason, usize::MAX))))
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

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::intent::stop_event::{Parked, Stopping};
    use domain::suspension::stop::{Initiator, OnTimeout, ResumeOwner, Timeout};
    use uuid::Uuid;

    use super::*;

    fn ending(reason: Option<&str>, seconds: Option<i64>) -> Stopped {
        let began = DateTime::UNIX_EPOCH;
        let event = StopEvent::Stopping(Box::new(Stopping {
            suspension_id: SuspensionId(Uuid::from_u128(7)),
            stage: Stage::Requested,
            reason: reason.map(str::to_owned),
            expires_at: seconds.map(|seconds| began + TimeDelta::seconds(seconds)),
            initiator: Initiator::Operator,
            stopped_by: "ada@example.com".into(),
            credential: None,
            by: None,
        }));
        Stopped::begun(&event, began).unwrap()
    }

    /// Work that is being ended must not read as work that goes on later.
    #[test]
    fn the_end_of_work_says_that_it_is_one() {
        let ended = ending(Some("See https://evil.example/a”.\n\nIt goes on"), Some(60));
        let words = ended.in_words();
        assert_eq!(
            words,
            "The work is being ended by another: “See https[:]//evil[.]example/a’.  It goes on”\n\nIt does not go on. Its agent may hand in what it has \
             until 1970-01-01T00:01:00.000Z."
        );
        let (members, pause) = (ended.members(false), ended.pause(false));
        assert_eq!((members["endsAt"].clone(), members["handle"].clone()), (json!("1970-01-01T00:01:00.000Z"), Value::Null));
        assert_eq!((pause.paused_until, pause.ends_at.as_deref()), (None, Some("1970-01-01T00:01:00.000Z")));
        assert_eq!((pause.resumable, pause.resume_token), (false, None));
        let at_once = ending(None, None);
        assert_eq!(at_once.in_words(), "The work is being ended by another.");
        assert_eq!(at_once.members(false).get("endsAt"), None);
    }

    /// A client that reads no conditions must know whether the work goes on by itself or is given up.
    #[test]
    fn a_park_says_what_its_time_does() {
        for (on_timeout, input, effect) in [
            (OnTimeout::ResumeWithSummary, None, "it goes on, and its agent begins anew with a summary"),
            (OnTimeout::ResumeWithInput, Some(json!("go")), "it goes on, and its agent gets the input that it set"),
            (OnTimeout::ResumeWithInput, None, "it goes on, and its agent is told that the time is over"),
            (OnTimeout::Fail, None, "the work is given up"),
        ] {
            let timeout = Timeout { duration_minutes: 1, on_timeout, input };
            let event = StopEvent::Parked(Box::new(Parked {
                suspension_id: SuspensionId(Uuid::from_u128(7)),
                reason: "The review is not there yet.".to_owned(),
                conditions: Some(Conditions { on_event: None, trigger: None, timeout: Some(timeout) }),
                expires_at: Some(DateTime::UNIX_EPOCH + TimeDelta::minutes(1)),
                resume_owner: ResumeOwner::Server,
                parked_by: "bot".to_owned(),
                credential: None,
                by: None,
            }));
            let words = Stopped::begun(&event, DateTime::UNIX_EPOCH).unwrap().in_words();
            let expected = format!(
                "The agent parked itself: “The review is not there yet.”\n\nThe work waits until 1970-01-01T00:01:00.000Z at the latest; \
                 then {effect}."
            );
            assert_eq!(words, expected);
        }
    }
}
