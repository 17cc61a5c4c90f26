//! The bytes of events, in memory or in a temporary file, until they are replayed.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

/// How many bytes are kept in memory. The file has those that come after them.
pub(super) const MEMORY_BYTES_MAX: usize = 16 * 1024 * 1024;
/// How many bytes are written to the file at once.
const WRITTEN_BYTES: usize = 256 * 1024;
/// How many bytes are read from the file at once. Events of one log lie apart, and those of neighbouring logs near to
/// each other, so other events of the same block are wanted soon.
const BLOCK_BYTES: usize = 16 * 1024;
/// How many blocks are kept after they were read.
const BLOCKS: usize = 1024;

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
            self.file = Some(BufWriter::with_capacity(WRITTEN_BYTES, tempfile::tempfile()?));
        }
        if let Some(out) = &mut self.file {
            parts.iter().try_for_each(|part| out.write_all(part))?;
        } else {
            if self.memory.capacity() == 0 {
                // Memory that is not written to costs nothing, and a list that grows is copied to fresh memory again and again.
                self.memory.reserve_exact(self.memory_max);
            }
            for part in parts {
                self.memory.extend_from_slice(part);
            }
        }
        Ok((offset, u32::try_from(length).map_err(io::Error::other)?))
    }

    /// The same bytes, to be read.
    ///
    /// # Errors
    ///
    /// The temporary file cannot be written.
    pub(super) fn reading(self) -> io::Result<Reading> {
        let length = self.length - self.memory.len() as u64;
        let blocks = self.file.map(|out| {
            let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
            let kept = (0..BLOCKS).map(|_| Block { number: None, bytes: Vec::new() }).collect();
            Ok::<_, io::Error>(Blocks { file, length, kept, event: Vec::new() })
        });
        Ok(Reading { memory: self.memory, blocks: blocks.transpose()? })
    }
}

/// The bytes of events, while they are read.
pub(super) struct Reading {
    memory: Vec<u8>,
    /// The bytes behind those in memory.
    blocks: Option<Blocks>,
}

/// The file, and the blocks of it that are in memory.
pub(super) struct Blocks {
    file: File,
    /// The number of its bytes.
    length: u64,
    /// Each block has one place, which it shares with every [`BLOCKS`]th block behind it.
    kept: Vec<Block>,
    /// The event that was read last.
    event: Vec<u8>,
}

/// A block in memory.
struct Block {
    number: Option<u64>,
    bytes: Vec<u8>,
}

impl Reading {
    /// Reads the bytes at a place.
    ///
    /// # Errors
    ///
    /// The temporary file cannot be read.
    pub(super) fn read(&mut self, offset: u64, length: u32) -> io::Result<&[u8]> {
        let end = offset + u64::from(length);
        let in_memory = self.memory.len() as u64;
        let bytes = match &mut self.blocks {
            // No event lies in both.
            Some(blocks) if offset >= in_memory && end - in_memory <= blocks.length => {
                Some(blocks.read(offset - in_memory, end - in_memory)?)
            }
            Some(_) | None => {
                let at = |place: u64| usize::try_from(place).unwrap_or(usize::MAX);
                self.memory.get(at(offset)..at(end))
            }
        };
        bytes.ok_or_else(|| io::Error::other("a place beyond the bytes that were kept"))
    }
}

impl Blocks {
    fn read(&mut self, mut offset: u64, end: u64) -> io::Result<&[u8]> {
        let number = offset / BLOCK_BYTES as u64;
        let begin = number * BLOCK_BYTES as u64;
        // Most events lie within one block.
        if offset < end && end - begin <= BLOCK_BYTES as u64 {
            self.load(number, begin)?;
            let within = |place: u64| usize::try_from(place - begin).unwrap_or(BLOCK_BYTES);
            return Ok(&self.kept[place(number)].bytes[within(offset)..within(end)]);
        }
        self.event.clear();
        while offset < end {
            let number = offset / BLOCK_BYTES as u64;
            let begin = number * BLOCK_BYTES as u64;
            self.load(number, begin)?;
            let bytes = &self.kept[place(number)].bytes;
            let within = |place: u64| usize::try_from(place - begin).map_or(bytes.len(), |place| place.min(bytes.len()));
            self.event.extend_from_slice(&bytes[within(offset)..within(end)]);
            offset = begin + BLOCK_BYTES as u64;
        }
        Ok(&self.event)
    }

    /// Reads a block, if it is not in memory.
    fn load(&mut self, number: u64, begin: u64) -> io::Result<()> {
        let block = &mut self.kept[place(number)];
        if block.number == Some(number) {
            return Ok(());
        }
        // If reading fails, the place holds no block.
        block.number = None;
        let left = usize::try_from(self.length - begin).unwrap_or(usize::MAX);
        block.bytes.resize(BLOCK_BYTES.min(left), 0);
        self.file.seek(SeekFrom::Start(begin))?;
        self.file.read_exact(&mut block.bytes)?;
        block.number = Some(number);
        Ok(())
    }
}

/// The place of a block in memory.
fn place(number: u64) -> usize {
    usize::try_from(number % BLOCKS as u64).unwrap_or_default()
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
        assert_eq!(reading.blocks.is_some(), total > memory_max, "{lengths:?}");
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
        let long = 3 * BLOCK_BYTES + 1;
        for lengths in [
            &[10, 20, 70][..],
            &[10, 20, 71],
            &[100],
            &[101],
            &[0, 101, 0, 5],
            &[long, 3, long, 0, 7],
            &[BLOCK_BYTES - 1, 1, 1, BLOCK_BYTES, 2],
            &[BLOCK_BYTES, BLOCK_BYTES, 2],
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
        // More blocks than are kept: each place is used by two of them, in turn.
        let blocks = [BLOCK_BYTES; BLOCKS + 2];
        read_back(100, &blocks, &[0, BLOCKS, 1, BLOCKS + 1, 0, BLOCKS]);
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
        // Nor are bytes read across the end of the memory: no event begins there and ends in the file.
        let mut spool = Spool::new(20);
        for (place, part) in [(0, [2; 20]), (20, [3; 20])] {
            assert_eq!(spool.push(&[&part]).unwrap(), (place, 20));
        }
        let mut reading = spool.reading().unwrap();
        assert!(reading.read(10, 20).is_err());
        assert!(reading.read(20, 21).is_err());
        assert_eq!(reading.read(20, 20).unwrap(), [3; 20]);
        assert_eq!(reading.read(0, 20).unwrap(), [2; 20]);
    }
}
