//! W12: PostgreSQL, with one server and with two on one database.

use futures_util::join;
use harness::bench::arrival::{Done, closed_loop};
use harness::bench::connection::{Connection, Target};
use harness::bench::figures::{Figure, Report};
use harness::bench::subject::{Open, Subject, VALUES, ask, question, respond};
use harness::postgres::Cluster;
use serde_json::Value;

use super::Arguments;

/// Clients in all.
const CLIENTS: usize = 64;
/// Questions answered at both servers at once.
const RACES: usize = 1_000;
const DURABILITY: &str = "PostgreSQL fsync=on synchronous_commit=on";

pub(super) async fn measure(arguments: &Arguments, report: &mut Report) {
    let cluster = Cluster::durable();
    cluster.sql("postgres", "CREATE DATABASE load").await;
    let mut one = Subject::start_on(cluster.url("load")).await;
    decisions(&[&one.operator], &one.agent, arguments.count / 10).await; // Warms up.
    let count = arguments.count / 4;
    let mut paces = Vec::new();
    for _ in 0..arguments.rounds {
        paces.push(decisions(&[&one.operator], &one.agent, count).await);
    }
    report.add(Figure::new("W12", "respond, one server, 64 clients", "/s", paces).at_least(2_500.0).on(DURABILITY));
    let mut two = Subject::start_on(cluster.url("load")).await;
    let mut paces = Vec::new();
    for _ in 0..arguments.rounds {
        paces.push(decisions(&[&one.operator, &two.operator], &one.agent, count).await);
    }
    report.add(Figure::new("W12", "respond, two servers, 64 clients", "/s", paces).at_least(2_500.0).on(DURABILITY));
    let twice = races(&one, &two).await;
    let what = format!("questions of {RACES}, answered at both servers at once, that were decided twice or not at all");
    report.add(Figure::new("W12", what, "", vec![twice]).at_most(0.0).on(DURABILITY));
    one.kill().await;
    two.kill().await;
}

/// Asks `count` questions and answers them, spread over the servers; returns the answers per second.
async fn decisions(servers: &[&Target], agent: &Target, count: usize) -> f64 {
    let open = asked(agent, count).await;
    let answer = async |connection: &mut Connection, open: Open| respond(connection, open, VALUES[0], None).await;
    let shares = open.chunks(count.div_ceil(servers.len())).zip(servers);
    let clients = CLIENTS / servers.len();
    let loops = shares.map(|(share, server)| closed_loop(server, clients, share.to_vec(), &answer));
    let done: Vec<Done<_>> = futures_util::future::join_all(loops).await;
    done.iter().map(|done| done.per_second).sum()
}

async fn asked(agent: &Target, count: usize) -> Vec<Open> {
    let question = question(86_400);
    closed_loop(agent, CLIENTS, vec![(); count], async |connection, ()| ask(connection, &question).await).await.results
}

/// Answers each question at both servers at once, with different values; returns the number of questions that did not end with
/// exactly one winner whose value was kept.
async fn races(one: &Subject, two: &Subject) -> f64 {
    let open = asked(&one.agent, RACES).await;
    let answer = |value: &'static str| {
        async move |connection: &mut Connection, open: Open| {
            let body = format!(r#"{{"suspension_id":"{}","value":"{value}"}}"#, open.suspension);
            let status = connection.post(&format!("api/v1/intents/{}/suspend/respond", open.intent), &body).await.status;
            assert!([200, 409].contains(&status), "{status}");
            status == 200
        }
    };
    let (left, right) = join!(
        closed_loop(&one.operator, CLIENTS / 2, open.clone(), answer(VALUES[0])),
        closed_loop(&two.operator, CLIENTS / 2, open.clone(), answer(VALUES[1]))
    );
    let read = async |connection: &mut Connection, open: Open| -> Value {
        connection.get(&format!("api/v1/suspensions/{}", open.suspension)).await.ok::<Value>()["response"].clone()
    };
    let kept = closed_loop(&two.operator, CLIENTS, open, read).await;
    let wrong = kept.results.iter().zip(left.results.iter().zip(&right.results)).filter(|(kept, won)| match won {
        (true, false) => **kept != VALUES[0],
        (false, true) => **kept != VALUES[1],
        (true, true) | (false, false) => true,
    });
    f64::from(u32::try_from(wrong.count()).unwrap())
}
