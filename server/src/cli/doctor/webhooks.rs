//! The webhooks: the addresses of each endpoint, checked with the filter that a delivery passes. The doctor sends nothing and
//! opens no connection.

use std::net::IpAddr;

use channels::{SignedHook, Unresolved, WebhookChannel, WebhookSettingsError};

use super::finding::Finding;
use crate::config::Config;
use crate::edge::vault::Vault;

const CHECK: &str = "webhook";
const PUSH: &str = "push";

pub(super) async fn check(config: &Config) -> Vec<Finding> {
    let mut findings = Vec::new();
    for webhook in &config.webhooks {
        let name = &webhook.settings.name;
        if config.mode.is_development() && !webhook.is_this_machine {
            let what = format!("The webhook {name} gets nothing in development: its messages are shown among the mails.");
            findings.push(Finding::ok(CHECK, what));
            continue;
        }
        let resolved = match WebhookChannel::new(&webhook.settings, &[config.listen]) {
            Ok(channel) => Ok(channel.check().await),
            Err(error) => Err(error),
        };
        findings.push(finding(name, resolved));
    }
    for wake in &config.wakes {
        let name = &wake.settings.name;
        if config.mode.is_development() && !wake.is_this_machine {
            let what = format!("The webhook {name} is on another machine, so it is told nothing in development.");
            findings.push(Finding::ok(CHECK, what));
            continue;
        }
        let resolved = match SignedHook::new(&wake.settings, &[config.listen]) {
            Ok(hook) => Ok(hook.check().await),
            Err(error) => Err(error),
        };
        findings.push(finding(name, resolved));
    }
    findings.extend(pushes(config));
    findings
}

fn finding(name: &str, resolved: Result<Result<(String, Vec<IpAddr>), Unresolved>, WebhookSettingsError>) -> Finding {
    let (why, what_to_do) = match resolved {
        Ok(Ok((host, addresses))) => {
            let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
            return Finding::ok(CHECK, format!("The webhook {name} leads to {host} ({}).", addresses.join(", ")));
        }
        Ok(Err(error)) => (error.to_string(), what_to_do(&error)),
        Err(error) => (error.to_string(), "Correct this endpoint in the file; a server does not start like this."),
    };
    Finding::fail(CHECK, format!("The webhook {name} cannot be used: {why}."), what_to_do)
}

/// The endpoints of tasks of A2A: the server needs a key to encrypt what they recognise it by.
fn pushes(config: &Config) -> Option<Finding> {
    let hosts = &config.a2a.push.hosts;
    if hosts.is_empty() || !config.a2a.enabled {
        return None;
    }
    Some(match Vault::of_file(config.log.key_file.as_deref()) {
        Ok(_) => Finding::ok(PUSH, format!("The changes of tasks may be pushed to {}.", hosts.join(", "))),
        Err(error) => Finding::warn(
            PUSH,
            format!("No changes of tasks are pushed: {error:#}."),
            "Start the server once, which makes the key file of the log, or name the file that all servers on this database share (PLACET_LOG_KEY_FILE).",
        ),
    })
}

fn what_to_do(error: &Unresolved) -> &'static str {
    match error {
        Unresolved::Unknown(_) | Unresolved::Timeout(_) => "Correct the host in its url, or this machine's name resolution.",
        Unresolved::Refused { .. } => {
            "If the endpoint is meant to have that address, allow its subnet with allow_subnets; if not, find out who changed the DNS entry of its host."
        }
    }
}
