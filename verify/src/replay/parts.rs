//! The parts of an event on which its replay depends, as they are kept until then. They are a third of the event's bytes.

use domain::base::canonical::members;
use domain::intent::status::Status;
use domain::log::payload::{Payload, PayloadBytes, StatusChanged};

use super::Held;
use super::asking::IS_ABOUT_WORK;
use super::kind::{Kind, Type};

/// The members of a question whose contents are not replayed, and which are often the largest ones.
const CONTEXT: &[u8] = b"context";
const QUESTION: &[u8] = b"question";

/// How many bytes tell the length of the actor. An event that is kept has far fewer bytes than these can count.
const LENGTH_BYTES: usize = 4;
/// How many pieces are kept of a payload, at most.
const PIECES: usize = 5;
/// The pieces of no payload.
const NOTHING: [&[u8]; PIECES] = [b""; PIECES];
/// The kept payload of an event that changes the status and does no more, by the number of the new status.
const STATUSES: [&[u8]; Status::ALL.len()] = [&[0], &[1], &[2], &[3], &[4], &[5]];

/// How many payloads of changes of a status are remembered, and the most bytes of one.
const REMEMBERED_MAX: usize = 64;
const REMEMBERED_BYTES_MAX: usize = 256;

/// The kept parts of an event.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parts<'a> {
    /// The canonical text of the actor, with its quotes.
    actor: &'a [u8],
    payload: &'a [u8],
}

/// A payload that has another form than this program knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unreadable;

/// The payloads of changes of a status, as they were read. A log has few different ones.
#[derive(Debug, Default)]
pub(super) struct Statuses {
    remembered: Vec<(Vec<u8>, Change)>,
}

/// A change of a status, as far as decisions depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// To this status, with nothing else on which the replay depends.
    To(Status),
    /// One that must be read again when it is replayed.
    Whole,
    /// One that cannot be read.
    Unknown,
}

impl Statuses {
    fn read(&mut self, of: Type, payload: &[u8]) -> Change {
        if let Some((_, change)) = self.remembered.iter().find(|(remembered, _)| remembered == payload) {
            return *change;
        }
        let change = match Payload::read(of.name(), PayloadBytes(payload)) {
            Ok(Payload::StatusChanged(StatusChanged { new_status, blocked_reason: None, .. })) => Change::To(new_status),
            Ok(_) => Change::Whole,
            Err(_) => Change::Unknown,
        };
        if self.remembered.len() < REMEMBERED_MAX && payload.len() <= REMEMBERED_BYTES_MAX {
            self.remembered.push((payload.to_owned(), change));
        }
        change
    }

    /// The pieces of the payload of an event of this type that are kept, one behind the other, and how they are held.
    pub(super) fn kept<'a>(&mut self, of: Type, payload: &'a [u8]) -> (Held, [&'a [u8]; PIECES]) {
        let whole = (Held::Parts, [payload, b"", b"", b"", b""]);
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "the replay depends on the contents of most of the events that are kept"
        )]
        match of.kind() {
            // It matters whether the event can be read, and its contents do not.
            Kind::Created if Payload::read(of.name(), PayloadBytes(payload)).is_ok() => (Held::Parts, NOTHING),
            Kind::Created => (Held::Unknown, NOTHING),
            Kind::Status => match self.read(of, payload) {
                Change::To(status) => (Held::Status, [STATUSES[status as usize], b"", b"", b"", b""]),
                Change::Whole => whole,
                Change::Unknown => (Held::Unknown, NOTHING),
            },
            Kind::Asked => (Held::Parts, without_texts(payload)),
            _ => whole,
        }
    }
}

impl<'a> Parts<'a> {
    /// The bytes that tell the length of this actor, and stand before it.
    pub(super) fn length(actor: &[u8]) -> [u8; LENGTH_BYTES] {
        u32::try_from(actor.len()).unwrap_or(u32::MAX).to_be_bytes()
    }

