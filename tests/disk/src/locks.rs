//! SQLite's locks on a file, and the memory its connections share, among the connections of one process.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_int;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use libsqlite3_sys as ffi;

/// Names an open file.
pub(crate) type HandleId = u64;

/// The locks on a database file (<https://sqlite.org/lockingv3.html>).
#[derive(Default)]
pub(crate) struct Locks(BTreeMap<HandleId, c_int>);

impl Locks {
    pub(crate) fn lock(&mut self, who: HandleId, level: c_int) -> Result<(), c_int> {
        let own = self.0.get(&who).copied().unwrap_or(ffi::SQLITE_LOCK_NONE);
        if own >= level {
            return Ok(());
        }
        let others = self.0.iter().filter(|(other, _)| **other != who).map(|(_, level)| *level).max();
        let others = others.unwrap_or(ffi::SQLITE_LOCK_NONE);
        let (highest_of_others, instead) = match level {
            ffi::SQLITE_LOCK_SHARED => (ffi::SQLITE_LOCK_RESERVED, None),
            ffi::SQLITE_LOCK_RESERVED => (ffi::SQLITE_LOCK_SHARED, None),
            // While there are readers, a connection that wants the exclusive lock keeps new readers out.
            _ if others <= ffi::SQLITE_LOCK_SHARED => (ffi::SQLITE_LOCK_NONE, Some(ffi::SQLITE_LOCK_PENDING)),
            _ => (ffi::SQLITE_LOCK_NONE, None),
        };
        if others <= highest_of_others {
            self.0.insert(who, level);
            return Ok(());
        }
        if let Some(instead) = instead {
            self.0.insert(who, instead);
        }
        Err(ffi::SQLITE_BUSY)
    }

    pub(crate) fn unlock(&mut self, who: HandleId, level: c_int) {
        if level == ffi::SQLITE_LOCK_NONE {
            self.0.remove(&who);
        } else {
            self.0.insert(who, level);
        }
    }

    pub(crate) fn is_reserved(&self) -> bool {
        self.0.values().any(|level| *level >= ffi::SQLITE_LOCK_RESERVED)
    }
}

/// The memory that the connections of a database share: the index of its write-ahead log.
#[derive(Default)]
pub(crate) struct Shared {
    regions: Mutex<Vec<Box<[AtomicU64]>>>,
}

impl Shared {
    /// The start of a region, or `None` if the region does not exist and `make` is false. The region stays at this address as
    /// long as this value lives.
    pub(crate) fn region(&self, number: usize, bytes: usize, make: bool) -> Option<*mut u8> {
        let mut regions = self.regions.lock().unwrap();
        while regions.len() <= number && make {
            regions.push((0..bytes / 8).map(|_| AtomicU64::new(0)).collect());
        }
        // Atomics may be written through a shared reference, so SQLite may as well.
        regions.get(number).map(|region| region.as_ptr().cast_mut().cast())
    }
}

/// The locks on the memory, and the handles that have it mapped.
#[derive(Default)]
pub(crate) struct SharedLocks {
    pub(crate) memory: Option<Arc<Shared>>,
    mapped: BTreeSet<HandleId>,
    shared: BTreeMap<c_int, BTreeSet<HandleId>>,
    exclusive: BTreeMap<c_int, HandleId>,
}

impl SharedLocks {
    pub(crate) fn map(&mut self, who: HandleId) -> Arc<Shared> {
        self.mapped.insert(who);
        self.memory.get_or_insert_default().clone()
    }

    /// Gives up all locks of the handle `who`; the last handle to leave removes the memory.
    pub(crate) fn unmap(&mut self, who: HandleId) {
        self.mapped.remove(&who);
        self.shared.values_mut().for_each(|holders| {
            holders.remove(&who);
        });
        self.exclusive.retain(|_, holder| *holder != who);
        if self.mapped.is_empty() {
            self.memory = None;
        }
    }

    pub(crate) fn change(&mut self, who: HandleId, places: std::ops::Range<c_int>, flags: c_int) -> Result<(), c_int> {
        let exclusively = flags & ffi::SQLITE_SHM_EXCLUSIVE != 0;
        if flags & ffi::SQLITE_SHM_UNLOCK != 0 {
            for place in places {
                self.shared.entry(place).or_default().remove(&who);
                if self.exclusive.get(&place) == Some(&who) {
                    self.exclusive.remove(&place);
                }
            }
            return Ok(());
        }
        let by_another = |place: &c_int| self.exclusive.get(place).is_some_and(|holder| *holder != who);
        let read_by_another = |place: &c_int| self.shared.get(place).is_some_and(|holders| holders.iter().any(|of| *of != who));
        if places.clone().any(|place| by_another(&place) || (exclusively && read_by_another(&place))) {
            return Err(ffi::SQLITE_BUSY);
        }
        for place in places {
            if exclusively {
                self.exclusive.insert(place, who);
            } else {
                self.shared.entry(place).or_default().insert(who);
            }
        }
        Ok(())
    }
}
