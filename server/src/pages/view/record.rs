//! The record of one intent: what happened in its log in plain words, what people were shown, and what verification found.

use chrono::{DateTime, TimeDelta, Utc};
use domain::base::name::is_same_in_any_case;
use domain::base::text::{quoted, visible, visible_line};
use domain::base::time;
use domain::base::words::Language;
use domain::intent::event::{APPROVAL_DENIED, APPROVAL_GRANTED, ARBITRATION_RESOLVED, ESCALATION_RESOLVED};
use domain::intent::status::Status;
use domain::log::payload::{Payload, Resumed};
use domain::suspension::assignees::Assignees;
use domain::suspension::delivery::DeliveryState;
use domain::suspension::{FallbackPolicy, Suspension, SuspensionChoice};
use serde_json::{Map, Value};
use store::audit::{Outcome, Record, RecordedQuestion, Sealing};

use super::super::context::{Cell, Table, entries};
use super::super::fold::{Folds, Length};
use super::super::language::in_languages;
use super::super::proposing::approved_as;
use super::awaited::Effect;
use super::halted::Halted;
use super::held::{Erased, Held, Keeping};
use super::moment::{Manner, machine, second};
use super::{ChangeRow, GroundsShown, INSIDE_STYLESHEET as STYLESHEET, Page, Visitor, line, titled};

/// The longest answer in a sentence, in characters.
const ANSWER_CHARS_MAX: usize = 80;
/// The types of the events that end a question by an answer.
const ANSWERS: [&str; 5] = ["intent.resumed", APPROVAL_GRANTED, APPROVAL_DENIED, ESCALATION_RESOLVED, ARBITRATION_RESOLVED];

/// The page of one intent's record.
#[derive(Debug)]
pub(in crate::pages) struct RecordPage {
    page: Page,
    visitor: Visitor,
    intent_id: String,
    title: String,
    agent: String,
    status: Status,
    events: u64,
    broken: Option<(u64, String)>,
    sealing: Sealing,
    is_whole: bool,
    entries: Vec<Entry>,
    questions: Vec<Shown>,
    questions_left_out: usize,
    /// How many events have lost their content.
    erased: usize,
    holds: Vec<Held>,
    keeping: Keeping,
    erasures: Vec<Erased>,
}

in_languages!(RecordPage, "record.html");

/// An event, in plain words.
#[derive(Debug)]
struct Entry {
    sequence: u64,
    at: Option<DateTime<Utc>>,
    happened: Happened,
}

/// What an event says.
#[derive(Debug, PartialEq, Eq)]
enum Happened {
    Created {
        by: String,
    },
    Asked {
        by: String,
    },
    Sent {
        to: String,
        channel: String,
    },
    NotSent {
        to: String,
        why: String,
    },
    CameBack {
        to: String,
        why: String,
    },
    Reminded,
    Escalated {
        to: String,
    },
    Answered {
        by: String,
        place: Option<String>,
        answer: String,
        comment: Option<String>,
    },
    /// An answer that counts, while more people must agree.
    Counted {
        by: String,
        place: Option<String>,
        answer: String,
        given: u64,
        needed: u64,
        /// The people whose approvals it cleared, because it edited the action.
        clears: Vec<String>,
    },
    /// An answer that counted was taken back.
    TakenBack {
        by: String,
    },
    /// A person works on the question.
    Claimed {
        by: String,
        from: Option<String>,
    },
    /// The person no longer works on it.
    ClaimReleased {
        of: String,
        by: String,
    },
    /// A person handed the place to another, or is out of office and has a deputy.
    Delegated {
        away: bool,
        from: String,
        to: String,
        place: String,
    },
    /// The question is assigned to other people.
    Reassigned {
        by: String,
        to: String,
    },
    Refused {
        by: String,
        answer: String,
        /// The code of the reason.
        code: String,
    },
    Unanswered {
        instead: Option<String>,
    },
    Withdrawn {
        by: String,
        reason: Option<String>,
    },
    /// The deadline passed, and not enough people agreed.
    TooFewAgreed,
    NotReached,
    MoreTime {
        by: String,
        until: Option<DateTime<Utc>>,
    },
    /// The intent has another status.
    Status {
        now: Status,
        by: String,
    },
    ReceiptIssued {
        by: String,
    },
    ReceiptUsed {
        by: String,
    },
    ReceiptRevoked {
        by: String,
    },
    /// The intent was stopped, or its stop changed or ended.
    Stopped(Halted),
    /// Any other event, by the name of its type.
    Other {
        kind: String,
        by: String,
    },
    /// An event without its content, by the name of its type.
    Erased {
        kind: String,
        by: String,
    },
    /// The event at which the chain of hashes breaks. Nothing of it is shown.
    Damaged,
    /// An event behind that one. Nothing of it is shown, because nothing of it is certain.
    BehindDamage,
}

