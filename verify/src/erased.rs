//! Matches erased events with the events of the server's log that say so.

use std::io;

use crate::runs::Runs;

/// How many records are kept in memory.
const RECORDS_IN_MEMORY: usize = 1_000_000;
/// An id, whether it is that of an erased event, the line, and the leaf.
const RECORD_BYTES: usize = 16 + 1 + 8 + 8;

/// Erased events, and the events that were named as erased.
pub(crate) struct Erased {
    records: Runs<RECORD_BYTES>,
    events: u64,
}

impl Erased {
    pub(crate) fn new() -> Self {
        Self { records: Runs::new(RECORDS_IN_MEMORY), events: 0 }
    }

    fn push(&mut self, id: [u8; 16], is_erased: bool, line: u64, leaf: u64) -> io::Result<()> {
        let mut record = [0; RECORD_BYTES];
        record[..16].copy_from_slice(&id);
        record[16] = u8::from(is_erased);
        record[17..25].copy_from_slice(&line.to_be_bytes());
        record[25..].copy_from_slice(&leaf.to_be_bytes());
        self.records.push(record)
    }

    /// Adds an event without payload.
    ///
    /// # Errors
    ///
    /// A temporary file cannot be written.
    pub(crate) fn erased(&mut self, id: [u8; 16], line: u64, leaf: u64) -> io::Result<()> {
        self.events += 1;
        self.push(id, true, line, leaf)
    }

    /// Adds the id of an event of which the server's log says that it was erased.
    ///
    /// # Errors
    ///
    /// A temporary file cannot be written.
    pub(crate) fn named(&mut self, id: [u8; 16]) -> io::Result<()> {
        self.push(id, false, 0, 0)
    }

    /// How many events were erased.
    pub(crate) fn events(&self) -> u64 {
        self.events
    }

    /// Calls `found` with the line and the leaf of each erased event that the server's log does not name.
    ///
    /// # Errors
    ///
    /// A temporary file cannot be read.
    pub(crate) fn end(self, mut found: impl FnMut(u64, u64)) -> io::Result<()> {
        let mut named: Option<[u8; 16]> = None;
        self.records.merge(|record| {
            let (id, rest) = record.split_first_chunk::<16>().unwrap_or((&[0; 16], &[]));
            let Some((is_erased, rest)) = rest.split_first() else { return Ok(()) };
            // The records of one id come together, and the event that names it comes first.
            if *is_erased == 0 {
                named = Some(*id);
            } else if named != Some(*id) {
                let number = |bytes: &[u8]| bytes.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
                found(number(&rest[..8]), number(&rest[8..]));
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_erased_event_needs_an_event_that_names_it_before_or_after() {
        let mut erased = Erased::new();
        erased.named([3; 16]).unwrap();
        for id in 1..=4 {
            erased.erased([id; 16], u64::from(id) + 300, u64::from(id)).unwrap();
        }
        erased.named([2; 16]).unwrap();
        erased.named([7; 16]).unwrap();
        let mut found = Vec::new();
        erased.end(|line, leaf| found.push((line, leaf))).unwrap();
        assert_eq!(found, [(301, 1), (304, 4)]);
    }
}
