//! Why a command about the stop of an intent is refused, with the codes of Harn's lifecycle (`HARN-SUS-001` and further).

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Kind;

/// The reason.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(tag = "refusal", rename_all = "snake_case")]
pub enum StopRefusal {
    /// The intent does not run, so it can be neither paused nor parked.
    #[error("HARN-SUS-001: the intent {why}, so it can be neither paused nor parked")]
    NotRunning {
        /// Its state, in words that follow its subject.
        why: String,
        /// Whether it is stopped already.
        #[serde(default)]
        is_stopped: bool,
    },
    /// The intent is parked, and waits for something else than the second request wants.
    #[error("HARN-SUS-001: the intent is parked under other conditions; resume it, and park it anew")]
    ParkedOtherwise,
    /// The named suspension is a question.
    #[error("HARN-SUS-003: the suspension is a question, which is answered or withdrawn, and not resumed")]
    NotStopped,
    /// The named suspension is a question that has ended.
    #[error("HARN-SUS-003: the suspension is a question, and it has ended")]
    QuestionEnded,
    /// Nothing of the intent is stopped, and it waits for no person.
    #[error("HARN-SUS-003: the intent is {status} and is not stopped, so there is nothing to resume")]
    NothingStopped {
        /// Its status.
        status: String,
    },
    /// The handle is that of another suspension.
    #[error("HARN-SUS-004: suspension mismatch: the handle is not that of the suspension in the path")]
    Mismatch,
    /// The stop has ended.
    #[error("{}: the intent was resumed before{}", code_of(*is_late), by(resumed_by.as_deref()))]
    Lost {
        /// The subject that resumed it.
        resumed_by: Option<String>,
        /// When.
        #[serde(default)]
        at: Option<DateTime<Utc>>,
        /// Whether that was over when the refused request came. Harn has a code of its own for a race.
        #[serde(default)]
        is_late: bool,
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
    #[error("HARN-SUS-010: the work on the intent is being ended, so this stop is over and the work cannot be resumed")]
    Ending,
    /// A document came with the stop of an intent whose work is not being ended.
    #[error("the intent is paused or parked, and its work goes on later: a handoff is handed in when the work is ended")]
    NoHandoff,
    /// The intent is stopped, so its status belongs to the server.
    #[error(
        "the intent is paused or parked, or its work is being ended: until it is resumed, its status can only become abandoned"
    )]
    StatusIsHeld,
    /// Something would begin in an intent that is stopped.
    #[error("the intent is paused or parked, or its work is being ended: nothing begins in it until it is resumed")]
    NothingBegins,
    /// A message came for the agent of an intent that is stopped.
    #[error("{}, so its agent is told of no new work", standing(*kind))]
    HearsNothing {
        /// The kind of the stop.
        kind: Kind,
    },
    /// The turn of the agent is over, and the intent is paused.
    #[error("{}: until it is resumed, its agent changes neither its state nor its tasks", over(*is_broken_off))]
    TurnIsOver {
        /// Whether the pause breaks the turn off.
        #[serde(default)]
        is_broken_off: bool,
    },
}

fn standing(kind: Kind) -> &'static str {
    match kind {
        Kind::Parked => "the intent is parked",
        Kind::Stopping => "the work on the intent is being ended",
        Kind::Paused | Kind::AwaitingInput | Kind::Approval | Kind::Escalation | Kind::Arbitration => "the intent is paused",
    }
}

fn over(is_broken_off: bool) -> &'static str {
    if is_broken_off {
        "the pause of the intent breaks the turn of its agent off"
    } else {
        "the intent is paused, and its agent has stopped"
    }
}

fn by(resumed_by: Option<&str>) -> String {
    resumed_by.map(|by| format!(", by {by}")).unwrap_or_default()
}

/// The code for a stop that has ended: one for a caller that lost a race, and one for a caller that came later.
fn code_of(is_late: bool) -> &'static str {
    if is_late { "HARN-SUS-003" } else { "HARN-SUS-006" }
}

impl StopRefusal {
    /// The same refusal of a request that came at this time.
    #[must_use]
    pub fn seen_at(self, asked_at: DateTime<Utc>) -> Self {
        let Self::Lost { resumed_by, at, .. } = self else { return self };
        Self::Lost { resumed_by, at, is_late: at.is_some_and(|at| at < asked_at) }
    }

    /// The code of Harn's lifecycle; absent for a refusal that Harn does not know.
    pub fn harn_code(&self) -> Option<&'static str> {
        match self {
            Self::NotRunning { .. } | Self::ParkedOtherwise => Some("HARN-SUS-001"),
            Self::NotStopped | Self::QuestionEnded | Self::NothingStopped { .. } => Some("HARN-SUS-003"),
            Self::Mismatch => Some("HARN-SUS-004"),
            Self::Lost { is_late, .. } => Some(code_of(*is_late)),
            Self::TimeOver => Some("HARN-SUS-006"),
            Self::IntentEnded { .. } | Self::Ending => Some("HARN-SUS-010"),
            Self::StatusIsHeld | Self::NoHandoff | Self::NothingBegins | Self::HearsNothing { .. } | Self::TurnIsOver { .. } => {
                None
            }
        }
    }
}
