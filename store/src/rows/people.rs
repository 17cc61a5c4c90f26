//! People, their login links and their sessions.

use chrono::{DateTime, Utc};
use domain::base::ids::{PersonId, SessionId, SuspensionId};
use domain::people::identity::Beginning;
use domain::people::person::Person;
use uuid::Uuid;

use super::error::RowsResult;

/// How many login links a person asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoginsSent {
    pub(crate) all: u32,
    /// Those that were not used, and are not over.
    pub(crate) usable: u32,
}

/// A login link's row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoginRow {
    pub(crate) id: Uuid,
    /// The person; absent if no link is to be sent.
    pub(crate) person: Option<PersonId>,
    pub(crate) asked_at: DateTime<Utc>,
    pub(crate) expires_at: DateTime<Utc>,
    pub(crate) used_at: Option<DateTime<Utc>>,
    /// The hash of the token in the newest mail.
    pub(crate) hash: Option<Vec<u8>>,
    /// When the mail is sent; absent when nothing more is to be sent.
    pub(crate) due_at: Option<DateTime<Utc>>,
    pub(crate) tries: u32,
    pub(crate) lease: Option<Vec<u8>>,
    /// The question to which the person is led back.
    pub(crate) question: Option<SuspensionId>,
}

/// A session's row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SessionRow {
    pub(crate) id: SessionId,
    pub(crate) person: PersonId,
    pub(crate) hash: Vec<u8>,
    pub(crate) began_at: DateTime<Utc>,
    pub(crate) used_at: DateTime<Utc>,
    pub(crate) ends_at: DateTime<Utc>,
    /// The challenge that a passkey of the person signs next, and when it ends.
    pub(crate) challenge: Option<(Vec<u8>, DateTime<Utc>)>,
    pub(crate) beginning: Beginning,
}

/// Writes people, login links and sessions, in one transaction.
pub(crate) trait WritePeople {
    fn insert_person(&mut self, person: &Person) -> RowsResult<()>;
    /// Until the transaction ends, the person with this address, if there is one, is not changed or removed.
    fn hold_person(&mut self, address: &str) -> RowsResult<()>;
    fn confirm_person(&mut self, id: PersonId, at: DateTime<Utc>) -> RowsResult<()>;
    /// Changes the role of a person, and whether the configuration file names the person.
    fn update_person(&mut self, person: &Person) -> RowsResult<()>;
    /// Notes that a person was removed, and deletes the person's login links and sessions, and the account at an issuer.
    fn remove_person(&mut self, id: PersonId, at: DateTime<Utc>) -> RowsResult<()>;
    fn insert_login(&mut self, login: &LoginRow) -> RowsResult<()>;
    fn update_login(&mut self, login: &LoginRow) -> RowsResult<()>;
    fn delete_login(&mut self, id: Uuid) -> RowsResult<()>;
    /// Deletes login links that were asked for before this time, at most `limit`.
    fn delete_logins_before(&mut self, time: DateTime<Utc>, limit: u32) -> RowsResult<u64>;
    fn insert_session(&mut self, session: &SessionRow) -> RowsResult<()>;
    fn touch_session(&mut self, id: SessionId, at: DateTime<Utc>) -> RowsResult<()>;
    /// Keeps the challenge that a passkey of the person signs next, and when it ends, or takes it back.
    fn set_challenge(&mut self, id: SessionId, challenge: Option<(&[u8], DateTime<Utc>)>) -> RowsResult<()>;
    fn delete_session(&mut self, id: SessionId) -> RowsResult<()>;
    fn delete_sessions_of(&mut self, person: PersonId) -> RowsResult<()>;
    /// Deletes sessions that have lasted for the longest time, at most `limit`.
    fn delete_ended_sessions(&mut self, now: DateTime<Utc>, limit: u32) -> RowsResult<u64>;
}

/// Reads people, login links and sessions, inside a transaction that writes or outside. People who were removed are not found.
pub(crate) trait ReadPeople {
    /// All people, in the order in which they were added.
    fn people(&mut self) -> RowsResult<Vec<Person>>;
    /// Those of them who are out of office at some time, in the same order.
    fn people_away(&mut self) -> RowsResult<Vec<Person>>;
    fn people_count(&mut self) -> RowsResult<u32>;
    fn person(&mut self, id: PersonId) -> RowsResult<Option<Person>>;
    fn person_called(&mut self, address: &str) -> RowsResult<Option<Person>>;
    /// The login links that a person asked for since this time, and those of them that can be used now.
    fn logins_since(&mut self, person: PersonId, time: DateTime<Utc>, now: DateTime<Utc>) -> RowsResult<LoginsSent>;
    fn login(&mut self, id: Uuid) -> RowsResult<Option<LoginRow>>;
    fn login_by_hash(&mut self, hash: &[u8; 32]) -> RowsResult<Option<LoginRow>>;
    /// The login links whose mail is due first, at most `limit`.
    fn queued_logins(&mut self, limit: u32) -> RowsResult<Vec<LoginRow>>;
    /// A session with its person.
    fn session(&mut self, hash: &[u8; 32]) -> RowsResult<Option<(SessionRow, Person)>>;
    /// The session with this id.
    fn session_called(&mut self, id: SessionId) -> RowsResult<Option<SessionRow>>;
}
