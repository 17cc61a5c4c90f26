//! The server to which a command speaks, and the arguments that name it.

use std::io::{IsTerminal, Read, Write};
use std::path::PathBuf;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use domain::base::text::{defanged, visible, visible_line};
use placet::{CallError, Client, Problem, SecretString, SetupError, TransportError};
use url::Url;

use crate::cli::reach::{Unreached, why};
use crate::config::{LISTEN_DEFAULT, is_loopback, secret_from_environment};
use crate::edge::keys::KEY_CHARS_MAX;
use crate::observe::telemetry::in_ascii;
use crate::terminal::{self, laid_out};

/// The exit code of the commands that speak to a server, after a failure.
pub(super) const FAILED: u8 = 3;
/// The commands that speak to a server: wrong usage of them is told on one line, because scripts read logs line by line.
pub(super) const REMOTE_COMMANDS: [&str; 17] = [
    "answer", "ask", "claim", "delegate", "export", "extend", "list", "log", "pause", "reassign", "receipt", "remind", "resume",
    "show", "status", "unclaim", "withdraw",
];
/// How long a failing call is repeated before the failure is reported: a person waits at a shell.
const RETRY_FOR: Duration = Duration::from_secs(15);
/// How long a server may take before the person who waits is told about the delay.
const FIRST_WORD: Duration = Duration::from_millis(400);
/// How long an outage may last before the person who waits is told about it.
pub(super) const BLIP: Duration = Duration::from_secs(2);
/// The path of the API, which every Placet server adds to its address.
const API_PATH: &str = "/api/v1";

/// Help about the exit codes and the environment, for the commands about questions.
pub(super) const EXIT_CODES: &str = "\
Exit codes: 0 done, 3 an error (usage, key, server, or the question is not in the needed state)

Environment:
  PLACET_URL           --url
  PLACET_API_KEY       The key. No flag takes it: others see command lines
  PLACET_API_KEY_FILE  A file that holds it (--key-file)";

/// Names the server and the key.
#[derive(Args)]
pub(super) struct RemoteArgs {
    /// The server's address, for example <https://placet.example.com>.
    #[arg(long, env = "PLACET_URL", value_name = "URL", help = "The server's address, for example https://placet.example.com")]
    url: Option<String>,
    /// A file that holds the API key, instead of `PLACET_API_KEY`. No flag takes the key itself: others see command lines.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Allow http:// beyond this machine: key, question and answer then travel in the clear.
    #[arg(long)]
    allow_insecure: bool,
}

/// A server, and the one key with which the commands speak to it.
pub(super) struct Remote {
    pub(super) client: Client,
    pub(super) url: Url,
    /// The key, for requests that the client does not make. It is read once, because its file may be a pipe.
    pub(super) key: SecretString,
    /// The roles whose keys may be used for the command.
    needs: &'static str,
    /// Whether the person has been told that the call takes a while.
    told: AtomicBool,
}

impl RemoteArgs {
    /// Prepares to speak to the server; nothing is sent.
    ///
    /// # Errors
    ///
    /// The error tells what is wrong with the address or the key, and what to write instead.
    pub(super) fn connect(&self, command: &str, needs: &'static str) -> anyhow::Result<Remote> {
        let url = self.server()?;
        let key = self.key()?;
        let builder = Client::builder(url.as_str(), key.clone())
            .user_agent(format!("placet-{command}/{}", env!("CARGO_PKG_VERSION")))
            .retry_for(RETRY_FOR)
            .outage_tolerance(BLIP);
        let builder = if self.allow_insecure { builder.allow_insecure() } else { builder };
        let client = builder.build().map_err(|error| {
            if matches!(error, SetupError::Insecure) {
                return anyhow::anyhow!(
                    "http:// would send the key in the clear; write https://, or add --allow-insecure on a network that is itself trusted"
                );
            }
            anyhow::Error::new(error).context("the server's address (PLACET_URL, --url) or the API key cannot be used")
        })?;
        Ok(Remote { client, url, key, needs, told: AtomicBool::new(false) })
    }

