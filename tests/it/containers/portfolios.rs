//! The effects of a portfolio and its intents on each other: the deadline of a portfolio ends the questions of its intents, and
//! the intents report to the portfolio when they wait for a person.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use chrono::{DateTime, TimeDelta, Utc};
use domain::base::ids::IntentId;
use domain::base::time::{parse, rfc3339};
use domain::people::principal::Role;
use harness::api::{Api, Reply};
use harness::app::TestApp;
use harness::on_each_store;
use serde_json::{Value, json};

const PORTFOLIOS: &str = "api/v1/portfolios";
const DAY: i64 = 86_400;

/// The fallback that must never apply at the deadline of a portfolio.
fn fallback() -> Value {
    json!({"timeout_seconds": 7_200, "fallback_policy": "use_default_and_continue", "fallback_value": "approve"})
}

/// The time of the server's clock, `seconds` later.
async fn later(agent: &Api, seconds: i64) -> DateTime<Utc> {
    let intent = agent.intent(agent.active_intent().await).await;
    parse(intent["created_at"].as_str().unwrap()).unwrap() + TimeDelta::seconds(seconds)
}

async fn created(agent: &Api, policy: Value) -> String {
    let body = json!({"name": "Phases", "governance_policy": policy});
    agent.post(PORTFOLIOS, body).await.ok()["id"].as_str().unwrap().to_owned()
}

async fn due_in(agent: &Api, seconds: i64) -> String {
    let deadline = rfc3339(later(agent, seconds).await);
    created(agent, json!({"deadline": deadline})).await
}

async fn add(agent: &Api, portfolio: &str, intent: IntentId) -> Reply {
    agent.post(&format!("{PORTFOLIOS}/{portfolio}/intents"), json!({"intent_id": intent})).await
}

async fn patch(agent: &Api, portfolio: &str, body: Value) -> Reply {
    agent.send(agent.request("PATCH", &format!("{PORTFOLIOS}/{portfolio}")).json(&body)).await
}

async fn move_to(agent: &Api, portfolio: &str, deadline: DateTime<Utc>) -> Reply {
    patch(agent, portfolio, json!({"governance": {"deadline": rfc3339(deadline)}})).await
}

/// Makes an intent in the portfolio and asks a question on it. Returns after the messages to people have been sent.
async fn asked_in(app: &TestApp, portfolio: &str) -> (IntentId, String) {
    let agent = app.agent();
    let intent = agent.active_intent().await;
    add(&agent, portfolio, intent).await.ok();
    let asked = agent.suspend(intent, fallback()).await.ok()["id"].as_str().unwrap().to_owned();
    app.settle().await;
    (intent, asked)
}

/// The events of an intent from its first question on, without those about deliveries, each with its payload, oldest first.
async fn told(api: &Api, intent: IntentId) -> Vec<(String, Value)> {
    let log = api.get(&format!("api/v1/intents/{intent}/events?include=all&limit=1000")).await.ok();
    let log = log.as_array().unwrap().iter().rev();
    let told = log.map(|event| (event["event_type"].as_str().unwrap().to_owned(), event["payload"].clone()));
    told.skip_while(|(event_type, _)| event_type != "intent.suspended")
        .filter(|(event_type, _)| !event_type.starts_with("delivery"))
        .collect()
}

fn types(told: &[(String, Value)]) -> Vec<&str> {
    told.iter().map(|(event_type, _)| event_type.as_str()).collect()
}

/// Checks that the deadline of the portfolio ended the question and the intent, once, and without its fallback.
async fn assert_ended_by(agent: &Api, portfolio: &str, (intent, asked): &(IntentId, String)) {
    let record = agent.suspension(asked).await;
    assert_eq!((&record["resolution"], &record["resolution_reason"]), (&json!("cancelled"), &json!("portfolio_deadline")));
    assert_eq!(record["response"], Value::Null);
    assert_eq!(agent.status(*intent).await, "abandoned");
    let told = told(agent, *intent).await;
    let ends: Vec<_> = told.iter().filter(|(event_type, _)| event_type == "intent.suspension_expired").collect();
    let [(_, expired)] = ends[..] else { panic!("{told:?}") };
    assert_eq!((&expired["reason"], &expired["portfolio_id"]), (&json!("portfolio_deadline"), &json!(portfolio)));
    assert_eq!((&expired["suspension_id"], &expired["fallback_value"]), (&json!(asked), &Value::Null));
    assert!(expired["attempts"].is_u64());
    let (_, changed) =
        told.iter().find(|(event_type, payload)| event_type == "status_changed" && payload["new_status"] == "abandoned").unwrap();
    assert_eq!(changed["abandonment_reason"], "portfolio_deadline_exceeded");
}

