//! `placet migrate`: everything moves, once, whatever interrupts it, and no data is ever served from two places.

use std::time::Duration;

use harness::api::Api;
use harness::person::Person;
use harness::postgres::{Cluster, PASSWORD, Scratch};
use harness::process::{Finished, MIGRATION, Running, Site};
use harness::smtp::SmtpSink;
use serde_json::json;
use tokio::process::Command;
use tokio::time::sleep;

/// The lock that a process holds while it fills a database.
const FILLING_LOCK: i64 = 0x706c_6163_6d76;
/// Rows of the largest table: more than two batches.
const INTENTS: usize = 420;

fn migrate(site: &Site, to: &str) -> Command {
    let mut command = site.command(["migrate", "--from", &format!("sqlite://{}", site.database().display())]);
    command.env("PLACET_DATABASE_URL", to);
    command
}

fn over_tcp(scratch: &Scratch) -> String {
    Cluster::of_this_process().tcp_url(scratch.name(), PASSWORD)
}

/// A refusal tells the reason, in at most two lines and without a password.
fn refused(ended: &Finished, words: &[&str]) {
    ended.refused(words);
    assert!(ended.stderr.starts_with("placet: ") && ended.stderr.lines().count() <= 2, "{}", ended.stderr);
    tells_no_password(ended);
}

fn tells_no_password(ended: &Finished) {
    for secret in [PASSWORD, &PASSWORD.replace(' ', "%20")] {
        assert!(!ended.stderr.contains(secret) && !ended.stdout.contains(secret), "{ended:?}");
    }
}

async fn serve_on(site: &Site, url: &str) -> Running {
    let mut command = site.command(["serve"]);
    command.env("PLACET_DATABASE_URL", url);
    let mut server = site.start(command);
    server.line_with("Placet listens on ").await;
    server
}

async fn stop(server: Running) {
    server.signal("TERM").await;
    server.finish().await.succeeded();
}

/// A file with rows in every table that a server fills by itself: an open question, an answered one, an expired one, keys.
async fn filled(site: &Site, smtp: &SmtpSink) -> (Api, String, String) {
    let agent = site.api("agent", "agent").await;
    let operator = site.api("operator", "alice").await;
    let server = site.serve().await;
    let awkward =
        json!({"title": "tab\t, backslash \\, NUL \u{0}, line\nand \\N", "status": "active", "state": {"é": "\u{0}\\n"}});
    agent.post_once("api/v1/intents", "once", awkward).await.ok();
    let intent = agent.active_intent().await;
    let open = agent.asked(intent).await;
    let link = smtp.next_mail().await.link(&site.base());
    let answered = agent.active_intent().await;
    let id = agent.asked(answered).await;
    operator.respond(answered, &id, "deny").await.ok();
    let lease = json!({"scope": "state.x", "duration_seconds": 600});
    agent.post(&format!("api/v1/intents/{intent}/leases"), lease).await;
    let path = format!("api/v1/intents/{answered}");
    agent.post(&format!("{path}/agents"), json!({"agent_id": "helper"})).await.ok();
    let entry = json!({"principal_id": "auditor", "permission": "write", "expires_at": "2099-01-01T00:00:00"});
    agent.post(&format!("{path}/acl/entries"), entry).await.ok();
    agent.post(&format!("{path}/access-requests"), json!({"principal_id": "third"})).await.ok();
    let portfolio = json!({"name": "a\u{0}b", "governance_policy": {"require_all_completed": true}, "metadata": {"a": 1.0}});
    let portfolio = agent.post("api/v1/portfolios", portfolio).await.ok();
    let place = format!("api/v1/portfolios/{}/intents", portfolio["id"].as_str().unwrap());
    agent.post(&place, json!({"intent_id": answered, "role": "primary", "priority": 3})).await.ok();
    let silent = agent.active_intent().await;
    agent.suspend(silent, json!({"timeout_seconds": 1, "fallback_policy": "fail"})).await.ok();
    while agent.status(silent).await != "abandoned" {
        sleep(Duration::from_millis(50)).await;
    }
    stop(server).await;
    (agent, open, link)
}

