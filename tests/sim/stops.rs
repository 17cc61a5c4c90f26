//! The reference for stops: who pauses, parks and lets go on one intent, according to its events.

use domain::base::time::{micros, parse};
use serde_json::Value;

use crate::model::{Checked, ModelIntent, ModelSuspension, Resolved, must};

const MINUTE: i64 = 60 * 1_000_000;
/// For how long an agent may hand in what it has, when its work is ended.
pub(crate) const HANDOFF_SECONDS: u32 = 60;
const HANDOFF: i64 = HANDOFF_SECONDS as i64 * 1_000_000;
/// The stages in their order.
const STAGES: [&str; 3] = ["requested", "quiescing", "suspended"];
/// Events by which an agent gets work, or takes it up.
const NEW_WORK: [&str; 5] = ["intent.suspended", "lease_acquired", "task.claimed", "task.started", "task.unblocked"];

/// The open stop of one intent, and what happened last.
#[derive(Clone, Default)]
pub(crate) struct ModelStops {
    pub(crate) open: Option<OpenStop>,
    /// The last event about a stop, in the words of the coverage.
    pub(crate) last: &'static str,
    /// The ids of the stops that ended because the intent was abandoned, or its work was ended.
    closed: Vec<String>,
    /// The stage of the stop that has just ended because the work is ended.
    gave_way: Option<usize>,
    /// The ids of the stops by which the work was ended.
    pub(crate) endings: Vec<String>,
    /// The name of the principal that let the intent go on by telling of an event, with the id of the stop.
    pub(crate) woken: Vec<(String, String)>,
}

/// A stop that is open.
#[derive(Clone)]
pub(crate) struct OpenStop {
    pub(crate) id: String,
    pub(crate) is_paused: bool,
    /// Whether the work is being ended.
    pub(crate) is_ending: bool,
    stage: usize,
    pub(crate) conditions: Value,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn time(value: &Value) -> Option<i64> {
    value.as_str().and_then(parse).map(micros)
}

fn stage(payload: &Value) -> Result<usize, String> {
    let told = payload["stage"].as_str().unwrap_or_default();
    STAGES.iter().position(|stage| *stage == told).ok_or_else(|| format!("I50: a stage {told:?}"))
}

impl ModelStops {
    /// Whether the work is being ended.
    pub(crate) fn is_ending(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.is_ending)
    }
}

impl OpenStop {
    /// Why an event of this name lets the intent go on; the provider is not known here.
    fn met_by(&self, name: &str) -> Vec<&'static str> {
        let by_trigger = self.conditions["trigger"]["events"].as_array().into_iter().flatten().any(|event| event == name);
        let by_name = (self.conditions["on_event"] == name).then_some("external_event");
        by_name.into_iter().chain(by_trigger.then_some("condition_fired")).collect()
    }

    /// The effect that is agreed for the end of its time.
    fn on_timeout(&self) -> &str {
        self.conditions["timeout"]["on_timeout"].as_str().unwrap_or_default()
    }
}

impl ModelIntent {
    /// A stopped intent gets no new work, and one that has ended is neither stopped nor let go on.
    pub(crate) fn must_rest(&self, event_type: &str, payload: &Value) -> Checked {
        let is_new = NEW_WORK.contains(&event_type);
        must!(!is_new || self.stops.open.is_none(), "I50: {event_type} while the intent is stopped");
        if event_type.starts_with("lifecycle.") {
            let id = text(&payload["suspension_id"]);
            must!(!self.stops.closed.contains(&id), "I51: {event_type} of a stop that was closed");
            let is_over = matches!(self.status.as_str(), "completed" | "abandoned");
            must!(!is_over, "I51: {event_type} on an intent that is {}", self.status);
        }
        if event_type == "status_changed" && self.stops.open.is_some() {
            let new = text(&payload["new_status"]);
            must!(new != "abandoned", "I51: an intent was abandoned, and its stop is open");
            must!(new == "blocked", "I50: an intent became {new} while it was stopped");
        }
        Ok(())
    }

    /// Applies an event about a stop.
    pub(crate) fn stop(&mut self, step: &str, payload: &Value, at: i64) -> Checked {
        match step {
            "paused" | "parked" => self.stopped(step == "paused", payload, at),
            "stopping" => self.stopping(payload, at),
            "settled" => self.settled(payload),
            "extended" => self.stop_extended(payload),
            "resumed" => self.stop_resumed(payload, at),
            "closed" => self.stop_closed(payload, at),
            other => Err(format!("I49: an event lifecycle.{other}")),
        }
    }

