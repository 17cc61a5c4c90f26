//! Refusals that are held back, for clients that would otherwise ask again at once.
//!
//! The OpenIntent client asks for a refused stream again at once and without end, whatever the refusal says. One agent sent up
//! to fifty requests a second, and ignored `Retry-After`. Only a connection that breaks makes the client pause, for five seconds.
//!
//! Guarantee: a connection gets at most one refusal of a stream in [`HELD_FOR`], and at most
//! [`HELD_MAX`](super::shared::HELD_MAX) refusals are held at a time. Mechanism: the finished refusal waits, after its request
//! has given its place back. Failure: a refusal beyond `HELD_MAX` is not sent, and its connection is dropped, which makes the
//! client pause.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use actix_web::HttpMessage;
use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::middleware::Next;
use actix_web::web::{Bytes, Data};
use tokio::sync::Semaphore;
use tokio::time::sleep;

use super::admission::Place;
use super::shared::Shared;

/// How long a refusal is held.
pub(crate) const HELD_FOR: Duration = Duration::from_secs(5);

/// Holds back every response except a success. When the server stops, the connections of the held responses break, because the
/// OpenIntent client would ask again at once after a response.
pub(super) async fn hold(
    shared: Data<Shared>,
    request: ServiceRequest,
    next: Next<BoxBody>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let response = next.call(request).await?;
    if response.status().is_success() {
        return Ok(response);
    }
    drop(response.request().extensions_mut().remove::<Place>());
    let released = async {
        tokio::select! {
            () = sleep(HELD_FOR) => true,
            () = shared.stopped() => false,
        }
    };
    Ok(held(&shared.held, response, released).await)
}

/// Returns the refusal when `released` resolves to true. If it resolves to false, or there is no room to hold the refusal, the
/// connection breaks instead.
async fn held(
    room: &Semaphore,
    refusal: ServiceResponse<BoxBody>,
    released: impl Future<Output = bool>,
) -> ServiceResponse<BoxBody> {
    if let Ok(_permit) = room.try_acquire()
        && released.await
    {
        return refusal;
    }
    refusal.map_body(|_, _| BoxBody::new(Broken))
}

/// A body that fails before its first byte, so that the connection is dropped.
struct Broken;

impl MessageBody for Broken {
    type Error = std::io::Error;

    fn size(&self) -> BodySize {
        BodySize::Stream
    }

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Poll::Ready(Some(Err(std::io::ErrorKind::ConnectionReset.into())))
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use actix_web::HttpResponse;
    use actix_web::body::to_bytes;
    use actix_web::test::TestRequest;

    use super::*;

    /// A refusal is sent when its time is over. It breaks its connection instead if the server stops, or if as many refusals as
    /// allowed are held already. A refusal that ends makes room for another.
    #[actix_web::test]
    async fn a_refusal_without_room_breaks_its_connection_and_one_that_ends_gives_its_room_back() {
        let room = Semaphore::new(1);
        let refusal = || TestRequest::default().to_srv_response(HttpResponse::NotFound().body("no"));
        for _ in 0..2 {
            let whole = held(&room, refusal(), ready(true)).await;
            assert_eq!(to_bytes(whole.into_body()).await.unwrap(), "no");
            let stopped = held(&room, refusal(), ready(false)).await;
            assert!(to_bytes(stopped.into_body()).await.is_err());
        }
        let taken = room.try_acquire().unwrap();
        assert!(to_bytes(held(&room, refusal(), ready(true)).await.into_body()).await.is_err());
        drop(taken);
        assert!(to_bytes(held(&room, refusal(), ready(true)).await.into_body()).await.is_ok());
    }
}
