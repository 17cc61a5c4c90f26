//! Drafts of answers.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::suspension::draft::{Draft, DraftValues};

/// `PUT /suspensions/{id}/draft`: the draft of the caller's person, in place of the one before. An empty one takes the draft back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SaveDraftRequest {
    /// The texts as they were typed.
    pub values: DraftValues,
}

/// A draft of an answer. It is no answer: its author decided nothing with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DraftView {
    /// The address of the person who saved it.
    pub by: String,
    /// When it was saved.
    #[serde(with = "crate::base::time::z")]
    pub at: DateTime<Utc>,
    /// The texts as they were typed.
    pub values: DraftValues,
}

/// The drafts of a question, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DraftList {
    /// One for each author.
    pub drafts: Vec<DraftView>,
}

impl From<Draft> for DraftView {
    fn from(draft: Draft) -> Self {
        Self { by: draft.by, at: draft.at, values: draft.values }
    }
}

impl DraftList {
    /// The drafts, as a caller sees them.
    pub fn of(drafts: Vec<Draft>) -> Self {
        Self { drafts: drafts.into_iter().map(DraftView::from).collect() }
    }
}
