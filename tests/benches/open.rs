//! What many open questions cost: memory, the start, and the time of asking and answering beside them. (W6: RSS ≤ 64 MB at 10,000,
//! 128 MB at 1,000,000, p99 within twice that of an empty server. W8: ready ≤ 250 ms after kill -9 at 1,000,000.)
//!
//! ```text
//! cargo bench -p placet-tests --bench open -- --open 10000 --probes 5000 --starts 5 --outage 1
//! ```
//!
//! With `--outage 1` the server is at last started as after an outage of ten minutes in which every open question had a fallback: the most
//! a start ever has to do.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark talks to whoever runs it and ends when it cannot go on"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use harness::api::Api;
use harness::figures::{Arguments, circumstances, percentile, resident_kib};
use harness::process::{Running, Site};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// Requests under way at the same time.
const CLIENTS: usize = 32;
/// The pause between two looks at a server that starts.
const LOOK: Duration = Duration::from_millis(1);
/// How long an outage the last start makes good for, in seconds.
const OUTAGE_SECONDS: i64 = 600;
/// How long a start may take before the run counts as failed.
const START_WITHIN: Duration = Duration::from_mins(30);

/// How long asking and answering took, in milliseconds, sorted.
#[derive(Default)]
struct Latencies {
    asked: Vec<f64>,
    answered: Vec<f64>,
}

/// Creates an intent and asks; returns its id and the question's, and how long asking took.
async fn ask(agent: &Api) -> (domain::ids::IntentId, String, f64) {
    let intent = agent.active_intent().await;
    let change = json!({
        "timeout_seconds": 31_536_000, "fallback_policy": "complete_with_fallback", "fallback_value": "deny",
        "context": {"order_id": "12345", "note": "x".repeat(1_000)},
    });
    let began = Instant::now();
    let asked = agent.suspend(intent, change).await.ok();
    (intent, asked["id"].as_str().unwrap().to_owned(), milliseconds(began))
}

fn milliseconds(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1_000.0
}

/// Asks `count` questions; with an operator each is answered at once, without one they stay open.
async fn work(agent: &Api, operator: Option<&Api>, count: u32) -> Latencies {
    let left = Arc::new(AtomicU32::new(count));
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let (agent, operator, left) = (agent.clone(), operator.cloned(), left.clone());
        clients.spawn(async move {
            let mut latencies = Latencies::default();
            while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
                let (intent, suspension, took) = ask(&agent).await;
                latencies.asked.push(took);
                if let Some(operator) = &operator {
                    let began = Instant::now();
                    operator.respond(intent, &suspension, "approve").await.ok();
                    latencies.answered.push(milliseconds(began));
                }
            }
            latencies
        });
    }
    let mut all = Latencies::default();
    for latencies in clients.join_all().await {
        all.asked.extend(latencies.asked);
        all.answered.extend(latencies.answered);
    }
    all.asked.sort_by(f64::total_cmp);
    all.answered.sort_by(f64::total_cmp);
    all
}

/// Starts a server; returns how long it took until it was ready, in milliseconds.
async fn start(site: &Site, reader: &Api) -> (Running, f64) {
    let mut command = site.command(["serve"]);
    // Nobody is mailed: what is measured are open questions.
    command.env_remove("PLACET_OPERATORS");
    let began = Instant::now();
    let server = site.start(command);
    loop {
        let ready = reader.try_send(reader.request("GET", "readyz")).await;
        if ready.is_ok_and(|reply| reply.status == 200) {
            return (server, milliseconds(began));
        }
        assert!(began.elapsed() < START_WITHIN, "the server does not become ready: {}", server.errors());
        sleep(LOOK).await;
    }
}

fn print(what: &str, latencies: &Latencies) {
    let figure = |of: &[f64], part| percentile(of, part);
    println!(
        "{what}: suspend p50 {:.2}, p99 {:.2} ms; respond p50 {:.2}, p99 {:.2} ms ({CLIENTS} clients)",
        figure(&latencies.asked, 0.50),
        figure(&latencies.asked, 0.99),
        figure(&latencies.answered, 0.50),
        figure(&latencies.answered, 0.99),
    );
}

async fn measure(arguments: &Arguments) {
    let (open, probes) = (arguments.value("open"), arguments.value("probes"));
    let site = Site::development();
    let agent = site.api("agent", "agent").await;
    let operator = site.api("operator", "operator").await;
    let (mut server, _) = start(&site, &operator).await;
    work(&agent, Some(&operator), probes / 5).await; // Warms up, and does not count.
    print("with none open", &work(&agent, Some(&operator), probes).await);
    let began = Instant::now();
    work(&agent, None, open).await;
    println!("{open} questions were asked in {:.1} s", began.elapsed().as_secs_f64());
    print(&format!("with {open} open"), &work(&agent, Some(&operator), probes).await);
    let memory = |server: &Running| resident_kib(server).map_or(0, |kib| kib / 1_024);
    println!("the server's memory: {} MiB with {open} open", memory(&server));
    let mut starts = Vec::new();
    for _ in 0..arguments.value("starts").max(1) {
        server.kill().await;
        let (next, took) = start(&site, &operator).await;
        server = next;
        starts.push(took);
    }
    starts.sort_by(f64::total_cmp);
    println!(
        "ready after kill -9 with {open} open: median {:.0} ms, from {:.0} to {:.0} ms; {} MiB then",
        percentile(&starts, 0.50),
        starts[0],
        percentile(&starts, 1.0),
        memory(&server)
    );
    if arguments.value("outage") > 0 {
        server.kill().await;
        site.away_for(OUTAGE_SECONDS).await;
        let (next, took) = start(&site, &operator).await;
        server = next;
        println!("ready after an outage that gives time back to {open} questions: {took:.0} ms");
    }
    println!("{}", circumstances());
    server.kill().await;
}

fn main() {
    // `cargo test --all-targets` starts benchmarks as well, but only `cargo bench` wants figures.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let arguments = Arguments::read(&[("open", 10_000), ("probes", 5_000), ("starts", 5), ("outage", 1)]);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(measure(&arguments));
}
