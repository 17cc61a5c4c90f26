//! Exports of the log: whole or a selection, each checked here by the definition in `docs/log-format.md`.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::TimeDelta;
use domain::log::{Follower, Sealed};
use domain::people::principal::Role;
use futures_util::future::join_all;
use harness::api::Api;
use harness::app::TestApp;
use harness::{on_each_store, rows};
use proof::checkpoint::TreeHead;
use proof::tree::{NodeHash, Rooting, is_included, leaf_hash};
use reqwest::{RequestBuilder, Response};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// An export as it came, and its lines.
struct Export {
    text: String,
    lines: Vec<Value>,
}

impl Export {
    async fn get(app: &TestApp, query: &str) -> Self {
        let reply = app.api(Role::Auditor).get(&format!("api/v1/export?{query}")).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        let lines = reply.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        Self { text: reply.text, lines }
    }

    fn header(&self) -> &Value {
        self.lines.first().unwrap()
    }

    fn manifest(&self) -> &Value {
        &self.lines.last().unwrap()["manifest"]
    }

    fn events(&self) -> &[Value] {
        &self.lines[1..self.lines.len() - 1]
    }

    fn head(&self, app: &TestApp) -> TreeHead {
        let key = app.checkpoints().key().unwrap().verifying().clone();
        TreeHead::verify(self.header()["checkpoint"].as_str().unwrap(), &[key]).unwrap()
    }
}

async fn some_traffic(app: &TestApp) {
    let agent = app.agent();
    let questions = (0..20).map(|number| {
        let (agent, operator) = (agent.clone(), app.operator());
        async move {
            let (intent, suspension) = agent.ask(json!({})).await;
            if number % 3 > 0 {
                operator.respond(intent, &suspension, "approve").await.ok();
            }
        }
    });
    join_all(questions).await;
    agent.post("api/v1/portfolios", json!({"name": "a portfolio"})).await.ok();
    app.settle().await;
}

/// Makes the log longer than the sockets between the server and its client hold: an export has pages that the server has not made when
/// the client has read the first bytes.
pub(crate) async fn much_traffic(app: &TestApp) {
    let agent = app.agent();
    for _ in 0..12 {
        let intent = agent.active_intent().await;
        for _ in 0..4 {
            let comment = json!({"event_type": "comment", "payload": {"text": "x".repeat(240 * 1024)}});
            agent.post(&format!("api/v1/intents/{intent}/events"), comment).await.ok();
        }
    }
}

/// An export of which the client has read the first bytes.
pub(crate) struct Begun {
    response: Response,
    read: Vec<u8>,
}

impl Begun {
    pub(crate) async fn begin(request: RequestBuilder) -> Self {
        let mut response = request.send().await.unwrap();
        assert_eq!(response.status().as_u16(), 200);
        let read = response.chunk().await.unwrap().unwrap().to_vec();
        Self { response, read }
    }

    /// Reads the rest; returns all of it, and whether the transfer ended cleanly.
    pub(crate) async fn rest(mut self) -> (String, bool) {
        loop {
            match self.response.chunk().await {
                Ok(Some(bytes)) => self.read.extend_from_slice(&bytes),
                Ok(None) => return (String::from_utf8(self.read).unwrap(), true),
                Err(_) => return (String::from_utf8_lossy(&self.read).into_owned(), false),
            }
        }
    }
}

