//! Bugs that can be planted to see whether the simulator finds them.
//!
//! Without the feature `planted`, which only a manual run of the simulator turns on, [`planted`] is the constant `false`, and the
//! compiler removes the conditions that ask it. Each of them stands next to the line that the bug spoils.

/// One bug; its comment says how the code then behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// An answer at the very deadline counts.
    AnswerAtTheDeadline,
    /// An answer counts for as long as no timer has fired.
    AnswerAfterTheDeadline,
    /// Any value answers a question.
    ValueUnchecked,
    /// The request's body says who answered.
    ResponderFromTheBody,
    /// A second key of the asker's owner may answer.
    OwnerMayAnswer,
    /// An agent may set its own suspended intent active.
    AgentLiftsItsSuspension,
    /// A patch reaches `_suspension` by a second slash.
    PatchReachesSuspension,
    /// A question may be withdrawn after its deadline.
    CancelAfterTheDeadline,
    /// A second question suspends an intent that waits already.
    SecondQuestion,
    /// A fallback applies although no person was reached.
    FallbackUnreached,
    /// A message that arrives after the end of its question still counts as having reached a person.
    ReachedAfterTheEnd,
    /// An intent goes on although its question failed.
    FailureGoesOn,
    /// The end of a question does not give it a new version.
    EndingKeepsTheVersion,
    /// The next attempt is due an interval after the last one fired.
    TimerFromTheLastFire,
    /// Each missed attempt sends its own messages.
    MissedAttemptsAllSend,
    /// A missed attempt leaves no event.
    MissedAttemptUnrecorded,
    /// A rung counts for one attempt only.
    RungForOneAttempt,
    /// The log takes the time of the process's clock as it is.
    ClockRunsBackwards,
    /// A later event of one transaction names the same predecessor as the first.
    ChainUnlinked,
    /// The deadline of a question that replaces another has no timer.
    DeadlineWithoutTimer,
    /// The last of several people is not told.
    LastPersonUntold,
    /// A message about a question that has ended is sent.
    EndedQuestionSent,
    /// A leased message stays due.
    LeaseWithoutEnd,
    /// A worker completes a message whatever lease the worker holds.
    FenceMissing,
    /// A message that is to be tried again is dropped.
    RetryDropped,
    /// A message is recorded as sent before it is.
    SentBeforeSending,
    /// The outcome of a request is not stored under its idempotency key.
    OutcomeNotKept,
    /// The question that was asked under an idempotency key is not stored.
    QuestionsKeyNotKept,
    /// A key with another body is a replay.
    BodyOfAKeyIgnored,
    /// A link opens by its row alone.
    TokenGuessed,
    /// A link opens the newest question of its intent.
    TokenUnbound,
    /// The database stores an answer link's token in plain text.
    TokenKept,
    /// The first transaction after an absence decides as if there had been none.
    AbsenceUnnoticed,
    /// No question gets back the time an absence took.
    AbsenceGivesNothing,
    /// The circuit of an endpoint that fails stays closed.
    CircuitStaysClosed,
    /// An endpoint that said it is gone is asked again.
    GoneIsAskedAgain,
    /// A lane takes all messages that are due.
    LaneUnbounded,
    /// A room whose messages carry no link counts as a person who can answer.
    RoomCountsAsReached,
    /// When no person of an attempt can be reached, no one is asked instead.
    FailoverMissing,
    /// A message is sent again after the deadline of its question.
    RedriveAfterTheDeadline,
    /// Sending a message again leaves no event.
    RedriveUnrecorded,
    /// Any token returns the message in its row.
    BounceUnproven,
    /// The proof that a message is ours does not say which message it is.
    BounceProofWithoutId,
    /// A message that came back still counts as having reached a person.
    BounceKeepsReached,
    /// After a restore the answer links from before still open their questions.
    RestoreKeepsLinks,
    /// After a restore nothing waits for its release.
    RestoreHoldsNothing,
    /// After a release no one is asked afresh.
    ReleaseAsksNobody,
    /// People may be reminded without any pause.
    RemindedTooSoon,
    /// A deadline may be moved after it has passed.
    ExtendedAfterTheDeadline,
    /// A deadline that was moved keeps its old timer.
    ExtensionKeepsItsTimer,
}

impl Bug {
    /// All bugs.
    pub const ALL: [Self; 50] = [
        Self::AnswerAtTheDeadline,
        Self::AnswerAfterTheDeadline,
        Self::ValueUnchecked,
        Self::ResponderFromTheBody,
        Self::OwnerMayAnswer,
        Self::AgentLiftsItsSuspension,
        Self::PatchReachesSuspension,
        Self::CancelAfterTheDeadline,
        Self::SecondQuestion,
        Self::FallbackUnreached,
        Self::ReachedAfterTheEnd,
        Self::FailureGoesOn,
        Self::EndingKeepsTheVersion,
        Self::TimerFromTheLastFire,
        Self::MissedAttemptsAllSend,
        Self::MissedAttemptUnrecorded,
        Self::RungForOneAttempt,
        Self::ClockRunsBackwards,
        Self::ChainUnlinked,
        Self::DeadlineWithoutTimer,
        Self::LastPersonUntold,
        Self::EndedQuestionSent,
        Self::LeaseWithoutEnd,
        Self::FenceMissing,
        Self::RetryDropped,
        Self::SentBeforeSending,
        Self::OutcomeNotKept,
        Self::QuestionsKeyNotKept,
        Self::BodyOfAKeyIgnored,
        Self::TokenGuessed,
        Self::TokenUnbound,
        Self::TokenKept,
        Self::AbsenceUnnoticed,
        Self::AbsenceGivesNothing,
        Self::CircuitStaysClosed,
        Self::GoneIsAskedAgain,
        Self::LaneUnbounded,
        Self::RoomCountsAsReached,
        Self::FailoverMissing,
        Self::RedriveAfterTheDeadline,
        Self::RedriveUnrecorded,
        Self::BounceUnproven,
        Self::BounceProofWithoutId,
        Self::BounceKeepsReached,
        Self::RestoreKeepsLinks,
        Self::RestoreHoldsNothing,
        Self::ReleaseAsksNobody,
        Self::RemindedTooSoon,
        Self::ExtendedAfterTheDeadline,
        Self::ExtensionKeepsItsTimer,
    ];
}

#[cfg(feature = "planted")]
thread_local! {
    static PLANTED: std::cell::Cell<Option<Bug>> = const { std::cell::Cell::new(None) };
}

/// Whether this bug is in the code now.
#[cfg(feature = "planted")]
pub fn planted(bug: Bug) -> bool {
    PLANTED.get() == Some(bug)
}

/// Whether this bug is in the code now: never.
#[cfg(not(feature = "planted"))]
#[inline]
pub const fn planted(_: Bug) -> bool {
    false
}

/// Plants a bug in the code that this thread runs from now on, or removes the planted one.
#[cfg(feature = "planted")]
pub fn plant(bug: Option<Bug>) {
    PLANTED.set(bug);
}
