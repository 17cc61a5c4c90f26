//! Turns a request, with its caller, its body and its conditions, into a write, and the outcome of the write into a response.

use actix_web::{HttpRequest, HttpResponse};
use domain::base::field::FieldError;
use domain::intent::command::Command;
use domain::people::authority::Action;
use domain::people::principal::Principal;
use domain::problem::Rejection;
use domain::suspension::errand::Via;
use domain::wire::AccessView;
use serde::de::DeserializeOwned;
use store::{Outcome, Repeatable, Request, Target, Unreadable};

use super::auth::Caller;
use super::body::{Json, idempotency, if_match};
use super::problem::Failure;
use super::route::intent_id;
use super::shared::Shared;

/// One kind of write to an intent: the action, and the scope of its idempotency keys.
pub(crate) struct Write {
    /// The action that is checked if the body cannot be read; otherwise the action of the command is checked.
    pub(crate) action: Action,
    pub(crate) scope: &'static str,
    pub(crate) if_match_required: bool,
}

impl Write {
    /// Sends a write to the intent in the path. The store gets the errors in the fields of the body as well, because it must
    /// report a 404, 403 or 400 before them.
    pub(crate) async fn send<T: DeserializeOwned>(
        &self,
        request: &HttpRequest,
        caller: Caller,
        shared: &Shared,
        body: Json,
        command: impl FnOnce(T) -> Result<Command, Vec<FieldError>>,
    ) -> Result<Outcome, Failure> {
        let target = Target::Intent(intent_id(request)?);
        self.send_to(target, request, caller, shared, body, command).await
    }

    /// Sends a write to this target.
    pub(crate) async fn send_to<T: DeserializeOwned>(
        &self,
        target: Target,
        request: &HttpRequest,
        caller: Caller,
        shared: &Shared,
        body: Json,
        command: impl FnOnce(T) -> Result<Command, Vec<FieldError>>,
    ) -> Result<Outcome, Failure> {
        let key = idempotency(request, &caller.principal, self.scope, &body);
        let unreadable = |errors| Unreadable { action: self.action, errors };
        let (idempotency, command) = match key {
            Ok(idempotency) => {
                let command = body.into().and_then(command).map(|command| command.through(door(request)));
                (idempotency, command.map_err(unreadable))
            }
            Err(error) => (None, Err(unreadable(vec![error]))),
        };
        let precondition = if_match(request, self.if_match_required);
        let trace_parent = request.headers().get("traceparent").and_then(|value| value.to_str().ok()?.parse().ok());
        let principal = caller.principal;
        let write = Request { principal, target, precondition, idempotency, command, trace_parent };
        Ok(shared.store.execute(write).await?)
    }
}

/// The door of a call: OpenIntent writes its paths without the prefix of this server's API.
fn door(request: &HttpRequest) -> Via {
    if request.path().starts_with("/api/") { Via::Api } else { Via::Openintent }
}

/// A write to an object that is no intent, made from the body of the request. The store gets the errors in the fields of the body
/// as well, because it must report a 404 or 403 before them.
pub(crate) fn repeatable<T: DeserializeOwned, W>(
    request: &HttpRequest,
    principal: &Principal,
    scope: &'static str,
    body: Json,
    wanted: impl FnOnce(T) -> Result<W, Vec<FieldError>>,
) -> Repeatable<W> {
    let invalid = |errors| Rejection::Invalid { errors };
    match idempotency(request, principal, scope, &body) {
        Ok(idempotency) => Repeatable { idempotency, wanted: body.into().and_then(wanted).map_err(invalid) },
        Err(error) => Repeatable { idempotency: None, wanted: Err(invalid(vec![error])) },
    }
}

/// An outcome as JSON, with its `ETag`.
pub(crate) fn respond(outcome: Outcome) -> HttpResponse {
    let etag = |version: u32| ("etag", format!("\"{version}\""));
    match outcome {
        Outcome::Intent(intent) => HttpResponse::Ok().insert_header(etag(intent.version)).json(intent),
        Outcome::Suspension { record, version } => HttpResponse::Ok().insert_header(etag(version)).json(record),
        Outcome::Responded { response, version } => HttpResponse::Ok().insert_header(etag(version)).json(response),
        Outcome::Event(served) => HttpResponse::Ok().content_type("application/json").body(served),
        Outcome::Access(view) => match *view {
            AccessView::Acl(acl) => HttpResponse::Ok().json(acl),
            AccessView::Entry(entry) => HttpResponse::Ok().json(entry),
            AccessView::Request(request) => HttpResponse::Ok().json(request),
            AccessView::Revoked => HttpResponse::NoContent().finish(),
        },
        Outcome::Lease(lease) => HttpResponse::Ok().json(lease),
        Outcome::Portfolio(portfolio) => HttpResponse::Ok().json(portfolio),
        Outcome::Membership(membership) => HttpResponse::Ok().json(membership),
        Outcome::Task(task) => HttpResponse::Ok().insert_header(etag(task.version)).json(task),
        Outcome::Coordinator(coordinator) => HttpResponse::Ok().json(coordinator),
        Outcome::Stop(stop) => HttpResponse::Ok().insert_header(etag(stop.version)).json(stop),
        Outcome::Plan(plan) => HttpResponse::Ok().insert_header(etag(plan.version)).json(plan),
        Outcome::Subscription(subscription) => HttpResponse::Ok().json(subscription),
    }
}
