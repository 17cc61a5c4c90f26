//! An open page that keeps itself up to date: the requests it makes, and the changes a person sees.

#![expect(clippy::unwrap_used, reason = "these functions serve tests alone")]

use domain::people::principal::Role;
use harness::app::{OPERATOR, TestApp};
use harness::browser::{Browser, BrowserOptions};
use harness::on_each_store;
use harness::person::Page;
use serde_json::{Value, json};

use crate::pages::looks::picture;

/// Asks a question on a new intent. Returns the suspension's id and the link in the operator's mail.
async fn asked(app: &TestApp, change: Value) -> (String, String) {
    let agent = app.agent();
    let intent = agent.active_intent().await;
    let id = agent.suspend(intent, change).await.ok()["id"].as_str().unwrap().to_owned();
    app.settle().await;
    (id, app.next_link().await)
}

async fn state(app: &TestApp, link: &str) -> Page {
    app.person().open(&format!("{link}/state")).await
}

fn told(page: &Page) -> Value {
    assert_eq!(page.status, 200, "{}", page.html);
    serde_json::from_str(&page.html).unwrap()
}

on_each_store! {
    /// The page's script learns from this reply how a question ended, by one word for each ending, and the time left by the
    /// server's clock.
    async fn the_state_says_whether_a_question_is_open_and_for_how_long(app: &mut TestApp) {
        let agent = app.agent();
        let (_, forever) = asked(app, json!({"timeout_seconds": null})).await;
        assert_eq!(told(&state(app, &forever).await), json!({"ended": null, "left_ms": null, "deadline": null}));

        let (id, link) = asked(app, json!({})).await;
        let deadline = json!({"at": "2026-11-24T09:00:00Z", "text": "Tue 24 Nov, 09:00 UTC", "window_ms": 3_600_000});
        assert_eq!(told(&state(app, &link).await), json!({"ended": null, "left_ms": 3_600_000, "deadline": deadline}));
        app.advance(60).await;
        assert_eq!(told(&state(app, &link).await), json!({"ended": null, "left_ms": 3_540_000, "deadline": deadline}));
        app.person().answer(&link, "deny").await;
        assert_eq!(told(&state(app, &link).await)["ended"], "answered");
        assert_eq!(agent.suspension(&id).await["response"], json!("deny"));

        let (id, link) = asked(app, json!({})).await;
        agent.post(&format!("api/v1/suspensions/{id}/cancel"), json!({})).await.ok();
        assert_eq!(told(&state(app, &link).await)["ended"], "withdrawn");

        let intent = agent.active_intent().await;
        let id = agent.asked(intent).await;
        app.settle().await;
        let link = app.next_link().await;
        agent.suspend(intent, json!({"supersedes": id})).await.ok();
        assert_eq!(told(&state(app, &link).await)["ended"], "superseded");
        app.settle().await;
        app.smtp.next_mail().await;

        let (_, link) = asked(app, json!({"timeout_seconds": 10})).await;
        app.clock.jump(chrono::TimeDelta::seconds(10)); // The timer has not run yet, but no answer counts any more.
        let ended = told(&state(app, &link).await);
        assert_eq!((&ended["ended"], &ended["left_ms"]), (&json!("expired"), &json!(0)));
        app.settle().await;
        assert_eq!(told(&state(app, &link).await)["ended"], "expired");
    }

    /// A request for the state reveals no more than the page: it has the same refusals, headers and limit, and sets no cookie.
    async fn the_state_is_as_closed_as_the_page(app: &mut TestApp) {
        let (id, link) = asked(app, json!({})).await;
        let open = state(app, &link).await;
        assert_eq!((open.header("content-type"), open.header("cache-control")), ("application/json", "no-store"));
        assert_eq!((open.header("cross-origin-resource-policy"), open.header("x-robots-tag")), ("same-origin", "noindex"));
        assert_eq!((open.set_cookie(), open.header("access-control-allow-origin")), (None, ""));
        let unknown = format!("{}a/plc_{}", app.base, "AAAAAAAAAAEA".to_owned() + &"A".repeat(42));
        for link in [unknown, format!("{}a/x", app.base)] {
            let (page, state) = (app.person().open(&link).await, state(app, &link).await);
            assert_eq!((state.status, &state.html), (404, &page.html));
        }
        let mut person = app.person();
        for method in [reqwest::Method::POST, reqwest::Method::PUT, reqwest::Method::DELETE] {
            let request = person.request(method, &format!("{link}/state")).body("value=approve");
            assert!([404, 405].contains(&person.send(request).await.status));
        }
        assert!(app.agent().suspension(&id).await["resolution"].is_null());

        let began = tokio::time::Instant::now();
        // Requests for the page and for its state both count. The limit is 120 a minute, so another one is allowed every half
        // second.
        let mut opened = 1.0;
        loop {
            let status = if opened % 2.0 == 0.0 { person.open(&link).await.status } else { state(app, &link).await.status };
            if status == 429 {
                break;
            }
            opened += 1.0;
            assert!(opened <= 121.0 + began.elapsed().as_secs_f64() * 2.0, "{opened} in {:?}", began.elapsed());
        }
        assert!(opened >= 120.0, "only {opened}");
    }
}

