//! The audit pages, for auditors and admins who logged in: the search, the record of an intent with its verification, the export.

#![expect(clippy::unwrap_used, reason = "these functions serve tests alone")]

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::TimeDelta;
use domain::base::ids::IntentId;
use domain::people::principal::Role;
use harness::app::{OPERATOR, TestApp};
use harness::browser::{Browser, BrowserOptions};
use harness::person::{Page, Person};
use harness::{on_each_store, on_one_store, rows};
use serde_json::{Value, json};
use store::Named;
use store::audit::{FOUND_MAX, LOOKED_AT_MAX, LOOKED_AT_WITH_WORDS_MAX};
use store::host::account;

use crate::answering::proposal::{digest, paying, payment, proposing};
use crate::log::export::{Begun, much_traffic};
use crate::pages::looks::{fits, looks};
use crate::people::assignees::{BOB, EVE, directory, mails};
use crate::people::logins::{ADA, list, log_in, log_in_for};
use crate::people::quorums;

/// An auditor who is logged in.
pub(super) async fn auditor(app: &TestApp) -> Person {
    list(app, ADA, Role::Auditor).await;
    while app.smtp.has_unread() {
        app.smtp.next_mail().await;
    }
    log_in(app, ADA).await
}

pub(super) async fn open(app: &TestApp, person: &mut Person, path: &str) -> Page {
    person.open(&format!("{}audit{path}", app.base)).await
}

/// Asks a question, and delivers its mail.
async fn asked(app: &TestApp, question: &str) -> (IntentId, String) {
    app.ask(json!({"question": question, "context": {"order": "4711"}, "timeout_seconds": 600})).await
}

/// One question of each ending, by the word in its text.
async fn some_questions(app: &TestApp) -> Vec<(&'static str, IntentId)> {
    let (answered, id) = asked(app, "Refund alpha order?").await;
    app.operator().respond(answered, &id, "approve").await.ok();
    let (late, _) = asked(app, "Refund beta order?").await;
    app.advance(601).await;
    let (withdrawn, id) = asked(app, "Refund gamma order?").await;
    app.agent().post(&format!("api/v1/suspensions/{id}/cancel"), json!({})).await.ok();
    let (waiting, _) = asked(app, "Refund delta order?").await;
    vec![("alpha", answered), ("beta", late), ("gamma", withdrawn), ("delta", waiting)]
}

/// The link with which a search goes on.
fn next(page: &Page) -> String {
    let link = page.html.split("href=\"/audit?").nth(1).unwrap().split('"').next().unwrap();
    link.replace("&amp;", "&").replace("&#38;", "&")
}

/// The word that the record has for the answer of each of three people.
fn answers_of(page: &Page) -> [String; 3] {
    [ADA, BOB, EVE].map(|person| {
        let (_, row) = page.html.split_once(&format!("<th scope=\"row\"><bdi>{person}</bdi>")).unwrap();
        let (_, word) = row.split_once("</th><td>").unwrap();
        word.split('<').next().unwrap().to_owned()
    })
}

/// The words of the questions that a page of the search shows.
fn shown(page: &Page) -> Vec<&'static str> {
    assert_eq!(page.status, 200, "{}", page.html);
    ["alpha", "beta", "gamma", "delta"].into_iter().filter(|word| page.html.contains(&format!("Refund {word} order?"))).collect()
}

