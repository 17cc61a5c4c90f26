//! Sends one request and reads its answer: with the key, within the limits, and again after a failure that may pass. The callers
//! decide the contents.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Method, Response};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep, timeout};
use tracing::field::Empty;
use tracing::{Instrument, Span};
use url::Url;

use crate::backoff::{NO_ROOM, Repeat, Verdict, jitter, judge_network, judge_status, pause};
use crate::error::{CallError, SetupError, TransportError};
use crate::hooks::HookList;
use crate::problem::Problem;

/// The largest answer read, in bytes: a page of events with the largest contexts fits, an endless stream does not.
const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;
/// How long making a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a connection is kept for the next call: less than the server keeps it, or a call might leave just when
/// the server closes it.
const IDLE_MAX: Duration = Duration::from_mins(1);
/// How long the server delays the refusal of a stream, because clients would otherwise ask for the stream again at once.
const HELD_FOR: Duration = Duration::from_secs(5);
/// Tells that the reply belongs to an earlier sending under the same idempotency key.
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The settings from the builder.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) request_timeout: Duration,
    pub(crate) retry_for: Duration,
    pub(crate) user_agent: String,
    pub(crate) allow_insecure: bool,
}

/// The connection to one server with one key.
pub(crate) struct Transport {
    http: reqwest::Client,
    base: Url,
    api_key: SecretString,
    request_timeout: Duration,
    retry_for: Duration,
    hooks: HookList,
}

/// One call.
pub(crate) struct Call {
    method: Method,
    /// The path as documents write it: each segment in braces stands for the next of `ids`. Only this form is for spans and logs.
    path: &'static str,
    ids: Vec<String>,
    query: Vec<(&'static str, String)>,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Option<Vec<u8>>,
    repeat: Repeat,
    /// How long the server may wait on purpose, on top of the request timeout; `None` if the body has no end.
    wait: Option<Duration>,
    /// For how long the call is sent again after failures; the client's `retry_for` if absent.
    patience: Option<Patience>,
}

/// For how long a call is sent again after failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// For this long after the first failure.
    For(Duration),
    /// Until this time, whenever the failures began.
    Until(Instant),
    /// For ever.
    Endless,
}

impl Patience {
    /// Whether there is time for another try after `pause`.
    pub(crate) fn allows(self, pause: Duration, failing_since: Instant, now: Instant) -> bool {
        match self {
            Self::For(time) => now.saturating_duration_since(failing_since).saturating_add(pause) <= time,
            Self::Until(end) => end.saturating_duration_since(now) >= pause,
            Self::Endless => true,
        }
    }
}

/// The body of a reply, with a fact from its headers.
pub(crate) struct Reply<T> {
    pub(crate) body: T,
    /// An earlier sending under the same key took effect, and this is its result.
    pub(crate) replayed: bool,
}

impl Call {
    /// A read, which can always be repeated. In `path` each segment in braces stands for the next of `ids`.
    pub(crate) fn read<const N: usize>(path: &'static str, ids: [String; N]) -> Self {
        Self {
            method: Method::GET,
            path,
            ids: ids.into(),
            query: Vec::new(),
            headers: Vec::new(),
            body: None,
            repeat: Repeat::Safe,
            wait: Some(Duration::ZERO),
            patience: None,
        }
    }

    /// A write of `body`.
    pub(crate) fn write<const N: usize>(
        path: &'static str,
        ids: [String; N],
        body: &impl Serialize,
        repeat: Repeat,
    ) -> Result<Self, TransportError> {
        let body = serde_json::to_vec(body).map_err(|error| unreadable(&error))?;
        Ok(Self { method: Method::POST, body: Some(body), repeat, ..Self::read(path, ids) })
    }

    /// A removal. A repetition must be recognized by the server, or be harmless.
    pub(crate) fn delete<const N: usize>(path: &'static str, ids: [String; N]) -> Self {
        Self { method: Method::DELETE, ..Self::read(path, ids) }
    }

    /// Replaces the method, which is POST for a write.
    pub(crate) fn method(mut self, method: Method) -> Self {
        self.method = method;
        self
    }

    /// Adds a parameter to the address.
    pub(crate) fn query(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.query.push((name, value.into()));
        self
    }

    /// Adds a header.
    pub(crate) fn header(mut self, name: &'static str, value: HeaderValue) -> Self {
        self.headers.push((HeaderName::from_static(name), value));
        self
    }

    /// Reads a body that has no end.
    pub(crate) fn streaming(mut self) -> Self {
        self.wait = None;
        self
    }

    /// The span of one try. Neither the ids of the path nor the parameters are in it: they may be capabilities.
    fn span(&self, attempt: u32) -> Span {
        tracing::debug_span!("placet.call", method = %self.method, path = self.path, attempt, status = Empty)
    }

