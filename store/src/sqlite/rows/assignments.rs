//! Agents that work on an intent beside its creator.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;

use super::Writing;
use crate::columns::IntentColumns;
use crate::filter::IntentFilter;
use crate::rows::{Code, IntentRow, ReadAssignments, RowsResult, WriteAssignments};
use crate::schema::{assignments, intents};

impl WriteAssignments for Writing<'_> {
    fn save_assignment(&mut self, intent: i64, agent_id: &str, event: i64) -> RowsResult<()> {
        let new = (assignments::intent.eq(intent), assignments::agent_id.eq(agent_id), assignments::event.eq(event));
        let saved = diesel::insert_into(assignments::table).values(new);
        let saved = saved.on_conflict((assignments::intent, assignments::agent_id)).do_update().set(assignments::event.eq(event));
        saved.execute(self.conn)?;
        Ok(())
    }

    fn delete_assignment(&mut self, intent: i64, agent_id: &str) -> RowsResult<()> {
        diesel::delete(assignments::table.find((intent, agent_id))).execute(self.conn)?;
        Ok(())
    }
}

impl ReadAssignments for SqliteConnection {
    fn assigned(&mut self, intent: i64) -> RowsResult<Vec<String>> {
        let of_intent = assignments::table.filter(assignments::intent.eq(intent)).select(assignments::agent_id);
        Ok(of_intent.order(assignments::agent_id).load(self)?)
    }

    fn assigning_event(&mut self, intent: i64, agent_id: &str) -> RowsResult<Option<i64>> {
        Ok(assignments::table.find((intent, agent_id)).select(assignments::event).first(self).optional()?)
    }

    fn assigned_intents(&mut self, names: &[String], filter: &IntentFilter) -> RowsResult<Vec<IntentRow>> {
        let joined = assignments::table.inner_join(intents::table.on(intents::rid.eq(assignments::intent)));
        let mut query = joined.filter(assignments::agent_id.eq_any(names)).select(IntentColumns::selection()).into_boxed();
        if let Some(status) = filter.status {
            query = query.filter(intents::status.eq(status.code()));
        }
        if let Some(before) = filter.before {
            query = query.filter(assignments::intent.lt(before));
        }
        let page = query.order(assignments::intent.desc()).limit(i64::from(filter.limit));
        page.load::<IntentColumns>(self)?.into_iter().map(IntentColumns::into_row).collect()
    }
}
