//! SQLite, the embedded default: one thread writes, a pool of read-only connections reads.

mod checkpoint;
mod file;
mod identity;
mod inspect;
mod log_file;
mod mark;
mod migrate;
mod rows;
#[cfg(feature = "simulator")]
pub mod simulated;
mod statements;
mod writer;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use checksums::Scan;
use diesel::connection::SimpleConnection;
use diesel::r2d2::{ConnectionManager, CustomizeConnection, Pool};
use diesel::sql_types::Integer;
use diesel::sqlite::SqliteConnection;
use diesel::{Connection, QueryableByName, RunQueryDsl};
use domain::base::clock::Clock;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;

use self::checkpoint::Checkpointer;
pub use self::checkpoint::LogLimits;
pub use self::file::beside;
use self::file::create;
pub(crate) use self::file::{connect, lock, url_of};
use self::identity::Identity;
pub use self::identity::second_name;
pub(crate) use self::inspect::schema;
pub use self::inspect::{inspect, version};
pub use self::log_file::{FileWork, Sync};
pub(crate) use self::mark::moved_to;
pub use self::migrate::known_migrations;
use self::migrate::migrate;
use self::writer::{Writer, classify};
use crate::backend::Backend;
use crate::damage::Damaged;
use crate::host::clock_watch::ClockWatch;
use crate::hub::Hub;
use crate::rows::RowsResult;
use crate::scrub::{Leaves, PAGES_PER_STEP, Scrub, Scrubbed};
use crate::surroundings::{Env, Surroundings};
use crate::{StoreError, Unit};

/// Connections that read at the same time.
const READERS_MAX: u32 = 8;
/// Connections that read only two things: API keys, and whether deadlines are held back. They are separate, so that heavy reads
/// cannot keep every caller from being authenticated.
const READERS_APART_MAX: u32 = 2;
/// How long a read waits for a connection.
const READER_WAIT: Duration = Duration::from_secs(5);

/// The settings of the writing connection. A reply of 200 promises that its commit is synced in full; no setting relaxes that.
const PRAGMAS: &str = "PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON; \
                       PRAGMA cache_size = -16384; PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY; \
                       PRAGMA journal_size_limit = 67108864; PRAGMA wal_autocheckpoint = 1000;";
/// The further setting of the writing connection in a server, where another thread copies the log.
const COPIED_BESIDE: &str = "PRAGMA wal_autocheckpoint = 0;";
const READER_PRAGMAS: &str = "PRAGMA busy_timeout = 5000; PRAGMA cache_size = -8192; PRAGMA query_only = ON;";

/// Whether another process may serve the same file at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exclusive {
    /// This process serves: a second one is refused.
    Serve,
    /// A command that works beside a server: `keys`, `export`.
    Beside,
}

/// Connections to read from. Reads wait for one as tasks, not as threads.
#[derive(Clone)]
struct Readers {
    pool: Pool<ConnectionManager<SqliteConnection>>,
    places: Arc<Semaphore>,
    /// Keeps the file open for its syncs. It must be closed after the connections, which would otherwise lose their locks;
    /// fields are dropped in their order.
    _sync: Option<Sync>,
}

/// A store on one SQLite file.
pub struct SqliteStore {
    path: PathBuf,
    writer: Writer,
    readers: Readers,
    readers_apart: Readers,
    clock: Arc<dyn Clock>,
    watch: Arc<ClockWatch>,
    hub: Arc<Hub>,
    // Held until the store is closed. The system drops the lock with the process, so a SIGKILL leaves none behind.
    lock: Mutex<Option<File>>,
}

impl SqliteStore {
    /// Opens the file, creating it, its folder and its tables where they are missing.
    ///
    /// # Errors
    ///
    /// A file that cannot be opened or written, that another server serves, or that a newer version of this program wrote.
    pub fn open(path: &Path, exclusive: Exclusive, surroundings: Surroundings) -> anyhow::Result<Self> {
        Self::open_on(path, exclusive, surroundings, FileWork::HOST, LogLimits::DEFAULT)
    }

