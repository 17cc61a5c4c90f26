//! The fields of a form with a schema, over HTTP and in a browser, with scripts and without.

use harness::app::TestApp;
use harness::browser::{Browser, BrowserOptions};
use harness::person::{Page, Person};
use harness::{on_each_store, on_one_store};
use reqwest::Method;
use serde_json::{Value, json};

use crate::answering::forms::{contract, form};
use crate::pages::looks::{fits, looks};

/// Asks, and returns the id of the question and the link in its mail.
async fn asked(app: &TestApp, question: Value) -> (String, String) {
    let (_, id) = app.agent().ask(question).await;
    app.settle().await;
    (id, app.next_link().await)
}

/// A schema with a field of every kind.
fn everything() -> Value {
    json!({
        "type": "object", "title": "Refund", "description": "The terms of the refund of order 10-88421.",
        "required": ["amount", "method", "mail"],
        "x-order": ["amount", "method", "reason", "mail", "site", "day", "at", "code", "notify", "country", "note", "to"],
        "properties": {
            "amount": {"type": "number", "title": "Amount", "description": "In euros", "minimum": 0.01, "maximum": 412, "default": 206.5},
            "method": {"type": "string", "title": "How", "oneOf": [
                {"const": "card", "title": "To the card", "description": "The one that paid"}, {"const": "voucher", "title": "As a voucher"},
            ]},
            "reason": {"type": "array", "title": "Why", "uniqueItems": true, "maxItems": 2, "items": {"anyOf": [
                {"const": "lost", "title": "The parcel is lost"}, {"const": "late", "title": "It came late"}, {"const": "broken"},
            ]}},
            "mail": {"type": "string", "format": "email", "title": "Address of the customer"},
            "site": {"type": "string", "format": "uri"},
            "day": {"type": "string", "format": "date", "title": "Day of the payment"},
            "at": {"type": "string", "format": "date-time"},
            "code": {"type": "string", "title": "Code", "pattern": "^[A-Z]{2}-[0-9]{3}$"},
            "notify": {"type": "boolean", "title": "Tell the customer", "default": true},
            "country": {"type": "string", "enum": ["AT", "CH", "DE", "DK", "NO"]},
            "note": {"type": "string", "title": "Note", "maxLength": 500},
            "to": {"type": "object", "title": "Account", "description": "Only for transfers", "properties": {
                "holder": {"type": "string", "maxLength": 70}, "instalments": {"type": "integer", "minimum": 1, "maximum": 12},
            }},
        },
    })
}

/// The form in which a price is typed, posted by a browser that asks for this language.
async fn typing(person: &mut Person, link: &str, (language, price): (&str, &str)) -> Page {
    let shown = person.send(person.request(Method::GET, link).header("accept-language", language)).await;
    let nonce = shown.nonce();
    let typed = [("nonce", &*nonce), ("field./price", price), ("field./law", "de")];
    person.send(person.form(link, &typed).header("accept-language", language)).await
}

