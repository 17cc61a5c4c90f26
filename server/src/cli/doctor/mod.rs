//! `placet doctor`: looks at everything a server needs, beside a running one, and changes nothing.

mod clock;
mod configuration;
mod database;
mod finding;
mod gateways;
mod mail;
mod permissions;
mod postgres;
mod public_url;
mod webhooks;

use anyhow::bail;
use clap::Args;
use serde_json::json;

pub(super) use self::clock::written;
use self::finding::{Finding, Level};
use super::remote::line_of_result;
use super::say;
use crate::config::{Config, ServeArgs, secret_from_environment};
use crate::store::{Database, Inspection};

/// The name the mail server's address has in the environment.
const SMTP_URL: &str = "PLACET_SMTP_URL";
/// As wide as a finding's level and check.
const BEHIND_THE_CHECK: &str = "                      ";

#[derive(Args)]
pub(super) struct DoctorArgs {
    /// What the server is started with.
    #[command(flatten)]
    serve: ServeArgs,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(mut args: DoctorArgs) -> anyhow::Result<()> {
    let watch = clock::Watch::start();
    let mut findings = Vec::new();
    let config = match secret_from_environment(SMTP_URL) {
        Ok(smtp_url) => {
            args.serve.smtp_url = smtp_url;
            Config::load(&args.serve)
        }
        Err(error) => Err(error),
    };
    let inspection = look(&args.serve, &config, &mut findings).await;
    if let Ok(config) = &config {
        findings.extend(mail::check(config).await);
        findings.extend(webhooks::check(config).await);
        findings.push(public_url::check(config, inspection.as_ref()).await?);
    }
    findings.extend(watch.check(inspection.as_ref().and_then(|seen| seen.last_event))?);
    report(&findings, args.json)
}

/// The settings, the database and who can read what.
async fn look(args: &ServeArgs, config: &anyhow::Result<Config>, findings: &mut Vec<Finding>) -> Option<Inspection> {
    findings.extend(configuration::check(config));
    // Wrong settings elsewhere are no reason not to look at the database.
    let database = match config {
        Ok(config) => Some(config.database.clone()),
        Err(_) => args.database().ok(),
    };
    let needs_key = config.as_ref().is_ok_and(|config| !config.mode.is_development());
    let (inspection, path) = match database {
        Some(Database::Sqlite(path)) => (database::check(&path, needs_key, findings), Some(path)),
        Some(Database::Postgres { address, connections }) => {
            (postgres::check(&address, connections, needs_key, findings).await, None)
        }
        None => (None, None),
    };
    if let (Ok(config), Some(inspection)) = (config, &inspection) {
        findings.extend(configuration::fits(config, inspection));
        findings.extend(gateways::check(config, inspection));
    }
    permissions::check(args, path.as_deref(), findings);
    inspection
}

fn report(findings: &[Finding], as_json: bool) -> anyhow::Result<()> {
    let count = |level| findings.iter().filter(|finding| finding.level == level).count();
    let failures = count(Level::Fail);
    if as_json {
        say(serde_json::to_string(&json!({ "ok": failures == 0, "findings": findings }))?)?;
    } else {
        for finding in findings {
            // Both may hold what a mail server or a proxy said.
            let check = format!("{:<4}  {:<14}  ", finding.level.as_str(), finding.check);
            say(line_of_result(&check, &finding.what, BEHIND_THE_CHECK))?;
            if let Some(what_to_do) = &finding.what_to_do {
                say(line_of_result(BEHIND_THE_CHECK, &format!("→ {what_to_do}"), BEHIND_THE_CHECK))?;
            }
        }
    }
    match (failures, count(Level::Warn)) {
        (0, _) if as_json => Ok(()),
        (0, 0) => Ok(say("All is well.")?),
        (0, warnings) => Ok(say(format!("The server can run. Warnings: {warnings}."))?),
        (1, _) => bail!("the doctor found one thing that must be mended"),
        (failures, _) => bail!("the doctor found {failures} things that must be mended"),
    }
}
