//! Owns the only connection that writes, and turns queued jobs into group commits.
//!
//! There is no batching timer. An idle server commits each job at once. On a busy server, jobs that queued behind the previous
//! batch, and jobs that arrive while those are decided, share one fsync; so latency and throughput need no tuning.
//!
//! Guarantee: a caller hears "yes" only after the disk has the commit, and a job that fails does not affect its neighbours.
//! Mechanism: jobs decide on rows read inside the transaction, before their first write, so a refusal has nothing to undo and
//! needs no savepoint; the one job that writes an intent before it asks sets a savepoint. Failure: when a statement fails after a
//! write, the whole batch is rolled back and its jobs are applied again, one per transaction; jobs are pure functions of the rows,
//! so replay is safe. A panic ends this thread on purpose: from then on every write is refused, and the process stops (`closed`).
//! While a file has lost its name, or the database has a second name, every write is refused as well.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Instant;

use diesel::connection::SimpleConnection;
use diesel::sqlite::SqliteConnection;
use tokio::sync::{oneshot, watch};

use super::checkpoint::Checkpointer;
use super::identity::Identity;
use super::rows::{RowIds, Writing};
use crate::StoreError;
use crate::damage::Damaged;
use crate::host::clock_watch::ClockWatch;
use crate::host::kill_points::{self, Point};
use crate::hub::Notice;
use crate::observer::Observer;
use crate::rows::{RowsError, RowsResult};
use crate::surroundings::{Env, Surroundings};

/// How many jobs share one commit.
const BATCH_MAX: usize = 256;
/// How many jobs may wait; further ones are refused at once rather than answered late.
const QUEUE_MAX: usize = 4_096;

/// The sender of jobs to the writer thread.
#[derive(Clone)]
pub(super) struct Writer {
    jobs: SyncSender<Box<dyn Job>>,
    closed: watch::Receiver<bool>,
    observer: Arc<dyn Observer>,
    doubts: Arc<Doubts>,
}

/// Whether a write has failed since a write was last proved to reach the disk.
#[derive(Default)]
struct Doubts {
    /// Writes that failed.
    failed: AtomicU64,
    /// How many of the failed writes came before the last proof that a page reaches the disk.
    disproved: AtomicU64,
}

impl Doubts {
    fn add(&self) {
        self.failed.fetch_add(1, Ordering::SeqCst);
    }

    /// How many writes have failed so far; `None` if none has failed since the last proof. A proof that begins now shows that
    /// these failures have passed. It says nothing about a write that fails while the proof is under way.
    fn standing(&self) -> Option<u64> {
        let failed = self.failed.load(Ordering::SeqCst);
        (failed > self.disproved.load(Ordering::SeqCst)).then_some(failed)
    }

    fn disprove(&self, failed: u64) {
        self.disproved.fetch_max(failed, Ordering::SeqCst);
    }
}

/// One unit of work and the place its result goes to.
trait Job: Send {
    /// Runs the job; may be called again after a rollback.
    fn run(&mut self, rows: &mut Writing<'_>, env: &Env<'_>) -> RowsResult<()>;
    /// Answers, after the commit.
    fn answer(self: Box<Self>);
    /// Answers that the job failed: it left nothing behind, or its writes are not known to last.
    fn fail(self: Box<Self>, error: StoreError);
    /// Whether the writer ends after this job.
    fn is_last(&self) -> bool {
        false
    }
}

/// The job after which the writer ends.
struct Last(oneshot::Sender<()>);

impl Job for Last {
    fn run(&mut self, _: &mut Writing<'_>, _: &Env<'_>) -> RowsResult<()> {
        Ok(())
    }

    fn answer(self: Box<Self>) {
        // The caller of `stop` may be gone; the writer ends all the same.
        self.0.send(()).unwrap_or_default();
    }

    fn fail(self: Box<Self>, _: StoreError) {
        self.answer();
    }

    fn is_last(&self) -> bool {
        true
    }
}

