//! Webhooks: which messages an endpoint gets, and that an endpoint that misbehaves does little harm.

#![expect(clippy::unwrap_used, reason = "these functions serve tests alone")]

use domain::suspension::channel::{EMAIL, Reach};
use harness::app::{Backend, OPERATOR, TestApp};
use harness::receiver::{Answer, Receiver, SECRET, add, webhook};
use harness::smtp::{Fault, Received};
use placet_server::config::Config;
use serde_json::{Value, json};

/// A server with mail and one webhook, which is its default channel.
async fn with_pager() -> (TestApp, Receiver) {
    let receiver = Receiver::start().await;
    let app = TestApp::start_with(|config| add(config, vec![(webhook("pager", &receiver), Reach::People)], &["pager"])).await;
    (app, receiver)
}

/// The endpoint is told which question waits and where it is answered, and can verify that the message comes from this server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_is_posted_signed_and_thin() {
    let (app, receiver) = with_pager().await;
    let agent = app.agent();
    let intent = agent.active_intent().await;
    let id = agent.asked(intent).await;
    app.settle().await;

    let posted = receiver.posted().remove(0);
    assert!(posted.is_signed_with(SECRET));
    assert_eq!(posted.headers["content-type"], "application/json");
    assert_eq!(posted.headers["user-agent"], concat!("placet/", env!("CARGO_PKG_VERSION")));
    for absent in ["cookie", "accept-encoding", "referer", "authorization"] {
        assert!(!posted.headers.contains_key(absent), "{absent}");
    }
    let body = posted.json();
    let events = agent.events(intent).await;
    let asked = events.iter().find(|event| event["event_type"] == "intent.suspended").unwrap();
    let link = body["data"]["url"].as_str().unwrap();
    assert_eq!(
        body,
        json!({
            "type": "intent.suspended",
            "timestamp": format!("{}Z", asked["created_at"].as_str().unwrap()),
            "data": {
                "intent_id": intent, "suspension_id": id, "attempt": 1, "sequence": 1, "recipient": OPERATOR, "url": link,
            },
        })
    );
    assert_eq!(app.person().answer(link, "approve").await.heading(), "Your answer was recorded");
    let sent = agent.events(intent).await.into_iter().find(|event| event["event_type"] == "delivery.sent").unwrap();
    assert_eq!((&sent["payload"]["channel"], &sent["payload"]["detail"]), (&json!("pager"), &json!("status 204")));
    assert_eq!(sent["payload"]["delivery_id"], json!(posted.headers["webhook-id"]));
    assert!(app.smtp.received().is_empty(), "it was the only channel");
    app.finish().await;
}

/// A receiver recognises a repeat by its id. Each try is signed with its own time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_keeps_its_id_over_all_its_tries() {
    let (app, receiver) = with_pager().await;
    let agent = app.agent();
    let intent = agent.active_intent().await;
    agent.asked(intent).await;
    receiver.script([Answer::Status(500, vec![]), Answer::HangUp, Answer::Status(204, vec![])]);
    app.settle().await;
    app.advance(6).await; // The pause is 5 s and at most a fifth more.
    app.advance(360).await; // The pause is 5 min and at most a fifth more.
    let posted = receiver.posted();
    assert_eq!(posted.len(), 3);
    for pair in posted.windows(2) {
        assert_eq!(pair[0].headers["webhook-id"], pair[1].headers["webhook-id"]);
        assert!(pair[0].headers["webhook-timestamp"] < pair[1].headers["webhook-timestamp"]);
        let without_link = |body: Value| [body["type"].clone(), body["timestamp"].clone(), body["data"]["sequence"].clone()];
        assert_eq!(without_link(pair[0].json()), without_link(pair[1].json()));
    }
    assert!(posted.iter().all(|posted| posted.is_signed_with(SECRET)));
    app.advance(86_400).await;
    assert!(receiver.posted().is_empty(), "what was taken is not sent again");
    app.finish().await;
}

/// A receiver may open a ticket at the first message about a question and add to it at the next. So a message is called a
/// reminder only if an earlier one has arrived; otherwise there would be no ticket for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_says_what_it_is_to_who_receives_it() {
    let (app, receiver) = with_pager().await;
    let agent = app.agent();
    let policy = json!({"max_attempts": 4, "interval_seconds": 600, "escalation_ladder": [{"attempt": 4, "notify_to": "lead@example.com"}]});
    receiver.script(vec![Answer::Status(500, vec![]); 3]);
    let intent = agent.active_intent().await;
    agent.suspend(intent, json!({"retry_policy": policy, "timeout_seconds": 600})).await.ok();
    app.settle().await;
    // The waits cover the tries of the first attempt and then the further attempts.
    for seconds in [6, 360, 234, 600, 600] {
        app.advance(seconds).await;
    }
    let posted = receiver.posted();
    let said: Vec<Value> = posted.iter().map(|posted| json!([posted.json()["data"]["attempt"], posted.json()["type"]])).collect();
    let (asked, reminded, escalated) = ("intent.suspended", "intent.suspension_renotified", "intent.suspension_escalated");
    let tries = json!([[1, asked], [1, asked], [1, asked], [2, asked], [3, reminded], [4, escalated]]);
    assert_eq!(Value::from(said), tries);
    app.finish().await;
}

