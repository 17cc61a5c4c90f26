//! What the program needs to start, and what it says when it does not.

use harness::process::Site;
use harness::smtp::SmtpSink;
use tokio::process::Command;

/// `serve` without any of the settings the site makes, but with its database.
fn bare(site: &Site, arguments: &[&str]) -> Command {
    let mut command = site.command([&["serve"], arguments].concat());
    for name in ["PLACET_LISTEN", "PLACET_OPERATORS", "PLACET_NOTIFY_ALLOW"] {
        command.env_remove(name);
    }
    command
}

/// Whoever tries Placet out starts it without reading anything first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn development_needs_no_settings() {
    let site = Site::development();
    let mut server = site.start(bare(&site, &["--listen", "127.0.0.1:0"]));
    let said = server.line_with("Placet listens on ").await;
    assert!(said.contains("http://127.0.0.1:"), "{said}");
    server.line_with("No mail server is set").await;
    server.kill().await;
}

/// Standard output may be a file that many can read: neither a key nor the way to the mailbox belongs there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_terminal_no_secret_is_said() {
    let site = Site::development();
    let server = site.serve().await;
    server.signal("TERM").await; // At once: a server that has said where it listens can also be stopped.
    let ended = server.finish().await;
    assert!(ended.stdout.lines().all(|line| !line.starts_with('{')), "logs are among the results: {ended:?}");
    assert!(ended.stderr.contains("listening"), "the logs are not on standard error: {ended:?}");
    assert!(ended.succeeded().contains("placet keys create"), "it says how to make a key: {ended:?}");
    for said in [&ended.stdout, &ended.stderr] {
        for secret in ["placet_admin_", "/dev/", "mailbox:"] {
            assert!(!said.contains(secret), "{secret} is in {said}");
        }
    }
    assert_eq!(site.run(site.command(["keys", "list"])).await.succeeded(), "", "no key was made that nobody can know");
}

/// A production server nobody has a key for would run for nobody; the refusal says what to type.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn production_needs_a_key_made_beforehand() {
    let smtp = SmtpSink::start().await;
    let site = Site::production(smtp.url());
    site.run(site.command(["serve"])).await.refused(&["there is no key yet", "placet keys create --role admin --name admin"]);
    site.run(site.command(["keys", "create", "--role", "admin", "--name", "admin"])).await.succeeded();
    site.serve().await.kill().await;
}

/// Each of these would start a server that leaks links, reaches nobody, or does not do what its settings say.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_that_cannot_be_meant_are_refused() {
    let site = Site::development();
    let file = site.folder().join("placet.toml");
    std::fs::write(&file, "operatorz = ['a@example.com']\n").unwrap();
    let file = file.to_str().unwrap();
    for (arguments, words) in [
        (vec!["--public-url", "http://placet.example.com"], vec!["unencrypted", "https://"]),
        (vec!["--listen", "0.0.0.0:0"], vec!["PLACET_PUBLIC_URL=https://"]),
        (vec!["--listen", "0.0.0.0:0", "--public-url", "https://placet.example.com"], vec!["PLACET_SMTP_URL", "--dev"]),
        (vec!["--config", file], vec!["placet.toml", "operatorz"]),
        (vec!["--config", "nowhere.toml"], vec!["failed to read", "nowhere.toml"]),
        (vec!["--operators", "nobody"], vec!["PLACET_OPERATORS", "nobody"]),
        (vec!["--database-url", "mysql://localhost/placet"], vec!["sqlite://", "postgres://"]),
        (vec!["--database-url", "postgres://localhost/placet"], vec!["must name a user and a database"]),
    ] {
        site.run(bare(&site, &arguments)).await.refused(&words);
    }
    let unknown = site.run(bare(&site, &["--operatorz", "x"])).await;
    assert_eq!(unknown.status.code(), Some(2), "{unknown:?}");
    assert!(!site.database().exists(), "a refused server leaves nothing behind");

    let mut no_sender = bare(&site, &[]);
    no_sender.env("PLACET_SMTP_URL", "smtps://mail.example.com");
    site.run(no_sender).await.refused(&["PLACET_MAIL_FROM"]);
    let mut plain = bare(&site, &["--mail-from", "placet@example.com"]);
    plain.env("PLACET_SMTP_URL", "smtp://user:hunter2@mail.example.com");
    let plain = site.run(plain).await;
    plain.refused(&["PLACET_SMTP_INSECURE"]);
    assert!(!plain.stderr.contains("hunter2"), "a password is in the refusal: {}", plain.stderr);
}

/// A port that is taken is said by its number, not by a stack of errors.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_port_that_is_taken_is_named() {
    let site = Site::development();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    site.run(bare(&site, &["--listen", &address])).await.refused(&["failed to listen on", &address, "PLACET_LISTEN", "in use"]);
}

/// A setting nobody can find is no setting.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn help_lists_every_setting() {
    let site = Site::development();
    let every = [
        "--listen",
        "PLACET_LISTEN",
        "127.0.0.1:7420",
        "--database-url",
        "PLACET_DATABASE_URL",
        "sqlite://placet-data/placet.db",
        "--public-url",
        "PLACET_PUBLIC_URL",
        "--config",
        "PLACET_CONFIG",
        "--dev",
        "PLACET_SMTP_URL",
        "PLACET_SMTP_URL_FILE",
        "--smtp-insecure",
        "PLACET_SMTP_INSECURE",
        "--mail-from",
        "PLACET_MAIL_FROM",
        "--operators",
        "PLACET_OPERATORS",
        "--notify-allow",
        "PLACET_NOTIFY_ALLOW",
        "default_retry_policy",
        "min_window_seconds",
        "requires_delivery",
        "[channels]",
        "RUST_LOG",
    ];
    let mut command = site.command(["serve", "--help"]);
    command.env("PLACET_SMTP_URL", "smtps://user:hunter2@mail.example.com");
    let help = site.run(command).await;
    let missing: Vec<_> = every.iter().filter(|name| !help.succeeded().contains(**name)).collect();
    assert!(missing.is_empty(), "missing {missing:?}:\n{}", help.stdout);
    assert!(!help.stdout.contains("hunter2"), "help shows a password:\n{}", help.stdout);
    let help = site.run(site.command(["--help"])).await;
    for command in ["serve", "keys", "ask", "answer", "doctor", "demo"] {
        assert!(help.succeeded().lines().any(|line| line.trim_start().starts_with(command)), "{command}");
    }
    assert!(help.stdout.contains("placet serve --help"), "{}", help.stdout);
}

/// A setting of the server that cannot be understood is the server's trouble, not that of who manages keys.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_setting_of_the_server_stops_no_other_command() {
    let site = Site::development();
    let with = |arguments: &[&str]| {
        let mut command = site.command(arguments);
        command.env("PLACET_LISTEN", "7420").env("PLACET_SMTP_INSECURE", "perhaps");
        command
    };
    site.run(with(&["keys", "list"])).await.succeeded();
    let refused = site.run(with(&[])).await;
    assert!(!refused.status.success() && refused.stderr.contains("--listen"), "{refused:?}");
}
