//! `placet people add | list | change | remove | away | back | passkeys | reset-passkeys`: who may log in, who is out of office, and by
//! which passkeys people answer; works beside a running server.

use anyhow::Context;
use chrono::{DateTime, Utc};
use clap::{Args, Subcommand};
use domain::base::clock::Clock;
use domain::base::ids::{Entropy, PersonId};
use domain::base::time::{parse, rfc3339};
use domain::people::person::{PersonChange, check_role, read_address};
use domain::people::preferences::{Locale, Preferences, TimeZone};
use domain::people::principal::Role;
use domain::problem::Rejection;
use domain::wire::{OutOfOffice, PersonView};
use store::host::account;
use store::host::clock::{SystemClock, SystemEntropy};
use store::{Named, NewPerson, StoreError};

use super::beside::{open, open_existing};
use super::remote::tell;
use super::say;
use crate::config::DatabaseArgs;

/// The end of a line about a person or a group that is changed only in the configuration file.
pub(super) const MANAGED: &str = "  (configuration file)";

#[derive(Subcommand)]
pub(super) enum PeopleCommand {
    /// List a person by the e-mail address; from then on that address gets login links.
    Add(AddArgs),
    /// List the people who may log in.
    List(ListArgs),
    /// Change the role, the time zone or the locale of a person; it counts at once.
    Change(ChangeArgs),
    /// Remove a person from the list and from all groups; the person's sessions end at once.
    Remove(RemoveArgs),
    /// Say for which time a person is out of office, and who answers meanwhile.
    Away(AwayArgs),
    /// Say that a person is back in office; questions that have moved to a deputy stay there.
    Back(RemoveArgs),
    /// Print the passkeys of all people, for a verifier without this server: placet verify --passkeys FILE.
    Passkeys(PasskeysArgs),
    /// Remove all passkeys of a person, who can then add a first one again.
    ResetPasskeys(RemoveArgs),
}

#[derive(Args)]
pub(super) struct AddArgs {
    /// The e-mail address of the person.
    address: String,
    /// The role of the person: auditor, operator or admin.
    #[arg(long, value_parser = read_role)]
    role: Role,
    /// The time zone in which times are told to the person: a name as in Europe/Berlin.
    #[arg(long)]
    time_zone: Option<TimeZone>,
    /// The locale of the person: a language tag that begins with en or de.
    #[arg(long)]
    locale: Option<Locale>,
    #[command(flatten)]
    database: DatabaseArgs,
}

#[derive(Args)]
pub(super) struct ListArgs {
    /// Print JSON, one person per line.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    database: DatabaseArgs,
}

#[derive(Args)]
pub(super) struct ChangeArgs {
    /// The e-mail address of the person.
    address: String,
    /// The role of the person from now on: auditor, operator or admin.
    #[arg(long, value_parser = read_role, required_unless_present_any = ["time_zone", "locale"])]
    role: Option<Role>,
    /// The time zone from now on: a name as in Europe/Berlin, or nothing between quotes if it is not known.
    #[arg(long)]
    time_zone: Option<String>,
    /// The locale from now on: a language tag that begins with en or de, or nothing between quotes if it is not known.
    #[arg(long)]
    locale: Option<String>,
    #[command(flatten)]
    database: DatabaseArgs,
}

#[derive(Args)]
pub(super) struct RemoveArgs {
    /// The e-mail address of the person.
    address: String,
    #[command(flatten)]
    database: DatabaseArgs,
}

#[derive(Args)]
pub(super) struct AwayArgs {
    /// The e-mail address of the person.
    address: String,
    /// When the absence begins, in RFC 3339: 2026-12-20T08:00:00Z; now if this is left out.
    #[arg(long, value_parser = read_time)]
    from: Option<DateTime<Utc>>,
    /// When it ends, at most 366 days later.
    #[arg(long, value_parser = read_time)]
    until: DateTime<Utc>,
    /// The e-mail address of the listed person who answers meanwhile.
    #[arg(long)]
    deputy: String,
    #[command(flatten)]
    database: DatabaseArgs,
}

