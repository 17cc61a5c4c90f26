//! All random draws of a run come from its seed.

use std::ops::RangeInclusive;
use std::sync::Mutex;

use domain::base::ids::Entropy;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// A stream of draws.
pub(crate) struct Chance(ChaCha8Rng);

impl Chance {
    /// The stream of a seed for one purpose.
    pub(crate) fn new(seed: u64, purpose: u64) -> Self {
        let mut stream = ChaCha8Rng::seed_from_u64(seed);
        stream.set_stream(purpose);
        Self(stream)
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number from 0, less than `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        // The remainder prefers small numbers, but far too little for any run to notice.
        if end == 0 { 0 } else { self.bits() % end }
    }

    pub(crate) fn within(&mut self, range: RangeInclusive<i64>) -> i64 {
        let span = range.end().abs_diff(*range.start()) + 1;
        range.start() + i64::try_from(self.below(span)).unwrap()
    }

    /// True in `percent` of a hundred cases.
    pub(crate) fn happens(&mut self, percent: u32) -> bool {
        self.below(1_000) < u64::from(percent) * 10
    }

    /// Like [`Chance::happens`], in a thousand.
    pub(crate) fn rarely(&mut self, per_mille: u32) -> bool {
        self.below(1_000) < u64::from(per_mille)
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        let index = self.below(from.len() as u64);
        &from[usize::try_from(index).unwrap()]
    }
}

/// The randomness of the simulated server.
pub(crate) struct SeededEntropy(pub(crate) Mutex<Chance>);

impl Entropy for SeededEntropy {
    fn fill(&self, buffer: &mut [u8]) {
        self.0.lock().unwrap().0.fill_bytes(buffer);
    }
}
