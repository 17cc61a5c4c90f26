//! Replays the decisions of an export: was each answer valid, in time, and by someone allowed, and did silence have the effect
//! that the question says?
//!
//! The rules are those of the server, [`domain::intent::decide`]: a command is rebuilt from each event, and must lead to that
//! event. An event that lacks what its command needs is *not checkable*, and counted under its [`Doubt`].
//!
//! Events of different intents alternate in an export, and an answer may stand before the event of the key that gave it. So the
//! pass over the export only keeps them: a record of each event of an intent, which is sorted, and the parts of those events that
//! decisions depend on. At the end the intents are replayed one after the other, so that the state of one alone is in memory.

mod answer;
mod asking;
mod change;
mod course;
mod deadline;
mod doubt;
mod hands;
mod keys;
mod kind;
mod links;
mod parts;
mod passkeys;
mod people;
mod rebuilt;
mod sessions;
mod span;
mod spool;
mod standing;
mod stops;

use std::io;

use domain::base::passkey::KnownPasskey;
use domain::log::payload::{Delivery, Payload};

use self::course::Course;
pub(crate) use self::doubt::Decisions;
use self::keys::Keys;
use self::kind::{Kind, Type};
use self::links::Strays;
use self::parts::{Parts, Statuses};
use self::passkeys::Passkeys;
use self::people::People;
use self::spool::{MEMORY_BYTES_MAX, Reading, Spool};
use crate::event::{Facts, LogId, LogKind, Time};
use crate::finding::{Findings, Place};
use crate::runs::Runs;

/// How many records are kept in memory.
const RECORDS_IN_MEMORY: usize = 400_000;
/// The most bytes of an event that is replayed. A request has at most 256 KiB, and its numbers become at most four times as long.
const EVENT_BYTES_MAX: usize = 1_100_000;
/// An id, four numbers, the place and the length of the bytes, the type, and how the event is held.
const RECORD_BYTES: usize = 16 + 4 * 8 + 8 + 4 + 1 + 1;

/// How many places of reports about messages are kept in memory.
const REPORTS_IN_MEMORY: usize = 100_000;
/// The place and the length of the bytes, and the type.
const REPORT_BYTES: usize = 8 + 4 + 1;

/// The events of an export, until they are replayed.
pub(crate) struct Replay {
    keys: Keys,
    passkeys: Passkeys,
    people: People,
    statuses: Statuses,
    records: Runs<RECORD_BYTES>,
    /// The reports about messages among them.
    reports: Runs<REPORT_BYTES>,
    spool: Spool,
}

/// An event of an intent, as the pass over the export kept it.
#[derive(Clone, Copy, Debug)]
struct Record {
    intent: [u8; 16],
    sequence: u64,
    line: u64,
    leaf: u64,
    time: Time,
    offset: u64,
    length: u32,
    of: Type,
    held: Held,
}

/// The part of an event that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    /// The parts that are replayed, if decisions depend on events of its kind.
    Parts = 0,
    /// Nothing: its payload was erased.
    Erased = 1,
    /// Nothing: it is too large, or its payload has another form.
    Unknown = 2,
    /// Of its payload the new status alone.
    Status = 3,
}

impl Replay {
    /// Replays with the passkeys that the user knew beforehand.
    pub(crate) fn new(passkeys: Vec<KnownPasskey>) -> Self {
        let passkeys = Passkeys::known(passkeys);
        let (keys, people, statuses) = (Keys::default(), People::default(), Statuses::default());
        let (records, reports) = (Runs::new(RECORDS_IN_MEMORY), Runs::new(REPORTS_IN_MEMORY));
        Self { keys, passkeys, people, statuses, records, reports, spool: Spool::new(MEMORY_BYTES_MAX) }
    }

    /// Adds an event without a fault of its own: its bytes, to which its last brace is missing, give its hash.
    ///
    /// # Errors
    ///
    /// A temporary file cannot be written.
    pub(crate) fn event(&mut self, facts: &Facts<'_>, bytes: &[u8], place: Place) -> io::Result<()> {
        if facts.log == LogId::SERVER {
            let (leaf, bytes) = (place.leaf.unwrap_or_default(), [bytes, b"}"].concat());
            self.keys.event(facts, &bytes, leaf);
            self.passkeys.event(facts, &bytes, leaf);
            self.people.event(facts, &bytes, leaf);
            return Ok(());
        }
        let of = Type::of(facts.event_type);
        if of.kind() == Kind::Other {
            return self.keep(facts, place, of, Held::Parts, &[]);
        }
        if bytes.len() >= EVENT_BYTES_MAX {
            return self.keep(facts, place, of, Held::Unknown, &[]);
        }
        let (held, [first, second, third, fourth, fifth]) = self.statuses.kept(of, facts.payload);
        let parts = [&Parts::length(facts.actor), facts.actor, first, second, third, fourth, fifth];
        self.keep(facts, place, of, held, &parts)
    }

