//! Principals, and what each may do.

pub mod access;
pub mod authority;
pub mod client;
pub mod event;
pub mod principal;
