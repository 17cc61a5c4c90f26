//! `placet answer`: the questions that are open, on a terminal, and a person's answer to one.
//!
//! Only a person who sees the question may answer it here. So without a terminal for input and output, the answer must be an
//! argument.

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail, ensure};
use clap::Args;
use domain::base::clock::Clock;
use domain::base::json;
use domain::base::time::rfc3339;
use domain::form::Shape;
use domain::suspension::quorum::Tally;
use placet::{CallError, ResponseType, SuspensionRecord};
use serde_json::{Map, Value};
use store::host::clock::SystemClock;

use super::draft::{self, drafted};
use super::ending::Ending;
use super::look;
use super::margins;
use super::meant::meant;
use super::proposed;
use super::question::{self, as_json, expected, offered, short_id};
use super::remote::{self, Remote, RemoteArgs, inert, inert_line, print_json, print_laid_out, tell};
use crate::terminal;

/// The longest answer read from a terminal, in bytes; the server allows less.
const LINE_BYTES_MAX: u64 = 64 * 1024;
/// The role of a key that may answer.
const ROLE: &str = "operator";

/// Help for the parts that have no flag.
const AFTER_HELP: &str = "\
Without an id it lists the open questions; with one it shows that question whole, and on a terminal asks for the answer.
A choice is named by its value, its label, or the beginning of either, in any case, where that fits one choice alone.

Exit codes: 0 done, 3 an error (usage, key, server, or the question is no longer open)

Environment:
  PLACET_URL           --url
  PLACET_API_KEY       The key, with the role operator. No flag takes it: others see command lines
  PLACET_API_KEY_FILE  A file that holds it (--key-file)";

#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct AnswerArgs {
    /// The question's short id, as the list shows it.
    id: Option<String>,
    /// The answer: one of the choices, yes or no, text, or JSON for a form.
    value: Option<String>,
    /// Approve the proposed action as this file has it: a JSON object. Only members that the question lets people edit may differ.
    #[arg(long, value_name = "FILE", requires = "value")]
    proposal: Option<PathBuf>,
    /// Say something with the answer; the asker reads it.
    #[arg(long, requires = "value")]
    comment: Option<String>,
    /// Save it as a draft, which the other people who may answer see; the question stays open.
    #[arg(long, requires = "value")]
    draft: bool,
    /// Print JSON, one line for each question or for the answer.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

pub(super) async fn run(args: AnswerArgs) -> ExitCode {
    remote::exit_code(act(&args).await)
}

async fn act(args: &AnswerArgs) -> anyhow::Result<()> {
    let remote = args.remote.connect("answer", ROLE)?;
    let Some(wanted) = &args.id else {
        let open = question::open(&remote).await?;
        if open.is_empty() && !args.json {
            tell("no question is open");
        }
        return look::print_list(&open, args.json);
    };
    let question = question::find_open(&remote, wanted).await?;
    if let Some(typed) = &args.value {
        let answer = understood(&question, typed)?;
        if args.draft {
            let proposal = args.proposal.as_deref().map(edited).transpose()?;
            let values = drafted(&question, &answer, args.comment.as_deref(), proposal.as_ref())?;
            return draft::save(&remote, &question, values, args.json).await;
        }
        return record(&remote, &question, answer, args).await;
    }
    let question = question::alone(&remote, question).await?;
    if args.json {
        return print_json(&as_json(&question));
    }
    print_laid_out(&question::whole(&question, SystemClock.now(), terminal::columns())?)?;
    if !terminal::can_ask() {
        // Text of an agent must not stand in a command line that a person may copy.
        tell(match question.response_type {
            ResponseType::Form => format!("to answer, give the fields: placet answer {wanted} '{{\"FIELD\": VALUE}}'"),
            ResponseType::Choice | ResponseType::Confirm | ResponseType::Text => {
                format!("to answer, say which of the answers: placet answer {wanted} ANSWER")
            }
        });
        return Ok(());
    }
    if let Some(answer) = prompted(&question)? {
        return record(&remote, &question, answer, args).await;
    }
    tell("no answer was given; the question stays open");
    Ok(())
}