    /// Adds an event whose payload was erased.
    ///
    /// # Errors
    ///
    /// A temporary file cannot be written.
    pub(crate) fn erased(&mut self, facts: &Facts<'_>, place: Place) -> io::Result<()> {
        if facts.log == LogId::SERVER {
            self.keys.erased(facts);
            self.passkeys.erased(facts);
            self.people.erased(facts);
            return Ok(());
        }
        self.keep(facts, place, Type::of(facts.event_type), Held::Erased, &[])
    }

    fn keep(&mut self, facts: &Facts<'_>, place: Place, of: Type, held: Held, parts: &[&[u8]]) -> io::Result<()> {
        // No decision is an event of a portfolio.
        if facts.log.kind != LogKind::Intent {
            return Ok(());
        }
        let (offset, length) = self.spool.push(parts)?;
        if of.kind().is_report() && held == Held::Parts {
            let mut bytes = [of.number(); REPORT_BYTES];
            bytes[..8].copy_from_slice(&offset.to_be_bytes());
            bytes[8..12].copy_from_slice(&length.to_be_bytes());
            self.reports.push(bytes)?;
        }
        let (line, leaf) = (place.line.unwrap_or_default(), place.leaf.unwrap_or_default());
        let &Facts { log, sequence, created_at: time, .. } = facts;
        self.records.push(Record { intent: log.id, sequence, line, leaf, time, offset, length, of, held }.to_bytes())
    }

    /// Replays all decisions.
    ///
    /// # Errors
    ///
    /// A temporary file cannot be read.
    pub(crate) fn end(self, findings: &mut Findings) -> io::Result<Decisions> {
        let (mut decisions, mut strays, mut spool) = (Decisions::default(), Strays::default(), self.spool.reading()?);
        let known = (&self.keys, &self.passkeys, &self.people);
        let mut course: Option<Course<'_>> = None;
        self.records.merge(|record| {
            let record = Record::read(record);
            let course = match &mut course {
                Some(course) if course.is_of(record.intent) => course,
                course => {
                    if let Some(ended) = course.take() {
                        ended.end(&mut strays, &mut decisions);
                    }
                    course.insert(Course::new(record.intent, known))
                }
            };
            let bytes = spool.read(record.offset, record.length)?;
            course.follow(&record, bytes, findings, &mut decisions);
            Ok(())
        })?;
        if let Some(ended) = course {
            ended.end(&mut strays, &mut decisions);
        }
        if !strays.is_empty() {
            self.reports.merge(|report| {
                if let Some(delivery) = reported(report, &mut spool)? {
                    strays.report(&delivery, findings);
                }
                Ok(())
            })?;
        }
        strays.end(&mut decisions);
        Ok(decisions)
    }
}

/// The message of a report that was kept; `None` if the report has another form.
fn reported(report: &[u8; REPORT_BYTES], spool: &mut Reading) -> io::Result<Option<Delivery>> {
    let [offset @ .., l0, l1, l2, l3, of] = *report;
    let kept = spool.read(u64::from_be_bytes(offset), u32::from_be_bytes([l0, l1, l2, l3]))?;
    let payload = Parts::read(kept).and_then(|parts| parts.payload(Type::numbered(of), Held::Parts).ok()?);
    Ok(match payload {
        Some(Payload::Tracked(tracked)) => Some(tracked.delivery),
        Some(Payload::Delivery(delivery)) => Some(delivery),
        Some(_) | None => None,
    })
}

impl Record {
    /// Bytes that sort by intents, and within one by the order of its log.
    fn to_bytes(self) -> [u8; RECORD_BYTES] {
        let (mut bytes, mut at) = ([0; RECORD_BYTES], 0);
        let mut add = |part: &[u8]| {
            bytes[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        };
        add(&self.intent);
        for number in [self.sequence, self.line, self.leaf, self.time.0, self.offset] {
            add(&number.to_be_bytes());
        }
        add(&self.length.to_be_bytes());
        add(&[self.of.number(), self.held as u8]);
        bytes
    }

    fn read(bytes: &[u8; RECORD_BYTES]) -> Self {
        fn take<const N: usize>(rest: &mut &[u8]) -> [u8; N] {
            let (first, behind) = rest.split_first_chunk().unwrap_or((&[0; N], &[]));
            *rest = behind;
            *first
        }
        let rest = &mut bytes.as_slice();
        let intent = take(rest);
        let [sequence, line, leaf, time, offset] = std::array::from_fn(|_| u64::from_be_bytes(take(rest)));
        let length = u32::from_be_bytes(take(rest));
        let [of, held] = take(rest);
        let held = match held {
            0 => Held::Parts,
            1 => Held::Erased,
            3 => Held::Status,
            _ => Held::Unknown,
        };
        Self { intent, sequence, line, leaf, time: Time(time), offset, length, of: Type::numbered(of), held }
    }
}
