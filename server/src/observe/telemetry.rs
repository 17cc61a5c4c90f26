//! Logs: on standard error, so that standard output stays for results.
//!
//! A log may be read on a terminal, and may quote others (a mail server's reply, a name). No character of a quotation acts on the
//! terminal, and no quoted line begins at the margin.

use std::fmt;
use std::io::{self, IsTerminal, Write};

use domain::base::text::visible_line;
use tracing::Subscriber;
use tracing::field::Field;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::fmt::SubscriberBuilder;
use tracing_subscriber::fmt::format::{Writer, debug_fn};
use tracing_subscriber::util::SubscriberInitExt;

use crate::terminal::{columns, laid_out};

/// The log filter unless `RUST_LOG` sets another. It silences the dispatcher of actix, which logs an error when a client sends a
/// malformed header: for the readers of this log that is no error.
pub const SERVER_FILTER: &str = "info,actix_server=warn,actix_http::h1::dispatcher=off,tokio_cron_scheduler=warn";
/// The same for commands whose result is their output.
pub const COMMAND_FILTER: &str = "warn";

/// Starts logging: as text on a terminal, as JSON elsewhere.
pub fn init(filter_default: &str) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(filter_default));
    let started = if io::stderr().is_terminal() {
        for_people(filter, || OnTerminal(io::stderr())).try_init()
    } else {
        for_programs(filter, || InAscii(io::stderr())).try_init()
    };
    // This fails if a test harness has started logging already, and its logging then stays.
    drop(started);
}

fn for_people<W: Write + 'static>(
    filter: EnvFilter,
    writer: impl Fn() -> W + Send + Sync + 'static,
) -> impl Subscriber + Send + Sync {
    let fields = debug_fn(field).delimited(" ");
    subscriber().with_env_filter(filter).fmt_fields(fields).with_writer(writer).finish()
}

fn for_programs<W: Write + 'static>(
    filter: EnvFilter,
    writer: impl Fn() -> W + Send + Sync + 'static,
) -> impl Subscriber + Send + Sync {
    subscriber().with_env_filter(filter).json().with_writer(writer).finish()
}

/// Begins a subscriber that loses a record which cannot be written, for example because the disk is full. By default a subscriber reports
/// that on standard error, and panics if it cannot: the request that logged something would be lost as well.
fn subscriber() -> SubscriberBuilder {
    tracing_subscriber::fmt().log_internal_errors(false)
}

/// One field of a line for people: its text on one line, without characters that act on a terminal.
fn field(writer: &mut Writer<'_>, field: &Field, value: &dyn fmt::Debug) -> fmt::Result {
    let value = visible_line(&format!("{value:?}"));
    if field.name() == "message" { write!(writer, "{value}") } else { write!(writer, "{}={value}", field.name()) }
}

/// Wraps each record for the terminal; continued lines are indented. The subscriber writes each record in one piece.
struct OnTerminal<W>(W);

impl<W: Write> Write for OnTerminal<W> {
    fn write(&mut self, record: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(record);
        let lines = laid_out(text.trim_end_matches('\n'), "", "    ", columns()) + "\n";
        self.0.write_all(lines.as_bytes())?;
        Ok(record.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Escapes everything beyond ASCII in each record. The record is JSON, so it keeps its meaning, and a reader on a terminal is
/// safe from it.
struct InAscii<W>(W);

impl<W: Write> Write for InAscii<W> {
    fn write(&mut self, record: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(record);
        let mut line = in_ascii(text.trim_end_matches('\n'));
        line.push('\n');
        // Standard error has no buffer, so a line in two pieces would be two calls of the system, and another program could write in
        // between.
        self.0.write_all(line.as_bytes())?;
        Ok(record.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// JSON with everything beyond visible ASCII escaped.
pub(crate) fn in_ascii(json: &str) -> String {
    let mut line = String::with_capacity(json.len() + 1);
    if json.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        line.push_str(json);
        return line;
    }
    for c in json.chars() {
        if matches!(c, ' '..='~') {
            line.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            line.extend(format!("\\u{unit:04x}").chars());
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// Characters that move the cursor, hide, reorder, or begin a line.
    const HOSTILE: &str = "x\u{1B}[2J\u{9B}1A\u{202E}\r\n2026-11-24T09:30:00Z  INFO an answer was recorded";

    /// The pieces that were written.
    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<Vec<u8>>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().push(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged<S: Subscriber + Send + Sync>(subscriber: impl FnOnce(Kept) -> S) -> String {
        let kept = Kept::default();
        tracing::subscriber::with_default(subscriber(kept.clone()), || {
            let padded = format!("{}{HOSTILE}", " ".repeat(70));
            tracing::info!(name = HOSTILE, shown = %padded, debugged = ?HOSTILE, "{HOSTILE}");
        });
        let pieces = kept.0.lock().unwrap().clone();
        assert_eq!(pieces.len(), 1, "a record is written by one call");
        String::from_utf8(pieces.concat()).unwrap()
    }

    /// A reader takes each line at the margin for an event of the server, so text that others wrote must not begin there. For
    /// programs an event is exactly one line. For people it may go on in indented lines, and only its first line begins at the
    /// margin.
    #[test]
    fn nobody_writes_lines_of_their_own_into_the_log() {
        let json = logged(|kept| for_programs(EnvFilter::new("info"), move || InAscii(kept.clone())));
        assert!(json.lines().count() == 1 && json.trim_end().chars().all(|c| matches!(c, ' '..='~')), "{json:?}");
        let record: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(record["fields"]["name"], HOSTILE);

        let text = logged(|kept| for_people(EnvFilter::new("info"), move || OnTerminal(kept.clone())));
        let at_margin = text.lines().filter(|line| !line.starts_with("    ")).count();
        assert!(at_margin == 1 && text.lines().count() > 1, "{text:?}");
        // The colours are ours.
        let sequences =
            text.split('\u{1B}').skip(1).all(|rest| rest.starts_with('[') && rest.find('m').is_some_and(|end| end < 4));
        assert!(sequences && !text.contains(['\u{9B}', '\u{202E}', '\r']), "{text:?}");
    }
}
