//! How a database finds rows: every statement that a server sends, and its plan.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Mutex;

use diesel::connection::{Instrumentation, InstrumentationEvent, set_default_instrumentation};
use diesel::prelude::*;
use diesel::sql_types::Text;
use serde_json::Value;

use crate::app::TestApp;
use crate::postgres::Cluster;

/// The difference between the id of a copied row and its original's.
const APART: i64 = 1_000_000;
/// Copies made of each row.
const COPIES: i64 = 1_000;

/// Statements in short, and the steps of their plans.
pub type Plans = BTreeMap<String, Vec<String>>;

/// Statements sent to `SQLite` files, by file; only files that a test has registered are listened to.
static HEARD: Mutex<BTreeMap<String, BTreeSet<String>>> = Mutex::new(BTreeMap::new());

/// Listens to one connection.
struct Listening(Option<String>);

impl Instrumentation for Listening {
    fn on_connection_event(&mut self, event: InstrumentationEvent<'_>) {
        if let InstrumentationEvent::StartEstablishConnection { url, .. } = event {
            self.0 = HEARD.lock().unwrap().contains_key(url).then(|| url.to_owned());
        } else if let InstrumentationEvent::StartQuery { query, .. } = event
            && let Some(file) = &self.0
        {
            let said = query.to_string();
            let sql = said.split(" -- binds:").next().unwrap_or_default().to_owned();
            HEARD.lock().unwrap().entry(file.clone()).or_default().insert(sql);
        }
    }
}

/// From the next start of the server on, records each statement that the server sends to its `SQLite` file.
pub fn listen(app: &TestApp) {
    HEARD.lock().unwrap().insert(file_of(app), BTreeSet::new());
    set_default_instrumentation(|| Some(Box::new(Listening(None)))).unwrap();
}

fn file_of(app: &TestApp) -> String {
    app.folder().join("placet.db").to_str().unwrap().to_owned()
}

/// The plans of all statements heard, made by `SQLite` without a look at the rows.
pub fn of_sqlite(app: &TestApp) -> Plans {
    #[derive(QueryableByName)]
    struct Step {
        #[diesel(sql_type = Text)]
        detail: String,
    }
    let file = file_of(app);
    let heard = HEARD.lock().unwrap().remove(&file).unwrap();
    let mut conn = SqliteConnection::establish(&file).unwrap();
    let mut plans = Plans::new();
    for sql in heard.iter().filter(|sql| has_plan(sql)) {
        let steps = diesel::sql_query(format!("EXPLAIN QUERY PLAN {sql}")).load::<Step>(&mut conn).unwrap();
        plans.entry(in_short(sql)).or_default().extend(steps.into_iter().map(|step| step.detail));
    }
    deduplicated(plans)
}

/// Fills the tables of a server with copies of their rows, like a server of some years, and lets PostgreSQL gather its
/// statistics.
pub async fn multiply(app: &TestApp) {
    let copies = format!("CROSS JOIN generate_series(1, {COPIES}) AS n");
    let above = |column: &str| format!("{column} + n * {APART}");
    let rid = above("rid");
    let suspension = above("suspension");
    // The copies must not become due in this test.
    let far = "due_at + interval '10 years'";
    let id = "md5(id::text || n)::uuid";
    let mut sql = String::from("SET session_replication_role = replica;"); // No foreign keys: rows are copied in any order.
    for (table, changes) in [
        (
            "intents",
            vec![
                ("rid", rid.clone()),
                ("id", id.into()),
                ("last_event", above("last_event")),
                ("open_suspension", "NULL".into()),
                ("newest_suspension", above("newest_suspension")),
            ],
        ),
        ("intent_bodies", vec![("rid", rid.clone())]),
        ("events", vec![("rid", rid.clone()), ("intent", above("intent")), ("previous", above("previous"))]),
        (
            "suspensions",
            vec![
                ("rid", rid.clone()),
                ("id", id.into()),
                ("intent", above("intent")),
                ("event", above("event")),
                ("resolution", "coalesce(resolution, 1)".into()),
            ],
        ),
        ("outbox", vec![("rid", rid.clone()), ("id", id.into()), ("suspension", suspension.clone()), ("due_at", far.into())]),
        ("tokens", vec![("rid", rid.clone()), ("suspension", suspension.clone())]),
        ("timers", vec![("suspension", suspension.clone()), ("due_at", far.into())]),
        ("suspension_keys", vec![("key_hash", "sha256(key_hash || n::text::bytea)".into()), ("suspension", suspension.clone())]),
        ("idempotency", vec![("key_hash", "sha256(key_hash || n::text::bytea)".into())]),
        ("leases", vec![("rid", rid.clone()), ("id", id.into()), ("intent", above("intent"))]),
        ("api_keys", vec![("rid", rid.clone()), ("id", id.into()), ("hash", "sha256(hash || n::text::bytea)".into())]),
        ("bounces", vec![("outbox", above("outbox"))]),
        ("published", vec![("rid", rid.clone()), ("intent", above("intent"))]),
    ] {
        let changed = |column: &str| changes.iter().find(|(name, _)| *name == column).map(|(_, to)| to.clone());
        let columns = Cluster::of_this_process().columns(app.scratch().unwrap().name(), table).await;
        let values: Vec<String> = columns.iter().map(|column| changed(column).unwrap_or_else(|| column.clone())).collect();
        let overriding = if matches!(table, "leases" | "api_keys") { " OVERRIDING SYSTEM VALUE" } else { "" };
        let (columns, values) = (columns.join(", "), values.join(", "));
        write!(sql, "INSERT INTO {table} ({columns}){overriding} SELECT {values} FROM {table} {copies};").unwrap();
    }
    // The statistics read every row: a sample would differ from run to run.
    sql.push_str("SET default_statistics_target = 1000; ANALYZE");
    Cluster::of_this_process().sql(app.scratch().unwrap().name(), &sql).await;
}