    /// The parts of kept bytes; `None` for other bytes.
    pub(super) fn read(kept: &'a [u8]) -> Option<Self> {
        let (length, rest) = kept.split_first_chunk()?;
        let (actor, payload) = rest.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)?;
        Some(Self { actor, payload })
    }

    /// The actor; `None` if that is no text.
    pub(super) fn actor(&self) -> Option<String> {
        let text = self.actor.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        // Without an escape a text stands for itself.
        if text.contains(&b'\\') {
            return serde_json::from_slice(self.actor).ok();
        }
        str::from_utf8(text).ok().map(str::to_owned)
    }

    /// The payload of an event of this type that was held in this way; `None` of an event whose contents do not matter.
    ///
    /// # Errors
    ///
    /// The payload has another form.
    pub(super) fn payload(&self, of: Type, held: Held) -> Result<Option<Payload>, Unreadable> {
        match held {
            Held::Status => {
                let [number] = *self.payload else { return Err(Unreadable) };
                let new_status = *Status::ALL.get(usize::from(number)).ok_or(Unreadable)?;
                // Nothing depends on the other members.
                Ok(Some(Payload::StatusChanged(StatusChanged {
                    old_status: Status::Draft,
                    new_status,
                    reason: None,
                    abandonment_reason: None,
                    blocked_reason: None,
                    overrides: Vec::new(),
                })))
            }
            Held::Parts if of.kind() == Kind::Created => Ok(None),
            Held::Parts => Payload::read(of.name(), PayloadBytes(self.payload)).map(Some).map_err(|_| Unreadable),
            Held::Erased | Held::Unknown => Err(Unreadable),
        }
    }
}

/// The payload of a question in pieces, without its context and its words, if they say nothing on which its replay depends.
fn without_texts(payload: &[u8]) -> [&[u8]; PIECES] {
    let (mut at, mut context, mut question) = (1, None, None);
    // In canonical bytes each member is `"name":value`, and a comma or the last brace stands behind it.
    let is_read = members(payload, |name, value| {
        let begin = at + name.len() + 3;
        at = begin + value.len() + 1;
        if name == CONTEXT {
            context = Some(begin..begin + value.len());
        } else if name == QUESTION && value.starts_with(b"\"") {
            question = Some(begin..begin + value.len());
        }
    });
    if is_read.is_none() {
        return [payload, b"", b"", b"", b""];
    }
    let context = context.filter(|context| is_idle(&payload[context.clone()]));
    // The context comes before the question, as their names do.
    match (context, question) {
        (Some(context), Some(question)) => {
            [&payload[..context.start], b"{}", &payload[context.end..question.start], b"\"\"", &payload[question.end..]]
        }
        (Some(context), None) => [&payload[..context.start], b"{}", &payload[context.end..], b"", b""],
        (None, Some(question)) => [&payload[..question.start], b"\"\"", &payload[question.end..], b"", b""],
        (None, None) => [payload, b"", b"", b"", b""],
    }
}

