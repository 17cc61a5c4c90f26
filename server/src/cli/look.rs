//! `placet list | show | log | status`: the questions, how they ended, and whether the server is ready, for every key that may
//! read them.

use std::collections::HashSet;
use std::process::ExitCode;

use anyhow::{Context, ensure};
use clap::Args;
use domain::base::clock::Clock;
use domain::base::ids::SuspensionId;
use domain::base::text::{self, visible_line};
use domain::base::time::rfc3339;
use domain::base::words::Language;
use domain::intent::vocabulary::client_may_append;
use domain::log::{Sealed, verify_chain};
use placet::{EventView, ServerEventView, SuspensionRecord};
use serde_json::{Map, Value, json};
use store::host::clock::SystemClock;

use super::question::{self, QuestionArgs, as_json, short_id};
use super::remote::{self, EXIT_CODES, RemoteArgs, inert_line, line_of_result, print, print_json, print_laid_out, tell};
use super::stops;
use crate::cli::reach;
use crate::terminal;

/// The roles whose keys may read questions.
const READERS: &str = "agent, operator, admin or auditor";
/// The roles that may read the server's own log.
const AUDITORS: &str = "admin or auditor";
/// The members of events that hold the id of a question.
const NAMES_A_QUESTION: [&str; 3] = ["suspension_id", "supersedes", "superseded_by"];
/// The longest type of an event, and the longest name of its actor, in characters.
const WORD_CHARS_MAX: usize = 40;

#[derive(Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct ListArgs {
    /// Also those that have ended, newest first.
    #[arg(long)]
    all: bool,
    /// Print JSON, one line for each question.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

#[derive(Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct StatusArgs {
    /// Print one line of JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

/// The log to show.
#[derive(Args)]
#[group(required = true, multiple = false)]
struct LogOf {
    /// The question's short id, as the list shows it, or its whole id; or the id of a stop, or of an intent that is stopped.
    id: Option<String>,
    /// Show the server's own log instead: who made, imported and revoked keys. For the key of an admin or an auditor.
    #[arg(long)]
    server: bool,
}

#[derive(Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct LogArgs {
    #[command(flatten)]
    of: LogOf,
    /// Print JSON, one line for each event.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

pub(super) async fn list(args: ListArgs) -> ExitCode {
    remote::exit_code(listed(&args).await)
}

async fn listed(args: &ListArgs) -> anyhow::Result<()> {
    let remote = args.remote.connect("list", READERS)?;
    let questions = if args.all { question::all(&remote).await? } else { question::open(&remote).await? };
    print_list(&questions, args.json)?;
    if questions.is_empty() && !args.json {
        tell(if args.all { "there is no question yet that this key may read" } else { "no question is open" });
    }
    Ok(())
}

/// Prints questions as a list, or each as a line of JSON.
pub(super) fn print_list(questions: &[SuspensionRecord], json: bool) -> anyhow::Result<()> {
    let now = SystemClock.now();
    for question in questions {
        if json {
            print_json(&as_json(question))?;
        } else {
            print_laid_out(&question::listed(question, now, terminal::columns()))?;
        }
    }
    Ok(())
}

pub(super) async fn show(args: QuestionArgs) -> ExitCode {
    remote::exit_code(shown(&args).await)
}

async fn shown(args: &QuestionArgs) -> anyhow::Result<()> {
    let remote = args.remote.connect("show", READERS)?;
    if let Some(record) = stops::read(&remote, &args.id).await? {
        return if args.json {
            print_json(&serde_json::to_value(&record)?)
        } else {
            print_laid_out(&stops::whole(&record, terminal::columns()))
        };
    }
    let question = question::alone(&remote, question::find(&remote, &args.id).await?).await?;
    if args.json {
        return print_json(&as_json(&question));
    }
    print_laid_out(&question::whole(&question, SystemClock.now(), terminal::columns())?)
}

pub(super) async fn log(args: LogArgs) -> ExitCode {
    remote::exit_code(match &args.of {
        LogOf { id: Some(id), .. } => logged(&args, id).await,
        LogOf { id: None, .. } => logged_by_the_server(&args).await,
    })
}

