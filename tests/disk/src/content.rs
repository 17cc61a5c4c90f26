//! What a file holds: in the page cache, where everybody reads it, and on the platter, where it outlives the power.

use std::collections::BTreeMap;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::RngCore;

use crate::disk::FailedPages;

/// What a kernel holds, marks dirty and writes back at once, in bytes.
pub(crate) const PAGE: usize = 4_096;

/// Draws a number from 0, less than `end`.
pub(crate) fn below(chance: &mut ChaCha8Rng, end: usize) -> usize {
    // The bias is far below anything a run could notice.
    usize::try_from(chance.next_u64() % u64::try_from(end.max(1)).unwrap()).unwrap()
}

/// What may be on the platter.
#[derive(Clone, Default)]
struct Platter {
    /// As a power cut would leave it, had nothing been written since the last sync.
    durable: Vec<u8>,
    /// What each sector held since the last sync, oldest first: the kernel may have written any of it back, or none.
    unsynced: BTreeMap<usize, Vec<Vec<u8>>>,
    /// How long the file was since the last sync.
    lengths: Vec<usize>,
}

/// The bytes of one file.
pub(crate) struct Content {
    /// As its readers see it.
    cached: Vec<u8>,
    platter: Platter,
    /// As it was before each truncation since the last sync: a file system takes room away at once or not at all.
    before_truncations: Vec<Platter>,
    /// What the platter changes whole or not at all, in bytes.
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

    /// Copies what there is from `offset` on; says how much.
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

    /// Everything reaches the platter.
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

    /// Some of it reaches the platter, the kernel reports a failure, once, and takes the pages for clean: no later sync writes them,
    /// unless somebody writes to them again.
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
        // The length is the file system's own, which goes on knowing it.
        let lengths = if durable.len() == self.cached.len() { Vec::new() } else { vec![self.cached.len()] };
        self.platter = Platter { durable, unsynced: BTreeMap::new(), lengths };
        self.before_truncations.clear();
    }

    /// What is on the platter after a power cut: of each sector what was synced or any of what was written since.
    ///
    /// Of what was never written, room that the file took holds zeros, or what somebody left there.
    pub(crate) fn survivors(&self, chance: &mut ChaCha8Rng, percent: usize, leftovers: bool) -> Vec<u8> {
        let truncations = self.before_truncations.len();
        // Without a sync, how far the file system got with its truncations is open as well.
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
                // Mostly the newest: a kernel in a hurry writes what there is.
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
