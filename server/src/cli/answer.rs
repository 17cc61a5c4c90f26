//! `placet answer`: the questions that are open, on a terminal.
//!
//! A question is named by a number made from its id, not by the id: that is a capability, and command lines are seen by others and
//! kept in histories. A number names one question for good, so an answer meant for one never lands on the next.

use std::fmt::Write as _;
use std::io::{BufRead, IsTerminal, Write};
use std::process::ExitCode;

use anyhow::{Context, ensure};
use chrono::{DateTime, Utc};
use clap::Args;
use domain::clock::Clock;
use domain::ids::SuspensionId;
use domain::text;
use domain::time::rfc3339;
use placet::{CallError, Client, FallbackPolicy, ResponseType, SuspensionRecord};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::remote::{self, FAILED, RemoteArgs, inert, inert_line, print, print_json, tell};
use crate::clock::SystemClock;

/// The most pages of open questions looked at.
const PAGES_MAX: usize = 100;
/// The longest question in the list, in characters; one question alone is shown whole.
const QUESTION_CHARS_MAX: usize = 100;
/// The longest answer read from a terminal, in bytes; the server allows less.
const LINE_BYTES_MAX: u64 = 64 * 1024;
/// Who may answer.
const ROLE: &str = "operator";

/// What has no flag.
const AFTER_HELP: &str = "\
Without a number it lists the open questions; with one it shows that question whole, and on a terminal asks for the answer.

Exit codes: 0 done, 3 an error (usage, key, server, or the question is no longer open)

Environment:
  PLACET_URL           --url
  PLACET_API_KEY       The key, with the role operator. No flag takes it: others see command lines
  PLACET_API_KEY_FILE  A file that holds it (--key-file)";

#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct AnswerArgs {
    /// The question's number, as the list shows it.
    number: Option<String>,
    /// The answer: one of the choices, yes or no, text, or JSON for a form.
    value: Option<String>,
    /// Say something with the answer; the asker reads it.
    #[arg(long, requires = "value")]
    comment: Option<String>,
    /// Print JSON, one line for each question or for the answer.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

pub(super) async fn run(args: AnswerArgs) -> ExitCode {
    match act(&args).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tell(format!("{error:#}"));
            ExitCode::from(FAILED)
        }
    }
}

async fn act(args: &AnswerArgs) -> anyhow::Result<()> {
    let client = args.remote.client("answer")?;
    let open = open(&client).await.with_context(|| format!("failed to list open questions at {}", args.remote.url()))?;
    let Some(wanted) = &args.number else { return list(&open, args.json) };
    let question = numbered(&open, wanted)?;
    if let Some(value) = &args.value {
        return answer(&client, question, value, args).await;
    }
    if args.json {
        return print_json(&as_json(question));
    }
    print(&whole(question, SystemClock.now())?)?;
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        tell(format!("to answer: placet answer {wanted} {}", expected(question)));
        return Ok(());
    }
    if let Some(value) = prompted(question)? {
        return answer(&client, question, &value, args).await;
    }
    tell("no answer given; the question stays open");
    Ok(())
}

/// All open questions this key may read, the most urgent first.
async fn open(client: &Client) -> anyhow::Result<Vec<SuspensionRecord>> {
    let (mut questions, mut cursor) = (Vec::new(), None);
    for _ in 0..PAGES_MAX {
        let page = client.open_suspensions(cursor.as_deref()).await.map_err(|error| remote::failed(error, ROLE))?;
        questions.extend(page.suspensions);
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    if cursor.is_some() {
        tell(format!("there are more open questions than the {} newest, which are looked at", questions.len()));
    }
    questions.sort_by_key(|question| (question.expires_at.is_none(), question.expires_at, question.suspended_at));
    Ok(questions)
}

/// Eight digits that name a question and do not give away its id.
fn number(id: SuspensionId) -> String {
    Sha256::digest(id.0.as_bytes()).iter().take(4).fold(String::new(), |digits, byte| format!("{digits}{byte:02x}"))
}

/// The one question with this number.
fn numbered<'a>(open: &'a [SuspensionRecord], wanted: &str) -> anyhow::Result<&'a SuspensionRecord> {
    let mut matching = open.iter().filter(|question| number(question.id) == wanted);
    let question = matching.next().with_context(|| {
        format!("no open question has the number {wanted:?}; it may have ended, and `placet answer` lists those that are open")
    })?;
    // Rare as it is, an answer may not land on a question that was not read.
    ensure!(matching.next().is_none(), "two questions have this number; answer from the mail or over HTTP");
    Ok(question)
}

