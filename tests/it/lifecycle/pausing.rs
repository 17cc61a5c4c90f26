//! Pauses: another principal stops the work of an agent, and the agent cannot lift that.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::base::ids::IntentId;
use domain::people::principal::Role;
use domain::suspension::stop::RESUME_INPUT_BYTES_MAX;
use futures_util::future::join_all;
use harness::api::{Api, Reply};
use harness::app::TestApp;
use harness::on_each_store;
use serde_json::{Value, json};

const INTENTS: &str = "api/v1/intents";

pub(crate) async fn pause(api: &Api, intent: IntentId, body: Value) -> Reply {
    api.post(&format!("{INTENTS}/{intent}/pause"), body).await
}

/// Pauses an intent; returns the id of the suspension.
async fn paused(api: &Api, intent: IntentId) -> String {
    id_of(&pause(api, intent, json!({})).await.ok())
}

pub(crate) fn id_of(record: &Value) -> String {
    record["id"].as_str().unwrap().to_owned()
}

pub(crate) async fn resume(api: &Api, id: &str, body: Value) -> Reply {
    api.post(&format!("api/v1/suspensions/{id}/resume"), body).await
}

pub(crate) async fn settle(api: &Api, id: &str, body: Value) -> Reply {
    api.post(&format!("api/v1/suspensions/{id}/settle"), body).await
}

pub(crate) async fn set_status(api: &Api, intent: IntentId, status: &str) -> Reply {
    let version = api.intent(intent).await["version"].to_string();
    api.post_at(&format!("{INTENTS}/{intent}/status"), &version, json!({"status": status})).await
}

/// The Harn code of a refusal, with its status and its own code.
pub(super) fn harn(reply: &Reply) -> (u16, &str, &str) {
    let (status, code) = reply.problem();
    let harn = reply.body["harn_code"].as_str().unwrap_or_default();
    assert!(harn.is_empty() || reply.body["detail"].as_str().unwrap().starts_with(harn), "{reply:?}");
    (status, code, harn)
}

/// The types of the events since the intent began.
pub(super) async fn since_it_began(api: &Api, intent: IntentId) -> Vec<String> {
    api.event_types(intent).await.split_off(1)
}

/// An agent of another owner, with an intent of its own and a child of that intent which the test's agent created.
pub(crate) async fn parent_of_anothers_child(app: &TestApp) -> (Api, IntentId) {
    let boss = Api::new(&app.base, Some(&app.new_key(Role::Agent, "boss").await));
    let agent = app.agent();
    let parent = boss.active_intent().await;
    let grant = json!({"principal_id": "test-agent", "permission": "write"});
    boss.post(&format!("{INTENTS}/{parent}/acl/entries"), grant).await.ok();
    let child = agent.post(&format!("{INTENTS}/{parent}/children"), json!({"title": "part", "status": "active"})).await.ok();
    (boss, child["id"].as_str().unwrap().parse().unwrap())
}

