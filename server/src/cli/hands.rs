//! `placet claim | unclaim | delegate | reassign`: in whose hands an open question is. The server decides which key may change it.

use std::process::ExitCode;

use clap::Args;
use domain::base::words::Language;
use domain::suspension::assignees::{AssignedRole, Assignees};
use placet::SuspensionRecord;

use super::question::{self, QuestionArgs};
use super::remote::{self, EXIT_CODES};
use super::steer::done;

/// The roles of the keys with which people act on a question.
const ROLES: &str = "operator or admin";

#[derive(Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct DelegateArgs {
    #[command(flatten)]
    of: QuestionArgs,
    /// The address of the listed person who answers in your place.
    #[arg(long, value_name = "ADDRESS")]
    to: String,
}

#[derive(Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct ReassignArgs {
    #[command(flatten)]
    of: QuestionArgs,
    /// The address of a listed person who may answer from then on; repeat it for more people.
    #[arg(long = "person", value_name = "ADDRESS")]
    people: Vec<String>,
    /// A group whose members may answer from then on; repeat it for more groups.
    #[arg(long = "group", value_name = "NAME")]
    groups: Vec<String>,
    /// All listed people with this role may answer from then on: operator or admin.
    #[arg(long = "role", value_name = "ROLE", value_parser = role)]
    roles: Vec<AssignedRole>,
}

fn role(text: &str) -> Result<AssignedRole, String> {
    match text {
        "operator" => Ok(AssignedRole::Operator),
        "admin" => Ok(AssignedRole::Admin),
        _ => Err("expected operator or admin".to_owned()),
    }
}

pub(super) async fn claim(args: QuestionArgs) -> ExitCode {
    remote::exit_code(claimed(&args).await)
}

async fn claimed(args: &QuestionArgs) -> anyhow::Result<()> {
    let remote = args.remote.connect("claim", ROLES)?;
    let question = question::find_open(&remote, &args.id).await?;
    let before = question.claimed_by.clone();
    let claimed: Result<SuspensionRecord, _> = remote.heard(remote.client.claim(question.id)).await;
    let question = claimed.map_err(|error| remote.failed(error).context("the question was not claimed"))?;
    let others = before.filter(|before| question.claimed_by.as_ref() != Some(before));
    let from = others.map(|person| format!(" Before, {person} worked on it.")).unwrap_or_default();
    done(&question, args.json, &format!("Others see that you work on it, and may answer all the same.{from}"))
}

pub(super) async fn release(args: QuestionArgs) -> ExitCode {
    remote::exit_code(released(&args).await)
}

async fn released(args: &QuestionArgs) -> anyhow::Result<()> {
    let remote = args.remote.connect("unclaim", ROLES)?;
    let question = question::find_open(&remote, &args.id).await?;
    let released = remote.heard(remote.client.release(question.id)).await;
    let question = released.map_err(|error| remote.failed(error).context("the claim was not released"))?;
    done(&question, args.json, "No person works on it any more.")
}

pub(super) async fn delegate(args: DelegateArgs) -> ExitCode {
    remote::exit_code(delegated(&args).await)
}

async fn delegated(args: &DelegateArgs) -> anyhow::Result<()> {
    let remote = args.of.remote.connect("delegate", ROLES)?;
    let question = question::find_open(&remote, &args.of.id).await?;
    let delegated = remote.heard(remote.client.delegate(question.id, &args.to)).await;
    let question = delegated.map_err(|error| remote.failed(error).context("the place was not handed on"))?;
    done(&question, args.of.json, &format!("{} is told, and answers in your place from now on.", args.to))
}

pub(super) async fn reassign(args: ReassignArgs) -> ExitCode {
    remote::exit_code(reassigned(args).await)
}

async fn reassigned(args: ReassignArgs) -> anyhow::Result<()> {
    let ReassignArgs { of, people, groups, roles } = args;
    let remote = of.remote.connect("reassign", ROLES)?;
    let question = question::find_open(&remote, &of.id).await?;
    let assignees = Assignees { people, groups, roles };
    let reassigned = remote.heard(remote.client.reassign(question.id, assignees.clone())).await;
    let question = reassigned.map_err(|error| remote.failed(error).context("the question was not reassigned"))?;
    done(&question, of.json, &format!("It may be answered by {} from now on.", assignees.in_words(Language::English).join(", ")))
}
