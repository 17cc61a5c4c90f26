//! Places for open streams: a limited number for each key, and a limited number in all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::base::ids::KeyId;

use super::problem::Failure;

/// How many streams one key may have open at a time.
pub(crate) const STREAMS_PER_KEY_MAX: usize = 1_000;
/// How many streams one server may have open at a time, though never more than half of its connections: other requests need
/// connections too.
pub(crate) const STREAMS_MAX: usize = 10_000;
/// After how many seconds a refused client should come back.
const RETRY_AFTER_SECONDS: u32 = 5;

/// The streams of each key.
pub(crate) struct Streams {
    most: usize,
    // A std mutex, because it is held for a map operation and never across an await.
    open: Mutex<HashMap<Option<KeyId>, usize>>,
}

impl Streams {
    /// Makes places for the streams of a server with so many connections.
    pub(crate) fn among(connections: usize) -> Self {
        Self { most: STREAMS_MAX.min(connections / 2).max(1), open: Mutex::default() }
    }

    /// Takes a place for a stream of this key.
    pub(crate) fn enter(self: &Arc<Self>, key: Option<KeyId>) -> Result<StreamPlace, Failure> {
        let mut open = self.open();
        if open.get(&key).is_some_and(|count| *count >= STREAMS_PER_KEY_MAX) {
            let why = format!("one key may have {STREAMS_PER_KEY_MAX} streams open at a time");
            return Err(Failure::too_many(why, RETRY_AFTER_SECONDS));
        }
        if open.values().sum::<usize>() >= self.most {
            let why = format!("this server has {} streams open, which is its limit", self.most);
            return Err(Failure::overloaded(why, RETRY_AFTER_SECONDS));
        }
        *open.entry(key).or_default() += 1;
        Ok(StreamPlace { streams: self.clone(), key })
    }

    fn open(&self) -> MutexGuard<'_, HashMap<Option<KeyId>, usize>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place of a key for a stream. The place is given back when this value is dropped.
#[must_use = "a place that is dropped at once bounds nothing"]
pub(crate) struct StreamPlace {
    streams: Arc<Streams>,
    key: Option<KeyId>,
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        let mut open = self.streams.open();
        if let Some(count) = open.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_and_the_server_have_so_many_streams_and_get_them_back() {
        let streams = Arc::new(Streams::among(2 * STREAMS_MAX));
        assert_eq!(Streams::among(101).most, 50);
        let key = |number: usize| Some(KeyId(uuid::Uuid::from_u128(number as u128)));
        let status = |refused: Result<StreamPlace, Failure>| refused.err().unwrap().entry.status;
        let mut places: Vec<_> = (0..STREAMS_PER_KEY_MAX).map(|_| streams.enter(key(0)).ok().unwrap()).collect();
        assert_eq!(status(streams.enter(key(0))), 429);
        places.extend((STREAMS_PER_KEY_MAX..STREAMS_MAX).map(|number| streams.enter(key(number)).ok().unwrap()));
        assert_eq!(status(streams.enter(key(1))), 503);
        assert_eq!(status(streams.enter(key(0))), 429, "its own limit is named first");
        places.pop();
        places.push(streams.enter(key(1)).ok().unwrap());
        drop(places);
        assert!(streams.open().is_empty(), "a key without a stream is forgotten");
    }
}
