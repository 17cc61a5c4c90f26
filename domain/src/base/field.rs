//! A field of a request that breaks a rule.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The `rule` of an error about a member that is refused because this server does not support its effect.
pub const UNSUPPORTED: &str = "unsupported";
/// Stands in a path for the empty name of a member. Without it, the path would be that of the object around the member.
pub const EMPTY: &str = "\"\"";
/// The longest path of a field in an error, in characters. A path may end in a name that the caller made up.
pub const FIELD_CHARS_MAX: usize = 200;
/// The longest message of an error, in characters. It may repeat a value that the caller sent.
pub const MESSAGE_CHARS_MAX: usize = 1_000;

/// One field that breaks one rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FieldError {
    /// The field, as a path: `choices[2].value`.
    pub field: String,
    /// The rule's name: `required`, `length`, `range`, `type`, `unknown`, …
    pub rule: String,
    /// The problem and how to mend it.
    pub message: String,
}

impl FieldError {
    /// An error of a field: the rule that it breaks, and a message that says how to mend it. Of a path and a message that are too long, the
    /// middle is left out: both may repeat words of the caller, and a refusal must not be many times as large as its request.
    pub fn new(field: impl Into<String>, rule: impl Into<String>, message: impl Into<String>) -> Self {
        let (field, message) = (shortened(field.into(), FIELD_CHARS_MAX), shortened(message.into(), MESSAGE_CHARS_MAX));
        Self { field, rule: rule.into(), message }
    }
}

/// Leaves out the middle of a text that is too long: its beginning names the place, and its end says how to mend it.
fn shortened(text: String, chars_max: usize) -> String {
    let chars = text.chars().count();
    if chars <= chars_max {
        return text;
    }
    let kept = chars_max - 1;
    let head = text.chars().take(kept - kept / 2);
    head.chain(['…']).chain(text.chars().skip(chars - kept / 2)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_long_words_the_middle_is_left_out() {
        for (chars_max, of) in [
            (FIELD_CHARS_MAX, (|words| FieldError::new(words, "", "").field) as fn(String) -> String),
            (MESSAGE_CHARS_MAX, |words| FieldError::new("", "", words).message),
        ] {
            let most = format!("a{}z", "ä".repeat(chars_max - 2));
            assert_eq!(of(most.clone()), most);
            let told = of(format!("a{}z", "ä".repeat(chars_max - 1)));
            assert_eq!((told.chars().count(), told.starts_with("aä"), told.ends_with("äz")), (chars_max, true, true));
            assert_eq!(told.matches('…').count(), 1);
        }
    }
}
