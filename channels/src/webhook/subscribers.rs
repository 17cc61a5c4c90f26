//! Posts events to the endpoints that agents have subscribed.

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, SecondsFormat, Utc};
use domain::base::ids::{IntentId, SubscriptionId};
use ipnet::IpNet;
use reqwest::header::HeaderValue;
use secrecy::SecretString;
use serde::Serialize;
use url::{Host, Url};

use super::WebhookSettingsError;
use super::address::{AddressFilter, PORTS};
use super::endpoint::{Endpoint, TOTAL_TIMEOUT, usable};
use super::resolver::{GuardedResolver, Lookup, SystemLookup};
use super::signature::SigningKey;
use crate::{DeliveryError, Receipt};

/// The endpoints that the operator lets agents subscribe.
pub struct Subscribers {
    hosts: Vec<String>,
    /// The setting that names the hosts.
    setting: &'static str,
    filter: AddressFilter,
    lookup: Arc<dyn Lookup>,
    // A std mutex will do: it is held while a client is made, and never across an await.
    clients: Mutex<HashMap<Kind, (GuardedResolver, reqwest::Client)>>,
}

/// Whether a client encrypts, and the port that it connects to.
type Kind = (bool, Option<u16>);

/// The header in which an endpoint of A2A finds the token of its client.
const TOKEN: &str = "x-a2a-notification-token";
/// The most clients that are kept.
const CLIENTS_MAX: usize = 16;

/// A message about one event. It names the event and holds nothing of its contents: the receiver reads them with a key of its own.
#[derive(Clone, Debug, Serialize)]
pub struct Notification<'a> {
    /// The type of the event.
    pub r#type: &'a str,
    /// When the event happened.
    #[serde(serialize_with = "rfc3339")]
    pub timestamp: DateTime<Utc>,
    /// The ids of the event.
    pub data: NotificationData<'a>,
}

/// The ids by which the receiver finds an event.
#[derive(Clone, Debug, Serialize)]
pub struct NotificationData<'a> {
    /// The subscription.
    pub subscription_id: SubscriptionId,
    /// The credential that subscribed.
    pub subscriber_id: &'a str,
    /// The intent.
    pub intent_id: IntentId,
    /// The place of the event in the log of the intent, from 1.
    pub sequence: u64,
    /// How many earlier events were left out because the endpoint was too far behind.
    #[serde(skip_serializing_if = "is_zero")]
    pub missed: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde asks for")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn rfc3339<S: serde::Serializer>(at: &DateTime<Utc>, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(&at.to_rfc3339_opts(SecondsFormat::Micros, true))
}

impl Subscribers {
    /// Accepts only endpoints on `hosts`. An address off the public internet must also be in one of `allow_subnets`. `own` holds
    /// the addresses on which the server listens; none of them is accepted.
    pub fn new(hosts: Vec<String>, allow_subnets: Vec<IpNet>, own: &[SocketAddr]) -> Self {
        let filter = AddressFilter { allowed: allow_subnets, own: own.to_vec() };
        Self { hosts, setting: "subscriptions.hosts", filter, lookup: Arc::new(SystemLookup), clients: Mutex::default() }
    }

    /// The same, with the name of the setting that lists the hosts, for refusals.
    #[must_use]
    pub fn listed_in(self, setting: &'static str) -> Self {
        Self { setting, ..self }
    }

    /// The same, with another way to look names up.
    #[cfg(test)]
    pub(super) fn looked_up_by(self, lookup: Arc<dyn Lookup>) -> Self {
        Self { lookup, ..self }
    }

    /// Checks a URL as far as possible without a network, and returns it in the form in which messages are posted to it.
    ///
    /// # Errors
    ///
    /// Why it cannot be used, as a fragment that follows the name of a field.
    pub fn check(&self, url: &str) -> Result<String, String> {
        self.read(url).map(String::from)
    }

    fn read(&self, url: &str) -> Result<Url, String> {
        // The host is compared with the operator's list before the address is checked: the error of that check would tell the
        // agent which addresses the operator opened.
        let named = Url::parse(url).map_err(|_| "is not a URL".to_owned())?;
        let host = match named.host() {
            Some(Host::Domain(name)) => name.to_owned(),
            Some(Host::Ipv4(address)) => IpAddr::V4(address).to_string(),
            Some(Host::Ipv6(address)) => IpAddr::V6(address).to_string(),
            None => String::new(),
        };
        if !self.hosts.contains(&host) {
            return Err(format!("must be on a host that the operator of this server allows ({})", self.setting));
        }
        let usable = usable(&SecretString::from(url), &self.filter).map_err(|error| error.to_string().replacen("url ", "", 1))?;
        // If the operator opened no subnets, no delivery connects to a port outside `PORTS`. Then a URL with another port is
        // refused here already.
        let port = usable.port_or_known_default().filter(|port| self.filter.allowed.is_empty() && !PORTS.contains(port));
        port.map_or(Ok(usable), |port| Err(format!("must have port 443 or 8443, and has {port}")))
    }

