//! The words about people, in whose hands a question is, and of the pages that are about a person, in English.

/// Heads an open question that the reader may not answer, because the reader owns the key that asked.
pub const YOU_OWN_THE_ASKER: &str = "You own the key that asked this question";

/// The reason for a person who answers in place of another; completes `sent_to`.
pub fn because_in_place_of(person: &str) -> String {
    format!("because you answer in place of {person}")
}

/// Heads an open question that could not be assigned to other people.
pub const QUESTION_WAS_NOT_REASSIGNED: &str = "The question was not assigned to other people";

/// Heads the refusal of a form that is no answer, and came from another site or from a page of an earlier login.
pub const FORM_NOT_FROM_OUR_PAGE: &str = "This form did not come from our page";
