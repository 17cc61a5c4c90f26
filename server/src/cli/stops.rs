//! `placet pause | resume`, and a stop as a terminal shows it. The server decides which key may stop an intent and let it go on.

use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use domain::base::ids::SuspensionId;
use domain::base::text::visible_line;
use domain::base::time::rfc3339;
use domain::suspension::Kind;
use domain::suspension::at_time::AtTime;
use domain::suspension::stop::{Cause, Mode, Stage};
use domain::wire::{StopRecord, StopResolution, SuspensionView};
use placet::{CallError, IntentId};
use serde_json::Value;

use super::margins::Margins;
use super::remote::{self, EXIT_CODES, Remote, RemoteArgs, name, print, print_json};

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
    let stage = match record.stage {
        Stage::Requested => "its agent has not acknowledged it yet",
        Stage::Quiescing => "its agent has acknowledged it, and has not stopped yet",
        Stage::Suspended => "its agent has stopped",
    };
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

/// The thing that an id names: a suspension, or an intent.
enum Found {
    Suspension(SuspensionView),
    /// An intent that is not stopped.
    NotStopped,
    /// Nothing that the key may read, as this refusal says.
    Nothing(CallError),
}

/// Reads the suspension with this id, or the open stop of the intent with this id.
async fn found(remote: &Remote, id: SuspensionId) -> anyhow::Result<Found> {
    let is_unknown = |error: &CallError| matches!(error, CallError::Refused(problem) if problem.is("not_found"));
    match remote.heard(remote.client.suspension_of_any_kind(id)).await {
        Ok(view) => return Ok(Found::Suspension(view)),
        Err(error) if is_unknown(&error) => {}
        Err(error) => return Err(remote.failed(error)),
    }
    match remote.heard(remote.client.open_stop(IntentId(id.0))).await {
        Ok(Some(record)) => Ok(Found::Suspension(SuspensionView::Stop(Box::new(record)))),
        Ok(None) => Ok(Found::NotStopped),
        Err(error) if is_unknown(&error) => Ok(Found::Nothing(error)),
        Err(error) => Err(remote.failed(error)),
    }
}

/// The id of the stop with this id, or of the open one of the intent with this id.
async fn stop_named(remote: &Remote, text: &str) -> anyhow::Result<SuspensionId> {
    let Some(id) = SuspensionId::parse(text) else { bail!("{text:?} is no id of an intent, a pause or a park") };
    match found(remote, id).await? {
        Found::Suspension(SuspensionView::Stop(record)) => Ok(record.id),
        // The server says that a question is not resumed.
        Found::Suspension(SuspensionView::Question(_)) => Ok(id),
        Found::NotStopped => bail!("the intent is neither paused nor parked"),
        Found::Nothing(error) => Err(remote.failed(error)),
    }
}

fn done(record: &StopRecord, json: bool, said: &str) -> anyhow::Result<()> {
    if json { print_json(&serde_json::to_value(record)?) } else { print(&format!("{}: {said}", record.id.expose())) }
}

/// The stop with this id, or the open one of the intent with this id; `None` if the text is no id, or that of a question.
///
/// # Errors
///
/// The id is that of an intent that is not stopped.
pub(super) async fn read(remote: &Remote, text: &str) -> anyhow::Result<Option<StopRecord>> {
    let Some(id) = SuspensionId::parse(text) else { return Ok(None) };
    match found(remote, id).await? {
        Found::Suspension(SuspensionView::Stop(record)) => Ok(Some(*record)),
        Found::Suspension(SuspensionView::Question(_)) | Found::Nothing(_) => Ok(None),
        Found::NotStopped => {
            bail!("{text} is the id of an intent that is not stopped; give the id of a question, or of a stop that is over")
        }
    }
}

/// A stop with all that is known of it. Each line that an agent wrote stands behind a bar.
pub(super) fn whole(record: &StopRecord, columns: usize) -> String {
    let margins = Margins(columns);
    let mut lines = vec![margins.ours(&begun(record))];
    lines.extend(record.reason.as_deref().map(|reason| margins.labelled(reason, "reason  │ ")));
    if record.resolution.is_none() {
        lines.push(margins.ours(&format!("open, stage {}", record.stage.as_str())));
        lines.extend(waiting(record, margins));
        return lines.join("\n");
    }
    lines.push(margins.ours(&ended(record)));
    lines.extend(record.event.as_deref().map(|name| unbroken(name, "event   │ ")));
    lines.extend(record.input.as_ref().map(|input| document(margins, input, "input   │ ")));
    lines.extend(record.handoff.as_ref().map(|handoff| document(margins, handoff, "handoff │ ")));
    for child in &record.children {
        lines.push(margins.ours(&format!("its child {} was stopped as well", child.intent_id)));
        lines.extend(child.handoff.as_ref().map(|handoff| document(margins, handoff, "handoff │ ")));
    }
    lines.join("\n")
}

