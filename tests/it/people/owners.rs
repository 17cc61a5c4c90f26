//! Questions that are kept from the owner of the key that asks: assignees of whom only such people are left are refused, and pages and mails
//! give the true reason.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::asking::floors::Floors;
use domain::people::principal::Role;
use domain::suspension::demand::{AgentRule, Separation};
use harness::api::Api;
use harness::app::TestApp;
use harness::on_each_store;
use serde_json::{Value, json};

use super::alerts::{look, received};
use super::assignees::{ADA, BOB, EVE, directory, mails};
use crate::containers::plans::{checkpoint, create, task};

/// An agent of Ada whose questions her own people do not answer. Bob is the subject of another key of hers.
async fn of_ada(app: &mut TestApp) -> Api {
    directory(app).await;
    let rule = AgentRule { name: "owned".to_owned(), assurance: None, separation: Some(Separation::Owner) };
    app.restart_with(|config| config.asking.floors = Floors { agents: vec![rule], ..Floors::default() }).await;
    give_key_to(app, BOB, ADA).await;
    Api::new(&app.base, Some(&app.new_key_of(Role::Agent, "owned", ADA).await))
}

/// Makes a key of this owner for a person.
async fn give_key_to(app: &TestApp, person: &str, owner: &str) {
    let key = json!({"role": "operator", "name": "helper", "subject": person, "owner": owner});
    app.api(Role::Admin).post("api/v1/keys", key).await.ok();
}

