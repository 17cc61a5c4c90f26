//! Posts events to the endpoints of subscriptions. The steps for each message: lease it, commit, post it, record the result.
//!
//! Guarantee: each endpoint is told of its events in their order and at least once, with an id that stays the same, or is told
//! how many it missed; one agent's slow endpoints take up at most four of the messages that may be under way for all agents.
//! Mechanism: the log is the queue, and a subscription's place in it moves when a message was accepted. A leased message comes
//! due again when its lease ends. Failure: a crash between posting a message and recording its result posts the message once
//! more.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use channels::{DeliveryError, Notification, NotificationData, Subscribers};
use chrono::TimeDelta;
use store::{DeliveryResult, LeasedPost, Store, StoreError};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::wakes::{Wakes, report, report_ended};
use crate::edge::pushes::Pushes;
use crate::observe::metrics::Metrics;

/// How many messages are on their way at the same time.
const IN_FLIGHT_MAX: usize = 64;
/// How often the loop looks for events.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// The pause before the loop looks again after a message ended, or after a look passed over subscriptions without a message. A
/// look reads many rows, so the loop waits until one look can serve several changes.
const LOOK_SOON: Duration = Duration::from_millis(50);

/// The loop.
pub struct Subscriptions {
    store: Arc<dyn Store>,
    subscribers: Arc<Subscribers>,
    metrics: Arc<Metrics>,
    // The creator of the subscription, for each message under way. A std mutex will do: it is never held across an await.
    under_way: Mutex<Vec<String>>,
    /// The endpoints that are told when a suspension is over.
    wakes: Arc<Wakes>,
    /// The endpoints to which the changes of tasks may be pushed.
    pushes: Option<Arc<Pushes>>,
}

impl Subscriptions {
    /// Makes a loop that posts to the endpoints that `subscribers` permits, and to those of `wakes`.
    pub fn new(store: Arc<dyn Store>, subscribers: Arc<Subscribers>, metrics: Arc<Metrics>, wakes: Arc<Wakes>) -> Self {
        Self { store, subscribers, metrics, under_way: Mutex::default(), wakes, pushes: None }
    }

    /// Pushes the changes of tasks too.
    #[must_use]
    pub(crate) fn pushing(self, pushes: Option<Arc<Pushes>>) -> Self {
        Self { pushes, ..self }
    }

    /// Sends everything that is due, wakes too; returns how many messages it sent.
    pub async fn run_due(self: &Arc<Self>) -> Result<usize, StoreError> {
        let (mut under_way, mut sent) = (JoinSet::new(), self.wakes.run_due().await?);
        loop {
            let (begun, passed) = self.step(&mut under_way).await?;
            sent += begun;
            if passed > 0 {
                continue;
            }
            match under_way.join_next().await {
                Some(ended) => report(ended),
                None if begun == 0 => return Ok(sent),
                None => {}
            }
        }
    }

    /// Runs until the server stops, beside the loop of the wakes; messages under way are finished first.
    pub(crate) async fn run(self: &Arc<Self>, stopping: watch::Receiver<bool>) {
        futures_util::future::join(self.wakes.run(stopping.clone()), self.post(stopping)).await;
    }

    async fn post(self: &Arc<Self>, mut stopping: watch::Receiver<bool>) {
        let mut under_way = JoinSet::new();
        while !*stopping.borrow() {
            let pause = match self.step(&mut under_way).await {
                // One transaction leases only a few messages, so more may be due, and the loop looks again at once. It pauses
                // at the latest when as many messages are under way as may be.
                Ok((begun, _)) if begun > 0 => {
                    report_ended(&mut under_way);
                    continue;
                }
                Ok((_, passed)) if passed > 0 => LOOK_SOON,
                Ok(_) => LOOK_EVERY,
                Err(error) => {
                    tracing::warn!(error = %error, "failed to look for events to tell endpoints of; trying again");
                    LOOK_EVERY
                }
            };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                // The result is ignored: it is an error only if the sender was dropped, and then the server has stopped.
                _ = stopping.changed() => {}
                () = ended(&mut under_way) => tokio::time::sleep(LOOK_SOON).await,
            }
            report_ended(&mut under_way);
        }
        while let Some(ended) = under_way.join_next().await {
            report(ended);
        }
    }

    /// Leases as many messages as may still be under way, and starts sending them. Returns the number of these messages, and the
    /// number of subscriptions that were passed over without a message.
    async fn step(self: &Arc<Self>, under_way: &mut JoinSet<Result<(), StoreError>>) -> Result<(usize, usize), StoreError> {
        let room = IN_FLIGHT_MAX - under_way.len();
        if room == 0 {
            return Ok((0, 0));
        }
        let creators = self.under_way().clone();
        let leased = self.store.lease_posts(u32::try_from(room).unwrap_or(1), creators).await?;
        let begun = leased.posts.len();
        for post in leased.posts {
            let (this, creator) = (self.clone(), post.subscription.created_by.name.clone());
            self.under_way().push(creator.clone());
            under_way.spawn(async move {
                let sent = this.send(post).await;
                let mut creators = this.under_way();
                if let Some(at) = creators.iter().position(|one| *one == creator) {
                    creators.swap_remove(at);
                }
                drop(creators);
                sent
            });
        }
        Ok((begun, leased.passed))
    }

    fn under_way(&self) -> MutexGuard<'_, Vec<String>> {
        // A panic cannot leave the list half changed, so a poisoned lock is safe to use.
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn send(&self, post: LeasedPost) -> Result<(), StoreError> {
        let told = match (&post.subscription.push, &self.pushes) {
            (None, _) => self.tell(&post).await,
            (Some(_), Some(pushes)) => pushes.tell(&*self.store, &post).await,
            (Some(_), None) => Err(DeliveryError::Gone { reason: "the operator allows no pushes any more".to_owned() }),
        };
        let result = match told {
            Ok(()) => DeliveryResult::Sent(String::new()),
            Err(DeliveryError::Retry { reason, after }) => {
                DeliveryResult::Retry { reason, after: after.and_then(|after| TimeDelta::from_std(after).ok()) }
            }
            Err(DeliveryError::Permanent { reason } | DeliveryError::Gone { reason }) => DeliveryResult::Failed(reason),
        };
        if let DeliveryResult::Retry { reason, .. } = &result {
            tracing::warn!(subscription.id = %post.subscription.id, reason, "an endpoint was not told of an event");
        }
        self.metrics.posted(&result);
        self.store.complete_post(post.rid, post.lease, post.sequence, result).await.map(drop)
    }

    /// Tells the endpoint of a subscription of the API.
    async fn tell(&self, post: &LeasedPost) -> Result<(), DeliveryError> {
        let LeasedPost { subscription, sequence, event_type, created_at, missed, secret, now, .. } = post;
        let notification = Notification {
            r#type: event_type,
            timestamp: *created_at,
            data: NotificationData {
                subscription_id: subscription.id,
                subscriber_id: &subscription.created_by.name,
                intent_id: subscription.intent_id,
                sequence: *sequence,
                missed: *missed,
            },
        };
        self.subscribers.tell(&subscription.body.webhook_url, secret, &notification, *now).await.map(drop)
    }
}

/// Resolves when a message has ended; never if none is under way.
async fn ended(under_way: &mut JoinSet<Result<(), StoreError>>) {
    match under_way.join_next().await {
        Some(ended) => report(ended),
        None => std::future::pending().await,
    }
}
