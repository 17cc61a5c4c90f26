//! The issuer, with what it says about itself.

use std::sync::Arc;

use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, TimeDelta, Utc};
use domain::base::clock::Clock;
use domain::base::text::visible_line;
use hmac::{Hmac, KeyInit, Mac};
use openidconnect::core::{
    CoreAuthDisplay, CoreAuthPrompt, CoreClaimName, CoreClaimType, CoreClientAuthMethod, CoreErrorResponseType, CoreGenderClaim,
    CoreGrantType, CoreJsonWebKey, CoreJsonWebKeySet, CoreJweContentEncryptionAlgorithm, CoreJweKeyManagementAlgorithm,
    CoreJwsSigningAlgorithm, CoreResponseMode, CoreResponseType, CoreRevocableToken, CoreRevocationErrorResponse,
    CoreSubjectIdentifierType, CoreTokenIntrospectionResponse, CoreTokenType,
};
use openidconnect::{
    AdditionalProviderMetadata, AuthType, AuthenticationFlow, AuthorizationCode, ClientId, ClientSecret, CsrfToken,
    DiscoveryError, EmptyExtraTokenFields, EndpointMaybeSet, EndpointNotSet, EndpointSet, IdTokenFields, IssuerUrl, Nonce,
    PkceCodeChallenge, PkceCodeVerifier, ProviderMetadata, RedirectUrl, RequestTokenError, Scope, StandardErrorResponse,
    StandardTokenResponse, TokenResponse as _, TokenUrl,
};
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use store::{OpenIdState, Proved};
use tokio::sync::Mutex;
use url::Url;

use super::http::{Http, HttpError};
use super::token::{Disbelief, IdToken, Judge, OtherClaims};
use crate::config::OpenIdConfig;
use crate::edge::address::host_with_port;

/// The purpose of the server's own secret from which nonces and verifiers are made.
pub(crate) const OPENID_SECRET: &str = "openid-login";
/// The page to which the issuer sends browsers back.
const REDIRECT: &str = "/login/openid";
/// How long the server believes what the issuer said about itself, and about its keys.
const FRESH: TimeDelta = TimeDelta::hours(1);
/// The least time between two requests for the same, whatever they brought. Otherwise people who press a button, or tokens with made-up
/// keys, could make the server press the issuer.
const COOLDOWN: TimeDelta = TimeDelta::seconds(30);

/// The facts that an issuer can tell about itself and that the library does not know.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct MoreMetadata {
    /// RFC 9207, whether each browser that is sent back names the issuer.
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

impl AdditionalProviderMetadata for MoreMetadata {}

type Metadata = ProviderMetadata<
    MoreMetadata,
    CoreAuthDisplay,
    CoreClientAuthMethod,
    CoreClaimName,
    CoreClaimType,
    CoreGrantType,
    CoreJweContentEncryptionAlgorithm,
    CoreJweKeyManagementAlgorithm,
    CoreJsonWebKey,
    CoreResponseMode,
    CoreResponseType,
    CoreSubjectIdentifierType,
>;
type TokenFields = IdTokenFields<
    OtherClaims,
    EmptyExtraTokenFields,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJwsSigningAlgorithm,
>;
type Client = openidconnect::Client<
    OtherClaims,
    CoreAuthDisplay,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJsonWebKey,
    CoreAuthPrompt,
    StandardErrorResponse<CoreErrorResponseType>,
    StandardTokenResponse<TokenFields, CoreTokenType>,
    CoreTokenIntrospectionResponse,
    CoreRevocableToken,
    CoreRevocationErrorResponse,
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

/// Why the issuer logs a person not in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The issuer cannot be reached, or is not the one that is configured.
    Away(String),
    /// The answer that the browser brought, or the token behind it, is not believed.
    Untrue(String),
}

impl Refused {
    fn away<E: std::error::Error + 'static>(error: &DiscoveryError<E>) -> Self {
        #[expect(clippy::wildcard_enum_match_arm, reason = "the library may add kinds, and the text of each tells enough")]
        let why = match error {
            DiscoveryError::Request(why) => why.to_string(),
            DiscoveryError::Parse(why) => format!("its answer is not understood at {}", why.path()),
            // The text of the response is left out.
            DiscoveryError::Response(_, _, why) => format!("it answers with {why}"),
            other => other.to_string(),
        };
        Self::Away(visible_line(&why))
    }
}

/// The issuer's words about itself.
#[derive(Default)]
struct Known {
    metadata: Option<(Metadata, DateTime<Utc>)>,
    /// When it was asked in vain.
    failed_at: Option<DateTime<Utc>>,
    /// When the keys were asked for without the rest.
    keys_asked_at: Option<DateTime<Utc>>,
}

/// The issuer of identities by which people log in.
pub(crate) struct Provider {
    config: OpenIdConfig,
    issuer: IssuerUrl,
    redirect: RedirectUrl,
    http: Http,
    clock: Arc<dyn Clock>,
    secret: [u8; 32],
    known: Mutex<Known>,
}

