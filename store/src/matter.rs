//! An intent with its newest question as one matter: as callers of other protocols see it.

use chrono::{DateTime, Utc};
use domain::asking::errands::{COMMENT, RESPONSE_REJECTED, Said, misheard};
use domain::base::field::FieldError;
use domain::base::ids::IntentId;
use domain::intent::command::Suspend;
use domain::intent::fate::Fate;
use domain::intent::status::Status;
use domain::people::authority::{Action, Object, authorize};
use domain::people::principal::Principal;
use domain::problem::Rejection;
use domain::suspension::ResolutionReason;
use domain::wire::{EventView, StopRecord, SuspensionRecord};

use crate::drafts::permitted;
use crate::error::Wanted;
use crate::host::clock_watch::ClockWatch;
use crate::reads::{self, Step, Walk};
use crate::request::{Idempotency, NewPush};
use crate::rows::prelude::*;
use crate::rows::{Decided, IntentRow, ListedErrands, RowsResult, SuspensionRow};
use crate::span::TraceContext;
use crate::stopped::{open_stop, stop_of};
use crate::stopping;

/// How many errands of a list are counted.
const COUNTED_MAX: u32 = 10_000;
/// How many parents are followed from an intent to its root.
const PARENTS_MAX: usize = 64;
/// A log with so many events is read in the transaction that wrote to it, which spares a read of its own. All other writes wait meanwhile, so
/// a longer one is read later.
const SHORT_LOG_EVENTS: u64 = 12;
/// The types of the events that belong to the conversation about a matter.
const SAID: [&str; 4] = ["intent.suspended", "intent.resumed", COMMENT, RESPONSE_REJECTED];

/// A question of a caller without an intent of its own.
#[derive(Clone, Debug)]
pub struct NewErrand {
    pub principal: Principal,
    /// The id that the intent will have.
    pub id: IntentId,
    pub idempotency: Idempotency,
    /// The question, or the rules that it breaks.
    pub asked: Result<Box<Suspend>, Vec<FieldError>>,
    /// The caller's span, if it named one.
    pub trace_parent: Option<TraceContext>,
    /// The endpoint that is told of it. If it is refused, nothing is asked. A question that comes again makes none.
    pub push: Option<NewPush>,
}

/// A message to an intent.
#[derive(Clone, Debug)]
pub struct NewMessage {
    /// The words, or the rules that they break.
    pub said: Result<Said, Vec<FieldError>>,
    /// The id that the caller's protocol gave the message; empty if it gave none.
    pub message_id: String,
    pub idempotency: Option<Idempotency>,
    /// How many messages of the conversation the caller wants to see.
    pub messages: usize,
    /// The endpoint that is told of the intent from now on. If it is refused, nothing was said.
    pub push: Option<NewPush>,
    /// Whether the words count only as an answer. Words for the agent at work then have no effect, and are [`Heard::Withheld`].
    pub only_answers: bool,
}

/// Which errands are listed.
#[derive(Clone, Debug, Default)]
pub struct ErrandFilter {
    pub context_id: Option<String>,
    pub fate: Option<Fate>,
    /// Only those that changed at this time or later.
    pub since: Option<DateTime<Utc>>,
    /// The place behind which the list goes on.
    pub before: Option<ErrandPlace>,
    pub limit: u32,
    /// How many messages of the conversation about each are read.
    pub messages: usize,
}

/// A place in a list of errands. It names an errand that the list has shown, and nothing about its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrandPlace {
    at: DateTime<Utc>,
    intent: IntentId,
}

impl std::fmt::Display for ErrandPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.at.timestamp_micros(), self.intent)
    }
}

impl std::str::FromStr for ErrandPlace {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (at, intent) = text.split_once('-').ok_or(())?;
        if at.is_empty() || !at.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(());
        }
        let at = at.parse().ok().and_then(DateTime::from_timestamp_micros).ok_or(())?;
        Ok(Self { at, intent: intent.parse().map_err(|_| ())? })
    }
}

