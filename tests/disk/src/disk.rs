//! The disk: its files, its faults, and the machine that uses it.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use libsqlite3_sys as ffi;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::content::{Content, PAGE, below};
use crate::locks::{HandleId, Locks, Shared, SharedLocks};
use crate::sqlite;

/// The outcome of a sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syncs {
    /// The sync is done.
    Honest,
    /// The sync is reported but not done: a drive whose cache lies.
    Lying,
    /// This many syncs in a hundred fail, and report that they failed.
    Failing(usize),
}

/// How a kernel treats pages whose sync has failed. Neither kind writes them again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailedPages {
    /// Readers go on seeing bytes that are not on the platter (ext4, XFS).
    Kept,
    /// Readers see the bytes on the platter (Btrfs).
    Dropped,
}

/// The faults of the disk.
#[derive(Clone, Copy, Debug)]
pub struct Weather {
    /// After this many more changes the power goes, in the middle of the last one.
    pub power_lasts: Option<u64>,
    /// When `power_lasts` has run out, the power goes only at the next sync, which fails: all of a commit is written, but its writer
    /// was not told that it is durable.
    pub until_a_sync: bool,
    /// How many bytes all files may have together. If they have more already, overwriting fails as well: some file systems copy
    /// the bytes they change.
    pub room: Option<usize>,
    /// How many writes in a hundred fail.
    pub failing_writes_percent: usize,
    pub syncs: Syncs,
    pub failed_pages: FailedPages,
}

impl Weather {
    /// No faults.
    pub const FINE: Self = Self {
        power_lasts: None,
        until_a_sync: false,
        room: None,
        failing_writes_percent: 0,
        syncs: Syncs::Honest,
        failed_pages: FailedPages::Kept,
    };
}

/// A disk under a folder, for as long as this value lives.
pub struct Disk {
    folder: PathBuf,
    state: Mutex<State>,
}

struct State {
    chance: ChaCha8Rng,
    weather: Weather,
    sector: usize,
    /// Counts restarts: handles from before a restart are gone.
    machine: u64,
    has_power: bool,
    files: BTreeMap<u64, File>,
    /// The file to which a path leads.
    names: BTreeMap<PathBuf, u64>,
    /// The same after a power cut.
    durable_names: BTreeMap<PathBuf, u64>,
    next: u64,
    changes: u64,
    faults: u64,
}

struct File {
    content: Content,
    /// How many syncs of the file have failed.
    failed_syncs: u64,
    locks: Locks,
    shared: SharedLocks,
}

impl File {
    fn new(content: Content) -> Self {
        Self { content, failed_syncs: 0, locks: Locks::default(), shared: SharedLocks::default() }
    }
}

impl Disk {
    /// Puts an empty disk under an existing folder. The seed decides which bytes survive, how large its sectors are, and which
    /// syncs fail.
    pub fn mount(folder: &Path, seed: u64) -> Arc<Self> {
        let mut chance = ChaCha8Rng::seed_from_u64(seed);
        // The disk draws from a stream of its own, so that it does not depend on other draws from the same seed.
        chance.set_stream(u64::from(u32::from_be_bytes(*b"disk")));
        let sector = [512, 4_096][below(&mut chance, 2)];
        let state = State {
            chance,
            weather: Weather::FINE,
            sector,
            machine: 0,
            has_power: true,
            files: BTreeMap::new(),
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            next: 0,
            changes: 0,
            faults: 0,
        };
        // SQLite asks for its files by their canonical names.
        let disk = Arc::new(Self { folder: folder.canonicalize().unwrap(), state: Mutex::new(state) });
        sqlite::mount(&disk);
        disk
    }

    /// Sets the faults from now on.
    pub fn set(&self, weather: Weather) {
        self.state().weather = weather;
    }

    /// How many bytes all files have together.
    pub fn used(&self) -> usize {
        self.state().used()
    }

