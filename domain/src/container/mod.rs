//! The parts into which an agent divides the work of an intent, and the plans in which it puts them together (RFC-0012).

pub mod event;
pub mod plan;
pub mod plan_event;
pub mod task;