/// An operator who outgrows a file must not lose a question on the way: the mail in a person's inbox leads to the same question,
/// and the waiting agent gets the answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_asked_before_the_move_is_answered_after_it() {
    let smtp = SmtpSink::start().await;
    let site = Site::production(smtp.url());
    let (agent, open, link) = filled(&site, &smtp).await;
    let page = async |query: &str| agent.get(&format!("api/v1/suspensions?state=all&{query}")).await.ok();
    let bob = site.api("operator", "bob").await;
    let server = site.serve().await;
    let (whole, first) = (page("limit=100").await, page("limit=1").await);
    let answered = agent.get("api/v1/intents?limit=2").await.ok()["intents"][1]["id"].as_str().unwrap().to_owned();
    let access = async || {
        let of = async |part| agent.get(&format!("api/v1/intents/{answered}/{part}")).await.ok();
        [of("acl").await, of("access-requests").await, of("agents").await]
    };
    let portfolios = async || {
        let listed = agent.get("api/v1/portfolios").await.ok();
        let one = format!("api/v1/portfolios/{}", listed[0]["id"].as_str().unwrap());
        [agent.get(&one).await.ok(), agent.get(&format!("{one}/events")).await.ok()]
    };
    let grouped = portfolios().await;
    assert_eq!((&grouped[0]["name"], &grouped[0]["intents"][0]["role"]), (&json!("a\u{0}b"), &json!("primary")));
    let admitted = access().await;
    for (part, name) in admitted.iter().zip(["auditor", "third", "helper"]) {
        assert!(part.to_string().contains(name), "{part}");
    }
    stop(server).await;
    let scratch = Cluster::of_this_process().empty().await;
    let to = over_tcp(&scratch);
    let moved = site.run(migrate(&site, &to)).await;
    assert!(moved.succeeded().starts_with("Moved "), "{moved:?}");
    assert!(moved.stdout.contains("4 chains of events were recomputed"), "{moved:?}");
    assert!(moved.stderr.contains("moved events: ") && moved.stderr.contains("compared timers: "), "{moved:?}");
    tells_no_password(&moved);

    let server = serve_on(&site, &to).await;
    let rest = page(&format!("cursor={}", first["next_cursor"].as_str().unwrap())).await;
    let listed = [&first, &rest].map(|page| page["suspensions"].as_array().unwrap().clone()).concat();
    assert_eq!((json!(listed), listed.len()), (whole["suspensions"].clone(), 3), "a list that was begun goes on where it was");
    assert_eq!(access().await, admitted, "agents have the access that they had");
    assert_eq!(portfolios().await, grouped, "the intents are in the portfolios in which they were");
    agent.post("api/v1/portfolios", json!({"name": "later"})).await.ok();
    let request = admitted[1]["access_requests"][0]["id"].as_str().unwrap();
    let denied = format!("api/v1/intents/{answered}/access-requests/{request}/deny");
    assert_eq!(bob.post(&denied, json!({})).await.ok()["status"], json!("denied"));
    let answered = Person::new(&site.base()).answer(&link, "approve").await;
    assert_eq!(answered.status, 200);
    assert_eq!(agent.suspension(&open).await["response"], json!("approve"), "the agent's key counts here as well");
    let awkward =
        json!({"title": "tab\t, backslash \\, NUL \u{0}, line\nand \\N", "status": "active", "state": {"é": "\u{0}\\n"}});
    let again = agent.post_once("api/v1/intents", "once", awkward.clone()).await.ok();
    assert_eq!((&again["title"], &again["state"]), (&awkward["title"], &awkward["state"]));
    let intents = agent.get("api/v1/intents?limit=100").await.ok();
    assert_eq!(intents["intents"].as_array().unwrap().len(), 4, "a repetition was recognised");
    agent.asked(agent.active_intent().await).await; // New row ids follow the old ones.
    let said = site.run(on(&site, &["doctor", "--json"], &to)).await;
    assert!(said.stdout.contains("is whole and of this version"), "{said:?}");

    refused(&site.run(migrate(&site, &to)).await, &["in use by a running placet"]);
    stop(server).await;
    // Two databases that do not know of each other would each accept an answer.
    for arguments in [&["serve"][..], &["keys", "list"]] {
        refused(&site.run(site.command(arguments)).await, &["was moved to postgres://placet@127.0.0.1", "PLACET_DATABASE_URL"]);
    }
    let doctor = site.run(site.command(["doctor"])).await;
    assert!(doctor.stdout.contains("was moved to postgres://placet@127.0.0.1"), "{doctor:?}");
    let again = site.run(migrate(&site, &to)).await;
    assert!(again.succeeded().contains("Nothing was left to do"), "{again:?}");
    let other = Cluster::of_this_process().empty().await;
    refused(&site.run(migrate(&site, &over_tcp(&other))).await, &["was moved to", "already"]);
    scratch.forget().await;
    other.forget().await;
}

