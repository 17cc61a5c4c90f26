//! The end of the work on an intent: its agent is told, hands in what it has, and the intent is abandoned.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::base::ids::IntentId;
use domain::people::principal::Role;
use domain::suspension::stop::{HANDOFF_BYTES_MAX, HANDOFF_SECONDS};
use harness::api::{Api, Reply};
use harness::app::TestApp;
use harness::on_each_store;
use harness::stream::Stream;
use serde_json::{Value, json};
use verify::report::Verdict;
use verify::{Options, Watchers};

use super::pausing::{harn, id_of, parent_of_anothers_child, pause, resume, set_status, settle, since_it_began};

async fn stop(api: &Api, intent: IntentId, body: Value) -> Reply {
    api.post(&format!("api/v1/intents/{intent}/stop"), body).await
}

/// Begins to end the work on an intent; returns the id of the suspension.
async fn stopping(api: &Api, intent: IntentId) -> String {
    id_of(&stop(api, intent, json!({})).await.ok())
}

/// The status of the intent, and the resolution and the cause of the stop.
async fn stands(api: &Api, intent: IntentId, id: &str) -> (String, Value, Value) {
    let record = api.suspension(id).await;
    (api.status(intent).await, record["resolution"].clone(), record["cause"].clone())
}

fn abandoned(resolution: &str, cause: &str) -> (String, Value, Value) {
    ("abandoned".to_owned(), json!(resolution), json!(cause))
}

/// The log of the server is what it says it is, and every end in it was allowed.
async fn is_verified(app: &TestApp) {
    let text = app.api(Role::Auditor).get("api/v1/export").await.text;
    let key = app.checkpoints().key().unwrap().verifying().clone();
    let report = verify::verify("export", text.as_bytes(), &Options::with_keys(vec![key]), Watchers::default());
    assert_eq!(report.verdict, Verdict::Verified, "{:?}", report.findings);
    assert!(report.decisions > 0);
}

