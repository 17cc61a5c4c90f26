//! The grounds on which people decide: the agent's explanation, and how earlier questions of the same kind ended.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::base::ids::IntentId;
use domain::base::json::canonical;
use domain::log::Hash;
use domain::people::principal::Role;
use domain::suspension::grounds::{
    EARLIER_MAX, EVIDENCE_BYTES_MAX, EXPLANATION_TEXT_BYTES_MAX, LINK_MAX, LINKS_MAX, QUESTION_KEY_MAX,
};
use harness::api::Api;
use harness::app::TestApp;
use harness::on_each_store;
use serde_json::{Value, json};

use crate::people::assignees::directory;
use crate::people::quorums::{asked, keys};

/// Everything that an agent can explain.
pub(crate) fn explanation() -> Value {
    json!({
        "what_happens": "€412.00 go back to the card of Marta Kowalska.",
        "why": "The parcel is lost.\nThe carrier confirmed it.",
        "impact": "One customer, and the daily limit of €5,000.",
        "rollback": "Charge the card again; the customer must agree.",
        "links": ["https://orders.example/12345", "http://carrier.example/track?id=9&lang=en"],
        "evidence": {"parcel": "lost", "days": 21},
    })
}

/// The members of a question with all grounds.
pub(crate) fn grounded() -> Value {
    json!({
        "explanation": explanation(), "reversibility": "hard_to_reverse", "question_key": "refund.lost_parcel", "confidence": 0.62,
        "risk": "medium",
    })
}

/// The payload of the one event of this kind.
async fn event(api: &Api, intent: IntentId, kind: &str) -> Value {
    let events = api.events(intent).await;
    events.into_iter().find(|event| event["event_type"] == kind).unwrap_or_else(|| panic!("no event {kind}"))
}

/// Asks about a kind of question, and lets a person answer.
async fn decided(app: &TestApp, key: &str, value: &str) -> (IntentId, String) {
    let (intent, id) = app.agent().ask(json!({ "question_key": key })).await;
    app.operator().respond(intent, &id, value).await.ok();
    (intent, id)
}

/// The earlier decisions of a question, as its agent reads it.
async fn earlier(api: &Api, id: &str) -> Vec<Value> {
    api.suspension(id).await["earlier_decisions"].as_array().cloned().unwrap_or_default()
}

/// The hash of what was shown, from what was served, as `docs/log-format.md` lists the members.
fn presented(record: &Value) -> String {
    let choice = |choice: &Value| {
        let mut shown = json!({"value": choice["value"], "label": choice["label"]});
        if let Some(description) = choice.get("description") {
            shown["description"] = description.clone();
        }
        shown
    };
    let naive = |at: &Value| at.as_str().map(|at| at.trim_end_matches('Z').to_owned());
    let mut presented = json!({
        "form": 3, "question": record["question"], "response_type": record["response_type"],
        "choices": record["choices"].as_array().unwrap().iter().map(choice).collect::<Vec<_>>(),
        "context": record["context"], "fallback_policy": record["fallback_policy"], "fallback_value": record["fallback_value"],
        "deadline": naive(&record["expires_at"]), "asked_by": "test-agent",
    });
    for (name, member) in [
        ("risk", "risk"),
        ("confidence", "confidence_at_suspension"),
        ("question_key", "question_key"),
        ("explanation", "explanation"),
        ("reversibility", "reversibility"),
    ] {
        if let Some(value) = record.get(member).filter(|value| !value.is_null()) {
            presented[name] = value.clone();
        }
    }
    let decisions = record["earlier_decisions"].as_array().into_iter().flatten();
    let decisions: Vec<Value> = decisions
        .map(|decision| {
            let mut shown = json!({"resolved_at": naive(&decision["resolved_at"])});
            for name in ["suspension_id", "intent_id", "event_hash", "resolution", "resolution_reason"] {
                if let Some(value) = decision.get(name) {
                    shown[name] = value.clone();
                }
            }
            shown
        })
        .collect();
    if !decisions.is_empty() {
        presented["earlier_decisions"] = json!(decisions);
    }
    Hash::of(&canonical(&presented).unwrap()).to_string()
}

