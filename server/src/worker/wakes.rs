//! Tells the endpoints that the operator named that suspensions are over.
//!
//! Guarantee: each message keeps its id over all tries, and an endpoint that hangs or fails holds up no other. Mechanism: the rules of webhook
//! channels: so many messages under way for one endpoint, and a circuit for each. Failure: a crash between posting a message and recording
//! its result posts it once more; an endpoint that says it is gone is told nothing until the next start.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context;
use channels::{DeliveryError, SignedHook};
use chrono::TimeDelta;
use domain::suspension::wake::WakeRule;
use store::host::kill_points::{self, Point};
use store::{DeliveryResult, LeasedWake, StoreError, WakeGate, WakeTurn};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};

use super::circuit::{Circuit, Outcome, Passage};
use super::deliveries::Resources;
use crate::config::{Mode, WakeConfig};

/// How many messages are on their way to one endpoint at the same time. A configuration has at most 20 endpoints.
const IN_FLIGHT_MAX: u32 = 4;
/// The longest sleep. A wake-up is only a hint, so the loop looks again by itself.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// An endpoint, with the messages under way.
pub struct WakeEndpoint {
    /// Its place in the configuration, for the log of the server. Its address may be a secret.
    place: String,
    /// Its name in the outbox.
    name: String,
    hook: SignedHook,
    in_flight: AtomicU32,
    // A std mutex will do: it is never held across an await.
    circuit: Mutex<Circuit>,
}

impl WakeEndpoint {
    /// An endpoint by its place in the configuration and its name in the outbox.
    pub fn new(place: String, name: String, hook: SignedHook) -> Self {
        Self { place, name, hook, in_flight: AtomicU32::new(0), circuit: Mutex::default() }
    }

    /// How many messages it takes at `now`, which counts from boot.
    fn turn(&self, now: Duration) -> WakeTurn {
        let free = IN_FLIGHT_MAX.saturating_sub(self.in_flight.load(Ordering::Relaxed));
        let gate = match self.circuit().passage(now) {
            Passage::Free => WakeGate::Room(free),
            Passage::Probe => WakeGate::Room(free.min(1)),
            Passage::Probing | Passage::Until(_) => WakeGate::Room(0),
            Passage::Gone(_) => WakeGate::Closed,
        };
        WakeTurn { endpoint: self.name.clone(), gate }
    }

    fn circuit(&self) -> MutexGuard<'_, Circuit> {
        // A panic cannot leave the circuit half changed, so a poisoned lock is safe to use.
        self.circuit.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The rules and the endpoints of a configuration. In development no message leaves this machine, so there an endpoint elsewhere has neither:
/// nothing is queued for it.
///
/// # Errors
///
/// An endpoint that cannot be used.
pub fn of_config(wakes: &[WakeConfig], mode: Mode, address: SocketAddr) -> anyhow::Result<(Vec<WakeRule>, Vec<WakeEndpoint>)> {
    let (mut rules, mut endpoints) = (Vec::new(), Vec::new());
    for wake in wakes {
        let place = &wake.settings.name;
        if mode.is_development() && !wake.is_this_machine {
            tracing::info!(endpoint = place, "this endpoint is on another machine, so in development mode it is told nothing");
            continue;
        }
        let hook = SignedHook::new(&wake.settings, &[address]).with_context(|| format!("failed to use {place}"))?;
        for subnet in &wake.settings.allow_subnets {
            tracing::warn!(endpoint = place, %subnet, "this endpoint may lead to addresses in this subnet (allow_subnets)");
        }
        rules.push(wake.rule.clone());
        endpoints.push(WakeEndpoint::new(place.clone(), wake.rule.endpoint.clone(), hook));
    }
    Ok((rules, endpoints))
}

/// The endpoints, and what is needed to tell them.
pub struct Wakes {
    resources: Resources,
    endpoints: Vec<WakeEndpoint>,
}

impl Wakes {
    /// Tells these endpoints.
    pub fn new(resources: Resources, endpoints: Vec<WakeEndpoint>) -> Self {
        Self { resources, endpoints }
    }

    /// Sends everything that is due; returns how many messages it sent.
    pub(super) async fn run_due(self: &Arc<Self>) -> Result<usize, StoreError> {
        let (mut under_way, mut sent) = (JoinSet::new(), 0);
        loop {
            let begun = self.step(&mut under_way).await?;
            sent += begun;
            match under_way.join_next().await {
                Some(ended) => report(ended),
                None if begun == 0 => return Ok(sent),
                None => {}
            }
        }
    }

