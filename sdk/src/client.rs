//! The client: one server, one key, and the calls of an agent.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use domain::asking::engagement::EngagementSignals;
use domain::base::ids::{IntentId, SuspensionId};
use domain::intent::status::Status;
use domain::suspension::retry::PartialRetryPolicy;
use domain::wire::{
    AppendEventRequest, CancelRequest, EventView, IntentView, ServerConfigView, ServerEventView, SetStatusRequest,
    SuspensionPage, SuspensionPreview, SuspensionRecord,
};
use reqwest::Response;
use reqwest::header::HeaderValue;
use secrecy::SecretString;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;
use tracing::Instrument;

use crate::answer::Answer;
use crate::backoff::Repeat;
use crate::engagement::Engagement;
use crate::error::{CallError, RequestInputError, SetupError};
use crate::hooks::{HookList, Hooks};
use crate::intent::{CreateIntent, Intent};
use crate::log::LogMemory;
use crate::pending::Pending;
use crate::problem::Problem;
use crate::question::{Prepared, Question};
use crate::transport::{Call, Failure, Options, Patience, Reply, Transport};

/// How long a request may take, unless the builder says otherwise.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// How long failing calls are repeated, unless the builder says otherwise.
const RETRY_FOR: Duration = Duration::from_mins(1);
/// How often a change of status or policy starts over because another caller changed the intent meanwhile.
pub(crate) const CONFLICTS_MAX: u32 = 3;
/// Events read per request.
const EVENTS_PAGE: usize = 200;

/// A client of one Placet server with one agent's key. Clones share their connections.
///
/// It needs a tokio runtime; programs without one use `blocking::Client` (feature `blocking`).
///
/// # Many questions at a time
///
/// A client can have as many questions open at a time as there are intents: clone it, or share it, into as many tasks, or use
/// [`request_many`](Client::request_many). Clones share one pool of connections. Each call that waits holds one connection for up
/// to 50 seconds. At most 2,000 calls of one key wait at a time; the server refuses a further one (429), and the client tries it
/// again until there is room.
///
/// # Dropping a future
///
/// Every call may be dropped at any point, by a timeout, a `select!` or a shutdown: no task of it goes on in the background, and
/// its connection is closed or goes back to the pool. A read has no effect. A write that was sent may have taken effect; if the
/// call has a key, sending it again finds that effect. A question stays open, and asking again finds it.
///
/// # When calls fail
///
/// Calls that may be carried out twice (all reads, and writes with an idempotency key or another way to be recognized) are
/// repeated after network failures, 408, 429, 502, 503 and 504. Other calls are repeated only if they certainly did not take
/// effect: after a failure to connect, after a 429, and after a 503 with the code `overloaded`. The pauses are random below a
/// bound that doubles from 250 ms to 15 seconds, on top of `Retry-After` (seconds or a date, at most 5 minutes of it). Other
/// refusals are reported at once. A failing call is repeated for [`retry_for`](ClientBuilder::retry_for); for the wait for an
/// answer see [`outage_tolerance`](ClientBuilder::outage_tolerance). Redirects are not followed.
///
/// # Spans
///
/// The client reports its work in spans of the crate `tracing`: `placet.ask` and `placet.wait` (level info, with `intent.id`) and
/// `placet.call` for each try of each HTTP call (level debug, with `method`, `path`, `attempt` from 1, and `status`). The path is
/// the template, for example `/api/v1/suspensions/{id}`. No span and no event has a key, the id of a suspension, a question or an
/// answer.
///
/// TLS uses the process's default cryptography provider; if there is none, making a client installs *ring* as the default. The
/// system's root certificates are trusted.
#[derive(Clone)]
pub struct Client {
    transport: Arc<Transport>,
    outage_tolerance: Option<Duration>,
    default_retry_policy: Option<PartialRetryPolicy>,
    pub(crate) log: Arc<LogMemory>,
}

/// Collects the settings of a client, from [`Client::builder`].
#[must_use = "a builder does nothing until build"]
pub struct ClientBuilder {
    base_url: String,
    api_key: SecretString,
    options: Options,
    hooks: Vec<Arc<dyn Hooks>>,
    outage_tolerance: Option<Duration>,
    default_retry_policy: Option<PartialRetryPolicy>,
    log_keys: Vec<String>,
    log_file: Option<PathBuf>,
}

