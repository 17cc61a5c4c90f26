//! Runs each unit of work in one transaction, and runs it again if another transaction was in the way.
//!
//! Guarantee: a caller hears "yes" only after the commit is durable, and never hears "no" of a commit that happened.
//! Mechanism: READ COMMITTED and row locks; a unit of work is a pure function of the rows it reads, so it is run again
//! after a deadlock, a lost connection, or a row that another transaction inserted first, and then sees what that
//! transaction did. Failure: a connection that breaks during COMMIT leaves the outcome open; the outcome is then looked up
//! on another connection ([`outcome`]). If that fails too, the caller hears that the outcome is unknown, and may ask again:
//! commands are safe to repeat.

use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection;
use diesel::result::{DatabaseErrorKind as Kind, Error};

use super::connection::ConnectError;
use super::outcome::outcome;
use super::pool::Pool;
use super::proof::Proof;
use super::rows::Writing;
use super::session::{Mode, Session};
use crate::StoreError;
use crate::damage::Damaged;
use crate::host::clock_watch::ClockWatch;
use crate::host::kill_points::{self, Point};
use crate::hub::Notice;
use crate::observer::{Again, Observer};
use crate::rows::{RowsError, RowsResult};
use crate::surroundings::{Env, Surroundings};

/// How many times a unit of work is run at most.
const RUNS_MAX: u32 = 6;
/// A unit of work is not run again after this long: an obstacle that is still there by then will be there the next time as well.
const AGAIN_WITHIN: Duration = Duration::from_secs(5);

/// The two ways in which a run can fail.
pub(super) enum Broken<T> {
    /// Nothing was written.
    RolledBack(RowsError),
    /// The connection broke during COMMIT.
    Open(Open<T>),
}

/// A commit whose outcome is open.
pub(super) struct Open<T> {
    number: String,
    proof: Option<Proof>,
    /// The result of the unit of work, which holds if the commit happened.
    pub(super) value: T,
    pub(super) error: RowsError,
}

impl<T> From<Error> for Broken<T> {
    fn from(error: Error) -> Self {
        Self::RolledBack(error.into())
    }
}

impl<T> From<RowsError> for Broken<T> {
    fn from(error: RowsError) -> Self {
        Self::RolledBack(error)
    }
}

/// Runs a unit of work until it is committed or another run would not help. Returns its result and the notices to announce.
pub(super) fn write<T>(
    pool: &Pool,
    name: &'static str,
    (surroundings, watch): (&Surroundings, &ClockWatch),
    work: &dyn Fn(&mut Writing<'_>, &Env<'_>) -> RowsResult<T>,
) -> Result<(T, Vec<Notice>), StoreError> {
    let began = Instant::now();
    let mut runs = 0;
    loop {
        runs += 1;
        let mut session = pool.take().map_err(|error| unavailable(&error))?;
        let mut notices = Vec::new();
        let (error, is_gone) = match once(&mut session, (surroundings, watch), &mut notices, work) {
            Ok(value) => {
                pool.give_back(session);
                surroundings.observer.batch(1, began.elapsed());
                return Ok((value, notices));
            }
            Err(Broken::RolledBack(error)) => {
                let is_gone = put_away(pool, session, &error);
                (error, is_gone)
            }
            Err(Broken::Open(open)) => {
                drop(session);
                match open.outcome(pool, name) {
                    Some(true) => return Ok((open.value, notices)),
                    Some(false) => (open.error, true),
                    None => return Err(outcome_unknown()),
                }
            }
        };
        let why = in_the_way(&error, is_gone).filter(|_| runs < RUNS_MAX && began.elapsed() <= AGAIN_WITHIN);
        let Some(why) = why else { return Err(classify(&error)) };
        surroundings.observer.again(why);
        tracing::debug!(transaction = name, runs, error = %error, "running a transaction again");
    }
}

