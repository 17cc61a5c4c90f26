//! The decisions about earlier questions of the same kind: chosen when a question is asked, and read when it is shown.
//!
//! Guarantee: a question shows the decisions that were the newest when it was asked, and no others. Mechanism: its event names them by the
//! hashes of the events that ended them, and their answers are read from these events alone. Failure: an event that was erased, or that
//! is not the one with this hash, shows no answer.

use domain::base::ids::IntentId;
use domain::suspension::Question;
use domain::suspension::grounds::{Content, Decided, EARLIER_MAX, EarlierDecision};
use serde::Deserialize;
use serde_json::Value;

use crate::rows::RowsResult;
use crate::rows::prelude::*;

/// Completes a question that is about to be asked with the newest decisions about questions that the asker asked under the same key. A
/// question without a key reads nothing.
pub(crate) fn choose<R: ReadRows>(rows: &mut R, asker: &str, question: &mut Question) -> RowsResult<()> {
    let Some(grounds) = &mut question.grounds else { return Ok(()) };
    let Some(key) = &grounds.question_key else { return Ok(()) };
    let limit = u32::try_from(EARLIER_MAX).unwrap_or(u32::MAX);
    let mut earlier = Vec::with_capacity(EARLIER_MAX);
    for (decision, event) in rows.decided(asker, key, limit)? {
        earlier.push(EarlierDecision { event_hash: rows.event(event)?.hash, ..decision });
    }
    grounds.earlier = earlier;
    Ok(())
}

/// Reads the answers to the earlier questions that `may_read` allows, by their intents.
pub(crate) fn read<R: ReadRows>(
    rows: &mut R,
    question: &mut Question,
    mut may_read: impl FnMut(&mut R, IntentId) -> RowsResult<bool>,
) -> RowsResult<()> {
    for earlier in question.grounds.iter_mut().flat_map(|grounds| &mut grounds.earlier) {
        if may_read(rows, earlier.intent_id)? {
            earlier.content = content(rows, earlier)?;
        }
    }
    Ok(())
}

/// The members of an event that ended a question, as far as they tell of the decision.
#[derive(Deserialize)]
struct Ended {
    #[serde(default)]
    value: Option<Value>,
    #[serde(default)]
    fallback_value: Option<Value>,
    #[serde(default)]
    choice_label: Option<String>,
    #[serde(default)]
    responded_by: Option<String>,
    #[serde(default)]
    agreed: Vec<Agreed>,
}

#[derive(Deserialize)]
struct Agreed {
    person: String,
}

#[derive(Deserialize)]
struct Ending {
    payload: Ended,
}

fn content<R: ReadRows>(rows: &mut R, earlier: &EarlierDecision) -> RowsResult<Content> {
    let ended = rows.suspension(earlier.suspension_id)?.and_then(|row| Some((row.ending_event?, row.suspension)));
    let Some((event, suspension)) = ended else { return Ok(Content::Unread) };
    let event = rows.event(event)?;
    if event.hash != earlier.event_hash {
        return Ok(Content::Unread);
    }
    if event.is_erased() {
        return Ok(Content::Erased);
    }
    let Ending { payload: ended } = serde_json::from_slice(&event.bytes)?;
    let value = ended.value.or(ended.fallback_value);
    let label = value.as_ref().and_then(|value| suspension.choice(value)).map(|choice| choice.label.clone());
    let agreed: Vec<String> = ended.agreed.into_iter().map(|agreed| agreed.person).collect();
    let by = if agreed.is_empty() { ended.responded_by.into_iter().collect() } else { agreed };
    Ok(Content::Read(Decided { value, label: ended.choice_label.or(label), by }))
}
