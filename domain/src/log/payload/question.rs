//! Payloads of an open question: how it was asked, and which people were told again.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::base::ids::{IntentId, SuspensionId};
use crate::form::Schema;
use crate::intent::event::{self, ExtensionCause};
use crate::log::payload::earlier::EarlierDecision;
use crate::people::principal::Credential;
use crate::suspension::assignees::Assignees;
use crate::suspension::demand::{CommentOnRefusal, Risk, Separation};
use crate::suspension::errand::Errand;
use crate::suspension::grounds::{Explanation, Grounds, Reversibility};
use crate::suspension::proposal::Proposal;
use crate::suspension::quorum::Quorum;
use crate::suspension::requested::Requested;
use crate::suspension::retry::{self, HumanRetryPolicy, OneOrMany, Strategy};
use crate::suspension::{
    self, FallbackPolicy, Kind, Question, RequiredAssurance, ResponseType, Style, Suspension, SuspensionChoice,
};

/// A question as it was asked. The members about its end are always null. Older versions wrote the whole record of the question
/// here, which had these members, so they stay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Suspended {
    /// The suspension.
    pub id: SuspensionId,
    /// The suspension again, under the name that it has in every other event.
    pub suspension_id: SuspensionId,
    /// The suspended intent.
    pub intent_id: IntentId,
    /// The name of the key that asked.
    pub asked_by: String,
    /// The condition that ends the suspension.
    pub kind: Kind,
    /// The suspension's version, 1.
    pub version: u32,
    /// The attempt, 1.
    pub attempt: u32,
    /// The question.
    pub question: String,
    /// The kind of answer expected.
    pub response_type: ResponseType,
    /// The choices offered.
    pub choices: Vec<Choice>,
    /// Structured context.
    pub context: Map<String, Value>,
    /// The preferred channel.
    pub channel_hint: Option<String>,
    /// The people who are told first.
    pub notify_to: Vec<String>,
    /// The question's own recipients, if they differ from `notify_to`. A step of the escalation ladder that names no people
    /// tells these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_notify_to: Option<Vec<String>>,
    /// When it was asked.
    #[serde(with = "crate::base::time::naive_form")]
    pub suspended_at: DateTime<Utc>,
    /// The window of one attempt, in seconds.
    pub timeout_seconds: Option<u32>,
    /// The deadline of all attempts.
    #[serde(with = "crate::base::time::naive_option")]
    pub expires_at: Option<DateTime<Utc>>,
    /// The policy that applies at the deadline.
    pub fallback_policy: FallbackPolicy,
    /// The value that then replaces an answer.
    pub fallback_value: Option<Value>,
    /// Reminders and escalation.
    pub retry_policy: Option<RetryPolicy>,
    /// The agent's confidence, 0 to 1.
    pub confidence_at_suspension: Option<f64>,
    /// The engagement decision that led to the question.
    pub decision_record: Option<Map<String, Value>>,
    /// Whether a person was reached; false, because no message has left yet.
    pub reached: bool,
    /// Null.
    pub response: (),
    /// Null.
    pub choice_label: (),
    /// Null.
    pub choice_description: (),
    /// Null.
    pub responded_by: (),
    /// Null.
    pub responded_at: (),
    /// Null.
    pub resolution: (),
    /// Null.
    pub resolution_reason: (),
    /// Null.
    pub resolved_at: (),
    /// Null.
    pub metadata: (),
    /// The questions that ended without an answer before this one; absent in logs from before they were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_before: Option<AskedBefore>,
    /// The request that the question was made from; absent for a question in the agent's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested: Option<Box<Requested>>,
    /// The id that the asker's client gave the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// True if the deadline never moves; absent otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fixed_deadline: bool,
    /// How sure the server must be of the person who answers; absent if every answer counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_assurance: Option<RequiredAssurance>,
    /// The people to whom it is assigned; absent if it is assigned to no one in particular.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignees: Option<Assignees>,
    /// How many people must agree; absent if one answer decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quorum: Option<Quorum>,
    /// The JSON Schema that an answer must satisfy; absent for a question without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Box<Schema>>,
    /// The risk that the asker declares; absent if it declares none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
    /// The people who are kept from answering, besides those that a quorum keeps from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub separation: Option<Separation>,
    /// The demand that a person who refuses says why; absent if no comment is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment_on_refusal: Option<CommentOnRefusal>,
    /// The action that the question proposes; absent if it proposes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<Map<String, Value>>,
    /// The JSON Schema of the fields of the action that people may edit; absent if they may edit none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub editable: Option<Box<Schema>>,
    /// The values with which an answer refuses, and so edits nothing; absent without a proposal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refusing: Vec<String>,
    /// The asker's own name for questions of this kind; absent if it gives none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question_key: Option<String>,
    /// The asker's explanation of the action; absent if it gives none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
    /// Whether the action can be taken back, as the asker declares it; absent if it declares nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reversibility: Option<Reversibility>,
    /// The newest decisions about questions with the same key of the same asker, the newest first; absent if there were none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier_decisions: Vec<EarlierDecision>,
    /// How the errand began that the question is: the intent ends with it. Absent if the asker has an intent of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errand: Option<Box<Errand>>,
}

