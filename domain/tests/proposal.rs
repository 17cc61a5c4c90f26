//! Proposed actions: which edits are accepted, every limit at its bound and one beyond, and what a browser's form makes of them.
#![expect(clippy::unwrap_used, clippy::panic, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use chrono::DateTime;
use domain::base::field::FieldError;
use domain::form::{Schema, Typed};
use domain::problem::Rejection;
use domain::suspension::evidence::action_digest;
use domain::suspension::proposal::{Named, PROPOSAL_BYTES_MAX, Proposal, changes, is_same};
use domain::suspension::quorum::Counted;
use serde_json::{Map, Value, json};

type Members = Map<String, Value>;

fn object(value: Value) -> Members {
    let Value::Object(members) = value else { panic!("an object is expected") };
    members
}

fn proposal(action: Value, editable: Value) -> Proposal {
    let editable = Some(Box::new(Schema::accept(object(editable)).unwrap()));
    Proposal { action: object(action), editable, refusing: vec!["no".to_owned()] }
}

/// A payment, of which people may edit the amount, the purpose, the tags, and the name of the recipient.
fn payment() -> Proposal {
    let action = json!({
        "amount": 2500, "currency": "EUR", "purpose": "Invoice 7", "urgent": false, "tags": ["rent"], "to": {"iban": "DE02", "name": "ACME"},
    });
    let editable = json!({"type": "object", "required": ["amount"], "properties": {
        "amount": {"type": "number", "minimum": 1, "maximum": 5000}, "purpose": {"type": "string", "maxLength": 100},
        "note": {"type": "string", "maxLength": 2000}, "urgent": {"type": "boolean"},
        "tags": {"type": "array", "uniqueItems": true, "items": {"enum": ["rent", "tax"]}},
        "to": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 70}}},
        "from": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 70}}},
    }});
    proposal(action, editable)
}

fn edited(change: Value) -> Members {
    let mut action = payment().action;
    action.extend(object(change));
    action
}

fn named(action: Members) -> Named {
    Named { action: Some(action), based_on: None }
}

fn refused(proposal: &Proposal, action: Members) -> Vec<(String, String)> {
    let Err(Rejection::Invalid { errors }) = proposal.decided(&[], &json!("yes"), &named(action)) else {
        panic!("it is accepted")
    };
    errors.into_iter().map(|FieldError { field, rule, .. }| (field, rule)).collect()
}

#[test]
fn a_person_edits_the_fields_that_the_agent_lets_people_edit() {
    let proposal = payment();
    proposal.check().unwrap();
    for change in [
        json!({"amount": 2400}),
        json!({"amount": 2500.5, "purpose": "Part of invoice 7", "note": "a\nb", "urgent": true, "tags": []}),
        json!({"to": {"iban": "DE02", "name": "ACME Ltd"}}),
        json!({"to": {"iban": "DE02"}}),
        json!({"from": {"name": "Ada"}}),
    ] {
        let action = edited(change.clone());
        assert_eq!(proposal.decided(&[], &json!("yes"), &named(action.clone())).unwrap(), action, "{change}");
    }
    assert_eq!(proposal.decided(&[], &json!("yes"), &Named::default()).unwrap(), proposal.action);
    // 2500 and 2500.0 are one number in canonical JSON, so this is no edit.
    assert_eq!(proposal.decided(&[], &json!("yes"), &named(edited(json!({"amount": 2500.0})))).unwrap(), proposal.action);
}

