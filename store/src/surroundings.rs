//! Everything that a store needs besides its database.

use std::sync::Arc;

use domain::asking::pressing::Pressing;
use domain::base::clock::Clock;
use domain::base::ids::Entropy;
use domain::base::passkey::Site;
use domain::suspension::channel::Channels;
use domain::suspension::demand::AgentRule;
use domain::suspension::wake::WakeRule;

use crate::allowance::Allowance;
use crate::host::clock_watch::ClockWatch;
use crate::hub::{Hub, Notice};
use crate::observer::{Observer, Unobserved};

/// Everything that a store has besides its connections.
pub struct Surroundings {
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    /// The channels for which messages are queued.
    pub channels: Channels,
    /// How often an agent may ask the same question, and write to the same person.
    pub pressing: Pressing,
    /// How much may be written.
    pub allowance: Allowance,
    /// The operator's rules about the answers to agents.
    pub rules: Vec<AgentRule>,
    /// The endpoints that are told when a suspension is over.
    pub wakes: Vec<WakeRule>,
    /// Where people's passkeys belong; absent if the server's public address has no domain name.
    pub site: Option<Site>,
    /// Wakes the requests and workers that wait for a commit.
    pub hub: Arc<Hub>,
    /// Hears of everything that is to be counted or traced.
    pub observer: Arc<dyn Observer>,
}

impl Surroundings {
    /// The surroundings of a command that works beside a server: nothing is counted or traced, and messages are queued only for
    /// mail.
    pub fn alone(clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Self {
        Self::observed(clock, entropy, (Channels::email(), Pressing::OFF), Allowance::unlimited(), Arc::new(Unobserved))
    }

    /// The surroundings of a server: messages are queued for `channels`, and no more is written than `allowance` permits.
    pub fn observed(
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        (channels, pressing): (Channels, Pressing),
        allowance: Allowance,
        observer: Arc<dyn Observer>,
    ) -> Self {
        let hub = Arc::new(Hub::new(observer.clone()));
        Self { clock, entropy, channels, pressing, allowance, rules: Vec::new(), wakes: Vec::new(), site: None, hub, observer }
    }

    /// The same, with the place where people's passkeys belong.
    #[must_use]
    pub fn at(self, site: Option<Site>) -> Self {
        Self { site, ..self }
    }

    /// The same, with the operator's rules about the answers to agents.
    #[must_use]
    pub fn ruled_by(self, rules: Vec<AgentRule>) -> Self {
        Self { rules, ..self }
    }

    /// The same, with the endpoints that are told when a suspension is over.
    #[must_use]
    pub fn waking(self, wakes: Vec<WakeRule>) -> Self {
        Self { wakes, ..self }
    }

    /// The surroundings of one transaction; `clock` is the transaction's own.
    pub(crate) fn env<'a>(&'a self, clock: &'a dyn Clock, watch: &'a ClockWatch) -> Env<'a> {
        Env {
            clock,
            watch,
            entropy: &*self.entropy,
            channels: &self.channels,
            pressing: self.pressing,
            allowance: &self.allowance,
            rules: &self.rules,
            wakes: &self.wakes,
            site: self.site.as_ref(),
            traced: self.observer.wants_spans(),
        }
    }

    /// Announces what a commit did, to waiting requests and workers, to the log of the server, and to the observer.
    pub(crate) fn announce(&self, notices: &[Notice]) {
        self.hub.announce(notices);
        for notice in notices {
            match notice {
                Notice::Fact(fact) => self.observer.fact(fact),
                Notice::Story(story) => story.log(),
                Notice::Span(span) => self.observer.span(span, self.clock.now()),
                Notice::Suspension(_)
                | Notice::Ended(_)
                | Notice::Published
                | Notice::Appended(_)
                | Notice::Delivery
                | Notice::Wake
                | Notice::Redriven(_)
                | Notice::Timer
                | Notice::Directory => {}
            }
        }
    }
}

/// Everything that a transaction needs from outside.
pub(crate) struct Env<'a> {
    pub(crate) clock: &'a dyn Clock,
    /// Tells whether the clock can be trusted.
    pub(crate) watch: &'a ClockWatch,
    pub(crate) entropy: &'a dyn Entropy,
    /// The channels for which messages are queued.
    pub(crate) channels: &'a Channels,
    /// How often an agent may ask the same question, and write to the same person.
    pub(crate) pressing: Pressing,
    /// How much may be written.
    pub(crate) allowance: &'a Allowance,
    /// The operator's rules about the answers to agents.
    pub(crate) rules: &'a [AgentRule],
    /// The endpoints that are told when a suspension is over.
    pub(crate) wakes: &'a [WakeRule],
    /// Where people's passkeys belong.
    pub(crate) site: Option<&'a Site>,
    /// Whether spans are exported; if not, none are made or kept.
    pub(crate) traced: bool,
}
