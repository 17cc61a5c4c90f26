//! Messages: queued with their cause, leased to one worker, completed by the lease's token.

use chrono::{DateTime, TimeDelta, Utc};
use domain::base::ids::DeliveryId;
use domain::base::planted::{Bug, planted};
use domain::intent::command::Command;
use domain::problem::Rejection;
use domain::suspension::Question;
use domain::suspension::channel::{EMAIL, Route};
use domain::suspension::delivery::{BounceKind, Delivery, DeliveryRecord, DeliveryState as Shown, Fate, Sibling};
use domain::wire::DeliveryView;

use super::around::{go_around, is_pressed, turn_away};
use super::backoff::pause;
use super::distance::{Leave, TOO_OFTEN, keeps_its_distance, leave};
use super::keys::secret;
use super::timers::PUT_OFF_SECONDS;
use super::{Decided, Env, act, distance, load_of, presence};
use crate::bounce::{BOUNCE_SECRET, BounceToken};
use crate::codes::DeliveryState;
use crate::fact::{Attempted, Fact, Settled};
use crate::hub::Notice;
use crate::link::{LINK_SECRET, LinkToken};
use crate::rows::{
    BounceRow, OutboxRow, QueuedChannel, ReadRows, Rows, RowsError, RowsResult, SuspensionRow, Table, TokenRow, TryRow,
};
use crate::{BounceReport, DeliveryResult, Gate, Hold, Leased, LeasedDelivery, PRODUCTION_MARK, Turn, reads};

/// Messages leased in one transaction.
pub(crate) const DELIVERIES_PER_UNIT: u32 = 16;
/// How long a worker may take to send one message before another may try, in seconds.
pub(crate) const DELIVERY_LEASE_SECONDS: i64 = 120;

/// What one event queues messages for.
pub(super) struct Queueing<'a> {
    pub(super) suspension: i64,
    pub(super) attempt: u32,
    pub(super) routes: Vec<Route<'a>>,
    /// The messages about the suspension there are.
    pub(super) known: &'a [(OutboxRow, DeliveryState)],
}

impl Queueing<'_> {
    /// Leaves out whoever has a message of this attempt already: nobody is asked twice at one, by whichever way they came to be asked.
    pub(super) fn leave_out_the_asked(&mut self) {
        let asked: Vec<_> =
            self.known.iter().filter(|(row, _)| row.attempt == self.attempt).map(|(row, _)| row.route()).collect();
        self.routes.retain(|route| !asked.iter().any(|asked| asked.is_same(route)));
    }
}

/// Queues one message per route.
pub(super) fn queue<R: Rows>(rows: &mut R, env: &Env<'_>, queueing: &Queueing<'_>, now: DateTime<Utc>) -> RowsResult<()> {
    // Messages of one suspension are written here alone, one after the other, and never deleted.
    let known = u32::try_from(queueing.known.len()).unwrap_or(u32::MAX);
    for (sequence, route) in (known.saturating_add(1)..).zip(&queueing.routes) {
        if planted(Bug::LastPersonUntold) && queueing.routes.len() > 1 && Some(route) == queueing.routes.last() {
            break;
        }
        let row = OutboxRow {
            rid: rows.next(Table::Outbox)?,
            id: DeliveryId(env.entropy.uuid(now)),
            suspension: queueing.suspension,
            attempt: queueing.attempt,
            channel: route.channel.to_owned(),
            recipient: route.recipient.to_owned(),
            tries: 0,
            due_at: now,
            lease: None,
            sequence,
            detail: None,
            settled_at: None,
            queued_at: now,
            linked: None,
        };
        rows.insert_outbox(&row)?;
        rows.notice(Notice::Delivery);
        rows.notice(Notice::Fact(Fact::Delivery { channel: row.channel, state: Settled::Queued }));
    }
    Ok(())
}

