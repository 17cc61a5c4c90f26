//! A2A 0.3 over JSON-RPC, which is spoken where a call names no version: its parameters become those of 1.0, and the results of 1.0 become
//! its own. Pure functions.

use serde_json::{Map, Value, json};

/// The method of 1.0 that a method of 0.3 is; `None` if there is none.
pub(crate) fn method(earlier: &str) -> Option<&'static str> {
    Some(match earlier {
        "message/send" => "SendMessage",
        "message/stream" => "SendStreamingMessage",
        "tasks/get" => "GetTask",
        "tasks/cancel" => "CancelTask",
        "tasks/resubscribe" => "SubscribeToTask",
        "tasks/pushNotificationConfig/set" => "CreateTaskPushNotificationConfig",
        "tasks/pushNotificationConfig/get" => "GetTaskPushNotificationConfig",
        "tasks/pushNotificationConfig/list" => "ListTaskPushNotificationConfigs",
        "tasks/pushNotificationConfig/delete" => "DeleteTaskPushNotificationConfig",
        // The proposal of pauses is written in the names of 0.3.
        "tasks/pause" => "tasks/pause",
        "tasks/resume" => "tasks/resume",
        "tasks/await_resumption" => "tasks/await_resumption",
        "agent/getAuthenticatedExtendedCard" => "GetExtendedAgentCard",
        _ => return None,
    })
}

/// Parameters of 0.3 as those of 1.0. A member that neither version knows stays, and is refused as in 1.0.
pub(crate) fn params(mut earlier: Value) -> Value {
    let Some(members) = earlier.as_object_mut() else { return earlier };
    match members.get_mut("message").and_then(Value::as_object_mut) {
        Some(message) => message_in(message),
        // Only a message has words of the client in 1.0.
        None => drop(members.remove("metadata")),
    }
    if let Some(configuration) = members.get_mut("configuration").and_then(Value::as_object_mut) {
        if let Some(blocking) = configuration.get("blocking").and_then(Value::as_bool) {
            configuration.remove("blocking");
            configuration.insert("returnImmediately".to_owned(), json!(!blocking));
        }
        if let Some(push) = configuration.remove("pushNotificationConfig") {
            configuration.insert("taskPushNotificationConfig".to_owned(), push);
        }
    }
    earlier
}

fn message_in(message: &mut Map<String, Value>) {
    if message.get("kind") == Some(&json!("message")) {
        message.remove("kind");
    }
    match message.get("role").and_then(Value::as_str) {
        Some("user") => drop(message.insert("role".to_owned(), json!("ROLE_USER"))),
        Some("agent") => drop(message.insert("role".to_owned(), json!("ROLE_AGENT"))),
        Some(_) | None => {}
    }
    for part in message.get_mut("parts").and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut) {
        let kind = part.get("kind").and_then(Value::as_str);
        if kind.is_some_and(|kind| part.contains_key(kind)) {
            let is_file = kind == Some("file");
            part.remove("kind");
            if let Some(file) = if is_file { part.remove("file") } else { None } {
                part.insert("raw".to_owned(), file);
            }
        }
    }
}

/// A task, an item of a stream or a result of 1.0 in the form of 0.3.
pub(crate) fn result(mut now: Value) -> Value {
    let wrapped = [("task", "task"), ("statusUpdate", "status-update"), ("artifactUpdate", "artifact-update")];
    for (name, kind) in wrapped {
        if let Some(mut inner) = now.get_mut(name).map(Value::take) {
            object(&mut inner, kind);
            return inner;
        }
    }
    // Only a task stands alone.
    object(&mut now, "task");
    now
}

fn object(object: &mut Value, kind: &str) {
    if let Some(status) = object.get_mut("status") {
        let is_final = status["state"].as_str().is_some_and(is_final);
        status_out(status);
        if kind == "status-update" {
            object["final"] = json!(is_final);
        }
    }
    for artifact in object.get_mut("artifacts").and_then(Value::as_array_mut).into_iter().flatten() {
        parts_out(artifact);
    }
    if let Some(artifact) = object.get_mut("artifact") {
        parts_out(artifact);
    }
    for message in object.get_mut("history").and_then(Value::as_array_mut).into_iter().flatten() {
        message_out(message);
    }
    object["kind"] = json!(kind);
}

fn is_final(state: &str) -> bool {
    matches!(state, "TASK_STATE_COMPLETED" | "TASK_STATE_FAILED" | "TASK_STATE_CANCELED")
}

