//! The inbox: which questions wait for whom, how they are counted, searched and paged, and how an open page stays up to date.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use chrono::TimeDelta;
use domain::base::ids::{Entropy as _, SessionId};
use domain::people::principal::{Principal, Role};
use harness::app::{OPERATOR, TestApp};
use harness::browser::{Browser, BrowserOptions};
use harness::person::{Page, Person};
use harness::wish::{wish, wished};
use harness::{on_each_store, on_one_store, rows};
use reqwest::Method;
use serde_json::{Value, json};
use store::host::clock::SystemEntropy;
use store::inbox::{COUNTED_MAX, InboxFilter, LOOKED_AT_WITH_WORDS_MAX, List, SHOWN_MAX};
use tokio::time::Instant;

use super::audit::become_person;
use super::looks::{fits, looks};
use crate::people::assignees::{ADA, BOB, EVE, directory, key_of, list, mails, remove, set};
use crate::people::logins::log_in;

/// A page without the words of agents has at most so many bytes.
const PAGE_BYTES_MAX: usize = 60 * 1024;

pub(super) async fn open(app: &TestApp, person: &mut Person, query: &str) -> Page {
    person.open(&format!("{}inbox{query}", app.base)).await
}

/// Logs a listed person in.
pub(super) async fn enter(app: &TestApp, address: &str) -> Person {
    mails(app).await;
    log_in(app, address).await
}

/// Asks a question; its id.
async fn ask(app: &TestApp, change: Value) -> String {
    app.ask(change).await.1
}

/// The questions that a page shows, in order.
fn shown(page: &Page) -> Vec<String> {
    assert_eq!(page.status, 200, "{}", page.html);
    page.html.split("<li id=\"q-").skip(1).map(|row| row.split('"').next().unwrap().to_owned()).collect()
}

async fn listed(app: &TestApp, person: &mut Person, name: &str) -> Vec<String> {
    shown(&open(app, person, &format!("?list={name}")).await)
}

/// The number beside the name of a list.
fn tally(page: &Page, name: &str) -> String {
    let (_, rest) =
        page.html.split_once(&format!("{name} <span class=\"chip\">")).unwrap_or_else(|| panic!("{name}: {}", page.html));
    rest.split('<').next().unwrap().to_owned()
}

/// The address of the next page.
fn next(page: &Page) -> Option<String> {
    let (_, more) = page.html.split_once("<div id=\"more\">").unwrap();
    let link = more.split("href=\"/inbox?").nth(1)?.split('"').next().unwrap();
    Some(format!("?{}", link.replace("&amp;", "&").replace("&#38;", "&")))
}

/// Puts copies of the newest question into the database and into the inbox of Ada, so many that they could not all be asked in a test.
pub(super) async fn copies(app: &TestApp, count: u32) {
    copies_from(app, 1_000_000, count, "NULL, NULL, NULL").await;
    let sql = format!(
        "INSERT INTO inbox (place, due_at, suspension) SELECT 'person:{ADA}', expires_at, rid FROM suspensions WHERE rid > 1000000"
    );
    rows::change(app, &sql).await;
}

/// Puts copies of the newest question into the rows behind `first`, with this resolution, time and name.
pub(super) async fn copies_from(app: &TestApp, first: u32, count: u32, ending: &str) {
    let (series, id) = if app.scratch().is_some() {
        (format!("generate_series(1, {count}) AS numbers (number)"), "gen_random_uuid()")
    } else {
        let numbers = format!(
            "(WITH RECURSIVE n (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM n LIMIT {count}) SELECT number FROM n) AS numbers"
        );
        (numbers, "randomblob(16)")
    };
    // A request for approval does not stop its intent, so an intent may have many of them.
    let columns = "version, attempt, response_type, choices, suspended_at, expires_at, fallback_policy, fallback_value, reached, \
                   requires_delivery, refusals, asker, asker_owner, fixed_deadline";
    let sql = format!(
        "INSERT INTO suspensions (rid, id, intent, event, kind, resolution, resolved_at, resolved_by, {columns}) \
         SELECT {first} + number, {id}, intent, event, 3, {ending}, {columns} \
         FROM suspensions, {series} WHERE rid = (SELECT max(rid) FROM suspensions WHERE rid < 1000000)"
    );
    rows::change(app, &sql).await;
}

