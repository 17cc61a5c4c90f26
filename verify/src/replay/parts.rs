//! The parts of an event on which its replay depends, as they are kept until then. They are half of the event's bytes.

use domain::base::canonical::members;

use super::asking::IS_ABOUT_WORK;
use super::kind::Kind;
use crate::event::Facts;

/// The member of a question whose contents are not replayed, and which is often the largest one.
const CONTEXT: &[u8] = b"context";

/// How many bytes tell the lengths of the first two parts.
const LENGTHS_BYTES: usize = 8;
/// The bits of one length. An event that is kept has far fewer bytes than so many bits can count.
const LENGTH_BITS: u32 = 32;

/// The parts of an event, each as it stands in the event's canonical bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parts<'a> {
    lengths: [u8; LENGTHS_BYTES],
    pub(super) actor: &'a [u8],
    pub(super) event_type: &'a [u8],
    pub(super) payload: &'a [u8],
}

impl<'a> Parts<'a> {
    pub(super) fn of(facts: &Facts<'a>) -> Self {
        let &Facts { actor, event_type, payload, .. } = facts;
        let lengths = (actor.len() as u64) << LENGTH_BITS | event_type.len() as u64;
        Self { lengths: lengths.to_be_bytes(), actor, event_type, payload }
    }

    /// The bytes that are kept of an event of this kind, one part behind the other.
    pub(super) fn written(&self, kind: Kind) -> [&[u8]; 6] {
        let [before, context, behind] =
            if kind == Kind::Asked { without_context(self.payload) } else { [self.payload, b"", b""] };
        [&self.lengths, self.actor, self.event_type, before, context, behind]
    }

    /// The parts of kept bytes; `None` for other bytes.
    pub(super) fn read(kept: &'a [u8]) -> Option<Self> {
        let (lengths, rest) = kept.split_first_chunk::<LENGTHS_BYTES>()?;
        let both = u64::from_be_bytes(*lengths);
        let length = |bits: u64| usize::try_from(bits).ok();
        let (actor, rest) = rest.split_at_checked(length(both >> LENGTH_BITS)?)?;
        let (event_type, payload) = rest.split_at_checked(length(both & u64::from(u32::MAX))?)?;
        Some(Self { lengths: *lengths, actor, event_type, payload })
    }
}

/// The payload of a question with an empty context, in three pieces, if its context says nothing on which its replay depends.
fn without_context(payload: &[u8]) -> [&[u8]; 3] {
    let (mut at, mut found) = (1, None);
    // In canonical bytes each member is `"name":value`, and a comma or the last brace stands behind it.
    let is_read = members(payload, |name, value| {
        let begin = at + name.len() + 3;
        at = begin + value.len() + 1;
        if name == CONTEXT {
            found = Some(begin..begin + value.len());
        }
    });
    let whole = [payload, b"", b""];
    let Some(context) = is_read.and(found) else { return whole };
    let mut is_about_work = false;
    let is_object =
        members(&payload[context.clone()], |name, _| is_about_work |= IS_ABOUT_WORK.iter().any(|is| is.as_bytes() == name));
    if is_about_work || is_object.is_none() {
        return whole;
    }
    [&payload[..context.start], b"{}", &payload[context.end..]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_as_they_were_written() {
        let parts = |actor: &'static [u8], event_type: &'static [u8], payload: &'static [u8]| {
            let lengths = [actor.len(), event_type.len()].map(|length| u32::try_from(length).unwrap().to_be_bytes()).concat();
            Parts { lengths: lengths.try_into().unwrap(), actor, event_type, payload }
        };
        for parts in [parts(b"\"bot\"", b"\"x\"", b"{}"), parts(b"", b"", b""), parts(&[7; 300], b"\"y\"", &[8; 7_000])] {
            let kept = parts.written(Kind::Answered).concat();
            assert_eq!(Parts::read(&kept), Some(parts));
        }
        let whole = parts(b"\"bot\"", b"\"x\"", b"").written(Kind::Asked).concat();
        for short in 0..whole.len() {
            assert_eq!(Parts::read(&whole[..short]), None, "{short} bytes");
        }
    }

    /// The context of a question is left out only where its replay does not depend on it.
    #[test]
    fn a_context_is_not_kept_unless_it_is_about_work() {
        for (payload, kept) in [
            (
                r#"{"a":1,"context":{"amount":2,"why":"{\"x\":3}"},"question":"Pay?"}"#,
                r#"{"a":1,"context":{},"question":"Pay?"}"#,
            ),
            (r#"{"context":{"deep":{"task":1}}}"#, r#"{"context":{}}"#),
            (
                r#"{"a":{"context":{"b":1}},"context":{"c":"\u0001"},"z":{"context":{"d":1}}}"#,
                r#"{"a":{"context":{"b":1}},"context":{},"z":{"context":{"d":1}}}"#,
            ),
        ] {
            assert_eq!(without_context(payload.as_bytes()).concat(), kept.as_bytes(), "{payload}");
        }
        for whole in [
            r#"{"context":{"amount":2,"task":"t"}}"#,
            r#"{"context":{"plan_id":"p"}}"#,
            r#"{"context":{"task_id":"t"}}"#,
            r#"{"context":[1,2]}"#,
            r#"{"question":"Pay?"}"#,
            r#"{"context":{"a":1} }"#,
            // A name with an escape is a rare form, which is not walked.
            r#"{"\"":1,"context":{"a":1}}"#,
            "[]",
            "",
        ] {
            assert_eq!(without_context(whole.as_bytes()).concat(), whole.as_bytes());
        }
    }
}
