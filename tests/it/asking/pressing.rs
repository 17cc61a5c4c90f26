//! Limits against pressing people: an agent must not ask again and again, in whatever way, until a tired person says yes.

#![expect(clippy::unwrap_used, reason = "these functions serve tests alone")]

use domain::asking::pressing::Pressing;
use domain::base::ids::IntentId;
use domain::people::principal::Role;
use harness::api::{Api, Reply};
use harness::app::{Backend, OPERATOR, TestApp};
use harness::on_each_store;
use harness::rows;
use placet_server::config::MIN_INTERVAL_SECONDS;
use serde_json::{Value, json};

/// Restarts the tests' server with the limits that hold in production.
async fn strict(app: &mut TestApp) {
    app.restart_with(|config| {
        config.asking.pressing = Pressing::PRODUCTION;
        config.asking.min_interval_seconds = MIN_INTERVAL_SECONDS;
    })
    .await;
}

fn to(person: &str) -> Value {
    json!({"notify_to": [person]})
}

async fn delivery(app: &TestApp, id: &str) -> Value {
    deliveries(app, id).await.remove(0)
}

/// The messages about a question, the first one first.
async fn deliveries(app: &TestApp, id: &str) -> Vec<Value> {
    let page = app.operator().get(&format!("api/v1/suspensions/{id}/deliveries")).await.ok();
    page["deliveries"].as_array().unwrap().clone()
}

fn states(deliveries: &[Value]) -> Vec<&str> {
    deliveries.iter().filter_map(|row| row["state"].as_str()).collect()
}

async fn cancel(agent: &Api, id: &str) {
    agent.post(&format!("api/v1/suspensions/{id}/cancel"), json!({})).await.ok();
}

fn id_of(record: &Value) -> String {
    record["id"].as_str().unwrap().to_owned()
}

async fn supersede(agent: &Api, intent: IntentId, old: &str, change: Value) -> Reply {
    let mut body = change;
    body["supersedes"] = json!(old);
    agent.suspend(intent, body).await
}

