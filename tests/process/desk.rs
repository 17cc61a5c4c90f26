//! A server, an agent that asks and an operator who answers: for tests of commands typed in a shell.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::num::NonZero;
use std::time::Duration;

use harness::api::Api;
use harness::process::{Finished, PATIENCE, Running, Site, program};
use serde_json::Value;
use tokio::process::Command;
use tokio::time::{sleep, timeout};

/// How often a test looks for the effects of another process.
pub(super) const LOOK: Duration = Duration::from_millis(50);

/// A server with an agent that asks and an operator who answers.
pub(super) struct Desk {
    pub(super) site: Site,
    pub(super) server: Running,
    pub(super) key: String,
    pub(super) key_id: String,
    pub(super) operator: Api,
}

impl Desk {
    pub(super) async fn open() -> Self {
        let site = Site::development();
        let (key_id, key) = site.key("agent", "ci").await;
        let operator = site.api("operator", "alice").await;
        let server = site.serve().await;
        Self { site, server, key, key_id, operator }
    }

    /// `placet ask`, with the agent's key.
    pub(super) fn ask(&self, arguments: &[&str]) -> Command {
        self.with_key(&self.key, &[&["ask"], arguments].concat())
    }

    /// `placet answer`, with the operator's key.
    pub(super) fn answer(&self, arguments: &[&str]) -> Command {
        self.with_key(self.operator.key(), &[&["answer"], arguments].concat())
    }

    pub(super) fn with_key(&self, key: &str, arguments: &[&str]) -> Command {
        let mut command = self.site.command(arguments);
        command.env("PLACET_URL", self.site.base()).env("PLACET_API_KEY", key);
        command
    }

    /// A script for `sh`; `$PLACET` is the program.
    pub(super) fn script(&self, text: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", text]).env("PLACET", program()).env("PLACET_URL", self.site.base()).env("PLACET_API_KEY", &self.key);
        command.current_dir(self.site.folder());
        command
    }

    /// A command line of `sh` with the operator's key, on a terminal of its own with this many columns.
    pub(super) fn on_a_terminal(&self, line: &str, columns: u16) -> Command {
        let line = format!("stty cols {columns} rows 50; {line}");
        let mut command = self.script("exec script --quiet --return --echo never --command \"$LINE\" /dev/null");
        command.env("LINE", line).env("PLACET_API_KEY", self.operator.key());
        command
    }

    /// The one open question, once there is one.
    pub(super) async fn question(&self) -> Value {
        let look = async {
            loop {
                let page = self.operator.get("api/v1/suspensions").await.ok();
                if let Some(question) = page["suspensions"].get(0) {
                    return question.clone();
                }
                sleep(LOOK).await;
            }
        };
        timeout(PATIENCE, look).await.expect("nobody asks")
    }

    /// The short id of the one open question.
    pub(super) async fn short_id(&self) -> String {
        self.question().await;
        let list = self.site.run(self.answer(&[])).await;
        list.succeeded().split(' ').next().unwrap().to_owned()
    }

    /// The present state of the question `id`.
    pub(super) async fn record(&self, question: &Value) -> Value {
        self.operator.get(&format!("api/v1/suspensions/{}", text(&question["id"]))).await.ok()
    }

    /// Answers the one open question.
    pub(super) async fn respond(&self, value: impl Into<Value>) -> Value {
        let question = self.question().await;
        let intent = text(&question["intent_id"]).parse().unwrap();
        self.operator.respond(intent, text(&question["id"]), value).await.ok();
        question
    }

    /// Runs a command that asks, and answers its question.
    pub(super) async fn hear(&self, command: Command, value: impl Into<Value>) -> Finished {
        let mut asking = self.site.start(command);
        asking.close_input();
        self.respond(value).await;
        asking.finish().await
    }
}

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

pub(super) fn code(finished: &Finished) -> (Option<i32>, &str) {
    (finished.status.code(), finished.stdout.as_str())
}

/// The rows that a terminal of this many columns shows of a text, and whether it had to break a line itself.
pub(super) fn on_screen(written: &str, columns: u16) -> (Vec<String>, bool) {
    let mut terminal = vt100::Parser::new(NonZero::new(2_000).unwrap(), NonZero::new(columns).unwrap(), 0);
    terminal.process(written.as_bytes());
    let rows = terminal.screen().rows(0, columns).map(|row| row.trim_end().to_owned()).collect::<Vec<_>>();
    let broken = (0..2_000).any(|row| terminal.screen().row_wrapped(row));
    (rows.into_iter().filter(|row| !row.is_empty()).collect(), broken)
}

/// Waits until a process has printed a text on standard error.
pub(super) async fn heard(running: &Running, words: &str) {
    let look = async {
        while !running.errors().contains(words) {
            sleep(LOOK).await;
        }
    };
    timeout(PATIENCE, look).await.unwrap_or_else(|_| panic!("it did not say {words:?}: {}", running.errors()));
}

/// A server of HTTP that answers each request, by its first line, with these bytes, and then ends the connection.
pub(super) fn serving(answer: impl Fn(&str) -> String + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let request = lines.next().and_then(Result::ok).unwrap_or_default();
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            // A client that is gone has heard enough.
            drop(stream.write_all(answer(&request).as_bytes()));
        }
    });
    address
}
