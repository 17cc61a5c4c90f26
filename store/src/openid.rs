//! The part of the store for logins at an issuer of identities (OpenID Connect).

use domain::base::ids::SuspensionId;

use crate::backend::Backend;
use crate::error::Unit;
use crate::identity::{Entry, Proved, TakenLogin};
use crate::person::{OpenIdState, SessionToken};
use crate::units;

/// Logins at an issuer of identities.
pub trait OpenId {
    /// Notes that a browser begins a login at the issuer. `browser` is the hash of its cookie, and the person comes from the `question`.
    fn begin_openid_login(&self, state: OpenIdState, browser: [u8; 32], question: Option<SuspensionId>) -> Unit<'_, ()>;
    /// Uses up a login that this browser has begun, and gives the question from which the person came. `None` if there is no login, or if it
    /// has ended.
    fn take_openid_login(&self, state: OpenIdState, browser: [u8; 32]) -> Unit<'_, Option<TakenLogin>>;
    /// Begins a session for the person that the issuer has proved, in place of the one that the browser had.
    fn log_in_by_openid(&self, proved: Proved, before: Option<SessionToken>) -> Unit<'_, Entry>;
}

impl<B: Backend> OpenId for B {
    fn begin_openid_login(&self, state: OpenIdState, browser: [u8; 32], question: Option<SuspensionId>) -> Unit<'_, ()> {
        self.write("begin_openid_login", move |rows, env| units::openid::begin(rows, env, &state, browser, question))
    }

    fn take_openid_login(&self, state: OpenIdState, browser: [u8; 32]) -> Unit<'_, Option<TakenLogin>> {
        self.write("take_openid_login", move |rows, env| units::openid::take(rows, env, &state, &browser))
    }

    fn log_in_by_openid(&self, proved: Proved, before: Option<SessionToken>) -> Unit<'_, Entry> {
        self.write("log_in_by_openid", move |rows, env| units::openid::log_in(rows, env, &proved, before.as_ref()))
    }
}
