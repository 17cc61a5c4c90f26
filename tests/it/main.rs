//! The one integration binary: behaviour through HTTP and mail, on a clock the tests own.

mod answer_page;
mod browser;
mod crash;
mod deadlines;
mod events;
mod hostile;
mod idempotency;
mod ingress;
mod intents;
mod keys;
mod leases;
mod live_page;
mod mail;
mod openapi;
mod page_headers;
#[path = "../process/mod.rs"]
mod process;
mod race;
mod respond;
mod sdk;
mod secrets;
mod suspend;
mod tidy;
mod waiting;
