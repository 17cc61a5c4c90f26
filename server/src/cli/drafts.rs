//! Drafts of answers, as a terminal shows them.

use std::fmt::Write as _;

use chrono::{DateTime, Utc};
use domain::base::text;
use domain::base::words::Language;
use domain::form::Shape;
use domain::suspension::draft::DraftValues;
use domain::wire::DraftView;
use placet::{CallError, SuspensionRecord};
use serde_json::Value;

use super::margins::Margins;
use super::remote::{Remote, inert_line, name};

/// The drafts of a question that this key may read: of an open one those of the people who may answer it, and otherwise those that were left
/// at its end.
pub(super) async fn saved(remote: &Remote, question: &SuspensionRecord) -> anyhow::Result<Vec<DraftView>> {
    if question.resolution.is_some() {
        return Ok(question.drafts.clone());
    }
    match remote.heard(remote.client.drafts(question.id)).await {
        Ok(list) => Ok(list.drafts),
        // Agents, and people who may not answer, read no drafts.
        Err(CallError::Refused(_)) => Ok(Vec::new()),
        Err(error) => Err(remote.failed(error)),
    }
}

/// The drafts of a question; empty if there is none.
pub(super) fn shown(question: &SuspensionRecord, margins: Margins, now: DateTime<Utc>) -> anyhow::Result<String> {
    let mut out = String::new();
    if question.drafts.is_empty() {
        return Ok(out);
    }
    writeln!(out, "\nDrafts, with which no person has decided anything")?;
    let shape = question.schema.as_ref().or(question.editable.as_ref());
    let shape = shape.and_then(|schema| schema.shape().ok()).unwrap_or_default();
    for DraftView { by, at, values } in &question.drafts {
        let said = format!("{} saved this ({}):", name(by), text::deadline(*at, now, Language::English));
        writeln!(out, "{}", margins.ours(&said))?;
        let DraftValues { value, fields, comment, reason } = values;
        let of_fields = fields.iter().map(|(name, text)| (called(&shape, name), Some(text)));
        let own = [("answer", value), ("comment", comment), ("reason", reason)];
        let own = own.into_iter().map(|(name, text)| (name.to_owned(), text.as_ref()));
        for (name, text) in own.chain(of_fields).filter_map(|(name, text)| Some((name, text?))) {
            writeln!(out, "{}", margins.entry(&name, &Value::from(text.as_str())))?;
        }
    }
    Ok(out)
}

/// The title of the field with this name, or its place in the answer.
fn called(shape: &Shape, name: &str) -> String {
    let field = shape.fields().find(|field| field.owns(name));
    inert_line(field.and_then(|field| field.title.as_deref()).unwrap_or(name.trim_start_matches('/')))
}
