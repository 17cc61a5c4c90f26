//! The parts into which an agent divides the work of an intent (RFC-0012).

pub mod event;
pub mod task;