fn on(site: &Site, arguments: &[&str], url: &str) -> Command {
    let mut command = site.command(arguments);
    command.env("PLACET_DATABASE_URL", url);
    command
}

/// A move of a large file takes hours, and machines restart. Moved rows stay moved, no row is there twice, and until the end no
/// server starts on a half-filled database.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupted_move_goes_on_where_it_ended() {
    let smtp = SmtpSink::start().await;
    let site = Site::production(smtp.url());
    let (agent, ..) = filled(&site, &smtp).await;
    let server = site.serve().await;
    for _ in 0..INTENTS {
        let intent = agent.active_intent().await;
        agent.post(&format!("api/v1/intents/{intent}/events"), json!({"event_type": "comment", "payload": {}})).await;
    }
    stop(server).await;
    let scratch = Cluster::of_this_process().empty().await;
    let to = over_tcp(&scratch);
    // The program is killed among the rows of events, then after all rows, and then after the last mark but one.
    for point in ["within-move:3", "within-move:9", "between-marks"] {
        let mut command = migrate(&site, &to);
        command.env("PLACET_KILL_AT", point);
        let killed = site.run(command).await;
        assert!(killed.status.code().is_none(), "{point} was not reached: {killed:?}");
        refused(&site.run(on(&site, &["serve"], &to)).await, &["placet migrate", "run that command again"]);
        let doctor = site.run(on(&site, &["doctor"], &to)).await;
        assert!(doctor.stdout.contains("has not finished"), "{doctor:?}");
    }
    refused(&site.run(site.command(["serve"])).await, &["was moved to postgres://"]);
    let moved = site.run(migrate(&site, &to)).await;
    moved.succeeded();
    let server = serve_on(&site, &to).await;
    let intents = agent.get("api/v1/intents?limit=1000").await.ok();
    assert_eq!(intents["intents"].as_array().unwrap().len(), INTENTS + 4);
    server.kill().await;
    scratch.forget().await;
}

/// After an interruption the operator may decide to use the file for another week. Changes of that time must not be missing after
/// the move.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_changed_after_an_interruption_is_moved_anew() {
    let smtp = SmtpSink::start().await;
    let site = Site::production(smtp.url());
    let (agent, open, _) = filled(&site, &smtp).await;
    let scratch = Cluster::of_this_process().empty().await;
    let to = over_tcp(&scratch);
    let mut command = migrate(&site, &to);
    command.env("PLACET_KILL_AT", "within-move:8");
    assert!(site.run(command).await.status.code().is_none());

    let server = site.serve().await;
    let operator = site.api("operator", "bob").await;
    let intent = agent.suspension(&open).await["intent_id"].as_str().unwrap().parse().unwrap();
    operator.respond(intent, &open, "deny").await.ok();
    stop(server).await;
    let moved = site.run(migrate(&site, &to)).await;
    moved.succeeded();
    assert!(moved.stderr.contains("beginning anew"), "{moved:?}");
    let server = serve_on(&site, &to).await;
    assert_eq!(agent.suspension(&open).await["response"], json!("deny"));
    server.kill().await;
    scratch.forget().await;
}

