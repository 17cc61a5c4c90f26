//! Subscriptions: made and ended by agents, and their messages leased to a worker (RFC-0006).
//!
//! Guarantee: the endpoint is told of every event that it is subscribed to, in the order of the log, at least once, or is told
//! how many it missed. Mechanism: the log itself is the queue; a subscription has a place in it, which moves when a message was
//! accepted. Failure: a subscription is ended if its endpoint fails for days or says that it is gone, or if its key lost its
//! rights.

use chrono::{DateTime, TimeDelta, Utc};
use domain::base::ids::SubscriptionId;
use domain::people::authority::{Action, Object, authorize};
use domain::people::principal::{Principal, Role};
use domain::problem::Rejection;
use domain::subscription::{
    SUBSCRIPTIONS_OF_CREATOR_MAX, SUBSCRIPTIONS_OF_CREATOR_TO_INTENT_MAX, SUBSCRIPTIONS_OF_INTENT_MAX, Subscription,
};
use domain::suspension::Asker;
use domain::wire::SubscriptionView;
use serde::Deserialize;
use serde_json::Value;

use super::allowance::charge;
use super::backoff::pause;
use super::repeatable::{Admitted, admit, keep};
use super::secret::secret;
use super::timers::PUT_OFF_SECONDS;
use crate::error::Wanted;
use crate::filter::SubscriptionFilter;
use crate::posting::{LeasedPost, LeasedPosts, SUBSCRIPTION_SECRET, subscription_secret};
use crate::reads::{hold, may, readable};
use crate::request::{NewSubscription, Outcome, Repeatable};
use crate::rows::prelude::*;
use crate::rows::{AT_ONCE, Decided, ListedSubscriptions, RowsError, RowsResult, SubscriptionPlace, SubscriptionRow};
use crate::sending::DeliveryResult;
use crate::standing::Hold;
use crate::surroundings::Env;

/// How long a worker may take to send one message before another may try, in seconds.
const POST_LEASE_SECONDS: i64 = 60;
/// The most events that an endpoint may be behind. An endpoint that is further behind misses the oldest of them, because finding
/// an event costs a step for each event after it, in a transaction that writes.
const EVENTS_BEHIND_MAX: u64 = 100;
/// The most messages that one transaction leases. The number is small, because for each message the transaction may read as many
/// events as an endpoint may be behind.
pub(crate) const POSTS_PER_UNIT: u32 = 8;
/// The most messages of one creator that are under way at the same time, so that its slow endpoints do not hold up those of
/// others.
const POSTS_OF_CREATOR_MAX: usize = 4;
/// Roughly how many bytes the row and the indexes of a subscription take besides its texts.
pub(super) const SUBSCRIPTION_ROW_BYTES: usize = 512;
/// The channel name that is passed to [`pause`]. For every name but that of mail, [`pause`] returns the pauses of webhooks.
const LIKE_WEBHOOKS: &str = "subscription";

/// Creates a subscription, which begins with the next event of the intent.
pub(crate) fn create<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    principal: &Principal,
    write: &Repeatable<NewSubscription>,
) -> Decided<Outcome> {
    if let Err(rejection) = authorize(principal, Action::Subscribe, Object::Server) {
        return Ok(Err(rejection));
    }
    let now = env.clock.now();
    let mut row = None;
    if let Ok(new) = &write.wanted {
        // In a transaction that writes, this read locks the intent's row, so that two subscriptions made at the same time do not
        // both take the last free place of the intent. On PostgreSQL an agent may exceed its own limit by the few subscriptions
        // that it makes at the same time to different intents.
        let Some(found) = rows.reads().intent(new.intent_id)? else { return Ok(Err(Rejection::NotFound)) };
        if let Err(rejection) = may(rows.reads(), principal, Action::Subscribe, &found, None, now)? {
            return Ok(Err(rejection));
        }
        row = Some(found);
    }
    let new = match admit(rows, env, principal, (Action::Subscribe, write), now)? {
        Ok(Admitted::New(new)) => new,
        Ok(Admitted::Repeated(outcome)) => return Ok(Ok(*outcome)),
        Err(rejection) => return Ok(Err(rejection)),
    };
    let Some(key_id) = principal.key_id() else {
        return Ok(Err(Rejection::Forbidden { reason: "only a caller with an API key may do this".to_owned() }));
    };
    let Some(row) = row else { return Err(RowsError::Inconsistent("a subscription without its intent")) };
    if let Err(rejection) = has_room(rows, principal, row.rid, now)? {
        return Ok(Err(rejection));
    }
    let created_by = Asker { name: principal.name.clone(), owner: principal.owner.clone() };
    let (id, intent_id, body) = (new.id, new.intent_id, new.body.clone());
    let subscription = Subscription { id, intent_id, created_by, key_id, created_at: now, body, push: None };
    rows.insert_subscription(row.rid, &subscription, row.last_sequence)?;
    let body = &subscription.body;
    let texts = body.webhook_url.len() + body.event_types.iter().map(String::len).sum::<usize>();
    charge(rows, &principal.name, texts + SUBSCRIPTION_ROW_BYTES, now)?;
    let outcome = Outcome::Subscription(Box::new(subscription.into()));
    keep(rows, principal, write.idempotency, &outcome, now)?;
    Ok(Ok(outcome))
}