    /// How many writes, syncs, truncations and deletions there were.
    pub fn changes(&self) -> u64 {
        self.state().changes
    }

    /// How many writes and syncs failed by a planned fault while the power was there.
    pub fn faults(&self) -> u64 {
        self.state().faults
    }

    /// Whether the power is still there.
    pub fn has_power(&self) -> bool {
        self.state().has_power
    }

    /// Ends the process that uses the disk, as SIGKILL does: the kernel keeps the data it got. If `Weather::power_lasts` had run
    /// out, this undoes the loss of power: only the process has ended, at that moment.
    pub fn kill(&self) {
        let state = &mut *self.state();
        state.machine += 1;
        state.has_power = true;
        state.weather = Weather::FINE;
        for file in state.files.values_mut() {
            (file.locks, file.shared) = (Locks::default(), SharedLocks::default());
        }
    }

    /// Cuts the power, if it has not gone by itself. Afterwards chance decides for each file and each name whether it is as at
    /// the last sync or as written since.
    pub fn cut(&self) {
        let state = &mut *self.state();
        state.machine += 1;
        state.has_power = true;
        state.weather = Weather::FINE;
        let State { chance, sector, .. } = state;
        // The chance, in percent, that an unsynced write survives. Extremes and values between are drawn, because code that
        // survives the loss of a few sectors may fail when many are lost.
        let percent = [0, 10, 50, 90, 100][below(chance, 5)];
        let leftovers = below(chance, 2) == 0;
        let names: Vec<PathBuf> = state.names.keys().chain(state.durable_names.keys()).cloned().collect();
        let mut left = BTreeMap::new();
        for name in names {
            let (written, synced) = (state.names.get(&name).copied(), state.durable_names.get(&name).copied());
            if let Some(file) = if below(chance, 100) < percent { written } else { synced } {
                left.insert(name, file);
            }
        }
        state.files.retain(|number, _| left.values().any(|kept| kept == number));
        for file in state.files.values_mut() {
            let content = Content::new(file.content.survivors(chance, percent, leftovers), *sector);
            *file = File::new(content);
        }
        (state.names, state.durable_names) = (left.clone(), left);
    }

    /// The contents of all files as readers see them, for [`Disk::restore`] to put on another disk.
    pub fn image(&self) -> BTreeMap<String, Vec<u8>> {
        let state = self.state();
        let file = |(name, number): (&PathBuf, &u64)| {
            let content = &state.files[number].content;
            let mut bytes = vec![0; content.len()];
            content.read(0, &mut bytes);
            let name = name.strip_prefix(&self.folder).unwrap_or(name);
            (name.to_string_lossy().into_owned(), bytes)
        };
        state.names.iter().map(file).collect()
    }

    /// Puts files on it, durably.
    pub fn restore(&self, image: &BTreeMap<String, Vec<u8>>) {
        let state = &mut *self.state();
        for (name, bytes) in image {
            let number = state.create(Content::new(bytes.clone(), state.sector));
            let name = self.folder.join(name);
            state.names.insert(name.clone(), number);
            state.durable_names.insert(name, number);
        }
    }

    /// Writes a file's bytes over themselves and syncs them, as a program can do without SQLite.
    pub(crate) fn rewrite(self: &Arc<Self>, path: &Path) -> Result<(), c_int> {
        let handle = match self.open(path, false) {
            Err(ffi::SQLITE_CANTOPEN) => return Ok(()),
            opened => opened?,
        };
        let mut page = [0; PAGE];
        for offset in (0..handle.len()?).step_by(PAGE) {
            let length = handle.read(offset, &mut page)?;
            handle.write(offset, &page[..length])?;
        }
        handle.sync()
    }

