//! `placet withdraw | remind | extend`: changes to an open question other than answering it. The server decides which key may
//! make them.

use std::process::ExitCode;

use clap::Args;
use domain::base::clock::Clock;
use domain::base::text;
use domain::base::words::Language;
use placet::SuspensionRecord;
use store::host::clock::SystemClock;

use super::ask::time;
use super::question::{self, QuestionArgs, as_json, short_id};
use super::remote::{self, EXIT_CODES, print, print_json};

#[derive(Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct WithdrawArgs {
    #[command(flatten)]
    of: QuestionArgs,
    /// The reason; the people who were asked read it.
    #[arg(long)]
    reason: Option<String>,
}

#[derive(Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct ExtendArgs {
    #[command(flatten)]
    of: QuestionArgs,
    /// How far the deadline moves: 90s, 10m, 2h, 1d, or seconds.
    #[arg(value_parser = time)]
    time: u32,
    /// The reason; it is recorded in the log.
    #[arg(long)]
    reason: Option<String>,
}

pub(super) async fn withdraw(args: WithdrawArgs) -> ExitCode {
    remote::exit_code(withdrawn(&args).await)
}

async fn withdrawn(args: &WithdrawArgs) -> anyhow::Result<()> {
    let remote = args.of.remote.connect("withdraw", "agent (of the agent that asked) or admin")?;
    let question = question::find_open(&remote, &args.of.id).await?;
    let cancelled = remote.heard(remote.client.cancel(question.id, args.reason.as_deref())).await;
    let question = cancelled.map_err(|error| remote.failed(error).context("the question was not withdrawn"))?;
    done(&question, args.of.json, "The question is withdrawn; it can no longer be answered.")
}

pub(super) async fn remind(args: QuestionArgs) -> ExitCode {
    remote::exit_code(reminded(&args).await)
}

async fn reminded(args: &QuestionArgs) -> anyhow::Result<()> {
    let remote = args.remote.connect("remind", "operator or admin")?;
    let question = question::find_open(&remote, &args.id).await?;
    let reminded = remote.heard(remote.client.remind(question.id)).await;
    let question = reminded.map_err(|error| remote.failed(error).context("no reminder was sent"))?;
    done(&question, args.json, "The people who are asked get the message once more.")
}

pub(super) async fn extend(args: ExtendArgs) -> ExitCode {
    remote::exit_code(extended(&args).await)
}

async fn extended(args: &ExtendArgs) -> anyhow::Result<()> {
    let remote = args.of.remote.connect("extend", "operator or admin")?;
    let question = question::find_open(&remote, &args.of.id).await?;
    let extended = remote.heard(remote.client.extend(&question, args.time, args.reason.as_deref())).await;
    let question = extended.map_err(|error| remote.failed(error).context("the deadline was not moved"))?;
    let until = question.ends_at().map(|at| text::deadline(at, SystemClock.now(), Language::English)).unwrap_or_default();
    done(&question, args.of.json, &format!("The question is now open until {until}."))
}

pub(super) fn done(question: &SuspensionRecord, json: bool, said: &str) -> anyhow::Result<()> {
    if json { print_json(&as_json(question)) } else { print(&format!("{}: {said}", short_id(question.id))) }
}