on_each_store! {
    /// A comma is the decimal mark on a German page alone, and no text is read as another number than the reader meant. The pages that tell
    /// of the answer have the words of the form.
    async fn a_number_is_typed_in_the_language_of_the_page(app: &mut TestApp) {
        let schema = json!({"type": "object", "required": ["price", "law"], "x-order": ["price", "law"], "properties": {
            "price": {"type": "number", "title": "Price", "maximum": 2500.5},
            "law": {"type": "string", "title": "Governing law", "oneOf": [{"const": "de", "title": "Germany"}, {"const": "no", "title": "Norway"}]},
        }});
        let question = json!({"question": "Which terms?", "response_type": "form", "choices": [], "schema": schema});
        let (id, link) = asked(app, question.clone()).await;
        let mut person = app.person();
        for (typed, said) in [
            (("en", "41,50"), "must be written as 41.50, with a point for decimals and without commas"),
            (("en", "1,000"), "can be read as two numbers: write 1000 or 1.000"),
            (("de", "1.000"), "lässt sich als zwei Zahlen lesen: Schreiben Sie 1000 oder 1,000"),
            (("de", "41,5,0"), "muss eine Zahl sein, mit Komma vor den Nachkommastellen"),
            (("de", "2.500,75"), "darf höchstens 2500,5 sein"),
        ] {
            let refused = typing(&mut person, &link, typed).await;
            assert_eq!(refused.status, 422, "{typed:?}");
            assert!(refused.html.contains(said) && refused.html.contains(&format!("value=\"{}\"", typed.1)), "{typed:?}: {}", refused.html);
        }
        assert_eq!(typing(&mut person, &link, ("de", "41,50")).await.status, 303);
        assert_eq!(app.agent().suspension(&id).await["response"], json!({"price": 41.5, "law": "de"}));
        let german = person.send(person.request(Method::GET, &link).header("accept-language", "de")).await;
        for part in ["Price", "41,5<", "Governing law", "Germany<"] {
            assert!(german.html.contains(part), "{part} is missing in {}", german.html);
        }
        assert!(!german.html.contains(">Law<") && !german.html.contains(">de<"), "{}", german.html);
        let (id, link) = asked(app, question).await;
        assert_eq!(typing(&mut person, &link, ("en", "41.50")).await.status, 303);
        assert_eq!(app.agent().suspension(&id).await["response"]["price"], json!(41.5));
    }

    /// A field for whole numbers never advises a number with decimals, in either language.
    async fn a_whole_number_is_advised_as_one(app: &mut TestApp) {
        let (id, link) = asked(app, form(&contract())).await;
        let mut person = app.person();
        for (language, typed, said, other) in [
            ("de", "60.000", "muss als 60000 geschrieben werden, ohne Punkte", "60,000"),
            ("en", "60,000", "must be written as 60000, without commas", "60.000"),
        ] {
            let shown = person.send(person.request(Method::GET, &link).header("accept-language", language)).await;
            let nonce = shown.nonce();
            let wrong = person.form(&link, &[("nonce", &*nonce), ("field./cap", typed), ("field./law", "no")]);
            let refused = person.send(wrong.header("accept-language", language)).await;
            assert_eq!(refused.status, 422, "{language}");
            assert!(refused.html.contains(said) && !refused.html.contains(other), "{language}: {}", refused.html);
        }
        assert_eq!(app.agent().suspension(&id).await["resolution"], json!(null));
    }

    /// A phone shows the keyboard for an address also where a long one stands in several lines, and corrects nothing in it.
    async fn a_long_address_keeps_its_keyboard(app: &mut TestApp) {
        let (mail, site) = ("ada.of.the.long.name@example.com", "https://shop.example/orders/10-88421");
        let schema = json!({"type": "object", "x-order": ["mail", "site", "note"], "properties": {
            "mail": {"type": "string", "format": "email", "default": mail},
            "site": {"type": "string", "format": "uri", "default": site},
            "note": {"type": "string", "maxLength": 200, "default": "a note that is too long for one line"},
        }});
        let (_, link) = asked(app, form(&schema)).await;
        let html = app.person().open(&link).await.html;
        for (name, keyboard, text) in [("mail", "email", mail), ("site", "url", site)] {
            let off = "autocomplete=\"off\" autocapitalize=\"none\" spellcheck=\"false\"";
            let control = format!("name=\"field./{name}\" rows=\"2\" inputmode=\"{keyboard}\" {off}");
            assert!(html.contains(&control) && html.contains(&format!("{text}</textarea>")), "{control} is missing in {html}");
        }
        assert!(html.contains("name=\"field./note\" rows=\"2\" dir=\"auto\""), "{html}");
    }

    /// A text that one line would cut stands in several, also in a field that the context defines.
    async fn a_field_of_the_context_shows_its_whole_text(app: &mut TestApp) {
        let fields = json!([{"name": "city"}, {"name": "amount", "type": "number"}]);
        let (_, link) = asked(app, json!({"response_type": "form", "choices": [], "context": {"fields": fields}})).await;
        let mut person = app.person();
        let shown = person.open(&link).await;
        assert!(!shown.html.contains("name=\"field.city\" rows"), "{}", shown.html);
        let nonce = shown.nonce();
        let typed = [("nonce", &*nonce), ("field.city", "We pay nothing, but 500 euros are due"), ("field.amount", "x")];
        let refused = person.post(&link, &typed).await;
        assert!(refused.html.contains("name=\"field.city\" rows=\"2\" dir=\"auto\""), "{}", refused.html);
    }

    /// A person who made one mistake in a form must find it at its field, and must type nothing again.
    async fn a_problem_stands_at_its_field_and_what_was_typed_stays(app: &mut TestApp) {
        let (id, link) = asked(app, form(&contract())).await;
        let mut person = app.person();
        let shown = person.open(&link).await;
        for part in [
            "autocomplete=\"off\"", "<legend><bdi>Governing law</bdi>", "name=\"field./cap\" inputmode=\"numeric\"",
            "type=\"email\" id=\"f2\" name=\"field./to/mail\" inputmode=\"email\"", "Must be a whole number, at least 50000, at most 500000.",
            "<legend dir=\"auto\">Recipient</legend>", "Must match the pattern ^[0-9]{5}$.",
        ] {
            assert!(shown.html.contains(part), "{part} is missing in {}", shown.html);
        }
        let nonce = shown.nonce();
        let wrong = [("nonce", nonce.as_str()), ("field./cap", "1"), ("field./to/mail", "ada"), ("field./to/post_code", "12345")];
        let page = person.post(&link, &wrong).await;
        assert_eq!(page.status, 422);
        for part in [
            "Three fields need a change", "<a href=\"#f0\">“<bdi>Liability cap</bdi>” must be at least 50000",
            "<a href=\"#f1\">“<bdi>Governing law</bdi>” is still empty", "<a href=\"#f2\">“<bdi>Mail</bdi>” must be an e-mail address",
            "value=\"1\" aria-describedby=\"f0h f0e\" aria-invalid=\"true\"", "value=\"12345\"",
        ] {
            assert!(page.html.contains(part), "{part} is missing in {}", page.html);
        }
        assert_eq!(app.agent().suspension(&id).await["resolution"], json!(null));
        let right = [
            ("nonce", nonce.as_str()), ("field./cap", " 50000 "), ("field./law", "no"), ("field./to/mail", "ada@example.com"),
            ("field./to/post_code", "12345"), ("field./uninvited", "x"),
        ];
        assert_eq!(person.post(&link, &right).await.status, 303);
        let expected = json!({"cap": 50_000, "law": "no", "to": {"mail": "ada@example.com", "post_code": "12345"}});
        assert_eq!(app.agent().suspension(&id).await["response"], expected);
    }

    /// All of a schema is text of the agent. None of it may become markup, or end a sentence of ours.
    async fn hostile_text_in_a_schema_stays_text(app: &mut TestApp) {
        let hostile = "</legend></fieldset><script>alert(1)</script>\"'\u{202e}\u{7}{{ 7*7 }} https://evil.example/x";
        let schema = json!({
            "type": "object", "title": hostile, "description": hostile,
            "properties": {
                "\"><b>x": {"type": "string", "title": hostile, "description": hostile, "pattern": "^<img src=x onerror=alert.1.>\"$", "default": "<img src=x onerror=alert(1)>\""},
                "one": {"type": "string", "title": hostile, "oneOf": [{"const": "\"><script>", "title": hostile, "description": hostile}]},
                "listed": {"type": "string", "enum": ["<b>", "</option>", "\"", "'", "&amp;"]},
                "many": {"type": "array", "uniqueItems": true, "items": {"enum": ["\"><script>alert(2)</script>"]}},
                "group": {"type": "object", "title": hostile, "description": hostile, "properties": {"x": {"type": "boolean", "title": hostile}}},
            },
        });
        let (id, link) = asked(app, form(&schema)).await;
        let mut person = app.person();
        let page = person.open(&link).await;
        for wrong in ["<script>alert", "<img src=x", "<b>x", "\u{202e}", "\u{7}", "https://evil.example"] {
            assert!(!page.html.replace("<title>", "").contains(wrong), "{wrong} in {}", page.html);
        }
        let nonce = page.nonce();
        let wrong = [("nonce", nonce.as_str()), ("field./\"><b>x", "<script>alert(3)</script>"), ("field./listed", "&amp;")];
        let page = person.post(&link, &wrong).await;
        assert_eq!(page.status, 422);
        assert!(page.html.contains("must match the pattern ^&#60;img") && !page.html.contains("<script>alert"), "{}", page.html);
        let right = [
            ("nonce", nonce.as_str()), ("field./\"><b>x", "<img src=x onerror=alert(1)>\""), ("field./listed", "&amp;"),
            ("field./one", "\"><script>"), ("field./many/0", "on"),
        ];
        assert_eq!(person.post(&link, &right).await.status, 303);
        let expected = json!({
            "\"><b>x": "<img src=x onerror=alert(1)>\"", "listed": "&amp;", "one": "\"><script>", "many": ["\"><script>alert(2)</script>"],
        });
        assert_eq!(app.agent().suspension(&id).await["response"], expected);
    }

    /// A mail cannot hold a form, so it says that there is one, and leads to it.
    async fn the_mail_says_that_it_is_a_form(app: &mut TestApp) {
        app.agent().ask(form(&contract())).await;
        app.settle().await;
        let mail = app.smtp.next_mail().await;
        assert!(mail.text().contains("A form with a few fields") && !mail.text().contains("Liability cap"), "{}", mail.text());
        assert!(mail.link(&app.base).contains("/a/"));
    }
}

