//! Decides which events a new portfolio, a change of its words, data or rules, or a new status causes.

use chrono::{DateTime, TimeDelta, Utc};

use crate::people::principal::Principal;
use crate::portfolio::event::{Created, PortfolioEvent, StatusChanged, Updated};
use crate::portfolio::{
    DEADLINE_DAYS_MAX, EVENTS_MAX, Portfolio, PortfolioBody, PortfolioPolicy, PortfolioStatus, PortfolioUpdate,
};
use crate::problem::Rejection;

/// The event that begins a portfolio.
///
/// # Errors
///
/// `Invalid` for a deadline that has passed or is too far away.
pub fn created(body: &PortfolioBody, by: &Principal, now: DateTime<Utc>) -> Result<PortfolioEvent, Rejection> {
    may_end_at(&body.policy, now)?;
    let PortfolioBody { name, description, metadata, policy, claimed_created_by } = body.clone();
    let (governance_policy, credential) = (policy, by.credential);
    let created = Created { name, description, metadata, governance_policy, claimed_created_by, credential };
    Ok(PortfolioEvent::Created(Box::new(created)))
}

/// The facts about a portfolio that decide about an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateFacts {
    /// Whether it holds intents that another credential created.
    pub has_others: bool,
    /// How many events its log has.
    pub events: u64,
}

/// Decides the effect of new words, data or rules. A member of the update that equals the present one changes nothing.
///
/// # Errors
///
/// `PortfolioNotActive`; `PortfolioDeadlinePassed` if a deadline that has passed changes; `Forbidden` for a deadline over intents of
/// others; `Invalid` for a deadline that has passed or is too far away, and if the log of the portfolio is full.
pub fn update(
    portfolio: &Portfolio,
    update: &PortfolioUpdate,
    facts: UpdateFacts,
    by: &Principal,
    now: DateTime<Utc>,
) -> Result<Vec<PortfolioEvent>, Rejection> {
    let body = &portfolio.body;
    let PortfolioUpdate { name, description, metadata, policy } = update.clone();
    let updated = Updated {
        name: name.filter(|name| *name != body.name),
        description: description.filter(|description| *description != body.description),
        metadata: metadata.filter(|metadata| *metadata != body.metadata),
        governance_policy: policy.filter(|policy| *policy != body.policy),
        credential: by.credential,
    };
    if (Updated { credential: by.credential, ..Updated::default() }) == updated {
        return Ok(Vec::new());
    }
    if portfolio.status != PortfolioStatus::Active {
        return Err(Rejection::PortfolioNotActive { status: portfolio.status.as_str().into() });
    }
    if facts.events + 1 >= EVENTS_MAX {
        let message = format!("a portfolio changes at most {} times", EVENTS_MAX - 2);
        return Err(Rejection::invalid("portfolio_id", "count", message));
    }
    if let Some(policy) = &updated.governance_policy
        && policy.deadline != body.policy.deadline
    {
        // A deadline that has passed may have ended questions already, and ends the others now.
        if let Some(deadline) = body.policy.deadline.filter(|_| portfolio.is_over(now)) {
            return Err(Rejection::PortfolioDeadlinePassed { deadline });
        }
        if policy.deadline.is_some() && facts.has_others {
            return Err(Rejection::anothers_member());
        }
        may_end_at(policy, now)?;
    }
    Ok(vec![PortfolioEvent::Updated(Box::new(updated))])
}

/// Refuses a deadline that has passed or is too far away.
fn may_end_at(policy: &PortfolioPolicy, now: DateTime<Utc>) -> Result<(), Rejection> {
    let is_possible = |at: DateTime<Utc>| now < at && at <= now + TimeDelta::days(i64::from(DEADLINE_DAYS_MAX));
    if policy.deadline.is_none_or(is_possible) {
        return Ok(());
    }
    let message = format!("must be in the future, and at most {DEADLINE_DAYS_MAX} days from now");
    Err(Rejection::invalid("governance_policy.deadline", "range", message))
}

/// The facts about the intents of a portfolio that decide about its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusFacts {
    /// How many are not completed.
    pub incomplete: usize,
    /// Whether a question is open that the deadline of the portfolio would end.
    pub has_open_questions: bool,
}

/// Decides the effect of a new status.
///
/// A portfolio that is completed or abandoned stays so. To set the status that the portfolio already has causes no event.
///
/// # Errors
///
/// `PortfolioTransition`; `MembersIncomplete` if its policy requires all intents to be completed; `PortfolioDeadlinePassed` while the
/// deadline has passed and has not ended all questions yet.
pub fn set_status(
    portfolio: &Portfolio,
    status: PortfolioStatus,
    facts: StatusFacts,
    by: &Principal,
    now: DateTime<Utc>,
) -> Result<Vec<PortfolioEvent>, Rejection> {
    if status == portfolio.status {
        return Ok(Vec::new());
    }
    if portfolio.status != PortfolioStatus::Active {
        let (from, to) = (portfolio.status.as_str().into(), status.as_str().into());
        return Err(Rejection::PortfolioTransition { from, to });
    }
    // The deadline ends these questions in a moment. Ending the portfolio first would let them live on.
    if let Some(deadline) = portfolio.body.policy.deadline.filter(|_| facts.has_open_questions && portfolio.is_over(now)) {
        return Err(Rejection::PortfolioDeadlinePassed { deadline });
    }
    let StatusFacts { incomplete, .. } = facts;
    let waits_for_all = portfolio.body.policy.require_all_completed == Some(true);
    if status == PortfolioStatus::Completed && waits_for_all && incomplete > 0 {
        return Err(Rejection::MembersIncomplete { incomplete });
    }
    let (old_status, credential) = (portfolio.status, by.credential);
    Ok(vec![PortfolioEvent::StatusChanged(StatusChanged { old_status, new_status: status, credential })])
}
