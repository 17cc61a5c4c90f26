//! Login links and sessions of people. Each holds a secret that the database keeps only as a hash.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, TimeDelta, Utc};
use domain::base::ids::{IntentId, PersonId, SessionId, SuspensionId};
use domain::base::quotation::LINK_PREFIX;
use domain::people::preferences::Preferences;
use domain::people::principal::{Principal, Role};
use domain::wire::OutOfOffice;
use secrecy::zeroize::Zeroize;
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// How long a login link can be used.
pub const LOGIN_LASTS: TimeDelta = TimeDelta::minutes(15);
/// How many login links of one address can be used at a time. So if a further one is refused, the mailbox holds one that can be used, and
/// other people's requests cannot keep a person out.
pub const LOGINS_MAX: u32 = 5;
/// How many mails with login links are sent to one address in an hour, whether the links were used or not. Requests of other people alone
/// lead to four times [`LOGINS_MAX`], because a link lasts a quarter of an hour; the rest is left for a person who uses the links.
pub const LOGIN_MAILS_PER_HOUR: u32 = 30;
/// The time to which [`LOGIN_MAILS_PER_HOUR`] applies.
pub const LOGIN_MAILS_WITHIN: TimeDelta = TimeDelta::hours(1);
/// How long a session lasts in which nothing is asked for.
pub const SESSION_IDLE: TimeDelta = TimeDelta::minutes(30);
/// How long a session lasts at most.
pub const SESSION_LASTS: TimeDelta = TimeDelta::hours(12);

/// Makes the type of a secret of 32 random bytes. Its `Debug` shows nothing.
macro_rules! secret {
    ($(#[$doc:meta])* $name:ident, $domain:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq)]
        pub struct $name([u8; 32]);

        impl $name {
            /// A secret of these random bytes.
            pub fn new(random: [u8; 32]) -> Self {
                Self(random)
            }

            /// Reads the text of a link or a cookie; `None` for text that no server of ours wrote.
            pub fn parse(text: &str) -> Option<Self> {
                let bytes = URL_SAFE_NO_PAD.decode(text.strip_prefix(LINK_PREFIX)?).ok()?;
                Some(Self(bytes.try_into().ok()?))
            }

            /// Writes the text, for the link or the cookie only.
            pub fn expose(&self) -> String {
                format!("{LINK_PREFIX}{}", URL_SAFE_NO_PAD.encode(self.0))
            }

            /// The hash by which the secret is found.
            pub fn hash(&self) -> [u8; 32] {
                Sha256::new().chain_update($domain).chain_update(self.0).finalize().into()
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                self.0.zeroize();
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(concat!(stringify!($name), "(…)"))
            }
        }
    };
}

secret!(
    /// The last path segment of a login link.
    LoginToken,
    b"placet.login.v1"
);
secret!(
    /// The state that goes with a browser to the issuer of identities and back.
    OpenIdState,
    b"placet.openid.state.v1"
);
secret!(
    /// The value of a session's cookie.
    SessionToken,
    b"placet.session.v1"
);

/// A person to be added.
#[derive(Clone, Debug)]
pub struct NewPerson {
    pub id: PersonId,
    pub address: String,
    pub role: Role,
    pub preferences: Preferences,
}

/// How a caller names a person who is listed.
#[derive(Clone, Debug)]
pub enum Named {
    Id(PersonId),
    /// By the address, in small letters.
    Address(String),
}

/// For which time a person is out of office, as that person sees it.
#[derive(Clone, Debug)]
pub struct OwnAbsence {
    pub away: OutOfOffice,
    /// Whether the deputy has become an auditor, and so answers no questions.
    pub is_auditor: bool,
}

/// A login link to be sent, leased to one worker.
#[derive(Clone, Debug)]
pub struct LeasedLogin {
    pub id: Uuid,
    pub lease: [u8; 16],
    pub address: String,
    /// The time zone and the locale of the person.
    pub preferences: Preferences,
    /// The token, which exists only here and in the mail.
    pub token: LoginToken,
    pub tries: u32,
    pub asked_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
}

/// A session that began, and where the person goes on.
#[derive(Clone, Debug)]
pub struct Entered {
    pub session: SessionToken,
    /// The question from which the person came.
    pub question: Option<SuspensionId>,
}

/// The result of leasing login links.
#[derive(Clone, Debug, Default)]
pub struct LeasedLogins {
    pub logins: Vec<LeasedLogin>,
    /// When the next mail is due.
    pub next_due: Option<DateTime<Utc>>,
}

/// A mail that tells an admin of a question on which too few people are left to agree, leased to one worker.
#[derive(Clone, Debug)]
pub struct LeasedAlert {
    /// The row of the question.
    pub rid: i64,
    /// The admin.
    pub person: PersonId,
    pub address: String,
    pub lease: [u8; 16],
    pub tries: u32,
    pub question: SuspensionId,
    /// The intent of the question, which logs name: the id of a question is a capability.
    pub intent: IntentId,
    /// The name of the agent that asked.
    pub agent: String,
    /// Whether people who have a place in the question may not answer, because they own the key that asked.
    pub keeps_owner_out: bool,
    /// The time zone and the locale of the admin, as far as they are known.
    pub preferences: Preferences,
    pub leased_at: DateTime<Utc>,
}

/// The result of sending a login link, or an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginResult {
    Sent,
    /// The mail may be taken later.
    Retry,
    /// The mail will never be taken.
    Failed,
}

/// A session as its cookie opens it.
#[derive(Clone, Debug)]
pub struct OpenSession {
    pub id: SessionId,
    pub principal: Principal,
    /// The time zone and the locale of the person.
    pub preferences: Preferences,
    /// Until when its login counts as recent; absent if it never does.
    pub recent_until: Option<DateTime<Utc>>,
    /// Whether so much time has passed since the last note of its use that the use should be noted again.
    pub is_stale: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_secret_is_read_back_and_shown_nowhere_else() {
        let token = LoginToken::new([7; 32]);
        assert_eq!(LoginToken::parse(&token.expose()), Some(token.clone()));
        assert_eq!(format!("{token:?}"), "LoginToken(…)");
        for wrong in ["", "plc_", "plc_AAAA", &token.expose()[4..], &format!("{}A", token.expose())] {
            assert_eq!(LoginToken::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_login_link_is_no_session() {
        assert_ne!(LoginToken::new([7; 32]).hash(), SessionToken::new([7; 32]).hash());
    }
}
