//! The loops that run beside requests: deadlines, deliveries, subscriptions, streams, reach, upkeep. Each finds its work in the store; a
//! wake-up is only a hint.

pub mod absences;
mod alerts;
mod circuit;
pub mod deadlines;
pub mod deliveries;
pub mod lane;
pub mod logins;
pub mod reach;
mod results;
pub(crate) mod scrub;
pub(crate) mod streams;
pub mod subscriptions;
pub mod upkeep;
pub mod wakes;
