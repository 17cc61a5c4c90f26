//! The buttons of the answer page about drafts: one saves a draft of an answer, and the others take over the draft of another person.

use domain::suspension::draft::Draft;
use store::LinkView;

use super::view::DraftsShown;

/// The name of the button that saves a draft.
pub(super) const SAVE: &str = "draft";
/// The name of the buttons that take a draft over.
pub(super) const TAKE: &str = "take";

/// The button that was pressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DraftButton {
    Save,
    /// Takes over the draft of the person with this address.
    Take(String),
}

impl DraftButton {
    /// The same button, as an input of a form that is sent again: without it, the form would answer.
    pub(super) fn hidden(&self) -> (String, String) {
        match self {
            Self::Save => (SAVE.to_owned(), "save".to_owned()),
            Self::Take(author) => (TAKE.to_owned(), author.clone()),
        }
    }
}

/// The drafts, as the page shows them.
pub(super) fn shown(link: &LinkView, drafted: Option<&str>) -> DraftsShown {
    let is_own = |draft: &&Draft| draft.by.eq_ignore_ascii_case(&link.recipient);
    let others = link.drafts.iter().filter(|draft| !is_own(draft)).map(|draft| (draft.by.clone(), draft.at));
    let taken = link.drafts.iter().find(|draft| !is_own(draft) && drafted == Some(draft.by.as_str()));
    DraftsShown {
        own: link.drafts.iter().find(is_own).map(|draft| draft.at),
        others: others.collect(),
        stands_here: drafted.map(|author| (author.to_owned(), author.eq_ignore_ascii_case(&link.recipient))),
        is_marked: taken.is_some_and(|draft| draft.values.shown() != draft.values),
    }
}
