//! Announces commits. A wake-up is only a hint: the woken waiter reads the database again. Only the ending of a suspension is
//! passed on with its wake-up, because an ending is final.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::base::ids::{IntentId, SuspensionId};
use domain::suspension::Suspension;
use tokio::sync::{Notify, watch};

use super::fact::Fact;
use super::span::SpanRecord;
use super::story::Story;
use crate::observer::Observer;
use crate::publications::Publications;
use crate::stream::{Followed, StreamCursor};

/// Something a transaction did that requests or tasks may be waiting for, or that is counted; announced after its commit.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// A suspension has a new version.
    Suspension(SuspensionId),
    /// A suspension has ended, in this final state; comes before the notice of its new version.
    Ended(Arc<Suspension>),
    /// There is a new event for which the OpenIntent client has a handler.
    Published,
    /// An intent has a new event.
    Appended(IntentId),
    /// There is a message to send.
    Delivery,
    /// There is a message to an endpoint of the operator that a suspension is over.
    Wake,
    /// A message of this channel that had failed is sent again.
    Redriven(String),
    /// There is a new deadline, perhaps the earliest.
    Timer,
    /// People, groups or keys changed, so that too few people may be left to answer a question.
    Directory,
    /// Something to count.
    Fact(Fact),
    /// A line for the operator in the server's log.
    Story(Story),
    /// A span to trace.
    Span(Box<SpanRecord>),
}

/// Wakes requests that wait for a suspension, and workers that wait for a message or a deadline.
pub struct Hub {
    // A std mutex: held for a map operation, never across an await.
    waiting: Mutex<HashMap<SuspensionId, Watched>>,
    deliveries: Notify,
    wakes: Notify,
    /// Channels with a message that is sent again. The worker takes the list when it next looks for messages.
    redriven: Mutex<Vec<String>>,
    timers: Notify,
    directory: Notify,
    publications: Publications,
    /// Lists of questions, which a question that is asked, changes or ends may change.
    lists: watch::Sender<()>,
    observer: Arc<dyn Observer>,
}

/// A suspension that requests wait for.
#[derive(Default)]
struct Watched {
    notify: Arc<Notify>,
    watchers: usize,
    /// The suspension in its final state, if it ended while it was watched.
    ended: Option<Arc<Suspension>>,
}

impl Hub {
    /// An empty hub that tells `observer` about waiting requests.
    pub fn new(observer: Arc<dyn Observer>) -> Self {
        Self {
            waiting: Mutex::default(),
            deliveries: Notify::default(),
            wakes: Notify::default(),
            redriven: Mutex::default(),
            timers: Notify::default(),
            directory: Notify::default(),
            publications: Publications::default(),
            lists: watch::Sender::new(()),
            observer,
        }
    }

    /// Announces what a commit did.
    pub fn announce(&self, notices: &[Notice]) {
        if notices.iter().any(changes_lists) {
            self.lists.send_replace(());
        }
        for notice in notices {
            match notice {
                Notice::Suspension(id) => {
                    if let Some(watched) = self.waiting().get(id) {
                        watched.notify.notify_waiters();
                        self.observer.woke(watched.watchers);
                    }
                }
                Notice::Ended(suspension) => {
                    if let Some(watched) = self.waiting().get_mut(&suspension.id) {
                        watched.ended = Some(suspension.clone());
                    }
                }
                Notice::Published => self.publications.announce(),
                Notice::Appended(intent) => self.publications.wake(&Followed::Log(*intent)),
                Notice::Delivery => self.deliveries.notify_one(),
                Notice::Wake => self.wakes.notify_one(),
                Notice::Redriven(channel) => {
                    let mut redriven = self.redriven();
                    // One entry for a channel is enough, however many of its messages are sent again before the worker takes
                    // the list.
                    if !redriven.contains(channel) {
                        redriven.push(channel.clone());
                    }
                    drop(redriven);
                    self.deliveries.notify_one();
                }
                Notice::Timer => self.timers.notify_one(),
                Notice::Directory => self.directory.notify_one(),
                // These are counted, logged and traced elsewhere; no task waits for them.
                Notice::Fact(_) | Notice::Story(_) | Notice::Span(_) => {}
            }
        }
    }

    /// Wakes every waiter, because another server may have announced a commit that was not heard here.
    pub fn wake_all(&self) {
        let waiting: Vec<SuspensionId> = self.watched();
        self.announce(&waiting.into_iter().map(Notice::Suspension).collect::<Vec<_>>());
        self.announce(&[Notice::Delivery, Notice::Wake, Notice::Timer, Notice::Directory]);
        self.lists.send_replace(());
        self.publications.wake_all();
    }

