//! Appends events to the log, and writes every row that an appended event implies.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use domain::base::ids::SuspensionId;
use domain::base::name::{SERVER, is_same};
use domain::intent::Intent;
use domain::intent::access::AccessEvent;
use domain::intent::announcement::Announcement;
use domain::intent::deliveries::each_once;
use domain::intent::event::{AnswerCounted, AnswerTakenBack, Event, Extended, Reminded, Renotified, ending_of};
use domain::intent::evolve::evolve;
use domain::intent::govern::cost_of;
use domain::intent::hands::HandsEvent;
use domain::intent::record::Record;
use domain::log::{Entry, Envelope, Sealed};
use domain::people::access::Permission;
use domain::suspension::channel::{Route, Way};
use domain::suspension::delivery::{Delivery, Failover};
use domain::suspension::{Ending, Question, Resolution, Suspension};
use domain::wire::is_signalled;
use serde_json::Value;

use super::allowance::{EVENT_ROWS_BYTES, charge};
use super::loaded::Loaded;
use super::queue::{Queueing, queue, requeue, settle_waiting, waiting};
use super::{coordinators, drafts, edges, fates, inbox, places, plans, retries, stops, tasks, wakes};
use crate::fact::Fact;
use crate::hub::Notice;
use crate::rows::prelude::*;
use crate::rows::{
    AnswerRow, EntryRow, NewEvent, ReadAnswers as _, RowsError, RowsResult, SuspensionRow, Table, TimerKind, TimerRow,
};
use crate::span::{KeptTrace, SpanEnd};
use crate::story::{Story, What};
use crate::surroundings::Env;

/// Appends events to the intent's log and writes every row they imply. Returns the last event.
///
/// `now` is the clock's time; an event is never dated before the one it follows, whatever the clock shows.
pub(super) fn append<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    loaded: &mut Loaded,
    events: &[Event],
    actor: &str,
    now: DateTime<Utc>,
) -> RowsResult<Option<Sealed>> {
    let (mut last, mut bytes) = (None, 0);
    let dated = now.max(loaded.intent.updated_at);
    for event in events {
        let event = &*places::counted(rows, loaded, event)?;
        let rid = rows.next(Table::Events)?;
        let sealed = Envelope {
            id: env.entropy.uuid(dated),
            sequence: loaded.row.last_sequence + 1,
            actor,
            created_at: dated,
            previous: loaded.row.last_hash,
            salt: env.entropy.salt(),
        }
        .seal(Entry::Intent(loaded.intent.id, event))?;
        let previous = (loaded.row.last_sequence > 0).then_some(loaded.row.last_event);
        rows.insert_event(&NewEvent {
            rid,
            intent: loaded.row.rid,
            previous,
            event_type: event.event_type(),
            created_at: dated,
            sealed: &sealed,
        })?;
        if is_signalled(event) {
            rows.publish(rid, loaded.row.rid)?;
            rows.notice(Notice::Published);
        }
        // The body of an intent is stored a second time, in a row of its own, so it counts twice.
        let copies = if matches!(event, Event::IntentCreated(..)) { 2 } else { 1 };
        bytes += copies * sealed.bytes.len() + EVENT_ROWS_BYTES;
        loaded.row.last_event = rid;
        loaded.row.last_sequence += 1;
        loaded.row.last_hash = Some(sealed.hash);
        evolve(&mut loaded.intent, event, now, dated);
        follow(rows, env, loaded, event, now)?;
        last = Some(sealed);
    }
    if !events.is_empty() {
        rows.notice(Notice::Appended(loaded.intent.id));
        let intent = &loaded.intent;
        let created_by = intent.created_by.clone();
        // The bytes of an agent's events count against its own daily limit. The bytes of the server's events, which follow from
        // the questions of agents, count against the limit of the intent's creator. People have no limit.
        if actor == SERVER || is_same(actor, &created_by.name) {
            charge(rows, &created_by.name, bytes, now)?;
        } else if loaded.writer.as_deref() == Some(actor) {
            charge(rows, actor, bytes, now)?;
        }
        loaded.row.intent = Intent {
            version: intent.version,
            updated_at: intent.updated_at,
            unmet: intent.unmet,
            is_held: intent.is_held,
            is_grouped: intent.is_grouped,
            is_errand: intent.is_errand,
            has_tasks: intent.has_tasks,
            ..Intent::born(intent.id, intent.status, created_by, intent.created_at)
        };
        rows.update_intent(&loaded.row)?;
    }
    Ok(last)
}

