//! Turns a request into a command, or says which fields break which rules.

use chrono::TimeDelta;

use crate::base::field::FieldError;
use crate::intent::command::Later;
use crate::suspension::WINDOW_SECONDS_MAX;
use crate::wire::ExtendRequest;

impl ExtendRequest {
    /// What is asked for, and why.
    ///
    /// # Errors
    ///
    /// Every field that breaks a rule which does not depend on the question.
    pub fn accept(self) -> Result<(Later, Option<String>), Vec<FieldError>> {
        let mut errors = Vec::new();
        if self.reason.as_ref().is_some_and(|reason| reason.chars().count() > EXTENSION_REASON_MAX) {
            errors.push(FieldError::new("reason", "length", format!("is at most {EXTENSION_REASON_MAX} characters")));
        }
        let later = match (self.expires_at, self.seconds) {
            (Some(at), None) => Some(Later::Until(at)),
            (None, Some(seconds)) if (1..=WINDOW_SECONDS_MAX).contains(&seconds) => {
                Some(Later::By(TimeDelta::seconds(i64::from(seconds))))
            }
            (None, Some(_)) => {
                errors.push(FieldError::new("seconds", "range", format!("must be 1 to {WINDOW_SECONDS_MAX} seconds")));
                None
            }
            (None, None) | (Some(_), Some(_)) => {
                errors.push(FieldError::new("expires_at", "one", "give either expires_at or seconds"));
                None
            }
        };
        match later {
            Some(later) if errors.is_empty() => Ok((later, self.reason)),
            Some(_) | None => Err(errors),
        }
    }
}

/// The longest reason for a later deadline, in characters.
const EXTENSION_REASON_MAX: usize = 2_000;
