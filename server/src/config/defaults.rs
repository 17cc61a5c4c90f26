//! Default values of the configuration, which refusals and help also name.

/// The address on which the server listens by default.
pub const LISTEN_DEFAULT: &str = "127.0.0.1:7420";
/// The shortest window after which a fallback other than `fail` may apply, in seconds, unless configured or in development. In
/// less time no person can be expected to have read a mail.
pub const FALLBACK_MIN_WINDOW_SECONDS: u32 = 300;

/// The least time between two attempts of one question, in seconds, unless configured or in development.
pub const MIN_INTERVAL_SECONDS: u32 = 60;
