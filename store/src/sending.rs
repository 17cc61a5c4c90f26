//! Messages between the store and the worker that sends them.

use chrono::{DateTime, TimeDelta, Utc};
use domain::base::ids::DeliveryId;
use domain::suspension::delivery::BounceKind;
use domain::suspension::{Question, Suspension};

use crate::bounce::BounceToken;
use crate::link::LinkToken;

/// What the worker can take in one turn, channel by channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// The channels there are; what is queued for any other one has failed, unless another server has it.
    pub lanes: Vec<Lane>,
    /// How many messages all lanes that share their room may take together.
    pub shared_room: u32,
}

impl Turn {
    /// A turn in which one channel takes as much as it gets.
    pub fn of(channel: &str) -> Self {
        let lane = Lane { channel: channel.to_owned(), gate: Gate::Room(u32::MAX), line: None };
        Self { lanes: vec![lane], shared_room: 0 }
    }

    /// What becomes of a channel's messages, if there is such a channel.
    pub(crate) fn lane(&self, channel: &str) -> Option<&Lane> {
        self.lanes.iter().find(|lane| lane.channel == channel)
    }
}

/// One channel's turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    pub channel: String,
    pub gate: Gate,
    /// Where looking through what is too much for the channel goes on; absent at the newest message.
    pub line: Option<LinePlace>,
}

/// A place in the line of messages that are due for a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinePlace {
    pub due_at: DateTime<Utc>,
    pub rid: i64,
}

/// What becomes of a channel's messages that are due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gate {
    /// So many are leased.
    Room(u32),
    /// So many are leased, as far as the shared room goes.
    SharedRoom(u32),
    /// The channel takes nothing for so long; they wait. No point in time: whoever says so may have another clock than the store.
    Paused(TimeDelta),
    /// The channel takes nothing more; they have failed, for this reason.
    Closed(String),
}

/// A message to send, leased to one worker: only the holder of `lease` may complete it.
#[derive(Clone)]
pub struct LeasedDelivery {
    pub rid: i64,
    pub lease: [u8; 16],
    pub id: DeliveryId,
    pub channel: String,
    pub recipient: String,
    /// The attempt it was queued for, from 1.
    pub attempt: u32,
    /// The first message about this question the same recipient's mail server took, when this is a later one.
    pub first: Option<DeliveryId>,
    /// Who else was told by earlier attempts.
    pub asked_before: Vec<String>,
    /// Whether the same recipient's mail server took a message of this very attempt before.
    pub repeated: bool,
    pub tries: u32,
    /// Its place among the messages about the question, from 1.
    pub sequence: u32,
    /// What its return is known by.
    pub bounce_token: BounceToken,
    pub queued_at: DateTime<Utc>,
    /// The answer link's token, known only here and in the message.
    pub token: LinkToken,
    pub intent_title: String,
    pub agent: String,
    pub suspension: Suspension,
    pub question: Question,
    pub now: DateTime<Utc>,
}

/// What leasing deliveries did.
pub struct Leased {
    /// Messages to send.
    pub deliveries: Vec<LeasedDelivery>,
    /// Rows dealt with without a try: their question had ended, or their channel takes nothing.
    pub untried: usize,
    /// How many messages were given up because more than an endpoint has room for wait for it, by its channel.
    pub turned_away: Vec<(String, usize)>,
    /// For each channel that was looked through beyond what it has room for: where the next turn goes on.
    pub lines: Vec<(String, Option<LinePlace>)>,
    /// When the next one is due for which there is room.
    pub next_due: Option<DateTime<Utc>>,
}

/// What became of a leased message.
#[derive(Clone, Debug)]
pub enum DeliveryResult {
    /// Accepted, with the peer's last word.
    Sent(String),
    /// Worth another try, not before `after` if the peer said so.
    Retry { reason: String, after: Option<TimeDelta> },
    /// Never going to arrive.
    Failed(String),
}

/// A report that a message came back.
#[derive(Clone, Debug)]
pub struct BounceReport {
    pub token: BounceToken,
    pub kind: BounceKind,
    pub detail: Option<String>,
}