/// Prints the events of the intent of a question or of a stop, and verifies their hash chain.
async fn logged(args: &LogArgs, id: &str) -> anyhow::Result<()> {
    let remote = args.remote.connect("log", READERS)?;
    let intent = match stops::read(&remote, id).await? {
        Some(stop) => stop.intent_id,
        None => question::find(&remote, id).await?.intent_id,
    };
    let events = remote.heard(remote.client.events(intent)).await.map_err(|error| remote.failed(error))?;
    let whole: Vec<Value> = events.iter().map(serde_json::to_value).collect::<Result<_, _>>()?;
    if args.json {
        for event in shortened(&events)? {
            print_json(&event)?;
        }
    } else {
        for event in &events {
            print_laid_out(&in_a_line(event))?;
        }
    }
    verify(&whole, args.json)
}

/// Shows the server's own log, and verifies its hash chain.
async fn logged_by_the_server(args: &LogArgs) -> anyhow::Result<()> {
    let remote = args.remote.connect("log", AUDITORS)?;
    let events = remote.heard(remote.client.server_events()).await.map_err(|error| remote.failed(error))?;
    let whole: Vec<Value> = events.iter().map(serde_json::to_value).collect::<Result<_, _>>()?;
    for (event, value) in events.iter().zip(&whole) {
        if args.json {
            print_json(value)?;
        } else {
            print_laid_out(&in_a_line_of_the_server(event))?;
        }
    }
    if events.is_empty() && !args.json {
        tell("the server's own log is empty: no key was made yet");
    }
    verify(&whole, args.json)
}

/// Verifies the hash chain of events, as the server sent them.
fn verify(events: &[Value], json: bool) -> anyhow::Result<()> {
    let sealed: Vec<Sealed> = events.iter().filter_map(Sealed::from_served).collect();
    ensure!(sealed.len() == events.len(), "an event of the log cannot be read");
    let verified = verify_chain(&sealed).context("the log was changed: its chain of hashes does not fit together")?;
    if !json {
        print(&format!("The chain of {verified} events fits together."))?;
        let erased = sealed.iter().filter(|event| event.is_erased()).count();
        if erased > 0 {
            print(&format!(
                "The contents of {erased} of them were erased, so their hashes cannot be compared with their contents. An export shows \
                 whether the server's log says so."
            ))?;
        }
    }
    Ok(())
}

/// A line for an event of the server's own log: its time, its type, the object or person that it is about, and the one who did it. In
/// evidence a name and a key are exact and whole; only control characters are made visible.
fn in_a_line_of_the_server(event: &ServerEventView) -> String {
    let of = |member: &str| visible_line(event.payload.get(member).and_then(Value::as_str).unwrap_or_default());
    let role = event.payload.get("role").and_then(Value::as_str);
    let role = role.map(|role| format!(", {}", visible_line(role))).unwrap_or_default();
    let object = match ["intent_id", "hold_id", "address", "session_id", "format", "key"]
        .into_iter()
        .find(|member| event.payload.contains_key(*member))
    {
        Some("address") => format!("{}{role}", of("address")),
        Some("session_id") => format!("session {}{role}", of("session_id")),
        Some(member) => of(member),
        None => format!("{} ({}{role})", of("key_id"), of("name")),
    };
    let (kind, why, by) = (visible_line(&event.event_type), why(&event.payload), visible_line(&event.actor));
    let about = format!("{}  {kind}  {object}{why}, by {by}", event.created_at);
    line_of_result(&format!("{:>4}  ", event.sequence), &about, "      ")
}

/// The scope and the reason of a legal hold, or the erased events and the legal basis; empty for other events.
fn why(payload: &Map<String, Value>) -> String {
    let text = |value: &Value| inert_line(value.as_str().unwrap_or_default());
    if let (Some(scope), Some(reason)) = (payload.get("scope"), payload.get("reason")) {
        let id = scope.get("id").and_then(Value::as_str).map(|id| format!(" {}", visible_line(id))).unwrap_or_default();
        return format!(" on {}{id}, reason: {}", text(&scope["kind"]), text(reason));
    }
    let Some(basis) = payload.get("legal_basis") else { return String::new() };
    let number = |member: &str| payload.get(member).and_then(Value::as_u64).unwrap_or_default();
    format!(", events {} to {}, legal basis: {}", number("first_sequence"), number("last_sequence"), text(basis))
}

fn in_a_line(event: &EventView) -> String {
    let word = |word: &str| text::truncated(word, WORD_CHARS_MAX);
    // Our own event types are shown unchanged: they have dots, but are no addresses.
    let kind = if client_may_append(&event.event_type) { inert_line(&event.event_type) } else { visible_line(&event.event_type) };
    let about = format!("{}  {}, {}", event.created_at, word(&kind), word(&inert_line(&event.actor)));
    line_of_result(&format!("{:>4}  ", event.sequence), &about, "      ")
}

