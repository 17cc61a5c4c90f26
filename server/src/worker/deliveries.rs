//! Sends queued messages to people. The steps for each message: lease its row, commit, call the channel, record the result.
//!
//! Guarantee: each message is sent at least once, with a message id that stays the same, so that a receiver recognizes a repeat;
//! and a channel that hangs or fails does not slow down the others. Mechanism: a leased row comes due again when its lease ends;
//! only the holder of the lease may complete it. Every channel has a lane, which limits how many of its messages are under way,
//! and each message is a task, so a slow channel holds up only its own messages. Failure: a crash between sending and completing
//! sends the message once more. A store that is away for a while causes no second message, because the result of a message is
//! kept until the store takes it; the same holds for a store that waits until it can trust the clock. A message may leave a
//! moment after its question was answered. A message that makes its channel panic fails alone.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use channels::{Answers, DeliveryError, Message, Occasion};
use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;
use domain::asking::policy::AskingPolicy;
use domain::base::clock::Clock;
use domain::base::ids::{DeliveryId, Entropy};
use domain::base::quotation::without_secret;
use domain::base::words::Language;
use domain::people::preferences::TimeZone;
use domain::suspension::channel::Channels;
use domain::suspension::plan::Plan;
use domain::suspension::{RequiredAssurance, ResponseType};
use futures_util::FutureExt;
use store::host::kill_points::{self, Point};
use store::{DeliveryResult, LeasedDelivery, Store, StoreError, Turn};
use tokio::sync::watch;
use tokio::task::JoinSet;
use url::Url;

use super::circuit::Outcome;
use super::lane::{Change, Lane};
use super::logins::Logins;
use super::results::{Kept, Results};
use crate::observe::metrics::Metrics;

/// How many messages are on their way to all webhook endpoints at the same time.
const WEBHOOKS_IN_FLIGHT_MAX: u32 = 64;
/// The longest sleep. A wake-up is only a hint, so the loop looks again by itself.
const SLEEP_MAX: Duration = Duration::from_secs(5);
/// The pause before the loop looks again if a message seems due but was not leased.
const NOT_OURS: Duration = Duration::from_millis(10);
/// The pause after a failure of the store.
const PAUSE: Duration = Duration::from_secs(1);
/// How long a server that stops goes on recording the results of its messages.
const LAST_TRIES: Duration = Duration::from_secs(10);

/// The parts that the loops of messages use.
#[derive(Clone)]
pub struct Resources {
    pub store: Arc<dyn Store>,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    pub metrics: Arc<Metrics>,
}

/// The delivery loop.
pub struct Deliveries {
    resources: Resources,
    lanes: Vec<Lane>,
    results: Results,
    public_url: Url,
    operators: Vec<String>,
    channels: Channels,
    display_time_zone: Option<Tz>,
    /// Sends login links; absent on a server that sends no mail.
    logins: Option<Arc<Logins>>,
}

impl Deliveries {
    /// Makes a loop that sends through `lanes` the questions asked under this policy.
    pub fn new(resources: Resources, lanes: Vec<Lane>, public_url: Url, asking: &AskingPolicy) -> Self {
        for lane in &lanes {
            resources.metrics.channel_known(&lane.name);
            if lane.shares_room() {
                resources.metrics.circuit_closed(&lane.name);
            }
        }
        let (operators, channels) = (asking.operators.clone(), asking.channels.clone());
        Self {
            resources,
            lanes,
            results: Results::default(),
            public_url,
            operators,
            channels,
            display_time_zone: None,
            logins: None,
        }
    }

    /// Adds this time zone to the times in mails.
    #[must_use]
    pub fn in_time_zone(self, display_time_zone: Option<Tz>) -> Self {
        Self { display_time_zone, ..self }
    }

    /// Sends login links too.
    #[must_use]
    pub fn with_logins(self, logins: Option<Logins>) -> Self {
        Self { logins: logins.map(Arc::new), ..self }
    }

    /// Sends the mails to admins that are due; returns how many were taken.
    pub async fn alert(&self) -> u64 {
        match &self.logins {
            Some(logins) => logins.alert().await,
            None => 0,
        }
    }

    /// Whether the server sends login links.
    pub(crate) fn sends_logins(&self) -> bool {
        self.logins.is_some()
    }

