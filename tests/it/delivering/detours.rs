//! An endpoint may take longer than a message can wait. People are then asked by another channel if the escalation ladder
//! names one; otherwise the message keeps waiting.

#![expect(clippy::unwrap_used, reason = "these functions serve tests alone")]

use std::sync::Mutex;

use chrono::TimeDelta;
use domain::base::clock::Clock;
use domain::base::ids::IntentId;
use domain::people::principal::Role;
use domain::suspension::channel::{EMAIL, Reach};
use harness::app::{Backend, TestApp};
use harness::receiver::{Receiver, add, webhook};
use serde_json::{Value, json};
use store::{DeliveryResult, Gate, Lane, Leased, LeasedDelivery, LinePlace, Turn};

const STORES: [Backend; 2] = [Backend::Sqlite, Backend::Postgres];

/// A server with mails and one webhook, which is its default channel. The test itself does the work of the delivery loop.
struct Desk {
    app: TestApp,
    _receiver: Receiver,
    intents: Vec<IntentId>,
    /// The position in the queue that the loop remembers from turn to turn.
    line: Mutex<Option<LinePlace>>,
}

impl Desk {
    async fn on(backend: Backend) -> Self {
        let receiver = Receiver::start().await;
        let change = |config: &mut _| add(config, vec![(webhook("pager", &receiver), Reach::People)], &["pager"]);
        let app = TestApp::start_on(backend, change).await;
        Self { app, _receiver: receiver, intents: Vec::new(), line: Mutex::default() }
    }

    /// Asks this many people by the pager. After `interval` seconds the second attempt follows, as `rung`, the step of the
    /// escalation ladder, says.
    async fn ask(&mut self, people: usize, interval: u32, rung: Value) -> (IntentId, String) {
        let agent = self.app.agent();
        let intent = agent.active_intent().await;
        self.intents.push(intent);
        let people: Vec<String> = (0..people).map(|n| format!("p{n}@example.com")).collect();
        let policy = json!({"max_attempts": 2, "interval_seconds": interval, "escalation_ladder": [rung]});
        let change = json!({"notify_to": people, "retry_policy": policy, "timeout_seconds": 3_600});
        (intent, agent.suspend(intent, change).await.ok()["id"].as_str().unwrap().to_owned())
    }

    /// One turn of the loop, in which the pager is in the state `gate` and the mails are not sent.
    async fn turn(&self, gate: Gate) -> Leased {
        let reached = *self.line.lock().unwrap();
        let lane = |channel: &str, gate| Lane { channel: channel.to_owned(), gate, line: reached };
        let turn = Turn { lanes: vec![lane("pager", gate), lane(EMAIL, Gate::Room(0))], shared_room: 64 };
        let leased = self.app.store().lease_deliveries(turn).await.unwrap();
        if let Some((_, place)) = leased.lines.first() {
            *self.line.lock().unwrap() = *place;
        }
        leased
    }

    /// A turn in which the endpoint is busy, so no message is sent. Returns the number of messages that were given up.
    async fn busy(&self) -> usize {
        let leased = self.turn(Gate::SharedRoom(0)).await;
        assert!(leased.deliveries.is_empty());
        assert_eq!(leased.turned_away.iter().map(|(_, messages)| *messages).sum::<usize>(), leased.untried);
        leased.untried
    }

    async fn complete(&self, delivery: &LeasedDelivery, result: DeliveryResult) {
        assert!(self.app.store().complete_delivery(delivery.rid, delivery.lease, result).await.unwrap());
    }

    /// The messages about a question, as the operator sees them.
    async fn seen(&self, id: &str) -> Vec<Value> {
        let listed = self.app.operator().get(&format!("api/v1/suspensions/{id}/deliveries")).await.ok();
        listed["deliveries"].as_array().unwrap().clone()
    }

    async fn states(&self, id: &str) -> Vec<Value> {
        self.seen(id).await.into_iter().map(|message| message["state"].clone()).collect()
    }

    /// Ends all questions, so that people do not get thousands of messages.
    async fn finish(self) {
        let agent = self.app.agent();
        for intent in self.intents {
            let version = agent.intent(intent).await["version"].to_string();
            agent.post_at(&format!("api/v1/intents/{intent}/status"), &version, json!({"status": "abandoned"})).await.ok();
        }
        self.app.finish().await;
    }
}

fn by_mail() -> Value {
    json!({"attempt": 2, "notify_to": "lead@example.com", "channel_hint": EMAIL})
}

fn by_pager() -> Value {
    json!({"attempt": 2, "notify_to": "lead@example.com"})
}

