//! Reads the lines of a file of any length in bounded memory, and hashes them.

use std::io::{self, BufRead, Read};

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

/// The lines of a file.
pub(crate) struct Lines<R> {
    reader: R,
    line: Vec<u8>,
    number: u64,
    bytes: u64,
    hash: Sha256,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { reader, line: Vec::new(), number: 0, bytes: 0, hash: Sha256::new() }
    }

    /// Reads the next line; `None` at the end of the file.
    pub(crate) fn advance(&mut self) -> io::Result<Option<End>> {
        self.hash.update(&self.line);
        self.line.clear();
        let limit = LINE_BYTES_MAX as u64 + 1;
        let mut read = self.reader.by_ref().take(limit).read_until(b'\n', &mut self.line)? as u64;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        self.bytes += read;
        if self.line.last() == Some(&b'\n') {
            return Ok(Some(End::Whole));
        }
        if read < limit {
            return Ok(Some(End::Truncated));
        }
        while read > 0 && self.line.last() != Some(&b'\n') {
            self.hash.update(&self.line);
            self.line.clear();
            read = self.reader.by_ref().take(limit).read_until(b'\n', &mut self.line)? as u64;
            self.bytes += read;
        }
        self.hash.update(&self.line);
        self.line.clear();
        Ok(Some(End::TooLong))
    }

    /// The line that was read, with its end; empty if it was too long.
    pub(crate) fn line(&self) -> &[u8] {
        &self.line
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
        self.hash.clone().finalize().into()
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
    }
}
