//! A suspension: the one durable record that says for which condition an agent waits, usually a person's answer (RFC-0025 §4,
//! §5).

pub mod absence;
pub mod action;
pub mod assignees;
pub mod at_time;
pub mod broadcast;
pub mod channel;
pub mod delivery;
pub mod demand;
pub mod draft;
pub mod errand;
pub mod evidence;
mod fallback;
pub mod grounds;
pub mod hands;
pub mod lease;
pub mod place;
pub mod plan;
pub mod proposal;
pub mod quorum;
pub mod requested;
mod resolution;
pub mod retry;
pub mod seeming;
pub mod stop;
pub mod stop_refusal;
pub mod wake;

pub use self::demand::RequiredAssurance;
pub use self::fallback::{FallbackPolicy, WINDOW_SECONDS_MAX};
pub use self::resolution::{Resolution, ResolutionReason};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::base::ids::{IntentId, PortfolioId, SuspensionId};
use crate::base::name::{Owner, is_same_in_any_case};
use crate::base::time::{parse, rfc3339};
use crate::base::words;
use crate::form::Schema;
use crate::suspension::assignees::Assignees;
use crate::suspension::demand::{AgentRule, CommentOnRefusal, Risk, Separation};
use crate::suspension::errand::Errand;
use crate::suspension::grounds::Grounds;
use crate::suspension::hands::{Handed, Hands, Reassignment};
use crate::suspension::proposal::Proposal;
use crate::suspension::quorum::{Counted, Quorum};
use crate::suspension::requested::Requested;
use crate::suspension::retry::{HumanRetryPolicy, OneOrMany};

/// The longest question, in bytes.
pub const QUESTION_BYTES_MAX: usize = 4 * 1024;
/// The largest context, in bytes of canonical JSON.
pub const CONTEXT_BYTES_MAX: usize = 64 * 1024;
/// The most choices one question offers.
pub const CHOICES_MAX: usize = 50;
/// The longest value of a choice, in characters.
pub const CHOICE_VALUE_MAX: usize = 200;
/// The longest label of a choice, in characters.
pub const CHOICE_LABEL_MAX: usize = 200;
/// The longest description of a choice, in characters.
pub const CHOICE_DESCRIPTION_MAX: usize = 2_000;
/// The longest text answer, in bytes (a deviation from RFC-0025 §8, which knows no limit).
pub const TEXT_ANSWER_BYTES_MAX: usize = 16 * 1024;
/// The most people one question names itself.
pub const NOTIFY_TO_MAX: usize = 20;
/// How many refused answers are recorded for one suspension; further ones are refused without a record.
pub const REFUSALS_RECORDED_MAX: u32 = 20;

/// The least time between two reminders on request of one suspension, in seconds.
pub const REMINDER_PAUSE_SECONDS: u32 = 300;

/// The condition that a suspension waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A person must answer a question.
    AwaitingInput,
    /// A controller asked the agent to stop.
    Paused,
    /// The agent stopped itself until a condition holds.
    Parked,
    /// A person must approve an action or refuse it (RFC-0013).
    Approval,
    /// A person must say how to go on (RFC-0013).
    Escalation,
    /// A person must settle a conflict (RFC-0013).
    Arbitration,
    /// A controller ends the work, and its agent may hand in what is left of it.
    Stopping,
}

impl Kind {
    /// Whether the intent itself waits. Otherwise work on the intent goes on, and several suspensions of the intent may be open.
    pub fn stops_intent(self) -> bool {
        match self {
            Self::AwaitingInput | Self::Paused | Self::Parked | Self::Stopping => true,
            Self::Approval | Self::Escalation | Self::Arbitration => false,
        }
    }
}

/// The kind of answer expected (RFC-0025 §4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResponseType {
    /// One of the defined choices.
    #[default]
    Choice,
    /// `yes` or `no`.
    Confirm,
    /// Any non-empty text.
    Text,
    /// Structured fields. They are checked if the question has a schema, and passed through as they are otherwise.
    Form,
}

/// A visual hint for one choice; it changes colour, never size, order or wording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Style {
    /// No hint; an unknown style counts as this one.
    #[default]
    Default,
    /// The asker suggests this choice.
    Primary,
    /// The asker warns of this choice.
    Danger,
}

/// One choice presented to the operator (RFC-0025 §4.2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SuspensionChoice {
    /// The value that the agent receives.
    pub value: String,
    /// The words that the operator reads.
    pub label: String,
    /// A longer explanation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A visual hint.
    #[serde(default)]
    pub style: Style,
    /// Any other data that the agent attached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Map<String, Value>>,
}

