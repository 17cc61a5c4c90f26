//! Facts that must hold in a database, whatever happened to its servers. They are read from the rows and not from the servers'
//! replies.
//!
//! The log is what the rest is compared with: each question has the ending, and each intent the state, that its events tell, and
//! the events tell each ending once.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use domain::log::{Follower, Hash, Sealed};
use harness::postgres::{Cluster, Row, Snapshot};
use serde_json::Value;

/// The numbers of rows that were checked.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Looked {
    pub(super) intents: usize,
    pub(super) events: usize,
    pub(super) questions: usize,
    pub(super) messages: usize,
}

/// One event, parsed.
struct Event {
    kind: String,
    created_at: String,
    payload: Value,
}

impl Event {
    fn suspension(&self) -> &str {
        self.payload["suspension_id"].as_str().unwrap_or_default()
    }
}

/// Checks everything; fails the test at the first violation.
pub(super) async fn hold(cluster: &Cluster, database: &str) -> Looked {
    let rows = cluster.snapshot(database).await;
    let logs = logs(&rows).await;
    let mut looked = Looked { intents: logs.len(), events: logs.values().map(Vec::len).sum(), ..Looked::default() };
    questions(&rows, &logs, &mut looked).await;
    states(&rows).await;
    messages(&rows, &logs, &mut looked).await;
    looked
}

/// Every intent's log, verified: gapless, chained, ended where the intent says, times in order.
async fn logs(snapshot: &Snapshot) -> BTreeMap<i64, Vec<Event>> {
    let sql = "SELECT i.rid, i.last_event, i.last_sequence, i.last_hash, e.rid, e.previous, e.bytes, e.hash \
               FROM intents i JOIN events e ON e.intent = i.rid";
    let mut kept: BTreeMap<i64, BTreeMap<i64, Row>> = BTreeMap::new();
    for row in snapshot.rows(sql).await {
        // If a log forked, two of its events would name the same event as the one before them.
        let behind = row.get::<_, Option<i64>>(5).unwrap_or(0);
        assert!(kept.entry(row.get(0)).or_default().insert(behind, row).is_none(), "a log forks behind event {behind}");
    }
    let mut logs = BTreeMap::new();
    for (intent, rows) in kept {
        let (mut follower, mut at, mut log) = (Follower::default(), 0, Vec::new());
        while let Some(row) = rows.get(&at) {
            at = row.get(4);
            let sealed = Sealed { bytes: row.get(6), hash: Hash(row.get::<_, Vec<u8>>(7).try_into().unwrap()) };
            follower.follow(&sealed).unwrap_or_else(|error| panic!("intent {intent}: {error}"));
            let mut event: Value = serde_json::from_slice(&sealed.bytes).unwrap();
            let text = |event: &Value, name: &str| event[name].as_str().unwrap().to_owned();
            let (kind, created_at) = (text(&event, "event_type"), text(&event, "created_at"));
            log.push(Event { kind, created_at, payload: event["payload"].take() });
        }
        assert_eq!(log.len(), rows.len(), "intent {intent}: events hang on nothing");
        let row = &rows[&0];
        let head = (row.get::<_, i64>(1), row.get::<_, i64>(2), row.get::<_, Vec<u8>>(3));
        let found = (at, i64::try_from(follower.length()).unwrap(), follower.head().unwrap().0.to_vec());
        assert_eq!(head, found, "intent {intent} does not end where its log ends");
        assert!(log.windows(2).all(|two| two[0].created_at <= two[1].created_at), "intent {intent}: times run backwards");
        logs.insert(intent, log);
    }
    logs
}

