//! The binding JSON-RPC, in the versions 1.0 and 0.3, and the public card.

use actix_web::error::InternalError;
use actix_web::http::header::{
    CACHE_CONTROL, ETAG, HeaderValue, IF_NONE_MATCH, LAST_MODIFIED, RETRY_AFTER, VARY, WWW_AUTHENTICATE,
};
use actix_web::http::{Method, StatusCode};
use actix_web::web::{self, Data};
use actix_web::{HttpRequest, HttpResponse};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::card::{card, earlier_card};
use super::earlier;
use super::error::{Error, Wants};
use super::halting;
use super::handlers::{EXTENSIONS, Reply, activated, is_current, perform, shown, unserved, version};
use super::placing::counted;
use super::projection::Active;
use super::push;
use super::reading::{self, Operation};
use super::streaming::Frame;
use super::wire::Item;
use crate::edge::admission::Work;
use crate::edge::body::Json;
use crate::edge::problem::{Failure, Surface, TurnedAway};
use crate::edge::route::{Routes, post};
use crate::edge::shared::Shared;
use crate::protocols::jsonrpc::{self, Call};

/// How long a client may keep the card, in seconds.
const CARD_SECONDS: &str = "public, max-age=300";

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.open(Surface::Ours, "/.well-known/agent-card.json", [(Method::GET, web::to(public_card))]);
    // Some clients end the base of an address with a slash. A redirect would lose them: many clients follow none for a POST, or leave out the
    // key where they do.
    for path in ["/a2a", "/a2a/"] {
        routes.keyed(Surface::Protocol(refused), path, [post(Work::Answer, call)]);
    }
}

/// A call that is refused before it is read.
fn refused(failure: Failure) -> actix_web::Error {
    let response = in_form(&Value::Null, &Error::from(failure, Wants::Other));
    InternalError::from_response("refused", response).into()
}

/// An error as a response. Clients read the code, so HTTP says 200 where the call itself was understood.
fn in_form(id: &Value, error: &Error) -> HttpResponse {
    let body = jsonrpc::error(id, error.code, error.message(), &error.details());
    let mut response = HttpResponse::build(StatusCode::from_u16(error.rpc_http).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR));
    head(&mut response, error.rpc_http, error);
    let mut response = response.json(body);
    if error.turns_away() {
        response.extensions_mut().insert(TurnedAway);
    }
    response
}

/// The headers of an error.
pub(super) fn head(response: &mut actix_web::HttpResponseBuilder, status: u16, error: &Error) {
    if let Some(seconds) = error.retry_after {
        response.insert_header((RETRY_AFTER, seconds));
    }
    if status == 401 {
        response.insert_header((WWW_AUTHENTICATE, HeaderValue::from_static("Bearer, ApiKey")));
    }
}

/// Shows the card, without a key.
async fn public_card(request: HttpRequest, shared: Data<Shared>) -> HttpResponse {
    let shown = shown(&request);
    let body = card(&shared.doors, shown.active).to_string();
    let digest: [u8; 8] = Sha256::digest(&body)[..8].try_into().unwrap_or_default();
    let etag = format!("\"{:016x}\"", u64::from_be_bytes(digest));
    let known = request.headers().get(IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let is_known = known.is_some_and(|known| known.split(',').any(|known| known.trim().trim_start_matches("W/") == etag));
    let mut response = if is_known { HttpResponse::NotModified() } else { HttpResponse::Ok() };
    response.insert_header((CACHE_CONTROL, CARD_SECONDS)).insert_header((ETAG, etag));
    let changed = shared.doors.opened_at.format("%a, %d %b %Y %H:%M:%S GMT").to_string();
    response.insert_header((LAST_MODIFIED, changed)).content_type("application/json");
    // The card says more to a client that knows the extension for pauses.
    response.insert_header((VARY, EXTENSIONS));
    let mut response = if is_known { response.finish() } else { response.body(body) };
    activated(shown, &mut response);
    response
}

/// The versions that JSON-RPC has here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialect {
    Current,
    Earlier,
}

impl Dialect {
    /// The version that a request names. The specification takes a request that names none for one of 0.3.
    fn of(named: &str) -> Result<Self, Error> {
        match named {
            "" | "0.3" | "0.3.0" => Ok(Self::Earlier),
            named if is_current(named) => Ok(Self::Current),
            named => Err(unserved(named)),
        }
    }

    /// The method of 1.0 that a method is, and its parameters.
    fn translated(self, method: &str, params: Value) -> Result<(&str, Value), Error> {
        match self {
            Self::Current => Ok((method, params)),
            Self::Earlier => match earlier::method(method) {
                Some(method) => Ok((method, earlier::params(params))),
                None => {
                    Err(Error::no_method("A2A 0.3 has no such method; a call of 1.0 names its version in the header A2A-Version"))
                }
            },
        }
    }

    fn result(self, result: Value) -> Value {
        match self {
            Self::Current => result,
            Self::Earlier => earlier::result(result),
        }
    }
}

