//! The issuer of identities (OpenID Connect) by which people log in: what the server asks of it, and what it believes.
//!
//! Guarantee: an identity counts only if the configured issuer signed it, for this server, for this login of this browser, and not long
//! ago; and whatever the issuer does, a login costs a few requests of bounded size and time. Mechanism: the authorization code flow with
//! PKCE, a nonce and a state, all three made from one secret of the server and the browser's cookie; `openidconnect` checks the token.
//! Failure: a login that cannot be trusted begins no session, and the log says why.

mod http;
mod provider;
mod token;

pub(crate) use self::provider::{OPENID_SECRET, Provider, Refused};
