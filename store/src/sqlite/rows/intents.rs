//! Intents and their bodies.

use chrono::{DateTime, Utc};
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::base::ids::IntentId;
use domain::intent::body::IntentBody;
use domain::intent::status::Status;
use serde_json::{Map, Value};

use super::Writing;
use crate::columns::{BodyColumns, IntentColumns, signed};
use crate::filter::IntentFilter;
use crate::rows::{Code, IntentRow, ReadIntents, RowsError, RowsResult, WriteIntents};
use crate::schema::{intent_bodies, intents};
use crate::sql::{At, Json, Key, Owned, Said, Written, written};
use crate::sqlite::statements as hot;

impl WriteIntents for Writing<'_> {
    fn insert_intent(&mut self, row: &IntentRow, body: &IntentBody) -> RowsResult<()> {
        let intent = &row.intent;
        hot::InsertIntent {
            rid: &row.rid,
            id: &Key(intent.id.0),
            status: &intent.status.code(),
            version: &signed(intent.version),
            creator: &intent.created_by.name,
            creator_owner: &Owned(intent.created_by.owner.clone()),
            created_at: &At(intent.created_at),
            updated_at: &At(intent.updated_at),
        }
        .execute(self.conn)?;
        hot::InsertBody {
            rid: &row.rid,
            title: &Said(body.title.clone()),
            description: &Said(body.description.clone()),
            created_by: &Said(body.created_by.clone()),
            parent: &body.parent_intent_id.map(|id| Key(id.0)),
            depends_on: &Written::of(&body.depends_on)?,
            constraints: &Written::of(&body.constraints)?,
            state: &Written::of(&body.state)?,
            governance_policy: &written(body.governance_policy.as_ref())?,
            confidence: &body.confidence,
        }
        .execute(self.conn)?;
        Ok(())
    }

    fn update_intent(&mut self, row: &IntentRow) -> RowsResult<()> {
        let last_sequence = i64::try_from(row.last_sequence).map_err(|_| RowsError::Inconsistent("too many events"))?;
        hot::UpdateIntent {
            status: &row.intent.status.code(),
            version: &signed(row.intent.version),
            updated_at: &At(row.intent.updated_at),
            open_suspension: &row.open_suspension,
            newest_suspension: &row.newest_suspension,
            has_leases: &row.has_leases,
            unmet: &signed(row.intent.unmet),
            is_held: &row.intent.is_held,
            is_grouped: &row.intent.is_grouped,
            has_tasks: &row.intent.has_tasks,
            last_event: &row.last_event,
            last_sequence: &last_sequence,
            last_hash: row.last_hash.as_ref().map_or(&[], |hash| &hash.0),
            rid: &row.rid,
        }
        .execute(self.conn)?;
        Ok(())
    }

    fn update_policy(&mut self, intent: i64, policy: Option<&Value>) -> RowsResult<()> {
        let policy = (intent_bodies::governance_policy.eq(written(policy)?), intent_bodies::spent.eq(None::<f64>));
        diesel::update(intent_bodies::table.find(intent)).set(policy).execute(self.conn)?;
        Ok(())
    }

    fn update_spent(&mut self, intent: i64, spent: f64) -> RowsResult<()> {
        diesel::update(intent_bodies::table.find(intent)).set(intent_bodies::spent.eq(spent)).execute(self.conn)?;
        Ok(())
    }

    fn update_state(&mut self, intent: i64, state: &Map<String, Value>) -> RowsResult<()> {
        diesel::update(intent_bodies::table.find(intent)).set(intent_bodies::state.eq(Written::of(state)?)).execute(self.conn)?;
        Ok(())
    }
}

impl ReadIntents for SqliteConnection {
    fn intent(&mut self, id: IntentId) -> RowsResult<Option<IntentRow>> {
        hot::SelectIntent { id: &Key(id.0) }
            .get_result::<IntentColumns>(self)
            .optional()?
            .map(IntentColumns::into_row)
            .transpose()
    }

    fn intent_at(&mut self, rid: i64) -> RowsResult<IntentRow> {
        hot::SelectIntentAt { rid: &rid }.get_result::<IntentColumns>(self)?.into_row()
    }

    fn body(&mut self, intent: i64) -> RowsResult<IntentBody> {
        let found = intent_bodies::table.find(intent).select(BodyColumns::selection());
        Ok(found.get_result::<BodyColumns>(self)?.into_body())
    }

    fn policy(&mut self, intent: i64) -> RowsResult<Option<Value>> {
        let policy = intent_bodies::table.find(intent).select(intent_bodies::governance_policy);
        Ok(policy.get_result::<Option<Json<Value>>>(self)?.map(|policy| policy.0))
    }

    fn spent(&mut self, intent: i64) -> RowsResult<Option<f64>> {
        Ok(intent_bodies::table.find(intent).select(intent_bodies::spent).get_result(self)?)
    }

    fn title(&mut self, intent: i64) -> RowsResult<String> {
        Ok(intent_bodies::table.find(intent).select(intent_bodies::title).get_result::<Said>(self)?.0)
    }

    fn ended_in(&mut self, after: i64, up_to: i64, before: DateTime<Utc>) -> RowsResult<Vec<i64>> {
        let page = intents::table.filter(intents::rid.gt(after)).filter(intents::rid.le(up_to));
        let ended = intents::status.eq_any([Status::Completed.code(), Status::Abandoned.code()]);
        let found = page.filter(ended).filter(intents::updated_at.lt(At(before))).order(intents::rid);
        Ok(found.select(intents::rid).load(self)?)
    }

    fn newest_intent(&mut self) -> RowsResult<i64> {
        Ok(intents::table.select(diesel::dsl::max(intents::rid)).get_result::<Option<i64>>(self)?.unwrap_or(0))
    }

    fn intents(&mut self, creator: Option<&str>, filter: IntentFilter) -> RowsResult<Vec<IntentRow>> {
        let mut query = intents::table.into_boxed();
        if let Some(creator) = creator {
            query = query.filter(intents::creator.eq(creator));
        }
        if let Some(status) = filter.status {
            query = query.filter(intents::status.eq(status.code()));
        }
        if let Some(before) = filter.before {
            query = query.filter(intents::rid.lt(before));
        }
        let page = query.order(intents::rid.desc()).limit(i64::from(filter.limit)).offset(i64::from(filter.offset));
        page.select(IntentColumns::selection()).load::<IntentColumns>(self)?.into_iter().map(IntentColumns::into_row).collect()
    }
}
