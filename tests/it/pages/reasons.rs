//! Reasons for a no that the operator names: a person chooses one instead of typing it.

use domain::suspension::demand::COMMENT_BYTES_MAX;
use harness::app::TestApp;
use harness::browser::{Browser, BrowserOptions};
use harness::person::Page;
use harness::{on_each_store, on_one_store};
use serde_json::{Value, json};

use super::audit::become_person;
use super::looks::{fits, looks};
use crate::people::assignees::{ADA, directory, mails};
use crate::people::logins::log_in;

/// The server of these tests names two reasons.
async fn with_reasons(app: &mut TestApp) {
    directory(app).await;
    let reasons = ["Out of budget", "Ask legal first <b>"].map(str::to_owned);
    app.restart_with(|config| config.inbox.reasons = reasons.to_vec()).await;
}

fn yes_no(question: &str) -> Value {
    json!({"question": question, "response_type": "confirm", "choices": null, "notify_to": [ADA]})
}

/// Whether a page offers reasons.
fn offers(page: &Page) -> bool {
    page.html.contains("<select id=\"reason\"")
}

on_each_store! {
    /// The agent and the record must get the reason as if the person had typed it, and no answer may carry a reason against itself.
    async fn a_reason_is_the_comment_of_a_no(app: &mut TestApp) {
        with_reasons(app).await;
        mails(app).await;
        let mut ada = log_in(app, ADA).await;
        let too_long = "x".repeat(COMMENT_BYTES_MAX - "Out of budget".len());
        let longest = &too_long[1..];
        for (typed, comment) in [
            ("", "Out of budget".to_owned()),
            ("Next year.", "Out of budget\nNext year.".to_owned()),
            (longest, format!("Out of budget\n{longest}")),
        ] {
            let (intent, id) = app.ask(yes_no("Buy it?")).await;
            let url = format!("{}questions/{id}", app.base);
            let page = ada.open(&url).await;
            assert!(offers(&page) && page.html.contains("<option>Ask legal first &#60;b&#62;</option>"), "{}", page.html);
            let nonce = page.nonce();
            let send = |value| [("nonce", nonce.as_str()), ("value", value), ("reason", "Out of budget"), ("comment", typed)];
            let yes = ada.post(&url, &send("yes")).await;
            assert_eq!(yes.status, 422);
            for words in ["goes with a no alone", "<a href=\"#reason\">", "<option selected>Out of budget</option>", "id=\"reasone\""] {
                assert!(yes.html.contains(words), "{words}: {}", yes.html);
            }
            let mut long = send("no");
            long[3].1 = &too_long;
            let refused = ada.post(&url, &long).await;
            assert!(refused.status == 422 && refused.html.contains("at most 4 KiB"), "{}", refused.html);
            assert!(refused.html.contains(&format!("\n{too_long}</textarea>")), "nothing typed is lost");
            let answered = ada.post(&url, &send("no")).await;
            assert_eq!(answered.status, 303, "{}", answered.html);
            let recorded = app.operator().suspension(&id).await;
            assert_eq!((&recorded["response"], &recorded["metadata"]["comment"]), (&json!("no"), &json!(comment)), "{recorded}");
            let events = app.operator().events(intent).await;
            let resumed = events.iter().find(|event| event["event_type"] == "intent.resumed").unwrap();
            assert!(resumed.to_string().contains("Out of budget"), "{resumed}");
        }
    }

    /// The demand for a comment is satisfied by a reason; the link of a message offers the reasons, too.
    async fn a_reason_is_enough_where_a_comment_is_demanded(app: &mut TestApp) {
        with_reasons(app).await;
        let mut question = yes_no("Buy it?");
        question["comment_on_refusal"] = json!(true);
        mails(app).await;
        let (_, id) = app.ask(question).await;
        let link = mails(app).await.last().unwrap().1.clone();
        let mut person = app.person();
        let page = person.open(&link).await;
        assert!(offers(&page), "{}", page.html);
        let nonce = page.nonce();
        let without = person.post(&link, &[("nonce", &nonce), ("value", "no"), ("reason", "")]).await;
        assert!(without.status == 422 && without.html.contains("<a href=\"#comment\">"), "{}", without.html);
        let with = person.post(&link, &[("nonce", &nonce), ("value", "no"), ("reason", "Ask legal first <b>")]).await;
        assert_eq!(with.status, 303, "{}", with.html);
        assert_eq!(app.operator().suspension(&id).await["metadata"]["comment"], json!("Ask legal first <b>"));
        app.settle().await;
    }

    /// Where no answer is a no, a reason would say nothing; without the setting the page is as it was.
    async fn reasons_are_offered_for_a_no_alone(app: &mut TestApp) {
        directory(app).await;
        mails(app).await;
        let mut ada = log_in(app, ADA).await;
        let cities = json!([{"value": "eu", "label": "Europe"}, {"value": "us", "label": "America"}]);
        let (_, unset) = app.ask(yes_no("Buy it?")).await;
        assert!(!offers(&ada.open(&format!("{}questions/{unset}", app.base)).await));
        app.restart_with(|config| config.inbox.reasons = vec!["Out of budget".to_owned()]).await;
        mails(app).await;
        let mut ada = log_in(app, ADA).await;
        for (change, offered) in [
            (json!({"question": "Where?", "choices": cities, "notify_to": [ADA]}), false),
            (json!({"question": "What?", "response_type": "text", "choices": [], "notify_to": [ADA]}), false),
            (yes_no("Buy it?"), true),
        ] {
            let (_, id) = app.ask(change.clone()).await;
            assert_eq!(offers(&ada.open(&format!("{}questions/{id}", app.base)).await), offered, "{change}");
        }
        app.settle().await;
    }
}

