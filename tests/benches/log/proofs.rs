//! Proofs that the log contains an event, and receipts of decisions, at random over all events.

use harness::bench::arrival::closed_loop;
use harness::bench::connection::Connection;
use harness::bench::figures::Report;
use harness::bench::shuffled;
use harness::bench::subject::Subject;
use serde_json::Value;
use uuid::Uuid;

use super::rows::Rows;
use super::{each, times};

/// The longest that the slowest hundredth of the proofs may take, in milliseconds.
const GOAL: f64 = 10.0;
/// One receipt is made and read where so many proofs are read: making one signs a checkpoint.
const RECEIPTS: usize = 10;

pub(super) async fn measure(subject: &Subject, rows: &mut Rows, reads: usize, report: &mut Report) {
    let events = rows.number("SELECT size AS number FROM tree");
    let mut reader = Connection::open(&subject.operator).await;
    let newest: Vec<Value> = reader.get("api/v1/checkpoints?limit=1").await.ok();
    let size = newest[0]["checkpoint_id"].as_str().unwrap();
    let paths = rows
        .events(reads)
        .into_iter()
        .map(|one| format!("api/v1/checkpoints/{size}.{}/proof/{}", one.intent, one.event))
        .collect();
    let proofs = each(&subject.operator, paths).await;
    for figure in times(&format!("inclusion proof of one of {events} events"), &proofs, GOAL) {
        report.add(figure);
    }
    let issue = async |connection: &mut Connection, suspension: Uuid| {
        let reply = connection.post(&format!("api/v1/suspensions/{suspension}/receipt"), "").await;
        // One of a thousand questions is open, and has no receipt.
        (reply.status != 409).then(|| reply.ok::<Value>()["receipt_id"].as_str().unwrap().to_owned())
    };
    let issued = closed_loop(&subject.operator, 1, rows.questions(reads / RECEIPTS), issue).await.results;
    let paths = issued.into_iter().flatten().map(|id| format!("api/v1/receipts/{id}")).collect();
    let receipts = each(&subject.operator, shuffled(paths)).await;
    for figure in times(&format!("receipt of a decision, {events} events"), &receipts, GOAL) {
        report.add(figure);
    }
}
