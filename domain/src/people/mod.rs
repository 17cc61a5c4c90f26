//! Principals, and the permissions of each.

pub mod absence;
pub mod access;
mod action;
pub mod answerer;
pub mod authority;
pub mod client;
pub mod deputies;
pub mod event;
pub mod group;
pub mod hold;
mod holding;
pub mod identity;
mod own;
pub mod passkey;
pub mod person;
pub mod preferences;
pub mod principal;
pub mod roster;
pub mod stopping;