on_each_store! {
    /// What an auditor looks for must be found by each of its sides, and by nothing else.
    async fn a_search_finds_questions_by_each_of_their_sides(app: &mut TestApp) {
        let questions = some_questions(app).await;
        let mut ada = auditor(app).await;
        for (query, expected) in [
            ("", &["alpha", "beta", "gamma", "delta"][..]),
            ("?outcome=answered", &["alpha"]),
            ("?outcome=not_answered", &["beta"]),
            ("?outcome=waiting", &["delta"]),
            ("?words=ALPHA+refund", &["alpha"]),
            ("?words=alpha+beta", &[]),
            ("?agent=test-agent", &["alpha", "beta", "gamma", "delta"]),
            ("?agent=another", &[]),
            ("?person=OPS%40example.com", &["alpha", "beta", "gamma", "delta"]),
            ("?person=test-operator", &["alpha"]),
            ("?person=another", &[]),
            ("?from=2026-11-24&to=2026-11-24", &["alpha", "beta", "gamma", "delta"]),
            ("?from=2026-11-25", &[]),
            ("?to=2026-11-23", &[]),
            ("?outcome=answered&words=beta", &[]),
        ] {
            assert_eq!(shown(&open(app, &mut ada, query).await), expected, "{query}");
        }
        for (query, words) in [("?from=yesterday", "A day must be a date"), ("?outcome=maybe", "one of the outcomes"), ("?intent=7", "whole id")] {
            let refused = open(app, &mut ada, query).await;
            assert!(refused.status == 422 && refused.html.contains(words), "{query}: {}", refused.html);
        }
        let led = open(app, &mut ada, &format!("?intent={}", questions[0].1)).await;
        assert_eq!((led.status, led.header("location")), (303, format!("/audit/{}", questions[0].1).as_str()));
    }

    /// A search that looks at all questions would be slow on the day on which it matters. It says how far it came, and goes on.
    async fn a_search_goes_on_where_it_stopped(app: &mut TestApp) {
        for number in 0..=FOUND_MAX {
            asked(app, &format!("Question {number} of many?")).await;
        }
        let mut ada = auditor(app).await;
        let first = open(app, &mut ada, "?agent=test-agent").await;
        assert_eq!(first.html.matches("of many?").count(), FOUND_MAX);
        let next = next(&first);
        assert!(next.starts_with("agent=test-agent&before="), "{next}");
        let second = open(app, &mut ada, &format!("?{next}")).await;
        assert!(second.html.contains("Question 0 of many?") && second.html.matches("of many?").count() == 1, "{}", second.html);
        assert!(second.html.contains("There are no older questions"));
    }

    /// A search looks at so many questions, and at no more. The one beyond is looked at by the next page.
    async fn a_search_looks_at_so_many_questions(app: &mut TestApp) {
        let mut ada = auditor(app).await;
        let agent = app.agent();
        let (intent, mut asked) = agent.ask(json!({"question": "The oldest?"})).await;
        for _ in 0..LOOKED_AT_MAX {
            let anew = agent.suspend(intent, json!({"question": "A newer one?", "supersedes": asked})).await.ok();
            anew["id"].as_str().unwrap().clone_into(&mut asked);
        }
        for (query, most, found, words) in [
            ("?agent=another", LOOKED_AT_MAX, 0, "0 found among 1 questions"),
            ("?words=oldest", LOOKED_AT_WITH_WORDS_MAX, 0, "0 found among 500 questions"),
            ("?outcome=answered", LOOKED_AT_MAX, 0, "0 found among 1 questions"),
        ] {
            let page = open(app, &mut ada, query).await;
            assert!(page.html.contains(&format!("{found} found among {most} questions")), "{query}: {}", page.html);
            let rest = open(app, &mut ada, &format!("?{}", next(&page))).await;
            assert!(rest.html.contains(words), "{query}: {}", rest.html);
        }
        let page = open(app, &mut ada, "?words=oldest").await;
        let page = open(app, &mut ada, &format!("?{}", next(&page))).await;
        let page = open(app, &mut ada, &format!("?{}", next(&page))).await;
        assert!(page.html.contains("The oldest?") && page.html.contains("1 found among 1 questions"), "{}", page.html);
        assert!(page.html.contains("There are no older questions"), "{}", page.html);
    }

    /// The record of one intent tells who was asked, what they saw and what they answered, and is verified as it is read.
    async fn a_record_tells_the_story_and_is_verified_as_it_is_read(app: &mut TestApp) {
        let questions = some_questions(app).await;
        app.checkpoints().turn().await.unwrap();
        let mut ada = auditor(app).await;
        app.restart().await;
        let page = open(app, &mut ada, &format!("/{}", questions[0].1)).await;
        for words in ["The events of this record are as they were written", "Refund alpha order?", "test-operator</bdi></b> answered", OPERATOR, "4711", "covers this record up to event", "approve", "Who was asked", "What happened", "The intent waits for a person", "The intent goes on"] {
            assert!(page.html.contains(words), "{words}: {}", page.html);
        }
        assert!(!page.html.contains("not in a checkpoint yet"));
        let late = open(app, &mut ada, &format!("/{}", questions[1].1)).await;
        assert!(late.html.contains("No one answered in time") && late.html.contains("not answered"), "{}", late.html);
        // A newer event is not sealed yet, and the page says so.
        let (intent, id) = asked(app, "Refund alpha again?").await;
        let page = open(app, &mut ada, &format!("/{intent}")).await;
        assert!(page.html.contains("No signed checkpoint covers this record yet"), "{}", page.html);
        app.checkpoints().turn().await.unwrap();
        app.operator().respond(intent, &id, "deny").await.ok();
        let page = open(app, &mut ada, &format!("/{intent}")).await;
        assert!(page.html.contains("newer event") && page.html.contains("The events of this record are as they were written"), "{}", page.html);
        for unknown in ["019ab0f2-0000-7000-8000-000000000000", "7"] {
            let page = open(app, &mut ada, &format!("/{unknown}")).await;
            assert!(page.status == 404 && page.html.contains("There is no such intent"), "{}", page.html);
        }
    }

    /// An action that a person edited before approving it is shown as it was proposed, with what was changed; one that was left as it was,
    /// without changes.
    async fn an_edited_action_is_shown_with_its_changes(app: &mut TestApp) {
        let mut ada = auditor(app).await;
        for (edit, is_changed) in [(paying(2400), true), (payment(), false)] {
            let (intent, id) = app.ask(proposing()).await;
            // The agent can write an event that looks like an answer.
            let forged = json!({"suspension_id": id, "value": "approve", "proposal": paying(1)});
            let forged = json!({"event_type": "comment", "payload": forged});
            app.agent().post(&format!("api/v1/intents/{intent}/events"), forged).await.ok();
            let answer = json!({"suspension_id": id, "value": "approve", "proposal": edit});
            app.operator().post(&format!("api/v1/intents/{intent}/suspend/respond"), answer).await.ok();
            let page = open(app, &mut ada, &format!("/{intent}")).await;
            for part in ["The proposed action", "DE02 1203 0000"] {
                assert!(page.html.contains(part), "{part} is missing in {}", page.html);
            }
            assert_eq!(page.html.contains("2500</del>") && page.html.contains("2400</ins>"), is_changed, "{}", page.html);
            assert_eq!(page.html.contains("What was changed"), is_changed, "{}", page.html);
        }
    }

    /// Where several people must agree, each person has answered whose answer counted at the end; and an edit says whose approval it cleared.
    async fn a_record_says_who_agreed_and_whose_approval_an_edit_cleared(app: &mut TestApp) {
        directory(app).await;
        let (intent, id) = quorums::asked(app, quorums::two(), proposing()).await;
        mails(app).await;
        let [ada, bob, _] = quorums::keys(app).await;
        let mut eve = log_in(app, EVE).await;
        let respond = format!("api/v1/intents/{intent}/suspend/respond");
        bob.respond(intent, &id, "approve").await.ok();
        let page = open(app, &mut eve, &format!("/{intent}")).await;
        assert_eq!(answers_of(&page), ["none", "answered", "none"]);
        assert!(!page.html.contains("The action was edited"), "{}", page.html);
        ada.post(&respond, json!({"suspension_id": id, "value": "approve", "proposal": paying(2400)})).await.ok();
        let page = open(app, &mut eve, &format!("/{intent}")).await;
        assert_eq!(answers_of(&page), ["answered", "none", "none"]);
        let cleared = "The action was edited, so the approval of <bdi>bob@example.com</bdi> does not count any more.";
        assert!(page.html.contains(cleared), "{}", page.html);
        quorums::take_back(&ada, &id).await.ok();
        let page = open(app, &mut eve, &format!("/{intent}")).await;
        assert_eq!(answers_of(&page), ["none", "none", "none"]);
        ada.post(&respond, json!({"suspension_id": id, "value": "approve", "proposal": paying(2400)})).await.ok();
        let agreed = json!({"suspension_id": id, "value": "approve", "based_on": digest(&paying(2400))});
        bob.post(&respond, agreed).await.ok();
        let page = open(app, &mut eve, &format!("/{intent}")).await;
        assert_eq!(answers_of(&page), ["answered", "answered", "none"]);
    }

    /// An auditor sees how long content is kept, which holds keep it longer, and that a record from which content was erased still verifies.
    async fn holds_and_erased_content_are_told(app: &mut TestApp) {
        let (intent, id) = asked(app, "Refund alpha order?").await;
        app.operator().respond(intent, &id, "approve").await.ok();
        let admin = app.api(Role::Admin);
        app.new_key(Role::Agent, "another-agent").await;
        let mut ada = auditor(app).await;
        let page = open(app, &mut ada, "").await;
        assert!(page.html.contains("No legal hold is in force") && page.html.contains("kept until an admin erases it"), "{}", page.html);
        for (scope, reason) in [
            (json!({"kind": "everything"}), "Litigation <b>2026-7"),
            (json!({"kind": "intent", "id": intent}), "The authority asked"),
            (json!({"kind": "agent", "id": "another-agent"}), "Another matter"),
        ] {
            admin.post("api/v1/holds", json!({"scope": scope, "reason": reason})).await.ok();
        }
        let page = open(app, &mut ada, "").await;
        for words in ["All intents</p>", "Litigation &#60;b&#62;2026-7", "another-agent", "The authority asked", &format!("/audit/{intent}")] {
            assert!(page.html.contains(words), "{words}: {}", page.html);
        }
        let page = open(app, &mut ada, &format!("/{intent}")).await;
        assert!(page.html.contains("The authority asked") && page.html.contains("Litigation") && !page.html.contains("Another matter"));
        for hold in admin.get("api/v1/holds").await.ok()["holds"].as_array().unwrap() {
            let path = format!("api/v1/holds/{}?reason=It+has+ended.", hold["id"].as_str().unwrap());
            assert_eq!(admin.send(admin.request("DELETE", &path)).await.status, 200);
        }
        app.restart_with(|config| config.retention = Some(TimeDelta::days(400))).await;
        let page = open(app, &mut ada, &format!("/{intent}")).await;
        assert!(page.html.contains("erased 400 days after its last event, once it has ended"), "{}", page.html);
        let version = app.agent().intent(intent).await["version"].to_string();
        let path = format!("api/v1/intents/{intent}/status");
        app.agent().post_at(&path, &version, json!({"status": "completed"})).await.ok();
        let page = open(app, &mut ada, &format!("/{intent}")).await;
        assert!(page.html.contains("<time datetime=\"2027-12-29T08:00:00Z\">"), "400 days after the last event: {}", page.html);
        let admin = app.api(Role::Admin);
        let redacted = admin.post(&format!("api/v1/intents/{intent}/redact"), json!({"legal_basis": "GDPR Art. 17(1)(a)"})).await;
        assert_eq!(redacted.status, 200, "{}", redacted.text);
        assert!(open(app, &mut ada, "").await.html.contains(">(erased)</a>"), "a list says that the words were erased");
        let page = open(app, &mut ada, &format!("/{intent}")).await;
        for words in ["The events of this record are as they were written", "still verifies", "its content was erased", "The content of this intent was erased", "(erased)</h1>", "erased content on", "GDPR Art. 17(1)(a)"] {
            assert!(page.html.contains(words), "{words}: {}", page.html);
        }
        assert!(!page.html.contains("Refund alpha"), "{}", page.html);
        rows::change(app, "DELETE FROM redactions").await;
        let page = open(app, &mut ada, &format!("/{intent}")).await;
        let breaks = "breaks at event #1: event 1 has no payload, and no event says that it was erased";
        assert!(page.html.contains(breaks) && !page.html.contains("are as they were written"), "{}", page.html);
    }

    /// An agent writes events into its own intent. They must neither show another intent's answers there, nor push its own questions out.
    async fn a_record_shows_the_questions_of_its_own_intent_alone(app: &mut TestApp) {
        let (other, id) = asked(app, "Refund alpha order?").await;
        app.operator().respond(other, &id, "approve").await.ok();
        let (intent, _) = asked(app, "Refund beta order?").await;
        let agent = app.agent();
        let events = agent.events(other).await;
        let copied = events.iter().find(|event| event["event_type"] == "intent.suspended").unwrap()["payload"].clone();
        for number in 0..25 {
            let mut payload = copied.clone();
            if number > 0 {
                payload["suspension_id"] = json!(format!("019ab0f2-0000-7000-8000-{number:012}"));
            }
            agent.post(&format!("api/v1/intents/{intent}/events"), json!({"event_type": "comment", "payload": payload})).await.ok();
        }
        let mut ada = auditor(app).await;
        let page = open(app, &mut ada, &format!("/{intent}")).await;
        assert!(page.html.contains("Refund beta order?") && !page.html.contains("Refund alpha order?"), "{}", page.html);
        assert!(!page.html.contains("earlier question"), "none is left out: {}", page.html);
    }

    /// The page must not repeat a verdict from before: a row that was changed behind the server's back shows at the next look.
    async fn a_changed_row_is_told_at_once(app: &mut TestApp) {
        let (intent, id) = asked(app, "Refund alpha order?").await;
        app.operator().respond(intent, &id, "approve").await.ok();
        app.checkpoints().turn().await.unwrap();
        let mut ada = auditor(app).await;
        assert!(open(app, &mut ada, &format!("/{intent}")).await.html.contains("The events of this record are as they were written"));
        // One digit of the newest event. It is put back, because the log of each test is verified at its end.
        let newest = rows::number(app, "SELECT max(last_event) AS number FROM intents").await;
        let replace = |from: &str, to: &str| match app.scratch() {
            None => format!("UPDATE events SET bytes = CAST(replace(CAST(bytes AS TEXT), '{from}', '{to}') AS BLOB) WHERE rid = {newest}"),
            Some(_) => {
                format!("UPDATE events SET bytes = convert_to(replace(convert_from(bytes, 'UTF8'), '{from}', '{to}'), 'UTF8') WHERE rid = {newest}")
            }
        };
        rows::change(app, &replace("2026-11-24T08", "2026-11-24T07")).await;
        for query in ["", "?words=alpha"] {
            let found = open(app, &mut ada, query).await;
            assert_eq!(found.status, 200, "one damaged event does not stop the search");
        }
        let page = open(app, &mut ada, &format!("/{intent}")).await;
        for words in ["The record was changed or damaged", "The chain of hashes breaks at event", "does not vouch for this record", "This event was changed or damaged. Its words are not shown.", "placet doctor --deep"] {
            assert!(page.html.contains(words), "{words}: {}", page.html);
        }
        assert!(!page.html.contains("export the record"), "a damaged record is not exported: {}", page.html);
        rows::change(app, &replace("2026-11-24T07", "2026-11-24T08")).await;
        assert!(open(app, &mut ada, &format!("/{intent}")).await.html.contains("The events of this record are as they were written"));
    }

    /// A word that someone put into a stored event must not stand on the page like a word that was recorded, nor may the words behind it; and
    /// the export, which is refused, says which event is damaged.
    async fn a_damaged_event_has_no_words_and_no_export(app: &mut TestApp) {
        let (intent, id) = asked(app, "Refund alpha order?").await;
        app.operator().respond(intent, &id, "approve").await.ok();
        app.checkpoints().turn().await.unwrap();
        let mut ada = auditor(app).await;
        let events = app.agent().events(intent).await;
        let first = events.iter().position(|event| event.to_string().contains("test-operator")).unwrap();
        let replace = |from: &str, to: &str| {
            let bytes = match app.scratch() {
                None => format!("CAST(replace(CAST(bytes AS TEXT), '{from}', '{to}') AS BLOB)"),
                Some(_) => format!("convert_to(replace(convert_from(bytes, 'UTF8'), '{from}', '{to}'), 'UTF8')"),
            };
            format!("UPDATE events SET bytes = {bytes}")
        };
        rows::change(app, &replace("test-operator", "evil-operator")).await;
        let page = open(app, &mut ada, &format!("/{intent}")).await;
        assert!(!page.html.contains("evil-operator") && !page.html.contains("</b> answered"), "{}", page.html);
        assert!(page.html.contains("This event was changed or damaged. Its words are not shown."), "{}", page.html);
        assert!(!page.html.contains("covers this record up to event"), "a checkpoint does not mend it: {}", page.html);
        let behind = page.html.matches("This event stands behind the damaged one").count();
        assert_eq!(behind, events.len() - first - 1, "{}", page.html);
        let (nonce, text) = (page.nonce(), intent.to_string());
        let fields = [("nonce", nonce.as_str()), ("format", "jsonl"), ("intent_id", text.as_str())];
        let refused = ada.post(&format!("{}audit/export", app.base), &fields).await;
        assert_eq!(refused.status, 500, "{}", refused.html);
        let names = format!("event {} of intent {intent} is damaged", first + 1);
        for words in [names.as_str(), "placet doctor --deep", &format!("href=\"/audit/{intent}\"")] {
            assert!(refused.html.contains(words), "{words}: {}", refused.html);
        }
        rows::change(app, &replace("evil-operator", "test-operator")).await;
        // A question that was asked behind the break has no words either.
        assert!(open(app, &mut ada, &format!("/{intent}")).await.html.contains("Refund alpha order?"));
        rows::change(app, &replace("Refund order 12345", "Forged order 12345")).await;
        let page = open(app, &mut ada, &format!("/{intent}")).await;
        assert!(page.status == 200 && page.html.contains("breaks at event #1:"), "{}", page.html);
        assert!(!page.html.contains("Refund alpha order?") && !page.html.contains("Forged order"), "{}", page.html);
        rows::change(app, &replace("Forged order 12345", "Refund order 12345")).await;
        let page = open(app, &mut ada, &format!("/{intent}")).await;
        assert!(page.html.contains("The events of this record are as they were written"), "{}", page.html);
    }

    /// No hash covers a row beside the log, so its words must not stand in place of those that the log has.
    async fn the_log_says_who_answered(app: &mut TestApp) {
        let (intent, id) = asked(app, "Refund alpha order?").await;
        app.operator().respond(intent, &id, "approve").await.ok();
        let mut ada = auditor(app).await;
        let title = |from: &str, to: &str| match app.scratch() {
            None => format!("UPDATE intent_bodies SET title = replace(title, '{from}', '{to}')"),
            Some(_) => format!("UPDATE intent_bodies SET title = CAST(replace(CAST(title AS text), '{from}', '{to}') AS json)"),
        };
        rows::change(app, "UPDATE suspensions SET resolved_by = 'eve@example.com'").await;
        rows::change(app, &title("Refund order", "Forged order")).await;
        let page = open(app, &mut ada, &format!("/{intent}")).await;
        let answerer = "<bdi>test-operator</bdi><br>";
        assert!(page.html.contains(answerer) && page.html.contains("No hash covers the rest of this page"), "{}", page.html);
        assert!(!page.html.contains("eve@example.com") && !page.html.contains("Forged order"), "{}", page.html);
        rows::change(app, "UPDATE suspensions SET resolved_by = 'test-operator'").await;
        rows::change(app, &title("Forged order", "Refund order")).await;
    }

    /// A row that says that a question was answered does not make it so: no event of the log has the answer.
    async fn an_answer_that_no_event_has_is_none(app: &mut TestApp) {
        let (intent, _) = asked(app, "Refund alpha order?").await;
        let mut ada = auditor(app).await;
        rows::change(app, "UPDATE suspensions SET resolution = 0, resolved_at = suspended_at, resolved_by = 'eve@example.com'").await;
        let page = open(app, &mut ada, &format!("/{intent}")).await;
        assert!(page.html.contains("no event under “What happened” does"), "{}", page.html);
        assert!(!page.html.contains("eve@example.com") && !page.html.contains("<b>answered</b>"), "{}", page.html);
        rows::change(app, "UPDATE suspensions SET resolution = NULL, resolved_at = NULL, resolved_by = NULL").await;
        let page = open(app, &mut ada, &format!("/{intent}")).await;
        assert!(page.html.contains("<b>waiting</b>"), "{}", page.html);
    }

    /// No hash covers the row of an intent, so it accuses no event that is as it was written.
    async fn a_row_that_ends_elsewhere_accuses_no_event(app: &mut TestApp) {
        let (intent, id) = asked(app, "Refund alpha order?").await;
        app.operator().respond(intent, &id, "approve").await.ok();
        let mut ada = auditor(app).await;
        let events = app.agent().events(intent).await.len();
        rows::change(app, "UPDATE intents SET last_sequence = last_sequence - 1").await;
        let page = open(app, &mut ada, &format!("/{intent}")).await;
        rows::change(app, "UPDATE intents SET last_sequence = last_sequence + 1").await;
        let breaks = format!("breaks at event #{}: the log does not end where the intent says", events + 1);
        assert!(page.html.contains(&breaks) && page.html.contains("test-operator</bdi></b> answered"), "{}", page.html);
        assert!(!page.html.contains("This event was changed or damaged"), "{}", page.html);
    }

    /// A refused search knows nothing of what there is, and names the field that is wrong.
    async fn a_refused_search_names_its_field_and_finds_nothing(app: &mut TestApp) {
        asked(app, "Refund alpha order?").await;
        let mut ada = auditor(app).await;
        for (query, field, words) in [
            ("?from=x", "from", "Asked from</a>: A day must be a date"),
            ("?to=x", "to", "Asked until</a>: A day must be a date"),
            ("?from=2026-12-01&to=2026-11-30", "to", "Asked until</a>: The last day must not be before the first day."),
            ("?outcome=maybe", "outcome", "Outcome</a>: Choose one of the outcomes"),
        ] {
            let page = open(app, &mut ada, query).await;
            assert!(page.status == 422 && page.html.contains(words), "{query}: {}", page.html);
            assert!(page.html.contains(&format!("<a href=\"#{field}\">")), "{query}: {}", page.html);
            assert_eq!(page.html.matches("aria-invalid=\"true\"").count(), 1, "{query}: {}", page.html);
            assert!(!page.html.contains("No question fits") && !page.html.contains("found among"), "{query}: {}", page.html);
        }
        assert_eq!(open(app, &mut ada, "?from=2026-12-01&to=2026-12-01").await.status, 200);
    }

    /// An answer that was refused is evidence, too: what it said, and why it did not count.
    async fn a_refused_answer_is_told_with_its_reason(app: &mut TestApp) {
        let (intent, id) = asked(app, "Refund alpha order?").await;
        app.operator().respond(intent, &id, "approve").await.ok();
        let late = app.operator().respond(intent, &id, "deny").await;
        assert_eq!(late.status, 409, "{}", late.text);
        let mut ada = auditor(app).await;
        let page = open(app, &mut ada, &format!("/{intent}")).await;
        assert!(page.html.contains("was refused: <b><bdi>deny</bdi></b> · <code>"), "{}", page.html);
    }

    /// A person who was led to the login goes on where the person was; a cookie leads to no other place.
    async fn a_login_leads_back_to_the_audit_page(app: &mut TestApp) {
        list(app, ADA, Role::Auditor).await;
        let login = |address: &str| format!("login-back={}", URL_SAFE_NO_PAD.encode(address));
        let mut ada = app.person();
        let led = open(app, &mut ada, "?words=alpha+beta").await;
        assert_eq!((led.status, led.header("location")), (303, "/login"));
        assert!(led.set_cookie().unwrap().starts_with(&login("/audit?words=alpha+beta")), "{:?}", led.set_cookie());
        let entered = log_in_for(app, &mut ada, ADA, "login").await;
        assert_eq!((entered.status, entered.header("location")), (303, "/audit?words=alpha+beta"));
        for elsewhere in ["https://evil.example/audit", "//evil.example/audit", "/auditors"] {
            let mut ada = app.person();
            ada.cookie = Some(login(elsewhere));
            let entered = log_in_for(app, &mut ada, ADA, "login").await;
            assert_eq!((entered.status, entered.header("location")), (303, "/inbox"), "{elsewhere}");
        }
    }

    /// An export takes everything out of the house, so it is asked for by a form of the session, and it is an event with a name.
    async fn an_export_is_a_download_of_the_session_and_an_event(app: &mut TestApp) {
        let questions = some_questions(app).await;
        let mut ada = auditor(app).await;
        let page = open(app, &mut ada, &format!("/{}", questions[0].1)).await;
        let (url, intent) = (format!("{}audit/export", app.base), questions[0].1.to_string());
        let nonce = page.nonce();
        let fields = [("nonce", nonce.as_str()), ("format", "jsonl"), ("intent_id", &intent)];
        let foreign = ada.bare_form(&url, &fields).header("origin", "https://evil.example");
        assert_eq!(foreign.send().await.unwrap().status(), 403);
        assert_eq!(ada.post(&url, &[("nonce", "x"), fields[1], fields[2]]).await.status, 403);
        let twice = ada.post(&url, &[fields[0], fields[0], fields[1]]).await;
        assert!(twice.status == 403 && !twice.html.contains("still here"), "{}", twice.html);
        assert_eq!(app.person().post(&url, &fields).await.header("location"), "/login");
        let download = ada.post(&url, &fields).await;
        let file = format!("attachment; filename=\"placet-{intent}.jsonl\"");
        assert_eq!((download.status, download.header("content-disposition")), (200, file.as_str()));
        assert!(download.html.starts_with('{') && download.html.contains(&intent) && !download.html.contains(&questions[1].1.to_string()));
        let events = app.api(Role::Auditor).get("api/v1/server/events?limit=1000").await.ok();
        let last = events.as_array().unwrap().last().unwrap().clone();
        assert_eq!((&last["event_type"], &last["actor"]), (&json!("log.exported"), &json!(ADA)));
        assert_eq!((&last["payload"]["credential"]["kind"], &last["payload"]["selection"]), (&json!("session"), &json!({"intent_id": intent})));
        let refused = ada.post(&url, &[fields[0], ("format", "pdf")]).await;
        assert!(refused.status == 422 && refused.html.contains("Nothing was exported: <code>format</code> must be jsonl"), "{}", refused.html);
    }

    /// A person who logs out, is listed no more, or has been logged in for twelve hours, gets no further page of an export that runs.
    async fn a_session_that_ends_gets_no_more_of_its_export(app: &mut TestApp) {
        much_traffic(app).await;
        let mut ada = auditor(app).await;
        let nonce = open(app, &mut ada, "").await.nonce();
        let url = |path: &str| format!("{}{path}", app.base);
        let begin = |ada: &Person, nonce: &str| {
            Begun::begin(ada.form(&url("audit/export"), &[("nonce", nonce), ("format", "jsonl")]))
        };
        let (whole, is_clean) = begin(&ada, &nonce).await.rest().await;
        assert!(is_clean && whole.contains("{\"manifest\":"));
        let logged_out = begin(&ada, &nonce).await;
        assert_eq!(ada.post(&url("logout"), &[("nonce", &nonce), ("where", "here")]).await.status, 303);
        let mut ada = log_in(app, ADA).await;
        let nonce = open(app, &mut ada, "").await.nonce();
        let removed = begin(&ada, &nonce).await;
        app.store().remove_person(account::principal(), Ok(Named::Address(ADA.to_owned()))).await.unwrap();
        let mut ada = auditor(app).await;
        let nonce = open(app, &mut ada, "").await.nonce();
        let outlived = begin(&ada, &nonce).await;
        app.clock.set_by(TimeDelta::hours(12));
        for begun in [logged_out, removed, outlived] {
            let (part, is_clean) = begun.rest().await;
            assert!(!is_clean && part.len() < whole.len(), "{} of {} bytes", part.len(), whole.len());
            assert!(!part.contains("{\"manifest\":"));
        }
    }

    /// A person who waits for a long export is not logged out meanwhile.
    async fn an_export_that_runs_is_a_use_of_its_session(app: &mut TestApp) {
        much_traffic(app).await;
        let mut ada = auditor(app).await;
        let nonce = open(app, &mut ada, "").await.nonce();
        let fields = [("nonce", nonce.as_str()), ("format", "jsonl")];
        let begun = Begun::begin(ada.form(&format!("{}audit/export", app.base), &fields)).await;
        app.clock.set_by(TimeDelta::minutes(20));
        assert!(begun.rest().await.1);
        app.clock.set_by(TimeDelta::minutes(20));
        assert_eq!(open(app, &mut ada, "").await.status, 200);
        app.clock.set_by(TimeDelta::minutes(31));
        assert_eq!(open(app, &mut ada, "").await.header("location"), "/login");
    }

    /// Whether a person opened the page is a fact that counts when a question was not answered; a program that asks for the head of a page
    /// is no person.
    async fn the_first_opening_of_a_page_is_noted_once(app: &mut TestApp) {
        let (intent, _) = asked(app, "Refund alpha order?").await;
        let link = app.next_link().await;
        let noted = async || rows::number(app, "SELECT count(*) AS number FROM views").await;
        assert_eq!(app.person().request(reqwest::Method::HEAD, &link).send().await.unwrap().status(), 200);
        app.advance(90).await;
        assert_eq!(noted().await, 0);
        app.person().open(&link).await;
        while noted().await == 0 {
            harness::pause::pause().await;
        }
        app.advance(60).await;
        app.person().open(&link).await;
        let mut ada = auditor(app).await;
        let page = open(app, &mut ada, &format!("/{intent}")).await;
        assert!(page.html.contains("<time datetime=\"2026-11-24T08:01:30Z\">") && noted().await == 1, "{}", page.html);
        let page = open(app, &mut ada, "/overview").await;
        let (_, first) = page.html.split_once("id=\"v\"").unwrap();
        let (first, _) = first.split_once("id=\"t\"").unwrap();
        assert!(first.contains("1–5 min</th><td class=\"n\">1</td><td class=\"n\">100 %"), "{first}");
    }

    /// The numbers are those of the rows: each question once, under its outcome, with the people who left it to others.
    async fn the_overview_counts_each_question_once(app: &mut TestApp) {
        some_questions(app).await;
        let mut ada = auditor(app).await;
        let page = open(app, &mut ada, "/overview").await;
        for words in ["4 questions since", "1 of 3 questions that ended were answered", "Time to answer", "&lt; 1 min", "(never answered)", OPERATOR, "<td class=\"n\">2</td><td class=\"n\">0</td></tr>"] {
            assert!(page.html.contains(words), "{words}: {}", page.html);
        }
        assert!(open(app, &mut ada, "/overview?agent=another").await.html.contains("0 questions"));
        assert!(open(app, &mut ada, "/overview?to=2026-11-23").await.html.contains("0 questions"));
        let refused = open(app, &mut ada, "/overview?to=x").await;
        assert!(refused.status == 422 && refused.html.contains("A day must be a date"), "{}", refused.html);
    }

    /// An agent writes the question, its choices, its context and its own name. None of these words becomes more than text.
    async fn hostile_words_stay_words(app: &mut TestApp) {
        let hostile = "</b></style><script>alert(1)</script><h1 onclick='x'>\"\u{202e}\u{200b} & {{ open }}";
        let question = json!({
            "question": hostile, "context": {hostile: hostile, "deep": {hostile: [hostile]}}, "timeout_seconds": 600, "response_type": "choice",
            "choices": [{"value": "a", "label": hostile, "description": hostile}, {"value": "b", "label": "B"}],
        });
        let agent = app.agent();
        let intent = agent.post("api/v1/intents", json!({"title": hostile, "status": "active"})).await.ok();
        let intent: IntentId = intent["id"].as_str().unwrap().parse().unwrap();
        let pending = agent.suspend(intent, question).await.ok();
        app.settle().await;
        let id = pending["id"].as_str().unwrap().to_owned();
        let body = json!({"suspension_id": id, "value": "a", "metadata": {"comment": hostile}});
        app.operator().post(&format!("api/v1/intents/{intent}/suspend/respond"), body).await.ok();
        let mut ada = auditor(app).await;
        for path in [String::new(), format!("/{intent}"), "?words=%3Cscript%3E&agent=%22%3E%3Cb%3E&person=%3C%2Fstyle%3E".to_owned()] {
            let page = open(app, &mut ada, &path).await;
            assert_eq!(page.status, 200, "{path}");
            assert_eq!(page.html.matches("<script").count(), 0, "{path}: {}", page.html);
            assert_eq!((page.html.matches("<h1").count(), page.html.matches("</style>").count()), (1, 1), "{path}: {}", page.html);
            assert!(!page.html.contains("onclick='") && !page.html.contains(['\u{202e}', '\u{200b}']), "{path}: {}", page.html);
        }
    }
}

