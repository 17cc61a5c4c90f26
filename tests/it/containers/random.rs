//! Random graphs under many agents and people at once: whatever they do, the rules about waiting hold.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use std::collections::{BTreeMap, BTreeSet};

use domain::base::ids::IntentId;
use futures_util::future::join_all;
use harness::api::Api;
use harness::app::TestApp;
use harness::on_each_store;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use serde_json::{Value, json};

const INTENTS: usize = 24;
const WORKERS: u64 = 6;
const STEPS: usize = 40;
const SEEDS: [u64; 2] = [7, 25];

/// One of the agents and people that work on the graph.
struct Worker {
    random: ChaCha8Rng,
    agent: Api,
    operator: Api,
    intents: Vec<IntentId>,
}

impl Worker {
    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.random.next_u64() % u64::try_from(bound).unwrap()).unwrap()
    }

    fn intent(&mut self) -> IntentId {
        let place = self.below(self.intents.len());
        self.intents[place]
    }

    /// Does something to an intent. A refusal is as good as an effect; a failure of the server is not.
    async fn step(&mut self) {
        let (intent, other) = (self.intent(), self.intent());
        let path = format!("api/v1/intents/{intent}");
        let shown = self.agent.intent(intent).await;
        let version = shown["version"].to_string();
        let status = |status: &str| json!({"status": status, "reason": "random"});
        let reply = match self.below(12) {
            0..=3 => self.agent.post_at(&format!("{path}/dependencies"), &version, json!({"dependency_id": other})).await,
            4 => {
                let dependency =
                    shown["depends_on"].as_array().unwrap().first().and_then(Value::as_str).unwrap_or("none").to_owned();
                let by = if self.below(2) == 0 { &self.agent } else { &self.operator };
                let remove = by.request("DELETE", &format!("{path}/dependencies/{dependency}")).header("if-match", version);
                by.send(remove).await
            }
            5 => self.agent.suspend(intent, json!({})).await,
            6 => {
                let id = shown["state"]["_suspension"]["id"].as_str().unwrap_or_default().to_owned();
                self.operator.respond(intent, &id, "approve").await
            }
            7 | 8 => self.agent.post_at(&format!("{path}/status"), &version, status("completed")).await,
            9 => self.agent.post_at(&format!("{path}/status"), &version, status("blocked")).await,
            10 => self.agent.post_at(&format!("{path}/status"), &version, status("active")).await,
            _ => {
                let body = json!({"title": "part", "status": "active", "depends_on": [other]});
                self.agent.post(&format!("{path}/children"), body).await
            }
        };
        assert!(reply.status < 500, "{}", reply.text);
    }
}

/// Checks each intent against the others, and against its own log.
async fn check(api: &Api) {
    let listed = api.get("api/v1/intents?limit=1000").await.ok();
    let all: BTreeMap<String, Value> =
        listed["intents"].as_array().unwrap().iter().map(|one| (one["id"].as_str().unwrap().to_owned(), one.clone())).collect();
    let ids = |value: &Value| -> BTreeSet<String> { serde_json::from_value(value.clone()).unwrap() };
    let mut needs: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (id, intent) in &all {
        let depends_on = ids(&intent["depends_on"]);
        let unmet: BTreeSet<String> = depends_on.iter().filter(|needed| all[*needed]["status"] != "completed").cloned().collect();
        assert_eq!(ids(&intent["blocked_by"]), unmet, "{intent}");
        assert!(intent["status"] != "active" || unmet.is_empty(), "it is active and waits: {intent}");
        let waits = intent["blocked_reason"] == "dependencies";
        assert_eq!(waits, intent["status"] == "blocked" && !unmet.is_empty(), "{intent}");
        assert_eq!(waiting_by_its_log(api, id).await, unmet, "{intent}");
        needs.entry(id).or_default().extend(depends_on);
        if let Some(parent) = intent["parent_id"].as_str() {
            needs.entry(all.get_key_value(parent).unwrap().0).or_default().insert(id.clone());
        }
    }
    assert_no_circle(&needs);
}

/// The dependencies that are not completed, as the intent's own log has them.
async fn waiting_by_its_log(api: &Api, id: &str) -> BTreeSet<String> {
    let log = api.get(&format!("api/v1/intents/{id}/events?include=all&limit=1000")).await.ok();
    let mut waiting = BTreeSet::new();
    for event in log.as_array().unwrap().iter().rev() {
        let payload = &event["payload"];
        let needed = payload["dependency_id"].as_str().unwrap_or_default().to_owned();
        match event["event_type"].as_str().unwrap() {
            "dependency_added" if payload["completed"] == false => assert!(waiting.insert(needed), "{event}"),
            "dependency_removed" if payload["completed"] == false => assert!(waiting.remove(&needed), "{event}"),
            "intent.dependency_completed" => assert!(waiting.remove(&needed), "{event}"),
            "status_changed" => {
                let runs = payload["new_status"] == "active" || payload["new_status"] == "suspended_awaiting_input";
                assert!(!runs || waiting.is_empty(), "it ran while it waited: {event}");
            }
            _ => {}
        }
    }
    waiting
}

fn assert_no_circle(needs: &BTreeMap<&str, BTreeSet<String>>) {
    let mut left: BTreeMap<&str, BTreeSet<String>> = needs.clone();
    while !left.is_empty() {
        let free: Vec<&str> =
            left.iter().filter(|(_, needs)| needs.iter().all(|one| !left.contains_key(&**one))).map(|(id, _)| *id).collect();
        assert!(!free.is_empty(), "these wait for each other: {left:?}");
        left.retain(|id, _| !free.contains(id));
    }
}

async fn work(app: &TestApp, other: Option<&str>, seed: u64) {
    let made = join_all((0..INTENTS).map(async |_| app.agent().active_intent().await)).await;
    let worker = |number: u64| {
        // Where two servers can share a database, half of the workers use the other one.
        let base = other.filter(|_| number.is_multiple_of(2)).unwrap_or(&app.base).to_owned();
        let (agent, operator) = (Api::new(&base, Some(app.agent().key())), Api::new(&base, Some(app.operator().key())));
        let random = ChaCha8Rng::seed_from_u64(seed * 1_000 + number);
        Worker { random, agent, operator, intents: made.clone() }
    };
    join_all((0..WORKERS).map(async |number| {
        let mut worker = worker(number);
        for _ in 0..STEPS {
            worker.step().await;
        }
    }))
    .await;
    app.settle().await;
    check(&app.agent()).await;
}

on_each_store! {
    /// No intent runs while it waits, each waits exactly for the dependencies that are not completed, and no circle is closed, whatever
    /// six workers do at the same time; on PostgreSQL through two servers.
    async fn the_rules_hold_whatever_many_do_at_once(app: &mut TestApp) {
        let replica = if app.scratch().is_some() { Some(app.replica().await) } else { None };
        for seed in SEEDS {
            work(app, replica.as_ref().map(|replica| &*replica.base), seed).await;
        }
        if let Some(replica) = replica {
            replica.stop().await;
        }
        app.restart().await;
        app.settle().await;
        check(&app.agent()).await;
    }
}