impl Happened {
    fn of(event: &Value, language: Language) -> Self {
        let payload = &event["payload"];
        let text = |member: &str| payload[member].as_str().map(line).unwrap_or_default();
        let some = |member: &str| Some(text(member)).filter(|text| !text.is_empty());
        let actor = event["actor"].as_str().map(line).unwrap_or_default();
        match event["event_type"].as_str() {
            None => Self::Damaged,
            Some(kind) if is_erased(event) => Self::Erased { kind: visible_line(kind), by: actor },
            Some("intent_created") => Self::Created { by: actor },
            Some("intent.suspended") => Self::Asked { by: some("asked_by").unwrap_or(actor) },
            Some("delivery.sent") => Self::Sent { to: text("recipient"), channel: text("channel") },
            Some("delivery.failed") => Self::NotSent { to: text("recipient"), why: text("detail") },
            Some("delivery.bounced") => Self::CameBack { to: text("recipient"), why: text("detail") },
            Some("intent.suspension_renotified" | "intent.suspension_reminded") => Self::Reminded,
            Some("intent.suspension_escalated") => Self::Escalated { to: names(&payload["notify_to"]) },
            Some("intent.resumed") => Self::Answered {
                by: some("responded_by").unwrap_or(actor),
                answer: some("choice_label").unwrap_or_else(|| answer(&payload["value"])),
                comment: payload["metadata"]["comment"].as_str().map(line),
                place: some("in_place_of"),
            },
            Some("intent.answer_counted") => Self::Counted {
                by: some("person").unwrap_or(actor),
                place: some("in_place_of"),
                answer: answer(&payload["value"]),
                given: payload["approvals"]["given"].as_u64().unwrap_or_default(),
                needed: payload["approvals"]["needed"].as_u64().unwrap_or_default(),
                clears: listed(&payload["clears"]),
            },
            Some("intent.answer_taken_back") => Self::TakenBack { by: some("person").unwrap_or(actor) },
            Some("intent.claimed") => Self::Claimed { by: some("person").unwrap_or(actor), from: some("taken_over_from") },
            Some("intent.claim_released") => Self::ClaimReleased { of: text("person"), by: some("released_by").unwrap_or(actor) },
            Some("intent.delegated") => {
                let away = payload["out_of_office"].as_bool().unwrap_or_default();
                Self::Delegated { away, from: text("from"), to: text("to"), place: text("place") }
            }
            Some("intent.reassigned") => {
                Self::Reassigned { by: some("reassigned_by").unwrap_or(actor), to: assignees(&payload["assignees"], language) }
            }
            Some("intent.response_rejected" | "intent.late_answer") => {
                Self::Refused { by: some("responded_by").unwrap_or(actor), answer: answer(&payload["value"]), code: text("code") }
            }
            Some("intent.suspension_expired") => {
                Self::Unanswered { instead: Some(answer(&payload["fallback_value"])).filter(|answer| !answer.is_empty()) }
            }
            Some("intent.suspension_cancelled") if payload["resolution_reason"] == "quorum_unmet" => Self::TooFewAgreed,
            Some("intent.suspension_cancelled") => {
                Self::Withdrawn { by: some("cancelled_by").unwrap_or(actor), reason: some("reason") }
            }
            Some("intent.suspension_undeliverable") => Self::NotReached,
            Some("intent.suspension_extended") => Self::MoreTime {
                by: some("extended_by").unwrap_or(actor),
                until: payload["new_expires_at"].as_str().and_then(time::parse),
            },
            Some("receipt.issued") => Self::ReceiptIssued { by: actor },
            Some("receipt.consumed") => Self::ReceiptUsed { by: actor },
            Some("receipt.revoked") => Self::ReceiptRevoked { by: actor },
            Some(kind) if let Some(halted) = Halted::of(kind, event) => Self::Stopped(halted),
            Some(kind) => match payload["new_status"].as_str().and_then(Status::parse) {
                Some(now) if kind == "status_changed" => Self::Status { now, by: actor },
                Some(_) | None => Self::Other { kind: visible_line(kind), by: actor },
            },
        }
    }

