//! Schemas: the subset that is accepted, every limit at its bound and one beyond, and the answers that satisfy one.
#![expect(clippy::unwrap_used, clippy::panic, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use std::time::Instant;

use domain::base::words::Language;
use domain::form::{
    ANSWER_BYTES_MAX, DESCRIPTION_MAX, FIELDS_MAX, NAME_MAX, OPTION_MAX, OPTIONS_MAX, PATTERN_BYTES_MAX, PATTERN_TEXT_MAX,
    Problem, SCHEMA_BYTES_MAX, Schema, TEXT_MAX, TITLE_MAX, Typed,
};
use serde_json::{Map, Value, json};

fn accept(schema: Value) -> Result<Schema, Vec<Problem>> {
    let Value::Object(members) = schema else { panic!("a schema is an object") };
    Schema::accept(members)
}

/// A schema with one property, `it`.
#[expect(clippy::needless_pass_by_value, reason = "each test writes the property in its place")]
fn with(property: Value) -> Value {
    json!({"type": "object", "properties": {"it": property}})
}

/// Where a schema is refused, and by which rule.
fn refused(schema: Value) -> Vec<(String, String)> {
    let problems = accept(schema).expect_err("the schema is accepted");
    problems.into_iter().map(|problem| (problem.pointer, problem.rule)).collect()
}

fn broken(schema: &Schema, answer: &Value) -> Vec<(String, String)> {
    let problems = schema.check(answer).expect_err("the answer is accepted");
    problems.into_iter().map(|problem| (problem.pointer, problem.rule)).collect()
}

fn at(pointer: &str, rule: &str) -> Vec<(String, String)> {
    vec![(pointer.to_owned(), rule.to_owned())]
}

