//! Passkeys of people, and the answers that they sign.
//!
//! Guarantee: a passkey is added or removed only by its person, with a passkey that the person has already, or by an admin; and an
//! answer counts as signed only if a passkey of the link's person signed exactly this answer to this question. Mechanism: the challenge
//! of a change is kept with the session and used once; the challenge of an answer is computed from the question that the transaction
//! holds. Failure: what does not fit is refused with its reason, and nothing has changed but that the challenge of a change is used up.

use std::borrow::Cow;

use chrono::{DateTime, TimeDelta, Utc};
use domain::base::ids::{SessionId, SuspensionId};
use domain::base::passkey::{Assertion, KnownPasskey, Octets, Site};
use domain::base::passkey_fault::PasskeyFault;
use domain::intent::command::{Command, Respond};
use domain::people::authority::{Action, Object, authorize};
use domain::people::event::{PasskeyAdded, PasskeyRemoved, ServerEvent};
use domain::people::passkey::{PASSKEYS_MAX, Passkey};
use domain::people::person::Person;
use domain::people::principal::{Assurance, Credential, Principal};
use domain::problem::Rejection;
use domain::suspension::evidence::Evidence;
use domain::suspension::{Question, RequiredAssurance};
use proof::passkey::{PasskeyError, Place, advances, register, verify};

use super::loaded::Loaded;
use super::server_log;
use crate::assigning::{listed, signer_of};
use crate::error::Wanted;
use crate::passkey::{NewPasskey, PasskeyChallenge, Signer};
use crate::request::Request;
use crate::rows::prelude::*;
use crate::rows::{Decided, RowsResult};
use crate::surroundings::Env;

/// How long the challenge of a change can be used.
const CHALLENGE_LASTS: TimeDelta = TimeDelta::minutes(5);

/// The person who logged in.
struct Own {
    session: SessionId,
    person: Person,
    passkeys: Vec<Passkey>,
    challenge: Option<(Vec<u8>, DateTime<Utc>)>,
}

fn refused(reason: PasskeyFault) -> Rejection {
    Rejection::PasskeyRefused { reason }
}

/// Why a passkey is not accepted that does not pass the checks of the standard.
fn fault(error: PasskeyError) -> PasskeyFault {
    match error {
        PasskeyError::AuthenticatorData => PasskeyFault::AuthenticatorData,
        PasskeyError::PublicKey => PasskeyFault::PublicKey,
        PasskeyError::ClientData => PasskeyFault::ClientData,
        PasskeyError::Ceremony => PasskeyFault::Ceremony,
        PasskeyError::Challenge => PasskeyFault::Challenge,
        PasskeyError::Origin => PasskeyFault::Origin,
        PasskeyError::RpId => PasskeyFault::OtherDomain,
        PasskeyError::NotPresent => PasskeyFault::NotPresent,
        PasskeyError::NotVerified => PasskeyFault::NotVerified,
        PasskeyError::OtherPerson => PasskeyFault::OtherPerson,
        PasskeyError::Signature => PasskeyFault::Signature,
    }
}

/// Finds the person who logged in; `None` for every other principal.
fn own<R: ReadRows>(rows: &mut R, principal: &Principal) -> RowsResult<Option<Own>> {
    let Some(id) = principal.session_id() else { return Ok(None) };
    let Some(session) = rows.session_called(id)? else { return Ok(None) };
    let Some(person) = rows.person(session.person)? else { return Ok(None) };
    let passkeys = rows.passkeys_of(person.id)?;
    Ok(Some(Own { session: id, person, passkeys, challenge: session.challenge }))
}

pub(crate) fn list_own<R: ReadRows>(rows: &mut R, principal: &Principal) -> Decided<Vec<Passkey>> {
    Ok(own(rows, principal)?.map(|own| own.passkeys).ok_or(Rejection::NotFound))
}

