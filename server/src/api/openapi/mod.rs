//! The interface, described from the code that implements it (`OpenAPI` 3.1).
//!
//! Each handler names its own answers. Facts that hold for many operations are added here, once: bounds of parameters, the two
//! forms of errors, and the answers of the layers in front of a handler.

mod examples;
mod parameters;
mod refusals;

use std::sync::LazyLock;

use actix_web::HttpResponse;
use actix_web::http::Method;
use actix_web::web;
use serde_json::{Map, Value, json};
use utoipa::OpenApi;

use super::{
    access, agents, approvals, arbitration, attachments, broadcasts, checkpoints, coordinators, costs, decisions, deliveries,
    discovery, drafts, escalations, events, export, extensions, failures, governance, graph, groups, hands, health, holds,
    intents, keys, leases, lifecycle_receipts, metrics, people, plans, portfolios, preview, proofs, receipts, redactions,
    reminders, retry_policy, server_log, stops, streams, subscriptions, suspensions, tasks,
};
use crate::edge::problem::Surface;
use crate::edge::route::{Declared, Routes};

#[derive(OpenApi)]
#[openapi(
    info(title = "Placet"),
    paths(
        suspensions::suspend, suspensions::respond_to, suspensions::get, suspensions::list, suspensions::cancel,
        suspensions::take_back, hands::claim, hands::release, hands::delegate, hands::reassign,
        drafts::save_draft, drafts::drafts, stops::pause, stops::park, stops::stop, stops::settle, broadcasts::broadcast, stops::resume, stops::fire,
        lifecycle_receipts::show, lifecycle_receipts::verify,
        preview::preview, extensions::extend, reminders::remind,
        intents::create, intents::list, intents::get, intents::patch_state, intents::set_status,
        deliveries::list, deliveries::failed, deliveries::redrive, deliveries::report_bounce,
        events::list, events::append,
        leases::list, leases::acquire, leases::renew, leases::release,
        agents::assign, agents::list, agents::unassign, governance::show, governance::set, governance::remove,
        access::read_acl, access::set_acl, access::grant, access::revoke,
        access::request_access, access::list_requests, access::approve, access::deny,
        graph::create_child, graph::children, graph::descendants, graph::ancestors, graph::dependencies, graph::add_dependency,
        graph::remove_dependency, graph::dependents, graph::ready, graph::blocked, graph::graph,
        approvals::ask, approvals::list, approvals::show, approvals::approve, approvals::deny,
        escalations::ask, escalations::list, escalations::resolve, arbitration::ask,
        portfolios::create, portfolios::list, portfolios::show, portfolios::update, portfolios::set_status, portfolios::events,
        portfolios::members, portfolios::add, portfolios::remove, portfolios::of_intent,
        tasks::create, tasks::show, tasks::list, tasks::update, tasks::claim, tasks::complete, tasks::fail, tasks::progress,
        tasks::delegate, tasks::escalate, checkpoints::approve, checkpoints::reject,
        plans::create, plans::show, plans::list, plans::update, plans::activate, plans::pause, plans::resume, plans::cancel,
        coordinators::create, coordinators::show, coordinators::list, coordinators::heartbeat, coordinators::decide,
        coordinators::decisions,
        streams::subscribe_to_intent, streams::follow_log, streams::subscribe_to_agent, streams::subscribe_to_portfolio,
        subscriptions::subscribe, subscriptions::list, subscriptions::unsubscribe,
        decisions::record_decision, decisions::list_decisions,
        attachments::add_attachment, attachments::list_attachments, attachments::remove_attachment,
        costs::record_cost, costs::list_costs, failures::record_failure, failures::list_failures,
        retry_policy::set_retry_policy, retry_policy::read_retry_policy,
        keys::create, keys::list, keys::revoke,
        people::add, people::list, people::change, people::remove, people::leave, people::come_back, groups::set, groups::list, groups::remove,
        server_log::events,
        proofs::chain, proofs::checkpoints, proofs::checkpoint, proofs::proof, proofs::consistency, proofs::sign, export::export,
        receipts::issue, receipts::read, receipts::consume, receipts::revoke, redactions::redact, holds::place, holds::list, holds::lift,
        discovery::openintent, discovery::compat, discovery::placet, discovery::server_config, openapi, health::healthz, health::readyz,
        metrics::metrics,
    ),
    tags(
        (name = "suspensions", description = "Ask a person, wait for the answer, answer, withdraw (RFC-0025 §8, §9)."),
        (name = "lifecycle", description = "Pause the work of an agent, and let it go on."),
        (name = "deliveries", description = "How a question reaches people: each message, its state, and whether it came back."),
        (name = "intents", description = "The work of an agent: create, read, patch the state, change the status (RFC-0001)."),
        (name = "events", description = "The log of an intent, each event chained to the one before by hashes (RFC-0019)."),
        (name = "leases", description = "Which agent works on which part of an intent's state (RFC-0003)."),
        (name = "agents", description = "Which agents work on an intent beside its creator (RFC-0003)."),
        (name = "access", description = "Which other agents may read an intent, work on it or manage its access control list (RFC-0011)."),
        (name = "governance", description = "The rules that an intent sets for the work on it (RFC-0013)."),
        (name = "graph", description = "Which intents an intent needs: its children and its dependencies (RFC-0002)."),
        (name = "approvals", description = "People approve an action while the intent goes on (RFC-0013)."),
        (name = "escalations", description = "People say how to go on while the intent goes on (RFC-0013)."),
        (name = "arbitration", description = "People settle a conflict while the intent goes on (RFC-0013)."),
        (name = "records", description = "Data that agents keep with an intent. The server shows it; a policy can bound the costs (RFC-0005, RFC-0009, RFC-0010, RFC-0013)."),
        (name = "portfolios", description = "Intents that belong together, under one name (RFC-0007)."),
        (name = "tasks", description = "The parts into which an agent divides the work of an intent (RFC-0012)."),
        (name = "plans", description = "Tasks that are worked on together, with checkpoints at which people decide (RFC-0012)."),
        (name = "coordinators", description = "The agents that direct the work of intents, within guardrails, and their decisions (RFC-0013)."),
        (name = "streams", description = "Events as they happen, for the OpenIntent client: server-sent events, with `Last-Event-ID`. Every refusal is held for five seconds."),
        (name = "subscriptions", description = "Endpoints that are told of the events of an intent (RFC-0006)."),
        (name = "keys", description = "API keys, for admins."),
        (name = "people", description = "The people who are listed, with their roles and groups. For admins."),
        (name = "groups", description = "Groups of listed people. For admins."),
        (name = "server", description = "The server's own log: who made, imported and revoked keys, and who changed people and groups, in one chain. For admins and auditors."),
        (name = "receipts", description = "Receipts of decisions: a third party checks one offline before it acts, and uses it once."),
        (name = "proofs", description = "Checkpoints of one tree over all events, and proofs that lead from an event to them (RFC-0019, RFC 9162)."),
        (name = "discovery", description = "What this server is. No key is needed."),
        (name = "health", description = "Whether the server lives and can do its work, and its metrics. Only the metrics need a key."),
    ),
    components(schemas(domain::wire::ProblemBody)),
    security(("api_key" = []))
)]
struct Description;

