//! SIGKILL at any moment, again and again, while agents and operators work.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use domain::base::ids::Entropy;
use harness::api::{Api, Reply};
use harness::process::{Running, Site};
use harness::smtp::SmtpSink;
use harness::wish::wished;
use reqwest::RequestBuilder;
use serde_json::{Value, json};
use store::host::clock::SystemEntropy;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::ledger::{Asked, Ledger};

/// How often the server is killed, unless `PLACET_KILLS` sets another number.
const KILLS_DEFAULT: u32 = 20;
pub(super) const AGENTS: usize = 4;
pub(super) const OPERATORS: usize = 3;
/// The longest life of a server, in milliseconds.
const LIFE_MILLIS_MAX: u64 = 400;
/// The pause before the same request is sent again.
pub(super) const PAUSE: Duration = Duration::from_millis(5);
/// How long one request may take; after that a client assumes that its server is dead.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// How long mails and deadlines may take once no server is killed any more.
const SETTLED_AFTER_MAX: Duration = Duration::from_secs(90);
/// How long people have to answer every third question, in seconds. It is so short that the deadline comes while servers are
/// killed.
const SHORT_SECONDS: u32 = 2;
const LONG_SECONDS: u32 = 3_600;

#[derive(Default)]
pub(super) struct World {
    pub(super) ledger: Mutex<Ledger>,
    pub(super) stopping: AtomicBool,
}

impl World {
    pub(super) fn keep<T>(&self, write: impl FnOnce(&mut Ledger) -> T) -> T {
        write(&mut self.ledger.lock().unwrap())
    }
}

/// Sends a request until a server answers it. A server that stood still for a while may answer 408: it has not read the request
/// yet, and takes the client for slow. It has done nothing then, so the request is sent again.
pub(super) async fn until_answered(api: &Api, request: impl Fn() -> RequestBuilder) -> Reply {
    loop {
        match api.try_send(request().timeout(REQUEST_TIMEOUT)).await {
            Ok(reply) if ![408, 503].contains(&reply.status) => return reply,
            Ok(_) | Err(_) => sleep(PAUSE).await,
        }
    }
}

/// Creates intents and asks, one after the other; hands every other question to the operators.
pub(super) async fn agent(world: Arc<World>, api: Api, name: usize, questions: mpsc::Sender<String>) {
    let mut number = 0;
    while !world.stopping.load(Ordering::SeqCst) {
        number += 1;
        let title = format!("intent {name}-{number}");
        let create = || {
            let body = json!({"title": title, "status": "active"});
            api.request("POST", "api/v1/intents").header("idempotency-key", &title).json(&body)
        };
        let intent = until_answered(&api, create).await.ok();
        let intent = intent["id"].as_str().unwrap().parse().unwrap();
        world.keep(|ledger| ledger.intents.insert(intent, title.clone()));

        let short = number % 3 == 0;
        let question = format!("Refund order {name}-{number}?");
        let recipient = format!("person-{name}-{number}@example.com");
        let body = json!({
            "question": question, "notify_to": [recipient],
            "choices": [{"value": "approve", "label": "Approve"}, {"value": "deny", "label": "Deny"}],
            "timeout_seconds": if short { SHORT_SECONDS } else { LONG_SECONDS },
            "fallback_policy": "complete_with_fallback", "fallback_value": "deny",
        });
        let path = format!("api/v1/intents/{intent}/suspend");
        let suspend = || api.request("POST", &path).header("idempotency-key", &question).json(&body);
        let suspension = until_answered(&api, suspend).await.ok()["id"].as_str().unwrap().to_owned();
        let asked = Asked {
            intent,
            suspension: suspension.clone(),
            question,
            recipient,
            short,
            tried: number % 2 == 0,
            answers: Vec::new(),
        };
        world.keep(|ledger| ledger.asked.insert(suspension.clone(), asked));
        if number % 2 == 0 {
            questions.send(suspension).await.unwrap();
        }
    }
}