/// The messages of a question that are still to go out: an older one that a newer took the place of is not, whatever its row says.
pub(super) fn waiting(known: &[(OutboxRow, DeliveryState)]) -> Vec<&OutboxRow> {
    let is_superseded = |row: &OutboxRow| known.iter().any(|(newer, state)| supersedes(newer, *state, row));
    known.iter().filter(|(row, state)| *state == DeliveryState::Queued && !is_superseded(row)).map(|(row, _)| row).collect()
}

/// Whether the one takes the place of the other. A message that was dropped, or could not be sent, takes no place: if it did, a reminder that
/// was dropped because the question itself waits would drop the question.
fn supersedes(newer: &OutboxRow, state: DeliveryState, older: &OutboxRow) -> bool {
    let goes_out = match state {
        DeliveryState::Queued | DeliveryState::Sent | DeliveryState::Bounced => true,
        DeliveryState::Failed | DeliveryState::Obsolete => false,
    };
    goes_out && newer.attempt > older.attempt && newer.route().is_same(&older.route())
}

/// Makes those of them due that wait for another try. A person who asks for a reminder is worth a try that an endpoint did not expect yet.
pub(super) fn requeue<R: Rows>(rows: &mut R, waiting: &[&OutboxRow], now: DateTime<Utc>) -> RowsResult<()> {
    for row in waiting.iter().filter(|row| row.lease.is_none()) {
        if rows.take_outbox(row.rid)? {
            rows.requeue_outbox(row.rid, now, None)?;
            rows.notice(Notice::Delivery);
        }
    }
    Ok(())
}

/// Settles those messages of a question that has ended that nobody has under way: one that waits a day for its next try would be
/// listed and counted as waiting for so long.
pub(super) fn settle_waiting<R: Rows>(
    rows: &mut R,
    known: Vec<(OutboxRow, DeliveryState)>,
    now: DateTime<Utc>,
) -> RowsResult<()> {
    for (row, state) in known {
        let is_waiting = state == DeliveryState::Queued && row.lease.is_none() && !planted(Bug::EndedQuestionSent);
        if is_waiting && rows.take_outbox(row.rid)? {
            settle(rows, row, now)?;
        }
    }
    Ok(())
}

/// Ends a message whose question has ended. It has no event, because the ending of the question says it for all messages at once.
pub(super) fn settle<R: Rows>(rows: &mut R, row: OutboxRow, now: DateTime<Utc>) -> RowsResult<()> {
    drop_unsent(rows, row, None, now)
}

/// Ends a message that is not sent, because of what is said in `why` or, without that, because its question has ended.
fn drop_unsent<R: Rows>(rows: &mut R, row: OutboxRow, why: Option<&str>, now: DateTime<Utc>) -> RowsResult<()> {
    rows.finish_outbox(row.rid, DeliveryState::Obsolete, now, why)?;
    rows.notice(Notice::Fact(Fact::Delivery { channel: row.channel, state: Settled::Obsolete }));
    Ok(())
}

/// Why a reminder is dropped while the message before it waits.
const COVERED: &str = "an earlier message asks the same of this person and is still to be sent, so this reminder was dropped";
/// Why a message that waits is dropped when a reminder comes.
const REPLACED: &str = "a newer message asks the same of this person, so this one was dropped";

/// How often the queue looks whether the disk has room for messages again, in seconds. A look writes nothing.
const ROOM_LOOK_SECONDS: i64 = 5;

/// What one turn has done so far.
pub(super) struct Taking {
    pub(super) leased: Leased,
    /// The rows of messages given up together with another one.
    pub(super) given_up: Vec<i64>,
}