on_each_store! {
    /// The explanation stands in the record, in the log and under the hash of what was shown. The server restarts in between.
    async fn an_explanation_is_kept_and_hashed(app: &mut TestApp) {
        let agent = app.agent();
        let (intent, id) = agent.ask(grounded()).await;
        app.restart().await;
        let open = app.agent().suspension(&id).await;
        for name in ["explanation", "reversibility", "question_key"] {
            assert_eq!(open[name], grounded()[name], "{name}");
        }
        assert_eq!(open.get("earlier_decisions"), None, "there are none");
        let asked = event(&app.agent(), intent, "intent.suspended").await;
        for name in ["explanation", "reversibility", "question_key"] {
            assert_eq!(asked["payload"][name], grounded()[name], "{name}");
        }
        let answered = app.operator().respond(intent, &id, "approve").await.ok();
        assert_eq!(answered["presented_hash"].as_str(), Some(&*presented(&open)));
        // Each part of the grounds changes the hash.
        for part in [json!({"explanation": {"why": "w"}}), json!({"reversibility": "irreversible"}), json!({"question_key": "another"}), json!({"confidence": 0.5})] {
            let (intent, id) = app.agent().ask(part.clone()).await;
            let open = app.agent().suspension(&id).await;
            let answered = app.operator().respond(intent, &id, "approve").await.ok();
            assert_eq!(answered["presented_hash"].as_str(), Some(&*presented(&open)), "{part}");
        }
        let intent_view = app.agent().intent(intent).await;
        assert_eq!(intent_view["state"]["_suspension"]["explanation"], explanation(), "the client of OpenIntent reads it as well");
    }

    /// A question shows how earlier ones of its kind ended: those of the same agent, the newest first, as it was when it was asked. What
    /// was withdrawn was not decided.
    async fn earlier_decisions_are_those_of_the_time_of_asking(app: &mut TestApp) {
        let agent = app.agent();
        let (first, _) = decided(app, "refund", "approve").await;
        app.advance(60).await;
        let (second, silent) = agent.ask(json!({"question_key": "refund", "fallback_policy": "complete_with_fallback", "fallback_value": "deny"})).await;
        // A fallback counts only if a person was reached.
        app.settle().await;
        app.advance(3_600).await;
        let other = Api::new(&app.base, Some(&app.new_key(Role::Agent, "other").await));
        let (intent, id) = other.ask(json!({"question_key": "refund"})).await;
        app.operator().respond(intent, &id, "approve").await.ok();
        decided(app, "payment", "approve").await;
        let (intent, id) = agent.ask(json!({"question_key": "refund"})).await;
        agent.post(&format!("api/v1/suspensions/{id}/cancel"), json!({})).await.ok();
        assert_eq!(agent.suspension(&id).await["intent_id"], json!(intent));
        let (_, open) = agent.ask(json!({"question_key": "refund"})).await;
        let (asked, expected) = (agent.ask(json!({"question_key": "refund"})).await, earlier(&agent, &open).await);
        assert_eq!(expected.len(), 2, "{expected:?}");
        let ended = event(&agent, second, "intent.suspension_expired").await;
        assert_eq!(expected[0], json!({
            "suspension_id": silent, "intent_id": second, "event_hash": ended["event_hash"], "resolution": "expired",
            "resolved_at": expected[0]["resolved_at"], "response": "deny", "choice_label": "Deny refund", "shown": true,
        }));
        let ended = event(&agent, first, "intent.resumed").await;
        assert_eq!((&expected[1]["event_hash"], &expected[1]["resolution"]), (&ended["event_hash"], &json!("responded")));
        assert_eq!((&expected[1]["response"], &expected[1]["choice_label"]), (&json!("approve"), &json!("Approve refund")));
        assert_eq!(expected[1]["decided_by"], json!([ended["payload"]["responded_by"]]));
        // Later decisions change nothing for the questions that are open, and a restart does not either.
        decided(app, "refund", "deny").await;
        app.restart().await;
        let agent = app.agent();
        assert_eq!((earlier(&agent, &open).await, earlier(&agent, &asked.1).await), (expected.clone(), expected));
        let shown = agent.suspension(&asked.1).await;
        let answered = app.operator().respond(asked.0, &asked.1, "approve").await.ok();
        assert_eq!(answered["presented_hash"].as_str(), Some(&*presented(&shown)));
        let listed = agent.get("api/v1/suspensions?state=open").await.ok();
        let listed = listed["suspensions"].as_array().unwrap().iter().find(|one| one["id"] == json!(open)).unwrap();
        assert_eq!(listed["earlier_decisions"][1].get("response"), None, "lists name them, and do not read them");
    }

    /// A question shows the newest decisions, and a bounded number of them.
    async fn a_bounded_number_of_earlier_decisions_is_shown(app: &mut TestApp) {
        let mut intents = Vec::new();
        for _ in 0..=EARLIER_MAX {
            intents.push(decided(app, "refund", "approve").await.0);
            app.advance(1).await;
        }
        let (_, open) = app.agent().ask(json!({"question_key": "refund"})).await;
        let shown: Vec<Value> = earlier(&app.agent(), &open).await.iter().map(|one| one["intent_id"].clone()).collect();
        let newest: Vec<Value> = intents.iter().skip(1).rev().map(|intent| json!(intent)).collect();
        assert_eq!(shown, newest);
    }

    /// People who had to agree and did not have decided as well, and those who agreed are all named.
    async fn the_people_of_a_quorum_have_decided_together(app: &mut TestApp) {
        directory(app).await;
        let [ada, bob, _] = keys(app).await;
        let two = json!({"required_approvals": 2});
        let (intent, id) = asked(app, two.clone(), json!({"question_key": "refund"})).await;
        ada.respond(intent, &id, "approve").await.ok();
        bob.respond(intent, &id, "approve").await.ok();
        app.advance(1).await;
        let (intent, id) = asked(app, two.clone(), json!({"question_key": "refund"})).await;
        ada.respond(intent, &id, "approve").await.ok();
        app.advance(3_600).await;
        let (_, open) = app.agent().ask(json!({"question_key": "refund"})).await;
        let shown = earlier(&app.agent(), &open).await;
        assert_eq!((&shown[0]["resolution"], &shown[0]["resolution_reason"]), (&json!("cancelled"), &json!("quorum_unmet")));
        assert_eq!(shown[1]["decided_by"].as_array().unwrap().len(), 2, "{}", shown[1]);
    }

    /// What was erased stays erased: an open question says so, and a later one does not name it any more.
    async fn an_erased_decision_is_not_shown_again(app: &mut TestApp) {
        let (erased, _) = decided(app, "refund", "approve").await;
        let (asked, open) = app.agent().ask(json!({"question_key": "refund"})).await;
        let before = app.agent().suspension(&open).await;
        let version = app.agent().intent(erased).await["version"].to_string();
        app.agent().post_at(&format!("api/v1/intents/{erased}/status"), &version, json!({"status": "completed"})).await.ok();
        app.settle().await;
        let basis = json!({"legal_basis": "GDPR Art. 17(1)(a)"});
        app.api(Role::Admin).post(&format!("api/v1/intents/{erased}/redact"), basis).await.ok();
        app.restart().await;
        let agent = app.agent();
        let shown = earlier(&agent, &open).await;
        assert_eq!(shown[0], json!({
            "suspension_id": shown[0]["suspension_id"], "intent_id": erased, "event_hash": before["earlier_decisions"][0]["event_hash"],
            "resolution": "responded", "resolved_at": shown[0]["resolved_at"], "redacted": true,
        }));
        let (_, later) = agent.ask(json!({"question_key": "refund"})).await;
        assert_eq!(earlier(&agent, &later).await, Vec::<Value>::new());
        // The hash of what was shown does not depend on what was erased.
        let answered = app.operator().respond(asked, &open, "approve").await.ok();
        assert_eq!(answered["presented_hash"].as_str(), Some(&*presented(&before)));
    }

    /// An agent that works on one intent does not learn by it how another one was decided.
    async fn an_earlier_decision_is_read_only_with_the_right_to_its_intent(app: &mut TestApp) {
        let helper = Api::new(&app.base, Some(&app.new_key(Role::Agent, "helper").await));
        let (first, _) = decided(app, "refund", "approve").await;
        let (intent, open) = app.agent().ask(json!({"question_key": "refund"})).await;
        app.agent().post(&format!("api/v1/intents/{intent}/agents"), json!({"agent_id": "helper"})).await.ok();
        let shown = earlier(&helper, &open).await;
        let hidden = ["response", "choice_label", "decided_by", "shown"].map(|name| shown[0].get(name).is_none());
        assert_eq!((shown[0]["intent_id"].clone(), hidden), (json!(first), [true; 4]), "{}", shown[0]);
        app.agent().post(&format!("api/v1/intents/{first}/agents"), json!({"agent_id": "helper"})).await.ok();
        assert_eq!(earlier(&helper, &open).await, earlier(&app.agent(), &open).await);
        assert_eq!(earlier(&app.operator(), &open).await[0]["response"], json!("approve"));
    }

    /// Each rule names its field, at its bound and beyond it.
    async fn grounds_beyond_their_bounds_are_refused(app: &mut TestApp) {
        let agent = app.agent();
        let text = |bytes: usize| "x".repeat(bytes);
        let link = |chars: usize| format!("https://x.example/{}", text(chars - 18));
        let ask = async |change: Value| agent.suspend(agent.active_intent().await, change).await;
        for explanation in [
            json!({"what_happens": text(EXPLANATION_TEXT_BYTES_MAX)}),
            json!({"links": vec![link(LINK_MAX); LINKS_MAX]}),
            json!({"evidence": text(EVIDENCE_BYTES_MAX - 2)}),
        ] {
            ask(json!({ "explanation": explanation })).await.ok();
        }
        ask(json!({"question_key": text(QUESTION_KEY_MAX)})).await.ok();
        for (explanation, field, rule) in [
            (json!({}), "explanation", "required"),
            (json!({"what_happens": text(EXPLANATION_TEXT_BYTES_MAX + 1)}), "explanation.what_happens", "length"),
            (json!({"why": "\u{200b} "}), "explanation.why", "required"),
            (json!({"impact": "a\u{0}b"}), "explanation.impact", "nul"),
            (json!({"rollback": ""}), "explanation.rollback", "required"),
            (json!({"links": vec![link(30); LINKS_MAX + 1]}), "explanation.links", "length"),
            (json!({"links": [link(LINK_MAX + 1)]}), "explanation.links[0]", "length"),
            (json!({"links": ["https://x.example", "javascript:alert(1)"]}), "explanation.links[1]", "url"),
            (json!({"evidence": text(EVIDENCE_BYTES_MAX - 1)}), "explanation.evidence", "length"),
            (json!({"who": "me"}), "explanation.who", "unknown"),
            (json!({"why": 5}), "explanation.why", "type"),
            (json!("because"), "explanation", "type"),
        ] {
            let refused = ask(json!({ "explanation": explanation })).await;
            assert_eq!(refused.field_problem(), (422, "invalid", field, rule), "{}", refused.body);
        }
        for (key, rule) in [(json!(""), "length"), (json!(text(QUESTION_KEY_MAX + 1)), "length"), (json!("a\u{202e}b"), "characters"), (json!(7), "type")] {
            let refused = ask(json!({ "question_key": key })).await;
            assert_eq!(refused.field_problem(), (422, "invalid", "question_key", rule), "{}", refused.body);
        }
        let refused = ask(json!({"reversibility": "maybe"})).await;
        assert_eq!((refused.status, refused.body["errors"][0]["field"].as_str()), (422, Some("reversibility")), "{}", refused.body);
    }

    /// A request for an approval has the same grounds, and is decided like others of its kind.
    async fn an_approval_has_grounds_as_well(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let request = |intent: IntentId| (format!("api/v1/intents/{intent}/approvals"), json!({
            "action": "refund", "explanation": {"why": "The parcel is lost."}, "reversibility": "irreversible", "question_key": "refund",
        }));
        let first = agent.active_intent().await;
        let (path, body) = request(first);
        let one = agent.post(&path, body).await.ok();
        operator.post(&format!("{path}/{}/approve", one["id"].as_str().unwrap()), json!({})).await.ok();
        let (path, body) = request(agent.active_intent().await);
        let two = agent.post(&path, body).await.ok();
        let record = agent.suspension(two["id"].as_str().unwrap()).await;
        assert_eq!((&record["reversibility"], &record["explanation"]["why"]), (&json!("irreversible"), &json!("The parcel is lost.")));
        assert_eq!((&record["earlier_decisions"][0]["intent_id"], &record["earlier_decisions"][0]["response"]), (&json!(first), &json!("approve")));
        let (path, mut body) = request(first);
        body["explanation"] = json!({});
        assert_eq!(agent.post(&path, body).await.status, 422);
    }
}
