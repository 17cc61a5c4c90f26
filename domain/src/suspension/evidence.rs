//! Two hashes that stand beside an answer: of the action that was decided, and of everything that was shown for the decision.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::base::json::canonical;
use crate::base::sealed::Hash;
use crate::base::time::naive;
use crate::suspension::{Question, Suspension, SuspensionChoice};

/// The version of the answer page's form: which of the hashed facts the page shows, and how. It changes if the page shows other facts.
pub const FORM_VERSION: u32 = 1;

/// The hashes of an answer, as they stand in its event and in its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Evidence {
    /// SHA-256 of the RFC 8785 bytes of the question's `context`: the action about which the person decided.
    #[schema(value_type = String, pattern = r"^sha256:[A-Za-z0-9_-]{43}$")]
    pub action_digest: Hash,
    /// SHA-256 of the RFC 8785 bytes of everything that was shown for the decision; `docs/log-format.md` lists the members.
    #[schema(value_type = String, pattern = r"^sha256:[A-Za-z0-9_-]{43}$")]
    pub presented_hash: Hash,
}

impl Evidence {
    /// Hashes an open question as it stands now. `None` if a number in it has no canonical form; no question that was accepted has one.
    pub fn of(open: &Suspension, question: &Question) -> Option<Self> {
        let action_digest = Hash::of(&canonical(&question.context).ok()?);
        let presented_hash = Hash::of(&canonical(&presented(open, question)).ok()?);
        Some(Self { action_digest, presented_hash })
    }
}

/// Everything that is shown for the decision.
fn presented(open: &Suspension, question: &Question) -> Value {
    let deadline = open.expires_at.into_iter().chain(open.portfolio_deadline.map(|portfolio| portfolio.at)).min();
    let fallback_value = open.fallback_value.as_ref().filter(|_| open.ended_by_portfolio().is_none());
    json!({
        "form": FORM_VERSION,
        "question": question.question,
        "response_type": open.response_type,
        "choices": open.choices.iter().map(shown).collect::<Vec<_>>(),
        "context": question.context,
        "fallback_policy": open.policy_in_silence(),
        "fallback_value": fallback_value,
        "deadline": deadline.map(naive),
        "asked_by": open.asked_by.name,
    })
}

/// A choice as people read it. Its style only colours it, and its metadata is not shown.
fn shown(choice: &SuspensionChoice) -> Value {
    let description = choice.description.as_ref().map(|description| ("description".to_owned(), json!(description)));
    let plain = [("value".to_owned(), json!(choice.value)), ("label".to_owned(), json!(choice.label))];
    let members: Map<_, _> = plain.into_iter().chain(description).collect();
    Value::Object(members)
}
