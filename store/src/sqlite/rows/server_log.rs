//! The server's own log, and the row that holds its end.

use chrono::{DateTime, Utc};
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::log::{Hash, Sealed};

use super::Writing;
use crate::columns::sealed_of;
use crate::rows::{ReadServerLog, RowsError, RowsResult, ServerHead, WriteServerLog};
use crate::schema::{server_events, server_log};
use crate::sql::At;

impl WriteServerLog for Writing<'_> {
    /// Takes no lock: there is only one writer, so no other transaction can append to the log.
    fn lock_server_log(&mut self) -> RowsResult<ServerHead> {
        let first = (server_log::rid.eq(1), server_log::last_sequence.eq(0));
        diesel::insert_into(server_log::table).values(first).on_conflict_do_nothing().execute(self.conn)?;
        let columns = (server_log::last_sequence, server_log::last_hash, server_log::last_at);
        let end = server_log::table.find(1).select(columns);
        let (sequence, hash, at) = end.get_result::<(i64, Option<Vec<u8>>, Option<At>)>(self.conn)?;
        let sequence = u64::try_from(sequence).map_err(|_| RowsError::Inconsistent("a negative sequence number"))?;
        let hash = hash.map(<[u8; 32]>::try_from).transpose();
        let hash = hash.map_err(|_| RowsError::Inconsistent("a hash of the wrong length"))?.map(Hash);
        Ok(ServerHead { sequence, hash, at: at.map(|at| at.0) })
    }

    fn insert_server_event(
        &mut self,
        sequence: u64,
        event_type: &str,
        created_at: DateTime<Utc>,
        sealed: &Sealed,
    ) -> RowsResult<()> {
        let sequence = i64::try_from(sequence).map_err(|_| RowsError::Inconsistent("a sequence number beyond all numbers"))?;
        let event = (
            server_events::sequence.eq(sequence),
            server_events::event_type.eq(event_type),
            server_events::created_at.eq(At(created_at)),
            server_events::bytes.eq(&sealed.bytes),
            server_events::hash.eq(sealed.hash.0.to_vec()),
        );
        diesel::insert_into(server_events::table).values(event).execute(self.conn)?;
        let end = (
            server_log::last_sequence.eq(sequence),
            server_log::last_hash.eq(sealed.hash.0.to_vec()),
            server_log::last_at.eq(At(created_at)),
        );
        diesel::update(server_log::table.find(1)).set(end).execute(self.conn)?;
        Ok(())
    }
}

impl ReadServerLog for SqliteConnection {
    fn server_events(&mut self, after: u64, limit: u32) -> RowsResult<Vec<Sealed>> {
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let found = server_events::table.filter(server_events::sequence.gt(after)).order(server_events::sequence);
        let found = found.limit(i64::from(limit)).select((server_events::bytes, server_events::hash));
        found.load(self)?.into_iter().map(sealed_of).collect()
    }

    fn newest_server_events(&mut self, after: i64, limit: u32) -> RowsResult<Vec<(i64, String)>> {
        let found = server_events::table.filter(server_events::sequence.gt(after)).order(server_events::sequence.desc());
        let found = found.limit(i64::from(limit)).select((server_events::sequence, server_events::event_type));
        Ok(found.load(self)?)
    }
}
