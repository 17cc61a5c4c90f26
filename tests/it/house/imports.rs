//! The rules of the source tree: no file imports in a circle, and no folder imports from a folder above it.
//!
//! Each rule is a function that takes sources and returns the violations. One test applies it to the repository and another to a
//! planted violation.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The folders and files of the domain, in order. Each may import only those before it.
const DOMAIN: &[&str] = &[
    "base",
    "form",
    "suspension",
    "problem",
    "people",
    "portfolio",
    "container",
    "subscription",
    "intent",
    "log",
    "wire",
    "asking",
];

/// The folders and files of the server, in order. Each may import only those before it.
const SERVER: &[&str] = &[
    "crypto",
    "terminal",
    "permissions",
    "config",
    "observe",
    "log",
    "edge",
    "openid",
    "worker",
    "pages",
    "inbox",
    "protocols",
    "api",
    "app",
    "cli",
    "main",
];
/// The server's surfaces. None may import another, since each is a separate way to the same store.
const SURFACES: &[&str] = &["api", "pages", "inbox", "protocols"];
/// Imports of a surface from parts of the server other than `edge`. The reasons: `observe` defines the form in which metrics are
/// served; the pages of development mode need the mode, and show mails of earlier processes, which the worker renders anew; the login leads to the
/// issuer of identities; the operator's file has the reasons for a no, and the kinds of questions that may be answered together.
const BEYOND_THE_EDGE: &[(&str, &str)] = &[
    ("api/metrics.rs", "observe/metrics.rs"),
    ("pages/development.rs", "config/mod.rs"),
    ("pages/development.rs", "worker/deliveries.rs"),
    ("pages/guard.rs", "config/mod.rs"),
    ("pages/inbox.rs", "config/mod.rs"),
    ("pages/mod.rs", "config/mod.rs"),
    ("pages/mod.rs", "openid/mod.rs"),
    ("pages/openid.rs", "openid/mod.rs"),
    ("pages/together.rs", "config/mod.rs"),
    ("pages/view/inbox.rs", "config/mod.rs"),
];
/// The folders and files of the store, in order. Each may import only those before it.
const STORE: &[&str] = &[
    "host",
    "damage",
    "error",
    "allowance",
    "bounce",
    "passkey",
    "link",
    "person",
    "identity",
    "fact",
    "span",
    "story",
    "observer",
    "filter",
    "request",
    "sending",
    "posting",
    "standing",
    "inspection",
    "stream",
    "publications",
    "hub",
    "rows",
    "sql",
    "schema",
    "columns",
    "tree_columns",
    "erasure_columns",
    "person_columns",
    "inbox_columns",
    "alert_columns",
    "errand_columns",
    "wake_columns",
    "earlier_columns",
    "surroundings",
    "earlier",
    "stopped",
    "handoffs",
    "assigning",
    "reads",
    "mailbox",
    "graph",
    "portfolios",
    "tasks",
    "coordinators",
    "tree",
    "redactions",
    "chain",
    "proofs",
    "receipts",
    "export",
    "scrub",
    "audit",
    "overview",
    "dashboard",
    "inbox",
    "work",
    "look",
    "drafts",
    "stopping",
    "matter",
    "question",
    "history",
    "units",
    "backend",
    "alerts",
    "audits",
    "errands",
    "pushes",
    "waking",
    "inboxes",
    "logins",
    "groups",
    "openid",
    "passkeys",
    "personal",
    "stops",
    "broadcast",
    "store",
    "running",
    "sqlite",
    "postgres",
    "database",
    "moving",
];

/// The sources of a crate by their paths below `src`.
type Sources = BTreeMap<String, String>;

fn sources(folder: &str) -> Sources {
    fn walk(folder: &Path, root: &Path, found: &mut Sources) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, root, found);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
                found.insert(name, std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
    let mut found = Sources::new();
    walk(&root, &root, &mut found);
    found
}

