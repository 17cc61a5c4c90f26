//! The reads, written once over any database: load, authorize, convert.

use chrono::{DateTime, Utc};
use domain::base::ids::{IntentId, SuspensionId};
use domain::base::name::form;
use domain::base::words::WAITING_COUNTED_MAX;
use domain::intent::Intent;
use domain::intent::status::Status;
use domain::intent::vocabulary::in_openintent_vocabulary;
use domain::people::access::Entry;
use domain::people::authority::{Action, Demands, Object, authorize};
use domain::people::principal::{Principal, Role};
use domain::portfolio::membership::earliest_deadline;
use domain::problem::Rejection;
use domain::suspension::lease::Lease;
use domain::suspension::{FallbackPolicy, Question, Suspension, delivery};
use domain::wire::{
    AclEntryView, AclView, BounceView, DeliveryPage, DeliveryView, DraftView, EventView, IntentPage, IntentView, KeyView,
    SuspensionPage, SuspensionRecord,
};

use super::error::Wanted;
use super::filter::{DeliveryFilter, EventFilter, FailedFilter, IntentFilter, ServerEventFilter, SuspensionFilter};
use super::standing::{Hold, Standing};
use super::{assigning, earlier};
use crate::damage::LogName;
use crate::host::clock_watch::ClockWatch;
use crate::rows::prelude::*;
use crate::rows::{
    Decided, DeliveryState, EventLink, IntentRow, Listed, OutboxRow, Restore, RowsError, RowsResult, SuspensionRow, served_whole,
};
use crate::stopped::{suspended_since, with_stop};

/// How many events one request may walk over.
pub(crate) const EVENTS_WALKED_MAX: u32 = 20_000;
/// The largest offset in a list of intents, for an agent that is assigned to intents of others, or has access to them.
const MERGED_OFFSET_MAX: u32 = 10_000;
/// How many intents that wait are counted; [`WAITING_COUNTED_MAX`] and one more.
pub(crate) const WAITING_COUNTED: u32 = WAITING_COUNTED_MAX + 1;
/// An agent may read an intent through one that it may read already (see `readable_along`). This is the most intents that are tried for
/// each kind of edge.
const NEAR_LOOKED_AT: u32 = 20;
/// A page ends after this many bytes, whatever its limit.
pub(super) const PAGE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// An intent as shown, with `_suspension` rendered from its newest suspension.
pub(super) fn intent_view<R: ReadRows>(rows: &mut R, row: &IntentRow) -> RowsResult<IntentView> {
    let newest = row.newest_suspension.map(|rid| rows.suspension_at(rid)).transpose()?;
    view(rows, row, newest.as_ref())
}

fn view<R: ReadRows>(rows: &mut R, row: &IntentRow, newest: Option<&SuspensionRow>) -> RowsResult<IntentView> {
    // If the agent has announced a question that has not come yet, the newest suspension is an earlier question, and is not
    // shown.
    let is_announced = row.open_suspension.is_none() && row.intent.status == Status::SuspendedAwaitingInput;
    let newest = newest.filter(|_| !is_announced).map(|newest| record(rows, row, newest)).transpose()?;
    let blocked_by = if row.intent.unmet > 0 { rows.unfinished(row.rid, false, row.intent.unmet)? } else { Vec::new() };
    let blocked_by = blocked_by.into_iter().map(|(id, _)| id).collect();
    let view = IntentView::of(&row.intent, rows.body(row.rid)?, newest.as_ref(), blocked_by);
    with_stop(rows, row, view)
}

