//! Copies the write-ahead log into the database file, beside the thread that writes.
//!
//! Guarantee: the log stays bounded, and no commit waits for more than a short last step of the copying. Mechanism: a thread with
//! a connection of its own copies what is in the log (a passive checkpoint) and syncs the database file, again and again, until
//! little is left; the writer copies the rest between two batches, and its next transaction begins the log anew. SQLite itself
//! syncs the database file only in the checkpoint that reaches the end of the log, which is the writer's. Without the syncs of
//! this thread, the writer's sync would have to write everything. Failure: a checkpoint that fails (a full disk, a reader that
//! stays) is logged, counted, and tried again; nothing is refused until the log is longer than its bound, and then agents are
//! refused before people's answers are.
//!
//! A sync that fails is different: the kernel may have dropped pages that SQLite counts as copied, and no later sync writes them. From
//! then on this process copies nothing, and does not close its connection, because SQLite would copy the log then. The next start
//! copies the whole log anew.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Context;
use diesel::connection::SimpleConnection;
use diesel::sql_types::Integer;
use diesel::sqlite::SqliteConnection;
use diesel::{Connection, QueryableByName, RunQueryDsl};

use super::identity::Identity;
use super::log_file::Sync;
use crate::observer::{Copied, Observer};
use crate::surroundings::Surroundings;

/// How often the thread looks at the log although nothing was written, while a checkpoint fails or a reader holds one up.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// How many times in a row the thread copies. If it has not caught up with the writer by then, the writer copies the rest.
const PASSES_MAX: u32 = 8;
/// The settings of the connection that copies. It never waits for a lock, because a program that holds the lock is already
/// copying the same log.
const PRAGMAS: &str =
    "PRAGMA busy_timeout = 0; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -256;";
/// SQLite's text for every failure of the disk except a full disk. Diesel passes on the text, but not the error code.
const DISK_FAILED: &str = "disk I/O error";

/// How long the write-ahead log may become; lengths are in pages of the log (4,120 bytes each).
#[derive(Clone, Copy, Debug)]
pub struct LogLimits {
    /// The shortest time between two looks at the length of the log.
    pub pause: Duration,
    /// From this length on, the log is copied.
    pub begin: u32,
    /// The most that the thread leaves for the writer to copy, unless the writer writes as fast as the thread copies.
    pub rest: u32,
    /// Beyond this length agents are refused, and the rest of the disk is kept for people's answers.
    pub most: u32,
}

impl LogLimits {
    /// 20 ms, 24 MiB, 2 MiB and 1 GiB.
    pub const DEFAULT: Self = Self { pause: Duration::from_millis(20), begin: 6_144, rest: 512, most: 262_144 };
}

/// How much of the log there is, and how much of it the database file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, QueryableByName)]
struct Log {
    /// Whether another connection is copying at this moment.
    #[diesel(sql_type = Integer)]
    busy: i32,
    #[diesel(sql_type = Integer, column_name = log)]
    pages: i32,
    #[diesel(sql_type = Integer, column_name = checkpointed)]
    copied: i32,
}

impl Log {
    /// The length of the log in pages. SQLite reports -1 if there is no log.
    fn length(self) -> u32 {
        u32::try_from(self.pages).unwrap_or(0)
    }

    fn left(self) -> u32 {
        self.length().saturating_sub(u32::try_from(self.copied).unwrap_or(0))
    }

    /// Whether a checkpoint with this result copied everything that the log had when it began.
    fn is_whole(self) -> bool {
        self.busy == 0 && self.left() == 0
    }
}

/// The thread that copies the log.
pub(super) struct Checkpointer {
    shared: Arc<Shared>,
    observer: Arc<dyn Observer>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// Whether the writer is to copy the rest of the log after its next commit.
    is_near: AtomicBool,
    /// Whether a sync of the database file has failed; if so, this process copies nothing any more.
    is_unsynced: AtomicBool,
}

