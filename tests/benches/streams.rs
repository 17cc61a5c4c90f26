//! Thousands of streams beside thousands of waits. Measures their memory and the time from a change until the client has it, and
//! checks that no stream loses an event when its server dies.
//!
//! ```text
//! cargo bench -p placet-tests --bench streams -- --count 9000
//! ```
//!
//! Half of the streams carry the events of an agent, the other half those of one intent; each agent has a key of its own. Server
//! and clients each need a file for every connection, so the count is limited by the system's limit of open files.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark talks to the person who runs it and ends when it cannot go on"
)]

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Parser;
use futures_util::future::{join, join_all};
use futures_util::stream::{FuturesUnordered, StreamExt};
use harness::bench::arrival::{closed_loop, milliseconds, open_loop};
use harness::bench::connection::{Connection, Target};
use harness::bench::figures::{Figure, Report};
use harness::bench::stream::EventStream;
use harness::bench::subject::{Open, Subject, Told, VALUES, ask, create, question, respond};
use harness::bench::{percentile, processor_seconds, resident_mebibytes, run, shuffled};
use harness::process::run_instead;
use serde::Deserialize;
use tokio::time::sleep;
use uuid::Uuid;

/// Requests under way at the same time while the server is prepared.
const CLIENTS: usize = 32;
/// Connections that are made at the same time.
const AT_ONCE: usize = 200;
/// Changes and answers a second.
const PER_SECOND: u32 = 250;
/// How long a wait lasts before the server answers that the question is still open, in seconds.
const WAIT_SECONDS: u32 = 50;
/// A pause that is long enough for everything under way to arrive.
const CALM: Duration = Duration::from_secs(2);
/// How long an agent pauses before it repeats a wait that a busy server refused.
const REFUSED_PAUSE: Duration = Duration::from_secs(1);
/// The number of waits that begin in a millisecond.
const WAITS_A_MILLISECOND: usize = 2;
/// How long the idle server is measured.
const IDLE: Duration = Duration::from_secs(20);

#[derive(Parser)]
struct Arguments {
    /// How many streams and how many waits.
    #[arg(long, default_value_t = 9_000)]
    count: usize,
    /// How many changes and how many answers.
    #[arg(long, default_value_t = 3_000)]
    changes: usize,
    /// The program to measure, if not the one built from these sources.
    #[arg(long)]
    program: Option<PathBuf>,
}

#[derive(Deserialize)]
struct NewKey {
    key: String,
}

/// An agent with an intent that it changes, a question for which it waits, and a stream.
struct Agent {
    target: Target,
    path: String,
    intent: Uuid,
    open: Open,
    /// How often the intent was changed, and when it was changed last.
    changed: RefCell<(u64, Option<Instant>)>,
    /// The number of the last change that the stream has reported, and the id of the last event that it has sent.
    told: RefCell<(u64, Option<String>)>,
}

