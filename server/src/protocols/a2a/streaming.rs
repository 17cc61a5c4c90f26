//! Streams of the changes of a task.
//!
//! Guarantee: all streams of a task carry the same changes in the same order, and the first item is the task. Mechanism: a stream reads the
//! log of the intent from its beginning on, when a commit wakes it, and tells each change of the status that the log records. Failure: a
//! stream that breaks is resumed by subscribing again, which begins with the task as it is by then.

use std::io;
use std::time::Duration;

use actix_web::http::header::{CACHE_CONTROL, HeaderName};
use actix_web::web::{Bytes, Data};
use actix_web::{HttpMessage, HttpRequest, HttpResponse};
use chrono::{DateTime, Utc};
use domain::intent::status::Status as IntentStatus;
use domain::intent::stop_event::StopEvent;
use domain::wire::EventView;
use futures_util::stream::unfold;
use serde_json::Value;
use store::{Matter, StoreError, StreamCursor, StreamOf, Streamed};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::pausing::{resumed_update, stop_update};
use super::projection::{Shown, artifact_update, state, state_of, status, status_update, task};
use super::stopped::Stopped;
use super::wire::{Item, State, Status, timestamp};
use crate::edge::admission::{Class, Place};
use crate::edge::auth::Caller;
use crate::edge::connection::{Exchange, UnderWay};
use crate::edge::problem::Failure;
use crate::edge::shared::Shared;
use crate::edge::streams::{StreamPlace, StreamReader};

/// How often a stream says that it lives.
const ALIVE_EVERY: Duration = Duration::from_secs(15);
/// How long a stream lasts.
const LASTS: Duration = Duration::from_hours(1);
/// How often a stream looks at the log even if no commit wakes it.
const LOOK_EVERY: Duration = Duration::from_mins(1);
/// How soon a stream looks at the log again if the server was too busy, or its database was unavailable.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How an item of a stream is written.
pub(super) type Frame = Box<dyn Fn(&Item) -> Value>;

/// A stream that is about to begin: it is woken from now on, and reads the log from `cursor` on.
pub(super) struct Following {
    wakes: watch::Receiver<()>,
    of: StreamOf,
    cursor: StreamCursor,
    place: StreamPlace,
}

/// Takes a place for a stream of the caller. A message that asks or answers is sent only with a place: otherwise its sender would be told of
/// a refusal although people are asked.
pub(super) fn place(shared: &Shared, caller: &Caller) -> Result<StreamPlace, Failure> {
    shared.streams.enter(caller.principal.key_id().map_or(StreamReader::Local, StreamReader::Follower))
}

/// Registers for the changes of a task, before the task is read: no change between the two is lost.
pub(super) async fn follow(shared: &Shared, caller: &Caller, of: StreamOf, place: StreamPlace) -> Result<Following, Failure> {
    let wakes = shared.store.hub().follow(of.followed());
    let Streamed { cursor, .. } = shared.store.stream(caller.principal.clone(), of.clone(), Ok(None)).await?;
    Ok(Following { wakes, of, cursor, place })
}

/// The stream of a task that begins with this matter.
pub(super) fn stream(
    request: &HttpRequest,
    shared: Data<Shared>,
    caller: Caller,
    following: Following,
    first: &Matter,
    (shown, frame): (Shown, Frame),
) -> HttpResponse {
    // Only so many requests may be worked on at a time. A stream mostly sleeps, so it gives its place among them back.
    drop(request.extensions_mut().remove::<Place>());
    let Following { wakes, of, cursor, place } = following;
    let now = Instant::now();
    let mut reader = Reader {
        shared,
        caller,
        of,
        wakes,
        cursor,
        shown,
        frame,
        exchange: request.conn_data::<Exchange>().cloned(),
        under_way: None,
        ready: String::new(),
        told: state(first),
        stopped: first.stop.as_ref().map(Stopped::of),
        has_ended: state(first).is_final(),
        alive_at: now + ALIVE_EVERY,
        look_at: now,
        ends_at: now + LASTS,
        _place: place,
    };
    reader.tell(&Item::Task(Box::new(task(first, shown))));
    let body = unfold(Some(reader), async |reader| {
        let mut reader = reader?;
        match reader.next().await {
            Ok(Some(bytes)) => Some((Ok::<_, io::Error>(bytes), Some(reader))),
            Ok(None) => None,
            Err(ended) => Some((Err(ended), None)),
        }
    });
    let mut response = HttpResponse::Ok();
    response.content_type("text/event-stream").insert_header((CACHE_CONTROL, "no-store"));
    // Without this nginx keeps events back until it has a buffer full of them.
    response.insert_header((HeaderName::from_static("x-accel-buffering"), "no")).streaming(body)
}