    /// The shape and the colour of its mark.
    fn mark(&self) -> (&'static str, &'static str) {
        match self {
            Self::Asked { .. } => ("said", ""),
            Self::Sent { .. } => ("sent", ""),
            Self::NotSent { .. } | Self::CameBack { .. } | Self::NotReached => ("envelope", "stop"),
            Self::Reminded | Self::Escalated { .. } | Self::Unanswered { .. } | Self::TooFewAgreed => ("clock", "time"),
            Self::Answered { .. } | Self::Counted { .. } => ("tick", "act"),
            Self::Refused { .. } | Self::Damaged | Self::BehindDamage => ("warning", "stop"),
            Self::ReceiptRevoked { .. } => ("bar", "stop"),
            Self::Stopped(halted) => halted.mark(),
            Self::Created { .. }
            | Self::Withdrawn { .. }
            | Self::MoreTime { .. }
            | Self::TakenBack { .. }
            | Self::Claimed { .. }
            | Self::ClaimReleased { .. }
            | Self::Delegated { .. }
            | Self::Reassigned { .. }
            | Self::Status { .. }
            | Self::ReceiptIssued { .. }
            | Self::ReceiptUsed { .. }
            | Self::Erased { .. }
            | Self::Other { .. } => ("bar", ""),
        }
    }

    fn icon(&self) -> &'static str {
        self.mark().0
    }

    fn class(&self) -> &'static str {
        self.mark().1
    }
}

/// Whether an event, as it is served, has lost its content.
fn is_erased(event: &Value) -> bool {
    event["redacted"] == true
}

/// A value that a person sent, or that stood for an answer.
fn answer(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => quoted(text, ANSWER_CHARS_MAX),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => quoted(&value.to_string(), ANSWER_CHARS_MAX),
    }
}

/// Assignees in words.
fn assignees(value: &Value, language: Language) -> String {
    let assignees: Assignees = serde_json::from_value(value.clone()).unwrap_or_default();
    line(&assignees.in_words(language).join(", "))
}

fn names(list: &Value) -> String {
    listed(list).join(", ")
}

fn listed(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(line).collect()
}

/// A question as it was shown, and the people who were asked.
#[derive(Debug)]
struct Shown {
    agent: String,
    /// The text; absent if its event cannot be read.
    question: Option<String>,
    asked_at: DateTime<Utc>,
    expires_at: Option<DateTime<Utc>>,
    /// The choices: label, value, description.
    choices: Vec<(String, String, String)>,
    context: Option<Table>,
    grounds: GroundsShown,
    /// The action that the question proposed.
    proposed: Option<Table>,
    /// The action as it was approved, if it was edited before.
    approved: Option<Table>,
    /// The changes that its approver made in that action.
    changes: Vec<ChangeRow>,
    fallback: Option<String>,
    /// Absent if the row says that the question was answered, and no event does.
    outcome: Option<Outcome>,
    people: Vec<Person>,
}

/// A person who was asked.
#[derive(Debug)]
struct Person {
    name: String,
    reached_at: Option<DateTime<Utc>>,
    opened_at: Option<DateTime<Utc>>,
    came_back: bool,
    answered: bool,
}

