//! The events of the log.

use chrono::{DateTime, Utc};
use diesel::prelude::*;
use domain::base::ids::IntentId;
use domain::log::Sealed;

use super::Writing;
use crate::columns::sealed_of;
use crate::postgres::proof::Proof;
use crate::postgres::session::Session;
use crate::postgres::statements as hot;
use crate::rows::{EventLink, NewEvent, ReadEvents, RowsResult, WriteEvents};
use crate::schema::{events, intents};
use crate::sql::{At, Key};

impl WriteEvents for Writing<'_> {
    fn insert_event(&mut self, event: &NewEvent<'_>) -> RowsResult<()> {
        let hash = event.sealed.hash.0.to_vec();
        self.session.proof = Some(Proof::Event { rid: event.rid, hash: hash.clone() });
        let write = hot::InsertEvent {
            rid: event.rid,
            intent: event.intent,
            previous: event.previous,
            event_type: event.event_type.to_owned(),
            created_at: At(event.created_at),
            bytes: event.sealed.bytes.clone(),
            hash,
        };
        self.session.later(write, None)
    }
}

impl ReadEvents for Session {
    fn event_link(&mut self, rid: i64) -> RowsResult<EventLink> {
        let columns = (events::event_type, events::created_at, events::previous);
        let (event_type, created_at, previous) = events::table.find(rid).select(columns).first(self.conn()?)?;
        let At(created_at) = created_at;
        Ok(EventLink { event_type, created_at, previous })
    }

    fn intent_of_event(&mut self, rid: i64) -> RowsResult<IntentId> {
        let intent: i64 = events::table.find(rid).select(events::intent).first(self.conn()?)?;
        Ok(IntentId(intents::table.find(intent).select(intents::id).first::<Key>(self.conn()?)?.0))
    }

    fn stored_event(&mut self, rid: i64) -> RowsResult<Sealed> {
        if let Some(asked) = self.prefetched.question(rid) {
            return Ok(asked);
        }
        sealed_of(events::table.find(rid).select((events::bytes, events::hash)).first(self.conn()?)?)
    }

    /// Compares the times of all events: ids are drawn in blocks, so the newest event need not have the highest id. That is slow,
    /// but it is done only if no server ever left a sign of life.
    fn newest_event_at(&mut self) -> RowsResult<Option<DateTime<Utc>>> {
        Ok(events::table.select(diesel::dsl::max(events::created_at)).first::<Option<At>>(self.conn()?)?.map(|at| at.0))
    }
}
