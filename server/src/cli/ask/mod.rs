//! `placet ask`: a person's answer as an exit code and a line on standard output.

mod arguments;
mod interrupt;
mod preview;

use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use domain::base::clock::Clock;
use domain::base::ids::Entropy;
use domain::base::text;
use domain::base::words::Language;
use placet::{
    Answer, CallError, FallbackPolicy, Pending, Problem, Question, RequestInputError, Status, SuspensionRecord, TransportError,
};
use serde_json::Map;
use store::host::clock::{SystemClock, SystemEntropy};
use tokio::time::{Instant, sleep, timeout};

use self::arguments::Asked;
pub(super) use self::arguments::{AskArgs, time};
use self::interrupt::{Interrupt, Signals};
use super::ending::Ending;
use super::remote::{self, BLIP, FAILED, Remote, inert_line, tell};

/// How long each call may take after a signal or after the question's end, for example to withdraw the question or to close its
/// intent. By then a person has pressed Ctrl-C, or a script waits for its next step.
const LAST_CALL: Duration = Duration::from_secs(10);
/// The pause between two tries to reach a server that does not answer, and the first pause after the server refused a wait.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// The longest pause after the server refused a wait.
const WAIT_AGAIN_MAX: Duration = Duration::from_secs(15);
/// The longest question repeated on standard error, in characters.
const QUESTION_CHARS_MAX: usize = 200;
/// The role of a key that may ask.
const ROLE: &str = "agent";

/// Asks, waits, and tells by its exit code how the question ended.
pub(super) async fn run(args: AskArgs) -> ExitCode {
    match Box::pin(ask(&args)).await {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            tell(format!("{error:#}"));
            ExitCode::from(FAILED)
        }
    }
}

async fn ask(args: &AskArgs) -> anyhow::Result<u8> {
    // There is always an idempotency key: with it a call can be repeated safely after its reply was lost, and a question that was
    // left open can be found again.
    let key = match &args.idempotency_key {
        Some(key) => key.clone(),
        None => SystemEntropy.uuid(SystemClock.now()).to_string(),
    };
    let asked = args.asked(&key)?;
    if args.preview {
        let remote = args.remote.connect("ask", ROLE)?;
        let preview = match asked {
            Asked::Confirm(question) => remote.heard(remote.client.preview(question)).await,
            Asked::Words(question) => remote.heard(remote.client.preview(question)).await,
            Asked::Form(question) => remote.heard(remote.client.preview(question)).await,
        };
        preview::print(&preview.map_err(|error| remote.failed(error))?, args.json)?;
        return Ok(0);
    }
    // The signals are listened for before anything is sent, so an early signal withdraws the question as well.
    let mut signals = Signals::listen()?;
    let conversation = Conversation { args, remote: args.remote.connect("ask", ROLE)?, key };
    // Boxed, because a question with all its parts is large.
    match asked {
        Asked::Confirm(question) => Box::pin(conversation.hold(&mut signals, question, |yes| *yes)).await,
        Asked::Words(question) => Box::pin(conversation.hold(&mut signals, question, |_| true)).await,
        Asked::Form(question) => Box::pin(conversation.hold(&mut signals, question, |_| true)).await,
    }
}

/// One question, from asking to its end.
struct Conversation<'a> {
    args: &'a AskArgs,
    remote: Remote,
    key: String,
}