/// The value that the typed text means for this question.
fn understood(question: &SuspensionRecord, typed: &str) -> anyhow::Result<Value> {
    match question.response_type {
        ResponseType::Choice | ResponseType::Confirm if !question.choices.is_empty() => {
            let meant = meant(&question.choices, typed);
            meant.map(Value::from).map_err(|unclear| anyhow::anyhow!("{typed:?}: {unclear}: {}", expected(question)))
        }
        ResponseType::Choice | ResponseType::Confirm | ResponseType::Text => Ok(Value::from(typed)),
        ResponseType::Form => form(question, typed),
    }
}

/// The fields of a form, typed as JSON.
fn form(question: &SuspensionRecord, typed: &str) -> anyhow::Result<Value> {
    let told = |why: &str| {
        let shape = question.schema.as_ref().and_then(|schema| schema.shape().ok());
        let names: Vec<String> =
            shape.iter().flat_map(Shape::fields).map(|field| inert_line(field.pointer.trim_start_matches('/'))).collect();
        let fields = if names.is_empty() { String::new() } else { format!(". Its fields: {}", names.join(", ")) };
        anyhow::anyhow!("this question has a form, so the answer is one object, {}; {why}{fields}", expected(question))
    };
    match json::unambiguous(typed.as_bytes()) {
        Ok(answer) if answer.is_object() || question.schema.is_none() => Ok(answer),
        Ok(_) => Err(told("this is JSON, but no object")),
        Err(error) => Err(told(&format!("this is no JSON ({error})"))),
    }
}

/// Asks on the terminal; `None` if the person gave no answer.
///
/// A whole value that is offered counts at once. Anything else, a text or the beginning of a label, is shown once more and
/// confirmed. Keys that were pressed before the question could be read are discarded.
fn prompted(question: &SuspensionRecord) -> anyhow::Result<Option<Value>> {
    // The prompt does not repeat the choices, because a choice may be as long as its agent likes.
    let what = match question.response_type {
        ResponseType::Confirm => "yes or no",
        ResponseType::Choice => "one of the values above",
        ResponseType::Text => "a text of one line",
        ResponseType::Form => "JSON on one line",
    };
    let Some(typed) = line(&format!("Your answer, {what}; an empty line leaves the question open: "))? else { return Ok(None) };
    let answer = understood(question, &typed)?;
    if counts_at_once(question, &typed) {
        return Ok(Some(answer));
    }
    let shown = terminal::laid_out(&inert(&margins::typed(&answer)), "  │ ", "  │ ", terminal::columns());
    let confirmed = line(&format!("You answer:\n{shown}\nType yes to record this; an empty line leaves the question open: "))?;
    Ok(confirmed.filter(|confirmed| confirmed.eq_ignore_ascii_case("yes")).map(|_| answer))
}

/// Whether the typed text is a whole value that the question offers. A question that is answered with a text or a form
/// offers none, even if it has choices: its agent may have named one `q` or `y`, which the person typed for another program.
fn counts_at_once(question: &SuspensionRecord, typed: &str) -> bool {
    offered(question).iter().any(|choice| choice.value == typed)
}

/// One line typed behind `prompt`; `None` for an empty line, and for a line without an end, which is left if the terminal is
/// closed while the person types.
fn line(prompt: &str) -> anyhow::Result<Option<String>> {
    terminal::forget_what_was_typed();
    let mut errors = std::io::stderr();
    write!(errors, "{prompt}").and_then(|()| errors.flush()).context("failed to ask on the terminal")?;
    let mut line = String::new();
    let mut input = std::io::Read::take(std::io::stdin().lock(), LINE_BYTES_MAX);
    input.read_line(&mut line).context("failed to read from the terminal")?;
    Ok(ended(&line).map(str::to_owned))
}

/// The text of a line that the person has ended; a line without an end is no answer.
fn ended(line: &str) -> Option<&str> {
    line.strip_suffix('\n').map(str::trim).filter(|line| !line.is_empty())
}

