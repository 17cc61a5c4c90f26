//! The parts that decisions, attachments, costs, failures and retry policies share: data that agents keep with an intent, and
//! that is kept only in the log.

use actix_web::HttpRequest;
use domain::base::field::FieldError;
use domain::intent::command::Command;
use domain::intent::record::Record;
use domain::people::authority::Action;
use domain::people::principal::Principal;
use domain::wire::EventView;
use serde::de::DeserializeOwned;
use store::Outcome;

use crate::edge::auth::Caller;
use crate::edge::body::Json;
use crate::edge::problem::Failure;
use crate::edge::route::intent_id;
use crate::edge::shared::Shared;
use crate::edge::write::Write;

/// Keeps the data of a request. `scope` is the scope of its idempotency key. `accept` makes the record from the body, the caller,
/// and the id of the agent as which the caller acts.
pub(super) async fn keep<T: DeserializeOwned>(
    request: &HttpRequest,
    shared: &Shared,
    scope: &'static str,
    accept: impl FnOnce(T, &Principal, String) -> Result<Record, Vec<FieldError>>,
) -> Result<EventView, Failure> {
    let caller = Caller::of(request)?;
    let body = Json::of(request)?;
    let agent_id = caller.agent_id(request);
    let by = caller.principal.clone();
    let record = |body| Ok(Command::Record(Box::new(accept(body, &by, agent_id)?)));
    event(write(scope).send(request, caller, shared, body, record).await?)
}

/// A write of data that an agent keeps.
pub(super) fn write(scope: &'static str) -> Write {
    Write { action: Action::AppendEvent, scope, if_match_required: false }
}

/// The event that a write returns.
pub(super) fn event(outcome: Outcome) -> Result<EventView, Failure> {
    let Outcome::Event(served) = outcome else { return Err(unreadable()) };
    serde_json::from_str(&served).map_err(|_| unreadable())
}

/// All events of these types in the log of the intent in the path, oldest first.
pub(super) async fn kept(
    request: &HttpRequest,
    shared: &Shared,
    types: &'static [&'static str],
) -> Result<Vec<EventView>, Failure> {
    newest(request, shared, types, usize::MAX).await
}

/// The newest events of these types, at most `limit`, oldest first.
pub(super) async fn newest(
    request: &HttpRequest,
    shared: &Shared,
    types: &'static [&'static str],
    limit: usize,
) -> Result<Vec<EventView>, Failure> {
    let caller = Caller::of(request)?;
    Ok(shared.store.records(caller.principal, intent_id(request)?, types, limit).await?)
}

/// Each event as it is shown; a failure if one is not in the form in which this server writes it.
pub(super) fn shown<T>(events: Vec<EventView>, of: fn(EventView) -> Option<T>) -> Result<Vec<T>, Failure> {
    events.into_iter().map(|event| of(event).ok_or_else(unreadable)).collect()
}

/// The failure of a server that cannot read its own event.
pub(super) fn unreadable() -> Failure {
    tracing::error!("an event of the log is not in the form in which this server writes it");
    Failure::edge(domain::problem::edge::INTERNAL, "the server failed; the failure was logged")
}
