//! The tree over all events: each event has one leaf, each checkpoint extends the one before, and a stranger can check it.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::log::{Hash, Sealed};
use domain::people::principal::Role;
use harness::api::Api;
use harness::app::TestApp;
use harness::{on_each_store, rows};
use proof::checkpoint::TreeHead;
use proof::intent_tree;
use proof::key::{KeyFile, VerifyingKey};
use proof::tree::{NodeHash, is_consistent, is_included};
use serde_json::{Value, json};

fn key(app: &TestApp) -> VerifyingKey {
    app.checkpoints().key().unwrap().verifying().clone()
}

fn hashes(values: &Value) -> Vec<NodeHash> {
    let hash = |value: &Value| STANDARD.decode(value.as_str().unwrap()).unwrap().try_into().unwrap();
    values.as_array().unwrap().iter().map(hash).collect()
}

/// Signs the tree as it is, and returns what the signature covers.
async fn signed(app: &TestApp) -> TreeHead {
    let checkpoint = app.api(Role::Admin).post("api/v1/admin/checkpoints", json!({})).await;
    assert_eq!(checkpoint.status, 201, "{:?}", checkpoint.body);
    TreeHead::verify(checkpoint.body["note"].as_str().unwrap(), &[key(app)]).unwrap()
}

/// How many events the database holds.
async fn events_in(app: &TestApp) -> u64 {
    let mut count = 0;
    for table in ["events", "portfolio_events", "server_events"] {
        count += rows::number(app, &format!("SELECT count(*) AS number FROM {table}")).await;
    }
    u64::try_from(count).unwrap()
}

