//! W13: far more agents than the server can serve. It must refuse some at once, say when to come back, and go on serving people.

use std::cell::Cell;
use std::time::{Duration, Instant};

use futures_util::join;
use harness::bench::arrival::{closed_loop, milliseconds, open_loop};
use harness::bench::connection::Connection;
use harness::bench::figures::{Figure, Report};
use harness::bench::percentile;
use harness::bench::subject::{Open, Subject, Told, VALUES, ask, create, question, respond};
use uuid::Uuid;

use super::Arguments;

/// Agents at the peak.
const CLIENTS: usize = 32;
/// How many agents ask at the same time under overload: more requests than may wait for the thread that writes.
const CROWD: usize = 6_000;
/// Answers by people per second while the crowd of agents asks.
const ANSWERS_PER_SECOND: u32 = 100;
const ANSWERS: usize = 500;
/// How long the crowd keeps coming.
const CROWDED: Duration = Duration::from_secs(5);

/// The result of one question under overload.
struct Tried {
    milliseconds: f64,
    accepted: bool,
    retry_after: bool,
}

pub(super) async fn measure(arguments: &Arguments, report: &mut Report) {
    let question = question(86_400);
    let mut subject = Subject::start(Told::Nobody).await;
    let open =
        closed_loop(&subject.agent, CLIENTS, vec![(); ANSWERS], async |connection, ()| ask(connection, &question).await).await;
    let create_all = async |count| {
        closed_loop(&subject.agent, CLIENTS, vec![(); count], async |connection, ()| create(connection).await).await
    };
    let step = async |connection: &mut Connection, intent| attempt(connection, intent, &question).await;
    let peak = closed_loop(&subject.agent, CLIENTS, create_all(arguments.count).await.results, step).await;
    let intents = create_all(CROWD * 10).await.results;
    let began = Instant::now();
    let accepted = Cell::new(0_u32);
    let crowded = async |connection: &mut Connection, intent: Uuid| {
        if began.elapsed() > CROWDED {
            return None;
        }
        let tried = attempt(connection, intent, &question).await;
        accepted.set(accepted.get() + u32::from(tried.accepted));
        Some(tried)
    };
    let answer = async |connection: &mut Connection, open: Open| {
        respond(connection, open, VALUES[0], None).await;
    };
    let (crowd, answers) = join!(
        closed_loop(&subject.agent, CROWD, intents, crowded),
        open_loop(&subject.operator, CLIENTS, ANSWERS_PER_SECOND, open.results, answer)
    );
    let tried: Vec<Tried> = crowd.results.into_iter().flatten().collect();
    let goodput = f64::from(accepted.get()) / CROWDED.as_secs_f64();
    let mut refused: Vec<f64> = tried.iter().filter(|tried| !tried.accepted).map(|tried| tried.milliseconds).collect();
    assert!(tried.iter().all(|tried| tried.accepted || tried.retry_after), "a refusal says when to come back");
    refused.sort_by(f64::total_cmp);
    let part = goodput / peak.per_second * 100.0;
    report.add(Figure::new("W13", format!("suspend, {CROWD} clients, part of the peak"), "%", vec![part]).at_least(90.0));
    if !refused.is_empty() {
        let p99 = percentile(&refused, 0.99);
        report.add(Figure::new("W13", format!("refusals, {CROWD} clients, p99"), "ms", vec![p99]).at_most(100.0));
    }
    let p99 = percentile(&answers.milliseconds, 0.99);
    report.add(Figure::new("W13", format!("answers by people beside {CROWD} agents, none refused, p99"), "ms", vec![p99]));
    subject.kill().await;
}

/// Asks; a refusal is a result too.
async fn attempt(connection: &mut Connection, intent: Uuid, question: &str) -> Tried {
    let sent = Instant::now();
    let answer = connection.post(&format!("api/v1/intents/{intent}/suspend"), question).await;
    assert!([200, 429, 503].contains(&answer.status), "{}", String::from_utf8_lossy(answer.body));
    let retry_after = answer.head.to_ascii_lowercase().contains("\r\nretry-after:");
    Tried { milliseconds: milliseconds(sent), accepted: answer.status == 200, retry_after }
}
