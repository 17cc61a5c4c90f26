//! `placet doctor --deep`: reads the whole database, and names each damaged record.

use std::io::{IsTerminal, Write};
use std::sync::Arc;

use anyhow::Context;
use store::host::clock::{SystemClock, SystemEntropy};
use store::scrub::Scrub;
use store::sqlite::Exclusive;
use store::{Damaged, Database, Surroundings};

use super::finding::Finding;

const CHECK: &str = "records";
/// How many damaged records the findings name. The server's log has the others.
const NAMED_MAX: usize = 100;

/// The parts of a pass so far.
#[derive(Default)]
struct Pass {
    events: u64,
    pages: u64,
    bare_pages: u64,
    damaged: Vec<Damaged>,
}

/// Reads the database, which has this version's tables.
pub(super) async fn check(database: &Database) -> Vec<Finding> {
    let mut pass = Pass::default();
    let mut findings = Vec::new();
    if let Err(error) = read(database, &mut pass).await {
        findings.push(Finding::fail(
            CHECK,
            format!("The database could not be read to its end: {error:#}."),
            "Mend what the line above names, and run the same command again.",
        ));
    }
    for damaged in pass.damaged.iter().take(NAMED_MAX) {
        findings.push(Finding::fail(
            CHECK,
            format!("Damage: {damaged}."),
            "Stop the server, keep a copy of the database, and restore a backup. Until then the server decides nothing from this record.",
        ));
    }
    if let Some(more) = pass.damaged.len().checked_sub(NAMED_MAX).filter(|more| *more > 0) {
        findings.push(Finding::fail(CHECK, format!("{more} further records are damaged."), "Restore a backup."));
    }
    if pass.bare_pages > 0 {
        findings.push(Finding::warn(
            CHECK,
            format!("{} pages of the file have no checksum, because another program wrote them.", pass.bare_pages),
            "If these are all pages, the next start of the server writes the checksums. Otherwise do it with: sqlite3 FILE VACUUM, while no server runs.",
        ));
    }
    if findings.is_empty() {
        let pages = if pass.pages > 0 { format!(" and {} pages", pass.pages) } else { String::new() };
        findings.push(Finding::ok(CHECK, format!("{} events{pages} are as they were written.", pass.events)));
    }
    findings
}

async fn read(database: &Database, pass: &mut Pass) -> anyhow::Result<()> {
    let surroundings = Surroundings::alone(Arc::new(SystemClock), Arc::new(SystemEntropy));
    let store = store::open(database, Exclusive::Beside, surroundings).await?;
    let shows_progress = std::io::stderr().is_terminal();
    let mut at = Some(Scrub::Begin);
    while let Some(next) = at.take() {
        let step = store.scrub(next).await.context("failed to read the next records")?;
        pass.events += step.events;
        pass.pages += step.pages;
        pass.bare_pages += step.bare_pages;
        pass.damaged.extend(step.damaged);
        at = step.next;
        if shows_progress {
            // The line is overwritten by the next one.
            let mut terminal = std::io::stderr().lock();
            write!(terminal, "\r{} pages, {} events read; {} damaged ", pass.pages, pass.events, pass.damaged.len())?;
            terminal.flush()?;
        }
    }
    if shows_progress {
        writeln!(std::io::stderr())?;
    }
    store.close().await;
    Ok(())
}
