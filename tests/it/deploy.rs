//! What is shipped beside the program fits the program: the image, the composition, the proxy's configuration.

#![expect(clippy::unwrap_used, reason = "these functions serve tests alone")]

use std::collections::BTreeSet;
use std::path::Path;

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)).unwrap()
}

/// The `PLACET_…` names in a text, but not those of variables whoever runs it sets.
fn settings(text: &str) -> BTreeSet<&str> {
    let starts = text.match_indices("PLACET_").filter(|(at, _)| !text[..*at].ends_with("${"));
    let ends = |at: usize| text[at..].find(|c: char| !(c.is_ascii_uppercase() || c == '_')).map_or(text.len(), |end| at + end);
    starts.map(|(at, _)| &text[at..ends(at)]).collect()
}

/// A setting nobody reads is a server that does not do what its operator believes.
#[test]
fn every_setting_of_the_image_and_the_composition_is_one_of_the_programs() {
    let known = read("docs/operating.md");
    for file in ["Dockerfile", "docker-compose.yml"] {
        let text = read(file);
        let unknown: Vec<_> = settings(&text).into_iter().filter(|name| !known.contains(&format!("`{name}`"))).collect();
        assert!(unknown.is_empty(), "{file} sets {unknown:?}");
        assert!(settings(&text).len() > 1, "{file} sets nothing");
    }
}

/// Whoever starts the composition without reading it must not have everybody's password.
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

/// An older compiler refuses the sources, and only when somebody builds the image.
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
    assert!(seconds.parse::<u32>().unwrap() > placet_server::http::WAIT_SECONDS_MAX, "{seconds}");
    for server in ["placet-1:7420", "placet-2:7420"] {
        assert!(text.contains(server) && read("docker-compose.yml").contains(server.split(':').next().unwrap()), "{server}");
    }
    assert!(text.contains("access_log off"), "paths hold the tokens of answer links");
}
