//! What auditors read: questions that are searched for, and the record of one intent with its verification.
//!
//! A search looks at a bounded number of questions and says how far it came, so that no request reads the whole table
//! (`docs/adr/0067-audit-pages-look-at-a-window.md`).

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, TimeDelta, Utc};
use domain::base::ids::{IntentId, SuspensionId};
use domain::base::name::is_same_in_any_case;
use domain::intent::status::Status;
use domain::log::payload::{EventBytes, Payload, Unread};
use domain::people::authority::{Action, Object, authorize};
use domain::people::hold::Hold;
use domain::people::principal::Principal;
use domain::suspension::delivery::DeliveryState;
use domain::suspension::{Question, Resolution, ResolutionReason, Suspension};
use proof::checkpoint::TreeHead;
use proof::tree::is_included;
use serde::Deserialize;
use serde_json::Value;

use crate::chain::Chain;
use crate::earlier;
use crate::error::Wanted;
use crate::proofs::log_of;
use crate::reads::browsable;
pub use crate::redactions::Erasure;
use crate::redactions::recorded;
use crate::rows::prelude::*;
use crate::rows::{Decided, Listed, LogKeyRow, Place, RowsResult, Source, SuspensionRow};
use crate::tree::{leaf_of, newest_checkpoint, tree_of};

/// How many questions one search shows at most.
pub const FOUND_MAX: usize = 25;
/// How many questions one search looks at.
pub const LOOKED_AT_MAX: u32 = 1_000;
/// How many questions a search for words looks at: it reads the event of each of them, too.
pub const LOOKED_AT_WITH_WORDS_MAX: u32 = 500;
/// How many questions are read at once.
const CHUNK: u32 = 100;
/// How many questions of one intent its record shows: the newest ones.
pub const RECORD_QUESTIONS_MAX: usize = 20;
/// The rows of questions are in the order of their times, but for the clocks of several servers.
const CLOCKS_DIFFER: TimeDelta = TimeDelta::minutes(1);

/// How a question stands, or how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It is open.
    Waiting,
    /// A person answered.
    Answered,
    /// The deadline passed, or time was lost, without an answer.
    NotAnswered,
    /// The agent or an admin took it back.
    Withdrawn,
    /// A newer question replaced it.
    Replaced,
    /// No message reached a person.
    NotReached,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Waiting, Self::Answered, Self::NotAnswered, Self::Withdrawn, Self::Replaced, Self::NotReached];

    /// The outcome of a question.
    pub fn of(suspension: &Suspension) -> Self {
        let Some(ending) = &suspension.ending else { return Self::Waiting };
        match (ending.resolution, ending.reason) {
            (Resolution::Responded, _) => Self::Answered,
            (Resolution::Expired, _)
            | (
                Resolution::Cancelled,
                Some(ResolutionReason::PortfolioDeadline | ResolutionReason::TimeLost | ResolutionReason::QuorumUnmet),
            ) => Self::NotAnswered,
            (Resolution::Cancelled, Some(ResolutionReason::Superseded)) => Self::Replaced,
            (Resolution::Cancelled, Some(ResolutionReason::Undeliverable)) => Self::NotReached,
            (Resolution::Cancelled, Some(ResolutionReason::Withdrawn) | None) => Self::Withdrawn,
        }
    }
}

/// What is searched for. Every condition must hold.
#[derive(Clone, Debug, Default)]
pub struct AuditFilter {
    /// Asked at this time or later.
    pub from: Option<DateTime<Utc>>,
    /// Asked before this time.
    pub to: Option<DateTime<Utc>>,
    /// Asked by this agent.
    pub agent: Option<String>,
    /// Sent to this person, or ended by this person.
    pub person: Option<String>,
    pub outcome: Option<Outcome>,
    /// All of these words are in the question, in any case of letters.
    pub words: Vec<String>,
    /// Only questions in rows before this one: where an earlier search stopped.
    pub before: Option<i64>,
}

/// A question that was found.
#[derive(Clone, Debug)]
pub struct FoundQuestion {
    pub suspension: Suspension,
    /// The text; absent if its event cannot be read.
    pub question: Option<String>,
    /// The people to whom messages were sent.
    pub asked: Vec<String>,
}

/// The result of a search.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Newest first.
    pub questions: Vec<FoundQuestion>,
    /// How many questions the search looked at.
    pub looked_at: u32,
    /// When the last question was asked that it looked at.
    pub looked_to: Option<DateTime<Utc>>,
    /// Where a search goes on; absent if nothing is left.
    pub next: Option<i64>,
}