on_each_store! {
    /// A person who is asked must find the question, and another person must not be sent to one that only others may answer.
    async fn each_list_has_the_questions_of_its_people(app: &mut TestApp) {
        let paths = directory(app).await;
        list(app, "dan@example.com", "auditor").await;
        let (mut ada, mut bob) = (enter(app, ADA).await, enter(app, BOB).await);
        let (mut eve, mut dan) = (enter(app, EVE).await, enter(app, "dan@example.com").await);
        let to_bob = ask(app, json!({"question": "To Bob?", "notify_to": ["Bob@Example.com"], "timeout_seconds": 100})).await;
        let group = ask(app, json!({"question": "To finance?", "assignees": {"groups": ["finance"]}, "timeout_seconds": 200})).await;
        let role = ask(app, json!({"question": "To admins?", "assignees": {"roles": ["admin"]}, "timeout_seconds": 300})).await;
        let name = ask(app, json!({"question": "To Eve?", "assignees": {"people": [EVE]}, "timeout_seconds": 400})).await;
        let other = ask(app, json!({"question": "To the operator?", "timeout_seconds": 500})).await;
        let everything = [&other, &name, &role, &group, &to_bob].map(Clone::clone);
        for (person, mine, groups) in [
            (&mut ada, vec![&group], vec![&group]),
            (&mut bob, vec![&to_bob, &group], vec![&group]),
            (&mut eve, vec![&role, &name], vec![]),
            (&mut dan, vec![], vec![]),
        ] {
            assert_eq!(listed(app, person, "mine").await.iter().collect::<Vec<_>>(), mine);
            assert_eq!(listed(app, person, "groups").await.iter().collect::<Vec<_>>(), groups);
            assert_eq!(listed(app, person, "everything").await, everything);
            assert!(listed(app, person, "done").await.is_empty());
            let page = open(app, person, "").await;
            assert_eq!(tally(&page, "Waiting for me"), mine.len().to_string());
            assert_eq!((tally(&page, "My groups"), tally(&page, "Everything")), (groups.len().to_string(), "5".to_owned()));
        }
        let page = open(app, &mut bob, "").await;
        assert!(page.html.contains(&format!("href=\"/questions/{to_bob}\"")) && page.html.contains("the group finance"), "{}", page.html);
        // Membership counts as it is when the person looks.
        set(app, "finance", &[ADA]).await;
        assert_eq!(listed(app, &mut bob, "mine").await, [to_bob]);
        remove(app, &paths[0]).await;
        for query in ["", "?list=everything", "/list", "/live"] {
            let page = open(app, &mut ada, query).await;
            assert!(matches!(page.status, 303 | 401) && !page.html.contains("To finance?"), "{query}: {} {}", page.status, page.html);
        }
        assert!(shown(&open(app, &mut dan, "").await).is_empty());
        assert!(open(app, &mut dan, "").await.html.contains("Auditors read"), "an auditor is told why the list is empty");
    }

    /// A list that shows what a person has done already would have each person open it twice.
    async fn a_question_leaves_the_list_of_a_person_who_answered_it(app: &mut TestApp) {
        directory(app).await;
        let mut ada = enter(app, ADA).await;
        let mut bob = enter(app, BOB).await;
        let (intent, id) = app.ask(json!({"assignees": {"groups": ["finance"]}, "quorum": {"required_approvals": 2}})).await;
        let [key, other] = [key_of(app, ADA, "ada").await, key_of(app, BOB, "bob").await];
        assert_eq!(listed(app, &mut ada, "mine").await, std::slice::from_ref(&id));
        key.respond(intent, &id, "approve").await.ok();
        assert!(listed(app, &mut ada, "mine").await.is_empty() && listed(app, &mut ada, "groups").await.is_empty());
        assert_eq!(listed(app, &mut ada, "done").await, std::slice::from_ref(&id));
        assert_eq!(listed(app, &mut bob, "mine").await, std::slice::from_ref(&id));
        assert!(open(app, &mut bob, "").await.html.contains("1 of 2 have agreed"));
        key.post(&format!("api/v1/suspensions/{id}/take-back"), json!({})).await.ok();
        assert_eq!(listed(app, &mut ada, "mine").await, std::slice::from_ref(&id));
        assert!(listed(app, &mut ada, "done").await.is_empty());
        key.respond(intent, &id, "approve").await.ok();
        other.respond(intent, &id, "approve").await.ok();
        for person in [&mut ada, &mut bob] {
            assert!(listed(app, person, "mine").await.is_empty() && listed(app, person, "everything").await.is_empty());
            let done = open(app, person, "?list=done").await;
            assert!(shown(&done) == [id.clone()] && done.html.contains("<b>answered</b> by"), "{}", done.html);
            assert!(done.html.contains("Answer: <b><bdi>Approve refund</bdi></b>"), "{}", done.html);
        }
        assert_eq!(rows::number(app, "SELECT count(*) AS number FROM inbox").await, 0);
    }

    /// The list and the record say the same: an answer of a person who may not answer any more does not count, and a refusal agrees with
    /// no approval.
    async fn only_answers_that_count_are_counted_in_a_list(app: &mut TestApp) {
        directory(app).await;
        list(app, "zoe@example.com", "operator").await;
        set(app, "finance", &[ADA, BOB, EVE, "zoe@example.com"]).await;
        let mut eve = enter(app, EVE).await;
        let quorum = json!({"required_approvals": 3, "required_refusals": 2});
        let (intent, id) = app.ask(json!({"assignees": {"groups": ["finance"]}, "quorum": quorum})).await;
        for (address, name, value) in [(ADA, "ada", "approve"), (BOB, "bob", "approve"), ("zoe@example.com", "zoe", "deny")] {
            key_of(app, address, name).await.respond(intent, &id, value).await.ok();
        }
        for (members, given) in [(vec![ADA, BOB, EVE, "zoe@example.com"], 2), (vec![ADA, EVE, "zoe@example.com"], 1)] {
            set(app, "finance", &members).await;
            assert_eq!(app.agent().suspension(&id).await["approvals"], json!({"given": given, "needed": 3}));
            let page = open(app, &mut eve, "").await;
            assert!(page.html.contains(&format!("{given} of 3 have agreed")), "{}", page.html);
        }
        mails(app).await;
    }

    /// The list is how people find all their work: one damaged answer must not take it from them.
    async fn a_counted_answer_that_cannot_be_read_leaves_the_list_as_it_is(app: &mut TestApp) {
        directory(app).await;
        let mut bob = enter(app, BOB).await;
        let body = json!({"question": "Two of us?", "assignees": {"people": [ADA, BOB]}, "quorum": {"required_approvals": 2}});
        let (intent, id) = app.ask(body).await;
        ask(app, json!({"question": "Another one?", "assignees": {"people": [BOB]}})).await;
        key_of(app, ADA, "ada").await.respond(intent, &id, "approve").await.ok();
        assert!(open(app, &mut bob, "").await.html.contains("1 of 2 have agreed"));
        let (broken, mended) = match app.scratch() {
            None => ("CAST('x' || CAST(bytes AS TEXT) AS BLOB)", "CAST(substr(CAST(bytes AS TEXT), 2) AS BLOB)"),
            Some(_) => ("convert_to('x', 'UTF8') || bytes", "substring(bytes FROM 2)"),
        };
        let change = |bytes: &str| format!("UPDATE events SET bytes = {bytes} WHERE event_type = 'intent.answer_counted'");
        rows::change(app, &change(broken)).await;
        let page = open(app, &mut bob, "").await;
        assert!(page.status == 200 && page.html.contains("Two of us?") && page.html.contains("Another one?"), "{}", page.html);
        assert!(!page.html.contains("have agreed"), "{}", page.html);
        rows::change(app, &change(mended)).await;
        mails(app).await;
    }

    /// The person who owns the asking agent is no part of a quorum, and must not find a question there that would refuse the answer.
    async fn a_question_of_ones_own_agent_does_not_wait_for_its_owner(app: &mut TestApp) {
        directory(app).await;
        let mut ada = enter(app, ADA).await;
        let mut bob = enter(app, BOB).await;
        let agent = harness::api::Api::new(&app.base, Some(&app.new_key_of(Role::Agent, "adas-agent", ADA).await));
        let quorum = json!({"assignees": {"people": [ADA, BOB, EVE]}, "quorum": {"required_approvals": 2}});
        let (_, id) = agent.ask(quorum).await;
        app.settle().await;
        assert!(listed(app, &mut ada, "mine").await.is_empty());
        assert_eq!(tally(&open(app, &mut ada, "").await, "Waiting for me"), "0");
        assert_eq!(listed(app, &mut bob, "mine").await, std::slice::from_ref(&id));
        assert_eq!(listed(app, &mut ada, "everything").await, [id]);
    }

    /// The nearest deadline comes first, also after it moved; a person who is told later finds the question, too.
    async fn a_list_has_the_nearest_deadline_first_and_people_who_are_told_later(app: &mut TestApp) {
        directory(app).await;
        let mut ada = enter(app, ADA).await;
        let mut bob = enter(app, BOB).await;
        let never = ask(app, json!({"notify_to": [ADA], "timeout_seconds": null})).await;
        let late = ask(app, json!({"notify_to": [ADA], "timeout_seconds": 900})).await;
        let ladder = json!({"max_attempts": 2, "interval_seconds": 300, "escalation_ladder": [{"attempt": 2, "notify_to": BOB}]});
        let soon = ask(app, json!({"notify_to": [ADA], "retry_policy": ladder, "timeout_seconds": null})).await;
        assert_eq!(listed(app, &mut ada, "mine").await, [soon.clone(), late.clone(), never.clone()]);
        assert!(listed(app, &mut bob, "mine").await.is_empty());
        app.advance(300).await;
        assert_eq!(listed(app, &mut bob, "mine").await, std::slice::from_ref(&soon));
        let extended = app.operator().post(&format!("api/v1/suspensions/{soon}/extend"), json!({"seconds": 3600})).await;
        extended.ok();
        assert_eq!(listed(app, &mut ada, "mine").await, [late.clone(), soon.clone(), never.clone()]);
        app.advance(700).await;
        assert_eq!(listed(app, &mut ada, "mine").await, [soon, never]);
    }

    /// The conditions hold together, for each list; what cannot be searched is said, and nothing is shown for it.
    async fn a_list_is_searched_by_each_of_its_sides(app: &mut TestApp) {
        directory(app).await;
        let mut ada = enter(app, ADA).await;
        let alpha = ask(app, json!({"question": "Refund alpha?", "notify_to": [ADA], "timeout_seconds": 600})).await;
        let beta = ask(app, json!({"question": "Refund beta?", "notify_to": [ADA], "risk": "high", "timeout_seconds": 7200})).await;
        let gamma = ask(app, json!({"question": "Ship gamma?", "notify_to": [ADA], "timeout_seconds": null})).await;
        for (query, found) in [
            ("?words=REFUND", vec![&alpha, &beta]),
            ("?words=refund+beta", vec![&beta]),
            ("?agent=Test-Agent", vec![&alpha, &beta, &gamma]),
            ("?agent=another", vec![]),
            ("?kind=question&due=hour", vec![&alpha]),
            ("?due=day", vec![&alpha, &beta]),
            ("?due=never", vec![&gamma]),
            ("?kind=approval", vec![]),
            ("?risk=medium", vec![&beta]),
            ("?risk=high&words=refund", vec![&beta]),
            ("?risk=critical", vec![]),
            ("?words=refund&due=never", vec![]),
            ("?list=everything&words=ship", vec![&gamma]),
        ] {
            let page = open(app, &mut ada, query).await;
            assert_eq!(shown(&page).iter().collect::<Vec<_>>(), found, "{query}");
            let list = if query.contains("everything") { "Everything" } else { "Waiting for me" };
            assert_eq!(tally(&page, list), found.len().to_string(), "{query}");
        }
        for (query, is_risky) in [("?words=beta", true), ("?words=alpha", false)] {
            let page = open(app, &mut ada, query).await;
            assert_eq!(page.html.contains("<span>Risk, says the agent: high</span>"), is_risky, "{query}: {}", page.html);
        }
        let bound = open(app, &mut ada, &format!("?words={}", "x".repeat(200))).await;
        assert!(bound.status == 200 && bound.html.contains("No question fits"), "{}", bound.html);
        for (query, words) in [
            (format!("?words={}", "x".repeat(201)), "at most 200 characters"),
            (format!("?agent={}", "x".repeat(201)), "at most 200 characters"),
            ("?list=all".to_owned(), "those that are offered"),
            ("?kind=x".to_owned(), "those that are offered"),
            ("?due=x".to_owned(), "those that are offered"),
            ("?risk=x".to_owned(), "those that are offered"),
            ("?after=x".to_owned(), "those that are offered"),
        ] {
            let refused = open(app, &mut ada, &query).await;
            assert!(refused.status == 422 && refused.html.contains(words) && !refused.html.contains("Refund"), "{query}: {}", refused.html);
        }
    }

    /// A page has so many questions, and the one beyond is on the next.
    async fn a_page_goes_on_where_it_stopped(app: &mut TestApp) {
        directory(app).await;
        let mut ada = enter(app, ADA).await;
        let mut asked = Vec::new();
        for number in 0..SHOWN_MAX {
            asked.push(ask(app, json!({"notify_to": [ADA], "timeout_seconds": 600 + number})).await);
        }
        let full = open(app, &mut ada, "").await;
        assert_eq!((shown(&full), next(&full)), (asked.clone(), None));
        asked.push(ask(app, json!({"notify_to": [ADA], "timeout_seconds": 900})).await);
        for (list, words) in [("mine", "Waiting for me"), ("everything", "Everything")] {
            let first = open(app, &mut ada, &format!("?list={list}")).await;
            assert_eq!((shown(&first).len(), tally(&first, words)), (SHOWN_MAX, (SHOWN_MAX + 1).to_string()));
            let second = open(app, &mut ada, &next(&first).unwrap()).await;
            assert_eq!((shown(&second).len(), next(&second), tally(&second, words)), (1, None, (SHOWN_MAX + 1).to_string()));
            let mut both = [shown(&first), shown(&second)].concat();
            if list == "everything" {
                both.reverse();
            }
            assert_eq!(both, asked);
        }
    }

    /// A program of an earlier version leaves the places of the questions that it ends. A list passes over them, also where they are all that
    /// one look returns.
    async fn places_of_questions_that_have_ended_are_passed_over(app: &mut TestApp) {
        directory(app).await;
        let mut ada = enter(app, ADA).await;
        let id = ask(app, json!({"question": "Still open?", "notify_to": [ADA]})).await;
        copies_from(app, 1_000_000, 2 * COUNTED_MAX, &format!("1, suspended_at, '{ADA}'")).await;
        let sql = "INSERT INTO inbox (place, due_at, suspension) SELECT 'person:ADA', suspended_at, rid FROM suspensions WHERE rid > 1000000";
        rows::change(app, &sql.replace("ADA", ADA)).await;
        let page = open(app, &mut ada, "").await;
        assert_eq!((shown(&page), tally(&page, "Waiting for me")), (vec![id], "1".to_owned()));
    }

    /// A place says that its question waits for each person there, so that a list need not read the question. The list is the same if it must.
    async fn a_place_says_whether_its_question_waits_for_each_person(app: &mut TestApp) {
        directory(app).await;
        let (mut ada, mut bob) = (enter(app, ADA).await, enter(app, BOB).await);
        let plain = ask(app, json!({"question": "Plain?", "notify_to": [ADA]})).await;
        let group = ask(app, json!({"question": "Of the group?", "assignees": {"groups": ["finance"]}})).await;
        let plain_ones = async || rows::number(app, "SELECT count(*) AS number FROM inbox WHERE is_plain").await;
        assert_eq!(plain_ones().await, 2);
        ask(app, json!({"question": "Two of us?", "assignees": {"people": [ADA, BOB]}, "quorum": {"required_approvals": 2}})).await;
        assert_eq!(plain_ones().await, 2, "a quorum must be looked at");
        let bobs = key_of(app, BOB, "bob").await;
        bobs.post(&format!("api/v1/suspensions/{group}/delegate"), json!({"to": ADA})).await.ok();
        assert_eq!(plain_ones().await, 1, "Bob has left his place in the group");
        let mut lists = Vec::new();
        for _ in 0..2 {
            for person in [&mut ada, &mut bob] {
                let page = open(app, person, "").await;
                lists.push((shown(&page), tally(&page, "Waiting for me"), tally(&page, "My groups")));
            }
            rows::change(app, "UPDATE inbox SET is_plain = FALSE").await;
        }
        assert_eq!(lists[..2], lists[2..]);
        assert!(lists[0].0.contains(&plain) && lists[0].0.contains(&group) && !lists[1].0.contains(&group), "{lists:?}");
        mails(app).await;
    }

    /// Numbers are exact up to their bound; beyond it the page does not count on. A search for words looks at so many questions.
    async fn questions_are_counted_to_a_thousand(app: &mut TestApp) {
        directory(app).await;
        let mut ada = enter(app, ADA).await;
        ask(app, json!({"question": "The first one?", "notify_to": [ADA]})).await;
        copies(app, COUNTED_MAX - 1).await;
        let page = open(app, &mut ada, "").await;
        assert_eq!((tally(&page, "Waiting for me"), tally(&page, "Everything")), ("1000".to_owned(), "1000".to_owned()));
        assert_eq!(tally(&page, "Done by me"), "0");
        let done = "INSERT INTO answered (person, suspension) SELECT 'ada@example.com', rid FROM suspensions";
        rows::change(app, done).await;
        assert_eq!(tally(&open(app, &mut ada, "").await, "Done by me"), "1000");
        rows::change(app, "INSERT INTO inbox (place, due_at, suspension) SELECT 'role:operator', due_at, suspension FROM inbox WHERE suspension < 1000000").await;
        assert_eq!(tally(&open(app, &mut ada, "").await, "Waiting for me"), "1000", "a question at two places is one question");
        ask(app, json!({"question": "One more?", "notify_to": [ADA], "timeout_seconds": 9})).await;
        let page = open(app, &mut ada, "").await;
        assert_eq!((tally(&page, "Waiting for me"), tally(&page, "Everything")), ("1,000+".to_owned(), "1,000+".to_owned()));
        rows::change(app, &format!("{done} WHERE rid NOT IN (SELECT suspension FROM answered)")).await;
        assert_eq!(tally(&open(app, &mut ada, "?list=everything").await, "Done by me"), "1,000+");
        let searched = open(app, &mut ada, "?words=nowhere").await;
        assert!(shown(&searched).is_empty() && searched.html.contains(&format!("The first {LOOKED_AT_WITH_WORDS_MAX} questions")), "{}", searched.html);
        let rest = open(app, &mut ada, &next(&searched).unwrap()).await;
        let rest = open(app, &mut ada, &next(&rest).unwrap()).await;
        assert!(shown(&rest).is_empty() && next(&rest).is_none() && rest.html.contains("among the 1 that were looked at"), "{}", rest.html);
        app.advance(10).await;
    }

    /// A program of an earlier version filled no inbox. The migration finds what its questions say.
    async fn the_migration_finds_the_places_of_open_questions(app: &mut TestApp) {
        directory(app).await;
        ask(app, json!({"notify_to": ["Bob@Example.com"], "timeout_seconds": 100})).await;
        ask(app, json!({"assignees": {"people": [EVE], "groups": ["finance"], "roles": ["admin", "operator"]}, "timeout_seconds": null})).await;
        let ladder = json!({"max_attempts": 2, "interval_seconds": 300, "escalation_ladder": [{"attempt": 2, "notify_to": BOB}]});
        ask(app, json!({"notify_to": [ADA], "retry_policy": ladder, "timeout_seconds": null})).await;
        let (ended, id) = app.ask(json!({"notify_to": [ADA]})).await;
        app.operator().respond(ended, &id, "approve").await.ok();
        app.advance(99).await;
        app.advance(201).await;
        let files = if app.scratch().is_some() {
            include_str!("../../../migrations/postgres/2026-11-26-000061_inbox/up.sql")
        } else {
            include_str!("../../../migrations/sqlite/2026-11-26-000061_inbox/up.sql")
        };
        let (_, fill) = files.split_once("-- The questions that are open").unwrap();
        let (_, fill) = fill.split_once('\n').unwrap();
        let all = "SELECT count(*) AS number FROM (SELECT place, due_at, suspension FROM kept UNION SELECT place, due_at, suspension FROM inbox) u";
        let before = rows::number(app, "SELECT count(*) AS number FROM inbox").await;
        rows::change(app, "CREATE TABLE kept AS SELECT * FROM inbox; DELETE FROM inbox").await;
        // A later migration gave the table another column.
        let fill = fill.replace("INTO inbox", "INTO inbox (place, due_at, suspension)");
        rows::change(app, &format!("BEGIN; {fill}; COMMIT")).await;
        let filled = rows::number(app, "SELECT count(*) AS number FROM inbox").await;
        assert_eq!((before, filled, rows::number(app, all).await), (6, 6, 6));
        rows::change(app, "DROP TABLE kept").await;
    }

    /// An agent writes the question, its choices and its own name. None of these words becomes more than text.
    async fn hostile_words_stay_words_in_the_inbox(app: &mut TestApp) {
        directory(app).await;
        let mut ada = enter(app, ADA).await;
        let hostile = "</a></style><script>alert(1)</script><h1 onclick='x'>\"\u{202e}\u{200b} & {{ shown }} javascript:alert(2)";
        let key = app.new_key(Role::Agent, "bot<b>&\"'").await;
        let agent = harness::api::Api::new(&app.base, Some(&key));
        let choices = json!([{"value": "</ol><script>", "label": hostile, "description": hostile}, {"value": "b", "label": "\u{202e}B"}]);
        let question = json!({"question": format!("{hostile}\n{hostile}"), "response_type": "choice", "choices": choices, "notify_to": [ADA],
            "context": {hostile: hostile}});
        let (_, id) = agent.ask(question).await;
        app.settle().await;
        for query in ["", "/list", "?words=%3Cscript%3E", "?agent=%22%3E%3Cb%3E&words=%3C%2Fstyle%3E"] {
            let page = open(app, &mut ada, query).await;
            assert_eq!(page.status, 200, "{query}");
            let scripts = if query == "/list" { 0 } else { 2 };
            assert_eq!(page.html.matches("<script").count(), scripts, "{query}: {}", page.html);
            assert_eq!(page.html.matches("<h1").count(), scripts / 2, "{query}: {}", page.html);
            assert!(!page.html.contains("onclick='") && !page.html.contains(['\u{202e}', '\u{200b}']), "{query}: {}", page.html);
            let links = page.html.split("href=\"").skip(1).map(|link| link.split('"').next().unwrap());
            assert!(links.into_iter().all(|link| link.starts_with('/') || link.starts_with('#')), "{query}: {}", page.html);
        }
        assert_eq!(listed(app, &mut ada, "mine").await, [id]);
    }

    /// The page is small without the words of agents, also when it is full.
    async fn a_full_page_is_small(app: &mut TestApp) {
        directory(app).await;
        let mut ada = enter(app, ADA).await;
        let choices: Vec<Value> = (0..9).map(|number| json!({"value": number.to_string(), "label": number.to_string()})).collect();
        let question = json!({"question": "?", "response_type": "choice", "choices": choices, "notify_to": [ADA], "timeout_seconds": 600});
        ask(app, question).await;
        copies(app, u32::try_from(SHOWN_MAX).unwrap()).await;
        let page = open(app, &mut ada, "").await;
        assert_eq!(shown(&page).len(), SHOWN_MAX);
        assert!(page.html.len() <= PAGE_BYTES_MAX, "{} bytes", page.html.len());
    }

    /// A page that is left open must not keep its session alive, and asks for nothing that it has already.
    async fn a_page_that_keeps_itself_up_to_date_does_not_keep_its_session(app: &mut TestApp) {
        directory(app).await;
        let mut ada = enter(app, ADA).await;
        let list = format!("{}inbox/list", app.base);
        let first = ada.open(&list).await;
        let tag = first.header("etag").to_owned();
        let again = ada.clone().request(Method::GET, &list).header("if-none-match", &tag);
        assert_eq!(ada.send(again).await.status, 304);
        ask(app, json!({"question": "New?", "notify_to": [ADA]})).await;
        let again = ada.clone().request(Method::GET, &list).header("if-none-match", &tag);
        let changed = ada.send(again).await;
        assert!(changed.status == 200 && changed.html.contains("New?") && !changed.html.contains("<html"), "{}", changed.html);
        assert_eq!(first.header("cache-control"), "no-store");
        for _ in 0..2 {
            app.clock.set_by(TimeDelta::minutes(16));
            ada.open(&list).await;
        }
        assert_eq!((ada.open(&list).await.status, app.person().open(&list).await.status), (401, 401));
        assert_eq!(open(app, &mut ada, "").await.header("location"), "/login");
        app.settle().await;
    }

    /// A person who logged in comes to the inbox from the first page; all others see what the server is.
    async fn the_first_page_leads_a_person_to_the_inbox(app: &mut TestApp) {
        directory(app).await;
        let mut ada = enter(app, ADA).await;
        let led = ada.open(&app.base.clone()).await;
        assert_eq!((led.status, led.header("location")), (303, "/inbox"));
        assert_eq!(app.person().open(&app.base.clone()).await.status, 200);
        let page = open(app, &mut ada, "").await;
        assert!(page.html.contains("Nothing waits for you.") && !page.html.contains("href=\"/audit\""), "{}", page.html);
        let policy = page.header("content-security-policy");
        assert!(policy.contains("default-src 'none'") && policy.contains("script-src 'self'") && !policy.contains("unsafe"), "{policy}");
    }
}

