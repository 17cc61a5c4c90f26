//! The meaning of a parameter, by its name: a name means the same on every path, except where a path is named here.

use domain::container::task::TaskStatus;
use domain::suspension::channel::CHANNEL_NAME_MAX;
use serde_json::{Value, json};

use super::text;
use crate::api::coordinators::{DECISIONS_DEFAULT, DECISIONS_MAX};
use crate::api::portfolios::{MEMBERS_OFFSET_MAX, PORTFOLIOS_PAGE_MAX};
use crate::api::subscriptions::SUBSCRIPTIONS_PAGE_MAX;
use crate::api::suspensions::WAIT_SECONDS_MAX;
use crate::api::tasks::TASKS_PAGE_MAX;
use crate::edge::body::IDEMPOTENCY_KEY_MAX;
use crate::edge::instance::CHALLENGE_CHARS;
use crate::edge::query::{OFFSET_MAX, PAGE_DEFAULT, PAGE_MAX};

/// Gives a parameter its bounds and its meaning.
pub(super) fn complete(path: &str, parameter: &mut Value) {
    let name = text(&parameter["name"]);
    let Some((schema, description)) = of_one_noun(path, name).or_else(|| of_proofs(path, name)).or_else(|| meaning(path, name))
    else {
        return;
    };
    parameter["schema"] = schema;
    parameter["description"] = json!(description);
}

fn meaning(path: &str, name: &str) -> Option<(Value, &'static str)> {
    let id = json!({ "type": "string", "format": "uuid" });
    let one_of = |words: &[&str]| json!({ "type": "string", "enum": words });
    let number = |minimum: u32, maximum: u32, default: u32| json!({ "type": "integer", "minimum": minimum, "maximum": maximum, "default": default });
    let meaning = match name {
        "intent_id" if path == "/api/v1/escalations" => {
            (json!({ "anyOf": [id, { "type": "string", "maxLength": 0 }] }), "Only escalations of this intent; empty means any.")
        }
        "intent_id" => (id, "The intent's id. Any other value answers 404."),
        "subject" => (id, "The id of a suspension that stops an intent. The id of a question answers 404."),
        "suspension_id" => (id, "The suspension's id. Any other value answers 404."),
        "lease_id" => (id, "The lease's id. Any other value answers 404."),
        "agent_id" => {
            (json!({ "type": "string", "minLength": 1, "maxLength": 200 }), "The agent; a slash in its name is written as `%2F`.")
        }
        "entry_id" | "request_id" => (id, "The entry, or the request for access. Any other value answers 404."),
        "attachment_id" => (id, "The attachment. Any other value answers 404."),
        "approval_id" => (id, "The approval. Any other value answers 404."),
        "escalation_id" => (id, "The escalation. Any other value answers 404."),
        "delivery_id" => (id, "The message's id. Any other value answers 404."),
        "key_id" => (id, "The key's id, which is not its secret."),
        "hold_id" => (id, "The id of a legal hold."),
        "idempotency_key" => (
            json!({ "type": "string", "maxLength": IDEMPOTENCY_KEY_MAX, "pattern": "^[ -~]*$" }),
            "Only the question that was asked under this `Idempotency-Key`.",
        ),
        "limit" => (number(1, PAGE_MAX, PAGE_DEFAULT), "The most entries on the page."),
        "offset" => (number(0, OFFSET_MAX, 0), "How many entries to leave out."),
        "after" => (
            json!({ "type": "integer", "format": "int64", "minimum": 0, "maximum": u32::MAX, "default": 0 }),
            "Only events whose `sequence` is larger.",
        ),
        "wait" => (number(0, WAIT_SECONDS_MAX, 0), "How many seconds to wait, at most, until the question has ended."),
        "after_version" => (
            json!({ "type": "integer", "format": "int64", "minimum": 0, "maximum": u32::MAX }),
            "With `wait`: the request also returns as soon as the question has a version after this one.",
        ),
        "status" if path == "/api/v1/escalations" => (
            one_of(&["pending", "acknowledged", "resolved", "expired", "cancelled", ""]),
            "Only escalations in this state; empty means any. `acknowledged` is accepted because the OpenIntent client knows this state; no escalation on this server ever has it.",
        ),
        "status" => (
            one_of(&["draft", "active", "suspended_awaiting_input", "blocked", "completed", "abandoned", ""]),
            "Only intents with this status; empty means any.",
        ),
        "state" if path == "/api/v1/deliveries" => (one_of(&["failed", ""]), "The failed messages, which is the default."),
        "state" => {
            (one_of(&["open", "all", ""]), "Open questions (the default), or all questions (the default with `idempotency_key`).")
        }
        "include" => (one_of(&["all", ""]), "`all` also shows event types that the OpenIntent client does not know."),
        "event_type" => (json!({ "type": "string" }), "Only events of this type."),
        "since" => (
            json!({ "anyOf": [{ "type": "string", "format": "date-time" }, { "type": "string", "maxLength": 0 }], "examples": ["2026-11-24T08:00:00Z"] }),
            "Only events from this time on; a time without an offset counts as UTC.",
        ),
        "challenge" => (
            json!({ "type": "string", "minLength": CHALLENGE_CHARS, "maxLength": CHALLENGE_CHARS, "pattern": "^[A-Za-z0-9_-]+$" }),
            "Base64url of 32 random bytes, fresh for each question.",
        ),
        "reader" => (
            json!({ "type": "string", "minLength": CHALLENGE_CHARS, "maxLength": CHALLENGE_CHARS, "pattern": "^[A-Za-z0-9_-]+$" }),
            "A proof that the caller can read the database: 43 characters of base64url, valid for at most two minutes. With it the answer has the settings, without secrets.",
        ),
        "cursor" if path == "/api/v1/deliveries" => {
            (json!({ "anyOf": [id, { "type": "string", "maxLength": 0 }] }), "The `next_cursor` of the previous page.")
        }
        "cursor" => (json!({ "type": "string", "pattern": "^(-?[0-9]{1,18})?$" }), "The `next_cursor` of the previous page."),
        _ => return of_header(name),
    };
    Some(meaning)
}

