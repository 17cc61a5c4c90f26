//! A question and the type of its answer.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use domain::asking::engagement::EngagementDecision;
use domain::base::field::FieldError;
use domain::base::ids::{IntentId, SuspensionId};
use domain::form::Schema;
use domain::suspension::proposal;
use domain::suspension::retry::{INTERVAL_SECONDS_MAX, PartialRetryPolicy};
use domain::suspension::{FallbackPolicy, Resolution, ResponseType, WINDOW_SECONDS_MAX};
use domain::wire::{SuspendRequest, SuspensionRecord};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::choice::{Choice, Choices};
use crate::demand::{demanding, object};
use crate::key::Key;
use crate::problem::Problem;
use crate::seconds::whole_seconds;
use crate::several;

/// A question to a person, and the type `T` of its answer.
///
/// It is made by [`Question::choice`], [`Question::choices`], [`Question::confirm`], [`Question::text`] or [`Question::form`],
/// and asked with [`Client::request_input`](crate::Client::request_input).
///
/// The server refuses a question that breaks a limit named below (`Refused` with `invalid`, and the fields in
/// [`Problem::errors`](crate::Problem::errors)). The question itself is 1 byte to 4 KiB, everything together at most 256 KiB.
///
/// Neither the question nor its context may hold secrets or personal data, unless the channel is encrypted end to end
/// (RFC-0025 §11).
///
/// ```
/// # use placet::{Explanation, Question, Reversibility};
/// let question = Question::confirm("Delete the old backups?")
///     .explanation(Explanation {
///         what_happens: Some("312 files older than a year are deleted.".into()),
///         rollback: Some("None: the files have no other copy.".into()),
///         ..Explanation::default()
///     })
///     .reversibility(Reversibility::Irreversible)
///     .question_key("backups.delete");
/// ```
///
/// # Asking twice is asking once
///
/// A question is asked under an idempotency key. Asking again under the same key, after a crash, after a lost connection or from
/// another process of the same agent, finds the question asked before and waits for it, or returns its answer if it has one.
///
/// * By default the key is derived from the intent and all fields of the question: the same question on the same intent *is* the
///   same question, even after it was answered. To make it different, name the difference in the context (an order number, a
///   batch), or use [`again`](Question::again) to ask exactly the same question once more.
///   [`Answer::replayed`](crate::Answer::replayed) tells whether the question had ended before this call.
/// * If the wording comes from a language model or holds a time, it is different after every restart. Then give the question a
///   name of its own with [`idempotency_key`](Question::idempotency_key).
///
/// The question as it was first asked counts: its words, its people, its deadline. A later call may use other words under a key
/// of your own, and another [default policy](crate::ClientBuilder::default_retry_policy) of the client under any key. But an
/// answer must have the same meaning for both calls. So the SDK refuses (`idempotency_mismatch`) another kind of answer, other
/// values to choose from, another fallback while no person has answered, another intent, and a question that
/// [`supersedes`](Question::supersedes) the one that the key names. [`Answer::question`](crate::Answer::question) has the words
/// that the person read.
#[must_use = "a question reaches no person until it is asked"]
pub struct Question<T> {
    pub(crate) request: SuspendRequest,
    key: Key,
    codec: Codec<T>,
    pub(crate) errors: Vec<FieldError>,
}

/// How the answers of one kind of question are read and written.
struct Codec<T> {
    read: fn(&Value) -> Result<T, String>,
    write: fn(&T) -> Result<Value, String>,
}

// The constructors sit on `Question<()>` so that `Question::confirm("…")` needs no annotation and
// `Question::choice::<Decision>("…")` takes exactly one.
impl Question<()> {
    /// Asks to select one of the values of `C` (RFC-0025 §4.1); `C` may have at most 50 values.
    pub fn choice<C: Choices>(question: impl Into<String>) -> Question<C> {
        let offered = C::choices().into_iter().map(|(_, choice)| choice);
        let codec = Codec { read: read_choice, write: write_choice };
        Question::new(question, ResponseType::Choice, codec).offering(offered)
    }