    /// Does what [`SqliteStore::open`] does, with `files` for the work on files: the tests have a disk of their own under SQLite.
    pub fn open_on(
        path: &Path,
        exclusive: Exclusive,
        surroundings: Surroundings,
        files: FileWork,
        limits: LogLimits,
    ) -> anyhow::Result<Self> {
        let unusable = || {
            format!(
                "failed to use the database {}; is PLACET_DATABASE_URL right, may you write there, and is there room?",
                path.display()
            )
        };
        create(path).with_context(unusable)?;
        // The canonical path is used, so that no second server can serve the same file through a link, and so that SQLite
        // reads nothing in the name as its own syntax.
        let path = &path.canonicalize().with_context(unusable)?;
        if let Some(why) = second_name(path) {
            anyhow::bail!(why);
        }
        let lock = match exclusive {
            Exclusive::Serve => Some(lock(path)?),
            Exclusive::Beside => None,
        };
        let url = &url_of(path)?;
        let lacks_checksums = exclusive == Exclusive::Serve && lacks_checksums(path).with_context(unusable)?;
        let mut conn = connect(url).with_context(unusable)?;
        conn.batch_execute(PRAGMAS).with_context(unusable)?;
        let mut conn = log_file::make_durable(conn, path, files.rewrite).with_context(unusable)?;
        if let Some(moved_to) = moved_to(&mut conn).with_context(unusable)? {
            anyhow::bail!("the data of {} was moved to {moved_to}; set PLACET_DATABASE_URL to that", path.display());
        }
        migrate(&mut conn)
            .with_context(|| format!("failed to make the tables of {}; is there room on the disk?", path.display()))?;
        if lacks_checksums {
            add_checksums(&mut conn, path);
        }
        empty_log(&mut conn, exclusive)
            .with_context(|| format!("failed to write to {}; is there room on the disk?", path.display()))?;
        let (clock, hub) = (surroundings.clock.clone(), surroundings.hub.clone());
        let watch = Arc::new(ClockWatch::new(clock.clone()));
        let identity = Arc::new(Identity::of(path)?);
        let (sync, checkpointer) = match exclusive {
            Exclusive::Serve => {
                conn.batch_execute(COPIED_BESIDE)?;
                let sync = (files.open_sync)(path).with_context(unusable)?;
                let checkpointer = Checkpointer::start(url, identity.clone(), sync.clone(), limits, &surroundings)?;
                (Some(sync), Some(checkpointer))
            }
            Exclusive::Beside => (None, None),
        };
        let readers = readers(url, READERS_MAX, sync.clone())?;
        let readers_apart = self::readers(url, READERS_APART_MAX, sync)?;
        let writer = Writer::start(conn, identity, checkpointer, surroundings, watch.clone())?;
        Ok(Self { path: path.clone(), writer, readers, readers_apart, clock, watch, hub, lock: Mutex::new(lock) })
    }
}

/// Compares the next pages of the file with their checksums, on a blocking thread.
async fn scrubbed(path: PathBuf, from: u32) -> Result<Scrubbed, StoreError> {
    let read = move || {
        let seen = Scan::open(&path).and_then(|scan| scan.pages(from, PAGES_PER_STEP));
        seen.map_err(|error| StoreError::Unavailable(format!("{} cannot be read: {error}", path.display())))
    };
    let seen = tokio::task::spawn_blocking(read).await.unwrap_or_else(|error| Err(StoreError::Failed(anyhow::anyhow!(error))))?;
    let damaged = |page: u32| Damaged::Database(format!("page {page} does not give its checksum")).noted();
    Ok(Scrubbed {
        next: seen.next.map(Scrub::Pages),
        events: 0,
        pages: seen.checked.into(),
        bare_pages: seen.bare.into(),
        damaged: seen.damaged.into_iter().map(damaged).collect(),
    })
}

impl Backend for SqliteStore {
    type Reads = SqliteConnection;
    type Rows<'a> = rows::Writing<'a>;

    fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    fn watch(&self) -> &Arc<ClockWatch> {
        &self.watch
    }

    fn announcements(&self) -> &Hub {
        &self.hub
    }

    fn prove(&self) -> Unit<'_, ()> {
        async move { self.writer.probe().await }.boxed()
    }

    fn finish(&self) -> BoxFuture<'_, ()> {
        async move {
            self.writer.stop().await;
            drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner).take());
        }
        .boxed()
    }

    fn finished(&self) -> BoxFuture<'_, ()> {
        self.writer.closed().boxed()
    }

    fn write<T: Send + 'static>(
        &self,
        _: &'static str,
        work: impl Fn(&mut rows::Writing<'_>, &Env<'_>) -> RowsResult<T> + Send + 'static,
    ) -> Unit<'_, T> {
        async move { self.writer.submit(work).await }.boxed()
    }

    fn read<T: Send + 'static>(
        &self,
        _: &'static str,
        work: impl FnOnce(&mut SqliteConnection) -> RowsResult<T> + Send + 'static,
    ) -> Unit<'_, T> {
        read_from(&self.readers, work)
    }

    fn scrub_pages(&self, from: u32) -> Unit<'_, Scrubbed> {
        async move {
            let mut scrubbed = scrubbed(self.path.clone(), from).await?;
            if scrubbed.next.is_none() {
                scrubbed.next = Some(Scrub::Leaves(self.read("scrub", Leaves::begin).await?));
            }
            Ok(scrubbed)
        }
        .boxed()
    }

    fn read_apart<T: Send + 'static>(
        &self,
        _: &'static str,
        work: impl FnOnce(&mut SqliteConnection) -> RowsResult<T> + Send + 'static,
    ) -> Unit<'_, T> {
        read_from(&self.readers_apart, work)
    }
}

