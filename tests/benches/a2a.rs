//! Asking and answering over A2A beside the server's own API, in turn, and the memory of streams of A2A (W17).
//!
//! ```text
//! cargo bench -p placet-tests --bench a2a -- --count 5000 --rounds 10 --streams 9000
//! ```
//!
//! Both ways do the same: an intent and its question come into being, and an operator's key answers, in random order. The own API needs
//! two calls to ask, and A2A one. Each stream has a task of its own, and each key has 100 streams, which is the most.
#![expect(clippy::unwrap_used, reason = "a benchmark talks to the person who runs it and ends when it cannot go on")]

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use clap::Parser;
use futures_util::stream::StreamExt;
use harness::bench::arrival::{Done, closed_loop};
use harness::bench::connection::{Connection, Target};
use harness::bench::figures::{Figure, Report};
use harness::bench::stream::EventStream;
use harness::bench::subject::{Subject, Told, VALUES, ask, question, respond};
use harness::bench::{percentile, processor_seconds, resident_mebibytes, run, shuffled};
use harness::process::run_instead;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::sleep;
use uuid::Uuid;

const CLIENTS: usize = 32;
/// How many streams of A2A one key may have.
const STREAMS_A_KEY: usize = 100;
/// Connections that are made at the same time.
const AT_ONCE: usize = 200;
/// A pause that is long enough for everything under way to arrive.
const CALM: Duration = Duration::from_secs(2);
const VERSION: &str = "a2a-version: 1.0\r\n";

