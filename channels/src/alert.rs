use chrono::{DateTime, Utc};
use domain::base::text::{truncated, visible_line};
use domain::base::words::Language;

use crate::columns::wrapped;
use crate::rendered::{HOST_CHARS_MAX, is_usable};

/// How many characters of an agent's name the mail repeats.
const AGENT_CHARS_MAX: usize = 100;

/// A mail that tells an admin of a question that too few people are left to answer. It holds nothing of the question's content.
#[derive(Clone, Debug)]
pub struct AlertMail {
    /// `local@domain` without angle brackets.
    pub message_id: String,
    /// The address of the admin.
    pub recipient: String,
    /// The language of the mail.
    pub language: Language,
    /// The address of the question's page, which asks for a login.
    pub link: String,
    /// When the mail is sent; its `Date`.
    pub sent_at: DateTime<Utc>,
    /// The name of the agent that asked.
    pub agent: String,
    /// Whether people who have a place in the question may not answer, because they own the key that asked.
    pub keeps_owner_out: bool,
    /// The id of the question.
    pub question: String,
    /// The public host, as the reader sees it in the browser.
    pub public_host: String,
}

impl AlertMail {
    /// The words of the mail; `None` if the link would need escaping.
    pub(crate) fn text(&self) -> Option<String> {
        if !is_usable(&self.link) {
            return None;
        }
        let host = truncated(visible_line(&self.public_host).trim(), HOST_CHARS_MAX);
        let agent = truncated(visible_line(&self.agent).trim(), AGENT_CHARS_MAX);
        let words = |words: &str| wrapped(words, "", "").join("\n");
        let paragraphs = [
            words(&self.language.too_few_are_left(&host, &agent, &self.question, self.keeps_owner_out)),
            self.link.clone(),
            words(self.language.alert_remedy()),
            words(self.language.replies_are_not_read()),
        ];
        Some(paragraphs.join("\n\n") + "\n")
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone as _;

    use super::*;

    #[test]
    fn an_alert_names_the_agent_and_the_question_on_lines_of_their_own_width() {
        let mail = AlertMail {
            message_id: "1@placet.example".to_owned(),
            recipient: "root@example.com".to_owned(),
            language: Language::English,
            link: "https://placet.example/questions/0199".to_owned(),
            sent_at: Utc.with_ymd_and_hms(2026, 11, 24, 8, 0, 0).unwrap(),
            agent: "refund-bot\r\nBcc: eve@example.com".to_owned(),
            keeps_owner_out: false,
            question: "0199".to_owned(),
            public_host: "placet.example".to_owned(),
        };
        let text = mail.text().unwrap();
        assert!(text.contains("\n\nhttps://placet.example/questions/0199\n\n") && text.contains("refund-bot"), "{text}");
        assert!(text.lines().all(|line| line.len() <= 78 && !line.starts_with("Bcc:")) && !text.contains('\r'), "{text}");
        let german = AlertMail { language: Language::German, ..mail.clone() }.text().unwrap();
        assert!(german.contains("Eine Frage bei placet.example") && german.contains("Antworten auf diese E-Mail"), "{german}");
        assert!(!german.contains("question at") && german.lines().all(|line| line.chars().count() <= 78), "{german}");
        // The reason is the true one: no person has left if the people who are kept out own the key that asked.
        let told = |language, keeps_owner_out| {
            AlertMail { language, keeps_owner_out, ..mail.clone() }.text().unwrap().replace('\n', " ")
        };
        for (language, left, owns) in [
            (Language::English, "some have left", "own the key that asked"),
            (Language::German, "Einige sind gegangen", "gehört der Schlüssel"),
        ] {
            let (without, with) = (told(language, false), told(language, true));
            assert!(without.contains(left) && !without.contains(owns), "{without}");
            assert!(with.contains(owns) && !with.contains(left), "{with}");
        }
        assert_eq!(AlertMail { link: "javascript:alert(1)".to_owned(), ..mail }.text(), None);
    }
}
