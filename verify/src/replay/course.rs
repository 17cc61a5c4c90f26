//! The course of one intent: its state so far, and how its next event is judged.

use std::collections::{HashMap, VecDeque};

use chrono::{DateTime, Utc};
use domain::base::ids::{IntentId, SuspensionId};
use domain::intent::Intent;
use domain::intent::event::Event;
use domain::intent::evolve::evolve;
use domain::intent::status::Status;
use domain::intent::stop_event::StopEvent;
use domain::log::payload::{Expired, Payload, Renotified};
use domain::portfolio::membership::MemberOf;
use domain::suspension::hands::Hands;
use domain::suspension::requested::REQUESTS_OPEN_MAX;
use domain::suspension::{Asker, CHOICES_MAX, Question, Suspension};
use uuid::Uuid;

use super::doubt::{Decisions, Doubt, Doubts, Fault, Judged};
use super::keys::{Keys, stranger};
use super::kind::Kind;
use super::links::{Link, Links, Strays};
use super::parts::Parts;
use super::passkeys::Passkeys;
use super::people::People;
use super::{Held, Record};
use crate::event::{LogId, LogKind, Time};
use crate::finding::{Code, Findings, Place};

/// How many ended questions of an intent are kept; an answer to an older one is not judged.
const ENDED_MAX: usize = 5_000;
/// How many messages, agents and portfolios of an intent are kept.
pub(super) const OTHERS_MAX: usize = 10_000;
/// The most bytes of the name of a person or an agent that is kept. A name in an event that is longer was forged.
pub(super) const NAME_BYTES_MAX: usize = 2_000;

/// An event that is judged.
#[derive(Debug)]
pub(super) struct Happened {
    pub(super) actor: String,
    pub(super) event_type: &'static str,
    /// When it happened, as the event says. That is not before the event before it, even if the clock was set back.
    pub(super) at: DateTime<Utc>,
    /// Whether the server's clock showed this time: the event before it is older.
    pub(super) is_exact: bool,
    pub(super) leaf: u64,
}

/// An event that must follow, because it belongs to the same decision.
#[derive(Debug)]
pub(super) enum Due {
    /// The time was over, and no person had been reached.
    Expired(Expired),
    /// A further attempt that became due as well.
    Renotified(Renotified),
    /// The other people who are asked at an attempt.
    Escalated(domain::log::payload::Escalated),
    /// The intent goes on, or is abandoned.
    Status {
        /// Whether it is abandoned.
        is_abandoned: bool,
    },
    /// The question that replaces the one before.
    Asked,
    /// The end of the work, for which what the intent waited for ended.
    Stopping {
        /// Whether that was a question, which its caller could not have withdrawn otherwise.
        withdrew: bool,
    },
}

/// The course of one intent.
pub(super) struct Course<'k> {
    pub(super) keys: &'k Keys,
    pub(super) passkeys: &'k Passkeys,
    pub(super) people: &'k People,
    pub(super) intent: Intent,
    /// Whether the event by which the intent began is known.
    pub(super) knows_creator: bool,
    /// The questions that are open, without their texts.
    pub(super) questions: HashMap<SuspensionId, Question>,
    /// The messages, and the decisions by their links.
    pub(super) links: Links,
    /// The judgements on decisions that had waited for the report that came last, or that it contradicts.
    settled: Vec<(Place, Judged)>,
    pub(super) due: VecDeque<Due>,
    /// Why questions may exist that are not known here.
    pub(super) hole: Option<Doubt>,
    /// Whether it is not known for sure if people were reached.
    pub(super) is_reach_unsure: bool,
    sequence: u64,
    time: Option<Time>,
}

