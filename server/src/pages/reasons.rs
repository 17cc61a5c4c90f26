//! The reasons for a no that the operator names: a person chooses one instead of typing it.
//!
//! Guarantee: the agent and the record get the reason as the comment of the answer, as if the person had typed it. Mechanism: the page
//! sends its words, and the handler puts them before the typed comment of an answer that refuses. Failure: a reason beside another
//! answer is a contradiction, so nothing is sent, and the page says so.

use domain::asking::assigning::refusing;
use domain::base::words::Language;
use domain::suspension::ResponseType;
use serde_json::Value;
use store::LinkView;

use super::view::{FieldError, FieldProblem, FormError};

/// The name of the field.
pub(super) const REASON: &str = "reason";

/// The reasons that a page offers.
#[derive(Clone, Debug)]
pub(super) struct Reasons {
    /// Their words, in the operator's order.
    pub(super) offered: Vec<String>,
    /// The one that was chosen before; empty if none was.
    pub(super) chosen: String,
}

impl Reasons {
    /// The reasons for this question; `None` if there are none, or if no answer of the question is a no.
    pub(super) fn of(configured: &[String], chosen: &str, link: &LinkView) -> Option<Self> {
        let mut offered = configured.to_vec();
        if offered.is_empty() || noes(link).is_empty() {
            return None;
        }
        // The configuration may have changed since the person chose.
        if !chosen.is_empty() && offered.iter().all(|reason| reason != chosen) {
            offered.push(chosen.to_owned());
        }
        Some(Self { offered, chosen: chosen.to_owned() })
    }
}

/// The values of a question that are a no.
fn noes(link: &LinkView) -> Vec<String> {
    match link.suspension.response_type {
        ResponseType::Choice | ResponseType::Confirm => refusing(&link.suspension.choices),
        ResponseType::Text | ResponseType::Form => Vec::new(),
    }
}

fn is_no(link: &LinkView, value: &Value) -> bool {
    value.as_str().is_some_and(|value| noes(link).iter().any(|no| no == value))
}

/// Refuses a reason for a no beside another answer: the person has pressed the wrong button, or forgot the reason.
pub(super) fn check(reason: &str, link: &LinkView, value: &Value, language: Language) -> Result<(), FormError> {
    if reason.is_empty() || is_no(link, value) {
        return Ok(());
    }
    let problem = FieldProblem::Rule(language.goes_with_a_no().to_owned());
    let error = FieldError { name: REASON.to_owned(), label: language.reason_for_a_no().to_owned(), problem };
    Err(FormError::NeedsChange(vec![error]))
}

/// The comment of an answer: the reason that was chosen for a no, and what was typed. Empty if there is none.
pub(super) fn comment(reason: &str, typed: &str, link: &LinkView, value: &Value) -> String {
    let reason = if is_no(link, value) { reason } else { "" };
    let parts: Vec<&str> = [reason, typed.trim()].into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}

/// The beginning of a text, up to so many bytes.
pub(super) fn cut(text: &str, bytes_max: usize) -> String {
    let mut end = text.len().min(bytes_max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}
