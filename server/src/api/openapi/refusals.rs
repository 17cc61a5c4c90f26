//! Describes the refusals of each operation by their status. Errors have one form on OpenIntent's paths, and another on ours.

use actix_web::http::StatusCode;
use serde_json::{Map, Value, json};

use super::text;
use crate::edge::body::{BODY_BYTES_MAX, BODY_WAIT};
use crate::edge::problem::Surface;

/// The schemas and headers to which the descriptions of refusals refer.
pub(super) fn components() -> Map<String, Value> {
    let parts = json!({
        "schemas": { "DetailBody": {
            "type": "object",
            "description": "An error on OpenIntent's surface. Some codes add members of their own, for example `valid_choices` and `current_version`.",
            "required": ["detail", "message", "code"],
            "properties": {
                "detail": {
                    "description": "A description of the error: a text, or an object for `invalid_choice` and `invalid_transition`.",
                    "anyOf": [
                        { "type": "string" },
                        { "type": "object", "required": ["error", "message"], "properties": { "error": { "type": "string" }, "message": { "type": "string" } } },
                    ],
                },
                "message": { "type": "string", "description": "A description of the error, as a text." },
                "code": { "type": "string", "description": "The stable code to match on." },
                "errors": { "type": "array", "items": { "$ref": "#/components/schemas/FieldError" }, "description": "The fields that break rules." },
            },
        }},
        "headers": {
            "RequestId": { "description": "The id of the request in the server's log. It is the caller's own `X-Request-Id` if that is harmless in a log.", "required": true, "schema": { "type": "string", "maxLength": 64 } },
            "RetryAfter": { "description": "Seconds after which trying again makes sense.", "schema": { "type": "integer", "minimum": 1 } },
            "WwwAuthenticate": { "description": "How to authenticate.", "required": true, "schema": { "type": "string", "const": "ApiKey" } },
        },
    });
    match parts {
        Value::Object(parts) => parts,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}

/// Adds the answers of the layers in front of the handler, and gives every refusal its form.
pub(super) fn complete(surface: Surface, keyed: bool, bodied: bool, responses: &mut Value) {
    let mut also = |status: &str, description: String| {
        let known = responses.get(status).is_some_and(|response| !text(&response["description"]).is_empty());
        if !known {
            responses[status] = json!({ "description": description });
        }
    };
    if keyed {
        also("401", "`unauthorized`: no key, or an invalid one".into());
        also("500", "`internal`: the server failed; the failure was logged".into());
        also("429", "`rate_limited`: this key has made all the requests it may in a minute, if the server limits them; or its address has presented too many invalid keys; `bytes_spent`: this agent has written as much today as it may".into());
        also(
            "503",
            "`overloaded`: nothing was done, send the same request again; `unavailable`: it may or may not have been done, repeat it with the same `Idempotency-Key`".into(),
        );
    }
    if bodied {
        also("507", "`no_room`: the server's disk is nearly full, and what is left is kept for answers".into());
        also("408", format!("`body_timeout`: a body arrives within {} seconds", BODY_WAIT.as_secs()));
        also("413", format!("`body_too_large`: a body is at most {BODY_BYTES_MAX} bytes"));
        also("415", "`unsupported_media_type`: a body is `application/json`".into());
    }
    for (status, response) in responses.as_object_mut().into_iter().flatten() {
        let Some(status) = status.parse::<u16>().ok().filter(|status| *status >= 400) else { continue };
        if text(&response["description"]).is_empty() {
            response["description"] = json!(usual(status));
        }
        let (content_type, schema) = match surface {
            Surface::Ours => ("application/problem+json", "ProblemBody"),
            // The routes of protocols are not in this document.
            Surface::OpenIntent | Surface::Protocol(_) => ("application/json", "DetailBody"),
        };
        response["content"] = json!({ content_type: { "schema": { "$ref": format!("#/components/schemas/{schema}") } } });
        let header = match status {
            401 => Some(("WWW-Authenticate", "WwwAuthenticate")),
            429 | 503 => Some(("Retry-After", "RetryAfter")),
            _ => None,
        };
        if let Some((name, part)) = header {
            response["headers"][name] = json!({ "$ref": format!("#/components/headers/{part}") });
        }
    }
}

/// The meaning of a status where the handler says no more about it.
fn usual(status: u16) -> String {
    match status {
        400 => "`if_match_required`: this write needs `If-Match`, and it must be a version".into(),
        428 => "`precondition_required`: this write needs `If-Match`, and it must be a version".into(),
        403 => "`forbidden`: the key may read this, but its role may not do this".into(),
        404 => "`not_found`: it does not exist, or the key may not read it; the two look the same".into(),
        422 => "`invalid`: `errors` names each field and the rule it breaks; with a body also `malformed_json`, with a key also `idempotency_mismatch`".into(),
        status => StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason()).unwrap_or("Refused").to_owned(),
    }
}
