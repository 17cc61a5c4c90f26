//! The conditions under which the program starts, and its messages when it does not.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use harness::api::Api;
use harness::process::{PATIENCE, Site};
use harness::smtp::SmtpSink;
use serde_json::json;
use tokio::process::Command;

/// `serve` without any of the settings the site makes, but with its database.
fn bare(site: &Site, arguments: &[&str]) -> Command {
    let mut command = site.command([&["serve"], arguments].concat());
    for name in ["PLACET_LISTEN", "PLACET_OPERATORS", "PLACET_NOTIFY_ALLOW"] {
        command.env_remove(name);
    }
    command
}

/// A person who tries Placet out starts it without reading anything first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn development_needs_no_settings() {
    let site = Site::development();
    let mut server = site.start(bare(&site, &["--listen", "127.0.0.1:0"]));
    let said = server.line_with("Placet listens on ").await;
    assert!(said.contains("http://127.0.0.1:"), "{said}");
    server.line_with("No mail server is set").await;
    server.kill().await;
}

/// Standard output may be a file that many can read: neither a key nor the address of the mailbox belongs there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_terminal_no_secret_is_said() {
    let site = Site::development();
    let server = site.serve().await;
    server.signal("TERM").await; // At once: a server that has printed its address can also be stopped.
    let ended = server.finish().await;
    assert!(ended.stdout.lines().all(|line| !line.starts_with('{')), "logs are among the results: {ended:?}");
    assert!(ended.stderr.contains("listening"), "the logs are not on standard error: {ended:?}");
    assert!(ended.succeeded().contains("placet keys create"), "it says how to make a key: {ended:?}");
    for said in [&ended.stdout, &ended.stderr] {
        for secret in ["placet_admin_", "/dev/"] {
            assert!(!said.contains(secret), "{secret} is in {said}");
        }
    }
    assert_eq!(site.run(site.command(["keys", "list"])).await.succeeded(), "", "no key was made that nobody can know");
}

/// Opens an address as a browser does, with the `Host` header `host` if one is given; returns the status and the cookie.
async fn enter(address: &str, host: Option<&str>) -> (u16, Option<String>) {
    let (base, secret) = address.split_once("dev/").unwrap_or_else(|| panic!("no address: {address}"));
    let browser = Api::new(base, None);
    let mut request = browser.request("GET", &format!("dev/{secret}"));
    if let Some(host) = host {
        request = request.header("host", host);
    }
    let reply = browser.send(request).await;
    (reply.status, reply.headers.get("set-cookie").map(|cookie| cookie.to_str().unwrap().split(';').next().unwrap().to_owned()))
}

/// A start of the server on a terminal.
fn on_a_terminal(site: &Site, arguments: &str) -> Command {
    site.script("sh", &format!("exec script --quiet --return --command 'placet serve {arguments}' /dev/null"))
}

/// The address on the terminal must let a browser in. If it were wrong, a new user would get no further.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_address_on_the_terminal_opens_once() {
    let site = Site::development();
    let mut server = site.start(on_a_terminal(&site, ""));
    let line = server.line_with("it lets one browser in, once: ").await;
    let address = line.rsplit(' ').next().unwrap();
    assert!(address.starts_with(&site.base()), "{line}");
    let (status, cookie) = enter(address, None).await;
    assert!(status == 303 && cookie.is_some(), "{status} {cookie:?}");
    let next = server.line_with("For another browser, use this new address: ").await;
    let next = next.rsplit(' ').next().unwrap();
    assert_eq!(enter(address, None).await.0, 410);
    assert_eq!(enter(next, None).await.0, 303);
    assert!(!site.database().with_file_name("placet.db-address").exists(), "who has a terminal needs no file");
    server.kill().await;
}

/// Without a terminal the address is in a file that only the owner can read, and only as long as it is of use.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_terminal_the_address_is_in_a_file_of_its_owner() {
    let site = Site::development();
    let file = site.database().with_file_name("placet.db-address");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let elsewhere = site.folder().join("elsewhere");
    std::fs::write(&elsewhere, "kept").unwrap();
    std::os::unix::fs::symlink(&elsewhere, &file).unwrap(); // Left by a user who was here before.
    let mut server = site.serve().await;
    let line = server.line_with("open the address in ").await;
    assert!(line.contains(file.to_str().unwrap()), "{line}");
    let read = || std::fs::read_to_string(&file).unwrap().trim_end().to_owned();
    let address = read();
    assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), "kept");
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::symlink_metadata(&file).unwrap().permissions());
    assert_eq!(mode, 0o100_600, "{mode:o}");
    assert_eq!(enter(&address, None).await.0, 303);
    // The next address replaces it a moment later.
    let give_up = Instant::now() + PATIENCE;
    while std::fs::read_to_string(&file).is_ok_and(|text| text.trim_end() == address) || !file.exists() {
        assert!(Instant::now() < give_up, "the file still holds the address that was used");
        tokio::task::yield_now().await;
    }
    assert_eq!(enter(&address, None).await.0, 410);
    let next = read();
    server.signal("TERM").await;
    let ended = server.finish().await;
    for secret in [&address, &next] {
        let secret = secret.rsplit('/').next().unwrap();
        assert!(!ended.succeeded().contains(secret) && !ended.stderr.contains(secret), "{ended:?}");
    }
    assert!(!file.exists(), "an address that opens nothing any more is left behind");
}

