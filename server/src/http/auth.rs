//! Who calls: middleware, so that 401 comes before everything else a request could be refused for.
//!
//! An extractor would not do: handler arguments are polled at once, and the first error wins.

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::HeaderValue;
use actix_web::middleware::Next;
use actix_web::{HttpMessage, HttpRequest, web};
use domain::authority::{Action, Object, Principal, authorize};
use domain::problem::{Rejection, edge};

use super::Shared;
use super::problem::{Failure, Surface};
use crate::keys::{KEY_CHARS_MAX, hash};

/// The longest `X-Agent-ID`, in bytes; a longer one is ignored like any the key may not act for.
const AGENT_ID_MAX: usize = 200;

/// Who calls, and what to ask again when a long wait ends.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) principal: Principal,
    pub(crate) key_hash: [u8; 32],
}

/// Lets a request through whose `X-API-Key` counts. A refusal is a response, not an error, so that the layers around add their headers.
pub(crate) async fn authenticate(
    shared: web::Data<Shared>,
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    match caller(&shared, &request).await {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            Ok(next.call(request).await?.map_into_boxed_body())
        }
        Err(failure) => {
            let refusal = Surface::of(request.path()).error(failure).error_response();
            Ok(request.into_response(refusal))
        }
    }
}

async fn caller(shared: &Shared, request: &ServiceRequest) -> Result<Caller, Failure> {
    let key = request.headers().get("x-api-key").and_then(|key: &HeaderValue| key.to_str().ok());
    with_key(shared, key).await
}

/// Who scrapes: a key as everywhere, or as the bearer token Prometheus can send.
pub(super) async fn scraper(shared: &Shared, request: &HttpRequest) -> Result<Caller, Failure> {
    let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
    let bearer = || header("authorization")?.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    with_key(shared, header("x-api-key").or_else(|| bearer().map(|(_, token)| token.trim()))).await
}

async fn with_key(shared: &Shared, key: Option<&str>) -> Result<Caller, Failure> {
    let key = key.filter(|key| !key.is_empty() && key.len() <= KEY_CHARS_MAX).ok_or_else(unauthorized)?;
    let key_hash = hash(key);
    let principal = shared.authenticator.principal(key_hash).await?.ok_or_else(unauthorized)?;
    Ok(Caller { principal, key_hash })
}

pub(crate) fn unauthorized() -> Failure {
    Failure::edge(edge::UNAUTHORIZED, "Invalid or missing API key")
}

impl Caller {
    /// The caller [`authenticate`] let through.
    pub(crate) fn of(request: &HttpRequest) -> Result<Self, Failure> {
        request.extensions().get::<Self>().cloned().ok_or_else(unauthorized)
    }

    /// The agent it acts as: `X-Agent-ID` if the key may act for it, else the key's own name.
    pub(crate) fn agent_id(&self, request: &HttpRequest) -> String {
        let claimed = request.headers().get("x-agent-id").and_then(|value| value.to_str().ok());
        claimed
            .filter(|agent_id| agent_id.len() <= AGENT_ID_MAX && self.principal.may_act_for(agent_id))
            .unwrap_or(&self.principal.name)
            .to_owned()
    }

    /// Whether the key still counts, asked again after a wait.
    pub(crate) async fn again(&self, shared: &Shared) -> Result<Self, Failure> {
        let principal = shared.authenticator.principal(self.key_hash).await?.ok_or_else(unauthorized)?;
        Ok(Self { principal, key_hash: self.key_hash })
    }

    /// Refuses who may not do this to the server as a whole.
    pub(crate) fn may(&self, action: Action) -> Result<(), Rejection> {
        authorize(&self.principal, action, Object::Server)
    }
}