on_each_store! {
    /// RFC-0026, rule 5: the deadline of the portfolio beats the question's own deadline and its fallback. The intents that wait for
    /// no person go on.
    async fn the_deadline_of_a_portfolio_ends_its_questions_and_no_fallback_applies(app: &mut TestApp) {
        let agent = app.agent();
        let portfolio = due_in(&agent, 600).await;
        let waiting = asked_in(app, &portfolio).await;
        let (busy, outside) = (agent.active_intent().await, agent.ask(fallback()).await);
        add(&agent, &portfolio, busy).await.ok();
        app.restart().await;
        app.advance(599).await;
        assert_eq!(agent.status(waiting.0).await, "suspended_awaiting_input");
        app.advance(1).await;
        assert_ended_by(&agent, &portfolio, &waiting).await;
        assert_eq!((agent.status(busy).await, agent.status(outside.0).await), ("active".into(), "suspended_awaiting_input".into()));
        let shown = agent.get(&format!("{PORTFOLIOS}/{portfolio}")).await.ok();
        assert_eq!((&shown["status"], &shown["aggregate_status"]["status"]), (&json!("active"), &json!("failed")));
        // The record keeps the deadline that the agent asked for.
        let record = agent.suspension(&waiting.1).await;
        let (began, ends) = (parse(record["suspended_at"].as_str().unwrap()).unwrap(), parse(record["expires_at"].as_str().unwrap()).unwrap());
        assert_eq!(ends - began, TimeDelta::seconds(7_200));
        // A later question is refused before it reaches a person.
        let refused = agent.suspend(busy, fallback()).await;
        assert_eq!(refused.problem(), (409, "portfolio_deadline_passed"));
        assert_eq!(agent.status(busy).await, "active");
    }

    /// An answer from the deadline on is refused by the clock, whether or not the timer of the deadline has run yet.
    async fn an_answer_from_the_deadline_on_is_refused_before_and_after_the_timer(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let portfolio = due_in(&agent, 600).await;
        let (early, late) = (asked_in(app, &portfolio).await, asked_in(app, &portfolio).await);
        let links = [app.next_link().await, app.next_link().await];
        app.clock.jump(TimeDelta::seconds(600));
        // The timer has not run.
        let refused = operator.respond(early.0, &early.1, "approve").await;
        assert_eq!(refused.problem(), (409, "expired"));
        let expired_at = |reply: &Reply| serde_json::from_str::<Value>(&reply.text).unwrap()["expired_at"].clone();
        let deadline = expired_at(&refused);
        assert!(deadline.is_string());
        assert_ended_by(&agent, &portfolio, &early).await;
        assert_eq!(agent.status(late.0).await, "suspended_awaiting_input");
        let mut person = app.person();
        let page = person.open(&links[1]).await;
        assert!(!page.has_form(), "{}", page.heading());
        app.advance(60).await;
        assert_ended_by(&agent, &portfolio, &late).await;
        // The reply to a late answer names the deadline, not the later moment at which the server recorded that the question had
        // ended.
        let refused = operator.respond(late.0, &late.1, "approve").await;
        assert_eq!((refused.problem(), expired_at(&refused)), ((409, "expired"), deadline));
        for link in &links {
            let page = person.open(link).await;
            assert_eq!((page.has_form(), page.heading().as_str()), (false, "The deadline has passed"));
            // A page that is still open learns the same, not the later deadline of the question itself.
            let state: Value = serde_json::from_str(&person.open(&format!("{link}/state")).await.html).unwrap();
            assert_eq!((&state["ended"], &state["left_ms"]), (&json!("expired"), &json!(0)));
            assert_eq!(state["deadline"]["at"], json!("2026-11-24T08:10:00Z"));
        }
        assert!(types(&told(&agent, early.0).await).contains(&"intent.late_answer"));
    }

    /// The question's own deadline decides if it comes first, even if the server learns of both at the same moment.
    async fn the_earlier_of_both_deadlines_decides(app: &mut TestApp) {
        let agent = app.agent();
        let portfolio = due_in(&agent, 7_300).await;
        let (intent, asked) = asked_in(app, &portfolio).await;
        app.clock.jump(TimeDelta::seconds(7_400));
        app.settle().await;
        let record = agent.suspension(&asked).await;
        assert_eq!((&record["resolution"], &record["response"]), (&json!("expired"), &json!("approve")));
        assert_eq!(agent.status(intent).await, "active");
    }

    /// No person is asked again after the deadline of the portfolio.
    async fn no_attempt_is_made_after_the_deadline(app: &mut TestApp) {
        let agent = app.agent();
        let portfolio = due_in(&agent, 600).await;
        let intent = agent.active_intent().await;
        add(&agent, &portfolio, intent).await.ok();
        let retry = json!({"max_attempts": 3, "interval_seconds": 500});
        let asked = agent.suspend(intent, json!({"retry_policy": retry})).await.ok()["id"].as_str().unwrap().to_owned();
        app.settle().await;
        app.advance(500).await;
        app.clock.jump(TimeDelta::seconds(600));
        app.settle().await;
        assert_ended_by(&agent, &portfolio, &(intent, asked)).await;
        let told = told(&agent, intent).await;
        let again = types(&told).into_iter().filter(|event_type| *event_type == "intent.suspension_renotified").count();
        assert_eq!(again, 1, "{told:?}");
    }

    /// If the deadline of a portfolio is moved, earlier or later, the new one counts at once for questions that are open.
    async fn a_deadline_that_moves_counts_for_open_questions(app: &mut TestApp) {
        let agent = app.agent();
        let portfolio = created(&agent, json!({})).await;
        let first = asked_in(app, &portfolio).await;
        let at = later(&agent, 600).await;
        let shown = move_to(&agent, &portfolio, at).await.ok();
        assert_eq!((&shown["governance"]["deadline"], &shown["governance_policy"]["deadline"]), (&json!(rfc3339(at)), &json!(rfc3339(at))));
        move_to(&agent, &portfolio, at + TimeDelta::seconds(600)).await.ok();
        app.restart().await;
        app.advance(900).await;
        assert_eq!(agent.status(first.0).await, "suspended_awaiting_input");
        app.advance(300).await;
        assert_ended_by(&agent, &portfolio, &first).await;
        // The deadline has passed, so it can no longer be moved or removed, and the portfolio takes no more intents.
        let refused = move_to(&agent, &portfolio, at + TimeDelta::seconds(DAY)).await;
        assert_eq!(refused.problem(), (409, "portfolio_deadline_passed"));
        assert_eq!(patch(&agent, &portfolio, json!({"governance_policy": {}})).await.problem(), (409, "portfolio_deadline_passed"));
        assert_eq!(add(&agent, &portfolio, agent.active_intent().await).await.problem(), (409, "portfolio_deadline_passed"));
        patch(&agent, &portfolio, json!({"name": "Late phases"})).await.ok();
    }

    /// An intent with an open question comes under the deadline of a portfolio when it is added. The deadline no longer counts
    /// for it when the intent is taken out, or when the portfolio is completed. Of several deadlines the earliest counts.
    async fn the_earliest_deadline_of_the_active_portfolios_counts(app: &mut TestApp) {
        let agent = app.agent();
        let (soon, next, last) = (due_in(&agent, 100).await, due_in(&agent, 200).await, due_in(&agent, 300).await);
        let (intent, asked) = agent.ask(fallback()).await;
        for portfolio in [&last, &soon, &next] {
            add(&agent, portfolio, intent).await.ok();
        }
        agent.send(agent.request("DELETE", &format!("{PORTFOLIOS}/{soon}/intents/{intent}"))).await.ok();
        app.advance(150).await;
        assert_eq!(agent.status(intent).await, "suspended_awaiting_input");
        let status = format!("{PORTFOLIOS}/{next}/status");
        agent.send(agent.request("PATCH", &status).json(&json!({"status": "completed"}))).await.ok();
        app.advance(100).await;
        assert_eq!(agent.status(intent).await, "suspended_awaiting_input");
        app.advance(50).await;
        assert_ended_by(&agent, &last, &(intent, asked)).await;
    }

    /// A question can be under the deadlines of two portfolios. If the earlier deadline is moved or removed, or its portfolio is
    /// completed or left, the later deadline still ends the question.
    async fn a_later_deadline_counts_when_the_earlier_one_moves_or_goes(app: &mut TestApp) {
        let agent = app.agent();
        for change in ["later", "removed", "completed", "left"] {
            let (soon, last) = (due_in(&agent, 100).await, due_in(&agent, 200).await);
            let intent = agent.active_intent().await;
            add(&agent, &soon, intent).await.ok();
            add(&agent, &last, intent).await.ok();
            let asked = agent.suspend(intent, fallback()).await.ok();
            assert_eq!(asked["portfolio_deadline"], json!(rfc3339(later(&agent, 100).await)));
            assert!(asked["warnings"].to_string().contains("the deadline of a portfolio ends the question"), "{asked}");
            match change {
                "later" => drop(move_to(&agent, &soon, later(&agent, DAY).await).await.ok()),
                "removed" => drop(patch(&agent, &soon, json!({"governance_policy": {}})).await.ok()),
                "completed" => {
                    let status = format!("{PORTFOLIOS}/{soon}/status");
                    agent.send(agent.request("PATCH", &status).json(&json!({"status": "completed"}))).await.ok();
                }
                _ => drop(agent.send(agent.request("DELETE", &format!("{PORTFOLIOS}/{soon}/intents/{intent}"))).await.ok()),
            }
            app.advance(100).await;
            assert_eq!(agent.status(intent).await, "suspended_awaiting_input", "{change}");
            app.restart().await;
            app.advance(100).await;
            assert_ended_by(&agent, &last, &(intent, asked["id"].as_str().unwrap().to_owned())).await;
        }
    }

    /// Once the deadline has passed, no change of the portfolio saves the question, even before the timer has run.
    async fn a_passed_deadline_cannot_be_escaped(app: &mut TestApp) {
        let agent = app.agent();
        let portfolio = due_in(&agent, 100).await;
        let (left, kept) = (asked_in(app, &portfolio).await, asked_in(app, &portfolio).await);
        app.clock.jump(TimeDelta::seconds(100));
        let status = format!("{PORTFOLIOS}/{portfolio}/status");
        let ended = agent.send(agent.request("PATCH", &status).json(&json!({"status": "abandoned"}))).await;
        assert_eq!(ended.problem(), (409, "portfolio_deadline_passed"));
        let place = format!("{PORTFOLIOS}/{portfolio}/intents/{}", left.0);
        assert_eq!(agent.send(agent.request("DELETE", &place)).await.problem(), (409, "expired"));
        assert_ended_by(&agent, &portfolio, &left).await;
        assert_eq!(agent.send(agent.request("DELETE", &place)).await.status, 200);
        app.settle().await;
        assert_ended_by(&agent, &portfolio, &kept).await;
        agent.send(agent.request("PATCH", &status).json(&json!({"status": "abandoned"}))).await.ok();
    }

    /// A question cannot be extended beyond the deadline of its portfolio, because that deadline would end the question all the
    /// same.
    async fn more_time_than_the_portfolio_leaves_is_refused(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let portfolio = due_in(&agent, 600).await;
        let (_, asked) = asked_in(app, &portfolio).await;
        let more = operator.post(&format!("api/v1/suspensions/{asked}/extend"), json!({"seconds": 60})).await;
        assert_eq!(more.field_problem(), (422, "invalid", "seconds", "portfolio_deadline"));
        move_to(&agent, &portfolio, later(&agent, DAY).await).await.ok();
        operator.post(&format!("api/v1/suspensions/{asked}/extend"), json!({"seconds": 60})).await.ok();
    }

    /// After an outage a question gets time back, but the deadline of a portfolio stays, because other work relies on it.
    async fn an_outage_does_not_move_the_deadline_of_a_portfolio(app: &mut TestApp) {
        let agent = app.agent();
        let portfolio = due_in(&agent, 7_100).await;
        let waiting = asked_in(app, &portfolio).await;
        app.outage(DAY).await;
        app.settle().await;
        assert_ended_by(&agent, &portfolio, &waiting).await;
    }

    /// The person who answers sees the earlier deadline, in the mail and on the page.
    async fn people_see_the_deadline_that_ends_the_question(app: &mut TestApp) {
        let agent = app.agent();
        let portfolio = due_in(&agent, 1_800).await;
        let (intent, _) = asked_in(app, &portfolio).await;
        let mail = app.smtp.next_mail().await;
        let (text, link) = (mail.text(), mail.link(&app.base));
        let mut person = app.person();
        let page = person.open(&link).await;
        // The clock of the tests begins at 8:00; the question's own deadline is at 10:00.
        assert!(text.contains("8:30") && !text.contains("10:00"), "{text}");
        assert!(page.html.contains("8:30") && !page.html.contains("10:00"), "{}", page.html);
        let later = later(&agent, 3_600).await;
        move_to(&agent, &portfolio, later).await.ok();
        let page = person.open(&link).await;
        assert!(page.html.contains("9:00"), "{}", page.html);
        person.answer(&link, "approve").await;
        assert_eq!(agent.status(intent).await, "active");
    }

    /// RFC-0026: a portfolio's intents tell that they wait for a person, and that they no longer do.
    async fn members_tell_their_portfolios_that_they_wait(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let (one, other) = (created(&agent, json!({})).await, created(&agent, json!({})).await);
        let (neighbour, _) = asked_in(app, &one).await;
        let (intent, asked) = asked_in(app, &one).await;
        add(&agent, &other, intent).await.ok();
        let shown = agent.get(&format!("{PORTFOLIOS}/{one}")).await.ok();
        assert_eq!((&shown["has_suspended_members"], &shown["suspended_member_count"]), (&json!(true), &json!(2)));
        let phases = shown["suspended_phases"].as_array().unwrap();
        assert_eq!(phases.len(), 2);
        assert_eq!((&phases[1]["intent_id"], phases[1]["phase_name"].is_string()), (&json!(intent), true));
        // A question that replaces the open one changes nothing for the portfolios.
        let anew = agent.suspend(intent, json!({"supersedes": asked})).await.ok()["id"].as_str().unwrap().to_owned();
        operator.respond(intent, &anew, "approve").await.ok();
        let told = told(&agent, intent).await;
        assert_eq!(
            types(&told),
            [
                "intent.suspended", "status_changed", "portfolio.member_suspended", "added_to_portfolio", "intent.suspension_cancelled",
                "intent.suspended", "intent.resumed", "status_changed", "portfolio.member_resumed", "portfolio.member_resumed",
            ]
        );
        assert_eq!(told[2].1, json!({"portfolio_id": one, "suspension_id": asked, "suspended_member_count": 2}));
        assert_eq!(told[8].1, json!({"portfolio_id": one, "suspension_id": anew, "suspended_member_count": 1, "resolution": "responded"}));
        assert_eq!(told[9].1, json!({"portfolio_id": other, "suspension_id": anew, "suspended_member_count": 0, "resolution": "responded"}));
        assert_eq!(agent.status(neighbour).await, "suspended_awaiting_input");
        // The log gets no `member_resumed` for the abandoned intent, and no event at all for the completed portfolio.
        let status = format!("{PORTFOLIOS}/{one}/status");
        agent.send(agent.request("PATCH", &status).json(&json!({"status": "completed"}))).await.ok();
        let asked = agent.suspend(intent, json!({"timeout_seconds": 60})).await.ok()["id"].as_str().unwrap().to_owned();
        app.advance(61).await;
        let told = self::told(&agent, intent).await;
        assert_eq!(told.iter().filter(|(_, payload)| payload["suspension_id"] == json!(asked) && payload.get("portfolio_id").is_some()).count(), 1);
    }

    /// An agent that is only assigned to an intent must not end the questions of its creator. So it cannot put the intent under
    /// the deadline of a portfolio of its own.
    async fn a_deadline_binds_only_intents_of_the_portfolios_creator(app: &mut TestApp) {
        let agent = app.agent();
        let other = Api::new(&app.base, Some(&app.new_key(Role::Agent, "other-agent").await));
        let (intent, asked) = agent.ask(fallback()).await;
        agent.post(&format!("api/v1/intents/{intent}/agents"), json!({"agent_id": "other-agent"})).await.ok();
        let strict = due_in(&other, 600).await;
        assert_eq!(add(&other, &strict, intent).await.problem(), (403, "forbidden"));
        let loose = created(&other, json!({})).await;
        add(&other, &loose, intent).await.ok();
        let at = later(&other, 600).await;
        assert_eq!(move_to(&other, &loose, at).await.problem(), (403, "forbidden"));
        assert_eq!(move_to(&agent, &loose, at).await.problem(), (404, "not_found"));
        assert_eq!(move_to(&app.operator(), &loose, at).await.problem(), (403, "forbidden"));
        app.advance(700).await;
        assert_eq!(agent.suspension(&asked).await["resolution"], Value::Null);
    }

    async fn a_deadline_in_the_past_or_without_a_form_is_refused(app: &mut TestApp) {
        let agent = app.agent();
        let portfolio = created(&agent, json!({})).await;
        let (now, far) = (later(&agent, 0).await, later(&agent, 3_660 * DAY).await);
        let before = agent.get(&format!("{PORTFOLIOS}/{portfolio}")).await.ok();
        let broken = [
            (json!(rfc3339(now)), "range"),
            (json!(rfc3339(far + TimeDelta::microseconds(1))), "range"),
            (json!("tomorrow"), "format"),
            (json!(1_764_000_000), "format"),
            (json!({}), "format"),
        ];
        for (deadline, rule) in broken {
            for refused in [
                agent.post(PORTFOLIOS, json!({"name": "n", "governance_policy": {"deadline": deadline}})).await,
                patch(&agent, &portfolio, json!({"governance_policy": {"deadline": deadline}})).await,
            ] {
                assert_eq!(refused.field_problem(), (422, "invalid", "governance_policy.deadline", rule), "{deadline}");
            }
        }
        for (body, field) in [(json!({"deadline": rfc3339(far)}), "deadline"), (json!({"status": "completed"}), "status")] {
            assert_eq!(patch(&agent, &portfolio, body).await.field_problem(), (422, "invalid", field, "unsupported"));
        }
        for (body, field, rule) in [
            (json!({"name": ""}), "name", "length"),
            (json!({"name": "n".repeat(201)}), "name", "length"),
            (json!({"description": "d".repeat(65_537)}), "description", "length"),
            (json!({"governance": {"budget_limit_cents": 5}}), "governance.budget_limit_cents", "unsupported"),
            (json!({"name": null}), "name", "type"),
        ] {
            assert_eq!(patch(&agent, &portfolio, body).await.field_problem(), (422, "invalid", field, rule));
        }
        assert_eq!(agent.get(&format!("{PORTFOLIOS}/{portfolio}")).await.ok(), before);
        move_to(&agent, &portfolio, far).await.ok();
        move_to(&agent, &portfolio, later(&agent, 1).await).await.ok();
        let removed = patch(&agent, &portfolio, json!({"governance": null, "metadata": null})).await.ok();
        assert_eq!((&removed["governance_policy"], &removed["metadata"]), (&json!({}), &json!({})));
    }

    /// The log of the portfolio says what changed, and a repeat under one key changes nothing.
    async fn changes_of_a_portfolio_are_events_of_its_log(app: &mut TestApp) {
        let agent = app.agent();
        let portfolio = created(&agent, json!({"require_all_completed": true})).await;
        let path = format!("{PORTFOLIOS}/{portfolio}");
        let body = json!({"name": "Other", "description": "all", "metadata": {"team": "a"}});
        for _ in 0..2 {
            let request = agent.request("PATCH", &path).header("idempotency-key", "once").json(&body);
            assert_eq!(agent.send(request).await.ok()["name"], "Other");
        }
        patch(&agent, &portfolio, json!({"description": null, "name": "Other"})).await.ok();
        patch(&agent, &portfolio, json!({})).await.ok();
        app.restart().await;
        let shown = agent.get(&path).await.ok();
        assert_eq!((&shown["name"], &shown["description"], &shown["metadata"]), (&json!("Other"), &Value::Null, &json!({"team": "a"})));
        assert_eq!(shown["governance_policy"], json!({"require_all_completed": true}));
        let log = agent.get(&format!("{path}/events")).await.ok();
        let payloads: Vec<Value> = log.as_array().unwrap().iter().map(|event| {
            let mut payload = event["payload"].clone();
            payload.as_object_mut().unwrap().remove("credential").unwrap();
            payload
        }).collect();
        assert_eq!(payloads[1..], [body, json!({"description": null})]);
        let status = format!("{path}/status");
        agent.send(agent.request("PATCH", &status).json(&json!({"status": "abandoned"}))).await.ok();
        assert_eq!(patch(&agent, &portfolio, json!({"name": "Third"})).await.problem(), (409, "portfolio_not_active"));
    }
}