/// One choice of a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// The value that the agent receives.
    pub value: String,
    /// The words that the operator reads.
    pub label: String,
    /// A longer explanation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A visual hint.
    pub style: Style,
    /// Any other data that the agent attached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
}

/// How often people are asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// The attempts in total, the first one included.
    pub max_attempts: u32,
    /// The seconds between two attempts.
    pub interval_seconds: u32,
    /// The cadence.
    pub strategy: Strategy,
    /// The people and channels that take effect at later attempts.
    pub escalation_ladder: Vec<Rung>,
    /// The policy that applies after the last attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_fallback_policy: Option<FallbackPolicy>,
}

/// One step of the escalation ladder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rung {
    /// The attempt at which it takes effect, from 1.
    pub attempt: u32,
    /// The channel from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel_hint: Option<String>,
    /// The people from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notify_to: Option<Vec<String>>,
}

/// The questions of the same intent that ended without an answer before this one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedBefore {
    /// How many questions there were in a row.
    pub times: u32,
    /// Whether this question superseded the last of them.
    pub superseded: bool,
    /// The deadline with which the last of them was asked.
    #[serde(with = "crate::base::time::naive_option")]
    pub expires_at: Option<DateTime<Utc>>,
    /// Whether answers of people counted on one of them when it ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answered: bool,
}

impl Suspended {
    pub(super) fn of(suspension: &Suspension, question: &Question) -> Self {
        let people = question.recipients_at(1);
        let proposal = question.proposal.as_deref();
        let grounds = question.grounds.as_deref();
        Self {
            id: suspension.id,
            suspension_id: suspension.id,
            intent_id: suspension.intent_id,
            asked_by: suspension.asked_by.name.clone(),
            kind: suspension.kind,
            version: suspension.version,
            attempt: suspension.attempt,
            question: question.question.clone(),
            response_type: suspension.response_type,
            choices: suspension.choices.iter().map(Choice::of).collect(),
            context: question.context.clone(),
            channel_hint: question.channel_hint.clone(),
            notify_to: people.to_vec(),
            original_notify_to: (people != question.recipients).then(|| question.recipients.clone()),
            suspended_at: suspension.suspended_at,
            timeout_seconds: question.timeout_seconds,
            expires_at: suspension.expires_at,
            fallback_policy: suspension.fallback_policy,
            fallback_value: suspension.fallback_value.clone(),
            retry_policy: question.retry_policy.as_ref().map(RetryPolicy::of),
            confidence_at_suspension: question.confidence_at_suspension,
            decision_record: question.decision_record.clone(),
            reached: suspension.reached,
            response: (),
            choice_label: (),
            choice_description: (),
            responded_by: (),
            responded_at: (),
            resolution: (),
            resolution_reason: (),
            resolved_at: (),
            metadata: (),
            asked_before: question.asked_before.as_ref().map(AskedBefore::of),
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
            proposal: proposal.map(|proposal| proposal.action.clone()),
            editable: proposal.and_then(|proposal| proposal.editable.clone()),
            refusing: proposal.map(|proposal| proposal.refusing.clone()).unwrap_or_default(),
            question_key: grounds.and_then(|grounds| grounds.question_key.clone()),
            explanation: grounds.and_then(|grounds| grounds.explanation.clone()),
            reversibility: grounds.and_then(|grounds| grounds.reversibility),
            earlier_decisions: grounds.iter().flat_map(|grounds| &grounds.earlier).map(EarlierDecision::of).collect(),
            errand: question.errand.clone(),
        }
    }

    /// The question that people read.
    pub fn into_question(self) -> Question {
        let (editable, refusing) = (self.editable, self.refusing);
        let grounds = Grounds {
            question_key: self.question_key,
            explanation: self.explanation,
            reversibility: self.reversibility,
            earlier: self.earlier_decisions.into_iter().map(EarlierDecision::into_decision).collect(),
        };
        let proposal = self.proposal.map(|action| Box::new(Proposal { action, editable, refusing }));
        Question {
            question: self.question,
            context: self.context,
            channel_hint: self.channel_hint,
            timeout_seconds: self.timeout_seconds,
            retry_policy: self.retry_policy.map(RetryPolicy::into_policy),
            confidence_at_suspension: self.confidence_at_suspension,
            decision_record: self.decision_record,
            recipients: self.original_notify_to.unwrap_or(self.notify_to),
            asked_before: self.asked_before.map(AskedBefore::into_asked_before),
            requested: self.requested,
            client_id: self.client_id,
            required_assurance: self.required_assurance,
            assignees: self.assignees,
            risk: self.risk,
            separation: self.separation,
            comment_on_refusal: self.comment_on_refusal,
            proposal,
            grounds: grounds.boxed(),
            errand: self.errand,
        }
    }
}

