//! `placet migrate`: moves everything from a file to PostgreSQL.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use domain::base::clock::Clock;
use store::Database;
use store::host::clock::SystemClock;
use store::moving::{Moved, Step, move_everything};

use super::say;
use crate::config::{DatabaseArgs, DatabaseUrl};

#[derive(Args)]
#[command(after_help = "\
Stop the server first. An interrupted move goes on where it ended when the same command is run again. At the end every row is
compared and every chain of events recomputed; then no server starts on the file any more. The way back from PostgreSQL to a
file does not exist.

A database with a password is named in PLACET_DATABASE_URL, or in a file that PLACET_DATABASE_URL_FILE names, and not with --to: others
can see command lines.")]
pub(super) struct MigrateArgs {
    /// The file from which everything is moved: `sqlite://PATH`.
    #[arg(long, value_name = "URL", help = "The file to move from: sqlite://PATH")]
    from: String,
    /// The database to which everything is moved: `postgres://USER@HOST/DATABASE`.
    #[arg(
        long,
        value_name = "URL",
        help = "The database to move to: postgres://USER@HOST/DATABASE, without a password [default: PLACET_DATABASE_URL]"
    )]
    to: Option<String>,
    /// The server's settings file, if it names the database: the file that `serve --config` reads.
    #[arg(long, env = "PLACET_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
}

pub(super) async fn run(args: MigrateArgs) -> anyhow::Result<()> {
    let from = DatabaseArgs { url: DatabaseUrl::typed(Some(args.from)), config: None };
    let from = from.database().context("--from is not usable")?;
    let to = DatabaseArgs { url: DatabaseUrl::typed(args.to), config: args.config }.database().context("--to is not usable")?;
    let (from, to) = match (from, to) {
        (Database::Sqlite(from), Database::Postgres { address, .. }) => (from, address),
        (Database::Sqlite(from), Database::Sqlite(to)) if is_same(&from, &to) => {
            bail!("--from and --to (or PLACET_DATABASE_URL) are the same database, {}", from.display())
        }
        (Database::Sqlite(_), Database::Sqlite(to)) => bail!(
            "--to (or PLACET_DATABASE_URL) must be a PostgreSQL database, postgres://user:password@host/database, not \
             the file {}; to copy a file, stop the server and copy the file",
            to.display()
        ),
        (Database::Postgres { .. }, _) => bail!(
            "--from must be a file, sqlite://PATH: a database of several servers is not moved back into a file; \
             between two PostgreSQL databases move with pg_dump and pg_restore"
        ),
    };
    let shown = (from.clone(), to.to_string());
    let moved = tokio::task::spawn_blocking(move || {
        let mut display = Display { bar: std::io::stderr().is_terminal(), open: false };
        let moved = move_everything(&from, &to, SystemClock.now(), &mut |step| display.show(step));
        display.end();
        moved
    });
    let (from, to) = (shown.0.display(), shown.1);
    match moved.await.context("the move has ended in a panic")?? {
        Moved::Whole { rows, tables, chains } => say(format!(
            "Moved {rows} rows of {tables} tables from {from} to {to}. Every row was compared, {chains} chains of events were recomputed.\n\
             Now set PLACET_DATABASE_URL to that database and start the server. No server starts on {from} any more; keep it as a backup."
        ))?,
        Moved::Before => say(format!("Everything in {from} was moved to {to} before, and compared. Nothing was left to do."))?,
    }
    Ok(())
}

/// Whether two names lead to one file.
fn is_same(one: &Path, other: &Path) -> bool {
    let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| PathBuf::from(path));
    whole(one) == whole(other)
}

/// Shows the progress on standard error: on a terminal in one line that changes, otherwise in a line for each table.
struct Display {
    bar: bool,
    open: bool,
}

impl Display {
    fn show(&mut self, step: Step) {
        let (what, done, of) = match step {
            Step::GoingOn => return line("A move was interrupted here; going on where it stopped."),
            Step::Anew => return line("A move was interrupted here, and its file has changed since; beginning anew."),
            Step::Copied { table, rows, of } => (format!("moved {table}"), rows, of),
            Step::Compared { table, rows, of } => (format!("compared {table}"), rows, of),
            Step::Recomputed { chains, of } => ("recomputed chains of events".to_owned(), chains, of),
        };
        if self.bar {
            let percent = (done * 100).checked_div(of).unwrap_or(100);
            let filled = usize::try_from(percent / 4).unwrap_or_default().min(25);
            self.open = true;
            tell(&format!("\r\u{1b}[K[{:<25}] {percent:>3} % {what}: {done} of {of}", "#".repeat(filled)));
        }
        if done == of {
            if self.bar {
                self.end();
            } else {
                line(&format!("{what}: {done}"));
            }
        }
    }

    /// Ends the line that changes, and leaves its text on the terminal.
    fn end(&mut self) {
        if std::mem::take(&mut self.open) {
            tell("\n");
        }
    }
}

fn line(text: &str) {
    tell(&format!("{text}\n"));
}

fn tell(text: &str) {
    let mut errors = std::io::stderr();
    // If no terminal is left to read this, the move goes on.
    drop(errors.write_all(text.as_bytes()).and_then(|()| errors.flush()));
}
