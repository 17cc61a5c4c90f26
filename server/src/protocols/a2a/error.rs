//! The errors of A2A: one table from what the server refuses to the codes of both bindings.

use domain::base::field::FieldError;
use domain::base::text::visible_line;
use domain::problem::edge;
use domain::suspension::stop_refusal::StopRefusal;
use serde_json::{Map, Value, json};

use super::names::in_camel;
use crate::edge::problem::Failure;
use crate::protocols::jsonrpc::{INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, NoCall, PARSE_ERROR};

/// The domain of the reasons that A2A defines.
const A2A: &str = "a2a-protocol.org";
/// The domain of the reasons that are this server's own.
const OWN: &str = "placet";

/// The vocabulary of a call of an extension for pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Words {
    /// The proposal of 2026-05, with the names of 0.3.
    Proposed,
    /// Its revision of 2026-07, with the names of 1.0.
    Revised,
}

impl Words {
    /// The code of a call that finds the work in a state which does not allow it.
    fn wrong_state(self) -> i32 {
        match self {
            Self::Proposed => -32011,
            Self::Revised => -32010,
        }
    }

    /// The code of a call that names another stop, or came too late.
    fn mismatch(self) -> i32 {
        match self {
            Self::Proposed => -32012,
            Self::Revised => -32011,
        }
    }
}

/// The kinds of calls that give the same refusal different codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wants {
    Cancel,
    /// A call of an extension for pauses.
    Halt(Words),
    Other,
}

/// An error.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Error {
    /// The code of JSON-RPC.
    pub(crate) code: i32,
    /// The status of HTTP+JSON.
    pub(crate) http: u16,
    /// The status of HTTP under JSON-RPC.
    pub(crate) rpc_http: u16,
    /// The word of the status, as HTTP+JSON has it.
    status: &'static str,
    reason: String,
    domain: &'static str,
    message: String,
    /// Boxed, as the errors are, to keep results small.
    metadata: Box<Map<String, Value>>,
    errors: Box<[FieldError]>,
    pub(crate) retry_after: Option<u32>,
}