/// The kind, the principal and the time of a stop: in the present while it is stopped, and else in the past.
fn begun(record: &StopRecord) -> String {
    let by = record.initiated_by.as_deref().map(|by| format!(" by {}", name(by))).unwrap_or_default();
    let (intent, at) = (record.intent_id, rfc3339(record.suspended_at));
    let is_open = record.resolution.is_none();
    let word = match record.kind {
        Kind::Stopping if is_open => return format!("the work on intent {intent} is being ended (since {at}{by})"),
        Kind::Stopping => return format!("the work on intent {intent} was ended at {at}{by}"),
        Kind::Parked => "parked",
        Kind::Paused | Kind::AwaitingInput | Kind::Approval | Kind::Escalation | Kind::Arbitration => "paused",
    };
    if is_open {
        format!("intent {intent} is {word} (since {at}{by})")
    } else {
        format!("intent {intent} was {word} at {at}{by}")
    }
}

/// The conditions of an open stop, and the effect of its time.
fn waiting(record: &StopRecord, margins: Margins) -> Vec<String> {
    let conditions = record.conditions.as_ref();
    let event = conditions.and_then(|conditions| conditions.on_event.as_deref());
    let mut lines: Vec<String> = event.map(|name| unbroken(name, "event   │ ")).into_iter().collect();
    if let Some(trigger) = conditions.and_then(|conditions| conditions.trigger.as_ref()) {
        lines.extend(trigger.events.iter().map(|name| unbroken(name, "trigger │ ")));
        lines.push(margins.labelled(trigger.provider.as_str(), "from    │ "));
        lines.push(unbroken(&trigger.kind, "kind    │ "));
    }
    let at_time = AtTime::of(conditions);
    let effect = if record.kind == Kind::Stopping { "the intent ends" } else { at_time.in_english() };
    lines.extend(record.expires_at.map(|at| margins.ours(&format!("until {}: then {effect}", rfc3339(at)))));
    if let AtTime::Input(input) = at_time {
        lines.push(document(margins, input, "input   │ "));
    }
    if record.kind == Kind::Parked && lines.is_empty() {
        lines.push(margins.ours("it waits until its agent, an operator or an admin resumes it"));
    }
    lines
}

/// How a stop ended.
fn ended(record: &StopRecord) -> String {
    let at = record.resolved_at.map(rfc3339).unwrap_or_default();
    let by = record.resolved_by.as_deref().map(|by| format!(" by {}", name(by))).unwrap_or_default();
    let (is_ending, goes_on) = (record.kind == Kind::Stopping, record.resolution == Some(StopResolution::Resumed));
    let how = match record.cause {
        // The event that says so was erased.
        None => return format!("ended at {at}{by}"),
        Some(Cause::ExplicitResume) => "it was resumed",
        Some(Cause::ExternalEvent | Cause::ConditionFired) => "an event let it go on",
        Some(Cause::Timeout) if goes_on => "its time was over, and it went on",
        Some(Cause::Timeout) if is_ending => "its time was over, and its agent had handed nothing in",
        Some(Cause::Timeout) => "its time was over, and the work was given up",
        Some(Cause::Closed) => "the intent was abandoned",
        Some(Cause::Stopped) if is_ending => "the intent ended at once",
        Some(Cause::Stopped) => "the work on the intent was ended",
        Some(Cause::HandedOver) => "its agent had stopped",
    };
    format!("ended at {at}{by}: {how}")
}

/// A name that a person copies, for example of an event. It is as it was sent, but for hidden characters, and no line of ours breaks it.
fn unbroken(name: &str, label: &str) -> String {
    format!("{label}{}", visible_line(name))
}

