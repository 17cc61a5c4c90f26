//! Agents that work on an intent beside its creator (RFC-0003).

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::asking::accepting;
use domain::intent::assignment::{ASSIGNED, UNASSIGNED};
use domain::intent::command::Command;
use domain::people::authority::Action;
use domain::wire::{AgentUnassigned, AssignAgentRequest, AssignmentList, AssignmentView};
use serde_json::{Value, json};

use super::records::{event, kept, unreadable};
use crate::edge::admission::Work;
use crate::edge::auth::Caller;
use crate::edge::body::Json;
use crate::edge::problem::{Detail, Surface};
use crate::edge::route::{Routes, delete, get, post};
use crate::edge::shared::Shared;
use crate::edge::write::Write;

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.keyed(Surface::OpenIntent, "/intents/{intent_id}/agents", [get(Work::List, list), post(Work::Write, assign)]);
    routes.keyed(Surface::OpenIntent, "/intents/{intent_id}/agents/{agent_id}", [delete(Work::Write, unassign)]);
}

/// Assigns an agent, which may from now on read the intent and work on it.
#[utoipa::path(post, path = "/api/v1/intents/{intent_id}/agents", tag = "agents", request_body = AssignAgentRequest,
    params(("intent_id" = String, Path), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = AssignmentView), (status = 403), (status = 404), (status = 422)))]
pub(super) async fn assign(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let write = Write { action: Action::Assign, scope: "POST /intents/{id}/agents", if_match_required: false };
    let command = |body| Ok(Command::Assign(Box::new(accepting::assign(body)?)));
    let assigned = event(write.send(&request, caller, &shared, body, command).await?)?;
    Ok(HttpResponse::Ok().json(AssignmentView::of(assigned).ok_or_else(unreadable)?))
}

/// Lists the agents that are assigned, in the order of their newest assignments.
#[utoipa::path(get, path = "/api/v1/intents/{intent_id}/agents", tag = "agents", params(("intent_id" = String, Path)),
    responses((status = 200, body = AssignmentList), (status = 403), (status = 404), (status = 422)))]
pub(super) async fn list(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let mut agents: Vec<AssignmentView> = Vec::new();
    for event in kept(&request, &shared, &[ASSIGNED, UNASSIGNED]).await? {
        agents.retain(|one| event.payload.get("agent_id") != Some(&json!(one.agent_id)));
        if event.event_type == ASSIGNED {
            agents.push(AssignmentView::of(event).ok_or_else(unreadable)?);
        }
    }
    Ok(HttpResponse::Ok().json(AssignmentList { agents }))
}

/// Takes an agent off the intent.
#[utoipa::path(delete, path = "/api/v1/intents/{intent_id}/agents/{agent_id}", tag = "agents",
    params(("intent_id" = String, Path), ("agent_id" = String, Path)),
    responses((status = 200, body = AgentUnassigned), (status = 403), (status = 404), (status = 422)))]
pub(super) async fn unassign(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let agent_id = accepting::agent_in_path(request.match_info().get("agent_id").unwrap_or_default());
    let write = Write { action: Action::Assign, scope: "DELETE /intents/{id}/agents/{id}", if_match_required: false };
    let command = |_: Value| Ok(Command::Unassign { agent_id });
    write.send(&request, caller, &shared, Json(json!({})), command).await?;
    Ok(HttpResponse::Ok().json(AgentUnassigned { message: "Agent unassigned".to_owned() }))
}
