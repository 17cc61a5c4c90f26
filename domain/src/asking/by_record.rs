//! The OpenIntent client suspends in three calls: it sets the status, writes the record of its question into the state, and
//! appends an event. This module turns that record into the body of the one call (`suspend`) that asks a question.

use chrono::TimeDelta;
use serde_json::{Map, Value};

use crate::base::field::FieldError;
use crate::base::time;
use crate::problem::Rejection;
use crate::suspension::retry::Schedule;

/// The longest id that a client gives a question, in characters.
pub const CLIENT_ID_MAX: usize = 200;

/// A client reads its clock twice for the two ends of its window, so the window may be too short by up to this many milliseconds.
const WINDOW_SHORT_MILLIS_MAX: i64 = 100;

/// The body of the call `suspend` that was made from a record, and the values for which that body has no field.
#[derive(Clone, Debug, PartialEq)]
pub struct Adapted {
    /// The id that the client gave the question.
    pub client_id: String,
    /// The body, which is then read like every other body.
    pub body: Value,
    /// The seconds from the record's `suspended_at` to its `expires_at`.
    pub window_seconds: Option<u32>,
    /// Warnings to the asker about differences between the record and the question.
    pub warnings: Vec<String>,
}

/// Adapts a record.
///
/// # Errors
///
/// `SuspensionIsServerOwned` if the record holds an ending; else the first rule that the record breaks.
pub fn adapted(mut record: Map<String, Value>) -> Result<Adapted, Rejection> {
    record.retain(|_, value| !value.is_null());
    if ["response", "responded_by", "responded_at", "resolution", "resolved_at"].iter().any(|ending| record.contains_key(*ending))
    {
        return Err(Rejection::SuspensionIsServerOwned);
    }
    if record.contains_key("supersedes") {
        let message = "must be absent: a record that differs from the open question supersedes it";
        return Err(Rejection::invalid("_suspension.supersedes", "unsupported", message));
    }
    let mut warnings = Vec::new();
    let client_id = client_id(record.remove("id"))?;
    let window_seconds = window(record.remove("suspended_at"), record.remove("expires_at"))?;
    if let Some(confidence) = record.remove("confidence_at_suspension") {
        record.insert("confidence".into(), confidence);
    }
    let no_choices = record.get("choices").is_none_or(|choices| choices.as_array().is_some_and(Vec::is_empty));
    if no_choices && record.get("response_type").is_none_or(|kind| kind == "choice") {
        record.insert("response_type".into(), "text".into());
        warnings.push("a choice without choices is asked as text".to_owned());
    }
    if let Some(strategy) = record.get_mut("retry_policy").and_then(|policy| policy.get_mut("strategy"))
        && strategy.is_string()
        && *strategy != "fixed"
    {
        warnings.push(format!("retry_policy.strategy {strategy} is taken as fixed, as the client itself takes it"));
        *strategy = "fixed".into();
    }
    if !record.contains_key("retry_policy") && !record.contains_key("timeout_seconds") {
        record.extend(window_seconds.map(|window| ("timeout_seconds".to_owned(), window.into())));
    }
    Ok(Adapted { client_id, body: Value::Object(record), window_seconds, warnings })
}

/// Whether a client may give a question this id.
pub fn is_client_id(id: &str) -> bool {
    (1..=CLIENT_ID_MAX).contains(&id.chars().count()) && !id.contains(char::is_control)
}

fn client_id(id: Option<Value>) -> Result<String, Rejection> {
    let Some(Value::String(id)) = id else {
        return Err(Rejection::invalid("_suspension.id", "required", "must be a string of your own, for this question alone"));
    };
    if !is_client_id(&id) {
        let message = format!("must be 1 to {CLIENT_ID_MAX} characters, none of them a control character");
        return Err(Rejection::invalid("_suspension.id", "length", message));
    }
    Ok(id)
}

/// The seconds between two times of the client. Its clock may be wrong, but the difference between two of its times is right.
fn window(suspended_at: Option<Value>, expires_at: Option<Value>) -> Result<Option<u32>, Rejection> {
    let time = |field: &str, value: Option<Value>| match value {
        None => Ok(None),
        Some(value) => value.as_str().and_then(time::parse).map(Some).ok_or_else(|| {
            Rejection::invalid(format!("_suspension.{field}"), "time", "must be a time such as 2026-11-24T08:00:00.000000")
        }),
    };
    let (from, to) = (time("suspended_at", suspended_at)?, time("expires_at", expires_at)?);
    let Some(to) = to else { return Ok(None) };
    let Some(from) = from else {
        return Err(Rejection::invalid("_suspension.suspended_at", "required", "must be given beside expires_at"));
    };
    let seconds = (to - from + TimeDelta::milliseconds(WINDOW_SHORT_MILLIS_MAX)).num_seconds();
    u32::try_from(seconds).ok().filter(|seconds| *seconds > 0).map(Some).ok_or_else(|| {
        Rejection::invalid(
            "_suspension.expires_at",
            "range",
            "must be later than suspended_at, and by at most 4,294,967,295 seconds",
        )
    })
}

/// Refuses a record whose own window ends before the schedule of its question does. The client would act at the end of its
/// window, while the question is still open.
///
/// # Errors
///
/// A field error that names `expires_at`.
pub fn check_window(window_seconds: Option<u32>, schedule: &Schedule) -> Result<(), Vec<FieldError>> {
    let is_shorter = |(own, whole): (u32, u32)| own < whole;
    if window_seconds.zip(schedule.window_seconds).is_some_and(is_shorter)
        || (window_seconds.is_some() && schedule.window_seconds.is_none())
    {
        let message = "must not be before the end of the time that timeout_seconds or retry_policy gives";
        return Err(vec![FieldError::new("_suspension.expires_at", "range", message)]);
    }
    Ok(())
}
