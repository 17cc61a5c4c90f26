//! Intents and their bodies.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::base::ids::IntentId;
use domain::base::time::micros;
use domain::intent::body::IntentBody;
use serde_json::{Map, Value};

use super::{Writing, json, json_option};
use crate::filter::IntentFilter;
use crate::rows::{Code, IntentRow, ReadIntents, RowsError, RowsResult, WriteIntents};
use crate::sqlite::columns::{BodyColumns, IntentColumns, signed};
use crate::sqlite::schema::{intent_bodies, intents};
use crate::sqlite::statements as hot;

impl WriteIntents for Writing<'_> {
    fn insert_intent(&mut self, row: &IntentRow, body: &IntentBody) -> RowsResult<()> {
        let intent = &row.intent;
        hot::InsertIntent {
            rid: &row.rid,
            id: intent.id.0.as_bytes(),
            status: &intent.status.code(),
            version: &signed(intent.version),
            creator: &intent.created_by.name,
            creator_owner: &intent.created_by.owner,
            created_at: &micros(intent.created_at),
            updated_at: &micros(intent.updated_at),
        }
        .execute(self.conn)?;
        hot::InsertBody {
            rid: &row.rid,
            title: &body.title,
            description: &body.description,
            created_by: &body.created_by,
            parent: &body.parent_intent_id.map(|id| id.0.as_bytes().to_vec()),
            depends_on: &json(&body.depends_on)?,
            constraints: &json(&body.constraints)?,
            state: &json(&body.state)?,
            governance_policy: &json_option(body.governance_policy.as_ref())?,
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
            updated_at: &micros(row.intent.updated_at),
            open_suspension: &row.open_suspension,
            newest_suspension: &row.newest_suspension,
            has_leases: &row.has_leases,
            last_event: &row.last_event,
            last_sequence: &last_sequence,
            last_hash: row.last_hash.as_ref().map_or(&[], |hash| &hash.0),
            rid: &row.rid,
        }
        .execute(self.conn)?;
        Ok(())
    }

    fn update_state(&mut self, intent: i64, state: &Map<String, Value>) -> RowsResult<()> {
        diesel::update(intent_bodies::table.find(intent)).set(intent_bodies::state.eq(json(state)?)).execute(self.conn)?;
        Ok(())
    }
}

impl ReadIntents for SqliteConnection {
    fn intent(&mut self, id: IntentId) -> RowsResult<Option<IntentRow>> {
        hot::SelectIntent { id: id.0.as_bytes() }
            .get_result::<IntentColumns>(self)
            .optional()?
            .map(IntentColumns::into_row)
            .transpose()
    }

    fn intent_at(&mut self, rid: i64) -> RowsResult<IntentRow> {
        hot::SelectIntentAt { rid: &rid }.get_result::<IntentColumns>(self)?.into_row()
    }

    fn body(&mut self, intent: i64) -> RowsResult<IntentBody> {
        intent_bodies::table.find(intent).get_result::<BodyColumns>(self)?.into_body()
    }

    fn title(&mut self, intent: i64) -> RowsResult<String> {
        Ok(intent_bodies::table.find(intent).select(intent_bodies::title).get_result(self)?)
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
        page.load::<IntentColumns>(self)?.into_iter().map(IntentColumns::into_row).collect()
    }
}
