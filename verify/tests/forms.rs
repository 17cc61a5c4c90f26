//! Answers to forms with a schema: one that breaks the schema is a finding.
#![expect(clippy::unwrap_used, reason = "a test ends when it cannot go on")]

#[expect(dead_code, reason = "other tests need the rest")]
mod forge;
#[expect(dead_code, reason = "other tests need the rest")]
mod world;

use serde_json::{Value, json};
use verify::report::{Report, Verdict};
use verify::{Options, Watchers, verify};
use world::{Tale, World};

/// A world in which a question has this schema, and was answered with this value.
fn answered(schema: Value, value: Value) -> Report {
    let mut world = World::honest();
    let asked = world.payload(Tale::Written, "intent.suspended");
    (asked["response_type"], asked["schema"]) = (json!("form"), schema);
    world.payload(Tale::Written, "intent.resumed")["value"] = value;
    let log = world.log();
    let options = Options::with_keys(vec![log.key.verifying().clone()]);
    verify("export", log.export(log.events.len(), None).write().as_bytes(), &options, Watchers::default())
}

fn schema() -> Value {
    json!({"type": "object", "required": ["cap"], "properties": {"cap": {"type": "integer", "maximum": 500}}})
}

fn found(schema: Value, value: Value, words: &str) {
    let report = answered(schema, value);
    let first = report.findings.first().map(|finding| (finding.code.text(), finding.text.as_str()));
    assert!(first.is_some_and(|(code, text)| code == "answer_invalid" && text.contains(words)), "{words}: {first:?}");
}

#[test]
fn an_answer_that_satisfies_its_schema_is_right() {
    let report = answered(schema(), json!({"cap": 500}));
    assert_eq!(report.verdict, Verdict::Verified, "{:?}", report.findings);
}

#[test]
fn an_answer_that_breaks_its_schema_is_found() {
    found(schema(), json!({"cap": 501}), "must be at most 500");
    found(schema(), json!({}), "is still empty");
    found(schema(), json!("500"), "must be an object");
}

/// A schema that no server accepts accepts no answer. The writer of a log could otherwise leave every answer unchecked.
#[test]
fn a_schema_that_no_server_accepts_is_found() {
    found(json!({}), json!({"cap": 1}), "must be object");
    found(json!({"$ref": "https://example.com/schema"}), json!({"cap": 1}), "not supported");
}
