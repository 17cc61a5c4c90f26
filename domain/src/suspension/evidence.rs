//! Two hashes that stand beside an answer: of the action that was decided, and of everything that was shown for the decision.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::base::canonical::in_order;
use crate::base::ids::{IntentId, SuspensionId};
use crate::base::json::canonical;
use crate::base::sealed::Hash;
use crate::base::time::naive;
use crate::form::Schema;
pub use crate::suspension::action::action_digest;
use crate::suspension::assignees::Assignees;
use crate::suspension::demand::{CommentOnRefusal, Risk};
use crate::suspension::grounds::{EarlierDecision, Explanation, Reversibility};
use crate::suspension::hands::Handed;
use crate::suspension::quorum::{Counted, Quorum};
use crate::suspension::{FallbackPolicy, Question, Resolution, ResolutionReason, ResponseType, Suspension, SuspensionChoice};

/// The version of the answer page's form: which of the hashed facts the page shows, and how. It changes if the page shows other facts.
pub const FORM_VERSION: u32 = 2;
/// The version for a question with grounds beside its context, or with the confidence of its asker. Questions without them keep the
/// version and the hashes that they had before there were grounds.
pub const FORM_VERSION_WITH_GROUNDS: u32 = 3;

/// The hashes of an answer, as they stand in its event and in its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Evidence {
    /// SHA-256 of the RFC 8785 bytes of the action about which the person decided: of the `proposal` as the person approved it, or of the
    /// question's `context` if it proposes no action.
    #[schema(value_type = String, pattern = r"^sha256:[A-Za-z0-9_-]{43}$")]
    pub action_digest: Hash,
    /// SHA-256 of the RFC 8785 bytes of the `proposal` as the agent made it; absent if the question proposes no action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, pattern = r"^sha256:[A-Za-z0-9_-]{43}$")]
    pub proposed_digest: Option<Hash>,
    /// SHA-256 of the RFC 8785 bytes of everything that was shown for the decision; `docs/log-format.md` lists the members.
    #[schema(value_type = String, pattern = r"^sha256:[A-Za-z0-9_-]{43}$")]
    pub presented_hash: Hash,
}

impl Evidence {
    /// Hashes an open question as it stands now, with the action as it stands. `None` if a number in it has no canonical form; no question that was accepted has one.
    pub fn of(open: &Suspension, question: &Question) -> Option<Self> {
        let (grounds, confidence) = (question.grounds.as_deref(), question.confidence_at_suspension);
        let presented = Presented {
            form: if grounds.is_some() || confidence.is_some() { FORM_VERSION_WITH_GROUNDS } else { FORM_VERSION },
            question: &question.question,
            response_type: open.response_type,
            choices: open.choices.iter().map(Shown::of).collect(),
            context: &question.context,
            fallback_policy: open.policy_in_silence(),
            fallback_value: open
                .fallback_value
                .as_ref()
                .filter(|_| open.ended_by_portfolio().is_none() && open.counted.is_empty()),
            deadline: open.ends_at().map(naive),
            asked_by: &open.asked_by.name,
            assignees: question.assignees.as_ref(),
            quorum: open.quorum.as_ref(),
            schema: open.schema.as_deref(),
            counted: open.counted.iter().map(ShownAnswer::of).collect(),
            risk: question.risk,
            comment_on_refusal: question.comment_on_refusal.as_ref(),
            claimed_by: open.hands.claim.as_ref().map(|claim| claim.person.as_str()),
            handed_on: &open.hands.handed,
            proposal: question.proposal.as_ref().map(|proposal| &proposal.action),
            editable: question.proposal.as_ref().and_then(|proposal| proposal.editable.as_deref()),
            confidence,
            question_key: grounds.and_then(|grounds| grounds.question_key.as_deref()),
            explanation: grounds.and_then(|grounds| grounds.explanation.as_ref()),
            reversibility: grounds.and_then(|grounds| grounds.reversibility),
            earlier_decisions: grounds.iter().flat_map(|grounds| &grounds.earlier).map(ShownDecision::of).collect(),
        };
        let presented_hash = Hash::of(&in_order(&presented).ok()?);
        let proposal = question.proposal.as_deref();
        let action = proposal.map_or(&question.context, |proposal| proposal.current(&open.counted));
        let proposed_digest = match proposal {
            Some(proposal) => Some(action_digest(&proposal.action)?),
            None => None,
        };
        Some(Self { action_digest: action_digest(action)?, proposed_digest, presented_hash })
    }

    /// The same hashes for an answer that decides about this action.
    pub fn about(self, action: &Map<String, Value>) -> Option<Self> {
        Some(Self { action_digest: action_digest(action)?, ..self })
    }

