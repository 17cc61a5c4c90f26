//! Bodies about subscriptions (RFC-0006).

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::base::ids::{IntentId, SubscriptionId};
use crate::subscription::Subscription;

/// `POST /api/v1/subscriptions`. Unknown fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SubscribeRequest {
    /// The intent.
    pub intent_id: Option<String>,
    /// Must be absent or null: subscribe to the intents of the portfolio, or follow its stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    pub portfolio_id: Option<Value>,
    /// The subscriber, as the caller states it. The credential says who subscribed; another name here is kept as
    /// `claimed_subscriber_id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 200)]
    pub subscriber_id: Option<String>,
    /// The types of the events; all if it is absent or empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 50)]
    pub event_types: Option<Vec<String>>,
    /// The endpoint, on a host that the operator allows.
    #[schema(max_length = 2_000, examples("https://hooks.example.com/placet"))]
    pub webhook_url: Option<String>,
    /// When it ends: at most 30 days from now, and 30 days from now if it is absent. A time without a zone is UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, examples("2026-11-25T08:00:00Z"))]
    pub expires_at: Option<String>,
}

/// A subscription as the OpenIntent client reads it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SubscriptionView {
    /// Its id.
    pub id: SubscriptionId,
    /// The intent.
    pub intent_id: IntentId,
    /// Always null: subscriptions are to intents.
    #[schema(value_type = Option<Value>)]
    pub portfolio_id: Option<Value>,
    /// The name of the credential that subscribed.
    pub subscriber_id: String,
    /// The subscriber that the request named, if the credential has another name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_subscriber_id: Option<String>,
    /// The types of the events; all if it is empty.
    pub event_types: Vec<String>,
    /// The endpoint.
    pub webhook_url: String,
    /// When it was created.
    #[serde(with = "crate::base::time::naive_form")]
    #[schema(value_type = String, pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}$", examples("2026-11-24T08:00:00.000000"))]
    pub created_at: DateTime<Utc>,
    /// When it ends.
    #[serde(with = "crate::base::time::naive_form")]
    #[schema(value_type = String, pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}$", examples("2026-12-24T08:00:00.000000"))]
    pub expires_at: DateTime<Utc>,
    /// When it was created, under the only name that the client reads.
    #[serde(rename = "createdAt", with = "crate::base::time::naive_form")]
    #[schema(value_type = String)]
    pub created_at_for_client: DateTime<Utc>,
    /// When it ends, under the only name that the client reads.
    #[serde(rename = "expiresAt", with = "crate::base::time::naive_form")]
    #[schema(value_type = String)]
    pub expires_at_for_client: DateTime<Utc>,
    /// The secret with which its messages are signed (Standard Webhooks); shown to its creator when it is made, and never again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

impl From<Subscription> for SubscriptionView {
    /// A subscription as it is shown, without its secret.
    fn from(subscription: Subscription) -> Self {
        let Subscription { id, intent_id, created_by, key_id: _, created_at, body, push: _ } = subscription;
        Self {
            id,
            intent_id,
            portfolio_id: None,
            subscriber_id: created_by.name,
            claimed_subscriber_id: body.claimed_subscriber,
            event_types: body.event_types,
            webhook_url: body.webhook_url,
            created_at,
            expires_at: body.expires_at,
            created_at_for_client: created_at,
            expires_at_for_client: body.expires_at,
            secret: None,
        }
    }
}
