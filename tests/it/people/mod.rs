//! Who may do what, by which key, and what stays secret.

mod authority;
mod gateways;
mod keys;
pub(crate) mod secrets;
