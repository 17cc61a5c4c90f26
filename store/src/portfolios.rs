//! The reads about portfolios: load, authorize, convert.

use chrono::{DateTime, Utc};
use domain::base::ids::PortfolioId;
use domain::base::name::is_same;
use domain::people::authority::{Action, Object, authorize};
use domain::people::principal::{Principal, Role};
use domain::problem::Rejection;
use domain::suspension::Suspension;
use domain::wire::{AggregateStatus, MemberView, PortfolioView, SuspendedPhase, WholePortfolioView};

use crate::Wanted;
use crate::damage::LogName;
use crate::filter::PortfolioFilter;
use crate::reads::{PAGE_BYTES_MAX, intent_view, is_shown, readable};
use crate::rows::prelude::*;
use crate::rows::{Decided, ListedPortfolios, PortfolioRow, RowsResult, served_whole};

/// A portfolio that the principal may read.
pub(super) fn readable_portfolio<R: ReadRows>(rows: &mut R, principal: &Principal, id: PortfolioId) -> Decided<PortfolioRow> {
    let Some(row) = rows.portfolio(id)? else { return Ok(Err(Rejection::NotFound)) };
    let object = Object::Portfolio { created_by: &row.portfolio.created_by };
    Ok(authorize(principal, Action::ReadPortfolio, object).map(|()| row))
}

/// A portfolio as shown. Its aggregate status is computed now, from the statuses of all its intents.
pub(super) fn portfolio_view<R: ReadRows>(rows: &mut R, row: PortfolioRow) -> RowsResult<PortfolioView> {
    let aggregate_status = AggregateStatus::of(rows.member_statuses(row.rid)?);
    Ok(PortfolioView::of(row.portfolio, aggregate_status))
}

/// A portfolio with those of its intents that the principal may read, from the place `offset` on.
pub(super) fn portfolio<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    id: PortfolioId,
    offset: Wanted<u32>,
    now: DateTime<Utc>,
) -> Decided<WholePortfolioView> {
    let row = match readable_portfolio(rows, principal, id)? {
        Ok(row) => row,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let offset = match offset {
        Ok(offset) => offset,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let members = rows.members(row.rid, offset)?;
    let (mut intents, mut suspended_phases, mut bytes, mut next_offset) = (Vec::new(), Vec::new(), 0, None);
    for (member, place) in members.iter().zip(offset..) {
        if bytes >= PAGE_BYTES_MAX {
            next_offset = Some(place);
            break;
        }
        let intent = rows.intent_at(member.intent)?;
        // The creator of the portfolio may have lost its access to the intent since the intent was added.
        if !is_shown(rows, principal, &intent, now)? {
            continue;
        }
        let view = MemberView::of(intent_view(rows, &intent)?, &member.membership);
        bytes += serde_json::to_vec(&view)?.len();
        if let Some(open) = intent.open_suspension {
            let Suspension { suspended_at, expires_at, .. } = rows.suspension_at(open)?.suspension;
            let (phase_name, intent_id) = (view.intent.title.clone(), view.intent_id);
            suspended_phases.push(SuspendedPhase { phase_name, intent_id, suspended_since: suspended_at, expires_at });
        }
        intents.push(view);
    }
    let mut portfolio = portfolio_view(rows, row)?;
    let parts = intents.iter().map(|member| (member.intent_id, member.intent.status, member.intent.blocked_by.as_slice()));
    portfolio.aggregate_status = portfolio.aggregate_status.naming(parts);
    Ok(Ok(WholePortfolioView { portfolio, intents, suspended_phases, next_offset }))
}

/// The portfolios that the principal may read, newest first.
pub(super) fn portfolios<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    filter: Wanted<PortfolioFilter>,
    now: DateTime<Utc>,
) -> Decided<Vec<PortfolioView>> {
    if let Err(rejection) = authorize(principal, Action::ReadPortfolio, Object::Server) {
        return Ok(Err(rejection));
    }
    let filter = match filter {
        Ok(filter) => filter,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let mut intent = None;
    if let Some(id) = filter.intent {
        match readable(rows, principal, id, now)? {
            Ok(row) => intent = Some(row.rid),
            Err(rejection) => return Ok(Err(rejection)),
        }
    }
    let own = (principal.role == Role::Agent).then_some(principal.name.as_str());
    let creator = match (own, filter.created_by.as_deref()) {
        (Some(own), Some(other)) if !is_same(own, other) => return Ok(Ok(Vec::new())),
        (own, other) => own.or(other),
    };
    let listed = ListedPortfolios { creator, intent, limit: filter.limit, offset: filter.offset };
    let mut shown = Vec::new();
    for row in rows.portfolios(listed)? {
        let object = Object::Portfolio { created_by: &row.portfolio.created_by };
        if authorize(principal, Action::ReadPortfolio, object).is_ok() {
            shown.push(portfolio_view(rows, row)?);
        }
    }
    Ok(Ok(shown))
}

/// The portfolio's own log, oldest first, each event as it is served.
pub(super) fn portfolio_events<R: ReadRows>(rows: &mut R, principal: &Principal, id: PortfolioId) -> Decided<Vec<String>> {
    let row = match readable_portfolio(rows, principal, id)? {
        Ok(row) => row,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let log = LogName::Portfolio(id);
    Ok(Ok(served_whole(&rows.portfolio_events(row.rid)?, log, 1)?))
}
