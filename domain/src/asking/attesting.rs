//! Receipts of stops (Harn's lifecycle): made from the events of the log when they are asked for, and compared with them when one is shown.
//! They say that an intent was stopped and goes on, and prove no decision.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::base::field::FieldError;
use crate::base::ids::SuspensionId;
use crate::base::json::canonical;
use crate::suspension::Resolution;
use crate::suspension::stop::{Cause, Stop};
use crate::wire::{
    LifecycleEvent, LifecycleProblem, LifecycleReceipt, LifecycleStamp, ResumptionReceipt, SuspensionReceipt, TriggerMatch,
    as_in_a_record,
};

/// The kind of the receipts that an intent was stopped.
pub const SUSPENSION: &str = "suspension_receipt";
/// The kind of the receipts that an intent goes on.
pub const RESUMPTION: &str = "resumption_receipt";
/// The kind of Harn's receipts of drains, of which this server makes none.
pub const DRAIN: &str = "drain_decision_receipt";
/// The member that stands for an input that was left out of a copy.
pub const REDACTED: &str = "redacted";

/// The input is not the one that the agent was given.
pub const INPUT_DIFFERS: &str = "HARN-SUS-011";
/// The prompt is not the one of the receipt.
pub const PROMPT_DIFFERS: &str = "HARN-SUS-012";
/// The receipt is not one of this server, or does not say what the log says.
pub const STAMP_DIFFERS: &str = "HARN-SUS-013";

/// The text over which a stamp is made, as Harn has it: five lines, each with its end.
pub fn stamped_text(kind: &str, at: DateTime<Utc>, subject: &str, initiator: &str) -> String {
    let at_ms = at.timestamp_millis();
    format!("harn.lifecycle.timestamp.v1\nkind={kind}\nat_ms={at_ms}\nsubject={subject}\ninitiator={initiator}\n")
}

/// A stop with the events by which it began and ended.
#[derive(Clone, Debug)]
pub struct StopLog {
    /// The stop.
    pub stop: Stop,
    /// The event by which it began.
    pub began: LifecycleEvent,
    /// The event by which it ended; absent while it is open.
    pub ended: Option<LifecycleEvent>,
    /// Whether an agent let the intent go on.
    pub by_agent: bool,
}

/// Makes the receipts of a stop; `stamp` gets the kind, the time and the initiator. `None` if an event that a receipt needs was erased.
pub fn receipts(log: &StopLog, stamp: impl Fn(&str, DateTime<Utc>, &str) -> LifecycleStamp) -> Option<Vec<LifecycleReceipt>> {
    let terms = log.stop.terms.as_ref()?;
    let suspension = &log.stop.suspension;
    let initiator = serde_json::to_value(terms.initiator).ok()?;
    let began = SuspensionReceipt {
        handle: suspension.id,
        session_id: suspension.intent_id,
        initiator: terms.initiator,
        initiator_id: terms.initiated_by.clone(),
        reason: terms.reason.clone(),
        conditions: terms.conditions.clone(),
        suspended_at: stamp(SUSPENSION, suspension.suspended_at, initiator.as_str().unwrap_or_default()),
        log: log.began.clone(),
    };
    let began = LifecycleReceipt::SuspensionReceipt(Box::new(began));
    // A stop whose intent was abandoned has no receipt that it goes on.
    let went_on = suspension.ending.as_ref().filter(|ending| ending.resolution == Resolution::Responded);
    let Some((ending, event)) = went_on.zip(log.ended.as_ref()) else { return Some(vec![began]) };
    let gone = log.stop.gone.as_ref()?;
    let initiator = match gone.cause {
        Cause::Timeout => "timeout",
        Cause::ExternalEvent | Cause::ConditionFired => "triggered",
        Cause::ExplicitResume | Cause::Closed | Cause::Stopped | Cause::HandedOver => {
            if log.by_agent {
                "parent"
            } else {
                "operator"
            }
        }
    };
    let trigger = terms.conditions.as_ref().and_then(|conditions| conditions.trigger.as_ref());
    let source = match gone.cause {
        Cause::ConditionFired => trigger.map(|trigger| trigger.provider.as_str()),
        Cause::ExternalEvent => Some("on_event"),
        Cause::ExplicitResume | Cause::Timeout | Cause::Closed | Cause::Stopped | Cause::HandedOver => None,
    };
    let went_on = ResumptionReceipt {
        handle: suspension.id,
        session_id: suspension.intent_id,
        initiator: initiator.to_owned(),
        initiator_id: ending.by.clone().unwrap_or_default(),
        input: gone.input.clone(),
        input_hash: gone.input.as_ref().map(input_hash),
        continue_transcript: gone.continue_transcript,
        trigger_match: source.map(|source| TriggerMatch {
            source: source.to_owned(),
            event_id: event.event_id.clone(),
            filter_summary: gone.event.clone().unwrap_or_default(),
        }),
        resumed_at: stamp(RESUMPTION, ending.at, initiator),
        log: event.clone(),
    };
    Some(vec![began, LifecycleReceipt::ResumptionReceipt(Box::new(went_on))])
}

