//! Moves everything from a file to an empty PostgreSQL database, bytes and row ids as they are.
//!
//! The file is locked and stays unchanged inside one transaction; the database carries a mark that keeps servers away. At the end
//! every row is read back and compared, and every chain of events is recomputed. Then the file is marked as moved, and only then
//! the mark of the database is removed. So at no instant can both be served, and after an interruption at any instant it is
//! enough to run the same command again.

mod chains;
mod source;
mod tables;
mod target;

use std::path::Path;

use anyhow::{Context, bail};
use chrono::{DateTime, Utc};

use self::source::Source;
use self::tables::TABLES;
use self::target::{Found, Target};
use super::Schema;
use super::postgres::Address;
use crate::host::kill_points::{self, Point};

/// How many chains are recomputed between two reports of progress: there may be millions.
const CHAINS_PER_STEP: u64 = 500;

/// The progress of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// An earlier move was interrupted, and goes on where it ended.
    GoingOn,
    /// An earlier move was interrupted and its file has changed since, so the move begins anew.
    Anew,
    /// So many of a table's rows have been copied.
    Copied { table: &'static str, rows: u64, of: u64 },
    /// So many of a table's rows have been compared.
    Compared { table: &'static str, rows: u64, of: u64 },
    /// So many chains of events have been recomputed.
    Recomputed { chains: u64, of: u64 },
}

/// The result of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// Everything was moved just now.
    Whole { rows: u64, tables: usize, chains: u64 },
    /// Nothing was left to do: everything was moved and compared by an earlier run.
    Before,
}

/// Moves everything; `progress` is called after every batch. Call it only on a blocking thread of a runtime.
///
/// # Errors
///
/// Why the move failed, in one or two lines without passwords; if the comparison at the end failed, the first difference.
pub fn move_everything(from: &Path, to: &Address, now: DateTime<Utc>, progress: &mut dyn FnMut(Step)) -> anyhow::Result<Moved> {
    let mut source = Source::open(from)?;
    let (target, schema) = Target::open(to)?;
    if let Some(moved_to) = source.moved_to().map(str::to_owned) {
        return finish_moved(&moved_to, &mut source, &target, &schema, to, progress);
    }
    let fingerprint = source.fingerprint()?;
    match target.begin(&schema, source.path(), fingerprint)? {
        Found::Empty => {}
        Found::Half => progress(Step::GoingOn),
        Found::Outdated => progress(Step::Anew),
        Found::Used => bail!("{to} is not empty; move into an empty database: createdb --owner={} NAME", to.user()),
    }
    let mut moved = 0;
    for table in TABLES {
        let of = source.count(table)?;
        let mut rows = 0;
        target.fill(&mut source, table, |written| {
            rows += written;
            progress(Step::Copied { table: table.name, rows, of });
            kill_points::reached(Point::WithinMove);
        })?;
        moved += of;
    }
    compare(&mut source, &target, progress).with_context(|| {
        format!(
            "the rows in {to} differ from those in the file; the file was not changed. Drop and create the database, then run \
             the same command again"
        )
    })?;
    let chains = verify_chains(&mut source, &target, to, progress)?;
    // Once the file is marked, it is no longer used, so every row must be on the database's disk before.
    target.make_durable()?;
    // A server of an older version may have started in spite of the database's mark, which it does not know. The move then
    // fails here, and the file stays in use.
    target.refuse_if_served()?;
    source.mark_moved(&to.to_string(), now)?;
    kill_points::reached(Point::BetweenMarks);
    target.finish()?;
    Ok(Moved::Whole { rows: moved, tables: TABLES.len(), chains })
}

/// Recomputes every chain of events in the database; returns how many there are.
fn verify_chains(source: &mut Source, target: &Target, to: &Address, progress: &mut dyn FnMut(Step)) -> anyhow::Result<u64> {
    let intents = source.count(&TABLES[0])?;
    let mut chains = 0_u64;
    let whole = target.verify_chains(|| {
        chains += 1;
        if chains.is_multiple_of(CHAINS_PER_STEP) || chains == intents {
            progress(Step::Recomputed { chains, of: intents });
        }
    })?;
    if whole != intents {
        bail!("{to} has {whole} logs of events for {intents} intents");
    }
    target.verify_portfolios()?;
    target.verify_server_chain()?;
    Ok(whole)
}

fn compare(source: &mut Source, target: &Target, progress: &mut dyn FnMut(Step)) -> anyhow::Result<()> {
    for table in TABLES {
        let of = source.count(table)?;
        let mut rows = 0;
        target.compare(source, table, |read| {
            rows += read;
            progress(Step::Compared { table: table.name, rows, of });
        })?;
    }
    Ok(())
}

/// Takes the last step of an interrupted move, if that move was into this database.
fn finish_moved(
    moved_to: &str,
    source: &mut Source,
    target: &Target,
    schema: &Schema,
    to: &Address,
    progress: &mut dyn FnMut(Step),
) -> anyhow::Result<Moved> {
    let path = source.path().to_owned();
    if moved_to != to.to_string() {
        bail!("the data of {} was moved to {moved_to} already", path.display());
    }
    let not_there = || {
        let path = path.display();
        format!(
            "{to} does not hold the rows that were moved to it from {path}; to move them again, first remove the mark from the \
             file with the SQL command: DROP TABLE moved"
        )
    };
    if *schema == Schema::Half && target.is_half_of(&path)? {
        // A database that was restored from a backup carries this move's mark as well, if the backup was made during the move.
        // Without this comparison, servers would use that database although rows are missing.
        compare(source, target, progress).with_context(not_there)?;
        target.finish()?;
    } else if *schema == Schema::Half || target.is_empty()? {
        bail!(not_there());
    }
    Ok(Moved::Before)
}