    fn stopped(&mut self, is_paused: bool, payload: &Value, at: i64) -> Checked {
        must!(self.stops.open.is_none(), "I49: stopped twice");
        must!(self.open.is_none(), "I49: stopped while a question is open");
        let is_running = self.status == "active";
        must!(is_running || is_paused && self.status == "blocked", "I49: stopped while {}", self.status);
        let id = text(&payload["suspension_id"]);
        must!(!self.suspensions.contains_key(&id), "I14: one id for two suspensions");
        let stage = if is_paused { stage(payload)? } else { STAGES.len() - 1 };
        must!(!is_paused || (stage == 0) == is_running, "I50: paused at stage {stage} while {}", self.status);
        let minutes = payload["conditions"]["timeout"]["duration_minutes"].as_i64();
        let expires_at = time(&payload["expires_at"]);
        let until = minutes.map(|minutes| at + minutes * MINUTE);
        let is_dated = expires_at == until || self.is_dated_later && expires_at < until;
        must!(is_dated && expires_at.is_some() == until.is_some(), "I16: parked until another time than its conditions say");
        let conditions = payload["conditions"].clone();
        let open = OpenStop { id: id.clone(), is_paused, is_ending: false, stage, conditions };
        let falls_back = matches!(open.on_timeout(), "resume_with_summary" | "resume_with_input");
        let mut model = ModelSuspension::default();
        (model.suspended_at, model.expires_at, model.max_attempts) = (at, expires_at, 1);
        let policy = if falls_back { "complete_with_fallback" } else { "fail" };
        policy.clone_into(&mut model.fallback_policy);
        (model.attempt, model.version) = (1, 1);
        self.suspensions.insert(id, model);
        self.stops.open = Some(open);
        self.stops.last = if is_paused { "intent paused" } else { "intent parked" };
        Ok(())
    }

    /// The work on the intent is being ended, and it waits for nothing else any more.
    fn stopping(&mut self, payload: &Value, at: i64) -> Checked {
        must!(self.stops.open.is_none(), "I49: the work is ended, and another stop is open");
        must!(self.open.is_none(), "I49: the work is ended, and a question is open");
        let id = text(&payload["suspension_id"]);
        must!(!self.suspensions.contains_key(&id), "I14: one id for two suspensions");
        let stage = stage(payload)?;
        let is_running = matches!(self.status.as_str(), "active" | "suspended_awaiting_input");
        let reached = self.stops.gave_way.take().unwrap_or(if is_running { 0 } else { STAGES.len() - 1 });
        must!(stage == reached, "I50: the work is ended at stage {stage}, and its agent had reached {reached}");
        let expires_at = time(&payload["expires_at"]);
        let is_dated = |given: i64| given == at + HANDOFF || self.is_dated_later && given < at + HANDOFF;
        must!(expires_at.is_none_or(is_dated), "I16: an agent has another time than was given to hand in what it has");
        let mut model = ModelSuspension::default();
        (model.suspended_at, model.expires_at, model.max_attempts) = (at, expires_at, 1);
        "complete_with_fallback".clone_into(&mut model.fallback_policy);
        (model.attempt, model.version) = (1, 1);
        self.suspensions.insert(id.clone(), model);
        self.next_status = None;
        self.stops.endings.push(id.clone());
        self.stops.open = Some(OpenStop { id, is_paused: false, is_ending: true, stage, conditions: Value::Null });
        self.stops.last = "work ended by a controller";
        Ok(())
    }

    /// The open stop that an event names, with its suspension.
    fn open_stop(&mut self, payload: &Value) -> Result<(&mut OpenStop, &mut ModelSuspension), String> {
        let id = text(&payload["suspension_id"]);
        let open = self.stops.open.as_mut().filter(|open| open.id == id);
        let open = open.ok_or_else(|| format!("I49: an event about a stop that is not open: {payload}"))?;
        let suspension = self.suspensions.get_mut(&id).ok_or("I14: a stop without its beginning")?;
        Ok((open, suspension))
    }

    fn settled(&mut self, payload: &Value) -> Checked {
        let (open, suspension) = self.open_stop(payload)?;
        let reached = stage(payload)?;
        must!(reached > open.stage, "I50: stage {reached} after {}", open.stage);
        must!(!open.is_ending || reached < STAGES.len() - 1, "I51: an agent handed in its work, and its intent has not ended");
        open.stage = reached;
        suspension.version += 1;
        self.stops.last = "agent settled";
        Ok(())
    }

