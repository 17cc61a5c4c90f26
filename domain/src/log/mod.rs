//! The log, which a stranger can verify: canonical bytes and the chain they form (RFC-0019; `docs/http.md` describes both).

mod canonical;
mod chain;
pub mod payload;

pub use chain::{Broken, Entry, Envelope, Follower, Hash, Sealed, verify_chain};
