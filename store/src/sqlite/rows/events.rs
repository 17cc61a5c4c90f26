//! The events of the log.

use chrono::{DateTime, Utc};
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::base::ids::IntentId;
use domain::log::Sealed;

use super::Writing;
use crate::columns::sealed_of;
use crate::rows::{EventLink, NewEvent, ReadEvents, RowsResult, WriteEvents};
use crate::schema::{events, intents};
use crate::sql::{At, Key};
use crate::sqlite::statements as hot;

impl WriteEvents for Writing<'_> {
    fn insert_event(&mut self, event: &NewEvent<'_>) -> RowsResult<()> {
        hot::InsertEvent {
            rid: &event.rid,
            intent: &event.intent,
            previous: &event.previous,
            event_type: event.event_type,
            created_at: &At(event.created_at),
            bytes: &event.sealed.bytes,
            hash: &event.sealed.hash.0,
        }
        .execute(self.conn)?;
        Ok(())
    }
}

impl ReadEvents for SqliteConnection {
    fn event_link(&mut self, rid: i64) -> RowsResult<EventLink> {
        let columns = (events::event_type, events::created_at, events::previous);
        let (event_type, created_at, previous) =
            events::table.find(rid).select(columns).get_result::<(String, At, Option<i64>)>(self)?;
        Ok(EventLink { event_type, created_at: created_at.0, previous })
    }

    fn intent_of_event(&mut self, rid: i64) -> RowsResult<IntentId> {
        let intent: i64 = events::table.find(rid).select(events::intent).first(self)?;
        Ok(IntentId(intents::table.find(intent).select(intents::id).first::<Key>(self)?.0))
    }

    fn stored_event(&mut self, rid: i64) -> RowsResult<Sealed> {
        sealed_of(events::table.find(rid).select((events::bytes, events::hash)).get_result(self)?)
    }

    fn newest_event_at(&mut self) -> RowsResult<Option<DateTime<Utc>>> {
        let newest = events::table.order(events::rid.desc()).select(events::created_at).first::<At>(self).optional()?;
        Ok(newest.map(|at| at.0))
    }
}