/// A question may name its channel. If it names none, or one that does not exist, it is asked by the operator's default.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hint_picks_the_channel_of_the_question_and_of_each_rung() {
    let (pager, room) = (Receiver::start().await, Receiver::start().await);
    let app = TestApp::start_with(|config| {
        let mut quiet = webhook("room", &room);
        quiet.settings.links = false;
        let reach = Reach::Audience("ops-room".into());
        add(config, vec![(webhook("pager", &pager), Reach::People), (quiet, reach)], &[EMAIL]);
    })
    .await;
    let agent = app.agent();

    // The two people are asked by the default channel.
    let people = json!(["alice@example.com", "bob@example.com"]);
    let warned = agent.suspend(agent.active_intent().await, json!({"notify_to": people, "channel_hint": "slack"})).await.ok();
    assert!(warned["warnings"][0].as_str().unwrap().contains("email, pager, room"), "{warned}");
    app.settle().await;
    assert_eq!((app.smtp.received().len(), pager.connections(), room.connections()), (2, 0, 0));

    // The first attempt asks by the pager, the second by the room.
    let ladder = json!({
        "notify_to": people, "channel_hint": "pager",
        "retry_policy": {
            "max_attempts": 2, "interval_seconds": 600,
            "escalation_ladder": [{"attempt": 2, "channel_hint": "room"}],
        },
    });
    let intent = agent.active_intent().await;
    agent.suspend(intent, ladder).await.ok();
    app.settle().await;
    let mut told: Vec<Value> = pager.posted().iter().map(|posted| posted.json()["data"]["recipient"].clone()).collect();
    told.sort_by_key(ToString::to_string);
    assert_eq!(json!(told), people);
    app.advance(600).await;
    let posted = room.posted();
    assert_eq!(posted.len(), 1, "a room is told once, however many people are asked");
    let data = &posted[0].json()["data"];
    assert_eq!((&data["recipient"], &data["attempt"], &data["url"]), (&json!("ops-room"), &json!(2), &Value::Null));
    assert_eq!((app.smtp.received().len(), pager.posted().len()), (4, 0), "a room without a link is told beside the default");
    app.finish().await;
}

/// Readers in a room (a chat) cannot answer if its messages hold no links. So people are asked as well, and a message to the room
/// does not count as reaching a person. Otherwise an agent could ask the room alone and be sure of its own fallback.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_room_without_links_is_asked_beside_the_people_and_reaches_nobody() {
    let room = Receiver::start().await;
    let app = TestApp::start_with(|config| {
        let mut quiet = webhook("room", &room);
        quiet.settings.links = false;
        add(config, vec![(quiet, Reach::Audience("ops-room".into()))], &[EMAIL]);
    })
    .await;
    let agent = app.agent();
    let to_the_room = json!({
        "channel_hint": "room", "timeout_seconds": 3600, "fallback_policy": "complete_with_fallback", "fallback_value": "approve",
    });
    let body = json!({"question": "Go?", "response_type": "confirm", "channel_hint": "room"});
    let preview = agent.post("api/v1/suspensions/preview", body).await.ok();
    let told: Vec<(&Value, &Value)> =
        preview["schedule"].as_array().unwrap().iter().map(|step| (&step["channel"], &step["recipients"])).collect();
    assert_eq!(told, [(&json!("room"), &json!(["ops-room"])), (&json!(EMAIL), &json!([OPERATOR]))]);

    // The people's mail is refused for good, and the room has taken its message.
    app.smtp.script(Fault::RejectRecipient);
    let lost = agent.active_intent().await;
    let id = agent.suspend(lost, to_the_room.clone()).await.ok()["id"].as_str().unwrap().to_owned();
    app.settle().await;
    let mut states: Vec<String> = seen(&app, &id).await.into_iter().map(|(state, ..)| state).collect();
    states.sort();
    assert_eq!((states, room.posted().len()), (vec!["failed".to_owned(), "sent".to_owned()], 1));
    assert_eq!(agent.suspension(&id).await["reached"], json!(false));
    let events = agent.events(lost).await;
    let sent = events.iter().find(|event| event["event_type"] == "delivery.sent").unwrap();
    assert_eq!((&sent["payload"]["channel"], &sent["payload"]["reached"]), (&json!("room"), &json!(false)));
    app.advance(3600).await;
    assert_eq!(agent.suspension(&id).await["resolution_reason"], json!("undeliverable"), "nobody could have answered");

    // A person with a link was reached, so the fallback for no answer applies.
    let id = agent.suspend(agent.active_intent().await, to_the_room).await.ok()["id"].as_str().unwrap().to_owned();
    app.settle().await;
    assert_eq!((app.smtp.next_mail().await.to, room.posted().len()), (vec![OPERATOR.to_owned()], 1));
    assert_eq!(agent.suspension(&id).await["reached"], json!(true));
    app.advance(3600).await;
    assert_eq!(agent.suspension(&id).await["response"], json!("approve"));
    app.finish().await;
}