pub(crate) fn lease_deliveries<R: Rows>(rows: &mut R, env: &Env<'_>, turn: &Turn) -> RowsResult<Leased> {
    let now = env.clock.now();
    let mut leased = Leased { deliveries: Vec::new(), untried: 0, turned_away: Vec::new(), lines: Vec::new(), next_due: None };
    let queued = rows.reads().queued_channels()?;
    // Most turns find nothing that is due: they need to know no more.
    let is_idle = |queued: &QueuedChannel| queued.next_due > now && !matches!(gate_of(turn, &queued.channel), Gate::Closed(_));
    if queued.iter().all(is_idle) {
        leased.next_due = queued.first().map(|first| first.next_due);
        return Ok(leased);
    }
    if presence::hold(rows.reads(), env.watch)?.is_some() {
        return Ok(leased);
    }
    if env.allowance.is_short_of_room() {
        leased.next_due = Some(now + TimeDelta::seconds(ROOM_LOOK_SECONDS));
        return Ok(leased);
    }
    let secrets = Secrets { bounce: secret(rows, env, BOUNCE_SECRET)?, link: secret(rows, env, LINK_SECRET)? };
    let patience = patience(rows, turn, &queued)?;
    let mut taking = Taking { leased, given_up: Vec::new() };
    let mut shared_room = turn.shared_room;
    let mut full = Vec::new();
    // Whose message has waited longest goes first: the shared room is handed out fairly.
    for QueuedChannel { channel, next_due } in queued {
        let gate = gate_of(turn, &channel);
        let by = if turn.lane(&channel).is_some() { now } else { now - patience };
        let room = match &gate {
            Gate::Room(room) => *room,
            Gate::SharedRoom(room) => (*room).min(shared_room),
            Gate::Paused(_) | Gate::Closed(_) => u32::MAX,
        };
        let (before, untried) = (taking.leased.deliveries.len(), taking.leased.untried);
        let limit = room.min(DELIVERIES_PER_UNIT);
        let due = if matches!(gate, Gate::Closed(_)) && by == now {
            // What waits for another try would wait in vain, and whoever is asked instead would wait for it.
            rows.reads().undelivered(&channel, now, limit)?
        } else if room > 0 && next_due <= by {
            rows.reads().due_deliveries(&channel, by, limit)?
        } else {
            Vec::new()
        };
        // Where fewer are due than may leave, nothing is behind them.
        let is_seen_whole = next_due <= by && u32::try_from(due.len()).is_ok_and(|seen| seen < limit);
        for row in due {
            take(rows, env, row, &gate, &secrets, now, &mut taking)?;
        }
        let taken = u32::try_from(taking.leased.deliveries.len() - before).unwrap_or(u32::MAX);
        if let Gate::SharedRoom(_) = gate {
            shared_room -= taken;
            // After the taking: what can leave at once has left the queue. If room was left because a message needed no try, the next
            // turn, which follows at once, takes another one first.
            let lane = turn.lane(&channel).filter(|_| next_due <= now && taking.leased.untried == untried);
            match lane {
                Some(lane) if is_seen_whole => taking.leased.lines.push((lane.channel.clone(), None)),
                Some(lane) => turn_away(rows, env, lane, now, &mut taking)?,
                None => {}
            }
        }
        if taken == room {
            full.push(channel);
        }
    }
    // A full lane is looked at when one of its messages has ended; any other when its next one is due.
    let next = rows.reads().queued_channels()?.into_iter().filter(|queued| !full.contains(&queued.channel));
    let when = |queued: QueuedChannel| match turn.lane(&queued.channel) {
        Some(_) => queued.next_due,
        None => queued.next_due + patience,
    };
    Ok(Leased { next_due: next.map(when).min(), ..taking.leased })
}

/// What becomes of a channel's messages in this turn.
fn gate_of(turn: &Turn, channel: &str) -> Gate {
    turn.lane(channel).map_or_else(|| Gate::Closed(NO_SUCH_CHANNEL.to_owned()), |lane| lane.gate.clone())
}

/// How long a revived message is spared what becomes of the others where its channel takes nothing: by then every server has heard of it.
const REVIVED_IS_SPARED_SECONDS: i64 = 10;

/// Until when a queued message is spared, if it is.
fn spared_until(row: &OutboxRow, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let revived_at = row.settled_at.filter(|revived_at| *revived_at <= now)?;
    Some(revived_at + TimeDelta::seconds(REVIVED_IS_SPARED_SECONDS)).filter(|until| now < *until)
}