/// The module that a file holds: `intent/mod.rs` and `intent.rs` are `intent`, `lib.rs` is the root.
fn module(file: &str) -> String {
    let path = file.trim_end_matches(".rs");
    let path = path.strip_suffix("/mod").unwrap_or(path);
    if path == "lib" { String::new() } else { path.replace('/', "::") }
}

/// The code of a file without its comments and unit tests.
fn code(source: &str) -> String {
    let shipped = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    shipped.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The paths in a tree of imports: `a::{b, c::{self, D}}` gives `a::b`, `a::c::self` and `a::c::D`.
fn paths(tree: &str) -> Vec<String> {
    let Some((stem, rest)) = tree.split_once('{') else { return vec![tree.trim().to_owned()] };
    let (inner, mut depth, mut branch, mut branches) =
        (&rest[..rest.rfind('}').unwrap_or(rest.len())], 0, String::new(), Vec::new());
    for character in inner.chars() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if character == ',' && depth == 0 {
            branches.push(std::mem::take(&mut branch));
        } else {
            branch.push(character);
        }
    }
    branches.push(branch);
    let branches = branches.iter().filter(|branch| !branch.trim().is_empty());
    branches.flat_map(|branch| paths(branch)).map(|path| format!("{}{path}", stem.trim())).collect()
}

/// The imported paths of a file that begin with `crate::`, `super::` or `self::`.
fn imports(source: &str) -> Vec<String> {
    let code = code(source);
    let (mut found, mut rest) = (Vec::new(), String::new());
    for statement in code.split_inclusive(';') {
        let Some(at) = statement.find("use ") else {
            rest.push_str(statement);
            continue;
        };
        let (before, tree) = (&statement[..at], statement[at + 4..].trim_end_matches(';'));
        // A re-export of a file's own child module is no import.
        let hands_on = before.trim_end().ends_with("pub") || before.trim_end().ends_with(')');
        if ["crate::", "super::", "self::"].iter().any(|start| tree.starts_with(start))
            && !(hands_on && tree.starts_with("self::"))
        {
            found.extend(paths(tree));
        }
        rest.push_str(before);
    }
    for (at, root) in rest.match_indices("crate::") {
        let is_whole = !rest[..at].ends_with(|character: char| character.is_alphanumeric() || matches!(character, '_' | '$'));
        let path: String =
            rest[at + root.len()..].chars().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | ':')).collect();
        if is_whole {
            found.push(format!("{root}{path}"));
        }
    }
    found
}

/// The imports of all files, as pairs of an importing file and an imported file.
fn arrows(sources: &Sources) -> BTreeSet<(&str, &str)> {
    let files: BTreeMap<String, &str> = sources.keys().map(|file| (module(file), file.as_str())).collect();
    let mut arrows = BTreeSet::new();
    for (file, source) in sources {
        let own = module(file);
        for path in imports(source) {
            let mut base: Vec<&str> = own.split("::").filter(|part| !part.is_empty()).collect();
            let mut parts = path.split(" as ").next().unwrap_or_default().split("::").map(str::trim).peekable();
            match parts.next() {
                Some("crate") => base.clear(),
                Some("super") => drop(base.pop()),
                _ => {}
            }
            while parts.next_if_eq(&"super").is_some() {
                base.pop();
            }
            base.extend(parts);
            // The path ends in a name, so the imported file is that of the longest module path before the name.
            let target = (0..=base.len()).rev().find_map(|length| files.get(&base[..length].join("::")));
            if let Some(target) = target.filter(|target| *target != file) {
                arrows.insert((file.as_str(), *target));
            }
        }
    }
    arrows
}

/// The files that import themselves, directly or through other files.
fn in_circles<'a>(arrows: &BTreeSet<(&'a str, &'a str)>) -> Vec<&'a str> {
    let reached = |from: &'a str| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(file) = next.pop() {
            let targets = arrows.range((file, "")..).take_while(|(from, _)| *from == file).map(|(_, to)| *to);
            next.extend(targets.filter(|to| seen.insert(*to)));
        }
        seen
    };
    let files: BTreeSet<&str> = arrows.iter().map(|(from, _)| *from).collect();
    files.into_iter().filter(|file| reached(file).contains(file)).collect()
}

