//! The page about the work around a question: which work waits for which, and the deadlines of portfolios.

#![expect(clippy::unwrap_used, reason = "these functions serve tests alone")]

use domain::base::clock::Clock;
use domain::base::ids::IntentId;
use domain::base::time::rfc3339;
use domain::people::principal::Role;
use harness::api::Api;
use harness::app::TestApp;
use harness::browser::{Browser, BrowserOptions};
use harness::{on_each_store, on_one_store};
use serde_json::{Value, json};
use store::work::WORKS_MAX;

use crate::pages::looks::{fits, looks, picture};

const INTENTS: &str = "api/v1/intents";

async fn intent(api: &Api, title: &str, depends_on: &[IntentId]) -> IntentId {
    let body = json!({"title": title, "status": "active", "depends_on": depends_on});
    api.post(INTENTS, body).await.ok()["id"].as_str().unwrap().parse().unwrap()
}

async fn complete(api: &Api, intent: IntentId) {
    let version = api.intent(intent).await["version"].to_string();
    api.post_at(&format!("{INTENTS}/{intent}/status"), &version, json!({"status": "completed"})).await.ok();
}

async fn portfolio(api: &Api, name: &str, rules: Value, members: &[IntentId]) {
    let made = api.post("api/v1/portfolios", json!({"name": name, "governance_policy": rules})).await.ok();
    for member in members {
        let place = format!("api/v1/portfolios/{}/intents", made["id"].as_str().unwrap());
        api.post(&place, json!({"intent_id": member})).await.ok();
    }
}

/// Asks on the intent; returns the address of the question's page.
async fn asked(app: &TestApp, intent: IntentId) -> String {
    app.agent().asked(intent).await;
    app.settle().await;
    app.next_link().await
}

/// A question whose intent needs two others, and for which two wait, one by way of the other; all in a portfolio.
async fn around(app: &TestApp, title: &str) -> (IntentId, String) {
    let agent = app.agent();
    let (done, open) = (intent(&agent, "Read the contract", &[]).await, intent(&agent, "Check the vendor", &[]).await);
    let asks = intent(&agent, title, &[done]).await;
    complete(&agent, done).await;
    let pays = intent(&agent, "Pay the invoice", &[asks, open]).await;
    let report = intent(&agent, "Report to the board", &[pays, done]).await;
    let deadline = rfc3339(app.clock.now() + chrono::TimeDelta::hours(5));
    portfolio(&agent, "Invoices of November", json!({"deadline": deadline}), &[asks, done, report]).await;
    (asks, asked(app, asks).await)
}

on_each_store! {
    /// The page names the work that waits and the work that is needed, each with how far it is, and the portfolio with its deadline.
    async fn a_person_sees_what_waits_for_the_answer(app: &mut TestApp) {
        let (asks, link) = around(app, "Approve <b>invoice</b> 7").await;
        app.restart().await;
        let page = app.person().open(&link).await.html;
        assert!(page.contains("2 other pieces of work wait for this.") && page.contains("/work\">See which</a>"), "{page}");
        let page = app.person().open(&format!("{link}/work")).await.html;
        for words in ["Read the contract", "Pay the invoice", "Report to the board", "Invoices of November", "1 of 3 completed", "Waits for a person", "Cannot go on", "It ends"] {
            assert!(page.contains(words), "{words}: {page}");
        }
        assert!(!page.contains("<b>invoice</b>") && !page.contains("<script"), "{page}");
        // Also the line from what the question needed to what waits for both.
        assert_eq!(page.matches("class=\"line\"").count(), 4, "{page}");
        // Another intent that is needed by one that waits is no work around the question.
        assert!(!page.contains("Check the vendor"), "{page}");
        let before = app.agent().everything(asks).await;
        let client = reqwest::Client::new();
        assert_eq!(client.head(format!("{link}/work")).send().await.unwrap().status(), 200);
        assert_eq!(client.post(format!("{link}/work")).send().await.unwrap().status(), 405);
        assert_eq!(client.get(format!("{}a/plc_AAAA/work", app.base)).send().await.unwrap().status(), 404);
        assert_eq!(app.agent().everything(asks).await, before);
        // After the answer, the link leads to the outcome, and not to what becomes of the work.
        app.person().answer(&link, "approve").await;
        let page = client.get(format!("{link}/work")).send().await.unwrap();
        assert!(page.url().as_str() == link && page.text().await.unwrap().contains("Your answer was recorded"));
    }

    /// The holder of a link sees the titles of what the agent that asks may read, and no others.
    async fn a_person_sees_no_work_that_the_agent_may_not_read(app: &mut TestApp) {
        let agent = app.agent();
        let other = Api::new(&app.base, Some(&app.new_key_of(Role::Agent, "other", "others").await));
        let asks = intent(&agent, "Approve invoice 7", &[]).await;
        agent.post(&format!("{INTENTS}/{asks}/agents"), json!({"agent_id": "other"})).await.ok();
        let hidden = intent(&other, "Fire the clerk", &[asks]).await;
        intent(&other, "Hire another", &[hidden]).await;
        portfolio(&other, "Secret plans", json!({}), &[asks]).await;
        let link = asked(app, asks).await;
        let page = app.person().open(&format!("{link}/work")).await.html;
        for words in ["Fire the clerk", "Hire another", "Secret plans"] {
            assert!(!page.contains(words), "{words}: {page}");
        }
        assert!(page.contains("the agent that asks may not read it"), "{page}");
    }
}

