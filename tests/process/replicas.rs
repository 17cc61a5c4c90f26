//! Several servers, each its own process, on one PostgreSQL: raced, killed, stopped and restarted under load, like the database
//! itself.
//!
//! Variables ask for the long runs: `PLACET_RACES` (20,000 takes minutes) and `PLACET_DRILL_SECONDS` (120).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use domain::base::clock::Clock as _;
use domain::base::ids::IntentId;
use domain::base::time::{parse, rfc3339};
use futures_util::stream::{self, StreamExt};
use harness::api::{Api, Reply};
use harness::postgres::{Cluster, PASSWORD};
use harness::process::{Running, Site};
use harness::smtp::SmtpSink;
use harness::wish::wished;
use placet::{Client, Question};
use proof::checkpoint::TreeHead;
use serde_json::{Value, json};
use store::host::clock::SystemClock;
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::balancer::Balancer;
use super::export;
use super::invariants;
use super::kill::{AGENTS, OPERATORS, World, agent, operator, random, settle};

const RACES_DEFAULT: usize = 96;
const DRILL_SECONDS_DEFAULT: usize = 10;
/// The most rounds of races, if all that were asked for had the same end.
const ROUNDS_MAX: usize = 8;
/// Requests under way at the same time.
const AT_ONCE: usize = 12;
/// Questions whose deadlines come while all servers run.
const DEADLINES: usize = 60;
/// How long a look at the checkpoints may take; a server may stand still.
const LOOK_MAX: Duration = Duration::from_secs(2);
/// How long writes may fail after the database is back.
const RECOVERED_WITHIN: Duration = Duration::from_secs(5);
/// If the test runs longer than this, one server stands still for all of that time: longer than the lease of a message that it
/// was sending lasts.
const LONG_STOP: Duration = Duration::from_secs(130);

/// Servers on one database behind one address.
struct Replicas {
    cluster: Arc<Cluster>,
    database: String,
    smtp: SmtpSink,
    sites: Vec<Site>,
    balancer: Balancer,
    /// Holds the key file of the log, which all servers share.
    folder: TempDir,
}

impl Replicas {
    async fn of(count: usize) -> Self {
        let smtp = SmtpSink::start().await;
        let cluster = Arc::new(Cluster::durable());
        cluster.sql("postgres", "CREATE DATABASE replicas").await;
        let (listener, base) = Balancer::reserve();
        let url = cluster.tcp_url("replicas", PASSWORD);
        let folder = TempDir::new().unwrap();
        let site = || Site::replica(url.clone(), smtp.url(), base.clone()).with_log_key(folder.path().join("log-key"));
        let sites: Vec<Site> = (0..count).map(|_| site()).collect();
        sites[0].key("admin", "admin").await; // This makes the tables.
        let balancer = Balancer::start(listener, sites.iter().map(Site::port).collect());
        Self { cluster, database: "replicas".into(), smtp, sites, balancer, folder }
    }

    async fn serve(&self) -> Vec<Running> {
        let mut running = Vec::new();
        for site in &self.sites {
            running.push(site.serve().await);
        }
        running
    }

    /// Makes a key of a role under a name, for direct requests to one of the servers; returns its secret.
    async fn key(&self, role: &str, name: &str) -> String {
        self.sites[0].key(role, name).await.1
    }

    /// A connection through the balancer.
    async fn api(&self, role: &str, name: &str) -> Api {
        Api::new(&self.balancer.base(), Some(&self.key(role, name).await))
    }

    /// Exports the log, and computes the root of each checkpoint from it. Each event has one leaf, and none is missing.
    async fn one_tree(&self, seen: Seen) {
        let checkpoints: &[TreeHead] = &seen.into_values().collect::<Vec<_>>();
        let (auditor, out) = (self.key("auditor", "exporter").await, self.folder.path().join("log.jsonl"));
        export::export(&self.sites[0], &auditor, &out, &[]).await.succeeded();
        let text = std::fs::read_to_string(&out).unwrap();
        let events = export::check(&text, checkpoints);
        let verified = self.sites[0].command(["verify", "--trust-export-key", out.to_str().unwrap()]);
        assert!(self.sites[0].run(verified).await.succeeded().starts_with("VERIFIED"));
        assert!(checkpoints.len() > 1, "the log grew while it was looked at: {} checkpoints, {events} events", checkpoints.len());
    }

    async fn invariants_hold(&self) -> invariants::Looked {
        invariants::hold(&self.cluster, &self.database).await
    }
}

/// The checkpoints that were seen, by their sizes.
type Seen = BTreeMap<u64, TreeHead>;