/// The action in a file.
fn edited(file: &Path) -> anyhow::Result<Map<String, Value>> {
    let text = std::fs::read(file).with_context(|| format!("failed to read {}", file.display()))?;
    let Ok(Value::Object(members)) = json::unambiguous(&text) else { bail!("{} is no JSON object", file.display()) };
    Ok(members)
}

async fn record(remote: &Remote, question: &SuspensionRecord, answer: Value, args: &AnswerArgs) -> anyhow::Result<()> {
    let comment = args.comment.as_ref().map(|comment| comment.trim()).filter(|comment| !comment.is_empty());
    let metadata = comment.map(|comment| Map::from_iter([("comment".to_owned(), Value::from(comment))]));
    let proposal = args.proposal.as_deref().map(edited).transpose()?;
    if let Some(edited) = &proposal {
        proposed::tell_changes(question, edited);
    }
    let recorded = match remote.heard(remote.client.respond_with(question, answer, proposal, metadata)).await {
        Ok(recorded) => recorded,
        // The question has ended, perhaps because another person was quicker. A sentence on how it ended says more than the
        // refusal.
        Err(CallError::Refused(problem)) if problem.is("already_resolved") || problem.is("expired") => {
            let now = remote.client.suspension(question.id).await.map_err(|error| remote.failed(error))?;
            let ended = Ending::of(&now).map_or_else(|| problem.to_string(), |ending| ending.words(&now));
            bail!("the answer was not recorded, because question {} has ended: {ended}", short_id(question.id));
        }
        Err(error) => return Err(remote.failed(error).context("the answer was not recorded")),
    };
    ensure!(recorded.suspension_id == question.id, "the server recorded an answer to another question");
    if args.json {
        return print_json(&serde_json::json!({
            "number": short_id(question.id), "intent_id": recorded.intent_id, "value": recorded.value, "label": recorded.choice_label,
            "responded_by": recorded.responded_by, "responded_at": rfc3339(recorded.responded_at),
            "resolution": recorded.resolution, "approvals": recorded.approvals, "proposal": recorded.proposal,
        }));
    }
    let more = recorded.approvals.map(|Tally { given, needed }| {
        format!(" {given} of {needed} people have given this answer, so the question stays open.")
    });
    let (typed, by) = (inert_line(&margins::typed(&recorded.value)), remote::name(&recorded.responded_by));
    let said = format!("Recorded {typed} by {by}.{}", more.unwrap_or_default());
    print_laid_out(&terminal::laid_out(&said, "", "    ", terminal::columns()))
}

#[cfg(test)]
mod tests {
    use super::super::question::tests::open;
    use super::*;

    /// An agent may send choices with a question that is answered with a text, and name them like keys that people type for other
    /// programs (`q`, `y`). For a question of this kind no typed text counts without a confirmation.
    #[test]
    fn a_text_is_confirmed_whatever_choices_its_question_has() {
        let mut question = open(1);
        question.choices =
            serde_json::from_value(serde_json::json!([{"value": "q", "label": "Quit"}, {"value": "y", "label": "Yes"}])).unwrap();
        for (response_type, at_once) in [
            (ResponseType::Choice, true),
            (ResponseType::Confirm, true),
            (ResponseType::Text, false),
            (ResponseType::Form, false),
        ] {
            question.response_type = response_type;
            assert_eq!(counts_at_once(&question, "q"), at_once, "{response_type:?}");
            assert!(!counts_at_once(&question, "Q") && !counts_at_once(&question, "Quit"), "{response_type:?}");
        }
    }

    /// A line without its end is no answer: a terminal that is closed, or Ctrl-D in the middle of a word, passes on the
    /// characters typed so far.
    #[test]
    fn only_a_line_that_was_ended_is_an_answer() {
        assert_eq!(ended("yes\n"), Some("yes"));
        assert_eq!(ended(" a text \r\n"), Some("a text"));
        for not_ended in ["", "\n", "  \n", "yes", "qls"] {
            assert_eq!(ended(not_ended), None, "{not_ended:?}");
        }
    }
}