on_one_store! {
    /// The same form with scripts and without: the mistakes are at their fields, nothing typed is lost, and the agent gets the answer.
    async fn a_form_is_filled_in_a_browser(app: &mut TestApp) {
        for (width, javascript) in [(390, true), (1280, true), (390, false), (1280, false)] {
            let (id, link) = asked(app, form(&everything())).await;
            let browser = Browser::start(BrowserOptions { width, height: 800, dark: false, javascript }).await;
            browser.open(&link).await;
            assert_eq!(browser.evaluate("document.getElementById('f0').value").await, "206.5", "the default stands in the field");
            assert_eq!(browser.evaluate("document.getElementById('f8').checked").await, true);
            browser.evaluate("document.getElementById('f0').value = ''").await;
            browser.type_into("#f0", "500").await;
            browser.click("#f2 label:nth-of-type(1) input").await;
            browser.type_into("#f7", "no-003").await;
            browser.click("#f8").await;
            browser.type_into("#f11", "Marta Kowalska").await;
            browser.press(".send button").await;
            let links = browser.find_all_text("[role=alert] a").await;
            let expected = [
                "“Amount” must be at most 412", "“How” is still empty", "“Address of the customer” is still empty",
                "“Code” must match the pattern ^[A-Z]{2}-[0-9]{3}$",
            ];
            assert_eq!(links, expected);
            assert_eq!(browser.find_all_text(".bad .err").await.len(), 4);
            let kept = "['f0', 'f7', 'f11'].map((id) => document.getElementById(id).value)";
            assert_eq!(browser.evaluate(kept).await, json!(["500", "no-003", "Marta Kowalska"]));
            assert_eq!(browser.evaluate("document.getElementById('f8').checked").await, false, "a box that was cleared stays so");
            assert_eq!(browser.evaluate("document.querySelectorAll('#f2 :checked').length").await, 1);
            assert!(browser.title().await.starts_with("Error:"));
            browser.evaluate("['f0', 'f7'].forEach((id) => { document.getElementById(id).value = ''; })").await;
            browser.type_into("#f0", "412").await;
            browser.click("#f1 label:nth-of-type(2) input").await;
            browser.type_into("#f3", "marta@example.com").await;
            browser.type_into("#f7", "NO-003").await;
            browser.click("#f9 option[value=NO]").await;
            browser.press(".send button").await;
            assert_eq!(browser.find_all_text("h1").await, ["Your answer was recorded"], "{}", browser.text().await);
            let expected = json!({
                "amount": 412, "method": "voucher", "reason": ["lost"], "mail": "marta@example.com", "code": "NO-003", "notify": false,
                "country": "NO", "to": {"holder": "Marta Kowalska"},
            });
            assert_eq!(app.agent().suspension(&id).await["response"], expected);
            // Chromium counts the refusal as an error, too.
            let errors = browser.console_errors().await;
            assert!(errors.iter().all(|error| error.contains("status of 422")), "{errors:?}");
        }
    }

    /// Every kind of field at every width, before and after a mistake.
    async fn a_form_fits_every_width_and_breaks_no_rule_of_accessibility(app: &mut TestApp) {
        let (_, link) = asked(app, form(&everything())).await;
        for look in looks() {
            let browser = Browser::start(BrowserOptions { width: look.0, height: 800, dark: look.1, javascript: false }).await;
            browser.open(&link).await;
            fits(&browser, "schema", look).await;
            browser.press(".send button").await;
            assert!(browser.text().await.contains("need a change"));
            fits(&browser, "schema-error", look).await;
        }
    }
}
