//! The reads about intents that need each other: load, authorize, convert.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use domain::base::ids::IntentId;
use domain::intent::status::Status;
use domain::people::principal::Principal;
use domain::wire::{AggregateStatus, GraphEdgeKind, GraphEdgeView, GraphNodeView, GraphView, IntentView, WaitingView};

use crate::reads::{PAGE_BYTES_MAX, browsable, intent_view, is_lent, is_shown, lent_view};
use crate::rows::prelude::*;
use crate::rows::{Decided, EdgeKind, EdgeRow, GRAPH_AT_ONCE, IntentRow, Label, RowsResult};

/// The most intents in one reply.
pub(crate) const RELATIVES_MAX: usize = 1_000;
/// The most related intents that are read to find those that the caller may see.
const RELATED_MAX: usize = 20_000;
/// The most intents in one graph.
pub(crate) const NODES_MAX: usize = 10_000;
/// The most edges in one graph.
const EDGES_MAX: usize = 30_000;

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
    let (found, is_cut) = related(rows, root.rid, relation)?;
    let (mut intents, mut bytes) = (Vec::new(), 0);
    for part in found.chunks(GRAPH_AT_ONCE) {
        let mut nodes = nodes(rows, part)?;
        for rid in part {
            let Some((row, _)) = nodes.remove(rid).filter(|(row, _)| is_wanted(row, relation)) else { continue };
            let is_near = relation == Relation::Dependencies || (relation == Relation::Ancestors && found.first() == Some(rid));
            let is_shown = is_shown(rows, principal, &row, now)?;
            let may_be_shown = is_shown || (is_near && is_lent(rows, &root, &row, now)?);
            if !may_be_shown {
                continue;
            }
            if intents.len() >= RELATIVES_MAX || bytes >= PAGE_BYTES_MAX {
                return Ok(Ok(Relatives { intents, truncated: true }));
            }
            let view = if is_shown { intent_view(rows, &row)? } else { lent_view(rows, &row)? };
            bytes += serde_json::to_vec(&view)?.len();
            intents.push(view);
        }
    }
    Ok(Ok(Relatives { intents, truncated: is_cut }))
}

fn is_wanted(row: &IntentRow, relation: Relation) -> bool {
    let (status, waits) = (row.intent.status, row.intent.unmet > 0);
    match relation {
        Relation::Ready => matches!(status, Status::Draft | Status::Active) && !waits,
        Relation::Blocked => status == Status::Blocked || (waits && !status.is_final()),
        Relation::Children | Relation::Descendants | Relation::Ancestors | Relation::Dependencies | Relation::Dependents => true,
    }
}

