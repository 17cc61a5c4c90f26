//! Keys: creating them, showing the secret once, listing them without secrets, revoking them, and the permissions of each role.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use std::fmt::Write;

use domain::base::ids::Entropy as _;
use domain::base::ids::KeyId;
use domain::base::name::Owner;
use domain::people::principal::Role;
use harness::api::Api;
use harness::app::TestApp;
use harness::on_each_store;
use placet_server::edge::keys::{generate, hash};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use store::host::account;
use store::host::clock::SystemEntropy;
use store::{NewKey, SecretOrigin};

/// A key as an older version stored it, with its names as they were given.
async fn key_of_before(app: &TestApp, role: Role, name: &str, owner: &str) -> Api {
    let secret = generate(role, &SystemEntropy);
    let id = KeyId(SystemEntropy.uuid(chrono::DateTime::UNIX_EPOCH));
    let [name, subject, owner] = [name, name, owner].map(str::to_owned);
    let key = NewKey {
        id,
        name,
        role,
        subject,
        owner: Owner(owner),
        tied_to: None,
        client: None,
        hash: hash(secret.expose_secret()),
        origin: SecretOrigin::Drawn,
    };
    app.store().create_key(account::principal(), Ok(key)).await.unwrap();
    Api::new(&app.base, Some(secret.expose_secret()))
}

