//! However many ends come at once, through whichever doors and servers: one of them has an effect, and the others are told so in the words of
//! their protocol.
//!
//! `PLACET_WINNERS` asks for more rounds: 10,000 take a few minutes for each database.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use std::collections::BTreeMap;

use chrono::TimeDelta;
use domain::base::ids::IntentId;
use domain::people::principal::Role;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use harness::api::{Api, Reply};
use harness::app::{Replica, TestApp};
use harness::on_each_store;
use harness::wish::wished;
use reqwest::RequestBuilder;
use serde_json::{Value, json};

use super::pausing::id_of;

/// The rounds, unless a variable asks for others.
const ROUNDS: usize = 24;
/// The events that end a question or a stop. One that no person was told of has another one before that of its end, and counts once.
const ENDINGS: [&str; 5] =
    ["intent.resumed", "intent.suspension_cancelled", "intent.suspension_expired", "lifecycle.closed", "lifecycle.resumed"];
/// The refusals of our own API to those who lost.
const LOST: [&str; 5] = ["already_resolved", "expired", "not_active", "not_suspended", "invalid_transition"];
/// The refusals of A2A to those who lost: the suspension has ended, the task has, the task cannot be cancelled any more.
const LOST_BY_A2A: [i64; 3] = [-32012, -32004, -32002];
/// The time of the deadlines.
const MINUTE: i64 = 60;

/// One who tries to end something: the name of the way, and whether it was told that it did.
type Try = BoxFuture<'static, (&'static str, bool)>;

/// The servers: one, or two on a database that allows two.
struct Servers<'a> {
    app: &'a TestApp,
    other: Option<Replica>,
    /// Another person's program beside the usual one.
    second: Api,
}

impl Servers<'_> {
    /// The same caller at one of the servers.
    fn at(&self, number: usize, api: &Api) -> Api {
        match &self.other {
            Some(other) if number % 2 == 1 => other.api(api),
            _ => api.clone(),
        }
    }

    /// The deadlines of both servers.
    async fn deadlines(&self) {
        let other = async {
            if let Some(other) = &self.other {
                other.deadlines.run_due().await.unwrap();
            }
        };
        let own = async { self.app.deadlines().run_due().await.map(|_| ()).unwrap() };
        futures_util::join!(own, other);
    }

    /// Sometimes the deadline has come before the others act, sometimes it comes among them, and sometimes it does not come.
    async fn time(&self, round: usize) {
        if round % 3 == 2 {
            self.app.clock.jump(TimeDelta::seconds(MINUTE));
        }
        self.deadlines().await;
    }
}

/// Sends a request again while the server is too busy for it: the server has done nothing then.
async fn admitted(api: &Api, request: RequestBuilder) -> Reply {
    loop {
        let reply = api.send(request.try_clone().unwrap()).await;
        let (_, code) = reply.problem();
        if code != "overloaded" && reply.body["error"]["data"][0]["reason"] != "overloaded" {
            return reply;
        }
    }
}

/// One who uses our own API.
fn by_api(way: &'static str, api: Api, path: &str, body: &Value) -> Try {
    let request = api.request("POST", path).json(body);
    async move {
        let reply = admitted(&api, request).await;
        (way, has_won(way, &reply))
    }
    .boxed()
}

fn answered(api: Api, intent: IntentId, id: &str, value: &str) -> Try {
    let body = json!({"suspension_id": id, "value": value});
    by_api("answer", api, &format!("api/v1/intents/{intent}/suspend/respond"), &body)
}

/// Whether the reply of our own API tells of a win; else it must tell of a loss.
fn has_won(way: &str, reply: &Reply) -> bool {
    let (status, code) = reply.problem();
    assert!(status == 200 || status == 409 && LOST.contains(&code), "{way}: {reply:?}");
    status == 200
}

/// One who uses A2A over JSON-RPC.
fn by_a2a(way: &'static str, api: Api, method: &'static str, params: Value) -> Try {
    async move {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let reply = admitted(&api, api.request("POST", "a2a").header("a2a-version", "1.0").json(&call)).await;
        let code = reply.body["error"]["code"].as_i64();
        assert!(code.is_none_or(|code| LOST_BY_A2A.contains(&code)), "{way}: {reply:?}");
        (way, code.is_none())
    }
    .boxed()
}

/// An event that wakes those who wait for it; a waker loses by waking none.
fn by_event(api: Api, name: &str) -> Try {
    let body = json!({"name": name, "payload": {"of": name}});
    async move {
        let woken = admitted(&api, api.request("POST", "api/v1/events").json(&body)).await.ok();
        ("condition", woken == json!({"woken": 1}))
    }
    .boxed()
}

fn close(api: Api, intent: IntentId, version: String) -> Try {
    let body = json!({"status": "abandoned"});
    let path = format!("api/v1/intents/{intent}/status");
    async move {
        let reply = admitted(&api, api.request("POST", &path).header("if-match", version).json(&body)).await;
        // The intent may have changed since its version was read; that is a loss as well.
        let is_lost = reply.problem() == (409, "version_conflict");
        ("close", !is_lost && has_won("close", &reply))
    }
    .boxed()
}

/// Lets a round come to its end, and counts who won; the deadline wins where no caller did.
async fn race(servers: &Servers<'_>, round: usize, intent: IntentId, tries: Vec<Try>, wins: &mut BTreeMap<&'static str, usize>) {
    if round % 3 == 1 {
        servers.app.clock.jump(TimeDelta::seconds(MINUTE));
    }
    let (results, ()) = futures_util::join!(join_all(tries), servers.time(round));
    let agent = servers.app.agent();
    let won: Vec<&str> = results.into_iter().filter(|(_, won)| *won).map(|(way, _)| way).collect();
    assert!(won.len() <= 1, "round {round}: {won:?} all won");
    let events = agent.event_types(intent).await;
    let ends = events.iter().filter(|event| ENDINGS.contains(&event.as_str())).count();
    assert_eq!(ends, 1, "round {round}, won by {won:?}: {events:?}");
    *wins.entry(won.first().copied().unwrap_or("deadline")).or_default() += 1;
}