/// Each question that ended has one ending, an open one has none, and each ending fits the clock and the answer.
async fn questions(snapshot: &Snapshot, logs: &BTreeMap<i64, Vec<Event>>, looked: &mut Looked) {
    let sql = "SELECT intent, id::text, resolution, resolution_reason, resolved_at, expires_at, response::text, \
               clock_timestamp() FROM suspensions";
    for row in snapshot.rows(sql).await {
        looked.questions += 1;
        let (intent, id): (i64, String) = (row.get(0), row.get(1));
        let (resolution, reason): (Option<i32>, Option<i32>) = (row.get(2), row.get(3));
        let moment = |index: usize| row.get::<_, Option<std::time::SystemTime>>(index).map(DateTime::<Utc>::from);
        let (resolved_at, expires_at, now) = (moment(4), moment(5), moment(7).unwrap());
        let of = |wanted: &str| logs[&intent].iter().filter(|event| event.kind == wanted && event.suspension() == id).count();
        let endings = (of("intent.resumed"), of("intent.suspension_expired"), of("intent.suspension_cancelled"));
        let must = match resolution {
            None => (0, 0, 0),
            Some(0) => (1, 0, 0),
            // The event is `intent.suspension_expired` also for a question of which no person could be told in time
            // (`undeliverable`), and for one that the deadline of a portfolio ended.
            Some(_) if resolution == Some(1) || matches!(reason, Some(2 | 4)) => (0, 1, 0),
            Some(_) => (0, 0, 1),
        };
        assert_eq!(endings, must, "question {id}");
        match (resolution, expires_at) {
            (Some(0), Some(expires_at)) => assert!(resolved_at.unwrap() < expires_at, "{id} was answered after its deadline"),
            (Some(1), Some(expires_at)) => {
                assert!(reason.is_some() || resolved_at.unwrap() >= expires_at, "{id} ran out before its deadline");
            }
            (None, Some(expires_at)) => {
                assert!((now - expires_at).num_seconds() < 10, "the deadline of {id} was forgotten");
            }
            _ => {}
        }
        let resumed = logs[&intent].iter().find(|event| event.kind == "intent.resumed" && event.suspension() == id);
        if let Some(resumed) = resumed {
            let kept: Value = serde_json::from_str(&row.get::<_, String>(6)).unwrap();
            assert_eq!(resumed.payload["value"], kept, "{id}: the log and the record tell of two answers");
        }
    }
}

/// An intent waits exactly when one of its questions is open, and no timer of an open question is long overdue.
async fn states(snapshot: &Snapshot) {
    let waits = "SELECT i.rid FROM intents i LEFT JOIN suspensions s ON s.intent = i.rid AND s.resolution IS NULL \
                 GROUP BY i.rid HAVING (i.status = 3) <> (count(s.rid) = 1) OR count(s.rid) > 1 \
                 OR i.open_suspension IS DISTINCT FROM max(s.rid)";
    assert_eq!(snapshot.rows(waits).await.len(), 0, "intents wait for nothing, or do not wait for their question");
    let overdue = "SELECT t.suspension FROM timers t JOIN suspensions s ON s.rid = t.suspension AND s.resolution IS NULL \
                   WHERE t.due_at < clock_timestamp() - interval '10 s'";
    assert_eq!(snapshot.rows(overdue).await.len(), 0, "timers of open questions were forgotten");
}

/// Each person who had to be told has a message, each message came to one end, and the log tells that end once.
async fn messages(snapshot: &Snapshot, logs: &BTreeMap<i64, Vec<Event>>, looked: &mut Looked) {
    let sql = "SELECT s.intent, o.id::text, o.state, o.lease IS NOT NULL AND o.due_at < clock_timestamp() - interval '10 s', \
               s.resolution IS NULL, o.state = 0 AND o.lease IS NULL AND o.due_at < clock_timestamp() - interval '30 s' \
               FROM outbox o JOIN suspensions s ON s.rid = o.suspension";
    let mut sent: BTreeMap<i64, usize> = BTreeMap::new();
    for row in snapshot.rows(sql).await {
        looked.messages += 1;
        let (intent, id, state): (i64, String, i32) = (row.get(0), row.get(1), row.get(2));
        assert!(!row.get::<_, bool>(3), "the lease of message {id} ended and nobody took it");
        assert!(!(row.get::<_, bool>(4) && row.get::<_, bool>(5)), "message {id} about an open question was forgotten");
        *sent.entry(intent).or_default() += usize::from(state == 1);
    }
    for (intent, log) in logs {
        let told = log.iter().filter(|event| event.kind == "delivery.sent").count();
        assert_eq!(
            told,
            sent.get(intent).copied().unwrap_or(0),
            "intent {intent}: messages sent, and what the log tells of them"
        );
    }
    let untold = "SELECT s.rid FROM suspensions s LEFT JOIN outbox o ON o.suspension = s.rid WHERE o.rid IS NULL";
    assert_eq!(snapshot.rows(untold).await.len(), 0, "questions nobody is told of");
    let twice = "SELECT suspension FROM outbox GROUP BY suspension, attempt, channel, recipient HAVING count(*) > 1";
    assert_eq!(snapshot.rows(twice).await.len(), 0, "messages are there twice");
}