#[derive(Default)]
struct State {
    /// Whether the writer has committed since the last look.
    written: bool,
    over: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it is time to look at the log; false if the store ends.
    fn wait(&self, pause: Duration, retry: bool) -> bool {
        let paused = self.changed.wait_timeout_while(self.state(), pause, |state| !state.over);
        let idle = |state: &mut State| !state.over && !state.written;
        let longest = if retry { AGAIN_AFTER } else { Duration::MAX };
        let (state, _) = paused.unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(state, longest, idle);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.written = false;
        !state.over
    }

    /// Notes that a checkpoint failed. If the disk failed, this process copies nothing any more.
    fn note_failure(&self, error: &diesel::result::Error) {
        if error.to_string() == DISK_FAILED {
            self.is_unsynced.store(true, Ordering::SeqCst);
        }
    }

    fn is_unsynced(&self) -> bool {
        self.is_unsynced.load(Ordering::SeqCst)
    }
}

impl Checkpointer {
    /// Starts the thread on a connection of its own.
    pub(super) fn start(
        url: &str,
        identity: Arc<Identity>,
        sync: Sync,
        limits: LogLimits,
        surroundings: &Surroundings,
    ) -> anyhow::Result<Self> {
        let mut conn = SqliteConnection::establish(url).context("failed to open the database for copying its log")?;
        conn.batch_execute(PRAGMAS)?;
        let shared = Arc::new(Shared::default());
        let observer = surroundings.observer.clone();
        let copying = Copying {
            conn,
            identity,
            sync,
            limits,
            shared: shared.clone(),
            observer: observer.clone(),
            log_is_long: surroundings.allowance.log_is_long(),
            trouble: None,
        };
        let thread = std::thread::Builder::new().name("store-log".into()).spawn(move || copying.run())?;
        Ok(Self { shared, observer, thread: Some(thread) })
    }

    /// Notes that the writer has committed. If little of the log is left to copy, copies it now, between two batches of the
    /// writer.
    pub(super) fn committed(&self, conn: &mut SqliteConnection) {
        if self.shared.is_near.swap(false, Ordering::SeqCst) && !self.shared.is_unsynced() {
            self.copy_rest(conn);
        }
        let mut state = self.shared.state();
        if !std::mem::replace(&mut state.written, true) {
            drop(state);
            self.shared.changed.notify_one();
        }
    }

    /// Copies the end of the log, so that the next transaction can begin it anew.
    fn copy_rest(&self, conn: &mut SqliteConnection) {
        let began = Instant::now();
        match look(conn, "PASSIVE") {
            Ok(log) => self.observer.log_ended(log.is_whole(), began.elapsed()),
            Err(error) => {
                self.observer.log_ended(false, began.elapsed());
                self.shared.note_failure(&error);
                tracing::warn!(error = %error, "the end of the write-ahead log was not copied");
            }
        }
    }

    /// Notes that the writer's own copying failed.
    pub(super) fn note_failure(&self, error: &diesel::result::Error) {
        self.shared.note_failure(error);
    }

    /// Whether the writer's connection must stay open: SQLite copies the log when the last connection closes.
    pub(super) fn must_stay_open(&self) -> bool {
        self.shared.is_unsynced()
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
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.end();
    }
}

/// The state of the thread.
struct Copying {
    conn: SqliteConnection,
    identity: Arc<Identity>,
    sync: Sync,
    limits: LogLimits,
    shared: Arc<Shared>,
    observer: Arc<dyn Observer>,
    /// Whether the log is longer than its bound. The allowance of agents reads this, and then refuses their writes.
    log_is_long: Arc<AtomicBool>,
    /// Why the log could not be copied at the last look; `None` if it could. It is kept so that the beginning and the end of
    /// the trouble are each logged once.
    trouble: Option<String>,
}