impl ClientBuilder {
    /// Sets how long one request may take, 30 seconds by default. The wait for an answer does not count.
    pub fn request_timeout(mut self, timeout: Duration) -> Self {
        self.options.request_timeout = timeout;
        self
    }

    /// Sets how long a failing call is repeated before its failure is reported, one minute by default; zero for never.
    pub fn retry_for(mut self, time: Duration) -> Self {
        self.options.retry_for = time;
        self
    }

    /// Sets how long the server may be away in one go during the wait for an answer; the question stays open in any case.
    ///
    /// By default a wait goes on until 15 minutes after the question's deadline, so that a server that was away at the deadline
    /// can return and report the answer; without a deadline it goes on for ever. The client counts the time to the deadline from
    /// the moment at which this program asked, so its clock need not agree with the server's. For a question asked earlier, the
    /// wait therefore ends later than 15 minutes after the server's deadline.
    pub fn outage_tolerance(mut self, time: Duration) -> Self {
        self.outage_tolerance = Some(time);
        self
    }

    /// Names the program in the server's log.
    pub fn user_agent(mut self, name: impl Into<String>) -> Self {
        self.options.user_agent = name.into();
        self
    }

    /// Sets the agent's level of the retry cascade (RFC-0026): it fills the fields that a question leaves out, and the server's
    /// level fills the fields that both leave out.
    pub fn default_retry_policy(mut self, policy: PartialRetryPolicy) -> Self {
        self.default_retry_policy = Some(policy);
        self
    }

    /// Adds a public key of the server's log, `NAME+HASH+KEY`, which [`Client::check_log`] trusts. The operator of the server has it. If
    /// the key is replaced, add the new one and keep the old one, which signed the checkpoint that is remembered.
    pub fn log_key(mut self, key: impl Into<String>) -> Self {
        self.log_keys.push(key.into());
        self
    }

    /// Names a file in which [`Client::check_log`] keeps the last checkpoint that it saw, so that later processes compare with it, too.
    pub fn log_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.log_file = Some(file.into());
        self
    }

    /// Registers `hooks`; several may be registered, and then all of them are called.
    pub fn hooks(mut self, hooks: impl Hooks) -> Self {
        self.hooks.push(Arc::new(hooks));
        self
    }

    /// Allows plain http beyond this machine. The key and every question then travel unencrypted: use it only on networks that
    /// are themselves trusted.
    pub fn allow_insecure(mut self) -> Self {
        self.options.allow_insecure = true;
        self
    }

    /// Makes the client; nothing is sent.
    pub fn build(self) -> Result<Client, SetupError> {
        let hooks = HookList::new(self.hooks);
        let transport = Arc::new(Transport::new(&self.base_url, self.api_key, &self.options, hooks)?);
        let Self { outage_tolerance, default_retry_policy, log_keys, log_file, .. } = self;
        let log = Arc::new(LogMemory::new(&log_keys, log_file)?);
        Ok(Client { transport, outage_tolerance, default_retry_policy, log })
    }
}

impl Client {
    /// Makes a client for the server at `base_url`, for example `https://placet.example.com`, with the defaults.
    pub fn new(base_url: impl Into<String>, api_key: impl Into<SecretString>) -> Result<Self, SetupError> {
        Self::builder(base_url, api_key).build()
    }

    /// Makes a client with other settings.
    pub fn builder(base_url: impl Into<String>, api_key: impl Into<SecretString>) -> ClientBuilder {
        ClientBuilder {
            base_url: base_url.into(),
            api_key: api_key.into(),
            options: Options {
                request_timeout: REQUEST_TIMEOUT,
                retry_for: RETRY_FOR,
                user_agent: concat!("placet-rust/", env!("CARGO_PKG_VERSION")).to_owned(),
                allow_insecure: false,
            },
            hooks: Vec::new(),
            outage_tolerance: None,
            default_retry_policy: None,
            log_keys: Vec::new(),
            log_file: None,
        }
    }

    /// The same client with another agent-level retry policy; see [`ClientBuilder::default_retry_policy`].
    #[must_use]
    pub fn with_default_retry_policy(mut self, policy: PartialRetryPolicy) -> Self {
        self.default_retry_policy = Some(policy);
        self
    }