impl Conversation<'_> {
    async fn hold<T>(&self, signals: &mut Signals, question: Question<T>, positive: fn(&T) -> bool) -> anyhow::Result<u8> {
        let mut pending = match self.asked(signals, question, positive).await? {
            ControlFlow::Continue(pending) => pending,
            ControlFlow::Break(code) => return Ok(code),
        };
        let asked_at = Instant::now();
        Self::announce(pending.record());
        let waited = tokio::select! {
            biased; // If an answer has already arrived, it wins over a signal.
            answer = self.answered(&mut pending, asked_at) => Ok(answer),
            interrupt = signals.next() => Err(interrupt),
        };
        match waited {
            Ok(answer) => self.conclude(pending.record(), answer, positive).await,
            Err(interrupt) => self.withdraw(signals, pending, interrupt, positive).await,
        }
    }

    /// Asks. If a signal comes meanwhile, this waits up to [`LAST_CALL`] for the server to say whether it took the question. The
    /// caller then knows whether a question stays open, or is told that this is unknown.
    async fn asked<T>(
        &self,
        signals: &mut Signals,
        question: Question<T>,
        positive: fn(&T) -> bool,
    ) -> anyhow::Result<ControlFlow<u8, Pending<T>>> {
        let (args, client, key) = (self.args, self.remote.client.clone(), self.key.clone());
        let asking = async move {
            let intent = client.create_intent(args.title()).active().idempotency_key(key).send().await?;
            let pending = client.ask(intent.id(), question).await?;
            // The idempotency key may name an earlier question that asked something else. A script looks at the exit code alone,
            // so a yes to that question must not count.
            if pending.record().question == args.question { Ok(pending) } else { Err(another_question()) }
        };
        let mut asking = std::pin::pin!(self.remote.heard(asking));
        let interrupt = tokio::select! {
            biased;
            asked = &mut asking => return asked.map(ControlFlow::Continue).map_err(|error| self.unasked(error)),
            interrupt = signals.next() => interrupt,
        };
        tell(
            "interrupted while asking; waiting for the server to say whether it took the question (press Ctrl-C again to stop waiting)",
        );
        let asked = tokio::select! {
            asked = timeout(LAST_CALL, asking) => asked.ok(),
            () = signals.insisted() => None,
        };
        let code = interrupt.exit_code();
        Ok(ControlFlow::Break(match asked {
            Some(Ok(pending)) => self.withdraw(signals, pending, interrupt, positive).await?,
            Some(Err(RequestInputError::Refused(_) | RequestInputError::Unsupported)) => {
                tell("interrupted; the question was not asked");
                code
            }
            Some(Err(_)) | None => {
                tell(format!("interrupted; if the question was asked, it is still open{}", self.come_back()));
                code
            }
        }))
    }

    fn unasked(&self, error: RequestInputError) -> anyhow::Error {
        match error {
            RequestInputError::Refused(problem) if problem.is("idempotency_mismatch") => {
                anyhow::anyhow!(
                    "the idempotency key {:?} names another question, or one asked more than 24 hours ago; ask under another key",
                    self.key
                )
            }
            RequestInputError::Refused(problem) => self.remote.refused(&problem).context("the question was not asked"),
            RequestInputError::Transport(error) if arrived_nowhere(&error) => {
                self.remote.lost(error).context("the question was probably not asked")
            }
            RequestInputError::Transport(error) => self.remote.lost(error).context(format!(
                "it is unknown whether the question was asked; if it was, it is still open{}",
                self.come_back()
            )),
            other @ (RequestInputError::Unsupported
            | RequestInputError::InputTimeout { .. }
            | RequestInputError::InputCancelled { .. }
            | RequestInputError::AccessLost { .. }
            | RequestInputError::InvalidAnswer { .. }) => anyhow::Error::new(other),
        }
    }

    /// Prints one line: who is asked, until when, and what happens if no answer comes.
    fn announce(record: &SuspensionRecord) {
        for warning in &record.warnings {
            // A warning may name fields. Their dots are left as they are, because they do not make an address.
            tell(format!("the server warns: {warning}"));
        }
        if record.resolution.is_some() {
            return tell("this question was asked before and has ended; to ask it anew, give another --idempotency-key");
        }
        let who = if record.notify_to.is_empty() {
            "no person by mail (the server has no operators, and --notify is not given); people can answer with `placet answer`"
                .to_owned()
        } else {
            record.notify_to.join(", ")
        };
        let now = SystemClock.now();
        let until = match record.ends_at() {
            Some(at) => {
                format!("until {} ({})", text::deadline(at, now, Language::English), text::time_left(at - now, Language::English))
            }
            None => "until it is answered or withdrawn (no --timeout)".to_owned(),
        };
        let silence = match (record.ends_at(), record.fallback_policy, &record.fallback_value) {
            (None, _, _) => String::new(),
            (Some(_), _, _) if record.ends_by_portfolio() => "; if no answer comes, nothing is printed (exit 2)".to_owned(),
            (Some(_), FallbackPolicy::CompleteWithFallback | FallbackPolicy::UseDefaultAndContinue, Some(value)) => {
                let word = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                format!("; if no answer comes, {word:?} is printed (exit 2)")
            }
            (Some(_), _, _) => "; if no answer comes, nothing is printed (exit 2)".to_owned(),
        };
        let question = text::quoted(&inert_line(&record.question), QUESTION_CHARS_MAX);
        tell(format!("asking {who}: “{question}”; open {until}{silence}; waiting…"));
    }

    /// Waits for the end, however often the server goes away and comes back.
    async fn answered<T>(&self, pending: &mut Pending<T>, asked_at: Instant) -> Result<Answer<T>, RequestInputError> {
        let mut pause = LOOK_AGAIN;
        loop {
            let waiting_since = Instant::now();
            match pending.answer().await {
                Err(RequestInputError::Transport(error)) if passes(&error) => {
                    // A proxy that cuts off long waits is no outage, and needs no report every minute.
                    match timeout(BLIP, self.remote.client.suspension(pending.suspension_id())).await {
                        Ok(Ok(_)) => {
                            // A wait that lasted a while was cut off, and begins again soon. A wait that was refused at once (too
                            // many waits, 429) would be refused again, so the pauses grow.
                            pause = if waiting_since.elapsed() > WAIT_AGAIN_MAX { LOOK_AGAIN } else { pause };
                            sleep(pause).await;
                            pause = WAIT_AGAIN_MAX.min(pause * 2);
                            continue;
                        }
                        Ok(Err(CallError::Refused(problem))) if !comes_too_often(&problem) => {
                            return Err(refused_while_waiting(problem, pending.record()));
                        }
                        Ok(Err(CallError::Refused(_) | CallError::Transport(_))) | Err(_) => {}
                    }
                    tell(format!("the server does not answer ({error}); trying again"));
                    self.found_again(pending.record(), asked_at, error).await?;
                    tell("the server is back, waiting…");
                }
                ended => return ended,
            }
        }
    }

    /// Tries to reach the server until the question's time and then `--grace` are over, or without end if the question has no
    /// deadline. The time counts from the moment this program asked, because the clocks of the two machines need not agree.
    async fn found_again(
        &self,
        record: &SuspensionRecord,
        asked_at: Instant,
        lost: TransportError,
    ) -> Result<(), RequestInputError> {
        let give_up_at = record.expires_at.and_then(|at| {
            let window = (at - record.suspended_at).to_std().unwrap_or_default();
            asked_at.checked_add(window.saturating_add(Duration::from_secs(u64::from(self.args.grace))))
        });
        let look = async {
            loop {
                match self.remote.client.suspension(record.id).await {
                    Ok(_) => return Ok(()),
                    Err(CallError::Transport(error)) if passes(&error) => sleep(LOOK_AGAIN).await,
                    Err(CallError::Refused(problem)) if comes_too_often(&problem) => sleep(LOOK_AGAIN).await,
                    Err(CallError::Refused(problem)) => return Err(refused_while_waiting(problem, record)),
                    Err(CallError::Transport(error)) => return Err(error.into()),
                }
            }
        };
        match give_up_at {
            Some(at) => tokio::time::timeout_at(at, look).await.unwrap_or(Err(RequestInputError::Transport(lost))),
            None => look.await,
        }
    }

    /// Prints how the question ended, and closes the intent.
    async fn conclude<T>(
        &self,
        record: &SuspensionRecord,
        answer: Result<Answer<T>, RequestInputError>,
        positive: fn(&T) -> bool,
    ) -> anyhow::Result<u8> {
        let replayed = answer.as_ref().is_ok_and(|answer| answer.replayed);
        let ending = match answer {
            Ok(answer) => Ending::of_answer(&answer, positive),
            Err(RequestInputError::InputTimeout { reason, .. }) => Ending::from(reason),
            Err(RequestInputError::InputCancelled { reason, .. }) => Ending::from(reason),
            Err(RequestInputError::AccessLost { .. }) => bail!(
                "the API key was revoked during the wait. The question stays open: \
                 make another key of the same name (placet keys create --role agent --name NAME){}",
                self.come_back()
            ),
            Err(RequestInputError::Refused(problem)) => return Err(self.remote.refused(&problem)),
            Err(RequestInputError::Transport(error)) => {
                let words = "no answer: the server could not be reached until after the deadline";
                return Err(anyhow::Error::new(error).context(format!("{words}{}", self.come_back())));
            }
            Err(other @ (RequestInputError::InvalidAnswer { .. } | RequestInputError::Unsupported)) => return Err(other.into()),
        };
        tell(ending.words(record));
        if self.args.json {
            remote::print_json(&ending.json(record, replayed))?;
        } else if let Some(value) = ending.value(record) {
            remote::print(&value)?;
        }
        self.close(record, ending).await;
        Ok(ending.exit_code())
    }

    /// Ends the intent, which was made for this question alone. The answer has been printed by then, so a failure only deserves a
    /// log line.
    async fn close(&self, record: &SuspensionRecord, ending: Ending) {
        if let Some(status) = ending.closes_as() {
            self.leave(record, status, None).await;
        }
    }

    /// Sets the final status of the intent of a question that has ended.
    async fn leave(&self, record: &SuspensionRecord, status: Status, reason: Option<&str>) {
        if !matches!(timeout(LAST_CALL, self.remote.client.set_status(record.intent_id, status, reason)).await, Ok(Ok(_))) {
            tracing::debug!(intent.id = %record.intent_id, "failed to close the intent of a question that has ended");
        }
    }

    /// Withdraws the question, or leaves it open with `--keep`. A second signal ends the attempt at once.
    async fn withdraw<T>(
        &self,
        signals: &mut Signals,
        mut pending: Pending<T>,
        interrupt: Interrupt,
        positive: fn(&T) -> bool,
    ) -> anyhow::Result<u8> {
        let code = interrupt.exit_code();
        if self.args.keep {
            tell(format!("interrupted; the question stays open{}", self.come_back()));
            return Ok(code);
        }
        let withdrawn = tokio::select! {
            withdrawn = timeout(LAST_CALL, pending.cancel(Some(interrupt.reason()))) => withdrawn.ok(),
            () = signals.insisted() => None,
        };
        match withdrawn {
            Some(Ok(())) => {
                tell("interrupted; the question is withdrawn");
                self.leave(pending.record(), Status::Abandoned, Some(interrupt.reason())).await;
            }
            Some(Err(CallError::Refused(problem))) if problem.is("already_resolved") || problem.is("expired") => {
                return self.ended_before(signals, pending, interrupt, positive).await;
            }
            Some(Err(CallError::Refused(problem))) => {
                tell(format!("interrupted; the question could not be withdrawn: {problem}"));
            }
            Some(Err(CallError::Transport(_))) | None => tell(format!(
                "interrupted; the question could not be withdrawn, because the server did not answer: it is still open{}",
                self.come_back()
            )),
        }
        Ok(code)
    }

    /// Concludes with the ending that came before the withdrawal: people who answered in time were told that their answer counts,
    /// so it does.
    async fn ended_before<T>(
        &self,
        signals: &mut Signals,
        mut pending: Pending<T>,
        interrupt: Interrupt,
        positive: fn(&T) -> bool,
    ) -> anyhow::Result<u8> {
        let answer = tokio::select! {
            answer = timeout(LAST_CALL, pending.answer()) => answer.ok(),
            () = signals.insisted() => None,
        };
        match answer {
            None | Some(Err(RequestInputError::Transport(_))) => {
                tell(format!("interrupted; the question had ended before, but the server did not say how{}", self.come_back()));
                Ok(interrupt.exit_code())
            }
            Some(answer) => {
                tell("interrupted, but the question had ended before");
                self.conclude(pending.record(), answer, positive).await
            }
        }
    }

    /// The hint that tells how to find this question again.
    fn come_back(&self) -> String {
        format!("; to come back to it within 24 hours of asking, run the same command with --idempotency-key {}", self.key)
    }
}

