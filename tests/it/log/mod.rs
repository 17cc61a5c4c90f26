//! The logs that a stranger can verify.

mod damage;
mod events;
mod export;
mod receipts;
mod second_places;
mod server;
mod tree;