/// Refuses to show a question with a fallback as open if its asker applies the deadline by its own clock, and the deadline has
/// passed or may not be applied at present. The asker then reads again, and acts on the state that is recorded by that time.
pub(crate) fn settled<R: ReadRows>(rows: &mut R, suspension: &Suspension, watch: &ClockWatch) -> RowsResult<()> {
    if !suspension.fixed_deadline || suspension.ending.is_some() || suspension.fallback_policy == FallbackPolicy::Fail {
        return Ok(());
    }
    rows.look_at_the_clock()?;
    let is_due = suspension.is_expired(watch.now());
    match hold(rows, watch)? {
        Some(hold) => Err(RowsError::Held(hold.why())),
        None if is_due => Err(RowsError::Held("the deadline of the question is due, and its end is recorded in a moment")),
        None => Ok(()),
    }
}

pub(crate) fn record<R: ReadRows>(rows: &mut R, intent: &IntentRow, row: &SuspensionRow) -> RowsResult<SuspensionRecord> {
    let question = rows.question(row)?;
    record_with(rows, intent, row, &question)
}

fn record_with<R: ReadRows>(
    rows: &mut R,
    intent: &IntentRow,
    row: &SuspensionRow,
    question: &Question,
) -> RowsResult<SuspensionRecord> {
    if !intent.intent.is_grouped && row.suspension.quorum.is_none() {
        return record_of(rows, row, question);
    }
    let mut row = if intent.intent.is_grouped { in_portfolios(rows, row.clone())? } else { row.clone() };
    row.suspension.counted = assigning::counted_now(rows, &mut assigning::Met::default(), &row, question)?;
    record_of(rows, &row, question)
}

/// The record of a question. If it was answered, the record has the action as it was approved, and the person in whose place it was answered.
pub(crate) fn record_of<R: ReadRows>(rows: &mut R, row: &SuspensionRow, question: &Question) -> RowsResult<SuspensionRecord> {
    let record = SuspensionRecord::of(&row.suspension, question);
    let (ended, in_place) = (row.suspension.ending.is_some(), row.suspension.hands.answered_in_place);
    let answer = if ended && (in_place || question.proposal.is_some()) { rows.answer(row)? } else { None };
    let Some((answer, _)) = answer else { return beside(rows, row, record) };
    let record = SuspensionRecord { in_place_of: answer.in_place_of, ..record };
    Ok(match answer.proposal {
        Some(decided) => record.deciding(decided),
        None => record,
    })
}

/// The record of a question, with the drafts that were left when it ended without an answer.
pub(crate) fn beside<R: ReadRows>(rows: &mut R, row: &SuspensionRow, record: SuspensionRecord) -> RowsResult<SuspensionRecord> {
    if record.resolution.is_none() || !row.suspension.hands.has_drafts {
        return Ok(record);
    }
    let drafts = rows.drafts(row.rid)?.into_iter().map(|draft| draft.read().map(DraftView::from)).collect::<RowsResult<_>>()?;
    Ok(SuspensionRecord { drafts, ..record })
}

/// Whether a principal may do this to an intent. A gateway's permission comes from the messages about
/// `suspension` that it was handed.
pub(crate) fn may<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    action: Action,
    row: &IntentRow,
    suspension: Option<i64>,
    now: DateTime<Utc>,
) -> Decided<()> {
    let handed_for = &handed(rows, principal, suspension)?;
    let (mut assigned, mut entries) = (Vec::new(), Vec::new());
    if !is_at_home(principal, &row.intent) {
        assigned = rows.assigned(row.rid)?;
        entries = in_force(rows, row, now)?;
    }
    let (created_by, assigned, entries) = (&row.intent.created_by, &assigned, &entries);
    Ok(authorize(
        principal,
        action,
        Object::Intent { created_by, asked_by: None, assigned, entries, handed_for, demands: Demands::default() },
    ))
}

/// The entries of the intent's access control list that count at `now`.
pub(crate) fn in_force<R: ReadRows>(rows: &mut R, row: &IntentRow, now: DateTime<Utc>) -> RowsResult<Vec<Entry>> {
    Ok(rows.entries(row.rid)?.into_iter().map(|row| row.entry).filter(|entry| entry.is_in_force(now)).collect())
}

