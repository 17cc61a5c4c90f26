//! How a terminal sets an agent's words apart from ours.

use domain::base::text::visible_line;
use serde_json::Value;

use super::remote::inert;
use crate::terminal::laid_out;

/// Marks each line that an agent wrote.
pub(super) const BAR: &str = "  │ ";

/// The width of a terminal in columns, for which texts are laid out.
#[derive(Clone, Copy)]
pub(super) struct Margins(pub(super) usize);

impl Margins {
    /// Lays out an agent's words.
    pub(super) fn framed(self, text: &str, before: &str) -> String {
        laid_out(&inert(text), before, BAR, self.0)
    }

    /// Lays out an agent's words behind a label of ours. Only the first line has the label, so a value that is longer than a line
    /// does not look like a second value.
    pub(super) fn labelled(self, text: &str, label: &str) -> String {
        laid_out(&inert(text), label, "        │ ", self.0)
    }

    /// Lays out a name behind a label of ours, as it stands in evidence: an address in it is not changed, and control characters are made
    /// visible.
    pub(super) fn exact(self, name: &str, label: &str) -> String {
        laid_out(&visible_line(name), label, "        │ ", self.0)
    }

    pub(super) fn ours(self, text: &str) -> String {
        laid_out(text, "", "    ", self.0)
    }

    /// Lays out an entry that an agent wrote. Only an entry begins with a dot, so no line of a value looks like an entry of its
    /// own.
    pub(super) fn entry(self, name: &str, value: &Value) -> String {
        self.framed(&format!("{name}: {}", typed(value)), "  • ")
    }
}

/// A value as it is typed: a text without quotes, anything else as JSON.
pub(super) fn typed(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