impl<T> Open<T> {
    /// Whether the commit happened; `None` if that cannot be found out.
    pub(super) fn outcome(&self, pool: &Pool, name: &'static str) -> Option<bool> {
        tracing::warn!(transaction = name, "the connection broke during a commit; looking for its outcome");
        pool.forget_idle();
        outcome(pool, &self.number, self.proof.as_ref())
    }
}

pub(super) fn outcome_unknown() -> StoreError {
    let what = "the connection to the database broke during a commit, so it is unknown whether the change was made; with \
                an Idempotency-Key, send the same request again; without one, look first";
    StoreError::Unavailable(what.into())
}

fn once<T>(
    session: &mut Session,
    (surroundings, watch): (&Surroundings, &ClockWatch),
    notices: &mut Vec<Notice>,
    work: &dyn Fn(&mut Writing<'_>, &Env<'_>) -> RowsResult<T>,
) -> Result<T, Broken<T>> {
    session.enter(Mode::Locking);
    let number = session.begin()?;
    let clock = session.time.clone();
    let env = surroundings.env(&*clock, watch);
    let value = work(&mut Writing { session: &mut *session, notices: &mut *notices }, &env)?;
    session.flush()?;
    commit(session, &*surroundings.observer, number, !notices.is_empty(), value)
}

/// Commits the transaction with this number. The kill points (at which a test may kill the process) are reached only if the
/// transaction announces something, because other commits have nothing to lose.
pub(super) fn commit<T>(
    session: &mut Session,
    observer: &dyn Observer,
    number: String,
    announces: bool,
    value: T,
) -> Result<T, Broken<T>> {
    if announces {
        kill_points::reached(Point::BeforeCommit);
    }
    let decided = Instant::now();
    match session.conn.batch_execute("COMMIT") {
        Ok(()) => {
            if announces {
                kill_points::reached(Point::AfterCommit);
            }
            observer.commit(decided.elapsed());
            Ok(value)
        }
        // The database said why it did not commit.
        Err(error @ Error::DatabaseError(Kind::UniqueViolation | Kind::ForeignKeyViolation | Kind::SerializationFailure, _)) => {
            Err(error.into())
        }
        Err(error) => Err(Broken::Open(Open { number, proof: session.proof.take(), value, error: error.into() })),
    }
}

/// Runs a read that is a single statement. It needs no transaction, because one statement always sees one snapshot.
pub(super) fn look_up<T>(pool: &Pool, work: impl Fn(&mut Session) -> RowsResult<T>) -> Result<T, StoreError> {
    let mut lost = false;
    loop {
        let mut session = pool.take().map_err(|error| unavailable(&error))?;
        session.enter(Mode::Snapshot);
        match work(&mut session) {
            Ok(value) => {
                pool.give_back(session);
                return Ok(value);
            }
            Err(error) if lost || !is_lost(&error) => return Err(classify(&error)),
            // The database may have closed connections that lay idle. So the statement is run once more, on a new connection.
            Err(_) => {
                lost = true;
                pool.forget_idle();
            }
        }
    }
}

/// Runs a read in one snapshot.
pub(super) fn read<T>(pool: &Pool, work: impl FnOnce(&mut Session) -> RowsResult<T>) -> Result<T, StoreError> {
    let mut session = begin_read(pool)?;
    match work(&mut session).and_then(|value| Ok(session.conn.batch_execute("COMMIT").map(|()| value)?)) {
        Ok(value) => {
            pool.give_back(session);
            Ok(value)
        }
        Err(error) => {
            put_away(pool, session, &error);
            Err(classify(&error))
        }
    }
}

/// Begins a read. A connection that lay idle may have lost the database meanwhile. BEGIN then fails, and is tried once more on a
/// new connection.
fn begin_read(pool: &Pool) -> Result<Session, StoreError> {
    let mut lost = false;
    loop {
        let mut session = pool.take().map_err(|error| unavailable(&error))?;
        session.enter(Mode::Snapshot);
        match session.conn.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") {
            Ok(()) => return Ok(session),
            Err(error) if lost => return Err(classify(&error.into())),
            Err(_) => {
                lost = true;
                drop(session);
                pool.forget_idle();
            }
        }
    }
}