/// Whether the principal has its rights to an intent without being assigned to it: it is no agent, or it created the intent.
pub(super) fn is_at_home(principal: &Principal, intent: &Intent) -> bool {
    principal.role != Role::Agent || intent.is_created_by(principal)
}

/// The recipients of those messages about a suspension that were handed to this gateway, because it is tied to their channels;
/// for a principal that is not tied to channels nothing is read.
pub(super) fn handed<R: ReadRows>(rows: &mut R, principal: &Principal, suspension: Option<i64>) -> RowsResult<Vec<String>> {
    let Some(suspension) = suspension.filter(|_| principal.tied_to.is_some()) else { return Ok(Vec::new()) };
    let messages = rows.deliveries(suspension)?.into_iter().map(|(row, _)| row);
    Ok(messages.filter(|row| principal.is_handed(&row.route())).map(|row| row.recipient).collect())
}

/// The creator that a list is limited to: agents read only their own rows. [`may`] then decides whether a row is shown.
pub(crate) fn own_only(principal: &Principal) -> Option<&str> {
    (principal.role == Role::Agent).then_some(principal.name.as_str())
}

/// Reads an intent that the principal may read. The right to read may come from messages about the intent's newest question.
pub(crate) fn readable<R: ReadRows>(rows: &mut R, principal: &Principal, id: IntentId, now: DateTime<Utc>) -> Decided<IntentRow> {
    let Some(row) = rows.intent(id)? else { return Ok(Err(Rejection::NotFound)) };
    Ok(may(rows, principal, Action::Read, &row, row.newest_suspension, now)?.map(|()| row))
}

/// Reads an intent that the principal may read. An agent that may read an intent may also read the intents on which that intent
/// directly depends, and that intent's parent, because it needs their results. The flag is true if the right comes only from
/// that; the question of the intent is then not shown.
fn readable_along<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    id: IntentId,
    now: DateTime<Utc>,
) -> Decided<(IntentRow, bool)> {
    let refused = match readable(rows, principal, id, now)? {
        Ok(row) => return Ok(Ok((row, false))),
        Err(rejection) => rejection,
    };
    if principal.role != Role::Agent {
        return Ok(Err(refused));
    }
    let Some(row) = rows.intent(id)? else { return Ok(Err(refused)) };
    let names = [principal.name.clone(), form(&principal.name), form(&principal.subject)];
    for rid in rows.near(row.rid, &names, NEAR_LOOKED_AT)? {
        let near = rows.intent_at(rid)?;
        if is_shown(rows, principal, &near, now)? && is_lent(rows, &near, &row, now)? {
            return Ok(Ok((row, true)));
        }
    }
    Ok(Err(refused))
}

/// Whether the agent that created `near` may itself read `far`, which `near` needs or which is the parent of `near`. An edge
/// gives other agents no more than the right of the agent that made it.
pub(super) fn is_lent<R: ReadRows>(rows: &mut R, near: &IntentRow, far: &IntentRow, now: DateTime<Utc>) -> RowsResult<bool> {
    let creator = &near.intent.created_by;
    is_shown(rows, &Principal::agent(&creator.name, creator.owner.clone()), far, now)
}

/// An intent as it is shown to an agent that may read it along an edge: without its question.
pub(super) fn lent_view<R: ReadRows>(rows: &mut R, row: &IntentRow) -> RowsResult<IntentView> {
    view(rows, row, None)
}

/// Whether the principal may read the intent.
pub(super) fn is_shown<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    row: &IntentRow,
    now: DateTime<Utc>,
) -> RowsResult<bool> {
    Ok(may(rows, principal, Action::Read, row, row.newest_suspension, now)?.is_ok())
}

/// Whether there is an intent with this id, and the principal may read it.
pub(crate) fn is_readable<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    id: IntentId,
    now: DateTime<Utc>,
) -> RowsResult<bool> {
    Ok(readable(rows, principal, id, now)?.is_ok())
}

