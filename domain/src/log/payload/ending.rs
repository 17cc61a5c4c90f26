//! Payloads of the events that end a suspension, and of answers that were refused.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::base::ids::{KeyId, PortfolioId, ReceiptId, SuspensionId};
use crate::base::passkey::Assertion;
use crate::base::sealed::Hash;
use crate::intent::event::{self, Agreed, ExpiryReason};
use crate::intent::receipt::{DECISION_VERSION, Decision};
use crate::people::principal::{Assurance, Credential, Role};
use crate::suspension::errand::Via;
use crate::suspension::evidence::Evidence;
use crate::suspension::quorum::Tally;
use crate::suspension::{FallbackPolicy, Kind, Question, ResolutionReason, Suspension};

/// An accepted answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resumed {
    /// The suspension.
    pub suspension_id: SuspensionId,
    /// The approval; approvals only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<SuspensionId>,
    /// `approved` or `denied`; approvals only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// The answer.
    pub value: Option<Value>,
    /// The person who answered.
    pub responded_by: Option<String>,
    /// When the person answered.
    #[serde(with = "crate::base::time::naive_form")]
    pub responded_at: DateTime<Utc>,
    /// The members that came with the answer; empty if none did.
    pub metadata: Map<String, Value>,
    /// The role of the credential.
    pub role: Role,
    /// How sure the server is of the person.
    pub assurance: Assurance,
    /// The label of the selected choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice_label: Option<String>,
    /// The description of the selected choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice_description: Option<String>,
    /// The person that the body claimed, if the credential names another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_responded_by: Option<String>,
    /// The credential; absent in older events, which do not name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
    /// The hashes of what was decided and of what was shown; absent in older events.
    #[serde(flatten)]
    pub evidence: Option<Evidence>,
    /// The signature of a passkey under the answer, if the question demanded one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assertion: Option<Box<Assertion>>,
    /// The people whose answers made the quorum; absent if the question has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agreed: Vec<Agreed>,
    /// The person in whose place this one answered, if a place was handed on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_place_of: Option<String>,
    /// The action about which it decides, as the person approved it; absent if the question proposes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<Map<String, Value>>,
    /// The door through which it came; absent in older events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Via>,
}

impl Resumed {
    pub(super) fn of(resumed: &event::Resumed) -> Self {
        let is_approval = resumed.kind == Kind::Approval;
        let decision = is_approval.then(|| if resumed.approves() { "approved" } else { "denied" }.to_owned());
        let event::Resumed {
            suspension_id,
            kind: _,
            ending,
            choice_label,
            choice_description,
            role,
            assurance,
            credential,
            claimed_responded_by,
            evidence,
            assertion,
            agreed,
            in_place_of,
            via,
            action,
        } = resumed.clone();
        Self {
            suspension_id,
            approval_id: is_approval.then_some(suspension_id),
            decision,
            value: ending.response,
            responded_by: ending.by,
            responded_at: ending.at,
            metadata: ending.metadata.unwrap_or_default(),
            role,
            assurance,
            choice_label,
            choice_description,
            claimed_responded_by,
            credential,
            evidence,
            assertion,
            agreed,
            in_place_of,
            proposal: action,
            via,
        }
    }
}

impl Resumed {
    /// The decision that this answer made about an ended question; the event with the hash `event` recorded it. `None` if the answer has no
    /// hashes, because it is older than they are.
    pub fn decision(&self, receipt_id: ReceiptId, ended: &Suspension, question: &Question, event: Hash) -> Option<Decision> {
        let Evidence { action_digest, proposed_digest, presented_hash } = self.evidence?;
        Some(Decision {
            version: DECISION_VERSION,
            receipt_id,
            intent_id: ended.intent_id,
            suspension_id: ended.id,
            question: question.question.clone(),
            asked_by: ended.asked_by.name.clone(),
            asked_at: ended.suspended_at,
            value: self.value.clone()?,
            meaning: self.decision.clone().or_else(|| self.choice_label.clone()),
            responded_by: self.responded_by.clone()?,
            responded_at: self.responded_at,
            role: self.role,
            assurance: self.assurance,
            action_digest,
            proposed_digest,
            presented_hash,
            answer_event_hash: event,
            assertion: self.assertion.clone(),
        })
    }
}

/// An answer that counts towards a quorum, and is not enough yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnswerCounted {
    /// The suspension.
    pub suspension_id: SuspensionId,
    /// The address of the person.
    pub person: String,
    /// The answer.
    pub value: Value,
    /// The person, as the credential names the person.
    pub responded_by: String,
    /// When the person answered.
    #[serde(with = "crate::base::time::naive_form")]
    pub responded_at: DateTime<Utc>,
    /// The members that came with the answer; empty if none did.
    pub metadata: Map<String, Value>,
    /// The role of the credential.
    pub role: Role,
    /// How sure the server is of the person.
    pub assurance: Assurance,
    /// The person that the body claimed, if the credential names another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_responded_by: Option<String>,
    /// The credential.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
    /// The hashes of what was decided and of what was shown.
    #[serde(flatten)]
    pub evidence: Option<Evidence>,
    /// The signature of a passkey under the answer, if the question demanded one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assertion: Option<Box<Assertion>>,
    /// How many people have given this answer now, and how many must give it.
    pub approvals: Tally,
    /// The person in whose place this one answered, if a place was handed on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_place_of: Option<String>,
    /// The action about which it decides, as the person approved it; absent if the question proposes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<Map<String, Value>>,
    /// The people whose approvals do not count any more, because this answer approves another action; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clears: Vec<String>,
    /// The door through which it came; absent in older events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Via>,
}

