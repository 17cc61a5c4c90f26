//! Random graphs and portfolios under many agents and people at once, while deadlines pass: whatever they do, the rules about waiting
//! hold.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, TimeDelta, Utc};
use domain::base::clock::Clock as _;
use domain::base::ids::IntentId;
use domain::base::time::{parse, rfc3339};
use futures_util::future::join_all;
use harness::api::{Api, Reply};
use harness::app::TestApp;
use harness::on_each_store;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use serde_json::{Value, json};

const INTENTS: usize = 24;
const PORTFOLIOS: usize = 4;
const WORKERS: u64 = 6;
const STEPS: usize = 40;
const SEEDS: [u64; 2] = [7, 25];

/// One of the agents and people that work on the graph.
struct Worker<'a> {
    app: &'a TestApp,
    random: ChaCha8Rng,
    agent: Api,
    operator: Api,
    intents: Vec<IntentId>,
    portfolios: Vec<String>,
}

impl Worker<'_> {
    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.random.next_u64() % u64::try_from(bound).unwrap()).unwrap()
    }

    fn intent(&mut self) -> IntentId {
        let place = self.below(self.intents.len());
        self.intents[place]
    }

    fn portfolio(&mut self) -> String {
        let place = self.below(self.portfolios.len());
        format!("api/v1/portfolios/{}", self.portfolios[place])
    }

    /// Moves the deadline of a portfolio, or lets time pass.
    async fn move_time(&mut self) -> Reply {
        let portfolio = self.portfolio();
        let seconds = i64::try_from(self.below(60)).unwrap();
        if seconds % 2 == 0 {
            self.app.advance(seconds).await;
            return self.agent.get(&portfolio).await;
        }
        let deadline = rfc3339(self.app.clock.now() + TimeDelta::seconds(seconds));
        let change = json!({"governance_policy": {"deadline": deadline}});
        self.agent.send(self.agent.request("PATCH", &portfolio).json(&change)).await
    }

    /// Does something to an intent at random. The server may refuse it, but must not fail with a status of 500 or more.
    async fn step(&mut self) {
        let (intent, other) = (self.intent(), self.intent());
        let path = format!("api/v1/intents/{intent}");
        let shown = self.agent.intent(intent).await;
        let version = shown["version"].to_string();
        let status = |status: &str| json!({"status": status, "reason": "random"});
        let reply = match self.below(16) {
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
            11 | 12 => {
                let portfolio = self.portfolio();
                self.agent.post(&format!("{portfolio}/intents"), json!({"intent_id": intent})).await
            }
            13 => {
                let portfolio = self.portfolio();
                self.agent.send(self.agent.request("DELETE", &format!("{portfolio}/intents/{intent}"))).await
            }
            14 => self.move_time().await,
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

/// The deadline of a portfolio between two moments: the first moment, the second one, and the deadline, which is `None` while the
/// portfolio had none.
type InForce = (DateTime<Utc>, DateTime<Utc>, Option<DateTime<Utc>>);

async fn deadlines(api: &Api, portfolio: &str) -> Vec<InForce> {
    let log = api.get(&format!("api/v1/portfolios/{portfolio}/events")).await.ok();
    let at = |value: &Value| value.as_str().and_then(parse);
    let changes = log.as_array().unwrap().iter().filter(|event| event["payload"].get("governance_policy").is_some());
    let changes: Vec<_> = changes
        .map(|event| (at(&event["created_at"]).unwrap(), at(&event["payload"]["governance_policy"]["deadline"])))
        .collect();
    let ends = changes.iter().skip(1).map(|(from, _)| *from).chain([DateTime::<Utc>::MAX_UTC]);
    changes.iter().zip(ends).map(|((from, deadline), to)| (*from, to, *deadline)).collect()
}

/// Checks the portfolios against their intents, and the logs of the intents against the deadlines. An ending that names a
/// portfolio must not come before the deadline of that portfolio. From the deadline on no answer counts, and no question is open.
async fn check_portfolios(api: &Api, portfolios: &[String], now: DateTime<Utc>) {
    let mut had = BTreeMap::new();
    for portfolio in portfolios {
        had.insert(portfolio.clone(), deadlines(api, portfolio).await);
        let shown = api.get(&format!("api/v1/portfolios/{portfolio}")).await.ok();
        let mut counted: BTreeMap<&str, u64> = BTreeMap::new();
        let passed = shown["governance"]["deadline"].as_str().and_then(parse).is_some_and(|deadline| deadline <= now);
        for member in shown["intents"].as_array().unwrap() {
            let status = member["status"].as_str().unwrap();
            *counted.entry(status).or_default() += 1;
            assert!(!passed || status != "suspended_awaiting_input", "{member} waits behind the deadline of {shown}");
        }
        for (status, count) in shown["aggregate_status"]["by_status"].as_object().unwrap() {
            assert_eq!(*count, json!(counted.get(&**status).copied().unwrap_or_default()), "{shown}");
        }
    }
    let listed = api.get("api/v1/intents?limit=1000").await.ok();
    for intent in listed["intents"].as_array().unwrap() {
        check_endings(api, intent["id"].as_str().unwrap(), &had).await;
    }
}

/// Checks the log of one intent: every question has one ending at most, by a moment at which the deadlines of its portfolios allow it.
async fn check_endings(api: &Api, id: &str, had: &BTreeMap<String, Vec<InForce>>) {
    let log = api.get(&format!("api/v1/intents/{id}/events?include=all&limit=1000")).await.ok();
    let (mut member_of, mut ended) = (BTreeSet::new(), BTreeSet::new());
    for event in log.as_array().unwrap().iter().rev() {
        let (payload, at) = (&event["payload"], parse(event["created_at"].as_str().unwrap()).unwrap());
        let portfolio = payload["portfolio_id"].as_str().unwrap_or_default().to_owned();
        // The deadlines of a portfolio that may have been in force then; several, if one was moved at the very moment.
        let in_force = |portfolio: &String| {
            had[portfolio]
                .iter()
                .filter(|(from, to, _)| *from <= at && at <= *to)
                .map(|(.., deadline)| *deadline)
                .collect::<Vec<_>>()
        };
        let is_over =
            |portfolio: &String| in_force(portfolio).iter().all(|deadline| deadline.is_some_and(|deadline| deadline <= at));
        match event["event_type"].as_str().unwrap() {
            "added_to_portfolio" => drop(member_of.insert(portfolio)),
            "removed_from_portfolio" => drop(member_of.remove(&portfolio)),
            "intent.resumed" => {
                assert!(ended.insert(payload["suspension_id"].to_string()), "{event}");
                assert!(!member_of.iter().any(is_over), "an answer counted after the deadline of a portfolio: {event}");
            }
            "intent.suspension_expired" => {
                assert!(ended.insert(payload["suspension_id"].to_string()), "{event}");
                let named = in_force(&portfolio).contains(&payload["portfolio_deadline"].as_str().and_then(parse));
                assert!(member_of.contains(&portfolio) && named && is_over(&portfolio), "{event}");
            }
            "intent.suspension_cancelled" => assert!(ended.insert(payload["suspension_id"].to_string()), "{event}"),
            _ => {}
        }
    }
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

/// Lets workers do random things. `before` are the portfolios that earlier workers used; the intents of these workers are checked again.
/// Returns them and the new ones.
async fn work(app: &TestApp, other: Option<&str>, seed: u64, before: Vec<String>) -> Vec<String> {
    let made = join_all((0..INTENTS).map(async |_| app.agent().active_intent().await)).await;
    let portfolio =
        async |_| app.agent().post("api/v1/portfolios", json!({"name": "random"})).await.ok()["id"].as_str().unwrap().to_owned();
    let portfolios = join_all((0..PORTFOLIOS).map(portfolio)).await;
    let worker = |number: u64| {
        // Where two servers can share a database, half of the workers use the other one.
        let base = other.filter(|_| number.is_multiple_of(2)).unwrap_or(&app.base).to_owned();
        let (agent, operator) = (Api::new(&base, Some(app.agent().key())), Api::new(&base, Some(app.operator().key())));
        let random = ChaCha8Rng::seed_from_u64(seed * 1_000 + number);
        Worker { app, random, agent, operator, intents: made.clone(), portfolios: portfolios.clone() }
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
    let portfolios = [before, portfolios].concat();
    check_portfolios(&app.operator(), &portfolios, app.clock.now()).await;
    portfolios
}

on_each_store! {
    /// No intent runs while it waits, each waits exactly for the dependencies that are not completed, no circle is closed, and a portfolio
    /// ends each question once, whatever six workers do at the same time; on PostgreSQL through two servers.
    async fn the_rules_hold_whatever_many_do_at_once(app: &mut TestApp) {
        let replica = if app.scratch().is_some() { Some(app.replica().await) } else { None };
        let mut portfolios = Vec::new();
        for seed in SEEDS {
            portfolios = work(app, replica.as_ref().map(|replica| &*replica.base), seed, portfolios).await;
        }
        if let Some(replica) = replica {
            replica.stop().await;
        }
        app.restart().await;
        app.settle().await;
        check(&app.agent()).await;
        check_portfolios(&app.operator(), &portfolios, app.clock.now()).await;
    }
}
