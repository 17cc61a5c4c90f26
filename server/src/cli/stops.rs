//! `placet pause | resume`, and a stop as a terminal shows it. The server decides which key may stop an intent and let it go on.

use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use domain::base::ids::SuspensionId;
use domain::base::time::rfc3339;
use domain::suspension::Kind;
use domain::suspension::stop::Mode;
use domain::wire::{StopRecord, SuspensionView};
use placet::{CallError, IntentId};
use serde_json::Value;

use super::margins::{Margins, typed};
use super::remote::{self, EXIT_CODES, Remote, RemoteArgs, inert_line, name, print, print_json};

/// The roles of the keys with which work is paused.
const PAUSERS: &str = "operator, admin, or agent (of the agent above)";
/// Those with which it is resumed.
const RESUMERS: &str = "operator or admin; an agent's for what it has parked or paused";

#[derive(Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct PauseArgs {
    /// The id of the intent.
    id: String,
    /// How the agent is asked to stop: `finish_step`, `wait_for_completion` or `interrupt_immediate`.
    #[arg(long, default_value = "finish_step", value_parser = mode)]
    mode: Mode,
    /// The reason, for the agent and for people.
    #[arg(long)]
    reason: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

#[derive(Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct ResumeArgs {
    /// The id of the intent, or of the pause or park.
    id: String,
    /// The input for the agent: JSON, or a text as it is.
    #[arg(long, value_name = "TEXT|JSON")]
    input: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

fn mode(text: &str) -> Result<Mode, String> {
    Mode::parse(text).ok_or_else(|| format!("expected {}", Mode::ALL.map(Mode::as_str).join(", ")))
}

pub(super) async fn pause(args: PauseArgs) -> ExitCode {
    remote::exit_code(paused(&args).await)
}

async fn paused(args: &PauseArgs) -> anyhow::Result<()> {
    let remote = args.remote.connect("pause", PAUSERS)?;
    let id: IntentId = args.id.parse().ok().with_context(|| format!("{:?} is no id of an intent", args.id))?;
    let paused = remote.heard(remote.client.pause(id, args.mode, args.reason.as_deref())).await;
    let record = paused.map_err(|error| remote.failed(error).context("the intent was not paused"))?;
    let stage =
        if record.stage.as_str() == "requested" { "its agent has not acknowledged it yet" } else { "its agent has stopped" };
    done(&record, args.json, &format!("The intent is paused, and {stage}."))
}

pub(super) async fn resume(args: ResumeArgs) -> ExitCode {
    remote::exit_code(resumed(&args).await)
}

async fn resumed(args: &ResumeArgs) -> anyhow::Result<()> {
    let remote = args.remote.connect("resume", RESUMERS)?;
    let id = stop_named(&remote, &args.id).await?;
    let input = args.input.as_ref().map(|text| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text.as_str())));
    let resumed = remote.heard(remote.client.resume(id, input)).await;
    let record = resumed.map_err(|error| remote.failed(error).context("the intent was not resumed"))?;
    done(&record, args.json, "The intent goes on.")
}

/// The stop with this id, or the open one of the intent with this id.
async fn stop_named(remote: &Remote, text: &str) -> anyhow::Result<SuspensionId> {
    let Some(id) = SuspensionId::parse(text) else { bail!("{text:?} is no id of an intent, a pause or a park") };
    match remote.heard(remote.client.suspension_of_any_kind(id)).await {
        Ok(_) => return Ok(id),
        Err(CallError::Refused(problem)) if problem.code.as_deref() == Some("not_found") => {}
        Err(error) => return Err(remote.failed(error)),
    }
    let open = remote.heard(remote.client.open_stop(IntentId(id.0))).await.map_err(|error| remote.failed(error))?;
    Ok(open.context("the intent is neither paused nor parked")?.id)
}

fn done(record: &StopRecord, json: bool, said: &str) -> anyhow::Result<()> {
    if json { print_json(&serde_json::to_value(record)?) } else { print(&format!("{}: {said}", record.id.expose())) }
}

/// The stop with this id; `None` if the text is no id, or that of a question.
pub(super) async fn read(remote: &Remote, text: &str) -> anyhow::Result<Option<StopRecord>> {
    let Some(id) = SuspensionId::parse(text) else { return Ok(None) };
    match remote.heard(remote.client.suspension_of_any_kind(id)).await {
        Ok(SuspensionView::Stop(record)) => Ok(Some(*record)),
        Ok(SuspensionView::Question(_)) => Ok(None),
        Err(CallError::Refused(problem)) if problem.code.as_deref() == Some("not_found") => Ok(None),
        Err(error) => Err(remote.failed(error)),
    }
}

/// A stop with all that is known of it. Each line that an agent wrote stands behind a bar.
pub(super) fn whole(record: &StopRecord, columns: usize) -> String {
    let margins = Margins(columns);
    let word = match record.kind {
        Kind::Parked => "parked",
        Kind::Stopping => "being stopped",
        Kind::Paused | Kind::AwaitingInput | Kind::Approval | Kind::Escalation | Kind::Arbitration => "paused",
    };
    let by = record.initiated_by.as_deref().map(|by| format!(" by {}", name(by))).unwrap_or_default();
    let mut lines =
        vec![margins.ours(&format!("intent {} was {word} at {}{by}", record.intent_id, rfc3339(record.suspended_at)))];
    lines.extend(record.reason.as_deref().map(|reason| margins.labelled(reason, "reason  │ ")));
    if record.resolution.is_none() {
        lines.push(margins.ours(&format!("open, stage {}", record.stage.as_str())));
        lines.extend(record.expires_at.map(|at| margins.ours(&format!("until {}", rfc3339(at)))));
        let conditions = record.conditions.as_ref().and_then(|conditions| serde_json::to_string(conditions).ok());
        lines.extend(conditions.map(|conditions| margins.labelled(&conditions, "until   │ ")));
    } else {
        let cause = record.cause.map(|cause| serde_json::to_value(cause).unwrap_or_default());
        let cause = cause.as_ref().and_then(Value::as_str).unwrap_or_default().replace('_', " ");
        let at = record.resolved_at.map(rfc3339).unwrap_or_default();
        let by = record.resolved_by.as_deref().map(|by| format!(" by {}", name(by))).unwrap_or_default();
        lines.push(margins.ours(&format!("ended at {at}{by}: {}", inert_line(&cause))));
        lines.extend(record.input.as_ref().map(|input| margins.labelled(&typed(input), "input   │ ")));
        lines.extend(record.handoff.as_ref().map(|handoff| margins.labelled(&typed(handoff), "handoff │ ")));
        for child in &record.children {
            let handoff = child.handoff.as_ref().map(typed).unwrap_or_default();
            lines.push(margins.ours(&format!("its child {} was stopped as well", child.intent_id)));
            lines.push(margins.labelled(&handoff, "handoff │ "));
        }
    }
    lines.join("\n")
}