/// Whether a context is an object that does not say that the question is about a plan or a task.
fn is_idle(context: &[u8]) -> bool {
    let mut is_about_work = false;
    members(context, |name, _| is_about_work |= IS_ABOUT_WORK.iter().any(|is| is.as_bytes() == name)).is_some() && !is_about_work
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &[u8] = b"\"status_changed\"";

    #[test]
    fn parts_are_read_as_they_were_written() {
        for (actor, payload) in [(b"\"bot\"".as_slice(), b"{}".as_slice()), (b"", b""), (&[7; 300], &[8; 7_000])] {
            let kept = [&Parts::length(actor), actor, payload].concat();
            assert_eq!(Parts::read(&kept), Some(Parts { actor, payload }));
        }
        let whole = [&Parts::length(b"\"bot\"") as &[u8], b"\"bot\""].concat();
        for short in 0..whole.len() {
            assert_eq!(Parts::read(&whole[..short]), None, "{short} bytes");
        }
        let actor = |actor: &str| Parts { actor: actor.as_bytes(), payload: b"" }.actor();
        assert_eq!(actor(r#""bot é""#).unwrap(), "bot é");
        assert_eq!(actor(r#""a\"\n\\""#).unwrap(), "a\"\n\\");
        for other in ["", "\"", "1", "null", r#""\x""#] {
            assert_eq!(actor(other), None, "{other}");
        }
    }

    /// Keeps an event of this type, and reads it again.
    fn kept(event_type: &[u8], payload: &str) -> (Held, Result<Option<Payload>, Unreadable>) {
        let (of, mut statuses) = (Type::of(event_type), Statuses::default());
        let (held, pieces) = statuses.kept(of, payload.as_bytes());
        assert_eq!(statuses.kept(of, payload.as_bytes()), (held, pieces), "a second time: {payload}");
        let payload = pieces.concat();
        (held, Parts { actor: b"", payload: &payload }.payload(of, held))
    }

    /// A change of the status is kept as one byte only if it can be read and nothing else in it matters.
    #[test]
    fn a_status_is_kept_as_it_was_written() {
        for (number, status) in Status::ALL.into_iter().enumerate() {
            assert_eq!(status as usize, number);
            let name = status.as_str();
            for rest in ["", r#","reason":"why""#, r#","overrides":["01a21d21-bd36-7df8-aa33-0943e4ac4841"],"reason":null"#] {
                let payload = format!(r#"{{"new_status":"{name}","old_status":"active"{rest}}}"#);
                let (held, read) = kept(STATUS, &payload);
                let Ok(Some(Payload::StatusChanged(changed))) = read else { panic!("{payload}") };
                assert_eq!((held, changed.new_status, changed.blocked_reason), (Held::Status, status, None), "{payload}");
            }
        }
        let blocked = r#"{"blocked_reason":"dependencies","new_status":"blocked","old_status":"active","reason":null}"#;
        let (held, read) = kept(STATUS, blocked);
        let Ok(Some(Payload::StatusChanged(changed))) = read else { panic!("{blocked}") };
        assert_eq!((held, changed.blocked_reason.is_some()), (Held::Parts, true));
        for other in [r#"{"new_status":"asleep","old_status":"active"}"#, r#"{"new_status":"active"}"#, "[]", "1"] {
            assert_eq!(kept(STATUS, other), (Held::Unknown, Err(Unreadable)), "{other}");
        }
        let read = |payload: &[u8]| Parts { actor: b"", payload }.payload(Type::of(STATUS), Held::Status);
        assert!(read(&[5]).is_ok());
        for other in [&[6][..], &[], &[0, 0]] {
            assert_eq!(read(other), Err(Unreadable), "{other:?}");
        }
    }

    /// Only so many payloads are remembered, so that a log of a forger does not take memory.
    #[test]
    fn few_short_payloads_are_remembered() {
        let (of, mut statuses) = (Type::of(STATUS), Statuses::default());
        for number in 0..2 * REMEMBERED_MAX {
            let payload = format!(r#"{{"new_status":"active","old_status":"draft","reason":"{number}"}}"#);
            assert_eq!(statuses.read(of, payload.as_bytes()), Change::To(Status::Active));
        }
        assert_eq!(statuses.remembered.len(), REMEMBERED_MAX);
        let (mut statuses, reason) = (Statuses::default(), "x".repeat(REMEMBERED_BYTES_MAX));
        let payload = format!(r#"{{"new_status":"active","old_status":"draft","reason":"{reason}"}}"#);
        assert_eq!(statuses.read(of, payload.as_bytes()), Change::To(Status::Active));
        assert!(statuses.remembered.is_empty());
    }

    /// Whether the beginning of an intent can be read is found out before its contents are dropped.
    #[test]
    fn the_beginning_of_an_intent_is_read_before_it_is_dropped() {
        let created = b"\"intent_created\"";
        let payload = r#"{"confidence":0,"constraints":{},"created_by":"a","depends_on":[],"description":"","governance_policy":null,"parent_intent_id":null,"state":{},"status":"active","title":"t"}"#;
        assert_eq!(kept(created, payload), (Held::Parts, Ok(None)));
        for other in [payload.replace("active", "asleep"), payload.replace("title", "titel"), "{}".to_owned()] {
            assert_eq!(kept(created, &other), (Held::Unknown, Err(Unreadable)), "{other}");
        }
    }

    /// The context and the words of a question are left out only where its replay does not depend on them.
    #[test]
    fn the_texts_of_a_question_are_not_kept_unless_it_is_about_work() {
        for (payload, kept) in [
            (r#"{"a":1,"context":{"amount":2,"why":"{\"x\":3}"},"question":"Pay?"}"#, r#"{"a":1,"context":{},"question":""}"#),
            (r#"{"context":{"deep":{"task":1}}}"#, r#"{"context":{}}"#),
            (
                r#"{"a":{"context":{"b":1}},"context":{"c":"\u0001"},"question":"\"","z":{"context":{"d":1},"question":"A?"}}"#,
                r#"{"a":{"context":{"b":1}},"context":{},"question":"","z":{"context":{"d":1},"question":"A?"}}"#,
            ),
            (r#"{"context":{"task":"t"},"question":"Pay?","z":1}"#, r#"{"context":{"task":"t"},"question":"","z":1}"#),
            (r#"{"question":"Pay?"}"#, r#"{"question":""}"#),
        ] {
            assert_eq!(without_texts(payload.as_bytes()).concat(), kept.as_bytes(), "{payload}");
        }
        for whole in [
            r#"{"context":{"amount":2,"task":"t"}}"#,
            r#"{"context":{"plan_id":"p"}}"#,
            r#"{"context":{"task_id":"t"}}"#,
            r#"{"context":[1,2],"question":null}"#,
            r#"{"question":["Pay?"]}"#,
            r#"{"context":{"a":1} }"#,
            // A name with an escape is a rare form, which is not walked.
            r#"{"\"":1,"context":{"a":1},"question":"Pay?"}"#,
            "[]",
            "",
        ] {
            assert_eq!(without_texts(whole.as_bytes()).concat(), whole.as_bytes());
        }
    }
}
