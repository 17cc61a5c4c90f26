//! Keys that are made for the OpenIntent client. This client suspends in three calls, and acts by its own clock when its
//! deadline passes.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use chrono::{DateTime, TimeDelta, Utc};
use domain::base::clock::Clock as _;
use domain::base::ids::IntentId;
use domain::base::time::naive;
use domain::intent::announcement::RECORD_WITHIN_SECONDS;
use domain::people::principal::Role;
use harness::api::{Api, Reply};
use harness::app::TestApp;
use harness::on_each_store;
use serde_json::{Value, json};

const SUSPENDED: &str = "suspended_awaiting_input";

/// The agent with a key of that client.
async fn agent(app: &TestApp, name: &str) -> Api {
    Api::new(&app.base, Some(&app.new_client_key(name).await))
}

async fn version(api: &Api, intent: IntentId) -> String {
    api.intent(intent).await["version"].to_string()
}

/// The first call: the status.
async fn announce(api: &Api, intent: IntentId) -> Reply {
    let version = version(api, intent).await;
    api.post_at(&format!("api/v1/intents/{intent}/status"), &version, json!({"status": SUSPENDED})).await
}

/// The second call: the record. The client sends it under the path `_suspension`.
async fn record(api: &Api, intent: IntentId, record: Value) -> Reply {
    let version = version(api, intent).await;
    let patches = json!({"patches": [{"op": "set", "path": "_suspension", "value": record}]});
    api.post_at(&format!("api/v1/intents/{intent}/state"), &version, patches).await
}

/// A record as the client makes it, by a clock that is `ahead` of the server's by so many seconds.
fn made(id: &str, now: DateTime<Utc>, ahead: i64, window: i64, change: impl std::borrow::Borrow<Value>) -> Value {
    let now = now + TimeDelta::seconds(ahead);
    let mut record = json!({
        "id": id, "question": "Refund order 12345?", "response_type": "choice", "context": {"amount": 5}, "fallback_policy": "fail",
        "choices": [{"value": "approve", "label": "Approve"}, {"value": "deny", "label": "Deny"}],
        "suspended_at": naive(now), "timeout_seconds": window, "expires_at": naive(now + TimeDelta::seconds(window)),
    });
    for (member, value) in change.borrow().as_object().unwrap() {
        record[member] = value.clone();
    }
    record
}

/// Asks as the client does, and returns the record that it would read.
async fn asked(app: &TestApp, api: &Api, intent: IntentId, id: &str, window: i64, change: Value) -> Value {
    announce(api, intent).await.ok();
    let made = made(id, app.clock.now(), 0, window, change);
    record(api, intent, made).await.ok()["state"]["_suspension"].clone()
}

fn permissive() -> Value {
    json!({"fallback_policy": "complete_with_fallback", "fallback_value": "approve"})
}

fn tail(types: &[String], count: usize) -> Vec<&str> {
    types[types.len() - count..].iter().map(String::as_str).collect()
}