/// If a byte differs or a log does not verify at the end of a move, the data does not count as moved, and the file can be served
/// as before. A move that only counted rows would not notice such a difference.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_whole_at_the_end_is_not_called_moved() {
    let smtp = SmtpSink::start().await;
    let site = Site::production(smtp.url());
    filled(&site, &smtp).await;
    for (tampering, words) in [
        ("UPDATE intents SET version = version + 1 WHERE rid = 2", "row 2 of intents is not what it was"),
        ("UPDATE events SET bytes = bytes || ' '::bytea WHERE rid = 1", "row 1 of events is not what it was"),
    ] {
        let scratch = Cluster::of_this_process().empty().await;
        let mut command = migrate(&site, &over_tcp(&scratch));
        command.env("PLACET_KILL_AT", "within-move:9");
        assert!(site.run(command).await.status.code().is_none());
        Cluster::of_this_process().sql(scratch.name(), tampering).await;
        let ended = site.run(migrate(&site, &over_tcp(&scratch))).await;
        ended.refused(&[words, "the file was not changed"]);
        scratch.forget().await;
    }
    stop(site.serve().await).await;

    site.rewrite_database("Refund order 12345", "Refund order 99999");
    let scratch = Cluster::of_this_process().empty().await;
    let ended = site.run(migrate(&site, &over_tcp(&scratch))).await;
    ended.refused(&["the log of intent 2 is broken", "the hash of event 1 does not match its bytes"]);
    scratch.forget().await;

    site.rewrite_database("Refund order 99999", "Refund order 12345");
    site.rewrite_database(r#""event_type":"key.created""#, r#""event_type":"key.altered""#);
    let scratch = Cluster::of_this_process().empty().await;
    let ended = site.run(migrate(&site, &over_tcp(&scratch))).await;
    ended.refused(&["the server's own log is broken", "the hash of event 1 does not match its bytes"]);
    stop(site.serve().await).await;
    scratch.forget().await;
}

/// Other users of the machine can read command lines, and shells keep them. So a password there is refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_on_the_command_line_is_refused() {
    let site = Site::development();
    site.key("admin", "admin").await;
    let scratch = Cluster::of_this_process().empty().await;
    let (from, to) = (format!("sqlite://{}", site.database().display()), over_tcp(&scratch));
    let words = ["must not be given on the command line", "PLACET_DATABASE_URL_FILE"];
    refused(&site.run(site.command(["migrate", "--from", &from, "--to", &to])).await, &words);
    let mut both = site.command(["migrate", "--from", &from, "--to", &to]);
    both.env("PLACET_DATABASE_URL", &to); // `--to "$PLACET_DATABASE_URL"` is visible as well.
    refused(&site.run(both).await, &words);
    for command in [vec!["serve"], vec!["keys", "list"], vec!["doctor"]] {
        let arguments = [command.as_slice(), &["--database-url", &to]].concat();
        let said = site.run(site.command(arguments)).await;
        assert!(!said.status.success() && format!("{}{}", said.stdout, said.stderr).contains(words[0]), "{said:?}");
        tells_no_password(&said);
    }
    // A shell writes the value of `"$PLACET_DATABASE_URL"` on the command line: others see it, although the environment holds the
    // same.
    for command in [vec!["serve"], vec!["keys", "list"], vec!["doctor"]] {
        let arguments = [command.as_slice(), &["--database-url", &to]].concat();
        let mut both = site.command(arguments);
        both.env("PLACET_DATABASE_URL", &to);
        let said = site.run(both).await;
        assert!(!said.status.success() && format!("{}{}", said.stdout, said.stderr).contains(words[0]), "{said:?}");
        tells_no_password(&said);
    }
    refused(
        &site.run(site.command(["migrate", "--from", &from, "--to", "postgres://placet:p@ss/w:rd@db/placet"])).await,
        &["%40"],
    );
    site.run(migrate(&site, &to)).await.succeeded();
    scratch.forget().await;
}

