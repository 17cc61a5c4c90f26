//! The OpenIntent client acts by its own clock when its window is over: the decision on record must be the one on which it acts.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use chrono::{DateTime, TimeDelta, Utc};
use domain::base::clock::Clock as _;
use domain::base::ids::IntentId;
use domain::base::time::naive;
use harness::api::Api;
use harness::app::TestApp;
use harness::on_each_store;
use serde_json::{Value, json};

/// How often a run is made, each with other times.
const RUNS: u64 = 40;
/// The client's pause between two reads of its intent, in milliseconds.
const POLL: i64 = 2_000;

/// A small random number generator, which draws the same runs every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        i64::try_from((self.0 >> 33) % below).unwrap()
    }
}

/// One agent, its network and its person; all times in milliseconds.
struct Run {
    /// How far the agent's clock is ahead of the server's.
    ahead: i64,
    /// From the client's reading of its clock until the server has the status.
    before_status: i64,
    /// The longest time of one read of the intent: the request and its reply together.
    look: u64,
    window: i64,
    attempts: i64,
    /// When a person answers, counted from the record.
    answers_after: Option<i64>,
}

/// The value on which the agent acts; `None` if the question was taken back.
type Acted = Option<Value>;

struct Client<'a> {
    app: &'a TestApp,
    agent: Api,
    person: Api,
    intent: IntentId,
    run: &'a Run,
    dice: &'a mut Dice,
    answers_at: Option<DateTime<Utc>>,
}

impl Client<'_> {
    fn now(&self) -> DateTime<Utc> {
        self.app.clock.now() + TimeDelta::milliseconds(self.run.ahead)
    }

    /// Lets time pass; a person answers in between.
    async fn pass(&mut self, millis: i64) {
        let until = self.app.clock.now() + TimeDelta::milliseconds(millis);
        if let Some(at) = self.answers_at.take_if(|at| *at <= until) {
            self.app.clock.jump((at - self.app.clock.now()).max(TimeDelta::zero()));
            // The answer may come too late; then it does not count.
            self.person.respond(self.intent, "susp", "approve").await;
        }
        self.app.clock.jump(until - self.app.clock.now());
    }

    async fn asks(&mut self) -> DateTime<Utc> {
        let (path, now) = (format!("api/v1/intents/{}", self.intent), self.now());
        let expires_at = now + TimeDelta::milliseconds(self.run.window);
        let seconds = self.run.window / 1000;
        let mut record = json!({
            "id": "susp", "question": "Go?", "response_type": "choice", "choices": [{"value": "approve", "label": "Yes"}, {"value": "deny", "label": "No"}],
            "context": {}, "suspended_at": naive(now), "expires_at": naive(expires_at), "fallback_policy": "complete_with_fallback", "fallback_value": "deny",
        });
        if self.run.attempts > 1 {
            record["retry_policy"] = json!({
                "max_attempts": self.run.attempts, "interval_seconds": seconds / self.run.attempts, "final_fallback_policy": "complete_with_fallback",
            });
        } else {
            record["timeout_seconds"] = json!(seconds);
        }
        self.pass(self.run.before_status).await;
        self.agent.post_at(&format!("{path}/status"), "1", json!({"status": "suspended_awaiting_input"})).await.ok();
        let until_record = self.dice.roll(900);
        self.pass(until_record).await;
        let patches = json!({"patches": [{"op": "set", "path": "_suspension", "value": record}]});
        self.agent.post_at(&format!("{path}/state"), "2", patches).await.ok();
        self.app.settle().await;
        self.answers_at = self.run.answers_after.map(|after| self.app.clock.now() + TimeDelta::milliseconds(after));
        expires_at
    }

    /// The loop of `request_input`.
    async fn acts(&mut self) -> Acted {
        let expires_at = self.asks().await;
        let interval = TimeDelta::milliseconds(self.run.window / self.run.attempts);
        let (mut attempt, mut next) = (1, expires_at - TimeDelta::milliseconds(self.run.window) + interval);
        loop {
            self.pass(POLL).await;
            let (there, back) = (self.dice.roll(self.run.look / 2), self.dice.roll(self.run.look / 2));
            self.pass(there).await;
            // The timers of a busy server are late.
            if self.dice.roll(3) > 0 {
                self.app.settle().await;
            }
            let reply = self.agent.get(&format!("api/v1/intents/{}", self.intent)).await;
            self.pass(back).await;
            if reply.status != 200 {
                continue;
            }
            let shown = &reply.body["state"]["_suspension"];
            match shown["resolution"].as_str() {
                Some("responded") => return Some(shown["response"].clone()),
                Some("expired") => return Some(json!("deny")),
                Some(_) => return None,
                None => {}
            }
            if self.run.attempts > 1 && self.now() >= next {
                if attempt == self.run.attempts {
                    return Some(json!("deny"));
                }
                (attempt, next) = (attempt + 1, self.now() + interval);
            }
            if self.run.attempts == 1 && self.now() > expires_at {
                return Some(json!("deny"));
            }
        }
    }
}

