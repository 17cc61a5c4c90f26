//! The page about stopped work.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::base::ids::IntentId;
use domain::suspension::stop::RESUME_INPUT_BYTES_MAX;
use harness::api::Api;
use harness::app::TestApp;
use harness::browser::{Browser, BrowserOptions};
use harness::person::{Page, Person};
use harness::{on_each_store, on_one_store};
use serde_json::json;

use super::audit::become_person;
use super::looks::{fits, looks};
use crate::people::assignees::{ADA, BOB, directory, list, mails};
use crate::people::logins::log_in;

async fn enter(app: &TestApp, address: &str) -> Person {
    mails(app).await;
    log_in(app, address).await
}

fn path(app: &TestApp) -> String {
    format!("{}stops", app.base)
}

async fn send(app: &TestApp, person: &mut Person, id: &str, input: &str) -> Page {
    let nonce = person.open(&path(app)).await.nonce();
    person.post(&path(app), &[("nonce", &nonce), ("id", id), ("input", input)]).await
}

async fn stopped(api: &Api, intent: IntentId, how: &str, body: serde_json::Value) -> String {
    let record = api.post(&format!("api/v1/intents/{intent}/{how}"), body).await.ok();
    record["id"].as_str().unwrap().to_owned()
}

/// A pause, a park and an end of work; the ids of the stops.
async fn some(app: &TestApp) -> ([IntentId; 3], [String; 3]) {
    let (agent, operator) = (app.agent(), app.operator());
    let intents = [agent.active_intent().await, agent.active_intent().await, agent.active_intent().await];
    let reason = json!({"reason": "</p><script>The supplier is checked."});
    let conditions = json!({"reason": "Waiting.", "conditions": {"timeout": {"duration_minutes": 60}}});
    let ids = [
        stopped(&operator, intents[0], "pause", reason).await,
        stopped(&agent, intents[1], "park", conditions).await,
        stopped(&operator, intents[2], "stop", json!({})).await,
    ];
    (intents, ids)
}

