//! The command line: `placet serve | keys | people | groups | ask | answer | list | show | …`; `placet --help` names them all.

mod answer;
mod ask;
mod beside;
mod demo;
mod doctor;
mod door;
mod draft;
mod drafts;
mod ending;
mod export;
mod fields;
mod groups;
mod hands;
mod keys;
mod look;
mod margins;
mod meant;
mod migrate;
mod people;
mod proposed;
mod question;
mod reach;
mod receipt;
mod release;
mod remote;
mod rotate;
mod serve;
mod steer;
mod stops;

use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use anyhow::Context;
use clap::builder::Resettable;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use domain::base::text::visible;
use tokio::task::spawn_blocking;
use verify::command::VerifyArgs;

pub use self::remote::tell;
use self::remote::{FAILED, REMOTE_COMMANDS};
use crate::config::{WITHOUT_FLAGS, is_only_in_the_file, is_set_to_nothing};
use crate::observe::telemetry::{COMMAND_FILTER, SERVER_FILTER};

/// The log filter of commands that print their own messages for people.
const SPEAKING_FILTER: &str = "off";
/// The name of the program.
const NAME: &str = "placet";

/// The Placet approval server: agents ask, people decide, and a log says who decided what.
#[derive(Parser)]
#[command(name = NAME, version, about, after_help = "Every setting of the server: placet serve --help")]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the server; `placet` without a command does the same.
    #[command(after_help = WITHOUT_FLAGS)]
    Serve(Box<serve::StartArgs>),
    /// Create, list, revoke and import API keys; works beside a running server.
    #[command(subcommand)]
    Keys(keys::KeysCommand),
    /// Add, list, change and remove the people who may log in; works beside a running server.
    #[command(subcommand)]
    People(people::PeopleCommand),
    /// Set, list and remove groups of these people; works beside a running server.
    #[command(subcommand)]
    Groups(groups::GroupsCommand),
    /// Ask a person a question and wait for the answer: exit 0 is yes, 1 is no, 2 means that no person answered, 3 is an error.
    Ask(Box<ask::AskArgs>),
    /// List the questions that are open, show one, or answer it, with an operator's key.
    Answer(answer::AnswerArgs),
    /// List questions: those that are open, or all.
    List(look::ListArgs),
    /// Show one question whole, open or ended; by the id of a pause, a park or an end of work, or of an intent that is stopped, that stop.
    Show(question::QuestionArgs),
    /// Show the log of a question, of stopped work, or of the server itself, and check its chain of hashes.
    Log(look::LogArgs),
    /// Withdraw a question, with a key of the agent that asked it or an admin's.
    Withdraw(steer::WithdrawArgs),
    /// Send the people who are asked the message once more, now, with an operator's or an admin's key.
    Remind(question::QuestionArgs),
    /// Tell others that you work on a question, with an operator's or an admin's key; they may answer all the same.
    Claim(question::QuestionArgs),
    /// Take back that you work on a question.
    Unclaim(question::QuestionArgs),
    /// Hand your own place in a question to another person, who answers in your place.
    Delegate(hands::DelegateArgs),
    /// Assign a question to other people, with an admin's key or that of an operator who may answer it.
    Reassign(hands::ReassignArgs),
    /// Pause the work of an agent on an intent, until a person resumes it.
    Pause(stops::PauseArgs),
    /// Let paused or parked work go on, with something for its agent.
    Resume(stops::ResumeArgs),
    /// Give people more time for a question, with an operator's or an admin's key.
    Extend(steer::ExtendArgs),
    /// Fetch the log, whole or a selection, into a file that `placet verify` checks offline; with an auditor's or an admin's key.
    Export(Box<export::ExportArgs>),
    /// Fetch the receipt of a decision, or check one without a server.
    #[command(subcommand)]
    Receipt(receipt::ReceiptCommand),
    /// Check exported logs without a server and without a network: hashes, chains, the tree, signatures, and each decision.
    Verify(VerifyArgs),
    /// Tell whether a server is ready, and how many questions are open there.
    Status(look::StatusArgs),
    /// Let deadlines and messages go on after `serve --after-restore`; works beside a running server and before the next start.
    Release(release::ReleaseArgs),
    /// Move everything from a database file to an empty PostgreSQL database; the server must not run.
    Migrate(migrate::MigrateArgs),
    /// Check settings, database, clock, mail server, public URL and file permissions; changes nothing.
    #[command(after_help = WITHOUT_FLAGS)]
    Doctor(Box<doctor::DoctorArgs>),
    /// Run a server and an agent that asks one question, and wait for your answer.
    Demo(demo::DemoArgs),
    /// Print a completion script for a shell: bash, elvish, fish, powershell or zsh.
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Print the manual page of this program, or of one command: placet man answer | man -l -
    Man {
        /// The command.
        command: Option<String>,
    },
}

