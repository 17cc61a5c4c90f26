//! The settings a running server tells, without secrets, to a program that can read its database: `placet doctor` in another terminal.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::config::Config;

/// The settings that can be unwise.
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Settings {
    pub(crate) development: bool,
    pub(crate) listen: SocketAddr,
    pub(crate) public_url: String,
    /// Whether people are asked when a question names none.
    pub(crate) has_operators: bool,
    /// Whether any person may be asked at all.
    pub(crate) has_allowed: bool,
    /// Operators who may not be asked.
    pub(crate) operators_left_out: Vec<String>,
    pub(crate) fallback_min_window_seconds: u32,
    pub(crate) fallback_requires_delivery: bool,
    /// The names of its channels.
    pub(crate) channels: Vec<String>,
    pub(crate) has_mail_server: bool,
    pub(crate) mail_may_be_plain: bool,
}

impl Settings {
    /// Those of a server that is, or would be, bound to `listen`.
    pub(crate) fn of(config: &Config, listen: SocketAddr) -> Self {
        let asking = &config.asking;
        let left_out = asking.operators.iter().filter(|operator| !asking.notify_allow.allows(operator));
        Self {
            development: config.mode.is_development(),
            listen,
            public_url: config.public_url.as_ref().map_or_else(|| format!("http://{listen}/"), ToString::to_string),
            has_operators: !asking.operators.is_empty(),
            has_allowed: !asking.notify_allow.is_empty(),
            operators_left_out: left_out.cloned().collect(),
            fallback_min_window_seconds: asking.fallback_min_window_seconds,
            fallback_requires_delivery: asking.fallback_requires_delivery,
            channels: asking.channels.names().into_iter().map(str::to_owned).collect(),
            has_mail_server: config.mail.is_some(),
            mail_may_be_plain: config.mail.as_ref().is_some_and(|mail| mail.allow_insecure),
        }
    }
}
