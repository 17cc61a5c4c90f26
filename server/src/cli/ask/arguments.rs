//! The arguments of `placet ask`, and the check that they do not contradict each other.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use domain::base::json;
use domain::base::text::is_blank;
use domain::suspension::WINDOW_SECONDS_MAX;
use placet::{AssignedRole, Choice, Question, RequiredAssurance, Reversibility, Risk};
use serde_json::Value;

use crate::cli::remote::RemoteArgs;

/// The longest title made from a question, in characters.
const TITLE_CHARS_MAX: usize = 200;

/// The exit codes and variables on which scripts rely; docs/shell.md says the same.
const AFTER_HELP: &str = "\
Standard output holds the answer alone; messages to people go to standard error.

Exit codes:
  0    answered: yes, or one of the choices (whichever it is), or text, or a form
  1    answered: no (--confirm only)
  2    no person answered: expired, undeliverable, withdrawn or superseded. A fallback is printed, and the
       exit code is 2 all the same
  3    an error: usage, key, server
  129  SIGHUP, the terminal was closed: the question is withdrawn, unless --keep. Under nohup the wait goes on
  130  SIGINT, Ctrl-C: the question is withdrawn, unless --keep
  143  SIGTERM: the question is withdrawn, unless --keep
  If the question ended before it could be withdrawn, that ending decides: 0, 1 or 2

Environment:
  PLACET_URL           --url
  PLACET_API_KEY       The key, with the role agent. No flag takes it: others see command lines
  PLACET_API_KEY_FILE  A file that holds it (--key-file)";

#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(in crate::cli) struct AskArgs {
    /// The question.
    pub(super) question: String,
    /// Ask for yes or no; the default.
    #[arg(long, conflicts_with_all = ["choices", "text"])]
    confirm: bool,
    /// Offer a choice; repeat it for each. The value is printed, the label is shown (the value itself without one).
    #[arg(long = "choice", id = "choices", value_name = "VALUE=LABEL", value_parser = choice, conflicts_with = "text")]
    choices: Vec<(String, String)>,
    /// Ask for free text.
    #[arg(long)]
    text: bool,
    /// Ask for a form: a file with the JSON Schema of the answer, or with a list of questions. The answer is printed as JSON.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["confirm", "choices", "text"])]
    form: Option<PathBuf>,
    /// Propose an action: a file with its arguments, a JSON object. --json prints them as the person approved them.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["text", "form"])]
    proposal: Option<PathBuf>,
    /// Let people edit the proposal: a file with the JSON Schema of the members that they may edit.
    #[arg(long, value_name = "FILE", requires = "proposal")]
    editable: Option<PathBuf>,
    /// Show one more fact beside the question; may be repeated. No secrets.
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    context: Vec<(String, String)>,
    /// Ask this address instead of the server's operators; may be repeated.
    #[arg(long, value_name = "ADDRESS")]
    notify: Vec<String>,
    /// Let only these people answer: a listed person, group:NAME or role:ROLE; may be repeated. The server asks them.
    #[arg(long, value_name = "WHO", value_parser = assignee)]
    assign: Vec<Assignee>,
    /// Wait until this number of people have given the same answer; one refusal ends the question.
    #[arg(long, value_name = "PEOPLE", value_parser = clap::value_parser!(u32).range(1..=20))]
    approvals: Option<u32>,
    #[arg(
        long,
        value_name = "ASSURANCE",
        value_parser = assurance,
        help = "How sure the server must be of the person: session (the person has logged in), recent_login (the person has logged in \
                a few minutes ago at most) or passkey. The server may demand more"
    )]
    assurance: Option<RequiredAssurance>,
    /// Say how much is at stake: low, medium, high or critical. People see it, and the server may demand more of an answer then.
    #[arg(long, value_name = "RISK", value_parser = risk)]
    risk: Option<Risk>,
    #[arg(
        long,
        value_name = "FILE",
        help = "Explain the action: a file with a JSON object of what_happens, why, impact, rollback, links and evidence, each optional"
    )]
    explanation: Option<PathBuf>,
    #[arg(
        long,
        value_name = "WORD",
        value_parser = reversibility,
        help = "Say whether the action can be taken back: reversible, hard_to_reverse or irreversible"
    )]
    reversibility: Option<Reversibility>,
    /// Name the kind of question. People see how the newest questions of yours with the same name were decided.
    #[arg(long, value_name = "KEY")]
    question_key: Option<String>,
    /// Need a comment from a person who refuses.
    #[arg(long, conflicts_with = "text")]
    comment_on_refusal: bool,
    /// How long people have: 90s, 10m, 2h, 1d, or seconds. Without it the server's default applies, which may be no limit.
    #[arg(long, value_name = "TIME", value_parser = time)]
    timeout: Option<u32>,
    /// Use this value if no person answers in time; needs --timeout. It is printed, and the exit code is 2.
    #[arg(long, value_name = "VALUE", requires = "timeout")]
    fallback: Option<String>,
    /// The title of the work that the question belongs to; the question itself by default.
    #[arg(long)]
    title: Option<String>,
    /// Name the question. For 24 hours the same key finds this question again, open or ended; later the key is refused.
    #[arg(long, value_name = "KEY")]
    pub(super) idempotency_key: Option<String>,
    /// Leave the question open when interrupted.
    #[arg(long)]
    pub(super) keep: bool,
    /// How long after the question's deadline to go on trying a server that does not answer.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "1m")]
    pub(super) grace: u32,
    /// Print who would be told when, and what happens if no person answers. No person is asked.
    #[arg(long)]
    pub(super) preview: bool,
    /// Print one line of JSON, with where the answer comes from: human, fallback or none.
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) remote: RemoteArgs,
}

