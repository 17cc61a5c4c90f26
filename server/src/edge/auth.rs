//! Authentication, rates and places, as middleware. So 401 comes before every other refusal of a request, then 429, then the
//! errors of its body, then 503 if there is no place.
//!
//! An extractor could not do this: actix polls handler arguments at the same time, and the first error wins.

use std::net::SocketAddr;

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::http::header::HeaderValue;
use actix_web::middleware::Next;
use actix_web::{HttpMessage, HttpRequest, web};
use domain::people::principal::Principal;
use domain::problem::edge;
use tracing::Instrument;

use super::admission::{Class, Work};
use super::body;
use super::keys::{KEY_CHARS_MAX, hash};
use super::problem::{Failure, Surface};
use super::relay::relayed;
use super::shared::Shared;

/// The longest `X-Agent-ID`, in bytes. A longer one is ignored, and so is the id of an agent for which the key may not act.
const AGENT_ID_MAX: usize = 200;

/// The caller of a request, and the means to check the key again when a long wait ends.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) principal: Principal,
    pub(crate) key_hash: [u8; 32],
}

/// Lets a request with a valid `X-API-Key` through when there is a place for it. `work` is the work that its route declares, and
/// `None` if no route fits. A refusal is returned as a response, not as an error, so that the outer middleware adds its headers.
pub(super) async fn authenticate(
    surface: Surface,
    work: Option<Work>,
    shared: web::Data<Shared>,
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    match admit(surface, &shared, work, &mut request).await {
        Ok(Class::Respond | Class::Write) => Ok(to_its_end(next.call(request)).await??.map_into_boxed_body()),
        Ok(Class::Inbox | Class::Read | Class::List) => Ok(next.call(request).await?.map_into_boxed_body()),
        Err(failure) => {
            let refusal = surface.error(failure).error_response();
            Ok(request.into_response(refusal))
        }
    }
}

/// Finds the caller of a request, reads its body if it has one, takes a place, and stores all three in the request's extensions.
async fn admit(
    surface: Surface,
    shared: &web::Data<Shared>,
    work: Option<Work>,
    request: &mut ServiceRequest,
) -> Result<Class, Failure> {
    let caller = match surface {
        Surface::Ours | Surface::OpenIntent => caller(shared, request).await?,
        // Clients of protocols know bearer tokens, and some know no other header.
        Surface::Protocol(_) => bearer(shared, request.request()).await?,
    };
    // A request for an unknown path or method should not take a place from other work, so it counts as a list, the class that
    // is refused first.
    let class = work.map_or(Class::List, |work| work.class(caller.principal.role));
    // Answers do not count against the key's limit: they have places of their own, and answers through links have a limit for
    // each link.
    if let (Some(key), true) = (caller.principal.key_id(), class != Class::Respond) {
        let too_many = |seconds| Failure::too_many("this key has made all the requests it may in a minute", seconds);
        shared.rates.request(key).map_err(too_many)?;
    }
    request.extensions_mut().insert(caller);
    if let Some(work) = work
        && matches!(*request.method(), Method::POST | Method::PUT | Method::PATCH)
    {
        // The body is read before the request takes a place: a slow sender must not hold one.
        let payload =
            request.extract::<web::Payload>().await.map_err(|_| Failure::edge(edge::MALFORMED, "the body broke off"))?;
        let body = body::read_up_to(body_bytes_max(work), &shared.bodies, request.request(), payload).await?;
        request.extensions_mut().insert(body);
    }
    let place = shared.admission.enter(class).await?;
    request.extensions_mut().insert(place);
    if request.query_string().contains("wait=") {
        // actix makes room for 16 headers in every request, which takes 6 KiB. A request that may wait long gets a map that is
        // only as large as its headers need, because many requests may wait at a time.
        let headers = request.headers_mut();
        *headers = std::mem::take(headers).into_iter().collect();
    }
    Ok(class)
}

/// The largest body of a request, in bytes.
fn body_bytes_max(work: Work) -> usize {
    match work {
        Work::WriteMany => body::MANY_BODY_BYTES_MAX,
        Work::Answer | Work::Look | Work::Inbox | Work::Write | Work::Read | Work::List => body::BODY_BYTES_MAX,
    }
}

/// Runs the work on a request to its end, even if the client hangs up: the write is queued already, and the place of the request
/// must not go to another one before the write is done.
pub(crate) async fn to_its_end<T: 'static>(work: impl Future<Output = T> + 'static) -> Result<T, actix_web::Error> {
    let done = actix_web::rt::spawn(relayed(work).in_current_span()).await;
    done.map_err(|error| {
        tracing::error!(error = %error, "a request panicked");
        actix_web::error::ErrorInternalServerError("the server failed; the failure was logged")
    })
}

async fn caller(shared: &Shared, request: &ServiceRequest) -> Result<Caller, Failure> {
    let key = request.headers().get("x-api-key").and_then(|key: &HeaderValue| key.to_str().ok());
    with_key(shared, key, request.peer_addr()).await
}

/// Authenticates by a key in `X-API-Key`, as everywhere, or by a key as a bearer token, which Prometheus and clients of protocols can send.
pub(crate) async fn bearer(shared: &Shared, request: &HttpRequest) -> Result<Caller, Failure> {
    let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
    let token = || header("authorization")?.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let key = header("x-api-key").or_else(|| token().map(|(_, token)| token.trim()));
    with_key(shared, key, request.peer_addr()).await
}

/// Looks a key up. A valid key is let through, however many invalid ones came from the same address, because all clients behind
/// a proxy share one address.
async fn with_key(shared: &Shared, key: Option<&str>, from: Option<SocketAddr>) -> Result<Caller, Failure> {
    let key = key.filter(|key| !key.is_empty()).ok_or_else(unauthorized)?;
    if key.len() <= KEY_CHARS_MAX {
        let key_hash = hash(key);
        if let Some(principal) = shared.authenticator.principal(key_hash).await? {
            return Ok(Caller { principal, key_hash });
        }
    }
    let too_many = |seconds| Failure::too_many("this address has presented too many invalid keys", seconds);
    shared.rates.bad_key(from.map(|from| from.ip())).map_err(too_many)?;
    Err(unauthorized())
}

pub(crate) fn unauthorized() -> Failure {
    Failure::edge(edge::UNAUTHORIZED, "Invalid or missing API key")
}

impl Caller {
    /// The caller that [`authenticate`] let through.
    pub(crate) fn of(request: &HttpRequest) -> Result<Self, Failure> {
        request.extensions().get::<Self>().cloned().ok_or_else(unauthorized)
    }

    /// The agent as which the caller acts: `X-Agent-ID` if the key may act for that agent, else the key's own name.
    pub(crate) fn agent_id(&self, request: &HttpRequest) -> String {
        let claimed = request.headers().get("x-agent-id").and_then(|value| value.to_str().ok());
        claimed
            .filter(|agent_id| agent_id.len() <= AGENT_ID_MAX && self.principal.may_act_for(agent_id))
            .unwrap_or(&self.principal.name)
            .to_owned()
    }

    /// Looks the caller up again after a wait; an error if the key is no longer valid.
    pub(crate) async fn again(&self, shared: &Shared) -> Result<Self, Failure> {
        let principal = shared.authenticator.principal(self.key_hash).await?.ok_or_else(unauthorized)?;
        Ok(Self { principal, key_hash: self.key_hash })
    }
}