on_each_store! {
    /// The three calls open one question with the server's own timers, mail and link; an answer by the link reaches the state.
    async fn three_calls_ask_one_question(app: &mut TestApp) {
        let agent = agent(app, "py").await;
        let intent = agent.active_intent().await;
        let announced = announce(&agent, intent).await.ok();
        assert_eq!((&announced["status"], &announced["version"], &announced["state"]), (&json!(SUSPENDED), &json!(2), &json!({})));
        app.advance(3).await;
        let made = made("made-by-client", app.clock.now(), 0, 60, json!({}));
        let patched = record(&agent, intent, made).await.ok();
        let shown = &patched["state"]["_suspension"];
        assert_eq!((&patched["status"], &shown["client_id"], &shown["fixed_deadline"]), (&json!(SUSPENDED), &json!("made-by-client"), &json!(true)));
        // The client counts its window from a moment shortly before the announcement. The server counts it from the announcement
        // and takes off two seconds as a guard, so that its own deadline is not the later one.
        assert_eq!(shown["expires_at"], "2026-11-24T08:00:58.000000");
        // The reply to the third call is the event that the server has already written.
        let told = json!({"event_type": "intent.suspended", "payload": {"suspension_id": "made-by-client"}});
        let event = agent.post(&format!("api/v1/intents/{intent}/events"), told).await.ok();
        assert_eq!((&event["payload"]["id"], &event["payload"]["client_id"]), (&shown["id"], &json!("made-by-client")));
        app.restart().await;
        let agent = Api::new(&app.base, Some(agent.key()));
        app.settle().await;
        let link = app.next_link().await;
        app.person().answer(&link, "approve").await;
        let answered = agent.intent(intent).await;
        assert_eq!((&answered["status"], &answered["state"]["_suspension"]["response"]), (&json!("active"), &json!("approve")));
        let types = agent.event_types(intent).await;
        assert_eq!(types.iter().filter(|one| *one == "intent.suspended").count(), 1);
    }

    /// If the announced question does not come in time, or is refused, the announcement ends and the intent gets its earlier
    /// status back.
    async fn an_announcement_without_its_question_is_taken_back(app: &mut TestApp) {
        let (agent, other, operator) = (agent(app, "py").await, agent(app, "other").await, app.operator());
        let draft = agent.post("api/v1/intents", json!({"title": "t"})).await.ok();
        let draft: IntentId = draft["id"].as_str().unwrap().parse().unwrap();
        let active = agent.active_intent().await;
        for (intent, before) in [(draft, "draft"), (active, "active")] {
            announce(&agent, intent).await.ok();
            app.advance(i64::from(RECORD_WITHIN_SECONDS) - 1).await;
            assert_eq!(agent.status(intent).await, SUSPENDED);
            // A repeated announcement does not give the question more time to come, and is no second event.
            assert_eq!(announce(&agent, intent).await.ok()["version"], 2);
            // No other agent can end the announcement.
            agent.post(&format!("api/v1/intents/{intent}/agents"), json!({"agent_id": "other"})).await.ok();
            let back = json!({"status": "abandoned"});
            assert_eq!(other.post_at(&format!("api/v1/intents/{intent}/status"), "2", back).await.problem().0, 403);
            app.restart().await;
            let agent = Api::new(&app.base, Some(agent.key()));
            app.advance(1).await;
            assert_eq!(agent.status(intent).await, before);
            let late = made("late", app.clock.now(), 0, 60, json!({}));
            assert_eq!(record(&agent, intent, late).await.problem(), (409, "not_announced"));
            assert_eq!(operator.respond(intent, "late", "approve").await.problem().0, 409);

            announce(&agent, intent).await.ok();
            let broken = made("broken", app.clock.now(), 0, 60, json!({"response_type": "vote"}));
            let refused = record(&agent, intent, broken).await;
            assert_eq!(refused.problem(), (422, "invalid"));
            assert!(refused.text.contains("_suspension.response_type"), "{}", refused.text);
            assert_eq!(agent.status(intent).await, before);
        }
        app.settle().await;
        assert!(!app.smtp.has_unread(), "no person was asked");
    }

    /// An answer that comes between the announcement and the question ends the announcement and counts for no question: the
    /// record that follows is refused.
    async fn an_answer_before_the_question_is_an_answer_to_none(app: &mut TestApp) {
        let (agent, operator) = (agent(app, "py").await, app.operator());
        let intent = agent.active_intent().await;
        announce(&agent, intent).await.ok();
        for own in [&agent, &Api::new(&app.base, Some(&app.new_key_of(Role::Operator, "mate", "py").await))] {
            assert_eq!(own.respond(intent, "susp-1", "approve").await.problem().0, 403);
        }
        assert_eq!(operator.post(&format!("api/v1/intents/{intent}/suspend/respond"), json!({"suspension_id": "", "value": 1})).await.status, 422);
        // There is no action yet that could be edited, and an edit is never left out in silence.
        let edited = json!({"suspension_id": "susp-1", "value": "approve", "proposal": {"amount": 1}});
        let refused = operator.post(&format!("api/v1/intents/{intent}/suspend/respond"), edited).await;
        assert_eq!(refused.field_problem(), (422, "invalid", "proposal", "unsupported"));
        let value = json!({"decision": "approve"});
        let replied = operator.respond(intent, "susp-1", value.clone()).await.ok();
        assert_eq!((&replied["resolution"], &replied["value"], &replied["responded_by"]), (&json!("responded"), &value, &json!("test-operator")));
        let now = agent.intent(intent).await;
        assert_eq!((&now["status"], &now["state"]), (&json!("active"), &json!({})));
        let types = agent.event_types(intent).await;
        assert_eq!(tail(&types, 4), ["intent.suspension_announced", "status_changed", "intent.unasked_answer", "status_changed"]);
        app.restart().await;
        let agent = Api::new(&app.base, Some(agent.key()));
        let late = made("susp-1", app.clock.now(), 0, 60, json!({}));
        assert_eq!(record(&agent, intent, late).await.problem(), (409, "not_announced"));
        assert_eq!(agent.intent(intent).await["state"], json!({}));
    }

    /// Two keys with one agent's name may have two owners. If the second key asks the first key's question again, that is a new
    /// question, and neither owner may answer it: the one because its key asked, the other because its key created the intent.
    async fn a_key_of_another_owner_asks_anew(app: &mut TestApp) {
        let first = Api::new(&app.base, Some(&app.new_client_key_of("twin", "one").await));
        let second = Api::new(&app.base, Some(&app.new_client_key_of("twin", "two").await));
        let intent = first.active_intent().await;
        let before = asked(app, &first, intent, "q-1", 600, permissive()).await;
        let after = asked(app, &second, intent, "q-2", 600, permissive()).await;
        assert_ne!(before["id"], after["id"]);
        for owner in ["one", "two", "TWO"] {
            let operator = app.new_key_of(Role::Operator, &format!("person-{owner}"), owner).await;
            let refused = Api::new(&app.base, Some(&operator)).respond(intent, "q-2", "approve").await;
            assert_eq!(refused.problem(), (403, "self_response"), "{owner}");
        }
        app.operator().respond(intent, "q-2", "approve").await.ok();
    }

    /// A restarted agent asks again. If it asks the same question, that question goes on under both ids. A different question
    /// supersedes the first.
    async fn the_same_question_is_adopted_and_another_supersedes(app: &mut TestApp) {
        let (agent, operator) = (agent(app, "py").await, app.operator());
        let intent = agent.active_intent().await;
        let first = asked(app, &agent, intent, "one", 600, permissive()).await;
        app.advance(60).await;
        let again = asked(app, &agent, intent, "two", 600, permissive()).await;
        assert_eq!((&again["id"], &again["expires_at"]), (&first["id"], &first["expires_at"]));
        assert_eq!(agent.event_types(intent).await.last().unwrap(), "intent.suspension_adopted");
        let told = json!({"event_type": "intent.suspended", "payload": {"suspension_id": "two"}});
        let event = agent.post(&format!("api/v1/intents/{intent}/events"), told).await.ok();
        assert_eq!(event["payload"]["id"], first["id"]);

        for (index, change) in [
            json!({"question": "Another?"}),
            json!({"decision_record": {"mode": "require_input"}}),
            json!({"channel_hint": "email"}), json!({"context": {"amount": 6}}), json!({"fallback_value": "deny"}),
            json!({"choices": [{"value": "approve", "label": "Approve it"}, {"value": "deny", "label": "Deny"}]}),
        ].into_iter().enumerate() {
            let mut with = permissive();
            with.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            let open = agent.intent(intent).await["state"]["_suspension"]["id"].clone();
            let next = asked(app, &agent, intent, &format!("other-{index}"), 3600 + 60 * i64::try_from(index).unwrap(), with).await;
            assert_ne!(next["id"], open, "{change}");
            assert_eq!(agent.suspension(open.as_str().unwrap()).await["resolution_reason"], "superseded");
        }
        app.restart().await;
        let agent = Api::new(&app.base, Some(agent.key()));
        // An id that the client gave names the same question for ever. An answer under the id of an ended question is refused,
        // and one under the id of the open question counts.
        assert_eq!(operator.respond(intent, "two", "approve").await.problem().1, "already_resolved");
        let last = agent.intent(intent).await["state"]["_suspension"].clone();
        for used in ["one", "two", "other-5"] {
            let made = made(used, app.clock.now(), 0, 7200, json!({}));
            assert_eq!(record(&agent, intent, made).await.problem(), (409, "record_id_used"));
        }
        assert_eq!(operator.respond(intent, "other-5", "deny").await.ok()["suspension_id"], last["id"]);
        // The same id on another intent is another question.
        let elsewhere = agent.active_intent().await;
        assert_ne!(asked(app, &agent, elsewhere, "one", 600, json!({})).await["id"], first["id"]);
        assert_eq!(operator.respond(elsewhere, "two", "deny").await.problem().1, "suspension_mismatch");
    }

    /// People were told a deadline. A record that would end the question earlier is refused and changes nothing. The record of
    /// another agent is refused too.
    async fn no_record_cuts_the_time_of_people_short(app: &mut TestApp) {
        let (agent, other) = (agent(app, "py").await, agent(app, "other").await);
        let intent = agent.active_intent().await;
        asked(app, &agent, intent, "one", 600, json!({})).await;
        agent.post(&format!("api/v1/intents/{intent}/agents"), json!({"agent_id": "other"})).await.ok();
        let before = agent.everything(intent).await;
        for (id, window, change) in [("two", 599, json!({})), ("three", 60, json!({"question": "Another?"}))] {
            announce(&agent, intent).await.ok();
            let made = made(id, app.clock.now(), 0, window, change);
            assert_eq!(record(&agent, intent, made).await.problem(), (409, "ends_earlier"));
        }
        assert_eq!(announce(&other, intent).await.problem().0, 403);
        let foreign = made("four", app.clock.now(), 0, 6000, json!({}));
        assert_eq!(record(&other, intent, foreign).await.problem().0, 403);
        assert_eq!(agent.everything(intent).await, before);
        // The same holds for a question that is asked with one call.
        let open = before.0["state"]["_suspension"]["id"].clone();
        let anew = json!({"question": "Another?", "supersedes": open, "timeout_seconds": 60});
        assert_eq!(agent.suspend(intent, anew).await.problem(), (409, "ends_earlier"));
        assert_eq!(agent.everything(intent).await, before);
    }

    /// Each form of the record that the client can send is either accepted with a warning, or refused with the member's name.
    async fn each_form_of_the_record_is_decided(app: &mut TestApp) {
        let agent = agent(app, "py").await;
        let policy = |policy: Value| json!({"retry_policy": policy, "fallback_value": "deny", "expires_at": null});
        let taken = [
            (json!({"choices": []}), json!({"response_type": "text"})),
            (json!({"response_type": "confirm", "choices": []}), json!({"response_type": "confirm"})),
            (json!({"response_type": "form", "choices": []}), json!({"response_type": "form"})),
            (json!({"confidence_at_suspension": 0.5}), json!({"confidence_at_suspension": 0.5})),
            (json!({"timeout_seconds": null, "expires_at": null}), json!({"expires_at": null})),
            (policy(json!({"max_attempts": 2, "interval_seconds": 30, "strategy": "linear"})), json!({"expires_at": "2026-11-24T08:00:58.000000"})),
            (policy(json!({"max_attempts": 1, "interval_seconds": 0})), json!({"retry_policy": null, "expires_at": "2026-11-24T08:00:58.000000"})),
            (policy(json!({"max_attempts": 3, "interval_seconds": 3600})), json!({"attempt": 1, "expires_at": "2026-11-24T08:00:58.000000"})),
        ];
        for (index, (change, shown)) in taken.into_iter().enumerate() {
            let intent = agent.active_intent().await;
            let record = asked(app, &agent, intent, &format!("taken-{index}"), 60, change.clone()).await;
            assert_eq!(record.get("warnings").is_some(), [0, 5, 7].contains(&index), "{change}: {record}");
            for (member, value) in shown.as_object().unwrap() {
                assert_eq!(&record[member], value, "{change}: {member}");
            }
        }
        let refused = [
            (json!({"fallback_policy": "complete_with_fallback"}), "_suspension.fallback_value"),
            (json!({"fallback_policy": "complete_with_fallback", "fallback_value": "maybe"}), "_suspension.fallback_value"),
            (json!({"fallback_policy": "complete_with_fallback", "fallback_value": "deny", "timeout_seconds": null, "expires_at": null}), "_suspension.fallback_policy"),
            (json!({"response_type": "confirm", "choices": [{"value": "1", "label": "One"}]}), "_suspension.choices"),
            (json!({"choices": [{"value": 1, "label": "One"}]}), "_suspension.choices[0].value"),
            (json!({"retry_policy": {"max_attempts": 2, "interval_seconds": 30, "escalation_ladder": [{"attempt": 2, "notify_to": "team-leads"}]}}), "_suspension.retry_policy.escalation_ladder[0].notify_to"),
            (json!({"response_type": "vote"}), "_suspension.response_type"),
            (json!({"confidence_at_suspension": 55}), "_suspension.confidence"),
            (json!({"id": ""}), "_suspension.id"),
            (json!({"id": 5}), "_suspension.id"),
            (json!({"id": "x".repeat(201)}), "_suspension.id"),
            (json!({"suspended_at": null}), "_suspension.suspended_at"),
            (json!({"expires_at": "soon"}), "_suspension.expires_at"),
            (json!({"expires_at": "2026-11-24T08:00:30"}), "_suspension.expires_at"),
            (json!({"timeout_seconds": 9, "expires_at": null}), "_suspension.timeout_seconds"),
            (json!({"unknown": 1}), "_suspension.unknown"),
            (json!({"supersedes": "x"}), "_suspension.supersedes"),
            // The client's own window, up to `expires_at`, counts as 59 seconds, but `timeout_seconds` says 60. The client
            // would act earlier than the guard allows for.
            (json!({"expires_at": naive(app.clock.now() + TimeDelta::milliseconds(59_899))}), "_suspension.expires_at"),
        ];
        for (index, (change, field)) in refused.into_iter().enumerate() {
            let intent = agent.active_intent().await;
            announce(&agent, intent).await.ok();
            let id = format!("refused-{index}");
            let reply = record(&agent, intent, made(&id, app.clock.now(), 0, 60, change.clone())).await;
            assert_eq!(reply.problem().0, 422, "{change}: {}", reply.text);
            assert!(reply.text.contains(&format!("\"{field}\"")), "{change}: {}", reply.text);
            assert_eq!(agent.status(intent).await, "active", "{change}");
        }
        let intent = agent.active_intent().await;
        announce(&agent, intent).await.ok();
        for own in [json!({"response": "approve"}), json!({"resolution": "responded"}), json!({"responded_at": "2026-11-24T08:00:00"})] {
            let made = made("own", app.clock.now(), 0, 60, own);
            assert_eq!(record(&agent, intent, made).await.problem(), (409, "suspension_is_server_owned"));
        }
        let short = made("short", app.clock.now(), 0, 60, json!({"expires_at": naive(app.clock.now() + TimeDelta::milliseconds(59_900))}));
        record(&agent, intent, short).await.ok();
        let intent = agent.active_intent().await;
        announce(&agent, intent).await.ok();
        let longest = made(&"x".repeat(200), app.clock.now(), 0, 60, json!({}));
        record(&agent, intent, longest).await.ok();
    }

    /// A key that was not made for the OpenIntent client cannot suspend in three calls, and cannot complete a draft.
    async fn other_keys_suspend_by_one_call(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let before = agent.everything(intent).await;
        assert_eq!(announce(&agent, intent).await.problem(), (409, "use_suspend"));
        let made = made("one", app.clock.now(), 0, 60, json!({}));
        assert_eq!(record(&agent, intent, made).await.problem(), (409, "suspension_is_server_owned"));
        let told = json!({"event_type": "intent.suspended", "payload": {"suspension_id": "one"}});
        assert_eq!(agent.post(&format!("api/v1/intents/{intent}/events"), told).await.problem(), (403, "reserved_event_type"));
        assert_eq!(agent.everything(intent).await, before);
        let draft = agent.post("api/v1/intents", json!({"title": "t"})).await.ok();
        let complete = format!("api/v1/intents/{}/status", draft["id"].as_str().unwrap());
        assert_eq!(agent.post_at(&complete, "1", json!({"status": "completed"})).await.problem(), (409, "invalid_transition"));
    }

    /// The loop that ends announcements may be late. Even then the server refuses a record that comes too long after its
    /// announcement, or whose window leaves people no time.
    async fn a_record_that_comes_late_is_refused(app: &mut TestApp) {
        let agent = agent(app, "py").await;
        let late = i64::from(RECORD_WITHIN_SECONDS);
        for (after, window, refusal) in [(late, 60, (409, "not_announced")), (late - 1, 15, (422, "invalid"))] {
            let intent = agent.active_intent().await;
            announce(&agent, intent).await.ok();
            let made = made("one", app.clock.now(), 0, window, permissive());
            app.clock.jump(TimeDelta::seconds(after));
            assert_eq!(record(&agent, intent, made).await.problem(), refusal);
            assert_eq!(agent.status(intent).await, "active");
        }
        let intent = agent.active_intent().await;
        announce(&agent, intent).await.ok();
        let made = made("one", app.clock.now(), 0, 16, permissive());
        app.clock.jump(TimeDelta::seconds(late - 1));
        record(&agent, intent, made).await.ok();
        // An id that no client can have given names nothing, on either database.
        assert_eq!(app.operator().respond(intent, "\u{0}", "approve").await.problem(), (409, "suspension_mismatch"));
    }

    /// While a question is announced, the state does not show the previous question: the client would take it for the announced
    /// one.
    async fn while_a_question_is_announced_no_other_one_is_shown(app: &mut TestApp) {
        let (agent, operator) = (agent(app, "py").await, app.operator());
        let intent = agent.active_intent().await;
        asked(app, &agent, intent, "one", 60, json!({})).await;
        operator.respond(intent, "one", "approve").await.ok();
        assert_eq!(agent.intent(intent).await["state"]["_suspension"]["response"], "approve");
        let announced = announce(&agent, intent).await.ok();
        assert_eq!((&announced["state"], &agent.intent(intent).await["state"]), (&json!({}), &json!({})));
    }

    /// The OpenIntent client completes intents that are still drafts, so its keys may do that.
    async fn a_draft_is_completed(app: &mut TestApp) {
        let agent = agent(app, "py").await;
        let draft = agent.post("api/v1/intents", json!({"title": "t"})).await.ok();
        let complete = format!("api/v1/intents/{}/status", draft["id"].as_str().unwrap());
        assert_eq!(agent.post_at(&complete, "1", json!({"status": "completed"})).await.ok()["status"], "completed");
    }

    /// The client also appends events that the server writes itself. It gets the server's own event back, and nothing is added.
    /// An event that the server has not written yet is refused.
    async fn an_event_told_again_is_the_servers_own(app: &mut TestApp) {
        let agent = agent(app, "py").await;
        let intent = agent.active_intent().await;
        let ladder = json!({"retry_policy": {"max_attempts": 2, "interval_seconds": 30, "escalation_ladder": [{"attempt": 2, "notify_to": "lead@example.com"}]}});
        asked(app, &agent, intent, "one", 60, ladder).await;
        let path = format!("api/v1/intents/{intent}/events");
        let told = |kind: &str, id: &str, attempt: u32| json!({"event_type": kind, "payload": {"suspension_id": id, "attempt": attempt, "by": "me"}});
        assert_eq!(agent.post(&path, told("intent.suspension_renotified", "one", 2)).await.problem(), (403, "reserved_event_type"));
        app.advance(30).await;
        for kind in ["intent.suspension_renotified", "intent.suspension_escalated"] {
            let before = agent.event_types(intent).await;
            let event = agent.post(&path, told(kind, "one", 2)).await.ok();
            assert_eq!((&event["event_type"], &event["payload"]["attempt"], event["payload"].get("by")), (&json!(kind), &json!(2), None));
            assert_eq!(agent.event_types(intent).await, before);
            for (id, attempt) in [("one", 3), ("other", 2)] {
                assert_eq!(agent.post(&path, told(kind, id, attempt)).await.problem(), (403, "reserved_event_type"));
            }
        }
        assert_eq!(agent.post(&path, told("intent.resumed", "one", 1)).await.problem(), (403, "reserved_event_type"));
    }

    /// The deadline is the client's window less a guard of two seconds, whatever the client's clock shows. A request to extend
    /// it is refused.
    async fn the_deadline_is_the_clients_own_less_the_guard(app: &mut TestApp) {
        let (agent, operator) = (agent(app, "py").await, app.operator());
        for ahead in [-86_400, 0, 3] {
            let intent = agent.active_intent().await;
            announce(&agent, intent).await.ok();
            let now = app.clock.now();
            let record = record(&agent, intent, made("one", now, ahead, 60, permissive())).await.ok()["state"]["_suspension"].clone();
            assert_eq!(record["expires_at"], json!(naive(now + TimeDelta::seconds(58))), "{ahead}");
            let path = format!("api/v1/suspensions/{}/extend", record["id"].as_str().unwrap());
            let before = agent.everything(intent).await;
            assert_eq!(operator.post(&path, json!({"seconds": 60})).await.problem(), (409, "deadline_fixed"));
            assert_eq!(agent.everything(intent).await, before);
        }
        // A question that is asked with one call has the same deadline.
        let intent = agent.active_intent().await;
        let reply = agent.suspend(intent, json!({"timeout_seconds": 9})).await;
        assert_eq!(reply.field_problem().2, "timeout_seconds");
        let record = agent.suspend(intent, json!({"timeout_seconds": 10})).await.ok();
        assert_eq!((&record["fixed_deadline"], &record["expires_at"]), (&json!(true), &json!("2026-11-24T08:00:08.000000Z")));
    }

    /// Once the deadline has passed, reads are refused (503) until the server has recorded the question's end. If they still
    /// showed the question as open, its asker, which applies the deadline by its own clock as well, could act on a fallback that
    /// the server does not record.
    async fn a_question_that_is_due_is_not_shown_open(app: &mut TestApp) {
        let (agent, operator) = (agent(app, "py").await, app.operator());
        let intent = agent.active_intent().await;
        let id = asked(app, &agent, intent, "one", 60, permissive()).await["id"].as_str().unwrap().to_owned();
        app.settle().await;
        app.clock.jump(TimeDelta::seconds(58));
        for path in [format!("api/v1/intents/{intent}"), format!("api/v1/suspensions/{id}")] {
            assert_eq!(agent.get(&path).await.problem(), (503, "unavailable"), "{path}");
        }
        assert_eq!(operator.respond(intent, &id, "deny").await.problem(), (409, "expired"));
        let now = agent.intent(intent).await;
        assert_eq!(now["state"]["_suspension"]["resolution"], "expired");
    }

    /// If the server's clock is set back, the agent's own clock reaches the end of the window before the server's does. The
    /// server therefore ends the question before it shows it as open again.
    async fn a_clock_that_is_set_back_ends_a_question_with_a_fixed_deadline(app: &mut TestApp) {
        let (agent, ordinary) = (agent(app, "py").await, app.agent());
        let (intent, strict, other) = (agent.active_intent().await, agent.active_intent().await, ordinary.active_intent().await);
        asked(app, &agent, intent, "one", 600, permissive()).await;
        asked(app, &agent, strict, "one", 600, json!({})).await;
        ordinary.suspend(other, permissive()).await.ok();
        app.advance(60).await;
        app.clock.set_by(TimeDelta::seconds(-1));
        assert_eq!(agent.status(intent).await, SUSPENDED, "a time service may take a second back");
        app.clock.set_by(TimeDelta::seconds(-3));
        assert_eq!(agent.get(&format!("api/v1/intents/{intent}")).await.problem(), (503, "unavailable"));
        app.settle().await;
        let taken_back = (json!("cancelled"), json!("time_lost"), json!(null));
        let end = |now: &Value| {
            let shown = &now["state"]["_suspension"];
            (shown["resolution"].clone(), shown["resolution_reason"].clone(), shown["response"].clone())
        };
        assert_eq!(end(&agent.intent(intent).await), taken_back);
        for status in [agent.status(strict).await, ordinary.status(other).await] {
            assert_eq!(status, SUSPENDED, "silence cannot become consent there, or the agent has no clock of its own");
        }
        asked(app, &agent, intent, "two", 600, permissive()).await;
        app.advance(60).await;
        assert_eq!(agent.status(intent).await, SUSPENDED, "a question asked since then keeps its deadline");
        app.clock.set_by(TimeDelta::seconds(-30));
        app.restart().await;
        let agent = Api::new(&app.base, Some(agent.key()));
        assert_eq!(agent.get(&format!("api/v1/intents/{intent}")).await.problem(), (503, "unavailable"));
        app.settle().await;
        assert_eq!(end(&agent.intent(intent).await), taken_back);
    }

    /// A short outage, or a clock that is set ahead by a little, can take most of a short window. Silence during that time
    /// must not become consent, so the question ends without an answer.
    async fn a_short_loss_of_time_ends_a_question_with_a_short_window(app: &mut TestApp) {
        let agent = agent(app, "py").await;
        let (short, long, strict) = (agent.active_intent().await, agent.active_intent().await, agent.active_intent().await);
        let ask = async |agent: &Api, id: &str| {
            asked(app, agent, short, id, 60, permissive()).await;
            app.settle().await;
        };
        asked(app, &agent, long, "long", 86_400, permissive()).await;
        asked(app, &agent, strict, "strict", 86_400, json!({})).await;
        ask(&agent, "one").await;
        // These are more questions than one transaction can end.
        let mut many = Vec::new();
        for _ in 0..130 {
            let intent = agent.active_intent().await;
            let question = json!({"timeout_seconds": 90, "fallback_policy": "complete_with_fallback", "fallback_value": "approve"});
            agent.suspend(intent, question).await.ok();
            many.push(intent);
        }
        app.settle().await;
        // This outage is so short that the question stays open.
        app.outage(5).await;
        let agent = Api::new(&app.base, Some(agent.key()));
        assert_eq!(agent.status(short).await, SUSPENDED);
        app.outage(50).await;
        let agent = Api::new(&app.base, Some(agent.key()));
        let end = async |agent: &Api| {
            let shown = agent.intent(short).await["state"]["_suspension"].clone();
            assert_eq!((&shown["resolution_reason"], &shown["response"]), (&json!("time_lost"), &json!(null)));
        };
        end(&agent).await;
        for intent in many {
            assert_eq!(agent.intent(intent).await["state"]["_suspension"]["resolution_reason"], "time_lost");
        }
        // Time that was lost before a question was asked does not end that question.
        let later = agent.active_intent().await;
        app.clock.set_by(TimeDelta::seconds(50));
        asked(app, &agent, later, "later", 60, permissive()).await;
        app.settle().await;
        assert_eq!(agent.status(later).await, SUSPENDED);
        asked(app, &agent, short, "two", 60, permissive()).await;
        app.settle().await;
        app.clock.set_by(TimeDelta::seconds(59));
        assert_eq!(agent.get(&format!("api/v1/intents/{short}")).await.problem(), (503, "unavailable"));
        app.settle().await;
        end(&agent).await;
        for kept in [long, strict] {
            assert_eq!(agent.status(kept).await, SUSPENDED, "so little time changes nothing for a long window, or for one without consent");
        }
    }

    /// After the clock was set back, an announcement is dated in the future. The server cannot tell how long the announcement
    /// has waited, so it ends the announcement.
    async fn an_announcement_ends_when_the_clock_is_set_back(app: &mut TestApp) {
        let agent = agent(app, "py").await;
        let intent = agent.active_intent().await;
        announce(&agent, intent).await.ok();
        app.clock.set_by(TimeDelta::seconds(-3600));
        app.settle().await;
        assert_eq!(agent.status(intent).await, "active");
        let late = made("late", app.clock.now(), 0, 60, json!({}));
        assert_eq!(record(&agent, intent, late).await.problem(), (409, "not_announced"));
    }

    /// An answer may name a question by the server's id or by the client's, so a client's id must not equal an id of the
    /// server's.
    async fn a_client_does_not_give_its_question_an_id_of_the_servers(app: &mut TestApp) {
        let agent = agent(app, "py").await;
        let intent = agent.active_intent().await;
        let approval = agent.post(&format!("api/v1/intents/{intent}/approvals"), json!({"action": "pay"})).await.ok();
        announce(&agent, intent).await.ok();
        let made = made(approval["id"].as_str().unwrap(), app.clock.now(), 0, 60, json!({}));
        assert_eq!(record(&agent, intent, made).await.problem(), (409, "record_id_used"));
        app.settle().await;
    }

    /// While the server was down, people could not answer, so the fallback must not apply. The client goes by a fixed
    /// deadline, so the lost time cannot be given back either. So a question with a fallback ends without an answer.
    async fn lost_time_ends_a_question_with_a_fixed_deadline(app: &mut TestApp) {
        let agent = agent(app, "py").await;
        let (intent, strict, short) = (agent.active_intent().await, agent.active_intent().await, agent.active_intent().await);
        let id = asked(app, &agent, intent, "one", 3600, permissive()).await["id"].as_str().unwrap().to_owned();
        app.settle().await;
        let link = app.next_link().await;
        asked(app, &agent, strict, "one", 3600, json!({})).await;
        asked(app, &agent, short, "one", 600, permissive()).await;
        app.advance(300).await;
        app.outage(1800).await;
        let agent = Api::new(&app.base, Some(agent.key()));
        for intent in [intent, short] {
            let now = agent.intent(intent).await;
            let shown = &now["state"]["_suspension"];
            assert_eq!((&now["status"], &shown["resolution"], &shown["resolution_reason"], &shown["response"]), (&json!("active"), &json!("cancelled"), &json!("time_lost"), &json!(null)));
        }
        assert_eq!(agent.status(strict).await, SUSPENDED, "silence cannot become consent there");
        let ended = agent.events(intent).await.into_iter().find(|event| event["event_type"] == "intent.suspension_cancelled").unwrap();
        assert_eq!((&ended["payload"]["cancelled_by"], &ended["payload"]["resolution_reason"]), (&json!("placet"), &json!("time_lost")));
        let page = app.person().open(&link).await;
        assert!(page.html.contains("The question ended while the server was away"), "{}", page.html);
        assert_eq!(app.operator().respond(intent, &id, "approve").await.problem(), (409, "already_resolved"));
        assert_eq!(app.operator().respond(intent, "one", "approve").await.problem(), (409, "already_resolved"));
    }
}
