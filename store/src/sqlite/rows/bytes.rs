//! How much each agent has written on a day.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;

use super::Writing;
use crate::rows::{ReadBytes, RowsResult, WriteBytes};
use crate::schema::agent_bytes;
use crate::sqlite::statements as hot;

impl WriteBytes for Writing<'_> {
    fn add_agent_bytes(&mut self, agent: &str, day: i32, bytes: i64) -> RowsResult<()> {
        hot::AddAgentBytes { agent, day: &day, bytes: &bytes }.execute(self.conn)?;
        Ok(())
    }

    fn forget_agent_bytes_before(&mut self, day: i32) -> RowsResult<()> {
        diesel::delete(agent_bytes::table.filter(agent_bytes::day.lt(day))).execute(self.conn)?;
        Ok(())
    }
}

impl ReadBytes for SqliteConnection {
    fn agent_bytes(&mut self, agent: &str, day: i32) -> RowsResult<u64> {
        let bytes: i64 = hot::SelectAgentBytes { agent, day: &day }.get_result(self)?;
        Ok(u64::try_from(bytes).unwrap_or_default())
    }
}
