//! The counters and measurements of the server, for Prometheus (`/metrics`).
//!
//! Guarantee: a label is a word of this program or its settings (an outcome, a channel, a route's pattern), never a word of a
//! caller: no id, no address, no text. So callers cannot make new series without end. The effects of a transaction are counted
//! after its commit. Mechanism: counters live in memory and begin at zero with the process, as Prometheus expects; gauges of open
//! questions and messages are read from the database at each scrape, so that they are true from the first second on and agree
//! with the lists that the API returns.

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::suspension::delivery::BounceKind;
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use store::fact::{Attempted, Fact, Method, Outcome, Settled};
use store::{Again, Copied, DeliveryResult, Hold, Standing, damage};

/// The content type of the text that [`Metrics::exposition`] returns.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The bounds of the buckets for answers: people answer within seconds, after lunch, or on Monday.
const ANSWER_SECONDS: [f64; 12] =
    [10.0, 30.0, 60.0, 300.0, 900.0, 1_800.0, 3_600.0, 14_400.0, 28_800.0, 86_400.0, 259_200.0, 604_800.0];
/// The bounds of the buckets for late deadlines: a deadline is fired within milliseconds, unless something is wrong.
const LATE_SECONDS: [f64; 11] = [0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0, 300.0, 3_600.0];
/// The bounds of the buckets for the disk: a healthy disk takes from half a millisecond to ten.
const DISK_SECONDS: [f64; 12] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];
/// The bounds of the buckets for requests: they take milliseconds, or up to 50 seconds if they wait for an answer.
const REQUEST_SECONDS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 15.0, 60.0];
/// The bounds of the buckets for the jobs of a batch; they go up to the writer's own limit.
const BATCH_JOBS: [f64; 9] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

