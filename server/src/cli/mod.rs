//! The command line: `placet serve | keys | ask | answer | release | migrate | doctor | demo`.

mod answer;
mod ask;
mod demo;
mod doctor;
mod door;
mod keys;
mod migrate;
mod question;
mod release;
mod remote;
mod serve;

use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::builder::Resettable;
use clap::{Arg, CommandFactory, FromArgMatches, Parser, Subcommand};
use domain::text::visible;

use self::remote::FAILED;
pub use self::remote::tell;
use crate::config::{WITHOUT_FLAGS, is_set_to_nothing};
use crate::telemetry::{COMMAND_FILTER, SERVER_FILTER};

/// What commands log that say themselves whatever there is to say, in words for people.
const SPEAKING_FILTER: &str = "off";
/// The Placet approval server: agents ask, people decide, and a log says who decided what.
#[derive(Parser)]
#[command(name = "placet", version, about, after_help = "Every setting of the server: placet serve --help")]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the server: what `placet` does without a command.
    #[command(after_help = WITHOUT_FLAGS)]
    Serve(Box<serve::StartArgs>),
    /// Create, list, revoke and import API keys; works beside a running server.
    #[command(subcommand)]
    Keys(keys::KeysCommand),
    /// Ask a person a question and wait for the answer: exit 0 is yes, 1 is no, 2 is nobody's answer, 3 an error.
    Ask(Box<ask::AskArgs>),
    /// List the questions that are open, show one, or answer it, with an operator's key.
    Answer(answer::AnswerArgs),
    /// Let deadlines and messages go on after `serve --after-restore`; works beside a running server and before the next start.
    Release(release::ReleaseArgs),
    /// Move everything from a database file to an empty PostgreSQL database; the server must not run.
    Migrate(migrate::MigrateArgs),
    /// Check settings, database, clock, mail server, public URL and file permissions; changes nothing.
    #[command(after_help = WITHOUT_FLAGS)]
    Doctor(Box<doctor::DoctorArgs>),
    /// Run a server and an agent that asks one question, and wait for your answer.
    Demo(demo::DemoArgs),
}

impl Cli {
    /// Reads a command line.
    ///
    /// # Errors
    ///
    /// What to exit with once everything is said: 2 for wrong usage, 0 for help. For `ask` and `answer`, whose 2 means something else,
    /// wrong usage is 3.
    pub fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, ExitCode> {
        let mut arguments: Vec<OsString> = arguments.into_iter().collect();
        // Not flags of the root: a server's setting that cannot be understood must not stop `ask`.
        let of_serve = |word: &str| word.starts_with('-') && !["-h", "--help", "-V", "--version"].contains(&word);
        if arguments.get(1).is_none_or(|word| word.to_str().is_some_and(of_serve)) {
            arguments.insert(1.min(arguments.len()), "serve".into());
        }
        let mut known = without_empty_variables(Self::command());
        let read = known.try_get_matches_from_mut(&arguments).and_then(|matches| Self::from_arg_matches(&matches));
        let error = match read {
            Ok(cli) => return Ok(cli),
            Err(error) => error.format(&mut known),
        };
        let command = arguments.get(1).and_then(|word| word.to_str()).filter(|word| ["ask", "answer"].contains(word));
        let Some(command) = command.filter(|_| error.use_stderr()) else {
            // Nothing is left to tell if the output is gone.
            drop(error.print());
            return Err(ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(FAILED)));
        };
        // The first paragraph says what is wrong, on one line: scripts' logs are read line by line.
        let told = error.to_string();
        let what: Vec<&str> = told.lines().take_while(|line| !line.is_empty()).map(str::trim).collect();
        tell(format!("{}; see placet {command} --help", what.join(" ").trim_start_matches("error: ")));
        Err(ExitCode::from(FAILED))
    }

    /// What is logged unless `RUST_LOG` says otherwise.
    pub fn log_filter(&self) -> &'static str {
        match self.command {
            Command::Serve(_) => SERVER_FILTER,
            Command::Keys(_) | Command::Release(_) | Command::Migrate(_) | Command::Doctor(_) | Command::Demo(_) => {
                COMMAND_FILTER
            }
            Command::Ask(_) | Command::Answer(_) => SPEAKING_FILTER,
        }
    }

    /// Does what the command line says.
    ///
    /// # Errors
    ///
    /// One or two lines that say what happened and what to do.
    pub async fn run(self) -> anyhow::Result<ExitCode> {
        match self.command {
            Command::Serve(args) => serve::run(*args).await?,
            Command::Keys(command) => keys::run(command).await?,
            Command::Ask(args) => return Ok(ask::run(*args).await),
            Command::Answer(args) => return Ok(answer::run(args).await),
            Command::Release(args) => release::run(args).await?,
            Command::Migrate(args) => migrate::run(args).await?,
            Command::Doctor(args) => doctor::run(*args).await?,
            Command::Demo(args) => demo::run(args).await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Takes a variable that is set to nothing for one that is not set: so compositions and service files say that there is none.
fn without_empty_variables(command: clap::Command) -> clap::Command {
    let of_one = |argument: Arg| {
        let is_nothing = argument.get_env().and_then(OsStr::to_str).is_some_and(is_set_to_nothing);
        if is_nothing { argument.env(Resettable::Reset) } else { argument }
    };
    command.mut_args(of_one).mut_subcommands(without_empty_variables)
}

/// Prints a line on standard output, where results go; logs are on standard error.
fn say(text: impl AsRef<str>) -> std::io::Result<()> {
    let (text, mut out) = (text.as_ref(), std::io::stdout());
    // What others said may be in it: a mail server, a host that redirects, a key's name.
    if out.is_terminal() { writeln!(out, "{}", visible(text)) } else { writeln!(out, "{text}") }
}
