//! What people look at where they work: the questions that wait for them, for their groups, and for anyone, and those that they answered.
//!
//! Guarantee: a list and its number come from one walk over the same rows, and no request walks over the whole table. Mechanism: the
//! places of open questions are rows in the order of the deadlines; the lists of a person's places are merged, and a walk looks at a
//! bounded number of questions. Failure: where the walk stops before the end, the number says that there are more, and the list goes on
//! from there (`docs/adr/0079-the-inbox-walks-places.md`).

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, TimeDelta, Utc};
use domain::base::ids::SuspensionId;
use domain::base::name::{Owner, is_same_in_any_case};
use domain::base::time::{from_micros, micros};
use domain::log::payload::{EventBytes, Suspended, Unread};
use domain::people::answerer::{Answerer, answers_for};
use domain::people::authority::{Action, Object, authorize};
use domain::people::principal::Principal;
use domain::suspension::demand::Risk;
use domain::suspension::place::Place;
use domain::suspension::{Kind, Question, Suspension, quorum};

use crate::assigning::{Met, Owned, answerer, counted_now, owned_by};
use crate::error::Wanted;
use crate::rows::prelude::*;
use crate::rows::{Decided, ListedRow, PlaceMarks, PlacedRow, RowsResult, SuspensionRow};

/// How many questions one page of a list shows.
pub const SHOWN_MAX: usize = 25;
/// Up to which number questions are counted exactly.
pub const COUNTED_MAX: u32 = 1_000;
/// How many questions one walk looks at.
pub const LOOKED_AT_MAX: u32 = 2_000;
/// How many questions a walk for words or for a risk looks at: it reads the event of each of them, too.
pub const LOOKED_AT_WITH_WORDS_MAX: u32 = 500;
/// How many questions are judged at once.
const CHUNK: usize = 250;
/// The fewest questions that are read at one place at once: a page, and one more.
const READ_MIN: u32 = 26;

/// A list of questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum List {
    /// Those that wait for the person: by name, by a group or by the role, and without an answer of the person that counts already.
    Mine,
    /// Those of them that wait for a group of the person.
    Groups,
    /// All that are open.
    Everything,
    /// Those that the person has answered.
    Done,
}

impl List {
    /// All lists, in the order in which they are shown.
    pub const ALL: [Self; 4] = [Self::Mine, Self::Groups, Self::Everything, Self::Done];
}

/// A condition on the deadline of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// It comes within this time.
    Within(TimeDelta),
    /// There is none.
    Never,
}

/// Where a list goes on: after this question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The time of the question in its place; lists without places have none.
    at: Option<DateTime<Utc>>,
    rid: i64,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Some(at) => write!(f, "{}-{}", micros(at), self.rid),
            None => write!(f, "{}", self.rid),
        }
    }
}

impl FromStr for Cursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let number = |text: &str| text.parse::<i64>().ok().filter(|number| *number >= 0).ok_or(());
        match text.split_once('-') {
            // Beyond the year 9999 there is no question, and PostgreSQL would refuse the time.
            Some((at, _)) if number(at)? > micros(crate::inbox_columns::NO_DEADLINE) => Err(()),
            Some((at, rid)) => Ok(Self { at: Some(from_micros(number(at)?)), rid: number(rid)? }),
            None => Ok(Self { at: None, rid: number(text)? }),
        }
    }
}

/// What is looked for. Every condition must hold.
#[derive(Clone, Debug)]
pub struct InboxFilter {
    pub list: List,
    /// Asked by this agent.
    pub agent: Option<String>,
    pub kind: Option<Kind>,
    pub due: Option<Due>,
    /// The agent declares this risk, or a higher one.
    pub risk: Option<Risk>,
    /// All of these words are in the question, in any case of letters.
    pub words: Vec<String>,
    /// Where an earlier page stopped.
    pub after: Option<Cursor>,
}

impl InboxFilter {
    /// All of a list, from its beginning.
    pub fn of(list: List) -> Self {
        Self { list, agent: None, kind: None, due: None, risk: None, words: Vec::new(), after: None }
    }

