//! Logs one line per request, with its id. The line shows the pattern of the route in place of the path, because paths hold
//! tokens and ids.

use std::time::Instant;

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::web;
use tracing::Instrument;

use super::problem::TurnedAway;
use super::shared::Shared;

/// The longest request id that is taken from a caller, in bytes.
const REQUEST_ID_MAX: usize = 64;

/// Gives a request its id, and logs its outcome.
pub(crate) async fn trace(
    shared: web::Data<Shared>,
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, actix_web::Error> {
    let request_id = brought(&request).unwrap_or_else(|| shared.entropy.uuid(shared.clock.now()).simple().to_string());
    let method = request.method().clone();
    let route = request.match_pattern().unwrap_or_else(|| "(no route)".to_owned());
    let span = tracing::info_span!("request", request.id = request_id, http.method = method.as_str(), http.route = route);
    let started = Instant::now();
    let mut result = next.call(request).instrument(span.clone()).await;
    let status = match &result {
        Ok(response) => response.status(),
        Err(error) => error.as_response_error().status_code(),
    };
    let refused = result.as_ref().is_ok_and(|response| response.response().extensions().contains::<TurnedAway>());
    let took = started.elapsed();
    shared.metrics.request(route, method.as_str(), status.as_u16(), took);
    let duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    span.in_scope(|| {
        if status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED && !refused {
            tracing::warn!(http.status = status.as_u16(), duration_ms, "request failed");
        } else {
            tracing::debug!(http.status = status.as_u16(), duration_ms, "request served");
        }
    });
    if let (Ok(response), Ok(value)) = (&mut result, HeaderValue::from_str(&request_id)) {
        response.headers_mut().insert(HeaderName::from_static("x-request-id"), value);
    }
    result
}

/// A request id from the caller, if it is harmless in a log.
fn brought(request: &ServiceRequest) -> Option<String> {
    let text = request.headers().get("x-request-id")?.to_str().ok()?;
    let harmless = !text.is_empty()
        && text.len() <= REQUEST_ID_MAX
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    harmless.then(|| text.to_owned())
}
