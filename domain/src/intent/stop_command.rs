//! Commands about the stop of an intent.

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::base::ids::SuspensionId;
use crate::people::authority::Action;
use crate::suspension::stop::{Conditions, Fired, Mode, ResumeOwner, Stage};

/// A command about the stop of an intent.
#[derive(Clone, Debug)]
pub enum StopCommand {
    /// Pause the intent.
    Pause {
        /// The id that the suspension will have.
        id: SuspensionId,
        /// How the agent is asked to stop.
        mode: Mode,
        /// The reason.
        reason: Option<String>,
    },
    /// Park the intent: its agent stops by itself until a condition is met.
    Park {
        /// The id that the suspension will have.
        id: SuspensionId,
        /// The reason.
        reason: String,
        /// The conditions under which it goes on; absent if it waits to be resumed.
        conditions: Option<Box<Conditions>>,
        /// The principal that is expected to let it go on.
        resume_owner: ResumeOwner,
    },
    /// End the work on the intent.
    End {
        /// The id that the suspension will have.
        id: SuspensionId,
        /// How many seconds the agent has to hand in what it has; absent if the work ends at once.
        seconds: Option<u32>,
        /// The reason.
        reason: Option<String>,
    },
    /// An event came.
    Fire {
        /// The suspension.
        suspension_id: SuspensionId,
        /// The event.
        fired: Box<Fired>,
    },
    /// Say how far the agent has stopped.
    Settle {
        /// The suspension.
        suspension_id: SuspensionId,
        /// The stage that is reached.
        stage: Stage,
        /// The document that the agent hands in, if its work is being ended.
        handoff: Option<Value>,
    },
    /// Let the intent go on.
    Resume {
        /// The suspension.
        suspension_id: SuspensionId,
        /// The handle that the caller holds, if it named one; it must be the id of the suspension.
        handle: Option<String>,
        /// The input of the agent for its work.
        input: Option<Value>,
        /// Whether the agent goes on with all that it remembers.
        continue_transcript: bool,
        /// When the request came. It finds that others were faster only if they were not done before it.
        asked_at: DateTime<Utc>,
    },
}

impl StopCommand {
    /// The action that the caller must be allowed.
    pub fn action(&self) -> Action {
        match self {
            Self::Pause { .. } => Action::Pause,
            Self::Park { .. } => Action::Park,
            Self::End { .. } => Action::Stop,
            Self::Fire { .. } => Action::FireEvent,
            Self::Settle { .. } => Action::Settle,
            Self::Resume { .. } => Action::Resume,
        }
    }

    /// Whether the command may end the intent.
    pub fn may_end_intent(&self) -> bool {
        matches!(self, Self::End { .. } | Self::Settle { .. })
    }

    /// The suspension that the command names.
    pub fn names_suspension(&self) -> Option<SuspensionId> {
        match self {
            Self::Settle { suspension_id, .. } | Self::Resume { suspension_id, .. } | Self::Fire { suspension_id, .. } => {
                Some(*suspension_id)
            }
            Self::Pause { .. } | Self::Park { .. } | Self::End { .. } => None,
        }
    }
}
