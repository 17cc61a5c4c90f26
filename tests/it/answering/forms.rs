//! Forms with a schema: only an answer that satisfies it counts, whichever way it comes.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::form::SCHEMA_BYTES_MAX;
use harness::on_each_store;
use serde_json::{Value, json};

/// The terms of a contract.
pub(crate) fn contract() -> Value {
    json!({
        "type": "object", "title": "Terms", "required": ["cap", "law"], "x-order": ["cap", "law", "to"],
        "properties": {
            "cap": {"type": "integer", "title": "Liability cap", "description": "In euros", "minimum": 50_000, "maximum": 500_000},
            "law": {"type": "string", "title": "Governing law", "oneOf": [
                {"const": "de", "title": "Germany"}, {"const": "no", "title": "Norway"},
            ]},
            "to": {"type": "object", "title": "Recipient", "required": ["mail"], "properties": {
                "mail": {"type": "string", "format": "email"}, "post_code": {"type": "string", "pattern": "^[0-9]{5}$"},
            }},
        },
    })
}

/// A question with this schema.
pub(crate) fn form(schema: &Value) -> Value {
    json!({"question": "Which terms?", "response_type": "form", "choices": [], "schema": schema})
}

fn fields(refused: (u16, &Value)) -> Vec<(String, String)> {
    let (status, body) = refused;
    assert_eq!(status, 422, "{body}");
    let text = |error: &Value, name: &str| error[name].as_str().unwrap().to_owned();
    body["errors"].as_array().unwrap().iter().map(|error| (text(error, "field"), text(error, "rule"))).collect()
}

