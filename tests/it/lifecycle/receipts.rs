//! Receipts of stops in Harn's form: made from the log, compared with it, and no proof of a decision.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::asking::attesting::{hex, input_hash};
use domain::people::principal::Role;
use harness::api::{Api, Reply};
use harness::on_each_store;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use super::pausing::{id_of, pause, resume, set_status};

const PATH: &str = "api/v1/lifecycle-receipts";

async fn receipts(api: &Api, id: &str) -> Reply {
    api.get(&format!("{PATH}?subject={id}")).await
}

/// The codes and the members of the differences between a receipt and the log.
async fn differences(api: &Api, receipt: &Value) -> Vec<(String, String)> {
    let verdict = api.post(&format!("{PATH}/verify"), json!({"receipt": receipt})).await.ok();
    let problems = verdict["problems"].as_array().unwrap();
    assert_eq!(verdict["valid"], problems.is_empty());
    let word = |problem: &Value, name: &str| problem[name].as_str().unwrap().to_owned();
    problems.iter().map(|problem| (word(problem, "code"), word(problem, "field"))).collect()
}

fn one(code: &str, field: &str) -> Vec<(String, String)> {
    vec![(code.to_owned(), field.to_owned())]
}

/// The receipt with another value of a member.
fn changed(receipt: &Value, member: &str, value: Value) -> Value {
    let mut receipt = receipt.clone();
    *receipt.pointer_mut(member).unwrap() = value;
    receipt
}

