//! A Postfix of a test's own, with the settings it is shipped with: the mail server that most addresses are read by.
//!
//! It receives for `example.com`, as the mail server of a company does, and carries what is for any other domain on. Both ends are sinks of
//! the test's, so that it is seen where a mail goes. It goes away with the process however that ends: the shell that minds it waits on a
//! pipe which only this process holds. Postfix starts as root alone; anybody else needs `sudo` without a password.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufStream};
use tokio::net::TcpStream;

use crate::process::free_port;
use crate::smtp::SmtpSink;

/// Where Debian keeps the services of a Postfix as it is shipped.
const SERVICES: &str = "/usr/share/postfix/master.cf.dist";

/// Minds the server: `$1` its folder. What waits in its queue goes with it.
const MINDER: &str = r#"
set -e
mkdir "$1/queue" "$1/data"
chown postfix "$1/data"
postfix -c "$1/conf" start >>"$1/said" 2>&1 </dev/null || { cat "$1/said" "$1/log" >&2; exit 1; }
# Who waits for this word may be gone already; what was started must be put away all the same.
trap '' PIPE
echo ready 2>/dev/null || true
read -r _ || true
postfix -c "$1/conf" stop >>"$1/said" 2>&1 || true
rm -rf "$1"
"#;

/// A running Postfix, and where its mails go.
pub struct Postfix {
    /// What it delivers to `example.com`.
    pub home: SmtpSink,
    /// What it carries on to any other domain.
    pub elsewhere: SmtpSink,
    port: u16,
    // Its pipe is what keeps the server alive.
    _minder: Child,
}

impl Postfix {
    /// Starts one.
    pub async fn start() -> Self {
        let (home, elsewhere, port) = (SmtpSink::start().await, SmtpSink::start().await, free_port());
        let folder = TempDir::with_prefix("placet-postfix-").unwrap().keep();
        configure(&folder, port, &next_hop(&home), &next_hop(&elsewhere));
        let mut minder = if am_root() { Command::new("sh") } else { Command::new("sudo") };
        if !am_root() {
            minder.args(["--non-interactive", "sh"]);
        }
        minder.args(["-c", MINDER, "sh"]).arg(&folder).current_dir(&folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        // Ctrl-C goes to a whole group of processes; the minder must outlive this one, to put away what it started.
        std::os::unix::process::CommandExt::process_group(&mut minder, 0);
        let mut minder = minder.spawn().unwrap();
        let mut said = String::new();
        BufReader::new(minder.stdout.take().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said.trim(), "ready", "Postfix did not start; what it said stands above");
        Self { home, elsewhere, port, _minder: minder }
    }

    /// Where it listens, as `PLACET_SMTP_URL` takes it.
    pub fn url(&self) -> String {
        format!("smtp://127.0.0.1:{}", self.port)
    }

    /// Hands it a mail for an address, as a program would that checks nothing; false if it refuses the address.
    pub async fn offer(&self, recipient: &str) -> bool {
        let mut wire = BufStream::new(TcpStream::connect(("127.0.0.1", self.port)).await.unwrap());
        let rcpt = format!("RCPT TO:<{recipient}>");
        for (said, expected) in [("", "220"), ("HELO test", "250"), ("MAIL FROM:<agent@example.com>", "250"), (&rcpt, "250")] {
            if !said.is_empty() {
                say(&mut wire, said).await;
            }
            let reply = heard(&mut wire).await;
            if said == rcpt && !reply.starts_with(expected) {
                return false;
            }
            assert!(reply.starts_with(expected), "{said}: {reply}");
        }
        for (said, expected) in [("DATA", "354"), ("Subject: a test\r\n\r\nhello\r\n.", "250"), ("QUIT", "221")] {
            say(&mut wire, said).await;
            let reply = heard(&mut wire).await;
            assert!(reply.starts_with(expected), "{said}: {reply}");
        }
        true
    }
}

async fn say(wire: &mut BufStream<TcpStream>, line: &str) {
    wire.write_all(format!("{line}\r\n").as_bytes()).await.unwrap();
    wire.flush().await.unwrap();
}

async fn heard(wire: &mut BufStream<TcpStream>) -> String {
    let mut line = String::new();
    wire.read_line(&mut line).await.unwrap();
    line
}

/// A sink as Postfix names the next server.
fn next_hop(sink: &SmtpSink) -> String {
    sink.url().replace("smtp://127.0.0.1:", "[127.0.0.1]:")
}

/// What has no line here is as Postfix has it by default. The services are those of the package, on another port and outside of a jail.
fn configure(folder: &Path, port: u16, home: &str, elsewhere: &str) {
    // Its services run as a user of their own.
    std::fs::set_permissions(folder, PermissionsExt::from_mode(0o755)).unwrap();
    let conf: PathBuf = folder.join("conf");
    std::fs::create_dir(&conf).unwrap();
    let at = folder.display();
    let main = format!(
        "compatibility_level = 3.6\nqueue_directory = {at}/queue\ndata_directory = {at}/data\nmaillog_file = {at}/log\n\
         maillog_file_prefixes = {at}\nmyhostname = mail.example.com\nmydestination = example.com\nlocal_recipient_maps =\n\
         alias_maps =\nlocal_transport = smtp:{home}\nrelayhost = {elsewhere}\ninet_interfaces = 127.0.0.1\ninet_protocols = ipv4\n"
    );
    std::fs::write(conf.join("main.cf"), main).unwrap();
    let shipped = std::fs::read_to_string(SERVICES).unwrap_or_else(|error| panic!("{SERVICES}: {error}; is Postfix installed?"));
    let listener = format!("127.0.0.1:{port} inet n - n - - smtpd");
    let services: Vec<String> = std::iter::once(listener).chain(shipped.lines().map(outside_a_jail)).collect();
    std::fs::write(conf.join("master.cf"), services.join("\n") + "\n").unwrap();
}

/// A line about a service, with the word that locks it into its queue's folder taken back; the usual port is left to others.
fn outside_a_jail(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        ["smtp", "inet", ..] => String::new(),
        [name, kind @ ("inet" | "unix" | "fifo" | "pass" | "unix-dgram"), private, unprivileged, "y", ref rest @ ..] => {
            format!("{name} {kind} {private} {unprivileged} n {}", rest.join(" "))
        }
        _ => line.to_owned(),
    }
}

fn am_root() -> bool {
    std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap()) == 0
}