    /// Sends everything that is due; returns the number of messages, and when the next one is due.
    pub async fn run_due(self: &Arc<Self>) -> Result<(usize, Option<DateTime<Utc>>), StoreError> {
        let mut under_way = JoinSet::new();
        let done = self.turn_until_idle(&mut under_way).await;
        // If one task fails, the others still run to their end: no other task would record the result of a task that was dropped.
        while let Some(ended) = under_way.join_next().await {
            report(ended);
        }
        done
    }

    async fn turn_until_idle(
        self: &Arc<Self>,
        under_way: &mut JoinSet<Result<(), StoreError>>,
    ) -> Result<(usize, Option<DateTime<Utc>>), StoreError> {
        let mut sent = 0;
        loop {
            let step = self.step(under_way).await?;
            sent += step.sent;
            match under_way.join_next().await {
                Some(ended) => ended.unwrap_or_else(|error| Err(StoreError::Failed(error.into())))?,
                None if step.sent + step.untried == 0 => return Ok((sent, step.next_due)),
                None => {}
            }
        }
    }

    /// Runs until the server stops; messages under way are finished first.
    pub(crate) async fn run(self: &Arc<Self>, mut stopping: watch::Receiver<bool>) {
        // Logs the results that were not recorded, however this function ends, even if its future is dropped in the middle.
        let _last_word = LastWord(&self.results);
        let mut under_way = JoinSet::new();
        while !*stopping.borrow() {
            let pause = match self.step(&mut under_way).await {
                Ok(step) if step.untried > 0 => Duration::ZERO,
                Ok(step) => self.until(&step),
                Err(error) => {
                    tracing::error!(error = %error, "failed to lease messages; trying again");
                    PAUSE
                }
            };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.resources.store.hub().delivery() => {}
                Some(ended) = under_way.join_next() => report(ended),
                // The result is ignored: it is an error only if the sender was dropped, and then the server has stopped.
                _ = stopping.changed() => {}
            }
            // All tasks that have ended by now are collected before the next step. So one transaction leases the messages that
            // replace all of theirs.
            while let Some(ended) = under_way.try_join_next() {
                report(ended);
            }
        }
        while let Some(ended) = under_way.join_next().await {
            report(ended);
        }
        if tokio::time::timeout(LAST_TRIES, self.record_the_last()).await.is_err() {
            tracing::warn!(
                "the server stops before the store recorded the outcomes of the last messages; these messages may be sent once more"
            );
        }
    }

    /// How long the loop may sleep after `step`.
    fn until(&self, step: &Step) -> Duration {
        let Some(next) = step.next_due else { return SLEEP_MAX };
        let left = (next - self.resources.clock.now()).to_std().unwrap_or_default();
        // A message that seems due and was not leased belongs to another server, or is not yet due by the database's clock:
        // asking without a pause does not help.
        let pause = if step.sent == 0 { NOT_OURS } else { Duration::ZERO };
        left.clamp(pause, SLEEP_MAX)
    }

    /// Leases as many messages as there is room for, and starts sending them.
    async fn step(self: &Arc<Self>, under_way: &mut JoinSet<Result<(), StoreError>>) -> Result<Step, StoreError> {
        self.reopen();
        // Results are offered to the store before anything is leased, because a message whose result is recorded is not leased
        // again. Messages that are already under way go on meanwhile.
        self.offer(self.results.due(self.resources.clock.running()), under_way);
        if self.results.is_offering() && !under_way.is_empty() {
            return Ok(Step { sent: 0, untried: 0, next_due: None });
        }
        let now = self.resources.clock.running();
        let shared: u32 = self.lanes.iter().filter(|lane| lane.shares_room()).map(Lane::in_flight).sum();
        let turn = Turn {
            lanes: self.lanes.iter().map(|lane| lane.turn(now)).collect(),
            shared_room: WEBHOOKS_IN_FLIGHT_MAX.saturating_sub(shared),
        };
        let leased = self.resources.store.lease_deliveries(turn).await?;
        for (channel, place) in &leased.lines {
            if let Some(lane) = self.lanes.iter().find(|lane| lane.name == *channel) {
                lane.looked_to(*place);
            }
        }
        for (channel, messages) in &leased.turned_away {
            tracing::warn!(
                delivery.channel = channel,
                messages,
                "too many messages wait for this endpoint; the server gave these up and asks people by another channel instead"
            );
        }
        if !leased.deliveries.is_empty() {
            kill_points::reached(Point::AfterLease);
        }
        let mut sent = 0;
        for delivery in leased.deliveries {
            // Only messages of channels that have a lane are leased, so the lane is always found.
            let Some(lane) = self.lanes.iter().position(|lane| lane.name == delivery.channel) else { continue };
            // If this message was tried before and only the result of that try is not stored yet, the result is stored under the
            // new lease, and the message is not sent again.
            if let Some(kept) = self.results.under(delivery.rid, delivery.lease) {
                self.offer([kept], under_way);
                continue;
            }
            let this = self.clone();
            self.lanes[lane].begin();
            sent += 1;
            under_way.spawn(async move { this.send(&this.lanes[lane], delivery).await });
        }
        let (logins, login_due) = match &self.logins {
            Some(logins) => logins.step(under_way).await?,
            None => (0, None),
        };
        sent += logins;
        let next_due = leased.next_due.into_iter().chain(self.result_due()).chain(login_due).min();
        Ok(Step { sent, untried: leased.untried, next_due })
    }

    /// The time of the wall clock at which the next result is offered again.
    fn result_due(&self) -> Option<DateTime<Utc>> {
        let left = self.results.next_due()?.saturating_sub(self.resources.clock.running());
        Some(self.resources.clock.now() + TimeDelta::from_std(left).unwrap_or_default())
    }

    async fn send(&self, lane: &Lane, delivery: LeasedDelivery) -> Result<(), StoreError> {
        let carry = async { lane.channel.deliver(&self.message(&delivery)).await };
        let outcome = AssertUnwindSafe(carry).catch_unwind().await;
        kill_points::reached(Point::AfterSend);
        let token = delivery.token.expose();
        // The channel's reply may repeat the token of the answer link. The token is removed first, because the reply is logged,
        // kept in an event, and shown for other messages.
        let heard = |words: String| without_secret(&words, &token);
        let (result, seen) = match outcome {
            Ok(Ok(receipt)) => (DeliveryResult::Sent(heard(receipt.reply)), Outcome::Worked),
            Ok(Err(DeliveryError::Retry { reason, after })) => {
                let after = after.and_then(|after| TimeDelta::from_std(after).ok());
                (DeliveryResult::Retry { reason: heard(reason), after }, Outcome::Failed)
            }
            Ok(Err(DeliveryError::Permanent { reason })) => (DeliveryResult::Failed(heard(reason)), Outcome::Failed),
            Ok(Err(DeliveryError::Gone { reason })) => {
                let reason = heard(reason);
                (DeliveryResult::Failed(reason.clone()), Outcome::Gone(reason))
            }
            Err(_) => {
                (DeliveryResult::Failed("the channel's code panicked while it handled this message".to_owned()), Outcome::Failed)
            }
        };
        self.end(lane, seen);
        // This line is for debugging only. The log tells of the delivery, with its question, when the result is recorded.
        tracing::debug!(delivery.channel = lane.name, delivery.id = %delivery.id, delivery.tries = delivery.tries, delivery.result = word(&result), "message handled");
        if let DeliveryResult::Retry { reason, .. } | DeliveryResult::Failed(reason) = &result {
            tracing::warn!(delivery.channel = lane.name, delivery.id = %delivery.id, reason, "a message was not handed over; `placet doctor` examines the channels");
        }
        let kept = Kept::new(&delivery, result, self.resources.clock.running());
        self.results.begin(&kept);
        self.record(lane, kept).await
    }

    /// Records the result of a message, now or, if the store cannot take it, later: without the record the message would go out
    /// again.
    async fn record(&self, lane: &Lane, kept: Kept) -> Result<(), StoreError> {
        let recorded = self.resources.store.complete_delivery(kept.rid, kept.lease, kept.result.clone()).await;
        let for_later = match &recorded {
            Err(StoreError::Unavailable(why)) => Some(why.as_str()),
            Err(StoreError::Held(why)) => Some(*why),
            Err(StoreError::Rejected(_) | StoreError::Damaged(_) | StoreError::Failed(_)) | Ok(_) => None,
        };
        if for_later.is_some_and(|why| self.results.keep(&kept, why, self.resources.clock.running())) {
            return Ok(());
        }
        let recorded = match recorded {
            Err(StoreError::Unavailable(_) | StoreError::Held(_)) | Ok(true) => Ok(()),
            Ok(false) => {
                Self::lease_is_gone(&kept);
                Ok(())
            }
            Err(error) => Err(error),
        };
        if self.results.end(&kept) {
            lane.release();
        }
        recorded
    }

    /// Logs that the lease of a result is gone. If recording the result was tried before, that try probably succeeded although no
    /// reply came, and a recorded result ends the lease.
    fn lease_is_gone(kept: &Kept) {
        if !kept.was_tried() {
            tracing::warn!(
                delivery.id = %kept.id,
                "this server's lease on the message ended before the outcome was recorded; another worker may send the \
                 message once more"
            );
        } else if kept.was_sent() {
            tracing::warn!(
                delivery.id = %kept.id,
                "the lease of this sent message is gone: an earlier try recorded the sending, or another worker sends the message once more"
            );
        }
    }

    /// Offers results to the store once more.
    fn offer(self: &Arc<Self>, results: impl IntoIterator<Item = Kept>, under_way: &mut JoinSet<Result<(), StoreError>>) {
        for kept in results {
            // Only messages of channels that have a lane were sent, so the lane is always found.
            let Some(lane) = self.lanes.iter().position(|lane| lane.name == kept.channel) else { continue };
            let this = self.clone();
            under_way.spawn(async move { this.record(&this.lanes[lane], kept).await });
        }
    }

    /// Records the remaining results before the server stops; the next server would send each message without a result again.
    async fn record_the_last(self: &Arc<Self>) {
        let mut under_way = JoinSet::new();
        loop {
            self.offer(self.results.all(), &mut under_way);
            while let Some(ended) = under_way.join_next().await {
                report(ended);
            }
            if self.results.is_empty() {
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Closes the circuits of endpoints to which an admin had a message sent again: the admin believes that they work.
    fn reopen(&self) {
        for name in self.resources.store.hub().take_redriven() {
            if self.lanes.iter().any(|lane| lane.name == name && lane.reopen()) {
                self.resources.metrics.circuit_closed(&name);
                tracing::info!(
                    delivery.channel = name,
                    "an admin had a message sent again, so the server sends to this endpoint again (its circuit is closed)"
                );
            }
        }
    }

    /// Tells the lane the outcome of a try, and logs for the operator what that changed in its circuit.
    fn end(&self, lane: &Lane, seen: Outcome) {
        let gone = matches!(seen, Outcome::Gone(_));
        let mut random = [0; 2];
        self.resources.entropy.fill(&mut random);
        match lane.end(seen, self.resources.clock.running(), u16::from_le_bytes(random)) {
            None => {}
            Some(Change::Opened) => {
                self.resources.metrics.circuit_opened(&lane.name);
                let what = if gone {
                    "the endpoint says it is gone (410): nothing is sent to it until a restart or a redrive"
                } else {
                    "the endpoint keeps failing: its circuit is open, and it is probed now and then"
                };
                tracing::error!(delivery.channel = lane.name, "{what}");
            }
            Some(Change::Closed) => {
                self.resources.metrics.circuit_closed(&lane.name);
                tracing::info!(delivery.channel = lane.name, "the endpoint works again: its circuit is closed");
            }
        }
    }

    /// The id of a message in the headers of mails.
    pub(crate) fn message_id(&self, id: DeliveryId) -> String {
        format!("{id}@{}", self.public_url.domain().unwrap_or("localhost"))
    }

    /// The message as a channel sends it to a recipient.
    pub(crate) fn message(&self, delivery: &LeasedDelivery) -> Message {
        let suspension = &delivery.suspension;
        let answers = match suspension.response_type {
            ResponseType::Choice | ResponseType::Confirm => Answers::Choices(suspension.choices.clone()),
            ResponseType::Text => Answers::Text,
            ResponseType::Form => Answers::Form,
        };
        let language = delivery.preferences.language().unwrap_or_default();
        Message {
            delivery_id: delivery.id,
            intent_id: suspension.intent_id,
            suspension_id: suspension.id,
            attempt: delivery.attempt,
            sequence: delivery.sequence,
            queued_at: delivery.queued_at,
            message_id: self.message_id(delivery.id),
            bounce_token: delivery.bounce_token.expose(),
            in_reply_to: delivery.first.map(|first| self.message_id(first)),
            recipient: delivery.recipient.clone(),
            language,
            agent: delivery.agent.clone(),
            intent_title: delivery.intent_title.clone(),
            question: delivery.question.question.clone(),
            waiting: delivery.waiting,
            answers,
            demands: demands(delivery, language),
            link: format!("{}a/{}", self.public_url, delivery.token.expose()),
            occasion: occasion(delivery, language),
            sent_at: delivery.now,
            suspended_at: suspension.suspended_at,
            expires_at: suspension.ends_at(),
            plan: plan(delivery, &self.channels, language),
            display_time_zone: delivery.preferences.time_zone.map(TimeZone::tz).or(self.display_time_zone),
            public_host: crate::edge::address::host_with_port(&self.public_url),
            why_you: self.why_you(delivery, language),
        }
    }

    /// Why the recipient is asked; completes [`Language::sent_to`].
    fn why_you(&self, delivery: &LeasedDelivery, language: Language) -> String {
        if let Some(person) = &delivery.in_place_of {
            return language.because_in_place_of(person);
        }
        // If the agent named no recipients, `recipients` holds the operators. A recipient who is not an operator then comes from
        // an escalation ladder, which is usually the agent's own, or is the room to which a webhook posts.
        let named = delivery.question.assignees.is_some()
            || delivery.question.recipients != self.operators
            || !self.operators.contains(&delivery.recipient);
        if named { language.because_the_agent_asked() } else { language.because_you_operate() }.to_owned()
    }
}

/// The demands of a question on an answer, and what makes it weigh more than others, in words. The agent's own explanation is not among
/// them: a message may pass through other hands (RFC-0025 §11).
fn demands(delivery: &LeasedDelivery, language: Language) -> Vec<String> {
    let question = &delivery.question;
    let people = delivery.suspension.quorum.as_ref().map(|quorum| quorum.required_approvals).filter(|people| *people > 1);
    let quorum = people.map(|people| language.people_must_agree(people));
    let needs_login = question.required_assurance.is_some_and(|required| required < RequiredAssurance::Passkey);
    let login = needs_login.then_some(language.answer_needs_login());
    let comment = question.comment_on_refusal.as_ref().map(|_| language.refusal_needs_comment());
    let risk = question.risk.map(|risk| risk.sentence(language));
    let grounds = question.grounds.iter().flat_map(|grounds| grounds.in_a_message(language));
    quorum.into_iter().chain(login.into_iter().chain(comment).chain(risk).chain(grounds).map(str::to_owned)).collect()
}

/// The reason of this message: a person is asked, asked again, or asked because others did not answer.
fn occasion(delivery: &LeasedDelivery, language: Language) -> Occasion {
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
    Occasion::Escalation { asked_before: delivery.asked_before.iter().map(|person| language.no_answer_yet(person)).collect() }
}

/// The steps still to come, each with its time and a sentence for this recipient; the last row tells how the question ends.
fn plan(delivery: &LeasedDelivery, channels: &Channels, language: Language) -> Vec<(DateTime<Utc>, String)> {
    let plan = Plan::of(&delivery.suspension, &delivery.question, channels);
    let to_come = plan.steps.iter().filter(|step| step.attempt > delivery.attempt);
    let rows = to_come.map(|step| {
        let you = step.tells(&delivery.recipient);
        let sentence = if you { language.you_get_a_reminder().to_owned() } else { language.will_be_asked(&step.recipients()) };
        (step.at, sentence)
    });
    rows.chain(plan.ends_at.map(|at| (at, plan.silence.sentence(language)))).collect()
}

fn word(result: &DeliveryResult) -> &'static str {
    match result {
        DeliveryResult::Sent(_) => "sent",
        DeliveryResult::Retry { .. } => "retry",
        DeliveryResult::Failed(_) => "failed",
    }
}

/// Logs, when dropped, the results that were not recorded.
struct LastWord<'a>(&'a Results);

impl Drop for LastWord<'_> {
    fn drop(&mut self) {
        self.0.give_up();
    }
}

/// The result of one step of the loop.
struct Step {
    sent: usize,
    untried: usize,
    next_due: Option<DateTime<Utc>>,
}

/// Logs a failed task. The message itself is safe: its lease ends, and it comes due again.
fn report(ended: Result<Result<(), StoreError>, tokio::task::JoinError>) {
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::error!(error = %error, "failed to record the outcome of a message; the message comes due again when its lease ends");
        }
        Err(error) => tracing::error!(error = %error, "a message's task ended before its time"),
    }
}
