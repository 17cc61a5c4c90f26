//! The place of an intent in a portfolio, for a command on the intent.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use domain::intent::command::Command;
use domain::intent::event::Event;
use domain::people::authority::{Action, Object, authorize};
use domain::people::principal::Principal;
use domain::portfolio::membership::{Joined, earliest_deadline};
use domain::problem::Rejection;

use super::loaded::Loaded;
use crate::hub::Notice;
use crate::request::Request;
use crate::rows::prelude::*;
use crate::rows::{RowsError, RowsResult, TimerKind, TimerRow};

/// Loads the portfolio that a command names, and locks its row until the transaction ends.
pub(super) fn load<R: Rows>(rows: &mut R, loaded: &mut Loaded, request: &Request) -> RowsResult<()> {
    let Some(id) = request.command.as_ref().ok().and_then(Command::names_portfolio) else { return Ok(()) };
    let Some(row) = rows.lock_portfolio(id)? else { return Ok(()) };
    let members = rows.reads().member_statuses(row.rid)?.into_iter().map(|(_, count)| count).sum::<u64>();
    loaded.portfolio = Some(row.rid);
    loaded.intent.portfolio = Some(Box::new(Joined {
        members: usize::try_from(members).unwrap_or(usize::MAX),
        portfolios_of_intent: rows.reads().portfolios_of(loaded.row.rid)?.len(),
        membership: rows.reads().membership(row.rid, loaded.row.rid)?,
        portfolio: row.portfolio,
    }));
    Ok(())
}

/// The event as it is appended. An event that tells a portfolio that the intent waits for a person, or goes on, gets the number
/// of the portfolio's intents that then wait.
pub(super) fn counted<'a, R: Rows>(rows: &mut R, loaded: &Loaded, event: &'a Event) -> RowsResult<Cow<'a, Event>> {
    let Event::Member(change) = event else { return Ok(Cow::Borrowed(event)) };
    let mut portfolios = loaded.intent.member_of.iter().zip(&loaded.portfolios);
    let found = portfolios.find(|(member_of, _)| member_of.portfolio_id == change.portfolio_id());
    let (_, portfolio) = found.ok_or(RowsError::Inconsistent("an event about a portfolio that was not loaded"))?;
    let others = rows.reads().others_suspended(*portfolio, loaded.row.rid)?;
    Ok(Cow::Owned(Event::Member(change.beside(others))))
}

/// Moves the timer of an open question when the deadline of one portfolio stops counting for it (`before`) or begins to count
/// (`now`). Other portfolios of the intent may have the same deadline as `before`, so the earliest deadline that is left gets a
/// timer, too. A timer that fires too early is replaced by one for the deadline that then counts.
pub(super) fn move_timer<R: Rows>(
    rows: &mut R,
    (intent, question): (i64, i64),
    before: Option<DateTime<Utc>>,
    now: Option<DateTime<Utc>>,
) -> RowsResult<()> {
    if let Some(due_at) = before {
        rows.delete_timer(TimerRow { due_at, suspension: question, kind: TimerKind::Portfolio, attempt: 0 })?;
    }
    let member_of: Vec<_> = rows.reads().member_of(intent)?.into_iter().map(|(_, member_of)| member_of).collect();
    for due_at in now.into_iter().chain(earliest_deadline(&member_of).map(|deadline| deadline.at)) {
        rows.insert_portfolio_timer(question, due_at)?;
    }
    rows.notice(Notice::Timer);
    Ok(())
}

/// Decides whether a principal may take the intent out of the portfolio. The creator of the intent, the creator of the
/// portfolio, and an admin may.
pub(super) fn may_leave(loaded: &Loaded, principal: &Principal, intent: Object<'_>) -> Result<(), Rejection> {
    let Joined { portfolio, membership, .. } = loaded.intent.portfolio.as_deref().ok_or(Rejection::NotFound)?;
    let object = Object::Portfolio { created_by: &portfolio.created_by };
    // The log of the intent names the portfolio, so its existence is no secret to the intent's creator.
    if membership.is_some() && loaded.intent.is_created_by(principal) {
        return authorize(principal, Action::LeavePortfolio, intent);
    }
    authorize(principal, Action::LeavePortfolio, object)
}

/// Writes the rows that an intent's place in a portfolio implies.
pub(super) fn save<R: Rows>(rows: &mut R, loaded: &Loaded) -> RowsResult<()> {
    let unknown = RowsError::Inconsistent("an event about a portfolio that was not loaded");
    let (Some(portfolio), Some(joined)) = (loaded.portfolio, &loaded.intent.portfolio) else { return Err(unknown) };
    let intent = loaded.row.rid;
    match &joined.membership {
        Some(membership) => rows.save_membership(portfolio, intent, membership, loaded.row.last_event)?,
        None => rows.delete_membership(portfolio, intent)?,
    }
    let (Some(question), Some(deadline)) = (loaded.row.open_suspension, joined.portfolio.body.policy.deadline) else {
        return Ok(());
    };
    let is_member = joined.membership.is_some();
    move_timer(rows, (intent, question), (!is_member).then_some(deadline), is_member.then_some(deadline))?;
    // Open pages show the time that is left.
    if let Some(open) = &loaded.intent.open {
        rows.notice(Notice::Suspension(open.id));
    }
    Ok(())
}