    /// The suspensions that requests wait for.
    pub fn watched(&self) -> Vec<SuspensionId> {
        self.waiting().keys().copied().collect()
    }

    /// Registers interest in a suspension. Register before you read the suspension: otherwise a change that comes after the read
    /// and before the registration would be lost.
    pub fn watch(&self, id: SuspensionId) -> Watch<'_> {
        let mut waiting = self.waiting();
        let watched = waiting.entry(id).or_default();
        watched.watchers += 1;
        self.observer.waits();
        Watch { hub: self, id, notify: watched.notify.clone() }
    }

    /// Registers interest in lists of questions. A wake-up says that one of them may have changed; a server that is one of several
    /// hears of the questions of the others by the events that are published, so lists are also read now and then without one.
    pub fn lists(&self) -> watch::Receiver<()> {
        self.lists.subscribe()
    }

    /// Registers a stream. Register before you read its events: otherwise an event that comes after the read and before the
    /// registration would be lost.
    pub fn follow(&self, followed: Followed) -> watch::Receiver<()> {
        self.publications.follow(followed)
    }

    /// Waits for a new event for which the OpenIntent client has a handler; a permit is kept, so an event announced before the
    /// call is not lost.
    pub async fn published(&self) {
        self.publications.announced().await;
    }

    /// The place to which a stream of an agent or a portfolio may skip from `after` without reading the database, because none of
    /// its events lies between the two places.
    pub fn passed_by(&self, followed: &Followed, after: StreamCursor) -> Option<StreamCursor> {
        self.publications.newest(followed, after, 0)?.passed
    }

    /// The streams that are open.
    pub(crate) fn publications(&self) -> &Publications {
        &self.publications
    }

    /// Waits for a message to send; a permit is kept, so a message announced before the call is not lost.
    pub async fn delivery(&self) {
        self.deliveries.notified().await;
    }

    /// Waits for a message to an endpoint of the operator that a suspension is over; a permit is kept, so a message announced before the
    /// call is not lost.
    pub async fn wake(&self) {
        self.wakes.notified().await;
    }

    /// Returns the channels whose messages were sent again since the last call.
    pub fn take_redriven(&self) -> Vec<String> {
        std::mem::take(&mut self.redriven())
    }

    fn redriven(&self) -> MutexGuard<'_, Vec<String>> {
        self.redriven.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a deadline is announced, which may be earlier than those known so far. A permit is kept, so a deadline
    /// announced before the call is not lost.
    pub async fn timer(&self) {
        self.timers.notified().await;
    }

    /// Waits for a change of people, groups or keys after which too few people may be left to answer a question. A permit is kept, so a
    /// change announced before the call is not lost.
    pub async fn directory(&self) {
        self.directory.notified().await;
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<SuspensionId, Watched>> {
        // A panic cannot leave the map half changed, so the lock is used even if a panic has poisoned it.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a list of questions may have changed.
fn changes_lists(notice: &Notice) -> bool {
    match notice {
        // People come into groups, and leave them.
        Notice::Suspension(_) | Notice::Published | Notice::Directory | Notice::Fact(Fact::Asked) => true,
        Notice::Ended(_)
        | Notice::Appended(_)
        | Notice::Delivery
        | Notice::Wake
        | Notice::Redriven(_)
        | Notice::Timer
        | Notice::Fact(_)
        | Notice::Story(_)
        | Notice::Span(_) => false,
    }
}

/// The registered interest of one request in one suspension; dropping it ends the interest.
pub struct Watch<'a> {
    hub: &'a Hub,
    id: SuspensionId,
    notify: Arc<Notify>,
}

impl Watch<'_> {
    /// A future that resolves at the next announcement, counted from this call and not from its first poll.
    pub fn changed(&self) -> std::pin::Pin<Box<tokio::sync::futures::Notified<'_>>> {
        let mut changed = Box::pin(self.notify.notified());
        changed.as_mut().enable();
        changed
    }

    /// The suspension in its final state, if this server ended it while it was watched. If another server ended it,
    /// the caller must read it.
    pub fn ended(&self) -> Option<Arc<Suspension>> {
        self.hub.waiting().get(&self.id)?.ended.clone()
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.hub.observer.waits_no_more();
        let mut waiting = self.hub.waiting();
        if let Some(watched) = waiting.get_mut(&self.id) {
            watched.watchers -= 1;
            if watched.watchers == 0 {
                waiting.remove(&self.id);
            }
        }
    }
}
