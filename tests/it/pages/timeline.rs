//! The picture of what happened to one question, on its page for a person who logged in.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use harness::app::TestApp;
use harness::browser::{Browser, BrowserOptions};
use harness::person::Page;
use harness::{on_each_store, on_one_store, rows};
use serde_json::{Value, json};

use super::audit::become_person;
use super::looks::{fits, looks};
use crate::people::assignees::{ADA, BOB, directory, key_of, mails};
use crate::people::logins::log_in;
use crate::people::quorums::take_back;

/// The moments in the table, without tags and times.
fn moments(page: &Page) -> Vec<String> {
    let (_, table) = page.html.split_once("<h2 id=\"so\">").unwrap_or_else(|| panic!("no picture: {}", page.html));
    let (table, _) = table.split_once("</table>").unwrap();
    let rows = table.split("</svg> ").skip(1).filter_map(|row| row.split("</td>").next());
    let text = |row: &str| row.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text)).collect::<String>();
    rows.map(text).filter(|row| !row.contains('\n')).collect()
}

/// Waits until so many first looks are noted.
async fn seen(app: &TestApp, count: i64) {
    while rows::number(app, "SELECT count(*) AS number FROM views").await < count {
        harness::pause::pause().await;
    }
}

fn laddered() -> Value {
    let ladder = json!({"max_attempts": 3, "interval_seconds": 300, "escalation_ladder": [{"attempt": 2, "notify_to": BOB}]});
    json!({"question": "Deploy billing-api 4.18.0 to production now?", "notify_to": [ADA], "retry_policy": ladder, "timeout_seconds": null})
}

on_each_store! {
    /// A person who is asked must see who else was told and when, from the asking to the answer.
    async fn a_question_shows_what_happened_to_it(app: &mut TestApp) {
        directory(app).await;
        mails(app).await;
        let mut ada = log_in(app, ADA).await;
        let (intent, id) = app.ask(laddered()).await;
        let link = mails(app).await.remove(0).1;
        let url = format!("{}questions/{id}", app.base);
        assert!(!app.person().open(&link).await.html.contains("id=\"so\""), "a link shows no history");
        seen(app, 1).await;
        app.advance(300).await;
        app.settle().await;
        let page = ada.open(&url).await;
        let expected = ["Asked by test-agent", "Message delivered to ada@example.com", "First seen by ada@example.com", "Escalated to bob@example.com"];
        assert_eq!(moments(&page), expected, "{}", page.html);
        assert!(page.html.contains("<line class=\"on\"") && page.html.contains("<line class=\"due\"") && page.html.contains("c-time"), "{}", page.html);
        assert!(!page.html.contains(" style="), "the policy would block it");
        app.advance(300).await;
        app.settle().await;
        key_of(app, BOB, "bob").await.respond(intent, &id, "approve").await.ok();
        let page = ada.open(&url).await;
        let shown = moments(&page);
        assert_eq!(shown[..4], expected, "{}", page.html);
        assert!(shown[4..].iter().any(|moment| moment.starts_with("Reminder delivered to")), "{shown:?}");
        assert_eq!(shown.last().unwrap(), "Answered by bob@example.com");
    }

    /// A form that comes back shows the same page, with the picture: a person who mends a mistake decides with what was there before.
    async fn a_form_that_comes_back_keeps_the_picture(app: &mut TestApp) {
        directory(app).await;
        mails(app).await;
        let mut ada = log_in(app, ADA).await;
        let (_, id) = app.ask(json!({"response_type": "text", "choices": [], "notify_to": [ADA]})).await;
        let link = mails(app).await.remove(0).1;
        let url = format!("{}questions/{id}", app.base);
        let page = ada.open(&url).await;
        let (nonce, before) = (page.nonce(), moments(&page));
        assert!(!before.is_empty());
        for (fields, status) in [
            (vec![("value", "")], 422),
            (vec![("value", "one"), ("value", "two")], 422),
            (vec![("value", ""), ("draft", "save")], 422),
            (vec![("value", "half"), ("draft", "save")], 200),
        ] {
            let fields: Vec<(&str, &str)> = [("nonce", nonce.as_str()), ("person", ADA)].into_iter().chain(fields).collect();
            let page = ada.post(&url, &fields).await;
            assert_eq!(page.status, status, "{fields:?}");
            assert!(moments(&page).starts_with(&before), "{fields:?}: {}", page.html);
        }
        let mut person = app.person();
        let nonce = person.open(&link).await.nonce();
        let refused = person.post(&link, &[("nonce", &nonce), ("value", "")]).await;
        assert!(refused.status == 422 && !refused.html.contains("id=\"so\""), "a link shows no history: {}", refused.html);
    }

    /// Answers that count, and an end without an answer, have words of their own.
    async fn each_end_of_a_question_has_its_word(app: &mut TestApp) {
        directory(app).await;
        mails(app).await;
        let mut ada = log_in(app, ADA).await;
        let group = json!({"assignees": {"groups": ["finance"]}, "quorum": {"required_approvals": 2}, "timeout_seconds": 100});
        let (intent, agreed) = app.ask(group).await;
        let (_, late) = app.ask(json!({"notify_to": [ADA], "timeout_seconds": 100})).await;
        let (_, withdrawn) = app.ask(json!({"notify_to": [ADA], "timeout_seconds": 100})).await;
        let bob = key_of(app, BOB, "bob").await;
        bob.respond(intent, &agreed, "approve").await.ok();
        app.agent().post(&format!("api/v1/suspensions/{withdrawn}/cancel"), json!({})).await.ok();
        let counted = ada.open(&format!("{}questions/{agreed}", app.base)).await;
        assert!(moments(&counted).contains(&"bob@example.com answered, and more people must agree".to_owned()), "{}", counted.html);
        // The end of the question does not hide how people came to it.
        take_back(&bob, &agreed).await.ok();
        bob.respond(intent, &agreed, "approve").await.ok();
        key_of(app, ADA, "ada").await.respond(intent, &agreed, "approve").await.ok();
        let ended = ada.open(&format!("{}questions/{agreed}", app.base)).await;
        let answers: Vec<String> = moments(&ended).into_iter().filter(|moment| moment.contains("nswer")).collect();
        let counts = "bob@example.com answered, and more people must agree";
        let expected = [counts, "bob@example.com took the answer back", counts, "Answered by ada@example.com"];
        assert_eq!(answers, expected, "{}", ended.html);
        app.advance(101).await;
        for (id, words) in [(&late, "Closed: no person answered in time"), (&withdrawn, "Closed without an answer")] {
            let page = ada.open(&format!("{}questions/{id}", app.base)).await;
            assert_eq!(moments(&page).last().unwrap(), words, "{}", page.html);
        }
    }
}