/// The imports from a floor to a floor above it. `floors` are ordered from the lowest to the highest.
fn upwards(arrows: &BTreeSet<(&str, &str)>, floors: &[&str]) -> Vec<String> {
    let floor = |file: &str| {
        let name = file.split('/').next().unwrap_or_default().trim_end_matches(".rs").to_owned();
        floors.iter().position(|floor| *floor == name)
    };
    let up = arrows.iter().filter(|(from, to)| floor(from).zip(floor(to)).is_some_and(|(from, to)| from < to));
    up.map(|(from, to)| format!("{from} imports {to}, which stands above it")).collect()
}

/// The imports from one of these folders to another one of them.
fn between(arrows: &BTreeSet<(&str, &str)>, apart: &[&str]) -> Vec<String> {
    let folder = |file: &str| {
        let name = file.split('/').next().unwrap_or_default().trim_end_matches(".rs").to_owned();
        apart.iter().position(|folder| *folder == name)
    };
    let across = arrows.iter().filter(|(from, to)| folder(from).zip(folder(to)).is_some_and(|(from, to)| from != to));
    across.map(|(from, to)| format!("{from} imports {to}, and neither may know the other")).collect()
}

/// The imports of these folders from any folder but themselves and `edge`.
fn beyond<'a>(arrows: &BTreeSet<(&'a str, &'a str)>, surfaces: &[&str], edge: &str) -> Vec<(&'a str, &'a str)> {
    let folder = |file: &'a str| file.split('/').next().unwrap_or_default();
    let of_surfaces = arrows.iter().filter(|(from, _)| surfaces.contains(&folder(from)));
    of_surfaces.filter(|(from, to)| folder(to) != folder(from) && folder(to) != edge).copied().collect()
}

#[test]
fn the_domain_has_no_circles_and_no_arrow_upwards() {
    let sources = sources("domain/src");
    let arrows = arrows(&sources);
    assert!(arrows.len() > 100, "the walk found too few arrows: {}", arrows.len());
    assert_eq!(in_circles(&arrows), [""; 0]);
    assert_eq!(upwards(&arrows, DOMAIN), [""; 0]);
    for file in sources.keys() {
        let folder = file.split('/').next().unwrap_or_default().trim_end_matches(".rs");
        assert!(folder == "lib" || DOMAIN.contains(&folder), "{file} stands on no floor");
    }
}

#[test]
fn the_store_has_no_circles_and_no_arrow_upwards() {
    let sources = sources("store/src");
    let arrows = arrows(&sources);
    assert!(arrows.len() > 100, "the walk found too few arrows: {}", arrows.len());
    assert_eq!(in_circles(&arrows), [""; 0]);
    assert_eq!(upwards(&arrows, STORE), [""; 0]);
    for file in sources.keys() {
        let folder = file.split('/').next().unwrap_or_default().trim_end_matches(".rs");
        assert!(folder == "lib" || STORE.contains(&folder), "{file} stands on no floor");
    }
}

#[test]
fn the_server_has_no_circles_and_its_surfaces_do_not_know_each_other() {
    let sources = sources("server/src");
    let arrows = arrows(&sources);
    assert!(arrows.len() > 100, "the walk found too few arrows: {}", arrows.len());
    assert_eq!(in_circles(&arrows), [""; 0]);
    assert_eq!(upwards(&arrows, SERVER), [""; 0]);
    assert_eq!(between(&arrows, SURFACES), [""; 0]);
    assert_eq!(beyond(&arrows, SURFACES, "edge"), BEYOND_THE_EDGE, "a surface imports edge, the store's traits and the domain");
    for file in sources.keys() {
        let folder = file.split('/').next().unwrap_or_default().trim_end_matches(".rs");
        assert!(folder == "lib" || SERVER.contains(&folder), "{file} stands on no floor");
    }
}

