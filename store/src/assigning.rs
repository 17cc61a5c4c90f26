//! Reads of the people who may answer a question.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use domain::base::field::FieldError;
use domain::base::name::{Owner, is_same_in_any_case};
use domain::base::sealed::Sealed;
use domain::intent::command::Suspend;
use domain::log::payload::AnswerCounted;
use domain::people::answerer::Answerer;
use domain::people::authority::{Action, Object, authorize};
use domain::people::person::Person;
use domain::people::principal::{Principal, Role};
use domain::problem::Rejection;
use domain::suspension::assignees::Assignees;
use domain::suspension::hands::Hands;
use domain::suspension::quorum::Counted;
use domain::suspension::{Asker, Question, Suspension};

use crate::error::Wanted;
use crate::link::OutOfReach;
use crate::passkey::Signer;
use crate::rows::prelude::*;
use crate::rows::{Decided, RowsResult, SuspensionRow};

/// Why assignees are refused if each person among them is kept out.
pub(crate) const ONLY_OWNERS: &str = "must name at least one person who may answer: each person among them owns the key that asks, \
                           and the owner of that key may not answer this question";

/// Reads a question as it would be asked now: with the people who would be told.
pub(crate) fn would_ask<R: ReadRows>(rows: &mut R, principal: &Principal, suspend: Wanted<Suspend>) -> Decided<Suspend> {
    if let Err(rejection) = authorize(principal, Action::Preview, Object::Server) {
        return Ok(Err(rejection));
    }
    match suspend {
        Ok(suspend) => {
            let asker = Asker { name: principal.name.clone(), owner: principal.owner.clone() };
            // Only agents ask. The people behind the key of another role are not the people behind the agent.
            let askers: &[&Asker] = if principal.role == Role::Agent { &[&asker] } else { &[] };
            asking_assigned(rows, suspend, askers)
        }
        Err(rejection) => Ok(Err(rejection)),
    }
}

/// The question with the people who are asked. If it is assigned to people, these must exist, and no other person is asked. If several
/// people must agree, or the question keeps the owner of the key that asks from answering, the people behind `askers` are not asked.
pub(crate) fn asking_assigned<R: ReadRows>(rows: &mut R, suspend: Suspend, askers: &[&Asker]) -> Decided<Suspend> {
    let Some(assignees) = &suspend.question.assignees else {
        if suspend.question.separation.is_none() {
            return Ok(Ok(suspend));
        }
        let owned = subjects_of(rows, askers)?;
        let asking = suspend.without(|person| is_behind(askers, &owned, &person.to_lowercase()));
        return Ok(asking.map_err(|errors| Rejection::Invalid { errors }));
    };
    let groups = suspend.quorum.iter().flat_map(|quorum| quorum.required_by_group.keys());
    let mut people = match assigned(rows, assignees, groups)? {
        Ok(people) => people,
        Err(errors) => return Ok(Err(Rejection::Invalid { errors })),
    };
    if suspend.quorum.is_some() || suspend.question.separation.is_some() {
        leave_out_owners(rows, &mut people, askers)?;
        if people.is_empty() {
            let mut errors = vec![FieldError::new("assignees", "count", ONLY_OWNERS)];
            errors.extend(suspend.quorum.iter().filter_map(|quorum| quorum.can_be_met_by(&people).err()).flatten());
            return Ok(Err(Rejection::Invalid { errors }));
        }
    }
    Ok(suspend.asking(&people).map_err(|errors| Rejection::Invalid { errors }))
}

/// The subjects, in small letters, of the keys that have the owner of one of the `askers`.
fn subjects_of<R: ReadRows>(rows: &mut R, askers: &[&Asker]) -> RowsResult<Vec<String>> {
    if askers.is_empty() {
        return Ok(Vec::new());
    }
    let is_theirs = |owner: &str| askers.iter().any(|asker| is_same_in_any_case(asker.owner.as_str(), owner));
    let keys = rows.keys()?.into_iter().filter(|key| is_theirs(key.owner.as_str()));
    Ok(keys.map(|key| key.subject.to_lowercase()).collect())
}

