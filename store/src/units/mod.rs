//! The transaction bodies, written once: load, authorize, decide, append, queue. Each unit has a file of its own; code that
//! several units share has one, too.

mod act;
mod allowance;
mod announcements;
mod backoff;
mod circle;
pub(crate) mod complete;
mod contract;
pub(crate) mod create;
mod distance;
mod edges;
pub(crate) mod execute;
mod finish;
mod giving_up;
mod governance;
mod graph;
pub(crate) mod keys;
pub(crate) mod lease;
mod loaded;
mod log;
mod message;
mod outcome;
mod places;
mod plans;
pub(crate) mod portfolios;
pub(crate) mod presence;
mod queue;
pub(crate) mod redrive;
mod repeatable;
pub(crate) mod secret;
pub(crate) mod server_log;
pub(crate) mod subscriptions;
pub(crate) mod sweep;
mod task_leases;
mod tasks;
pub(crate) mod timers;
pub(crate) mod upkeep;
