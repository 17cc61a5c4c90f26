//! What runs beside requests: deadlines, deliveries, upkeep. Each finds its work in the store; wake-ups are hints.

mod circuit;
pub mod deadlines;
pub mod deliveries;
pub mod lane;
mod results;
pub mod upkeep;
