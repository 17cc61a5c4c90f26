//! The files that are shipped beside the program fit the program: the image, the composition, the proxy's configuration.

#![expect(clippy::unwrap_used, reason = "these functions serve tests alone")]

use std::collections::BTreeSet;
use std::path::Path;

use placet_server::config::{Config, ServeArgs};

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)).unwrap()
}

/// The `PLACET_…` names in a text. A name after `${` is left out: it is a variable that the person who starts the composition
/// sets.
fn settings(text: &str) -> BTreeSet<&str> {
    let starts = text.match_indices("PLACET_").filter(|(at, _)| !text[..*at].ends_with("${"));
    let ends = |at: usize| text[at..].find(|c: char| !(c.is_ascii_uppercase() || c == '_')).map_or(text.len(), |end| at + end);
    starts.map(|(at, _)| &text[at..ends(at)]).collect()
}

/// The program must read every setting of the image and the composition. Otherwise it does not do what its operator believes.
#[test]
fn every_setting_of_the_image_and_the_composition_is_one_of_the_programs() {
    let known = read("docs/operating.md");
    for (file, at_least) in [("Dockerfile", 1), ("docker-compose.yml", 2)] {
        let text = read(file);
        let unknown: Vec<_> = settings(&text).into_iter().filter(|name| !known.contains(&format!("`{name}`"))).collect();
        assert!(unknown.is_empty(), "{file} sets {unknown:?}");
        assert!(settings(&text).len() >= at_least, "{file} sets nothing");
    }
}

/// A crash must leave no core dump on the disk, because the dump would hold keys, passwords, links and answers.
#[test]
fn a_crash_leaves_no_picture_of_the_memory() {
    assert!(read("docs/placet.service").lines().any(|line| line == "LimitCORE=0"));
    assert!(read("docker-compose.yml").contains("ulimits: { core: 0 }"));
}

/// The author of a client reads in docs/http.md which refusals can come. A code that is missing there would first be met in
/// production.
#[test]
fn every_code_of_a_refusal_is_documented_with_its_status() {
    let (sources, documented) = (read("domain/src/problem.rs"), read("docs/http.md"));
    let rows = sources.split("entry(\"").skip(1).filter_map(|rest| {
        let (code, rest) = rest.split_once("\", ")?;
        Some(format!("| `{code}` | {} |", rest.split(',').next()?))
    });
    let rows: BTreeSet<String> = rows.collect();
    assert!(rows.len() > 25, "{rows:?}");
    let missing: Vec<&String> = rows.iter().filter(|row| !documented.contains(*row)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// If the servers refuse a file that the composition gives them, the composition does not start.
#[test]
fn the_compositions_settings_are_ones_a_server_takes() {
    let compose = read("docker-compose.yml");
    assert!(
        compose.contains("./docker/placet.toml}:/etc/placet/placet.toml:ro")
            && compose.contains("PLACET_CONFIG: /etc/placet/placet.toml")
    );
    let mut args = ServeArgs { smtp_url: Some("smtp://mail:1025".to_owned().into()), ..ServeArgs::default() };
    args.mail_from = Some("Placet <placet@example.com>".into());
    args.database.config = Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docker/placet.toml"));
    let config = Config::load(&args).unwrap();
    assert_eq!(config.asking.fallback_min_window_seconds, 300);
}

/// A person who starts the composition without reading it must not get a password that everyone knows.
#[test]
fn the_composition_has_no_password_of_its_own() {
    let text = read("docker-compose.yml");
    let secrets: Vec<&str> =
        text.lines().filter(|line| line.contains("PASSWORD") && !line.trim_start().starts_with('#')).collect();
    assert_eq!(secrets.len(), 2, "the database and the servers");
    for line in secrets {
        assert!(line.contains("${DATABASE_PASSWORD:?"), "a default, or a password: {line}");
    }
}

/// The image must be built with the compiler version that the manifest requires. An older compiler refuses the sources, and
/// this would be seen only when the image is built.
#[test]
fn the_image_is_built_with_the_compiler_the_sources_need() {
    let manifest = read("Cargo.toml");
    let version = manifest.split_once("rust-version = \"").unwrap().1.split('"').next().unwrap();
    assert!(read("Dockerfile").contains(&format!("FROM rust:{version}-")), "Cargo.toml says {version}");
}

/// A proxy that gives up before the longest wait makes every agent ask again and again.
#[test]
fn the_proxy_waits_longer_than_a_question_is_waited_for() {
    let text = read("docker/nginx.conf");
    let seconds = text.split_once("proxy_read_timeout ").unwrap().1.split('s').next().unwrap();
    assert!(seconds.parse::<u32>().unwrap() > placet_server::api::WAIT_SECONDS_MAX, "{seconds}");
    for server in ["placet-1:7420", "placet-2:7420"] {
        assert!(text.contains(server) && read("docker-compose.yml").contains(server.split(':').next().unwrap()), "{server}");
    }
    // Without `resolve`, nginx goes on using the address that a container had before it was made anew.
    assert_eq!(text.matches(":7420 resolve ").count(), 2);
    assert!(text.contains("access_log off"), "paths hold the tokens of answer links");
}
