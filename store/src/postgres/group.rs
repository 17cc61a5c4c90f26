//! Answers that wait are decided together, in one transaction.
//!
//! Guarantee: as for one alone: nobody hears "yes" before the commit is durable, nobody hears "no" of a commit that happened, and an
//! answer that cannot be decided leaves its neighbours alone. Mechanism: one trip to the database locks the intents nobody else holds and
//! reads what answers ask for; they are decided one after the other by what was read; a second trip writes what they decided, a third
//! commits. A group never waits for a row: an answer whose intent or idempotency key somebody else holds, or which is not the first one
//! on its intent, is decided in a transaction of its own. Failure: when anything goes wrong before the commit, nothing was written, and each of them is
//! decided in a transaction of its own, which knows what may be run again and what not. A commit whose outcome is open has one outcome
//! for all.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use domain::problem::Rejection;

use super::ahead::About;
use super::desk::Desk;
use super::line::Line;
use super::rows::Writing;
use super::session::{Mode, Session};
use super::transaction::{Broken, classify, commit, in_the_way, outcome_unknown, put_away, unavailable};
use super::waiting::Waiting;
use crate::host::kill_points::{self, Point};
use crate::hub::Notice;
use crate::rows::{RowsError, RowsResult};
use crate::surroundings::Env;
use crate::{Outcome, Request, StoreError, units};

/// Answers in one transaction.
const GROUP_MAX: usize = 32;

/// What became of an answer.
type Decision = Result<Result<Outcome, Rejection>, StoreError>;

/// What became of each of a group; nothing where it has to be decided alone.
type Results = Vec<Option<Decision>>;

/// Decides what comes, until the line is closed.
pub(super) fn decide(desk: &Arc<Desk>, line: &Line<Waiting>) {
    while line.wait() {
        let Some(place) = desk.pool.place() else { return };
        let mut group = line.take(GROUP_MAX);
        for waiting in &mut group {
            if let Some(queued) = waiting.queued.take() {
                queued.leave();
            }
        }
        if group.is_empty() {
            continue;
        }
        // A panic has been logged; who was in the group hears that nobody knows, and the thread goes on.
        let Ok(results) = catch_unwind(AssertUnwindSafe(|| together(desk, &group))) else { continue };
        drop(place);
        let mut results = results.into_iter();
        for waiting in group {
            match results.next().flatten() {
                // Whoever is gone needs no answer.
                Some(result) => drop(waiting.reply.send(result)),
                None => desk.decide_alone(waiting),
            }
        }
    }
}

/// Decides a group in one transaction; whoever gets no result is to be decided alone.
fn together(desk: &Desk, group: &[Waiting]) -> Results {
    let mut session = match desk.pool.take() {
        Ok(session) => session,
        Err(error) => return group.iter().map(|_| Some(Err(unavailable(&error)))).collect(),
    };
    let mut notices = Vec::new();
    let began = Instant::now();
    match once(&mut session, desk, &mut notices, group) {
        Ok(results) => {
            desk.pool.give_back(session);
            // Whoever is decided alone is counted there.
            let decided = results.iter().flatten().count();
            if decided > 0 {
                desk.surroundings.observer.batch(decided, began.elapsed());
            }
            desk.announce(&notices);
            results
        }
        Err(Broken::RolledBack(error)) => {
            let is_gone = put_away(&desk.pool, session, &error);
            apart(desk, group, &error, is_gone)
        }
        Err(Broken::Open(open)) => {
            drop(session);
            match open.outcome(&desk.pool, "answers") {
                Some(true) => {
                    desk.announce(&notices);
                    open.value
                }
                Some(false) => apart(desk, group, &open.error, true),
                None => open.value.iter().map(|result| result.as_ref().map(|_| Err(outcome_unknown()))).collect(),
            }
        }
    }
}

/// After a failure: a lone answer that would fail again is told so. In a larger group each answer is decided alone, because the failure may
/// be about one of its neighbours.
fn apart(desk: &Desk, group: &[Waiting], error: &RowsError, is_gone: bool) -> Results {
    tracing::debug!(error = %error, answers = group.len(), "deciding answers one by one");
    match in_the_way(error, is_gone) {
        Some(why) => desk.surroundings.observer.again(why),
        None if group.len() == 1 => return vec![Some(Err(classify(error)))],
        None => {}
    }
    Vec::new()
}

fn once(session: &mut Session, desk: &Desk, notices: &mut Vec<Notice>, group: &[Waiting]) -> Result<Results, Broken<Results>> {
    session.enter(Mode::Locking);
    let number = session.begin_ahead(About {
        intents: group.iter().map(|waiting| waiting.intent.0).collect(),
        keys: group.iter().filter_map(|waiting| waiting.request.idempotency).map(|key| key.key_hash).collect(),
    })?;
    let clock = session.time.clone();
    let env = desk.surroundings.env(&*clock, &desk.watch);
    let mut results = Results::new();
    for waiting in group {
        // Read ahead and not used up: nobody else holds it, and it is the first one of the group.
        let is_ours = session.ahead.has(waiting.intent);
        if !is_ours || waiting.request.idempotency.is_some_and(|key| !session.ahead.has_key(&key.key_hash)) {
            results.push(None);
            continue;
        }
        if !notices.is_empty() {
            kill_points::reached(Point::WithinBatch);
        }
        results.push(Some(decided(session, &env, notices, &waiting.request)?));
    }
    session.flush()?;
    commit(session, &*desk.surroundings.observer, number, !notices.is_empty(), results)
}

fn decided(session: &mut Session, env: &Env<'_>, notices: &mut Vec<Notice>, request: &Request) -> RowsResult<Decision> {
    let decide = AssertUnwindSafe(|| units::execute::execute(&mut Writing { session, notices }, env, request));
    match catch_unwind(decide) {
        // Decided before anything was written: the others have nothing to undo.
        Ok(Err(RowsError::Held(why))) => Ok(Err(StoreError::Held(why))),
        Ok(decided) => Ok(Ok(decided?)),
        // Nothing is committed, and alone it panics where that is nobody else's trouble.
        Err(_) => Err(RowsError::Inconsistent("an answer could not be decided")),
    }
}
