//! Wakes streams. A wake-up is a hint: a stream that is woken looks at the log, and looks now and then all the same.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::base::ids::IntentId;
use tokio::sync::watch;

/// So many entries are kept before those without a stream are removed.
const KEPT_MIN: usize = 64;

/// The streams that are open, by intent; the streams of agents are under `None` and are woken by every intent.
#[derive(Default)]
pub(crate) struct Publications {
    // A std mutex: held for a map operation, never across an await.
    streams: Mutex<HashMap<Option<IntentId>, watch::Sender<()>>>,
}

impl Publications {
    /// Registers a stream of one intent, or of an agent. Register before you look: a change between looking and waiting would be
    /// lost.
    pub(crate) fn follow(&self, intent: Option<IntentId>) -> watch::Receiver<()> {
        let mut streams = self.streams();
        if streams.len() >= KEPT_MIN {
            streams.retain(|_, sender| sender.receiver_count() > 0);
        }
        streams.entry(intent).or_insert_with(|| watch::Sender::new(())).subscribe()
    }

    /// Wakes the streams that may carry an event of this intent.
    pub(crate) fn announce(&self, intent: IntentId) {
        let streams = self.streams();
        for stream in [Some(intent), None] {
            if let Some(sender) = streams.get(&stream) {
                sender.send_replace(());
            }
        }
    }

    /// Wakes all streams.
    pub(crate) fn announce_all(&self) {
        for sender in self.streams().values() {
            sender.send_replace(());
        }
    }

    fn streams(&self) -> MutexGuard<'_, HashMap<Option<IntentId>, watch::Sender<()>>> {
        // A panic cannot leave the map half changed, so a poisoned lock is as good as any.
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_woken_by_its_intent_and_forgotten_when_it_is_gone() {
        let publications = Publications::default();
        let id = |number| IntentId(uuid::Uuid::from_u128(number));
        let (one, agent) = (publications.follow(Some(id(1))), publications.follow(None));
        let woken = |stream: &watch::Receiver<()>| stream.has_changed().unwrap();
        publications.announce(id(2));
        assert!(!woken(&one) && woken(&agent));
        publications.announce(id(1));
        assert!(woken(&one));
        for number in 2..1_000 {
            drop(publications.follow(Some(id(number))));
        }
        assert!(publications.streams().len() <= KEPT_MIN);
        assert!(publications.streams().contains_key(&Some(id(1))), "a stream that is open is kept");
    }
}
