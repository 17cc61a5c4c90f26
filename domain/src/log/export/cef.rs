//! Lines of the Common Event Format, version 0.

use serde_json::Value;

use super::{Facts, Kind, PRODUCT, VERSION, Weight, marked};
use crate::base::text::truncated;

/// The longest event type, message and user, in characters (the format's own limit).
const TEXT_MAX: usize = 1_023;
/// The longest name of an event, in characters.
const NAME_MAX: usize = 512;
/// The longest value of a custom text, in characters.
const CUSTOM_MAX: usize = 4_000;

/// The line of one served event, which is leaf number `leaf`, with its line end (LF).
#[must_use]
pub fn line(leaf: u64, event: &Value) -> String {
    let facts = Facts::of(event);
    let severity = match facts.kind.weight() {
        Weight::Informational => 1,
        Weight::Low => 4,
        Weight::Medium => 6,
    };
    let name = if facts.kind == Kind::Other { facts.event_type } else { facts.kind.words() };
    let mut line = format!(
        "CEF:0|{PRODUCT}|{PRODUCT}|{VERSION}|{}|{}|{severity}|",
        header(facts.event_type, TEXT_MAX),
        header(name, NAME_MAX),
    );
    let mut extension = Vec::with_capacity(24);
    let mut add = |key: &'static str, text: &str, max: usize| {
        let value = value(text, max);
        if !value.is_empty() {
            extension.push(format!("{key}={value}"));
        }
    };
    add("rt", &facts.at.map(|at| at.timestamp_millis().to_string()).unwrap_or_default(), TEXT_MAX);
    add("externalId", facts.id, TEXT_MAX);
    add("suser", facts.actor, TEXT_MAX);
    add("cat", facts.log, TEXT_MAX);
    if facts.kind.has_failed() {
        add("outcome", "failure", TEXT_MAX);
    }
    add("cn1Label", "leaf", TEXT_MAX);
    add("cn1", &leaf.to_string(), TEXT_MAX);
    if let Some(sequence) = facts.sequence {
        add("cn2Label", "sequence", TEXT_MAX);
        add("cn2", &sequence.to_string(), TEXT_MAX);
    }
    let custom = [
        ("cs1Label", "cs1", "suspension_id", facts.suspension_id),
        ("cs2Label", "cs2", "subject_id", facts.subject_id),
        ("cs3Label", "cs3", "response", &facts.response),
        ("cs4Label", "cs4", "responded_by", facts.responded_by),
        ("cs5Label", "cs5", "resolution", facts.resolution),
        ("cs6Label", "cs6", "event_hash", facts.event_hash),
    ];
    for (label_key, key, label, text) in custom {
        if !text.trim_matches(' ').is_empty() {
            add(label_key, label, TEXT_MAX);
            add(key, text, CUSTOM_MAX);
        }
    }
    add("msg", &facts.message(), TEXT_MAX);
    line.push_str(&extension.join(" "));
    line.push('\n');
    line
}

/// A field of the header: `|` and `\` escaped.
fn header(text: &str, max_chars: usize) -> String {
    let text = marked(&truncated(text, max_chars), |_| false);
    text.replace('\\', "\\\\").replace('|', "\\|")
}

/// A value of the extension: `=`, `\` and line ends escaped.
fn value(text: &str, max_chars: usize) -> String {
    let text = marked(&truncated(text.trim_matches(' '), max_chars), |c| matches!(c, '\n' | '\r'));
    text.replace('\\', "\\\\").replace('=', "\\=").replace('\n', "\\n").replace('\r', "\\r")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text must not end its field and begin another.
    #[test]
    fn header_and_extension_escape_what_ends_a_field() {
        assert_eq!(header("a|b\\c=d\n", 99), "a\\|b\\\\c=d⟨U+000A⟩");
        assert_eq!(value(" a|b\\c=d\r\ne\0\u{2028} ", 99), "a|b\\\\c\\=d\\r\\ne⟨U+0000⟩⟨U+2028⟩");
        assert_eq!(value(&"=".repeat(99), 3), "\\=\\=…");
    }
}
