//! The transaction bodies, written once: load, decide, append, queue.
//!
//! Guarantee: whatever an event causes (status, timer, message, idempotency record) is a row in the event's own transaction.
//! Mechanism: one function appends, and derives every other row from the event it appended. Failure: a refusal has written nothing
//! but the events that record it; a failed statement ends the transaction, and the writer replays its neighbours without it.

use chrono::{DateTime, TimeDelta, Utc};
use domain::authority::{Action, Object, Principal, authorize};
use domain::body::{STATE_BYTES_MAX, SUSPENSION_KEY};
use domain::clock::Clock;
use domain::command::Command;
use domain::event::{Delivery, Event};
use domain::ids::{DeliveryId, Entropy, IntentId, KeyId};
use domain::intent::{Intent, decide, evolve, permit};
use domain::log::{Envelope, Hash};
use domain::problem::Rejection;
use domain::suspension::{Asker, Question};
use domain::wire::{IntentView, KeyView, RespondResponse, SuspensionRecord};

use super::codes::{DeliveryState, TimerKind};
use super::fact::{Attempted, Fact, Settled};
use super::hub::Notice;
use super::link::LinkToken;
use super::rows::{
    IntentRow, NewEvent, OutboxRow, ReadRows, Rows, RowsError, RowsResult, SuspensionRow, Table, TimerRow, TokenRow,
};
use super::span::{SpanEnd, SpanRecord, TraceContext};
use super::{CreateIntent, DeliveryResult, Fired, Leased, LeasedDelivery, NewKey, Outcome, Precondition, Request, Target};

/// Timers dealt with in one transaction.
pub(super) const TIMERS_PER_UNIT: u32 = 64;
/// Messages leased in one transaction.
pub(super) const DELIVERIES_PER_UNIT: u32 = 16;
/// How long a worker may take to send one message before another may try, in seconds.
pub(super) const DELIVERY_LEASE_SECONDS: i64 = 120;
/// Idempotency records forgotten in one transaction.
const FORGOTTEN_PER_UNIT: u32 = 500;
/// How long a row that cannot be read is put off, in seconds.
const PUT_OFF_SECONDS: i64 = 3_600;
/// After how many tries a message counts as failed.
pub(super) const DELIVERY_TRIES_MAX: u32 = 100;
/// The longest pause between two tries, in seconds.
pub(super) const DELIVERY_BACKOFF_SECONDS_MAX: i64 = 1_800;

/// What a transaction needs from outside: time and randomness.
pub(super) struct Env<'a> {
    pub(super) clock: &'a dyn Clock,
    pub(super) entropy: &'a dyn Entropy,
    /// Whether spans are exported; if not, none are made or kept.
    pub(super) traced: bool,
}

/// A refusal is a result: it may have recorded something that must be committed.
pub(super) type Decided<T> = RowsResult<Result<T, Rejection>>;

/// An intent with the rows it is made of.
struct Loaded {
    row: IntentRow,
    intent: Intent,
    suspensions: Vec<SuspensionRow>,
    /// The caller's span.
    trace_parent: Option<TraceContext>,
}

impl Loaded {
    /// The version `If-Match` and `ETag` speak of: the intent's, or the suspension's where the path names one.
    fn version_of(&self, target: Target) -> u32 {
        match target {
            Target::Intent(_) => self.intent.version,
            Target::Suspension(id) => self.intent.suspension(id).map_or(0, |suspension| suspension.version),
        }
    }

    fn span(&self, env: &Env<'_>, end: SpanEnd, now: DateTime<Utc>) -> SpanRecord {
        let context = TraceContext::new(self.trace_parent, end, env.entropy);
        SpanRecord { context, parent: self.trace_parent, intent_id: self.intent.id, began: now, end }
    }

