//! Bodies about questions and their answers (RFC-0025).

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::base::ids::{IntentId, SuspensionId};
use crate::base::json::present;
use crate::base::sealed::Hash;
use crate::form::Schema;
use crate::suspension::FallbackPolicy;
use crate::suspension::assignees::Assignees;
use crate::suspension::demand::{CommentOnRefusal, Risk, Separation};
use crate::suspension::evidence::{Evidence, action_digest};
use crate::suspension::grounds::{Explanation, Grounds, Reversibility};
use crate::suspension::hands::Handed;
use crate::suspension::proposal::{Proposal, is_same};
use crate::suspension::quorum::{Counted, Quorum, Tally};
use crate::suspension::requested::Requested;
use crate::suspension::retry::{HumanRetryPolicy, PartialRetryPolicy};
use crate::suspension::{
    AskedBefore, Kind, Question, RequiredAssurance, Resolution, ResolutionReason, ResponseType, Suspension, SuspensionChoice,
};
use crate::wire::{DraftView, EarlierDecision, QuestionRequest};

/// `POST /api/v1/intents/{id}/suspend`: asks a question. Unknown fields are refused.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SuspendRequest {
    /// The question, at most 4 KiB.
    #[schema(min_length = 1, max_length = 4096, examples("Refund order 12345?"))]
    pub question: String,
    /// The kind of answer expected; `choice` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_type: Option<ResponseType>,
    /// At most 50 choices; an empty list means none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 50)]
    pub choices: Option<Vec<ChoiceRequest>>,
    /// Structured context, at most 64 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub context: Option<Map<String, Value>>,
    /// The preferred channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 200)]
    pub channel_hint: Option<String>,
    /// The window of one attempt, which is the time for an answer: 1 to 31,622,400 seconds; no deadline if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 31_622_400)]
    pub timeout_seconds: Option<u32>,
    /// The policy if no one answers; `fail` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_policy: Option<FallbackPolicy>,
    /// The value that then replaces an answer; must be a valid answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    pub fallback_value: Option<Value>,
    /// Reminders and escalation (RFC-0026).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_policy: Option<PartialRetryPolicy>,
    /// The agent's confidence, 0 to 1; kept as `confidence_at_suspension`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 1)]
    pub confidence: Option<f64>,
    /// The engagement decision that led to the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub decision_record: Option<Map<String, Value>>,
    /// The people who are asked, 1 to 20 addresses; replaces the server's default operators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 1, max_items = 20)]
    pub notify_to: Option<Vec<String>>,
    /// The open suspension this question replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<String>,
    /// How sure the server must be of the person who answers: `session` takes only the answer of a person who has logged in, `passkey`
    /// only one that a passkey of the person signed. It can raise the floor that the server has for the question, and not lower it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_assurance: Option<RequiredAssurance>,
    /// The people to whom the question is assigned: only they may answer. If `notify_to` is absent, they are asked in place of the
    /// server's default operators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignees: Option<Assignees>,
    /// How many of these people must agree; one answer decides if it is absent. Without `assignees`, all listed operators and admins may
    /// answer then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quorum: Option<QuorumRequest>,
    /// The JSON Schema (draft 2020-12) that the answer to a `form` must satisfy, at most 16 KiB. The page shows its properties as fields;
    /// docs/http.md lists the keywords that it may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub schema: Option<Map<String, Value>>,
    /// Several questions that one person answers together, 1 to 20: they become the `schema` of a `form` with a field for each. The
    /// `response_type` is then `form`, and may be left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 1, max_items = 20)]
    pub questions: Option<Vec<QuestionRequest>>,
    /// How much is at stake. People see it, and the server may demand more of an answer to a question with a high risk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
    /// Whether a person who refuses must say why; for questions with a choice whose value or label means a no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment_on_refusal: Option<bool>,
    /// The arguments of the action that the agent proposes, at most 64 KiB; for a `choice` or a `confirm`. The answer has the action as the
    /// person approved it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub proposal: Option<Map<String, Value>>,
    /// The JSON Schema (draft 2020-12) of the members of `proposal` that people may edit, at most 16 KiB; people edit nothing without it. It
    /// has the keywords of `schema`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub editable: Option<Map<String, Value>>,
    /// The agent's own name for questions of this kind, 1 to 200 characters. People see the newest decisions about questions with the same
    /// key of the same agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 200, examples("refund.over_400"))]
    pub question_key: Option<String>,
    /// The agent's explanation of the action. People read it before the context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
    /// Whether the action can be taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reversibility: Option<Reversibility>,
}

