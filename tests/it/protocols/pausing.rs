//! Pause, resume and park by A2A: an extension that only those see who name it.

use domain::people::principal::Role;
use harness::api::{Api, Reply};
use harness::on_each_store;
use serde_json::{Value, json};

use super::following::Items;
use super::{Rpc, says, state};
use crate::lifecycle::pausing::set_status;

const PAUSE: &str = "urn:placet:a2a:pause:v1";
const PAUSED_STATE: &str = "urn:placet:a2a:paused-state:v1";

/// Calls a method of JSON-RPC with these extensions.
async fn call(api: &Api, extensions: &str, method: &str, params: Value) -> Reply {
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let request = api.request("POST", "a2a").header("a2a-version", "1.0").header("a2a-extensions", extensions);
    api.send(request.json(&call)).await
}

/// The result of a call that succeeds.
async fn done(api: &Api, method: &str, params: Value) -> Value {
    let reply = call(api, PAUSE, method, params).await.ok();
    assert!(reply["error"].is_null(), "{method}: {reply}");
    reply["result"].clone()
}

/// The error of a call that fails.
async fn error(api: &Api, method: &str, params: Value) -> Value {
    call(api, PAUSE, method, params).await.body["error"].clone()
}

/// The code and the reason of a call that fails.
async fn failed(api: &Api, method: &str, params: Value) -> (i64, String) {
    let error = error(api, method, params).await;
    (error["code"].as_i64().unwrap_or_default(), error["data"][0]["reason"].as_str().unwrap_or_default().to_owned())
}

/// The members that break a rule, each with its words.
fn violations(error: &Value) -> Vec<(&str, &str)> {
    let listed = error["data"][1]["fieldViolations"].as_array().map(Vec::as_slice).unwrap_or_default();
    listed
        .iter()
        .map(|one| (one["field"].as_str().unwrap_or_default(), one["description"].as_str().unwrap_or_default()))
        .collect()
}

/// The words of the status of a task.
fn words(task: &Value) -> &str {
    task["status"]["message"]["parts"][0]["text"].as_str().unwrap_or_default()
}

/// The task as a client with these extensions sees it.
async fn seen(api: &Api, extensions: &str, id: &str) -> Value {
    call(api, extensions, "GetTask", json!({"id": id})).await.ok()["result"].clone()
}

