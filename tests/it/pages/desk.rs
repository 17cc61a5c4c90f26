//! Where people work: from one question to the next, beside the list and from page to page.

use domain::people::principal::Role;
use harness::app::TestApp;
use harness::person::Person;
use harness::{on_each_store, on_one_store};
use serde_json::{Value, json};
use store::inbox::SHOWN_MAX;

use super::inbox::{DESK, copies, enter, inbox_of, open, until};
use super::looks::fits;
use crate::people::assignees::{ADA, BOB, EVE, directory, key_of, list, mails};

fn yes_no(question: &str, to: Value, seconds: u32) -> Value {
    let mut asked = json!({"question": question, "response_type": "confirm", "choices": null, "timeout_seconds": seconds});
    asked["assignees"] = to;
    asked
}

async fn ask(app: &TestApp, question: &str, to: Value, seconds: u32) -> String {
    app.ask(yes_no(question, to, seconds)).await.1
}

fn page_of(app: &TestApp, id: &str) -> String {
    format!("{}questions/{id}", app.base)
}

/// The way from a page to the question that waits next, and the words of the link.
fn next(html: &str) -> Option<(String, String)> {
    let (_, link) = html.split_once("id=\"next\" href=\"/questions/")?;
    let (id, rest) = link.split_once("\">")?;
    Some((id.to_owned(), rest.split('<').next()?.to_owned()))
}

async fn answer(app: &TestApp, person: &mut Person, id: &str) -> String {
    person.answer(&page_of(app, id), "yes").await.html
}