    fn suspension_row(&self, id: domain::ids::SuspensionId) -> RowsResult<&SuspensionRow> {
        self.suspensions
            .iter()
            .find(|row| row.suspension.id == id)
            .ok_or(RowsError::Inconsistent("an event names a suspension that was not loaded"))
    }
}

pub(super) fn execute<R: Rows>(rows: &mut R, env: &Env<'_>, request: &Request) -> Decided<Outcome> {
    let named = request.command.as_ref().ok().and_then(Command::names_suspension);
    let row = match request.target {
        Target::Intent(id) => rows.reads().intent(id)?,
        Target::Suspension(id) => match rows.reads().suspension(id)? {
            Some(suspension) => Some(rows.reads().intent_at(suspension.intent)?),
            None => None,
        },
    };
    let Some(row) = row else { return Ok(Err(Rejection::NotFound)) };
    let mut loaded = load(rows, row, named)?;
    loaded.trace_parent = request.trace_parent;
    // `now` is read here, in the transaction, and never runs backwards for one intent.
    let now = env.clock.now().max(loaded.intent.updated_at);
    match admit(rows, &loaded, request, now)? {
        Err(rejection) => return Ok(Err(rejection)),
        Ok(Some(replayed)) => return Ok(Ok(replayed)),
        Ok(None) => {}
    }
    let command = match &request.command {
        Ok(command) => command,
        Err(errors) => return Ok(Err(Rejection::Invalid { errors: errors.clone() })),
    };
    if let Precondition::Version(version) = request.precondition {
        let current_version = loaded.version_of(request.target);
        if version != current_version {
            return Ok(Err(Rejection::VersionConflict { current_version }));
        }
    }
    match decide(&loaded.intent, command, &request.principal, now) {
        Err(refusal) => {
            // What time did is the server's act, whoever's try brought it to light.
            append(rows, env, &mut loaded, &refusal.deadline, &Principal::server().name, now)?;
            append(
                rows,
                env,
                &mut loaded,
                refusal.record.as_deref().map_or(&[], std::slice::from_ref),
                &request.principal.name,
                now,
            )?;
            Ok(Err(refusal.rejection))
        }
        Ok(events) => {
            if let Some(too_large) = state_too_large(rows, &loaded, command)? {
                return Ok(Err(too_large));
            }
            let served = append(rows, env, &mut loaded, &events, &request.principal.name, now)?;
            let outcome = outcome(rows, &loaded, command, &events, served)?;
            remember(rows, &loaded, request, &outcome, now)?;
            Ok(Ok(outcome))
        }
    }
}

fn load<R: Rows>(rows: &mut R, row: IntentRow, named: Option<domain::ids::SuspensionId>) -> RowsResult<Loaded> {
    let mut intent = row.intent.clone();
    let mut suspensions = Vec::new();
    if let Some(rid) = row.open_suspension {
        let open = rows.reads().suspension_at(rid)?;
        intent.open = Some(open.suspension.clone());
        suspensions.push(open);
    }
    if let Some(id) = named
        && intent.open.as_ref().is_none_or(|open| open.id != id)
        && let Some(ended) = rows.reads().suspension(id)?
        && ended.intent == row.rid
    {
        intent.ended.push(ended.suspension.clone());
        suspensions.push(ended);
    }
    if row.has_leases {
        intent.leases = rows.reads().leases(row.rid)?;
    }
    Ok(Loaded { row, intent, suspensions, trace_parent: None })
}

