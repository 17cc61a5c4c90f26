//! The words about the grounds on which people decide: the agent's explanation, and earlier decisions.

/// The effect of a yes.
pub const WHAT_HAPPENS: &str = "What happens";
/// The reason for the action.
pub const WHY: &str = "Why";
/// The people and things that the action touches.
pub const IMPACT: &str = "What it touches";
/// The way to take the action back.
pub const ROLLBACK: &str = "How to take it back";
/// The addresses of an explanation, none of which is a link.
pub const LINKS_NOT_LINKED: &str = "Links (shown, not linked)";
/// The facts behind an explanation.
pub const EVIDENCE: &str = "Evidence";
/// The agent's own name for questions of one kind.
pub const KIND_OF_QUESTION: &str = "Kind of question";
/// Whether the action can be taken back.
pub const CAN_IT_BE_TAKEN_BACK: &str = "Can it be taken back";
/// It can.
pub const REVERSIBLE: &str = "yes";
/// It can in part.
pub const HARD_TO_REVERSE: &str = "only with effort, or in part";
/// It cannot.
pub const IRREVERSIBLE: &str = "no";
/// It can, as a sentence.
pub const SAYS_REVERSIBLE: &str = "The agent says that it can be taken back.";
/// It can in part, as a sentence.
pub const SAYS_HARD_TO_REVERSE: &str = "The agent says that it can be taken back only with effort, or in part.";
/// It cannot, as a sentence.
pub const SAYS_IRREVERSIBLE: &str = "The agent says that it cannot be taken back.";
/// The lowest risk, as a sentence.
pub const SAYS_LOW_RISK: &str = "The agent says that the risk is low.";
/// The next higher risk, as a sentence.
pub const SAYS_MEDIUM_RISK: &str = "The agent says that the risk is medium.";
/// The next higher risk, as a sentence.
pub const SAYS_HIGH_RISK: &str = "The agent says that the risk is high.";
/// The highest risk, as a sentence.
pub const SAYS_CRITICAL_RISK: &str = "The agent says that the risk is critical.";
/// A message about a question with an explanation, which the message does not have.
pub const THE_PAGE_EXPLAINS: &str = "The page has the agent's explanation.";
/// A message about a question of whose kind earlier ones were decided.
pub const THE_PAGE_HAS_EARLIER_DECISIONS: &str = "The page shows how earlier questions of this kind were decided.";
/// The heading of the earlier decisions.
pub const EARLIER_DECISIONS: &str = "Earlier decisions";
/// A kind of question of which no earlier one was decided.
pub const NO_EARLIER_DECISION: &str = "No earlier question of this kind was decided.";
/// An earlier decision whose content was erased.
pub const CONTENT_WAS_ERASED: &str = "the content was erased";
/// An earlier question that a person answered.
pub const EARLIER_ANSWERED: &str = "Answered";
/// An earlier question whose time was over.
pub const EARLIER_UNANSWERED: &str = "No person answered";
/// An earlier question for which too few people agreed.
pub const EARLIER_TOO_FEW: &str = "Too few people agreed";
/// An earlier question that was taken back.
pub const EARLIER_WITHDRAWN: &str = "Withdrawn";
/// A message about a question on which several people must agree.
pub fn people_must_agree(count: u32) -> String {
    format!("{count} people must give the same answer.")
}
