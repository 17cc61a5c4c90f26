//! The chains of all logs at once, in bounded memory.
//!
//! The end of each log's chain is kept in a map. If there are too many logs, the whole map goes to a file as *segments*: where
//! each chain began since the map was last empty, and where it ended. Then the map begins anew, and at the end each segment is
//! checked against the one before it. So a break within a segment is found at once, and one between segments at the end.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;

use crate::event::{Hash32, LogId, Time};
use crate::runs::Runs;

/// How many logs are kept in memory; about 100 bytes each, or 150 after the map was spilled, and twice that for a moment when it grows.
pub const LOGS_IN_MEMORY: usize = 450_000;

/// An event as a link of its chain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) line: u64,
    pub(crate) sequence: u64,
    pub(crate) previous: Option<Hash32>,
    pub(crate) created_at: Time,
    /// The hash that the event carries.
    pub(crate) hash: Hash32,
    /// The hash that its bytes have: another one if the event was changed.
    pub(crate) computed: Hash32,
}

/// The faults of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Faults {
    /// The number that was due instead.
    pub(crate) sequence: Option<u64>,
    /// Whether the link does not name the event before it.
    pub(crate) previous: bool,
    /// Whether its time is before that of the event before it.
    pub(crate) time: bool,
    /// Whether events before it are not in the selection, so that its link is not checked.
    pub(crate) skips: bool,
}

/// The beginning of a segment.
#[derive(Clone, Copy, Debug)]
struct Begin {
    line: u64,
    sequence: u64,
    previous: Option<Hash32>,
    created_at: Time,
}

/// The end of a chain so far.
#[derive(Clone, Debug)]
struct End {
    sequence: u64,
    created_at: Time,
    hash: Hash32,
    /// Another hash that the next event may name. If an event does not give its hash, it is not known which of both was changed.
    other: Option<Box<Hash32>>,
}

impl End {
    /// The end after `link`, where the chain ended with `before` until now.
    fn after(before: Option<&Self>, link: &Link) -> Self {
        let is_right = link.hash == link.computed;
        // The time of an event that was changed must not make the next one seem to go back.
        let created_at = if is_right { link.created_at } else { before.map_or(Time(0), |before| before.created_at) };
        let other = (!is_right).then(|| Box::new(link.computed));
        Self { sequence: link.sequence, created_at, hash: link.hash, other }
    }
}

/// Checks an event against the end of its chain. If `may_skip`, the log may begin later and have gaps.
fn faults(before: Option<&End>, begin: &Begin, may_skip: bool) -> Faults {
    let due = before.map_or(1, |before| before.sequence + 1);
    let is_next = begin.sequence == due;
    let is_right = is_next || (may_skip && begin.sequence > due);
    if !is_right {
        let time = before.is_some_and(|before| begin.created_at < before.created_at);
        return Faults { sequence: Some(due), time, ..Faults::default() };
    }
    let previous = match (before, is_next) {
        (Some(before), true) => {
            begin.previous.is_none_or(|hash| hash != before.hash && before.other.as_deref().is_none_or(|other| hash != *other))
        }
        // Only the first event has no event before it.
        _ => (begin.sequence == 1) != begin.previous.is_none(),
    };
    let time = before.is_some_and(|before| begin.created_at < before.created_at);
    Faults { sequence: None, previous, time, skips: !is_next }
}

/// The chains of all logs.
pub(crate) struct Chains {
    /// Where each segment begins, and where it ends so far. The first segment of a log is checked at once, so its beginning is not kept.
    logs: HashMap<LogId, (Option<Box<Begin>>, End)>,
    logs_max: usize,
    segments: Runs<SEGMENT_BYTES>,
    /// How often the map went to a file.
    spills: u32,
    is_selection: bool,
}

impl Chains {
    pub(crate) fn new(is_selection: bool, logs_max: usize) -> Self {
        // The map is spilled before the segments are, so they are one run of the same length.
        let logs_max = logs_max.max(1);
        Self { logs: HashMap::new(), logs_max, segments: Runs::new(logs_max), spills: 0, is_selection }
    }

    /// Whether events of this log may be absent: a selection has all events of the server's log.
    fn may_skip(&self, log: LogId) -> bool {
        self.is_selection && log != LogId::SERVER
    }

