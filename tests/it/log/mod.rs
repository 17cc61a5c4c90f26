//! The logs that a stranger can verify.

mod damage;
mod events;
mod export;
mod server;
mod tree;
