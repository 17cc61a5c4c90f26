//! The server under load: its release binary in its own process, the keys of its clients, and their requests.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Deserialize;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::sleep;
use uuid::Uuid;

use super::arrival::milliseconds;
use super::connection::{Connection, Target};
use crate::process::{Running, Site};

/// The configuration of a measured server, unless a benchmark brings a configuration of its own.
pub const UNPRESSED: &str = "[limits]\nagent_bytes_per_day = 1000000000000\n[questions]\nmin_distance_seconds = 0\n";

/// The words of a question with four choices and one kilobyte of context.
const QUESTION: &str = concat!(
    r#"{"question":"Refund order 12345 of 80.00 EUR to the customer's card?","response_type":"choice","timeout_seconds":TIMEOUT,"#,
    r#""choices":[{"value":"approve","label":"Approve the refund","description":"The whole amount goes back to the card today.","#,
    r#""style":"primary"},"#,
    r#"{"value":"partly","label":"Approve half","description":"Half of the amount goes back to the card today."},"#,
    r#"{"value":"voucher","label":"Offer a voucher","description":"The customer gets a voucher of the same amount."},"#,
    r#"{"value":"deny","label":"Deny the refund","description":"Nothing is paid; the customer is told why.","style":"danger"}],"#,
    r#""context":{"order_id":"12345","customer":{"name":"Ada Example","since":2019,"orders":17},"amount":80.0,"currency":"EUR","#,
    r#""note":"NOTE"},"fallback_policy":"complete_with_fallback","fallback_value":"deny"}"#
);
/// The answers, which take turns.
pub const VALUES: [&str; 4] = ["approve", "partly", "voucher", "deny"];
/// The pause between two looks at a server that starts.
const LOOK: Duration = Duration::from_millis(1);
/// How long a start may take before the run counts as failed.
const START_WITHIN: Duration = Duration::from_mins(30);

/// The body of a question.
pub fn question(timeout_seconds: u32) -> String {
    let note = "All that is known about this order. ".repeat(25);
    QUESTION.replace("NOTE", &note).replace("TIMEOUT", &timeout_seconds.to_string())
}

/// The one member that a client here reads of the reply to a request that creates something.
#[derive(Deserialize)]
pub struct Made {
    pub id: Uuid,
}

/// A question that is open.
#[derive(Clone, Copy, Debug)]
pub struct Open {
    pub intent: Uuid,
    pub suspension: Uuid,
}

/// An answer that was acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Decision {
    pub open: Open,
    pub value: &'static str,
}

/// The people who are told of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    Nobody,
    /// One person, by mail.
    OnePerson,
}

/// The measurements of the thread that writes to SQLite, since the server started.
#[derive(Clone, Copy, Debug)]
pub struct Writer {
    pub commits: f64,
    /// From the beginning of each transaction to its end.
    pub busy_seconds: f64,
    /// The part of `busy_seconds` in which commits waited for the disk, checkpoints included.
    pub commit_seconds: f64,
}

/// A server that runs.
pub struct Subject {
    pub site: Site,
    pub agent: Target,
    pub operator: Target,
    auditor: Target,
    told: Told,
    /// Its command line after `serve`.
    arguments: Vec<String>,
    server: Option<Running>,
    _mails: JoinSet<()>,
}

impl Subject {
    /// Starts a server on SQLite.
    pub async fn start(told: Told) -> Self {
        let (smtp_url, mails) = silence().await;
        Self { _mails: mails, ..Self::start_in(Site::production(smtp_url), told, Vec::new()).await }
    }

    /// Starts a server on SQLite in a file that stays after the measurements.
    pub async fn start_on_file(database: &Path, told: Told) -> Self {
        let (smtp_url, mails) = silence().await;
        let site = Site::production(smtp_url).with_database(format!("sqlite://{}", database.display()));
        Self { _mails: mails, ..Self::start_in(site, told, Vec::new()).await }
    }

    /// Starts a server on a database elsewhere.
    pub async fn start_on(database_url: String) -> Self {
        let (smtp_url, mails) = silence().await;
        let site = Site::production(smtp_url).with_database(database_url);
        Self { _mails: mails, ..Self::start_in(site, Told::OnePerson, Vec::new()).await }
    }

