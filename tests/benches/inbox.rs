//! The lists of the inbox beside many open questions and five times as many decided ones (W10).
//!
//! ```text
//! cargo bench -p placet-tests --bench inbox -- --open 1000000 --reads 300
//! cargo bench -p placet-tests --bench inbox -- --open 1000000 --reads 300 --postgres
//! ```
//!
//! So many questions could not all be asked in an hour, so the rows of one question are copied; the deadlines, and the times of the
//! answers, are at random. The pages are read in random order, one at a time, by a person who logged in with a mailed link.
#![expect(clippy::unwrap_used, reason = "a benchmark ends when it cannot go on")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use clap::Parser;
use harness::bench::arrival::{closed_loop, milliseconds};
use harness::bench::connection::{Connection, Target};
use harness::bench::figures::{Figure, Report};
use harness::bench::subject::{Subject, Told};
use harness::bench::{circumstances, percentile, run, shuffled};
use harness::person::Person;
use harness::postgres::Cluster;
use harness::process::{Site, run_instead};
use harness::rows::change_file;
use harness::smtp::SmtpSink;
use serde_json::json;

const ADA: &str = "ada@example.com";
/// The longest that the slowest hundredth of the pages may take, in milliseconds.
const GOAL: f64 = 30.0;
/// The deadlines lie within so many microseconds: ten days.
const SPREAD: &str = "864000000000";
/// The rows of copies that are open begin behind the first number, and those that are decided behind the second.
const FIRST: [u64; 2] = [1_000_000, 10_000_000];

#[derive(Parser)]
struct Arguments {
    /// Open questions of the person; five times as many are decided.
    #[arg(long, default_value_t = 1_000_000)]
    open: u64,
    /// How often each page is read.
    #[arg(long, default_value_t = 300)]
    reads: usize,
    /// Measures on PostgreSQL, not on SQLite.
    #[arg(long)]
    postgres: bool,
    /// The program to measure, if not the one built from these sources.
    #[arg(long)]
    program: Option<PathBuf>,
}

/// The database of the server, which is changed beside it.
enum Rows {
    Sqlite(PathBuf),
    Postgres(Box<Cluster>),
}

impl Rows {
    async fn change(&mut self, sql: &str) {
        match self {
            Self::Sqlite(file) => change_file(file, sql),
            Self::Postgres(cluster) => cluster.sql("inbox", sql).await,
        }
    }

    /// Copies the newest question, with this resolution, name, and time of the end.
    async fn copies(&mut self, first: u64, count: u64, ending: &str) {
        let (series, id, random) = match self {
            Self::Sqlite(_) => {
                let numbers = "WITH RECURSIVE n (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM n LIMIT";
                (
                    format!("({numbers} {count}) SELECT number FROM n) AS numbers"),
                    "randomblob(16)",
                    format!("abs(random() % {SPREAD})"),
                )
            }
            Self::Postgres(_) => {
                let series = format!("generate_series(1, {count}) AS numbers (number)");
                (series, "gen_random_uuid()", format!("(random() * {SPREAD})::bigint * interval '1 microsecond'"))
            }
        };
        // A request for approval does not stop its intent, so an intent may have many of them.
        let columns = "version, attempt, response_type, choices, suspended_at, fallback_policy, fallback_value, reached, \
                       requires_delivery, refusals, asker, asker_owner, fixed_deadline";
        let ending = ending.replace("RANDOM", &random);
        self.change(&format!(
            "INSERT INTO suspensions (rid, id, intent, event, kind, expires_at, resolution, resolved_by, resolved_at, {columns}) \
             SELECT {first} + number, {id}, intent, event, 3, expires_at + {random}, {ending}, {columns} \
             FROM suspensions, {series} WHERE rid = (SELECT max(rid) FROM suspensions WHERE rid < {})",
            FIRST[0]
        ))
        .await;
    }

    /// Fills the database with open questions of Ada, of which her group has each tenth one, and with those that she has answered.
    async fn fill(&mut self, open: u64) {
        let [first, decided] = FIRST;
        self.copies(first, open, "NULL, NULL, NULL").await;
        self.copies(decided, 5 * open, "0, 'ada@example.com', suspended_at + RANDOM").await;
        let of = |place: &str, rest: &str| {
            format!(
                "INSERT INTO inbox (place, due_at, suspension, is_plain) SELECT '{place}', expires_at, rid, TRUE FROM suspensions \
                 WHERE rid > {first} AND rid <= {decided}{rest}"
            )
        };
        self.change(&of(&format!("person:{ADA}"), "")).await;
        self.change(&of("group:finance", " AND rid % 10 = 0")).await;
        self.change(&format!("INSERT INTO answered SELECT '{ADA}', rid FROM suspensions WHERE rid > {decided}")).await;
        if matches!(self, Self::Postgres(_)) {
            self.change("ANALYZE").await;
        }
    }
}

