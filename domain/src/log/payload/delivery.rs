//! Payloads of messages.

use serde::{Deserialize, Serialize};

use crate::base::ids::{DeliveryId, SuspensionId};
use crate::people::principal::Credential;
use crate::suspension::delivery;

/// One message, with its last known state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// The suspension it asks about.
    pub suspension_id: SuspensionId,
    /// The message.
    pub delivery_id: DeliveryId,
    /// Its place among the messages about the suspension, from 1.
    pub sequence: u32,
    /// The attempt it belongs to.
    pub attempt: u32,
    /// The channel.
    pub channel: String,
    /// The recipient.
    pub recipient: String,
    /// The last reply of the other side, or why the message failed.
    pub detail: String,
    /// How many times it was tried.
    pub tries: u32,
}

impl Delivery {
    pub(super) fn of(delivery: &delivery::Delivery) -> Self {
        let delivery::Delivery { suspension_id, delivery_id, attempt, sequence, channel, recipient, detail, tries } =
            delivery.clone();
        Self { suspension_id, delivery_id, sequence, attempt, channel, recipient, detail, tries }
    }
}

/// A message that was accepted, or came back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tracked {
    /// The message.
    #[serde(flatten)]
    pub delivery: Delivery,
    /// Whether a person who can answer has been reached, by this message or by another one.
    pub reached: bool,
}

/// A message that had failed and is sent again on request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redriven {
    /// The message.
    #[serde(flatten)]
    pub delivery: Delivery,
    /// The subject that requested it.
    pub redriven_by: String,
    /// The credential of that subject; absent in older events, which do not name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// The people of a later step of the escalation ladder are asked at once, because an attempt reached none of its own people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failover {
    /// The suspension.
    pub suspension_id: SuspensionId,
    /// The attempt that reached no person.
    pub attempt: u32,
    /// The attempt whose people are asked instead.
    pub rung_attempt: u32,
    /// The channel preferred at that attempt.
    pub channel_hint: Option<String>,
    /// The people who are asked.
    pub notify_to: Vec<String>,
    /// The people who cannot be reached.
    pub unreachable: Vec<String>,
    /// Why the last of them cannot be reached.
    pub reason: String,
}

impl Failover {
    pub(super) fn of(failover: &delivery::Failover) -> Self {
        let delivery::Failover { suspension_id, attempt, rung_attempt, channel_hint, notify_to, unreachable, reason } =
            failover.clone();
        Self { suspension_id, attempt, rung_attempt, channel_hint, notify_to, unreachable, reason }
    }
}