/// Removes the people behind the `askers` from these people.
fn leave_out_owners<R: ReadRows>(rows: &mut R, people: &mut Vec<Answerer>, askers: &[&Asker]) -> RowsResult<()> {
    let owned = subjects_of(rows, askers)?;
    people.retain(|person| !is_behind(askers, &owned, &person.address));
    Ok(())
}

/// Whether the person with this address owns the key of one of the `askers`: the key names the person as its owner, or the person is the
/// subject of another key of the same owner.
fn is_behind(askers: &[&Asker], owned: &[String], address: &str) -> bool {
    askers.iter().any(|asker| asker.owner.as_str().eq_ignore_ascii_case(address))
        || owned.iter().any(|subject| subject == address)
}

/// Whether the person with this address, which is in small letters, owns the key of one of the `askers`.
pub(crate) fn owns<R: ReadRows>(rows: &mut R, askers: &[&Asker], address: &str) -> RowsResult<bool> {
    let owned = subjects_of(rows, askers)?;
    Ok(is_behind(askers, &owned, address))
}

/// The owners of keys behind which one person is.
pub(crate) struct Owned(Vec<Owner>);

/// Reads behind which owners of keys the person with this address is, which is in small letters.
pub(crate) fn owned_by<R: ReadRows>(rows: &mut R, address: &str) -> RowsResult<Owned> {
    let own = rows.keys()?.into_iter().filter(|key| key.subject.to_lowercase() == address);
    Ok(Owned(own.map(|key| key.owner).collect()))
}

impl Owned {
    /// Whether the person, whose address this is, is behind the keys of this owner; as [`is_behind`] says of an asker.
    pub(crate) fn contains(&self, owner: &Owner, address: &str) -> bool {
        owner.as_str().eq_ignore_ascii_case(address) || self.0.iter().any(|own| is_same_in_any_case(own.as_str(), owner.as_str()))
    }
}

/// The answers that count towards the quorum of an open question.
pub(crate) fn counted<R: ReadRows>(rows: &mut R, row: &SuspensionRow) -> RowsResult<Vec<Counted>> {
    #[derive(serde::Deserialize)]
    struct Event {
        payload: AnswerCounted,
    }
    if row.suspension.quorum.is_none() || row.suspension.ending.is_some() {
        return Ok(Vec::new());
    }
    let answers = rows.answers(row.rid)?;
    let mut counted = Vec::with_capacity(answers.len());
    if answers.is_empty() {
        return Ok(counted);
    }
    let events: Vec<i64> = answers.iter().map(|answer| answer.event).collect();
    let mut events: HashMap<i64, Sealed> = rows.events_at(&events)?.into_iter().collect();
    for answer in answers {
        let sealed = match events.remove(&answer.event).filter(Sealed::is_whole) {
            Some(sealed) => sealed,
            // This read says which event is damaged.
            None => rows.event(answer.event)?,
        };
        let Event { payload } = serde_json::from_slice(&sealed.bytes)?;
        let (gateway, person, id, groups) = (payload.gateway(), answer.person, answer.id, Vec::new());
        let AnswerCounted { value, responded_at: at, in_place_of, proposal: action, .. } = payload;
        counted.push(Counted { person, id, value, action, at, gateway, groups, may_answer: true, in_place_of });
    }
    Ok(counted)
}

/// The people who may answer a question with these assignees, in the order of their addresses, each with those groups that the question
/// names; the errors if a person or a group does not exist, or if no person may answer.
fn assigned<'a, R: ReadRows>(
    rows: &mut R,
    assignees: &Assignees,
    of_quorum: impl Iterator<Item = &'a String>,
) -> RowsResult<Result<Vec<Answerer>, Vec<FieldError>>> {
    let (people, mut errors) = candidates(rows, assignees, of_quorum)?;
    if people.is_empty() && errors.is_empty() {
        let message = "must name at least one person who may answer: no listed person is in these groups or has these roles";
        errors.push(FieldError::new("assignees", "count", message));
    }
    Ok(if errors.is_empty() { Ok(people) } else { Err(errors) })
}

