//! Leases of coordinators.

use chrono::{DateTime, Utc};
use diesel::prelude::*;
use domain::base::ids::CoordinatorId;
use domain::container::coordinator::{Coordinator, CoordinatorBody};

use super::Writing;
use crate::postgres::session::Session;
use crate::rows::{ReadCoordinators, RowsError, RowsResult, WriteCoordinators};
use crate::schema::coordinators;
use crate::sql::{At, Json, Key, Written};

impl WriteCoordinators for Writing<'_> {
    fn insert_coordinator(&mut self, intent: i64, lease: &Coordinator, body: &CoordinatorBody) -> RowsResult<()> {
        let row = (
            coordinators::id.eq(Key(lease.id.0)),
            coordinators::intent.eq(intent),
            coordinators::facts.eq(Written::of(lease)?),
            coordinators::body.eq(Written::of(body)?),
            coordinators::due_at.eq(lease.due_at().map(At)),
        );
        diesel::insert_into(coordinators::table).values(row).execute(self.session.conn()?)?;
        Ok(())
    }

    fn update_coordinator(&mut self, lease: &Coordinator, due_at: Option<DateTime<Utc>>) -> RowsResult<()> {
        let row = (coordinators::facts.eq(Written::of(lease)?), coordinators::due_at.eq(due_at.map(At)));
        diesel::update(coordinators::table.filter(coordinators::id.eq(Key(lease.id.0))))
            .set(row)
            .execute(self.session.conn()?)?;
        Ok(())
    }

    fn move_coordinator(&mut self, id: CoordinatorId, due_at: Option<DateTime<Utc>>) -> RowsResult<()> {
        let due_at = coordinators::due_at.eq(due_at.map(At));
        diesel::update(coordinators::table.filter(coordinators::id.eq(Key(id.0)))).set(due_at).execute(self.session.conn()?)?;
        Ok(())
    }
}

impl ReadCoordinators for Session {
    fn coordinator(&mut self, id: CoordinatorId) -> RowsResult<Option<(i64, Coordinator, CoordinatorBody)>> {
        let found = coordinators::table.filter(coordinators::id.eq(Key(id.0)));
        let found = found.select((coordinators::intent, coordinators::facts, coordinators::body));
        let found = found.first::<(i64, Json<Coordinator>, Json<CoordinatorBody>)>(self.conn()?).optional()?;
        Ok(found.map(|(intent, lease, body)| (intent, lease.0, body.0)))
    }

    fn newest_coordinator(&mut self, intent: i64) -> RowsResult<Option<Coordinator>> {
        let of_intent = coordinators::table.filter(coordinators::intent.eq(intent));
        let newest = of_intent.order(coordinators::rid.desc()).select(coordinators::facts);
        Ok(newest.first::<Json<Coordinator>>(self.conn()?).optional()?.map(|lease| lease.0))
    }

    fn coordinator_count(&mut self, intent: i64) -> RowsResult<usize> {
        let count = coordinators::table.filter(coordinators::intent.eq(intent)).count().get_result::<i64>(self.conn()?)?;
        usize::try_from(count).map_err(|_| RowsError::Inconsistent("a negative count"))
    }

    fn coordinators(&mut self, intent: i64, limit: u32) -> RowsResult<Vec<(Coordinator, CoordinatorBody)>> {
        let of_intent = coordinators::table.filter(coordinators::intent.eq(intent));
        let newest = of_intent.order(coordinators::rid.desc()).limit(i64::from(limit));
        let newest = newest.select((coordinators::facts, coordinators::body));
        let newest = newest.load::<(Json<Coordinator>, Json<CoordinatorBody>)>(self.conn()?)?;
        Ok(newest.into_iter().rev().map(|(lease, body)| (lease.0, body.0)).collect())
    }

    fn due_coordinators(&mut self, now: DateTime<Utc>, limit: u32) -> RowsResult<Vec<(i64, CoordinatorId)>> {
        let due = coordinators::table.filter(coordinators::due_at.le(At(now))).order(coordinators::due_at);
        let due =
            due.limit(i64::from(limit)).select((coordinators::intent, coordinators::id)).load::<(i64, Key)>(self.conn()?)?;
        Ok(due.into_iter().map(|(intent, id)| (intent, CoordinatorId(id.0))).collect())
    }

    fn next_coordinator(&mut self) -> RowsResult<Option<DateTime<Utc>>> {
        let live = coordinators::table.filter(coordinators::due_at.is_not_null()).order(coordinators::due_at);
        let live = live.select(coordinators::due_at);
        Ok(live.first::<Option<At>>(self.conn()?).optional()?.flatten().map(|at| at.0))
    }
}
