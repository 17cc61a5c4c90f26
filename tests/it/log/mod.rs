//! The logs that a stranger can verify.

mod damage;
mod events;
pub(crate) mod export;
mod holds;
mod receipts;
mod redact;
mod retain;
mod rotation;
mod second_places;
mod server;
mod traffic;
mod tree;
