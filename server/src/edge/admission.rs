//! Places for requests: each class of requests has its own, so that the most important class is refused last.
//!
//! Guarantee: the number of requests under way is limited, however many arrive, and agents, readers and lists together never fill
//! the places of answers. Mechanism: one semaphore per class, and one more for answers alone; a request waits in a short line for
//! a place, and holds it until its result is known. Failure: a request without a place is refused before the server has done
//! anything, and is told when to come back.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use domain::people::principal::Role;
use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::observe::metrics::{ClassMetrics, ClassSeries};

/// How long a request waits for a place: its refusal must arrive within 100 milliseconds.
const WAIT_MAX: Duration = Duration::from_millis(75);
/// How long an answer, a read that leads to an answer, and a reader whose long wait has ended may wait for a place. For them a
/// late reply is better than a refusal.
const PATIENT_WAIT_MAX: Duration = Duration::from_secs(5);

/// How often the log says that requests are refused.
const SAID_EVERY: Duration = Duration::from_secs(10);

/// The class of a request, from the most to the least protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// An answer by a person: a link that is opened or used, an answer with a key of an operator or a channel.
    Respond,
    /// A read by an operator or a channel in order to answer: the list of questions, one of them, its intent.
    Inbox,
    /// A question, and everything else that agents and admins write.
    Write,
    /// A read of one thing.
    Read,
    /// A read of many things: lists and logs.
    List,
}

impl Class {
    /// All classes.
    pub const ALL: [Self; 5] = [Self::Respond, Self::Inbox, Self::Write, Self::Read, Self::List];

    /// The name of the class in the metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Respond => "respond",
            Self::Inbox => "inbox",
            Self::Write => "write",
            Self::Read => "read",
            Self::List => "list",
        }
    }

    /// After how many seconds a refused client should come back: the less protected the class, the later.
    pub fn retry_after_seconds(self) -> u32 {
        match self {
            Self::Respond | Self::Inbox | Self::Write => 1,
            Self::Read => 2,
            Self::List => 5,
        }
    }

    fn wait_max(self) -> Duration {
        match self {
            Self::Respond | Self::Inbox => PATIENT_WAIT_MAX,
            Self::Write | Self::Read | Self::List => WAIT_MAX,
        }
    }
}

/// The work of a route; together with the role of the caller it decides the class of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Gives an answer.
    Answer,
    /// Reads one thing that people read in order to answer.
    Look,
    /// Lists the things that people read in order to answer.
    Inbox,
    /// Writes.
    Write,
    /// Writes to many things that its body names.
    WriteMany,
    /// Reads one thing.
    Read,
    /// Reads many things.
    List,
}

impl Work {
    /// The class of a request by a caller with this role. Operators and channels answer, so the reads that they need for an
    /// answer come before others.
    pub(crate) fn class(self, role: Role) -> Class {
        let answers = matches!(role, Role::Operator | Role::Channel);
        match self {
            Self::Answer if answers => Class::Respond,
            Self::Look | Self::Inbox if answers => Class::Inbox,
            Self::Answer | Self::Write | Self::WriteMany => Class::Write,
            Self::Look | Self::Read => Class::Read,
            Self::Inbox | Self::List => Class::List,
        }
    }
}

/// How many places there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Places {
    reserved: usize,
    inboxes: usize,
    writes: usize,
    reads: usize,
    lists: usize,
}

/// The most lists under way at a time, however large the machine is. The store reads for only eight requests at a time, and some
/// of its readers must stay free for people who open their link.
const LISTS_MAX: usize = 4;
/// The most reads of the inbox at a time. Together with the lists they leave one of the store's eight readers free.
const INBOXES_MAX: usize = 3;

impl Places {
    /// Shares out `concurrent_requests`: four fifths are for writes, the last fifth for answers alone. Reads get fewer places,
    /// because each needs one of the few connections to the database, and further reads would only wait for a connection.
    fn of(concurrent_requests: usize) -> Self {
        let reserved = concurrent_requests.div_ceil(5);
        Self {
            reserved,
            inboxes: (concurrent_requests / 80).clamp(1, INBOXES_MAX),
            writes: (concurrent_requests - reserved).max(1),
            reads: (concurrent_requests / 8).max(1),
            lists: (concurrent_requests / 80).clamp(1, LISTS_MAX),
        }
    }
}

/// No place came free in time; the server has done nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused(pub Class);

