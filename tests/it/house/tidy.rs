//! Rules that the compiler cannot check, as ordinary tests.
//!
//! Each rule is a function that takes a tree of files and returns its violations. One test applies it to the repository, and
//! another plants a violation and checks that the rule finds it.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use spdx::{Expression, ParseMode};

/// The greatest number of lines of a Rust file. One person can keep that much in mind.
const FILE_LINES_MAX: usize = 700;
/// The crates whose code is shipped.
const SHIPPED: &[&str] = &["channels/", "checksums/", "domain/", "sdk/", "server/", "store/"];
/// The places under `tests/` that may sleep: tests and benchmarks of whole processes, which run on the real clock, and the pause between
/// two looks at a thing that happens in its own time.
const MAY_SLEEP: &[&str] = &["tests/benches/", "tests/harness/bench/", "tests/harness/pause.rs", "tests/process/"];
/// Crates that the domain must not need.
const OUTSIDE_WORLD: &[&str] = &["actix", "diesel", "lettre", "reqwest", "tokio"];
/// The templates of the pages and of the mails.
const TEMPLATES: &[&str] = &["server/src/pages/templates/", "channels/templates/"];
/// The texts of pages and mails: one file per language and place.
const WORDS: &[&str] =
    &["server/src/pages/templates/en/words/", "server/src/pages/templates/de/words/", "domain/src/base/words/"];
/// This template is written for developers, like the interface it describes, so its words stay in English and in place.
const FOR_DEVELOPERS: &[&str] = &["server/src/pages/templates/reference.html"];
/// This file names what it forbids.
const SELF: &str = "tests/it/house/tidy.rs";
/// The licences that a dependency may have. All are permissive: they require no more than a notice.
const LICENCES: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Zlib",
];
/// Crates of which a second version would cost code size, build time, or a second runtime that does not know the first.
const ONE_VERSION: &[&str] = &["diesel", "hyper", "reqwest", "rustls", "serde", "tokio"];
/// The end of the source of every package that is not ours.
const CRATES_IO: &str = "/crates.io-index";

/// A text file of the repository, with its path relative to the root.
struct File {
    path: String,
    text: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// Every source, manifest, template and migration.
fn repository() -> Vec<File> {
    let (root, mut files) = (root(), Vec::new());
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy();
            if name.starts_with('.') || name == "target" || name == "placet-data" {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|ending| ["rs", "toml", "sql", "html", "css", "txt"].map(Some).contains(&ending.to_str()))
            {
                let text = std::fs::read_to_string(&path).unwrap();
                let path = path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
                files.push(File { path, text });
            }
        }
    }
    files.retain(|file| file.path != SELF);
    assert!(files.iter().any(|file| file.path == "tests/it/main.rs"), "the walk did not find the tests");
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

fn is_under(path: &str, places: &[&str]) -> bool {
    places.iter().any(|place| path == *place || (place.ends_with('/') && path.starts_with(place)))
}

fn rust(files: &[File]) -> impl Iterator<Item = &File> {
    let is_rust = |file: &&File| Path::new(&file.path).extension() == Some("rs".as_ref());
    files.iter().filter(is_rust)
}

/// The numbered lines without line comments. Comments may name things that code must not use.
fn code(file: &File) -> impl Iterator<Item = (usize, &str)> {
    let lines = file.text.lines().map(|line| match line.trim_start() {
        comment if comment.starts_with("//") => "",
        // Requiring a space keeps the slashes of a URL apart from those of a comment.
        _ => line.split(" //").next().unwrap_or(line),
    });
    lines.enumerate().map(|(index, line)| (index + 1, line))
}

/// Whether `line` has `word`, and not just at the end of a longer name.
fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
}