    /// Asks to select one of `choices`, at most 50, which are known only at run time; the answer is the value of the choice.
    pub fn choices(question: impl Into<String>, choices: impl IntoIterator<Item = Choice>) -> Question<String> {
        let codec = Codec { read: read_text, write: write_text };
        Question::new(question, ResponseType::Choice, codec).offering(choices)
    }

    /// Asks for yes (`true`) or no (`false`).
    pub fn confirm(question: impl Into<String>) -> Question<bool> {
        let codec = Codec { read: read_confirm, write: |yes| Ok(if *yes { "yes" } else { "no" }.into()) };
        Question::new(question, ResponseType::Confirm, codec)
    }

    /// Asks for free text; the answer is never empty and at most 16 KiB.
    pub fn text(question: impl Into<String>) -> Question<String> {
        Question::new(question, ResponseType::Text, Codec { read: read_text, write: write_text })
    }

    /// Asks for fields: those of a [schema](Question::schema), or else those that the [context](Question::context) names
    /// (RFC-0025 §4.1).
    ///
    /// The server checks an answer by the schema. Without one it passes the values through unchanged, and an answer that is no `F` is
    /// [`InvalidAnswer`](crate::RequestInputError::InvalidAnswer).
    pub fn form<F: Serialize + DeserializeOwned>(question: impl Into<String>) -> Question<F> {
        let codec = Codec {
            read: |raw| F::deserialize(raw).map_err(|error| error.to_string()),
            write: |value| serde_json::to_value(value).map_err(|error| error.to_string()),
        };
        Question::new(question, ResponseType::Form, codec)
    }
}

impl Question<bool> {
    /// Sets the labels of the two answers; without it they are "Yes" and "No".
    pub fn labels(self, yes: impl Into<String>, no: impl Into<String>) -> Self {
        self.offering([Choice::new("yes", yes), Choice::new("no", no)])
    }
}

demanding!(Question<T>);

impl<T> Question<T> {
    fn new(question: impl Into<String>, response_type: ResponseType, codec: Codec<T>) -> Self {
        let request =
            SuspendRequest { question: question.into(), response_type: Some(response_type), ..SuspendRequest::default() };
        Self { request, key: Key::default(), codec, errors: Vec::new() }
    }

    fn offering(mut self, choices: impl IntoIterator<Item = Choice>) -> Self {
        self.request.choices = Some(choices.into_iter().map(|choice| choice.0).collect());
        self
    }

    /// Shows the person one more fact for the decision; all of them together are at most 64 KiB of JSON.
    pub fn context(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.request.context.get_or_insert_default().insert(key.into(), value.into());
        self
    }

    /// Declares the JSON Schema (draft 2020-12) of the answer to a [form](Question::form), at most 16 KiB: people see its properties as
    /// fields, and the server takes no answer that breaks it.
    ///
    /// The server refuses a schema that it cannot show as fields, and names the place by a JSON pointer. The schema is an object of strings,
    /// numbers, booleans, enums and lists of enums, with objects one level deep.
    pub fn schema(mut self, schema: Value) -> Self {
        self.request.schema = object(&mut self.errors, "schema", schema);
        self
    }

    /// Prefers a channel, for example `email`; at most 200 characters. The server warns about a channel that it does not have, or
    /// refuses the question.
    pub fn channel_hint(mut self, channel: impl Into<String>) -> Self {
        self.request.channel_hint = Some(channel.into());
        self
    }

    /// Needs a comment from a person who refuses: the answer then has it in its metadata, as `comment`. The server refuses this for a
    /// question without a choice whose value or label means a no.
    pub fn comment_on_refusal(mut self) -> Self {
        self.request.comment_on_refusal = Some(true);
        self
    }

