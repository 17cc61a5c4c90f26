//! Access of agents to intents that other agents created.

use domain::base::ids::AccessId;
use domain::intent::access::OpenRequest;
use domain::people::access::Entry;

use super::error::RowsResult;
use super::intents::IntentRow;
use crate::filter::IntentFilter;

/// An entry of an access control list, with the row of the event that made it.
#[derive(Clone, Debug)]
pub(crate) struct EntryRow {
    pub(crate) entry: Entry,
    pub(crate) event: i64,
}

/// A request for access that is not decided, with the row of its event.
#[derive(Clone, Debug)]
pub(crate) struct AccessRequestRow {
    pub(crate) request: OpenRequest,
    pub(crate) event: i64,
}

/// Writes entries and requests, in one transaction.
pub(crate) trait WriteAccess {
    /// Records an entry that `event` made, in place of an earlier entry for the same principal.
    fn save_entry(&mut self, intent: i64, entry: &Entry, event: i64) -> RowsResult<()>;
    fn delete_entry(&mut self, intent: i64, principal_id: &str) -> RowsResult<()>;
    fn insert_access_request(&mut self, intent: i64, request: &OpenRequest, event: i64) -> RowsResult<()>;
    fn delete_access_request(&mut self, intent: i64, id: AccessId) -> RowsResult<()>;
}

/// Reads entries and requests, inside a transaction that writes or outside.
pub(crate) trait ReadAccess {
    /// The entries of an intent, in alphabetical order of their principals, also those whose time has passed.
    fn entries(&mut self, intent: i64) -> RowsResult<Vec<EntryRow>>;
    /// The open requests for access to an intent, oldest first.
    fn access_requests(&mut self, intent: i64) -> RowsResult<Vec<AccessRequestRow>>;
    /// How many open requests this credential has made, over all intents.
    fn access_requests_by(&mut self, requester: &str) -> RowsResult<usize>;
    /// Lists the intents for which an agent of one of these names has an entry, newest first; one may be listed twice, and the
    /// time of an entry may have passed.
    fn entered_intents(&mut self, names: &[String], filter: &IntentFilter) -> RowsResult<Vec<IntentRow>>;
}