/// A changed setting does not change sent messages: readers of a message without a link still cannot answer, so other people are
/// asked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_sent_without_a_link_has_none_under_later_settings() {
    let room = Receiver::start().await;
    let channels = |config: &mut Config, links: bool| {
        let mut board = webhook("room", &room);
        board.settings.links = links;
        config.webhooks.clear();
        add(config, vec![(board, Reach::Audience("ops-room".into()))], &[EMAIL]);
    };
    let mut app = TestApp::start_with(|config| channels(config, false)).await;
    app.smtp.script(Fault::Defer);
    let rung = json!({"attempt": 2, "notify_to": "lead@example.com", "channel_hint": EMAIL});
    let policy = json!({"max_attempts": 2, "interval_seconds": 3600, "escalation_ladder": [rung]});
    app.ask(json!({"channel_hint": "room", "timeout_seconds": 3600, "retry_policy": policy})).await;
    assert_eq!(room.posted().len(), 1);
    app.restart_with(|config| channels(config, true)).await;
    app.smtp.script(Fault::RejectRecipient);
    app.advance(60).await;
    let told: Vec<_> = app.smtp.received().into_iter().flat_map(|mail| mail.to).collect();
    assert_eq!(told, ["lead@example.com"]);
    app.finish().await;
}

/// The pager asked this person an hour ago. The mail of the escalation must not tell her that others were asked before her.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_who_was_asked_by_another_channel_is_not_told_of_the_others() {
    for backend in [Backend::Sqlite, Backend::Postgres] {
        let receiver = Receiver::start().await;
        let pager = |config: &mut Config| add(config, vec![(webhook("pager", &receiver), Reach::People)], &["pager"]);
        let app = TestApp::start_on(backend, pager).await;
        let rung = |people: &str| json!([{"attempt": 2, "notify_to": people, "channel_hint": EMAIL}]);
        for person in ["lead@example.com", "duty@example.com"] {
            let policy = json!({"max_attempts": 2, "interval_seconds": 3600, "escalation_ladder": rung(person)});
            let people = [OPERATOR, "lead@example.com"];
            app.ask(json!({"notify_to": people, "timeout_seconds": 7200, "retry_policy": policy})).await;
        }
        assert_eq!(receiver.posted().len(), 4);
        app.advance(3_600).await;
        let mut mails = [app.smtp.next_mail().await, app.smtp.next_mail().await];
        mails.sort_by_key(|mail| mail.to.clone());
        let [duty, lead] = mails;
        assert_eq!((&duty.to[..], &lead.to[..]), (&["duty@example.com".to_owned()][..], &["lead@example.com".to_owned()][..]));
        assert!(in_a_line(&duty).contains("Asked before"), "{}", duty.text());
        assert_eq!(lead.subject(), "[Placet] Refund order 12345?");
        assert!(
            !in_a_line(&lead).contains("Asked before") && !in_a_line(&lead).contains("You are asked because"),
            "{}",
            lead.text()
        );
        app.finish().await;
    }
}

/// The text of a mail without its line breaks.
fn in_a_line(mail: &Received) -> String {
    mail.text().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// If a step of the ladder asks by two channels, both messages are escalations, even one that leaves only at its second try.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_messages_of_an_escalation_say_why_they_come() {
    for backend in [Backend::Sqlite, Backend::Postgres] {
        let receiver = Receiver::start().await;
        let both = |config: &mut Config| add(config, vec![(webhook("pager", &receiver), Reach::People)], &["pager", EMAIL]);
        let app = TestApp::start_on(backend, both).await;
        let rung = json!([{"attempt": 2, "notify_to": "lead@example.com"}]);
        let policy = json!({"max_attempts": 2, "interval_seconds": 3600, "escalation_ladder": rung});
        app.ask(json!({"notify_to": [OPERATOR], "timeout_seconds": 7200, "retry_policy": policy})).await;
        app.smtp.next_mail().await;
        app.smtp.script(Fault::Defer);
        app.advance(3_600).await;
        assert_eq!(receiver.posted().len(), 2, "the pager's message to the lead left first");
        app.advance(600).await;
        let mail = app.smtp.next_mail().await;
        assert_eq!(mail.subject(), "[Placet] Escalated: Refund order 12345?");
        assert!(in_a_line(&mail).contains("Asked before"), "{}", mail.text());
        app.finish().await;
    }
}

