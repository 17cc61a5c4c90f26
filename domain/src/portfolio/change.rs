//! Decides which events a new portfolio, or a new status, causes.

use crate::people::principal::Principal;
use crate::portfolio::event::{Created, PortfolioEvent, StatusChanged};
use crate::portfolio::{Portfolio, PortfolioBody, PortfolioStatus};
use crate::problem::Rejection;

/// The event that begins a portfolio.
pub fn created(body: &PortfolioBody, by: &Principal) -> PortfolioEvent {
    let PortfolioBody { name, description, metadata, policy, claimed_created_by } = body.clone();
    let (governance_policy, credential) = (policy, by.credential);
    PortfolioEvent::Created(Box::new(Created { name, description, metadata, governance_policy, claimed_created_by, credential }))
}

/// Decides the effect of a new status. `incomplete` is the number of intents in the portfolio that are not completed.
///
/// A portfolio that is completed or abandoned stays so. To set the status that the portfolio already has causes no event.
///
/// # Errors
///
/// `PortfolioTransition`, or `MembersIncomplete` if its policy requires all intents to be completed.
pub fn set_status(
    portfolio: &Portfolio,
    status: PortfolioStatus,
    incomplete: usize,
    by: &Principal,
) -> Result<Vec<PortfolioEvent>, Rejection> {
    if status == portfolio.status {
        return Ok(Vec::new());
    }
    if portfolio.status != PortfolioStatus::Active {
        let (from, to) = (portfolio.status.as_str().into(), status.as_str().into());
        return Err(Rejection::PortfolioTransition { from, to });
    }
    let waits_for_all = portfolio.body.policy.require_all_completed == Some(true);
    if status == PortfolioStatus::Completed && waits_for_all && incomplete > 0 {
        return Err(Rejection::MembersIncomplete { incomplete });
    }
    let (old_status, credential) = (portfolio.status, by.credential);
    Ok(vec![PortfolioEvent::StatusChanged(StatusChanged { old_status, new_status: status, credential })])
}
