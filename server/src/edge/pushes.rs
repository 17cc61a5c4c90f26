//! Pushes the changes of tasks to endpoints that callers of another protocol name.
//!
//! Guarantee: an endpoint is on a host that the operator allows, at an address that is checked at each connection, and is told in the order of
//! the log and at least once; what it recognises the server by is in no copy of the database. Mechanism: a push is a subscription with
//! another message; its secrets are encrypted under the key file. Failure: an endpoint that fails for days or says it is gone is forgotten.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use channels::{DeliveryError, KnownBy, Subscribers};
use chrono::{DateTime, Utc};
use domain::base::ids::{Entropy, IntentId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::{LeasedPost, Matter, Store, StoreError};

use super::vault::Vault;
use crate::config::{LogConfig, SubscriptionsConfig};

/// The part of an endpoint that is kept encrypted.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PushSecrets {
    /// The token of the client.
    pub(crate) token: Option<String>,
    /// The scheme and the credentials of the server at the endpoint.
    pub(crate) authentication: Option<(String, String)>,
    /// Whether the endpoint reads the version of the protocol before this one.
    pub(crate) is_earlier: bool,
}

/// A change of a task.
pub(crate) struct Change<'a> {
    /// The task as it is now.
    pub(crate) matter: &'a Matter,
    /// The payload of the event.
    pub(crate) payload: &'a Value,
    pub(crate) at: DateTime<Utc>,
    /// Whether the endpoint reads the version of the protocol before this one.
    pub(crate) is_earlier: bool,
}

/// Writes the messages about a change, in the words of the protocol.
pub(crate) type Write = fn(&Change<'_>) -> Vec<Value>;

/// The endpoints to which changes may be pushed.
pub(crate) struct Pushes {
    subscribers: Subscribers,
    vault: Vault,
    write: Write,
}

impl fmt::Debug for Pushes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pushes").finish_non_exhaustive()
    }
}

/// The text that is needed to open the secrets of an endpoint: those of one do not open at another.
fn about(intent: IntentId, id: &str) -> String {
    format!("placet.a2a.push.v1 {intent} {id}")
}

impl Pushes {
    /// The endpoints that the operator allows; `None` if those are none, or if there is no key file, of which the log warns. `own` is the
    /// address on which the server listens.
    pub(crate) fn open(allowed: SubscriptionsConfig, log: &LogConfig, own: SocketAddr, write: Write) -> Option<Arc<Self>> {
        let SubscriptionsConfig { hosts, allow_subnets } = allowed;
        if hosts.is_empty() {
            return None;
        }
        let subscribers = Subscribers::new(hosts, allow_subnets, &[own]).listed_in("agent_to_agent.push.allow");
        match Vault::of_file(log.key_file.as_deref()) {
            Ok(vault) => Some(Arc::new(Self { subscribers, vault, write })),
            Err(error) => {
                tracing::warn!(error = %format!("{error:#}"), "the server pushes no changes of tasks: their credentials could not be encrypted");
                None
            }
        }
    }

    /// Checks a URL as far as possible without a network, and returns it in the form in which it is called.
    ///
    /// # Errors
    ///
    /// Why it cannot be used, as a fragment that follows the name of a field.
    pub(crate) fn check(&self, url: &str) -> Result<String, String> {
        self.subscribers.check(url)
    }

    /// Encrypts the secrets of an endpoint.
    pub(crate) fn seal(&self, intent: IntentId, id: &str, secrets: &PushSecrets, entropy: &dyn Entropy) -> Option<Vec<u8>> {
        self.vault.seal(&about(intent, id), &serde_json::to_vec(secrets).ok()?, entropy)
    }

    /// Decrypts the secrets of an endpoint.
    pub(crate) fn unseal(&self, intent: IntentId, id: &str, sealed: &[u8]) -> Option<PushSecrets> {
        serde_json::from_slice(&self.vault.open(&about(intent, id), sealed)?).ok()
    }

    /// Tells an endpoint of the event that was leased.
    ///
    /// # Errors
    ///
    /// [`DeliveryError::Retry`] if another try can help; any other error means that no try ever will.
    pub(crate) async fn tell(&self, store: &dyn Store, post: &LeasedPost) -> Result<(), DeliveryError> {
        let gone = |reason: &str| DeliveryError::Gone { reason: reason.to_owned() };
        let Some(push) = &post.subscription.push else { return Err(gone("it is no push")) };
        let intent = post.subscription.intent_id;
        let secrets = self.unseal(intent, &push.id, &push.sealed);
        let Some(PushSecrets { token, authentication, is_earlier }) = secrets else {
            return Err(gone("its credentials were encrypted under another key file"));
        };
        let matter = match store.matter(post.principal.clone(), intent, Ok(0)).await {
            Ok(matter) => matter,
            Err(StoreError::Rejected(_)) => return Err(gone("its key may not read the task any more")),
            Err(error) => return Err(DeliveryError::Retry { reason: error.to_string(), after: None }),
        };
        let known_by = KnownBy { token, authentication };
        let change = Change { matter: &matter, payload: &post.payload, at: post.created_at, is_earlier };
        for item in (self.write)(&change) {
            self.subscribers.push(&post.subscription.body.webhook_url, &known_by, item.to_string().into_bytes()).await?;
        }
        Ok(())
    }
}