    /// The challenge that a passkey signs for this answer: SHA-256 of the RFC 8785 bytes of `{suspension, value, action_digest,
    /// proposed_digest, presented_hash}`, without `proposed_digest` if the question proposes no action. `None` if a number in the value has no canonical form.
    pub fn challenge(&self, suspension: SuspensionId, value: &Value) -> Option<[u8; 32]> {
        canonical(&Consent { suspension, value, evidence: self }).ok().map(|bytes| Hash::of(&bytes).0)
    }
}

/// Everything that a passkey signs.
#[derive(Serialize)]
struct Consent<'a> {
    suspension: SuspensionId,
    value: &'a Value,
    #[serde(flatten)]
    evidence: &'a Evidence,
}

/// Everything that is shown for the decision, in canonical order: every answer hashes it in the one thread that writes.
#[derive(Serialize)]
struct Presented<'a> {
    asked_by: &'a str,
    /// Absent for a question that is assigned to no one in particular.
    #[serde(skip_serializing_if = "Option::is_none")]
    assignees: Option<&'a Assignees>,
    choices: Vec<Shown<'a>>,
    /// The person who works on the question; absent if no person has claimed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    claimed_by: Option<&'a str>,
    /// Absent if a person who refuses need not say why.
    #[serde(skip_serializing_if = "Option::is_none")]
    comment_on_refusal: Option<&'a CommentOnRefusal>,
    /// How sure the asker is; absent if it does not say so.
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<f64>,
    context: &'a Map<String, Value>,
    /// The answers that people have given so far; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    counted: Vec<ShownAnswer<'a>>,
    deadline: Option<String>,
    /// The earlier decisions, each by the hash of its event, which covers the answer and the person; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    earlier_decisions: Vec<ShownDecision>,
    /// The fields of that action that people may edit.
    #[serde(skip_serializing_if = "Option::is_none")]
    editable: Option<&'a Schema>,
    /// Absent if the asker explains nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<&'a Explanation>,
    fallback_policy: FallbackPolicy,
    fallback_value: Option<&'a Value>,
    form: u32,
    /// The places that were handed on; absent if there are none.
    #[serde(skip_serializing_if = "<[Handed]>::is_empty")]
    handed_on: &'a [Handed],
    /// The action that it proposes; absent if it proposes none.
    #[serde(skip_serializing_if = "Option::is_none")]
    proposal: Option<&'a Map<String, Value>>,
    question: &'a str,
    /// The asker's name for questions of this kind; absent if it gives none.
    #[serde(skip_serializing_if = "Option::is_none")]
    question_key: Option<&'a str>,
    /// Absent for a question that one answer decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    quorum: Option<&'a Quorum>,
    response_type: ResponseType,
    /// Absent if the asker declares nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    reversibility: Option<Reversibility>,
    /// Absent if the asker declares none.
    #[serde(skip_serializing_if = "Option::is_none")]
    risk: Option<Risk>,
    /// Absent for a question without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<&'a Schema>,
}

/// An answer that another person has given, as people read it.
#[derive(Serialize)]
struct ShownAnswer<'a> {
    at: String,
    person: &'a str,
    /// The action about which it decides; absent if the question proposes none.
    #[serde(skip_serializing_if = "Option::is_none")]
    proposal: Option<&'a Map<String, Value>>,
    value: &'a Value,
}

impl<'a> ShownAnswer<'a> {
    fn of(counted: &'a Counted) -> Self {
        Self { person: &counted.person, value: &counted.value, at: naive(counted.at), proposal: counted.action.as_ref() }
    }
}

/// A decision about an earlier question. The hash of the event that ended it covers the answer and the person.
#[derive(Serialize)]
struct ShownDecision {
    event_hash: Hash,
    intent_id: IntentId,
    resolution: Resolution,
    #[serde(skip_serializing_if = "Option::is_none")]
    resolution_reason: Option<ResolutionReason>,
    resolved_at: String,
    suspension_id: SuspensionId,
}

impl ShownDecision {
    fn of(earlier: &EarlierDecision) -> Self {
        let EarlierDecision { suspension_id, intent_id, event_hash, resolution, reason, at, content: _ } = *earlier;
        Self { suspension_id, intent_id, event_hash, resolution, resolution_reason: reason, resolved_at: naive(at) }
    }
}

/// A choice as people read it. Its style only colours it, and its metadata is not shown.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    label: &'a str,
    value: &'a str,
}

impl<'a> Shown<'a> {
    fn of(choice: &'a SuspensionChoice) -> Self {
        Self { value: &choice.value, label: &choice.label, description: choice.description.as_deref() }
    }
}