/// The question of [`Api::suspend`], with these members added.
fn body(change: &Value) -> Value {
    let mut body = json!({"question": "Refund?", "response_type": "confirm", "timeout_seconds": 3600});
    for (name, value) in change.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

on_each_store! {
    /// A question that no person may answer would wait in vain, and no one would be told of it.
    async fn assignees_of_whom_only_the_owner_is_left_are_refused(app: &mut TestApp) {
        let owned = of_ada(app).await;
        let agent = Api::new(&app.base, Some(&app.new_key_of(Role::Agent, "free", ADA).await));
        let (separated, free) = (owned.active_intent().await, agent.active_intent().await);
        let quorum = json!({"required_approvals": 1});
        for (by, intent, change) in [
            (&owned, separated, json!({"assignees": {"people": [ADA]}})),
            (&owned, separated, json!({"assignees": {"people": [BOB]}})),
            (&owned, separated, json!({"assignees": {"groups": ["finance"], "people": [ADA]}})),
            (&owned, separated, json!({"assignees": {"people": [ADA]}, "notify_to": [ADA]})),
            (&agent, free, json!({"assignees": {"people": [ADA, BOB]}, "quorum": quorum})),
        ] {
            let refused = by.suspend(intent, change.clone()).await;
            assert_eq!(refused.field_problem(), (422, "invalid", "assignees", "count"), "{change}: {}", refused.text);
            assert!(refused.text.contains("owns the key that asks"), "{}", refused.text);
            let previewed = by.post("api/v1/suspensions/preview", body(&change)).await;
            assert_eq!(previewed.field_problem(), (422, "invalid", "assignees", "count"), "{change}: {}", previewed.text);
            assert_eq!(by.status(intent).await, "active");
        }
        // The numbers of the quorum are told as well.
        let refused = agent.suspend(free, json!({"assignees": {"people": [ADA]}, "quorum": quorum})).await;
        assert_eq!(refused.body["errors"][1]["field"], json!("quorum.required_approvals"), "{}", refused.text);
        let one = task(&owned, separated, json!({})).await;
        let mut guarded = checkpoint(&one);
        guarded["assignees"] = json!({"people": [ADA]});
        let planned = create(&owned, separated, json!({"tasks": [one], "checkpoints": [guarded]})).await;
        assert_eq!(planned.field_problem(), (422, "invalid", "checkpoints[0].assignees", "count"), "{}", planned.text);
        let asked = owned.suspend(separated, json!({"assignees": {"people": [ADA, EVE]}})).await.ok();
        assert_eq!(asked["notify_to"], json!([EVE]));
        agent.suspend(free, json!({"assignees": {"people": [ADA]}})).await.ok();
        mails(app).await;
    }

    /// A question that is assigned to its owner alone would wait in vain. The refusal says why, and not that no person was named.
    async fn an_assignment_to_owners_alone_says_that_they_own_the_key(app: &mut TestApp) {
        let owned = of_ada(app).await;
        let (_, id) = owned.ask(json!({"assignees": {"people": [EVE]}})).await;
        mails(app).await;
        let admin = app.api(Role::Admin);
        let reassign = async |people: Value| {
            admin.post(&format!("api/v1/suspensions/{id}/reassign"), json!({"assignees": {"people": people}})).await
        };
        let refused = reassign(json!([ADA, BOB])).await;
        assert_eq!(refused.field_problem(), (422, "invalid", "assignees", "owners"), "{}", refused.text);
        assert!(refused.text.contains("owns the key that asks"), "{}", refused.text);
        reassign(json!([ADA, EVE])).await.ok();
        mails(app).await;
    }

    /// A key that is made while a question is open takes the right to answer from its subject. No person has left, and no text says so.
    async fn pages_and_mails_say_that_the_owner_is_kept_out(app: &mut TestApp) {
        directory(app).await;
        let agent = Api::new(&app.base, Some(&app.new_key_of(Role::Agent, "bot", "team").await));
        let both = json!({"quorum": {"required_approvals": 2}, "assignees": {"people": [ADA, BOB]}});
        let (_, id) = agent.ask(both).await;
        let links = mails(app).await;
        let (of_ada, of_bob) = (&links[0].1, &links[1].1);
        let mut bob = app.person();
        let page = bob.open(of_bob).await;
        let nonce = page.nonce();
        let (one, two) = ("May be answered by</dt><dd><bdi>ada@example.com</bdi>", ", <bdi>bob@example.com</bdi></dd>");
        assert!(page.html.contains(&format!("{one}{two}")), "{}", page.html);
        assert_eq!(look(app).await, 0, "both may answer");
        give_key_to(app, BOB, "team").await;
        let refused = bob.post(of_bob, &[("nonce", &nonce), ("value", "approve")]).await;
        assert!(refused.status == 403 && refused.html.contains("<h2 id=\"es\">You own the key that asked this question</h2>"), "{}", refused.html);
        let unsaved = bob.post(of_bob, &[("nonce", &nonce), ("comment", "half"), ("draft", "save")]).await;
        assert!(unsaved.status == 403 && unsaved.html.contains("<h2 id=\"es\">You own the key that asked this question</h2>"), "{}", unsaved.html);
        let page = bob.open(of_bob).await;
        assert!(!page.has_form() && page.html.contains("<h3>You own the key that asked this question</h3>"), "{}", page.html);
        assert!(page.html.contains("another person must"), "{}", page.html);
        assert!(!page.html.contains("assigned to other people") && !page.html.contains("or is no longer, one of those"), "{}", page.html);
        for (who, page) in [("bob", page), ("ada", app.person().open(of_ada).await)] {
            let (says, said_before) = ("Some of its people own the key that asked", "some were removed");
            assert!(page.html.contains(says) && !page.html.contains(said_before), "{who}: {}", page.html);
            assert!(page.html.contains(&format!("{one}</dd>")), "Bob is kept out: {}", page.html);
        }
        let request = bob.request(reqwest::Method::GET, of_bob).header("accept-language", "de");
        let german = bob.send(request).await.html;
        assert!(german.contains("Ihnen gehört der Schlüssel, mit dem gefragt wurde") && german.contains("Einigen der Personen, denen die Frage gestellt ist, gehört der Schlüssel"), "{german}");
        assert_eq!(look(app).await, 1);
        let (to, mail) = received(app).await.remove(0);
        let mail = mail.replace('\n', " ");
        assert!(to == EVE && mail.contains(&id) && mail.contains("own the key that asked"), "{to}: {mail}");
        assert!(!mail.contains("some have left"), "{mail}");
    }
}