on_each_store! {
    /// A person sees what is stopped, and lets it go on by the same rights as a key.
    async fn a_person_resumes_stopped_work_on_its_page(app: &mut TestApp) {
        directory(app).await;
        list(app, "dan@example.com", "auditor").await;
        let (mut ada, mut bob, mut dan) = (enter(app, ADA).await, enter(app, BOB).await, enter(app, "dan@example.com").await);
        let empty = ada.open(&path(app)).await;
        assert!(empty.status == 200 && empty.html.contains("No work is stopped now."), "{}", empty.html);
        let (intents, [pause, park, ending]) = some(app).await;
        let page = ada.open(&path(app)).await;
        assert!(page.html.contains("&#60;/p&#62;&#60;script&#62;The supplier is checked.") && !page.html.contains("<script"), "{}", page.html);
        assert_eq!(page.html.matches("<button class=\"btn\" type=\"submit\" aria-describedby").count(), 2, "the end of work is not resumed");
        for words in ["Paused", "Parked", "Being ended", "Its time is over at", "The intent ends at the latest at"] {
            assert!(page.html.contains(words), "{words}: {}", page.html);
        }
        assert!(ada.open(&format!("{}inbox", app.base)).await.html.contains("<a href=\"/stops\">"));
        // An auditor reads.
        assert!(!dan.open(&path(app)).await.html.contains("name=\"input\""));
        let refused = send(app, &mut dan, &pause, "x").await;
        assert!(refused.status == 403 && refused.html.contains("You may not resume this work"), "{}", refused.html);
        let long = send(app, &mut ada, &pause, &"x".repeat(RESUME_INPUT_BYTES_MAX - 1)).await;
        assert!(long.status == 422 && long.html.contains("is too long"), "{}", long.status);
        assert_eq!(app.agent().status(intents[0]).await, "blocked");
        assert_eq!(send(app, &mut ada, &pause, " The supplier is fine. ").await.status, 303);
        let record = app.agent().suspension(&pause).await;
        assert_eq!((&record["input"], &record["resolved_by"]), (&json!("The supplier is fine."), &json!(ADA)));
        let again = send(app, &mut bob, &pause, "").await;
        assert!(again.status == 409 && again.html.contains("is not stopped any more"), "{}", again.html);
        assert_eq!(send(app, &mut bob, &park, "").await.status, 303);
        assert_eq!(app.agent().suspension(&park).await.get("input"), None);
        for id in [&ending, "x"] {
            assert_eq!(send(app, &mut ada, id, "").await.status, 409, "{id}");
        }
        assert_eq!(ada.post(&path(app), &[("nonce", "x"), ("id", &ending)]).await.status, 403);
        assert_eq!(app.person().open(&path(app)).await.header("location"), "/login");
        mails(app).await;
    }

    /// A page shows fifty stops and leads to the next one: work that no person could find would stand still for ever.
    async fn the_page_leads_to_all_that_is_stopped(app: &mut TestApp) {
        directory(app).await;
        let (agent, mut ada) = (app.agent(), enter(app, ADA).await);
        let oldest = agent.active_intent().await;
        let id = stopped(&agent, oldest, "park", json!({"reason": "The oldest."})).await;
        let mut newest = oldest;
        for number in 1..50 {
            newest = agent.active_intent().await;
            stopped(&agent, newest, "park", json!({"reason": format!("Number {number}.")})).await;
        }
        let page = ada.open(&path(app)).await.html;
        assert_eq!((page.matches("name=\"input\"").count(), page.contains("?before=")), (50, false));
        assert!(!page.contains("Show the"), "{page}");
        stopped(&agent, agent.active_intent().await, "park", json!({"reason": "One more."})).await;
        let page = ada.open(&path(app)).await.html;
        assert_eq!(page.matches("name=\"input\"").count(), 50);
        assert!(page.contains("One more.") && !page.contains("The oldest."), "{page}");
        let next = page.split("href=\"/").find_map(|rest| rest.strip_prefix("stops?")?.split('"').next()).unwrap();
        let next = format!("{}?{next}", path(app));
        let page = ada.open(&next).await;
        assert_eq!(page.html.matches("name=\"input\"").count(), 1);
        assert!(page.html.contains("The oldest.") && !page.html.contains("Show the next"), "{}", page.html);
        assert!(page.html.contains("<a href=\"/stops\">Show the newest stopped work</a>"), "{}", page.html);
        // A place does not move when work goes on before it, and a person who resumes work stays where it was shown.
        app.operator().post(&format!("api/v1/intents/{newest}/stop"), json!({"graceful": false})).await.ok();
        let (nonce, before) = (page.nonce(), next.split_once("before=").unwrap().1.to_owned());
        let fields = [("nonce", nonce.as_str()), ("id", id.as_str()), ("before", before.as_str())];
        let long = "x".repeat(RESUME_INPUT_BYTES_MAX);
        let refused = ada.post(&path(app), &[&fields[..], &[("input", long.as_str())]].concat()).await;
        assert!(refused.status == 422 && refused.html.contains("The oldest.") && !refused.html.contains("One more."), "{}", refused.status);
        let gone = ada.post(&path(app), &fields).await;
        assert_eq!((gone.status, gone.header("location")), (303, &*format!("/stops?before={before}")));
        assert_eq!(agent.status(oldest).await, "active");
        assert!(ada.open(&next).await.html.contains("No older work is stopped now."));
        for odd in ["x", "", "99999999999999999999", "1%00"] {
            let page = ada.open(&format!("{}?before={odd}", path(app))).await;
            assert!(page.status == 200 && page.html.contains("One more."), "{odd}");
        }
        assert!(ada.open(&format!("{}?before=-1", path(app))).await.html.contains("No older work is stopped now."));
        mails(app).await;
    }

    /// The words of an agent are shown as they are: nothing in them is hidden, turns the words around it about, or leads elsewhere.
    async fn the_reason_of_an_agent_hides_nothing_on_the_page(app: &mut TestApp) {
        directory(app).await;
        let (agent, mut ada) = (app.agent(), enter(app, ADA).await);
        let reason = "Paid\u{202e}lla\u{202c}\u{200b}\u{1b}[2K\u{e0041}\u{0}, see https://evil.example/x";
        stopped(&agent, agent.active_intent().await, "park", json!({"reason": reason})).await;
        let page = ada.open(&path(app)).await.html;
        assert!(!page.contains(['\u{202e}', '\u{202c}', '\u{200b}', '\u{1b}', '\u{e0041}', '\u{0}']), "{page}");
        assert!(page.contains("Paid⟨U+202E⟩lla⟨U+202C⟩⟨U+200B⟩⟨U+001B⟩[2K") && page.contains("https[:]//evil[.]example/x"), "{page}");
    }
}

on_one_store! {
    /// The page is readable on a desk and on a phone, in both schemes and languages, without scripts.
    async fn the_page_of_stopped_work_fits_every_width(app: &mut TestApp) {
        directory(app).await;
        let ada = enter(app, ADA).await;
        some(app).await;
        let long = "Donaudampfschifffahrtsgesellschaft".repeat(6);
        let named = app.agent().post("api/v1/intents", json!({"title": long, "status": "active"})).await.ok();
        let intent = named["id"].as_str().unwrap().parse().unwrap();
        stopped(&app.operator(), intent, "pause", json!({"reason": long})).await;
        // So many that there is a next page.
        for _ in 0..47 {
            stopped(&app.operator(), app.agent().active_intent().await, "pause", json!({})).await;
        }
        for (width, dark) in looks() {
            for language in ["en", "de"] {
                let browser = Browser::start(BrowserOptions { width, height: 800, dark, javascript: false }).await;
                browser.speak(language).await;
                become_person(&browser, app, &ada).await;
                browser.open(&path(app)).await;
                fits(&browser, &format!("stops-{language}"), (width, dark)).await;
            }
        }
    }
}
