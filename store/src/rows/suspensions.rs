//! Suspensions, with the span and the idempotency key under which each was asked.

use chrono::{DateTime, Utc};
use domain::base::ids::SuspensionId;
use domain::log::Hash;
use domain::log::payload::{Resumed, Suspended};
use domain::suspension::grounds::EarlierDecision;
use domain::suspension::hands::Hands;
use domain::suspension::{Kind, Question, Resolution, Suspension};

use super::error::RowsResult;
use super::events::ReadEvents;
use crate::request::Idempotency;
use crate::span::KeptTrace;

/// A suspension's row, with the ids of the rows it refers to.
#[derive(Clone, Debug)]
pub(crate) struct SuspensionRow {
    pub(crate) rid: i64,
    pub(crate) intent: i64,
    /// The event by which the question was asked, and which holds its text.
    pub(crate) event: i64,
    /// The event by which it ended; absent while it is open, and if it ended before this was kept.
    pub(crate) ending_event: Option<i64>,
    /// Where it stands in the inboxes of people as long as it is open: the texts of its [places](domain::suspension::place::Place).
    pub(crate) places: Vec<String>,
    pub(crate) suspension: Suspension,
}

/// Which suspensions to list.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Listed<'a> {
    /// Only those that this agent asked.
    pub(crate) asker: Option<&'a str>,
    /// Only requests of this kind: for approval, escalation or arbitration. They do not stop their intent.
    pub(crate) requests: Option<Kind>,
    /// Only requests of these three kinds, about the intent in this row.
    pub(crate) beside: Option<i64>,
    /// Only open ones.
    pub(crate) open: bool,
    /// Only those before this row.
    pub(crate) before: Option<i64>,
    /// The most rows.
    pub(crate) limit: u32,
}

/// Writes suspensions, in one transaction.
pub(crate) trait WriteSuspensions {
    fn insert_suspension(&mut self, row: &SuspensionRow) -> RowsResult<()>;
    /// Ends a suspension that is open, by the event in the row `event`; false if it has already ended. No other method ends one.
    fn end_suspension(&mut self, rid: i64, ended: &Suspension, event: i64) -> RowsResult<bool>;
    /// Writes the columns that may change while a suspension is open, or after: `version`, `attempt`, `reached` and `refusals`.
    fn touch_suspension(&mut self, rid: i64, suspension: &Suspension) -> RowsResult<()>;
    /// Writes when people were last reminded on request.
    fn mark_reminded(&mut self, suspension: i64, at: DateTime<Utc>) -> RowsResult<()>;
    /// Writes a later deadline.
    fn move_deadline(&mut self, suspension: i64, expires_at: DateTime<Utc>) -> RowsResult<()>;
    /// Writes in whose hands an open question is.
    fn save_hands(&mut self, suspension: i64, hands: &Hands) -> RowsResult<()>;
    /// Writes where an open question stands in the inboxes of people.
    fn save_places(&mut self, suspension: i64, places: &[String]) -> RowsResult<()>;
    /// Writes the asker's own name for questions of this kind.
    fn save_question_key(&mut self, suspension: i64, key: &str) -> RowsResult<()>;
    /// Stores the span under which the question was asked.
    fn insert_trace(&mut self, suspension: i64, context: KeptTrace) -> RowsResult<()>;
    /// Removes and returns the span under which the question was asked, if one was stored.
    fn take_trace(&mut self, suspension: i64) -> RowsResult<Option<KeptTrace>>;
    fn insert_suspension_key(&mut self, key: Idempotency, suspension: i64) -> RowsResult<()>;
}

/// An open question whose deadline never moves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FixedQuestion {
    pub(crate) rid: i64,
    pub(crate) suspended_at: DateTime<Utc>,
    pub(crate) expires_at: Option<DateTime<Utc>>,
}

/// Reads suspensions, inside a transaction that writes or outside.
pub(crate) trait ReadSuspensions: ReadEvents {
    /// The suspension with this id: a question, a request or a stop.
    fn any_suspension(&mut self, id: SuspensionId) -> RowsResult<Option<SuspensionRow>>;
    /// The question or request with this id.
    fn suspension(&mut self, id: SuspensionId) -> RowsResult<Option<SuspensionRow>> {
        Ok(self.any_suspension(id)?.filter(|row| !row.suspension.kind.is_stop()))
    }
    fn suspension_at(&mut self, rid: i64) -> RowsResult<SuspensionRow>;
    /// Lists questions and requests, newest first.
    fn suspensions(&mut self, listed: Listed<'_>) -> RowsResult<Vec<SuspensionRow>>;
    /// When questions of an intent ended without an answer, later than `since`, newest first.
    fn unanswered(&mut self, intent: i64, since: DateTime<Utc>, limit: u32) -> RowsResult<Vec<DateTime<Utc>>>;
    /// The newest decisions about questions that this asker asked under this key, the newest first, each with the row of the event that
    /// ended it; without the hashes of these events.
    fn decided(&mut self, asker: &str, question_key: &str, limit: u32) -> RowsResult<Vec<(EarlierDecision, i64)>>;
    /// How many suspensions are open: those that [`ReadSuspensions::suspensions`] lists as open.
    fn open_suspensions(&mut self) -> RowsResult<i64>;
    /// The hash of the body that came with this key, and the suspension that was asked under the key.
    fn suspension_key(&mut self, key_hash: &[u8; 32]) -> RowsResult<Option<(Vec<u8>, i64)>>;
    /// The next open suspensions after row `after` and up to `up_to`, in order: all, or those with a fallback other than `fail`.
    fn open_in(&mut self, after: i64, up_to: i64, with_fallback: bool, limit: u32) -> RowsResult<Vec<i64>>;
    /// The open suspensions behind `after` that have a fallback and a deadline that never moves, oldest first.
    fn open_fixed(&mut self, after: i64, limit: u32) -> RowsResult<Vec<FixedQuestion>>;
    /// The row of the newest suspension; 0 if there is none.
    fn newest_suspension(&mut self) -> RowsResult<i64>;
    /// The question a suspension asks, read from the event that asked it, with the people in whose hands it is now; if that was erased, a
    /// question without words.
    fn question(&mut self, row: &SuspensionRow) -> RowsResult<Question> {
        #[derive(serde::Deserialize)]
        struct Asked {
            payload: Suspended,
        }
        let event = self.event(row.event)?;
        if event.is_erased() {
            return Ok(Question::erased());
        }
        let asked: Asked = serde_json::from_slice(&event.bytes)?;
        let mut question = asked.payload.into_question();
        question.pass_to(&row.suspension.hands);
        Ok(question)
    }
    /// The accepted answer of a suspension, read from the event that recorded it, with the hash of that event; `None` if the suspension
    /// has none, if it ended before that event was kept, or if the event was erased.
    fn answer(&mut self, row: &SuspensionRow) -> RowsResult<Option<(Resumed, Hash)>> {
        #[derive(serde::Deserialize)]
        struct Answered {
            payload: Resumed,
        }
        let is_answered = row.suspension.ending.as_ref().is_some_and(|ending| ending.resolution == Resolution::Responded);
        let Some(event) = row.ending_event.filter(|_| is_answered) else { return Ok(None) };
        let event = self.event(event)?;
        if event.is_erased() {
            return Ok(None);
        }
        let answered: Answered = serde_json::from_slice(&event.bytes)?;
        Ok(Some((answered.payload, event.hash)))
    }
}