/// How long what is due for channels this server does not have is left to the others: during an update one of them may have it.
fn patience<R: Rows>(rows: &mut R, turn: &Turn, queued: &[QueuedChannel]) -> RowsResult<TimeDelta> {
    let knows_all = queued.iter().all(|queued| turn.lane(&queued.channel).is_some());
    Ok(if knows_all || rows.reads().is_alone()? { TimeDelta::zero() } else { TimeDelta::seconds(OTHERS_HAVE_SECONDS) })
}

/// How long after it was due a message of an unknown channel is failed where other servers live.
const OTHERS_HAVE_SECONDS: i64 = 300;

/// What is queued for a channel that was taken out of the settings.
const NO_SUCH_CHANNEL: &str = "this server has no channel of this name any more";
/// What waits for an endpoint whose circuit is open.
const LEFT_ALONE: &str = "the endpoint is left alone for a while, because it keeps failing";
/// What cannot wait for it.
const NO_TIME: &str = "the endpoint keeps failing, and the time to answer runs";

/// Reads what dealing with a message needs.
pub(super) fn read<R: Rows>(rows: &mut R, row: &OutboxRow) -> RowsResult<(SuspensionRow, Told)> {
    let suspension = rows.reads().suspension_at(row.suspension)?;
    let told = Told::of(rows, row, &suspension)?;
    Ok((suspension, told))
}

/// What proves the tokens a message carries.
struct Secrets {
    bounce: [u8; 32],
    link: [u8; 32],
}

/// Deals with one message that is due.
fn take<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    row: OutboxRow,
    gate: &Gate,
    secrets: &Secrets,
    now: DateTime<Utc>,
    taking: &mut Taking,
) -> RowsResult<()> {
    if taking.given_up.contains(&row.rid) {
        return Ok(());
    }
    let leased = &mut taking.leased;
    let (suspension, told) = match read(rows, &row) {
        Ok(read) => read,
        // It was put off already, and is looked at all the same because its channel is closed.
        Err(error) if row.due_at > now && error.is_unreadable() => return Ok(()),
        Err(error) => return put_off(rows, &row, now, error),
    };
    // Nobody is asked what has been decided. (A race may still send one: between this commit and the network.)
    let ended = suspension.suspension.ending.is_some() || suspension.suspension.is_expired(now);
    if ended && !planted(Bug::EndedQuestionSent) {
        leased.untried += 1;
        return settle(rows, row, now);
    }
    // A message is tried until a newer one goes to the same person; who gets no newer one is still owed this one.
    if told.superseded || told.covered {
        leased.untried += 1;
        // Of two messages to one person, of which one keeps its distance, one is enough.
        if told.covered {
            return drop_unsent(rows, row, Some(COVERED), now);
        }
        if keeps_its_distance(&row) {
            return drop_unsent(rows, row, Some(REPLACED), now);
        }
        return finish_delivery(rows, env, row, &suspension, Fate::Failed, "not accepted before the next attempt was due");
    }
    match gate {
        Gate::Room(_) | Gate::SharedRoom(_) => match leave(rows, env, &row, &suspension, now)? {
            Leave::At(until) => {
                leased.untried += 1;
                distance::put_off(rows, &row, until)?;
            }
            Leave::Unknown => {
                leased.untried += 1;
                rows.requeue_outbox(row.rid, now + TimeDelta::seconds(distance::BUSY_SECONDS), None)?;
            }
            Leave::Never => {
                leased.untried += 1;
                finish_delivery(rows, env, row, &suspension, Fate::Failed, TOO_OFTEN)?;
            }
            Leave::Now => leased.deliveries.push(lease_delivery(rows, env, row, suspension, told, secrets, now)?),
        },
        // This turn may have been worked out before somebody believed that the endpoint works, or before this server heard of it.
        Gate::Paused(_) | Gate::Closed(_) if let Some(until) = spared_until(&row, now) => {
            if row.due_at <= now {
                leased.untried += 1;
                rows.requeue_outbox(row.rid, until, None)?;
            }
        }
        Gate::Paused(wait) => {
            let pressed = is_pressed(&row, &suspension, &told.question, *wait, now);
            let given_up = if pressed { go_around(rows, env, &row, &suspension, &told.question, NO_TIME)? } else { Vec::new() };
            leased.untried += given_up.len().max(1);
            if given_up.is_empty() {
                rows.requeue_outbox(row.rid, now + *wait, Some(LEFT_ALONE))?;
            }
            taking.given_up.extend(given_up);
        }
        Gate::Closed(reason) => {
            leased.untried += 1;
            finish_delivery(rows, env, row, &suspension, Fate::Failed, reason)?;
        }
    }
    Ok(())
}

