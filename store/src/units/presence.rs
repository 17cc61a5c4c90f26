//! The server's heartbeat, the time given back after an absence, and the hold after a restore.
//!
//! Guarantee: every open question that has a fallback gets time back, once, after an absence of more than a minute (a jump of the
//! clock counts as one), and after a restore. After a restore, even a shorter absence counts, because a restore makes all answer
//! links void. Mechanism: the deadline loop writes a sign of life in the transactions it makes anyway. A start compares that sign
//! with the clock, and records the absence and a new sign of life in one transaction. The loop then works through the open
//! questions in bounded batches, each of which records how far it got. Failure: after a crash in the middle, the absence is
//! recorded and some batches are done; the next start goes on after these batches.

use chrono::{DateTime, TimeDelta, Utc};
use domain::intent::command::{Command, Later};
use domain::intent::deliveries::each_once;
use domain::intent::deliveries::recipients_of;
use domain::intent::event::{Event, ExtensionCause, Reminded};
use domain::people::principal::Principal;
use domain::suspension::Question;
use domain::suspension::absence::Absence;
use domain::suspension::channel::{Channels, Route};

use super::act::act;
use super::announcements::take_back;
use super::loaded::{Loaded, load_of};
use super::log::append;
use super::waking;
use crate::host::clock_watch::STEP_SECONDS_MAX;
use crate::host::kill_points::{self, Point};
use crate::hub::Notice;
use crate::reads::hold;
use crate::rows::prelude::*;
use crate::rows::{
    DeliveryState, FixedQuestion, OutboxRow, PresenceRow, Recovery, Restore, RowsError, RowsResult, SuspensionRow,
};
use crate::standing::{Fired, Hold, Recovered};
use crate::surroundings::Env;

/// The error of [`hold_if_alone`] if a server uses the database: the running server would go on with messages and
/// deadlines.
pub(crate) const IN_USE: &str = "the database is in use by a running placet; stop every server on it first, and start one with \
                                 --after-restore (a server whose machine or network has failed still counts as running for half a minute)";

/// How old a sign of life may get before the next one, in seconds.
const BEAT_SECONDS: i64 = 10;
/// The least time, in seconds, by which the clock must be behind the last sign of life for a warning. A time service may set a
/// clock back by less.
const BEHIND_SECONDS_MIN: i64 = 60;
/// How many questions one transaction deals with after an absence.
const QUESTIONS_PER_UNIT: u32 = 64;
/// How old the sign of life of a server at work may be, in seconds: a new one is due after [`BEAT_SECONDS`], and the loop that
/// writes it runs every five seconds.
const BEAT_AGE_SECONDS_MAX: i64 = BEAT_SECONDS + 5;
/// How many questions with a fixed deadline one query reads.
const FIXED_PER_LOOK: u32 = 1_024;

/// Deals with an absence, or with a reason to hold deadlines back, before the deadline loop fires anything. Returns `None` if
/// timers may fire.
pub(super) fn first<R: Rows>(rows: &mut R, env: &Env<'_>, now: DateTime<Utc>) -> RowsResult<Option<Fired>> {
    // This call notices a step of the clock. A step that comes later is dealt with when the loop runs next.
    env.watch.is_steady();
    let began = env.watch.since_boot();
    match hold(rows.reads(), env.watch)? {
        // No sign of life is written and no turn is counted, because the time may be wrong, and because the questions get the
        // time of the hold back later.
        Some(Hold::Clock | Hold::Restore { .. }) => Ok(Some(Fired { rows: 0, next_due: None, turned: None })),
        Some(Hold::Recovery) => {
            if env.watch.has_stepped_back() && (end_ahead(rows, env, now)? || end_fixed(rows, env, now, Lost::Agreement)?) {
                return Ok(Some(Fired { rows: 1, next_due: None, turned: None }));
            }
            if let Some(ahead) = env.watch.small_step() {
                let lost = Absence { from: now - ahead, until: now };
                if end_fixed(rows, env, now, Lost::Time(&lost))? {
                    return Ok(Some(Fired { rows: 1, next_due: None, turned: None }));
                }
                if is_at_work(rows, env)? {
                    return Ok(Some(Fired { rows: 1, next_due: None, turned: began }));
                }
            }
            let recovered = recover(rows, env)?;
            if recovered.more {
                return Ok(Some(Fired { rows: 1, next_due: None, turned: None }));
            }
            // An absence that begins while an earlier one is dealt with is recorded later; until then the server counts as away.
            let is_noticed = rows.reads().presence()?.is_some_and(|presence| is_fresh(presence.beat_at, now));
            if recovered.done && is_noticed {
                beat(rows, now)?;
            }
            // If batches are left, or if timers may fire now, this is not zero, so that the loop runs again at once.
            let rows = usize::from(!recovered.done || is_noticed);
            Ok(Some(Fired { rows, next_due: None, turned: began.filter(|_| is_noticed) }))
        }
        None => {
            beat(rows, now)?;
            Ok(None)
        }
    }
}