on_each_store! {
    /// A controller that keeps the receipts can show later which stop it ordered and with what the agent went on.
    async fn receipts_say_what_the_log_says(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let id = id_of(&pause(&operator, intent, json!({"reason": "The supplier is checked."})).await.ok());
        let open = receipts(&operator, &id).await.ok();
        assert_eq!(open["receipts"].as_array().unwrap().len(), 1, "{open}");
        app.advance(60).await;
        resume(&operator, &id, json!({"input": {"b": 1, "a": "ä"}, "continue_transcript": false})).await.ok();
        let both = receipts(&agent, &id).await.ok();
        let (began, went_on) = (&both["receipts"][0], &both["receipts"][1]);
        assert_eq!(began, &open["receipts"][0]);
        let events = agent.events(intent).await;
        let event = |wanted: &str| events.iter().find(|event| event["event_type"] == wanted).unwrap();
        let of = |event: &Value| json!({"event_id": event["id"], "event_hash": event["event_hash"]});
        let expected = json!({
            "kind": "suspension_receipt", "handle": id, "session_id": intent, "initiator": "operator", "initiator_id": "test-operator",
            "reason": "The supplier is checked.", "suspended_at": began["suspended_at"], "log": of(event("lifecycle.paused")),
        });
        assert_eq!(began, &expected);
        let expected = json!({
            "kind": "resumption_receipt", "handle": id, "session_id": intent, "initiator": "operator", "initiator_id": "test-operator",
            "input": {"a": "ä", "b": 1}, "input_hash": input_hash(&json!({"a": "ä", "b": 1})), "continue_transcript": false,
            "resumed_at": went_on["resumed_at"], "log": of(event("lifecycle.resumed")),
        });
        assert_eq!(went_on, &expected);
        let stamp = &went_on["resumed_at"];
        assert_eq!((&stamp["at_ms"], &stamp["at"]), (&json!(1_795_507_260_000_i64), &json!("2026-11-24T08:01:00.000000Z")));
        // The code is Harn's: five lines, under a key that the database keeps.
        let secret = app.store().secret("lifecycle-receipts").await.unwrap();
        let lines = format!("harn.lifecycle.timestamp.v1\nkind=resumption_receipt\nat_ms={}\nsubject={id}\ninitiator=operator\n", stamp["at_ms"]);
        let mut mac = Hmac::<Sha256>::new_from_slice(&secret).unwrap();
        mac.update(lines.as_bytes());
        assert_eq!(stamp["signature"], format!("sha256:{}", hex(&mac.finalize().into_bytes())));
        // Harn's own key dies with its process; this one does not.
        app.restart().await;
        assert_eq!(receipts(&agent, &id).await.ok(), both);
        assert_eq!(differences(&agent, began).await, []);
        assert_eq!(differences(&operator, went_on).await, []);
    }

    /// Each change of a receipt is told by its code and its member.
    async fn a_changed_receipt_is_told_by_its_code(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let body = json!({"reason": "r", "conditions": {"trigger": {"kind": "k", "provider": "placet", "match": {"events": ["go"]}}}});
        let id = id_of(&agent.post(&format!("api/v1/intents/{intent}/park"), body).await.ok());
        operator.post("api/v1/events", json!({"name": "go", "payload": {"x": 1}})).await.ok();
        let both = receipts(&agent, &id).await.ok();
        let (began, went_on) = (&both["receipts"][0], &both["receipts"][1]);
        let matched = &went_on["trigger_match"];
        assert_eq!((&went_on["initiator"], &matched["source"], &matched["filter_summary"]), (&json!("triggered"), &json!("placet"), &json!("go")));
        assert_eq!(differences(&agent, went_on).await, []);
        let zeros = json!(format!("sha256:{}", "0".repeat(64)));
        for (receipt, member, value, told) in [
            (went_on, "/input_hash", zeros.clone(), one("HARN-SUS-011", "input_hash")),
            (went_on, "/input_hash", json!(null), one("HARN-SUS-011", "input_hash")),
            (went_on, "/input", json!({"x": 2}), one("HARN-SUS-011", "input")),
            (went_on, "/resumed_at/signature", zeros.clone(), one("HARN-SUS-013", "resumed_at")),
            (went_on, "/resumed_at/at_ms", json!(0), one("HARN-SUS-013", "resumed_at")),
            (went_on, "/initiator_id", json!("eve"), one("HARN-SUS-013", "initiator_id")),
            (went_on, "/continue_transcript", json!(false), one("HARN-SUS-013", "continue_transcript")),
            (began, "/reason", json!("another"), one("HARN-SUS-013", "reason")),
            (began, "/suspended_at/key_id", json!("00"), one("HARN-SUS-013", "suspended_at")),
            (began, "/log/event_hash", zeros, one("HARN-SUS-013", "log")),
            (began, "/handle", json!("019ab0f2-0000-7000-8000-000000000000"), one("HARN-SUS-013", "handle")),
            // In a copy the input may be left out; its hash still tells which one it was.
            (went_on, "/input", json!({"redacted": "personal data"}), vec![]),
        ] {
            assert_eq!(differences(&agent, &changed(receipt, member, value)).await, told, "{member}");
        }
        let mut more = began.clone();
        more["approved"] = json!(true);
        assert_eq!(differences(&agent, &more).await, one("HARN-SUS-013", "approved"));
        // The form of older servers, in which the events of a trigger stood beside its provider.
        let old = |events: Value| changed(began, "/conditions/trigger", json!({"kind": "k", "provider": "placet", "events": events}));
        assert_eq!(differences(&agent, &old(json!(["go"]))).await, []);
        assert_eq!(differences(&agent, &old(json!(["stop"]))).await, one("HARN-SUS-013", "conditions"));
        // No event lets it go on twice, and what is open has not gone on.
        let other = id_of(&pause(&operator, intent, json!({})).await.ok());
        let forged = changed(went_on, "/handle", json!(other));
        assert_eq!(differences(&agent, &forged).await, one("HARN-SUS-013", "kind"));
        // A drain is Harn's own affair.
        let drain = json!({"kind": "drain_decision_receipt", "prompt_hash": input_hash(&json!("p")), "action": "resume"});
        assert_eq!(differences(&agent, &drain).await, one("HARN-SUS-013", "decided_at"));
        let verdict = agent.post(&format!("{PATH}/verify"), json!({"receipt": drain, "prompt": "q"})).await.ok();
        assert_eq!((&verdict["problems"][0]["code"], &verdict["problems"][0]["field"]), (&json!("HARN-SUS-012"), &json!("prompt_hash")));
    }

    /// A receipt of a stop is no receipt of a decision, and shows no caller what it may not read.
    async fn a_receipt_of_a_stop_proves_no_decision_and_shows_only_what_may_be_read(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let (asked, question) = agent.ask(json!({})).await;
        operator.respond(asked, &question, "approve").await.ok();
        for id in [question.as_str(), "019ab0f2-0000-7000-8000-000000000000"] {
            assert_eq!(receipts(&agent, id).await.problem(), (404, "not_found"));
        }
        let intent = agent.active_intent().await;
        let id = id_of(&pause(&operator, intent, json!({})).await.ok());
        assert_eq!(operator.post(&format!("api/v1/suspensions/{id}/receipt"), json!({})).await.problem(), (404, "not_found"));
        let receipt = receipts(&agent, &id).await.ok()["receipts"][0].clone();
        let verified = proof::receipt::verify_file(receipt.to_string().as_bytes(), &[app.checkpoints().key().unwrap().verifying().clone()]);
        assert!(verified.is_err(), "it is no receipt that a stranger checks offline");
        let stranger = Api::new(&app.base, Some(&app.new_key(Role::Agent, "stranger").await));
        assert_eq!(receipts(&stranger, &id).await.problem(), (404, "not_found"));
        assert_eq!(differences(&stranger, &receipt).await, one("HARN-SUS-013", "handle"));
        // An intent that was closed did not go on.
        set_status(&agent, intent, "abandoned").await.ok();
        assert_eq!(receipts(&app.api(Role::Auditor), &id).await.ok()["receipts"], json!([receipt]));
        for (query, field) in [("", "subject"), ("?subject=x", "subject"), ("?subject=", "subject"), ("?of=1", "of")] {
            let refused = agent.get(&format!("{PATH}{query}")).await;
            assert_eq!((refused.status, refused.field_problem().2), (422, field), "{query}");
        }
        for (body, field) in [
            (json!({}), "receipt"), (json!({"receipt": []}), "receipt"), (json!({"receipt": {}}), "receipt.kind"),
            (json!({"receipt": {"kind": "approval"}}), "receipt.kind"), (json!({"receipt": {"kind": "suspension_receipt"}}), "receipt.handle"),
            (json!({"receipt": {"kind": "resumption_receipt", "handle": 1}}), "receipt.handle"), (json!({"receipt": {}, "key": "k"}), "key"),
        ] {
            let refused = agent.post(&format!("{PATH}/verify"), body.clone()).await;
            assert_eq!((refused.status, refused.field_problem().2), (422, field), "{body}");
        }
        assert_eq!(app.anonymous().get(&format!("{PATH}?subject={id}")).await.status, 401);
    }
}
