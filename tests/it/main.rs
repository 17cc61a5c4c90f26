//! The one integration binary: behaviour through HTTP and mail, on a clock the tests own.

mod answer_page;
mod browser;
mod crash;
mod deadlines;
mod events;
mod hostile;
mod idempotency;
mod inbox;
mod ingress;
mod intents;
mod keys;
mod leases;
mod limits;
mod live_page;
mod mail;
mod metrics;
mod negatives;
mod openapi;
mod page_headers;
#[path = "../process/mod.rs"]
mod process;
mod race;
mod reference;
mod reminders;
mod respond;
mod sdk;
mod sdk_blocking;
mod sdk_hooks;
mod sdk_waiting;
mod secrets;
mod suspend;
mod tidy;
mod traces;
mod waiting;
mod webhooks;
