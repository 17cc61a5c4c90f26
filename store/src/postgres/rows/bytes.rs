//! How much each agent has written on a day.

use diesel::prelude::*;

use super::Writing;
use crate::postgres::session::Session;
use crate::postgres::statements as hot;
use crate::rows::{ReadBytes, RowsResult, WriteBytes};
use crate::schema::agent_bytes;

impl WriteBytes for Writing<'_> {
    fn add_agent_bytes(&mut self, agent: &str, day: i32, bytes: i64) -> RowsResult<()> {
        self.session.later(hot::AddAgentBytes { agent: agent.to_owned(), day, bytes }, None)
    }

    fn forget_agent_bytes_before(&mut self, day: i32) -> RowsResult<()> {
        diesel::delete(agent_bytes::table.filter(agent_bytes::day.lt(day))).execute(self.session.conn()?)?;
        Ok(())
    }
}

impl ReadBytes for Session {
    fn agent_bytes(&mut self, agent: &str, day: i32) -> RowsResult<u64> {
        let bytes: i64 = hot::SelectAgentBytes { agent: agent.to_owned(), day }.get_result(self.conn()?)?;
        Ok(u64::try_from(bytes).unwrap_or_default())
    }
}
