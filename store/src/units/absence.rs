//! People who are out of office, and the places that their deputies take.
//!
//! Guarantee: while a person is out of office, each open question in which that person has a place by name moves to the deputy, who is told
//! of it; both names are in the log. Mechanism: a worker looks at the questions that wait for these people, and each question is moved by a
//! transaction that looks again. Failure: a question that cannot move, because the deputy may not have the place, stays where it is.

use chrono::{DateTime, Utc};
use domain::base::field::FieldError;
use domain::intent::command::Command;
use domain::intent::decide::decide;
use domain::intent::event::Event;
use domain::intent::hands::{Hand, HandFacts, HandStep};
use domain::people::absence::Absence;
use domain::people::answerer::answers_for;
use domain::people::authority::{Action, Object, authorize};
use domain::people::deputies::{Deputies, NoDeputy, check_deputy, deputies};
use domain::people::event::{PersonAway, PersonNamed, ServerEvent};
use domain::people::person::Person;
use domain::people::principal::{Principal, Role};
use domain::problem::Rejection;
use domain::suspension::place::Place;
use domain::wire::{OutOfOffice, PersonView};

use super::loaded::load_of;
use super::log::append;
use super::people::find;
use super::{hands, server_log};
use crate::error::Wanted;
use crate::inbox::waiting;
use crate::person::{Named, OwnAbsence};
use crate::rows::prelude::*;
use crate::rows::{Decided, RowsResult};
use crate::surroundings::Env;

/// How many questions of one person are read at once.
const QUESTIONS_PER_READ: u32 = 500;
/// How many questions of one person one look passes: those that have moved stay at the person's place in the inbox.
const QUESTIONS_PER_LOOK: u32 = 10_000;

/// A question that waits for a person who is out of office.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Awaited {
    /// The row of the question.
    pub rid: i64,
    /// The address of the person.
    pub person: String,
    /// The absence because of which the question moves: with another one, it is worth another try.
    pub absence: Absence,
}

/// Says for which time a person is out of office, or that the person is back. The person says it in a session, and admins may.
pub(crate) fn set<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    principal: &Principal,
    named: &Wanted<Named>,
    wanted: &Wanted<Option<OutOfOffice>>,
) -> Decided<PersonView> {
    let may_all = authorize(principal, Action::ManageKeys, Object::Server).and_then(|()| {
        // A stolen mailbox must not be enough to send away another person.
        if principal.session_id().is_some() { Err(Rejection::NotFound) } else { Ok(()) }
    });
    let own = answers_for(principal, None).filter(|_| principal.session_id().is_some());
    if let (Err(_), None) = (&may_all, &own) {
        return Ok(Err(Rejection::Forbidden { reason: "only the person, in a session, and admins may do this".to_owned() }));
    }
    let named = match named {
        Ok(named) => named,
        Err(rejection) => return Ok(Err(rejection.clone())),
    };
    server_log::begin(rows, env)?;
    let Some(mut person) = find(rows.reads(), named)? else { return Ok(Err(Rejection::NotFound)) };
    if may_all.is_err() && own.as_ref() != Some(&person.address) {
        return Ok(Err(Rejection::NotFound));
    }
    let wanted = match wanted {
        Ok(wanted) => wanted,
        Err(rejection) => return Ok(Err(rejection.clone())),
    };
    let people = rows.reads().people()?;
    let now = env.clock.now();
    let absence = match wanted.as_ref().map(|wanted| read(wanted, &person, &people, now)).transpose() {
        Ok(absence) => absence,
        Err(rejection) => return Ok(Err(rejection)),
    };
    if person.absence != absence {
        person.absence = absence;
        save(rows, env, principal, &person, wanted.as_ref())?;
    }
    let groups = rows.reads().groups_of(person.id)?;
    let shown = OutOfOffice::of(&person, &people, now);
    Ok(Ok(PersonView::of(person, groups, shown)))
}

/// Reads the time and the deputy of an absence. What is wrong with them is told together.
fn read(wanted: &OutOfOffice, person: &Person, people: &[Person], now: DateTime<Utc>) -> Result<Absence, Rejection> {
    let deputy = named_deputy(&wanted.deputy, people);
    // The time is looked at as well if there is no deputy.
    let of = deputy.as_ref().map_or(person.id, |deputy| deputy.id);
    let absence = Absence { from: wanted.from, until: wanted.until, deputy: of };
    let fault = deputy.err().or_else(|| check_deputy(person, &absence, people).err());
    let errors: Vec<FieldError> = absence.faults(now).into_iter().chain(fault).collect();
    if errors.is_empty() { Ok(absence) } else { Err(Rejection::Invalid { errors }) }
}

/// The person whose address was given as that of a deputy.
fn named_deputy<'a>(address: &str, people: &'a [Person]) -> Result<&'a Person, FieldError> {
    let address = address.trim().to_lowercase();
    let found = people.iter().find(|person| person.address == address);
    found.ok_or_else(|| FieldError::new("deputy", "unknown", "must be the address of a listed person"))
}

/// What is wrong with a deputy at whatever time.
fn fault_of_deputy(address: &str, person: &Person, people: &[Person], now: DateTime<Utc>) -> Option<FieldError> {
    let deputy = named_deputy(address, people);
    // In an absence that lasts no time, no deputy of a deputy is asked.
    deputy.and_then(|deputy| check_deputy(person, &Absence { from: now, until: now, deputy: deputy.id }, people)).err()
}

