//! The words of two languages are the same words: what the compiler does not see of the catalogues.

#![expect(clippy::unwrap_used, reason = "these functions serve tests alone")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Macros in German whose code differs from the English ones, each with its reason.
const OTHERWISE: &[(&str, &str)] = &[
    ("not_handed", "the reason comes from the interface, which is English, and is marked as English"),
    ("chain_breaks", "as above"),
    ("seal_broken", "as above"),
    ("problem", "as above"),
    ("login_link_lasts", "a German word has a singular"),
];

fn folder(language: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/src/pages/templates").join(language).join("words")
}

/// The macros of a file in order: name, parameters, body.
fn macros(text: &str) -> Vec<(String, String, String)> {
    let parts = text.split("{%- macro ").skip(1);
    let read = |part: &str| {
        let (head, rest) = part.split_once("-%}").unwrap();
        let (body, _) = rest.split_once("{%- endmacro -%}").unwrap();
        let (name, parameters) = head.trim().split_once('(').unwrap();
        (name.to_owned(), parameters.trim_end_matches(')').to_owned(), body.to_owned())
    };
    parts.map(read).collect()
}

/// The commands and expressions of the template engine in a text, with how often each is there. Their order is the language's own.
fn code(body: &str) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    let mut rest = body;
    while let Some(start) = rest.find('{') {
        rest = &rest[start..];
        let close = match rest.get(..2) {
            Some("{{") => "}}",
            Some("{%") => "%}",
            // A brace of a pattern for a script.
            _ => {
                rest = &rest[1..];
                continue;
            }
        };
        let end = rest.find(close).unwrap();
        let inner = rest[2..end].trim_matches('-').split_whitespace().collect::<Vec<_>>().join(" ");
        *found.entry(inner).or_default() += 1;
        rest = &rest[end + 2..];
    }
    found
}

/// A translation that drops a name, or asks for the wrong number, is a sentence about another thing.
#[test]
fn each_language_has_the_same_macros_with_the_same_values() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    let names = |language: &str| {
        let entries = std::fs::read_dir(folder(language)).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(names("en"), names("de"));
    for file in names("en") {
        let read = |language: &str| macros(&std::fs::read_to_string(folder(language).join(&file)).unwrap());
        let (english, german) = (read("en"), read("de"));
        let heads =
            |all: &[(String, String, String)]| all.iter().map(|(name, given, _)| format!("{name}({given})")).collect::<Vec<_>>();
        assert_eq!(heads(&english), heads(&german), "{file}");
        for ((name, _, one), (_, _, other)) in english.iter().zip(&german) {
            count += 1;
            if OTHERWISE.iter().all(|(known, _)| known != name) && code(one) != code(other) {
                wrong.push(format!("{file}: {name}: {:?} is not {:?}", code(one), code(other)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 500, "{count} macros were compared");
}

#[test]
fn a_macro_that_lost_a_value_is_found() {
    assert_eq!(code("<b>{{ one }}</b> {%- if x -%}a{% endif %}"), code("{% if x %}{% endif %} {{ one }}"));
    assert_ne!(code("{{ one }} of {{ two }}"), code("{{ one }} von {{ one }}"));
    let found = macros("{%- macro a(b, c) -%}\nx{{ b }}\n{%- endmacro -%}\n{%- macro d() -%}y{%- endmacro -%}");
    assert_eq!((found.len(), &*found[0].0, &*found[0].1, found[0].2.trim()), (2, "a", "b, c", "x{{ b }}"));
}