    /// Whether the conditions are about what stands in the events alone.
    fn reads_events(&self) -> bool {
        !self.words.is_empty() || self.risk.is_some()
    }

    /// Whether there is any condition.
    fn is_conditioned(&self) -> bool {
        self.reads_events() || self.agent.is_some() || self.kind.is_some() || self.due.is_some()
    }
}

/// How many questions a list has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// So many were counted, at most [`COUNTED_MAX`].
    pub number: u32,
    /// Whether there may be more.
    pub has_more: bool,
}

/// A question in a list.
#[derive(Clone, Debug)]
pub struct InboxQuestion {
    pub suspension: Suspension,
    /// The question as it was asked; absent if its event cannot be read, or was erased.
    pub question: Option<Question>,
    /// How far an open question is from its quorum at this moment, as its record says; absent if one answer decides it.
    pub approvals: Option<quorum::Tally>,
    /// The other person in whose place the answer was given that ended it.
    pub in_place_of: Option<String>,
}

/// One page of a list.
#[derive(Clone, Debug, Default)]
pub struct Inbox {
    /// How many questions each list has under the same conditions; absent for a list that is not counted.
    pub tallies: Vec<(List, Tally)>,
    pub questions: Vec<InboxQuestion>,
    /// How many questions the walk of the page looked at.
    pub looked_at: u32,
    /// Where the list goes on; absent if nothing is left.
    pub next: Option<Cursor>,
    pub now: DateTime<Utc>,
}

/// Reads one page of a list.
pub(crate) fn inbox<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    filter: Wanted<InboxFilter>,
    now: DateTime<Utc>,
) -> Decided<Inbox> {
    if let Err(rejection) = authorize(principal, Action::ReadInbox, Object::Server) {
        return Ok(Err(rejection));
    }
    let filter = match filter {
        Ok(filter) => filter,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let address = answers_for(principal, None).unwrap_or_default();
    let person = answerer(rows, &address)?;
    let mut looking = Looking { address, filter: &filter, now, owned: None };
    let mut inbox = Inbox { now, ..Inbox::default() };
    let shown = looking.walk(rows, Walk::new(filter.list, person.as_ref(), filter.after), filter.list)?;
    for list in List::ALL {
        // A walk from the beginning counts its list. A search counts the list alone that it searches.
        let tally = match list {
            _ if list == filter.list && filter.after.is_none() => shown.tally,
            _ if filter.reads_events() || filter.is_conditioned() && list != filter.list => continue,
            List::Mine | List::Groups | List::Everything | List::Done => {
                looking.walk(rows, Walk::new(list, person.as_ref(), None), list)?.tally
            }
        };
        inbox.tallies.push((list, tally));
    }
    inbox.questions = questions(rows, &shown.found)?;
    // A program of an earlier version leaves the places of the questions that it ends, and the marks of those that it hands on.
    let waits = |asked: &Suspension| asked.ending.is_none() && !asked.hands.has_left(&looking.address);
    inbox.questions.retain(|asked| matches!(filter.list, List::Done | List::Everything) || waits(&asked.suspension));
    (inbox.looked_at, inbox.next) = (shown.looked_at, shown.next);
    Ok(Ok(inbox))
}

/// Reads which question waits next for a person besides the question `but`, and how many wait. Only the person's own list is walked, and
/// no event is read.
pub(crate) fn next_question<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    but: SuspensionId,
    now: DateTime<Utc>,
) -> Decided<(Option<SuspensionId>, Tally)> {
    if let Err(rejection) = authorize(principal, Action::ReadInbox, Object::Server) {
        return Ok(Err(rejection));
    }
    let filter = InboxFilter::of(List::Mine);
    let address = answers_for(principal, None).unwrap_or_default();
    let person = answerer(rows, &address)?;
    let mut looking = Looking { address, filter: &filter, now, owned: None };
    let walked = looking.walk(rows, Walk::new(filter.list, person.as_ref(), filter.after), filter.list)?;
    // One of the first two is not `but`, if two wait.
    let rids = &walked.found[..walked.found.len().min(2)];
    let read = if rids.is_empty() { Vec::new() } else { rows.suspensions_in(rids)? };
    let open = rids.iter().filter_map(|rid| read.iter().find(|row| row.rid == *rid && row.suspension.ending.is_none()));
    let mut ids = open.map(|row| row.suspension.id);
    Ok(Ok((ids.find(|id| *id != but), walked.tally)))
}

