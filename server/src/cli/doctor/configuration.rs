//! The settings: whether a server would start with them, and whether they are wise.

use store::Inspection;
use url::Url;

use super::finding::Finding;
use crate::config::{Config, FALLBACK_MIN_WINDOW_SECONDS, Mode, RETENTION_DAYS_RECOMMENDED};
use crate::edge::settings::Settings;

const CHECK: &str = "configuration";

pub(super) fn check(config: &anyhow::Result<Config>) -> Vec<Finding> {
    let config = match config {
        Ok(config) => config,
        Err(error) => {
            let what_to_do = "Correct it; a server does not start like this. docs/operating.md lists every setting.";
            return vec![Finding::fail(CHECK, format!("The settings cannot be used: {error:#}."), what_to_do)];
        }
    };
    let settings = Settings::of(config, config.listen);
    let mut findings = vec![Finding::ok(CHECK, format!("The settings fit together: {}.", summary(&settings)))];
    findings.extend(wise(&settings));
    findings
}

/// The settings of a running server.
pub(super) fn running(address: &Url, settings: &Settings) -> Vec<Finding> {
    let what = format!(
        "A server runs on this database and answers at {address}: {}. Its settings are examined, not those of this terminal.",
        summary(settings)
    );
    let mut findings = vec![Finding::ok(CHECK, what)];
    findings.extend(wise(settings));
    findings
}

fn summary(settings: &Settings) -> String {
    let mode = if settings.development { "development" } else { "production" };
    format!("{mode}, listens on {}, reached under {}", settings.listen, settings.public_url)
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

/// Findings about settings that let an agent answer itself, under which no person is asked, or that keep content for ever.
fn wise(settings: &Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    if settings.development {
        findings.push(Finding::warn(
            CHECK,
            "This is development mode: mails stay in memory and are never sent.",
            "For production set PLACET_SMTP_URL, PLACET_MAIL_FROM and PLACET_PUBLIC_URL=https://…, and leave out --dev.",
        ));
    }
    if !settings.asks_by_default && !settings.has_allowed {
        findings.push(Finding::warn(
            CHECK,
            "No person may be asked: neither operators nor allowed addresses are set, and no room is asked by default.",
            "Set PLACET_OPERATORS to who is asked by default, and PLACET_NOTIFY_ALLOW to who may be asked.",
        ));
    } else if !settings.asks_by_default {
        findings.push(Finding::warn(
            CHECK,
            "A question without notify_to reaches no person: there are no operators, and no room is asked by default.",
            "Set PLACET_OPERATORS to the addresses that are asked by default.",
        ));
    }
    if !settings.operators_left_out.is_empty() {
        findings.push(Finding::warn(
            CHECK,
            format!("PLACET_NOTIFY_ALLOW leaves out operators: {}.", settings.operators_left_out.join(", ")),
            "Add them to PLACET_NOTIFY_ALLOW, or take them out of PLACET_OPERATORS.",
        ));
    }
    if settings.development {
        return findings;
    }
    if settings.fallback_min_window_seconds < FALLBACK_MIN_WINDOW_SECONDS {
        findings.push(Finding::warn(
            CHECK,
            format!(
                "An agent may have its own fallback applied after {} s, before a person can have read the mail.",
                settings.fallback_min_window_seconds
            ),
            format!(
                "Set min_window_seconds = {FALLBACK_MIN_WINDOW_SECONDS} or more under [fallback] in the file, or take it out."
            ),
        ));
    }
    if !settings.fallback_requires_delivery {
        findings.push(Finding::warn(
            CHECK,
            "A fallback may apply although no person was reached.",
            "Take requires_delivery = false out of [fallback] in the file.",
        ));
    }
    if settings.mail_may_be_plain {
        findings.push(Finding::warn(
            CHECK,
            "Mails, with the links that answer, may cross a network unencrypted.",
            "Use smtps:// or ?tls=required in PLACET_SMTP_URL, and take PLACET_SMTP_INSECURE away.",
        ));
    }
    // Content that is kept for ever is no fault, but a decision that an operator should have made.
    if settings.keeps_for_ever {
        findings.push(Finding::ok(
            CHECK,
            format!(
                "Content is kept for ever, because retention.days is not set; {RETENTION_DAYS_RECOMMENDED} days are recommended."
            ),
        ));
    }
    findings
}
