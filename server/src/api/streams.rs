//! Streams of events for the OpenIntent client (server-sent events).
//!
//! Guarantee: a client that comes back with the id of its last event misses no later event, whichever server wrote it. Mechanism:
//! the stream reads the log from that event on, when a commit wakes it ([`crate::worker::streams`]) and at least once a minute.
//! Failure: a stream that has to end breaks its connection. After a clean end the client would ask again at once; after a broken
//! connection it pauses first.

use std::io;
use std::time::Duration;

use actix_web::http::header::{CACHE_CONTROL, HeaderName};
use actix_web::web::{Bytes, Data};
use actix_web::{HttpMessage, HttpRequest, HttpResponse};
use domain::asking::accepting::agent_in_path;
use domain::problem::Rejection;
use domain::wire::Signal;
use futures_util::stream::unfold;
use serde_json::{Value, json};
use store::{StoreError, StreamCursor, StreamOf, Streamed};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::edge::admission::{Class, Place, Work};
use crate::edge::auth::Caller;
use crate::edge::connection::{Exchange, UnderWay};
use crate::edge::held::HELD_FOR;
use crate::edge::problem::{Detail, Failure};
use crate::edge::route::{Routes, get, intent_id, portfolio_id};
use crate::edge::shared::Shared;
use crate::edge::streams::{StreamPlace, StreamReader};

/// How often a stream says that it lives.
const ALIVE_EVERY: Duration = Duration::from_secs(15);
/// How often a stream looks at the log even if no commit wakes it.
const LOOK_EVERY: Duration = Duration::from_mins(1);
/// How soon a stream looks at the log again if the server was too busy, or its database was unavailable.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// The shortest time between two looks at the log, so that a busy intent does not make its streams read all the time.
const LOOK_PAUSE: Duration = Duration::from_millis(50);

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.stream("/intents/{intent_id}/subscribe", get(Work::Read, subscribe_to_intent));
    routes.stream("/subscribe/intents/{intent_id}", get(Work::Read, follow_log));
    routes.stream("/agents/{agent_id}/subscribe", get(Work::Read, subscribe_to_agent));
    routes.stream("/portfolios/{portfolio_id}/subscribe", get(Work::Read, subscribe_to_portfolio));
}

/// Streams the events of an intent, from now on or from the event named in `Last-Event-ID`.
///
/// The stream carries the names for which the OpenIntent client has handlers: `AGENT_ASSIGNED`, `STATE_CHANGED`, `LEASE_RELEASED`,
/// `INTENT_COMPLETED`; and a `STATUS_CHANGED` without a status, which carries only the id of a place in the stream. A refusal is held
/// for five seconds. The stream ends by a connection that breaks.
#[utoipa::path(get, path = "/api/v1/intents/{intent_id}/subscribe", tag = "streams", params(("intent_id" = String, Path),
    ("Last-Event-ID" = Option<String>, Header)), responses((status = 200, content_type = "text/event-stream", body = String), (status = 403), (status = 404), (status = 422)))]
pub(super) async fn subscribe_to_intent(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let of = StreamOf::Intent(intent_id(&request)?);
    open(&request, shared, of).await
}

/// Streams the events of the intents that an agent created or to which it is assigned. Of the events about assignments it shows
/// only those of this agent. Only for keys that act for the agent.
#[utoipa::path(get, path = "/api/v1/agents/{agent_id}/subscribe", tag = "streams", params(("agent_id" = String, Path),
    ("Last-Event-ID" = Option<String>, Header)), responses((status = 200, content_type = "text/event-stream", body = String), (status = 404), (status = 422)))]
pub(super) async fn subscribe_to_agent(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let of = StreamOf::Agent(agent_in_path(request.match_info().get("agent_id").unwrap_or_default()));
    open(&request, shared, of).await
}

/// Streams the events of the intents that are in a portfolio, as far as the caller may read them.
#[utoipa::path(get, path = "/api/v1/portfolios/{portfolio_id}/subscribe", tag = "streams", params(("portfolio_id" = String, Path),
    ("Last-Event-ID" = Option<String>, Header)), responses((status = 200, content_type = "text/event-stream", body = String), (status = 403), (status = 404), (status = 422)))]
pub(super) async fn subscribe_to_portfolio(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let of = StreamOf::Portfolio(portfolio_id(&request)?);
    open(&request, shared, of).await
}

