//! The binding HTTP+JSON of 1.0.

use actix_web::error::InternalError;
use actix_web::http::StatusCode;
use actix_web::http::header::{ACCEPT, CONTENT_TYPE};
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::problem::edge;
use serde_json::{Map, Value, json};

use super::error::{Error, Wants, Words};
use super::halting;
use super::handlers::{Reply, activated, is_current, perform, shown, unserved, version};
use super::placing::counted;
use super::reading::{self, Operation};
use super::rpc::head;
use super::streaming::Frame;
use super::wire::{Item, JSON};
use crate::edge::admission::Work;
use crate::edge::body::Json;
use crate::edge::problem::{Failure, Surface, TurnedAway};
use crate::edge::route::{Endpoint, Routes, get, post};
use crate::edge::shared::Shared;

/// The media type that the specification recommends; it is written where a client names it.
const A2A_JSON: &str = "application/a2a+json";
pub(super) const SURFACE: Surface = Surface::Protocol(refused);

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.under("/a2a", |routes| {
        let mut one = |path: &str, endpoint: Endpoint| routes.keyed(SURFACE, path, [endpoint]);
        one("/message:send", post(Work::Answer, send));
        one("/message:stream", post(Work::Answer, send_and_follow));
        one("/tasks", get(Work::List, list));
        one("/tasks/{task_id}:cancel", post(Work::Write, cancel));
        one("/tasks/{task_id}:pause", post(Work::Write, pause));
        one("/tasks/{task_id}:resume", post(Work::Write, resume));
        one("/tasks/{task_id}:awaitResumption", post(Work::Write, park));
        // The protocol's definition says GET, and the table in its text says POST.
        routes.keyed(SURFACE, "/tasks/{task_id}:subscribe", [get(Work::Read, subscribe), post(Work::Read, subscribe)]);
        routes.keyed(SURFACE, "/tasks/{task_id}", [get(Work::Look, get_task)]);
        routes.keyed(SURFACE, "/extendedAgentCard", [get(Work::Read, extended_card)]);
    });
    routes.nothing_under(SURFACE, "/a2a");
}

/// A request that is refused before it is read.
fn refused(failure: Failure) -> actix_web::Error {
    let is_no_route = failure.entry == edge::NO_ROUTE;
    let error = if is_no_route { Error::no_method("there is nothing at this path") } else { Error::from(failure, Wants::Other) };
    InternalError::from_response("refused", in_form(JSON, &error)).into()
}

fn in_form(media: &'static str, error: &Error) -> HttpResponse {
    let mut response = HttpResponse::build(StatusCode::from_u16(error.http).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR));
    head(&mut response, error.http, error);
    let mut response = response.content_type(media).body(error.to_rest().to_string());
    if error.turns_away() {
        response.extensions_mut().insert(TurnedAway);
    }
    response
}

/// The media type of the response: the recommended one where the request names it.
fn media(request: &HttpRequest) -> &'static str {
    let names = |header| {
        let mut values = request.headers().get_all(header).filter_map(|value| value.to_str().ok());
        values.any(|value| value.to_ascii_lowercase().contains(A2A_JSON))
    };
    if names(ACCEPT) || names(CONTENT_TYPE) { A2A_JSON } else { JSON }
}

/// Refuses a request of a version that is not served.
fn of_current_version(request: &HttpRequest) -> Result<(), Error> {
    let named = version(request)?;
    if is_current(&named) {
        return Ok(());
    }
    if named.is_empty() {
        return Err(Error::version("0.3 over HTTP+JSON; name the version in the header A2A-Version"));
    }
    Err(unserved(&named))
}

/// Performs a request, if its version is served.
pub(super) async fn answer(request: HttpRequest, shared: Data<Shared>, operation: Result<Operation, Error>) -> HttpResponse {
    let media = media(&request);
    let frame: Frame = Box::new(|item: &Item| json!(item));
    let performed = async {
        match of_current_version(&request).and(operation) {
            Ok(operation) => perform(&request, shared, operation, frame).await,
            // A request that is not understood answers nothing, so it counts against the limit of its key.
            Err(error) => Err(counted(&request, &shared).map_or_else(|failure| Error::from(failure, Wants::Other), |()| error)),
        }
    };
    let mut response = match performed.await {
        Ok(Reply::Stream(response)) => response,
        Ok(Reply::Task(body) | Reply::Sent(body) | Reply::Whole(body)) => {
            HttpResponse::Ok().content_type(media).body(body.to_string())
        }
        Err(error) => return in_form(media, &error),
    };
    activated(shown(&request), &mut response);
    response
}

