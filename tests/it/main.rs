//! The one integration binary: behaviour through HTTP and mail, on a clock the tests own.

mod deadlines;
mod events;
mod idempotency;
mod ingress;
mod intents;
mod keys;
mod leases;
mod openapi;
mod respond;
mod suspend;
mod tidy;
mod waiting;
