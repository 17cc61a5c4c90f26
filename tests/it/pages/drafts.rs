//! Drafts on the answer page: saved, seen by the others, taken over, and never sent as an answer.

use harness::app::TestApp;
use harness::browser::{Browser, BrowserOptions};
use harness::{on_each_store, on_one_store};
use serde_json::{Value, json};

use crate::answering::drafts::save;
use crate::answering::forms::{contract, form};
use crate::answering::proposal::{paying, payment, proposing};
use crate::pages::looks::{fits, looks};
use crate::people::assignees::{ADA, BOB, EVE, directory, key_of, mails};
use crate::people::logins;

/// Asks Ada and Bob, who are in finance; the id of the question, and their links.
async fn asked(app: &TestApp, mut question: Value) -> (String, [String; 2]) {
    question["assignees"] = json!({"groups": ["finance"]});
    let (_, id) = app.agent().ask(question).await;
    let links = mails(app).await;
    (id, [links[0].1.clone(), links[1].1.clone()])
}

/// The value of a hidden input.
fn hidden(html: &str, name: &str) -> String {
    let from = html.find(&format!("name=\"{name}\" value=\"")).map(|at| at + name.len() + 15).expect("the input is there");
    html[from..].split('"').next().unwrap_or_default().to_owned()
}

async fn is_open(app: &TestApp, id: &str) -> bool {
    app.agent().suspension(id).await["resolution"].is_null()
}