/// Gives the browser the cookies of a person.
pub(crate) async fn become_person(browser: &Browser, app: &TestApp, person: &Person) {
    browser.open(&format!("{}login", app.base)).await;
    for cookie in person.cookie.as_ref().unwrap().split("; ") {
        let (name, value) = cookie.split_once('=').unwrap();
        browser.set_cookie(name, value).await;
    }
}

on_one_store! {
    /// The pages are readable on a desk and on a phone, in both schemes, and a login needs nothing but the keyboard.
    async fn the_pages_behind_the_login_fit_every_width(app: &mut TestApp) {
        let questions = some_questions(app).await;
        let long = "Donaudampfschifffahrtsgesellschaft".repeat(6);
        app.ask(json!({"question": format!("{long}?"), "context": {long.clone(): long.clone()}, "timeout_seconds": 600})).await;
        app.checkpoints().turn().await.unwrap();
        list(app, "op@example.com", Role::Operator).await;
        let ada = auditor(app).await;
        let operator = log_in(app, "op@example.com").await;
        let newest: Value = app.agent().get("api/v1/intents?limit=1").await.ok();
        let newest = newest["intents"][0]["id"].as_str().unwrap().to_owned();
        for (width, dark) in looks() {
            let browser = Browser::start(BrowserOptions { width, height: 800, dark, javascript: false }).await;
            let base = &app.base;
            let pages = [
                ("login", format!("{base}login"), None),
                ("login-asked", format!("{base}login?asked"), None),
                ("login-unusable", format!("{base}login/plc_AAAA"), None),
                ("audit", format!("{base}audit"), Some(&ada)),
                ("audit-wrong", format!("{base}audit?from=x&intent=7"), Some(&ada)),
                ("overview", format!("{base}audit/overview"), Some(&ada)),
                ("record", format!("{base}audit/{}", questions[0].1), Some(&ada)),
                ("record-late", format!("{base}audit/{}", questions[1].1), Some(&ada)),
                ("record-long", format!("{base}audit/{newest}"), Some(&ada)),
                ("audit-refused", format!("{base}audit"), Some(&operator)),
                ("settings", format!("{base}settings"), Some(&operator)),
            ];
            for (name, url, person) in pages {
                if let Some(person) = person {
                    become_person(&browser, app, person).await;
                }
                browser.open(&url).await;
                fits(&browser, name, (width, dark)).await;
                if name == "settings" {
                    browser.evaluate("document.querySelector('.account').open = true").await;
                    fits(&browser, "settings-account", (width, dark)).await;
                }
                let errors = browser.console_errors().await;
                assert!(errors.iter().all(|error| error.contains("server responded with a status of 4")), "{name}: {errors:?}");
            }
        }
        let browser = Browser::start(BrowserOptions { width: 390, height: 800, dark: false, javascript: false }).await;
        browser.open(&format!("{}login", app.base)).await;
        browser.type_into("#address", ADA).await;
        browser.press_enter().await;
        assert!(browser.text().await.contains("Look at your mail"), "{}", browser.text().await);
        app.settle().await;
        browser.open(&app.next_link().await).await;
        browser.evaluate("document.querySelector('main button').focus()").await;
        browser.press_enter().await;
        assert!(browser.text().await.contains("Nothing waits for you"), "{}", browser.text().await);
        browser.click(".account summary").await;
        browser.press("button[value=everywhere]").await;
        assert!(browser.text().await.contains("Send me a login link"));
    }
}
