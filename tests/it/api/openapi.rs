//! Compares the description of the interface with the interface itself.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use domain::base::clock::Clock as _;
use domain::people::principal::Role;
use harness::on_each_store;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::Value;
use sha2::Sha256;

/// Every route and method of the server, except aliases and HTML pages. A new route must be added to this list and to the
/// description.
const ROUTES: [&str; 163] = [
    "get /.well-known/openintent-compat.json",
    "get /.well-known/openintent.json",
    "get /.well-known/placet.json",
    "post /api/v1/admin/checkpoints",
    "get /api/v1/agents/{agent_id}/subscribe",
    "get /api/v1/checkpoints",
    "get /api/v1/checkpoints/{checkpoint_id}",
    "post /api/v1/checkpoints/{checkpoint_id}/approve",
    "get /api/v1/checkpoints/{checkpoint_id}/proof/{event_id}",
    "post /api/v1/checkpoints/{checkpoint_id}/reject",
    "post /api/v1/coordinators",
    "get /api/v1/coordinators/{coordinator_id}",
    "post /api/v1/coordinators/{coordinator_id}/heartbeat",
    "post /api/v1/decisions",
    "get /api/v1/deliveries",
    "post /api/v1/deliveries/bounces",
    "post /api/v1/deliveries/{delivery_id}/redrive",
    "get /api/v1/escalations",
    "post /api/v1/escalations/{escalation_id}/resolve",
    "post /api/v1/events",
    "get /api/v1/export",
    "get /api/v1/groups",
    "delete /api/v1/groups/{group}",
    "put /api/v1/groups/{group}",
    "get /api/v1/holds",
    "post /api/v1/holds",
    "delete /api/v1/holds/{hold_id}",
    "get /api/v1/intents",
    "post /api/v1/intents",
    "get /api/v1/intents/{intent_id}",
    "get /api/v1/intents/{intent_id}/access-requests",
    "post /api/v1/intents/{intent_id}/access-requests",
    "post /api/v1/intents/{intent_id}/access-requests/{request_id}/approve",
    "post /api/v1/intents/{intent_id}/access-requests/{request_id}/deny",
    "get /api/v1/intents/{intent_id}/acl",
    "put /api/v1/intents/{intent_id}/acl",
    "post /api/v1/intents/{intent_id}/acl/entries",
    "delete /api/v1/intents/{intent_id}/acl/entries/{entry_id}",
    "get /api/v1/intents/{intent_id}/agents",
    "post /api/v1/intents/{intent_id}/agents",
    "delete /api/v1/intents/{intent_id}/agents/{agent_id}",
    "get /api/v1/intents/{intent_id}/ancestors",
    "get /api/v1/intents/{intent_id}/approvals",
    "post /api/v1/intents/{intent_id}/approvals",
    "get /api/v1/intents/{intent_id}/approvals/{approval_id}",
    "post /api/v1/intents/{intent_id}/approvals/{approval_id}/approve",
    "post /api/v1/intents/{intent_id}/approvals/{approval_id}/deny",
    "post /api/v1/intents/{intent_id}/arbitrate",
    "get /api/v1/intents/{intent_id}/attachments",
    "post /api/v1/intents/{intent_id}/attachments",
    "delete /api/v1/intents/{intent_id}/attachments/{attachment_id}",
    "get /api/v1/intents/{intent_id}/blocked",
    "get /api/v1/intents/{intent_id}/children",
    "post /api/v1/intents/{intent_id}/children",
    "get /api/v1/intents/{intent_id}/coordinator-decisions",
    "get /api/v1/intents/{intent_id}/coordinators",
    "get /api/v1/intents/{intent_id}/costs",
    "post /api/v1/intents/{intent_id}/costs",
    "get /api/v1/intents/{intent_id}/decisions",
    "post /api/v1/intents/{intent_id}/decisions",
    "get /api/v1/intents/{intent_id}/dependencies",
    "post /api/v1/intents/{intent_id}/dependencies",
    "delete /api/v1/intents/{intent_id}/dependencies/{dependency_id}",
    "get /api/v1/intents/{intent_id}/dependents",
    "get /api/v1/intents/{intent_id}/descendants",
    "post /api/v1/intents/{intent_id}/escalations",
    "get /api/v1/intents/{intent_id}/events",
    "post /api/v1/intents/{intent_id}/events",
    "get /api/v1/intents/{intent_id}/events/verify",
    "get /api/v1/intents/{intent_id}/failures",
    "post /api/v1/intents/{intent_id}/failures",
    "delete /api/v1/intents/{intent_id}/governance",
    "get /api/v1/intents/{intent_id}/governance",
    "put /api/v1/intents/{intent_id}/governance",
    "get /api/v1/intents/{intent_id}/graph",
    "get /api/v1/intents/{intent_id}/leases",
    "post /api/v1/intents/{intent_id}/leases",
    "delete /api/v1/intents/{intent_id}/leases/{lease_id}",
    "patch /api/v1/intents/{intent_id}/leases/{lease_id}",
    "post /api/v1/intents/{intent_id}/park",
    "post /api/v1/intents/{intent_id}/pause",
    "get /api/v1/intents/{intent_id}/plans",
    "get /api/v1/intents/{intent_id}/portfolios",
    "get /api/v1/intents/{intent_id}/ready",
    "post /api/v1/intents/{intent_id}/redact",
    "get /api/v1/intents/{intent_id}/retry-policy",
    "put /api/v1/intents/{intent_id}/retry-policy",
    "post /api/v1/intents/{intent_id}/state",
    "post /api/v1/intents/{intent_id}/status",
    "post /api/v1/intents/{intent_id}/stop",
    "get /api/v1/intents/{intent_id}/subscribe",
    "post /api/v1/intents/{intent_id}/suspend",
    "post /api/v1/intents/{intent_id}/suspend/respond",
    "get /api/v1/intents/{intent_id}/tasks",
    "get /api/v1/keys",
    "post /api/v1/keys",
    "delete /api/v1/keys/{key_id}",
    "get /api/v1/lifecycle-receipts",
    "post /api/v1/lifecycle-receipts/verify",
    "get /api/v1/people",
    "post /api/v1/people",
    "delete /api/v1/people/{person_id}",
    "patch /api/v1/people/{person_id}",
    "delete /api/v1/people/{person_id}/out_of_office",
    "put /api/v1/people/{person_id}/out_of_office",
    "post /api/v1/plans",
    "get /api/v1/plans/{plan_id}",
    "patch /api/v1/plans/{plan_id}",
    "post /api/v1/plans/{plan_id}/activate",
    "post /api/v1/plans/{plan_id}/cancel",
    "post /api/v1/plans/{plan_id}/pause",
    "post /api/v1/plans/{plan_id}/resume",
    "get /api/v1/portfolios",
    "post /api/v1/portfolios",
    "get /api/v1/portfolios/{portfolio_id}",
    "patch /api/v1/portfolios/{portfolio_id}",
    "get /api/v1/portfolios/{portfolio_id}/events",
    "get /api/v1/portfolios/{portfolio_id}/intents",
    "post /api/v1/portfolios/{portfolio_id}/intents",
    "delete /api/v1/portfolios/{portfolio_id}/intents/{intent_id}",
    "patch /api/v1/portfolios/{portfolio_id}/status",
    "get /api/v1/portfolios/{portfolio_id}/subscribe",
    "get /api/v1/receipts/{receipt_id}",
    "post /api/v1/receipts/{receipt_id}/consume",
    "post /api/v1/receipts/{receipt_id}/revoke",
    "get /api/v1/server/config",
    "get /api/v1/server/events",
    "get /api/v1/subscribe/intents/{intent_id}",
    "get /api/v1/subscriptions",
    "post /api/v1/subscriptions",
    "delete /api/v1/subscriptions/{subscription_id}",
    "get /api/v1/suspensions",
    "post /api/v1/suspensions/preview",
    "get /api/v1/suspensions/{suspension_id}",
    "post /api/v1/suspensions/{suspension_id}/cancel",
    "post /api/v1/suspensions/{suspension_id}/claim",
    "post /api/v1/suspensions/{suspension_id}/delegate",
    "get /api/v1/suspensions/{suspension_id}/deliveries",
    "put /api/v1/suspensions/{suspension_id}/draft",
    "get /api/v1/suspensions/{suspension_id}/drafts",
    "post /api/v1/suspensions/{suspension_id}/extend",
    "post /api/v1/suspensions/{suspension_id}/reassign",
    "post /api/v1/suspensions/{suspension_id}/receipt",
    "post /api/v1/suspensions/{suspension_id}/release",
    "post /api/v1/suspensions/{suspension_id}/remind",
    "post /api/v1/suspensions/{suspension_id}/resume",
    "post /api/v1/suspensions/{suspension_id}/settle",
    "post /api/v1/suspensions/{suspension_id}/take-back",
    "post /api/v1/suspensions:broadcast",
    "post /api/v1/tasks",
    "get /api/v1/tasks/{task_id}",
    "patch /api/v1/tasks/{task_id}",
    "post /api/v1/tasks/{task_id}/claim",
    "post /api/v1/tasks/{task_id}/complete",
    "post /api/v1/tasks/{task_id}/delegate",
    "post /api/v1/tasks/{task_id}/escalate",
    "post /api/v1/tasks/{task_id}/fail",
    "post /api/v1/tasks/{task_id}/progress",
    "get /api/v1/verify/consistency",
    "get /healthz",
    "get /metrics",
    "get /openapi.json",
    "get /readyz",
];
const METHODS: [&str; 5] = ["delete", "get", "patch", "post", "put"];

