//! A Postfix that belongs to a test, with the settings of its Debian package. It shows where a common mail server sends the mail
//! for an address.
//!
//! It receives for `example.com`, as the mail server of a company does, and carries mail for any other domain on. Both ends are
//! sinks of the test, so the test sees where a mail goes. The server disappears with the process, however that ends: the shell
//! that supervises it waits on a pipe that only this process holds. Postfix starts only as root; other users need `sudo` without
//! a password.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufStream};
use tokio::net::TcpStream;

use crate::process::free_port;
use crate::smtp::SmtpSink;

/// The folder where Debian keeps the services of a Postfix as packaged.
const SERVICES: &str = "/usr/share/postfix/master.cf.dist";

/// Supervises the server: `$1` is its folder. The mails in its queue disappear with it.
const MINDER: &str = r#"
set -e
mkdir "$1/queue" "$1/data"
chown postfix "$1/data"
postfix -c "$1/conf" start >>"$1/said" 2>&1 </dev/null || { cat "$1/said" "$1/log" >&2; exit 1; }
# The test process that waits for this word may have ended already. The server that was started must be removed all the same.
trap '' PIPE
echo ready 2>/dev/null || true
read -r _ || true
postfix -c "$1/conf" stop >>"$1/said" 2>&1 || true
rm -rf "$1"
"#;

/// A running Postfix, with the targets of its mails.
pub struct Postfix {
    /// The sink for mails to `example.com`.
    pub home: SmtpSink,
    /// The sink for mails that it carries on to any other domain.
    pub elsewhere: SmtpSink,
    port: u16,
    // Its pipe keeps the server alive.
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
        // Ctrl-C goes to a whole group of processes; the supervisor must outlive this one to clean up.
        std::os::unix::process::CommandExt::process_group(&mut minder, 0);
        let mut minder = minder.spawn().unwrap();
        let mut said = String::new();
        BufReader::new(minder.stdout.take().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said.trim(), "ready", "Postfix did not start; what it said stands above");
        Self { home, elsewhere, port, _minder: minder }
    }

    /// The address at which it listens, in the form of `PLACET_SMTP_URL`.
    pub fn url(&self) -> String {
        format!("smtp://127.0.0.1:{}", self.port)
    }

    /// Gives it a mail for an address, like a program that checks nothing; false if it refuses the address.
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

/// Settings without a line here have Postfix's defaults. The services are those of the package, but they listen on another port
/// and do not run in a chroot.
fn configure(folder: &Path, port: u16, home: &str, elsewhere: &str) {
    // The services of Postfix run as a user of their own.
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

/// A line about a service, with its chroot turned off. The line of the service on the usual mail port is dropped.
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