/// For a phone near the computer the printed address names this machine by its address in the network. Requests under any other
/// name of this machine are refused, because a page from elsewhere can use any name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn development_for_a_phone_is_reached_under_one_address() {
    let site = Site::development();
    let everywhere = format!("0.0.0.0:{}", site.port());
    site.run(site.command(["serve", "--listen", &everywhere])).await.refused(&["PLACET_PUBLIC_URL"]);
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    if socket.connect("192.0.2.1:9").is_err() {
        site.run(site.command(["serve", "--dev", "--listen", &everywhere])).await.refused(&["no network was found"]);
        return;
    }
    let here = format!("{}:{}", socket.local_addr().unwrap().ip(), site.port());
    let mut server = site.start(on_a_terminal(&site, &format!("--dev --listen {everywhere}")));
    assert!(server.line_with("Placet listens on ").await.contains(&format!("http://{here}/")));
    let line = server.line_with("it lets one browser in, once: ").await;
    let address = line.rsplit(' ').next().unwrap();
    assert!(address.starts_with(&format!("http://{here}/dev/")), "{line}");
    server.line_with("▄").await; // The address as a QR code, for the phone's camera.
    let at_home = address.replace(&here, &format!("127.0.0.1:{}", site.port()));
    for (address, host) in [(at_home.as_str(), None), (address, Some("evil.example")), (address, Some("localhost"))] {
        assert_eq!(enter(address, host).await, (404, None), "{address} {host:?}");
    }
    let (status, cookie) = enter(address, None).await;
    assert_eq!(status, 303);
    let phone = Api::new(&format!("http://{here}/"), None);
    let inside = phone.send(phone.request("GET", "").header("cookie", cookie.unwrap())).await;
    assert!(inside.text.contains("Mailbox"), "{}", inside.text);
    server.kill().await;
}

/// A production server without any key would be of no use; the refusal tells what to type.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn production_needs_a_key_made_beforehand() {
    let smtp = SmtpSink::start().await;
    let site = Site::production(smtp.url());
    site.run(site.command(["serve"])).await.refused(&["there is no key yet", "placet keys create --role admin --name admin"]);
    // The printed command can be typed unchanged, so it names the settings file: without `--config` the key could go into another
    // database.
    let file = site.folder().join("placet.toml");
    std::fs::write(&file, "operators = ['ops@example.com']\n").unwrap();
    let file = file.to_str().unwrap();
    let hint = format!("placet keys create --role admin --name admin --config '{file}'");
    site.run(site.command(["serve", "--config", file])).await.refused(&[&hint]);
    site.run(site.command(["keys", "create", "--role", "admin", "--name", "admin"])).await.succeeded();
    site.serve().await.kill().await;
}

/// An administrator restarts a stopped server with the same command in the same folder, in a shell that has lost the settings. It
/// must not become a server that tells no person, and then takes the silence for an answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_of_production_gets_into_development_only_on_purpose() {
    let smtp = SmtpSink::start().await;
    let site = Site::production(smtp.url());
    site.run(site.command(["serve"])).await.refused(&["there is no key yet"]);
    let forgotten = |arguments: &[&str]| {
        let mut command = site.command(arguments);
        command.env_remove("PLACET_SMTP_URL").env_remove("PLACET_MAIL_FROM");
        command
    };
    let mut server = site.start(forgotten(&["serve"]));
    server.line_with("No mail server is set, so mails stay in memory").await; // Nothing has been served yet.
    server.kill().await;
    let agent = site.api("agent", "agent").await;
    let server = site.serve().await;
    server.signal("TERM").await;
    server.finish().await.succeeded();

    site.run(forgotten(&["serve"])).await.refused(&["served in production", "placet.db", "PLACET_SMTP_URL", "--dev"]);
    let doctor = site.run(forgotten(&["doctor"])).await;
    assert!(!doctor.status.success() && doctor.stdout.contains("served in production"), "{doctor:?}");

    let mut server = site.start(forgotten(&["serve", "--dev"]));
    server.line_with("No mail server is set, so mails stay in memory").await;
    let intent = agent.active_intent().await;
    let asked = json!({"timeout_seconds": 600, "fallback_policy": "complete_with_fallback", "fallback_value": "approve"});
    let id = agent.suspend(intent, asked).await.ok()["id"].as_str().unwrap().to_owned();
    let path = format!("api/v1/suspensions/{id}/deliveries");
    let mail = loop {
        let mail = agent.get(&path).await.ok()["deliveries"][0].clone();
        if !["queued", "sending"].contains(&mail["state"].as_str().unwrap()) {
            break mail;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(mail["state"], json!("failed"), "{mail}");
    assert!(mail["detail"].as_str().unwrap().contains("the mail was not sent"), "{mail}");
    assert_eq!(agent.suspension(&id).await["reached"], json!(false));
    server.kill().await;

    let mut server = site.start(site.command(["serve", "--dev"]));
    server.line_with("the mail server that is set gets none").await;
    server.kill().await;
    site.serve().await.kill().await;
}

/// A file of Docker Compose, or the environment of a service, writes `NAME=` for a setting that it leaves out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_variable_set_to_nothing_is_not_set() {
    let site = Site::development();
    let with = |arguments: &[&str]| {
        let mut command = bare(&site, arguments);
        for name in [
            "CONFIG",
            "DATABASE_CONNECTIONS",
            "DATABASE_URL_FILE",
            "LISTEN",
            "MAIL_BOUNCE_TO",
            "MAIL_FROM",
            "NOTIFY_ALLOW",
            "OPERATORS",
            "PUBLIC_URL",
            "SMTP_INSECURE",
            "SMTP_URL",
            "SMTP_URL_FILE",
        ] {
            command.env(format!("PLACET_{name}"), "");
        }
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", "");
        command
    };
    let mut server = site.start(with(&["--listen", "127.0.0.1:0"]));
    server.line_with("Placet listens on http://127.0.0.1:").await;
    server.kill().await;
    let file = site.folder().join("placet.toml");
    std::fs::write(&file, "public_url = 'ftp://example.com'\n").unwrap();
    site.run(with(&["--config", file.to_str().unwrap()])).await.refused(&["the public URL must begin with https://"]); // The file's value counts.
}