    /// Starts the creation of an intent.
    ///
    /// ```no_run
    /// # async fn example(client: placet::Client) -> Result<(), placet::CallError> {
    /// let intent = client.create_intent("Refund order #12345").state("order_id", "12345").active().send().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn create_intent(&self, title: impl Into<String>) -> CreateIntent<'_> {
        CreateIntent::new(self, title.into())
    }

    /// Finds an intent.
    pub async fn intent(&self, id: IntentId) -> Result<Intent, CallError> {
        Ok(Intent::new(self.clone(), self.intent_view(id).await?))
    }

    pub(crate) async fn intent_view(&self, id: IntentId) -> Result<IntentView, CallError> {
        self.send(Call::read("/api/v1/intents/{intent_id}", [id.to_string()])).await
    }

    /// Changes the status of an intent to `status`, whatever its present version; an intent that has this status already is left
    /// alone.
    ///
    /// # Errors
    ///
    /// `Refused` with `invalid_transition` if the lifecycle has no step from the present status to `status`.
    pub async fn set_status(&self, id: IntentId, status: Status, reason: Option<&str>) -> Result<IntentView, CallError> {
        let request = SetStatusRequest { status: status.as_str().to_owned(), reason: reason.map(str::to_owned) };
        let mut conflicts = 0;
        loop {
            let view = self.intent_view(id).await?;
            // A repetition whose first sending took effect also ends here, so repeating is safe.
            if view.status == status {
                return Ok(view);
            }
            let call = Call::write("/api/v1/intents/{intent_id}/status", [id.to_string()], &request, Repeat::Safe)?;
            let call = call.header("if-match", HeaderValue::from(view.version));
            match self.send(call).await {
                Err(CallError::Refused(problem)) if problem.is("version_conflict") && conflicts < CONFLICTS_MAX => conflicts += 1,
                outcome => return outcome,
            }
        }
    }

    /// Asks a person, and waits for the answer (RFC-0025 §9.1).
    ///
    /// Dropping the future is safe at any time, and so is a crash: the question stays open, people can answer it, and asking
    /// again finds it (see [`Question`]).
    ///
    /// ```no_run
    /// # async fn example(client: placet::Client, id: placet::IntentId) -> Result<(), placet::RequestInputError> {
    /// use std::time::Duration;
    ///
    /// use placet::{Question, Source};
    ///
    /// let question = Question::confirm("Deploy to production?").context("commit", "4f2a91c").timeout(Duration::from_mins(10));
    /// let answer = client.request_input(id, question).await?;
    /// match (answer.value, answer.source) {
    ///     (true, Source::Human { by, .. }) => println!("{by} said yes"),
    ///     (true, Source::Fallback { .. }) => println!("no person answered, the fallback says yes"),
    ///     (false, _) => println!("no"),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// See [`RequestInputError`]: each variant is another situation for the agent.
    pub async fn request_input<T>(&self, intent_id: IntentId, question: Question<T>) -> Result<Answer<T>, RequestInputError> {
        self.ask(intent_id, question).await?.answer().await
    }

    /// Asks a person, without waiting yet.
    ///
    /// Dropping the future before it is done is safe too: asking again finds the question if the server took it, and asks it
    /// otherwise, so it is never asked twice. [`Question`] tells when two questions are the same.
    pub async fn ask<T>(&self, intent_id: IntentId, question: Question<T>) -> Result<Pending<T>, RequestInputError> {
        let span = tracing::info_span!("placet.ask", intent.id = %intent_id);
        // The future is boxed, because the span and the question make it large, and it would be a part of the caller's future.
        Box::pin(self.ask_or_find(intent_id, question)).instrument(span).await
    }

    async fn ask_or_find<T>(&self, intent_id: IntentId, question: Question<T>) -> Result<Pending<T>, RequestInputError> {
        let prepared = question.prepare(intent_id, self.default_retry_policy.as_ref()).map_err(RequestInputError::Refused)?;
        let ids = [intent_id.to_string()];
        let call = Call::write("/api/v1/intents/{intent_id}/suspend", ids, &prepared.request, Repeat::Safe)?
            .header("idempotency-key", prepared.key.clone());
        let (record, reattached) = match self.transport.send(call).await {
            Ok(Reply { body, replayed }) => (body, replayed),
            Err(CallError::Refused(problem)) if problem.is("idempotency_mismatch") => {
                (self.asked_before(&prepared, problem).await?, true)
            }
            Err(CallError::Refused(problem)) if lacks_suspensions(&problem) => return Err(RequestInputError::Unsupported),
            Err(error) => return Err(error.into()),
        };
        for warning in &record.warnings {
            tracing::warn!(intent.id = %intent_id, "the server warns about a question: {warning}");
        }
        self.hooks().requested(&record, reattached);
        Ok(Pending::new(self.clone(), record, prepared.read))
    }

    /// Finds the question that was asked under the same key in other words. If its meaning differs, too, the error is `refusal`.
    async fn asked_before<T>(
        &self,
        question: &Prepared<T>,
        refusal: Box<Problem>,
    ) -> Result<SuspensionRecord, RequestInputError> {
        let key = question.key.to_str().unwrap_or_default();
        let looked = self.send(Call::read("/api/v1/suspensions", []).query("idempotency_key", key)).await;
        // If this look-up is refused because there were too many calls, the question may be open all the same. So that refusal is
        // reported as a temporary failure.
        let page: SuspensionPage = match looked.map_err(CallError::or_unavailable) {
            Ok(page) => page,
            // A server that cannot look up a question by its key refuses the look-up; then the first refusal is reported.
            Err(CallError::Refused(_)) => return Err(RequestInputError::Refused(refusal)),
            Err(CallError::Transport(error)) => return Err(error.into()),
        };
        let found = page.suspensions.into_iter().find(|asked| question.is(asked)).ok_or(RequestInputError::Refused(refusal))?;
        tracing::info!(
            intent.id = %question.intent_id,
            "this question was asked before, in other words or under another policy; those earlier words and that policy apply"
        );
        Ok(found)
    }

    /// Tells which people would get messages at which times if `question` were asked now, and what would happen without an
    /// answer. Nothing is kept, and no person is told.
    ///
    /// ```no_run
    /// # async fn example(client: placet::Client) -> Result<(), placet::CallError> {
    /// let question = placet::Question::confirm("Deploy?").timeout(std::time::Duration::from_mins(10)).fallback(false);
    /// let preview = client.preview(question).await?;
    /// for attempt in &preview.schedule {
    ///     println!("{} {:?}", attempt.at, attempt.recipients);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `Refused` for the fields of the question that asking would refuse.
    pub async fn preview<T>(&self, question: Question<T>) -> Result<SuspensionPreview, CallError> {
        let request = question.into_request(self.default_retry_policy.as_ref()).map_err(CallError::Refused)?;
        self.send(Call::write("/api/v1/suspensions/preview", [], &request, Repeat::Safe)?).await
    }

    /// Resumes the wait for a question by its id, for programs that keep the id. Of `question` only the type of its answer is
    /// used.
    ///
    /// The id is a capability: keep it as secret as a key. Asking again does not need it, see [`Question`].
    ///
    /// ```no_run
    /// # async fn example(client: placet::Client, id: placet::SuspensionId) -> Result<(), placet::RequestInputError> {
    /// let mut pending = client.pending(id, &placet::Question::confirm("Deploy?")).await?;
    /// let answer = pending.answer().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `Refused` with `not_found` if the question does not exist, or if this key may not read it.
    pub async fn pending<T>(&self, id: SuspensionId, question: &Question<T>) -> Result<Pending<T>, RequestInputError> {
        Ok(Pending::new(self.clone(), self.suspension(id).await?, question.reader()))
    }

    /// Decides whether to ask at all (RFC-0025 §9.2), and records the decision as an event of the intent.
    ///
    /// ```no_run
    /// # async fn example(client: placet::Client, id: placet::IntentId) -> Result<(), Box<dyn std::error::Error>> {
    /// use placet::{Engagement, EngagementSignals, Question};
    ///
    /// let signals = EngagementSignals { confidence: 0.55, risk: 0.60, reversibility: 0.80, context: Default::default() };
    /// let go = match client.should_request_input(id, signals).await? {
    ///     Engagement::Autonomous(_) => true,
    ///     Engagement::RequestInput(why) | Engagement::RequireInput(why) => {
    ///         client.request_input(id, Question::confirm("Proceed?").decision(&why)).await?.value
    ///     }
    ///     Engagement::Defer(_) => false, // This agent may neither decide nor ask.
    /// };
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails for signals outside 0 to 1, and if the decision could not be recorded: without the record there is no decision.
    pub async fn should_request_input(&self, id: IntentId, signals: EngagementSignals) -> Result<Engagement, CallError> {
        EngagementSignals::new(signals.confidence, signals.risk, signals.reversibility)
            .map_err(|errors| CallError::Refused(Box::new(Problem::invalid(errors))))?;
        let decision = signals.decide();
        let payload = match serde_json::to_value(&decision) {
            Ok(Value::Object(payload)) => Some(payload),
            Ok(_) | Err(_) => None,
        };
        let event_type = "engagement.decision".to_owned();
        let request = AppendEventRequest { event_type, payload, ..AppendEventRequest::default() };
        let call = Call::write("/api/v1/intents/{intent_id}/events", [id.to_string()], &request, Repeat::Unsafe)?;
        let _recorded: IgnoredAny = self.send(call).await?;
        self.hooks().tell(|hooks| hooks.on_engagement_decision(id, &decision));
        Ok(decision.into())
    }

    /// All events of an intent, oldest first.
    ///
    /// Payloads of suspension events hold suspension ids, which are capabilities: do not log events as a whole.
    pub async fn events(&self, id: IntentId) -> Result<Vec<EventView>, CallError> {
        let mut events = BTreeMap::new();
        let mut offset = 0;
        loop {
            let call = Call::read("/api/v1/intents/{intent_id}/events", [id.to_string()])
                .query("include", "all")
                .query("limit", EVENTS_PAGE.to_string())
                .query("offset", offset.to_string());
            let page: Vec<EventView> = self.send(call).await?;
            let read = page.len();
            offset += read;
            // Pages are newest first, so an event appended meanwhile moves the rest one place back: an event may come twice, but
            // none is missed.
            events.extend(page.into_iter().map(|event| (event.sequence, event)));
            // A page may end early, so only an empty page, or the first event, marks the end.
            if read == 0 || events.contains_key(&1) {
                return Ok(events.into_values().collect());
            }
        }
    }

    /// All events of the server's own log, oldest first: who made, imported and revoked keys. For admins and auditors.
    pub async fn server_events(&self) -> Result<Vec<ServerEventView>, CallError> {
        let mut events: Vec<ServerEventView> = Vec::new();
        loop {
            let after = events.last().map_or(0, |event| event.sequence);
            let call =
                Call::read("/api/v1/server/events", []).query("limit", EVENTS_PAGE.to_string()).query("after", after.to_string());
            let page: Vec<ServerEventView> = self.send(call).await?;
            // A page without newer events is taken for the end of the log. Without this check, a server that always sends the
            // same page would be asked for ever.
            if page.last().is_none_or(|last| last.sequence <= after) {
                return Ok(events);
            }
            events.extend(page);
        }
    }

    /// Reads the present state of a question.
    pub async fn suspension(&self, id: SuspensionId) -> Result<SuspensionRecord, CallError> {
        self.send(Call::read("/api/v1/suspensions/{id}", [id.expose()])).await
    }

    /// Waits on the server until the question is newer than `record`, or for `wait_seconds`; returns the question as it is then.
    pub(crate) async fn wait(
        &self,
        record: &SuspensionRecord,
        wait_seconds: u32,
        patience: Patience,
    ) -> Result<SuspensionRecord, CallError> {
        let wait = Duration::from_secs(u64::from(wait_seconds));
        let patience = self.outage_tolerance.map_or(patience, Patience::For);
        let call = Call::read("/api/v1/suspensions/{id}", [record.id.expose()])
            .query("wait", wait_seconds.to_string())
            .query("after_version", record.version.to_string());
        self.send(call.patient(wait, patience)).await
    }

    /// Takes a question back; a program that waits for it learns this, and so do the people who were asked. A question that was
    /// withdrawn before stays withdrawn, and that is no error.
    ///
    /// # Errors
    ///
    /// `Refused` with `already_resolved` or `expired` if the question has ended in another way. Read
    /// [`suspension`](Client::suspension) then: there may be an answer.
    pub async fn cancel(&self, id: SuspensionId, reason: Option<&str>) -> Result<SuspensionRecord, CallError> {
        let request = CancelRequest { reason: reason.map(str::to_owned) };
        let call = Call::write("/api/v1/suspensions/{id}/cancel", [id.expose()], &request, Repeat::Safe)?;
        match self.send(call).await {
            // A repetition whose first sending took effect gets this answer too.
            Err(CallError::Refused(problem)) if is_withdrawn(&problem) => self.suspension(id).await,
            outcome => outcome,
        }
    }

    /// Reads the server's public configuration, which has the server's default retry policy.
    pub async fn server_config(&self) -> Result<ServerConfigView, CallError> {
        self.send(Call::read("/api/v1/server/config", [])).await
    }

    pub(crate) async fn send<T: DeserializeOwned>(&self, call: Call) -> Result<T, CallError> {
        Ok(self.reply(call).await?.body)
    }

    pub(crate) async fn reply<T: DeserializeOwned>(&self, call: Call) -> Result<Reply<T>, CallError> {
        self.transport.send(call).await
    }

    pub(crate) async fn open(&self, call: &Call, attempt: u32) -> Result<Response, Failure> {
        self.transport.open(call, attempt).await
    }

    /// For how long a failing call is sent again.
    pub(crate) fn patience(&self) -> Patience {
        self.transport.patience()
    }

    pub(crate) fn outage_tolerance(&self) -> Option<Duration> {
        self.outage_tolerance
    }

    pub(crate) fn hooks(&self) -> &HookList {
        self.transport.hooks()
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("base_url", &self.transport.base().as_str()).finish_non_exhaustive()
    }
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The address is not checked yet and may hold a password.
        f.debug_struct("ClientBuilder").field("options", &self.options).finish_non_exhaustive()
    }
}

