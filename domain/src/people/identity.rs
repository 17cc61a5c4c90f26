//! Accounts of people at another server, which proves who they are (OpenID Connect).

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

/// The longest address of an issuer, in bytes.
pub const ISSUER_MAX: usize = 255;
/// The longest name of an account at an issuer, in bytes (OpenID Connect Core §2).
pub const SUBJECT_MAX: usize = 255;

/// The account of a person at an issuer. Both texts together name it for ever, while its e-mail address may change hands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The address of the issuer.
    pub issuer: String,
    /// The name of the account at the issuer.
    pub subject: String,
}

impl Identity {
    /// Reads an identity; `None` if one of the texts is empty, too long or not of printable ASCII, which no issuer may send.
    pub fn read(issuer: &str, subject: &str) -> Option<Self> {
        let is_text =
            |text: &str, max| (1..=max).contains(&text.len()) && text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
        let is_fine = is_text(issuer, ISSUER_MAX) && is_text(subject, SUBJECT_MAX);
        is_fine.then(|| Self { issuer: issuer.to_owned(), subject: subject.to_owned() })
    }
}

/// How a person logged in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LoginMethod {
    /// By a link in a mail.
    #[serde(rename = "mail")]
    Mail,
    /// By an issuer of identities.
    #[serde(rename = "openid")]
    OpenId,
}

/// How long a login at the issuer counts as recent at most, and at least, whatever the operator wants.
pub const RECENT_LOGIN_SECONDS: std::ops::RangeInclusive<u32> = 30..=3_600;

/// How a session began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beginning {
    /// How the person logged in.
    pub method: LoginMethod,
    /// When the person last proved to the issuer who they are, as the issuer says; absent if it does not say, and for a link in a mail.
    pub auth_time: Option<DateTime<Utc>>,
    /// Until when it counts as a recent login; absent if the issuer does not say when it was.
    pub recent_until: Option<DateTime<Utc>>,
}

impl Beginning {
    /// A session that began with a link in a mail.
    pub const MAIL: Self = Self { method: LoginMethod::Mail, auth_time: None, recent_until: None };

    /// A session that begins now, after a login at the issuer that counts as recent for so long.
    pub fn openid(auth_time: Option<DateTime<Utc>>, recent: TimeDelta, now: DateTime<Utc>) -> Self {
        // The issuer's clock may be ahead, and must not make the login count for longer.
        Self { method: LoginMethod::OpenId, auth_time, recent_until: auth_time.map(|at| at.min(now) + recent) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_two_short_texts_of_printable_ascii() {
        let issuer = "https://login.example.com/tenant";
        let longest = "s".repeat(SUBJECT_MAX);
        for subject in ["248289761001", "auth0|5f7c", "a b", &longest] {
            assert_eq!(Identity::read(issuer, subject).map(|read| read.subject).as_deref(), Some(subject));
        }
        for wrong in ["", "a\0", "a\n", "ü", &format!("{longest}s")] {
            assert_eq!(Identity::read(issuer, wrong), None, "{wrong}");
        }
        assert_eq!(Identity::read(&"i".repeat(ISSUER_MAX + 1), "a"), None);
        assert_eq!(Identity::read("", "a"), None);
    }

    #[test]
    fn a_login_is_recent_from_its_time_and_not_longer_because_of_a_clock_that_is_ahead() {
        let (now, recent) = (DateTime::UNIX_EPOCH + TimeDelta::hours(1), TimeDelta::minutes(5));
        let until = |auth_time| Beginning::openid(auth_time, recent, now).recent_until;
        assert_eq!(until(Some(now - TimeDelta::minutes(2))), Some(now + TimeDelta::minutes(3)));
        assert_eq!(until(Some(now + TimeDelta::minutes(2))), Some(now + recent));
        assert_eq!((until(None), Beginning::MAIL.recent_until), (None, None));
    }

    #[test]
    fn the_names_of_the_methods_are_those_of_the_log() {
        let written = [LoginMethod::Mail, LoginMethod::OpenId].map(|method| serde_json::to_value(method).unwrap());
        assert_eq!(written, ["mail", "openid"]);
    }
}
