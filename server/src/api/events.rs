//! The log of one intent (RFC-0019). A reader gets all events, or only those whose types the OpenIntent client knows.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::asking::accepting;
use domain::base::time;
use domain::intent::assignment::ASSIGNED;
use domain::intent::command::Command;
use domain::people::authority::Action;
use domain::wire::{AppendEventRequest, EventView};
use store::{EventFilter, Outcome};

use super::three_calls;
use crate::edge::admission::Work;
use crate::edge::auth::Caller;
use crate::edge::body::Json;
use crate::edge::problem::{Detail, Surface};
use crate::edge::query::{OFFSET_MAX, PAGE_DEFAULT, PAGE_MAX, Query};
use crate::edge::route::{Routes, get, intent_id, post};
use crate::edge::shared::Shared;
use crate::edge::write::{Write, respond};

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.keyed(Surface::OpenIntent, "/intents/{intent_id}/events", [get(Work::List, list), post(Work::Write, append)]);
}

/// Reads the log, newest first: the event types of the OpenIntent client, or all types with `include=all`.
#[utoipa::path(get, path = "/api/v1/intents/{intent_id}/events", tag = "events", params(("intent_id" = String, Path),
    ("limit" = Option<u32>, Query), ("offset" = Option<u32>, Query),
    ("event_type" = Option<String>, Query), ("since" = Option<String>, Query), ("include" = Option<String>, Query)),
    responses((status = 200, body = Vec<EventView>), (status = 403), (status = 404), (status = 422)))]
pub(super) async fn list(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let id = intent_id(&request)?;
    let mut query = Query::new(request.query_string());
    let filter = EventFilter {
        limit: query.number("limit", 1..=PAGE_MAX, PAGE_DEFAULT),
        offset: query.number("offset", 0..=OFFSET_MAX, 0),
        event_type: query.parsed("event_type", "an event type", |text| Some(text.to_owned())),
        since: query.parsed("since", "an RFC 3339 time", time::parse),
        all: query.parsed("include", "all", |text| (text == "all").then_some(())).is_some(),
        refuse_far: true,
    };
    let filter = query.wanted(false, filter);
    let events = shared.store.events(caller.principal, id, filter).await?;
    Ok(HttpResponse::Ok().content_type("application/json").body(format!("[{}]", events.join(","))))
}

/// Appends an event of a type that clients may write; the log takes the actor from the credential.
#[utoipa::path(post, path = "/api/v1/intents/{intent_id}/events", tag = "events", request_body = AppendEventRequest,
    params(("intent_id" = String, Path), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = EventView), (status = 403, description = "`reserved_event_type`: only the server writes events of this type; `forbidden`"), (status = 404), (status = 422)))]
pub(super) async fn append(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    if let Some(served) = three_calls::told(&shared, &caller, intent_id(&request)?, &body).await? {
        return Ok(respond(Outcome::Event(served)));
    }
    // The OpenIntent client delegates work by appending an event of assignment. The server assigns the agent instead of appending
    // the event: the assignment writes an event of this type itself, so the log holds it only once.
    let assigns = body.0["event_type"] == ASSIGNED;
    let action = if assigns { Action::Assign } else { Action::AppendEvent };
    let write = Write { action, scope: "POST /intents/{id}/events", if_match_required: false };
    let by = caller.principal.clone();
    let event = |body: AppendEventRequest| {
        if assigns {
            return Ok(Command::Assign(Box::new(accepting::delegated(body, &by)?)));
        }
        Ok(Command::Append(accepting::client_event(body)?))
    };
    Ok(respond(write.send(&request, caller, &shared, body, event).await?))
}
