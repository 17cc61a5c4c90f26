//! The log as text for people and for a SIEM: one served event becomes one record (`docs/export.md`).
//!
//! Guarantee: one event is one record, whatever an agent wrote into it, and no text of an agent becomes a column, a member or a
//! formula. Mechanism: a column that names an answer is filled only from events that the server itself writes, and characters
//! that could end a record are escaped or shown by their code points. Failure: these formats lose bytes, so none of them can be
//! verified; only JSON lines can (`docs/log-format.md`).

pub mod cef;
pub mod csv;
pub mod ocsf;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::base::text::is_invisible;
use crate::base::{json, time};
use crate::intent::event::{
    APPROVAL_DENIED, APPROVAL_GRANTED, APPROVAL_REQUESTED, ARBITRATION_REQUESTED, ARBITRATION_RESOLVED, ESCALATION_REQUESTED,
    ESCALATION_RESOLVED,
};
use crate::intent::governance::VIOLATION;
use crate::intent::vocabulary::{client_may_append, is_a_type};
use crate::people::event::LOG_KEY_ADDED;

/// The name of the product and of its vendor in the formats that ask for both.
const PRODUCT: &str = "Placet";
/// The version of this program, which wrote the record.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// JSON lines with proofs, the only format that can be verified.
    Jsonl,
    /// A table for people.
    Csv,
    /// JSON lines of the Open Cybersecurity Schema Framework.
    Ocsf,
    /// Lines of the Common Event Format.
    Cef,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 4] = [Self::Jsonl, Self::Csv, Self::Ocsf, Self::Cef];

    /// The format's name in a request.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Csv => "csv",
            Self::Ocsf => "ocsf",
            Self::Cef => "cef",
        }
    }

    /// The format of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.as_str() == name)
    }

    /// The media type of the whole export.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Jsonl | Self::Ocsf => "application/x-ndjson",
            Self::Csv => "text/csv; charset=utf-8; header=present",
            Self::Cef => "text/plain; charset=utf-8",
        }
    }

    /// The ending of a file's name, without the dot before it.
    pub fn file_ending(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Csv => "csv",
            Self::Ocsf => "ocsf.jsonl",
            Self::Cef => "cef",
        }
    }
}

/// The subject of an event, as far as the formats distinguish it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Question,
    Answer,
    UnaskedAnswer,
    RefusedAnswer,
    EndedUnanswered,
    OtherOfQuestion,
    KeyMade,
    KeyRecorded,
    KeyRevoked,
    LogKeyAdded,
    Exported,
    Undelivered,
    Violation,
    Other,
}

/// How much attention an event asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weight {
    Informational,
    Low,
    Medium,
}

impl Kind {
    fn of(event_type: &str) -> Self {
        match event_type {
            "intent.suspended" | APPROVAL_REQUESTED | ESCALATION_REQUESTED | ARBITRATION_REQUESTED => Self::Question,
            "intent.resumed" | APPROVAL_GRANTED | APPROVAL_DENIED | ESCALATION_RESOLVED | ARBITRATION_RESOLVED => Self::Answer,
            "intent.unasked_answer" => Self::UnaskedAnswer,
            "intent.late_answer" | "intent.response_rejected" => Self::RefusedAnswer,
            "intent.suspension_expired" | "intent.suspension_cancelled" | "intent.suspension_undeliverable" => {
                Self::EndedUnanswered
            }
            "delivery.failed" | "delivery.bounced" => Self::Undelivered,
            "key.created" | "key.imported" => Self::KeyMade,
            "key.recorded" => Self::KeyRecorded,
            "key.revoked" => Self::KeyRevoked,
            LOG_KEY_ADDED => Self::LogKeyAdded,
            "log.exported" => Self::Exported,
            VIOLATION => Self::Violation,
            _ if event_type.starts_with("intent.suspension_") || event_type == "intent.asker_went_on" => Self::OtherOfQuestion,
            _ => Self::Other,
        }
    }

