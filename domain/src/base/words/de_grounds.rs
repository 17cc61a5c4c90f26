//! The words about the grounds on which people decide: the agent's explanation, and earlier decisions.

/// The effect of a yes.
pub(super) const WHAT_HAPPENS: &str = "Was geschieht";
/// The reason for the action.
pub(super) const WHY: &str = "Warum";
/// The people and things that the action touches.
pub(super) const IMPACT: &str = "Was es betrifft";
/// The way to take the action back.
pub(super) const ROLLBACK: &str = "Wie es sich zurücknehmen lässt";
/// The addresses of an explanation, none of which is a link.
pub(super) const LINKS_NOT_LINKED: &str = "Adressen (nur angezeigt, keine Links)";
/// The facts behind an explanation.
pub(super) const EVIDENCE: &str = "Belegt durch";
/// The agent's own name for questions of one kind.
pub(super) const KIND_OF_QUESTION: &str = "Art der Frage";
/// Whether the action can be taken back.
pub(super) const CAN_IT_BE_TAKEN_BACK: &str = "Lässt es sich zurücknehmen";
/// It can.
pub(super) const REVERSIBLE: &str = "ja";
/// It can in part.
pub(super) const HARD_TO_REVERSE: &str = "nur mit Aufwand oder zum Teil";
/// It cannot.
pub(super) const IRREVERSIBLE: &str = "nein";
/// It can, as a sentence.
pub(super) const SAYS_REVERSIBLE: &str = "Der Agent gibt an, dass es sich zurücknehmen lässt.";
/// It can in part, as a sentence.
pub(super) const SAYS_HARD_TO_REVERSE: &str = "Der Agent gibt an, dass es sich nur mit Aufwand oder zum Teil zurücknehmen lässt.";
/// It cannot, as a sentence.
pub(super) const SAYS_IRREVERSIBLE: &str = "Der Agent gibt an, dass es sich nicht zurücknehmen lässt.";
/// The lowest risk, as a sentence.
pub(super) const SAYS_LOW_RISK: &str = "Der Agent gibt an, dass das Risiko niedrig ist.";
/// The next higher risk, as a sentence.
pub(super) const SAYS_MEDIUM_RISK: &str = "Der Agent gibt an, dass das Risiko mittel ist.";
/// The next higher risk, as a sentence.
pub(super) const SAYS_HIGH_RISK: &str = "Der Agent gibt an, dass das Risiko hoch ist.";
/// The highest risk, as a sentence.
pub(super) const SAYS_CRITICAL_RISK: &str = "Der Agent gibt an, dass das Risiko kritisch ist.";
/// A message about a question with an explanation, which the message does not have.
pub(super) const THE_PAGE_EXPLAINS: &str = "Die Erklärung des Agenten steht auf der Seite.";
/// A message about a question of whose kind earlier ones were decided.
pub(super) const THE_PAGE_HAS_EARLIER_DECISIONS: &str = "Die Seite zeigt, wie frühere Fragen dieser Art entschieden wurden.";
/// The heading of the earlier decisions.
pub(super) const EARLIER_DECISIONS: &str = "Frühere Entscheidungen";
/// A kind of question of which no earlier one was decided.
pub(super) const NO_EARLIER_DECISION: &str = "Bisher wurde keine Frage dieser Art entschieden.";
/// An earlier decision whose content was erased.
pub(super) const CONTENT_WAS_ERASED: &str = "der Inhalt wurde gelöscht";
/// An earlier question that a person answered.
pub(super) const EARLIER_ANSWERED: &str = "Beantwortet";
/// An earlier question whose time was over.
pub(super) const EARLIER_UNANSWERED: &str = "Niemand hat geantwortet";
/// An earlier question for which too few people agreed.
pub(super) const EARLIER_TOO_FEW: &str = "Zu wenige gleiche Antworten";
/// An earlier question that was taken back.
pub(super) const EARLIER_WITHDRAWN: &str = "Zurückgezogen";
/// A message about a question on which several people must agree.
pub(super) fn people_must_agree(count: u32) -> String {
    format!("{count} Personen müssen dieselbe Antwort geben.")
}
