//! How the crate `jsonschema` is set up: one draft, formats count, patterns need linear time, and nothing is loaded from elsewhere.

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::{Value, json};

use super::PATTERN_SIZE_MAX;

/// A validator of a schema. `None` for a schema that the crate does not understand.
pub(super) fn validator(schema: &Value) -> Option<Validator> {
    let patterns = PatternOptions::regex().size_limit(PATTERN_SIZE_MAX).dfa_size_limit(16 * PATTERN_SIZE_MAX);
    let options = jsonschema::options().with_draft(Draft::Draft202012).should_validate_formats(true);
    options.with_pattern_options(patterns).build(schema).ok()
}

/// Whether a text is a pattern that can be compared in linear time and needs little memory.
pub(super) fn is_pattern(text: &str) -> bool {
    validator(&json!({"type": "string", "pattern": text})).is_some()
}