fn deferred() -> DeliveryResult {
    DeliveryResult::Retry { reason: "status 500".to_owned(), after: None }
}

/// A message behind a thousand others for one endpoint would come too late. So it is given up, and the person of the next step
/// of the ladder is asked by another channel now.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_behind_a_thousand_for_an_endpoint_is_asked_by_another_way() {
    for backend in STORES {
        let mut desk = Desk::on(backend).await;
        for _ in 0..50 {
            desk.ask(20, 3_600, by_mail()).await;
        }
        assert_eq!(desk.busy().await, 0, "a thousand have room");
        let (_, lucky) = desk.ask(1, 3_600, by_mail()).await;
        let leased = desk.turn(Gate::SharedRoom(1)).await;
        assert_eq!((leased.deliveries.len(), leased.untried), (1, 0), "what leaves at once takes no room");
        assert_eq!((desk.busy().await, desk.states(&lucky).await), (0, vec![json!("queued")]));

        let (intent, id) = desk.ask(1, 3_600, by_mail()).await;
        assert_eq!((desk.busy().await, desk.busy().await), (1, 0));
        let [lost, mail] = desk.seen(&id).await.try_into().unwrap();
        assert_eq!((&lost["state"], &lost["tries"]), (&json!("failed"), &json!(0)));
        assert_eq!(lost["detail"], json!("too many messages wait for this endpoint"));
        assert_eq!((&mail["state"], &mail["recipient"]), (&json!("queued"), &json!("lead@example.com")));
        assert!(desk.app.agent().event_types(intent).await.contains(&"delivery.failover".to_owned()));
        let scraped = desk.app.api(Role::Auditor).get("metrics").await.text;
        assert!(scraped.contains("placet_delivery_queue_full_total 1\n"), "{scraped}");
        desk.finish().await;
    }
}

/// Two servers look at the same queue at the same moment. Together they give up exactly the messages beyond the limit of a
/// thousand, and none within it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_turn_away_no_more_than_one_would() {
    let mut desk = Desk::on(Backend::Postgres).await;
    for _ in 0..50 {
        desk.ask(20, 3_600, by_mail()).await;
    }
    for _ in 0..3 {
        desk.ask(1, 3_600, by_mail()).await;
    }
    let rival = desk.app.scratch().unwrap().rival().await;
    // The other server has locked the three newest messages, because it is about to give them up.
    rival
        .sql("BEGIN; SELECT FROM outbox WHERE rid IN (SELECT rid FROM outbox ORDER BY rid DESC LIMIT 3) FOR NO KEY UPDATE")
        .await;
    assert_eq!(desk.busy().await, 0);
    rival.sql("ROLLBACK").await;
    assert_eq!((desk.busy().await, desk.busy().await), (3, 0));
    desk.finish().await;
}

/// Only due messages count toward the thousand that may be due for one endpoint. A message that a newer one replaces does not
/// count, and neither does one that waits for another try.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_replaced_or_not_due_takes_no_room() {
    for backend in STORES {
        let mut desk = Desk::on(backend).await;
        desk.ask(20, 600, json!({"attempt": 2, "channel_hint": "pager"})).await;
        for _ in 0..49 {
            desk.ask(20, 3_600, by_mail()).await;
        }
        desk.app.clock.jump(TimeDelta::seconds(600));
        desk.app.deadlines().run_due().await.unwrap();
        assert_eq!(desk.busy().await, 0, "1,020 are due, and 20 of them are replaced");
        assert_eq!(desk.turn(Gate::SharedRoom(16)).await.untried, 16, "the replaced ones are the oldest");
        let leased = desk.turn(Gate::SharedRoom(16)).await;
        assert_eq!((leased.untried, leased.deliveries.len()), (4, 12));
        for delivery in &leased.deliveries {
            desk.complete(delivery, deferred()).await;
        }
        desk.ask(12, 3_600, by_mail()).await;
        assert_eq!(desk.busy().await, 0, "a thousand are due, and twelve wait for another try");
        let (_, id) = desk.ask(1, 3_600, by_mail()).await;
        assert_eq!((desk.busy().await, desk.states(&id).await), (1, vec![json!("failed"), json!("queued")]));
        desk.finish().await;
    }
}

