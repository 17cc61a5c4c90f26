//! The page about stopped work.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::base::ids::IntentId;
use domain::suspension::stop::RESUME_INPUT_BYTES_MAX;
use harness::api::Api;
use harness::app::TestApp;
use harness::browser::{Browser, BrowserOptions};
use harness::person::{Page, Person};
use harness::{on_each_store, on_one_store};
use reqwest::Method;
use serde_json::{Value, json};

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

/// The words of the page about one intent, without marks.
fn told(html: &str, intent: IntentId) -> String {
    let row = html.split("<li>").find(|row| row.contains(&format!("<code>{intent}</code>"))).unwrap();
    let row = row.split("</li>").next().unwrap();
    row.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text)).collect()
}

/// What the page says about one intent, in English and in German.
async fn in_both_languages(app: &TestApp, person: &mut Person, intent: IntentId) -> (String, String) {
    let english = told(&person.open(&path(app)).await.html, intent);
    let request = person.request(Method::GET, &path(app)).header("accept-language", "de");
    (english, told(&person.send(request).await.html, intent))
}

async fn parked(api: &Api, conditions: Value) -> IntentId {
    let intent = api.active_intent().await;
    stopped(api, intent, "park", json!({"reason": "Waiting.", "conditions": conditions})).await;
    intent
}