/// The questions in these rows, in the same order.
fn questions<R: ReadRows>(rows: &mut R, found: &[i64]) -> RowsResult<Vec<InboxQuestion>> {
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let mut suspensions: HashMap<i64, SuspensionRow> =
        rows.suspensions_in(found)?.into_iter().map(|row| (row.rid, row)).collect();
    let events: Vec<i64> = suspensions.values().map(|row| row.event).collect();
    let mut texts: HashMap<i64, Question> = HashMap::new();
    for (event, sealed) in rows.events_at(&events)? {
        if sealed.is_whole() && !sealed.is_erased() {
            // The record of its intent says what is wrong with a damaged event.
            let asked = EventBytes(&sealed.bytes).read::<Suspended>().ok();
            texts.extend(asked.map(|asked| (event, asked.into_question())));
        }
    }
    let (mut questions, mut met) = (Vec::with_capacity(found.len()), Met::default());
    for rid in found {
        let Some(suspension) = suspensions.remove(rid) else { continue };
        let mut question = texts.remove(&suspension.event);
        let mut tally = None;
        if let Some(question) = &mut question {
            question.pass_to(&suspension.suspension.hands);
            tally = approvals(rows, &mut met, &suspension, question)?;
        }
        let in_place_of = in_place_of(rows, &suspension)?;
        questions.push(InboxQuestion { suspension: suspension.suspension, question, approvals: tally, in_place_of });
    }
    Ok(questions)
}

/// The other person in whose place the answer was given that ended a question. The record of its intent says what is wrong with an event
/// that cannot be read.
fn in_place_of<R: ReadRows>(rows: &mut R, row: &SuspensionRow) -> RowsResult<Option<String>> {
    if !row.suspension.hands.answered_in_place {
        return Ok(None);
    }
    match rows.answer(row) {
        Ok(answer) => Ok(answer.and_then(|(answer, _)| answer.in_place_of)),
        Err(error) if error.is_unreadable() => Ok(None),
        Err(error) => Err(error),
    }
}

/// How far an open question is from its quorum: only the answers count whose people may still answer. Of a question with an answer that
/// cannot be read, nothing is said: the record of its intent says what is wrong, and the other questions of the page are shown.
fn approvals<R: ReadRows>(
    rows: &mut R,
    met: &mut Met,
    row: &SuspensionRow,
    question: &Question,
) -> RowsResult<Option<quorum::Tally>> {
    let Some(quorum) = row.suspension.quorum.as_ref().filter(|_| row.suspension.ending.is_none()) else { return Ok(None) };
    let counted = match counted_now(rows, met, row, question) {
        Ok(counted) => counted,
        Err(error) if error.is_unreadable() => return Ok(None),
        Err(error) => return Err(error),
    };
    let action = question.proposal.as_deref().map(|proposal| proposal.current(&counted));
    Ok(Some(quorum.furthest(&counted, action)))
}

/// The result of a walk.
#[derive(Default)]
struct Walked {
    /// The rows of the first questions that were found.
    found: Vec<i64>,
    tally: Tally,
    looked_at: u32,
    next: Option<Cursor>,
}

/// The questions of a chunk, by the rows of their suspensions.
struct Judged {
    /// Those that are looked for.
    wanted: HashSet<i64>,
    /// Those that have ended, and whose places a program of an earlier version has left. They do not count as looked at.
    ended: HashSet<i64>,
}

/// The person who looks, and what that person looks for.
struct Looking<'a> {
    address: String,
    filter: &'a InboxFilter,
    now: DateTime<Utc>,
    /// The owners of keys behind which the person is, once they were read.
    owned: Option<Owned>,
}