/// The row before which all questions were asked before `time`: rows are in the order of their times, so it is found by halving.
pub(crate) fn row_before<R: ReadRows>(rows: &mut R, time: DateTime<Utc>) -> RowsResult<i64> {
    let (mut low, mut high) = (0, rows.newest_suspension()? + 1);
    // Rows below `low` are older than `time`, rows from `high` on are not.
    while low < high {
        let middle = low + (high - low) / 2;
        let at_or_below = rows.suspensions(Listed { before: Some(middle + 1), limit: 1, ..Listed::default() })?.pop();
        match at_or_below {
            Some(row) if row.suspension.suspended_at >= time => high = row.rid,
            Some(_) | None => low = middle + 1,
        }
    }
    Ok(low)
}

/// Searches the questions, newest first.
pub(crate) fn search<R: ReadRows>(rows: &mut R, principal: &Principal, filter: Wanted<AuditFilter>) -> Decided<Found> {
    if let Err(rejection) = authorize(principal, Action::Export, Object::Server) {
        return Ok(Err(rejection));
    }
    let filter = match filter {
        Ok(filter) => filter,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let mut before = match (filter.before, filter.to) {
        (Some(before), _) => Some(before),
        (None, Some(to)) => Some(row_before(rows, to + CLOCKS_DIFFER)?),
        (None, None) => None,
    };
    let most = if filter.words.is_empty() { LOOKED_AT_MAX } else { LOOKED_AT_WITH_WORDS_MAX };
    let mut found = Found::default();
    while found.looked_at < most {
        let chunk = rows.suspensions(Listed { before, limit: CHUNK, ..Listed::default() })?;
        let is_last = chunk.len() < CHUNK as usize;
        let mut texts = Texts::of(rows, &filter, &chunk)?;
        for row in chunk {
            if filter.from.is_some_and(|from| row.suspension.suspended_at < from - CLOCKS_DIFFER) {
                return Ok(Ok(Found { next: None, ..found }));
            }
            before = Some(row.rid);
            (found.looked_at, found.looked_to, found.next) = (found.looked_at + 1, Some(row.suspension.suspended_at), before);
            if is_wanted(&filter, &row, &texts) {
                found.questions.push(texts.found(rows, row)?);
                if found.questions.len() == FOUND_MAX {
                    return Ok(Ok(found));
                }
            }
        }
        if is_last {
            return Ok(Ok(Found { next: None, ..found }));
        }
    }
    Ok(Ok(found))
}

/// The part of a question's payload that has words. The rest is not read into values, which would take most of the time of a search.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Asked {
    question: Option<String>,
}

/// The texts and the people of a chunk of questions, read at once as far as the search needs them.
struct Texts {
    /// By the rows of their events; absent for one that is damaged.
    questions: HashMap<i64, Option<String>>,
    asked: HashMap<i64, Vec<String>>,
}

impl Texts {
    fn of<R: ReadRows>(rows: &mut R, filter: &AuditFilter, chunk: &[SuspensionRow]) -> RowsResult<Self> {
        let mut texts = Self { questions: HashMap::new(), asked: HashMap::new() };
        if !filter.words.is_empty() {
            let events: Vec<i64> = chunk.iter().map(|row| row.event).collect();
            for (event, sealed) in rows.events_at(&events)? {
                // A damaged row has no words; the record of its intent says what is wrong with it.
                let asked = sealed.is_whole().then(|| EventBytes(&sealed.bytes).read::<Asked>().unwrap_or_default());
                texts.questions.insert(event, asked.and_then(|asked| asked.question));
            }
        }
        if let (true, Some(newest), Some(oldest)) = (filter.person.is_some(), chunk.first(), chunk.last()) {
            for (suspension, recipient) in rows.asked_in(oldest.rid, newest.rid)? {
                texts.asked.entry(suspension).or_default().push(recipient);
            }
        }
        Ok(texts)
    }

    fn found<R: ReadRows>(&mut self, rows: &mut R, row: SuspensionRow) -> RowsResult<FoundQuestion> {
        let question = match self.questions.remove(&row.event) {
            Some(question) => question,
            None => rows.question(&row).ok().map(|question| question.question),
        };
        let asked = match self.asked.remove(&row.rid) {
            Some(asked) => asked,
            None => rows.asked_in(row.rid, row.rid)?.into_iter().map(|(_, recipient)| recipient).collect(),
        };
        Ok(FoundQuestion { suspension: row.suspension, question, asked })
    }
}