    /// Lets the server wait for `wait`, and repeats failures for as long as `patience` allows.
    pub(crate) fn patient(mut self, wait: Duration, patience: Patience) -> Self {
        (self.wait, self.patience) = (Some(wait), Some(patience));
        self
    }
}

/// Why one try failed, and whether another may succeed.
pub(crate) struct Failure {
    pub(crate) error: CallError,
    pub(crate) verdict: Verdict,
    /// Whether the call may have taken effect all the same.
    in_doubt: bool,
}

impl Failure {
    fn of_network(error: reqwest::Error, repeat: Repeat) -> Self {
        let verdict = judge_network(&error, repeat);
        let in_doubt = judge_network(&error, Repeat::Unsafe) == Verdict::Permanent;
        // The address may hold a suspension id.
        Self { error: TransportError::Network(error.without_url()).into(), verdict, in_doubt }
    }

    fn of_body(error: Option<reqwest::Error>, repeat: Repeat) -> Self {
        match error {
            Some(error) => Self::of_network(error, repeat),
            None => Self { error: too_large().into(), verdict: Verdict::Permanent, in_doubt: true },
        }
    }
}

impl Transport {
    pub(crate) fn new(base: &str, api_key: SecretString, options: &Options, hooks: HookList) -> Result<Self, SetupError> {
        if !domain::base::login::is_plain(base) {
            return Err(SetupError::UnsuitableAddress);
        }
        let base = Url::parse(base).map_err(SetupError::InvalidAddress)?;
        let loopback = check_address(&base, options.allow_insecure)?;
        if api_key.expose_secret().is_empty() || HeaderValue::from_str(api_key.expose_secret()).is_err() {
            return Err(SetupError::InvalidApiKey);
        }
        provide_crypto();
        let mut http = reqwest::Client::builder()
            .user_agent(&options.user_agent)
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(IDLE_MAX);
        if loopback {
            // A proxy from the environment would see the key unencrypted, and could not reach this machine anyway.
            http = http.no_proxy();
        }
        let http = http.build().map_err(|error| SetupError::Http(error.without_url()))?;
        Ok(Self { http, base, api_key, request_timeout: options.request_timeout, retry_for: options.retry_for, hooks })
    }

    pub(crate) fn base(&self) -> &Url {
        &self.base
    }

    /// For how long a failing call is sent again.
    pub(crate) fn patience(&self) -> Patience {
        Patience::For(self.retry_for)
    }

    pub(crate) fn hooks(&self) -> &HookList {
        &self.hooks
    }

    /// Sends until there is an answer or a refusal, or until further tries make no sense.
    pub(crate) async fn send<T: DeserializeOwned>(&self, call: Call) -> Result<Reply<T>, CallError> {
        let patience = call.patience.unwrap_or(self.patience());
        // The time counts from the first failure, not from the start: a long wait that breaks at its end has failed just once.
        let mut failing_since = None;
        let mut tries = 0_u32;
        let mut in_doubt = false;
        loop {
            let outcome = self.send_once(&call, tries.saturating_add(1)).await;
            self.watch_connection(outcome.as_ref().err());
            let failure = match outcome {
                Ok(Reply { body, replayed }) => {
                    // An object that names a member twice is refused, because another reader may see the other value.
                    domain::base::json::unambiguous(&body).map_err(|error| unreadable(&error))?;
                    let body = serde_json::from_slice(&body).map_err(|error| unreadable(&error))?;
                    return Ok(Reply { body, replayed });
                }
                Err(failure) => failure,
            };
            let Verdict::Retry { after } = failure.verdict else { return Err(failure.error) };
            let pause = pause(tries, after, jitter());
            let now = Instant::now();
            in_doubt |= failure.in_doubt;
            if !patience.allows(pause, *failing_since.get_or_insert(now), now) {
                // A 429 says that this try had no effect. It says nothing about the tries before.
                return Err(if in_doubt { failure.error.or_unavailable() } else { failure.error });
            }
            tries = tries.saturating_add(1);
            tracing::debug!(tries, pause_ms = pause.as_millis(), error = %failure.error, "call failed, sending it again");
            sleep(pause).await;
        }
    }

    /// Opens a stream, once. The time limit is [`HELD_FOR`] longer than for other calls, because the server delays its refusal of
    /// a stream by that time.
    pub(crate) async fn open(&self, call: &Call, attempt: u32) -> Result<Response, Failure> {
        let span = call.span(attempt);
        let head = Box::pin(timeout(self.request_timeout + HELD_FOR, self.head(call, &span)).instrument(span.clone()));
        let outcome = head.await.unwrap_or_else(|_| {
            let error = TransportError::Interrupted.into();
            Err(Failure { error, verdict: Verdict::Retry { after: None }, in_doubt: false })
        });
        self.watch_connection(outcome.as_ref().err());
        outcome
    }