/// An intent with its newest question, as a caller of another protocol sees it.
#[derive(Clone, Debug)]
pub struct Matter {
    pub intent_id: IntentId,
    pub status: Status,
    /// When its status changed last, as far as it is known; otherwise when the intent changed last.
    pub changed_at: DateTime<Utc>,
    /// How far it is, if it is an errand.
    pub fate: Option<Fate>,
    /// The conversation to which it belongs.
    pub context_id: String,
    /// The newest question; absent if there was none.
    pub record: Option<SuspensionRecord>,
    /// Whether the caller may answer the question. Only then may it see the id of the question.
    pub may_answer: bool,
    /// The newest events in which something was said, oldest first.
    pub said: Vec<EventView>,
    /// How the words that the caller just said were taken.
    pub heard: Heard,
    /// The stop of the intent, while it is paused or parked, or its work is being ended.
    pub stop: Option<StopRecord>,
    /// Whether the caller may let the stopped intent go on. Only then may it see the id of the stop.
    pub may_resume: bool,
    /// How another principal ended the work; absent while the intent has not ended, and if its agent gave it up.
    pub ended_by: Option<Box<EndOfWork>>,
    /// The warnings about the question; in the reply to the message that asks it only.
    pub warnings: Vec<String>,
}

/// The end of the work on an intent by another principal.
#[derive(Clone, Debug)]
pub struct EndOfWork {
    /// The stop by which the work was ended.
    pub stop: StopRecord,
    /// Whether it withdrew the newest question, which was open.
    pub withdrew: bool,
}

/// How words of the caller were taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Heard {
    /// As an answer; also if nothing was said.
    #[default]
    AsAnswer,
    /// They are no answer to the question.
    NotUnderstood,
    /// The agent at work is told of them.
    ByTheAgent,
    /// They are for the agent at work, and nothing was done, because they were to count only as an answer.
    Withheld,
}

/// The work of an intent after it was stopped, or goes on.
#[derive(Clone, Debug)]
pub struct Halted {
    pub matter: Matter,
    /// The stop that began or ended; absent if an open question was answered instead.
    pub stop: Option<StopRecord>,
}

/// A page of a list of matters.
#[derive(Clone, Debug)]
pub struct MatterPage {
    pub matters: Vec<Matter>,
    /// The place behind the page, if there is more.
    pub next: Option<ErrandPlace>,
    /// How many there are in all, and at most 10,000.
    pub total: u32,
}

pub(crate) fn matter<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    id: IntentId,
    messages: Wanted<usize>,
    at: (DateTime<Utc>, &ClockWatch),
) -> Decided<Matter> {
    let row = match reads::readable(rows, principal, id, at.0)? {
        Ok(row) => row,
        Err(rejection) => return Ok(Err(rejection)),
    };
    Ok(match messages {
        Ok(messages) => Ok(matter_at(rows, principal, &row, messages, at)?),
        Err(rejection) => Err(rejection),
    })
}

