//! Counts the rare events: a simulator that does not reach them proves nothing about them.

use std::collections::BTreeMap;
use std::sync::Mutex;

/// The least number of times that each event must happen in two thousand seeds.
pub(crate) const FLOORS: &[(&str, u64)] = &[
    ("absence noticed by a starting process", 100),
    ("agent handed in its work", 8),
    ("agent handed nothing in", 30),
    ("agent settled", 150),
    ("answer accepted", 1_000),
    ("answer taken back", 10),
    ("answer within a millisecond of the deadline", 100),
    ("assigned question answered", 200),
    ("catch-up over more than one attempt", 100),
    ("checkpoint signed", 5_000),
    ("clock jumped", 100),
    ("commit unheard, applied", 50),
    ("commit unheard, not applied", 50),
    ("crash with a message under way", 100),
    ("database set back", 80),
    ("deadline moved", 40),
    ("decision replayed", 10_000),
    ("dependent created", 500),
    ("deputy got a place", 10),
    ("draft saved", 40),
    ("endpoint gone", 10),
    ("endpoint left alone", 20),
    ("endpoint probed with success", 5),
    ("event told by a stream", 1_000),
    ("event told under a key", 20),
    ("group edited", 400),
    ("heartbeat recorded", 12),
    ("intent closed while stopped", 80),
    ("intent completed", 300),
    ("intent parked", 500),
    ("intent paused", 300),
    ("intent paused by a broadcast", 80),
    ("intent resumed", 450),
    ("lease taken over", 50),
    ("link from before a restore", 50),
    ("message came back", 100),
    ("message sent again by hand", 20),
    ("nobody reached", 100),
    ("others asked at once", 50),
    ("outsider tried to answer", 80),
    ("parked intent failed by its time", 15),
    ("parked intent went on by its time", 30),
    ("parked intent woken by an event", 70),
    ("parked intent woken by its trigger", 20),
    ("people reminded on request", 50),
    ("person out of office", 150),
    ("person removed", 60),
    ("place handed on", 80),
    ("portfolio joined", 200),
    ("question cancelled", 50),
    ("question claimed", 60),
    ("question reassigned", 30),
    ("question superseded", 50),
    ("quorum asked", 400),
    ("quorum completed by several", 180),
    ("quorum unmet", 140),
    ("restored database released", 80),
    ("resumption came second", 200),
    ("resumption of a closed intent", 80),
    ("return forged", 50),
    ("return from before a restore", 100),
    ("store stalled", 50),
    ("task begun", 200),
    ("time given back after an absence", 100),
    ("time given back to a park", 40),
    ("transaction broken in the middle", 50),
    ("webhook taken", 500),
    ("work ended at once", 70),
    ("work ended by a controller", 80),
];

/// Counters of one run, or of many.
#[derive(Default)]
pub(crate) struct Coverage(Mutex<BTreeMap<&'static str, u64>>);

impl Coverage {
    pub(crate) fn count(&self, what: &'static str) {
        self.counted(what, 1);
    }

    pub(crate) fn counted(&self, what: &'static str, times: u64) {
        *self.0.lock().unwrap().entry(what).or_default() += times;
    }

    pub(crate) fn add(&self, other: &Self) {
        let mut counts = self.0.lock().unwrap();
        for (what, count) in &*other.0.lock().unwrap() {
            *counts.entry(what).or_default() += count;
        }
    }

    pub(crate) fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.0.lock().unwrap().clone()
    }

    /// The floors that were missed after so many seeds.
    pub(crate) fn missed(&self, seeds: u64) -> Vec<String> {
        let counts = self.counts();
        let floors = FLOORS.iter().map(|(what, floor)| (what, floor * seeds / 2_000));
        floors
            .filter_map(|(what, floor)| {
                let count = counts.get(what).copied().unwrap_or(0);
                (count < floor).then(|| format!("{what}: {count}, expected {floor}"))
            })
            .collect()
    }
}