/// A parked intent: resumed by two, woken by two, closed, and out of time.
async fn of_a_stop(servers: &Servers<'_>, round: usize, wins: &mut BTreeMap<&'static str, usize>) {
    let (agent, operator) = (servers.app.agent(), servers.app.operator());
    let intent = agent.active_intent().await;
    let name = format!("round.{round}");
    let on_timeout = ["fail", "resume_with_summary", "resume_with_input"][round / 3 % 3];
    let conditions = json!({"on_event": name, "timeout": {"duration_minutes": 1, "on_timeout": on_timeout}});
    let body = json!({"reason": "r", "conditions": conditions});
    let id = id_of(&agent.post(&format!("api/v1/intents/{intent}/park"), body).await.ok());
    let version = agent.intent(intent).await["version"].to_string();
    let path = format!("api/v1/suspensions/{id}/resume");
    let at = |number: usize, api: &Api| servers.at(round + number, api);
    let mut tries = vec![
        by_api("resume", at(0, &operator), &path, &json!({})),
        by_api("resume", at(1, &agent), &path, &json!({})),
        by_event(at(1, &operator), &name),
        by_event(at(0, &servers.app.api(Role::Channel)), &name),
        close(at(1, &agent), intent, version),
    ];
    tries.rotate_left(round % 5);
    race(servers, round, intent, tries, wins).await;
}

/// A question on an intent of the agent's own: answered by our API and by A2A, withdrawn, its intent closed, and out of time.
async fn of_a_question(servers: &Servers<'_>, round: usize, wins: &mut BTreeMap<&'static str, usize>) {
    let (agent, operator, second) = (servers.app.agent(), servers.app.operator(), servers.second.clone());
    let (intent, id) = agent.ask(json!({"timeout_seconds": MINUTE})).await;
    let version = agent.intent(intent).await["version"].to_string();
    let at = |number: usize, api: &Api| servers.at(round + number, api);
    let answer = json!([{"data": {"value": "approve", "suspensionId": id}}]);
    let message = json!({"messageId": format!("m-{round}"), "role": "ROLE_USER", "taskId": intent, "parts": answer});
    let path = format!("api/v1/suspensions/{id}/cancel");
    let mut tries = vec![
        answered(at(0, &operator), intent, &id, "deny"),
        by_a2a("answer by A2A", at(1, &second), "SendMessage", json!({"message": message})),
        by_api("cancel", at(0, &agent), &path, &json!({})),
        close(at(1, &agent), intent, version),
    ];
    tries.rotate_left(round % 4);
    race(servers, round, intent, tries, wins).await;
}

/// A question that was asked by A2A: its task is answered by both doors, cancelled by A2A, and out of time.
async fn of_a_task(servers: &Servers<'_>, round: usize, wins: &mut BTreeMap<&'static str, usize>) {
    let (agent, operator, second) = (servers.app.agent(), servers.app.operator(), servers.second.clone());
    let data = json!([{"data": {"question": "Now?", "responseType": "confirm", "timeoutSeconds": MINUTE}}]);
    let message = json!({"message": {"messageId": format!("t-{round}"), "role": "ROLE_USER", "parts": data}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": message});
    let task = agent.send(agent.request("POST", "a2a").header("a2a-version", "1.0").json(&call)).await.ok();
    let intent: IntentId = task["result"]["task"]["id"].as_str().unwrap().parse().unwrap();
    let listed = operator.get("api/v1/suspensions?limit=1").await.ok();
    let id = id_of(&listed["suspensions"][0]);
    let at = |number: usize, api: &Api| servers.at(round + number, api);
    let says = |message: &str, value: &str| {
        let parts = json!([{"data": {"value": value, "suspensionId": id}}]);
        json!({"message": {"messageId": format!("{message}-{round}"), "role": "ROLE_USER", "taskId": intent, "parts": parts}})
    };
    let mut tries = vec![
        answered(at(0, &operator), intent, &id, "no"),
        by_a2a("answer by A2A", at(1, &second), "SendMessage", says("a", "yes")),
        by_a2a("answer by A2A", at(0, &operator), "SendMessage", says("b", "no")),
        by_a2a("cancel by A2A", at(1, &agent), "CancelTask", json!({"id": intent})),
    ];
    tries.rotate_left(round % 4);
    race(servers, round, intent, tries, wins).await;
}

on_each_store! {
    /// One decision counts, whatever comes at the same moment: an answer, a resumption, a condition, the deadline, a withdrawal or the end of
    /// the intent.
    async fn of_all_ends_that_come_at_once_one_wins(app: &mut TestApp) {
        let other = if app.scratch().is_some() { Some(app.replica().await) } else { None };
        let second = Api::new(&app.base, Some(&app.new_key(Role::Operator, "second").await));
        let servers = Servers { app, other, second };
        let (rounds, mut wins) = (wished("PLACET_WINNERS", ROUNDS), BTreeMap::new());
        for round in 0..rounds {
            match round % 4 {
                0 | 1 => of_a_stop(&servers, round / 4 * 2 + round % 4, &mut wins).await,
                2 => of_a_question(&servers, round / 4, &mut wins).await,
                _ => of_a_task(&servers, round / 4, &mut wins).await,
            }
        }
        println!("{rounds} rounds: {wins:?}");
        assert!(wins.len() > 2, "the race was no race: {wins:?}");
        if let Some(other) = servers.other {
            other.stop().await;
        }
    }
}