on_each_store! {
    /// Three decisions need no way back over the list, and the number is that of the list.
    async fn an_answer_leads_to_the_question_that_waits_next(app: &mut TestApp) {
        directory(app).await;
        let to_ada = json!({"people": [ADA]});
        let mut ada = enter(app, ADA).await;
        let last = ask(app, "Third?", to_ada.clone(), 900).await;
        let first = ask(app, "First?", to_ada.clone(), 600).await;
        let both = json!({"question": "Second?", "assignees": {"people": [ADA, BOB]}, "quorum": {"required_approvals": 2}, "timeout_seconds": 700});
        let second = app.ask(both).await.1;
        ask(app, "Of another?", json!({"people": [BOB]}), 500).await;
        assert_eq!(next(&ada.open(&page_of(app, &first)).await.html), None, "an open question has an answer to give first");
        assert_eq!(next(&answer(app, &mut ada, &first).await), Some((second.clone(), "Next question (2 waiting)".to_owned())));
        // An answer that counts towards others is done as well, and the question stays open.
        let counted = ada.answer(&page_of(app, &second), "approve").await.html;
        assert!(counted.contains("Your answer counts"), "{counted}");
        assert_eq!(next(&counted), Some((last.clone(), "Next question (1 waiting)".to_owned())));
        let done = answer(app, &mut ada, &last).await;
        assert!(next(&done).is_none() && done.contains("Nothing else waits for you."), "{done}");
        // An auditor answers nothing, and the holder of a link has no list.
        list(app, "dan@example.com", "auditor").await;
        let mut dan = enter(app, "dan@example.com").await;
        let seen = dan.open(&page_of(app, &last)).await.html;
        assert!(next(&seen).is_none() && !seen.contains("Nothing else waits"), "{seen}");
        mails(app).await;
        ask(app, "By link?", to_ada, 600).await;
        let (_, link) = mails(app).await.remove(0);
        let by_link = app.person().answer(&link, "yes").await.html;
        assert!(!by_link.contains("Next question") && !by_link.contains("Nothing else waits"), "{by_link}");
    }

    /// A person who answers in two tabs is told one thing: what counts.
    async fn a_late_second_tab_tells_one_truth(app: &mut TestApp) {
        directory(app).await;
        let mut ada = enter(app, ADA).await;
        let id = ask(app, "Ship it?", json!({"people": [ADA]}), 600).await;
        let url = page_of(app, &id);
        let nonce = ada.open(&url).await.nonce();
        let first = ada.answer(&url, "yes").await;
        assert_eq!(first.heading(), "Your answer was recorded");
        let late = ada.post(&url, &[("nonce", &nonce), ("value", "no"), ("person", ADA)]).await;
        let told = ada.follow(&url, &late).await;
        assert_eq!(told.heading(), "Your answer was recorded");
        assert_eq!(told.html.matches("role=\"status\"").count(), 1, "{}", told.html);
        let told = told.html;
        assert!(told.contains("Your answer is <b><bdi>Yes</bdi></b>") && told.contains("Nothing that you sent after that was counted: the first answer stays."), "{told}");
        // The same holds for a question that ended in another way.
        let gone = ask(app, "Ship that?", json!({"people": [ADA]}), 600).await;
        let nonce = ada.open(&page_of(app, &gone)).await.nonce();
        app.agent().post(&format!("api/v1/suspensions/{gone}/cancel"), json!({})).await.ok();
        let late = ada.post(&page_of(app, &gone), &[("nonce", &nonce), ("value", "no"), ("person", ADA)]).await;
        let told = ada.follow(&page_of(app, &gone), &late).await;
        assert_eq!(told.html.matches("role=\"status\"").count(), 1, "{}", told.html);
        assert!(told.html.contains("Nothing that you just sent was counted."), "{}", told.html);
    }

    /// A person who came by a link finds the way to the own inbox; one who is not listed is not sent to a login that cannot succeed.
    async fn the_page_of_a_link_leads_to_the_login_of_a_listed_person(app: &mut TestApp) {
        directory(app).await;
        mails(app).await;
        app.ask(json!({"notify_to": [ADA, "ops@example.com"], "timeout_seconds": 600})).await;
        let links = mails(app).await;
        for (address, leads) in [(ADA, true), ("ops@example.com", false)] {
            let (_, link) = links.iter().find(|(to, _)| to == address).unwrap();
            let page = app.person().open(link).await.html;
            assert_eq!(page.contains("<a href=\"/login\">Log in to your inbox</a>"), leads, "{address}: {page}");
            let mut ada = enter(app, ADA).await;
            let page = ada.open(link).await.html;
            assert_eq!(page.contains("<a href=\"/inbox\">Inbox</a>"), leads, "{address}: {page}");
            assert!(!page.contains("Log in to your inbox"), "{address}: {page}");
        }
        let home = app.person().open(&app.base.clone()).await.html;
        assert!(home.contains("<a href=\"/login\">log in</a>"), "{home}");
    }

    /// A person reads that the language and the time zone were saved, in the new language.
    async fn settings_are_confirmed(app: &mut TestApp) {
        directory(app).await;
        let mut ada = enter(app, ADA).await;
        let path = format!("{}settings", app.base);
        let page = ada.open(&path).await;
        assert!(!page.html.contains("Saved."), "{}", page.html);
        let nonce = page.nonce();
        let saved = ada.post(&path, &[("nonce", &nonce), ("locale", "de"), ("time_zone", "Europe/Vienna")]).await;
        assert_eq!((saved.status, saved.header("location")), (303, "/settings?saved"));
        let page = ada.open(&format!("{path}?saved")).await;
        assert!(page.html.contains("role=\"status\"") && page.html.contains("Gespeichert."), "{}", page.html);
    }

    /// No page chooses between two texts of one field: it does nothing, and shows what was typed.
    async fn no_form_says_two_things(app: &mut TestApp) {
        directory(app).await;
        let mut ada = enter(app, ADA).await;
        let settings = format!("{}settings", app.base);
        let nonce = ada.open(&settings).await.nonce();
        let at = |path: &str| format!("{}{path}", app.base);
        let times = [("from", "2027-03-20T09:00"), ("until", "2027-03-21T09:00"), ("deputy", EVE), ("deputy", BOB)];
        for (path, fields, kept) in [
            ("settings", vec![("locale", "de"), ("time_zone", "Europe/Vienna"), ("locale", "en")], Some("Time zone</label>")),
            ("settings", vec![("nonce", "x"), ("locale", "de"), ("zz0", "y")], Some("type=\"hidden\" name=\"zz0\"")),
            ("out-of-office", times.to_vec(), Some(EVE)),
            // The page shows neither of these fields, so no person can say which of the two texts is right.
            ("logout", vec![("where", "here"), ("where", "everywhere")], None),
            ("stops", vec![("id", "1"), ("id", "2"), ("input", "typed")], None),
        ] {
            let fields: Vec<(&str, &str)> = [("nonce", nonce.as_str())].into_iter().chain(fields).collect();
            let page = ada.post(&at(path), &fields).await;
            assert_eq!((page.status, page.heading().as_str()), (422, "The form arrived damaged"), "{path}: {}", page.html);
            assert!(page.html.contains("Nothing was changed") && page.html.contains("<a href=\"/inbox\">Back to the inbox</a>"), "{path}: {}", page.html);
            assert!(!page.html.contains("send an answer"), "no answer is concerned: {path}: {}", page.html);
            let raw = ["time_zone", "locale", "deputy", "until", "where", "id", "zz0"].map(|name| format!("<bdi>{name}</bdi>"));
            assert!(!raw.iter().any(|raw| page.html.contains(raw)), "{path}: {}", page.html);
            match kept {
                Some(kept) => assert!(page.html.contains("if not, open the page again") && page.html.contains(kept) && page.nonce() == nonce, "{path}: {}", page.html),
                None => assert!(page.html.contains("send the form there") && !page.html.contains("<form"), "{path}: {}", page.html),
            }
        }
        let still_in = ada.open(&settings).await;
        assert!(still_in.status == 200 && still_in.html.contains("<html lang=\"en\""), "{}", still_in.html);
        assert!(!ada.open(&at("out-of-office")).await.html.contains(EVE));
        let mut other = app.person();
        let nonce = other.open(&at("login")).await.nonce();
        let asked = other.post(&at("login"), &[("nonce", &nonce), ("address", ADA), ("address", EVE)]).await;
        assert_eq!(asked.status, 422, "{}", asked.html);
        assert!(asked.html.contains("Your e-mail address</label>") && !asked.html.contains("Back to the inbox"), "{}", asked.html);
        app.settle().await;
        assert!(!app.smtp.has_unread(), "no login link is sent");
    }

    /// A person types the times of the own clocks, and reads them there again.
    async fn the_times_of_an_absence_are_those_of_the_person(app: &mut TestApp) {
        let [ada_path, ..] = directory(app).await;
        let admin = app.api(Role::Admin);
        let vienna = json!({"time_zone": "Europe/Vienna"});
        admin.send(admin.request("PATCH", &ada_path).json(&vienna)).await.ok();
        let mut ada = enter(app, ADA).await;
        let path = format!("{}out-of-office", app.base);
        let page = ada.open(&path).await;
        assert!(page.html.contains("your time zone, <b>Europe/Vienna</b>"), "{}", page.html);
        let nonce = page.nonce();
        // The clocks are set forward from 02:00 to 03:00 on 28 March 2027.
        let fields = |until: &'static str| [("nonce", nonce.as_str()), ("from", "2027-03-20T09:00"), ("until", until), ("deputy", EVE)].to_vec();
        let refused = ada.post(&path, &fields("2027-03-28T02:30")).await;
        assert!(refused.status == 422 && refused.html.contains("id=\"untile\"") && refused.html.contains("the clocks are set forward"), "{}", refused.html);
        assert!(refused.html.contains("<title>Error: Out of office</title>") && page.html.contains("<title>Out of office</title>"), "{}", refused.html);
        let refused = ada.post(&path, &fields("2028-03-28T09:00")).await;
        assert!(refused.status == 422 && refused.html.contains("at most 366 days."), "{}", refused.html);
        assert_eq!(ada.post(&path, &fields("2027-03-28T03:30")).await.status, 303);
        let people: Value = admin.get("api/v1/people").await.ok();
        let away = &people["people"].as_array().unwrap().iter().find(|person| person["address"] == ADA).unwrap()["out_of_office"];
        assert_eq!((&away["from"], &away["until"]), (&json!("2027-03-20T08:00:00.000000Z"), &json!("2027-03-28T01:30:00.000000Z")));
        let page = ada.open(&path).await.html;
        assert!(page.contains("value=\"2027-03-20T09:00\"") && page.contains("value=\"2027-03-28T03:30\""), "{page}");
        // Eve has no time zone.
        let page = enter(app, EVE).await.open(&path).await.html;
        assert!(page.contains("Both times are in UTC."), "{page}");
    }
}