on_each_store! {
    /// The agent acts on what it gets. An answer that breaks the schema must not reach it, and the person must be told which part breaks it.
    async fn only_an_answer_that_satisfies_the_schema_counts(app: &mut TestApp) {
        let agent = app.agent();
        let (intent, id) = agent.ask(form(&contract())).await;
        assert_eq!(agent.suspension(&id).await["schema"], contract());
        app.restart().await;
        let agent = app.agent();
        for (value, field, rule) in [
            (json!({"cap": 49_999, "law": "de"}), "value/cap", "minimum"),
            (json!({"cap": "50000", "law": "de"}), "value/cap", "type"),
            (json!({"cap": 50_000}), "value/law", "required"),
            (json!({"cap": 50_000, "law": "Germany"}), "value/law", "oneOf"),
            (json!({"cap": 50_000, "law": "de", "to": {"mail": "x"}}), "value/to/mail", "format"),
            (json!({"cap": 50_000, "law": "de", "to": {"mail": "a@example.com", "post_code": "1234"}}), "value/to/post_code", "pattern"),
            (json!([]), "value", "type"),
            (json!("approve"), "value", "type"),
        ] {
            let refused = app.operator().respond(intent, &id, value.clone()).await;
            assert_eq!(fields((refused.status, &refused.body)), [(field.to_owned(), rule.to_owned())], "{value}");
        }
        assert_eq!(agent.status(intent).await, "suspended_awaiting_input");
        let value = json!({"cap": 500_000, "law": "no", "to": {"mail": "ada@example.com", "post_code": "12345"}});
        let answered = app.operator().respond(intent, &id, value.clone()).await.ok();
        assert_eq!(answered["value"], value);
        assert_eq!(app.agent().suspension(&id).await["response"], value);
    }

    /// Several questions are one form: one page, one answer with a member for each, and the schema in the record and the log.
    async fn several_questions_are_one_form(app: &mut TestApp) {
        let agent = app.agent();
        let questions = json!([
            {"name": "law", "question": "Which law <b>applies</b>?", "choices": [{"value": "de", "label": "Germany"}, {"value": "no", "label": "Norway"}]},
            {"name": "parts", "question": "Which parts?", "multiple": true, "choices": [{"value": "a", "label": "Annex A"}, {"value": "b", "label": "Annex B"}]},
            {"name": "notice", "question": "May we give notice?", "response_type": "confirm"},
            {"name": "why", "question": "Why?", "response_type": "text", "required": false},
        ]);
        let (intent, id) = agent.ask(json!({"question": "What does the contract say?", "questions": questions, "choices": []})).await;
        let record = agent.suspension(&id).await;
        assert_eq!(record["response_type"], "form");
        assert_eq!(record["schema"]["x-order"], json!(["law", "parts", "notice", "why"]));
        app.settle().await;
        let link = app.smtp.next_mail().await.link(&app.base);
        let mut person = app.person();
        let page = person.open(&link).await;
        for words in ["What does the contract say?", "Which law &#60;b&#62;applies&#60;/b&#62;?", "Annex B", "May we give notice?", "Norway"] {
            assert!(page.html.contains(words), "{words}: {}", page.html);
        }
        app.restart().await;
        for (value, field, rule) in [
            (json!({"law": "de", "parts": ["a"]}), "value/notice", "required"),
            (json!({"law": "de", "parts": [], "notice": "no"}), "value/parts", "minItems"),
            (json!({"law": "de", "parts": ["a"], "notice": true}), "value/notice", "oneOf"),
        ] {
            let refused = app.operator().respond(intent, &id, value.clone()).await;
            assert!(fields((refused.status, &refused.body)).contains(&(field.to_owned(), rule.to_owned())), "{value}: {}", refused.body);
        }
        let value = json!({"law": "de", "parts": ["a", "b"], "notice": "no"});
        assert_eq!(app.operator().respond(intent, &id, value.clone()).await.ok()["value"], value);
    }

    /// Options are judged like choices: a label that says one thing and sends another is warned of, to the agent and to the person.
    async fn options_that_mislead_are_warned_of(app: &mut TestApp) {
        let agent = app.agent();
        let pay = json!([{"value": "approve", "label": "No"}, {"value": "deny", "label": "Yes"}]);
        let twins = json!([{"value": "a", "label": "Keep"}, {"value": "b", "label": "Keep"}]);
        let honest = json!([{"value": "yes", "label": "Yes"}, {"value": "no", "label": "No"}]);
        let questions: Vec<Value> = [("pay", pay), ("twins", twins), ("honest", honest)]
            .map(|(name, choices)| json!({"name": name, "question": format!("Pay {name}?"), "choices": choices}))
            .into();
        let intent = agent.active_intent().await;
        let asked = agent.suspend(intent, json!({"question": "Which?", "choices": [], "questions": questions})).await.ok();
        let warnings: Vec<&str> = asked["warnings"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert_eq!(warnings.iter().filter(|warning| warning.starts_with("schema/")).count(), 2, "{warnings:?}");
        assert!(warnings.iter().any(|warning| warning.starts_with("schema/pay: ")), "{warnings:?}");
        assert!(!warnings.iter().any(|warning| warning.contains("honest")), "{warnings:?}");
        app.settle().await;
        let page = app.person().open(&app.next_link().await).await;
        assert_eq!(page.html.matches("The words of these answers may mislead").count(), 2, "{}", page.html);
    }

    /// The names and titles of several questions are judged like the labels of choices: a person who takes one question for another answers
    /// another one.
    async fn questions_that_look_alike_are_warned_of(app: &mut TestApp) {
        let agent = app.agent();
        let ask = |name: &str, question: &str| json!({"name": name, "question": question, "response_type": "confirm"});
        let intent = agent.active_intent().await;
        let questions = json!([ask("keep", "Keep the backups?"), ask("drop", "Keep the backups"), ask("ship", "Ship it?")]);
        let asked = agent.suspend(intent, json!({"question": "Three things", "choices": [], "questions": questions})).await.ok();
        let warnings: Vec<&str> = asked["warnings"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        for named in ["schema/keep: Two fields of this form look alike.", "schema/drop: Two fields of this form look alike."] {
            assert!(warnings.iter().any(|warning| warning.starts_with(named)), "{warnings:?}");
        }
        assert!(!warnings.iter().any(|warning| warning.contains("ship")), "{warnings:?}");
        app.settle().await;
        let page = app.person().open(&app.next_link().await).await;
        assert!(page.html.contains("The fields of this form may be mistaken") && page.html.contains("(keep, drop)"), "{}", page.html);
    }

    /// Questions that cannot be one form are refused when they are asked.
    async fn questions_that_are_no_form_are_refused(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let one = json!([{"name": "a", "question": "May we?", "response_type": "confirm"}]);
        for (question, field, rule) in [
            (json!({"questions": []}), "questions", "count"),
            (json!({"questions": [{"name": "a", "question": "q"}]}), "questions[0].choices", "required"),
            (json!({"questions": one, "schema": contract()}), "schema", "unsupported"),
            (json!({"questions": one, "response_type": "text"}), "questions", "unsupported"),
            (json!({"questions": one, "response_type": "choice", "choices": [{"value": "v", "label": "l"}]}), "questions", "unsupported"),
        ] {
            let mut whole = json!({"question": "Which?", "choices": []});
            whole.as_object_mut().unwrap().extend(question.as_object().unwrap().clone());
            let refused = agent.suspend(intent, whole).await;
            assert_eq!(fields((refused.status, &refused.body)), [(field.to_owned(), rule.to_owned())], "{question}");
        }
        let unknown = json!({"question": "Which?", "choices": [], "questions": [{"name": "a", "question": "q", "style": "danger"}]});
        assert_eq!(agent.suspend(intent, unknown).await.status, 422);
        assert_eq!(agent.status(intent).await, "active");
    }

    /// A form that people cannot be shown is refused when it is asked, and not when they open it.
    async fn a_schema_that_cannot_be_shown_is_refused_with_its_place(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let with = |property: Value| form(&json!({"type": "object", "properties": {"a": property}}));
        let large = json!({"type": "boolean", "description": "x".repeat(SCHEMA_BYTES_MAX)});
        // What stands behind a gap is out of sight in a control, and the person would send it.
        let behind_a_gap = |space: &str| format!("thanks{}and pay 500", space.repeat(300));
        let proposed = |property: Value| {
            let editable = json!({"type": "object", "properties": {"a": property}});
            json!({"proposal": {"a": behind_a_gap("\n")}, "editable": editable})
        };
        for (question, field, rule) in [
            (with(json!({"type": "string", "format": "password"})), "schema/properties/a/format", "format"),
            (with(json!({"type": "string", "pattern": "(?=a)"})), "schema/properties/a/pattern", "pattern"),
            (with(json!({"type": "string", "$ref": "http://127.0.0.1:1/"})), "schema/properties/a/$ref", "keyword"),
            (with(large), "schema", "length"),
            (with(json!({"type": "string", "default": behind_a_gap("\n")})), "schema/properties/a/default", "characters"),
            (with(json!({"type": "string", "pattern": "^t", "default": behind_a_gap(" ")})), "schema/properties/a/default", "characters"),
            (proposed(json!({"type": "string"})), "proposal/a", "characters"),
            (proposed(json!({"type": "string", "default": behind_a_gap("\t")})), "editable/properties/a/default", "characters"),
            (json!({"schema": contract()}), "schema", "unsupported"),
            (json!({"response_type": "text", "choices": [], "schema": contract()}), "schema", "unsupported"),
        ] {
            let refused = agent.suspend(intent, question).await;
            assert_eq!(fields((refused.status, &refused.body)), [(field.to_owned(), rule.to_owned())]);
        }
        let refused = agent.suspend(intent, json!({"response_type": "form", "choices": [], "schema": []})).await;
        assert_eq!(refused.status, 422, "{}", refused.body);
        let falls_back = |value: Value| {
            let mut question = form(&contract());
            (question["fallback_policy"], question["fallback_value"]) = (json!("complete_with_fallback"), value);
            question
        };
        let refused = agent.suspend(intent, falls_back(json!({"cap": 1, "law": "de"}))).await;
        assert_eq!(fields((refused.status, &refused.body)), [("fallback_value".to_owned(), "answer".to_owned())]);
        agent.suspend(intent, falls_back(json!({"cap": 50_000, "law": "de"}))).await.ok();
    }

    /// The schema is part of what was shown: another schema is another question.
    async fn the_hash_of_what_was_shown_covers_the_schema(app: &mut TestApp) {
        let mut hashes = Vec::new();
        for most in [500_000, 600_000] {
            let mut schema = contract();
            schema["properties"]["cap"]["maximum"] = json!(most);
            let question = form(&schema);
            let (intent, id) = app.agent().ask(question).await;
            let answered = app.operator().respond(intent, &id, json!({"cap": 50_000, "law": "de"})).await.ok();
            let events = app.agent().events(intent).await;
            let asked = events.iter().find(|event| event["event_type"] == "intent.suspended").unwrap();
            assert_eq!(asked["payload"]["schema"], schema);
            hashes.push(answered["presented_hash"].clone());
        }
        assert_ne!(hashes[0], hashes[1]);
    }

    /// RFC-0025 §8: without a schema the values of a form pass as they are.
    async fn a_form_without_a_schema_passes_every_value(app: &mut TestApp) {
        for value in [json!({"cap": "much"}), json!([1, "two"]), json!("text"), json!(false)] {
            let question = json!({"response_type": "form", "choices": [], "context": {"fields": [{"name": "cap", "type": "number"}]}});
            let (intent, id) = app.agent().ask(question).await;
            let answered = app.operator().respond(intent, &id, value.clone()).await.ok();
            assert_eq!(answered["value"], value);
        }
    }
}
