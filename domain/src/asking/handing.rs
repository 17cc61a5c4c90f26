//! Claims, delegations and reassignments of open questions, as they are requested.

use crate::asking::assigning;
use crate::base::field::FieldError;
use crate::base::ids::SuspensionId;
use crate::intent::command::Command;
use crate::intent::hands::{Hand, HandFacts, HandStep};
use crate::people::person::address_in;
use crate::wire::{DelegateRequest, ReassignRequest};

/// A person changes in whose hands a question is.
pub fn hand(suspension_id: SuspensionId, step: HandStep) -> Command {
    Command::Hand(Box::new(Hand { suspension_id, step, facts: HandFacts::default() }))
}

/// A person hands the own place to another.
///
/// # Errors
///
/// A text that is no plain address.
pub fn delegating(suspension_id: SuspensionId, body: &DelegateRequest) -> Result<Command, Vec<FieldError>> {
    let to = address_in("to", &body.to).map_err(|error| vec![error])?;
    Ok(hand(suspension_id, HandStep::Delegate { to }))
}

/// A question is assigned to other people.
///
/// # Errors
///
/// Every field that breaks a rule which does not depend on the directory.
pub fn reassigning(suspension_id: SuspensionId, body: ReassignRequest) -> Result<Command, Vec<FieldError>> {
    let assignees = assigning::assignees(body.assignees)?;
    Ok(hand(suspension_id, HandStep::Reassign { assignees }))
}
