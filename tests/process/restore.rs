//! `placet serve --after-restore` and `placet release`, as an operator types them.

use std::time::{Duration, Instant};

use harness::process::{PATIENCE, Site};
use harness::smtp::SmtpSink;
use tokio::time::sleep;

/// A server that was started with `--after-restore` applies no deadline and sends no message, even after it was started again
/// without the flag. When `placet release` runs beside it, it goes on without another start.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restored_server_waits_until_it_is_released_beside_it() {
    let smtp = SmtpSink::start().await;
    let site = Site::production(smtp.url());
    let agent = site.api("agent", "agent").await;
    let server = site.serve().await;
    agent.asked(agent.active_intent().await).await;
    let old = smtp.next_mail().await.link(&site.base());
    server.signal("TERM").await;
    server.finish().await.succeeded();

    let mut restored = site.start(site.command(["serve", "--after-restore"]));
    restored.line_with("Placet listens on ").await;
    assert!(restored.errors().contains("`placet release`"), "{}", restored.errors());
    restored.kill().await;
    let server = site.serve().await;
    assert!(server.errors().contains("`placet release`"), "every start says so: {}", server.errors());
    let until = Instant::now() + PATIENCE;
    while agent.get("readyz").await.text != "ready\nheld: true\n" {
        assert!(Instant::now() < until, "it is ready, and says that it waits");
        sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(agent.get(old.strip_prefix(&site.base()).unwrap()).await.status, 404);

    let doctor = site.run(site.command(["doctor"])).await;
    assert!(doctor.stdout.contains("deadlines and messages wait since 2"), "{doctor:?}");
    let released = site.run(site.command(["release"])).await;
    assert!(released.succeeded().starts_with("Released."), "{released:?}");
    let afresh = smtp.next_mail().await.link(&site.base());
    assert_ne!(afresh, old);
    assert_eq!(agent.get(afresh.strip_prefix(&site.base()).unwrap()).await.status, 200);
    assert_eq!(agent.get("readyz").await.text, "ready\n");
    let again = site.run(site.command(["release"])).await;
    assert_eq!(again.succeeded(), "Nothing waits to be released.\n");
    server.kill().await;
}

/// A wrong path must not become an empty database that looks restored.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn there_must_be_something_to_restore() {
    let site = Site::development();
    site.run(site.command(["serve", "--after-restore"])).await.refused(&["there is no database at", "placet.db"]);
    site.run(site.command(["release"])).await.refused(&["there is no database at"]);
    assert!(!site.database().exists());
}

/// The database in the server's file is used by every command that opens one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_and_release_find_the_database_in_the_file() {
    let site = Site::development();
    let (file, database) = (site.folder().join("placet.toml"), site.folder().join("elsewhere/placet.db"));
    std::fs::write(&file, format!("database_url = 'sqlite://{}'", database.display())).unwrap();
    for arguments in [&["keys", "create", "--role", "admin", "--name", "admin"][..], &["release"]] {
        let mut command = site.command([arguments, &["--config", file.to_str().unwrap()]].concat());
        command.env_remove("PLACET_DATABASE_URL");
        site.run(command).await.succeeded();
    }
    assert!(database.exists() && !site.database().exists());
}
