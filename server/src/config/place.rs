//! The place in the file where something is wrong, in words that repeat no value: a value may be a secret, and refusals end up in
//! logs.

use std::fmt;

use super::defaults::LISTEN_DEFAULT;

/// The names in the file, which a refusal may repeat.
#[rustfmt::skip]
pub(super) const KEYS: [&str; 97] = [
    "listen", "database_url", "database_connections", "public_url", "smtp_url", "smtp_insecure", "mail_from", "mail_bounce_to", "operators", "notify_allow",
    "display_time_zone", "otlp_endpoint", "log_key_file", "log_origin", "log_checkpoint_file", "log", "login", "suspension", "fallback", "channels", "questions", "subscriptions", "retention", "limits",
    "default_retry_policy", "max_attempts", "interval_seconds", "strategy", "escalation_ladder", "final_fallback_policy",
    "allowed", "min_window_seconds", "requires_delivery", "client_guard_seconds",
    "unknown", "default", "webhook",
    "name", "url", "secret", "secret_file", "previous_secret", "previous_secret_file", "allow_subnets", "recipient", "links", "template",
    "secrets", "min_distance_seconds", "asks_per_hour", "min_interval_seconds",
    "hosts",
    "agent_to_agent", "enabled", "push", "allow",
    "wake", "types", "include_value", "events",
    "days",
    "inbox", "reasons", "together", "agent", "response_type",
    "witness", "key", "mail", "to", "hours",
    "openid", "issuer", "client_id", "client_secret", "client_secret_file", "domains", "scopes", "recent_login_seconds", "groups_claim", "groups",
    "concurrent_requests", "connections", "key_requests_per_minute", "agent_bytes_per_day", "reserve_bytes", "handoff_seconds",
    "people", "address", "role", "time_zone", "locale",
    "agents", "assurance", "separation", "floors", "risks",
];

/// The keys that are flags as well.
#[rustfmt::skip]
pub(super) const FLAGS: [&str; 14] = [
    "listen", "database_url", "database_connections", "public_url", "smtp_insecure", "mail_from", "mail_bounce_to", "operators", "notify_allow", "display_time_zone",
    "otlp_endpoint", "log_key_file", "log_origin", "log_checkpoint_file",
];

/// The longest word that a refusal repeats as a setting that may have been meant, in bytes.
const WORD_MAX: usize = 24;

/// Whether this is a key of the file that has no flag.
pub fn is_only_in_the_file(name: &str) -> bool {
    KEYS.contains(&name) && !FLAGS.contains(&name)
}

/// The parser's message without the values of the file: `invalid type: string "…", expected a sequence` repeats a value.
pub(super) fn without_values(why: &str) -> String {
    if why.starts_with("missing field") {
        return why.to_owned();
    }
    // Only the text behind the last `, expected` is our own; the text before it may repeat a value.
    let (found, expected) = why.rfind(", expected").map_or((why, ""), |at| why.split_at(at));
    let found = found.split(['"', '`', '\'']).next().unwrap_or_default().trim_end();
    format!("{found}{expected}")
}

/// The place in the file where something is wrong: the line, and the key it sets or the table it begins.
///
/// The place names only a key of ours, or a word that may have been meant as one: any other text may be a secret.
pub(super) struct Place<'a> {
    line: usize,
    name: Option<Name<'a>>,
}

enum Name<'a> {
    /// A key, and the value behind it.
    Key(&'a str, &'a str),
    /// A table, with its brackets.
    Table(&'a str),
}

impl<'a> Place<'a> {
    pub(super) fn of(text: &'a str, byte: usize) -> Self {
        let line = text.get(..byte).unwrap_or(text).matches('\n').count();
        let shown = text.lines().nth(line).map(str::trim).unwrap_or_default();
        let is_named = |name: &str| name.split('.').all(|name| KEYS.contains(&name.trim()) || is_word(name.trim()));
        let table = shown.strip_prefix('[').and_then(|rest| rest.split(']').next()).map(|rest| rest.trim_start_matches('['));
        let name = match (table, shown.split_once('=')) {
            (Some(table), _) if is_named(table) => header(shown).map(Name::Table),
            (Some(_), _) | (None, None) => None,
            (None, Some((key, value))) => is_named(key.trim()).then(|| Name::Key(key.trim(), value.trim())),
        };
        Self { line: line + 1, name }
    }

    /// A hint about the right spelling; empty if the spelling is not the fault.
    pub(super) fn hint(&self) -> String {
        match self.name {
            Some(Name::Key("listen", _)) => format!("; write it like this: listen = \"{LISTEN_DEFAULT}\""),
            Some(Name::Key(key, value)) if is_bare(value) => format!("; put the text in quotes: {key} = \"…\""),
            Some(Name::Key(..) | Name::Table(_)) | None => String::new(),
        }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.line)?;
        match self.name {
            Some(Name::Key(name, _) | Name::Table(name)) => write!(f, ", {name}"),
            None => Ok(()),
        }
    }
}

/// The name of a table with its brackets, without the text behind them: that may be a comment or, by mistake, a setting with its
/// secret.
fn header(line: &str) -> Option<&str> {
    let end = line.find(']')?;
    let end = if line[end..].starts_with("]]") { end + 1 } else { end };
    Some(&line[..=end])
}

/// Whether a value is a text that lacks its quotes: it is no number, no boolean and no list.
fn is_bare(value: &str) -> bool {
    let value = value.split('#').next().unwrap_or_default().trim();
    !value.starts_with(['"', '\'', '[', '{']) && !["true", "false", ""].contains(&value) && value.parse::<f64>().is_err()
}

/// Whether this reads like the name of a setting, so that a person who mistyped it can find it.
fn is_word(name: &str) -> bool {
    (1..=WORD_MAX).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}