/// Runs a read on a blocking thread, so that a slow disk never holds up the event loop.
fn read_from<T: Send + 'static>(
    readers: &Readers,
    work: impl FnOnce(&mut SqliteConnection) -> RowsResult<T> + Send + 'static,
) -> Unit<'static, T> {
    let readers = readers.clone();
    async move {
        let place = tokio::time::timeout(READER_WAIT, readers.places.clone().acquire_owned()).await;
        let Ok(Ok(place)) = place else { return Err(StoreError::Unavailable("too many reads are waiting".into())) };
        let job = move || {
            let _place = place;
            let mut conn = readers.pool.get().map_err(|error| StoreError::Unavailable(error.to_string()))?;
            in_one_snapshot(&mut conn, work).map_err(|error| classify(&error))
        };
        let joined = tokio::task::spawn_blocking(job).await;
        joined.unwrap_or_else(|error| Err(StoreError::Failed(anyhow::anyhow!(error))))
    }
    .boxed()
}

fn readers(url: &str, connections_max: u32, sync: Option<Sync>) -> anyhow::Result<Readers> {
    let pool = Pool::builder()
        .max_size(connections_max)
        .min_idle(Some(1))
        .connection_timeout(READER_WAIT)
        // A file does not go away like a network peer: testing it before every read would cost more than the read.
        .test_on_check_out(false)
        .connection_customizer(Box::new(ReadOnly))
        .build(ConnectionManager::new(url))
        .context("failed to open the database for reading")?;
    Ok(Readers { pool, places: Arc::new(Semaphore::new(connections_max as usize)), _sync: sync })
}

/// Gives all statements of one read the same snapshot.
///
/// If the disk fails, SQLite ends the transaction by itself, and diesel's later attempt to end it fails. The error of the read
/// names the cause, and the error of diesel's attempt does not, so the error of the read is returned.
fn in_one_snapshot<T>(conn: &mut SqliteConnection, work: impl FnOnce(&mut SqliteConnection) -> RowsResult<T>) -> RowsResult<T> {
    let mut failed = None;
    let done = conn.transaction(|conn| {
        work(conn).map_err(|error| {
            failed = Some(error);
            diesel::result::Error::RollbackTransaction
        })
    });
    done.map_err(|error| failed.unwrap_or_else(|| error.into()))
}

#[derive(Debug)]
struct ReadOnly;

impl CustomizeConnection<SqliteConnection, diesel::r2d2::Error> for ReadOnly {
    fn on_acquire(&self, conn: &mut SqliteConnection) -> Result<(), diesel::r2d2::Error> {
        conn.batch_execute(READER_PRAGMAS).map_err(diesel::r2d2::Error::QueryError)
    }
}

/// Whether the file has pages, and they have no checksums: an older version wrote it, or another program copied it.
fn lacks_checksums(path: &Path) -> std::io::Result<bool> {
    Ok(path.metadata()?.len() > 0 && !checksums::is_protected(path)?)
}

/// Writes the whole database anew, so that each page has a checksum. Without room for that on the disk, the server starts all the same.
fn add_checksums(conn: &mut SqliteConnection, path: &Path) {
    tracing::info!(database = %path.display(), "the database is written anew, so that each of its pages has a checksum");
    // The copy may be larger than the memory.
    let done = conn.batch_execute("PRAGMA temp_store = FILE; VACUUM; PRAGMA temp_store = MEMORY;");
    if let Err(error) = done {
        tracing::warn!(error = %error, "the database was not written anew; until it is, a damaged page of it may not be noticed");
    }
}

