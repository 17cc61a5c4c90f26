//! Calls that wait: a message to an agent at work is answered when its task needs something or has ended, or after a while.
//!
//! Guarantee: a call that waits misses no change, and holds no place among the requests that are worked on. Mechanism: it is woken by the
//! commits about its intent, and reads the task again with the rights that its key has by then. Failure: a server that stops answers with
//! the task as it is.

use std::time::Duration;

use actix_web::{HttpMessage, HttpRequest};
use store::Matter;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::projection::state;
use super::wire::State;
use crate::edge::admission::{Class, Place};
use crate::edge::auth::Caller;
use crate::edge::problem::Failure;
use crate::edge::shared::Shared;

/// How long a call waits for an agent at work. Many clients and proxies give up after a minute.
const HELD_FOR: Duration = Duration::from_secs(50);

/// Waits until the work of a task needs something or has ended; returns the task as it is then, with so many messages.
pub(super) async fn held(
    request: &HttpRequest,
    shared: &Shared,
    caller: &Caller,
    mut wakes: watch::Receiver<()>,
    (mut matter, messages): (Matter, usize),
) -> Result<Matter, Failure> {
    let principal = &caller.principal;
    // The message is sent by now, so a key that waits for too much already gets the task at once, and no refusal.
    let Ok(_waiting) = shared.waiters.enter(principal.key_id()) else { return Ok(matter) };
    let until = Instant::now() + HELD_FOR;
    let mut place = request.extensions_mut().remove::<Place>();
    let class = place.as_ref().map_or(Class::Read, Place::class);
    let mut waits = true;
    while waits && works(&matter) {
        drop(place.take());
        waits = tokio::select! {
            woken = timeout_at(until, wakes.changed()) => matches!(woken, Ok(Ok(()))),
            () = shared.authenticator.until_revoked(caller.key_hash, principal.key_id()) => true,
            () = shared.stopped() => false,
        };
        place = Some(shared.admission.enter_again(class).await?);
        let again = caller.again(shared).await?;
        let heard = matter.heard;
        matter = shared.store.matter(again.principal, matter.intent_id, Ok(messages)).await?;
        matter.heard = heard;
    }
    if let Some(place) = place {
        request.extensions_mut().insert(place);
    }
    Ok(matter)
}

/// Whether the agent goes on by itself.
fn works(matter: &Matter) -> bool {
    state(matter) == State::Working && matter.stop.is_none()
}
