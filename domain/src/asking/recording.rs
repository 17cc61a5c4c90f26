//! Turns a request into data that an agent keeps with an intent, or names the fields that break rules.

use serde_json::{Map, Value};

use crate::asking::accepting::EVENT_WORD_MAX;
use crate::asking::check::VALUE_BYTES_MAX;
use crate::base::field::FieldError;
use crate::base::time::{MUST_BE_PLAIN, is_plain};
use crate::base::{json, name};
use crate::intent::record::{Attachment, Cost, DELAY_MS_MAX, Decision, Failure, Record, RetryPolicy};
use crate::people::principal::Principal;
use crate::wire::{AddAttachmentRequest, RecordCostRequest, RecordDecisionRequest, RecordFailureRequest, SetRetryPolicyRequest};

/// The longest reasoning of a decision and the longest message of an error, in bytes.
pub const RECORD_TEXT_BYTES_MAX: usize = 16 * 1024;
/// The longest outcome of a decision and the longest address of an attachment, in characters.
pub const RECORD_LINE_MAX: usize = 2_000;
/// The longest name of a file, in characters.
pub const FILENAME_MAX: usize = 255;
/// The largest number of an attempt.
pub const ATTEMPT_NUMBER_MAX: u32 = 1_000_000;
/// The most retries, and the highest threshold of failures.
pub const RETRIES_MAX: u32 = 1_000;

/// Collects the fields that break rules.
#[derive(Default)]
struct Check(Vec<FieldError>);

impl Check {
    fn error(&mut self, field: &str, rule: &str, message: String) {
        self.0.push(FieldError::new(field, rule, message));
    }

    /// Checks that a text has from `least` to `most` characters.
    fn line(&mut self, field: &str, text: &str, least: usize, most: usize) {
        let length = text.chars().count();
        if length < least || length > most {
            let from = if least == 0 { "at most".to_owned() } else { format!("{least} to") };
            self.error(field, "length", format!("must be {from} {most} characters"));
        }
    }

    /// Checks a name of an agent, a kind or a unit.
    fn word(&mut self, field: &str, word: &str) {
        self.line(field, word, 1, EVENT_WORD_MAX);
        if word.contains(char::is_control) {
            self.error(field, "characters", "must hold no control characters".into());
        }
    }

    fn optional_word(&mut self, field: &str, word: Option<&String>) {
        if let Some(word) = word {
            self.word(field, word);
        }
    }

    /// A name under which an agent can be assigned.
    fn agent(&mut self, field: &str, name: Option<String>) -> Option<String> {
        match name::normal(&name?) {
            Ok(name) => Some(name),
            Err((rule, message)) => {
                self.error(field, rule, message);
                None
            }
        }
    }

    fn text(&mut self, field: &str, text: &str) {
        if text.len() > RECORD_TEXT_BYTES_MAX {
            self.error(field, "length", format!("must be at most {RECORD_TEXT_BYTES_MAX} bytes"));
        }
    }

    fn range<T: PartialOrd + std::fmt::Display>(&mut self, field: &str, number: &T, least: &T, most: &T) {
        if number < least || number > most {
            self.error(field, "range", format!("must be {least} to {most}"));
        }
    }

    fn metadata(&mut self, metadata: Option<Map<String, Value>>) -> Map<String, Value> {
        let metadata = metadata.unwrap_or_default();
        if json::size(&metadata) > VALUE_BYTES_MAX {
            self.error("metadata", "length", format!("must be at most {VALUE_BYTES_MAX} bytes of JSON"));
        }
        metadata
    }

    fn end(self, record: Record) -> Result<Record, Vec<FieldError>> {
        if self.0.is_empty() { Ok(record) } else { Err(self.0) }
    }
}

/// Returns the agent that the record counts for: the agent that the body named, if `by` may act for it, and `agent_id`
/// otherwise. In the second case, the name in the body is returned as well, if there is one.
fn acting(named: Option<String>, by: &Principal, agent_id: String) -> (String, Option<String>) {
    match named {
        Some(named) if by.may_act_for(&named) => (named, None),
        named => (agent_id, named),
    }
}

/// A decision that an agent made itself.
///
/// # Errors
///
/// Every field that breaks a rule.
pub fn decision(body: RecordDecisionRequest) -> Result<Record, Vec<FieldError>> {
    let mut check = Check::default();
    check.word("decision_type", &body.decision_type);
    check.line("outcome", &body.outcome, 1, RECORD_LINE_MAX);
    check.text("reasoning", &body.reasoning);
    let RecordDecisionRequest { decision_type, outcome, reasoning } = body;
    check.end(Record::Decision(Decision { decision_type, outcome, reasoning }))
}