/// A person cannot answer a form whose rules contradict each other.
#[test]
fn a_schema_that_no_person_could_answer_is_refused() {
    let cases = [
        (with(json!({"type": "integer", "minimum": 2, "maximum": 1})), "/properties/it/maximum", "range"),
        (with(json!({"type": "number", "minimum": 5, "exclusiveMaximum": 5})), "/properties/it/exclusiveMaximum", "range"),
        (
            with(json!({"type": "number", "exclusiveMinimum": 5, "exclusiveMaximum": 5})),
            "/properties/it/exclusiveMaximum",
            "range",
        ),
        (with(json!({"type": "integer", "minimum": 0.2, "maximum": 0.8})), "/properties/it/maximum", "range"),
        (
            with(json!({"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 2})),
            "/properties/it/exclusiveMaximum",
            "range",
        ),
        (with(json!({"type": "string", "minLength": 10_001})), "/properties/it/minLength", "range"),
        (with(json!({"type": "string", "pattern": "^a+$", "minLength": 1_001})), "/properties/it/minLength", "range"),
    ];
    for (schema, pointer, rule) in cases {
        assert_eq!(refused(schema.clone()), at(pointer, rule), "{schema}");
    }
}

/// A default stands in the field, and the person sends it with one press. A control shows no code points and counts no gaps, so what stands
/// behind a gap would be sent unread. A proposed action follows the same rule.
#[test]
fn a_default_has_nothing_out_of_sight() {
    let default = |text: &str| with(json!({"type": "string", "default": text}));
    let hidden = "/properties/it/default";
    for gap in [
        "\u{202e}".to_owned(),
        "\u{200b}".to_owned(),
        "\u{2028}".to_owned(),
        "\r".to_owned(),
        "\n".repeat(4),
        "\r\n".repeat(40),
        " \n\t\n\u{a0}\n \n".to_owned(),
        " ".repeat(81),
        "\t".repeat(81),
        "\u{3000}".repeat(81),
        " \u{2003}\t".repeat(27),
        "\u{3164}".repeat(81),
        "\u{2800}".to_owned(),
    ] {
        let text = format!("Dear customer, we are sorry.{gap}We also owe you 5,000 euros.");
        assert_eq!(refused(default(&text)), at(hidden, "characters"), "{text:?}");
        let inside = with(json!({"type": "object", "properties": {"x": {"type": "string", "default": text}}}));
        assert_eq!(refused(inside), at("/properties/it/properties/x/default", "characters"), "{text:?}");
    }
    let pattern = with(json!({"type": "string", "pattern": "^t", "default": format!("thanks{}and pay 500", " ".repeat(300))}));
    assert_eq!(refused(pattern), at(hidden, "characters"));
    let option = format!("thanks{}and pay 500", " ".repeat(100));
    let one = with(json!({"type": "string", "enum": [option], "default": option}));
    assert_eq!(refused(one), at(hidden, "characters"));
    let many = with(json!({"type": "array", "uniqueItems": true, "items": {"enum": ["a", option]}, "default": ["a", option]}));
    assert_eq!(refused(many), at(hidden, "characters"));
    let spaces = " ".repeat(80);
    for honest in ["", "one\n\n\ntwo\r\n\tthree", "a⟨39 × ↵⟩b ⟨U+202E⟩", "👩‍👩‍👧 ❤️", &spaces] {
        accept(default(honest)).unwrap_or_else(|problems| panic!("{honest:?}: {problems:?}"));
    }
}

/// “60.000” in a field for whole numbers is never a number with decimals, so no such number is offered.
#[test]
fn a_whole_number_with_marks_for_thousands_is_refused_with_the_whole_number() {
    let schema = accept(with(json!({"type": "integer", "minimum": 50_000, "maximum": 500_000}))).unwrap();
    let refused = |text: &str, language: Language| {
        let problems = schema.read(&Typed::from([("/it".to_owned(), text.to_owned())]), language).unwrap_err();
        problems.into_iter().map(|problem| problem.message).collect::<Vec<_>>()
    };
    for (text, number) in [("60.000", "60000"), ("1.234.567", "1234567"), ("-60.000", "-60000")] {
        assert_eq!(refused(text, Language::German), [format!("muss als {number} geschrieben werden, ohne Punkte")]);
        let english = text.replace('.', ",");
        assert_eq!(refused(&english, Language::English), [format!("must be written as {number}, without commas")]);
    }
    assert_eq!(refused("60,5", Language::English), ["must be a whole number"]);
    assert_eq!(refused("x", Language::German), ["muss eine ganze Zahl sein"]);
}

/// An agent that is refused must know which place of its schema to mend.
#[test]
fn each_rule_that_a_schema_breaks_is_named_with_its_place() {
    let text = |name: &str, value: Value| with(json!({"type": "string", name: value}));
    let cases = [
        (json!({"properties": {"a": {"type": "boolean"}}}), "/type", "type"),
        (json!({"type": "array", "properties": {"a": {"type": "boolean"}}}), "/type", "type"),
        (json!({"type": "object", "properties": {}}), "/properties", "required"),
        (with(json!({"type": "null"})), "/properties/it/type", "type"),
        (with(json!({"type": ["string", "null"]})), "/properties/it/type", "type"),
        (with(json!({"$ref": "#"})), "/properties/it/type", "type"),
        (with(json!("string")), "/properties/it", "type"),
        (text("$ref", json!("https://example.com/schema")), "/properties/it/$ref", "keyword"),
        (text("if", json!({})), "/properties/it/if", "keyword"),
        (text("readOnly", json!(true)), "/properties/it/readOnly", "keyword"),
        (text("a/b~c", json!(1)), "/properties/it/a~1b~0c", "keyword"),
        (text("format", json!("hostname")), "/properties/it/format", "format"),
        (text("minLength", json!(-1)), "/properties/it/minLength", "type"),
        (text("title", json!(7)), "/properties/it/title", "type"),
        (text("title", json!("a\u{0}b")), "/properties/it/title", "nul"),
        (text("pattern", json!("(")), "/properties/it/pattern", "pattern"),
        (text("pattern", json!(7)), "/properties/it/pattern", "type"),
        (text("pattern", json!("(?=a)b")), "/properties/it/pattern", "pattern"),
        (text("pattern", json!(r"(a)\1")), "/properties/it/pattern", "pattern"),
        (text("enum", json!([])), "/properties/it/enum", "count"),
        (text("enum", json!([1])), "/properties/it/enum/0", "type"),
        (text("enum", json!(["a", "a"])), "/properties/it/enum/1", "unique"),
        (text("enum", json!(["a\nb"])), "/properties/it/enum/0", "length"),
        (text("enum", json!(["\u{200b}"])), "/properties/it/enum/0", "length"),
        (text("oneOf", json!([{"title": "A"}])), "/properties/it/oneOf/0", "const"),
        (text("oneOf", json!([{"const": "a", "type": "string"}])), "/properties/it/oneOf/0/type", "keyword"),
        (text("default", json!(7)), "/properties/it/default", "default"),
        (with(json!({"type": "string", "minLength": 3, "maxLength": 2})), "/properties/it/maxLength", "range"),
        (with(json!({"type": "string", "maxLength": 2, "default": "abc"})), "/properties/it/default", "default"),
        (with(json!({"type": "string", "enum": ["a"], "oneOf": []})), "/properties/it", "enum"),
        (with(json!({"type": "string", "enum": ["a"], "default": "b"})), "/properties/it/default", "default"),
        (with(json!({"type": "integer", "minimum": "1"})), "/properties/it/minimum", "type"),
        (with(json!({"type": "number", "multipleOf": 0})), "/properties/it/multipleOf", "range"),
        (with(json!({"type": "integer", "default": 1.5})), "/properties/it/default", "default"),
        (with(json!({"type": "array", "items": {"enum": ["a"]}})), "/properties/it/uniqueItems", "required"),
        (with(json!({"type": "array", "uniqueItems": true})), "/properties/it/items", "required"),
        (with(json!({"type": "array", "uniqueItems": true, "items": {"type": "string"}})), "/properties/it/items", "enum"),
        (
            with(json!({"type": "array", "uniqueItems": true, "items": {"enum": ["a"]}, "minItems": 2})),
            "/properties/it/items",
            "count",
        ),
        (with(json!({"type": "object", "properties": {"x": {"type": "object"}}})), "/properties/it/properties/x/type", "nesting"),
        (json!({"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["b"]}), "/required/0", "known"),
        (json!({"type": "object", "properties": {"a": {"type": "boolean"}}, "required": "a"}), "/required", "type"),
        (json!({"type": "object", "properties": {"a": {"type": "boolean"}}, "x-order": ["a", "a"]}), "/x-order", "unique"),
        (
            json!({"type": "object", "properties": {"a": {"type": "boolean"}}, "$schema": "http://json-schema.org/draft-07/schema#"}),
            "/$schema",
            "$schema",
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "boolean"}}, "additionalProperties": {}}),
            "/additionalProperties",
            "type",
        ),
        (json!({"type": "object", "properties": {"": {"type": "boolean"}}}), "/properties/", "name"),
        (json!({"type": "object", "properties": {"a\nb": {"type": "boolean"}}}), "/properties/a\nb", "name"),
    ];
    for (schema, pointer, rule) in cases {
        assert_eq!(refused(schema.clone()), at(pointer, rule), "{schema}");
    }
}

/// A limit that holds one too early refuses an honest form, and one that holds one too late is none.
#[test]
fn each_limit_holds_at_its_bound_and_not_beyond() {
    let names = |count: usize| (0..count).map(|index| (format!("f{index}"), json!({"type": "boolean"}))).collect::<Map<_, _>>();
    let fields = |count| json!({"type": "object", "properties": names(count)});
    assert!(accept(fields(FIELDS_MAX)).is_ok());
    assert_eq!(refused(fields(FIELDS_MAX + 1)), at("/properties", "count"));
    let grouped = |count| json!({"type": "object", "properties": {"g": {"type": "object", "properties": names(count)}}});
    assert!(accept(grouped(FIELDS_MAX)).is_ok());
    assert_eq!(refused(grouped(FIELDS_MAX + 1)), at("/properties", "count"), "the fields of a group count as well");

    let called = |length: usize| json!({"type": "object", "properties": {"é".repeat(length): {"type": "boolean"}}});
    assert!(accept(called(NAME_MAX)).is_ok());
    assert_eq!(refused(called(NAME_MAX + 1))[0].1, "name");
    for (keyword, most) in [("title", TITLE_MAX), ("description", DESCRIPTION_MAX)] {
        let said = |length: usize| with(json!({"type": "boolean", keyword: "é".repeat(length)}));
        assert!(accept(said(most)).is_ok());
        assert_eq!(refused(said(most + 1)), at(&format!("/properties/it/{keyword}"), "length"));
    }
    let options =
        |count: usize| with(json!({"type": "string", "enum": (0..count).map(|index| index.to_string()).collect::<Vec<_>>()}));
    assert!(accept(options(OPTIONS_MAX)).is_ok());
    assert_eq!(refused(options(OPTIONS_MAX + 1)), at("/properties/it/enum", "count"));
    let option = |length: usize| with(json!({"type": "string", "enum": ["é".repeat(length)]}));
    assert!(accept(option(OPTION_MAX)).is_ok());
    assert_eq!(refused(option(OPTION_MAX + 1)), at("/properties/it/enum/0", "length"));
    let pattern = |length: usize| with(json!({"type": "string", "pattern": "a".repeat(length)}));
    assert!(accept(pattern(PATTERN_BYTES_MAX)).is_ok());
    assert_eq!(refused(pattern(PATTERN_BYTES_MAX + 1)), at("/properties/it/pattern", "length"));
    let empty = json!({"type": "object", "properties": {"a": {"type": "boolean"}}, "x-order": []});
    let full = |bytes: usize| {
        let mut schema = empty.clone();
        let room = |schema: &Value| SCHEMA_BYTES_MAX + bytes - domain::base::json::size(schema);
        for index in 0.. {
            schema["properties"][format!("t{index}")] = json!({"type": "boolean", "description": ""});
            let left = room(&schema).min(DESCRIPTION_MAX);
            schema["properties"][format!("t{index}")]["description"] = json!("x".repeat(left));
            if left < DESCRIPTION_MAX {
                break;
            }
        }
        schema
    };
    assert_eq!(domain::base::json::size(&full(0)), SCHEMA_BYTES_MAX);
    assert!(accept(full(0)).is_ok());
    assert_eq!(refused(full(1)), at("", "length"));
}

#[test]
fn each_limit_of_an_answer_holds_at_its_bound_and_not_beyond() {
    let most = |count: u64| usize::try_from(count).unwrap();
    for (schema, most) in [
        (with(json!({"type": "string"})), most(TEXT_MAX)),
        (with(json!({"type": "string", "maxLength": 1_000_000})), most(TEXT_MAX)),
        (with(json!({"type": "string", "pattern": "^(é*)*$"})), most(PATTERN_TEXT_MAX)),
    ] {
        let schema = accept(schema).unwrap();
        assert!(schema.check(&json!({"it": "é".repeat(most)})).is_ok());
        assert_eq!(broken(&schema, &json!({"it": "é".repeat(most + 1)})), at("/it", "maxLength"));
    }
    let schema = accept(with(json!({"type": "boolean"}))).unwrap();
    let padded = |bytes: usize| json!({"more": "x".repeat(bytes - domain::base::json::size(&json!({"more": ""})))});
    assert!(schema.check(&padded(ANSWER_BYTES_MAX)).is_ok());
    assert_eq!(broken(&schema, &padded(ANSWER_BYTES_MAX + 1)), at("", "length"));
}

/// With a backtracking engine, the first of these would take longer than the universe is old.
#[test]
fn no_pattern_takes_long() {
    let began = Instant::now();
    for pattern in ["^(a+)+$", "^(a|aa)+$", "^(a|a?)+$", "(.*)*(.*)*(.*)*!", "^(([a-z])+.)+[A-Z]([a-z])+$"] {
        let schema = accept(with(json!({"type": "string", "pattern": pattern}))).unwrap();
        let text = format!("{}!!", "a".repeat(usize::try_from(PATTERN_TEXT_MAX).unwrap() - 2));
        let _judged = schema.check(&json!({"it": text}));
    }
    // Repetition of repetition is small as a text, and large when compiled.
    for pattern in ["((a{100}){100}){100}", r"\p{L}{500}", r"(\w{50}){50}"] {
        assert_eq!(refused(with(json!({"type": "string", "pattern": pattern}))), at("/properties/it/pattern", "pattern"));
    }
    assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
}

fn order() -> Schema {
    accept(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object", "title": "Order", "description": "As the shop has it.",
        "required": ["amount", "ship"], "x-order": ["ship", "amount"],
        "properties": {
            "amount": {"type": "integer", "minimum": 1, "maximum": 5, "default": 2},
            "price": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 10, "multipleOf": 0.5},
            "gift": {"type": "boolean", "default": true},
            "mail": {"type": "string", "format": "email"},
            "site": {"type": "string", "format": "uri"},
            "day": {"type": "string", "format": "date"},
            "at": {"type": "string", "format": "date-time"},
            "code": {"type": "string", "pattern": "^[A-Z]{2}$", "minLength": 2},
            "size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]},
            "extras": {"type": "array", "uniqueItems": true, "maxItems": 2, "items": {"anyOf": [{"const": "bag"}, {"const": "card"}, {"const": "bow"}]}},
            "ship": {"type": "object", "required": ["city"], "additionalProperties": false, "properties": {
                "city": {"type": "string", "minLength": 2}, "express": {"type": "boolean"},
            }},
        },
    }))
    .unwrap()
}

