//! Messages about a question: where each stands, and what is known of it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::base::ids::{DeliveryId, SuspensionId};
use crate::suspension::Question;
use crate::suspension::channel::{Channels, Route};

/// The longest token that names a returned message, in characters: in an address it stands behind a name and a plus, and all three
/// together are at most 64 (RFC 5321 §4.5.3.1.1).
pub const BOUNCE_TOKEN_CHARS_MAX: usize = 41;

/// Where a message stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// It waits for its turn, or for another try.
    Queued,
    /// A worker has it.
    Sending,
    /// The other side took responsibility for it; that it was read nobody knows.
    Sent,
    /// It was taken, and then reported as never going to arrive.
    Bounced,
    /// It will never be taken.
    Failed,
    /// It was not sent, because its question ended or another message asks the same.
    Obsolete,
}

impl DeliveryState {
    /// Whether it has not come to its end.
    pub fn is_under_way(self) -> bool {
        matches!(self, Self::Queued | Self::Sending)
    }

    /// Whether it can no longer reach its recipient.
    pub fn is_lost(self) -> bool {
        match self {
            Self::Bounced | Self::Failed | Self::Obsolete => true,
            Self::Queued | Self::Sending | Self::Sent => false,
        }
    }
}

/// What was learned of one message, for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was taken.
    Sent,
    /// It was refused for good, or given up.
    Failed,
    /// It was taken and came back.
    Bounced,
}

/// Whether a returned message may still arrive (RFC 3463 §3.1: class 4 or class 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BounceKind {
    /// It never will.
    Hard,
    /// It is late, or this one copy was not kept.
    Soft,
}

/// A message about a question, among the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sibling {
    /// The attempt it belongs to.
    pub attempt: u32,
    /// The channel that carries it.
    pub channel: String,
    /// To whom.
    pub recipient: String,
    /// Where it stands.
    pub state: DeliveryState,
    /// Whether it went out with an answer link; absent while it waits to go out, and where nobody knows.
    pub linked: Option<bool>,
}

impl Sibling {
    /// The way it went, or is to go.
    pub fn route(&self) -> Route<'_> {
        Route { channel: &self.channel, recipient: &self.recipient }
    }

    /// Whether who gets it can answer with it. What was sent is as it was sent: its channel may be another one by now, or gone.
    pub(crate) fn carries_link(&self, channels: &Channels) -> bool {
        self.linked.unwrap_or_else(|| channels.carries_links(&self.channel))
    }

    /// Whether it is one that somebody answers: one with a link, or any where no channel carries links.
    pub(crate) fn is_answered(&self, channels: &Channels) -> bool {
        self.carries_link(channels) || !channels.carry_links()
    }
}

/// What was learned of a message, with what it takes to see whether anybody is left.
#[derive(Clone, Debug)]
pub struct DeliveryRecord {
    /// The message.
    pub delivery: Delivery,
    /// What became of it.
    pub fate: Fate,
    /// All other messages about the question; needed when this one is lost.
    pub siblings: Vec<Sibling>,
    /// The question with its ladder; needed when this one is lost and the question is open.
    pub question: Option<Box<Question>>,
    /// The channels there are; needed then as well.
    pub channels: Channels,
}

/// Nobody of an attempt can be reached, so the next rung's people are asked now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failover {
    /// Which suspension.
    pub suspension_id: SuspensionId,
    /// The attempt nobody was reached at; it stays the current one.
    pub attempt: u32,
    /// The attempt whose people are asked instead.
    pub rung_attempt: u32,
    /// The channel preferred there.
    pub channel_hint: Option<String>,
    /// Who is asked.
    pub notify_to: Vec<String>,
    /// Who cannot be reached.
    pub unreachable: Vec<String>,
    /// Why the last of them cannot.
    pub reason: String,
}

/// What reminding needs to know of a question, besides where it stands.
#[derive(Clone, Debug)]
pub struct Asked {
    /// What it asks, and whom.
    pub question: Question,
    /// The messages about it.
    pub messages: Vec<Sibling>,
    /// The channels there are.
    pub channels: Channels,
}

/// What became of one message.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The suspension it asks about.
    pub suspension_id: SuspensionId,
    /// The outbox row.
    pub delivery_id: DeliveryId,
    /// The attempt it belongs to.
    pub attempt: u32,
    /// Its place among the messages about the suspension, from 1.
    pub sequence: u32,
    /// The channel.
    pub channel: String,
    /// The recipient.
    pub recipient: String,
    /// The peer's last word, or why it failed.
    pub detail: String,
    /// How often it was tried.
    pub tries: u32,
}