/// Writes the rows that one appended event implies.
fn follow<R: Rows>(rows: &mut R, env: &Env<'_>, loaded: &mut Loaded, event: &Event, now: DateTime<Utc>) -> RowsResult<()> {
    match event {
        Event::StatePatched(patches) => {
            let mut body = rows.reads().body(loaded.row.rid)?;
            body.apply(patches);
            rows.update_state(loaded.row.rid, &body.state)
        }
        Event::Announced(announced) => announce(rows, loaded, announced),
        Event::Adopted { suspension_id, client_id } => {
            let suspension = loaded.suspension_row(*suspension_id)?.rid;
            rows.insert_client_id(loaded.row.rid, client_id, suspension)
        }
        Event::StatusChanged { .. } => {
            fates::follow(rows, loaded)?;
            retries::follow(rows, loaded)?;
            end_announcement(rows, loaded)
        }
        Event::Dependency(change) => edges::follow(rows, loaded, change),
        Event::Task(change) => tasks::follow(rows, loaded, change),
        Event::Plan(change) => plans::follow(rows, loaded, change),
        Event::Coordinator(change) => coordinators::follow(rows, loaded, change),
        Event::Retry(_) => retries::follow(rows, loaded),
        Event::Stop(change) => stops::follow(rows, env, loaded, change, now),
        Event::Suspended(suspension, question) => asked(rows, env, loaded, suspension, question, now),
        Event::SuspensionRenotified(renotified) => ask_again(rows, env, loaded, renotified, now),
        Event::SuspensionReminded(reminded) => remind(rows, env, loaded, reminded, now),
        Event::SuspensionExtended(extended) => extend(rows, loaded, extended),
        Event::Resumed(_)
        | Event::SuspensionExpired(_)
        | Event::SuspensionUndeliverable { .. }
        | Event::SuspensionCancelled { .. } => {
            coordinators::outlive(rows, loaded)?;
            tasks::outlive(rows, loaded)?;
            end(rows, env, loaded, event, now)
        }
        Event::AnswerCounted(counted) => count(rows, loaded, counted),
        Event::AnswerTakenBack(taken) => discount(rows, loaded, taken),
        Event::Hands(change) => hand(rows, env, loaded, change, now),
        Event::LateAnswer(refused) | Event::ResponseRejected(refused) => touch(rows, loaded, refused.suspension_id),
        Event::DeliverySent { delivery, .. } => {
            told(rows, loaded, delivery);
            touch(rows, loaded, delivery.suspension_id)
        }
        Event::DeliveryBounced { delivery, .. } => touch(rows, loaded, delivery.suspension_id),
        Event::DeliveryFailover(failover) => fail_over(rows, env, loaded, failover, now),
        Event::LeaseAcquired(lease) | Event::LeaseRenewed(lease) | Event::LeaseReleased(lease) => {
            loaded.row.has_leases = true;
            rows.save_lease(loaded.row.rid, lease)
        }
        Event::AgentAssigned(assigned) => {
            rows.save_assignment(loaded.row.rid, &assigned.agent_id, loaded.row.last_event)?;
            // An agent that is assigned anew has its retries anew.
            retries::follow(rows, loaded)
        }
        Event::PolicyChanged { policy, .. } => {
            rows.update_policy(loaded.row.rid, policy.as_ref().map(|policy| Value::Object(policy.to_object())).as_ref())
        }
        Event::AgentUnassigned(unassigned) => unassign(rows, loaded, &unassigned.agent_id),
        Event::Access(change) => change_access(rows, loaded, change),
        Event::Recorded(record) => keep(rows, loaded, record),
        Event::Joined(_) | Event::Left(_) => places::save(rows, loaded),
        Event::IntentCreated(..)
        | Event::AnsweredUnasked(_)
        | Event::AskerWentOn { .. }
        | Event::SuspensionEscalated { .. }
        | Event::DeliveryFailed(_)
        | Event::DeliveryRedriven { .. }
        | Event::Member(_)
        | Event::Violated(_)
        | Event::Receipt(_)
        | Event::Appended(_) => Ok(()),
    }
}

