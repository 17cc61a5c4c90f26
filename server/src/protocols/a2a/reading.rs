//! From the parameters of A2A 1.0 to what is asked of the store: pure functions. Every member of a question and of an answer is understood or
//! refused. Members that the protocol's own objects do not have are left alone, as it recommends: those of a later version come with the
//! number of that version, which is refused. Its names are read in camelCase and as its definition in protobuf has them.

use domain::asking::errands::{Said, Words};
use domain::base::field::{FieldError, UNSUPPORTED};
use domain::base::ids::IntentId;
use domain::base::json;
use domain::intent::fate::Fate;
use domain::suspension::ResponseType;
use domain::suspension::errand::{Via, is_foreign_id};
use domain::wire::SuspendRequest;
use serde::Deserialize;
use serde_json::{Map, Number, Value};
use sha2::{Digest, Sha256};
use store::ErrandFilter;

use super::change::Halting;
use super::error::Error;
use super::names::{self, in_snake};
use super::parameters::{no_tenant, params, task_id};
use super::projection::Modes;
use super::push::{self, Config, PushCall};
use super::wire::{JSON, QUESTION};
use crate::edge::body::Json;

/// The most messages of a conversation that one call may ask for.
pub(crate) const HISTORY_MAX: usize = 1_000;
/// The most tasks on a page, and how many there are if the call does not say.
const PAGE_MAX: u32 = 100;
const PAGE_DEFAULT: u32 = 50;
/// The longest token of a page.
const TOKEN_BYTES_MAX: usize = 100;
/// The media type of every text part.
const TEXT: &str = "text/plain";

/// Members that break rules, under the names that they have inside.
pub(crate) type Errors = Vec<FieldError>;

/// A call, as far as it can be read without the caller.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    /// A message: it asks a new question, or answers one. `streams` says whether the caller wants to follow the task.
    Send {
        sent: Box<Sent>,
        streams: bool,
    },
    Get {
        id: IntentId,
        history: Result<usize, Errors>,
    },
    List(Result<ErrandFilter, Errors>, bool),
    Cancel {
        id: IntentId,
    },
    Subscribe {
        id: IntentId,
    },
    /// The push configurations of a task.
    Push(Box<PushCall>),
    /// A call of an extension for pauses.
    Halt(Halting),
    /// The card for callers with a key.
    Card,
}

/// A message.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) message_id: String,
    /// The hash of the message, by which a repeated one is told from another with the same id.
    pub(crate) hash: [u8; 32],
    /// The conversation that the message names.
    pub(crate) context_id: Option<String>,
    pub(crate) history: usize,
    /// The media types that the client takes.
    pub(crate) modes: Modes,
    /// Whether the client does not want to wait until the task has ended or needs something.
    pub(crate) at_once: bool,
    pub(crate) content: Content,
    /// The push configuration that it brings along.
    pub(crate) push: Option<Config>,
}

