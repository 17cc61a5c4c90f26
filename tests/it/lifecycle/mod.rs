//! Intents that are stopped, and go on: which callers may stop them, and who wins.

mod broadcasting;
mod parking;
mod pausing;
mod signed;
mod stopping;
