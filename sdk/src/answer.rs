//! The ending of a question, as a type: an answer tells whether a person gave it.

use chrono::{DateTime, Utc};
use domain::base::ids::SuspensionId;
use domain::suspension::{FallbackPolicy, Resolution, ResolutionReason};
use domain::wire::{DraftView, SuspensionRecord};
use serde_json::{Map, Value};

use crate::error::{CancelReason, RequestInputError, TimeoutReason};

/// The answer to a question (RFC-0025 §10).
#[derive(Clone, Debug, PartialEq)]
#[must_use = "an answer decides how the program goes on"]
pub struct Answer<T> {
    /// The answer.
    pub value: T,
    /// Whether a person gave it.
    pub source: Source,
    /// The answer as it was recorded.
    pub raw: Value,
    /// The id of the question that it answers. The id is a capability: its holder can act on the question, so keep it out of
    /// logs.
    pub suspension_id: SuspensionId,
    /// The question in the words that people read. The answer is about these words. They may differ from the words of this call
    /// if the question was found under its idempotency key.
    pub question: String,
    /// The label of the selected choice.
    pub choice_label: Option<String>,
    /// The description of the selected choice.
    pub choice_description: Option<String>,
    /// The person who answered; `None` if [`source`](Answer::source) is a fallback.
    pub responded_by: Option<String>,
    /// When the answer was given; absent for a fallback.
    pub responded_at: Option<DateTime<Utc>>,
    /// The action that the answer is about, with the edits of the person; absent if the question proposes none. Carry out this action, and
    /// no other.
    pub proposal: Option<Map<String, Value>>,
    /// The action as the agent proposed it; absent if it was not edited.
    pub original_proposal: Option<Map<String, Value>>,
    /// Further data that came with the answer, for example a comment.
    pub metadata: Map<String, Value>,
    /// The drafts that people had saved when the fallback was used; empty if a person answered. A draft is no answer: its author decided
    /// nothing with it.
    pub drafts: Vec<DraftView>,
    /// Whether the question had ended before this call asked it. If it had, an earlier call may have acted on the answer already.
    /// This is expected after a restart; see [`Question::again`](crate::Question::again) if you want a new question.
    pub replayed: bool,
}

/// The origin of an answer: a program cannot mistake silence for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A person answered.
    Human {
        /// The name of the person, as recorded for the credential that gave the answer.
        by: String,
        /// The time of the answer.
        at: DateTime<Utc>,
    },
    /// No person answered; the question's own fallback is used.
    Fallback {
        /// When the deadline passed.
        at: DateTime<Utc>,
    },
}

impl Source {
    /// Whether a person answered.
    pub fn is_human(&self) -> bool {
        matches!(self, Self::Human { .. })
    }
}