impl AnswerCounted {
    pub(super) fn of(counted: &event::AnswerCounted) -> Self {
        let event::AnswerCounted { answer, person, gateway: _, tally, clears } = counted.clone();
        let Resumed { suspension_id, value, responded_by, responded_at, metadata, role, assurance, .. } = Resumed::of(&answer);
        let event::Resumed { claimed_responded_by, credential, evidence, assertion, in_place_of, via, action, .. } = answer;
        Self {
            suspension_id,
            person,
            value: value.unwrap_or_default(),
            responded_by: responded_by.unwrap_or_default(),
            responded_at,
            metadata,
            role,
            assurance,
            claimed_responded_by,
            credential,
            evidence,
            assertion,
            approvals: tally,
            in_place_of,
            proposal: action,
            clears,
            via,
        }
    }

    /// The answer as it would stand in the event of an answer that ends its question, apart from what the question says of it.
    pub fn to_answer(&self) -> Resumed {
        let counted = self.clone();
        Resumed {
            suspension_id: counted.suspension_id,
            approval_id: None,
            decision: None,
            value: Some(counted.value),
            responded_by: Some(counted.responded_by),
            responded_at: counted.responded_at,
            metadata: counted.metadata,
            role: counted.role,
            assurance: counted.assurance,
            choice_label: None,
            choice_description: None,
            claimed_responded_by: counted.claimed_responded_by,
            credential: counted.credential,
            evidence: counted.evidence,
            assertion: counted.assertion,
            agreed: Vec::new(),
            in_place_of: counted.in_place_of,
            proposal: counted.proposal,
            via: counted.via,
        }
    }

    /// The key of the gateway through which the answer came, if it came through one.
    pub fn gateway(&self) -> Option<KeyId> {
        match self.credential {
            Some(Credential::ApiKey(id)) if self.role == Role::Channel => Some(id),
            Some(Credential::ApiKey(_) | Credential::EmailLink(_) | Credential::Session(_)) | None => None,
        }
    }
}

/// A deadline that passed without an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expired {
    /// The suspension.
    pub suspension_id: SuspensionId,
    /// Why the question ended: no person answered, no person was reached, or the deadline of a portfolio has passed.
    pub reason: ExpiryReason,
    /// The attempts made by then.
    pub attempts: u32,
    /// The policy that the question had.
    pub fallback_policy: FallbackPolicy,
    /// The value that replaces an answer, if one does.
    pub fallback_value: Option<Value>,
    /// Whether a person was reached.
    pub reached: bool,
    /// The portfolio, if its deadline has passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub portfolio_id: Option<PortfolioId>,
    /// The deadline of that portfolio.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::base::time::z_option")]
    pub portfolio_deadline: Option<DateTime<Utc>>,
}

impl Expired {
    pub(super) fn of(expired: &event::Expired) -> Self {
        let event::Expired { suspension_id, reason, attempts, fallback_policy, fallback_value, reached, portfolio } =
            expired.clone();
        Self {
            suspension_id,
            reason,
            attempts,
            fallback_policy,
            fallback_value,
            reached,
            portfolio_id: portfolio.map(|portfolio| portfolio.portfolio_id),
            portfolio_deadline: portfolio.map(|portfolio| portfolio.at),
        }
    }
}

/// A deadline that passed while no person could be reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undeliverable {
    /// The suspension.
    pub suspension_id: SuspensionId,
}

/// A question that was withdrawn or superseded, or that the server ended because it was away or its clock jumped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cancelled {
    /// The suspension.
    pub suspension_id: SuspensionId,
    /// Which of these happened.
    pub resolution_reason: ResolutionReason,
    /// The caller's words.
    pub reason: Option<String>,
    /// The subject that withdrew or superseded it, or the server.
    pub cancelled_by: String,
    /// The credential; absent if the server itself did it, and in older events, which do not name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// An answer that was refused because it came after the deadline, or after the question had ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RefusedAnswer {
    /// The suspension that the answer named.
    pub suspension_id: SuspensionId,
    /// The code of the refusal.
    pub code: String,
    /// The answer; null if there was none or it was too large to keep.
    pub value: Option<Value>,
    /// Whether `value` is null for one of these reasons.
    pub value_omitted: bool,
    /// The person who sent it.
    pub responded_by: String,
    /// The credential; absent in older events, which do not name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
    /// The door through which it came; absent in older events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Via>,
}

impl RefusedAnswer {
    pub(super) fn of(refused: &event::RefusedAnswer) -> Self {
        let event::RefusedAnswer { suspension_id, code, value, responded_by, credential, via } = refused.clone();
        Self { suspension_id, code: code.to_owned(), value_omitted: value.is_none(), value, responded_by, credential, via }
    }
}
