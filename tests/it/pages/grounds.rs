//! The grounds on which people decide, as they read them: on the page of a question, in its mail and on the record.

use domain::people::principal::Role;
use harness::app::TestApp;
use harness::browser::{Browser, BrowserOptions};
use harness::{on_each_store, on_one_store};
use serde_json::{Value, json};

use crate::answering::grounds::grounded;
use crate::pages::looks::{fits, looks};
use crate::people::logins::{ADA, list, log_in};

/// Asks, and returns the id of the question and the mail about it.
async fn asked(app: &TestApp, question: Value) -> (String, harness::smtp::Received) {
    let (_, id) = app.agent().ask(question).await;
    app.settle().await;
    (id, app.smtp.next_mail().await)
}

/// A question of the kind that was decided by a person.
async fn decided(app: &TestApp) {
    let (intent, id) = app.agent().ask(json!({"question_key": "refund.lost_parcel"})).await;
    app.settle().await;
    app.smtp.next_mail().await;
    app.operator().respond(intent, &id, "approve").await.ok();
    app.settle().await;
}

/// The place of a part in the page.
fn place(html: &str, part: &str) -> usize {
    html.find(part).unwrap_or_else(|| panic!("{part} is missing in {html}"))
}

on_each_store! {
    /// People read the explanation between the question and the answers, and the earlier decisions behind them, in the order of the source.
    async fn people_read_why_before_they_answer(app: &mut TestApp) {
        decided(app).await;
        let (_, mail) = asked(app, grounded()).await;
        let link = mail.link(&app.base);
        let html = app.person().open(&link).await.html;
        let parts = [
            "<h1", "What happens", "€412.00 go back to the card", "Why", "What it touches", "How to take it back", "Links (shown, not linked)",
            "https[:]//orders[.]example/12345", "Evidence", "Can it be taken back", "only with effort, or in part", "Your answer",
            "Earlier decisions", "refund.lost_parcel", "Answered", "Approve refund", "test-operator",
        ];
        parts.iter().fold(0, |from, part| from + place(&html[from..], part));
        assert!(!html.contains("href=\"http") && !html.contains("carrier.example"), "no link of an agent is one");
        // A mail may pass through other hands, so it has our sentences about the grounds alone.
        let text = mail.text();
        for part in ["cannot be taken back", "€412.00 go back", "orders", "lost_parcel"] {
            assert!(!text.contains(part), "{part} is in {text}");
        }
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(mail.html().contains("The agent says that the risk is medium."), "{}", mail.html());
        for part in ["The agent says that the risk is medium.", "only with effort, or in part.", "The page has the agent's explanation.", "how earlier questions of this kind were decided."] {
            assert!(flat.contains(part), "{part} is missing in {text}");
        }
    }

    /// An explanation that is too long to be seen at once locks the answers, as every long text does.
    async fn a_long_explanation_locks_the_answers(app: &mut TestApp) {
        let (_, mail) = asked(app, json!({"explanation": {"impact": "line\n".repeat(60)}})).await;
        let html = app.person().open(&mail.link(&app.base)).await.html;
        assert!(html.contains("48 lines of “<bdi>What it touches</bdi>” are hidden.") && html.contains(" disabled>"), "{html}");
    }

    /// The record shows the same grounds to an auditor afterwards.
    async fn the_record_shows_what_people_read(app: &mut TestApp) {
        decided(app).await;
        let (id, _) = asked(app, grounded()).await;
        let intent = app.agent().suspension(&id).await["intent_id"].as_str().unwrap().to_owned();
        list(app, ADA, Role::Auditor).await;
        let html = log_in(app, ADA).await.open(&format!("{}audit/{intent}", app.base)).await.html;
        for part in ["What happens", "€412.00 go back", "orders[.]example", "only with effort, or in part", "Kind of question", "Earlier decisions", "Approve refund"] {
            assert!(html.contains(part), "{part} is missing in {html}");
        }
    }

    /// Hostile text stays text in every member, and a formula is no formula.
    async fn hostile_grounds_stay_text(app: &mut TestApp) {
        let hostile = "</td></table><script>alert(1)</script>\u{202e}=HYPERLINK(\"https://x.example\")<a href='https://x.example'>x</a>";
        let (_, mail) = asked(app, json!({
            "question_key": "</b><script>alert(1)</script>",
            "explanation": {"what_happens": hostile, "why": hostile, "impact": "w".repeat(220), "rollback": hostile,
                "links": ["https://x.example/<script>alert(1)</script>"], "evidence": {"<script>alert(1)</script>": [hostile, {hostile: hostile}]}},
        })).await;
        let html = app.person().open(&mail.link(&app.base)).await.html;
        assert!(!html.contains("<script>alert") && !html.contains("<a href='") && !html.contains('\u{202e}'), "{html}");
        assert!(html.contains("⟨U+202E⟩") && !html.contains("https://x.example") && !html.contains("href=\"http"), "{html}");
        let text = mail.text();
        assert!(!text.contains("alert(1)") && !text.contains("HYPERLINK"), "{text}");
    }
}

on_one_store! {
    /// The page holds at every width, in both schemes, also with a very long word in each part.
    async fn the_grounds_fit_every_screen(app: &mut TestApp) {
        decided(app).await;
        let (_, long) = asked(app, json!({"question_key": "k".repeat(200), "explanation": {
            "what_happens": "w".repeat(220), "links": [format!("https://x.example/{}", "a".repeat(300))], "evidence": {"k".repeat(220): "v".repeat(220)},
        }})).await;
        let (_, mail) = asked(app, grounded()).await;
        for (width, dark) in looks() {
            let browser = Browser::start(BrowserOptions { width, height: 800, dark, javascript: true }).await;
            for (name, link) in [("grounds", mail.link(&app.base)), ("grounds-long", long.link(&app.base))] {
                browser.open(&link).await;
                fits(&browser, name, (width, dark)).await;
            }
        }
    }
}
