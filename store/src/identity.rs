//! Logins at an issuer of identities (OpenID Connect), on their way from and to the pages.

use chrono::{DateTime, TimeDelta, Utc};
use domain::base::ids::SuspensionId;
use domain::people::identity::Identity;

use crate::person::SessionToken;

/// A login that a browser had begun at the issuer, and that is used up now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakenLogin {
    /// The question from which the person came; absent if the person came from no question.
    pub question: Option<SuspensionId>,
}

/// How long a login at the issuer may take.
pub const OPENID_LOGIN_LASTS: TimeDelta = TimeDelta::minutes(10);

/// Everything that the issuer has proved about the person in the browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proved {
    pub identity: Identity,
    /// The e-mail address, in small letters; absent unless it is verified and of a domain for which the issuer speaks.
    pub address: Option<String>,
    /// When the person last proved to the issuer who they are, if it says so.
    pub auth_time: Option<DateTime<Utc>>,
    /// For how long a login counts as recent here.
    pub recent: TimeDelta,
    /// For each group that follows the issuer, whether the person is a member.
    pub groups: Vec<(String, bool)>,
}

/// The result of a login at the issuer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A session began.
    Begun {
        session: SessionToken,
        /// The groups that do not follow the issuer although they should.
        strays: Vec<Stray>,
    },
    /// The account is no person's yet, and has no address by which to find one.
    NoAddress,
    /// The address is not that of a listed person.
    NotListed,
    /// The person with this address logs in by another account.
    OtherAccount,
}

/// A group that does not follow the issuer although it should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stray {
    /// There is no group of this name.
    Missing(String),
    /// The group has as many members as a group can have.
    Full(String),
    /// The configuration file decides who is in it.
    Managed(String),
}