/// The quorum of a request. Unknown fields are refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct QuorumRequest {
    /// How many people must give the same answer: 1 to 20.
    #[schema(minimum = 1, maximum = 20)]
    pub required_approvals: u32,
    /// How many people must refuse for the question to be answered with a refusal: 1 to 20, and 1 if it is absent. A choice refuses if the
    /// words of its value mean a no, as `no`, `deny` and `do_not_refund` do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 20)]
    pub required_refusals: Option<u32>,
    /// How many of those who give the same answer must be members of these groups, by name: at most 20 groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_by_group: Option<BTreeMap<String, u32>>,
}

/// One choice of a request; an unknown `style` counts as `default`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChoiceRequest {
    /// The value that the agent receives, 1 to 200 characters, unique.
    #[schema(min_length = 1, max_length = 200)]
    pub value: String,
    /// The words that the operator reads, at most 200 characters.
    #[schema(min_length = 1, max_length = 200)]
    pub label: String,
    /// A longer explanation, at most 2,000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2_000)]
    pub description: Option<String>,
    /// `primary`, `danger` or `default`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub style: Option<String>,
    /// Any other data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Map<String, Value>>,
}

/// A suspension as Placet's own endpoints show it (RFC-0025 §5).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SuspensionRecord {
    /// Its id: a capability, not for logs.
    pub id: SuspensionId,
    /// The suspended intent.
    pub intent_id: IntentId,
    /// The condition it waits for.
    pub kind: Kind,
    /// +1 per attempt, extension and ending.
    pub version: u32,
    /// The current attempt, from 1.
    pub attempt: u32,
    /// The question.
    pub question: String,
    /// The kind of answer expected.
    pub response_type: ResponseType,
    /// The choices offered.
    pub choices: Vec<SuspensionChoice>,
    /// Structured context.
    #[schema(value_type = Object)]
    pub context: Map<String, Value>,
    /// The preferred channel.
    pub channel_hint: Option<String>,
    /// The people who are told first.
    pub notify_to: Vec<String>,
    /// The question's own recipients; present only if a step of the escalation ladder at the first attempt replaces them in
    /// `notify_to`. A later step without its own `notify_to` tells these people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_notify_to: Option<Vec<String>>,
    /// When it began.
    #[serde(with = "crate::base::time::z")]
    pub suspended_at: DateTime<Utc>,
    /// The window of one attempt, in seconds.
    pub timeout_seconds: Option<u32>,
    /// The deadline of all attempts.
    #[serde(with = "crate::base::time::z_option")]
    pub expires_at: Option<DateTime<Utc>>,
    /// The earliest deadline of the portfolios that the intent is in, while the question is open. If it comes before `expires_at`, it
    /// ends the question, and no fallback applies.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::base::time::z_option")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub portfolio_deadline: Option<DateTime<Utc>>,
    /// The policy that applies at the deadline.
    pub fallback_policy: FallbackPolicy,
    /// The value that then replaces an answer.
    #[schema(value_type = Option<Value>)]
    pub fallback_value: Option<Value>,
    /// Reminders and escalation.
    pub retry_policy: Option<HumanRetryPolicy>,
    /// The agent's confidence when it asked.
    pub confidence_at_suspension: Option<f64>,
    /// The engagement decision that led to the question.
    #[schema(value_type = Option<Object>)]
    pub decision_record: Option<Map<String, Value>>,
    /// Whether a person was reached so far.
    pub reached: bool,
    /// The answer, or the fallback value; absent while open.
    #[schema(value_type = Option<Value>)]
    pub response: Option<Value>,
    /// The label of the selected choice (RFC-0025 §10).
    pub choice_label: Option<String>,
    /// The description of that choice (RFC-0025 §10).
    pub choice_description: Option<String>,
    /// The person who answered.
    pub responded_by: Option<String>,
    /// The person in whose place this one answered; absent if no place was handed on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_place_of: Option<String>,
    /// When the person answered; set for answers only.
    #[serde(with = "crate::base::time::z_option")]
    pub responded_at: Option<DateTime<Utc>>,
    /// The ending; absent while open.
    pub resolution: Option<Resolution>,
    /// The cause of the ending `cancelled`; absent for other endings.
    pub resolution_reason: Option<ResolutionReason>,
    /// When it ended.
    #[serde(with = "crate::base::time::z_option")]
    pub resolved_at: Option<DateTime<Utc>>,
    /// The `metadata` object that came with the answer (RFC-0025 §10).
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Map<String, Value>>,
    /// The earlier questions that ended without an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_before: Option<AskedBefore>,
    /// The request that the question was made from; absent for a question in the agent's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested: Option<Box<Requested>>,
    /// The id that the asker's client gave the question. An answer to a question of the same intent may use it in place of `id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// Whether the deadline never moves, because the asker applies it by its own clock as well; absent if it may move.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fixed_deadline: bool,
    /// How sure the server must be of the person who answers; absent if every answer counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_assurance: Option<RequiredAssurance>,
    /// The people to whom the question is assigned: only they may answer. Absent if it is assigned to no one in particular.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignees: Option<Assignees>,
    /// How many people must agree; absent if one answer decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quorum: Option<Quorum>,
    /// The JSON Schema that an answer must satisfy; absent if the question has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Box<Schema>>,
    /// The risk that the asker declared; absent if it declared none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
    /// The people who are kept from answering, besides those that a quorum keeps from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub separation: Option<Separation>,
    /// The demand that a person who refuses says why; absent if no comment is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment_on_refusal: Option<CommentOnRefusal>,
    /// The arguments of the action that the question proposes: while it is open as they stand, with the edits of people whose answers
    /// count, and then as they were approved. Only this action may be carried out. Absent if the question proposes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub proposal: Option<Map<String, Value>>,
    /// The action as the agent proposed it; absent if it was not edited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub original_proposal: Option<Map<String, Value>>,
    /// The JSON Schema of the members of `proposal` that people may edit; absent if they may edit none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub editable: Option<Box<Schema>>,
    /// The values with which an answer refuses, and so edits nothing; absent without a proposal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refusing: Vec<String>,
    /// SHA-256 of the RFC 8785 bytes of `proposal`; absent without one. An answer names it in `based_on` once the action was edited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, pattern = r"^sha256:[A-Za-z0-9_-]{43}$")]
    pub action_digest: Option<Hash>,
    /// The answers that people have given so far, while more of them must agree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counted: Vec<CountedAnswer>,
    /// While more people must agree: how many have given the approval that most people have given, and how many must. An answer counts if
    /// its person may still answer and it is about the action as it stands. Absent without a quorum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approvals: Option<Tally>,
    /// The person who works on the question; absent if no person has claimed it. Others may answer all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_by: Option<String>,
    /// When that person claimed it.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::base::time::z_option")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub claimed_at: Option<DateTime<Utc>>,
    /// The places that people handed to others while the question is open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handed_on: Vec<HandedOn>,
    /// The agent's own name for questions of this kind; absent if it gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question_key: Option<String>,
    /// The agent's explanation of the action; absent if it gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
    /// Whether the action can be taken back, as the agent declared it; absent if it declared nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reversibility: Option<Reversibility>,
    /// The newest decisions about questions with the same key of the same agent, at most 5, the newest first. They are those of the time
    /// when the question was asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier_decisions: Vec<EarlierDecision>,
    /// The drafts that people had saved when the question ended without an answer, oldest first. A draft is no answer: its author decided
    /// nothing with it, and no hash covers it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drafts: Vec<DraftView>,
    /// Whether the content was erased: the words of the question, the answer, and the people.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
    /// Differences between the request as written and as understood; in the reply to `suspend` only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The name of the asker's credential; only in lists, because these show questions of several askers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<String>,
}

