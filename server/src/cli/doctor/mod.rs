//! `placet doctor`: examines everything that a server needs, beside a running server if there is one, and changes nothing.

mod beside;
mod card;
mod checkpoint_file;
mod clock;
mod configuration;
mod database;
mod deep;
mod finding;
mod gateways;
mod log_key;
mod login;
mod mail;
mod people;
mod permissions;
mod postgres;
mod public_url;
mod webhooks;

use anyhow::bail;
use clap::Args;
use serde_json::json;
use store::{Database, Inspection, Schema};

pub(super) use self::clock::written;
use self::finding::{Finding, Level};
use super::remote::line_of_result;
use super::say;
use crate::config::{Config, Mode, ServeArgs, secret_from_environment};
use crate::edge::settings::Settings;

/// The environment variable with the address of the mail server.
const SMTP_URL: &str = "PLACET_SMTP_URL";
/// Spaces, as wide as the level and the check of a finding.
const BEHIND_THE_CHECK: &str = "                      ";

#[derive(Args)]
pub(super) struct DoctorArgs {
    /// The settings with which the server is started.
    #[command(flatten)]
    serve: ServeArgs,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
    /// Read the whole database, and name each damaged record.
    #[arg(long)]
    deep: bool,
}

pub(super) async fn run(mut args: DoctorArgs) -> anyhow::Result<()> {
    let watch = clock::Watch::start();
    let config = match secret_from_environment(SMTP_URL) {
        Ok(smtp_url) => {
            args.serve.smtp_url = smtp_url;
            Config::load(&args.serve)
        }
        Err(error) => Err(error),
    };
    let kept = config.as_ref().ok().and_then(checkpoint_file::read);
    let mut of_database = Vec::new();
    let inspection = look(&args.serve, &config, &mut of_database).await;
    // Settings on the command line may be for the next start, and the person asks about those. So a running server, which may
    // have other settings, is then not asked for them.
    let secret = inspection.as_ref().and_then(|seen| seen.secret).filter(|_| !names_settings());
    let running = match secret {
        Some(secret) => beside::running(&args.serve.database, secret).await,
        None => None,
    };
    let unasked = match (&running, secret) {
        (None, Some(secret)) => beside::unasked(&args.serve.database, secret).await,
        (Some(_), _) | (None, None) => None,
    };
    // With neither a mail server nor `--dev` set at this terminal, the settings here are taken for defaults, which tell nothing
    // about a running server.
    let is_blind = unasked.is_some() && config.as_ref().is_ok_and(|config| config.mode == Mode::DevelopmentByDefault);
    let mut findings: Vec<Finding> = unasked.iter().map(beside::is_unexamined).collect();
    match &running {
        Some((address, settings)) => findings.extend(configuration::running(address, settings)),
        None if is_blind => {}
        None => findings.extend(configuration::check(&config)),
    }
    // Whether the settings may be used on this database is checked only if no server is known to run on it: a server that runs
    // was allowed to start there.
    if let (None, None, Ok(config)) = (&running, &unasked, &config) {
        findings.extend(inspection.as_ref().and_then(|seen| configuration::fits(config, seen)));
        findings.extend(people::check(config, inspection.as_ref()));
        findings.extend(people::floors(config, inspection.as_ref()));
    }
    findings.extend(of_database);
    if let (true, Some(database), Some(Schema::Current)) =
        (args.deep, database_of(&args.serve, &config), inspection.as_ref().map(|seen| &seen.schema))
    {
        findings.extend(deep::check(&database).await);
    }
    findings.extend(beside::other(&args.serve, inspection.as_ref()).await);
    if let Ok(config) = &config {
        findings.extend(mail::check(config, running.as_ref().map(|(_, settings)| settings)).await);
        findings.extend(webhooks::check(config).await);
        findings.extend(checkpoint_file::check(config, kept, inspection.as_ref()));
    }
    findings.extend(match (&running, &unasked, &config) {
        // The key file of a server that runs may be named in its environment alone.
        (Some((_, settings)), _, _) => log_key::running(settings),
        (None, None, Ok(config)) => log_key::check(config, inspection.as_ref()),
        (None, Some(_), _) | (None, None, Err(_)) => None,
    });
    let settings = match (&running, &config) {
        (Some((_, settings)), _) => Some(settings.clone()),
        (None, Ok(config)) if !is_blind => Some(Settings::of(config, config.listen)),
        (None, Ok(_) | Err(_)) => None,
    };
    if let Some(settings) = settings {
        findings.extend(inspection.iter().flat_map(|seen| gateways::check(&settings.channels, seen)));
        let public_url = public_url::check(&settings, inspection.as_ref()).await?;
        // A card that another server shows says nothing about this one.
        let is_reached = public_url.level == Level::Ok;
        findings.push(public_url);
        if is_reached && settings.a2a {
            findings.push(card::check(&settings).await?);
        }
        if let Ok(config) = &config {
            findings.extend(login::check(config, &settings.public_url, inspection.as_ref()).await?);
        }
    }
    findings.extend(watch.check(inspection.as_ref().and_then(|seen| seen.last_event))?);
    report(&findings, args.json)
}

/// Whether there are settings on the command line.
fn names_settings() -> bool {
    std::env::args_os().skip(2).any(|word| word != "--json" && word != "--deep")
}

/// The database; wrong settings elsewhere are no reason to skip it.
fn database_of(args: &ServeArgs, config: &anyhow::Result<Config>) -> Option<Database> {
    match config {
        Ok(config) => Some(config.database.clone()),
        Err(_) => args.database().ok(),
    }
}

/// Examines the database, and which users can read which files.
async fn look(args: &ServeArgs, config: &anyhow::Result<Config>, findings: &mut Vec<Finding>) -> Option<Inspection> {
    let database = database_of(args, config);
    let needs_key = config.as_ref().is_ok_and(|config| !config.mode.is_development());
    let (inspection, path) = match database {
        Some(Database::Sqlite(path)) => (database::check(&path, needs_key, findings), Some(path)),
        Some(Database::Postgres { address, connections }) => {
            (postgres::check(&address, connections, needs_key, findings).await, None)
        }
        None => (None, None),
    };
    let log_key = config.as_ref().ok().and_then(|config| config.log.key_file.as_deref());
    permissions::check(args, path.as_deref(), log_key, findings);
    inspection
}

fn report(findings: &[Finding], as_json: bool) -> anyhow::Result<()> {
    let count = |level| findings.iter().filter(|finding| finding.level == level).count();
    let failures = count(Level::Fail);
    if as_json {
        say(serde_json::to_string(&json!({ "ok": failures == 0, "findings": findings }))?)?;
    } else {
        for finding in findings {
            // Both texts may quote a mail server or a proxy, so they are made harmless for the terminal.
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
        (1, _) => bail!("the doctor found one problem that must be fixed"),
        (failures, _) => bail!("the doctor found {failures} problems that must be fixed"),
    }
}