/// Streams all events of an intent, from now on or from behind the event named in `Last-Event-ID`.
///
/// Each event has the name of its type, and its data are the event as the log shows it. `place` carries only the id of a place in the
/// stream; `missed` says how many events were left out, for a reader that is more than 1,000 behind. A refusal is held for five seconds.
#[utoipa::path(get, path = "/api/v1/subscribe/intents/{intent_id}", tag = "streams", params(("intent_id" = String, Path),
    ("Last-Event-ID" = Option<String>, Header)), responses((status = 200, content_type = "text/event-stream", body = String), (status = 403), (status = 404), (status = 422)))]
pub(super) async fn follow_log(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let of = StreamOf::Log(intent_id(&request)?);
    open(&request, shared, of).await
}

/// The place in the stream behind which the client wants to go on reading; an empty header names none.
fn last_event_id(request: &HttpRequest) -> Result<Option<StreamCursor>, Rejection> {
    let Some(value) = request.headers().get("last-event-id").filter(|value| !value.is_empty()) else { return Ok(None) };
    let cursor = value.to_str().ok().and_then(|text| text.parse().ok());
    cursor.map(Some).ok_or_else(|| Rejection::invalid("Last-Event-ID", "format", "must be the id of an event of a stream"))
}

async fn open(request: &HttpRequest, shared: Data<Shared>, of: StreamOf) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(request)?;
    // The stream is registered for wakes before it first reads the log, so an event between the two is not lost.
    let wakes = shared.store.hub().follow(of.followed());
    let after = last_event_id(request);
    let is_new = matches!(after, Ok(None));
    let first = shared.store.stream(caller.principal.clone(), of.clone(), after).await?;
    let place = shared.streams.enter(caller.principal.key_id().map_or(StreamReader::Local, StreamReader::Key))?;
    // Only so many requests may be worked on at a time. A stream mostly sleeps, so it gives its place among them back.
    drop(request.extensions_mut().remove::<Place>());
    let mut reader = Reader {
        shared,
        caller,
        of,
        wakes,
        exchange: request.conn_data::<Exchange>().cloned(),
        under_way: None,
        ready: format!("retry: {}\n\n", HELD_FOR.as_millis()),
        cursor: first.cursor,
        told: (!is_new).then_some(first.cursor),
        alive_at: Instant::now() + ALIVE_EVERY,
        look_at: Instant::now() + LOOK_EVERY,
        rested_at: Instant::now(),
        _place: place,
    };
    reader.take(first);
    if reader.told.is_none() {
        reader.tell_position();
    }
    let body = unfold(Some(reader), async |reader| {
        let mut reader = reader?;
        match reader.next().await {
            Ok(bytes) => Some((Ok(bytes), Some(reader))),
            Err(ended) => Some((Err(ended), None)),
        }
    });
    let mut response = HttpResponse::Ok();
    response.content_type("text/event-stream").insert_header((CACHE_CONTROL, "no-store"));
    // Without this nginx keeps events back until it has a buffer full of them.
    Ok(response.insert_header((HeaderName::from_static("x-accel-buffering"), "no")).streaming(body))
}

/// An open stream. It holds at most the events of one read of the log, because it reads on only when actix asks for the next
/// part. While the client takes nothing, actix does not ask, and after a time the connection is closed
/// ([`crate::edge::connection`]).
struct Reader {
    shared: Data<Shared>,
    caller: Caller,
    of: StreamOf,
    wakes: watch::Receiver<()>,
    exchange: Option<Exchange>,
    under_way: Option<UnderWay>,
    /// The text to send next.
    ready: String,
    /// The place in the log at which the next read begins.
    cursor: StreamCursor,
    /// The last place that was sent to the client.
    told: Option<StreamCursor>,
    alive_at: Instant,
    look_at: Instant,
    /// When a new event is announced, the log is not read before this time: [`LOOK_PAUSE`] after the last read.
    rested_at: Instant,
    _place: StreamPlace,
}

