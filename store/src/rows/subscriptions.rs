//! Subscriptions, and the place of each in the log of its intent.

use chrono::{DateTime, Utc};
use domain::base::ids::SubscriptionId;
use domain::subscription::Subscription;

use super::error::RowsResult;
use super::intents::IntentRow;

/// A subscription's row, with its intent as it is now.
#[derive(Clone, Debug)]
pub(crate) struct SubscriptionRow {
    pub(crate) rid: i64,
    pub(crate) subscription: Subscription,
    pub(crate) place: SubscriptionPlace,
    pub(crate) intent: IntentRow,
}

/// The `due_at` of a message that was not tried yet. It lies so far in the past that the message is due whatever the clock
/// shows.
pub(crate) const AT_ONCE: DateTime<Utc> = DateTime::UNIX_EPOCH;

/// How far a subscription has come in the log of its intent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SubscriptionPlace {
    /// The last event that was dealt with.
    pub(crate) sequence: u64,
    /// How many events the next message reports as missed.
    pub(crate) missed: u64,
    /// How often the next message was tried.
    pub(crate) tries: u32,
    /// When the next message may be tried. A message that was not tried is due at [`AT_ONCE`], whatever the clock shows.
    pub(crate) due_at: DateTime<Utc>,
    /// Set while a server sends the next message.
    pub(crate) lease: Option<[u8; 16]>,
}

/// Which subscriptions to list, newest first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListedSubscriptions<'a> {
    /// Whether to list the endpoints of another protocol, and not the subscriptions of the API.
    pub(crate) pushes: bool,
    /// Only those of this creator.
    pub(crate) creator: Option<&'a str>,
    /// Only those to this intent.
    pub(crate) intent: Option<i64>,
    /// Only those that have not ended at this time.
    pub(crate) now: DateTime<Utc>,
    pub(crate) limit: u32,
    pub(crate) offset: u32,
}

/// Writes subscriptions, in one transaction.
pub(crate) trait WriteSubscriptions {
    /// Inserts a subscription to the intent in a row. It begins behind the event `sequence`.
    fn insert_subscription(&mut self, intent: i64, subscription: &Subscription, sequence: u64) -> RowsResult<()>;
    fn delete_subscription(&mut self, rid: i64) -> RowsResult<()>;
    /// Saves the place of a subscription, unless another server has changed it since it was read as `before`. Returns whether it
    /// was saved.
    fn move_subscription(&mut self, rid: i64, before: &SubscriptionPlace, place: &SubscriptionPlace) -> RowsResult<bool>;
    /// Makes a subscription wait until `due_at`, whatever its place is.
    fn put_off_subscription(&mut self, rid: i64, due_at: DateTime<Utc>) -> RowsResult<()>;
    /// Deletes subscriptions that have ended by `now`, at most `limit`; returns how many.
    fn delete_ended_subscriptions(&mut self, now: DateTime<Utc>, limit: u32) -> RowsResult<u64>;
}

/// Reads subscriptions, inside a transaction that writes or outside.
pub(crate) trait ReadSubscriptions {
    fn subscription(&mut self, id: SubscriptionId) -> RowsResult<Option<SubscriptionRow>>;
    fn subscription_at(&mut self, rid: i64) -> RowsResult<Option<SubscriptionRow>>;
    fn subscriptions(&mut self, listed: ListedSubscriptions<'_>) -> RowsResult<Vec<SubscriptionRow>>;
    /// How many subscriptions a list has, whatever its limit and offset.
    fn count_subscriptions(&mut self, listed: ListedSubscriptions<'_>) -> RowsResult<usize>;
    /// The rows of subscriptions that have events to send at `now`, without those of the creators `busy`. The ones that have
    /// waited longest come first.
    fn due_subscriptions(&mut self, now: DateTime<Utc>, busy: &[String], limit: u32) -> RowsResult<Vec<i64>>;
}
