//! Messages to the endpoints of subscriptions, and messages that a suspension is over, between the store and the worker that sends them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use domain::base::ids::SubscriptionId;
use domain::people::principal::Principal;
use domain::subscription::Subscription;
use domain::wire::WakeView;
use hmac::{Hmac, KeyInit, Mac};
use secrecy::SecretString;
use serde_json::Value;
use sha2::Sha256;

/// The name of the secret in the database from which the secret of each subscription is made.
pub const SUBSCRIPTION_SECRET: &str = "subscription";

/// A message about one event, leased to one worker: only the holder of `lease` may complete it.
#[derive(Clone, Debug)]
pub struct LeasedPost {
    pub rid: i64,
    pub lease: [u8; 16],
    pub subscription: Subscription,
    /// The principal of the key that made the subscription, with its rights as they are now.
    pub principal: Principal,
    /// The place of the event in the log of the intent.
    pub sequence: u64,
    pub event_type: String,
    /// When the event happened.
    pub created_at: DateTime<Utc>,
    /// The payload of the event, for the message of another protocol; null for every other message.
    pub payload: Value,
    /// How many events before this one the endpoint is not told of, because it was too far behind.
    pub missed: u64,
    pub secret: SecretString,
    pub now: DateTime<Utc>,
}

/// The result of leasing messages to endpoints.
#[derive(Clone, Debug, Default)]
pub struct LeasedPosts {
    pub posts: Vec<LeasedPost>,
    /// How many subscriptions were dealt with without a message: no event was for them, they have ended, or their creator has too
    /// many messages under way.
    pub passed: usize,
}

/// How a look for messages treats one endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WakeTurn {
    /// The name of the endpoint, as in its rule.
    pub endpoint: String,
    pub gate: WakeGate,
}

/// How many messages an endpoint takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeGate {
    /// At most so many are leased.
    Room(u32),
    /// The endpoint takes no messages any more, and they are given up.
    Closed,
}

/// A message that a suspension is over, leased to one worker: only the holder of `lease` may complete it.
#[derive(Clone, Debug)]
pub struct LeasedWake {
    pub endpoint: String,
    pub suspension: i64,
    pub lease: [u8; 16],
    pub wake: WakeView,
    pub now: DateTime<Utc>,
}

/// The result of leasing messages.
#[derive(Clone, Debug, Default)]
pub struct LeasedWakes {
    pub wakes: Vec<LeasedWake>,
    /// How many messages were given up because their endpoint takes none any more.
    pub given_up: usize,
}

/// The secret of a subscription, with which its endpoint checks that a message comes from this server.
pub fn subscription_secret(secret: &[u8; 32], id: SubscriptionId) -> SecretString {
    // Unwrap safety: HMAC takes a key of any length.
    let mac = Hmac::<Sha256>::new_from_slice(secret).unwrap_or_else(|_| unreachable!("HMAC takes any key"));
    let bytes = mac.chain_update(b"placet.subscription.v1").chain_update(id.0.as_bytes()).finalize().into_bytes();
    format!("whsec_{}", STANDARD.encode(bytes)).into()
}