/// The row ids of the related intents, and whether some were left out because there are too many. These are more than one reply
/// shows, because the caller may not be permitted to read all of them.
fn related<R: ReadRows>(rows: &mut R, root: i64, relation: Relation) -> RowsResult<(Vec<i64>, bool)> {
    let limit = u32::try_from(RELATED_MAX + 1).unwrap_or(u32::MAX);
    let needs = |edges: Vec<EdgeRow>| edges.into_iter().map(|edge| edge.needs).collect();
    let needing = |edges: Vec<EdgeRow>| edges.into_iter().map(|edge| edge.intent).collect();
    let mut found: Vec<i64> = match relation {
        Relation::Children | Relation::Ready | Relation::Blocked => {
            needs(rows.needs_of(&[root], Some(EdgeKind::Child), limit)?)
        }
        Relation::Dependencies => needs(rows.needs_of(&[root], Some(EdgeKind::Dependency), limit)?),
        Relation::Dependents => needing(rows.needing(&[root], Some(EdgeKind::Dependency), limit)?),
        Relation::Descendants => {
            let Below { mut rids, truncated, .. } = below(rows, root, Some(EdgeKind::Child))?;
            rids.remove(0);
            rids.sort_unstable();
            return Ok((rids, truncated));
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
    };
    let is_cut = found.len() > RELATED_MAX;
    found.truncate(RELATED_MAX);
    Ok((found, is_cut))
}

/// These intents, by their rows.
fn nodes<R: ReadRows>(rows: &mut R, rids: &[i64]) -> RowsResult<HashMap<i64, (IntentRow, Label)>> {
    Ok(rows.nodes(rids)?.into_iter().map(|(row, label)| (row.rid, (row, label))).collect())
}

/// Intents that are needed, and the edges between them.
struct Below {
    /// The first is the intent at which the search began.
    rids: Vec<i64>,
    edges: Vec<EdgeRow>,
    /// Whether there are more.
    truncated: bool,
}

/// The intents that `root` needs, with those that they need, and so on.
fn below<R: ReadRows>(rows: &mut R, root: i64, kind: Option<EdgeKind>) -> RowsResult<Below> {
    let mut below = Below { rids: vec![root], edges: Vec::new(), truncated: false };
    let mut seen = HashSet::from([root]);
    let mut from = 0;
    while from < below.rids.len() && !below.truncated {
        let part = below.rids[from..].iter().take(GRAPH_AT_ONCE).copied().collect::<Vec<_>>();
        from += part.len();
        let left = EDGES_MAX + 1 - below.edges.len();
        for edge in rows.needs_of(&part, kind, u32::try_from(left).unwrap_or(u32::MAX))? {
            if seen.insert(edge.needs) {
                below.rids.push(edge.needs);
            }
            below.edges.push(edge);
        }
        below.truncated = below.rids.len() > NODES_MAX || below.edges.len() > EDGES_MAX;
    }
    below.rids.truncate(NODES_MAX);
    Ok(below)
}

/// An intent with everything that it needs, directly or through others, as far as the principal may read it.
pub(super) fn graph<R: ReadRows>(rows: &mut R, principal: &Principal, id: IntentId, now: DateTime<Utc>) -> Decided<GraphView> {
    let root = match browsable(rows, principal, id, now)? {
        Ok(row) => row,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let Below { rids, edges, mut truncated } = below(rows, root.rid, None)?;
    let mut found = HashMap::new();
    for part in rids.chunks(GRAPH_AT_ONCE) {
        found.extend(nodes(rows, part)?);
    }
    let unmet = unmet(&edges, &found);
    let mut shown = HashMap::new();
    let (mut views, mut bytes) = (Vec::new(), 0);
    for rid in &rids {
        let Some((row, label)) = found.get(rid) else { continue };
        if !is_shown(rows, principal, row, now)? {
            continue;
        }
        if bytes >= PAGE_BYTES_MAX {
            truncated = true;
            break;
        }
        let view = node(rows, row, label, unmet.get(rid).cloned().unwrap_or_default())?;
        bytes += serde_json::to_vec(&view)?.len();
        views.push(view);
        shown.insert(*rid, row);
    }
    let edge_views = edges.iter().filter_map(|edge| edge_view(edge, &shown)).collect();
    let below = descendants(root.rid, &edges);
    let counted = || rids.iter().filter(|rid| below.contains(rid)).filter_map(|rid| shown.get(rid));
    let waits_for = |row: &IntentRow| unmet.get(&row.rid).map_or(&[][..], Vec::as_slice);
    let aggregate_status = AggregateStatus::of(counted().map(|row| (row.intent.status, 1)))
        .naming(counted().map(|row| (row.intent.id, row.intent.status, waits_for(row))));
    Ok(Ok(GraphView { root_id: id, nodes: views, edges: edge_views, aggregate_status, truncated }))
}

/// For each intent, the dependencies of which it has not been told that they are completed.
fn unmet(edges: &[EdgeRow], found: &HashMap<i64, (IntentRow, Label)>) -> HashMap<i64, Vec<IntentId>> {
    let mut unmet: HashMap<i64, Vec<IntentId>> = HashMap::new();
    for edge in edges.iter().filter(|edge| edge.kind == EdgeKind::Dependency && !edge.is_met) {
        if let Some((row, _)) = found.get(&edge.needs) {
            unmet.entry(edge.intent).or_default().push(row.intent.id);
        }
    }
    unmet
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

fn edge_view(edge: &EdgeRow, shown: &HashMap<i64, &IntentRow>) -> Option<GraphEdgeView> {
    let (intent, needs) = (shown.get(&edge.intent)?.intent.id, shown.get(&edge.needs)?.intent.id);
    // An edge leads from a parent to its child, but from a dependency to the intent that waits for it.
    Some(match edge.kind {
        EdgeKind::Child => GraphEdgeView { from: intent, to: needs, kind: GraphEdgeKind::Parent },
        EdgeKind::Dependency => GraphEdgeView { from: needs, to: intent, kind: GraphEdgeKind::Dependency },
    })
}

fn node<R: ReadRows>(rows: &mut R, row: &IntentRow, label: &Label, blocked_by: Vec<IntentId>) -> RowsResult<GraphNodeView> {
    let mut suspension = None;
    if let Some(open) = row.open_suspension {
        let open = rows.suspension_at(open)?.suspension;
        suspension = Some(WaitingView { suspended_since: open.suspended_at, expires_at: open.expires_at });
    }
    let Label { title, parent_id, depends_on } = label.clone();
    Ok(GraphNodeView {
        id: row.intent.id,
        title,
        status: row.intent.status,
        parent_id,
        depends_on,
        blocked_by,
        blocked_reason: row.intent.blocked_reason(),
        suspension,
    })
}
