//! Suspensions: ask, answer, wait, withdraw (RFC-0025 §8, §9).

use std::time::Duration;

use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::web::Data;
use actix_web::{HttpMessage, HttpRequest, HttpResponse};
use domain::asking::accepting;
use domain::base::ids::SuspensionId;
use domain::intent::command::Command;
use domain::people::authority::Action;
use domain::wire::{
    CancelRequest, RespondRequest, RespondResponse, SuspendRequest, SuspensionPage, SuspensionRecord, SuspensionView,
    TakeBackRequest,
};
use store::hub::Watch;
use store::{Outcome, SuspensionFilter, Target};
use tokio::time::{Instant, timeout_at};

use crate::edge::admission::{Class, Place, Work};
use crate::edge::auth::Caller;
use crate::edge::body::{IDEMPOTENCY_KEY_MAX, Json, is_key, key_hash};
use crate::edge::problem::{Detail, Failure, Problem, Surface};
use crate::edge::query::{PAGE_DEFAULT, PAGE_MAX, Query};
use crate::edge::route::{self, Routes, post, suspension_id};
use crate::edge::shared::Shared;
use crate::edge::write::{Write, respond};

/// The longest time that `wait` may ask for, in seconds.
pub const WAIT_SECONDS_MAX: u32 = 50;
/// The scope of questions' idempotency keys.
const SUSPEND_SCOPE: &str = "suspend";
/// The header that tells that the question was asked before, under the same key.
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The routes of questions on an intent.
pub(super) fn intent_routes(routes: &mut Routes<'_>) {
    routes.keyed(Surface::Ours, "/intents/{intent_id}/suspend", [post(Work::Write, suspend)]);
    routes.keyed(Surface::OpenIntent, "/intents/{intent_id}/suspend/respond", [post(Work::Answer, respond_to)]);
}

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.keyed(Surface::Ours, "/suspensions", [route::get(Work::Inbox, list)]);
    routes.keyed(Surface::Ours, "/suspensions/{suspension_id}", [route::get(Work::Look, get)]);
    routes.keyed(Surface::Ours, "/suspensions/{suspension_id}/cancel", [post(Work::Write, cancel)]);
    routes.keyed(Surface::Ours, "/suspensions/{suspension_id}/take-back", [post(Work::Answer, take_back)]);
}

/// Asks a question: suspends an active intent, or replaces the open question with `supersedes`.
///
/// A repeated request with the same `Idempotency-Key` gets the suspension in its present state, with
/// `Idempotency-Replayed: true`.
#[utoipa::path(post, path = "/api/v1/intents/{intent_id}/suspend", tag = "suspensions", request_body = SuspendRequest,
    params(("intent_id" = String, Path), ("If-Match" = Option<String>, Header), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = SuspensionRecord), (status = 400, description = "`if_match_required`: `If-Match` is there and is no version"), (status = 403), (status = 404), (status = 409, description = "`version_conflict`, `not_active`; with `supersedes` also `suspension_mismatch`, `already_resolved`, `expired`"), (status = 422)))]
pub(super) async fn suspend(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let id = SuspensionId(shared.entropy.uuid(shared.clock.now()));
    let write = Write { action: Action::Suspend, scope: SUSPEND_SCOPE, if_match_required: false };
    let by = caller.principal.clone();
    let ask = |body: SuspendRequest| Ok(Command::Suspend(Box::new(shared.asking.accept(body, id, &by, by.client)?)));
    let outcome = write.send(&request, caller, &shared, body, ask).await?;
    let replayed = matches!(&outcome, Outcome::Suspension { record, .. } if record.id != id);
    let mut response = respond(outcome);
    if replayed {
        // Only this header distinguishes a question just asked from one asked before.
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    Ok(response)
}

/// Answers the open question (RFC-0025 §8).
///
/// An answer is never applied twice: a repeated one finds the suspension ended and gets 409. The suspension id is a capability
/// (§11): it stays out of spans, logs and error bodies.
#[utoipa::path(post, path = "/api/v1/intents/{intent_id}/suspend/respond", tag = "suspensions", request_body = RespondRequest,
    params(("intent_id" = String, Path), ("If-Match" = Option<String>, Header), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = RespondResponse), (status = 400, description = "`if_match_required`: `If-Match` is there and is no version"), (status = 403, description = "`self_response`: the asker answers, or a key of its owner or with its name; `forbidden`: this role does not answer"), (status = 404), (status = 409, description = "`expired`, `already_resolved`, `suspension_mismatch`, `not_suspended`, `version_conflict`"), (status = 422, description = "`invalid_choice` with `valid_choices`; `invalid`, `malformed_json`, `idempotency_mismatch`")))]
