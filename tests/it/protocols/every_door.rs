//! Every door is the same: a question that is asked through one and answered through another leaves the same events.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use std::collections::BTreeMap;

use domain::base::ids::IntentId;
use domain::people::principal::Role;
use harness::api::Api;
use harness::app::TestApp;
use harness::on_each_store;
use harness::person::Person;
use serde_json::{Value, json};
use verify::report::Verdict;
use verify::{Options, Watchers};

use super::{Rpc, says};
use crate::people::logins::{ADA, list, log_in};

/// The doors by which an agent asks.
const ASKS: [&str; 3] = ["api", "openintent", "a2a"];
/// The doors by which a person answers.
const ANSWERS: [&str; 5] = ["link", "page", "api", "openintent", "a2a"];
/// Members that differ between two questions, whichever doors they use.
const OWN: [&str; 6] = ["action_digest", "delivery_id", "id", "intent_id", "presented_hash", "suspension_id"];
/// Members that name the door, or the credential that was shown at it.
const OF_THE_DOOR: [&str; 4] = ["assurance", "credential", "errand", "via"];

/// Asks a yes or a no through a door; returns the intent.
async fn ask(agent: &Api, door: &str, number: usize) -> IntentId {
    if door == "a2a" {
        let data = json!({"question": "Now?", "responseType": "confirm", "timeoutSeconds": 3600, "notifyTo": [ADA]});
        let task = Rpc(agent).asks(&format!("m-{number}"), json!([{"data": data}])).await;
        return task["id"].as_str().unwrap().parse().unwrap();
    }
    let intent = agent.active_intent().await;
    let body = json!({"question": "Now?", "response_type": "confirm", "timeout_seconds": 3600, "notify_to": [ADA]});
    let prefix = if door == "api" { "api/v1/" } else { "" };
    agent.post(&format!("{prefix}intents/{intent}/suspend"), body).await.ok();
    intent
}

/// Answers yes through a door, as Ada.
async fn answer(app: &TestApp, (key, ada): (&Api, &mut Person), door: &str, (intent, id): (IntentId, &str), link: &str) {
    let body = json!({"suspension_id": id, "value": "yes"});
    match door {
        "link" => drop(app.person().answer(link, "yes").await),
        "page" => drop(ada.answer(&format!("{}questions/{id}", app.base), "yes").await),
        "a2a" => drop(
            Rpc(key)
                .result("SendMessage", says(&intent.to_string(), &format!("a-{id}"), &json!([{"data": {"value": "yes"}}])))
                .await,
        ),
        _ => {
            let prefix = if door == "api" { "api/v1/" } else { "" };
            key.post(&format!("{prefix}intents/{intent}/suspend/respond"), body).await.ok();
        }
    }
}

/// The events of an intent without what belongs to this question, its doors and their credentials.
fn plain(events: &[Value]) -> Vec<Value> {
    let plain = |event: &Value| {
        let mut payload = event["payload"].clone();
        for member in OWN.iter().chain(&OF_THE_DOOR) {
            payload.as_object_mut().unwrap().remove(*member);
        }
        json!([event["event_type"], event["actor"], payload])
    };
    events.iter().map(plain).collect()
}

fn find<'a>(events: &'a [Value], event_type: &str) -> &'a Value {
    events.iter().find(|event| event["event_type"] == event_type).unwrap()
}

on_each_store! {
    /// An auditor reads one log, whichever program asked and however the person answered; and the verifier replays each decision.
    async fn whichever_door_is_used_the_log_says_the_same(app: &mut TestApp) {
        list(app, ADA, Role::Operator).await;
        let mut ada = log_in(app, ADA).await;
        let (agent, key) = (app.agent(), Api::new(&app.base, Some(&app.new_key(Role::Operator, ADA).await)));
        let mut endings: BTreeMap<&str, Value> = BTreeMap::new();
        for asked in ASKS {
            let mut first: Option<Vec<Value>> = None;
            for (number, answered) in ANSWERS.into_iter().enumerate() {
                let intent = ask(&agent, asked, number).await;
                app.settle().await;
                let link = app.next_link().await;
                let listed = key.get("api/v1/suspensions?limit=1").await.ok();
                let id = listed["suspensions"][0]["id"].as_str().unwrap().to_owned();
                answer(app, (&key, &mut ada), answered, (intent, &id), &link).await;
                let events = agent.events(intent).await;
                let resumed = find(&events, "intent.resumed");
                assert_eq!(resumed["payload"]["via"], answered, "{asked}, {answered}");
                let errand = find(&events, "intent.suspended")["payload"]["errand"]["via"].clone();
                assert_eq!(errand, if asked == "a2a" { json!("a2a") } else { json!(null) });
                let plain = plain(&events);
                let ending = json!(plain.iter().find(|event| event[0] == "intent.resumed"));
                assert_eq!(first.get_or_insert_with(|| plain.clone()), &plain, "asked by {asked}, answered by {answered}");
                assert_eq!(endings.entry("resumed").or_insert_with(|| ending.clone()), &ending, "asked by {asked}, answered by {answered}");
            }
        }
        app.checkpoints().turn().await.unwrap();
        let export = app.api(Role::Auditor).get("api/v1/export?").await;
        let options = Options::with_keys(vec![app.checkpoints().key().unwrap().verifying().clone()]);
        let report = verify::verify("export", export.text.as_bytes(), &options, Watchers::default());
        assert_eq!(report.verdict, Verdict::Verified, "{:?}", report.findings);
        assert!(report.decisions >= (ASKS.len() * ANSWERS.len()) as u64, "{}", report.decisions);
    }
}