#[derive(Args)]
pub(super) struct PasskeysArgs {
    #[command(flatten)]
    database: DatabaseArgs,
}

pub(super) async fn run(command: PeopleCommand) -> anyhow::Result<()> {
    match command {
        PeopleCommand::Add(args) => add(args).await,
        PeopleCommand::List(args) => list(args).await,
        PeopleCommand::Change(args) => change(args).await,
        PeopleCommand::Remove(args) => remove(args).await,
        PeopleCommand::Away(args) => away(args).await,
        PeopleCommand::Back(args) => back(args).await,
        PeopleCommand::Passkeys(args) => passkeys(args).await,
        PeopleCommand::ResetPasskeys(args) => reset_passkeys(args).await,
    }
}

/// Reads a role. A role of programs is refused later, with the reason.
fn read_role(text: &str) -> Result<Role, &'static str> {
    text.parse().map_err(|_| "expected auditor, operator or admin")
}

async fn add(AddArgs { address, role, time_zone, locale, database }: AddArgs) -> anyhow::Result<()> {
    let id = PersonId(SystemEntropy.uuid(SystemClock.now()));
    let address = read_address(&address).map_err(told)?;
    let preferences = Preferences { time_zone, locale, managed: false };
    let person = NewPerson { id, address, role: check_role(role).map_err(told)?, preferences };
    match open(&database).await?.add_person(account::principal(), Ok(person)).await {
        Ok(person) => Ok(say(format!(
            "Added {} with the role {}; the person logs in at /login on the server's public address.",
            person.address, person.role
        ))?),
        Err(StoreError::Rejected(rejection)) => Err(told(rejection)),
        Err(error) => Err(error.into()),
    }
}

async fn list(args: ListArgs) -> anyhow::Result<()> {
    let people = open_existing(&args.database).await?.people(account::principal()).await?;
    if people.is_empty() && !args.json {
        tell("no people are listed; add one: placet people add ADDRESS --role operator");
    }
    for person in people {
        if args.json {
            say(serde_json::to_string(&person)?)?;
        } else {
            say(line(&person))?;
        }
    }
    Ok(())
}

fn line(person: &PersonView) -> String {
    let state = person.confirmed_at.map_or_else(|| "not confirmed".to_owned(), |at| format!("confirmed {}", at.date_naive()));
    let groups = if person.groups.is_empty() { String::new() } else { format!("  groups {}", person.groups.join(", ")) };
    let away = person.out_of_office.as_ref().map_or_else(String::new, |away| {
        let deputy = if away.deputy.is_empty() { "no deputy" } else { &away.deputy };
        format!("  out of office {} to {}: {deputy}", away.from.date_naive(), away.until.date_naive())
    });
    let named = |name: &str, text: Option<&String>| text.map_or_else(String::new, |text| format!("  {name} {text}"));
    let (zone, locale) = (named("time zone", person.time_zone.as_ref()), named("locale", person.locale.as_ref()));
    let managed = if person.managed { MANAGED } else { "" };
    format!(
        "{}  {:<8}  added {} by {}  {state}{groups}{zone}{locale}{away}{managed}",
        person.address,
        person.role.as_str(),
        person.added_at.date_naive(),
        person.added_by
    )
}

async fn change(ChangeArgs { address, role, time_zone, locale, database }: ChangeArgs) -> anyhow::Result<()> {
    let address = read_address(&address).map_err(told)?;
    let named = |text: String| Some(text).filter(|text| !text.is_empty());
    let change = PersonChange::read(role, time_zone.map(named), locale.map(named)).map_err(told)?;
    let store = open_existing(&database).await?;
    match store.change_person(account::principal(), Ok(Named::Address(address.clone())), Ok(change)).await {
        Ok(person) => Ok(say(format!("{} has the role {} now{}.", person.address, person.role, preferred(&person)))?),
        Err(StoreError::Rejected(Rejection::NotFound)) => Err(not_listed(&address)),
        Err(error) => Err(error).with_context(|| format!("failed to change {address}")),
    }
}

