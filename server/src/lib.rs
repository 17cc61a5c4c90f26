//! The Placet approval server.

pub mod admission;
pub mod app;
pub mod cli;
pub mod clock;
mod clock_watch;
pub mod config;
pub mod http;
mod instance;
pub mod keys;
mod kill_points;
pub mod metrics;
pub mod pages;
mod rates;
mod reach;
mod settings;
pub mod store;
pub mod telemetry;
mod terminal;
pub mod traces;
pub mod worker;
