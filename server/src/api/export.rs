//! `GET /api/v1/export`: the log, whole or a selection ([`edge::export`](crate::edge::export)).

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};

use crate::edge::admission::Work;
use crate::edge::auth::Caller;
use crate::edge::export;
use crate::edge::problem::{Problem, Surface};
use crate::edge::reader::Reader;
use crate::edge::route::{Routes, get};
use crate::edge::shared::Shared;

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.keyed(Surface::Ours, "/export", [get(Work::List, export)]);
}

/// Exports the events of all logs, one to a line. Only `jsonl` can be verified. For admins and auditors. Each export is an event of the server's own log.
#[utoipa::path(get, path = "/api/v1/export", tag = "proofs",
    params(("format" = Option<String>, Query), ("from" = Option<String>, Query), ("to" = Option<String>, Query),
    ("intent_id" = Option<String>, Query), ("agent" = Option<String>, Query), ("person" = Option<String>, Query),
    ("outcome" = Option<String>, Query), ("manifest" = Option<String>, Query), ("size" = Option<u64>, Query), ("after" = Option<u64>, Query)),
    responses((status = 200, content((String = "application/x-ndjson"), (String = "text/csv"), (String = "text/plain"), (Object = "application/json"))), (status = 403),
    (status = 404, description = "`not_found`: no checkpoint has this size"),
    (status = 409, description = "`log_not_signed`: this server has no key to sign with; `export_outdated`: events were erased after this checkpoint"), (status = 422)))]
pub(super) async fn export(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let reader = Reader::Key(Caller::of(&request)?);
    export::export(request.query_string(), &shared, reader).await
}
