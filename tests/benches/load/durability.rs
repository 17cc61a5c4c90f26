//! A check that comes before every figure: acknowledged writes must survive a kill, and every chain must be whole. Otherwise a
//! server could be fast because it forgets.

use std::collections::HashMap;

use domain::log::{Sealed, verify_chain};
use harness::bench::arrival::closed_loop;
use harness::bench::connection::Connection;
use harness::bench::subject::{Decision, Subject};
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

/// Records of one page.
const PAGE: usize = 1_000;
/// Chains read at the same time.
const CLIENTS: usize = 16;

#[derive(Deserialize)]
struct Page {
    suspensions: Vec<Record>,
    next_cursor: Option<String>,
}

#[derive(Deserialize)]
struct Record {
    id: Uuid,
    response: Option<Value>,
}

/// Kills the server, starts it again, reads every answer back and verifies the chain of every intent that was decided.
pub(super) async fn prove(subject: &mut Subject, decisions: &[Decision]) {
    subject.kill().await;
    subject.start_again().await;
    let mut reader = Connection::open(&subject.operator).await;
    let mut kept = HashMap::new();
    let mut cursor = String::new();
    loop {
        let page: Page = reader.get(&format!("api/v1/suspensions?state=all&limit={PAGE}{cursor}")).await.ok();
        kept.extend(page.suspensions.into_iter().map(|record| (record.id, record.response)));
        let Some(next) = page.next_cursor else { break };
        cursor = format!("&cursor={next}");
    }
    for decision in decisions {
        let response = kept.get(&decision.open.suspension).expect("a question that was acknowledged is kept");
        assert_eq!(response.as_ref(), Some(&Value::from(decision.value)), "an answer that was acknowledged is kept");
    }
    let verify = async |connection: &mut Connection, intent: Uuid| {
        let events: Vec<Value> = connection.get(&format!("api/v1/intents/{intent}/events?include=all&limit=1000")).await.ok();
        let sealed: Vec<Sealed> = events.iter().rev().map(|event| Sealed::from_served(event).unwrap()).collect();
        verify_chain(&sealed).expect("the chain is whole")
    };
    let intents: Vec<Uuid> = decisions.iter().map(|decision| decision.open.intent).collect();
    let verified = closed_loop(&subject.operator, CLIENTS, intents, verify).await;
    let events: u64 = verified.results.iter().sum();
    println!(
        "durability: after kill -9 all {} answers are there, {events} events in {} chains verified",
        decisions.len(),
        verified.results.len()
    );
}
