//! A broadcast: many intents are paused by one call.

use crate::base::ids::{IntentId, SuspensionId};
use crate::suspension::stop::Mode;

/// The most intents that one call names by their ids; the body of this call may be large enough for them.
pub const IDS_MAX: usize = 10_000;
/// The most intents that one call finds by a filter.
pub const FOUND_MAX: u32 = 10_000;

/// A wish to pause many intents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broadcast {
    /// Which intents.
    pub targets: Targets,
    /// How their agents are asked to stop.
    pub mode: Mode,
    /// The reason.
    pub reason: Option<String>,
}

/// The intents that are paused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Targets {
    /// These, each once.
    Ids(Vec<IntentId>),
    /// Those that have begun and have not ended, the newest first.
    Running {
        /// Only those that a key with this name created.
        created_by: Option<String>,
        /// Only those that are older than this one.
        after: Option<IntentId>,
        /// At most so many, from 1 to [`FOUND_MAX`].
        limit: u32,
    },
}

/// The outcome for one intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Struck {
    /// It is paused by this.
    Suspended(SuspensionId),
    /// It was stopped before; the stop that it has is left as it is.
    AlreadySuspended,
    /// It has not begun, waits for a person, or has ended.
    NotRunning,
    /// There is no intent with this id.
    Unknown,
}