fn is_within(span: TimeDelta, since: Option<DateTime<Utc>>, now: DateTime<Utc>) -> bool {
    // A clock that was set back must not stop the requests for long.
    since.is_some_and(|since| now.signed_duration_since(since).abs() < span)
}

impl Provider {
    /// The issuer of this configuration, for the server at this address. Nothing is asked of it yet.
    ///
    /// # Errors
    ///
    /// An address that cannot be used.
    pub(crate) fn new(config: OpenIdConfig, public_url: &Url, clock: Arc<dyn Clock>, secret: [u8; 32]) -> anyhow::Result<Self> {
        let issuer = IssuerUrl::new(config.issuer.clone()).context("failed to use the issuer of login.openid")?;
        let redirect = RedirectUrl::from_url(public_url.join(REDIRECT)?);
        let http = Http::new(issuer.url()).context("failed to use the issuer of login.openid")?;
        Ok(Self { config, issuer, redirect, http, clock, secret, known: Mutex::default() })
    }

    /// The host of the issuer, for the button.
    pub(crate) fn host(&self) -> String {
        host_with_port(self.issuer.url())
    }

    /// The address to which the issuer sends browsers back.
    pub(crate) fn redirect(&self) -> &str {
        self.redirect.as_str()
    }

    /// The groups that follow the issuer.
    pub(crate) fn groups(&self) -> Vec<&str> {
        self.config.groups.as_ref().map(|groups| groups.names()).unwrap_or_default()
    }

    /// The origins to which the login's form leads, for the content security policy.
    pub(crate) async fn origins(&self) -> Vec<String> {
        let mut origins = vec![self.issuer.url().origin().ascii_serialization()];
        if let Ok(metadata) = self.metadata().await {
            let other = metadata.authorization_endpoint().url().origin().ascii_serialization();
            if !origins.contains(&other) {
                origins.push(other);
            }
        }
        origins
    }

    /// Asks the issuer about itself, unless it has just been asked.
    ///
    /// # Errors
    ///
    /// The issuer cannot be reached, or names another issuer or addresses that are not encrypted.
    pub(crate) async fn check(&self) -> Result<(), Refused> {
        self.metadata().await.map(|_| ())
    }

    async fn metadata(&self) -> Result<Metadata, Refused> {
        // Others wait for the answer as well, instead of asking the same.
        let mut known = self.known.lock().await;
        let now = self.clock.now();
        if let Some((metadata, at)) = &known.metadata
            && is_within(FRESH, Some(*at), now)
        {
            return Ok(metadata.clone());
        }
        if is_within(COOLDOWN, known.failed_at, now) {
            return Err(Refused::Away("it could not be used a moment ago".to_owned()));
        }
        let discovered = self.discover().await;
        known.failed_at = discovered.is_err().then_some(now);
        known.metadata = discovered.as_ref().ok().map(|metadata| (metadata.clone(), now));
        discovered
    }

    async fn discover(&self) -> Result<Metadata, Refused> {
        let metadata = Metadata::discover_async(self.issuer.clone(), &self.http).await.map_err(|error| Refused::away(&error))?;
        let endpoints = [Some(metadata.authorization_endpoint().url()), metadata.token_endpoint().map(TokenUrl::url)];
        let may_reach_all = endpoints.into_iter().flatten().all(|url| self.http.may_reach(url));
        if may_reach_all { Ok(metadata) } else { Err(Refused::Away(HttpError::Unencrypted.to_string())) }
    }

    /// The keys of the issuer as they are now. `None` if it was asked for them a moment ago.
    async fn new_keys(&self) -> Option<CoreJsonWebKeySet> {
        let mut known = self.known.lock().await;
        let now = self.clock.now();
        if is_within(COOLDOWN, known.keys_asked_at, now) {
            // Another login has just brought them.
            return known.metadata.as_ref().map(|(metadata, _)| metadata.jwks().clone());
        }
        let (metadata, at) = known.metadata.clone()?;
        let keys = CoreJsonWebKeySet::fetch_async(metadata.jwks_uri(), &self.http).await;
        known.keys_asked_at = Some(now);
        let keys = keys.ok()?;
        known.metadata = Some((metadata.set_jwks(keys.clone()), at));
        Some(keys)
    }

    fn client(&self, metadata: Metadata) -> Client {
        let methods = metadata.token_endpoint_auth_methods_supported();
        // Without a list, the issuer takes the secret in the header.
        let takes_basic = methods.is_none_or(|methods| methods.contains(&CoreClientAuthMethod::ClientSecretBasic));
        let (id, secret) = (self.config.client_id.clone(), self.config.client_secret.expose_secret().to_owned());
        Client::from_provider_metadata(metadata, ClientId::new(id), Some(ClientSecret::new(secret)))
            .set_redirect_uri(self.redirect.clone())
            .set_auth_type(if takes_basic { AuthType::BasicAuth } else { AuthType::RequestBody })
    }

