//! Erasure: the content of an intent is gone everywhere, and the log still verifies.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::base::ids::IntentId;
use domain::people::principal::Role;
use futures_util::future::join_all;
use harness::api::{Api, Reply};
use harness::app::TestApp;
use harness::{on_each_store, rows};
use serde_json::{Value, json};
use store::host::account;
use verify::report::{Report, Verdict};
use verify::{Options, Watchers};

/// A word that stands in everything that a person or an agent wrote.
const WORD: &str = "zanzibar";

/// An intent that has ended, and its question.
struct Story {
    intent: IntentId,
    question: String,
    /// The events before an erasure.
    events: Vec<Value>,
    receipt: Value,
    link: String,
}

async fn end(api: &Api, intent: IntentId, status: &str) {
    let version = api.intent(intent).await["version"].to_string();
    api.post_at(&format!("api/v1/intents/{intent}/status"), &version, json!({"status": status, "reason": WORD})).await.ok();
}

/// An intent of an agent, with the word in every place that an intent has for words.
async fn told(app: &TestApp) -> Story {
    let agent = app.agent();
    let words = json!({"title": WORD, "description": WORD, "created_by": WORD, "status": "active",
        "state": {"to": WORD}, "constraints": {"rule": WORD}});
    let made = agent.post_once("api/v1/intents", "a-key", words).await.ok();
    let intent: IntentId = made["id"].as_str().unwrap().parse().unwrap();
    let path = |rest: &str| format!("api/v1/intents/{intent}/{rest}");
    agent.post(&path("leases"), json!({"scope": WORD, "duration_seconds": 60})).await.ok();
    agent.post(&path("events"), json!({"event_type": "comment", "payload": {"text": WORD}})).await.ok();
    agent.post("api/v1/tasks", json!({"intent_id": intent, "name": WORD})).await.ok();
    let explanation = json!({"what_happens": WORD, "why": WORD, "impact": WORD, "rollback": WORD, "links": ["https://x.example/zanzibar"],
        "evidence": {"to": WORD}});
    let asked = json!({"question": WORD, "context": {"to": WORD}, "notify_to": ["zanzibar@example.com"], "question_key": WORD,
        "explanation": explanation,
        "choices": [{"value": "zanzibar", "label": "zanzibar", "description": "zanzibar"}, {"value": "deny", "label": "Deny"}]});
    let question = agent.suspend(intent, asked).await.ok()["id"].as_str().unwrap().to_owned();
    app.settle().await;
    let link = app.next_link().await;
    app.person().open(&link).await;
    while rows::number(app, "SELECT count(*) AS number FROM views").await == 0 {
        tokio::task::yield_now().await;
    }
    let answer = json!({"suspension_id": question, "value": WORD, "metadata": {"comment": WORD}});
    app.operator().post(&path("suspend/respond"), answer).await.ok();
    let receipt = agent.post(&format!("api/v1/suspensions/{question}/receipt"), json!({})).await.ok();
    end(&agent, intent, "completed").await;
    app.settle().await;
    Story { events: agent.events(intent).await, intent, question, receipt, link }
}

async fn redact(api: &Api, intent: IntentId) -> Reply {
    api.post(&format!("api/v1/intents/{intent}/redact"), json!({"legal_basis": "GDPR Art. 17(1)(a)"})).await
}

/// The events of the server's log that say what was erased.
async fn redactions(app: &TestApp) -> Vec<Value> {
    let events = app.api(Role::Auditor).get("api/v1/server/events?limit=1000").await.ok();
    let events = events.as_array().unwrap().iter();
    events.filter(|event| event["event_type"] == "payload.redacted").cloned().collect()
}

async fn verified(app: &TestApp, query: &str) -> Report {
    let reply = app.api(Role::Auditor).get(&format!("api/v1/export?{query}")).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let keys = vec![app.checkpoints().key().unwrap().verifying().clone()];
    verify::verify("export", reply.text.as_bytes(), &Options::with_keys(keys), Watchers::default())
}

/// How often the word is in the bytes that the database holds: in the files of a file's database, or in a dump.
fn words_left(app: &TestApp) -> usize {
    let bytes = if let Some(scratch) = app.scratch() {
        scratch.dump()
    } else {
        let files = std::fs::read_dir(app.folder()).unwrap().map(|entry| entry.unwrap().path());
        let files = files.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("placet.db")));
        files.flat_map(|path| std::fs::read(path).unwrap()).collect()
    };
    bytes.windows(WORD.len()).filter(|window| *window == WORD.as_bytes()).count()
}

