//! Receipts of decisions: a stranger checks one offline, and one of all requests uses it.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::base::ids::IntentId;
use domain::log::Sealed;
use domain::people::principal::Role;
use futures_util::future::join_all;
use harness::api::{Api, Reply};
use harness::app::TestApp;
use harness::on_each_store;
use proof::key::VerifyingKey;
use proof::receipt::{FileError, verify_cose, verify_file};
use serde_json::{Value, json};

const COSE: &str = "application/cose; cose-type=\"cose-sign1\"";

fn with_key(app: &TestApp, key: &str) -> Api {
    Api::new(app.agent().base(), Some(key))
}

fn key(app: &TestApp) -> VerifyingKey {
    app.checkpoints().key().unwrap().verifying().clone()
}

/// A question with its answer.
async fn decided(app: &TestApp, value: &str) -> (IntentId, String, Value) {
    let (intent, id) = app.agent().ask(json!({"context": {"amount": 412, "to": "order 12345"}})).await;
    let answer = app.operator().respond(intent, &id, value).await.ok();
    (intent, id, answer)
}

async fn issued(api: &Api, suspension: &str) -> Reply {
    api.post(&format!("api/v1/suspensions/{suspension}/receipt"), json!({})).await
}

fn path(receipt: &Value) -> String {
    format!("api/v1/receipts/{}", receipt["receipt_id"].as_str().unwrap())
}

fn use_of(answer: &Value) -> Value {
    json!({"action_digest": answer["action_digest"], "value": answer["value"]})
}

async fn consume(api: &Api, receipt: &Value, body: &Value) -> Reply {
    api.post(&format!("{}/consume", path(receipt)), body.clone()).await
}

async fn revoke(api: &Api, receipt: &Value) -> Reply {
    api.post(&format!("{}/revoke", path(receipt)), json!({"reason": "a second thought"})).await
}

fn file(receipt: &Value) -> Vec<u8> {
    receipt["receipt"].to_string().into_bytes()
}

