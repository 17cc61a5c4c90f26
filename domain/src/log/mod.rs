//! The log a stranger can verify: canonical bytes and the chain they form (RFC-0019; the definition is in the wire document).

mod canonical;
mod chain;
pub mod payload;

pub use chain::{Broken, Entry, Envelope, Follower, Hash, Sealed, verify_chain};
