//! JSON-RPC 2.0: calls, results and errors, for every protocol that is written in it. Batches and notifications are refused.

use serde_json::{Value, json};

/// The error of a body that is no JSON.
pub(crate) const PARSE_ERROR: i32 = -32700;
/// The error of JSON that is no call.
pub(crate) const INVALID_REQUEST: i32 = -32600;
/// The error of a method that does not exist.
pub(crate) const METHOD_NOT_FOUND: i32 = -32601;
/// The error of parameters that break a rule.
pub(crate) const INVALID_PARAMS: i32 = -32602;
/// The error of a server that failed.
pub(crate) const INTERNAL_ERROR: i32 = -32603;

/// The longest id of a call, in bytes.
const ID_BYTES_MAX: usize = 1_000;
/// The members that a call may have.
const MEMBERS: [&str; 4] = ["jsonrpc", "id", "method", "params"];

/// A call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    /// A text or a whole number.
    pub(crate) id: Value,
    pub(crate) method: String,
    /// An object; an empty one if the call has none.
    pub(crate) params: Value,
}

/// Why a body is no call, with the id that it has as far as that can be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NoCall {
    pub(crate) id: Value,
    pub(crate) code: i32,
    pub(crate) why: &'static str,
}

/// Reads a call.
pub(crate) fn call(body: Value) -> Result<Call, NoCall> {
    let invalid = |id: Value, why| Err(NoCall { id, code: INVALID_REQUEST, why });
    let mut members = match body {
        Value::Object(members) => members,
        Value::Array(_) => return invalid(Value::Null, "a batch is not served; send one call"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            return invalid(Value::Null, "a call is a JSON object");
        }
    };
    let Some(id) = members.get("id").cloned() else {
        return invalid(Value::Null, "a call has an id; a notification is not served");
    };
    let is_id = match &id {
        Value::String(text) => text.len() <= ID_BYTES_MAX,
        Value::Number(number) => number.is_i64() || number.is_u64(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
    };
    if !is_id {
        return invalid(Value::Null, "the id of a call is a text of at most 1,000 bytes or a whole number");
    }
    if members.get("jsonrpc") != Some(&json!("2.0")) {
        return invalid(id, "jsonrpc must be \"2.0\"");
    }
    if members.keys().any(|name| !MEMBERS.contains(&name.as_str())) {
        return invalid(id, "a call has the members jsonrpc, id, method and params, and no other");
    }
    let Some(Value::String(method)) = members.remove("method") else {
        return invalid(id, "method must be a text");
    };
    match members.remove("params") {
        None => Ok(Call { id, method, params: json!({}) }),
        Some(params @ Value::Object(_)) => Ok(Call { id, method, params }),
        Some(_) => Err(NoCall { id, code: INVALID_PARAMS, why: "params must be an object" }),
    }
}

/// The response to a call that succeeded.
pub(crate) fn result(id: &Value, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

/// The response to a call that failed.
pub(crate) fn error(id: &Value, code: i32, message: &str, data: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message, "data": data } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_an_id_and_a_method() {
        let read = call(json!({"jsonrpc": "2.0", "id": 7, "method": "GetTask", "params": {"id": "t"}})).unwrap();
        assert_eq!((read.id, &*read.method, read.params), (json!(7), "GetTask", json!({"id": "t"})));
        let bare = call(json!({"jsonrpc": "2.0", "id": "a", "method": "m"})).unwrap();
        assert_eq!(bare.params, json!({}));
    }

    #[test]
    fn every_other_body_is_refused_and_its_id_is_kept_where_it_is_one() {
        let long = "x".repeat(ID_BYTES_MAX + 1);
        for (body, id, code) in [
            (json!([]), Value::Null, INVALID_REQUEST),
            (json!([{"jsonrpc": "2.0", "id": 1, "method": "m"}]), Value::Null, INVALID_REQUEST),
            (json!("call"), Value::Null, INVALID_REQUEST),
            (json!({}), Value::Null, INVALID_REQUEST),
            (json!({"jsonrpc": "2.0", "method": "m"}), Value::Null, INVALID_REQUEST),
            (json!({"jsonrpc": "2.0", "id": null, "method": "m"}), Value::Null, INVALID_REQUEST),
            (json!({"jsonrpc": "2.0", "id": 1.5, "method": "m"}), Value::Null, INVALID_REQUEST),
            (json!({"jsonrpc": "2.0", "id": {}, "method": "m"}), Value::Null, INVALID_REQUEST),
            (json!({"jsonrpc": "2.0", "id": true, "method": "m"}), Value::Null, INVALID_REQUEST),
            (json!({"jsonrpc": "2.0", "id": long, "method": "m"}), Value::Null, INVALID_REQUEST),
            (json!({"jsonrpc": "1.0", "id": 1, "method": "m"}), json!(1), INVALID_REQUEST),
            (json!({"id": 1, "method": "m"}), json!(1), INVALID_REQUEST),
            (json!({"jsonrpc": "2.0", "id": 1, "method": 5}), json!(1), INVALID_REQUEST),
            (json!({"jsonrpc": "2.0", "id": 1}), json!(1), INVALID_REQUEST),
            (json!({"jsonrpc": "2.0", "id": 1, "method": "m", "param": {}}), json!(1), INVALID_REQUEST),
            (json!({"jsonrpc": "2.0", "id": "a", "method": "m", "params": [1]}), json!("a"), INVALID_PARAMS),
            (json!({"jsonrpc": "2.0", "id": "a", "method": "m", "params": null}), json!("a"), INVALID_PARAMS),
        ] {
            let refused = call(body.clone()).unwrap_err();
            assert_eq!((refused.id, refused.code), (id, code), "{body}");
        }
    }
}