/// The imports of one protocol by another. A file that stands beside the protocols serves all of them.
fn between_protocols(arrows: &BTreeSet<(&str, &str)>) -> Vec<String> {
    fn protocol(file: &str) -> Option<&str> {
        file.strip_prefix("protocols/")?.split_once('/').map(|(protocol, _)| protocol)
    }
    let apart = arrows.iter().filter(|(from, to)| protocol(from).zip(protocol(to)).is_some_and(|(from, to)| from != to));
    apart.map(|(from, to)| format!("{from} imports {to}")).collect()
}

#[test]
fn a_protocol_does_not_know_another() {
    let sources = sources("server/src");
    assert_eq!(between_protocols(&arrows(&sources)), [""; 0]);
    assert!(sources.keys().any(|file| file.starts_with("protocols/a2a/")));
    let planted = BTreeSet::from([
        ("protocols/acp/mod.rs", "protocols/a2a/wire.rs"),
        ("protocols/acp/mod.rs", "protocols/acp/wire.rs"),
        ("protocols/a2a/rpc.rs", "protocols/jsonrpc.rs"),
        ("protocols/a2a/rpc.rs", "edge/body.rs"),
    ]);
    assert_eq!(between_protocols(&planted), ["protocols/acp/mod.rs imports protocols/a2a/wire.rs"]);
}

/// The imports of the domain's rules, that is of anything but `domain::base`, outside of these folders.
fn of_rules(sources: &Sources, apart_from: &str) -> Vec<String> {
    let imports_rules = |source: &str| {
        let code = code(source);
        code.match_indices("domain::").any(|(at, name)| !code[at + name.len()..].starts_with("base"))
    };
    let outside = sources.iter().filter(|(file, source)| !file.starts_with(apart_from) && imports_rules(source));
    outside.map(|(file, _)| file.clone()).collect()
}

#[test]
fn the_verifier_shares_rules_with_the_server_for_the_replay_alone() {
    let sources = sources("verify/src");
    assert!(sources.keys().any(|file| file.starts_with("replay/")), "the walk found no replay");
    assert_eq!(of_rules(&sources, "replay/"), [""; 0]);
    assert!(of_rules(&sources, "nothing/").len() > 5, "a file that imports rules is found");
}

#[test]
fn a_circle_and_an_arrow_upwards_are_found() {
    let planted =
        |files: &[(&str, &str)]| files.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect::<Sources>();
    let circle = planted(&[
        ("lib.rs", "pub mod a;"),
        ("a/mod.rs", "pub mod b;\npub use self::b::X;\nuse super::c::{self, Y};"),
        ("a/b.rs", "// use crate::c::Y;\npub struct X;"),
        ("c.rs", "use crate::{d, a::{b::X, Z}};"),
        ("d.rs", "fn f() { crate::e::g(); }\n#[cfg(test)]\nmod tests { use crate::a; }"),
        ("e.rs", ""),
    ]);
    let arrows = arrows(&circle);
    let expected = [("a/mod.rs", "c.rs"), ("c.rs", "a/b.rs"), ("c.rs", "a/mod.rs"), ("c.rs", "d.rs"), ("d.rs", "e.rs")];
    assert_eq!(arrows.iter().copied().collect::<Vec<_>>(), expected);
    assert_eq!(in_circles(&arrows), ["a/mod.rs", "c.rs"]);
    assert_eq!(
        upwards(&arrows, &["a", "c", "d"]),
        ["a/mod.rs imports c.rs, which stands above it", "c.rs imports d.rs, which stands above it"]
    );
    assert_eq!(beyond(&arrows, &["a"], "c.rs"), [("", ""); 0]);
    assert_eq!(beyond(&arrows, &["a"], "d.rs"), [("a/mod.rs", "c.rs")]);
    assert_eq!(between(&arrows, &["d", "e"]), ["d.rs imports e.rs, and neither may know the other"]);
}
