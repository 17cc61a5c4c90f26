//! Several questions answered at once: which may be chosen, what is shown, and that each is decided for itself.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::people::principal::Role;
use domain::suspension::ResponseType;
use harness::api::Api;
use harness::app::TestApp;
use harness::browser::{Browser, BrowserOptions};
use harness::person::{Page, Person};
use harness::{on_each_store, on_one_store};
use placet_server::config::Together;
use serde_json::{Value, json};
use store::inbox::SHOWN_MAX;

use super::audit::become_person;
use super::inbox::until;
use super::looks::{fits, looks};
use crate::people::assignees::{ADA, BOB, directory, key_of, mails};
use crate::people::logins::log_in;

/// The agent whose questions may be answered together.
const CLEANER: &str = "cleaner";

/// The server of these tests lets people answer two kinds of questions of one agent together.
async fn with_kinds(app: &mut TestApp) -> Api {
    directory(app).await;
    let kinds = [ResponseType::Confirm, ResponseType::Choice];
    app.restart_with(|config| {
        config.inbox.together = kinds.map(|response_type| Together { agent: CLEANER.to_owned(), response_type }).to_vec();
        config.inbox.reasons = vec!["Out of budget".to_owned()];
    })
    .await;
    Api::new(&app.base, Some(&app.new_key_of(Role::Agent, CLEANER, "cleaner").await))
}

async fn enter(app: &TestApp, address: &str) -> Person {
    mails(app).await;
    log_in(app, address).await
}

fn yes_no(question: &str) -> Value {
    json!({"question": question, "response_type": "confirm", "choices": null, "notify_to": [ADA], "timeout_seconds": 600})
}

async fn ask(agent: &Api, change: Value) -> String {
    agent.ask(change).await.1
}

/// The address of the page with these questions.
fn at(app: &TestApp, ids: &[&str]) -> String {
    format!("{}inbox/together?{}", app.base, ids.iter().map(|id| format!("id={id}")).collect::<Vec<_>>().join("&"))
}

/// The fields that stand for the questions on a page.
fn sealed(page: &Page) -> Vec<String> {
    page.html.split("name=\"question\" value=\"").skip(1).map(|field| field.split('"').next().unwrap().to_owned()).collect()
}

/// Sends an answer for the questions of a page.
async fn send(app: &TestApp, person: &mut Person, questions: &[String], more: &[(&str, &str)]) -> Page {
    let mut fields: Vec<(&str, &str)> = questions.iter().map(|question| ("question", question.as_str())).collect();
    fields.extend_from_slice(more);
    person.post(&format!("{}inbox/together", app.base), &fields).await
}

/// The lines of the page with the results, without tags.
async fn results(app: &TestApp, person: &mut Person, sent: &Page) -> Vec<String> {
    assert_eq!(sent.status, 303, "{}", sent.html);
    let page = person.open(&format!("{}{}", app.base, sent.header("location").trim_start_matches('/'))).await;
    assert_eq!(page.status, 200, "{}", page.html);
    let rows = page.html.split("<p class=\"small\">").skip(1).map(|row| row.split("</p>").next().unwrap());
    rows.map(|row| row.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text)).collect()).collect()
}