    /// A text that only this server can make, for one purpose, one login and one browser.
    fn derived(&self, purpose: &[u8], state: &OpenIdState, cookie: &str) -> String {
        // Unwrap safety: HMAC takes a key of any length.
        let mac = Hmac::<Sha256>::new_from_slice(&self.secret).unwrap_or_else(|_| unreachable!("HMAC takes any key"));
        let mac = mac.chain_update(purpose).chain_update([0]).chain_update(state.hash()).chain_update(cookie);
        URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes())
    }

    fn nonce(&self, state: &OpenIdState, cookie: &str) -> Nonce {
        Nonce::new(self.derived(b"placet.openid.nonce.v1", state, cookie))
    }

    fn verifier(&self, state: &OpenIdState, cookie: &str) -> PkceCodeVerifier {
        PkceCodeVerifier::new(self.derived(b"placet.openid.verifier.v1", state, cookie))
    }

    /// The address at the issuer to which the browser with this cookie is sent. If the login is to be `fresh`, the issuer asks the person to
    /// prove again who they are, and says when that was.
    pub(crate) async fn begin(&self, state: &OpenIdState, cookie: &str, fresh: bool) -> Result<Url, Refused> {
        let client = self.client(self.metadata().await?);
        let (text, nonce) = (state.expose(), self.nonce(state, cookie));
        let flow = AuthenticationFlow::<CoreResponseType>::AuthorizationCode;
        let request = client.authorize_url(flow, move || CsrfToken::new(text), move || nonce);
        let request = request.add_scopes(self.config.scopes.iter().cloned().map(Scope::new));
        let challenge = PkceCodeChallenge::from_code_verifier_sha256(&self.verifier(state, cookie));
        let request = request.set_pkce_challenge(challenge);
        // With `max_age` an issuer must send `auth_time`, and not all of them ask again without `prompt` (OpenID Connect Core §3.1.2.1).
        let request = if fresh {
            request.add_prompt(CoreAuthPrompt::Login).set_max_age(self.config.recent_login.to_std().unwrap_or_default())
        } else {
            request
        };
        Ok(request.url().0)
    }

    /// Whether the answer that a browser brought is from this issuer (RFC 9207). `named` is the issuer that it names.
    ///
    /// # Errors
    ///
    /// It is from another one, or does not say.
    pub(crate) async fn is_of_issuer(&self, named: Option<&str>) -> Result<(), Refused> {
        let always_names = self.metadata().await?.additional_metadata().authorization_response_iss_parameter_supported;
        match named {
            Some(named) if named == self.issuer.as_str() => Ok(()),
            Some(_) => Err(Refused::Untrue("the answer is of another issuer (iss)".to_owned())),
            None if always_names => Err(Refused::Untrue("the answer names no issuer (iss)".to_owned())),
            None => Ok(()),
        }
    }

    /// Exchanges the code that a browser brought for what the issuer knows about the person.
    pub(crate) async fn redeem(&self, code: String, state: &OpenIdState, cookie: &str) -> Result<Proved, Refused> {
        let metadata = self.metadata().await?;
        let keys = metadata.jwks().clone();
        let client = self.client(metadata);
        let untrue = |why: &str| Refused::Untrue(visible_line(why));
        let request = client.exchange_code(AuthorizationCode::new(code)).map_err(|error| untrue(&error.to_string()))?;
        let answer = request.set_pkce_verifier(self.verifier(state, cookie)).request_async(&self.http).await;
        let answer = answer.map_err(|error| match error {
            RequestTokenError::Request(why) => Refused::Away(visible_line(&why.to_string())),
            RequestTokenError::ServerResponse(why) => untrue(&format!("the issuer refuses the code: {}", why.error().as_ref())),
            RequestTokenError::Parse(why, _) => untrue(&format!("the issuer's answer is not understood at {}", why.path())),
            RequestTokenError::Other(_) => untrue("the issuer's answer is not understood"),
        })?;
        let token = answer.id_token().ok_or_else(|| untrue("the issuer sends no identity token"))?;
        self.believe(token, keys, &self.nonce(state, cookie)).await
    }

    async fn believe(&self, token: &IdToken, keys: CoreJsonWebKeySet, nonce: &Nonce) -> Result<Proved, Refused> {
        let judge = |keys| Judge { config: &self.config, issuer: &self.issuer, keys, now: self.clock.now() };
        let untrue = |why: &str| Refused::Untrue(format!("the identity token is not believed: {why}"));
        match judge(keys).believe(token, nonce) {
            Ok(proved) => return Ok(proved),
            Err(Disbelief::Other(why)) => return Err(untrue(&why)),
            Err(Disbelief::UnknownKey) => {}
        }
        let keys = self.new_keys().await.ok_or_else(|| untrue("its key is unknown"))?;
        judge(keys).believe(token, nonce).map_err(|disbelief| match disbelief {
            Disbelief::Other(why) => untrue(&why),
            Disbelief::UnknownKey => untrue("its key is unknown"),
        })
    }
}