/// The places of a server.
pub struct Admission {
    reserved: Arc<Semaphore>,
    inboxes: Arc<Semaphore>,
    writes: Arc<Semaphore>,
    reads: Arc<Semaphore>,
    lists: Arc<Semaphore>,
    /// The lines of requests that wait for a place. Except for answers and inboxes, a line holds as many requests as may be under
    /// way in all; in a longer line the last request would wait too long.
    lines: [Semaphore; Class::ALL.len()],
    /// In the order of [`Class::ALL`].
    series: [ClassSeries; Class::ALL.len()],
    last_said: Mutex<[Option<Instant>; Class::ALL.len()]>,
}

impl Admission {
    /// Makes the places of a server that works on `concurrent_requests` requests at a time.
    pub(crate) fn new(concurrent_requests: usize, metrics: &ClassMetrics) -> Self {
        let places = Places::of(concurrent_requests);
        let semaphore = |places| Arc::new(Semaphore::new(places));
        Self {
            reserved: semaphore(places.reserved),
            inboxes: semaphore(places.inboxes),
            writes: semaphore(places.writes),
            reads: semaphore(places.reads),
            lists: semaphore(places.lists),
            lines: Class::ALL.map(|class| match class {
                // Requests of these classes may wait long. The number of connections already limits their line.
                Class::Respond | Class::Inbox => Semaphore::new(Semaphore::MAX_PERMITS),
                Class::Write | Class::Read | Class::List => Semaphore::new(concurrent_requests),
            }),
            series: Class::ALL.map(|class| metrics.of(class.as_str())),
            last_said: Mutex::default(),
        }
    }

    /// Takes a place, or waits a moment for one.
    ///
    /// # Errors
    ///
    /// No place came free, or too many requests wait.
    pub async fn enter(&self, class: Class) -> Result<Place, Refused> {
        if let Some(permit) = self.free(class) {
            return Ok(self.admitted(class, permit));
        }
        let Ok(_in_line) = self.lines[class as usize].try_acquire() else { return Err(self.refused(class)) };
        self.enter_within(class, class.wait_max()).await
    }

    /// Takes a place for a request that was let in before, and gave its place back while it waited.
    ///
    /// # Errors
    ///
    /// No place came free within seconds.
    pub(crate) async fn enter_again(&self, class: Class) -> Result<Place, Refused> {
        self.enter_within(class, PATIENT_WAIT_MAX).await
    }

    async fn enter_within(&self, class: Class, wait_max: Duration) -> Result<Place, Refused> {
        let permit = match self.free(class) {
            Some(permit) => Some(permit),
            None => tokio::time::timeout(wait_max, self.freed(class)).await.ok().flatten(),
        };
        permit.map(|permit| self.admitted(class, permit)).ok_or_else(|| self.refused(class))
    }

    fn admitted(&self, class: Class, permit: OwnedSemaphorePermit) -> Place {
        let series = &self.series[class as usize];
        series.admitted.inc();
        series.under_way.inc();
        Place { _permit: permit, class, under_way: series.under_way.clone() }
    }

    fn refused(&self, class: Class) -> Refused {
        self.series[class as usize].refused.inc();
        self.say(class);
        Refused(class)
    }

    /// Logs that requests of a class are refused, at most once per `SAID_EVERY`: a line for each request would add to the load.
    fn say(&self, class: Class) {
        let mut last_said = self.last_said.lock().unwrap_or_else(PoisonError::into_inner);
        let last = &mut last_said[class as usize];
        if last.is_none_or(|at| at.elapsed() >= SAID_EVERY) {
            *last = Some(Instant::now());
            tracing::warn!(
                class = class.as_str(),
                "overloaded: requests of this class are refused, see placet_admission_refusals_total"
            );
        }
    }

    fn places_of(&self, class: Class) -> &Arc<Semaphore> {
        match class {
            // Beyond their own places, answers share those of writes.
            Class::Respond | Class::Write => &self.writes,
            Class::Inbox => &self.inboxes,
            Class::Read => &self.reads,
            Class::List => &self.lists,
        }
    }

    /// A place that is free now and for which no request waits.
    fn free(&self, class: Class) -> Option<OwnedSemaphorePermit> {
        let reserved = (class == Class::Respond).then(|| self.reserved.clone().try_acquire_owned().ok()).flatten();
        reserved.or_else(|| self.places_of(class).clone().try_acquire_owned().ok())
    }

    /// The next place that comes free, in the order of arrival.
    async fn freed(&self, class: Class) -> Option<OwnedSemaphorePermit> {
        let shared = self.places_of(class).clone().acquire_owned();
        // Only a closed semaphore gives no permit, and this program closes none.
        if class != Class::Respond {
            return shared.await.ok();
        }
        tokio::select! {
            permit = self.reserved.clone().acquire_owned() => permit.ok(),
            permit = shared => permit.ok(),
        }
    }
}

/// A place for one request under way. The place is given back when this value is dropped.
#[must_use = "a place that is dropped at once bounds nothing"]
pub struct Place {
    _permit: OwnedSemaphorePermit,
    class: Class,
    under_way: Gauge,
}