    /// Tells the hooks whether the server is there. Any answer proves that it is, even a refusal, a 429 or a 500.
    fn watch_connection(&self, failure: Option<&Failure>) {
        match failure {
            Some(Failure { error: CallError::Transport(error), .. }) if error.is_outage() => self.hooks.connection_lost(error),
            Some(_) | None => self.hooks.connection_works(),
        }
    }

    async fn send_once(&self, call: &Call, attempt: u32) -> Result<Reply<Vec<u8>>, Failure> {
        let span = call.span(attempt);
        let exchange = async {
            let response = self.head(call, &span).await?;
            let replayed = response.headers().get(REPLAYED).is_some_and(|value| value == "true");
            let body = read_body(response).await.map_err(|error| Failure::of_body(error, call.repeat))?;
            Ok(Reply { body, replayed })
        };
        // The future is boxed, because otherwise every future of every call holds the whole state of an HTTP exchange.
        Box::pin(exchange.instrument(span.clone())).await
    }

    /// Sends a request, and reads the head of an answer that is a success; every other answer is read whole.
    async fn head(&self, call: &Call, span: &Span) -> Result<Response, Failure> {
        let response = self.request(call).send().await.map_err(|error| Failure::of_network(error, call.repeat))?;
        let status = response.status().as_u16();
        span.record("status", status);
        if (200..=299).contains(&status) {
            return Ok(response);
        }
        let headers = response.headers().clone();
        let body = read_body(response).await.map_err(|error| Failure::of_body(error, call.repeat))?;
        let problem = Box::new(Problem::read(status, &body));
        let verdict = judge_status(status, problem.code.as_deref(), call.repeat, &headers);
        let in_doubt = judge_status(status, problem.code.as_deref(), Repeat::Unsafe, &headers) == Verdict::Permanent;
        let error = match status {
            300..=399 => TransportError::Redirected { status }.into(),
            // The server refuses with these codes before it writes anything, so the call certainly had no effect. A status
            // without a code may come from a proxy.
            507 if problem.is(NO_ROOM) => CallError::Refused(problem),
            429 if problem.code.is_some() => CallError::Refused(problem),
            429 | 500.. => TransportError::Unavailable(problem).into(),
            _ => CallError::Refused(problem),
        };
        Err(Failure { error, verdict, in_doubt })
    }

    fn request(&self, call: &Call) -> reqwest::RequestBuilder {
        let mut request = self.http.request(call.method.clone(), self.address(call)).header("x-api-key", self.key_header());
        if let Some(wait) = call.wait {
            request = request.timeout(self.request_timeout.saturating_add(wait));
        }
        for (name, value) in &call.headers {
            request = request.header(name, value);
        }
        match &call.body {
            Some(body) => request.header(CONTENT_TYPE, "application/json").body(body.clone()),
            None => request,
        }
    }

    fn address(&self, call: &Call) -> Url {
        let mut address = self.base.clone();
        // `check_address` lets in only addresses with a path, so there always are segments to extend.
        if let Ok(mut segments) = address.path_segments_mut() {
            let mut ids = call.ids.iter();
            let named = call
                .path
                .split('/')
                .skip(1)
                .map(|segment| if segment.starts_with('{') { ids.next().map_or(segment, String::as_str) } else { segment });
            segments.pop_if_empty().extend(named);
        }
        if !call.query.is_empty() {
            address.query_pairs_mut().extend_pairs(&call.query);
        }
        address
    }

    fn key_header(&self) -> HeaderValue {
        // `new` has checked that the key fits into a header. If it did not, the key would be empty, and the server would refuse
        // it.
        let mut value = HeaderValue::from_str(self.api_key.expose_secret()).unwrap_or_else(|_| HeaderValue::from_static(""));
        value.set_sensitive(true);
        value
    }
}

