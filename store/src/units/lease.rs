//! Leases due messages to one worker, with an answer link for each.

use chrono::{DateTime, TimeDelta, Utc};
use domain::base::ids::DeliveryId;
use domain::suspension::channel::EMAIL;
use domain::suspension::delivery::Fate;

use super::distance::{self, Leave, TOO_OFTEN, keeps_its_distance, leave};
use super::finish::finish_delivery;
use super::giving_up::{Taking, give_up, is_pressed, turn_away};
use super::message::{Message, read};
use super::queue::{drop_unsent, settle};
use super::secret::secret;
use super::timers::PUT_OFF_SECONDS;
use crate::PRODUCTION_MARK;
use crate::assigning::{counted, in_place_of, is_assigned_to, listed};
use crate::bounce::{BOUNCE_SECRET, BounceToken};
use crate::link::{LINK_SECRET, LinkToken};
use crate::reads::{WAITING_COUNTED, hold};
use crate::rows::prelude::*;
use crate::rows::{DeliveryState, OutboxRow, QueuedChannel, RowsError, RowsResult, SuspensionRow, Table, TokenRow, TryRow};
use crate::sending::{Gate, Leased, LeasedDelivery, Turn};
use crate::surroundings::Env;

/// The most messages leased in one transaction.
pub(crate) const DELIVERIES_PER_UNIT: u32 = 16;
/// How long a worker may take to send one message before another may try, in seconds.
pub(crate) const DELIVERY_LEASE_SECONDS: i64 = 120;

/// Why a reminder is dropped while the message before it waits.
const COVERED: &str = "an earlier message asks the same of this person and is still to be sent, so this reminder was dropped";
/// Why a message that waits is dropped when a reminder comes.
const REPLACED: &str = "a newer message asks the same of this person, so this one was dropped";

/// The detail of a message to a person to whom the question is assigned no longer.
const NOT_ASSIGNED: &str = "the person may not answer this question any more";

/// How often the queue checks again whether the disk has room for messages, in seconds. A check writes nothing, so it may be
/// frequent.
const ROOM_LOOK_SECONDS: i64 = 5;