on_each_store! {
    /// The whole way without scripts: Ada saves half a form, Bob sees that, takes it over with one press, and answers for himself.
    async fn a_draft_is_saved_seen_and_taken_over(app: &mut TestApp) {
        directory(app).await;
        let (id, [first, second]) = asked(app, form(&contract())).await;
        let mut ada = app.person();
        let nonce = ada.open(&first).await.nonce();
        let half = [("nonce", nonce.as_str()), ("field./cap", "25oo"), ("field./law", "no"), ("field./to/mail", ""), ("draft", "save")];
        let saved = ada.post(&first, &half).await;
        assert_eq!(saved.status, 200, "{}", saved.html);
        for part in ["Your draft is in this form", "You saved a draft on", "value=\"25oo\"", "It is no answer"] {
            assert!(saved.html.contains(part), "{part} is missing in {}", saved.html);
        }
        assert!(is_open(app, &id).await);
        app.restart().await;
        let again = app.person().open(&first).await;
        assert!(again.html.contains("value=\"25oo\"") && again.html.contains("Your draft is in this form"), "{}", again.html);
        let mut bob = app.person();
        let page = bob.open(&second).await;
        assert!(page.html.contains("<bdi>ada@example.com</bdi> saved a draft on") && !page.html.contains("25oo"), "{}", page.html);
        let nonce = page.nonce();
        let taken = bob.post(&second, &[("nonce", &nonce), ("field./cap", "1"), ("take", ADA)]).await;
        assert_eq!(taken.status, 200, "{}", taken.html);
        for part in ["The draft of <bdi>ada@example.com</bdi> is in this form", "value=\"25oo\""] {
            assert!(taken.html.contains(part), "{part} is missing in {}", taken.html);
        }
        assert!(is_open(app, &id).await, "taking over answers nothing");
        let nonce = taken.nonce();
        let wrong = bob.post(&second, &[("nonce", &nonce), ("field./cap", "25oo"), ("field./law", "no")]).await;
        assert_eq!(wrong.status, 422, "a draft is checked when it is sent as an answer");
        let sent = bob.post(&second, &[("nonce", &nonce), ("field./cap", "250000"), ("field./law", "no")]).await;
        assert_eq!(sent.status, 303, "{}", sent.html);
        let record = app.agent().suspension(&id).await;
        assert_eq!((&record["response"], &record["responded_by"], &record["drafts"]), (&json!({"cap": 250_000, "law": "no"}), &json!(BOB), &json!(null)));
    }

    /// Each kind of question has drafts: a text, a choice with its comment, and an edit, of which the draft has the changed fields alone.
    async fn each_kind_of_question_has_drafts(app: &mut TestApp) {
        directory(app).await;
        let (id, [first, second]) = asked(app, json!({"response_type": "text", "choices": [], "question": "Why?", "timeout_seconds": 600})).await;
        let mut ada = app.person();
        let nonce = ada.open(&first).await.nonce();
        assert_eq!(ada.post(&first, &[("nonce", &nonce), ("value", "\nBecause <b>"), ("draft", "save")]).await.status, 200);
        let mut bob = app.person();
        let nonce = bob.open(&second).await.nonce();
        let taken = bob.post(&second, &[("nonce", &nonce), ("value", "mine"), ("take", ADA)]).await;
        assert!(taken.html.contains(">\n\nBecause &#60;b&#62;</textarea>"), "{}", taken.html);
        let nonce = taken.nonce();
        assert_eq!(bob.post(&second, &[("nonce", &nonce), ("value", "both of us"), ("draft", "save")]).await.status, 200);
        app.advance(600).await;
        let drafts = app.agent().suspension(&id).await["drafts"].clone();
        assert_eq!((&drafts[0]["by"], &drafts[0]["values"]), (&json!(ADA), &json!({"value": "\nBecause <b>"})));
        assert_eq!((&drafts[1]["by"], &drafts[1]["values"]), (&json!(BOB), &json!({"value": "both of us"})));

        let (id, [first, second]) = asked(app, json!({"timeout_seconds": 600})).await;
        let nonce = ada.open(&first).await.nonce();
        let nothing = ada.post(&first, &[("nonce", &nonce), ("comment", " "), ("draft", "save")]).await;
        assert!(nothing.status == 422 && nothing.html.contains("Nothing was typed that could be saved"), "{}", nothing.html);
        assert_eq!(ada.post(&first, &[("nonce", &nonce), ("comment", "Ask the carrier."), ("draft", "save")]).await.status, 200);
        assert!(ada.open(&first).await.html.contains("Ask the carrier.</textarea>"));
        let gone = bob.post(&second, &[("nonce", &bob.clone().open(&second).await.nonce()), ("comment", "own"), ("take", EVE)]).await;
        assert!(gone.html.contains("The draft is not there any more") && gone.html.contains("own</textarea>"), "{}", gone.html);
        assert_eq!(ada.post(&first, &[("nonce", &nonce), ("comment", ""), ("draft", "save")]).await.status, 200, "an empty one takes it back");
        assert!(!bob.open(&second).await.html.contains("saved a draft"));
        app.advance(600).await;
        assert_eq!(app.agent().suspension(&id).await["drafts"], json!(null));

        let (id, [first, second]) = asked(app, proposing()).await;
        let page = ada.open(&first).await;
        let (nonce, based_on) = (page.nonce(), hidden(&page.html, "based_on"));
        let edit = [("nonce", nonce.as_str()), ("based_on", &based_on), ("shown", "live"), ("field./amount", "2400"), ("field./purpose", "Invoice 7"),
            ("field./to/name", "ACME"), ("base./amount", "2500"), ("base./purpose", "Invoice 7"), ("base./to/name", "ACME"), ("draft", "save")];
        let saved = ada.post(&first, &edit).await;
        assert!(saved.status == 200 && saved.html.contains("2400</ins>"), "{} {}", saved.status, saved.html);
        assert!(ada.open(&first).await.html.contains("value=\"2400\""), "the own draft is in the form");
        let page = bob.open(&second).await;
        let (nonce, based_on) = (page.nonce(), hidden(&page.html, "based_on"));
        let form = [("nonce", nonce.as_str()), ("based_on", &based_on), ("shown", "live"), ("field./amount", "2500"), ("field./purpose", "Part of invoice 7"),
            ("field./to/name", "ACME"), ("base./amount", "2500"), ("base./purpose", "Invoice 7"), ("base./to/name", "ACME"), ("take", ADA)];
        let taken = bob.post(&second, &form).await;
        for part in ["value=\"2400\"", "value=\"Part of invoice 7\"", "2400</ins>"] {
            assert!(taken.html.contains(part), "{part} is missing in {}", taken.html);
        }
        let (nonce, based_on) = (taken.nonce(), hidden(&taken.html, "based_on"));
        let answer = [("nonce", nonce.as_str()), ("based_on", &based_on), ("shown", "live"), ("field./amount", "2400"), ("field./purpose", "Invoice 7"),
            ("field./to/name", "ACME"), ("base./amount", "2500"), ("base./purpose", "Invoice 7"), ("base./to/name", "ACME"), ("value", "approve")];
        assert_eq!(bob.post(&second, &answer).await.status, 303);
        let record = app.agent().suspension(&id).await;
        assert_eq!((&record["proposal"], &record["original_proposal"]), (&paying(2400), &payment()));
    }

    /// A draft survives the end of a login, and is in the form of the next one; a stranger's page and a page without the nonce save nothing.
    async fn a_draft_survives_a_login_that_ends(app: &mut TestApp) {
        directory(app).await;
        let (id, [link, _]) = asked(app, json!({"required_assurance": "session", "timeout_seconds": 604_800})).await;
        let page = format!("{}questions/{id}", app.base);
        let by_link = app.person().open(&link).await;
        assert!(!by_link.html.contains("name=\"draft\""), "the link alone does not prove who types");
        let mut stranger = app.person();
        let nonce = stranger.open(&link).await.nonce();
        let refused = stranger.post(&link, &[("nonce", &nonce), ("comment", "stolen"), ("draft", "save")]).await;
        assert!(refused.status == 403 && refused.html.contains("Log in"), "{} {}", refused.status, refused.html);
        let mut ada = logins::log_in(app, ADA).await;
        let nonce = ada.open(&page).await.nonce();
        let foreign = ada.bare_form(&page, &[("nonce", &nonce), ("person", ADA), ("comment", "x"), ("draft", "save")]).header("origin", "https://evil.example");
        assert_eq!(ada.send(foreign).await.status, 403);
        assert_eq!(ada.post(&page, &[("nonce", "bm9uY2U"), ("person", ADA), ("comment", "x"), ("draft", "save")]).await.status, 403);
        let saved = ada.post(&page, &[("nonce", &nonce), ("person", ADA), ("comment", "Half of it."), ("draft", "save")]).await;
        assert!(saved.status == 200 && saved.html.contains("Half of it."), "{}", saved.html);
        app.advance(1_860).await;
        app.restart().await;
        let lost = ada.post(&page, &[("nonce", &nonce), ("person", ADA), ("comment", "More of it."), ("draft", "save")]).await;
        assert_eq!(lost.status, 303, "the session has ended");
        let mut bob = logins::log_in(app, BOB).await;
        let seen = bob.open(&page).await;
        assert!(seen.html.contains("<bdi>ada@example.com</bdi> saved a draft") && !seen.html.contains("More of it."), "{}", seen.html);
        let mut again = logins::log_in(app, ADA).await;
        assert!(again.open(&page).await.html.contains("More of it."), "what was sent after the end of the session is kept for its author");
        let by_link = app.person().open(&link).await;
        assert!(!by_link.html.contains("saved a draft") && !by_link.html.contains("Half of it."), "{}", by_link.html);
        assert!(is_open(app, &id).await);
        let auditor = domain::people::principal::Role::Auditor;
        logins::list(app, "auditor@example.com", auditor).await;
        let mut auditor = logins::log_in(app, "auditor@example.com").await;
        let read = auditor.open(&page).await;
        assert!(read.html.contains("saved a draft on") && !read.html.contains("name=\"draft\"") && !read.html.contains("name=\"take\""), "{}", read.html);
        mails(app).await;
    }

    /// The draft and its author are texts of others. None of it becomes markup, also in the form that takes it over.
    async fn a_hostile_draft_stays_text(app: &mut TestApp) {
        directory(app).await;
        let (id, [_, second]) = asked(app, form(&contract())).await;
        let hostile = "\"></textarea><script>alert(1)</script>{{ 7*7 }}";
        let ada = key_of(app, ADA, "ada").await;
        let fields = json!({"/cap": hostile, "/law": hostile, "/to/mail": hostile, hostile: hostile});
        save(&ada, &id, json!({"value": hostile, "comment": hostile, "reason": hostile, "fields": fields})).await.ok();
        let mut bob = app.person();
        let nonce = bob.open(&second).await.nonce();
        let taken = bob.post(&second, &[("nonce", &nonce), ("take", ADA)]).await;
        assert_eq!(taken.status, 200);
        assert!(taken.html.contains("&#60;script&#62;alert(1)") && !taken.html.contains("<script>alert"), "{}", taken.html);
        let large = "x".repeat(domain::suspension::draft::DRAFT_BYTES_MAX + 1);
        let refused = bob.post(&second, &[("nonce", &nonce), ("field./cap", &large), ("draft", "save")]).await;
        assert!(refused.status == 422 && refused.html.contains("a draft has at most 64 KiB of text") && refused.html.contains(&large), "{}", refused.status);
        assert!(is_open(app, &id).await);
    }

    /// A text that Ada typed stands in Bob's form, and Bob sends it: nothing of it may be out of sight there, or turn the text around.
    async fn a_draft_brings_nothing_hidden_into_the_form_of_another(app: &mut TestApp) {
        directory(app).await;
        let (id, [_, second]) = asked(app, json!({"response_type": "text", "choices": [], "question": "Why?"})).await;
        let ada = key_of(app, ADA, "ada").await;
        let marked = "Characters that show nothing stand in the form as their codes";
        let mut bob = app.person();
        for (typed, shown, is_marked) in [
            (format!("Dear customer.\u{202e}{}pay 500", "\n".repeat(40)), "Dear customer.⟨U+202E⟩\n⟨39 × ↵⟩\npay 500</textarea>", true),
            (format!("thanks{}and pay 500", "\u{3000}".repeat(300)), "thanks⟨300 × ␣⟩and pay 500</textarea>", true),
            ("a".to_owned() + &"\u{202e}".repeat(3_000), "a⟨3000 × U+202E⟩</textarea>", true),
            ("می\u{200c}خواهم".to_owned(), "می\u{200c}خواهم</textarea>", false),
            ("Dear\n\ncustomer. ❤️".to_owned(), "Dear\n\ncustomer. ❤️</textarea>", false),
        ] {
            let saved = save(&ada, &id, json!({"value": typed})).await.ok();
            assert_eq!(saved["drafts"][0]["values"]["value"], json!(typed), "its author has it as it was typed");
            let nonce = bob.open(&second).await.nonce();
            let taken = bob.post(&second, &[("nonce", &nonce), ("take", ADA)]).await;
            assert_eq!(taken.status, 200, "{}", taken.html);
            assert!(taken.html.contains(shown) && !taken.html.contains(['\u{202e}', '\u{3000}']), "{}", taken.html);
            assert_eq!(taken.html.contains(marked), is_marked, "{}", taken.html);
        }
        assert!(is_open(app, &id).await);
    }

    /// A draft that was pressed at an answered question leads to the outcome, as an answer does.
    async fn a_late_draft_leads_to_the_outcome(app: &mut TestApp) {
        directory(app).await;
        let (id, [first, second]) = asked(app, json!({})).await;
        let mut ada = app.person();
        let nonce = ada.open(&first).await.nonce();
        app.person().answer(&second, "approve").await;
        for button in [("draft", "save"), ("take", BOB)] {
            let late = ada.post(&first, &[("nonce", &nonce), ("comment", "late"), button]).await;
            assert_eq!(late.status, 303);
            assert!(ada.follow(&first, &late).await.html.contains(BOB));
        }
        assert!(!is_open(app, &id).await);
    }
}