fn is_wanted(filter: &AuditFilter, row: &SuspensionRow, texts: &Texts) -> bool {
    let AuditFilter { from, to, agent, person, outcome, words, before: _ } = filter;
    let suspension = &row.suspension;
    let at = suspension.suspended_at;
    let is_of_person = |person: &String| {
        let ended_by = suspension.ending.as_ref().and_then(|ending| ending.by.as_ref());
        let asked = texts.asked.get(&row.rid).into_iter().flatten();
        ended_by.into_iter().chain(asked).any(|name| is_same_in_any_case(name, person))
    };
    let has = |word: &String| {
        texts
            .questions
            .get(&row.event)
            .and_then(Option::as_ref)
            .is_some_and(|text| text.to_lowercase().contains(&word.to_lowercase()))
    };
    from.is_none_or(|from| at >= from)
        && to.is_none_or(|to| at < to)
        && agent.as_ref().is_none_or(|agent| is_same_in_any_case(agent, &suspension.asked_by.name))
        && outcome.is_none_or(|outcome| Outcome::of(suspension) == outcome)
        && words.iter().all(has)
        && person.as_ref().is_none_or(is_of_person)
}

/// A message about a question.
#[derive(Clone, Debug)]
pub struct SentMessage {
    pub recipient: String,
    pub channel: String,
    pub state: DeliveryState,
    pub queued_at: DateTime<Utc>,
    /// When it was sent, or failed.
    pub settled_at: Option<DateTime<Utc>>,
}

/// One question of an intent.
#[derive(Clone, Debug)]
pub struct RecordedQuestion {
    pub suspension: Suspension,
    /// The question as it was shown; absent if its event cannot be read.
    pub question: Option<Question>,
    /// Oldest first.
    pub messages: Vec<SentMessage>,
    /// The recipients whose links opened the page, each with the first time.
    pub views: Vec<(String, DateTime<Utc>)>,
}

/// How far a log is sealed by the newest checkpoint, as it was computed from the stored bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sealing {
    /// No checkpoint covers an event of the log yet.
    NotYet,
    /// A signed checkpoint covers the events up to this one, and proves it.
    Sealed {
        /// The `sequence` of the last event that is covered.
        up_to: u64,
        /// How many leaves the checkpoint has.
        size: u64,
        /// When it was signed.
        at: DateTime<Utc>,
    },
    /// The log is not the one that was sealed, or the seal is broken.
    Broken(String),
}

/// What verification found, computed when the record was read.
#[derive(Clone, Debug)]
pub struct Verified {
    pub events: u64,
    /// The first event that is not as it was recorded, and why. It is the one behind the last event if each event is right, and the log ends
    /// elsewhere than the intent says.
    pub broken: Option<(u64, String)>,
    pub sealing: Sealing,
}

impl Verified {
    /// Whether everything that was checked is as it was recorded.
    pub fn is_whole(&self) -> bool {
        self.broken.is_none() && !matches!(self.sealing, Sealing::Broken(_))
    }

    /// The events before the one at which the chain of hashes breaks, and the others.
    pub fn split<'e>(&self, events: &'e [Value]) -> (&'e [Value], &'e [Value]) {
        let certain = self.broken.as_ref().map_or(u64::MAX, |(sequence, _)| sequence.saturating_sub(1));
        events.split_at(usize::try_from(certain).unwrap_or(usize::MAX).min(events.len()))
    }
}

/// The record of one intent.
#[derive(Clone, Debug)]
pub struct Record {
    pub intent_id: IntentId,
    pub agent: String,
    pub status: Status,
    /// The events as they are served, oldest first; null for one that cannot be read.
    pub events: Vec<Value>,
    /// Those that were asked before the chain of hashes breaks: oldest first, the newest [`RECORD_QUESTIONS_MAX`].
    pub questions: Vec<RecordedQuestion>,
    /// How many earlier questions there are.
    pub questions_left_out: usize,
    /// The legal holds that cover the intent.
    pub holds: Vec<Hold>,
    /// The erasures that the server's log records, oldest first.
    pub erasures: Vec<Erasure>,
    pub verified: Verified,
}

