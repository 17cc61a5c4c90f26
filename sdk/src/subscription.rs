//! Events of intents as they happen, through outages.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use domain::base::ids::IntentId;
use reqwest::Response;
use reqwest::header::HeaderValue;
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep_until, timeout};

use crate::backoff::{Repeat, Verdict, jitter, judge_network, pause};
use crate::client::Client;
use crate::error::{CallError, TransportError};
use crate::intent::Intent;
use crate::problem::Problem;
use crate::sse::{Block, Parser, unreadable};
use crate::transport::{Call, Failure, Patience};

/// How long a stream may be silent: the server says every 15 seconds that it lives.
const SILENCE_MAX: Duration = Duration::from_secs(45);

/// Events of one intent or of one agent as they happen, from [`Intent::subscribe`] or [`Client::subscribe`].
///
/// When the connection breaks, [`next`](Subscription::next) connects again after a pause and goes on behind the last event, so
/// none is missed, whether the network or the server was away. The pauses are those of all calls: random below a bound that doubles
/// from 250 ms to 15 seconds. It tries for ever, or for the client's
/// [`outage_tolerance`](crate::ClientBuilder::outage_tolerance).
///
/// A program that starts again goes on where it was if it keeps [`place`](Subscription::place) after it has dealt with an event, and
/// gives it to `subscribe`. If it stopped before it could keep the place of an event, that event comes a second time.
///
/// One key may hold 1,000 streams. Dropping the subscription ends its connection.
pub struct Subscription {
    client: Client,
    path: &'static str,
    subject: String,
    response: Option<Response>,
    parser: Parser,
    /// The events that arrived and were not given out, oldest first.
    arrived: VecDeque<Block>,
    place: Option<String>,
    patience: Patience,
    tries: u32,
    failing_since: Option<Instant>,
    /// When the pause ends. It is kept here, so that dropping `next` does not shorten the pause.
    connect_at: Option<Instant>,
}

/// One item that a subscription gives out.
#[derive(Clone, Debug, PartialEq)]
pub enum Streamed {
    /// An event.
    Event(StreamEvent),
    /// Events may be missing before the next one: the server's database is older than the place of this subscription, because it
    /// was restored, or the program was too far behind. Read again everything that the program needs to know.
    Gap,
}

/// An event of an intent.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamEvent {
    /// `AGENT_ASSIGNED`, `STATE_CHANGED`, `INTENT_COMPLETED` or `LEASE_RELEASED`; a newer server may have more. With
    /// [`Intent::follow_log`] it is the type that the event has in the log.
    pub name: String,
    /// The intent.
    pub intent_id: IntentId,
    /// The name of the credential that acted.
    pub actor: String,
    /// All members, as docs/http.md lists them. A state may hold data that must not be logged.
    pub data: Map<String, Value>,
}

impl Intent {
    /// Follows the events of the intent from now on, or from behind `place`, which an earlier subscription gave out. When this
    /// returns, the stream has begun: no later event is missed.
    ///
    /// ```no_run
    /// # async fn example(intent: placet::Intent) -> Result<(), placet::CallError> {
    /// use placet::Streamed;
    ///
    /// let mut events = intent.subscribe(None).await?;
    /// loop {
    ///     match events.next().await? {
    ///         Streamed::Event(event) if event.name == "INTENT_COMPLETED" => break,
    ///         Streamed::Event(event) => println!("{}: {}", event.actor, event.name),
    ///         Streamed::Gap => println!("events may be missing; the intent is to be read anew"),
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `Refused` with `not_found` if this key may not read the intent, with `invalid` if `place` is not one of a stream, and with
    /// `rate_limited` if this key has 1,000 streams. The server delays a refusal by five seconds.
    pub async fn subscribe(&self, place: Option<&str>) -> Result<Subscription, CallError> {
        let path = "/api/v1/intents/{intent_id}/subscribe";
        Subscription::begin(&self.client, path, self.id().to_string(), place).await
    }

    /// Follows all events of the intent, under the types that its log has: `intent.suspended`, `delivery.sent`, `comment` and so on.
    /// `data` is the event as the log shows it. A reader that was away for more than 1,000 events gets [`Streamed::Gap`].
    ///
    /// # Errors
    ///
    /// The errors of [`subscribe`](Intent::subscribe).
    pub async fn follow_log(&self, place: Option<&str>) -> Result<Subscription, CallError> {
        let path = "/api/v1/subscribe/intents/{intent_id}";
        Subscription::begin(&self.client, path, self.id().to_string(), place).await
    }
}

