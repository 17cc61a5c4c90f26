//! Deadlines, attempts and reminders; clocks that lie, and servers that were away.

mod attempts;
mod clients_clock;
mod clock;
mod deadlines;
mod extensions;
pub(crate) mod outage;
mod reminders;
mod restore;
mod sweep;
