//! The part of the store for suspensions of both kinds: questions and stops.

use chrono::{DateTime, Utc};
use domain::asking::attesting::StopLog;
use domain::base::ids::SuspensionId;
use domain::base::name::is_same;
use domain::people::authority::{Action, Object, authorize};
use domain::people::principal::{Credential, Principal, Role};
use domain::problem::Rejection;
use domain::suspension::Kind;
use domain::suspension::stop::Fired;
use domain::wire::{LifecycleEvent, StopRecord, SuspensionView};
use futures_util::{FutureExt, StreamExt, stream};
use serde::Deserialize;
use serde_json::Value;

use crate::backend::Backend;
use crate::error::{Unit, Wanted};
use crate::handoffs;
use crate::host::clock_watch::ClockWatch;
use crate::reads::{may, suspension};
use crate::request::Idempotency;
use crate::rows::prelude::*;
use crate::rows::{Decided, ReadStops, RowsResult, SuspensionRow};
use crate::stopped::stop_of;
use crate::surroundings::Env;
use crate::units;

/// How many parked intents one look finds.
const WAITING_PER_LOOK: u32 = 500;
/// How many of them are woken at the same time. Other writes find their place between them.
const WAKES_AT_ONCE: usize = 16;

/// How much stopped work one page shows.
const WORK_SHOWN: u32 = 50;

/// Work that is stopped.
#[derive(Clone, Debug, PartialEq)]
pub struct StoppedWork {
    /// The title of the intent.
    pub title: String,
    /// The stop.
    pub record: StopRecord,
}

/// Suspensions of both kinds.
pub trait Stops {
    /// Reads a suspension: a question or a stop.
    fn either(&self, principal: Principal, id: SuspensionId) -> Unit<'_, SuspensionView>;
    /// The work that is stopped now, newest first, at most 50 at once and from behind `before` on. Returns with it where the next call goes on;
    /// `None` at the end.
    fn stopped_work(&self, principal: Principal, before: Option<i64>) -> Unit<'_, (Vec<StoppedWork>, Option<i64>)>;
    /// Reads a stop with the events by which it began and ended.
    fn stop_log(&self, principal: Principal, id: SuspensionId) -> Unit<'_, StopLog>;
    /// Lets the parked intents go on that wait for an event, each in a transaction of its own; returns how many go on. `once` names a message
    /// that counts once: when it comes again, it wakes only those that the first call did not reach, and none that was parked after it, and
    /// the answer is how many it has woken in all.
    fn fire(&self, principal: Principal, event: Wanted<Fired>, once: Option<Idempotency>) -> Unit<'_, u64>;
}

impl<B: Backend> Stops for B {
    fn either(&self, principal: Principal, id: SuspensionId) -> Unit<'_, SuspensionView> {
        let (now, watch) = (self.clock().now(), self.watch().clone());
        self.authorized("either", move |rows| either(rows, &principal, id, now, &watch))
    }

    fn stopped_work(&self, principal: Principal, before: Option<i64>) -> Unit<'_, (Vec<StoppedWork>, Option<i64>)> {
        self.authorized("stopped_work", move |rows| stopped_work(rows, &principal, before))
    }

    fn stop_log(&self, principal: Principal, id: SuspensionId) -> Unit<'_, StopLog> {
        let now = self.clock().now();
        self.authorized("stop_log", move |rows| stop_log(rows, &principal, id, now))
    }

    fn fire(&self, principal: Principal, event: Wanted<Fired>, once: Option<Idempotency>) -> Unit<'_, u64> {
        async move {
            // The newest come first: an agent that is woken and parks itself anew has a later row, so no event wakes it twice.
            let (mut woken, mut before, mut mark) = (0, i64::MAX, None);
            if let Some(message) = once {
                let (by, wanted) = (principal.clone(), event.clone());
                let claim = move |rows: &mut B::Rows<'_>, env: &Env<'_>| units::waking::claim(rows, env, &by, &wanted, message);
                let claim = self.decide("claim_event", claim).await?;
                (before, mark) = (claim.before, Some(claim.mark));
            }
            loop {
                let (by, wanted) = (principal.clone(), event.clone());
                let batch = self.authorized("waiting", move |rows| waiting(rows, &by, wanted, before)).await?;
                let Ok(fired) = &event else { break };
                let wakes = stream::iter(batch.clone()).map(|rid| {
                    let (by, fired) = (principal.clone(), fired.clone());
                    self.decide("wake", move |rows, env| units::waking::wake(rows, env, rid, (&by, &fired), mark))
                });
                let mut wakes = wakes.buffer_unordered(WAKES_AT_ONCE);
                while let Some(has_woken) = wakes.next().await {
                    woken += u64::from(has_woken?);
                }
                let Some(last) = batch.last().filter(|_| batch.len() == WAITING_PER_LOOK as usize) else { break };
                before = *last;
            }
            let Some(mark) = mark else { return Ok(woken) };
            // Another copy, or a call that broke off, may have woken some of them.
            self.read("woken_by", move |rows| rows.woken_by(&mark)).await
        }
        .boxed()
    }
}

