//! Requests to people that do not suspend the intent: the parts that approvals, escalations and arbitrations share.

use actix_web::HttpRequest;
use domain::asking::policy::AskingPolicy;
use domain::base::field::FieldError;
use domain::base::ids::{IntentId, SuspensionId};
use domain::intent::command::{Command, Respond, Suspend};
use domain::people::authority::Action;
use domain::people::principal::Principal;
use domain::problem::Rejection;
use domain::suspension::Kind;
use domain::suspension::quorum::Tally;
use domain::wire::SuspensionRecord;
use serde::de::DeserializeOwned;
use store::{Outcome, SuspensionFilter, Target};

use super::records::unreadable;
use crate::edge::auth::Caller;
use crate::edge::body::Json;
use crate::edge::problem::Failure;
use crate::edge::query::PAGE_MAX;
use crate::edge::shared::Shared;
use crate::edge::write::Write;

/// Turns a body into the question that people are asked.
type Accept<T> = fn(&AskingPolicy, T, &Principal, SuspensionId) -> Result<Suspend, Vec<FieldError>>;

/// Makes a request to people from the body, for the intent in the path.
pub(super) async fn make<T: DeserializeOwned>(
    request: &HttpRequest,
    shared: &Shared,
    scope: &'static str,
    accept: Accept<T>,
) -> Result<SuspensionRecord, Failure> {
    let caller = Caller::of(request)?;
    let body = Json::of(request)?;
    let by = caller.principal.clone();
    let id = SuspensionId(shared.entropy.uuid(shared.clock.now()));
    let write = Write { action: Action::Suspend, scope, if_match_required: false };
    let command = |body| Ok(Command::Suspend(Box::new(accept(&shared.asking, body, &by, id)?)));
    match write.send(request, caller, shared, body, command).await? {
        Outcome::Suspension { record, .. } => Ok(*record),
        Outcome::Intent(_)
        | Outcome::Responded { .. }
        | Outcome::Event(_)
        | Outcome::Lease(_)
        | Outcome::Access(_)
        | Outcome::Portfolio(_)
        | Outcome::Membership(_)
        | Outcome::Task(_)
        | Outcome::Plan(_)
        | Outcome::Coordinator(_)
        | Outcome::Stop(_)
        | Outcome::Subscription(_) => Err(unreadable()),
    }
}

/// Answers a request to people, and returns the request as it is after that; with how far the answer is from its quorum, while more people
/// must agree.
pub(super) async fn decide<T: DeserializeOwned>(
    target: Target,
    id: SuspensionId,
    request: &HttpRequest,
    shared: &Shared,
    scope: &'static str,
    answer: impl FnOnce(T) -> Result<Respond, Vec<FieldError>>,
) -> Result<(SuspensionRecord, Option<Tally>), Failure> {
    let caller = Caller::of(request)?;
    let body = Json::of(request)?;
    let principal = caller.principal.clone();
    let write = Write { action: Action::Decide, scope, if_match_required: false };
    let command = |body| Ok(Command::Respond(Box::new(answer(body)?)));
    let approvals = match write.send_to(target, request, caller, shared, body, command).await? {
        Outcome::Responded { response, .. } => response.approvals,
        Outcome::Suspension { .. }
        | Outcome::Intent(_)
        | Outcome::Event(_)
        | Outcome::Lease(_)
        | Outcome::Access(_)
        | Outcome::Portfolio(_)
        | Outcome::Membership(_)
        | Outcome::Task(_)
        | Outcome::Plan(_)
        | Outcome::Coordinator(_)
        | Outcome::Stop(_)
        | Outcome::Subscription(_) => return Err(unreadable()),
    };
    Ok((shared.store.suspension(principal, id).await?, approvals))
}

/// The newest requests of a kind, at most one page. `wanted` holds the intent (`None` for all intents that the caller may read)
/// and whether only open requests are listed.
pub(super) async fn listed(
    request: &HttpRequest,
    shared: &Shared,
    kind: Kind,
    wanted: Result<(Option<IntentId>, bool), Rejection>,
) -> Result<Vec<SuspensionRecord>, Failure> {
    let caller = Caller::of(request)?;
    let (requests, limit) = (Some(kind), PAGE_MAX);
    let filter = |(beside, open)| SuspensionFilter { limit, open, before: None, requests, beside, asked_under: None };
    Ok(shared.store.suspensions(caller.principal, wanted.map(filter)).await?.suspensions)
}
