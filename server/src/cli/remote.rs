//! A server somewhere else, as the commands that speak to one are told about it.

use std::io::{IsTerminal, Read, Write};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use domain::text::{defanged, visible, visible_line};
use placet::{CallError, Client, Problem, SecretString, SetupError};

use crate::config::secret_from_environment;
use crate::keys::KEY_CHARS_MAX;
use crate::telemetry::in_ascii;
use crate::terminal::{self, laid_out};

/// What the commands that speak to a server exit with when something failed.
pub(super) const FAILED: u8 = 3;
/// How long a call is repeated before its failure is told: somebody waits at a shell.
const RETRY_FOR: Duration = Duration::from_secs(15);
/// How long an outage may last before it is worth a word to the person who waits.
pub(super) const BLIP: Duration = Duration::from_secs(2);

/// Which server, with which key.
#[derive(Args)]
pub(super) struct RemoteArgs {
    /// The server's address, such as <https://placet.example.com>.
    #[arg(long, env = "PLACET_URL", value_name = "URL", help = "The server's address, such as https://placet.example.com")]
    url: String,
    /// A file that holds the API key, instead of `PLACET_API_KEY`. No flag takes the key itself: others see command lines.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Allow http:// beyond this machine: key, question and answer then travel in the clear.
    #[arg(long)]
    allow_insecure: bool,
}

impl RemoteArgs {
    /// Where the server is meant to be, for messages: the client refuses an address that holds a password.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn client(&self, command: &str) -> anyhow::Result<Client> {
        let builder = Client::builder(&self.url, self.key()?)
            .user_agent(format!("placet-{command}/{}", env!("CARGO_PKG_VERSION")))
            .retry_for(RETRY_FOR)
            .outage_tolerance(BLIP);
        let builder = if self.allow_insecure { builder.allow_insecure() } else { builder };
        builder.build().map_err(|error| {
            if matches!(error, SetupError::Insecure) {
                return anyhow::anyhow!(
                    "http:// would send the key in the clear; use https://, or --allow-insecure on a network that is itself trusted"
                );
            }
            anyhow::Error::new(error).context("the server cannot be spoken to (--url, PLACET_URL)")
        })
    }

    fn key(&self) -> anyhow::Result<SecretString> {
        let Some(file) = &self.key_file else {
            return secret_from_environment("PLACET_API_KEY")?
                .context("there is no API key; set PLACET_API_KEY, or name a file that holds it with --key-file");
        };
        let mut text = String::new();
        // A file that was meant to be another one may have no end.
        std::fs::File::open(file)
            .and_then(|opened| opened.take(KEY_CHARS_MAX as u64 + 2).read_to_string(&mut text))
            .with_context(|| format!("failed to read the API key from {}", file.display()))?;
        Ok(text.trim_end_matches(['\n', '\r']).to_owned().into())
    }
}

/// Says something to the person, on standard error: one line for scripts, as many as it takes on a terminal. Nothing is left to tell if
/// that is gone, and the work goes on.
pub fn tell(text: impl AsRef<str>) {
    let (text, mut errors) = (visible_line(text.as_ref()), std::io::stderr());
    let columns = if errors.is_terminal() { terminal::columns() } else { usize::MAX };
    drop(writeln!(errors, "{}", laid_out(&text, "placet: ", "        ", columns)));
}

/// A line of a result: whole for scripts; on a terminal broken before its end, so that nothing goes on at the margin.
pub(super) fn line_of_result(before: &str, text: &str, between: &str) -> String {
    let columns = if std::io::stdout().is_terminal() { terminal::columns() } else { usize::MAX };
    laid_out(&visible_line(text), before, between, columns)
}

/// Prints a result on standard output: as it is for programs, inert on a terminal, where text can move the cursor and worse.
pub(super) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout();
    let written = if out.is_terminal() { writeln!(out, "{}", visible(text)) } else { writeln!(out, "{text}") };
    written.and_then(|()| out.flush()).context("the result could not be written to standard output")
}

/// Prints on standard output what is inert and laid out already.
pub(super) fn print_laid_out(text: &str) -> anyhow::Result<()> {
    writeln!(std::io::stdout(), "{text}").context("the result could not be written to standard output")
}

/// Prints a line of JSON. Beyond ASCII everything is escaped: the value is the same, and a terminal is safe from it.
pub(super) fn print_json(value: &serde_json::Value) -> anyhow::Result<()> {
    print(&in_ascii(&value.to_string()))
}

/// Somebody else's text for a terminal, on as many lines as it has.
pub(super) fn inert(text: &str) -> String {
    defanged(&visible(text))
}

/// Somebody else's text for a terminal, on one line.
pub(super) fn inert_line(text: &str) -> String {
    defanged(&visible_line(text))
}

/// A refusal in words that say what to do.
pub(super) fn refused(problem: &Problem, needs: &str) -> anyhow::Error {
    match problem.status {
        401 => anyhow::anyhow!("the server does not accept this API key: it is unknown there, or was revoked"),
        403 if problem.is("forbidden") => anyhow::anyhow!("{problem}; this needs a key with the role {needs}"),
        _ => anyhow::anyhow!("{problem}"),
    }
}

/// Why a call failed, in words.
pub(super) fn failed(error: CallError, needs: &str) -> anyhow::Error {
    match error {
        CallError::Refused(problem) => refused(&problem, needs),
        CallError::Transport(error) => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an agent writes must not drive the terminal of the person who decides.
    #[test]
    fn text_for_a_terminal_has_no_controls_and_no_links() {
        let shown = inert("see https://evil.example\u{1B}]0;owned\u{7}\u{202E}\nnext");
        assert_eq!(shown, "see https[:]//evil[.]example⟨U+001B⟩]0;owned⟨U+0007⟩⟨U+202E⟩\nnext");
        assert!(!inert_line("a\nb\u{9B}2J").contains(['\n', '\u{9B}']));
    }
}