/// Reads an intent of which the principal may read the lists.
pub(super) fn browsable<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    id: IntentId,
    now: DateTime<Utc>,
) -> Decided<IntentRow> {
    let row = match readable(rows, principal, id, now)? {
        Ok(row) => row,
        Err(rejection) => return Ok(Err(rejection)),
    };
    Ok(may(rows, principal, Action::Browse, &row, row.newest_suspension, now)?.map(|()| row))
}

pub(super) fn intent<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    id: IntentId,
    now: DateTime<Utc>,
    watch: &ClockWatch,
) -> Decided<IntentView> {
    let (row, is_lent) = match readable_along(rows, principal, id, now)? {
        Ok(found) => found,
        Err(rejection) => return Ok(Err(rejection)),
    };
    if is_lent {
        return Ok(Ok(lent_view(rows, &row)?));
    }
    let newest = row.newest_suspension.map(|rid| rows.suspension_at(rid)).transpose()?;
    if let Some(newest) = &newest {
        settled(rows, &newest.suspension, watch)?;
    }
    Ok(Ok(view(rows, &row, newest.as_ref())?))
}

/// Checks that the caller may walk through a list of the whole server; only then returns the filter, or the error in it.
fn walked<F>(principal: &Principal, action: Action, filter: Wanted<F>) -> Wanted<F> {
    authorize(principal, action, Object::Server)?;
    filter
}

