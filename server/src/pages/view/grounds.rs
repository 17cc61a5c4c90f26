//! The grounds on which people decide: the agent's explanation in its frame, and earlier decisions in our words.

use chrono::{DateTime, Utc};
use domain::base::text::quoted;
use domain::base::words::Language;
use domain::suspension::grounds::{Content, EarlierDecision, Explanation, Grounds, ended_in_words};
use serde_json::Value;

use super::moment::{Manner, machine, near, second};
use super::{line, phrase};

/// The longest answer to an earlier question, in characters.
const ANSWER_CHARS_MAX: usize = 80;

/// The grounds of a question, as its page shows them.
#[derive(Debug, Clone, Default)]
pub(in crate::pages) struct GroundsShown {
    /// The agent's name for questions of this kind.
    pub key: Option<String>,
    /// Whether the action can be taken back, in words.
    pub reversibility: Option<&'static str>,
    /// The parts of the explanation, by our names for them.
    pub explanation: Vec<(String, Value)>,
    /// The earlier decisions.
    pub earlier: Vec<EarlierShown>,
}

/// An earlier decision.
#[derive(Debug, Clone)]
pub(in crate::pages) struct EarlierShown {
    /// How the question ended.
    pub outcome: &'static str,
    /// The answer, or the fallback value: the label of a choice or the value itself.
    pub answer: Option<String>,
    /// The value of a choice with a label.
    pub code: Option<String>,
    /// The people who decided.
    pub by: String,
    /// The time for programs.
    pub machine: String,
    /// The time for people.
    pub when: String,
    /// Whether the content was erased.
    pub erased: bool,
}

impl GroundsShown {
    /// The grounds on the page of a question; with `now`, times are near it.
    pub(in crate::pages) fn of(grounds: Option<&Grounds>, now: Option<DateTime<Utc>>, manner: Manner) -> Self {
        let language = manner.language;
        let Some(grounds) = grounds else { return Self::default() };
        Self {
            key: grounds.question_key.as_deref().map(phrase),
            reversibility: grounds.reversibility.map(|reversibility| reversibility.in_words(language)),
            explanation: grounds.explanation.as_ref().map(|explanation| explained(explanation, language)).unwrap_or_default(),
            earlier: grounds.earlier.iter().map(|earlier| EarlierShown::of(earlier, now, manner)).collect(),
        }
    }

    /// Everything but the earlier decisions, as the agent said it.
    pub(super) fn said(&self, language: Language) -> Vec<(String, Value)> {
        let named = |name: &str, text: Option<&str>| text.map(|text| (name.to_owned(), Value::from(text)));
        let rest =
            [named(language.can_it_be_taken_back(), self.reversibility), named(language.kind_of_question(), self.key.as_deref())];
        self.explanation.iter().cloned().chain(rest.into_iter().flatten()).collect()
    }
}

/// The parts of an explanation, in the order in which people read them.
fn explained(explanation: &Explanation, language: Language) -> Vec<(String, Value)> {
    let names = [language.what_happens(), language.why(), language.impact(), language.rollback()];
    let texts = names.into_iter().zip(explanation.texts()).map(|(name, (_, text))| (name, text.map(Value::from)));
    let links = Some(&explanation.links).filter(|links| !links.is_empty()).map(|links| Value::from(links.as_slice()));
    let rest = [(language.links_not_linked(), links), (language.evidence(), explanation.evidence.clone())];
    texts.chain(rest).filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

impl EarlierShown {
    fn of(earlier: &EarlierDecision, now: Option<DateTime<Utc>>, manner: Manner) -> Self {
        let decided = earlier.content.read().cloned().unwrap_or_default();
        let value = decided.value.as_ref().map(typed);
        let label = decided.label.as_deref().map(|label| quoted(label, ANSWER_CHARS_MAX));
        let code = label.as_ref().and(value.clone()).filter(|code| Some(code) != label.as_ref());
        Self {
            outcome: ended_in_words(earlier.resolution, earlier.reason, manner.language),
            answer: label.or(value),
            code,
            by: line(&decided.by.join(", ")),
            machine: machine(&earlier.at),
            when: now.map_or_else(|| second(&earlier.at, manner), |now| near(&earlier.at, &now, manner)),
            erased: earlier.content == Content::Erased,
        }
    }
}

fn typed(value: &Value) -> String {
    quoted(&value.as_str().map_or_else(|| value.to_string(), str::to_owned), ANSWER_CHARS_MAX)
}