/// A script that counts the boxes, the rows and the lines, and returns the address of the element in focus.
const COUNT: &str = "({ boxes: document.querySelectorAll('.draw a').length, rows: document.querySelectorAll('#t tbody tr').length, \
                     lines: document.querySelectorAll('.draw path.line').length })";

on_one_store! {
    /// The page is readable on a desk and on a phone, in both schemes, and with the keyboard alone.
    async fn the_work_around_a_question_fits_every_width(app: &mut TestApp) {
        let (_, link) = around(app, &"Approve the invoice of the Donaudampfschifffahrtsgesellschaft, 界界界界界界界界界界界界 and \u{202e}others\u{202c}".repeat(3)).await;
        for (width, dark) in looks() {
            let browser = Browser::start(BrowserOptions { width, height: 800, dark, javascript: false }).await;
            browser.open(&format!("{link}/work")).await;
            fits(&browser, "work", (width, dark)).await;
            assert_eq!(browser.console_errors().await, Vec::<String>::new());
            // A box of the drawing leads to its row in the table.
            browser.evaluate("document.querySelectorAll('.draw a')[1].focus()").await;
            browser.key("\u{e007}").await;
            assert!(browser.url().await.ends_with("/work#w1"), "{}", browser.url().await);
        }
    }

    /// With more work than the page shows, it stays usable: the rest is left out, and the page says so.
    async fn a_page_with_much_work_stays_usable(app: &mut TestApp) {
        let agent = app.agent();
        let asks = intent(&agent, "Approve the budget", &[]).await;
        let mut last = asks;
        for place in 0..WORKS_MAX {
            let needed = if place % 10 == 0 { vec![asks] } else { vec![last] };
            last = intent(&agent, &format!("Step {place}"), &needed).await;
        }
        let link = asked(app, asks).await;
        let browser = Browser::start(BrowserOptions { width: 390, height: 800, dark: false, javascript: false }).await;
        browser.open(&format!("{link}/work")).await;
        let counted: Value = browser.evaluate(COUNT).await;
        let boxes = counted["boxes"].as_u64().unwrap();
        assert_eq!((boxes, counted["rows"].as_u64(), counted["lines"].as_u64()), (150, Some(boxes), Some(boxes - 1)));
        assert!(browser.evaluate("document.body.textContent").await.as_str().unwrap().contains("There is more work than is shown here."));
        let (content, room) = browser.scroll_width().await;
        assert!(content <= room, "{content} px wide at {room} px");
        assert_eq!(browser.accessibility_violations().await, [""; 0]);
        picture(&browser, "work-much-390").await;
    }
}