pub(super) fn intents<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    filter: Wanted<IntentFilter>,
    now: DateTime<Utc>,
) -> Decided<IntentPage> {
    let filter = match walked(principal, Action::Browse, filter) {
        Ok(filter) => filter,
        Err(rejection) => return Ok(Err(rejection)),
    };
    // One row more than the limit shows whether there is another page.
    let found = match own_and_assigned(rows, principal, IntentFilter { limit: filter.limit + 1, ..filter })? {
        Ok(found) => found,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let (mut intents, mut bytes, mut last) = (Vec::new(), 0, None);
    for row in found.iter().take(filter.limit as usize) {
        last = Some(row.rid);
        if !is_shown(rows, principal, row, now)? {
            continue;
        }
        let view = intent_view(rows, row)?;
        bytes += serde_json::to_vec(&view)?.len();
        intents.push(view);
        if bytes >= PAGE_BYTES_MAX {
            break;
        }
    }
    Ok(Ok(IntentPage { intents, next_cursor: cursor(last, found.last().map(|row| row.rid)) }))
}

/// The intents that an agent created, and those to which it is assigned or has an entry, newest first; all intents for other
/// principals.
fn own_and_assigned<R: ReadRows>(rows: &mut R, principal: &Principal, filter: IntentFilter) -> Decided<Vec<IntentRow>> {
    let Some(agent) = own_only(principal) else { return Ok(Ok(rows.intents(None, filter)?)) };
    let names = [principal.name.clone(), form(&principal.name), form(&principal.subject)];
    let (limit, offset) = (filter.limit, filter.offset);
    let one = IntentFilter { limit: 1, offset: 0, ..filter };
    if rows.assigned_intents(&names, &one)?.is_empty() && rows.entered_intents(&names, &one)?.is_empty() {
        return Ok(Ok(rows.intents(Some(agent), filter)?));
    }
    // Each list is read from its beginning to the end of the page, so the offset must be bounded.
    if offset > MERGED_OFFSET_MAX {
        let message = format!(
            "must be at most {MERGED_OFFSET_MAX} for an agent that is assigned to intents of others, or has access to them; \
             use cursor"
        );
        return Ok(Err(Rejection::invalid("offset", "range", message)));
    }
    let whole = IntentFilter { limit: limit + offset, offset: 0, ..filter };
    let mut found = rows.assigned_intents(&names, &whole)?;
    found.extend(rows.entered_intents(&names, &whole)?);
    found.extend(rows.intents(Some(agent), whole)?);
    found.sort_unstable_by_key(|row| std::cmp::Reverse(row.rid));
    found.dedup_by_key(|row| row.rid);
    Ok(Ok(found.into_iter().skip(offset as usize).take(limit as usize).collect()))
}

/// The access control list of an intent, as far as it is in force.
pub(super) fn acl<R: ReadRows>(rows: &mut R, principal: &Principal, id: IntentId, now: DateTime<Utc>) -> Decided<AclView> {
    let row = match browsable(rows, principal, id, now)? {
        Ok(row) => row,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let entries = in_force(rows, &row, now)?;
    Ok(Ok(acl_view(rows, &row, &entries)?))
}

/// These entries as shown, each read from the event that made it.
pub(super) fn acl_view<R: ReadRows>(rows: &mut R, row: &IntentRow, entries: &[Entry]) -> RowsResult<AclView> {
    let mut shown = Vec::with_capacity(entries.len());
    for made in rows.entries(row.rid)? {
        if entries.iter().any(|entry| entry.id == made.entry.id) {
            let event = serde_json::from_str(&rows.event(made.event)?.served())?;
            shown.push(AclEntryView::of(event).ok_or(RowsError::Inconsistent("an entry whose event gave no access"))?);
        }
    }
    Ok(AclView::of(row.intent.id, shown))
}

/// The cursor of the next page; `None` if `last`, the last row of this page, is also the last row that was found.
fn cursor(last: Option<i64>, found: Option<i64>) -> Option<String> {
    last.filter(|last| found != Some(*last)).map(|rid| rid.to_string())
}

pub(super) fn leases<R: ReadRows>(rows: &mut R, principal: &Principal, id: IntentId, now: DateTime<Utc>) -> Decided<Vec<Lease>> {
    let row = match readable(rows, principal, id, now)? {
        Ok(row) => row,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let since = suspended_since(rows, &row)?;
    Ok(Ok(rows.leases(row.rid)?.into_iter().map(|lease| lease.seen_at(now, since)).collect()))
}

/// A walk through a log from its end: each event names its predecessor. The walk is bounded.
pub(crate) struct Walk {
    next: Option<i64>,
    walked: u32,
}

/// One step of a walk.
pub(crate) enum Step {
    /// The event in this row.
    Event(i64, EventLink),
    /// The log has no earlier event.
    Start,
    /// The log has earlier events, and the walk ends here.
    TooFar,
}

impl Walk {
    pub(crate) fn of(row: &IntentRow) -> Self {
        Self { next: (row.last_sequence > 0).then_some(row.last_event), walked: 0 }
    }

    pub(crate) fn step<R: ReadRows>(&mut self, rows: &mut R) -> RowsResult<Step> {
        let Some(rid) = self.next else { return Ok(Step::Start) };
        if self.walked >= EVENTS_WALKED_MAX {
            return Ok(Step::TooFar);
        }
        self.walked += 1;
        let link = rows.event_link(rid)?;
        self.next = link.previous;
        Ok(Step::Event(rid, link))
    }
}

/// The newest events as served. Only events that are shown are read whole.
pub(super) fn events<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    id: IntentId,
    filter: Wanted<EventFilter>,
    now: DateTime<Utc>,
) -> Decided<Vec<String>> {
    let row = match readable(rows, principal, id, now)? {
        Ok(row) => row,
        Err(rejection) => return Ok(Err(rejection)),
    };
    if let Err(rejection) = may(rows, principal, Action::Browse, &row, row.newest_suspension, now)? {
        return Ok(Err(rejection));
    }
    let filter = match filter {
        Ok(filter) => filter,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let (mut skipped, mut bytes) = (0, 0);
    let mut served: Vec<String> = Vec::new();
    let mut walk = Walk::of(&row);
    while served.len() < filter.limit as usize && bytes < PAGE_BYTES_MAX {
        let (rid, link) = match walk.step(rows)? {
            Step::Event(rid, link) => (rid, link),
            Step::Start => break,
            Step::TooFar if !filter.refuse_far => break,
            Step::TooFar => {
                let message = format!("reaches beyond the {EVENTS_WALKED_MAX} newest events; narrow the request with since");
                return Ok(Err(Rejection::invalid("offset", "range", message)));
            }
        };
        if filter.since.is_some_and(|since| link.created_at < since) {
            break;
        }
        let wanted = (filter.all || in_openintent_vocabulary(&link.event_type))
            && filter.event_type.as_ref().is_none_or(|event_type| *event_type == link.event_type);
        if !wanted {
            continue;
        }
        if skipped < filter.offset {
            skipped += 1;
            continue;
        }
        let event = rows.event(rid)?.served();
        bytes += event.len();
        served.push(event);
    }
    Ok(Ok(served))
}

/// The newest events of these types that were not erased, at most `limit`, oldest first.
pub(super) fn records<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    id: IntentId,
    types: &[&str],
    limit: usize,
    now: DateTime<Utc>,
) -> Decided<Vec<EventView>> {
    let row = match readable(rows, principal, id, now)? {
        Ok(row) => row,
        Err(rejection) => return Ok(Err(rejection)),
    };
    if let Err(rejection) = may(rows, principal, Action::Browse, &row, row.newest_suspension, now)? {
        return Ok(Err(rejection));
    }
    let mut bytes = 0;
    let mut found: Vec<EventView> = Vec::new();
    let mut walk = Walk::of(&row);
    while found.len() < limit {
        let (rid, link) = match walk.step(rows)? {
            Step::Start => break,
            Step::Event(rid, link) if bytes <= PAGE_BYTES_MAX => (rid, link),
            Step::Event(..) | Step::TooFar => {
                let message =
                    format!("must have at most {EVENTS_WALKED_MAX} events, and at most {PAGE_BYTES_MAX} bytes of this kind");
                return Ok(Err(Rejection::invalid("intent_id", "range", message)));
            }
        };
        if types.contains(&link.event_type.as_str()) {
            let event = rows.event(rid)?;
            if event.is_erased() {
                continue;
            }
            let event = event.served();
            bytes += event.len();
            found.push(serde_json::from_str(&event)?);
        }
    }
    found.reverse();
    Ok(Ok(found))
}

pub(super) fn suspension<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    id: SuspensionId,
    now: DateTime<Utc>,
    watch: &ClockWatch,
) -> Decided<SuspensionRecord> {
    let Some(row) = rows.suspension(id)? else { return Ok(Err(Rejection::NotFound)) };
    let intent = rows.intent_at(row.intent)?;
    if let Err(rejection) = may(rows, principal, Action::Read, &intent, Some(row.rid), now)? {
        return Ok(Err(rejection));
    }
    settled(rows, &row.suspension, watch)?;
    let mut question = rows.question(&row)?;
    earlier::read(rows, &mut question, |rows, earlier| is_readable(rows, principal, earlier, now))?;
    Ok(Ok(record_with(rows, &intent, &row, &question)?))
}

pub(super) fn deliveries<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    id: SuspensionId,
    filter: Wanted<DeliveryFilter>,
    now: DateTime<Utc>,
) -> Decided<DeliveryPage> {
    let Some(row) = rows.suspension(id)? else { return Ok(Err(Rejection::NotFound)) };
    let intent = rows.intent_at(row.intent)?;
    if let Err(rejection) = may(rows, principal, Action::Browse, &intent, Some(row.rid), now)? {
        return Ok(Err(rejection));
    }
    let filter = match filter {
        Ok(filter) => filter,
        Err(rejection) => return Ok(Err(rejection)),
    };
    // One message more than the limit shows whether there is another page.
    let to_come = rows.deliveries(row.rid)?.into_iter().filter(|(row, _)| i64::from(row.sequence) > filter.after);
    let mut found: Vec<_> = to_come.take(filter.limit as usize + 1).collect();
    let more = found.len() > filter.limit as usize;
    found.truncate(filter.limit as usize);
    let next_cursor = found.last().filter(|_| more).map(|(row, _)| row.sequence.to_string());
    let deliveries = found.into_iter().map(|(row, state)| delivery_view(rows, id, row, state)).collect::<RowsResult<_>>()?;
    Ok(Ok(DeliveryPage { deliveries, next_cursor }))
}