pub(crate) fn matters<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    filter: Wanted<ErrandFilter>,
    at: (DateTime<Utc>, &ClockWatch),
) -> Decided<MatterPage> {
    let filter = match authorize(principal, Action::Browse, Object::Server).and(filter) {
        Ok(filter) => filter,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let ErrandFilter { context_id, fate, since, before, limit, messages } = filter;
    let before = match before {
        None => None,
        // The place of an intent that the principal may not read is as wrong as that of one which does not exist.
        Some(place) => match reads::readable(rows, principal, place.intent, at.0)? {
            Ok(row) => Some((place.at, row.rid)),
            Err(_) => return Ok(Err(Rejection::invalid("page_token", "value", "must be the nextPageToken of an earlier page"))),
        },
    };
    // One row more than the limit shows whether there is another page.
    let listed = ListedErrands {
        asker: reads::own_only(principal),
        context_id: context_id.as_deref(),
        fate,
        since,
        before,
        limit: limit + 1,
    };
    let found = rows.errands(listed)?;
    let total = rows.count_errands(ListedErrands { before: None, limit: COUNTED_MAX, ..listed })?;
    let (mut matters, mut bytes, mut taken) = (Vec::new(), 0, 0_usize);
    for errand in found.iter().take(limit as usize) {
        // A page ends early if its questions and messages are large.
        if bytes >= reads::PAGE_BYTES_MAX {
            break;
        }
        taken += 1;
        let row = rows.intent_at(errand.intent)?;
        if reads::is_shown(rows, principal, &row, at.0)? {
            let matter = matter_at(rows, principal, &row, messages, at)?;
            bytes += serde_json::to_vec(&(&matter.record, &matter.said))?.len();
            matters.push(matter);
        }
    }
    let next = match taken.checked_sub(1).filter(|_| taken < found.len()).and_then(|last| found.get(last)) {
        Some(row) => Some(ErrandPlace { at: row.changed_at, intent: rows.intent_at(row.intent)?.intent.id }),
        None => None,
    };
    Ok(Ok(MatterPage { matters, next, total }))
}

/// An intent as a matter, for a principal that may read the intent.
pub(crate) fn matter_at<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    row: &IntentRow,
    messages: usize,
    (now, watch): (DateTime<Utc>, &ClockWatch),
) -> RowsResult<Matter> {
    let newest = row.newest_suspension.map(|rid| rows.suspension_at(rid)).transpose()?;
    if let Some(newest) = &newest {
        reads::settled(rows, &newest.suspension, watch)?;
    }
    let mut may_answer = false;
    if let Some(open) = newest.as_ref().filter(|newest| newest.suspension.ending.is_none()) {
        let question = rows.question(open)?;
        may_answer = permitted(rows, principal, Action::Respond, (row, open, &question), now)?.is_ok();
    }
    let record = newest.as_ref().map(|newest| reads::record(rows, row, newest)).transpose()?;
    let errand = if row.intent.is_errand { rows.errand(row.rid)? } else { None };
    let changed_at = match (&errand, &record) {
        (Some(errand), _) => errand.changed_at,
        (None, Some(record)) => record.resolved_at.unwrap_or(record.suspended_at),
        (None, None) => row.intent.updated_at,
    };
    let (fate, context_id) = match errand {
        Some(errand) => (Some(errand.fate), errand.context_id),
        None => (None, root(rows, row)?.to_string()),
    };
    let said = said(rows, row, messages)?;
    let ended_by = ended_by(rows, row, newest.as_ref())?.map(Box::new);
    Ok(Matter { fate, context_id, record, may_answer, said, ended_by, ..bare(rows, principal, row, changed_at, now)? })
}

/// An intent as a matter, without its question, its conversation and the end of its work.
fn bare<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    row: &IntentRow,
    changed_at: DateTime<Utc>,
    now: DateTime<Utc>,
) -> RowsResult<Matter> {
    let open = open_stop(rows, row)?.map(|(_, stop)| stop);
    let may_resume = open.as_ref().map_or(Ok(false), |stop| stopping::may_resume(rows, row, stop, principal, now))?;
    Ok(Matter {
        intent_id: row.intent.id,
        status: row.intent.status,
        changed_at: open.as_ref().map_or(changed_at, |stop| changed_at.max(stop.suspension.suspended_at)),
        fate: None,
        context_id: row.intent.id.to_string(),
        record: None,
        may_answer: false,
        said: Vec::new(),
        heard: Heard::default(),
        stop: open.as_ref().map(StopRecord::of),
        may_resume,
        ended_by: None,
        warnings: Vec::new(),
    })
}

/// How another principal ended the work of an intent; `None` if the intent has not ended, or ended in another way.
fn ended_by<R: ReadRows>(rows: &mut R, row: &IntentRow, newest: Option<&SuspensionRow>) -> RowsResult<Option<EndOfWork>> {
    if row.intent.status != Status::Abandoned {
        return Ok(None);
    }
    // The question of an errand is open until the errand ends, so an end of its work withdraws it. This spares lists a read.
    let reason = newest.and_then(|newest| newest.suspension.ending.as_ref()).and_then(|ending| ending.reason);
    if row.intent.is_errand && reason != Some(ResolutionReason::Withdrawn) {
        return Ok(None);
    }
    let Some(rid) = rows.newest_ending(row.rid)? else { return Ok(None) };
    let ending = rows.suspension_at(rid)?;
    // The end of work withdraws the open question by the event just before its own. After every other withdrawal comes an event of its own
    // command, which changes the status. The times do not tell: two commands may have the same time, and a clock may be set back.
    let before = rows.event_link(ending.event)?.previous;
    let withdrew = before.is_some() && before == newest.and_then(|newest| newest.ending_event);
    Ok(Some(EndOfWork { stop: StopRecord::of(&stop_of(rows, &ending)?), withdrew }))
}

