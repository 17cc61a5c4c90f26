//! The rows of people, groups, login links, sessions and passkeys as the databases hold them.

use diesel::Queryable;
use domain::base::ids::{PersonId, SessionId, SuspensionId};
use domain::base::passkey::Octets;
use domain::people::absence::Absence;
use domain::people::identity::Beginning;
use domain::people::passkey::Passkey;
use domain::people::person::Person;
use domain::people::preferences::Preferences;

use crate::rows::{Code, LoginRow, RowsError, RowsResult, SessionRow};
use crate::schema::{logins, passkeys, people, people_groups, sessions};
use crate::sql::{At, Json, Key, Written, written};

/// The columns of a person.
pub(crate) type PersonSelection = (
    people::id,
    people::address,
    people::role,
    people::added_at,
    people::added_by,
    people::confirmed_at,
    people::managed,
    people::absence,
    people::preferences,
);
pub(crate) const PERSON: PersonSelection = (
    people::id,
    people::address,
    people::role,
    people::added_at,
    people::added_by,
    people::confirmed_at,
    people::managed,
    people::absence,
    people::preferences,
);

#[derive(Queryable)]
pub(crate) struct PersonColumns {
    id: Key,
    address: String,
    role: i32,
    added_at: At,
    added_by: String,
    confirmed_at: Option<At>,
    managed: bool,
    absence: Option<Json<Absence>>,
    preferences: Option<Json<Preferences>>,
}

impl PersonColumns {
    pub(crate) fn into_person(self) -> RowsResult<Person> {
        Ok(Person {
            id: PersonId(self.id.0),
            address: self.address,
            role: Code::from_code(self.role)?,
            added_at: self.added_at.0,
            added_by: self.added_by,
            confirmed_at: self.confirmed_at.map(|at| at.0),
            managed: self.managed,
            absence: self.absence.map(|absence| absence.0),
            preferences: self.preferences.map(|preferences| preferences.0).unwrap_or_default(),
        })
    }
}

/// The preferences of a person as a row keeps them; nothing if nothing is known.
pub(crate) fn kept(preferences: &Preferences) -> serde_json::Result<Option<Written>> {
    written(Some(preferences).filter(|preferences| **preferences != Preferences::default()))
}

/// The columns of a group, without its members.
pub(crate) const GROUP: (people_groups::rid, people_groups::name, people_groups::managed) =
    (people_groups::rid, people_groups::name, people_groups::managed);

/// The columns of a login link.
pub(crate) type LoginSelection = (
    logins::id,
    logins::person,
    logins::asked_at,
    logins::expires_at,
    logins::used_at,
    logins::hash,
    logins::due_at,
    logins::tries,
    logins::lease,
    logins::question,
);
pub(crate) const LOGIN: LoginSelection = (
    logins::id,
    logins::person,
    logins::asked_at,
    logins::expires_at,
    logins::used_at,
    logins::hash,
    logins::due_at,
    logins::tries,
    logins::lease,
    logins::question,
);

#[derive(Queryable)]
pub(crate) struct LoginColumns {
    id: Key,
    person: Option<Key>,
    asked_at: At,
    expires_at: At,
    used_at: Option<At>,
    hash: Option<Vec<u8>>,
    due_at: Option<At>,
    tries: i32,
    lease: Option<Vec<u8>>,
    question: Option<Key>,
}

impl LoginColumns {
    pub(crate) fn into_row(self) -> RowsResult<LoginRow> {
        Ok(LoginRow {
            id: self.id.0,
            person: self.person.map(|id| PersonId(id.0)),
            asked_at: self.asked_at.0,
            expires_at: self.expires_at.0,
            used_at: self.used_at.map(|at| at.0),
            hash: self.hash,
            due_at: self.due_at.map(|at| at.0),
            tries: u32::try_from(self.tries).map_err(|_| RowsError::Inconsistent("a negative count"))?,
            lease: self.lease,
            question: self.question.map(|id| SuspensionId(id.0)),
        })
    }
}

/// The columns of a session.
pub(crate) type SessionSelection = (
    sessions::id,
    sessions::person,
    sessions::hash,
    sessions::began_at,
    sessions::used_at,
    sessions::ends_at,
    sessions::challenge,
    sessions::challenge_until,
    sessions::method,
    sessions::auth_time,
    sessions::recent_until,
);
pub(crate) const SESSION: SessionSelection = (
    sessions::id,
    sessions::person,
    sessions::hash,
    sessions::began_at,
    sessions::used_at,
    sessions::ends_at,
    sessions::challenge,
    sessions::challenge_until,
    sessions::method,
    sessions::auth_time,
    sessions::recent_until,
);

#[derive(Queryable)]
pub(crate) struct SessionColumns {
    id: Key,
    person: Key,
    hash: Vec<u8>,
    began_at: At,
    used_at: At,
    ends_at: At,
    challenge: Option<Vec<u8>>,
    challenge_until: Option<At>,
    method: i32,
    auth_time: Option<At>,
    recent_until: Option<At>,
}

impl SessionColumns {
    pub(crate) fn into_row(self) -> RowsResult<SessionRow> {
        Ok(SessionRow {
            id: SessionId(self.id.0),
            person: PersonId(self.person.0),
            hash: self.hash,
            began_at: self.began_at.0,
            used_at: self.used_at.0,
            ends_at: self.ends_at.0,
            challenge: self.challenge.zip(self.challenge_until.map(|at| at.0)),
            beginning: Beginning {
                method: Code::from_code(self.method)?,
                auth_time: self.auth_time.map(|at| at.0),
                recent_until: self.recent_until.map(|at| at.0),
            },
        })
    }
}

/// The columns of a passkey.
pub(crate) type PasskeySelection = (
    passkeys::credential_id,
    passkeys::person,
    passkeys::public_key,
    passkeys::algorithm,
    passkeys::rp_id,
    passkeys::counter,
    passkeys::added_at,
    passkeys::used_at,
);
pub(crate) const PASSKEY: PasskeySelection = (
    passkeys::credential_id,
    passkeys::person,
    passkeys::public_key,
    passkeys::algorithm,
    passkeys::rp_id,
    passkeys::counter,
    passkeys::added_at,
    passkeys::used_at,
);

#[derive(Queryable)]
pub(crate) struct PasskeyColumns {
    credential_id: Vec<u8>,
    person: Key,
    public_key: Vec<u8>,
    algorithm: i32,
    rp_id: String,
    counter: i64,
    added_at: At,
    used_at: Option<At>,
}

impl PasskeyColumns {
    pub(crate) fn into_passkey(self) -> RowsResult<Passkey> {
        Ok(Passkey {
            credential_id: Octets(self.credential_id),
            person: PersonId(self.person.0),
            public_key: Octets(self.public_key),
            algorithm: self.algorithm.into(),
            rp_id: self.rp_id,
            counter: u32::try_from(self.counter).map_err(|_| RowsError::Inconsistent("a counter that no passkey has"))?,
            added_at: self.added_at.0,
            used_at: self.used_at.map(|at| at.0),
        })
    }
}