pub(crate) fn lease_deliveries<R: Rows>(rows: &mut R, env: &Env<'_>, turn: &Turn) -> RowsResult<Leased> {
    let now = env.clock.now();
    let mut leased = Leased { deliveries: Vec::new(), untried: 0, turned_away: Vec::new(), lines: Vec::new(), next_due: None };
    let queued = rows.reads().queued_channels()?;
    // Most turns find nothing that is due, and end here.
    let is_idle = |queued: &QueuedChannel| queued.next_due > now && !matches!(gate_of(turn, &queued.channel), Gate::Closed(_));
    if queued.iter().all(is_idle) {
        leased.next_due = queued.first().map(|first| first.next_due);
        return Ok(leased);
    }
    if hold(rows.reads(), env.watch)?.is_some() {
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
    // The channel whose message has waited longest goes first, so that the shared room is handed out fairly.
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
            // The channel is closed, so messages that are not due yet fail now as well: they would wait in vain, and the people
            // who are asked instead would be asked later than necessary.
            rows.reads().undelivered(&channel, now, limit)?
        } else if room > 0 && next_due <= by {
            rows.reads().due_deliveries(&channel, by, limit)?
        } else {
            Vec::new()
        };
        // If fewer messages are due than may leave, these are all of them.
        let is_seen_whole = next_due <= by && u32::try_from(due.len()).is_ok_and(|seen| seen < limit);
        for row in due {
            take(rows, env, row, &gate, &secrets, now, &mut taking)?;
        }
        let taken = u32::try_from(taking.leased.deliveries.len() - before).unwrap_or(u32::MAX);
        if let Gate::SharedRoom(_) = gate {
            shared_room -= taken;
            // Messages are given up only once no more messages can leave. If this turn dealt with a message without a try, there
            // may still be room; then the next turn, which follows at once, fills the room first.
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
    // A channel that has leased as many messages as it has room for is left out here: its next turn comes when one of these
    // messages has ended. Any other channel has its next turn when its next message is due.
    let next = rows.reads().queued_channels()?.into_iter().filter(|queued| !full.contains(&queued.channel));
    let when = |queued: QueuedChannel| match turn.lane(&queued.channel) {
        Some(_) => queued.next_due,
        None => queued.next_due + patience,
    };
    Ok(Leased { next_due: next.map(when).min(), ..taking.leased })
}

/// The gate of a channel, which decides how this turn treats the channel's messages. A channel that this server does not have is
/// closed.
fn gate_of(turn: &Turn, channel: &str) -> Gate {
    turn.lane(channel).map_or_else(|| Gate::Closed(NO_SUCH_CHANNEL.to_owned()), |lane| lane.gate.clone())
}

/// A message that failed and was revived, so that it is sent again, is spared for this many seconds: it waits while its channel takes no
/// messages, and is neither failed nor given up. By the end of that time every server has heard of the revival.
const REVIVED_IS_SPARED_SECONDS: i64 = 10;

/// The time until which a queued message is spared because it was revived; `None` if it was not revived, or if that time is
/// over.
fn spared_until(row: &OutboxRow, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let revived_at = row.settled_at.filter(|revived_at| *revived_at <= now)?;
    Some(revived_at + TimeDelta::seconds(REVIVED_IS_SPARED_SECONDS)).filter(|until| now < *until)
}

/// How long due messages of channels that this server does not have are left to other servers: during an update one of
/// them may have the channel.
fn patience<R: Rows>(rows: &mut R, turn: &Turn, queued: &[QueuedChannel]) -> RowsResult<TimeDelta> {
    let knows_all = queued.iter().all(|queued| turn.lane(&queued.channel).is_some());
    Ok(if knows_all || rows.reads().is_alone()? { TimeDelta::zero() } else { TimeDelta::seconds(OTHERS_HAVE_SECONDS) })
}

/// How long after its due time a message of an unknown channel fails if there are other servers, in seconds.
const OTHERS_HAVE_SECONDS: i64 = 300;

/// The detail of a message whose channel was taken out of the settings.
const NO_SUCH_CHANNEL: &str = "this server has no channel of this name any more";
/// The detail of a message that waits because its endpoint is left alone for a while after failures (its circuit is open).
const LEFT_ALONE: &str = "the endpoint keeps failing, so the server sends nothing to it for a while";
/// The detail of a message that is given up because it would wait too long for an endpoint that is left alone.
const NO_TIME: &str = "given up: the endpoint keeps failing, and waiting for it would take too much of the time to answer";

/// The secrets that prove the tokens in a message.
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
    let (suspension, message) = match read(rows, &row) {
        Ok(read) => read,
        // The message was put off already, and is looked at only because its channel is closed.
        Err(error) if row.due_at > now && error.is_unreadable() => return Ok(()),
        Err(error) => return put_off(rows, &row, now, error),
    };
    // A question that has been decided is not asked. (If it is decided after this commit and before the message leaves, the
    // message is still sent.)
    let ended = suspension.suspension.ending.is_some() || suspension.suspension.is_expired(now);
    if ended {
        leased.untried += 1;
        return settle(rows, row, now);
    }
    // A message is tried until a newer one goes to the same person by the same channel. If none goes, it is still tried after its
    // attempt is over.
    if message.superseded || message.covered {
        leased.untried += 1;
        // If two messages to one person wait, and one of them only because of the distance between messages, one message is
        // enough.
        if message.covered {
            return drop_unsent(rows, row, Some(COVERED), now);
        }
        if keeps_its_distance(&row) {
            return drop_unsent(rows, row, Some(REPLACED), now);
        }
        return finish_delivery(rows, env, row, &suspension, Fate::Failed, "not accepted before the next attempt was due");
    }
    if env.channels.reaches_people(&row.channel)
        && !is_assigned_to(rows.reads(), &suspension.suspension.hands, &message.question, &row.recipient)?
    {
        leased.untried += 1;
        return finish_delivery(rows, env, row, &suspension, Fate::Failed, NOT_ASSIGNED);
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
            Leave::Now => leased.deliveries.push(lease_delivery(rows, env, row, suspension, message, secrets, now)?),
        },
        // The gates of this turn may date from before the message was revived, or from before this server heard of the revival.
        Gate::Paused(_) | Gate::Closed(_) if let Some(until) = spared_until(&row, now) => {
            if row.due_at <= now {
                leased.untried += 1;
                rows.requeue_outbox(row.rid, until, None)?;
            }
        }
        Gate::Paused(wait) => {
            let pressed = is_pressed(&row, &suspension, &message.question, *wait, now);
            let given_up = if pressed { give_up(rows, env, &row, &suspension, &message.question, NO_TIME)? } else { Vec::new() };
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

/// A message whose rows cannot be read must not hold up the ones behind it: it is put off, and an error is logged.
fn put_off<R: Rows>(rows: &mut R, row: &OutboxRow, now: DateTime<Utc>, error: RowsError) -> RowsResult<()> {
    if !error.is_unreadable() {
        return Err(error);
    }
    tracing::error!(delivery.id = %row.id, "the question of a message cannot be read; trying again in an hour");
    rows.requeue_outbox(row.rid, now + TimeDelta::seconds(PUT_OFF_SECONDS), Some("the question of this message cannot be read"))
}

fn lease_delivery<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    row: OutboxRow,
    mut suspension: SuspensionRow,
    message: Message,
    secrets: &Secrets,
    now: DateTime<Utc>,
) -> RowsResult<LeasedDelivery> {
    let mut lease = [0; 16];
    env.entropy.fill(&mut lease);
    let tries = row.tries + 1;
    let linked = env.channels.carries_links(&row.channel);
    let due_at = now + TimeDelta::seconds(DELIVERY_LEASE_SECONDS);
    rows.lease_outbox(row.rid, &TryRow { lease: &lease, due_at, tries, linked })?;
    // Every try gets a fresh token: the token of an earlier try may have left the server.
    let token = mint(rows, env, &suspension, &row, &secrets.link, now)?;
    let message = completed(rows, &suspension, &row, message)?;
    suspension.suspension.counted = counted(rows.reads(), &suspension)?;
    Ok(letter(OutboxRow { tries, ..row }, lease, token, suspension, message, &secrets.bounce, now))
}

/// Makes an answer link for a message; the store keeps only the hash of the link.
fn mint<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    suspension: &SuspensionRow,
    row: &OutboxRow,
    link_secret: &[u8; 32],
    now: DateTime<Utc>,
) -> RowsResult<LinkToken> {
    let mut random = [0; 16];
    env.entropy.fill(&mut random);
    let token = LinkToken::mint(link_secret, rows.next(Table::Tokens)?, random);
    rows.insert_token(&TokenRow {
        rid: token.row(),
        hash: token.hash().to_vec(),
        suspension: suspension.rid,
        recipient: row.recipient.clone(),
        created_at: now,
        delivery: Some(row.id),
    })?;
    Ok(token)
}