impl Client {
    /// Follows the events of the intents that `agent` created or to which it is assigned, from now on, or from behind `place`.
    /// The key must have the role `agent`, and `agent` must be the key's name or subject, or a name below that name. Only this
    /// agent's own assignments are sent, so a worker learns of its work by `AGENT_ASSIGNED`. See [`Intent::subscribe`].
    pub async fn subscribe(&self, agent: &str, place: Option<&str>) -> Result<Subscription, CallError> {
        Subscription::begin(self, "/api/v1/agents/{agent_id}/subscribe", agent.to_owned(), place).await
    }
}

impl Subscription {
    async fn begin(client: &Client, path: &'static str, subject: String, place: Option<&str>) -> Result<Self, CallError> {
        let mut subscription = Self {
            client: client.clone(),
            path,
            subject,
            response: None,
            parser: Parser::default(),
            arrived: VecDeque::new(),
            place: place.map(str::to_owned),
            patience: client.patience(),
            tries: 0,
            failing_since: None,
            connect_at: None,
        };
        // This waits until the server has sent the first place. If the connection broke before that, the next one would begin at
        // a later moment, and the events in between would be missed.
        while subscription.response.is_none() || (subscription.place.is_none() && subscription.arrived.is_empty()) {
            subscription.advance().await?;
        }
        subscription.take_position()?;
        subscription.patience = client.outage_tolerance().map_or(Patience::Endless, Patience::For);
        Ok(subscription)
    }

    /// The next event. Dropping the future loses nothing, so it may stand in a `select!`.
    ///
    /// # Errors
    ///
    /// `Refused` if this key may not read the stream any more. `Transport` if the server was away for longer than the client's
    /// [`outage_tolerance`](crate::ClientBuilder::outage_tolerance), or if what it sends cannot be read. This can be called again.
    pub async fn next(&mut self) -> Result<Streamed, CallError> {
        loop {
            if let Some(streamed) = self.take()? {
                return Ok(streamed);
            }
            if self.arrived.is_empty() {
                self.advance().await?;
            }
        }
    }

    /// The place in the stream right after the event that [`next`](Subscription::next) returned last, for `subscribe`; at first
    /// the place at which the stream began.
    pub fn place(&self) -> Option<&str> {
        self.place.as_deref()
    }

    /// Gives out the oldest event that arrived; `None` if there is none, or if it carries only its place.
    fn take(&mut self) -> Result<Option<Streamed>, CallError> {
        let Some(block) = self.arrived.front() else { return Ok(None) };
        if let (Some(new), Some(old)) = (&block.id, &self.place)
            && is_behind(new, old)
        {
            // The event itself comes next.
            self.place.clone_from(&block.id);
            return Ok(Some(Streamed::Gap));
        }
        let Some(Block { id, name, data }) = self.arrived.pop_front() else { return Ok(None) };
        self.place = id.or(self.place.take());
        if name == "missed" {
            return Ok(Some(Streamed::Gap));
        }
        Ok(event(name, &data)?.map(Streamed::Event))
    }

    /// Takes the place at which the stream begins, if the oldest event that arrived carries nothing but that place.
    fn take_position(&mut self) -> Result<(), CallError> {
        if self.arrived.front().is_some_and(|block| event(block.name.clone(), &block.data).is_ok_and(|event| event.is_none())) {
            self.take()?;
        }
        Ok(())
    }

    /// Reads the next bytes of the stream, or connects if there is no connection.
    async fn advance(&mut self) -> Result<(), CallError> {
        let Some(response) = &mut self.response else { return self.connect().await };
        let (error, verdict) = match timeout(SILENCE_MAX, response.chunk()).await {
            Ok(Ok(Some(bytes))) => {
                (self.tries, self.failing_since) = (0, None);
                let arrived = self.parser.push(&bytes).inspect_err(|_| self.response = None)?;
                self.arrived.extend(arrived);
                return Ok(());
            }
            Ok(Err(error)) => {
                let verdict = judge_network(&error, Repeat::Safe);
                (TransportError::Network(error.without_url()), verdict)
            }
            Ok(Ok(None)) | Err(_) => (TransportError::Interrupted, Verdict::Retry { after: None }),
        };
        self.lost(error.into(), verdict)
    }

