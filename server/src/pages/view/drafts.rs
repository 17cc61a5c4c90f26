//! The drafts of answers, on the page of an open question.

use chrono::{DateTime, Utc};

/// The drafts of answers that people share.
#[derive(Debug, Clone, Default)]
pub(in crate::pages) struct DraftsShown {
    /// When the reader's own draft was saved.
    pub own: Option<DateTime<Utc>>,
    /// The authors of the others, and when each was saved.
    pub others: Vec<(String, DateTime<Utc>)>,
    /// The author of the draft that stands in the form, and whether that is the reader.
    pub stands_here: Option<(String, bool)>,
    /// Whether code points, or the lengths of gaps, stand in it in the place of what would be out of sight.
    pub is_marked: bool,
}

impl DraftsShown {
    /// Whether there are any.
    pub(super) fn is_any(&self) -> bool {
        self.own.is_some() || !self.others.is_empty()
    }
}
