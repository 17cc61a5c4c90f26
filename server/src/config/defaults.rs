//! Values that stand where the configuration says nothing, and that refusals and help name.

/// Where the server listens by default.
pub const LISTEN_DEFAULT: &str = "127.0.0.1:7420";
/// The shortest window after which a fallback other than `fail` may apply, in seconds, unless configured or in development: in less, nobody
/// can be expected to have read a mail.
pub const FALLBACK_MIN_WINDOW_SECONDS: u32 = 300;

/// The least time between two attempts of one question, in seconds, unless configured or in development.
pub const MIN_INTERVAL_SECONDS: u32 = 60;