fn save<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    principal: &Principal,
    person: &Person,
    wanted: Option<&OutOfOffice>,
) -> RowsResult<()> {
    let (person_id, address, credential) = (person.id, person.address.clone(), principal.credential);
    let event = match (person.absence, wanted) {
        (Some(Absence { from, until, deputy: deputy_id }), Some(wanted)) => {
            let deputy = wanted.deputy.trim().to_lowercase();
            ServerEvent::PersonAway(PersonAway { person_id, address, from, until, deputy_id, deputy, credential })
        }
        (Some(_) | None, _) => ServerEvent::PersonBack(PersonNamed { person_id, address, credential }),
    };
    server_log::append(rows, env, &principal.name, &event)?;
    rows.update_person(person)
}

/// The absence of the person who has logged in, if there is one, and what is wrong with the deputy that the person has `typed`.
pub(crate) fn own<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    typed: Option<&str>,
    now: DateTime<Utc>,
) -> Decided<(Option<OwnAbsence>, Option<FieldError>)> {
    let Some(address) = answers_for(principal, None).filter(|_| principal.session_id().is_some()) else {
        return Ok(Err(Rejection::NotFound));
    };
    let Some(person) = rows.person_called(&address)? else { return Ok(Err(Rejection::NotFound)) };
    let people = rows.people()?;
    let fault = typed.and_then(|typed| fault_of_deputy(typed, &person, &people, now));
    let Some(absence) = person.absence else { return Ok(Ok((None, fault))) };
    let is_auditor = people.iter().any(|person| person.id == absence.deputy && person.role == Role::Auditor);
    Ok(Ok((OutOfOffice::of(&person, &people, now).map(|away| OwnAbsence { away, is_auditor }), fault)))
}

/// The questions that wait for people who are out of office, and have not moved yet.
pub(crate) fn awaited<R: ReadRows>(rows: &mut R, now: DateTime<Utc>) -> RowsResult<Vec<Awaited>> {
    let mut found = Vec::new();
    for person in rows.people_away()? {
        let Some(absence) = person.absence.filter(|absence| absence.is_in_force(now)) else { continue };
        let (place, mut after) = (Place::Person(person.address.clone()), None);
        for _ in 0..QUESTIONS_PER_LOOK / QUESTIONS_PER_READ {
            let read = rows.at_place(&place, after, QUESTIONS_PER_READ)?;
            let is_last = read.len() < QUESTIONS_PER_READ as usize;
            after = read.last().map(|placed| (placed.due_at, placed.rid)).or(after);
            // An answer that counts stays with the person who gave it.
            let waiting = waiting(rows, &person.address, &read)?;
            found.extend(waiting.into_iter().map(|rid| Awaited { rid, person: person.address.clone(), absence }));
            if is_last {
                break;
            }
        }
    }
    Ok(found)
}

/// The deputies of the person with this address; `None` if the person is in office, or not listed.
fn deputies_of<R: Rows>(rows: &mut R, address: &str, now: DateTime<Utc>) -> RowsResult<Option<Result<Deputies, NoDeputy>>> {
    let people = rows.reads().people()?;
    let person = people.iter().find(|person| person.address == address);
    Ok(person.and_then(|person| deputies(person, &people, now)))
}

/// Moves the place of a person who is out of office to the deputy; false if it stays.
pub(crate) fn stand_in<R: Rows>(rows: &mut R, env: &Env<'_>, awaited: &Awaited) -> RowsResult<bool> {
    let now = env.clock.now();
    let row = rows.reads().suspension_at(awaited.rid)?;
    let id = row.suspension.id;
    // This locks the intent on PostgreSQL, before people and groups, as an answer does.
    let mut loaded = load_of(rows, &row)?;
    if loaded.intent.opened(id).is_none_or(|open| open.is_expired(now)) {
        return Ok(false);
    }
    let Some(found) = deputies_of(rows, &awaited.person, now)? else { return Ok(false) };
    let Ok(deputies) = found.clone().inspect_err(|why| {
        tracing::warn!(suspension.rid = awaited.rid, why = ?why, "a person is out of office and has no deputy who is in office");
    }) else {
        return Ok(false);
    };
    let step = HandStep::StandIn { from: awaited.person.clone(), to: deputies.to, via: deputies.via };
    let hand = Hand { suspension_id: id, step, facts: HandFacts::default() };
    hands::load_for(rows, &mut loaded, &hand, Some(awaited.person.clone()))?;
    // The people are held from here on. A change that was stored before counts.
    if deputies_of(rows, &awaited.person, now)? != Some(found) || loaded.answering.is_behind_the_asker() {
        return Ok(false);
    }
    let command = Command::Hand(Box::new(hands::completed(rows, &loaded, &hand)?));
    let server = Principal::server();
    let Ok(events) = decide(&loaded.intent, &command, &server, now) else { return Ok(false) };
    if let [Event::Hands(change)] = events.as_slice()
        && hands::weighed(rows, &loaded, change)?.is_err()
    {
        return Ok(false);
    }
    append(rows, env, &mut loaded, &events, &server.name, now)?;
    Ok(!events.is_empty())
}
