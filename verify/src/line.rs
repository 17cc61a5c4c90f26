//! Reads the lines of a file of any length in bounded memory, and hashes them.

use std::io::{self, Read};
use std::ops::Range;

use memchr::memchr;
use sha2::{Digest, Sha256};

use crate::event::Hash32;

/// The most bytes of a line. A request has at most 256 KiB, and its numbers become at most four times as long in canonical form.
pub const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// How a line ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// With a line feed.
    Whole,
    /// With the file.
    Truncated,
    /// Behind more than [`LINE_BYTES_MAX`] bytes, which were skipped.
    TooLong,
}

/// How many bytes are read at once.
const BUFFER_BYTES: usize = 256 * 1024;

/// The lines of a file. They stand in the buffer as they were read: each is looked at where it is, and only one at the end of the buffer
/// is moved.
pub(crate) struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    /// How many bytes of the buffer were read.
    filled: usize,
    /// The place of the line in the buffer.
    line: Range<usize>,
    /// Where the next line begins.
    next: usize,
    /// How many bytes of the buffer are in the hash. It takes the bytes of many lines at once.
    hashed: usize,
    hash: Sha256,
    number: u64,
    bytes: u64,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { reader, buffer: Vec::new(), filled: 0, line: 0..0, next: 0, hashed: 0, hash: Sha256::new(), number: 0, bytes: 0 }
    }

    /// Reads the next line; `None` at the end of the file.
    pub(crate) fn advance(&mut self) -> io::Result<Option<End>> {
        let mut searched = 0;
        let end = loop {
            let rest = &self.buffer[self.next..self.filled];
            if let Some(place) = memchr(b'\n', &rest[searched..]) {
                let length = searched + place + 1;
                self.line = self.next..self.next + length;
                break if length <= LINE_BYTES_MAX + 1 { End::Whole } else { End::TooLong };
            }
            searched = rest.len();
            if searched > LINE_BYTES_MAX {
                self.skip()?;
                break End::TooLong;
            }
            if self.fill()? == 0 {
                if searched == 0 {
                    self.line = self.next..self.next;
                    return Ok(None);
                }
                self.line = self.next..self.filled;
                break End::Truncated;
            }
        };
        self.number += 1;
        self.bytes += self.line.len() as u64;
        self.next = self.line.end;
        if end == End::TooLong {
            self.line.start = self.line.end;
        }
        Ok(Some(end))
    }

    /// Reads further bytes into the buffer; returns how many.
    fn fill(&mut self) -> io::Result<usize> {
        if self.next > 0 {
            self.hash.update(&self.buffer[self.hashed..self.next]);
            self.buffer.copy_within(self.next..self.filled, 0);
            self.filled -= self.next;
            (self.hashed, self.next) = (0, 0);
        }
        if self.filled == self.buffer.len() {
            let length = self.buffer.len() * 2;
            self.buffer.resize(length.clamp(BUFFER_BYTES, LINE_BYTES_MAX + 1), 0);
        }
        let read = loop {
            match self.reader.read(&mut self.buffer[self.filled..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        self.filled += read;
        Ok(read)
    }

    /// Reads up to the end of a line that is too long, without keeping it.
    fn skip(&mut self) -> io::Result<()> {
        loop {
            // The bytes in the buffer belong to the line, and have no end of it.
            self.bytes += (self.filled - self.next) as u64;
            self.next = self.filled;
            let read = self.fill()?;
            let place = memchr(b'\n', &self.buffer[..self.filled]);
            if read == 0 || place.is_some() {
                self.line = 0..place.map_or(0, |place| place + 1);
                return Ok(());
            }
        }
    }

    /// The line that was read, with its end; empty if it was too long.
    pub(crate) fn line(&self) -> &[u8] {
        &self.buffer[self.line.clone()]
    }

    /// The number of the line that was read, from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// How many bytes were read.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The hash of all bytes before the line that was read.
    pub(crate) fn hash_before(&self) -> Hash32 {
        self.hash.clone().chain_update(&self.buffer[self.hashed..self.line.start]).finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_hashed_and_bounded() {
        let long = vec![b'x'; 3 * LINE_BYTES_MAX];
        let text = [b"one\n\n".as_slice(), &long, b"\ntwo\nthree"].concat();
        let mut lines = Lines::new(text.as_slice());
        let mut seen = Vec::new();
        while let Some(end) = lines.advance().unwrap() {
            seen.push((String::from_utf8(lines.line().to_vec()).unwrap(), end));
            if lines.number() == 4 {
                assert_eq!(lines.hash_before(), <Hash32>::from(Sha256::digest(&text[..6 + long.len()])));
            }
        }
        let expected =
            [("one\n", End::Whole), ("\n", End::Whole), ("", End::TooLong), ("two\n", End::Whole), ("three", End::Truncated)];
        assert_eq!(seen, expected.map(|(line, end)| (line.to_owned(), end)));
        assert_eq!(lines.bytes(), text.len() as u64);
        let full = [vec![b'x'; LINE_BYTES_MAX], b"\n".to_vec()].concat();
        assert_eq!(Lines::new(full.as_slice()).advance().unwrap(), Some(End::Whole));
        let mut lines = Lines::new(&full[..LINE_BYTES_MAX]);
        assert_eq!((lines.advance().unwrap(), lines.line().len()), (Some(End::Truncated), LINE_BYTES_MAX));
        assert_eq!(lines.advance().unwrap(), None);
    }

    /// A reader that returns as few bytes at a time as it is told, and is interrupted before each of them.
    struct Slow<'a> {
        rest: &'a [u8],
        step: usize,
        is_interrupted: bool,
    }

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.is_interrupted = !self.is_interrupted;
            if self.is_interrupted {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let length = self.step.min(buffer.len());
            self.rest.read(&mut buffer[..length])
        }
    }

    /// The lines and the hash are the same wherever the reader and the buffer cut them.
    #[test]
    fn lines_are_the_same_however_few_bytes_come_at_once() {
        let lengths = [0, 1, 50, BUFFER_BYTES - 1, 3, BUFFER_BYTES, 2 * BUFFER_BYTES + 5, 900, 0, LINE_BYTES_MAX + 1, 7, 70_000];
        let line = |length: &usize| [vec![b'a' + u8::try_from(length % 26).unwrap(); *length], b"\n".to_vec()].concat();
        let text = lengths.iter().map(line).collect::<Vec<_>>().concat();
        for step in [999, 4_096, BUFFER_BYTES, usize::MAX] {
            let mut lines = Lines::new(Slow { rest: &text, step, is_interrupted: false });
            let mut before = 0;
            for (place, length) in lengths.iter().enumerate() {
                let is_long = *length > LINE_BYTES_MAX;
                assert_eq!(lines.advance().unwrap(), Some(if is_long { End::TooLong } else { End::Whole }), "{length}, {step}");
                assert_eq!(lines.line(), if is_long { Vec::new() } else { line(length) }, "{length}, {step}");
                let hashed = before + if is_long { length + 1 } else { 0 };
                assert_eq!(lines.hash_before(), <Hash32>::from(Sha256::digest(&text[..hashed])), "{length}, {step}");
                before += length + 1;
                assert_eq!((lines.number(), lines.bytes()), (place as u64 + 1, before as u64));
            }
            assert_eq!(lines.advance().unwrap(), None);
        }
    }
}
