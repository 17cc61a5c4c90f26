//! The parts of the machine that a store uses: clocks, randomness, tasks, and the points at which tests kill the process.

pub mod account;
pub mod clock;
pub(crate) mod clock_watch;
pub mod kill_points;
pub mod task;
