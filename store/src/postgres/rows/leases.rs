//! Leases of agents.

use diesel::prelude::*;
use domain::base::ids::IntentId;
use domain::suspension::lease::{Lease, LeaseStatus};

use super::Writing;
use crate::columns::{LeaseColumns, signed};
use crate::postgres::session::Session;
use crate::rows::{Code, ReadLeases, RowsResult, WriteLeases};
use crate::schema::{intents, leases};
use crate::sql::{At, Key, Said};

impl WriteLeases for Writing<'_> {
    fn save_lease(&mut self, intent: i64, lease: &Lease) -> RowsResult<()> {
        let changes = (
            leases::status.eq(lease.status.code()),
            leases::expires_at.eq(At(lease.expires_at)),
            leases::released_at.eq(lease.released_at.map(At)),
            leases::duration_seconds.eq(signed(lease.duration_seconds)),
        );
        let new = (
            leases::id.eq(Key(lease.id.0)),
            leases::intent.eq(intent),
            leases::agent_id.eq(&lease.agent_id),
            leases::scope.eq(Said(lease.scope.clone())),
            leases::acquired_at.eq(At(lease.acquired_at)),
        );
        let saved = diesel::insert_into(leases::table).values((new, changes)).on_conflict(leases::id).do_update().set(changes);
        saved.execute(self.session.conn()?)?;
        Ok(())
    }
}

impl ReadLeases for Session {
    fn leases(&mut self, intent: i64) -> RowsResult<Vec<Lease>> {
        let intent_id = IntentId(intents::table.find(intent).select(intents::id).first::<Key>(self.conn()?)?.0);
        let held = leases::table.filter(leases::intent.eq(intent)).filter(leases::status.ne(LeaseStatus::Released.code()));
        let held = held.order(leases::rid).select(LeaseColumns::selection()).load::<LeaseColumns>(self.conn()?)?;
        held.into_iter().map(|columns| columns.into_lease(intent_id)).collect()
    }
}
