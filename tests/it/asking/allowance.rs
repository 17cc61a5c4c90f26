//! How much an agent may write, and the space on the disk that is kept for people.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::log::Sealed;
use domain::people::principal::Role;
use harness::api::Api;
use harness::app::TestApp;
use harness::on_each_store;
use harness::smtp::Fault;
use serde_json::{Value, json};

/// The time from the start of the tests' clock until midnight, in seconds.
const REST_OF_THE_DAY: i64 = 16 * 3_600;

/// The bytes of the agent's allowance that the events of an intent use: the bytes of each event (of the first event twice), and
/// 512 more for each.
async fn counted(app: &TestApp, intent: domain::base::ids::IntentId) -> u64 {
    let events = app.agent().events(intent).await;
    let of_the_agent = |event: &&Value| event["actor"] == "test-agent" || event["actor"] == "placet";
    let bytes = events.iter().filter(of_the_agent).map(|event| {
        let copies = if event["event_type"] == "intent_created" { 2 } else { 1 };
        copies * Sealed::from_served(event).unwrap().bytes.len() + 512
    });
    bytes.sum::<usize>() as u64
}

fn intent() -> Value {
    json!({"title": "Refund order 12345", "status": "active"})
}

on_each_store! {
    /// One agent in a loop must not fill the disk on which people's answers are stored. Its count is a row, so a restart does not
    /// reset it.
    async fn an_agent_writes_so_much_in_a_day_and_no_more(app: &mut TestApp) {
        let (asked, id) = app.ask(json!({})).await;
        let (withdrawn, other) = app.ask(json!({})).await;
        let spent = counted(app, asked).await + counted(app, withdrawn).await;
        let agent = app.agent();
        app.restart_with(|config| config.limits.agent_bytes_per_day = spent).await;
        let refused = agent.post("api/v1/intents", intent()).await;
        assert_eq!(refused.problem(), (429, "bytes_spent"), "{}", refused.text);
        assert_eq!(refused.headers["retry-after"], REST_OF_THE_DAY.to_string());
        assert!(refused.text.contains("in a day"), "{}", refused.text);
        let ours = agent.suspend(asked, json!({})).await;
        assert_eq!((ours.problem(), &ours.headers["content-type"]), ((429, "bytes_spent"), &"application/problem+json".parse().unwrap()));
        assert_eq!(agent.post_at(&format!("api/v1/intents/{asked}/state"), "2", json!({"state": {"k": 1}})).await.problem().0, 429);
        assert_eq!(agent.post(&format!("api/v1/intents/{asked}/events"), json!({"event_type": "comment"})).await.problem().0, 429);
        app.restart().await;
        assert_eq!(agent.post("api/v1/intents", intent()).await.problem(), (429, "bytes_spent"), "also after a restart");
        // Another agent has an allowance of its own, and a request that ends a question is never refused.
        let second = Api::new(&app.base, Some(&app.new_key(Role::Agent, "second-agent").await));
        second.post("api/v1/intents", intent()).await.ok();
        agent.post(&format!("api/v1/suspensions/{other}/cancel"), json!({})).await.ok();
        assert_eq!(agent.status(withdrawn).await, "active");
        app.operator().respond(asked, &id, "approve").await.ok();
        app.advance(REST_OF_THE_DAY).await;
        agent.post("api/v1/intents", intent()).await.ok();
    }

    /// The bound is exact: a request is refused once the counted bytes have reached the bound, and is accepted while one byte
    /// is left.
    async fn the_bound_of_a_day_is_what_was_counted(app: &mut TestApp) {
        let (asked, _) = app.ask(json!({})).await;
        let spent = counted(app, asked).await;
        for (bytes_per_day, status) in [(spent, 429), (spent + 1, 200)] {
            app.restart_with(|config| config.limits.agent_bytes_per_day = bytes_per_day).await;
            assert_eq!(app.agent().post("api/v1/intents", intent()).await.status, status, "{bytes_per_day}");
        }
    }

    /// An agent that did not get the reply sends the same request with the same key again. The write was done before the agent
    /// reached its bound, so the repeat is not refused.
    async fn a_repeat_is_shown_what_was_written_before_the_bound(app: &mut TestApp) {
        let agent = app.agent();
        let first = agent.post_once("api/v1/intents", "key", intent()).await.ok();
        app.restart_with(|config| config.limits.agent_bytes_per_day = 1).await;
        assert_eq!(agent.post_once("api/v1/intents", "key", intent()).await.ok()["id"], first["id"]);
        assert_eq!(agent.post_once("api/v1/intents", "other", intent()).await.problem(), (429, "bytes_spent"));
    }
}

