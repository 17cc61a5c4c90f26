//! The result of a check: how bad it is, what was found, and what to do.

use serde::Serialize;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Level {
    /// All is well.
    Ok,
    /// The server runs, but not as it should.
    Warn,
    /// The server does not start, or does not reach people.
    Fail,
}

impl Level {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// One finding. Its texts are for people and hold no secret.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Finding {
    pub(super) check: &'static str,
    pub(super) level: Level,
    pub(super) what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) what_to_do: Option<String>,
}

impl Finding {
    pub(super) fn ok(check: &'static str, what: impl Into<String>) -> Self {
        Self { check, level: Level::Ok, what: what.into(), what_to_do: None }
    }

    pub(super) fn warn(check: &'static str, what: impl Into<String>, what_to_do: impl Into<String>) -> Self {
        Self { check, level: Level::Warn, what: what.into(), what_to_do: Some(what_to_do.into()) }
    }

    pub(super) fn fail(check: &'static str, what: impl Into<String>, what_to_do: impl Into<String>) -> Self {
        Self { check, level: Level::Fail, what: what.into(), what_to_do: Some(what_to_do.into()) }
    }
}