/// How many copies of a question are open; five times as many are decided. `PLACET_INBOX_OPEN=1000000` measures.
const OPEN: &str = "PLACET_INBOX_OPEN";

/// Fills the database with open questions of Ada and of her group, and with five times as many that she has answered.
async fn many(app: &TestApp, open: u32) {
    copies(app, open).await;
    copies_from(app, 10_000_000, 5 * open, "0, suspended_at, 'ada@example.com'").await;
    for sql in [
        format!("INSERT INTO answered SELECT '{ADA}', rid FROM suspensions WHERE rid > 10000000"),
        "INSERT INTO inbox (place, due_at, suspension) SELECT 'group:finance', due_at, suspension FROM inbox WHERE suspension % 10 = 0".to_owned(),
    ] {
        rows::change(app, &sql).await;
    }
    if app.scratch().is_some() {
        rows::change(app, "ANALYZE").await;
    }
}

on_each_store! {
    /// A list must cost the same however many questions there are. The usual run only finds that each list is read.
    async fn a_list_costs_the_same_however_many_questions_there_are(app: &mut TestApp) {
        directory(app).await;
        let open = wished(OPEN, 600_u32);
        ask(app, json!({"question": "Refund?", "notify_to": [ADA]})).await;
        many(app, open).await;
        let ada = Principal::person(ADA, Role::Operator, SessionId(SystemEntropy.uuid(chrono::DateTime::UNIX_EPOCH)));
        let filter = |list| InboxFilter { list, agent: None, kind: None, due: None, risk: None, words: Vec::new(), after: None };
        let mine = app.store().inbox(ada.clone(), Ok(filter(List::Mine))).await.unwrap();
        let searches = [
            ("mine", filter(List::Mine)),
            ("groups", filter(List::Groups)),
            ("everything", filter(List::Everything)),
            ("done", filter(List::Done)),
            ("second page", InboxFilter { after: mine.next, ..filter(List::Mine) }),
            ("agent", InboxFilter { agent: Some("another".into()), ..filter(List::Mine) }),
            ("words", InboxFilter { words: vec!["nowhere".into()], ..filter(List::Everything) }),
        ];
        let rounds = if wish(OPEN).is_some() { 200 } else { 1 };
        for (name, filter) in searches {
            let mut took = Vec::new();
            for _ in 0..rounds {
                let begun = Instant::now();
                let found = app.store().inbox(ada.clone(), Ok(filter.clone())).await.unwrap();
                took.push(begun.elapsed());
                assert_eq!(found.questions.len() == SHOWN_MAX, !matches!(name, "agent" | "words"), "{name}");
            }
            took.sort();
            let [median, last] = [took[took.len() / 2], took[took.len() * 99 / 100]];
            if wish(OPEN).is_some() {
                say(&format!("{name}: median {median:?}, p99 {last:?}"));
            }
        }
    }
}