struct Task<T, W> {
    work: W,
    result: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T: Send, W: Fn(&mut Writing<'_>, &Env<'_>) -> RowsResult<T> + Send> Job for Task<T, W> {
    fn run(&mut self, rows: &mut Writing<'_>, env: &Env<'_>) -> RowsResult<()> {
        self.result = Some(match (self.work)(rows, env) {
            // A job that is held back, because nothing may be decided by the clock at present, has written nothing. So nothing
            // has to be undone, and the batch goes on with its other jobs.
            Err(RowsError::Held(why)) => Err(StoreError::Held(why)),
            done => Ok(done?),
        });
        Ok(())
    }

    fn answer(self: Box<Self>) {
        let Self { result, reply, .. } = *self;
        let result = result.unwrap_or_else(|| Err(StoreError::Unavailable("the job did not run".into())));
        // If the caller has gone away, it does not hear of the write, but the write stays.
        drop(reply.send(result));
    }

    fn fail(self: Box<Self>, error: StoreError) {
        drop(self.reply.send(Err(error)));
    }
}

impl Writer {
    /// Starts the writer thread on `conn`, which has the files of `identity` open.
    pub(super) fn start(
        mut conn: SqliteConnection,
        identity: Arc<Identity>,
        mut checkpointer: Option<Checkpointer>,
        surroundings: Surroundings,
        watch: Arc<ClockWatch>,
    ) -> anyhow::Result<Self> {
        let ids = RowIds::load(&mut conn)?;
        let (jobs, queue) = sync_channel(QUEUE_MAX);
        let (open, closed) = watch::channel(false);
        let observer = surroundings.observer.clone();
        std::thread::Builder::new().name("store-writer".into()).spawn(move || {
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                run(&mut conn, ids, &queue, &identity, checkpointer.as_ref(), &surroundings, &watch);
                if let Some(checkpointer) = &mut checkpointer {
                    checkpointer.end();
                }
                // A database that was moved to another name may be served under that name, with a log of its own. If this log
                // were copied into the database, it would overwrite the writes of that server.
                if identity.is_astray() || checkpointer.as_ref().is_some_and(Checkpointer::must_stay_open) {
                    return;
                }
                // After the checkpoint the database file has every commit, so a copy of the file of a stopped
                // server is complete.
                if let Err(error) = conn.batch_execute("PRAGMA wal_checkpoint(TRUNCATE)") {
                    tracing::warn!(error = %error, "the write-ahead log was not emptied; the next start reads it");
                    // If the disk failed, the kernel may have dropped pages of this copy. SQLite would copy the log once more
                    // when the connection closes, so the connection then stays open.
                    if let Some(checkpointer) = &checkpointer {
                        checkpointer.note_failure(&error);
                    }
                }
            }));
            if ended.is_err() {
                tracing::error!("the store's writer panicked; the server cannot write any more and stops");
            }
            let must_stay_open = checkpointer.as_ref().is_some_and(Checkpointer::must_stay_open);
            drop(checkpointer);
            if must_stay_open {
                std::mem::forget(conn);
            } else {
                drop(conn);
            }
            open.send_replace(true);
        })?;
        Ok(Self { jobs, closed, observer, doubts: Arc::default() })
    }

    /// Queues one unit of work and waits until it is durable.
    pub(super) async fn submit<T: Send + 'static>(
        &self,
        work: impl Fn(&mut Writing<'_>, &Env<'_>) -> RowsResult<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let task = Task { work, result: None, reply };
        // The job is counted before it is sent; otherwise the writer could take it from the queue before
        // it was counted as queued.
        self.observer.queued();
        self.jobs.try_send(Box::new(task)).map_err(|refused| {
            self.observer.unqueued();
            match refused {
                TrySendError::Full(_) => {
                    self.observer.refused();
                    StoreError::Unavailable("too many writes are waiting".into())
                }
                TrySendError::Disconnected(_) => StoreError::Unavailable("the writer has stopped".into()),
            }
        })?;
        let answer =
            answer.await.unwrap_or_else(|_| Err(StoreError::Unavailable("the writer stopped before it answered".into())));
        if matches!(answer, Err(StoreError::Unavailable(_))) {
            self.doubts.add();
        }
        answer
    }

    /// Proves that a write can be committed.
    ///
    /// BEGIN IMMEDIATE and COMMIT prove that the lock is free and the writer runs, and cost almost nothing. But they write nothing,
    /// so they succeed even on a full disk. After a write that failed, each probe therefore also writes a page, until one succeeds.
    pub(super) async fn probe(&self) -> Result<(), StoreError> {
        let doubted = self.doubts.standing();
        let page = move |rows: &mut Writing<'_>, _: &Env<'_>| {
            if doubted.is_some() {
                // `user_version` is a number in the file's header that nothing reads; setting it writes the first
                // page, whatever its value was.
                rows.conn.batch_execute("PRAGMA user_version = 0")?;
            }
            Ok(())
        };
        self.submit(page).await?;
        if let Some(failed) = doubted {
            self.doubts.disprove(failed);
        }
        Ok(())
    }

    /// Ends the writer after the queued jobs, with an empty write-ahead log; later jobs are refused.
    pub(super) async fn stop(&self) {
        let (reply, ended) = oneshot::channel();
        let last: Box<dyn Job> = Box::new(Last(reply));
        // If the queue is full, sending waits until the writer has taken a job. If the writer is gone, no last job is needed.
        let jobs = self.jobs.clone();
        self.observer.queued();
        let sent = tokio::task::spawn_blocking(move || jobs.send(last)).await;
        if matches!(sent, Ok(Ok(()))) {
            drop(ended.await);
        }
        self.closed().await;
    }

    /// Resolves when the writer thread has ended: by panic, by `stop`, or because the store was dropped.
    pub(super) async fn closed(&self) {
        let mut closed = self.closed.clone();
        // An error also means that the thread is gone.
        drop(closed.wait_for(|closed| *closed).await);
    }
}