/// Writes the rows that data of an agent imply.
fn keep<R: Rows>(rows: &mut R, loaded: &Loaded, record: &Record) -> RowsResult<()> {
    match record {
        Record::Cost(cost) if loaded.intent.governance.limits_cost() => {
            rows.update_spent(loaded.row.rid, loaded.intent.governance.spent + cost_of(&cost.amount))
        }
        Record::RetryPolicy(_) => retries::follow(rows, loaded),
        Record::Cost(_)
        | Record::Decision(_)
        | Record::CoordinatorDecision(_)
        | Record::Attachment(_)
        | Record::AttachmentRemoved(_)
        | Record::Failure(_) => Ok(()),
    }
}

/// Takes an agent off an intent.
fn unassign<R: Rows>(rows: &mut R, loaded: &Loaded, agent_id: &str) -> RowsResult<()> {
    stops::depart(rows, loaded, agent_id)?;
    rows.delete_assignment(loaded.row.rid, agent_id)
}

/// Writes the rows that a change of access implies.
fn change_access<R: Rows>(rows: &mut R, loaded: &Loaded, change: &AccessEvent) -> RowsResult<()> {
    let (intent, event) = (loaded.row.rid, loaded.row.last_event);
    if let (Some(agent_id), Some(stop)) = (change.takes_from(), &loaded.intent.stop) {
        let entries = rows.reads().entries(intent)?;
        // An entry that had lapsed before is removed with the next change, and its agent had left before.
        let is_lost = |row: &EntryRow| {
            let entry = &row.entry;
            entry.principal_id == agent_id
                && entry.permission >= Permission::Write
                && entry.is_in_force(stop.suspension.suspended_at)
        };
        if entries.iter().any(is_lost) {
            stops::depart(rows, loaded, agent_id)?;
        }
    }
    match change {
        AccessEvent::Granted(granted) => rows.save_entry(intent, &granted.entry(), event),
        AccessEvent::Revoked(removed) | AccessEvent::Expired(removed) => rows.delete_entry(intent, &removed.principal_id),
        AccessEvent::Requested(requested, requested_by) => {
            let request = requested.opened(requested_by);
            rows.insert_access_request(intent, &request, event)
        }
        AccessEvent::Approved(decided) | AccessEvent::Denied(decided) => rows.delete_access_request(intent, decided.request_id),
    }
}

/// Writes the row that an announced question implies. If the question does not come in time, the deadline loop takes the
/// announcement back.
fn announce<R: Rows>(rows: &mut R, loaded: &mut Loaded, announced: &Announcement) -> RowsResult<()> {
    loaded.is_announced = true;
    rows.insert_announcement(loaded.row.rid, announced)?;
    rows.notice(Notice::Timer);
    Ok(())
}

/// Removes the announcement that an event has ended.
fn end_announcement<R: Rows>(rows: &mut R, loaded: &mut Loaded) -> RowsResult<()> {
    if !loaded.is_announced || loaded.intent.announcement.is_some() {
        return Ok(());
    }
    loaded.is_announced = false;
    rows.delete_announcement(loaded.row.rid)
}