/// A message whose rows cannot be read must not hold up the ones behind it: it is put off, loudly.
fn put_off<R: Rows>(rows: &mut R, row: &OutboxRow, now: DateTime<Utc>, error: RowsError) -> RowsResult<()> {
    if !error.is_unreadable() {
        return Err(error);
    }
    tracing::error!(delivery.id = %row.id, "the question of a message cannot be read; trying again in an hour");
    rows.requeue_outbox(row.rid, now + TimeDelta::seconds(PUT_OFF_SECONDS), Some("the question of this message cannot be read"))
}

/// What a message says besides its own row; read before anything is written.
pub(super) struct Told {
    pub(super) question: Question,
    intent_title: String,
    /// The first message that reached the same recipient's mail server.
    first: Option<DeliveryId>,
    /// Who was told by earlier attempts, if this recipient was not: a person who was asked by another channel is not told of the others.
    asked_before: Vec<String>,
    /// Whether the same recipient's mail server took a message of this very attempt before.
    repeated: bool,
    /// Whether a newer message to the same recipient is queued or gone.
    superseded: bool,
    /// Whether an older message to the same recipient keeps its distance: it asks the same, and comes as soon as it may.
    covered: bool,
}

impl Told {
    fn of<R: Rows>(rows: &mut R, row: &OutboxRow, suspension: &SuspensionRow) -> RowsResult<Self> {
        let question = rows.reads().question(suspension)?;
        let intent_title = rows.reads().title(suspension.intent)?;
        let (first, asked_before) = (None, Vec::new());
        let mut told = Self { question, intent_title, first, asked_before, repeated: false, superseded: false, covered: false };
        if suspension.suspension.attempt == 1 && suspension.suspension.reminded_at.is_none() {
            return Ok(told);
        }
        let mut is_asked_already = false;
        for (other, state) in rows.reads().deliveries(suspension.rid)? {
            let person = other.recipient.eq_ignore_ascii_case(&row.recipient);
            let same = other.route().is_same(&row.route());
            let earlier = other.rid < row.rid && state == DeliveryState::Sent;
            told.superseded |= supersedes(&other, state, row);
            told.covered |= same && other.rid < row.rid && state == DeliveryState::Queued && keeps_its_distance(&other);
            // A message of the same attempt by another channel is no earlier question.
            is_asked_already |= person && earlier && (same || other.attempt < row.attempt);
            told.repeated |= same && earlier && other.attempt == row.attempt;
            if same && earlier && told.first.is_none() {
                told.first = Some(other.id);
            } else if !person && earlier && other.attempt < row.attempt && !told.asked_before.contains(&other.recipient) {
                told.asked_before.push(other.recipient);
            }
        }
        if is_asked_already {
            told.asked_before.clear();
        }
        Ok(told)
    }
}