    fn server(&self) -> anyhow::Result<Url> {
        let Some(given) = &self.url else {
            bail!(
                "no server is named; set PLACET_URL=https://placet.example.com, or give --url \
                 (a server on this machine without settings is at http://{LISTEN_DEFAULT})"
            );
        };
        // The address is not repeated, because it may hold a password.
        if given.contains('@') {
            bail!("the server's address must hold no user, no password and no @; write https://placet.example.com");
        }
        if !given.contains("://") {
            bail!("the server's address {given:?} has no scheme; write {}", with_scheme(given));
        }
        let url = Url::parse(given).with_context(|| format!("the server's address {given:?} is not a URL"))?;
        let path = url.path().trim_end_matches('/');
        if let Some(before) = path.strip_suffix(API_PATH) {
            bail!("the server's address ends in {API_PATH}, which this program adds itself; write {}", with_path(&url, before));
        }
        Ok(url)
    }

    fn key(&self) -> anyhow::Result<SecretString> {
        let Some(file) = &self.key_file else {
            return secret_from_environment("PLACET_API_KEY")?
                .context("there is no API key; set PLACET_API_KEY, or name a file that holds it with --key-file");
        };
        let mut text = String::new();
        // No more is read than a key can hold, because a file that was named by mistake may have no end.
        std::fs::File::open(file)
            .and_then(|opened| opened.take(KEY_CHARS_MAX as u64 + 2).read_to_string(&mut text))
            .with_context(|| format!("failed to read the API key from {}", file.display()))?;
        let key = text.trim_end_matches(['\n', '\r']);
        if key.trim().is_empty() {
            bail!("the file of --key-file, {}, is empty; put the key into it that placet keys create prints", file.display());
        }
        Ok(key.to_owned().into())
    }
}

/// An address with the scheme that was probably meant.
fn with_scheme(given: &str) -> String {
    let local = Url::parse(&format!("http://{given}")).is_ok_and(|url| is_loopback(&url));
    format!("{}://{given}", if local { "http" } else { "https" })
}

/// The address of the same server with `path` as its path, and without a login.
fn with_path(url: &Url, path: &str) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}{path}", url.scheme(), url.host_str().unwrap_or_default())
}

impl Remote {
    /// The address, for messages. It holds no login, because the client refuses one.
    pub(super) fn shown(&self) -> &str {
        self.url.as_str()
    }

    /// The result of `call`. If the call takes longer than a moment, the person at the shell is told about the wait.
    pub(super) async fn heard<T>(&self, call: impl Future<Output = T>) -> T {
        let mut call = pin!(call);
        if let Ok(said) = tokio::time::timeout(FIRST_WORD, &mut call).await {
            return said;
        }
        if self.told.swap(true, Ordering::Relaxed) {
            return call.await;
        }
        tell(format!("no answer from {} yet; trying for {} seconds (Ctrl-C ends that)", self.url, RETRY_FOR.as_secs()));
        call.await
    }

    /// A refusal in words that tell what to do.
    pub(super) fn refused(&self, problem: &Problem) -> anyhow::Error {
        match problem.status {
            401 => anyhow::anyhow!("{} does not accept this API key: it is unknown there, or was revoked", self.url),
            403 if problem.is("forbidden") => anyhow::anyhow!("{problem}; this needs a key with the role {}", self.needs),
            404 if problem.code.is_none() || self.url.path() != "/" => {
                anyhow::anyhow!("the server at {} is not a Placet server ({problem}); correct PLACET_URL or --url", self.url)
            }
            _ => anyhow::anyhow!("{problem}"),
        }
    }

    /// The reason why no answer came, in words that tell what to do.
    pub(super) fn lost(&self, error: TransportError) -> anyhow::Error {
        let TransportError::Network(network) = &error else { return anyhow::Error::new(error).context(self.url.to_string()) };
        let url = &self.url;
        match why(network) {
            Unreached::Refused => anyhow::anyhow!(
                "nothing answers at {url} (the connection was refused): start the server, or correct PLACET_URL or --url"
            ),
            Unreached::Plain => {
                let plain = with_path(url, url.path()).replacen("https", "http", 1);
                anyhow::anyhow!("the server at {url} does not encrypt; write {plain}, or name the port that serves https")
            }
            Unreached::Encryption(why) => anyhow::anyhow!("the connection to {url} cannot be encrypted: {why}"),
            why @ (Unreached::Name(_) | Unreached::Timeout | Unreached::Broken(_)) => {
                anyhow::anyhow!(
                    "{url} could not be reached: {}; is PLACET_URL (or --url) right?",
                    crate::cli::reach::Reached::Nothing(why)
                )
            }
        }
    }