/// The messages about a question as the operator sees them: the state, the number of tries and the last reply.
async fn seen(app: &TestApp, id: &str) -> Vec<(String, u64, String)> {
    let listed = app.operator().get(&format!("api/v1/suspensions/{id}/deliveries")).await.ok();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let row = |row: &Value| (word(&row["state"]), row["tries"].as_u64().unwrap(), word(&row["detail"]));
    listed["deliveries"].as_array().unwrap().iter().map(row).collect()
}

/// Whatever an endpoint does, its message is tried again, and the delivery's state shows no secret of the endpoint.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_that_misbehaves_is_tried_again() {
    let elsewhere = Receiver::start().await;
    let away = vec![format!("location: {}", elsewhere.url())];
    let (app, receiver) = with_pager().await;
    for (answer, detail) in [
        (Answer::Status(301, away.clone()), "status 301; redirections are not followed"),
        (Answer::Status(307, away.clone()), "status 307; redirections are not followed"),
        (Answer::Status(304, vec![]), "status 304; redirections are not followed"),
        (Answer::Status(400, vec![]), "status 400"),
        (Answer::Status(404, vec![]), "status 404"),
        (Answer::Status(500, vec![]), "status 500"),
        (Answer::Hang, "the endpoint did not answer in time"),
        (Answer::SlowHead, "the endpoint did not answer in time"),
        (Answer::Garbage, ""),
        (Answer::HangUp, ""),
    ] {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let id = agent.asked(intent).await;
        receiver.script([answer.clone()]);
        app.settle().await;
        let [(state, tries, why)] = seen(&app, &id).await.try_into().unwrap();
        assert_eq!((state.as_str(), tries), ("queued", 1), "{answer:?}: {why}");
        assert!(why.contains(detail) && !why.is_empty() && !why.contains("s3cr3t") && !why.contains("://"), "{answer:?}: {why}");
        assert!(agent.event_types(intent).await.iter().all(|event| !event.starts_with("delivery.")), "nothing is decided yet");
        app.advance(6).await;
        assert_eq!(seen(&app, &id).await, [("sent".to_owned(), 2, "status 204".to_owned())], "{answer:?}");
    }
    assert_eq!(elsewhere.connections(), 0, "a redirection leads nowhere");
    app.finish().await;
}

/// Only the status counts. Whatever an endpoint sends after it cannot make the server read on, wait or fail.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_response_is_its_status_whatever_follows() {
    let (app, receiver) = with_pager().await;
    for answer in [Answer::Body(100 * 1024 * 1024), Answer::EndlessBody, Answer::Body(0), Answer::Status(299, vec![])] {
        let id = app.agent().asked(app.agent().active_intent().await).await;
        receiver.script([answer.clone()]);
        let began = std::time::Instant::now();
        app.settle().await;
        let [(state, tries, _)] = seen(&app, &id).await.try_into().unwrap();
        assert_eq!((state.as_str(), tries), ("sent", 1), "{answer:?}");
        assert!(began.elapsed() < std::time::Duration::from_secs(30), "{answer:?} was read to its end");
    }
    app.finish().await;
}

/// An endpoint may say when to try again, but for at most a day.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retry_after_is_honoured_within_a_day() {
    let (app, receiver) = with_pager().await;
    for (status, header, quiet) in [
        (429, "retry-after: 40", 40),
        (503, "Retry-After: 2000", 2_000),
        (429, "retry-after: 99999999999", 86_400),
        // A value that is no number of seconds is ignored, and so is the header of any other status.
        (503, "retry-after: Wed, 21 Oct 2026 07:28:00 GMT", 4),
        (429, "retry-after: -1", 4),
        (500, "retry-after: 3000", 4),
    ] {
        let agent = app.agent();
        let change = json!({"timeout_seconds": 200_000});
        let id = agent.suspend(agent.active_intent().await, change).await.ok()["id"].as_str().unwrap().to_owned();
        receiver.script([Answer::Status(status, vec![header.to_owned()])]);
        app.settle().await;
        assert_eq!(receiver.posted().len(), 1);
        app.advance(quiet - 1).await;
        assert_eq!(receiver.posted().len(), 0, "{status} {header}: too early");
        app.advance(3).await;
        assert_eq!(receiver.posted().len(), 1, "{status} {header}: too late");
        assert_eq!(seen(&app, &id).await[0].0, "sent");
    }
    app.finish().await;
}