/// Answers until no more questions come. Every fourth question has a rival who answers at the same time.
pub(super) async fn operator(
    world: Arc<World>,
    api: Api,
    rival: Api,
    questions: Arc<tokio::sync::Mutex<mpsc::Receiver<String>>>,
) {
    let mut number = 0;
    loop {
        let next = questions.lock().await.recv().await;
        let Some(suspension) = next else { return };
        number += 1;
        let asked = world.keep(|ledger| ledger.asked[&suspension].clone());
        let contested = number % 4 == 0;
        let answer = async |api: &Api, value: &str| {
            let path = format!("api/v1/intents/{}/suspend/respond", asked.intent);
            let body = json!({"suspension_id": suspension, "value": value});
            until_answered(api, || api.request("POST", &path).header("idempotency-key", &suspension).json(&body)).await
        };
        let replies = if contested {
            let (mine, theirs) = tokio::join!(answer(&api, "approve"), answer(&rival, "deny"));
            vec![mine, theirs]
        } else {
            vec![answer(&api, "approve").await]
        };
        let accepted = accepted(&asked, contested, &replies);
        world.keep(|ledger| ledger.asked.get_mut(&suspension).unwrap().answers.extend(accepted));
    }
}

/// The bodies of the answers that counted; every refusal must have its reason.
fn accepted(asked: &Asked, contested: bool, replies: &[Reply]) -> Vec<Value> {
    for refusal in replies.iter().filter(|reply| reply.status != 200) {
        let allowed = match refusal.problem() {
            (409, "expired") => asked.short,
            (409, "already_resolved") => contested,
            _ => false,
        };
        // The server recognizes the repetition of an answer that counted, so no person is told that another person was first.
        assert!(allowed, "{} for {asked:?}", refusal.text);
    }
    let accepted: Vec<Value> = replies.iter().filter(|reply| reply.status == 200).map(|reply| reply.body.clone()).collect();
    assert!(accepted.len() <= 1, "two answers to one question counted: {accepted:?}");
    assert!(!accepted.is_empty() || asked.short, "nobody won: {replies:?}");
    accepted
}

/// A random number below `limit`.
pub(super) fn random(limit: u64) -> u64 {
    let mut bytes = [0; 8];
    SystemEntropy.fill(&mut bytes);
    u64::from_le_bytes(bytes) % limit
}

fn kills() -> u32 {
    wished("PLACET_KILLS", KILLS_DEFAULT)
}

/// Kills server after server, some of them while they start, and leaves the last one running.
async fn kill_again_and_again(site: &Site, first: Running) -> Running {
    let mut server = first;
    for _ in 0..kills() {
        sleep(Duration::from_millis(random(LIFE_MILLIS_MAX))).await;
        server.kill().await;
        server = if random(4) == 0 { site.start(site.command(["serve"])) } else { site.serve().await };
    }
    server.kill().await;
    site.serve().await
}

pub(super) async fn settle(ledger: &Ledger, reader: &Api, smtp: &SmtpSink) {
    let started = Instant::now();
    loop {
        let unsettled = ledger.unsettled(reader, smtp).await;
        if unsettled == 0 {
            return;
        }
        assert!(started.elapsed() < SETTLED_AFTER_MAX, "{unsettled} questions wait for their mail or their deadline");
        sleep(Duration::from_millis(100)).await;
    }
}

/// A write that was acknowledged with a 200 survives every crash: acknowledged writes are there, open questions can be answered,
/// no question is decided twice, and every person who had to be asked was asked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_when_the_server_is_killed_again_and_again() {
    let smtp = SmtpSink::start().await;
    let site = Site::production(smtp.url());
    let world = Arc::new(World::default());
    let reader = site.api("auditor", "reader").await;
    let mut agents = JoinSet::new();
    let mut operators = JoinSet::new();
    // Bounded, so that agents do not get too far ahead of operators.
    let (questions, asked) = mpsc::channel(AGENTS);
    let asked = Arc::new(tokio::sync::Mutex::new(asked));
    for number in 0..AGENTS {
        let api = site.api("agent", &format!("agent-{number}")).await;
        agents.spawn(agent(world.clone(), api, number, questions.clone()));
    }
    drop(questions);
    for number in 0..OPERATORS {
        let api = site.api("operator", &format!("operator-{number}")).await;
        let rival = site.api("operator", &format!("rival-{number}")).await;
        operators.spawn(operator(world.clone(), api, rival, asked.clone()));
    }

    let server = kill_again_and_again(&site, site.serve().await).await;
    world.stopping.store(true, Ordering::SeqCst);
    agents.join_all().await;
    operators.join_all().await;

    let ledger = world.keep(std::mem::take);
    settle(&ledger, &reader, &smtp).await;
    let counts = ledger.check(&reader, &smtp).await;
    assert_eq!(counts.mails, smtp.received().len(), "every mail belongs to a question that was acknowledged");
    assert!(counts.open > 0 && counts.answered > 0 && counts.expired > 0, "not every ending was tried: {counts:?}");
    println!("{} kills: {counts:?}", kills());
    server.kill().await;
}