/// People to whom a question is assigned.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Assignee {
    Person(String),
    Group(String),
    Role(AssignedRole),
}

/// A question whose answer is a yes or no, a text, or the fields of a form.
pub(super) enum Asked {
    Confirm(Question<bool>),
    Words(Question<String>),
    Form(Question<Value>),
}

impl AskArgs {
    /// The question as the SDK takes it.
    pub(super) fn asked(&self, idempotency_key: &str) -> anyhow::Result<Asked> {
        ensure!(!is_blank(&self.question), "the question is empty, or shows nothing");
        let fallback = self.fallback.as_deref();
        if self.text {
            ensure!(fallback != Some(""), "--fallback must not be empty");
            let question = Question::text(&self.question);
            return Ok(Asked::Words(finished(self, question, fallback.map(str::to_owned), idempotency_key)?));
        }
        if let Some(file) = &self.form {
            let schema = form_in(file)?;
            let fallback = fallback.map(serde_json::from_str).transpose().context("--fallback must be JSON, as the answer is")?;
            let question = Question::form(&self.question);
            let question = if schema.is_array() { question.questions(schema) } else { question.schema(schema) };
            return Ok(Asked::Form(finished(self, question, fallback, idempotency_key)?));
        }
        if self.choices.is_empty() {
            let fallback = match fallback {
                None => None,
                Some("yes") => Some(true),
                Some("no") => Some(false),
                Some(other) => bail!("--fallback {other:?} is no answer to this question; it is yes or no"),
            };
            return Ok(Asked::Confirm(finished(self, Question::confirm(&self.question), fallback, idempotency_key)?));
        }
        for (index, (value, _)) in self.choices.iter().enumerate() {
            ensure!(self.choices[..index].iter().all(|(other, _)| other != value), "--choice {value:?} comes twice");
        }
        if let Some(fallback) = fallback
            && !self.choices.iter().any(|(value, _)| value == fallback)
        {
            let values: Vec<&str> = self.choices.iter().map(|(value, _)| value.as_str()).collect();
            bail!("--fallback {fallback:?} is none of the choices; they are {}", values.join(", "));
        }
        let choices = self.choices.iter().map(|(value, label)| Choice::new(value, label));
        let question = Question::choices(&self.question, choices);
        Ok(Asked::Words(finished(self, question, fallback.map(str::to_owned), idempotency_key)?))
    }

    /// The title of the intent that asks.
    pub(super) fn title(&self) -> String {
        self.title.clone().unwrap_or_else(|| domain::base::text::truncated(&self.question, TITLE_CHARS_MAX))
    }
}

/// The JSON in the file of a flag.
fn json_in(flag: &str, file: &Path) -> anyhow::Result<Value> {
    let text = std::fs::read(file).with_context(|| format!("failed to read {} ({flag})", file.display()))?;
    // Some editors on Windows begin a file with a byte order mark.
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
    json::parse(text).with_context(|| format!("{} ({flag}) is no JSON that this program reads", file.display()))
}

