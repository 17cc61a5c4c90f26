//! The Placet approval server.

pub mod api;
pub mod app;
pub mod cli;
pub mod config;
mod crypto;
pub mod edge;
pub mod log;
pub mod observe;
mod openid;
pub mod pages;
#[cfg(unix)]
mod permissions;
mod protocols;
mod terminal;
pub mod worker;
