//! The identity token: which signatures count, and which of its claims.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, TimeDelta, Utc};
use domain::base::text::visible_line;
use domain::people::identity::Identity;
use domain::people::person::read_address;
use openidconnect::core::{
    CoreGenderClaim, CoreJsonWebKey, CoreJsonWebKeySet, CoreJweContentEncryptionAlgorithm, CoreJwsSigningAlgorithm,
};
use openidconnect::{
    AdditionalClaims, ClaimsVerificationError, ClientId, IdTokenClaims, IdTokenVerifier, IssuerUrl, Nonce,
    SignatureVerificationError,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::Proved;

use crate::config::{GroupsConfig, OpenIdConfig};

/// The algorithms with which a token may be signed. Those with a shared secret are not among them, and neither is `none`.
const ALGORITHMS: [CoreJwsSigningAlgorithm; 4] = [
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
    CoreJwsSigningAlgorithm::RsaSsaPssSha256,
    CoreJwsSigningAlgorithm::EcdsaP256Sha256,
    CoreJwsSigningAlgorithm::EdDsa,
];
/// How far the issuer's clock may be ahead of ours.
const AHEAD_MAX: TimeDelta = TimeDelta::minutes(5);

/// The claims that are not standard.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct OtherClaims {
    #[serde(flatten)]
    all: BTreeMap<String, Value>,
}

impl AdditionalClaims for OtherClaims {}

pub(super) type Claims = IdTokenClaims<OtherClaims, CoreGenderClaim>;
pub(super) type IdToken =
    openidconnect::IdToken<OtherClaims, CoreGenderClaim, CoreJweContentEncryptionAlgorithm, CoreJwsSigningAlgorithm>;

/// Why a token is not believed.
#[derive(Debug)]
pub(super) enum Disbelief {
    /// None of the keys that are known is the one that the token names. The issuer may have a new one.
    UnknownKey,
    /// For another reason.
    Other(String),
}

/// Everything by which a token is judged.
pub(super) struct Judge<'a> {
    pub(super) config: &'a OpenIdConfig,
    pub(super) issuer: &'a IssuerUrl,
    pub(super) keys: CoreJsonWebKeySet,
    pub(super) now: DateTime<Utc>,
}

impl Judge<'_> {
    /// Believes a token, or says why not.
    pub(super) fn believe(&self, token: &IdToken, nonce: &Nonce) -> Result<Proved, Disbelief> {
        const UNKNOWN_KEY: ClaimsVerificationError =
            ClaimsVerificationError::SignatureVerification(SignatureVerificationError::NoMatchingKey);
        let claims = token
            .claims(&self.verifier(), nonce)
            .map_err(|error| if error == UNKNOWN_KEY { Disbelief::UnknownKey } else { Disbelief::Other(why(&error)) })?;
        self.proved(claims).map_err(|why| Disbelief::Other(why.to_owned()))
    }

    fn verifier(&self) -> IdTokenVerifier<'static, CoreJsonWebKey> {
        let now = self.now;
        // A verifier without the secret never takes a signature that is made with it.
        let client = ClientId::new(self.config.client_id.clone());
        IdTokenVerifier::new_public_client(client, self.issuer.clone(), self.keys.clone())
            .set_allowed_algs(ALGORITHMS)
            .set_time_fn(move || now)
            .set_issue_time_verifier_fn(
                move |at| {
                    if at > now + AHEAD_MAX { Err("it is of the future".to_owned()) } else { Ok(()) }
                },
            )
    }

    /// The part of the claims that counts.
    fn proved(&self, claims: &Claims) -> Result<Proved, &'static str> {
        // The library leaves this check to its callers.
        if claims.authorized_party().is_some_and(|party| party.as_str() != self.config.client_id) {
            return Err("it is for another client (azp)");
        }
        let identity = Identity::read(self.issuer.as_str(), claims.subject().as_str());
        let identity = identity.ok_or("its subject is empty, too long or not of printable ASCII")?;
        let auth_time = claims.auth_time();
        if auth_time.is_some_and(|at| at > self.now + AHEAD_MAX) {
            return Err("its auth_time is of the future");
        }
        let groups = self.config.groups.as_ref().map(|groups| memberships(groups, claims)).unwrap_or_default();
        Ok(Proved { identity, address: self.address(claims), auth_time, recent: self.config.recent_login, groups })
    }

    /// The address, if it is verified and of a domain for which the issuer speaks.
    fn address(&self, claims: &Claims) -> Option<String> {
        let is_verified = claims.email_verified() == Some(true);
        let address = claims.email().filter(|_| is_verified)?;
        read_address(address.as_str()).ok().filter(|address| self.config.domains.allows(address))
    }
}

/// For each group that follows the issuer, whether the claim names it. A claim that is absent names none.
fn memberships(groups: &GroupsConfig, claims: &Claims) -> Vec<(String, bool)> {
    let claim = claims.additional_claims().all.get(&groups.claim);
    if claim.is_none() {
        tracing::warn!(claim = groups.claim, "the issuer's token has no groups_claim, so the person is in none of its groups");
    }
    let values: Vec<&str> = match claim {
        Some(Value::Array(values)) => values.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(value)) => vec![value],
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => Vec::new(),
    };
    let named: BTreeSet<&str> = values.into_iter().filter_map(|value| groups.by_value.get(value)).map(String::as_str).collect();
    groups.names().into_iter().map(|group| (group.to_owned(), named.contains(group))).collect()
}

/// Why a token is not believed, as one line for the log. The text can hold claims of the token.
fn why(error: &ClaimsVerificationError) -> String {
    let text = if let ClaimsVerificationError::SignatureVerification(why) = error { why.to_string() } else { error.to_string() };
    visible_line(&text.chars().take(300).collect::<String>())
}