/// The facts that a reader must know before the first call.
const INTRODUCTION: &str = "A human-in-the-loop approval server: OpenIntent RFC-0025 and RFC-0026. An agent suspends its intent \
    with a question, people are told, one of them answers, and the agent goes on with the answer.\n\n\
    Two surfaces share one store. OpenIntent's (`/api/v1/intents/…`, also without the prefix, and `/api/v1/server/config`) writes times \
    as naive UTC, errors as `{\"detail\", \"message\", \"code\"}`, and ignores unknown fields. Placet's own (`/api/v1/suspensions/…`, \
    `/api/v1/intents/{intent_id}/suspend`, `/api/v1/keys/…`) writes times as RFC 3339 with `Z`, errors as `application/problem+json`, \
    and refuses unknown fields. `code` is stable on both.\n\n\
    Checks come in this order: 401, 413 and 415, 422 for malformed JSON, 404 (does not exist, or may not be read: the same body), 403, \
    400 for a missing `If-Match`, a repeated `Idempotency-Key`, 422 for fields, 409, 422 for the value. A method a path does not know is \
    405 with `Allow`; every answer carries `X-Request-Id`.";

static DOCUMENT: LazyLock<Value> = LazyLock::new(describe);

/// The description of every route.
pub fn document() -> &'static Value {
    &DOCUMENT
}

fn describe() -> Value {
    // A description that cannot be written as JSON would be a bug of the library; the test that reads it would find it.
    let mut document = serde_json::to_value(Description::openapi()).unwrap_or_default();
    document["info"]["description"] = json!(INTRODUCTION);
    document["components"]["securitySchemes"] = json!({ "api_key": {
        "type": "apiKey", "in": "header", "name": "X-API-Key",
        "description": "Made with `placet keys create`, or with `POST /api/v1/keys`. Its role decides what it may do.",
    }, "bearer": {
        "type": "http", "scheme": "bearer", "description": "The same key, as Prometheus sends it. For `/metrics` only.",
    }});
    let components = refusals::components();
    for (kind, parts) in components {
        for (name, part) in parts.as_object().into_iter().flatten() {
            document["components"][&kind][name] = part.clone();
        }
    }
    let declared = Routes::declared(super::declare);
    let schemas = document["components"]["schemas"].clone();
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    for (path, item) in paths {
        for (method, operation) in item.as_object_mut().into_iter().flatten() {
            let route = declared.iter().find(|route| route.path == *path && route.method.as_str().eq_ignore_ascii_case(method));
            complete(path, method, route, &schemas, operation);
        }
    }
    document
}

/// Whether an absent body, which counts as an empty object, can be enough for an operation: its body's schema requires no field.
fn takes_no_body(operation: &Value, schemas: &Value) -> bool {
    let Some(reference) = operation.pointer("/requestBody/content/application~1json/schema/$ref").and_then(Value::as_str) else {
        return false;
    };
    let schema = &schemas[reference.rsplit('/').next().unwrap_or_default()];
    schema["type"] == "object" && schema["required"].as_array().is_none_or(Vec::is_empty)
}

