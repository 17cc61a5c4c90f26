//! Drafts of answers: who shares them, who sees them, and what becomes of them when the question ends.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::base::ids::IntentId;
use domain::people::principal::Role;
use domain::suspension::draft::{DRAFT_BYTES_MAX, DRAFT_FIELDS_MAX, DRAFTS_MAX};
use futures_util::future::join;
use harness::api::{Api, Reply};
use harness::app::TestApp;
use harness::on_each_store;
use placet::{CallError, Client, DraftValues, RequestInputError};
use serde_json::{Value, json};
use verify::{Options, Watchers, verify};

use crate::people::assignees::{ADA, BOB, EVE, directory, key_of, list, mails, remove, set};
use crate::people::quorums::{asked, keys, tally, two};

/// Saves a draft.
pub(crate) async fn save(api: &Api, question: &str, values: Value) -> Reply {
    let path = format!("api/v1/suspensions/{question}/draft");
    api.send(api.request("PUT", &path).json(&json!({ "values": values }))).await
}

/// The drafts of an open question.
pub(crate) async fn drafts(api: &Api, question: &str) -> Reply {
    api.get(&format!("api/v1/suspensions/{question}/drafts")).await
}

fn note(text: &str) -> Value {
    json!({"comment": text})
}

/// The authors and comments of these drafts.
fn said(drafts: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let drafts = drafts["drafts"].as_array().cloned().unwrap_or_default();
    drafts.iter().map(|draft| (text(&draft["by"]), text(&draft["values"]["comment"]))).collect()
}

fn of(said: &[(&str, &str)]) -> Vec<(String, String)> {
    said.iter().map(|(by, comment)| ((*by).to_owned(), (*comment).to_owned())).collect()
}

/// Asks Ada and Bob, who are in finance.
async fn finance(app: &TestApp, change: Value) -> (IntentId, String) {
    let intent = app.agent().active_intent().await;
    let mut body = json!({"assignees": {"groups": ["finance"]}});
    for (name, value) in change.as_object().unwrap() {
        body[name] = value.clone();
    }
    let asked = app.agent().suspend(intent, body).await.ok();
    (intent, asked["id"].as_str().unwrap().to_owned())
}