/// The people who may answer a question with these assignees, and the errors about people and groups that do not exist.
fn candidates<'a, R: ReadRows>(
    rows: &mut R,
    assignees: &Assignees,
    of_quorum: impl Iterator<Item = &'a String>,
) -> RowsResult<(Vec<Answerer>, Vec<FieldError>)> {
    let listed: HashMap<String, Role> = rows.people()?.into_iter().map(|person| (person.address, person.role)).collect();
    let mut errors = Vec::new();
    for (index, address) in assignees.people.iter().enumerate() {
        let (rule, message) = match listed.get(address) {
            None => ("unknown", format!("{address} is no listed person")),
            Some(Role::Auditor) => ("role", format!("{address} is an auditor, and auditors answer no questions")),
            Some(_) => continue,
        };
        errors.push(FieldError::new(format!("assignees.people[{index}]"), rule, message));
    }
    let mut memberships: HashMap<String, Vec<String>> = HashMap::new();
    let of_assignees = assignees.groups.iter().enumerate().map(|(index, name)| (format!("assignees.groups[{index}]"), name));
    let of_quorum = of_quorum.map(|name| (format!("quorum.required_by_group.{name}"), name));
    for (field, name) in of_assignees.chain(of_quorum) {
        let Some(group) = rows.group(name)? else {
            errors.push(FieldError::new(field, "unknown", format!("there is no group {name}")));
            continue;
        };
        for member in group.members {
            memberships.entry(member).or_default().push(name.clone());
        }
    }
    let mut people: Vec<Answerer> = listed
        .into_iter()
        .map(|(address, role)| Answerer { groups: memberships.remove(&address).unwrap_or_default(), address, role })
        .filter(|person| person.is_among(assignees))
        .collect();
    people.sort_unstable_by(|one, other| one.address.cmp(&other.address));
    Ok((people, errors))
}

/// The people who may answer an open question that is in these hands, except the people behind `askers`; and the errors about assignees
/// that do not exist.
pub(crate) fn could_answer<R: ReadRows>(
    rows: &mut R,
    open: &Suspension,
    in_hands: (&Assignees, &Hands),
    askers: &[&Asker],
) -> RowsResult<(Vec<Answerer>, Vec<FieldError>)> {
    let (mut people, errors) = placed(rows, open, in_hands)?;
    leave_out_owners(rows, &mut people, askers)?;
    Ok((people, errors))
}

/// The people who have a place in an open question that is in these hands; and the errors about assignees that do not exist.
fn placed<R: ReadRows>(
    rows: &mut R,
    open: &Suspension,
    (assignees, hands): (&Assignees, &Hands),
) -> RowsResult<(Vec<Answerer>, Vec<FieldError>)> {
    let groups = open.quorum.iter().flat_map(|quorum| quorum.required_by_group.keys());
    let (mut people, errors) = candidates(rows, assignees, groups)?;
    people.retain(|person| !hands.has_left(&person.address));
    let holders = holders(rows, &mut Met::default(), hands)?;
    for address in hands.handed.iter().map(|handed| &handed.to) {
        let is_known = people.iter().any(|person| person.address == *address);
        let person = if is_known { None } else { answerer(rows, address)? };
        people.extend(person.filter(|person| hands.place_of(person, assignees, &holders).is_some()));
    }
    Ok((people, errors))
}

/// The counted answers of an open question, each with whether its person may still answer, and the groups of that person. A person who was
/// `met` at another question is not read again.
pub(crate) fn counted_now<R: ReadRows>(
    rows: &mut R,
    met: &mut Met,
    row: &SuspensionRow,
    question: &Question,
) -> RowsResult<Vec<Counted>> {
    let mut counted = counted(rows, row)?;
    look_again(rows, met, &mut counted, question.assignees.as_ref(), &row.suspension.hands)?;
    Ok(counted)
}

/// The listed people whom one read has met, by their addresses in small letters.
#[derive(Default)]
pub(crate) struct Met(HashMap<String, Option<(Person, Answerer)>>);

