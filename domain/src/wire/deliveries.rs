//! Bodies about the messages that tell people of a question, and about reports that a message came back (bounces).

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::base::ids::{DeliveryId, SuspensionId};
use crate::suspension::delivery::{BounceKind, DeliveryState};

/// The longest `returned_to` in a report of a bounce, in characters (RFC 5321 §4.5.3.1.3).
pub const RETURNED_TO_MAX: usize = 254;
/// The longest `detail` in a report of a bounce, in characters.
pub const BOUNCE_DETAIL_MAX: usize = 1_000;

/// A message about a question. This view does not contain the answer link, which is in the message alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeliveryView {
    /// Its id, the same at every try, by which a receiver recognises a repetition.
    pub id: DeliveryId,
    /// The question it is about.
    pub suspension_id: SuspensionId,
    /// Its place among the messages about the question, from 1, by which a receiver orders them.
    pub sequence: u32,
    /// The attempt it belongs to, from 1.
    pub attempt: u32,
    /// The channel.
    pub channel: String,
    /// The recipient.
    pub recipient: String,
    /// The state of the message.
    pub state: DeliveryState,
    /// How many times it was tried.
    pub tries: u32,
    /// When it is tried next, while it is queued.
    #[serde(with = "crate::base::time::z_option")]
    pub due_at: Option<DateTime<Utc>>,
    /// When it was sent, failed, bounced or became obsolete.
    #[serde(with = "crate::base::time::z_option")]
    pub settled_at: Option<DateTime<Utc>>,
    /// The other side's last reply, or why the last try failed.
    pub detail: Option<String>,
    /// The report that it came back after it was sent.
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
    /// The reporter's text.
    pub detail: Option<String>,
}

/// A page of messages, about one question or about all questions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeliveryPage {
    /// The messages about one question in the order of `sequence`, or those about all questions, the one queued last first.
    pub deliveries: Vec<DeliveryView>,
    /// Pass it as `cursor` for the next page; absent on the last page.
    pub next_cursor: Option<String>,
}

/// The reply to the reporter of a bounce. It does not contain the question's id. Programs that read returned mail report bounces
/// with a channel key, and the holder of an unbound channel key who knows the id may answer the question for any person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BounceReceipt {
    /// The message's id.
    pub id: DeliveryId,
    /// The recipient.
    pub recipient: String,
    /// The state of the message by now.
    pub state: DeliveryState,
    /// The report; absent if the message had not been sent, so that it could not come back.
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
    /// The text of the report, at most 1,000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 1_000)]
    pub detail: Option<String>,
}
