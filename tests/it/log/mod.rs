//! The logs that a stranger can verify.

mod events;
mod export;
mod second_places;
mod server;
mod tree;