on_each_store! {
    /// A person has the right to be forgotten, and the log must still prove that nothing else was changed.
    async fn nothing_of_an_erased_intent_is_left_but_its_proofs(app: &mut TestApp) {
        let Story { intent, question, events, receipt, link } = told(app).await;
        assert!(words_left(app) > 0);
        let done = redact(&app.api(Role::Admin), intent).await.ok();
        assert_eq!(done, json!({"intent_id": intent, "redacted_events": events.len(), "legal_basis": "GDPR Art. 17(1)(a)"}));
        // A server that stops copies its log into the file, and begins the log anew.
        app.restart().await;
        assert_eq!(words_left(app), 0);
        let agent = app.agent();
        let after = agent.events(intent).await;
        for (before, after) in events.iter().zip(&after) {
            assert_eq!((&after["payload"], &after["redacted"], after.get("salt")), (&json!(null), &json!(true), None));
            for name in ["id", "sequence", "event_type", "actor", "created_at", "previous_event_hash", "event_hash"] {
                assert_eq!(after[name], before[name], "{name}");
            }
        }
        let chain = agent.get(&format!("api/v1/intents/{intent}/events/verify")).await.ok();
        assert_eq!((&chain["valid"], &chain["redacted_count"]), (&json!(true), &json!(events.len())));
        let [recorded] = &redactions(app).await[..] else { panic!("one event says so") };
        let named = &recorded["payload"];
        assert_eq!((&named["intent_id"], &named["first_sequence"], &named["last_sequence"]), (&json!(intent), &json!(1), &json!(events.len())));
        assert_eq!((&named["legal_basis"], &recorded["actor"]), (&json!("GDPR Art. 17(1)(a)"), &json!("test-admin")));
        assert!(named["credential"].is_object() || named["credential"].is_string(), "{named}");
        let shown = agent.suspension(&question).await;
        assert_eq!((&shown["redacted"], &shown["question"], &shown["response"]), (&json!(true), &json!(""), &json!(null)));
        assert_eq!((&shown["resolution"], &shown["choices"]), (&json!("responded"), &json!([])));
        for path in [format!("api/v1/intents/{intent}"), "api/v1/intents".into(), "api/v1/suspensions".into(), format!("api/v1/suspensions/{question}/deliveries"), format!("api/v1/intents/{intent}/decisions"), format!("api/v1/intents/{intent}/leases")] {
            let reply = agent.get(&path).await;
            assert_eq!((reply.status, reply.text.contains(WORD)), (200, false), "{path}");
        }
        let id = receipt["receipt_id"].as_str().unwrap();
        assert_eq!(agent.get(&format!("api/v1/receipts/{id}")).await.problem(), (410, "redacted"));
        assert_eq!(agent.post(&format!("api/v1/suspensions/{question}/receipt"), json!({})).await.problem(), (410, "redacted"));
        // The link leads to the server as it was before the restart.
        let page = app.anonymous().get(link.splitn(4, '/').nth(3).unwrap()).await;
        assert_eq!(page.status, 404);
        assert!(!page.text.contains(WORD), "{}", page.text);
        app.settle().await;
        for query in [String::new(), format!("intent_id={intent}")] {
            let report = verified(app, &query).await;
            assert_eq!((report.verdict, report.redacted), (Verdict::Verified, events.len() as u64), "{:?}", report.findings);
        }
        for format in ["csv", "ocsf", "cef"] {
            let reply = app.api(Role::Auditor).get(&format!("api/v1/export?format={format}")).await;
            assert_eq!((reply.status, reply.text.contains(WORD)), (200, false), "{format}");
        }
    }

    /// Two people who answer the same request of a person leave one event, and a repeated request changes nothing.
    async fn an_intent_is_erased_once(app: &mut TestApp) {
        let Story { intent, events, .. } = told(app).await;
        let admin = app.api(Role::Admin);
        let replies = join_all((0..4).map(|_| redact(&admin, intent))).await;
        let erased: u64 = replies.into_iter().map(|reply| reply.ok()["redacted_events"].as_u64().unwrap()).sum();
        assert_eq!(erased, events.len() as u64);
        app.restart().await;
        assert_eq!(redact(&app.api(Role::Admin), intent).await.ok()["redacted_events"], 0);
        assert_eq!(redactions(app).await.len(), 1);
    }

    /// People need the words of a question while they are asked, and an agent needs its intent while it works.
    async fn an_intent_that_has_not_ended_keeps_its_content(app: &mut TestApp) {
        let (agent, admin) = (app.agent(), app.api(Role::Admin));
        let (intent, question) = agent.ask(json!({})).await;
        assert_eq!(redact(&admin, intent).await.problem(), (409, "question_open"));
        app.operator().respond(intent, &question, "approve").await.ok();
        assert_eq!(redact(&admin, intent).await.problem(), (409, "intent_not_ended"));
        end(&agent, intent, "abandoned").await;
        let before = agent.everything(intent).await;
        for role in Role::ALL.into_iter().filter(|role| *role != Role::Admin) {
            assert_eq!(redact(&app.api(role), intent).await.status, 403, "{role}");
        }
        let path = format!("api/v1/intents/{intent}/redact");
        for (basis, status) in [(String::new(), 422), ("é".repeat(2_001), 422), ("é".repeat(2_000), 200)] {
            assert_eq!(admin.post(&path, json!({"legal_basis": basis})).await.status, status);
            if status == 422 {
                assert_eq!(agent.everything(intent).await, before);
            }
        }
        assert_eq!(redact(&admin, IntentId(uuid::Uuid::from_u128(7))).await.problem(), (404, "not_found"));
    }

    /// An export at an older size would show erased events that nothing in it explains. A verifier would take them for tampering.
    async fn an_export_shows_no_erasure_that_lies_beyond_it(app: &mut TestApp) {
        let Story { intent, .. } = told(app).await;
        let size = verified(app, "").await.size.unwrap();
        let auditor = app.api(Role::Auditor);
        assert_eq!(auditor.get(&format!("api/v1/export?size={size}")).await.status, 200);
        redact(&app.api(Role::Admin), intent).await.ok();
        for after in ["", "&after=1"] {
            assert_eq!(auditor.get(&format!("api/v1/export?size={size}{after}")).await.problem(), (409, "export_outdated"));
        }
        let (other, _) = app.agent().ask(json!({})).await;
        assert_eq!(auditor.get(&format!("api/v1/export?size={size}&intent_id={other}")).await.status, 200, "without the erased events");
        assert_eq!(verified(app, "").await.verdict, Verdict::Verified);
    }

    /// A person who has the database can remove a payload. The log must show that.
    async fn an_erasure_that_no_event_names_is_tampering(app: &mut TestApp) {
        let Story { intent, .. } = told(app).await;
        redact(&app.api(Role::Admin), intent).await.ok();
        app.settle().await;
        let named = rows::number(app, "SELECT max(server_event) AS number FROM redactions").await;
        rows::change(app, &format!("UPDATE redactions SET server_event = {}", named - 1)).await;
        let chain = app.agent().get(&format!("api/v1/intents/{intent}/events/verify")).await.ok();
        assert_eq!((&chain["valid"], &chain["breaks"][0]["sequence"]), (&json!(false), &json!(1)));
        rows::change(app, "DELETE FROM redactions").await;
        let chain = app.agent().get(&format!("api/v1/intents/{intent}/events/verify")).await.ok();
        assert_eq!(chain["valid"], json!(false));
        // The export does not depend on that row: the event of the server's log decides.
        assert_eq!(verified(app, "").await.verdict, Verdict::Verified);
    }

    /// Events that come after an erasure are content of their own, and are erased by an erasure of their own.
    async fn what_comes_after_an_erasure_is_erased_by_the_next(app: &mut TestApp) {
        let Story { intent, events, .. } = told(app).await;
        let (agent, admin) = (app.agent(), app.api(Role::Admin));
        redact(&admin, intent).await.ok();
        agent.post(&format!("api/v1/intents/{intent}/events"), json!({"event_type": "comment", "payload": {"text": WORD}})).await.ok();
        assert_eq!(redact(&admin, intent).await.ok()["redacted_events"], 1);
        let named: Vec<_> = redactions(app).await.iter().map(|event| event["payload"]["first_sequence"].clone()).collect();
        assert_eq!(named, [json!(1), json!(events.len() + 1)]);
        let chain = agent.get(&format!("api/v1/intents/{intent}/events/verify")).await.ok();
        assert_eq!(chain["valid"], json!(true));
        assert_eq!(verified(app, "").await.verdict, Verdict::Verified);
    }

    /// A long log is erased in parts, so that other writes do not wait. A server that stops between two of them leaves a log that verifies, and
    /// the same request goes on.
    async fn a_long_log_is_erased_in_parts_and_a_stop_between_them_loses_nothing(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let path = format!("api/v1/intents/{intent}/events");
        for _ in 0..11 {
            let comments = (0..50).map(|_| agent.post(&path, json!({"event_type": "comment", "payload": {"text": WORD}})));
            join_all(comments).await.into_iter().for_each(|reply| drop(reply.ok()));
        }
        end(&agent, intent, "completed").await;
        app.checkpoints().turn().await.unwrap();
        let events = u64::try_from(rows::number(app, "SELECT max(last_sequence) AS number FROM intents").await).unwrap();
        let first = app.store().redact(account::principal(), intent, Ok("a request".to_owned())).await.unwrap();
        assert_eq!((first.events, first.more), (500, true));
        app.restart().await;
        assert_eq!(verified(app, "").await.verdict, Verdict::Verified);
        assert!(words_left(app) > 0, "the older events have their content still");
        assert_eq!(redact(&app.api(Role::Admin), intent).await.ok()["redacted_events"], events - 500);
        let named: Vec<_> = redactions(app).await.iter().map(|event| event["payload"]["last_sequence"].as_u64().unwrap()).collect();
        assert_eq!(named, [events, events - 500], "the newest are erased first");
        assert_eq!(verified(app, "").await.verdict, Verdict::Verified);
        assert_eq!(verified(app, &format!("intent_id={intent}")).await.verdict, Verdict::Verified);
        // A server that stops copies its log into the file, and begins the log anew.
        app.restart().await;
        assert_eq!(words_left(app), 0);
    }
}