on_each_store! {
    /// Two authors keep a draft each, over a restart; the agent gets both when no person has answered, and no event or hash has them.
    async fn drafts_reach_the_agent_after_an_ending_without_an_answer(app: &mut TestApp) {
        directory(app).await;
        let (intent, id) = finance(app, json!({"timeout_seconds": 600, "fallback_policy": "complete_with_fallback", "fallback_value": "deny"})).await;
        let (ada, bob) = (key_of(app, ADA, "ada").await, key_of(app, BOB, "bob").await);
        mails(app).await;
        let before = app.agent().suspension(&id).await;
        let (first, second) = join(save(&ada, &id, note("ask legal")), save(&bob, &id, json!({"value": "deny", "comment": "too much"}))).await;
        assert_eq!((first.status, second.status), (200, 200), "{} {}", first.text, second.text);
        app.restart().await;
        app.advance(1).await;
        let again = save(&ada, &id, note("legal says no")).await.ok();
        assert_eq!(said(&again), of(&[(BOB, "too much"), (ADA, "legal says no")]));
        assert_eq!(again, drafts(&bob, &id).await.ok(), "each sees that of the other");
        let during = app.agent().suspension(&id).await;
        assert_eq!(before, during, "the agent learns nothing before the end");
        app.advance(599).await;
        app.restart().await;
        let ended = app.agent().suspension(&id).await;
        assert_eq!((&ended["resolution"], &ended["response"], &ended["responded_by"]), (&json!("expired"), &json!("deny"), &json!(null)));
        assert_eq!(said(&ended), of(&[(BOB, "too much"), (ADA, "legal says no")]));
        assert_eq!(ended["drafts"][0]["values"], json!({"value": "deny", "comment": "too much"}));
        let shown = app.agent().intent(intent).await;
        assert_eq!(said(&shown["state"]["_suspension"]), said(&ended), "a client that reads the state gets them as well");
        let logged = json!(app.api(Role::Auditor).events(intent).await).to_string();
        assert!(!logged.contains("legal says no") && !logged.contains("draft"), "{logged}");
        assert_eq!(save(&ada, &id, note("late")).await.problem(), (409, "expired"));
        assert_eq!(drafts(&ada, &id).await.ok()["drafts"], json!([]), "they are in the record");
        mails(app).await;
        app.checkpoints().turn().await.unwrap();
        let key = app.checkpoints().key().unwrap().verifying().clone();
        let export = app.api(Role::Auditor).get("api/v1/export").await.text;
        let report = verify("export", export.as_bytes(), &Options::with_keys(vec![key]), Watchers::default());
        assert!(report.findings.is_empty() && !export.contains("legal says no"), "{:#?}", report.findings);
    }

    /// An answer says more than any draft: the drafts are gone with it, and the agent never gets one.
    async fn an_answer_ends_the_drafts(app: &mut TestApp) {
        directory(app).await;
        let (intent, id) = finance(app, json!({})).await;
        let (ada, bob) = (key_of(app, ADA, "ada").await, key_of(app, BOB, "bob").await);
        save(&ada, &id, note("mine")).await.ok();
        bob.respond(intent, &id, "approve").await.ok();
        let ended = app.agent().suspension(&id).await;
        assert_eq!((&ended["resolution"], &ended["drafts"]), (&json!("responded"), &json!(null)));
        assert_eq!(save(&ada, &id, note("late")).await.problem(), (409, "already_resolved"));
        mails(app).await;
    }

    /// A draft fills no place of a quorum. A person whose answer counts has no draft any more, and the others keep theirs.
    async fn a_draft_counts_in_no_quorum(app: &mut TestApp) {
        directory(app).await;
        let [ada, bob, eve] = keys(app).await;
        let (intent, id) = asked(app, two(), json!({"timeout_seconds": 600})).await;
        save(&ada, &id, json!({"value": "approve", "comment": "yes"})).await.ok();
        save(&bob, &id, json!({"value": "approve", "comment": "also yes"})).await.ok();
        assert_eq!(tally(ada.respond(intent, &id, "approve").await), (1, 2));
        assert_eq!(said(&drafts(&eve, &id).await.ok()), of(&[(BOB, "also yes")]));
        app.advance(600).await;
        let ended = app.agent().suspension(&id).await;
        assert_eq!((&ended["resolution_reason"], ended["counted"].clone()), (&json!("quorum_unmet"), json!(null)));
        assert_eq!(said(&ended), of(&[(BOB, "also yes")]));
        mails(app).await;
    }

    /// Every ending without an answer hands the drafts over, also the reply to the agent that withdraws the question.
    async fn a_withdrawn_question_has_its_drafts(app: &mut TestApp) {
        directory(app).await;
        let (_, id) = finance(app, json!({})).await;
        let ada = key_of(app, ADA, "ada").await;
        save(&ada, &id, note("half a thought")).await.ok();
        let withdrawn = app.agent().post(&format!("api/v1/suspensions/{id}/cancel"), json!({})).await.ok();
        assert_eq!(said(&withdrawn), of(&[(ADA, "half a thought")]));
        assert_eq!(said(&app.agent().suspension(&id).await), said(&withdrawn));
        mails(app).await;
    }

    /// Only a person who may answer now saves a draft or reads one; an auditor reads. The asker learns nothing before the end.
    async fn only_those_who_may_answer_share_drafts(app: &mut TestApp) {
        directory(app).await;
        let (_, id) = finance(app, json!({})).await;
        let (ada, eve) = (key_of(app, ADA, "ada").await, key_of(app, EVE, "eve").await);
        save(&ada, &id, note("between us")).await.ok();
        for (who, code) in [(&eve, "not_assigned"), (&app.operator(), "not_assigned"), (&app.agent(), "forbidden"), (&app.api(Role::Admin), "forbidden"),
            (&app.api(Role::Channel), "forbidden"), (&app.api(Role::Verifier), "forbidden")] {
            assert_eq!(save(who, &id, note("x")).await.problem(), (403, code));
            assert_eq!(drafts(who, &id).await.problem(), (403, code));
        }
        let auditor = app.api(Role::Auditor);
        assert_eq!((save(&auditor, &id, note("x")).await.status, said(&drafts(&auditor, &id).await.ok())), (403, of(&[(ADA, "between us")])));
        let stranger = Api::new(&app.base, Some(&app.new_key_of(Role::Agent, "stranger", "stranger").await));
        assert_eq!((save(&stranger, &id, note("x")).await.status, drafts(&stranger, &id).await.status), (404, 404));
        let kin = app.api(Role::Admin).post("api/v1/keys", json!({"role": "operator", "name": "kin", "owner": "test-agent", "subject": ADA})).await.ok();
        let kin = Api::new(&app.base, kin["key"].as_str());
        assert_eq!(save(&kin, &id, note("x")).await.problem(), (403, "self_response"), "a key of the asker's owner");
        assert_eq!(drafts(&kin, &id).await.problem(), (403, "self_response"));
        let unknown = "00000000-0000-0000-0000-000000000001";
        assert_eq!((save(&ada, unknown, note("x")).await.status, drafts(&ada, unknown).await.status), (404, 404));
        let floored = finance(app, json!({"required_assurance": "session"})).await.1;
        assert_eq!(save(&ada, &floored, note("x")).await.problem(), (403, "assurance_too_low"), "a key proves no person");
        assert_eq!(drafts(&ada, &floored).await.problem(), (403, "assurance_too_low"));
        mails(app).await;
    }

    /// The draft of a person who may not answer any more is shown to no one, and the agent never gets it; neither does the next person with
    /// the same address inherit it.
    async fn a_draft_falls_with_the_right_of_its_author(app: &mut TestApp) {
        let [_, bob_path, _] = directory(app).await;
        let (_, id) = finance(app, json!({"timeout_seconds": 600})).await;
        let (ada, bob) = (key_of(app, ADA, "ada").await, key_of(app, BOB, "bob").await);
        save(&ada, &id, note("hers")).await.ok();
        save(&bob, &id, note("his")).await.ok();
        set(app, "finance", &[BOB]).await;
        assert_eq!(said(&drafts(&bob, &id).await.ok()), of(&[(BOB, "his")]));
        assert_eq!(save(&ada, &id, note("again")).await.problem(), (403, "not_assigned"));
        set(app, "finance", &[ADA, BOB]).await;
        assert_eq!(said(&drafts(&bob, &id).await.ok()), of(&[(ADA, "hers"), (BOB, "his")]), "she may answer again");
        app.advance(1).await;
        set(app, "finance", &[ADA]).await;
        remove(app, &bob_path).await;
        list(app, BOB, "operator").await;
        set(app, "finance", &[ADA, BOB]).await;
        assert_eq!(said(&drafts(&bob, &id).await.ok()), of(&[(ADA, "hers")]), "the address is another person's by now");
        set(app, "finance", &[BOB]).await;
        app.advance(600).await;
        assert_eq!(app.agent().suspension(&id).await["drafts"], json!(null));
        mails(app).await;
    }

    /// A question that is handed to other people keeps the drafts of those who stay.
    async fn drafts_outlive_a_reassignment(app: &mut TestApp) {
        directory(app).await;
        let (_, id) = finance(app, json!({"timeout_seconds": 600})).await;
        let (ada, bob) = (key_of(app, ADA, "ada").await, key_of(app, BOB, "bob").await);
        save(&ada, &id, note("hers")).await.ok();
        save(&bob, &id, note("his")).await.ok();
        bob.post(&format!("api/v1/suspensions/{id}/reassign"), json!({"assignees": {"people": [BOB]}})).await.ok();
        assert_eq!(said(&drafts(&bob, &id).await.ok()), of(&[(BOB, "his")]));
        app.advance(600).await;
        assert_eq!(said(&app.agent().suspension(&id).await), of(&[(BOB, "his")]));
        mails(app).await;
    }

    /// Every draft is bounded, and so is their number; a refused one leaves that before it. An empty one takes it back.
    async fn drafts_are_bounded(app: &mut TestApp) {
        directory(app).await;
        let (_, id) = finance(app, json!({})).await;
        let ada = key_of(app, ADA, "ada").await;
        save(&ada, &id, note("kept")).await.ok();
        let large = save(&ada, &id, note(&"x".repeat(DRAFT_BYTES_MAX + 1))).await;
        assert_eq!(large.field_problem(), (422, "invalid", "values", "length"));
        let many: Value = (0..=DRAFT_FIELDS_MAX).map(|field| (format!("f{field}"), json!(""))).collect::<serde_json::Map<_, _>>().into();
        assert_eq!(save(&ada, &id, json!({"fields": many})).await.field_problem(), (422, "invalid", "values.fields", "count"));
        for (values, field) in [(json!({"value": 5}), "values.value"), (json!({"answer": "x"}), "values.answer"), (json!(null), "values")] {
            let refused = save(&ada, &id, values).await;
            assert_eq!((refused.status, refused.field_problem().2), (422, field), "{}", refused.text);
        }
        assert_eq!(said(&drafts(&ada, &id).await.ok()), of(&[(ADA, "kept")]));
        assert_eq!(save(&ada, &id, json!({"comment": "  "})).await.ok(), json!({"drafts": []}));
        assert_eq!(save(&ada, &id, json!({})).await.ok(), json!({"drafts": []}), "a repetition changes nothing");
        let hostile = "</textarea><script>alert(1)</script>\u{202e}\u{0}";
        save(&ada, &id, json!({"value": hostile, "fields": {hostile: hostile}})).await.ok();
        assert_eq!(drafts(&ada, &id).await.ok()["drafts"][0]["values"], json!({"value": hostile, "fields": {hostile: hostile}}));
        save(&ada, &id, note(&"x".repeat(DRAFT_BYTES_MAX))).await.ok();
        let open = app.agent().ask(json!({})).await.1;
        for author in 0..=DRAFTS_MAX {
            let key = key_of(app, &format!("author{author}@example.com"), &format!("author{author}")).await;
            let saved = save(&key, &open, note("x")).await;
            if author < DRAFTS_MAX {
                assert_eq!(saved.ok()["drafts"].as_array().unwrap().len(), author + 1);
            } else {
                assert_eq!(saved.field_problem(), (422, "invalid", "values", "count"));
            }
        }
        mails(app).await;
    }

    /// A draft at the very end is there before the end, or refused; never neither.
    async fn a_draft_at_the_end_is_handed_over_or_refused(app: &mut TestApp) {
        directory(app).await;
        let ada = key_of(app, ADA, "ada").await;
        for round in 0..6 {
            let (intent, id) = finance(app, json!({"timeout_seconds": 600})).await;
            let agent = app.agent();
            let cancel = async {
                if round % 2 == 0 {
                    agent.post(&format!("api/v1/suspensions/{id}/cancel"), json!({})).await.status
                } else {
                    key_of(app, BOB, &format!("bob{round}")).await.respond(intent, &id, "approve").await.status
                }
            };
            let (saved, ended) = join(save(&ada, &id, note("at the end")), cancel).await;
            assert_eq!(ended, 200);
            let handed = said(&app.agent().suspension(&id).await);
            let expected = if saved.status == 200 && round % 2 == 0 { of(&[(ADA, "at the end")]) } else { Vec::new() };
            assert_eq!(handed, expected, "{}", saved.text);
            assert!(saved.status == 200 || saved.problem() == (409, "already_resolved"), "{}", saved.text);
        }
        // The deadline has passed, and its timer has not fired yet.
        let (_, id) = finance(app, json!({"timeout_seconds": 600})).await;
        app.advance(599).await;
        assert_eq!(save(&ada, &id, note("in time")).await.status, 200);
        app.clock.jump(chrono::TimeDelta::seconds(1));
        assert_eq!(save(&ada, &id, note("late")).await.problem(), (409, "expired"));
        app.settle().await;
        assert_eq!(said(&app.agent().suspension(&id).await), of(&[(ADA, "in time")]));
        mails(app).await;
    }

    /// A person can demand that what was said is erased, and a draft was said.
    async fn an_erasure_takes_the_drafts(app: &mut TestApp) {
        directory(app).await;
        let (intent, id) = finance(app, json!({"timeout_seconds": 600})).await;
        let ada = key_of(app, ADA, "ada").await;
        save(&ada, &id, note("personal")).await.ok();
        app.advance(600).await;
        assert_eq!(said(&app.agent().suspension(&id).await), of(&[(ADA, "personal")]));
        mails(app).await;
        app.checkpoints().turn().await.unwrap();
        app.api(Role::Admin).post(&format!("api/v1/intents/{intent}/redact"), json!({"legal_basis": "a request"})).await.ok();
        let record = app.agent().suspension(&id).await;
        assert_eq!((&record["redacted"], &record["drafts"]), (&json!(true), &json!(null)));
    }

    /// A waiting agent gets the drafts with the error; the person's side has calls of its own.
    async fn the_sdk_has_drafts_on_both_sides(app: &mut TestApp) {
        directory(app).await;
        let (ada, intent) = (key_of(app, ADA, "ada").await, app.agent().active_intent().await);
        let person = Client::new(app.base.clone(), ada.key()).unwrap();
        let mut asked = app.client().ask(intent, placet::Question::text("Why?").timeout(std::time::Duration::from_mins(10))).await.unwrap();
        let id = asked.suspension_id();
        let values = DraftValues { value: Some("because".to_owned()), ..DraftValues::default() };
        let saved = person.save_draft(id, values.clone()).await.unwrap();
        assert_eq!((saved.drafts[0].by.as_str(), &saved.drafts[0].values), (ADA, &values));
        assert_eq!(person.drafts(id).await.unwrap(), saved);
        let asking = app.client();
        assert!(matches!(asking.drafts(id).await, Err(CallError::Refused(problem)) if problem.code.as_deref() == Some("forbidden")));
        let (ended, ()) = join(asked.answer(), app.advance(600)).await;
        let Err(RequestInputError::InputTimeout { drafts, .. }) = ended else { panic!("{ended:?}") };
        assert_eq!(drafts, saved.drafts, "a waiting program gets them with the ending");
        assert!(person.drafts(id).await.unwrap().drafts.is_empty(), "they are in the record");
        mails(app).await;
    }
}
