//! Tests of whole processes: the program as it is shipped, killed, stopped, misused. Their clock is the real one, so they may wait.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and everything here serves tests alone")]

mod ask;
mod boot;
mod demo;
mod doctor;
mod full_disk;
mod keys;
mod kill;
mod kill_points;
mod ledger;
mod overload;
mod postgres;
mod restore;
mod silence;
mod startup;
mod stop;
mod tls;
mod traces;
