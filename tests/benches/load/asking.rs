//! W1 to W4: create, ask, answer, and the whole way until the waiting agent has the value. The load comes in closed loops.

use std::collections::BTreeMap;

use harness::bench::arrival::{Done, closed_loop};
use harness::bench::connection::Connection;
use harness::bench::figures::{Figure, Report};
use harness::bench::subject::{Decision, Open, Subject, Told, VALUES, Writer, create, question, respond, suspend};
use harness::bench::{percentile, processor_seconds, shuffled};
use serde::Deserialize;
use uuid::Uuid;

use super::reference::Reference;
use super::{Arguments, durability};

/// One way to load the server.
struct Shape {
    clients: usize,
    /// Whether answers carry an `Idempotency-Key`.
    keys: bool,
    /// Whether questions are answered in the order in which they were asked. People do not answer in this order.
    in_order: bool,
}

const SHAPES: [Shape; 5] = [
    Shape { clients: 32, keys: false, in_order: false },
    Shape { clients: 256, keys: false, in_order: false },
    Shape { clients: 32, keys: true, in_order: false },
    Shape { clients: 256, keys: true, in_order: false },
    Shape { clients: 32, keys: false, in_order: true },
];

/// The values of each quantity, one for each round; the key is the workload, the name that is printed, and the unit.
#[derive(Default)]
struct Rounds(BTreeMap<(&'static str, String, &'static str), Vec<f64>>);

impl Rounds {
    fn note(&mut self, workload: &'static str, what: String, unit: &'static str, value: f64) {
        self.0.entry((workload, what, unit)).or_default().push(value);
    }

    /// Notes the pace of a closed loop, its latencies, and the cost of each request for the server.
    fn note_loop<R>(&mut self, workload: &'static str, what: &str, done: &Done<R>, before: &Used, after: &Used) {
        let count = f64::from(u32::try_from(done.results.len()).unwrap());
        self.note(workload, what.to_owned(), "/s", done.per_second);
        for (name, part) in [("p50", 0.50), ("p99", 0.99), ("p99.9", 0.999)] {
            self.note(workload, format!("{what}, {name}"), "ms", percentile(&done.milliseconds, part));
        }
        let processor = (after.processor_seconds - before.processor_seconds) / count;
        self.note(workload, format!("{what}, the server's processor time"), "µs", processor * 1_000_000.0);
        let (before, after) = (&before.writer, &after.writer);
        let busy = (after.busy_seconds - before.busy_seconds) / (count / done.per_second);
        self.note(workload, format!("{what}, the writer is busy"), "%", busy * 100.0);
        let commits = after.commits - before.commits;
        self.note(
            workload,
            format!("{what}, one commit"),
            "ms",
            (after.commit_seconds - before.commit_seconds) / commits * 1_000.0,
        );
        self.note(workload, format!("{what}, requests per commit"), "", count / commits);
    }
}

/// The resources that the server had used up to a moment.
struct Used {
    processor_seconds: f64,
    writer: Writer,
}

impl Used {
    async fn by(subject: &Subject) -> Self {
        Self { processor_seconds: processor_seconds(subject.server().id()), writer: subject.writer().await }
    }
}

/// The goal of each figure.
fn with_goal(figure: Figure) -> Figure {
    match (figure.workload.as_str(), figure.what.as_str(), figure.unit.as_str()) {
        ("W1", "create, 32 clients", "/s") => figure.at_least(22_000.0),
        ("W2", "suspend, 32 clients", "/s") | ("W3", "respond, 32 clients", "/s") => figure.at_least(10_000.0),
        ("W2", "suspend, 256 clients", "/s") => figure.at_least(12_000.0),
        ("W3", "respond, 256 clients", "/s") => figure.at_least(14_000.0),
        ("W3", "respond, 32 clients, keys", "/s") => figure.at_least(9_000.0),
        ("W3", "respond, 256 clients, keys", "/s") => figure.at_least(11_000.0),
        ("W3", "respond, 32 clients, p99", "ms") => figure.at_most(10.0),
        ("W3", "respond, 32 clients, p99.9", "ms") => figure.at_most(20.0),
        ("W4", "create, suspend, respond, heard; 32 clients", "/s") => figure.at_least(2_500.0),
        _ => figure,
    }
}

pub(super) async fn measure(arguments: &Arguments, report: &mut Report) {
    let mut subject = Subject::start(Told::OnePerson).await;
    let mut decisions = Vec::new();
    let mut rounds = Rounds::default();
    let mut log_mebibytes = Vec::new();
    if !arguments.asks_for(&["W2", "W3"]) && arguments.asks_for(&["W1"]) {
        only_creates(arguments, &subject, &mut rounds).await;
    }
    for shape in SHAPES.iter().filter(|_| arguments.asks_for(&["W2", "W3"])) {
        decisions.extend(round(&subject, shape, arguments.count / 4, &mut Rounds::default()).await); // Warms up.
        for _ in 0..arguments.rounds {
            decisions.extend(round(&subject, shape, arguments.count, &mut rounds).await);
            log_mebibytes.push(log_mebibytes_of(&subject));
        }
    }
    for _ in 0..arguments.rounds {
        if arguments.asks_for(&["W4"]) {
            decisions.extend(whole_loops(&subject, arguments.count / 4, &mut rounds).await);
        }
    }
    let peer = if arguments.peer { Some(Reference::start().await.measure(arguments.rounds).await) } else { None };
    durability::prove(&mut subject, &decisions).await;
    for ((workload, what, unit), values) in rounds.0 {
        let figure = with_goal(Figure::new(workload, what, unit, values));
        let beside = peer.as_ref().and_then(|peer| peer.get(&(figure.workload.clone(), figure.what.clone())));
        report.add(match beside {
            Some(values) if unit == "/s" => figure.beside(super::reference::NAME, values.clone()),
            _ => figure,
        });
    }
    if !log_mebibytes.is_empty() {
        report.add(Figure::new("W3", "write-ahead log, after each round", "MiB", log_mebibytes).at_most(64.0));
    }
    subject.kill().await;
}