/// Checks that `word` stands in Rust code only under `places`.
fn only_under(files: &[File], word: &str, places: &[&str]) -> Vec<String> {
    let elsewhere = rust(files).filter(|file| !is_under(&file.path, places));
    elsewhere
        .flat_map(|file| code(file).map(move |(number, line)| (file, number, line)))
        .filter(|(_, _, line)| has_word(line, word))
        .map(|(file, number, _)| format!("{}:{number} uses {word}, allowed only under {places:?}", file.path))
        .collect()
}

/// Checks that tests advance the clock and do not wait for it.
fn no_sleep_in_tests(files: &[File]) -> Vec<String> {
    rust(files)
        .filter(|file| is_under(&file.path, &["tests/"]) && !is_under(&file.path, MAY_SLEEP))
        .flat_map(|file| code(file).map(move |(number, line)| (file, number, line)))
        .filter(|(_, _, line)| has_word(line, "sleep("))
        .map(|(file, number, _)| format!("{}:{number} sleeps", file.path))
        .collect()
}

/// Checks that every database has the same migrations, by name.
fn migrations_match(files: &[File]) -> Vec<String> {
    let mut names: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in files {
        let place = file.path.strip_prefix("migrations/").and_then(|path| path.split_once('/'));
        if let Some((database, name)) = place {
            names.entry(database).or_default().insert(name);
        }
    }
    let all: BTreeSet<&str> = names.values().flatten().copied().collect();
    names
        .iter()
        .flat_map(|(database, own)| all.difference(own).map(move |name| format!("migrations/{database} lacks {name}")))
        .collect()
}

/// Checks that shipped files have no marks of unfinished work.
fn no_marks_of_unfinished_work(files: &[File]) -> Vec<String> {
    let shipped = files.iter().filter(|file| is_under(&file.path, SHIPPED));
    shipped
        .filter(|file| ["TODO", "FIXME"].iter().any(|mark| has_word(&file.text, mark)))
        .map(|file| format!("{} has a TODO or FIXME", file.path))
        .collect()
}

/// Checks that the domain cannot do I/O: its manifest names no crate for it.
fn domain_is_pure(files: &[File]) -> Vec<String> {
    let manifest = files.iter().filter(|file| file.path == "domain/Cargo.toml");
    manifest
        .flat_map(|file| file.text.lines())
        .filter(|line| !line.starts_with('#') && !line.starts_with("description"))
        .filter(|line| OUTSIDE_WORLD.iter().any(|name| line.contains(name)))
        .map(|line| format!("domain/Cargo.toml has {line}"))
        .collect()
}

/// Checks that the words of pages and mails stand in a catalogue: no other template has words between its tags, in text for
/// screen readers, or in the arguments of a macro.
fn words_in_templates(files: &[File]) -> Vec<String> {
    let may_speak = [WORDS, FOR_DEVELOPERS].concat();
    let templates = files.iter().filter(|file| is_under(&file.path, TEMPLATES) && !is_under(&file.path, &may_speak));
    templates
        .filter_map(|file| Some(format!("{} says “{}”; words belong to {WORDS:?}", file.path, own_words(&file.text)?)))
        .collect()
}

/// The first text of a template that is neither a tag nor a command of the template engine, except the product's name.
fn own_words(template: &str) -> Option<String> {
    // A text template has no tags, so all of it is shown.
    let mut text = if template.contains('<') { template.to_owned() } else { format!("<>{template}") };
    let mut handed_over = Vec::new();
    for (open, close) in [("{#", "#}"), ("{%", "%}"), ("{{", "}}"), ("<style>", "</style>")] {
        while let Some(start) = text.find(open) {
            let end = text[start..].find(close).map_or(text.len(), |length| start + length + close.len());
            let literals = text[start..end].split('"').skip(1).step_by(2).map(str::to_owned);
            // A single word in a command names a shape or a file. Several words are text for readers.
            handed_over.extend(literals.filter(|text| open != "{#" && text.trim().contains(' ')));
            text.replace_range(start..end, "");
        }
    }
    let spoken = ["aria-label=\"", "alt=\"", "title=\"", "placeholder=\""];
    let spoken = spoken.iter().flat_map(|name| text.split(name).skip(1)).filter_map(|rest| rest.split('"').next());
    // Attributes that a macro adds to another file's tag look like text. Their equals sign and quotation mark tell them apart.
    let between =
        text.split('<').filter_map(|part| part.split_once('>')).map(|(_, text)| text).filter(|text| !text.contains("=\""));
    let mut said = spoken.chain(between).chain(handed_over.iter().map(String::as_str)).map(|text| text.replace("&nbsp;", ""));
    let found = said.find(|text| text.contains(char::is_alphabetic) && text.trim() != "Placet");
    found.map(|text| text.trim().to_owned())
}

