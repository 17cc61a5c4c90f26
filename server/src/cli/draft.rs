//! `placet answer --draft`: saves an answer as a draft. A draft has texts, as they stand in the fields of the page.

use anyhow::{Context, bail};
use domain::base::words::Language;
use domain::form::{Shape, Typed};
use domain::suspension::draft::DraftValues;
use placet::{ResponseType, SuspensionRecord};
use serde_json::{Map, Value, json};

use super::question::short_id;
use super::remote::{Remote, print_json, tell};

/// The texts of an answer. Of an edited action they are those of the fields that differ from the action as it stands.
pub(super) fn drafted(
    question: &SuspensionRecord,
    answer: &Value,
    comment: Option<&str>,
    proposal: Option<&Map<String, Value>>,
) -> anyhow::Result<DraftValues> {
    let said = |text: &str| Some(text.to_owned()).filter(|text| !text.trim().is_empty());
    let fields = match (question.response_type, proposal) {
        (ResponseType::Form, _) => texts(question, answer)?,
        (_, Some(edited)) => changed(question, edited)?,
        (_, None) => Typed::new(),
    };
    let value = answer.as_str().filter(|_| question.response_type != ResponseType::Form).and_then(said);
    Ok(DraftValues { value, fields, comment: comment.and_then(said), reason: None })
}

/// The texts of an answer to a form.
fn texts(question: &SuspensionRecord, answer: &Value) -> anyhow::Result<Typed> {
    let Value::Object(members) = answer else { bail!("a draft of this answer needs a JSON object like '{{\"field\": 1}}'") };
    if let Some(schema) = &question.schema {
        let shape = schema.shape().unwrap_or_default();
        all_are_known(&shape, answer)?;
        let typed = shape.typed(Some(answer), Language::English);
        all_are_held(&shape, answer, &typed)?;
        return Ok(typed);
    }
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Bool(false) | Value::Null => String::new(),
        Value::Bool(true) => domain::form::TICKED.to_owned(),
        Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    };
    Ok(members.iter().map(|(name, value)| (name.clone(), text(value))).collect())
}

/// Refuses a member that no field of the form has: it would be lost.
fn all_are_known(shape: &Shape, answer: &Value) -> anyhow::Result<()> {
    let left = without_fields(shape, answer.clone());
    let is_empty = |value: &Value| value.as_object().is_some_and(Map::is_empty);
    let unknown = left.as_object().into_iter().flatten().find(|(_, value)| !is_empty(value));
    match unknown {
        Some((name, _)) => bail!("the form has no field {name:?}"),
        None => Ok(()),
    }
}

/// Refuses a value that its field cannot hold, for example an option that there is not: it would be lost.
fn all_are_held(shape: &Shape, answer: &Value, typed: &Typed) -> anyhow::Result<()> {
    for field in shape.fields() {
        let least = match answer.pointer(&field.pointer) {
            None | Some(Value::Null | Value::Bool(false)) => 0,
            Some(Value::String(text)) => usize::from(!text.is_empty()),
            Some(Value::Array(options)) => options.len(),
            Some(Value::Bool(true) | Value::Number(_) | Value::Object(_)) => 1,
        };
        if field.texts(typed).len() < least {
            bail!("the field {} cannot hold this value", field.pointer);
        }
    }
    Ok(())
}

/// The members of an object that no field has.
fn without_fields(shape: &Shape, mut values: Value) -> Value {
    for field in shape.fields() {
        let (parent, name) = field.pointer.rsplit_once('/').unwrap_or_default();
        let name = name.replace("~1", "/").replace("~0", "~");
        values.pointer_mut(parent).and_then(Value::as_object_mut).and_then(|members| members.remove(&name));
    }
    values
}

/// The texts of the fields in which an action differs from the one that the question proposes.
fn changed(question: &SuspensionRecord, edited: &Map<String, Value>) -> anyhow::Result<Typed> {
    let current = question.proposal.as_ref().context("the question proposes no action")?;
    let shape = question.editable.as_ref().and_then(|schema| schema.shape().ok()).unwrap_or_default();
    let (current, edited) = (Value::Object(current.clone()), Value::Object(edited.clone()));
    if without_fields(&shape, current.clone()) != without_fields(&shape, edited.clone()) {
        bail!("the edited action differs in a member that may not be edited");
    }
    let texts = |action: &Value| shape.typed(Some(action), Language::English);
    let (before, after) = (texts(&current), texts(&edited));
    all_are_held(&shape, &edited, &after)?;
    let mut changed = Typed::new();
    for field in shape.fields().filter(|field| field.texts(&before) != field.texts(&after)) {
        // A box that is not ticked any more has an empty text.
        changed.extend(before.keys().filter(|name| field.owns(name)).map(|name| (name.clone(), String::new())));
        changed.extend(after.iter().filter(|(name, _)| field.owns(name)).map(|(name, text)| (name.clone(), text.clone())));
    }
    Ok(changed)
}

/// Saves the draft.
pub(super) async fn save(remote: &Remote, question: &SuspensionRecord, values: DraftValues, as_json: bool) -> anyhow::Result<()> {
    let saved = remote.heard(remote.client.save_draft(question.id, values)).await;
    let drafts = saved.map_err(|error| remote.failed(error).context("the draft was not saved"))?;
    if as_json {
        return print_json(&json!({"number": short_id(question.id), "drafts": drafts.drafts}));
    }
    tell(format!("the draft is saved; question {} stays open", short_id(question.id)));
    Ok(())
}