on_each_store! {
    /// Each event of an intent, of a portfolio and of the server has a leaf, so that deleting any of them is found.
    async fn every_event_has_one_leaf_and_leads_to_the_signed_root(app: &mut TestApp) {
        let (intent, suspension) = app.ask(json!({})).await;
        app.operator().respond(intent, &suspension, "approve").await.ok();
        app.agent().post("api/v1/portfolios", json!({"name": "a portfolio"})).await.ok();
        let first = signed(app).await;
        assert_eq!(first.size, events_in(app).await);
        assert_eq!(first.origin, "log.example");
        let checkpoints = app.agent().get(&format!("api/v1/checkpoints?intent_id={intent}")).await.ok();
        let id = checkpoints[0]["checkpoint_id"].as_str().unwrap().to_owned();
        assert_eq!(id, format!("{}.{intent}", first.size));
        let events = app.agent().get(&format!("intents/{intent}/events?include=all")).await.ok();
        assert_eq!(checkpoints[0]["event_count"], events.as_array().unwrap().len());
        for event in events.as_array().unwrap() {
            let path = format!("api/v1/checkpoints/{id}/proof/{}", event["id"].as_str().unwrap());
            let proof = app.agent().get(&path).await.ok();
            assert_eq!(proof["event_hash"], event["event_hash"]);
            let (leaf, index) = (proof["global"]["leaf"].as_str().unwrap(), proof["global"]["leaf_index"].as_u64().unwrap());
            let sealed = Sealed::from_served(event).unwrap();
            assert_eq!(leaf.as_bytes(), proof::leaf::of(&sealed).unwrap());
            assert!(is_included(leaf.as_bytes(), index, &hashes(&proof["global"]["proof"]), first.size, first.root));
            let note = proof["global"]["checkpoint"].as_str().unwrap();
            assert_eq!(TreeHead::verify(note, &[key(app)]), Ok(first.clone()));
        }
    }

    /// The way to RFC-0019's root is walked as the OpenIntent client walks it.
    async fn the_proof_of_an_intents_own_tree_leads_from_the_hash_of_the_event(app: &mut TestApp) {
        let (intent, suspension) = app.ask(json!({})).await;
        app.operator().respond(intent, &suspension, "approve").await.ok();
        let size = signed(app).await.size;
        let events = app.agent().get(&format!("intents/{intent}/events?include=all")).await.ok();
        let mut events = events.as_array().unwrap().clone();
        events.reverse();
        let all: Vec<NodeHash> = events.iter().map(|event| Sealed::from_served(event).unwrap().hash.0).collect();
        for (index, event) in events.iter().enumerate() {
            let path = format!("api/v1/checkpoints/{size}.{intent}/proof/{}", event["id"].as_str().unwrap());
            let proof = app.agent().get(&path).await.ok();
            assert_eq!(proof["leaf_index"], index);
            assert_eq!(proof["merkle_root"], Hash(intent_tree::root(&all).unwrap()).to_string());
            let steps = intent_tree::path(&all, index).unwrap();
            let shown: Vec<Value> = steps
                .into_iter()
                .map(|(hash, side)| {
                    let position = if side == intent_tree::Side::Left { "left" } else { "right" };
                    json!({"hash": Hash(hash).to_string(), "position": position})
                })
                .collect();
            assert_eq!(proof["proof_hashes"], Value::from(shown));
        }
    }

    /// A later checkpoint is an extension of each earlier one, also across a restart, and the server proves it.
    async fn each_checkpoint_extends_those_before(app: &mut TestApp) {
        let mut heads = vec![signed(app).await];
        for _ in 0..3 {
            app.ask(json!({})).await;
            heads.push(signed(app).await);
            app.restart().await;
        }
        let again = signed(app).await;
        assert!(heads.last() == Some(&again), "nothing new is no new checkpoint");
        for (from, to) in heads.iter().zip(&heads[1..]) {
            assert!(from.size < to.size);
            let path = format!("api/v1/verify/consistency?from_checkpoint={}&to_checkpoint={}", from.size, to.size);
            let proof = app.api(Role::Auditor).get(&path).await.ok();
            assert_eq!(proof["consistent"], true);
            assert!(is_consistent((from.size, from.root), (to.size, to.root), &hashes(&proof["proof"])));
        }
        let listed = app.api(Role::Auditor).get("api/v1/checkpoints?limit=2").await.ok();
        let sizes: Vec<u64> = listed.as_array().unwrap().iter().map(|one| one["event_count"].as_u64().unwrap()).collect();
        assert_eq!(sizes, [heads[3].size, heads[2].size]);
    }

    /// An agent chooses the names in its own data. No name may keep its event, and every event after it, out of the tree.
    async fn no_name_in_an_agents_data_stops_the_tree(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        for name in ["a\"b", "line\nfeed", "back\\slash", "\u{1f600}", "\u{ff21}", "\u{0}"] {
            let event = json!({"event_type": "comment", "payload": {name: {name: 1}}});
            agent.post(&format!("intents/{intent}/events"), event).await.ok();
        }
        assert_eq!(signed(app).await.size, events_in(app).await);
    }

    /// A tree that was changed from outside is not signed: otherwise the signature would cover the change.
    async fn a_tree_that_does_not_extend_the_signed_one_is_not_signed(app: &mut TestApp) {
        app.ask(json!({})).await;
        let head = signed(app).await;
        let zeros = match app.scratch() {
            Some(_) => "decode(repeat('00', length(hashes)), 'hex')",
            None => "zeroblob(length(hashes))",
        };
        rows::change(app, &format!("UPDATE tree_tiles SET hashes = {zeros}")).await;
        app.ask(json!({})).await;
        let refused = app.checkpoints().turn().await.unwrap_err();
        assert!(format!("{refused:?}").contains("does not extend"), "{refused:?}");
        let newest = app.api(Role::Auditor).get("api/v1/checkpoints?limit=1").await.ok();
        assert_eq!(newest[0]["event_count"], head.size, "the last checkpoint stays the last");
        let path = format!("api/v1/verify/consistency?from_checkpoint={0}&to_checkpoint={0}", head.size);
        assert_eq!(app.api(Role::Auditor).get(&path).await.ok()["consistent"], false);
    }

    /// Only the key's file opens the signing key. Without it the server goes on, signs nothing, and says so.
    async fn without_the_key_file_events_are_written_and_nothing_is_signed(app: &mut TestApp) {
        let head = signed(app).await;
        let file = app.folder().join("log-key");
        let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
        let kept = std::fs::read_to_string(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        app.restart().await;
        assert!(!file.exists(), "a second key file would look like the first");
        let (intent, suspension) = app.ask(json!({})).await;
        app.operator().respond(intent, &suspension, "approve").await.ok();
        let refused = app.api(Role::Admin).post("api/v1/admin/checkpoints", json!({})).await;
        assert_eq!(refused.problem(), (409, "log_not_signed"));
        assert!(app.checkpoints().turn().await.unwrap().is_none());
        std::fs::write(&file, KeyFile::write(&[7; 32])).unwrap();
        app.restart().await;
        assert!(app.checkpoints().key().is_none(), "another key opens nothing");
        std::fs::write(&file, kept).unwrap();
        app.restart().await;
        let later = signed(app).await;
        assert!(later.size > head.size && later.origin == head.origin);
    }

    /// The first key is an event of the server's own log, once, so that the log itself says which key signs it.
    async fn the_key_that_signs_is_in_the_log(app: &mut TestApp) {
        app.restart().await;
        let events = app.api(Role::Auditor).get("api/v1/server/events").await.ok();
        let added: Vec<&Value> =
            events.as_array().unwrap().iter().filter(|event| event["event_type"] == "log_key.added").collect();
        assert_eq!(added.len(), 1);
        assert_eq!(added[0]["payload"], json!({"key": key(app).to_string()}));
    }

    /// Each role may read checkpoints, which tell nothing of any event; a proof needs the right to read the intent.
    async fn a_proof_needs_the_right_to_read_the_intent(app: &mut TestApp) {
        let (intent, _) = app.ask(json!({})).await;
        let size = signed(app).await.size;
        let other = Api::new(&app.base, Some(&app.new_key(Role::Agent, "stranger").await));
        let event = app.agent().get(&format!("intents/{intent}/events")).await.ok()[0]["id"].clone();
        assert_eq!(other.get(&format!("api/v1/checkpoints/{size}")).await.status, 200);
        for path in [
            format!("api/v1/checkpoints/{size}.{intent}"),
            format!("api/v1/checkpoints/{size}.{intent}/proof/{}", event.as_str().unwrap()),
            format!("api/v1/checkpoints?intent_id={intent}"),
            format!("api/v1/intents/{intent}/events/verify"),
        ] {
            assert_eq!(other.get(&path).await.problem(), (404, "not_found"), "{path}");
        }
        for role in [Role::Agent, Role::Operator, Role::Auditor, Role::Channel] {
            assert_eq!(app.api(role).post("api/v1/admin/checkpoints", json!({})).await.status, 403, "{role}");
        }
    }

    /// Wrong ids are answered with the member and the rule, or as ids of things that do not exist.
    async fn ids_that_name_nothing_are_refused(app: &mut TestApp) {
        let (intent, _) = app.ask(json!({})).await;
        let size = signed(app).await.size;
        let auditor = app.api(Role::Auditor);
        let missing = uuid::Uuid::from_u128(1);
        for path in ["0", "01", "-1", "x", "18446744073709551615", "99999999999999999999", "1.x"] {
            assert_eq!(auditor.get(&format!("api/v1/checkpoints/{path}")).await.status, 404, "{path}");
        }
        assert_eq!(auditor.get(&format!("api/v1/checkpoints/{size}.{missing}")).await.status, 404);
        assert_eq!(auditor.get(&format!("api/v1/checkpoints/{size}.{intent}/proof/{missing}")).await.status, 404);
        assert_eq!(auditor.get(&format!("api/v1/checkpoints/{size}.{intent}/proof/x")).await.status, 404);
        let unnamed = auditor.get(&format!("api/v1/checkpoints/{size}/proof/{missing}")).await;
        assert_eq!(unnamed.problem().0, 422);
        for query in [String::new(), format!("from_checkpoint={size}"), format!("from_checkpoint=x&to_checkpoint={size}")] {
            assert_eq!(auditor.get(&format!("api/v1/verify/consistency?{query}")).await.status, 422, "{query}");
        }
        let absent = format!("api/v1/verify/consistency?from_checkpoint={size}&to_checkpoint={}", size + 1);
        assert_eq!(auditor.get(&absent).await.status, 404);
        assert_eq!(auditor.get("api/v1/checkpoints?scope=intent").await.status, 422);
        assert_eq!(auditor.get("api/v1/checkpoints?scope=all").await.status, 422);
    }
}
