//! The `placet` program as people run it: its own process, its own clock, its own database file.

use std::ffi::OsStr;
use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use chrono::TimeDelta;
use domain::base::clock::Clock;
use serde_json::Value;
use store::host::clock::{SystemClock, SystemEntropy};
use store::sqlite::{Exclusive, SqliteStore};
use store::{Store, Surroundings};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use crate::api::Api;
use crate::clock::FakeClock;

/// How long a program may take until it prints or does the thing that a test waits for.
pub const PATIENCE: Duration = Duration::from_secs(40);
/// The text that the server prints when it can be reached.
const LISTENS: &str = "Placet listens on ";
/// The newest migration, as a database stores it.
pub const MIGRATION: &str = "20261121000000";
/// Ports that no system assigns by itself: when a killed server starts again, its port is still free.
const PORTS: std::ops::Range<u16> = 20_000..32_000;
/// How many bytes at the end of each page of a SQLite file hold its checksum.
const CHECKSUM_BYTES: usize = 8;

/// The program that runs.
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// The program that was handed in to run instead.
static INSTEAD: OnceLock<PathBuf> = OnceLock::new();

/// Runs this program instead of one built from these sources: in this way a benchmark compares two builds.
pub fn run_instead(program: PathBuf) {
    assert!(PROGRAM.get().is_none(), "no program has run yet");
    INSTEAD.set(program).expect("one program is handed in");
}

/// The program that was handed in, if one was.
pub fn instead() -> Option<&'static Path> {
    INSTEAD.get().map(PathBuf::as_path)
}

/// The program, built once by the cargo that runs the tests, in the profile it built them in.
///
/// Cargo offers a test only the programs of its own package. All of the workspace is selected, so that features, and with them
/// the libraries, are those the tests were built with: usually there is one thing left to link.
pub fn program() -> &'static Path {
    if let Some(program) = instead() {
        return program;
    }
    PROGRAM.get_or_init(|| {
        let profile = match profile().as_str() {
            "debug" => "dev".to_owned(),
            other => other.to_owned(),
        };
        let mut cargo = std::process::Command::new(env!("CARGO"));
        // Cargo's variables about a test's own package would make build scripts run again, and again when cargo next runs.
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_about_a_package(&name.to_string_lossy())) {
            cargo.env_remove(name);
        }
        let output = cargo
            .args(["build", "--quiet", "--locked", "--workspace", "--bin", "placet", "--message-format=json"])
            .args(["--profile", &profile])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .stderr(Stdio::inherit())
            .output()
            .unwrap();
        assert!(output.status.success(), "failed to build placet: {}", String::from_utf8_lossy(&output.stdout));
        let messages = String::from_utf8(output.stdout).unwrap();
        let built = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let program = built.filter_map(|message| message["executable"].as_str().map(PathBuf::from)).next_back();
        program.expect("cargo names the program it has built")
    })
}

fn is_about_a_package(name: &str) -> bool {
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"].iter().any(|start| name.starts_with(start))
        || ["CARGO_PRIMARY_PACKAGE", "CARGO_TARGET_TMPDIR", "OUT_DIR"].contains(&name)
}

/// The folder under `target/` the running test was built in: `debug`, `release`, …
pub fn profile() -> String {
    let test = std::env::current_exe().unwrap();
    let folder = test.ancestors().nth(2).and_then(Path::file_name).unwrap();
    folder.to_str().unwrap().to_owned()
}

/// The settings of the tests' servers in production.
const LENIENT: &str =
    "[fallback]\nmin_window_seconds = 1\n\n[questions]\nmin_distance_seconds = 0\nasks_per_hour = 0\nmin_interval_seconds = 1\n";
/// The name of the file with these settings.
const LENIENT_FILE: &str = "lenient.toml";

/// A place to run the program in: a folder, a path for its database, and a port.
pub struct Site {
    folder: TempDir,
    port: u16,
    smtp_url: Option<String>,
    database_url: Option<String>,
    public_url: Option<String>,
    log_key_file: Option<PathBuf>,
    runs: AtomicU16,
}

impl Site {
    /// A site of a server in development: mails stay in memory.
    pub fn development() -> Self {
        let folder = TempDir::new().unwrap();
        let (smtp_url, database_url, public_url, log_key_file) = (None, None, None, None);
        Self { folder, port: free_port(), smtp_url, database_url, public_url, log_key_file, runs: AtomicU16::new(0) }
    }

    /// A site whose database is elsewhere.
    pub fn on(database_url: String) -> Self {
        Self { database_url: Some(database_url), ..Self::development() }
    }

    /// A site of a server in production, which sends its mails to `smtp_url`, and lets agents ask as often and as briefly as in
    /// development: tests have no time to wait as long as people do.
    pub fn production(smtp_url: String) -> Self {
        let site = Self { smtp_url: Some(smtp_url), ..Self::development() };
        std::fs::write(site.folder().join(LENIENT_FILE), LENIENT).unwrap();
        site
    }

    /// The same, with a database that is elsewhere.
    #[must_use]
    pub fn with_database(self, database_url: String) -> Self {
        Self { database_url: Some(database_url), ..self }
    }