on_each_store! {
    /// The whole course, with a restart between the steps: nothing of it is in memory alone.
    async fn an_agent_whose_work_is_ended_hands_in_what_it_has(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let record = stop(&operator, intent, json!({"reason": "Another team does it."})).await.ok();
        let id = id_of(&record);
        let open = json!({
            "id": id, "intent_id": intent, "kind": "stopping", "version": 1, "stage": "requested", "mode": null,
            "reason": "Another team does it.", "initiator": "operator", "initiated_by": record["initiated_by"],
            "suspended_at": "2026-11-24T08:00:00.000000Z", "expires_at": "2026-11-24T08:01:00.000000Z", "resolution": null, "cause": null,
            "continue_transcript": null, "resolved_at": null, "resolved_by": null,
        });
        assert_eq!(record, open);
        app.restart().await;
        assert_eq!(agent.suspension(&id).await, open);
        let shown = agent.intent(intent).await;
        assert_eq!((&shown["status"], &shown["blocked_reason"]), (&json!("blocked"), &json!("stopping")));
        let in_state = &shown["state"]["_pause"];
        assert_eq!((&in_state["kind"], &in_state["expires_at"]), (&json!("stopping"), &json!("2026-11-24T08:01:00.000000")));
        // A second call is the first one.
        let before = agent.everything(intent).await;
        assert_eq!(stop(&app.api(Role::Admin), intent, json!({"reason": "x"})).await.ok(), open);
        assert_eq!(agent.everything(intent).await, before);

        assert_eq!(settle(&agent, &id, json!({"stage": "quiescing"})).await.ok()["stage"], "quiescing");
        app.restart().await;
        let handoff = json!({"done": ["The supplier is known."], "left": ["The invoice is to be paid."]});
        let gone = settle(&agent, &id, json!({"handoff": handoff})).await.ok();
        assert_eq!((&gone["resolution"], &gone["cause"], &gone["handoff"]), (&json!("cancelled"), &json!("handed_over"), &handoff));
        app.restart().await;
        assert_eq!(operator.suspension(&id).await, gone);
        assert_eq!(agent.status(intent).await, "abandoned");
        assert_eq!(since_it_began(&agent, intent).await, [
            "lifecycle.stopping", "status_changed", "lifecycle.settled", "lifecycle.closed", "status_changed",
        ]);
        let last = agent.events(intent).await.pop().unwrap();
        assert_eq!(last["payload"]["abandonment_reason"], "Another team does it.");
        // The reply may be lost: the same document once more is the same call. Another one comes too late.
        let after = agent.everything(intent).await;
        assert_eq!(settle(&agent, &id, json!({"handoff": handoff})).await.ok(), gone);
        for other in [json!({"handoff": {}}), json!({}), json!({"stage": "quiescing"})] {
            assert_eq!(harn(&settle(&agent, &id, other.clone()).await), (409, "not_active", "HARN-SUS-010"), "{other}");
        }
        assert_eq!(settle(&operator, &id, json!({"handoff": handoff})).await.problem(), (403, "forbidden"));
        assert_eq!(agent.everything(intent).await, after);
        assert_eq!(harn(&stop(&operator, intent, json!({})).await), (409, "not_active", "HARN-SUS-010"));
        is_verified(app).await;
    }

    /// The time of the agent, one second early and at its end, over a restart.
    async fn an_agent_that_hands_in_nothing_in_time_is_closed(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let (silent, one) = { let intent = agent.active_intent().await; (intent, stopping(&operator, intent).await) };
        let (empty, two) = { let intent = agent.active_intent().await; (intent, stopping(&operator, intent).await) };
        let late = agent.active_intent().await;
        app.advance(1).await;
        let three = stopping(&operator, late).await;
        app.advance(58).await;
        app.restart().await;
        assert_eq!(stands(&agent, silent, &one).await, ("blocked".to_owned(), json!(null), json!(null)));
        let gone = settle(&agent, &two, json!({})).await.ok();
        assert_eq!((&gone["cause"], gone.get("handoff")), (&json!("handed_over"), None));
        assert_eq!(settle(&agent, &two, json!({})).await.ok(), gone);
        app.advance(1).await;
        assert_eq!(stands(&agent, silent, &one).await, abandoned("expired", "timeout"));
        assert_eq!(stands(&agent, empty, &two).await, abandoned("cancelled", "handed_over"));
        // The time counts at the moment at which the clock reaches it, also if its timer runs later.
        app.clock.jump(chrono::TimeDelta::seconds(1));
        assert_eq!(harn(&settle(&agent, &three, json!({"handoff": {"a": 1}})).await), (409, "expired", "HARN-SUS-006"));
        assert_eq!(stands(&agent, late, &three).await, abandoned("expired", "timeout"));
        is_verified(app).await;
    }

    /// The setting of the configuration is the time.
    async fn the_time_for_a_handoff_is_a_setting(app: &mut TestApp) {
        app.restart_with(|config| config.limits.handoff_seconds = 5).await;
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let id = stopping(&operator, intent).await;
        app.advance(4).await;
        assert_eq!(agent.status(intent).await, "blocked");
        app.advance(1).await;
        assert_eq!(stands(&agent, intent, &id).await, abandoned("expired", "timeout"));
    }

    /// The time of an outage is given back: an agent that could not reach the server must not lose what it has.
    async fn the_time_of_an_outage_is_given_back_to_an_agent_that_stops(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let id = stopping(&app.operator(), intent).await;
        app.advance(30).await;
        app.outage(600).await;
        assert_eq!(agent.status(intent).await, "blocked");
        assert!(since_it_began(&agent, intent).await.contains(&"lifecycle.extended".to_owned()));
        settle(&agent, &id, json!({"handoff": {"a": 1}})).await.ok();
        assert_eq!(stands(&agent, intent, &id).await, abandoned("cancelled", "handed_over"));
        is_verified(app).await;
    }

    /// After each outage of days an agent has what was left of its minute, and not an hour or as many days: work that is ended must end.
    async fn an_outage_gives_an_agent_no_more_time_than_it_had(app: &mut TestApp) {
        let agent = app.agent();
        let (stopped, parked) = (agent.active_intent().await, agent.active_intent().await);
        let id = stopping(&app.operator(), stopped).await;
        let conditions = json!({"reason": "r", "conditions": {"timeout": {"duration_minutes": 5}}});
        agent.post(&format!("api/v1/intents/{parked}/park"), conditions).await.ok();
        app.advance(30).await;
        app.outage(2 * 86_400).await;
        app.advance(20).await;
        app.outage(2 * 86_400).await;
        // An end that begins after an outage has lost nothing by it.
        let later = agent.active_intent().await;
        let late = stopping(&app.operator(), later).await;
        app.advance(i64::from(HANDOFF_SECONDS) - 51).await;
        assert_eq!((agent.status(stopped).await, agent.status(parked).await), ("blocked".into(), "blocked".into()));
        app.advance(1).await;
        assert_eq!(stands(&agent, stopped, &id).await, abandoned("expired", "timeout"));
        app.advance(50).await;
        assert_eq!(stands(&agent, later, &late).await, abandoned("expired", "timeout"));
        app.advance(189).await;
        assert_eq!(agent.status(parked).await, "blocked", "it has its five minutes");
        app.advance(1).await;
        assert_eq!(agent.status(parked).await, "active");
        is_verified(app).await;
    }

    /// An agent that waits for an answer or an event would not hear of the end in time, so what it waits for ends first.
    async fn whatever_the_intent_waits_for_ends_first(app: &mut TestApp) {
        let (agent, operator, admin) = (app.agent(), app.operator(), app.api(Role::Admin));
        let (asking, question) = app.ask(json!({})).await;
        let request = agent.post(&format!("api/v1/intents/{asking}/approvals"), json!({"action": "pay"})).await.ok();
        let id = stopping(&operator, asking).await;
        let ended = agent.suspension(&question).await;
        assert_eq!((&ended["resolution"], &ended["resolution_reason"]), (&json!("cancelled"), &json!("withdrawn")));
        assert_eq!(operator.respond(asking, &question, "approve").await.status, 409);
        assert_eq!(agent.suspension(&id_of(&request)).await["resolution"], json!(null));
        settle(&agent, &id, json!({})).await.ok();
        assert_eq!(agent.suspension(&id_of(&request)).await["resolution"], "cancelled");

        let paused = agent.active_intent().await;
        let pause_id = id_of(&pause(&operator, paused, json!({})).await.ok());
        let id = stopping(&admin, paused).await;
        assert_ne!(id, pause_id);
        let record = agent.suspension(&pause_id).await;
        assert_eq!((&record["resolution"], &record["cause"]), (&json!("cancelled"), &json!("stopped")));
        assert_eq!(agent.suspension(&id).await["stage"], "requested");
        // The pause was closed and not resumed, so there was no race.
        for by in [&operator, &admin] {
            assert_eq!(harn(&resume(by, &pause_id, json!({})).await), (409, "not_active", "HARN-SUS-010"));
        }
        app.restart().await;
        assert_eq!(harn(&resume(&app.operator(), &pause_id, json!({})).await), (409, "not_active", "HARN-SUS-010"));

        let parked = agent.active_intent().await;
        let park = json!({"reason": "r", "conditions": {"on_event": "go", "timeout": {"duration_minutes": 1}}});
        let park_id = id_of(&agent.post(&format!("api/v1/intents/{parked}/park"), park).await.ok());
        let now = stop(&operator, parked, json!({"graceful": false})).await.ok();
        assert_eq!((&now["resolution"], &now["cause"], now.get("expires_at")), (&json!("cancelled"), &json!("stopped"), None));
        assert_eq!(agent.suspension(&park_id).await["cause"], "stopped");
        assert_eq!(agent.status(parked).await, "abandoned");
        assert_eq!(operator.post("api/v1/events", json!({"name": "go"})).await.ok()["woken"], 0);
        app.advance(3600).await;
        assert_eq!(since_it_began(&agent, parked).await, [
            "lifecycle.parked", "status_changed", "lifecycle.closed", "lifecycle.stopping", "lifecycle.closed", "status_changed",
        ]);
        is_verified(app).await;
    }

    /// A controller must not take the work for stable while its agent runs, so the end of paused work says no more of the agent than the pause.
    async fn the_end_of_paused_work_has_the_stage_of_the_pause(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        for stage in ["requested", "quiescing", "suspended"] {
            for mode in ["finish_step", "interrupt_immediate"] {
                let intent = agent.active_intent().await;
                let paused = id_of(&pause(&operator, intent, json!({"mode": mode})).await.ok());
                if stage != "requested" {
                    settle(&agent, &paused, json!({"stage": stage})).await.ok();
                }
                let id = stopping(&operator, intent).await;
                app.restart().await;
                let record = agent.suspension(&id).await;
                assert_eq!((&record["kind"], &record["stage"]), (&json!("stopping"), &json!(stage)), "{mode}");
                assert_eq!(agent.intent(intent).await["state"]["_pause"]["stage"], stage);
                // The agent goes on from there: it stops further, and what it has said before is not recorded again.
                let heard = settle(&agent, &id, json!({"stage": "quiescing"})).await.ok();
                let (reached, version) = if stage == "requested" { ("quiescing", 2) } else { (stage, 1) };
                assert_eq!((&heard["stage"], &heard["version"]), (&json!(reached), &json!(version)), "{stage}");
                // Nothing begins at any stage.
                let lease = agent.post(&format!("api/v1/intents/{intent}/leases"), json!({"scope": "report"})).await;
                assert_eq!(lease.problem(), (409, "lease_while_suspended"));
                settle(&agent, &id, json!({"handoff": {"stage": stage}})).await.ok();
                assert_eq!(stands(&agent, intent, &id).await, abandoned("cancelled", "handed_over"));
            }
        }
        let parked = agent.active_intent().await;
        agent.post(&format!("api/v1/intents/{parked}/park"), json!({"reason": "r"})).await.ok();
        let blocked = agent.active_intent().await;
        set_status(&agent, blocked, "blocked").await.ok();
        for (intent, what) in [(parked, "parked"), (blocked, "blocked")] {
            assert_eq!(stop(&operator, intent, json!({})).await.ok()["stage"], "suspended", "{what}");
        }
        is_verified(app).await;
    }

    /// Where no agent is at work, and where the caller does not want to wait, the intent ends at once.
    async fn work_ends_at_once_if_that_is_wanted_and_where_none_has_begun(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let active = agent.active_intent().await;
        let record = stop(&operator, active, json!({"graceful": false, "reason": "Wrong customer."})).await.ok();
        assert_eq!(stands(&agent, active, &id_of(&record)).await, abandoned("cancelled", "stopped"));
        let draft: IntentId = id_of(&agent.post("api/v1/intents", json!({"title": "t"})).await.ok()).parse().unwrap();
        let record = stop(&operator, draft, json!({})).await.ok();
        assert_eq!(stands(&agent, draft, &id_of(&record)).await, abandoned("cancelled", "stopped"));
        // The controller may lose its patience.
        let intent = agent.active_intent().await;
        let id = stopping(&operator, intent).await;
        assert_eq!(id_of(&stop(&operator, intent, json!({"graceful": false})).await.ok()), id);
        assert_eq!(stands(&agent, intent, &id).await, abandoned("cancelled", "stopped"));
        let done = agent.completed_intent().await;
        assert_eq!(harn(&stop(&operator, done, json!({})).await), (409, "not_active", "HARN-SUS-010"));
        is_verified(app).await;
    }

    /// The table of those who end work, and what they find of it.
    async fn the_working_agent_does_not_end_its_own_work_by_this(app: &mut TestApp) {
        let (agent, admin) = (app.agent(), app.api(Role::Admin));
        let intent = agent.active_intent().await;
        assert_eq!(stop(&agent, intent, json!({})).await.problem(), (403, "forbidden"));
        let key = async |role, name, owner| Api::new(&app.base, Some(&app.new_key_of(role, name, owner).await));
        let (sibling, stranger) = (key(Role::Agent, "sibling", "test-agent").await, key(Role::Agent, "stranger", "other").await);
        assert_eq!(stop(&stranger, intent, json!({})).await.problem(), (404, "not_found"));
        for role in [Role::Auditor, Role::Channel, Role::Verifier] {
            assert_eq!(stop(&app.api(role), intent, json!({})).await.problem(), (403, "forbidden"), "{role}");
        }
        let id = stopping(&sibling, intent).await;
        for api in [&app.operator(), &admin] {
            assert_eq!(settle(api, &id, json!({"handoff": {}})).await.problem(), (403, "forbidden"));
        }
        // An agent whose work is being ended may give it up by its own word.
        set_status(&agent, intent, "abandoned").await.ok();
        assert_eq!(stands(&agent, intent, &id).await, abandoned("cancelled", "closed"));

        let (boss, child) = parent_of_anothers_child(app).await;
        let record = stop(&boss, child, json!({})).await.ok();
        assert_eq!(record["initiator"], "parent");
        assert_eq!(boss.suspension(&id_of(&record)).await, record);
        settle(&agent, &id_of(&record), json!({"handoff": {"left": "all"}})).await.ok();
        assert_eq!(boss.suspension(&id_of(&record)).await["handoff"], json!({"left": "all"}));
        is_verified(app).await;
    }

    /// Nothing but the end follows while the work is being ended.
    async fn an_intent_whose_work_is_ended_goes_on_by_nothing(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let id = stopping(&operator, intent).await;
        let before = agent.everything(intent).await;
        assert_eq!(harn(&resume(&operator, &id, json!({})).await), (409, "not_active", "HARN-SUS-010"));
        assert_eq!(harn(&pause(&operator, intent, json!({})).await), (409, "not_active", "HARN-SUS-001"));
        let park = agent.post(&format!("api/v1/intents/{intent}/park"), json!({"reason": "r"})).await;
        assert_eq!(harn(&park), (409, "not_active", "HARN-SUS-001"));
        let told = "HARN-SUS-001: the intent is being ended, so it can be neither paused nor parked";
        assert_eq!(park.body["detail"], told);
        for status in ["active", "blocked", "completed"] {
            assert_eq!(set_status(&agent, intent, status).await.problem(), (409, "intent_stopped"), "{status}");
        }
        assert_eq!(agent.suspend(intent, json!({})).await.problem(), (409, "not_active"));
        assert_eq!(agent.everything(intent).await, before);
        // Questions are listed and counted without it.
        assert_eq!(operator.get("api/v1/suspensions?state=all").await.ok()["suspensions"], json!([]));
        let approvals = agent.get(&format!("api/v1/intents/{intent}/approvals")).await.ok();
        assert_eq!(approvals["approvals"], json!([]));
        let metrics = app.api(Role::Admin).get("metrics").await;
        assert!(metrics.text.contains("placet_questions_open 0"), "{}", metrics.text);
    }

    /// Each bound, with the field that the error names.
    async fn every_member_of_an_end_has_its_bound(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        for (body, field) in [
            (json!({"graceful": 1}), "graceful"), (json!({"reason": "x".repeat(2_001)}), "reason"), (json!({"seconds": 5}), "seconds"),
        ] {
            let refused = stop(&operator, intent, body).await;
            assert_eq!((refused.status, refused.field_problem().2), (422, field));
        }
        let paused = id_of(&pause(&operator, intent, json!({})).await.ok());
        assert_eq!(settle(&agent, &paused, json!({"handoff": {}})).await.problem(), (409, "not_stopping"));
        resume(&operator, &paused, json!({})).await.ok();
        let id = id_of(&stop(&operator, intent, json!({"reason": "ä".repeat(2_000)})).await.ok());
        let sized = |bytes: usize| json!({"a": "x".repeat(bytes - r#"{"a":""}"#.len())});
        for body in [
            json!({"handoff": "done"}), json!({"handoff": []}), json!({"handoff": {}, "stage": "quiescing"}),
            json!({"handoff": sized(HANDOFF_BYTES_MAX + 1)}),
        ] {
            let refused = settle(&agent, &id, body).await;
            assert_eq!((refused.status, refused.field_problem().2), (422, "handoff"));
        }
        assert_eq!(agent.status(intent).await, "blocked");
        settle(&agent, &id, json!({"handoff": sized(HANDOFF_BYTES_MAX)})).await.ok();
    }

    /// The record has the documents of the agents below beside that of the agent, in every generation.
    async fn the_documents_of_children_are_folded_in(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let child_of = async |parent: IntentId| -> IntentId {
            let child = agent.post(&format!("api/v1/intents/{parent}/children"), json!({"title": "part", "status": "active"})).await;
            id_of(&child.ok()).parse().unwrap()
        };
        let parent = agent.active_intent().await;
        let (one, two, goes_on) = (child_of(parent).await, child_of(parent).await, child_of(parent).await);
        let below = child_of(one).await;
        let mut ids = Vec::new();
        for (intent, handoff) in [(below, Some("below")), (one, Some("one")), (two, None), (parent, Some("parent"))] {
            let id = stopping(&operator, intent).await;
            let body = handoff.map_or(json!({}), |name| json!({"handoff": {"of": name}}));
            settle(&agent, &id, body).await.ok();
            ids.push(id);
        }
        app.restart().await;
        let record = operator.suspension(&ids[3]).await;
        assert_eq!(record["handoff"], json!({"of": "parent"}));
        let of_below = json!({"intent_id": below, "suspension_id": ids[0], "handoff": {"of": "below"}});
        let of_one = json!({"intent_id": one, "suspension_id": ids[1], "handoff": {"of": "one"}, "children": [of_below]});
        assert_eq!(record["children"], json!([of_one, {"intent_id": two, "suspension_id": ids[2], "handoff": null}]));
        assert_eq!(agent.status(goes_on).await, "active");
    }

    /// The client of OpenIntent hears of a stop and of its end as of changes of the state, whichever stream it follows.
    async fn the_streams_of_an_agent_tell_of_stops(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        for path in [format!("intents/{intent}/subscribe"), "agents/test-agent/subscribe".to_owned()] {
            let (mut stream, _) = Stream::begin(&agent, &path).await;
            let id = id_of(&pause(&operator, intent, json!({"reason": "r"})).await.ok());
            resume(&operator, &id, json!({})).await.ok();
            let held = stream.next().await;
            assert_eq!((&*held.name, &held.data["new_state"]["_pause"]["suspension_id"]), ("STATE_CHANGED", &json!(id)));
            let free = stream.next().await;
            assert_eq!((&*free.name, &free.data["new_state"], &free.data["cause"]), ("STATE_CHANGED", &json!({"_pause": null}), &json!("explicit_resume")));
        }
        let (mut stream, _) = Stream::begin(&agent, &format!("intents/{intent}/subscribe")).await;
        // The state has the conditions as the record shows them, and the payload is that of the log.
        let trigger = json!({"kind": "k", "provider": "placet", "match": {"events": ["go"]}});
        let park = json!({"reason": "r", "conditions": {"trigger": trigger}});
        let parked = id_of(&agent.post(&format!("api/v1/intents/{intent}/park"), park).await.ok());
        resume(&operator, &parked, json!({})).await.ok();
        let held = stream.next().await;
        assert_eq!(held.data["new_state"]["_pause"]["conditions"], json!({"trigger": trigger}));
        assert_eq!(held.data["conditions"]["trigger"], json!({"kind": "k", "provider": "placet", "events": ["go"]}));
        assert_eq!(stream.next().await.data["new_state"], json!({"_pause": null}));
        let id = stopping(&operator, intent).await;
        let told = stream.next().await;
        assert_eq!((&told.data["new_state"]["_pause"]["suspension_id"], &told.data["expires_at"]), (&json!(id), &json!("2026-11-24T08:01:00.000000Z")));
    }

    /// The end of a question lets tasks go on that waited for it, but not when the question ends because the work does.
    async fn a_task_that_waits_for_a_person_is_not_taken_up_when_its_work_is_ended(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let task = id_of(&agent.post("api/v1/tasks", json!({"intent_id": intent, "name": "Check the invoice"})).await.ok());
        agent.post(&format!("api/v1/tasks/{task}/claim"), json!({})).await.ok();
        let path = format!("api/v1/tasks/{task}");
        let version = agent.get(&path).await.ok()["version"].to_string();
        let running = agent.request("PATCH", &path).header("if-match", version).json(&json!({"status": "running"}));
        agent.send(running).await.ok();
        agent.asked(intent).await;
        let id = stopping(&operator, intent).await;
        assert_eq!(agent.get(&path).await.ok()["status"], "blocked");
        settle(&agent, &id, json!({})).await.ok();
        assert_eq!(agent.get(&path).await.ok()["status"], "cancelled");
        assert!(!since_it_began(&agent, intent).await.contains(&"task.unblocked".to_owned()));
        is_verified(app).await;
    }

    /// A handoff is content: erasing the intent erases it, in the record of the parent too, and the log still verifies.
    async fn an_erased_handoff_is_gone_everywhere_and_the_log_still_verifies(app: &mut TestApp) {
        let (agent, operator, admin) = (app.agent(), app.operator(), app.api(Role::Admin));
        let intent = agent.active_intent().await;
        let part = json!({"title": "part", "status": "active"});
        let child: IntentId = id_of(&agent.post(&format!("api/v1/intents/{intent}/children"), part).await.ok()).parse().unwrap();
        let (above, below) = (stopping(&operator, intent).await, stopping(&operator, child).await);
        settle(&agent, &below, json!({"handoff": {"left": ["zanzibar"]}})).await.ok();
        settle(&agent, &above, json!({"handoff": {"left": ["the rest"]}})).await.ok();
        let held = operator.suspension(&above).await;
        assert_eq!(held["children"][0]["handoff"], json!({"left": ["zanzibar"]}));
        let basis = json!({"legal_basis": "GDPR Art. 17(1)(a)"});
        admin.post(&format!("api/v1/intents/{child}/redact"), basis).await.ok();
        app.restart().await;
        let record = operator.suspension(&below).await;
        assert_eq!((record.get("handoff"), &record["resolution"]), (None, &json!("cancelled")));
        let held = operator.suspension(&above).await;
        assert_eq!((&held["handoff"], &held["children"][0]["handoff"]), (&json!({"left": ["the rest"]}), &json!(null)));
        for path in ["api/v1/export".to_owned(), format!("api/v1/intents/{child}/events?include=all"), format!("api/v1/lifecycle-receipts?subject={below}")] {
            let text = app.api(Role::Auditor).get(&path).await.text;
            assert!(!text.contains("zanzibar"), "{path}");
        }
        is_verified(app).await;
    }

    /// A full disk keeps no person from ending work, and no agent from handing in what it has.
    async fn on_a_full_disk_work_is_ended(app: &mut TestApp) {
        let intent = app.agent().active_intent().await;
        app.restart_with(|config| config.limits.reserve_bytes = u64::MAX).await;
        let id = stopping(&app.operator(), intent).await;
        settle(&app.agent(), &id, json!({"handoff": {"a": 1}})).await.ok();
    }

    /// However many end the work at once, in whatever way, one of them has an effect.
    async fn of_those_who_end_work_at_once_one_wins(app: &mut TestApp) {
        let (agent, operator, admin) = (app.agent(), app.operator(), app.api(Role::Admin));
        for round in 0..6 {
            let intent = agent.active_intent().await;
            let id = stopping(&operator, intent).await;
            // In some rounds the time is over as well, at the same microsecond.
            if round % 2 == 1 {
                app.clock.jump(chrono::TimeDelta::seconds(60));
            }
            let version = agent.intent(intent).await["version"].to_string();
            let path = format!("api/v1/intents/{intent}/status");
            let close = agent.post_at(&path, &version, json!({"status": "abandoned"}));
            let hand_in = settle(&agent, &id, json!({"handoff": {"round": round}}));
            let deadline = async { app.store().fire_deadlines().await.unwrap() };
            let (now, hand_in, close, _) = futures_util::join!(stop(&admin, intent, json!({"graceful": false})), hand_in, close, deadline);
            let won = [&now, &hand_in, &close].into_iter().filter(|reply| reply.status == 200).count();
            assert_eq!(won, usize::from(round % 2 == 0), "round {round}: {now:?} {hand_in:?} {close:?}");
            let types = since_it_began(&agent, intent).await;
            assert_eq!(types.iter().filter(|of| *of == "lifecycle.closed").count(), 1, "{types:?}");
        }
        is_verified(app).await;
    }
}