/// An answer that counts towards a quorum.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CountedAnswer {
    /// The address of the person.
    pub person: String,
    /// The answer.
    #[schema(value_type = Value)]
    pub value: Value,
    /// When it was given.
    #[serde(with = "crate::base::time::z")]
    pub at: DateTime<Utc>,
    /// The person in whose place it was given, if a place was handed on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_place_of: Option<String>,
    /// SHA-256 of the action about which it decides; absent if the question proposes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, pattern = r"^sha256:[A-Za-z0-9_-]{43}$")]
    pub action_digest: Option<Hash>,
    /// Whether the person may still answer. Otherwise the answer does not count at present. It is not on the wire.
    #[serde(skip)]
    pub may_answer: bool,
}

/// A place that one person handed to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HandedOn {
    /// The person who handed it on, and cannot answer any more.
    pub from: String,
    /// The person who answers now.
    pub to: String,
}

impl CountedAnswer {
    fn of(counted: &Counted) -> Self {
        let action_digest = counted.action.as_ref().and_then(action_digest);
        let Counted { person, value, at, in_place_of, may_answer, .. } = counted.clone();
        Self { person, value, at, in_place_of, action_digest, may_answer }
    }
}

impl HandedOn {
    fn of(handed: &Handed) -> Self {
        Self { from: handed.from.clone(), to: handed.to.clone() }
    }
}

