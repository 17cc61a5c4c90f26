//! The state that a server leaves behind when it ends in the middle of its work.

use harness::on_each_store;
use serde_json::json;
use store::Turn;

on_each_store! {
    /// A mail that was under way when the server ended may never have left. If the next server waited for the lease of the dead
    /// worker, short questions would end although no person was asked.
    async fn a_mail_under_way_in_a_crash_is_sent_by_the_next_start(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let fallback = json!({"timeout_seconds": 60, "fallback_policy": "complete_with_fallback", "fallback_value": "deny"});
        let id = agent.suspend(intent, fallback).await.ok()["id"].as_str().unwrap().to_owned();
        assert_eq!(app.store().lease_deliveries(Turn::of("email")).await.unwrap().deliveries.len(), 1);
        app.advance(1).await;
        assert!(app.smtp.received().is_empty(), "a leased message belongs to its worker");

        app.restart().await;
        app.settle().await;
        assert_eq!(app.smtp.received().len(), 1);
        app.restart().await; // A sent mail stays sent.
        app.settle().await;
        assert_eq!(app.smtp.received().len(), 1);
        app.advance(60).await;
        assert_eq!(agent.suspension(&id).await["response"], json!("deny"));
    }
}
