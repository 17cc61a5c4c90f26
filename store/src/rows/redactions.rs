//! Erasures: which events of an intent have no payload any more, and the statements that erase the copies.

use domain::base::ids::IntentId;

use super::error::RowsResult;

/// Consecutive events of an intent that were erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RedactionRow {
    /// The row of the intent.
    pub(crate) intent: i64,
    pub(crate) first_sequence: u64,
    pub(crate) last_sequence: u64,
    /// The row of the event before the first of them; absent if they begin the log.
    pub(crate) previous: Option<i64>,
    /// The number of the event of the server's log that says so.
    pub(crate) server_event: u64,
}

/// Erases, in one transaction.
pub(crate) trait WriteRedactions {
    /// Replaces an event's bytes by its leaf.
    fn erase_event(&mut self, rid: i64, leaf: &[u8]) -> RowsResult<()>;
    /// Erases every copy of what was said with a question that has ended, or written to people because of it. The lists of the people who have
    /// answered it are another matter, because the events name these people.
    fn erase_suspension(&mut self, rid: i64) -> RowsResult<()>;
    /// Erases every copy of what an intent says, and what works on it.
    fn erase_intent(&mut self, rid: i64) -> RowsResult<()>;
    /// Erases the replies that are kept for repeated requests and name the intent. This reads all replies of two days.
    fn erase_replies(&mut self, intent: IntentId) -> RowsResult<()>;
    fn insert_redaction(&mut self, row: &RedactionRow) -> RowsResult<()>;
}

/// Reads erasures, inside a transaction that writes or outside.
pub(crate) trait ReadRedactions {
    /// The erasures of an intent, those of the newest events first.
    fn redactions(&mut self, intent: i64) -> RowsResult<Vec<RedactionRow>>;
}

/// How a database writes the values that take the place of erased ones.
pub(crate) struct Blanks {
    /// An empty text of a caller.
    pub(crate) prose: &'static str,
    /// No bytes.
    pub(crate) bytes: &'static str,
    /// The columns of `outbox` that say which server sends a message, with their new values.
    pub(crate) lease: &'static str,
}

/// The statements of [`WriteRedactions::erase_suspension`]. The rows stay: counts and times are read from them, and no row id is used twice.
/// A message that is being sent loses its lease, so its result is not recorded.
pub(crate) fn of_suspension(rid: i64, blanks: &Blanks) -> String {
    let Blanks { bytes, lease, .. } = blanks;
    format!(
        "UPDATE suspensions SET choices = '[]', fallback_value = NULL, response = NULL, resolved_by = NULL, metadata = NULL, quorum = NULL, form = NULL,
         question_key = NULL WHERE rid = {rid};
         UPDATE outbox SET recipient = '', detail = NULL, {lease}, state = CASE state WHEN 0 THEN 3 ELSE state END WHERE suspension = {rid};
         UPDATE bounces SET detail = NULL WHERE outbox IN (SELECT rid FROM outbox WHERE suspension = {rid});
         UPDATE tokens SET recipient = '' WHERE suspension = {rid};
         UPDATE receipts SET statement = {bytes} WHERE suspension = {rid};
         DELETE FROM suspension_keys WHERE suspension = {rid};
         DELETE FROM suspension_traces WHERE suspension = {rid};
         DELETE FROM unsent_answers WHERE suspension = {rid};
         DELETE FROM drafts WHERE suspension = {rid};
         DELETE FROM views WHERE suspension = {rid};"
    )
}

/// The statements of [`WriteRedactions::erase_intent`].
pub(crate) fn of_intent(rid: i64, blanks: &Blanks) -> String {
    let prose = blanks.prose;
    let emptied = [
        "assignments",
        "access_entries",
        "access_requests",
        "announcements",
        "client_ids",
        "tasks",
        "plans",
        "coordinators",
        "retries",
        "subscriptions",
    ];
    let changed = format!(
        "UPDATE intent_bodies SET title = {prose}, description = {prose}, created_by = {prose}, constraints = '{{}}', state = '{{}}',
         governance_policy = NULL, spent = NULL WHERE rid = {rid};
         UPDATE leases SET scope = {prose} WHERE intent = {rid};
         UPDATE intents SET has_tasks = FALSE WHERE rid = {rid};"
    );
    let deleted = emptied.map(|table| format!("DELETE FROM {table} WHERE intent = {rid};"));
    changed + &deleted.concat()
}

/// The statement of [`WriteRedactions::erase_replies`]. A reply about an intent names the intent by its id.
pub(crate) fn of_replies(intent: IntentId) -> String {
    format!("DELETE FROM idempotency WHERE outcome LIKE '%{intent}%';")
}