/// The checks before the decision, in the order every surface promises: 404, 403, missing `If-Match`, replay.
fn admit<R: Rows>(rows: &mut R, loaded: &Loaded, request: &Request, now: DateTime<Utc>) -> Decided<Option<Outcome>> {
    let asked_by = loaded.suspensions.first().map(|row| &row.suspension.asked_by);
    let object = Object::Intent { created_by: &loaded.intent.created_by, asked_by };
    if let Err(rejection) = authorize(&request.principal, request.action, object) {
        return Ok(Err(rejection));
    }
    if let Ok(command) = &request.command
        && let Err(rejection) = permit(&loaded.intent, command, &request.principal)
    {
        return Ok(Err(rejection));
    }
    if request.precondition == Precondition::Missing {
        return Ok(Err(Rejection::IfMatchRequired));
    }
    let Some(key) = request.idempotency else { return Ok(Ok(None)) };
    if request.action == Action::Suspend {
        let Some((body_hash, suspension)) = rows.reads().suspension_key(&key.key_hash)? else { return Ok(Ok(None)) };
        if body_hash != key.body_hash {
            return Ok(Err(Rejection::IdempotencyMismatch));
        }
        // A replay of suspend shows the suspension as it is by now, whatever that is.
        let row = rows.reads().suspension_at(suspension)?;
        let question = rows.reads().question(&row)?;
        let record = Box::new(SuspensionRecord::of(&row.suspension, &question));
        return Ok(Ok(Some(Outcome::Suspension { record, version: loaded.intent.version })));
    }
    replay(rows, key, now)
}

fn replay<R: Rows>(rows: &mut R, key: super::Idempotency, now: DateTime<Utc>) -> Decided<Option<Outcome>> {
    let Some((body_hash, outcome)) = rows.reads().idempotent(&key.key_hash, now)? else { return Ok(Ok(None)) };
    if body_hash != key.body_hash {
        return Ok(Err(Rejection::IdempotencyMismatch));
    }
    Ok(Ok(Some(serde_json::from_str(&outcome)?)))
}

fn remember<R: Rows>(rows: &mut R, loaded: &Loaded, request: &Request, outcome: &Outcome, now: DateTime<Utc>) -> RowsResult<()> {
    let Some(key) = request.idempotency else { return Ok(()) };
    if request.action == Action::Suspend {
        let rid = loaded.row.open_suspension.ok_or(RowsError::Inconsistent("a suspend left no suspension open"))?;
        return rows.insert_suspension_key(key, rid);
    }
    rows.insert_idempotent(key, now, &serde_json::to_string(outcome)?)
}

/// The state an intent may grow to is bounded; only the rows know how large it is.
fn state_too_large<R: Rows>(rows: &mut R, loaded: &Loaded, command: &Command) -> RowsResult<Option<Rejection>> {
    let Command::PatchState { patches, .. } = command else { return Ok(None) };
    let mut body = rows.reads().body(loaded.row.rid)?;
    body.apply(patches);
    let size = serde_json::to_vec(&body.state)?.len();
    Ok((size > STATE_BYTES_MAX).then(|| {
        Rejection::invalid("patches", "length", format!("the state of an intent is at most {STATE_BYTES_MAX} bytes of JSON"))
    }))
}

/// Appends events to the intent's log and writes every row they imply. Returns the last event as served.
fn append<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    loaded: &mut Loaded,
    events: &[Event],
    actor: &str,
    now: DateTime<Utc>,
) -> RowsResult<Option<String>> {
    let mut last = None;
    for event in events {
        let rid = rows.next(Table::Events)?;
        let sealed = Envelope {
            id: env.entropy.uuid(now),
            intent_id: loaded.intent.id,
            sequence: loaded.row.last_sequence + 1,
            actor,
            created_at: now,
            previous: loaded.row.last_hash,
            salt: env.entropy.bytes32(),
        }
        .seal(event)?;
        let previous = (loaded.row.last_sequence > 0).then_some(loaded.row.last_event);
        rows.insert_event(&NewEvent {
            rid,
            intent: loaded.row.rid,
            previous,
            event_type: event.event_type(),
            created_at: now,
            sealed: &sealed,
        })?;
        loaded.row.last_event = rid;
        loaded.row.last_sequence += 1;
        loaded.row.last_hash = Some(sealed.hash);
        evolve(&mut loaded.intent, event, now);
        follow(rows, env, loaded, event, now)?;
        last = Some(sealed);
    }
    if !events.is_empty() {
        loaded.row.intent = Intent { open: None, ended: Vec::new(), leases: Vec::new(), ..loaded.intent.clone() };
        rows.update_intent(&loaded.row)?;
    }
    Ok(last.map(|sealed| sealed.served()))
}

