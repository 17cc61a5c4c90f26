//! Work that fails: when its agent is told to try again, and when another agent takes over (RFC-0010).

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use chrono::TimeDelta;
use domain::base::clock::Clock;
use domain::base::ids::IntentId;
use domain::base::time::rfc3339;
use domain::intent::assignment::ASSIGNED_MAX;
use domain::intent::record::DELAY_MS_MAX;
use domain::intent::retry::LAST_ERROR_MAX;
use domain::people::principal::Role;
use harness::api::{Api, Reply};
use harness::app::TestApp;
use harness::on_each_store;
use harness::stream::Stream;
use serde_json::{Value, json};

const INTENTS: &str = "api/v1/intents";
const THIRTY_DAYS: i64 = 30 * 86_400;

async fn put(api: &Api, path: &str, body: &Value) -> Reply {
    api.send(api.request("PUT", path).json(body)).await
}

/// Sets a policy with a pause of 10 seconds, changed as given.
async fn set_policy(api: &Api, intent: IntentId, change: Value) -> Value {
    let mut body = json!({"strategy": "fixed", "base_delay_ms": 10_000, "max_delay_ms": 3_600_000});
    for (name, value) in change.as_object().unwrap() {
        body[name] = value.clone();
    }
    put(api, &format!("{INTENTS}/{intent}/retry-policy"), &body).await.ok()
}

async fn fail(api: &Api, intent: IntentId, body: Value) -> Value {
    api.post(&format!("{INTENTS}/{intent}/failures"), body).await.ok()
}

async fn assign(api: &Api, intent: IntentId, name: &str) {
    api.post(&format!("{INTENTS}/{intent}/agents"), json!({"agent_id": name})).await.ok();
}

/// An intent on which the agent `helper` works, and that agent.
async fn at_work(app: &TestApp) -> (Api, Api, IntentId) {
    let (agent, helper) = (app.agent(), of(app, "helper").await);
    let intent = agent.active_intent().await;
    assign(&agent, intent, "helper").await;
    (agent, helper, intent)
}

async fn of(app: &TestApp, name: &str) -> Api {
    Api::new(&app.base, Some(&app.new_key(Role::Agent, name).await))
}

/// The events about retries: the type, the agent, and the member that says most.
async fn told(api: &Api, intent: IntentId) -> Vec<Value> {
    let events = api.events(intent).await;
    let retries = events.iter().filter(|event| event["event_type"].as_str().unwrap().starts_with("retry."));
    retries
        .map(|event| {
            let payload = &event["payload"];
            let says = ["reason", "retry_attempt", "fallback_agent_id"].into_iter().find_map(|name| payload.get(name));
            json!([event["event_type"].as_str().unwrap()["retry.".len()..], payload["agent_id"], says])
        })
        .collect()
}

async fn set_status(api: &Api, intent: IntentId, status: &str) {
    let version = api.intent(intent).await["version"].to_string();
    api.post_at(&format!("{INTENTS}/{intent}/status"), &version, json!({"status": status})).await.ok();
}

fn naive(app: &TestApp, seconds: i64) -> String {
    rfc3339(app.clock.now() + TimeDelta::seconds(seconds)).trim_end_matches('Z').to_owned()
}

