//! Waiting for an answer: the wait is woken by the answer, and never returns a record that the key may no longer read.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use std::time::{Duration, Instant};

use domain::base::ids::IntentId;
use domain::people::principal::Role;
use harness::api::{Api, Reply};
use harness::on_each_store;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// A wait of 50 seconds, the longest that is allowed, was woken if it ends within this time.
const WOKEN: Duration = Duration::from_secs(20);

fn path(id: &str, query: &str) -> String {
    format!("api/v1/suspensions/{id}?{query}")
}

#[expect(clippy::disallowed_methods, reason = "every wait is joined or aborted by its test, which sees its panic")]
fn spawn(api: &Api, path: String) -> JoinHandle<Reply> {
    let api = api.clone();
    tokio::spawn(async move { api.get(&path).await })
}

/// Starts a wait and returns when the server has started it too.
async fn begin(api: &Api, id: &str, query: &str) -> JoinHandle<Reply> {
    let wait = spawn(api, path(id, query));
    // The server takes these requests after the wait, on the same threads: once they are answered, the wait has begun.
    for _ in 0..5 {
        api.get(&format!("api/v1/suspensions/{id}")).await.ok();
    }
    assert!(!wait.is_finished(), "there was something to wait for");
    wait
}

/// The reply to a wait that was woken.
async fn woken(wait: JoinHandle<Reply>) -> Reply {
    tokio::time::timeout(WOKEN, wait).await.unwrap().unwrap()
}

async fn asked(agent: &Api) -> (IntentId, String) {
    let intent = agent.active_intent().await;
    (intent, agent.asked(intent).await)
}