impl Place {
    /// The class of the place.
    pub(crate) fn class(&self) -> Class {
        self.class
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.under_way.dec();
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use futures_util::poll;

    use super::*;
    use crate::observe::metrics::Metrics;

    fn admission(concurrent_requests: usize) -> Admission {
        Admission::new(concurrent_requests, &Metrics::new(DateTime::UNIX_EPOCH).classes)
    }

    /// Takes all free places of a class.
    fn fill(admission: &Admission, class: Class) -> Vec<OwnedSemaphorePermit> {
        std::iter::from_fn(|| admission.free(class)).collect()
    }

    /// Every class has a place even on the smallest server: a share that was rounded down to zero would refuse the whole class
    /// for ever.
    #[test]
    fn every_class_has_a_place_on_the_smallest_server_and_answers_a_fifth_on_any() {
        for (concurrent_requests, reserved, inboxes, writes, reads, lists) in [
            (1, 1, 1, 1, 1, 1),
            (2, 1, 1, 1, 1, 1),
            (10, 2, 1, 8, 1, 1),
            (512, 103, 3, 409, 64, 4),
            (3_072, 615, 3, 2_457, 384, 4),
        ] {
            let places = Places { reserved, inboxes, writes, reads, lists };
            assert_eq!(Places::of(concurrent_requests), places, "{concurrent_requests}");
        }
    }

    /// Requests of a less protected class leave the places of the more protected classes free. Answers have places of their own,
    /// and may also take those of writes.
    #[tokio::test]
    async fn no_class_takes_the_places_of_a_more_protected_one() {
        let admission = admission(10);
        let mut held = Vec::new();
        for (class, places) in [(Class::List, 1), (Class::Read, 1), (Class::Write, 8), (Class::Inbox, 1), (Class::Respond, 2)] {
            let taken = fill(&admission, class);
            assert_eq!(taken.len(), places, "{class:?}");
            held.extend(taken);
            assert!(admission.free(class).is_none(), "{class:?}");
        }
        held.clear();
        assert_eq!(fill(&admission, Class::Respond).len(), 10, "answers may take the places of writes");
    }

    /// A request that waits gets the first place that comes free; an answer may also get the place of a write.
    #[tokio::test]
    async fn a_place_that_comes_free_goes_to_who_waits() {
        let admission = admission(10);
        for class in Class::ALL {
            let mut held = fill(&admission, class);
            assert_eq!(admission.enter_within(class, Duration::ZERO).await.err(), Some(Refused(class)));
            let (place, ()) = tokio::join!(admission.enter(class), async { drop(held.pop()) });
            assert!(place.is_ok(), "{class:?}");
        }
    }

    /// If the line of a class is full, the next request is refused at once, because it could not get a place in time. The line of
    /// answers is never full.
    #[tokio::test]
    async fn so_many_wait_in_line_and_the_next_is_refused_at_once() {
        let admission = admission(10);
        for (class, line) in [(Class::Write, Some(10)), (Class::Read, Some(10)), (Class::List, Some(10)), (Class::Respond, None)]
        {
            let _held = fill(&admission, class);
            let mut waiting: Vec<_> = (0..line.unwrap_or(1_000)).map(|_| Box::pin(admission.enter(class))).collect();
            for wait in &mut waiting {
                assert!(poll!(wait).is_pending(), "{class:?}");
            }
            assert_eq!(poll!(Box::pin(admission.enter(class))).is_ready(), line.is_some(), "{class:?}");
            waiting.pop();
            assert!(poll!(Box::pin(admission.enter(class))).is_pending(), "{class:?}");
        }
    }

    /// Most requests are refused after a short wait, because a late refusal keeps the client from asking another server. An
    /// answer may wait longer: for it, a late reply is better than a refusal.
    #[tokio::test]
    async fn a_refusal_is_quick_and_says_when_to_come_back() {
        let admission = admission(10);
        assert!(WAIT_MAX < Duration::from_millis(100), "the rest is for the way");
        for (class, seconds) in [(Class::Write, 1), (Class::Read, 2), (Class::List, 5)] {
            let _held = fill(&admission, class);
            let asked = Instant::now();
            assert!(admission.enter(class).await.is_err());
            assert!(asked.elapsed() >= WAIT_MAX, "it waits a moment for a place");
            assert_eq!((class.wait_max(), class.retry_after_seconds()), (WAIT_MAX, seconds));
        }
        for class in [Class::Respond, Class::Inbox] {
            assert_eq!((class.wait_max(), class.retry_after_seconds()), (PATIENT_WAIT_MAX, 1));
        }
    }
}