on_each_store! {
    /// The pause grows as the policy says, and the agent that failed is told on its stream, also after a restart.
    async fn the_agent_that_failed_is_told_to_try_again(app: &mut TestApp) {
        let (agent, helper, intent) = at_work(app).await;
        let policy = set_policy(&agent, intent, json!({"strategy": "exponential"})).await;
        assert_eq!(policy["enforced"], json!(true));
        let failed = fail(&helper, intent, json!({"error_message": "the bank does not answer", "attempt_number": 1})).await;
        assert_eq!((&failed["retryScheduledAt"], &failed["agent_id"]), (&json!(naive(app, 10)), &json!("helper")));
        app.advance(9).await;
        assert_eq!(told(&agent, intent).await, [json!(["scheduled", "helper", 1])]);
        app.restart().await;
        let (agent, helper) = (app.agent(), of(app, "helper").await);
        let (mut stream, _) = Stream::begin(&helper, "agents/helper/subscribe").await;
        app.advance(1).await;
        // A server that has just started may tell the assignment itself once more: streams tell each change at least once.
        let signal = loop {
            let signal = stream.next().await;
            assert_eq!(signal.name, "AGENT_ASSIGNED");
            if !signal.data["retry_attempt"].is_null() {
                break signal;
            }
        };
        let said = ["intent_id", "agent_id", "retry_attempt", "last_error"].map(|name| signal.data[name].clone());
        assert_eq!(json!(said), json!([intent, "helper", 1, "the bank does not answer"]));
        let failed = fail(&helper, intent, json!({"error_code": "E2", "attempt_number": 2})).await;
        assert_eq!(failed["retry_scheduled_at"], json!(naive(app, 20)));
        app.advance(20).await;
        let wanted = ["scheduled", "started"].map(|word| json!([word, "helper", 1]));
        let again = ["scheduled", "started"].map(|word| json!([word, "helper", 2]));
        assert_eq!(told(&agent, intent).await, [wanted, again].concat());
        let listed = agent.get(&format!("{INTENTS}/{intent}/failures")).await.ok();
        assert_eq!(listed["failures"].as_array().unwrap().len(), 2);
    }

    /// No attempt goes out while the intent waits for a person or for another intent. The one that became due meanwhile goes out when the
    /// intent goes on, and none does when it has ended.
    async fn attempts_wait_while_the_intent_is_suspended_or_blocked(app: &mut TestApp) {
        let (agent, helper, intent) = at_work(app).await;
        set_policy(&agent, intent, json!({})).await;
        fail(&helper, intent, json!({"error_code": "E1"})).await;
        let asked = agent.asked(intent).await;
        app.advance(60).await;
        app.restart().await;
        app.advance(60).await;
        let scheduled = json!(["scheduled", "helper", 1]);
        assert_eq!(told(&agent, intent).await, std::slice::from_ref(&scheduled));
        app.operator().respond(intent, &asked, "approve").await.ok();
        app.advance(0).await;
        let first = [scheduled, json!(["started", "helper", 1])];
        assert_eq!(told(&agent, intent).await, first);
        fail(&helper, intent, json!({"error_code": "E1"})).await;
        set_status(&agent, intent, "blocked").await;
        app.advance(60).await;
        assert_eq!(told(&agent, intent).await.len(), 3);
        set_status(&agent, intent, "active").await;
        app.advance(0).await;
        assert_eq!(told(&agent, intent).await[3], json!(["started", "helper", 2]));
        fail(&helper, intent, json!({"error_code": "E1"})).await;
        set_status(&agent, intent, "completed").await;
        app.advance(60).await;
        assert_eq!(told(&agent, intent).await.len(), 5);
        fail(&helper, intent, json!({"error_code": "E1"})).await;
        assert_eq!(told(&agent, intent).await.len(), 5);
    }

    /// At the threshold the fallback agent is assigned, reads the intent, and is told. It has retries of its own, and no further agent
    /// takes over from it.
    async fn the_fallback_agent_takes_over(app: &mut TestApp) {
        let (agent, helper, intent) = at_work(app).await;
        let second = of(app, "second").await;
        set_policy(&agent, intent, json!({"max_retries": 3, "failure_threshold": 2, "fallback_agent_id": "second"})).await;
        fail(&helper, intent, json!({"error_code": "E1"})).await;
        assert_eq!(second.get(&format!("{INTENTS}/{intent}")).await.status, 404);
        let last = fail(&helper, intent, json!({"error_message": "x".repeat(LAST_ERROR_MAX + 1)})).await;
        assert_eq!(last["retry_scheduled_at"], Value::Null);
        app.restart().await;
        let (agent, helper, second) = (app.agent(), of(app, "helper").await, of(app, "second").await);
        let (mut stream, _) = Stream::begin(&second, "agents/second/subscribe").await;
        app.advance(0).await;
        assert_eq!(stream.next().await.data["role"], "fallback");
        assert_eq!(second.intent(intent).await["status"], "active");
        let events = agent.events(intent).await;
        let assigned = events.iter().rfind(|event| event["event_type"] == "agent_assigned").unwrap();
        let said = ["agent_id", "role", "delegated_by"].map(|name| assigned["payload"][name].clone());
        assert_eq!((json!(said), &assigned["actor"]), (json!(["second", "fallback", "helper"]), &json!("placet")));
        assert_eq!(assigned["payload"]["payload"]["last_error"], json!("x".repeat(LAST_ERROR_MAX)));
        for number in 1..=4 {
            fail(&second, intent, json!({"error_code": "E2"})).await;
            app.advance(10).await;
            if number < 4 {
                let signal = stream.next().await;
                assert_eq!((&*signal.name, &signal.data["retry_attempt"]), ("AGENT_ASSIGNED", &json!(number)));
            }
        }
        let log = told(&agent, intent).await;
        assert_eq!(log[..3], [json!(["scheduled", "helper", 1]), json!(["exhausted", "helper", "threshold"]), json!(["handed_over", "helper", "second"])]);
        assert_eq!((log.len(), log.last().unwrap()), (10, &json!(["exhausted", "second", "retries"])));
        // The first agent keeps its place and may go on, but the server starts it no more beside the other.
        fail(&helper, intent, json!({"error_code": "E1"})).await;
        assert_eq!(told(&agent, intent).await.len(), 10);
        // A new policy begins anew.
        set_policy(&agent, intent, json!({})).await;
        fail(&helper, intent, json!({"error_code": "E1"})).await;
        assert_eq!(told(&agent, intent).await.last().unwrap(), &json!(["scheduled", "helper", 1]));
    }

    /// The error is at the top level of the signal, where the handlers of the OpenIntent client read it.
    async fn the_fallback_agent_is_told_the_error(app: &mut TestApp) {
        let (agent, helper, intent) = at_work(app).await;
        let second = of(app, "second").await;
        set_policy(&agent, intent, json!({"strategy": "none", "fallback_agent_id": "second"})).await;
        let (mut stream, _) = Stream::begin(&second, "agents/second/subscribe").await;
        fail(&helper, intent, json!({"error_type": "Timeout"})).await;
        app.advance(0).await;
        let signal = stream.next().await;
        assert_eq!((&*signal.name, &signal.data["last_error"], &signal.data["agent_id"]), ("AGENT_ASSIGNED", &json!("Timeout"), &json!("second")));
        assert_eq!(told(&agent, intent).await[0], json!(["exhausted", "helper", "retries"]));
    }

    async fn an_agent_says_when_it_makes_sense_to_try_again_or_that_it_never_does(app: &mut TestApp) {
        let (agent, helper, intent) = at_work(app).await;
        set_policy(&agent, intent, json!({})).await;
        for (given, seconds) in [(naive(app, 60), 60), (naive(app, -60), 0), (naive(app, THIRTY_DAYS + 60), THIRTY_DAYS)] {
            assert_eq!(DELAY_MS_MAX, u64::try_from(THIRTY_DAYS * 1_000).unwrap());
            set_policy(&agent, intent, json!({})).await;
            let failed = fail(&helper, intent, json!({"retry_scheduled_at": given})).await;
            assert_eq!(failed["retry_scheduled_at"], json!(given), "what the agent said is kept as it said it");
            let events = agent.events(intent).await;
            let due = &events.last().unwrap()["payload"]["retry_at"];
            assert_eq!(due, &json!(rfc3339(app.clock.now() + TimeDelta::seconds(seconds))), "{given}");
        }
        fail(&helper, intent, json!({"error_code": "E1", "recoverable": false})).await;
        assert_eq!(told(&agent, intent).await.last().unwrap(), &json!(["exhausted", "helper", "not_recoverable"]));
        app.advance(THIRTY_DAYS + 1).await;
        assert!(!agent.event_types(intent).await.contains(&"retry.started".to_owned()), "an exhausted agent is told nothing");
    }

    /// A policy of the intent that names the allowed agents holds for the fallback agent as well, and so does the number of agents.
    async fn a_fallback_agent_that_may_not_be_assigned_is_not(app: &mut TestApp) {
        let (agent, helper, intent) = at_work(app).await;
        set_policy(&agent, intent, json!({"strategy": "none", "fallback_agent_id": "second"})).await;
        let rule = json!({"allowed_agents": ["test-agent", "helper"]});
        let version = agent.intent(intent).await["version"].to_string();
        agent.send(agent.request("PUT", &format!("{INTENTS}/{intent}/governance")).header("if-match", &version).json(&rule)).await.ok();
        fail(&helper, intent, json!({"error_code": "E1"})).await;
        app.advance(0).await;
        let refused = [json!(["exhausted", "helper", "retries"]), json!(["exhausted", "helper", "fallback_refused"])];
        assert_eq!(told(&agent, intent).await, refused);
        assert_eq!(of(app, "second").await.get(&format!("{INTENTS}/{intent}")).await.status, 404);

        let crowded = agent.active_intent().await;
        set_policy(&agent, crowded, json!({"strategy": "none", "fallback_agent_id": "second"})).await;
        for number in 1..ASSIGNED_MAX {
            assign(&agent, crowded, &format!("agent-{number}")).await;
        }
        fail(&agent, crowded, json!({"error_code": "E1"})).await;
        assign(&agent, crowded, "the-last").await;
        app.advance(0).await;
        assert_eq!(told(&agent, crowded).await[1], json!(["exhausted", "test-agent", "fallback_refused"]));
    }

    /// An agent that was taken off is told nothing, and the fallback agent takes over.
    async fn an_agent_that_no_longer_works_on_the_intent_does_not_try_again(app: &mut TestApp) {
        let (agent, helper, intent) = at_work(app).await;
        set_policy(&agent, intent, json!({"fallback_agent_id": "second"})).await;
        fail(&helper, intent, json!({"error_code": "E1"})).await;
        agent.send(agent.request("DELETE", &format!("{INTENTS}/{intent}/agents/helper"))).await.ok();
        app.advance(10).await;
        let log = told(&agent, intent).await;
        assert_eq!(log[1..], [json!(["exhausted", "helper", "agent_gone"]), json!(["handed_over", "helper", "second"])]);
    }

    /// The server does nothing that no policy asks for, and a person's report of a failure does not start an agent.
    async fn without_a_policy_failures_are_only_kept(app: &mut TestApp) {
        let (agent, helper, intent) = at_work(app).await;
        fail(&helper, intent, json!({"error_code": "E1"})).await;
        set_policy(&agent, intent, json!({"strategy": "none"})).await;
        fail(&helper, intent, json!({"error_code": "E1"})).await;
        set_policy(&agent, intent, json!({})).await;
        app.operator().post(&format!("{INTENTS}/{intent}/failures"), json!({"error_code": "E1", "agent_id": "helper"})).await.ok();
        app.advance(60).await;
        assert_eq!(told(&agent, intent).await, Vec::<Value>::new());
        // An agent with another name cannot report in the name of this one either.
        let stranger = of(app, "stranger").await;
        let refused = stranger.post(&format!("{INTENTS}/{intent}/failures"), json!({"agent_id": "helper"})).await;
        assert_eq!(refused.problem(), (404, "not_found"));
    }

    /// Each agent has a count and a time of its own: a failure of one takes no retry from another.
    async fn each_agent_has_retries_of_its_own(app: &mut TestApp) {
        let (agent, helper, intent) = at_work(app).await;
        assign(&agent, intent, "third").await;
        let third = of(app, "third").await;
        set_policy(&agent, intent, json!({"failure_threshold": 2, "fallback_agent_id": "second"})).await;
        fail(&helper, intent, json!({"error_code": "E1"})).await;
        app.advance(5).await;
        fail(&third, intent, json!({"error_code": "E2"})).await;
        app.restart().await;
        let agent = app.agent();
        app.advance(5).await;
        let scheduled = [json!(["scheduled", "helper", 1]), json!(["scheduled", "third", 1])];
        assert_eq!(told(&agent, intent).await, [&scheduled[..], &[json!(["started", "helper", 1])]].concat());
        app.advance(5).await;
        assert_eq!(told(&agent, intent).await[3..], [json!(["started", "third", 1])]);
    }

    /// A policy that is set again as it is, as an agent does at each start, changes nothing; another one begins anew.
    async fn the_same_policy_again_keeps_the_count(app: &mut TestApp) {
        let (agent, helper, intent) = at_work(app).await;
        for number in 1..=3 {
            set_policy(&agent, intent, json!({})).await;
            fail(&helper, intent, json!({"error_code": "E1"})).await;
            set_policy(&agent, intent, json!({})).await;
            app.advance(10).await;
            assert_eq!(told(&agent, intent).await.last().unwrap(), &json!(["started", "helper", number]));
        }
        set_policy(&agent, intent, json!({})).await;
        fail(&helper, intent, json!({"error_code": "E1"})).await;
        assert_eq!(told(&agent, intent).await.last().unwrap(), &json!(["exhausted", "helper", "retries"]));
        // An agent that is assigned anew begins anew as well.
        agent.send(agent.request("DELETE", &format!("{INTENTS}/{intent}/agents/helper"))).await;
        assign(&agent, intent, "helper").await;
        fail(&helper, intent, json!({"error_code": "E1"})).await;
        assert_eq!(told(&agent, intent).await.last().unwrap(), &json!(["scheduled", "helper", 1]));
        // Its assignment tells it to begin, so the attempt that was due is not told as well.
        agent.send(agent.request("DELETE", &format!("{INTENTS}/{intent}/agents/helper"))).await;
        assign(&agent, intent, "helper").await;
        let before = told(&agent, intent).await.len();
        app.advance(60).await;
        assert_eq!(told(&agent, intent).await.len(), before);
    }

    /// An agent that takes over does so once a person has answered, whatever else fails meanwhile, and not at all if the intent ends.
    async fn a_takeover_waits_for_a_person_and_is_not_lost(app: &mut TestApp) {
        for ends in [false, true] {
            let (agent, helper, intent) = at_work(app).await;
            assign(&agent, intent, "third").await;
            let third = of(app, &format!("third-{ends}")).await;
            assign(&agent, intent, &format!("third-{ends}")).await;
            set_policy(&agent, intent, json!({"fallback_agent_id": "second"})).await;
            let asked = agent.asked(intent).await;
            fail(&helper, intent, json!({"recoverable": false})).await;
            fail(&helper, intent, json!({"error_code": "E1"})).await;
            fail(&third, intent, json!({"recoverable": false})).await;
            app.advance(60).await;
            app.restart().await;
            let agent = app.agent();
            app.advance(60).await;
            let waiting = told(&agent, intent).await;
            assert_eq!(waiting, [json!(["exhausted", "helper", "not_recoverable"]), json!(["exhausted", format!("third-{ends}"), "not_recoverable"])]);
            if ends {
                set_status(&agent, intent, "abandoned").await;
            } else {
                app.operator().respond(intent, &asked, "approve").await.ok();
            }
            app.advance(60).await;
            let after = told(&agent, intent).await[2..].to_vec();
            assert_eq!(after, if ends { Vec::new() } else { vec![json!(["handed_over", "helper", "second"])] });
        }
    }

    /// An agent is told under the name of its assignment, by whichever of its names it reports the failure.
    async fn an_agent_is_told_under_the_name_of_its_assignment(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        for name in ["helper", "part/a"] {
            assign(&agent, intent, name).await;
        }
        set_policy(&agent, intent, json!({"base_delay_ms": 0})).await;
        for (key, acts_as, told_as) in [("helper", "helper/b", "helper"), ("part", "part", "part/a"), ("part", "part/a", "part/a")] {
            let api = of(app, key).await;
            let path = format!("{INTENTS}/{intent}/failures");
            api.send(api.request("POST", &path).header("x-agent-id", acts_as).json(&json!({"error_code": "E1"}))).await.ok();
            app.advance(0).await;
            let said = told(&agent, intent).await.last().unwrap().clone();
            assert_eq!((&said[0], &said[1]), (&json!("started"), &json!(told_as)), "{acts_as}");
        }
        fail(&agent, intent, json!({"error_code": "E1"})).await;
        assert_eq!(told(&agent, intent).await.last().unwrap(), &json!(["scheduled", "test-agent", 1]));
    }

    /// A takeover is due at once, also after an event that was written while the clock was ahead.
    async fn a_takeover_does_not_wait_for_a_clock_that_was_ahead(app: &mut TestApp) {
        let (agent, helper, intent) = at_work(app).await;
        set_policy(&agent, intent, json!({"strategy": "none", "fallback_agent_id": "second"})).await;
        app.clock.set_by(TimeDelta::days(1));
        fail(&agent, intent, json!({"error_code": "ahead", "recoverable": true, "agent_id": "test-agent"})).await;
        app.clock.set_by(-TimeDelta::days(1));
        set_policy(&agent, intent, json!({"strategy": "none", "fallback_agent_id": "third"})).await;
        fail(&helper, intent, json!({"error_code": "E1"})).await;
        app.restart().await;
        app.advance(120).await;
        assert_eq!(told(&app.agent(), intent).await.last().unwrap(), &json!(["handed_over", "helper", "third"]));
    }

    /// To name a fallback agent is to assign one, so the rules of assignments hold: no agent gives access by a failure.
    async fn only_an_agent_that_may_assign_names_a_fallback_agent(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let (writer, leader) = (of(app, "writer").await, of(app, "leader").await);
        let ends = rfc3339(app.clock.now() + TimeDelta::hours(1));
        let entries = format!("{INTENTS}/{intent}/acl/entries");
        agent.post(&entries, json!({"principal_id": "writer", "permission": "write"})).await.ok();
        agent.post(&entries, json!({"principal_id": "leader", "permission": "admin", "expires_at": ends})).await.ok();
        let path = format!("{INTENTS}/{intent}/retry-policy");
        let with = |fallback: &str| json!({"strategy": "none", "fallback_agent_id": fallback});
        let before = agent.everything(intent).await;
        for (who, api) in [("a write entry", &writer), ("an admin entry that ends", &leader), ("an operator", &app.operator()), ("an admin", &app.api(Role::Admin))] {
            assert_eq!(put(api, &path, &with("writer/x")).await.problem(), (403, "forbidden"), "{who}");
        }
        for (fallback, rule) in [("", "length"), ("second\u{200b}", "characters"), ("placet", "reserved"), (&*"x".repeat(201), "length")] {
            assert_eq!(put(&agent, &path, &with(fallback)).await.field_problem(), (422, "invalid", "fallback_agent_id", rule), "{fallback}");
        }
        assert_eq!(agent.everything(intent).await, before);
        put(&writer, &path, &json!({"strategy": "fixed"})).await.ok();
        // An agent with an entry alone works on nothing that could be handed back to it.
        fail(&writer, intent, json!({"error_code": "E1"})).await;
        assert_eq!(told(&agent, intent).await, Vec::<Value>::new());
        let set = put(&agent, &path, &with(" second ")).await.ok();
        assert_eq!(set["fallback_agent_id"], "second");
        fail(&agent, intent, json!({"error_code": "E1"})).await;
        app.advance(0).await;
        let taken_off = agent.send(agent.request("DELETE", &format!("{INTENTS}/{intent}/agents/second"))).await;
        assert_eq!(taken_off.status, 200, "{}", taken_off.text);
    }

    /// An agent that is assigned already keeps its part and its data when it takes over.
    async fn a_fallback_agent_that_is_assigned_already_keeps_its_part(app: &mut TestApp) {
        let (agent, helper, intent) = at_work(app).await;
        let body = json!({"event_type": "agent_assigned", "payload": {"agent_id": "second", "payload": {"invoice": 7}}});
        agent.post(&format!("{INTENTS}/{intent}/events"), body).await.ok();
        agent.post(&format!("{INTENTS}/{intent}/agents"), json!({"agent_id": "second", "role": "reviewer"})).await.ok();
        set_policy(&agent, intent, json!({"strategy": "none", "fallback_agent_id": "second"})).await;
        fail(&helper, intent, json!({"error_message": "no answer"})).await;
        app.advance(0).await;
        let events = agent.events(intent).await;
        let assigned = events.iter().rfind(|event| event["event_type"] == "agent_assigned").unwrap();
        let (role, payload) = (&assigned["payload"]["role"], &assigned["payload"]["payload"]);
        assert_eq!((role, payload), (&json!("reviewer"), &json!({"invoice": 7, "last_error": "no answer"})));
        assert_eq!(assigned["payload"].get("delegated_by"), None);
    }

    /// The time that an agent names is kept to the second.
    async fn a_named_time_is_the_time(app: &mut TestApp) {
        let (agent, helper, intent) = at_work(app).await;
        set_policy(&agent, intent, json!({})).await;
        fail(&helper, intent, json!({"retry_scheduled_at": naive(app, 90)})).await;
        app.advance(89).await;
        assert_eq!(told(&agent, intent).await.len(), 1);
        app.advance(1).await;
        assert_eq!(told(&agent, intent).await.last().unwrap(), &json!(["started", "helper", 1]));
    }
}
