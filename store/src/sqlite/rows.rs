//! Writing rows in one SQLite transaction.

use chrono::{DateTime, Utc};
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::base::ids::KeyId;
use domain::base::time::micros;
use domain::intent::body::IntentBody;
use domain::suspension::Suspension;
use domain::suspension::delivery::BounceKind;
use domain::suspension::lease::Lease;
use serde_json::{Map, Value};

use super::columns::signed;
use super::schema::{
    agent_bytes, api_keys, bounces, departures, events, intent_bodies, intents, leases, outbox, places, presence, secrets,
    suspension_traces, suspensions, timers, tokens,
};
use super::statements as hot;
use crate::codes::{Code, DeliveryState};
use crate::hub::Notice;
use crate::rows::{
    BounceRow, IntentRow, NewEvent, OutboxRow, PresenceRow, Restore, Rows, RowsError, RowsResult, SuspensionRow, Table, TimerRow,
    TokenRow, TryRow,
};
use crate::span::TraceContext;
use crate::units::day;
use crate::{Idempotency, NewKey};

/// The writer's connection in one transaction, with the row ids it assigns and what it will announce.
pub(crate) struct Writing<'a> {
    pub(super) conn: &'a mut SqliteConnection,
    pub(super) ids: &'a mut RowIds,
    pub(super) notices: &'a mut Vec<Notice>,
}

/// The highest row id of each table whose ids the writer assigns; it is the only writer of these tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowIds {
    intents: i64,
    events: i64,
    suspensions: i64,
    outbox: i64,
    tokens: i64,
}

impl RowIds {
    /// Reads them once, one seek each.
    pub(super) fn load(conn: &mut SqliteConnection) -> QueryResult<Self> {
        use diesel::dsl::max;
        let read = |highest: Option<i64>| highest.unwrap_or(0);
        Ok(Self {
            intents: read(intents::table.select(max(intents::rid)).get_result(conn)?),
            events: read(events::table.select(max(events::rid)).get_result(conn)?),
            suspensions: read(suspensions::table.select(max(suspensions::rid)).get_result(conn)?),
            outbox: read(outbox::table.select(max(outbox::rid)).get_result(conn)?),
            tokens: read(tokens::table.select(max(tokens::rid)).get_result(conn)?),
        })
    }
}

fn json(value: &impl serde::Serialize) -> RowsResult<String> {
    Ok(serde_json::to_string(value)?)
}

fn json_option<T: serde::Serialize>(value: Option<&T>) -> RowsResult<Option<String>> {
    value.map(json).transpose()
}