fn whole() -> Value {
    json!({"amount": 5, "price": 9.5, "gift": false, "mail": "ada@example.com", "site": "https://example.com/x", "day": "2028-02-29",
        "at": "2026-11-24T09:30:00+01:00", "code": "AB", "size": "l", "extras": ["bag", "bow"], "ship": {"city": "Oslo", "express": true}})
}

#[test]
fn an_answer_breaks_each_rule_at_its_place() {
    let schema = order();
    assert_eq!(schema.check(&whole()), Ok(()));
    assert_eq!(schema.check(&json!({"amount": 1, "ship": {"city": "Ås"}})), Ok(()));
    let cases = [
        ("/amount", json!(0), "/amount", "minimum"),
        ("/amount", json!(6), "/amount", "maximum"),
        ("/amount", json!(1.5), "/amount", "type"),
        ("/amount", json!("1"), "/amount", "type"),
        ("/amount", json!(null), "/amount", "type"),
        ("/price", json!(0), "/price", "exclusiveMinimum"),
        ("/price", json!(10), "/price", "exclusiveMaximum"),
        ("/price", json!(0.25), "/price", "multipleOf"),
        ("/gift", json!("yes"), "/gift", "type"),
        ("/mail", json!("ada"), "/mail", "format"),
        ("/site", json!("example.com"), "/site", "format"),
        ("/day", json!("2027-02-29"), "/day", "format"),
        ("/at", json!("2026-11-24T09:30"), "/at", "format"),
        ("/code", json!("ab"), "/code", "pattern"),
        ("/size", json!("m"), "/size", "oneOf"),
        ("/extras", json!(["bag", "bag"]), "/extras", "uniqueItems"),
        ("/extras", json!(["bag", "bow", "card"]), "/extras", "maxItems"),
        ("/extras", json!(["tie"]), "/extras/0", "anyOf"),
        ("/ship", json!({}), "/ship/city", "required"),
        ("/ship", json!({"city": "Oslo", "note": "x"}), "/ship/note", "additionalProperties"),
        ("/ship", json!("Oslo"), "/ship", "type"),
    ];
    for (place, value, pointer, rule) in cases {
        let mut answer = whole();
        *answer.pointer_mut(place).unwrap() = value;
        assert_eq!(broken(&schema, &answer), at(pointer, rule), "{answer}");
    }
    assert_eq!(broken(&schema, &json!({})), [at("/amount", "required"), at("/ship", "required")].concat());
    for other in [json!(null), json!([]), json!("x"), json!(1)] {
        assert_eq!(broken(&schema, &other), at("", "type"));
    }
}

