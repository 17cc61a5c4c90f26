//! Which intent needs which, and the completed intents of which some dependents have not learned yet.

use diesel::prelude::*;
use domain::base::ids::IntentId;
use domain::intent::status::Status;

use super::Writing;
use crate::postgres::session::Session;
use crate::rows::{Code, EdgeKind, EdgeRow, Label, ReadGraph, RowsResult, WriteGraph};
use crate::schema::{completions, graph_edges, intent_bodies, intents};
use crate::sql::{Json, Key, Said, Written};

/// The advisory lock of the graph. The first number spells "plao" in ASCII; only this lock has it.
const LOCK_GRAPH: &str = "SELECT pg_advisory_xact_lock(1886151023, 0)";

fn edge_row((needer, kind, needed): (i64, i32, i64)) -> RowsResult<EdgeRow> {
    Ok(EdgeRow { needer, kind: Code::from_code(kind)?, needed })
}

impl WriteGraph for Writing<'_> {
    fn lock_graph(&mut self) -> RowsResult<()> {
        diesel::sql_query(LOCK_GRAPH).execute(self.session.conn()?)?;
        Ok(())
    }

    fn insert_edge(&mut self, edge: EdgeRow, is_met: bool) -> RowsResult<()> {
        let row = (
            graph_edges::needer.eq(edge.needer),
            graph_edges::kind.eq(edge.kind.code()),
            graph_edges::needed.eq(edge.needed),
            graph_edges::is_met.eq(is_met),
        );
        diesel::insert_into(graph_edges::table).values(row).execute(self.session.conn()?)?;
        Ok(())
    }

    fn delete_dependency(&mut self, needer: i64, needed: i64) -> RowsResult<()> {
        let edge = graph_edges::table.find((needer, EdgeKind::Dependency.code(), needed));
        diesel::delete(edge).execute(self.session.conn()?)?;
        Ok(())
    }

    fn meet_dependency(&mut self, needer: i64, needed: i64) -> RowsResult<()> {
        let edge = graph_edges::table.find((needer, EdgeKind::Dependency.code(), needed));
        diesel::update(edge).set(graph_edges::is_met.eq(true)).execute(self.session.conn()?)?;
        Ok(())
    }

    fn update_depends_on(&mut self, intent: i64, depends_on: &[IntentId]) -> RowsResult<()> {
        let list = intent_bodies::depends_on.eq(Written::of(&depends_on)?);
        diesel::update(intent_bodies::table.find(intent)).set(list).execute(self.session.conn()?)?;
        Ok(())
    }

    fn insert_completion(&mut self, intent: i64) -> RowsResult<()> {
        let row = diesel::insert_into(completions::table).values(completions::intent.eq(intent));
        row.on_conflict_do_nothing().execute(self.session.conn()?)?;
        Ok(())
    }

    fn delete_completion(&mut self, intent: i64) -> RowsResult<()> {
        diesel::delete(completions::table.find(intent)).execute(self.session.conn()?)?;
        Ok(())
    }
}

impl ReadGraph for Session {
    fn dependency(&mut self, needer: i64, needed: i64) -> RowsResult<Option<bool>> {
        let edge = graph_edges::table.find((needer, EdgeKind::Dependency.code(), needed)).select(graph_edges::is_met);
        Ok(edge.first(self.conn()?).optional()?)
    }

    fn depends_on(&mut self, intent: i64) -> RowsResult<Vec<IntentId>> {
        let list = intent_bodies::table.find(intent).select(intent_bodies::depends_on);
        Ok(list.first::<Json<Vec<IntentId>>>(self.conn()?)?.0)
    }

    fn label(&mut self, intent: i64) -> RowsResult<Label> {
        let body = intent_bodies::table.find(intent);
        let label = body.select((intent_bodies::title, intent_bodies::parent, intent_bodies::depends_on));
        let (title, parent, depends_on) = label.first::<(Said, Option<Key>, Json<Vec<IntentId>>)>(self.conn()?)?;
        Ok(Label { title: title.0, parent_id: parent.map(|id| IntentId(id.0)), depends_on: depends_on.0 })
    }

    fn unfinished(&mut self, intent: i64, children: bool, limit: u32) -> RowsResult<Vec<(IntentId, Status)>> {
        let edges = graph_edges::table.inner_join(intents::table.on(intents::rid.eq(graph_edges::needed)));
        let mut edges = edges.filter(graph_edges::needer.eq(intent)).into_boxed();
        let is_dependency = graph_edges::kind.eq(EdgeKind::Dependency.code());
        let is_unmet = is_dependency.and(graph_edges::is_met.eq(false));
        edges = if children {
            let is_child = graph_edges::kind.eq(EdgeKind::Child.code());
            edges.filter(is_unmet.or(is_child.and(intents::status.ne(Status::Completed.code()))))
        } else {
            edges.filter(is_unmet)
        };
        let edges = edges.order((graph_edges::kind, graph_edges::needed)).limit(i64::from(limit));
        let found = edges.select((intents::id, intents::status)).load::<(Key, i32)>(self.conn()?)?;
        found.into_iter().map(|(id, status)| Ok((IntentId(id.0), Code::from_code(status)?))).collect()
    }

    fn needed_by(&mut self, needers: &[i64], kind: Option<EdgeKind>, limit: u32) -> RowsResult<Vec<EdgeRow>> {
        let mut edges = graph_edges::table.filter(graph_edges::needer.eq_any(needers.to_vec())).into_boxed();
        if let Some(kind) = kind {
            edges = edges.filter(graph_edges::kind.eq(kind.code()));
        }
        let edges = edges.order((graph_edges::needed, graph_edges::needer)).limit(i64::from(limit));
        let edges = edges.select((graph_edges::needer, graph_edges::kind, graph_edges::needed));
        edges.load::<(i64, i32, i64)>(self.conn()?)?.into_iter().map(edge_row).collect()
    }

    fn needers_of(&mut self, needed: &[i64], kind: Option<EdgeKind>, limit: u32) -> RowsResult<Vec<EdgeRow>> {
        let mut edges = graph_edges::table.filter(graph_edges::needed.eq_any(needed.to_vec())).into_boxed();
        if let Some(kind) = kind {
            edges = edges.filter(graph_edges::kind.eq(kind.code()));
        }
        let edges = edges.order((graph_edges::needer, graph_edges::needed)).limit(i64::from(limit));
        let edges = edges.select((graph_edges::needer, graph_edges::kind, graph_edges::needed));
        edges.load::<(i64, i32, i64)>(self.conn()?)?.into_iter().map(edge_row).collect()
    }

    fn waiting(&mut self, needed: i64, limit: u32) -> RowsResult<Vec<i64>> {
        let edges = graph_edges::table.filter(graph_edges::needed.eq(needed)).filter(graph_edges::is_met.eq(false));
        let edges = edges.filter(graph_edges::kind.eq(EdgeKind::Dependency.code()));
        let edges = edges.order(graph_edges::needer).limit(i64::from(limit));
        Ok(edges.select(graph_edges::needer).load(self.conn()?)?)
    }

    fn completions(&mut self, limit: u32) -> RowsResult<Vec<i64>> {
        let completed = completions::table.order(completions::intent).limit(i64::from(limit));
        Ok(completed.select(completions::intent).load(self.conn()?)?)
    }
}
