//! Answering: RFC-0025 §8, row by row, and the treatment of answers that do not count.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::base::ids::IntentId;
use domain::people::principal::Role;
use domain::suspension::{REFUSALS_RECORDED_MAX, TEXT_ANSWER_BYTES_MAX};
use harness::api::{Api, Reply};
use harness::on_each_store;
use serde_json::{Value, json};

/// Asks a question on a new intent. Returns the intent and the suspension's id.
async fn asked(agent: &Api, change: Value) -> (IntentId, String) {
    let intent = agent.active_intent().await;
    let record = agent.suspend(intent, change).await.ok();
    (intent, record["id"].as_str().unwrap().to_owned())
}

async fn post(api: &Api, intent: IntentId, body: Value) -> Reply {
    api.post(&format!("api/v1/intents/{intent}/suspend/respond"), body).await
}

on_each_store! {
    /// The reply to an accepted answer, as in the success row of RFC-0025 §8. The test compares the whole body, because the
    /// agent acts on it.
    async fn an_accepted_choice_answers_with_its_label_and_description(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let (intent, id) = asked(&agent, json!({})).await;
        let metadata = json!({"channel": "desk", "nested": {"n": 1.5}});
        let body = json!({"suspension_id": id, "value": "approve", "metadata": metadata, "unknown": "ignored"});
        let mut reply = post(&operator, intent, body).await.ok();
        for hash in ["action_digest", "presented_hash"] {
            reply.as_object_mut().unwrap().remove(hash).unwrap_or_else(|| panic!("no {hash}"));
        }
        assert_eq!(reply, json!({
            "intent_id": intent, "suspension_id": id, "resolution": "responded", "value": "approve",
            "choice_label": "Approve refund", "choice_description": "The whole amount",
            "responded_by": "test-operator", "responded_at": "2026-11-24T08:00:00.000000",
        }));
        let after = agent.intent(intent).await;
        assert_eq!(after["status"], json!("active"));
        let shown = &after["state"]["_suspension"];
        assert_eq!((&shown["response"], &shown["resolution"]), (&json!("approve"), &json!("responded")));
        assert_eq!((&shown["metadata"], &shown["responded_at"]), (&metadata, &json!("2026-11-24T08:00:00.000000")));
        let record = agent.suspension(&id).await;
        assert_eq!(record["responded_at"], json!("2026-11-24T08:00:00.000000Z"));
        assert_eq!((&record["version"], &record["choice_label"]), (&json!(2), &json!("Approve refund")));
    }

    /// A value that the question did not offer must never reach the agent, and the caller must be told the offered values.
    async fn a_choice_takes_its_values_and_nothing_like_them(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let (intent, id) = asked(&agent, json!({})).await;
        let before = agent.everything(intent).await;
        let wrong = [
            json!("maybe"), json!("Approve"), json!("approve "), json!(""), json!(null), json!(true), json!(1),
            json!(["approve"]), json!({"value": "approve"}), json!("Approve refund"),
        ];
        for value in wrong {
            let refused = operator.respond(intent, &id, value.clone()).await;
            assert_eq!(refused.problem(), (422, "invalid_choice"), "{value}");
            assert_eq!(refused.body["valid_choices"], json!(["approve", "deny"]));
            assert_eq!(refused.body["detail"]["valid_choices"], json!(["approve", "deny"]));
            assert_eq!(refused.body["detail"]["error"], json!("invalid_choice"));
        }
        assert_eq!(post(&operator, intent, json!({"suspension_id": id})).await.problem(), (422, "invalid_choice"));
        assert_eq!(agent.everything(intent).await, before);
        assert_eq!(operator.respond(intent, &id, "deny").await.status, 200); // The refusals did not close the question.
    }

    /// `confirm` takes only yes and no, even when the question names no choices.
    async fn a_confirm_takes_yes_and_no_and_nothing_like_them(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        for answer in ["yes", "no"] {
            let (intent, id) = asked(&agent, json!({"response_type": "confirm", "choices": []})).await;
            for wrong in [json!("Yes"), json!(true), json!("approve"), json!(null), json!("y")] {
                let refused = operator.respond(intent, &id, wrong).await;
                assert_eq!(refused.problem(), (422, "invalid_choice"));
                assert_eq!(refused.body["valid_choices"], json!(["yes", "no"]));
            }
            let accepted = operator.respond(intent, &id, answer).await.ok();
            assert_eq!(accepted["value"], json!(answer));
            assert!(accepted["choice_label"].is_string() && accepted.get("choice_description").is_none());
        }
    }

    /// Any non-empty text is accepted and kept as typed. Its bound is exactly the documented one.
    async fn a_text_is_kept_as_typed_up_to_its_bound(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let question = || json!({"response_type": "text", "choices": []});
        let (intent, id) = asked(&agent, question()).await;
        for wrong in [json!(""), json!(null), json!(5), json!(["text"]), json!("x".repeat(TEXT_ANSWER_BYTES_MAX + 1))] {
            let refused = operator.respond(intent, &id, wrong).await;
            assert_eq!((refused.status, refused.field_problem().2), (422, "value"), "{}", refused.text);
        }
        let longest = "ä".repeat(TEXT_ANSWER_BYTES_MAX / 2);
        assert_eq!(operator.respond(intent, &id, longest.as_str()).await.ok()["value"], json!(longest));
        for text in [" ", "\u{0}", "a\u{202e}b\u{2066}c", "line\r\nline", "<script>alert(1)</script>", "{{7*7}}", "\u{1f600}"] {
            let (intent, id) = asked(&agent, question()).await;
            assert_eq!(operator.respond(intent, &id, text).await.ok()["value"], json!(text));
            assert_eq!(agent.suspension(&id).await["response"], json!(text));
        }
    }

    /// The values of a form are not changed: the agent reads what the person's client sent.
    async fn a_form_passes_through_as_it_is(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        for value in [
            json!({"amount": 12.5, "note": "a\u{0}b\u{202e}", "nested": {"list": [1, null, true, {}]}}),
            json!(null), json!([]), json!(""), json!(false), json!(0.1), json!(31.245_270_191_439_438),
            json!(9_007_199_254_740_991_i64), json!(-9_007_199_254_740_991_i64), json!(1e-7), json!(2.5e15),
        ] {
            let (intent, id) = asked(&agent, json!({"response_type": "form", "choices": []})).await;
            assert_eq!(operator.respond(intent, &id, value.clone()).await.ok()["value"], value);
            assert_eq!(agent.suspension(&id).await["response"], value);
        }
    }

    /// An answer that names no suspension, or has a field of the wrong form, is refused with the name of the field (RFC-0025
    /// §8). The question stays open.
    async fn an_answer_that_names_no_suspension_is_told_what_is_required(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let (intent, id) = asked(&agent, json!({})).await;
        let before = agent.everything(intent).await;
        for body in [json!({"value": "approve"}), json!({"suspension_id": "", "value": "approve"}), json!({})] {
            let refused = post(&operator, intent, body).await;
            assert_eq!(refused.field_problem(), (422, "invalid", "suspension_id", "required"));
            assert!(refused.body["detail"].as_str().unwrap().contains("required"));
        }
        for (body, field) in [
            (json!({"suspension_id": 5, "value": "approve"}), "suspension_id"),
            (json!({"suspension_id": id, "value": "approve", "metadata": "text"}), "metadata"),
            (json!({"suspension_id": id, "value": "approve", "responded_by": ["x"]}), "responded_by"),
            (json!({"suspension_id": id, "value": "approve", "responded_by": ""}), "responded_by"),
            (json!({"suspension_id": id, "value": "approve", "responded_by": "x".repeat(201)}), "responded_by"),
        ] {
            let refused = post(&operator, intent, body).await;
            assert_eq!((refused.status, refused.field_problem().2), (422, field), "{}", refused.text);
        }
        assert_eq!(agent.everything(intent).await, before);
    }

    /// The id of the open question is a capability, so the refusal of a wrong id must not reveal the right one.
    async fn an_unknown_suspension_id_is_a_mismatch_that_keeps_the_right_one_secret(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let (intent, id) = asked(&agent, json!({})).await;
        let (_, elsewhere) = asked(&agent, json!({})).await;
        let before = agent.everything(intent).await;
        for wrong in [elsewhere.as_str(), "00000000-0000-0000-0000-000000000000", "susp-1", "\u{0}", &format!("{{{id}}}"), &id[1..]] {
            let refused = operator.respond(intent, wrong, "approve").await;
            assert_eq!(refused.problem(), (409, "suspension_mismatch"), "{wrong}");
            assert!(refused.body["detail"].as_str().unwrap().contains("mismatch"));
            assert!(!refused.text.contains(&id));
            // The value is checked last, so a caller without the right id learns nothing of the choices.
            let refused = operator.respond(intent, wrong, "no such choice").await;
            assert_eq!(refused.problem(), (409, "suspension_mismatch"));
        }
        assert_eq!(agent.everything(intent).await, before);
    }

    /// An intent without an open question cannot be answered, whatever its status.
    async fn an_intent_that_waits_for_nobody_is_not_suspended(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let draft = agent.post("api/v1/intents", json!({"title": "t"})).await.ok();
        for intent in [agent.active_intent().await, draft["id"].as_str().unwrap().parse().unwrap()] {
            for id in ["00000000-0000-0000-0000-000000000000", "x"] {
                assert_eq!(operator.respond(intent, id, "approve").await.problem(), (409, "not_suspended"));
            }
        }
    }

    /// A second answer is refused even if it is the same, and its sender is told which answer counted. Two people must not both
    /// think they decided.
    async fn a_second_answer_is_told_what_counted_when_and_by_whom(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let (intent, id) = asked(&agent, json!({})).await;
        app.settle().await;
        operator.respond(intent, &id, "approve").await.ok();
        app.advance(60).await;
        let other = Api::new(&app.base, Some(&app.new_key(Role::Operator, "second").await));
        for (api, value) in [(&operator, "approve"), (&other, "deny"), (&other, "no such choice")] {
            let refused = api.respond(intent, &id, value).await;
            assert_eq!(refused.problem(), (409, "already_resolved"));
            assert_eq!(refused.body["resolution"], json!("responded"));
            assert_eq!(refused.body["resolved_by"], json!("test-operator"));
            assert_eq!(refused.body["resolved_at"], json!("2026-11-24T08:00:00.000000"));
        }
        assert_eq!(agent.suspension(&id).await["response"], json!("approve"));
        let events = agent.events(intent).await;
        let rejected: Vec<&Value> = events.iter().filter(|e| e["event_type"] == "intent.response_rejected").collect();
        assert_eq!(rejected.len(), 3);
        assert_eq!((&rejected[1]["actor"], &rejected[1]["payload"]["value"]), (&json!("second"), &json!("deny")));
        assert_eq!(rejected[1]["payload"]["code"], json!("already_resolved"));
    }

    /// An answer to an older question must not count for the newer one.
    async fn an_answer_to_an_earlier_question_never_hits_the_newer_one(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let (intent, first) = asked(&agent, json!({})).await;
        operator.respond(intent, &first, "approve").await.ok();
        let second = agent.asked(intent).await;
        let refused = operator.respond(intent, &first, "deny").await;
        assert_eq!(refused.problem(), (409, "already_resolved"));
        assert!(!refused.text.contains(&second));
        assert_eq!(agent.suspension(&second).await["resolution"], json!(null));
        assert_eq!(operator.respond(intent, &second, "deny").await.status, 200);
    }
}