/// Writes what one appended event implies besides itself.
fn follow<R: Rows>(rows: &mut R, env: &Env<'_>, loaded: &mut Loaded, event: &Event, now: DateTime<Utc>) -> RowsResult<()> {
    match event {
        Event::StatePatched(patches) => {
            let mut body = rows.reads().body(loaded.row.rid)?;
            body.apply(patches);
            rows.update_state(loaded.row.rid, &body.state)
        }
        Event::Suspended(suspension, question) => {
            let rid = rows.next(Table::Suspensions)?;
            let row =
                SuspensionRow { rid, intent: loaded.row.rid, event: loaded.row.last_event, suspension: (**suspension).clone() };
            rows.insert_suspension(&row)?;
            loaded.row.open_suspension = Some(rid);
            loaded.row.newest_suspension = Some(rid);
            loaded.suspensions.insert(0, row);
            rows.notice(Notice::Fact(Fact::Asked));
            if env.traced {
                let span = loaded.span(env, SpanEnd::Suspend, now);
                rows.insert_trace(rid, span.context)?;
                rows.notice(Notice::Span(Box::new(span)));
            }
            if let Some(due_at) = suspension.expires_at {
                rows.insert_timer(TimerRow { due_at, suspension: rid, kind: TimerKind::Deadline, attempt: 0 })?;
                rows.notice(Notice::Timer);
            }
            queue(rows, env, rid, question, now)
        }
        Event::Resumed(_)
        | Event::SuspensionExpired { .. }
        | Event::SuspensionUndeliverable { .. }
        | Event::SuspensionCancelled { .. } => end(rows, env, loaded, event, now),
        Event::LateAnswer(refused) | Event::ResponseRejected(refused) => touch(rows, loaded, refused.suspension_id),
        Event::DeliverySent(delivery) => touch(rows, loaded, delivery.suspension_id),
        Event::LeaseAcquired(lease) | Event::LeaseRenewed(lease) | Event::LeaseReleased(lease) => {
            loaded.row.has_leases = true;
            rows.save_lease(loaded.row.rid, lease)
        }
        Event::IntentCreated(..) | Event::StatusChanged { .. } | Event::DeliveryFailed(_) | Event::Appended(_) => Ok(()),
    }
}

/// Queues one message per recipient. (Which channel a recipient is reached by is decided when there is more than one.)
fn queue<R: Rows>(rows: &mut R, env: &Env<'_>, suspension: i64, question: &Question, now: DateTime<Utc>) -> RowsResult<()> {
    for recipient in &question.recipients {
        let row = OutboxRow {
            rid: rows.next(Table::Outbox)?,
            id: DeliveryId(env.entropy.uuid(now)),
            suspension,
            attempt: 1,
            channel: "email".to_owned(),
            recipient: recipient.clone(),
            tries: 0,
            due_at: now,
            lease: None,
        };
        rows.insert_outbox(&row)?;
        rows.notice(Notice::Delivery);
        rows.notice(Notice::Fact(Fact::Delivery { channel: row.channel, state: Settled::Queued }));
    }
    Ok(())
}

