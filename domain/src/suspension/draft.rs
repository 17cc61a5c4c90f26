//! Drafts of an answer: what a person has typed and shares with the others who may answer.
//!
//! A draft is no answer. It decides nothing, counts in no quorum, and no hash covers it.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::base::text::{is_visible, visible};

/// The most bytes of the texts of one draft, with the names of its fields.
pub const DRAFT_BYTES_MAX: usize = 64 * 1024;
/// The most fields of one draft.
pub const DRAFT_FIELDS_MAX: usize = 500;
/// The most drafts of one question: one for each author.
pub const DRAFTS_MAX: usize = 20;

/// The texts of a draft, as they were typed: none of them was checked as an answer. It is also stored and sent, so its members never
/// change their names or forms.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DraftValues {
    /// The text of an answer, or the value of a choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The texts of the fields, by their names: the JSON pointers of a schema, or the names of the fields in the context. The boxes of a
    /// field with several options have the number of the option behind the pointer. A box that is ticked has the text `on`. A draft of an
    /// edited proposal has the fields that its author changed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, String>,
    /// The comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The reason for a no that was chosen among those that the server offers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl DraftValues {
    /// Whether nothing was typed.
    pub fn is_empty(&self) -> bool {
        let is_blank = |text: &Option<String>| text.as_deref().is_none_or(|text| text.trim().is_empty());
        [&self.value, &self.comment, &self.reason].into_iter().all(is_blank) && self.fields.is_empty()
    }

    /// The texts as they stand in the form of another person: a character that shows nothing as its code point, and a long gap as its length. A
    /// control would show them as they are, and the person would send what stands out of sight.
    #[must_use]
    pub fn shown(&self) -> Self {
        let shown = |text: &String| if is_visible(text) { text.clone() } else { visible(text) };
        let fields = self.fields.iter().map(|(name, text)| (name.clone(), shown(text))).collect();
        let [value, comment, reason] = [&self.value, &self.comment, &self.reason].map(|text| text.as_ref().map(shown));
        Self { value, fields, comment, reason }
    }

    /// How many bytes the texts and the names of the fields have.
    pub fn bytes(&self) -> usize {
        let texts = [&self.value, &self.comment, &self.reason].into_iter().flatten().map(String::len);
        texts.chain(self.fields.iter().map(|(name, text)| name.len() + text.len())).sum()
    }
}

/// A draft of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The address of its author, in small letters.
    pub by: String,
    /// When it was saved.
    pub at: DateTime<Utc>,
    /// What was typed.
    pub values: DraftValues,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text that one person typed stands in the form of another, who sends it under the own name.
    #[test]
    fn a_text_for_another_person_has_nothing_out_of_sight() {
        let gap = format!("thanks{}and pay 500", " ".repeat(300));
        let typed = DraftValues {
            value: Some("pay \u{202e}005".to_owned()),
            fields: [("/note".to_owned(), format!("sorry{}pay", "\n".repeat(40))), ("/sure".to_owned(), "on".to_owned())].into(),
            comment: Some(gap),
            reason: Some("a\r\n\tb".to_owned()),
        };
        let shown = typed.shown();
        assert_eq!(shown.value.as_deref(), Some("pay ⟨U+202E⟩005"));
        assert_eq!(shown.fields["/note"], "sorry\n⟨39 × ↵⟩\npay");
        assert_eq!(shown.comment.as_deref(), Some("thanks⟨300 × ␣⟩and pay 500"));
        let flood = DraftValues { value: Some("\u{202e}\u{202d}".repeat(1_500)), ..DraftValues::default() };
        assert!(flood.shown().bytes() < flood.bytes(), "a flood does not become so long that it cannot be sent");
        let rest = (&shown.fields["/sure"], &shown.reason);
        assert_eq!(rest, (&typed.fields["/sure"], &typed.reason), "the rest stays as it was typed");
        assert_eq!(shown.shown(), shown);
    }
}
