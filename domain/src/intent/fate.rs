//! How far an errand is: an intent that exists for one question.

use crate::intent::status::Status;
use crate::suspension::{Resolution, ResolutionReason, Suspension};

/// How far an errand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The question is open.
    Open,
    /// A person answered, or a fallback applied.
    Completed,
    /// There is no answer, and no fallback applied.
    Failed,
    /// The question was withdrawn.
    Withdrawn,
}

impl Fate {
    /// The fate of an errand with this status, and this newest question.
    pub fn of(status: Status, newest: Option<&Suspension>) -> Self {
        match status {
            Status::Draft | Status::Active | Status::Blocked | Status::SuspendedAwaitingInput => Self::Open,
            Status::Completed => Self::Completed,
            Status::Abandoned => {
                let ending = newest.and_then(|newest| newest.ending.as_ref());
                let is_withdrawn = ending.is_none_or(|ending| {
                    ending.resolution == Resolution::Cancelled
                        && matches!(ending.reason, Some(ResolutionReason::Withdrawn | ResolutionReason::Superseded))
                });
                if is_withdrawn { Self::Withdrawn } else { Self::Failed }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_errand_without_an_answer_has_failed_or_was_withdrawn() {
        assert_eq!(Fate::of(Status::SuspendedAwaitingInput, None), Fate::Open);
        assert_eq!(Fate::of(Status::Completed, None), Fate::Completed);
        assert_eq!(Fate::of(Status::Abandoned, None), Fate::Withdrawn);
    }
}
