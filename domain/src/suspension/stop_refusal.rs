//! Why a command about the stop of an intent is refused, with the codes of Harn's lifecycle (`HARN-SUS-001` and further).

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The reason.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(tag = "refusal", rename_all = "snake_case")]
pub enum StopRefusal {
    /// The intent does not run, so it cannot be stopped.
    #[error("HARN-SUS-001: the intent {why}, so it cannot be stopped")]
    NotRunning {
        /// Its state, in words that follow its subject.
        why: String,
    },
    /// The named suspension is a question.
    #[error("HARN-SUS-003: the suspension is a question, which is answered or withdrawn, and not resumed")]
    NotStopped,
    /// The handle is that of another suspension.
    #[error("HARN-SUS-004: suspension mismatch: the handle is not that of the suspension in the path")]
    Mismatch,
    /// The stop has ended.
    #[error("HARN-SUS-006: the intent was resumed before{}", by(resumed_by.as_deref()))]
    Lost {
        /// The subject that resumed it.
        resumed_by: Option<String>,
    },
    /// The time of the stop was over.
    #[error("HARN-SUS-006: the time of the stop was over before")]
    TimeOver,
    /// The intent has ended.
    #[error("HARN-SUS-010: the intent is {status}, so it can be neither resumed nor stopped")]
    IntentEnded {
        /// Its status.
        status: String,
    },
    /// The work on the intent is being ended.
    #[error("HARN-SUS-010: the work on the intent is being ended, so it cannot be resumed")]
    Ending,
    /// A document came with the stop of an intent whose work is not being ended.
    #[error("the intent is paused or parked, and its work goes on later: a handoff is handed in when the work is ended")]
    NoHandoff,
    /// The intent is stopped, so its status belongs to the server.
    #[error("the intent is paused or parked, or its work is being ended: until it is resumed, its status can only become abandoned")]
    StatusIsHeld,
}

fn by(resumed_by: Option<&str>) -> String {
    resumed_by.map(|by| format!(", by {by}")).unwrap_or_default()
}

impl StopRefusal {
    /// The code of Harn's lifecycle; absent for a refusal that Harn does not know.
    pub fn harn_code(&self) -> Option<&'static str> {
        match self {
            Self::NotRunning { .. } => Some("HARN-SUS-001"),
            Self::NotStopped => Some("HARN-SUS-003"),
            Self::Mismatch => Some("HARN-SUS-004"),
            Self::Lost { .. } | Self::TimeOver => Some("HARN-SUS-006"),
            Self::IntentEnded { .. } | Self::Ending => Some("HARN-SUS-010"),
            Self::StatusIsHeld | Self::NoHandoff => None,
        }
    }
}
