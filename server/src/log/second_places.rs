//! The second places that checkpoints are sent to: witnesses, which cosign them, an auditor's webhook, and auditors' mails.
//!
//! Guarantee: a place that answers has the newest checkpoint within a few seconds, and no place, however slow, holds up the signing or a
//! decision. Mechanism: each place has a loop of its own, which looks for a newer checkpoint every few seconds. Failure: a place that
//! fails is tried again after pauses that double; checkpoints that were replaced meanwhile are skipped, because the newest one covers
//! them.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::watch;

use super::failure::Failure;
use super::hook::Hook;
use super::mail::Mails;
use super::witness::Witness;
use crate::observe::metrics::Metrics;

/// The time between two looks for a newer checkpoint.
const EVERY: Duration = Duration::from_secs(5);
/// The longest pause after failures.
const PAUSE_MAX: Duration = Duration::from_mins(15);

/// One place.
pub(super) enum Place {
    Witness(Witness),
    Hook(Hook),
    Mails(Mails),
}

impl Place {
    fn name(&self) -> &str {
        match self {
            Self::Witness(witness) => witness.name(),
            Self::Hook(_) => "webhook",
            Self::Mails(_) => "mail",
        }
    }

    /// Sends the newest checkpoint if the place lacks it; returns how many events the newest one covers that it has.
    async fn turn(&self) -> Result<u64, Failure> {
        match self {
            Self::Witness(witness) => witness.turn().await,
            Self::Hook(hook) => hook.turn().await,
            Self::Mails(mails) => mails.turn().await,
        }
    }
}

/// All second places that are reached over a network.
pub struct SecondPlaces {
    places: Vec<Place>,
    metrics: Arc<Metrics>,
}

impl SecondPlaces {
    /// Joins the witnesses, the webhook and the mails.
    pub(crate) fn new(witnesses: Vec<Witness>, hook: Option<Hook>, mails: Option<Mails>, metrics: Arc<Metrics>) -> Self {
        let witnesses = witnesses.into_iter().map(Place::Witness);
        let places: Vec<Place> = witnesses.chain(hook.map(Place::Hook)).chain(mails.map(Place::Mails)).collect();
        for place in &places {
            metrics.log_place_known(place.name());
        }
        Self { places, metrics }
    }

    /// Takes a turn for each place, all at once; returns what became of each.
    pub async fn turn(&self) -> Vec<Result<u64, Failure>> {
        join_all(self.places.iter().map(|place| self.turn_of(place))).await
    }

    /// Runs until the server stops. What is under way then is dropped: the next server begins anew.
    pub(crate) async fn run(&self, mut stopping: watch::Receiver<bool>) {
        let loops = join_all(self.places.iter().map(|place| self.keep_up(place)));
        tokio::select! {
            _ = loops, if !self.places.is_empty() => {}
            // The result is ignored: it is an error only if the sender was dropped, and then the server has stopped.
            _ = stopping.wait_for(|stopping| *stopping) => {}
        }
    }

    async fn keep_up(&self, place: &Place) {
        let mut pause = EVERY;
        loop {
            pause = match self.turn_of(place).await {
                Ok(_) => EVERY,
                Err(_) => (pause * 2).min(PAUSE_MAX),
            };
            tokio::time::sleep(pause).await;
        }
    }

    async fn turn_of(&self, place: &Place) -> Result<u64, Failure> {
        let (outcome, name) = (place.turn().await, place.name());
        self.metrics.log_place_contradicts(name, matches!(outcome, Err(Failure::Contradicts(_))));
        match &outcome {
            Ok(size) => self.metrics.log_place_holds(name, *size),
            Err(Failure::Later(why)) => {
                self.metrics.log_place_failed(name);
                tracing::warn!(place = name, error = why, "failed to send a checkpoint to a second place; trying again");
            }
            Err(Failure::Contradicts(why)) => {
                self.metrics.log_place_failed(name);
                tracing::error!(
                    place = name,
                    error = why,
                    "a second place contradicts the log: the log was rolled back or rewritten, or a copy of it is served elsewhere"
                );
            }
        }
        outcome
    }
}
