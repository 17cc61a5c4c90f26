//! The grounds on which people decide: what the asker explains of an action, and how earlier questions of the same kind ended.
//!
//! Guarantee: people see the same grounds for as long as a question is open, and the hash of what was shown covers them. Mechanism: the
//! earlier decisions are chosen when the question is asked, and its event names each by the hash of the event that ended it. That hash covers
//! the answer and the person, who are read from that event whenever they are shown. Failure: if the content of an earlier decision was erased,
//! people see that it was, and its hash still stands for it.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::base::field::FieldError;
use crate::base::ids::{IntentId, SuspensionId};
use crate::base::json;
use crate::base::sealed::Hash;
use crate::base::text::{is_blank, is_invisible};
use crate::base::words::Language;
use crate::suspension::resolution::{Resolution, ResolutionReason};

/// The longest text of an explanation, in bytes: as long as a question.
pub const EXPLANATION_TEXT_BYTES_MAX: usize = 4 * 1024;
/// The most links of an explanation.
pub const LINKS_MAX: usize = 10;
/// The longest link, in characters.
pub const LINK_MAX: usize = 2_000;
/// The largest evidence, in bytes of JSON.
pub const EVIDENCE_BYTES_MAX: usize = 16 * 1024;
/// The longest key of a question, in characters.
pub const QUESTION_KEY_MAX: usize = 200;
/// The most earlier decisions that are shown beside a question.
pub const EARLIER_MAX: usize = 5;

/// The member of a request that explains the action.
pub const EXPLANATION: &str = "explanation";
/// The member of a request that holds the key of the question.
pub const QUESTION_KEY: &str = "question_key";

/// The grounds on which people decide, beside the context.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Grounds {
    /// The asker's own name for questions of this kind.
    pub question_key: Option<String>,
    /// The asker's explanation.
    pub explanation: Option<Explanation>,
    /// Whether the action can be taken back.
    pub reversibility: Option<Reversibility>,
    /// The newest decisions about questions with the same key of the same asker, the newest first. Only a store knows them, so a question
    /// that was not asked yet has none.
    pub earlier: Vec<EarlierDecision>,
}

/// The asker's explanation of an action. It is also stored in the event that asks the question, so its members never change their names or
/// forms.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Explanation {
    /// The effect of a yes, at most 4 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 4096)]
    pub what_happens: Option<String>,
    /// The reason for the action, at most 4 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 4096)]
    pub why: Option<String>,
    /// The people and things that the action touches, at most 4 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 4096)]
    pub impact: Option<String>,
    /// The way to take the action back, at most 4 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 4096)]
    pub rollback: Option<String>,
    /// Addresses with the scheme `https` or `http`: at most 10, of at most 2,000 characters. People see them as text and not as
    /// links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 10)]
    pub links: Vec<String>,
    /// The facts behind the explanation: any JSON, at most 16 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    pub evidence: Option<Value>,
}

/// Whether an action can be taken back, as its asker declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reversibility {
    /// It can be taken back.
    Reversible,
    /// It can be taken back with effort, or in part.
    HardToReverse,
    /// It cannot be taken back.
    Irreversible,
}

impl Reversibility {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Reversible, Self::HardToReverse, Self::Irreversible];

    /// The name in the API and in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reversible => "reversible",
            Self::HardToReverse => "hard_to_reverse",
            Self::Irreversible => "irreversible",
        }
    }

    /// The answer to the question whether the action can be taken back.
    pub fn in_words(self, language: Language) -> &'static str {
        match self {
            Self::Reversible => language.reversible(),
            Self::HardToReverse => language.hard_to_reverse(),
            Self::Irreversible => language.irreversible(),
        }
    }

    /// The same as a sentence of ours.
    pub fn sentence(self, language: Language) -> &'static str {
        match self {
            Self::Reversible => language.says_reversible(),
            Self::HardToReverse => language.says_hard_to_reverse(),
            Self::Irreversible => language.says_irreversible(),
        }
    }
}

/// The ending of an earlier question, in one word or a few.
pub fn ended_in_words(resolution: Resolution, reason: Option<ResolutionReason>, language: Language) -> &'static str {
    match (resolution, reason) {
        (Resolution::Responded, _) => language.earlier_answered(),
        (Resolution::Expired, _) => language.earlier_unanswered(),
        (Resolution::Cancelled, Some(ResolutionReason::QuorumUnmet)) => language.earlier_too_few(),
        (Resolution::Cancelled, _) => language.earlier_withdrawn(),
    }
}