/// Adds the checkpoints that there are now. No two have one size and different roots.
async fn look(auditor: &Api, seen: &mut Seen) {
    // The server may be gone, or stand still.
    let listed = timeout(LOOK_MAX, auditor.try_send(auditor.request("GET", "api/v1/checkpoints?limit=100"))).await;
    for one in listed.iter().flatten().flat_map(|reply| reply.body.as_array().into_iter().flatten()) {
        let head = TreeHead::read(one["note"].as_str().unwrap()).unwrap();
        let before = seen.insert(head.size, head.clone());
        assert!(before.is_none_or(|before| before.root == head.root), "two trees of {} leaves were signed", head.size);
    }
}

/// If two people can both be told that their answer counts, no answer means anything, however many processes there are.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_opposite_answers_at_different_processes_one_counts() {
    for count in [2, 3] {
        let replicas = Replicas::of(count).await;
        let servers = replicas.serve().await;
        let keys = (
            replicas.key("agent", "asker").await,
            replicas.key("operator", "alice").await,
            replicas.key("operator", "bob").await,
        );
        let at = |number: usize, key: &str| Api::new(&replicas.sites[number % count].base(), Some(key));
        let ways: Vec<[Api; 3]> =
            (0..count).map(|number| [at(number, &keys.0), at(number, &keys.1), at(number + 1, &keys.2)]).collect();
        let races = wished("PLACET_RACES", RACES_DEFAULT) / 2;
        let race = async |number: usize| {
            let [asker, alice, bob] = &ways[number % count];
            let intent = asker.active_intent().await;
            let id = asker.asked(intent).await;
            let (yes, no) = if number.is_multiple_of(2) {
                tokio::join!(alice.respond(intent, &id, "approve"), bob.respond(intent, &id, "deny"))
            } else {
                let (no, yes) = tokio::join!(bob.respond(intent, &id, "deny"), alice.respond(intent, &id, "approve"));
                (yes, no)
            };
            let (winner, loser) = match (yes.status, no.status) {
                (200, 409) => ("approve", no),
                (409, 200) => ("deny", yes),
                statuses => panic!("{statuses:?}: {} {}", yes.text, no.text),
            };
            assert_eq!(loser.problem(), (409, "already_resolved"));
            assert_eq!(bob.suspension(&id).await["response"], json!(winner));
            winner
        };
        let began = Instant::now();
        let winners: BTreeSet<&str> = stream::iter(0..races).map(race).buffer_unordered(AT_ONCE).collect().await;
        assert_eq!(winners.len(), 2, "the race was no race: {winners:?} won every time");
        let looked = replicas.invariants_hold().await;
        println!("{races} races at {count} processes in {:.0?}: {looked:?}", began.elapsed());
        drop(servers);
    }
}

/// All servers see the same deadlines come: each takes effect once, and each person gets one mail.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_deadline_binds_once_at_three_processes() {
    let replicas = Replicas::of(3).await;
    let servers = replicas.serve().await;
    let asker = replicas.api("agent", "asker").await;
    let ask = async |number: usize| {
        let intent = asker.active_intent().await;
        let change = json!({
            // On a busy machine the mails take some seconds to leave, and they must leave before the deadline.
            "timeout_seconds": 10, "fallback_policy": "complete_with_fallback", "fallback_value": "deny",
            "notify_to": [format!("person-{number}@example.com")],
        });
        asker.suspend(intent, change).await.ok();
        intent
    };
    let intents: Vec<_> = stream::iter(0..DEADLINES).map(ask).buffer_unordered(AT_ONCE).collect().await;
    sleep(Duration::from_secs(10)).await;
    for intent in &intents {
        let until = Instant::now() + Duration::from_secs(20);
        while asker.status(*intent).await == "suspended_awaiting_input" {
            assert!(Instant::now() < until, "the deadline of {intent} is not applied");
            sleep(Duration::from_millis(50)).await;
        }
        let events = asker.event_types(*intent).await;
        let count = |wanted: &str| events.iter().filter(|event| *event == wanted).count();
        assert_eq!((count("intent.suspension_expired"), count("delivery.sent")), (1, 1), "{events:?}");
    }
    assert_eq!(replicas.smtp.received().len(), DEADLINES, "one mail for each person");
    replicas.invariants_hold().await;
    drop(servers);
}

/// A question of a race: its number, its intent and its id.
type Raced = (usize, IntentId, String);

