//! The worker that moves the questions of people who are out of office: many questions, two servers, a damaged question.

use std::sync::Arc;

use domain::people::principal::Role;
use futures_util::future::{join, join_all};
use harness::app::TestApp;
use harness::{on_each_store, rows};
use placet_server::worker::absences::Absences;
use serde_json::{Value, json};
use store::Store;

use super::absences::leaves;
use super::assignees::{ADA, directory, key_of, list, mails};
use super::hands::{CLEO, DAN};
use super::logins;
use super::quorums::asked;

/// Asks so many questions of Ada by name, whose place Dan gets from now on.
async fn waiting(app: &TestApp, count: usize) -> Vec<String> {
    let [ada, ..] = directory(app).await;
    list(app, DAN, "operator").await;
    let ask = || asked(app, json!(null), json!({"assignees": {"people": [ADA]}, "timeout_seconds": 80_000}));
    let ids = join_all((0..count).map(|_| ask())).await.into_iter().map(|(_, id)| id).collect();
    leaves(app, &ada, DAN).await.ok();
    ids
}

async fn has_moved(app: &TestApp, id: &str) -> bool {
    app.agent().suspension(id).await["handed_on"] == json!([{"from": ADA, "to": DAN}])
}

/// The second server of a database that can have one; otherwise the same one.
async fn with_two<T>(app: &TestApp, work: impl AsyncFnOnce(Arc<dyn Store>, Arc<dyn Store>) -> T) -> T {
    match app.scratch() {
        Some(_) => {
            let replica = app.replica().await;
            let done = work(app.store(), replica.store.clone()).await;
            replica.stop().await;
            done
        }
        None => work(app.store(), app.store()).await,
    }
}

