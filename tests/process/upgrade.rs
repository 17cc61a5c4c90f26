//! A newer program on the database of an older one: `tests/upgrade/*.sql` are dumps of databases that older programs filled.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use domain::log::{Sealed, verify_chain};
use harness::api::Api;
use harness::person::Person;
use harness::process::Site;
use harness::smtp::SmtpSink;
use serde_json::{Value, json};

/// Dumps, with the things that their users still hold: keys, a mail's link, ids.
const LEFT: [&str; 3] = ["before-presence", "before-the-stores-crate", "before-the-servers-log"];

fn left(name: &str) -> (String, Value) {
    let read = |ending: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("upgrade/{name}.{ending}"));
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    (read("sql"), serde_json::from_str(&read("json")).unwrap())
}

/// People have mails and keys from before the update, and agents wait for questions from before it. None of them may notice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_older_program_left_is_gone_on_with() {
    for name in LEFT {
        let (dump, facts) = left(name);
        let fact = |name: &str| facts[name].as_str().unwrap();
        let smtp = SmtpSink::start().await;
        let site = Site::production(smtp.url());
        std::fs::create_dir(site.database().parent().unwrap()).unwrap();
        load(&site.database(), &dump);
        let doctor = site.run(site.command(["doctor"])).await;
        assert!(doctor.stdout.contains("was written by an older placet"), "{doctor:?}");

        let server = site.serve().await;
        let way = |role: &str| Api::new(&site.base(), Some(fact(role)));
        let (agent, operator) = (way("agent"), way("operator"));
        let intents = agent.get("api/v1/intents?limit=100").await.ok();
        assert_eq!(intents["intents"].as_array().unwrap().len(), 3);
        for (question, resolution) in [("open", json!(null)), ("answered", json!("responded")), ("silent", json!("expired"))] {
            let record = agent.suspension(fact(question)).await;
            assert_eq!(record["resolution"], resolution, "{record}");
            let intent = fact(&format!("{question}_intent")).parse().unwrap();
            let sealed: Vec<Sealed> =
                agent.events(intent).await.iter().map(|event| Sealed::from_served(event).unwrap()).collect();
            assert_eq!(verify_chain(&sealed), Ok(sealed.len() as u64));
            let deliveries = operator.get(&format!("api/v1/suspensions/{}/deliveries", fact(question))).await.ok();
            assert_eq!(deliveries["deliveries"][0]["sequence"], json!(1), "{deliveries}");
        }
        let link = format!("{}{}", site.base().trim_end_matches('/'), fact("link"));
        let page = Person::new(&site.base()).answer(&link, "approve").await;
        assert_eq!(page.status, 200);
        assert_eq!(agent.suspension(fact("open")).await["response"], json!("approve"));
        agent.asked(agent.active_intent().await).await;
        assert!(smtp.next_mail().await.subject().contains("Refund order 12345?"));
        let recorded = way("admin").get("api/v1/server/events").await.ok();
        let recorded = recorded.as_array().unwrap();
        let sealed: Vec<Sealed> = recorded.iter().map(|event| Sealed::from_served(event).unwrap()).collect();
        assert_eq!(verify_chain(&sealed), Ok(4), "one event for each key that was there, and the log's own key: {recorded:?}");
        let (of_log, of_keys) = recorded.split_last().unwrap();
        assert!(of_keys.iter().all(|event| event["event_type"] == "key.recorded"), "{recorded:?}");
        assert_eq!(of_log["event_type"], "log_key.added");
        server.signal("TERM").await;
        server.finish().await.succeeded();
        let doctor = site.run(site.command(["doctor"])).await;
        assert!(doctor.stdout.contains("is whole and of this version"), "{doctor:?}");
    }
}

/// Makes a database from a dump; Python has SQLite built in.
fn load(path: &Path, dump: &str) {
    let script = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript(sys.stdin.read())";
    let mut python = Command::new("python3").args(["-c", script]).arg(path).stdin(Stdio::piped()).spawn().unwrap();
    python.stdin.take().unwrap().write_all(dump.as_bytes()).unwrap();
    assert!(python.wait().unwrap().success());
}
