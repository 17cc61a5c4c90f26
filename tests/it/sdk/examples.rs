//! The examples of the SDK against the real server: the programs that people copy.

#![expect(clippy::unwrap_used, reason = "these functions serve tests alone")]

use domain::base::ids::IntentId;
use harness::api::Api;
use harness::app::TestApp;
use harness::on_each_store;

#[expect(dead_code, reason = "the test has settings of its own")]
#[path = "../../../sdk/examples/blocking.rs"]
mod blocking;
#[expect(dead_code, reason = "the test has settings of its own")]
#[path = "../../../sdk/examples/many.rs"]
mod many;
#[expect(dead_code, reason = "the test has settings of its own")]
#[path = "../../../sdk/examples/refund.rs"]
mod refund;

/// Answers the open question of the intent with this title, as soon as there is one.
async fn answer(app: &TestApp, title: &str, value: &str) {
    let operator: Api = app.operator();
    let asked = async {
        loop {
            let open = operator.get("api/v1/suspensions").await.ok();
            for record in open["suspensions"].as_array().unwrap() {
                let intent: IntentId = serde_json::from_value(record["intent_id"].clone()).unwrap();
                if operator.intent(intent).await["title"] == *title {
                    return (intent, record["id"].as_str().unwrap().to_owned());
                }
            }
            harness::pause::pause().await;
        }
    };
    let (intent, id) = asked.await;
    operator.respond(intent, &id, value).await.ok();
}

on_each_store! {
    async fn the_refund_is_decided_by_a_person(app: &mut TestApp) {
        let running = refund::run(app.base.clone(), app.agent().key().to_owned(), None);
        let (decided, ()) = tokio::join!(running, answer(app, "Refund order #12345", "escalate"));
        assert_eq!(decided.unwrap(), Some(refund::RefundDecision::Escalate));
        app.settle().await;
    }

    async fn the_program_without_a_runtime_deploys_after_a_yes(app: &mut TestApp) {
        let (base, key) = (app.base.clone(), app.agent().key().to_owned());
        let running = tokio::task::spawn_blocking(move || blocking::run(base, key));
        answer(app, "Deploy 4f2a91c", "yes").await;
        assert!(running.await.unwrap().unwrap());
        app.settle().await;
    }

    async fn of_many_orders_those_are_refunded_that_people_approve(app: &mut TestApp) {
        let running = many::run(app.base.clone(), app.agent().key().to_owned());
        let answers = async {
            for (order, value) in [("12346", "no"), ("12347", "yes"), ("12345", "yes")] {
                answer(app, &format!("Refund order #{order}"), value).await;
            }
        };
        let (refunds, ()) = tokio::join!(running, answers);
        assert_eq!(refunds.unwrap(), ["12345", "12347"]);
        app.settle().await;
    }
}
