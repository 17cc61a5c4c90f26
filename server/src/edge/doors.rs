//! The doors of the protocols: which of them are open, and the address by which they name themselves.

use chrono::{DateTime, Utc};
use url::Url;

/// The doors of the protocols.
#[derive(Clone, Debug)]
pub(crate) struct Doors {
    /// The address by which clients reach the server.
    pub(crate) public_url: Url,
    /// Whether agents may ask by A2A.
    pub(crate) a2a: bool,
    /// When the server started: what it says of itself has not changed since.
    pub(crate) opened_at: DateTime<Utc>,
}

impl Doors {
    /// The address of a path below the public address.
    pub(crate) fn at(&self, path: &str) -> String {
        format!("{}/{path}", self.public_url.as_str().trim_end_matches('/'))
    }
}