/// The next parked intents that wait for an event.
fn waiting<R: ReadRows>(rows: &mut R, principal: &Principal, event: Wanted<Fired>, before: i64) -> Decided<Vec<i64>> {
    if let Err(rejection) = authorize(principal, Action::FireEvent, Object::Server) {
        return Ok(Err(rejection));
    }
    let Fired { name, provider, .. } = match event {
        Ok(event) => event,
        Err(rejection) => return Ok(Err(rejection)),
    };
    Ok(Ok(rows.parked_for(&name, provider, before, WAITING_PER_LOOK)?))
}

fn either<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    id: SuspensionId,
    now: DateTime<Utc>,
    watch: &ClockWatch,
) -> Decided<SuspensionView> {
    let Some(row) = rows.any_suspension(id)?.filter(|row| row.suspension.kind.is_stop()) else {
        return Ok(suspension(rows, principal, id, now, watch)?.map(|record| SuspensionView::Question(Box::new(record))));
    };
    if let Err(rejection) = may_read(rows, principal, &row, now)? {
        return Ok(Err(rejection));
    }
    let mut record = StopRecord::of(&stop_of(rows, &row)?);
    if row.suspension.kind == Kind::Stopping {
        record.children = handoffs::below(rows, row.intent)?;
    }
    Ok(Ok::<_, Rejection>(SuspensionView::Stop(Box::new(record))))
}

fn stopped_work<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    before: Option<i64>,
) -> Decided<(Vec<StoppedWork>, Option<i64>)> {
    if let Err(rejection) = authorize(principal, Action::ReadInbox, Object::Server) {
        return Ok(Err(rejection));
    }
    let mut found = rows.newest_stops(before.unwrap_or(i64::MAX), WORK_SHOWN + 1)?;
    let has_more = found.len() > WORK_SHOWN as usize;
    found.truncate(WORK_SHOWN as usize);
    // A stop that cannot be read is not shown, and the next page begins behind it all the same.
    let next = found.last().copied().filter(|_| has_more);
    let mut work = Vec::with_capacity(found.len());
    for rid in found {
        match read(rows, rid) {
            Ok(read) => work.push(read),
            Err(error) if error.is_unreadable() => {
                tracing::error!(suspension.rid = rid, error = %error, "a stop cannot be read, so it is not shown");
            }
            Err(error) => return Err(error),
        }
    }
    Ok(Ok((work, next)))
}

fn read<R: ReadRows>(rows: &mut R, rid: i64) -> RowsResult<StoppedWork> {
    let row = rows.suspension_at(rid)?;
    let record = StopRecord::of(&stop_of(rows, &row)?);
    Ok(StoppedWork { title: rows.body(row.intent)?.title, record })
}

fn may_read<R: ReadRows>(rows: &mut R, principal: &Principal, row: &SuspensionRow, now: DateTime<Utc>) -> Decided<()> {
    let intent = rows.intent_at(row.intent)?;
    // The agent above does not read the intents of other agents, but follows what it has paused or ended there.
    let has_paused = row.suspension.kind != Kind::Parked && principal.role == Role::Agent;
    let is_own = has_paused && is_same(&row.suspension.asked_by.name, &principal.name);
    if is_own { Ok(Ok(())) } else { may(rows, principal, Action::Read, &intent, Some(row.rid), now) }
}

fn stop_log<R: ReadRows>(rows: &mut R, principal: &Principal, id: SuspensionId, now: DateTime<Utc>) -> Decided<StopLog> {
    let Some(row) = rows.any_suspension(id)?.filter(|row| row.suspension.kind.is_stop()) else {
        return Ok(Err(Rejection::NotFound));
    };
    if let Err(rejection) = may_read(rows, principal, &row, now)? {
        return Ok(Err(rejection));
    }
    let stop = stop_of(rows, &row)?;
    let began = event_of(rows, row.event)?.0;
    let (ended, credential) = match row.ending_event {
        Some(rid) => event_of(rows, rid).map(|(event, credential)| (Some(event), credential))?,
        None => (None, None),
    };
    let key = match credential {
        Some(Credential::ApiKey(id)) => rows.key(id)?,
        Some(Credential::EmailLink(_) | Credential::Session(_)) | None => None,
    };
    Ok(Ok(StopLog { stop, began, ended, by_agent: key.is_some_and(|key| key.role == Role::Agent) }))
}

/// The event in a row as receipts name it, and the credential that it tells of.
fn event_of<R: ReadRows>(rows: &mut R, rid: i64) -> RowsResult<(LifecycleEvent, Option<Credential>)> {
    #[derive(Deserialize)]
    struct Written {
        id: String,
        #[serde(default)]
        payload: Value,
    }
    let sealed = rows.event(rid)?;
    let Written { id, payload } = serde_json::from_slice(&sealed.bytes)?;
    let credential = payload.get("credential").map(|credential| serde_json::from_value(credential.clone())).transpose()?;
    Ok((LifecycleEvent { event_id: id, event_hash: sealed.hash.to_string() }, credential))
}
