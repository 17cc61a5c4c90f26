//! The settings that a running server tells, without secrets, to a program that can read its database: `placet doctor` in another
//! terminal.

use std::net::SocketAddr;

use domain::asking::policy::AskingPolicy;
use serde::{Deserialize, Serialize};

use crate::config::Config;

/// Whether a server signs checkpoints of the log.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Signing {
    /// It signs.
    Signs,
    /// It signs nothing, for this reason.
    SignsNot(String),
}

/// The settings about which `placet doctor` may warn.
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Settings {
    pub(crate) development: bool,
    pub(crate) listen: SocketAddr,
    pub(crate) public_url: String,
    /// Whether people are asked when a question names no recipients. The name in JSON is older: servers of earlier versions only
    /// report whether they have operators.
    #[serde(rename = "has_operators")]
    pub(crate) asks_by_default: bool,
    /// Whether any person may be asked at all.
    pub(crate) has_allowed: bool,
    /// Operators that no question may be sent to, because `notify_allow` does not allow them.
    pub(crate) operators_left_out: Vec<String>,
    pub(crate) fallback_min_window_seconds: u32,
    pub(crate) fallback_requires_delivery: bool,
    /// The names of its channels.
    pub(crate) channels: Vec<String>,
    pub(crate) has_mail_server: bool,
    pub(crate) mail_may_be_plain: bool,
    /// Whether agents may ask by A2A; an older server does not tell.
    #[serde(default)]
    pub(crate) a2a: bool,
    /// Whether content is kept for ever, because no retention is set; an older server does not tell.
    #[serde(default)]
    pub(crate) keeps_for_ever: bool,
    /// Whether the server signs checkpoints of the log; only a server that runs tells, and an older one does not.
    #[serde(default)]
    pub(crate) signing: Option<Signing>,
}

/// Whether a question that names no person is sent to operators, or to the chat room of a default channel.
pub(crate) fn asks_by_default(asking: &AskingPolicy) -> bool {
    !asking.channels.routes(None, &asking.operators).is_empty()
}

impl Settings {
    /// The settings of a server that is, or would be, bound to `listen`.
    pub(crate) fn of(config: &Config, listen: SocketAddr) -> Self {
        let asking = &config.asking;
        let left_out = asking.operators.iter().filter(|operator| !asking.notify_allow.allows(operator));
        Self {
            development: config.mode.is_development(),
            listen,
            public_url: config.public_url.as_ref().map_or_else(|| format!("http://{listen}/"), ToString::to_string),
            asks_by_default: asks_by_default(asking),
            has_allowed: !asking.notify_allow.is_empty(),
            operators_left_out: left_out.cloned().collect(),
            fallback_min_window_seconds: asking.fallback_min_window_seconds,
            fallback_requires_delivery: asking.fallback_requires_delivery,
            channels: asking.channels.names().into_iter().map(str::to_owned).collect(),
            has_mail_server: config.mail.is_some(),
            mail_may_be_plain: config.mail.as_ref().is_some_and(|mail| mail.allow_insecure),
            a2a: config.a2a.enabled,
            keeps_for_ever: config.retention.is_none(),
            signing: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ServeArgs;

    /// `serve` and the doctor use this rule to find out whether a question would reach no person. If a default channel is a chat
    /// room, the server needs no operators. It needs operators if a room is asked only when a question names it, or if the
    /// channel is an endpoint that is called once for each person.
    #[test]
    fn people_are_asked_by_default_as_operators_or_in_a_room() {
        let folder = tempfile::tempdir().unwrap();
        let asked = |operators: &[&str], text: &str| {
            let path = folder.path().join("placet.toml");
            std::fs::write(&path, text).unwrap();
            let mut args = ServeArgs::default();
            args.database.config = Some(path);
            args.smtp_url = Some("smtps://mail.example.com".to_owned().into());
            args.mail_from = Some("placet@example.com".into());
            let mut config = Config::load(&args).unwrap();
            config.asking.operators = operators.iter().map(|address| (*address).to_owned()).collect();
            asks_by_default(&config.asking)
        };
        let webhook = "[[channels.webhook]]\nname = 'ops'\nurl = 'https://a.example'\nsecret = 'whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='";
        let room = format!("{webhook}\nrecipient = 'ops-room'");
        let first = |webhook: &str| format!("[channels]\ndefault = ['ops']\n{webhook}");
        for (operators, text, is_asked) in [
            (&[][..], String::new(), false),
            (&["ops@example.com"], String::new(), true),
            (&[], first(&room), true),
            (&[], room.clone(), false),
            (&[], first(webhook), false),
            (&["ops@example.com"], first(webhook), true),
        ] {
            assert_eq!(asked(operators, &text), is_asked, "{operators:?} {text}");
        }
    }
}
