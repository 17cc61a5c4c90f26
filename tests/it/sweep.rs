//! A question that has lost its timer would wait for ever. Nothing may lose one; if something does, it is noticed and mended.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::command::Later;
use domain::ids::SuspensionId;
use domain::suspension::Resolution;
use placet_server::store::sqlite::simulated::Fate;
use placet_server::worker::upkeep::Sweep;
use serde_json::{Value, json};

use crate::site::Site;

async fn site() -> Site {
    Site::new(0, Fate::Committed).await
}

async fn sweep(site: &Site) -> u64 {
    Sweep::new(site.store.clone()).turn().await
}

fn two_attempts() -> Value {
    json!({"timeout_seconds": 3600, "retry_policy": {"max_attempts": 2, "interval_seconds": 3600}})
}

/// Lets time pass and fires what is due.
async fn fire(site: &Site, seconds: i64) {
    site.clock.jump(chrono::TimeDelta::seconds(seconds));
    while site.store.fire_deadlines().await.unwrap().rows > 0 {}
}

async fn resolution(site: &Site, id: SuspensionId) -> Option<Resolution> {
    site.record(id).await.resolution
}

/// The deadline has passed, nothing fires, and the agent would wait for ever.
#[tokio::test]
async fn an_open_question_past_its_deadline_without_a_timer_ends_after_the_sweep() {
    let site = site().await;
    let id = site.ask(json!({"timeout_seconds": 3600})).await;
    assert_eq!(site.tamper("DELETE FROM timers WHERE suspension = 2"), 1);
    fire(&site, 5_000).await;
    assert_eq!(resolution(&site, id).await, None, "nobody noticed");
    assert_eq!(sweep(&site).await, 1);
    assert_eq!(sweep(&site).await, 0, "once");
    fire(&site, 0).await;
    assert_eq!(resolution(&site, id).await, Some(Resolution::Cancelled), "nobody had been reached");
    assert_eq!(sweep(&site).await, 0);
}

/// Before the deadline the sweep finds the loss as well, and the deadline is kept to the second.
#[tokio::test]
async fn a_lost_deadline_is_found_before_it_is_due() {
    let site = site().await;
    let id = site.ask(json!({"timeout_seconds": 3600})).await;
    site.tamper("DELETE FROM timers");
    assert_eq!(sweep(&site).await, 2, "the site's own question has lost its timer too");
    fire(&site, 3_599).await;
    assert_eq!(resolution(&site, id).await, None);
    fire(&site, 1).await;
    assert!(resolution(&site, id).await.is_some());
}

/// A reminder that never comes and a rung that is never asked, and then silence decides.
#[tokio::test]
async fn a_lost_attempt_is_made_up_for() {
    let site = site().await;
    let id = site.ask(two_attempts()).await;
    assert_eq!(site.tamper("DELETE FROM timers WHERE attempt = 2"), 1);
    fire(&site, 4_000).await;
    assert_eq!(site.record(id).await.attempt, 1);
    assert_eq!(sweep(&site).await, 1);
    fire(&site, 0).await;
    let record = site.record(id).await;
    assert_eq!((record.attempt, record.resolution), (2, None));
    fire(&site, 3_200).await;
    assert!(resolution(&site, id).await.is_some());
}

/// An alarm that rings without a fire is switched off: in every state a question comes through, nothing is missing.
#[tokio::test]
async fn the_sweep_finds_nothing_where_nothing_is_lost() {
    let site = site().await;
    let forever = site.ask(json!({"timeout_seconds": null})).await;
    let id = site.ask(two_attempts()).await;
    assert_eq!(sweep(&site).await, 0, "fresh");
    fire(&site, 3_600).await;
    assert_eq!((sweep(&site).await, site.record(id).await.attempt), (0, 2));
    let until = Later::Until("2026-11-24T12:00:00Z".parse().unwrap());
    site.extend(id, until).await;
    assert_eq!(sweep(&site).await, 0, "extended");
    site.clock.jump(chrono::TimeDelta::seconds(20_000));
    assert_eq!(sweep(&site).await, 0, "due, and not fired yet");
    // A timer whose question cannot be read is put off, and is not where it was.
    site.tamper("UPDATE events SET bytes = x'00' WHERE rid = (SELECT event FROM suspensions WHERE rid = 1)");
    site.tamper("UPDATE timers SET due_at = due_at + 3600000000 WHERE suspension = 3");
    assert_eq!(sweep(&site).await, 0, "put off");
    fire(&site, 3_600).await;
    assert!(resolution(&site, id).await.is_some());
    assert_eq!((sweep(&site).await, resolution(&site, forever).await), (0, None), "ended, and waiting for ever");
}

/// Thousands of open questions are looked at in pages, and the last one of a page is not the last that counts.
#[tokio::test]
async fn a_sweep_goes_through_all_pages() {
    let site = site().await;
    for _ in 0..500 {
        site.ask(json!({})).await;
    }
    assert_eq!(site.tamper("DELETE FROM timers WHERE suspension IN (500, 501)"), 2);
    let first = site.store.sweep_timers(0).await.unwrap();
    assert_eq!((first.mended, first.next), (1, Some(500)));
    assert_eq!(sweep(&site).await, 1);
    assert_eq!(sweep(&site).await, 0);
}
