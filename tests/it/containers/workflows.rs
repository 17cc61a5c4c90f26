//! The contract of a phase of a workflow: no agent begins without the inputs, and no intent is completed without the outputs.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::base::ids::IntentId;
use domain::intent::contract::{CONTRACT_KEYS_MAX, CONTRACT_TEXT_MAX};
use harness::api::{Api, Reply};
use harness::on_each_store;
use serde_json::{Map, Value, json};

const INTENTS: &str = "api/v1/intents";

/// A phase with this title and state that depends on these.
async fn phase(api: &Api, title: &str, depends_on: &[IntentId], state: Value) -> IntentId {
    let body = json!({"title": title, "status": "active", "depends_on": depends_on, "state": state});
    api.post(INTENTS, body).await.ok()["id"].as_str().unwrap().parse().unwrap()
}

async fn draft(api: &Api, state: Value) -> Reply {
    api.post(INTENTS, json!({"title": "draft", "state": state})).await
}

async fn patch(api: &Api, intent: IntentId, patches: Value) -> Reply {
    let version = api.intent(intent).await["version"].to_string();
    api.post_at(&format!("{INTENTS}/{intent}/state"), &version, json!({"patches": patches})).await
}

async fn set(api: &Api, intent: IntentId, path: &str, value: Value) -> Reply {
    patch(api, intent, json!([{"op": "set", "path": path, "value": value}])).await
}

async fn status(api: &Api, intent: IntentId, status: &str) -> Reply {
    let version = api.intent(intent).await["version"].to_string();
    api.post_at(&format!("{INTENTS}/{intent}/status"), &version, json!({"status": status, "reason": "test"})).await
}

async fn claim(api: &Api, intent: IntentId, scope: &str) -> Reply {
    api.post(&format!("{INTENTS}/{intent}/leases"), json!({"scope": scope, "duration_seconds": 60})).await
}

async fn has_no_lease(api: &Api, intent: IntentId) -> bool {
    api.get(&format!("{INTENTS}/{intent}/leases")).await.ok()["leases"] == json!([])
}

/// The inputs of a phase `report` that needs the phase `review`, whose intent has another title.
fn wired() -> Value {
    json!({
        "_io_inputs": {"verdict": "review.verdict", "who": "$trigger.who", "limit": "$initial_state.limit"},
        "_io_dep_title_to_name": {"Compliance review": "review"},
    })
}

fn unresolvable(refused: &Reply) -> Vec<&str> {
    assert_eq!(refused.problem(), (422, "io_inputs"));
    let detail = &refused.body["detail"];
    assert_eq!((&detail["error"], &detail["rule"]), (&json!("UnresolvableInputError"), &json!("io_inputs")));
    detail["unresolvable"].as_array().unwrap().iter().map(|source| source.as_str().unwrap()).collect()
}