    /// An endpoint. It uses an existing client of the same kind, if there is one, because making a client reads certificates.
    fn endpoint(&self, url: Url, keys: Vec<SigningKey>) -> Result<Endpoint, WebhookSettingsError> {
        let kind = (url.scheme() == "https", url.port_or_known_default());
        let mut made = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((resolver, client)) = made.get(&kind) {
            return Ok(Endpoint { url, keys, resolver: resolver.clone(), client: client.clone() });
        }
        let endpoint = Endpoint::new(url, keys, self.filter.clone(), TOTAL_TIMEOUT, self.lookup.clone())?;
        if made.len() >= CLIENTS_MAX {
            made.clear();
        }
        made.insert(kind, (endpoint.resolver.clone(), endpoint.client.clone()));
        Ok(endpoint)
    }

    /// Posts a message, signed with `secret` at `now`.
    ///
    /// # Errors
    ///
    /// [`DeliveryError::Retry`] if another try can help; any other error means that no try ever will.
    pub async fn tell(
        &self,
        url: &str,
        secret: &SecretString,
        notification: &Notification<'_>,
        now: DateTime<Utc>,
    ) -> Result<Receipt, DeliveryError> {
        // The operator may have changed the rules since the agent subscribed.
        let url = self.read(url).map_err(|why| DeliveryError::gone(&["its URL ", &why].concat()))?;
        let key = SigningKey::parse(secret).ok_or_else(|| DeliveryError::permanent("its secret cannot be used"))?;
        let endpoint = self.endpoint(url, vec![key]).map_err(|error| DeliveryError::retry(&error.to_string()))?;
        let body =
            serde_json::to_vec(notification).map_err(|_| DeliveryError::permanent("the message cannot be written as JSON"))?;
        let data = &notification.data;
        // The time distinguishes the event from another one that had the same number before the database was restored.
        let id = format!("{}.{}.{}", data.subscription_id, data.sequence, notification.timestamp.timestamp_micros());
        let status = endpoint.post(&id, now.timestamp(), body).await?;
        Ok(Receipt::new(&format!("status {}", status.as_u16())))
    }
}

impl Subscribers {
    /// Posts a message of another protocol, with the words by which the endpoint recognises this server.
    ///
    /// # Errors
    ///
    /// [`DeliveryError::Retry`] if another try can help; any other error means that no try ever will.
    pub async fn push(&self, url: &str, known_by: &KnownBy, body: Vec<u8>) -> Result<(), DeliveryError> {
        // The operator may have changed the rules since.
        let url = self.read(url).map_err(|why| DeliveryError::gone(&["its URL ", &why].concat()))?;
        let endpoint = self.endpoint(url, Vec::new()).map_err(|error| DeliveryError::retry(&error.to_string()))?;
        let mut headers = Vec::new();
        let authorization = known_by.authentication.as_ref().map(|(scheme, credentials)| format!("{scheme} {credentials}"));
        for (name, value) in [(TOKEN, known_by.token.clone()), ("authorization", authorization)] {
            let Some(value) = value else { continue };
            let value = HeaderValue::from_str(&value).map_err(|_| DeliveryError::permanent("its credentials cannot be sent"))?;
            headers.push((name, value));
        }
        endpoint.post_as(headers, body).await.map(|_| ())
    }
}

/// The words by which an endpoint of another protocol recognises this server.
#[derive(Clone, Default)]
pub struct KnownBy {
    /// The token of the client, sent in `X-A2A-Notification-Token`.
    pub token: Option<String>,
    /// The scheme and the credentials of this server at the endpoint.
    pub authentication: Option<(String, String)>,
}

/// `Debug` leaves all of it out.
impl fmt::Debug for KnownBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KnownBy").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_hosts_of_the_operator_are_subscribed() {
        let loopback = vec!["127.0.0.0/8".parse().unwrap()];
        let allowed = ["hooks.example.com", "127.0.0.1"].map(str::to_owned).to_vec();
        let subscribers = Subscribers::new(allowed, loopback, &["127.0.0.1:7420".parse().unwrap()]);
        for right in ["https://hooks.example.com/x?y=1", "https://HOOKS.example.com:8443/", "http://127.0.0.1:9000/x"] {
            assert!(subscribers.check(right).is_ok(), "{right}");
        }
        for wrong in [
            "https://example.com/",
            "https://hooks.example.com.evil.example/",
            "https://evil.example/hooks.example.com",
            "https://hooks.example.com@evil.example/",
            "http://hooks.example.com/",
            "https://hooks.example.com./",
            "https://hooks.example.com/#x",
            "https://10.0.0.1/",
            "https://[::1]/",
            "http://127.0.0.1:7420/api/v1/keys",
            "ftp://hooks.example.com/",
            "hooks.example.com",
            "",
        ] {
            assert!(subscribers.check(wrong).is_err(), "{wrong}");
        }
        assert_eq!(subscribers.check("https://hooks.example.com/a\0\tb").as_deref(), Ok("https://hooks.example.com/a%00b"));
        let public = Subscribers::new(vec!["hooks.example.com".to_owned()], Vec::new(), &[]);
        for (url, is_right) in [("https://hooks.example.com/", true), ("https://hooks.example.com:22/", false)] {
            assert_eq!(public.check(url).is_ok(), is_right, "{url}");
        }
        let none = Subscribers::new(Vec::new(), vec!["10.0.0.0/8".parse().unwrap()], &["127.0.0.1:7420".parse().unwrap()]);
        let refusal = none.check("https://hooks.example.com/");
        for url in ["https://10.0.0.1:22/", "https://127.0.0.1:7420/", "https://192.168.0.1/", "http://example.com/"] {
            assert_eq!(none.check(url), refusal, "{url}");
        }
    }
}