/// Writes the rows that a question or a request implies: itself, its timers, and its first messages.
fn asked<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    loaded: &mut Loaded,
    suspension: &Suspension,
    question: &Question,
    now: DateTime<Utc>,
) -> RowsResult<()> {
    let rid = rows.next(Table::Suspensions)?;
    let people = question.recipients_during(1..=1);
    let row = SuspensionRow {
        rid,
        intent: loaded.row.rid,
        event: loaded.row.last_event,
        ending_event: None,
        places: inbox::places(question, &people),
        suspension: suspension.clone(),
    };
    rows.insert_suspension(&row)?;
    inbox::put(rows, &row, question)?;
    if let Some(client_id) = &question.client_id {
        rows.insert_client_id(loaded.row.rid, client_id, rid)?;
    }
    fates::begin(rows, loaded, question)?;
    if let Some(key) = question.grounds.as_ref().and_then(|grounds| grounds.question_key.as_deref()) {
        rows.save_question_key(rid, key)?;
    }
    if suspension.kind.stops_intent() {
        end_announcement(rows, loaded)?;
        loaded.row.open_suspension = Some(rid);
        loaded.row.newest_suspension = Some(rid);
    }
    loaded.suspensions.insert(0, row);
    rows.notice(Notice::Fact(Fact::Asked));
    rows.notice(story(loaded, &suspension.asked_by.name, What::Asked));
    if env.traced {
        let span = loaded.span(env, SpanEnd::Suspend, now);
        rows.insert_trace(rid, KeptTrace::of(span.context))?;
        rows.notice(Notice::Span(Box::new(span)));
    }
    if let Some(due_at) = suspension.expires_at {
        rows.insert_timer(TimerRow { due_at, suspension: rid, kind: TimerKind::Deadline, attempt: 0 })?;
        rows.notice(Notice::Timer);
    }
    // Each portfolio has a timer of its own, because the portfolio with the earliest deadline may end, or move its deadline,
    // before.
    for deadline in loaded.intent.member_of.iter().filter_map(|member_of| member_of.deadline) {
        if suspension.kind.stops_intent() {
            rows.insert_portfolio_timer(rid, deadline)?;
            rows.notice(Notice::Timer);
        }
    }
    let policy = question.retry_policy.as_ref();
    if let Some(due_at) = policy.and_then(|policy| policy.next_due_at(suspension.suspended_at, 1)) {
        rows.insert_timer(TimerRow { due_at, suspension: rid, kind: TimerKind::Attempt, attempt: 2 })?;
    }
    let routes = env.channels.routes(question.channel_at(1), &people);
    queue(rows, env, &Queueing { suspension: rid, attempt: 1, routes, known: &[] }, now)
}

/// Writes the rows that one more attempt implies: its number, its messages, and when the next attempt is due.
fn ask_again<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    loaded: &mut Loaded,
    renotified: &Renotified,
    now: DateTime<Utc>,
) -> RowsResult<()> {
    touch(rows, loaded, renotified.suspension_id)?;
    rows.notice(Notice::Suspension(renotified.suspension_id));
    if renotified.skipped {
        return Ok(());
    }
    let suspension = loaded.suspension_row(renotified.suspension_id)?.rid;
    if let Some(due_at) = renotified.next_attempt_at {
        let attempt = renotified.attempt + 1;
        rows.insert_timer(TimerRow { due_at, suspension, kind: TimerKind::Attempt, attempt })?;
    }
    let row = loaded.suspension_row(renotified.suspension_id)?;
    let question = rows.reads().question(row)?;
    // The people of each skipped attempt are asked by the channels of that attempt, because the channels of the newest attempt
    // may not reach them.
    let made_up = renotified.makes_up_from..=renotified.attempt;
    inbox::put_further(rows, loaded, renotified.suspension_id, &question, &question.recipients_during(made_up.clone()))?;
    let routes = made_up.flat_map(|attempt| env.channels.routes(question.channel_at(attempt), question.recipients_at(attempt)));
    let ways = each_once(routes, env.channels);
    ask(rows, env, suspension, renotified.attempt, ways.iter().map(Way::route).collect(), now)
}

/// Queues the messages to the people who are asked because no person of an attempt can be reached.
fn fail_over<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    loaded: &mut Loaded,
    failover: &Failover,
    now: DateTime<Utc>,
) -> RowsResult<()> {
    rows.notice(Notice::Fact(Fact::FailedOver));
    let row = loaded.suspension_row(failover.suspension_id)?;
    let (suspension, question) = (row.rid, rows.reads().question(row)?);
    inbox::put_further(rows, loaded, failover.suspension_id, &question, &failover.notify_to)?;
    let routes = env.channels.routes(failover.channel_hint.as_deref(), &failover.notify_to);
    ask(rows, env, suspension, failover.attempt, routes, now)
}

/// Queues a message for each route that has no message of this attempt yet.
fn ask<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    suspension: i64,
    attempt: u32,
    routes: Vec<Route<'_>>,
    now: DateTime<Utc>,
) -> RowsResult<()> {
    let known = rows.reads().deliveries(suspension)?;
    let mut queueing = Queueing { suspension, attempt, routes, known: &known };
    queueing.leave_out_the_asked();
    queue(rows, env, &queueing, now)
}

