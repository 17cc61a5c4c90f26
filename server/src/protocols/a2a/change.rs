//! A call that stops the work of a task or lets it go on, as it was read.

use domain::base::ids::IntentId;
use domain::wire::{ParkRequest, PauseRequest, ResumeRequest};

use super::error::Words;

/// A call of an extension for pauses.
#[derive(Clone, Debug)]
pub(crate) struct Halting {
    pub(crate) id: IntentId,
    pub(crate) words: Words,
    pub(crate) change: Change,
}

/// The change that the call wants.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Pause(PauseRequest),
    Park(ParkRequest),
    Resume(ResumeRequest),
}