/// Gives out a challenge, in place of the one that the session had.
pub(crate) fn challenge<R: Rows>(rows: &mut R, env: &Env<'_>, principal: &Principal) -> Decided<PasskeyChallenge> {
    let Some(Own { session, person, passkeys, .. }) = own(rows.reads(), principal)? else { return Ok(Err(Rejection::NotFound)) };
    let challenge = env.entropy.bytes32();
    rows.set_challenge(session, Some((&challenge, env.clock.now() + CHALLENGE_LASTS)))?;
    Ok(Ok(PasskeyChallenge { challenge, person: person.id, passkeys }))
}

/// The person who logged in and the challenge that was given out, which is used up now.
fn begun<'a, R: Rows>(rows: &mut R, env: &Env<'a>, principal: &Principal) -> Decided<(Own, [u8; 32], &'a Site)> {
    // The log's row is locked first: of two changes with one challenge, the second waits here, and then finds it used.
    server_log::begin(rows, env)?;
    let Some(mut own) = own(rows.reads(), principal)? else { return Ok(Err(Rejection::NotFound)) };
    let Some(site) = env.site else { return Ok(Err(refused(PasskeyFault::NoDomain))) };
    let given = own.challenge.take();
    rows.set_challenge(own.session, None)?;
    let challenge = given.filter(|(_, until)| env.clock.now() < *until).and_then(|(challenge, _)| challenge.try_into().ok());
    Ok(challenge.map(|challenge| (own, challenge, site)).ok_or_else(|| refused(PasskeyFault::OpenTooLong)))
}

/// Finds the passkey that made an assertion, among those that may, and verifies it. Gives the passkey and its new counter.
fn signer<'a>(
    passkeys: &'a [Passkey],
    assertion: &Assertion,
    challenge: &[u8; 32],
    site: &Site,
) -> Result<(&'a Passkey, u32), Rejection> {
    let passkey = passkeys.iter().find(|passkey| passkey.credential_id == assertion.credential_id);
    let passkey = passkey.ok_or_else(|| refused(PasskeyFault::NotOwn))?;
    let counter = verify(assertion, challenge, &passkey.public_key, Place::Site(site)).map_err(|error| refused(fault(error)))?;
    if !advances(passkey.counter, counter) {
        return Err(refused(PasskeyFault::Copied));
    }
    Ok((passkey, counter))
}

