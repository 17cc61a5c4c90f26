//! `serve --after-restore`: a restored database does nothing until its operator has looked at it.

use domain::base::ids::IntentId;
use domain::people::principal::Role;
use harness::app::{Backend, OPERATOR, TestApp};
use harness::on_each_store;
use harness::postgres::Cluster;
use serde_json::json;
use store::sqlite::simulated::Fate;

use crate::storage::site::Site;

async fn held_after_restore(app: &TestApp) -> bool {
    let scrape = app.api(Role::Auditor).get("metrics").await.text;
    scrape.contains("placet_held{cause=\"restore\"} 1\n")
}

/// A question with a deadline after which no answer means approval.
async fn ask_permissively(app: &TestApp, timeout_seconds: u32) -> (IntentId, String) {
    let fallback =
        json!({"fallback_policy": "complete_with_fallback", "fallback_value": "approve", "timeout_seconds": timeout_seconds});
    app.ask(fallback).await
}

async fn expires_at(app: &TestApp, id: &str) -> String {
    app.agent().suspension(id).await["expires_at"].as_str().expect("a deadline").to_owned()
}

on_each_store! {
    /// A backup holds old questions and links. Until the operator releases it, nothing may be sent, reminded or decided, and no
    /// link may answer. After that every open question gets a new link, and the time of the wait must not become consent.
    async fn a_restored_database_waits_and_then_asks_afresh(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let fallback = json!({"timeout_seconds": 3600, "fallback_policy": "complete_with_fallback", "fallback_value": "approve"});
        let id = agent.suspend(intent, fallback).await.ok()["id"].as_str().unwrap().to_owned();
        app.settle().await;
        let old = app.next_link().await;
        app.restore().await;

        assert_eq!(app.person().open(&old).await.status, 404, "links are dead");
        app.advance(7200).await;
        assert_eq!(agent.status(intent).await, "suspended_awaiting_input");
        assert_eq!(operator.respond(intent, &id, "approve").await.status, 503, "a late answer must not end it either");
        app.restart().await; // The wait continues after a restart.
        app.settle().await;
        assert_eq!(app.smtp.received().len(), 1);
        assert!(held_after_restore(app).await);
        let ready = app.anonymous().get("readyz").await;
        assert_eq!((ready.status, ready.text.as_str()), (200, "ready\nheld: true\n"));

        assert!(app.store().release().await.unwrap());
        app.settle().await;
        assert!(!held_after_restore(app).await);
        assert_eq!(app.anonymous().get("readyz").await.text, "ready\n");
        // The new deadline is max(09:00, 10:00) + min(2 h, 1 h).
        assert_eq!(agent.suspension(&id).await["expires_at"], json!("2026-11-24T11:00:00.000000Z"));
        let new = app.next_link().await;
        assert_eq!(app.smtp.received().len(), 2);
        assert_eq!(app.person().open(&old).await.status, 404);
        assert!(agent.event_types(intent).await.contains(&"intent.suspension_reminded".to_owned()));
        app.restart().await;
        app.settle().await;
        assert_eq!(app.smtp.received().len(), 2, "afresh, but once");
        assert_eq!(app.person().answer(&new, "deny").await.heading(), "Your answer was recorded");
        assert!(!app.store().release().await.unwrap(), "nothing waits any more");
    }

    /// Even a quick restore leaves people without links. The rule that an absence of a minute changes nothing must not apply
    /// here: the old link no longer works, the new one has not been sent, and without an answer the fallback approves.
    async fn however_short_the_wait_the_time_without_links_comes_back(app: &mut TestApp) {
        let (intent, short) = ask_permissively(app, 30).await;
        let (_, long) = ask_permissively(app, 3600).await;
        app.restore().await;
        app.advance(40).await; // The deadline of the short question passes.
        assert!(app.store().release().await.unwrap());
        app.settle().await;
        assert_eq!(app.agent().status(intent).await, "suspended_awaiting_input");
        // The new deadline is the later of the old deadline and the release, plus the shorter of the wait (40 s) and the
        // question's timeout: max(08:00:30, 08:00:40) + min(40 s, 30 s), and max(09:00:00, 08:00:40) + min(40 s, 1 h).
        assert_eq!(expires_at(app, &short).await, "2026-11-24T08:01:10.000000Z");
        assert_eq!(expires_at(app, &long).await, "2026-11-24T09:00:40.000000Z");
        assert_eq!(app.smtp.received().len(), 4, "both are asked afresh");
        app.restart().await;
        app.settle().await;
        assert_eq!(expires_at(app, &short).await, "2026-11-24T08:01:10.000000Z", "once");
        app.advance(30).await;
        assert_eq!(app.agent().suspension(&short).await["response"], json!("approve"), "and then silence is an answer again");
    }

    /// A server that dies between the release and the new links makes the time without links longer. That time comes back as
    /// well.
    async fn a_crash_before_the_new_links_counts_as_time_without_them(app: &mut TestApp) {
        let (intent, id) = ask_permissively(app, 30).await;
        app.restore().await;
        assert!(app.store().release().await.unwrap());
        app.clock.jump(chrono::TimeDelta::seconds(20));
        assert!(!app.store().recover().await.unwrap().done, "the wait is recorded");
        app.clock.jump(chrono::TimeDelta::seconds(40)); // No worker runs here. The next server then goes on.
        app.restart().await;
        app.settle().await;
        assert_eq!(app.smtp.received().len(), 2);
        // The new deadline is max(08:00:30, 08:01:00) + min(1 min, 30 s).
        assert_eq!(expires_at(app, &id).await, "2026-11-24T08:01:30.000000Z");
        assert_eq!(app.operator().respond(intent, &id, "deny").await.status, 200);
    }

    /// A message that was queued in the backup is sent once. A question that had ended in the backup is not asked again.
    async fn what_was_queued_goes_out_once_and_what_ended_stays_ended(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let (answered, queued) = (agent.active_intent().await, agent.active_intent().await);
        let id = agent.asked(answered).await;
        app.settle().await;
        assert_eq!(operator.respond(answered, &id, "approve").await.status, 200);
        let fallback = json!({"fallback_policy": "complete_with_fallback", "fallback_value": "approve"});
        let waiting = agent.suspend(queued, fallback).await.ok()["id"].as_str().unwrap().to_owned();
        app.restore().await;
        app.settle().await;
        assert_eq!(app.smtp.received().len(), 1, "the outbox waits");
        app.clock.jump(chrono::TimeDelta::seconds(1800));
        app.store().release().await.unwrap();
        app.restart().await; // The release holds, and the wait counts as an absence.
        app.settle().await;
        let mails = app.smtp.received();
        assert_eq!(mails.len(), 2);
        assert_eq!(mails[1].to, [OPERATOR]);
        assert_eq!(agent.suspension(&waiting).await["expires_at"], json!("2026-11-24T09:30:00.000000Z"));
        assert_eq!(operator.respond(queued, &waiting, "approve").await.status, 200, "its time has not passed");
    }

    /// After a restore, people who get the mail of a due attempt get their new link with it. They must not get a second mail for
    /// the new link alone, which would look like a fault.
    async fn whom_a_due_attempt_tells_is_not_asked_afresh_beside_it(app: &mut TestApp) {
        let ladder = json!({
            "notify_to": ["alice@example.com", "bob@example.com"], "timeout_seconds": 3600,
            "retry_policy": {"max_attempts": 3, "interval_seconds": 3600, "escalation_ladder": [
                {"attempt": 2, "notify_to": ["bob@example.com", "lead@example.com"]},
            ]},
        });
        let (intent, _) = app.ask(ladder).await;
        assert_eq!(app.smtp.received().len(), 2);
        app.restore().await;
        app.clock.jump(chrono::TimeDelta::seconds(3600)); // The second attempt is due at this instant.
        assert!(app.store().release().await.unwrap());
        while !app.store().recover().await.unwrap().done {}
        app.deliveries().run_due().await.unwrap(); // The deadline loop has not come to the attempt yet.
        app.settle().await;
        let mut mailed: Vec<String> = app.smtp.received().into_iter().skip(2).flat_map(|mail| mail.to).collect();
        mailed.sort();
        assert_eq!(mailed, ["alice@example.com", "bob@example.com", "lead@example.com"], "everybody holds a link, and one mail");
        let types = app.agent().event_types(intent).await;
        assert!(!types.contains(&"delivery.failed".to_owned()), "{types:?}");
    }
}

