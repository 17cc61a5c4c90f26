//! The acts that an agent may still do while its intent is stopped: its step comes to its end, and nothing begins.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use chrono::TimeDelta;
use domain::base::ids::IntentId;
use domain::people::principal::Role;
use harness::api::{Api, Reply};
use harness::on_each_store;
use serde_json::{Value, json};

use super::pausing::{id_of, pause, resume, settle, since_it_began};

const INTENTS: &str = "api/v1/intents";
const TASKS: &str = "api/v1/tasks";
/// How long an agent holds a task or a lease here, in seconds.
const HELD: i64 = 60;

/// An intent with work under way.
struct Work {
    intent: IntentId,
    running: String,
    held: String,
    waiting: String,
    child: IntentId,
    lease: String,
}

async fn new_task(api: &Api, intent: IntentId) -> Reply {
    api.post(TASKS, json!({"intent_id": intent, "name": "Check the invoice", "timeout_seconds": HELD})).await
}

async fn to(api: &Api, task: &str, status: &str) -> Reply {
    let version = api.get(&format!("{TASKS}/{task}")).await.ok()["version"].to_string();
    api.send(api.request("PATCH", &format!("{TASKS}/{task}")).header("if-match", version).json(&json!({"status": status}))).await
}

async fn status_of(api: &Api, task: &str) -> Value {
    api.get(&format!("{TASKS}/{task}")).await.ok()["status"].clone()
}

async fn patch(api: &Api, intent: IntentId) -> Reply {
    let version = api.intent(intent).await["version"].to_string();
    let patches = json!({"patches": [{"op": "set", "path": "/found", "value": version}]});
    api.post_at(&format!("{INTENTS}/{intent}/state"), &version, patches).await
}

async fn child(api: &Api, intent: IntentId) -> Reply {
    api.post(&format!("{INTENTS}/{intent}/children"), json!({"title": "part", "status": "active"})).await
}

impl Work {
    async fn begun(agent: &Api) -> Self {
        let intent = agent.active_intent().await;
        let mut tasks = Vec::new();
        for _ in 0..3 {
            tasks.push(id_of(&new_task(agent, intent).await.ok()));
        }
        let [running, held, waiting] = tasks.try_into().unwrap();
        for (task, status) in [(&running, "running"), (&held, "running")] {
            to(agent, task, status).await.ok();
        }
        let child = id_of(&child(agent, intent).await.ok()).parse().unwrap();
        let lease = json!({"scope": "report", "duration_seconds": HELD});
        let lease = id_of(&agent.post(&format!("{INTENTS}/{intent}/leases"), lease).await.ok());
        Self { intent, running, held, waiting, child, lease }
    }

    async fn at(&self, api: &Api, path: &str, body: Value) -> Reply {
        api.post(&format!("{INTENTS}/{}/{path}", self.intent), body).await
    }

    /// Nothing begins, and a refusal leaves the intent as it was.
    async fn begins_nothing(&self, agent: &Api) {
        let before = agent.everything(self.intent).await;
        let part = json!({"name": "part", "capability": "reads invoices"});
        let plan = json!({"intent_id": self.intent, "tasks": [self.waiting]});
        let directs = json!({"agent_id": "test-agent", "intent_id": self.intent});
        for (what, reply) in [
            ("a task", new_task(agent, self.intent).await),
            ("a part", agent.post(&format!("{TASKS}/{}/delegate", self.running), part).await),
            ("a plan", agent.post("api/v1/plans", plan).await),
            ("a child", child(agent, self.intent).await),
            ("an agent", self.at(agent, "agents", json!({"agent_id": "other"})).await),
            ("a coordinator", agent.post("api/v1/coordinators", directs).await),
        ] {
            assert_eq!(reply.problem(), (409, "intent_stopped"), "{what}: {reply:?}");
            assert!(reply.body["detail"].as_str().unwrap().contains("nothing begins"), "{reply:?}");
        }
        for (what, reply, code) in [
            ("a lease", self.at(agent, "leases", json!({"scope": "other"})).await, "lease_while_suspended"),
            ("a claim", agent.post(&format!("{TASKS}/{}/claim", self.waiting), json!({})).await, "intent_blocked"),
            ("a beginning", to(agent, &self.waiting, "running").await, "intent_blocked"),
            ("a question", agent.suspend(self.intent, json!({})).await, "not_active"),
        ] {
            assert_eq!(reply.problem(), (409, code), "{what}");
        }
        assert_eq!(agent.everything(self.intent).await, before);
    }