/// Lists Ada and her group, asks her one question, and logs her in; the header with her cookie.
async fn directory(subject: &Subject, mails: &SmtpSink) -> String {
    let admin = subject.site.api("admin", "directory").await;
    admin.post("api/v1/people", json!({"address": ADA, "role": "operator"})).await.ok();
    admin.send(admin.request("PUT", "api/v1/groups/finance").json(&json!({"members": [ADA]}))).await.ok();
    let agent = subject.site.api("agent", "asker").await;
    agent.ask(json!({"assignees": {"people": [ADA]}})).await;
    let base = subject.site.base();
    let mut ada = Person::new(&base);
    let nonce = ada.open(&format!("{base}login")).await.nonce();
    ada.post(&format!("{base}login"), &[("nonce", &nonce), ("address", ADA)]).await;
    let link = loop {
        let mail = mails.next_mail().await;
        if let Some(link) = mail.links_under(&base).into_iter().find(|link| link.contains("/login/")) {
            break link;
        }
    };
    let nonce = ada.open(&link).await.nonce();
    ada.post(&link, &[("nonce", &nonce)]).await;
    format!("cookie: {}\r\n", ada.cookie.expect("the session has begun"))
}

/// The address of the second page of a list.
async fn second(subject: &Subject, session: &str) -> String {
    let browser = Target { key: String::new(), ..subject.operator.clone() };
    let mut connection = Connection::open(&browser).await;
    let page = connection.send("GET", "inbox?list=mine", session, "").await;
    let html = std::str::from_utf8(page.body).unwrap();
    let (_, more) = html.split_once("<div id=\"more\">").expect("the list has a second page");
    let query = more.split("href=\"/inbox?").nth(1).unwrap().split('"').next().unwrap();
    format!("inbox?{}", query.replace("&amp;", "&").replace("&#38;", "&"))
}

async fn measure(arguments: Arguments, report: &mut Report) {
    if let Some(program) = &arguments.program {
        run_instead(program.clone());
        report.circumstances = circumstances();
    }
    let mails = SmtpSink::start().await;
    let site = Site::production(mails.url());
    let (site, mut rows) = if arguments.postgres {
        let cluster = Cluster::roomy();
        cluster.sql("postgres", "CREATE DATABASE inbox").await;
        (site.with_database(cluster.url("inbox")), Some(Rows::Postgres(Box::new(cluster))))
    } else {
        (site, None)
    };
    let mut subject = Subject::start_in(site, Told::OnePerson, Vec::new()).await;
    let session = directory(&subject, &mails).await;
    // Pages that are changed here keep their checksums.
    checksums::install();
    let rows = rows.get_or_insert_with(|| Rows::Sqlite(subject.site.database()));
    rows.fill(arguments.open).await;
    let pages = [
        ("waiting for me", "inbox?list=mine".to_owned()),
        ("waiting for me, second page", second(&subject, &session).await),
        ("my groups", "inbox?list=groups".to_owned()),
        ("everything", "inbox?list=everything".to_owned()),
        ("done by me", "inbox?list=done".to_owned()),
        ("an agent that asked nothing", "inbox?list=mine&agent=another".to_owned()),
        ("a word of no question", "inbox?list=everything&words=parrot".to_owned()),
    ];
    let reads = pages.iter().flat_map(|page| vec![page.clone(); arguments.reads]).collect();
    let read = async |connection: &mut Connection, (what, path): (&'static str, String)| {
        let began = Instant::now();
        assert_eq!(connection.send("GET", &path, &session, "").await.status, 200, "{path}");
        (what, milliseconds(began))
    };
    let browser = Target { key: String::new(), ..subject.operator.clone() };
    let mut kinds = BTreeMap::<_, Vec<f64>>::new();
    for (what, milliseconds) in closed_loop(&browser, 1, shuffled(reads), read).await.results {
        kinds.entry(what).or_default().push(milliseconds);
    }
    let database = if arguments.postgres { "PostgreSQL" } else { "SQLite" };
    for (what, mut milliseconds) in kinds {
        milliseconds.sort_by(f64::total_cmp);
        let what = format!("inbox on {database}, {what}, {} open", arguments.open);
        for (name, part, goal) in [("p50", 0.50, None), ("p99", 0.99, Some(GOAL))] {
            let figure = Figure::new("W10", format!("{what}, {name}"), "ms", vec![percentile(&milliseconds, part)]);
            let figure = if arguments.postgres { figure.on("PostgreSQL synchronous_commit=on, 2 GB of buffers") } else { figure };
            report.add(match goal {
                Some(goal) => figure.at_most(goal),
                None => figure,
            });
        }
    }
    subject.kill().await;
}

fn main() {
    run("inbox", measure);
}