on_each_store! {
    /// A person can have more questions than one turn moves. The next turn moves the rest, and no question waits behind the others.
    async fn a_turn_moves_so_many_and_the_next_one_the_rest(app: &mut TestApp) {
        let ids = waiting(app, 203).await;
        let worker = Absences::new(app.store());
        assert_eq!((worker.turn().await, worker.turn().await, worker.turn().await), (200, 3, 0));
        assert!(has_moved(app, &ids[0]).await && has_moved(app, &ids[202]).await);
        mails(app).await;
    }

    /// Two servers look at the same questions at the same time. Each question moves once, and its deputy is told once.
    async fn turns_of_two_servers_move_each_question_once(app: &mut TestApp) {
        let ids = waiting(app, 12).await;
        mails(app).await;
        let moved = with_two(app, async |one, other| {
            let (one, other) = (Absences::new(one), Absences::new(other));
            let (one, other) = join(one.turn(), other.turn()).await;
            one + other
        })
        .await;
        assert_eq!(moved, 12);
        let told = mails(app).await;
        assert!(told.len() == 12 && told.iter().all(|(to, _)| to == DAN), "{told:?}");
        for id in &ids {
            assert!(has_moved(app, id).await);
        }
    }

    /// A question that cannot be read is left where it is. Those before and behind it move, and it moves once it can be read again.
    async fn a_question_that_cannot_be_read_keeps_no_other_from_moving(app: &mut TestApp) {
        let ids = waiting(app, 3).await;
        let damaged = "rid = (SELECT event FROM suspensions WHERE rid = (SELECT min(rid) + 1 FROM suspensions))";
        let (bytes, broken) = match app.scratch() {
            None => ("CAST(substr(CAST(bytes AS TEXT), 2) AS BLOB)", "CAST('x' || CAST(bytes AS TEXT) AS BLOB)"),
            Some(_) => ("substring(bytes FROM 2)", "convert_to('x', 'UTF8') || bytes"),
        };
        rows::change(app, &format!("UPDATE events SET bytes = {broken} WHERE {damaged}")).await;
        let worker = Absences::new(app.store());
        assert_eq!(worker.turn().await, 2);
        assert_eq!(worker.turn().await, 0, "it is not tried at each turn");
        rows::change(app, &format!("UPDATE events SET bytes = {bytes} WHERE {damaged}")).await;
        let mut moved = 0;
        for _ in 0..12 {
            moved += worker.turn().await;
        }
        assert_eq!(moved, 1, "after a minute it is tried again");
        for id in &ids {
            assert!(has_moved(app, id).await);
        }
        mails(app).await;
    }

    /// A mail that names no one in whose place it asks reads like a mistake: its reader was never asked by the agent.
    async fn a_mail_says_in_whose_place_the_person_is_asked(app: &mut TestApp) {
        let [ada_path, ..] = directory(app).await;
        list(app, DAN, "operator").await;
        let cleo_path = list(app, CLEO, "operator").await;
        let admin = app.api(Role::Admin);
        admin.send(admin.request("PATCH", &cleo_path).json(&json!({"locale": "de"}))).await.ok();
        let (_, id) = asked(app, json!(null), json!({"assignees": {"people": [ADA]}, "timeout_seconds": 80_000})).await;
        let told = async || {
            app.settle().await;
            let mail = app.smtp.next_mail().await;
            (mail.to[0].clone(), mail.text().split_whitespace().collect::<Vec<_>>().join(" "), mail.html())
        };
        let (to, text, _) = told().await;
        assert!(to == ADA && text.contains("Sent to ada@example.com because the agent asked for you."), "{text}");
        leaves(app, &ada_path, DAN).await.ok();
        assert_eq!(Absences::new(app.store()).turn().await, 1);
        let (to, text, html) = told().await;
        let why = "because you answer in place of ada@example.com";
        assert!(to == DAN && text.contains(why) && html.contains(why), "{text}");
        let dan = key_of(app, DAN, "dan").await;
        dan.post(&format!("api/v1/suspensions/{id}/delegate"), json!({"to": CLEO})).await.ok();
        let (to, text, html) = told().await;
        let why = "weil Sie an Stelle von ada@example.com antworten";
        assert!(to == CLEO && text.contains(why) && html.contains(why), "{text}");
    }

    /// After the end it must still be told in whose place a person answered: on the page, in the history, in the list and in the record.
    async fn an_answer_in_place_of_another_says_so_after_the_end(app: &mut TestApp) {
        directory(app).await;
        list(app, DAN, "operator").await;
        let (intent, id) = asked(app, json!(null), json!({"assignees": {"people": [ADA]}, "timeout_seconds": 80_000})).await;
        let ada = key_of(app, ADA, "ada").await;
        ada.post(&format!("api/v1/suspensions/{id}/delegate"), json!({"to": DAN})).await.ok();
        let link = mails(app).await.into_iter().find(|(to, _)| to == DAN).map(|(_, link)| link);
        let link = link.unwrap_or_else(|| panic!("Dan got no mail"));
        let (agent, person) = (app.agent(), key_of(app, DAN, "dan").await);
        let path = format!("api/v1/suspensions/{id}?wait=20");
        let (waited, answered) = join(agent.get(&path), person.respond(intent, &id, "approve")).await;
        answered.ok();
        let waited = waited.ok();
        assert_eq!((&waited["resolution"], &waited["in_place_of"]), (&json!("responded"), &json!(ADA)), "the agent that waits reads the same: {waited}");
        app.restart().await;
        let record = app.agent().suspension(&id).await;
        assert_eq!((&record["responded_by"], &record["in_place_of"]), (&json!(DAN), &json!(ADA)));
        let mut dan = logins::log_in(app, DAN).await;
        for url in [link, format!("{}questions/{id}", app.base)] {
            let page = dan.open(&url).await.html;
            assert!(page.contains("was given in place of <bdi>ada@example.com</bdi>"), "{page}");
        }
        let page = dan.open(&format!("{}questions/{id}", app.base)).await.html;
        assert!(page.contains("Answered by <bdi>dan@example.com</bdi> (in place of <bdi>ada@example.com</bdi>)"), "{page}");
        let list = dan.open(&format!("{}inbox?list=done", app.base)).await.html;
        assert!(list.contains("(in place of <bdi>ada@example.com</bdi>)"), "{list}");
        // An answer in a place of one's own says nothing of another.
        let (intent, own) = asked(app, json!(null), json!({"assignees": {"people": [ADA]}})).await;
        key_of(app, ADA, "ada-2").await.respond(intent, &own, "approve").await.ok();
        assert!(app.agent().suspension(&own).await["in_place_of"].is_null());
        mails(app).await;
    }

    /// The own page must not promise that a deputy answers who may not.
    async fn a_deputy_who_becomes_an_auditor_is_named_as_one(app: &mut TestApp) {
        let [ada_path, ..] = directory(app).await;
        let dan_path = list(app, DAN, "operator").await;
        leaves(app, &ada_path, DAN).await.ok();
        let path = format!("{}out-of-office", app.base);
        let mut ada = logins::log_in(app, ADA).await;
        let page = ada.open(&path).await.html;
        assert!(page.contains("answers in your place") && !page.contains("auditor by now"), "{page}");
        let admin = app.api(Role::Admin);
        let changed = admin.send(admin.request("PATCH", &dan_path).json(&json!({"role": "auditor"}))).await.ok();
        assert_eq!(changed["role"], json!("auditor"));
        let page = ada.open(&path).await.html;
        assert!(page.contains("is an auditor by now") && !page.contains("answers in your place"), "{page}");
        let record: Value = app.api(Role::Admin).get("api/v1/people").await.ok();
        assert_eq!(record["people"][0]["out_of_office"]["deputy"], json!(DAN));
    }
}
