//! The effect of the time of parked work, and the English words for it.

use serde_json::Value;

use super::stop::{Conditions, OnTimeout};

/// The effect of the time of parked work, if no condition was met before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AtTime<'a> {
    /// The work goes on, and its agent begins anew with a summary.
    Summary,
    /// The work goes on, and its agent gets the input that it set.
    Input(&'a Value),
    /// The work goes on, and its agent is told that the time is over.
    Told,
    /// The work is given up.
    GivenUp,
}

impl<'a> AtTime<'a> {
    /// The effect that the conditions name. Work whose conditions are not known is given up, as the server does.
    pub fn of(conditions: Option<&'a Conditions>) -> Self {
        let timeout = conditions.and_then(|conditions| conditions.timeout.as_ref());
        match timeout.map(|timeout| (timeout.on_timeout, timeout.input.as_ref())) {
            Some((OnTimeout::ResumeWithSummary, _)) => Self::Summary,
            Some((OnTimeout::ResumeWithInput, Some(input))) => Self::Input(input),
            Some((OnTimeout::ResumeWithInput, None)) => Self::Told,
            Some((OnTimeout::Fail, _)) | None => Self::GivenUp,
        }
    }

    /// The effect in words that follow "then".
    pub fn in_english(self) -> &'static str {
        match self {
            Self::Summary => "it goes on, and its agent begins anew with a summary",
            Self::Input(_) => "it goes on, and its agent gets the input that it set",
            Self::Told => "it goes on, and its agent is told that the time is over",
            Self::GivenUp => "the work is given up",
        }
    }
}
