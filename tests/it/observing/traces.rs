//! The spans that a trace collector gets.

use harness::app::TestApp;
use harness::collector::Collector;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use serde_json::json;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

async fn traced() -> (TestApp, Collector) {
    let collector = Collector::start().await;
    let app = TestApp::start_with(|config| config.otlp_endpoint = Some(collector.url())).await;
    (app, collector)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// The text of an attribute, or an empty one if it is missing.
fn attribute(span: &Span, key: &str) -> String {
    let found = span.attributes.iter().find(|attribute| attribute.key == key);
    match found.and_then(|attribute| attribute.value.clone()?.value) {
        Some(Value::StringValue(text)) => text,
        _ => String::new(),
    }
}

/// Days may lie between a question and its answer. They are two traces with a link from the second to the first, even across a
/// restart.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn resume_links_to_suspend_over_a_restart() {
    let (mut app, collector) = traced().await;
    let (agent, operator) = (app.agent(), app.operator());
    let intent = agent.active_intent().await;
    let id = agent.asked(intent).await;
    app.restart().await;
    operator.respond(intent, &id, "approve").await.ok();
    operator.respond(intent, &id, "approve").await; // This answer is refused and makes no span.
    app.finish().await;

    let (suspends, resumes) = (collector.spans("suspend"), collector.spans("resume"));
    let ([suspend], [resume]) = (&suspends[..], &resumes[..]) else { panic!("{}", collector.said()) };
    assert_ne!(suspend.trace_id, resume.trace_id);
    assert!(suspend.links.is_empty() && suspend.parent_span_id.is_empty() && resume.parent_span_id.is_empty());
    let [link] = &resume.links[..] else { panic!("{resume:?}") };
    assert_eq!((&link.trace_id, &link.span_id), (&suspend.trace_id, &suspend.span_id));
    assert!(suspend.start_time_unix_nano > 0 && suspend.end_time_unix_nano >= suspend.start_time_unix_nano);
    for span in [suspend, resume] {
        assert_eq!(attribute(span, "intent.id"), intent.to_string());
    }
    assert_eq!(attribute(resume, "placet.outcome"), "answered");
    assert_eq!(attribute(resume, "placet.method"), "api_key");
    assert!(collector.requests().iter().all(|request| request == "POST /v1/traces HTTP/1.1"));
}

/// If the agent's request is traced, the question is in the agent's trace. If that trace is not sampled, the question is not
/// exported.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn suspend_joins_the_trace_of_who_asks() {
    let (app, collector) = traced().await;
    let agent = app.agent();
    for flags in ["01", "00"] {
        let intent = agent.active_intent().await;
        let request = agent.request("POST", &format!("api/v1/intents/{intent}/suspend"));
        let question = json!({"question": "Go on?", "response_type": "text", "timeout_seconds": 60});
        let request = request.header("traceparent", format!("00-{TRACE}-{PARENT}-{flags}")).json(&question);
        agent.send(request).await.ok();
    }
    app.settle().await;
    app.advance(60).await;
    app.finish().await;
    let suspends = collector.spans("suspend");
    let [suspend] = &suspends[..] else { panic!("{}", collector.said()) };
    assert_eq!((hex(&suspend.trace_id).as_str(), hex(&suspend.parent_span_id).as_str()), (TRACE, PARENT));
    let resumes = collector.spans("resume");
    let [resume] = &resumes[..] else { panic!("{}", collector.said()) };
    assert_eq!(attribute(resume, "placet.outcome"), "expired_failed");
    assert_eq!(attribute(resume, "placet.method"), "server");
    assert_eq!(hex(&resume.links[0].trace_id), TRACE);
    assert_ne!(hex(&resume.trace_id), TRACE, "what time ended is in a trace of its own");
}