impl Shown {
    /// `prefix` keeps the anchors of this question's table apart from those of another one.
    fn of((prefix, recorded): (char, RecordedQuestion), events: &[Value], manner: Manner) -> Self {
        let language = manner.language;
        let answers = answers(events, &recorded.suspension);
        let is_erased = is_answer_erased(events, &recorded.suspension);
        let people = people(&recorded, &answers, is_erased);
        let RecordedQuestion { suspension, question, messages: _, views: _ } = recorded;
        // The row may say something else than the log.
        let outcome = if resumed(&answers).is_some() { Outcome::Answered } else { Outcome::of(&suspension) };
        let is_told = outcome != Outcome::Answered || is_erased || resumed(&answers).is_some();
        let context = question.as_ref().map(|question| Value::Object(question.context.clone())).unwrap_or_default();
        let Suspension { asked_by, suspended_at, expires_at, choices, fallback_policy, fallback_value, schema, .. } = suspension;
        let form = schema.map(|schema| Value::Object(schema.members().clone()));
        let form = form.as_ref().map(|form| (language.form_as_a_schema().to_owned(), form));
        let grounds = question.as_ref().and_then(|question| question.grounds.as_deref());
        let grounds = GroundsShown::of(grounds, None, manner);
        let said = grounds.said(language);
        let said = said.iter().map(|(name, value)| (name.clone(), value));
        let sent: Vec<(String, &Value)> = said.chain(entries(&context, language)).chain(form).collect();
        let proposal = question.as_ref().and_then(|question| question.proposal.as_deref());
        let table =
            |members: Vec<(String, &Value)>, prefix| Table::new(members, prefix, Length::Whole, &mut Folds::new(language));
        // Other letters keep the anchors of these tables apart from those of the context.
        let proposed = proposal.map(|proposal| table(titled(&proposal.action, &proposal.shape()), prefix.to_ascii_uppercase()));
        let decided = proposal.zip(decided(&answers));
        let changed = decided.map(|(proposal, (_, action))| approved_as(proposal, action, language)).unwrap_or_default();
        let is_approved = decided.is_some_and(|(proposal, (value, _))| !proposal.is_refused_by(value));
        let approved = (is_approved && !changed.changes.is_empty()).then(|| {
            let members = changed.members.iter().map(|(name, value)| (name.clone(), value)).collect();
            table(members, greek(prefix))
        });
        let has_fallback = fallback_policy != FallbackPolicy::Fail;
        Self {
            agent: line(&asked_by.name),
            question: question.map(|question| visible(question.question.trim())),
            asked_at: suspended_at,
            expires_at,
            choices: choices.into_iter().map(choice).collect(),
            context: (!sent.is_empty()).then(|| Table::new(sent, prefix, Length::Whole, &mut Folds::new(language))),
            grounds,
            proposed,
            approved,
            changes: changed.changes,
            fallback: fallback_value.filter(|_| has_fallback).map(|value| answer(&value)),
            outcome: is_told.then_some(outcome),
            people,
        }
    }
}

/// A letter of another alphabet that stands for this small one.
fn greek(letter: char) -> char {
    char::from_u32(u32::from(letter) + u32::from('α') - u32::from('a')).unwrap_or('α')
}

/// The events of this question, among them those of its answers, oldest first. The type of an event tells: an agent can write an event with
/// the payload of an answer, but not with such a type.
fn answers(events: &[Value], suspension: &Suspension) -> Vec<Payload> {
    let id = suspension.id.expose();
    let of_question = events.iter().filter(|event| event["payload"]["suspension_id"] == id.as_str());
    of_question.filter_map(|event| Payload::read(event["event_type"].as_str()?, event["payload"].clone()).ok()).collect()
}

/// Whether an answer came behind this question, of which the content was erased: it may be the one that ended the question.
fn is_answer_erased(events: &[Value], suspension: &Suspension) -> bool {
    let id = suspension.id.expose();
    let mut behind = events.iter().skip_while(|event| event["payload"]["suspension_id"] != id.as_str());
    behind.any(|event| is_erased(event) && event["event_type"].as_str().is_some_and(|kind| ANSWERS.contains(&kind)))
}

/// The answer that ended the question.
fn resumed(answers: &[Payload]) -> Option<&Resumed> {
    answers.iter().find_map(|answer| {
        let Payload::Resumed(resumed) = answer else { return None };
        Some(&**resumed)
    })
}

/// The answer that ended the question, and the action about which it decided.
fn decided(answers: &[Payload]) -> Option<(&Value, &Map<String, Value>)> {
    answers.iter().find_map(|answer| {
        let Payload::Resumed(resumed) = answer else { return None };
        Some((resumed.value.as_ref()?, resumed.proposal.as_ref()?))
    })
}

/// The people whose answers count, or counted when the question ended. A name may be there twice. `is_erased`: whether the event of the
/// answer may be one without its content.
fn answerers(suspension: &Suspension, answers: &[Payload], is_erased: bool) -> Vec<String> {
    let (mut people, mut is_agreed) = (Vec::<String>::new(), false);
    for answer in answers {
        if let Payload::AnswerCounted(counted) = answer {
            people.retain(|person| *person != counted.person && !counted.clears.contains(person));
            people.push(counted.person.clone());
        } else if let Payload::AnswerTakenBack(taken) = answer {
            people.retain(|person| *person != taken.person);
        } else if let Payload::Resumed(resumed) = answer {
            is_agreed |= !resumed.agreed.is_empty();
            people.extend(resumed.agreed.iter().map(|agreed| agreed.person.clone()));
        }
    }
    // An erased event names no person any more; then the row does, if it still has one. Otherwise, the word of the row alone is not enough.
    let ending = suspension.ending.as_ref().filter(|_| is_erased && Outcome::of(suspension) == Outcome::Answered);
    let by = resumed(answers).map_or_else(|| ending.and_then(|ending| ending.by.clone()), |resumed| resumed.responded_by.clone());
    // The people who agreed are there by their addresses; the ending may name the last of them by a gateway's word.
    people.extend(by.filter(|_| !is_agreed));
    people
}