/// A question with damaged rows, perhaps the reason for the restore, must not keep other questions from getting new links.
#[tokio::test]
async fn a_question_that_cannot_be_read_keeps_no_other_from_being_asked_afresh() {
    for damage in [
        "UPDATE outbox SET id = x'00' WHERE suspension = 1",
        "UPDATE intents SET status = 99 WHERE rid = (SELECT intent FROM suspensions WHERE rid = 1)",
        "UPDATE events SET bytes = x'00' WHERE rid = (SELECT event FROM suspensions WHERE rid = 1)",
    ] {
        let site = Site::new(0, Fate::Committed).await;
        let other = site.ask(json!({})).await;
        site.after(0).await;
        assert_eq!(site.mails(), 2);
        site.store.hold_after_restore().await.unwrap();
        assert_eq!(site.tamper(damage), 1);
        assert!(site.store.release().await.unwrap());
        for _ in 0..3 {
            site.store.recover().await.unwrap();
        }
        assert!(site.store.recover().await.unwrap().done, "{damage}");
        site.after(1).await;
        assert_eq!((site.mails(), site.messages(other).await.len()), (3, 2), "{damage}");
    }
}

/// A question is replaced just when it is to be asked afresh. Its people must not get the link of the new question, which would
/// let them answer it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_was_asked_before_a_restore_is_not_asked_what_replaced_it_meanwhile() {
    let mut app = TestApp::start_on(Backend::Postgres, |_| {}).await;
    let (intent, old) = app.ask(json!({"notify_to": ["alice@example.com"]})).await;
    app.restore().await;
    assert!(app.store().release().await.unwrap());
    assert!(!app.store().recover().await.unwrap().done, "the absence is recorded, and nothing made good yet");
    let (scratch, agent) = (app.scratch().unwrap(), app.agent());
    let rival = scratch.rival().await;
    rival.sql("BEGIN; SELECT 1 FROM intents FOR UPDATE").await;
    let in_line = async |waiting: i64| {
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
        while Cluster::of_this_process().number(scratch.name(), sql).await < waiting {}
    };
    let store = app.store();
    let replace = agent.suspend(intent, json!({"supersedes": old, "notify_to": ["bob@example.com"]}));
    let recover = async {
        in_line(1).await;
        store.recover().await.unwrap();
    };
    let let_go = async {
        in_line(2).await;
        rival.sql("ROLLBACK").await;
    };
    let (replaced, (), ()) = tokio::join!(replace, recover, let_go);
    replaced.ok();
    app.settle().await;
    let told: Vec<_> = app.smtp.received().into_iter().flat_map(|mail| mail.to).collect();
    assert_eq!(told, ["alice@example.com", "bob@example.com"]);
    app.finish().await;
}