    /// Asks these 1 to 20 people instead of the server's default operators; the server must allow their addresses.
    pub fn notify_to(mut self, addresses: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.request.notify_to = Some(addresses.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the window of one attempt, 1 second to 366 days; without it, and without a retry policy on any level, the question
    /// waits for ever.
    ///
    /// The server counts in whole seconds. A time with a fraction of a second, or beyond the limits, is not rounded: asking is
    /// refused before anything is sent (`Refused` with `invalid`, field `timeout_seconds`, rule `whole_seconds` or `range`).
    ///
    /// ```
    /// # use std::time::Duration;
    /// let question = placet::Question::confirm("Deploy?").timeout(Duration::from_mins(10));
    /// ```
    pub fn timeout(mut self, time: Duration) -> Self {
        match whole_seconds("timeout_seconds", time, WINDOW_SECONDS_MAX) {
            Ok(seconds) => self.request.timeout_seconds = Some(seconds),
            Err(error) => self.errors.push(error),
        }
        self
    }

    /// The same as [`timeout`](Question::timeout) in seconds, for programs that read the number from their configuration: 1 to
    /// 31,622,400. The server checks it.
    pub fn timeout_seconds(mut self, seconds: u32) -> Self {
        self.request.timeout_seconds = Some(seconds);
        self
    }

    /// Uses `value` if no person answers (`complete_with_fallback`, RFC-0025 §6). It arrives as [`Source::Fallback`], never as a
    /// person's answer.
    ///
    /// It must be a valid answer, at most 16 KiB of JSON, and the question needs a deadline. The operator of the server may
    /// forbid fallbacks or ask for a longer window; and by default a fallback counts only if a person was reached.
    ///
    /// [`Source::Fallback`]: crate::Source::Fallback
    pub fn fallback(mut self, value: impl Into<T>) -> Self {
        match (self.codec.write)(&value.into()) {
            Ok(value) => {
                self.request.fallback_policy = Some(FallbackPolicy::CompleteWithFallback);
                self.request.fallback_value = Some(value);
            }
            Err(reason) => self.errors.push(FieldError::new("fallback_value", "answer", reason)),
        }
        self
    }

    /// Sets the policy itself; [`fallback`](Question::fallback) and [`fail`](Question::fail) are shorter.
    pub fn fallback_policy(mut self, policy: FallbackPolicy) -> Self {
        self.request.fallback_policy = Some(policy);
        self
    }

    /// Abandons the intent if no person answers, even if a default sets a fallback.
    pub fn fail(mut self) -> Self {
        self.request.fallback_policy = Some(FallbackPolicy::Fail);
        self.request.fallback_value = None;
        self
    }

    /// Reminds and escalates (RFC-0026): 1 to 20 attempts, an interval of 1 to 2,592,000 seconds (30 days), all of them within
    /// 366 days. Fields that it leaves out come from the agent's default, then from the server's.
    pub fn retry_policy(mut self, policy: PartialRetryPolicy) -> Self {
        self.request.retry_policy = Some(policy);
        self
    }

    /// Asks people up to `max_attempts` times (1 to 20), `interval` apart (1 second to 30 days). This is the short form of
    /// [`retry_policy`](Question::retry_policy); if that was called before, its other fields stay as they are.
    ///
    /// An interval with a fraction of a second, or beyond the limits, is refused as a [`timeout`](Question::timeout) is.
    pub fn attempts(mut self, max_attempts: u32, interval: Duration) -> Self {
        match whole_seconds("retry_policy.interval_seconds", interval, INTERVAL_SECONDS_MAX) {
            Ok(seconds) => {
                let policy = self.request.retry_policy.get_or_insert_default();
                (policy.max_attempts, policy.interval_seconds) = (Some(max_attempts), Some(seconds));
            }
            Err(error) => self.errors.push(error),
        }
        self
    }

    /// Records the engagement decision that led to this question.
    pub fn decision(mut self, decision: &EngagementDecision) -> Self {
        match serde_json::to_value(decision) {
            Ok(Value::Object(decision)) => self.request.decision_record = Some(decision),
            Ok(_) | Err(_) => self.errors.push(FieldError::new("decision_record", "type", "must be a JSON object")),
        }
        self
    }

    /// Replaces a question that is still open; a program that waits for the replaced question learns that it was superseded.
    pub fn supersedes(mut self, suspension_id: SuspensionId) -> Self {
        self.request.supersedes = Some(suspension_id.expose());
        self
    }

    /// Names this question, in 1 to 255 printable ASCII characters without spaces, so that it is found again whatever its words.
    /// One key is one question of one agent on one intent, for as long as the question is kept; [`Question`] tells which changes
    /// are refused. An intent's own key ([`CreateIntent::idempotency_key`](crate::CreateIntent::idempotency_key)) finds the
    /// intent for 24 hours.
    ///
    /// Replaces [`again`](Question::again).
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.key = Key::Given(key.into());
        self
    }

    /// Asks once more a question that was asked before: `occasion` distinguishes the two, and finds this one again after a crash.
    ///
    /// Replaces [`idempotency_key`](Question::idempotency_key).
    pub fn again(mut self, occasion: impl Into<String>) -> Self {
        self.key = Key::Derived { occasion: Some(occasion.into()) };
        self
    }

    /// How the answer is read.
    pub(crate) fn reader(&self) -> fn(&Value) -> Result<T, String> {
        self.codec.read
    }

    /// The request that would be sent, for a preview.
    pub(crate) fn into_request(mut self, agent: Option<&PartialRetryPolicy>) -> Result<SuspendRequest, Box<Problem>> {
        cascade(&mut self.request, agent);
        if self.errors.is_empty() { Ok(self.request) } else { Err(Box::new(Problem::invalid(self.errors))) }
    }

    /// The request to be sent, its key, and the reader of its answer.
    pub(crate) fn prepare(
        mut self,
        intent_id: IntentId,
        agent: Option<&PartialRetryPolicy>,
    ) -> Result<Prepared<T>, Box<Problem>> {
        // The key covers only the question's own fields, so that a client with another default policy finds the same question.
        cascade(&mut self.request, None);
        let key = self.key.header(intent_id, &self.request).map_err(|error| self.errors.push(error));
        cascade(&mut self.request, agent);
        match key {
            Ok(key) if self.errors.is_empty() => Ok(Prepared { intent_id, request: self.request, key, read: self.codec.read }),
            Ok(_) | Err(()) => Err(Box::new(Problem::invalid(self.errors))),
        }
    }
}

/// A question ready to be sent.
pub(crate) struct Prepared<T> {
    pub(crate) intent_id: IntentId,
    pub(crate) request: SuspendRequest,
    pub(crate) key: reqwest::header::HeaderValue,
    pub(crate) read: fn(&Value) -> Result<T, String>,
}

impl<T> Prepared<T> {
    /// Whether `asked`, which was asked under this key, is this question in other words: an answer to it, or silence, must have
    /// the same meaning for both.
    pub(crate) fn is(&self, asked: &SuspensionRecord) -> bool {
        let Self { intent_id, request, .. } = self;
        let offered: BTreeSet<&str> = request.choices.iter().flatten().map(|choice| choice.value.as_str()).collect();
        let recorded: BTreeSet<&str> = asked.choices.iter().map(|choice| choice.value.as_str()).collect();
        let answers_alike = request.response_type == Some(asked.response_type)
            && (asked.response_type != ResponseType::Choice || offered == recorded)
            && several::is_schema_of(request, asked.schema.as_deref())
            && request.editable.as_ref() == asked.editable.as_deref().map(Schema::members)
            && is_same(request.proposal.as_ref(), asked.original_proposal.as_ref().or(asked.proposal.as_ref()));
        // Silence has the same meaning for both in three cases: a person has answered the recorded question, the recorded
        // question has no fallback, or it has the fallback of this one. Otherwise a program that allows no fallback could take
        // the recorded fallback for the answer of a person.
        let silence_alike = asked.resolution == Some(Resolution::Responded)
            || asked.fallback_policy == FallbackPolicy::Fail
            || asked.fallback_value == request.fallback_value;
        // A question that replaces the one that the key names is another question.
        let replaces = request.supersedes.as_ref() == Some(&asked.id.expose());
        *intent_id == asked.intent_id && answers_alike && silence_alike && !replaces
    }
}

/// Whether two questions propose the same action, or both none.
fn is_same(one: Option<&Map<String, Value>>, other: Option<&Map<String, Value>>) -> bool {
    one.zip(other).map_or(one.is_none() && other.is_none(), |(one, other)| proposal::is_same(one, other))
}

/// Merges the agent's level of the cascade into the call (RFC-0026): the call wins, field by field.
///
/// A call that sets `timeout_seconds` but no retry policy gets a single attempt: the agent's policy is not merged into it, and
/// the server's is not either.
fn cascade(request: &mut SuspendRequest, agent: Option<&PartialRetryPolicy>) {
    let policy = match (request.retry_policy.take(), request.timeout_seconds, agent) {
        (None, _, None) | (None, Some(_), Some(_)) => return,
        (policy, _, _) => policy.unwrap_or_default(),
    };
    // In a call with a policy, `fallback_policy` is another name for `final_fallback_policy` (RFC-0025 §5), so it wins over that
    // field of the agent's and the server's defaults.
    let called = PartialRetryPolicy { final_fallback_policy: policy.final_fallback_policy.or(request.fallback_policy), ..policy };
    request.retry_policy = Some(match agent {
        Some(agent) => called.over(agent, request.timeout_seconds, request.fallback_value.as_ref()),
        None => called,
    });
}

impl<T> fmt::Debug for Question<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The context and the id of the superseded question are left out, because they are not for logs.
        f.debug_struct("Question")
            .field("question", &self.request.question)
            .field("response_type", &self.request.response_type)
            .finish_non_exhaustive()
    }
}