impl Reader {
    /// The next part of the stream; an error ends it.
    async fn next(&mut self) -> io::Result<Bytes> {
        // The connection takes the request for ended once the head of the response is sent, and closes when it is idle for too
        // long. So the stream tells it that a request is under way.
        if let (None, Some(exchange)) = (&self.under_way, &self.exchange) {
            self.under_way = Some(exchange.begin());
        }
        while self.ready.is_empty() {
            self.wait().await?;
        }
        self.alive_at = Instant::now() + ALIVE_EVERY;
        Ok(Bytes::from(std::mem::take(&mut self.ready)))
    }

    /// Waits until it is time to read the log or to send a sign of life, and does so.
    async fn wait(&mut self) -> io::Result<()> {
        let (key, key_hash) = (self.caller.principal.key_id(), self.caller.key_hash);
        let authenticator = self.shared.authenticator.clone();
        tokio::select! {
            biased;
            () = self.shared.stopped() => return Err(ended("the server stops")),
            () = authenticator.until_revoked(key_hash, key) => return Err(ended("the key was revoked")),
            () = sleep_until(self.alive_at) => {
                self.say_alive();
                return Ok(());
            }
            () = sleep_until(self.look_at) => {}
            woken = self.wakes.changed() => {
                if woken.is_err() {
                    return Err(ended("the store was closed"));
                }
                sleep_until(self.rested_at).await;
            }
        }
        self.wakes.mark_unchanged();
        self.look().await?;
        self.rested_at = Instant::now() + LOOK_PAUSE;
        Ok(())
    }

    /// Looks at the log, with the rights that the key has now. If the server is too busy or its database is unavailable, the next
    /// look finds the events.
    async fn look(&mut self) -> io::Result<()> {
        self.look_at = Instant::now() + LOOK_AGAIN;
        let Ok(_place) = self.shared.admission.enter_again(Class::Read).await else { return Ok(()) };
        match self.caller.again(&self.shared).await {
            Ok(caller) => self.caller = caller,
            Err(Failure { entry, .. }) if entry.status == 401 => return Err(ended("the key is not valid any more")),
            Err(_) => return Ok(()),
        }
        let (principal, of) = (self.caller.principal.clone(), self.of.clone());
        match self.shared.store.stream(principal, of, Ok(Some(self.cursor))).await {
            Ok(streamed) => self.take(streamed),
            Err(StoreError::Rejected(_)) => return Err(ended("the key may not read this any more")),
            Err(error) => tracing::debug!(error = %error, "a stream could not look at the log"),
        }
        Ok(())
    }

    fn take(&mut self, streamed: Streamed) {
        let Streamed { events, missed, cursor, more } = streamed;
        if let Some((at, missed)) = missed {
            self.tell(at, "missed", &json!({ "missed": missed }));
        }
        self.cursor = cursor;
        for (at, event) in events {
            if let StreamOf::Log(_) = self.of {
                self.tell(at, &event.event_type, &json!(event));
            } else if let Some(Signal { name, data }) = Signal::of(event, self.of.agent()) {
                self.tell(at, name, &Value::from(data));
            }
        }
        self.look_at = if more { Instant::now() } else { Instant::now() + LOOK_EVERY };
    }

    fn tell(&mut self, at: StreamCursor, name: &str, data: &Value) {
        // JSON holds no line break, so each event is one line of data, and a type holds no control character.
        let block = format!("id: {at}\nevent: {name}\ndata: {data}\n\n");
        self.ready.push_str(&block);
        self.told = Some(at);
    }

    fn tell_position(&mut self) {
        if let StreamOf::Log(_) = self.of {
            return self.tell(self.cursor, "place", &json!({}));
        }
        let Signal { name, data } = Signal::of_position();
        self.tell(self.cursor, name, &Value::from(data));
    }

    /// Sends a comment, to show that the stream lives. If the stream has passed events that are not for this client, it sends its
    /// place instead, so that it need not pass these events again when the client comes back.
    fn say_alive(&mut self) {
        let passed = self.shared.store.hub().passed_by(&self.of.followed(), self.cursor);
        self.cursor = passed.unwrap_or(self.cursor);
        if self.told == Some(self.cursor) {
            self.ready.push_str(": alive\n\n");
        } else {
            self.tell_position();
        }
    }
}

/// The error that ends a stream: it breaks the connection, so that the client does not see a clean end.
fn ended(why: &'static str) -> io::Error {
    tracing::debug!(why, "a stream ends");
    io::Error::new(io::ErrorKind::ConnectionReset, why)
}
