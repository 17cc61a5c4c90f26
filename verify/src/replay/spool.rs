//! The bytes of events, in memory or in a temporary file, until they are replayed.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

/// How many bytes are kept in memory. If there are more, all of them go to the file.
pub(super) const MEMORY_BYTES_MAX: usize = 32 * 1024 * 1024;
/// How many bytes are read ahead from the file at first, if an event is read that stands behind the one before it. Each further one doubles
/// them: the events of a log often come in pairs, and a long run of neighbours is rare.
const AHEAD_BYTES_MIN: usize = 2 * 1024;
/// The most bytes that are read ahead.
const AHEAD_BYTES_MAX: usize = 64 * 1024;

/// The bytes of events, while they are added.
pub(super) struct Spool {
    memory: Vec<u8>,
    memory_max: usize,
    file: Option<BufWriter<File>>,
    length: u64,
}

impl Spool {
    /// A spool that keeps so many bytes in memory, and more of them in a file.
    pub(super) fn new(memory_max: usize) -> Self {
        Self { memory: Vec::new(), memory_max, file: None, length: 0 }
    }

    /// Adds the bytes of these parts, one behind the other; returns where they begin, and their length.
    ///
    /// # Errors
    ///
    /// The temporary file cannot be written.
    pub(super) fn push(&mut self, parts: &[&[u8]]) -> io::Result<(u64, u32)> {
        let (offset, length) = (self.length, parts.iter().map(|part| part.len()).sum::<usize>());
        self.length += length as u64;
        if self.file.is_none() && self.memory.len() + length > self.memory_max {
            let out = self.file.insert(BufWriter::with_capacity(AHEAD_BYTES_MAX, tempfile::tempfile()?));
            out.write_all(&std::mem::take(&mut self.memory))?;
        }
        match &mut self.file {
            Some(out) => parts.iter().try_for_each(|part| out.write_all(part))?,
            None => parts.iter().for_each(|part| self.memory.extend_from_slice(part)),
        }
        Ok((offset, u32::try_from(length).map_err(io::Error::other)?))
    }

    /// The same bytes, to be read.
    ///
    /// # Errors
    ///
    /// The temporary file cannot be written.
    pub(super) fn reading(self) -> io::Result<Reading> {
        let file = self.file.map(|out| out.into_inner().map_err(io::IntoInnerError::into_error)).transpose()?;
        Ok(Reading { file, bytes: self.memory, begin: 0, length: self.length, behind: 0, ahead: AHEAD_BYTES_MIN })
    }
}

/// The bytes of events, while they are read.
pub(super) struct Reading {
    file: Option<File>,
    /// The bytes that are in memory, and where they begin: all of them, or a part of the file.
    bytes: Vec<u8>,
    begin: u64,
    /// The number of all bytes.
    length: u64,
    /// The place behind the bytes that were read last.
    behind: u64,
    /// How many bytes are read ahead next.
    ahead: usize,
}

impl Reading {
    /// Reads the bytes at a place.
    ///
    /// # Errors
    ///
    /// The temporary file cannot be read.
    pub(super) fn read(&mut self, offset: u64, length: u32) -> io::Result<&[u8]> {
        // Most events are kept without their bytes. The bytes that were read ahead stay for the next one that has some.
        if length == 0 {
            return Ok(&[]);
        }
        let (end, length) = (offset + u64::from(length), usize::try_from(length).map_err(io::Error::other)?);
        let is_next = self.behind == offset;
        self.behind = end;
        if !is_next {
            self.ahead = AHEAD_BYTES_MIN;
        }
        if let Some(file) = &mut self.file
            && (offset < self.begin || end > self.begin + self.bytes.len() as u64)
        {
            let left = usize::try_from(self.length - offset).unwrap_or(usize::MAX);
            self.bytes.resize(length.max(self.ahead).min(left), 0);
            self.ahead = (self.ahead * 2).min(AHEAD_BYTES_MAX);
            file.seek(SeekFrom::Start(offset))?;
            file.read_exact(&mut self.bytes)?;
            self.begin = offset;
        }
        let at = usize::try_from(offset - self.begin).map_err(io::Error::other)?;
        self.bytes.get(at..at + length).ok_or_else(|| io::Error::other("a place beyond the bytes that were kept"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An event of this length, which no other event equals.
    fn event(number: usize, length: usize) -> Vec<u8> {
        (0..length).map(|at| u8::try_from((at * 31 + number * 7) % 251).unwrap()).collect()
    }

    /// Adds events of these lengths, and reads them in this order.
    fn read_back(memory_max: usize, lengths: &[usize], order: &[usize]) {
        let mut spool = Spool::new(memory_max);
        let events: Vec<_> = lengths.iter().enumerate().map(|(number, length)| event(number, *length)).collect();
        let places: Vec<_> = events.iter().map(|event| spool.push(&[event]).unwrap()).collect();
        let total: usize = lengths.iter().sum();
        let mut reading = spool.reading().unwrap();
        assert_eq!(reading.file.is_some(), total > memory_max, "{lengths:?}");
        for number in order {
            let (offset, length) = places[*number];
            assert_eq!(
                reading.read(offset, length).unwrap(),
                events[*number],
                "event {number} of {lengths:?}, in the order {order:?}"
            );
        }
    }

    /// The bytes are the same in memory and in the file, in whichever order they are read.
    #[test]
    fn what_is_added_is_read_back_in_every_order() {
        let long = AHEAD_BYTES_MAX + 1;
        for lengths in [
            &[10, 20, 70][..],
            &[10, 20, 71],
            &[100],
            &[101],
            &[0, 101, 0, 5],
            &[long, 3, long, 0, 7],
            &[AHEAD_BYTES_MAX - 1, 1, 1, AHEAD_BYTES_MAX, 2],
            &[AHEAD_BYTES_MIN - 1, 1, 1, AHEAD_BYTES_MIN, 2],
        ] {
            let forwards: Vec<_> = (0..lengths.len()).collect();
            let backwards: Vec<_> = forwards.iter().rev().copied().collect();
            let twice = [&forwards[..], &backwards, &forwards].concat();
            for order in [&forwards, &backwards, &twice] {
                read_back(100, lengths, order);
            }
        }
        let many = [1_000; 500];
        let interleaved: Vec<_> = (0..250).flat_map(|number| [number, 250 + number]).collect();
        read_back(100, &many, &interleaved);
        read_back(100, &many, &(0..500).collect::<Vec<_>>());
    }

    /// A place that was never given is an error, and no bytes of another event.
    #[test]
    fn a_place_beyond_the_bytes_is_an_error() {
        for memory_max in [100, 10] {
            let mut spool = Spool::new(memory_max);
            spool.push(&[&[1; 20], &[], &[1; 30]]).unwrap();
            assert_eq!(spool.push(&[]).unwrap(), (50, 0));
            let mut reading = spool.reading().unwrap();
            assert!(reading.read(40, 11).is_err(), "in memory up to {memory_max} bytes");
            assert_eq!(reading.read(40, 10).unwrap(), [1; 10]);
        }
    }
}