/// Takes back a batch of announcements that were made before the clock was set back. Returns whether there were any.
fn end_ahead<R: Rows>(rows: &mut R, env: &Env<'_>, now: DateTime<Utc>) -> RowsResult<bool> {
    let ahead = rows.reads().announcements_ahead(now, QUESTIONS_PER_UNIT)?;
    take_back(rows, env, &ahead, now)?;
    Ok(!ahead.is_empty())
}

/// Whether a step of the clock is the only reason for which deadlines are held back.
fn is_at_work<R: Rows>(rows: &mut R, env: &Env<'_>) -> RowsResult<bool> {
    let is_at_work = |presence: PresenceRow| {
        presence.recovery.is_none() && presence.restore == Restore::Over && !env.watch.is_late(presence.beat_at)
    };
    Ok(rows.reads().presence()?.is_none_or(is_at_work))
}

/// Which questions end because of a step of the clock or an absence. All of them are open, have a fallback, and have a deadline
/// that the asker applies by its own clock.
#[derive(Clone, Copy)]
enum Lost<'a> {
    /// All: the clock was set back, so the server and the asker no longer agree on any deadline.
    Agreement,
    /// The questions that lost too much of their time to answer by this absence.
    Time(&'a Absence),
}

impl Lost<'_> {
    fn ends(self, question: &FixedQuestion) -> bool {
        match self {
            Self::Agreement => true,
            Self::Time(absence) => {
                question.expires_at.is_some_and(|expires_at| absence.takes_too_much(question.suspended_at, expires_at))
            }
        }
    }
}

/// Ends a batch of the questions that `lost` describes. Returns whether there may be more of them.
fn end_fixed<R: Rows>(rows: &mut R, env: &Env<'_>, now: DateTime<Utc>, lost: Lost<'_>) -> RowsResult<bool> {
    let mut after = 0;
    loop {
        let questions = rows.reads().open_fixed(after, FIXED_PER_LOOK)?;
        let mut ended = 0;
        for question in questions.iter().filter(|question| lost.ends(question)) {
            if ended == QUESTIONS_PER_UNIT {
                break;
            }
            let read = rows.reads().suspension_at(question.rid).and_then(|row| Ok((load_of(rows, &row)?, row.suspension)));
            let (mut loaded, suspension) = match read {
                Ok(read) => read,
                Err(error) => {
                    unreadable(question.rid, error)?;
                    continue;
                }
            };
            // The deadline of these questions is fixed, so a command that would give time back after an outage ends the question
            // instead.
            let later = Later::By(TimeDelta::seconds(1));
            let command = Command::Extend { suspension_id: suspension.id, later, reason: None, cause: ExtensionCause::Outage };
            act(rows, env, &mut loaded, &command, now)?;
            ended += u32::from(loaded.intent.open.is_none());
        }
        if ended > 0 {
            return Ok(true);
        }
        let Some(newest) = questions.last().filter(|_| questions.len() == FIXED_PER_LOOK as usize) else { return Ok(false) };
        after = newest.rid;
    }
}

/// The last known sign of life. If the database has none, the newest event counts instead.
fn last_presence<R: Rows>(rows: &mut R, now: DateTime<Utc>) -> RowsResult<PresenceRow> {
    if let Some(presence) = rows.reads().presence()? {
        return Ok(presence);
    }
    Ok(PresenceRow::at(rows.reads().newest_event_at()?.unwrap_or(now)))
}

/// Whether a sign of life is so recent that no absence lies between it and now.
fn is_fresh(beat_at: DateTime<Utc>, now: DateTime<Utc>) -> bool {
    Absence::between(beat_at, now).is_none()
}