    /// The step under way goes on.
    async fn goes_on(&self, agent: &Api) {
        patch(agent, self.intent).await.ok();
        agent.post(&format!("{TASKS}/{}/progress", self.running), json!({"percentage": 40})).await.ok();
        self.at(agent, "attachments", json!({"filename": "f", "storage_url": "s"})).await.ok();
        self.at(agent, "approvals", json!({"action": "pay"})).await.ok();
    }

    /// The turn is over.
    async fn rests(&self, agent: &Api, words: &str) {
        let before = agent.everything(self.intent).await;
        for (what, reply) in [
            ("the state", patch(agent, self.intent).await),
            ("progress", agent.post(&format!("{TASKS}/{}/progress", self.held), json!({"percentage": 40})).await),
            ("a result", agent.post(&format!("{TASKS}/{}/complete", self.held), json!({})).await),
            ("a failure", agent.post(&format!("{TASKS}/{}/fail", self.held), json!({})).await),
            ("an attachment", self.at(agent, "attachments", json!({"filename": "f", "storage_url": "s"})).await),
            ("a request", self.at(agent, "approvals", json!({"action": "pay"})).await),
        ] {
            assert_eq!(reply.problem(), (409, "intent_stopped"), "{what}: {reply:?}");
            assert!(reply.body["detail"].as_str().unwrap().contains(words), "{reply:?}");
        }
        assert_eq!(agent.everything(self.intent).await, before);
    }

    /// Words, costs and signs of life pass whenever they come, and so does all that gives something back.
    async fn speaks(&self, agent: &Api) {
        self.at(agent, "events", json!({"event_type": "comment", "payload": {"text": "I have heard."}})).await.ok();
        self.at(agent, "costs", json!({"cost_type": "tokens", "amount": 3, "unit": "tokens"})).await.ok();
        let renewed = json!({"duration_seconds": HELD});
        let lease = format!("{INTENTS}/{}/leases/{}", self.intent, self.lease);
        agent.send(agent.request("PATCH", &lease).json(&renewed)).await.ok();
        agent.get(&format!("{INTENTS}/{}/events?limit=10", self.intent)).await.ok();
        agent.intent(self.intent).await;
    }
}

