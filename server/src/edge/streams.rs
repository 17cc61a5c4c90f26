//! Places for open streams: a limited number for each key, for each person who has logged in, and in all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::base::ids::KeyId;

use super::problem::Failure;

/// How many streams one key may have open at a time.
pub(crate) const STREAMS_PER_KEY_MAX: usize = 1_000;
/// How many tasks one key may follow at a time by a protocol.
pub(crate) const FOLLOWED_PER_KEY_MAX: usize = 100;
/// How many streams one person may have open at a time, in all sessions: one for each open inbox.
pub(crate) const STREAMS_PER_PERSON_MAX: usize = 50;
/// How many streams one server may have open at a time, though never more than half of its connections: other requests need
/// connections too.
pub(crate) const STREAMS_MAX: usize = 10_000;
/// After how many seconds a refused client should come back.
const RETRY_AFTER_SECONDS: u32 = 5;

/// The reader of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum StreamReader {
    /// The holder of a key.
    Key(KeyId),
    /// The holder of a key that follows tasks by a protocol.
    Follower(KeyId),
    /// A person who has logged in, by the address.
    Person(String),
    /// An account of the machine.
    Local,
}

impl StreamReader {
    fn most(&self) -> (usize, &'static str) {
        match self {
            Self::Key(_) | Self::Local => (STREAMS_PER_KEY_MAX, "key"),
            Self::Follower(_) => (FOLLOWED_PER_KEY_MAX, "key"),
            Self::Person(_) => (STREAMS_PER_PERSON_MAX, "person"),
        }
    }
}

/// The streams of each reader.
pub(crate) struct Streams {
    most: usize,
    // A std mutex, because it is held for a map operation and never across an await.
    open: Mutex<HashMap<StreamReader, usize>>,
}

impl Streams {
    /// Makes places for the streams of a server with so many connections.
    pub(crate) fn among(connections: usize) -> Self {
        Self { most: STREAMS_MAX.min(connections / 2).max(1), open: Mutex::default() }
    }

    /// Takes a place for a stream of this reader.
    pub(crate) fn enter(self: &Arc<Self>, reader: StreamReader) -> Result<StreamPlace, Failure> {
        let mut open = self.open();
        let (most, kind) = reader.most();
        if open.get(&reader).is_some_and(|count| *count >= most) {
            let why = format!("one {kind} may have {most} streams open at a time");
            return Err(Failure::too_many(why, RETRY_AFTER_SECONDS));
        }
        if open.values().sum::<usize>() >= self.most {
            let why = format!("this server has {} streams open, which is its limit", self.most);
            return Err(Failure::overloaded(why, RETRY_AFTER_SECONDS));
        }
        *open.entry(reader.clone()).or_default() += 1;
        Ok(StreamPlace { streams: self.clone(), reader })
    }

    fn open(&self) -> MutexGuard<'_, HashMap<StreamReader, usize>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place of a reader for a stream. The place is given back when this value is dropped.
#[must_use = "a place that is dropped at once bounds nothing"]
pub(crate) struct StreamPlace {
    streams: Arc<Streams>,
    reader: StreamReader,
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        let mut open = self.streams.open();
        if let Some(count) = open.get_mut(&self.reader) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.reader);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_a_person_and_the_server_have_so_many_streams_and_get_them_back() {
        let streams = Arc::new(Streams::among(2 * STREAMS_MAX));
        assert_eq!(Streams::among(101).most, 50);
        let key = |number: usize| StreamReader::Key(KeyId(uuid::Uuid::from_u128(number as u128)));
        let ada = || StreamReader::Person("ada@example.com".to_owned());
        let status = |refused: Result<StreamPlace, Failure>| refused.err().unwrap().entry.status;
        let inboxes: Vec<_> = (0..STREAMS_PER_PERSON_MAX).map(|_| streams.enter(ada()).ok().unwrap()).collect();
        assert_eq!(status(streams.enter(ada())), 429);
        drop(inboxes);
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