/// Each of these would start a server that leaks links, reaches no person, or ignores a setting.
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
    for (flag, words) in [
        ("--smtp-url", "PLACET_SMTP_URL_FILE"),
        ("--smtp-url=smtps://user:hunter2@mail.example.com", "PLACET_SMTP_URL"),
        ("--api-key", "PLACET_API_KEY"),
        ("--min-window-seconds", "file of --config"),
    ] {
        let refused = site.run(bare(&site, &[flag, "x"])).await;
        assert!(refused.status.code() == Some(3) && refused.stderr.contains(words), "{refused:?}");
        assert!(!refused.stderr.contains("hunter2"), "{refused:?}");
    }
    let unknown = site.run(bare(&site, &["--operatorz", "x"])).await;
    assert_eq!(unknown.status.code(), Some(3), "{unknown:?}");
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

/// A newcomer forgets to name operators, and wonders why no person is asked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_says_that_nobody_is_asked_and_what_it_made() {
    let site = Site::development();
    let mut command = site.command(["serve"]);
    command.env_remove("PLACET_OPERATORS");
    let mut server = site.start(command);
    assert!(server.line_with("Made a new database: ").await.ends_with("/data/placet.db"));
    server
        .line_with("No operators are set, so a question without notify_to reaches no person. Start with PLACET_OPERATORS=")
        .await;
    server.signal("TERM").await;
    let first = server.finish().await;
    let second = site.serve().await;
    second.signal("TERM").await;
    let second = second.finish().await;
    assert!(!second.stdout.contains("Made a new database") && !second.stdout.contains("No operators"), "{first:?} {second:?}");
}

/// A clock that was set back delays deadlines by that time. A server that starts with it can tell by the last sign of life, and
/// warns.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_with_a_clock_behind_says_so() {
    for (ahead_seconds, is_said) in [(3_600, true), (0, false)] {
        let site = Site::development();
        site.key("agent", "agent").await;
        site.away_for(-ahead_seconds).await;
        let server = site.serve().await;
        server.signal("TERM").await;
        let ended = server.finish().await;
        let words = "the clock is behind the last sign of life of a server on this database";
        assert_eq!(ended.stderr.contains(words), is_said, "{ended:?}");
    }
}

/// A port that is taken is named by its number, not by a stack of errors.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_port_that_is_taken_is_named() {
    let site = Site::development();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    site.run(bare(&site, &["--listen", &address])).await.refused(&["failed to listen on", &address, "PLACET_LISTEN", "in use"]);
}

/// `--help` lists every setting, because people look for a setting there.
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
        "PLACET_DATABASE_URL_FILE",
        "OTEL_EXPORTER_OTLP_HEADERS",
        "[[channels.webhook]]",
        "--after-restore",
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

/// A wrong setting of the server is the server's problem, and must not stop a person who manages keys.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_setting_of_the_server_stops_no_other_command() {
    let site = Site::development();
    let with = |arguments: &[&str]| {
        let mut command = site.command(arguments);
        command.env("PLACET_LISTEN", "7420").env("PLACET_SMTP_INSECURE", "perhaps");
        command
    };
    site.run(with(&["keys", "create", "--role", "agent", "--name", "agent"])).await.succeeded();
    let refused = site.run(with(&[])).await;
    assert!(!refused.status.success() && refused.stderr.contains("--listen"), "{refused:?}");
}
