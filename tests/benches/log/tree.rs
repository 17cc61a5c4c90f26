//! The cost of the tree over all events: how fast it is built, and its share in each decision.
//!
//! The server has no setting without the tree. A row of the database says up to which event the tree has leaves; if it names the last
//! event that there can be, the loop that grows the tree finds nothing to do at each of its turns, and all else goes on as ever.

use std::time::{Duration, Instant};

use harness::bench::figures::{Figure, Report};
use harness::bench::processor_seconds;
use harness::bench::subject::Subject;
use tokio::time::sleep;

use super::filling::decide;
use super::rows::Rows;

/// Whether a signed tree has all events.
const IS_COVERED: &str = "SELECT size = signed_size AND events = (SELECT max(rid) FROM events) AND NOT EXISTS (SELECT * FROM unplaced) \
                          AS number FROM tree";
/// Empties the tree, as if no event had a leaf yet.
const EMPTY: &str = "BEGIN IMMEDIATE; DELETE FROM tree_tiles; DELETE FROM tree_runs; DELETE FROM checkpoints; DELETE FROM unplaced; \
                     INSERT INTO unplaced SELECT 3, 0, sequence FROM server_events; \
                     UPDATE tree SET size = 0, events = 0, signed_size = 0; COMMIT";
/// Tells the tree that it has all events that there can be.
const STOP: &str = "UPDATE tree SET events = 9223372036854775807";
/// The pause between two looks at the tree.
const LOOK: Duration = Duration::from_millis(100);
/// How long the tree may take before the run counts as failed.
const COVERED_WITHIN: Duration = Duration::from_mins(30);
/// Longer than the pause between two turns of the loop that grows the tree.
const TURN: Duration = Duration::from_secs(7);

/// Waits until a signed tree has all events.
pub(super) async fn covered(rows: &mut Rows) {
    let began = Instant::now();
    while rows.number(IS_COVERED) == 0 {
        assert!(began.elapsed() < COVERED_WITHIN, "events stay without leaves");
        sleep(LOOK).await;
    }
}

/// Has the server build the whole tree anew.
pub(super) async fn build_anew(subject: &mut Subject, rows: &mut Rows, report: &mut Report) {
    subject.kill().await;
    rows.change(EMPTY);
    subject.start_again().await;
    let (began, used) = (Instant::now(), processor_seconds(subject.server().id()));
    covered(rows).await;
    let (took, used) = (began.elapsed().as_secs_f64(), processor_seconds(subject.server().id()) - used);
    let events = u32::try_from(rows.number("SELECT size AS number FROM tree")).unwrap();
    let what = format!("tree over {events} events, built anew");
    report.add(Figure::new("W15", what.clone(), "events/s", vec![f64::from(events) / took]));
    let each = used / f64::from(events) * 1_000_000.0;
    report.add(Figure::new("W15", format!("{what}, processor time of an event"), "µs", vec![each]));
}

/// Decisions a second, and the server's processor time of each, in microseconds: until the tree has all of their events, or as long
/// without the tree.
async fn round(subject: &Subject, rows: &mut Rows, count: usize, has_tree: bool) -> (f64, f64) {
    let events = rows.number("SELECT events AS number FROM tree");
    if !has_tree {
        rows.change(STOP);
    }
    let decisions = f64::from(u32::try_from(count).unwrap());
    let (began, used) = (Instant::now(), processor_seconds(subject.server().id()));
    decide(subject, count).await;
    let pace = decisions / began.elapsed().as_secs_f64();
    sleep(TURN).await;
    if has_tree {
        covered(rows).await;
    }
    let used = processor_seconds(subject.server().id()) - used;
    if !has_tree {
        rows.change(&format!("UPDATE tree SET events = {events}"));
        covered(rows).await;
    }
    (pace, used / decisions * 1_000_000.0)
}

/// Takes rounds with the tree and without it, in the order A B B A.
pub(super) async fn measure(subject: &Subject, rows: &mut Rows, (count, rounds): (usize, usize), report: &mut Report) {
    round(subject, rows, count / 4, true).await; // Warms up.
    let [mut paces, mut costs, mut with, mut without] = [const { Vec::new() }; 4];
    for pair in 0..rounds {
        let has_tree_first = pair % 2 == 0;
        let first = round(subject, rows, count, has_tree_first).await;
        let second = round(subject, rows, count, !has_tree_first).await;
        let (grown, bare) = if has_tree_first { (first, second) } else { (second, first) };
        paces.push(grown.0 / bare.0);
        costs.push(grown.1 / bare.1);
        with.push(grown.1);
        without.push(bare.1);
    }
    let what = "create, suspend, respond; 256 clients";
    report.add(Figure::new("W15", format!("{what}, processor time of the server, with the tree"), "µs", with));
    report.add(Figure::new("W15", format!("{what}, processor time of the server, without it"), "µs", without));
    report.add(Figure::new("W15", format!("{what}, processor time with the tree against without"), "×", costs).at_most(1.05));
    report
        .add(Figure::new("W15", format!("{what}, decisions a second with the tree against without"), "×", paces).at_least(0.95));
}