on_each_store! {
    /// The reply to a call that stops work, or lets it go on, has as many messages as that to a call which reads it. A conversation may be
    /// long, and other writes do not wait until it was read.
    async fn the_reply_to_a_stop_has_at_most_a_thousand_messages(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let id = agent.active_intent().await.to_string();
        for number in 0..1_001 {
            let said = json!({"event_type": "comment", "payload": {"text": number.to_string()}});
            agent.post(&format!("api/v1/intents/{id}/events"), said).await.ok();
        }
        let paused = done(&operator, "PauseTask", json!({"taskId": id})).await;
        let resumed = done(&operator, "ResumeTask", json!({"taskId": id})).await;
        let read = seen(&operator, PAUSE, &id).await["history"].clone();
        assert_eq!((read.as_array().unwrap().len(), &read[999]["parts"][0]["text"]), (1_000, &json!("1000")));
        assert_eq!((&paused["history"], &resumed["history"]), (&read, &read));
        let mut told = says(&id, "m", &json!([{"text": "Hello"}]));
        told["configuration"] = json!({"returnImmediately": true, "historyLength": 2});
        let told = Rpc(&operator).result("SendMessage", told).await["task"]["history"].clone();
        let texts: Vec<&Value> = told.as_array().unwrap().iter().map(|message| &message["parts"][0]["text"]).collect();
        assert_eq!(texts, ["1000", "Hello"]);
    }

    /// A whole pause in the words of the proposal, with a restart in the middle: the handle is kept in no memory, only those who may let
    /// the work go on see it, and it counts once.
    async fn work_is_paused_and_goes_on_in_the_words_of_the_proposal(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let id = agent.active_intent().await.to_string();
        let paused = done(&operator, "tasks/pause", json!({"taskId": id, "reason": "operator review", "mode": "finish_step", "metadata": {}})).await;
        assert_eq!((&paused["taskId"], &paused["state"], &paused["reason"]), (&json!(id), &json!("paused-by-client"), &json!("operator review")));
        assert_eq!((&paused["pausedAt"], &paused["initiator"]), (&json!("2026-11-24T08:00:00.000Z"), &json!("client")));
        let handle = paused["handle"].as_str().unwrap().to_owned();
        assert_eq!(done(&operator, "tasks/pause", json!({"taskId": id})).await, paused, "a second pause is the first one");
        app.restart().await;
        let (agent, operator) = (app.agent(), app.operator());
        let shown = seen(&agent, PAUSE, &id).await;
        assert!(!shown.to_string().contains(&handle), "the agent gets no handle: {shown}");
        assert_eq!(shown["metadata"][PAUSE]["state"], "paused-by-client");
        let resume = |handle: &str| json!({"taskId": id, "handle": handle, "input": "go on", "continueTranscript": false});
        assert_eq!(failed(&agent, "tasks/resume", resume(&handle)).await, (-32043, "forbidden".into()));
        let (_, other) = app.agent().ask(json!({})).await;
        assert_eq!(failed(&operator, "tasks/resume", resume(&other)).await, (-32012, "suspension_mismatch".into()));
        assert_eq!(failed(&operator, "tasks/resume", resume("no-handle")).await, (-32012, "suspension_mismatch".into()));
        app.advance(5).await;
        let resumed = done(&operator, "tasks/resume", resume(&handle)).await;
        assert_eq!(resumed, json!({"taskId": id, "state": "working", "previousState": "paused-by-client", "cause": "explicit_resume",
            "hadResumeInput": true, "continueTranscript": false, "resumedAt": "2026-11-24T08:00:05.000Z"}));
        assert_eq!(failed(&operator, "tasks/resume", resume(&handle)).await, (-32012, "already_resolved".into()));
        assert_eq!(failed(&operator, "tasks/resume", json!({"taskId": id})).await, (-32011, "not_suspended".into()));
        assert_eq!(agent.status(id.parse().unwrap()).await, "active");
    }

    /// The same in the words of the revision: other codes, and the task as the result.
    async fn work_is_paused_and_goes_on_in_the_words_of_the_revision(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let id = agent.active_intent().await.to_string();
        let task = done(&operator, "PauseTask", json!({"taskId": id, "reason": "Wait."})).await;
        assert_eq!((state(&task), &task["id"]), ("TASK_STATE_WORKING", &json!(id)));
        let pause = task["status"]["pause"].clone();
        let token = pause["resumeToken"].as_str().unwrap().to_owned();
        assert_eq!(pause, json!({"initiatedBy": "PAUSE_INITIATOR_CLIENT", "reason": "Wait.", "pausedAt": "2026-11-24T08:00:00.000Z",
            "resumeToken": token, "resumable": true}));
        let path = format!("a2a/tasks/{id}:resume");
        let resume = |token: &str| {
            let request = operator.request("POST", &path).header("a2a-version", "1.0").header("a2a-extensions", PAUSE);
            operator.send(request.json(&json!({"resumeToken": token})))
        };
        let wrong = resume("other").await;
        assert_eq!((wrong.status, &wrong.body["error"]["details"][0]["reason"]), (409, &json!("suspension_mismatch")));
        let task = resume(&token).await.ok();
        assert_eq!((state(&task), &task["status"]["pause"]), ("TASK_STATE_WORKING", &Value::Null));
        assert_eq!(failed(&operator, "ResumeTask", json!({"taskId": id, "resumeToken": token})).await, (-32011, "already_resolved".into()));
        let unknown = "01a20114-994c-7e8e-b24b-975054fd6315";
        agent.complete(id.parse().unwrap()).await;
        for (method, words) in [("tasks/pause", -32011), ("PauseTask", -32010), ("tasks/await_resumption", -32011), ("AwaitTaskResumption", -32010)] {
            let by = if method.to_lowercase().contains("await") { &agent } else { &operator };
            assert_eq!(failed(by, method, json!({"taskId": id, "reason": "r"})).await.0, words, "{method}");
            assert_eq!(failed(by, method, json!({"taskId": unknown, "reason": "r"})).await, (-32001, "TASK_NOT_FOUND".into()));
        }
        assert_eq!(failed(&operator, "PauseTask", json!({"taskId": id, "mode": "now"})).await.0, -32602);
    }

    /// The state of stopped work depends on what the client knows: a client that named nothing reads a state that it knows.
    async fn each_client_sees_a_stop_in_its_words(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let id = agent.active_intent().await.to_string();
        done(&operator, "PauseTask", json!({"taskId": id})).await;
        for (extensions, wanted, described) in [
            ("", "TASK_STATE_WORKING", false),
            ("urn:example:other", "TASK_STATE_WORKING", false),
            (PAUSE, "TASK_STATE_WORKING", true),
            (PAUSED_STATE, "TASK_STATE_PAUSED", true),
            ("urn:placet:a2a:pause:v1, urn:placet:a2a:paused-state:v1", "TASK_STATE_PAUSED", true),
        ] {
            let task = seen(&agent, extensions, &id).await;
            assert_eq!((state(&task), task["status"]["pause"].is_object()), (wanted, described), "{extensions}");
            assert!(task["status"]["message"]["parts"][0]["text"].as_str().unwrap().contains("paused"), "{task}");
        }
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": id}});
        let earlier = agent.send(agent.request("POST", "a2a").header("a2a-extensions", PAUSED_STATE).json(&call)).await.ok();
        assert_eq!(earlier["result"]["status"]["state"], "paused-by-client");
        // The proposal is written in the names of 0.3, so a client of that version has it as well.
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/resume", "params": {"taskId": id}});
        let earlier = operator.send(operator.request("POST", "a2a").header("a2a-extensions", PAUSE).json(&call)).await.ok();
        assert_eq!(earlier["result"]["state"], "working");
    }

    /// A client that names no extension has none of its calls, and the card says which there are.
    async fn the_calls_are_there_for_those_who_name_the_extension(app: &mut TestApp) {
        let (agent, operator, anonymous) = (app.agent(), app.operator(), app.anonymous());
        let id = agent.active_intent().await.to_string();
        for method in ["tasks/pause", "PauseTask", "tasks/resume", "ResumeTask", "tasks/await_resumption", "AwaitTaskResumption"] {
            assert_eq!(call(&operator, "urn:placet:a2a:question:v1", method, json!({"taskId": id})).await.ok()["error"]["code"], -32601);
        }
        for verb in ["pause", "resume", "awaitResumption"] {
            let request = operator.request("POST", &format!("a2a/tasks/{id}:{verb}")).header("a2a-version", "1.0");
            let refused = operator.send(request.json(&json!({}))).await;
            assert_eq!((refused.status, &refused.body["error"]["details"][0]["reason"]), (404, &json!("METHOD_NOT_FOUND")), "{verb}");
        }
        assert_eq!(agent.status(id.parse().unwrap()).await, "active");
        let named = call(&operator, "urn:placet:a2a:pause:v1,urn:placet:a2a:question:v1,urn:x", "PauseTask", json!({"taskId": id})).await;
        assert_eq!(named.headers["a2a-extensions"], "urn:placet:a2a:question:v1, urn:placet:a2a:pause:v1");
        let card = async |extensions: &str| {
            let request = anonymous.request("GET", ".well-known/agent-card.json").header("a2a-extensions", extensions);
            anonymous.send(request).await
        };
        let plain = card("").await;
        assert!(plain.body["capabilities"]["supportsPause"].is_null(), "a strict parser refuses it: {}", plain.text);
        let declared = plain.body["capabilities"]["extensions"].as_array().unwrap().clone();
        let pause = declared.iter().find(|extension| extension["uri"] == PAUSE).unwrap();
        assert_eq!((&pause["required"], &pause["params"]["modes"][0]), (&json!(false), &json!("finish_step")));
        assert!(declared.iter().any(|extension| extension["uri"] == PAUSED_STATE));
        let flat = card(PAUSE).await;
        assert_eq!((&flat.body["capabilities"]["supportsPause"], &flat.headers["vary"].to_str().unwrap().to_lowercase()), (&json!(true), &"a2a-extensions".to_owned()));
        assert_ne!(flat.headers["etag"], plain.headers["etag"]);
    }

    /// The working agent parks itself, and an event lets it go on. The conditions keep the rules and the errors of the API.
    async fn an_agent_parks_itself_until_an_event_comes(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let id = agent.active_intent().await.to_string();
        let park = |conditions: Value| json!({"taskId": id, "reason": "waiting on ci/build:1234", "conditions": conditions});
        let wrong = call(&agent, PAUSE, "tasks/await_resumption", park(json!({"timeout": {"durationMinutes": 0}, "when": 1}))).await.body;
        let fields: Vec<_> = wrong["error"]["data"][1]["fieldViolations"].as_array().unwrap().iter().map(|one| one["field"].clone()).collect();
        assert_eq!((&wrong["error"]["code"], &fields), (&json!(-32602), &vec![json!("conditions.when"), json!("conditions.timeout.durationMinutes")]));
        let conditions = json!({"onEvent": "ci.build.completed:1234", "timeout": {"durationMinutes": 30, "onTimeout": "fail"}});
        assert_eq!(failed(&operator, "AwaitTaskResumption", park(conditions.clone())).await, (-32043, "forbidden".into()));
        let parked = done(&agent, "tasks/await_resumption", park(conditions.clone())).await;
        assert_eq!((&parked["state"], &parked["conditions"]), (&json!("paused-by-agent"), &conditions));
        assert!(parked["handle"].is_string(), "the agent may resume what it has parked");
        assert_eq!(done(&agent, "tasks/await_resumption", park(conditions.clone())).await, parked, "a second call is the first one");
        let other = park(json!({"onEvent": "another"}));
        assert_eq!(failed(&agent, "tasks/await_resumption", other.clone()).await, (-32011, "not_active".into()));
        assert_eq!(failed(&agent, "AwaitTaskResumption", other).await, (-32010, "not_active".into()));
        let told = seen(&agent, "", &id).await;
        assert!(words(&told).ends_with("The work waits until 2026-11-24T08:30:00.000Z at the latest; then the work is given up."), "{told}");
        app.restart().await;
        let (agent, operator) = (app.agent(), app.operator());
        let pause = seen(&operator, PAUSED_STATE, &id).await["status"]["pause"].clone();
        assert_eq!((&pause["initiatedBy"], &pause["resumeMode"]), (&json!("PAUSE_INITIATOR_AGENT"), &json!("RESUME_MODE_EXTERNAL_EVENT")));
        assert_eq!(pause["pausedUntil"], "2026-11-24T08:30:00.000Z");
        assert_eq!(failed(&operator, "PauseTask", json!({"taskId": id})).await, (-32010, "not_active".into()));
        operator.post("api/v1/events", json!({"name": "ci.build.completed:1234"})).await.ok();
        assert_eq!(state(&seen(&agent, PAUSED_STATE, &id).await), "TASK_STATE_WORKING");
        assert_eq!(agent.status(id.parse().unwrap()).await, "active");
    }

    /// The input of a resumption is an answer where a question is open: the same rules, and the asker never.
    async fn an_input_answers_the_question_that_is_open(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let (intent, question) = agent.ask(json!({})).await;
        let id = intent.to_string();
        let resume = |input: &str| json!({"taskId": id, "handle": question, "input": input});
        assert_eq!(failed(&agent, "tasks/resume", resume("approve")).await, (-32043, "self_response".into()));
        assert_eq!(failed(&operator, "tasks/resume", resume("perhaps")).await.0, -32602);
        assert_eq!(failed(&operator, "tasks/resume", json!({"taskId": id})).await, (-32011, "not_suspended".into()));
        assert_eq!(failed(&operator, "PauseTask", json!({"taskId": id})).await, (-32010, "not_active".into()));
        let other = json!({"taskId": id, "resumeToken": "6d1f", "input": "approve"});
        assert_eq!(failed(&operator, "ResumeTask", other).await, (-32011, "suspension_mismatch".into()));
        let answered = done(&operator, "tasks/resume", resume("approve")).await;
        assert_eq!((&answered["state"], &answered["previousState"]), (&json!("working"), &json!("input-required")));
        let events = agent.events(intent).await;
        let resumed = events.iter().find(|event| event["event_type"] == "intent.resumed").unwrap();
        assert_eq!((&resumed["payload"]["via"], &resumed["payload"]["value"]), (&json!("a2a"), &json!("approve")));
    }

    /// A stream tells a stop once, and its end with the reason; a message does not lift it.
    async fn a_stream_tells_that_work_is_stopped_and_goes_on(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let id = agent.active_intent().await.to_string();
        let mut items = Items::open(&agent, "SubscribeToTask", json!({"id": id})).await;
        assert_eq!(state(&items.next().await.unwrap()["task"]), "TASK_STATE_WORKING");
        done(&operator, "tasks/pause", json!({"taskId": id, "reason": "Wait."})).await;
        let told = items.next().await.unwrap()["statusUpdate"].clone();
        assert_eq!((state(&told), &told["metadata"][PAUSE]["reason"]), ("TASK_STATE_WORKING", &json!("Wait.")));
        assert!(told["status"]["pause"].is_null() && told["metadata"][PAUSE]["handle"].is_null(), "{told}");
        let mut late = Items::open(&operator, "SubscribeToTask", json!({"id": id})).await;
        assert!(late.next().await.unwrap()["task"]["metadata"][PAUSE]["handle"].is_string());
        assert_eq!(Rpc(&operator).error("SendMessage", says(&id, "n", &json!([{"text": "approve"}]))).await.1, -32004);
        done(&operator, "tasks/resume", json!({"taskId": id})).await;
        let told = items.next().await.unwrap()["statusUpdate"].clone();
        assert_eq!(told["metadata"][PAUSE]["cause"], "explicit_resume");
        assert_eq!(late.next().await.unwrap()["statusUpdate"], told, "all streams tell the same");
        agent.complete(id.parse().unwrap()).await;
        assert_eq!(items.next().await.unwrap()["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
    }

    /// The agent above pauses the work of another without reading it, and lets go on what it has paused itself.
    async fn the_agent_above_sees_the_stop_and_nothing_else(app: &mut TestApp) {
        let boss = Api::new(&app.base, Some(&app.new_key(Role::Agent, "boss").await));
        let agent = app.agent();
        let parent = boss.active_intent().await;
        let grant = json!({"principal_id": "test-agent", "permission": "write"});
        boss.post(&format!("api/v1/intents/{parent}/acl/entries"), grant).await.ok();
        let child = agent.post(&format!("api/v1/intents/{parent}/children"), json!({"title": "part", "status": "active"})).await.ok();
        let id = child["id"].as_str().unwrap().to_owned();
        let asked = agent.post(&format!("api/v1/intents/{id}/approvals"), json!({"action": "a secret action"})).await;
        assert_eq!(asked.status, 200);
        let task = done(&boss, "PauseTask", json!({"taskId": id})).await;
        assert!(!task.to_string().contains("secret"), "{task}");
        let token = task["status"]["pause"]["resumeToken"].clone();
        let stranger = Api::new(&app.base, Some(&app.new_key(Role::Agent, "stranger").await));
        assert_eq!(failed(&stranger, "ResumeTask", json!({"taskId": id, "resumeToken": token})).await, (-32001, "TASK_NOT_FOUND".into()));
        assert_eq!(failed(&agent, "ResumeTask", json!({"taskId": id, "resumeToken": token})).await.0, -32043);
        assert_eq!(state(&done(&boss, "ResumeTask", json!({"taskId": id, "resumeToken": token})).await), "TASK_STATE_WORKING");
    }

    /// Work that is being ended never goes on, so no client gets a handle of it, and each one reads why it ends and when.
    async fn work_that_is_being_ended_is_offered_to_no_client(app: &mut TestApp) {
        let (agent, operator, admin) = (app.agent(), app.operator(), app.api(Role::Admin));
        let id = agent.active_intent().await.to_string();
        let follow = json!({"jsonrpc": "2.0", "id": "s", "method": "SubscribeToTask", "params": {"id": id}});
        let mut streams = Vec::new();
        for (api, extensions) in [(&agent, ""), (&operator, ""), (&operator, PAUSE), (&agent, PAUSED_STATE)] {
            let request = api.request("POST", "a2a").header("a2a-version", "1.0").header("a2a-extensions", extensions);
            let mut items = Items::of(request.json(&follow).send().await.unwrap());
            items.next().await.unwrap();
            streams.push(items);
        }
        let reason = json!({"reason": "Another team does it: https://team.example"});
        let record = operator.post(&format!("api/v1/intents/{id}/stop"), reason).await.ok();
        let (handle, ends_at) = (record["id"].as_str().unwrap().to_owned(), json!("2026-11-24T08:01:00.000Z"));
        let is_told = |told: &Value, is_described: bool| {
            assert!(!told.to_string().contains(&handle), "{told}");
            let wanted = "The work is being ended by another: “Another team does it: https[:]//team[.]example”\n\n\
                          It does not go on. Its agent may hand in what it has until 2026-11-24T08:01:00.000Z.";
            assert_eq!((words(told), &told["metadata"][PAUSE]["endsAt"]), (wanted, &ends_at), "{told}");
            let pause = &told["status"]["pause"];
            assert_eq!(pause.is_object(), is_described, "{told}");
            let described = if is_described { json!([false, ends_at, null]) } else { json!([null, null, null]) };
            assert_eq!(json!([pause["resumable"], pause["endsAt"], pause["pausedUntil"]]), described);
        };
        for (number, items) in streams.iter_mut().enumerate() {
            is_told(&items.next().await.unwrap()["statusUpdate"], number > 1);
        }
        for api in [&agent, &operator, &admin] {
            for extensions in ["", PAUSE, PAUSED_STATE, "urn:placet:a2a:pause:v1, urn:placet:a2a:paused-state:v1"] {
                is_told(&seen(api, extensions, &id).await, !extensions.is_empty());
            }
        }
        for (method, code) in [("tasks/resume", -32011), ("ResumeTask", -32010)] {
            for params in [json!({"taskId": id}), json!({"taskId": id, "handle": handle}), json!({"taskId": id, "input": "go on"})] {
                let refused = error(&operator, method, params).await;
                assert_eq!((&refused["code"], &refused["data"][0]["metadata"]["harn_code"]), (&json!(code), &json!("HARN-SUS-010")));
            }
        }

        agent.post(&format!("api/v1/suspensions/{handle}/settle"), json!({"handoff": {"left": "the invoice"}})).await.ok();
        let ended = "The work was ended by another: “Another team does it: https[:]//team[.]example”";
        for mut items in streams {
            let told = items.next().await.unwrap()["statusUpdate"].clone();
            assert_eq!((state(&told), words(&told)), ("TASK_STATE_FAILED", ended));
            assert_eq!(items.next().await, None);
        }
        app.restart().await;
        for api in [&app.agent(), &app.operator()] {
            let task = seen(api, PAUSE, &id).await;
            assert_eq!((state(&task), words(&task), &task["metadata"]), ("TASK_STATE_FAILED", ended, &Value::Null));
        }
    }

    /// A task says that another has ended its work, however that came about, and does not say so where its own agent gave the work up.
    async fn a_task_whose_work_was_ended_says_so(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let stop = async |id: &str, body: Value| drop(operator.post(&format!("api/v1/intents/{id}/stop"), body).await.ok());
        let silent = agent.active_intent().await.to_string();
        stop(&silent, json!({})).await;
        app.advance(60).await;
        let task = seen(&agent, "", &silent).await;
        assert_eq!((state(&task), words(&task)), ("TASK_STATE_FAILED", "The work was ended by another."));

        let (asking, _) = agent.ask(json!({})).await;
        let asking = asking.to_string();
        stop(&asking, json!({"graceful": false, "reason": "It is done."})).await;
        let task = seen(&agent, "", &asking).await;
        let withdrawn = "The question was withdrawn.\n\nThe work was ended by another: “It is done.”";
        assert_eq!((state(&task), words(&task)), ("TASK_STATE_CANCELED", withdrawn));

        let (asked_before, question) = agent.ask(json!({})).await;
        // Both happen at one time: the log tells what belongs together.
        agent.post(&format!("api/v1/suspensions/{question}/cancel"), json!({})).await.ok();
        let asked_before = asked_before.to_string();
        stop(&asked_before, json!({"graceful": false})).await;
        let task = seen(&agent, "", &asked_before).await;
        assert_eq!((state(&task), words(&task)), ("TASK_STATE_FAILED", "The work was ended by another."));

        let errand = Rpc(&agent).asked("m").await;
        stop(&errand, json!({"reason": "It is done."})).await;
        let listed = Rpc(&agent).result("ListTasks", json!({})).await["tasks"][0].clone();
        assert_eq!((&listed["id"], state(&listed), words(&listed)), (&json!(errand), "TASK_STATE_CANCELED", withdrawn));

        let given_up = agent.active_intent().await;
        set_status(&agent, given_up, "abandoned").await.ok();
        assert_eq!(words(&seen(&agent, "", &given_up.to_string()).await), "The work was given up.");
        let canceled = Rpc(&agent).asked("n").await;
        let canceled = Rpc(&agent).result("CancelTask", json!({"id": canceled})).await;
        assert_eq!(words(&canceled), "The question was withdrawn.");
    }

    /// A message to stopped work is refused, and its sender reads that the work is stopped, and how.
    async fn a_message_to_stopped_work_is_told_that_it_is_stopped(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        for (way, by, told) in [("pause", &operator, "is paused"), ("park", &agent, "is parked"), ("stop", &operator, "is being ended")] {
            let id = agent.active_intent().await.to_string();
            by.post(&format!("api/v1/intents/{id}/{way}"), json!({"reason": "r"})).await.ok();
            for (number, part) in [json!({"text": "Hurry."}), json!({"data": {"value": "approve"}})].into_iter().enumerate() {
                let said = says(&id, &format!("{way}-{number}"), &json!([part]));
                let refused = Rpc(&operator).call("SendMessage", said).await.ok()["error"].clone();
                assert_eq!((&refused["code"], &refused["data"][0]["reason"]), (&json!(-32004), &json!("UNSUPPORTED_OPERATION")));
                assert!(refused["message"].as_str().unwrap().contains(told), "{refused}");
            }
            let request = operator.request("POST", "a2a/message:send").header("a2a-version", "1.0");
            let said = says(&id, &format!("{way}-rest"), &json!([{"text": "Hurry."}]));
            assert_eq!(operator.send(request.json(&said)).await.status, 400);
        }
        let ended = agent.completed_intent().await.to_string();
        let refused = Rpc(&operator).call("SendMessage", says(&ended, "ended", &json!([{"text": "Hurry."}]))).await.ok()["error"].clone();
        assert!(refused["code"] == -32004 && refused["message"].as_str().unwrap().contains("it has ended"), "{refused}");
    }

    /// Where nothing is stopped, a resumption is refused in words of resuming, with the code of Harn, in both vocabularies.
    async fn a_resumption_without_a_stop_is_refused_with_the_code_of_harn(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let running = agent.active_intent().await.to_string();
        let draft = agent.post("api/v1/intents", json!({"title": "t"})).await.ok()["id"].as_str().unwrap().to_owned();
        let completed = agent.completed_intent().await.to_string();
        let given_up = agent.active_intent().await;
        set_status(&agent, given_up, "abandoned").await.ok();
        let errand = Rpc(&agent).asked("m").await;
        Rpc(&operator).result("SendMessage", says(&errand, "n", &json!([{"text": "yes"}]))).await;
        // Its question was announced, and has not come yet: it waits for a person.
        let caller = Api::new(&app.base, Some(&app.new_client_key("caller").await));
        let announced = caller.active_intent().await;
        set_status(&caller, announced, "suspended_awaiting_input").await.ok();
        let announced = announced.to_string();
        let (not_suspended, ended) = (("not_suspended", "HARN-SUS-003"), ("not_active", "HARN-SUS-010"));
        for (id, (reason, harn)) in [
            (running, not_suspended), (draft, not_suspended), (completed, ended), (given_up.to_string(), ended), (errand, ended),
            (announced.clone(), not_suspended),
        ] {
            for (method, code) in [("tasks/resume", -32011), ("ResumeTask", -32010)] {
                let foreign = "01a20114-994c-7e8e-b24b-975054fd6315";
                for params in [json!({"taskId": id}), json!({"taskId": id, "input": "go on"}), json!({"taskId": id, "handle": foreign})] {
                    let refused = error(&operator, method, params.clone()).await;
                    let info = &refused["data"][0];
                    assert_eq!((&refused["code"], &info["reason"]), (&json!(code), &json!(reason)), "{params} {refused}");
                    assert_eq!(info["metadata"]["harn_code"], harn, "{refused}");
                    let words = refused["message"].as_str().unwrap();
                    assert!(words.starts_with(harn) && words.contains("resume"), "{words}");
                    assert_eq!(words.contains("the suspension is a question"), id == announced, "{words}");
                }
            }
            let request = operator.request("POST", &format!("a2a/tasks/{id}:resume")).header("a2a-version", "1.0");
            let refused = operator.send(request.header("a2a-extensions", PAUSE).json(&json!({}))).await;
            assert_eq!((refused.status, &refused.body["error"]["details"][0]["reason"]), (400, &json!(reason)));
        }
    }

    /// The handle of a question counts once, as that of a pause does. An input that comes with it again is a late answer, and is in the log.
    async fn the_handle_of_a_question_counts_once(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let (intent, question) = agent.ask(json!({})).await;
        let errand = Rpc(&agent).asked("m").await;
        let asked = operator.get("api/v1/suspensions?limit=1").await.ok()["suspensions"][0]["id"].as_str().unwrap().to_owned();
        for (id, handle, answer) in [(intent.to_string(), question, "approve"), (errand, asked, "yes")] {
            let (bare, answering) = (json!({"taskId": id, "handle": handle}), json!({"taskId": id, "handle": handle, "input": answer}));
            done(&operator, "tasks/resume", answering.clone()).await;
            for (method, code) in [("tasks/resume", -32012), ("ResumeTask", -32011)] {
                for params in [&bare, &answering] {
                    assert_eq!(failed(&operator, method, params.clone()).await, (code, "already_resolved".into()), "{params}");
                }
            }
            let refused = error(&operator, "tasks/resume", bare).await;
            assert_eq!(refused["data"][0]["metadata"], json!({"harn_code": "HARN-SUS-003"}));
            let late = error(&operator, "tasks/resume", answering).await["data"][0]["metadata"].clone();
            assert_eq!(late, json!({"harn_code": "HARN-SUS-003", "resolution": "responded", "resolved_by": "test-operator"}));
            let types = agent.event_types(id.parse().unwrap()).await;
            assert_eq!(types.iter().filter(|of| *of == "intent.response_rejected").count(), 3, "{types:?}");
        }
    }

    /// A client that writes a name as the API does is told so at the place of the name, together with every other problem.
    async fn misspelt_conditions_are_told_at_their_places(app: &mut TestApp) {
        let agent = app.agent();
        let id = agent.active_intent().await.to_string();
        let park = |conditions: Value| json!({"taskId": id, "reason": " ", "conditions": conditions});
        let conditions = json!({"timeout": {"durationMinutes": 0, "on_timeout": "fail"}, "trigger": {"kind": "k", "provider": "placet", "match": {"event_names": []}}});
        for method in ["tasks/await_resumption", "AwaitTaskResumption"] {
            let refused = error(&agent, method, park(conditions.clone())).await;
            assert_eq!(refused["code"], -32602, "{refused}");
            let told = violations(&refused);
            let places: Vec<&str> = told.iter().map(|(place, _)| *place).collect();
            assert_eq!(places, [
                "reason", "conditions.trigger.match.event_names", "conditions.trigger.match.events", "conditions.timeout.on_timeout",
                "conditions.timeout.durationMinutes",
            ]);
            assert!(told[1..].iter().all(|(_, words)| words.starts_with("HARN-SUS-002: ")), "{told:?}");
            assert!(told[3].1.ends_with("ResumeConditions.timeout.on_timeout: unknown field; expected durationMinutes, onTimeout, or input"), "{told:?}");
            // The place is for programs, and the words are for people: nothing is hidden in them.
            let hidden = json!({"taskId": id, "reason": "r", "conditions": {"": 1, "a\u{202e}b\u{0}\n": 1}});
            let refused = error(&agent, method, hidden).await;
            let told = violations(&refused);
            assert_eq!((told[0].0, told[1].0), ("conditions.\"\"", "conditions.a\u{202e}b\u{0}\n"));
            let wanted = "HARN-SUS-002: invalid ResumeConditions.a⟨U+202E⟩b⟨U+0000⟩ : unknown field; expected trigger, timeout, or onEvent";
            assert_eq!(told[1].1, wanted);
            assert!(refused["message"].as_str().unwrap().ends_with(wanted), "{refused}");
        }
        assert_eq!(agent.status(id.parse().unwrap()).await, "active");
    }

    /// Two names of one handle are told both, with the rule.
    async fn a_handle_has_one_name_in_one_call(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let id = agent.active_intent().await.to_string();
        let token = done(&operator, "tasks/pause", json!({"taskId": id})).await["handle"].clone();
        for method in ["tasks/resume", "ResumeTask"] {
            let refused = error(&operator, method, json!({"taskId": id, "handle": token, "resumeToken": token})).await;
            let rule = |other: &str| format!("must be left out if {other} is there: they are two names of the same handle");
            let (handle, resume_token) = (rule("resumeToken"), rule("handle"));
            assert_eq!(violations(&refused), [("handle", &*handle), ("resumeToken", &*resume_token)]);
        }
        done(&operator, "tasks/resume", json!({"taskId": id, "handle": null, "resumeToken": token})).await;
    }
}
