//! The conditions under which a parked agent goes on, as a request names them (Harn's `ResumeConditions`).

use serde_json::{Map, Value};

use crate::base::field::{EMPTY, FieldError};
use crate::base::json;
use crate::base::text::{is_blank, quoted, truncated};
use crate::suspension::stop::{
    Conditions, EVENT_NAME_MAX, OnTimeout, Provider, RESUME_INPUT_BYTES_MAX, TIMEOUT_MINUTES_MAX, TRIGGER_BYTES_MAX,
    TRIGGER_EVENTS_MAX, Timeout, Trigger,
};

/// How many unknown members of one object are told: a reply should not be many times as large as its request.
const UNKNOWN_TOLD_MAX: usize = 20;
/// How much of a name that the caller made up is told, in characters.
const NAME_CHARS_TOLD: usize = 60;

/// Collects the problems, each at its path.
#[derive(Default)]
struct Problems(Vec<FieldError>);

impl Problems {
    /// A condition that breaks a rule of Harn.
    fn add(&mut self, path: &str, rule: &str, why: impl AsRef<str>) {
        let message = format!("HARN-SUS-002: invalid ResumeConditions{}: {}", suffix(path), why.as_ref());
        self.0.push(FieldError::new(field(path), rule, message));
    }
}

/// The path in Harn's words, which begin below the conditions.
fn suffix(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(".{path}") }
}

/// The path in the body of the request.
fn field(path: &str) -> String {
    format!("conditions{}", suffix(path))
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "nil",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "dict",
    }
}

/// Reads the conditions; `None` if there are none, so that the intent is parked until it is resumed.
///
/// # Errors
///
/// Every problem, each at its path.
pub fn conditions(given: Option<&Value>) -> Result<Option<Conditions>, Vec<FieldError>> {
    let Some(given) = given.filter(|given| !given.is_null()) else { return Ok(None) };
    let mut problems = Problems::default();
    let Value::Object(members) = given else {
        problems.add("", "type", format!("expected dict or nil, got {}", kind_of(given)));
        return Err(problems.0);
    };
    unknown(members, "", &["trigger", "timeout", "on_event"], &mut problems);
    let read = Conditions {
        on_event: present(members, "on_event").and_then(|value| on_event(value, &mut problems)),
        trigger: present(members, "trigger").and_then(|value| trigger(value, &mut problems)),
        timeout: present(members, "timeout").and_then(|value| timeout(value, &mut problems)),
    };
    if !problems.0.is_empty() {
        return Err(problems.0);
    }
    let is_empty = read.on_event.is_none() && read.trigger.is_none() && read.timeout.is_none();
    Ok((!is_empty).then_some(read))
}

/// The member, unless it is absent or null.
fn present<'a>(members: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    members.get(name).filter(|value| !value.is_null())
}

fn unknown(members: &Map<String, Value>, path: &str, known: &[&str], problems: &mut Problems) {
    let (last, others) = known.split_last().unwrap_or((&"", &[]));
    let expected = match others {
        [] => (*last).to_owned(),
        [one] => format!("{one} or {last}"),
        _ => format!("{}, or {last}", others.join(", ")),
    };
    for name in members.keys().filter(|name| !known.contains(&name.as_str())).take(UNKNOWN_TOLD_MAX) {
        let name = if name.is_empty() { EMPTY.to_owned() } else { truncated(name, NAME_CHARS_TOLD) };
        let path = if path.is_empty() { name } else { format!("{path}.{name}") };
        problems.add(&path, "unknown", format!("unknown field; expected {expected}"));
    }
}

/// Whether an event can have this name.
pub fn is_event_name(name: &str) -> bool {
    let is_allowed = |character: char| character.is_ascii_alphanumeric() || "._:/@-".contains(character);
    (1..=EVENT_NAME_MAX).contains(&name.len()) && name.chars().all(is_allowed)
}

fn name_rule() -> String {
    format!("must be 1 to {EVENT_NAME_MAX} letters, digits and characters of ._:/@-")
}

fn on_event(value: &Value, problems: &mut Problems) -> Option<String> {
    let name = value.as_str().map(str::trim).filter(|name| !name.is_empty());
    let Some(name) = name else {
        problems.add("on_event", "type", "must be a non-empty string");
        return None;
    };
    if !is_event_name(name) {
        problems.add("on_event", "value", format!("invalid runtime event channel: {}", name_rule()));
        return None;
    }
    Some(name.to_owned())
}

