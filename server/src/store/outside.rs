//! What a store needs besides its database, and whom it tells of a commit.

use std::sync::Arc;

use domain::asking::pressing::Pressing;
use domain::base::clock::Clock;
use domain::base::ids::Entropy;
use domain::suspension::channel::Channels;

use super::allowance::Allowance;
use super::hub::{Hub, Notice};
use crate::metrics::Metrics;
use crate::traces::Traces;

/// What a store owns besides its connections.
pub struct Outside {
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    /// What messages are queued for.
    pub channels: Channels,
    /// How often an agent may ask the same, and write to the same person.
    pub pressing: Pressing,
    /// How much may be written.
    pub allowance: Allowance,
    /// Whom to wake.
    pub hub: Arc<Hub>,
    /// Where to count.
    pub metrics: Arc<Metrics>,
    /// Where to trace to, if anywhere.
    pub traces: Option<Arc<Traces>>,
}

impl Outside {
    /// A store nobody looks at: commands that work beside a server count and trace nothing, and queue no messages.
    pub fn alone(clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Self {
        let metrics = Arc::new(Metrics::new(clock.now()));
        Self::observed(clock, entropy, (Channels::email(), Pressing::OFF), Allowance::unlimited(), metrics, None)
    }

    /// A store that queues for channels as their operator allows, writes as much as `allowance` says, counts into `metrics` and traces to a
    /// collector.
    pub fn observed(
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        (channels, pressing): (Channels, Pressing),
        allowance: Allowance,
        metrics: Arc<Metrics>,
        traces: Option<Arc<Traces>>,
    ) -> Self {
        let hub = Arc::new(Hub::new(metrics.waiters.clone()));
        Self { clock, entropy, channels, pressing, allowance, hub, metrics, traces }
    }

    /// Tells what a commit did: to those who wait, to the metrics, to the collector of spans.
    pub(super) fn announce(&self, notices: &[Notice]) {
        self.hub.announce(notices);
        for notice in notices {
            match notice {
                Notice::Fact(fact) => self.metrics.count(fact),
                Notice::Story(story) => story.log(),
                Notice::Span(span) => {
                    if let Some(traces) = &self.traces {
                        traces.record(span, self.clock.now());
                    }
                }
                Notice::Suspension(_) | Notice::Ended(_) | Notice::Delivery | Notice::Redriven(_) | Notice::Timer => {}
            }
        }
    }
}