impl Looking<'_> {
    /// Walks over a list. A walk for a later page ends with its page, because it does not count the list.
    fn walk<R: ReadRows>(&mut self, rows: &mut R, mut walk: Walk, list: List) -> RowsResult<Walked> {
        let most = if self.filter.reads_events() { LOOKED_AT_WITH_WORDS_MAX } else { LOOKED_AT_MAX };
        let (mut walked, mut seen_to, mut shown_to) = (Walked::default(), None, None);
        let counts = walk.after.is_none();
        loop {
            let chunk = walk.take(rows, &self.address, CHUNK.min((most - walked.looked_at) as usize))?;
            let is_over = chunk.is_empty();
            let judged = self.judged(rows, list, &chunk)?;
            for Candidate { cursor, .. } in chunk {
                seen_to = Some(cursor);
                if judged.ended.contains(&cursor.rid) {
                    continue;
                }
                walked.looked_at += 1;
                if !judged.wanted.contains(&cursor.rid) {
                    continue;
                }
                let is_full = walked.found.len() == SHOWN_MAX;
                // The page ends before the first question for which it has no room.
                walked.next = walked.next.or(shown_to.filter(|_| is_full));
                if walked.tally.number == COUNTED_MAX || is_full && !counts {
                    walked.tally.has_more = true;
                    return Ok(walked);
                }
                walked.tally.number += 1;
                if !is_full {
                    shown_to = Some(cursor);
                    walked.found.push(cursor.rid);
                }
            }
            if is_over {
                return Ok(walked);
            }
            if walked.looked_at == most {
                walked.tally.has_more = true;
                walked.next = walked.next.or(if walked.found.len() == SHOWN_MAX { shown_to } else { seen_to });
                return Ok(walked);
            }
        }
    }

    /// Which of these questions are looked for. Only those are read about which their places do not say enough.
    fn judged<R: ReadRows>(&mut self, rows: &mut R, list: List, chunk: &[Candidate]) -> RowsResult<Judged> {
        let waits = matches!(list, List::Mine | List::Groups);
        let (read, known): (Vec<&Candidate>, Vec<&Candidate>) =
            chunk.iter().partition(|found| self.filter.is_conditioned() || waits && !found.marks.is_plain);
        let mut judged = Judged { wanted: known.iter().map(|found| found.cursor.rid).collect(), ended: HashSet::new() };
        if read.is_empty() {
            return Ok(judged);
        }
        let rids: Vec<i64> = read.iter().map(|found| found.cursor.rid).collect();
        let mut fitting = rows.listed(&rids)?;
        if waits {
            judged.ended.extend(fitting.iter().filter(|row| row.has_ended).map(|row| row.rid));
        }
        self.keep_fitting(&mut fitting);
        if waits {
            let keeping = read.iter().filter(|found| found.marks.keeps_owner).map(|found| found.cursor.rid).collect();
            self.leave_out(rows, &mut fitting, &keeping)?;
        }
        if self.filter.reads_events() {
            let events: Vec<i64> = fitting.iter().map(|row| row.event).collect();
            let having = having(rows, &events, &self.filter.words, self.filter.risk)?;
            fitting.retain(|row| having.contains(&row.event));
        }
        judged.wanted.extend(fitting.into_iter().map(|row| row.rid));
        Ok(judged)
    }

    /// Leaves those of these questions that fulfil the conditions on their rows.
    fn keep_fitting(&self, questions: &mut Vec<ListedRow>) {
        let InboxFilter { list: _, agent, kind, due, risk: _, words: _, after: _ } = self.filter;
        let is_due = |row: &ListedRow| match (due, row.expires_at) {
            (None, _) | (Some(Due::Never), None) => true,
            (Some(Due::Within(time)), Some(at)) => at <= self.now + *time,
            (Some(Due::Never), Some(_)) | (Some(Due::Within(_)), None) => false,
        };
        questions.retain(|row| {
            agent.as_ref().is_none_or(|agent| is_same_in_any_case(agent, &row.asked_by.name))
                && kind.is_none_or(|kind| row.kind == kind)
                && is_due(row)
        });
    }

    /// Leaves out the questions that do not wait for the person any more, and those of which the person is behind the asker, while several
    /// people must agree or the question is one of those that keep the owner from answering.
    fn leave_out<R: ReadRows>(&mut self, rows: &mut R, questions: &mut Vec<ListedRow>, keeping: &HashSet<i64>) -> RowsResult<()> {
        leave_waiting(rows, &self.address, questions)?;
        let keeps_out = |row: &ListedRow| row.has_quorum || keeping.contains(&row.rid);
        let intents: Vec<i64> = questions.iter().filter(|row| keeps_out(row)).map(|row| row.intent).collect();
        if intents.is_empty() {
            return Ok(());
        }
        let creators: HashMap<i64, Owner> = rows.owners_in(&intents)?.into_iter().collect();
        let owned = match self.owned.take() {
            Some(owned) => owned,
            None => owned_by(rows, &self.address)?,
        };
        let is_own = |owner: &Owner| owned.contains(owner, &self.address);
        questions
            .retain(|row| !(keeps_out(row) && creators.get(&row.intent).into_iter().chain([&row.asked_by.owner]).any(is_own)));
        self.owned = Some(owned);
        Ok(())
    }
}