impl Rows for Writing<'_> {
    type Reads = SqliteConnection;

    fn reads(&mut self) -> &mut SqliteConnection {
        self.conn
    }

    fn next(&mut self, table: Table) -> RowsResult<i64> {
        let counter = match table {
            Table::Intents => &mut self.ids.intents,
            Table::Events => &mut self.ids.events,
            Table::Suspensions => &mut self.ids.suspensions,
            Table::Outbox => &mut self.ids.outbox,
            Table::Tokens => &mut self.ids.tokens,
        };
        *counter += 1;
        Ok(*counter)
    }

    fn notice(&mut self, notice: Notice) {
        self.notices.push(notice);
    }

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

    fn insert_event(&mut self, event: &NewEvent<'_>) -> RowsResult<()> {
        hot::InsertEvent {
            rid: &event.rid,
            intent: &event.intent,
            previous: &event.previous,
            event_type: event.event_type,
            created_at: &micros(event.created_at),
            bytes: &event.sealed.bytes,
            hash: &event.sealed.hash.0,
        }
        .execute(self.conn)?;
        Ok(())
    }

    fn insert_suspension(&mut self, row: &SuspensionRow) -> RowsResult<()> {
        let suspension = &row.suspension;
        hot::InsertSuspension {
            rid: &row.rid,
            id: suspension.id.0.as_bytes(),
            intent: &row.intent,
            event: &row.event,
            kind: &suspension.kind.code(),
            version: &signed(suspension.version),
            attempt: &signed(suspension.attempt),
            response_type: &suspension.response_type.code(),
            choices: &json(&suspension.choices)?,
            suspended_at: &micros(suspension.suspended_at),
            expires_at: &suspension.expires_at.map(micros),
            fallback_policy: &suspension.fallback_policy.code(),
            fallback_value: &json_option(suspension.fallback_value.as_ref())?,
            reached: &suspension.reached,
            requires_delivery: &suspension.requires_delivery,
            asker: &suspension.asked_by.name,
            asker_owner: &suspension.asked_by.owner,
        }
        .execute(self.conn)?;
        Ok(())
    }

    fn end_suspension(&mut self, rid: i64, ended: &Suspension) -> RowsResult<bool> {
        let ending = ended.ending.as_ref().ok_or(RowsError::Inconsistent("an ending without its words"))?;
        let changed = hot::EndSuspension {
            resolution: &ending.resolution.code(),
            resolution_reason: &ending.reason.map(Code::code),
            resolved_at: &micros(ending.at),
            response: &json_option(ending.response.as_ref())?,
            resolved_by: &ending.by,
            metadata: &json_option(ending.metadata.as_ref())?,
            version: &signed(ended.version),
            rid: &rid,
        }
        .execute(self.conn)?;
        Ok(changed == 1)
    }

    fn touch_suspension(&mut self, rid: i64, suspension: &Suspension) -> RowsResult<()> {
        hot::TouchSuspension {
            version: &signed(suspension.version),
            attempt: &signed(suspension.attempt),
            reached: &suspension.reached,
            refusals: &signed(suspension.refusals),
            rid: &rid,
        }
        .execute(self.conn)?;
        Ok(())
    }

    fn mark_reminded(&mut self, suspension: i64, at: DateTime<Utc>) -> RowsResult<()> {
        let reminded = suspensions::reminded_at.eq(micros(at));
        diesel::update(suspensions::table.find(suspension)).set(reminded).execute(self.conn)?;
        Ok(())
    }

    fn move_deadline(&mut self, suspension: i64, expires_at: DateTime<Utc>) -> RowsResult<()> {
        let moved = suspensions::expires_at.eq(micros(expires_at));
        diesel::update(suspensions::table.find(suspension)).set(moved).execute(self.conn)?;
        Ok(())
    }

    fn insert_trace(&mut self, suspension: i64, context: TraceContext) -> RowsResult<()> {
        let row = (suspension_traces::suspension.eq(suspension), suspension_traces::context.eq(context.to_string()));
        diesel::insert_into(suspension_traces::table).values(row).execute(self.conn)?;
        Ok(())
    }

    fn take_trace(&mut self, suspension: i64) -> RowsResult<Option<TraceContext>> {
        let kept = suspension_traces::table.find(suspension);
        let context = kept.select(suspension_traces::context).get_result::<String>(self.conn).optional()?;
        diesel::delete(kept).execute(self.conn)?;
        Ok(context.and_then(|context| context.parse().ok()))
    }

    fn insert_timer(&mut self, timer: TimerRow) -> RowsResult<()> {
        hot::InsertTimer {
            due_at: &micros(timer.due_at),
            suspension: &timer.suspension,
            kind: &timer.kind.code(),
            attempt: &signed(timer.attempt),
        }
        .execute(self.conn)?;
        Ok(())
    }

    fn delete_timer(&mut self, timer: TimerRow) -> RowsResult<()> {
        let key = (micros(timer.due_at), timer.suspension, timer.kind.code(), signed(timer.attempt));
        diesel::delete(timers::table.find(key)).execute(self.conn)?;
        Ok(())
    }

    fn insert_outbox(&mut self, row: &OutboxRow) -> RowsResult<()> {
        hot::InsertOutbox {
            rid: &row.rid,
            id: row.id.0.as_bytes(),
            suspension: &row.suspension,
            attempt: &signed(row.attempt),
            channel: &row.channel,
            recipient: &row.recipient,
            due_at: &micros(row.due_at),
            sequence: &signed(row.sequence),
            queued_at: &micros(row.queued_at),
        }
        .execute(self.conn)?;
        Ok(())
    }

    /// The one who writes is the one who works.
    fn take_outbox(&mut self, _rid: i64) -> RowsResult<bool> {
        Ok(true)
    }

    fn lease_outbox(&mut self, rid: i64, begun: &TryRow<'_>) -> RowsResult<()> {
        let TryRow { lease, due_at, tries, linked } = begun;
        hot::LeaseOutbox { lease, due_at: &micros(*due_at), tries: &signed(*tries), linked, rid: &rid }.execute(self.conn)?;
        Ok(())
    }

    fn requeue_outbox(&mut self, rid: i64, due_at: DateTime<Utc>, why: Option<&str>) -> RowsResult<()> {
        let released = (outbox::lease.eq(None::<Vec<u8>>), outbox::due_at.eq(micros(due_at)));
        // What is none is not written.
        let changes = (released, why.map(|why| outbox::detail.eq(why)));
        diesel::update(outbox::table.find(rid)).set(changes).execute(self.conn)?;
        Ok(())
    }

    fn release_outbox(&mut self, due_at: DateTime<Utc>) -> RowsResult<u64> {
        // Written out, so that the partial index of what is queued serves it.
        let queued = outbox::table.filter(outbox::state.eq(diesel::dsl::sql::<diesel::sql_types::Integer>("0")));
        let released = (outbox::lease.eq(None::<Vec<u8>>), outbox::due_at.eq(micros(due_at)));
        Ok(diesel::update(queued.filter(outbox::lease.is_not_null())).set(released).execute(self.conn)? as u64)
    }

    fn revive_outbox(&mut self, rid: i64, now: DateTime<Utc>) -> RowsResult<()> {
        let queued = (outbox::state.eq(DeliveryState::Queued.code()), outbox::tries.eq(0), outbox::lease.eq(None::<Vec<u8>>));
        let due = (outbox::due_at.eq(micros(now)), outbox::settled_at.eq(micros(now)));
        diesel::update(outbox::table.find(rid)).set((queued, due)).execute(self.conn)?;
        Ok(())
    }

    fn finish_outbox(&mut self, rid: i64, state: DeliveryState, now: DateTime<Utc>, detail: Option<&str>) -> RowsResult<()> {
        hot::FinishOutbox { state: &state.code(), settled_at: &micros(now), detail: &detail.map(str::to_owned), rid: &rid }
            .execute(self.conn)?;
        Ok(())
    }

    fn save_bounce(&mut self, outbox: i64, bounce: &BounceRow) -> RowsResult<()> {
        let row = (
            bounces::outbox.eq(outbox),
            bounces::hard.eq(bounce.kind == BounceKind::Hard),
            bounces::reported_at.eq(micros(bounce.reported_at)),
            bounces::detail.eq(&bounce.detail),
        );
        diesel::replace_into(bounces::table).values(row).execute(self.conn)?;
        Ok(())
    }

    /// The one who writes is the only one.
    fn take_pair(&mut self, _pair: i64) -> RowsResult<bool> {
        Ok(true)
    }

    fn insert_departure(&mut self, pair: i64, left_at: DateTime<Utc>, outbox: i64) -> RowsResult<()> {
        let row = (departures::pair.eq(pair), departures::left_at.eq(micros(left_at)), departures::outbox.eq(outbox));
        diesel::insert_into(departures::table).values(row).execute(self.conn)?;
        Ok(())
    }

    fn insert_place(&mut self, pair: i64, leaves_at: DateTime<Utc>, outbox: i64, now: DateTime<Utc>) -> RowsResult<()> {
        // Rows whose messages have left, were dropped or have another place count no more. If they stayed, each look would walk over them.
        let holds = outbox::rid.eq(places::outbox).and(outbox::due_at.eq(places::leaves_at));
        let waits = outbox::table.filter(holds).filter(outbox::state.eq(DeliveryState::Queued.code()));
        let counts_no_more = places::leaves_at.le(micros(now)).or(diesel::dsl::not(diesel::dsl::exists(waits)));
        diesel::delete(places::table.filter(places::pair.eq(pair)).filter(counts_no_more)).execute(self.conn)?;
        let row = (places::pair.eq(pair), places::leaves_at.eq(micros(leaves_at)), places::outbox.eq(outbox));
        diesel::insert_into(places::table).values(row).on_conflict_do_nothing().execute(self.conn)?;
        Ok(())
    }

    fn forget_departures(&mut self, pair: i64, before: DateTime<Utc>) -> RowsResult<()> {
        let gone = departures::table.filter(departures::pair.eq(pair)).filter(departures::left_at.lt(micros(before)));
        diesel::delete(gone).execute(self.conn)?;
        Ok(())
    }

    fn insert_token(&mut self, token: &TokenRow) -> RowsResult<()> {
        hot::InsertToken {
            rid: &token.rid,
            hash: &token.hash,
            suspension: &token.suspension,
            recipient: &token.recipient,
            created_at: &micros(token.created_at),
            delivery: &token.delivery.map(|id| id.0.as_bytes().to_vec()),
        }
        .execute(self.conn)?;
        Ok(())
    }

    fn save_lease(&mut self, intent: i64, lease: &Lease) -> RowsResult<()> {
        let id = lease.id.0.as_bytes().to_vec();
        let changes = (
            leases::status.eq(lease.status.code()),
            leases::expires_at.eq(micros(lease.expires_at)),
            leases::released_at.eq(lease.released_at.map(micros)),
            leases::duration_seconds.eq(signed(lease.duration_seconds)),
        );
        if diesel::update(leases::table.filter(leases::id.eq(&id))).set(changes).execute(self.conn)? == 1 {
            return Ok(());
        }
        let new = (
            leases::id.eq(&id),
            leases::intent.eq(intent),
            leases::agent_id.eq(&lease.agent_id),
            leases::scope.eq(&lease.scope),
            leases::acquired_at.eq(micros(lease.acquired_at)),
        );
        diesel::insert_into(leases::table).values((new, changes)).execute(self.conn)?;
        Ok(())
    }

    fn insert_suspension_key(&mut self, key: Idempotency, suspension: i64) -> RowsResult<()> {
        hot::InsertSuspensionKey { key_hash: &key.key_hash, body_hash: &key.body_hash, suspension: &suspension }
            .execute(self.conn)?;
        Ok(())
    }

    fn insert_idempotent(&mut self, key: Idempotency, now: DateTime<Utc>, outcome: &str) -> RowsResult<()> {
        hot::InsertIdempotent {
            day: &day(now),
            key_hash: &key.key_hash,
            body_hash: &key.body_hash,
            outcome,
            created_at: &micros(now),
        }
        .execute(self.conn)?;
        Ok(())
    }

    fn forget_idempotent_before(&mut self, day: i32, limit: u32) -> RowsResult<u64> {
        // The DSL has no limit on a delete from a table without row ids.
        let deleted = diesel::sql_query(
            "DELETE FROM idempotency WHERE (day, key_hash) IN (SELECT day, key_hash FROM idempotency WHERE day < ? LIMIT ?)",
        )
        .bind::<diesel::sql_types::Integer, _>(day)
        .bind::<diesel::sql_types::BigInt, _>(i64::from(limit))
        .execute(self.conn)?;
        Ok(deleted as u64)
    }

    fn add_agent_bytes(&mut self, agent: &str, day: i32, bytes: i64) -> RowsResult<()> {
        hot::AddAgentBytes { agent, day: &day, bytes: &bytes }.execute(self.conn)?;
        Ok(())
    }

    fn forget_agent_bytes_before(&mut self, day: i32) -> RowsResult<()> {
        diesel::delete(agent_bytes::table.filter(agent_bytes::day.lt(day))).execute(self.conn)?;
        Ok(())
    }

    fn insert_key(&mut self, key: &NewKey, now: DateTime<Utc>) -> RowsResult<()> {
        let row = (
            api_keys::id.eq(key.id.0.as_bytes().to_vec()),
            api_keys::name.eq(&key.name),
            api_keys::role.eq(key.role.code()),
            api_keys::subject.eq(&key.subject),
            api_keys::owner.eq(&key.owner),
            api_keys::hash.eq(key.hash.to_vec()),
            api_keys::created_at.eq(micros(now)),
            api_keys::tied_to.eq(key.tied_to.as_ref().map(|names| names.join(" "))),
        );
        diesel::insert_into(api_keys::table).values(row).execute(self.conn)?;
        Ok(())
    }

    fn revoke_key(&mut self, id: KeyId, now: DateTime<Utc>) -> RowsResult<bool> {
        let key = api_keys::table.filter(api_keys::id.eq(id.0.as_bytes().to_vec()));
        // Revoking again keeps the first time.
        diesel::update(key.clone().filter(api_keys::revoked_at.is_null()))
            .set(api_keys::revoked_at.eq(micros(now)))
            .execute(self.conn)?;
        Ok(key.count().get_result::<i64>(self.conn)? == 1)
    }

    fn insert_secret(&mut self, name: &str, value: &[u8; 32]) -> RowsResult<()> {
        diesel::insert_into(secrets::table)
            .values((secrets::name.eq(name), secrets::value.eq(value.to_vec())))
            .execute(self.conn)?;
        Ok(())
    }

    fn save_presence(&mut self, row: &PresenceRow) -> RowsResult<()> {
        let recovery = row.recovery;
        let columns = (
            presence::rid.eq(1),
            presence::beat_at.eq(micros(row.beat_at)),
            presence::held_since.eq(row.restore.held_since().map(micros)),
            presence::released.eq(row.restore == Restore::Released),
            presence::tokens_void_to.eq(row.tokens_void_to),
            presence::absent_from.eq(recovery.map(|recovery| micros(recovery.from))),
            presence::absent_until.eq(recovery.map(|recovery| micros(recovery.until))),
            presence::restored.eq(recovery.is_some_and(|recovery| recovery.restored)),
            presence::done_to.eq(recovery.map_or(0, |recovery| recovery.done_to)),
            presence::up_to.eq(recovery.map_or(0, |recovery| recovery.up_to)),
        );
        diesel::replace_into(presence::table).values(columns).execute(self.conn)?;
        Ok(())
    }
}