fn lease_delivery<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    row: OutboxRow,
    suspension: SuspensionRow,
    told: Told,
    secrets: &Secrets,
    now: DateTime<Utc>,
) -> RowsResult<LeasedDelivery> {
    let mut lease = [0; 16];
    env.entropy.fill(&mut lease);
    let tries = row.tries + 1;
    let seconds = if planted(Bug::LeaseWithoutEnd) { 0 } else { DELIVERY_LEASE_SECONDS };
    let linked = env.channels.carries_links(&row.channel);
    rows.lease_outbox(row.rid, &TryRow { lease: &lease, due_at: now + TimeDelta::seconds(seconds), tries, linked })?;
    // A fresh token for every try: the one before may have left the house.
    let token = mint(rows, env, &suspension, &row, &secrets.link, now)?;
    Ok(letter(OutboxRow { tries, ..row }, lease, token, suspension, told, &secrets.bounce, now))
}

/// Makes an answer link for a message; of the link only the hash is kept.
fn mint<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    suspension: &SuspensionRow,
    message: &OutboxRow,
    link_secret: &[u8; 32],
    now: DateTime<Utc>,
) -> RowsResult<LinkToken> {
    let mut random = [0; 16];
    env.entropy.fill(&mut random);
    let token = LinkToken::mint(link_secret, rows.next(Table::Tokens)?, random);
    rows.insert_token(&TokenRow {
        rid: token.row(),
        hash: if planted(Bug::TokenKept) { token.expose().into_bytes() } else { token.hash().to_vec() },
        suspension: suspension.rid,
        recipient: message.recipient.clone(),
        created_at: now,
        delivery: Some(message.id),
    })?;
    Ok(token)
}

/// Everything a message says, as it leaves at `now`.
fn letter(
    row: OutboxRow,
    lease: [u8; 16],
    token: LinkToken,
    suspension: SuspensionRow,
    told: Told,
    bounce_secret: &[u8; 32],
    now: DateTime<Utc>,
) -> LeasedDelivery {
    LeasedDelivery {
        rid: row.rid,
        lease,
        id: row.id,
        channel: row.channel,
        recipient: row.recipient,
        attempt: row.attempt,
        sequence: row.sequence,
        bounce_token: BounceToken::new(bounce_secret, row.rid, row.id),
        queued_at: row.queued_at,
        first: told.first,
        asked_before: told.asked_before,
        repeated: told.repeated,
        tries: row.tries,
        token,
        intent_title: told.intent_title,
        agent: suspension.suspension.asked_by.name.clone(),
        suspension: suspension.suspension,
        question: told.question,
        now,
    }
}

/// Reads a message that has gone out, with a link of its own: the one it left with is known to nobody any more.
///
/// Not on a database that was served in production: there the message went to somebody, and a link is for that person alone.
pub(crate) fn open_mail<R: Rows>(rows: &mut R, env: &Env<'_>, id: DeliveryId) -> RowsResult<Option<LeasedDelivery>> {
    let Some((row, DeliveryState::Sent)) = rows.reads().delivery_of(id)? else { return Ok(None) };
    let is_ours = row.channel == EMAIL && rows.reads().secret(PRODUCTION_MARK)?.is_none();
    if !is_ours || presence::hold(rows.reads(), env.watch)?.is_some() {
        return Ok(None);
    }
    let (bounce_secret, link_secret) = (secret(rows, env, BOUNCE_SECRET)?, secret(rows, env, LINK_SECRET)?);
    let (suspension, told) = read(rows, &row)?;
    let token = mint(rows, env, &suspension, &row, &link_secret, env.clock.now())?;
    let sent_at = row.settled_at.unwrap_or(row.queued_at);
    Ok(Some(letter(row, [0; 16], token, suspension, told, &bounce_secret, sent_at)))
}