on_each_store! {
    /// The whole life of a pause, with a restart between the steps: nothing of it is in memory alone.
    async fn an_agent_is_paused_settles_and_goes_on_when_it_is_resumed(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let record = pause(&operator, intent, json!({"mode": "finish_step", "reason": "The supplier is checked."})).await.ok();
        let id = id_of(&record);
        let open = json!({
            "id": id, "intent_id": intent, "kind": "paused", "version": 1, "stage": "requested", "mode": "finish_step",
            "reason": "The supplier is checked.", "initiator": "operator", "initiated_by": record["initiated_by"],
            "suspended_at": "2026-11-24T08:00:00.000000Z", "resolution": null, "cause": null, "continue_transcript": null,
            "resolved_at": null, "resolved_by": null,
        });
        assert_eq!(record, open);
        app.restart().await;
        assert_eq!(agent.suspension(&id).await, open);
        let shown = agent.intent(intent).await;
        assert_eq!((&shown["status"], &shown["blocked_reason"]), (&json!("blocked"), &json!("paused")));
        let in_state = &shown["state"]["_pause"];
        assert_eq!((&in_state["id"], &in_state["suspended_at"]), (&json!(id), &json!("2026-11-24T08:00:00.000000")));

        assert_eq!(settle(&agent, &id, json!({"stage": "quiescing"})).await.ok()["stage"], "quiescing");
        app.restart().await;
        let settled = settle(&agent, &id, json!({})).await.ok();
        assert_eq!((&settled["stage"], &settled["version"]), (&json!("suspended"), &json!(3)));
        let path = format!("api/v1/suspensions/{id}/settle");
        assert_eq!(agent.post_at(&path, "2", json!({})).await.problem(), (409, "version_conflict"));
        assert_eq!(agent.post_at(&path, "3", json!({})).await.ok(), settled);
        // A stage that is reached is not recorded again, and none is taken back.
        assert_eq!(settle(&agent, &id, json!({"stage": "quiescing"})).await.ok()["stage"], "suspended");

        app.advance(60).await;
        let gone = resume(&operator, &id, json!({"input": {"supplier": "fine"}, "continue_transcript": false})).await.ok();
        assert_eq!((&gone["resolution"], &gone["cause"]), (&json!("resumed"), &json!("explicit_resume")));
        assert_eq!((&gone["input"], &gone["continue_transcript"]), (&json!({"supplier": "fine"}), &json!(false)));
        assert_eq!(gone["resolved_at"], "2026-11-24T08:01:00.000000Z");
        app.restart().await;
        assert_eq!(agent.suspension(&id).await, gone);
        let shown = agent.intent(intent).await;
        assert_eq!((&shown["status"], &shown["blocked_reason"], shown["state"].get("_pause")), (&json!("active"), &json!(null), None));
        assert_eq!(since_it_began(&agent, intent).await, [
            "lifecycle.paused", "status_changed", "lifecycle.settled", "lifecycle.settled", "lifecycle.resumed", "status_changed",
        ]);
        // The client of OpenIntent knows nothing of these types, so it gets the changes of the status alone.
        let known = agent.get(&format!("{INTENTS}/{intent}/events")).await.ok();
        assert!(known.as_array().unwrap().iter().all(|event| !event["event_type"].as_str().unwrap().starts_with("lifecycle.")));
    }

    /// A pause of what is paused is the same pause: a controller that sends it twice must not need to know that.
    async fn a_second_pause_is_the_first_one_and_writes_nothing(app: &mut TestApp) {
        let (agent, operator, admin) = (app.agent(), app.operator(), app.api(Role::Admin));
        let intent = agent.active_intent().await;
        let first = pause(&operator, intent, json!({"reason": "one"})).await.ok();
        let before = agent.everything(intent).await;
        let second = pause(&admin, intent, json!({"reason": "two", "mode": "interrupt_immediate"})).await.ok();
        assert_eq!(second, first);
        assert_eq!(agent.everything(intent).await, before);
        // The same key gets the same reply, and another body under that key is refused.
        let path = format!("{INTENTS}/{intent}/pause");
        assert_eq!(operator.post_once(&path, "k", json!({})).await.ok(), first);
        assert_eq!(operator.post_once(&path, "k", json!({"reason": "x"})).await.problem(), (422, "idempotency_mismatch"));
    }

    /// Another thing than running work is not paused: an intent waits for one thing at a time.
    async fn only_work_that_runs_is_paused_and_what_is_paused_does_not_ask(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let (asked, question) = agent.ask(json!({})).await;
        let draft = agent.post(INTENTS, json!({"title": "t"})).await.ok()["id"].as_str().unwrap().parse().unwrap();
        let done = agent.completed_intent().await;
        let given_up = agent.active_intent().await;
        set_status(&agent, given_up, "abandoned").await.ok();
        for intent in [asked, draft, done, given_up] {
            let before = agent.everything(intent).await;
            assert_eq!(harn(&pause(&operator, intent, json!({})).await), (409, "not_active", "HARN-SUS-001"));
            assert_eq!(agent.everything(intent).await, before);
        }
        // The id of a question is that of no stop.
        assert_eq!(harn(&resume(&operator, &question, json!({})).await), (409, "not_suspended", "HARN-SUS-003"));
        assert_eq!(harn(&settle(&agent, &question, json!({})).await), (409, "not_suspended", "HARN-SUS-003"));

        let intent = agent.active_intent().await;
        let id = paused(&operator, intent).await;
        assert_eq!(agent.suspend(intent, json!({})).await.problem(), (409, "not_active"));
        // The id of a stop is that of no question.
        assert_eq!(operator.respond(intent, &id, "approve").await.problem(), (409, "not_suspended"));
        let at = |step: &str| format!("api/v1/suspensions/{id}/{step}");
        assert_eq!(agent.post(&at("cancel"), json!({})).await.problem(), (409, "not_suspended"));
        for (step, body) in [("extend", json!({"seconds": 60})), ("remind", json!({})), ("claim", json!({}))] {
            assert_eq!(operator.post(&at(step), body).await.problem(), (409, "not_suspended"), "{step}");
        }
        for step in ["drafts", "deliveries"] {
            assert_eq!(operator.get(&at(step)).await.problem(), (404, "not_found"), "{step}");
        }
        assert_eq!(operator.post(&at("receipt"), json!({})).await.problem(), (404, "not_found"));
        // No list of questions shows it, and no metric counts it.
        let listed = operator.get("api/v1/suspensions?state=all").await.ok();
        assert_eq!(listed["suspensions"].as_array().unwrap().len(), 1);
        let metrics = app.api(Role::Admin).get("metrics").await;
        assert!(metrics.text.contains("placet_questions_open 1"), "{}", metrics.text);
    }

    /// The id of a question that has ended is that of no stop either, and the refusal says that it came too late.
    async fn a_question_that_has_ended_is_not_resumed(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let (answered, one) = agent.ask(json!({})).await;
        operator.respond(answered, &one, "approve").await.ok();
        let (given_up, two) = agent.ask(json!({})).await;
        set_status(&agent, given_up, "abandoned").await.ok();
        for (intent, question) in [(answered, one), (given_up, two)] {
            let before = agent.everything(intent).await;
            for body in [json!({}), json!({"input": "go on"}), json!({"handle": question})] {
                assert_eq!(harn(&resume(&operator, &question, body).await), (409, "already_resolved", "HARN-SUS-003"));
            }
            assert_eq!(harn(&settle(&agent, &question, json!({})).await), (409, "already_resolved", "HARN-SUS-003"));
            assert_eq!(agent.everything(intent).await, before);
        }
    }

    /// An agent that could lift its own pause would not be stopped at all. Only the end of the intent passes.
    async fn no_agent_lifts_a_pause_by_a_status_and_closing_ends_it(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let id = paused(&operator, intent).await;
        for api in [&agent, &app.api(Role::Admin)] {
            let before = agent.everything(intent).await;
            assert_eq!(set_status(api, intent, "active").await.problem(), (409, "intent_stopped"));
            assert_eq!(agent.everything(intent).await, before);
        }
        assert_eq!(set_status(&agent, intent, "blocked").await.problem(), (409, "intent_stopped"));
        assert_eq!(set_status(&agent, intent, "completed").await.problem(), (409, "intent_stopped"));
        assert_eq!(set_status(&operator, intent, "abandoned").await.problem(), (403, "forbidden"));
        // The key of the state that shows the pause is the server's.
        let version = agent.intent(intent).await["version"].to_string();
        for path in ["_pause", "/_pause/stage"] {
            let patch = json!({"patches": [{"op": "set", "path": path, "value": null}]});
            let refused = agent.post_at(&format!("{INTENTS}/{intent}/state"), &version, patch).await;
            assert_eq!(refused.problem(), (409, "suspension_is_server_owned"));
        }
        let with_state = json!({"title": "t", "state": {"_pause": {}}});
        assert_eq!(agent.post(INTENTS, with_state).await.problem(), (409, "suspension_is_server_owned"));

        app.restart().await;
        set_status(&agent, intent, "abandoned").await.ok();
        let closed = agent.suspension(&id).await;
        assert_eq!((&closed["resolution"], &closed["cause"]), (&json!("cancelled"), &json!("closed")));
        for api in [&operator, &app.api(Role::Admin)] {
            assert_eq!(harn(&resume(api, &id, json!({})).await), (409, "not_active", "HARN-SUS-010"));
        }
        assert_eq!(since_it_began(&agent, intent).await, ["lifecycle.paused", "status_changed", "lifecycle.closed", "status_changed"]);
        // An admin closes a paused intent as well.
        let other = agent.active_intent().await;
        paused(&operator, other).await;
        set_status(&app.api(Role::Admin), other, "abandoned").await.ok();
    }

    /// An intent goes on only when nothing blocks it any more, in whatever order the reasons end.
    async fn the_reasons_for_being_blocked_are_a_set(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        for resumed_first in [true, false] {
            let needed = agent.active_intent().await;
            let intent = agent.active_intent().await;
            let id = paused(&operator, intent).await;
            let version = agent.intent(intent).await["version"].to_string();
            let path = format!("{INTENTS}/{intent}/dependencies");
            agent.post_at(&path, &version, json!({"dependency_id": needed})).await.ok();
            if resumed_first {
                resume(&operator, &id, json!({})).await.ok();
                let shown = agent.intent(intent).await;
                assert_eq!((&shown["status"], &shown["blocked_reason"]), (&json!("blocked"), &json!("dependencies")));
                agent.complete(needed).await;
            } else {
                agent.complete(needed).await;
                app.settle().await;
                let shown = agent.intent(intent).await;
                assert_eq!((&shown["status"], &shown["blocked_reason"]), (&json!("blocked"), &json!("paused")));
                resume(&operator, &id, json!({})).await.ok();
            }
            app.settle().await;
            assert_eq!(agent.status(intent).await, "active", "resumed first: {resumed_first}");
        }
        // What an agent has blocked stays blocked, and nothing runs in it whose end could be awaited.
        let intent = agent.active_intent().await;
        set_status(&agent, intent, "blocked").await.ok();
        let record = pause(&operator, intent, json!({})).await.ok();
        assert_eq!(record["stage"], "suspended");
        resume(&operator, &id_of(&record), json!({})).await.ok();
        let shown = agent.intent(intent).await;
        assert_eq!((&shown["status"], &shown["blocked_reason"]), (&json!("blocked"), &json!("manual")));
    }

    /// Nothing new begins while an intent is paused, and the agent finds its leases as they were.
    async fn leases_wait_while_an_intent_is_paused(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let path = format!("{INTENTS}/{intent}/leases");
        let lease = agent.post(&path, json!({"scope": "report", "duration_seconds": 60})).await.ok();
        let id = paused(&operator, intent).await;
        assert_eq!(agent.post(&path, json!({"scope": "other"})).await.problem(), (409, "lease_while_suspended"));
        app.advance(3600).await;
        let leases = agent.get(&path).await.ok();
        assert_eq!((&leases["leases"][0]["id"], &leases["leases"][0]["status"]), (&lease["id"], &json!("active")));
        resume(&operator, &id, json!({})).await.ok();
        let leases = agent.get(&path).await.ok();
        assert_eq!(leases["leases"][0]["expires_at"], "2026-11-24T09:01:00.000000");
    }

    /// A full disk keeps no person from stopping work, and no agent from giving it up.
    async fn on_a_full_disk_work_is_paused_and_given_up(app: &mut TestApp) {
        let intent = app.agent().active_intent().await;
        app.restart_with(|config| config.limits.reserve_bytes = u64::MAX).await;
        let (agent, operator) = (app.agent(), app.operator());
        let id = paused(&operator, intent).await;
        resume(&operator, &id, json!({})).await.ok();
        paused(&operator, intent).await;
        set_status(&agent, intent, "abandoned").await.ok();
    }

    /// An agent that died while its intent was paused loses its task afterwards: otherwise no other agent would ever get it.
    async fn a_task_is_kept_while_its_intent_is_paused_and_then_for_its_time(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let new = json!({"intent_id": intent, "name": "Check the invoice", "timeout_seconds": 60});
        let task = id_of(&agent.post("api/v1/tasks", new).await.ok());
        agent.post(&format!("api/v1/tasks/{task}/claim"), json!({})).await.ok();
        let id = paused(&operator, intent).await;
        for _ in 0..3 {
            app.advance(67).await;
        }
        resume(&operator, &id, json!({})).await.ok();
        let status = async || agent.get(&format!("api/v1/tasks/{task}")).await.ok()["status"].clone();
        app.advance(59).await;
        assert_eq!(status().await, "claimed");
        app.advance(1).await;
        assert_eq!(status().await, "ready");
    }

    /// The table of those who pause and resume. An agent that could resume itself would make the pause a request.
    async fn the_paused_agent_and_its_owner_never_resume_and_a_parent_resumes_what_it_paused(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        assert_eq!(pause(&agent, intent, json!({})).await.problem(), (403, "forbidden"));
        let key = async |role, name, owner| Api::new(&app.base, Some(&app.new_key_of(role, name, owner).await));
        let (sibling, stranger) = (key(Role::Agent, "sibling", "test-agent").await, key(Role::Agent, "stranger", "other").await);
        let owners_operator = key(Role::Operator, "boss-ops", "test-agent").await;
        assert_eq!(pause(&stranger, intent, json!({})).await.problem(), (404, "not_found"));
        for role in [Role::Auditor, Role::Channel, Role::Verifier] {
            assert_eq!(pause(&app.api(role), intent, json!({})).await.problem(), (403, "forbidden"), "{role}");
        }
        let id = id_of(&pause(&sibling, intent, json!({})).await.ok());
        for api in [&agent, &sibling, &owners_operator] {
            assert_eq!(resume(api, &id, json!({})).await.problem(), (403, "forbidden"));
        }
        assert_eq!(resume(&stranger, &id, json!({})).await.problem(), (404, "not_found"));
        for role in [Role::Auditor, Role::Channel, Role::Verifier] {
            assert_eq!(resume(&app.api(role), &id, json!({})).await.problem(), (403, "forbidden"), "{role}");
        }
        assert_eq!(settle(&operator, &id, json!({})).await.problem(), (403, "forbidden"));
        settle(&agent, &id, json!({})).await.ok();
        resume(&operator, &id, json!({})).await.ok();

        // An assigned agent works on the intent as well.
        let shared = agent.active_intent().await;
        agent.post(&format!("{INTENTS}/{shared}/agents"), json!({"agent_id": "stranger"})).await.ok();
        let id = paused(&operator, shared).await;
        for api in [&stranger, &key(Role::Operator, "other-ops", "other").await] {
            assert_eq!(resume(api, &id, json!({})).await.problem(), (403, "forbidden"));
        }
        resume(&operator, &id, json!({})).await.ok();

        let (boss, child) = parent_of_anothers_child(app).await;
        let own = pause(&boss, child, json!({})).await.ok();
        assert_eq!(own["initiator"], "parent");
        assert_eq!(boss.suspension(&id_of(&own)).await, own);
        resume(&boss, &id_of(&own), json!({})).await.ok();
        let by_operator = paused(&operator, child).await;
        assert_eq!(resume(&boss, &by_operator, json!({})).await.problem(), (403, "forbidden"));
        resume(&app.api(Role::Admin), &by_operator, json!({})).await.ok();
    }

    /// A person who pauses what an agent has paused must be able to rely on it.
    async fn a_person_takes_over_the_pause_of_an_agent(app: &mut TestApp) {
        let (operator, admin) = (app.operator(), app.api(Role::Admin));
        let (boss, child) = parent_of_anothers_child(app).await;
        let own = pause(&boss, child, json!({})).await.ok();
        let id = id_of(&own);
        let taken = pause(&operator, child, json!({"reason": "Everything stands still."})).await.ok();
        assert_eq!((&taken["id"], &taken["version"], &taken["stage"]), (&json!(id), &json!(2), &json!("requested")));
        assert!(taken["taken_over_by"].is_string() && own.get("taken_over_by").is_none(), "{taken}");
        app.restart().await;
        // A second person finds it taken over, and the agent cannot take it back.
        for api in [&admin, &operator, &boss] {
            assert_eq!(pause(api, child, json!({})).await.ok(), taken);
        }
        let types = since_it_began(&app.agent(), child).await;
        assert_eq!(types, ["lifecycle.paused", "status_changed", "lifecycle.taken_over"]);
        assert_eq!(resume(&boss, &id, json!({})).await.problem(), (403, "forbidden"));
        assert_eq!(boss.suspension(&id).await, taken);
        resume(&admin, &id, json!({})).await.ok();
        // A pause of a person is no agent's, so there is nothing to take over.
        let id = paused(&operator, child).await;
        assert_eq!(id_of(&pause(&admin, child, json!({})).await.ok()), id);
        assert_eq!(resume(&boss, &id, json!({})).await.problem(), (403, "forbidden"));
    }

    /// Each bound with the field that the error names, and the codes of Harn where Harn has them.
    async fn every_member_of_a_pause_and_a_resumption_has_its_bound(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        for (body, field) in [
            (json!({"mode": "now"}), "mode"), (json!({"mode": 1}), "mode"), (json!({"reason": "x".repeat(2_001)}), "reason"),
            (json!({"until": "x"}), "until"), (json!({"conditions": {}}), "conditions"),
        ] {
            let refused = pause(&operator, intent, body).await;
            assert_eq!((refused.status, refused.field_problem().2), (422, field));
        }
        assert_eq!(since_it_began(&agent, intent).await, [""; 0]);
        let record = pause(&operator, intent, json!({"reason": "ä".repeat(2_000), "mode": "wait_for_completion"})).await.ok();
        let id = id_of(&record);
        for (body, field) in [(json!({"stage": "requested"}), "stage"), (json!({"stage": "x"}), "stage"), (json!({"x": 1}), "x")] {
            let refused = settle(&agent, &id, body).await;
            assert_eq!((refused.status, refused.field_problem().2), (422, field));
        }
        let largest = "x".repeat(RESUME_INPUT_BYTES_MAX - 2);
        for input in [json!(" "), json!(""), json!(format!("{largest}x"))] {
            let refused = resume(&operator, &id, json!({"input": input})).await;
            assert_eq!((refused.status, refused.field_problem().2), (422, "input"));
            assert!(refused.body["errors"][0]["message"].as_str().unwrap().starts_with("HARN-SUS-009: "));
        }
        assert_eq!(resume(&operator, &id, json!({"continue_transcript": 1})).await.field_problem().2, "continue_transcript");
        let other = "019ab0f2-0000-7000-8000-000000000000";
        for handle in [other, "x", ""] {
            assert_eq!(harn(&resume(&operator, &id, json!({"handle": handle})).await), (409, "suspension_mismatch", "HARN-SUS-004"));
        }
        assert_eq!(resume(&operator, other, json!({})).await.problem(), (404, "not_found"));
        let gone = resume(&operator, &id, json!({"handle": id, "input": largest})).await.ok();
        assert_eq!(gone["input"], json!(largest));
        assert_eq!(harn(&resume(&operator, &id, json!({})).await), (409, "already_resolved", "HARN-SUS-006"));
        assert_eq!(harn(&settle(&agent, &id, json!({})).await), (409, "already_resolved", "HARN-SUS-006"));
        // One that came later has lost no race.
        app.advance(1).await;
        assert_eq!(harn(&resume(&operator, &id, json!({})).await), (409, "already_resolved", "HARN-SUS-003"));
    }

    /// However many resume and close at once, one of them has an effect.
    async fn of_those_who_resume_and_close_at_once_one_wins(app: &mut TestApp) {
        let (agent, operator, admin) = (app.agent(), app.operator(), app.api(Role::Admin));
        for _ in 0..5 {
            let intent = agent.active_intent().await;
            let id = paused(&operator, intent).await;
            let version = agent.intent(intent).await["version"].to_string();
            let path = format!("{INTENTS}/{intent}/status");
            let close = agent.post_at(&path, &version, json!({"status": "abandoned"}));
            let resumers = [&operator, &admin, &operator, &admin];
            let (resumed, closed) = futures_util::join!(join_all(resumers.map(|api| resume(api, &id, json!({})))), close);
            let won = resumed.iter().filter(|reply| reply.status == 200).count() + usize::from(closed.status == 200);
            assert_eq!(won, 1, "{resumed:?} {closed:?}");
            let lost = resumed.iter().filter(|reply| reply.status != 200).map(harn);
            assert!(lost.clone().all(|(status, ..)| status == 409), "{:?}", lost.collect::<Vec<_>>());
            let types = since_it_began(&agent, intent).await;
            assert_eq!(types.iter().filter(|of| ["lifecycle.resumed", "lifecycle.closed"].contains(&of.as_str())).count(), 1);
        }
    }

    /// A controller waits for the stage, and an agent for the end, each by one request.
    async fn a_stop_is_waited_for_like_a_question(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let id = paused(&operator, intent).await;
        let path = format!("api/v1/suspensions/{id}?wait=30&after_version=1");
        let settled = async { operator.get(&path).await.ok() };
        let (settled, _) = futures_util::join!(settled, async { settle(&agent, &id, json!({})).await.ok() });
        assert_eq!(settled["stage"], "suspended");
        let ended = async { agent.get(&format!("api/v1/suspensions/{id}?wait=30")).await.ok() };
        let (ended, _) = futures_util::join!(ended, async { resume(&operator, &id, json!({"input": "go"})).await.ok() });
        assert_eq!((&ended["resolution"], &ended["input"]), (&json!("resumed"), &json!("go")));
    }
}
