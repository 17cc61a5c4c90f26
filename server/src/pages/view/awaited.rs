//! The conditions of parked work, and the effect of its time, for the pages that tell of them.
//!
//! Names of events and the kind of a trigger are shown as they are, because a person may copy one and tell of that event. Other words of an
//! agent have their addresses broken up.

use chrono::{DateTime, Utc};
use domain::base::text::{defanged, truncated, visible_line};
use domain::suspension::at_time::AtTime;
use domain::suspension::stop::Conditions;
use serde_json::Value;

use super::line;

/// The longest input and the longest document in a sentence, in characters.
const DOCUMENT_CHARS_MAX: usize = 300;

/// The conditions of parked work.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::pages) struct Awaited {
    /// The name of the event of which any provider may tell.
    pub(in crate::pages) event: Option<String>,
    pub(in crate::pages) trigger: Option<Triggered>,
    pub(in crate::pages) time: Option<Timed>,
}

/// The events of one provider.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::pages) struct Triggered {
    pub(in crate::pages) provider: &'static str,
    /// The names of the events, of which one is enough.
    pub(in crate::pages) events: Vec<String>,
    /// The agent's own word for it.
    pub(in crate::pages) kind: String,
}

/// The time of parked work, and what happens then.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::pages) struct Timed {
    pub(in crate::pages) at: DateTime<Utc>,
    pub(in crate::pages) effect: Effect,
}

/// The effect of the time, if no condition was met before.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::pages) enum Effect {
    /// The work goes on, and its agent begins anew with a summary.
    Summary,
    /// The work goes on with this input.
    Input(Document),
    /// The work goes on, and its agent is told that the time is over.
    Told,
    /// The work is given up.
    GivenUp,
}

impl Awaited {
    /// The conditions of work that is parked; `None` if it only waits to be resumed.
    pub(in crate::pages) fn of(conditions: Option<&Conditions>, until: Option<DateTime<Utc>>) -> Option<Self> {
        let event = conditions.and_then(|conditions| conditions.on_event.as_deref()).map(line);
        let trigger = conditions.and_then(|conditions| conditions.trigger.as_ref()).map(|trigger| Triggered {
            provider: trigger.provider.as_str(),
            events: trigger.events.iter().map(|name| line(name)).collect(),
            kind: line(&trigger.kind),
        });
        let time = Timed::of(conditions, until);
        (event.is_some() || trigger.is_some() || time.is_some()).then_some(Self { event, trigger, time })
    }
}

impl Timed {
    /// The time of work that is parked; `None` if it has none.
    fn of(conditions: Option<&Conditions>, until: Option<DateTime<Utc>>) -> Option<Self> {
        until.map(|at| Self { at, effect: Effect::of(AtTime::of(conditions)) })
    }
}

impl Effect {
    fn of(at_time: AtTime<'_>) -> Self {
        match at_time {
            AtTime::Summary => Self::Summary,
            AtTime::Input(input) => Self::Input(given(input)),
            AtTime::Told => Self::Told,
            AtTime::GivenUp => Self::GivenUp,
        }
    }
}

/// A value that is shown in a sentence.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::pages) struct Document {
    /// Its beginning, or the whole of it.
    pub(in crate::pages) text: String,
    /// How many characters of it are not shown.
    pub(in crate::pages) left_out: usize,
}

/// The input that an agent has set for itself.
fn given(input: &Value) -> Document {
    let Document { text, left_out } = document(input);
    // A broken address would make another document of JSON.
    Document { text: if input.is_string() { defanged(&text) } else { text }, left_out }
}

/// A value on one line, inert and bounded. It stands behind a colon and not between our quotation marks, so it keeps its own ones: without
/// them, JSON would be no JSON.
pub(super) fn document(value: &Value) -> Document {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    };
    let whole = visible_line(&text);
    let whole = whole.trim();
    let text = truncated(whole, DOCUMENT_CHARS_MAX);
    // The last character of a text that was cut is the ellipsis.
    let left_out = if text == whole { 0 } else { whole.chars().count() + 1 - text.chars().count() };
    Document { text, left_out }
}