on_each_store! {
    /// Refused answers are recorded as evidence, but only up to a bound, since a stuck client could fill the log.
    async fn refused_answers_are_recorded_up_to_a_bound(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let (intent, id) = asked(&agent, json!({})).await;
        operator.respond(intent, &id, "approve").await.ok();
        let count = async |kind: &str| agent.event_types(intent).await.iter().filter(|name| *name == kind).count();
        for sent in 1..=REFUSALS_RECORDED_MAX as usize {
            assert_eq!(operator.respond(intent, &id, "deny").await.problem(), (409, "already_resolved"));
            assert_eq!(count("intent.response_rejected").await, sent);
        }
        app.restart().await; // The count must not be in memory alone.
        let full = agent.everything(intent).await;
        for _ in 0..3 {
            assert_eq!(operator.respond(intent, &id, "deny").await.problem(), (409, "already_resolved"));
        }
        assert_eq!(agent.everything(intent).await, full);
    }

    /// A late answer is recorded as evidence of a person's wish. One that is too long is recorded without its text.
    async fn late_answers_are_recorded_up_to_a_bound(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let (intent, id) = asked(&agent, json!({"response_type": "form", "choices": []})).await;
        app.settle().await;
        app.advance(3600).await;
        let late = operator.respond(intent, &id, "x".repeat(20_000)).await;
        assert_eq!(late.problem(), (409, "expired"));
        assert_eq!(late.body["expired_at"], json!("2026-11-24T09:00:00.000000"));
        for _ in 1..REFUSALS_RECORDED_MAX + 2 {
            assert_eq!(operator.respond(intent, &id, "approve").await.problem(), (409, "expired"));
        }
        let events = agent.events(intent).await;
        let late: Vec<&Value> = events.iter().filter(|e| e["event_type"] == "intent.late_answer").collect();
        assert_eq!(late.len(), REFUSALS_RECORDED_MAX as usize);
        let (long, short) = (&late[0]["payload"], &late[1]["payload"]);
        assert_eq!((&long["value"], &long["value_omitted"]), (&json!(null), &json!(true)));
        assert_eq!((&short["value"], &short["value_omitted"]), (&json!("approve"), &json!(false)));
        assert_eq!((&short["responded_by"], &short["code"]), (&json!("test-operator"), &json!("expired")));
    }

    /// The refused answer of a caller without the right to answer is not recorded, because it is no evidence.
    async fn a_stranger_cannot_write_refusals_into_the_log(app: &mut TestApp) {
        let agent = app.agent();
        let (intent, id) = asked(&agent, json!({})).await;
        app.operator().respond(intent, &id, "approve").await.ok();
        let before = agent.everything(intent).await;
        for role in [Role::Agent, Role::Admin, Role::Auditor] {
            assert_eq!(app.api(role).respond(intent, &id, "deny").await.status, 403, "{role}");
        }
        assert_eq!(agent.everything(intent).await, before);
    }

    /// The agent relies on `responded_by` as the person who decided, so it comes from the credential. The body's value is only a
    /// claim.
    async fn responded_by_is_the_credential_and_the_bodys_word_a_claim(app: &mut TestApp) {
        let (agent, operator, admin) = (app.agent(), app.operator(), app.api(Role::Admin));
        let (intent, id) = asked(&agent, json!({})).await;
        let body = json!({"suspension_id": id, "value": "approve", "responded_by": "ceo@example.com"});
        assert_eq!(post(&operator, intent, body).await.ok()["responded_by"], json!("test-operator"));
        let resumed = agent.events(intent).await.into_iter().find(|e| e["event_type"] == "intent.resumed").unwrap();
        assert_eq!(resumed["actor"], json!("test-operator"));
        let payload = &resumed["payload"];
        assert_eq!((&payload["responded_by"], &payload["role"]), (&json!("test-operator"), &json!("operator")));
        assert_eq!(payload["claimed_responded_by"], json!("ceo@example.com"));
        assert_eq!(payload["assurance"], json!("api_key"));
        assert_eq!(agent.suspension(&id).await["responded_by"], json!("test-operator"));

        // An answer by a key names the key's subject.
        let key = json!({"role": "operator", "name": "alices-key", "subject": "alice@example.com"});
        let key = admin.post("api/v1/keys", key).await.ok()["key"].as_str().unwrap().to_owned();
        let (intent, id) = asked(&agent, json!({})).await;
        let reply = Api::new(&app.base, Some(&key)).respond(intent, &id, "deny").await.ok();
        assert_eq!(reply["responded_by"], json!("alice@example.com"));
        let resumed = agent.events(intent).await.into_iter().find(|e| e["event_type"] == "intent.resumed").unwrap();
        assert_eq!(resumed["actor"], json!("alices-key"));
        assert_eq!(resumed["payload"].get("claimed_responded_by"), None);
    }

    /// Only a gateway may answer for another person, and it must name that person.
    async fn a_channel_must_name_the_person_it_speaks_for(app: &mut TestApp) {
        let (agent, channel) = (app.agent(), app.api(Role::Channel));
        let (intent, id) = asked(&agent, json!({})).await;
        let before = agent.everything(intent).await;
        let silent = channel.respond(intent, &id, "approve").await;
        assert_eq!(silent.field_problem(), (422, "invalid", "responded_by", "required"));
        assert_eq!(agent.everything(intent).await, before);
        let body = json!({"suspension_id": id, "value": "approve", "responded_by": "alice@example.com"});
        assert_eq!(post(&channel, intent, body).await.ok()["responded_by"], json!("alice@example.com"));
        let resumed = agent.events(intent).await.into_iter().find(|e| e["event_type"] == "intent.resumed").unwrap();
        assert_eq!((&resumed["actor"], &resumed["payload"]["role"]), (&json!("test-channel"), &json!("channel")));
        assert_eq!(resumed["payload"]["responded_by"], json!("alice@example.com"));
    }

    /// If an agent could answer its own questions, approvals would be worthless.
    async fn the_asker_and_its_owners_keys_may_not_answer(app: &mut TestApp) {
        let agent = app.agent();
        let (intent, id) = asked(&agent, json!({})).await;
        let before = agent.everything(intent).await;
        let sibling = app.new_key_of(Role::Operator, "helpful-operator", "test-agent").await;
        let gateway = app.new_key_of(Role::Channel, "helpful-gateway", "test-agent").await;
        for key in [agent.key(), &sibling, &gateway] {
            let api = Api::new(&app.base, Some(key));
            let body = json!({"suspension_id": id, "value": "approve", "responded_by": "alice@example.com"});
            assert_eq!(post(&api, intent, body).await.problem(), (403, "self_response"));
            // 403 comes before any check of the body and of the open question.
            assert_eq!(post(&api, intent, json!({})).await.problem(), (403, "self_response"));
        }
        for role in [Role::Admin, Role::Auditor] {
            assert_eq!(app.api(role).respond(intent, &id, "approve").await.problem(), (403, "forbidden"), "{role}");
        }
        assert_eq!(agent.everything(intent).await, before);
        let foreign = app.new_key_of(Role::Operator, "other-operator", "somebody-else").await;
        assert_eq!(Api::new(&app.base, Some(&foreign)).respond(intent, &id, "approve").await.status, 200);
    }
}