/// The one place where a suspension's row ends, for every ending and every way to it.
fn end<R: Rows>(rows: &mut R, env: &Env<'_>, loaded: &mut Loaded, event: &Event, now: DateTime<Utc>) -> RowsResult<()> {
    // The second event that tells of one ending finds nothing open.
    let Some(rid) = loaded.row.open_suspension.take() else { return Ok(()) };
    let ended = loaded.intent.ended.last().ok_or(RowsError::Inconsistent("an ending without its suspension"))?;
    if !rows.end_suspension(rid, ended)? {
        return Err(RowsError::Inconsistent("an open suspension has already ended"));
    }
    rows.notice(Notice::Suspension(ended.id));
    if let Some(fact) = Fact::of_ending(event, ended) {
        if env.traced
            && let Fact::Ended { outcome, method, .. } = fact
        {
            let asked = rows.take_trace(rid)?;
            let span = loaded.span(env, SpanEnd::Resume { outcome, method, asked }, now);
            rows.notice(Notice::Span(Box::new(span)));
        }
        rows.notice(Notice::Fact(fact));
    }
    for lease in loaded.intent.leases.iter().filter(|lease| lease.holds(now, None)) {
        rows.save_lease(loaded.row.rid, lease)?;
    }
    Ok(())
}

fn touch<R: Rows>(rows: &mut R, loaded: &Loaded, id: domain::ids::SuspensionId) -> RowsResult<()> {
    let rid = loaded.suspension_row(id)?.rid;
    let suspension =
        loaded.intent.suspension(id).ok_or(RowsError::Inconsistent("a record of a suspension that is not loaded"))?;
    rows.touch_suspension(rid, suspension)
}

/// What the caller gets to see.
fn outcome<R: Rows>(
    rows: &mut R,
    loaded: &Loaded,
    command: &Command,
    events: &[Event],
    served: Option<String>,
) -> RowsResult<Outcome> {
    match command {
        Command::Suspend(suspend) => {
            let suspension = loaded.intent.open.as_ref().ok_or(RowsError::Inconsistent("a suspend left no suspension open"))?;
            let record = Box::new(SuspensionRecord::of(suspension, &suspend.question));
            Ok(Outcome::Suspension { record, version: loaded.intent.version })
        }
        Command::Respond(_) => match events.first() {
            Some(Event::Resumed(resumed)) => Ok(Outcome::Responded {
                response: Box::new(RespondResponse {
                    intent_id: loaded.intent.id,
                    suspension_id: resumed.suspension_id,
                    resolution: resumed.ending.resolution,
                    value: resumed.ending.response.clone().unwrap_or_default(),
                    choice_label: resumed.choice_label.clone(),
                    choice_description: resumed.choice_description.clone(),
                    responded_by: resumed.ending.by.clone().unwrap_or_default(),
                    responded_at: resumed.ending.at,
                }),
                version: loaded.intent.version,
            }),
            _ => Err(RowsError::Inconsistent("an accepted answer without its event")),
        },
        Command::Cancel { suspension_id, .. } => {
            let row = loaded.suspension_row(*suspension_id)?;
            let question = rows.reads().question(row)?;
            let ended = loaded.intent.suspension(*suspension_id).unwrap_or(&row.suspension);
            let record = Box::new(SuspensionRecord::of(ended, &question));
            Ok(Outcome::Suspension { version: record.version, record })
        }
        Command::AcquireLease { .. } | Command::RenewLease { .. } | Command::ReleaseLease { .. } => match events.first() {
            Some(Event::LeaseAcquired(lease) | Event::LeaseRenewed(lease) | Event::LeaseReleased(lease)) => {
                Ok(Outcome::Lease(lease.clone()))
            }
            _ => Err(RowsError::Inconsistent("a lease without its event")),
        },
        Command::Append(_) => served.map(Outcome::Event).ok_or(RowsError::Inconsistent("an append without its event")),
        Command::PatchState { .. }
        | Command::SetStatus { .. }
        | Command::DeadlineReached { .. }
        | Command::RecordDelivery { .. } => Ok(Outcome::Intent(Box::new(super::reads::intent_view(rows.reads(), &loaded.row)?))),
    }
}

