//! Answers by A2A: by those who may answer, in words or as data, and never by the asker.

use domain::people::principal::Role;
use harness::api::Api;
use harness::on_each_store;
use serde_json::{Value, json};
use verify::report::Verdict;
use verify::{Options, Watchers};

use super::{Rpc, says, state};

fn text(words: &str) -> Value {
    json!([{"text": words}])
}

on_each_store! {
    /// The asker and every other key of its owner are refused, and that they tried is in the log. Otherwise an agent that was talked into
    /// it would approve its own act.
    async fn the_asker_never_answers_and_the_attempt_is_recorded(app: &mut TestApp) {
        let api = app.agent();
        let id = Rpc(&api).asked("m").await;
        let twin = Api::new(&app.base, Some(&app.new_key_of(Role::Operator, "twin", "test-agent").await));
        for (number, key) in [&api, &twin].into_iter().enumerate() {
            for parts in [text("yes"), json!([{"data": {"value": "yes"}}])] {
                let said = says(&id, &format!("n-{number}"), &parts);
                assert_eq!(Rpc(key).error("SendMessage", said).await, (403, -32043, "self_response".into()));
            }
        }
        assert_eq!(state(&Rpc(&api).task(&id).await), "TASK_STATE_AUTH_REQUIRED");
        let events = api.events(id.parse().unwrap()).await;
        let refused: Vec<_> = events.iter().filter(|event| event["event_type"] == "intent.response_rejected").collect();
        assert_eq!(refused.len(), 4);
        assert!(refused.iter().all(|event| event["payload"]["code"] == "self_response"), "{refused:?}");
        let stranger = Api::new(&app.base, Some(&app.new_key(Role::Agent, "stranger").await));
        let said = says(&id, "n", &text("yes"));
        assert_eq!(Rpc(&stranger).error("SendMessage", said).await, (200, -32001, "TASK_NOT_FOUND".into()));
    }

    /// Free text that only resembles a choice decides nothing: the task comes back open, with the answers that it takes.
    async fn words_that_resemble_an_answer_leave_the_question_open(app: &mut TestApp) {
        let api = app.agent();
        let id = Rpc(&api).asked("m").await;
        let operator = app.operator();
        let unclear = Rpc(&operator).result("SendMessage", says(&id, "n-1", &text("yes please"))).await["task"].clone();
        assert_eq!(state(&unclear), "TASK_STATE_AUTH_REQUIRED");
        let words = unclear["status"]["message"]["parts"][0]["text"].as_str().unwrap();
        assert!(words.contains("no answer") && words.contains("yes (Yes)") && words.contains("no (No)"), "{words}");
        let events = api.events(id.parse().unwrap()).await;
        let last = events.iter().rfind(|event| event["event_type"] == "intent.response_rejected").unwrap();
        assert_eq!((&last["payload"]["code"], &last["payload"]["value"]), (&json!("invalid_choice"), &json!("yes please")));
        // The same as data is a mistake of a program, and is told as one.
        let wrong = Rpc(&operator).call("SendMessage", says(&id, "n-2", &json!([{"data": {"value": "maybe"}}]))).await.ok();
        assert_eq!((&wrong["error"]["code"], &wrong["error"]["data"][0]["metadata"]["valid_choices"]), (&json!(-32602), &json!(r#"["yes","no"]"#)));
        let task = Rpc(&operator).result("SendMessage", says(&id, "n-3", &text(" YES "))).await["task"].clone();
        assert_eq!(state(&task), "TASK_STATE_COMPLETED");
        assert_eq!(task["artifacts"][0]["parts"][0]["data"]["value"], "yes");
        let events = api.events(id.parse().unwrap()).await;
        let resumed = events.iter().find(|event| event["event_type"] == "intent.resumed").unwrap();
        assert_eq!(resumed["payload"]["via"], "a2a");
    }

    /// Words that are no answer belong to the conversation, marked as what they are. Refused answers do not: a reader of the conversation could take
    /// the yes of the asker, or one that came too late, for a decision.
    async fn words_that_are_no_answer_are_in_the_conversation_and_refused_answers_are_not(app: &mut TestApp) {
        let (api, operator) = (app.agent(), app.operator());
        let id = Rpc(&api).asked("m").await;
        let unclear = Rpc(&operator).result("SendMessage", says(&id, "n-1", &text("yes please"))).await["task"].clone();
        for parts in [text("yes"), text("maybe"), json!([{"data": {"value": "yes"}}])] {
            assert_eq!(Rpc(&api).error("SendMessage", says(&id, "n-2", &parts)).await.1, -32043);
        }
        Rpc(&operator).error("SendMessage", says(&id, "n-3", &json!([{"data": {"value": "maybe"}}]))).await;
        Rpc(&operator).result("SendMessage", says(&id, "n-4", &text(&"y".repeat(20_000)))).await;
        Rpc(&operator).result("SendMessage", says(&id, "n-5", &text("  "))).await;
        app.restart().await;
        let (api, operator) = (app.agent(), app.operator());
        let said = async |key: &Api, most: usize| {
            let history = Rpc(key).result("GetTask", json!({"id": id, "historyLength": most})).await["history"].clone();
            let one = |message: &Value| json!([message["role"], message["parts"][0]["text"], message["metadata"]]);
            history.as_array().unwrap().iter().map(one).collect::<Vec<Value>>()
        };
        let refused = json!({"urn:placet:a2a:question:v1": {"refused": "invalid_choice"}});
        let asked = json!(["ROLE_USER", "Deploy to production?", null]);
        let misheard = json!(["ROLE_USER", "yes please", refused]);
        for key in [&api, &operator] {
            assert_eq!(said(key, 10).await, [asked.clone(), misheard.clone()]);
            assert_eq!(said(key, 2).await, [asked.clone(), misheard.clone()], "refused answers are not counted");
            assert_eq!(said(key, 1).await, std::slice::from_ref(&misheard));
        }
        assert_eq!(unclear["history"][1], Rpc(&api).task(&id).await["history"][1], "the sender sees them at once");
        Rpc(&operator).result("SendMessage", says(&id, "n-6", &text("no"))).await;
        assert_eq!(Rpc(&operator).error("SendMessage", says(&id, "n-7", &text("yes"))).await.1, -32012);
        assert_eq!(said(&api, 10).await, [asked, misheard, json!(["ROLE_USER", "No", null])]);
        let stranger = Api::new(&app.base, Some(&app.new_key(Role::Agent, "stranger").await));
        assert_eq!(Rpc(&stranger).error("GetTask", json!({"id": id})).await.1, -32001);
        let events = api.events(id.parse().unwrap()).await;
        let doors: Vec<&Value> = events.iter().filter(|event| event["event_type"] == "intent.response_rejected").map(|event| &event["payload"]["via"]).collect();
        assert!(doors.len() >= 7 && doors.iter().all(|via| **via == "a2a"), "{doors:?}");
        app.checkpoints().turn().await.unwrap();
        let export = app.api(Role::Auditor).get("api/v1/export?").await;
        let options = Options::with_keys(vec![app.checkpoints().key().unwrap().verifying().clone()]);
        let report = verify::verify("export", export.text.as_bytes(), &options, Watchers::default());
        assert_eq!(report.verdict, Verdict::Verified, "{:?}", report.findings);
    }

    /// An answer that is sent again is the same answer; a second one is told that it lost, in the words of the protocol.
    async fn one_answer_wins_and_the_others_are_told(app: &mut TestApp) {
        let api = app.agent();
        let id = Rpc(&api).asked("m").await;
        let (operator, admin) = (app.operator(), app.api(Role::Admin));
        let activated = async |api: &Api| {
            let call = json!({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": id}});
            let request = api.request("POST", "a2a").header("a2a-version", "1.0").header("a2a-extensions", "urn:placet:a2a:question:v1");
            let reply = api.send(request.json(&call)).await;
            assert_eq!(reply.headers["a2a-extensions"], "urn:placet:a2a:question:v1");
            reply.ok()["result"].clone()
        };
        let facts = activated(&operator).await["status"]["message"]["parts"][1]["data"].clone();
        let suspension = facts["suspensionId"].as_str().unwrap().to_owned();
        assert_eq!((&facts["responseType"], &facts["choices"][0]["value"]), (&json!("confirm"), &json!("yes")));
        for key in [&api, &admin] {
            assert!(!activated(key).await.to_string().contains(&suspension), "only those who may answer learn the id");
        }
        let yes = |message: &str| says(&id, message, &json!([{"data": {"value": "yes", "suspensionId": suspension}}]));
        let first = Rpc(&operator).result("SendMessage", yes("n-1")).await;
        assert_eq!(Rpc(&operator).result("SendMessage", yes("n-1")).await, first, "a repeated message is the same answer");
        assert_eq!(Rpc(&operator).error("SendMessage", yes("n-2")).await, (200, -32012, "already_resolved".into()));
        // A text that would have been an answer is told that it lost; any other, and every one of the asker, finds a task that has ended.
        assert_eq!(Rpc(&operator).error("SendMessage", says(&id, "n-3", &text("no"))).await, (200, -32012, "already_resolved".into()));
        for (key, words) in [(&operator, "perhaps"), (&api, "no")] {
            let said = says(&id, "n-5", &text(words));
            assert_eq!(Rpc(key).error("SendMessage", said).await, (200, -32004, "UNSUPPORTED_OPERATION".into()));
        }
        assert_eq!(Rpc(&api).error("CancelTask", json!({"id": id})).await, (200, -32002, "TASK_NOT_CANCELABLE".into()));
        let other = Rpc(&api).asked("m-2").await;
        let foreign = says(&other, "n-4", &json!([{"data": {"value": "yes", "suspensionId": suspension}}]));
        assert_eq!(Rpc(&operator).error("SendMessage", foreign).await, (200, -32012, "suspension_mismatch".into()));
    }

    /// An answer after the deadline is refused, whether or not the timer has fired, and recorded as late.
    async fn a_late_answer_is_told_so(app: &mut TestApp) {
        let api = app.agent();
        let data = json!([{"data": {"question": "Now?", "responseType": "confirm", "timeoutSeconds": 60}}]);
        let id = Rpc(&api).asks("m", data).await["id"].as_str().unwrap().to_owned();
        app.clock.jump(chrono::TimeDelta::seconds(60));
        let late = Rpc(&app.operator()).error("SendMessage", says(&id, "n", &text("yes"))).await;
        assert_eq!(late, (200, -32012, "expired".into()));
        assert!(api.event_types(id.parse().unwrap()).await.contains(&"intent.late_answer".to_owned()));
        assert_eq!(state(&Rpc(&api).task(&id).await), "TASK_STATE_FAILED");
    }

    /// The reader of a task that mirrors other work is on the side that answers, so that task asks for input. Its intent goes on.
    async fn work_begun_elsewhere_is_a_task_that_needs_input(app: &mut TestApp) {
        let api = app.agent();
        let intent = api.active_intent().await;
        let id = intent.to_string();
        assert_eq!(state(&Rpc(&api).task(&id).await), "TASK_STATE_WORKING");
        api.asked(intent).await;
        let operator = app.operator();
        let task = Rpc(&operator).task(&id).await;
        assert_eq!((state(&task), task["contextId"].as_str()), ("TASK_STATE_INPUT_REQUIRED", Some(&*id)));
        let elsewhere = json!({"message": {"messageId": "n", "role": "ROLE_USER", "taskId": id, "contextId": "another", "parts": text("approve")}});
        let reply = Rpc(&operator).call("SendMessage", elsewhere).await.ok();
        assert_eq!(reply["error"]["data"][1]["fieldViolations"][0]["field"], "contextId");
        assert_eq!(Rpc(&api).error("CancelTask", json!({"id": id})).await, (200, -32002, "TASK_NOT_CANCELABLE".into()));
        let answered = Rpc(&operator).result("SendMessage", says(&id, "n", &text("Approve refund"))).await["task"].clone();
        assert_eq!((state(&answered), api.status(intent).await.as_str()), ("TASK_STATE_WORKING", "active"));
        assert_eq!(Rpc(&operator).error("SendMessage", says(&id, "n-2", &text("approve"))).await.1, -32012, "it came too late");
        assert_eq!(Rpc(&api).result("ListTasks", json!({})).await["totalSize"], 0, "the list has what was begun by A2A");
    }

    /// A blank text is no answer, also where every text is one.
    async fn a_blank_text_answers_nothing(app: &mut TestApp) {
        let api = app.agent();
        let data = json!([{"data": {"question": "Which city?", "responseType": "text", "timeoutSeconds": 600}}]);
        let id = Rpc(&api).asks("m", data).await["id"].as_str().unwrap().to_owned();
        let operator = app.operator();
        for (number, blank) in [" ", "\n\t", "\u{2003}"].into_iter().enumerate() {
            let task = Rpc(&operator).result("SendMessage", says(&id, &format!("n-{number}"), &text(blank))).await["task"].clone();
            assert_eq!(state(&task), "TASK_STATE_AUTH_REQUIRED", "{blank:?}");
        }
        let task = Rpc(&operator).result("SendMessage", says(&id, "n", &text(" Ulm "))).await["task"].clone();
        assert_eq!(task["artifacts"][0]["parts"][0]["data"]["value"], " Ulm ");
    }

    /// A person decides from what the agent gives: those who may answer see all of it, in the text and under the extension as data.
    async fn those_who_may_answer_see_what_they_decide_from(app: &mut TestApp) {
        let api = app.agent();
        let data = json!([{"data": {"question": "Refund?", "responseType": "confirm", "timeoutSeconds": 600,
            "context": {"order": "12345", "items": 3}, "risk": "high", "proposal": {"amount": "412.00 EUR"}}}]);
        let id = Rpc(&api).asks("m", data).await["id"].as_str().unwrap().to_owned();
        let words = |task: &Value| task["status"]["message"]["parts"][0]["text"].as_str().unwrap().to_owned();
        let (operator, admin) = (app.operator(), app.api(Role::Admin));
        let shown = words(&Rpc(&operator).task(&id).await);
        for fact in ["Risk: high", "- order: 12345", "- items: 3", "- amount: 412.00 EUR"] {
            assert!(shown.contains(fact), "{fact}: {shown}");
        }
        for key in [&api, &admin] {
            assert!(!words(&Rpc(key).task(&id).await).contains("412.00"), "it cannot answer, so it decides nothing");
        }
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": id}});
        let request = operator.request("POST", "a2a").header("a2a-version", "1.0").header("a2a-extensions", "urn:placet:a2a:question:v1");
        let facts = operator.send(request.json(&call)).await.ok()["result"]["status"]["message"]["parts"][1]["data"].clone();
        assert_eq!((&facts["context"]["items"], &facts["risk"], &facts["proposal"]["amount"]), (&json!(3), &json!("high"), &json!("412.00 EUR")));
        assert!(facts["actionDigest"].as_str().unwrap().starts_with("sha256:"), "{facts}");
    }

    /// A client gets the parts that it takes.
    async fn a_client_gets_the_media_types_that_it_takes(app: &mut TestApp) {
        let api = app.agent();
        for (accepted, wanted) in [(json!(["text/plain"]), "text"), (json!(["application/json", "image/png"]), "data"), (json!(["*/*"]), "both")] {
            let id = Rpc(&api).asked(wanted).await;
            let mut said = says(&id, &format!("n-{wanted}"), &text("yes"));
            said["configuration"] = json!({"acceptedOutputModes": accepted});
            let parts = Rpc(&app.operator()).result("SendMessage", said).await["task"]["artifacts"][0]["parts"].clone();
            let has = |member: &str| parts.as_array().unwrap().iter().any(|part| part[member] != Value::Null);
            assert_eq!((has("text"), has("data")), (wanted != "data", wanted != "text"), "{accepted}");
        }
    }

    /// A message to an agent at work is an event of its log: the same message is one event, and it is no answer to anything.
    async fn words_to_an_agent_at_work_are_an_event_for_it(app: &mut TestApp) {
        let (api, operator) = (app.agent(), app.operator());
        let intent = api.active_intent().await;
        let id = intent.to_string();
        let mut said = says(&id, "n-1", &text("Please hurry."));
        said["configuration"] = json!({"returnImmediately": true});
        let task = Rpc(&operator).result("SendMessage", said.clone()).await["task"].clone();
        assert_eq!(state(&task), "TASK_STATE_WORKING");
        let told = task["history"].as_array().unwrap().last().unwrap().clone();
        assert_eq!((&told["messageId"], &told["role"], &told["parts"][0]["text"]), (&json!("n-1"), &json!("ROLE_USER"), &json!("Please hurry.")));
        app.restart().await;
        let (api, operator) = (app.agent(), app.operator());
        Rpc(&operator).result("SendMessage", said).await;
        // A client of OpenIntent knows events of this type.
        let events = api.get(&format!("api/v1/intents/{id}/events?event_type=comment")).await.ok();
        let payloads: Vec<_> = events.as_array().unwrap().iter().map(|event| event["payload"].clone()).collect();
        assert_eq!(payloads, [json!({"text": "Please hurry.", "message_id": "n-1", "via": "a2a"})]);
        for (key, parts, code) in [
            (&operator, text("  "), -32004),
            (&operator, json!([{"data": {"value": 1}}]), -32004),
            (&app.api(Role::Admin), text("Stop."), -32043),
        ] {
            assert_eq!(Rpc(key).error("SendMessage", says(&id, "n-2", &parts)).await.1, code, "{parts}");
        }
        let draft = api.post("api/v1/intents", json!({"title": "t"})).await.ok()["id"].as_str().unwrap().to_owned();
        for silent in [draft, api.completed_intent().await.to_string()] {
            assert_eq!(Rpc(&operator).error("SendMessage", says(&silent, "n-3", &text("Hello?"))).await.1, -32004);
        }
        assert_eq!(api.status(intent).await, "active");
    }

    /// A call that waits is answered as soon as the work needs something.
    async fn a_message_to_an_agent_at_work_waits_until_it_asks(app: &mut TestApp) {
        let (api, operator) = (app.agent(), app.operator());
        let intent = api.active_intent().await;
        let id = intent.to_string();
        let rpc = Rpc(&operator);
        let waits = rpc.result("SendMessage", says(&id, "n-1", &text("Please hurry.")));
        let asks = async {
            while api.get(&format!("api/v1/intents/{id}/events?event_type=comment")).await.ok() == json!([]) {
                tokio::task::yield_now().await;
            }
            api.asked(intent).await
        };
        let (task, question) = futures_util::future::join(waits, asks).await;
        assert_eq!(state(&task["task"]), "TASK_STATE_INPUT_REQUIRED");
        app.operator().respond(intent, &question, "approve").await.ok();
        // It ends as well if the work ends.
        let waits = rpc.result("SendMessage", says(&id, "n-2", &text("Thank you.")));
        let ends = async {
            while api.get(&format!("api/v1/intents/{id}/events?event_type=comment")).await.ok().as_array().unwrap().len() < 2 {
                tokio::task::yield_now().await;
            }
            api.complete(intent).await;
        };
        let (task, ()) = futures_util::future::join(waits, ends).await;
        assert_eq!(state(&task["task"]), "TASK_STATE_COMPLETED");
    }

    /// A gateway carries the words of a person, so it answers by naming that person.
    async fn a_gateway_answers_in_the_name_of_a_person(app: &mut TestApp) {
        let api = app.agent();
        let id = Rpc(&api).asked("m").await;
        let gateway = app.api(Role::Channel);
        let answer = |message: &str, data: Value| says(&id, message, &json!([{"data": data}]));
        let unnamed = Rpc(&gateway).call("SendMessage", answer("n-1", json!({"value": "yes"}))).await.ok();
        assert_eq!((&unnamed["error"]["code"], &unnamed["error"]["data"][1]["fieldViolations"][0]["field"]), (&json!(-32602), &json!("respondedBy")));
        let named = answer("n-2", json!({"value": "no", "respondedBy": "ada@example.com"}));
        let task = Rpc(&gateway).result("SendMessage", named).await["task"].clone();
        let decision = &task["artifacts"][0]["parts"][0]["data"];
        assert_eq!((&decision["value"], &decision["respondedBy"]), (&json!("no"), &json!("ada@example.com")));
    }
}