/// Refuses a subscription beyond a limit.
fn has_room<R: Rows>(rows: &mut R, principal: &Principal, intent: i64, now: DateTime<Utc>) -> Decided<()> {
    let all = ListedSubscriptions { pushes: false, creator: None, intent: None, now, limit: 0, offset: 0 };
    let (mine, here) = (Some(principal.name.as_str()), Some(intent));
    let bounds = [
        (ListedSubscriptions { intent: here, ..all }, SUBSCRIPTIONS_OF_INTENT_MAX, "an intent", ""),
        (
            ListedSubscriptions { intent: here, creator: mine, ..all },
            SUBSCRIPTIONS_OF_CREATOR_TO_INTENT_MAX,
            "one agent",
            " to one intent",
        ),
        (ListedSubscriptions { creator: mine, ..all }, SUBSCRIPTIONS_OF_CREATOR_MAX, "one agent", ""),
    ];
    for (listed, most, whose, of_what) in bounds {
        if rows.reads().count_subscriptions(listed)? >= most {
            let message = format!("{whose} may have at most {most} subscriptions{of_what}; end one first");
            return Ok(Err(Rejection::invalid("intent_id", "limit", message)));
        }
    }
    Ok(Ok(()))
}

/// Ends a subscription. A message that is under way may still arrive.
pub(crate) fn end<R: Rows>(rows: &mut R, principal: &Principal, id: &Wanted<SubscriptionId>) -> Decided<()> {
    if let Err(rejection) = authorize(principal, Action::Unsubscribe, Object::Server) {
        return Ok(Err(rejection));
    }
    let id = match id {
        Ok(id) => *id,
        Err(rejection) => return Ok(Err(rejection.clone())),
    };
    let found = rows.reads().subscription(id)?.filter(|row| row.subscription.push.is_none());
    let Some(row) = found else { return Ok(Err(Rejection::NotFound)) };
    let object = Object::Subscription { created_by: &row.subscription.created_by };
    if let Err(rejection) = authorize(principal, Action::Unsubscribe, object) {
        return Ok(Err(rejection));
    }
    rows.delete_subscription(row.rid)?;
    Ok(Ok(()))
}