/// The rows of those of these questions that still wait for the person at whose place they stand, in the same order.
pub(crate) fn waiting<R: ReadRows>(rows: &mut R, person: &str, placed: &[PlacedRow]) -> RowsResult<Vec<i64>> {
    let read: Vec<i64> = placed.iter().filter(|placed| !placed.marks.is_plain).map(|placed| placed.rid).collect();
    let mut questions = if read.is_empty() { Vec::new() } else { rows.listed(&read)? };
    leave_waiting(rows, person, &mut questions)?;
    let waiting: HashSet<i64> = questions.into_iter().map(|row| row.rid).collect();
    let found = placed.iter().filter(|placed| placed.marks.is_plain || waiting.contains(&placed.rid));
    Ok(found.map(|placed| placed.rid).collect())
}

/// Leaves those of these questions that are open, and that the person has neither answered nor handed on.
fn leave_waiting<R: ReadRows>(rows: &mut R, person: &str, questions: &mut Vec<ListedRow>) -> RowsResult<()> {
    questions.retain(|row| !row.has_ended && !row.hands.has_left(person));
    let gathering: Vec<i64> = questions.iter().filter(|row| row.has_quorum).map(|row| row.rid).collect();
    if !gathering.is_empty() {
        let counted: HashSet<i64> = rows.counted_among(person, &gathering)?.into_iter().collect();
        questions.retain(|row| !counted.contains(&row.rid));
    }
    Ok(())
}

/// Which of these events ask a question that has all of the words, and at least this risk.
fn having<R: ReadRows>(rows: &mut R, events: &[i64], words: &[String], risk: Option<Risk>) -> RowsResult<HashSet<i64>> {
    /// The part of a question's payload that is searched.
    #[derive(Default, serde::Deserialize)]
    #[serde(default)]
    struct Asked {
        question: Option<String>,
        risk: Option<Risk>,
    }
    if events.is_empty() {
        return Ok(HashSet::new());
    }
    let words: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let mut having = HashSet::new();
    for (event, sealed) in rows.events_at(events)? {
        let asked =
            if sealed.is_whole() { EventBytes(&sealed.bytes).read::<Asked>().unwrap_or_default() } else { Asked::default() };
        let text = asked.question.as_deref().unwrap_or_default().to_lowercase();
        let is_risky = risk.is_none_or(|risk| asked.risk >= Some(risk));
        if is_risky && words.iter().all(|word| text.contains(word)) {
            having.insert(event);
        }
    }
    Ok(having)
}

/// A walk over the rows of a list.
struct Walk {
    streams: Vec<Stream>,
    after: Option<Cursor>,
}

/// A question that a walk comes to.
#[derive(Clone, Copy)]
struct Candidate {
    cursor: Cursor,
    marks: PlaceMarks,
}

/// The rows at one place, or of a list without places, as far as they were read.
struct Stream {
    source: Source,
    read: VecDeque<Candidate>,
    /// The last row that was read.
    last: Option<Cursor>,
    is_over: bool,
}