impl Copying {
    fn run(mut self) {
        let log_is_long = self.log_is_long.clone();
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            while self.shared.wait(self.limits.pause, self.trouble.is_some() || self.log_is_long.load(Ordering::SeqCst)) {
                self.look_and_copy();
            }
        }));
        if ended.is_err() {
            log_is_long.store(true, Ordering::SeqCst);
            tracing::error!(
                "the thread that copies the write-ahead log panicked; agents are refused until the server is restarted"
            );
        }
    }

    fn look_and_copy(&mut self) {
        let began = Instant::now();
        let copied = self.copy();
        let (result, trouble) = match copied {
            Ok(None) => return self.note(self.standing_trouble()),
            Ok(Some(Copied::HeldUp)) => {
                (Copied::HeldUp, Some("a reader or another program keeps the log from being copied".to_owned()))
            }
            Ok(Some(Copied::Behind)) => (Copied::Behind, Some("the disk is slower than the writes".to_owned())),
            Ok(Some(result)) => (result, None),
            Err(error) => (Copied::Failed, Some(format!("{error:#}"))),
        };
        self.observer.log_copied(result, began.elapsed());
        self.note(trouble);
    }

    /// The trouble of an earlier look, if a sync has failed. It stays, because this process does not try again.
    fn standing_trouble(&self) -> Option<String> {
        self.trouble.clone().filter(|_| self.shared.is_unsynced())
    }

    /// Copies the log if it is long enough; returns `None` if there is nothing to do.
    fn copy(&mut self) -> anyhow::Result<Option<Copied>> {
        let mut log = look(&mut self.conn, "NOOP")?;
        self.note_length(log.length());
        if log.length() < self.limits.begin || log.left() == 0 || self.shared.is_unsynced() {
            return Ok(None);
        }
        for _ in 0..PASSES_MAX {
            if let Some(why) = self.identity.lost().or_else(|| self.identity.second_name()) {
                anyhow::bail!(why);
            }
            let passed = look(&mut self.conn, "PASSIVE").inspect_err(|error| self.shared.note_failure(error))?;
            if let Err(error) = (self.sync)() {
                self.shared.is_unsynced.store(true, Ordering::SeqCst);
                return Err(error)
                    .context("the database file cannot be synced; restart the server, which then copies the log anew");
            }
            if !passed.is_whole() {
                return Ok(Some(Copied::HeldUp));
            }
            log = look(&mut self.conn, "NOOP")?;
            if log.left() <= self.limits.rest {
                self.shared.is_near.store(true, Ordering::SeqCst);
                return Ok(Some(Copied::Whole));
            }
        }
        // The writer writes as fast as this thread copies. So the writer copies the rest itself between two batches, unless the
        // rest is so long that a commit would wait too long for it.
        self.shared.is_near.store(log.left() < self.limits.begin, Ordering::SeqCst);
        Ok(Some(Copied::Behind))
    }

    fn note_length(&self, length: u32) {
        let is_long = length > self.limits.most;
        match (self.log_is_long.swap(is_long, Ordering::SeqCst), is_long) {
            (false, true) => tracing::error!(
                pages = length,
                "the write-ahead log has reached its bound, because it cannot be copied into the database: agents get 507, and no message leaves"
            ),
            (true, false) => tracing::info!("the write-ahead log is short again, and agents may write"),
            (true, true) | (false, false) => {}
        }
    }

    fn note(&mut self, trouble: Option<String>) {
        match (&self.trouble, &trouble) {
            (None, Some(why)) => {
                tracing::warn!(why, "the write-ahead log cannot be copied into the database, and grows until it can");
            }
            (Some(_), None) => tracing::info!("the write-ahead log is copied into the database again"),
            (Some(_), Some(_)) | (None, None) => {}
        }
        self.trouble = trouble;
    }
}

/// Runs `PRAGMA wal_checkpoint`: `NOOP` only looks, `PASSIVE` copies as much as readers and locks allow.
fn look(conn: &mut SqliteConnection, mode: &str) -> diesel::QueryResult<Log> {
    diesel::sql_query(format!("PRAGMA wal_checkpoint({mode})")).get_result::<Log>(conn)
}

#[cfg(test)]
mod tests {
    use super::*;

    // While the thread looks at the log, no write can begin the log anew. So the thread must pause between two looks; otherwise a
    // write might never find the moment to begin the log anew.
    const LIMITS: LogLimits = LogLimits { pause: Duration::from_millis(2), begin: 20, rest: 5, most: 60 };

    /// A database with a log, the thread that copies it, and the surroundings, which show whether the thread reported a long log.
    struct Tried {
        folder: tempfile::TempDir,
        conn: SqliteConnection,
        checkpointer: Checkpointer,
        surroundings: Surroundings,
        /// Whether syncs of the database file fail.
        fails: Arc<AtomicBool>,
    }