#[cfg(test)]
mod tests {
    use domain::suspension::stop::{OnTimeout, Provider, Timeout, Trigger};
    use serde_json::json;

    use super::super::samples::at;
    use super::*;

    fn timeout(on_timeout: OnTimeout, input: Option<Value>) -> Conditions {
        let timeout = Timeout { duration_minutes: 5, on_timeout, input };
        Conditions { on_event: None, trigger: None, timeout: Some(timeout) }
    }

    /// A reader of JSON must be able to read it as JSON, and must see each character of it.
    #[test]
    fn a_document_stays_json_and_hides_nothing() {
        assert_eq!(document(&json!({"note": ["a.b", 1]})), whole(r#"{"note":["a.b",1]}"#));
        assert_eq!(document(&json!({"a": "x\u{202e}\u{200b}y\n"})), whole(r#"{"a":"x⟨U+202E⟩⟨U+200B⟩y\n"}"#));
        assert_eq!(document(&json!("\u{1b}[2J say \"yes\"\nnow ")), whole("⟨U+001B⟩[2J say \"yes\" now"));
    }

    /// A reader must know how much of a document is not on the page.
    #[test]
    fn a_long_document_says_how_much_of_it_is_left_out() {
        assert_eq!(document(&json!("x".repeat(DOCUMENT_CHARS_MAX))).left_out, 0);
        let long = document(&json!("x".repeat(5_000)));
        assert_eq!((long.text.chars().count(), long.text.chars().next_back()), (DOCUMENT_CHARS_MAX, Some('…')));
        assert_eq!(long.left_out, 5_000 - (DOCUMENT_CHARS_MAX - 1));
        // The spaces before the ellipsis are not shown either.
        let spaced = document(&json!(format!("{}  {}", "x".repeat(DOCUMENT_CHARS_MAX - 3), "y".repeat(10))));
        assert_eq!((spaced.text.ends_with("x…"), spaced.left_out), (true, 12));
    }

    fn whole(text: &str) -> Document {
        Document { text: text.to_owned(), left_out: 0 }
    }

    #[test]
    fn each_time_has_its_effect() {
        let until = Some(at(8, 5));
        let effect = |conditions: &Conditions| Timed::of(Some(conditions), until).unwrap().effect;
        assert_eq!(effect(&timeout(OnTimeout::ResumeWithSummary, None)), Effect::Summary);
        assert_eq!(effect(&timeout(OnTimeout::Fail, Some(json!(1)))), Effect::GivenUp);
        assert_eq!(effect(&timeout(OnTimeout::ResumeWithInput, None)), Effect::Told);
        let see = |input: Value| effect(&timeout(OnTimeout::ResumeWithInput, Some(input)));
        assert_eq!(see(json!({"see": "a.example"})), Effect::Input(whole(r#"{"see":"a.example"}"#)));
        assert_eq!(see(json!("See https://evil.example.")), Effect::Input(whole("See https[:]//evil[.]example.")));
        assert_eq!(Timed::of(None, until).unwrap().effect, Effect::GivenUp);
    }

    #[test]
    fn the_conditions_of_an_agent_are_shown_inert_and_bounded() {
        assert_eq!(Awaited::of(None, None), None);
        let trigger = Trigger {
            kind: format!("build.finished\u{202e}{}", "x".repeat(200)),
            provider: Provider::Webhook,
            events: vec!["docs.example.com".to_owned(), format!("a\u{200b}{}", "b".repeat(300))],
        };
        let conditions = Conditions { on_event: Some("cli.ev".to_owned()), trigger: Some(trigger), timeout: None };
        let shown = Awaited::of(Some(&conditions), None).unwrap();
        assert_eq!((shown.event.as_deref(), shown.time), (Some("cli.ev"), None));
        let trigger = shown.trigger.unwrap();
        assert_eq!((trigger.provider, trigger.events[0].as_str()), ("webhook", "docs.example.com"));
        assert!(trigger.events[1].starts_with("a⟨U+200B⟩b") && trigger.events[1].chars().count() == 200, "{:?}", trigger.events);
        assert!(trigger.kind.starts_with("build.finished⟨U+202E⟩x") && trigger.kind.ends_with('…'), "{}", trigger.kind);
    }
}
