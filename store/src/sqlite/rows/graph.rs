//! Which intent needs which, and the completed intents of which some dependents have not learned yet.

use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel::sqlite::SqliteConnection;
use domain::base::ids::IntentId;
use domain::intent::status::Status;

use super::Writing;
use crate::columns::IntentColumns;
use crate::rows::{Code, Counted, EdgeKind, EdgeRow, HELD_UP, IntentRow, Label, ReadGraph, RowsError, RowsResult, WriteGraph};
use crate::schema::{access_entries, assignments, completions, graph_edges, intent_bodies, intents};
use crate::sql::{Json, Key, Said, Written};

fn edge_row((intent, kind, needs, is_met): (i64, i32, i64, bool)) -> RowsResult<EdgeRow> {
    Ok(EdgeRow { intent, kind: Code::from_code(kind)?, needs, is_met })
}

/// The title of an intent, its parent and its dependencies.
type LabelColumns = (Said, Option<Key>, Json<Vec<IntentId>>);

fn node((intent, (title, parent, depends_on)): (IntentColumns, LabelColumns)) -> RowsResult<(IntentRow, Label)> {
    let parent_id = parent.map(|id| IntentId(id.0));
    Ok((intent.into_row()?, Label { title: title.0, parent_id, depends_on: depends_on.0 }))
}

impl WriteGraph for Writing<'_> {
    fn lock_graph(&mut self) -> RowsResult<()> {
        // A file has one writer.
        Ok(())
    }

    fn insert_edge(&mut self, edge: EdgeRow) -> RowsResult<()> {
        let row = (
            graph_edges::intent.eq(edge.intent),
            graph_edges::kind.eq(edge.kind.code()),
            graph_edges::needs.eq(edge.needs),
            graph_edges::is_met.eq(edge.is_met),
        );
        diesel::insert_into(graph_edges::table).values(row).execute(self.conn)?;
        Ok(())
    }

    fn delete_dependency(&mut self, intent: i64, needs: i64) -> RowsResult<()> {
        let edge = graph_edges::table.find((intent, EdgeKind::Dependency.code(), needs));
        diesel::delete(edge).execute(self.conn)?;
        Ok(())
    }

    fn meet_dependency(&mut self, intent: i64, needs: i64) -> RowsResult<()> {
        let edge = graph_edges::table.find((intent, EdgeKind::Dependency.code(), needs));
        diesel::update(edge).set(graph_edges::is_met.eq(true)).execute(self.conn)?;
        Ok(())
    }

    fn update_depends_on(&mut self, intent: i64, depends_on: &[IntentId]) -> RowsResult<()> {
        let list = intent_bodies::depends_on.eq(Written::of(&depends_on)?);
        diesel::update(intent_bodies::table.find(intent)).set(list).execute(self.conn)?;
        Ok(())
    }

    fn insert_completion(&mut self, intent: i64) -> RowsResult<()> {
        let row = diesel::insert_into(completions::table).values(completions::intent.eq(intent));
        row.on_conflict_do_nothing().execute(self.conn)?;
        Ok(())
    }

    fn delete_completion(&mut self, intent: i64) -> RowsResult<()> {
        diesel::delete(completions::table.find(intent)).execute(self.conn)?;
        Ok(())
    }
}

impl ReadGraph for SqliteConnection {
    fn dependency(&mut self, intent: i64, needs: i64) -> RowsResult<Option<bool>> {
        let edge = graph_edges::table.find((intent, EdgeKind::Dependency.code(), needs)).select(graph_edges::is_met);
        Ok(edge.first(self).optional()?)
    }

    fn depends_on(&mut self, intent: i64) -> RowsResult<Vec<IntentId>> {
        let list = intent_bodies::table.find(intent).select(intent_bodies::depends_on);
        Ok(list.first::<Json<Vec<IntentId>>>(self)?.0)
    }

    fn nodes(&mut self, rids: &[i64]) -> RowsResult<Vec<(IntentRow, Label)>> {
        let joined = intents::table.inner_join(intent_bodies::table.on(intent_bodies::rid.eq(intents::rid)));
        let label = (intent_bodies::title, intent_bodies::parent, intent_bodies::depends_on);
        let found = joined.filter(intents::rid.eq_any(rids.to_vec())).select((IntentColumns::selection(), label));
        let found = found.load::<(IntentColumns, LabelColumns)>(self)?;
        found.into_iter().map(node).collect()
    }