/// The hash of an input: of its canonical JSON.
pub fn input_hash(input: &Value) -> String {
    let bytes = canonical(input).unwrap_or_default();
    format!("sha256:{}", hex(&Sha256::digest(bytes)))
}

/// The bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

/// The stop that a receipt names; `None` for a receipt of a drain, which names none.
///
/// # Errors
///
/// The receipt has no kind that Harn knows, or names no suspension.
pub fn named(receipt: &Map<String, Value>) -> Result<Option<SuspensionId>, Vec<FieldError>> {
    let kind = receipt.get("kind").and_then(Value::as_str).unwrap_or_default();
    if kind == DRAIN {
        return Ok(None);
    }
    if kind != SUSPENSION && kind != RESUMPTION {
        let kinds = format!("must be {SUSPENSION}, {RESUMPTION} or {DRAIN}");
        return Err(vec![FieldError::new("receipt.kind", "type", kinds)]);
    }
    let handle = receipt.get("handle").and_then(Value::as_str).and_then(SuspensionId::parse);
    handle.map(Some).ok_or_else(|| vec![FieldError::new("receipt.handle", "type", "must be the id of a suspension")])
}

fn problem(code: &str, field: &str, message: &str) -> LifecycleProblem {
    LifecycleProblem { code: code.to_owned(), field: field.to_owned(), message: message.to_owned() }
}

/// The problems of a receipt of a drain: this server makes none, so it signed none.
pub fn check_drain(receipt: &Map<String, Value>, prompt: Option<&str>) -> Vec<LifecycleProblem> {
    let told = receipt.get("prompt_hash").and_then(Value::as_str);
    let hash = prompt.map(|prompt| format!("sha256:{}", hex(&Sha256::digest(prompt.as_bytes()))));
    let differs = hash.is_some_and(|hash| told != Some(&hash));
    let differs = differs.then(|| problem(PROMPT_DIFFERS, "prompt_hash", "is not the hash of the prompt"));
    let unsigned = problem(STAMP_DIFFERS, "decided_at", "this server makes no receipts of drains, so it did not sign this one");
    differs.into_iter().chain([unsigned]).collect()
}

/// The problem of a receipt about a stop that this server does not have, or does not show to the caller.
pub fn unknown() -> Vec<LifecycleProblem> {
    vec![problem(STAMP_DIFFERS, "handle", "this server shows you no such suspension")]
}

/// Compares a receipt with those that the log gives for its stop; no problem means that it says what the log says. A receipt of an older
/// server may have its conditions in the form of the log.
pub fn check(receipt: &Map<String, Value>, known: &[LifecycleReceipt]) -> Vec<LifecycleProblem> {
    let mut receipt = receipt.clone();
    if let Some(conditions) = receipt.get_mut("conditions") {
        as_in_a_record(conditions);
    }
    let same_kind = |known: &Map<String, Value>| known.get("kind") == receipt.get("kind");
    let known = known.iter().filter_map(|known| match serde_json::to_value(known) {
        Ok(Value::Object(known)) => Some(known),
        _ => None,
    });
    let Some(known) = known.into_iter().find(same_kind) else {
        return vec![problem(STAMP_DIFFERS, "kind", "the log has no such event of this suspension")];
    };
    let mut problems = Vec::new();
    let members = known.keys().chain(receipt.keys().filter(|name| !known.contains_key(*name)));
    for name in members.filter(|name| *name != "input") {
        if receipt.get(name) != known.get(name) {
            let (code, message) = match name.as_str() {
                "input_hash" => (INPUT_DIFFERS, "is not the hash of the input that the agent was given"),
                "suspended_at" | "resumed_at" => (STAMP_DIFFERS, "is not the stamp of this server"),
                _ => (STAMP_DIFFERS, "differs from the log"),
            };
            problems.push(problem(code, name, message));
        }
    }
    let input = receipt.get("input").filter(|input| !is_left_out(input));
    if input.is_some() && input != known.get("input") {
        problems.push(problem(INPUT_DIFFERS, "input", "is not the input that the agent was given"));
    }
    problems
}

/// Whether an object stands for an input that was left out of the copy.
fn is_left_out(input: &Value) -> bool {
    input.as_object().is_some_and(|members| members.len() == 1 && members.get(REDACTED).is_some_and(Value::is_string))
}