    pub(crate) fn holds(&self, path: &Path) -> bool {
        path.starts_with(&self.folder)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub(crate) fn open(self: &Arc<Self>, path: &Path, create: bool) -> Result<Handle, c_int> {
        let state = &mut *self.state();
        let number = match state.names.get(path) {
            _ if !state.has_power => return Err(ffi::SQLITE_IOERR),
            Some(number) => *number,
            None if create => {
                let number = state.create(Content::new(Vec::new(), state.sector));
                state.names.insert(path.to_owned(), number);
                number
            }
            None => return Err(ffi::SQLITE_CANTOPEN),
        };
        state.next += 1;
        let failures_told = AtomicU64::new(state.files[&number].failed_syncs);
        Ok(Handle { disk: self.clone(), machine: state.machine, file: number, id: state.next, failures_told, memory: None })
    }

    /// Removes a name; whether that is durable at once depends on whether the folder is synced.
    pub(crate) fn delete(&self, path: &Path, and_sync: bool) -> Result<(), c_int> {
        let state = &mut *self.state();
        let survives = state.change(false)?;
        if state.names.remove(path).is_none() {
            return Err(ffi::SQLITE_IOERR_DELETE_NOENT);
        }
        if and_sync && survives && state.weather.syncs != Syncs::Lying {
            state.durable_names.clone_from(&state.names);
        }
        if survives { Ok(()) } else { Err(ffi::SQLITE_IOERR_DELETE) }
    }

    pub(crate) fn exists(&self, path: &Path) -> bool {
        self.state().names.contains_key(path)
    }
}

impl State {
    fn create(&mut self, content: Content) -> u64 {
        self.next += 1;
        self.files.insert(self.next, File::new(content));
        self.next
    }

    fn used(&self) -> usize {
        self.names.values().map(|file| self.files[file].content.len()).sum()
    }

    /// Counts a change; returns whether the power is still there after it. If the power is gone already, this is an error.
    fn change(&mut self, is_sync: bool) -> Result<bool, c_int> {
        if !self.has_power {
            return Err(ffi::SQLITE_IOERR);
        }
        self.changes += 1;
        if let Some(left) = &mut self.weather.power_lasts {
            *left = left.saturating_sub(1);
            self.has_power = *left > 0 || (self.weather.until_a_sync && !is_sync);
        }
        Ok(self.has_power)
    }

    fn fails(&mut self, percent: usize) -> bool {
        let fails = percent > 0 && below(&mut self.chance, 100) < percent;
        self.faults += u64::from(fails);
        fails
    }
}

/// An open file.
pub(crate) struct Handle {
    disk: Arc<Disk>,
    machine: u64,
    file: u64,
    id: HandleId,
    /// Of the file's failed syncs, how many this handle has reported. Linux (since 4.13) reports a failure once through each open
    /// descriptor of the file, not only through the one whose sync failed.
    failures_told: AtomicU64,
    /// The shared memory, held as long as SQLite may use it.
    memory: Option<Arc<Shared>>,
}

impl Handle {
    /// Does something to the file, unless the process that opened it is gone.
    fn with<T>(&self, work: impl FnOnce(&mut State) -> Result<T, c_int>) -> Result<T, c_int> {
        let state = &mut *self.disk.state();
        if state.machine != self.machine || !state.has_power {
            return Err(ffi::SQLITE_IOERR);
        }
        work(state)
    }

    fn with_file<T>(&self, work: impl FnOnce(&mut File) -> Result<T, c_int>) -> Result<T, c_int> {
        self.with(|state| work(state.files.get_mut(&self.file).ok_or(ffi::SQLITE_IOERR)?))
    }

    pub(crate) fn len(&self) -> Result<usize, c_int> {
        self.with_file(|file| Ok(file.content.len()))
    }

    pub(crate) fn read(&self, offset: usize, buffer: &mut [u8]) -> Result<usize, c_int> {
        self.with_file(|file| Ok(file.content.read(offset, buffer)))
    }

