//! The statements that a decision sends to PostgreSQL. Each costs one trip over the network.

use harness::app::{Backend, TestApp};
use harness::plans;
use serde_json::json;

/// Two snapshots hold the statements that a question and an answer need, so that a further statement is noticed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_and_an_answer_go_to_the_database_so_often() {
    let app = TestApp::start_on(Backend::Postgres, |_| {}).await;
    let (agent, operator) = (app.agent(), app.operator());
    plans::log_statements(&app).await;
    // A first question opens the connections and draws row ids for the next ones.
    let (intent, id) = app.ask(json!({})).await;
    operator.respond(intent, &id, "approve").await.ok();

    let suspend = format!("api/v1/intents/{intent}/suspend");
    let question = json!({
        "question": "Go?", "choices": [{"value": "approve", "label": "Approve"}], "timeout_seconds": 60,
    });
    let before = plans::statements(&app).len();
    let id = agent.post_once(&suspend, "key", question).await.ok()["id"].as_str().unwrap().to_owned();
    insta::assert_snapshot!("trips_of_a_question", plans::statements(&app)[before..].join("\n"));

    app.settle().await;
    let before = plans::statements(&app).len();
    let path = format!("api/v1/intents/{intent}/suspend/respond");
    operator.post_once(&path, "key", json!({"suspension_id": id, "value": "approve"})).await.ok();
    insta::assert_snapshot!("trips_of_an_answer", plans::statements(&app)[before..].join("\n"));
    app.finish().await;
}