/// Simulates a return to the tab, on which the page asks for its state at once, and waits until `done` holds.
async fn look_again(browser: &Browser, done: &str) {
    let js = format!(
        "new Promise((yes) => {{
            const check = () => ({done}) && yes(true);
            new MutationObserver(check).observe(document.body, {{subtree: true, attributes: true, childList: true, characterData: true}});
            dispatchEvent(new Event('focus'));
            check();
        }})"
    );
    assert_eq!(browser.evaluate(&js).await, true, "{done}");
}

on_each_store! {
    /// While a person types a comment, time passes and a colleague answers. The page says both and keeps the typed text and the
    /// cursor.
    async fn a_page_counts_down_and_says_that_somebody_else_answered(app: &mut TestApp) {
        let (_, link) = asked(app, json!({"timeout_seconds": 4 * 3600})).await;
        let browser = Browser::start(BrowserOptions { width: 390, height: 800, dark: false, javascript: true }).await;
        browser.open(&link).await;
        let left = "document.querySelector('.left').textContent";
        let spoken = "document.getElementById('spoken').textContent";
        assert_eq!(browser.evaluate("document.getElementById('live').hidden").await, true);
        assert_eq!(browser.evaluate("document.querySelector('.made').hidden").await, true, "the time is live now");
        browser.type_into("#comment", "Ask the carrier fir").await;
        app.advance(3600).await;
        look_again(&browser, &format!("{left} == '3 h left'")).await;
        assert_eq!(browser.evaluate("document.querySelector('.decide').classList.contains('soon')").await, false);
        app.advance(2 * 3600 + 5).await; // The last quarter of the time begins.
        look_again(&browser, &format!("{left} == '1 h left'")).await;
        assert_eq!(browser.evaluate("document.querySelector('.decide').classList.contains('soon')").await, true);
        assert_eq!(browser.evaluate("document.querySelector('.bar rect').getAttribute('width')").await, "25%");
        assert_eq!(browser.evaluate(spoken).await, "", "moving digits are not read out");
        app.advance(45 * 60).await;
        look_again(&browser, &format!("{left} == '15 min left' && {spoken} == '15 min left'")).await;
        app.advance(13 * 60).await;
        look_again(&browser, &format!("{left} == '2 min left' && {spoken} == '2 min left'")).await;
        app.advance(60).await;
        look_again(&browser, &format!(r"/^5?\d s left$/.test({left}) && /^5?\d s left$/.test({spoken})")).await;

        app.person().answer(&link, "deny").await;
        look_again(&browser, "!document.getElementById('live').hidden").await;
        assert!(browser.text().await.contains("This question was answered while you read it"));
        assert_eq!(browser.evaluate(spoken).await, "This question was answered while you read it");
        assert_eq!(browser.accessibility_violations().await, [""; 0]);
        picture(&browser, "closed-while-read-390-light").await;
        assert_eq!(browser.evaluate(left).await, "Closed");
        browser.type_into("#comment", "st").await;
        assert_eq!(browser.evaluate("document.activeElement.id + ': ' + document.activeElement.value").await, "comment: Ask the carrier first");
        let locked = "document.querySelectorAll('button:not([aria-disabled=true])').length";
        assert_eq!(browser.evaluate(locked).await, 0);
        browser.click("button[value=approve]").await;
        assert_eq!(browser.url().await, link, "a press leads nowhere");
        browser.press("#live a").await;
        assert_eq!(browser.find_all_text("h1").await, ["Your answer was recorded"]);
        assert_eq!(browser.console_errors().await, [""; 0]);
    }

    /// When a deadline is extended, an open page must show the new deadline. The old one would hurry people without need.
    async fn a_page_learns_of_a_later_deadline(app: &mut TestApp) {
        let (id, link) = asked(app, json!({})).await;
        let browser = Browser::start(BrowserOptions { width: 390, height: 800, dark: false, javascript: true }).await;
        browser.open(&link).await;
        browser.type_into("#comment", "Ask the carrier").await;
        app.advance(3590).await;
        look_again(&browser, r"/^1?\d s left$/.test(document.querySelector('.left').textContent)").await;
        app.operator().post(&format!("api/v1/suspensions/{id}/extend"), json!({"seconds": 7_200})).await.ok();
        look_again(&browser, "document.querySelector('.left').textContent.startsWith('2 h')").await;
        let times = "[...document.querySelectorAll('time')].map((time) => time.textContent.slice(-9)).join()";
        let times = browser.evaluate(times).await;
        // The deadline stands beside the countdown, above it and in the plan. The time at which the question was asked stays.
        assert_eq!(times, "08:00 UTC,11:00 UTC,11:00 UTC,08:00 UTC,11:00 UTC");
        assert_eq!(browser.evaluate("document.querySelector('.decide').classList.contains('soon')").await, false);
        assert_eq!(browser.evaluate("document.querySelector('#comment').value").await, "Ask the carrier");
        assert_eq!(browser.accessibility_violations().await, [""; 0]);
        assert_eq!(browser.console_errors().await, [""; 0]);
    }

    /// If the server is gone while a person types, the page says so, sends no answer, and keeps the text until the server is
    /// back.
    async fn a_page_whose_server_is_gone_says_so_and_keeps_what_was_typed(app: &mut TestApp) {
        let (_, link) = asked(app, json!({})).await;
        let browser = Browser::start(BrowserOptions { width: 390, height: 800, dark: false, javascript: true }).await;
        browser.open(&link).await;
        // The page's first request for its state has been answered, so the time shown is live.
        look_again(&browser, "performance.getEntriesByType('resource').some((entry) => entry.name.endsWith('/state') && entry.responseEnd)").await;
        browser.type_into("#comment", "Ask the carrier first").await;
        let gone = "!document.getElementById('gone').hidden";
        assert_eq!(browser.evaluate(gone).await, false);
        browser.evaluate("window.reached = window.fetch; window.fetch = () => Promise.reject(new TypeError('Failed to fetch'))").await;
        browser.click("button[value=approve]").await;
        look_again(&browser, gone).await;
        assert!(browser.text().await.contains("The server does not answer"), "{}", browser.text().await);
        assert_eq!(browser.accessibility_violations().await, [""; 0]);
        picture(&browser, "server-gone-390-light").await;
        assert_eq!(browser.url().await, link, "the press led nowhere");
        assert_eq!(browser.evaluate("document.getElementById('comment').value").await, "Ask the carrier first");
        assert_eq!(browser.evaluate("document.querySelectorAll('[aria-disabled]').length").await, 0);
        assert_eq!(browser.evaluate("document.getElementById('live').hidden").await, true, "nothing has ended");
        browser.evaluate("window.fetch = window.reached").await;
        look_again(&browser, "document.getElementById('gone').hidden").await;
        browser.press("button[value=approve]").await;
        let shown = app.person().open(&link).await;
        assert!(shown.heading() == "Your answer was recorded" && shown.html.contains("Ask the carrier first"), "{}", shown.html);
    }

    /// If scripts cannot reach the server, the page can still be answered as if it had no script.
    async fn a_page_that_may_not_ask_is_answered_all_the_same(app: &mut TestApp) {
        let (_, link) = asked(app, json!({})).await;
        let browser = Browser::start(BrowserOptions { width: 390, height: 800, dark: false, javascript: true }).await;
        browser.refuse("*/state").await;
        browser.open(&link).await;
        look_again(&browser, "!document.getElementById('gone').hidden").await;
        browser.press("button[value=approve]").await;
        assert!(browser.text().await.contains("Your answer was recorded"));
        assert_eq!(app.person().open(&link).await.heading(), "Your answer was recorded");
    }

    /// A zone has one name on a German page: the server writes the title and the first text, and the script all times.
    async fn a_german_page_has_one_name_for_its_zone(app: &mut TestApp) {
        let person = json!({"address": OPERATOR, "role": "operator", "time_zone": "Europe/Berlin", "locale": "de"});
        app.api(Role::Admin).post("api/v1/people", person).await.ok();
        let (_, link) = asked(app, json!({"timeout_seconds": 3600})).await;
        let served = app.person().open(&link).await.html;
        assert!(served.contains("10:00 MEZ</title>") && !served.contains(":00 CET"), "{served}");
        let browser = Browser::start(BrowserOptions { width: 390, height: 800, dark: false, javascript: true }).await;
        browser.open(&link).await;
        let text = browser.text().await;
        assert!(text.contains("MEZ") && !text.contains("CET") && !text.contains("GMT"), "{text}");
        assert!(browser.evaluate("document.title").await.to_string().contains("10:00 MEZ"));
    }

    /// Few people think in UTC. The page shows times in the reader's own zone; without a script it shows UTC and says so.
    async fn times_are_told_in_the_readers_zone(app: &mut TestApp) {
        let policy = json!({"max_attempts": 2, "interval_seconds": 3600});
        let (_, link) = asked(app, json!({"timeout_seconds": 3600, "retry_policy": policy})).await;
        let told = "[...document.querySelectorAll('time')].map((time) => time.textContent).join(' | ')";
        let browser = Browser::start(BrowserOptions { width: 390, height: 800, dark: false, javascript: true }).await;
        for (zone, times) in [("Asia/Kolkata", ["13:30 GMT+5:30", "15:30 GMT+5:30"]), ("Europe/Berlin", ["09:00 CET", "11:00 CET"])] {
            browser.move_to(zone).await;
            browser.open(&link).await;
            let said = browser.evaluate(told).await.to_string();
            assert!(times.iter().all(|time| said.contains(time)) && !said.contains("UTC"), "{zone}: {said}");
            assert!(!browser.text().await.contains("UTC"), "{}", browser.text().await);
        }
        let plain = Browser::start(BrowserOptions { width: 390, height: 800, dark: false, javascript: false }).await;
        plain.move_to("Europe/Berlin").await;
        plain.open(&link).await;
        let text = plain.text().await;
        assert!(text.contains("Tue 24 Nov, 10:00 UTC") && text.contains("Times in UTC.") && !text.contains("CET"), "{text}");
        browser.press("button[value=approve]").await;
        let text = browser.text().await;
        assert!(text.contains("CET") && !text.contains("UTC"), "the last page tells them as the first does: {text}");
        assert_eq!(browser.console_errors().await, [""; 0]);
    }
}
