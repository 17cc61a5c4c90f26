//! The action that a question proposes, as a terminal shows it: as it stands, or as it was decided about.

use std::fmt::Write as _;

use domain::base::text;
use domain::base::words;
use domain::form::Shape;
use domain::suspension::proposal::{Change, changes};
use placet::SuspensionRecord;
use serde_json::{Map, Value};

use super::ending::Ending;
use super::margins::Margins;
use super::remote::{inert_line, tell};

/// The heading of an action that was approved.
const APPROVED_ACTION: &str = "The action as it was approved";
/// Says of an approved action that it is not the proposed one.
const EDITED_AND_APPROVED: &str = "It was edited before it was approved. Only this action may be carried out:";
/// Says of an action about which people still decide that it is not the proposed one.
const EDITED_SO_FAR: &str = "A person has edited it and approved the edit:";

/// The action that the question proposes, or the one that was approved, what people have changed in it, and what may be edited; empty if the
/// question proposes none.
pub(super) fn shown(question: &SuspensionRecord, margins: Margins) -> anyhow::Result<String> {
    let mut out = String::new();
    let Some(proposal) = &question.proposal else { return Ok(out) };
    let is_approved = is_approved(question);
    writeln!(out, "\n{}", if is_approved { APPROVED_ACTION } else { words::PROPOSED_ACTION })?;
    for (key, value) in proposal {
        writeln!(out, "{}", margins.entry(&text::visible_line(key), value))?;
    }
    if let Some(original) = &question.original_proposal {
        writeln!(out, "{}", margins.ours(if is_approved { EDITED_AND_APPROVED } else { EDITED_SO_FAR }))?;
        for change in changes(original, proposal) {
            writeln!(out, "{}", margins.ours(&changed(&change)))?;
        }
    }
    let shape = question.editable.as_ref().and_then(|schema| schema.shape().ok());
    let fields: Vec<String> = shape.iter().flat_map(Shape::fields).map(|field| inert_line(&field.pointer)).collect();
    if !fields.is_empty() && question.resolution.is_none() {
        writeln!(out, "{}", margins.ours(&format!("You may edit: {}.", fields.join(", "))))?;
    }
    Ok(out)
}

/// Whether a person has approved the action.
fn is_approved(question: &SuspensionRecord) -> bool {
    let refuses = |value: &Value| question.refusing.iter().any(|refusing| value == refusing);
    Ending::of(question) == Some(Ending::Answered) && question.response.as_ref().is_some_and(|value| !refuses(value))
}

/// A change of the proposed action, in words. A text is in quotes, so that it differs from a number.
fn changed(change: &Change) -> String {
    let shown =
        |value: &Option<Value>| value.as_ref().map_or_else(|| words::NOTHING.to_owned(), |value| inert_line(&value.to_string()));
    format!("{}: {} → {}", inert_line(&change.field), shown(&change.from), shown(&change.to))
}

/// Tells on standard error what a person changes in the proposed action.
pub(super) fn tell_changes(question: &SuspensionRecord, edited: &Map<String, Value>) {
    let original = question.original_proposal.as_ref().or(question.proposal.as_ref());
    for change in original.iter().flat_map(|original| changes(original, edited)) {
        tell(changed(&change));
    }
}