/// The message with the number of intents that wait for the one that asks, with the time zone and the locale of the person whom a mail
/// reaches, and with the person in whose place its recipient answers. Only a message that leaves needs them.
fn completed<R: Rows>(rows: &mut R, suspension: &SuspensionRow, row: &OutboxRow, message: Message) -> RowsResult<Message> {
    let waiting = rows.reads().held_up(suspension.intent, WAITING_COUNTED)?;
    // A room has no language of its own.
    let person = if row.channel == EMAIL { listed(rows.reads(), &row.recipient)? } else { None };
    let preferences = person.map(|person| person.preferences).unwrap_or_default();
    let in_place_of = in_place_of(rows.reads(), &suspension.suspension.hands, &message.question, &row.recipient)?;
    Ok(Message { waiting, preferences, in_place_of, ..message })
}

/// Everything a message says when it leaves at `now`.
fn letter(
    row: OutboxRow,
    lease: [u8; 16],
    token: LinkToken,
    suspension: SuspensionRow,
    message: Message,
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
        first: message.first,
        asked_before: message.asked_before,
        repeated: message.repeated,
        tries: row.tries,
        token,
        intent_title: message.intent_title,
        agent: suspension.suspension.asked_by.name.clone(),
        suspension: suspension.suspension,
        question: message.question,
        waiting: message.waiting,
        preferences: message.preferences,
        in_place_of: message.in_place_of,
        now,
    }
}

/// Reads a message that has gone out, and makes a new link for it, because only the hash of its own link is known.
///
/// Refused on a database that was served in production: there the message went to a person, and a link is for that person alone.
pub(crate) fn open_mail<R: Rows>(rows: &mut R, env: &Env<'_>, id: DeliveryId) -> RowsResult<Option<LeasedDelivery>> {
    let Some((row, DeliveryState::Sent)) = rows.reads().delivery_of(id)? else { return Ok(None) };
    let is_ours = row.channel == EMAIL && rows.reads().secret(PRODUCTION_MARK)?.is_none();
    if !is_ours || hold(rows.reads(), env.watch)?.is_some() {
        return Ok(None);
    }
    let (bounce_secret, link_secret) = (secret(rows, env, BOUNCE_SECRET)?, secret(rows, env, LINK_SECRET)?);
    let (suspension, message) = read(rows, &row)?;
    let token = mint(rows, env, &suspension, &row, &link_secret, env.clock.now())?;
    let message = completed(rows, &suspension, &row, message)?;
    let sent_at = row.settled_at.unwrap_or(row.queued_at);
    Ok(Some(letter(row, [0; 16], token, suspension, message, &bounce_secret, sent_at)))
}