/// Reads the record of an intent and verifies it. `None` if the log is too long to be read at once.
pub(crate) fn record<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    id: IntentId,
    now: DateTime<Utc>,
) -> Decided<Option<Record>> {
    if let Err(rejection) = authorize(principal, Action::Export, Object::Server) {
        return Ok(Err(rejection));
    }
    let row = match browsable(rows, principal, id, now)? {
        Ok(row) => row,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let Some(log) = log_of(rows, &row)? else { return Ok(Ok(None)) };
    let broken = Chain::of(rows, &row, &log)?.broken;
    let verified = Verified { events: log.len() as u64, broken, sealing: sealing(rows, &log)? };
    let events: Vec<Value> = log.iter().map(|(_, sealed)| serde_json::from_str(&sealed.served()).unwrap_or_default()).collect();
    let (questions, questions_left_out) = questions(rows, verified.split(&events).0)?;
    let agent = row.intent.created_by.name.clone();
    let status = row.intent.status;
    let holds = rows.holds()?.into_iter().filter(|hold| hold.scope.covers(id, &agent)).collect();
    let erasures = recorded(rows, (id, row.rid))?;
    let record = Record { intent_id: id, agent, status, events, questions, questions_left_out, holds, erasures, verified };
    Ok(Ok(Some(record)))
}

/// The questions that the events of this intent asked.
fn questions<R: ReadRows>(rows: &mut R, events: &[Value]) -> RowsResult<(Vec<RecordedQuestion>, usize)> {
    let mut seen = HashSet::new();
    // The type tells: an agent can write an event with the payload of another intent's question, or of none, but not with such a type.
    let asked = events.iter().filter_map(|event| match Payload::read(event["event_type"].as_str()?, event["payload"].clone()) {
        Ok(Payload::Suspended(asked)) => Some(asked.suspension_id),
        Ok(_) | Err(_) => None,
    });
    let asked: Vec<SuspensionId> = asked.filter(|id| seen.insert(*id)).collect();
    let left_out = asked.len().saturating_sub(RECORD_QUESTIONS_MAX);
    let mut questions = Vec::new();
    for asked in asked.into_iter().skip(left_out) {
        let Some(row) = rows.suspension(asked)? else { continue };
        let mut question = rows.question(&row).ok();
        if let Some(question) = &mut question {
            earlier::read(rows, question, |_, _| Ok(true))?;
        }
        let messages = rows.deliveries(row.rid)?.into_iter().map(|(message, state)| SentMessage {
            state: state.shown(&message),
            recipient: message.recipient,
            channel: message.channel,
            queued_at: message.queued_at,
            settled_at: message.settled_at,
        });
        let messages = messages.collect();
        let views = rows.views_in(row.rid, row.rid)?.into_iter().map(|(_, recipient, at)| (recipient, at)).collect();
        questions.push(RecordedQuestion { messages, views, question, suspension: row.suspension });
    }
    Ok((questions, left_out))
}

/// Checks that the newest checkpoint is signed, and that its tree includes the last event that it covers. That event holds the hash of the
/// one before it, and so on, so its proof stands for the whole log behind it.
fn sealing<R: ReadRows>(rows: &mut R, log: &[(i64, domain::log::Sealed)]) -> RowsResult<Sealing> {
    let Some(newest) = newest_checkpoint(rows)? else { return Ok(Sealing::NotYet) };
    let broken = |why: &str| Ok(Sealing::Broken(why.to_owned()));
    // A key that has just been replaced may have signed the newest checkpoint.
    let Ok(keys) = rows.log_keys()?.iter().map(LogKeyRow::verifying).collect::<Result<Vec<_>, _>>() else {
        return broken("a public key of the log cannot be used");
    };
    match TreeHead::verify(&newest.note, &keys) {
        Ok(head) if (head.size, head.root) == (newest.size, newest.root) => {}
        Ok(_) => return broken("the newest checkpoint is not the one that was signed"),
        Err(_) => return broken("the signature of the newest checkpoint does not verify with a key of the log"),
    }
    for (place, (rid, sealed)) in log.iter().enumerate().rev() {
        let of_event = Place { source: Source::Intents, subject: 0, number: *rid };
        let Some(index) = rows.leaf_of(of_event)?.filter(|index| *index < newest.size) else { continue };
        let Ok(leaf) = leaf_of(sealed) else { return broken("the last sealed event cannot be read") };
        let Ok(path) = tree_of(rows, newest.size).inclusion(index)? else { return broken("the tree has no such leaf") };
        if !is_included(&leaf, index, &path, newest.size, newest.root) {
            return broken("the last sealed event is not the one in the tree that was signed");
        }
        return Ok(Sealing::Sealed { up_to: place as u64 + 1, size: newest.size, at: newest.created_at });
    }
    Ok(Sealing::NotYet)
}