/// The JSON object in the file of a flag.
fn object_in(flag: &str, file: &Path, what: &str) -> anyhow::Result<Value> {
    let read = json_in(flag, file)?;
    ensure!(read.is_object(), "{} ({flag}) holds {}, and must hold a JSON object: {what}", file.display(), kind_of(&read));
    Ok(read)
}

/// The form in the file of `--form`: a JSON Schema, or a list of questions.
fn form_in(file: &Path) -> anyhow::Result<Value> {
    const WHAT: &str = "a JSON Schema of the answer, like {\"type\": \"object\", \"properties\": {\"amount\": {\"type\": \"number\"}}}, \
                        or a list of questions, like [{\"name\": \"amount\", \"question\": \"How much?\", \"response_type\": \"text\"}]";
    let read = json_in("--form", file)?;
    let is_wrapped = read.get("questions").is_some_and(Value::is_array) && read.get("type").is_none();
    ensure!(!is_wrapped, "{} (--form): a list of questions is the list itself, without {{\"questions\": …}}", file.display());
    let is_form = match &read {
        Value::Object(_) => true,
        Value::Array(questions) => !questions.is_empty() && questions.iter().all(Value::is_object),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    };
    ensure!(is_form, "{} (--form) holds {}, and must hold {WHAT}", file.display(), kind_of(&read));
    Ok(read)
}

/// The kind of a JSON value, for messages.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(list) if list.is_empty() => "an empty list",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Adds the options that all kinds of questions share.
fn finished<T>(args: &AskArgs, question: Question<T>, fallback: Option<T>, idempotency_key: &str) -> anyhow::Result<Question<T>> {
    let mut question = question.idempotency_key(idempotency_key);
    for (index, (key, value)) in args.context.iter().enumerate() {
        ensure!(args.context[..index].iter().all(|(other, _)| other != key), "--context {key:?} comes twice");
        question = question.context(key, value.as_str());
    }
    if !args.notify.is_empty() {
        question = question.notify_to(&args.notify);
    }
    for assignee in &args.assign {
        question = match assignee {
            Assignee::Person(address) => question.assign_to_person(address),
            Assignee::Group(name) => question.assign_to_group(name),
            Assignee::Role(role) => question.assign_to_role(*role),
        };
    }
    if let Some(people) = args.approvals {
        ensure!(!args.text && args.form.is_none(), "--approvals needs a question with choices, and --text and --form have none");
        question = question.require_approvals(people);
    }
    question = match args.assurance {
        Some(RequiredAssurance::Session) => question.require_login(),
        Some(RequiredAssurance::RecentLogin) => question.require_recent_login(),
        Some(RequiredAssurance::Passkey) => question.require_passkey(),
        None => question,
    };
    if let Some(risk) = args.risk {
        question = question.risk(risk);
    }
    if let Some(file) = &args.explanation {
        let explanation = serde_json::from_value(json_in("--explanation", file)?);
        question =
            question.explanation(explanation.with_context(|| format!("{} (--explanation) is no explanation", file.display()))?);
    }
    if let Some(reversibility) = args.reversibility {
        question = question.reversibility(reversibility);
    }
    if let Some(key) = &args.question_key {
        question = question.question_key(key);
    }
    if let Some(file) = &args.proposal {
        question = question.proposal(object_in("--proposal", file, "the arguments of the action")?);
    }
    if let Some(file) = &args.editable {
        question = question.editable(object_in("--editable", file, "the JSON Schema of the members that people may edit")?);
    }
    if args.comment_on_refusal {
        question = question.comment_on_refusal();
    }
    if let Some(seconds) = args.timeout {
        question = question.timeout_seconds(seconds);
    }
    Ok(match fallback {
        Some(value) => question.fallback(value),
        // `fail` is sent even if the server's defaults name a fallback: only this command line may choose one.
        None => question.fail(),
    })
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        Some(_) | None => Err("expected KEY=VALUE".to_owned()),
    }
}

fn assurance(text: &str) -> Result<RequiredAssurance, String> {
    let known = [RequiredAssurance::Session, RequiredAssurance::RecentLogin, RequiredAssurance::Passkey];
    known
        .into_iter()
        .find(|known| known.to_string() == text)
        .ok_or_else(|| "expected session, recent_login or passkey".to_owned())
}

fn risk(text: &str) -> Result<Risk, String> {
    let known = [Risk::Low, Risk::Medium, Risk::High, Risk::Critical];
    known.into_iter().find(|risk| risk.as_str() == text).ok_or_else(|| "expected low, medium, high or critical".to_owned())
}

