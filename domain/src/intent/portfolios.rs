//! Puts an intent into portfolios, and takes it out of them (RFC-0007); tells them that the intent waits for a person (RFC-0026).

use chrono::{DateTime, Utc};

use crate::base::ids::{PortfolioId, SuspensionId};
use crate::intent::Intent;
use crate::intent::event::{Event, ending_of};
use crate::intent::refusal::{Refusal, expired};
use crate::people::authority::{Action, Object, authorize};
use crate::people::principal::Principal;
use crate::portfolio::membership::{Added, Join, Joined, MemberEvent, MemberOf, MemberResumed, MemberSuspended, Removed};
use crate::portfolio::{MEMBERS_MAX, PORTFOLIOS_OF_INTENT_MAX, PortfolioStatus};
use crate::problem::Rejection;
use crate::suspension::PortfolioDeadline;

/// Decides whether the intent may go into the portfolio that the command names: only the creator of the portfolio adds intents.
pub(super) fn permit_joining(intent: &Intent, by: &Principal) -> Result<(), Rejection> {
    let Joined { portfolio, .. } = intent.portfolio.as_deref().ok_or(Rejection::NotFound)?;
    authorize(by, Action::JoinPortfolio, Object::Portfolio { created_by: &portfolio.created_by })
}

/// Puts the intent into a portfolio. A request for the role and the priority that the intent has there already causes no event.
pub(super) fn join(intent: &Intent, join: &Join, by: &Principal, now: DateTime<Utc>) -> Result<Vec<Event>, Refusal> {
    let Joined { portfolio, members, portfolios_of_intent, membership } =
        intent.portfolio.as_deref().ok_or(Rejection::NotFound)?;
    let place = membership.map(|membership| (membership.role, membership.priority));
    if place == Some((join.role, join.priority)) {
        return Ok(Vec::new());
    }
    if portfolio.status != PortfolioStatus::Active {
        return Err(Rejection::PortfolioNotActive { status: portfolio.status.as_str().into() }.into());
    }
    if let Some(deadline) = portfolio.body.policy.deadline {
        if portfolio.is_over(now) {
            return Err(Rejection::PortfolioDeadlinePassed { deadline }.into());
        }
        if !portfolio.acts_on(&intent.created_by) {
            return Err(Rejection::anothers_member().into());
        }
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

/// Takes the intent out of a portfolio, whatever the status of the intent and of the portfolio is. A question whose deadline has
/// passed ends first: leaving must not undo a deadline that has passed.
pub(super) fn leave(
    intent: &Intent,
    portfolio_id: PortfolioId,
    by: &Principal,
    now: DateTime<Utc>,
) -> Result<Vec<Event>, Refusal> {
    if intent.portfolio.as_deref().is_none_or(|joined| joined.membership.is_none()) {
        return Err(Rejection::NotFound.into());
    }
    if let Some(open) = intent.open.as_ref().filter(|open| open.is_expired(now)) {
        return Err(expired(intent, open));
    }
    // An announced question would begin without the portfolio's deadline. So the intent may not leave after that deadline.
    if intent.announcement.is_some() {
        may_suspend(intent, now)?;
    }
    Ok(vec![Event::Left(Removed { portfolio_id, credential: by.credential })])
}

/// Refuses a question after the deadline of a portfolio that the intent is in.
pub(super) fn may_suspend(intent: &Intent, now: DateTime<Utc>) -> Result<(), Rejection> {
    match intent.portfolio_deadline() {
        Some(PortfolioDeadline { at, .. }) if at <= now => Err(Rejection::PortfolioDeadlinePassed { deadline: at }),
        Some(_) | None => Ok(()),
    }
}

/// If these events make the intent wait for a person, or go on, adds an event about that for each portfolio of the intent. Adds
/// nothing if one question replaces another, or if the intent ends. `suspended_member_count` counts this intent alone here; the
/// store adds the other intents of the portfolio.
pub(super) fn with_members_told(intent: &Intent, mut events: Vec<Event>, now: DateTime<Utc>) -> Vec<Event> {
    if intent.member_of.is_empty() {
        return events;
    }
    let asked = events.iter().find_map(asked_by);
    let open = intent.open.as_ref().map(|open| open.id);
    let ended = events.iter().find_map(|event| ending_of(event, now).filter(|(id, _)| Some(*id) == open));
    let goes_on = !events.iter().any(Event::ends_intent);
    let change = |&MemberOf { portfolio_id, .. }: &MemberOf| match (asked, &ended) {
        (Some(suspension_id), None) => {
            Some(MemberEvent::Suspended(MemberSuspended { portfolio_id, suspension_id, suspended_member_count: 1 }))
        }
        (None, Some((suspension_id, ending))) if goes_on => Some(MemberEvent::Resumed(MemberResumed {
            portfolio_id,
            suspension_id: *suspension_id,
            suspended_member_count: 0,
            resolution: ending.resolution,
        })),
        (_, _) => None,
    };
    events.extend(intent.member_of.iter().filter_map(change).map(Event::Member));
    events
}

/// The question that an event asks, if the intent waits for its answer.
fn asked_by(event: &Event) -> Option<SuspensionId> {
    let Event::Suspended(suspension, _) = event else { return None };
    suspension.kind.stops_intent().then_some(suspension.id)
}