fn run(
    conn: &mut SqliteConnection,
    mut ids: RowIds,
    queue: &Receiver<Box<dyn Job>>,
    identity: &Identity,
    checkpointer: Option<&Checkpointer>,
    surroundings: &Surroundings,
    watch: &ClockWatch,
) {
    let env = surroundings.env(&*surroundings.clock, watch);
    while let Ok(first) = queue.recv() {
        surroundings.observer.unqueued();
        let mut batch = vec![first];
        let more = || {
            let job = queue.try_recv().ok()?;
            surroundings.observer.unqueued();
            Some(job)
        };
        let mut commit = |batch: &mut Vec<_>, more: &dyn Fn() -> Option<Box<dyn Job>>| {
            commit(conn, &mut ids, &env, batch, more, &*surroundings.observer)
        };
        let obstacle = identity.lost().or_else(|| identity.second_name());
        let done = obstacle.map_or_else(|| Ok(commit(&mut batch, &more)), Err);
        let last = batch.iter().any(|job| job.is_last());
        let is_served = done.is_ok();
        match done {
            Err(why) => refuse_all(batch, &why),
            // One of the jobs failed. Giving each a transaction of its own finds out which.
            Ok(Err(_)) if batch.len() > 1 => {
                for job in batch {
                    let mut alone = vec![job];
                    let done = commit(&mut alone, &|| None);
                    answer_all(alone, done, identity, surroundings);
                }
            }
            Ok(done) => answer_all(batch, done, identity, surroundings),
        }
        // If a file has lost its name, or the database has a second name, the log must not be copied into the database.
        if let Some(checkpointer) = checkpointer.filter(|_| is_served) {
            checkpointer.committed(conn);
        }
        if last {
            return;
        }
    }
}

/// Answers a batch after its commit. If a file has lost its name meanwhile, the jobs are refused: the commit may be gone when the
/// file is closed.
fn answer_all(batch: Vec<Box<dyn Job>>, done: RowsResult<Vec<Notice>>, identity: &Identity, surroundings: &Surroundings) {
    match (done, identity.lost()) {
        (Ok(_), Some(why)) => refuse_all(batch, &why),
        (Ok(notices), None) => {
            surroundings.announce(&notices);
            batch.into_iter().for_each(Job::answer);
        }
        (Err(error), _) => fail_all(batch, &error),
    }
}

fn refuse_all(batch: Vec<Box<dyn Job>>, why: &str) {
    for job in batch {
        job.fail(StoreError::Unavailable(why.to_owned()));
    }
}