impl<'k> Course<'k> {
    pub(super) fn new(intent: [u8; 16], (keys, passkeys, people): (&'k Keys, &'k Passkeys, &'k People)) -> Self {
        let unknown = Asker { name: stranger().0, owner: stranger() };
        Self {
            keys,
            passkeys,
            people,
            intent: Intent::born(IntentId(Uuid::from_bytes(intent)), Status::Draft, unknown, DateTime::UNIX_EPOCH),
            knows_creator: false,
            questions: HashMap::new(),
            links: Links::default(),
            settled: Vec::new(),
            due: VecDeque::new(),
            hole: None,
            is_reach_unsure: false,
            sequence: 0,
            time: None,
        }
    }

    pub(super) fn is_of(&self, intent: [u8; 16]) -> bool {
        *self.intent.id.0.as_bytes() == intent
    }

    /// Judges the next event of the log, and applies it.
    pub(super) fn follow(&mut self, record: &Record, bytes: &[u8], findings: &mut Findings, decisions: &mut Decisions) {
        if record.sequence != self.sequence + 1 {
            self.forget(Doubt::Selection);
        }
        let is_exact = record.sequence == self.sequence + 1 && self.time.is_none_or(|before| record.time > before);
        (self.sequence, self.time) = (record.sequence, Some(record.time));
        let kind = record.of.kind();
        if kind == Kind::Other {
            return;
        }
        let (judged, by_link) = match record.held {
            Held::Parts | Held::Status => self.judge(record, bytes, is_exact),
            Held::Erased => (Ok(self.miss(kind, Doubt::Erased)), None),
            Held::Unknown => (Ok(self.miss(kind, Doubt::Unknown)), None),
        };
        let log = LogId { kind: LogKind::Intent, id: record.intent };
        let (line, leaf, sequence) = (Some(record.line), Some(record.leaf), Some(record.sequence));
        let place = Place { line, leaf, log: Some(log), sequence };
        match (judged, by_link) {
            (Ok(doubts), Some(used)) if doubts.contains(&Doubt::Link) => self.links.wait(used, place, doubts, decisions),
            (Ok(doubts), by_link) if kind.is_decision() => {
                if let Some(used) = by_link {
                    self.links.count(&used, place);
                }
                decisions.count(&doubts);
            }
            (Ok(_), _) => {}
            (Err(fault), _) => findings.add(place, fault.code, fault.text),
        }
        for (place, judged) in self.settled.drain(..) {
            match judged {
                Ok(doubts) => decisions.count(&doubts),
                Err(fault) => findings.add(place, fault.code, fault.text),
            }
        }
        self.shorten();
    }

    /// Hands on the decisions that wait for reports: there are no further events of the intent.
    pub(super) fn end(self, strays: &mut Strays, decisions: &mut Decisions) {
        self.links.end(strays, decisions);
    }

    /// Forgets all questions: events may be missing that changed them.
    fn forget(&mut self, doubt: Doubt) {
        self.hole = Some(doubt);
        self.links.miss(doubt);
        (self.intent.open, self.intent.stop, self.intent.past_stop) = (None, None, None);
        self.is_reach_unsure = false;
        self.intent.beside.clear();
        self.intent.ended.clear();
        self.questions.clear();
        self.due.clear();
    }

    /// Notes that an event of this kind cannot be read.
    fn miss(&mut self, kind: Kind, doubt: Doubt) -> Doubts {
        self.due.clear();
        if kind.leaves_a_hole() {
            self.forget(doubt);
        }
        if kind == Kind::Delivered {
            self.is_reach_unsure = true;
        }
        if kind.is_report() {
            self.links.miss(doubt);
        }
        Doubts::from([doubt])
    }

    /// Keeps the state of a forged log as small as that of an honest one.
    fn shorten(&mut self) {
        if self.intent.ended.len() > ENDED_MAX {
            self.intent.ended.drain(..ENDED_MAX / 2);
            self.hole = Some(Doubt::Unknown);
        }
        if let Some(ended) = self.intent.ended.last_mut() {
            // Nothing depends on these parts of a question that has ended.
            ended.choices = Vec::new();
            ended.fallback_value = None;
            if let Some(ending) = &mut ended.ending {
                (ending.response, ending.by) = (None, None);
                ending.metadata = None;
            }
        }
        self.intent.assigned.truncate(OTHERS_MAX);
        self.intent.member_of.truncate(OTHERS_MAX);
        if self.intent.open.is_none() && self.intent.beside.is_empty() {
            self.is_reach_unsure = false;
        }
    }

    /// Judges an event, and applies it. With the link by which it was decided, if there is one.
    fn judge(&mut self, record: &Record, bytes: &[u8], is_exact: bool) -> (Judged, Option<Link>) {
        let Some((event, payload)) = read(record, bytes, is_exact) else {
            return (Ok(self.miss(record.of.kind(), Doubt::Unknown)), None);
        };
        let link = payload.as_ref().and_then(|payload| Link::in_payload(&event, payload));
        let judged = match (self.due.pop_front(), &payload) {
            (Some(due), payload) => self.judge_due(due, &event, payload.as_ref()),
            (None, Some(payload)) => self.judge_free(&event, payload),
            (None, None) => Ok(Doubts::new()),
        };
        match payload {
            Some(payload) => self.apply(&event, payload),
            None => self.begin(&event),
        }
        (judged, link)
    }

    /// Judges an event that follows from the one before it.
    fn judge_due(&mut self, due: Due, event: &Happened, payload: Option<&Payload>) -> Judged {
        if let (Due::Stopping { .. }, Some(Payload::Stop(change))) = (&due, payload)
            && matches!(**change, StopEvent::Stopping(_))
        {
            return self.stop(event, change);
        }
        if matches!(due, Due::Stopping { withdrew: true }) {
            self.due.clear();
            let text = "An agent withdrew the question of another, and the work on the intent was not ended with it.";
            return Err(Fault::new(Code::ChangeNotAllowed, text));
        }
        let (name, is_right) = match (due, payload) {
            (Due::Expired(due), Some(Payload::Expired(logged))) => ("intent.suspension_expired", due == *logged),
            (Due::Renotified(due), Some(Payload::Renotified(logged))) => ("intent.suspension_renotified", due == *logged),
            (Due::Escalated(due), Some(Payload::Escalated(logged))) => ("intent.suspension_escalated", due == *logged),
            (Due::Status { is_abandoned }, Some(Payload::StatusChanged(logged))) => {
                let name =
                    if is_abandoned { "status_changed to abandoned" } else { "status_changed to a status other than abandoned" };
                (name, is_abandoned == (logged.new_status == Status::Abandoned))
            }
            (Due::Asked, Some(Payload::Suspended(logged))) => ("intent.suspended", logged.kind.stops_intent()),
            (due, _) => (due.name(), false),
        };
        if is_right {
            return Ok(Doubts::new());
        }
        self.due.clear();
        let text = format!(
            "After the event before it, an event {name} with other contents is due, and this is {}: the decision did not have the effect that its rules say.",
            event.event_type
        );
        Err(Fault::new(Code::DecisionDiffers, text))
    }

    /// Judges an event that begins a decision of its own, or is none.
    fn judge_free(&mut self, event: &Happened, payload: &Payload) -> Judged {
        #[expect(clippy::wildcard_enum_match_arm, reason = "most events are no decisions")]
        match payload {
            Payload::StatusChanged(changed) => self.status(changed.new_status),
            Payload::Suspended(asked) => self.asked(event, asked),
            Payload::Resumed(answer) => self.answered(event, answer),
            Payload::AnswerCounted(counted) => self.counted(event, counted),
            Payload::AnswerTakenBack(taken) => self.taken_back(event, taken),
            Payload::Hands(change) => self.hands(event, change),
            Payload::Stop(change) => self.stop(event, change),
            Payload::RefusedAnswer(refused) => self.refused(event, refused),
            Payload::Undeliverable(ended) => self.undeliverable(event, ended.suspension_id),
            Payload::Expired(expired) => self.expired(event, expired),
            Payload::Renotified(renotified) => self.renotified(event, renotified),
            Payload::Escalated(escalated) => self.escalated(escalated),
            Payload::Cancelled(cancelled) => self.cancelled(event, cancelled),
            Payload::Extended(extended) => self.extended(event, extended),
            _ => Ok(Doubts::new()),
        }
    }

    /// A status changes only after the question or the stop that holds the intent has ended.
    fn status(&self, new: Status) -> Judged {
        if self.intent.stop.is_some() && new != Status::Blocked {
            let text = format!("The status of the intent became {}, although it was stopped.", new.as_str());
            return Err(Fault::new(Code::DecisionDiffers, text));
        }
        if self.intent.open.is_none() || new == Status::SuspendedAwaitingInput {
            return Ok(Doubts::new());
        }
        let text = format!(
            "The status of the intent became {}, although its question was open and no event says how that ended.",
            new.as_str()
        );
        Err(Fault::new(Code::QuestionOpen, text))
    }

    /// Notes that the intent began.
    fn begin(&mut self, event: &Happened) {
        self.knows_creator = true;
        self.intent.created_by = self.asker(&event.actor);
    }

    /// Applies an event to the state, whatever the judgement on it was.
    fn apply(&mut self, event: &Happened, payload: Payload) {
        #[expect(clippy::wildcard_enum_match_arm, reason = "the state of a course depends on few of the events")]
        match payload {
            Payload::Suspended(asked) => {
                let has_room = self.intent.beside.len() < REQUESTS_OPEN_MAX;
                if !has_room || asked.choices.len() > CHOICES_MAX || asked.asked_by.len() > NAME_BYTES_MAX {
                    return self.forget(Doubt::Unknown);
                }
                let (suspension, question) = self.rebuilt(*asked);
                self.questions.retain(|id, _| self.intent.opened(*id).is_some());
                self.questions.insert(suspension.id, question.clone());
                self.evolve(event, &Event::Suspended(Box::new(suspension), Box::new(question)));
            }
            Payload::Hands(change) => {
                if self.is_too_large(&change) {
                    return self.forget(Doubt::Unknown);
                }
                // From now on the question is judged as one that was asked of the people in whose hands it is.
                let mut hands = Hands::default();
                change.apply(&mut hands, event.at);
                if let Some(question) = self.questions.get_mut(&change.suspension_id()) {
                    question.pass_to(&hands);
                }
                self.evolve(event, &Event::Hands(change));
            }
            Payload::Stop(change) => self.apply_stop(event, *change),
            Payload::Tracked(tracked) => {
                let id = tracked.delivery.suspension_id;
                self.settled = self.links.report(&tracked.delivery);
                // If the clock was set back, the server may have taken the report as one from before the deadline.
                self.is_reach_unsure |= !event.is_exact && self.intent.opened(id).is_some_and(|open| open.is_expired(event.at));
                self.evolve(event, &super::rebuilt::delivered(tracked));
            }
            Payload::Delivery(failed) => self.settled = self.links.report(&failed),
            Payload::Joined(added) => {
                self.intent.member_of.retain(|known| known.portfolio_id != added.portfolio_id);
                self.intent.member_of.push(MemberOf { portfolio_id: added.portfolio_id, deadline: None });
            }
            Payload::Left(removed) => self.intent.member_of.retain(|known| known.portfolio_id != removed.portfolio_id),
            Payload::Assigned(assigned) if assigned.agent_id.len() > NAME_BYTES_MAX => {}
            other => {
                if let Some(rebuilt) = super::rebuilt::event(&self.intent, other) {
                    self.evolve(event, &rebuilt);
                }
            }
        }
    }

    /// Applies an event about a stop, without the words in it.
    fn apply_stop(&mut self, event: &Happened, mut change: StopEvent) {
        let by = Some(self.asker(&event.actor));
        let subject = match &mut change {
            StopEvent::Paused(paused) => {
                (paused.by, paused.reason) = (by, None);
                paused.paused_by.len()
            }
            StopEvent::Parked(parked) => {
                (parked.by, parked.reason) = (by, String::new());
                parked.parked_by.len()
            }
            StopEvent::Stopping(stopping) => {
                (stopping.by, stopping.reason) = (by, None);
                stopping.stopped_by.len()
            }
            StopEvent::TakenOver(taken) => {
                (taken.by, taken.reason) = (by, None);
                taken.taken_over_by.len()
            }
            StopEvent::Closed(closed) => {
                closed.handoff = None;
                0
            }
            StopEvent::Extended(_) | StopEvent::Settled(_) | StopEvent::Resumed(_) => 0,
        };
        let begins = subject > 0;
        if subject > NAME_BYTES_MAX || begins && event.actor.len() > NAME_BYTES_MAX {
            return self.forget(Doubt::Unknown);
        }
        self.evolve(event, &Event::Stop(Box::new(change)));
    }

    fn evolve(&mut self, event: &Happened, rebuilt: &Event) {
        evolve(&mut self.intent, rebuilt, event.at, event.at);
    }

    /// The intent with one open question alone, for a decision about that question.
    pub(super) fn with_only(&self, open: &Suspension) -> Intent {
        let mut alone = Intent::born(self.intent.id, self.intent.status, self.intent.created_by.clone(), self.intent.created_at);
        alone.assigned.clone_from(&self.intent.assigned);
        alone.is_errand = self.intent.is_errand;
        if open.kind.stops_intent() {
            alone.open = Some(open.clone());
        } else {
            alone.beside = vec![open.clone()];
        }
        alone
    }

    /// The judgement on a decision about a question that is not open.
    pub(super) fn not_open(&self, id: SuspensionId) -> Judged {
        if self.intent.ended.iter().any(|ended| ended.id == id) {
            return Err(Fault::new(Code::AlreadyEnded, "The question had ended before: a question ends once."));
        }
        match self.hole {
            Some(doubt) => Ok(Doubts::from([doubt])),
            None => Err(Fault::new(Code::UnknownQuestion, "The intent never asked the question that the event names.")),
        }
    }
}

/// Reads an event and its payload from the parts that were kept; `None` if they have another form. The payload is `None` of the event by
/// which the intent began.
fn read(record: &Record, kept: &[u8], is_exact: bool) -> Option<(Happened, Option<Payload>)> {
    let parts = Parts::read(kept)?;
    let (actor, payload) = (parts.actor()?, parts.payload(record.of, record.held).ok()?);
    let happened = Happened { actor, event_type: record.of.name(), at: record.time.to_utc()?, is_exact, leaf: record.leaf };
    Some((happened, payload))
}

impl Due {
    fn name(&self) -> &'static str {
        match self {
            Self::Expired(_) => "intent.suspension_expired",
            Self::Renotified(_) => "intent.suspension_renotified",
            Self::Escalated(_) => "intent.suspension_escalated",
            Self::Status { .. } => "status_changed",
            Self::Asked => "intent.suspended",
            Self::Stopping { .. } => "lifecycle.stopping",
        }
    }
}