    /// Starts a server in a site.
    pub async fn start_in(site: Site, told: Told, mut arguments: Vec<String>) -> Self {
        let address: SocketAddr = site.base().trim_start_matches("http://").trim_end_matches('/').parse().unwrap();
        // One agent does the work of thousands, so the limits on an agent's bytes per day and on its messages to people must not
        // apply.
        if !arguments.iter().any(|argument| argument == "--config") {
            let config = site.folder().join("bench.toml");
            std::fs::write(&config, UNPRESSED).unwrap();
            arguments.extend(["--config".to_owned(), config.display().to_string()]);
        }
        // Several servers may share a database, so each uses key names of its own.
        let name = |role: &str| format!("{role}-{}", address.port());
        let agent = Target { address, key: site.key("agent", &name("agent")).await.1 };
        let operator = Target { address, key: site.key("operator", &name("operator")).await.1 };
        let auditor = Target { address, key: site.key("auditor", &name("auditor")).await.1 };
        let mut subject = Self { site, agent, operator, auditor, told, arguments, server: None, _mails: JoinSet::new() };
        subject.start_again().await;
        subject
    }

    /// The server's process.
    pub fn server(&self) -> &Running {
        self.server.as_ref().expect("the server runs")
    }

    /// The present measurements of the writer.
    pub async fn writer(&self) -> Writer {
        let mut connection = Connection::open(&self.auditor).await;
        let scrape = connection.get("metrics").await;
        let scrape = std::str::from_utf8(scrape.body).unwrap();
        let sample = |name: &str| -> f64 {
            let value =
                scrape.lines().find_map(|line| line.strip_prefix("placet_writer_")?.strip_prefix(name)?.strip_prefix(' '));
            value.map_or(0.0, |value| value.parse().unwrap())
        };
        Writer {
            commits: sample("batch_jobs_count"),
            busy_seconds: sample("batch_duration_seconds_sum"),
            commit_seconds: sample("commit_duration_seconds_sum"),
        }
    }

    /// Kills the server.
    pub async fn kill(&mut self) {
        self.server.take().expect("the server runs").kill().await;
    }

    /// Starts the server; returns the time until it reported that it is ready, in milliseconds.
    pub async fn start_again(&mut self) -> f64 {
        let mut command = self.site.command(["serve"]);
        command.args(&self.arguments);
        if self.told == Told::Nobody {
            command.env_remove("PLACET_OPERATORS");
        }
        let began = Instant::now();
        let server = self.server.insert(self.site.start(command));
        loop {
            if TcpStream::connect(self.agent.address).await.is_ok() {
                let mut connection = Connection::open(&self.agent).await;
                if connection.get("readyz").await.status == 200 {
                    return milliseconds(began);
                }
            }
            assert!(began.elapsed() < START_WITHIN, "the server does not become ready: {}", server.errors());
            sleep(LOOK).await;
        }
    }
}

/// A mail server that never answers: mails queue and stay. It lives as long as its task.
async fn silence() -> (String, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("smtp://{}", listener.local_addr().unwrap());
    let mut task = JoinSet::new();
    task.spawn(async move {
        let mut held = Vec::new();
        while let Ok(connection) = listener.accept().await {
            held.push(connection);
        }
    });
    (url, task)
}

/// Creates an active intent.
pub async fn create(connection: &mut Connection) -> Uuid {
    let body = r#"{"title":"Refund order 12345","status":"active"}"#;
    connection.post("api/v1/intents", body).await.ok::<Made>().id
}

/// Asks.
pub async fn suspend(connection: &mut Connection, intent: Uuid, question: &str) -> Open {
    let asked: Made = connection.post(&format!("api/v1/intents/{intent}/suspend"), question).await.ok();
    Open { intent, suspension: asked.id }
}

/// Creates an intent and asks.
pub async fn ask(connection: &mut Connection, question: &str) -> Open {
    let intent = create(connection).await;
    suspend(connection, intent, question).await
}

/// Answers; a `key` makes the answer repeatable.
pub async fn respond(connection: &mut Connection, open: Open, value: &'static str, key: Option<Uuid>) -> Decision {
    #[derive(Deserialize)]
    struct Responded {
        value: String,
    }
    let body = format!(r#"{{"suspension_id":"{}","value":"{value}"}}"#, open.suspension);
    let header = key.map(|key| format!("idempotency-key: {key}\r\n")).unwrap_or_default();
    let answer = connection.send("POST", &format!("api/v1/intents/{}/suspend/respond", open.intent), &header, &body).await;
    assert_eq!(answer.ok::<Responded>().value, value);
    Decision { open, value }
}