    /// Runs until the server stops; messages under way are finished first.
    pub(super) async fn run(self: &Arc<Self>, mut stopping: watch::Receiver<bool>) {
        let mut under_way = JoinSet::new();
        // Without an endpoint there is nothing to look for.
        while !self.endpoints.is_empty() && !*stopping.borrow() {
            match self.step(&mut under_way).await {
                // One transaction leases only a few messages, so more may be due.
                Ok(begun) if begun > 0 => {
                    report_ended(&mut under_way);
                    continue;
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(error = %error, "failed to look for messages that suspensions are over; trying again");
                }
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK_EVERY) => {}
                () = self.resources.store.hub().wake() => {}
                Some(ended) = under_way.join_next() => report(ended),
                // The result is ignored: it is an error only if the sender was dropped, and then the server has stopped.
                _ = stopping.changed() => {}
            }
            report_ended(&mut under_way);
        }
        while let Some(ended) = under_way.join_next().await {
            report(ended);
        }
    }

    /// Leases the messages that are due, as many as their endpoints take, and starts to send them; returns how many.
    async fn step(self: &Arc<Self>, under_way: &mut JoinSet<Result<(), StoreError>>) -> Result<usize, StoreError> {
        if self.endpoints.is_empty() {
            return Ok(0);
        }
        let now = self.resources.clock.running();
        let turns = self.endpoints.iter().map(|endpoint| endpoint.turn(now)).collect();
        let leased = self.resources.store.lease_wakes(turns).await?;
        if leased.given_up > 0 {
            tracing::warn!(
                messages = leased.given_up,
                "an endpoint of [[wake.webhook]] said it is gone (410), so these messages that suspensions are over were given up"
            );
        }
        if !leased.wakes.is_empty() {
            kill_points::reached(Point::AfterLease);
        }
        let mut begun = 0;
        for wake in leased.wakes {
            // Only messages of endpoints that have a turn are leased, so the endpoint is always found.
            let Some(at) = self.endpoints.iter().position(|endpoint| endpoint.name == wake.endpoint) else { continue };
            let endpoint = &self.endpoints[at];
            endpoint.in_flight.fetch_add(1, Ordering::Relaxed);
            endpoint.circuit().begin();
            let this = self.clone();
            under_way.spawn(async move {
                let sent = this.send(&this.endpoints[at], wake).await;
                this.endpoints[at].in_flight.fetch_sub(1, Ordering::Relaxed);
                sent
            });
            begun += 1;
        }
        Ok(begun)
    }

    async fn send(&self, endpoint: &WakeEndpoint, wake: LeasedWake) -> Result<(), StoreError> {
        let told = match serde_json::to_vec(&wake.wake) {
            Ok(body) => endpoint.hook.post(&wake.wake.message_id(), wake.now.timestamp(), body).await,
            Err(_) => Err(DeliveryError::Permanent { reason: "the message cannot be written as JSON".to_owned() }),
        };
        kill_points::reached(Point::AfterSend);
        let (result, outcome) = match told {
            Ok(()) => (DeliveryResult::Sent(String::new()), Outcome::Worked),
            Err(DeliveryError::Retry { reason, after }) => {
                let after = after.and_then(|after| TimeDelta::from_std(after).ok());
                (DeliveryResult::Retry { reason, after }, Outcome::Failed)
            }
            Err(DeliveryError::Permanent { reason }) => (DeliveryResult::Failed(reason), Outcome::Failed),
            Err(DeliveryError::Gone { reason }) => (DeliveryResult::Failed(reason.clone()), Outcome::Gone(reason)),
        };
        self.note(endpoint, &result, outcome);
        self.resources.metrics.woken(&result);
        self.resources.store.complete_wake(wake, result).await.map(drop)
    }

    /// Tells the circuit the outcome of a try, and the log of the server what that changed.
    fn note(&self, endpoint: &WakeEndpoint, result: &DeliveryResult, outcome: Outcome) {
        let mut random = [0; 2];
        self.resources.entropy.fill(&mut random);
        let mut circuit = endpoint.circuit();
        let was_open = circuit.is_open();
        circuit.record(outcome, self.resources.clock.running(), u16::from_le_bytes(random));
        let is_open = circuit.is_open();
        drop(circuit);
        if let DeliveryResult::Retry { reason, .. } | DeliveryResult::Failed(reason) = result {
            tracing::warn!(endpoint = endpoint.place, reason, "an endpoint was not told that a suspension is over");
        }
        match (was_open, is_open) {
            (false, true) => {
                tracing::error!(endpoint = endpoint.place, "the endpoint keeps failing or is gone, so its circuit is open");
            }
            (true, false) => tracing::info!(endpoint = endpoint.place, "the endpoint works again: its circuit is closed"),
            (false, false) | (true, true) => {}
        }
    }
}

/// Reports the messages that have ended by now.
pub(super) fn report_ended(under_way: &mut JoinSet<Result<(), StoreError>>) {
    while let Some(ended) = under_way.try_join_next() {
        report(ended);
    }
}

/// Reports a message that has ended.
pub(super) fn report(ended: Result<Result<(), StoreError>, JoinError>) {
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::warn!(error = %error, "failed to record that an endpoint was told; it is told once more");
        }
        Err(error) => tracing::error!(error = %error, "the task of a message to an endpoint ended before its time"),
    }
}
