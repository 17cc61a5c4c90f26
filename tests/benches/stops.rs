//! Stopped work in great numbers (W16): how soon a parked agent knows of its event, and how long answers take while one event wakes
//! thousands of parked intents and one broadcast pauses thousands more.
//!
//! ```text
//! cargo bench -p placet-tests --bench stops -- --count 10000 --rounds 3
//! ```
//!
//! The server is its own process; it and this process share the machine. Questions are answered in random order.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark talks to the person who runs it and ends when it cannot go on"
)]

use std::cell::Cell;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Parser;
use futures_util::future::{join, join_all};
use harness::bench::arrival::{Done, closed_loop, connections, milliseconds, open_loop};
use harness::bench::connection::{Connection, Target};
use harness::bench::figures::{Figure, Report};
use harness::bench::subject::{Made, Open, Subject, Told, UNPRESSED, VALUES, ask, create, question, respond};
use harness::bench::{percentile, run, shuffled};
use harness::process::{Site, run_instead};
use harness::receiver::{Receiver, SECRET};
use harness::smtp::SmtpSink;
use serde::Deserialize;
use tokio::time::sleep;
use uuid::Uuid;

/// Requests under way at the same time while intents are parked and while questions are answered.
const CLIENTS: usize = 32;
/// Answers a second beside the wakes and the broadcast.
const ANSWERS_PER_SECOND: u32 = 500;
/// Questions that are answered while nothing else happens, for comparison.
const ANSWERS: usize = 2_500;
/// Agents that wait at the same time for an event of their own.
const WAITERS: usize = 1_000;
/// Events a second, each for one of these agents.
const EVENTS_PER_SECOND: u32 = 250;
/// How long a wait lasts before the server answers that the intent is still parked, in seconds.
const WAIT_SECONDS: u32 = 50;
/// A pause that is long enough for everything under way to arrive.
const CALM: Duration = Duration::from_secs(2);
/// How often the benchmark looks for new messages.
const LOOK: Duration = Duration::from_millis(1);

#[derive(Parser)]
struct Arguments {
    /// How many intents one event wakes, and how many one broadcast pauses; at most 10,000.
    #[arg(long, default_value_t = 10_000)]
    count: usize,
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// The program to measure, if not the one built from these sources.
    #[arg(long)]
    program: Option<PathBuf>,
}

/// The values of all rounds.
#[derive(Default)]
struct Rounds {
    heard: Vec<f64>,
    posted: Vec<f64>,
    alone: Vec<f64>,
    waking: Vec<f64>,
    beside_wakes: Vec<f64>,
    pausing: Vec<f64>,
    beside_pauses: Vec<f64>,
}