impl SuspensionChoice {
    pub(crate) fn plain(value: &str, label: &str) -> Self {
        Self { value: value.to_owned(), label: label.to_owned(), description: None, style: Style::Default, metadata: None }
    }

    /// Yes and no: the choices of a `confirm` without choices of its own (RFC-0025 §4.2).
    pub fn yes_no() -> Vec<Self> {
        vec![Self::plain(YES, words::YES), Self::plain(NO, words::NO)]
    }
}

/// The answer to a `confirm` without choices of its own that agrees.
pub const YES: &str = "yes";
/// The answer to a `confirm` without choices of its own that does not.
pub const NO: &str = "no";

/// The member of an ending's metadata that holds the deadline of a portfolio.
const PORTFOLIO_DEADLINE: &str = "portfolio_deadline";

/// The asker of a question, as far as needed to keep it from answering its own question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asker {
    /// The name of the key that asked.
    pub name: String,
    /// The owner of that key; no key of this owner may answer.
    pub owner: Owner,
}

/// The ending of a suspension.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ending {
    /// The kind of ending in the RFC.
    pub resolution: Resolution,
    /// The cause of a `cancelled`; absent for other endings.
    pub reason: Option<ResolutionReason>,
    /// When it ended.
    pub at: DateTime<Utc>,
    /// The answer, or the fallback value in its place.
    pub response: Option<Value>,
    /// The subject that answered or withdrew; absent if time ended the suspension.
    pub by: Option<String>,
    /// The `metadata` object that came with the answer (RFC-0025 §10).
    pub metadata: Option<Map<String, Value>>,
}

/// The facts that decisions about a suspension need; the text for people is in [`Question`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Suspension {
    /// Its id. Outside the server it is a capability: a holder may be able to answer the question.
    pub id: SuspensionId,
    /// The suspended intent.
    pub intent_id: IntentId,
    /// The condition it waits for.
    pub kind: Kind,
    /// 1 at first; +1 per attempt, extension and ending.
    pub version: u32,
    /// The current attempt, from 1.
    pub attempt: u32,
    /// The kind of answer expected.
    pub response_type: ResponseType,
    /// The choices offered; filled for `choice` and `confirm`.
    pub choices: Vec<SuspensionChoice>,
    /// When it began.
    pub suspended_at: DateTime<Utc>,
    /// The deadline of all attempts; an answer counts iff `now < expires_at`.
    pub expires_at: Option<DateTime<Utc>>,
    /// The policy that applies at the deadline.
    pub fallback_policy: FallbackPolicy,
    /// The value that then replaces an answer.
    pub fallback_value: Option<Value>,
    /// Whether a person who can answer was reached: a message with an answer link was accepted for delivery before the deadline.
    pub reached: bool,
    /// Whether a fallback other than `fail` needs `reached`; fixed when the question was asked.
    pub requires_delivery: bool,
    /// Whether the deadline never moves, because the asker applies it by its own clock as well.
    pub fixed_deadline: bool,
    /// Refused answers recorded so far, up to [`REFUSALS_RECORDED_MAX`].
    pub refusals: u32,
    /// When the people asked at present were last reminded on request.
    pub reminded_at: Option<DateTime<Utc>>,
    /// The asker.
    pub asked_by: Asker,
    /// How many people must agree; absent if one answer decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quorum: Option<Quorum>,
    /// The JSON Schema that an answer must satisfy; only a `form` has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Box<Schema>>,
    /// The answers that count towards the quorum. They are not stored with the suspension: a store reads them where they matter.
    #[serde(skip)]
    pub counted: Vec<Counted>,
    /// In whose hands it is while it is open. The row keeps this beside the suspension.
    #[serde(skip)]
    pub hands: Hands,
    /// The ending; absent while the suspension is open.
    pub ending: Option<Ending>,
    /// The earliest deadline of the active portfolios that the intent is in. It can move while the suspension is open, so it is not
    /// stored with the suspension: a store reads it with the portfolios.
    #[serde(skip)]
    pub portfolio_deadline: Option<PortfolioDeadline>,
}

/// The deadline of a portfolio, as far as it concerns a suspension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortfolioDeadline {
    /// The portfolio.
    pub portfolio_id: PortfolioId,
    /// Its deadline.
    pub at: DateTime<Utc>,
}

impl PortfolioDeadline {
    /// The `metadata` of the ending that it caused.
    pub fn to_metadata(self) -> Map<String, Value> {
        let Self { portfolio_id, at } = self;
        Map::from_iter([("portfolio_id".into(), json!(portfolio_id)), (PORTFOLIO_DEADLINE.into(), json!(rfc3339(at)))])
    }
}

