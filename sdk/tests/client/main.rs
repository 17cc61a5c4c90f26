//! The client against servers that do what a test tells them to.
#![expect(clippy::unwrap_used, reason = "the servers are part of the tests, and fail like them")]

mod conversation;
mod following;
mod holding;
mod many;
mod script;
