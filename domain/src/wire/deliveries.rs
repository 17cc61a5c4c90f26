//! Messages about a question as shown, and what is reported of them.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::base::ids::{DeliveryId, SuspensionId};
use crate::suspension::delivery::{BounceKind, DeliveryState};

/// The longest address or token of a report, in characters (RFC 5321 §4.5.3.1.3).
pub const RETURNED_TO_MAX: usize = 254;
/// The longest detail of a report, in characters.
pub const BOUNCE_DETAIL_MAX: usize = 1_000;

/// A message about a question. Its answer link is in the message alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeliveryView {
    /// Its id, the same at every try: what a receiver tells a repeat by.
    pub id: DeliveryId,
    /// The question it is about.
    pub suspension_id: SuspensionId,
    /// Its place among the messages about the question, from 1: what a receiver orders them by.
    pub sequence: u32,
    /// The attempt it belongs to, from 1.
    pub attempt: u32,
    /// The channel.
    pub channel: String,
    /// To whom.
    pub recipient: String,
    /// Where it stands.
    pub state: DeliveryState,
    /// How often it was tried.
    pub tries: u32,
    /// When it is tried next; while it is queued.
    #[serde(with = "crate::base::time::z_option")]
    pub due_at: Option<DateTime<Utc>>,
    /// When it was sent, failed, bounced or became obsolete.
    #[serde(with = "crate::base::time::z_option")]
    pub settled_at: Option<DateTime<Utc>>,
    /// The other side's last word, or why the last try failed.
    pub detail: Option<String>,
    /// What was reported of it after it was sent.
    pub bounce: Option<BounceView>,
}

/// A report that a message came back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BounceView {
    /// Whether it may still arrive.
    pub kind: BounceKind,
    /// When it was reported.
    #[serde(with = "crate::base::time::z")]
    pub reported_at: DateTime<Utc>,
    /// The reporter's words.
    pub detail: Option<String>,
}

/// A page of messages, about one question or over all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeliveryPage {
    /// About one question in the order of `sequence`; over all questions those queued last come first.
    pub deliveries: Vec<DeliveryView>,
    /// Hand it back as `cursor` for the next page; absent on the last one.
    pub next_cursor: Option<String>,
}

/// What the reporter of a bounce gets to see. Not the question's id: with a key of its role whoever knows that id may answer for anybody,
/// and a report is made by what reads returned mail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BounceReceipt {
    /// The message's id.
    pub id: DeliveryId,
    /// To whom it was.
    pub recipient: String,
    /// Where it stands by now.
    pub state: DeliveryState,
    /// What was reported of it; absent where it had not been sent, so that nothing could come back.
    pub bounce: Option<BounceView>,
}

impl From<DeliveryView> for BounceReceipt {
    fn from(view: DeliveryView) -> Self {
        let DeliveryView { id, recipient, state, bounce, .. } = view;
        Self { id, recipient, state, bounce }
    }
}

/// `POST /api/v1/deliveries/bounces`: a message came back. Unknown fields are refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BounceRequest {
    /// The address the message was returned to, `bounces+<token>@…`, or the token alone, from the message's `X-Placet-Delivery`.
    #[schema(min_length = 1, max_length = 254)]
    pub returned_to: String,
    /// `hard`: it will never arrive. `soft`: it may.
    pub kind: BounceKind,
    /// What the report says, at most 1,000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 1_000)]
    pub detail: Option<String>,
}
