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
    pub(crate) has_ended: bool,
}

/// Two marks of a question at a place, by which a list need not read the question itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlaceMarks {
    /// Whether it keeps the owner of the key that asked from answering.
    pub(crate) keeps_owner: bool,
    /// Whether it waits for each person at the place: it has no quorum, keeps no owner out, and no place of it was handed on. A program
    /// of an earlier version does not say so.
    pub(crate) is_plain: bool,
}

/// A question at a place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlacedRow {
    /// Its time in the order of the deadlines.
    pub(crate) due_at: DateTime<Utc>,
    /// The row of the suspension.
    pub(crate) rid: i64,
    pub(crate) marks: PlaceMarks,
}

/// Writes places and answers, in one transaction.
pub(crate) trait WriteInbox {
    /// Puts an open question at these places. A place at which it stands already is passed over.
    fn put_in_inbox(&mut self, suspension: i64, due_at: DateTime<Utc>, places: &[String], marks: PlaceMarks) -> RowsResult<()>;
    /// Notes at these places that the question does not wait for each person there any more.
    fn mark_in_inbox(&mut self, suspension: i64, due_at: DateTime<Utc>, places: &[String]) -> RowsResult<()>;
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
    /// The rows of all open questions before the row `before`, newest first.
    fn open_questions(&mut self, before: Option<i64>, limit: u32) -> RowsResult<Vec<i64>>;
    /// The rows of the questions that the person has answered, before the row `before`, newest first.
    fn answered_by(&mut self, person: &str, before: Option<i64>, limit: u32) -> RowsResult<Vec<i64>>;
    /// The questions in these rows, in any order.
    fn listed(&mut self, rids: &[i64]) -> RowsResult<Vec<ListedRow>>;
    /// Those of these suspensions towards whose quorum an answer of the person counts.
    fn counted_among(&mut self, person: &str, rids: &[i64]) -> RowsResult<Vec<i64>>;
    /// The owners of the keys that created the intents in these rows.
    fn owners_in(&mut self, intents: &[i64]) -> RowsResult<Vec<(i64, Owner)>>;
    /// The suspensions in these rows, in any order.
    fn suspensions_in(&mut self, rids: &[i64]) -> RowsResult<Vec<SuspensionRow>>;
}
