//! The second places of checkpoints. An attacker who holds the database and the key of the log can sign any tree; a copy of an older
//! checkpoint that the attacker does not hold shows that the log was rolled back or rewritten.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use std::path::PathBuf;

use chrono::TimeDelta;
use domain::people::principal::Role;
use futures_util::future::join_all;
use harness::app::TestApp;
use harness::receiver::{Answer, Receiver, SECRET, webhook};
use harness::smtp::Fault;
use harness::witness::Witness;
use harness::{on_each_store, rows};
use placet::{Client, LogError};
use placet_server::config::LogMailConfig;
use placet_server::log::failure::Failure;
use proof::checkpoint::{TreeHead, pieces};
use proof::key::VerifyingKey;
use proof::witness::verify_cosigned;
use serde_json::{Value, json};

fn key(app: &TestApp) -> VerifyingKey {
    app.checkpoints().key().unwrap().verifying().clone()
}

/// Signs the tree as it is, and returns the newest checkpoint.
async fn signed(app: &TestApp) -> TreeHead {
    let checkpoint = app.api(Role::Admin).post("api/v1/admin/checkpoints", json!({})).await;
    assert_eq!(checkpoint.status, 201, "{:?}", checkpoint.body);
    TreeHead::verify(checkpoint.body["note"].as_str().unwrap(), &[key(app)]).unwrap()
}

/// The newest checkpoint, as it is served.
async fn newest(app: &TestApp) -> Value {
    app.api(Role::Auditor).get("api/v1/checkpoints?limit=1").await.ok()[0].clone()
}

/// Does what an attacker can do who holds database and key: removes the newest event of the server's own log (that a key was made, say),
/// has the tree built anew over the rest, and removes the old checkpoints. The server's own checks find nothing wrong with the result.
async fn rewritten(app: &TestApp) {
    let of_intents = match app.scratch() {
        Some(_) => "INSERT INTO unplaced SELECT 1, 0, rid FROM events;",
        None => "",
    };
    let sql = format!(
        "DELETE FROM server_events WHERE sequence = (SELECT max(sequence) FROM server_events); \
         DELETE FROM tree_tiles; DELETE FROM tree_runs; DELETE FROM checkpoints; DELETE FROM unplaced; \
         UPDATE tree SET size = 0, events = 0, signed_size = 0; {of_intents} \
         INSERT INTO unplaced SELECT 2, portfolio, sequence FROM portfolio_events; \
         INSERT INTO unplaced SELECT 3, 0, sequence FROM server_events"
    );
    rows::change(app, &sql).await;
}

/// A log with some events, of which the newest one of the server is that a key was made.
async fn some_events(app: &TestApp) {
    app.ask(json!({})).await;
    app.new_key(Role::Agent, "a key that the attacker made").await;
}

fn file(app: &TestApp) -> PathBuf {
    app.folder().join("checkpoints")
}

/// Starts the server anew with a checkpoint file.
async fn with_file(app: &mut TestApp) {
    let path = file(app);
    app.restart_with(|config| config.log.checkpoint_file = Some(path)).await;
}

/// The sizes of the checkpoints in the file, each with a good signature.
fn sizes_in_file(app: &TestApp) -> Vec<u64> {
    let text = std::fs::read_to_string(file(app)).unwrap();
    pieces(&text).into_iter().map(|note| TreeHead::verify(note, &[key(app)]).unwrap().size).collect()
}

/// Starts the server anew with a witness that knows the log.
async fn with_witness(app: &mut TestApp) -> Witness {
    let witness = Witness::start("witness.example/1").await;
    witness.knows(key(app));
    let config = witness.config();
    app.restart_with(|settings| settings.log.witnesses = vec![config]).await;
    witness
}

/// Takes one turn for the only second place, and returns its result.
async fn turn(app: &TestApp) -> Result<u64, Failure> {
    let mut turns = app.second_places().turn().await;
    assert_eq!(turns.len(), 1);
    turns.pop().unwrap()
}

/// The number behind a name in the metrics.
async fn metric(app: &TestApp, series: &str) -> String {
    let text = app.api(Role::Auditor).get("metrics").await.text;
    let line = text.lines().find_map(|line| line.strip_prefix(series)).unwrap_or_else(|| panic!("{series}: {text}"));
    line.trim().to_owned()
}