    /// Adds the next event of a log and says what is wrong with it.
    ///
    /// # Errors
    ///
    /// A temporary file cannot be written.
    pub(crate) fn follow(&mut self, log: LogId, link: &Link) -> io::Result<Faults> {
        if self.logs.len() >= self.logs_max && !self.logs.contains_key(&log) {
            self.spill()?;
        }
        let may_skip = self.may_skip(log);
        let &Link { line, sequence, previous, created_at, .. } = link;
        let begin = Begin { line, sequence, previous, created_at };
        Ok(match self.logs.entry(log) {
            Entry::Occupied(mut kept) => {
                let (_, end) = kept.get_mut();
                let faults = faults(Some(end), &begin, may_skip);
                *end = End::after(Some(end), link);
                faults
            }
            Entry::Vacant(place) => {
                let end = End::after(None, link);
                // An earlier segment may be in a file; then the beginning of this one is checked at the end.
                if self.spills > 0 {
                    place.insert((Some(Box::new(begin)), end));
                    return Ok(Faults::default());
                }
                place.insert((None, end));
                faults(None, &begin, may_skip)
            }
        })
    }

    fn spill(&mut self) -> io::Result<()> {
        for (log, (begin, end)) in self.logs.drain() {
            self.segments.push(segment(log, self.spills, begin.as_deref(), &end))?;
        }
        self.spills += 1;
        Ok(())
    }

    /// Ends all chains: calls `found` with each log, line and sequence at which a fault was found only now. Returns the number of
    /// logs.
    ///
    /// # Errors
    ///
    /// A temporary file cannot be written or read.
    pub(crate) fn end(mut self, mut found: impl FnMut(LogId, u64, u64, Faults)) -> io::Result<u64> {
        if self.spills == 0 {
            return Ok(self.logs.len() as u64);
        }
        self.spill()?;
        let is_selection = self.is_selection;
        let (mut logs, mut before): (u64, Option<(LogId, End)>) = (0, None);
        self.segments.merge(|record| {
            let (log, spill, begin, end) = read_segment(record);
            let kept = before.take().filter(|(last, _)| *last == log).map(|(_, end)| end);
            logs += u64::from(kept.is_none());
            if spill > 0 {
                let faults = faults(kept.as_ref(), &begin, is_selection && log != LogId::SERVER);
                if faults != Faults::default() {
                    found(log, begin.line, begin.sequence, faults);
                }
            }
            before = Some((log, end));
            Ok(())
        })?;
        Ok(logs)
    }
}

/// The bytes of a segment: its log, the spill, its beginning (zeros if that was checked), its end.
const SEGMENT_BYTES: usize = LogId::BYTES + 4 + (8 + 8 + 33 + 8) + (8 + 8 + 32 + 33);

/// Writes a segment so that segments sort by their logs, and those of one log by time.
fn segment(log: LogId, spill: u32, begin: Option<&Begin>, end: &End) -> [u8; SEGMENT_BYTES] {
    let (mut bytes, mut length) = ([0; SEGMENT_BYTES], 0);
    let mut add = |part: &[u8]| {
        bytes[length..length + part.len()].copy_from_slice(part);
        length += part.len();
    };
    let optional = |hash: Option<&Hash32>| {
        let mut bytes = [0; 33];
        if let Some(hash) = hash {
            bytes[0] = 1;
            bytes[1..].copy_from_slice(hash);
        }
        bytes
    };
    add(&log.to_bytes());
    add(&spill.to_be_bytes());
    for number in begin.map_or([0; 3], |begin| [begin.line, begin.sequence, begin.created_at.0]) {
        add(&number.to_be_bytes());
    }
    add(&optional(begin.and_then(|begin| begin.previous.as_ref())));
    add(&end.sequence.to_be_bytes());
    add(&end.created_at.0.to_be_bytes());
    add(&end.hash);
    add(&optional(end.other.as_deref()));
    bytes
}

