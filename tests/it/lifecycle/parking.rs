//! Parks: an agent stops by itself until an event comes, a time is over, or a principal lets it go on.

use domain::base::ids::IntentId;
use domain::people::principal::Role;
use domain::suspension::stop::{EVENT_NAME_MAX, EVENT_PAYLOAD_BYTES_MAX, TIMEOUT_MINUTES_MAX};
use futures_util::future::join_all;
use harness::api::{Api, Reply};
use harness::on_each_store;
use serde_json::{Value, json};

use super::pausing::{harn, id_of, pause, resume, set_status, since_it_began};

async fn park(api: &Api, intent: IntentId, conditions: Value) -> Reply {
    let body = json!({"reason": "Waiting for the review.", "conditions": conditions});
    api.post(&format!("api/v1/intents/{intent}/park"), body).await
}

/// Parks a new intent; returns it with the id of the suspension.
async fn parked(api: &Api, conditions: Value) -> (IntentId, String) {
    let intent = api.active_intent().await;
    (intent, id_of(&park(api, intent, conditions).await.ok()))
}

async fn fire(api: &Api, name: &str) -> Value {
    api.post("api/v1/events", json!({"name": name})).await.ok()["woken"].clone()
}

fn timeout(minutes: u32, on_timeout: &str) -> Value {
    json!({"timeout": {"duration_minutes": minutes, "on_timeout": on_timeout}})
}

/// The status of the intent, and the resolution and the cause of its stop.
async fn stands(api: &Api, intent: IntentId, id: &str) -> (String, Value, Value) {
    let record = api.suspension(id).await;
    (api.status(intent).await, record["resolution"].clone(), record["cause"].clone())
}

fn goes_on(cause: &str) -> (String, Value, Value) {
    ("active".to_owned(), json!("resumed"), json!(cause))
}

fn waits() -> (String, Value, Value) {
    ("blocked".to_owned(), json!(null), json!(null))
}