/// From now on PostgreSQL logs the plan of every statement of a server.
pub async fn log_plans(app: &TestApp) {
    let settings =
        ["session_preload_libraries = 'auto_explain'", "auto_explain.log_min_duration = 0", "auto_explain.log_format = 'json'"];
    set(app, &settings).await;
}

/// From now on PostgreSQL logs every statement of a server.
pub async fn log_statements(app: &TestApp) {
    set(app, &["log_statement = 'all'"]).await;
}

/// Changes settings of a server's database; connections from before are closed.
async fn set(app: &TestApp, settings: &[&str]) {
    let name = app.scratch().unwrap().name();
    let settings = settings.iter().map(|setting| format!("ALTER DATABASE {name} SET {setting};")).collect::<Vec<_>>().concat();
    let leave = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'");
    Cluster::of_this_process().sql("postgres", &format!("{settings}{leave}")).await;
}

/// The statements of a server that PostgreSQL has logged, in short form. Notifications to other servers, and the statements with which
/// the connection for notifications begins, are left out: the server does not wait for them, so they come at any time.
pub fn statements(app: &TestApp) -> Vec<String> {
    let log = Cluster::of_this_process().log(app.scratch().unwrap().name());
    let said = log.iter().filter_map(|entry| {
        let (_, said) = entry.split_once("LOG:  ")?;
        let (how, sql) = said.split_once(": ")?;
        (how == "statement" || how.starts_with("execute ")).then(|| in_short(sql))
    });
    let beside = ["pg_notify", "LISTEN placet", "pg_try_advisory_lock("];
    said.filter(|sql| !beside.iter().any(|own| sql.contains(own))).collect()
}

/// The plans of a server's statements that PostgreSQL has logged.
pub fn of_postgres(app: &TestApp) -> Plans {
    let log = Cluster::of_this_process().log(app.scratch().unwrap().name());
    let mut plans = Plans::new();
    for entry in log.iter().filter_map(|entry| entry.split_once("plan:")) {
        let explained: Value = serde_json::from_str(entry.1).unwrap();
        let sql = explained["Query Text"].as_str().unwrap();
        let steps = plans.entry(in_short(sql)).or_default();
        walk(&explained["Plan"], steps);
    }
    deduplicated(plans)
}

/// How tables are read, by which index, and whether rows are sorted; other parts of a plan, and its cost, differ from version to
/// version.
fn walk(node: &Value, steps: &mut Vec<String>) {
    let kind = node["Node Type"].as_str().unwrap();
    let table = node["Relation Name"].as_str();
    match (node["Index Name"].as_str(), table) {
        (Some(index), Some(table)) => steps.push(format!("Index Scan using {index} on {table}")),
        (None, Some(table)) if kind.contains("Scan") => steps.push(format!("{kind} on {table}")),
        _ if kind.contains("Sort") => steps.push("Sort".to_owned()),
        _ => {}
    }
    for inner in node["Plans"].as_array().into_iter().flatten() {
        walk(inner, steps);
    }
}

fn has_plan(sql: &str) -> bool {
    ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH"].iter().any(|verb| sql.starts_with(verb))
}

/// A statement without the columns it lists.
fn in_short(sql: &str) -> String {
    let sql = sql.replace(['`', '"'], "").split_whitespace().collect::<Vec<_>>().join(" ");
    let mut short = String::new();
    let mut rest = sql.as_str();
    while let Some(at) = rest.find("SELECT ") {
        let columns = at + "SELECT ".len();
        short.push_str(&rest[..columns]);
        rest = &rest[columns..];
        let Some(from) = rest.find(" FROM ") else { break };
        // A list is shortened; a count or a time is not.
        if rest[..from].contains(',') {
            short.push('…');
            rest = &rest[from..];
        }
    }
    short.push_str(rest);
    match short.find(" VALUES ").zip(short.find(" (")) {
        Some((values, columns)) if columns < values => format!("{} …", &short[..columns]),
        _ => short,
    }
}

/// The plans with each step once. Statements that differ only in their lists of columns share a short form, so one step would
/// otherwise stand there several times.
fn deduplicated(mut plans: Plans) -> Plans {
    for steps in plans.values_mut() {
        let mut seen = BTreeSet::new();
        steps.retain(|step| seen.insert(step.clone()));
    }
    plans
}