/// Sending a message again causes more writes, so it is refused when the disk is nearly full. A report of returned mail is not
/// refused: it ends a message and lets the server ask the next people.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn below_the_reserve_no_message_is_sent_again_and_returned_mail_is_reported() {
    let mut app = TestApp::start().await;
    app.smtp.script(Fault::RejectRecipient);
    let (intent, _) = app.ask(json!({})).await;
    let failed = app.api(Role::Admin).get("api/v1/deliveries").await.ok()["deliveries"][0]["id"].as_str().unwrap().to_owned();
    app.ask(json!({})).await;
    let token = app.smtp.received().pop().unwrap().header("x-placet-delivery").unwrap();
    let before = app.agent().everything(intent).await;
    let redrive = format!("api/v1/deliveries/{failed}/redrive");

    app.restart_with(|config| config.limits.reserve_bytes = u64::MAX).await;
    assert_eq!(app.api(Role::Admin).post_once(&redrive, "k1", json!({})).await.problem(), (507, "no_room"));
    assert_eq!(app.agent().everything(intent).await, before, "nothing was written");
    let report = json!({"returned_to": token, "kind": "hard", "detail": "550 5.1.1 no such mailbox"});
    let reported = app.api(Role::Channel).post("api/v1/deliveries/bounces", report).await.ok();
    assert_eq!(reported["state"], "bounced");

    app.restart_with(|config| config.limits.reserve_bytes = 1).await;
    let again = app.api(Role::Admin).post_once(&redrive, "k1", json!({})).await.ok();
    assert_eq!((&again["id"], &again["state"]), (&json!(failed), &json!("queued")));
    app.settle().await;
    app.finish().await;
}

/// When the disk is nearly full, agents are refused and people can still answer. An agent can try again later, but a decision of
/// a person who is refused may be lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn below_the_reserve_people_answer_and_agents_wait() {
    let mut app = TestApp::start().await;
    let agent = app.agent();
    let policy = json!({"max_attempts": 2, "interval_seconds": 600});
    let (by_link, _) = app.ask(json!({})).await;
    let link = app.smtp.received().pop().unwrap().link(&app.base);
    let (by_key, second) = app.ask(json!({})).await;
    let (withdrawn, third) = app.ask(json!({})).await;
    let (silent, _) =
        app.ask(json!({"timeout_seconds": 60, "fallback_policy": "complete_with_fallback", "fallback_value": "deny"})).await;
    app.ask(json!({"retry_policy": policy, "timeout_seconds": 600})).await;
    let approval = agent.post(&format!("api/v1/intents/{silent}/approvals"), json!({"action": "pay"})).await.ok();
    let escalation = agent.post(&format!("api/v1/intents/{silent}/escalations"), json!({"reason": "unclear"})).await.ok();
    app.settle().await;
    let sent = app.smtp.received().len();

    app.restart_with(|config| config.limits.reserve_bytes = u64::MAX).await;
    for refused in [
        agent.post("api/v1/intents", intent()).await,
        agent.suspend(by_link, json!({})).await,
        agent.post(&format!("api/v1/intents/{by_link}/events"), json!({"event_type": "comment"})).await,
        agent.post(&format!("api/v1/intents/{by_link}/leases"), json!({"scope": "s"})).await,
        app.operator().post(&format!("api/v1/suspensions/{second}/remind"), json!({})).await,
    ] {
        assert_eq!(refused.problem(), (507, "no_room"), "{}", refused.text);
    }
    assert_eq!(app.person().answer(&link, "approve").await.heading(), "Your answer was recorded");
    app.operator().respond(by_key, &second, "deny").await.ok();
    let approve = format!("api/v1/intents/{silent}/approvals/{}/approve", approval["id"].as_str().unwrap());
    app.operator().post(&approve, json!({})).await.ok();
    let resolve = format!("api/v1/escalations/{}/resolve", escalation["id"].as_str().unwrap());
    app.operator().post(&resolve, json!({"resolution": "go on"})).await.ok();
    agent.post(&format!("api/v1/suspensions/{third}/cancel"), json!({})).await.ok();
    app.advance(600).await;
    for (intent, status) in [(by_link, "active"), (by_key, "active"), (withdrawn, "active"), (silent, "active")] {
        assert_eq!(agent.status(intent).await, status);
    }
    assert_eq!(app.smtp.received().len(), sent, "nobody is asked meanwhile");

    app.restart_with(|config| config.limits.reserve_bytes = 1).await;
    agent.post("api/v1/intents", intent()).await.ok();
    app.advance(60).await;
    assert_eq!(app.smtp.received().len(), sent + 1, "the attempt that was due is made up");
    app.finish().await;
}