impl Agent {
    async fn new(connection: &mut Connection, subject: &Subject, number: usize) -> Self {
        let body = format!(r#"{{"role":"agent","name":"agent-{number}"}}"#);
        let NewKey { key } = connection.post("api/v1/keys", &body).await.ok();
        let target = Target { address: subject.agent.address, key };
        let mut connection = Connection::open(&target).await;
        let intent = create(&mut connection).await;
        let open = ask(&mut connection, &question(3_600)).await;
        let path = match number % 2 {
            0 => format!("api/v1/agents/agent-{number}/subscribe"),
            _ => format!("api/v1/intents/{intent}/subscribe"),
        };
        Self { target, path, intent, open, changed: RefCell::default(), told: RefCell::default() }
    }

    /// Changes the intent.
    async fn change(&self, connection: &mut Connection) {
        let (changes, _) = *self.changed.borrow();
        let body = format!(r#"{{"patches":[{{"op":"set","path":"step","value":{}}}]}}"#, changes + 1);
        let headers = format!("if-match: {}\r\nx-api-key: {}\r\n", changes + 1, self.target.key);
        *self.changed.borrow_mut() = (changes + 1, Some(Instant::now()));
        let path = format!("api/v1/intents/{}/state", self.intent);
        let answer = connection.send("POST", &path, &headers, &body).await;
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(answer.body));
    }

    async fn stream(&self) -> (EventStream, usize) {
        let after = self.told.borrow().1.clone();
        EventStream::open(&self.target, &self.path, after.as_deref()).await
    }

    /// Receives the next event. If it reports a change, returns the time since that change was sent, in milliseconds.
    async fn hear(&self, stream: &mut EventStream) -> Option<f64> {
        let event = stream.next().await.expect("the stream goes on");
        let step = event.set("step");
        let mut told = self.told.borrow_mut();
        told.1 = Some(event.id);
        let step = step?;
        assert_eq!(step, told.0 + 1, "{} lost or doubled an event", self.path);
        told.0 = step;
        self.changed.borrow().1.map(milliseconds)
    }

    /// Hears until all changes were told.
    async fn catch_up(&self, stream: &mut EventStream) {
        while self.told.borrow().0 < self.changed.borrow().0 {
            self.hear(stream).await;
        }
    }

    /// Waits until the question is answered; counts in `refused` how often a busy server refused the wait.
    async fn wait(&self, refused: &Cell<usize>) {
        #[derive(Deserialize)]
        struct Heard {
            response: Option<String>,
        }
        let path = format!("api/v1/suspensions/{}?wait={WAIT_SECONDS}", self.open.suspension);
        let mut connection = Connection::open(&self.target).await;
        loop {
            let answer = connection.get(&path).await;
            if answer.status == 503 {
                refused.set(refused.get() + 1);
                sleep(REFUSED_PAUSE).await;
            } else if answer.ok::<Heard>().response.is_some() {
                return;
            }
        }
    }
}

/// Does all steps, at most [`AT_ONCE`] at the same time.
async fn gently<T>(steps: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    futures_util::stream::iter(steps).buffered(AT_ONCE).collect().await
}

/// The memory of the server, after a pause, in MiB.
async fn memory(subject: &Subject) -> f64 {
    sleep(CALM).await;
    resident_mebibytes(subject.server())
}

#[expect(clippy::cast_precision_loss, reason = "a few thousand")]
fn kibibytes_each(mebibytes: f64, count: usize) -> f64 {
    mebibytes * 1_024.0 / count as f64
}

/// The latencies of changes and answers under load, in milliseconds, sorted.
struct Latencies {
    told: Vec<f64>,
    heard: Vec<f64>,
}

/// Changes intents and answers questions at a steady rate; all streams and waits are open.
async fn under_load(subject: &Subject, agents: &[Agent], streams: &mut [EventStream], changes: usize) -> (Latencies, f64) {
    let chosen: Vec<usize> = shuffled((0..agents.len()).collect()).into_iter().take(changes).collect();
    let refused = Cell::new(0);
    let (told, heard, sent) = (RefCell::new(Vec::new()), RefCell::new(Vec::new()), RefCell::new(vec![None; agents.len()]));
    let listening = join_all(agents.iter().zip(streams).map(async |(agent, stream)| {
        loop {
            let took = agent.hear(stream).await;
            told.borrow_mut().extend(took);
        }
    }));
    let mut waits: FuturesUnordered<_> = agents
        .iter()
        .enumerate()
        .map(async |(number, agent)| {
            sleep(Duration::from_millis(u64::try_from(number / WAITS_A_MILLISECOND).unwrap())).await;
            agent.wait(&refused).await;
            let sent: Option<Instant> = sent.borrow()[number];
            heard.borrow_mut().push(milliseconds(sent.expect("the question was answered")));
        })
        .collect();
    let before = resident_mebibytes(subject.server());
    let load = async {
        sleep(Duration::from_millis(u64::try_from(agents.len() / WAITS_A_MILLISECOND).unwrap())).await;
        let waiting = memory(subject).await - before;
        let answers = open_loop(&subject.operator, CLIENTS, PER_SECOND, chosen.clone(), async |connection, number| {
            sent.borrow_mut()[number] = Some(Instant::now());
            respond(connection, agents[number].open, VALUES[number % VALUES.len()], None).await;
        });
        let writers = async |connection: &mut Connection, number: usize| agents[number].change(connection).await;
        let keyless = Target { address: subject.agent.address, key: String::new() };
        join(answers, open_loop(&keyless, CLIENTS, PER_SECOND, chosen.clone(), writers)).await;
        sleep(CALM).await;
        waiting
    };
    let all_heard = async {
        while heard.borrow().len() < changes {
            waits.next().await;
        }
    };
    let waiting = tokio::select! {
        _ = listening => unreachable!("streams do not end"),
        (waiting, ()) = join(load, all_heard) => waiting,
    };
    drop(waits);
    println!("{} waits were refused because the server was busy, and began again", refused.get());
    let sorted = |values: RefCell<Vec<f64>>| {
        let mut values = values.into_inner();
        values.sort_by(f64::total_cmp);
        values
    };
    let latencies = Latencies { told: sorted(told), heard: sorted(heard) };
    assert_eq!(latencies.told.len(), changes, "each change is told once");
    (latencies, waiting)
}

/// Loses all connections, changes each intent twice, kills the server in between, and lets all streams come back; returns the seconds
/// until each has what it missed, and how many tries were refused.
async fn come_back(subject: &mut Subject, agents: &[Agent], streams: Vec<EventStream>) -> (f64, usize) {
    let numbers = || (0..agents.len()).collect::<Vec<_>>();
    let keyless = Target { address: subject.agent.address, key: String::new() };
    let change = async |connection: &mut Connection, number: usize| agents[number].change(connection).await;
    drop(streams);
    closed_loop(&keyless, CLIENTS, numbers(), change).await;
    subject.kill().await;
    subject.start_again().await;
    closed_loop(&keyless, CLIENTS, numbers(), change).await;
    let began = Instant::now();
    let back = gently(agents.iter().map(async |agent| {
        let (mut stream, refused) = agent.stream().await;
        agent.catch_up(&mut stream).await;
        (stream, refused)
    }))
    .await;
    let names: HashSet<&str> = agents.iter().map(|agent| agent.path.as_str()).collect();
    assert_eq!(names.len(), agents.len(), "each stream is one of its own");
    (began.elapsed().as_secs_f64(), back.iter().map(|(_, refused)| refused).sum())
}

async fn measure(arguments: Arguments, report: &mut Report) {
    if let Some(program) = &arguments.program {
        run_instead(program.clone());
    }
    let count = arguments.count;
    let mut subject = Subject::start(Told::Nobody).await;
    let admin = Target { address: subject.agent.address, key: subject.site.key("admin", "admin").await.1 };
    let made = closed_loop(&admin, CLIENTS, (0..count).collect(), async |connection, number| {
        Agent::new(connection, &subject, number).await
    });
    let agents = made.await.results;
    let before = memory(&subject).await;
    let mut streams: Vec<EventStream> =
        gently(agents.iter().map(Agent::stream)).await.into_iter().map(|(stream, _)| stream).collect();
    for (agent, stream) in agents.iter().zip(&mut streams) {
        assert_eq!(agent.hear(stream).await, None, "a stream begins with its place");
    }
    let each_stream = kibibytes_each(memory(&subject).await - before, count);
    let processor = processor_seconds(subject.server().id());
    sleep(IDLE).await;
    let idle = (processor_seconds(subject.server().id()) - processor) / IDLE.as_secs_f64() * 100.0;
    let (latencies, waiting) = under_load(&subject, &agents, &mut streams, arguments.changes).await;
    let what = |what: &str| format!("{what}, {count} streams and {count} waits");
    let figure = |name: &str, unit: &str, value: f64| Figure::new("W5", what(name), unit, vec![value]);
    report.add(figure("memory of one stream", "KiB", each_stream).at_most(16.0));
    report.add(figure("memory of one wait", "KiB", kibibytes_each(waiting, count)).at_most(16.0));
    report.add(figure("processor time of idle streams", "% of a core", idle));
    for (name, part) in [("p50", 0.50), ("p99", 0.99), ("most", 1.0)] {
        let told = format!("change to stream, {PER_SECOND} a second beside as many answers, {name}");
        report.add(figure(&told, "ms", percentile(&latencies.told, part)));
        let heard = format!("answer to wait, {PER_SECOND} a second beside as many changes, {name}");
        report.add(figure(&heard, "ms", percentile(&latencies.heard, part)));
    }
    let (seconds, refused) = come_back(&mut subject, &agents, streams).await;
    report.add(figure("after SIGKILL all streams are back with every event", "s", seconds));
    println!("{refused} tries to come back were refused because the server was busy");
    println!("{} changes were told in their order, none was lost", 2 * count + arguments.changes);
    subject.kill().await;
}

fn main() {
    run("streams", measure);
}
