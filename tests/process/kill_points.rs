//! A crash at each point where it could lose or repeat something: the process ends there, another one starts, and every promise
//! holds. (`kill.rs` kills at random moments; this test finds the narrow ones.)

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::{Duration, Instant};

use domain::base::ids::IntentId;
use harness::api::{Api, Reply};
use harness::process::{PATIENCE, Running, Site};
use harness::receiver::{Receiver, SECRET};
use harness::smtp::{Received, SmtpSink};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::sleep;

/// The signal by which `abort` ends a process.
const SIGABRT: i32 = 6;
/// So many questions that the server needs more than one batch to extend their deadlines after an outage.
const QUESTIONS: usize = 70;
/// Requests sent at once, so that some share a commit.
const TOGETHER: usize = 24;
/// Requests sent before the server is to die.
const BEFORE: usize = 8;

/// A server that will die at a point, with its clients.
pub(super) struct Doomed {
    pub(super) site: Site,
    smtp: SmtpSink,
    pub(super) agent: Api,
    pub(super) reader: Api,
}

impl Doomed {
    pub(super) async fn new() -> Self {
        let smtp = SmtpSink::start().await;
        let site = Site::production(smtp.url());
        let (agent, reader) = (site.api("agent", "agent").await, site.api("auditor", "reader").await);
        Self { site, smtp, agent, reader }
    }

    /// A server that dies at the point once [`Doomed::arm`] arms it.
    async fn serve(&self, point: &str) -> Running {
        let mut command = self.site.command(["serve"]);
        command.env("PLACET_KILL_AT", point).env("PLACET_KILL_ARMED_BY", self.site.folder().join("armed"));
        let mut server = self.site.start(command);
        server.line_with("Placet listens on ").await;
        server
    }

    /// The same, with a configuration file.
    pub(super) async fn serve_with(&self, point: &str, file: &Path) -> Running {
        let mut command = self.site.command(["serve"]);
        command.arg("--config").arg(file);
        command.env("PLACET_KILL_AT", point).env("PLACET_KILL_ARMED_BY", self.site.folder().join("armed"));
        let mut server = self.site.start(command);
        server.line_with("Placet listens on ").await;
        server
    }

    pub(super) fn arm(&self) {
        std::fs::write(self.site.folder().join("armed"), "").unwrap();
    }

    pub(super) fn disarm(&self) {
        if let Err(error) = std::fs::remove_file(self.site.folder().join("armed")) {
            assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
        }
    }

    /// A server that dies at the point while it starts.
    async fn start_and_die(&self, point: &str) {
        let mut command = self.site.command(["serve"]);
        command.env("PLACET_KILL_AT", point);
        died(self.site.start(command)).await;
    }

    /// Asks under an idempotency key; `None` if the server died before it replied.
    async fn ask(&self, intent: IntentId, key: &str, change: Value) -> Option<Reply> {
        let mut body = json!({
            "question": "Refund order 12345?", "timeout_seconds": 3600,
            "choices": [{"value": "approve", "label": "Approve"}, {"value": "deny", "label": "Deny"}],
        });
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let path = format!("api/v1/intents/{intent}/suspend");
        let request = self.agent.request("POST", &path).header("idempotency-key", key).json(&body);
        self.agent.try_send(request).await.ok()
    }

    /// How often an event of this type is in the log.
    async fn count(&self, intent: IntentId, event_type: &str) -> usize {
        self.reader.event_types(intent).await.iter().filter(|name| *name == event_type).count()
    }

    /// Waits until the log says that the message was sent.
    async fn sent(&self, intent: IntentId) -> Vec<Received> {
        let until = Instant::now() + PATIENCE;
        while self.count(intent, "delivery.sent").await == 0 {
            assert!(Instant::now() < until, "no message was sent");
            sleep(Duration::from_millis(20)).await;
        }
        self.smtp.received()
    }
}

/// Waits until the server has ended by `abort`, and fails the test if it ended in another way: then it never reached its point,
/// and the test proves nothing.
pub(super) async fn died(server: Running) {
    let ended = server.finish().await;
    assert_eq!(ended.status.signal(), Some(SIGABRT), "{ended:?}");
}

/// Before the commit nothing was promised: the same request, sent again, counts as the first one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn before_a_commit_nothing_has_happened() {
    let doomed = Doomed::new().await;
    let server = doomed.serve("before-commit").await;
    let intent = doomed.agent.active_intent().await;
    doomed.arm();
    assert!(doomed.ask(intent, "once", json!({})).await.is_none(), "no write is acknowledged before it is on the disk");
    died(server).await;
    let _server = doomed.site.serve().await;
    assert_eq!(doomed.count(intent, "intent.suspended").await, 0);
    assert_eq!(doomed.reader.status(intent).await, "active");
    doomed.ask(intent, "once", json!({})).await.unwrap().ok();
    assert_eq!(doomed.count(intent, "intent.suspended").await, 1);
    assert_eq!(doomed.sent(intent).await.len(), 1);
}

