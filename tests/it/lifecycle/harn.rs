//! The demands of Harn's own tests of suspension, as contracts of the HTTP interface: the eleven programs that do not test its virtual machine,
//! and nine further behaviours. Each course is run once for each of its steps, with a restart of the server there.

use domain::base::ids::IntentId;
use domain::people::principal::Role;
use futures_util::future::join_all;
use harness::api::{Api, Reply};
use harness::app::TestApp;
use harness::on_each_store;
use serde_json::{Value, json};

use super::pausing::{harn, id_of, pause, resume, set_status, since_it_began};

/// A course, with a restart before one of its steps.
struct Stage<'a> {
    app: &'a mut TestApp,
    /// How many steps come before the restart.
    left: usize,
    has_restarted: bool,
}

impl Stage<'_> {
    /// The next step begins here.
    async fn step(&mut self) {
        if self.left == 0 && !self.has_restarted {
            self.has_restarted = true;
            self.app.restart().await;
        }
        self.left = self.left.saturating_sub(1);
    }

    /// Begins a step in which a request is sent.
    async fn post(&mut self, api: &Api, path: &str, body: Value) -> Reply {
        self.step().await;
        api.post(path, body).await
    }

    async fn pause(&mut self, api: &Api, intent: IntentId, body: Value) -> Value {
        self.step().await;
        pause(api, intent, body).await.ok()
    }

    async fn park(&mut self, api: &Api, intent: IntentId, conditions: Value) -> Value {
        let body = json!({"reason": "waiting on review", "conditions": conditions});
        self.post(api, &format!("api/v1/intents/{intent}/park"), body).await.ok()
    }

    async fn settle(&mut self, api: &Api, id: &str, stage: &str) -> Value {
        self.post(api, &format!("api/v1/suspensions/{id}/settle"), json!({"stage": stage})).await.ok()
    }

    async fn resume(&mut self, api: &Api, id: &str, body: Value) -> Reply {
        self.step().await;
        resume(api, id, body).await
    }

    async fn close(&mut self, api: &Api, intent: IntentId) -> Reply {
        self.step().await;
        set_status(api, intent, "abandoned").await
    }

    async fn event(&mut self, api: &Api, name: &str) -> Value {
        self.post(api, "api/v1/events", json!({"name": name, "payload": {"of": name}})).await.ok()["woken"].clone()
    }

    /// Time passes, by the clock of the test.
    async fn minutes(&mut self, minutes: i64) {
        self.step().await;
        self.app.advance(minutes * 60).await;
    }
}