impl Error {
    /// An error with a message. Programs show the message to people, and it may repeat words of the caller, so nothing in it is hidden.
    fn of((code, http, status): (i32, u16, &'static str), reason: &str, message: impl Into<String>) -> Self {
        Self {
            code,
            http,
            rpc_http: 200,
            status,
            reason: reason.to_owned(),
            domain: A2A,
            message: visible_line(&message.into()),
            metadata: Box::default(),
            errors: Box::default(),
            retry_after: None,
        }
    }

    pub(crate) fn task_not_found() -> Self {
        let message = "there is no such task, or this key may not read it";
        Self::of((-32001, 404, "NOT_FOUND"), "TASK_NOT_FOUND", message)
    }

    pub(crate) fn not_cancelable(message: impl Into<String>) -> Self {
        Self::of((-32002, 400, "FAILED_PRECONDITION"), "TASK_NOT_CANCELABLE", message)
    }

    pub(crate) fn no_push() -> Self {
        let message = "this server sends no push notifications; subscribe to the task, or get it again";
        Self::of((-32003, 400, "FAILED_PRECONDITION"), "PUSH_NOTIFICATION_NOT_SUPPORTED", message)
    }

    pub(crate) fn unsupported(message: impl Into<String>) -> Self {
        Self::of((-32004, 400, "FAILED_PRECONDITION"), "UNSUPPORTED_OPERATION", message)
    }

    pub(crate) fn content_type(message: impl Into<String>) -> Self {
        Self::of((-32005, 400, "INVALID_ARGUMENT"), "CONTENT_TYPE_NOT_SUPPORTED", message)
    }

    pub(crate) fn version(asked: &str) -> Self {
        let message = format!("this server speaks A2A 1.0, and 0.3 over JSON-RPC; it does not speak {asked}");
        Self::of((-32009, 400, "FAILED_PRECONDITION"), "VERSION_NOT_SUPPORTED", message)
    }

    pub(crate) fn no_method(message: impl Into<String>) -> Self {
        Self::of((METHOD_NOT_FOUND, 404, "NOT_FOUND"), "METHOD_NOT_FOUND", message)
    }

    /// Members that break rules. A place is for programs, so it has the name as it was sent.
    pub(crate) fn invalid(errors: Vec<FieldError>) -> Self {
        let said: Vec<String> = errors.iter().map(|error| format!("{}: {}", error.field, error.message)).collect();
        let told = errors.into_iter().map(|error| FieldError { message: visible_line(&error.message), ..error });
        Self { errors: told.collect(), ..Self::of((INVALID_PARAMS, 400, "INVALID_ARGUMENT"), "INVALID_PARAMS", said.join("; ")) }
    }

    /// One member that breaks a rule.
    pub(crate) fn wrong(field: &str, message: impl Into<String>) -> Self {
        Self::invalid(vec![FieldError::new(field, "value", message)])
    }

    /// The error for a call that finds the task in a state that does not allow it.
    fn in_this_state(wants: Wants) -> Self {
        if wants == Wants::Cancel {
            return Self::not_cancelable("only a question that was asked by A2A can be withdrawn, and only while it is open");
        }
        Self::unsupported("the task takes no message now: it has ended, or asks nothing")
    }

    /// The error for a failure of the server, or a refusal of the domain. `wants` says what the call would do.
    pub(crate) fn from(failure: Failure, wants: Wants) -> Self {
        let Failure { entry, detail, more } = failure;
        let own = |shape, rpc_http| Self { domain: OWN, rpc_http, ..Self::of(shape, entry.code, detail.clone()) };
        let told = |error| Self { metadata: Box::new(more.members.clone()), ..error };
        let error = match (entry.code, entry.status) {
            ("not_found", _) => Self::task_not_found(),
            ("not_active" | "not_suspended", _) => match wants {
                Wants::Halt(words) => told(own((words.wrong_state(), 400, "FAILED_PRECONDITION"), 200)),
                Wants::Cancel | Wants::Other => Self::in_this_state(wants),
            },
            // The message that finds the work stopped.
            ("intent_stopped", _) => Self::unsupported(detail),
            // Here the request itself has the wrong type, and no part of a message.
            ("unsupported_media_type", http) => Self { http, ..Self::content_type(detail) },
            ("malformed_json", _) => Self::of((PARSE_ERROR, 400, "INVALID_ARGUMENT"), "PARSE_ERROR", detail),
            ("invalid", _) => Self::invalid(more.errors.iter().cloned().map(in_camel).collect()),
            ("invalid_choice", _) => Self { metadata: Box::new(more.members.clone()), ..Self::wrong("value", detail) },
            ("already_resolved" | "expired" | "suspension_mismatch", _) => match wants {
                Wants::Cancel => Self::not_cancelable(detail),
                Wants::Halt(words) => told(own((words.mismatch(), 409, "ABORTED"), 200)).with_harn_code(),
                Wants::Other => own((-32012, 409, "ABORTED"), 200),
            },
            (_, 401) => own((-32041, 401, "UNAUTHENTICATED"), 401),
            (_, 403) => own((-32043, 403, "PERMISSION_DENIED"), 403),
            (_, 429) => own((-32029, 429, "RESOURCE_EXHAUSTED"), 429),
            ("idempotency_mismatch", _) => {
                let message = "another message of this key had the same messageId; a new message needs a new one";
                Self { message: message.to_owned(), ..own((INVALID_PARAMS, 400, "INVALID_ARGUMENT"), 200) }
            }
            (_, 400 | 412 | 422) => own((INVALID_PARAMS, 400, "INVALID_ARGUMENT"), 200),
            (_, status @ (408 | 413)) => own((INVALID_REQUEST, status, "INVALID_ARGUMENT"), status),
            (_, 405) => own((INVALID_REQUEST, 405, "UNIMPLEMENTED"), 405),
            (_, 409) => own((-32004, 409, "FAILED_PRECONDITION"), 200),
            (_, 503) => own((INTERNAL_ERROR, 503, "UNAVAILABLE"), 503),
            (_, _) => own((INTERNAL_ERROR, 500, "INTERNAL"), 500),
        };
        Self { retry_after: more.retry_after, ..error }
    }

    /// Adds Harn's code to the refusal of a handle. The handle of a question may come with an answer, and a refused answer has no such code.
    fn with_harn_code(mut self) -> Self {
        let refusal = if self.reason == "suspension_mismatch" { StopRefusal::Mismatch } else { StopRefusal::QuestionEnded };
        self.metadata.entry("harn_code").or_insert_with(|| json!(refusal.harn_code()));
        self
    }

    /// The error for a body that is no call.
    pub(crate) fn no_call(no_call: &NoCall) -> Self {
        let reason = if no_call.code == INVALID_PARAMS { "INVALID_PARAMS" } else { "INVALID_REQUEST" };
        Self::of((no_call.code, 400, "INVALID_ARGUMENT"), reason, no_call.why)
    }

    /// The details of the error: the reason, and the members that break rules.
    pub(crate) fn details(&self) -> Value {
        let told = self.metadata.iter().filter(|(_, value)| !value.is_null());
        let info = json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": self.reason,
            "domain": self.domain,
            "metadata": told.map(|(name, value)| (name.clone(), in_text(value))).collect::<Map<_, _>>(),
        });
        if self.errors.is_empty() {
            return json!([info]);
        }
        let violation = |error: &FieldError| json!({ "field": error.field, "description": error.message });
        let violations: Vec<Value> = self.errors.iter().map(violation).collect();
        json!([info, { "@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": violations }])
    }

    /// Whether the server was too busy to look at the request.
    pub(crate) fn turns_away(&self) -> bool {
        self.reason == edge::OVERLOADED.code
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The body under HTTP+JSON.
    pub(crate) fn to_rest(&self) -> Value {
        json!({ "error": { "code": self.http, "status": self.status, "message": self.message, "details": self.details() } })
    }
}

