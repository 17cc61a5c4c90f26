//! Messages on their way to people, by mail and by webhook.

mod deliveries;
mod detours;
mod mail;
mod recording;
mod smtp_faults;
mod subscriptions;
mod wakes;
mod webhooks;
