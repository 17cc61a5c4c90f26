//! Carries queued messages to people: lease, commit, call, complete by token.
//!
//! Guarantee: at least once, with a message id that stays the same, so that a repeat is recognisable. Mechanism: a leased row comes due
//! again when its lease ends; only the holder of the lease may complete it. Failure: a crash between sending and completing sends the
//! message once more; a message may leave a moment after its question was answered. A message that makes its channel panic fails alone.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use channels::{Answers, Channel, DeliveryError, Message, Occasion};
use chrono::{DateTime, TimeDelta, Utc};
use domain::clock::Clock;
use domain::ids::DeliveryId;
use domain::plan::Plan;
use domain::planted::{Bug, planted};
use domain::suspension::ResponseType;
use domain::words;
use futures_util::FutureExt;
use futures_util::stream::{self, StreamExt};
use tokio::sync::watch;
use url::Url;

use crate::kill_points::{self, Point};
use crate::store::{DeliveryResult, LeasedDelivery, Store, StoreError};

/// Messages on their way at the same time.
const IN_FLIGHT_MAX: usize = 16;
/// The longest sleep: wake-ups are hints, looking again is the truth.
const SLEEP_MAX: Duration = Duration::from_secs(5);
/// The pause after a failure of the store.
const PAUSE: Duration = Duration::from_secs(1);

/// The delivery loop.
pub struct Deliveries {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    channel: Arc<dyn Channel>,
    public_url: Url,
    operators: Vec<String>,
}

impl Deliveries {
    /// A loop over `store` that sends through `channel`.
    pub fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        channel: Arc<dyn Channel>,
        public_url: Url,
        operators: Vec<String>,
    ) -> Self {
        Self { store, clock, channel, public_url, operators }
    }

    /// Sends everything that is due; returns how many messages that were, and when the next one is due.
    pub async fn run_due(&self) -> Result<(usize, Option<DateTime<Utc>>), StoreError> {
        self.run_due_until(|| false).await
    }

    /// As [`Deliveries::run_due`], but leases nothing more once `stop` says so.
    async fn run_due_until(&self, stop: impl Fn() -> bool) -> Result<(usize, Option<DateTime<Utc>>), StoreError> {
        let mut sent = 0;
        loop {
            if stop() {
                return Ok((sent, None));
            }
            let leased = self.store.lease_deliveries().await?;
            if leased.deliveries.is_empty() && leased.obsolete == 0 {
                return Ok((sent, leased.next_due));
            }
            if !leased.deliveries.is_empty() {
                kill_points::reached(Point::AfterLease);
            }
            sent += leased.deliveries.len();
            let results: Vec<_> = stream::iter(leased.deliveries)
                .map(|delivery| self.send(delivery))
                .buffer_unordered(IN_FLIGHT_MAX)
                .collect()
                .await;
            results.into_iter().collect::<Result<(), StoreError>>()?;
        }
    }

    /// Runs until the server stops; messages under way are finished first.
    pub(crate) async fn run(&self, mut stopping: watch::Receiver<bool>) {
        while !*stopping.borrow() {
            let pause = match self.run_due_until(|| *stopping.borrow()).await {
                Ok((_, next)) => {
                    next.map_or(SLEEP_MAX, |next| (next - self.clock.now()).to_std().unwrap_or_default().min(SLEEP_MAX))
                }
                Err(error) => {
                    tracing::error!(error = %error, "failed to deliver messages; trying again");
                    PAUSE
                }
            };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.store.hub().delivery() => {}
                // A sender that is gone means the same.
                _ = stopping.changed() => {}
            }
        }
    }

    async fn send(&self, delivery: LeasedDelivery) -> Result<(), StoreError> {
        let carry = async { self.channel.deliver(&self.message(&delivery)).await };
        if planted(Bug::SentBeforeSending) {
            let early = DeliveryResult::Sent(String::new());
            self.store.complete_delivery(delivery.rid, delivery.lease, early).await?;
        }
        let outcome = AssertUnwindSafe(carry).catch_unwind().await;
        kill_points::reached(Point::AfterSend);
        let result = match outcome {
            Ok(Ok(receipt)) => DeliveryResult::Sent(receipt.reply),
            Ok(Err(DeliveryError::Retry { reason, after })) => {
                DeliveryResult::Retry { reason, after: after.and_then(|after| TimeDelta::from_std(after).ok()) }
            }
            Ok(Err(DeliveryError::Permanent { reason })) => DeliveryResult::Failed(reason),
            Err(_) => DeliveryResult::Failed("the channel panicked over this message".to_owned()),
        };
        tracing::info!(delivery.channel = self.channel.name(), delivery.id = %delivery.id, delivery.tries = delivery.tries, delivery.result = word(&result), "message handled");
        if let DeliveryResult::Retry { reason, .. } | DeliveryResult::Failed(reason) = &result {
            tracing::warn!(delivery.id = %delivery.id, reason, "a message was not handed over; `placet doctor` examines the mail server");
        }
        if !self.store.complete_delivery(delivery.rid, delivery.lease, result).await? {
            tracing::warn!(delivery.id = %delivery.id, "the lease on this message was lost; another worker has it");
        }
        Ok(())
    }

    fn message_id(&self, id: DeliveryId) -> String {
        format!("{id}@{}", self.public_url.domain().unwrap_or("localhost"))
    }

    fn message(&self, delivery: &LeasedDelivery) -> Message {
        let suspension = &delivery.suspension;
        let answers = match suspension.response_type {
            ResponseType::Choice | ResponseType::Confirm => {
                Answers::Choices(suspension.choices.iter().map(|choice| choice.label.clone()).collect())
            }
            ResponseType::Text => Answers::Text,
            ResponseType::Form => Answers::Form,
        };
        // Operators are asked when the agent named nobody; whom a ladder names, the agent named.
        let named = delivery.question.recipients != self.operators || !self.operators.contains(&delivery.recipient);
        Message {
            message_id: self.message_id(delivery.id),
            in_reply_to: delivery.first.map(|first| self.message_id(first)),
            recipient: delivery.recipient.clone(),
            agent: delivery.agent.clone(),
            intent_title: delivery.intent_title.clone(),
            question: delivery.question.question.clone(),
            answers,
            link: format!("{}a/{}", self.public_url, delivery.token.expose()),
            occasion: occasion(delivery),
            sent_at: delivery.now,
            suspended_at: suspension.suspended_at,
            expires_at: suspension.expires_at,
            plan: plan(delivery),
            public_host: crate::pages::host_with_port(&self.public_url),
            why_you: if named { words::BECAUSE_THE_AGENT_ASKED } else { words::BECAUSE_YOU_OPERATE }.to_owned(),
        }
    }
}