#[expect(clippy::print_stderr, reason = "the person who measures reads it")]
fn say(text: &str) {
    eprintln!("{text}");
}

/// Waits until an expression holds on a page, as its script changes it.
pub(super) async fn until(browser: &Browser, done: &str) {
    let js = format!(
        "new Promise((yes) => {{
            const watch = new MutationObserver(() => check());
            const check = () => {{
                if (!({done})) return;
                // An observer that stayed would look for rows that have gone since.
                watch.disconnect();
                yes(true);
            }};
            watch.observe(document.documentElement, {{subtree: true, attributes: true, childList: true, characterData: true}});
            check();
        }})"
    );
    assert_eq!(browser.evaluate(&js).await, true, "{done}");
}

pub(super) async fn inbox_of(app: &TestApp, person: &Person, options: BrowserOptions) -> Browser {
    let browser = Browser::start(options).await;
    become_person(&browser, app, person).await;
    browser.open(&format!("{}inbox", app.base)).await;
    browser
}

/// A window that is too narrow for a question beside the list.
const TABLET: BrowserOptions = BrowserOptions { width: 1100, ..DESK };
pub(super) const DESK: BrowserOptions = BrowserOptions { width: 1280, height: 800, dark: false, javascript: true };

on_each_store! {
    /// What another person decides must not be decided a second time, and a new question must not wait for a reload.
    async fn a_question_arrives_and_leaves_while_the_page_is_open(app: &mut TestApp) {
        directory(app).await;
        let (ada, bob) = (enter(app, ADA).await, enter(app, BOB).await);
        let key = key_of(app, ADA, "ada").await;
        let first = inbox_of(app, &ada, DESK).await;
        let second = inbox_of(app, &bob, BrowserOptions { width: 390, height: 800, dark: true, javascript: true }).await;
        let (intent, id) = app.ask(json!({"question": "Deploy now?", "assignees": {"groups": ["finance"]}, "response_type": "confirm", "choices": null})).await;
        for browser in [&first, &second] {
            until(browser, &format!("document.getElementById('q-{id}')")).await;
            until(browser, "document.querySelector('#news').textContent === 'New questions: 1'").await;
            assert_eq!(browser.title().await, "Inbox (1) · Placet");
        }
        key.respond(intent, &id, "yes").await.ok();
        for browser in [&first, &second] {
            // The row stays where it is until the reader moves on.
            until(browser, &format!("document.getElementById('q-{id}').classList.contains('gone')")).await;
            until(browser, "document.querySelector('#none').textContent.includes('Nothing waits for you.')").await;
            assert!(browser.text().await.contains("No longer waits here"), "{}", browser.text().await);
        }
        let (_, next) = app.ask(json!({"question": "Deploy again?", "assignees": {"groups": ["finance"]}})).await;
        until(&first, &format!("document.getElementById('q-{next}')")).await;
        first.key("k").await;
        first.key("k").await;
        first.key("j").await;
        until(&first, &format!("!document.getElementById('q-{id}') && document.activeElement.closest('#q-{next}')")).await;
        let errors = [first.console_errors().await, second.console_errors().await].concat();
        assert!(errors.is_empty(), "{errors:?}");
    }
}