pub(crate) fn complete_delivery<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    rid: i64,
    lease: &[u8; 16],
    result: &DeliveryResult,
) -> RowsResult<bool> {
    let Some((row, _)) = rows.reads().delivery(rid)? else { return Ok(false) };
    // A worker that overslept its lease changes nothing: another one has the message.
    if row.lease.as_deref() != Some(lease) && !planted(Bug::FenceMissing) {
        return Ok(false);
    }
    if planted(Bug::RetryDropped) && matches!(result, DeliveryResult::Retry { .. }) {
        rows.finish_outbox(rid, DeliveryState::Obsolete, env.clock.now(), None)?;
        return Ok(true);
    }
    let suspension = rows.reads().suspension_at(row.suspension)?;
    may_be_told(rows, env, &suspension)?;
    let (fate, detail) = match result {
        DeliveryResult::Retry { .. } if suspension.suspension.ending.is_some() && !planted(Bug::EndedQuestionSent) => {
            rows.notice(Notice::Fact(Fact::DeliveryAttempted { channel: row.channel.clone(), result: Attempted::Retry }));
            settle(rows, row, env.clock.now())?;
            return Ok(true);
        }
        DeliveryResult::Sent(reply) => (Fate::Sent, reply),
        DeliveryResult::Retry { reason, after } if let Some(pause) = pause(&row.channel, row.tries, env.entropy) => {
            // By a clock that has just jumped ahead the next try might be hours away.
            if !env.watch.is_steady() {
                return Err(RowsError::Held(Hold::Clock.why()));
            }
            tracing::debug!(delivery.id = %row.id, delivery.tries = row.tries, reason, "delivery will be tried again");
            rows.requeue_outbox(rid, env.clock.now() + after.map_or(pause, |after| after.max(pause)), Some(reason))?;
            rows.notice(Notice::Fact(Fact::DeliveryAttempted { channel: row.channel, result: Attempted::Retry }));
            return Ok(true);
        }
        DeliveryResult::Retry { reason, .. } | DeliveryResult::Failed(reason) => (Fate::Failed, reason),
    };
    let result = if fate == Fate::Sent { Attempted::Sent } else { Attempted::Failed };
    rows.notice(Notice::Fact(Fact::DeliveryAttempted { channel: row.channel.clone(), result }));
    finish_delivery(rows, env, row, &suspension, fate, detail)?;
    Ok(true)
}

/// Whether it can be told in time or late what became of a message: while a passed deadline waits, nobody knows, and whoever tells it
/// tries again.
fn may_be_told<R: Rows>(rows: &mut R, env: &Env<'_>, suspension: &SuspensionRow) -> RowsResult<()> {
    let asked = &suspension.suspension;
    if asked.ending.is_some() || !asked.is_expired(env.clock.now()) {
        return Ok(());
    }
    presence::hold(rows.reads(), env.watch)?.map_or(Ok(()), |hold| Err(RowsError::Held(hold.why())))
}

/// Ends a message, accepted, given up or returned, and records it in the log, with what follows from it.
pub(super) fn finish_delivery<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    row: OutboxRow,
    suspension: &SuspensionRow,
    fate: Fate,
    detail: &str,
) -> RowsResult<()> {
    let (state, settled) = match fate {
        Fate::Sent => (DeliveryState::Sent, Settled::Sent),
        Fate::Failed => (DeliveryState::Failed, Settled::Failed),
        Fate::Bounced => (DeliveryState::Bounced, Settled::Bounced),
    };
    // What a report says stands beside the mail server's last word, not in its place.
    let last_word = (fate != Fate::Bounced).then_some(detail);
    let now = env.clock.now();
    rows.finish_outbox(row.rid, state, now, last_word)?;
    rows.notice(Notice::Fact(Fact::Delivery { channel: row.channel.clone(), state: settled }));
    // First, so that of two messages that are lost at the same time the later one sees the other.
    let mut loaded = load_of(rows, suspension)?;
    // Only a loss needs to know of the others: whether anybody is reached without it, and who is asked instead.
    let (mut siblings, mut question) = (Vec::new(), None);
    if fate != Fate::Sent && suspension.suspension.ending.is_none() {
        let asked;
        (siblings, asked) = beside(rows, &row, suspension)?;
        question = Some(Box::new(asked));
    }
    let delivery = told(row, suspension, detail);
    let record = DeliveryRecord { delivery, fate, siblings, question, channels: env.channels.clone() };
    act(rows, env, &mut loaded, &Command::RecordDelivery(Box::new(record)), now)
}