on_each_store! {
    /// Without conditions an agent waits until a principal lets it go on, with exactly what that principal gives it.
    async fn an_agent_parks_openly_and_goes_on_with_the_input_it_is_given(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let record = park(&agent, intent, json!(null)).await.ok();
        assert_eq!((&record["kind"], &record["stage"], &record["mode"]), (&json!("parked"), &json!("suspended"), &json!(null)));
        assert_eq!((&record["initiator"], &record["resume_owner"]), (&json!("self"), &json!("parent")));
        assert_eq!((record.get("conditions"), record.get("expires_at")), (None, None));
        // A second request to park is the first one. Other conditions are refused, because nothing would come of them.
        assert_eq!(park(&agent, intent, json!(null)).await.ok(), record);
        let other = park(&agent, intent, json!({"on_event": "x"})).await;
        assert_eq!(harn(&other), (409, "not_active", "HARN-SUS-001"));
        assert!(other.body["detail"].as_str().unwrap().contains("is parked under other conditions"), "{other:?}");
        assert_eq!(agent.suspension(&id_of(&record)).await, record);
        let shown = agent.intent(intent).await;
        assert_eq!((&shown["blocked_reason"], &shown["state"]["_pause"]["kind"]), (&json!("parked"), &json!("parked")));
        assert_eq!(harn(&pause(&operator, intent, json!({})).await), (409, "not_active", "HARN-SUS-001"));
        assert_eq!(set_status(&agent, intent, "active").await.problem(), (409, "intent_stopped"));
        app.restart().await;
        app.advance(i64::from(TIMEOUT_MINUTES_MAX) * 60).await;
        let input = json!({"a": [1, "x", null]});
        let gone = resume(&operator, &id_of(&record), json!({"input": input})).await.ok();
        assert_eq!((&gone["input"], &gone["continue_transcript"]), (&input, &json!(true)));
        assert_eq!(since_it_began(&agent, intent).await, ["lifecycle.parked", "status_changed", "lifecycle.resumed", "status_changed"]);
        // Its agent and keys of its owner may let it go on as well.
        let sibling = Api::new(&app.base, Some(&app.new_key_of(Role::Agent, "sibling", "test-agent").await));
        for api in [&agent, &sibling] {
            let (_, id) = parked(&agent, json!(null)).await;
            resume(api, &id, json!({})).await.ok();
        }
    }

    /// A call that is repeated after its reply was lost gets the record of the first one; an agent that waits for something else is told so.
    async fn a_park_is_repeated_under_its_own_conditions_alone(app: &mut TestApp) {
        let agent = app.agent();
        let conditions = |minutes: Value, event: &str, input: Value| {
            let timeout = json!({"duration_minutes": minutes, "on_timeout": "resume_with_input", "input": input});
            let trigger = json!({"kind": "k", "provider": "placet", "match": {"events": [event]}});
            json!({"on_event": "x", "trigger": trigger, "timeout": timeout})
        };
        let intent = agent.active_intent().await;
        let id = id_of(&park(&agent, intent, conditions(json!(5), "y", json!({"n": 1.0}))).await.ok());
        app.restart().await;
        let (agent, record) = (app.agent(), app.agent().suspension(&id).await);
        for same in [json!(1.0), json!(1)] {
            assert_eq!(park(&agent, intent, conditions(json!(5), "y", json!({"n": same}))).await.ok(), record);
        }
        for other in [
            conditions(json!(6), "y", json!({"n": 1})), conditions(json!(5), "z", json!({"n": 1})), conditions(json!(5), "y", json!({"n": 2})),
            json!({"on_event": "x"}), json!(null),
        ] {
            assert_eq!(harn(&park(&agent, intent, other.clone()).await), (409, "not_active", "HARN-SUS-001"), "{other}");
        }
        assert_eq!(since_it_began(&agent, intent).await, ["lifecycle.parked", "status_changed"]);
    }

    /// An event wakes those that wait for it, from a provider that they named, and no others.
    async fn an_event_wakes_those_that_wait_for_it(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let trigger = |provider: &str| json!({"trigger": {"kind": "review", "provider": provider, "match": {"events": ["a", "ci.build:1"]}}});
        let (by_name, one) = parked(&agent, json!({"on_event": "ci.build:1"})).await;
        let (by_person, two) = parked(&agent, trigger("placet")).await;
        let (by_gateway, three) = parked(&agent, trigger("webhook")).await;
        assert_eq!(agent.suspension(&one).await["resume_owner"], "server");
        // What is shown can be sent as it is.
        assert_eq!(agent.suspension(&two).await["conditions"], trigger("placet"));
        assert_eq!(agent.intent(by_person).await["state"]["_pause"]["conditions"], trigger("placet"));
        for other in ["ci.build:2", "ci", "x".repeat(EVENT_NAME_MAX).as_str()] {
            assert_eq!(fire(&operator, other).await, 0, "{other}");
        }
        app.restart().await;
        let woken = operator.post("api/v1/events", json!({"name": "ci.build:1", "payload": {"build": 1}})).await.ok();
        assert_eq!(woken, json!({"woken": 2}));
        assert_eq!(stands(&agent, by_name, &one).await, goes_on("external_event"));
        assert_eq!(stands(&agent, by_person, &two).await, goes_on("condition_fired"));
        assert_eq!(stands(&agent, by_gateway, &three).await, waits());
        let record = agent.suspension(&one).await;
        assert_eq!((&record["input"], &record["event"]), (&json!({"build": 1}), &json!("ci.build:1")));
        // Each goes on once.
        assert_eq!(fire(&operator, "ci.build:1").await, 0);
        assert_eq!(fire(&app.api(Role::Channel), "a").await, 1);
        assert_eq!(stands(&agent, by_gateway, &three).await, goes_on("condition_fired"));
        assert_eq!(harn(&resume(&operator, &three, json!({})).await), (409, "already_resolved", "HARN-SUS-006"));
        for role in [Role::Agent, Role::Auditor, Role::Verifier] {
            let refused = app.api(role).post("api/v1/events", json!({"name": "a"})).await;
            assert_eq!(refused.problem(), (403, "forbidden"), "{role}");
        }
    }

    /// The time of a parked intent, one second early, at its end, and after a restart. It takes effect once.
    async fn a_time_that_is_over_does_what_the_conditions_say(app: &mut TestApp) {
        let agent = app.agent();
        let (summary, one) = parked(&agent, timeout(5, "resume_with_summary")).await;
        let (failing, two) = parked(&agent, timeout(5, "fail")).await;
        let (with_event, three) = parked(&agent, timeout(5, "resume_with_input")).await;
        let own = json!({"timeout": {"duration_minutes": 5, "on_timeout": "resume_with_input", "input": "Go on without it."}});
        let (with_input, four) = parked(&agent, own).await;
        assert_eq!(agent.suspension(&one).await["expires_at"], "2026-11-24T08:05:00.000000Z");
        app.advance(299).await;
        app.restart().await;
        for (intent, id) in [(summary, &one), (failing, &two), (with_event, &three), (with_input, &four)] {
            assert_eq!(stands(&agent, intent, id).await, waits());
        }
        app.advance(1).await;
        for (intent, id) in [(summary, &one), (with_event, &three), (with_input, &four)] {
            assert_eq!(stands(&agent, intent, id).await, goes_on("timeout"));
        }
        let record = agent.suspension(&one).await;
        assert_eq!((&record["continue_transcript"], record.get("input")), (&json!(false), None));
        let digest = "The work was parked at 2026-11-24T08:00:00.000000Z, and none of its conditions was met by 2026-11-24T08:05:00.000000Z. \
                      The reason was: Waiting for the review.";
        assert_eq!(record["digest"], digest);
        assert_eq!(agent.suspension(&three).await["input"], json!({"type": "timeout", "suspension_id": three, "duration_minutes": 5}));
        assert_eq!(agent.suspension(&four).await["input"], "Go on without it.");
        assert_eq!(stands(&agent, failing, &two).await, ("abandoned".to_owned(), json!("expired"), json!("timeout")));
        assert_eq!(harn(&resume(&app.operator(), &two, json!({})).await), (409, "not_active", "HARN-SUS-010"));
        app.advance(3600).await;
        let types = since_it_began(&agent, failing).await;
        assert_eq!(types, ["lifecycle.parked", "status_changed", "lifecycle.closed", "status_changed"]);
    }

    /// A time that is over decides, also before its timer has fired: a later call must not undo it.
    async fn a_resumption_after_the_time_finds_that_it_is_over(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let (intent, id) = parked(&agent, timeout(1, "fail")).await;
        let request = agent.post(&format!("api/v1/intents/{intent}/approvals"), json!({"action": "pay"})).await.ok();
        app.clock.jump(chrono::TimeDelta::seconds(60));
        let refused = resume(&operator, &id, json!({})).await;
        assert_eq!(harn(&refused), (409, "expired", "HARN-SUS-006"));
        assert_eq!(stands(&agent, intent, &id).await, ("abandoned".to_owned(), json!("expired"), json!("timeout")));
        // A request beside the intent ends with it.
        assert_eq!(agent.suspension(&id_of(&request)).await["resolution"], "cancelled");
    }

    /// The time of an outage is given back, so that an agent does not go on for want of an event that could not come.
    async fn the_time_of_an_outage_is_given_back_to_a_parked_agent(app: &mut TestApp) {
        let agent = app.agent();
        let (intent, id) = parked(&agent, timeout(5, "resume_with_summary")).await;
        app.advance(60).await;
        app.outage(600).await;
        assert_eq!(stands(&agent, intent, &id).await, waits());
        let expires_at = agent.suspension(&id).await["expires_at"].as_str().unwrap().to_owned();
        assert!(expires_at.as_str() > "2026-11-24T08:15:00", "{expires_at}");
        assert!(since_it_began(&agent, intent).await.contains(&"lifecycle.extended".to_owned()));
        app.advance(3600).await;
        assert_eq!(stands(&agent, intent, &id).await, goes_on("timeout"));
    }

    /// Each bound, with the field that the error names.
    async fn every_member_of_a_park_and_an_event_has_its_bound(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let path = format!("api/v1/intents/{intent}/park");
        for (body, field, code) in [
            (json!({}), "reason", ""), (json!({"reason": " "}), "reason", "HARN-SUS-005"), (json!({"reason": "x".repeat(2_001)}), "reason", ""),
            (json!({"reason": "r", "conditions": []}), "conditions", "HARN-SUS-002"),
            (json!({"reason": "r", "conditions": timeout(0, "fail")}), "conditions.timeout.duration_minutes", "HARN-SUS-002"),
            (json!({"reason": "r", "conditions": timeout(TIMEOUT_MINUTES_MAX + 1, "fail")}), "conditions.timeout.duration_minutes", "HARN-SUS-002"),
            (json!({"reason": "r", "conditions": timeout(1, "sleep")}), "conditions.timeout.on_timeout", "HARN-SUS-002"),
            (json!({"reason": "r", "conditions": {"on_event": "x".repeat(EVENT_NAME_MAX + 1)}}), "conditions.on_event", "HARN-SUS-002"),
            (json!({"reason": "r", "conditions": {"trigger": {"kind": "k", "provider": "github", "match": {"events": ["x"]}}}}), "conditions.trigger.provider", "HARN-SUS-007"),
            (json!({"reason": "r", "resume_owner": "me"}), "resume_owner", ""), (json!({"reason": "r", "until": 1}), "until", ""),
        ] {
            let refused = agent.post(&path, body.clone()).await;
            assert_eq!((refused.status, refused.field_problem().2), (422, field), "{body}");
            assert!(refused.body["errors"][0]["message"].as_str().unwrap().starts_with(code), "{refused:?}");
        }
        assert_eq!(since_it_began(&agent, intent).await, [""; 0]);
        let longest = json!({"on_event": "x".repeat(EVENT_NAME_MAX), "timeout": {"duration_minutes": TIMEOUT_MINUTES_MAX}});
        park(&agent, intent, longest).await.ok();
        for (body, field) in [
            (json!({"name": ""}), "name"), (json!({"name": "a b"}), "name"), (json!({"name": "x".repeat(EVENT_NAME_MAX + 1)}), "name"),
            (json!({}), "name"), (json!({"name": "a", "payload": "x".repeat(EVENT_PAYLOAD_BYTES_MAX - 1)}), "payload"),
            (json!({"name": "a", "kind": "b"}), "kind"),
        ] {
            let refused = operator.post("api/v1/events", body).await;
            assert_eq!((refused.status, refused.field_problem().2), (422, field));
        }
        let largest = json!({"name": "x".repeat(EVENT_NAME_MAX), "payload": "x".repeat(EVENT_PAYLOAD_BYTES_MAX - 2)});
        assert_eq!(operator.post("api/v1/events", largest).await.ok(), json!({"woken": 1}));
        // Only the agent that works on an intent parks it.
        let other = agent.active_intent().await;
        for role in [Role::Operator, Role::Admin, Role::Auditor, Role::Channel] {
            assert_eq!(park(&app.api(role), other, json!(null)).await.problem(), (403, "forbidden"), "{role}");
        }
        let stranger = Api::new(&app.base, Some(&app.new_key(Role::Agent, "stranger").await));
        assert_eq!(park(&stranger, other, json!(null)).await.problem(), (404, "not_found"));
    }

    /// An event, a resumption, a closing and the deadline in one moment: one of them has an effect.
    async fn of_an_event_a_resumption_and_the_deadline_at_once_one_wins(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        for round in 0..5 {
            let name = format!("round.{round}");
            let conditions = json!({"on_event": name, "timeout": {"duration_minutes": 1, "on_timeout": "fail"}});
            let (intent, id) = parked(&agent, conditions).await;
            // In some rounds the deadline has come as well, at the same microsecond.
            if round % 2 == 1 {
                app.clock.jump(chrono::TimeDelta::seconds(60));
            }
            let deadline = async { app.store().fire_deadlines().await.unwrap() };
            let events = join_all([&operator, &operator].map(|api| fire(api, &name)));
            let resumed = join_all([&operator, &agent].map(|api| resume(api, &id, json!({}))));
            let (_, woken, resumed) = futures_util::join!(deadline, events, resumed);
            let woken: u64 = woken.iter().map(|woken| woken.as_u64().unwrap()).sum();
            let won = woken + resumed.iter().filter(|reply| reply.status == 200).count() as u64;
            assert_eq!(won, u64::from(round % 2 == 0), "round {round}: {resumed:?}");
            let types = since_it_began(&agent, intent).await;
            assert_eq!(types.iter().filter(|of| ["lifecycle.resumed", "lifecycle.closed"].contains(&of.as_str())).count(), 1);
        }
    }
}
