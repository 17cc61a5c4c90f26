//! What a store uses of the machine it runs on: clocks, randomness, tasks, and the points at which tests kill the process.

pub mod account;
pub mod clock;
pub(crate) mod clock_watch;
pub mod kill_points;
pub mod task;