/// Writes a sign of life, unless the last one is recent. A sign of life in the future is replaced: it was written before the
/// clock was set back.
fn beat<R: Rows>(rows: &mut R, now: DateTime<Utc>) -> RowsResult<()> {
    let presence = rows.reads().presence()?;
    let age = presence.as_ref().map(|presence| now - presence.beat_at);
    if age.is_some_and(|age| age >= TimeDelta::zero() && age < TimeDelta::seconds(BEAT_SECONDS)) {
        return Ok(());
    }
    rows.save_presence(&PresenceRow { beat_at: now, ..presence.unwrap_or_else(|| PresenceRow::at(now)) })
}

/// Leaves the last sign of life of a server that stops in an orderly way.
pub(crate) fn depart<R: Rows>(rows: &mut R, env: &Env<'_>) -> RowsResult<()> {
    let now = env.clock.now();
    let presence = rows.reads().presence()?.unwrap_or_else(|| PresenceRow::at(now));
    // While deadlines are held back, and just after they are released, no sign of life is written, so that open questions get
    // that time back. An absence that is not recorded yet is left for the next start to find.
    let is_held = !env.watch.is_steady() || presence.restore != Restore::Over;
    if is_held || env.watch.is_away(presence.beat_at) {
        return Ok(());
    }
    rows.save_presence(&PresenceRow { beat_at: now, ..presence })
}

/// Makes up for an absence, one bounded batch at a time: first for a recorded absence, then for the one since the last sign of
/// life.
pub(crate) fn recover<R: Rows>(rows: &mut R, env: &Env<'_>) -> RowsResult<Recovered> {
    let presence = last_presence(rows, env.clock.now())?;
    // The clock is read after the sign of life: if another server wrote that sign since this transaction began, it would
    // otherwise seem to be in the future, as if the clock had been set back.
    rows.reads().look_at_the_clock()?;
    let now = env.clock.now();
    // With a clock that cannot be trusted, no one can tell how long the server was away.
    let held_since = presence.restore.held_since();
    if held_since.is_some() || !env.watch.is_steady() {
        return Ok(Recovered { done: true, more: false, held_since });
    }
    if let Some(recovery) = presence.recovery {
        go_on(rows, env, presence, recovery, now)?;
        return Ok(Recovered { done: false, more: false, held_since: None });
    }
    let absence = Absence::between(presence.beat_at, now);
    // An absence too short to be recorded only ends questions with a fixed deadline that lost too much of their time by it.
    if absence.is_none() {
        let short = short_absence(rows, env, &presence, now)?;
        if end_fixed(rows, env, now, Lost::Time(&short))? {
            return Ok(Recovered { done: false, more: true, held_since: None });
        }
    }
    if let Some(absence) = absence {
        tracing::warn!(
            away_seconds = (absence.until - absence.from).num_seconds(),
            "the server was away, or its clock jumped ahead; open questions with a fallback get that time back, so that no fallback takes effect because of the absence"
        );
    }
    // If the clock was set back, the sign of life stays in the future until a turn of the loop has dealt with that. If the server
    // crashes before, its next start notices the step again.
    let is_new_step = presence.beat_at - now > TimeDelta::seconds(STEP_SECONDS_MAX) && !env.watch.has_stepped();
    if is_new_step {
        env.watch.was_set_back();
    }
    if presence.beat_at - now > TimeDelta::seconds(BEHIND_SECONDS_MIN) {
        tracing::warn!(
            behind_seconds = (presence.beat_at - now).num_seconds(),
            "the clock is behind the last sign of life of a server on this database; until it is set, deadlines come late: keep it right \
             with a time service (chrony, systemd-timesyncd)"
        );
    }
    let restored = presence.restore == Restore::Released;
    let up_to = rows.reads().newest_suspension()?;
    let recovery = Recovery { from: presence.beat_at, until: now, restored, done_to: 0, up_to };
    let recovery = (absence.is_some() || restored).then_some(recovery);
    // A start alone writes no sign of life, because a server that dies again and again before it serves counts as away. But if
    // the sign lies in the future and no new step of the clock is left to deal with, the clock is believed, and the sign is set
    // to its time.
    let is_believed = presence.beat_at > now && !is_new_step;
    let beat_at = if recovery.is_some() || is_believed { now } else { presence.beat_at };
    rows.save_presence(&PresenceRow { beat_at, restore: Restore::Over, recovery, ..presence })?;
    Ok(Recovered { done: recovery.is_none(), more: false, held_since: None })
}

