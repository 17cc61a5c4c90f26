//! The logs that a stranger can verify.

mod events;
mod export;
mod receipts;
mod server;
mod tree;