/// After the commit everything has happened, although no client was told: the message leaves, and asking again finds the
/// question.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_commit_everything_has_happened() {
    let doomed = Doomed::new().await;
    let server = doomed.serve("after-commit").await;
    let intent = doomed.agent.active_intent().await;
    doomed.arm();
    assert!(doomed.ask(intent, "once", json!({})).await.is_none());
    died(server).await;
    let _server = doomed.site.serve().await;
    assert_eq!(doomed.sent(intent).await.len(), 1, "the message needs no second request");
    let again = doomed.ask(intent, "once", json!({})).await.unwrap().ok();
    assert_eq!(doomed.count(intent, "intent.suspended").await, 1);
    let operator = doomed.site.api("operator", "operator").await;
    assert_eq!(operator.respond(intent, again["id"].as_str().unwrap(), "approve").await.status, 200);
}

/// Requests that share a transaction share its outcome; each of them, sent again, happens once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn within_a_batch_all_of_it_is_lost_and_none_of_it_was_promised() {
    let doomed = Doomed::new().await;
    let server = doomed.serve("within-batch").await;
    let mut intents = Vec::new();
    for _ in 0..TOGETHER {
        intents.push(doomed.agent.active_intent().await);
    }
    doomed.arm();
    let asking = intents.iter().map(async |intent| doomed.ask(*intent, &intent.to_string(), json!({})).await);
    let promised: Vec<_> = futures_util::future::join_all(asking).await;
    died(server).await;
    assert!(promised.iter().any(Option::is_none));
    let _server = doomed.site.serve().await;
    for (intent, promised) in intents.iter().zip(promised) {
        let asked = doomed.count(*intent, "intent.suspended").await;
        assert!(asked == 1 || promised.is_none(), "what was promised is lost: {promised:?}");
        doomed.ask(*intent, &intent.to_string(), json!({})).await.unwrap().ok();
        assert_eq!(doomed.count(*intent, "intent.suspended").await, 1);
    }
}

/// If a server dies after it leased a message and before it sent it, the next server sends it once, and at once, not when the
/// lease ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_lease_the_message_leaves_once() {
    let doomed = Doomed::new().await;
    let server = doomed.serve("after-lease").await;
    let intent = doomed.agent.active_intent().await;
    doomed.arm();
    doomed.ask(intent, "once", json!({})).await;
    died(server).await;
    assert!(doomed.smtp.received().is_empty());
    let _server = doomed.site.serve().await;
    assert_eq!(doomed.sent(intent).await.len(), 1);
}

/// A message that left without a record leaves once more, and both copies have the same id.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_send_one_copy_more_leaves_under_the_same_message_id() {
    let doomed = Doomed::new().await;
    let server = doomed.serve("after-send").await;
    let intent = doomed.agent.active_intent().await;
    doomed.arm();
    doomed.ask(intent, "once", json!({})).await;
    died(server).await;
    assert_eq!(doomed.smtp.received().len(), 1);
    let _server = doomed.site.serve().await;
    let mails = doomed.sent(intent).await;
    assert_eq!(mails.len(), 2);
    assert_eq!(mails[0].header("message-id"), mails[1].header("message-id"));
    assert_eq!(doomed.count(intent, "delivery.sent").await, 1);
    for mail in &mails {
        let link = mail.link(&doomed.site.base());
        let page = doomed.reader.get(link.strip_prefix(&doomed.site.base()).unwrap()).await;
        assert!(page.text.contains("Refund order 12345?"), "each copy leads to the question");
    }
}

/// The end of a suspension and the message about it are one commit: a server that dies right behind it leaves the message to the next one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_commit_the_wake_leaves() {
    let (doomed, receiver) = (Doomed::new().await, Receiver::start().await);
    let file = doomed.site.folder().join("wakes.toml");
    let endpoint = format!("url = '{}'\nsecret = '{SECRET}'\nallow_subnets = ['127.0.0.0/8']", receiver.url());
    std::fs::write(&file, format!("[[wake.webhook]]\n{endpoint}\n")).unwrap();
    let server = doomed.serve_with("after-commit", &file).await;
    let intent = doomed.agent.active_intent().await;
    let parked = doomed.agent.post(&format!("api/v1/intents/{intent}/park"), json!({"reason": "Waiting."})).await.ok();
    let id = parked["id"].as_str().unwrap();
    doomed.arm();
    let resume = doomed.agent.request("POST", &format!("api/v1/suspensions/{id}/resume")).json(&json!({}));
    assert!(doomed.agent.try_send(resume).await.is_err(), "the server dies before it replies");
    died(server).await;
    assert!(receiver.posted().is_empty());
    let _server = doomed.serve_with("none", &file).await;
    let until = Instant::now() + PATIENCE;
    let mut posted = Vec::new();
    while posted.is_empty() {
        assert!(Instant::now() < until, "the endpoint was not told");
        sleep(Duration::from_millis(20)).await;
        posted = receiver.posted();
    }
    assert!(posted.len() == 1 && posted[0].is_signed_with(SECRET));
    assert_eq!(
        (&posted[0].json()["type"], &posted[0].json()["data"]["suspension_id"]),
        (&json!("suspension.resumed"), &json!(id))
    );
}