/// A decision about an earlier question, as a later question names it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EarlierDecision {
    /// The earlier question.
    pub suspension_id: SuspensionId,
    /// Its intent.
    pub intent_id: IntentId,
    /// The hash of the event that ended it. It covers the answer and the person.
    pub event_hash: Hash,
    /// How it ended.
    pub resolution: Resolution,
    /// The cause of the ending `cancelled`; absent for other endings.
    pub reason: Option<ResolutionReason>,
    /// When it ended.
    pub at: DateTime<Utc>,
    /// The content of that event. It stands there alone, so that it is erased with it.
    #[serde(skip)]
    pub content: Content,
}

/// The content of an earlier decision.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Content {
    /// It was not read, or the reader may not read it.
    #[default]
    Unread,
    /// It was erased.
    Erased,
    /// It was read from the event.
    Read(Decided),
}

/// The answer to an earlier question.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decided {
    /// The answer, or the fallback value; absent if the agent was given none.
    pub value: Option<Value>,
    /// The label of the choice.
    pub label: Option<String>,
    /// The people who decided: one, or those who made the quorum; none if time ended the question.
    pub by: Vec<String>,
}

impl Content {
    /// The content, if it was read.
    pub fn read(&self) -> Option<&Decided> {
        match self {
            Self::Read(decided) => Some(decided),
            Self::Unread | Self::Erased => None,
        }
    }
}

impl Grounds {
    /// The grounds, unless there are none.
    pub fn boxed(self) -> Option<Box<Self>> {
        (self != Self::default()).then(|| Box::new(self))
    }

    /// The sentences of a message about the question: that the action is hard to take back, and that the page has more.
    pub fn in_a_message(&self, language: Language) -> Vec<&'static str> {
        let reversal = self.reversibility.filter(|reversibility| *reversibility != Reversibility::Reversible);
        let explanation = self.explanation.as_ref().map(|_| language.the_page_explains());
        let earlier = (!self.earlier.is_empty()).then_some(language.the_page_has_earlier_decisions());
        reversal.map(|reversibility| reversibility.sentence(language)).into_iter().chain(explanation).chain(earlier).collect()
    }

    /// Whether the asker gives the same grounds in both. The earlier decisions are the server's.
    pub fn are_same(one: Option<&Self>, other: Option<&Self>) -> bool {
        let given = |grounds: Option<&Self>| {
            grounds.map(|grounds| (grounds.question_key.clone(), grounds.explanation.clone(), grounds.reversibility))
        };
        given(one) == given(other)
    }
}