/// The time zone and the locale of a person, at the end of a sentence.
fn preferred(person: &PersonView) -> String {
    let named = [("the time zone", &person.time_zone), ("the locale", &person.locale)];
    named.into_iter().filter_map(|(name, text)| text.as_ref().map(|text| format!(", {name} {text}"))).collect()
}

async fn remove(args: RemoveArgs) -> anyhow::Result<()> {
    let address = read_address(&args.address).map_err(told)?;
    let store = open_existing(&args.database).await?;
    match store.remove_person(account::principal(), Ok(Named::Address(address.clone()))).await {
        Ok(person) => Ok(say(format!("Removed {}; the person's sessions have ended.", person.address))?),
        Err(StoreError::Rejected(Rejection::NotFound)) => Err(not_listed(&address)),
        Err(error) => Err(error).with_context(|| format!("failed to remove {address}")),
    }
}

/// Reads a time.
fn read_time(text: &str) -> Result<DateTime<Utc>, &'static str> {
    parse(text).ok_or("expected a time as in 2026-12-20T08:00:00Z")
}

async fn away(args: AwayArgs) -> anyhow::Result<()> {
    let address = read_address(&args.address).map_err(told)?;
    let from = args.from.unwrap_or_else(|| SystemClock.now());
    let absence = OutOfOffice { from, until: args.until, deputy: args.deputy };
    let person = set_absence(&args.database, &address, Some(absence)).await?;
    let Some(OutOfOffice { from, until, deputy }) = person.out_of_office else { return Ok(()) };
    Ok(say(format!("{address} is out of office from {} until {}; {deputy} answers meanwhile.", rfc3339(from), rfc3339(until)))?)
}

async fn back(args: RemoveArgs) -> anyhow::Result<()> {
    let address = read_address(&args.address).map_err(told)?;
    set_absence(&args.database, &address, None).await?;
    Ok(say(format!("{address} is back in office."))?)
}

async fn set_absence(database: &DatabaseArgs, address: &str, absence: Option<OutOfOffice>) -> anyhow::Result<PersonView> {
    let store = open_existing(database).await?;
    match store.set_absence(account::principal(), Ok(Named::Address(address.to_owned())), Ok(absence)).await {
        Ok(person) => Ok(person),
        Err(StoreError::Rejected(Rejection::NotFound)) => Err(not_listed(address)),
        Err(StoreError::Rejected(rejection)) => Err(told(rejection)),
        Err(error) => Err(error).with_context(|| format!("failed to set the absence of {address}")),
    }
}

async fn passkeys(args: PasskeysArgs) -> anyhow::Result<()> {
    let known = open_existing(&args.database).await?.known_passkeys(account::principal()).await?;
    Ok(say(serde_json::to_string_pretty(&known)?)?)
}

async fn reset_passkeys(args: RemoveArgs) -> anyhow::Result<()> {
    let address = read_address(&args.address).map_err(told)?;
    let store = open_existing(&args.database).await?;
    match store.reset_passkeys(account::principal(), Ok(address.clone())).await {
        Ok((person, 0)) => Ok(say(format!("{} had no passkeys.", person.address))?),
        Ok((person, count)) => Ok(say(format!(
            "Removed the passkeys of {} ({count}); the person adds a new one at /passkeys on the server's public address.",
            person.address
        ))?),
        Err(StoreError::Rejected(Rejection::NotFound)) => Err(not_listed(&address)),
        Err(error) => Err(error).with_context(|| format!("failed to remove the passkeys of {address}")),
    }
}

fn not_listed(address: &str) -> anyhow::Error {
    anyhow::anyhow!("{address} is not listed; placet people list shows the people who may log in")
}

/// The words of a refusal, with the name of the argument that they are about.
pub(super) fn told(rejection: Rejection) -> anyhow::Error {
    let Rejection::Invalid { errors } = &rejection else { return rejection.into() };
    let errors: Vec<String> = errors.iter().map(|error| format!("{} {}", error.field, error.message)).collect();
    anyhow::anyhow!(errors.join("; "))
}