fn status_out(status: &mut Value) {
    if let Some(state) = status["state"].as_str() {
        let word = state.trim_start_matches("TASK_STATE_").to_lowercase().replace('_', "-");
        let by_agent = status["pause"]["initiatedBy"] == "PAUSE_INITIATOR_AGENT";
        let word = match (&*word, by_agent) {
            ("paused", true) => "paused-by-agent".to_owned(),
            ("paused", false) => "paused-by-client".to_owned(),
            (_, _) => word,
        };
        status["state"] = json!(word);
    }
    if let Some(message) = status.get_mut("message") {
        message_out(message);
    }
}

fn message_out(message: &mut Value) {
    let role = if message["role"] == "ROLE_USER" { "user" } else { "agent" };
    message["role"] = json!(role);
    message["kind"] = json!("message");
    parts_out(message);
}

fn parts_out(holder: &mut Value) {
    for part in holder.get_mut("parts").and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut) {
        let kind = if part.contains_key("text") { "text" } else { "data" };
        part.remove("mediaType");
        part.insert("kind".to_owned(), json!(kind));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_the_version_before_is_one_of_this_version() {
        let earlier = json!({"message": {"kind": "message", "messageId": "m", "role": "user", "taskId": "t",
            "parts": [{"kind": "text", "text": "a"}, {"kind": "data", "data": {"b": 1}}, {"kind": "file", "file": {"uri": "x"}}]},
            "configuration": {"blocking": true, "historyLength": 5, "pushNotificationConfig": {"url": "u"}}});
        let now = json!({"message": {"messageId": "m", "role": "ROLE_USER", "taskId": "t",
            "parts": [{"text": "a"}, {"data": {"b": 1}}, {"raw": {"uri": "x"}}]},
            "configuration": {"returnImmediately": false, "historyLength": 5, "taskPushNotificationConfig": {"url": "u"}}});
        assert_eq!(params(earlier), now);
        assert_eq!(params(json!({"id": "t", "metadata": {"a": 1}, "historyLength": 2})), json!({"id": "t", "historyLength": 2}));
        // A word of neither version stays, and is refused.
        let strange = json!({"message": {"kind": "letter", "role": "boss", "parts": [{"kind": "text"}]},
            "configuration": {"blocking": "no"}});
        assert_eq!(params(strange.clone()), strange);
    }

    #[test]
    fn results_have_the_words_of_the_version_before() {
        let status = json!({"state": "TASK_STATE_AUTH_REQUIRED", "timestamp": "t",
            "message": {"messageId": "n", "role": "ROLE_AGENT", "parts": [{"text": "wait"}]}});
        let task = json!({"id": "i", "contextId": "c", "status": status, "artifacts": [{"artifactId": "d", "parts": [
            {"data": {"value": 1}, "mediaType": "application/json"}]}], "history": [{"messageId": "m", "role": "ROLE_USER", "parts": []}]});
        let earlier = json!({"kind": "task", "id": "i", "contextId": "c",
            "status": {"state": "auth-required", "timestamp": "t",
                "message": {"kind": "message", "messageId": "n", "role": "agent", "parts": [{"kind": "text", "text": "wait"}]}},
            "artifacts": [{"artifactId": "d", "parts": [{"kind": "data", "data": {"value": 1}}]}],
            "history": [{"kind": "message", "messageId": "m", "role": "user", "parts": []}]});
        assert_eq!(result(task.clone()), earlier);
        assert_eq!(result(json!({"task": task})), earlier, "a sent message has the task itself as its result");
        for (state, word, is_final) in
            [("TASK_STATE_COMPLETED", "completed", true), ("TASK_STATE_INPUT_REQUIRED", "input-required", false)]
        {
            let update = json!({"statusUpdate": {"taskId": "i", "contextId": "c", "status": {"state": state}}});
            let earlier =
                json!({"kind": "status-update", "taskId": "i", "contextId": "c", "status": {"state": word}, "final": is_final});
            assert_eq!(result(update), earlier);
        }
        let artifact = json!({"artifactUpdate": {"taskId": "i", "artifact": {"parts": [{"text": "Yes"}]}, "lastChunk": true}});
        let earlier = json!({"kind": "artifact-update", "taskId": "i", "artifact": {"parts": [{"kind": "text", "text": "Yes"}]}, "lastChunk": true});
        assert_eq!(result(artifact), earlier);
    }

    #[test]
    fn only_the_methods_of_the_version_before_are_known() {
        assert_eq!(method("message/send"), Some("SendMessage"));
        for unknown in ["SendMessage", "tasks/list", "PauseTask", ""] {
            assert_eq!(method(unknown), None);
        }
    }
}
