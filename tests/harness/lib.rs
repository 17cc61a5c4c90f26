//! What the tests stand on: a whole server, a mail server, a browser, a clock that stands still.

pub mod api;
pub mod app;
pub mod browser;
pub mod clock;
pub mod crawler;
pub mod smtp;