/// Events with short ids in place of the ids of questions, which are capabilities.
///
/// The ids are collected from the events themselves, because a log may name questions that a list of questions does not reach.
fn shortened(events: &[EventView]) -> anyhow::Result<Vec<Value>> {
    let events: Vec<Value> = events.iter().map(serde_json::to_value).collect::<Result<_, _>>()?;
    let mut ids = HashSet::new();
    for event in &events {
        collect_ids(event, &mut ids);
    }
    Ok(events.into_iter().map(|event| without_ids(event, &ids)).collect())
}

/// Collects the ids of questions from the members that hold one.
fn collect_ids(value: &Value, ids: &mut HashSet<SuspensionId>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_ids(item, ids)),
        Value::Object(members) => {
            for (name, member) in members {
                let named = member.as_str().filter(|_| NAMES_A_QUESTION.contains(&name.as_str()));
                ids.extend(named.and_then(SuspensionId::parse));
                collect_ids(member, ids);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn without_ids(event: Value, ids: &HashSet<SuspensionId>) -> Value {
    match event {
        Value::String(text) => match SuspensionId::parse(&text).filter(|id| ids.contains(id)) {
            Some(id) => Value::from(short_id(id)),
            None => Value::String(text),
        },
        Value::Array(items) => items.into_iter().map(|item| without_ids(item, ids)).collect(),
        Value::Object(members) => members.into_iter().map(|(name, member)| (name, without_ids(member, ids))).collect(),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_)) => other,
    }
}

pub(super) async fn status(args: StatusArgs) -> ExitCode {
    remote::exit_code(stated(&args).await)
}

/// Says whether the server is ready, and how many questions are open there that this key may read.
async fn stated(args: &StatusArgs) -> anyhow::Result<()> {
    let remote = args.remote.connect("status", READERS)?;
    let open = question::open(&remote).await?;
    let (ready, said) = reach::readiness(&remote.url).await;
    let next = open.first().and_then(domain::wire::SuspensionRecord::ends_at);
    if args.json {
        print_json(&json!({
            "url": remote.shown(), "ready": ready, "says": said, "open": open.len(), "next_expires_at": next.map(rfc3339),
        }))?;
    } else {
        let said = inert_line(&said);
        print_laid_out(&line_of_result("", &format!("{}: {said}", remote.shown()), "    "))?;
        print(&match (open.len(), next) {
            (0, _) => "No question is open.".to_owned(),
            (count, None) => format!("Open questions: {count}, none with a deadline."),
            (count, Some(next)) => {
                format!(
                    "Open questions: {count}, the first until {}.",
                    text::deadline(next, SystemClock.now(), Language::English)
                )
            }
        })?;
    }
    ensure!(ready, "the server is not ready; its log says more, and `placet doctor` on its machine looks for the cause");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shown log has no id of any question. People paste logs into chats, and with the id of an open question every reader of
    /// the chat with a key could act on the question.
    #[test]
    fn a_log_has_no_id_of_any_question_it_names() {
        let id = |number: u128| uuid::Uuid::from_u128(number).to_string();
        let event = |payload: Value| -> EventView {
            let event = json!({
                "id": id(9), "intent_id": id(8), "sequence": 1, "event_type": "x", "actor": "ci", "payload": payload,
                "created_at": "2026-11-21T08:00:00.000000", "previous_event_hash": null, "salt": "00", "event_hash": "00",
            });
            serde_json::from_value(event).unwrap()
        };
        let events = [
            event(json!({"suspension_id": id(1), "id": id(1), "note": "no id"})),
            event(json!({"suspension_id": id(2), "supersedes": id(3), "deep": [{"superseded_by": id(4)}, id(1).to_uppercase()]})),
        ];
        let shown = shortened(&events).unwrap();
        let text = serde_json::to_string(&shown).unwrap();
        for number in 1..=4 {
            assert!(!text.to_lowercase().contains(&id(number)), "{number}: {text}");
            assert!(text.contains(&short_id(SuspensionId(uuid::Uuid::from_u128(number)))), "{number}: {text}");
        }
        assert_eq!((&shown[0]["id"], &shown[0]["intent_id"]), (&json!(id(9)), &json!(id(8))), "these open nothing");
        assert_eq!(shown[0]["payload"]["note"], json!("no id"));
    }
}