    fn stop_extended(&mut self, payload: &Value) -> Checked {
        let (_, suspension) = self.open_stop(payload)?;
        must!(time(&payload["old_expires_at"]) == suspension.expires_at, "I16: the time was another before it was moved");
        let new = time(&payload["new_expires_at"]);
        must!(new > suspension.expires_at, "I16: the time of a park moved to an earlier one");
        must!(suspension.fallback_policy != "fail", "I16: a park that fails got an outage's time back");
        suspension.expires_at = new;
        suspension.version += 1;
        suspension.is_owed_time = false;
        self.stops.last = "time given back to a park";
        Ok(())
    }

    fn stop_resumed(&mut self, payload: &Value, at: i64) -> Checked {
        let dated_later = self.is_dated_later;
        let (open, suspension) = self.open_stop(payload)?;
        let (cause, is_over) = (text(&payload["cause"]), suspension.is_expired(at));
        must!(!open.is_ending, "I51: work went on that was being ended");
        must!(dated_later || (cause == "timeout") == is_over, "I49: went on by {cause}, and its time was over: {is_over}");
        let last = match cause.as_str() {
            "explicit_resume" => "intent resumed",
            "external_event" | "condition_fired" => {
                let met = open.met_by(payload["event"].as_str().unwrap_or_default());
                must!(met.contains(&cause.as_str()), "I49: went on by an event for which it did not wait: {payload}");
                if cause == "external_event" { "parked intent woken by an event" } else { "parked intent woken by its trigger" }
            }
            "timeout" => {
                must!(is_over, "I49: its time was not over");
                must!(open.on_timeout() == said(payload), "I49: went on with something else than agreed: {payload}");
                must!(!suspension.is_owed_time, "I16: went on, and the time of an absence was not given back");
                "parked intent went on by its time"
            }
            other => return Err(format!("I49: went on by {other}")),
        };
        let by = payload["resumed_by"].clone();
        if payload["event"].is_string() {
            self.stops.woken.push((text(&by), text(&payload["suspension_id"])));
        }
        self.end_stop(payload, Resolved { resolution: "responded", reason: None, at, response: Value::Null, by }, last)
    }

    fn stop_closed(&mut self, payload: &Value, at: i64) -> Checked {
        let dated_later = self.is_dated_later;
        let (open, suspension) = self.open_stop(payload)?;
        let is_over = suspension.is_expired(at);
        let cause = text(&payload["cause"]);
        let by_time = cause == "timeout";
        must!(dated_later || by_time == is_over, "I49: closed by {cause}, and its time was over: {is_over}");
        let is_agreed = open.is_ending || open.on_timeout() == "fail";
        must!(!by_time || is_over && is_agreed, "I49: closed by its time, which was not agreed");
        must!(cause != "handed_over" || open.is_ending, "I49: an agent handed in work that goes on");
        must!(open.is_ending || payload["handoff"].is_null(), "I49: a document came with the end of a pause");
        must!(
            !by_time || !suspension.is_owed_time || !open.is_ending,
            "I16: work ended, and the time of an absence was not given back"
        );
        let (id, by, is_ending) = (open.id.clone(), payload["closed_by"].clone(), open.is_ending);
        let gave_way = (cause == "stopped" && !is_ending).then_some(open.stage);
        self.stops.gave_way = gave_way;
        self.stops.closed.push(id);
        // The stop that a controller ends together with the work is followed by the end of that.
        self.next_status = (is_ending || cause != "stopped").then_some("abandoned");
        let (resolution, reason) = if by_time { ("expired", None) } else { ("cancelled", Some("withdrawn".to_owned())) };
        let last = match (cause.as_str(), is_ending) {
            ("timeout", true) => "agent handed nothing in",
            ("timeout", false) => "parked intent failed by its time",
            ("handed_over", _) => "agent handed in its work",
            (_, true) => "work ended at once",
            ("stopped", false) => "stop ended with the work",
            (_, false) => "intent closed while stopped",
        };
        self.end_stop(payload, Resolved { resolution, reason, at, response: Value::Null, by }, last)
    }

    fn end_stop(&mut self, payload: &Value, resolved: Resolved, last: &'static str) -> Checked {
        let (_, suspension) = self.open_stop(payload)?;
        must!(suspension.resolution.is_none(), "I49: a stop ended twice");
        suspension.resolution = Some(resolved);
        suspension.version += 1;
        self.stops.open = None;
        self.stops.last = last;
        Ok(())
    }
}

/// The input that an intent gets that goes on by its time, in the words of its conditions.
fn said(payload: &Value) -> &'static str {
    if payload["digest"].is_string() { "resume_with_summary" } else { "resume_with_input" }
}