type Seconds = Gauge<f64, AtomicU64>;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DecisionLabels {
    outcome: &'static str,
    method: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MethodLabel {
    method: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AttemptLabels {
    channel: String,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DeliveryLabels {
    channel: String,
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabel {
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BounceLabel {
    kind: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ChannelLabel {
    channel: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct PlaceLabel {
    place: String,
}

/// The series of checkpoints of the log: whether this server signs, and those of second places, by place.
#[derive(Default)]
struct LogPlaces {
    signs: Gauge,
    size: Family<PlaceLabel, Gauge>,
    contradicts: Family<PlaceLabel, Gauge>,
    failures: Family<PlaceLabel, Counter>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabel {
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CopiedLabel {
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EndedLabel {
    whole: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct CauseLabel {
    cause: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    route: String,
    method: &'static str,
    status: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    route: String,
    method: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabel {
    route: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BuildLabels {
    version: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ClassLabel {
    class: &'static str,
}

/// The series of admission, by class.
pub(crate) struct ClassMetrics {
    admitted: Family<ClassLabel, Counter>,
    refused: Family<ClassLabel, Counter>,
    under_way: Family<ClassLabel, Gauge>,
}

/// The series of one class.
#[derive(Clone)]
pub(crate) struct ClassSeries {
    /// Requests that were admitted.
    pub(crate) admitted: Counter,
    /// Requests that were refused.
    pub(crate) refused: Counter,
    /// Admitted requests that are still under way.
    pub(crate) under_way: Gauge,
}

impl ClassMetrics {
    /// The series of a class. The first call of this function for a class begins them at zero.
    pub(crate) fn of(&self, class: &'static str) -> ClassSeries {
        let label = ClassLabel { class };
        ClassSeries {
            admitted: self.admitted.get_or_create(&label).clone(),
            refused: self.refused.get_or_create(&label).clone(),
            under_way: self.under_way.get_or_create(&label).clone(),
        }
    }
}

/// The writer's measurements of itself.
#[derive(Clone)]
pub(crate) struct WriterMetrics {
    /// Jobs that wait for the writer.
    pub(crate) queue: Gauge,
    /// Jobs refused because too many waited.
    pub(crate) refused: Counter,
    /// Transactions that were run again, by cause.
    pub(crate) retried: Family<CauseLabel, Counter>,
    /// The number of jobs in one batch; they share a commit.
    pub(crate) batch_jobs: Histogram,
    /// A whole batch, from its first read to the end of its commit.
    pub(crate) batch_seconds: Histogram,
    /// The commit alone, which shows the speed of the disk.
    pub(crate) commit_seconds: Histogram,
    /// Copies of the write-ahead log into the database file, by their result.
    log_copies: Family<CopiedLabel, Counter>,
    log_copy_seconds: Histogram,
    /// How often the writer itself copied the rest of the write-ahead log into the database (the part that the copy beside the
    /// writer has left), by whether the writer copied all of that part.
    log_ends: Family<EndedLabel, Counter>,
    log_end_seconds: Histogram,
}

impl WriterMetrics {
    /// Counts a copy of the write-ahead log.
    pub(crate) fn log_copied(&self, result: Copied, took: Duration) {
        self.log_copies.get_or_create(&CopiedLabel { result: result.as_str() }).inc();
        self.log_copy_seconds.observe(took.as_secs_f64());
    }

    /// Counts one run in which the writer itself copied the rest of the write-ahead log into the database. `whole` says whether
    /// the writer copied all of that rest.
    pub(crate) fn log_ended(&self, whole: bool, took: Duration) {
        self.log_ends.get_or_create(&EndedLabel { whole: if whole { "true" } else { "false" } }).inc();
        self.log_end_seconds.observe(took.as_secs_f64());
    }

    /// Counts a transaction that is run again.
    pub(crate) fn again(&self, why: Again) {
        self.retried.get_or_create(&CauseLabel { cause: why.as_str() }).inc();
    }
}

/// The hub's measurements of requests that wait.
#[derive(Clone, Default)]
pub(crate) struct WaiterMetrics {
    /// Requests that wait for a question.
    pub(crate) waiting: Gauge,
    /// How often a commit woke a request that waits for a change, so that the request looked again.
    pub(crate) woken: Counter,
}

/// All counters and measurements; made once, and handed to every part that counts.
pub struct Metrics {
    registry: Registry,
    asked: Counter,
    decisions: Family<DecisionLabels, Counter>,
    expired_unreached: Counter,
    answer_seconds: Family<MethodLabel, Histogram>,
    late_seconds: Histogram,
    attempts: Family<AttemptLabels, Counter>,
    deliveries: Family<DeliveryLabels, Counter>,
    posts: Family<ResultLabel, Counter>,
    wakes: Family<ResultLabel, Counter>,
    bounces: Family<BounceLabel, Counter>,
    failovers: Counter,
    queue_full: Counter,
    timers_mended: Counter,
    sweep_left_out: Counter,
    out_of_reach: Gauge,
    damaged: Gauge,
    circuits: Family<ChannelLabel, Gauge>,
    requests: Family<RequestLabels, Counter>,
    request_seconds: Family<RouteLabels, Histogram>,
    auth_failures: Family<RouteLabel, Counter>,
    rate_limited: Family<RouteLabel, Counter>,
    pub(crate) writer: WriterMetrics,
    pub(crate) waiters: WaiterMetrics,
    pub(crate) classes: ClassMetrics,
    open: Gauge,
    pending: Family<StateLabel, Gauge>,
    held: Family<CauseLabel, Gauge>,
    log_places: LogPlaces,
    deadline_overdue: Seconds,
    delivery_overdue: Seconds,
}

/// The word for a result.
fn word(result: &DeliveryResult) -> &'static str {
    match result {
        DeliveryResult::Sent(_) => "sent",
        DeliveryResult::Retry { .. } => "retry",
        DeliveryResult::Failed(_) => "failed",
    }
}

impl Metrics {
    /// All series, for a process that started at `started`. Series with known labels begin at zero, so that their first increase
    /// shows.
    pub fn new(started: DateTime<Utc>) -> Self {
        let metrics = Self {
            registry: Registry::default(),
            asked: Counter::default(),
            decisions: Family::default(),
            expired_unreached: Counter::default(),
            answer_seconds: Family::new_with_constructor(|| Histogram::new(ANSWER_SECONDS)),
            late_seconds: Histogram::new(LATE_SECONDS),
            attempts: Family::default(),
            deliveries: Family::default(),
            posts: Family::default(),
            wakes: Family::default(),
            bounces: Family::default(),
            failovers: Counter::default(),
            queue_full: Counter::default(),
            timers_mended: Counter::default(),
            sweep_left_out: Counter::default(),
            out_of_reach: Gauge::default(),
            damaged: Gauge::default(),
            circuits: Family::default(),
            requests: Family::default(),
            request_seconds: Family::new_with_constructor(|| Histogram::new(REQUEST_SECONDS)),
            auth_failures: Family::default(),
            rate_limited: Family::default(),
            writer: WriterMetrics {
                queue: Gauge::default(),
                refused: Counter::default(),
                retried: Family::default(),
                batch_jobs: Histogram::new(BATCH_JOBS),
                batch_seconds: Histogram::new(DISK_SECONDS),
                commit_seconds: Histogram::new(DISK_SECONDS),
                log_copies: Family::default(),
                log_copy_seconds: Histogram::new(DISK_SECONDS),
                log_ends: Family::default(),
                log_end_seconds: Histogram::new(DISK_SECONDS),
            },
            waiters: WaiterMetrics::default(),
            classes: ClassMetrics { admitted: Family::default(), refused: Family::default(), under_way: Family::default() },
            open: Gauge::default(),
            pending: Family::default(),
            held: Family::default(),
            log_places: LogPlaces::default(),
            deadline_overdue: Seconds::default(),
            delivery_overdue: Seconds::default(),
        };
        for (outcome, method) in Outcome::WITH_METHODS {
            drop(metrics.decisions.get_or_create(&DecisionLabels { outcome: outcome.as_str(), method: method.as_str() }));
        }
        for why in Again::ALL {
            drop(metrics.writer.retried.get_or_create(&CauseLabel { cause: why.as_str() }));
        }
        for result in Copied::ALL {
            drop(metrics.writer.log_copies.get_or_create(&CopiedLabel { result: result.as_str() }));
        }
        for whole in ["true", "false"] {
            drop(metrics.writer.log_ends.get_or_create(&EndedLabel { whole }));
        }
        for kind in [BounceKind::Hard, BounceKind::Soft] {
            drop(metrics.bounces.get_or_create(&BounceLabel { kind: bounce_word(kind) }));
        }
        for method in Method::OF_ANSWERS {
            drop(metrics.answer_seconds.get_or_create(&MethodLabel { method: method.as_str() }));
        }
        metrics.registered(started)
    }

    fn registered(mut self, started: DateTime<Utc>) -> Self {
        let it = &mut self.registry;
        it.register("placet_questions_asked", "Questions asked", self.asked.clone());
        it.register("placet_decisions", "Questions that ended, by how they ended and what ended them", self.decisions.clone());
        it.register(
            "placet_expired_unreached",
            "Questions whose time ran out and that had reached no person",
            self.expired_unreached.clone(),
        );
        let seconds = || Unit::Seconds;
        it.register_with_unit("placet_answer_duration", "Time from question to answer", seconds(), self.answer_seconds.clone());
        it.register_with_unit(
            "placet_deadline_lateness",
            "Time from a deadline to when it was applied",
            seconds(),
            self.late_seconds.clone(),
        );
        it.register_with_unit(
            "placet_deadline_overdue",
            "Age of the oldest deadline that is due and not applied",
            seconds(),
            self.deadline_overdue.clone(),
        );
        it.register(
            "placet_timers_mended",
            "Timers that open questions had lost and that were restored; each is a bug",
            self.timers_mended.clone(),
        );
        it.register(
            "placet_sweep_left_out",
            "Open questions that could not be looked at for lost timers, or not repaired; the log says why",
            self.sweep_left_out.clone(),
        );
        it.register(
            "placet_questions_out_of_reach",
            "Open questions that need more people to agree than could answer them, as the last search found; the log names each",
            self.out_of_reach.clone(),
        );
        it.register(
            "placet_damaged_records",
            "Stored records that have changed since they were written, as far as this process has met them; the log names each",
            self.damaged.clone(),
        );
        it.register("placet_held", "Whether deadlines and messages wait, and why", self.held.clone());
        it.register("placet_questions_open", "Questions that wait for an answer", self.open.clone());
        it.register("placet_waiters", "Requests that wait for a question", self.waiters.waiting.clone());
        it.register(
            "placet_waiters_woken",
            "Times a commit made a waiting request look again, whether or not its wait was over",
            self.waiters.woken.clone(),
        );
        it.register("placet_http_requests", "Requests answered", self.requests.clone());
        it.register_with_unit(
            "placet_http_request_duration",
            "Time from a request's head to its response's",
            seconds(),
            self.request_seconds.clone(),
        );
        it.register("placet_admissions", "Requests that got a place to be worked on", self.classes.admitted.clone());
        it.register("placet_admission_refusals", "Requests refused because no place came free", self.classes.refused.clone());
        it.register("placet_requests_under_way", "Requests that hold a place", self.classes.under_way.clone());
        it.register("placet_auth_failures", "Requests refused because they had no valid key", self.auth_failures.clone());
        it.register("placet_rate_limit_refusals", "Requests refused because there were too many", self.rate_limited.clone());
        self.registered_deliveries(started)
    }

    fn registered_deliveries(mut self, started: DateTime<Utc>) -> Self {
        for result in ["sent", "retry", "failed"] {
            drop(self.posts.get_or_create(&ResultLabel { result }));
            drop(self.wakes.get_or_create(&ResultLabel { result }));
        }
        let it = &mut self.registry;
        it.register(
            "placet_delivery_attempts",
            "How often the server tried to hand a message to its channel",
            self.attempts.clone(),
        );
        it.register("placet_deliveries", "Messages that reached a state", self.deliveries.clone());
        it.register(
            "placet_subscription_posts",
            "How often the server told an endpoint that an agent subscribed of an event",
            self.posts.clone(),
        );
        it.register("placet_wakes", "How often the server told an endpoint that a suspension is over", self.wakes.clone());
        it.register("placet_delivery_bounces", "Reports that a message came back", self.bounces.clone());
        it.register(
            "placet_delivery_failovers",
            "Attempts at which no person could be reached, so that the next people were asked at once",
            self.failovers.clone(),
        );
        it.register(
            "placet_delivery_queue_full",
            "Messages given up because too many waited for their webhook endpoint",
            self.queue_full.clone(),
        );
        it.register(
            "placet_deliveries_pending",
            "Messages that wait for their turn or another try, and messages under way, also when the question has just ended",
            self.pending.clone(),
        );
        it.register_with_unit(
            "placet_delivery_overdue",
            "Age of the oldest message that is due; a message that waits for another try is not due",
            Unit::Seconds,
            self.delivery_overdue.clone(),
        );
        it.register(
            "placet_channel_circuit_open",
            "Whether a webhook endpoint is not tried because it keeps failing or is gone",
            self.circuits.clone(),
        );
        self.registered_process(started)
    }

    fn registered_log_places(&mut self) {
        let (it, places) = (&mut self.registry, &self.log_places);
        it.register("placet_log_signs", "Whether this server signs checkpoints of the log", places.signs.clone());
        it.register(
            "placet_log_place_size",
            "How many events the newest checkpoint covers that a second place has, since the server started",
            places.size.clone(),
        );
        it.register(
            "placet_log_place_contradicts",
            "Whether a second place has a checkpoint that the log does not extend: the log was rolled back or rewritten",
            places.contradicts.clone(),
        );
        it.register("placet_log_place_failures", "How often a checkpoint did not reach a second place", places.failures.clone());
    }

    fn registered_process(mut self, started: DateTime<Utc>) -> Self {
        self.registered_log_places();
        let it = &mut self.registry;
        let writer = &self.writer;
        it.register("placet_writer_queue_jobs", "Writes that wait for the batch under way", writer.queue.clone());
        it.register("placet_writer_refusals", "Writes refused because too many waited", writer.refused.clone());
        it.register("placet_writer_retries", "Transactions that were run again, by reason", writer.retried.clone());
        it.register("placet_writer_batch_jobs", "Writes that shared a commit", writer.batch_jobs.clone());
        it.register_with_unit(
            "placet_writer_batch_duration",
            "Time a batch of writes took, with its commit",
            Unit::Seconds,
            writer.batch_seconds.clone(),
        );
        it.register_with_unit(
            "placet_writer_commit_duration",
            "Time a commit took until it was durable",
            Unit::Seconds,
            writer.commit_seconds.clone(),
        );
        it.register(
            "placet_writer_log_copies",
            "Copies of the write-ahead log into the database file",
            writer.log_copies.clone(),
        );
        it.register_with_unit(
            "placet_writer_log_copy_duration",
            "Time a copy of the write-ahead log took, beside the writer",
            Unit::Seconds,
            writer.log_copy_seconds.clone(),
        );
        it.register(
            "placet_writer_log_ends",
            "How often the writer itself copied the rest of the write-ahead log between two commits",
            writer.log_ends.clone(),
        );
        it.register_with_unit(
            "placet_writer_log_end_duration",
            "Time that commits waited while the writer copied the end of the write-ahead log",
            Unit::Seconds,
            writer.log_end_seconds.clone(),
        );
        let build = Family::<BuildLabels, Gauge>::default();
        build.get_or_create(&BuildLabels { version: env!("CARGO_PKG_VERSION") }).set(1);
        it.register("placet_build_info", "The version that runs", build);
        let start = Gauge::<f64, AtomicU64>::default();
        start.set(seconds_of(started - DateTime::UNIX_EPOCH));
        it.register_with_unit("process_start_time", "When the process started, since 1970", Unit::Seconds, start);
        self
    }

    /// Counts the effects of a commit.
    pub(crate) fn count(&self, fact: &Fact) {
        match fact {
            Fact::Asked => {
                self.asked.inc();
            }
            Fact::Ended { outcome, method, unreached, open_for } => {
                self.decisions.get_or_create(&DecisionLabels { outcome: outcome.as_str(), method: method.as_str() }).inc();
                if *unreached {
                    self.expired_unreached.inc();
                }
                if *outcome == Outcome::Answered {
                    self.answer_seconds.get_or_create(&MethodLabel { method: method.as_str() }).observe(seconds_of(*open_for));
                }
            }
            Fact::DeadlineApplied { late } => self.late_seconds.observe(seconds_of(*late)),
            Fact::DeliveryAttempted { channel, result } => {
                let labels = AttemptLabels { channel: channel.clone(), result: result.as_str() };
                self.attempts.get_or_create(&labels).inc();
            }
            Fact::Delivery { channel, state } => {
                let labels = DeliveryLabels { channel: channel.clone(), state: state.as_str() };
                self.deliveries.get_or_create(&labels).inc();
            }
            Fact::BounceReported { kind } => {
                self.bounces.get_or_create(&BounceLabel { kind: bounce_word(*kind) }).inc();
            }
            Fact::FailedOver => {
                self.failovers.inc();
            }
            Fact::QueueFull => {
                self.queue_full.inc();
            }
            Fact::TimerMended => {
                self.timers_mended.inc();
            }
        }
    }

    /// Begins the series of a channel at zero. Prometheus sees no increase where a series first appears, so the first failure
    /// would go unseen.
    pub(crate) fn channel_known(&self, channel: &str) {
        for result in Attempted::ALL {
            drop(self.attempts.get_or_create(&AttemptLabels { channel: channel.to_owned(), result: result.as_str() }));
        }
        for state in Settled::ALL {
            drop(self.deliveries.get_or_create(&DeliveryLabels { channel: channel.to_owned(), state: state.as_str() }));
        }
    }

    /// Notes whether this server signs checkpoints of the log.
    pub(crate) fn log_signs(&self, signs: bool) {
        self.log_places.signs.set(i64::from(signs));
    }

    /// Begins the series of a second place for checkpoints at zero.
    pub(crate) fn log_place_known(&self, place: &str) {
        self.log_place_holds(place, 0);
        self.log_place_contradicts(place, false);
        drop(self.log_places.failures.get_or_create(&PlaceLabel { place: place.to_owned() }));
    }

    /// Notes how many events the newest checkpoint covers that a second place has.
    pub(crate) fn log_place_holds(&self, place: &str, size: u64) {
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        self.log_places.size.get_or_create(&PlaceLabel { place: place.to_owned() }).set(size);
    }

    /// Notes whether a second place has a checkpoint that the log does not extend.
    pub(crate) fn log_place_contradicts(&self, place: &str, contradicts: bool) {
        let contradicts = i64::from(contradicts);
        self.log_places.contradicts.get_or_create(&PlaceLabel { place: place.to_owned() }).set(contradicts);
    }

    /// Counts a checkpoint that could not be brought to a second place.
    pub(crate) fn log_place_failed(&self, place: &str) {
        self.log_places.failures.get_or_create(&PlaceLabel { place: place.to_owned() }).inc();
    }

    /// Counts a message to the endpoint of a subscription.
    pub(crate) fn posted(&self, result: &DeliveryResult) {
        self.posts.get_or_create(&ResultLabel { result: word(result) }).inc();
    }

    /// Counts a message that a suspension is over.
    pub(crate) fn woken(&self, result: &DeliveryResult) {
        self.wakes.get_or_create(&ResultLabel { result: word(result) }).inc();
    }

    /// Counts open questions that the search for lost timers left out.
    pub(crate) fn left_out_of_sweep(&self, questions: u64) {
        self.sweep_left_out.inc_by(questions);
    }

    /// Notes how many open questions need more people to agree than could answer them.
    pub(crate) fn out_of_reach(&self, questions: u64) {
        self.out_of_reach.set(i64::try_from(questions).unwrap_or(i64::MAX));
    }

    /// Notes that the circuit of a webhook endpoint is open: no message is sent to it.
    pub(crate) fn circuit_opened(&self, channel: &str) {
        self.circuits.get_or_create(&ChannelLabel { channel: channel.to_owned() }).set(1);
    }

    /// Notes that the circuit of a webhook endpoint is closed: messages to it are sent.
    pub(crate) fn circuit_closed(&self, channel: &str) {
        self.circuits.get_or_create(&ChannelLabel { channel: channel.to_owned() }).set(0);
    }

    /// Counts a request that was answered; `route` is a pattern of ours, `method` any text that a client sent.
    pub(crate) fn request(&self, route: String, method: &str, status: u16, took: Duration) {
        // A client may invent methods without end; only methods with a meaning here get a series.
        const METHODS: [&str; 7] = ["GET", "POST", "HEAD", "PATCH", "DELETE", "PUT", "OPTIONS"];
        let method = METHODS.into_iter().find(|known| *known == method).unwrap_or("other");
        match status {
            401 => {
                self.auth_failures.get_or_create(&RouteLabel { route: route.clone() }).inc();
            }
            429 => {
                self.rate_limited.get_or_create(&RouteLabel { route: route.clone() }).inc();
            }
            _ => {}
        }
        let labels = RouteLabels { route, method };
        self.request_seconds.get_or_create(&labels).observe(took.as_secs_f64());
        self.requests.get_or_create(&RequestLabels { route: labels.route, method, status: class(status) }).inc();
    }

    /// Sets the gauge of each cause for which deadlines and messages may wait: 1 if it applies now.
    pub(crate) fn hold(&self, hold: Option<Hold>) {
        let causes = [
            ("clock", matches!(hold, Some(Hold::Clock))),
            ("restore", matches!(hold, Some(Hold::Restore { .. }))),
            ("recovery", matches!(hold, Some(Hold::Recovery))),
        ];
        for (cause, holds) in causes {
            self.held.get_or_create(&CauseLabel { cause }).set(i64::from(holds));
        }
    }

    /// All series as text. The gauges of open questions and waiting messages are set from `standing`, as of `now`.
    ///
    /// # Errors
    ///
    /// Never in practice: a string accepts every write.
    pub fn exposition(&self, standing: &Standing, now: DateTime<Utc>) -> Result<String, fmt::Error> {
        self.open.set(standing.questions_open);
        self.damaged.set(i64::try_from(damage::found().len()).unwrap_or(i64::MAX));
        self.pending.get_or_create(&StateLabel { state: "queued" }).set(standing.deliveries_queued);
        self.pending.get_or_create(&StateLabel { state: "sending" }).set(standing.deliveries_leased);
        let overdue = |due: Option<DateTime<Utc>>| due.map_or(0.0, |due| seconds_of(now - due));
        self.deadline_overdue.set(overdue(standing.next_deadline));
        self.delivery_overdue.set(overdue(standing.next_delivery));
        let mut exposition = String::new();
        text::encode(&mut exposition, &self.registry)?;
        Ok(exposition)
    }
}

fn bounce_word(kind: BounceKind) -> &'static str {
    match kind {
        BounceKind::Hard => "hard",
        BounceKind::Soft => "soft",
    }
}

/// The class of a status, for example `2xx`: single codes would multiply the series and say little more.
fn class(status: u16) -> &'static str {
    match status / 100 {
        // A 501 is the refusal of a route that is not implemented, and an alert for failures must not count it.
        _ if status == 501 => "4xx",
        1 => "1xx",
        2 => "2xx",
        3 => "3xx",
        4 => "4xx",
        _ => "5xx",
    }
}

/// A time in seconds, with microseconds. A negative time counts as zero, because clocks may step back.
fn seconds_of(time: TimeDelta) -> f64 {
    time.to_std().unwrap_or_default().as_secs_f64()
}
