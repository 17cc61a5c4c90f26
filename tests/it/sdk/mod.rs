//! The SDK against the real server.

mod blocking;
mod client;
mod hooks;
mod steering;
mod waiting;