/// The end of a stop is a trace of its own, with links to the span of its beginning and to that in which its caller worked: a day may lie
/// between them, and a restart. Neither span has words of callers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_stop_links_to_its_beginning_and_to_the_work_of_its_caller() {
    let (mut app, collector) = traced().await;
    let (agent, operator) = (app.agent(), app.operator());
    let intent = agent.active_intent().await;
    let request = operator.request("POST", &format!("api/v1/intents/{intent}/pause"));
    let request =
        request.header("traceparent", format!("00-{TRACE}-{PARENT}-01")).json(&json!({"reason": "The supplier is checked."}));
    let id = operator.send(request).await.ok()["id"].as_str().unwrap().to_owned();
    app.restart().await;
    let request = operator.request("POST", &format!("api/v1/suspensions/{id}/resume"));
    let request = request.header("traceparent", "00-00000000000000000000000000000001-0000000000000001-01");
    operator.send(request.json(&json!({"input": "It is fine.", "continue_transcript": false}))).await.ok();
    // A park that is closed, by callers without a trace.
    let body = json!({"reason": "r", "conditions": {"on_event": "x"}});
    agent.post(&format!("api/v1/intents/{intent}/park"), body).await.ok();
    let version = agent.intent(intent).await["version"].to_string();
    agent.post_at(&format!("api/v1/intents/{intent}/status"), &version, json!({"status": "abandoned"})).await.ok();
    app.finish().await;

    let (suspends, resumes) = (collector.spans("suspend"), collector.spans("resume"));
    let ([paused, parked], [went_on, closed]) = (&suspends[..], &resumes[..]) else { panic!("{}", collector.said()) };
    assert_eq!((hex(&paused.trace_id).as_str(), hex(&paused.parent_span_id).as_str()), (TRACE, PARENT));
    assert!(went_on.parent_span_id.is_empty(), "it is a root");
    assert!(hex(&went_on.trace_id) != TRACE && hex(&went_on.trace_id) != format!("{:032x}", 1));
    let [own, pipeline] = &went_on.links[..] else { panic!("{went_on:?}") };
    assert_eq!((&own.trace_id, &own.span_id), (&paused.trace_id, &paused.span_id));
    assert_eq!((hex(&pipeline.trace_id).as_str(), hex(&pipeline.span_id).as_str()), (TRACE, PARENT));
    let kinds: Vec<_> = went_on.links.iter().map(|link| link.attributes[0].value.clone().unwrap().value.unwrap()).collect();
    assert_eq!(kinds, [Value::StringValue("suspension".into()), Value::StringValue("pipeline".into())]);
    assert_eq!(closed.links.len(), 1);
    for (span, initiator, kind) in [(paused, "operator", "paused"), (parked, "self", "parked")] {
        assert_eq!((attribute(span, "harn.initiator").as_str(), attribute(span, "harn.kind").as_str()), (initiator, kind));
    }
    assert_eq!(
        (attribute(went_on, "harn.cause").as_str(), attribute(closed, "harn.cause").as_str()),
        ("explicit_resume", "closed")
    );
    let flag = |span: &Span, key: &str| {
        let found = span.attributes.iter().find(|attribute| attribute.key == key).unwrap();
        found.value.clone().unwrap().value.unwrap()
    };
    assert_eq!(
        (flag(paused, "harn.has_reason"), flag(paused, "harn.has_conditions")),
        (Value::BoolValue(true), Value::BoolValue(false))
    );
    assert_eq!(
        (flag(went_on, "harn.had_resume_input"), flag(went_on, "harn.continue_transcript")),
        (Value::BoolValue(true), Value::BoolValue(false))
    );
    assert_eq!(flag(went_on, "harn.linked_suspension_count"), Value::IntValue(1));
    assert_eq!((attribute(paused, "harn.handle"), attribute(went_on, "harn.handle")), (id.clone(), id));
    let said = collector.said();
    for word in ["supplier", "fine", "test-operator", "test-agent"] {
        assert!(!said.contains(word), "{word} in {said}");
    }
}

/// A collector belongs to another party, so spans hold no text of agents or people and no id that gives access.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spans_hold_no_secret_and_no_text() {
    let (app, collector) = traced().await;
    let agent = app.agent();
    let intent = agent.active_intent().await;
    let id = agent.asked(intent).await;
    app.settle().await;
    let link = app.next_link().await;
    app.person().answer(&link, "deny").await;
    let key = agent.key().to_owned();
    let token = link.rsplit('/').next().unwrap().to_owned();
    app.finish().await;
    assert_eq!(attribute(&collector.spans("resume")[0], "placet.method"), "email_link");
    let said = collector.said();
    for word in [id.as_str(), &key, &token, "Refund", "deny", "Deny", "example.com", "test-agent"] {
        assert!(!said.contains(word), "{word} in {said}");
    }
    assert!(said.contains("service.name") && said.contains(&intent.to_string()));
}