fn choice(choice: SuspensionChoice) -> (String, String, String) {
    let description = choice.description.map(|text| visible(&text)).unwrap_or_default();
    (line(&choice.label), line(&choice.value), description)
}

/// The people to whom messages were sent, and then the other people who answered.
fn people(recorded: &RecordedQuestion, answers: &[Payload], is_erased: bool) -> Vec<Person> {
    let answerers = answerers(&recorded.suspension, answers, is_erased);
    let mut people: Vec<Person> = Vec::new();
    for message in &recorded.messages {
        let name = line(&message.recipient);
        let reached_at = message.settled_at.filter(|_| message.state == DeliveryState::Sent);
        let came_back = message.state == DeliveryState::Bounced;
        if let Some(person) = people.iter_mut().find(|person| person.name == name) {
            person.reached_at = person.reached_at.or(reached_at);
            person.came_back |= came_back;
            continue;
        }
        let views = recorded.views.iter();
        let opened_at = views.filter(|(recipient, _)| *recipient == message.recipient).map(|(_, at)| *at).min();
        let answered = answerers.iter().any(|person| is_same_in_any_case(person, &message.recipient));
        people.push(Person { name, reached_at, opened_at, came_back, answered });
    }
    for name in answerers.iter().map(|person| line(person)) {
        if !people.iter().any(|person| is_same_in_any_case(&person.name, &name)) {
            people.push(Person { name, reached_at: None, opened_at: None, came_back: false, answered: true });
        }
    }
    people
}

/// The title with which the intent was created; absent if it was erased.
fn title(events: &[Value]) -> Option<&str> {
    let created = events.first().filter(|event| event["event_type"] == "intent_created")?;
    created["payload"]["title"].as_str()
}

impl RecordPage {
    pub(in crate::pages) fn new(page: Page, visitor: Visitor, record: Record, retention: Option<TimeDelta>) -> Self {
        let manner = page.manner;
        // Nothing is shown of the event at which the chain of hashes breaks, nor of those behind it.
        let (certain, others) = record.verified.split(&record.events);
        let first = certain.len() as u64 + 1;
        let damaged = (first..).zip(others).map(|(sequence, _)| Entry {
            sequence,
            at: None,
            happened: if sequence == first { Happened::Damaged } else { Happened::BehindDamage },
        });
        let entries = (1..).zip(certain).map(|(sequence, event)| Entry {
            sequence,
            at: event["created_at"].as_str().and_then(time::parse),
            happened: Happened::of(event, manner.language),
        });
        let entries = entries.chain(damaged).collect();
        // The title in the row of the intent has no hash. Without its event, the page shows none.
        let title = title(certain).unwrap_or(if certain.is_empty() { "—" } else { manner.language.erased() });
        let asked = ('a'..).zip(record.questions);
        let questions = asked.map(|recorded| Shown::of(recorded, certain, manner)).collect();
        let erased = record.events.iter().filter(|event| is_erased(event)).count();
        let last_at = certain.last().and_then(|event| event["created_at"].as_str()).and_then(time::parse);
        Self {
            page,
            visitor,
            erased,
            keeping: Keeping::of(retention, record.status.is_final().then_some(last_at).flatten(), erased > 0),
            holds: record.holds.into_iter().map(Held::of).collect(),
            erasures: record.erasures.iter().map(Erased::of).collect(),
            intent_id: record.intent_id.to_string(),
            title: line(title),
            agent: line(&record.agent),
            status: record.status,
            events: record.verified.events,
            is_whole: record.verified.is_whole(),
            broken: record.verified.broken,
            sealing: record.verified.sealing,
            entries,
            questions,
            questions_left_out: record.questions_left_out,
        }
    }

    /// How many of the newest events no checkpoint covers yet.
    fn unsealed(&self) -> u64 {
        match self.sealing {
            Sealing::Sealed { up_to, .. } => self.events - up_to,
            Sealing::NotYet | Sealing::Broken(_) => self.events,
        }
    }
}
