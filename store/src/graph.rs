//! The reads about intents that need each other: load, authorize, convert.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use domain::base::ids::IntentId;
use domain::intent::status::Status;
use domain::people::principal::Principal;
use domain::wire::{AggregateStatus, GraphEdgeKind, GraphEdgeView, GraphNodeView, GraphView, IntentView, WaitingView};

use crate::reads::{PAGE_BYTES_MAX, browsable, intent_view, is_shown};
use crate::rows::prelude::*;
use crate::rows::{Decided, EdgeKind, EdgeRow, IntentRow, Label, RowsResult};

/// The most intents in one reply.
pub(crate) const RELATIVES_MAX: usize = 1_000;
/// The most intents in one graph.
pub(crate) const NODES_MAX: usize = 10_000;
/// Of how many intents one query reads the edges.
const AT_ONCE: usize = 500;

/// How the intents of a list are related to an intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Those it is the parent of.
    Children,
    /// Its children, their children, and so on.
    Descendants,
    /// Its parent, the parent's parent, and so on.
    Ancestors,
    /// Those it waits for.
    Dependencies,
    /// Those that wait for it.
    Dependents,
    /// Its children that could be worked on now: drafts and active ones whose dependencies are completed.
    Ready,
    /// Its children that cannot go on: blocked ones, and others with a dependency that is not completed.
    Blocked,
}

/// Intents that are related to another one.
#[derive(Clone, Debug)]
pub struct Relatives {
    /// The intents, as far as the caller may read them.
    pub intents: Vec<IntentView>,
    /// Whether there are more.
    pub truncated: bool,
}

