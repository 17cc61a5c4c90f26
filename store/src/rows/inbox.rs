//! The places of open questions in the inboxes of people, and the questions that people have answered.

use chrono::{DateTime, Utc};
use domain::base::name::Owner;
use domain::suspension::hands::Hands;
use domain::suspension::place::Place;
use domain::suspension::{Asker, Kind};

use super::error::RowsResult;
use super::suspensions::SuspensionRow;

/// A question, as far as lists of questions are made by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListedRow {
    /// The row of the suspension.
    pub(crate) rid: i64,
    /// The event by which it was asked, and which holds its text.
    pub(crate) event: i64,
    pub(crate) intent: i64,
    pub(crate) kind: Kind,
    pub(crate) asked_by: Asker,
    pub(crate) expires_at: Option<DateTime<Utc>>,
    pub(crate) has_quorum: bool,
    /// In whose hands it is.
    pub(crate) hands: Hands,
    /// Whether it keeps the owner of the key that asked from answering. Only the reads of a place say it.
    pub(crate) keeps_owner: bool,
}

/// A question at a place.
pub(crate) struct PlacedRow {
    /// Its time in the order of the deadlines.
    pub(crate) due_at: DateTime<Utc>,
    /// Whether it has ended: a program of an earlier version leaves the places of the questions that it ends.
    pub(crate) has_ended: bool,
    pub(crate) row: ListedRow,
}

/// Writes places and answers, in one transaction.
pub(crate) trait WriteInbox {
    /// Puts an open question at these places. A place at which it stands already is passed over. `keeps_owner` says whether the question
    /// keeps the owner of the key that asked from answering.
    fn put_in_inbox(&mut self, suspension: i64, due_at: DateTime<Utc>, places: &[String], keeps_owner: bool) -> RowsResult<()>;
    /// Gives an open question another time in the order of its places.
    fn move_in_inbox(&mut self, suspension: i64, places: &[String], from: DateTime<Utc>, to: DateTime<Utc>) -> RowsResult<()>;
    /// Takes a question from these places, at which it stands with the time `due_at`.
    fn take_from_inbox(&mut self, suspension: i64, due_at: DateTime<Utc>, places: &[String]) -> RowsResult<()>;
    /// Notes that a person, by an address in small letters, has answered a question.
    fn insert_answered(&mut self, person: &str, suspension: i64) -> RowsResult<()>;
    /// Notes that a person has taken the answer back.
    fn delete_answered(&mut self, person: &str, suspension: i64) -> RowsResult<()>;
}

/// Reads places and answers, inside a transaction that writes or outside.
pub(crate) trait ReadInbox {
    /// The questions at a place, in the order of their times, after the question in the row `after.1`, whose time is `after.0`.
    fn at_place(&mut self, place: &Place, after: Option<(DateTime<Utc>, i64)>, limit: u32) -> RowsResult<Vec<PlacedRow>>;
    /// All open questions in rows before `before`, newest first.
    fn listed_open(&mut self, before: Option<i64>, limit: u32) -> RowsResult<Vec<ListedRow>>;
    /// The questions that the person has answered, in rows before `before`, newest first.
    fn listed_answered(&mut self, person: &str, before: Option<i64>, limit: u32) -> RowsResult<Vec<ListedRow>>;
    /// Those of these suspensions towards whose quorum an answer of the person counts.
    fn counted_among(&mut self, person: &str, rids: &[i64]) -> RowsResult<Vec<i64>>;
    /// The owners of the keys that created the intents in these rows.
    fn owners_in(&mut self, intents: &[i64]) -> RowsResult<Vec<(i64, Owner)>>;
    /// The suspensions in these rows, in any order.
    fn suspensions_in(&mut self, rids: &[i64]) -> RowsResult<Vec<SuspensionRow>>;
}