on_each_store! {
    /// Five messages at once can be a busy hour, but sixty in eleven seconds are a siege. So five of an agent's messages to
    /// one person leave at once, and further ones a minute apart. A tag or other case in an address does not make it another
    /// person's.
    async fn after_a_burst_messages_to_one_person_keep_their_distance(app: &mut TestApp) {
        strict(app).await;
        let mut asked = Vec::new();
        for number in 0..8 {
            let person = if number % 2 == 0 { format!("Ada+{number}@example.com") } else { "ada@example.com".to_owned() };
            asked.push(app.agent().ask(to(&person)).await.1);
        }
        app.settle().await;
        assert_eq!(app.smtp.mailed().await.len(), 5);
        let waits = delivery(app, &asked[5]).await;
        assert_eq!((&waits["state"], &waits["tries"], &waits["due_at"]), (&json!("queued"), &json!(0), &json!("2026-11-24T08:01:00.000000Z")));
        assert!(waits["detail"].as_str().unwrap().contains("questions.min_distance_seconds"), "{waits}");
        let other = Api::new(&app.base, Some(&app.new_key(Role::Agent, "other").await));
        other.ask(to("ada@example.com")).await;
        app.agent().ask(to("grace@example.com")).await;
        app.settle().await;
        assert_eq!(app.smtp.mailed().await, ["ada@example.com", "grace@example.com"], "others are not kept waiting");

        app.advance(59).await;
        assert_eq!(app.smtp.mailed().await.len(), 0);
        app.advance(1).await;
        assert_eq!(app.smtp.mailed().await, ["ada@example.com"]);
        app.restart().await; // Sent messages must not be counted in memory alone.
        app.settle().await;
        app.advance(59).await;
        assert_eq!(app.smtp.mailed().await.len(), 0);
        app.advance(1).await;
        app.advance(60).await;
        assert_eq!(app.smtp.mailed().await, ["Ada+6@example.com", "ada@example.com"]);
        // After five quiet minutes five messages may leave at once again.
        app.advance(300).await;
        for _ in 0..6 {
            app.agent().ask(to("ada@example.com")).await;
        }
        app.settle().await;
        assert_eq!(app.smtp.mailed().await.len(), 5);
        app.advance(60).await;
        assert_eq!(app.smtp.mailed().await.len(), 1);
    }

    /// A waiting message is dropped when its question ends. The message behind it keeps its own time.
    async fn a_message_that_waits_is_dropped_with_its_question(app: &mut TestApp) {
        strict(app).await;
        let mut asked = Vec::new();
        for _ in 0..7 {
            asked.push(app.agent().ask(to("ada@example.com")).await.1);
        }
        app.settle().await;
        cancel(&app.agent(), &asked[5]).await;
        app.advance(60).await;
        assert_eq!(delivery(app, &asked[5]).await["state"], "obsolete");
        assert_eq!(app.smtp.mailed().await.len(), 5);
        // The next message gets the time that became free.
        let next = app.agent().ask(to("ada@example.com")).await.1;
        app.settle().await;
        assert_eq!(delivery(app, &next).await["state"], "sent");
        app.advance(60).await;
        assert_eq!(delivery(app, &asked[6]).await["state"], "sent");
        assert_eq!(app.smtp.mailed().await.len(), 2);
    }

    /// Waiting spares people, but it must not use up the time to answer. Otherwise a missing mail could become consent by
    /// fallback.
    async fn a_message_whose_time_is_short_goes_at_once(app: &mut TestApp) {
        strict(app).await;
        for _ in 0..5 {
            app.agent().ask(to("ada@example.com")).await;
        }
        app.settle().await;
        let window = |seconds: u32| json!({"notify_to": ["ada@example.com"], "timeout_seconds": seconds, "fallback_policy": "complete_with_fallback", "fallback_value": "approve"});
        let (_, short) = app.ask(window(119)).await;
        assert_eq!(delivery(app, &short).await["state"], "sent", "half of its window is less than a minute");
        let (_, long) = app.ask(window(120)).await;
        assert_eq!(delivery(app, &long).await["state"], "queued");
        app.advance(60).await;
        assert_eq!(delivery(app, &long).await["state"], "sent");
        assert_eq!(app.agent().suspension(&long).await["reached"], json!(true));
        app.advance(60).await;
        let ended = app.agent().suspension(&long).await;
        assert_eq!((&ended["resolution"], &ended["response"]), (&json!("expired"), &json!("approve")));
        // When many messages wait for one person, none is lost and none waits beyond the middle of its question's window.
        let mut asked = Vec::new();
        for _ in 0..12 {
            asked.push(app.agent().ask(window(600)).await.1);
        }
        app.settle().await;
        for _ in 0..30 {
            app.advance(10).await;
        }
        for id in asked {
            assert_eq!(app.agent().suspension(&id).await["reached"], json!(true));
        }
    }

    /// A message leaves early when half of its question's time has passed, or when that time is short. An agent with many such
    /// questions must not get around the limit: only a few more messages leave, and the others are never sent.
    async fn however_short_the_time_few_messages_leave(app: &mut TestApp) {
        strict(app).await;
        let asked = |seconds: u32| json!({"notify_to": ["ada@example.com"], "timeout_seconds": seconds});
        let mut ids = Vec::new();
        for seconds in [600, 119] {
            for _ in 0..45 {
                ids.push(app.ask(asked(seconds)).await.1);
            }
        }
        let mut left = Vec::new();
        for _ in 0..120 {
            left.push(app.smtp.mailed().await.len());
            app.advance(10).await;
        }
        let five_minutes = left.windows(30).map(|window| window.iter().sum::<usize>()).max();
        assert!(five_minutes <= Some(25), "{left:?}");
        let reached = left.iter().sum::<usize>();
        assert!(reached >= 20, "{left:?}");
        let mut not_sent = 0;
        for id in &ids {
            let (record, delivery) = (app.agent().suspension(id).await, delivery(app, id).await);
            let is_sent = delivery["state"] == "sent";
            assert_eq!(record["resolution"], if is_sent { "expired" } else { "cancelled" }, "{record} {delivery}");
            if !is_sent && delivery["state"] == "failed" {
                assert_eq!(record["resolution_reason"], "undeliverable");
                assert!(delivery["detail"].as_str().unwrap().contains("sends this person too many messages"), "{delivery}");
                not_sent += 1;
            }
        }
        assert_eq!(not_sent, ids.len() - reached);
    }

    /// Each waiting message has its own due time. If all were checked each minute, an agent with thousands of questions would
    /// delay other agents' mail.
    async fn each_message_that_waits_has_a_place_of_its_own(app: &mut TestApp) {
        strict(app).await;
        let open_end = json!({"notify_to": ["ada@example.com"], "timeout_seconds": null});
        let mut ids = Vec::new();
        for _ in 0..107 {
            ids.push(app.ask(open_end.clone()).await.1);
        }
        let mut due = Vec::new();
        for id in &ids {
            let delivery = delivery(app, id).await;
            if delivery["state"] == "queued" {
                due.push(delivery["due_at"].as_str().unwrap().to_owned());
            }
        }
        assert_eq!(due.len(), 100, "five left, a hundred wait, and the others left while few had");
        assert!(due.windows(2).all(|two| two[0] < two[1]), "{due:?}");
        assert_eq!(&due[99], "2026-11-24T09:40:00.000000Z");
        assert_eq!(app.smtp.mailed().await.len(), 7);
        app.restart().await;
        app.advance(60).await;
        assert_eq!(app.smtp.mailed().await.len(), 1);
    }

    /// A reminder is dropped while the question's first message still waits, since it would only take that message's time.
    async fn a_reminder_is_dropped_while_the_question_waits(app: &mut TestApp) {
        strict(app).await;
        for _ in 0..8 {
            app.agent().ask(to("ada@example.com")).await;
        }
        let policy = json!({"max_attempts": 9, "interval_seconds": 60});
        let (intent, id) = app.ask(json!({"notify_to": ["ada@example.com"], "timeout_seconds": 3600, "retry_policy": policy})).await;
        app.settle().await;
        assert_eq!(app.smtp.mailed().await.len(), 5);
        for _ in 0..3 {
            app.advance(60).await;
            assert_eq!(app.smtp.mailed().await.len(), 1);
        }
        app.advance(60).await;
        assert_eq!(app.smtp.received().last().unwrap().subject(), "[Placet] Refund order 12345?");
        // The fifth attempt is due at the first message's time and is sent in its stead.
        let deliveries = deliveries(app, &id).await;
        assert_eq!(states(&deliveries), ["obsolete", "obsolete", "obsolete", "obsolete", "sent"], "{deliveries:?}");
        assert!(deliveries[1]["detail"].as_str().unwrap().contains("this reminder was dropped"), "{deliveries:?}");
        assert!(deliveries[0]["detail"].as_str().unwrap().contains("a newer message asks the same"), "{deliveries:?}");
        assert!(!app.agent().event_types(intent).await.contains(&"delivery.failed".to_owned()));
    }

    /// Dropping a reminder must not drop the waiting first message. Otherwise the log would name a person as told who was not.
    async fn a_dropped_reminder_takes_the_place_of_nothing(app: &mut TestApp) {
        strict(app).await;
        for _ in 0..8 {
            app.agent().ask(to("ada@example.com")).await;
        }
        // The first message may leave after 240 seconds. From 200 seconds on, the ladder asks another person.
        let ladder = json!([{"attempt": 3, "notify_to": "bob@example.com"}]);
        let policy = json!({"max_attempts": 9, "interval_seconds": 100, "escalation_ladder": ladder});
        let (_, id) = app.ask(json!({"notify_to": ["ada@example.com"], "retry_policy": policy})).await;
        app.settle().await;
        for _ in 0..14 {
            app.advance(20).await;
        }
        let deliveries = deliveries(app, &id).await;
        let of_ada: Vec<_> = deliveries.into_iter().filter(|row| row["recipient"] == "ada@example.com").collect();
        assert_eq!(states(&of_ada), ["sent", "obsolete"], "{of_ada:?}");
    }

    /// An operator asks for a reminder while the question's first message still waits. The request must not drop the question:
    /// exactly one message reaches the person.
    async fn a_reminder_on_request_does_not_drop_the_question_that_waits(app: &mut TestApp) {
        strict(app).await;
        for _ in 0..8 {
            app.agent().ask(to("ada@example.com")).await;
        }
        // The first message may leave after 240 seconds. The reminder at 180 is dropped, and an operator asks for another at 200.
        let policy = json!({"max_attempts": 3, "interval_seconds": 180});
        let (_, id) = app.ask(json!({"notify_to": ["ada@example.com"], "retry_policy": policy})).await;
        app.settle().await;
        for seconds in (20..=280).step_by(20) {
            app.advance(20).await;
            if seconds == 200 {
                app.operator().post(&format!("api/v1/suspensions/{id}/remind"), json!({})).await.ok();
            }
        }
        let deliveries = deliveries(app, &id).await;
        assert_eq!(states(&deliveries).iter().filter(|state| **state == "sent").count(), 1, "{deliveries:?}");
    }

    /// The reserved time of a dropped message becomes free and its row is deleted. An agent that asks and withdraws must not
    /// leave thousands of rows.
    async fn withdrawn_messages_leave_no_places_behind(app: &mut TestApp) {
        strict(app).await;
        let open_end = json!({"notify_to": ["ada@example.com"], "timeout_seconds": null});
        for _ in 0..8 {
            app.ask(open_end.clone()).await;
        }
        for _ in 0..20 {
            let (_, id) = app.ask(open_end.clone()).await;
            app.settle().await;
            cancel(&app.agent(), &id).await;
        }
        app.ask(open_end).await;
        app.settle().await;
        assert_eq!(rows::number(app, "SELECT count(*) AS number FROM places").await, 4);
    }

    /// If the first mail of a question had to wait and is then refused, the people of the next step of the ladder are asked at
    /// once. A mail that only waits has not failed, even if a reminder becomes due meanwhile.
    async fn a_delayed_message_fails_over_like_any_other(app: &mut TestApp) {
        strict(app).await;
        for _ in 0..5 {
            app.agent().ask(to("ada@example.com")).await;
        }
        app.settle().await;
        app.smtp.mailed().await;
        let rung = json!({"attempt": 2, "notify_to": "lead@example.com"});
        let ladder = json!({"notify_to": ["ada@example.com"], "timeout_seconds": 600,
            "retry_policy": {"max_attempts": 2, "interval_seconds": 600, "escalation_ladder": [rung]}});
        let (refused, _) = app.ask(ladder).await;
        app.smtp.refuse("ada@example.com");
        assert_eq!(app.smtp.mailed().await.len(), 0);
        app.advance(60).await;
        assert_eq!(app.smtp.mailed().await, ["lead@example.com"]);
        assert!(app.agent().event_types(refused).await.contains(&"delivery.failover".to_owned()));

        let reminded = json!({"notify_to": [OPERATOR], "timeout_seconds": 60, "retry_policy": {"max_attempts": 3, "interval_seconds": 60}});
        for _ in 0..4 {
            app.agent().ask(to(OPERATOR)).await;
        }
        let (intent, _) = app.ask(reminded).await;
        app.agent().ask(to(OPERATOR)).await;
        app.advance(60).await;
        assert!(!app.agent().event_types(intent).await.contains(&"delivery.failed".to_owned()));
        assert!(app.smtp.mailed().await.len() >= 6);
    }

    /// An intent may ask anew ten times an hour, whether by superseding, by withdrawing and asking, or by both in turn.
    async fn an_intent_asks_anew_ten_times_an_hour(app: &mut TestApp) {
        strict(app).await;
        let agent = app.agent();
        for by_superseding in [|_: u32| true, |_: u32| false, |number: u32| number.is_multiple_of(2)] {
            let intent = agent.active_intent().await;
            let mut open = agent.asked(intent).await;
            let mut refused = None;
            for number in 1..=60 {
                app.clock.jump(chrono::TimeDelta::seconds(1));
                let asked = if by_superseding(number) {
                    supersede(&agent, intent, &open, json!({})).await
                } else {
                    cancel(&agent, &open).await;
                    agent.suspend(intent, json!({})).await
                };
                app.settle().await;
                if asked.status != 200 {
                    refused = Some((number, asked));
                    break;
                }
                open = id_of(&asked.body);
            }
            let (number, refused) = refused.unwrap();
            assert_eq!((number, refused.problem()), (11, (429, "rate_limited")), "{}", refused.text);
            let after: i64 = refused.headers["retry-after"].to_str().unwrap().parse().unwrap();
            assert!((3_580..=3_600).contains(&after), "{after}");
            assert!(refused.text.contains("questions.asks_per_hour"), "{}", refused.text);
            let before = agent.everything(intent).await;
            app.restart().await; // The count must not be in memory alone.
            let again = || async {
                let suspended = agent.status(intent).await == "suspended_awaiting_input";
                if suspended { supersede(&agent, intent, &open, json!({})).await } else { agent.suspend(intent, json!({})).await }
            };
            assert_eq!(again().await.status, 429);
            assert_eq!(agent.everything(intent).await, before, "a refusal changes nothing");
            app.advance(after).await;
            if agent.status(intent).await == "active" {
                assert_eq!(again().await.status, 200);
            }
        }
        assert!(app.smtp.received().len() <= 3 * 5 + 60, "{}", app.smtp.received().len());
    }

    /// A question that expired after five seconds counts as well, because people were asked all the same.
    async fn a_question_that_expired_counts_as_well(app: &mut TestApp) {
        strict(app).await;
        app.restart_with(|config| config.asking.fallback_min_window_seconds = 1).await;
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let brief = json!({"timeout_seconds": 5, "fallback_policy": "complete_with_fallback", "fallback_value": "deny"});
        for number in 0..11 {
            let asked = agent.suspend(intent, brief.clone()).await.ok();
            assert_eq!(asked.get("asked_before").map(|before| before["times"].clone()), (number > 0).then(|| json!(number)));
            app.settle().await;
            app.advance(5).await;
            assert_eq!(agent.status(intent).await, "active");
        }
        let refused = agent.suspend(intent, brief).await;
        assert_eq!(refused.problem(), (429, "rate_limited"), "{}", refused.text);
    }

    /// Asking again after an answer is a new question and presses no person.
    async fn asking_after_an_answer_is_not_asking_anew(app: &mut TestApp) {
        strict(app).await;
        let agent = app.agent();
        let intent = agent.active_intent().await;
        for _ in 0..12 {
            let id = agent.asked(intent).await;
            assert_eq!(agent.suspension(&id).await.get("asked_before"), None);
            app.operator().respond(intent, &id, "deny").await.ok();
        }
    }

    /// An agent must not bring a deadline forward by superseding its question.
    async fn a_newer_question_ends_no_earlier_than_the_one_it_replaces(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let first = id_of(&agent.suspend(intent, to("ada@example.com")).await.ok());
        app.advance(600).await;
        app.operator().post(&format!("api/v1/suspensions/{first}/extend"), json!({"seconds": 7200})).await.ok();
        let short = json!({"notify_to": ["ada@example.com"], "timeout_seconds": 60, "fallback_policy": "complete_with_fallback", "fallback_value": "approve"});
        let second = supersede(&agent, intent, &first, short.clone()).await.ok();
        // The new question keeps the deadline of the first request. An operator's extension of the old question does not carry
        // over.
        assert_eq!(second["expires_at"], json!("2026-11-24T09:00:00.000000Z"));
        assert!(second["warnings"][0].as_str().unwrap().contains("2026-11-24T09:00:00"), "{second}");
        let before = json!({"times": 1, "superseded": true, "expires_at": "2026-11-24T09:00:00.000000Z"});
        assert_eq!(second["asked_before"], before);
        let told = agent.events(intent).await.pop().unwrap();
        assert_eq!(told["payload"]["asked_before"]["expires_at"], json!("2026-11-24T09:00:00.000000"));

        app.advance(600).await;
        let third = supersede(&agent, intent, &id_of(&second), short.clone()).await.ok();
        assert_eq!(third["expires_at"], json!("2026-11-24T09:00:00.000000Z"), "also along a chain");
        app.settle().await;
        let link = app.smtp.received().pop().unwrap().link(&app.base);
        let page = app.person().open(&link).await;
        assert!(page.html.contains("has asked 3 times: 2 questions before this one ended without an answer."), "{}", page.html);
        assert!(page.html.contains("The last of them could be answered until"), "{}", page.html);
        app.advance(2399).await;
        assert_eq!(agent.status(intent).await, "suspended_awaiting_input");
        let later = supersede(&agent, intent, &id_of(&third), json!({"timeout_seconds": 7200})).await.ok();
        assert_eq!((&later["expires_at"], later.get("warnings")), (&json!("2026-11-24T10:59:59.000000Z"), None));

        // A question that is asked after a withdrawal has a deadline of its own, and the page says that it was asked before.
        cancel(&agent, &id_of(&later)).await;
        let anew = agent.suspend(intent, short).await.ok();
        assert_eq!(anew["expires_at"], json!("2026-11-24T09:00:59.000000Z"));
        assert_eq!((&anew["asked_before"]["times"], &anew["asked_before"]["superseded"]), (&json!(4), &json!(false)));
        // If a question without a deadline is superseded, the new one has no deadline either.
        let open_end = supersede(&agent, intent, &id_of(&anew), json!({"timeout_seconds": null})).await.ok();
        let never = supersede(&agent, intent, &id_of(&open_end), json!({"timeout_seconds": 60})).await.ok();
        assert_eq!(never["expires_at"], json!(null));
        assert!(never["warnings"][0].as_str().unwrap().contains("no deadline"), "{never}");
    }

    async fn reminders_keep_the_interval_the_operator_says(app: &mut TestApp) {
        strict(app).await;
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let every = |interval: u32, attempts: u32| json!({"timeout_seconds": interval, "retry_policy": {"interval_seconds": interval, "max_attempts": attempts}});
        for wrong in [every(59, 2), every(1, 20)] {
            let refused = agent.suspend(intent, wrong).await;
            assert_eq!(refused.field_problem(), (422, "invalid", "retry_policy.interval_seconds", "min"));
            assert!(refused.text.contains("questions.min_interval_seconds"), "{}", refused.text);
        }
        assert_eq!(agent.status(intent).await, "active");
        agent.ask(every(60, 2)).await;
        agent.ask(every(1, 1)).await; // It has no reminders.
    }
}

/// The messages of one agent to one person keep their distance even if two servers send them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_servers_keep_one_distance() {
    let app = TestApp::start_on(Backend::Postgres, |config| config.asking.pressing = Pressing::PRODUCTION).await;
    let replica = app.replica().await;
    for _ in 0..12 {
        app.agent().ask(to("ada@example.com")).await;
    }
    let both = async || {
        for _ in 0..3 {
            let (one, other) = (app.deliveries(), replica.deliveries.clone());
            let turns = tokio::join!(one.run_due(), other.run_due());
            turns.0.unwrap();
            turns.1.unwrap();
        }
    };
    both().await;
    app.clock.jump(chrono::TimeDelta::seconds(1)); // A server that found the other one busy tries again.
    both().await;
    assert_eq!(app.smtp.mailed().await.len(), 5);
    app.clock.jump(chrono::TimeDelta::seconds(60));
    both().await;
    assert_eq!(app.smtp.mailed().await.len(), 1);
    replica.stop().await;
    app.finish().await;
}