/// A message fails after its last try. When its question is answered first, its tries stop.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_ends_with_its_tries_or_with_its_question() {
    let (app, receiver) = with_pager().await;
    let (agent, operator) = (app.agent(), app.operator());
    let change = json!({"timeout_seconds": 2_000_000});
    let intent = agent.active_intent().await;
    let id = agent.suspend(intent, change).await.ok()["id"].as_str().unwrap().to_owned();
    receiver.script(vec![Answer::Status(500, vec![]); 10]);
    app.settle().await;
    for pause in [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400] {
        let before = receiver.posted().len();
        assert_eq!(before, 1, "{pause}");
        app.advance(pause * 79 / 100).await;
        assert_eq!(receiver.posted().len(), 0, "{pause} s may be a fifth shorter, no more");
        app.advance(pause * 42 / 100 + 1).await;
    }
    assert_eq!(receiver.posted().len(), 1);
    assert_eq!(seen(&app, &id).await, [("failed".to_owned(), 10, "status 500".to_owned())]);
    app.advance(400_000).await;
    assert_eq!(receiver.posted().len(), 0);

    let other = agent.active_intent().await;
    let id = agent.asked(other).await;
    receiver.script([Answer::Status(500, vec![])]);
    app.settle().await;
    operator.respond(other, &id, "approve").await.ok();
    app.advance(100_000).await;
    assert_eq!(receiver.posted().len(), 1);
    assert_eq!(seen(&app, &id).await[0].0, "obsolete");
    app.finish().await;
}

/// The metric of the circuit of a channel.
async fn circuit(app: &TestApp, channel: &str) -> String {
    let scraped = app.api(domain::people::principal::Role::Auditor).get("metrics").await.text;
    let name = format!("placet_channel_circuit_open{{channel=\"{channel}\"}} ");
    scraped.lines().find_map(|line| line.strip_prefix(&name)).unwrap_or("absent").to_owned()
}

/// A failing endpoint is left alone for a while, so that it costs nothing and can recover. A probe then tries it again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failing_endpoint_is_left_alone_and_probed() {
    let (app, receiver) = with_pager().await;
    let agent = app.agent();
    assert_eq!(circuit(&app, "pager").await, "0");
    receiver.script(vec![Answer::Status(500, vec![]); 11]);
    for _ in 0..10 {
        agent.asked(agent.active_intent().await).await;
        app.settle().await;
    }
    assert_eq!((receiver.posted().len(), circuit(&app, "pager").await.as_str()), (10, "1"));
    let held = agent.asked(agent.active_intent().await).await;
    app.advance(20).await;
    assert_eq!(receiver.posted().len(), 0, "nothing is tried while the circuit is open");
    assert_eq!(seen(&app, &held).await[0].1, 0, "waiting is no try");

    app.advance(17).await; // This is 30 s and a fifth: one probe is sent and fails.
    assert_eq!(receiver.posted().len(), 1);
    app.advance(47).await; // This is 60 s less a fifth.
    assert_eq!(receiver.posted().len(), 0);
    app.advance(27).await; // This probe works, and all other messages follow.
    assert_eq!(circuit(&app, "pager").await, "0");
    app.advance(400).await;
    assert_eq!(seen(&app, &held).await[0].0, "sent");
    app.finish().await;
}

/// The pause of an endpoint does not depend on the time of day, so a clock that is set back must not make people wait for hours.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_set_back_has_no_endpoint_left_alone_for_longer() {
    let (app, receiver) = with_pager().await;
    receiver.script(vec![Answer::Status(500, vec![]); 10]);
    for _ in 0..10 {
        app.ask(json!({})).await;
    }
    assert_eq!((receiver.posted().len(), circuit(&app, "pager").await.as_str()), (10, "1"));
    app.clock.set_by(chrono::TimeDelta::hours(-3));
    let (_, id) = app.ask(json!({})).await;
    app.advance(20).await;
    assert_eq!(receiver.posted().len(), 0);
    app.advance(17).await;
    assert_eq!((receiver.posted().len(), seen(&app, &id).await[0].0.as_str()), (1, "sent"));
    app.advance(3 * 3_600 + 400).await;
    app.finish().await;
}

