//! An event that has changed since it was written.

use std::sync::Arc;

use domain::people::principal::Role;
use harness::app::{TestApp, mentions};
use harness::requests::principal;
use harness::{on_each_store, rows};
use serde_json::json;
use store::scrub::Scrub;
use store::{CheckpointFilter, Damaged, LogName, StoreError};

/// Changes one letter in the question of the oldest intent.
async fn damage(app: &TestApp) {
    let changed = match app.scratch() {
        None => "CAST(replace(CAST(bytes AS TEXT), 'Refund order', 'Refund older') AS BLOB)",
        Some(_) => "convert_to(replace(convert_from(bytes, 'UTF8'), 'Refund order', 'Refund older'), 'UTF8')",
    };
    let oldest = "intent = (SELECT min(rid) FROM intents)";
    rows::change(app, &format!("UPDATE events SET bytes = {changed} WHERE event_type = 'intent.suspended' AND {oldest}")).await;
}

async fn found_by_a_pass(app: &TestApp) -> Vec<Damaged> {
    found_from(app, Scrub::Begin).await
}

async fn found_from(app: &TestApp, begin: Scrub) -> Vec<Damaged> {
    let (mut at, mut found) = (Some(begin), Vec::new());
    while let Some(next) = at {
        let step = app.store().scrub(next).await.expect("the database can be read");
        found.extend(step.damaged);
        at = step.next;
    }
    found
}

on_each_store! {
    /// A changed event is named and never shown, no deadline is applied for it, and other intents go on.
    async fn a_damaged_event_is_refused_and_others_go_on(app: &mut TestApp) {
        let fallback = json!({"fallback_policy": "complete_with_fallback", "fallback_value": "deny"});
        let (hurt, hurt_id) = app.ask(fallback.clone()).await;
        let (well, well_id) = app.ask(fallback).await;
        app.checkpoints().turn().await.unwrap();
        assert_eq!(found_by_a_pass(app).await, []);
        damage(app).await;

        let refused = app.agent().get(&format!("api/v1/intents/{hurt}/events")).await;
        assert_eq!(refused.status, 500, "{}", refused.text);
        let problem: serde_json::Value = serde_json::from_str(&refused.text).unwrap();
        assert_eq!((&problem["code"], &problem["intent_id"]), (&json!("damaged_record"), &json!(hurt)));
        assert!(problem["sequence"].as_u64() > Some(1) && !mentions(&problem, "older"), "{problem}");
        assert_eq!(app.agent().get(&format!("api/v1/intents/{well}/events")).await.status, 200);
        let newest = CheckpointFilter { intent: None, before: None, limit: 1 };
        let newest = app.store().checkpoints(principal("auditor", Role::Auditor), Ok(newest)).await.unwrap().remove(0);
        let exported = app.store().export_page(principal("auditor", Role::Auditor), Arc::default(), newest.event_count, 0).await;
        assert!(matches!(exported, Err(StoreError::Damaged(_))), "{exported:?}");
        let chain = app.store().chain(principal("auditor", Role::Auditor), hurt).await.unwrap();
        assert_eq!((chain.valid, Some(chain.breaks[0].sequence)), (false, problem["sequence"].as_u64()));

        let named = Damaged::Event {
            log: Some(LogName::Intent(hurt)),
            sequence: problem["sequence"].as_u64(),
            why: "its bytes do not give its hash".to_owned(),
        };
        assert_eq!(found_by_a_pass(app).await, std::slice::from_ref(&named));
        assert!(store::damage::found().contains(&named), "it is counted");
        // A pass that begins somewhere finds it unless it begins behind it.
        assert_eq!(found_from(app, Scrub::Somewhere(0)).await, std::slice::from_ref(&named));
        assert_eq!(found_from(app, Scrub::Somewhere(newest.event_count - 1)).await, []);
        assert_eq!(found_from(app, Scrub::Somewhere(newest.event_count)).await, [named]);

        app.advance(3600).await;
        assert_eq!(app.agent().suspension(&well_id).await["resolution"], "expired", "others go on");
        let open = "SELECT count(*) AS number FROM suspensions WHERE resolution IS NULL";
        assert_eq!(rows::number(app, open).await, 1, "no deadline is applied for it");
        app.checkpoints().turn().await.unwrap();
        // At its end, a test verifies every chain. So the event gets its letter back.
        let back = match app.scratch() {
            None => "CAST(replace(CAST(bytes AS TEXT), 'Refund older', 'Refund order') AS BLOB)",
            Some(_) => "convert_to(replace(convert_from(bytes, 'UTF8'), 'Refund older', 'Refund order'), 'UTF8')",
        };
        rows::change(app, &format!("UPDATE events SET bytes = {back}")).await;
        assert_eq!(app.agent().suspension(&hurt_id).await["resolution"], json!(null));
    }
}
