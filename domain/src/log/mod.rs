//! The log, which a stranger can verify: what each event says, and how it is sealed (RFC-0019; `docs/log-format.md`).

mod chain;
pub mod export;
pub mod payload;

pub use chain::{Entry, Envelope};

pub use crate::base::sealed::{Broken, Follower, Hash, Sealed, verify_chain};