/// The value on which the agent acts, and the one on record.
async fn both(app: &TestApp, name: &str, run: &Run, dice: &mut Dice) -> (Acted, Acted) {
    let (agent, person) = (Api::new(&app.base, Some(&app.new_client_key(name).await)), app.operator());
    let intent = agent.active_intent().await;
    let mut client = Client { app, agent, person, intent, run, dice, answers_at: None };
    let acted = client.acts().await;
    client.pass(run.window).await;
    app.settle().await;
    let record = client.agent.intent(intent).await["state"]["_suspension"].clone();
    (acted, Some(record["response"].clone()).filter(|value| !value.is_null()))
}

on_each_store! {
    /// Clocks are ahead and behind, networks are slow, there is one attempt or several, and answers come just before and just
    /// after the end. As long as `before_status` and `look` together stay below the guard of two seconds, the agent acts on the
    /// decision on record.
    async fn the_agent_acts_on_the_decision_on_record(app: &mut TestApp) {
        let mut dice = Dice(7);
        let mut answered = 0;
        for number in 0..RUNS {
            let attempts = 1 + dice.roll(3);
            let window = (10 + dice.roll(20)) / attempts * attempts * 1000;
            let run = Run {
                ahead: (dice.roll(3) - 1) * dice.roll(86_400_000),
                before_status: dice.roll(1_000),
                look: 1_000,
                window: window.max(12_000),
                attempts,
                answers_after: (dice.roll(4) > 0).then(|| window - 5_000 + dice.roll(6_000)),
            };
            let (acted, recorded) = both(app, &format!("python-{number}"), &run, &mut dice).await;
            assert_eq!(acted, recorded, "run {number}: {} ms of {} attempts", run.window, run.attempts);
            answered += i32::from(recorded == Some(json!("approve")));
        }
        assert!((5..=30).contains(&answered), "{answered} of {RUNS} runs were answered: both ends must be tried");
    }

    /// If `before_status` and `look` together exceed the guard, the agent may act before the server's deadline, and the server
    /// cannot prevent it (docs/openintent-python.md). If the agent changes its intent in the last minute before that deadline,
    /// the log gets the event `intent.asker_went_on`.
    async fn beyond_the_guard_the_two_may_differ(app: &mut TestApp) {
        let run = Run { ahead: 0, before_status: 6_000, look: 10, window: 20_000, attempts: 1, answers_after: Some(17_500) };
        let (acted, recorded) = both(app, "python", &run, &mut Dice(1)).await;
        assert_eq!((acted, recorded), (Some(json!("deny")), Some(json!("approve"))));
        let (agent, other) = (Api::new(&app.base, Some(&app.new_client_key("late").await)), app.agent());
        let permissive = |seconds: u32| json!({"timeout_seconds": seconds, "fallback_policy": "complete_with_fallback", "fallback_value": "deny"});
        // The server's deadline is two seconds before the window's end: the first question has 60 seconds left, and the second
        // 61. A change by the asker is a sign of its fallback only if at most 60 seconds are left.
        let cases = [
            (&agent, Some(permissive(62)), true), (&agent, Some(permissive(63)), false), (&agent, Some(json!({"timeout_seconds": 62})), false),
            (&agent, None, false), (&other, Some(permissive(20)), false),
        ];
        for (asker, question, is_sign) in cases {
            let intent = asker.active_intent().await;
            if let Some(question) = &question {
                asker.suspend(intent, question.clone()).await.ok();
            }
            let patches = json!({"patches": [{"op": "set", "path": "decision", "value": "deny"}]});
            let version = asker.intent(intent).await["version"].to_string();
            asker.post_at(&format!("api/v1/intents/{intent}/state"), &version, patches).await.ok();
            let expected = if is_sign { "intent.asker_went_on" } else { "state_patched" };
            assert_eq!(asker.event_types(intent).await.last().map(String::as_str), Some(expected), "{question:?}");
        }
        app.settle().await;
    }
}