/// The size of the write-ahead log, in MiB.
fn log_mebibytes_of(subject: &Subject) -> f64 {
    let log = std::fs::metadata(subject.site.database().with_extension("db-wal")).unwrap();
    u32::try_from(log.len() / 1_024).map(f64::from).unwrap() / 1_024.0
}

/// W1 alone. Beside W2 and W3 a round of 4,000 creates is over after a tenth of a second; alone it can be long.
async fn only_creates(arguments: &Arguments, subject: &Subject, rounds: &mut Rounds) {
    for clients in [32, 256] {
        let rush = async |count| closed_loop(&subject.agent, clients, vec![(); count], async |at, ()| create(at).await).await;
        rush(arguments.count / 4).await; // Warms up.
        for _ in 0..arguments.rounds {
            let began = Used::by(subject).await;
            let created = rush(arguments.count).await;
            rounds.note_loop("W1", &format!("create, {clients} clients"), &created, &began, &Used::by(subject).await);
        }
    }
}

/// Creates, asks and answers `count` times each; returns the answers.
async fn round(subject: &Subject, shape: &Shape, count: usize, rounds: &mut Rounds) -> Vec<Decision> {
    let &Shape { clients, keys, in_order } = shape;
    let question = question(86_400);
    let began = Used::by(subject).await;
    let created = closed_loop(&subject.agent, clients, vec![(); count], async |connection, ()| create(connection).await).await;
    let created_at = Used::by(subject).await;
    let ask = async |connection: &mut Connection, intent: Uuid| suspend(connection, intent, &question).await;
    let asked = closed_loop(&subject.agent, clients, created.results.clone(), ask).await;
    let asked_at = Used::by(subject).await;
    let open: Vec<(usize, Open)> = asked.results.iter().copied().enumerate().collect();
    let open = if in_order { open } else { shuffled(open) };
    let answer = async |connection: &mut Connection, (place, open): (usize, Open)| {
        respond(connection, open, VALUES[place % VALUES.len()], keys.then_some(open.suspension)).await
    };
    let answered = closed_loop(&subject.operator, clients, open, answer).await;
    let answered_at = Used::by(subject).await;
    let with = match (keys, in_order) {
        (true, _) => ", keys",
        (false, true) => ", in the order of asking",
        (false, false) => "",
    };
    if !keys && !in_order {
        rounds.note_loop("W1", &format!("create, {clients} clients"), &created, &began, &created_at);
        rounds.note_loop("W2", &format!("suspend, {clients} clients"), &asked, &created_at, &asked_at);
    }
    rounds.note_loop("W3", &format!("respond, {clients} clients{with}"), &answered, &asked_at, &answered_at);
    answered.results
}

/// Creates, asks, waits for the answer on a second connection, answers, and ends when the waiting agent has the value.
async fn whole_loops(subject: &Subject, count: usize, rounds: &mut Rounds) -> Vec<Decision> {
    #[derive(Deserialize)]
    struct Heard {
        response: String,
    }
    const CLIENTS: usize = 32;
    let question = question(86_400);
    // A loop's client has three connections: to create and ask, to wait, to answer.
    let waiting = std::cell::RefCell::new(harness::bench::arrival::connections(&subject.agent, CLIENTS).await);
    let answering = std::cell::RefCell::new(harness::bench::arrival::connections(&subject.operator, CLIENTS).await);
    let step = async |connection: &mut Connection, place: usize| {
        let value = VALUES[place % VALUES.len()];
        let (mut waits, mut answers) = (waiting.borrow_mut().pop().unwrap(), answering.borrow_mut().pop().unwrap());
        let intent = create(connection).await;
        let open = suspend(connection, intent, &question).await;
        let path = format!("api/v1/suspensions/{}?wait=50", open.suspension);
        let wait = async { waits.get(&path).await.ok::<Heard>().response };
        let (heard, decision) = futures_util::join!(wait, respond(&mut answers, open, value, None));
        assert_eq!(heard, value);
        waiting.borrow_mut().push(waits);
        answering.borrow_mut().push(answers);
        decision
    };
    let began = Used::by(subject).await;
    let done = closed_loop(&subject.agent, CLIENTS, (0..count).collect(), step).await;
    let what = format!("create, suspend, respond, heard; {CLIENTS} clients");
    rounds.note_loop("W4", &what, &done, &began, &Used::by(subject).await);
    done.results
}