/// Each of these moves would lose or mix data, so it is refused, and the refusal says why.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_stands_in_the_way_of_a_move_is_said() {
    let site = Site::development();
    let scratch = Cluster::of_this_process().empty().await;
    let to = over_tcp(&scratch);
    refused(&site.run(migrate(&site, &to)).await, &["there is no database at"]);
    site.key("admin", "admin").await;
    let here = format!("sqlite://{}", site.database().display());
    let arguments = |from: &str, to: &str| site.command(["migrate", "--from", from, "--to", to]);
    refused(&site.run(arguments(&here, &here)).await, &["are the same database"]);
    refused(&site.run(site.command(["migrate", "--from", &here])).await, &["are the same database", "PLACET_DATABASE_URL"]);
    refused(&site.run(arguments(&here, "sqlite://other.db")).await, &["must be a PostgreSQL database", "other.db"]);
    refused(&site.run(arguments("postgres://placet@127.0.0.1/placet", &here)).await, &["--from must be a file", "pg_dump"]);
    refused(&site.run(arguments("mysql://x", &to)).await, &["--from is not usable", "sqlite://"]);

    let server = site.serve().await;
    refused(&site.run(migrate(&site, &to)).await, &["another placet serves", "stop it first"]);
    stop(server).await;

    let used = Cluster::of_this_process().scratch().await;
    let there = Site::on(over_tcp(&used));
    let running = there.serve().await;
    refused(&site.run(migrate(&site, &over_tcp(&used))).await, &["in use by a running placet"]);
    stop(running).await;
    refused(&site.run(migrate(&site, &over_tcp(&used))).await, &["is not empty", "createdb"]);

    let newer = format!("UPDATE __diesel_schema_migrations SET version = '99991231000000' WHERE version = '{MIGRATION}'");
    Cluster::of_this_process().sql(used.name(), &newer).await;
    refused(&site.run(migrate(&site, &over_tcp(&used))).await, &["written by a newer placet (migration 99991231000000)"]);
    site.rewrite_database(MIGRATION, "99991231000000");
    refused(&site.run(migrate(&site, &to)).await, &["written by a newer placet (migration 99991231000000)", "placet.db"]);
    site.rewrite_database("99991231000000", MIGRATION);

    let filling = Cluster::of_this_process().snapshot(scratch.name()).await;
    filling.rows(&format!("SELECT pg_advisory_lock({FILLING_LOCK})::text")).await;
    refused(&site.run(migrate(&site, &to)).await, &["another placet migrate fills"]);
    drop(filling);
    let mut command = migrate(&site, &to);
    command.env("PLACET_KILL_AT", "within-move:2");
    assert!(site.run(command).await.status.code().is_none());
    let other = Site::development();
    other.key("admin", "admin").await;
    refused(&site.run(migrate(&other, &to)).await, &["holds the rows of an unfinished move from", "placet.db", "createdb"]);
    site.run(migrate(&site, &to)).await.succeeded();
    scratch.forget().await;
    used.forget().await;
}

/// The statement by which server number 7 takes the lock that a server holds while it lives.
const SERVER: &str = "SELECT pg_advisory_lock(1886151011, 7)";

/// Returns when a connection waits for a lock in a database.
async fn until_waiting(scratch: &Scratch) {
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
    while Cluster::of_this_process().number(scratch.name(), waiting).await == 0 {
        sleep(Duration::from_millis(10)).await;
    }
}

/// Whether the file is marked as moved.
async fn is_moved(site: &Site) -> bool {
    site.run(site.command(["doctor"])).await.stdout.contains("was moved to")
}

/// A site with a file, and a database in which a move of it was interrupted when all rows were there.
async fn interrupted() -> (SmtpSink, Site, Scratch) {
    let smtp = SmtpSink::start().await;
    let site = Site::production(smtp.url());
    filled(&site, &smtp).await;
    let scratch = Cluster::of_this_process().empty().await;
    let mut command = migrate(&site, &over_tcp(&scratch));
    command.env("PLACET_KILL_AT", "within-move:9");
    assert!(site.run(command).await.status.code().is_none());
    (smtp, site, scratch)
}