impl Cli {
    /// Reads a command line.
    ///
    /// # Errors
    ///
    /// The exit code, after the message has been printed: 0 for help, and 3 for wrong usage of every command. A script that misspells `ask`
    /// must not read the end as one of `ask`, where 2 means that no person answered.
    pub fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, ExitCode> {
        let mut arguments: Vec<OsString> = arguments.into_iter().collect();
        // Options without a command belong to `serve`, except those for help and version. The server's settings are not options
        // of the program itself, so a wrong setting cannot stop `ask`.
        let of_serve = |word: &str| word.starts_with('-') && !["-h", "--help", "-V", "--version"].contains(&word);
        if arguments.get(1).is_none_or(|word| word.to_str().is_some_and(of_serve)) {
            arguments.insert(1.min(arguments.len()), "serve".into());
        }
        let mut known = without_empty_variables(Self::command());
        let read = known.try_get_matches_from_mut(&arguments).and_then(|matches| Self::from_arg_matches(&matches));
        let error = match read {
            Ok(cli) => return Ok(cli),
            Err(error) => with_nearest(error, &known).format(&mut known),
        };
        let command = arguments.get(1).and_then(|word| word.to_str()).filter(|word| REMOTE_COMMANDS.contains(word));
        let hint = without_flag(&error, command);
        let Some(command) = command.filter(|_| error.use_stderr()) else {
            // If the output is gone, the message cannot be printed anywhere else.
            drop(error.print());
            if let Some(hint) = hint {
                tell(hint);
            }
            return Err(if error.use_stderr() { ExitCode::from(FAILED) } else { ExitCode::SUCCESS });
        };
        // The first paragraph tells the error. It is put on one line, because scripts read logs line by line.
        let told = error.to_string();
        let what: Vec<&str> = told.lines().take_while(|line| !line.is_empty()).map(str::trim).collect();
        let see = hint.unwrap_or_else(|| match similar(&error) {
            Some(similar) => format!("did you mean {similar}? see placet {command} --help"),
            None => format!("see placet {command} --help"),
        });
        tell(format!("{}; {see}", what.join(" ").trim_start_matches("error: ")));
        Err(ExitCode::from(FAILED))
    }

    /// The log filter unless `RUST_LOG` sets another.
    pub fn log_filter(&self) -> &'static str {
        match self.command {
            Command::Serve(_) => SERVER_FILTER,
            Command::Keys(_)
            | Command::People(_)
            | Command::Groups(_)
            | Command::Release(_)
            | Command::Migrate(_)
            | Command::Doctor(_)
            | Command::Demo(_) => COMMAND_FILTER,
            Command::Ask(_)
            | Command::Answer(_)
            | Command::List(_)
            | Command::Show(_)
            | Command::Log(_)
            | Command::Withdraw(_)
            | Command::Remind(_)
            | Command::Extend(_)
            | Command::Pause(_)
            | Command::Resume(_)
            | Command::Claim(_)
            | Command::Unclaim(_)
            | Command::Delegate(_)
            | Command::Reassign(_)
            | Command::Export(_)
            | Command::Receipt(_)
            | Command::Verify(_)
            | Command::Status(_)
            | Command::Completions { .. }
            | Command::Man { .. } => SPEAKING_FILTER,
        }
    }

    /// Runs the command.
    ///
    /// # Errors
    ///
    /// One or two lines that tell what happened and what to do.
    pub async fn run(self) -> anyhow::Result<ExitCode> {
        match self.command {
            Command::Serve(args) => serve::run(*args).await?,
            Command::Keys(command) => keys::run(command).await?,
            Command::People(command) => people::run(command).await?,
            Command::Groups(command) => groups::run(command).await?,
            Command::Ask(args) => return Ok(Box::pin(ask::run(*args)).await),
            Command::Answer(args) => return Ok(answer::run(args).await),
            Command::List(args) => return Ok(look::list(args).await),
            Command::Show(args) => return Ok(look::show(args).await),
            Command::Log(args) => return Ok(look::log(args).await),
            Command::Withdraw(args) => return Ok(steer::withdraw(args).await),
            Command::Remind(args) => return Ok(steer::remind(args).await),
            Command::Extend(args) => return Ok(steer::extend(args).await),
            Command::Pause(args) => return Ok(stops::pause(args).await),
            Command::Resume(args) => return Ok(stops::resume(args).await),
            Command::Claim(args) => return Ok(hands::claim(args).await),
            Command::Unclaim(args) => return Ok(hands::release(args).await),
            Command::Delegate(args) => return Ok(hands::delegate(args).await),
            Command::Reassign(args) => return Ok(hands::reassign(args).await),
            Command::Export(args) => return Ok(export::run(*args).await),
            Command::Receipt(command) => return Ok(receipt::run(command).await),
            // It reads files and computes for as long as they take, so it does not run among the tasks of the runtime.
            Command::Verify(args) => return Ok(spawn_blocking(|| verify::command::run("placet verify", args)).await?),
            Command::Status(args) => return Ok(look::status(args).await),
            Command::Completions { shell } => clap_complete::generate(shell, &mut Self::command(), NAME, &mut std::io::stdout()),
            Command::Man { command } => manual(command.as_deref())?,
            Command::Release(args) => release::run(args).await?,
            Command::Migrate(args) => migrate::run(args).await?,
            Command::Doctor(args) => doctor::run(*args).await?,
            Command::Demo(args) => demo::run(args).await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Names the command that a mistyped one probably means. The library's own guess for `aks` is `keys`.
fn with_nearest(mut error: clap::Error, known: &clap::Command) -> clap::Error {
    let Some(typed) = error.get(ContextKind::InvalidSubcommand).map(ToString::to_string) else { return error };
    let mut names = known.get_subcommands().map(clap::Command::get_name);
    if let Some(name) = names.find(|name| is_one_slip(&typed, name)) {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![name.to_owned()]));
    }
    error
}