pub(super) fn create<R: Rows>(rows: &mut R, env: &Env<'_>, request: &CreateIntent) -> Decided<Outcome> {
    let principal = &request.principal;
    if let Err(rejection) = authorize(principal, Action::CreateIntent, Object::Server) {
        return Ok(Err(rejection));
    }
    let now = env.clock.now();
    if let Some(key) = request.idempotency {
        match replay(rows, key, now)? {
            Err(rejection) => return Ok(Err(rejection)),
            Ok(Some(replayed)) => return Ok(Ok(replayed)),
            Ok(None) => {}
        }
    }
    let new = match &request.intent {
        Ok(new) => new,
        Err(errors) => return Ok(Err(Rejection::Invalid { errors: errors.clone() })),
    };
    for related in new.body.depends_on.iter().chain(&new.body.parent_intent_id) {
        if !readable(rows, principal, *related)? {
            return Ok(Err(Rejection::NotFound));
        }
    }
    if new.body.state.contains_key(SUSPENSION_KEY) {
        return Ok(Err(Rejection::SuspensionIsServerOwned));
    }
    let creator = Asker { name: principal.name.clone(), owner: principal.owner.clone() };
    let intent = Intent::born(new.id, new.status, creator, now);
    let row = IntentRow {
        rid: rows.next(Table::Intents)?,
        intent: intent.clone(),
        open_suspension: None,
        newest_suspension: None,
        has_leases: false,
        last_event: 0,
        last_sequence: 0,
        last_hash: None,
    };
    rows.insert_intent(&row, &new.body)?;
    let mut loaded = Loaded { row, intent, suspensions: Vec::new(), trace_parent: None };
    append(rows, env, &mut loaded, &[Event::IntentCreated(Box::new(new.body.clone()), new.status)], &principal.name, now)?;
    let outcome = Outcome::Intent(Box::new(IntentView::of(&loaded.intent, new.body.clone(), None)));
    if let Some(key) = request.idempotency {
        rows.insert_idempotent(key, now, &serde_json::to_string(&outcome)?)?;
    }
    Ok(Ok(outcome))
}

fn readable<R: Rows>(rows: &mut R, principal: &Principal, id: IntentId) -> RowsResult<bool> {
    let row = rows.reads().intent(id)?;
    Ok(row.is_some_and(|row| {
        authorize(principal, Action::Read, Object::Intent { created_by: &row.intent.created_by, asked_by: None }).is_ok()
    }))
}

/// Applies a command of the server's own to the intent of one suspension.
fn act<R: Rows>(rows: &mut R, env: &Env<'_>, suspension: &SuspensionRow, command: &Command) -> RowsResult<()> {
    let row = rows.reads().intent_at(suspension.intent)?;
    let mut loaded = load(rows, row, Some(suspension.suspension.id))?;
    let now = env.clock.now().max(loaded.intent.updated_at);
    let server = Principal::server();
    // The server's own commands are never refused; if one were, nothing would happen.
    if let Ok(events) = decide(&loaded.intent, command, &server, now) {
        append(rows, env, &mut loaded, &events, &server.name, now)?;
    }
    Ok(())
}

pub(super) fn fire_deadlines<R: Rows>(rows: &mut R, env: &Env<'_>) -> RowsResult<Fired> {
    let now = env.clock.now();
    let due = rows.reads().due_timers(now, TIMERS_PER_UNIT)?;
    for timer in &due {
        match rows.reads().suspension_at(timer.suspension) {
            Ok(row) if row.suspension.ending.is_none() => {
                let suspension_id = row.suspension.id;
                act(rows, env, &row, &Command::DeadlineReached { suspension_id })?;
                rows.notice(Notice::Fact(Fact::DeadlineApplied { late: now - timer.due_at }));
            }
            Ok(_) => {}
            Err(error) => put_off(rows, *timer, now, error)?,
        }
        rows.delete_timer(*timer)?;
    }
    Ok(Fired { rows: due.len(), next_due: rows.reads().next_timer()? })
}

