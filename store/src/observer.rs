//! The observer to which a store reports its work, so that the server can count and trace that work. The store itself knows no
//! metric and no collector.

use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::fact::Fact;
use crate::span::SpanRecord;

/// Observes a store's work. No method may wait, because the methods are called between a commit and the reply to it.
pub trait Observer: Send + Sync + 'static {
    /// Whether spans are wanted; if not, none are made or stored.
    fn wants_spans(&self) -> bool {
        false
    }

    /// A transaction did this, and its commit is on the disk.
    fn fact(&self, _fact: &Fact) {}

    /// A question was asked or has ended. `ended` is the end of the span: the time at which the commit was announced.
    fn span(&self, _span: &SpanRecord, _ended: DateTime<Utc>) {}

    /// A unit of work waits to be run.
    fn queued(&self) {}

    /// A unit of work no longer waits: it runs, or was refused.
    fn unqueued(&self) {}

    /// A unit of work was refused because too many waited.
    fn refused(&self) {}

    /// A transaction is run again.
    fn again(&self, _why: Again) {}

    /// So many units of work shared a commit, and took so long from the first read to the end of the commit.
    fn batch(&self, _units: usize, _took: Duration) {}

    /// The COMMIT alone took so long, which measures the disk.
    fn commit(&self, _took: Duration) {}

    /// A thread beside the writer copied the write-ahead log into the database, with this result; it took so long.
    fn log_copied(&self, _result: Copied, _took: Duration) {}

    /// The writer itself copied the rest of the write-ahead log into the database. The first argument says whether it copied all
    /// of the rest, the second how long that took; commits waited meanwhile.
    fn log_ended(&self, _whole: bool, _took: Duration) {}

    /// A request began to wait for a question.
    fn waits(&self) {}

    /// A request no longer waits.
    fn waits_no_more(&self) {}

    /// A commit woke so many waiting requests, which now read their question again.
    fn woke(&self, _requests: usize) {}
}

/// The observer of a store whose work is not observed.
#[derive(Clone, Copy, Debug)]
pub struct Unobserved;

impl Observer for Unobserved {}

/// The result of copying the write-ahead log beside the writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copied {
    /// Nearly the whole log was copied; the writer copies the rest.
    Whole,
    /// A reader or another program stood in the way.
    HeldUp,
    /// The writer wrote as fast as the log was copied. Therefore much of the log is left to copy.
    Behind,
    /// The copying failed, for example because the disk is full.
    Failed,
}

impl Copied {
    /// All results.
    pub const ALL: [Self; 4] = [Self::Whole, Self::HeldUp, Self::Behind, Self::Failed];

    /// The name of the result in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::HeldUp => "held_up",
            Self::Behind => "behind",
            Self::Failed => "failed",
        }
    }
}

/// Why a transaction is run again. That happens only on a database with several writers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// Another transaction inserted the same row first.
    Overtaken,
    /// The database broke the transaction off: a deadlock, or a server that stops.
    BrokenOff,
    /// The connection was lost.
    Disconnected,
}

impl Again {
    /// All reasons.
    pub const ALL: [Self; 3] = [Self::Overtaken, Self::BrokenOff, Self::Disconnected];

    /// The name of the reason in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Overtaken => "overtaken",
            Self::BrokenOff => "broken_off",
            Self::Disconnected => "disconnected",
        }
    }
}