/// Whether one letter that was left out, added or replaced, or two that changed places, make one word of the other.
fn is_one_slip(typed: &str, meant: &str) -> bool {
    let (typed, meant): (Vec<char>, Vec<char>) = (typed.chars().collect(), meant.chars().collect());
    let same = typed.iter().zip(&meant).take_while(|(a, b)| a == b).count();
    let (typed, meant) = (&typed[same..], &meant[same..]);
    match (typed, meant) {
        ([a, b, typed @ ..], [c, d, meant @ ..]) if (a, b) == (d, c) && typed == meant => true,
        ([_, typed @ ..], [_, meant @ ..]) if typed == meant => true,
        (typed, [_, meant @ ..]) if typed == meant => true,
        ([_, typed @ ..], meant) => typed == meant,
        ([], _) => false,
    }
}

/// The flag, command or value that a mistyped one probably means.
fn similar(error: &clap::Error) -> Option<String> {
    [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue].into_iter().find_map(|kind| {
        let suggested = error.get(kind)?;
        if let ContextValue::Strings(all) = suggested {
            return all.first().cloned();
        }
        Some(suggested.to_string())
    })
}

/// A hint about where to put a setting that has no flag, if it was given as one, or a word that the command does not take.
fn without_flag(error: &clap::Error, command: Option<&str>) -> Option<String> {
    let Some(ContextValue::String(flag)) =
        error.get(ContextKind::InvalidArg).filter(|_| error.kind() == ErrorKind::UnknownArgument)
    else {
        return None;
    };
    if !flag.starts_with('-') {
        let hint = if command == Some("export") { "name the file with --out" } else { "put a text with spaces into quotes" };
        return Some(hint.to_owned());
    }
    let flag = flag.split('=').next().unwrap_or_default();
    let name = flag.trim_start_matches('-').replace('-', "_");
    match name.as_str() {
        "smtp_url" | "smtp" => Some(
            "no flag takes the mail server's address, because it may hold a password and others see command lines: set PLACET_SMTP_URL, \
             or PLACET_SMTP_URL_FILE to a file that holds it, or smtp_url in the file of --config"
                .to_owned(),
        ),
        "api_key" | "key" | "token" => Some(
            "no flag takes a key, because others see command lines: set PLACET_API_KEY, or name a file that holds it with --key-file"
                .to_owned(),
        ),
        name if is_only_in_the_file(name) => {
            Some(format!("{name} has no flag: set it in the file of --config, as docs/operating.md tells"))
        }
        _ => None,
    }
}

/// Prints the manual page of the program or of one of its commands.
fn manual(command: Option<&str>) -> anyhow::Result<()> {
    let mut program = Cli::command();
    program.build();
    let page = match command {
        None => program,
        Some(name) => {
            program.find_subcommand(name).with_context(|| format!("there is no command {name:?}; see placet --help"))?.clone()
        }
    };
    Ok(clap_mangen::Man::new(page).render(&mut std::io::stdout())?)
}

/// Treats a variable with an empty value as not set: Docker Compose files and service files leave a setting out in this way.
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
    // The text may quote others: a mail server, a host that redirects, a key's name.
    if out.is_terminal() { writeln!(out, "{}", visible(text)) } else { writeln!(out, "{text}") }
}

#[cfg(test)]
mod tests {
    use super::is_one_slip;

    #[test]
    fn one_slip_is_found_and_two_are_not() {
        for typed in ["aks", "as", "sk", "askk", "akk", "adk", "xask"] {
            assert!(is_one_slip(typed, "ask"), "{typed}");
        }
        for typed in ["", "kas", "keys", "asking", "a", "ask", "xyz"] {
            assert!(!is_one_slip(typed, "ask"), "{typed}");
        }
    }
}