pub(super) async fn respond_to(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let write = Write { action: Action::Respond, scope: "POST /intents/{id}/suspend/respond", if_match_required: false };
    let answer = |body| Ok(Command::Respond(Box::new(accepting::answer(body)?)));
    Ok(respond(write.send(&request, caller, &shared, body, answer).await?))
}

/// Reads a suspension: a question, or the stop of an intent. With `wait`, the answer comes when the suspension has ended or the time to wait is over; with
/// `after_version` as well, the answer also comes when the suspension has a later version.
#[utoipa::path(get, path = "/api/v1/suspensions/{suspension_id}", tag = "suspensions", params(("suspension_id" = String, Path),
    ("wait" = Option<u32>, Query), ("after_version" = Option<u32>, Query)),
    responses((status = 200, body = SuspensionView), (status = 404), (status = 422), (status = 429, description = "`rate_limited`: the key holds too many waits")))]
pub(super) async fn get(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let id = suspension_id(&request)?;
    let mut query = Query::new(request.query_string());
    let wait = query.number("wait", 0..=WAIT_SECONDS_MAX, 0);
    let after_version = query.parsed("after_version", "a version", |text| text.parse::<u32>().ok());
    let checked = query.finish(true);
    // The watch is registered before the suspension is first read, so a change between the two is not lost.
    let watch = (wait > 0).then(|| shared.store.hub().watch(id));
    let mut changed = watch.as_ref().map(Watch::changed);
    let mut record = shared.store.either(caller.principal.clone(), id).await?;
    checked?;
    let done = |record: &SuspensionView| record.has_ended() || after_version.is_some_and(|version| record.version() > version);
    if let Some(watch) = watch.as_ref().filter(|_| !done(&record)) {
        let _place = shared.waiters.enter(caller.principal.key_id())?;
        let until = Instant::now() + Duration::from_secs(u64::from(wait));
        let mut waiting = true;
        let mut place = request.extensions_mut().remove::<Place>();
        let class = place.as_ref().map_or(Class::Read, Place::class);
        while let Some(announced) = changed.take().filter(|_| waiting && !done(&record)) {
            // Only so many requests may be worked on at a time. A request that sleeps gives its place among them back.
            drop(place.take());
            waiting = tokio::select! {
                woken = timeout_at(until, announced) => woken.is_ok(),
                // `look` below checks the key again, and refuses the request because the key was revoked.
                () = shared.authenticator.until_revoked(caller.key_hash, caller.principal.key_id()) => true,
                // When the server stops, it answers with the present state; the client then asks the next server.
                () = shared.stopped() => false,
            };
            place = Some(shared.admission.enter_again(class).await?);
            // `look` finds the present state, and checks that the caller may still see it.
            changed = Some(watch.changed());
            record = look(&shared, &caller, id, record, watch).await?;
        }
    }
    Ok(respond(match record {
        SuspensionView::Question(record) => Outcome::Suspension { version: record.version, record },
        SuspensionView::Stop(record) => Outcome::Stop(record),
    }))
}