fn read_choice<C: Choices>(raw: &Value) -> Result<C, String> {
    let listed = |choice: &Choice| raw.as_str() == Some(choice.0.value.as_str());
    let found = C::choices().into_iter().find(|(_, choice)| listed(choice));
    found.map(|(value, _)| value).ok_or_else(|| "it is none of the type's choices".to_owned())
}

fn write_choice<C: Choices>(value: &C) -> Result<Value, String> {
    let found = C::choices().into_iter().find(|(listed, _)| listed == value);
    found.map(|(_, choice)| choice.0.value.into()).ok_or_else(|| "must be one of the choices".to_owned())
}

pub(crate) fn read_text(raw: &Value) -> Result<String, String> {
    raw.as_str().map(str::to_owned).ok_or_else(|| "it is no text".to_owned())
}

#[expect(clippy::ptr_arg, clippy::unnecessary_wraps, reason = "all codecs have one signature")]
fn write_text(text: &String) -> Result<Value, String> {
    Ok(text.as_str().into())
}

fn read_confirm(raw: &Value) -> Result<bool, String> {
    match raw.as_str() {
        Some("yes") => Ok(true),
        Some("no") => Ok(false),
        Some(_) | None => Err("it is neither yes nor no".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use domain::suspension::assignees::AssignedRole;
    use domain::suspension::retry::Rung;
    use serde_json::json;

    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Door {
        Open,
        Shut,
        Ajar,
    }

    impl Choices for Door {
        fn choices() -> Vec<(Self, Choice)> {
            vec![(Self::Open, Choice::new("open", "Open")), (Self::Shut, Choice::new("shut", "Shut"))]
        }
    }

    fn sent<T>(question: Question<T>, agent: Option<&PartialRetryPolicy>) -> Value {
        serde_json::to_value(question.prepare(INTENT, agent).ok().unwrap().request).unwrap()
    }

    const INTENT: IntentId = IntentId(uuid::Uuid::from_u128(7));

    #[test]
    fn every_word_of_the_builder_is_sent() {
        let superseded = SuspensionId(uuid::Uuid::from_u128(9));
        let question = Question::choice::<Door>("Which?")
            .context("order_id", "12345")
            .context("amount", 499.99)
            .channel_hint("email")
            .require_passkey()
            .assign_to_person("a@example.com")
            .assign_to_group("finance")
            .assign_to_role(AssignedRole::Admin)
            .require_approvals(2)
            .require_refusals(1)
            .require_from_group("finance", 1)
            .notify_to(["a@example.com"])
            .timeout_seconds(60)
            .fallback(Door::Shut)
            .confidence(0.5)
            .supersedes(superseded);
        let expected = json!({
            "question": "Which?", "response_type": "choice",
            "choices": [{"value": "open", "label": "Open"}, {"value": "shut", "label": "Shut"}],
            "context": {"order_id": "12345", "amount": 499.99}, "channel_hint": "email", "notify_to": ["a@example.com"],
            "timeout_seconds": 60, "fallback_policy": "complete_with_fallback", "fallback_value": "shut", "confidence": 0.5,
            "supersedes": superseded.expose(), "required_assurance": "passkey",
            "assignees": {"people": ["a@example.com"], "groups": ["finance"], "roles": ["admin"]},
            "quorum": {"required_approvals": 2, "required_refusals": 1, "required_by_group": {"finance": 1}},
        });
        assert_eq!(sent(question, None), expected);
        let confirm = sent(Question::confirm("Go?").labels("Go", "Stay").fallback(false), None);
        assert_eq!(confirm["fallback_value"], json!("no"));
        assert_eq!(confirm["choices"][0], json!({"value": "yes", "label": "Go"}));
        let failing = sent(Question::text("Why?").fallback("because").fail(), None);
        assert_eq!(failing, json!({"question": "Why?", "response_type": "text", "fallback_policy": "fail"}));
        let schema = json!({"type": "object", "properties": {"cap": {"type": "integer"}}});
        let form = sent(Question::form::<Value>("Which?").schema(schema.clone()), None);
        assert_eq!(form, json!({"question": "Which?", "response_type": "form", "schema": schema}));
        let problem = Question::form::<Value>("Which?").schema(json!([])).prepare(INTENT, None).err().unwrap();
        assert_eq!(problem.errors[0].field, "schema");
    }

    #[test]
    fn what_cannot_be_written_is_refused_before_it_is_sent() {
        let question = Question::choice::<Door>("Which?").fallback(Door::Ajar).confidence(f64::NAN).idempotency_key("a\nb");
        let problem = question.prepare(INTENT, None).err().unwrap();
        let fields: Vec<&str> = problem.errors.iter().map(|error| error.field.as_str()).collect();
        assert_eq!(fields, ["fallback_value", "confidence", "idempotency_key"]);
    }

    /// A time that is not a whole number of seconds, the only unit of the wire, is refused. If the time were rounded, the
    /// deadline would be another one than in the program.
    #[test]
    fn a_time_is_sent_in_seconds_or_not_at_all() {
        let day = Duration::from_hours(24);
        let longest = Question::confirm("Go?").timeout(366 * day).attempts(2, 30 * day);
        let policy = json!({"max_attempts": 2, "interval_seconds": 2_592_000});
        let expected =
            json!({"question": "Go?", "response_type": "confirm", "timeout_seconds": 31_622_400, "retry_policy": policy});
        assert_eq!(sent(longest, None), expected);
        let same = (sent(Question::text("?").timeout(day), None), sent(Question::text("?").timeout_seconds(86_400), None));
        assert_eq!(same.0, same.1, "the same question has one form, or it would not be found again");

        let second = Duration::from_secs(1);
        for (time, interval, rule) in [
            (366 * day + second, 30 * day + second, "range"),
            (Duration::ZERO, Duration::ZERO, "range"),
            (Duration::from_millis(1500), Duration::from_millis(500), "whole_seconds"),
        ] {
            let question = Question::confirm("Go?").timeout(time).attempts(2, interval);
            let problem = question.prepare(INTENT, None).err().unwrap();
            let broken: Vec<_> = problem.errors.iter().map(|error| (error.field.as_str(), error.rule.as_str())).collect();
            assert_eq!(broken, [("timeout_seconds", rule), ("retry_policy.interval_seconds", rule)]);
            let previewed = Question::confirm("Go?").timeout(time).into_request(None);
            assert_eq!(previewed.unwrap_err().errors.len(), 1);
        }
        // Other fields of a policy stay.
        let fail = PartialRetryPolicy { final_fallback_policy: Some(FallbackPolicy::Fail), ..PartialRetryPolicy::default() };
        let question = Question::confirm("Go?").retry_policy(fail).attempts(3, second);
        assert_eq!(sent(question, None)["retry_policy"]["final_fallback_policy"], json!("fail"));
    }

    #[test]
    fn answers_are_read_as_their_type_and_nothing_else() {
        assert_eq!(read_choice::<Door>(&json!("open")), Ok(Door::Open));
        assert!(read_choice::<Door>(&json!("ajar")).is_err() && read_choice::<Door>(&json!(null)).is_err());
        assert_eq!((read_confirm(&json!("yes")), read_confirm(&json!("no"))), (Ok(true), Ok(false)));
        assert!(read_confirm(&json!(true)).is_err() && read_confirm(&json!("Yes")).is_err());
        assert!(read_text(&json!(5)).is_err());
        let form = Question::form::<Vec<u8>>("How many?");
        assert_eq!((form.codec.read)(&json!([1, 2])), Ok(vec![1, 2]));
        assert!((form.codec.read)(&json!({"a": 1})).is_err());
    }

    #[test]
    fn what_the_agent_says_gives_way_to_what_the_call_says() {
        let rung = |attempt| Rung { attempt, channel_hint: None, notify_to: None };
        let agent = PartialRetryPolicy {
            max_attempts: Some(3),
            interval_seconds: Some(3600),
            escalation_ladder: Some(vec![rung(2), rung(3)]),
            final_fallback_policy: Some(FallbackPolicy::CompleteWithFallback),
            ..PartialRetryPolicy::default()
        };
        let attempts = |max_attempts| PartialRetryPolicy { max_attempts: Some(max_attempts), ..PartialRetryPolicy::default() };
        let policy = |question: Question<bool>| sent(question, Some(&agent))["retry_policy"].clone();
        let ask = || Question::confirm("Go?");
        let twice = policy(ask().timeout_seconds(60).retry_policy(attempts(2)));
        assert_eq!(twice, json!({"max_attempts": 2, "interval_seconds": 60, "escalation_ladder": [{"attempt": 2}]}));
        // The agent's final policy is sent only if the question has a fallback value.
        assert_eq!(policy(ask()).get("final_fallback_policy"), None);
        assert_eq!(policy(ask().fallback(false))["final_fallback_policy"], json!("complete_with_fallback"));
        let explicit = ask().fallback_policy(FallbackPolicy::CompleteWithFallback);
        assert_eq!(policy(explicit)["final_fallback_policy"], json!("complete_with_fallback"), "the call's own mistake");
    }

    #[test]
    fn the_call_outranks_the_agent_field_by_field() {
        let partial = |max_attempts, interval_seconds, final_fallback_policy| PartialRetryPolicy {
            max_attempts,
            interval_seconds,
            final_fallback_policy,
            ..PartialRetryPolicy::default()
        };
        let agent = partial(Some(3), Some(600), Some(FallbackPolicy::Fail));
        let policy = |question: Question<bool>| sent(question, Some(&agent))["retry_policy"].clone();
        let ask = || Question::confirm("Go?");
        let whole = json!({"max_attempts": 3, "interval_seconds": 600, "final_fallback_policy": "fail"});
        assert_eq!(policy(ask()), whole);
        let mixed = policy(ask().retry_policy(partial(Some(5), None, None)));
        assert_eq!(mixed, json!({"max_attempts": 5, "interval_seconds": 600, "final_fallback_policy": "fail"}));
        // A call that sets a timeout but no retry policy gets a single attempt: the agent's retry policy is not sent.
        assert_eq!(policy(ask().timeout_seconds(60)), json!(null));
        // A retry policy of the agent takes its final fallback policy from the call, if the call has a fallback.
        assert_eq!(policy(ask().fallback(false))["final_fallback_policy"], json!("complete_with_fallback"));
        let named = ask().fallback(false).retry_policy(partial(None, None, Some(FallbackPolicy::UseDefaultAndContinue)));
        assert_eq!(policy(named)["final_fallback_policy"], json!("use_default_and_continue"));
        assert_eq!(sent(ask(), None).get("retry_policy"), None);
    }
}