/// Whether the failure may pass, so that waiting helps.
fn passes(error: &TransportError) -> bool {
    matches!(error, TransportError::Network(_) | TransportError::Unavailable(_))
}

/// Whether the last try certainly did not reach the server: there was no connection, or the reply was a redirection.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "kinds of failures that the SDK comes to tell apart later say nothing here either"
)]
fn arrived_nowhere(error: &TransportError) -> bool {
    match error {
        TransportError::Network(error) => error.is_connect(),
        TransportError::Redirected { .. } => true,
        // A reply that cannot be read may come from a server that took the question.
        _ => false,
    }
}

/// Whether the server only asks for fewer calls. The question is then still open, and a later look helps.
fn comes_too_often(problem: &Problem) -> bool {
    problem.status == 429
}

/// A refusal like the server's own for an idempotency key that names another question.
fn another_question() -> RequestInputError {
    let (code, detail) = (Some("idempotency_mismatch".to_owned()), "the key names another question".to_owned());
    RequestInputError::Refused(Box::new(Problem { status: 422, code, detail, errors: Vec::new(), more: Map::new() }))
}

/// Turns a revoked key into [`RequestInputError::AccessLost`]: the question stays open, and the person who waits must learn that.
fn refused_while_waiting(problem: Box<Problem>, record: &SuspensionRecord) -> RequestInputError {
    match problem.status {
        401 | 403 => RequestInputError::AccessLost { problem, suspension_id: record.id },
        _ => RequestInputError::Refused(problem),
    }
}
