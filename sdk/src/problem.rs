//! The server's words when it refuses or fails, from either of its two error formats.

use std::fmt;

use domain::base::field::FieldError;
use serde_json::{Map, Value};

/// A refusal or a failure in the server's words.
///
/// Match on [`code`](Problem::code): it is stable, the words are not. The code is read from `application/problem+json` and from
/// the OpenIntent form (`{"detail": …, "message": …, "code": …}`); it is empty if a server or proxy sends neither.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// The HTTP status.
    pub status: u16,
    /// The stable code: `not_active`, `version_conflict`, `idempotency_mismatch`, …
    pub code: Option<String>,
    /// A description of the problem, for people.
    pub detail: String,
    /// The fields that break rules.
    pub errors: Vec<FieldError>,
    /// Further members that come with the code: `valid_choices`, `current_version`, `resolution`, …
    pub more: Map<String, Value>,
}

impl Problem {
    /// Reads an error body. Every body leads to a problem that can be reported, so this cannot fail.
    pub(crate) fn read(status: u16, body: &[u8]) -> Self {
        let Ok(Value::Object(mut more)) = serde_json::from_slice(body) else {
            // A proxy's HTML page is of no use to the caller; the status is.
            return Self { status, code: None, detail: format!("HTTP status {status}"), errors: Vec::new(), more: Map::new() };
        };
        for known in ["type", "title", "status"] {
            more.remove(known);
        }
        let code = more.remove("code").and_then(|code| code.as_str().map(str::to_owned));
        let errors =
            more.remove("errors").and_then(|errors| serde_json::from_value::<Vec<FieldError>>(errors).ok()).unwrap_or_default();
        let message = more.remove("message");
        let detail = match more.remove("detail") {
            Some(Value::Object(inner)) => words(inner.get("message")).or_else(|| words(inner.get("error"))),
            detail => words(detail.as_ref()),
        };
        let detail = detail.or_else(|| words(message.as_ref())).unwrap_or_else(|| format!("HTTP status {status}"));
        Self { status, code, detail, errors, more }
    }

    /// A refusal by the SDK itself, before it sends anything, in the form of a refusal by the server.
    pub(crate) fn invalid(errors: Vec<FieldError>) -> Self {
        Self { status: 422, code: Some("invalid".to_owned()), detail: "invalid request".to_owned(), errors, more: Map::new() }
    }

    /// Whether the server sent this code.
    pub fn is(&self, code: &str) -> bool {
        self.code.as_deref() == Some(code)
    }
}

fn words(value: Option<&Value>) -> Option<String> {
    value.and_then(Value::as_str).map(str::to_owned)
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.code {
            Some(code) => write!(f, "{} ({code}, {})", self.detail, self.status)?,
            None => write!(f, "{} ({})", self.detail, self.status)?,
        }
        // The server's `detail` has the words of the first of these errors, so that error is not printed again.
        let fields = self.errors.iter().map(|error| format!("{}: {}", error.field, error.message));
        for field in fields.filter(|field| *field != self.detail) {
            write!(f, "; {field}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_formats_of_the_server_are_read() {
        let ours = json!({
            "type": "about:blank", "title": "Invalid request", "status": 422, "detail": "question: must not be empty",
            "code": "invalid", "errors": [{"field": "question", "rule": "required", "message": "must not be empty"}],
        });
        let problem = Problem::read(422, ours.to_string().as_bytes());
        assert!(problem.is("invalid"));
        assert_eq!(problem.errors[0].field, "question");
        assert!(problem.more.is_empty());
        assert_eq!(problem.to_string(), "question: must not be empty (invalid, 422)");
        let two = json!({
            "status": 422, "detail": "a: one", "code": "invalid",
            "errors": [{"field": "a", "rule": "r", "message": "one"}, {"field": "b", "rule": "r", "message": "two"}],
        });
        assert_eq!(Problem::read(422, two.to_string().as_bytes()).to_string(), "a: one (invalid, 422); b: two");

        let openintent = json!({"detail": "Version conflict", "message": "Version conflict", "code": "version_conflict",
            "current_version": 7});
        let problem = Problem::read(409, openintent.to_string().as_bytes());
        assert!(problem.is("version_conflict"));
        assert_eq!((problem.detail.as_str(), &problem.more["current_version"]), ("Version conflict", &json!(7)));

        let object = json!({"detail": {"error": "invalid_choice", "message": "not one of them"}, "valid_choices": ["a"]});
        let problem = Problem::read(422, object.to_string().as_bytes());
        assert_eq!((problem.detail.as_str(), &problem.more["valid_choices"]), ("not one of them", &json!(["a"])));
    }

    #[test]
    fn a_body_that_is_no_problem_still_is_one() {
        for body in ["", "<html>Bad gateway</html>", "[1]", "{}", r#"{"detail": [{"msg": "x"}]}"#] {
            let problem = Problem::read(502, body.as_bytes());
            assert_eq!((problem.code, problem.detail.as_str()), (None, "HTTP status 502"), "{body}");
        }
    }
}