fn trigger(value: &Value, problems: &mut Problems) -> Option<Trigger> {
    let Value::Object(members) = value else {
        problems.add("trigger", "type", format!("expected dict or nil, got {}", kind_of(value)));
        return None;
    };
    if json::size(value) > TRIGGER_BYTES_MAX {
        problems.add("trigger", "length", format!("must be at most {TRIGGER_BYTES_MAX} bytes of JSON"));
        return None;
    }
    unknown(members, "trigger", &["kind", "provider", "match"], problems);
    let kind = word(members, "kind", problems);
    let provider = word(members, "provider", problems).and_then(|named| {
        let known = Provider::parse(&named);
        if known.is_none() {
            // The message is that of a trigger that cannot be registered, and not that of one that cannot be read.
            let named = quoted(&named, NAME_CHARS_TOLD);
            let message = format!("HARN-SUS-007: no provider \"{named}\" is served here; placet and webhook are");
            problems.0.push(FieldError::new(field("trigger.provider"), "value", message));
        }
        known
    });
    let events = events(members.get("match"), problems);
    Some(Trigger { kind: kind?, provider: provider?, events: events? })
}

fn word(members: &Map<String, Value>, name: &str, problems: &mut Problems) -> Option<String> {
    let word = members.get(name).and_then(Value::as_str).map(str::trim).filter(|word| !word.is_empty());
    if word.is_none() {
        problems.add(&format!("trigger.{name}"), "required", "must be a non-empty string");
    }
    word.map(str::to_owned)
}

fn events(value: Option<&Value>, problems: &mut Problems) -> Option<Vec<String>> {
    let Some(Value::Object(members)) = value else {
        let got = value.map_or("nil", kind_of);
        problems.add("trigger.match", "type", format!("expected dict, got {got}"));
        return None;
    };
    unknown(members, "trigger.match", &["events"], problems);
    let listed =
        members.get("events").and_then(Value::as_array).filter(|listed| (1..=TRIGGER_EVENTS_MAX).contains(&listed.len()));
    let Some(listed) = listed else {
        problems.add("trigger.match.events", "type", format!("must be a list of 1 to {TRIGGER_EVENTS_MAX} names of events"));
        return None;
    };
    let mut names: Vec<String> = Vec::with_capacity(listed.len());
    for (index, listed) in listed.iter().enumerate() {
        match listed.as_str().filter(|name| is_event_name(name)) {
            Some(name) if names.iter().all(|other| other != name) => names.push(name.to_owned()),
            Some(_) => {}
            None => problems.add(&format!("trigger.match.events[{index}]"), "value", name_rule()),
        }
    }
    Some(names)
}

fn timeout(value: &Value, problems: &mut Problems) -> Option<Timeout> {
    let Value::Object(members) = value else {
        problems.add("timeout", "type", format!("expected dict or nil, got {}", kind_of(value)));
        return None;
    };
    unknown(members, "timeout", &["duration_minutes", "on_timeout", "input"], problems);
    let minutes = members.get("duration_minutes").and_then(Value::as_u64).and_then(|minutes| u32::try_from(minutes).ok());
    let minutes = minutes.filter(|minutes| (1..=TIMEOUT_MINUTES_MAX).contains(minutes));
    if minutes.is_none() {
        let why = format!("must be a positive int, of at most {TIMEOUT_MINUTES_MAX}");
        problems.add("timeout.duration_minutes", "range", why);
    }
    let on_timeout = match present(members, "on_timeout") {
        None => Some(OnTimeout::ResumeWithSummary),
        Some(Value::String(named)) => {
            let known = OnTimeout::parse(named);
            if known.is_none() {
                let (named, all) = (quoted(named, NAME_CHARS_TOLD), OnTimeout::ALL.map(OnTimeout::as_str).join(", "));
                problems.add("timeout.on_timeout", "value", format!("unsupported action `{named}`; expected one of: {all}"));
            }
            known
        }
        Some(other) => {
            problems.add("timeout.on_timeout", "type", format!("expected string, got {}", kind_of(other)));
            None
        }
    };
    let input = present(members, "input").cloned();
    if input.is_some() && on_timeout.is_some_and(|action| action != OnTimeout::ResumeWithInput) {
        problems.add("timeout.input", "unsupported", "only the action resume_with_input has an input");
    }
    if let Some(flaw) = input.as_ref().and_then(input_flaw) {
        problems.add("timeout.input", "value", flaw);
    }
    Some(Timeout { duration_minutes: minutes?, on_timeout: on_timeout?, input })
}