/// The time in which the server was possibly away: since the last turn of the deadline loop of this process or, before its first
/// turn, since the last sign of life. If there is another server, the first [`BEAT_AGE_SECONDS_MAX`] seconds after that sign do
/// not count, because a server at work may leave no new sign in them.
fn short_absence<R: Rows>(rows: &mut R, env: &Env<'_>, presence: &PresenceRow, now: DateTime<Utc>) -> RowsResult<Absence> {
    let from = match env.watch.since_turn() {
        Some(since) => now - TimeDelta::from_std(since).unwrap_or(TimeDelta::zero()),
        None if rows.reads().is_alone()? => presence.beat_at,
        None => presence.beat_at + TimeDelta::seconds(BEAT_AGE_SECONDS_MAX),
    };
    Ok(Absence { from: from.max(presence.beat_at), until: now })
}

/// Deals with the next batch of questions, and records in the same transaction how far it got.
fn go_on<R: Rows>(rows: &mut R, env: &Env<'_>, presence: PresenceRow, recovery: Recovery, now: DateTime<Utc>) -> RowsResult<()> {
    let questions = rows.reads().open_in(recovery.done_to, recovery.up_to, !recovery.restored, QUESTIONS_PER_UNIT)?;
    for rid in &questions {
        let mut open = match OpenQuestion::read(rows, *rid, &recovery) {
            Ok(Open::Question(open)) => open,
            Ok(Open::Stop(row)) => {
                // It reads before it writes.
                if let Err(error) = waking::give_back(rows, env, &row, absence_of(&recovery, now), now) {
                    unreadable(*rid, error)?;
                }
                continue;
            }
            Err(error) => {
                unreadable(*rid, error)?;
                continue;
            }
        };
        if let Some(at) =
            absence_of(&recovery, now).and_then(|absence| absence.extended(&open.row.suspension, &open.question, now))
        {
            let suspension_id = open.row.suspension.id;
            let cause = ExtensionCause::Outage;
            let command = Command::Extend { suspension_id, later: Later::Until(at), reason: None, cause };
            act(rows, env, &mut open.loaded, &command, now)?;
        }
        if recovery.restored {
            ask_afresh(rows, env, *open, now)?;
        }
        kill_points::reached(Point::WithinRecovery);
    }
    let last = questions.last().copied().filter(|_| questions.len() == QUESTIONS_PER_UNIT as usize);
    let recovery = last.map(|done_to| Recovery { done_to, ..recovery });
    if recovery.is_none() {
        rows.notice(Notice::Timer);
        rows.notice(Notice::Delivery);
    }
    // A server that is at work writes a sign of life here. A server that has just started, or slept meanwhile, has another
    // absence to record first.
    let beat_at = if is_fresh(presence.beat_at, now) { now } else { presence.beat_at };
    rows.save_presence(&PresenceRow { beat_at, recovery, ..presence })
}

/// The absence for which a recovery makes up. After a restore it lasts until this very moment: the new links leave now, and their people must
/// have time to use them.
fn absence_of(recovery: &Recovery, now: DateTime<Utc>) -> Option<Absence> {
    if recovery.restored {
        return Absence::without_links(recovery.from, now.max(recovery.until));
    }
    Absence::between(recovery.from, recovery.until)
}

/// An open suspension.
enum Open {
    Question(Box<OpenQuestion>),
    /// A stop, about which no people are asked.
    Stop(Box<SuspensionRow>),
}

/// An open question with everything needed to make up for an absence. All of it is read before anything is written, so that a
/// question that cannot be read is left out as a whole.
struct OpenQuestion {
    row: SuspensionRow,
    question: Question,
    loaded: Loaded,
    /// The messages about the question; read only after a restore.
    messages: Vec<(OutboxRow, DeliveryState)>,
}

impl OpenQuestion {
    fn read<R: Rows>(rows: &mut R, rid: i64, recovery: &Recovery) -> RowsResult<Open> {
        let row = rows.reads().suspension_at(rid)?;
        if row.suspension.kind.is_stop() {
            return Ok(Open::Stop(Box::new(row)));
        }
        let (question, loaded) = (rows.reads().question(&row)?, load_of(rows, &row)?);
        let messages = if recovery.restored { rows.reads().deliveries(rid)? } else { Vec::new() };
        Ok(Open::Question(Box::new(Self { row, question, loaded, messages })))
    }

