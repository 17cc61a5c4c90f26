//! A line on the terminal that says how far a long verification is.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// After this time the line appears; most exports are verified before.
const PATIENCE: Duration = Duration::from_millis(700);
/// How often the line changes.
const INTERVAL: Duration = Duration::from_millis(200);
/// How many bytes are read between two looks at the clock.
const STEP_BYTES: u64 = 1024 * 1024;

/// A line on standard error, if that is a terminal.
pub(crate) struct Progress {
    is_terminal: bool,
    next_bytes: u64,
    next_time: Instant,
    is_shown: bool,
}

impl Progress {
    /// No line yet.
    pub(crate) fn new() -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        Self { is_terminal, next_bytes: 0, next_time: Instant::now() + PATIENCE, is_shown: false }
    }

    /// Shows how far the verification of `file` is, now and then.
    pub(crate) fn show(&mut self, file: &Path, read: u64, length: u64) {
        // A smaller number of bytes belongs to the next file.
        let is_step = read >= self.next_bytes || read + STEP_BYTES < self.next_bytes;
        if !self.is_terminal || !is_step {
            return;
        }
        self.next_bytes = read + STEP_BYTES;
        let now = Instant::now();
        if now >= self.next_time {
            self.next_time = now + INTERVAL;
            let percent = (read.saturating_mul(100)).checked_div(length).unwrap_or(0).min(100);
            self.is_shown = write(&format!("\r\u{1b}[KVerifying {}: {percent} %", file.display()));
        }
    }

    /// Removes the line.
    pub(crate) fn end(&mut self) {
        if self.is_shown {
            self.is_shown = !write("\r\u{1b}[K");
        }
    }
}

/// Writes to the terminal; a terminal that is gone is no reason to stop.
fn write(text: &str) -> bool {
    let mut terminal = std::io::stderr().lock();
    terminal.write_all(text.as_bytes()).and_then(|()| terminal.flush()).is_ok()
}