    async fn connect(&mut self) -> Result<(), CallError> {
        if let Some(at) = self.connect_at {
            sleep_until(at).await;
        }
        let mut call = Call::read(self.path, [self.subject.clone()]).streaming();
        if let Some(place) = &self.place {
            let place =
                HeaderValue::from_str(place).map_err(|_| CallError::Refused(Box::new(Problem::invalid(vec![unusable()]))))?;
            call = call.header("last-event-id", place);
        }
        match self.client.open(&call, self.tries.saturating_add(1)).await {
            Ok(response) => {
                (self.response, self.parser, self.connect_at) = (Some(response), Parser::default(), None);
                Ok(())
            }
            Err(Failure { error, verdict, .. }) => self.lost(error, verdict),
        }
    }

    /// Plans to connect again, unless another try cannot help or the outage has lasted too long.
    fn lost(&mut self, error: CallError, verdict: Verdict) -> Result<(), CallError> {
        self.response = None;
        let Verdict::Retry { after } = verdict else { return Err(error) };
        let (pause, now) = (pause(self.tries, after, jitter()), Instant::now());
        self.connect_at = Some(now + pause);
        if !self.patience.allows(pause, *self.failing_since.get_or_insert(now), now) {
            (self.tries, self.failing_since) = (0, None);
            return Err(error);
        }
        self.tries = self.tries.saturating_add(1);
        tracing::debug!(self.tries, pause_ms = pause.as_millis(), error = %error, "a stream broke; connecting again");
        Ok(())
    }
}

fn unusable() -> domain::base::field::FieldError {
    domain::base::field::FieldError::new("place", "format", "must be the place of a subscription")
}

/// Whether the place `new` is before the place `old`. This happens only if the server's database was restored. A place is two
/// numbers joined by a hyphen. The order of places in another form is unknown, so the result is false for them.
fn is_behind(new: &str, old: &str) -> bool {
    let numbers = |place: &str| {
        let (position, row) = place.split_once('-')?;
        Some((position.parse::<u64>().ok()?, row.parse::<u64>().ok()?))
    };
    matches!((numbers(new), numbers(old)), (Some(new), Some(old)) if new < old)
}

/// The event; `None` if it only carries its place.
fn event(name: String, data: &str) -> Result<Option<StreamEvent>, TransportError> {
    domain::base::json::unambiguous(data.as_bytes()).map_err(|_| unreadable("an event is not a JSON object".into()))?;
    let data: Map<String, Value> = serde_json::from_str(data).map_err(|_| unreadable("an event is not a JSON object".into()))?;
    if name == "place" || name == "STATUS_CHANGED" && data.get("new_status") == Some(&Value::Null) {
        return Ok(None);
    }
    let text = |member: &str| data.get(member).and_then(Value::as_str);
    let intent_id = text("intent_id").and_then(|id| id.parse().ok());
    let intent_id = intent_id.ok_or_else(|| unreadable("an event does not name its intent".into()))?;
    let actor = text("actor").unwrap_or_default().to_owned();
    Ok(Some(StreamEvent { name, intent_id, actor, data }))
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription")
            .field("path", &self.path)
            .field("place", &self.place)
            .field("connected", &self.response.is_some())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A subscription and the future of `next` are `Send`, because agents follow events in tasks that move between threads.
    #[expect(dead_code, reason = "compiling it is the test")]
    fn a_subscription_can_move_between_threads(mut subscription: Subscription) {
        fn is_send(_: impl Send) {}
        is_send(subscription.next());
        is_send(subscription);
    }

    #[test]
    fn a_place_is_behind_another_only_by_its_numbers() {
        assert!(is_behind("9-9", "10-1") && is_behind("10-1", "10-2"));
        for (new, old) in [("10-2", "10-2"), ("10-3", "10-2"), ("11-1", "10-2"), ("1", "10-2"), ("1-1", "b"), ("", "")] {
            assert!(!is_behind(new, old), "{new} {old}");
        }
    }
}