/// Why this message goes out: somebody is asked, asked again, or asked because others did not answer.
fn occasion(delivery: &LeasedDelivery) -> Occasion {
    if delivery.first.is_some() && delivery.repeated {
        return Occasion::RemindedOnRequest;
    }
    if delivery.first.is_some() {
        let attempts = delivery.question.retry_policy.as_ref().map_or(delivery.attempt, |policy| policy.max_attempts);
        return Occasion::Reminder { attempt: delivery.attempt, attempts };
    }
    if delivery.asked_before.is_empty() {
        return Occasion::Question;
    }
    Occasion::Escalation { asked_before: delivery.asked_before.iter().map(|person| words::no_answer_yet(person)).collect() }
}

/// Who is told when, from now on, as this recipient should read it; the last row is the end.
fn plan(delivery: &LeasedDelivery) -> Vec<(DateTime<Utc>, String)> {
    let plan = Plan::of(&delivery.suspension, &delivery.question);
    let to_come = plan.steps.iter().filter(|step| step.attempt > delivery.attempt);
    let rows = to_come.map(|step| {
        let you = step.tells(&delivery.recipient);
        let sentence = if you { words::YOU_GET_A_REMINDER.to_owned() } else { words::will_be_asked(step.recipients) };
        (step.at, sentence)
    });
    rows.chain(plan.ends_at.map(|at| (at, plan.silence.sentence()))).collect()
}

fn word(result: &DeliveryResult) -> &'static str {
    match result {
        DeliveryResult::Sent(_) => "sent",
        DeliveryResult::Retry { .. } => "retry",
        DeliveryResult::Failed(_) => "failed",
    }
}