/// Reads a body up to its limit; `None` means that the body is longer.
async fn read_body(mut response: Response) -> Result<Vec<u8>, Option<reqwest::Error>> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > BODY_BYTES_MAX {
            return Err(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn too_large() -> TransportError {
    TransportError::Unreadable { reason: format!("it is longer than {BODY_BYTES_MAX} bytes") }
}

/// Says at which position reading stopped, and leaves out serde's own message: it quotes the text there, which may hold a
/// suspension id.
pub(crate) fn unreadable(error: &serde_json::Error) -> TransportError {
    let (line, column) = (error.line(), error.column());
    let reason = match error.classify() {
        serde_json::error::Category::Data => format!("unexpected JSON at line {line}, column {column}"),
        serde_json::error::Category::Io | serde_json::error::Category::Syntax | serde_json::error::Category::Eof => {
            format!("invalid JSON at line {line}, column {column}")
        }
    };
    TransportError::Unreadable { reason }
}

/// Checks that the key may be sent to this address; returns whether the address is on this machine.
fn check_address(base: &Url, allow_insecure: bool) -> Result<bool, SetupError> {
    let secure = match base.scheme() {
        "https" => true,
        "http" => false,
        _ => return Err(SetupError::UnsuitableAddress),
    };
    let plain = base.username().is_empty() && base.password().is_none() && base.query().is_none() && base.fragment().is_none();
    let loopback = match base.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => return Err(SetupError::UnsuitableAddress),
    };
    match (plain, secure || loopback || allow_insecure) {
        (false, _) => Err(SetupError::UnsuitableAddress),
        (true, false) => Err(SetupError::Insecure),
        (true, true) => Ok(loopback),
    }
}

/// Gives TLS its cryptography, unless the program has chosen its own.
fn provide_crypto() {
    if rustls::crypto::CryptoProvider::get_default().is_none()
        && rustls::crypto::ring::default_provider().install_default().is_err()
    {
        tracing::debug!("another thread has just provided TLS with cryptography; using that");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(allow_insecure: bool) -> Options {
        let (request_timeout, retry_for) = (Duration::from_secs(1), Duration::from_secs(1));
        Options { request_timeout, retry_for, user_agent: "test".to_owned(), allow_insecure }
    }

    fn new(base: &str, allow_insecure: bool) -> Result<Transport, SetupError> {
        Transport::new(base, "secret".into(), &options(allow_insecure), HookList::default())
    }

    #[test]
    fn the_key_is_not_sent_in_the_clear_beyond_this_machine() {
        for fine in ["https://placet.example", "http://localhost:8080", "http://127.0.0.9/", "http://[::1]:80/placet"] {
            assert!(new(fine, false).is_ok(), "{fine}");
        }
        for open in ["http://placet.example", "http://10.0.0.1", "http://localhost.example", "http://[::2]"] {
            assert!(matches!(new(open, false), Err(SetupError::Insecure)), "{open}");
            assert!(new(open, true).is_ok(), "{open}");
        }
    }

    #[test]
    fn an_address_that_is_no_servers_is_refused() {
        for wrong in ["ftp://a", "https://user@a", "https://:pass@a", "https://a?x=1", "https://a#x", "data:x", "mailto:a@b"] {
            assert!(matches!(new(wrong, true), Err(SetupError::UnsuitableAddress)), "{wrong}");
        }
        // A password with a slash in it must not become the host to which the key is sent.
        assert!(matches!(new("https://pass/word@placet.example", true), Err(SetupError::UnsuitableAddress)));
        assert!(matches!(new("placet.example", true), Err(SetupError::InvalidAddress(_))));
        for key in ["", "line\nbreak"] {
            let made = Transport::new("https://a", key.into(), &options(false), HookList::default());
            assert!(matches!(made, Err(SetupError::InvalidApiKey)));
        }
    }

    #[test]
    fn patience_ends_at_its_bound_and_not_before() {
        let (second, begun) = (Duration::from_secs(1), Instant::now());
        let after = |seconds: u32| begun + second * seconds;
        let for_ten = Patience::For(second * 10);
        assert!(for_ten.allows(second, begun, after(9)) && !for_ten.allows(second, begun, after(10)));
        // `Patience::Until` ends at its time, however late the first failure came.
        let until_ten = Patience::Until(after(10));
        assert!(until_ten.allows(second, after(9), after(9)) && !until_ten.allows(second, after(10), after(10)));
        assert!(!until_ten.allows(Duration::from_millis(1), after(11), after(11)));
        assert!(Patience::Endless.allows(second, begun, after(100_000_000)));
    }

    #[test]
    fn addresses_keep_the_base_path_and_escape_segments() {
        let address = |base: &str| {
            let call = Call::read("/api/v1/intents/{intent_id}/events", ["a/b".to_owned()]).query("limit", "5");
            new(base, false).unwrap().address(&call).to_string()
        };
        assert_eq!(address("https://a"), "https://a/api/v1/intents/a%2Fb/events?limit=5");
        assert_eq!(address("https://a/placet/"), "https://a/placet/api/v1/intents/a%2Fb/events?limit=5");
    }

    #[test]
    fn an_unreadable_answer_is_not_quoted() {
        let error = serde_json::from_str::<u32>("\"a-secret-id\"").unwrap_err();
        assert_eq!(unreadable(&error).to_string(), "the server's answer cannot be read: unexpected JSON at line 1, column 13");
    }
}
