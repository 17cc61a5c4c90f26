//! Metrics, traces and logs of the server, and the way by which the store's work reaches them.

pub mod metrics;
pub mod telemetry;
pub mod traces;

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use store::fact::Fact;
use store::span::SpanRecord;
use store::{Again, Copied, Observer};

use self::metrics::Metrics;
use self::traces::Traces;

/// Counts the store's work, and hands spans to the collector, if there is one.
pub struct Witness {
    pub metrics: Arc<Metrics>,
    pub traces: Option<Arc<Traces>>,
}

impl Observer for Witness {
    fn wants_spans(&self) -> bool {
        self.traces.is_some()
    }

    fn fact(&self, fact: &Fact) {
        self.metrics.count(fact);
    }

    fn span(&self, span: &SpanRecord, ended: DateTime<Utc>) {
        if let Some(traces) = &self.traces {
            traces.record(span, ended);
        }
    }

    fn queued(&self) {
        self.metrics.writer.queue.inc();
    }

    fn unqueued(&self) {
        self.metrics.writer.queue.dec();
    }

    fn refused(&self) {
        self.metrics.writer.refused.inc();
    }

    fn again(&self, why: Again) {
        self.metrics.writer.again(why);
    }

    fn batch(&self, units: usize, took: Duration) {
        self.metrics.writer.batch_jobs.observe(f64::from(u32::try_from(units).unwrap_or(u32::MAX)));
        self.metrics.writer.batch_seconds.observe(took.as_secs_f64());
    }

    fn commit(&self, took: Duration) {
        self.metrics.writer.commit_seconds.observe(took.as_secs_f64());
    }

    fn log_copied(&self, result: Copied, took: Duration) {
        self.metrics.writer.log_copied(result, took);
    }

    fn log_ended(&self, whole: bool, took: Duration) {
        self.metrics.writer.log_ended(whole, took);
    }

    fn waits(&self) {
        self.metrics.waiters.waiting.inc();
    }

    fn waits_no_more(&self) {
        self.metrics.waiters.waiting.dec();
    }

    fn woke(&self, requests: usize) {
        self.metrics.waiters.woken.inc_by(u64::try_from(requests).unwrap_or(u64::MAX));
    }
}
