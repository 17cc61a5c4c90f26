//! The logs that a stranger can verify.

mod events;
mod export;
mod server;
mod tree;