    /// One of several servers in production that share a database, behind a balancer at which people reach them.
    pub fn replica(database_url: String, smtp_url: String, public_url: String) -> Self {
        let (database_url, public_url) = (Some(database_url), Some(public_url));
        Self { database_url, public_url, ..Self::production(smtp_url) }
    }

    /// The same, with the file that holds the key to the log.
    #[must_use]
    pub fn with_log_key(self, file: PathBuf) -> Self {
        Self { log_key_file: Some(file), ..self }
    }

    /// The port of its server.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The working folder of the server's process.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The database file.
    pub fn database(&self) -> PathBuf {
        self.folder().join("data/placet.db")
    }

    fn database_url(&self) -> String {
        self.database_url.clone().unwrap_or_else(|| format!("sqlite://{}", self.database().display()))
    }

    /// Writes a change that only another version or program would make: `to` for `from`, of the same length, everywhere in the
    /// database.
    pub fn rewrite_database(&self, from: &str, to: &str) {
        assert_eq!(from.len(), to.len());
        let log = std::fs::metadata(self.database().with_extension("db-wal"));
        assert!(log.map_or(true, |log| log.len() == 0), "a server that was stopped leaves all of the database in one file");
        let mut bytes = std::fs::read(self.database()).unwrap();
        let places: Vec<usize> = (0..=bytes.len() - from.len()).filter(|at| bytes[*at..].starts_with(from.as_bytes())).collect();
        assert!(!places.is_empty(), "{from} is not in the database");
        let page_bytes = usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
        for at in places {
            bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
            // Another program leaves no checksum in a page that it writes.
            let page = at / page_bytes..(at + to.len() - 1) / page_bytes + 1;
            for end in page.map(|page| (page + 1) * page_bytes) {
                bytes[end - CHECKSUM_BYTES..end].fill(0);
            }
        }
        std::fs::write(self.database(), bytes).unwrap();
    }

    /// Makes it look as if the server, which does not run, had been away for this many seconds.
    pub async fn away_for(&self, seconds: i64) {
        let then = Arc::new(FakeClock::at(SystemClock.now() - TimeDelta::seconds(seconds)));
        let store =
            SqliteStore::open(&self.database(), Exclusive::Beside, Surroundings::alone(then, Arc::new(SystemEntropy))).unwrap();
        store.depart().await.unwrap();
        store.close().await;
    }

    /// `http://127.0.0.1:PORT/`; the same for every server of this site.
    pub fn base(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// A command line of the program in this site.
    pub fn command<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(program());
        // Settings for a server in the developer's environment must not reach the programs that tests start.
        for (name, _) in std::env::vars_os()
            .filter(|(name, _)| ["PLACET_", "OTEL_"].iter().any(|start| name.to_string_lossy().starts_with(start)))
        {
            command.env_remove(name);
        }
        command
            .args(arguments)
            .env_remove("RUST_LOG")
            .env("PLACET_DATABASE_URL", self.database_url())
            .env("PLACET_LISTEN", format!("127.0.0.1:{}", self.port))
            .env("PLACET_OPERATORS", "ops@example.com")
            .env("PLACET_NOTIFY_ALLOW", "*@example.com")
            .current_dir(self.folder());
        if let Some(file) = &self.log_key_file {
            command.env("PLACET_LOG_KEY_FILE", file);
        }
        if let Some(public_url) = &self.public_url {
            command.env("PLACET_PUBLIC_URL", public_url);
        }
        if let Some(smtp_url) = &self.smtp_url {
            command.env("PLACET_SMTP_URL", smtp_url).env("PLACET_MAIL_FROM", "Placet <placet@example.com>");
            command.env("PLACET_CONFIG", self.folder().join(LENIENT_FILE));
        }
        command
    }

