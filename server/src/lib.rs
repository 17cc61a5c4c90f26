//! The Placet approval server.

pub mod clock;
pub mod store;
