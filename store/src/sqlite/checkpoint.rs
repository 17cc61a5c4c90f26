//! Copies the write-ahead log into the database file, beside the thread that writes.
//!
//! Guarantee: the log stays bounded, and no commit waits for more than a short last step of the copying. Mechanism: a thread with a
//! connection of its own copies what is in the log (a passive checkpoint) and syncs the database file, again and again, until little is
//! left; the writer copies the rest between two batches, and its next transaction begins the log anew. SQLite syncs the database file
//! only in the checkpoint that reaches the end of the log. Without the syncs of this thread, that one would have to write everything, and
//! it is the writer's. Failure: a checkpoint that fails (a full disk, a reader that stays) is logged, counted, and tried again; nothing is
//! refused until the log is longer than its bound, and then agents are refused before people's answers are.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Context;
use diesel::connection::SimpleConnection;
use diesel::sql_types::Integer;
use diesel::sqlite::SqliteConnection;
use diesel::{Connection, QueryableByName, RunQueryDsl};

use crate::observer::Observer;
use crate::surroundings::Surroundings;

/// How often it looks although nothing was written, while a checkpoint fails or a reader holds one up.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// How often the thread copies in a row. A writer that is as fast as the copying ends the row, and goes on with the rest itself.
const PASSES_MAX: u32 = 8;
/// The settings of the connection that copies. It never waits for a lock: another program that copies does the same work.
const PRAGMAS: &str =
    "PRAGMA busy_timeout = 0; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -256;";

/// How long the write-ahead log becomes; lengths are in pages of the log (4,120 bytes each).
#[derive(Clone, Copy, Debug)]
pub struct LogLimits {
    /// After how many writes the thread looks how long the log is.
    pub look: usize,
    /// From this length on, the log is copied.
    pub begin: u32,
    /// What the writer copies itself, at most, where the thread keeps up.
    pub rest: u32,
    /// Beyond this length agents are refused: what is left of the disk is for people.
    pub most: u32,
}

impl LogLimits {
    /// 256 writes, 24 MiB, 2 MiB and 1 GiB.
    pub const DEFAULT: Self = Self { look: 256, begin: 6_144, rest: 512, most: 262_144 };
}

/// How much of the log there is, and how much of it the database file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, QueryableByName)]
struct Log {
    #[diesel(sql_type = Integer, column_name = log)]
    pages: i32,
    #[diesel(sql_type = Integer, column_name = checkpointed)]
    copied: i32,
}

impl Log {
    /// Its length in pages. SQLite says -1 where there is none.
    fn length(self) -> u32 {
        u32::try_from(self.pages).unwrap_or(0)
    }

    fn left(self) -> u32 {
        self.length().saturating_sub(u32::try_from(self.copied).unwrap_or(0))
    }
}

/// The thread that copies.
pub(super) struct Checkpointer {
    shared: Arc<Shared>,
    look: usize,
    thread: Option<JoinHandle<()>>,
    /// The database file, open for its syncs. SQLite's locks on a file are gone when the process closes any descriptor of it, so this
    /// one is closed after the connections.
    file: Option<Arc<File>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// So little is left to be copied that the writer does it.
    is_near: AtomicBool,
}

