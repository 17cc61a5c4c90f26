//! A new portfolio, its words and rules, its status, and intents that are put into it (RFC-0007).
//!
//! Guarantee: a change of a portfolio is an event of its own log or did not happen, and an intent is added only while the
//! portfolio is active and has room. Mechanism: a transaction that changes a portfolio, or an intent's place in it, locks the
//! portfolio's row. A change of a place is an event of the intent's log, so the intent's row is locked first. Failure: a refusal
//! has written nothing.

use chrono::{DateTime, Utc};
use domain::base::ids::{IntentId, PortfolioId};
use domain::intent::command::Command;
use domain::intent::status::Status;
use domain::log::{Entry, Envelope};
use domain::people::authority::{Action, Object, authorize};
use domain::people::principal::{Principal, Role};
use domain::portfolio::change::{StatusFacts, UpdateFacts};
use domain::portfolio::event::PortfolioEvent;
use domain::portfolio::membership::Join;
use domain::portfolio::{Portfolio, PortfolioStatus, PortfolioUpdate, change};
use domain::problem::Rejection;
use domain::suspension::Asker;
use domain::wire::PortfolioView;

use super::allowance::{EVENT_ROWS_BYTES, charge};
use super::execute::execute;
use super::places::move_timer;
use super::repeatable::{Admitted, admit, keep};
use crate::hub::Notice;
use crate::portfolios::portfolio_view;
use crate::request::{Idempotency, NewPortfolio, Outcome, Precondition, Repeatable, Request, Target};
use crate::rows::prelude::*;
use crate::rows::{Decided, PortfolioRow, RowsResult};
use crate::surroundings::Env;

/// Creates a portfolio.
pub(crate) fn create<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    principal: &Principal,
    write: &Repeatable<NewPortfolio>,
) -> Decided<Outcome> {
    if let Err(rejection) = authorize(principal, Action::CreatePortfolio, Object::Server) {
        return Ok(Err(rejection));
    }
    let now = env.clock.now();
    let new = match admit(rows, env, principal, (Action::CreatePortfolio, write), now)? {
        Ok(Admitted::New(new)) => new,
        Ok(Admitted::Repeated(outcome)) => return Ok(Ok(*outcome)),
        Err(rejection) => return Ok(Err(rejection)),
    };
    let created_by = Asker { name: principal.name.clone(), owner: principal.owner.clone() };
    let portfolio = Portfolio {
        id: new.id,
        status: PortfolioStatus::Active,
        created_by,
        created_at: now,
        updated_at: now,
        body: new.body.clone(),
    };
    let began = match change::created(&new.body, principal, now) {
        Ok(began) => began,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let rid = rows.insert_portfolio(&portfolio)?;
    let mut row = PortfolioRow { rid, portfolio, last_sequence: 0, last_hash: None };
    append(rows, env, &mut row, principal, &began, now)?;
    let view = portfolio_view(rows.reads(), row)?;
    finish(rows, principal, write.idempotency, view, now)
}

/// Changes the status of a portfolio.
pub(crate) fn set_status<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    principal: &Principal,
    id: PortfolioId,
    write: &Repeatable<PortfolioStatus>,
) -> Decided<Outcome> {
    let Some(mut row) = rows.lock_portfolio(id)? else { return Ok(Err(Rejection::NotFound)) };
    let object = Object::Portfolio { created_by: &row.portfolio.created_by };
    if let Err(rejection) = authorize(principal, Action::ChangePortfolio, object) {
        return Ok(Err(rejection));
    }
    let now = env.clock.now();
    let status = match admit(rows, env, principal, (Action::ChangePortfolio, write), now)? {
        Ok(Admitted::New(status)) => *status,
        Ok(Admitted::Repeated(outcome)) => return Ok(Ok(*outcome)),
        Err(rejection) => return Ok(Err(rejection)),
    };
    let open = rows.reads().open_questions_in(row.rid)?;
    let facts = StatusFacts { incomplete: incomplete(rows, row.rid)?, has_open_questions: !open.is_empty() };
    let events = match change::set_status(&row.portfolio, status, facts, principal, now) {
        Ok(events) => events,
        Err(rejection) => return Ok(Err(rejection)),
    };
    for event in &events {
        append(rows, env, &mut row, principal, event, now)?;
    }
    // Open pages show another time if the deadline counts no longer.
    for (_, _, id) in open.into_iter().filter(|_| !events.is_empty() && row.portfolio.body.policy.deadline.is_some()) {
        rows.notice(Notice::Suspension(id));
    }
    let view = portfolio_view(rows.reads(), row)?;
    finish(rows, principal, write.idempotency, view, now)
}