/// Late is better than never: a message stays queued if no other channel can ask instead, however many messages wait before
/// it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_has_no_other_way_keeps_waiting() {
    for backend in STORES {
        let mut desk = Desk::on(backend).await;
        let mut last = String::new();
        for _ in 0..51 {
            last = desk.ask(20, 3_600, by_pager()).await.1;
        }
        assert_eq!((desk.busy().await, desk.states(&last).await), (0, vec![json!("queued"); 20]));
        // A message whose ladder names another channel is still given up.
        let (_, id) = desk.ask(1, 3_600, by_mail()).await;
        assert_eq!((desk.busy().await, desk.states(&id).await), (1, vec![json!("failed"), json!("queued")]));
        assert_eq!((desk.busy().await, desk.states(&last).await), (0, vec![json!("queued"); 20]));
        desk.finish().await;
    }
}

/// The newest messages in the queue have no other channel, so they stay queued. However many they are, they must not hide an
/// older message that has another channel and must be given up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_has_no_other_way_hides_nobody_who_has_one() {
    for backend in STORES {
        let mut desk = Desk::on(backend).await;
        for _ in 0..50 {
            desk.ask(20, 3_600, by_pager()).await;
        }
        let mut hidden = vec![desk.ask(1, 3_600, by_mail()).await.1];
        for _ in 0..3 {
            desk.ask(20, 3_600, by_pager()).await;
        }
        hidden.push(desk.ask(1, 3_600, by_mail()).await.1);
        desk.ask(20, 3_600, by_pager()).await;
        let mut turned_away = 0;
        for _ in 0..6 {
            turned_away += desk.busy().await;
        }
        assert_eq!(turned_away, 2, "82 messages are beyond the limit; each turn reads the newest 16 and 16 older ones");
        for id in hidden {
            assert_eq!(desk.states(&id).await, ["failed", "queued"]);
        }
        // Each turn looks at the newest messages too, so it finds a message that is added now.
        let (_, late) = desk.ask(1, 3_600, by_mail()).await;
        assert_eq!((desk.busy().await, desk.states(&late).await), (1, vec![json!("failed"), json!("queued")]));
        desk.finish().await;
    }
}

/// A message that waits for another try at a closed endpoint waits in vain. It is given up at once: otherwise the people who are
/// asked instead would be asked only after that try.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_for_another_try_at_a_closed_endpoint_holds_nobody_up() {
    for backend in STORES {
        let mut desk = Desk::on(backend).await;
        let (intent, id) = desk.ask(3, 3_600, by_mail()).await;
        let (_, alone) = desk.ask(1, 3_600, by_mail()).await;
        let leased = desk.turn(Gate::SharedRoom(3)).await;
        let [busy, deferred_one, _] = &*leased.deliveries else { panic!("{} are due", leased.deliveries.len()) };
        desk.complete(deferred_one, deferred()).await;
        desk.complete(&leased.deliveries[2], deferred()).await;

        // One message of the first question is under way and may still arrive. The other question has only a message that waits,
        // so its next person is asked.
        let closed = || Gate::Closed("the endpoint is gone".to_owned());
        assert_eq!(desk.turn(closed()).await.untried, 3);
        assert_eq!(desk.states(&alone).await, ["failed", "queued"]);
        let mut states = desk.states(&id).await;
        states.sort_by_key(ToString::to_string);
        assert_eq!(states, ["failed", "failed", "sending"]);
        desk.complete(busy, deferred()).await; // It waits for seconds; the channel is closed for good.
        assert_eq!(desk.turn(closed()).await.untried, 1, "before it is due");
        assert!(desk.app.agent().event_types(intent).await.contains(&"delivery.failover".to_owned()));
        assert_eq!(desk.turn(closed()).await.untried, 0);
        desk.app.settle().await;
        assert_eq!(desk.app.smtp.received().len(), 2, "both leads are asked");
        desk.finish().await;
    }
}