on_one_store! {
    /// In a wide window a person decides without leaving the list, in three keys, and finds what was typed for another question again.
    async fn a_question_is_decided_beside_the_list(app: &mut TestApp) {
        directory(app).await;
        let ada = enter(app, ADA).await;
        let to = json!({"people": [ADA, BOB]});
        let first = ask(app, "Deploy now?", to.clone(), 600).await;
        let (intent, second) = app.ask(yes_no("Deploy later?", to, 900)).await;
        let browser = inbox_of(app, &ada, DESK).await;
        let inbox = format!("{}inbox", app.base);
        let title = |words: &str| format!("document.querySelector('#pane h1')?.textContent === '{words}'");
        assert!(browser.text().await.contains("The question that you choose in the list is shown here."));
        browser.key("j").await;
        until(&browser, &title("Deploy now?")).await;
        let at = "document.querySelector('#asks [aria-current=true]').closest('li').id";
        assert_eq!((browser.evaluate(at).await, browser.url().await), (json!(format!("q-{first}")), inbox.clone()));
        fits(&browser, "inbox-pane", (1280, false)).await;
        browser.type_into("#comment", "Wait for QA, j").await;
        browser.evaluate("document.activeElement.blur()").await;
        browser.key("j").await;
        until(&browser, &title("Deploy later?")).await;
        assert_eq!(browser.evaluate("document.querySelector('#comment').value").await, "");
        browser.key("k").await;
        until(&browser, &title("Deploy now?")).await;
        assert_eq!(browser.evaluate("document.querySelector('#comment').value").await, "Wait for QA, j");
        browser.key("c").await;
        until(&browser, "document.activeElement.id === 'claim'").await;
        // A question that is decided elsewhere says so where it stands.
        browser.key("j").await;
        until(&browser, &title("Deploy later?")).await;
        key_of(app, BOB, "bob").await.respond(intent, &second, "no").await.ok();
        until(&browser, "!document.querySelector('#pane #live').hidden").await;
        // Beside the list, in three keys: the question, its yes, and Enter.
        browser.open(&inbox).await;
        browser.key("j").await;
        browser.key("a").await;
        until(&browser, "document.activeElement.id === 'c0' && document.querySelector('#pane').contains(document.activeElement)").await;
        browser.press_enter().await;
        while browser.url().await != page_of(app, &first) {
            harness::pause::pause().await;
        }
        assert!(browser.text().await.contains("Your answer was recorded"), "{}", browser.text().await);
        assert_eq!(app.operator().suspension(&first).await["response"], json!("yes"));
        // A long question is folded there, and its button leads to the question's own page.
        let terms = (1..=60).map(|line| format!("{line}. The carrier is liable for what it loses.")).collect::<Vec<_>>().join("\n");
        let mut folded = yes_no("Long one?", json!({"people": [ADA]}), 300);
        folded["context"] = json!({"terms": terms});
        let (intent, long) = app.ask(folded).await;
        browser.open(&inbox).await;
        browser.key("j").await;
        until(&browser, &title("Long one?")).await;
        browser.press("#pane button[formaction*='?show=everything']").await;
        while !browser.url().await.starts_with(&format!("{}?show=everything", page_of(app, &long))) {
            harness::pause::pause().await;
        }
        assert!(browser.text().await.contains("60. The carrier is liable"), "{}", browser.text().await);
        key_of(app, ADA, "ada2").await.respond(intent, &long, "no").await.ok();
        // Where a list has more than one page, a row that moves to the next page, or comes from there, has neither left nor arrived.
        ask(app, "Stop it?", json!({"people": [ADA]}), 900).await;
        copies(app, u32::try_from(SHOWN_MAX).unwrap()).await;
        browser.open(&inbox).await;
        assert_eq!(browser.evaluate("document.querySelectorAll('#asks > li').length").await, json!(SHOWN_MAX));
        let (intent, soonest) = app.ask(yes_no("First of all?", json!({"people": [ADA]}), 60)).await;
        let news = |words: &str| format!("document.querySelector('#news').textContent === '{words}'");
        until(&browser, &format!("document.getElementById('q-{soonest}') && {}", news("New questions: 1"))).await;
        key_of(app, ADA, "ada").await.respond(intent, &soonest, "yes").await.ok();
        until(&browser, &news("Questions that left the list: 1")).await;
        assert_eq!(browser.console_errors().await, [""; 0]);
    }

    /// A key acts on the question that is read, also after another row had the focus. A question that is assigned to other people says so
    /// where it is read, and its row leaves; it comes back without a word about a lost connection. Then N leads to the next question.
    async fn a_key_acts_on_the_question_that_is_read_and_a_row_comes_back(app: &mut TestApp) {
        directory(app).await;
        let ada = enter(app, ADA).await;
        let first = ask(app, "Deploy now?", json!({"people": [ADA]}), 600).await;
        let second = ask(app, "Deploy later?", json!({"people": [ADA]}), 900).await;
        let browser = inbox_of(app, &ada, DESK).await;
        let title = |words: &str| format!("document.querySelector('#pane h1')?.textContent === '{words}'");
        let assign = async |id: &str, to: &str| {
            let to = json!({"assignees": {"people": [to]}});
            app.api(Role::Admin).post(&format!("api/v1/suspensions/{id}/reassign"), to).await.ok();
        };
        let row = |id: &str| format!("document.getElementById('q-{id}')");
        browser.key("j").await;
        until(&browser, &title("Deploy now?")).await;
        assign(&first, BOB).await;
        until(&browser, "!document.querySelector('#pane #live').hidden").await;
        let said = browser.evaluate("document.querySelector('#pane #live h3').textContent").await;
        assert_eq!(said, "Other people answer this question now. You can answer it no longer.");
        until(&browser, &format!("{}?.classList.contains('gone')", row(&first))).await;
        assign(&first, ADA).await;
        until(&browser, &format!("{0} && !{0}.classList.contains('gone')", row(&first))).await;
        let ids = "[...document.querySelectorAll('#asks > li')].map((li) => li.id)";
        assert_eq!(browser.evaluate(ids).await, json!([format!("q-{first}"), format!("q-{second}")]));
        assert_eq!(browser.evaluate("document.querySelector('#lost').hidden").await, true);
        browser.evaluate(&format!("{}.querySelector('.item').focus()", row(&first))).await;
        browser.key("j").await;
        until(&browser, &title("Deploy later?")).await;
        // Another row had the focus, and then none has it.
        browser.evaluate(&format!("{}.querySelector('.item').focus(); document.activeElement.blur()", row(&first))).await;
        browser.key("a").await;
        until(&browser, "document.activeElement.id === 'c0' && document.querySelector('#pane').contains(document.activeElement)").await;
        assert_eq!(browser.evaluate(&title("Deploy later?")).await, true);
        browser.press_enter().await;
        while browser.url().await != page_of(app, &second) {
            harness::pause::pause().await;
        }
        assert_eq!(app.operator().suspension(&second).await["response"], json!("yes"));
        assert_eq!(app.operator().suspension(&first).await["response"], json!(null));
        let loaded = "new Promise((yes) => document.readyState === 'complete' ? yes(true) : addEventListener('load', () => yes(true)))";
        assert_eq!(browser.evaluate(loaded).await, true);
        browser.key("n").await;
        while browser.url().await != page_of(app, &first) {
            harness::pause::pause().await;
        }
        assert_eq!(browser.console_errors().await, [""; 0]);
        mails(app).await;
    }

    /// Without scripts there is no pane, and each row leads to the page of its question.
    async fn without_scripts_a_row_is_a_link(app: &mut TestApp) {
        directory(app).await;
        let mut ada = enter(app, ADA).await;
        let id = ask(app, "Deploy now?", json!({"people": [ADA]}), 600).await;
        let page = open(app, &mut ada, "").await.html;
        assert!(page.contains("<section id=\"pane\" aria-label=\"The question\" hidden>"), "{page}");
        assert!(page.contains("<kbd>N</kbd>") && page.contains("Open the question that waits next, after an answer"), "{page}");
        assert!(page.contains(&format!("<a class=\"item\" href=\"/questions/{id}\"")) && page.contains("<dt>Go to an answer<dd>") && page.contains("#c0\" data-says=\"yes\">Yes</a>"), "{page}");
    }
}
