//! Moves the questions of people who are out of office to their deputies.
//!
//! Guarantee: a question moves within some seconds of the time at which the absence begins, or at which the question is asked. Mechanism: a
//! turn reads the questions that wait for these people, and moves each in a transaction of its own. Failure: a question that does not move
//! is tried again after a minute, or as soon as its person says something else; until then it does not keep others from being tried.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use store::{Awaited, Store, StoreError};

/// How many questions one turn moves.
const MOVED_MAX: usize = 200;
/// After how many turns the questions that did not move are tried again.
const TURNS_TO_WAIT: u32 = 12;

/// Moves places to deputies.
pub struct Absences {
    store: Arc<dyn Store>,
    /// How many turns there were since the questions in it were tried, and the questions.
    stayed: Mutex<(u32, HashSet<Awaited>)>,
    /// Held by the turn under way. The schedule begins turns at fixed times, also while one lasts.
    turn: tokio::sync::Mutex<()>,
}

impl Absences {
    /// A worker that has tried no question.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, stayed: Mutex::default(), turn: tokio::sync::Mutex::default() }
    }

    /// Moves the questions that wait, a bounded number at a time; returns how many have moved.
    pub async fn turn(&self) -> usize {
        let Ok(_turn) = self.turn.try_lock() else { return 0 };
        let found = match self.store.awaited().await {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(error = %error, "failed to look for questions that wait for people who are out of office");
                return 0;
            }
        };
        let untried: Vec<Awaited> = {
            let mut stayed = self.stayed.lock().unwrap_or_else(PoisonError::into_inner);
            stayed.0 += 1;
            if stayed.0 >= TURNS_TO_WAIT {
                *stayed = (0, HashSet::new());
            }
            found.into_iter().filter(|awaited| !stayed.1.contains(awaited)).take(MOVED_MAX).collect()
        };
        let mut moved = 0;
        for awaited in untried {
            match self.store.stand_in(awaited.clone()).await {
                Ok(true) => moved += 1,
                Ok(false) => {
                    self.stayed.lock().unwrap_or_else(PoisonError::into_inner).1.insert(awaited);
                }
                Err(error) => {
                    let is_away = matches!(error, StoreError::Unavailable(_));
                    tracing::warn!(error = %error, suspension.rid = awaited.rid, "failed to move a question to a deputy");
                    self.stayed.lock().unwrap_or_else(PoisonError::into_inner).1.insert(awaited);
                    // A store that takes no writes would refuse the others as well.
                    if is_away {
                        break;
                    }
                }
            }
        }
        moved
    }
}