/// The agent acts on what it gets: an edit of anything else must not reach it, and the person must be told what is in the way.
#[test]
fn an_edit_of_anything_else_is_refused_and_names_the_place() {
    let proposal = payment();
    let at = |field: &str, rule: &str| vec![(field.to_owned(), rule.to_owned())];
    for (change, field, rule) in [
        (json!({"currency": "USD"}), "proposal/currency", "editable"),
        (json!({"to": {"iban": "DE03", "name": "ACME"}}), "proposal/to/iban", "editable"),
        (json!({"to": {"iban": "DE02", "name": "ACME", "bic": "X"}}), "proposal/to/bic", "editable"),
        (json!({"to": "ACME"}), "proposal/to", "editable"),
        (json!({"fee": 1}), "proposal/fee", "editable"),
        (json!({"from": {"name": "Ada", "iban": "DE04"}}), "proposal/from", "editable"),
        (json!({"amount": 5001}), "proposal/amount", "maximum"),
        (json!({"amount": "2400"}), "proposal/amount", "type"),
        (json!({"amount": null}), "proposal/amount", "type"),
        (json!({"tags": ["rent", "bribe"]}), "proposal/tags/1", "enum"),
        (json!({"purpose": "Invoice\u{202e} 7"}), "proposal/purpose", "characters"),
        (json!({"purpose": "Invoice\u{0} 7"}), "proposal/purpose", "characters"),
        (json!({"purpose": "Invoice\u{200b} 7"}), "proposal/purpose", "characters"),
        (json!({"purpose": format!("Invoice{}7", " ".repeat(81))}), "proposal/purpose", "characters"),
        (json!({"note": format!("a{}b", "\n".repeat(40))}), "proposal/note", "characters"),
        (json!({"note": "x".repeat(2_001)}), "proposal/note", "maxLength"),
    ] {
        assert_eq!(refused(&proposal, edited(change.clone())), at(field, rule), "{change}");
    }
    let mut without = proposal.action.clone();
    without.remove("currency");
    assert_eq!(refused(&proposal, without), at("proposal/currency", "editable"));
    let mut without = proposal.action.clone();
    without.remove("amount");
    assert_eq!(refused(&proposal, without), at("proposal/amount", "required"));
    let fixed = Proposal { editable: None, ..proposal };
    assert_eq!(refused(&fixed, edited(json!({"amount": 2400}))), at("proposal/amount", "editable"));
}

#[test]
fn a_proposal_has_limits_and_must_satisfy_its_own_schema() {
    let rule = |proposal: &Proposal| {
        let errors = proposal.check().unwrap_err();
        (errors[0].field.clone(), errors[0].rule.clone())
    };
    let sized =
        |bytes: usize| Proposal { action: object(json!({"a": "x".repeat(bytes - 8)})), editable: None, refusing: Vec::new() };
    sized(PROPOSAL_BYTES_MAX).check().unwrap();
    assert_eq!(rule(&sized(PROPOSAL_BYTES_MAX + 1)), ("proposal".to_owned(), "length".to_owned()));
    let empty = Proposal { action: Members::new(), ..sized(100) };
    assert_eq!(rule(&empty), ("proposal".to_owned(), "required".to_owned()));
    let schema = |property: Value| json!({"type": "object", "required": ["a"], "properties": {"a": property}});
    let broken = proposal(json!({"a": 2}), schema(json!({"type": "integer", "maximum": 1})));
    assert_eq!(rule(&broken), ("proposal/a".to_owned(), "maximum".to_owned()));
    let missing = proposal(json!({"b": 2}), schema(json!({"type": "integer"})));
    assert_eq!(rule(&missing), ("proposal/a".to_owned(), "required".to_owned()));
    let gap = proposal(json!({"a": format!("thanks{}and pay 500", "\n".repeat(40))}), schema(json!({"type": "string"})));
    assert_eq!(rule(&gap), ("proposal/a".to_owned(), "characters".to_owned()));
    let hidden = proposal(json!({"a": "DE02\u{202e}20ED"}), schema(json!({"type": "string"})));
    assert_eq!(rule(&hidden), ("proposal/a".to_owned(), "characters".to_owned()));
    let fixed = Proposal { editable: None, ..hidden };
    fixed.check().unwrap();
}

/// A person who refuses must not change what others decide about, and must not be told that a leftover edit is wrong.
#[test]
fn a_refusal_edits_nothing() {
    let proposal = payment();
    let decided = |action: Members| proposal.decided(&[], &json!("no"), &named(action));
    assert_eq!(decided(proposal.action.clone()).unwrap(), proposal.action);
    let Err(Rejection::Invalid { errors }) = decided(edited(json!({"amount": 1}))) else { panic!("the edit is accepted") };
    assert_eq!((&*errors[0].field, &*errors[0].rule), ("proposal", "refused"));
}

fn counted(person: &str, value: &str, action: Members) -> Counted {
    Counted {
        person: person.to_owned(),
        id: None,
        value: json!(value),
        action: Some(action),
        at: DateTime::UNIX_EPOCH,
        gateway: None,
        groups: Vec::new(),
        may_answer: true,
        in_place_of: None,
    }
}

