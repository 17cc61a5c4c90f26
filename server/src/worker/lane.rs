//! The lane of one channel: how many messages it may have under way, and whether it may send at all.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use channels::Channel;
use chrono::TimeDelta;
use store::{Gate, Lane as LaneTurn, LinePlace};

use super::circuit::{Circuit, Outcome, Passage};

/// How many mails are on their way at the same time.
const MAILS_IN_FLIGHT_MAX: u32 = 16;
/// How many messages are on their way to one webhook endpoint at the same time.
const WEBHOOK_IN_FLIGHT_MAX: u32 = 4;

/// The effect of a try on a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Opened,
    Closed,
}

/// A channel by its name, with the number of messages on their way.
pub struct Lane {
    pub(super) name: String,
    pub(super) channel: Arc<dyn Channel>,
    in_flight: AtomicU32,
    in_flight_max: u32,
    /// Mails have no circuit: one mail server serves all recipients, and each mail has its own pauses.
    circuit: Option<Mutex<Circuit>>,
    /// The place in the channel's queue at which the last step of the delivery loop stopped reading the messages beyond the
    /// endpoint's limit of due messages; `None` if the step read all of them.
    line: Mutex<Option<LinePlace>>,
}

impl Lane {
    /// The channel for mails.
    pub fn email(channel: Arc<dyn Channel>) -> Self {
        let name = domain::suspension::channel::EMAIL.to_owned();
        Self {
            name,
            channel,
            in_flight: AtomicU32::new(0),
            in_flight_max: MAILS_IN_FLIGHT_MAX,
            circuit: None,
            line: Mutex::default(),
        }
    }

    /// A webhook. All webhooks share one limit of messages under way, and each has a circuit of its own.
    pub fn webhook(name: String, channel: Arc<dyn Channel>) -> Self {
        let circuit = Some(Mutex::new(Circuit::default()));
        Self {
            name,
            channel,
            in_flight: AtomicU32::new(0),
            in_flight_max: WEBHOOK_IN_FLIGHT_MAX,
            circuit,
            line: Mutex::default(),
        }
    }

    /// Whether the lane's messages count against the limit that all webhooks share.
    pub(super) fn shares_room(&self) -> bool {
        self.circuit.is_some()
    }

    /// The number of messages on their way and of messages whose result is not recorded yet, so that the latter have a limit too.
    pub(super) fn in_flight(&self) -> u32 {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// The messages that the lane can take at `now`, which counts from boot.
    pub(super) fn turn(&self, now: Duration) -> LaneTurn {
        let free = self.in_flight_max.saturating_sub(self.in_flight());
        let gate = match self.circuit().map(|circuit| circuit.passage(now)) {
            None => Gate::Room(free),
            Some(Passage::Free) => Gate::SharedRoom(free),
            Some(Passage::Probe) => Gate::SharedRoom(1),
            Some(Passage::Probing) => Gate::SharedRoom(0),
            Some(Passage::Until(until)) => Gate::Paused(TimeDelta::from_std(until.saturating_sub(now)).unwrap_or(TimeDelta::MAX)),
            Some(Passage::Gone(reason)) => Gate::Closed(reason),
        };
        LaneTurn { channel: self.name.clone(), gate, line: *self.line() }
    }

    /// Notes the place in the channel's queue at which a step of the delivery loop stopped reading the messages beyond the
    /// endpoint's limit of due messages.
    pub(super) fn looked_to(&self, place: Option<LinePlace>) {
        *self.line() = place;
    }

    /// Notes that a message leaves.
    pub(super) fn begin(&self) {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        if let Some(mut circuit) = self.circuit() {
            circuit.begin();
        }
    }

    /// Notes that the result of a message is recorded or given up, so that another message may be sent.
    pub(super) fn release(&self) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
    }

    /// Notes that the try of a message has ended; returns the effect on the circuit.
    pub(super) fn end(&self, outcome: Outcome, now: Duration, random: u16) -> Option<Change> {
        let mut circuit = self.circuit()?;
        let was_open = circuit.is_open();
        circuit.record(outcome, now, random);
        match (was_open, circuit.is_open()) {
            (false, true) => Some(Change::Opened),
            (true, false) => Some(Change::Closed),
            (false, false) | (true, true) => None,
        }
    }

    /// Lets messages through again, whatever happened before; returns whether the circuit was open.
    pub(super) fn reopen(&self) -> bool {
        let Some(mut circuit) = self.circuit() else { return false };
        let was_open = circuit.is_open();
        circuit.reset();
        was_open
    }

    fn circuit(&self) -> Option<MutexGuard<'_, Circuit>> {
        // A panic cannot leave the circuit half changed, so a poisoned lock is safe to use.
        self.circuit.as_ref().map(|circuit| circuit.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn line(&self) -> MutexGuard<'_, Option<LinePlace>> {
        // A poisoned lock is safe here too.
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