on_each_store! {
    /// RFC-0026: no agent begins a phase whose input comes from one that waits for a person. The refusal names that intent and the time
    /// until which it waits, and leaves no lease.
    async fn a_phase_whose_input_waits_for_a_person_is_claimed_by_no_agent(app: &mut TestApp) {
        let api = app.agent();
        let review = phase(&api, "Compliance review", &[], json!({})).await;
        let report = phase(&api, "Report", &[review], json!({"who": "ops", "limit": 5, "_io_inputs": {"verdict": "Compliance review.verdict"}})).await;
        let asked = api.asked(review).await;
        app.restart().await;
        let refused = claim(&api, report, "work").await;
        assert_eq!(refused.problem(), (422, "io_upstream_suspended"));
        let detail = &refused.body["detail"];
        assert_eq!(*detail, json!({
            "error": "UpstreamIntentSuspendedError", "rule": "upstream_intent_suspended", "message": refused.body["message"],
            "task_id": report, "phase_name": "Report", "suspended_intent_id": review,
            "expected_resume_at": "2026-11-24T09:00:00.000000",
        }));
        assert!(has_no_lease(&api, report).await);
        // A phase that takes nothing from the review is not held up.
        let other = phase(&api, "Other", &[review], json!({"_io_inputs": {}})).await;
        claim(&api, other, "work").await.ok();
        // The answer alone does not finish the review.
        app.operator().respond(review, &asked, "approve").await.ok();
        assert_eq!(unresolvable(&claim(&api, report, "work").await), ["Compliance review.verdict"]);
        set(&api, review, "verdict", json!(null)).await.ok();
        status(&api, review, "completed").await.ok();
        claim(&api, report, "work").await.ok();
    }

    /// A phase is begun when all its inputs are there: keys of completed dependencies, by the name of the phase or its title, and keys
    /// of its own state that are not null.
    async fn a_phase_is_claimed_when_all_its_inputs_are_there(app: &mut TestApp) {
        let api = app.agent();
        let review = phase(&api, "Compliance review", &[], json!({"verdict": "fine"})).await;
        let report = phase(&api, "Report", &[review], wired()).await;
        let before = api.everything(report).await;
        let all = ["$initial_state.limit", "$trigger.who", "review.verdict"];
        let mut refused = claim(&api, report, "work").await;
        let mut missing = unresolvable(&refused);
        missing.sort_unstable();
        assert_eq!(missing, all);
        assert_eq!(api.everything(report).await, before);
        assert!(has_no_lease(&api, report).await);
        status(&api, review, "completed").await.ok();
        set(&api, report, "who", json!(null)).await.ok();
        set(&api, report, "limit", json!(0)).await.ok();
        app.restart().await;
        refused = claim(&api, report, "work").await;
        assert_eq!(unresolvable(&refused), ["$trigger.who"]);
        set(&api, report, "who", json!("ops")).await.ok();
        claim(&api, report, "work").await.ok();
        // A lease that is held is only prolonged, whatever has become of the inputs.
        patch(&api, review, json!([{"op": "remove", "path": "verdict"}])).await.ok();
        claim(&api, report, "work").await.ok();
        app.advance(61).await;
        assert_eq!(unresolvable(&claim(&api, report, "work").await), ["review.verdict"]);
    }

    /// An agent cannot put a completed intent in place of the one that is still open: if several dependencies are called so, each must have
    /// the input. The name that the contract gives to a title counts before the title.
    async fn a_namesake_does_not_stand_in_for_a_dependency(app: &mut TestApp) {
        let api = app.agent();
        let review = phase(&api, "review", &[], json!({})).await;
        let report = phase(&api, "Report", &[review], json!({"_io_inputs": {"verdict": "review.verdict"}})).await;
        let namesake = phase(&api, "review", &[], json!({"verdict": "fine"})).await;
        status(&api, namesake, "completed").await.ok();
        let version = api.intent(report).await["version"].to_string();
        api.post_at(&format!("{INTENTS}/{report}/dependencies"), &version, json!({"dependency_id": namesake})).await.ok();
        assert_eq!(unresolvable(&claim(&api, report, "work").await), ["review.verdict"]);
        api.asked(review).await;
        assert_eq!(claim(&api, report, "work").await.problem(), (422, "io_upstream_suspended"));

        // The open namesake is another phase for this contract, so it does not count, although it waits for a person.
        let names = json!({"review": "fetch", "Compliance review": "review"});
        let real = phase(&api, "Compliance review", &[], json!({})).await;
        let state = json!({"_io_inputs": {"verdict": "review.verdict"}, "_io_dep_title_to_name": names});
        let named = phase(&api, "Report", &[review, namesake, real], state).await;
        assert_eq!(unresolvable(&claim(&api, named, "work").await), ["review.verdict"]);
        set(&api, real, "verdict", json!("fine")).await.ok();
        status(&api, real, "completed").await.ok();
        claim(&api, named, "work").await.ok();

        // Nor does a completed intent stand in because the contract names its title.
        let state = json!({"_io_inputs": {"verdict": "review.verdict"}, "_io_dep_title_to_name": {"Compliance review": "review"}});
        let third = phase(&api, "Report", &[review, real], state).await;
        assert_eq!(claim(&api, third, "work").await.problem(), (422, "io_upstream_suspended"));
    }

    /// A dependency that the phase does not have is no source, even if an intent with that title is completed.
    async fn only_a_dependency_is_a_source(app: &mut TestApp) {
        let api = app.agent();
        let stranger = phase(&api, "review", &[], json!({"verdict": "fine"})).await;
        status(&api, stranger, "completed").await.ok();
        let report = phase(&api, "Report", &[], json!({"_io_inputs": {"verdict": "review.verdict"}})).await;
        assert_eq!(unresolvable(&claim(&api, report, "work").await), ["review.verdict"]);
    }

    /// RFC-0024: the outputs are there, and of their types, before an intent is completed. A refused completion changes nothing.
    async fn an_intent_is_completed_only_with_its_outputs(app: &mut TestApp) {
        let api = app.agent();
        let outputs = json!({
            "name": "string", "count": "number", "done": {"type": "boolean"}, "note": {"type": "string", "required": false},
            "risk": "Risk", "person": "Person", "free": "any", "new": "NoSuchType", "list": "array", "map": {"type": "object"},
        });
        let types = json!({"Risk": {"enum": ["low", "high"]}, "Person": {"name": "string", "mail": "string"}});
        let intent = phase(&api, "Work", &[], json!({"_io_outputs": outputs, "_io_types": types})).await;
        let before = api.everything(intent).await;
        let refused = status(&api, intent, "completed").await;
        assert_eq!(refused.problem(), (422, "io_outputs"));
        let detail = &refused.body["detail"];
        assert_eq!((&detail["error"], &detail["rule"], &detail["type_errors"]), (&json!("MissingOutputError"), &json!("io_outputs"), &json!([])));
        let mut missing: Vec<_> = detail["missing"].as_array().unwrap().iter().map(|key| key.as_str().unwrap()).collect();
        missing.sort_unstable();
        assert_eq!(missing, ["count", "done", "free", "list", "map", "name", "new", "person", "risk"]);
        assert_eq!(api.everything(intent).await, before);

        let right = json!({
            "name": "x", "count": 1.5, "done": false, "risk": "low", "person": {"name": "A", "mail": "a@example.com", "more": 1},
            "free": null, "new": [], "list": [], "map": {},
        });
        let set_all: Vec<_> = right.as_object().unwrap().iter().map(|(key, value)| json!({"op": "set", "path": key, "value": value})).collect();
        patch(&api, intent, json!(set_all)).await.ok();
        let wrong = [
            ("name", json!(1), "string"), ("count", json!(true), "number"), ("count", json!("1"), "number"), ("done", json!(0), "boolean"),
            ("note", json!(null), "string"), ("risk", json!("middle"), "Risk"), ("person", json!({"name": "A"}), "mail"),
            ("person", json!("A"), "Person"), ("list", json!({}), "array"), ("map", json!([]), "object"),
        ];
        for (key, value, named) in wrong {
            let kept = api.intent(intent).await["state"][key].clone();
            set(&api, intent, key, value).await.ok();
            let refused = status(&api, intent, "completed").await;
            let detail = &refused.body["detail"];
            assert_eq!((&detail["error"], &detail["missing"]), (&json!("OutputTypeMismatchError"), &json!([])), "{key}");
            let [one] = &detail["type_errors"].as_array().unwrap()[..] else { panic!("{detail}") };
            assert!(one.as_str().unwrap().starts_with(&format!("{key}: ")) && one.as_str().unwrap().contains(named), "{one}");
            assert_eq!(api.status(intent).await, "active");
            let mend = if kept.is_null() { json!({"op": "remove", "path": key}) } else { json!({"op": "set", "path": key, "value": kept}) };
            patch(&api, intent, json!([mend])).await.ok();
        }
        app.restart().await;
        assert_eq!(status(&api, intent, "completed").await.ok()["status"], "completed");
        // Other intents may read the outputs from then on, so they stay.
        for patches in [json!([{"op": "remove", "path": "name"}]), json!([{"op": "set", "path": "count", "value": "1"}])] {
            assert_eq!(patch(&api, intent, patches).await.problem(), (422, "io_outputs"));
        }
        set(&api, intent, "count", json!(2)).await.ok();
        set(&api, intent, "more", json!(1)).await.ok();
    }

    /// A person may complete an intent without its dependencies, but not without the outputs on which other intents rely.
    async fn a_person_completes_no_intent_without_its_outputs(app: &mut TestApp) {
        let api = app.agent();
        let waits_for = api.active_intent().await;
        let intent = phase(&api, "Work", &[waits_for], json!({"_io_outputs": {"verdict": "string"}})).await;
        let operator = app.operator();
        assert_eq!(status(&operator, intent, "completed").await.problem(), (422, "io_outputs"));
        set(&api, intent, "verdict", json!("fine")).await.ok();
        status(&operator, intent, "completed").await.ok();
    }

    /// Others rely on a contract, so it can be changed only while the intent is a draft, and never into one that cannot be read.
    async fn a_contract_is_frozen_after_the_draft(app: &mut TestApp) {
        let api = app.agent();
        let intent: IntentId = draft(&api, json!({"_io_outputs": {"a": "string"}})).await.ok()["id"].as_str().unwrap().parse().unwrap();
        set(&api, intent, "_io_outputs/b", json!("number")).await.ok();
        let before = api.everything(intent).await;
        for (path, value) in [("_io_outputs/b", json!(3)), ("/_io_inputs", json!(["a"])), ("_io_types", json!({"T": "x"}))] {
            assert_eq!(set(&api, intent, path, value).await.problem(), (422, "invalid"), "{path}");
        }
        assert_eq!(api.everything(intent).await, before);
        status(&api, intent, "active").await.ok();
        let before = api.everything(intent).await;
        for patches in [
            json!([{"op": "remove", "path": "_io_outputs"}]),
            json!([{"op": "set", "path": "//_io_outputs/a", "value": "any"}]),
            json!([{"op": "append", "path": "_io_inputs", "value": "x"}]),
            json!([{"op": "set", "path": "fine", "value": 1}, {"op": "set", "path": "_io_new", "value": 1}]),
        ] {
            assert_eq!(patch(&api, intent, patches).await.problem(), (409, "io_contract_frozen"));
        }
        assert_eq!(api.everything(intent).await, before);
        set(&api, intent, "outputs", json!({"_io_outputs": 1})).await.ok();
    }

    /// A contract that cannot be read is refused when the intent is made, with the place of each flaw.
    async fn a_contract_is_read_when_the_intent_is_made(app: &mut TestApp) {
        let api = app.agent();
        for (state, field, rule) in [
            (json!({"_io_inputs": ["a"]}), "state._io_inputs", "type"),
            (json!({"_io_inputs": {"a": 1}}), "state._io_inputs.a", "value"),
            (json!({"_io_inputs": {"a": "nodot"}}), "state._io_inputs.a", "value"),
            (json!({"_io_inputs": {"a": "$other.key"}}), "state._io_inputs.a", "value"),
            (json!({"_io_inputs": {"a": "$trigger."}}), "state._io_inputs.a", "value"),
            (json!({"_io_inputs": {"a": ".key"}}), "state._io_inputs.a", "value"),
            (json!({"_io_outputs": "string"}), "state._io_outputs", "type"),
            (json!({"_io_outputs": {"a": ["string"]}}), "state._io_outputs.a", "value"),
            (json!({"_io_outputs": {"a": {"type": 1}}}), "state._io_outputs.a", "value"),
            (json!({"_io_outputs": {"a": {"required": "no"}}}), "state._io_outputs.a", "value"),
            (json!({"_io_outputs": {"a": {"typ": "string"}}}), "state._io_outputs.a", "value"),
            (json!({"_io_types": {"T": ["low"]}}), "state._io_types.T", "value"),
            (json!({"_io_types": {"T": {"enum": "low"}}}), "state._io_types.T", "value"),
            (json!({"_io_types": {"T": {"enum": []}}}), "state._io_types.T", "value"),
            (json!({"_io_dep_title_to_name": {"T": null}}), "state._io_dep_title_to_name.T", "value"),
        ] {
            let refused = draft(&api, state).await;
            let (status, code, at, broken) = refused.field_problem();
            assert_eq!((status, code, at, broken), (422, "invalid", field, rule));
        }
        let long = |chars: usize| format!("$trigger.{}", "x".repeat(chars - "$trigger.".len()));
        draft(&api, json!({"_io_inputs": {"a": long(CONTRACT_TEXT_MAX)}})).await.ok();
        let refused = draft(&api, json!({"_io_inputs": {"a": long(CONTRACT_TEXT_MAX + 1)}})).await;
        assert_eq!(refused.field_problem(), (422, "invalid", "state._io_inputs", "length"));
        let many = |count: usize| (0..count).map(|n| (format!("k{n}"), json!("any"))).collect::<Map<_, _>>();
        draft(&api, json!({"_io_outputs": many(CONTRACT_KEYS_MAX)})).await.ok();
        let refused = draft(&api, json!({"_io_outputs": many(CONTRACT_KEYS_MAX + 1)})).await;
        assert_eq!(refused.field_problem(), (422, "invalid", "state._io_outputs", "count"));
    }
}
