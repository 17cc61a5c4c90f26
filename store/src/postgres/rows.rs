//! Writing rows in one PostgreSQL transaction.

use chrono::{DateTime, TimeDelta, Utc};
use diesel::prelude::*;
use domain::base::ids::KeyId;
use domain::intent::body::IntentBody;
use domain::suspension::Suspension;
use domain::suspension::delivery::BounceKind;
use domain::suspension::lease::Lease;
use serde_json::{Map, Value};

use super::columns::signed;
use super::key_lock::IDEMPOTENCY_HOURS;
use super::proof::Proof;
use super::schema::{
    agent_bytes, api_keys, bounces, departures, intent_bodies, leases, outbox, places, presence, secrets, suspension_traces,
    suspensions, timers,
};
use super::session::{Session, overtaken};
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

/// A session in one transaction, with what it will announce.
pub(crate) struct Writing<'a> {
    pub(super) session: &'a mut Session,
    pub(super) notices: &'a mut Vec<Notice>,
}

fn json(value: &impl serde::Serialize) -> RowsResult<Value> {
    Ok(serde_json::to_value(value)?)
}

fn json_option<T: serde::Serialize>(value: Option<&T>) -> RowsResult<Option<Value>> {
    value.map(json).transpose()
}

impl Rows for Writing<'_> {
    type Reads = Session;

    fn reads(&mut self) -> &mut Session {
        self.session
    }

    fn next(&mut self, table: Table) -> RowsResult<i64> {
        self.session.next(table)
    }

    fn notice(&mut self, notice: Notice) {
        self.notices.push(notice);
    }

    fn insert_intent(&mut self, row: &IntentRow, body: &IntentBody) -> RowsResult<()> {
        let intent = &row.intent;
        let write = hot::InsertIntent {
            rid: row.rid,
            id: intent.id.0,
            status: intent.status.code(),
            version: signed(intent.version),
            creator: intent.created_by.name.clone(),
            creator_owner: intent.created_by.owner.clone(),
            created_at: intent.created_at,
            updated_at: intent.updated_at,
        };
        self.session.later(write, None)?;
        let write = hot::InsertBody {
            rid: row.rid,
            title: json(&body.title)?,
            description: json(&body.description)?,
            created_by: json(&body.created_by)?,
            parent: body.parent_intent_id.map(|id| id.0),
            depends_on: json(&body.depends_on)?,
            constraints: json(&body.constraints)?,
            state: json(&body.state)?,
            governance_policy: json_option(body.governance_policy.as_ref())?,
            confidence: body.confidence,
        };
        self.session.later(write, None)
    }

    fn update_intent(&mut self, row: &IntentRow) -> RowsResult<()> {
        let last_sequence = i64::try_from(row.last_sequence).map_err(|_| RowsError::Inconsistent("too many events"))?;
        let write = hot::UpdateIntent {
            status: row.intent.status.code(),
            version: signed(row.intent.version),
            updated_at: row.intent.updated_at,
            open_suspension: row.open_suspension,
            newest_suspension: row.newest_suspension,
            has_leases: row.has_leases,
            last_event: row.last_event,
            last_sequence,
            last_hash: row.last_hash.as_ref().map_or_else(Vec::new, |hash| hash.0.to_vec()),
            rid: row.rid,
        };
        self.session.later(write, None)
    }

    fn update_state(&mut self, intent: i64, state: &Map<String, Value>) -> RowsResult<()> {
        diesel::update(intent_bodies::table.find(intent))
            .set(intent_bodies::state.eq(json(state)?))
            .execute(self.session.conn()?)?;
        Ok(())
    }

    fn insert_event(&mut self, event: &NewEvent<'_>) -> RowsResult<()> {
        let hash = event.sealed.hash.0.to_vec();
        self.session.proof = Some(Proof::Event { rid: event.rid, hash: hash.clone() });
        let write = hot::InsertEvent {
            rid: event.rid,
            intent: event.intent,
            previous: event.previous,
            event_type: event.event_type.to_owned(),
            created_at: event.created_at,
            bytes: event.sealed.bytes.clone(),
            hash,
        };
        self.session.later(write, None)
    }

    fn insert_suspension(&mut self, row: &SuspensionRow) -> RowsResult<()> {
        let suspension = &row.suspension;
        let write = hot::InsertSuspension {
            rid: row.rid,
            id: suspension.id.0,
            intent: row.intent,
            event: row.event,
            kind: suspension.kind.code(),
            version: signed(suspension.version),
            attempt: signed(suspension.attempt),
            response_type: suspension.response_type.code(),
            choices: json(&suspension.choices)?,
            suspended_at: suspension.suspended_at,
            expires_at: suspension.expires_at,
            fallback_policy: suspension.fallback_policy.code(),
            fallback_value: suspension.fallback_value.clone(),
            reached: suspension.reached,
            requires_delivery: suspension.requires_delivery,
            asker: suspension.asked_by.name.clone(),
            asker_owner: suspension.asked_by.owner.clone(),
        };
        self.session.later(write, None)
    }

    fn end_suspension(&mut self, rid: i64, ended: &Suspension) -> RowsResult<bool> {
        let ending = ended.ending.as_ref().ok_or(RowsError::Inconsistent("an ending without its words"))?;
        let write = hot::EndSuspension {
            resolution: ending.resolution.code(),
            resolution_reason: ending.reason.map(Code::code),
            resolved_at: ending.at,
            response: ending.response.clone(),
            resolved_by: ending.by.clone(),
            metadata: json_option(ending.metadata.as_ref())?,
            version: signed(ended.version),
            rid,
        };
        // Its intent is locked, so nobody else ends it; and if that were not so, nothing would be committed.
        self.session.later(write, Some("the suspension has ended meanwhile"))?;
        Ok(true)
    }

    fn touch_suspension(&mut self, rid: i64, suspension: &Suspension) -> RowsResult<()> {
        let write = hot::TouchSuspension {
            version: signed(suspension.version),
            attempt: signed(suspension.attempt),
            reached: suspension.reached,
            refusals: signed(suspension.refusals),
            rid,
        };
        self.session.later(write, None)
    }

    fn mark_reminded(&mut self, suspension: i64, at: DateTime<Utc>) -> RowsResult<()> {
        diesel::update(suspensions::table.find(suspension)).set(suspensions::reminded_at.eq(at)).execute(self.session.conn()?)?;
        Ok(())
    }

    fn move_deadline(&mut self, suspension: i64, expires_at: DateTime<Utc>) -> RowsResult<()> {
        diesel::update(suspensions::table.find(suspension))
            .set(suspensions::expires_at.eq(expires_at))
            .execute(self.session.conn()?)?;
        Ok(())
    }

    fn insert_trace(&mut self, suspension: i64, context: TraceContext) -> RowsResult<()> {
        let row = (suspension_traces::suspension.eq(suspension), suspension_traces::context.eq(context.to_string()));
        diesel::insert_into(suspension_traces::table).values(row).execute(self.session.conn()?)?;
        Ok(())
    }

    fn take_trace(&mut self, suspension: i64) -> RowsResult<Option<TraceContext>> {
        let kept = diesel::delete(suspension_traces::table.find(suspension)).returning(suspension_traces::context);
        let context = kept.get_result::<String>(self.session.conn()?).optional()?;
        Ok(context.and_then(|context| context.parse().ok()))
    }

    fn insert_timer(&mut self, timer: TimerRow) -> RowsResult<()> {
        let write = hot::InsertTimer {
            due_at: timer.due_at,
            suspension: timer.suspension,
            kind: timer.kind.code(),
            attempt: signed(timer.attempt),
        };
        self.session.later(write, None)
    }

    fn delete_timer(&mut self, timer: TimerRow) -> RowsResult<()> {
        let key = (timer.due_at, timer.suspension, timer.kind.code(), signed(timer.attempt));
        diesel::delete(timers::table.find(key)).execute(self.session.conn()?)?;
        Ok(())
    }

    fn insert_outbox(&mut self, row: &OutboxRow) -> RowsResult<()> {
        let write = hot::InsertOutbox {
            rid: row.rid,
            id: row.id.0,
            suspension: row.suspension,
            attempt: signed(row.attempt),
            channel: row.channel.clone(),
            recipient: row.recipient.clone(),
            due_at: row.due_at,
            sequence: signed(row.sequence),
            queued_at: row.queued_at,
        };
        self.session.later(write, None)
    }

    fn take_outbox(&mut self, rid: i64) -> RowsResult<bool> {
        if let Some(taken) = self.session.ahead.is_taken(rid) {
            return Ok(taken);
        }
        let queued = outbox::table.find(rid).filter(outbox::state.eq(DeliveryState::Queued.code()));
        let free = queued.filter(outbox::lease.is_null()).select(outbox::rid).for_no_key_update().skip_locked();
        Ok(free.first::<i64>(self.session.conn()?).optional()?.is_some())
    }

    fn lease_outbox(&mut self, rid: i64, begun: &TryRow<'_>) -> RowsResult<()> {
        let TryRow { lease, due_at, tries, linked } = *begun;
        // An event proves more: it stays.
        self.session.proof.get_or_insert_with(|| Proof::Lease { rid, lease: lease.to_vec() });
        let (lease, leased_by, tries) = (lease.to_vec(), self.session.server, signed(tries));
        self.session.later(hot::LeaseOutbox { lease, leased_by, due_at, tries, linked, rid }, None)
    }

    fn requeue_outbox(&mut self, rid: i64, due_at: DateTime<Utc>, why: Option<&str>) -> RowsResult<()> {
        let released = (outbox::lease.eq(None::<Vec<u8>>), outbox::leased_by.eq(None::<i32>), outbox::due_at.eq(due_at));
        // What is none is not written.
        let changes = (released, json_option(why.as_ref())?.map(|why| outbox::detail.eq(why)));
        diesel::update(outbox::table.find(rid)).set(changes).execute(self.session.conn()?)?;
        Ok(())
    }

    fn revive_outbox(&mut self, rid: i64, now: DateTime<Utc>) -> RowsResult<()> {
        let queued = (outbox::state.eq(DeliveryState::Queued.code()), outbox::tries.eq(0));
        let released = (outbox::lease.eq(None::<Vec<u8>>), outbox::leased_by.eq(None::<i32>));
        let due = (outbox::due_at.eq(now), outbox::settled_at.eq(now));
        diesel::update(outbox::table.find(rid)).set((queued, released, due)).execute(self.session.conn()?)?;
        Ok(())
    }

    fn release_outbox(&mut self, due_at: DateTime<Utc>) -> RowsResult<u64> {
        Ok(hot::ReleaseOutbox { due_at }.execute(self.session.conn()?)? as u64)
    }

    fn finish_outbox(&mut self, rid: i64, state: DeliveryState, now: DateTime<Utc>, detail: Option<&str>) -> RowsResult<()> {
        let detail = json_option(detail.as_ref())?;
        let write = hot::FinishOutbox { state: state.code(), settled_at: now, detail, rid };
        self.session.later(write, None)
    }

    fn save_bounce(&mut self, outbox: i64, bounce: &BounceRow) -> RowsResult<()> {
        let said = (
            bounces::hard.eq(bounce.kind == BounceKind::Hard),
            bounces::reported_at.eq(bounce.reported_at),
            bounces::detail.eq(json_option(bounce.detail.as_ref())?),
        );
        diesel::insert_into(bounces::table)
            .values((bounces::outbox.eq(outbox), said.clone()))
            .on_conflict(bounces::outbox)
            .do_update()
            .set(said)
            .execute(self.session.conn()?)?;
        Ok(())
    }

    fn take_pair(&mut self, pair: i64) -> RowsResult<bool> {
        // Half of the number is enough: two pairs that share this half wait for each other, for a second.
        let [.., a, b, c, d] = pair.to_be_bytes();
        Ok(hot::TakePair { pair: i32::from_be_bytes([a, b, c, d]) }.get_result(self.session.conn()?)?)
    }

    fn insert_departure(&mut self, pair: i64, left_at: DateTime<Utc>, outbox: i64) -> RowsResult<()> {
        let row = (departures::pair.eq(pair), departures::left_at.eq(left_at), departures::outbox.eq(outbox));
        diesel::insert_into(departures::table).values(row).execute(self.session.conn()?)?;
        Ok(())
    }

    fn insert_place(&mut self, pair: i64, leaves_at: DateTime<Utc>, outbox: i64, now: DateTime<Utc>) -> RowsResult<()> {
        // Rows whose messages have left, were dropped or have another place count no more. If they stayed, each look would walk over them.
        let holds = outbox::rid.eq(places::outbox).and(outbox::due_at.eq(places::leaves_at));
        let waits = outbox::table.filter(holds).filter(outbox::state.eq(DeliveryState::Queued.code()));
        let counts_no_more = places::leaves_at.le(now).or(diesel::dsl::not(diesel::dsl::exists(waits)));
        diesel::delete(places::table.filter(places::pair.eq(pair)).filter(counts_no_more)).execute(self.session.conn()?)?;
        let row = (places::pair.eq(pair), places::leaves_at.eq(leaves_at), places::outbox.eq(outbox));
        diesel::insert_into(places::table).values(row).on_conflict_do_nothing().execute(self.session.conn()?)?;
        Ok(())
    }

    fn forget_departures(&mut self, pair: i64, before: DateTime<Utc>) -> RowsResult<()> {
        let gone = departures::table.filter(departures::pair.eq(pair)).filter(departures::left_at.lt(before));
        diesel::delete(gone).execute(self.session.conn()?)?;
        Ok(())
    }

    fn insert_token(&mut self, token: &TokenRow) -> RowsResult<()> {
        let write = hot::InsertToken {
            rid: token.rid,
            hash: token.hash.clone(),
            suspension: token.suspension,
            recipient: token.recipient.clone(),
            created_at: token.created_at,
            delivery: token.delivery.map(|id| id.0),
        };
        self.session.later(write, None)
    }

    fn save_lease(&mut self, intent: i64, lease: &Lease) -> RowsResult<()> {
        let changes = (
            leases::status.eq(lease.status.code()),
            leases::expires_at.eq(lease.expires_at),
            leases::released_at.eq(lease.released_at),
            leases::duration_seconds.eq(signed(lease.duration_seconds)),
        );
        let new = (
            leases::id.eq(lease.id.0),
            leases::intent.eq(intent),
            leases::agent_id.eq(&lease.agent_id),
            leases::scope.eq(json(&lease.scope)?),
            leases::acquired_at.eq(lease.acquired_at),
        );
        let saved = diesel::insert_into(leases::table).values((new, changes)).on_conflict(leases::id).do_update().set(changes);
        saved.execute(self.session.conn()?)?;
        Ok(())
    }

    fn insert_suspension_key(&mut self, key: Idempotency, suspension: i64) -> RowsResult<()> {
        let write = hot::InsertSuspensionKey { key_hash: key.key_hash.to_vec(), body_hash: key.body_hash.to_vec(), suspension };
        self.session.later(write, None)
    }

    fn insert_idempotent(&mut self, key: Idempotency, now: DateTime<Utc>, outcome: &str) -> RowsResult<()> {
        let write = hot::InsertIdempotent {
            day: day(now),
            key_hash: key.key_hash.to_vec(),
            body_hash: key.body_hash.to_vec(),
            outcome: outcome.to_owned(),
            created_at: now,
            counting_since: now - TimeDelta::hours(IDEMPOTENCY_HOURS),
        };
        self.session.later(write, Some("another request with the same key was first"))
    }

    fn forget_idempotent_before(&mut self, day: i32, limit: u32) -> RowsResult<u64> {
        Ok(hot::ForgetIdempotent { day, limit: i64::from(limit) }.execute(self.session.conn()?)? as u64)
    }

    fn add_agent_bytes(&mut self, agent: &str, day: i32, bytes: i64) -> RowsResult<()> {
        self.session.later(hot::AddAgentBytes { agent: agent.to_owned(), day, bytes }, None)
    }

    fn forget_agent_bytes_before(&mut self, day: i32) -> RowsResult<()> {
        diesel::delete(agent_bytes::table.filter(agent_bytes::day.lt(day))).execute(self.session.conn()?)?;
        Ok(())
    }

    fn insert_key(&mut self, key: &NewKey, now: DateTime<Utc>) -> RowsResult<()> {
        let row = (
            api_keys::id.eq(key.id.0),
            api_keys::name.eq(&key.name),
            api_keys::role.eq(key.role.code()),
            api_keys::subject.eq(&key.subject),
            api_keys::owner.eq(&key.owner),
            api_keys::hash.eq(key.hash.to_vec()),
            api_keys::created_at.eq(now),
            api_keys::tied_to.eq(key.tied_to.as_ref().map(|names| names.join(" "))),
        );
        diesel::insert_into(api_keys::table).values(row).execute(self.session.conn()?)?;
        Ok(())
    }

    fn revoke_key(&mut self, id: KeyId, now: DateTime<Utc>) -> RowsResult<bool> {
        let key = api_keys::table.filter(api_keys::id.eq(id.0));
        // Revoking again keeps the first time.
        diesel::update(key.filter(api_keys::revoked_at.is_null()))
            .set(api_keys::revoked_at.eq(now))
            .execute(self.session.conn()?)?;
        Ok(key.count().get_result::<i64>(self.session.conn()?)? == 1)
    }

    fn insert_secret(&mut self, name: &str, value: &[u8; 32]) -> RowsResult<()> {
        diesel::insert_into(secrets::table)
            .values((secrets::name.eq(name), secrets::value.eq(value.to_vec())))
            .execute(self.session.conn()?)?;
        Ok(())
    }

    fn save_presence(&mut self, row: &PresenceRow) -> RowsResult<()> {
        let recovery = row.recovery;
        let columns = (
            presence::beat_at.eq(row.beat_at),
            presence::held_since.eq(row.restore.held_since()),
            presence::released.eq(row.restore == Restore::Released),
            presence::tokens_void_to.eq(row.tokens_void_to),
            presence::absent_from.eq(recovery.map(|recovery| recovery.from)),
            presence::absent_until.eq(recovery.map(|recovery| recovery.until)),
            presence::restored.eq(recovery.is_some_and(|recovery| recovery.restored)),
            presence::done_to.eq(recovery.map_or(0, |recovery| recovery.done_to)),
            presence::up_to.eq(recovery.map_or(0, |recovery| recovery.up_to)),
        );
        let Some(version) = self.session.presence_version else {
            let first = (presence::rid.eq(1), presence::version.eq(1_i64), columns);
            diesel::insert_into(presence::table).values(first).execute(self.session.conn()?)?;
            self.session.presence_version = Some(1);
            return Ok(());
        };
        let as_read = presence::table.find(1).filter(presence::version.eq(version));
        let next = (presence::version.eq(version + 1), columns);
        if diesel::update(as_read).set(next).execute(self.session.conn()?)? == 0 {
            return Err(overtaken("another server left a sign of life meanwhile"));
        }
        self.session.presence_version = Some(version + 1);
        Ok(())
    }
}
