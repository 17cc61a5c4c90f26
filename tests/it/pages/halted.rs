//! Stopped work in the record of an intent: how it began, how it changed and how it ended, in plain words of both languages.

#![expect(clippy::unwrap_used, reason = "these functions serve tests alone")]

use domain::base::ids::IntentId;
use harness::api::Api;
use harness::app::TestApp;
use harness::on_each_store;
use harness::person::Person;
use reqwest::Method;
use serde_json::{Value, json};

use super::audit::{auditor, open};
use crate::lifecycle::pausing::{id_of, parent_of_anothers_child, pause, resume, settle};

/// The sentences of a record, oldest first, without marks.
fn sentences(html: &str) -> Vec<String> {
    let rail = html.split("<ol class=\"rail\">").nth(1).unwrap().split("</ol>").next().unwrap();
    let said = rail.split("<div><p>").skip(1).map(|entry| entry.split("</p>").next().unwrap());
    let bare = |said: &str| {
        let mut text = String::new();
        let mut is_mark = false;
        for c in said.chars() {
            match c {
                '<' => is_mark = true,
                '>' => is_mark = false,
                c if !is_mark => text.push(c),
                _ => {}
            }
        }
        text
    };
    said.map(bare).collect()
}

async fn german(app: &TestApp, person: &mut Person, intent: IntentId) -> Vec<String> {
    let url = format!("{}audit/{intent}", app.base);
    let request = person.request(Method::GET, &url).header("accept-language", "de");
    sentences(&person.send(request).await.html)
}

/// The record has these sentences, in this order.
fn tells(said: &[String], wanted: &[&str]) {
    let mut left = said.iter();
    for wanted in wanted {
        assert!(left.any(|sentence| sentence.contains(wanted)), "{wanted} is missing, or too early, in {said:#?}");
    }
}

async fn park(api: &Api, intent: IntentId, conditions: Value) -> String {
    let body = json!({"reason": "Waiting for the <review>.", "conditions": conditions});
    id_of(&api.post(&format!("api/v1/intents/{intent}/park"), body).await.ok())
}

