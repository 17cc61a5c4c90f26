//! Intents that need each other: parents and children, dependencies and dependents (RFC-0002).

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::base::ids::IntentId;
use domain::intent::command::Command;
use domain::people::authority::Action;
use domain::wire::{AddDependencyRequest, CreateIntentRequest, GraphView, IntentView, RelativesView};
use serde_json::{Value, json};
use store::{Relation, Relatives};

use super::intents;
use crate::edge::admission::Work;
use crate::edge::auth::Caller;
use crate::edge::body::Json;
use crate::edge::problem::{Detail, Surface};
use crate::edge::route::{Routes, delete, dependency_id, get, intent_id, post};
use crate::edge::shared::Shared;
use crate::edge::write::{Write, respond};

pub(super) fn routes(routes: &mut Routes<'_>) {
    let surface = Surface::OpenIntent;
    routes.keyed(surface, "/intents/{intent_id}/children", [get(Work::List, children), post(Work::Write, create_child)]);
    routes.keyed(surface, "/intents/{intent_id}/descendants", [get(Work::List, descendants)]);
    routes.keyed(surface, "/intents/{intent_id}/ancestors", [get(Work::List, ancestors)]);
    routes.keyed(
        surface,
        "/intents/{intent_id}/dependencies",
        [get(Work::List, dependencies), post(Work::Write, add_dependency)],
    );
    routes.keyed(surface, "/intents/{intent_id}/dependencies/{dependency_id}", [delete(Work::Write, remove_dependency)]);
    routes.keyed(surface, "/intents/{intent_id}/dependents", [get(Work::List, dependents)]);
    routes.keyed(surface, "/intents/{intent_id}/ready", [get(Work::List, ready)]);
    routes.keyed(surface, "/intents/{intent_id}/blocked", [get(Work::List, blocked)]);
    routes.keyed(surface, "/intents/{intent_id}/graph", [get(Work::List, graph)]);
}

async fn relatives(request: &HttpRequest, shared: &Shared, relation: Relation) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(request)?;
    let Relatives { intents, truncated } = shared.store.relatives(caller.principal, intent_id(request)?, relation).await?;
    let mut view = RelativesView { truncated, ..RelativesView::default() };
    let member = match relation {
        Relation::Children => &mut view.children,
        Relation::Descendants => &mut view.descendants,
        Relation::Ancestors => &mut view.ancestors,
        Relation::Dependencies => &mut view.dependencies,
        Relation::Dependents => &mut view.dependents,
        Relation::Ready => &mut view.ready,
        Relation::Blocked => &mut view.blocked,
    };
    *member = Some(intents);
    Ok(HttpResponse::Ok().json(view))
}

/// Creates an intent below the one in the path. The parent is not completed before its children are.
#[utoipa::path(post, path = "/api/v1/intents/{intent_id}/children", tag = "graph", request_body = CreateIntentRequest,
    params(("intent_id" = String, Path), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = IntentView), (status = 400, description = "`dependency_cycle`: the child would need its own parent"),
    (status = 403), (status = 404, description = "`not_found`: the parent or a dependency does not exist, or the key may not read it"),
    (status = 409, description = "`intent_ended`: the parent is completed or abandoned; `suspension_is_server_owned`: the state names `_suspension`"), (status = 422)))]
pub(super) async fn create_child(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let parent = intent_id(&request)?;
    intents::create_below(&request, &shared, "POST /intents/{id}/children", Some(parent)).await
}

/// Lists the children of an intent.
#[utoipa::path(get, path = "/api/v1/intents/{intent_id}/children", tag = "graph", params(("intent_id" = String, Path)),
    responses((status = 200, body = RelativesView), (status = 403), (status = 404)))]
pub(super) async fn children(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    relatives(&request, &shared, Relation::Children).await
}

/// Lists the children of an intent, their children, and so on.
#[utoipa::path(get, path = "/api/v1/intents/{intent_id}/descendants", tag = "graph", params(("intent_id" = String, Path)),
    responses((status = 200, body = RelativesView), (status = 403), (status = 404)))]
pub(super) async fn descendants(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    relatives(&request, &shared, Relation::Descendants).await
}

/// Lists the parent of an intent, the parent's parent, and so on.
#[utoipa::path(get, path = "/api/v1/intents/{intent_id}/ancestors", tag = "graph", params(("intent_id" = String, Path)),
    responses((status = 200, body = RelativesView), (status = 403), (status = 404)))]
