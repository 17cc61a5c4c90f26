//! A stored record that has changed since it was written.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use domain::base::ids::{IntentId, PortfolioId};

/// The words by which SQLite says that a page of the database is not what was written (`SQLITE_CORRUPT`).
const SQLITE_CORRUPT: &str = "database disk image is malformed";
/// How PostgreSQL's message about a page begins that does not give its checksum.
const POSTGRES_CORRUPT: &str = "invalid page in block";

/// How many damaged records a process remembers.
pub const REMEMBERED_MAX: usize = 1_000;
/// How many damaged pages one message names.
const NAMED_MAX: usize = 8;

/// The damaged records that this process has met. They need no table: a damaged record is refused at each read, because each read checks it.
static FOUND: Mutex<BTreeSet<Damaged>> = Mutex::new(BTreeSet::new());

/// The damaged records that this process has met, at most [`REMEMBERED_MAX`].
pub fn found() -> Vec<Damaged> {
    FOUND.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
}

/// The log that an event belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogName {
    /// The log of an intent.
    Intent(IntentId),
    /// The log of a portfolio.
    Portfolio(PortfolioId),
    /// The server's own log.
    Server,
}

/// A stored record that has changed since it was written. Nothing is decided from it, and it is not shown.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Damaged {
    /// An event whose bytes do not give its hash, or which does not fit to the events beside it.
    #[error("event {} of {} is damaged: {why}", number(*sequence), log_name(*log))]
    Event {
        /// Its log; unknown if the row that names the log cannot be read either.
        log: Option<LogName>,
        /// Its number in the log; unknown if the event before it cannot be read either.
        sequence: Option<u64>,
        /// The fault.
        why: String,
    },
    /// A part of the database's file.
    #[error("the database is damaged: {0}")]
    Database(String),
}

fn number(sequence: Option<u64>) -> String {
    sequence.map_or_else(|| "?".to_owned(), |sequence| sequence.to_string())
}

fn log_name(log: Option<LogName>) -> String {
    match log {
        Some(LogName::Intent(id)) => format!("intent {id}"),
        Some(LogName::Portfolio(id)) => format!("portfolio {id}"),
        Some(LogName::Server) => "the server's log".to_owned(),
        None => "an unknown log".to_owned(),
    }
}

impl Damaged {
    /// An event whose bytes do not give its hash.
    pub(crate) fn event(log: Option<LogName>, sequence: Option<u64>) -> Self {
        Self::Event { log, sequence, why: "its bytes do not give its hash".to_owned() }.noted()
    }

    /// The damage of which the database itself complains, if it does.
    pub(crate) fn said(message: &str) -> Option<Self> {
        if message.starts_with(POSTGRES_CORRUPT) {
            return Some(Self::Database(message.to_owned()).noted());
        }
        if message != SQLITE_CORRUPT {
            return None;
        }
        let pages: Vec<String> = checksums::found().iter().take(NAMED_MAX).map(|page| page.page.to_string()).collect();
        let why = match pages.as_slice() {
            [] => message.to_owned(),
            pages => format!("{message}; the checksums of these pages are wrong: {}", pages.join(", ")),
        };
        Some(Self::Database(why).noted())
    }

    /// Remembers and logs the damage when it is met for the first time.
    pub(crate) fn noted(self) -> Self {
        let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
        if found.len() < REMEMBERED_MAX && found.insert(self.clone()) {
            tracing::error!(damage = %self, "a stored record is damaged; nothing is decided from it, and it is not shown");
        }
        self
    }
}
