//! Messages to the endpoints of subscriptions, between the store and the worker that sends them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use domain::base::ids::SubscriptionId;
use domain::subscription::Subscription;
use hmac::{Hmac, KeyInit, Mac};
use secrecy::SecretString;
use sha2::Sha256;

/// The name of the secret in the database from which the secret of each subscription is made.
pub const SUBSCRIPTION_SECRET: &str = "subscription";

/// A message about one event, leased to one worker: only the holder of `lease` may complete it.
#[derive(Clone, Debug)]
pub struct LeasedPost {
    pub rid: i64,
    pub lease: [u8; 16],
    pub subscription: Subscription,
    /// The place of the event in the log of the intent.
    pub sequence: u64,
    pub event_type: String,
    /// When the event happened.
    pub created_at: DateTime<Utc>,
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

/// The secret of a subscription, with which its endpoint checks that a message comes from this server.
pub fn subscription_secret(secret: &[u8; 32], id: SubscriptionId) -> SecretString {
    // Unwrap safety: HMAC takes a key of any length.
    let mac = Hmac::<Sha256>::new_from_slice(secret).unwrap_or_else(|_| unreachable!("HMAC takes any key"));
    let bytes = mac.chain_update(b"placet.subscription.v1").chain_update(id.0.as_bytes()).finalize().into_bytes();
    format!("whsec_{}", STANDARD.encode(bytes)).into()
}
