//! Messages between the store and the worker that sends them.

use chrono::{DateTime, TimeDelta, Utc};
use domain::base::ids::DeliveryId;
use domain::people::preferences::Preferences;
use domain::suspension::delivery::BounceKind;
use domain::suspension::{Question, Suspension};

use crate::bounce::BounceToken;
use crate::link::LinkToken;

/// How many messages the worker can take in one turn (one round of taking and sending messages), channel by channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// The channels of this server; a message queued for any other channel fails, unless another server has that channel.
    pub lanes: Vec<Lane>,
    /// How many messages all lanes with [`Gate::SharedRoom`] may take together.
    pub shared_room: u32,
}

impl Turn {
    /// A turn in which one channel takes all messages that are due.
    pub fn of(channel: &str) -> Self {
        let lane = Lane { channel: channel.to_owned(), gate: Gate::Room(u32::MAX), line: None };
        Self { lanes: vec![lane], shared_room: 0 }
    }

    /// The lane of a channel, if this server has the channel.
    pub(crate) fn lane(&self, channel: &str) -> Option<&Lane> {
        self.lanes.iter().find(|lane| lane.channel == channel)
    }
}

/// The part of a turn that concerns one channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    pub channel: String,
    pub gate: Gate,
    /// The place in the queue at which the previous turn stopped reading messages beyond the endpoint's limit of due messages;
    /// absent if that turn read all of them.
    pub line: Option<LinePlace>,
}

/// A place in the queue of messages that are due for a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinePlace {
    pub due_at: DateTime<Utc>,
    pub rid: i64,
}

/// How a turn treats a channel's due messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gate {
    /// At most so many are leased.
    Room(u32),
    /// At most so many are leased, and no more than is left of [`Turn::shared_room`].
    SharedRoom(u32),
    /// The channel takes no messages for so long, and they wait. This is a length and not a point in time, because the worker
    /// that sets it may have another clock than the store.
    Paused(TimeDelta),
    /// The channel takes no messages any more, and they fail for this reason.
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
    /// The attempt that the message was queued for, from 1.
    pub attempt: u32,
    /// The earliest message about this question that was accepted for the same recipient on the same channel, if there is one.
    pub first: Option<DeliveryId>,
    /// The other people that earlier attempts asked.
    pub asked_before: Vec<String>,
    /// Whether the same recipient's mail server has already taken a message of this attempt.
    pub repeated: bool,
    pub tries: u32,
    /// The message's place among the messages about the question, from 1.
    pub sequence: u32,
    /// The token by which the message's return is recognised.
    pub bounce_token: BounceToken,
    pub queued_at: DateTime<Utc>,
    /// The answer link's token, which exists only here and in the message.
    pub token: LinkToken,
    pub intent_title: String,
    pub agent: String,
    pub suspension: Suspension,
    pub question: Question,
    /// How many other intents wait for the intent that asks, at most [`WAITING_COUNTED_MAX`](domain::base::words::WAITING_COUNTED_MAX) and one.
    pub waiting: u32,
    /// The time zone and the locale of the person whom a mail reaches, as far as they are known.
    pub preferences: Preferences,
    /// The other person in whose place the recipient answers, if that person's place was handed on.
    pub in_place_of: Option<String>,
    pub now: DateTime<Utc>,
}

/// The result of leasing messages.
pub struct Leased {
    /// Messages to send.
    pub deliveries: Vec<LeasedDelivery>,
    /// How many messages were dealt with without a try, for example because their question had ended or their channel takes no
    /// messages.
    pub untried: usize,
    /// For each channel, how many messages were given up because too many messages wait for its endpoint.
    pub turned_away: Vec<(String, usize)>,
    /// For each channel whose queue was searched for messages beyond its endpoint's limit of due messages, the place from
    /// which the next turn goes on searching; absent if this turn searched to the end.
    pub lines: Vec<(String, Option<LinePlace>)>,
    /// When the next message is due in a channel that has room for it.
    pub next_due: Option<DateTime<Utc>>,
}

/// The result of sending a leased message.
#[derive(Clone, Debug)]
pub enum DeliveryResult {
    /// The message was accepted, with this last reply of the other side.
    Sent(String),
    /// The message is worth another try. If the other side said how long to wait, the try comes no sooner than `after` from now.
    Retry { reason: String, after: Option<TimeDelta> },
    /// The message is never going to arrive, for this reason.
    Failed(String),
}

/// A report that a message came back.
#[derive(Clone, Debug)]
pub struct BounceReport {
    pub token: BounceToken,
    pub kind: BounceKind,
    pub detail: Option<String>,
}