/// A script that counts the addresses in plans and boxes, and lists those that stand on more than one line.
const BROKEN_ADDRESSES: &str = "(() => {
    const found = { count: 0, broken: [] };
    for (const box of document.querySelectorAll('.plan, .state')) {
        const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) {
            for (const word of walker.currentNode.data.matchAll(/\\S+@\\S+/gu)) {
                const range = document.createRange();
                range.setStart(walker.currentNode, word.index);
                range.setEnd(walker.currentNode, word.index + word[0].length);
                const lines = range.getClientRects().length;
                if (lines > 0) found.count++;
                if (lines > 1) found.broken.push(word[0]);
            }
        }
    }
    return found;
})()";

on_one_store! {
    /// An address that breaks inside a word is hard to read, and may be taken for another one.
    async fn addresses_stay_whole_on_a_phone(app: &mut TestApp) {
        directory(app).await;
        mails(app).await;
        let (intent, id) = app.ask(laddered()).await;
        let link = mails(app).await.remove(0).1;
        for is_answered in [false, true] {
            if is_answered {
                key_of(app, BOB, "bob").await.respond(intent, &id, "approve").await.ok();
            }
            for width in [320, 390] {
                let browser = Browser::start(BrowserOptions { width, height: 800, dark: false, javascript: false }).await;
                browser.open(&link).await;
                let found = browser.evaluate(BROKEN_ADDRESSES).await;
                assert_eq!((found["count"].as_u64() > Some(0), &found["broken"]), (true, &json!([])), "answered: {is_answered}, at {width} px");
            }
        }
    }

    /// The picture is readable on a desk and on a phone, in both schemes, open and ended, without scripts.
    async fn the_picture_of_a_question_fits_every_width(app: &mut TestApp) {
        directory(app).await;
        mails(app).await;
        let mut ada = log_in(app, ADA).await;
        let (intent, id) = app.ask(laddered()).await;
        app.advance(40).await;
        ada.open(&format!("{}questions/{id}", app.base)).await;
        seen(app, 1).await;
        app.advance(260).await;
        app.settle().await;
        app.advance(300).await;
        app.settle().await;
        app.advance(120).await;
        for (width, dark) in looks() {
            let browser = Browser::start(BrowserOptions { width, height: 800, dark, javascript: false }).await;
            become_person(&browser, app, &ada).await;
            browser.open(&format!("{}questions/{id}", app.base)).await;
            fits(&browser, "timeline", (width, dark)).await;
        }
        app.operator().respond(intent, &id, "approve").await.ok();
        for (width, dark) in looks() {
            let browser = Browser::start(BrowserOptions { width, height: 800, dark, javascript: true }).await;
            become_person(&browser, app, &ada).await;
            browser.open(&format!("{}questions/{id}", app.base)).await;
            fits(&browser, "timeline-ended", (width, dark)).await;
        }
    }
}