/// Runs the jobs, and those that `more` returns meanwhile, in one transaction; commits it, or leaves nothing behind.
fn commit(
    conn: &mut SqliteConnection,
    ids: &mut RowIds,
    env: &Env<'_>,
    batch: &mut Vec<Box<dyn Job>>,
    more: &dyn Fn() -> Option<Box<dyn Job>>,
    observer: &dyn Observer,
) -> RowsResult<Vec<Notice>> {
    let before = *ids;
    let mut notices = Vec::new();
    let done = attempt(conn, ids, env, batch, more, &mut notices, observer);
    if done.is_err() {
        *ids = before;
        // SQLite may have rolled back by itself (a full disk). ROLLBACK then fails, which is fine.
        if let Err(error) = conn.batch_execute("ROLLBACK") {
            tracing::debug!(error = %error, "nothing to roll back");
        }
    }
    done.map(|()| notices)
}

fn attempt(
    conn: &mut SqliteConnection,
    ids: &mut RowIds,
    env: &Env<'_>,
    batch: &mut Vec<Box<dyn Job>>,
    more: &dyn Fn() -> Option<Box<dyn Job>>,
    notices: &mut Vec<Notice>,
    observer: &dyn Observer,
) -> RowsResult<()> {
    let began = Instant::now();
    conn.batch_execute("BEGIN IMMEDIATE")?;
    let mut number = 0;
    while let Some(job) = batch.get_mut(number) {
        if number > 0 && !notices.is_empty() {
            kill_points::reached(Point::WithinBatch);
        }
        job.run(&mut Writing { conn: &mut *conn, ids: &mut *ids, notices: &mut *notices }, env)?;
        number += 1;
        // Jobs that arrive while a batch is being decided join the same commit: its sync is the most expensive part.
        if number == batch.len() && number < BATCH_MAX {
            batch.extend(more());
        }
    }
    let decided = Instant::now();
    // The kill points (at which a test may kill the process) are reached only by batches that announce something, because other
    // commits have nothing to lose.
    let announces = !notices.is_empty();
    if announces {
        kill_points::reached(Point::BeforeCommit);
    }
    conn.batch_execute("COMMIT")?;
    if announces {
        kill_points::reached(Point::AfterCommit);
    }
    observer.commit(decided.elapsed());
    observer.batch(batch.len(), began.elapsed());
    Ok(())
}

fn fail_all(batch: Vec<Box<dyn Job>>, error: &RowsError) {
    // The caller of the write logs the failure, once, and says what the write was for.
    for job in batch {
        job.fail(classify(error));
    }
}

/// Tells failures that may pass from those that do not. A busy, full or broken disk is the operator's to mend, and trying again
/// may help; a row that breaks a rule of the schema is a bug, and trying again does not help.
pub(super) fn classify(error: &RowsError) -> StoreError {
    use diesel::result::{DatabaseErrorKind as Kind, Error};
    match error {
        RowsError::Damaged(damaged) => StoreError::Damaged((**damaged).clone()),
        RowsError::Database(Error::DatabaseError(_, said)) if let Some(damaged) = Damaged::said(said.message()) => {
            StoreError::Damaged(damaged)
        }
        RowsError::Database(
            Error::DatabaseError(
                Kind::UniqueViolation | Kind::ForeignKeyViolation | Kind::NotNullViolation | Kind::CheckViolation,
                _,
            )
            | Error::NotFound
            | Error::DeserializationError(_)
            | Error::SerializationError(_)
            | Error::QueryBuilderError(_),
        )
        | RowsError::Inconsistent(_)
        | RowsError::Json(_) => StoreError::Failed(anyhow::anyhow!("{error}: {}", cause(error))),
        RowsError::Database(error) => StoreError::Unavailable(in_words(&error.to_string())),
        RowsError::Held(why) => StoreError::Held(why),
        RowsError::Refused(rejection) => StoreError::Rejected((**rejection).clone()),
    }
}

/// SQLite's error about a disk that takes no writes, with advice. Diesel passes on only SQLite's text.
fn in_words(said: &str) -> String {
    match said {
        "database or disk is full" => {
            format!("{said}: make room; all earlier writes are kept, and the server writes again by itself once there is room")
        }
        "disk I/O error" => format!(
            "{said}: check the disk and its limits; all earlier writes are kept, and the server writes again by itself once the \
             disk works"
        ),
        "attempt to write a readonly database" => format!("{said}: let the database belong to the user the server runs as"),
        other => other.to_owned(),
    }
}

