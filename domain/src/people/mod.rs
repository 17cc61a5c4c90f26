//! Principals, and what each may do.

pub mod authority;
pub mod event;
pub mod principal;
