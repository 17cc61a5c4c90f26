//! The command line: `placet serve | keys | doctor | demo`.

mod demo;
mod doctor;
mod keys;
mod serve;

use std::io::Write;

use clap::{Parser, Subcommand};

use crate::config::ServeArgs;
use crate::telemetry::{COMMAND_FILTER, SERVER_FILTER};

/// What has no flag, because command lines are seen by others.
const ENVIRONMENT_ONLY: &str = "\
Environment only:
  PLACET_SMTP_URL       The mail server: smtps://user:password@mail.example.com, or smtp://host?tls=required
  PLACET_SMTP_URL_FILE  A file that holds PLACET_SMTP_URL
  RUST_LOG              What is logged on standard error [default: info]

File only (--config; the flags above are keys of the file as well):
  [suspension.default_retry_policy]  max_attempts, interval_seconds, escalation_ladder, final_fallback_policy
  [fallback]  allowed, min_window_seconds, requires_delivery
  [channels]  unknown = \"warn\" or \"reject\"";

/// The Placet approval server: agents ask, people decide, and anyone can check afterwards.
#[derive(Parser)]
#[command(name = "placet", version, about, args_conflicts_with_subcommands = true, after_help = ENVIRONMENT_ONLY)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: ServeArgs,
}

#[derive(Subcommand)]
enum Command {
    /// Run the server (the default).
    #[command(after_help = ENVIRONMENT_ONLY)]
    Serve(Box<ServeArgs>),
    /// Create, list, revoke and import API keys; works beside a running server.
    #[command(subcommand)]
    Keys(keys::KeysCommand),
    /// Check settings, database, clock, mail server, public URL and file permissions; changes nothing.
    #[command(after_help = ENVIRONMENT_ONLY)]
    Doctor(Box<doctor::DoctorArgs>),
    /// Run a server and an agent that asks one question, and wait for your answer.
    Demo(demo::DemoArgs),
}

impl Cli {
    /// What is logged unless `RUST_LOG` says otherwise.
    pub fn log_filter(&self) -> &'static str {
        match self.command {
            None | Some(Command::Serve(_)) => SERVER_FILTER,
            Some(Command::Keys(_) | Command::Doctor(_) | Command::Demo(_)) => COMMAND_FILTER,
        }
    }

    /// Does what the command line says.
    ///
    /// # Errors
    ///
    /// One or two lines that say what happened and what to do.
    pub async fn run(self) -> anyhow::Result<()> {
        match self.command {
            None => serve::run(self.serve).await,
            Some(Command::Serve(args)) => serve::run(*args).await,
            Some(Command::Keys(command)) => keys::run(command).await,
            Some(Command::Doctor(args)) => doctor::run(*args).await,
            Some(Command::Demo(args)) => demo::run(args).await,
        }
    }
}

/// Prints a line on standard output, where results go; logs are on standard error.
fn say(text: impl AsRef<str>) -> std::io::Result<()> {
    writeln!(std::io::stdout(), "{}", text.as_ref())
}
