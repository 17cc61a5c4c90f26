//! Why an open question is shown again, with the form as it was sent.

use domain::base::words::Language;

use super::super::context::{FieldError, FieldProblem};

/// Why a place is not handed on, or a question not assigned to others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::pages) struct HandRefused {
    /// The people and groups that break the rule, as they were typed; none if the reason is about all of them.
    pub names: Vec<String>,
    /// The rule that is broken.
    pub rule: String,
    /// The reason, in English.
    pub reason: String,
}

/// Why an open question is shown again after a POST.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::pages) enum FormError {
    /// The nonce does not fit the cookie.
    PageTooOld,
    /// The store refused the answer; it is not recorded.
    CannotSave,
    /// The store did not tell the result. The answer may have been recorded already, or may be recorded later.
    Unheard,
    /// While the page was open, another person answered or took an answer back, or the question changed.
    Answered,
    /// The person has not seen the changes of the action that the answer approves.
    LookFirst,
    /// While the page was open, another person edited the proposed action, or took an edit back.
    ProposalChanged {
        /// The person whose edit stands.
        by: Option<String>,
        /// How many fields differ from the action that the agent proposed.
        count: usize,
    },
    /// The question is assigned to other people.
    NotAssigned,
    /// The reader owns the key that asked.
    OwnQuestion {
        /// Whether the reader would only choose who answers, and may answer.
        chooses: bool,
    },
    /// The reader would hand on a place in which an answer counts.
    HasAnswered,
    /// The place cannot be handed to the person who was named.
    NotHanded(Vec<HandRefused>),
    /// The question cannot be assigned to the people and groups who were named.
    NotReassigned(Vec<HandRefused>),
    /// Nothing was typed that could be a draft.
    NoDraft,
    /// The draft breaks a rule, for this reason.
    DraftRefused(String),
    /// The store did not say that the draft is saved.
    DraftNotSaved,
    /// The draft that was to be taken over is gone.
    DraftIsGone,
    /// A button was pressed whose value this question does not offer.
    NotAChoice,
    /// The answer came without the login that the question demands.
    NoLogin {
        /// Whether the server keeps what was typed.
        is_kept: bool,
        /// Whether the person is logged in, but not since recently enough.
        is_old: bool,
    },
    /// The form was made for another person than the one who is logged in.
    OtherPerson,
    /// The answer came without the signature that the question demands.
    NotSigned,
    /// The signature of the passkey is not accepted, for this reason.
    PasskeyRefused(String),
    /// A field came more than once. These are the titles of those that the page shows.
    CameTwice(Vec<String>),
    /// A typed text cannot be sent yet.
    NeedsChange(Vec<FieldError>),
}

impl FormError {
    /// The error of a text answer, whose one field has this problem.
    pub(in crate::pages) fn text(problem: FieldProblem, language: Language) -> Self {
        let label = language.text_of_your_answer().to_owned();
        Self::NeedsChange(vec![FieldError { name: "value".to_owned(), label, problem }])
    }

    /// Why the people and groups were refused that were typed in this field.
    pub(super) fn refused_in(&self, field: &str) -> &[HandRefused] {
        match (self, field) {
            (Self::NotHanded(refused), "to") | (Self::NotReassigned(refused), "who") => refused,
            // Every other error is about other fields.
            _ => &[],
        }
    }

    pub(super) fn heading(&self, language: Language) -> String {
        match self {
            Self::PageTooOld => language.page_was_open_too_long().to_owned(),
            Self::CannotSave => language.cannot_save().to_owned(),
            // The page must not say that the answer was not saved: it may have been.
            Self::Unheard => language.not_confirmed().to_owned(),
            Self::Answered => language.others_have_answered().to_owned(),
            Self::LookFirst => language.look_at_the_changes().to_owned(),
            Self::ProposalChanged { .. } => language.proposal_has_changed().to_owned(),
            Self::NotAssigned => language.not_assigned_to_you().to_owned(),
            Self::OwnQuestion { .. } => language.you_own_the_asker().to_owned(),
            Self::HasAnswered | Self::NotHanded(_) => language.place_was_not_handed_on().to_owned(),
            Self::NotReassigned(_) => language.question_was_not_reassigned().to_owned(),
            Self::NoDraft | Self::DraftRefused(_) | Self::DraftNotSaved => language.draft_is_not_saved().to_owned(),
            Self::DraftIsGone => language.draft_is_gone().to_owned(),
            Self::NotAChoice => language.not_one_of_the_choices().to_owned(),
            Self::NoLogin { .. } => language.login_needed_first().to_owned(),
            Self::OtherPerson => language.page_of_another_person().to_owned(),
            Self::NotSigned => language.no_passkey_signed().to_owned(),
            Self::PasskeyRefused(_) => language.passkey_not_accepted().to_owned(),
            Self::CameTwice(_) => language.field_came_twice().to_owned(),
            Self::NeedsChange(errors) => language.answers_need_a_change(errors.len()),
        }
    }

    pub(super) fn fields(&self) -> &[FieldError] {
        match self {
            Self::NeedsChange(errors) => errors,
            Self::PageTooOld
            | Self::Answered
            | Self::LookFirst
            | Self::ProposalChanged { .. }
            | Self::CannotSave
            | Self::Unheard
            | Self::NotAssigned
            | Self::OwnQuestion { .. }
            | Self::HasAnswered
            | Self::NotHanded(_)
            | Self::NotReassigned(_)
            | Self::NoDraft
            | Self::DraftRefused(_)
            | Self::DraftNotSaved
            | Self::DraftIsGone
            | Self::NotAChoice
            | Self::NoLogin { .. }
            | Self::OtherPerson
            | Self::NotSigned
            | Self::PasskeyRefused(_)
            | Self::CameTwice(_) => &[],
        }
    }
}
