//! Bugs that can be planted to see whether the simulator finds them.
//!
//! Without the feature `planted`, which only a run of the simulator by hand turns on, [`planted`] is the constant `false` and the sites
//! that ask it are gone. Each site is one condition next to the line it spoils.

/// One bug; its comment says what the code then does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// An answer at the very deadline counts.
    AnswerAtTheDeadline,
    /// An answer counts for as long as no timer has fired.
    AnswerAfterTheDeadline,
    /// Any value answers a question.
    ValueUnchecked,
    /// The body says who answered.
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
    /// A fallback applies although nobody was reached.
    FallbackUnreached,
    /// A message that arrives after the end still counts as having reached somebody.
    ReachedAfterTheEnd,
    /// An intent goes on although its question failed.
    FailureGoesOn,
    /// The end of a question is no new version of it.
    EndingKeepsTheVersion,
    /// The next attempt is due an interval after the last one fired.
    TimerFromTheLastFire,
    /// Each missed attempt sends its own messages.
    MissedAttemptsAllSend,
    /// A missed attempt leaves no event.
    MissedAttemptUnrecorded,
    /// A rung counts for one attempt only.
    RungForOneAttempt,
    /// The log takes the process's clock as it is.
    ClockRunsBackwards,
    /// A later event of one transaction names the same predecessor.
    ChainUnlinked,
    /// The deadline of a question that replaces another has no timer.
    DeadlineWithoutTimer,
    /// The last of several people is not told.
    LastPersonUntold,
    /// A message about a question that has ended is sent.
    EndedQuestionSent,
    /// A leased message stays due.
    LeaseWithoutEnd,
    /// Whoever comes completes a message, whatever lease it holds.
    FenceMissing,
    /// A message that is to be tried again is dropped.
    RetryDropped,
    /// A message is recorded as sent before it is.
    SentBeforeSending,
    /// What a key did is not kept.
    OutcomeNotKept,
    /// Which question a key asked is not kept.
    QuestionsKeyNotKept,
    /// A key with another body is a replay.
    BodyOfAKeyIgnored,
    /// A link opens by its row alone.
    TokenGuessed,
    /// A link opens the newest question of its intent.
    TokenUnbound,
    /// The database keeps a token as it is.
    TokenKept,
    /// Whatever comes first after an absence decides as if there had been none.
    AbsenceUnnoticed,
    /// No question gets back the time an absence took.
    AbsenceGivesNothing,
    /// The circuit of an endpoint that fails stays closed.
    CircuitStaysClosed,
    /// An endpoint that said it is gone is asked again.
    GoneIsAskedAgain,
    /// A lane takes as much as there is.
    LaneUnbounded,
    /// A room whose messages carry no link counts as somebody who can answer.
    RoomCountsAsReached,
    /// When nobody of an attempt can be reached, nobody is asked instead.
    FailoverMissing,
    /// A message is sent again after the deadline of its question.
    RedriveAfterTheDeadline,
    /// That a message is sent again leaves no event.
    RedriveUnrecorded,
    /// Any token returns the message in its row.
    BounceUnproven,
    /// What proves that a message is ours does not say which one.
    BounceProofWithoutId,
    /// A message that came back still counts as having reached somebody.
    BounceKeepsReached,
    /// After a restore the answer links from before still open their questions.
    RestoreKeepsLinks,
    /// After a restore nothing waits for its release.
    RestoreHoldsNothing,
    /// After a release nobody is asked afresh.
    ReleaseAsksNobody,
    /// People may be reminded as often as somebody likes.
    RemindedTooSoon,
    /// A deadline may be moved after it has passed.
    ExtendedAfterTheDeadline,
    /// A deadline that was moved keeps its old timer.
    ExtensionKeepsItsTimer,
}

impl Bug {
    /// All of them.
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

/// Plants a bug in what this thread runs from now on, or takes it out again.
#[cfg(feature = "planted")]
pub fn plant(bug: Option<Bug>) {
    PLANTED.set(bug);
}
