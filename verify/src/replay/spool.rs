//! The bytes of events, in memory or in a temporary file, until they are replayed.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;

/// How many bytes are kept in memory. If there are more, all of them go to the file.
const MEMORY_BYTES_MAX: usize = 32 * 1024 * 1024;
/// How many bytes are read ahead from the file while events are read one after the other.
const AHEAD_BYTES: usize = 64 * 1024;

/// The bytes of events, while they are added.
#[derive(Default)]
pub(super) struct Spool {
    memory: Vec<u8>,
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
        self.length += bytes.len() as u64;
        let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
        if let Some(out) = &mut self.file {
            out.write_all(bytes)?;
        } else if self.memory.len() + bytes.len() <= MEMORY_BYTES_MAX {
            self.memory.extend_from_slice(bytes);
        } else {
            let out = self.file.insert(BufWriter::new(tempfile::tempfile()?));
            out.write_all(&std::mem::take(&mut self.memory))?;
            out.write_all(bytes)?;
        }
        Ok((offset, length))
    }

    /// The same bytes, to be read.
    ///
    /// # Errors
    ///
    /// The temporary file cannot be written.
    pub(super) fn reading(self) -> io::Result<Reading> {
        let file = self.file.map(|out| out.into_inner().map_err(io::IntoInnerError::into_error)).transpose()?;
        Ok(Reading { file, bytes: self.memory, begin: 0, length: self.length, behind: 0 })
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
        if let Some(file) = &self.file
            && (offset < self.begin || end > self.begin + self.bytes.len() as u64)
        {
            let left = usize::try_from(self.length - offset).unwrap_or(usize::MAX);
            self.bytes.resize(if is_next { length.max(AHEAD_BYTES).min(left) } else { length }, 0);
            file.read_exact_at(&mut self.bytes, offset)?;
            self.begin = offset;
        }
        let at = usize::try_from(offset - self.begin).map_err(io::Error::other)?;
        self.bytes.get(at..at + length).ok_or_else(|| io::Error::other("a place beyond the bytes that were kept"))
    }
}