/// The operations of a description, each by method and path.
fn operations(description: &Value) -> Vec<(String, &Value)> {
    let paths = description["paths"].as_object().unwrap().iter();
    let mut operations: Vec<(String, &Value)> = paths
        .flat_map(|(path, item)| {
            let methods = METHODS.iter().filter(|method| item.get(*method).is_some());
            methods.map(move |method| (format!("{method} {path}"), &item[*method]))
        })
        .collect();
    operations.sort_by(|a, b| (a.0.split_once(' ').unwrap().1, &a.0).cmp(&(b.0.split_once(' ').unwrap().1, &b.0)));
    operations
}

/// Every `$ref` in a description.
fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get("$ref").and_then(Value::as_str));
            members.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

on_each_store! {
    /// Clients are generated from this document, so a route that it lacks does not exist for them.
    async fn the_description_names_every_route_and_only_those(app: &mut TestApp) {
        let reply = app.anonymous().get("openapi.json").await;
        assert_eq!(reply.headers["content-type"], "application/json");
        let description = reply.ok();
        assert!(description["openapi"].as_str().unwrap().starts_with("3.1."), "{}", description["openapi"]);
        let described: Vec<String> = operations(&description).into_iter().map(|(operation, _)| operation).collect();
        assert_eq!(described, ROUTES);
    }

    /// Each described operation is served, and its path serves no other method. The streams, which do not end, have tests of
    /// their own.
    async fn every_described_route_is_served_and_no_other_method_is(app: &mut TestApp) {
        let admin = app.api(Role::Admin);
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let suspension = agent.asked(intent).await;
        let paths: std::collections::BTreeSet<&str> = ROUTES.iter().map(|route| route.split_once(' ').unwrap().1).filter(|path| !path.contains("/subscribe")).collect();
        for path in paths {
            for method in METHODS {
                let filled = path.replace("{intent_id}", &intent.to_string()).replace("{suspension_id}", &suspension);
                let reply = admin.send(admin.request(&method.to_uppercase(), &filled[1..])).await;
                let served = ROUTES.contains(&format!("{method} {path}").as_str());
                let named = ["{key_id}", "{hold_id}", "{person_id}", "{group}", "{delivery_id}", "{lease_id}", "{dependency_id}", "{attachment_id}", "{agent_id}", "{entry_id}", "{request_id}", "{approval_id}", "{escalation_id}", "{portfolio_id}", "{task_id}", "{plan_id}", "{coordinator_id}", "{subscription_id}", "{receipt_id}", "{checkpoint_id}", "/retry-policy"].iter().any(|id| path.contains(id));
                let unknown = reply.status == 405 || (reply.status == 404 && !named);
                assert_eq!(!unknown, served, "{method} {path}: {}", reply.status);
            }
        }
    }

    /// Each parameter has a description, and each number has bounds. A parameter that is not described by hand would be
    /// documented with the bounds of its Rust type, but the server applies other bounds.
    async fn each_parameter_says_what_it_means_and_its_bounds(app: &mut TestApp) {
        let description = app.anonymous().get("openapi.json").await.ok();
        let parameters = operations(&description).into_iter().flat_map(|(operation, described)| {
            let parameters = described["parameters"].as_array().into_iter().flatten();
            parameters.map(move |parameter| (format!("{operation} {}", parameter["name"]), parameter))
        });
        for (named, parameter) in parameters {
            assert!(parameter["description"].as_str().is_some_and(|text| !text.is_empty()), "{named} has no description");
            let schema = &parameter["schema"];
            let bounded = schema["minimum"].is_u64() && schema["maximum"].is_u64();
            assert!(schema["type"] != "integer" || bounded, "{named} has no bounds: {schema}");
        }
    }

    /// Every possible status is described: 401 where a key is needed, 404 where a thing is named that may not exist, and 422 where a
    /// body is read.
    async fn each_operation_says_what_it_answers(app: &mut TestApp) {
        let description = app.anonymous().get("openapi.json").await.ok();
        for (operation, described) in operations(&description) {
            let has = |status: &str| described["responses"].get(status).is_some();
            let keyed = operation == "get /metrics" || (operation.contains("/api/v1") && !operation.ends_with("/server/config"));
            assert!(has("200") || has("201") || has("204"), "{operation}");
            assert_eq!(has("401"), keyed, "{operation}");
            // A group that does not exist is made.
            assert!(has("404") || !operation.contains('{') || operation == "put /api/v1/groups/{group}", "{operation}");
            assert!(has("422") || described.get("requestBody").is_none(), "{operation}");
            // A request to send a message again has no body, and neither has a heartbeat, or one that moves a plan, or one for a checkpoint.
            let is_bare = operation.ends_with("/redrive") || operation.ends_with("/receipt") || operation == "post /api/v1/admin/checkpoints" || operation.ends_with("/heartbeat") || operation.starts_with("post /api/v1/plans/{plan_id}/");
            let bodied = (operation.starts_with("post") && !is_bare)
                || operation.starts_with("patch")
                || operation.starts_with("put");
            assert_eq!(described.get("requestBody").is_some(), bodied, "{operation}");
            for part in operation.split('{').skip(1) {
                let name = part.split('}').next().unwrap();
                let parameters = described["parameters"].as_array().unwrap();
                assert!(parameters.iter().any(|parameter| parameter["name"] == name && parameter["in"] == "path"), "{operation}");
            }
        }
        let mut found = Vec::new();
        references(&description, &mut found);
        assert!(found.len() > 20);
        for reference in found {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(description.pointer(pointer).is_some(), "{reference} leads nowhere");
        }
    }

    /// The documents that a client reads before it has a key need no key and lead to the rest.
    async fn discovery_needs_no_key(app: &mut TestApp) {
        let anonymous = app.anonymous();
        let about = anonymous.get(".well-known/openintent.json").await.ok();
        assert_eq!(about["openApiUrl"], "/openapi.json");
        for rfc in ["RFC-0025", "RFC-0026"] {
            assert!(about["rfcUrls"].as_array().unwrap().iter().any(|url| url == rfc), "{rfc}");
        }
        assert!(about["capabilities"].as_array().unwrap().iter().any(|capability| capability == "suspension"));
        assert_eq!(anonymous.get(".well-known/openintent-compat.json").await.ok()["implementation"], "placet");
        let config = anonymous.get("api/v1/server/config").await.ok();
        assert_eq!(config["suspension"]["default_retry_policy"], Value::Null);
        assert_eq!(anonymous.get("healthz").await.status, 200);
    }

    /// `placet doctor` sends a challenge to the public URL and checks by the proof whether the URL leads to this server. The
    /// proof for one challenge must not fit another one.
    async fn a_challenge_is_answered_without_a_key_and_only_a_whole_one(app: &mut TestApp) {
        let anonymous = app.anonymous();
        let ask = async |challenge: &str| anonymous.get(&format!(".well-known/placet.json?challenge={challenge}")).await;
        let (first, second) = ("a".repeat(43), "b".repeat(43));
        let proof = ask(&first).await.ok();
        assert_eq!(proof["implementation"], "placet");
        assert_eq!(ask(&first).await.ok()["proof"], proof["proof"]);
        assert_ne!(ask(&second).await.ok()["proof"], proof["proof"]);
        for wrong in ["", &first[1..], &format!("{first}a"), &format!("{}%3D", &first[1..]), &format!("{first}&more=1")] {
            assert_eq!(ask(wrong).await.status, 422, "{wrong}");
        }
        assert_eq!(anonymous.get(".well-known/placet.json").await.status, 422);
        app.restart().await;
        let again = app.anonymous().get(&format!(".well-known/placet.json?challenge={first}")).await.ok();
        assert_eq!(again["proof"], proof["proof"], "it belongs to the database, not to the process");
    }

    /// A program that proves that it can read the database is told the server's settings. It chooses the challenge itself, so
    /// only time limits its proof: a third party that overhears the proof must not be able to use it after two minutes.
    async fn the_proof_of_a_reader_counts_for_two_minutes(app: &mut TestApp) {
        let secret = app.store().secret("instance").await.unwrap();
        let challenge = "a".repeat(43);
        let minute = app.clock.now().timestamp() / 60;
        let told = async |minute: i64| {
            let mac = Hmac::<Sha256>::new_from_slice(&secret).unwrap();
            let mac = mac.chain_update(format!("placet.reader.v1{challenge}.{minute}")).finalize().into_bytes();
            let path = format!(".well-known/placet.json?challenge={challenge}&reader={}", BASE64_URL_SAFE_NO_PAD.encode(mac));
            app.anonymous().get(&path).await.ok()["settings"].is_object()
        };
        assert!(told(minute).await && told(minute - 1).await && told(minute + 1).await, "clocks differ");
        assert!(!told(minute - 2).await && !told(minute + 2).await);
        app.advance(119).await;
        assert!(told(minute).await);
        app.advance(1).await;
        assert!(!told(minute).await, "a third party that has overheard it learns nothing any more");
    }
}