/// A question of an hour can wait half a minute for an endpoint that restarts. A question of a minute cannot: the people of
/// the next step of its ladder are asked at once, if that step uses another channel.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_goes_around_an_endpoint_it_has_no_time_to_wait_for() {
    let (app, receiver) = with_pager().await;
    let agent = app.agent();
    receiver.script(vec![Answer::Status(500, vec![]); 10]);
    for _ in 0..10 {
        agent.asked(agent.active_intent().await).await;
        app.settle().await;
    }
    assert_eq!(circuit(&app, "pager").await, "1"); // The circuit stays open for 24 to 36 seconds.
    let ask = async |interval: u32, rung: Value| {
        let intent = agent.active_intent().await;
        let policy = json!({"max_attempts": 2, "interval_seconds": interval, "escalation_ladder": [rung]});
        let people = json!(["a@example.com", "b@example.com"]);
        let change = json!({"retry_policy": policy, "timeout_seconds": interval, "notify_to": people});
        let id = agent.suspend(intent, change).await.ok()["id"].as_str().unwrap().to_owned();
        app.settle().await;
        (intent, id)
    };
    let states = async |id: &str| seen(&app, id).await.into_iter().map(|(state, ..)| state).collect::<Vec<_>>();
    let by_mail = || json!({"attempt": 2, "notify_to": "lead@example.com", "channel_hint": EMAIL});

    let (intent, id) = ask(60, by_mail()).await;
    assert_eq!(app.smtp.next_mail().await.to, ["lead@example.com"]);
    assert_eq!(states(&id).await, ["failed", "failed", "sent"]);
    let events = agent.events(intent).await;
    let failover = events.iter().find(|event| event["event_type"] == "delivery.failover").unwrap();
    assert_eq!(failover["payload"]["unreachable"], json!(["a@example.com", "b@example.com"]));
    assert!(failover["payload"]["reason"].as_str().unwrap().starts_with("given up: the endpoint keeps failing"), "{failover}");

    let (patient, id) = ask(3_600, by_mail()).await;
    assert_eq!(states(&id).await, ["queued", "queued"], "there is time");
    let (_, alone) = ask(60, json!({"attempt": 2, "notify_to": "lead@example.com"})).await;
    assert_eq!(states(&alone).await, ["queued", "queued"], "the lead would be asked by the same endpoint");
    assert!(app.smtp.received().len() == 1 && receiver.posted().len() == 10);
    assert!(!agent.event_types(patient).await.contains(&"delivery.failover".to_owned()));
    app.finish().await;
}

/// An endpoint that answers 410 is gone: its messages fail at once, the operator sees them, and an admin can send them again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_that_is_gone_fails_its_messages_until_an_admin_sends_one_again() {
    let (app, receiver) = with_pager().await;
    let (agent, admin) = (app.agent(), app.api(domain::people::principal::Role::Admin));
    let (one, two) = (agent.active_intent().await, agent.active_intent().await);
    receiver.script([Answer::Status(410, vec![])]);
    let first = agent.asked(one).await;
    app.settle().await;
    app.advance(1).await;
    let second = agent.asked(two).await;
    app.settle().await;
    assert_eq!((receiver.posted().len(), circuit(&app, "pager").await.as_str()), (1, "1"));
    for (id, tries) in [(&first, 1), (&second, 0)] {
        let gone = "status 410: the endpoint says it is gone".to_owned();
        assert_eq!(seen(&app, id).await, [("failed".to_owned(), tries, gone)]);
    }

    let page = admin.get("api/v1/deliveries?state=failed&limit=1").await.ok();
    assert_eq!(page["deliveries"][0]["suspension_id"], json!(second), "newest first");
    let cursor = page["next_cursor"].as_str().unwrap();
    let last =
        app.api(domain::people::principal::Role::Auditor).get(&format!("api/v1/deliveries?limit=1&cursor={cursor}")).await.ok();
    assert_eq!((&last["deliveries"][0]["suspension_id"], &last["next_cursor"]), (&json!(first), &Value::Null));

    let id = last["deliveries"][0]["id"].as_str().unwrap().to_owned();
    let again = admin.post_once(&format!("api/v1/deliveries/{id}/redrive"), "k1", json!({})).await;
    let (replied, again) = (again.text.clone(), again.ok());
    assert_eq!((&again["id"], &again["state"], &again["tries"]), (&json!(id), &json!("queued"), &json!(0)));
    app.settle().await;
    let posted = receiver.posted();
    assert_eq!((posted.len(), posted[0].headers["webhook-id"].as_str()), (1, id.as_str()), "the same message");
    assert_eq!((seen(&app, &first).await[0].0.as_str(), circuit(&app, "pager").await.as_str()), ("sent", "0"));
    let events = agent.events(one).await;
    let redriven = events.iter().find(|event| event["event_type"] == "delivery.redriven").unwrap();
    assert_eq!((&redriven["actor"], &redriven["payload"]["redriven_by"]), (&json!("test-admin"), &json!("test-admin")));

    // An admin whose reply was lost repeats the request. It gets the same reply, and no second message is sent.
    let before = agent.everything(one).await;
    let repeated = admin.post_once(&format!("api/v1/deliveries/{id}/redrive"), "k1", json!({})).await;
    assert_eq!((repeated.status, repeated.text), (200, replied));
    app.settle().await;
    assert_eq!((receiver.posted().len(), agent.everything(one).await), (0, before));
    let another = format!("api/v1/deliveries/{}/redrive", page["deliveries"][0]["id"].as_str().unwrap());
    assert_eq!(admin.post_once(&another, "k1", json!({})).await.problem(), (422, "idempotency_mismatch"));
    assert_eq!(admin.post_once(&another, "", json!({})).await.field_problem().2, "Idempotency-Key");

    // A message that was sent, or one about an ended question, cannot be sent again.
    assert_eq!(admin.post(&format!("api/v1/deliveries/{id}/redrive"), json!({})).await.problem(), (404, "not_found"));
    app.operator().respond(two, &second, "deny").await.ok();
    let other = page["deliveries"][0]["id"].as_str().unwrap();
    let refused = admin.post(&format!("api/v1/deliveries/{other}/redrive"), json!({})).await;
    assert_eq!(refused.problem(), (409, "already_resolved"));
    app.finish().await;
}

