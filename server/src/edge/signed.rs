//! Messages that prove their sender by a signature in place of a key (Standard Webhooks).
//!
//! Guarantee: only a sender of the configuration file gets through, with a message that it signed within the last minutes, and no message
//! counts twice. Mechanism: the signature covers the id, the time and the body; the id is written down before the work begins, and kept for a day,
//! far longer than a message is accepted. A refusal tells nothing of what was wrong.

use actix_web::web::{Data, Payload};
use actix_web::{HttpMessage, HttpRequest};
use channels::SignedMessage;
use domain::people::principal::Principal;
use sha2::{Digest, Sha256};
use store::Idempotency;

use super::admission::Class;
use super::auth::unauthorized;
use super::body::{self, key_hash};
use super::problem::Failure;
use super::shared::Shared;

/// The scope of the ids of signed messages.
const SCOPE: &str = "signed message";

/// A message whose sender is known.
pub(crate) struct Signed {
    /// The sender.
    pub(crate) sender: Principal,
    /// The message as one that counts once.
    pub(crate) once: Idempotency,
    /// Its `webhook-id`.
    pub(crate) id: String,
}

/// Reads a message, finds its sender, takes a place for the work on it, and leaves the body and the place with the request.
///
/// # Errors
///
/// 401 for every message that no sender has signed, and the refusals of a body and of an overloaded server.
pub(crate) async fn verified(request: &HttpRequest, payload: Payload, shared: &Data<Shared>) -> Result<Signed, Failure> {
    let too_many = |seconds| Failure::too_many("this address has presented too many invalid keys", seconds);
    let refuse = || match shared.rates.bad_key(request.peer_addr().map(|from| from.ip())) {
        Ok(()) => unauthorized(),
        Err(seconds) => too_many(seconds),
    };
    if shared.doors.senders.is_empty() {
        return Err(refuse());
    }
    let body = body::read(&shared.signed_bodies, request, payload).await?;
    let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
    let (Some(id), Some(timestamp), Some(signatures)) =
        (header("webhook-id"), header("webhook-timestamp"), header("webhook-signature"))
    else {
        return Err(refuse());
    };
    let (message, now) = (SignedMessage { id, timestamp, signatures, body: &body.bytes }, shared.clock.now());
    let sender = shared.doors.senders.iter().find(|sender| sender.has_signed(message, now)).ok_or_else(refuse)?;
    let principal = Principal::sender(sender.name());
    let body_hash = Sha256::digest(&body.bytes).into();
    let once = Idempotency { key_hash: key_hash(&principal, SCOPE, id), body_hash };
    let signed = Signed { sender: principal, once, id: id.to_owned() };
    let place = shared.admission.enter(Class::Write).await?;
    request.extensions_mut().insert(body);
    request.extensions_mut().insert(place);
    Ok(signed)
}