/// Adds to an operation the facts that its handler does not know.
fn complete(path: &str, method: &str, route: Option<&Declared>, schemas: &Value, operation: &mut Value) {
    let keyed = route.is_some_and(|route| route.is_keyed);
    let surface = route.map_or(Surface::Ours, |route| route.surface);
    if !keyed {
        operation["security"] = json!([]);
    }
    // The handler's name alone is not unique.
    operation["operationId"] = json!(format!("{}_{}", text(&operation["tags"][0]), text(&operation["operationId"])));
    for parameter in operation.get_mut("parameters").and_then(Value::as_array_mut).into_iter().flatten() {
        parameters::complete(path, parameter);
    }
    let bodied = operation.get("requestBody").is_some();
    if let Some(example) = examples::body(text(&operation["operationId"])) {
        operation["requestBody"]["content"]["application/json"]["example"] = example;
    }
    if takes_no_body(operation, schemas) {
        operation["requestBody"]["required"] = json!(false);
    }
    refusals::complete(surface, keyed, bodied, &mut operation["responses"]);
    let served = &mut operation["responses"]["200"];
    if let Some(version) = versioned(path, method) {
        served["headers"]["ETag"] = json!({
            "description": format!("The {version}'s version, for `If-Match`."), "required": true,
            "schema": { "type": "string", "pattern": "^\"[0-9]+\"$" }, "example": "\"3\"",
        });
    }
    if let Some(links) = links(path, method) {
        served["links"] = links;
    }
    for response in operation["responses"].as_object_mut().into_iter().flat_map(Map::values_mut) {
        response["headers"]["X-Request-Id"] = json!({ "$ref": "#/components/headers/RequestId" });
    }
}

/// The thing whose version is the `ETag` of an operation, if the operation has one.
fn versioned(path: &str, method: &str) -> Option<&'static str> {
    match (method, path) {
        ("post", "/api/v1/intents" | "/api/v1/intents/{intent_id}/children" | "/api/v1/intents/{intent_id}/dependencies")
        | ("get", "/api/v1/intents/{intent_id}")
        | ("delete", "/api/v1/intents/{intent_id}/dependencies/{dependency_id}")
        | ("put" | "delete", "/api/v1/intents/{intent_id}/governance") => Some("intent"),
        ("post", path) if ["/state", "/status", "/suspend", "/respond"].iter().any(|end| path.ends_with(end)) => Some("intent"),
        // The lists of messages and drafts and the receipt have no version: they can change without a new version of their suspension.
        ("get", "/api/v1/suspensions/{suspension_id}/deliveries" | "/api/v1/suspensions/{suspension_id}/drafts")
        | ("post", "/api/v1/suspensions/{suspension_id}/receipt") => None,
        ("get" | "post", path) if path.starts_with("/api/v1/suspensions/{suspension_id}") => Some("suspension"),
        _ => None,
    }
}

/// The `OpenAPI` links of an operation: the operations that can take members of its answer as their parameters.
fn links(path: &str, method: &str) -> Option<Value> {
    let intent = json!({ "intent_id": "$response.body#/id" });
    let versioned = json!({ "intent_id": "$response.body#/id", "header.If-Match": "$response.header.ETag" });
    let suspension = json!({ "suspension_id": "$response.body#/id" });
    match (method, path) {
        ("post", "/api/v1/intents") => Some(json!({
            "read": { "operationId": "intents_get", "parameters": intent },
            "patch": { "operationId": "intents_patch_state", "parameters": versioned },
            "move": { "operationId": "intents_set_status", "parameters": versioned },
            "ask": { "operationId": "suspensions_suspend", "parameters": intent },
            "log": { "operationId": "events_list", "parameters": intent },
            "lease": { "operationId": "leases_acquire", "parameters": intent },
        })),
        ("post", "/api/v1/intents/{intent_id}/suspend") => Some(json!({
            "wait": { "operationId": "suspensions_get", "parameters": suspension },
            "extend": { "operationId": "suspensions_extend", "parameters": suspension },
            "remind": { "operationId": "suspensions_remind", "parameters": suspension },
            "withdraw": { "operationId": "suspensions_cancel", "parameters": suspension },
            "messages": { "operationId": "deliveries_list", "parameters": suspension },
            "answer": {
                "operationId": "suspensions_respond_to",
                "parameters": { "intent_id": "$response.body#/intent_id" },
                "requestBody": { "suspension_id": "$response.body#/id", "value": "approve" },
            },
        })),
        ("post", "/api/v1/keys") => {
            Some(json!({ "revoke": { "operationId": "keys_revoke", "parameters": { "key_id": "$response.body#/id" } } }))
        }
        _ => None,
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.open(Surface::Ours, "/openapi.json", [(Method::GET, web::to(openapi))]);
}

/// Describes every route of this server.
#[utoipa::path(get, path = "/openapi.json", tag = "discovery", responses((status = 200, description = "An OpenAPI 3.1 document", body = Object)))]
pub(super) async fn openapi() -> HttpResponse {
    HttpResponse::Ok().json(document())
}
