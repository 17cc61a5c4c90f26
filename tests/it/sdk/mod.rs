//! The SDK against the real server.

mod blocking;
mod client;
mod containers;
mod examples;
mod failures;
mod following;
mod hooks;
mod many;
mod steering;
mod stopping;
mod tasks;
mod waiting;
mod working;