on_each_store! {
    /// The secret is shown once, to the person who creates the key. If the list showed secrets, each admin could act as any other
    /// key.
    async fn a_secret_is_shown_once_and_never_listed(app: &mut TestApp) {
        let admin = app.api(Role::Admin);
        let reply = admin.post("api/v1/keys", json!({"role": "operator", "name": "desk"})).await;
        assert_eq!(reply.headers["cache-control"], "no-store");
        let made = reply.ok();
        let secret = made["key"].as_str().unwrap();
        assert!(secret.starts_with("placet_operator_"), "so that scanners find leaks");
        assert_eq!((&made["name"], &made["role"]), (&json!("desk"), &json!("operator")));
        let listed = admin.get("api/v1/keys").await;
        assert!(!listed.text.contains(secret) && !listed.text.contains("placet_") && !listed.text.contains("hash"));
        let keys = listed.ok();
        let desk = keys["keys"].as_array().unwrap().last().unwrap();
        assert_eq!(*desk, json!({
            "id": made["id"], "name": "desk", "role": "operator", "subject": "desk", "owner": "desk",
            "created_at": "2026-11-24T08:00:00.000000Z", "revoked_at": null,
        }));
        assert_eq!(Api::new(&app.base, Some(secret)).get("api/v1/intents").await.status, 200);
        app.restart().await;
        assert_eq!(Api::new(&app.base, Some(secret)).get("api/v1/intents").await.status, 200);
        // One character more or less, or another case, makes a different key.
        for wrong in [format!("{secret}x"), secret[..secret.len() - 1].to_owned(), secret.to_uppercase()] {
            assert_eq!(Api::new(&app.base, Some(&wrong)).get("api/v1/intents").await.problem(), (401, "unauthorized"));
        }
    }

    /// A leaked key must stop working when the call to revoke it returns, not when some cache expires.
    async fn a_revoked_key_is_dead_at_once_and_stays_dead(app: &mut TestApp) {
        let admin = app.api(Role::Admin);
        let made = admin.post("api/v1/keys", json!({"role": "agent", "name": "bot"})).await.ok();
        let bot = Api::new(&app.base, Some(made["key"].as_str().unwrap()));
        let intent = bot.active_intent().await;
        let path = format!("api/v1/keys/{}", made["id"].as_str().unwrap());
        app.advance(10).await;
        let revoked = admin.send(admin.request("DELETE", &path)).await.ok();
        assert_eq!(revoked["revoked_at"], json!("2026-11-24T08:00:10.000000Z"));
        assert_eq!(bot.get(&format!("api/v1/intents/{intent}")).await.problem(), (401, "unauthorized"));
        app.advance(10).await;
        assert_eq!(admin.send(admin.request("DELETE", &path)).await.ok(), revoked); // The time of the first call is kept.
        app.restart().await;
        assert_eq!(bot.suspend(intent, json!({})).await.problem(), (401, "unauthorized"));
        for unknown in ["api/v1/keys/x", "api/v1/keys/019ab0f2-0000-7000-8000-000000000000"] {
            assert_eq!(admin.send(admin.request("DELETE", unknown)).await.problem(), (404, "not_found"));
        }
        // A new key of the same name takes over the agent's intents.
        let again = admin.post("api/v1/keys", json!({"role": "agent", "name": "bot"})).await.ok();
        let again = Api::new(&app.base, Some(again["key"].as_str().unwrap()));
        assert_eq!(again.status(intent).await, "active");
    }

    /// Names appear in logs, mails and decisions, so each has bounds, and an error names the field that breaks them.
    async fn a_key_has_names_within_bounds(app: &mut TestApp) {
        let admin = app.api(Role::Admin);
        let count = admin.get("api/v1/keys").await.ok()["keys"].as_array().unwrap().len();
        let key = |field: &str, value: Value| {
            let mut body = json!({"role": "agent", "name": "bot"});
            body[field] = value;
            body
        };
        for (body, field) in [
            (json!({"role": "agent"}), "name"), (json!({"name": "bot"}), "role"), (key("role", json!("root")), "role"),
            (key("name", json!("")), "name"), (key("name", json!(" ")), "name"), (key("name", json!("x".repeat(201))), "name"),
            (key("name", json!("a\nb")), "name"), (key("subject", json!("")), "subject"), (key("subject", json!("a\u{0}")), "subject"),
            (key("owner", json!("")), "owner"), (key("owner", json!(1)), "owner"), (key("key", json!("chosen")), "key"),
        ] {
            let refused = admin.post("api/v1/keys", body.clone()).await;
            assert_eq!((refused.status, refused.field_problem().2), (422, field), "{body}");
        }
        assert_eq!(admin.get("api/v1/keys").await.ok()["keys"].as_array().unwrap().len(), count);
        admin.post("api/v1/keys", key("name", json!("ä".repeat(200)))).await.ok();
    }

    /// The log names keys by their names, so a name has one form, no hidden characters, and does not look like the server's name.
    async fn a_name_has_one_form_and_is_not_ours(app: &mut TestApp) {
        let admin = app.api(Role::Admin);
        for (field, name, rule) in [
            ("name", "local:0@db1", "reserved"), ("name", "Iocal：anyone", "reserved"), ("subject", "LOCAL:", "reserved"),
            ("name", "placet", "reserved"), ("name", "Ｐlасеt", "reserved"), ("subject", "pIacet", "reserved"), ("owner", "placet ", "reserved"),
            ("name", "bo\u{200b}t", "characters"), ("subject", "bo\u{202e}t", "characters"), ("owner", "\u{3164}", "characters"),
            ("name", "\u{3000}", "length"), ("name", "placet/development", "reserved"), ("owner", "Placet Devеlopment", "reserved"),
        ] {
            let mut body = json!({"role": "agent", "name": "bot"});
            body[field] = json!(name);
            assert_eq!(admin.post("api/v1/keys", body).await.field_problem(), (422, "invalid", field, rule), "{name}");
        }
        for name in ["Дежурный", "Ελένη", "日本太郎", "김철수", "さくら", "محمد", "שרה", "नेहा", "สมชาย", "გიორგი"] {
            let made = admin.post("api/v1/keys", json!({"role": "operator", "name": name})).await.ok();
            assert_eq!(made["name"], name);
            let (intent, id) = app.agent().ask(json!({})).await;
            let answered = Api::new(&app.base, made["key"].as_str()).respond(intent, &id, "deny").await.ok();
            assert_eq!(answered["responded_by"], name);
        }
        assert_eq!(admin.post("api/v1/keys", json!({"role": "agent", "name": " ｂｏｔ "})).await.ok()["name"], "bot");
        // A gateway cannot report an answer by a person with the name of the server, with hidden characters in the name, or with
        // a name that looks like the asker's.
        let (intent, id) = app.agent().ask(json!({})).await;
        let path = format!("api/v1/intents/{intent}/suspend/respond");
        for (name, code) in [("Placet", "invalid"), ("ali\u{200b}ce", "invalid"), ("test-аgent", "self_response"), ("TEST-AGENT", "self_response")] {
            let body = json!({"suspension_id": id, "value": "approve", "responded_by": name});
            assert_eq!(app.api(Role::Channel).post(&path, body).await.problem().1, code, "{name}");
        }
    }

    /// A key of an older version keeps its names as they were given, and they still match the same name in its present form. So
    /// an operator with the owner of the asking key must not answer its question, and a new key of the agent continues the work
    /// of the old one.
    async fn a_name_of_before_is_the_same_name_today(app: &mut TestApp) {
        for (number, (before, today)) in [("Team A ", "Team A"), ("Ｏps", "Ops"), ("E\u{301}quipe", "Équipe")].into_iter().enumerate() {
            let agent = key_of_before(app, Role::Agent, before, before).await;
            let operator = Api::new(&app.base, Some(&app.new_key_of(Role::Operator, &format!("boss-{number}"), today).await));
            let (intent, id) = agent.ask(json!({})).await;
            assert_eq!(operator.respond(intent, &id, "approve").await.problem(), (403, "self_response"), "{before}");
            let newer = Api::new(&app.base, Some(&app.new_key_of(Role::Agent, today, "another").await));
            assert_eq!(newer.suspension(&id).await["resolution"], Value::Null, "{before}");
            newer.post(&format!("api/v1/suspensions/{id}/cancel"), json!({})).await.ok();

            let (operator, agent) = (key_of_before(app, Role::Operator, "chief", before).await, newer);
            let (intent, id) = agent.ask(json!({})).await;
            operator.respond(intent, &id, "approve").await.ok();
            let agent = Api::new(&app.base, Some(&app.new_key_of(Role::Agent, &format!("bot-{number}"), today).await));
            let (intent, id) = agent.ask(json!({})).await;
            assert_eq!(operator.respond(intent, &id, "approve").await.problem(), (403, "self_response"), "{before}");
        }
    }

    /// The whole table of permissions, as tested by HTTP. A changed cell is a changed promise.
    async fn each_role_may_do_what_this_table_says_and_nothing_else(app: &mut TestApp) {
        let agent = app.agent();
        let mut table = String::new();
        for role in Role::ALL {
            let api = app.api(role);
            let intent = agent.active_intent().await;
            let id = agent.asked(intent).await;
            let free = agent.active_intent().await;
            let (path, other) = (format!("api/v1/intents/{intent}"), format!("api/v1/intents/{free}"));
            let answer = json!({"suspension_id": id, "value": "approve", "responded_by": "alice@example.com"});
            let requests: Vec<(&str, &str, String, Value)> = vec![
                ("list intents", "GET", "api/v1/intents".into(), Value::Null),
                ("read intent", "GET", path.clone(), Value::Null),
                ("read events", "GET", format!("{path}/events"), Value::Null),
                ("read leases", "GET", format!("{path}/leases"), Value::Null),
                ("list questions", "GET", "api/v1/suspensions".into(), Value::Null),
                ("read question", "GET", format!("api/v1/suspensions/{id}"), Value::Null),
                ("create intent", "POST", "api/v1/intents".into(), json!({"title": "t"})),
                ("patch state", "POST", format!("{other}/state"), json!({"state": {"k": 1}})),
                ("append event", "POST", format!("{path}/events"), json!({"event_type": "comment"})),
                ("take lease", "POST", format!("{other}/leases"), json!({"scope": "s"})),
                ("ask", "POST", format!("{other}/suspend"), json!({"question": "Go?", "response_type": "confirm"})),
                ("answer", "POST", format!("{path}/suspend/respond"), answer),
                ("give up", "POST", format!("{other}/status"), json!({"status": "abandoned"})),
                ("list keys", "GET", "api/v1/keys".into(), Value::Null),
                ("make key", "POST", "api/v1/keys".into(), json!({"role": "agent", "name": "n"})),
                ("revoke key", "DELETE", "api/v1/keys/x".into(), Value::Null),
            ];
            for (name, method, path, body) in requests {
                let version = agent.intent(free).await["version"].to_string();
                let request = api.request(method, &path);
                let request = if path.ends_with("/state") || path.ends_with("/status") { request.header("if-match", version) } else { request };
                let reply = api.send(if body.is_null() { request } else { request.json(&body) }).await;
                write!(table, "{name} {}, ", reply.status).unwrap();
            }
            let still = agent.active_intent().await;
            let cancelled = api.post(&format!("api/v1/suspensions/{}/cancel", agent.asked(still).await), json!({})).await;
            writeln!(table, "withdraw {} ({role})", cancelled.status).unwrap();
        }
        let row = |cells: [u16; 17], role: &str| {
            let names = [
                "list intents", "read intent", "read events", "read leases", "list questions", "read question", "create intent",
                "patch state", "append event", "take lease", "ask", "answer", "give up", "list keys", "make key", "revoke key", "withdraw",
            ];
            let cells: Vec<String> = names.iter().zip(cells).map(|(name, status)| format!("{name} {status}")).collect();
            format!("{} ({role})\n", cells.join(", "))
        };
        let expected = [
            row([200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 403, 200, 403, 403, 403, 200], "agent"),
            row([200, 200, 200, 200, 200, 200, 403, 403, 200, 403, 403, 200, 403, 403, 403, 403, 403], "operator"),
            row([200, 200, 200, 200, 200, 200, 403, 403, 403, 403, 403, 403, 403, 200, 200, 404, 200], "admin"),
            row([200, 200, 200, 200, 200, 200, 403, 403, 403, 403, 403, 403, 403, 403, 403, 403, 403], "auditor"),
            row([403, 200, 403, 200, 403, 200, 403, 403, 403, 403, 403, 200, 403, 403, 403, 403, 403], "channel"),
            row([403; 17], "verifier"),
        ];
        assert_eq!(table, expected.concat());
    }

    /// 403 comes before any error about fields, so that a caller who may not create keys learns nothing about their fields.
    async fn who_may_not_manage_keys_learns_nothing_of_them(app: &mut TestApp) {
        for role in [Role::Agent, Role::Operator, Role::Auditor, Role::Channel, Role::Verifier] {
            let api = app.api(role);
            assert_eq!(api.post("api/v1/keys", json!({})).await.problem(), (403, "forbidden"), "{role}");
            let existing = app.api(Role::Admin).get("api/v1/keys").await.ok()["keys"][0]["id"].as_str().unwrap().to_owned();
            for id in [existing.as_str(), "x"] {
                let refused = api.send(api.request("DELETE", &format!("api/v1/keys/{id}"))).await;
                assert_eq!(refused.problem(), (403, "forbidden"), "{role}");
            }
        }
        let keys = app.api(Role::Admin).get("api/v1/keys").await.ok();
        assert!(keys["keys"].as_array().unwrap().iter().all(|key| key["revoked_at"].is_null()));
    }
}