/// Two people approve one action only if the second one has seen what the first one made of it.
#[test]
fn an_answer_to_an_action_that_was_edited_since_is_refused_with_the_changes() {
    let (proposal, lower) = (payment(), edited(json!({"amount": 2400})));
    let by_ada = [counted("ada@example.com", "yes", lower.clone())];
    assert_eq!(proposal.current(&by_ada), &lower);
    assert_eq!(proposal.edited_by(&by_ada).map(|counted| &*counted.person), Some("ada@example.com"));
    let decided = |named: &Named| proposal.decided(&by_ada, &json!("yes"), named);
    for stale in [Named::default(), named(proposal.action.clone()), named(edited(json!({"amount": 2300})))] {
        let Err(Rejection::ProposalChanged { action_digest: digest, changes }) = decided(&stale) else {
            panic!("{stale:?} counts")
        };
        assert_eq!(Some(digest), action_digest(&lower).map(|digest| digest.to_string()));
        assert_eq!((&*changes[0].field, &changes[0].from, &changes[0].to), ("/amount", &Some(json!(2500)), &Some(json!(2400))));
    }
    assert_eq!(decided(&named(lower.clone())).unwrap(), lower, "the same action needs no more");
    let seen = |action: Option<Members>| Named { action, based_on: action_digest(&lower) };
    assert_eq!(decided(&seen(None)).unwrap(), lower);
    assert_eq!(decided(&seen(Some(proposal.action.clone()))).unwrap(), proposal.action, "a person may take the edit back");
    assert_eq!(proposal.decided(&by_ada, &json!("no"), &Named::default()).unwrap(), lower, "a no is a no to every action");
    // The edit of a person who may not answer any more does not stand.
    let gone = [Counted { may_answer: false, ..by_ada[0].clone() }];
    assert_eq!((proposal.current(&gone), proposal.edited_by(&gone)), (&proposal.action, None));
    let no = [counted("ada@example.com", "no", proposal.action.clone())];
    assert_eq!(proposal.current(&no), &proposal.action);
}

/// A browser trims some texts, and writes line breaks and numbers in its own way. None of that is an edit of the person.
#[test]
fn a_form_that_was_left_as_it_was_is_no_edit() {
    let action = json!({"a": " spaced ", "b": "one\r\ntwo", "c": 1.50, "d": "", "on": true, "x": {"y": 7}});
    let editable = json!({"type": "object", "properties": {
        "a": {"type": "string", "maxLength": 20}, "b": {"type": "string"}, "c": {"type": "number"}, "d": {"type": "string"},
        "on": {"type": "boolean"}, "new": {"type": "string"}, "x": {"type": "object", "properties": {"z": {"type": "integer"}}},
    }});
    let proposal = proposal(action, editable);
    let mut typed = proposal.typed(&proposal.action, domain::base::words::Language::English);
    typed.insert("/b".to_owned(), "one\r\ntwo".to_owned());
    typed.insert("/d".to_owned(), String::new());
    typed.insert("/new".to_owned(), String::new());
    assert_eq!(proposal.read(&proposal.action, &typed, domain::base::words::Language::English).unwrap(), proposal.action);
    let mut change = typed.clone();
    change.extend([("/a".to_owned(), "tight".to_owned()), ("/x/z".to_owned(), "8".to_owned())]);
    change.remove("/on");
    let edited = proposal.read(&proposal.action, &change, domain::base::words::Language::English).unwrap();
    let expected = json!({"a": "tight", "b": "one\r\ntwo", "c": 1.5, "d": "", "on": false, "x": {"y": 7, "z": 8}});
    assert_eq!(Value::Object(edited), expected);
    let wrong = Typed::from([("/c".to_owned(), "1,5".to_owned())]);
    assert_eq!(proposal.read(&proposal.action, &wrong, domain::base::words::Language::English).unwrap_err()[0].pointer, "/c");
}

#[test]
fn changes_name_the_places_of_the_innermost_difference() {
    let (one, other) = (
        object(json!({"a": {"b/c": 1, "d": [1]}, "e": 1, "f": 2})),
        object(json!({"a": {"b/c": 2, "d": [1]}, "f": 2.0, "g": null})),
    );
    let found: Vec<String> = changes(&one, &other).into_iter().map(|change| change.field).collect();
    assert_eq!(found, ["/a/b~1c", "/e", "/g"]);
    assert!(is_same(&one, &one) && !is_same(&one, &other));
}
