//! Wakes streams. A wake-up is a hint: a stream that is woken looks at the log, and looks now and then all the same.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::base::ids::IntentId;
use tokio::sync::watch;

/// So many entries are kept before those without a stream are removed.
const KEPT_MIN: usize = 64;

/// The events that wake a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Followed {
    /// Those of one intent for which the OpenIntent client has handlers.
    Intent(IntentId),
    /// All events of one intent.
    Log(IntentId),
    /// Those of all intents for which that client has handlers.
    All,
}

/// The streams that are open, by the events that wake them.
#[derive(Default)]
pub(crate) struct Publications {
    // A std mutex: held for a map operation, never across an await.
    streams: Mutex<HashMap<Followed, watch::Sender<()>>>,
}

impl Publications {
    /// Registers a stream. Register before you look: a change between looking and waiting would be
    /// lost.
    pub(crate) fn follow(&self, followed: Followed) -> watch::Receiver<()> {
        let mut streams = self.streams();
        if streams.len() >= KEPT_MIN {
            streams.retain(|_, sender| sender.receiver_count() > 0);
        }
        streams.entry(followed).or_insert_with(|| watch::Sender::new(())).subscribe()
    }

    /// Wakes the streams that follow these events.
    pub(crate) fn announce(&self, woken: &[Followed]) {
        let streams = self.streams();
        for stream in woken {
            if let Some(sender) = streams.get(stream) {
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

    fn streams(&self) -> MutexGuard<'_, HashMap<Followed, watch::Sender<()>>> {
        // A panic cannot leave the map half changed, so a poisoned lock is as good as any.
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_woken_by_its_events_and_forgotten_when_it_is_gone() {
        let publications = Publications::default();
        let id = |number| IntentId(uuid::Uuid::from_u128(number));
        let one = publications.follow(Followed::Intent(id(1)));
        let (log, all) = (publications.follow(Followed::Log(id(1))), publications.follow(Followed::All));
        let woken = |stream: &watch::Receiver<()>| stream.has_changed().unwrap();
        publications.announce(&[Followed::Intent(id(2)), Followed::All]);
        assert!(!woken(&one) && woken(&all));
        publications.announce(&[Followed::Log(id(1))]);
        assert!(woken(&log) && !woken(&one));
        publications.announce(&[Followed::Intent(id(1))]);
        assert!(woken(&one));
        for number in 2..1_000 {
            drop(publications.follow(Followed::Intent(id(number))));
        }
        assert!(publications.streams().len() <= KEPT_MIN);
        assert!(publications.streams().contains_key(&Followed::Intent(id(1))), "a stream that is open is kept");
    }
}