/// While deadlines are extended after an outage, the server may die at any point: every question is extended once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_time_is_given_back_a_crash_gives_nothing_twice() {
    let doomed = Doomed::new().await;
    let server = doomed.site.serve().await;
    let mut asked = Vec::new();
    for number in 0..QUESTIONS {
        let intent = doomed.agent.active_intent().await;
        let fallback = json!({"fallback_policy": "complete_with_fallback", "fallback_value": "approve"});
        let record = doomed.ask(intent, &number.to_string(), fallback).await.unwrap().ok();
        asked.push((intent, record["id"].as_str().unwrap().to_owned(), record["expires_at"].clone()));
    }
    server.kill().await;
    doomed.site.away_for(2 * 3_600).await;
    // The first server dies when the outage is recorded and no deadline is extended yet. The others die within the first batch of
    // extensions, after it, and within the second batch.
    for point in ["between-recoveries", "within-recovery:5", "between-recoveries", "within-recovery:2"] {
        doomed.start_and_die(point).await;
    }
    let _server = doomed.site.serve().await;
    for (intent, id, before) in asked {
        let time = |value: &Value| domain::base::time::parse(value.as_str().unwrap()).unwrap();
        // The server answers requests while it still extends deadlines, so this read waits for the extension.
        let record = doomed.reader.get(&format!("api/v1/suspensions/{id}?wait=50&after_version=1")).await.ok();
        let given = time(&record["expires_at"]) - time(&before);
        assert_eq!(given.num_seconds(), 3_600, "at most one window is given back, and once");
        assert_eq!(doomed.count(intent, "intent.suspension_extended").await, 1);
    }
}

/// Tables are made all or none: a start that dies while it makes them leaves no half-made schema.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn within_a_migration_nothing_is_half_made() {
    let smtp = SmtpSink::start().await;
    let site = Site::production(smtp.url());
    let mut command = site.command(["keys", "create", "--role", "admin", "--name", "admin"]);
    command.env("PLACET_KILL_AT", "within-migration");
    died(site.start(command)).await;
    let agent = site.api("agent", "agent").await;
    let _server = site.serve().await;
    let asked = agent.asked(agent.active_intent().await).await;
    assert_eq!(agent.suspension(&asked).await["resolution"], json!(null));
}

/// All points together: the server dies under load at one point after the other. No promise is broken, and a crash costs a person
/// one extra mail at most.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn point_after_point_under_load_nothing_promised_is_lost() {
    let doomed = Doomed::new().await;
    // The server dies when it reaches a point for the given time (`:5` is the fifth). It gets there even if the writer takes many
    // requests together, because there are at least five commits: creating, asking, leasing twice, and completing.
    let points = ["after-commit:5", "after-send:3", "before-commit:5", "after-lease:2"];
    let mut promised = Vec::new();
    for (round, point) in points.into_iter().enumerate() {
        doomed.disarm();
        let server = doomed.serve(point).await;
        // The first questions are acknowledged in any case, because the server can die only after them. Their messages may be
        // under way when it dies.
        for numbers in [0..BEFORE, BEFORE..BEFORE + TOGETHER] {
            let mut asking = JoinSet::new();
            for number in numbers {
                let agent = doomed.agent.clone();
                let recipient = format!("person-{round}-{number}@example.com");
                asking.spawn(
                    async move { ask_once(&agent, &recipient).await.map(|asked| (asked, recipient, points.len() - round)) },
                );
            }
            promised.extend(asking.join_all().await.into_iter().flatten());
            doomed.arm();
        }
        died(server).await;
    }
    assert!(promised.len() >= points.len() * BEFORE, "too few questions were promised to tell: {}", promised.len());
    let _server = doomed.site.serve().await;
    for ((intent, id), recipient, crashes) in promised {
        let mails: Vec<_> = doomed.sent(intent).await.into_iter().filter(|mail| mail.to == [recipient.clone()]).collect();
        assert!((1..=1 + crashes).contains(&mails.len()), "{} mails to {recipient}", mails.len());
        assert!(mails.windows(2).all(|two| two[0].header("message-id") == two[1].header("message-id")));
        assert_eq!(doomed.count(intent, "delivery.sent").await, 1);
        assert_eq!(doomed.reader.suspension(&id).await["notify_to"], json!([recipient]));
    }
}

/// Creates an intent and asks one person; `None` unless both were acknowledged.
async fn ask_once(agent: &Api, recipient: &str) -> Option<(IntentId, String)> {
    let create = agent.request("POST", "api/v1/intents").json(&json!({"title": recipient, "status": "active"}));
    let intent: IntentId = agent.try_send(create).await.ok()?.ok()["id"].as_str()?.parse().ok()?;
    let body = json!({"question": "Refund?", "response_type": "text", "notify_to": [recipient], "timeout_seconds": 3600});
    let suspend = agent.request("POST", &format!("api/v1/intents/{intent}/suspend")).json(&body);
    Some((intent, agent.try_send(suspend).await.ok()?.ok()["id"].as_str()?.to_owned()))
}