fn list(open: &[SuspensionRecord], json: bool) -> anyhow::Result<()> {
    let now = SystemClock.now();
    for question in open {
        if json {
            print_json(&as_json(question))?;
            continue;
        }
        let words = text::truncated(&inert_line(&question.question), QUESTION_CHARS_MAX);
        print(&format!(
            "{}  {words}\n          from {}, open {}, answer {}",
            number(question.id),
            asker(question),
            until(question, now),
            expected(question)
        ))?;
    }
    if open.is_empty() && !json {
        tell("no question is open");
    }
    Ok(())
}

/// One question with everything to decide by. Whatever an agent wrote is indented under our words, so that it cannot pass for them.
fn whole(question: &SuspensionRecord, now: DateTime<Utc>) -> anyhow::Result<String> {
    let mut out = String::new();
    writeln!(out, "Question {}", number(question.id))?;
    writeln!(out, "{}", indented(&question.question))?;
    writeln!(out, "From      {}, {}", asker(question), text::deadline(question.suspended_at, now))?;
    writeln!(out, "Open      {}", until(question, now))?;
    writeln!(out, "Silence   {}", silence(question))?;
    if !question.context.is_empty() {
        writeln!(out, "Context")?;
    }
    for (key, value) in &question.context {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        // Further lines stand deeper, or they would look like entries of their own.
        writeln!(out, "    {}: {}", inert_line(key), inert(&value).replace('\n', "\n        "))?;
    }
    writeln!(out, "Answers")?;
    for choice in &question.choices {
        writeln!(out, "    {}  {}", inert_line(&choice.value), inert_line(&choice.label))?;
        if let Some(description) = &choice.description {
            writeln!(out, "    {}", indented(description))?;
        }
    }
    if question.choices.is_empty() {
        writeln!(out, "    {}", expected(question))?;
    }
    Ok(out.trim_end().to_owned())
}