impl SuspensionRecord {
    /// The end of the time to answer: the earlier one of the question's own deadline and that of a portfolio.
    pub fn ends_at(&self) -> Option<DateTime<Utc>> {
        self.expires_at.into_iter().chain(self.portfolio_deadline).min()
    }

    /// Whether the deadline of a portfolio ends the question if no person answers, so that no fallback applies.
    pub fn ends_by_portfolio(&self) -> bool {
        self.portfolio_deadline.is_some() && self.portfolio_deadline == self.ends_at()
    }

    /// Joins a suspension and its question.
    pub fn of(suspension: &Suspension, question: &Question) -> Self {
        let ending = suspension.ending.as_ref();
        let answered = ending.filter(|ending| ending.resolution == Resolution::Responded);
        let choice = ending.and_then(|ending| ending.response.as_ref()).and_then(|value| suspension.choice(value));
        let (proposal, grounds) = (question.proposal.as_deref(), question.grounds.as_deref());
        let action = proposal.map(|proposal| proposal.current(&suspension.counted));
        let quorum = suspension.quorum.as_ref().filter(|_| ending.is_none());
        let is_edited = proposal.zip(action).is_some_and(|(proposal, action)| !is_same(&proposal.action, action));
        Self {
            id: suspension.id,
            intent_id: suspension.intent_id,
            kind: suspension.kind,
            version: suspension.version,
            attempt: suspension.attempt,
            question: question.question.clone(),
            response_type: suspension.response_type,
            choices: suspension.choices.clone(),
            context: question.context.clone(),
            channel_hint: question.channel_hint.clone(),
            notify_to: question.recipients_at(1).to_vec(),
            original_notify_to: (question.recipients_at(1) != question.recipients).then(|| question.recipients.clone()),
            suspended_at: suspension.suspended_at,
            timeout_seconds: question.timeout_seconds,
            expires_at: suspension.expires_at,
            portfolio_deadline: suspension.portfolio_deadline.filter(|_| ending.is_none()).map(|deadline| deadline.at),
            fallback_policy: suspension.fallback_policy,
            fallback_value: suspension.fallback_value.clone(),
            retry_policy: question.retry_policy.clone(),
            confidence_at_suspension: question.confidence_at_suspension,
            decision_record: question.decision_record.clone(),
            reached: suspension.reached,
            response: ending.and_then(|ending| ending.response.clone()),
            choice_label: choice.map(|choice| choice.label.clone()),
            choice_description: choice.and_then(|choice| choice.description.clone()),
            responded_by: answered.and_then(|ending| ending.by.clone()),
            // The event of the answer says it. A store adds it.
            in_place_of: None,
            responded_at: answered.map(|ending| ending.at),
            resolution: ending.map(|ending| ending.resolution),
            resolution_reason: ending.and_then(|ending| ending.reason),
            resolved_at: ending.map(|ending| ending.at),
            metadata: ending.and_then(|ending| ending.metadata.clone()),
            asked_before: question.asked_before.clone(),
            requested: question.requested.clone(),
            client_id: question.client_id.clone(),
            fixed_deadline: suspension.fixed_deadline,
            required_assurance: question.required_assurance,
            assignees: question.assignees.clone(),
            quorum: suspension.quorum.clone(),
            schema: suspension.schema.clone(),
            risk: question.risk,
            separation: question.separation,
            comment_on_refusal: question.comment_on_refusal.clone(),
            proposal: action.cloned(),
            original_proposal: proposal.map(|proposal| &proposal.action).filter(|_| is_edited).cloned(),
            editable: proposal.and_then(|proposal| proposal.editable.clone()),
            refusing: proposal.map(|proposal| proposal.refusing.clone()).unwrap_or_default(),
            action_digest: action.and_then(action_digest),
            counted: suspension.counted.iter().map(CountedAnswer::of).collect(),
            approvals: quorum.map(|quorum| quorum.furthest(&suspension.counted, action)),
            claimed_by: suspension.hands.claim.as_ref().map(|claim| claim.person.clone()),
            claimed_at: suspension.hands.claim.as_ref().map(|claim| claim.at),
            handed_on: suspension.hands.handed.iter().map(HandedOn::of).collect(),
            question_key: grounds.and_then(|grounds| grounds.question_key.clone()),
            explanation: grounds.and_then(|grounds| grounds.explanation.clone()),
            reversibility: grounds.and_then(|grounds| grounds.reversibility),
            earlier_decisions: grounds.iter().flat_map(|grounds| &grounds.earlier).map(EarlierDecision::of).collect(),
            // A store adds them where they matter.
            drafts: Vec::new(),
            redacted: question.is_erased(),
            warnings: Vec::new(),
            asked_by: None,
        }
    }