/// An intent of its own that is parked until an event with this name comes; returns its suspension.
async fn park(connection: &mut Connection, event: &str) -> Uuid {
    let intent = create(connection).await;
    let trigger = format!(r#"{{"kind":"{event}","provider":"placet","match":{{"events":["{event}"]}}}}"#);
    let body = format!(r#"{{"reason":"Waits for the supplier.","conditions":{{"trigger":{trigger}}}}}"#);
    connection.post(&format!("api/v1/intents/{intent}/park"), &body).await.ok::<Made>().id
}

/// Tells of an event; returns how many intents it woke.
async fn fire(connection: &mut Connection, event: &str) -> usize {
    #[derive(Deserialize)]
    struct Fired {
        woken: usize,
    }
    connection.post("api/v1/events", &format!(r#"{{"name":"{event}"}}"#)).await.ok::<Fired>().woken
}

/// Parks [`WAITERS`] intents, each with an agent that waits, and tells of an event for each; returns the milliseconds until the agent
/// knew, sorted.
async fn heard_by_waiting_agents(subject: &Subject, round: usize) -> Vec<f64> {
    let numbers: Vec<usize> = (0..WAITERS).collect();
    let event = |number: usize| format!("supplier.checked.{round}.{number}");
    let parked = async |connection: &mut Connection, number: usize| park(connection, &event(number)).await;
    let parked = closed_loop(&subject.agent, CLIENTS, numbers.clone(), parked).await.results;
    let waiting = connections(&subject.agent, WAITERS).await.into_iter().zip(&parked).enumerate();
    let heard = join_all(waiting.map(async |(number, (mut connection, suspension))| {
        sleep(Duration::from_millis(u64::try_from(number).unwrap())).await;
        let answer = connection.get(&format!("api/v1/suspensions/{suspension}?wait={WAIT_SECONDS}")).await;
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(answer.body));
        Instant::now()
    }));
    let sent: Vec<Cell<Option<Instant>>> = vec![Cell::new(None); WAITERS];
    let events = async {
        sleep(Duration::from_millis(u64::try_from(WAITERS).unwrap()) + CALM).await;
        open_loop(&subject.operator, CLIENTS, EVENTS_PER_SECOND, shuffled(numbers), async |connection, number| {
            sent[number].set(Some(Instant::now()));
            assert_eq!(fire(connection, &event(number)).await, 1);
        })
        .await;
    };
    let (heard, ()) = join(heard, events).await;
    let took = heard.iter().zip(&sent).map(|(at, sent)| (*at - sent.get().unwrap()).as_secs_f64() * 1_000.0);
    sorted(took.collect())
}

/// Parks intents one by one, tells of the event of each, and waits for the message to the endpoint; returns the milliseconds from the
/// event to the message, sorted.
async fn posted_to_an_endpoint(subject: &Subject, receiver: &Receiver, count: usize, round: usize) -> Vec<f64> {
    let mut agent = Connection::open(&subject.agent).await;
    let mut operator = Connection::open(&subject.operator).await;
    receiver.posted();
    let mut took = Vec::new();
    for number in 0..count {
        let event = format!("posted.{round}.{number}");
        park(&mut agent, &event).await;
        let began = Instant::now();
        fire(&mut operator, &event).await;
        while receiver.posted().is_empty() {
            sleep(LOOK).await;
        }
        took.push(milliseconds(began));
    }
    sorted(took)
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// Answers questions at a steady pace until `until` has happened, but at least [`ANSWERS`] of them; returns the result of `until`, and
/// the milliseconds of the answers that were given meanwhile.
async fn answers_beside<T>(subject: &Subject, open: Vec<Open>, until: impl Future<Output = T>) -> (T, Vec<f64>) {
    let is_over = Cell::new(false);
    let given = Cell::new(0);
    let answers = open_loop(&subject.operator, CLIENTS, ANSWERS_PER_SECOND, shuffled(open), async |connection, open| {
        if is_over.get() && given.get() >= ANSWERS {
            return None;
        }
        let began = Instant::now();
        respond(connection, open, VALUES[0], None).await;
        given.set(given.get() + 1);
        Some(milliseconds(began))
    });
    let until = async {
        sleep(CALM).await;
        let result = until.await;
        is_over.set(true);
        result
    };
    let (done, result) = join(answers, until).await;
    (result, sorted(done.results.into_iter().flatten().collect()))
}

/// Asks enough questions for `seconds` of answers.
async fn ask_for(subject: &Subject, seconds: usize) -> Vec<Open> {
    let question = question(86_400);
    let count = seconds * usize::try_from(ANSWERS_PER_SECOND).unwrap();
    let asked: Done<Open> =
        closed_loop(&subject.agent, CLIENTS, vec![(); count], async |connection, ()| ask(connection, &question).await).await;
    asked.results
}

async fn round(subject: &Subject, admin: &Target, count: usize, number: usize, rounds: &mut Rounds) {
    let ((), alone) = answers_beside(subject, ask_for(subject, 10).await, async {}).await;
    rounds.alone.push(percentile(&alone, 0.99));
    let event = format!("all.{number}");
    closed_loop(&subject.agent, CLIENTS, vec![(); count], async |connection, ()| park(connection, &event).await).await;
    let wake = async {
        let mut operator = Connection::open(&subject.operator).await;
        let began = Instant::now();
        assert_eq!(fire(&mut operator, &event).await, count);
        began.elapsed().as_secs_f64()
    };
    let (seconds, beside) = answers_beside(subject, ask_for(subject, 30).await, wake).await;
    rounds.waking.push(seconds);
    rounds.beside_wakes.push(percentile(&beside, 0.99) / percentile(&alone, 0.99));
    let pause = async {
        #[derive(Deserialize)]
        struct Sent {
            suspended: usize,
        }
        let body = format!(r#"{{"filter":{{"limit":{count}}},"reason":"A leak is examined."}}"#);
        let mut admin = Connection::open(admin).await;
        let began = Instant::now();
        let suspended = admin.post("api/v1/suspensions:broadcast", &body).await.ok::<Sent>().suspended;
        (suspended, began.elapsed().as_secs_f64())
    };
    let open = ask_for(subject, 30).await;
    // A broadcast begins with the newest intents, so those that run come after those that wait for people.
    closed_loop(&subject.agent, CLIENTS, vec![(); count], async |connection, ()| create(connection).await).await;
    let ((suspended, seconds), beside) = answers_beside(subject, open, pause).await;
    assert_eq!(suspended, count);
    rounds.pausing.push(seconds);
    rounds.beside_pauses.push(percentile(&beside, 0.99) / percentile(&alone, 0.99));
}

async fn measure(arguments: Arguments, report: &mut Report) {
    if let Some(program) = arguments.program {
        run_instead(program);
    }
    let receiver = Receiver::start().await;
    let sink = SmtpSink::start().await;
    let site = Site::production(sink.url());
    let config = site.folder().join("stops.toml");
    let endpoint =
        format!("[[wake.webhook]]\nurl = '{}'\nsecret = '{SECRET}'\nallow_subnets = ['127.0.0.0/8']\n", receiver.url());
    std::fs::write(&config, format!("{UNPRESSED}{endpoint}types = ['suspension.resumed']\nagents = ['posted']\n")).unwrap();
    let serve = vec!["--config".to_owned(), config.display().to_string()];
    let mut subject = Subject::start_in(site, Told::Nobody, serve).await;
    let admin = Target { address: subject.agent.address, key: subject.site.key("admin", "admin").await.1 };
    let posted = Target { address: subject.agent.address, key: subject.site.key("agent", "posted").await.1 };
    let mut rounds = Rounds::default();
    for number in 0..arguments.rounds {
        rounds.heard.push(percentile(&heard_by_waiting_agents(&subject, number).await, 0.99));
        let agent = std::mem::replace(&mut subject.agent, posted.clone());
        rounds.posted.push(percentile(&posted_to_an_endpoint(&subject, &receiver, 200, number).await, 0.99));
        subject.agent = agent;
        round(&subject, &admin, arguments.count, number, &mut rounds).await;
        println!("round {number} is over");
    }
    let count = arguments.count;
    let mut add = |what: String, unit: &str, values: Vec<f64>| report.add(Figure::new("W16", what, unit, values));
    add(
        format!("event → the waiting agent knows, {EVENTS_PER_SECOND} events a second, {WAITERS} agents wait, p99"),
        "ms",
        rounds.heard,
    );
    add("event → message at the endpoint of a wake webhook, one by one, p99".to_owned(), "ms", rounds.posted);
    add(format!("respond in random order, {ANSWERS_PER_SECOND} a second, nothing beside it, p99"), "ms", rounds.alone);
    add(format!("one event wakes {count} parked intents"), "s", rounds.waking);
    add(format!("one broadcast pauses {count} intents"), "s", rounds.pausing);
    for (what, ratios) in [("wakes", rounds.beside_wakes), ("pauses", rounds.beside_pauses)] {
        report.add(Figure::new("W16", format!("respond, p99 beside {count} {what} against none"), "×", ratios).at_most(2.0));
    }
    subject.kill().await;
}

fn main() {
    run("stops", measure);
}