on_one_store! {
    /// A no with its reason takes keys alone, with scripts and without.
    async fn a_reason_is_chosen_with_the_keyboard_alone(app: &mut TestApp) {
        with_reasons(app).await;
        mails(app).await;
        let ada = log_in(app, ADA).await;
        for javascript in [true, false] {
            let (_, id) = app.ask(yes_no("Buy it?")).await;
            let browser = Browser::start(BrowserOptions { width: 1280, height: 800, dark: false, javascript }).await;
            become_person(&browser, app, &ada).await;
            browser.open(&format!("{}questions/{id}", app.base)).await;
            browser.evaluate("document.querySelector('#reason').focus()").await;
            // The first letter chooses an option; Tab leads to the choices behind it.
            browser.key("o").await;
            browser.key("\u{E004}").await;
            browser.key("\u{E004}").await;
            assert_eq!(browser.evaluate("document.activeElement.value").await, "no");
            browser.press_enter().await;
            assert!(browser.text().await.contains("Your answer was recorded"), "{}", browser.text().await);
            assert_eq!(app.operator().suspension(&id).await["metadata"]["comment"], json!("Out of budget"));
        }
    }

    /// The field fits every width, also with an error.
    async fn the_reasons_fit_every_width(app: &mut TestApp) {
        with_reasons(app).await;
        app.restart_with(|config| config.inbox.reasons.push("Donaudampfschifffahrtsgesellschaft".repeat(2))).await;
        mails(app).await;
        let ada = log_in(app, ADA).await;
        let (_, id) = app.ask(yes_no("Deploy billing-api 4.18.0 to production now?")).await;
        for (width, dark) in looks() {
            let browser = Browser::start(BrowserOptions { width, height: 800, dark, javascript: true }).await;
            become_person(&browser, app, &ada).await;
            browser.open(&format!("{}questions/{id}", app.base)).await;
            fits(&browser, "reasons", (width, dark)).await;
            browser.evaluate("document.querySelector('#reason').selectedIndex = 1").await;
            browser.press("button[value=yes]").await;
            fits(&browser, "reasons-wrong", (width, dark)).await;
        }
    }
}