    /// A script for a shell, with the settings of [`Site::command`]; `placet` is the program.
    pub fn script(&self, shell: &str, text: &str) -> Command {
        let like = self.command([""; 0]);
        let mut script = Command::new(shell);
        for (name, value) in like.as_std().get_envs() {
            match value {
                Some(value) => script.env(name, value),
                None => script.env_remove(name),
            };
        }
        let folders = program().parent().into_iter().map(Path::to_owned);
        let path = std::env::join_paths(folders.chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())));
        script.args(["-c", text]).env("PATH", path.unwrap()).current_dir(self.folder());
        script
    }

    /// Starts a command; its standard error goes to a file.
    pub fn start(&self, mut command: Command) -> Running {
        let run = self.runs.fetch_add(1, Ordering::SeqCst);
        let log = self.folder().join(format!("stderr-{run}"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(File::create(&log).unwrap()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Running { child, stdout, said: String::new(), log }
    }

    /// Runs a command to its end, with nothing on its standard input.
    pub async fn run(&self, command: Command) -> Finished {
        self.run_with(command, "").await
    }

    /// Runs a command to its end, with `input` on its standard input.
    pub async fn run_with(&self, command: Command, input: &str) -> Finished {
        let mut running = self.start(command);
        let mut stdin = running.child.stdin.take().unwrap();
        // A command that refuses before it reads closes the pipe; its message is what counts.
        drop(stdin.write_all(input.as_bytes()).await);
        drop(stdin);
        running.finish().await
    }

    /// Starts a server and waits until it can be reached.
    pub async fn serve(&self) -> Running {
        let mut running = self.start(self.command(["serve"]));
        running.line_with(LISTENS).await;
        running
    }

    /// Makes a key with the command line; returns its id and its secret.
    pub async fn key(&self, role: &str, name: &str) -> (String, String) {
        let created = self.run(self.command(["keys", "create", "--json", "--role", role, "--name", name])).await;
        let key: Value = serde_json::from_str(created.succeeded().lines().last().unwrap()).unwrap();
        let text = |field: &str| key[field].as_str().unwrap().to_owned();
        (text("id"), text("key"))
    }

    /// Raw requests with a new key.
    pub async fn api(&self, role: &str, name: &str) -> Api {
        Api::new(&self.base(), Some(&self.key(role, name).await.1))
    }
}

/// Ports handed out so far.
static PORTS_USED: AtomicU16 = AtomicU16::new(0);

/// A free port, which other programs get only if they ask for its number.
pub(crate) fn free_port() -> u16 {
    // Test runs at the same time begin at different ports, because the start depends on the process id.
    let start = u16::try_from(std::process::id() % 997 * 12).unwrap();
    loop {
        let port = PORTS.start + (start + PORTS_USED.fetch_add(1, Ordering::SeqCst)) % (PORTS.end - PORTS.start);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// A process that runs; dropping it kills it.
pub struct Running {
    child: Child,
    stdout: BufReader<ChildStdout>,
    said: String,
    log: PathBuf,
}

impl Running {
    /// The next line on standard output that contains `text`.
    pub async fn line_with(&mut self, text: &str) -> String {
        let look = async {
            loop {
                let mut line = String::new();
                if self.stdout.read_line(&mut line).await.unwrap() == 0 {
                    return None;
                }
                self.said.push_str(&line);
                if line.contains(text) {
                    return Some(line.trim_end().to_owned());
                }
            }
        };
        let found = timeout(PATIENCE, look).await.unwrap_or_default();
        found.unwrap_or_else(|| panic!("the process did not say {text:?}:\n{}\n{}", self.said, self.errors()))
    }

    /// Waits until the process has printed `text` on standard output, even in the middle of a line.
    pub async fn shows(&mut self, text: &str) {
        let mut character = Vec::new();
        let look = async {
            while let Ok(byte) = self.stdout.read_u8().await {
                character.push(byte);
                if let Ok(whole) = std::str::from_utf8(&character) {
                    self.said.push_str(whole);
                    character.clear();
                    if self.said.ends_with(text) {
                        return true;
                    }
                }
            }
            false
        };
        let shown = timeout(PATIENCE, look).await.unwrap_or_default();
        assert!(shown, "the process did not show {text:?}:\n{}\n{}", self.said, self.errors());
    }

    /// Writes on its standard input, as a person types.
    pub async fn types(&mut self, text: &str) {
        let input = self.child.stdin.as_mut().expect("its input is open");
        input.write_all(text.as_bytes()).await.unwrap();
        input.flush().await.unwrap();
    }

    /// Ends its standard input.
    pub fn close_input(&mut self) {
        drop(self.child.stdin.take());
    }

    /// The text that it has printed on standard error so far.
    pub fn errors(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id().expect("the process runs")
    }

    /// Sends a signal by name: `TERM`, `INT`.
    pub async fn signal(&self, name: &str) {
        let id = self.id();
        let sent = Command::new("sh").arg("-c").arg(format!("kill -{name} {id}")).status().await.unwrap();
        assert!(sent.success());
    }

    /// SIGKILL: it gets no chance to finish anything.
    pub async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }

    /// Waits for its end.
    pub async fn finish(mut self) -> Finished {
        let mut rest = String::new();
        let ended = timeout(PATIENCE, async {
            self.stdout.read_to_string(&mut rest).await.unwrap();
            self.child.wait().await.unwrap()
        });
        let ended = ended.await;
        self.said.push_str(&rest);
        let stderr = self.errors();
        let status = ended.unwrap_or_else(|_| panic!("the process did not end:\n{}\n{stderr}", self.said));
        Finished { status, stdout: self.said, stderr }
    }
}

/// A process that has ended, with its output.
#[derive(Debug)]
pub struct Finished {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Finished {
    /// Its standard output; fails the test unless the process succeeded.
    pub fn succeeded(&self) -> &str {
        assert!(self.status.success(), "{}\n{}\n{}", self.status, self.stdout, self.stderr);
        &self.stdout
    }

    /// Fails the test unless the process refused with each of `words` on standard error.
    pub fn refused(&self, words: &[&str]) {
        assert_eq!(self.status.code(), Some(1), "{}\n{}", self.stdout, self.stderr);
        let missing: Vec<_> = words.iter().filter(|word| !self.stderr.contains(**word)).collect();
        assert!(missing.is_empty(), "{missing:?} is missing in: {}", self.stderr);
    }
}
