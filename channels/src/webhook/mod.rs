//! Tells an HTTP endpoint that a question was asked (Standard Webhooks 1.0).

mod address;
mod endpoint;
mod log_place;
mod payload;
mod resolver;
mod sender;
mod signature;
mod subscribers;

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ipnet::IpNet;
use reqwest::StatusCode;
use secrecy::SecretString;

use self::address::AddressFilter;
pub use self::address::Refusal;
pub use self::endpoint::TOTAL_TIMEOUT;
use self::endpoint::{Endpoint, is_this_machine, usable};
pub use self::log_place::{SignedHook, WitnessAnswer, WitnessEndpoint};
pub use self::payload::Template;
use self::payload::payload;
pub use self::resolver::Unresolved;
use self::resolver::{Lookup, SystemLookup};
pub use self::sender::{MESSAGE_ID_MAX, SIGNED_WITHIN_SECONDS, SignedMessage, SignedSender};
use self::signature::SigningKey;
pub use self::subscribers::{KnownBy, Notification, NotificationData, Subscribers};
use crate::compose::NO_PLAIN_ADDRESS;
use crate::{Channel, DeliveryError, Message, Receipt};

/// The settings of a webhook channel.
#[derive(Clone)]
pub struct WebhookSettings {
    /// The name of the channel.
    pub name: String,
    /// The URL that messages are sent to. Its path may be a secret, so it is never shown.
    pub url: SecretString,
    /// `whsec_` and base64 of 24 to 64 bytes.
    pub secret: SecretString,
    /// The previous secret, while receivers change over.
    pub previous_secret: Option<SecretString>,
    /// Subnets off the public internet in which the endpoint may be, and in which it may use any port.
    pub allow_subnets: Vec<IpNet>,
    /// Whether the endpoint passes answer links on to people.
    pub links: bool,
    /// The form of the body.
    pub template: Template,
    /// The limit of one try, usually [`TOTAL_TIMEOUT`].
    pub timeout: Duration,
}

impl WebhookSettings {
    /// An endpoint of the operator's own programs: without links, in Placet's own form, and with one secret.
    pub fn plain(name: String, url: SecretString, secret: SecretString, allow_subnets: Vec<IpNet>) -> Self {
        let (template, timeout) = (Template::Placet, TOTAL_TIMEOUT);
        Self { name, url, secret, previous_secret: None, allow_subnets, links: false, template, timeout }
    }

    /// Checks the settings as far as possible without a network; returns whether the endpoint is on this machine.
    ///
    /// # Errors
    ///
    /// The first setting that cannot be used.
    pub fn check(&self) -> Result<bool, WebhookSettingsError> {
        self.keys()?;
        let url = usable(&self.url, &AddressFilter { allowed: self.allow_subnets.clone(), own: Vec::new() })?;
        Ok(is_this_machine(&url))
    }

    fn keys(&self) -> Result<Vec<SigningKey>, WebhookSettingsError> {
        let key = |name, secret| SigningKey::parse(secret).ok_or(WebhookSettingsError::Secret(name));
        let mut keys = vec![key("secret", &self.secret)?];
        if let Some(previous) = &self.previous_secret {
            keys.push(key("previous_secret", previous)?);
        }
        Ok(keys)
    }
}

/// `Debug` leaves out everything that may be a secret.
impl fmt::Debug for WebhookSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookSettings")
            .field("name", &self.name)
            .field("allow_subnets", &self.allow_subnets)
            .field("links", &self.links)
            .field("template", &self.template)
            .finish_non_exhaustive()
    }
}

/// Why settings cannot be used; the text is a fragment that names no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WebhookSettingsError {
    /// The URL cannot be used.
    #[error("url {0}")]
    Url(&'static str),
    /// The address in the URL is refused.
    #[error("url leads to an address that is refused: {0}")]
    Address(#[from] Refusal),
    /// The secret of this name cannot be used.
    #[error("{0} must be whsec_ and base64 of 24 to 64 bytes; make one with: echo whsec_$(openssl rand -base64 32)")]
    Secret(&'static str),
    /// The HTTP client cannot be made.
    #[error("the HTTP client cannot be made: {0}")]
    Client(String),
}

/// Posts questions to one endpoint.
pub struct WebhookChannel {
    name: String,
    endpoint: Endpoint,
    links: bool,
    template: Template,
}

impl WebhookChannel {
    /// Checks the settings; nothing is connected yet. `own` holds the addresses on which the server listens.
    pub fn new(settings: &WebhookSettings, own: &[SocketAddr]) -> Result<Self, WebhookSettingsError> {
        Self::with_lookup(settings, own, Arc::new(SystemLookup))
    }

    fn with_lookup(
        settings: &WebhookSettings,
        own: &[SocketAddr],
        lookup: Arc<dyn Lookup>,
    ) -> Result<Self, WebhookSettingsError> {
        let filter = AddressFilter { allowed: settings.allow_subnets.clone(), own: own.to_vec() };
        let url = usable(&settings.url, &filter)?;
        let endpoint = Endpoint::new(url, settings.keys()?, filter, settings.timeout, lookup)?;
        let (name, links, template) = (settings.name.clone(), settings.links, settings.template);
        Ok(Self { name, endpoint, links, template })
    }

    /// Resolves the endpoint's host, as a delivery does, and sends nothing. Returns the host and its addresses.
    pub async fn check(&self) -> Result<(String, Vec<IpAddr>), Unresolved> {
        let (host, addresses) = self.endpoint.addresses().await?;
        Ok((host, addresses.into_iter().map(|address| address.ip()).collect()))
    }

    async fn post(&self, message: &Message) -> Result<StatusCode, DeliveryError> {
        // An endpoint may send a mail to the recipient, so the address must be a plain one. A recipient without an @ is not an
        // address but the name of an audience, for example of a chat room.
        if message.recipient.contains('@') && domain::base::address::exact(&message.recipient).is_none() {
            return Err(DeliveryError::permanent(NO_PLAIN_ADDRESS));
        }
        let body = payload(message, self.template, self.links)
            .map_err(|_| DeliveryError::permanent("the message cannot be written as JSON"))?;
        self.endpoint.post(&message.delivery_id.to_string(), message.sent_at.timestamp(), body).await
    }
}

#[async_trait]
impl Channel for WebhookChannel {
    fn name(&self) -> &str {
        &self.name
    }

    async fn deliver(&self, message: &Message) -> Result<Receipt, DeliveryError> {
        let status = self.post(message).await?;
        Ok(Receipt::new(&format!("status {}", status.as_u16())))
    }
}

#[cfg(test)]
mod tests;