    /// The reason why a call failed, in words that tell what to do.
    pub(super) fn failed(&self, error: CallError) -> anyhow::Error {
        match error {
            CallError::Refused(problem) => self.refused(&problem),
            CallError::Transport(error) => self.lost(error),
        }
    }
}

/// The exit code of a command; a failure is printed first.
pub(super) fn exit_code(done: anyhow::Result<()>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tell(format!("{error:#}"));
            ExitCode::from(FAILED)
        }
    }
}

/// Prints a message for the person on standard error: one line for scripts, several on a terminal if needed. If standard error is
/// gone, the message is lost and the work goes on.
pub fn tell(text: impl AsRef<str>) {
    let (text, mut errors) = (visible_line(text.as_ref()), std::io::stderr());
    let columns = if errors.is_terminal() { terminal::columns() } else { usize::MAX };
    drop(writeln!(errors, "{}", laid_out(&text, "placet: ", "        ", columns)));
}

/// A line of a result: whole for scripts, wrapped on a terminal so that its continuation does not begin at the margin.
pub(super) fn line_of_result(before: &str, text: &str, between: &str) -> String {
    let columns = if std::io::stdout().is_terminal() { terminal::columns() } else { usize::MAX };
    laid_out(&visible_line(text), before, between, columns)
}

/// Prints a result on standard output: unchanged for programs, made inert on a terminal, where text can move the cursor and do
/// worse.
pub(super) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout();
    let written = if out.is_terminal() { writeln!(out, "{}", visible(text)) } else { writeln!(out, "{text}") };
    written.and_then(|()| out.flush()).context("the result could not be written to standard output")
}

/// Prints text on standard output that is already inert and laid out.
pub(super) fn print_laid_out(text: &str) -> anyhow::Result<()> {
    writeln!(std::io::stdout(), "{text}").context("the result could not be written to standard output")
}

/// Prints a line of JSON. Everything beyond ASCII is escaped: the value stays the same, and a terminal is safe from it.
pub(super) fn print_json(value: &serde_json::Value) -> anyhow::Result<()> {
    print(&in_ascii(&value.to_string()))
}

/// A foreign text for a terminal, on as many lines as it has.
pub(super) fn inert(text: &str) -> String {
    defanged(&visible(text))
}

/// A foreign text for a terminal, on one line.
pub(super) fn inert_line(text: &str) -> String {
    defanged(&visible_line(text))
}

/// The name of a person or a key, on one line. A plain e-mail address is shown unchanged: it has no character that could mislead,
/// and a reader wants to copy it.
pub(super) fn name(text: &str) -> String {
    if domain::base::address::exact(text).is_some() && text.is_ascii() { text.to_owned() } else { inert_line(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_a_person_stays_as_it_is() {
        assert_eq!(name("alice@example.com"), "alice@example.com");
        assert_eq!(name("https://evil.example"), "https[:]//evil[.]example");
        assert_eq!(name("alice@example.com https://evil.example"), "alice@example[.]com https[:]//evil[.]example");
        assert_eq!(name("a@b\u{fc}cher.example"), "a@b\u{fc}cher[.]example");
    }

    /// An agent's text must not drive the terminal of the person who decides.
    #[test]
    fn text_for_a_terminal_has_no_controls_and_no_links() {
        let shown = inert("see https://evil.example\u{1B}]0;owned\u{7}\u{202E}\nnext");
        assert_eq!(shown, "see https[:]//evil[.]example⟨U+001B⟩]0;owned⟨U+0007⟩⟨U+202E⟩\nnext");
        assert!(!inert_line("a\nb\u{9B}2J").contains(['\n', '\u{9B}']));
    }
}
