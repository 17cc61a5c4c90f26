//! The bytes of events in a temporary file, until they are replayed.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};

/// How many bytes are written at once. The file system clears the rest of a block that is written in part, so writes are large.
const WRITTEN_BYTES: usize = 256 * 1_024;
/// How many bytes are read at once, if the event has no more. The events of one log stand far apart in a large export, and the bytes
/// between them would be read in vain.
const READ_BYTES: usize = 1_024;

/// The bytes of events, while they are added.
#[derive(Default)]
pub(super) struct Spool {
    file: Option<BufWriter<File>>,
    length: u64,
}

impl Spool {
    /// Adds bytes; returns where they begin, and their length.
    ///
    /// # Errors
    ///
    /// The temporary file cannot be written.
    pub(super) fn push(&mut self, bytes: &[u8]) -> io::Result<(u64, u32)> {
        let offset = self.length;
        if bytes.is_empty() {
            return Ok((offset, 0));
        }
        let out = match &mut self.file {
            Some(out) => out,
            None => self.file.insert(BufWriter::with_capacity(WRITTEN_BYTES, tempfile::tempfile()?)),
        };
        out.write_all(bytes)?;
        self.length += bytes.len() as u64;
        Ok((offset, u32::try_from(bytes.len()).map_err(io::Error::other)?))
    }

    /// The same bytes, to be read.
    ///
    /// # Errors
    ///
    /// The temporary file cannot be written.
    pub(super) fn reading(self) -> io::Result<Reading> {
        let file = self.file.map(|out| out.into_inner().map_err(io::IntoInnerError::into_error)).transpose()?;
        let file = file.map(|mut file| file.rewind().map(|()| BufReader::with_capacity(READ_BYTES, file))).transpose()?;
        Ok(Reading { file, at: 0, bytes: Vec::new() })
    }
}

/// The bytes of events, while they are read.
pub(super) struct Reading {
    file: Option<BufReader<File>>,
    at: i64,
    bytes: Vec<u8>,
}

impl Reading {
    /// Reads the bytes at a place.
    ///
    /// # Errors
    ///
    /// The temporary file cannot be read.
    pub(super) fn read(&mut self, offset: u64, length: u32) -> io::Result<&[u8]> {
        self.bytes.clear();
        if let Some(file) = self.file.as_mut().filter(|_| length > 0) {
            let offset = i64::try_from(offset).map_err(io::Error::other)?;
            // Events that stand beside one another are read from the buffer.
            file.seek_relative(offset - self.at)?;
            self.bytes.resize(usize::try_from(length).map_err(io::Error::other)?, 0);
            file.read_exact(&mut self.bytes)?;
            self.at = offset + i64::from(length);
        }
        Ok(&self.bytes)
    }
}
