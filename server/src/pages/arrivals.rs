//! Says to an open inbox that its list has changed (server-sent events).
//!
//! Guarantee: an open page hears of each change of its list within 15 seconds, and mostly within one. Mechanism: a commit on this server,
//! or an event that another server published, wakes the stream, which then reads the list and compares its mark; without a wake-up it
//! reads every 15 seconds. Failure: without the stream, the script asks for the list every 15 seconds.

use std::io;
use std::time::Duration;

use actix_web::http::header::{CACHE_CONTROL, HeaderName};
use actix_web::web::{Bytes, Data};
use actix_web::{HttpRequest, HttpResponse};
use domain::people::principal::Principal;
use futures_util::stream::unfold;
use store::inbox::InboxFilter;
use store::{OpenSession, SessionToken, StoreError};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::Pages;
use super::inbox::{found, looking, mark};
use super::view::TypedSearch;
use crate::edge::connection::{Exchange, UnderWay};
use crate::edge::shared::Shared;
use crate::edge::streams::{StreamPlace, StreamReader};

/// How often a stream looks at its list without being woken. It also says then that it lives.
const LOOK_EVERY: Duration = Duration::from_secs(15);
/// The shortest time between two looks: on a busy server, one look serves many changes.
const LOOK_PAUSE: Duration = Duration::from_millis(500);
/// After how many milliseconds a browser connects again.
const RETRY_MS: u32 = 5_000;

/// Streams one event for each change of the list.
pub(super) async fn stream(request: HttpRequest, shared: Data<Shared>, pages: Pages) -> HttpResponse {
    // The stream is registered for wakes before it first reads the list, so a change between the two is not lost.
    let wakes = shared.store.hub().lists();
    let Some(token) = pages.brought_session(&request) else { return pages.headers(HttpResponse::Unauthorized()).finish() };
    let principal = match looking(&request, &shared, &pages).await {
        Ok(Some(principal)) => principal,
        Ok(None) => return pages.headers(HttpResponse::Unauthorized()).finish(),
        Err(_) => return pages.cannot_read(),
    };
    let (filter, problems) = TypedSearch::read(request.query_string()).filter();
    if !problems.is_empty() {
        return pages.headers(HttpResponse::UnprocessableEntity()).finish();
    }
    // Without a bound of each person, one session could take the places of all others.
    let reader = StreamReader::Person(principal.subject.to_lowercase());
    let Ok(place) = shared.streams.enter(reader) else { return pages.cannot_read() };
    let Ok(first) = found(&principal, &filter, &shared).await else { return pages.cannot_read() };
    let mark = mark(&first);
    let watching = Watching {
        ready: format!("retry: {RETRY_MS}\nevent: list\ndata: {mark}\n\n"),
        token,
        filter,
        wakes,
        mark,
        exchange: request.conn_data::<Exchange>().cloned(),
        under_way: None,
        look_at: Instant::now() + LOOK_EVERY,
        rested_at: Instant::now(),
        shared,
        _place: place,
    };
    let body = unfold(Some(watching), async |watching| {
        let mut watching = watching?;
        match watching.next().await {
            Ok(bytes) => Some((Ok(bytes), Some(watching))),
            Err(ended) => Some((Err(ended), None)),
        }
    });
    let mut response = pages.headers(HttpResponse::Ok());
    response.content_type("text/event-stream").insert_header((CACHE_CONTROL, "no-store"));
    // Without this nginx keeps events back until it has a buffer full of them.
    response.insert_header((HeaderName::from_static("x-accel-buffering"), "no")).streaming(body)
}

/// An open stream.
struct Watching {
    shared: Data<Shared>,
    token: SessionToken,
    filter: InboxFilter,
    wakes: watch::Receiver<()>,
    /// The mark of the list that the browser was told of.
    mark: String,
    /// The text to send next.
    ready: String,
    exchange: Option<Exchange>,
    under_way: Option<UnderWay>,
    look_at: Instant,
    rested_at: Instant,
    _place: StreamPlace,
}

impl Watching {
    /// The next part of the stream; an error ends it.
    async fn next(&mut self) -> io::Result<Bytes> {
        // The connection takes the request for ended once the head of the response is sent, and closes when it is idle for too long.
        if let (None, Some(exchange)) = (&self.under_way, &self.exchange) {
            self.under_way = Some(exchange.begin());
        }
        while self.ready.is_empty() {
            self.wait().await?;
        }
        Ok(Bytes::from(std::mem::take(&mut self.ready)))
    }

    async fn wait(&mut self) -> io::Result<()> {
        let is_woken = tokio::select! {
            biased;
            () = self.shared.stopped() => return Err(ended("the server stops")),
            () = sleep_until(self.look_at) => false,
            woken = self.wakes.changed() => {
                if woken.is_err() {
                    return Err(ended("the store was closed"));
                }
                sleep_until(self.rested_at).await;
                true
            }
        };
        self.wakes.mark_unchanged();
        let (now, Some(principal)) = (Instant::now(), self.person().await?) else { return Ok(()) };
        (self.look_at, self.rested_at) = (now + LOOK_EVERY, now + LOOK_PAUSE);
        match found(&principal, &self.filter, &self.shared).await {
            Ok(list) if mark(&list) != self.mark => {
                self.mark = mark(&list);
                self.ready = format!("event: list\ndata: {}\n\n", self.mark);
            }
            Ok(_) if is_woken => {}
            Ok(_) => ": alive\n\n".clone_into(&mut self.ready),
            Err(StoreError::Rejected(_)) => return Err(ended("the person may not read this any more")),
            Err(error) => tracing::debug!(error = %error, "an inbox could not look at its list"),
        }
        Ok(())
    }

    /// The person, while the session is open. To look is no use of the session, so a session ends although its page is open.
    async fn person(&mut self) -> io::Result<Option<Principal>> {
        self.look_at = Instant::now() + LOOK_EVERY;
        match self.shared.store.session(self.token.clone()).await {
            Ok(Some(OpenSession { principal, .. })) => Ok(Some(principal)),
            Ok(None) => Err(ended("the session has ended")),
            Err(_) => Ok(None),
        }
    }
}

/// The error that ends a stream: it breaks the connection.
fn ended(why: &'static str) -> io::Error {
    tracing::debug!(why, "the stream of an inbox ends");
    io::Error::new(io::ErrorKind::ConnectionReset, why)
}
