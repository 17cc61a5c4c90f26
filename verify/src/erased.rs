//! Matches erased events with the events of the server's log that say so.

use std::io;

use crate::event::LogId;
use crate::runs::Runs;

/// How many records are kept in memory.
const RECORDS_IN_MEMORY: usize = 1_000_000;
/// A log, a number in it, whether it is that of an erased event, and two numbers more: the last number and the leaf of an event that names
/// erased ones, or the line and the leaf of an erased one.
const RECORD_BYTES: usize = LogId::BYTES + 8 + 1 + 8 + 8;

/// Consecutive events of one intent that were erased, as the server's log names them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named {
    pub(crate) log: LogId,
    /// The numbers of the first and the last of them.
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// The leaf of the event that names them.
    pub(crate) leaf: u64,
}

/// Erased events, and the events that were named as erased.
pub(crate) struct Erased {
    records: Runs<RECORD_BYTES>,
    events: u64,
}

impl Erased {
    pub(crate) fn new() -> Self {
        Self { records: Runs::new(RECORDS_IN_MEMORY), events: 0 }
    }

    fn push(&mut self, log: LogId, number: u64, is_erased: bool, more: [u64; 2]) -> io::Result<()> {
        let mut record = [0; RECORD_BYTES];
        let (of_log, rest) = record.split_at_mut(LogId::BYTES);
        of_log.copy_from_slice(&log.to_bytes());
        rest[..8].copy_from_slice(&number.to_be_bytes());
        rest[8] = u8::from(is_erased);
        rest[9..17].copy_from_slice(&more[0].to_be_bytes());
        rest[17..].copy_from_slice(&more[1].to_be_bytes());
        self.records.push(record)
    }

    /// Adds an event without payload.
    ///
    /// # Errors
    ///
    /// A temporary file cannot be written.
    pub(crate) fn erased(&mut self, log: LogId, sequence: u64, line: u64, leaf: u64) -> io::Result<()> {
        self.events += 1;
        self.push(log, sequence, true, [line, leaf])
    }

    /// Adds events of which the server's log says that they were erased.
    ///
    /// # Errors
    ///
    /// A temporary file cannot be written.
    pub(crate) fn named(&mut self, named: Named) -> io::Result<()> {
        self.push(named.log, named.first, false, [named.last, named.leaf])
    }

    /// How many events were erased.
    pub(crate) fn events(&self) -> u64 {
        self.events
    }

    /// Calls `found` with the line and the leaf of each erased event that no later event of the server's log names.
    ///
    /// # Errors
    ///
    /// A temporary file cannot be read.
    pub(crate) fn end(self, mut found: impl FnMut(u64, u64)) -> io::Result<()> {
        // The log, the last number and the leaf of the event that named erased ones last.
        let mut named: Option<([u8; LogId::BYTES], u64, u64)> = None;
        self.records.merge(|record| {
            let Some((log, rest)) = record.split_first_chunk::<{ LogId::BYTES }>() else { return Ok(()) };
            let number = |at: usize| rest[at..at + 8].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
            let (sequence, is_erased, leaf) = (number(0), rest[8] == 1, number(17));
            let covering = named.filter(|(of, last, _)| of == log && sequence <= *last);
            if !is_erased {
                // The events of one intent come by their numbers. No server names an event twice, so what names one a second time does not
                // count.
                named = covering.or(Some((*log, number(9), leaf)));
            } else if covering.is_none_or(|(.., naming)| naming <= leaf) {
                found(number(9), leaf);
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::LogKind;

    #[test]
    fn an_erased_event_needs_a_later_event_that_names_it() {
        let log = |id| LogId { kind: LogKind::Intent, id: [id; 16] };
        let mut erased = Erased::new();
        erased.named(Named { log: log(1), first: 3, last: 5, leaf: 50 }).unwrap();
        for sequence in 1..=7 {
            erased.erased(log(1), sequence, sequence + 300, sequence).unwrap();
        }
        // The event that names them comes before them, or names events of another intent.
        erased.named(Named { log: log(1), first: 6, last: 6, leaf: 6 }).unwrap();
        erased.named(Named { log: log(2), first: 1, last: 9, leaf: 90 }).unwrap();
        erased.erased(log(2), 9, 400, 10).unwrap();
        erased.erased(log(3), 1, 401, 11).unwrap();
        let mut found = Vec::new();
        erased.end(|line, leaf| found.push((line, leaf))).unwrap();
        assert_eq!(found, [(301, 1), (302, 2), (306, 6), (307, 7), (401, 11)]);
    }

    #[test]
    fn events_that_are_named_twice_count_by_the_first_that_begins() {
        let log = LogId { kind: LogKind::Intent, id: [1; 16] };
        let mut erased = Erased::new();
        erased.named(Named { log, first: 1, last: 4, leaf: 50 }).unwrap();
        erased.named(Named { log, first: 2, last: 9, leaf: 60 }).unwrap();
        erased.erased(log, 4, 1, 4).unwrap();
        erased.erased(log, 5, 2, 5).unwrap();
        let mut found = Vec::new();
        erased.end(|line, leaf| found.push((line, leaf))).unwrap();
        assert_eq!(found, [(2, 5)]);
    }
}