on_each_store! {
    /// A whole export has every leaf in its order, each log in the order of its events, and leads to the signed root.
    async fn a_whole_export_leads_to_the_signed_root(app: &mut TestApp) {
        some_traffic(app).await;
        let export = Export::get(app, "").await;
        let head = export.head(app);
        assert_eq!(export.header()["selection"], json!(null));
        let (mut rooting, mut logs) = (Rooting::default(), BTreeMap::<String, Follower>::new());
        for (leaf, line) in export.events().iter().enumerate() {
            assert_eq!(line["leaf"], leaf);
            let sealed = Sealed::from_served(&line["event"]).unwrap();
            let log = ["intent_id", "portfolio_id", "log"].iter().find_map(|name| line["event"][name].as_str()).unwrap();
            logs.entry(log.to_owned()).or_default().follow(&sealed).unwrap();
            rooting.push(leaf_hash(&proof::leaf::of(&sealed).unwrap()));
        }
        assert_eq!((rooting.size(), rooting.root()), (head.size, head.root));
        assert!(logs.len() >= 22, "intents, a portfolio and the server: {}", logs.len());
        let manifest = export.manifest();
        assert_eq!((&manifest["events"], &manifest["last_leaf"]), (&json!(head.size), &json!(head.size - 1)));
        let before = export.text.trim_end().rfind('\n').unwrap() + 1;
        let digest = Sha256::digest(&export.text[..before]);
        let digest = digest.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
        assert_eq!(manifest["sha256"], digest);
    }

    /// An export that broke off goes on behind its last line, also after a restart and beside new events.
    async fn an_export_goes_on_where_it_broke_off(app: &mut TestApp) {
        some_traffic(app).await;
        let whole = Export::get(app, "").await;
        let size = whole.head(app).size;
        some_traffic(app).await;
        app.restart().await;
        for after in [0, 7, size - 1] {
            let rest = Export::get(app, &format!("size={size}&after={after}")).await;
            let had: usize = whole.text.split_inclusive('\n').take(usize::try_from(after).unwrap() + 2).map(str::len).sum();
            assert_eq!([&whole.text[..had], &rest.text].concat(), whole.text, "after {after}");
        }
        assert_eq!(Export::get(app, &format!("size={size}")).await.text, whole.text, "one size, one export");
        assert!(Export::get(app, "").await.head(app).size > size);
    }

    /// In a selection each event brings its own way to the root, and the server's log is whole.
    async fn each_event_of_a_selection_brings_its_proof(app: &mut TestApp) {
        some_traffic(app).await;
        let (intent, suspension) = app.ask(json!({})).await;
        app.operator().respond(intent, &suspension, "approve").await.ok();
        let count = |export: &Export, wanted: &dyn Fn(&Value) -> bool| export.events().iter().filter(|line| wanted(&line["event"])).count();
        let is_servers = |event: &Value| event["log"] == "server";
        let of_server = app.api(Role::Auditor).get("api/v1/server/events?limit=1000").await.ok().as_array().unwrap().len();
        for query in [
            format!("intent_id={intent}"),
            "agent=test-agent".to_owned(),
            "person=test-operator".to_owned(),
            "outcome=answered".to_owned(),
            "from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z".to_owned(),
        ] {
            let export = Export::get(app, &query).await;
            let head = export.head(app);
            assert!(count(&export, &is_servers) >= of_server, "the log of the server is whole: {query}");
            for line in export.events() {
                let sealed = Sealed::from_served(&line["event"]).unwrap();
                let path: Vec<NodeHash> = line["proof"].as_array().unwrap().iter().map(|hash| STANDARD.decode(hash.as_str().unwrap()).unwrap().try_into().unwrap()).collect();
                let leaf = proof::leaf::of(&sealed).unwrap();
                assert!(is_included(&leaf, line["leaf"].as_u64().unwrap(), &path, head.size, head.root), "{query}");
            }
        }
        let of_intent = Export::get(app, &format!("intent_id={intent}")).await;
        let listed = app.agent().get(&format!("intents/{intent}/events?include=all")).await.ok().as_array().unwrap().len();
        assert_eq!(count(&of_intent, &|event| event["intent_id"] == intent.to_string()), listed);
        let answered = Export::get(app, "outcome=answered").await;
        assert!(answered.events().iter().all(|line| is_servers(&line["event"]) || line["event"]["event_type"] == "intent.resumed"));
        assert_eq!(count(&answered, &|event| event["event_type"] == "intent.resumed"), 14);
        let none = Export::get(app, "to=2020-01-02T00:00:00Z").await;
        assert_eq!(count(&none, &|event| !is_servers(event)), 0);
        assert_eq!(Export::get(app, &format!("intent_id={}", uuid::Uuid::from_u128(1))).await.manifest()["events"], of_server + 8);
    }

    /// The manifest alone is the one with which the export ends, also where its last page has no event that is wanted.
    async fn the_manifest_alone_is_that_of_the_export(app: &mut TestApp) {
        some_traffic(app).await;
        let size = Export::get(app, "").await.head(app).size;
        let auditor = app.api(Role::Auditor);
        for query in [String::new(), format!("&after={}", size - 1), "&after=0".to_owned(), "&agent=another".to_owned()] {
            let query = format!("size={size}{query}");
            let expected = Export::get(app, &query).await.manifest().clone();
            let alone = auditor.get(&format!("api/v1/export?{query}&manifest=only")).await.ok();
            assert_eq!(alone["manifest"], expected, "{query}");
            assert!(expected["events"].as_u64().unwrap() > 0, "{query}");
        }
    }

    /// A clock that is set back dates no export before the events in it: otherwise an honest export would look forged.
    async fn an_export_is_not_dated_before_its_events(app: &mut TestApp) {
        app.advance(3_600).await;
        app.ask(json!({})).await;
        app.checkpoints().turn().await.unwrap();
        app.clock.set_by(TimeDelta::seconds(-1_800));
        app.agent().active_intent().await;
        let export = Export::get(app, "").await;
        let exported_at = export.header()["exported_at"].as_str().unwrap().trim_end_matches('Z');
        for line in export.events() {
            assert!(line["event"]["created_at"].as_str().unwrap() <= exported_at, "{line}");
        }
    }

    /// The formats for people and for a SIEM have a line for each event, and a manifest of their own to compare.
    async fn each_format_has_a_line_for_each_event(app: &mut TestApp) {
        let agent = app.agent();
        let (intent, _) = agent.ask(json!({"question": "=HYPERLINK(\"http://evil.example\")\nsecond line"})).await;
        agent.post(&format!("intents/{intent}/events"), json!({"event_type": "comment", "payload": {"text": "a\r\nb|c=d"}})).await.ok();
        let size = Export::get(app, "").await.head(app).size;
        for (format, header, ending) in [("csv", 1, "\r\n"), ("ocsf", 0, "\n"), ("cef", 0, "\n")] {
            let path = format!("api/v1/export?format={format}&size={size}");
            let reply = app.api(Role::Auditor).get(&path).await;
            assert_eq!(reply.status, 200, "{}", reply.text);
            let manifest = app.api(Role::Auditor).get(&format!("{path}&manifest=only")).await.ok()["manifest"].clone();
            let digest = Sha256::digest(&reply.text).iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
            assert_eq!((&manifest["events"], &manifest["sha256"]), (&json!(size), &json!(digest)), "{format}");
            assert!(!reply.text.contains(",=HYPERLINK") && !reply.text.contains(",\"=HYPERLINK"), "{format}");
            if format != "csv" {
                assert_eq!(reply.text.matches(ending).count() as u64, size + header, "{format}");
            }
        }
        let refused = app.api(Role::Auditor).get(&format!("api/v1/export?format=csv&size={size}&after=1")).await;
        assert_eq!(refused.field_problem().2, "after");
    }

    /// The server writes the event of a new status, but its reason is a text of the agent. It must not stand where decisions stand.
    async fn the_reason_of_an_agent_is_no_decision(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let version = agent.intent(intent).await["version"].to_string();
        let body = json!({"status": "completed", "reason": "approved"});
        agent.post_at(&format!("api/v1/intents/{intent}/status"), &version, body).await.ok();
        for (format, decided) in [("csv", "\"approved\""), ("ocsf", "\"resolution\":\"approved\""), ("cef", "cs5=approved")] {
            let reply = app.api(Role::Auditor).get(&format!("api/v1/export?format={format}&intent_id={intent}")).await;
            assert!(reply.status == 200 && reply.text.contains("status_changed"), "{format}: {}", reply.text);
            // The payload in a table has its quotation marks twice.
            let text = reply.text.replace("\"\"approved\"\"", "");
            assert!(!text.contains(decided), "{format}: {}", reply.text);
        }
    }

    /// After an erasure, a denial must not pass for another answer, and a record without its content not for one that never had any.
    async fn an_erased_event_is_exported_as_erased(app: &mut TestApp) {
        let agent = app.agent();
        let (intent, suspension) = agent.ask(json!({})).await;
        app.operator().respond(intent, &suspension, "deny").await.ok();
        let version = agent.intent(intent).await["version"].to_string();
        let body = json!({"status": "completed", "reason": "done"});
        agent.post_at(&format!("api/v1/intents/{intent}/status"), &version, body).await.ok();
        app.settle().await;
        app.api(Role::Admin).post(&format!("api/v1/intents/{intent}/redact"), json!({"legal_basis": "a request"})).await.ok();
        let mut texts = Vec::new();
        for format in ["csv", "ocsf", "cef"] {
            let reply = app.api(Role::Auditor).get(&format!("api/v1/export?format={format}&intent_id={intent}")).await;
            assert_eq!(reply.status, 200, "{}", reply.text);
            texts.push(reply.text);
        }
        for event_type in ["intent.suspended", "intent.resumed"] {
            let [row, record, line] = [0, 1, 2].map(|place: usize| {
                texts[place].lines().find(|line| line.contains(event_type)).unwrap_or_else(|| panic!("{event_type}: {}", texts[place]))
            });
            assert!(row.ends_with(',') && !row.contains("\"responded\""), "the payload is empty: {row}");
            let record: Value = serde_json::from_str(record).unwrap();
            assert_eq!((&record["unmapped"]["payload_erased"], record.get("raw_data")), (&json!(true), None), "{record}");
            assert_eq!(record["unmapped"].get("resolution"), None, "{record}");
            assert!(!["cs1=", "cs3=", "cs4=", "cs5="].iter().any(|key| line.contains(key)), "{line}");
        }
    }

    /// A person with access to the database must not take all evidence away with one byte: of which intent a damaged event is, its row
    /// says. When it happened stands in the bytes that have changed.
    async fn a_damaged_event_ends_no_export_of_other_intents(app: &mut TestApp) {
        let (hurt, _) = app.ask(json!({})).await;
        let other = Api::new(&app.base, Some(&app.new_key(Role::Agent, "other-agent").await));
        let (well, _) = other.ask(json!({})).await;
        app.checkpoints().turn().await.unwrap();
        let change = |from: &str, to: &str| match app.scratch() {
            None => format!("UPDATE events SET bytes = CAST(replace(CAST(bytes AS TEXT), '{from}', '{to}') AS BLOB)"),
            Some(_) => format!("UPDATE events SET bytes = convert_to(replace(convert_from(bytes, 'UTF8'), '{from}', '{to}'), 'UTF8')"),
        };
        let oldest = "event_type = 'intent.suspended' AND intent = (SELECT min(rid) FROM intents)";
        rows::change(app, &format!("{} WHERE {oldest}", change("Refund order", "Refund older"))).await;
        let auditor = app.api(Role::Auditor);
        for query in [String::new(), "agent=test-agent".into(), "from=2020-01-01T00:00:00Z".into(), format!("intent_id={hurt}")] {
            let refused = auditor.get(&format!("api/v1/export?{query}")).await;
            assert_eq!((refused.problem(), &refused.body["intent_id"]), ((500, "damaged_record"), &json!(hurt)), "{query}");
        }
        for (query, expected) in [("agent=other-agent".to_owned(), true), (format!("intent_id={well}"), true), ("agent=nobody".into(), false)] {
            let export = Export::get(app, &query).await;
            let is_there = export.events().iter().any(|line| line["event"]["intent_id"] == json!(well));
            assert_eq!(is_there, expected, "{query}");
        }
        // At its end, a test verifies every chain. So the event gets its letter back.
        rows::change(app, &change("Refund older", "Refund order")).await;
    }

    /// An approval is answered by an event of its own, which is no less an answer.
    async fn answered_approvals_are_answers(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let path = format!("api/v1/intents/{intent}/approvals");
        for word in ["approve", "deny"] {
            let asked = agent.post(&path, json!({"action": "pay"})).await.ok();
            operator.post(&format!("{path}/{}/{word}", asked["id"].as_str().unwrap()), json!({})).await.ok();
        }
        let export = Export::get(app, "outcome=answered").await;
        let of_intent = export.events().iter().filter(|line| line["event"]["intent_id"] == intent.to_string());
        let types: Vec<_> = of_intent.map(|line| line["event"]["event_type"].as_str().unwrap()).collect();
        assert_eq!(types, ["governance.approval_granted", "governance.approval_denied"]);
    }

    /// Reads of everything leave a trace: the export is an event, with the key and the filters.
    async fn an_export_is_an_event(app: &mut TestApp) {
        Export::get(app, "agent=bot").await;
        let events = app.api(Role::Auditor).get("api/v1/server/events").await.ok();
        let last = events.as_array().unwrap().last().unwrap();
        assert_eq!((&last["event_type"], &last["actor"]), (&json!("log.exported"), &json!("test-auditor")));
        assert_eq!(last["payload"]["selection"], json!({"agent": "bot"}));
        assert_eq!(last["payload"]["credential"]["kind"], "api_key");
    }

    /// An export takes long. A key that is revoked meanwhile gets no further page, and its reader sees that the end is missing.
    async fn a_revoked_key_gets_no_more_of_its_export(app: &mut TestApp) {
        much_traffic(app).await;
        let admin = app.api(Role::Admin);
        for format in ["jsonl", "csv"] {
            let reader = Api::new(&app.base, Some(&app.new_key(Role::Auditor, format).await));
            let path = format!("api/v1/export?format={format}");
            let (whole, is_clean) = Begun::begin(reader.request("GET", &path)).await.rest().await;
            assert!(is_clean, "{format}");
            let begun = Begun::begin(reader.request("GET", &path)).await;
            let keys = admin.get("api/v1/keys").await.ok();
            let key = keys["keys"].as_array().unwrap().iter().find(|key| key["name"] == format).unwrap()["id"].clone();
            admin.send(admin.request("DELETE", &format!("api/v1/keys/{}", key.as_str().unwrap()))).await.ok();
            let (part, is_clean) = begun.rest().await;
            assert!(!is_clean && part.len() < whole.len(), "{format}: {} of {} bytes", part.len(), whole.len());
            assert!(!part.contains("{\"manifest\":"), "{format}");
            assert_eq!(reader.get(&path).await.status, 401, "{format}");
        }
    }

    /// Wrong parameters are named, and nothing is recorded for them.
    async fn wrong_parameters_are_named(app: &mut TestApp) {
        let auditor = app.api(Role::Auditor);
        let size = Export::get(app, "").await.head(app).size;
        let before = auditor.get("api/v1/server/events").await.ok().as_array().unwrap().len();
        for (query, field) in [
            ("from=yesterday", "from"),
            ("intent_id=x", "intent_id"),
            ("outcome=perhaps", "outcome"),
            ("format=xml", "format"),
            ("after=1", "size"),
            ("size=-1", "size"),
            ("colour=red", "colour"),
            ("to=9999-12-31T23:59:59-05:00", "to"),
            ("from=2026-12-01T00:00:00Z&to=2026-11-01T00:00:00Z", "to"),
            ("from=2026-12-01T00:00:00Z&to=2026-12-01T00:00:00Z", "to"),
        ] {
            let refused = auditor.get(&format!("api/v1/export?{query}")).await;
            assert_eq!(refused.field_problem().2, field, "{query}: {}", refused.text);
        }
        let refused = auditor.get("api/v1/export?from=2026-13-01").await;
        assert!(refused.text.contains("for example 2026-11-01T00:00:00Z"), "{}", refused.text);
        // A filter whose variable is not set must not hand out the whole log.
        for field in ["from", "to", "intent_id", "agent", "person", "outcome", "size", "format", "manifest"] {
            let refused = auditor.get(&format!("api/v1/export?{field}=")).await;
            assert_eq!(refused.field_problem(), (422, "invalid", field, "length"), "{}", refused.text);
        }
        let long = "x".repeat(201);
        assert_eq!(auditor.get(&format!("api/v1/export?agent={long}")).await.status, 422);
        assert_eq!(auditor.get(&format!("api/v1/export?agent={}", &long[1..])).await.status, 200);
        assert_eq!(auditor.get(&format!("api/v1/export?size={}", size + 1_000)).await.status, 404);
        for role in [Role::Agent, Role::Operator, Role::Channel] {
            assert_eq!(app.api(role).get("api/v1/export").await.status, 403, "{role}");
        }
        assert_eq!(auditor.get("api/v1/server/events").await.ok().as_array().unwrap().len(), before + 1);
    }
}