/// One error may answer several jobs, so its source is passed on as text.
fn cause(error: &RowsError) -> String {
    std::error::Error::source(error).map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::fact::Fact;
    use crate::host::clock::{SystemClock, SystemEntropy};
    use crate::rows::{Rows, Table};
    use diesel::RunQueryDsl;
    use diesel::connection::Connection;

    /// Counts the calls of the writer.
    #[derive(Default)]
    struct Counted {
        asked: AtomicU64,
        batches: AtomicU64,
        refused: AtomicU64,
    }

    impl Observer for Counted {
        fn fact(&self, fact: &Fact) {
            assert_eq!(*fact, Fact::Asked);
            self.asked.fetch_add(1, Ordering::SeqCst);
        }

        fn batch(&self, _: usize, _: std::time::Duration) {
            self.batches.fetch_add(1, Ordering::SeqCst);
        }

        fn refused(&self) {
            self.refused.fetch_add(1, Ordering::SeqCst);
        }
    }

    impl Counted {
        /// Questions asked, batches committed, jobs refused.
        fn counts(&self) -> [u64; 3] {
            [&self.asked, &self.batches, &self.refused].map(|count| count.load(Ordering::SeqCst))
        }
    }

    /// A writer on a table `t (n UNIQUE)`.
    fn writer(folder: &tempfile::TempDir) -> Writer {
        measured(folder).0
    }

    fn measured(folder: &tempfile::TempDir) -> (Writer, Arc<Counted>) {
        let path = folder.path().join("w.db");
        crate::sqlite::file::create(&path).unwrap();
        let mut conn = SqliteConnection::establish(path.to_str().unwrap()).unwrap();
        conn.batch_execute("PRAGMA journal_mode = WAL").unwrap();
        crate::sqlite::migrate::migrate(&mut conn).unwrap();
        conn.batch_execute("CREATE TABLE t (n INTEGER UNIQUE)").unwrap();
        let (clock, counted) = (Arc::new(SystemClock), Arc::new(Counted::default()));
        let surroundings = Surroundings::alone(clock.clone(), Arc::new(SystemEntropy));
        let surroundings = Surroundings { observer: counted.clone(), ..surroundings };
        (
            Writer::start(conn, Arc::new(Identity::of(&path).unwrap()), None, surroundings, Arc::new(ClockWatch::new(clock)))
                .unwrap(),
            counted,
        )
    }

    fn insert(n: i64) -> impl Fn(&mut Writing<'_>, &Env<'_>) -> RowsResult<i64> + Send + 'static {
        move |rows, _| {
            let rid = rows.next(Table::Outbox)?;
            rows.notice(Notice::Fact(Fact::Asked));
            diesel::sql_query(format!("INSERT INTO t VALUES ({n})")).execute(rows.conn)?;
            Ok(rid)
        }
    }

    async fn count(writer: &Writer) -> i64 {
        let count = |rows: &mut Writing<'_>, _: &Env<'_>| {
            #[derive(diesel::QueryableByName)]
            struct Count {
                #[diesel(sql_type = diesel::sql_types::BigInt)]
                n: i64,
            }
            Ok(diesel::sql_query("SELECT count(*) AS n FROM t").get_result::<Count>(rows.conn)?.n)
        };
        writer.submit(count).await.unwrap()
    }

    /// Blocks the writer, queues `jobs` behind it, and releases the writer: the jobs share a batch.
    async fn batch(writer: &Writer, jobs: &[i64]) -> Vec<Result<i64, StoreError>> {
        let (held, is_held) = mpsc::sync_channel(1);
        let (go, let_go) = mpsc::sync_channel::<()>(1);
        let let_go = std::sync::Mutex::new(let_go);
        let holder = writer.clone();
        let blocked = crate::host::task::spawn_named("hold", async move {
            let job = move |_: &mut Writing<'_>, _: &Env<'_>| {
                held.try_send(()).ok();
                let_go.lock().unwrap().recv().ok();
                Ok(())
            };
            holder.submit(job).await.unwrap();
        });
        tokio::task::spawn_blocking(move || is_held.recv().unwrap()).await.unwrap();
        let jobs = jobs.iter().map(|n| writer.submit(insert(*n)));
        // The first poll queues every job; only then is the writer released.
        let (results, ()) = futures_util::join!(futures_util::future::join_all(jobs), async { drop(go) });
        blocked.await.unwrap();
        results
    }

    /// A job that the store holds back, for example after a jump of the clock, is no failure: its neighbours in the batch are not
    /// run again, and no write is doubted.
    #[tokio::test]
    async fn what_is_held_costs_its_neighbours_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (writer, counted) = measured(&folder);
        let held = writer.submit(|_, _| -> RowsResult<()> { Err(RowsError::Held("the clock jumped")) }).await;
        assert!(matches!(held, Err(StoreError::Held("the clock jumped"))));
        assert_eq!(counted.counts(), [0, 1, 0], "its batch was committed");
        assert_eq!(writer.doubts.standing(), None);
    }

    /// A proof that a write reaches the disk says nothing about a write that fails while the proof is under way: that failure
    /// stays in doubt.
    #[test]
    fn a_proof_says_nothing_of_what_fails_while_it_is_under_way() {
        let doubts = Doubts::default();
        assert_eq!(doubts.standing(), None);
        doubts.add();
        let proof = doubts.standing().unwrap();
        doubts.add();
        doubts.disprove(proof);
        assert_eq!(doubts.standing(), Some(2));
        doubts.disprove(2);
        doubts.disprove(proof); // The slower of two proofs.
        assert_eq!(doubts.standing(), None);
    }

    /// If one write of a batch fails, the other writes of the batch succeed, and the failed one leaves nothing behind.
    #[tokio::test]
    async fn a_failed_statement_leaves_its_neighbours_alone() {
        let folder = tempfile::tempdir().unwrap();
        let writer = writer(&folder);
        let results = batch(&writer, &[1, 2, 1, 3]).await;
        let outcomes: Vec<bool> = results.iter().map(Result::is_ok).collect();
        assert_eq!(outcomes, [true, true, false, true]);
        assert!(matches!(results[2], Err(StoreError::Failed(_))));
        assert_eq!(count(&writer).await, 3);
        // Row ids that a rolled back batch had taken are given out again, each once.
        let mut rids: Vec<i64> = results.into_iter().filter_map(Result::ok).collect();
        rids.sort_unstable();
        rids.dedup();
        assert_eq!(rids.len(), 3);
    }

    /// A write that was rolled back is not counted, and a write that was applied again is counted once.
    #[tokio::test]
    async fn only_what_was_committed_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let (writer, counted) = measured(&folder);
        batch(&writer, &[1, 2, 1, 3]).await;
        count(&writer).await; // This is answered after the batch has been counted.
        // Counted batches: the blocking job, the three that were applied alone, and the count; not the failed
        // batch, nor the failed job.
        assert_eq!(counted.counts(), [3, 5, 0]);
    }

    #[tokio::test]
    async fn a_batch_without_failures_is_committed_whole() {
        let folder = tempfile::tempdir().unwrap();
        let writer = writer(&folder);
        let many: Vec<i64> = (0..1000).collect();
        assert!(batch(&writer, &many).await.iter().all(Result::is_ok));
        assert_eq!(count(&writer).await, 1000);
    }

    /// A write is refused at once if the queue is full: to let it wait for a disk that takes no writes would help no one.
    #[tokio::test]
    async fn a_full_queue_refuses_instead_of_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let (writer, counted) = measured(&folder);
        let beyond: Vec<i64> = (0..5 + i64::try_from(QUEUE_MAX).unwrap()).collect();
        let results = batch(&writer, &beyond).await;
        let refused = results
            .iter()
            .filter(|result| matches!(result, Err(StoreError::Unavailable(why)) if why.contains("waiting")))
            .count();
        assert_eq!(refused, 5);
        assert_eq!(counted.counts()[2], 5);
        assert_eq!(count(&writer).await, i64::try_from(beyond.len() - refused).unwrap());
    }

    #[tokio::test]
    async fn a_panic_ends_the_writer_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let writer = writer(&folder);
        let panicked = writer.submit(|_, _| -> RowsResult<()> { panic!("planted") }).await;
        assert!(matches!(panicked, Err(StoreError::Unavailable(_))));
        writer.closed().await;
        assert!(matches!(writer.submit(insert(1)).await, Err(StoreError::Unavailable(_))));
    }
}
