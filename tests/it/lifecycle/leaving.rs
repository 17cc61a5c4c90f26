//! Agents that leave work which is paused: the pause stays as it is, and so do those who may not lift it.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::base::ids::IntentId;
use domain::people::principal::Role;
use harness::api::{Api, Reply};
use harness::app::TestApp;
use harness::on_each_store;
use serde_json::{Value, json};

use super::pausing::{id_of, pause, resume, settle};

const INTENTS: &str = "api/v1/intents";

/// How a worker comes to a part in the work of another agent, and loses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaves {
    /// It was assigned, and takes itself off.
    ByItself,
    /// It was assigned, and the creator takes it off.
    TakenOff,
    /// Its entry is revoked.
    Revoked,
    /// Its entry becomes one that only reads.
    Lowered,
    /// The time of its entry passes.
    Lapsed,
    /// A new list of entries has none for it.
    LeftOut,
}

const WAYS: [Leaves; 6] = [Leaves::ByItself, Leaves::TakenOff, Leaves::Revoked, Leaves::Lowered, Leaves::Lapsed, Leaves::LeftOut];
/// How long the entry of a worker lasts that lapses, in seconds.
const LASTS: i64 = 600;

/// Two keys of one owner: an agent that works on the intents of another one, and an operator.
struct Behind {
    worker: Api,
    desk: Api,
}

impl Behind {
    async fn new(app: &TestApp) -> Self {
        let key = async |role, name| Api::new(&app.base, Some(&app.new_key_of(role, name, "carol").await));
        Self { worker: key(Role::Agent, "worker").await, desk: key(Role::Operator, "desk").await }
    }
}

fn entries(intent: IntentId) -> String {
    format!("{INTENTS}/{intent}/acl/entries")
}

/// Gives the worker its part; returns the id of its entry, if it has one.
async fn joins(app: &TestApp, agent: &Api, intent: IntentId, way: Leaves) -> Value {
    let mut entry = json!({"principal_id": "worker", "permission": "write"});
    match way {
        Leaves::ByItself | Leaves::TakenOff => {
            return agent.post(&format!("{INTENTS}/{intent}/agents"), json!({"agent_id": "worker"})).await.ok();
        }
        Leaves::Lapsed => {
            let until = domain::base::clock::Clock::now(&*app.clock) + chrono::TimeDelta::seconds(LASTS);
            entry["expires_at"] = json!(until.naive_utc());
        }
        Leaves::Revoked | Leaves::Lowered | Leaves::LeftOut => {}
    }
    agent.post(&entries(intent), entry).await.ok()
}

async fn leaves(app: &TestApp, agent: &Api, behind: &Behind, intent: IntentId, (way, entry): (Leaves, &Value)) {
    let off = format!("{INTENTS}/{intent}/agents/worker");
    match way {
        Leaves::ByItself => {
            behind.worker.send(behind.worker.request("DELETE", &off)).await.ok();
        }
        Leaves::TakenOff => {
            agent.send(agent.request("DELETE", &off)).await.ok();
        }
        Leaves::Revoked => {
            let path = format!("{}/{}", entries(intent), entry["id"].as_str().unwrap());
            assert!(agent.send(agent.request("DELETE", &path)).await.status < 300);
        }
        Leaves::Lowered => {
            agent.post(&entries(intent), json!({"principal_id": "worker", "permission": "read"})).await.ok();
        }
        Leaves::Lapsed => app.advance(LASTS).await,
        Leaves::LeftOut => {
            let put = agent.request("PUT", &format!("{INTENTS}/{intent}/acl")).json(&json!({"entries": []}));
            agent.send(put).await.ok();
        }
    }
}

/// Resumes by A2A.
async fn resume_task(api: &Api, intent: IntentId) -> i64 {
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "ResumeTask", "params": {"taskId": intent}});
    let request = api.request("POST", "a2a").header("a2a-version", "1.0").header("a2a-extensions", "urn:placet:a2a:pause:v1");
    api.send(request.json(&call)).await.body["error"]["code"].as_i64().unwrap_or_default()
}

