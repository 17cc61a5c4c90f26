//! Several questions in one form: the schema that they become, and every rule about them at its bound and beyond.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::asking::several::{QUESTIONS_MAX, schema};
use domain::form::{DESCRIPTION_MAX, NAME_MAX, OPTION_MAX, OPTIONS_MAX, SCHEMA_BYTES_MAX, TITLE_MAX};
use domain::wire::QuestionRequest;
use serde_json::{Value, json};

fn read(questions: &Value) -> Vec<QuestionRequest> {
    serde_json::from_value(questions.clone()).unwrap()
}

fn confirm(name: &str) -> Value {
    json!({"name": name, "question": "May we?", "response_type": "confirm"})
}

fn options(count: usize) -> Value {
    (0..count).map(|index| json!({"value": index.to_string(), "label": "o"})).collect()
}

#[test]
fn each_question_is_a_field_in_the_order_of_the_request() {
    let questions = json!([
        {"name": "law", "question": "Which law?", "choices": [{"value": "no", "label": "Norway", "description": "Oslo"}, {"value": "de", "label": "Germany"}]},
        {"name": "apply", "question": "Which parts?", "description": "All that apply", "multiple": true, "choices": [{"value": "a", "label": "A"}]},
        {"name": "also", "question": "Others?", "multiple": true, "required": false, "choices": [{"value": "b", "label": "B"}]},
        {"name": "a/~", "question": "May we?", "response_type": "confirm"},
        {"name": "why", "question": "Why?", "response_type": "text", "required": false},
    ]);
    let made = schema(&read(&questions)).unwrap();
    let expected = json!({
        "type": "object", "additionalProperties": false,
        "x-order": ["law", "apply", "also", "a/~", "why"], "required": ["law", "apply", "a/~"],
        "properties": {
            "law": {"type": "string", "title": "Which law?", "oneOf": [{"const": "no", "title": "Norway", "description": "Oslo"}, {"const": "de", "title": "Germany"}]},
            "apply": {"type": "array", "title": "Which parts?", "description": "All that apply", "uniqueItems": true, "minItems": 1,
                "items": {"type": "string", "oneOf": [{"const": "a", "title": "A"}]}},
            "also": {"type": "array", "title": "Others?", "uniqueItems": true, "items": {"type": "string", "oneOf": [{"const": "b", "title": "B"}]}},
            "a/~": {"type": "string", "title": "May we?", "oneOf": [{"const": "yes", "title": "Yes"}, {"const": "no", "title": "No"}]},
            "why": {"type": "string", "title": "Why?", "minLength": 1},
        },
    });
    assert_eq!(json!(made), expected);
    assert_eq!(made.check(&json!({"law": "no", "apply": ["a"], "a/~": "yes"})), Ok(()));
    for wrong in [
        json!({"law": "no", "apply": [], "a/~": "yes"}),
        json!({"law": "no", "apply": ["a"], "a/~": true}),
        json!({"law": "no", "apply": ["a"]}),
        json!({"law": "no", "apply": ["a"], "a/~": "yes", "other": 1}),
    ] {
        assert!(made.check(&wrong).is_err(), "{wrong}");
    }
}

#[test]
fn what_is_at_the_bound_is_accepted() {
    let most = |questions: Value| assert!(schema(&read(&questions)).is_ok(), "{questions}");
    most((0..QUESTIONS_MAX).map(|index| confirm(&index.to_string())).collect());
    most(json!([{"name": "ä".repeat(NAME_MAX), "question": "ä".repeat(TITLE_MAX), "description": "ä".repeat(DESCRIPTION_MAX),
        "choices": [{"value": "ä".repeat(OPTION_MAX), "label": "ä".repeat(TITLE_MAX), "description": "ä".repeat(DESCRIPTION_MAX)}]}]));
    most(json!([{"name": "a", "question": "q", "choices": options(OPTIONS_MAX)}]));
}

#[test]
fn each_rule_is_told_at_the_member_that_breaks_it() {
    let with = |member: &str, value: Value| {
        let mut question = json!({"name": "a", "question": "q", "choices": [{"value": "v", "label": "l"}]});
        question[member] = value;
        json!([confirm("first"), question])
    };
    let choice = |member: &str, value: Value| {
        let mut choice = json!({"value": "v", "label": "l"});
        choice[member] = value;
        with("choices", json!([{"value": "w", "label": "l"}, choice]))
    };
    let long = |length: usize| json!("ä".repeat(length + 1));
    let text = json!([{"name": "a", "question": "q", "response_type": "text", "multiple": true}]);
    for (questions, field, rule) in [
        (json!([]), "questions", "count"),
        ((0..=QUESTIONS_MAX).map(|index| confirm(&index.to_string())).collect(), "questions", "count"),
        (with("name", json!("first")), "questions[1].name", "unique"),
        (with("name", json!("")), "questions[1].name", "name"),
        (with("name", long(NAME_MAX)), "questions[1].name", "name"),
        (with("name", json!("a\nb")), "questions[1].name", "name"),
        (with("question", json!(" \u{200b}")), "questions[1].question", "required"),
        (with("question", long(TITLE_MAX)), "questions[1].question", "length"),
        (with("question", json!("a\0")), "questions[1].question", "nul"),
        (with("description", long(DESCRIPTION_MAX)), "questions[1].description", "length"),
        (with("response_type", json!("form")), "questions[1].response_type", "value"),
        (with("response_type", json!("confirm")), "questions[1].choices", "unsupported"),
        (with("response_type", json!("text")), "questions[1].choices", "unsupported"),
        (text, "questions[0].multiple", "unsupported"),
        (with("choices", json!([])), "questions[1].choices", "required"),
        (with("choices", options(OPTIONS_MAX + 1)), "questions[1].choices", "count"),
        (choice("value", long(OPTION_MAX)), "questions[1].choices[1].value", "length"),
        (choice("value", json!("")), "questions[1].choices[1].value", "length"),
        (choice("value", json!("w")), "questions[1].choices[1].value", "unique"),
        (choice("label", json!(" ")), "questions[1].choices[1].label", "required"),
        (choice("label", long(TITLE_MAX)), "questions[1].choices[1].label", "length"),
        (choice("description", long(DESCRIPTION_MAX)), "questions[1].choices[1].description", "length"),
        (choice("description", json!("\0")), "questions[1].choices[1].description", "nul"),
    ] {
        let errors = schema(&read(&questions)).unwrap_err();
        let found: Vec<(&str, &str)> = errors.iter().map(|error| (error.field.as_str(), error.rule.as_str())).collect();
        assert_eq!(found, [(field, rule)], "{questions}");
    }
    let many = (0..QUESTIONS_MAX).map(|index| {
        json!({"name": index.to_string(), "question": "q", "response_type": "text", "description": "x".repeat(SCHEMA_BYTES_MAX / QUESTIONS_MAX)})
    });
    let errors = schema(&read(&many.collect())).unwrap_err();
    assert_eq!((errors[0].field.as_str(), errors[0].rule.as_str()), ("questions", "length"));
}