/// Whether this refusal means that the server does not implement suspensions (RFC-0025 §12). A server that implements them sends
/// a code with each 404, for example `not_found`.
fn lacks_suspensions(problem: &Problem) -> bool {
    match problem.status {
        404 => problem.code.is_none(),
        405 => true,
        _ => false,
    }
}

fn is_withdrawn(problem: &Problem) -> bool {
    let says = |member: &str, word: &str| problem.more.get(member).and_then(Value::as_str) == Some(word);
    problem.is("already_resolved") && says("resolution", "cancelled") && says("resolution_reason", "withdrawn")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The futures of these calls are `Send`, even if the type of the answer is not: agents ask from tasks that move between
    /// threads.
    #[expect(dead_code, reason = "compiling it is the test")]
    fn waiting_can_move_between_threads(client: &Client, id: IntentId, question: Question<*const u8>) {
        fn is_send(_: impl Send) {}
        is_send(client.ask(id, question));
        is_send(client.request_input(id, Question::confirm("Go?")));
        is_send(client.create_intent("T").send());
    }

    #[test]
    fn a_server_without_suspensions_is_told_from_an_unknown_intent() {
        let problem = |status, body: &str| Problem::read(status, body.as_bytes());
        assert!(lacks_suspensions(&problem(404, r#"{"detail": "Not Found"}"#)));
        assert!(lacks_suspensions(&problem(404, "<html>")));
        assert!(lacks_suspensions(&problem(405, r#"{"detail": "Method Not Allowed"}"#)));
        assert!(!lacks_suspensions(&problem(404, r#"{"detail": "not found", "code": "not_found"}"#)));
        assert!(!lacks_suspensions(&problem(409, "{}")));
    }

    #[test]
    fn neither_key_nor_password_is_shown() {
        let builder = Client::builder("https://placet.example", "the-secret");
        assert!(!format!("{builder:?}").contains("the-secret"));
        assert!(!format!("{:?}", builder.build().unwrap()).contains("the-secret"));
        let refused = Client::new("https://me:the-secret@placet.example", "key").unwrap_err();
        assert!(!format!("{refused:?} {refused}").contains("the-secret"));
    }
}
