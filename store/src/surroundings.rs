//! All that a store needs besides its database.

use std::sync::Arc;

use domain::asking::pressing::Pressing;
use domain::base::clock::Clock;
use domain::base::ids::Entropy;
use domain::suspension::channel::Channels;

use crate::allowance::Allowance;
use crate::host::clock_watch::ClockWatch;
use crate::hub::{Hub, Notice};
use crate::observer::{Observer, Unobserved};

/// What a store has besides its connections.
pub struct Surroundings {
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    /// The channels messages are queued for.
    pub channels: Channels,
    /// How often an agent may ask the same, and write to the same person.
    pub pressing: Pressing,
    /// How much may be written.
    pub allowance: Allowance,
    /// Where those wait who are woken by a commit.
    pub hub: Arc<Hub>,
    /// Told of everything that is to be counted or traced.
    pub observer: Arc<dyn Observer>,
}

impl Surroundings {
    /// For commands that work beside a server: nothing is counted or traced, and no messages are queued but by mail.
    pub fn alone(clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Self {
        Self::observed(clock, entropy, (Channels::email(), Pressing::OFF), Allowance::unlimited(), Arc::new(Unobserved))
    }

    /// For a server: messages are queued for channels as their operator allows, and no more is written than `allowance` says.
    pub fn observed(
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        (channels, pressing): (Channels, Pressing),
        allowance: Allowance,
        observer: Arc<dyn Observer>,
    ) -> Self {
        let hub = Arc::new(Hub::new(observer.clone()));
        Self { clock, entropy, channels, pressing, allowance, hub, observer }
    }

    /// What one transaction needs of it: `clock` is the transaction's own.
    pub(crate) fn env<'a>(&'a self, clock: &'a dyn Clock, watch: &'a ClockWatch) -> Env<'a> {
        Env {
            clock,
            watch,
            entropy: &*self.entropy,
            channels: &self.channels,
            pressing: self.pressing,
            allowance: &self.allowance,
            traced: self.observer.wants_spans(),
        }
    }

    /// Tells what a commit did: to those who wait, to the log of the server, to the observer.
    pub(crate) fn announce(&self, notices: &[Notice]) {
        self.hub.announce(notices);
        for notice in notices {
            match notice {
                Notice::Fact(fact) => self.observer.fact(fact),
                Notice::Story(story) => story.log(),
                Notice::Span(span) => self.observer.span(span, self.clock.now()),
                Notice::Suspension(_) | Notice::Ended(_) | Notice::Delivery | Notice::Redriven(_) | Notice::Timer => {}
            }
        }
    }
}

/// What a transaction needs from outside: time and randomness.
pub(crate) struct Env<'a> {
    pub(crate) clock: &'a dyn Clock,
    /// Whether to believe it.
    pub(crate) watch: &'a ClockWatch,
    pub(crate) entropy: &'a dyn Entropy,
    /// The channels messages are queued for.
    pub(crate) channels: &'a Channels,
    /// How often an agent may ask the same, and write to the same person.
    pub(crate) pressing: Pressing,
    /// How much may be written.
    pub(crate) allowance: &'a Allowance,
    /// Whether spans are exported; if not, none are made or kept.
    pub(crate) traced: bool,
}
