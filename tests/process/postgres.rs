//! The program on PostgreSQL: all steps, two servers, and refusals that tell what to do and never the password.

use harness::api::Api;
use harness::postgres::{Cluster, PASSWORD};
use harness::process::{Finished, MIGRATION, Site};
use serde_json::{Value, json};

/// Every command that opens a database.
const COMMANDS: [&[&str]; 3] = [&["serve"], &["keys", "list"], &["release"]];
/// A password that must not appear anywhere.
const HUNTER: &str = "hunter2";

/// Fails the test unless the program refused in at most two lines of plain words, without a password.
fn refused_in_words(ended: &Finished, words: &[&str]) {
    ended.refused(words);
    assert!(ended.stderr.lines().count() <= 2, "{}", ended.stderr);
    assert!(ended.stderr.starts_with("placet: "), "{}", ended.stderr);
    for secret in [HUNTER, PASSWORD, &PASSWORD.replace(' ', "%20")] {
        assert!(!ended.stderr.contains(secret) && !ended.stdout.contains(secret), "{ended:?}");
    }
}

async fn refused_everywhere(url: &str, words: &[&str]) {
    let site = Site::on(url.to_owned());
    for arguments in COMMANDS {
        refused_in_words(&site.run(site.command(arguments)).await, words);
    }
    let doctor = site.run(site.command(["doctor", "--json"])).await;
    let said: Value = serde_json::from_str(&doctor.stdout).unwrap();
    let failed = said["findings"].as_array().unwrap().iter().find(|finding| finding["level"] == "fail").unwrap();
    assert_eq!(doctor.status.code(), Some(1));
    let missing: Vec<_> = words.iter().filter(|word| !failed.to_string().contains(**word)).collect();
    // A doctor that could not examine the tables uses the words of the other commands. If it could examine them, it has words of
    // its own.
    assert!(missing.is_empty() || failed["what"].as_str().unwrap().contains("postgres://"), "{missing:?}: {failed}");
    assert!(!doctor.stdout.contains(HUNTER) && !doctor.stdout.contains(PASSWORD), "{doctor:?}");
}

/// Each of these refusals tells what is wrong, where, and what to do, because a person who reads it wants to go on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_cannot_be_used_is_refused_in_words() {
    let cluster = Cluster::of_this_process();
    let nobody = "postgres://ann:hunter2@127.0.0.1:9/placet";
    refused_everywhere(nobody, &["postgres://ann@127.0.0.1:9/placet", "PLACET_DATABASE_URL", "does PostgreSQL run there"]).await;
    in_a_file(nobody).await;
    let wrong = cluster.tcp_url("postgres", HUNTER);
    refused_everywhere(&wrong, &["password authentication failed", "correct the password"]).await;
    let missing = cluster.tcp_url("nowhere", PASSWORD);
    refused_everywhere(&missing, &["\"nowhere\" does not exist", "createdb --owner=placet nowhere"]).await;
    let unencrypted = format!("{}?sslmode=verify-full", cluster.tcp_url("postgres", PASSWORD));
    refused_everywhere(&unencrypted, &["TLS", "PLACET_DATABASE_URL"]).await;
    refused_everywhere("postgres://ann:hunter2@db.example/placet?sslmode=perhaps", &["sslmode", "disable or verify-full"]).await;
}

/// A URL with a password may stand in a file, like the mail server's.
async fn in_a_file(url: &str) {
    let site = Site::on("sqlite://nowhere.db".to_owned());
    let file = site.folder().join("database-url");
    std::fs::write(&file, format!("{url}\n")).unwrap();
    let mut both = site.command(["serve"]);
    both.env("PLACET_DATABASE_URL_FILE", &file);
    refused_in_words(&site.run(both).await, &["PLACET_DATABASE_URL and PLACET_DATABASE_URL_FILE are both set"]);
    let mut alone = site.command(["serve"]);
    alone.env_remove("PLACET_DATABASE_URL").env("PLACET_DATABASE_URL_FILE", &file);
    refused_in_words(&site.run(alone).await, &["postgres://ann@127.0.0.1:9/placet"]);
}

/// A person who mistypes the name of the database must not find Placet's tables among those of another program.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tables_of_another_program_are_left_alone() {
    let cluster = Cluster::of_this_process();
    for tables in [
        "CREATE TABLE orders (id integer)",
        "CREATE TABLE __diesel_schema_migrations (version text); CREATE TABLE orders (id integer); \
        INSERT INTO __diesel_schema_migrations VALUES ('20200101000000')",
    ] {
        let scratch = cluster.empty().await;
        cluster.sql(scratch.name(), tables).await;
        let before = scratch.dump();
        refused_everywhere(&scratch.url(), &["another program", "createdb"]).await;
        assert!(scratch.dump() == before, "something was changed");
        scratch.forget().await;
    }
}

/// A person who lists keys in the wrong database must learn that, not see an empty list and leave tables there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_that_needs_a_servers_tables_makes_none() {
    let scratch = Cluster::of_this_process().empty().await;
    let before = scratch.dump();
    let site = Site::on(scratch.url());
    for arguments in [&["keys", "list"][..], &["release"]] {
        refused_in_words(&site.run(site.command(arguments)).await, &["holds no tables", "PLACET_DATABASE_URL"]);
    }
    assert!(scratch.dump() == before, "something was changed");
    scratch.forget().await;
}

/// An older program does not know which rules a newer one keeps in its data. So it refuses a database of a newer program and
/// changes nothing in it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_of_a_newer_version_is_refused_and_left_alone() {
    let cluster = Cluster::of_this_process();
    let scratch = cluster.scratch().await;
    let newer = format!("UPDATE __diesel_schema_migrations SET version = '99991231000000' WHERE version = '{MIGRATION}'");
    cluster.sql(scratch.name(), &newer).await;
    refused_everywhere(&scratch.url(), &["newer placet (migration 99991231000000)", "use that version or restore a backup"])
        .await;
    scratch.forget().await;
}

/// The steps of the README's example for a database file also work with a database of several servers: a key, a question, and an
/// answer at the other server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_share_a_database() {
    let scratch = Cluster::of_this_process().empty().await;
    let (here, there) = (Site::on(scratch.url()), Site::on(scratch.url()));
    let agent = here.api("agent", "asker").await; // This makes the tables.
    let (one, two) = (here.serve().await, there.serve().await);
    let operator = Api::new(&there.base(), Some(&there.key("operator", "alice").await.1));
    let intent = agent.post("api/v1/intents", json!({"title": "x", "status": "active"})).await.ok();
    let intent = intent["id"].as_str().unwrap().parse().unwrap();
    let id = agent.asked(intent).await;
    one.kill().await;
    assert_eq!(operator.respond(intent, &id, "approve").await.status, 200);
    let said = there.run(there.command(["doctor", "--json"])).await;
    assert!(said.stdout.contains("is whole and of this version"), "{said:?}");
    assert!(said.stdout.contains("with fsync or full_page_writes off"), "the cluster of the tests runs without: {said:?}");
    two.signal("TERM").await;
    two.finish().await.succeeded();
    scratch.forget().await;
}