/// A call of JSON-RPC.
async fn call(request: HttpRequest, shared: Data<Shared>) -> HttpResponse {
    // A body that is no call answers nothing, so it counts against the limit of its key.
    let unread = |id: &Value, error: Error| {
        let error = counted(&request, &shared).map_or_else(|failure| Error::from(failure, Wants::Other), |()| error);
        in_form(id, &error)
    };
    let body = match Json::present(&request) {
        Ok(Json(body)) => body,
        Err(failure) => return unread(&Value::Null, Error::from(failure, Wants::Other)),
    };
    let Call { id, method, params } = match jsonrpc::call(body) {
        Ok(call) => call,
        Err(no_call) => return unread(&no_call.id, Error::no_call(&no_call)),
    };
    let (dialect, operation) = match read(&request, &shared, &method, params) {
        Ok(read) => read,
        Err(error) => return unread(&id, error),
    };
    answered(request, shared, &id, (dialect, operation)).await.unwrap_or_else(|error| in_form(&id, &error))
}

/// The version and the operation of a call.
fn read(request: &HttpRequest, shared: &Shared, method: &str, params: Value) -> Result<(Dialect, Operation), Error> {
    let dialect = Dialect::of(&version(request)?)?;
    let (method, params) = dialect.translated(method, params)?;
    let is_earlier = dialect == Dialect::Earlier;
    let mut operation = match push::read(method, &params, is_earlier, shared.doors.push.is_some()) {
        Some(call) => Operation::Push(Box::new(call?)),
        None => operation(method, params, shown(request).active)?,
    };
    if let Operation::Send { sent, .. } = &mut operation
        && let Some(push) = &mut sent.push
        && is_earlier
    {
        push.set_earlier();
    }
    Ok((dialect, operation))
}

async fn answered(
    request: HttpRequest,
    shared: Data<Shared>,
    id: &Value,
    (dialect, operation): (Dialect, Operation),
) -> Result<HttpResponse, Error> {
    let frame: Frame = {
        let id = id.clone();
        Box::new(move |item: &Item| jsonrpc::result(&id, &dialect.result(json!(item))))
    };
    let is_earlier_card = matches!(operation, Operation::Card) && dialect == Dialect::Earlier;
    let earlier_card = is_earlier_card.then(|| earlier_card(&shared.doors, shown(&request).active));
    let result = match perform(&request, shared, operation, frame).await? {
        Reply::Stream(mut response) => {
            activated(shown(&request), &mut response);
            return Ok(response);
        }
        Reply::Task(result) | Reply::Sent(result) => dialect.result(result),
        Reply::Whole(result) => earlier_card.unwrap_or(result),
    };
    let mut response = HttpResponse::Ok().json(jsonrpc::result(id, &result));
    activated(shown(&request), &mut response);
    Ok(response)
}

/// The operation that a method of 1.0 is, or a method of an extension that the client has activated.
fn operation(method: &str, params: Value, active: Active) -> Result<Operation, Error> {
    if let Some((words, read)) = halting::method(method) {
        return halting::served(active).and_then(|()| read(words, params)).map(Operation::Halt);
    }
    match method {
        "SendMessage" => reading::send(params, false),
        "SendStreamingMessage" => reading::send(params, true),
        "GetTask" => reading::get(params),
        "ListTasks" => reading::list(params),
        "CancelTask" => reading::cancel(params),
        "SubscribeToTask" => reading::subscribe(params),
        "GetExtendedAgentCard" => Ok(Operation::Card),
        _ => Err(Error::no_method("A2A 1.0 has no such method, or this server does not serve it")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_without_a_version_is_one_of_the_version_before() {
        assert_eq!(Dialect::of(""), Ok(Dialect::Earlier));
        assert_eq!(Dialect::of("0.3"), Ok(Dialect::Earlier));
        assert_eq!(Dialect::of("1.0.4"), Ok(Dialect::Current));
        for unknown in ["1.1", "2.0", "0.2", "latest"] {
            assert_eq!(Dialect::of(unknown).unwrap_err().code, -32009, "{unknown}");
        }
    }

    #[test]
    fn a_method_of_one_version_is_none_of_the_other() {
        assert!(Dialect::Earlier.translated("tasks/get", json!({})).is_ok());
        assert_eq!(Dialect::Earlier.translated("GetTask", json!({})).unwrap_err().code, -32601);
        let none = Active::default();
        assert_eq!(operation("tasks/get", json!({}), none).unwrap_err().code, -32601);
        for unknown in ["getTask", "", "pauseTask"] {
            assert_eq!(operation(unknown, json!({}), none).unwrap_err().code, -32601, "{unknown}");
        }
        // The methods of an extension are there for those that have activated it.
        let active = Active { pause: true, ..none };
        for method in ["tasks/pause", "PauseTask", "tasks/resume", "ResumeTask", "AwaitTaskResumption", "tasks/await_resumption"]
        {
            assert_eq!(operation(method, json!({}), none).unwrap_err().code, -32601, "{method}");
            assert_eq!(operation(method, json!({}), active).unwrap_err().code, -32602, "{method}");
        }
    }
}
