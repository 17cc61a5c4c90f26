//! The numbers of a person and of a group.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::people::principal::Role;
use harness::api::Api;
use harness::app::TestApp;
use harness::browser::{Browser, BrowserOptions};
use harness::person::{Page, Person};
use harness::{on_each_store, on_one_store, rows};
use serde_json::json;
use store::overview::WINDOW_MAX;

use super::audit::become_person;
use super::inbox::copies_from;
use super::looks::{fits, looks};
use crate::people::assignees::{ADA, BOB, EVE, directory, list, mails};
use crate::people::logins::log_in;

async fn enter(app: &TestApp, address: &str) -> Person {
    mails(app).await;
    log_in(app, address).await
}

async fn open(app: &TestApp, person: &mut Person, query: &str) -> Page {
    person.open(&format!("{}dashboard{query}", app.base)).await
}

/// A page without its tags and with one space in place of many.
fn text(page: &Page) -> String {
    let (_, body) = page.html.split_once("<main").unwrap();
    let text: String =
        body.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text)).collect::<Vec<_>>().join(" ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Opens a question and answers it so many seconds later.
async fn decide(app: &TestApp, person: &mut Person, id: &str, seconds: i64, looks: i64) {
    let url = format!("{}questions/{id}", app.base);
    let nonce = person.open(&url).await.nonce();
    while rows::number(app, "SELECT count(*) AS number FROM views").await < looks {
        harness::pause::pause().await;
    }
    app.advance(seconds).await;
    let sent = person.post(&url, &[("nonce", &nonce), ("value", "approve")]).await;
    assert_eq!(sent.status, 303, "{}", sent.html);
}

/// Questions of each kind: answered at once and later, after a reminder, without an answer, to another person, and waiting.
async fn some(app: &mut TestApp, ada: &mut Person) {
    let cleaner = Api::new(&app.base, Some(&app.new_key_of(Role::Agent, "cleaner", "cleaner").await));
    let to_ada = json!({"notify_to": [ADA], "timeout_seconds": 600});
    let (_, fast) = cleaner.ask(to_ada.clone()).await;
    app.settle().await;
    decide(app, ada, &fast, 2, 1).await;
    let (_, slow) = cleaner.ask(to_ada.clone()).await;
    app.settle().await;
    decide(app, ada, &slow, 3, 2).await;
    let ladder = json!({"max_attempts": 2, "interval_seconds": 300});
    let (_, reminded) = app.ask(json!({"notify_to": [ADA], "retry_policy": ladder, "timeout_seconds": null})).await;
    app.advance(300).await;
    app.settle().await;
    decide(app, ada, &reminded, 60, 3).await;
    let fallback = json!({"notify_to": [ADA], "timeout_seconds": 100, "fallback_policy": "use_default_and_continue", "fallback_value": "deny"});
    app.ask(fallback).await;
    app.ask(json!({"notify_to": [ADA], "timeout_seconds": 100})).await;
    app.advance(101).await;
    app.ask(json!({"notify_to": [BOB], "timeout_seconds": 600})).await;
    app.ask(to_ada).await;
}

on_each_store! {
    /// The numbers of a person are those of the questions that came to that person, and no others.
    async fn a_person_sees_the_numbers_of_ones_own_questions(app: &mut TestApp) {
        directory(app).await;
        let (mut ada, mut bob) = (enter(app, ADA).await, enter(app, BOB).await);
        some(app, &mut ada).await;
        let page = open(app, &mut ada, "").await;
        let shown = text(&page);
        for words in [
            "Questions to you 6 questions, of the 7 newest ones on this server, since",
            "Waiting now 1",
            "Answered 3 60 % of the 5 that ended",
            "Silence taken for an answer 1 20 % of the 5 that ended",
            "Answered in under 3 seconds 1 of 3 answers whose first look is known",
            "3 of 5 questions that ended were answered",
            "Message 1 6 6 2",
            "Message 2 1 1 1",
            "1 of 3 answers came within 3 seconds of the first look",
            "cleaner 1 2",
        ] {
            assert!(shown.contains(words), "{words}: {shown}");
        }
        assert!(page.html.len() <= 60 * 1024 && !page.html.contains(" style="), "{} bytes", page.html.len());
        let bobs = text(&open(app, &mut bob, "").await);
        assert!(bobs.contains("Questions to you 1 question,") && bobs.contains("Waiting now 1"), "{bobs}");
        let inbox = ada.open(&format!("{}inbox", app.base)).await;
        assert!(inbox.html.contains("<a href=\"/dashboard\">"), "{}", inbox.html);
        assert_eq!(open(app, &mut app.person(), "").await.header("location"), "/login");
        app.settle().await;
    }

    /// A group is shown to its members, and to those who look after the server; others are not told that it exists.
    async fn a_group_is_shown_to_its_members(app: &mut TestApp) {
        let people = directory(app).await;
        list(app, "dan@example.com", "auditor").await;
        list(app, "fay@example.com", "operator").await;
        let (mut ada, mut eve) = (enter(app, ADA).await, enter(app, EVE).await);
        let (mut dan, mut fay) = (enter(app, "dan@example.com").await, enter(app, "fay@example.com").await);
        some(app, &mut ada).await;
        app.ask(json!({"assignees": {"groups": ["finance"]}, "timeout_seconds": 600})).await;
        app.settle().await;
        for person in [&mut ada, &mut eve, &mut dan] {
            let page = open(app, person, "?group=finance").await;
            let shown = text(&page);
            assert!(page.status == 200 && shown.contains("Questions to the people in finance 8 questions"), "{shown}");
            assert!(page.html.contains("<option selected>finance</option>"), "{}", page.html);
        }
        let long = format!("?group={}", "x".repeat(201));
        for query in ["?group=finance", "?group=nothing", &long] {
            let page = open(app, &mut fay, query).await;
            assert!(page.status == 404 && text(&page).contains("There is no group of this name"), "{query}: {}", page.html);
        }
        let none = text(&open(app, &mut fay, "?group=").await);
        assert!(none.contains("Questions to you 0 questions") && none.contains("No message about these questions"), "{none}");
        crate::people::assignees::remove(app, &people[1]).await;
        let shown = text(&open(app, &mut ada, "?group=finance").await);
        assert!(shown.contains("7 questions"), "the members count as they are now: {shown}");
        app.settle().await;
    }

    /// However many questions there are, so many are looked at, and the page says so.
    async fn the_numbers_are_those_of_a_window(app: &mut TestApp) {
        directory(app).await;
        let mut ada = enter(app, ADA).await;
        let (intent, id) = app.ask(json!({"notify_to": [ADA], "timeout_seconds": 600})).await;
        app.settle().await;
        app.operator().respond(intent, &id, "approve").await.ok();
        copies_from(app, 1_000_000, WINDOW_MAX - 2, &format!("0, suspended_at, '{ADA}'")).await;
        let shown = text(&open(app, &mut ada, "").await);
        assert!(shown.contains(&format!("of the {} newest ones", WINDOW_MAX - 1)) && !shown.contains("Older questions"), "{shown}");
        copies_from(app, 2_000_000, 1, &format!("0, suspended_at, '{ADA}'")).await;
        let shown = text(&open(app, &mut ada, "").await);
        assert!(shown.contains(&format!("of the {WINDOW_MAX} newest ones")) && shown.contains("Older questions are not counted."), "{shown}");
    }

    /// An agent chooses its name, and it stays a name.
    async fn hostile_names_stay_names_on_the_dashboard(app: &mut TestApp) {
        directory(app).await;
        let mut ada = enter(app, ADA).await;
        let agent = Api::new(&app.base, Some(&app.new_key(Role::Agent, "</th><script>\"x").await));
        let (_, id) = agent.ask(json!({"notify_to": [ADA], "timeout_seconds": 600})).await;
        app.settle().await;
        decide(app, &mut ada, &id, 0, 1).await;
        let page = open(app, &mut ada, "?group=%3Cscript%3E").await;
        assert!(page.status == 404 && page.html.matches("<script").count() == 1, "{}", page.html);
        let page = open(app, &mut ada, "").await;
        assert!(page.html.matches("<script").count() == 1 && page.html.contains("&#60;/th&#62;"), "{}", page.html);
        app.settle().await;
    }
}

/// A script that lists the words in heads of tables that stand on more than one line.
const BROKEN_HEADS: &str = "[...document.querySelectorAll('.many thead th')].flatMap((head) => {
    const walker = document.createTreeWalker(head, NodeFilter.SHOW_TEXT), broken = [];
    while (walker.nextNode()) {
        for (const word of walker.currentNode.data.matchAll(/\\S+/gu)) {
            const range = document.createRange();
            range.setStart(walker.currentNode, word.index);
            range.setEnd(walker.currentNode, word.index + word[0].length);
            if (range.getClientRects().length !== 1) broken.push(word[0]);
        }
    }
    return broken;
}).join(' ')";

