//! Both databases: copies, crashes, faults, plans, several servers.

mod backup;
mod bitrot;
mod crash;
pub(crate) mod faults;
mod migrations;
mod names;
mod plans;
mod power;
mod replicas;
mod round_trips;
pub(crate) mod site;
mod tls;