/// The log keeps no order of members, so the order of the fields must not depend on it.
#[test]
fn fields_stand_in_the_order_that_the_agent_names_and_then_by_name() {
    let names = |schema: &Schema| schema.shape().unwrap().fields().map(|field| field.pointer.clone()).collect::<Vec<_>>();
    assert_eq!(
        names(&order()),
        [
            "/ship/city",
            "/ship/express",
            "/amount",
            "/at",
            "/code",
            "/day",
            "/extras",
            "/gift",
            "/mail",
            "/price",
            "/site",
            "/size"
        ]
    );
}

#[test]
fn what_is_typed_becomes_the_answer() {
    let schema = order();
    let shape = schema.shape().unwrap();
    assert_eq!(
        shape.typed(None, Language::English),
        Typed::from([("/amount".into(), "2".into()), ("/gift".into(), "on".into())]),
        "the defaults"
    );
    assert_eq!(
        schema.read(&shape.typed(Some(&whole()), Language::English), Language::English),
        Ok(whole()),
        "an answer that is shown in the fields comes back as it was"
    );

    let typed =
        |pairs: &[(&str, &str)]| pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect::<Typed>();
    let few = typed(&[("/amount", " 3 "), ("/ship/city", "Oslo"), ("/mail", ""), ("/size", ""), ("/uninvited", "x")]);
    assert_eq!(
        schema.read(&few, Language::English),
        Ok(json!({"amount": 3, "gift": false, "ship": {"city": "Oslo", "express": false}}))
    );
    let wrong = schema
        .read(&typed(&[("/amount", "1,5"), ("/ship/city", " "), ("/code", "xy"), ("/price", "1e999")]), Language::English)
        .unwrap_err();
    let wrong: Vec<(&str, &str)> = wrong.iter().map(|problem| (&*problem.pointer, &*problem.message)).collect();
    let expected = [
        ("/ship/city", "is still empty"),
        ("/amount", "must be a whole number"),
        ("/code", "must match the pattern ^[A-Z]{2}$"),
        ("/price", "must be a number, with a point for decimals"),
    ];
    assert_eq!(wrong, expected);
}

#[test]
fn a_group_that_may_be_absent_is_absent_if_nothing_is_typed_into_it() {
    let schema = accept(json!({"type": "object", "properties": {"ship": {"type": "object", "required": ["city"], "properties": {
        "city": {"type": "string"}, "express": {"type": "boolean"},
    }}}}))
    .unwrap();
    assert_eq!(schema.read(&Typed::new(), Language::English), Ok(json!({})));
    let half = Typed::from([("/ship/express".to_owned(), "on".to_owned())]);
    assert_eq!(schema.read(&half, Language::English).unwrap_err()[0].pointer, "/ship/city");
}

/// The verifier reads schemas from logs that anyone may have written.
#[test]
fn a_schema_that_was_never_accepted_accepts_nothing() {
    let schema: Schema = serde_json::from_value(json!({"$ref": "#"})).unwrap();
    assert!(schema.check(&json!({})).is_err());
    let schema: Schema = serde_json::from_value(json!({})).unwrap();
    assert!(schema.check(&json!({})).is_err());
}
