//! The HTTP interface: its description, its limits, its refusals.

mod idempotency;
mod ingress;
mod intents;
mod leases;
mod limits;
mod members;
mod negatives;
mod openapi;
mod people_rows;
mod portfolios;
mod proof_rows;
mod records;
mod streams;
mod unsupported;
