//! Records of one length that are sorted in bounded memory: beyond a bound, sorted runs go to temporary files.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};

/// Records of `N` bytes.
pub(crate) struct Runs<const N: usize> {
    pending: Vec<[u8; N]>,
    pending_max: usize,
    files: Vec<File>,
}

impl<const N: usize> Runs<N> {
    /// No records; at most `pending_max` are held in memory.
    pub(crate) fn new(pending_max: usize) -> Self {
        Self { pending: Vec::new(), pending_max: pending_max.max(1), files: Vec::new() }
    }

    /// Adds a record.
    ///
    /// # Errors
    ///
    /// A temporary file cannot be written.
    pub(crate) fn push(&mut self, record: [u8; N]) -> io::Result<()> {
        self.pending.push(record);
        if self.pending.len() >= self.pending_max {
            self.spill()?;
        }
        Ok(())
    }

    fn spill(&mut self) -> io::Result<()> {
        self.pending.sort_unstable();
        let mut out = BufWriter::new(tempfile::tempfile()?);
        self.pending.iter().try_for_each(|record| out.write_all(record))?;
        let mut file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        self.files.push(file);
        self.pending.clear();
        Ok(())
    }

    /// Calls `each` with all records in their order.
    ///
    /// # Errors
    ///
    /// A temporary file cannot be read.
    pub(crate) fn merge(mut self, mut each: impl FnMut(&[u8; N])) -> io::Result<()> {
        self.pending.sort_unstable();
        if self.files.is_empty() {
            self.pending.iter().for_each(each);
            return Ok(());
        }
        let mut sources: Vec<Box<dyn Iterator<Item = io::Result<[u8; N]>>>> = Vec::new();
        for file in self.files {
            let mut file = BufReader::new(file);
            sources.push(Box::new(std::iter::from_fn(move || read(&mut file).transpose())));
        }
        sources.push(Box::new(self.pending.into_iter().map(Ok)));
        let mut heads = BinaryHeap::new();
        for (place, source) in sources.iter_mut().enumerate() {
            if let Some(record) = source.next().transpose()? {
                heads.push(Reverse((record, place)));
            }
        }
        while let Some(Reverse((record, place))) = heads.pop() {
            each(&record);
            if let Some(next) = sources[place].next().transpose()? {
                heads.push(Reverse((next, place)));
            }
        }
        Ok(())
    }
}

/// The next record of a file; `None` at its end.
fn read<const N: usize>(file: &mut impl Read) -> io::Result<Option<[u8; N]>> {
    let mut record = [0; N];
    match file.read_exact(&mut record) {
        Ok(()) => Ok(Some(record)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
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
            // A file for each of 1000 records would be more than a process may open.
            let records = if pending_max < 2 { &records[..50] } else { &records };
            for record in records {
                runs.push(*record).unwrap();
            }
            let mut merged = Vec::new();
            runs.merge(|record| merged.push(*record)).unwrap();
            let mut expected: Vec<_> = records.to_vec();
            expected.sort_unstable();
            assert_eq!(merged, expected, "{pending_max} in memory");
        }
    }
}