pub(super) fn failed_deliveries<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    filter: Wanted<FailedFilter>,
) -> Decided<DeliveryPage> {
    let filter = match walked(principal, Action::ReadDeliveries, filter) {
        Ok(filter) => filter,
        Err(rejection) => return Ok(Err(rejection)),
    };
    // One row more than the limit shows whether there is another page.
    let mut found = rows.failed_deliveries(filter.before, filter.limit + 1)?;
    let more = found.len() > filter.limit as usize;
    found.truncate(filter.limit as usize);
    let next_cursor = found.last().filter(|_| more).map(|row| row.id.to_string());
    let mut deliveries = Vec::with_capacity(found.len());
    for row in found {
        let suspension_id = rows.suspension_at(row.suspension)?.suspension.id;
        deliveries.push(delivery_view(rows, suspension_id, row, DeliveryState::Failed)?);
    }
    Ok(Ok(DeliveryPage { deliveries, next_cursor }))
}

/// A message as shown, with the bounce reported for it.
pub(super) fn delivery_view<R: ReadRows>(
    rows: &mut R,
    suspension_id: SuspensionId,
    row: OutboxRow,
    state: DeliveryState,
) -> RowsResult<DeliveryView> {
    let bounce = rows.bounce(row.rid)?;
    let state = state.shown(&row);
    Ok(DeliveryView {
        id: row.id,
        suspension_id,
        sequence: row.sequence,
        attempt: row.attempt,
        channel: row.channel,
        recipient: row.recipient,
        state,
        tries: row.tries,
        // While the message is under way, `due_at` is the end of its lease, which callers need not know.
        due_at: (state == delivery::DeliveryState::Queued).then_some(row.due_at),
        // While the message is queued, `settled_at` is the time at which a failed message was queued again; callers need not know
        // it.
        settled_at: row.settled_at.filter(|_| !state.is_under_way()),
        detail: row.detail,
        bounce: bounce.map(|bounce| BounceView { kind: bounce.kind, reported_at: bounce.reported_at, detail: bounce.detail }),
    })
}