/// Adds a passkey of the person who logged in.
pub(crate) fn add<R: Rows>(rows: &mut R, env: &Env<'_>, principal: &Principal, new: &Wanted<NewPasskey>) -> Decided<Passkey> {
    let (own, challenge, site) = match begun(rows, env, principal)? {
        Ok(begun) => begun,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let new = match new {
        Ok(new) => new,
        Err(rejection) => return Ok(Err(rejection.clone())),
    };
    let allowed_by = match (own.passkeys.as_slice(), &new.allowed_by) {
        ([], _) => None,
        (_, None) => return Ok(Err(refused(PasskeyFault::NotAllowed))),
        (passkeys, Some(assertion)) => match signer(passkeys, assertion, &challenge, site) {
            Ok(signer) => Some(signer),
            Err(rejection) => return Ok(Err(rejection)),
        },
    };
    let registered = match register(&new.authenticator_data, &new.client_data_json, &challenge, site) {
        Ok(registered) => registered,
        Err(error) => return Ok(Err(refused(fault(error)))),
    };
    if rows.reads().passkey(&registered.credential_id)?.is_some() {
        return Ok(Err(refused(PasskeyFault::Registered)));
    }
    if own.passkeys.len() >= PASSKEYS_MAX {
        return Ok(Err(refused(PasskeyFault::TooMany(PASSKEYS_MAX))));
    }
    let now = env.clock.now();
    if let Some((signer, counter)) = allowed_by
        && !rows.use_passkey(signer, counter, now)?
    {
        return Ok(Err(refused(PasskeyFault::AtTheSameTime)));
    }
    let passkey = Passkey {
        credential_id: registered.credential_id,
        person: own.person.id,
        public_key: registered.public_key,
        algorithm: registered.algorithm,
        rp_id: site.rp_id.clone(),
        counter: registered.counter,
        added_at: now,
        used_at: None,
    };
    let Passkey { credential_id, public_key, algorithm, rp_id, .. } = passkey.clone();
    let added = PasskeyAdded {
        person_id: own.person.id,
        person: own.person.address,
        credential_id,
        public_key,
        algorithm,
        rp_id,
        allowed_by: allowed_by.map(|(signer, _)| signer.credential_id.clone()),
        credential: principal.credential,
    };
    server_log::append(rows, env, &principal.name, &ServerEvent::PasskeyAdded(added))?;
    rows.insert_passkey(&passkey)?;
    Ok(Ok(passkey))
}

/// Removes a passkey of the person who logged in.
pub(crate) fn remove<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    principal: &Principal,
    removed: &Wanted<(Octets, Assertion)>,
) -> Decided<()> {
    let (own, challenge, site) = match begun(rows, env, principal)? {
        Ok(begun) => begun,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let (id, assertion) = match removed {
        Ok(removed) => removed,
        Err(rejection) => return Ok(Err(rejection.clone())),
    };
    // A person who got hold of the session alone could remove all passkeys, and then add one as the first.
    let (signer, counter) = match signer(&own.passkeys, assertion, &challenge, site) {
        Ok(signer) => signer,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let Some(passkey) = own.passkeys.iter().find(|passkey| passkey.credential_id == *id) else {
        return Ok(Err(Rejection::NotFound));
    };
    if !rows.use_passkey(signer, counter, env.clock.now())? {
        return Ok(Err(refused(PasskeyFault::AtTheSameTime)));
    }
    end(rows, env, principal, &own.person, passkey)?;
    Ok(Ok(()))
}

/// Removes all passkeys of a person.
pub(crate) fn reset<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    principal: &Principal,
    address: &Wanted<String>,
) -> Decided<(Person, usize)> {
    if let Err(rejection) = authorize(principal, Action::ManageKeys, Object::Server) {
        return Ok(Err(rejection));
    }
    let address = match address {
        Ok(address) => address,
        Err(rejection) => return Ok(Err(rejection.clone())),
    };
    server_log::begin(rows, env)?;
    let Some(person) = rows.reads().person_called(address)? else { return Ok(Err(Rejection::NotFound)) };
    let count = end_all(rows, env, principal, &person)?;
    Ok(Ok((person, count)))
}

/// Removes all passkeys of a person; gives how many there were.
pub(super) fn end_all<R: Rows>(rows: &mut R, env: &Env<'_>, principal: &Principal, person: &Person) -> RowsResult<usize> {
    let passkeys = rows.reads().passkeys_of(person.id)?;
    for passkey in &passkeys {
        end(rows, env, principal, person, passkey)?;
    }
    Ok(passkeys.len())
}

fn end<R: Rows>(rows: &mut R, env: &Env<'_>, principal: &Principal, person: &Person, passkey: &Passkey) -> RowsResult<()> {
    let (person_id, person, credential_id) = (person.id, person.address.clone(), passkey.credential_id.clone());
    let removed = PasskeyRemoved { person_id, person, credential_id, credential: principal.credential };
    server_log::append(rows, env, &principal.name, &ServerEvent::PasskeyRemoved(removed))?;
    rows.delete_passkey(&passkey.credential_id)
}

/// The passkeys of all people.
pub(crate) fn known<R: ReadRows>(rows: &mut R, principal: &Principal) -> Decided<Vec<KnownPasskey>> {
    if let Err(rejection) = authorize(principal, Action::ManageKeys, Object::Server) {
        return Ok(Err(rejection));
    }
    let mut known = Vec::new();
    for person in rows.people()? {
        known.extend(rows.passkeys_of(person.id)?.iter().map(|passkey| passkey.known(&person)));
    }
    Ok(Ok(known))
}

/// The warning for the asker of a question that demands a passkey, if none of the people who are asked has one yet.
pub(super) fn warning<R: Rows>(rows: &mut R, question: &Question) -> RowsResult<Option<String>> {
    if question.required_assurance != Some(RequiredAssurance::Passkey) {
        return Ok(None);
    }
    let attempts = question.retry_policy.as_ref().map_or(1, |policy| policy.max_attempts);
    for person in question.recipients_during(1..=attempts) {
        let person = listed(rows.reads(), &person)?;
        if let Signer::Person(passkeys) = signer_of(rows.reads(), person.as_ref())?
            && !passkeys.is_empty()
        {
            return Ok(None);
        }
    }
    let text =
        "none of the people who are asked has a passkey on this server yet, so no one can answer before one of them adds one";
    Ok(Some(text.to_owned()))
}

/// A passkey that signed an answer, and its new counter.
pub(super) struct Signed {
    passkey: Passkey,
    counter: u32,
}

impl Signed {
    /// Notes that the passkey has signed. Refuses the answer if it signed another one at the same time.
    pub(super) fn note<R: Rows>(&self, rows: &mut R, now: DateTime<Utc>) -> Decided<()> {
        let is_noted = rows.use_passkey(&self.passkey, self.counter, now)?;
        Ok(if is_noted { Ok(()) } else { Err(refused(PasskeyFault::AtTheSameTime)) })
    }
}

/// Verifies the signature that came with an answer, if the question demands one. Gives the signature, if it is right; if it is not, the
/// reason, which counts only if everything else about the caller is right.
pub(super) fn signed<R: Rows>(rows: &mut R, env: &Env<'_>, loaded: &Loaded, request: &Request) -> Decided<Option<Signed>> {
    let Ok(Command::Respond(respond)) = &request.command else { return Ok(Ok(None)) };
    let Some(open) = SuspensionId::parse(&respond.suspension_id).and_then(|id| loaded.intent.opened(id)) else {
        return Ok(Ok(None));
    };
    let (Some(_), Some(assertion)) = (loaded.answering.assurance, &respond.assertion) else { return Ok(Ok(None)) };
    check(rows, env, loaded.answering.evidence, (open.id, respond, assertion), &request.principal)
}

fn check<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    evidence: Option<Evidence>,
    (id, respond, assertion): (SuspensionId, &Respond, &Assertion),
    principal: &Principal,
) -> Decided<Option<Signed>> {
    // A link names the mailbox of its person, and a session the person. No other credential comes with a passkey.
    let Some(Credential::EmailLink(_) | Credential::Session(_)) = principal.credential else { return Ok(Ok(None)) };
    let Some(site) = env.site else { return Ok(Err(refused(PasskeyFault::NoDomain))) };
    let challenge = evidence.zip(respond.value.as_ref()).and_then(|(evidence, value)| evidence.challenge(id, value));
    let Some(challenge) = challenge else { return Ok(Ok(None)) };
    let person = listed(rows.reads(), &principal.name)?;
    let Signer::Person(passkeys) = signer_of(rows.reads(), person.as_ref())? else {
        return Ok(Err(refused(PasskeyFault::NotListed)));
    };
    let signer = signer(&passkeys, assertion, &challenge, site);
    Ok(signer.map(|(passkey, counter)| Some(Signed { passkey: passkey.clone(), counter })))
}

/// The request with the assurance that the signature of a passkey gives.
pub(super) fn assured<'a>(request: &'a Request, signed: &Result<Option<Signed>, Rejection>) -> Cow<'a, Request> {
    let Ok(Some(_)) = signed else { return Cow::Borrowed(request) };
    let principal = Principal { assurance: Assurance::Passkey, ..request.principal.clone() };
    Cow::Owned(Request { principal, ..request.clone() })
}
