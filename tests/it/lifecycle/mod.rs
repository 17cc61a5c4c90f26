//! Intents that are stopped, and go on: which callers may stop them, and who wins.

mod broadcasting;
mod firing;
mod harn;
mod leaving;
mod parking;
pub(crate) mod pausing;
mod receipts;
mod resting;
mod signed;
mod stopping;
mod texts;
mod winning;
