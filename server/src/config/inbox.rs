//! The reasons for a no that people find on the pages where they answer, and the kinds of questions that they may answer together.

use anyhow::bail;
use domain::base::name::{is_same_in_any_case, normal};
use domain::base::text::{is_blank, visible_line};
use domain::suspension::ResponseType;
use serde::Deserialize;

/// The most reasons: a list that is read at one look.
const REASONS_MAX: usize = 12;
/// The longest reason, in characters: one line on a phone, or two.
const REASON_CHARS_MAX: usize = 80;
/// The most kinds of questions that may be answered together.
const KINDS_MAX: usize = 1_000;

/// `[inbox]` in the file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct InboxSection {
    reasons: Vec<String>,
    together: Vec<TogetherSection>,
}

/// One `[[inbox.together]]` in the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TogetherSection {
    agent: String,
    response_type: ResponseType,
}

/// The reasons for a no that people find ready, and the kinds of questions that they may answer together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InboxConfig {
    /// The reasons that are offered for a no, in this order.
    pub reasons: Vec<String>,
    /// The kinds of questions that may be answered together.
    pub together: Vec<Together>,
}

/// A kind of question: those of one agent that expect one kind of answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Together {
    /// The name of the agent's key.
    pub agent: String,
    /// The kind of answer.
    pub response_type: ResponseType,
}

impl Together {
    /// Whether a question of this agent is of this kind.
    pub fn names(&self, agent: &str, response_type: ResponseType) -> bool {
        self.response_type == response_type && is_same_in_any_case(&self.agent, agent)
    }
}

impl InboxSection {
    /// Checks the reasons and the kinds.
    pub(super) fn resolve(self) -> anyhow::Result<InboxConfig> {
        let reasons: Vec<String> = self.reasons.iter().map(|reason| reason.trim().to_owned()).collect();
        if reasons.len() > REASONS_MAX {
            bail!("inbox.reasons: must be at most {REASONS_MAX}");
        }
        for (index, reason) in reasons.iter().enumerate() {
            if is_blank(reason) || reason.chars().count() > REASON_CHARS_MAX || visible_line(reason) != *reason {
                bail!("inbox.reasons[{index}]: must be one line of 1 to {REASON_CHARS_MAX} characters that can be seen");
            }
            if reasons[..index].iter().any(|other| is_same_in_any_case(other, reason)) {
                bail!("inbox.reasons[{index}]: stands there twice");
            }
        }
        if self.together.len() > KINDS_MAX {
            bail!("inbox.together: must be at most {KINDS_MAX}");
        }
        let mut together: Vec<Together> = Vec::with_capacity(self.together.len());
        for (index, TogetherSection { agent, response_type }) in self.together.into_iter().enumerate() {
            let agent = match normal(&agent) {
                Ok(agent) => agent,
                Err((_, message)) => bail!("inbox.together[{index}].agent: {message}"),
            };
            match response_type {
                ResponseType::Confirm | ResponseType::Choice => {}
                ResponseType::Text | ResponseType::Form => bail!(
                    "inbox.together[{index}].response_type: must be \"confirm\" or \"choice\"; a text is written for one question"
                ),
            }
            if together.iter().any(|kind| kind.names(&agent, response_type)) {
                bail!("inbox.together[{index}]: {agent:?} is named twice with this response_type");
            }
            together.push(Together { agent, response_type });
        }
        Ok(InboxConfig { reasons, together })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> anyhow::Result<InboxConfig> {
        toml::from_str::<InboxSection>(text)?.resolve()
    }

    #[test]
    fn nothing_is_ready_unless_the_file_says_so() {
        assert_eq!(read("").unwrap(), InboxConfig::default());
        let text = "reasons = [' Out of budget ', 'Ask legal first']\n\
                    [[together]]\nagent = 'cleanup'\nresponse_type = 'confirm'\n\
                    [[together]]\nagent = 'cleanup'\nresponse_type = 'choice'";
        let config = read(text).unwrap();
        assert_eq!(config.reasons, ["Out of budget", "Ask legal first"]);
        let is_named = |agent, response_type| config.together.iter().any(|kind| kind.names(agent, response_type));
        assert!(is_named("Cleanup", ResponseType::Confirm) && is_named("cleanup", ResponseType::Choice));
        assert!(!is_named("cleanup", ResponseType::Form) && !is_named("deployer", ResponseType::Confirm));
    }

    #[test]
    fn reasons_have_bounds() {
        let reasons = |count: usize| (0..count).map(|number| format!("'Reason {number}'")).collect::<Vec<_>>().join(",");
        assert!(read(&format!("reasons = [{}]", reasons(REASONS_MAX))).is_ok());
        assert!(read(&format!("reasons = [{}]", reasons(REASONS_MAX + 1))).is_err());
        assert!(read(&format!("reasons = ['{}']", "ü".repeat(REASON_CHARS_MAX))).is_ok());
        for (text, words) in [
            (format!("reasons = ['{}']", "ü".repeat(REASON_CHARS_MAX + 1)), "inbox.reasons[0]"),
            ("reasons = ['a', ' ']".to_owned(), "inbox.reasons[1]"),
            ("reasons = [\"a\\nb\"]".to_owned(), "inbox.reasons[0]"),
            ("reasons = [\"a\\u202eb\"]".to_owned(), "inbox.reasons[0]"),
            ("reasons = ['No time', 'no Time']".to_owned(), "inbox.reasons[1]: stands there twice"),
        ] {
            let refused = read(&text).unwrap_err().to_string();
            assert!(refused.contains(words), "{text}: {refused}");
        }
    }

    #[test]
    fn a_kind_that_cannot_be_answered_together_is_refused() {
        let kind =
            |agent: &str, response_type: &str| format!("[[together]]\nagent = '{agent}'\nresponse_type = '{response_type}'\n");
        for (text, words) in [
            (kind(" ", "confirm"), "inbox.together[0].agent"),
            (kind("a", "text"), "inbox.together[0].response_type"),
            (kind("a", "form"), "inbox.together[0].response_type"),
            (kind("a", "maybe"), "unknown variant"),
            (kind("a", "choice") + &kind("A", "choice"), "inbox.together[1]: \"A\" is named twice"),
            ("[[together]]\nagent = 'a'".to_owned(), "missing field"),
        ] {
            let refused = format!("{:#}", read(&text).unwrap_err());
            assert!(refused.contains(words), "{text}: {refused}");
        }
    }
}