/// The matter of an intent whose work a principal has just stopped or let go on. The agent above stops the work of other agents without
/// reading their intents, so it sees the stop alone.
pub(crate) fn matter_halted<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    id: IntentId,
    at: (DateTime<Utc>, &ClockWatch),
) -> Decided<Matter> {
    match matter_of(rows, principal, id, at)? {
        Ok(matter) => Ok(Ok(matter)),
        Err(refused) => {
            let Some(row) = rows.intent(id)? else { return Ok(Err(refused)) };
            let changed_at = row.intent.updated_at;
            Ok(Ok(bare(rows, principal, &row, changed_at, at.0)?))
        }
    }
}

/// The conversation to which an intent belongs.
pub(crate) fn context_of<R: ReadRows>(rows: &mut R, row: &IntentRow) -> RowsResult<String> {
    let errand = if row.intent.is_errand { rows.errand(row.rid)? } else { None };
    match errand {
        Some(errand) => Ok(errand.context_id),
        None => Ok(root(rows, row)?.to_string()),
    }
}

/// The root above an intent, or an intent far above it.
fn root<R: ReadRows>(rows: &mut R, row: &IntentRow) -> RowsResult<IntentId> {
    let (mut id, mut rid) = (row.intent.id, row.rid);
    for _ in 0..PARENTS_MAX {
        let Some(parent) = rows.body(rid)?.parent_intent_id else { break };
        let Some(above) = rows.intent(parent)? else { break };
        (id, rid) = (parent, above.rid);
    }
    Ok(id)
}

/// The newest events in which something was said, oldest first.
fn said<R: ReadRows>(rows: &mut R, row: &IntentRow, limit: usize) -> RowsResult<Vec<EventView>> {
    let (mut found, mut bytes, mut walk) = (Vec::new(), 0, Walk::of(row));
    while found.len() < limit && bytes < reads::PAGE_BYTES_MAX {
        let Step::Event(rid, link) = walk.step(rows)? else { break };
        if !SAID.contains(&link.event_type.as_str()) {
            continue;
        }
        let event = rows.event(rid)?;
        if event.is_erased() {
            continue;
        }
        let served = event.served();
        let event: EventView = serde_json::from_str(&served)?;
        // No reader sees this refused answer among the messages.
        if event.event_type == RESPONSE_REJECTED && misheard(&event.event_type, &event.payload).is_none() {
            continue;
        }
        bytes += served.len();
        found.push(event);
    }
    found.reverse();
    Ok(found)
}

/// An intent as a matter, for the transaction that has just changed it: with its conversation only if the log is short.
pub(crate) fn matter_of<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    id: IntentId,
    at: (DateTime<Utc>, &ClockWatch),
) -> Decided<Matter> {
    let row = match reads::readable(rows, principal, id, at.0)? {
        Ok(row) => row,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let is_short = row.last_sequence <= SHORT_LOG_EVENTS;
    let messages = if is_short { reads::EVENTS_WALKED_MAX as usize } else { 0 };
    Ok(Ok(matter_at(rows, principal, &row, messages, at)?))
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_place_is_read_as_it_was_written_and_nothing_else_is() {
        let place = ErrandPlace {
            at: DateTime::from_timestamp_micros(1_790_000_000_123_456).unwrap(),
            intent: IntentId(Uuid::from_u128(42)),
        };
        assert_eq!(place.to_string().parse(), Ok(place));
        let id = IntentId(Uuid::from_u128(42));
        for text in [
            "",
            "-",
            "1",
            "1-",
            "1-2",
            "1-2-3",
            "a-b",
            &format!("-1-{id}"),
            &format!("+1-{id}"),
            &format!("99999999999999999999-{id}"),
        ] {
            assert_eq!(text.parse::<ErrandPlace>(), Err(()), "{text:?}");
        }
    }
}
