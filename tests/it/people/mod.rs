//! The permissions of callers, by their keys, and the data that stays secret.

mod assignments;
mod authority;
mod gateways;
mod keys;
pub(crate) mod secrets;