on_one_store! {
    /// From the list to an opened question in two keys; every key has a link or a button that does the same.
    async fn the_inbox_is_used_with_the_keyboard_alone(app: &mut TestApp) {
        directory(app).await;
        let ada = enter(app, ADA).await;
        let yes_no = ask(app, json!({"question": "Deploy now?", "notify_to": [ADA], "response_type": "confirm", "choices": null, "timeout_seconds": 600})).await;
        let choices = json!([{"value": "eu", "label": "Europe"}, {"value": "us", "label": "America"}, {"value": "as", "label": "Asia"}]);
        let choice = ask(app, json!({"question": "Where?", "notify_to": [ADA, BOB], "response_type": "choice", "choices": choices, "timeout_seconds": 900})).await;
        let browser = inbox_of(app, &ada, TABLET).await;
        let at = |id: &str, part: &str| format!("{}questions/{id}{part}", app.base);
        let on = "document.activeElement.closest('#asks > li')?.id";
        browser.key("j").await;
        assert_eq!(browser.evaluate(on).await, format!("q-{yes_no}"));
        browser.press_enter().await;
        assert_eq!(browser.url().await, at(&yes_no, ""));
        for (keys, place) in [
            (&["e", "a"][..], at(&yes_no, "#c0")),
            (&["r"], at(&yes_no, "#c1")),
            (&["1"], at(&yes_no, "#c0")),
            (&["j", "j", "3"], at(&choice, "#c2")),
            (&["j", "j", "k", "c"], at(&yes_no, "#claim")),
            (&["\u{E007}"], at(&yes_no, "")),
        ] {
            browser.open(&format!("{}inbox", app.base)).await;
            let (last, before) = keys.split_last().unwrap();
            for key in before {
                browser.key(key).await;
            }
            if before == ["e"] {
                assert_eq!(browser.evaluate("document.querySelector('#asks details').open").await, true);
            }
            // Each key clicks a link that is on the page.
            let path = place.strip_prefix(&app.base).unwrap();
            assert_eq!(browser.evaluate(&format!("document.querySelectorAll('a[href=\"/{path}\"]').length")).await, 1, "{keys:?}");
            browser.key(last).await;
            while browser.url().await != place {
                harness::pause::pause().await;
            }
        }
        browser.open(&format!("{}inbox", app.base)).await;
        browser.key("/").await;
        assert_eq!(browser.evaluate("document.activeElement.id").await, "words");
        browser.type_into("#words", "j?e").await;
        assert_eq!(browser.evaluate("[document.activeElement.value, document.querySelector('#keys').open]").await, json!(["j?e", false]));
        browser.evaluate("document.activeElement.blur()").await;
        browser.key("?").await;
        assert_eq!(browser.evaluate("document.querySelector('#keys').open").await, true);
        browser.evaluate("document.querySelector('#usekeys').click()").await;
        browser.evaluate("document.activeElement.blur()").await;
        browser.key("j").await;
        assert_eq!(browser.evaluate("document.activeElement === document.body").await, true, "the keys are off");
        browser.open(&format!("{}inbox", app.base)).await;
        browser.key("j").await;
        assert_eq!(browser.evaluate("document.activeElement === document.body").await, true, "and stay off");
    }

    /// The page is readable on a desk and on a phone, in both schemes, empty and full, with words that are too long for any line.
    async fn the_inbox_fits_every_width(app: &mut TestApp) {
        directory(app).await;
        let (ada, eve) = (enter(app, ADA).await, enter(app, EVE).await);
        let long = "Donaudampfschifffahrtsgesellschaft".repeat(6);
        ask(app, json!({"question": "Deploy billing-api 4.18.0 to production now?", "notify_to": [ADA], "response_type": "confirm", "choices": null, "timeout_seconds": 540})).await;
        ask(app, json!({"question": "Refund €412.00 to Marta Kowalska for order 10-88421?", "assignees": {"groups": ["finance"]}, "quorum": {"required_approvals": 2}, "timeout_seconds": 8040})).await;
        ask(app, json!({"question": long, "notify_to": [ADA, BOB], "choices": [{"value": long[..200], "label": long[..200]}, {"value": "b", "label": "B"}], "timeout_seconds": 90_000})).await;
        ask(app, json!({"question": "Which of three suppliers should I order the pallets from? The cheapest one delivers on Friday, the second one tomorrow, and the third one has not answered yet.", "notify_to": [ADA, OPERATOR], "timeout_seconds": null})).await;
        for (width, dark) in looks() {
            for (name, person, query, javascript) in [
                ("inbox", &ada, "", true),
                ("inbox-plain", &ada, "?list=everything&due=day", false),
                ("inbox-wrong", &ada, "?kind=x", true),
                ("inbox-empty", &eve, "?list=groups", true),
            ] {
                let browser = Browser::start(BrowserOptions { width, height: 800, dark, javascript }).await;
                become_person(&browser, app, person).await;
                browser.open(&format!("{}inbox{query}", app.base)).await;
                fits(&browser, name, (width, dark)).await;
                browser.evaluate("document.querySelectorAll('details').forEach((part) => part.open = true)").await;
                fits(&browser, &format!("{name}-open"), (width, dark)).await;
                let errors = browser.console_errors().await;
                assert!(errors.iter().all(|error| error.contains("server responded with a status of 4")), "{name}: {errors:?}");
            }
        }
    }
}