impl Choice {
    fn of(choice: &SuspensionChoice) -> Self {
        let SuspensionChoice { value, label, description, style, metadata } = choice.clone();
        Self { value, label, description, style, metadata }
    }
}

impl RetryPolicy {
    fn of(policy: &HumanRetryPolicy) -> Self {
        let rung = |rung: &retry::Rung| Rung {
            attempt: rung.attempt,
            channel_hint: rung.channel_hint.clone(),
            notify_to: rung.notify_to.as_ref().map(|people| people.0.clone()),
        };
        Self {
            max_attempts: policy.max_attempts,
            interval_seconds: policy.interval_seconds,
            strategy: policy.strategy,
            escalation_ladder: policy.escalation_ladder.iter().map(rung).collect(),
            final_fallback_policy: policy.final_fallback_policy,
        }
    }

    fn into_policy(self) -> HumanRetryPolicy {
        let rung = |rung: Rung| retry::Rung {
            attempt: rung.attempt,
            channel_hint: rung.channel_hint,
            notify_to: rung.notify_to.map(OneOrMany),
        };
        HumanRetryPolicy {
            max_attempts: self.max_attempts,
            interval_seconds: self.interval_seconds,
            strategy: self.strategy,
            escalation_ladder: self.escalation_ladder.into_iter().map(rung).collect(),
            final_fallback_policy: self.final_fallback_policy,
        }
    }
}

impl AskedBefore {
    fn of(before: &suspension::AskedBefore) -> Self {
        let suspension::AskedBefore { times, superseded, expires_at, answered } = *before;
        Self { times, superseded, expires_at, answered }
    }

    fn into_asked_before(self) -> suspension::AskedBefore {
        let Self { times, superseded, expires_at, answered } = self;
        suspension::AskedBefore { times, superseded, expires_at, answered }
    }
}

/// One attempt after the first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Renotified {
    /// The suspension.
    pub suspension_id: SuspensionId,
    /// The attempt, from 2.
    pub attempt: u32,
    /// How many attempts there will be.
    pub max_attempts: u32,
    /// The preferred channel.
    pub channel_hint: Option<String>,
    /// The people who are told.
    pub notify_to: Vec<String>,
    /// When the next attempt is due.
    #[serde(with = "crate::base::time::naive_option")]
    pub next_attempt_at: Option<DateTime<Utc>>,
    /// True for an attempt whose time passed while the server was away; absent otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skipped: bool,
    /// `server_unavailable` for an attempt that was skipped; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Renotified {
    pub(super) fn of(renotified: &event::Renotified) -> Self {
        let event::Renotified {
            suspension_id,
            attempt,
            max_attempts,
            channel_hint,
            notify_to,
            next_attempt_at,
            skipped,
            makes_up_from: _,
        } = renotified.clone();
        let reason = skipped.then(|| "server_unavailable".to_owned());
        Self { suspension_id, attempt, max_attempts, channel_hint, notify_to, next_attempt_at, skipped, reason }
    }
}

/// A step of the escalation ladder that takes effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Escalated {
    /// The suspension.
    pub suspension_id: SuspensionId,
    /// The attempt at which it takes effect.
    pub attempt: u32,
    /// The people who are told from now on.
    pub escalated_to: Vec<String>,
    /// The channel from now on.
    pub channel_hint: Option<String>,
}

/// A reminder on request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reminded {
    /// The suspension.
    pub suspension_id: SuspensionId,
    /// The attempt in force.
    pub attempt: u32,
    /// The people who are told.
    pub notify_to: Vec<String>,
    /// The subject that requested it.
    pub reminded_by: String,
    /// The credential; absent if the server itself did it, and in older events, which do not name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

impl Reminded {
    pub(super) fn of(reminded: &event::Reminded) -> Self {
        let event::Reminded { suspension_id, attempt, notify_to, ways: _, reminded_by, credential } = reminded.clone();
        Self { suspension_id, attempt, notify_to, reminded_by, credential }
    }
}

/// A deadline that moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extended {
    /// The suspension.
    pub suspension_id: SuspensionId,
    /// The cause that made it necessary.
    pub cause: ExtensionCause,
    /// The deadline before.
    #[serde(with = "crate::base::time::naive_form")]
    pub old_expires_at: DateTime<Utc>,
    /// The deadline from now on.
    #[serde(with = "crate::base::time::naive_form")]
    pub new_expires_at: DateTime<Utc>,
    /// The reason, in the words of the subject that moved it.
    pub reason: Option<String>,
    /// The subject that moved it.
    pub extended_by: String,
    /// The credential; absent if the server itself did it, and in older events, which do not name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

impl Extended {
    pub(super) fn of(extended: &event::Extended) -> Self {
        let event::Extended { suspension_id, cause, old_expires_at, new_expires_at, reason, extended_by, credential } =
            extended.clone();
        Self { suspension_id, cause, old_expires_at, new_expires_at, reason, extended_by, credential }
    }
}