fn is_refused(reply: &Reply) -> bool {
    [(403, "forbidden"), (404, "not_found")].contains(&reply.problem())
}

on_each_store! {
    /// The owner of an agent whose work is paused never lets it go on. An agent that leaves would otherwise free its owner, so one that wants
    /// its pause lifted would only have to leave.
    async fn an_agent_that_leaves_paused_work_frees_no_key_of_its_owner(app: &mut TestApp) {
        let behind = Behind::new(app).await;
        for way in WAYS {
            let (agent, operator) = (app.agent(), app.operator());
            let intent = agent.active_intent().await;
            let entry = joins(app, &agent, intent, way).await;
            let record = pause(&operator, intent, json!({})).await.ok();
            let id = id_of(&record);
            assert_eq!(resume(&behind.desk, &id, json!({})).await.problem(), (403, "forbidden"), "{way:?}");
            leaves(app, &agent, &behind, intent, (way, &entry)).await;
            app.restart().await;
            let (agent, operator) = (app.agent(), app.operator());
            // The pause stays as it is, and the worker has no more to do with it.
            assert_eq!(agent.suspension(&id).await, record, "{way:?}");
            let before = agent.everything(intent).await;
            assert!(is_refused(&settle(&behind.worker, &id, json!({})).await), "{way:?}");
            assert!(is_refused(&resume(&behind.worker, &id, json!({})).await), "{way:?}");
            assert_eq!(resume(&behind.desk, &id, json!({})).await.problem(), (403, "forbidden"), "{way:?}");
            assert_eq!(resume_task(&behind.desk, intent).await, -32043, "{way:?}");
            assert_eq!(agent.everything(intent).await, before);
            settle(&agent, &id, json!({})).await.ok();
            resume(&operator, &id, json!({})).await.ok();
            // The next pause finds the agent gone: it is no work of its own that its owner lets go on.
            let next = id_of(&pause(&operator, intent, json!({})).await.ok());
            resume(&behind.desk, &next, json!({})).await.ok();
            assert_eq!(agent.status(intent).await, "active", "{way:?}");
        }
    }

    /// An agent that only read has no part in the work, so nothing changes for its owner when it leaves.
    async fn a_reader_that_leaves_keeps_no_one_apart(app: &mut TestApp) {
        let behind = Behind::new(app).await;
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let entry = agent.post(&entries(intent), json!({"principal_id": "worker", "permission": "read"})).await.ok();
        let id = id_of(&pause(&operator, intent, json!({})).await.ok());
        leaves(app, &agent, &behind, intent, (Leaves::Revoked, &entry)).await;
        resume(&behind.desk, &id, json!({})).await.ok();
    }

    /// An entry that has lapsed is removed with the next change of the access. An agent that had left by then has no part in a later pause, and
    /// one that lapses during the pause still has.
    async fn an_entry_that_lapses_before_the_pause_keeps_no_one_apart(app: &mut TestApp) {
        let behind = Behind::new(app).await;
        for (lapses_before, resumed) in [(true, (200, "")), (false, (403, "forbidden"))] {
            let (agent, operator) = (app.agent(), app.operator());
            let intent = agent.active_intent().await;
            let entry = joins(app, &agent, intent, Leaves::Lapsed).await;
            if lapses_before {
                leaves(app, &agent, &behind, intent, (Leaves::Lapsed, &entry)).await;
            }
            let id = id_of(&pause(&operator, intent, json!({})).await.ok());
            if !lapses_before {
                leaves(app, &agent, &behind, intent, (Leaves::Lapsed, &entry)).await;
            }
            agent.post(&entries(intent), json!({"principal_id": "another", "permission": "read"})).await.ok();
            let reply = resume(&behind.desk, &id, json!({})).await;
            assert_eq!((reply.status, reply.body["code"].as_str().unwrap_or_default()), resumed, "{}", reply.text);
        }
    }
}