    fn near(&mut self, intent: i64, names: &[String], limit: u32) -> RowsResult<Vec<i64>> {
        let may = || {
            let assigned = assignments::table.filter(assignments::agent_id.eq_any(names)).select(assignments::intent);
            let entered = access_entries::table.filter(access_entries::principal_id.eq_any(names)).select(access_entries::intent);
            intents::creator.eq_any(names).or(intents::rid.eq_any(assigned)).or(intents::rid.eq_any(entered))
        };
        // Each query begins at the edges of the one intent, because the table of intents is large.
        let depends = graph_edges::table.inner_join(intents::table.on(intents::rid.eq(graph_edges::intent)));
        let depends = depends.filter(graph_edges::needs.eq(intent)).filter(graph_edges::kind.eq(EdgeKind::Dependency.code()));
        let mut near = depends.filter(may()).limit(i64::from(limit)).select(intents::rid).load::<i64>(self)?;
        let children = graph_edges::table.inner_join(intents::table.on(intents::rid.eq(graph_edges::needs)));
        let children = children.filter(graph_edges::intent.eq(intent)).filter(graph_edges::kind.eq(EdgeKind::Child.code()));
        near.extend(children.filter(may()).limit(i64::from(limit)).select(intents::rid).load::<i64>(self)?);
        Ok(near)
    }

    fn unfinished(&mut self, intent: i64, children: bool, limit: u32) -> RowsResult<Vec<(IntentId, Status)>> {
        let edges = graph_edges::table.inner_join(intents::table.on(intents::rid.eq(graph_edges::needs)));
        let mut edges = edges.filter(graph_edges::intent.eq(intent)).into_boxed();
        let is_dependency = graph_edges::kind.eq(EdgeKind::Dependency.code());
        let is_unmet = is_dependency.and(graph_edges::is_met.eq(false));
        edges = if children {
            let is_child = graph_edges::kind.eq(EdgeKind::Child.code());
            edges.filter(is_unmet.or(is_child.and(intents::status.ne(Status::Completed.code()))))
        } else {
            edges.filter(is_unmet)
        };
        let edges = edges.order((graph_edges::kind, graph_edges::needs)).limit(i64::from(limit));
        let found = edges.select((intents::id, intents::status)).load::<(Key, i32)>(self)?;
        found.into_iter().map(|(id, status)| Ok((IntentId(id.0), Code::from_code(status)?))).collect()
    }

    fn needs_of(&mut self, of: &[i64], kind: Option<EdgeKind>, limit: u32) -> RowsResult<Vec<EdgeRow>> {
        let mut edges = graph_edges::table.filter(graph_edges::intent.eq_any(of.to_vec())).into_boxed();
        if let Some(kind) = kind {
            edges = edges.filter(graph_edges::kind.eq(kind.code()));
        }
        let edges = edges.order((graph_edges::needs, graph_edges::intent)).limit(i64::from(limit));
        let edges = edges.select((graph_edges::intent, graph_edges::kind, graph_edges::needs, graph_edges::is_met));
        edges.load::<(i64, i32, i64, bool)>(self)?.into_iter().map(edge_row).collect()
    }

    fn needing(&mut self, needs: &[i64], kind: Option<EdgeKind>, limit: u32) -> RowsResult<Vec<EdgeRow>> {
        let mut edges = graph_edges::table.filter(graph_edges::needs.eq_any(needs.to_vec())).into_boxed();
        if let Some(kind) = kind {
            edges = edges.filter(graph_edges::kind.eq(kind.code()));
        }
        let edges = edges.order((graph_edges::intent, graph_edges::needs)).limit(i64::from(limit));
        let edges = edges.select((graph_edges::intent, graph_edges::kind, graph_edges::needs, graph_edges::is_met));
        edges.load::<(i64, i32, i64, bool)>(self)?.into_iter().map(edge_row).collect()
    }

    fn waiting(&mut self, needs: i64, limit: u32) -> RowsResult<Vec<i64>> {
        let edges = graph_edges::table.filter(graph_edges::needs.eq(needs)).filter(graph_edges::is_met.eq(false));
        let edges = edges.filter(graph_edges::kind.eq(EdgeKind::Dependency.code()));
        let edges = edges.order(graph_edges::intent).limit(i64::from(limit));
        Ok(edges.select(graph_edges::intent).load(self)?)
    }

    fn held_up(&mut self, needs: i64, limit: u32) -> RowsResult<u32> {
        let counted = diesel::sql_query(HELD_UP).bind::<BigInt, _>(needs).bind::<BigInt, _>(i64::from(limit));
        let count = counted.get_result::<Counted>(self)?.count;
        u32::try_from(count).map_err(|_| RowsError::Inconsistent("a negative count"))
    }

    fn completions(&mut self, limit: u32) -> RowsResult<Vec<i64>> {
        let completed = completions::table.order(completions::intent).limit(i64::from(limit));
        Ok(completed.select(completions::intent).load(self)?)
    }
}
