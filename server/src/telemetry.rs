//! Logs: on standard error, so that standard output stays for results.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

/// What is logged unless `RUST_LOG` says otherwise. The dispatcher calls it an error when a client sends a header that is none; for whoever
/// reads our log it is not.
pub const SERVER_FILTER: &str = "info,actix_server=warn,actix_http::h1::dispatcher=off,tokio_cron_scheduler=warn";
/// The same for commands whose result is what they print.
pub const COMMAND_FILTER: &str = "warn";

/// Starts logging: for people on a terminal, as JSON elsewhere.
pub fn init(filter_default: &str) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(filter_default));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = if std::io::stderr().is_terminal() { builder.try_init() } else { builder.json().try_init() };
    // A test harness may have started logging already.
    drop(started);
}