impl Ending {
    /// The moment from which no answer counted, if the deadline of a portfolio ended the suspension. The server may have recorded
    /// the ending later.
    pub fn portfolio_deadline(&self) -> Option<DateTime<Utc>> {
        parse(self.metadata.as_ref()?.get(PORTFOLIO_DEADLINE)?.as_str()?)
    }
}

/// The question as the operator reads it; stored in the event that asked it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The question itself.
    pub question: String,
    /// Structured context.
    pub context: Map<String, Value>,
    /// The preferred channel.
    pub channel_hint: Option<String>,
    /// The window of one attempt, in seconds.
    pub timeout_seconds: Option<u32>,
    /// Reminders and escalation (RFC-0026).
    pub retry_policy: Option<HumanRetryPolicy>,
    /// The agent's confidence when it asked.
    pub confidence_at_suspension: Option<f64>,
    /// The engagement decision that led to the question.
    pub decision_record: Option<Map<String, Value>>,
    /// The people who are told: the call's own list, or else the operators of the server.
    pub recipients: Vec<String>,
    /// The earlier questions that ended without an answer; only a store knows them, so a question that
    /// was not asked yet has none.
    pub asked_before: Option<AskedBefore>,
    /// The request that the question was made from; absent for a question that an agent asked in its own words.
    pub requested: Option<Box<Requested>>,
    /// The id that the asker's client gave the question.
    pub client_id: Option<String>,
    /// How sure the server must be of the person who answers; absent if every answer counts.
    pub required_assurance: Option<RequiredAssurance>,
    /// The people to whom it is assigned: only they may answer. Absent if it is assigned to no one in particular.
    pub assignees: Option<Assignees>,
    /// The risk that the asker declares; absent if it declares none.
    pub risk: Option<Risk>,
    /// The people who are kept from answering, besides those that a quorum keeps from it.
    pub separation: Option<Separation>,
    /// The demand that a person who refuses says why; absent if no comment is needed.
    pub comment_on_refusal: Option<CommentOnRefusal>,
    /// The action that it proposes; absent if it proposes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<Box<Proposal>>,
    /// The grounds on which people decide, beside the context; absent if the asker gives none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grounds: Option<Box<Grounds>>,
    /// How the errand began that the question is; absent if its asker has an intent of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errand: Option<Box<Errand>>,
}

/// The questions of the same intent that ended without an answer before this one: people see that they are asked anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AskedBefore {
    /// How many questions in a row ended before this one without an answer.
    pub times: u32,
    /// Whether this question superseded the last of them; otherwise that one was withdrawn, or its time was over.
    pub superseded: bool,
    /// The deadline with which the last of them was asked, without later extensions; absent if it had none.
    #[serde(with = "crate::base::time::z_option")]
    pub expires_at: Option<DateTime<Utc>>,
    /// Whether answers of people counted on one of them when it ended. Then no fallback may stand for an answer to this question.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answered: bool,
}

impl AskedBefore {
    /// The later of `own` and the deadline of the superseded question: asking anew does not cut a person's time to answer short.
    pub fn at_least(&self, own: Option<DateTime<Utc>>) -> Option<DateTime<Utc>> {
        if !self.superseded {
            return own;
        }
        own.zip(self.expires_at).map(|(own, before)| own.max(before))
    }
}

impl Question {
    /// Makes it demand what this rule demands, if it is asked in the name of that agent and demands less.
    pub fn raise(&mut self, rule: &AgentRule, agent: &str) {
        if is_same_in_any_case(&rule.name, agent) {
            self.required_assurance = self.required_assurance.max(rule.assurance);
            self.separation = self.separation.or(rule.separation);
        }
    }

    /// The record of a question whose words were erased.
    pub fn erased() -> Self {
        Self {
            question: String::new(),
            context: Map::new(),
            channel_hint: None,
            timeout_seconds: None,
            retry_policy: None,
            confidence_at_suspension: None,
            decision_record: None,
            recipients: Vec::new(),
            asked_before: None,
            requested: None,
            client_id: None,
            required_assurance: None,
            assignees: None,
            risk: None,
            separation: None,
            comment_on_refusal: None,
            proposal: None,
            grounds: None,
            errand: None,
        }
    }

    /// Whether the words of the question were erased. No question is asked without words.
    pub fn is_erased(&self) -> bool {
        self.question.is_empty()
    }

    /// The window of all attempts, in seconds; absent means no deadline.
    pub fn window_seconds(&self) -> Option<u32> {
        let attempts = self.retry_policy.as_ref().map(|policy| policy.interval_seconds.saturating_mul(policy.max_attempts));
        attempts.or(self.timeout_seconds)
    }

