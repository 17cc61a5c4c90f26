//! The place of an intent in a portfolio, for a command on the intent.

use domain::intent::command::Command;
use domain::people::authority::{Action, Object, authorize};
use domain::people::principal::Principal;
use domain::portfolio::membership::Joined;
use domain::problem::Rejection;

use super::loaded::Loaded;
use crate::hub::Notice;
use crate::request::Request;
use crate::rows::prelude::*;
use crate::rows::{RowsError, RowsResult};

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

/// Writes the timer for the deadline of the portfolio that an intent with an open question was put into.
fn time<R: Rows>(rows: &mut R, loaded: &Loaded, joined: &Joined) -> RowsResult<()> {
    let (Some(open), Some(at)) = (loaded.row.open_suspension, joined.portfolio.body.policy.deadline) else { return Ok(()) };
    rows.insert_portfolio_timer(open, at)?;
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
    match &joined.membership {
        Some(membership) => {
            time(rows, loaded, joined)?;
            rows.save_membership(portfolio, loaded.row.rid, membership, loaded.row.last_event)
        }
        None => rows.delete_membership(portfolio, loaded.row.rid),
    }
}