on_each_store! {
    /// Each question has an event, an answerer and a hash of its own, as if it had been answered on its own page.
    async fn each_question_is_decided_for_itself(app: &mut TestApp) {
        let agent = with_kinds(app).await;
        let mut ada = enter(app, ADA).await;
        let asked = [agent.ask(yes_no("Delete account 1?")).await, agent.ask(yes_no("Delete account 2?")).await];
        let other = ask(&agent, yes_no("Delete account 3?")).await;
        let alone = agent.ask(yes_no("Delete account 4?")).await;
        let page = ada.open(&at(app, &[&asked[0].1, &asked[1].1])).await;
        for words in ["Delete account 1?", "Delete account 2?", "2 questions together", "name=\"value\" value=\"yes\"", "2 of 2"] {
            assert!(page.html.contains(words), "{words}: {}", page.html);
        }
        assert!(!page.html.contains("account 3") && !page.html.contains("checked"), "{}", page.html);
        let questions = sealed(&page);
        assert_eq!(questions.len(), 2);
        let sent = send(app, &mut ada, &questions, &[("person", ADA), ("value", "no"), ("reason", "Out of budget"), ("comment", "All of them.")]).await;
        let lines = results(app, &mut ada, &sent).await;
        assert!(lines.len() == 2 && lines.iter().all(|line| line.starts_with("answered by you: No")), "{lines:?}");
        let url = format!("{}questions/{}", app.base, alone.1);
        let nonce = ada.open(&url).await.nonce();
        let answered = ada.post(&url, &[("nonce", &nonce), ("value", "no"), ("reason", "Out of budget"), ("comment", "All of them.")]).await;
        assert_eq!(answered.status, 303);
        let mut hashes = Vec::new();
        for (intent, id) in [&asked[0], &asked[1], &alone] {
            let record = app.operator().suspension(id).await;
            assert_eq!((&record["response"], &record["metadata"]["comment"]), (&json!("no"), &json!("Out of budget\nAll of them.")));
            let events = app.operator().events(*intent).await;
            let resumed: Vec<&Value> = events.iter().filter(|event| event["event_type"] == "intent.resumed").collect();
            assert_eq!(resumed.len(), 1, "{events:?}");
            let payload = &resumed[0]["payload"];
            hashes.push(payload["presented_hash"].clone());
            let mut members: Vec<&String> = payload.as_object().unwrap().keys().collect();
            members.sort();
            let by_hand = app.operator().events(alone.0).await;
            let by_hand = by_hand.iter().find(|event| event["event_type"] == "intent.resumed").unwrap();
            let mut expected: Vec<&String> = by_hand["payload"].as_object().unwrap().keys().collect();
            expected.sort();
            assert_eq!(members, expected, "an answer among others leaves the same record");
        }
        assert!(hashes[0].is_string() && hashes[0] != hashes[1], "{hashes:?}");
        assert_eq!(app.operator().suspension(&other).await["resolution"], Value::Null, "a question that was not listed is not touched");
        app.settle().await;
    }

    /// A demand of a question, or of the operator, must not get lost in a list.
    async fn only_questions_of_a_named_kind_are_answered_together(app: &mut TestApp) {
        let agent = with_kinds(app).await;
        let mut ada = enter(app, ADA).await;
        let with = |change: Value| {
            let mut question = yes_no("Delete it?");
            question.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            question
        };
        let fit = ask(&agent, with(json!({"question": "Fit?", "risk": "low", "required_assurance": "session"}))).await;
        let long = "line\n".repeat(13);
        let misleading = json!([{"value": "approve", "label": "I deny"}, {"value": "deny", "label": "Reject"}]);
        let people = json!({"assignees": {"groups": ["finance"]}, "quorum": {"required_approvals": 2}});
        let mut apart = vec![
            (ask(&agent, with(json!({"comment_on_refusal": true}))).await, "It demands a passkey"),
            (ask(&agent, with(people)).await, "It demands a passkey"),
            (ask(&agent, with(json!({"response_type": "text", "choices": []}))).await, "one by one"),
            (ask(&agent, with(json!({"response_type": "form", "choices": []}))).await, "one by one"),
            (ask(&agent, with(json!({"context": {"text": long}}))).await, "must be read on its own page"),
            (ask(&agent, with(json!({"response_type": "choice", "choices": misleading}))).await, "must be read on its own page"),
            (ask(&agent, with(json!({"assignees": {"people": [BOB]}, "notify_to": [BOB]}))).await, "Other people may answer it"),
            (app.ask(yes_no("Of another agent?")).await.1, "one by one"),
            ("00000000-0000-4000-8000-000000000000".to_owned(), "does not exist"),
        ];
        let (intent, ended) = agent.ask(with(json!({}))).await;
        app.operator().respond(intent, &ended, "yes").await.ok();
        apart.push((ended, "It has ended"));
        for (id, words) in &apart {
            let page = ada.open(&at(app, &[id, &fit])).await;
            assert_eq!((page.status, sealed(&page).len()), (200, 1), "{words}: {}", page.html);
            assert!(page.html.contains("Not answered here") && page.html.contains(words), "{words}: {}", page.html);
            let none = ada.open(&at(app, &[id])).await;
            assert!(none.html.contains("None of the questions") && !none.html.contains("name=\"value\""), "{}", none.html);
        }
        // The nonce of its own page does not carry a question through this door.
        let demanding = &apart[0].0;
        let nonce = ada.open(&format!("{}questions/{demanding}", app.base)).await.nonce();
        let listed = sealed(&ada.open(&at(app, &[&fit])).await).remove(0);
        let seen = listed.rsplit('.').next().unwrap().to_owned();
        let sent = send(app, &mut ada, &[format!("{demanding}.{nonce}.{seen}"), listed], &[("person", ADA), ("value", "no")]).await;
        let lines = results(app, &mut ada, &sent).await;
        assert!(lines[0].contains("not answered together") && lines[1].contains("answered by you"), "{lines:?}");
        app.settle().await;
    }

    /// A question that changed, ended, or is not what the page showed stays as it is; the others are decided.
    async fn a_question_that_changed_stays_as_it_is(app: &mut TestApp) {
        let agent = with_kinds(app).await;
        let mut ada = enter(app, ADA).await;
        let bob = key_of(app, BOB, "bob").await;
        let mut question = yes_no("Delete it?");
        question["assignees"] = json!({"people": [ADA, BOB]});
        let (taken, moved, kept) = (agent.ask(question.clone()).await, agent.ask(question.clone()).await, agent.ask(question).await);
        let page = ada.open(&at(app, &[&taken.1, &moved.1, &kept.1])).await;
        let questions = sealed(&page);
        assert_eq!(questions.len(), 3, "{}", page.html);
        bob.respond(taken.0, &taken.1, "yes").await.ok();
        app.operator().post(&format!("api/v1/suspensions/{}/extend", moved.1), json!({"seconds": 60})).await.ok();
        let sent = send(app, &mut ada, &questions, &[("person", ADA), ("value", "no")]).await;
        let lines = results(app, &mut ada, &sent).await;
        assert!(lines[0].contains(&format!("before by {BOB}: Yes")) && lines[0].contains("not counted"), "{lines:?}");
        assert!(lines[1].contains("changed after you read it"), "{lines:?}");
        assert!(lines[2].starts_with("answered by you: No"), "{lines:?}");
        assert_eq!(app.operator().suspension(&moved.1).await["resolution"], Value::Null);
        // Sent once more, as by a double click, the form decides nothing again.
        let again = send(app, &mut ada, &questions, &[("person", ADA), ("value", "yes")]).await;
        let lines = results(app, &mut ada, &again).await;
        assert!(lines[2].starts_with("answered by you: No"), "{lines:?}");
        app.settle().await;
    }

    /// A form that no page showed to this person in this browser decides nothing, and neither does one that contradicts itself.
    async fn a_form_that_does_not_fit_decides_nothing(app: &mut TestApp) {
        let agent = with_kinds(app).await;
        let mut ada = enter(app, ADA).await;
        let mut bob = enter(app, BOB).await;
        let mut question = yes_no("Delete it?");
        question["assignees"] = json!({"people": [ADA, BOB]});
        let (first, second) = (ask(&agent, question.clone()).await, ask(&agent, question).await);
        let shown = ada.open(&at(app, &[&first])).await;
        let listed = sealed(&shown);
        let (_, rest) = listed[0].split_once('.').unwrap();
        let forged = vec![listed[0].clone(), format!("{second}.{rest}")];
        let cities = json!([{"value": "eu", "label": "Europe"}, {"value": "us", "label": "America"}]);
        let where_to = ask(&agent, json!({"question": "Where?", "choices": cities, "notify_to": [ADA]})).await;
        let mixed = ada.open(&at(app, &[&first, &where_to])).await;
        assert!(mixed.html.contains("no choice in common") && !mixed.html.contains("<textarea"), "{}", mixed.html);
        for (questions, fields, status, words) in [
            (&listed, vec![("person", ADA), ("value", "maybe")], 422, "Not all of these questions"),
            (&listed, vec![("person", ADA)], 422, "Not all of these questions"),
            (&listed, vec![("person", ADA), ("value", "yes"), ("reason", "Out of budget")], 422, "goes with a no alone"),
            (&listed, vec![("person", ADA), ("value", "yes"), ("value", "no")], 422, "A field came twice"),
            (&listed, vec![("person", ADA), ("value", "yes"), ("comment", "a"), ("comment", "b")], 422, "A field came twice"),
            (&listed, vec![("person", BOB), ("value", "yes")], 403, "open for too long"),
            (&forged, vec![("person", ADA), ("value", "yes")], 403, "open for too long"),
            (&vec!["x".to_owned()], vec![("person", ADA), ("value", "yes")], 403, "open for too long"),
            (&Vec::new(), vec![("person", ADA), ("value", "yes")], 403, "open for too long"),
        ] {
            let refused = send(app, &mut ada, questions, &fields).await;
            assert!(refused.status == status && refused.html.contains(words), "{fields:?} {}: {}", refused.status, refused.html);
        }
        let anothers = send(app, &mut bob, &listed, &[("person", BOB), ("value", "yes")]).await;
        assert_eq!(anothers.status, 403, "{}", anothers.html);
        let foreign = ada.bare_form(&format!("{}inbox/together", app.base), &[("question", &listed[0]), ("value", "yes")]);
        assert_eq!(ada.send(foreign.header("origin", "https://evil.example")).await.status, 403);
        assert_eq!(app.person().open(&at(app, &[&first])).await.header("location"), "/login");
        for id in [&first, &second, &where_to] {
            assert_eq!(app.operator().suspension(id).await["resolution"], Value::Null);
        }
        app.settle().await;
    }

    /// As many as a page of the inbox shows, and not one more.
    async fn so_many_questions_are_answered_together(app: &mut TestApp) {
        let agent = with_kinds(app).await;
        let mut ada = enter(app, ADA).await;
        let mut ids = Vec::new();
        for number in 0..=SHOWN_MAX {
            ids.push(ask(&agent, yes_no(&format!("Delete account {number}?"))).await);
        }
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let inbox = ada.open(&format!("{}inbox", app.base)).await;
        assert!(inbox.html.matches("form=\"together\"").count() == SHOWN_MAX && inbox.html.len() <= 60 * 1024, "{} bytes", inbox.html.len());
        let more = ada.open(&at(app, &ids)).await;
        assert!(more.status == 422 && more.html.contains("At most 25 questions") && sealed(&more).is_empty(), "{}", more.html);
        let most = ada.open(&at(app, &ids[..SHOWN_MAX])).await;
        let mut questions = sealed(&most);
        assert_eq!((most.status, questions.len()), (200, SHOWN_MAX));
        assert!(most.html.len() <= 60 * 1024, "{} bytes", most.html.len());
        questions.extend(sealed(&ada.open(&at(app, &ids[SHOWN_MAX..])).await));
        let refused = send(app, &mut ada, &questions, &[("person", ADA), ("value", "yes")]).await;
        assert_eq!(refused.status, 422);
        let sent = send(app, &mut ada, &questions[..SHOWN_MAX], &[("person", ADA), ("value", "yes")]).await;
        let lines = results(app, &mut ada, &sent).await;
        assert!(lines.len() == SHOWN_MAX && lines.iter().all(|line| line.starts_with("answered by you: Yes")), "{lines:?}");
        assert_eq!(app.operator().suspension(ids[SHOWN_MAX]).await["resolution"], Value::Null);
        app.settle().await;
    }

    /// Without the setting there is nothing to mark, and the page answers nothing.
    async fn nothing_is_answered_together_by_default(app: &mut TestApp) {
        directory(app).await;
        let mut ada = enter(app, ADA).await;
        let (_, id) = app.ask(yes_no("Delete it?")).await;
        let inbox = ada.open(&format!("{}inbox", app.base)).await;
        assert!(!inbox.html.contains("form=\"together\"") && !inbox.html.contains("id=\"together\""), "{}", inbox.html);
        let page = ada.open(&at(app, &[&id])).await;
        assert!(page.html.contains("answered one by one") && sealed(&page).is_empty(), "{}", page.html);
        app.settle().await;
    }

    /// A person who reads the same question twice must see that it is the same, and still answers each.
    async fn the_same_question_is_shown_together(app: &mut TestApp) {
        let agent = with_kinds(app).await;
        let mut ada = enter(app, ADA).await;
        let mut ids = Vec::new();
        for (question, seconds) in [("Delete  account 1?\nNow", 100), ("Ship it?", 200), ("Delete account 1? Now", 300), ("Delete account 1?", 400)] {
            let mut asked = yes_no(question);
            asked["timeout_seconds"] = json!(seconds);
            ids.push(ask(&agent, asked).await);
        }
        let mut same = yes_no("Ship it?");
        same["timeout_seconds"] = json!(500);
        ids.push(app.ask(same).await.1);
        let page = ada.open(&format!("{}inbox", app.base)).await;
        let rows: Vec<&str> = page.html.split("<li id=\"q-").skip(1).collect();
        let order: Vec<String> = rows.iter().map(|row| row.split('"').next().unwrap().to_owned()).collect();
        let expected = [&ids[0], &ids[2], &ids[1], &ids[3], &ids[4]].map(Clone::clone);
        assert_eq!(order, expected, "the same words of the same agent stand beside each other");
        assert!(rows[0].contains("Asked 2 times") && rows[1].contains("The same question again"), "{}", page.html);
        assert_eq!(page.html.matches("The same question again").count(), 1);
        let (intent, events) = (app.operator().suspension(&ids[0]).await["intent_id"].clone(), "yes");
        app.operator().respond(intent.as_str().unwrap().parse().unwrap(), &ids[0], events).await.ok();
        assert_eq!(app.operator().suspension(&ids[2]).await["resolution"], Value::Null, "one answer is for one question");
        let page = ada.open(&format!("{}inbox", app.base)).await;
        assert!(!page.html.contains("Asked 2 times"), "{}", page.html);
        app.settle().await;
    }
}

