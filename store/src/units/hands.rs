//! In whose hands an open question is: claims, places that are handed on, and reassignments.
//!
//! Guarantee: a person who is handed a place, or to whom a question is reassigned, may answer at that moment, and is told of the question.
//! Mechanism: the rows of the people and groups are held until the transaction ends, and the message is a row of the same transaction.
//! Failure: a person who leaves a moment later does not answer, because each answer looks again.

use domain::base::field::FieldError;
use domain::base::ids::SuspensionId;
use domain::intent::hands::{Hand, HandFacts, HandStep, HandsEvent};
use domain::people::answerer::{Answerer, answers_for};
use domain::people::authority::Ownership;
use domain::problem::Rejection;
use domain::suspension::assignees::Assignees;
use domain::suspension::hands::Hands;
use domain::suspension::{Asker, NOTIFY_TO_MAX, Suspension};
use domain::wire::SuspensionRecord;

use super::loaded::{Answering, Loaded};
use crate::Outcome;
use crate::assigning::{Met, ONLY_OWNERS, answerer, as_it_counts, could_answer, holders, owns};
use crate::request::Request;
use crate::rows::prelude::*;
use crate::rows::{Decided, RowsError, RowsResult};

/// Loads the question and the person who makes the change.
pub(super) fn load<R: Rows>(rows: &mut R, loaded: &mut Loaded, request: &Request, hand: &Hand) -> RowsResult<()> {
    load_for(rows, loaded, hand, answers_for(&request.principal, None))
}

/// Loads the question and the person whose place the change is about.
pub(super) fn load_for<R: Rows>(rows: &mut R, loaded: &mut Loaded, hand: &Hand, address: Option<String>) -> RowsResult<()> {
    let Some(open) = loaded.intent.opened(hand.suspension_id) else { return Ok(()) };
    let question = rows.reads().question(loaded.suspension_row(open.id)?)?;
    let keeps_owner = open.quorum.is_some() || question.separation.is_some();
    let (hands, assignees, assurance) = (open.hands.clone(), question.assignees, question.required_assurance);
    let mut answering = Answering { assurance, assignees, keeps_owner, hands, ..Answering::default() };
    let named = hand.step.named().iter().cloned();
    let people = named.chain(open.hands.holders()).chain(address.clone()).collect();
    let groups = answering.assignees.as_ref().map(|assignees| assignees.groups.clone()).unwrap_or_default();
    hold(rows, people, &groups)?;
    if let Some(address) = address {
        answering.answerer = answerer(rows.reads(), &address)?;
        let decides_who = matches!(hand.step, HandStep::Reassign { .. });
        if (keeps_owner || decides_who) && owns(rows.reads(), &askers(loaded, open), &address)? {
            answering.ownership = Ownership::Own;
        }
    }
    answering.holders = holders(rows.reads(), &mut Met::default(), &answering.hands)?;
    loaded.answering = answering;
    Ok(())
}

fn askers<'a>(loaded: &'a Loaded, open: &'a Suspension) -> [&'a Asker; 2] {
    [&open.asked_by, &loaded.intent.created_by]
}

/// The people who could answer a question that is in these hands.
fn people_of<R: Rows>(
    rows: &mut R,
    loaded: &Loaded,
    open: &Suspension,
    in_hands: (&Assignees, &Hands),
) -> RowsResult<(Vec<Answerer>, Vec<FieldError>)> {
    let askers = askers(loaded, open);
    // If one answer is enough, the people behind the askers may give it.
    let kept_out: &[&Asker] = if loaded.answering.keeps_owner { &askers } else { &[] };
    could_answer(rows.reads(), open, in_hands, kept_out)
}

