//! The settings: whether a server would start with them, and whether they are wise.

use super::finding::Finding;
use crate::config::{Config, FALLBACK_MIN_WINDOW_SECONDS, Mode};
use crate::store::Inspection;

const CHECK: &str = "configuration";

pub(super) fn check(config: &anyhow::Result<Config>) -> Vec<Finding> {
    let config = match config {
        Ok(config) => config,
        Err(error) => {
            let what_to_do = "Correct it; a server does not start like this. docs/operating.md lists every setting.";
            return vec![Finding::fail(CHECK, format!("The settings cannot be used: {error:#}."), what_to_do)];
        }
    };
    let mode = if config.mode.is_development() { "development" } else { "production" };
    let public_url = config.public_url.as_ref().map_or_else(|| format!("http://{}/", config.listen), ToString::to_string);
    let mut findings = vec![Finding::ok(
        CHECK,
        format!("The settings fit together: {mode}, listens on {}, reached under {public_url}.", config.listen),
    )];
    if config.mode.is_development() {
        findings.push(Finding::warn(
            CHECK,
            "This is development mode: mails stay in memory and reach nobody.",
            "For production set PLACET_SMTP_URL, PLACET_MAIL_FROM and PLACET_PUBLIC_URL=https://…, and leave out --dev.",
        ));
    }
    findings.extend(asking(config));
    findings
}

/// Whether the settings may be used on this database.
pub(super) fn fits(config: &Config, seen: &Inspection) -> Option<Finding> {
    let by_accident = config.mode == Mode::DevelopmentByDefault && seen.was_in_production;
    by_accident.then(|| {
        Finding::fail(
            CHECK,
            "The database has been served in production, and without a mail server this is development: a server does not start like this.",
            "Set PLACET_SMTP_URL and the rest as the server has them (is the environment or --config missing?).",
        )
    })
}

/// The rules about questions that let an agent answer itself, or ask nobody.
fn asking(config: &Config) -> Vec<Finding> {
    let asking = &config.asking;
    let mut findings = Vec::new();
    if asking.operators.is_empty() && asking.notify_allow.is_empty() {
        findings.push(Finding::warn(
            CHECK,
            "Nobody may be asked: neither operators nor allowed addresses are set.",
            "Set PLACET_OPERATORS to who is asked by default, and PLACET_NOTIFY_ALLOW to who may be asked.",
        ));
    } else if asking.operators.is_empty() {
        findings.push(Finding::warn(
            CHECK,
            "A question that names nobody reaches nobody: there are no operators.",
            "Set PLACET_OPERATORS to the addresses that are asked by default.",
        ));
    }
    let outside: Vec<&str> =
        asking.operators.iter().filter(|operator| !asking.notify_allow.allows(operator)).map(String::as_str).collect();
    if !outside.is_empty() {
        findings.push(Finding::warn(
            CHECK,
            format!("PLACET_NOTIFY_ALLOW leaves out operators: {}.", outside.join(", ")),
            "Add them to PLACET_NOTIFY_ALLOW, or take them out of PLACET_OPERATORS.",
        ));
    }
    if config.mode.is_development() {
        return findings;
    }
    if asking.fallback_min_window_seconds < FALLBACK_MIN_WINDOW_SECONDS {
        findings.push(Finding::warn(
            CHECK,
            format!(
                "An agent may have its own fallback applied after {} s, before anybody can have read the mail.",
                asking.fallback_min_window_seconds
            ),
            format!(
                "Set min_window_seconds = {FALLBACK_MIN_WINDOW_SECONDS} or more under [fallback] in the file, or take it out."
            ),
        ));
    }
    if !asking.fallback_requires_delivery {
        findings.push(Finding::warn(
            CHECK,
            "A fallback may apply although nobody was reached.",
            "Take requires_delivery = false out of [fallback] in the file.",
        ));
    }
    if config.mail.as_ref().is_some_and(|mail| mail.allow_insecure) {
        findings.push(Finding::warn(
            CHECK,
            "Mails, with the links that answer, may cross a network unencrypted.",
            "Use smtps:// or ?tls=required in PLACET_SMTP_URL, and take PLACET_SMTP_INSECURE away.",
        ));
    }
    findings
}