#[derive(Parser)]
struct Arguments {
    /// Questions of one round.
    #[arg(long, default_value_t = 5_000)]
    count: usize,
    #[arg(long, default_value_t = 10)]
    rounds: usize,
    /// How many streams are open at the same time; the limit of open files is a bound as well.
    #[arg(long, default_value_t = 9_000)]
    streams: usize,
    /// The program to measure, if not the one built from these sources.
    #[arg(long)]
    program: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Sent {
    task: Task,
}

#[derive(Deserialize)]
struct Task {
    id: Uuid,
    status: Status,
}

#[derive(Deserialize)]
struct Status {
    state: String,
}

/// One loop over one way: the pace, and the processor time that each request took the server, in microseconds.
struct Way {
    per_second: f64,
    p99: f64,
    microseconds: f64,
}

impl Way {
    fn of<R>(done: &Done<R>, seconds: f64) -> Self {
        let count = f64::from(u32::try_from(done.results.len()).unwrap());
        Self {
            per_second: done.per_second,
            p99: percentile(&done.milliseconds, 0.99),
            microseconds: seconds / count * 1_000_000.0,
        }
    }
}

/// The question of the other benchmarks, with the names of A2A.
fn question_of_a2a() -> Value {
    let own: Value = serde_json::from_str(&question(86_400)).unwrap();
    let names = [
        ("question", "question"),
        ("response_type", "responseType"),
        ("timeout_seconds", "timeoutSeconds"),
        ("choices", "choices"),
        ("context", "context"),
        ("fallback_policy", "fallbackPolicy"),
        ("fallback_value", "fallbackValue"),
    ];
    names.iter().map(|(ours, theirs)| ((*theirs).to_owned(), own[*ours].clone())).collect::<serde_json::Map<_, _>>().into()
}

/// An id that no other message of this run has.
fn message_id() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    format!("message-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

async fn send(connection: &mut Connection, message: &Value) -> Task {
    let body = json!({"message": message}).to_string();
    connection.send("POST", "a2a/message:send", VERSION, &body).await.ok::<Sent>().task
}

async fn ask_over_a2a(connection: &mut Connection, question: &Value) -> Uuid {
    let parts = json!([{"mediaType": "application/json", "data": question}]);
    let task = send(connection, &json!({"messageId": message_id(), "role": "ROLE_USER", "parts": parts})).await;
    assert_eq!(task.status.state, "TASK_STATE_AUTH_REQUIRED");
    task.id
}

async fn answer_over_a2a(connection: &mut Connection, task: Uuid, value: &str) {
    let parts = json!([{"mediaType": "application/json", "data": {"value": value}}]);
    let message = json!({"messageId": message_id(), "taskId": task, "role": "ROLE_USER", "parts": parts});
    assert_eq!(send(connection, &message).await.status.state, "TASK_STATE_COMPLETED");
}

/// Asks and answers by the server's own API.
async fn own(subject: &Subject, count: usize) -> [Way; 2] {
    let (process, question) = (subject.server().id(), question(86_400));
    let began = processor_seconds(process);
    let asked =
        closed_loop(&subject.agent, CLIENTS, vec![(); count], async |connection, ()| ask(connection, &question).await).await;
    let between = processor_seconds(process);
    let open = shuffled(asked.results.iter().copied().enumerate().collect());
    let answer =
        async |connection: &mut Connection, (place, open)| respond(connection, open, VALUES[place % VALUES.len()], None).await;
    let answered = closed_loop(&subject.operator, CLIENTS, open, answer).await;
    [Way::of(&asked, between - began), Way::of(&answered, processor_seconds(process) - between)]
}

/// Asks and answers over A2A.
async fn over_a2a(subject: &Subject, count: usize) -> [Way; 2] {
    let (process, question) = (subject.server().id(), question_of_a2a());
    let began = processor_seconds(process);
    let ask = async |connection: &mut Connection, ()| ask_over_a2a(connection, &question).await;
    let asked = closed_loop(&subject.agent, CLIENTS, vec![(); count], ask).await;
    let between = processor_seconds(process);
    let open: Vec<(usize, Uuid)> = shuffled(asked.results.iter().copied().enumerate().collect());
    let answer = async |connection: &mut Connection, (place, task): (usize, Uuid)| {
        answer_over_a2a(connection, task, VALUES[place % VALUES.len()]).await;
    };
    let answered = closed_loop(&subject.operator, CLIENTS, open, answer).await;
    [Way::of(&asked, between - began), Way::of(&answered, processor_seconds(process) - between)]
}

/// The memory of one stream of A2A, in KiB.
#[expect(clippy::cast_precision_loss, reason = "a few thousand")]
async fn stream_kibibytes(count: usize) -> f64 {
    let mut subject = Subject::start(Told::Nobody).await;
    let question = question_of_a2a();
    let mut tasks = Vec::new();
    for first in (0..count).step_by(STREAMS_A_KEY) {
        let key = subject.site.key("agent", &format!("agent-{first}")).await.1;
        let target = Target { address: subject.agent.address, key };
        let number = STREAMS_A_KEY.min(count - first);
        let ask = async |connection: &mut Connection, ()| ask_over_a2a(connection, &question).await;
        let asked = closed_loop(&target, CLIENTS, vec![(); number], ask).await.results;
        tasks.extend(asked.into_iter().map(|task| (target.clone(), task)));
    }
    sleep(CALM).await;
    let before = resident_mebibytes(subject.server());
    let open = tasks.iter().map(async |(target, task)| {
        EventStream::open(target, &format!("a2a/tasks/{task}:subscribe?A2A-Version=1.0"), None).await.0
    });
    let streams: Vec<EventStream> = futures_util::stream::iter(open).buffered(AT_ONCE).collect().await;
    sleep(CALM).await;
    let kibibytes = (resident_mebibytes(subject.server()) - before) * 1_024.0 / count as f64;
    assert_eq!(streams.len(), count);
    subject.kill().await;
    kibibytes
}

async fn measure(arguments: Arguments, report: &mut Report) {
    if let Some(program) = arguments.program {
        run_instead(program);
    }
    let mut subject = Subject::start(Told::OnePerson).await;
    own(&subject, arguments.count / 4).await; // Warms up.
    over_a2a(&subject, arguments.count / 4).await;
    let mut rounds: Vec<([Way; 2], [Way; 2])> = Vec::new();
    for number in 0..arguments.rounds {
        let (ours, theirs);
        if number.is_multiple_of(2) {
            ours = own(&subject, arguments.count).await;
            theirs = over_a2a(&subject, arguments.count).await;
        } else {
            theirs = over_a2a(&subject, arguments.count).await;
            ours = own(&subject, arguments.count).await;
        }
        rounds.push((ours, theirs));
    }
    subject.kill().await;
    for (place, what) in ["ask", "answer"].into_iter().enumerate() {
        type Take = fn(&Way) -> f64;
        let takes: [(&str, &str, Take); 3] = [
            ("", "/s", |way| way.per_second),
            (", p99", "ms", |way| way.p99),
            (", the server's processor time", "µs", |way| way.microseconds),
        ];
        for (name, unit, take) in takes {
            let what = |way: &str| format!("{what} over {way}, {CLIENTS} clients{name}");
            let ours = rounds.iter().map(|(ours, _)| take(&ours[place])).collect();
            let theirs = rounds.iter().map(|(_, theirs)| take(&theirs[place])).collect();
            let ratios = rounds.iter().map(|(ours, theirs)| take(&theirs[place]) / take(&ours[place])).collect();
            report.add(Figure::new("W17", what("the own API"), unit, ours));
            report.add(Figure::new("W17", what("A2A"), unit, theirs));
            report.add(Figure::new("W17", what("A2A against the own API"), "×", ratios));
        }
    }
    let what = format!("memory of one stream of A2A, {} streams", arguments.streams);
    report.add(Figure::new("W17", what, "KiB", vec![stream_kibibytes(arguments.streams).await]).at_most(16.0));
}

fn main() {
    run("a2a", measure);
}