/// The parameters of proofs of the log.
fn of_proofs(path: &str, name: &str) -> Option<(Value, &'static str)> {
    let number_of_leaves = json!({ "type": "integer", "format": "int64", "minimum": 0, "maximum": i64::MAX });
    let one_of = |words: &[&str]| json!({ "type": "string", "enum": words });
    let time = json!({ "type": "string", "format": "date-time" });
    let meaning = match name {
        "format" if path == "/api/v1/receipts/{receipt_id}" => {
            (one_of(&["json", "cose", ""]), "JSON with the state of the receipt, or the transparent statement in COSE.")
        }
        "format" => {
            (one_of(&["jsonl", "csv", "ocsf", "cef"]), "The format; `jsonl`, the one that can be verified, if it is absent.")
        }
        "reason" => (
            json!({ "type": "string", "minLength": 1, "maxLength": 2_000 }),
            "The reason for which the hold is lifted, for the server's log.",
        ),
        "manifest" => (one_of(&["only"]), "Only the manifest of this export, with counts and the hash of its bytes."),
        "from" => (time, "Only events from this time on."),
        "to" => (time, "Only events before this time, which must be later than `from`."),
        "agent" => {
            (json!({ "type": "string", "minLength": 1, "maxLength": 200 }), "Only events of intents that this agent created.")
        }
        "person" => (
            json!({ "type": "string", "minLength": 1, "maxLength": 200 }),
            "Only events that this person or key caused, or that name it as recipient or as the one who answered.",
        ),
        "outcome" => {
            (one_of(&["answered", "expired", "undeliverable", "cancelled"]), "Only events that ended a question in this way.")
        }
        "size" => (number_of_leaves, "The checkpoint of the export, by its number of leaves; a new checkpoint if it is absent."),
        "after" if path == "/api/v1/export" => {
            (number_of_leaves, "The last leaf that the caller has: the export goes on behind it. Needs `size`.")
        }
        "receipt_id" => (json!({ "type": "string", "format": "uuid" }), "The receipt's id. Any other value answers 404."),
        "intent_id" if path == "/api/v1/export" => (json!({ "type": "string", "format": "uuid" }), "Only events of this intent."),
        "intent_id" if path == "/api/v1/checkpoints" => (
            json!({ "anyOf": [{ "type": "string", "format": "uuid" }, { "type": "string", "maxLength": 0 }] }),
            "Only the newest checkpoint with events of this intent; empty means all checkpoints.",
        ),
        "from_checkpoint" => (json!({ "type": "string", "minLength": 1 }), "The id of the older checkpoint."),
        "to_checkpoint" => (json!({ "type": "string", "minLength": 1 }), "The id of the newer checkpoint."),
        "event_id" => (json!({ "type": "string", "format": "uuid" }), "The event's id. Any other value answers 404."),
        "scope" => {
            (one_of(&["global", "intent", ""]), "The tree over all events, or the events of the intent that `intent_id` names.")
        }
        "before" => (
            json!({ "type": "integer", "format": "int64", "minimum": 0, "maximum": i64::MAX }),
            "Only checkpoints with fewer leaves.",
        ),
        _ => return None,
    };
    Some(meaning)
}