    /// The record of an answered question whose answer decided about this action.
    #[must_use]
    pub fn deciding(mut self, decided: Map<String, Value>) -> Self {
        if let Some(proposed) = self.original_proposal.take().or_else(|| self.proposal.take()) {
            self.original_proposal = Some(proposed).filter(|proposed| !is_same(proposed, &decided));
            self.action_digest = action_digest(&decided);
            self.proposal = Some(decided);
        }
        self
    }

    /// The question in this record, from which a client can tell which people were asked at an attempt.
    pub fn into_question(self) -> Question {
        let (editable, refusing) = (self.editable, self.refusing);
        let grounds = Grounds {
            question_key: self.question_key,
            explanation: self.explanation,
            reversibility: self.reversibility,
            earlier: self.earlier_decisions.into_iter().map(EarlierDecision::into_decision).collect(),
        };
        let proposed = self.original_proposal.or(self.proposal);
        let proposal = proposed.map(|action| Box::new(Proposal { action, editable, refusing }));
        Question {
            question: self.question,
            context: self.context,
            channel_hint: self.channel_hint,
            timeout_seconds: self.timeout_seconds,
            retry_policy: self.retry_policy,
            confidence_at_suspension: self.confidence_at_suspension,
            decision_record: self.decision_record,
            recipients: self.original_notify_to.unwrap_or(self.notify_to),
            asked_before: self.asked_before,
            requested: self.requested,
            client_id: self.client_id,
            required_assurance: self.required_assurance,
            assignees: self.assignees,
            risk: self.risk,
            separation: self.separation,
            comment_on_refusal: self.comment_on_refusal,
            proposal,
            grounds: grounds.boxed(),
            errand: None,
        }
    }

    /// The record as the OpenIntent client reads it in `state._suspension`: times without `Z`.
    pub fn naive(&self) -> Value {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        for field in ["/suspended_at", "/expires_at", "/claimed_at", "/responded_at", "/resolved_at", "/asked_before/expires_at"]
        {
            value.pointer_mut(field).map(without_zone);
        }
        for earlier in value.get_mut("earlier_decisions").and_then(Value::as_array_mut).into_iter().flatten() {
            earlier.get_mut("resolved_at").map(without_zone);
        }
        for draft in value.pointer_mut("/drafts").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(Value::String(time)) = draft.pointer_mut("/at") {
                time.truncate(time.trim_end_matches('Z').len());
            }
        }
        value
    }
}

/// Takes the `Z` from a time.
pub(super) fn without_zone(time: &mut Value) {
    if let Value::String(time) = time {
        time.truncate(time.trim_end_matches('Z').len());
    }
}