pub(super) fn suspensions<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    filter: Wanted<SuspensionFilter>,
    now: DateTime<Utc>,
) -> Decided<SuspensionPage> {
    let filter = match walked(principal, Action::Browse, filter) {
        Ok(filter) => filter,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let beside = match filter.beside {
        None => None,
        Some(id) => match readable(rows, principal, id, now)? {
            Ok(row) => Some(row.rid),
            Err(rejection) => return Ok(Err(rejection)),
        },
    };
    let SuspensionFilter { requests, open, before, .. } = filter;
    // An agent that may read an intent sees all requests that do not stop the intent. Every other list shows only the agent's
    // own questions.
    let asker = own_only(principal).filter(|_| beside.is_none());
    let found = match &filter.asked_under {
        Some(key_hash) => asked_under(rows, key_hash, &filter)?.into_iter().collect(),
        // One row more than the limit shows whether there is another page.
        None => rows.suspensions(Listed { asker, requests, beside, open, before, limit: filter.limit + 1 })?,
    };
    let (mut suspensions, mut bytes, mut last) = (Vec::new(), 0, None);
    for row in found.iter().take(filter.limit as usize) {
        last = Some(row.rid);
        let intent = rows.intent_at(row.intent)?;
        if may(rows, principal, Action::Read, &intent, Some(row.rid), now)?.is_err() {
            continue;
        }
        let asked_by = Some(row.suspension.asked_by.name.clone());
        let shown = SuspensionRecord { asked_by, ..record(rows, &intent, row)? };
        bytes += serde_json::to_vec(&shown)?.len();
        suspensions.push(shown);
        if bytes >= PAGE_BYTES_MAX {
            break;
        }
    }
    Ok(Ok(SuspensionPage { suspensions, next_cursor: cursor(last, found.last().map(|row| row.rid)) }))
}

fn asked_under<R: ReadRows>(rows: &mut R, key_hash: &[u8; 32], filter: &SuspensionFilter) -> RowsResult<Option<SuspensionRow>> {
    let Some((_, rid)) = rows.suspension_key(key_hash)? else { return Ok(None) };
    let row = rows.suspension_at(rid)?;
    let listed = (row.suspension.ending.is_none() || !filter.open) && filter.before.is_none_or(|before| rid < before);
    Ok(listed.then_some(row))
}

pub(super) fn standing<R: ReadRows>(rows: &mut R, principal: &Principal) -> Decided<Standing> {
    if let Err(rejection) = authorize(principal, Action::ReadMetrics, Object::Server) {
        return Ok(Err(rejection));
    }
    let (queued, leased) = rows.queued_deliveries()?;
    Ok(Ok(Standing {
        questions_open: rows.open_suspensions()? - rows.open_stops()?,
        deliveries_queued: queued - leased,
        deliveries_leased: leased,
        next_deadline: rows.next_timer()?,
        next_delivery: rows.queued_channels()?.first().map(|queued| queued.next_due),
    }))
}

/// The suspension with the deadline of the portfolios that its intent is in.
pub(super) fn in_portfolios<R: ReadRows>(rows: &mut R, mut row: SuspensionRow) -> RowsResult<SuspensionRow> {
    if row.suspension.ending.is_none() && row.suspension.kind.is_in_portfolios() {
        let member_of: Vec<_> = rows.member_of(row.intent)?.into_iter().map(|(_, member_of)| member_of).collect();
        row.suspension.portfolio_deadline = earliest_deadline(&member_of);
    }
    Ok(row)
}

/// Why no deadline may take effect at present; `None` if deadlines may. An absence of the server that is not recorded yet is a
/// reason, too: the first transaction after an absence decides nothing, even if it is the one that fires deadlines.
pub(crate) fn hold<R: ReadRows>(rows: &mut R, watch: &ClockWatch) -> RowsResult<Option<Hold>> {
    if !watch.is_steady() {
        return Ok(Some(Hold::Clock));
    }
    let Some(presence) = rows.presence()? else { return Ok(None) };
    let is_away = watch.is_away(presence.beat_at);
    Ok(match presence.restore {
        Restore::Held { since } => Some(Hold::Restore { since }),
        Restore::Released => Some(Hold::Recovery),
        Restore::Over if presence.recovery.is_some() || is_away => Some(Hold::Recovery),
        Restore::Over => None,
    })
}

/// The events of the server's own log after the one that the filter names, oldest first, as they are served.
pub(super) fn server_events<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    filter: Wanted<ServerEventFilter>,
) -> Decided<Vec<String>> {
    if let Err(rejection) = authorize(principal, Action::ReadServerLog, Object::Server) {
        return Ok(Err(rejection));
    }
    let filter = match filter {
        Ok(filter) => filter,
        Err(rejection) => return Ok(Err(rejection)),
    };
    Ok(Ok(served_whole(&rows.server_events(filter.after, filter.limit)?, LogName::Server, filter.after + 1)?))
}

/// All keys, oldest first.
pub(super) fn keys<R: ReadRows>(rows: &mut R, principal: &Principal) -> Decided<Vec<KeyView>> {
    if let Err(rejection) = authorize(principal, Action::ManageKeys, Object::Server) {
        return Ok(Err(rejection));
    }
    Ok(Ok(rows.keys()?))
}
