//! The parts that the API and the pages share: connections, bodies, keys, the limits on requests at work (places), rates, problems,
//! routes. This module uses neither `crate::api` nor `crate::pages`.

pub(crate) mod address;
pub mod admission;
pub(crate) mod auth;
pub mod authenticator;
pub mod body;
pub mod connection;
pub(crate) mod doors;
pub(crate) mod exchange;
pub mod export;
mod fields;
pub(crate) mod health;
pub(crate) mod held;
pub(crate) mod instance;
pub mod keys;
pub(crate) mod problem;
pub(crate) mod pushes;
pub(crate) mod query;
pub(crate) mod rates;
pub(crate) mod reader;
mod relay;
pub(crate) mod route;
pub(crate) mod settings;
pub mod shared;
pub(crate) mod signed;
pub(crate) mod stamps;
pub(crate) mod streams;
pub(crate) mod trace;
pub(crate) mod turns;
pub(crate) mod vault;
mod wording;
pub(crate) mod write;