/// If a channel is removed from the settings while messages wait for it, these messages fail with a detail that says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_for_a_channel_that_is_no_more_fails_loudly() {
    let (app, receiver) = with_pager().await;
    let agent = app.agent();
    let intent = agent.active_intent().await;
    let id = agent.asked(intent).await;
    let none = app.worker(std::sync::Arc::new(channels::MemoryMailbox::new()));
    none.run_due().await.unwrap();
    let [(state, tries, why)] = seen(&app, &id).await.try_into().unwrap();
    assert_eq!((state.as_str(), tries, why.as_str()), ("failed", 0, "this server has no channel of this name any more"));
    assert_eq!(receiver.connections(), 0);
    app.finish().await;
}

/// If a message to a person fails on one channel, the person is asked at once by the channel of the ladder's next step.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_page_becomes_a_mail_to_the_same_person() {
    let (app, receiver) = with_pager().await;
    let agent = app.agent();
    let ladder = json!({"retry_policy": {
        "max_attempts": 2, "interval_seconds": 3600, "escalation_ladder": [{"attempt": 2, "channel_hint": EMAIL}],
    }});
    let intent = agent.active_intent().await;
    receiver.script([Answer::Status(410, vec![])]);
    agent.suspend(intent, ladder).await.ok();
    app.settle().await;
    assert_eq!(app.smtp.next_mail().await.to, [OPERATOR]);
    assert!(agent.event_types(intent).await.contains(&"delivery.failover".to_owned()));
    app.finish().await;
}

/// A server with mail and a room whose readers may answer, and with these default channels.
async fn with_room(default: &[&str]) -> (TestApp, Receiver) {
    let room = Receiver::start().await;
    let reach = Reach::Audience("ops-room".into());
    let app = TestApp::start_with(|config| add(config, vec![(webhook("room", &room), reach)], default)).await;
    (app, room)
}

async fn remind(app: &TestApp, id: &str) {
    app.operator().post(&format!("api/v1/suspensions/{id}/remind"), json!({})).await.ok();
    app.settle().await;
}

/// If an attempt goes to a room, the plan in the mail and on the page names the room and not the people.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_plan_names_the_room_where_a_room_is_told() {
    let (app, _room) = with_room(&[EMAIL]).await;
    let agent = app.agent();
    let ladder = json!({"timeout_seconds": 3600, "retry_policy": {
        "max_attempts": 2, "interval_seconds": 600, "escalation_ladder": [{"attempt": 2, "channel_hint": "room"}],
    }});
    agent.suspend(agent.active_intent().await, ladder).await.ok();
    app.settle().await;
    let mail = app.smtp.next_mail().await;
    let text = mail.text();
    assert!(text.contains("08:10  ops-room will be asked") && !text.contains("You get a reminder"), "{text}");
    let page = app.person().open(&mail.link(&app.base)).await;
    assert!(page.html.contains("<bdi>ops-room, as an escalation</bdi>"), "{}", page.html);
    app.finish().await;
}