/// Changes the words, data or rules of a portfolio. A new deadline counts at once for the open questions of its intents.
pub(crate) fn update<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    principal: &Principal,
    id: PortfolioId,
    write: &Repeatable<PortfolioUpdate>,
) -> Decided<Outcome> {
    let Some(mut row) = rows.lock_portfolio(id)? else { return Ok(Err(Rejection::NotFound)) };
    let object = Object::Portfolio { created_by: &row.portfolio.created_by };
    if let Err(rejection) = authorize(principal, Action::ChangePortfolio, object) {
        return Ok(Err(rejection));
    }
    let now = env.clock.now();
    let update = match admit(rows, env, principal, (Action::ChangePortfolio, write), now)? {
        Ok(Admitted::New(update)) => update,
        Ok(Admitted::Repeated(outcome)) => return Ok(Ok(*outcome)),
        Err(rejection) => return Ok(Err(rejection)),
    };
    let before = row.portfolio.body.policy.deadline;
    let sets = update.policy.is_some_and(|policy| policy.deadline.is_some() && policy.deadline != before);
    let has_others = sets && rows.reads().creators_in(row.rid)?.iter().any(|creator| !row.portfolio.acts_on(creator));
    let facts = UpdateFacts { has_others, events: row.last_sequence };
    let events = match change::update(&row.portfolio, update, facts, principal, now) {
        Ok(events) => events,
        Err(rejection) => return Ok(Err(rejection)),
    };
    for event in &events {
        append(rows, env, &mut row, principal, event, now)?;
    }
    if row.portfolio.body.policy.deadline != before {
        move_deadline(rows, &row, before)?;
    }
    let view = portfolio_view(rows.reads(), row)?;
    finish(rows, principal, write.idempotency, view, now)
}

/// Moves the timers of the questions that are open, and lets open pages show the new time.
fn move_deadline<R: Rows>(rows: &mut R, row: &PortfolioRow, before: Option<DateTime<Utc>>) -> RowsResult<()> {
    for (intent, question, id) in rows.reads().open_questions_in(row.rid)? {
        move_timer(rows, (intent, question), before, row.portfolio.body.policy.deadline)?;
        rows.notice(Notice::Suspension(id));
    }
    Ok(())
}

/// Puts an intent into a portfolio, or changes its place there. The portfolio is checked before the intent, because the path of
/// the request names the portfolio.
pub(crate) fn add<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    principal: &Principal,
    id: PortfolioId,
    write: &Repeatable<(IntentId, Join)>,
) -> Decided<Outcome> {
    let Some(row) = rows.reads().portfolio(id)? else { return Ok(Err(Rejection::NotFound)) };
    let object = Object::Portfolio { created_by: &row.portfolio.created_by };
    if let Err(rejection) = authorize(principal, Action::JoinPortfolio, object) {
        return Ok(Err(rejection));
    }
    let (intent, join) = match &write.wanted {
        Ok(wanted) => *wanted,
        Err(rejection) => return Ok(Err(rejection.clone())),
    };
    let request = Request {
        principal: principal.clone(),
        target: Target::Intent(intent),
        precondition: Precondition::None,
        idempotency: write.idempotency,
        command: Ok(Command::Join(join)),
        trace_parent: None,
    };
    execute(rows, env, &request)
}

/// How many intents of a portfolio are not completed.
fn incomplete<R: Rows>(rows: &mut R, portfolio: i64) -> RowsResult<usize> {
    let statuses = rows.reads().member_statuses(portfolio)?.into_iter();
    let incomplete: u64 = statuses.filter(|(status, _)| *status != Status::Completed).map(|(_, count)| count).sum();
    Ok(usize::try_from(incomplete).unwrap_or(usize::MAX))
}

/// Appends an event to the portfolio's own log. If an agent writes it, its bytes count against the agent's daily limit.
fn append<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    row: &mut PortfolioRow,
    principal: &Principal,
    event: &PortfolioEvent,
    now: DateTime<Utc>,
) -> RowsResult<()> {
    row.portfolio.apply(event);
    // An event is not dated before the one it follows, whatever the clock shows.
    let created_at = now.max(row.portfolio.updated_at);
    let (id, salt, sequence) = (env.entropy.uuid(created_at), env.entropy.salt(), row.last_sequence + 1);
    let envelope = Envelope { id, sequence, actor: &principal.name, created_at, previous: row.last_hash, salt };
    let sealed = envelope.seal(Entry::Portfolio(row.portfolio.id, event))?;
    row.portfolio.updated_at = created_at;
    (row.last_sequence, row.last_hash) = (sequence, Some(sealed.hash));
    rows.append_to_portfolio(row, event.event_type(), &sealed)?;
    if principal.role == Role::Agent {
        // The texts of a portfolio are stored a second time, in its row, so they count twice.
        let copies = if matches!(event, PortfolioEvent::StatusChanged(_)) { 1 } else { 2 };
        charge(rows, &principal.name, copies * sealed.bytes.len() + EVENT_ROWS_BYTES, now)?;
    }
    Ok(())
}

/// Keeps the outcome of a write for a repeated request, and returns it.
fn finish<R: Rows>(
    rows: &mut R,
    principal: &Principal,
    idempotency: Option<Idempotency>,
    view: PortfolioView,
    now: DateTime<Utc>,
) -> Decided<Outcome> {
    let outcome = Outcome::Portfolio(Box::new(view));
    keep(rows, principal, idempotency, &outcome, now)?;
    Ok(Ok(outcome))
}