/// The intents that are related to an intent in this way, as far as the principal may read them: the oldest first, ancestors the
/// nearest first.
pub(super) fn relatives<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    (id, relation): (IntentId, Relation),
    now: DateTime<Utc>,
) -> Decided<Relatives> {
    let root = match browsable(rows, principal, id, now)? {
        Ok(row) => row,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let found = related(rows, root.rid, relation)?;
    let (mut intents, mut bytes) = (Vec::new(), 0);
    for (place, rid) in found.iter().enumerate() {
        if place >= RELATIVES_MAX || bytes >= PAGE_BYTES_MAX {
            return Ok(Ok(Relatives { intents, truncated: true }));
        }
        let row = rows.intent_at(*rid)?;
        let is_near = relation == Relation::Dependencies || (relation == Relation::Ancestors && place == 0);
        if !is_wanted(&row, relation) || (!is_near && !is_shown(rows, principal, &row, now)?) {
            continue;
        }
        let view = intent_view(rows, &row)?;
        bytes += serde_json::to_vec(&view)?.len();
        intents.push(view);
    }
    Ok(Ok(Relatives { intents, truncated: false }))
}

fn is_wanted(row: &IntentRow, relation: Relation) -> bool {
    let (status, waits) = (row.intent.status, row.intent.unmet > 0);
    match relation {
        Relation::Ready => matches!(status, Status::Draft | Status::Active) && !waits,
        Relation::Blocked => status == Status::Blocked || (waits && !status.is_final()),
        Relation::Children | Relation::Descendants | Relation::Ancestors | Relation::Dependencies | Relation::Dependents => true,
    }
}

/// The rows of the related intents, one more than are shown.
fn related<R: ReadRows>(rows: &mut R, root: i64, relation: Relation) -> RowsResult<Vec<i64>> {
    let limit = u32::try_from(RELATIVES_MAX + 1).unwrap_or(u32::MAX);
    let needed = |edges: Vec<EdgeRow>| edges.into_iter().map(|edge| edge.needs).collect();
    let needers = |edges: Vec<EdgeRow>| edges.into_iter().map(|edge| edge.intent).collect();
    Ok(match relation {
        Relation::Children | Relation::Ready | Relation::Blocked => {
            needed(rows.needs_of(&[root], Some(EdgeKind::Child), u32::MAX)?)
        }
        Relation::Dependencies => needed(rows.needs_of(&[root], Some(EdgeKind::Dependency), limit)?),
        Relation::Dependents => needers(rows.needing(&[root], Some(EdgeKind::Dependency), limit)?),
        Relation::Descendants => {
            let (mut found, _) = below(rows, root, Some(EdgeKind::Child), RELATIVES_MAX + 1)?;
            found.remove(0);
            found.sort_unstable();
            found
        }
        Relation::Ancestors => {
            let mut found = Vec::new();
            let mut at = root;
            while found.len() <= RELATIVES_MAX
                && let Some(edge) = rows.needing(&[at], Some(EdgeKind::Child), 1)?.first()
            {
                at = edge.intent;
                found.push(at);
            }
            found
        }
    })
}

/// The intents that `root` needs, with those that they need, and so on; `root` is the first. Also the edges between them.
fn below<R: ReadRows>(rows: &mut R, root: i64, kind: Option<EdgeKind>, max: usize) -> RowsResult<(Vec<i64>, Vec<EdgeRow>)> {
    let (mut found, mut edges) = (vec![root], Vec::new());
    let mut seen = HashSet::from([root]);
    let mut from = 0;
    while from < found.len() && found.len() <= max {
        let part = found[from..].iter().take(AT_ONCE).copied().collect::<Vec<_>>();
        from += part.len();
        for edge in rows.needs_of(&part, kind, u32::try_from(max).unwrap_or(u32::MAX))? {
            if seen.insert(edge.needs) {
                found.push(edge.needs);
            }
            edges.push(edge);
        }
    }
    Ok((found, edges))
}

/// An intent with everything that it needs, directly or through others, as far as the principal may read it.
pub(super) fn graph<R: ReadRows>(rows: &mut R, principal: &Principal, id: IntentId, now: DateTime<Utc>) -> Decided<GraphView> {
    let root = match browsable(rows, principal, id, now)? {
        Ok(row) => row,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let (found, edges) = below(rows, root.rid, None, NODES_MAX)?;
    let truncated = found.len() > NODES_MAX;
    let mut shown: HashMap<i64, IntentRow> = HashMap::new();
    for rid in found.iter().take(NODES_MAX) {
        let row = if *rid == root.rid { root.clone() } else { rows.intent_at(*rid)? };
        if is_shown(rows, principal, &row, now)? {
            shown.insert(*rid, row);
        }
    }
    let mut nodes = Vec::new();
    for rid in &found {
        let Some(row) = shown.get(rid) else { continue };
        nodes.push(node(rows, row)?);
    }
    let views = edges.iter().filter_map(|edge| edge_view(edge, &shown)).collect();
    let descendants = descendants(root.rid, &edges);
    let counted = descendants.iter().filter_map(|rid| shown.get(rid));
    let aggregate_status = AggregateStatus::of(counted.map(|row| (row.intent.status, 1)));
    Ok(Ok(GraphView { root_id: id, nodes, edges: views, aggregate_status, truncated }))
}

/// The intents below `root` by edges to children.
fn descendants(root: i64, edges: &[EdgeRow]) -> HashSet<i64> {
    let mut children: HashMap<i64, Vec<i64>> = HashMap::new();
    for edge in edges.iter().filter(|edge| edge.kind == EdgeKind::Child) {
        children.entry(edge.intent).or_default().push(edge.needs);
    }
    let (mut found, mut left) = (HashSet::new(), vec![root]);
    while let Some(at) = left.pop() {
        left.extend(children.get(&at).into_iter().flatten().filter(|child| found.insert(**child)));
    }
    found
}

fn edge_view(edge: &EdgeRow, shown: &HashMap<i64, IntentRow>) -> Option<GraphEdgeView> {
    let (intent, needs) = (shown.get(&edge.intent)?.intent.id, shown.get(&edge.needs)?.intent.id);
    // An edge leads from a parent to its child, but from a dependency to the intent that waits for it.
    Some(match edge.kind {
        EdgeKind::Child => GraphEdgeView { from: intent, to: needs, kind: GraphEdgeKind::Parent },
        EdgeKind::Dependency => GraphEdgeView { from: needs, to: intent, kind: GraphEdgeKind::Dependency },
    })
}

fn node<R: ReadRows>(rows: &mut R, row: &IntentRow) -> RowsResult<GraphNodeView> {
    let mut suspension = None;
    if let Some(open) = row.open_suspension {
        let open = rows.suspension_at(open)?.suspension;
        suspension = Some(WaitingView { suspended_since: open.suspended_at, expires_at: open.expires_at });
    }
    let Label { title, parent_id, depends_on } = rows.label(row.rid)?;
    let blocked_by = if row.intent.unmet > 0 { rows.unfinished(row.rid, false, row.intent.unmet)? } else { Vec::new() };
    Ok(GraphNodeView {
        id: row.intent.id,
        title,
        status: row.intent.status,
        parent_id,
        depends_on,
        blocked_by: blocked_by.into_iter().map(|(id, _)| id).collect(),
        blocked_reason: row.intent.blocked_reason(),
        suspension,
    })
}