/// Copies the contents of the write-ahead log into the database file, before anything is appended to the log (ADR 20).
///
/// The next start then has little to write anew, and a copy of the database file made now is complete.
fn empty_log(conn: &mut SqliteConnection, exclusive: Exclusive) -> anyhow::Result<()> {
    #[derive(QueryableByName)]
    struct Checkpoint {
        #[diesel(sql_type = Integer)]
        busy: i32,
    }
    let mode = match exclusive {
        Exclusive::Serve => "TRUNCATE",
        // The log belongs to the server, if one runs. So this command copies only what it can copy without waiting.
        Exclusive::Beside => "PASSIVE",
    };
    let checkpoint = diesel::sql_query(format!("PRAGMA wal_checkpoint({mode})")).get_result::<Checkpoint>(conn)?;
    if exclusive == Exclusive::Serve && checkpoint.busy != 0 {
        tracing::warn!("another program keeps reading the database; its write-ahead log is not emptied before it has finished");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta, Utc};
    use diesel_migrations::MigrationHarness;
    use domain::base::ids::{Entropy, IntentId};
    use domain::base::name::Owner;
    use domain::intent::body::IntentBody;
    use domain::intent::status::Status;
    use domain::people::principal::{Assurance, Principal, Role};
    use serde_json::{Map, Value};

    use super::*;
    use crate::host::clock::{SystemClock, SystemEntropy};
    use crate::{CreateIntent, NewIntent, Store};

    /// SQLite is compiled with the flags that `.cargo/config.toml` sets. Without the first one, SQLite would plan a statement with a
    /// bound `LIMIT` anew whenever another value is bound. Without the others, connections would wait for each other's locks.
    #[test]
    fn sqlite_is_compiled_with_our_flags() {
        let mut conn = SqliteConnection::establish(":memory:").unwrap();
        let flags = [
            ("ENABLE_QPSG", true),
            ("THREADSAFE=2", true),
            ("THREADSAFE=1", false),
            ("ENABLE_MEMORY_MANAGEMENT", false),
            ("DEFAULT_MEMSTATUS=0", true),
        ];
        for (flag, expected) in flags {
            let used = diesel::dsl::sql::<diesel::sql_types::Bool>(&format!("sqlite_compileoption_used('{flag}')"));
            assert_eq!(diesel::select(used).get_result::<bool>(&mut conn).unwrap(), expected, "{flag}");
        }
    }

    /// A clock that shows so many seconds after the epoch.
    struct Seconds(std::sync::atomic::AtomicI64);

    impl Clock for Seconds {
        fn now(&self) -> DateTime<Utc> {
            DateTime::UNIX_EPOCH + TimeDelta::seconds(self.0.load(std::sync::atomic::Ordering::SeqCst))
        }
    }

    /// An intent created by an agent.
    fn intent() -> CreateIntent {
        let text = || "a".to_owned();
        let principal = Principal {
            credential: None,
            name: text(),
            subject: text(),
            owner: Owner(text()),
            role: Role::Agent,
            tied_to: None,
            client: None,
            assurance: Assurance::ApiKey,
        };
        let body = IntentBody {
            title: text(),
            description: text(),
            created_by: text(),
            parent_intent_id: None,
            depends_on: Vec::new(),
            constraints: Value::Null,
            state: Map::new(),
            governance_policy: None,
            confidence: 0.0,
        };
        let id = IntentId(SystemEntropy.uuid(DateTime::UNIX_EPOCH));
        CreateIntent { principal, idempotency: None, below: None, intent: Ok(NewIntent { id, status: Status::Active, body }) }
    }

    /// A database that an older version wrote, or a backup of it, holds no sign of life. Then the time since its newest event
    /// counts as the server's absence.
    #[tokio::test]
    async fn without_a_sign_of_life_the_newest_event_is_the_last_one() {
        for (seconds, is_absence) in [(60, false), (61, true)] {
            let folder = tempfile::tempdir().unwrap();
            let clock = Arc::new(Seconds(0.into()));
            let path = folder.path().join("placet.db");
            let store =
                SqliteStore::open(&path, Exclusive::Serve, Surroundings::alone(clock.clone(), Arc::new(SystemEntropy))).unwrap();
            store.create(intent()).await.unwrap();
            clock.0.store(seconds, std::sync::atomic::Ordering::SeqCst);
            assert_eq!(store.recover().await.unwrap().done, !is_absence, "{seconds}");
            assert_eq!(store.hold().await.unwrap().is_some(), is_absence, "{seconds}");
        }
    }

    fn open(path: &Path) -> anyhow::Result<SqliteStore> {
        SqliteStore::open(path, Exclusive::Beside, Surroundings::alone(Arc::new(SystemClock), Arc::new(SystemEntropy)))
    }

    /// A database that a newer version wrote is refused and left as it is. The older program does not know what the newer one
    /// promises, so it must not touch the data.
    #[test]
    fn a_database_of_a_newer_version_is_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("placet.db");
        open(&path).unwrap();
        open(&path).unwrap(); // A program opens a database of its own version again.
        let mut conn = SqliteConnection::establish(path.to_str().unwrap()).unwrap();
        // The stores above may still be closing their connections.
        conn.batch_execute("PRAGMA busy_timeout = 5000").unwrap();
        conn.batch_execute("INSERT INTO __diesel_schema_migrations (version) VALUES ('99991231000000')").unwrap();
        let before = conn.applied_migrations().unwrap().len();
        let refused = format!("{:#}", open(&path).err().unwrap());
        assert!(refused.contains("written by a newer placet (migration 99991231000000)"), "{refused}");
        assert!(refused.contains("use that version or restore a backup"), "{refused}");
        assert_eq!(conn.applied_migrations().unwrap().len(), before);
        conn.batch_execute("DELETE FROM __diesel_schema_migrations WHERE version = '99991231000000'").unwrap();
        open(&path).unwrap();
    }
}