/// The subscriptions that the principal may read, newest first: an agent reads its own, other principals read all.
pub(crate) fn list<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    filter: Wanted<SubscriptionFilter>,
    now: DateTime<Utc>,
) -> Decided<Vec<SubscriptionView>> {
    if let Err(rejection) = authorize(principal, Action::ReadSubscription, Object::Server) {
        return Ok(Err(rejection));
    }
    let filter = match filter {
        Ok(filter) => filter,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let mut intent = None;
    if let Some(id) = filter.intent {
        match readable(rows, principal, id, now)? {
            Ok(row) => intent = Some(row.rid),
            Err(rejection) => return Ok(Err(rejection)),
        }
    }
    let creator = (principal.role == Role::Agent).then_some(principal.name.as_str());
    let listed = ListedSubscriptions { pushes: false, creator, intent, now, limit: filter.limit, offset: filter.offset };
    Ok(Ok(rows.subscriptions(listed)?.into_iter().map(|row| row.subscription.into()).collect()))
}

/// Leases the next message of each subscription in `found`; all of them had events to send a moment ago. `under_way` names the
/// creator of each message that is under way already.
pub(crate) fn lease_posts<R: Rows>(rows: &mut R, env: &Env<'_>, found: &[i64], under_way: &[String]) -> RowsResult<LeasedPosts> {
    let now = env.clock.now();
    let mut leased = LeasedPosts::default();
    if hold(rows.reads(), env.watch)?.is_some() || env.allowance.is_short_of_room() {
        return Ok(leased);
    }
    let secret = secret(rows, env, SUBSCRIPTION_SECRET)?;
    let mut under_way = under_way.to_vec();
    for rid in found {
        match lease_next(rows, env, *rid, (&secret, &under_way), now) {
            Ok(Leasing::Post(post)) => {
                under_way.push(post.subscription.created_by.name.clone());
                leased.posts.push(*post);
            }
            Ok(Leasing::Passed) => leased.passed += 1,
            Ok(Leasing::Gone) => {}
            Err(error) if error.is_unreadable() => {
                tracing::error!(subscription.rid = rid, error = %error, "a subscription cannot be read; its endpoint is told again in an hour");
                rows.put_off_subscription(*rid, now + TimeDelta::seconds(PUT_OFF_SECONDS))?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(leased)
}

/// The result of looking for the next message about a subscription.
enum Leasing {
    /// The message, which is leased.
    Post(Box<LeasedPost>),
    /// No message: the subscription had no event for its endpoint, or was ended just now, or its creator has enough messages
    /// under way. The next search does not find this subscription, so it may find others.
    Passed,
    /// No message: another server has leased it, or the subscription has ended since it was found.
    Gone,
}

/// Leases the next message about one subscription.
fn lease_next<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    rid: i64,
    (secret, under_way): (&[u8; 32], &[String]),
    now: DateTime<Utc>,
) -> RowsResult<Leasing> {
    let Some(row) = rows.reads().subscription_at(rid)?.filter(|row| row.place.due_at <= now) else { return Ok(Leasing::Gone) };
    let creator = &row.subscription.created_by.name;
    if under_way.iter().filter(|one| *one == creator).count() >= POSTS_OF_CREATOR_MAX {
        return Ok(Leasing::Passed);
    }
    let Some(principal) = entitled(rows, &row, now)? else {
        tracing::warn!(subscription.id = %row.subscription.id, intent.id = %row.subscription.intent_id, "a subscription was ended: its key may not read the intent any more");
        rows.delete_subscription(row.rid)?;
        return Ok(Leasing::Passed);
    };
    match next(rows.reads(), &row)? {
        Next::None { missed } => {
            let (sequence, missed) = (row.intent.last_sequence, row.place.missed + missed);
            let place = SubscriptionPlace { sequence, missed, tries: 0, due_at: AT_ONCE, lease: None };
            rows.move_subscription(row.rid, &row.place, &place)?;
            Ok(Leasing::Passed)
        }
        Next::Event(event) => {
            let post = lease(rows, env, secret, (row, principal), event, now)?;
            Ok(post.map_or(Leasing::Gone, |post| Leasing::Post(Box::new(post))))
        }
    }
}

/// The creators that have as many messages under way as one creator may have.
pub(crate) fn busy(under_way: &[String]) -> Vec<String> {
    let mut busy: Vec<String> = under_way.to_vec();
    busy.retain(|creator| under_way.iter().filter(|one| *one == creator).count() >= POSTS_OF_CREATOR_MAX);
    busy.sort_unstable();
    busy.dedup();
    busy
}

/// Leases the message about an event; `None` if another server has just leased it.
fn lease<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    secret: &[u8; 32],
    (row, principal): (SubscriptionRow, Principal),
    event: NextEvent,
    now: DateTime<Utc>,
) -> RowsResult<Option<LeasedPost>> {
    let mut lease = [0; 16];
    env.entropy.fill(&mut lease);
    let due_at = now + TimeDelta::seconds(POST_LEASE_SECONDS);
    let place = SubscriptionPlace { due_at, lease: Some(lease), ..row.place.clone() };
    if !rows.move_subscription(row.rid, &row.place, &place)? {
        return Ok(None);
    }
    let secret = subscription_secret(secret, row.subscription.id);
    let NextEvent { rid: event, sequence, event_type, created_at, missed } = event;
    // Only the message of another protocol says what the event is about.
    let payload = if row.subscription.push.is_some() { payload(rows.reads(), event)? } else { Value::Null };
    let missed = row.place.missed + missed;
    let SubscriptionRow { rid, subscription, .. } = row;
    Ok(Some(LeasedPost { rid, lease, subscription, principal, sequence, event_type, created_at, payload, missed, secret, now }))
}

/// The payload of an event; null if it was erased.
fn payload<R: ReadRows>(rows: &mut R, event: i64) -> RowsResult<Value> {
    #[derive(Deserialize)]
    struct Written {
        payload: Value,
    }
    let sealed = rows.event(event)?;
    if sealed.is_erased() {
        return Ok(Value::Null);
    }
    Ok(serde_json::from_slice::<Written>(&sealed.bytes)?.payload)
}

/// The principal of the key of a subscription, if the key is still valid and may read the log of the intent.
fn entitled<R: Rows>(rows: &mut R, row: &SubscriptionRow, now: DateTime<Utc>) -> RowsResult<Option<Principal>> {
    let Some(principal) = rows.reads().principal_of(row.subscription.key_id)? else { return Ok(None) };
    Ok(may(rows.reads(), &principal, Action::Subscribe, &row.intent, None, now)?.is_ok().then_some(principal))
}

/// The result of the search for the next event that an endpoint is told of.
enum Next {
    /// An event that the endpoint is told of.
    Event(NextEvent),
    /// No event, among those looked at, that the endpoint is told of; `missed` older events were not looked at.
    None { missed: u64 },
}

/// The next event that an endpoint is told of.
struct NextEvent {
    rid: i64,
    sequence: u64,
    event_type: String,
    created_at: DateTime<Utc>,
    missed: u64,
}

/// Finds the first event for a subscription behind its place in the log. Each event names the one before it, so the search begins
/// at the end of the log.
fn next<R: ReadRows>(rows: &mut R, row: &SubscriptionRow) -> RowsResult<Next> {
    let behind = row.intent.last_sequence.saturating_sub(row.place.sequence);
    let missed = behind.saturating_sub(EVENTS_BEHIND_MAX);
    let first = row.place.sequence + missed + 1;
    let (mut rid, mut next) = (Some(row.intent.last_event), Next::None { missed });
    for sequence in (first..=row.intent.last_sequence).rev() {
        let Some(at) = rid else { break };
        let link = rows.event_link(at)?;
        rid = link.previous;
        if row.subscription.body.wants(&link.event_type) {
            next = Next::Event(NextEvent { rid: at, sequence, event_type: link.event_type, created_at: link.created_at, missed });
        }
    }
    Ok(next)
}

/// Records the result of a leased message. If the lease is no longer valid, changes nothing and returns false.
pub(crate) fn complete_post<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    (rid, lease, sequence): (i64, [u8; 16], u64),
    result: &DeliveryResult,
) -> RowsResult<bool> {
    let Some(row) = rows.reads().subscription_at(rid)? else { return Ok(false) };
    if row.place.lease != Some(lease) {
        return Ok(false);
    }
    let now = env.clock.now();
    let ended = match result {
        DeliveryResult::Sent(_) => {
            let place = SubscriptionPlace { sequence, missed: 0, tries: 0, due_at: AT_ONCE, lease: None };
            let told = SubscriptionRow { place: place.clone(), ..row.clone() };
            let is_over = row.subscription.push.is_some() && row.intent.intent.status.is_final();
            if is_over && matches!(next(rows.reads(), &told)?, Next::None { .. }) {
                // The endpoint knows that the task has ended, and there is nothing more to tell it.
                rows.delete_subscription(rid)?;
                return Ok(true);
            }
            return rows.move_subscription(rid, &row.place, &place);
        }
        DeliveryResult::Retry { reason, after } => match pause(LIKE_WEBHOOKS, row.place.tries + 1, env.entropy) {
            Some(pause) => {
                // If the clock has just jumped ahead, the time of the next try would be computed from a wrong time, and might
                // be hours away.
                if !env.watch.is_steady() {
                    return Err(RowsError::Held(Hold::Clock.why()));
                }
                let (tries, due_at) = (row.place.tries + 1, now + after.map_or(pause, |after| after.max(pause)));
                let place = SubscriptionPlace { tries, due_at, lease: None, ..row.place.clone() };
                return rows.move_subscription(rid, &row.place, &place);
            }
            None => reason,
        },
        DeliveryResult::Failed(reason) => reason,
    };
    tracing::warn!(subscription.id = %row.subscription.id, intent.id = %row.subscription.intent_id, reason = ended, "a subscription was ended: its endpoint takes no messages");
    rows.delete_subscription(rid)?;
    Ok(true)
}