    /// A few words for people.
    fn words(self) -> &'static str {
        match self {
            Self::Question => "Question asked",
            Self::Answer => "Question answered",
            Self::UnaskedAnswer => "Answer recorded without a question",
            Self::RefusedAnswer => "Answer refused",
            Self::EndedUnanswered => "Question ended without an answer",
            Self::OtherOfQuestion => "Question changed",
            Self::KeyMade => "API key created",
            Self::KeyRecorded => "API key recorded",
            Self::KeyRevoked => "API key revoked",
            Self::LogKeyAdded => "Key of the log added",
            Self::Exported => "Log exported",
            Self::Undelivered => "Message not delivered",
            Self::Violation => "Governance rule violated",
            Self::Other => "Event",
        }
    }

    fn weight(self) -> Weight {
        match self {
            Self::Violation => Weight::Medium,
            Self::RefusedAnswer | Self::Undelivered => Weight::Low,
            Self::Question
            | Self::Answer
            | Self::UnaskedAnswer
            | Self::EndedUnanswered
            | Self::OtherOfQuestion
            | Self::KeyMade
            | Self::KeyRecorded
            | Self::KeyRevoked
            | Self::LogKeyAdded
            | Self::Exported
            | Self::Other => Weight::Informational,
        }
    }

    fn is_about_answer(self) -> bool {
        matches!(self, Self::Answer | Self::UnaskedAnswer | Self::RefusedAnswer)
    }

    fn has_failed(self) -> bool {
        matches!(self, Self::RefusedAnswer | Self::Undelivered)
    }
}

/// The facts of an event that the formats show. A text that the event does not have is empty.
struct Facts<'a> {
    kind: Kind,
    id: &'a str,
    created_at: &'a str,
    at: Option<DateTime<Utc>>,
    /// `intent`, `portfolio` or `server`.
    log: &'static str,
    /// The id of the intent or portfolio.
    subject_id: &'a str,
    sequence: Option<u64>,
    event_type: &'a str,
    actor: &'a str,
    suspension_id: &'a str,
    /// The first line of the question.
    question: &'a str,
    response: String,
    responded_by: &'a str,
    resolution: &'a str,
    event_hash: &'a str,
    /// Absent if it was erased.
    payload: Option<&'a Value>,
}

impl<'a> Facts<'a> {
    fn of(event: &'a Value) -> Self {
        let event_type = text(event, "event_type");
        let kind = Kind::of(event_type);
        // The server shows an erased event with `"payload": null`.
        let payload = event.get("payload").filter(|payload| !payload.is_null());
        // A client chooses the members of an event that it appends. They must not look like an answer of a person.
        let is_ours = is_a_type(event_type) && !client_may_append(event_type);
        let of_server = payload.filter(|_| is_ours);
        let said = |name: &str| of_server.map_or("", |payload| text(payload, name));
        let (log, subject_id) = match (text(event, "intent_id"), text(event, "portfolio_id")) {
            ("", "") => ("server", ""),
            ("", portfolio) => ("portfolio", portfolio),
            (intent, _) => ("intent", intent),
        };
        let created_at = text(event, "created_at");
        let answer = of_server.filter(|_| kind.is_about_answer());
        Self {
            kind,
            id: text(event, "id"),
            created_at,
            at: time::parse(created_at),
            log,
            subject_id,
            sequence: event.get("sequence").and_then(Value::as_u64),
            event_type,
            actor: text(event, "actor"),
            suspension_id: said("suspension_id"),
            question: if kind == Kind::Question { first_line(said("question")) } else { "" },
            response: answer.and_then(|payload| payload.get("value")).map(plain).unwrap_or_default(),
            responded_by: answer.map_or("", |payload| text(payload, "responded_by")),
            resolution: of_server.map_or("", |payload| resolution(kind, event_type, payload)),
            event_hash: text(event, "event_hash"),
            payload,
        }
    }