fn no_long_files(files: &[File]) -> Vec<String> {
    rust(files)
        .map(|file| (file, file.text.lines().count()))
        .filter(|(_, lines)| *lines > FILE_LINES_MAX)
        .map(|(file, lines)| format!("{} has {lines} lines, more than {FILE_LINES_MAX}", file.path))
        .collect()
}

/// The crates that cargo resolved for this machine. Crates for other platforms may be missing offline.
fn metadata() -> Value {
    let cargo = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO")).args(arguments).current_dir(root()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let version = cargo(&["-vV"]);
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let flags = ["--locked", "--offline", "--format-version", "1", "--filter-platform", host];
    serde_json::from_str(&cargo(&[&["metadata"], flags.as_slice()].concat())).unwrap()
}

fn packages(metadata: &Value) -> impl Iterator<Item = (&Value, String)> {
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages.map(|package| (package, format!("{} {}", text(&package["name"]), text(&package["version"]))))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Checks that every package is a member of the workspace or comes from crates.io.
fn unknown_sources(metadata: &Value) -> Vec<String> {
    let members = metadata["workspace_members"].as_array().unwrap();
    packages(metadata)
        .filter(|(package, _)| {
            !members.contains(&package["id"])
                && !package["source"]
                    .as_str()
                    .is_some_and(|source| source.starts_with("registry+") && source.ends_with(CRATES_IO))
        })
        .map(|(package, name)| format!("{name} comes from {}", package["source"]))
        .collect()
}

/// Checks that every package is available under licences from the list.
fn unwelcome_licences(metadata: &Value) -> Vec<String> {
    packages(metadata)
        .filter(|(package, _)| !is_permissive(text(&package["license"])))
        .map(|(package, name)| format!("{name} is licensed {}", package["license"]))
        .collect()
}

fn is_permissive(licence: &str) -> bool {
    // Lax mode accepts the slashes that older crates write instead of OR.
    Expression::parse_mode(licence, ParseMode::LAX).is_ok_and(|expression| {
        // An exception only adds permissions, so the licence decides.
        expression.evaluate(|required| required.license.id().is_some_and(|id| LICENCES.contains(&id.name)))
    })
}

fn second_versions(metadata: &Value) -> Vec<String> {
    let mut versions: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (package, name) in packages(metadata) {
        versions.entry(text(&package["name"])).or_default().insert(name);
    }
    versions.retain(|name, versions| ONE_VERSION.contains(name) && versions.len() > 1);
    versions.into_values().map(|versions| format!("{versions:?}")).collect()
}

/// Checks that the kill points of tests are not in shipped programs: only the tests' own package turns the feature on, and cargo
/// builds only the server by default.
fn kill_points_outside_tests(metadata: &Value) -> Vec<String> {
    let names_it =
        |list: &Value| list.as_array().is_some_and(|list| list.iter().any(|feature| text(feature).ends_with(KILL_POINTS)));
    let mut violations = Vec::new();
    for (package, name) in packages(metadata).filter(|(package, _)| text(&package["name"]) != "placet-tests") {
        // The feature may turn on the same feature of a crate below, but no other feature may.
        let mut features = package["features"].as_object().unwrap().iter().filter(|(feature, _)| *feature != KILL_POINTS);
        if features.any(|(_, list)| names_it(list))
            || package["dependencies"].as_array().unwrap().iter().any(|on| names_it(&on["features"]))
        {
            violations.push(format!("{name} turns {KILL_POINTS} on"));
        }
    }
    let default = metadata["workspace_default_members"].as_array().unwrap();
    if default.len() != 1 || !text(&default[0]).contains("/server#") {
        violations.push(format!("cargo builds {default:?} by default"));
    }
    violations
}

/// Checks that only tests need the crates that are made for tests.
fn test_crates_outside_tests(metadata: &Value) -> Vec<String> {
    packages(metadata)
        .filter(|(package, _)| !TEST_CRATES.contains(&text(&package["name"])))
        .filter(|(package, _)| {
            package["dependencies"].as_array().unwrap().iter().any(|on| TEST_CRATES.contains(&text(&on["name"])))
        })
        .map(|(_, name)| format!("{name} needs one of {TEST_CRATES:?}"))
        .collect()
}

const TEST_CRATES: &[&str] = &["placet-disk", "placet-tests"];
const KILL_POINTS: &str = "kill-points";
const STORE: &[&str] = &["store/", "tests/harness/plans.rs", "tests/harness/rows.rs", "tests/benches/log/rows.rs"];
const WEB: &[&str] = &[
    "server/src/edge/",
    "server/src/api/",
    "server/src/pages/",
    "server/src/inbox/",
    "server/src/protocols/",
    "server/src/app.rs",
    "tests/process/a2a_fixture/",
];
const POSTGRES: &[&str] = &["store/src/moving/", "store/src/postgres/", "tests/harness/postgres.rs"];
const CHANNELS: &[&str] = &["channels/"];
/// The only files that may hold unsafe code: they use SQLite's C interface, for the checksums of pages and for a disk that fails. In all
/// other crates the compiler refuses unsafe code.
const UNSAFE: &[&str] = &["checksums/src/sqlite.rs", "tests/disk/src/sqlite.rs"];

/// The rules of the architecture: which files may use the database, the web, the mail server, and the clock.
#[test]
fn the_repository_keeps_its_rules() {
    let files = repository();
    let violations = [
        only_under(&files, "diesel::", STORE),
        only_under(&files, "tokio_postgres::", POSTGRES),
        only_under(&files, "actix_web::", WEB),
        only_under(&files, "lettre::", CHANNELS),
        only_under(&files, "unsafe ", UNSAFE),
        no_sleep_in_tests(&files),
        migrations_match(&files),
        no_marks_of_unfinished_work(&files),
        domain_is_pure(&files),
        words_in_templates(&files),
        no_long_files(&files),
    ]
    .concat();
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

/// The dependencies are shipped with Placet, so they come from crates.io and their licences require no more than a notice.
#[test]
fn dependencies_are_permissive_known_and_single() {
    let metadata = metadata();
    assert!(packages(&metadata).count() > 100, "cargo metadata did not list the dependencies");
    let violations = [
        unknown_sources(&metadata),
        unwelcome_licences(&metadata),
        second_versions(&metadata),
        kill_points_outside_tests(&metadata),
        test_crates_outside_tests(&metadata),
    ]
    .concat();
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

/// The patches in `tests/sim/bugs` plant bugs that the simulator must find. A patch that no longer fits the sources plants no
/// bug, so it shows nothing about the simulator.
#[test]
fn each_planted_bug_fits_the_tree() {
    let folder = tempfile::tempdir().unwrap();
    let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("sim/bugs/run");
    let copied = Command::new(run).arg("--copy").arg(folder.path()).output().unwrap();
    assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
    let lane = std::fs::read_to_string(folder.path().join("server/src/worker/lane.rs")).unwrap();
    assert!(lane.contains("planted(\"lane-unbounded\")"), "{lane}");
}

/// Each test breaks one rule on purpose and checks that the rule finds it.
mod planted {
    use serde_json::json;

    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn a_crate_outside_its_place_is_found() {
        let line = "// diesel:: here is talk.\nuse diesel::prelude::*;\nfn no_diesel::x() {}";
        let files = [file("store/src/sqlite/rows/intents.rs", line), file("server/src/api/intents.rs", line)];
        let found = only_under(&files, "diesel::", STORE);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("server/src/api/intents.rs:2 "), "{found:?}");

        let web = "let x = actix_web::web::Data::new(1);";
        let files = ["server/src/app.rs", "server/src/pages/inbox.rs", "server/src/application.rs", "sdk/src/lib.rs"];
        assert_eq!(only_under(&files.map(|path| file(path, web)), "actix_web::", WEB).len(), 2);
        assert_eq!(only_under(&[file("server/src/cli/ask.rs", "lettre::Message")], "lettre::", CHANNELS).len(), 1);
    }

    #[test]
    fn a_sleeping_test_is_found() {
        let line = "    tokio::time::sleep(Duration::from_secs(1)).await;";
        let paths = ["tests/it/deadlines.rs", "tests/harness/lib.rs", "tests/process/kill.rs", "server/src/app.rs"];
        assert_eq!(no_sleep_in_tests(&paths.map(|path| file(path, line))).len(), 2);
        assert!(no_sleep_in_tests(&[file("tests/it/x.rs", "fn nobody_may_oversleep() {}")]).is_empty());
    }

    #[test]
    fn a_migration_of_one_database_only_is_found() {
        let both = [file("migrations/sqlite/1_a/up.sql", ""), file("migrations/postgres/1_a/up.sql", "")];
        assert!(migrations_match(&both).is_empty());
        let [sqlite, postgres] = both;
        let more = [sqlite, postgres, file("migrations/sqlite/2_b/up.sql", "")];
        assert_eq!(migrations_match(&more), ["migrations/postgres lacks 2_b/up.sql"]);
        assert!(migrations_match(&more[2..]).is_empty(), "one database alone has nothing to match");
    }

    #[test]
    fn unfinished_work_is_found() {
        let files = ["server/templates/page.html", "sdk/src/lib.rs", "tests/it/main.rs"];
        assert_eq!(no_marks_of_unfinished_work(&files.map(|path| file(path, "x // TODO: finish"))).len(), 2);
        assert_eq!(no_marks_of_unfinished_work(&[file("domain/src/a.rs", "/* FIXME */")]).len(), 1);
    }

    #[test]
    fn a_domain_that_reaches_out_is_found() {
        let manifest = "[package]\ndescription = \"no tokio\"\n[dependencies]\n# tokio = 1\nserde.workspace = true\n";
        assert!(domain_is_pure(&[file("domain/Cargo.toml", manifest)]).is_empty());
        for line in ["tokio.workspace = true", "[dependencies.diesel]", "web = { package = \"actix-web\" }"] {
            let found = domain_is_pure(&[file("domain/Cargo.toml", &format!("{manifest}{line}\n"))]);
            assert_eq!(found, [format!("domain/Cargo.toml has {line}")]);
        }
    }

    #[test]
    fn a_word_outside_the_catalogue_is_found() {
        let page = |text| words_in_templates(&[file("server/src/pages/templates/open.html", text)]).len();
        for said in [
            "<p>Send it</p>",
            "<p>{{ at }} left</p>",
            "<svg aria-label=\"half\"></svg>",
            "</b> und <b>",
            "{% call heading(\"Possible answers\") %}{% endcall %}",
        ] {
            assert_eq!(page(said), 1, "{said}");
        }
        let mail = |text| words_in_templates(&[file("channels/templates/question.txt", text)]);
        assert_eq!(mail("{{ agent }} asks").len(), 1);
        assert_eq!(mail("{{ words::asks(agent) }}: {{ link }}\n"), [""; 0]);
        for silent in
            ["{# talk #}<p class=\"mute\">{{ words }} · {% call words::x(\"y\") %}{% endcall %}</p>", "</svg>Placet</span>"]
        {
            assert_eq!(page(silent), 0, "{silent}");
        }
        for place in ["en/words/all.html", "de/words/all.html", "reference.html"] {
            let may_speak = file(&format!("server/src/pages/templates/{place}"), "<p>Send it</p>");
            assert!(words_in_templates(&[may_speak]).is_empty(), "{place}");
        }
    }

    #[test]
    fn a_server_that_can_be_killed_by_name_is_found() {
        let metadata = |default: &str, features: Value, on: Value| {
            let server = json!({"name": "placet-server", "version": "1.0.0", "features": features, "dependencies": []});
            let other = json!({"name": "placet-cli", "version": "1.0.0", "features": {}, "dependencies": [{"features": on}]});
            json!({ "packages": [server, other], "workspace_default_members": [format!("path+file:///x/{default}#1.0.0")] })
        };
        let has_it = json!({"kill-points": []});
        assert!(kill_points_outside_tests(&metadata("server", has_it.clone(), json!([]))).is_empty());
        let on_by_default = json!({"default": ["kill-points"], "kill-points": []});
        assert_eq!(kill_points_outside_tests(&metadata("server", on_by_default, json!([]))).len(), 1);
        assert_eq!(kill_points_outside_tests(&metadata("server", has_it.clone(), json!(["kill-points"]))).len(), 1);
        assert_eq!(kill_points_outside_tests(&metadata("tests", has_it, json!([]))).len(), 1);
    }

    #[test]
    fn a_shipped_crate_on_a_disk_that_fails_is_found() {
        let metadata = |name: &str| {
            let on = json!([{ "name": "placet-disk", "features": [] }]);
            json!({ "packages": [{"name": name, "version": "1.0.0", "dependencies": on}] })
        };
        assert!(test_crates_outside_tests(&metadata("placet-tests")).is_empty());
        assert_eq!(test_crates_outside_tests(&metadata("placet-server")).len(), 1);
    }

    #[test]
    fn a_long_file_is_found() {
        let lines = |count| [file("sdk/src/lib.rs", &"x\n".repeat(count))];
        assert!(no_long_files(&lines(FILE_LINES_MAX)).is_empty());
        assert_eq!(no_long_files(&lines(FILE_LINES_MAX + 1)).len(), 1);
    }

    #[test]
    fn an_unwelcome_dependency_is_found() {
        for licence in [
            "MIT",
            "MIT/Apache-2.0",
            "Apache-2.0 / MIT",
            "Unlicense OR MIT",
            "MIT OR LGPL-2.1-or-later",
            "Apache-2.0 WITH LLVM-exception",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
        ] {
            assert!(is_permissive(licence), "{licence}");
        }
        for licence in ["", "GPL-3.0-only", "AGPL-3.0-or-later", "MIT AND GPL-2.0-only", "BUSL-1.1", "my own", "MPL-2.0"] {
            assert!(!is_permissive(licence), "{licence}");
        }
        let package = |id: &str, name, source, licence| json!({ "id": id, "name": name, "version": id, "source": source, "license": licence });
        let metadata = json!({ "workspace_members": ["0.1.0"], "packages": [
            package("0.1.0", "placet", Value::Null, "MIT"),
            package("1.0.0", "serde", json!(format!("registry+https://example.com{CRATES_IO}")), "MIT"),
            package("2.0.0", "serde", json!("git+https://example.com/serde"), "GPL-3.0-only"),
            package("3.0.0", "path", Value::Null, "MIT"),
        ] });
        assert_eq!(unknown_sources(&metadata).len(), 2, "the git one and the path outside the workspace");
        assert_eq!(unwelcome_licences(&metadata), ["serde 2.0.0 is licensed \"GPL-3.0-only\""]);
        assert_eq!(second_versions(&metadata), ["{\"serde 1.0.0\", \"serde 2.0.0\"}"]);
    }
}