impl Explanation {
    /// The texts, with the names of their members, in the order in which people read them.
    pub fn texts(&self) -> [(&'static str, Option<&str>); 4] {
        let Self { what_happens, why, impact, rollback, links: _, evidence: _ } = self;
        [
            ("what_happens", what_happens.as_deref()),
            ("why", why.as_deref()),
            ("impact", impact.as_deref()),
            ("rollback", rollback.as_deref()),
        ]
    }

    /// Checks an explanation.
    ///
    /// # Errors
    ///
    /// Every member that breaks a rule.
    pub fn check(&self) -> Result<(), Vec<FieldError>> {
        let mut errors = Vec::new();
        let mut error = |member: &str, rule: &str, message: String| {
            errors.push(FieldError::new(format!("{EXPLANATION}{member}"), rule, message));
        };
        if *self == Self::default() {
            error("", "required", "must have at least one member".to_owned());
        }
        for (name, text) in self.texts() {
            let Some(text) = text else { continue };
            let member = format!(".{name}");
            if text.len() > EXPLANATION_TEXT_BYTES_MAX {
                error(&member, "length", format!("must be at most {EXPLANATION_TEXT_BYTES_MAX} bytes"));
            } else if is_blank(text) {
                error(&member, "required", "must not be blank; leave it out if there is nothing to say".to_owned());
            }
            if text.contains('\0') {
                error(&member, "nul", "must not contain a NUL character".to_owned());
            }
        }
        if self.links.len() > LINKS_MAX {
            error(".links", "length", format!("must have at most {LINKS_MAX} entries"));
        }
        for (index, link) in self.links.iter().enumerate().take(LINKS_MAX) {
            let member = format!(".links[{index}]");
            if link.chars().count() > LINK_MAX {
                error(&member, "length", format!("must be at most {LINK_MAX} characters"));
            } else if !is_link(link) {
                let message =
                    "must begin with https:// or http://, and have neither spaces nor characters that people cannot see";
                error(&member, "url", message.to_owned());
            }
        }
        if self.evidence.as_ref().is_some_and(|evidence| json::size(evidence) > EVIDENCE_BYTES_MAX) {
            error(".evidence", "length", format!("must be at most {EVIDENCE_BYTES_MAX} bytes of JSON"));
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }
}

/// Whether a text is an address that people could type into a browser as they read it.
fn is_link(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty()) && !text.chars().any(|c| c.is_whitespace() || is_invisible(c))
}

/// Checks the key of a question.
///
/// # Errors
///
/// The rule that it breaks.
pub fn check_key(key: &str) -> Result<(), FieldError> {
    if key.is_empty() || key.chars().count() > QUESTION_KEY_MAX {
        return Err(FieldError::new(QUESTION_KEY, "length", format!("must be 1 to {QUESTION_KEY_MAX} characters")));
    }
    // Two keys that people cannot tell apart would divide the decisions that belong together.
    if is_blank(key) || key.trim() != key || key.chars().any(is_invisible) {
        let message = "must have no characters that people cannot see, and no spaces at its ends";
        return Err(FieldError::new(QUESTION_KEY, "characters", message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn broken(explanation: &Explanation) -> Vec<(String, String)> {
        let errors = explanation.check().err().unwrap_or_default();
        errors.into_iter().map(|error| (error.field, error.rule)).collect()
    }

    fn rule(field: &str, rule: &str) -> Vec<(String, String)> {
        vec![(field.to_owned(), rule.to_owned())]
    }

    #[test]
    fn a_text_of_an_explanation_holds_at_its_bound_and_not_beyond() {
        type Setter = fn(&mut Explanation, String);
        let longest = "x".repeat(EXPLANATION_TEXT_BYTES_MAX);
        let members: [(&str, Setter); 4] = [
            ("explanation.what_happens", |all, text| all.what_happens = Some(text)),
            ("explanation.why", |all, text| all.why = Some(text)),
            ("explanation.impact", |all, text| all.impact = Some(text)),
            ("explanation.rollback", |all, text| all.rollback = Some(text)),
        ];
        for (field, set) in members {
            let with = |text: &str| {
                let mut explanation = Explanation::default();
                set(&mut explanation, text.to_owned());
                broken(&explanation)
            };
            assert_eq!(with(&longest), []);
            assert_eq!(with(&format!("{longest}x")), rule(field, "length"));
            assert_eq!(with(" \u{200B}\n"), rule(field, "required"));
            assert_eq!(with("a\0b"), rule(field, "nul"));
            // Characters that the pages make visible are no error, as in a question.
            assert_eq!(with("a\u{202E}b"), []);
        }
        assert_eq!(broken(&Explanation::default()), rule("explanation", "required"));
    }

    #[test]
    fn links_are_addresses_within_their_bounds() {
        let with = |links: Vec<String>| broken(&Explanation { links, ..Explanation::default() });
        let longest = format!("https://x.example/{}", "a".repeat(LINK_MAX - 18));
        assert_eq!(longest.chars().count(), LINK_MAX);
        assert_eq!(with(vec![longest.clone(); LINKS_MAX]), []);
        assert_eq!(with(vec![longest.clone(); LINKS_MAX + 1]), rule("explanation.links", "length"));
        assert_eq!(with(vec!["http://x.example".into(), format!("{longest}a")]), rule("explanation.links[1]", "length"));
        for wrong in
            ["", "https://", "javascript:alert(1)", "ftp://x.example", "https://x.example/a b", "https://x\u{202E}.example"]
        {
            assert_eq!(with(vec![wrong.to_owned()]), rule("explanation.links[0]", "url"), "{wrong:?}");
        }
    }

    #[test]
    fn evidence_is_bounded() {
        let with = |bytes: usize| broken(&Explanation { evidence: Some(json!("x".repeat(bytes - 2))), ..Explanation::default() });
        assert_eq!(with(EVIDENCE_BYTES_MAX), []);
        assert_eq!(with(EVIDENCE_BYTES_MAX + 1), rule("explanation.evidence", "length"));
    }

    #[test]
    fn a_key_is_one_that_people_can_tell_from_others() {
        let longest = "k".repeat(QUESTION_KEY_MAX);
        for key in ["refund", "refund over 400", &longest, "Rückzahlung"] {
            assert_eq!(check_key(key), Ok(()), "{key}");
        }
        for (key, rule) in [
            ("", "length"),
            (&*format!("{longest}k"), "length"),
            (" ", "characters"),
            ("refund ", "characters"),
            ("re\u{200B}fund", "characters"),
            ("re\nfund", "characters"),
        ] {
            assert_eq!(check_key(key).unwrap_err().rule, rule, "{key:?}");
        }
    }

    #[test]
    fn a_reversibility_has_one_name() {
        for reversibility in Reversibility::ALL {
            assert_eq!(json!(reversibility), json!(reversibility.as_str()));
        }
    }
}