on_each_store! {
    /// The agent goes on the moment a person has answered, not at its next poll.
    async fn an_answer_wakes_everybody_who_waits_for_it(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let (intent, id) = asked(&agent).await;
        let waits = [begin(&agent, &id, "wait=50").await, begin(&operator, &id, "wait=50").await];
        let (_, elsewhere) = asked(&agent).await;
        let other = begin(&agent, &elsewhere, "wait=50").await;
        operator.respond(intent, &id, "approve").await.ok();
        for wait in waits {
            let reply = woken(wait).await;
            assert_eq!(reply.headers["etag"], "\"2\"");
            let record = reply.ok();
            assert_eq!((&record["resolution"], &record["response"]), (&json!("responded"), &json!("approve")));
            assert_eq!(record, agent.suspension(&id).await);
        }
        assert!(!other.is_finished(), "somebody else's answer is no reason to wake");
        other.abort();
    }

    /// Every ending wakes. Otherwise an agent would go on waiting for a question that has ended.
    async fn every_ending_wakes(app: &mut TestApp) {
        let agent = app.agent();
        // A woken wait returns the same record that every later read returns.
        let told = async |id: &str, wait| {
            let told = woken(wait).await.ok();
            assert_eq!(told, agent.suspension(id).await);
            told
        };
        let (_, id) = asked(&agent).await;
        let wait = begin(&agent, &id, "wait=50").await;
        agent.post(&format!("api/v1/suspensions/{id}/cancel"), json!({})).await.ok();
        assert_eq!(told(&id, wait).await["resolution_reason"], json!("withdrawn"));

        let (intent, id) = asked(&agent).await;
        let wait = begin(&agent, &id, "wait=50").await;
        agent.suspend(intent, json!({"supersedes": id})).await.ok();
        assert_eq!(told(&id, wait).await["resolution_reason"], json!("superseded"));

        let (intent, id) = asked(&agent).await;
        let wait = begin(&agent, &id, "wait=50").await;
        agent.post_at(&format!("api/v1/intents/{intent}/status"), "2", json!({"status": "abandoned"})).await.ok();
        assert_eq!(told(&id, wait).await["resolution_reason"], json!("withdrawn"));

        let (_, id) = asked(&agent).await;
        app.settle().await;
        let wait = begin(&agent, &id, "wait=50").await;
        app.advance(3600).await;
        assert_eq!(told(&id, wait).await["resolution"], json!("expired"));

        // A late answer makes the server record that the question has expired, which wakes the wait too.
        let (intent, id) = asked(&agent).await;
        app.settle().await;
        let wait = begin(&agent, &id, "wait=50").await;
        app.clock.jump(chrono::TimeDelta::seconds(3600));
        assert_eq!(app.operator().respond(intent, &id, "approve").await.problem(), (409, "expired"));
        assert_eq!(told(&id, wait).await["resolution"], json!("expired"));
    }

    /// A wait for an ended question returns at once, however long it was to last.
    async fn an_ended_question_is_not_waited_for(app: &mut TestApp) {
        let agent = app.agent();
        let (intent, id) = asked(&agent).await;
        app.operator().respond(intent, &id, "deny").await.ok();
        app.restart().await;
        let started = Instant::now();
        for query in ["wait=50", "wait=50&after_version=1", "wait=50&after_version=2", "after_version=99&wait=50"] {
            assert_eq!(agent.get(&path(&id, query)).await.ok()["response"], json!("deny"), "{query}");
        }
        assert!(started.elapsed() < WOKEN);
    }

    /// If nothing happens, the wait ends with status 200 and the open record.
    async fn a_wait_for_nothing_ends_with_the_open_record(app: &mut TestApp) {
        let agent = app.agent();
        let (_, id) = asked(&agent).await;
        let open = agent.suspension(&id).await;
        assert_eq!(open["resolution"], json!(null));
        let started = Instant::now();
        assert_eq!(agent.get(&path(&id, "wait=0")).await.ok(), open);
        // With a version that is older than the record's, the wait returns at once.
        assert_eq!(agent.get(&path(&id, "wait=50&after_version=0")).await.ok(), open);
        assert!(started.elapsed() < WOKEN);
        let started = Instant::now();
        assert_eq!(agent.get(&path(&id, "wait=1&after_version=1")).await.ok(), open);
        assert!(started.elapsed() >= Duration::from_secs(1));
    }

    /// A key that was revoked during its wait must not be given the answer.
    async fn a_key_revoked_during_a_wait_is_refused_on_waking(app: &mut TestApp) {
        let (agent, operator, admin) = (app.agent(), app.operator(), app.api(Role::Admin));
        let (intent, id) = asked(&agent).await;
        let made = admin.post("api/v1/keys", json!({"role": "agent", "name": "test-agent"})).await.ok();
        let doomed = Api::new(&app.base, Some(made["key"].as_str().unwrap()));
        let wait = begin(&doomed, &id, "wait=50").await;
        let revoke = admin.request("DELETE", &format!("api/v1/keys/{}", made["id"].as_str().unwrap()));
        admin.send(revoke).await.ok();
        operator.respond(intent, &id, "approve").await.ok();
        let refused = woken(wait).await;
        assert_eq!(refused.problem(), (401, "unauthorized"));
        assert!(!refused.text.contains("approve"));
        assert_eq!(refused.headers["content-type"], "application/problem+json");
    }

    /// If a key is revoked while its question stays open, the wait ends at once and does not go on as if the key still counted.
    async fn a_key_revoked_during_a_wait_for_nothing_ends_it_at_once(app: &mut TestApp) {
        let (agent, admin) = (app.agent(), app.api(Role::Admin));
        let (_, id) = asked(&agent).await;
        let made = admin.post("api/v1/keys", json!({"role": "agent", "name": "test-agent"})).await.ok();
        let doomed = Api::new(&app.base, Some(made["key"].as_str().unwrap()));
        let (wait, others) = (begin(&doomed, &id, "wait=50").await, begin(&agent, &id, "wait=50").await);
        let revoke = admin.request("DELETE", &format!("api/v1/keys/{}", made["id"].as_str().unwrap()));
        admin.send(revoke).await.ok();
        assert_eq!(woken(wait).await.problem(), (401, "unauthorized"));
        assert!(!others.is_finished(), "somebody else's key is no reason to wake");
        others.abort();
    }

    /// `placet keys revoke` and other servers send no notification, so a waiting request checks its key itself.
    async fn a_key_revoked_elsewhere_during_a_wait_ends_it_within_seconds(app: &mut TestApp) {
        let (agent, admin) = (app.agent(), app.api(Role::Admin));
        let (_, id) = asked(&agent).await;
        let made = admin.post("api/v1/keys", json!({"role": "agent", "name": "test-agent"})).await.ok();
        let doomed = Api::new(&app.base, Some(made["key"].as_str().unwrap()));
        let wait = begin(&doomed, &id, "wait=50").await;
        app.store().revoke_key(store::host::account::principal(), Ok(made["id"].as_str().unwrap().parse().unwrap())).await.unwrap();
        app.clock.jump(chrono::TimeDelta::seconds(1)); // A key that was looked up is trusted for a second.
        assert_eq!(woken(wait).await.problem(), (401, "unauthorized"));
    }

    /// A stopping server ends its waits with the current records, so that the clients can ask the next server.
    async fn a_stopping_server_ends_waits(app: &mut TestApp) {
        let agent = app.agent();
        let (_, id) = asked(&agent).await;
        let wait = begin(&agent, &id, "wait=50").await;
        let started = Instant::now();
        app.restart().await;
        assert_eq!(woken(wait).await.ok()["resolution"], json!(null));
        assert!(started.elapsed() < WOKEN);
    }

    /// A hundred agents can wait at the same time: each wait needs a connection and little else. Each is woken by the answer
    /// to its own question.
    async fn a_hundred_waits_are_each_woken_by_their_own_answer(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let mut waits = Vec::new();
        for number in 0..100 {
            let intent = agent.active_intent().await;
            let record = agent.suspend(intent, json!({"response_type": "text", "choices": []})).await.ok();
            let id = record["id"].as_str().unwrap().to_owned();
            let wait = spawn(&agent, path(&id, "wait=50"));
            waits.push((intent, id, number, wait));
        }
        for (intent, id, number, _) in &waits {
            operator.respond(*intent, id, number.to_string()).await.ok();
        }
        for (_, _, number, wait) in waits {
            assert_eq!(woken(wait).await.ok()["response"], json!(number.to_string()));
        }
    }

    /// The parameters have bounds. A caller who may not read the question gets 404, and the reply does not name the bounds.
    async fn a_wait_has_bounds(app: &mut TestApp) {
        let agent = app.agent();
        let (_, id) = asked(&agent).await;
        let other = Api::new(&app.base, Some(&app.new_key(Role::Agent, "other-agent").await));
        for (query, field) in [
            ("wait=51", "wait"), ("wait=-1", "wait"), ("wait=1.5", "wait"), ("wait=", "wait"), ("wait=1&wait=1", "wait"),
            ("after_version=x", "after_version"), ("after_version=-1", "after_version"), ("timeout=1", "timeout"),
        ] {
            let refused = agent.get(&path(&id, query)).await;
            assert_eq!((refused.status, refused.field_problem().2), (422, field), "{query}");
            assert_eq!(other.get(&path(&id, query)).await.problem(), (404, "not_found"), "{query}");
        }
    }

    /// The list of questions: open ones by default, newest first, with a cursor that neither skips nor repeats.
    async fn the_list_is_paged_by_a_cursor(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let mut ids = Vec::new();
        for _ in 0..5 {
            let (intent, id) = asked(&agent).await;
            ids.push((intent, id));
        }
        operator.respond(ids[1].0, &ids[1].1, "deny").await.ok();
        let list = async |query: &str| -> (Vec<usize>, Value) {
            let page = operator.get(&format!("api/v1/suspensions{query}")).await.ok();
            let position = |record: &Value| ids.iter().position(|(_, id)| record["id"] == json!(id)).unwrap();
            (page["suspensions"].as_array().unwrap().iter().map(position).collect(), page["next_cursor"].clone())
        };
        assert_eq!(list("").await, (vec![4, 3, 2, 0], json!(null)));
        assert_eq!(list("?state=all").await, (vec![4, 3, 2, 1, 0], json!(null)));
        let newest = operator.get("api/v1/suspensions?limit=1").await.ok()["suspensions"][0].clone();
        assert_eq!(newest["asked_by"], json!("test-agent"), "an inbox says who asks");
        assert!(agent.suspension(&ids[4].1).await.get("asked_by").is_none());
        let (first, cursor) = list("?limit=2").await;
        assert_eq!(first, [4, 3]);
        asked(&agent).await; // A newer question does not shift the pages.
        assert_eq!(list(&format!("?limit=2&cursor={}", cursor.as_str().unwrap())).await, (vec![2, 0], json!(null)));
        for (query, field) in [("?limit=0", "limit"), ("?limit=1001", "limit"), ("?state=closed", "state"), ("?cursor=x", "cursor"), ("?page=2", "page")] {
            let refused = operator.get(&format!("api/v1/suspensions{query}")).await;
            assert_eq!((refused.status, refused.field_problem().2), (422, field), "{query}");
        }
    }
}
