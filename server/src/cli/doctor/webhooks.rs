//! The webhooks: the addresses of each endpoint, checked with the filter that a delivery passes. The doctor sends nothing and
//! opens no connection.

use channels::{Unresolved, WebhookChannel};

use super::finding::Finding;
use crate::config::Config;

const CHECK: &str = "webhook";

pub(super) async fn check(config: &Config) -> Vec<Finding> {
    let mut findings = Vec::new();
    for webhook in &config.webhooks {
        let name = &webhook.settings.name;
        if config.mode.is_development() && !webhook.is_this_machine {
            let what = format!("The webhook {name} gets nothing in development: its messages are shown among the mails.");
            findings.push(Finding::ok(CHECK, what));
            continue;
        }
        let found = match WebhookChannel::new(&webhook.settings, &[config.listen]) {
            Ok(channel) => channel.check().await.map_err(|error| (error.to_string(), what_to_do(&error))),
            Err(error) => Err((error.to_string(), "Correct this endpoint in the file; a server does not start like this.")),
        };
        findings.push(match found {
            Ok((host, addresses)) => {
                let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
                Finding::ok(CHECK, format!("The webhook {name} leads to {host} ({}).", addresses.join(", ")))
            }
            Err((why, what_to_do)) => Finding::fail(CHECK, format!("The webhook {name} cannot be used: {why}."), what_to_do),
        });
    }
    findings
}

fn what_to_do(error: &Unresolved) -> &'static str {
    match error {
        Unresolved::Unknown(_) | Unresolved::Timeout(_) => "Correct the host in its url, or this machine's name resolution.",
        Unresolved::Refused { .. } => {
            "If the endpoint is meant to have that address, allow its subnet with allow_subnets; if not, find out who changed the DNS entry of its host."
        }
    }
}