on_each_store! {
    /// A reader who was not there must be able to tell who held the work up, and why it went on.
    async fn a_record_tells_the_story_of_stopped_work(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let mut ada = auditor(app).await;
        let intent = agent.active_intent().await;
        let id = id_of(&pause(&operator, intent, json!({"mode": "interrupt_immediate", "reason": "The supplier is checked."})).await.ok());
        settle(&agent, &id, json!({"stage": "quiescing"})).await.ok();
        settle(&agent, &id, json!({})).await.ok();
        resume(&operator, &id, json!({"input": "The supplier is fine."})).await.ok();
        park(&agent, intent, json!({"on_event": "review.approved", "trigger": {"kind": "build.finished", "provider": "placet", "match": {"events": ["review.rejected"]}}})).await;
        operator.post("api/v1/events", json!({"name": "review.approved", "payload": {"review": 7}})).await.ok();
        park(&agent, intent, json!({"timeout": {"duration_minutes": 5, "on_timeout": "resume_with_summary"}})).await;
        app.advance(300).await;
        park(&agent, intent, json!(null)).await;
        let stop = json!({"reason": "Another team does it."});
        let id = id_of(&operator.post(&format!("api/v1/intents/{intent}/stop"), stop).await.ok());
        settle(&agent, &id, json!({"handoff": {"left": ["The <invoice>."]}})).await.ok();
        app.restart().await;

        let page = open(app, &mut ada, &format!("/{intent}")).await;
        assert!(!page.html.contains("<review>") && !page.html.contains("<invoice>"), "words of an agent are words");
        tells(&sentences(&page.html), &[
            "test-operator paused the work at once: “The supplier is checked.”", "test-agent said that it had heard of the stop",
            "test-agent said that it had stopped", "test-operator let the work go on: The supplier is fine.",
            "test-agent parked the work: “Waiting for the &#60;review&#62;.” · waits for the event review.approved or for the event review.rejected of the provider placet (trigger build.finished)",
            "The event review.approved let the work go on; test-operator told of it: {&#34;review&#34;:7}",
            "test-agent parked the work: “Waiting for the &#60;review&#62;.” · until", "The time was over, and the work went on",
            "test-agent parked the work", "The stop was over, because test-operator ended the work",
            "test-operator ended the work: “Another team does it.” · the agent had time until",
            "test-agent stopped and handed in: {&#34;left&#34;:[&#34;The &#60;invoice&#62;.&#34;]}",
        ]);
        tells(&german(app, &mut ada, intent).await, &[
            "test-operator hat die Arbeit sofort pausiert: „The supplier is checked.“", "test-agent hat mitgeteilt, von der Unterbrechung zu wissen",
            "test-agent hat mitgeteilt, angehalten zu haben", "test-operator hat die Arbeit fortgesetzt: The supplier is fine.",
            " · wartet auf das Ereignis review.approved oder auf das Ereignis review.rejected des Anbieters placet (Auslöser build.finished)", "Das Ereignis review.approved hat die Arbeit fortgesetzt; test-operator hat es gemeldet",
            "Die Zeit war um, und die Arbeit ging weiter", "Die Unterbrechung war vorbei, weil test-operator die Arbeit beendet hat",
            "test-operator hat die Arbeit beendet: „Another team does it.“ · der Agent hatte Zeit bis", "test-agent hat angehalten und abgegeben: ",
        ]);
    }

    /// A reader must know what the time of a park does, and must be able to read its input as the document that it is.
    async fn a_record_tells_what_the_time_of_a_park_does(app: &mut TestApp) {
        let agent = app.agent();
        let mut ada = auditor(app).await;
        let timeout = |rest: Value| {
            let mut timeout = json!({"duration_minutes": 5});
            timeout.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
            json!({ "timeout": timeout })
        };
        let input = json!({"say": "\"yes\"", "hidden": "a\u{202e}b\u{200b}"});
        let shown = "{&#34;hidden&#34;:&#34;a⟨U+202E⟩b⟨U+200B⟩&#34;,&#34;say&#34;:&#34;\\&#34;yes\\&#34;&#34;}";
        for (conditions, english, in_german) in [
            (timeout(json!({})), ", then it goes on with a summary", ", danach geht sie mit einer Zusammenfassung weiter"),
            (timeout(json!({"on_timeout": "fail"})), ", then the work is given up", ", danach wird die Arbeit aufgegeben"),
            (
                timeout(json!({"on_timeout": "resume_with_input"})),
                ", then it goes on, and its agent is told that the time is over",
                ", danach geht sie weiter, und ihrem Agenten wird mitgeteilt, dass die Zeit um ist",
            ),
            (
                timeout(json!({"on_timeout": "resume_with_input", "input": input})),
                &*format!(", then it goes on with this input: {shown}"),
                &*format!(", danach geht sie mit dieser Eingabe weiter: {shown}"),
            ),
            (
                timeout(json!({"on_timeout": "resume_with_input", "input": "x".repeat(5_000)})),
                "x… (4701 more characters)",
                "x… (4701 weitere Zeichen)",
            ),
        ] {
            let intent = agent.active_intent().await;
            park(&agent, intent, conditions).await;
            let said = sentences(&open(app, &mut ada, &format!("/{intent}")).await.html);
            assert!(said.iter().any(|said| said.contains(" · until ") && said.ends_with(english)), "{english}: {said:#?}");
            let said = german(app, &mut ada, intent).await;
            assert!(said.iter().any(|said| said.contains(" · bis ") && said.ends_with(in_german)), "{in_german}: {said:#?}");
        }
    }

    /// The other ends, a pause that a person took over, and the time of an outage.
    async fn a_record_tells_the_other_ends_of_stopped_work(app: &mut TestApp) {
        let (boss, child) = parent_of_anothers_child(app).await;
        let (agent, operator) = (app.agent(), app.operator());
        let mut ada = auditor(app).await;
        pause(&boss, child, json!({})).await.ok();
        pause(&operator, child, json!({"reason": "Everything stands still."})).await.ok();
        crate::lifecycle::pausing::set_status(&agent, child, "abandoned").await.ok();
        let silent = agent.active_intent().await;
        operator.post(&format!("api/v1/intents/{silent}/stop"), json!({})).await.ok();
        let empty = agent.active_intent().await;
        let id = id_of(&operator.post(&format!("api/v1/intents/{empty}/stop"), json!({})).await.ok());
        settle(&agent, &id, json!({})).await.ok();
        let at_once = agent.active_intent().await;
        operator.post(&format!("api/v1/intents/{at_once}/stop"), json!({"graceful": false})).await.ok();
        app.advance(60).await;
        let late = agent.active_intent().await;
        park(&agent, late, json!({"timeout": {"duration_minutes": 5, "on_timeout": "resume_with_summary"}})).await;
        app.advance(60).await;
        app.outage(600).await;
        for (intent, english, in_german) in [
            (child, &["boss paused the work", "test-operator took the pause over from the agent that had made it: “Everything stands still.”", "test-agent gave the stopped work up"][..], "test-agent hat die angehaltene Arbeit aufgegeben"),
            (silent, &["test-operator ended the work", "The time was over, and the work ended"][..], "Die Zeit war um, und die Arbeit endete"),
            (empty, &["test-agent stopped and handed nothing in"][..], "test-agent hat angehalten und nichts abgegeben"),
            (at_once, &["test-operator ended the work", "The stop was over, because test-operator ended the work"][..], "test-operator hat die Arbeit beendet"),
            (late, &["The time of an outage was given back: until"][..], "Die Zeit eines Ausfalls wurde zurückgegeben: bis"),
        ] {
            tells(&sentences(&open(app, &mut ada, &format!("/{intent}")).await.html), english);
            tells(&german(app, &mut ada, intent).await, &[in_german]);
        }
        // No event about a stop is told by the name of its type.
        for intent in [child, silent, empty, at_once, late] {
            let said = sentences(&open(app, &mut ada, &format!("/{intent}")).await.html);
            assert!(!said.iter().any(|sentence| sentence.contains("lifecycle.")), "{said:#?}");
        }
    }
}