/// A move notices a server that starts while the move begins, and takes its own steps back: the server may start again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_that_begins_while_a_server_starts_gives_way() {
    let site = Site::development();
    site.key("admin", "admin").await;
    // A database with the tables of a first start, and without rows.
    let scratch = Cluster::of_this_process().scratch().await;
    let rival = scratch.rival().await;
    rival.sql("BEGIN; LOCK TABLE intents IN ACCESS EXCLUSIVE MODE").await;
    let server = scratch.rival().await;
    let start = async {
        // The move has looked for servers already, and waits here because it wants to look for rows.
        until_waiting(&scratch).await;
        server.sql(SERVER).await;
        rival.sql("ROLLBACK").await;
    };
    let (ended, ()) = tokio::join!(site.run(migrate(&site, &over_tcp(&scratch))), start);
    refused(&ended, &["in use by a running placet"]);
    let marks = "SELECT count(*) FROM pg_tables WHERE tablename = 'moving'";
    assert_eq!(Cluster::of_this_process().number(scratch.name(), marks).await, 0);
    server.sql("SELECT pg_advisory_unlock_all()").await;
    site.run(migrate(&site, &over_tcp(&scratch))).await.succeeded();
    scratch.forget().await;
}

/// Once the file is marked as moved, no program reads it any more. So before that mark the rows must be on the database's disk,
/// and no server may serve that database: a crash or a second server would lose data that the file still has.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_is_not_marked_before_its_rows_are_durable_and_nobody_serves_them() {
    let (_smtp, site, scratch) = interrupted().await;
    let to = over_tcp(&scratch);
    let (rival, server) = (scratch.rival().await, scratch.rival().await);
    // The move makes the rows durable by a write to the table `moving`, and this lock makes that write wait.
    rival.sql("BEGIN; LOCK TABLE moving IN SHARE MODE").await;
    let started = async {
        until_waiting(&scratch).await;
        assert!(!is_moved(&site).await, "the file is marked before its rows are durable");
        server.sql(SERVER).await;
        rival.sql("ROLLBACK").await;
    };
    let (ended, ()) = tokio::join!(site.run(migrate(&site, &to)), started);
    ended.refused(&["in use by a running placet"]);
    assert!(!is_moved(&site).await, "neither could be served");
    stop(site.serve().await).await;
    server.sql("SELECT pg_advisory_unlock_all()").await;
    site.run(migrate(&site, &to)).await.succeeded();
    scratch.forget().await;
}

/// A database that was made anew, filled from elsewhere, or set back to the middle of the move holds less than the file. It must
/// not be taken for the end of the move: the file would be thrown away.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_is_not_finished_in_a_database_that_does_not_hold_it() {
    let (_smtp, site, scratch) = interrupted().await;
    let to = over_tcp(&scratch);
    let mut command = migrate(&site, &to);
    command.env("PLACET_KILL_AT", "between-marks");
    assert!(site.run(command).await.status.code().is_none());
    assert!(is_moved(&site).await);
    let cluster = Cluster::of_this_process();
    cluster.sql(scratch.name(), "CREATE TABLE kept AS TABLE api_keys; DELETE FROM api_keys").await;
    let ended = site.run(migrate(&site, &to)).await;
    ended.refused(&["does not hold the rows that were moved", "api_keys ends after 0 rows"]);
    refused(&site.run(on(&site, &["serve"], &to)).await, &["placet migrate"]);
    cluster.sql(scratch.name(), "INSERT INTO api_keys OVERRIDING SYSTEM VALUE TABLE kept; DROP TABLE kept").await;
    site.run(migrate(&site, &to)).await.succeeded();

    let anew = format!("DROP DATABASE {} WITH (FORCE)", scratch.name());
    cluster.sql("postgres", &anew).await;
    cluster.sql("postgres", &format!("CREATE DATABASE {}", scratch.name())).await;
    refused(&site.run(migrate(&site, &to)).await, &["does not hold the rows that were moved", "DROP TABLE moved"]);
    let other = Site::development();
    other.key("admin", "admin").await;
    let mut command = migrate(&other, &to);
    command.env("PLACET_KILL_AT", "within-move:2");
    assert!(other.run(command).await.status.code().is_none());
    refused(&site.run(migrate(&site, &to)).await, &["does not hold the rows that were moved", "DROP TABLE moved"]);
    scratch.forget().await;
}