    /// One line for people.
    fn message(&self) -> String {
        let words = self.kind.words();
        let detail = match self.kind {
            Kind::Question => self.question,
            Kind::Answer | Kind::UnaskedAnswer | Kind::RefusedAnswer => &self.response,
            Kind::EndedUnanswered => self.resolution,
            Kind::KeyMade | Kind::KeyRecorded | Kind::KeyRevoked => self.key_name(),
            Kind::OtherOfQuestion | Kind::LogKeyAdded | Kind::Exported | Kind::Undelivered | Kind::Violation | Kind::Other => {
                self.event_type
            }
        };
        if detail.is_empty() { words.to_owned() } else { format!("{words}: {detail}") }
    }

    /// The name of the key that an event of the server's log is about.
    fn key_name(&self) -> &'a str {
        self.payload.map_or("", |payload| text(payload, "name"))
    }
}

/// How a question ended, or why something else happened to it, in a word of the server.
///
/// A caller's reason for a change of status, a withdrawal or a hold is a free text, also in an event that the server writes. It could say
/// `approved`, so it does not count here.
fn resolution<'a>(kind: Kind, event_type: &str, payload: &'a Value) -> &'a str {
    let name = match kind {
        Kind::Answer => "decision",
        Kind::RefusedAnswer => "code",
        Kind::EndedUnanswered if event_type == "intent.suspension_cancelled" => "resolution_reason",
        Kind::EndedUnanswered => "reason",
        Kind::OtherOfQuestion if event_type == "intent.suspension_renotified" => "reason",
        Kind::OtherOfQuestion => "cause",
        Kind::Question
        | Kind::UnaskedAnswer
        | Kind::KeyMade
        | Kind::KeyRecorded
        | Kind::KeyRevoked
        | Kind::LogKeyAdded
        | Kind::Exported
        | Kind::Undelivered
        | Kind::Violation
        | Kind::Other => return "",
    };
    match text(payload, name) {
        "" if kind == Kind::Answer => "responded",
        given => given,
    }
}

fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn first_line(text: &str) -> &str {
    text.trim_start().split(['\n', '\r']).next().unwrap_or_default().trim_end()
}

/// A text as it is, nothing for null, and any other value as JSON.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => json_text(value),
    }
}

/// Canonical JSON in which every character that is unsafe on a line is an escape.
fn json_text(value: &Value) -> String {
    let canonical = json::canonical(value).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let canonical = canonical.unwrap_or_else(|| value.to_string());
    // Outside of texts, JSON has no such character, so an escape is legal wherever one stands.
    replaced(&canonical, is_unsafe, |c, out| {
        for unit in c.encode_utf16(&mut [0; 2]) {
            push_formatted(out, format_args!("\\u{unit:04x}"));
        }
    })
}

/// The text with its unsafe characters shown by their code points, apart from those that the caller keeps.
fn marked(text: &str, keeps: impl Fn(char) -> bool) -> String {
    replaced(
        text,
        |c| is_unsafe(c) && !keeps(c),
        |c, out| {
            push_formatted(out, format_args!("⟨U+{:04X}⟩", u32::from(c)));
        },
    )
}

fn replaced(text: &str, is_replaced: impl Fn(char) -> bool, replace: impl Fn(char, &mut String)) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_replaced(c) {
            replace(c, &mut out);
        } else {
            out.push(c);
        }
    }
    out
}

fn push_formatted(out: &mut String, formatted: std::fmt::Arguments<'_>) {
    // Writing to a `String` never fails.
    out.write_fmt(formatted).unwrap_or_default();
}

/// Whether a character can end a line for some reader, reorder a line, or hide. Joiners and variation selectors stay, because
/// emoji and several scripts need them.
fn is_unsafe(c: char) -> bool {
    is_invisible(c) && !matches!(c, '\u{200C}' | '\u{200D}' | '\u{FE00}'..='\u{FE0F}')
}