/// Writes the rows that a requested reminder implies: the time of the reminder, and a message by each way (channel and
/// recipient). A message that still waits is sent now, and no new one is written for its way.
fn remind<R: Rows>(rows: &mut R, env: &Env<'_>, loaded: &Loaded, reminded: &Reminded, now: DateTime<Utc>) -> RowsResult<()> {
    let suspension = loaded.suspension_row(reminded.suspension_id)?.rid;
    rows.mark_reminded(suspension, now)?;
    let known = rows.reads().deliveries(suspension)?;
    let waiting = waiting(&known);
    requeue(rows, &waiting, now)?;
    let mut routes: Vec<_> = reminded.ways.iter().map(Way::route).collect();
    routes.retain(|route| !waiting.iter().any(|row| row.route().is_same(route)));
    // A person who has a message of this attempt gets another one: the reminder asks for that.
    queue(rows, env, &Queueing { suspension, attempt: reminded.attempt, routes, known: &known }, now)
}

/// Moves the deadline and its timer, and announces the change to waiters and open pages.
fn extend<R: Rows>(rows: &mut R, loaded: &Loaded, extended: &Extended) -> RowsResult<()> {
    touch(rows, loaded, extended.suspension_id)?;
    let suspension = loaded.suspension_row(extended.suspension_id)?.rid;
    let places = &loaded.suspension_row(extended.suspension_id)?.places;
    rows.move_in_inbox(suspension, places, extended.old_expires_at, extended.new_expires_at)?;
    rows.move_deadline(suspension, extended.new_expires_at)?;
    let timer = TimerRow { due_at: extended.old_expires_at, suspension, kind: TimerKind::Deadline, attempt: 0 };
    // A timer that was put off is not found under its old time, and stays. If it fires before the new deadline, it does nothing.
    rows.delete_timer(timer)?;
    rows.insert_timer(TimerRow { due_at: extended.new_expires_at, ..timer })?;
    rows.notice(Notice::Timer);
    rows.notice(Notice::Suspension(extended.suspension_id));
    Ok(())
}

/// Ends a suspension's row. Every ending, whatever caused it, goes through this function.
fn end<R: Rows>(rows: &mut R, env: &Env<'_>, loaded: &mut Loaded, event: &Event, now: DateTime<Utc>) -> RowsResult<()> {
    // If two events are about the same ending, only the first of them ends the suspension.
    let Some((id, Ending { resolution, .. })) = ending_of(event, now) else { return Ok(()) };
    let ended = loaded.intent.suspension(id).ok_or(RowsError::Inconsistent("an ending without its suspension"))?;
    let rid = loaded.suspension_row(id)?.rid;
    if ended.kind.stops_intent() {
        loaded.row.open_suspension = None;
    }
    if !rows.end_suspension(rid, ended, loaded.row.last_event)? {
        return Err(RowsError::Inconsistent("an open suspension has already ended"));
    }
    if loaded.suspension_row(id)?.suspension.hands.has_alerts {
        rows.delete_alerts(rid)?;
    }
    let mut hands = drafts::end(rows, loaded.suspension_row(id)?, resolution)?;
    let ends_unanswered = ended.quorum.is_some() && resolution != Resolution::Responded;
    hands.was_answered = ends_unanswered && !rows.reads().answers(rid)?.is_empty();
    hands.answered_in_place = matches!(event, Event::Resumed(resumed) if resumed.in_place_of.is_some());
    if !hands.has_drafts && !hands.answered_in_place {
        // The ending that is announced has no drafts, and names no person in whose place the answer was given: a caller that waits for such
        // a question reads them.
        rows.notice(Notice::Ended(Arc::new(ended.clone())));
    }
    if loaded.suspension_row(id)?.suspension.hands != hands {
        rows.save_hands(rid, &hands)?;
    }
    rows.notice(Notice::Suspension(ended.id));
    inbox::end(rows, loaded, id, event)?;
    if ended.quorum.is_some() {
        rows.delete_answers(rid)?;
    }
    let known = rows.reads().deliveries(rid)?;
    settle_waiting(rows, known, now)?;
    if let Some(fact) = Fact::of_ending(event, ended) {
        if env.traced
            && let Fact::Ended { outcome, method, .. } = fact
        {
            let asked = rows.take_trace(rid)?.map(|kept| kept.own);
            let span = loaded.span(env, SpanEnd::Resume { outcome, method, asked }, now);
            rows.notice(Notice::Span(Box::new(span)));
        }
        if let Fact::Ended { outcome, method, .. } = fact {
            rows.notice(story(loaded, &ended.asked_by.name, What::Ended { outcome, method }));
        }
        rows.notice(Notice::Fact(fact));
    }
    wakes::queue(rows, env, loaded, (id, resolution), now)?;
    if ended.kind.stops_intent() {
        for lease in loaded.intent.leases.iter().filter(|lease| lease.holds(now, None)) {
            rows.save_lease(loaded.row.rid, lease)?;
        }
    }
    Ok(())
}