/// `POST /api/v1/intents/{id}/suspend/respond` (RFC-0025 §8). Unknown fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RespondRequest {
    /// The suspension that is answered.
    #[serde(default)]
    #[schema(min_length = 1)]
    pub suspension_id: String,
    /// The answer.
    #[schema(value_type = Value)]
    #[serde(default, deserialize_with = "present")]
    pub value: Option<Value>,
    /// The person who answers. A key of the role `channel` must name this person. With a key of another role, the subject of the
    /// key is the person, and another name here is kept as a claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 200)]
    pub responded_by: Option<String>,
    /// Further members, for example a comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Map<String, Value>>,
    /// The action as the person approves it, with the edits of the person; as it stands if it is absent. Only for a question that proposes
    /// an action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub proposal: Option<Map<String, Value>>,
    /// The `action_digest` of the record from which the person decides; needed if another person has edited the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = r"^sha256:[A-Za-z0-9_-]{43}$")]
    pub based_on: Option<String>,
}

/// The reply to an accepted answer (RFC-0025 §8).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RespondResponse {
    /// The intent. If the question suspended it, it is active again.
    pub intent_id: IntentId,
    /// The suspension that is answered.
    pub suspension_id: SuspensionId,
    /// `responded`; null while more people must agree.
    pub resolution: Option<Resolution>,
    /// How far the answer is from its quorum, while more people must agree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approvals: Option<Tally>,
    /// The recorded answer.
    #[schema(value_type = Value)]
    pub value: Value,
    /// The label of the selected choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice_label: Option<String>,
    /// The description of that choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice_description: Option<String>,
    /// The person who answered, according to the credential.
    pub responded_by: String,
    /// When the person answered.
    #[serde(with = "crate::base::time::naive_form")]
    #[schema(value_type = String, pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}$", examples("2026-11-24T08:00:00.000000"))]
    pub responded_at: DateTime<Utc>,
    /// The action as the person approved it; absent if the question proposes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub proposal: Option<Map<String, Value>>,
    /// The hashes of what was decided and of what was shown for the decision; absent for an answer that came before its question.
    #[serde(flatten)]
    pub evidence: Option<Evidence>,
}

/// `POST /api/v1/suspensions/{id}/cancel`. Unknown fields are refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CancelRequest {
    /// The reason, shown to the people asked; at most 2,000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2_000)]
    pub reason: Option<String>,
}

/// `POST /api/v1/suspensions/{id}/take-back`. Unknown fields are refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TakeBackRequest {
    /// The person whose answer is taken back. A key of the role `channel` must name this person; with every other key it is the subject
    /// of the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 200)]
    pub responded_by: Option<String>,
}

/// `POST /api/v1/suspensions/{id}/claim` and `/release`. Unknown fields are refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimRequest {}

/// `POST /api/v1/suspensions/{id}/delegate`. Unknown fields are refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DelegateRequest {
    /// The address of the listed person who answers in the caller's place from now on.
    #[schema(min_length = 3, max_length = 254)]
    pub to: String,
}

/// `POST /api/v1/suspensions/{id}/reassign`. Unknown fields are refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReassignRequest {
    /// Those who may answer from now on.
    pub assignees: Assignees,
}

/// A page of suspensions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SuspensionPage {
    /// The suspensions, newest first.
    pub suspensions: Vec<SuspensionRecord>,
    /// Pass it as `cursor` for the next page; absent on the last page.
    pub next_cursor: Option<String>,
}

/// `POST /api/v1/suspensions/{id}/extend`: gives either `expires_at` or `seconds`. Unknown fields are refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExtendRequest {
    /// The new deadline, later than the present one.
    #[serde(default, with = "crate::base::time::z_option", skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<DateTime<Utc>>,
    /// How many seconds after the present deadline the new one is, 1 to 31,622,400.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 31_622_400)]
    pub seconds: Option<u32>,
    /// The reason, kept in the log; at most 2,000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2_000)]
    pub reason: Option<String>,
}

/// `POST /api/v1/suspensions/{id}/remind`. Unknown fields are refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RemindRequest {}