/// An open stream. It holds at most the items of one read of the log, because it reads on only when actix asks for the next part.
struct Reader {
    shared: Data<Shared>,
    caller: Caller,
    of: StreamOf,
    wakes: watch::Receiver<()>,
    /// The place in the log at which the next read begins.
    cursor: StreamCursor,
    shown: Shown,
    frame: Frame,
    exchange: Option<Exchange>,
    under_way: Option<UnderWay>,
    /// The text to send next.
    ready: String,
    /// The state that was told last.
    told: State,
    /// The stop that was told last, while it lasts.
    stopped: Option<Stopped>,
    has_ended: bool,
    alive_at: Instant,
    look_at: Instant,
    ends_at: Instant,
    _place: StreamPlace,
}

impl Reader {
    /// The next part of the stream; `None` at its end. An error breaks the connection.
    async fn next(&mut self) -> io::Result<Option<Bytes>> {
        // The connection takes the request for ended once the head of the response is sent. So the stream tells it that a request is
        // under way.
        if let (None, Some(exchange)) = (&self.under_way, &self.exchange) {
            self.under_way = Some(exchange.begin_stream());
        }
        while self.ready.is_empty() && !self.has_ended {
            self.wait().await?;
        }
        self.alive_at = Instant::now() + ALIVE_EVERY;
        Ok(Some(std::mem::take(&mut self.ready)).filter(|ready| !ready.is_empty()).map(Bytes::from))
    }

    /// Waits until it is time to read the log or to send a sign of life, and does so.
    async fn wait(&mut self) -> io::Result<()> {
        let (key, key_hash) = (self.caller.principal.key_id(), self.caller.key_hash);
        let authenticator = self.shared.authenticator.clone();
        tokio::select! {
            biased;
            () = self.shared.stopped() => return Err(broken("the server stops")),
            () = authenticator.until_revoked(key_hash, key) => return Err(broken("the key was revoked")),
            () = sleep_until(self.ends_at) => {
                self.has_ended = true;
                return Ok(());
            }
            () = sleep_until(self.alive_at) => {
                self.ready.push_str(": alive\n\n");
                return Ok(());
            }
            () = sleep_until(self.look_at) => {}
            woken = self.wakes.changed() => woken.map_err(|_| broken("the store was closed"))?,
        }
        self.wakes.mark_unchanged();
        self.look().await
    }

    /// Looks at the log, with the rights that the key has now. If the server is too busy or its database is unavailable, the next
    /// look finds the changes.
    async fn look(&mut self) -> io::Result<()> {
        self.look_at = Instant::now() + LOOK_AGAIN;
        let Ok(_place) = self.shared.admission.enter_again(Class::Read).await else { return Ok(()) };
        match self.caller.again(&self.shared).await {
            Ok(caller) => self.caller = caller,
            Err(Failure { entry, .. }) if entry.status == 401 => return Err(broken("the key is not valid any more")),
            Err(_) => return Ok(()),
        }
        let (principal, of) = (self.caller.principal.clone(), self.of.clone());
        match self.shared.store.stream(principal, of, Ok(Some(self.cursor))).await {
            Ok(Streamed { events, cursor, more, .. }) => {
                for (_, event) in &events {
                    if !self.take(event).await? {
                        // The next look reads the events from here on again.
                        return Ok(());
                    }
                }
                self.cursor = cursor;
                self.look_at = if more { Instant::now() } else { Instant::now() + LOOK_EVERY };
            }
            Err(StoreError::Rejected(_)) => return Err(broken("the key may not read this any more")),
            Err(error) => tracing::debug!(error = %error, "a stream could not look at the log"),
        }
        Ok(())
    }

