//! The words about people, in whose hands a question is, and of the pages that are about a person, in German.

/// Heads an open question that the reader may not answer, because the reader owns the key that asked.
pub(super) const YOU_OWN_THE_ASKER: &str = "Ihnen gehört der Schlüssel, mit dem gefragt wurde";

/// The reason for a person who answers in place of another; completes `sent_to`.
pub(super) fn because_in_place_of(person: &str) -> String {
    format!("weil Sie an Stelle von {person} antworten")
}

/// Heads an open question that could not be assigned to other people.
pub(super) const QUESTION_WAS_NOT_REASSIGNED: &str = "Die Frage wurde nicht anderen Personen zugewiesen";

/// Heads the refusal of a form that is no answer, and came from another site or from a page of an earlier login.
pub(super) const FORM_NOT_FROM_OUR_PAGE: &str = "Dieses Formular kam nicht von unserer Seite";