#[derive(Default)]
struct State {
    /// Writes since the last look.
    written: usize,
    over: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it is time to look at the log; false if the store ends.
    fn wait(&self, look: usize, retry: bool) -> bool {
        let mut state = self.state();
        while !state.over && state.written < look {
            if retry {
                let (held, waited) = self.changed.wait_timeout(state, AGAIN_AFTER).unwrap_or_else(PoisonError::into_inner);
                state = held;
                if waited.timed_out() {
                    break;
                }
            } else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
        state.written = 0;
        !state.over
    }
}

impl Checkpointer {
    /// Starts the thread on a connection of its own.
    pub(super) fn start(url: &str, database: &Path, limits: LogLimits, surroundings: &Surroundings) -> anyhow::Result<Self> {
        let mut conn = SqliteConnection::establish(url).context("failed to open the database for copying its log")?;
        conn.batch_execute(PRAGMAS)?;
        let file = match File::open(database) {
            Ok(file) => Some(Arc::new(file)),
            // The tests' own disk has no such file; SQLite syncs there itself.
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error).context("failed to open the database file for its syncs"),
        };
        let shared = Arc::new(Shared::default());
        let copying = Copying {
            conn,
            file: file.clone(),
            limits,
            shared: shared.clone(),
            observer: surroundings.observer.clone(),
            is_long: surroundings.allowance.log_is_long(),
            held_up: false,
        };
        let thread = std::thread::Builder::new().name("store-log".into()).spawn(move || copying.run())?;
        Ok(Self { shared, look: limits.look, thread: Some(thread), file })
    }

    /// Notes that the writer committed so many writes, and does the writer's part of the copying if it is time: between two batches.
    pub(super) fn committed(&self, conn: &mut SqliteConnection, writes: usize) {
        let mut state = self.shared.state();
        state.written += writes;
        let is_time = state.written >= self.look;
        drop(state);
        if self.shared.is_near.swap(false, Ordering::SeqCst)
            && let Err(error) = look(conn, "PASSIVE")
        {
            tracing::warn!(error = %error, "the end of the write-ahead log was not copied; the next pass tries again");
        }
        if is_time {
            self.shared.changed.notify_one();
        }
    }

    /// Ends the thread, whose connection is then closed.
    pub(super) fn end(&mut self) {
        self.shared.state().over = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that copies the write-ahead log panicked");
        }
    }

    /// The descriptor that must outlive the connections of this process.
    pub(super) fn file(&self) -> Option<Arc<File>> {
        self.file.clone()
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.end();
    }
}

/// What the thread works with.
struct Copying {
    conn: SqliteConnection,
    file: Option<Arc<File>>,
    limits: LogLimits,
    shared: Arc<Shared>,
    observer: Arc<dyn Observer>,
    /// Tells the allowance that the log is longer than its bound.
    is_long: Arc<AtomicBool>,
    /// Whether the last look left something that could not be copied; each change is logged once.
    held_up: bool,
}

impl Copying {
    fn run(mut self) {
        while self.shared.wait(self.limits.look, self.held_up) {
            let began = Instant::now();
            let copied = self.copy();
            if !matches!(copied, Ok(None)) {
                self.observer.log_copied(matches!(copied, Ok(Some(true))), began.elapsed());
            }
            match copied {
                Ok(Some(false)) => self.note(Some("another program keeps reading the database")),
                Ok(_) => self.note(None),
                Err(error) => self.note(Some(&format!("{error:#}"))),
            }
        }
    }

    /// Copies if the log is long enough: nothing if it is not, else whether the writer can do the rest.
    fn copy(&mut self) -> anyhow::Result<Option<bool>> {
        let mut log = look(&mut self.conn, "NOOP")?;
        self.is_long.store(log.length() > self.limits.most, Ordering::SeqCst);
        if log.length() < self.limits.begin || log.left() == 0 {
            return Ok(None);
        }
        for _ in 0..PASSES_MAX {
            let before = log.left();
            look(&mut self.conn, "PASSIVE")?;
            if let Some(file) = &self.file {
                file.sync_data().context("failed to sync the database file")?;
            }
            log = look(&mut self.conn, "NOOP")?;
            if log.left() <= self.limits.rest {
                self.shared.is_near.store(true, Ordering::SeqCst);
                return Ok(Some(true));
            }
            // Either a reader holds the copying up, or the writer is as fast as the copying.
            if log.left() >= before {
                break;
            }
        }
        let keeps_up = log.left() < self.limits.begin;
        self.shared.is_near.store(keeps_up, Ordering::SeqCst);
        Ok(Some(keeps_up))
    }

