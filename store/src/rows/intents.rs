//! Intents and their bodies.

use chrono::{DateTime, Utc};
use domain::base::ids::IntentId;
use domain::intent::Intent;
use domain::intent::body::IntentBody;
use domain::log::Hash;
use serde_json::{Map, Value};

use super::error::{RowsError, RowsResult};
use crate::filter::IntentFilter;

/// An intent's row: the facts that deciding needs, and the end of its log.
#[derive(Clone, Debug)]
pub(crate) struct IntentRow {
    pub(crate) rid: i64,
    /// The intent without suspensions and leases, which are rows of their own.
    pub(crate) intent: Intent,
    pub(crate) open_suspension: Option<i64>,
    pub(crate) newest_suspension: Option<i64>,
    pub(crate) has_leases: bool,
    pub(crate) last_event: i64,
    pub(crate) last_sequence: u64,
    pub(crate) last_hash: Option<Hash>,
}

/// Decodes the hash of an intent's last event; `None` if its log is empty.
pub(crate) fn last_hash(bytes: &[u8]) -> RowsResult<Option<Hash>> {
    if bytes.is_empty() {
        return Ok(None);
    }
    bytes.try_into().map(|hash| Some(Hash(hash))).map_err(|_| RowsError::Inconsistent("a hash of the wrong length"))
}

/// Writes intents and their bodies, in one transaction.
pub(crate) trait WriteIntents {
    fn insert_intent(&mut self, row: &IntentRow, body: &IntentBody) -> RowsResult<()>;
    fn update_intent(&mut self, row: &IntentRow) -> RowsResult<()>;
    /// Sets the policy of an intent, and forgets the sum of its costs.
    fn update_policy(&mut self, intent: i64, policy: Option<&Value>) -> RowsResult<()>;
    fn update_spent(&mut self, intent: i64, spent: f64) -> RowsResult<()>;
    fn update_state(&mut self, intent: i64, state: &Map<String, Value>) -> RowsResult<()>;
}

/// Reads intents and their bodies, inside a transaction that writes or outside.
pub(crate) trait ReadIntents {
    fn intent(&mut self, id: IntentId) -> RowsResult<Option<IntentRow>>;
    fn intent_at(&mut self, rid: i64) -> RowsResult<IntentRow>;
    fn body(&mut self, intent: i64) -> RowsResult<IntentBody>;
    /// Reads only the policy of an intent, because its state may be large.
    fn policy(&mut self, intent: i64) -> RowsResult<Option<Value>>;
    /// The sum of the costs of an intent, if it is known.
    fn spent(&mut self, intent: i64) -> RowsResult<Option<f64>>;
    /// Reads only the title of an intent, because its state may be large.
    fn title(&mut self, intent: i64) -> RowsResult<String>;
    /// The rows of intents behind `after`, up to `up_to`, that ended and did not change since `before`, in their order.
    fn ended_in(&mut self, after: i64, up_to: i64, before: DateTime<Utc>) -> RowsResult<Vec<i64>>;
    /// The highest row id of an intent; 0 if there is none.
    fn newest_intent(&mut self) -> RowsResult<i64>;
    /// Lists intents, newest first; `creator` limits the list to one agent's own.
    fn intents(&mut self, creator: Option<&str>, filter: IntentFilter) -> RowsResult<Vec<IntentRow>>;
}