    pub(crate) fn write(&self, offset: usize, data: &[u8]) -> Result<(), c_int> {
        self.with(|state| {
            if state.fails(state.weather.failing_writes_percent) {
                return Err(ffi::SQLITE_IOERR_WRITE);
            }
            let used = state.used();
            let grows = (offset + data.len()).saturating_sub(state.files[&self.file].content.len());
            if state.weather.room.is_some_and(|room| used > room || (grows > 0 && used + grows > room)) {
                state.faults += 1;
                return Err(ffi::SQLITE_FULL);
            }
            let survives = state.change(false)?;
            state.files.get_mut(&self.file).ok_or(ffi::SQLITE_IOERR)?.content.write(offset, data);
            if survives { Ok(()) } else { Err(ffi::SQLITE_IOERR_WRITE) }
        })
    }

    pub(crate) fn truncate(&self, length: usize) -> Result<(), c_int> {
        self.with(|state| {
            let survives = state.change(false)?;
            state.files.get_mut(&self.file).ok_or(ffi::SQLITE_IOERR)?.content.truncate(length);
            if survives { Ok(()) } else { Err(ffi::SQLITE_IOERR_TRUNCATE) }
        })
    }

    /// Makes the file's contents durable, and the names in its folder: SQLite's own VFS syncs the folder of a new file as well.
    pub(crate) fn sync(&self) -> Result<(), c_int> {
        self.with(|state| {
            if !state.change(true)? {
                return Err(ffi::SQLITE_IOERR_FSYNC);
            }
            let percent = match state.weather.syncs {
                Syncs::Lying => return Ok(()),
                Syncs::Honest => 0,
                Syncs::Failing(percent) => percent,
            };
            let fails = state.fails(percent);
            let State { files, chance, weather, names, durable_names, .. } = state;
            let file = files.get_mut(&self.file).ok_or(ffi::SQLITE_IOERR)?;
            if fails {
                file.content.fail_to_sync(chance, weather.failed_pages);
                file.failed_syncs += 1;
            } else {
                file.content.sync();
                durable_names.clone_from(names);
            }
            let told = self.failures_told.swap(file.failed_syncs, Ordering::SeqCst);
            if told == file.failed_syncs { Ok(()) } else { Err(ffi::SQLITE_IOERR_FSYNC) }
        })
    }

    pub(crate) fn lock(&self, level: c_int) -> Result<(), c_int> {
        self.with_file(|file| file.locks.lock(self.id, level))
    }

    pub(crate) fn unlock(&self, level: c_int) -> Result<(), c_int> {
        self.with_file(|file| {
            file.locks.unlock(self.id, level);
            Ok(())
        })
    }

    pub(crate) fn is_reserved(&self) -> Result<bool, c_int> {
        self.with_file(|file| Ok(file.locks.is_reserved()))
    }

    pub(crate) fn map(&mut self, region: usize, bytes: usize, make: bool) -> Result<Option<*mut u8>, c_int> {
        let memory = self.with_file(|file| Ok(file.shared.map(self.id)))?;
        let begins = memory.region(region, bytes, make);
        self.memory = Some(memory);
        Ok(begins)
    }

    pub(crate) fn change_shared(&self, places: std::ops::Range<c_int>, flags: c_int) -> Result<(), c_int> {
        self.with_file(|file| file.shared.change(self.id, places, flags))
    }

    pub(crate) fn unmap(&mut self) {
        self.leave(|file, id| file.shared.unmap(id));
        self.memory = None;
    }

    /// Gives up the handle's locks and memory. If the process that opened the file is gone, they went with it.
    fn leave(&self, give_up: impl FnOnce(&mut File, HandleId)) {
        let state = &mut *self.disk.state();
        if let Some(file) = state.files.get_mut(&self.file).filter(|_| state.machine == self.machine) {
            give_up(file, self.id);
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.leave(|file, id| {
            file.locks.unlock(id, ffi::SQLITE_LOCK_NONE);
            file.shared.unmap(id);
        });
    }
}