on_one_store! {
    /// In a browser, with scripts and without: two people, one draft, and no key that sends it by accident.
    async fn a_draft_is_shared_in_a_browser(app: &mut TestApp) {
        directory(app).await;
        for (width, javascript) in [(390, true), (1280, true), (390, false)] {
            let (id, [first, second]) = asked(app, form(&contract())).await;
            let start = || Browser::start(BrowserOptions { width, height: 800, dark: false, javascript });
            let ada = start().await;
            ada.open(&first).await;
            ada.type_into("#f0", "250000").await;
            ada.press("button[name=draft]").await;
            assert!(ada.text().await.contains("Your draft is in this form"), "{}", ada.text().await);
            let bob = start().await;
            bob.open(&second).await;
            bob.press("button[name=take]").await;
            assert_eq!(bob.evaluate("document.getElementById('f0').value").await, "250000");
            assert!(is_open(app, &id).await);
            let first_button = "[...document.querySelector('form').elements].find((button) => button.type === 'submit').name";
            assert_eq!(bob.evaluate(first_button).await, "", "the key Enter answers, as before, and takes nothing over");
            for errors in [ada.console_errors().await, bob.console_errors().await] {
                assert!(errors.is_empty(), "{errors:?}");
            }
        }
    }

    async fn a_page_with_drafts_fits_every_width_and_breaks_no_rule_of_accessibility(app: &mut TestApp) {
        directory(app).await;
        let (id, [_, second]) = asked(app, form(&contract())).await;
        let (choice, [_, of_choice]) = asked(app, json!({})).await;
        let (ada, bob) = (key_of(app, ADA, "ada").await, key_of(app, BOB, "bob").await);
        save(&ada, &id, json!({"fields": {"/cap": "250000"}})).await.ok();
        save(&bob, &id, json!({"fields": {"/cap": "300000"}})).await.ok();
        save(&ada, &choice, json!({"comment": "Ask the carrier."})).await.ok();
        for look in looks() {
            let browser = Browser::start(BrowserOptions { width: look.0, height: 800, dark: look.1, javascript: false }).await;
            browser.open(&second).await;
            fits(&browser, "drafts", look).await;
            browser.press("button[name=take]").await;
            fits(&browser, "drafts-taken", look).await;
            browser.open(&of_choice).await;
            fits(&browser, "drafts-choice", look).await;
        }
    }
}
