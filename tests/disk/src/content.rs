//! The bytes of a file: in the page cache, where every reader sees them, and on the platter, where they survive a power cut.

use std::collections::BTreeMap;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::RngCore;

use crate::disk::FailedPages;

/// The unit in which a kernel holds data, marks it dirty and writes it back, in bytes.
pub(crate) const PAGE: usize = 4_096;

/// Draws a number from 0, less than `end`.
pub(crate) fn below(chance: &mut ChaCha8Rng, end: usize) -> usize {
    // The remainder prefers small numbers, but far too little for any run to notice.
    usize::try_from(chance.next_u64() % u64::try_from(end.max(1)).unwrap()).unwrap()
}

/// The bytes that may be on the platter.
#[derive(Clone, Default)]
struct Platter {
    /// The bytes that a power cut would leave if there had been no write since the last sync.
    durable: Vec<u8>,
    /// The contents of each sector since the last sync, oldest first: the kernel may have written back any of them, or none.
    unsynced: BTreeMap<usize, Vec<Vec<u8>>>,
    /// The lengths that the file has had since the last sync.
    lengths: Vec<usize>,
}

/// The bytes of one file.
pub(crate) struct Content {
    /// The bytes as readers see them.
    cached: Vec<u8>,
    platter: Platter,
    /// The platter before each truncation since the last sync. After a power cut a truncation has taken place completely or not
    /// at all.
    before_truncations: Vec<Platter>,
    /// The size of a sector, in bytes: the platter changes it whole or not at all.
    sector: usize,
}

impl Content {
    pub(crate) fn new(durable: Vec<u8>, sector: usize) -> Self {
        let platter = Platter { durable: durable.clone(), ..Platter::default() };
        Self { cached: durable, platter, before_truncations: Vec::new(), sector }
    }

    pub(crate) fn len(&self) -> usize {
        self.cached.len()
    }

    /// Copies the bytes from `offset` on; returns how many.
    pub(crate) fn read(&self, offset: usize, buffer: &mut [u8]) -> usize {
        let there = self.cached.get(offset..).unwrap_or_default();
        let length = there.len().min(buffer.len());
        buffer[..length].copy_from_slice(&there[..length]);
        length
    }

    pub(crate) fn write(&mut self, offset: usize, data: &[u8]) {
        let end = offset + data.len();
        if end > self.cached.len() {
            self.cached.resize(end, 0);
            self.platter.lengths.push(end);
        }
        self.cached[offset..end].copy_from_slice(data);
        // The whole page is dirty now, whatever it was before.
        for sector in offset / PAGE * PAGE / self.sector..end.next_multiple_of(PAGE) / self.sector {
            let mut held = vec![0; self.sector];
            self.read(sector * self.sector, &mut held);
            let versions = self.platter.unsynced.entry(sector).or_default();
            if versions.last() != Some(&held) {
                versions.push(held);
            }
        }
    }

    pub(crate) fn truncate(&mut self, length: usize) {
        self.cached.resize(length, 0);
        self.before_truncations.push(self.platter.clone());
        self.platter.durable.truncate(length);
        self.platter.unsynced.retain(|sector, _| sector * self.sector < length);
        self.platter.lengths = vec![length];
    }

    /// All bytes reach the platter.
    pub(crate) fn sync(&mut self) {
        let Platter { durable, unsynced, lengths } = &mut self.platter;
        durable.resize(self.cached.len(), 0);
        for sector in std::mem::take(unsynced).into_keys() {
            let from = (sector * self.sector).min(self.cached.len());
            let to = (from + self.sector).min(self.cached.len());
            durable[from..to].copy_from_slice(&self.cached[from..to]);
        }
        lengths.clear();
        self.before_truncations.clear();
    }

    /// A sync fails. Some of the unsynced bytes reach the platter. The kernel reports the failure once and then treats the pages
    /// as clean, so no later sync writes them, unless the program writes to them again.
    pub(crate) fn fail_to_sync(&mut self, chance: &mut ChaCha8Rng, pages: FailedPages) {
        let durable = self.survivors(chance, 50, false);
        if pages == FailedPages::Dropped {
            for sector in self.platter.unsynced.keys() {
                let from = (sector * self.sector).min(self.cached.len());
                let to = (from + self.sector).min(self.cached.len());
                for (at, byte) in self.cached[from..to].iter_mut().enumerate() {
                    *byte = durable.get(from + at).copied().unwrap_or_default();
                }
            }
        }
        // Unlike the pages, a new length is still written by a later sync, because it belongs to the file system's own records.
        let lengths = if durable.len() == self.cached.len() { Vec::new() } else { vec![self.cached.len()] };
        self.platter = Platter { durable, unsynced: BTreeMap::new(), lengths };
        self.before_truncations.clear();
    }

    /// The bytes on the platter after a power cut: of each sector the synced content, or any content written since.
    ///
    /// Space that the file took but never wrote holds zeros, or data of an earlier file.
    pub(crate) fn survivors(&self, chance: &mut ChaCha8Rng, percent: usize, leftovers: bool) -> Vec<u8> {
        let truncations = self.before_truncations.len();
        // Without a sync it is also open how far the file system got with its truncations.
        let reached = if below(chance, 100) < percent { truncations } else { below(chance, truncations + 1) };
        let Platter { durable, unsynced, lengths } = self.before_truncations.get(reached).unwrap_or(&self.platter);
        let mut left = durable.clone();
        if let Some(length) = lengths.last().filter(|_| below(chance, 100) < percent) {
            let among = below(chance, lengths.len() + 1);
            left.resize(*lengths.get(among).unwrap_or(length), 0);
        }
        let length = left.len();
        for (sector, versions) in unsynced {
            let from = (sector * self.sector).min(length);
            let to = (from + self.sector).min(length);
            if below(chance, 100) < percent {
                // Mostly the newest content: a kernel in a hurry writes the present bytes.
                let newest = versions.len() - 1;
                let version = if below(chance, 4) == 0 { below(chance, versions.len()) } else { newest };
                left[from..to].copy_from_slice(&versions[version][..to - from]);
            } else if leftovers && from >= durable.len() {
                chance.fill_bytes(&mut left[from..to]);
            }
        }
        left
    }
}