/// The other messages about the same question, and the question.
fn beside<R: Rows>(rows: &mut R, row: &OutboxRow, suspension: &SuspensionRow) -> RowsResult<(Vec<Sibling>, Question)> {
    let all = rows.reads().deliveries(row.suspension)?.into_iter();
    let others = all.filter(|(other, _)| other.rid != row.rid).map(|(other, state)| sibling(other, state)).collect();
    Ok((others, rows.reads().question(suspension)?))
}

/// A message as the log tells of it.
pub(super) fn told(row: OutboxRow, suspension: &SuspensionRow, detail: &str) -> Delivery {
    Delivery {
        suspension_id: suspension.suspension.id,
        delivery_id: row.id,
        attempt: row.attempt,
        sequence: row.sequence,
        channel: row.channel,
        recipient: row.recipient,
        detail: detail.to_owned(),
        tries: row.tries,
    }
}

/// All messages about a question, as deciding sees them.
pub(super) fn siblings<R: Rows>(rows: &mut R, suspension: i64) -> RowsResult<Vec<Sibling>> {
    let all = rows.reads().deliveries(suspension)?.into_iter();
    Ok(all.map(|(row, state)| sibling(row, state)).collect())
}

pub(super) fn sibling(row: OutboxRow, state: DeliveryState) -> Sibling {
    let state = state.shown(&row);
    // What waits goes by the settings of then.
    let linked = row.linked.filter(|_| state != Shown::Queued);
    Sibling { attempt: row.attempt, state, channel: row.channel, recipient: row.recipient, linked }
}

/// Records that a message came back; one nobody sent, or whose token is not ours, is not found.
pub(crate) fn report_bounce<R: Rows>(rows: &mut R, env: &Env<'_>, report: &BounceReport) -> Decided<DeliveryView> {
    let bounce_secret = secret(rows, env, BOUNCE_SECRET)?;
    let found = rows.reads().delivery(report.token.row())?;
    let found = found.filter(|(row, _)| report.token.matches(&bounce_secret, row.id) || planted(Bug::BounceUnproven));
    // What became of messages by other channels is not a gateway's to say.
    let found = found.filter(|(row, _)| report.principal.reports_on(&row.channel));
    let Some((row, state)) = found else { return Ok(Err(Rejection::NotFound)) };
    let (rid, now) = (row.rid, env.clock.now());
    let suspension = rows.reads().suspension_at(row.suspension)?;
    may_be_told(rows, env, &suspension)?;
    // Late mail is reported again and again, and the news that it never arrives is not taken back by older news.
    let before = rows.reads().bounce(rid)?;
    if before.is_none_or(|before| before.kind == BounceKind::Soft) {
        rows.save_bounce(rid, &BounceRow { kind: report.kind, reported_at: now, detail: report.detail.clone() })?;
        rows.notice(Notice::Fact(Fact::BounceReported { kind: report.kind }));
    }
    // One that is queued again was perhaps taken, and only the reply was lost.
    let may_be_lost = matches!(state, DeliveryState::Sent | DeliveryState::Queued);
    if report.kind == BounceKind::Hard && may_be_lost {
        let detail = report.detail.as_deref().unwrap_or("returned without a reason");
        finish_delivery(rows, env, row, &suspension, Fate::Bounced, detail)?;
    }
    let (row, state) = rows.reads().delivery(rid)?.ok_or(RowsError::Inconsistent("a message vanished while it was read"))?;
    Ok(Ok(reads::delivery_view(rows.reads(), suspension.suspension.id, row, state)?))
}

pub(crate) fn release_deliveries<R: Rows>(rows: &mut R, env: &Env<'_>) -> RowsResult<u64> {
    rows.release_outbox(env.clock.now())
}
