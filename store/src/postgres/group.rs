//! Decides answers together, in one transaction, if they wait at the same time.
//!
//! Guarantee: the same as for a single answer. A caller hears "yes" only after the commit is durable, and never hears "no" of a
//! commit that happened; an answer that cannot be decided does not affect its neighbours. Mechanism: one trip to the database
//! locks the intents that no other transaction holds, and reads the rows that answers need. The answers are decided one after the
//! other from those rows; a second trip writes the decisions, and a third commits. A group never waits for a row: an answer is
//! decided in a transaction of its own if another transaction holds its intent or its idempotency key, or if an earlier answer of
//! the group is about the same intent. Failure: if anything goes wrong before the commit, nothing was written, and each answer is
//! decided in a transaction of its own, which is run again after a failure that may pass. If the outcome of the commit is
//! unknown, it is unknown for all answers of the group.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use domain::problem::Rejection;

use super::prefetched::About;
use super::queue::Queue;
use super::rows::Writing;
use super::session::{Mode, Session};
use super::transaction::{Broken, classify, commit, in_the_way, outcome_unknown, put_away, unavailable};
use super::waiting::Waiting;
use super::writers::Writers;
use crate::host::kill_points::{self, Point};
use crate::hub::Notice;
use crate::rows::{RowsError, RowsResult};
use crate::surroundings::Env;
use crate::{Outcome, Request, StoreError, units};

/// The most answers in one transaction.
const GROUP_MAX: usize = 32;

/// The result of deciding one answer.
type Decision = Result<Result<Outcome, Rejection>, StoreError>;

/// The result of each answer of a group; `None`, or no entry, where the answer has to be decided alone.
type Results = Vec<Option<Decision>>;

/// Decides the answers that come into the queue, until the queue is closed.
pub(super) fn decide(writers: &Arc<Writers>, queue: &Queue<Waiting>) {
    while queue.wait() {
        let Some(place) = writers.pool.place() else { return };
        let mut group = queue.take(GROUP_MAX);
        for waiting in &mut group {
            if let Some(queued) = waiting.queued.take() {
                queued.leave();
            }
        }
        if group.is_empty() {
            continue;
        }
        // The panic has been logged. The callers of the group get an error, because their replies are
        // dropped; the thread goes on.
        let Ok(results) = catch_unwind(AssertUnwindSafe(|| together(writers, &group))) else { continue };
        drop(place);
        let mut results = results.into_iter();
        for waiting in group {
            match results.next().flatten() {
                // Sending fails only if the caller has stopped waiting.
                Some(result) => drop(waiting.reply.send(result)),
                None => writers.decide_alone(waiting),
            }
        }
    }
}

/// Decides a group in one transaction; an answer that gets no result is to be decided alone.
fn together(writers: &Writers, group: &[Waiting]) -> Results {
    let mut session = match writers.pool.take() {
        Ok(session) => session,
        Err(error) => return group.iter().map(|_| Some(Err(unavailable(&error)))).collect(),
    };
    let mut notices = Vec::new();
    let began = Instant::now();
    match once(&mut session, writers, &mut notices, group) {
        Ok(results) => {
            writers.pool.give_back(session);
            // An answer that is decided alone is counted by its own transaction.
            let decided = results.iter().flatten().count();
            if decided > 0 {
                writers.surroundings.observer.batch(decided, began.elapsed());
            }
            writers.announce(&notices);
            results
        }
        Err(Broken::RolledBack(error)) => {
            let is_gone = put_away(&writers.pool, session, &error);
            apart(writers, group, &error, is_gone)
        }
        Err(Broken::Open(open)) => {
            drop(session);
            match open.outcome(&writers.pool, "answers") {
                Some(true) => {
                    writers.announce(&notices);
                    open.value
                }
                Some(false) => apart(writers, group, &open.error, true),
                None => open.value.iter().map(|result| result.as_ref().map(|_| Err(outcome_unknown()))).collect(),
            }
        }
    }
}

/// The results after a failure. If the group has only one answer, and it would fail again, its caller gets the error. Otherwise
/// each answer is decided alone, because the failure may be about one of its neighbours.
fn apart(writers: &Writers, group: &[Waiting], error: &RowsError, is_gone: bool) -> Results {
    tracing::debug!(error = %error, answers = group.len(), "deciding answers one by one");
    match in_the_way(error, is_gone) {
        Some(why) => writers.surroundings.observer.again(why),
        None if group.len() == 1 => return vec![Some(Err(classify(error)))],
        None => {}
    }
    Vec::new()
}

fn once(
    session: &mut Session,
    writers: &Writers,
    notices: &mut Vec<Notice>,
    group: &[Waiting],
) -> Result<Results, Broken<Results>> {
    session.enter(Mode::Locking);
    let number = session.begin_prefetching(About {
        intents: group.iter().map(|waiting| waiting.intent.0).collect(),
        keys: group.iter().filter_map(|waiting| waiting.request.idempotency).map(|key| key.key_hash).collect(),
    })?;
    let clock = session.time.clone();
    let env = writers.surroundings.env(&*clock, &writers.watch);
    let mut results = Results::new();
    for waiting in group {
        // If the intent is still among the prefetched rows, this transaction holds its lock, and no earlier
        // answer of the group is about the same intent.
        let is_ours = session.prefetched.has(waiting.intent);
        if !is_ours || waiting.request.idempotency.is_some_and(|key| !session.prefetched.has_key(&key.key_hash)) {
            results.push(None);
            continue;
        }
        if !notices.is_empty() {
            kill_points::reached(Point::WithinBatch);
        }
        results.push(Some(decided(session, &env, notices, &waiting.request)?));
    }
    session.flush()?;
    commit(session, &*writers.surroundings.observer, number, !notices.is_empty(), results)
}

fn decided(session: &mut Session, env: &Env<'_>, notices: &mut Vec<Notice>, request: &Request) -> RowsResult<Decision> {
    let decide = AssertUnwindSafe(|| units::execute::execute(&mut Writing { session, notices }, env, request));
    match catch_unwind(decide) {
        // An answer that is held back, because nothing may be decided by the clock at present, has written nothing. So nothing
        // has to be undone, and the group goes on with its other answers.
        Ok(Err(RowsError::Held(why))) => Ok(Err(StoreError::Held(why))),
        Ok(decided) => Ok(Ok(decided?)),
        // The group is rolled back, and each answer is decided alone. If the same answer panics there, no
        // other answer is affected.
        Err(_) => Err(RowsError::Inconsistent("an answer could not be decided")),
    }
}
