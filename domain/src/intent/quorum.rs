//! Questions that several people answer together: each answer is counted, and the one that completes the quorum ends the question.

use serde_json::{Map, Value};

use crate::intent::Intent;
use crate::intent::command::Respond;
use crate::intent::event::{Agreed, AnswerCounted, AnswerTakenBack, Event, Resumed};
use crate::intent::refusal::{ANSWERED, goes_on};
use crate::people::answerer::Answerer;
use crate::people::principal::{Principal, Role};
use crate::problem::Rejection;
use crate::suspension::Suspension;
use crate::suspension::quorum::{Counted, Quorum, each_gateway_once};

type Action = Map<String, Value>;

/// Counts an answer that has passed every other check. No event if the person has given this very answer already.
pub(super) fn count(
    intent: &Intent,
    open: &Suspension,
    quorum: &Quorum,
    mut answer: Resumed,
    respond: &Respond,
    by: &Principal,
) -> Result<Vec<Event>, Rejection> {
    let Answerer { address: person, groups, .. } = respond.answerer.clone().ok_or(Rejection::NotAssigned)?;
    let value = respond.value.clone().unwrap_or_default();
    let place = respond.in_place_of.as_ref().unwrap_or(&person).clone();
    // One person counts once, and so does one place.
    let counts = |counted: &&Counted| counted.person != person && counted.place() != place && counted.may_answer;
    let others = || open.counted.iter().filter(counts);
    let gateway = by.key_id().filter(|_| by.role == Role::Channel);
    // Every person behind a gateway is known only by the word of the gateway.
    if gateway.is_some() && others().any(|counted| counted.gateway == gateway) {
        return Err(Rejection::GatewayCounted);
    }
    let agrees = |counted: &&Counted| quorum.is_alike(counted, &value, answer.action.as_ref());
    let agreeing = each_gateway_once(others().filter(agrees), gateway);
    let with_groups: Vec<&[String]> =
        agreeing.iter().map(|counted| counted.groups.as_slice()).chain([groups.as_slice()]).collect();
    if !quorum.is_met_by(&value, &with_groups) {
        // The same answer again changes nothing, unless it completes the quorum: a person may have joined a group in between.
        let is_same = |counted: &Counted| {
            counted.person == person && counted.value == value && counted.may_answer && counted.is_about(answer.action.as_ref())
        };
        if open.counted.iter().any(is_same) {
            return Ok(Vec::new());
        }
        let tally = quorum.tally(&value, &with_groups);
        let clears = cleared(open, quorum, &person, &value, answer.action.as_ref());
        return Ok(vec![Event::AnswerCounted(Box::new(AnswerCounted { answer, person, gateway, tally, clears }))]);
    }
    let earlier = agreeing.iter().map(|counted| Agreed {
        person: counted.person.clone(),
        at: counted.at,
        in_place_of: counted.in_place_of.clone(),
    });
    answer.agreed = earlier.chain([Agreed { person, at: answer.ending.at, in_place_of: answer.in_place_of.clone() }]).collect();
    Ok(std::iter::once(Event::Resumed(Box::new(answer))).chain(goes_on(intent, open, ANSWERED)).collect())
}

/// The people whose approvals an answer clears, because it approves another action than they do.
fn cleared(open: &Suspension, quorum: &Quorum, person: &str, value: &Value, action: Option<&Action>) -> Vec<String> {
    if action.is_none() || quorum.is_refused_by(value) {
        return Vec::new();
    }
    let others = open.counted.iter().filter(|counted| counted.person != person && !quorum.is_refused_by(&counted.value));
    others.filter(|counted| !counted.is_about(action)).map(|counted| counted.person.clone()).collect()
}

/// Takes a person's own answer back.
pub(super) fn take_back(open: &Suspension, respond: &Respond, by: &Principal) -> Result<Vec<Event>, Rejection> {
    let person = respond.answerer.as_ref().map(|answerer| answerer.address.clone());
    let counted = open.counted.iter().find(|counted| Some(&counted.person) == person.as_ref());
    let counted = counted.ok_or(Rejection::NotCounted)?;
    let (suspension_id, person) = (open.id, counted.person.clone());
    let (taken_back_by, credential) = (by.subject.clone(), by.credential);
    Ok(vec![Event::AnswerTakenBack(AnswerTakenBack { suspension_id, person, taken_back_by, credential })])
}