/// The values of an `ErrorInfo` are texts.
fn in_text(value: &Value) -> Value {
    match value {
        Value::String(_) => value.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => Value::String(value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use domain::problem::Rejection;
    use domain::suspension::{Kind, Resolution};

    use super::*;

    /// An agent acts on the code, so each refusal has the one that A2A gives it, and the reason says more.
    #[test]
    fn each_refusal_has_its_code_on_both_bindings() {
        let forbidden = Rejection::Forbidden { reason: "no".into() };
        let not_active = Rejection::NotActive { status: "completed".into() };
        let expired = Rejection::Expired { expired_at: None };
        let nothing = || Rejection::from(StopRefusal::NothingStopped { status: "active".into() });
        let choice = Rejection::InvalidChoice { given: "maybe".into(), valid_choices: vec!["yes".into(), "no".into()] };
        for (rejection, wants, code, http, reason) in [
            (Rejection::NotFound, Wants::Other, -32001, 404, "TASK_NOT_FOUND"),
            (Rejection::NotFound, Wants::Cancel, -32001, 404, "TASK_NOT_FOUND"),
            (not_active.clone(), Wants::Other, -32004, 400, "UNSUPPORTED_OPERATION"),
            (not_active, Wants::Cancel, -32002, 400, "TASK_NOT_CANCELABLE"),
            (Rejection::SelfResponse, Wants::Other, -32043, 403, "self_response"),
            (forbidden, Wants::Cancel, -32043, 403, "forbidden"),
            (Rejection::NotAssigned, Wants::Other, -32043, 403, "not_assigned"),
            (expired.clone(), Wants::Other, -32012, 409, "expired"),
            (expired, Wants::Cancel, -32002, 400, "TASK_NOT_CANCELABLE"),
            (Rejection::SuspensionMismatch, Wants::Other, -32012, 409, "suspension_mismatch"),
            (choice, Wants::Other, -32602, 400, "INVALID_PARAMS"),
            (Rejection::IdempotencyMismatch, Wants::Other, -32602, 400, "idempotency_mismatch"),
            (Rejection::invalid("question", "required", "must not be empty"), Wants::Other, -32602, 400, "INVALID_PARAMS"),
            (Rejection::AskedTooOften { asks_per_hour: 1, retry_after_seconds: 9 }, Wants::Other, -32029, 429, "rate_limited"),
            (Rejection::NotActive { status: "draft".into() }, Wants::Halt(Words::Proposed), -32011, 400, "not_active"),
            (Rejection::NotActive { status: "draft".into() }, Wants::Halt(Words::Revised), -32010, 400, "not_active"),
            (Rejection::Stop(Box::new(StopRefusal::Mismatch)), Wants::Halt(Words::Proposed), -32012, 409, "suspension_mismatch"),
            (Rejection::Stop(Box::new(StopRefusal::Mismatch)), Wants::Halt(Words::Revised), -32011, 409, "suspension_mismatch"),
            (Rejection::Stop(Box::new(StopRefusal::TimeOver)), Wants::Halt(Words::Revised), -32011, 409, "expired"),
            (StopRefusal::QuestionEnded.into(), Wants::Halt(Words::Proposed), -32012, 409, "already_resolved"),
            (StopRefusal::QuestionEnded.into(), Wants::Halt(Words::Revised), -32011, 409, "already_resolved"),
            (nothing(), Wants::Halt(Words::Proposed), -32011, 400, "not_suspended"),
            (nothing(), Wants::Halt(Words::Revised), -32010, 400, "not_suspended"),
            (StopRefusal::HearsNothing { kind: Kind::Paused }.into(), Wants::Other, -32004, 400, "UNSUPPORTED_OPERATION"),
        ] {
            let error = Error::from(rejection.clone().into(), wants);
            assert_eq!((error.code, error.http, &*error.reason), (code, http, reason), "{rejection:?} {wants:?}");
            assert_eq!(error.to_rest()["error"]["details"][0]["reason"], reason);
        }
        let unauthorized = Error::from(crate::edge::auth::unauthorized(), Wants::Other);
        assert_eq!((unauthorized.code, unauthorized.http, unauthorized.rpc_http), (-32041, 401, 401));
    }

    /// A late answer by the handle of a question has the code of a used handle, and says nothing about what is not there.
    #[test]
    fn a_refusal_of_a_handle_has_the_code_of_harn_and_no_empty_member() {
        let resolved = Rejection::AlreadyResolved {
            resolution: Resolution::Responded,
            reason: None,
            resolved_at: DateTime::UNIX_EPOCH,
            resolved_by: Some("ada@example.com".into()),
        };
        let metadata = |rejection: Rejection, wants| Error::from(rejection.into(), wants).details()[0]["metadata"].clone();
        for words in [Words::Proposed, Words::Revised] {
            assert_eq!(
                metadata(resolved.clone(), Wants::Halt(words)),
                json!({"resolution": "responded", "resolved_by": "ada@example.com", "harn_code": "HARN-SUS-003"})
            );
            assert_eq!(
                metadata(Rejection::Expired { expired_at: None }, Wants::Halt(words)),
                json!({"harn_code": "HARN-SUS-003"})
            );
            let foreign = metadata(Rejection::SuspensionMismatch, Wants::Halt(words));
            assert_eq!(foreign, json!({"harn_code": "HARN-SUS-004"}));
            assert_eq!(metadata(StopRefusal::TimeOver.into(), Wants::Halt(words)), json!({"harn_code": "HARN-SUS-006"}));
        }
        assert_eq!(metadata(resolved, Wants::Other), json!({}), "an answer that is no resumption has no code of Harn");
    }

    /// Words of the caller cannot reorder the message that repeats them, hide in it, or begin a line of it.
    #[test]
    fn a_message_shows_what_is_hidden_in_the_names_that_it_repeats() {
        let name = "a\u{202e}b\u{0}\nc";
        let error = Error::invalid(vec![FieldError::new(name, "unknown", format!("{name}: is no member here"))]);
        let shown = "a⟨U+202E⟩b⟨U+0000⟩ c";
        assert_eq!(error.message(), format!("{shown}: {shown}: is no member here"));
        let violation = error.details()[1]["fieldViolations"][0].clone();
        assert_eq!(violation, json!({"field": name, "description": format!("{shown}: is no member here")}));
    }

    #[test]
    fn a_wrong_choice_says_which_ones_there_are() {
        let choice = Rejection::InvalidChoice { given: "maybe".into(), valid_choices: vec!["yes".into(), "no".into()] };
        let details = Error::from(choice.into(), Wants::Other).details();
        assert_eq!(details[0]["metadata"]["valid_choices"], r#"["yes","no"]"#);
        assert_eq!(details[1]["fieldViolations"][0]["field"], "value");
    }
}
