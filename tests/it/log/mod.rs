//! The logs that a stranger can verify.

mod events;
mod server;
mod tree;