/// The present state of a suspension, for a caller that waits for it. Fails if the caller's key is no longer valid.
///
/// An ending that was announced is final, and the texts of the question are known from `before`. So the database is read only if
/// no ending was announced, or if the principal of the key has changed.
async fn look(
    shared: &Shared,
    caller: &Caller,
    id: SuspensionId,
    before: SuspensionView,
    watch: &Watch<'_>,
) -> Result<SuspensionView, Failure> {
    let again = caller.again(shared).await?;
    // The announced ending does not say which action was approved. The ending of a stop is not announced.
    let is_same = again.principal == caller.principal;
    if let SuspensionView::Question(before) = before
        && let Some(ended) = watch.ended().filter(|_| is_same && before.proposal.is_none())
    {
        let record = SuspensionRecord::of(&ended, &before.into_question());
        return Ok(SuspensionView::Question(Box::new(record)));
    }
    Ok(shared.store.either(again.principal, id).await?)
}

/// Lists the suspensions that the caller may read, newest first.
///
/// With `idempotency_key`, it lists only the question that was asked under that key in the name of this caller, open or ended,
/// whatever text the question has.
#[utoipa::path(get, path = "/api/v1/suspensions", tag = "suspensions", params(
    ("state" = Option<String>, Query),
    ("idempotency_key" = Option<String>, Query),
    ("limit" = Option<u32>, Query), ("cursor" = Option<String>, Query)),
    responses((status = 200, body = SuspensionPage), (status = 403), (status = 422)))]
pub(super) async fn list(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let mut query = Query::new(request.query_string());
    let key = format!("1 to {IDEMPOTENCY_KEY_MAX} printable ASCII characters");
    let asked_under =
        query.parsed("idempotency_key", &key, |key| is_key(key).then(|| key_hash(&caller.principal, SUSPEND_SCOPE, key)));
    let filter = SuspensionFilter {
        open: query
            .parsed("state", "open or all", |text| match text {
                "open" => Some(true),
                "all" => Some(false),
                _ => None,
            })
            .unwrap_or(asked_under.is_none()),
        asked_under,
        requests: None,
        beside: None,
        limit: query.number("limit", 1..=PAGE_MAX, PAGE_DEFAULT),
        before: query.parsed("cursor", "a cursor of this list", |text| text.parse().ok()),
    };
    let filter = query.wanted(true, filter);
    Ok(HttpResponse::Ok().json(shared.store.suspensions(caller.principal, filter).await?))
}

/// Withdraws an open question; for its asker and for admins.
#[utoipa::path(post, path = "/api/v1/suspensions/{suspension_id}/cancel", tag = "suspensions", request_body = CancelRequest,
    params(("suspension_id" = String, Path), ("If-Match" = Option<String>, Header), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = SuspensionRecord), (status = 400, description = "`if_match_required`: `If-Match` is there and is no version"), (status = 403), (status = 404), (status = 409, description = "`version_conflict`, `already_resolved`, `expired`"), (status = 422)))]
pub(super) async fn cancel(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let suspension_id = suspension_id(&request)?;
    let write = Write { action: Action::Cancel, scope: "POST /suspensions/{id}/cancel", if_match_required: false };
    let outcome = write
        .send_to(Target::Suspension(suspension_id), &request, caller, &shared, body, |body: CancelRequest| {
            Ok(Command::Cancel { suspension_id, reason: accepting::reason(body.reason)? })
        })
        .await?;
    Ok(respond(outcome))
}

/// Takes back an answer of the caller that counts towards a quorum; it is possible until the quorum is complete.
#[utoipa::path(post, path = "/api/v1/suspensions/{suspension_id}/take-back", tag = "suspensions", request_body = TakeBackRequest,
    params(("suspension_id" = String, Path), ("If-Match" = Option<String>, Header), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = SuspensionRecord), (status = 400, description = "`if_match_required`: `If-Match` is there and is no version"), (status = 403), (status = 404), (status = 409, description = "`version_conflict`, `not_counted`, `already_resolved`, `expired`"), (status = 422)))]
pub(super) async fn take_back(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let suspension_id = suspension_id(&request)?;
    let write = Write { action: Action::Decide, scope: "POST /suspensions/{id}/take-back", if_match_required: false };
    let target = Target::Suspension(suspension_id);
    let command = |body: TakeBackRequest| Ok(Command::Respond(Box::new(accepting::taking_back(suspension_id, body)?)));
    Ok(respond(write.send_to(target, &request, caller, &shared, body, command).await?))
}
