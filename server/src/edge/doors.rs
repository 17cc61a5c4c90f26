//! The doors of the protocols: which of them are open, and the address by which they name themselves.

use std::sync::Arc;

use channels::SignedSender;
use chrono::{DateTime, Utc};
use url::Url;

use super::pushes::Pushes;

/// The doors of the protocols.
#[derive(Clone, Debug)]
pub(crate) struct Doors {
    /// The address by which clients reach the server.
    pub(crate) public_url: Url,
    /// Whether agents may ask by A2A.
    pub(crate) a2a: bool,
    /// The senders that may tell of events by a signature in place of a key.
    pub(crate) senders: Arc<[SignedSender]>,
    /// The endpoints to which the changes of tasks may be pushed; absent if the operator allows none.
    pub(crate) push: Option<Arc<Pushes>>,
    /// When the server started: what it says of itself has not changed since.
    pub(crate) opened_at: DateTime<Utc>,
}

impl Doors {
    /// The doors of a server with this public address.
    pub(crate) fn of(
        public_url: &Url,
        (a2a, push): (bool, Option<Arc<Pushes>>),
        senders: Vec<SignedSender>,
        opened_at: DateTime<Utc>,
    ) -> Self {
        Self { public_url: public_url.clone(), a2a, senders: senders.into(), push, opened_at }
    }

    /// The address of a path below the public address.
    pub(crate) fn at(&self, path: &str) -> String {
        format!("{}/{path}", self.public_url.as_str().trim_end_matches('/'))
    }
}
