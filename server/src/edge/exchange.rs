//! Lets connections be closed that would stay open for no good reason: for a head that does not end, or a body that is not read.
//!
//! For the heads, this module tells the connection when a request begins and ends, and [`super::connection`] sets the deadlines.
//!
//! For the bodies, it holds a chunked body until the response has been sent: actix then closes the connection, as it does for a
//! body whose length was declared. If the body were dropped earlier, actix would read and discard the rest for as long as the
//! sender likes.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use actix_web::HttpMessage;
use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::http::header::TRANSFER_ENCODING;
use actix_web::middleware::Next;
use actix_web::web::Bytes;
use futures_util::StreamExt;
use futures_util::stream::poll_fn;

use super::connection::Exchange;
use super::relay::relayed;

/// Tells the connection that a request is under way, and holds a chunked body until the response has been sent.
pub(crate) async fn exchange(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let _under_way = request.conn_data::<Exchange>().map(Exchange::begin);
    if !request.headers().contains_key(TRANSFER_ENCODING) {
        return Ok(relayed(next.call(request)).await?.map_into_boxed_body());
    }
    let held = Rc::new(RefCell::new(request.take_payload()));
    let read = held.clone();
    request.set_payload(Payload::Stream { payload: Box::pin(poll_fn(move |cx| read.borrow_mut().poll_next_unpin(cx))) });
    let response = relayed(next.call(request)).await?;
    Ok(response.map_body(|_, body| BoxBody::new(Holding { body: body.boxed(), _held: held })))
}

/// The body of a response, with the unread rest of the request's body.
struct Holding {
    body: BoxBody,
    _held: Rc<RefCell<Payload>>,
}

impl MessageBody for Holding {
    type Error = Box<dyn std::error::Error>;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Pin::new(&mut self.body).poll_next(cx)
    }
}
