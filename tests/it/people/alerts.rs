//! The mails to admins about questions on which too few people are left to agree.

use std::sync::Arc;
use std::time::Duration;

use domain::people::principal::Role;
use futures_util::FutureExt as _;
use futures_util::future::join;
use harness::app::{Backend, TestApp};
use harness::person::Person;
use harness::{on_each_store, rows};
use placet_server::observe::metrics::Metrics;
use placet_server::worker::reach::{self, Pauses};
use placet_server::worker::upkeep::Sweep;
use serde_json::json;
use store::host::account;
use store::host::clock::SystemEntropy;
use store::host::task::spawn_named;
use store::sqlite::{Exclusive, SqliteStore};
use store::{Named, Store, Surroundings};
use tokio::sync::watch;

use super::absences::leaves;
use super::assignees::{ADA, BOB, EVE, directory, key_of, list, mails, remove, set};
use super::logins::log_in;
use super::quorums::{asked, two};

const BOSS: &str = "boss@example.com";

/// One look over the open questions, as every ten minutes; returns how many mails to admins were taken.
pub(super) async fn look(app: &TestApp) -> u64 {
    sweep(app).turn().await;
    app.deliveries().alert().await
}

/// The sweep of a server.
fn sweep(app: &TestApp) -> Sweep {
    Sweep::new(app.store(), Arc::new(Metrics::new(chrono::DateTime::UNIX_EPOCH)))
}

/// Whether a change of people, groups or keys was announced since the last call.
fn is_announced(app: &TestApp) -> bool {
    app.store().hub().directory().now_or_never().is_some()
}

/// The recipients of the mails that have come in, with the texts.
pub(super) async fn received(app: &TestApp) -> Vec<(String, String)> {
    let mut mails = Vec::new();
    while app.smtp.has_unread() {
        let mail = app.smtp.next_mail().await;
        mails.push((mail.to[0].clone(), String::from_utf8_lossy(&mail.raw).replace("=\r\n", "").replace("\r\n", "\n")));
    }
    mails.sort();
    mails
}

/// `placet people` writes into the file of SQLite beside the server, and wakes nothing in it. Admins hear within seconds all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_by_another_program_is_looked_at_soon() {
    let app = TestApp::start_on(Backend::Sqlite, |_| {}).await;
    directory(&app).await;
    let zoe = list(&app, "zoe@example.com", "operator").await;
    let (_, first) = asked(&app, two(), json!({"assignees": {"people": [ADA, "zoe@example.com"]}})).await;
    let (_, second) = asked(&app, two(), json!({"assignees": {"people": [ADA, BOB]}})).await;
    mails(&app).await;
    remove(&app, &zoe).await;
    is_announced(&app);
    let (stop, stopping) = watch::channel(false);
    let pauses = Pauses { read_after: Duration::from_millis(10), ..reach::PAUSES };
    let looking = spawn_named("reach", reach::run(app.store(), Arc::new(sweep(&app)), app.deliveries(), pauses, stopping));
    assert!(app.smtp.next_mail().await.text().contains(&first), "the look after the start is over");
    let outside = Surroundings::alone(app.clock.clone(), Arc::new(SystemEntropy));
    let beside: Arc<dyn Store> =
        Arc::new(SqliteStore::open(&app.folder().join("placet.db"), Exclusive::Beside, outside).unwrap());
    beside.remove_person(account::principal(), Ok(Named::Address(BOB.to_owned()))).await.unwrap();
    beside.close().await;
    assert!(app.smtp.next_mail().await.text().contains(&second));
    stop.send_replace(true);
    looking.await.unwrap();
    app.finish().await;
}

