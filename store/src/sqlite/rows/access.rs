//! Access of agents to intents that other agents created.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::base::ids::AccessId;
use domain::intent::access::OpenRequest;
use domain::people::access::Entry;

use super::Writing;
use crate::columns::{AccessRequestColumns, EntryColumns, IntentColumns};
use crate::filter::IntentFilter;
use crate::rows::{AccessRequestRow, Code, EntryRow, IntentRow, ReadAccess, RowsError, RowsResult, WriteAccess};
use crate::schema::{access_entries, access_requests, intents};
use crate::sql::{At, Key, Owned};

impl WriteAccess for Writing<'_> {
    fn save_entry(&mut self, intent: i64, entry: &Entry, event: i64) -> RowsResult<()> {
        let changing = (
            access_entries::id.eq(Key(entry.id.0)),
            access_entries::permission.eq(entry.permission.code()),
            access_entries::expires_at.eq(entry.expires_at.map(At)),
            access_entries::event.eq(event),
        );
        let row = (access_entries::intent.eq(intent), access_entries::principal_id.eq(&entry.principal_id), changing);
        let saved = diesel::insert_into(access_entries::table).values(row);
        let saved = saved.on_conflict((access_entries::intent, access_entries::principal_id)).do_update().set(changing);
        saved.execute(self.conn)?;
        Ok(())
    }

    fn delete_entry(&mut self, intent: i64, principal_id: &str) -> RowsResult<()> {
        diesel::delete(access_entries::table.find((intent, principal_id))).execute(self.conn)?;
        Ok(())
    }

    fn insert_access_request(&mut self, intent: i64, request: &OpenRequest, event: i64) -> RowsResult<()> {
        let row = (
            access_requests::intent.eq(intent),
            access_requests::id.eq(Key(request.id.0)),
            access_requests::principal_id.eq(&request.principal_id),
            access_requests::requester.eq(&request.requested_by.name),
            access_requests::requester_owner.eq(Owned(request.requested_by.owner.clone())),
            access_requests::permission.eq(request.permission.code()),
            access_requests::event.eq(event),
        );
        diesel::insert_into(access_requests::table).values(row).execute(self.conn)?;
        Ok(())
    }

    fn delete_access_request(&mut self, intent: i64, id: AccessId) -> RowsResult<()> {
        diesel::delete(access_requests::table.find((intent, Key(id.0)))).execute(self.conn)?;
        Ok(())
    }
}

impl ReadAccess for SqliteConnection {
    fn entries(&mut self, intent: i64) -> RowsResult<Vec<EntryRow>> {
        let of_intent = access_entries::table.filter(access_entries::intent.eq(intent)).select(EntryColumns::selection());
        let found = of_intent.order(access_entries::principal_id).load::<EntryColumns>(self)?;
        found.into_iter().map(EntryColumns::into_row).collect()
    }

    fn access_requests(&mut self, intent: i64) -> RowsResult<Vec<AccessRequestRow>> {
        let of_intent = access_requests::table.filter(access_requests::intent.eq(intent));
        let found = of_intent.order(access_requests::id).select(AccessRequestColumns::selection());
        found.load::<AccessRequestColumns>(self)?.into_iter().map(AccessRequestColumns::into_row).collect()
    }

    fn access_requests_by(&mut self, requester: &str) -> RowsResult<usize> {
        let count: i64 = access_requests::table.filter(access_requests::requester.eq(requester)).count().get_result(self)?;
        usize::try_from(count).map_err(|_| RowsError::Inconsistent("a negative count"))
    }

    fn entered_intents(&mut self, names: &[String], filter: &IntentFilter) -> RowsResult<Vec<IntentRow>> {
        let joined = access_entries::table.inner_join(intents::table.on(intents::rid.eq(access_entries::intent)));
        let mut query = joined.filter(access_entries::principal_id.eq_any(names)).select(IntentColumns::selection()).into_boxed();
        if let Some(status) = filter.status {
            query = query.filter(intents::status.eq(status.code()));
        }
        if let Some(before) = filter.before {
            query = query.filter(access_entries::intent.lt(before));
        }
        let page = query.order(access_entries::intent.desc()).limit(i64::from(filter.limit));
        page.load::<IntentColumns>(self)?.into_iter().map(IntentColumns::into_row).collect()
    }
}