/// A row that cannot be read must not hold up the ones behind it: it is put off, loudly.
fn put_off<R: Rows>(rows: &mut R, timer: TimerRow, now: DateTime<Utc>, error: RowsError) -> RowsResult<()> {
    if let RowsError::Database(error) = error
        && error != diesel::result::Error::NotFound
    {
        return Err(error.into());
    }
    tracing::error!(suspension.rid = timer.suspension, "the suspension of a timer cannot be read; trying again in an hour");
    rows.insert_timer(TimerRow { due_at: now + TimeDelta::seconds(PUT_OFF_SECONDS), ..timer })
}

pub(super) fn lease_deliveries<R: Rows>(rows: &mut R, env: &Env<'_>) -> RowsResult<Leased> {
    let now = env.clock.now();
    let mut leased = Leased { deliveries: Vec::new(), obsolete: 0, next_due: None };
    for row in rows.reads().due_deliveries(now, DELIVERIES_PER_UNIT)? {
        let suspension = match rows.reads().suspension_at(row.suspension) {
            Ok(suspension) => suspension,
            Err(RowsError::Database(error)) if error != diesel::result::Error::NotFound => return Err(error.into()),
            Err(error) => {
                tracing::error!(delivery.id = %row.id, error = %error, "the suspension of a message cannot be read; trying again in an hour");
                rows.requeue_outbox(row.rid, now + TimeDelta::seconds(PUT_OFF_SECONDS))?;
                continue;
            }
        };
        // Nobody is asked what has been decided. (A race may still send one: between this commit and the network.)
        if suspension.suspension.ending.is_some() || suspension.suspension.is_expired(now) {
            rows.finish_outbox(row.rid, DeliveryState::Obsolete)?;
            rows.notice(Notice::Fact(Fact::Delivery { channel: row.channel, state: Settled::Obsolete }));
            leased.obsolete += 1;
            continue;
        }
        leased.deliveries.push(lease_delivery(rows, env, row, suspension, now)?);
    }
    leased.next_due = rows.reads().next_delivery()?;
    Ok(leased)
}

fn lease_delivery<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    row: OutboxRow,
    suspension: SuspensionRow,
    now: DateTime<Utc>,
) -> RowsResult<LeasedDelivery> {
    let mut lease = [0; 16];
    env.entropy.fill(&mut lease);
    let tries = row.tries + 1;
    rows.lease_outbox(row.rid, &lease, now + TimeDelta::seconds(DELIVERY_LEASE_SECONDS), tries)?;
    // A fresh token for every try: the one before may have left the house.
    let token = LinkToken::new(rows.next(Table::Tokens)?, env.entropy.bytes32());
    rows.insert_token(&TokenRow {
        rid: token.row(),
        hash: token.hash().to_vec(),
        suspension: suspension.rid,
        recipient: row.recipient.clone(),
        created_at: now,
    })?;
    let question = rows.reads().question(&suspension)?;
    let intent_title = rows.reads().body(suspension.intent)?.title;
    Ok(LeasedDelivery {
        rid: row.rid,
        lease,
        id: row.id,
        recipient: row.recipient,
        tries,
        token,
        intent_title,
        agent: suspension.suspension.asked_by.name.clone(),
        suspension: suspension.suspension,
        question,
        now,
    })
}