    impl Tried {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("placet.db");
            let url = path.to_str().unwrap();
            let mut conn = SqliteConnection::establish(url).unwrap();
            conn.batch_execute(
                "PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (x BLOB)",
            )
            .unwrap();
            let clock = Arc::new(crate::host::clock::SystemClock);
            let surroundings = Surroundings::alone(clock, Arc::new(crate::host::clock::SystemEntropy));
            let fails = Arc::new(AtomicBool::new(false));
            let failing = fails.clone();
            let sync: Sync =
                Arc::new(move || if failing.load(Ordering::SeqCst) { Err(std::io::Error::other("no")) } else { Ok(()) });
            let identity = Arc::new(Identity::of(&path).unwrap());
            let checkpointer = Checkpointer::start(url, identity, sync, LIMITS, &surroundings).unwrap();
            Self { folder, conn, checkpointer, surroundings, fails }
        }

        /// Writes a page or more, as the writer does.
        fn write(&mut self) {
            self.conn.batch_execute("INSERT INTO t VALUES (zeroblob(4000))").unwrap();
            self.checkpointer.committed(&mut self.conn);
        }

        fn log(&mut self) -> Log {
            look(&mut self.conn, "NOOP").unwrap()
        }

        /// Waits until the thread has made `is_so` true.
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
            // A thread that gets no processor time would fall behind, so each write waits until the thread has done its part.
            tried.until("the thread copies", |tried| {
                let log = tried.log();
                log.length() < LIMITS.begin || log.left() == 0 || tried.checkpointer.shared.is_near.load(Ordering::SeqCst)
            });
        }
        assert!(longest < LIMITS.most, "{longest} pages");
        tried.checkpointer.end();
        assert!(tried.folder.path().join("placet.db").metadata().unwrap().len() > 1_000_000, "the file has the rows");
    }

    /// A reader that stays, for example a long backup, holds the copying up but stops no write. The log then becomes longer
    /// than its bound, and the thread reports that, so that agents cannot fill the disk.
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
            tried.checkpointer.committed(&mut tried.conn);
            tried.log().left() == 0
        });
        // A write begins the log anew, unless the thread is copying at that moment.
        tried.until("the log begins anew", |tried| {
            tried.write();
            tried.log().length() < LIMITS.begin
        });
        // The thread looks again by itself: on a quiet server no further write may come for a long time.
        tried.until("the log is short again", |tried| !tried.surroundings.allowance.is_short_of_room());
        assert!(tried.log().length() < LIMITS.begin, "{:?}", tried.log());
        tried.checkpointer.end();
    }

    /// After a failed sync nothing is copied any more. The kernel may have dropped pages that SQLite counts as copied, so the
    /// log must keep them for the next start.
    #[test]
    fn after_a_failed_sync_nothing_is_copied_and_the_log_is_kept() {
        let mut tried = Tried::new();
        tried.fails.store(true, Ordering::SeqCst);
        while !tried.checkpointer.must_stay_open() {
            tried.write();
        }
        tried.fails.store(false, Ordering::SeqCst);
        let copied = tried.log().copied;
        for _ in 0..LIMITS.most + 10 {
            tried.write();
        }
        tried.until("a long log is told", |tried| tried.surroundings.allowance.is_short_of_room());
        assert_eq!(tried.log().copied, copied);
        tried.checkpointer.end();
    }

    /// The log of a file with two names is not copied: another server may use the file under its other name, with a log of its
    /// own.
    #[test]
    fn the_log_of_a_file_with_two_names_is_not_copied() {
        let mut tried = Tried::new();
        let path = tried.folder.path().join("placet.db");
        std::fs::hard_link(&path, tried.folder.path().join("other.db")).unwrap();
        for _ in 0..LIMITS.most + 10 {
            tried.write();
        }
        tried.until("a long log is told", |tried| tried.surroundings.allowance.is_short_of_room());
        assert_eq!(tried.log().copied, 0);
        tried.checkpointer.end();
    }
}