async fn stopped(api: &Api, intent: IntentId, how: &str, body: Value) -> String {
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
        for words in ["Paused", "Parked", "Being ended", "it goes on by itself on", "The intent ends at the latest on"] {
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

    /// A person who reads what the work waits for must be able to do it, and a person must not wait for what never comes.
    async fn the_page_tells_what_parked_work_waits_for(app: &mut TestApp) {
        directory(app).await;
        let (agent, mut ada) = (app.agent(), enter(app, ADA).await);
        let before = ("Before that, its agent, an operator or an admin may resume it.", "Vorher können der Agent selbst und Personen mit der Rolle");
        for (conditions, english, in_german) in [
            (
                json!({"on_event": "docs.review/approved"}),
                "It goes on when the event docs.review/approved comes. Before that, its agent",
                "Die Arbeit geht weiter, wenn das Ereignis docs.review/approved eintrifft. Vorher können",
            ),
            (
                json!({"trigger": {"kind": "build.finished", "provider": "webhook", "match": {"events": ["a.b", "c"]}}}),
                "It goes on when the provider webhook tells of the event a.b or c. The agent calls this trigger build.finished. Before that,",
                "Die Arbeit geht weiter, wenn der Anbieter webhook das Ereignis a.b oder c meldet. Der Agent nennt diesen Auslöser build.finished. Vorher",
            ),
            (
                json!({"on_event": "x", "trigger": {"kind": "k", "provider": "placet", "match": {"events": ["y"]}}}),
                "when the event x comes. It also goes on when the provider placet tells of the event y.",
                "wenn das Ereignis x eintrifft. Die Arbeit geht auch weiter, wenn der Anbieter placet das Ereignis y meldet.",
            ),
        ] {
            let told = in_both_languages(app, &mut ada, parked(&agent, conditions).await).await;
            assert!(told.0.contains(english) && told.0.contains(before.0), "{}", told.0);
            assert!(told.1.contains(in_german) && told.1.contains(before.1), "{}", told.1);
            assert!(!told.0.contains("the work is given up") && !told.0.contains("by itself"), "it has no time: {}", told.0);
        }
        let told = in_both_languages(app, &mut ada, parked(&agent, json!(null)).await).await;
        assert!(told.0.contains("It waits until its agent, an operator or an admin resumes it."), "{}", told.0);
        assert!(told.1.contains("Die Arbeit wartet, bis der Agent selbst oder eine Person mit der Rolle „operator“ oder „admin“ sie fortsetzt."), "{}", told.1);
        assert!(!told.0.contains("goes on") && !told.0.contains("Before that"), "nothing else lets it go on: {}", told.0);
        mails(app).await;
    }

    /// At its time the work goes on or is given up: a person must know which, and until when it can be helped.
    async fn the_page_tells_what_the_time_of_parked_work_does(app: &mut TestApp) {
        directory(app).await;
        let (agent, mut ada) = (app.agent(), enter(app, ADA).await);
        let timeout = |on_timeout: &str, input: Value| json!({"timeout": {"duration_minutes": 5, "on_timeout": on_timeout, "input": input}});
        let hidden = json!({"see": "a.example", "b": "c\u{202e}d"});
        for (conditions, english, in_german) in [
            (timeout("resume_with_summary", json!(null)), ", and its agent begins anew with a summary. Before that,", ", und ihr Agent beginnt mit einer Zusammenfassung neu. Vorher"),
            (timeout("fail", json!(null)), ", the work is given up. Before that,", " noch nicht weitergegangen, wird sie aufgegeben. Vorher"),
            (timeout("resume_with_input", json!(null)), ", and its agent is told that the time is over.", ", und ihrem Agenten wird mitgeteilt, dass die Zeit um ist."),
            (
                timeout("resume_with_input", hidden),
                ", and its agent gets this input: {&#34;b&#34;:&#34;c⟨U+202E⟩d&#34;,&#34;see&#34;:&#34;a.example&#34;}.",
                ", und ihr Agent bekommt diese Eingabe: {&#34;b&#34;:&#34;c⟨U+202E⟩d&#34;,&#34;see&#34;:&#34;a.example&#34;}.",
            ),
            (
                timeout("resume_with_input", json!("See https://evil.example/x")),
                "gets this input: See https[:]//evil[.]example/x.",
                "bekommt diese Eingabe: See https[:]//evil[.]example/x.",
            ),
            (timeout("resume_with_input", json!("x".repeat(5_000))), "x… (4701 more characters).", "x… (4701 weitere Zeichen)."),
        ] {
            let told = in_both_languages(app, &mut ada, parked(&agent, conditions).await).await;
            assert!(told.0.contains(english) && told.0.contains("If it has not gone on"), "{}", told.0);
            assert!(told.1.contains(in_german) && told.1.contains("Ist die Arbeit "), "{}", told.1);
        }
        // The event may come before the time.
        let both = json!({"on_event": "go", "timeout": {"duration_minutes": 5, "on_timeout": "fail"}});
        let told = in_both_languages(app, &mut ada, parked(&agent, both).await).await;
        assert!(told.0.contains("when the event go comes. If it has not gone on by Tue 24 Nov 2026 at 08:05:00 UTC, the work is given up."), "{}", told.0);
        assert!(told.1.contains("wenn das Ereignis go eintrifft. Ist die Arbeit am Di., 24. Nov. 2026, 08:05:00 UTC noch nicht weitergegangen,"), "{}", told.1);
        mails(app).await;
    }

    /// The end of paused work says no more of the agent than the pause did: an agent that has not heard of it still runs.
    async fn an_agent_that_has_not_heard_of_the_pause_is_not_told_as_stopped_when_its_work_is_ended(app: &mut TestApp) {
        directory(app).await;
        let (agent, operator, mut ada) = (app.agent(), app.operator(), enter(app, ADA).await);
        for (settled, said, gesagt) in [
            (false, "The agent has not said yet that it has stopped.", "Der Agent hat noch nicht mitgeteilt, dass er angehalten hat."),
            (true, "The agent has stopped.", "Der Agent hat angehalten."),
        ] {
            let intent = agent.active_intent().await;
            let pause = stopped(&operator, intent, "pause", json!({})).await;
            if settled {
                agent.post(&format!("api/v1/suspensions/{pause}/settle"), json!({})).await.ok();
            }
            stopped(&operator, intent, "stop", json!({})).await;
            let told = in_both_languages(app, &mut ada, intent).await;
            assert!(told.0.contains("Being ended") && told.0.contains(said), "{}", told.0);
            assert!(told.1.contains("Wird beendet") && told.1.contains(gesagt), "{}", told.1);
        }
        mails(app).await;
    }

    /// The words of an agent are shown as they are: nothing in them is hidden, turns the words around it about, or leads elsewhere.
    async fn the_reason_of_an_agent_hides_nothing_on_the_page(app: &mut TestApp) {
        directory(app).await;
        let (agent, mut ada) = (app.agent(), enter(app, ADA).await);
        let reason = "Paid\u{202e}lla\u{202c}\u{200b}\u{1b}[2K\u{e0041}\u{0}, see https://evil.example/x";
        let title = json!({"title": "See https://evil.example/t", "status": "active"});
        let named = agent.post("api/v1/intents", title).await.ok();
        let kind = format!("Paid\u{202e}lla, see https://evil.example/k{}", "k".repeat(200));
        let trigger = json!({"kind": kind, "provider": "placet", "match": {"events": ["https://evil.example/e"]}});
        let park = json!({"reason": reason, "conditions": {"trigger": trigger}});
        stopped(&agent, named["id"].as_str().unwrap().parse().unwrap(), "park", park).await;
        let page = ada.open(&path(app)).await.html;
        assert!(page.contains("See https[:]//evil[.]example/t</h2>") && !page.contains("evil.example/t"), "{page}");
        assert!(page.contains("<code><bdi>Paid⟨U+202E⟩lla, see https://evil.example/kk") && page.contains("k…</bdi></code>."), "{page}");
        assert!(page.contains("<code><bdi>https://evil.example/e</bdi></code>") && !page.contains("href=\"https://evil"), "{page}");
        // The button is described by the title and by the line below it: a person who listens does not hear the whole reason once more.
        assert!(page.contains("<h2 id=\"t1\"") && page.contains("id=\"k1\"><span class=\"chip act\">Parked"), "{page}");
        assert!(page.contains("type=\"submit\" aria-describedby=\"t1 k1\">Resume"), "{page}");
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
        let events: Vec<String> = (10..25).map(|number| format!("{}{number}", "event".repeat(39))).collect();
        let trigger = json!({"kind": long, "provider": "webhook", "match": {"events": events}});
        let input = json!({"input": "x".repeat(400)});
        let timeout = json!({"duration_minutes": 60, "on_timeout": "resume_with_input", "input": input});
        parked(&app.agent(), json!({"on_event": "event".repeat(40), "trigger": trigger, "timeout": timeout})).await;
        // So many that there is a next page.
        for _ in 0..46 {
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