/// A file that is kept elsewhere.
///
/// # Errors
///
/// Every field that breaks a rule.
pub fn attachment(body: AddAttachmentRequest) -> Result<Record, Vec<FieldError>> {
    let mut check = Check::default();
    check.line("filename", &body.filename, 1, FILENAME_MAX);
    check.line("mime_type", &body.mime_type, 0, EVENT_WORD_MAX);
    check.line("storage_url", &body.storage_url, 1, RECORD_LINE_MAX);
    let metadata = check.metadata(body.metadata);
    let AddAttachmentRequest { filename, mime_type, size, storage_url, .. } = body;
    check.end(Record::Attachment(Attachment { filename, mime_type, size, storage_url, metadata }))
}

/// The cost of some work. It counts for the agent that the body names, if `by` may act for that agent; otherwise for `agent_id`,
/// the agent as which `by` acts.
///
/// # Errors
///
/// Every field that breaks a rule.
pub fn cost(body: RecordCostRequest, by: &Principal, agent_id: String) -> Result<Record, Vec<FieldError>> {
    let mut check = Check::default();
    check.optional_word("agent_id", body.agent_id.as_ref());
    check.word("cost_type", &body.cost_type);
    check.word("unit", &body.unit);
    check.optional_word("provider", body.provider.as_ref());
    let metadata = check.metadata(body.metadata);
    let RecordCostRequest { cost_type, amount, unit, provider, .. } = body;
    let (agent_id, claimed_agent_id) = acting(body.agent_id, by, agent_id);
    check.end(Record::Cost(Cost { agent_id, claimed_agent_id, cost_type, amount, unit, provider, metadata }))
}

/// Work that failed. It counts for the agent that the body names, if `by` may act for that agent; otherwise for `agent_id`, the
/// agent as which `by` acts.
///
/// # Errors
///
/// Every field that breaks a rule.
pub fn failure(body: RecordFailureRequest, by: &Principal, agent_id: String) -> Result<Record, Vec<FieldError>> {
    let mut check = Check::default();
    check.optional_word("agent_id", body.agent_id.as_ref());
    check.range("attempt_number", &body.attempt_number.unwrap_or(0), &0, &ATTEMPT_NUMBER_MAX);
    check.optional_word("error_code", body.error_code.as_ref());
    check.optional_word("error_type", body.error_type.as_ref());
    check.text("error_message", body.error_message.as_deref().unwrap_or_default());
    // Clients in Python cannot read a leap second, or a year that is not 1 to 9999. A failure with a time like this would stay
    // in the list of failures, and they could not read that list any more.
    if body.retry_scheduled_at.is_some_and(|at| !is_plain(at)) {
        check.error("retry_scheduled_at", "range", MUST_BE_PLAIN.into());
    }
    let metadata = check.metadata(body.metadata);
    let RecordFailureRequest { attempt_number, error_code, error_type, error_message, recoverable, retry_scheduled_at, .. } =
        body;
    let (agent_id, claimed_agent_id) = acting(body.agent_id, by, agent_id);
    check.end(Record::Failure(Failure {
        agent_id,
        claimed_agent_id,
        attempt_number,
        error_code,
        error_type,
        error_message,
        recoverable,
        retry_scheduled_at,
        metadata,
    }))
}

/// How work that failed is repeated.
///
/// # Errors
///
/// Every field that breaks a rule.
pub fn retry_policy(body: SetRetryPolicyRequest) -> Result<Record, Vec<FieldError>> {
    let mut check = Check::default();
    let policy = RetryPolicy {
        strategy: body.strategy,
        max_retries: body.max_retries.unwrap_or(3),
        base_delay_ms: body.base_delay_ms.unwrap_or(1_000),
        max_delay_ms: body.max_delay_ms.unwrap_or(60_000),
        fallback_agent_id: check.agent("fallback_agent_id", body.fallback_agent_id),
        failure_threshold: body.failure_threshold.unwrap_or(3),
        enforced: true,
    };
    check.range("max_retries", &policy.max_retries, &0, &RETRIES_MAX);
    check.range("base_delay_ms", &policy.base_delay_ms, &0, &DELAY_MS_MAX);
    check.range("max_delay_ms", &policy.max_delay_ms, &0, &DELAY_MS_MAX);
    check.range("failure_threshold", &policy.failure_threshold, &1, &RETRIES_MAX);
    check.end(Record::RetryPolicy(policy))
}