/// Reads how a suspension ended; `None` while it is open.
pub(crate) fn outcome<T>(
    record: &SuspensionRecord,
    read: fn(&Value) -> Result<T, String>,
    replayed: bool,
) -> Option<Result<Answer<T>, RequestInputError>> {
    let at = record.resolved_at;
    let (drafts, suspension_id) = (|| record.drafts.clone(), record.id);
    let timeout = |reason| {
        let attempts = record.attempt;
        RequestInputError::InputTimeout { reason, at, attempts, drafts: drafts(), suspension_id }
    };
    let cancelled = |reason| RequestInputError::InputCancelled { reason, at, drafts: drafts(), suspension_id };
    let raw = record.response.clone().unwrap_or_default();
    let invalid = |reason: String| RequestInputError::InvalidAnswer { reason, raw: raw.clone(), suspension_id: record.id };
    let source = match (record.resolution?, record.resolution_reason) {
        (Resolution::Responded, _) => match (&record.responded_by, record.responded_at) {
            (Some(by), Some(at)) => Source::Human { by: by.clone(), at },
            // Without a name there is no proof that a person answered.
            (None, _) | (_, None) => return Some(Err(invalid("the record does not say who answered and when".to_owned()))),
        },
        (Resolution::Expired, _) => match (record.fallback_policy, at) {
            (FallbackPolicy::Fail, _) => return Some(Err(timeout(TimeoutReason::Unanswered))),
            (FallbackPolicy::CompleteWithFallback | FallbackPolicy::UseDefaultAndContinue, Some(at)) => Source::Fallback { at },
            (FallbackPolicy::CompleteWithFallback | FallbackPolicy::UseDefaultAndContinue, None) => {
                return Some(Err(invalid("the record does not say when it expired".to_owned())));
            }
        },
        (Resolution::Cancelled, Some(ResolutionReason::Undeliverable)) => {
            return Some(Err(timeout(TimeoutReason::Undeliverable)));
        }
        (Resolution::Cancelled, Some(ResolutionReason::TimeLost)) => return Some(Err(cancelled(CancelReason::TimeLost))),
        (Resolution::Cancelled, Some(ResolutionReason::PortfolioDeadline)) => {
            return Some(Err(cancelled(CancelReason::PortfolioDeadline)));
        }
        (Resolution::Cancelled, Some(ResolutionReason::QuorumUnmet)) => {
            return Some(Err(cancelled(CancelReason::QuorumUnmet)));
        }
        (Resolution::Cancelled, Some(ResolutionReason::Superseded)) => return Some(Err(cancelled(CancelReason::Superseded))),
        (Resolution::Cancelled, Some(ResolutionReason::Withdrawn) | None) => {
            return Some(Err(cancelled(CancelReason::Withdrawn)));
        }
    };
    let value = match read(&raw) {
        Ok(value) => value,
        Err(reason) => return Some(Err(invalid(reason))),
    };
    Some(Ok(Answer {
        value,
        source,
        raw,
        suspension_id: record.id,
        question: record.question.clone(),
        choice_label: record.choice_label.clone(),
        choice_description: record.choice_description.clone(),
        responded_by: record.responded_by.clone(),
        responded_at: record.responded_at,
        proposal: record.proposal.clone(),
        original_proposal: record.original_proposal.clone(),
        metadata: record.metadata.clone().unwrap_or_default(),
        drafts: drafts(),
        replayed,
    }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ID: &str = "0190a6c0-0000-7000-8000-000000000001";
    const AT: &str = "2026-11-21T08:13:35.889468Z";

    fn text(raw: &Value) -> Result<String, String> {
        raw.as_str().map(str::to_owned).ok_or_else(|| "it is no text".to_owned())
    }

    fn ended(more: Value) -> Option<Result<Answer<String>, RequestInputError>> {
        let mut record = json!({
            "id": ID, "intent_id": ID, "kind": "awaiting_input", "version": 2, "attempt": 3, "question": "Go?",
            "response_type": "text", "choices": [], "context": {}, "notify_to": [], "suspended_at": AT, "expires_at": AT,
            "fallback_policy": "fail", "reached": true, "responded_at": null, "resolved_at": null,
        });
        let Value::Object(more) = more else { panic!("an object is expected") };
        record.as_object_mut().unwrap().extend(more);
        outcome(&serde_json::from_value(record).unwrap(), text, false)
    }

    #[test]
    fn a_question_that_is_open_has_no_outcome() {
        assert!(ended(json!({})).is_none());
    }

    #[test]
    fn a_persons_answer_names_the_person() {
        let more = json!({"resolution": "responded", "response": "fine", "responded_by": "alice@example.com", "responded_at": AT,
            "resolved_at": AT, "choice_label": "Fine", "metadata": {"comment": "ok"}});
        let answer = ended(more).unwrap().unwrap();
        let at = domain::base::time::parse(AT).unwrap();
        assert_eq!(answer.source, Source::Human { by: "alice@example.com".into(), at });
        assert_eq!((answer.value.as_str(), &answer.metadata["comment"]), ("fine", &json!("ok")));
        assert!(!format!("{answer:?}").contains(ID));
    }

    #[test]
    fn silence_is_never_a_person() {
        let more =
            json!({"resolution": "expired", "resolved_at": AT, "fallback_policy": "complete_with_fallback", "response": "no"});
        let answer = ended(more).unwrap().unwrap();
        assert_eq!(answer.source, Source::Fallback { at: domain::base::time::parse(AT).unwrap() });
        assert_eq!((answer.value.as_str(), answer.responded_by), ("no", None));
        // An answer whose record names no person is not taken for the answer of a person either.
        let nobody = json!({"resolution": "responded", "response": "yes", "resolved_at": AT});
        assert!(matches!(ended(nobody), Some(Err(RequestInputError::InvalidAnswer { .. }))));
    }

    #[test]
    fn every_other_ending_is_an_error_of_its_own() {
        let failed = ended(json!({"resolution": "expired", "resolved_at": AT})).unwrap().unwrap_err();
        assert!(matches!(&failed, RequestInputError::InputTimeout { reason: TimeoutReason::Unanswered, attempts: 3, .. }));
        assert!(!format!("{failed:?} {failed}").contains(ID));
        let reason = |word: &str| ended(json!({"resolution": "cancelled", "resolution_reason": word, "resolved_at": AT}));
        let undeliverable = reason("undeliverable").unwrap().unwrap_err();
        assert!(matches!(&undeliverable, RequestInputError::InputTimeout { reason: TimeoutReason::Undeliverable, .. }));
        // The error must not say that mail does not work. Mail may work: the server also holds messages back if a person got many
        // from this agent.
        let said = undeliverable.to_string();
        assert!(said.contains("no message") && said.contains("/deliveries") && !said.contains(ID), "{said}");
        assert!(matches!(
            reason("withdrawn"),
            Some(Err(RequestInputError::InputCancelled { reason: CancelReason::Withdrawn, .. }))
        ));
        assert!(matches!(
            reason("superseded"),
            Some(Err(RequestInputError::InputCancelled { reason: CancelReason::Superseded, .. }))
        ));
    }

    #[test]
    fn an_answer_of_another_type_is_no_answer() {
        let more = json!({"resolution": "responded", "response": 5, "responded_by": "a", "responded_at": AT, "resolved_at": AT});
        let Some(Err(RequestInputError::InvalidAnswer { raw, .. })) = ended(more) else { panic!("it is no text") };
        assert_eq!(raw, json!(5));
    }
}
