use std::fmt;

use askama::Template;
use async_trait::async_trait;
use chrono::{DateTime, Utc};
use domain::base::text::{truncated, visible_line};
use domain::base::words::Language;

use crate::columns::wrapped;
use crate::rendered::{HOST_CHARS_MAX, is_usable};
use crate::{AlertMail, DeliveryError, Receipt, RenderError, Rendered};

/// A mail with a login link.
#[derive(Clone)]
pub struct LoginMail {
    /// `local@domain` without angle brackets.
    pub message_id: String,
    /// The address of the person.
    pub recipient: String,
    /// The language of the mail.
    pub language: Language,
    /// The address of the login page; its holder can log in as the person, so it is never logged.
    pub link: String,
    /// When the mail is sent; its `Date`.
    pub sent_at: DateTime<Utc>,
    /// For how many minutes the link can be used.
    pub minutes: i64,
    /// The public host, as the reader sees it in the browser.
    pub public_host: String,
}

/// `Debug` leaves out the link, which is a capability.
impl fmt::Debug for LoginMail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoginMail")
            .field("message_id", &self.message_id)
            .field("recipient", &self.recipient)
            .finish_non_exhaustive()
    }
}

/// A way to send mails that are about no answer: login links, by mail alone, because a login proves that a person reads the mails to an
/// address; and alerts to admins.
#[async_trait]
pub trait Postbox: Send + Sync {
    /// Hands the mail over, and returns once the other side has taken responsibility for it; see [`Channel`](crate::Channel).
    async fn send_login(&self, mail: &LoginMail) -> Result<Receipt, DeliveryError>;

    /// Hands over a mail that alerts an admin, in the same way.
    async fn send_alert(&self, mail: &AlertMail) -> Result<Receipt, DeliveryError>;
}

#[derive(Template)]
#[template(path = "login.txt")]
struct LoginText<'a> {
    mail: &'a LoginMail,
    host: String,
}

#[derive(Template)]
#[template(path = "login.html")]
struct LoginHtml<'a> {
    mail: &'a LoginMail,
    host: String,
}

impl LoginText<'_> {
    fn opening_lines(&self) -> Vec<String> {
        wrapped(&self.mail.language.a_login_was_asked_for(&self.host), "", "")
    }
}

/// Renders `mail`. The link is the only address in each part.
pub(crate) fn render(mail: &LoginMail) -> Result<Rendered, RenderError> {
    if !is_usable(&mail.link) {
        return Err(RenderError::Link);
    }
    let host = truncated(visible_line(&mail.public_host).trim(), HOST_CHARS_MAX);
    let text = LoginText { mail, host: host.clone() }.render()?;
    let html = LoginHtml { mail, host }.render()?;
    Ok(Rendered { subject: mail.language.login_subject().to_owned(), text, html })
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone as _;

    use super::*;

    fn mail() -> LoginMail {
        LoginMail {
            message_id: "1@placet.example".to_owned(),
            recipient: "ada@example.com".to_owned(),
            language: Language::English,
            link: "https://placet.example/login/plc_AAAA".to_owned(),
            sent_at: Utc.with_ymd_and_hms(2026, 11, 24, 8, 0, 0).unwrap(),
            minutes: 15,
            public_host: "placet.example".to_owned(),
        }
    }

    #[test]
    fn both_parts_say_how_long_the_link_lasts_and_hold_it() {
        let rendered = render(&mail()).unwrap();
        for part in [&rendered.text, &rendered.html] {
            assert!(part.contains("https://placet.example/login/plc_AAAA") && part.contains("15 minutes"), "{part}");
            assert!(part.contains("placet.example"), "{part}");
        }
        assert!(rendered.text.lines().all(|line| line.len() <= 78), "{}", rendered.text);
        assert!(!format!("{:?}{rendered:?}", mail()).contains("plc_"));
    }

    #[test]
    fn a_person_who_reads_german_gets_the_login_in_german() {
        let rendered = render(&LoginMail { language: Language::German, ..mail() }).unwrap();
        assert_eq!(rendered.subject, Language::German.login_subject());
        assert!(rendered.html.contains("<html lang=\"de\">"));
        for part in [&rendered.text, &rendered.html] {
            assert!(part.contains("15 Minuten") && !part.contains("minutes"), "{part}");
        }
        assert!(rendered.text.lines().all(|line| line.chars().count() <= 78), "{}", rendered.text);
    }

    #[test]
    fn a_link_that_needs_escaping_is_refused() {
        assert!(render(&LoginMail { link: "javascript:alert(1)".to_owned(), ..mail() }).is_err());
    }
}