/// A line for the server's log, written after the commit.
fn story(loaded: &Loaded, agent: &str, what: What) -> Notice {
    Notice::Story(Story { intent_id: loaded.intent.id, agent: agent.to_owned(), what })
}

/// Writes to the server's log that a message was delivered.
fn told<R: Rows>(rows: &mut R, loaded: &Loaded, delivery: &Delivery) {
    if let Some(asked) = loaded.intent.suspension(delivery.suspension_id) {
        rows.notice(story(loaded, &asked.asked_by.name, What::Delivered { channel: delivery.channel.clone() }));
    }
}

/// Writes the rows that a counted answer implies.
fn count<R: Rows>(rows: &mut R, loaded: &Loaded, counted: &AnswerCounted) -> RowsResult<()> {
    let id = counted.answer.suspension_id;
    let listed = rows.reads().person_called(&counted.person)?.map(|person| person.id);
    let answer = AnswerRow { person: counted.person.clone(), id: listed, event: loaded.row.last_event };
    let suspension = loaded.suspension_row(id)?.rid;
    rows.save_answer(suspension, &answer)?;
    for person in &counted.clears {
        rows.delete_answer(suspension, person)?;
    }
    inbox::count(rows, suspension, counted)?;
    drafts::discard(rows, loaded.suspension_row(id)?, &counted.person)?;
    recount(rows, loaded, id)
}

/// Writes the rows that an answer implies that was taken back.
fn discount<R: Rows>(rows: &mut R, loaded: &Loaded, taken: &AnswerTakenBack) -> RowsResult<()> {
    let suspension = loaded.suspension_row(taken.suspension_id)?.rid;
    rows.delete_answer(suspension, &taken.person)?;
    inbox::discount(rows, suspension, taken)?;
    recount(rows, loaded, taken.suspension_id)
}

/// Writes the new version of a question whose counted answers have changed, and tells those who wait for it.
fn recount<R: Rows>(rows: &mut R, loaded: &Loaded, id: SuspensionId) -> RowsResult<()> {
    rows.notice(Notice::Suspension(id));
    touch(rows, loaded, id)
}

/// Writes the rows that a change implies: the hands, the version, and the messages to the people who are asked now.
fn hand<R: Rows>(rows: &mut R, env: &Env<'_>, loaded: &mut Loaded, change: &HandsEvent, now: DateTime<Utc>) -> RowsResult<()> {
    let id = change.suspension_id();
    let open = loaded.intent.opened(id).ok_or(RowsError::Inconsistent("a change of a question that is not open"))?;
    let (hands, attempt) = (open.hands.clone(), open.attempt);
    let row = loaded.suspension_row_mut(id)?;
    rows.save_hands(row.rid, &hands)?;
    // What is read of the question from now on in this transaction has the new hands.
    row.suspension.hands = hands;
    let row = row.clone();
    recount(rows, loaded, id)?;
    if change.told().is_empty() {
        return Ok(());
    }
    let question = rows.reads().question(&row)?;
    inbox::hand(rows, loaded, &question, change)?;
    let routes = env.channels.routes(question.channel_at(attempt), change.told());
    ask(rows, env, row.rid, attempt, routes, now)
}

fn touch<R: Rows>(rows: &mut R, loaded: &Loaded, id: SuspensionId) -> RowsResult<()> {
    let rid = loaded.suspension_row(id)?.rid;
    let suspension =
        loaded.intent.suspension(id).ok_or(RowsError::Inconsistent("a record of a suspension that is not loaded"))?;
    rows.touch_suspension(rid, suspension)
}