/// The places of all values within a value that hold no others.
fn leaves_of(value: &Value, place: &str) -> Vec<String> {
    match value {
        Value::Object(members) => members.iter().flat_map(|(name, value)| leaves_of(value, &format!("{place}/{name}"))).collect(),
        Value::Array(items) => {
            items.iter().enumerate().flat_map(|(at, value)| leaves_of(value, &format!("{place}/{at}"))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => vec![place.to_owned()],
    }
}

on_each_store! {
    /// The agent hands the file over, and a third party that has only the public key learns from it what was decided.
    async fn a_receipt_proves_the_decision_to_a_stranger(app: &mut TestApp) {
        let (intent, id, answer) = decided(app, "approve").await;
        let receipt = issued(&app.agent(), &id).await.ok();
        let verified = verify_file(&file(&receipt), &[key(app)]).unwrap();
        let decision = &verified.decision;
        assert_eq!(verified.origin, "log.example");
        assert_eq!((&decision["intent_id"], &decision["suspension_id"]), (&json!(intent), &json!(id)));
        assert_eq!((&decision["value"], &decision["meaning"]), (&json!("approve"), &json!("Approve refund")));
        assert_eq!((&decision["responded_by"], &decision["role"], &decision["assurance"]), (&json!("test-operator"), &json!("operator"), &json!("api_key")));
        assert_eq!((&decision["action_digest"], &decision["presented_hash"]), (&answer["action_digest"], &answer["presented_hash"]));
        let events = app.agent().events(intent).await;
        let resumed = events.iter().find(|event| event["event_type"] == "intent.resumed").unwrap();
        assert_eq!(decision["answer_event_hash"], resumed["event_hash"]);
        assert_eq!(receipt["state"], "unused");
        // A repeated request gets the same receipt, also after a restart, and no further event.
        app.restart().await;
        let again = issued(&app.operator(), &id).await.ok();
        assert_eq!(again["receipt_id"], receipt["receipt_id"]);
        assert!(verify_file(&file(&again), &[key(app)]).is_ok());
        let issued = app.agent().event_types(intent).await.into_iter().filter(|event| event == "receipt.issued").count();
        assert_eq!(issued, 1);
    }

    /// Only the action that the person approved may be carried out: the receipt has both digests, in JSON and in COSE, and the digest of the
    /// action as it was proposed uses no receipt.
    async fn a_receipt_is_for_the_action_that_was_approved(app: &mut TestApp) {
        let editable = json!({"type": "object", "properties": {"amount": {"type": "integer"}}});
        let (intent, id) = app.agent().ask(json!({"proposal": {"amount": 412}, "editable": editable})).await;
        let answer = json!({"suspension_id": id, "value": "approve", "proposal": {"amount": 400}});
        let answer = app.operator().post(&format!("api/v1/intents/{intent}/suspend/respond"), answer).await.ok();
        assert_ne!(answer["action_digest"], answer["proposed_digest"]);
        let receipt = issued(&app.agent(), &id).await.ok();
        let decision = verify_file(&file(&receipt), &[key(app)]).unwrap().decision;
        assert_eq!((&decision["action_digest"], &decision["proposed_digest"]), (&answer["action_digest"], &answer["proposed_digest"]));
        let verifier = app.api(Role::Verifier);
        let reply = verifier.request("GET", &format!("{}?format=cose", path(&receipt))).send().await.unwrap();
        let event = Sealed::from_served(&receipt["receipt"]["event"]).unwrap();
        let statement = reply.bytes().await.unwrap();
        let verified = verify_cose(&statement, &proof::leaf::of(&event).unwrap(), &[key(app)]).unwrap();
        let content: Value = serde_json::from_slice(&verified.content).unwrap();
        assert_eq!(content["proposed_digest"], answer["proposed_digest"]);
        let original = json!({"action_digest": answer["proposed_digest"], "value": "approve"});
        let refused = consume(&verifier, &receipt, &original).await;
        assert_eq!((refused.problem(), &refused.body["field"]), ((409, "receipt_mismatch"), &json!("action_digest")));
        consume(&verifier, &receipt, &use_of(&answer)).await.ok();
    }

    /// The transparent statement has the same content, and an event that carries its hash.
    async fn the_statement_in_cose_says_the_same(app: &mut TestApp) {
        let (_, id, _) = decided(app, "deny").await;
        let receipt = issued(&app.agent(), &id).await.ok();
        let verifier = app.api(Role::Verifier);
        let reply = verifier.request("GET", &format!("{}?format=cose", path(&receipt))).send().await.unwrap();
        assert_eq!((reply.status().as_u16(), reply.headers()["content-type"].to_str().unwrap()), (200, COSE));
        let statement = reply.bytes().await.unwrap();
        let event = Sealed::from_served(&receipt["receipt"]["event"]).unwrap();
        let verified = verify_cose(&statement, &proof::leaf::of(&event).unwrap(), &[key(app)]).unwrap();
        let content: Value = serde_json::from_slice(&verified.content).unwrap();
        assert_eq!(content, receipt["receipt"]["decision"]);
        assert_eq!(receipt["receipt"]["event"]["payload"]["statement_hash"], verified.statement_hash.to_string());
        assert_eq!(verified.subject, id);
    }

    /// A file in which anything was changed is refused, with the reason.
    async fn a_changed_file_is_refused(app: &mut TestApp) {
        let (_, id, _) = decided(app, "deny").await;
        let (_, other, _) = decided(app, "approve").await;
        let receipt = issued(&app.agent(), &id).await.ok()["receipt"].clone();
        let other = issued(&app.agent(), &other).await.ok()["receipt"].clone();
        let keys = [key(app)];
        let refusal = |change: &dyn Fn(&mut Value)| {
            let mut changed = receipt.clone();
            change(&mut changed);
            verify_file(changed.to_string().as_bytes(), &keys).unwrap_err()
        };
        let wrong = FileError::Signature;
        assert_eq!(refusal(&|file| file["decision"]["value"] = "approve".into()), wrong);
        assert_eq!(refusal(&|file| file["decision"]["responded_by"] = "mallory".into()), wrong);
        assert_eq!(refusal(&|file| file["decision"] = other["decision"].clone()), wrong);
        assert_eq!(refusal(&|file| file["signature"] = other["signature"].clone()), wrong);
        assert_eq!(refusal(&|file| file["event"]["actor"] = "mallory".into()), FileError::Event);
        assert_eq!(refusal(&|file| file["event"]["event_hash"] = other["event"]["event_hash"].clone()), FileError::Event);
        let stolen = refusal(&|file| {
            file["decision"] = other["decision"].clone();
            file["signature"] = other["signature"].clone();
        });
        assert_eq!(stolen, FileError::OtherEvent);
        assert_eq!(refusal(&|file| file["event"] = other["event"].clone()), FileError::OtherEvent);
        assert_eq!(refusal(&|file| file["leaf"] = 0.into()), FileError::Path);
        assert_eq!(refusal(&|file| file["proof"] = json!([])), FileError::Path);
        assert_eq!(refusal(&|file| file["placet_receipt"] = 2.into()), FileError::Version(2));
        assert!(matches!(refusal(&|file| file["more"] = 1.into()), FileError::Form(_)));
        assert!(matches!(refusal(&|file| file["checkpoint"] = "x".into()), FileError::Checkpoint(_)));
        assert!(matches!(verify_file(receipt.to_string().as_bytes(), &[]), Err(FileError::Checkpoint(_))));
        assert!(matches!(verify_file(b"{\"placet_receipt\":1,\"placet_receipt\":1}", &keys), Err(FileError::Json(_))));
        assert_eq!(verify_file(&vec![b' '; proof::receipt::FILE_BYTES_MAX + 1], &keys), Err(FileError::TooLong));
    }

    /// The verifier in Python shares no code with ours, and agrees with it on each file.
    async fn the_second_verifier_agrees(app: &mut TestApp) {
        let (_, id, _) = decided(app, "approve").await;
        let receipt = issued(&app.agent(), &id).await.ok()["receipt"].clone();
        let keys = [key(app)];
        let mut files = vec![receipt.clone()];
        let leaves: Vec<String> = leaves_of(&receipt, "");
        for place in &leaves {
            let mut changed = receipt.clone();
            let member = changed.pointer_mut(place).unwrap();
            *member = match member.take() {
                Value::Number(number) => json!(number.as_u64().unwrap() + 1),
                Value::String(text) => json!(format!("{text}x")),
                other @ (Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) => json!([other]),
            };
            files.push(changed);
        }
        let paths: Vec<_> = files.iter().enumerate().map(|(number, file)| {
            let path = app.folder().join(format!("{number}.json"));
            std::fs::write(&path, file.to_string()).unwrap();
            path
        }).collect();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/verifier/receipt.py");
        let mut python = std::process::Command::new("python3");
        let output = python.arg(script).arg("--key").arg(keys[0].to_string()).args(&paths).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!((said.lines().count(), output.status.code()), (files.len(), Some(1)), "{}", String::from_utf8_lossy(&output.stderr));
        for (file, said) in files.iter().zip(said.lines()) {
            let ours = verify_file(file.to_string().as_bytes(), &keys);
            assert_eq!(ours.is_ok(), said.contains(": genuine: "), "{said}: {ours:?}");
        }
        assert!(said.lines().filter(|line| line.contains(": genuine: ")).count() == 1, "{said}");
        for option in ["--key", "--earlier-key"] {
            let (key, mistyped) = (keys[0].to_string(), keys[0].to_string().replace('+', "-"));
            let mut python = std::process::Command::new("python3");
            let output = python.arg(script).args(["--key", &key, option, &mistyped]).arg(&paths[0]).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.code() == Some(2) && said.contains(&format!("argument {option}: it must be NAME+HASH+KEY")), "{option}: {said}");
        }
        assert!(leaves.len() > 30, "{leaves:?}");
    }

    /// Many third parties race, and one of them acts.
    async fn one_of_many_uses_a_receipt(app: &mut TestApp) {
        let (intent, id, answer) = decided(app, "approve").await;
        let receipt = issued(&app.agent(), &id).await.ok();
        let (verifier, body) = (app.api(Role::Verifier), use_of(&answer));
        let replies = join_all((0..12).map(|_| consume(&verifier, &receipt, &body))).await;
        let used: Vec<_> = replies.iter().filter(|reply| reply.status == 200).collect();
        assert_eq!(used.len(), 1);
        assert_eq!((&used[0].body["state"], &used[0].body["closed_by"]), (&json!("consumed"), &json!("test-verifier")));
        for reply in replies.iter().filter(|reply| reply.status != 200) {
            assert_eq!(reply.problem(), (409, "receipt_used"));
            assert!(reply.body["used_at"].is_string());
        }
        app.restart().await;
        assert_eq!(consume(&app.api(Role::Verifier), &receipt, &body).await.problem(), (409, "receipt_used"));
        assert_eq!(revoke(&app.api(Role::Admin), &receipt).await.problem(), (409, "receipt_used"));
        let consumed = app.agent().events(intent).await.into_iter().filter(|event| event["event_type"] == "receipt.consumed");
        let consumed: Vec<Value> = consumed.collect();
        assert_eq!(consumed.len(), 1);
        assert_eq!(consumed[0]["payload"]["action_digest"], answer["action_digest"]);
    }

    /// A receipt of a refusal, or of another action, permits no action, and stays unused.
    async fn another_action_and_another_answer_are_refused(app: &mut TestApp) {
        let (_, id, answer) = decided(app, "deny").await;
        let receipt = issued(&app.agent(), &id).await.ok();
        let verifier = app.api(Role::Verifier);
        let yes = json!({"action_digest": answer["action_digest"], "value": "approve"});
        let refused = consume(&verifier, &receipt, &yes).await;
        assert_eq!((refused.problem(), &refused.body["field"]), ((409, "receipt_mismatch"), &json!("value")));
        let other = json!({"action_digest": answer["presented_hash"], "value": "deny"});
        let refused = consume(&verifier, &receipt, &other).await;
        assert_eq!((refused.problem(), &refused.body["field"]), ((409, "receipt_mismatch"), &json!("action_digest")));
        for body in [json!({}), json!({"action_digest": answer["action_digest"]}), json!({"action_digest": 1, "value": "deny"})] {
            assert_eq!(consume(&verifier, &receipt, &body).await.problem(), (422, "invalid"), "{body}");
        }
        assert_eq!(verifier.get(&path(&receipt)).await.ok()["state"], "unused");
        assert_eq!(consume(&verifier, &receipt, &use_of(&answer)).await.status, 200);
    }

    /// The asking agent, keys of its owner, and people do not use a receipt, whatever they hold.
    async fn the_asker_and_its_siblings_never_use_a_receipt(app: &mut TestApp) {
        let (_, id, answer) = decided(app, "approve").await;
        let receipt = issued(&app.agent(), &id).await.ok();
        for role in [Role::Agent, Role::Operator, Role::Admin, Role::Auditor, Role::Channel] {
            assert_eq!(consume(&app.api(role), &receipt, &use_of(&answer)).await.problem(), (403, "forbidden"), "{role}");
        }
        let sibling = app.new_key_of(Role::Verifier, "sibling", "TEST-agent").await;
        assert_eq!(consume(&with_key(app, &sibling), &receipt, &use_of(&answer)).await.problem(), (403, "forbidden"));
        assert_eq!(app.api(Role::Verifier).get(&path(&receipt)).await.ok()["state"], "unused");
    }

    /// An admin and the person who answered revoke a receipt before it is used; then no one uses it.
    async fn a_revoked_receipt_is_not_used(app: &mut TestApp) {
        let bob = app.new_key(Role::Operator, "bob").await;
        for role in [Role::Admin, Role::Operator] {
            let (intent, id, answer) = decided(app, "approve").await;
            let receipt = issued(&app.agent(), &id).await.ok();
            assert_eq!(revoke(&with_key(app, &bob), &receipt).await.problem(), (403, "forbidden"));
            assert_eq!(revoke(&app.agent(), &receipt).await.problem(), (403, "forbidden"));
            let revoked = revoke(&app.api(role), &receipt).await.ok();
            assert_eq!((&revoked["state"], &revoked["closed_by"]), (&json!("revoked"), &json!(format!("test-{role}"))));
            assert_eq!(revoke(&app.api(role), &receipt).await.problem(), (409, "receipt_revoked"));
            let refused = consume(&app.api(Role::Verifier), &receipt, &use_of(&answer)).await;
            assert_eq!(refused.problem(), (409, "receipt_revoked"));
            let last = app.agent().events(intent).await.pop().unwrap();
            assert_eq!((&last["event_type"], &last["payload"]["reason"]), (&json!("receipt.revoked"), &json!("a second thought")));
        }
    }

    /// There is no receipt of what no person decided: an open question, a withdrawn one, one whose fallback applied.
    async fn what_no_person_answered_has_no_receipt(app: &mut TestApp) {
        let (_, open) = app.agent().ask(json!({})).await;
        assert_eq!(issued(&app.agent(), &open).await.problem(), (409, "not_answered"));
        app.agent().post(&format!("api/v1/suspensions/{open}/cancel"), json!({})).await.ok();
        assert_eq!(issued(&app.agent(), &open).await.problem(), (409, "not_answered"));
        let other = app.new_key(Role::Agent, "another-agent").await;
        let (_, id, _) = decided(app, "approve").await;
        assert_eq!(issued(&with_key(app, &other), &id).await.problem(), (404, "not_found"));
    }

    /// A verifier reads receipts and checkpoints, and nothing else: it must not learn of open questions.
    async fn a_verifier_reads_receipts_alone(app: &mut TestApp) {
        let (intent, open) = app.agent().ask(json!({})).await;
        let (_, id, _) = decided(app, "approve").await;
        let receipt = issued(&app.agent(), &id).await.ok();
        let verifier = app.api(Role::Verifier);
        assert_eq!(verifier.get(&path(&receipt)).await.status, 200);
        assert_eq!(verifier.get("api/v1/checkpoints").await.status, 200);
        let closed = [
            "api/v1/intents".to_owned(), format!("api/v1/intents/{intent}"), format!("api/v1/intents/{intent}/events"),
            format!("api/v1/suspensions/{open}"), "api/v1/suspensions".to_owned(), "api/v1/export".to_owned(), "api/v1/keys".to_owned(),
            "metrics".to_owned(), "api/v1/server/events".to_owned(),
        ];
        for path in closed {
            assert_eq!(verifier.get(&path).await.status, 403, "{path}");
        }
        assert_eq!(verifier.respond(intent, &open, "approve").await.status, 403);
        assert_eq!(issued(&verifier, &id).await.status, 403);
    }
}