enum Source {
    Place(Place),
    Open,
    Answered,
}

impl Walk {
    fn new(list: List, person: Option<&Answerer>, after: Option<Cursor>) -> Self {
        let places = person.map(Answerer::places).unwrap_or_default();
        let sources: Vec<Source> = match list {
            List::Mine => places.into_iter().map(Source::Place).collect(),
            List::Groups => places.into_iter().filter(|place| matches!(place, Place::Group(_))).map(Source::Place).collect(),
            List::Everything => vec![Source::Open],
            List::Done => vec![Source::Answered],
        };
        let stream = |source| Stream { source, read: VecDeque::new(), last: after, is_over: false };
        Self { streams: sources.into_iter().map(stream).collect(), after }
    }

    /// The next questions, each once.
    fn take<R: ReadRows>(&mut self, rows: &mut R, person: &str, count: usize) -> RowsResult<Vec<Candidate>> {
        // The more places, the fewer rows of each are needed.
        let limit = (COUNTED_MAX + 1) / u32::try_from(self.streams.len().max(1)).unwrap_or(u32::MAX);
        let limit = if self.after.is_some() { READ_MIN } else { limit.max(READ_MIN) };
        let mut taken: Vec<Candidate> = Vec::with_capacity(count);
        while taken.len() < count {
            for stream in &mut self.streams {
                stream.fill(rows, person, limit)?;
            }
            let fronts =
                self.streams.iter().filter_map(|stream| stream.read.front().map(|front| (front.cursor.at, front.cursor.rid)));
            let Some(first) = fronts.min() else { break };
            for stream in &mut self.streams {
                if stream.read.front().is_some_and(|front| (front.cursor.at, front.cursor.rid) == first) {
                    let front = stream.read.pop_front();
                    // A question that stands at several places of the person is one question.
                    taken.extend(front.filter(|front| taken.last().is_none_or(|last| last.cursor != front.cursor)));
                }
            }
        }
        Ok(taken)
    }
}

impl Stream {
    /// Reads on, if all rows that were read are taken.
    fn fill<R: ReadRows>(&mut self, rows: &mut R, person: &str, limit: u32) -> RowsResult<()> {
        while !self.is_over && self.read.is_empty() {
            self.read_on(rows, person, limit)?;
        }
        Ok(())
    }

    fn read_on<R: ReadRows>(&mut self, rows: &mut R, person: &str, limit: u32) -> RowsResult<()> {
        let before = self.last.map(|last| last.rid);
        // Nothing is left out of a list without places.
        let marks = PlaceMarks { keeps_owner: false, is_plain: true };
        let plain = |rids: Vec<i64>| rids.into_iter().map(|rid| Candidate { cursor: Cursor { at: None, rid }, marks }).collect();
        let found: Vec<Candidate> = match &self.source {
            Source::Place(place) => {
                let after = self.last.and_then(|last| Some((last.at?, last.rid)));
                let placed = rows.at_place(place, after, limit)?.into_iter();
                let read = |PlacedRow { due_at, rid, marks }| Candidate { cursor: Cursor { at: Some(due_at), rid }, marks };
                placed.map(read).collect()
            }
            Source::Open => plain(rows.open_questions(before, limit)?),
            Source::Answered => plain(rows.answered_by(person, before, limit)?),
        };
        self.is_over = found.len() < limit as usize;
        self.last = found.last().map(|last| last.cursor).or(self.last);
        self.read = found.into();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written_and_nothing_else_is() {
        let at = crate::inbox_columns::NO_DEADLINE;
        for cursor in [Cursor { at: Some(at), rid: i64::MAX }, Cursor { at: None, rid: 7 }] {
            assert_eq!(cursor.to_string().parse(), Ok(cursor));
        }
        for text in ["", "-", "1-", "-1", "-1-2", "1--2", "1-2-3", "a", "9223372036854775807-1", "9223372036854775808"] {
            assert_eq!(text.parse::<Cursor>(), Err(()), "{text:?}");
        }
    }
}