/// The content of a message.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// A new question.
    Asks(Result<Box<SuspendRequest>, Errors>),
    /// An answer to the question of a task.
    Answers(IntentId, Result<Said, Errors>),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SendParams {
    #[serde(default)]
    tenant: String,
    message: MessageIn,
    #[serde(default)]
    configuration: Configuration,
    /// Words of the client about its call, for which this server has no use.
    #[serde(default, rename = "metadata")]
    _metadata: Option<Map<String, Value>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Configuration {
    #[serde(alias = "accepted_output_modes")]
    accepted_output_modes: Vec<String>,
    #[serde(alias = "task_push_notification_config")]
    task_push_notification_config: Option<Value>,
    #[serde(alias = "history_length")]
    history_length: Option<i64>,
    #[serde(alias = "return_immediately")]
    return_immediately: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MessageIn {
    #[serde(alias = "message_id")]
    message_id: String,
    #[serde(default, alias = "context_id")]
    context_id: String,
    #[serde(default, alias = "task_id")]
    task_id: String,
    role: String,
    parts: Vec<PartIn>,
    #[serde(default)]
    metadata: Option<Map<String, Value>>,
    /// The extensions that the message uses; an unknown one says nothing to this server.
    #[serde(default, rename = "extensions")]
    _extensions: Vec<String>,
    #[serde(default, alias = "reference_task_ids")]
    reference_task_ids: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PartIn {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    raw: Option<Value>,
    #[serde(default)]
    url: Option<Value>,
    /// Present even if it is null.
    #[serde(default, deserialize_with = "some")]
    data: Option<Value>,
    #[serde(default, rename = "metadata")]
    _metadata: Option<Map<String, Value>>,
    #[serde(default)]
    filename: String,
    #[serde(default, alias = "media_type")]
    media_type: String,
}

fn some<'de, D: serde::Deserializer<'de>>(input: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(input).map(Some)
}

/// A part that this server takes.
enum Piece {
    Text(String),
    Data(Value),
}

/// How many messages of the conversation are wanted.
fn history(length: Option<i64>, otherwise: usize) -> Result<usize, Errors> {
    let Some(length) = length else { return Ok(otherwise) };
    let wanted = usize::try_from(length).ok().filter(|wanted| *wanted <= HISTORY_MAX);
    wanted.ok_or_else(|| vec![FieldError::new("historyLength", "range", format!("must be 0 to {HISTORY_MAX}"))])
}

/// A message to this server.
pub(crate) fn send(given: Value, streams: bool) -> Result<Operation, Error> {
    let hash = Sha256::digest(json::canonical(&given["message"]).unwrap_or_default()).into();
    let SendParams { tenant, message, configuration, .. } = params(given)?;
    no_tenant(&tenant)?;
    let push = configuration.task_push_notification_config.map(push::of_message).transpose()?;
    let modes = modes(&configuration.accepted_output_modes)?;
    let history = history(configuration.history_length, HISTORY_MAX).map_err(Error::invalid)?;
    if message.role != "ROLE_USER" {
        return Err(Error::wrong("message.role", "must be ROLE_USER"));
    }
    if !is_foreign_id(&message.message_id) {
        return Err(Error::wrong("message.messageId", "must be 1 to 200 characters, none of them a control character"));
    }
    if !message.reference_task_ids.is_empty() {
        return Err(Error::wrong("message.referenceTaskIds", "must be left out: a question refers to no other task"));
    }
    let context_id = Some(message.context_id).filter(|id| !id.is_empty());
    if context_id.as_ref().is_some_and(|id| !is_foreign_id(id)) {
        return Err(Error::wrong("message.contextId", "must be at most 200 characters, none of them a control character"));
    }
    let pieces = message.parts.into_iter().enumerate().map(|(number, part)| piece(number, part));
    let pieces = pieces.collect::<Result<Vec<_>, _>>()?;
    let extended = message.metadata.and_then(|mut metadata| metadata.remove(QUESTION));
    let at_once = configuration.return_immediately;
    let content = if message.task_id.is_empty() {
        Content::Asks(question(pieces, extended).map(Box::new))
    } else {
        Content::Answers(task_id(&message.task_id)?, answer(pieces, extended, context_id.clone()))
    };
    let message_id = message.message_id;
    let sent = Box::new(Sent { message_id, hash, context_id, history, modes, at_once, content, push });
    Ok(Operation::Send { sent, streams })
}

/// The media types that a client takes; a client that names none takes all.
fn modes(accepted: &[String]) -> Result<Modes, Error> {
    let takes = |mode: &str, family: &str| accepted.iter().any(|named| [mode, family, "*/*"].contains(&named.as_str()));
    if accepted.is_empty() {
        return Ok(Modes::default());
    }
    let modes = Modes { text: takes(TEXT, "text/*"), data: takes(JSON, "application/*") };
    if modes.text || modes.data { Ok(modes) } else { Err(Error::content_type(format!("this server writes {JSON} and {TEXT}"))) }
}

fn piece(number: usize, part: PartIn) -> Result<Piece, Error> {
    let place = format!("message.parts[{number}]");
    if part.raw.is_some() || part.url.is_some() || !part.filename.is_empty() {
        return Err(Error::content_type(format!("{place}: this server takes texts and data, and no files")));
    }
    let essence = part.media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let takes = |wanted: &str| essence.is_empty() || essence == wanted;
    match (part.text, part.data) {
        (Some(text), None) if takes(TEXT) => Ok(Piece::Text(text)),
        (None, Some(data)) if takes(JSON) => Ok(Piece::Data(whole(data))),
        (Some(_), None) => Err(Error::content_type(format!("{place}: a text has the media type {TEXT}"))),
        (None, Some(_)) => Err(Error::content_type(format!("{place}: data have the media type {JSON}"))),
        (Some(_), Some(_)) | (None, None) => Err(Error::wrong(&place, "must have exactly one of text and data")),
    }
}

/// Numbers of protobuf are fractions: those without a fractional part become whole numbers again.
fn whole(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::Number(whole_number(number)),
        Value::Array(items) => items.into_iter().map(whole).collect(),
        Value::Object(members) => members.into_iter().map(|(name, value)| (name, whole(value))).collect(),
        Value::Null | Value::Bool(_) | Value::String(_) => value,
    }
}

fn whole_number(number: Number) -> Number {
    /// Every whole number up to this one is a fraction of protobuf.
    const WHOLE_MAX: f64 = 9_007_199_254_740_991.0;
    let fraction = number.as_f64().filter(|_| number.is_f64());
    let whole = fraction.filter(|fraction| fraction.fract() == 0.0 && fraction.abs() <= WHOLE_MAX);
    // A whole number of at most 16 digits is written without an exponent.
    whole.and_then(|whole| format!("{whole:.0}").parse::<i64>().ok()).map_or(number, Number::from)
}

/// The texts and the data of a message, which may have one data part.
fn split(pieces: Vec<Piece>, extended: Option<Value>) -> Result<(Vec<String>, Option<Value>), Errors> {
    let (mut texts, mut data) = (Vec::new(), extended.map(whole));
    for piece in pieces {
        match piece {
            Piece::Text(text) => texts.push(text),
            Piece::Data(value) if data.is_none() => data = Some(value),
            Piece::Data(_) => {
                return Err(vec![FieldError::new("message.parts", "count", "must have at most one part with data")]);
            }
        }
    }
    Ok((texts, data))
}

/// The question of a message: a text is that of a yes or no, and data are the body of the call that asks.
fn question(pieces: Vec<Piece>, extended: Option<Value>) -> Result<SuspendRequest, Errors> {
    let (texts, data) = split(pieces, extended)?;
    let text = texts.join("\n\n");
    let Some(data) = data else {
        let response_type = Some(ResponseType::Confirm);
        return Ok(SuspendRequest { question: text, response_type, ..SuspendRequest::default() });
    };
    let Value::Object(mut members) = data else {
        return Err(vec![FieldError::new("message.parts", "type", "the data of a question must be an object")]);
    };
    match (members.contains_key("question"), texts.is_empty()) {
        (true, false) => {
            return Err(vec![FieldError::new("question", "one", "must stand in the data or in a text, and not in both")]);
        }
        (false, false) => drop(members.insert("question".to_owned(), Value::String(text))),
        (_, true) => {}
    }
    let misspelt = names::misspelt(&members, MEMBERS);
    if !misspelt.is_empty() {
        return Err(misspelt);
    }
    Json(Value::Object(names::inside(members, MEMBERS))).into().map_err(|errors| errors.into_iter().map(in_a_question).collect())
}

/// An error about a member of a question. The words about an unknown member would list the names that the API has.
fn in_a_question(error: FieldError) -> FieldError {
    let is_unknown = error.rule == "unknown";
    let message = if is_unknown { "is no member here".to_owned() } else { error.message };
    FieldError { message, ..error }
}

/// Members of a question whose own members are in camelCase as well; all others are taken as they are.
const MEMBERS: &[&str] = &["retryPolicy", "escalationLadder", "explanation", "quorum", "assignees", "questions", "choices"];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AnswerIn {
    #[serde(default)]
    suspension_id: Option<String>,
    #[serde(deserialize_with = "some")]
    value: Option<Value>,
    #[serde(default)]
    metadata: Option<Map<String, Value>>,
    #[serde(default)]
    responded_by: Option<String>,
    #[serde(default)]
    proposal: Option<Map<String, Value>>,
    #[serde(default)]
    based_on: Option<String>,
}

/// The answer of a message.
fn answer(pieces: Vec<Piece>, extended: Option<Value>, context_id: Option<String>) -> Result<Said, Errors> {
    let (mut texts, data) = split(pieces, extended)?;
    let via = Via::A2a;
    let Some(data) = data else {
        let (Some(text), true) = (texts.pop(), texts.is_empty()) else {
            let message = "an answer is one text or one part with data";
            return Err(vec![FieldError::new("message.parts", "count", message)]);
        };
        return Ok(Said { context_id, ..Said::words(Words::Text(text), via) });
    };
    if !texts.is_empty() {
        let message = "must be one text or one part with data, and not both";
        return Err(vec![FieldError::new("message.parts", UNSUPPORTED, message)]);
    }
    let read = Json(data).into().map_err(|errors| errors.into_iter().map(in_snake).collect::<Errors>());
    let AnswerIn { suspension_id, value, metadata, responded_by, proposal, based_on } = read?;
    let words = Words::Value(value.unwrap_or_default());
    Ok(Said { suspension_id, context_id, words, metadata, responded_by, proposal, based_on, via })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TaskParams {
    #[serde(default)]
    tenant: String,
    id: String,
    #[serde(default, alias = "history_length")]
    history_length: Option<i64>,
}

/// Reads a task.
pub(crate) fn get(given: Value) -> Result<Operation, Error> {
    let TaskParams { tenant, id, history_length } = params(given)?;
    no_tenant(&tenant)?;
    Ok(Operation::Get { id: task_id(&id)?, history: history(history_length, HISTORY_MAX) })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OneTask {
    #[serde(default)]
    tenant: String,
    id: String,
    /// Words of the client about its call, for which this server has no use.
    #[serde(default, rename = "metadata")]
    _metadata: Option<Map<String, Value>>,
}

fn one_task(given: Value) -> Result<IntentId, Error> {
    let OneTask { tenant, id, .. } = params(given)?;
    no_tenant(&tenant)?;
    task_id(&id)
}

/// Cancels a task.
pub(crate) fn cancel(given: Value) -> Result<Operation, Error> {
    Ok(Operation::Cancel { id: one_task(given)? })
}

/// Follows a task.
pub(crate) fn subscribe(given: Value) -> Result<Operation, Error> {
    Ok(Operation::Subscribe { id: one_task(given)? })
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ListParams {
    tenant: String,
    #[serde(alias = "context_id")]
    context_id: String,
    status: Option<String>,
    #[serde(alias = "page_size")]
    page_size: Option<i64>,
    #[serde(alias = "page_token")]
    page_token: String,
    #[serde(alias = "history_length")]
    history_length: Option<i64>,
    #[serde(alias = "status_timestamp_after")]
    status_timestamp_after: Option<String>,
    #[serde(alias = "include_artifacts")]
    include_artifacts: bool,
}

/// Lists tasks.
pub(crate) fn list(given: Value) -> Result<Operation, Error> {
    let given: ListParams = params(given)?;
    no_tenant(&given.tenant)?;
    let include_artifacts = given.include_artifacts;
    Ok(Operation::List(filter(given), include_artifacts))
}

fn filter(given: ListParams) -> Result<ErrandFilter, Errors> {
    let mut errors = Errors::new();
    let mut wrong = |field: &str, message: String| errors.push(FieldError::new(field, "value", message));
    let fate = match given.status.as_deref() {
        None | Some("TASK_STATE_UNSPECIFIED") => None,
        Some("TASK_STATE_AUTH_REQUIRED") => Some(Fate::Open),
        Some("TASK_STATE_COMPLETED") => Some(Fate::Completed),
        Some("TASK_STATE_FAILED") => Some(Fate::Failed),
        Some("TASK_STATE_CANCELED") => Some(Fate::Withdrawn),
        Some(_) => {
            let states = "TASK_STATE_AUTH_REQUIRED, _COMPLETED, _FAILED or _CANCELED";
            wrong("status", format!("must be {states}: no other state occurs in this list"));
            None
        }
    };
    let limit = match given.page_size.map(u32::try_from) {
        None => PAGE_DEFAULT,
        Some(Ok(size)) if (1..=PAGE_MAX).contains(&size) => size,
        Some(Ok(_) | Err(_)) => {
            wrong("pageSize", format!("must be 1 to {PAGE_MAX}"));
            PAGE_DEFAULT
        }
    };
    let token = Some(given.page_token).filter(|token| !token.is_empty());
    let before = token
        .map(|token| Some(token).filter(|token| token.len() <= TOKEN_BYTES_MAX).and_then(|token| token.parse().ok()).ok_or(()));
    if before == Some(Err(())) {
        wrong("pageToken", "must be the nextPageToken of an earlier page of this list".to_owned());
    }
    let since = given.status_timestamp_after.as_deref().map(|text| domain::base::time::parse(text).ok_or(()));
    if since == Some(Err(())) {
        wrong("statusTimestampAfter", "must be a time such as 2026-11-24T08:00:00Z".to_owned());
    }
    let context_id = Some(given.context_id).filter(|id| !id.is_empty());
    if context_id.as_ref().is_some_and(|id| !is_foreign_id(id)) {
        wrong("contextId", "must be at most 200 characters, none of them a control character".to_owned());
    }
    let messages = history(given.history_length, 0).unwrap_or_else(|error| {
        errors.extend(error);
        0
    });
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(ErrandFilter { context_id, fate, since: since.and_then(Result::ok), before: before.and_then(Result::ok), limit, messages })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(parts: &Value, more: &Value) -> Value {
        let mut message = json!({"messageId": "m", "role": "ROLE_USER", "parts": parts});
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"message": message})
    }

    fn asks(parts: &Value) -> Result<SuspendRequest, Errors> {
        let Operation::Send { sent, .. } = send(message(parts, &json!({})), false).unwrap() else { panic!("it is no message") };
        let Content::Asks(asks) = sent.content else { panic!("it asks nothing") };
        asks.map(|asks| *asks)
    }

    fn answers(parts: &Value, more: Value) -> Result<Said, Errors> {
        let mut with_task = more;
        with_task["taskId"] = json!("01a20114-994c-7e8e-b24b-975054fd6315");
        let Operation::Send { sent, .. } = send(message(parts, &with_task), false).unwrap() else { panic!("it is no message") };
        let Content::Answers(_, answers) = sent.content else { panic!("it answers nothing") };
        answers
    }

    #[test]
    fn a_text_asks_for_a_yes_or_a_no() {
        let asked = asks(&json!([{"text": "Deploy?"}])).unwrap();
        assert_eq!((&*asked.question, asked.response_type), ("Deploy?", Some(ResponseType::Confirm)));
        assert_eq!(asks(&json!([{"text": "a"}, {"text": "b", "mediaType": "text/plain"}])).unwrap().question, "a\n\nb");
    }

    /// Protobuf has only fractions, so the official client sends 600.0.
    #[test]
    fn data_are_the_body_of_the_call_that_asks() {
        let data = json!({"responseType": "choice", "timeoutSeconds": 600.0, "channelHint": "email",
            "choices": [{"value": "a", "label": "A"}], "context": {"orderId": 5.0, "deeperThings": {"snake_too": 1.5}},
            "retryPolicy": {"maxAttempts": 2.0, "intervalSeconds": 60, "escalationLadder": [{"attempt": 2, "notifyTo": ["a@b.example"]}]},
            "explanation": {"whatHappens": "x"}});
        let asked = asks(&json!([{"text": "Which?"}, {"data": data, "mediaType": "application/json"}])).unwrap();
        assert_eq!(
            (&*asked.question, asked.timeout_seconds, asked.response_type),
            ("Which?", Some(600), Some(ResponseType::Choice))
        );
        let context = json!(asked.context);
        assert_eq!(context, json!({"orderId": 5, "deeperThings": {"snake_too": 1.5}}), "an agent's own data stay as they are");
        let policy = asked.retry_policy.unwrap();
        assert_eq!((policy.max_attempts, policy.interval_seconds), (Some(2), Some(60)));
        assert_eq!(asked.explanation.unwrap().what_happens.as_deref(), Some("x"));
    }

    #[test]
    fn a_question_stands_in_one_place_and_has_known_members() {
        let field = |parts: Value| names::in_camel(asks(&parts).unwrap_err().remove(0)).field;
        assert_eq!(field(json!([{"text": "a"}, {"data": {"question": "b"}}])), "question");
        assert_eq!(field(json!([{"data": {"question": "b", "timeout_seconds": 5}}])), "timeout_seconds");
        assert_eq!(field(json!([{"data": {"question": "b", "timeoutSecond": 5}}])), "timeoutSecond");
        assert_eq!(field(json!([{"data": {"question": "b", "timeoutSeconds": "5"}}])), "timeoutSeconds");
        let choice = |choice: Value| field(json!([{"data": {"question": "b", "responseType": "choice", "choices": [choice]}}]));
        assert_eq!(choice(json!({"value": "a", "label": "A", "is_x": 1})), "choices[0].is_x");
        assert_eq!(choice(json!({"value": "a", "label": "A", "isX": 1})), "choices[0].isX");
        assert_eq!(choice(json!({"value": "a", "label": "A", "": 1})), "choices[0].\"\"");
        assert_eq!(field(json!([{"data": {"question": "b", "": 1}}])), "\"\"");
        let two = json!([{"data": {"question": "b", "retryPolicy": {"max_attempts": 1}, "response_type": "text"}}]);
        let mut places: Vec<String> = asks(&two).unwrap_err().into_iter().map(|error| names::in_camel(error).field).collect();
        places.sort();
        assert_eq!(places, ["response_type", "retryPolicy.max_attempts"], "all of them are told");
        assert_eq!(field(json!([{"data": {}}, {"data": {}}])), "message.parts");
        assert_eq!(field(json!([{"data": "question"}])), "message.parts");
    }

    #[test]
    fn an_answer_is_one_text_or_one_value() {
        let text = answers(&json!([{"text": " Yes "}]), json!({"contextId": "c"})).unwrap();
        assert_eq!((text.words, text.context_id.as_deref(), text.via), (Words::Text(" Yes ".into()), Some("c"), Via::A2a));
        let data =
            answers(&json!([{"data": {"value": 5.0, "suspensionId": "s", "metadata": {"comment": "x"}}}]), json!({})).unwrap();
        assert_eq!((data.words, data.suspension_id.as_deref()), (Words::Value(json!(5)), Some("s")));
        let named = answers(&json!([]), json!({"metadata": {QUESTION: {"value": "no"}}})).unwrap();
        assert_eq!(named.words, Words::Value(json!("no")));
        for wrong in [
            json!([]),
            json!([{"text": "a"}, {"text": "b"}]),
            json!([{"text": "a"}, {"data": {"value": 1}}]),
            json!([{"data": {"suspensionId": "s"}}]),
            json!([{"data": {"value": 1, "by": "me"}}]),
        ] {
            assert!(answers(&wrong, json!({})).is_err(), "{wrong}");
        }
        let misspelt = answers(&json!([{"data": {"value": 1, "based_on": "x"}}]), json!({})).unwrap_err().remove(0);
        assert_eq!(names::in_camel(misspelt).field, "based_on");
    }

    #[test]
    fn a_call_that_breaks_a_rule_is_refused_by_its_own_code() {
        let code = |given: Value| send(given, false).unwrap_err().code;
        let text = || json!([{"text": "a"}]);
        for (more, wanted) in [
            (json!({"role": "ROLE_AGENT"}), -32602),
            (json!({"messageId": ""}), -32602),
            (json!({"messageId": "m".repeat(201)}), -32602),
            (json!({"contextId": "c".repeat(201)}), -32602),
            (json!({"referenceTaskIds": ["t"]}), -32602),
            (json!({"taskId": "no-such-task"}), -32001),
        ] {
            assert_eq!(code(message(&text(), &more)), wanted, "{more}");
        }
        for (parts, wanted) in [
            (json!([{"raw": "aGk=", "mediaType": "text/plain"}]), -32005),
            (json!([{"url": "https://a.example/b"}]), -32005),
            (json!([{"text": "a", "mediaType": "text/html"}]), -32005),
            (json!([{"data": {}, "mediaType": "text/plain"}]), -32005),
            (json!([{"text": "a", "data": {}}]), -32602),
            (json!([{}]), -32602),
            (json!([{"text": 5}]), -32602),
        ] {
            assert_eq!(code(message(&parts, &json!({}))), wanted, "{parts}");
        }
        let configured = |configuration: Value| {
            let mut given = message(&text(), &json!({}));
            given["configuration"] = configuration;
            send(given, false)
        };
        let push = json!({"taskPushNotificationConfig": {"url": "https://a.example"}});
        assert!(matches!(configured(push), Ok(Operation::Send { sent, .. }) if sent.push.is_some()));
        let push = json!({"taskPushNotificationConfig": {"url": 5}});
        assert_eq!(configured(push).unwrap_err().code, -32602);
        assert_eq!(configured(json!({"acceptedOutputModes": ["image/png"]})).unwrap_err().code, -32005);
        assert_eq!(configured(json!({"historyLength": 1_001})).unwrap_err().code, -32602);
        assert_eq!(configured(json!({"historyLength": -1})).unwrap_err().code, -32602);
        assert!(
            configured(json!({"historyLength": 1_000, "acceptedOutputModes": ["text/plain"], "returnImmediately": true})).is_ok()
        );
    }

    #[test]
    fn a_list_is_filtered_by_what_occurs_in_it() {
        let filtered = |given: Value| {
            let Operation::List(filter, _) = list(given).unwrap() else { panic!("it lists nothing") };
            filter
        };
        let all = filtered(json!({})).unwrap();
        assert_eq!((all.limit, all.messages, all.fate, all.context_id), (PAGE_DEFAULT, 0, None, None));
        let some = filtered(
            json!({"status": "TASK_STATE_CANCELED", "pageSize": 100, "pageToken": "5-01a20114-994c-7e8e-b24b-975054fd6315", "contextId": "c",
            "statusTimestampAfter": "2026-11-24T08:00:00Z", "historyLength": 1_000, "includeArtifacts": true}),
        );
        let some = some.unwrap();
        assert_eq!(
            (some.limit, some.fate, some.before.map(|place| place.to_string())),
            (100, Some(Fate::Withdrawn), Some("5-01a20114-994c-7e8e-b24b-975054fd6315".into()))
        );
        for (wrong, field) in [
            (json!({"status": "TASK_STATE_WORKING"}), "status"),
            (json!({"pageSize": 0}), "pageSize"),
            (json!({"pageSize": 101}), "pageSize"),
            (json!({"pageToken": "x"}), "pageToken"),
            (json!({"pageToken": "5-7"}), "pageToken"),
            (json!({"pageToken": "9".repeat(200)}), "pageToken"),
            (json!({"pageToken": format!("5-{}", "0".repeat(99))}), "pageToken"),
            (json!({"statusTimestampAfter": "yesterday"}), "statusTimestampAfter"),
            (json!({"historyLength": 1_001}), "historyLength"),
            (json!({"contextId": "a\u{0}b"}), "contextId"),
            (json!({"contextId": "c".repeat(201)}), "contextId"),
        ] {
            assert_eq!(filtered(wrong.clone()).unwrap_err()[0].field, field, "{wrong}");
        }
    }
}