pub(super) async fn ancestors(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    relatives(&request, &shared, Relation::Ancestors).await
}

/// Lists the intents for which an intent waits, the completed ones included.
#[utoipa::path(get, path = "/api/v1/intents/{intent_id}/dependencies", tag = "graph", params(("intent_id" = String, Path)),
    responses((status = 200, body = RelativesView), (status = 403), (status = 404)))]
pub(super) async fn dependencies(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    relatives(&request, &shared, Relation::Dependencies).await
}

/// Lists the intents that wait for an intent.
#[utoipa::path(get, path = "/api/v1/intents/{intent_id}/dependents", tag = "graph", params(("intent_id" = String, Path)),
    responses((status = 200, body = RelativesView), (status = 403), (status = 404)))]
pub(super) async fn dependents(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    relatives(&request, &shared, Relation::Dependents).await
}

/// Lists those children of an intent that could be worked on now: drafts and active ones whose dependencies are completed.
#[utoipa::path(get, path = "/api/v1/intents/{intent_id}/ready", tag = "graph", params(("intent_id" = String, Path)),
    responses((status = 200, body = RelativesView), (status = 403), (status = 404)))]
pub(super) async fn ready(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    relatives(&request, &shared, Relation::Ready).await
}

/// Lists those children of an intent that cannot go on: blocked ones, and others with a dependency that is not completed.
#[utoipa::path(get, path = "/api/v1/intents/{intent_id}/blocked", tag = "graph", params(("intent_id" = String, Path)),
    responses((status = 200, body = RelativesView), (status = 403), (status = 404)))]
pub(super) async fn blocked(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    relatives(&request, &shared, Relation::Blocked).await
}

/// Reads an intent with everything that it needs: its children and dependencies, what those need, and so on.
#[utoipa::path(get, path = "/api/v1/intents/{intent_id}/graph", tag = "graph", params(("intent_id" = String, Path)),
    responses((status = 200, body = GraphView), (status = 403), (status = 404)))]
pub(super) async fn graph(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    Ok(HttpResponse::Ok().json(shared.store.graph(caller.principal, intent_id(&request)?).await?))
}

/// Lets an intent wait for another one. An active intent is `blocked` until the other one is completed.
#[utoipa::path(post, path = "/api/v1/intents/{intent_id}/dependencies", tag = "graph", request_body = AddDependencyRequest,
    params(("intent_id" = String, Path), ("If-Match" = String, Header), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = IntentView), (status = 400, description = "`if_match_required`, `dependency_exists`, `dependency_cycle`"),
    (status = 403), (status = 404, description = "`not_found`: one of the two intents does not exist, or the key may not read it"),
    (status = 409, description = "`version_conflict`, `intent_ended`"), (status = 422)))]
pub(super) async fn add_dependency(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let write = Write { action: Action::AddDependency, scope: "POST /intents/{id}/dependencies", if_match_required: true };
    // An id that is no UUID is treated like the id of an intent that does not exist.
    let command = |body: AddDependencyRequest| {
        Ok(Command::AddDependency(body.dependency_id.parse().unwrap_or(IntentId(uuid::Uuid::nil()))))
    };
    Ok(respond(write.send(&request, caller, &shared, body, command).await?))
}

/// Lets an intent wait for another one no longer. An agent may not remove a dependency that waits for a person, or whose last question
/// no person answered: an operator may.
#[utoipa::path(delete, path = "/api/v1/intents/{intent_id}/dependencies/{dependency_id}", tag = "graph",
    params(("intent_id" = String, Path), ("dependency_id" = String, Path), ("If-Match" = String, Header)), responses(
    (status = 200, body = IntentView), (status = 400), (status = 403),
    (status = 404, description = "`not_found`: the intent does not exist, the key may not read it, or there is no such dependency"),
    (status = 409, description = "`version_conflict`, `upstream_intent_suspended`, `upstream_intent_unanswered`"), (status = 422)))]
pub(super) async fn remove_dependency(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let dependency = dependency_id(&request)?;
    let write =
        Write { action: Action::RemoveDependency, scope: "DELETE /intents/{id}/dependencies/{id}", if_match_required: true };
    let command = |_: Value| Ok(Command::RemoveDependency(dependency));
    Ok(respond(write.send(&request, caller, &shared, Json(json!({})), command).await?))
}