fn indented(text: &str) -> String {
    inert(text).lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

fn asker(question: &SuspensionRecord) -> String {
    inert_line(question.asked_by.as_deref().unwrap_or("an agent"))
}

fn until(question: &SuspensionRecord, now: DateTime<Utc>) -> String {
    match question.expires_at {
        Some(at) => format!("until {} ({} left)", text::deadline(at, now), text::time_left(at - now)),
        None => "for ever".to_owned(),
    }
}

fn silence(question: &SuspensionRecord) -> String {
    match (question.fallback_policy, &question.fallback_value) {
        (FallbackPolicy::Fail, _) | (_, None) => "no answer stands in; the agent is told that nobody answered".to_owned(),
        (FallbackPolicy::CompleteWithFallback | FallbackPolicy::UseDefaultAndContinue, Some(value)) => {
            format!("{} stands in", inert_line(&value.to_string()))
        }
    }
}

/// What an answer looks like.
fn expected(question: &SuspensionRecord) -> String {
    match question.response_type {
        ResponseType::Choice | ResponseType::Confirm if !question.choices.is_empty() => {
            let values: Vec<String> = question.choices.iter().map(|choice| inert_line(&choice.value)).collect();
            values.join(" | ")
        }
        ResponseType::Confirm => "yes | no".to_owned(),
        ResponseType::Choice | ResponseType::Text => "TEXT".to_owned(),
        ResponseType::Form => "JSON, such as '{\"field\": 1}'".to_owned(),
    }
}

/// Asks on the terminal; `None` for an empty line or none.
fn prompted(question: &SuspensionRecord) -> anyhow::Result<Option<String>> {
    let mut terminal = std::io::stderr();
    write!(terminal, "Your answer ({}; nothing leaves it open): ", expected(question))
        .and_then(|()| terminal.flush())
        .context("failed to ask on the terminal")?;
    let mut line = String::new();
    let mut input = std::io::Read::take(std::io::stdin().lock(), LINE_BYTES_MAX);
    input.read_line(&mut line).context("failed to read from the terminal")?;
    let line = line.trim();
    Ok((!line.is_empty()).then(|| line.to_owned()))
}

async fn answer(client: &Client, question: &SuspensionRecord, value: &str, args: &AnswerArgs) -> anyhow::Result<()> {
    let answer = match question.response_type {
        ResponseType::Choice | ResponseType::Confirm | ResponseType::Text => Value::from(value),
        ResponseType::Form => {
            serde_json::from_str(value).context("this question wants a form; the answer must be a JSON object")?
        }
    };
    let comment = args.comment.as_ref().map(|comment| comment.trim()).filter(|comment| !comment.is_empty());
    let metadata = comment.map(|comment| Map::from_iter([("comment".to_owned(), Value::from(comment))]));
    let recorded = client.respond(question, answer, metadata).await.map_err(|error| match error {
        CallError::Refused(problem) if problem.is("invalid_choice") => {
            anyhow::anyhow!("{value:?} is no answer to this question; it takes {}", expected(question))
        }
        error @ (CallError::Refused(_) | CallError::Transport(_)) => {
            remote::failed(error, ROLE).context("the answer was not recorded")
        }
    })?;
    ensure!(recorded.suspension_id == question.id, "the server recorded an answer to another question");
    if args.json {
        return print_json(&json!({
            "number": number(question.id), "intent_id": recorded.intent_id, "value": recorded.value, "label": recorded.choice_label,
            "responded_by": recorded.responded_by, "responded_at": rfc3339(recorded.responded_at),
        }));
    }
    let value = recorded.value.as_str().map_or_else(|| recorded.value.to_string(), str::to_owned);
    print(&format!("Recorded {} by {}.", inert_line(&value), inert_line(&recorded.responded_by)))
}

/// A question without its id.
fn as_json(question: &SuspensionRecord) -> Value {
    json!({
        "number": number(question.id),
        "question": question.question,
        "response_type": question.response_type,
        "choices": question.choices,
        "context": question.context,
        "asked_by": question.asked_by,
        "intent_id": question.intent_id,
        "notify_to": question.notify_to,
        "suspended_at": rfc3339(question.suspended_at),
        "expires_at": question.expires_at.map(rfc3339),
        "fallback_policy": question.fallback_policy,
        "fallback_value": question.fallback_value,
        "attempt": question.attempt,
        "reached": question.reached,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(id: u128) -> SuspensionRecord {
        let record = json!({
            "id": uuid::Uuid::from_u128(id), "intent_id": uuid::Uuid::nil(), "kind": "awaiting_input", "version": 1, "attempt": 1,
            "question": "Go?", "response_type": "confirm", "choices": [], "context": {}, "notify_to": [],
            "suspended_at": "2026-11-21T08:00:00Z", "expires_at": null, "fallback_policy": "fail", "reached": true,
            "responded_at": null, "resolved_at": null,
        });
        serde_json::from_value(record).unwrap()
    }

    // Found by trying: the digests of these two ids begin alike.
    #[test]
    fn a_number_that_two_questions_have_names_neither() {
        let questions = [open(7436), open(9406), open(1)];
        let refused = numbered(&questions, "6750b948").unwrap_err();
        assert!(refused.to_string().contains("two questions have this number"), "{refused}");
        assert_eq!(numbered(&questions[1..], "6750b948").unwrap().id, questions[1].id);
        assert_eq!(numbered(&questions, &number(questions[2].id)).unwrap().id, questions[2].id);
        assert!(numbered(&questions[..2], "00000000").is_err());
    }
}
