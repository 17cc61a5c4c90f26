//! Changes of status.

use crate::intent::Intent;
use crate::intent::dependency::BlockedReason;
use crate::intent::event::Event;
use crate::intent::status::Status;

/// The change to this status. An intent that would be active while a dependency is not completed is blocked instead.
pub(super) fn changed(intent: &Intent, new: Status, reason: Option<String>) -> Event {
    let waits = new == Status::Active && intent.unmet > 0;
    Event::StatusChanged {
        old: intent.status,
        new: if waits { Status::Blocked } else { new },
        reason,
        blocked_reason: waits.then_some(BlockedReason::Dependencies),
        overrides: Vec::new(),
    }
}
