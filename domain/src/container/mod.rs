//! The parts into which an agent divides the work of an intent, the plans in which it puts them together (RFC-0012), and the agent that
//! directs the work (RFC-0013).

pub mod condition;
pub mod coordinator;
pub mod coordinator_event;
pub mod event;
pub mod plan;
pub mod plan_event;
pub mod task;