fn read_segment(record: &[u8; SEGMENT_BYTES]) -> (LogId, u32, Begin, End) {
    fn take<const N: usize>(rest: &mut &[u8]) -> [u8; N] {
        let (first, behind) = rest.split_first_chunk().unwrap_or((&[0; N], &[]));
        *rest = behind;
        *first
    }
    let rest = &mut record.as_slice();
    let log = LogId::from_bytes(take(rest));
    let spill = u32::from_be_bytes(take(rest));
    let number = |rest: &mut &[u8]| u64::from_be_bytes(take(rest));
    let optional = |rest: &mut &[u8]| {
        let [is_some, hash @ ..] = take::<33>(rest);
        (is_some == 1).then_some(hash)
    };
    let (line, sequence, created_at) = (number(rest), number(rest), Time(number(rest)));
    let begin = Begin { line, sequence, previous: optional(rest), created_at };
    let (sequence, created_at) = (number(rest), Time(number(rest)));
    let end = End { sequence, created_at, hash: take(rest), other: optional(rest).map(Box::new) };
    (log, spill, begin, end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::LogKind;

    fn log(number: u8) -> LogId {
        LogId { kind: LogKind::Intent, id: [number; 16] }
    }

    fn hash(log: LogId, sequence: u64) -> Hash32 {
        let mut hash = [log.id[0]; 32];
        hash[..8].copy_from_slice(&sequence.to_be_bytes());
        hash
    }

    fn link(line: u64, log: LogId, sequence: u64) -> Link {
        let previous = (sequence > 1).then(|| hash(log, sequence - 1));
        let hash = hash(log, sequence);
        Link { line, sequence, previous, created_at: Time(line), hash, computed: hash }
    }

    /// Follows the links of several logs in turn, changed by `change`; returns the lines with a fault.
    fn run(is_selection: bool, logs_max: usize, change: impl Fn(&mut Vec<(LogId, Link)>)) -> (u64, Vec<(u64, Faults)>) {
        let mut links: Vec<_> = (0..60)
            .map(|line| {
                let log = log(u8::try_from(line % 6).unwrap());
                (log, link(line, log, line / 6 + 1))
            })
            .collect();
        change(&mut links);
        let (mut chains, mut found) = (Chains::new(is_selection, logs_max), Vec::new());
        for (log, link) in &links {
            let faults = chains.follow(*log, link).unwrap();
            if faults != Faults::default() {
                found.push((link.line, faults));
            }
        }
        let logs = chains.end(|_, line, _, faults| found.push((line, faults))).unwrap();
        found.sort_by_key(|(line, _)| *line);
        (logs, found)
    }

    /// The same faults are found, however few logs fit into memory.
    #[test]
    fn faults_do_not_depend_on_the_memory() {
        type Change = fn(&mut Vec<(LogId, Link)>);
        let changes: [(Change, usize); 8] = [
            (|_| {}, 0),
            (|links| links.retain(|(_, link)| link.line != 20), 1),
            (|links| links.swap(20, 26), 3),
            (|links| links[20].1.previous = None, 1),
            (|links| links[20].1.hash = [9; 32], 0),
            (|links| (links[20].1.hash, links[20].1.computed) = ([9; 32], [9; 32]), 1),
            (|links| links[20].1.created_at = Time(1), 1),
            (|links| links[20].1.sequence = 1, 2),
        ];
        for (place, (change, count)) in changes.into_iter().enumerate() {
            let (logs, found) = run(false, 100, change);
            assert_eq!((logs, found.len()), (6, count), "change {place}: {found:?}");
            for logs_max in 1..7 {
                assert_eq!(run(false, logs_max, change), (6, found.clone()), "change {place} with {logs_max} logs in memory");
            }
        }
    }

    #[test]
    fn a_selection_may_skip_events_and_links_are_checked_between_neighbours() {
        for logs_max in [1, 4, 100] {
            let skips = Faults { skips: true, ..Faults::default() };
            assert_eq!(run(true, logs_max, |links| links.retain(|(_, link)| link.line != 20)).1, [(26, skips)]);
            assert_eq!(run(true, logs_max, |links| drop(links.drain(..12))).1.len(), 6, "each log begins later");
            let exchanged = run(true, logs_max, |links| links.swap(20, 26)).1;
            assert_eq!(exchanged.iter().filter(|(_, faults)| faults.sequence.is_some()).count(), 1, "{exchanged:?}");
            assert!(run(true, logs_max, |links| links[20].1.previous = None).1[0].1.previous);
        }
    }
}
