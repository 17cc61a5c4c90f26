//! The question that an answer names, and the person for whom the answer is given.
//!
//! Guarantee: a person who may no longer answer when the answer is recorded does not answer. Mechanism: the rows of the person and of the
//! groups to which the question is assigned are held until the transaction ends, so a change of either waits, or is seen. Failure: a
//! change that comes a moment later finds the question answered.

use domain::base::ids::SuspensionId;
use domain::intent::command::{Command, Respond};
use domain::people::answerer::answers_for;
use domain::people::authority::Ownership;
use domain::suspension::evidence::Evidence;
use domain::suspension::{Question, Suspension};
use serde_json::Value;

use super::hands::{self, hold};
use super::loaded::{Answering, Loaded};
use crate::assigning::{Met, answerer, holders, look_again, owns};
use crate::request::Request;
use crate::rows::RowsResult;
use crate::rows::prelude::*;

/// Loads the question and the person, if the request is an answer; if several people must agree, also those who have answered.
pub(super) fn load<R: Rows>(rows: &mut R, loaded: &mut Loaded, request: &Request) -> RowsResult<()> {
    if let Ok(Command::Hand(hand)) = &request.command {
        return hands::load(rows, loaded, request, hand);
    }
    let Ok(Command::Respond(respond)) = &request.command else { return Ok(()) };
    let named = SuspensionId::parse(&respond.suspension_id);
    let Some(open) = named.and_then(|id| loaded.intent.opened(id)) else { return Ok(()) };
    let id = open.id;
    let question = rows.reads().question(loaded.suspension_row(open.id)?)?;
    // A passkey signs an answer. A person who takes one back decides nothing, and may always do so.
    let assurance = question.required_assurance.filter(|_| !respond.takes_back);
    let comment_on_refusal = question.comment_on_refusal.clone();
    let hands = open.hands.clone();
    let mut answering = Answering { assurance, comment_on_refusal, hands, ..Answering::default() };
    let address = answers_for(&request.principal, respond.claimed_responded_by.as_deref());
    if open.quorum.is_some() || question.separation.is_some() {
        let askers = [&open.asked_by, &loaded.intent.created_by];
        answering.ownership = match &address {
            Some(address) if owns(rows.reads(), &askers, address)? => Ownership::Own,
            None if question.separation.is_some() => Ownership::Unknown,
            Some(_) | None => Ownership::Free,
        };
    }
    if let Some(assignees) = question.assignees.clone() {
        let groups = assignees.groups.iter().chain(open.quorum.iter().flat_map(|quorum| quorum.required_by_group.keys()));
        let groups: Vec<String> = groups.cloned().collect();
        if let Some(address) = address {
            let counted = open.counted.iter().map(|counted| counted.person.clone());
            let people = counted.chain(open.hands.holders()).chain([address.clone()]).collect();
            hold(rows, people, &groups)?;
            answering.answerer = answerer(rows.reads(), &address)?;
        }
        let mut met = Met::default();
        answering.holders = holders(rows.reads(), &mut met, &answering.hands)?;
        if let Some(open) = loaded.intent.opened_mut(id) {
            look_again(rows.reads(), &mut met, &mut open.counted, Some(&assignees), &answering.hands)?;
        }
        answering.assignees = Some(assignees);
    }
    answering.evidence = loaded.intent.opened(id).and_then(|open| evidence(open, &question, respond));
    answering.proposal = question.proposal;
    loaded.answering = answering;
    Ok(())
}

/// The hashes of an answer: those of the question as it stands, and of the action about which the answer decides.
fn evidence(open: &Suspension, question: &Question, respond: &Respond) -> Option<Evidence> {
    let shown = Evidence::of(open, question)?;
    let decided = question.proposal.as_ref().and_then(|proposal| {
        proposal.decided(&open.counted, respond.value.as_ref().unwrap_or(&Value::Null), &respond.named).ok()
    });
    // An answer that is refused has no hashes of its own.
    decided.map_or(Some(shown), |action| shown.about(&action))
}