/// Agents and people at two servers who race the deadline of a portfolio.
struct Race {
    askers: [Api; 2],
    people: [Api; 2],
    /// Within this time before the deadline the answers leave, and as long behind it.
    around: Duration,
}

impl Race {
    async fn portfolio(&self) -> String {
        let portfolio = served(async || self.askers[0].post("api/v1/portfolios", json!({"name": "Race"})).await).await;
        format!("api/v1/portfolios/{}", portfolio["id"].as_str().unwrap())
    }

    async fn ask(&self, portfolio: &str, number: usize) -> Raced {
        let asker = &self.askers[number % 2];
        let work = json!({"title": "Refund order 12345", "status": "active"});
        let intent = served(async || asker.post("api/v1/intents", work.clone()).await).await;
        let intent: IntentId = intent["id"].as_str().unwrap().parse().unwrap();
        served(async || asker.post(&format!("{portfolio}/intents"), json!({"intent_id": intent})).await).await;
        let fallback = json!({"fallback_policy": "complete_with_fallback", "fallback_value": "deny"});
        let question = served(async || asker.suspend(intent, fallback.clone()).await).await;
        (number, intent, question["id"].as_str().unwrap().to_owned())
    }

    /// Answers the questions around a deadline which the portfolio gets now. Returns that deadline, and the replies.
    async fn answer_all(&self, portfolio: &str, open: Vec<Raced>) -> (DateTime<Utc>, Vec<(IntentId, String, Reply)>) {
        let due_in = self.around + Duration::from_secs(2);
        let (deadline, began) = (SystemClock.now() + due_in, Instant::now());
        let policy = json!({"governance_policy": {"deadline": rfc3339(deadline)}});
        served(async || self.askers[0].send(self.askers[0].request("PATCH", portfolio).json(&policy)).await).await;
        let at_once = open.len();
        let answer = async |(number, intent, id): Raced| {
            let offset = Duration::from_micros(random(2 * u64::try_from(self.around.as_micros()).unwrap()));
            sleep((due_in + offset).saturating_sub(self.around).saturating_sub(began.elapsed())).await;
            loop {
                let reply = self.people[(number / 2) % 2].respond(intent, &id, "approve").await;
                if reply.status != 503 {
                    return (intent, id, reply);
                }
            }
        };
        (deadline, stream::iter(open).map(answer).buffer_unordered(at_once).collect().await)
    }

    /// Checks that a question ended once, as the reply to its answer says. Returns whether the answer ended it.
    async fn ended_once(&self, deadline: DateTime<Utc>, (intent, id, reply): (IntentId, String, Reply)) -> bool {
        let read = async |path: String| served(async || self.askers[0].get(&path).await).await;
        let status = async || read(format!("api/v1/intents/{intent}")).await["status"].as_str().unwrap().to_owned();
        while status().await == "suspended_awaiting_input" {
            sleep(Duration::from_millis(20)).await;
        }
        let record = read(format!("api/v1/suspensions/{id}")).await;
        let events = read(format!("api/v1/intents/{intent}/events?include=all&limit=1000")).await;
        let count = |wanted: &str| events.as_array().unwrap().iter().filter(|event| event["event_type"] == wanted).count();
        let ends = (count("intent.resumed"), count("intent.suspension_expired"), status().await);
        let resolved_at = parse(record["resolved_at"].as_str().unwrap()).unwrap();
        if reply.status == 200 {
            assert_eq!(ends, (1, 0, "active".to_owned()), "{events}");
            assert!(record["response"] == "approve" && resolved_at < deadline, "{record}");
        } else {
            assert_eq!(reply.problem(), (409, "expired"));
            assert_eq!(ends, (0, 1, "abandoned".to_owned()), "{events}");
            assert_eq!((&record["resolution_reason"], &record["response"]), (&json!("portfolio_deadline"), &Value::Null));
            assert!(resolved_at >= deadline, "{record}");
        }
        reply.status == 200
    }
}

