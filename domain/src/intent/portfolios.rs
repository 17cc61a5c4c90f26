//! Puts an intent into portfolios, and takes it out of them (RFC-0007).

use crate::base::ids::PortfolioId;
use crate::intent::Intent;
use crate::intent::event::Event;
use crate::intent::refusal::Refusal;
use crate::people::authority::{Action, Object, authorize};
use crate::people::principal::Principal;
use crate::portfolio::membership::{Added, Join, Joined, Removed};
use crate::portfolio::{MEMBERS_MAX, PORTFOLIOS_OF_INTENT_MAX, PortfolioStatus};
use crate::problem::Rejection;

/// Decides whether the intent may go into the portfolio that the command names: only the creator of the portfolio adds intents.
pub(super) fn permit_joining(intent: &Intent, by: &Principal) -> Result<(), Rejection> {
    let Joined { portfolio, .. } = intent.portfolio.as_deref().ok_or(Rejection::NotFound)?;
    authorize(by, Action::JoinPortfolio, Object::Portfolio { created_by: &portfolio.created_by })
}

/// Puts the intent into a portfolio. A request for the role and the priority that the intent has there already causes no event.
pub(super) fn join(intent: &Intent, join: &Join, by: &Principal) -> Result<Vec<Event>, Refusal> {
    let Joined { portfolio, members, portfolios_of_intent, membership } =
        intent.portfolio.as_deref().ok_or(Rejection::NotFound)?;
    let place = membership.map(|membership| (membership.role, membership.priority));
    if place == Some((join.role, join.priority)) {
        return Ok(Vec::new());
    }
    if portfolio.status != PortfolioStatus::Active {
        return Err(Rejection::PortfolioNotActive { status: portfolio.status.as_str().into() }.into());
    }
    if membership.is_none() && *members >= MEMBERS_MAX {
        let message = format!("a portfolio has at most {MEMBERS_MAX} intents; take one out first");
        return Err(Rejection::invalid("intent_id", "count", message).into());
    }
    if membership.is_none() && *portfolios_of_intent >= PORTFOLIOS_OF_INTENT_MAX {
        let message = format!("an intent is in at most {PORTFOLIOS_OF_INTENT_MAX} portfolios; take it out of one first");
        return Err(Rejection::invalid("intent_id", "count", message).into());
    }
    let id = membership.map_or(join.id, |membership| membership.id);
    let &Join { portfolio_id, role, priority, .. } = join;
    Ok(vec![Event::Joined(Box::new(Added { id, portfolio_id, role, priority, credential: by.credential }))])
}

/// Takes the intent out of a portfolio, whatever the status of the intent and of the portfolio is.
pub(super) fn leave(intent: &Intent, portfolio_id: PortfolioId, by: &Principal) -> Result<Vec<Event>, Refusal> {
    if intent.portfolio.as_deref().is_none_or(|joined| joined.membership.is_none()) {
        return Err(Rejection::NotFound.into());
    }
    Ok(vec![Event::Left(Removed { portfolio_id, credential: by.credential })])
}