/// The change, with what the directory says about its people.
pub(super) fn completed<R: Rows>(rows: &mut R, loaded: &Loaded, hand: &Hand) -> RowsResult<Hand> {
    let Answering { assignees, answerer: person, holders, hands, .. } = &loaded.answering;
    let (assignees, person, holders) = (assignees.clone(), person.clone(), holders.clone());
    let mut facts = HandFacts { assignees, holders, person, ..HandFacts::default() };
    for address in hand.step.named() {
        facts.named.extend(answerer(rows.reads(), address)?);
    }
    if let Some(open) = loaded.intent.opened(hand.suspension_id) {
        match &hand.step {
            HandStep::Claim | HandStep::Release => {}
            HandStep::Delegate { to } => facts.is_own = owns(rows.reads(), &askers(loaded, open), to)?,
            // The person behind the asker is no deputy in between either, because each of them chooses the next one.
            HandStep::StandIn { to, via, .. } => {
                for deputy in [to].into_iter().chain(via) {
                    facts.is_own |= owns(rows.reads(), &askers(loaded, open), deputy)?;
                }
            }
            HandStep::Reassign { assignees } => {
                let mut after = hands.clone();
                after.handed.clear();
                let (people, _) = people_of(rows, loaded, open, (assignees, &after))?;
                facts.notify_to = people.into_iter().map(|person| person.address).collect();
            }
        }
    }
    Ok(Hand { facts, ..hand.clone() })
}

/// Refuses a change that leaves too few people who could answer, or that names people and groups that do not exist.
pub(super) fn weighed<R: Rows>(rows: &mut R, loaded: &Loaded, change: &HandsEvent) -> Decided<Vec<String>> {
    let open = loaded.intent.opened(change.suspension_id());
    let open = open.ok_or(RowsError::Inconsistent("a change of a question that is not open"))?;
    let mut after = open.hands.clone();
    change.apply(&mut after, open.suspended_at);
    let (before, assignees) = (&loaded.answering.assignees, after.reassigned.as_ref().map(|new| &new.assignees));
    let Some(assignees) = assignees.or(before.as_ref()) else { return Ok(Ok(Vec::new())) };
    let (people, mut errors) = match change {
        HandsEvent::Claimed(_) | HandsEvent::Released(_) => return Ok(Ok(Vec::new())),
        HandsEvent::Delegated(_) | HandsEvent::Reassigned(_) => people_of(rows, loaded, open, (assignees, &after))?,
    };
    let is_met = |people: &[_]| open.quorum.as_ref().map_or(Ok(()), |quorum| quorum.can_be_met_by(people));
    match change {
        HandsEvent::Claimed(_) | HandsEvent::Released(_) => {}
        HandsEvent::Delegated(_) => {
            // People who were named when the question was asked may have left since. If too few are left anyway, this change does not matter.
            errors = is_met(&people).err().unwrap_or_default();
            let (people_before, _) = people_of(rows, loaded, open, (assignees, &open.hands))?;
            if is_met(&people_before).is_err() {
                errors.clear();
            }
        }
        HandsEvent::Reassigned(_) => {
            if people.is_empty() && errors.is_empty() {
                let (with_owners, _) = could_answer(rows.reads(), open, (assignees, &after), &[])?;
                errors.extend((!with_owners.is_empty()).then(|| FieldError::new("assignees", "owners", ONLY_OWNERS)));
            }
            errors.extend(is_met(&people).err().unwrap_or_default());
            if people.is_empty() && errors.is_empty() {
                let message = "must name at least one person who may answer";
                errors.push(FieldError::new("assignees", "count", message));
            }
            if people.len() > NOTIFY_TO_MAX {
                let message = format!("must name at most {NOTIFY_TO_MAX} people in all: each of them is told");
                errors.push(FieldError::new("assignees", "count", message));
            }
        }
    }
    Ok(if errors.is_empty() { Ok(Vec::new()) } else { Err(Rejection::Invalid { errors }) })
}

/// The question after the change.
pub(super) fn shown<R: Rows>(rows: &mut R, loaded: &Loaded, id: SuspensionId) -> RowsResult<Outcome> {
    let row = loaded.suspension_row(id)?;
    let question = rows.reads().question(row)?;
    let suspension = loaded.intent.suspension(id).unwrap_or(&row.suspension);
    let suspension = as_it_counts(rows.reads(), suspension, &question)?;
    let record = Box::new(SuspensionRecord::of(&suspension, &question));
    Ok(Outcome::Suspension { version: record.version, record })
}

/// Has neither these people nor these groups change until the transaction ends.
pub(super) fn hold<R: Rows>(rows: &mut R, mut people: Vec<String>, groups: &[String]) -> RowsResult<()> {
    // Every transaction holds people in the same order. Otherwise two could each wait for the other.
    people.sort_unstable();
    for address in people {
        rows.hold_person(&address)?;
    }
    rows.hold_groups(groups)
}