/// The deadline of a portfolio ends its open questions (RFC-0026, rule 5). Here answers arrive at two servers around the moment
/// at which that deadline passes. Each question ends once: by its answer if that was recorded before the deadline, and otherwise
/// by the deadline.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_and_the_deadline_of_a_portfolio_end_a_question_once() {
    let races = wished("PLACET_RACES", RACES_DEFAULT) / 2;
    let a_round = (races / 40).clamp(60, 250);
    let replicas = Replicas::of(2).await;
    let servers = replicas.serve().await;
    let keys = (replicas.key("agent", "asker").await, replicas.key("operator", "alice").await);
    let at = |number: usize, key: &str| Api::new(&replicas.sites[number].base(), Some(key));
    let (askers, people) = ([at(0, &keys.0), at(1, &keys.0)], [at(0, &keys.1), at(1, &keys.1)]);
    let mut race = Race { askers, people, around: Duration::from_millis(120) };
    let (mut answered, mut ended, mut rounds) = (0, 0, 0);
    while rounds < races.div_ceil(a_round) || ((answered == 0 || ended == 0) && rounds < ROUNDS_MAX) {
        rounds += 1;
        let portfolio = race.portfolio().await;
        let open = stream::iter(0..a_round).map(|number| race.ask(&portfolio, number)).buffer_unordered(AT_ONCE);
        let (deadline, replies) = race.answer_all(&portfolio, open.collect().await).await;
        let won = stream::iter(replies).map(|replied| race.ended_once(deadline, replied)).buffer_unordered(AT_ONCE);
        for won in won.collect::<Vec<bool>>().await {
            if won { answered += 1 } else { ended += 1 }
        }
        // The machine is so busy that all answers came too late.
        if answered == 0 {
            race.around *= 2;
        }
    }
    assert!(answered > 0 && ended > 0, "the race was no race: {answered} answers, {ended} deadlines");
    let looked = replicas.invariants_hold().await;
    println!("{answered} answers counted, {ended} were ended by the deadline: {looked:?}");
    drop(servers);
}

/// The reply to a request, which is sent again while its server is too busy to begin with it.
async fn served(send: impl AsyncFn() -> Reply) -> Value {
    loop {
        let reply = send().await;
        if reply.status != 503 {
            return reply.ok();
        }
        sleep(Duration::from_millis(50)).await;
    }
}

/// Puts the load of the kill test on the servers through the balancer, while `trouble` disturbs them. Afterwards everything
/// acknowledged must be there exactly once.
#[expect(clippy::print_stdout, reason = "a long run by hand is read by who asked for it")]
async fn under_load(replicas: &Replicas, mut servers: Vec<Running>, trouble: impl AsyncFnOnce(&mut Vec<Running>)) {
    let world = Arc::new(World::default());
    let reader = replicas.api("auditor", "reader").await;
    let (mut agents, mut operators) = (JoinSet::new(), JoinSet::new());
    let (questions, asked) = mpsc::channel(AGENTS);
    let asked = Arc::new(tokio::sync::Mutex::new(asked));
    for number in 0..AGENTS {
        let api = replicas.api("agent", &format!("agent-{number}")).await;
        agents.spawn(agent(world.clone(), api, number, questions.clone()));
    }
    drop(questions);
    for number in 0..OPERATORS {
        let api = replicas.api("operator", &format!("operator-{number}")).await;
        let rival = replicas.api("operator", &format!("rival-{number}")).await;
        operators.spawn(operator(world.clone(), api, rival, asked.clone()));
    }
    let disturbed = async {
        trouble(&mut servers).await;
        world.stopping.store(true, Ordering::SeqCst);
    };
    let mut seen = Seen::new();
    let looking = async {
        while !world.stopping.load(Ordering::SeqCst) {
            look(&reader, &mut seen).await;
            sleep(Duration::from_millis(200)).await;
        }
    };
    tokio::join!(looking, disturbed);
    agents.join_all().await;
    operators.join_all().await;
    let ledger = world.keep(std::mem::take);
    settle(&ledger, &reader, &replicas.smtp).await;
    let counts = ledger.check(&reader, &replicas.smtp).await;
    look(&reader, &mut seen).await;
    replicas.one_tree(seen).await;
    let looked = replicas.invariants_hold().await;
    assert!(counts.answered > 0, "nothing was answered: {counts:?}");
    assert!(looked.intents >= looked.questions && looked.events > looked.questions, "questions without a log: {looked:?}");
    println!("{counts:?} {looked:?}");
    drop(servers);
}

/// One server dies and another one stands still while a third goes on. Acknowledged writes are there, and nothing happens twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_twice_when_processes_are_killed_and_stopped() {
    let replicas = Replicas::of(3).await;
    let servers = replicas.serve().await;
    let time = Duration::from_secs(wished("PLACET_DRILL_SECONDS", DRILL_SECONDS_DEFAULT) as u64);
    let (mut kills, mut stops) = (0, 0);
    let trouble = async |servers: &mut Vec<Running>| {
        let began = Instant::now();
        if time > LONG_STOP {
            servers[2].signal("STOP").await;
        }
        while began.elapsed() < time {
            sleep(Duration::from_millis(500 + random(1_500))).await;
            let victim = usize::try_from(random(2)).unwrap();
            if random(2) == 0 {
                kills += 1;
                servers.remove(victim).kill().await;
                servers.insert(victim, replicas.sites[victim].serve().await);
            } else {
                stops += 1;
                servers[victim].signal("STOP").await;
                sleep(Duration::from_millis(500 + random(4_000))).await;
                servers[victim].signal("CONT").await;
            }
        }
        servers[2].signal("CONT").await;
    };
    under_load(&replicas, servers, trouble).await;
    println!("{kills} kills, {stops} stops in {time:?}");
}