    /// Tells what an event changes; returns false if the task could not be read.
    async fn take(&mut self, event: &EventView) -> io::Result<bool> {
        let stop = stop_event(event);
        if event.event_type != "status_changed" && stop.is_none() || self.has_ended {
            return Ok(true);
        }
        let StreamOf::Log(id) = self.of else { return Ok(true) };
        let matter = match self.shared.store.matter(self.caller.principal.clone(), id, Ok(0)).await {
            Ok(matter) => matter,
            Err(StoreError::Rejected(_)) => return Err(broken("the key may not read this any more")),
            Err(_) => return Ok(false),
        };
        let at = domain::base::time::parse(&event.created_at).unwrap_or(matter.changed_at);
        if let Some(stop) = stop {
            self.halt(&matter, &stop, at);
            return Ok(true);
        }
        let changed = event.payload.get("new_status").cloned().unwrap_or_default();
        let Ok(changed) = serde_json::from_value::<IntentStatus>(changed) else { return Ok(true) };
        let now = state(&matter);
        let new = state_of(changed, matter.fate.is_some()).unwrap_or(now);
        if new == self.told {
            return Ok(true);
        }
        // The words of a status are those of the task as it is now; a status that has passed has none.
        let message = status(&matter, self.shown).message.filter(|_| new == now && matter.stop.is_none());
        let status = Status { state: new, message, timestamp: timestamp(at), pause: None };
        if let Some(update) = artifact_update(&matter, self.shown.modes).filter(|_| new == State::Completed) {
            self.tell(&Item::ArtifactUpdate(Box::new(update)));
        }
        self.tell(&Item::StatusUpdate(Box::new(status_update(&matter, status))));
        (self.told, self.has_ended) = (new, new.is_final());
        Ok(true)
    }

    /// Tells that the work is stopped, or goes on.
    fn halt(&mut self, matter: &Matter, event: &StopEvent, at: DateTime<Utc>) {
        let told = self.stopped.take_if(|told| told.id == event.suspension_id());
        self.stopped = match (Stopped::begun(event, at), event) {
            // A stop that begins is told once: the task with which the stream began may have had it already.
            (Some(_), _) if told.is_some() => told,
            (Some(begun), _) => {
                self.tell(&Item::StatusUpdate(Box::new(stop_update(matter, &begun, self.shown))));
                Some(begun)
            }
            (None, StopEvent::Resumed(resumed)) => {
                if let Some(told) = told {
                    self.tell(&Item::StatusUpdate(Box::new(resumed_update(matter, &told, resumed, at))));
                }
                None
            }
            (None, StopEvent::Closed(_)) => None,
            (None, _) => told,
        };
        self.told = State::Working;
    }

    fn tell(&mut self, item: &Item) {
        // JSON holds no line break, so each item is one line of data.
        let block = format!("data: {}\n\n", (self.frame)(item));
        self.ready.push_str(&block);
    }
}

/// The event as one about a stop; `None` if it is about something else.
fn stop_event(event: &EventView) -> Option<StopEvent> {
    if !event.event_type.starts_with("lifecycle.") {
        return None;
    }
    StopEvent::read(&event.event_type, &Value::Object(event.payload.clone()))?.ok()
}

/// The error that breaks the connection, so that the client does not see a clean end.
fn broken(why: &'static str) -> io::Error {
    tracing::debug!(why, "a stream ends");
    io::Error::new(io::ErrorKind::ConnectionReset, why)
}
