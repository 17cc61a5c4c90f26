//! The audit pages of an auditor who logged in, at random over all questions.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use harness::bench::arrival::{closed_loop, milliseconds};
use harness::bench::connection::{Connection, Target};
use harness::bench::figures::Report;
use harness::bench::shuffled;
use harness::bench::subject::Subject;
use harness::person::Person;
use store::host::clock::{SystemClock, SystemEntropy};
use store::sqlite::{Exclusive, SqliteStore};
use store::{Logins as _, Store as _, Surroundings};

use super::rows::Rows;
use super::times;

/// The longest that the slowest hundredth of the pages may take, in milliseconds.
const GOAL: f64 = 30.0;

/// Logs an auditor in, with the link that a mail would hold; returns the header with the cookie.
async fn log_in(subject: &mut Subject, database: &Path) -> String {
    let address = format!("auditor-{}@example.com", subject.site.port());
    let add = subject.site.command(["people", "add", &address, "--role", "auditor"]);
    subject.site.run(add).await.succeeded();
    // Without the server, no loop sends the mail away.
    subject.kill().await;
    let surroundings = Surroundings::alone(Arc::new(SystemClock), Arc::new(SystemEntropy));
    let store = SqliteStore::open(database, Exclusive::Beside, surroundings).unwrap();
    store.request_login(address.clone(), None).await.unwrap();
    let leased = store.lease_logins().await.unwrap().logins;
    let token = leased.iter().find(|login| login.address == address).unwrap().token.expose();
    store.close().await;
    subject.start_again().await;
    let link = format!("{}login/{token}", subject.site.base());
    let mut person = Person::new(&subject.site.base());
    let nonce = person.open(&link).await.nonce();
    person.post(&link, &[("nonce", &nonce)]).await;
    format!("cookie: {}\r\n", person.cookie.expect("the session has begun"))
}

pub(super) async fn measure((subject, file): (&mut Subject, &Path), rows: &mut Rows, reads: usize, report: &mut Report) {
    let session = log_in(subject, file).await;
    let questions = rows.number("SELECT max(rid) AS number FROM suspensions");
    let mut paths = Vec::new();
    for one in rows.events(reads) {
        let before = rows.random(questions);
        paths.extend([
            ("search without a filter", format!("audit?before={before}")),
            ("search for an outcome of one question in 1,000", format!("audit?before={before}&outcome=waiting")),
            ("search for an agent that asked nothing", format!("audit?before={before}&agent=another")),
            ("search for a word of no question", format!("audit?before={before}&words=parrot")),
            ("search up to a day", "audit?to=2999-12-31".to_owned()),
            ("overview with its charts", "audit/overview".to_owned()),
            ("overview up to a day", "audit/overview?to=2999-12-31".to_owned()),
            ("record of one intent", format!("audit/{}", one.intent)),
        ]);
    }
    let read = async |connection: &mut Connection, (what, path): (&'static str, String)| {
        let began = Instant::now();
        assert_eq!(connection.send("GET", &path, &session, "").await.status, 200, "{path}");
        (what, milliseconds(began))
    };
    let browser = Target { key: String::new(), ..subject.operator.clone() };
    let mut kinds = BTreeMap::<_, Vec<f64>>::new();
    for (what, milliseconds) in closed_loop(&browser, 1, shuffled(paths), read).await.results {
        kinds.entry(what).or_default().push(milliseconds);
    }
    for (what, mut milliseconds) in kinds {
        milliseconds.sort_by(f64::total_cmp);
        for figure in times(&format!("audit page, {what}, {questions} questions"), &milliseconds, GOAL) {
            report.add(figure);
        }
    }
}
