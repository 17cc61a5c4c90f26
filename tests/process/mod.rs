//! Tests of whole processes: the program as it is shipped, killed, stopped, misused. Their clock is the real one, so they may
//! wait.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and everything here serves tests alone")]

mod answer;
mod ask;
mod balancer;
mod boot;
mod commands;
mod demo;
mod desk;
mod doctor;
mod documents;
mod export;
mod full_disk;
mod invariants;
mod keys;
mod kill;
mod kill_points;
mod ledger;
mod log;
mod migrate;
mod overload;
mod people;
mod postgres;
mod receipt;
mod replicas;
mod restore;
mod roster;
mod rotate;
mod silence;
mod startup;
mod stop;
mod streams;
mod tls;
mod traces;
mod upgrade;
mod waking;