fn client(app: &TestApp, file: Option<PathBuf>) -> Client {
    let builder = Client::builder(app.base.clone(), app.agent().key().to_owned()).log_key(key(app).to_string());
    match file {
        Some(file) => builder.log_file(file).build().unwrap(),
        None => builder.build().unwrap(),
    }
}

on_each_store! {
    /// The file has each checkpoint once, over restarts, and also those that were signed while it could not be written.
    async fn each_checkpoint_is_appended_to_the_file(app: &mut TestApp) {
        with_file(app).await;
        let mut sizes = Vec::new();
        for _ in 0..2 {
            some_events(app).await;
            sizes.push(signed(app).await.size);
            app.checkpoints().turn().await.unwrap();
            app.restart().await;
        }
        assert_eq!(sizes_in_file(app), sizes);
        assert_eq!(metric(app, "placet_log_place_size{place=\"file\"}").await, "0", "this server has taken no turn yet");
        // A folder in its place cannot be written. Decisions and signatures go on.
        std::fs::rename(file(app), app.folder().join("kept")).unwrap();
        std::fs::create_dir(file(app)).unwrap();
        let (intent, suspension) = app.ask(json!({})).await;
        app.operator().respond(intent, &suspension, "approve").await.ok();
        sizes.push(signed(app).await.size);
        assert_eq!(metric(app, "placet_log_place_failures_total{place=\"file\"}").await, "1");
        std::fs::remove_dir(file(app)).unwrap();
        std::fs::rename(app.folder().join("kept"), file(app)).unwrap();
        app.checkpoints().turn().await.unwrap();
        assert_eq!(sizes_in_file(app), sizes);
        assert_eq!(metric(app, "placet_log_place_size{place=\"file\"}").await, sizes[2].to_string());
    }

    /// A crash may cut an append off anywhere; the next turn writes exactly the rest.
    async fn an_append_that_was_cut_off_is_completed(app: &mut TestApp) {
        with_file(app).await;
        some_events(app).await;
        signed(app).await;
        some_events(app).await;
        signed(app).await;
        let whole = std::fs::read(file(app)).unwrap();
        let first = whole.len() / 2;
        for cut in [0, 5, first, first + 7, whole.len() - 40, whole.len() - 1] {
            std::fs::write(file(app), &whole[..cut]).unwrap();
            app.checkpoints().turn().await.unwrap();
            assert_eq!(std::fs::read(file(app)).unwrap(), whole, "cut at {cut}");
        }
    }

    /// Without the file the server would sign the shorter log. The attacker holds database and key, and not the file's volume.
    async fn a_rollback_is_found_by_the_file(app: &mut TestApp) {
        with_file(app).await;
        some_events(app).await;
        let before = signed(app).await;
        rewritten(app).await;
        app.restart().await;
        let refused = app.checkpoints().turn().await.unwrap_err();
        assert!(format!("{refused}").contains("does not extend the last checkpoint"), "{refused:?}");
        assert_eq!(app.api(Role::Admin).post("api/v1/admin/checkpoints", json!({})).await.problem(), (409, "log_not_signed"));
        assert_eq!(app.api(Role::Auditor).get("api/v1/export").await.problem(), (409, "log_not_signed"));
        assert_eq!(metric(app, "placet_log_place_contradicts{place=\"file\"}").await, "1");
        assert_eq!(rows::number(app, "SELECT count(*) AS number FROM checkpoints").await, 0, "nothing is signed");
        let (intent, suspension) = app.ask(json!({})).await;
        app.operator().respond(intent, &suspension, "approve").await.ok();
        // An operator who knows the reason, a restore from a backup for example, moves the file away.
        std::fs::rename(file(app), app.folder().join("evidence")).unwrap();
        let after = signed(app).await;
        assert_eq!(sizes_in_file(app), [after.size]);
        assert_eq!(metric(app, "placet_log_place_contradicts{place=\"file\"}").await, "0");
        let evidence = std::fs::read_to_string(app.folder().join("evidence")).unwrap();
        assert_eq!(TreeHead::verify(pieces(&evidence)[0], &[key(app)]), Ok(before));
    }

    /// A log that was rewritten and has grown beyond the old size is found as well.
    async fn a_fork_is_found_by_the_file(app: &mut TestApp) {
        with_file(app).await;
        some_events(app).await;
        let before = signed(app).await;
        rewritten(app).await;
        app.ask(json!({})).await;
        assert!(app.checkpoints().turn().await.is_err());
        while app.store().extend_tree().await.unwrap() {}
        assert!(rows::number(app, "SELECT size AS number FROM tree").await > i64::try_from(before.size).unwrap());
        assert!(app.checkpoints().turn().await.is_err());
        assert_eq!(rows::number(app, "SELECT count(*) AS number FROM checkpoints").await, 0, "nothing is signed");
    }

    /// A witness cosigns the newest checkpoint, and the one that is served and exported carries the cosignature.
    async fn a_witness_cosigns_what_is_served_and_exported(app: &mut TestApp) {
        let witness = with_witness(app).await;
        assert_eq!(turn(app).await.unwrap(), 0, "there is no checkpoint yet");
        for round in 1..=2 {
            some_events(app).await;
            let head = signed(app).await;
            assert_eq!(turn(app).await.unwrap(), head.size);
            assert_eq!(turn(app).await.unwrap(), head.size, "a cosigned checkpoint is not sent again");
            assert_eq!(witness.asked(), round);
            let note = newest(app).await["note"].as_str().unwrap().to_owned();
            assert_eq!(TreeHead::verify(&note, &[key(app)]), Ok(head));
            assert_eq!(verify_cosigned(&note, &[witness.key().clone()], 1).unwrap()[0].witness, "witness.example/1");
        }
        let size = newest(app).await["event_count"].clone();
        let export = app.api(Role::Auditor).get(&format!("api/v1/export?size={size}")).await.text;
        let header: Value = serde_json::from_str(export.lines().next().unwrap()).unwrap();
        assert!(verify_cosigned(header["checkpoint"].as_str().unwrap(), &[witness.key().clone()], 1).is_ok());
        some_events(app).await;
        signed(app).await;
        app.restart().await;
        assert!(turn(app).await.is_ok());
        assert_eq!(witness.asked(), 3, "after a restart the size that the witness has is still known");
    }

    /// A server that has lost the size of a witness learns it from the witness.
    async fn the_size_that_a_witness_has_is_learned_from_its_answer(app: &mut TestApp) {
        let witness = with_witness(app).await;
        some_events(app).await;
        signed(app).await;
        turn(app).await.unwrap();
        rows::change(app, "DELETE FROM witnesses").await;
        some_events(app).await;
        let size = signed(app).await.size;
        assert_eq!(turn(app).await.unwrap(), size);
        assert_eq!(witness.asked(), 3);
        assert_eq!(u64::try_from(rows::number(app, "SELECT size AS number FROM witnesses").await).unwrap(), size);
    }

    /// A witness that is away holds nothing up, and is asked about the newest checkpoint when it is back.
    async fn a_witness_that_is_away_holds_nothing_up(app: &mut TestApp) {
        let witness = with_witness(app).await;
        witness.is_away(true);
        for _ in 0..2 {
            let (intent, suspension) = app.ask(json!({})).await;
            app.operator().respond(intent, &suspension, "approve").await.ok();
            signed(app).await;
            assert!(matches!(turn(app).await, Err(Failure::Later(_))));
        }
        let failures = "placet_log_place_failures_total{place=\"witness.example/1\"}";
        assert_eq!(metric(app, failures).await, "2");
        witness.is_away(false);
        assert_eq!(turn(app).await.unwrap(), newest(app).await["event_count"].as_u64().unwrap());
        let older = app.api(Role::Auditor).get("api/v1/checkpoints?limit=2").await.ok()[1]["note"].clone();
        assert!(verify_cosigned(older.as_str().unwrap(), &[witness.key().clone()], 1).is_err(), "only the newest is asked about");
    }

    /// The attacker can also change the size that the database remembers of the witness; the witness remembers it itself.
    async fn a_fork_is_found_by_the_witness_and_by_its_copy(app: &mut TestApp) {
        let witness = with_witness(app).await;
        some_events(app).await;
        let before = signed(app).await;
        turn(app).await.unwrap();
        rewritten(app).await;
        rows::change(app, "DELETE FROM witnesses").await;
        app.ask(json!({})).await;
        app.ask(json!({})).await;
        let forked = signed(app).await;
        assert!(forked.size > before.size, "the forged log is signed, and its own proofs are right");
        let path = format!("api/v1/verify/consistency?from_checkpoint={0}&to_checkpoint={0}", forked.size);
        assert_eq!(app.api(Role::Auditor).get(&path).await.ok()["consistent"], true);
        assert!(matches!(turn(app).await, Err(Failure::Contradicts(_))));
        assert_eq!(metric(app, "placet_log_place_contradicts{place=\"witness.example/1\"}").await, "1");
        let served = newest(app).await["note"].as_str().unwrap().to_owned();
        assert!(verify_cosigned(&served, &[witness.key().clone()], 1).is_err(), "the fork has no cosignature");
        // An auditor who has the witness's copy finds it without the witness.
        let copy = TreeHead::verify(&witness.copy().unwrap(), &[key(app)]).unwrap();
        assert_eq!(copy, before);
        assert!(!app.store().extends(copy.size, copy.root).await.unwrap());
    }

    async fn a_rollback_is_found_by_the_witness(app: &mut TestApp) {
        let witness = with_witness(app).await;
        some_events(app).await;
        let before = signed(app).await;
        turn(app).await.unwrap();
        rewritten(app).await;
        rows::change(app, "DELETE FROM witnesses").await;
        assert!(signed(app).await.size < before.size);
        let Err(Failure::Contradicts(why)) = turn(app).await else { panic!("the witness has a larger tree") };
        assert!(why.contains(&before.size.to_string()), "{why}");
        assert_eq!(witness.asked(), 2);
    }

    /// The newest checkpoint is posted, signed, once; and again under the same id if the endpoint did not take it.
    async fn checkpoints_are_posted_to_the_webhook(app: &mut TestApp) {
        let receiver = Receiver::start().await;
        let settings = webhook("log", &receiver).settings;
        app.restart_with(|config| config.log.webhook = Some(settings)).await;
        some_events(app).await;
        let head = signed(app).await;
        receiver.script([Answer::Status(503, Vec::new())]);
        assert!(matches!(turn(app).await, Err(Failure::Later(_))));
        assert_eq!(turn(app).await.unwrap(), head.size);
        assert_eq!(turn(app).await.unwrap(), head.size);
        let posted = receiver.posted();
        assert_eq!(posted.len(), 2);
        assert!(posted.iter().all(|one| one.is_signed_with(SECRET)));
        assert_eq!(posted[0].headers["webhook-id"], posted[1].headers["webhook-id"]);
        let body = posted[1].json();
        assert_eq!((&body["type"], &body["data"]["size"]), (&json!("log.checkpoint"), &json!(head.size)));
        assert_eq!(TreeHead::verify(body["data"]["note"].as_str().unwrap(), &[key(app)]), Ok(head));
    }

    /// An agent keeps the last checkpoint it saw, and each later one must extend it.
    async fn the_sdk_demands_that_the_log_extends_what_it_saw(app: &mut TestApp) {
        let memory = app.folder().join("seen");
        let first = client(app, Some(memory.clone()));
        assert!(matches!(first.check_log().await, Err(LogError::NoCheckpoint)));
        some_events(app).await;
        let size = signed(app).await.size;
        assert_eq!(first.check_log().await.unwrap().size, size);
        assert_eq!(first.clone().check_log().await.unwrap().size, size);
        some_events(app).await;
        let size = signed(app).await.size;
        // Another process has the same file.
        assert_eq!(client(app, Some(memory.clone())).check_log().await.unwrap().size, size);
        assert_eq!(TreeHead::verify(&std::fs::read_to_string(&memory).unwrap(), &[key(app)]).unwrap().size, size);
        assert!(matches!(app.client().check_log().await, Err(LogError::NoKey)));
        std::fs::write(&memory, "something else").unwrap();
        assert!(matches!(client(app, Some(memory)).check_log().await, Err(LogError::File(_))));
    }

    async fn a_rollback_is_found_by_an_old_checkpoint_of_the_sdk(app: &mut TestApp) {
        let memory = app.folder().join("seen");
        let seen = client(app, Some(memory.clone()));
        some_events(app).await;
        let before = signed(app).await;
        seen.check_log().await.unwrap();
        rewritten(app).await;
        let Err(LogError::WentBack { newest_size: 0, .. }) = seen.check_log().await else { panic!("there is no checkpoint") };
        let size = signed(app).await.size;
        for client in [seen, client(app, Some(memory))] {
            for _ in 0..2 {
                let Err(LogError::WentBack { remembered, newest_size, .. }) = client.check_log().await else {
                    panic!("the log went back");
                };
                assert_eq!((remembered.size, newest_size), (before.size, size));
            }
        }
        assert_eq!(client(app, None).check_log().await.unwrap().size, size, "without an old checkpoint nothing is found");
    }

    async fn a_fork_is_found_by_an_old_checkpoint_of_the_sdk(app: &mut TestApp) {
        let seen = client(app, None);
        some_events(app).await;
        let before = signed(app).await;
        seen.check_log().await.unwrap();
        rewritten(app).await;
        // The attacker also signs a checkpoint of the old size, so that the server has two to prove something between.
        let missing = async || before.size.saturating_sub(app.store().newest_checkpoint().await.unwrap().map_or(0, |one| one.size));
        signed(app).await;
        while missing().await > 0 {
            let intent = app.agent().active_intent().await;
            app.agent().post(&format!("intents/{intent}/events"), json!({"event_type": "comment", "payload": {}})).await.ok();
            signed(app).await;
        }
        app.ask(json!({})).await;
        assert!(signed(app).await.size > before.size);
        let Err(LogError::Forked { remembered, newest_note }) = seen.check_log().await else { panic!("the log was rewritten") };
        assert_eq!(remembered.size, before.size);
        assert!(TreeHead::verify(&newest_note, &[key(app)]).is_ok(), "the attacker's signature is the evidence");
    }

    /// Auditors who run no server keep checkpoints in their mailboxes: the newest one once a day, over restarts and servers.
    async fn the_newest_checkpoint_is_mailed_once_a_day(app: &mut TestApp) {
        some_events(app).await;
        while app.smtp.has_unread() {
            app.smtp.next_mail().await;
        }
        let to = vec!["ada@audit.example".to_owned(), "bo@audit.example".to_owned()];
        let settings = LogMailConfig { to: to.clone(), every: TimeDelta::hours(24) };
        app.restart_with(|config| config.log.mail = Some(settings)).await;
        let head = signed(app).await;
        assert_eq!(turn(app).await.unwrap(), head.size);
        for recipient in &to {
            let mail = app.smtp.next_mail().await;
            assert_eq!(mail.to, std::slice::from_ref(recipient));
            assert!(mail.subject().contains(&head.origin) && mail.text().contains("placet verify --checkpoint FILE"), "{}", mail.text());
            let [(name, note)] = &mail.attached_texts()[..] else { panic!("one file is attached") };
            assert_eq!(*name, format!("checkpoint-{}.txt", head.size));
            assert_eq!(TreeHead::verify(note, &[key(app)]).unwrap(), head, "the file is the note, byte for byte");
        }
        some_events(app).await;
        signed(app).await;
        app.restart().await;
        app.clock.jump(TimeDelta::seconds(24 * 60 * 60 - 1));
        turn(app).await.unwrap();
        let mailed = mails_of_checkpoints(app);
        assert_eq!(mailed, 2, "not before a day has passed");
        app.clock.jump(TimeDelta::seconds(1));
        app.smtp.script(Fault::Defer);
        assert!(matches!(turn(app).await, Err(Failure::Later(_))));
        assert_eq!(mails_of_checkpoints(app), mailed + 1, "an address that is put off does not hold up the others");
        let size = turn(app).await.unwrap();
        assert!(size > head.size);
        assert_eq!(mails_of_checkpoints(app), mailed + 2, "the address that was put off gets it, and no address gets it twice");

        some_events(app).await;
        app.clock.jump(TimeDelta::days(2));
        signed(app).await;
        app.smtp.script(Fault::RejectRecipient);
        assert!(turn(app).await.is_err());
        assert_eq!(mails_of_checkpoints(app), mailed + 3, "an address that is refused does not hold up the others");
        turn(app).await.unwrap();
        assert_eq!(mails_of_checkpoints(app), mailed + 3);

        app.clock.jump(TimeDelta::days(2));
        some_events(app).await;
        signed(app).await;
        let due = join_all((0..4).map(|_| async { app.store().checkpoint_to_mail(TimeDelta::hours(24)).await })).await;
        assert_eq!(due.into_iter().filter(|due| due.as_ref().unwrap().is_some()).count(), 1, "of several servers one mails it");
    }
}

/// How many mails with a checkpoint were taken.
fn mails_of_checkpoints(app: &TestApp) -> usize {
    app.smtp.received().iter().filter(|mail| mail.subject().contains("Checkpoint of")).count()
}
