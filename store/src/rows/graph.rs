//! The edges from intents to the intents they need, and the completed intents of which some dependents have not been told yet.

use diesel::QueryableByName;
use diesel::sql_types::BigInt;
use domain::base::ids::IntentId;
use domain::intent::status::Status;

use super::error::RowsResult;
use super::intents::IntentRow;

/// The most intents of which one query reads the edges or the nodes.
pub(crate) const GRAPH_AT_ONCE: usize = 500;

/// Counts the intents that need `$1` (as a dependency or a child) and have not ended, and those that need these, at most `$2` of them. `UNION` leaves out an intent that was found before. The
/// first part has a limit of its own, because SQLite reads all of it before the search goes on; the dependents of one intent further up
/// are always read whole. Diesel has no recursive queries.
pub(crate) const HELD_UP: &str = "WITH RECURSIVE held_up (rid) AS (\
     SELECT first_held.intent FROM (SELECT e.intent FROM graph_edges e JOIN intents i ON i.rid = e.intent \
     WHERE e.needs = $1 AND NOT e.is_met AND i.status NOT IN (4, 5) LIMIT $2) AS first_held \
     UNION SELECT e.intent FROM held_up JOIN graph_edges e ON e.needs = held_up.rid JOIN intents i ON i.rid = e.intent \
     WHERE NOT e.is_met AND i.status NOT IN (4, 5)) \
     SELECT count(*) AS count FROM (SELECT rid FROM held_up LIMIT $2) AS all_held";

/// The result of [`HELD_UP`].
#[derive(QueryableByName)]
pub(crate) struct Counted {
    #[diesel(sql_type = BigInt)]
    pub(crate) count: i64,
}

/// Why one intent needs another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EdgeKind {
    /// It depends on the other one.
    Dependency,
    /// The other one is its child.
    Child,
}

/// One intent needs another; both are row ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EdgeRow {
    pub(crate) intent: i64,
    pub(crate) kind: EdgeKind,
    pub(crate) needs: i64,
    /// Whether the intent has learned that the dependency is completed; false for a child.
    pub(crate) is_met: bool,
}

/// The parts of an intent's body that a graph shows.
#[derive(Clone, Debug)]
pub(crate) struct Label {
    pub(crate) title: String,
    pub(crate) parent_id: Option<IntentId>,
    pub(crate) depends_on: Vec<IntentId>,
}

/// Writes edges, in one transaction.
pub(crate) trait WriteGraph {
    /// Keeps other transactions from adding edges until this one ends: two edges that are added at once could close a circle that
    /// neither transaction sees.
    fn lock_graph(&mut self) -> RowsResult<()>;
    fn insert_edge(&mut self, edge: EdgeRow) -> RowsResult<()>;
    fn delete_dependency(&mut self, intent: i64, needs: i64) -> RowsResult<()>;
    fn meet_dependency(&mut self, intent: i64, needs: i64) -> RowsResult<()>;
    /// Writes the list of dependencies that an intent is shown with.
    fn update_depends_on(&mut self, intent: i64, depends_on: &[IntentId]) -> RowsResult<()>;
    fn insert_completion(&mut self, intent: i64) -> RowsResult<()>;
    fn delete_completion(&mut self, intent: i64) -> RowsResult<()>;
}

/// Reads edges, inside a transaction that writes or outside.
pub(crate) trait ReadGraph {
    /// Whether a dependency is met; `None` if there is none.
    fn dependency(&mut self, intent: i64, needs: i64) -> RowsResult<Option<bool>>;
    /// The list of dependencies that an intent is shown with, in the order in which they were added.
    fn depends_on(&mut self, intent: i64) -> RowsResult<Vec<IntentId>>;
    /// These intents with the parts of their bodies that a graph shows, in no particular order and without locks.
    fn nodes(&mut self, intents: &[i64]) -> RowsResult<Vec<(IntentRow, Label)>>;
    /// Some of the intents that depend on this one, and some of its children, at most `limit` of each. Only those count that an
    /// agent with one of these names created, is assigned to, or has an entry for.
    fn near(&mut self, intent: i64, names: &[String], limit: u32) -> RowsResult<Vec<i64>>;
    /// The dependencies that are not met and, with `children`, the children that are not completed.
    fn unfinished(&mut self, intent: i64, children: bool, limit: u32) -> RowsResult<Vec<(IntentId, Status)>>;
    /// The edges by which these intents need others, oldest needed intent first; `kind` leaves out the other kind.
    fn needs_of(&mut self, of: &[i64], kind: Option<EdgeKind>, limit: u32) -> RowsResult<Vec<EdgeRow>>;
    /// The edges by which others need these intents, oldest needer first; `kind` leaves out the other kind.
    fn needing(&mut self, needs: &[i64], kind: Option<EdgeKind>, limit: u32) -> RowsResult<Vec<EdgeRow>>;
    /// The dependents that have not learned that this intent is completed, oldest first.
    fn waiting(&mut self, needs: i64, limit: u32) -> RowsResult<Vec<i64>>;
    /// How many intents that have not ended wait for this one, directly or through others of that kind; at most `limit`.
    fn held_up(&mut self, needs: i64, limit: u32) -> RowsResult<u32>;
    /// The completed intents of which some dependents have not learned yet.
    fn completions(&mut self, limit: u32) -> RowsResult<Vec<i64>>;
}
