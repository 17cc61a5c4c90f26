//! The harness of the tests: a whole server, a mail server, a browser, a clock that stands still.
#![expect(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a harness that cannot go on ends its test by panicking")]

pub mod api;
pub mod app;
pub mod authenticator;
pub mod bench;
pub mod browser;
pub mod clock;
pub mod collector;
pub mod crawler;
pub mod folder;
pub mod issuer;
pub mod pause;
pub mod person;
pub mod plans;
pub mod postfix;
pub mod postgres;
pub mod process;
pub mod receiver;
pub mod requests;
pub mod rows;
pub mod severed;
pub mod smtp;
pub mod stream;
pub mod tls;
pub mod wire;
pub mod wish;
pub mod witness;