/// The database restarts and loses every connection again and again. Writes go on within seconds of its return. A commit whose
/// reply was lost is counted neither as done nor as not done.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_when_the_database_restarts_and_cuts_every_connection() {
    let replicas = Replicas::of(2).await;
    let servers = replicas.serve().await;
    let probe = replicas.key("agent", "probe").await;
    let seconds = wished("PLACET_DRILL_SECONDS", DRILL_SECONDS_DEFAULT);
    let mut slowest = Duration::ZERO;
    let (mut storms, mut restarts) = (0, 0);
    let trouble = async |_: &mut Vec<Running>| {
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(seconds as u64) {
            let cut =
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'replicas' AND pid <> pg_backend_pid()";
            for _ in 0..5 {
                storms += 1;
                replicas.cluster.sql("postgres", cut).await;
                sleep(Duration::from_millis(100 + random(300))).await;
            }
            restarts += 1;
            replicas.cluster.restart();
            let back = Instant::now();
            for site in &replicas.sites {
                let api = Api::new(&site.base(), Some(&probe));
                // Each write has an id of its own, so a write that counted although its reply was lost is not taken for a
                // duplicate.
                for attempt in 0.. {
                    let body = json!({"title": format!("probe {restarts} {} {attempt}", site.port()), "status": "active"});
                    let posted = api.try_send(api.request("POST", "api/v1/intents").json(&body)).await;
                    if posted.is_ok_and(|reply| reply.status == 200) {
                        break;
                    }
                    assert!(
                        back.elapsed() < RECOVERED_WITHIN,
                        "no write at one server {:?} after the database is back",
                        back.elapsed()
                    );
                    sleep(Duration::from_millis(20)).await;
                }
            }
            slowest = slowest.max(back.elapsed());
        }
    };
    under_load(&replicas, servers, trouble).await;
    println!("{storms} storms, {restarts} restarts; writing again after {slowest:?} at most");
}

/// An update must not cost a client a request: servers are replaced one after the other while agents ask and people answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rolling_restart_fails_no_request() {
    let replicas = Replicas::of(2).await;
    let mut servers = replicas.serve().await;
    let stopping = Arc::new(AtomicBool::new(false));
    let mut agents = JoinSet::new();
    for number in 0..4 {
        let key = replicas.key("agent", &format!("agent-{number}")).await;
        let client = Client::new(replicas.balancer.base(), key).unwrap();
        let operator = Client::new(replicas.balancer.base(), replicas.key("operator", &format!("op-{number}")).await).unwrap();
        let stopping = stopping.clone();
        agents.spawn(async move {
            let mut asked = 0_usize;
            while !stopping.load(Ordering::SeqCst) {
                asked += 1;
                // With a key, the client may repeat the creation of an intent if a server stops before it replies, because the
                // servers recognize the repetition.
                let begun = client.create_intent(format!("order {asked}")).active().idempotency_key(format!("{number}-{asked}"));
                let intent = begun.send().await.expect("no call fails").id();
                let question = Question::confirm("Refund?").timeout_seconds(600);
                let mut pending = client.ask(intent, question).await.expect("no call fails");
                operator.respond(pending.record(), json!("yes"), None).await.expect("no call fails");
                assert!(pending.answer().await.expect("no wait fails").value);
            }
            asked
        });
    }
    sleep(Duration::from_secs(1)).await;
    for number in [0, 1, 0, 1] {
        let old = servers.remove(number);
        old.signal("TERM").await;
        old.finish().await.succeeded();
        servers.insert(number, replicas.sites[number].serve().await);
        sleep(Duration::from_millis(500)).await;
    }
    stopping.store(true, Ordering::SeqCst);
    let asked: usize = agents.join_all().await.iter().sum();
    let looked = replicas.invariants_hold().await;
    assert!(asked > 20, "there was nothing to fail: {asked} questions");
    assert_eq!(looked.questions, asked, "no question was asked twice");
    println!("{asked} questions asked and answered over four restarts");
    drop(servers);
}
