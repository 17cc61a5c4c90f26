//! The SDK on the operator's side: what is open, and an answer to it.

use harness::on_each_store;
use placet::{CallError, Client, Question};
use serde_json::{Map, json};

on_each_store! {
    /// A reply that is lost on its way makes a careful client send its answer again. The second sending must neither fail nor count
    /// as another answer, and a different one must be told that it came too late.
    async fn an_answer_sent_twice_is_recorded_once(app: &mut TestApp) {
        let agent = app.client();
        let operator = Client::new(app.operator().base(), app.operator().key().to_owned()).unwrap();
        assert!(operator.open_suspensions(None).await.unwrap().suspensions.is_empty());
        let intent = agent.create_intent("Refund order 12345").active().send().await.unwrap().id();
        agent.ask(intent, Question::confirm("Refund?").timeout_seconds(3600)).await.unwrap();
        let page = operator.open_suspensions(None).await.unwrap();
        let [question] = page.suspensions.as_slice() else { panic!("one question is open: {}", page.suspensions.len()) };
        assert_eq!(question.asked_by.as_deref(), Some("test-agent"));

        let comment = || Some(Map::from_iter([("comment".to_owned(), json!("go ahead"))]));
        let refused = operator.respond(question, json!("maybe"), None).await;
        assert!(matches!(&refused, Err(CallError::Refused(problem)) if problem.is("invalid_choice")), "{refused:?}");
        let first = operator.respond(question, json!("yes"), comment()).await.unwrap();
        let again = operator.respond(question, json!("yes"), comment()).await.unwrap();
        assert_eq!(first, again);
        let late = operator.respond(question, json!("no"), comment()).await;
        assert!(matches!(&late, Err(CallError::Refused(problem)) if problem.is("already_resolved")), "{late:?}");
        let resumed = app.operator().event_types(intent).await.iter().filter(|event| *event == "intent.resumed").count();
        assert_eq!(resumed, 1);
        assert_eq!(app.operator().suspension(&question.id.expose()).await["metadata"], json!({"comment": "go ahead"}));
        assert!(operator.open_suspensions(None).await.unwrap().suspensions.is_empty());
    }
}