on_each_store! {
    /// A step ends while the agent has not stopped. Afterwards a reader may take the work for stable.
    async fn an_agent_ends_its_step_and_begins_no_other(app: &mut TestApp) {
        for mode in ["finish_step", "wait_for_completion"] {
            let (agent, operator) = (app.agent(), app.operator());
            let work = Work::begun(&agent).await;
            let id = id_of(&pause(&operator, work.intent, json!({"mode": mode})).await.ok());
            work.begins_nothing(&agent).await;
            work.goes_on(&agent).await;
            work.speaks(&agent).await;
            app.restart().await;
            let (agent, operator) = (app.agent(), app.operator());
            settle(&agent, &id, json!({"stage": "quiescing"})).await.ok();
            work.begins_nothing(&agent).await;
            patch(&agent, work.intent).await.ok();
            agent.post(&format!("{TASKS}/{}/complete", work.running), json!({})).await.ok();
            assert_eq!(status_of(&agent, &work.running).await, "completed");
            settle(&agent, &id, json!({})).await.ok();
            app.restart().await;
            let (agent, operator) = (app.agent(), operator);
            work.rests(&agent, "its agent has stopped").await;
            work.speaks(&agent).await;
            to(&agent, &work.waiting, "cancelled").await.ok();
            let path = format!("{INTENTS}/{}/leases/{}", work.intent, work.lease);
            agent.send(agent.request("DELETE", &path)).await.ok();
            // A pause is of one intent: its children go on until they are stopped themselves.
            patch(&agent, work.child).await.ok();
            agent.complete(work.child).await;
            app.settle().await;
            assert_eq!(agent.status(work.intent).await, "blocked");

            resume(&operator, &id, json!({})).await.ok();
            patch(&agent, work.intent).await.ok();
            agent.post(&format!("{TASKS}/{}/complete", work.held), json!({})).await.ok();
            new_task(&agent, work.intent).await.ok();
        }
    }

    /// An immediate interruption takes effect before the agent has said a word.
    async fn an_interruption_breaks_the_turn_off(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let work = Work::begun(&agent).await;
        let id = id_of(&pause(&operator, work.intent, json!({"mode": "interrupt_immediate"})).await.ok());
        app.restart().await;
        for stage in [None, Some("quiescing"), Some("suspended")] {
            if let Some(stage) = stage {
                settle(&agent, &id, json!({"stage": stage})).await.ok();
            }
            work.begins_nothing(&agent).await;
            work.rests(&agent, "breaks the turn of its agent off").await;
            work.speaks(&agent).await;
        }
        to(&agent, &work.held, "cancelled").await.ok();
        resume(&operator, &id, json!({})).await.ok();
        agent.post(&format!("{TASKS}/{}/complete", work.running), json!({})).await.ok();
    }

    /// A park is the agent's own word: it holds back the beginning of work alone, and no longer than its time.
    async fn a_parked_agent_ends_its_step_until_its_time_is_over(app: &mut TestApp) {
        let agent = app.agent();
        let work = Work::begun(&agent).await;
        let park = json!({"reason": "Waiting.", "conditions": {"timeout": {"duration_minutes": 1, "on_timeout": "resume_with_summary"}}});
        let id = id_of(&work.at(&agent, "park", park).await.ok());
        app.restart().await;
        let agent = app.agent();
        work.begins_nothing(&agent).await;
        work.goes_on(&agent).await;
        work.speaks(&agent).await;
        agent.post(&format!("{TASKS}/{}/complete", work.running), json!({})).await.ok();
        // The clock counts, also before the timer has run: the refusal ends the park, and the next try passes.
        app.clock.jump(TimeDelta::seconds(60));
        let late = new_task(&agent, work.intent).await;
        if late.status != 200 {
            assert_eq!(late.problem(), (409, "expired"));
        }
        app.settle().await;
        assert_eq!(agent.suspension(&id).await["cause"], "timeout");
        new_task(&agent, work.intent).await.ok();
    }

    /// While its work is being ended, an agent brings its step to an end, and hands in what it has.
    async fn an_agent_whose_work_is_being_ended_ends_its_step(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let work = Work::begun(&agent).await;
        let id = id_of(&work.at(&operator, "stop", json!({})).await.ok());
        app.restart().await;
        let agent = app.agent();
        work.begins_nothing(&agent).await;
        work.goes_on(&agent).await;
        agent.post(&format!("{TASKS}/{}/complete", work.running), json!({})).await.ok();
        settle(&agent, &id, json!({"handoff": {"left": ["The invoice is to be paid."]}})).await.ok();
        assert_eq!(agent.status(work.intent).await, "abandoned");
        assert_eq!(status_of(&agent, &work.running).await, "completed");
        assert_eq!(status_of(&agent, &work.held).await, "cancelled");
    }

    /// The clock counts before the timer runs: work whose time is over is not said to go on later.
    async fn what_would_begin_after_the_time_is_refused_for_the_time(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let mut ended = Vec::new();
        for _ in 0..3 {
            let work = Work::begun(&agent).await;
            work.at(&operator, "stop", json!({})).await.ok();
            ended.push(work);
        }
        app.clock.jump(TimeDelta::seconds(60));
        let directs = json!({"agent_id": "test-agent", "intent_id": ended[0].intent});
        let replies = [
            ("a coordinator", agent.post("api/v1/coordinators", directs).await),
            ("a task", new_task(&agent, ended[1].intent).await),
            ("a child", child(&agent, ended[2].intent).await),
        ];
        for (what, reply) in replies {
            assert_eq!(reply.problem(), (409, "expired"), "{what}: {reply:?}");
            assert!(reply.body["detail"].as_str().unwrap().contains("the time of the stop was over"), "{reply:?}");
        }
        // A refusal by its own intent lets the time take effect, and the timer of the parent does the same.
        assert_eq!(agent.status(ended[0].intent).await, "abandoned");
        app.settle().await;
        for work in ended {
            assert_eq!(agent.status(work.intent).await, "abandoned");
        }
    }

    /// A task in the hands of another agent is work on the intent as well. It waits, and its agent finds it with its whole time.
    async fn a_task_of_another_agent_waits_as_well(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let work = Work::begun(&agent).await;
        let helper = Api::new(&app.base, Some(&app.new_key(Role::Agent, "helper").await));
        work.at(&agent, "agents", json!({"agent_id": "helper"})).await.ok();
        helper.post(&format!("{TASKS}/{}/claim", work.waiting), json!({})).await.ok();
        let id = id_of(&pause(&operator, work.intent, json!({})).await.ok());
        assert_eq!(to(&helper, &work.waiting, "running").await.problem(), (409, "intent_blocked"));
        helper.post(&format!("{TASKS}/{}/progress", work.waiting), json!({"percentage": 1})).await.ok();
        settle(&agent, &id, json!({})).await.ok();
        let refused = helper.post(&format!("{TASKS}/{}/progress", work.waiting), json!({"percentage": 2})).await;
        assert_eq!(refused.problem(), (409, "intent_stopped"));
        app.advance(HELD * 10).await;
        resume(&operator, &id, json!({})).await.ok();
        app.advance(HELD - 1).await;
        assert_eq!(status_of(&helper, &work.waiting).await, "claimed");
        to(&helper, &work.waiting, "running").await.ok();
        helper.post(&format!("{TASKS}/{}/complete", work.waiting), json!({})).await.ok();
    }

    /// A plan begins nothing while its intent is stopped, asks its question when the intent goes on, and may be given up at any time.
    async fn a_plan_rests_with_its_intent(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let work = Work::begun(&agent).await;
        let [first, second] = [new_task(&agent, work.intent).await.ok(), new_task(&agent, work.intent).await.ok()].map(|task| id_of(&task));
        let gate = json!([{"id": "gate", "name": "Gate", "after_task": first, "requires_approval": true}]);
        let plan = json!({"intent_id": work.intent, "tasks": [first, second], "checkpoints": gate});
        let plan = id_of(&agent.post("api/v1/plans", plan).await.ok());
        let act = async |verb: &str| agent.post(&format!("api/v1/plans/{plan}/{verb}"), json!({})).await;
        let id = id_of(&pause(&operator, work.intent, json!({})).await.ok());
        assert_eq!(act("activate").await.problem(), (409, "intent_stopped"));
        resume(&operator, &id, json!({})).await.ok();
        act("activate").await.ok();
        to(&agent, &first, "running").await.ok();
        let id = id_of(&pause(&operator, work.intent, json!({})).await.ok());
        agent.post(&format!("{TASKS}/{first}/complete"), json!({})).await.ok();
        // The intent waits for one thing at a time, so people are asked at the checkpoint when it goes on.
        assert_eq!(agent.status(work.intent).await, "blocked");
        assert!(!since_it_began(&agent, work.intent).await.contains(&"intent.suspended".to_owned()));
        resume(&operator, &id, json!({})).await.ok();
        assert_eq!(agent.status(work.intent).await, "suspended_awaiting_input");
    }
}