/// Why a value cannot be the input with which work goes on.
pub(super) fn input_flaw(input: &Value) -> Option<String> {
    if input.as_str().is_some_and(is_blank) {
        return Some("must not be a blank text; leave it out if the agent is given nothing".to_owned());
    }
    let is_too_large = json::size(input) > RESUME_INPUT_BYTES_MAX;
    is_too_large.then(|| format!("must be at most {RESUME_INPUT_BYTES_MAX} bytes of JSON"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(given: &Value) -> Vec<(String, String)> {
        let errors = conditions(Some(given)).unwrap_err();
        errors.into_iter().map(|error| (error.field, error.message)).collect()
    }

    #[test]
    fn nothing_and_null_are_no_conditions() {
        for given in [None, Some(json!(null)), Some(json!({})), Some(json!({"timeout": null, "on_event": null, "trigger": null}))]
        {
            assert_eq!(conditions(given.as_ref()), Ok(None), "{given:?}");
        }
    }

    /// Each row of Harn's table, with its words at its path.
    #[test]
    fn every_problem_is_told_at_its_path() {
        let told =
            |given: Value| fields(&given).into_iter().map(|(field, message)| format!("{field} {message}")).collect::<Vec<_>>();
        let is = |given: Value, field: &str, why: &str| {
            let suffix = field.strip_prefix("conditions").unwrap();
            assert_eq!(told(given), [format!("{field} HARN-SUS-002: invalid ResumeConditions{suffix}: {why}")]);
        };
        is(json!([]), "conditions", "expected dict or nil, got list");
        is(json!({"until": 1}), "conditions.until", "unknown field; expected trigger, timeout, or on_event");
        is(json!({"trigger": 1}), "conditions.trigger", "expected dict or nil, got number");
        is(json!({"timeout": "x"}), "conditions.timeout", "expected dict or nil, got string");
        for minutes in [json!(0), json!(-1), json!(1.5), json!(527_041), json!("5"), json!(null)] {
            let given = json!({"timeout": {"duration_minutes": minutes}});
            is(given, "conditions.timeout.duration_minutes", "must be a positive int, of at most 527040");
        }
        let action = |action: Value| json!({"timeout": {"duration_minutes": 1, "on_timeout": action}});
        let all = "resume_with_summary, fail, resume_with_input";
        is(action(json!("x")), "conditions.timeout.on_timeout", &format!("unsupported action `x`; expected one of: {all}"));
        is(action(json!(1)), "conditions.timeout.on_timeout", "expected string, got number");
        for name in [json!(" "), json!(""), json!(1)] {
            is(json!({"on_event": name}), "conditions.on_event", "must be a non-empty string");
        }
        let rule = "invalid runtime event channel: must be 1 to 200 letters, digits and characters of ._:/@-";
        for name in ["a b".to_owned(), "ä".to_owned(), "x".repeat(201)] {
            is(json!({"on_event": name}), "conditions.on_event", rule);
        }
        let event = json!({"trigger": {"kind": "k", "provider": "placet", "match": {"events": ["x"], "names": 1}}});
        is(event, "conditions.trigger.match.names", "unknown field; expected events");
        is(json!({"": 1}), "conditions.\"\"", "unknown field; expected trigger, timeout, or on_event");
        let unnamed = json!({"timeout": {"duration_minutes": 1, "": 1}});
        is(unnamed, "conditions.timeout.\"\"", "unknown field; expected duration_minutes, on_timeout, or input");
        let input = json!({"timeout": {"duration_minutes": 1, "on_timeout": "resume_with_input", "input": "  "}});
        is(input, "conditions.timeout.input", "must not be a blank text; leave it out if the agent is given nothing");
        let several = told(json!({"on_event": " ", "timeout": {"duration_minutes": 0, "x": 1}, "y": 1}));
        assert_eq!(several.len(), 4, "{several:?}");
    }

    #[test]
    fn a_trigger_names_a_provider_that_is_served() {
        let trigger =
            |provider: &str, events: Value| json!({"trigger": {"kind": "k", "provider": provider, "match": {"events": events}}});
        let read = conditions(Some(&trigger("webhook", json!(["review.approved", "review.approved"])))).unwrap().unwrap();
        assert_eq!(read.trigger.unwrap().events, ["review.approved"]);
        let unknown = fields(&trigger("github", json!(["x"])));
        assert_eq!(unknown[0].0, "conditions.trigger.provider");
        assert!(unknown[0].1.starts_with("HARN-SUS-007: "), "{unknown:?}");
        for events in [json!([]), json!("x"), json!(vec!["x"; TRIGGER_EVENTS_MAX + 1])] {
            assert_eq!(fields(&trigger("placet", events))[0].0, "conditions.trigger.match.events");
        }
        assert_eq!(fields(&trigger("placet", json!(["x", "a b"])))[0].0, "conditions.trigger.match.events[1]");
        let large = json!({"trigger": {"kind": "k".repeat(TRIGGER_BYTES_MAX), "provider": "placet", "match": {"events": ["x"]}}});
        assert_eq!(fields(&large)[0].0, "conditions.trigger");
        let missing = fields(&json!({"trigger": {}}));
        let paths: Vec<&str> = missing.iter().map(|(field, _)| field.as_str()).collect();
        assert_eq!(paths, ["conditions.trigger.kind", "conditions.trigger.provider", "conditions.trigger.match"]);
    }

    #[test]
    fn of_many_unknown_members_some_are_told() {
        let many: Map<String, Value> = (0..=UNKNOWN_TOLD_MAX).map(|number| (format!("x{number}"), json!(0))).collect();
        assert_eq!(fields(&Value::Object(many)).len(), UNKNOWN_TOLD_MAX);
    }

    #[test]
    fn the_seeds_own_examples_are_names() {
        for name in ["file.changed:src/lib.rs", "ci.build.completed:1234", "channel:pr.merged", &"x".repeat(200)] {
            assert!(is_event_name(name), "{name}");
        }
    }
}
