//! Records of one length that are sorted in bounded memory: beyond a bound, sorted runs go to one temporary file.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

/// How many bytes of each run are in memory while runs are merged.
const CHUNK_BYTES: usize = 64 * 1024;

/// Records of `N` bytes.
pub(crate) struct Runs<const N: usize> {
    pending: Vec<[u8; N]>,
    pending_max: usize,
    /// All runs, one behind the other: a file for each run would be too many for one process.
    file: Option<BufWriter<File>>,
    /// Where each run ends in the file.
    ends: Vec<u64>,
}

impl<const N: usize> Runs<N> {
    /// No records; at most `pending_max` are held in memory.
    pub(crate) fn new(pending_max: usize) -> Self {
        Self { pending: Vec::new(), pending_max: pending_max.max(1), file: None, ends: Vec::new() }
    }

    /// Adds a record.
    ///
    /// # Errors
    ///
    /// A temporary file cannot be written.
    pub(crate) fn push(&mut self, record: [u8; N]) -> io::Result<()> {
        if self.pending.capacity() == 0 {
            // Memory that is not written to costs nothing, and a list that grows is copied to fresh memory again and again.
            self.pending.reserve_exact(self.pending_max);
        }
        self.pending.push(record);
        if self.pending.len() >= self.pending_max {
            self.spill()?;
        }
        Ok(())
    }

    fn spill(&mut self) -> io::Result<()> {
        self.pending.sort_unstable();
        let out = match &mut self.file {
            Some(out) => out,
            None => self.file.insert(BufWriter::new(tempfile::tempfile()?)),
        };
        self.pending.iter().try_for_each(|record| out.write_all(record))?;
        let begin = self.ends.last().copied().unwrap_or_default();
        self.ends.push(begin + (self.pending.len() * N) as u64);
        self.pending.clear();
        Ok(())
    }

    /// Calls `each` with all records in their order.
    ///
    /// # Errors
    ///
    /// A temporary file cannot be read, or an error of `each`.
    pub(crate) fn merge(mut self, mut each: impl FnMut(&[u8; N]) -> io::Result<()>) -> io::Result<()> {
        self.pending.sort_unstable();
        let Some(out) = self.file else { return self.pending.iter().try_for_each(each) };
        let mut file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        let mut runs: Vec<_> = begins.zip(&self.ends).map(|(begin, end)| Run::<N>::new(begin, *end)).collect();
        let last = runs.len();
        let mut pending = self.pending.into_iter();
        let mut next = |place: usize| match runs.get_mut(place) {
            Some(run) => run.next(&mut file),
            None => Ok(pending.next()),
        };
        let mut heads = BinaryHeap::new();
        for place in 0..=last {
            if let Some(record) = next(place)? {
                heads.push(Reverse((record, place)));
            }
        }
        while let Some(Reverse((record, place))) = heads.pop() {
            each(&record)?;
            if let Some(record) = next(place)? {
                heads.push(Reverse((record, place)));
            }
        }
        Ok(())
    }
}

/// One sorted run in the file, while it is read.
struct Run<const N: usize> {
    at: u64,
    end: u64,
    chunk: Vec<u8>,
    /// How many bytes of the chunk were read.
    read: usize,
}

impl<const N: usize> Run<N> {
    fn new(at: u64, end: u64) -> Self {
        Self { at, end, chunk: Vec::new(), read: 0 }
    }

    /// The next record; `None` at the end of the run.
    fn next(&mut self, file: &mut File) -> io::Result<Option<[u8; N]>> {
        if self.read == self.chunk.len() {
            let records = (CHUNK_BYTES / N).max(1) as u64;
            let bytes = (self.end - self.at).min(records * N as u64);
            self.chunk.resize(usize::try_from(bytes).map_err(io::Error::other)?, 0);
            file.seek(SeekFrom::Start(self.at))?;
            file.read_exact(&mut self.chunk)?;
            (self.at, self.read) = (self.at + bytes, 0);
        }
        let record = self.chunk[self.read..].first_chunk().copied();
        self.read += if record.is_some() { N } else { 0 };
        Ok(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_sorted_however_few_fit_into_memory() {
        let records: Vec<[u8; 4]> = (0_u32..1_000).map(|number| (number.wrapping_mul(2_654_435_761)).to_be_bytes()).collect();
        let mut expected = records.clone();
        expected.sort_unstable();
        for pending_max in [0, 1, 7, 999, 1_000, 1_001, 5_000] {
            let mut runs = Runs::new(pending_max);
            for record in &records {
                runs.push(*record).unwrap();
            }
            let mut merged = Vec::new();
            runs.merge(|record| {
                merged.push(*record);
                Ok(())
            })
            .unwrap();
            assert_eq!(merged, expected, "{pending_max} in memory");
        }
    }
}
