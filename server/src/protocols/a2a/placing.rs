//! The places of calls among those of other requests, and what they count against.
//!
//! A call over JSON-RPC arrives as if it gave an answer, because all methods have one path, and so does every message over HTTP+JSON. Answers
//! have places of their own and count against no limit, so each other call moves to the place that the same work has in the API.

use actix_web::{HttpMessage, HttpRequest};

use super::reading::{Content, Operation};
use crate::edge::admission::{Class, Place, Work};
use crate::edge::auth::Caller;
use crate::edge::problem::Failure;
use crate::edge::shared::Shared;

/// The work of a call. A message to a task is an answer until the store has found that it is none.
pub(super) fn work(operation: &Operation) -> Work {
    match operation {
        Operation::Send { sent, .. } => match &sent.content {
            Content::Asks(_) => Work::Write,
            Content::Answers(..) => Work::Answer,
        },
        Operation::Cancel { .. } | Operation::Halt(_) => Work::Write,
        Operation::Get { .. } => Work::Look,
        Operation::List(..) => Work::List,
        Operation::Push(call) if call.writes() => Work::Write,
        Operation::Push(_) | Operation::Subscribe { .. } | Operation::Card => Work::Read,
    }
}

/// Gives a call the place of its work, if it has another one.
///
/// # Errors
///
/// The key has made all the requests it may, or no such place came free. Nothing was done.
pub(super) async fn placed(request: &HttpRequest, shared: &Shared, work: Work) -> Result<(), Failure> {
    let class = work.class(Caller::of(request)?.principal.role);
    if class_of(request) == Some(class) {
        return Ok(());
    }
    counted(request, shared)?;
    // The place is given back first, so that no request holds two.
    drop(request.extensions_mut().remove::<Place>());
    let place = shared.admission.enter(class).await?;
    request.extensions_mut().insert(place);
    Ok(())
}

/// Counts a call that is no answer against the limit of its key, if it arrived as an answer: only then it was not counted on arrival.
///
/// # Errors
///
/// The key has made all the requests it may.
pub(super) fn counted(request: &HttpRequest, shared: &Shared) -> Result<(), Failure> {
    let principal = Caller::of(request)?.principal;
    let Some(key) = principal.key_id().filter(|_| is_as_answer(request)) else { return Ok(()) };
    let too_many = |seconds| Failure::too_many("this key has made all the requests it may in a minute", seconds);
    shared.rates.request(key).map_err(too_many)
}

/// Whether a call has a place among the answers.
pub(super) fn is_as_answer(request: &HttpRequest) -> bool {
    class_of(request) == Some(Class::Respond)
}

fn class_of(request: &HttpRequest) -> Option<Class> {
    request.extensions().get::<Place>().map(Place::class)
}