/// A value behind a label. A text is one of an agent like every other; JSON stays as it is, because it would be another document otherwise.
fn document(margins: Margins, value: &Value, label: &str) -> String {
    value.as_str().map_or_else(|| margins.exact(&value.to_string(), label), |text| margins.labelled(text, label))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// So many columns that no line is broken.
    const WIDE: usize = 200;
    const INTENT: &str = "019ab0f2-0000-7000-8000-000000000001";

    /// A park with other members in place of its own ones.
    fn record(rest: &Value) -> StopRecord {
        let mut record = json!({
            "id": "019ab0f2-0000-7000-8000-000000000002", "intent_id": INTENT, "kind": "parked", "version": 1, "stage": "suspended",
            "mode": null, "reason": "See docs.example.com.", "initiator": "self", "initiated_by": "ci",
            "suspended_at": "2026-11-24T08:00:00.000000Z", "resolution": null, "cause": null, "continue_transcript": null,
            "resolved_at": null, "resolved_by": null,
        });
        record.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        serde_json::from_value(record).unwrap()
    }

    /// A person copies the name of an event and tells of it: with another name the work would wait on.
    #[test]
    fn the_conditions_of_a_park_are_plain_lines_in_which_no_name_is_changed() {
        let events = ["docs.example.com", "a\u{200b}b"];
        let trigger = json!({"kind": "build.finished\u{202e}", "provider": "webhook", "match": {"events": events}});
        let timeout = json!({"duration_minutes": 5, "on_timeout": "resume_with_input", "input": {"see": "docs.example.com"}});
        let conditions = json!({"on_event": "cli.ev", "trigger": trigger, "timeout": timeout});
        let shown = whole(&record(&json!({"conditions": conditions, "expires_at": "2026-11-24T08:05:00.000000Z"})), WIDE);
        let begun = format!("intent {INTENT} is parked (since 2026-11-24T08:00:00.000000Z by ci)");
        let expected = [
            begun.as_str(),
            "reason  │ See docs[.]example[.]com.",
            "open, stage suspended",
            "event   │ cli.ev",
            "trigger │ docs.example.com",
            "trigger │ a⟨U+200B⟩b",
            "from    │ webhook",
            "kind    │ build.finished⟨U+202E⟩",
            "until 2026-11-24T08:05:00.000000Z: then it goes on, and its agent gets the input that it set",
            "input   │ {\"see\":\"docs.example.com\"}",
        ];
        assert_eq!(shown.lines().collect::<Vec<_>>(), expected);
        let long = "cli.ev".repeat(30);
        let shown = whole(&record(&json!({"conditions": {"on_event": long}})), 40);
        assert!(shown.ends_with(&format!("\nevent   │ {long}")), "{shown}");
    }

    #[test]
    fn an_open_stop_is_told_in_the_present_with_the_effect_of_its_time() {
        let until = "2026-11-24T08:05:00.000000Z";
        let last = |rest: &Value| whole(&record(rest), WIDE).lines().next_back().unwrap().to_owned();
        for (on_timeout, effect) in [
            ("resume_with_summary", "it goes on, and its agent begins anew with a summary"),
            ("resume_with_input", "it goes on, and its agent is told that the time is over"),
            ("fail", "the work is given up"),
        ] {
            let conditions = json!({"timeout": {"duration_minutes": 5, "on_timeout": on_timeout}});
            let told = last(&json!({"conditions": conditions, "expires_at": until}));
            assert_eq!(told, format!("until {until}: then {effect}"));
        }
        assert_eq!(last(&json!({})), "it waits until its agent, an operator or an admin resumes it");
        assert_eq!(last(&json!({"kind": "paused", "stage": "quiescing"})), "open, stage quiescing");
        let ending = json!({"kind": "stopping", "stage": "requested", "expires_at": until});
        assert_eq!(last(&ending), format!("until {until}: then the intent ends"));
        let begun = format!("the work on intent {INTENT} is being ended (since 2026-11-24T08:00:00.000000Z by ci)\n");
        assert!(whole(&record(&ending), WIDE).starts_with(&begun));
    }

    #[test]
    fn a_stop_that_is_over_is_told_in_the_past_with_its_end() {
        for (kind, resolution, cause, begun, how) in [
            ("paused", "resumed", "explicit_resume", "was paused at", "it was resumed"),
            ("paused", "cancelled", "stopped", "was paused at", "the work on the intent was ended"),
            ("parked", "resumed", "external_event", "was parked at", "an event let it go on"),
            ("parked", "resumed", "timeout", "was parked at", "its time was over, and it went on"),
            ("parked", "expired", "timeout", "was parked at", "its time was over, and the work was given up"),
            ("parked", "cancelled", "closed", "was parked at", "the intent was abandoned"),
            ("stopping", "expired", "timeout", "was ended at", "its time was over, and its agent had handed nothing in"),
            ("stopping", "cancelled", "stopped", "was ended at", "the intent ended at once"),
            ("stopping", "cancelled", "handed_over", "was ended at", "its agent had stopped"),
        ] {
            let rest = json!({
                "kind": kind, "resolution": resolution, "cause": cause, "resolved_at": "2026-11-24T08:05:00.000000Z",
                "resolved_by": "ada@example.com", "conditions": {"on_event": "cli.ev"},
            });
            let shown = whole(&record(&rest), WIDE);
            let end = format!("ended at 2026-11-24T08:05:00.000000Z by ada@example.com: {how}");
            assert!(shown.contains(begun) && shown.ends_with(&format!("\n{end}")), "{shown}");
            assert!(!shown.contains("is being") && !shown.contains("cli.ev"), "it waits for nothing any more: {shown}");
        }
        let handoff = json!({"left": ["docs.example.com"]});
        let rest = json!({"kind": "stopping", "resolution": "cancelled", "cause": "handed_over", "handoff": handoff});
        assert!(whole(&record(&rest), WIDE).ends_with("handoff │ {\"left\":[\"docs.example.com\"]}"));
        let input = "See docs.example.com.";
        let woken = json!({"resolution": "resumed", "cause": "condition_fired", "event": "cli.ev", "input": input});
        assert!(whole(&record(&woken), WIDE).ends_with("\nevent   │ cli.ev\ninput   │ See docs[.]example[.]com."));
    }
}