/// The people of the next step of the escalation ladder are asked only when all messages of the attempt have failed. So if a
/// message is given up because its endpoint is paused for too long, the attempt's other messages to that endpoint are given up
/// with it, even one whose next try is not due yet. While one of them is being sent, nothing is given up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_goes_around_an_endpoint_takes_the_others_of_the_attempt_along() {
    for backend in STORES {
        let mut desk = Desk::on(backend).await;
        let (intent, id) = desk.ask(2, 60, by_mail()).await;
        for delivery in &desk.turn(Gate::SharedRoom(2)).await.deliveries {
            desk.complete(delivery, deferred()).await;
        }
        desk.app.clock.jump(TimeDelta::seconds(6));
        let leased = desk.turn(Gate::SharedRoom(1)).await;
        let [again] = &*leased.deliveries else { panic!("{} are due", leased.deliveries.len()) };

        // The message under way may get through, so the other message of the attempt stays queued, and is due when the pause
        // ends.
        let wait = TimeDelta::seconds(30);
        assert_eq!(desk.turn(Gate::Paused(wait)).await.untried, 1);
        let mut states = desk.states(&id).await;
        states.sort_by_key(ToString::to_string);
        assert_eq!(states, ["queued", "sending"]);
        let waiting = desk.seen(&id).await.into_iter().find(|message| message["state"] == json!("queued")).unwrap();
        let until = desk.app.clock.now() + wait;
        assert_eq!(waiting["due_at"].as_str().unwrap().parse::<chrono::DateTime<chrono::Utc>>().unwrap(), until);

        desk.complete(again, deferred()).await; // It waits for five minutes.
        desk.app.clock.jump(wait);
        assert_eq!(desk.turn(Gate::Paused(wait)).await.untried, 2, "both, and once");
        assert_eq!(desk.states(&id).await, ["failed", "failed", "queued"]);
        let events = desk.app.agent().events(intent).await;
        let failovers: Vec<&Value> = events.iter().filter(|event| event["event_type"] == "delivery.failover").collect();
        assert_eq!(failovers.len(), 1);
        assert_eq!(failovers[0]["payload"]["unreachable"], json!(["p0@example.com", "p1@example.com"]));
        assert_eq!(failovers[0]["payload"]["notify_to"], json!(["lead@example.com"]));
        desk.app.settle().await;
        assert_eq!(desk.app.smtp.next_mail().await.to, ["lead@example.com"]);
        desk.finish().await;
    }
}

/// Two workers learn at the same moment that the last two messages of an attempt have failed. If each believed that the
/// other's message was still under way, the people of the next step would not be asked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_messages_lost_at_the_same_time_the_later_one_wakes_the_next_rung() {
    for backend in STORES {
        let mut desk = Desk::on(backend).await;
        for _ in 0..20 {
            let (intent, _) = desk.ask(2, 3_600, by_mail()).await;
            let leased = desk.turn(Gate::SharedRoom(2)).await;
            let [one, other] = &*leased.deliveries else { panic!("{} are due", leased.deliveries.len()) };
            let refused = || DeliveryResult::Failed("status 410".to_owned());
            tokio::join!(desk.complete(one, refused()), desk.complete(other, refused()));
            let types = desk.app.agent().event_types(intent).await;
            assert_eq!(types.iter().filter(|event| *event == "delivery.failover").count(), 1, "{types:?}");
        }
        desk.finish().await;
    }
}

/// A turn of the delivery loop takes the state of each endpoint from before its transaction. If an admin sends a failed
/// message again in between, the message must not fail because of that old state, and must not wait for a whole pause.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_sent_again_is_not_given_up_by_a_turn_from_before() {
    for backend in STORES {
        let mut desk = Desk::on(backend).await;
        let (_, id) = desk.ask(1, 1_200, by_mail()).await;
        let gone = || Gate::Closed("status 410: the endpoint says it is gone".to_owned());
        desk.turn(gone()).await;
        assert_eq!(desk.states(&id).await, ["failed", "queued"]);
        let failed = desk.seen(&id).await[0].clone();
        assert_eq!(failed["settled_at"], json!("2026-11-24T08:00:00.000000Z"));
        let path = format!("api/v1/deliveries/{}/redrive", failed["id"].as_str().unwrap());
        let redrive = async || desk.app.api(Role::Admin).post(&path, json!({})).await.ok();
        for (stale, due_at) in [(gone(), "08:00:10"), (Gate::Paused(TimeDelta::seconds(900)), "08:00:20")] {
            let again = redrive().await;
            assert_eq!((&again["state"], &again["settled_at"]), (&json!("queued"), &Value::Null));
            assert_eq!(desk.turn(stale).await.untried, 1);
            assert_eq!(desk.seen(&id).await[0]["due_at"], json!(format!("2026-11-24T{due_at}.000000Z")));
            desk.app.clock.jump(TimeDelta::seconds(10));
            let leased = desk.turn(Gate::SharedRoom(4)).await.deliveries.remove(0);
            desk.complete(&leased, DeliveryResult::Failed("status 410".into())).await;
        }
        // For ten seconds after the admin sends it again, the message only waits; by then every server has learnt of it. Then
        // it fails, because an endpoint that is gone takes no message.
        redrive().await;
        assert_eq!([desk.turn(gone()).await.untried, desk.turn(gone()).await.untried], [1, 0]);
        assert_eq!(desk.states(&id).await[0], json!("queued"));
        desk.app.clock.jump(TimeDelta::seconds(10));
        assert_eq!(desk.turn(gone()).await.untried, 1);
        assert_eq!(desk.states(&id).await[0], json!("failed"));
        desk.finish().await;
    }
}