    /// The people who are told at `attempt` (from 1): those of the step of the escalation ladder that is in force then, or else
    /// those that the question names (RFC-0026 §3).
    pub fn recipients_at(&self, attempt: u32) -> &[String] {
        let rung = self.retry_policy.as_ref().and_then(|policy| policy.rung_in_force(attempt));
        match rung.and_then(|rung| rung.notify_to.as_ref()) {
            Some(people) if !people.0.is_empty() => &people.0,
            Some(_) | None => &self.recipients,
        }
    }

    /// The channel preferred at `attempt`.
    pub fn channel_at(&self, attempt: u32) -> Option<&str> {
        let rung = self.retry_policy.as_ref().and_then(|policy| policy.rung_in_force(attempt));
        rung.and_then(|rung| rung.channel_hint.as_deref()).or(self.channel_hint.as_deref())
    }

    /// Everyone who is told at one of these attempts, each once, in order.
    pub fn recipients_during(&self, attempts: std::ops::RangeInclusive<u32>) -> Vec<String> {
        let mut people: Vec<String> = Vec::new();
        for person in attempts.flat_map(|attempt| self.recipients_at(attempt)) {
            if !people.iter().any(|known| known.eq_ignore_ascii_case(person)) {
                people.push(person.clone());
            }
        }
        people
    }

    /// Puts the people in whose hands the question is into the place of those in the asker's request: the people to whom it was reassigned,
    /// and those who were handed a place.
    pub fn pass_to(&mut self, hands: &Hands) {
        if let Some(Reassignment { assignees, notify_to }) = &hands.reassigned {
            self.assignees = Some(assignees.clone());
            self.recipients.clone_from(notify_to);
            // The steps of the ladder named people of the old assignees.
            for rung in self.retry_policy.iter_mut().flat_map(|policy| &mut policy.escalation_ladder) {
                rung.notify_to = None;
            }
        }
        for Handed { from, to, .. } in &hands.handed {
            replace(&mut self.recipients, from, to);
            for rung in self.retry_policy.iter_mut().flat_map(|policy| &mut policy.escalation_ladder) {
                if let Some(OneOrMany(people)) = &mut rung.notify_to {
                    replace(people, from, to);
                }
            }
        }
    }
}

/// Puts one person in the place of another, each person once.
fn replace(people: &mut Vec<String>, from: &str, to: &str) {
    if !people.iter().any(|person| person.eq_ignore_ascii_case(from)) {
        return;
    }
    let is_there = people.iter().any(|person| person.eq_ignore_ascii_case(to));
    people.retain(|person| !person.eq_ignore_ascii_case(from));
    if !is_there {
        people.push(to.to_owned());
    }
}

impl Suspension {
    /// The end of the time to answer: the earlier one of its own deadline and that of a portfolio.
    pub fn ends_at(&self) -> Option<DateTime<Utc>> {
        self.expires_at.into_iter().chain(self.portfolio_deadline.map(|deadline| deadline.at)).min()
    }

    /// Whether the time to answer is over at `now`; it counts by the clock, even if its timer has not fired yet.
    pub fn is_expired(&self, now: DateTime<Utc>) -> bool {
        self.ends_at().is_some_and(|at| now >= at)
    }

    /// The deadline of a portfolio, if it ends the suspension before its own deadline does, or at the same moment.
    pub fn ended_by_portfolio(&self) -> Option<PortfolioDeadline> {
        self.portfolio_deadline.filter(|deadline| self.expires_at.is_none_or(|own| deadline.at <= own))
    }

    /// The policy that applies if no further answer comes. It is `fail` if the deadline of a portfolio ends the suspension, and once a
    /// person has answered: an answer that counts is no silence.
    pub fn policy_in_silence(&self) -> FallbackPolicy {
        let falls_back = self.ended_by_portfolio().is_none() && self.counted.is_empty();
        if falls_back { self.fallback_policy } else { FallbackPolicy::Fail }
    }

    /// The choice with this value.
    pub fn choice(&self, value: &Value) -> Option<&SuspensionChoice> {
        let value = value.as_str()?;
        self.choices.iter().find(|choice| choice.value == value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_messages_go_to_the_person_who_has_the_place() {
        let handed = |name: &str| {
            let from = format!("{name}@x.example");
            Hands { handed: vec![Handed { place: from.clone(), from, to: "bob@x.example".into() }], ..Hands::default() }
        };
        let mut question = Question { recipients: vec!["Ada@x.example".into(), "dan@x.example".into()], ..Question::erased() };
        question.pass_to(&handed("ada"));
        assert_eq!(question.recipients, ["dan@x.example", "bob@x.example"]);
        question.pass_to(&handed("dan"));
        assert_eq!(question.recipients, ["bob@x.example"], "each person once");
    }
}