/// If the people's mail was refused, only the room is reminded, by its own channel: a room's name is no mail address.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_room_is_reminded_in_the_room() {
    let (app, room) = with_room(&[EMAIL, "room"]).await;
    let agent = app.agent();
    app.smtp.script(Fault::RejectRecipient);
    let intent = agent.active_intent().await;
    let id = agent.asked(intent).await;
    app.settle().await;
    assert_eq!((app.smtp.mailed().await.len(), room.posted().len()), (0, 1));
    remind(&app, &id).await;
    assert_eq!((app.smtp.mailed().await, room.posted().len()), (vec![], 1));
    let events = agent.events(intent).await;
    let reminded = events.iter().find(|event| event["event_type"] == "intent.suspension_reminded").unwrap();
    assert_eq!(reminded["payload"]["notify_to"], json!(["ops-room"]));
    app.finish().await;
}

/// After a restore all links are dead. Every recipient, also of an earlier attempt, gets a new link by the same channel.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_restore_everybody_is_told_again_the_way_they_had_been() {
    let (mut app, room) = with_room(&[EMAIL]).await;
    let agent = app.agent();
    let ladder = json!({"timeout_seconds": 3600, "retry_policy": {
        "max_attempts": 2, "interval_seconds": 600, "escalation_ladder": [{"attempt": 2, "channel_hint": "room"}],
    }});
    agent.suspend(agent.active_intent().await, ladder).await.ok();
    app.settle().await;
    app.advance(600).await;
    assert_eq!((app.smtp.mailed().await, room.posted().len()), (vec![OPERATOR.to_owned()], 1));
    app.restore().await;
    app.store().release().await.unwrap();
    app.settle().await;
    assert_eq!((app.smtp.mailed().await, room.posted().len()), (vec![OPERATOR.to_owned()], 1));
    app.finish().await;
}

/// A message left over from an older attempt is about to be dropped as replaced, so it must not stand in for a reminder.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_of_an_older_attempt_does_not_stand_for_a_reminder() {
    let (app, receiver) = with_pager().await;
    let agent = app.agent();
    let policy = json!({"timeout_seconds": 7200, "retry_policy": {"max_attempts": 2, "interval_seconds": 600}});
    receiver.script([Answer::Status(429, vec!["retry-after: 80000".to_owned()])]);
    let id = agent.suspend(agent.active_intent().await, policy).await.ok()["id"].as_str().unwrap().to_owned();
    app.settle().await;
    app.advance(600).await;
    assert_eq!(receiver.posted().len(), 2);
    assert_eq!(seen(&app, &id).await.iter().map(|(state, ..)| state.as_str()).collect::<Vec<_>>(), ["queued", "sent"]);
    remind(&app, &id).await;
    assert_eq!(receiver.posted().len(), 1, "reminded, and once");
    app.finish().await;
}

/// A waiting message is sent now in place of a reminder, even if its endpoint asked for a later time, because a person asked for
/// it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reminder_does_not_wait_for_retry_after() {
    let (app, receiver) = with_pager().await;
    receiver.script([Answer::Status(429, vec!["retry-after: 3000".to_owned()])]);
    let id = app.agent().asked(app.agent().active_intent().await).await;
    app.settle().await;
    assert_eq!(receiver.posted().len(), 1);
    remind(&app, &id).await;
    assert_eq!((receiver.posted().len(), seen(&app, &id).await.len()), (1, 1), "the same message, now");
    assert_eq!(seen(&app, &id).await[0].0, "sent");
    app.finish().await;
}

/// After the server was away, each channel gets one message that makes up for the attempts that were missed on this channel.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_makes_up_for_missed_attempts_goes_by_the_way_of_each() {
    let (mut app, room) = with_room(&[EMAIL]).await;
    let agent = app.agent();
    let ladder = json!({"timeout_seconds": 3600, "retry_policy": {"max_attempts": 4, "interval_seconds": 600, "escalation_ladder": [
        {"attempt": 2, "notify_to": "lead@example.com", "channel_hint": EMAIL},
        {"attempt": 3, "notify_to": "duty@example.com", "channel_hint": "room"},
    ]}});
    let intent = agent.active_intent().await;
    agent.suspend(intent, ladder).await.ok();
    app.settle().await;
    assert_eq!(app.smtp.mailed().await, [OPERATOR]);
    app.clock.jump(chrono::TimeDelta::seconds(1200));
    app.restart().await;
    app.settle().await;
    assert_eq!(app.smtp.mailed().await, ["lead@example.com"], "whom the room's attempt would have left out");
    let posted = room.posted();
    assert_eq!(posted.iter().map(|posted| posted.json()["data"]["attempt"].clone()).collect::<Vec<_>>(), [json!(3)]);
    app.advance(600).await;
    assert_eq!((app.smtp.mailed().await.len(), room.posted().len()), (0, 1), "what was made up for is not made up for again");
    app.finish().await;
}