/// The body of a request.
pub(super) fn body(request: &HttpRequest) -> Result<Value, Error> {
    Json::of(request).map(|Json(body)| body).map_err(|failure| Error::from(failure, Wants::Other))
}

async fn send(request: HttpRequest, shared: Data<Shared>) -> HttpResponse {
    let operation = body(&request).and_then(|body| reading::send(body, false));
    answer(request, shared, operation).await
}

async fn send_and_follow(request: HttpRequest, shared: Data<Shared>) -> HttpResponse {
    let operation = body(&request).and_then(|body| reading::send(body, true));
    answer(request, shared, operation).await
}

async fn get_task(request: HttpRequest, shared: Data<Shared>) -> HttpResponse {
    let operation = query(&request).and_then(|query| named(&request, "id", query)).and_then(reading::get);
    answer(request, shared, operation).await
}

async fn list(request: HttpRequest, shared: Data<Shared>) -> HttpResponse {
    let operation = query(&request).and_then(|query| reading::list(Value::Object(query)));
    answer(request, shared, operation).await
}

/// The members of the body of a request.
fn members(request: &HttpRequest) -> Result<Map<String, Value>, Error> {
    match body(request)? {
        Value::Object(members) => Ok(members),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(Error::wrong("body", "must be an object"))
        }
    }
}

async fn cancel(request: HttpRequest, shared: Data<Shared>) -> HttpResponse {
    let operation = members(&request).and_then(|members| named(&request, "id", members)).and_then(reading::cancel);
    answer(request, shared, operation).await
}

/// A call of an extension for pauses.
async fn halt(request: HttpRequest, shared: Data<Shared>, read: halting::Read) -> HttpResponse {
    let given = || members(&request).and_then(|members| named(&request, "taskId", members));
    let operation = halting::served(shown(&request).active).and_then(|()| given()).and_then(|given| read(Words::Revised, given));
    answer(request, shared, operation.map(Operation::Halt)).await
}

async fn pause(request: HttpRequest, shared: Data<Shared>) -> HttpResponse {
    halt(request, shared, halting::pause).await
}

async fn resume(request: HttpRequest, shared: Data<Shared>) -> HttpResponse {
    halt(request, shared, halting::resume).await
}

async fn park(request: HttpRequest, shared: Data<Shared>) -> HttpResponse {
    halt(request, shared, halting::park).await
}

async fn subscribe(request: HttpRequest, shared: Data<Shared>) -> HttpResponse {
    let operation = query(&request).and_then(|query| named(&request, "id", query)).and_then(reading::subscribe);
    answer(request, shared, operation).await
}

async fn extended_card(request: HttpRequest, shared: Data<Shared>) -> HttpResponse {
    answer(request, shared, Ok(Operation::Card)).await
}

/// The parameters with the task that the path names.
fn named(request: &HttpRequest, member: &str, mut members: Map<String, Value>) -> Result<Value, Error> {
    let id = json!(request.match_info().get("task_id").unwrap_or_default());
    if members.insert(member.to_owned(), id.clone()).is_some_and(|given| given != id) {
        return Err(Error::wrong(member, "must be that of the path, or be left out"));
    }
    Ok(Value::Object(members))
}

/// The parameters in a query, each in the form that it has in JSON. A parameter that comes twice is refused, as everywhere: two readers could
/// take different ones.
pub(super) fn query(request: &HttpRequest) -> Result<Map<String, Value>, Error> {
    let mut members = Map::new();
    for (name, value) in url::form_urlencoded::parse(request.query_string().as_bytes()) {
        if name.eq_ignore_ascii_case("a2a-version") {
            continue;
        }
        if members.insert(name.to_string(), in_json(&name, &value)).is_some() {
            return Err(Error::wrong(&name, "must be given only once"));
        }
    }
    Ok(members)
}

fn in_json(name: &str, value: &str) -> Value {
    match name {
        "historyLength" | "pageSize" => value.parse::<i64>().map_or_else(|_| json!(value), |number| json!(number)),
        "includeArtifacts" => value.parse::<bool>().map_or_else(|_| json!(value), |flag| json!(flag)),
        _ => json!(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_in_a_query_is_a_number_and_a_wrong_one_is_refused_as_what_it_is() {
        assert_eq!(in_json("pageSize", "5"), json!(5));
        assert_eq!(in_json("pageSize", "five"), json!("five"));
        assert_eq!(in_json("includeArtifacts", "true"), json!(true));
        assert_eq!(in_json("contextId", "5"), json!("5"));
    }
}
