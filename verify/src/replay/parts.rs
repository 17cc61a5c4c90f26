//! The parts of an event on which its replay depends, as they are kept until then. They are half of the event's bytes.

use crate::event::Facts;

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

    /// The bytes that are kept, one part behind the other.
    pub(super) fn written(&self) -> [&[u8]; 4] {
        [&self.lengths, self.actor, self.event_type, self.payload]
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
            let kept = parts.written().concat();
            assert_eq!(Parts::read(&kept), Some(parts));
        }
        let whole = parts(b"\"bot\"", b"\"x\"", b"").written().concat();
        for short in 0..whole.len() {
            assert_eq!(Parts::read(&whole[..short]), None, "{short} bytes");
        }
    }
}