    fn note(&mut self, why: Option<&str>) {
        let before = std::mem::replace(&mut self.held_up, why.is_some());
        match (before, why) {
            (false, Some(why)) => {
                tracing::warn!(why, "the write-ahead log cannot be copied into the database, and grows until it can");
            }
            (true, None) => tracing::info!("the write-ahead log is copied into the database again"),
            (true, Some(_)) | (false, None) => {}
        }
    }
}

/// Runs `PRAGMA wal_checkpoint`: `NOOP` only looks, `PASSIVE` copies what no reader and no lock stands in the way of.
fn look(conn: &mut SqliteConnection, mode: &str) -> diesel::QueryResult<Log> {
    diesel::sql_query(format!("PRAGMA wal_checkpoint({mode})")).get_result::<Log>(conn)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: LogLimits = LogLimits { look: 256, begin: 20, rest: 5, most: 60 };

    /// A database with a log, the thread that copies it, and how the server would be told of a long log.
    struct Tried {
        folder: tempfile::TempDir,
        conn: SqliteConnection,
        checkpointer: Checkpointer,
        surroundings: Surroundings,
    }

    impl Tried {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("placet.db");
            let url = path.to_str().unwrap();
            let mut conn = SqliteConnection::establish(url).unwrap();
            conn.batch_execute("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (x BLOB)").unwrap();
            let clock = Arc::new(crate::host::clock::SystemClock);
            let surroundings = Surroundings::alone(clock, Arc::new(crate::host::clock::SystemEntropy));
            let checkpointer = Checkpointer::start(url, &path, LIMITS, &surroundings).unwrap();
            Self { folder, conn, checkpointer, surroundings }
        }

        /// Writes a page or more, and says that as many writes were committed as make the thread look.
        fn write(&mut self) {
            self.conn.batch_execute("INSERT INTO t VALUES (zeroblob(4000))").unwrap();
            self.checkpointer.committed(&mut self.conn, LIMITS.look);
        }

        fn log(&mut self) -> Log {
            look(&mut self.conn, "NOOP").unwrap()
        }

        /// Waits for what the thread does.
        fn until(&mut self, what: &str, is_so: impl Fn(&mut Self) -> bool) {
            let began = Instant::now();
            while !is_so(self) {
                assert!(began.elapsed() < Duration::from_secs(20), "{what}: {:?}", self.log());
                std::thread::yield_now();
            }
        }
    }

    #[test]
    fn the_log_begins_anew_before_it_is_long() {
        let mut tried = Tried::new();
        let mut longest = 0;
        for _ in 0..400 {
            tried.write();
            longest = longest.max(tried.log().length());
            let thread_has_looked = |tried: &mut Tried| tried.checkpointer.shared.state().written == 0;
            tried.until("the thread looks", thread_has_looked);
        }
        assert!(longest < LIMITS.most, "{longest} pages");
        tried.checkpointer.end();
        assert!(tried.folder.path().join("placet.db").metadata().unwrap().len() > 1_000_000, "the file has the rows");
    }

    /// A backup that takes long must not stop anybody; but the log may not fill the disk either.
    #[test]
    fn a_reader_holds_the_copying_up_until_it_ends_and_a_long_log_is_told() {
        let mut tried = Tried::new();
        tried.write();
        let path = tried.folder.path().join("placet.db");
        let mut reader = SqliteConnection::establish(path.to_str().unwrap()).unwrap();
        reader.batch_execute("BEGIN; SELECT count(*) FROM t").unwrap();
        for _ in 0..LIMITS.most + 10 {
            tried.write();
        }
        tried.until("a long log is told", |tried| tried.surroundings.allowance.is_short_of_room());
        reader.batch_execute("COMMIT").unwrap();
        tried.until("the log is copied", |tried| {
            tried.checkpointer.committed(&mut tried.conn, 0);
            tried.log().left() == 0
        });
        tried.write();
        tried.until("the log is short again", |tried| !tried.surroundings.allowance.is_short_of_room());
        assert!(tried.log().length() < LIMITS.begin, "{:?}", tried.log());
        tried.checkpointer.end();
    }
}