impl Met {
    /// The listed person with this address, which is in small letters.
    fn person<R: ReadRows>(&mut self, rows: &mut R, address: &str) -> RowsResult<Option<&(Person, Answerer)>> {
        let known = match self.0.entry(address.to_owned()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(match rows.person_called(address)? {
                Some(person) => Some((person.clone(), as_answerer(rows, person)?)),
                None => None,
            }),
        };
        Ok(known.as_ref())
    }
}

/// A question with its counted answers as they count at this moment.
pub(crate) fn as_it_counts<R: ReadRows>(rows: &mut R, open: &Suspension, question: &Question) -> RowsResult<Suspension> {
    let mut open = open.clone();
    look_again(rows, &mut Met::default(), &mut open.counted, question.assignees.as_ref(), &open.hands)?;
    Ok(open)
}

/// Looks again at the people who have answered: each of them must still be allowed to answer when the last one does.
///
/// An address that was removed and listed again is another person, and the answer does not count for that one.
pub(crate) fn look_again<R: ReadRows>(
    rows: &mut R,
    met: &mut Met,
    counted: &mut [Counted],
    assignees: Option<&Assignees>,
    hands: &Hands,
) -> RowsResult<()> {
    if counted.is_empty() {
        return Ok(());
    }
    let holders = holders(rows, met, hands)?;
    for counted in counted {
        let is_the_same = |person: &Person| match counted.id {
            Some(id) => person.id == id,
            // The answer was recorded by an earlier version. Times tell less: a clock can be set back.
            None => person.added_at <= counted.at,
        };
        let listed = met.person(rows, &counted.person)?.filter(|(person, _)| is_the_same(person));
        let person = listed.map(|(_, person)| person);
        let place = person.and_then(|person| match assignees {
            Some(assignees) => hands.place_of(person, assignees, &holders),
            None => Some(&person.address),
        });
        counted.may_answer = place.is_some();
        counted.in_place_of = place.filter(|place| *place != counted.person).map(str::to_owned);
        counted.groups = person.map(|person| person.groups.clone()).unwrap_or_default();
    }
    Ok(())
}

/// The listed people among those whose places in a question were handed on.
pub(crate) fn holders<R: ReadRows>(rows: &mut R, met: &mut Met, hands: &Hands) -> RowsResult<Vec<Answerer>> {
    let mut holders = Vec::new();
    for address in hands.holders() {
        holders.extend(met.person(rows, &address)?.map(|(_, person)| person.clone()));
    }
    Ok(holders)
}

/// The listed person with this address, which is in small letters.
pub(crate) fn answerer<R: ReadRows>(rows: &mut R, address: &str) -> RowsResult<Option<Answerer>> {
    rows.person_called(address)?.map(|person| as_answerer(rows, person)).transpose()
}

fn as_answerer<R: ReadRows>(rows: &mut R, person: Person) -> RowsResult<Answerer> {
    let groups = rows.groups_of(person.id)?;
    Ok(Answerer { address: person.address, role: person.role, groups })
}

/// Whether a question may be answered by the person with this address: the person has a place in it, or it is assigned to no one in
/// particular.
pub(crate) fn is_assigned_to<R: ReadRows>(rows: &mut R, hands: &Hands, question: &Question, address: &str) -> RowsResult<bool> {
    let Some(assignees) = &question.assignees else { return Ok(true) };
    let holders = holders(rows, &mut Met::default(), hands)?;
    let person = answerer(rows, &address.to_lowercase())?;
    Ok(person.is_some_and(|person| hands.place_of(&person, assignees, &holders).is_some()))
}

/// The other person in whose place the person with this address answers a question; `None` if the person has no place, or a place that no
/// other person handed on.
pub(crate) fn in_place_of<R: ReadRows>(
    rows: &mut R,
    hands: &Hands,
    question: &Question,
    address: &str,
) -> RowsResult<Option<String>> {
    let address = address.to_lowercase();
    let Some(first) = hands.place_handed_to(&address) else { return Ok(None) };
    let Some(assignees) = &question.assignees else { return Ok(Some(first.to_owned())) };
    let holders = holders(rows, &mut Met::default(), hands)?;
    let Some(person) = answerer(rows, &address)? else { return Ok(None) };
    let place = hands.place_of(&person, assignees, &holders);
    Ok(place.filter(|place| *place != address).map(str::to_owned))
}