    /// The channels and recipients of the attempts that are due at `now` and have not been made yet. The next attempt sends to
    /// all of them anyway.
    fn told_anyway<'a>(&'a self, channels: &'a Channels, now: DateTime<Utc>) -> Vec<Route<'a>> {
        let (made, policy) = (self.row.suspension.attempt, self.question.retry_policy.as_ref());
        let newest = policy.map_or(made, |policy| policy.newest_due(self.row.suspension.suspended_at, now));
        let routes = |attempt| channels.routes(self.question.channel_at(attempt), self.question.recipients_at(attempt));
        (made + 1..=newest).flat_map(routes).collect()
    }
}

/// A question that cannot be read must not keep the server from starting; its deadline is put off when it comes due.
fn unreadable(rid: i64, error: RowsError) -> RowsResult<()> {
    if !error.is_unreadable() {
        return Err(error);
    }
    tracing::error!(
        suspension.rid = rid,
        "an open question or stop cannot be read: it got no time back, was not asked afresh, and did not end because the clock was set back"
    );
    Ok(())
}

/// Sends a new message to every person who had one, by the same channel, whichever attempt asked them: the old links are void, so
/// no one could answer. A person who is asked in a moment anyway, by an attempt that is due, gets the new link with that attempt.
fn ask_afresh<R: Rows>(rows: &mut R, env: &Env<'_>, mut open: OpenQuestion, now: DateTime<Utc>) -> RowsResult<()> {
    let sent = open.messages.iter().filter(|(_, state)| *state == DeliveryState::Sent).map(|(row, _)| row.route());
    let told_anyway = open.told_anyway(env.channels, now);
    let ways = each_once(sent.filter(|route| !told_anyway.iter().any(|told| told.is_same(route))), env.channels);
    let notify_to = recipients_of(&ways);
    // If the question was withdrawn while it was read, the intent may have another open question by now, with other people.
    let asked = open.loaded.intent.open.as_ref().filter(|asked| asked.id == open.row.suspension.id && !asked.is_expired(now));
    let Some(suspension) = asked.filter(|_| !notify_to.is_empty()) else { return Ok(()) };
    let server = Principal::server();
    let (suspension_id, attempt) = (suspension.id, suspension.attempt);
    let reminded = Reminded { suspension_id, attempt, notify_to, ways, reminded_by: server.subject, credential: None };
    append(rows, env, &mut open.loaded, &[Event::SuspensionReminded(Box::new(reminded))], &server.name, now)?;
    Ok(())
}

/// Holds the database as [`hold_after_restore`] does, if no server uses it; `None` otherwise.
pub(crate) fn hold_if_alone<R: Rows>(rows: &mut R, env: &Env<'_>) -> RowsResult<Option<()>> {
    // A starting server takes its lock before it reads the presence. So either this transaction finds that server, or the server finds
    // the hold.
    let is_alone = rows.reads().is_alone()?;
    is_alone.then(|| hold_after_restore(rows, env)).transpose()
}

/// Holds deadlines and messages until they are released, and invalidates every answer link there is.
fn hold_after_restore<R: Rows>(rows: &mut R, env: &Env<'_>) -> RowsResult<()> {
    let now = env.clock.now();
    let presence = last_presence(rows, now)?;
    let tokens_void_to = rows.reads().newest_token()?;
    // If the database was restored again before the first restore was released, people have waited since the first one.
    let since = presence.restore.held_since().unwrap_or(now);
    rows.save_presence(&PresenceRow { restore: Restore::Held { since }, tokens_void_to, ..presence })
}

/// Releases the hold after a restore; the running server, or the next one that starts, then gives open questions their time back
/// and sends new links. False if there is no hold.
pub(crate) fn release<R: Rows>(rows: &mut R) -> RowsResult<bool> {
    let held = rows.reads().presence()?.filter(|presence| presence.restore.held_since().is_some());
    let Some(presence) = held else { return Ok(false) };
    rows.save_presence(&PresenceRow { restore: Restore::Released, ..presence })?;
    Ok(true)
}