/// A script that counts the dates in the table of outcomes that take more than two lines.
const LONG_DATES: &str = "[...document.querySelectorAll('[aria-labelledby=o] tbody th')].filter((date) => {
    const range = document.createRange();
    range.selectNodeContents(date);
    return range.getClientRects().length > 2;
}).length";

on_one_store! {
    /// On a phone no head of a table breaks inside a word, and no date takes three lines, in both languages, also of the overview of all questions.
    async fn heads_of_tables_do_not_break_inside_words(app: &mut TestApp) {
        directory(app).await;
        let (mut ada, eve) = (enter(app, ADA).await, enter(app, EVE).await);
        some(app, &mut ada).await;
        for width in [320, 390] {
            let browser = Browser::start(BrowserOptions { width, height: 800, dark: false, javascript: true }).await;
            for languages in ["en", "de"] {
                browser.speak(languages).await;
                for (page, person) in [("dashboard", &ada), ("audit/overview", &eve)] {
                    let name = format!("{page} {languages} at {width} px");
                    become_person(&browser, app, person).await;
                    browser.open(&format!("{}{page}", app.base)).await;
                    assert_eq!(browser.evaluate("document.documentElement.lang").await, languages);
                    assert_eq!(browser.evaluate("document.querySelectorAll('.many thead .n').length > 3").await, true, "{name}");
                    assert_eq!(browser.evaluate(BROKEN_HEADS).await, "", "{name}");
                    assert_eq!(browser.evaluate(LONG_DATES).await, 0, "{name}");
                    let (content, window) = browser.scroll_width().await;
                    assert!(content <= window, "{name}: {content} of {window}");
                }
            }
        }
    }

    /// The page is readable on a desk and on a phone, in both schemes, full and empty, without scripts.
    async fn the_dashboard_fits_every_width(app: &mut TestApp) {
        directory(app).await;
        let (mut ada, eve) = (enter(app, ADA).await, enter(app, EVE).await);
        some(app, &mut ada).await;
        for (width, dark) in looks() {
            let browser = Browser::start(BrowserOptions { width, height: 800, dark, javascript: false }).await;
            become_person(&browser, app, &ada).await;
            for (name, query) in [("dashboard", ""), ("dashboard-group", "?group=finance"), ("dashboard-missing", "?group=x")] {
                browser.open(&format!("{}dashboard{query}", app.base)).await;
                fits(&browser, name, (width, dark)).await;
            }
            become_person(&browser, app, &eve).await;
            browser.open(&format!("{}dashboard", app.base)).await;
            fits(&browser, "dashboard-empty", (width, dark)).await;
        }
    }
}