/// Rolls back after a failure, and keeps the session unless the session may be the cause of the failure. Returns whether the
/// rollback failed, which means that the connection is gone.
pub(super) fn put_away(pool: &Pool, mut session: Session, error: &RowsError) -> bool {
    let is_gone = session.conn.batch_execute("ROLLBACK").is_err();
    if is_gone {
        pool.forget_idle();
    } else if !is_lost(error) {
        pool.give_back(session);
    }
    is_gone
}

/// Whether the session, or the database server behind it, may be the cause of a failure.
fn is_lost(error: &RowsError) -> bool {
    matches!(kind_of(error), Some(Kind::SerializationFailure | Kind::Unknown)) || is_disconnected(error)
}

/// Whether the database server is gone. A database server that became a standby counts as gone, too.
fn is_disconnected(error: &RowsError) -> bool {
    matches!(kind_of(error), Some(Kind::UnableToSendCommand | Kind::ClosedConnection | Kind::ReadOnlyTransaction))
}

fn kind_of(error: &RowsError) -> Option<&Kind> {
    if let RowsError::Database(Error::DatabaseError(kind, _)) = error { Some(kind) } else { None }
}

/// Why a run failed, if another run may succeed; otherwise `None`. `is_gone` tells whether the session ended with the failure.
///
/// `Unknown` is diesel's kind for every error it has no word for. Of these errors, a deadlock and a database server that stops
/// are worth another run. A value that PostgreSQL does not take fails each time, and a timeout has taken long enough.
pub(super) fn in_the_way(error: &RowsError, is_gone: bool) -> Option<Again> {
    let RowsError::Database(Error::DatabaseError(kind, said)) = error else { return None };
    if matches!(kind, Kind::UniqueViolation) {
        Some(Again::Overtaken)
    } else if is_disconnected(error) {
        Some(Again::Disconnected)
    } else {
        // Diesel gives no error code, and the message may be in any language. Only a deadlock has both a detail and a hint.
        let is_deadlock = said.details().is_some() && said.hint().is_some();
        let is_broken_off =
            matches!(kind, Kind::SerializationFailure) || matches!(kind, Kind::Unknown) && (is_gone || is_deadlock);
        is_broken_off.then_some(Again::BrokenOff)
    }
}

/// Tells failures that may pass from those that do not. A database that is away or full is the operator's to mend, and trying
/// again may help; a row that breaks a rule of the schema is a bug, and trying again does not help.
pub(super) fn classify(error: &RowsError) -> StoreError {
    match error {
        RowsError::Damaged(damaged) => StoreError::Damaged((**damaged).clone()),
        RowsError::Database(Error::DatabaseError(_, said)) if let Some(damaged) = Damaged::said(said.message()) => {
            StoreError::Damaged(damaged)
        }
        RowsError::Database(Error::DatabaseError(
            Kind::SerializationFailure
            | Kind::UnableToSendCommand
            | Kind::ClosedConnection
            | Kind::ReadOnlyTransaction
            | Kind::Unknown,
            said,
        )) => StoreError::Unavailable(said.message().to_owned()),
        RowsError::Database(error) => StoreError::Failed(anyhow::anyhow!("a database statement failed: {error}")),
        RowsError::Held(why) => StoreError::Held(why),
        RowsError::Refused(rejection) => StoreError::Rejected((**rejection).clone()),
        RowsError::Inconsistent(_) | RowsError::Json(_) => StoreError::Failed(anyhow::anyhow!("{error}")),
    }
}

pub(super) fn unavailable(error: &ConnectError) -> StoreError {
    StoreError::Unavailable(error.to_string())
}