pub(super) fn complete_delivery<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    rid: i64,
    lease: &[u8; 16],
    result: &DeliveryResult,
) -> RowsResult<bool> {
    let Some(row) = rows.reads().delivery(rid)? else { return Ok(false) };
    // A worker that overslept its lease changes nothing: another one has the message.
    if row.lease.as_deref() != Some(lease) {
        return Ok(false);
    }
    let (sent, detail) = match result {
        DeliveryResult::Sent(reply) => (true, reply),
        DeliveryResult::Retry { reason, after } if row.tries < DELIVERY_TRIES_MAX => {
            tracing::debug!(delivery.id = %row.id, delivery.tries = row.tries, reason, "delivery will be tried again");
            rows.requeue_outbox(
                rid,
                env.clock.now() + after.map_or_else(|| backoff(row.tries), |after| after.max(backoff(row.tries))),
            )?;
            rows.notice(Notice::Fact(Fact::DeliveryAttempted { channel: row.channel, result: Attempted::Retry }));
            return Ok(true);
        }
        DeliveryResult::Retry { reason, .. } | DeliveryResult::Failed(reason) => (false, reason),
    };
    let (state, result, settled) = if sent {
        (DeliveryState::Sent, Attempted::Sent, Settled::Sent)
    } else {
        (DeliveryState::Failed, Attempted::Failed, Settled::Failed)
    };
    rows.finish_outbox(rid, state)?;
    rows.notice(Notice::Fact(Fact::DeliveryAttempted { channel: row.channel.clone(), result }));
    rows.notice(Notice::Fact(Fact::Delivery { channel: row.channel.clone(), state: settled }));
    let suspension = rows.reads().suspension_at(row.suspension)?;
    let delivery = Delivery {
        suspension_id: suspension.suspension.id,
        delivery_id: row.id,
        attempt: row.attempt,
        channel: row.channel,
        recipient: row.recipient,
        detail: detail.clone(),
        tries: row.tries,
    };
    act(rows, env, &suspension, &Command::RecordDelivery { delivery, sent })?;
    Ok(true)
}

pub(super) fn release_deliveries<R: Rows>(rows: &mut R, env: &Env<'_>) -> RowsResult<u64> {
    rows.release_outbox(env.clock.now())
}

/// 5 s, 10 s, 20 s … up to [`DELIVERY_BACKOFF_SECONDS_MAX`].
fn backoff(tries: u32) -> TimeDelta {
    TimeDelta::seconds((5_i64 << tries.saturating_sub(1).min(10)).min(DELIVERY_BACKOFF_SECONDS_MAX))
}

pub(super) fn create_key<R: Rows>(rows: &mut R, env: &Env<'_>, key: &NewKey) -> RowsResult<KeyView> {
    rows.insert_key(key, env.clock.now())?;
    rows.reads().key(key.id)?.ok_or(RowsError::Inconsistent("a key vanished while it was made"))
}

pub(super) fn revoke_key<R: Rows>(rows: &mut R, env: &Env<'_>, id: KeyId) -> Decided<KeyView> {
    if !rows.revoke_key(id, env.clock.now())? {
        return Ok(Err(Rejection::NotFound));
    }
    Ok(rows.reads().key(id)?.ok_or(Rejection::NotFound))
}

pub(super) fn secret<R: Rows>(rows: &mut R, env: &Env<'_>, name: &str) -> RowsResult<[u8; 32]> {
    if let Some(value) = rows.reads().secret(name)? {
        return value.try_into().map_err(|_| RowsError::Inconsistent("a secret of the wrong length"));
    }
    let value = env.entropy.bytes32();
    rows.insert_secret(name, &value)?;
    Ok(value)
}

pub(super) fn forget_expired<R: Rows>(rows: &mut R, env: &Env<'_>) -> RowsResult<u64> {
    rows.forget_idempotent_before(day(env.clock.now()) - 1, FORGOTTEN_PER_UNIT)
}

/// The number of the day a time falls on, from 1970.
pub(super) fn day(time: DateTime<Utc>) -> i32 {
    i32::try_from(time.timestamp().div_euclid(86_400)).unwrap_or(i32::MAX)
}

/// The hash an intent's log starts from.
pub(super) fn last_hash(bytes: &[u8]) -> RowsResult<Option<Hash>> {
    if bytes.is_empty() {
        return Ok(None);
    }
    bytes.try_into().map(|hash| Some(Hash(hash))).map_err(|_| RowsError::Inconsistent("a hash of the wrong length"))
}