/// Runs a course once without a restart, and once for each of its steps with a restart before it.
async fn with_a_restart_anywhere(app: &mut TestApp, course: impl AsyncFn(&mut Stage<'_>)) {
    for left in 0.. {
        let mut stage = Stage { app: &mut *app, left, has_restarted: false };
        course(&mut stage).await;
        if !stage.has_restarted {
            return;
        }
    }
}

/// How many of the intent's events have this type.
async fn count(api: &Api, intent: IntentId, event_type: &str) -> usize {
    since_it_began(api, intent).await.iter().filter(|of| *of == event_type).count()
}

on_each_store! {
    async fn suspend_midloop_basic(app: &mut TestApp) {
        with_a_restart_anywhere(app, async |stage| {
            let (agent, operator) = (stage.app.agent(), stage.app.operator());
            let intent = agent.active_intent().await;
            let record = stage.pause(&operator, intent, json!({"mode": "finish_step"})).await;
            let id = id_of(&record);
            assert_eq!((&record["stage"], &record["resolution"]), (&json!("requested"), &json!(null)));
            assert_eq!(stage.settle(&agent, &id, "suspended").await["stage"], "suspended");
            stage.resume(&operator, &id, json!({})).await.ok();
            stage.step().await;
            assert_eq!(agent.status(intent).await, "active");
            assert_eq!((count(&agent, intent, "lifecycle.paused").await, count(&agent, intent, "lifecycle.resumed").await), (1, 1));
        }).await;
    }

    async fn suspend_self_park_open(app: &mut TestApp) {
        with_a_restart_anywhere(app, async |stage| {
            let (agent, operator) = (stage.app.agent(), stage.app.operator());
            let intent = agent.active_intent().await;
            let record = stage.park(&agent, intent, json!(null)).await;
            assert_eq!((record.get("conditions"), record.get("expires_at")), (None, None));
            stage.minutes(60 * 24 * 400).await;
            assert_eq!(stage.event(&operator, "anything").await, 0);
            assert_eq!(agent.suspension(&id_of(&record)).await, record, "only a principal wakes it");
            let gone = stage.resume(&operator, &id_of(&record), json!({})).await.ok();
            assert_eq!((&gone["resolution"], &gone["cause"]), (&json!("resumed"), &json!("explicit_resume")));
        }).await;
    }

    async fn suspend_self_park_with_input(app: &mut TestApp) {
        with_a_restart_anywhere(app, async |stage| {
            let (agent, operator) = (stage.app.agent(), stage.app.operator());
            let intent = agent.active_intent().await;
            let id = id_of(&stage.park(&agent, intent, json!(null)).await);
            let input = json!({"text": " Pick up where you left off.\n", "n": 1.5, "list": [null, "ä"]});
            stage.resume(&operator, &id, json!({"input": input})).await.ok();
            stage.step().await;
            let told = agent.get(&format!("api/v1/suspensions/{id}?wait=5")).await.ok();
            assert_eq!((&told["input"], &told["reason"]), (&input, &json!("waiting on review")));
            assert_eq!(count(&agent, intent, "lifecycle.resumed").await, 1, "it is delivered once");
        }).await;
    }

    async fn suspend_conditioned_trigger(app: &mut TestApp) {
        with_a_restart_anywhere(app, async |stage| {
            let (agent, operator) = (stage.app.agent(), stage.app.operator());
            let trigger = json!({"trigger": {"kind": "review.approved", "provider": "placet", "match": {"events": ["review.approved"]}}});
            for (conditions, cause) in [(trigger, "condition_fired"), (json!({"on_event": "review.approved"}), "external_event")] {
                let intent = agent.active_intent().await;
                let id = id_of(&stage.park(&agent, intent, conditions).await);
                assert_eq!(stage.event(&operator, "review.denied").await, 0);
                assert_eq!(agent.suspension(&id).await["resolution"], json!(null));
                assert_eq!(stage.event(&operator, "review.approved").await, 1);
                let told = agent.suspension(&id).await;
                assert_eq!((&told["resolution"], &told["cause"]), (&json!("resumed"), &json!(cause)));
                assert_eq!(told["input"], json!({"of": "review.approved"}));
            }
        }).await;
    }

    async fn suspend_timeout_resume_with_summary(app: &mut TestApp) {
        with_a_restart_anywhere(app, async |stage| {
            let agent = stage.app.agent();
            let intent = agent.active_intent().await;
            let id = id_of(&stage.park(&agent, intent, json!({"timeout": {"duration_minutes": 5}})).await);
            stage.minutes(6).await;
            let told = agent.suspension(&id).await;
            assert_eq!((&told["cause"], &told["continue_transcript"]), (&json!("timeout"), &json!(false)));
            assert!(told["digest"].as_str().unwrap().contains("waiting on review"), "{told}");
            assert_eq!((agent.status(intent).await.as_str(), told.get("input")), ("active", None));
        }).await;
    }

    async fn suspend_timeout_fail(app: &mut TestApp) {
        with_a_restart_anywhere(app, async |stage| {
            let (agent, operator) = (stage.app.agent(), stage.app.operator());
            let intent = agent.active_intent().await;
            let conditions = json!({"timeout": {"duration_minutes": 5, "on_timeout": "fail"}});
            let id = id_of(&stage.park(&agent, intent, conditions).await);
            stage.minutes(6).await;
            assert_eq!(agent.status(intent).await, "abandoned");
            let events = agent.events(intent).await;
            assert_eq!(events.last().unwrap()["payload"]["reason"], "HARN-SUS-008: auto-resume timeout expired");
            let refused = stage.resume(&operator, &id, json!({})).await;
            assert_eq!(harn(&refused), (409, "not_active", "HARN-SUS-010"));
        }).await;
    }

    async fn suspend_close_while_suspended(app: &mut TestApp) {
        with_a_restart_anywhere(app, async |stage| {
            let (agent, operator) = (stage.app.agent(), stage.app.operator());
            let intent = agent.active_intent().await;
            let id = id_of(&stage.pause(&operator, intent, json!({})).await);
            stage.close(&agent, intent).await.ok();
            let refused = stage.resume(&operator, &id, json!({})).await;
            assert_eq!(harn(&refused), (409, "not_active", "HARN-SUS-010"));
            // A second close changes nothing.
            let before = agent.everything(intent).await;
            stage.close(&agent, intent).await;
            assert_eq!(agent.everything(intent).await, before);
            assert_eq!(agent.suspension(&id).await["cause"], "closed");
        }).await;
    }

    async fn suspend_double_resume_race(app: &mut TestApp) {
        with_a_restart_anywhere(app, async |stage| {
            let (agent, operator) = (stage.app.agent(), stage.app.operator());
            let intent = agent.active_intent().await;
            let id = id_of(&stage.pause(&operator, intent, json!({})).await);
            stage.step().await;
            let replies = join_all((0..8).map(|_| resume(&operator, &id, json!({})))).await;
            let (won, lost): (Vec<&Reply>, Vec<&Reply>) = replies.iter().partition(|reply| reply.status == 200);
            assert_eq!(won.len(), 1);
            assert!(lost.iter().all(|reply| harn(reply) == (409, "already_resolved", "HARN-SUS-006")), "{lost:?}");
            let later = stage.resume(&operator, &id, json!({})).await;
            assert_eq!(harn(&later), (409, "already_resolved", "HARN-SUS-006"));
        }).await;
    }

    async fn suspend_continue_transcript_false(app: &mut TestApp) {
        with_a_restart_anywhere(app, async |stage| {
            let (agent, operator) = (stage.app.agent(), stage.app.operator());
            let intent = agent.active_intent().await;
            let id = id_of(&stage.park(&agent, intent, json!(null)).await);
            let body = json!({"input": "Try a completely different approach.", "continue_transcript": false});
            stage.resume(&operator, &id, body).await.ok();
            stage.step().await;
            let told = agent.suspension(&id).await;
            assert_eq!((&told["continue_transcript"], &told["input"]), (&json!(false), &json!("Try a completely different approach.")));
        }).await;
    }

    /// The server is away while the agent is parked, and a time that came meanwhile takes effect once.
    async fn suspend_cold_restart(app: &mut TestApp) {
        with_a_restart_anywhere(app, async |stage| {
            let (agent, operator) = (stage.app.agent(), stage.app.operator());
            let (open, failing) = (agent.active_intent().await, agent.active_intent().await);
            let id = id_of(&stage.park(&agent, open, json!(null)).await);
            stage.park(&agent, failing, json!({"timeout": {"duration_minutes": 5, "on_timeout": "fail"}})).await;
            stage.step().await;
            stage.app.outage(600).await;
            stage.minutes(1).await;
            assert_eq!(count(&agent, failing, "lifecycle.closed").await, 1);
            stage.resume(&operator, &id, json!({})).await.ok();
            assert_eq!(agent.status(open).await, "active");
        }).await;
    }

    async fn suspend_nested(app: &mut TestApp) {
        with_a_restart_anywhere(app, async |stage| {
            let (agent, operator) = (stage.app.agent(), stage.app.operator());
            let parent = agent.active_intent().await;
            let child = json!({"title": "part", "status": "active"});
            let child = stage.post(&agent, &format!("api/v1/intents/{parent}/children"), child).await.ok();
            let child: IntentId = child["id"].as_str().unwrap().parse().unwrap();
            let inner = id_of(&stage.park(&agent, child, json!(null)).await);
            let outer = id_of(&stage.pause(&operator, parent, json!({})).await);
            stage.resume(&operator, &inner, json!({})).await.ok();
            assert_eq!((agent.status(child).await.as_str(), agent.suspension(&outer).await["resolution"].clone()), ("active", json!(null)));
            stage.resume(&operator, &outer, json!({})).await.ok();
            assert_eq!((count(&agent, child, "lifecycle.resumed").await, count(&agent, parent, "lifecycle.resumed").await), (1, 1));
        }).await;
    }
}

on_each_store! {
    /// The agent finds its own words and conditions again.
    async fn agent_await_resumption(app: &mut TestApp) {
        with_a_restart_anywhere(app, async |stage| {
            let agent = stage.app.agent();
            let intent = agent.active_intent().await;
            let conditions = json!({"on_event": "file.changed:src/lib.rs", "timeout": {"duration_minutes": 30, "on_timeout": "resume_with_input"}});
            let record = stage.park(&agent, intent, conditions.clone()).await;
            assert_eq!((&record["initiator"], &record["reason"]), (&json!("self"), &json!("waiting on review")));
            assert_eq!(record["conditions"], conditions);
            stage.step().await;
            assert_eq!(agent.suspension(&id_of(&record)).await, record);
            assert_eq!(agent.intent(intent).await["state"]["_pause"]["conditions"], conditions);
        }).await;
    }

    async fn agent_await_resumption_invalid_feedback(app: &mut TestApp) {
        with_a_restart_anywhere(app, async |stage| {
            let agent = stage.app.agent();
            let intent = agent.active_intent().await;
            for (body, field, told) in [
                (json!({"reason": " "}), "reason", "HARN-SUS-005: "),
                (json!({"reason": "r", "conditions": 7}), "conditions", "HARN-SUS-002: invalid ResumeConditions"),
                (json!({"reason": "r", "conditions": {"when": 1}}), "conditions.when", "HARN-SUS-002: invalid ResumeConditions.when: unknown field"),
                (json!({"reason": "r", "conditions": {"timeout": {"duration_minutes": 1.5}}}), "conditions.timeout.duration_minutes", "HARN-SUS-002: "),
                (json!({"reason": "r", "conditions": {"timeout": {"duration_minutes": -1}}}), "conditions.timeout.duration_minutes", "HARN-SUS-002: "),
            ] {
                let refused = stage.post(&agent, &format!("api/v1/intents/{intent}/park"), body.clone()).await;
                assert_eq!((refused.status, refused.field_problem().2), (422, field), "{body}");
                assert!(refused.body["errors"][0]["message"].as_str().unwrap().starts_with(told), "{refused:?}");
            }
            assert_eq!(since_it_began(&agent, intent).await, [""; 0], "a refused park leaves nothing");
        }).await;
    }

    /// Without conditions the parent lets it go on, and with conditions this server does.
    async fn resume_by_default(app: &mut TestApp) {
        with_a_restart_anywhere(app, async |stage| {
            let agent = stage.app.agent();
            for (conditions, owner) in [(json!(null), "parent"), (json!({"on_event": "x"}), "server")] {
                let intent = agent.active_intent().await;
                assert_eq!(stage.park(&agent, intent, conditions).await["resume_owner"], owner);
            }
        }).await;
    }

    /// A named owner is kept, and gives no right: another principal that may resume still does.
    async fn resume_by_named(app: &mut TestApp) {
        with_a_restart_anywhere(app, async |stage| {
            let (agent, operator) = (stage.app.agent(), stage.app.operator());
            for owner in ["parent", "server", "external", "drain"] {
                let intent = agent.active_intent().await;
                let body = json!({"reason": "r", "resume_owner": owner});
                let record = stage.post(&agent, &format!("api/v1/intents/{intent}/park"), body).await.ok();
                assert_eq!(record["resume_owner"], owner);
                stage.resume(&operator, &id_of(&record), json!({})).await.ok();
            }
        }).await;
    }

    /// A pause of what is paused is the same pause.
    async fn subagent_pause_twice(app: &mut TestApp) {
        with_a_restart_anywhere(app, async |stage| {
            let (agent, operator) = (stage.app.agent(), stage.app.operator());
            let intent = agent.active_intent().await;
            let first = stage.pause(&operator, intent, json!({"reason": "one"})).await;
            assert_eq!(stage.pause(&operator, intent, json!({"reason": "two"})).await, first);
            assert_eq!(count(&agent, intent, "lifecycle.paused").await, 1);
        }).await;
    }

    /// The modes are kept for the agent, and the server holds back the same in each.
    async fn interrupt_and_suspend(app: &mut TestApp) {
        with_a_restart_anywhere(app, async |stage| {
            let (agent, operator) = (stage.app.agent(), stage.app.operator());
            for mode in ["finish_step", "wait_for_completion", "interrupt_immediate"] {
                let intent = agent.active_intent().await;
                let record = stage.pause(&operator, intent, json!({"mode": mode})).await;
                assert_eq!((&record["mode"], &record["stage"]), (&json!(mode), &json!("requested")));
                let lease = json!({"scope": "report"});
                let refused = stage.post(&agent, &format!("api/v1/intents/{intent}/leases"), lease).await;
                assert_eq!(refused.problem(), (409, "lease_while_suspended"));
                assert_eq!(agent.suspend(intent, json!({})).await.problem(), (409, "not_active"));
            }
        }).await;
    }

    /// A pause comes to work that runs, and to no other.
    async fn suspend_not_running(app: &mut TestApp) {
        with_a_restart_anywhere(app, async |stage| {
            let (agent, operator) = (stage.app.agent(), stage.app.operator());
            let (done, asking) = (agent.completed_intent().await, agent.active_intent().await);
            agent.asked(asking).await;
            for intent in [done, asking] {
                let refused = stage.post(&operator, &format!("api/v1/intents/{intent}/pause"), json!({})).await;
                assert_eq!(harn(&refused), (409, "not_active", "HARN-SUS-001"));
            }
            let question = agent.intent(asking).await["state"]["_suspension"]["id"].as_str().unwrap().to_owned();
            let refused = stage.resume(&operator, &question, json!({})).await;
            assert_eq!(harn(&refused), (409, "not_suspended", "HARN-SUS-003"));
        }).await;
    }

    /// A stale or foreign handle, an input that is none, a provider that nobody serves.
    async fn resume_mismatch_and_invalid_input(app: &mut TestApp) {
        with_a_restart_anywhere(app, async |stage| {
            let (agent, operator) = (stage.app.agent(), stage.app.operator());
            let (one, two) = (agent.active_intent().await, agent.active_intent().await);
            let id = id_of(&stage.park(&agent, one, json!(null)).await);
            let other = id_of(&stage.park(&agent, two, json!(null)).await);
            let refused = stage.resume(&operator, &id, json!({"handle": other})).await;
            assert_eq!(harn(&refused), (409, "suspension_mismatch", "HARN-SUS-004"));
            let refused = stage.resume(&operator, &id, json!({"input": " "})).await;
            assert_eq!((refused.status, refused.field_problem().2), (422, "input"));
            assert!(refused.text.contains("HARN-SUS-009"), "{refused:?}");
            stage.resume(&operator, &id, json!({"handle": id})).await.ok();
            let third = agent.active_intent().await;
            let trigger = json!({"kind": "k", "provider": "github", "match": {"events": ["x"]}});
            let body = json!({"reason": "r", "conditions": {"trigger": trigger}});
            let refused = stage.post(&agent, &format!("api/v1/intents/{third}/park"), body).await;
            assert_eq!((refused.status, refused.field_problem().2), (422, "conditions.trigger.provider"));
            assert!(refused.text.contains("HARN-SUS-007"), "{refused:?}");
        }).await;
    }

    /// An event and the time in one moment: the time has come, so the event is too late; and each takes effect once.
    async fn an_event_at_the_very_time(app: &mut TestApp) {
        with_a_restart_anywhere(app, async |stage| {
            let (agent, gateway) = (stage.app.agent(), stage.app.api(Role::Channel));
            let intent = agent.active_intent().await;
            let conditions = json!({"on_event": "late", "timeout": {"duration_minutes": 1}});
            let id = id_of(&stage.park(&agent, intent, conditions).await);
            stage.step().await;
            stage.app.clock.jump(chrono::TimeDelta::seconds(60));
            assert_eq!(stage.event(&gateway, "late").await, 0);
            stage.minutes(0).await;
            let told = agent.suspension(&id).await;
            assert_eq!((&told["cause"], told.get("event")), (&json!("timeout"), None));
            assert_eq!(count(&agent, intent, "lifecycle.resumed").await, 1);
        }).await;
    }
}
