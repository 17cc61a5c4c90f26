//! A subscription: an endpoint that is told of the events of an intent (RFC-0006).

use chrono::{DateTime, Utc};

use crate::base::ids::{IntentId, KeyId, SubscriptionId};
use crate::suspension::Asker;

/// The most subscriptions to one intent.
pub const SUBSCRIPTIONS_OF_INTENT_MAX: usize = 20;
/// The most subscriptions of one agent to one intent, so that one agent alone cannot use up [`SUBSCRIPTIONS_OF_INTENT_MAX`].
pub const SUBSCRIPTIONS_OF_CREATOR_TO_INTENT_MAX: usize = 5;
/// The most subscriptions of one agent.
pub const SUBSCRIPTIONS_OF_CREATOR_MAX: usize = 100;
/// The most types of events that one subscription names.
pub const EVENT_TYPES_MAX: usize = 50;
/// The longest URL of an endpoint, in characters.
pub const WEBHOOK_URL_MAX: usize = 2_000;
/// The most endpoints that are pushed the changes of one task.
pub const PUSHES_OF_TASK_MAX: usize = 5;
/// The longest id of one of these endpoints, and the longest token by which it recognises the server, in characters.
pub const PUSH_WORD_MAX: usize = 200;
/// The longest credentials of the server at one of these endpoints, in characters.
pub const PUSH_CREDENTIALS_MAX: usize = 4_096;
/// How many days one of these endpoints is kept at the longest; it is forgotten once it was told that the task has ended.
pub const PUSH_DAYS_MAX: i64 = 400;
/// The longest life of a subscription, in days, and its life if the request names no end.
pub const SUBSCRIPTION_DAYS_MAX: i64 = 30;

/// A subscription to the events of one intent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// Its id.
    pub id: SubscriptionId,
    /// The intent.
    pub intent_id: IntentId,
    /// The credential that created it.
    pub created_by: Asker,
    /// The key whose rights limit the subscription: the endpoint is told only of events that this key may read.
    pub key_id: KeyId,
    /// When it was created.
    pub created_at: DateTime<Utc>,
    /// The members that the request sets.
    pub body: SubscriptionBody,
    /// Makes the messages those of another protocol; absent in a subscription of the API.
    pub push: Option<Push>,
}

/// An endpoint that is pushed the changes of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Push {
    /// The id that the protocol gives it.
    pub id: String,
    /// The words by which the endpoint recognises the server, encrypted.
    pub sealed: Vec<u8>,
}

/// The members of a subscription that the request sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubscriptionBody {
    /// The subscriber that the request named, if the credential has another name.
    pub claimed_subscriber: Option<String>,
    /// The types of the events; all if it is empty.
    pub event_types: Vec<String>,
    /// The endpoint.
    pub webhook_url: String,
    /// When it ends.
    pub expires_at: DateTime<Utc>,
}

impl SubscriptionBody {
    /// Whether the endpoint is told of events of this type.
    pub fn wants(&self, event_type: &str) -> bool {
        self.event_types.is_empty() || self.event_types.iter().any(|wanted| wanted == event_type)
    }
}