fn reversibility(text: &str) -> Result<Reversibility, String> {
    let named = Reversibility::ALL.into_iter().find(|known| known.as_str() == text);
    named.ok_or_else(|| "expected reversible, hard_to_reverse or irreversible".to_owned())
}

fn assignee(text: &str) -> Result<Assignee, String> {
    match text.split_once(':') {
        None if text.contains('@') => Ok(Assignee::Person(text.to_owned())),
        Some(("group", name)) => Ok(Assignee::Group(name.to_owned())),
        Some(("role", "operator")) => Ok(Assignee::Role(AssignedRole::Operator)),
        Some(("role", "admin")) => Ok(Assignee::Role(AssignedRole::Admin)),
        Some(("role", role)) => Err(format!("{role:?} is no role that answers; these are role:operator and role:admin")),
        Some(_) | None => Err("expected an address, group:NAME or role:ROLE".to_owned()),
    }
}

fn choice(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((value, label)) if !value.is_empty() && !label.is_empty() => Ok((value.to_owned(), label.to_owned())),
        None if !text.is_empty() => Ok((text.to_owned(), text.to_owned())),
        Some(_) | None => Err("expected VALUE=LABEL or VALUE".to_owned()),
    }
}

/// Reads `90s`, `10m`, `2h`, `1d` or plain seconds; returns the number of seconds, if the server allows a time of this length.
pub(in crate::cli) fn time(text: &str) -> Result<u32, String> {
    let (number, unit) = match text.strip_suffix(['s', 'm', 'h', 'd']) {
        Some(number) => (number, &text[number.len()..]),
        None => (text, "s"),
    };
    let unit_seconds = match unit {
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => 1,
    };
    let expected = || "expected seconds, or a number with its unit: 90s, 10m, 2h, 1d".to_owned();
    if !number.bytes().all(|byte| byte.is_ascii_digit()) || number.is_empty() {
        return Err(expected());
    }
    let seconds = number.parse::<u32>().ok().and_then(|number| number.checked_mul(unit_seconds));
    match seconds {
        Some(seconds @ 1..=WINDOW_SECONDS_MAX) => Ok(seconds),
        Some(_) | None => Err("must be from 1 second to 366 days".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_their_units_and_bounds() {
        for (text, seconds) in
            [("90s", 90), ("10m", 600), ("2h", 7_200), ("1d", 86_400), ("45", 45), ("366d", WINDOW_SECONDS_MAX)]
        {
            assert_eq!(time(text), Ok(seconds), "{text}");
        }
        for text in ["", "m", "10 m", "1.5h", "-5", "+5", "5w", "10M", "m10", "1h30m", "٣m"] {
            assert!(time(text).unwrap_err().contains("90s, 10m, 2h, 1d"), "{text}");
        }
        for text in ["0", "0d", "367d", "31622401", "99999999999", "4294967295d"] {
            assert!(time(text).unwrap_err().contains("366 days"), "{text}");
        }
    }

    #[test]
    fn an_assignee_is_a_person_a_group_or_a_role() {
        assert_eq!(assignee("ada@example.com"), Ok(Assignee::Person("ada@example.com".to_owned())));
        assert_eq!(assignee("group:finance"), Ok(Assignee::Group("finance".to_owned())));
        assert_eq!(assignee("role:admin"), Ok(Assignee::Role(AssignedRole::Admin)));
        assert!(assignee("role:operators").unwrap_err().contains("role:operator and role:admin"));
        for wrong in ["finance", "team:finance", "", "ada"] {
            assert!(assignee(wrong).unwrap_err().contains("group:NAME"), "{wrong}");
        }
    }

    #[test]
    fn a_choice_without_a_label_is_its_own() {
        let of = |text: &str| choice(text).map(|(value, label)| format!("{value}|{label}"));
        assert_eq!(of("eu-west=Europe"), Ok("eu-west|Europe".to_owned()));
        assert_eq!(of("a=b=c"), Ok("a|b=c".to_owned()));
        assert_eq!(of("now"), Ok("now|now".to_owned()));
        assert!(of("=x").is_err() && of("x=").is_err() && of("").is_err());
        assert_eq!(pair("commit="), Ok(("commit".to_owned(), String::new())));
        assert!(pair("commit").is_err() && pair("=x").is_err());
    }
}