/// Whether the person with this address may answer: the question is assigned to that person, and if several people must agree or the
/// question keeps the owner of the key that asked from answering, the person is not behind the asker.
pub(crate) fn may_answer<R: ReadRows>(rows: &mut R, row: &SuspensionRow, question: &Question, address: &str) -> RowsResult<bool> {
    let is_assigned = is_assigned_to(rows, &row.suspension.hands, question, address)?;
    Ok(is_assigned && kept_out(rows, row, question, std::iter::once(address))?.is_empty())
}

/// Those of the people with these addresses who are kept from answering because they own the key that asked, or the key that created the
/// intent. Their addresses are in small letters.
pub(crate) fn kept_out<'a, R: ReadRows>(
    rows: &mut R,
    row: &SuspensionRow,
    question: &Question,
    people: impl Iterator<Item = &'a str>,
) -> RowsResult<Vec<String>> {
    if row.suspension.quorum.is_none() && question.separation.is_none() {
        return Ok(Vec::new());
    }
    let created_by = rows.intent_at(row.intent)?.intent.created_by;
    let askers = [&row.suspension.asked_by, &created_by];
    let owned = subjects_of(rows, &askers)?;
    Ok(people.map(str::to_lowercase).filter(|address| is_behind(&askers, &owned, address)).collect())
}

/// Whether an open question that is assigned to people needs more of them than could answer it now, and why; `None` if enough could.
pub(crate) fn out_of_reach<R: ReadRows>(
    rows: &mut R,
    row: &SuspensionRow,
    question: &Question,
) -> RowsResult<Option<OutOfReach>> {
    let open = &row.suspension;
    let (Some(assignees), None) = (&question.assignees, &open.ending) else { return Ok(None) };
    if open.quorum.is_none() && is_in_reach_of_one(rows, row, question, assignees)? {
        return Ok(None);
    }
    let (mut people, _) = placed(rows, open, (assignees, &open.hands))?;
    let had_places = people.len();
    if open.quorum.is_some() || question.separation.is_some() {
        let created_by = rows.intent_at(row.intent)?.intent.created_by;
        leave_out_owners(rows, &mut people, &[&open.asked_by, &created_by])?;
    }
    let is_enough = match &open.quorum {
        Some(quorum) => quorum.can_be_met_by(&people).is_ok(),
        None => !people.is_empty(),
    };
    Ok((!is_enough).then_some(OutOfReach { keeps_owner_out: people.len() < had_places }))
}

/// Whether a person whom the question names, or a member of one of its groups, may answer it. Most questions have one of these people in
/// reach: then not all the people need to be read.
fn is_in_reach_of_one<R: ReadRows>(
    rows: &mut R,
    row: &SuspensionRow,
    question: &Question,
    assignees: &Assignees,
) -> RowsResult<bool> {
    for address in &assignees.people {
        if may_answer(rows, row, question, address)? {
            return Ok(true);
        }
    }
    for name in &assignees.groups {
        for member in rows.group(name)?.into_iter().flat_map(|group| group.members) {
            if may_answer(rows, row, question, &member)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The listed person to whom a message went, whatever the case of the address; `None` if there is none.
pub(crate) fn listed<R: ReadRows>(rows: &mut R, recipient: &str) -> RowsResult<Option<Person>> {
    rows.person_called(&recipient.to_lowercase())
}

/// The person of a link, as far as a passkey must sign the answer.
pub(crate) fn signer_of<R: ReadRows>(rows: &mut R, person: Option<&Person>) -> RowsResult<Signer> {
    Ok(match person.filter(|person| person.confirmed_at.is_some()) {
        Some(person) => Signer::Person(rows.passkeys_of(person.id)?),
        None => Signer::Unknown,
    })
}