/// The parameters that have bounds or meanings of their own on the paths of people, portfolios, tasks and subscriptions.
fn of_one_noun(path: &str, name: &str) -> Option<(Value, &'static str)> {
    let number = |minimum: u32, maximum: u32, default: u32| json!({ "type": "integer", "minimum": minimum, "maximum": maximum, "default": default });
    Some(match (path, name) {
        (_, "dependency_id") => {
            (json!({ "type": "string", "format": "uuid" }), "The id of the dependency. Any other value answers 404.")
        }
        (_, "portfolio_id") => {
            (json!({ "type": "string", "format": "uuid" }), "The portfolio's id. Any other value answers 404.")
        }
        (_, "coordinator_id") => {
            (json!({ "type": "string", "format": "uuid" }), "The id of the lease. Any other value answers 404.")
        }
        (_, "person_id") => (json!({ "type": "string", "format": "uuid" }), "The person's id. Any other value answers 404."),
        (_, "group") => (
            json!({ "type": "string", "minLength": 1, "maxLength": CHANNEL_NAME_MAX, "pattern": "^[a-z0-9-]+$" }),
            "The name of the group.",
        ),
        ("/api/v1/intents/{intent_id}/coordinator-decisions", "limit") => {
            (number(1, DECISIONS_MAX, DECISIONS_DEFAULT), "The most decisions in the list.")
        }
        ("/api/v1/checkpoints/{checkpoint_id}/proof/{event_id}", "checkpoint_id") => (
            json!({ "type": "string", "pattern": "\\." }),
            "The number of leaves, a dot and the intent of the event. An unknown one answers 404.",
        ),
        ("/api/v1/checkpoints/{checkpoint_id}", "checkpoint_id") => (
            json!({ "type": "string" }),
            "The number of leaves, and for one intent a dot and the intent. Any other value answers 404.",
        ),
        (_, "checkpoint_id") => {
            (json!({ "type": "string" }), "The checkpoint's id in its plan, which the body names. An unknown one answers 404.")
        }
        (_, "plan_id") => (json!({ "type": "string", "format": "uuid" }), "The plan's id. Any other value answers 404."),
        (_, "task_id") => (json!({ "type": "string", "format": "uuid" }), "The task's id. Any other value answers 404."),
        ("/api/v1/intents/{intent_id}/tasks", "status") => {
            (json!({ "type": "string", "enum": TaskStatus::ALL.map(TaskStatus::as_str) }), "Only tasks with this status.")
        }
        ("/api/v1/intents/{intent_id}/tasks", "limit") => {
            (number(1, TASKS_PAGE_MAX, TASKS_PAGE_MAX), "The most tasks on the page.")
        }
        ("/api/v1/portfolios", "created_by") => (
            json!({ "type": "string" }),
            "Only portfolios that the key of this name created; empty means any. An agent finds only its own portfolios.",
        ),
        ("/api/v1/subscriptions", "limit") => {
            (number(1, SUBSCRIPTIONS_PAGE_MAX, SUBSCRIPTIONS_PAGE_MAX), "The most subscriptions on the page.")
        }
        ("/api/v1/subscriptions", "intent_id") => (
            json!({ "anyOf": [{ "type": "string", "format": "uuid" }, { "type": "string", "maxLength": 0 }] }),
            "Only subscriptions to this intent; empty means any.",
        ),
        (_, "subscription_id") => {
            (json!({ "type": "string", "format": "uuid" }), "The subscription's id. Any other value answers 404.")
        }
        ("/api/v1/portfolios", "limit") => {
            (number(1, PORTFOLIOS_PAGE_MAX, PORTFOLIOS_PAGE_MAX), "The most portfolios on the page.")
        }
        ("/api/v1/portfolios/{portfolio_id}/intents", "offset") => {
            (number(0, MEMBERS_OFFSET_MAX, 0), "How many intents to leave out: the `next_offset` of the previous page.")
        }
        _ => return None,
    })
}

/// The meaning of a parameter that is a header.
fn of_header(name: &str) -> Option<(Value, &'static str)> {
    Some(match name {
        "If-Match" => (
            json!({ "type": "string", "pattern": "^(W/)?(\"[0-9]{1,9}\"|[0-9]{1,9})$", "examples": ["\"3\""] }),
            "The version that the change is based on: `3`, `\"3\"` or `W/\"3\"`. A stale one is 409 `version_conflict`.",
        ),
        "Last-Event-ID" => (
            json!({ "type": "string", "pattern": "^([0-9]+-[0-9]+)?$" }),
            "The `id` of the last event that the client got. The stream goes on behind it; without it the stream begins now.",
        ),
        "Idempotency-Key" => (
            json!({ "type": "string", "minLength": 1, "maxLength": IDEMPOTENCY_KEY_MAX, "pattern": "^[!-~]([ -~]*[!-~])?$" }),
            "Makes a repeat safe: a request with the same key is not done twice; another request with that key gets 422.",
        ),
        "X-Agent-ID" => (
            json!({ "type": "string" }),
            "The agent for which the call is made. It is ignored if the key may not act for that agent, or if it has more than 200 bytes.",
        ),
        _ => return None,
    })
}