on_one_store! {
    /// From the list to several decisions with keys alone, and with scripts off by mouse or touch.
    async fn questions_are_chosen_and_answered_with_the_keyboard_alone(app: &mut TestApp) {
        let agent = with_kinds(app).await;
        let ada = enter(app, ADA).await;
        for javascript in [true, false] {
            let (first, other, second) =
                (ask(&agent, yes_no("Delete account 1?")).await, app.ask(yes_no("Ship it?")).await.1, ask(&agent, yes_no("Delete account 2?")).await);
            let browser = Browser::start(BrowserOptions { width: 1280, height: 800, dark: false, javascript }).await;
            become_person(&browser, app, &ada).await;
            browser.open(&format!("{}inbox", app.base)).await;
            assert_eq!(browser.evaluate(&format!("document.querySelectorAll('[id=\"q-{other}\"] .pick').length")).await, 0);
            if javascript {
                for key in ["j", "x", "j", "j", "x"] {
                    browser.key(key).await;
                }
                assert_eq!(browser.evaluate("document.querySelector('#chosen').textContent").await, "Marked: 2");
                // A marked question that is decided elsewhere is marked no more.
                let (intent, gone) = agent.ask(yes_no("Delete account 3?")).await;
                until(&browser, &format!("document.getElementById('q-{gone}')")).await;
                browser.click(&format!("[id='q-{gone}'] .pick")).await;
                assert_eq!(browser.evaluate("document.querySelector('#chosen').textContent").await, "Marked: 3");
                key_of(app, ADA, "ada").await.respond(intent, &gone, "no").await.ok();
                until(&browser, "document.querySelector('#chosen').textContent === 'Marked: 2'").await;
                browser.key("b").await;
                while !browser.url().await.contains("/inbox/together?") {
                    harness::pause::pause().await;
                }
            } else {
                for id in [&first, &second] {
                    browser.click(&format!("[id='q-{id}'] .pick")).await;
                }
                browser.press("#together button").await;
            }
            let text = browser.text().await;
            assert!(text.contains("Delete account 1?") && text.contains("Delete account 2?") && !text.contains("Ship it?"), "{text}");
            let guard = browser.evaluate("document.querySelector('main form button').matches('[disabled][hidden]')").await;
            assert_eq!(guard, true, "Enter in a field presses no answer");
            browser.evaluate("document.querySelector('button[value=yes]').focus()").await;
            browser.press_enter().await;
            let text = browser.text().await;
            assert!(text.contains("All 2 answers were recorded"), "{text}");
            for id in [&first, &second] {
                assert_eq!(app.operator().suspension(id).await["response"], json!("yes"));
            }
            assert_eq!(app.operator().suspension(&other).await["resolution"], Value::Null);
            assert_eq!(browser.console_errors().await, [""; 0]);
            app.advance(700).await;
        }
    }

    /// The pages are readable on a desk and on a phone, in both schemes, with words that are too long for any line.
    async fn the_pages_of_several_questions_fit_every_width(app: &mut TestApp) {
        let agent = with_kinds(app).await;
        let ada = enter(app, ADA).await;
        let long = "Donaudampfschifffahrtsgesellschaft".repeat(5);
        let mut question = yes_no("Delete 38 inactive accounts in the sandbox?\nThe last login of each is two years ago.");
        question["context"] = json!({"accounts": 38, "environment": "sandbox"});
        let first = ask(&agent, question.clone()).await;
        let again = ask(&agent, question).await;
        let mut endless = yes_no(&format!("{long}?"));
        endless["context"] = json!({long.clone(): long.clone()});
        endless["risk"] = json!("high");
        let third = ask(&agent, endless).await;
        let apart = app.ask(yes_no("Ship it?")).await.1;
        for (width, dark) in looks() {
            let browser = Browser::start(BrowserOptions { width, height: 800, dark, javascript: true }).await;
            become_person(&browser, app, &ada).await;
            browser.open(&format!("{}inbox", app.base)).await;
            browser.evaluate("document.querySelectorAll('.pick input').forEach((box) => box.click())").await;
            fits(&browser, "inbox-marked", (width, dark)).await;
            browser.open(&at(app, &[&first, &again, &third, &apart])).await;
            fits(&browser, "together", (width, dark)).await;
            browser.open(&at(app, &[&apart])).await;
            fits(&browser, "together-none", (width, dark)).await;
            browser.open(&format!("{}inbox/together/done?q={first}.changed&q={third}.people&q={apart}", app.base)).await;
            fits(&browser, "together-done", (width, dark)).await;
        }
        let browser = Browser::start(BrowserOptions { width: 390, height: 800, dark: false, javascript: false }).await;
        become_person(&browser, app, &ada).await;
        browser.open(&at(app, &[&first, &third])).await;
        browser.press("button[value=no]").await;
        fits(&browser, "together-all-done", (390, false)).await;
    }
}