on_each_store! {
    /// A look at all open questions is dear, so a login must not lead to one.
    async fn the_log_says_whether_people_have_changed(app: &mut TestApp) {
        directory(app).await;
        let store = app.store();
        let (begun, _) = store.people_changed(0).await.unwrap();
        assert_eq!(store.people_changed(begun).await.unwrap(), (begun, false));
        log_in(app, EVE).await;
        let (logged_in, has_changed) = store.people_changed(begun).await.unwrap();
        assert!(logged_in > begun && !has_changed, "a login");
        set(app, "finance", &[ADA]).await;
        assert_eq!(store.people_changed(logged_in).await.unwrap(), (logged_in + 1, true));
    }

    /// A question may wait for minutes only, so admins hear at once, and not at the next sweep. The sweep tells them nothing twice.
    async fn admins_are_told_soon_after_the_change(app: &mut TestApp) {
        directory(app).await;
        let quorum = json!({"required_approvals": 2});
        let (_, id) = asked(app, quorum, json!({"assignees": {"groups": ["finance"]}, "timeout_seconds": 320})).await;
        mails(app).await;
        is_announced(app);
        let (stop, stopping) = watch::channel(false);
        let looking = spawn_named("reach", reach::run(app.store(), Arc::new(sweep(app)), app.deliveries(), reach::PAUSES, stopping));
        set(app, "finance", &[ADA]).await;
        let mail = app.smtp.next_mail().await;
        assert!(mail.to == [EVE] && mail.text().contains(&id), "{}", mail.text());
        stop.send_replace(true);
        looking.await.unwrap();
        assert_eq!(look(app).await, 0, "not twice");
        assert_eq!(received(app).await, []);
    }

    /// A server that stops after a change, and before the look, leaves the look to the next one.
    async fn a_change_before_a_restart_is_looked_at_after_it(app: &mut TestApp) {
        directory(app).await;
        let (_, id) = asked(app, two(), json!({"assignees": {"groups": ["finance"]}})).await;
        mails(app).await;
        set(app, "finance", &[ADA]).await;
        app.restart().await;
        let (stop, stopping) = watch::channel(false);
        let looking = spawn_named("reach", reach::run(app.store(), Arc::new(sweep(app)), app.deliveries(), reach::PAUSES, stopping));
        let mail = app.smtp.next_mail().await;
        assert!(mail.to == [EVE] && mail.text().contains(&id), "{}", mail.text());
        stop.send_replace(true);
        looking.await.unwrap();
    }

    /// A mail server may be away when a question comes out of reach. No further change, and no sweep, is needed to try again.
    async fn a_mail_that_was_not_taken_is_tried_again(app: &mut TestApp) {
        let [_, bob, _] = directory(app).await;
        let zoe = list(app, "zoe@example.com", "operator").await;
        let (_, first) = asked(app, two(), json!({"assignees": {"people": [ADA, BOB]}})).await;
        let (_, second) = asked(app, two(), json!({"assignees": {"people": [ADA, "zoe@example.com"]}})).await;
        mails(app).await;
        app.smtp.set_down(true);
        remove(app, &bob).await;
        assert_eq!(look(app).await, 0, "the mail server is away");
        app.smtp.set_down(false);
        remove(app, &zoe).await;
        is_announced(app);
        let (stop, stopping) = watch::channel(false);
        let often = Pauses { again_after: Duration::from_millis(10), ..reach::PAUSES };
        let looking = spawn_named("reach", reach::run(app.store(), Arc::new(sweep(app)), app.deliveries(), often, stopping));
        assert!(app.smtp.next_mail().await.text().contains(&second), "the first look, in which the other mail is not due");
        app.clock.jump(chrono::TimeDelta::seconds(61));
        assert!(app.smtp.next_mail().await.text().contains(&first));
        stop.send_replace(true);
        looking.await.unwrap();
        assert_eq!(look(app).await, 0, "not twice");
    }

    /// With many open questions a turn ends in the middle. The next one must not stop at the end of the round with most of them unseen.
    async fn a_turn_that_begins_late_goes_on_from_the_start(app: &mut TestApp) {
        directory(app).await;
        let (_, id) = asked(app, two(), json!({"assignees": {"groups": ["finance"]}})).await;
        mails(app).await;
        let sweep = sweep(app).behind(1_000);
        set(app, "finance", &[ADA]).await;
        sweep.turn().await;
        assert_eq!(app.deliveries().alert().await, 1);
        assert!(received(app).await[0].1.contains(&id));
    }

    /// A mail that waits must not say what is no longer so. When the question is out of reach once more, admins hear of it.
    async fn a_mail_about_a_question_that_is_within_reach_again_is_dropped(app: &mut TestApp) {
        let [_, bob, _] = directory(app).await;
        list(app, BOSS, "admin").await;
        asked(app, two(), json!({"assignees": {"people": [ADA, BOB]}})).await;
        mails(app).await;
        remove(app, &bob).await;
        sweep(app).turn().await;
        let bob = list(app, BOB, "operator").await;
        assert_eq!(app.deliveries().alert().await, 0);
        assert_eq!(rows::number(app, "SELECT count(*) AS number FROM alerts").await, 0);
        remove(app, &bob).await;
        assert_eq!(look(app).await, 2);
        assert_eq!(received(app).await.len(), 2);
    }

    /// Each change after which fewer people may answer wakes the look at the questions, and a change of other things wakes nothing.
    async fn each_change_of_people_is_announced(app: &mut TestApp) {
        let [ada, bob, _] = directory(app).await;
        is_announced(app);
        asked(app, two(), json!({"assignees": {"people": [ADA, BOB]}})).await;
        mails(app).await;
        assert!(!is_announced(app), "a question changes no people");
        let mut lists = app.store().hub().lists();
        lists.borrow_and_update();
        set(app, "finance", &[ADA]).await;
        assert!(is_announced(app), "a group with fewer members");
        assert!(lists.has_changed().unwrap(), "the inboxes of its members change");
        set(app, "finance", &[ADA]).await;
        assert!(!is_announced(app), "the same members again change nothing");
        remove(app, "api/v1/groups/finance").await;
        assert!(is_announced(app), "no group");
        let admin = app.api(Role::Admin);
        admin.send(admin.request("PATCH", &ada).json(&json!({"role": "auditor"}))).await.ok();
        assert!(is_announced(app), "another role");
        leaves(app, &bob, EVE).await.ok();
        assert!(!is_announced(app), "a person who is out of office may answer");
        key_of(app, "a-program", "program").await;
        assert!(!is_announced(app), "a key of no person");
        key_of(app, BOB, "bob").await;
        assert!(is_announced(app), "the owner of the key may be kept from answering");
        remove(app, &bob).await;
        assert!(is_announced(app), "a person less");
        mails(app).await;
    }

    /// Each listed admin gets one mail about a question, with a link to it and without its content; never a second one.
    async fn admins_are_told_once_when_too_few_are_left(app: &mut TestApp) {
        let [_, bob, eve] = directory(app).await;
        list(app, BOSS, "admin").await;
        let admin = app.api(Role::Admin);
        admin.send(admin.request("PATCH", &eve).json(&json!({"locale": "de"}))).await.ok();
        let (_, id) = asked(app, two(), json!({"assignees": {"people": [ADA, BOB]}})).await;
        mails(app).await;
        assert_eq!(look(app).await, 0, "both could agree");
        remove(app, &bob).await;
        app.restart().await;
        assert_eq!(look(app).await, 2);
        let told = received(app).await;
        assert_eq!(told.iter().map(|(to, _)| to.as_str()).collect::<Vec<_>>(), [BOSS, EVE]);
        // Each mail is in the language of its reader.
        for ((_, mail), subject) in told.iter().zip(["Too few people", "Zu wenige Personen"]) {
            assert!(mail.contains(&format!("{}questions/{id}\n", app.base)) && mail.contains(&format!("Subject: {subject}")), "{mail}");
            assert!(!mail.contains("Refund") && !mail.contains("plc_") && !mail.contains(ADA), "{mail}");
        }
        assert_eq!(look(app).await, 0, "not twice");
        let bob = list(app, BOB, "operator").await;
        assert_eq!(look(app).await, 0, "both could agree again");
        remove(app, &bob).await;
        app.restart().await;
        assert_eq!(look(app).await, 0, "not twice either");
        assert_eq!(rows::number(app, "SELECT count(*) AS number FROM alerts").await, 2);
        let record = app.agent().suspension(&id).await;
        assert_eq!((&record["resolution"], &record["version"]), (&json!(null), &json!(1)), "the question is as it was");
        app.agent().post(&format!("api/v1/suspensions/{id}/cancel"), json!({})).await.ok();
        assert_eq!(rows::number(app, "SELECT count(*) AS number FROM alerts").await, 0, "the rows go with the question");
        assert_eq!(received(app).await, []);
    }

    /// A question that one person answers waits in vain as well, once none of its assignees may answer: removed, an auditor, or gone from the
    /// group. The page says so.
    async fn admins_are_told_when_no_assignee_of_one_answer_is_left(app: &mut TestApp) {
        let [ada, bob, _] = directory(app).await;
        list(app, BOSS, "admin").await;
        let (_, both) = asked(app, json!(null), json!({"assignees": {"people": [ADA, BOB]}})).await;
        let (_, of_bob) = asked(app, json!(null), json!({"assignees": {"people": [BOB]}})).await;
        let (_, of_group) = asked(app, json!(null), json!({"assignees": {"groups": ["finance"]}})).await;
        mails(app).await;
        assert_eq!(look(app).await, 0, "each has a person who can answer");
        remove(app, &bob).await;
        assert_eq!(look(app).await, 2, "the question of Bob alone");
        let told = received(app).await;
        assert!(told.iter().all(|(_, mail)| mail.contains(&format!("questions/{of_bob}\n")) && !mail.contains("More people must agree")), "{told:?}");
        let mut eve = log_in(app, EVE).await;
        let shows = async |eve: &mut Person, id: &str| eve.open(&format!("{}questions/{id}", app.base)).await.html.contains("id=\"unreachable\"");
        assert!(shows(&mut eve, &of_bob).await && !shows(&mut eve, &both).await);
        let admin = app.api(Role::Admin);
        admin.send(admin.request("PATCH", &ada).json(&json!({"role": "auditor"}))).await.ok();
        assert_eq!(look(app).await, 4, "auditors answer nothing");
        let told = received(app).await;
        assert!([&both, &of_group].iter().all(|id| told.iter().any(|(_, mail)| mail.contains(id.as_str()))), "{told:?}");
        assert!(shows(&mut eve, &both).await && shows(&mut eve, &of_group).await);
        list(app, BOB, "operator").await;
        assert!(!shows(&mut eve, &of_bob).await, "the address is listed again");
        assert_eq!(look(app).await, 0, "not twice");
        let body = json!({"assignees": {"people": [BOB]}});
        admin.post(&format!("api/v1/suspensions/{of_group}/reassign"), body).await.ok();
        for id in [&of_bob, &of_group] {
            app.agent().post(&format!("api/v1/suspensions/{id}/cancel"), json!({})).await.ok();
        }
        let left = rows::number(app, "SELECT count(*) AS number FROM alerts").await;
        assert_eq!(left, 2, "the rows go with their questions, also after a reassignment");
        app.settle().await;
    }

    /// Without a listed admin no mail is queued, and an admin who is listed later is told. A mail server that is away is tried again.
    async fn an_admin_who_is_listed_later_is_told(app: &mut TestApp) {
        let [_, bob, eve] = directory(app).await;
        asked(app, two(), json!({"assignees": {"people": [ADA, BOB]}})).await;
        mails(app).await;
        remove(app, &bob).await;
        remove(app, &eve).await;
        assert_eq!(look(app).await, 0, "no person is an admin");
        list(app, BOSS, "admin").await;
        let auditor = list(app, "audit@example.com", "auditor").await;
        let (deliveries, sweep) = (app.deliveries(), Sweep::new(app.store(), Arc::new(Metrics::new(chrono::DateTime::UNIX_EPOCH))));
        sweep.turn().await;
        let (one, other) = join(deliveries.alert(), deliveries.alert()).await;
        assert_eq!(one + other, 1, "of two turns at a time one sends it");
        assert_eq!(received(app).await.into_iter().map(|(to, _)| to).collect::<Vec<_>>(), [BOSS]);
        remove(app, &auditor).await;
    }

    /// A person who is no admin any more, and a question that has ended, lead to no mail.
    async fn a_mail_that_waits_is_not_sent_in_vain(app: &mut TestApp) {
        let [_, bob, eve] = directory(app).await;
        let boss = list(app, BOSS, "admin").await;
        let (_, id) = asked(app, two(), json!({"assignees": {"people": [ADA, BOB]}})).await;
        let (_, ended) = asked(app, two(), json!({"assignees": {"people": [ADA, BOB]}})).await;
        mails(app).await;
        remove(app, &bob).await;
        Sweep::new(app.store(), Arc::new(Metrics::new(chrono::DateTime::UNIX_EPOCH))).turn().await;
        remove(app, &eve).await;
        let admin = app.api(Role::Admin);
        admin.send(admin.request("PATCH", &boss).json(&json!({"role": "operator"}))).await.ok();
        app.agent().post(&format!("api/v1/suspensions/{ended}/cancel"), json!({})).await.ok();
        assert_eq!(app.deliveries().alert().await, 0);
        assert!(app.agent().suspension(&id).await["resolution"].is_null());
        assert_eq!(received(app).await, []);
    }
}
