//! How each database finds its rows: by an index, however many rows there are.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use chrono::TimeDelta;
use domain::base::ids::{Entropy as _, SessionId, SuspensionId};
use domain::people::identity::Identity;
use domain::people::principal::{Principal, Role};
use harness::api::Api;
use harness::app::{Backend, TestApp};
use harness::plans::{self, Plans};
use harness::postgres::Cluster;
use harness::smtp::Fault;
use harness::stream::Stream;
use serde_json::{Value, json};
use store::dashboard::DashboardFilter;
use store::host::clock::SystemEntropy;
use store::inbox::{InboxFilter, List};
use store::{Entry, OpenIdState, Proved, Store};

use crate::observing::metrics::every_ending;

/// A person whose inbox is read.
const CLEO: &str = "cleo@example.com";

/// The statements that may read a whole table: the beginning of each, and the reason.
const WHOLE: &[(&str, &str)] = &[
    ("SELECT … FROM intents ORDER BY intents.rid DESC LIMIT", "the newest come first, and a page of them is enough"),
    ("SELECT … FROM intents WHERE (intents.status =", "people look; an index would be written at every question and answer"),
    (
        "SELECT … FROM suspensions WHERE suspensions.kind NOT IN (1, 2, 6) ORDER BY suspensions.rid DESC LIMIT",
        "the newest come first, and a window of them is enough",
    ),
    ("SELECT … FROM portfolios ORDER BY portfolios.rid DESC LIMIT", "the newest come first, and a page of them is enough"),
    (
        "SELECT … FROM (subscriptions INNER JOIN intents ON (intents.rid = subscriptions.intent)) WHERE ((subscriptions.expires_at",
        "the newest come first, and a page of them is enough",
    ),
    ("SELECT completions.intent FROM completions ORDER BY", "a completed intent leaves the table within seconds"),
    ("SELECT … FROM api_keys ORDER BY", "there are few keys, and all are listed"),
    ("SELECT … FROM people WHERE (people.removed_at IS NULL) ORDER BY", "there are at most 2,000 people, and all are listed"),
    ("SELECT COUNT(*) FROM people WHERE (people.removed_at IS NULL)", "when a person is added, and there are at most 2,000"),
    ("SELECT … FROM people_groups", "there are at most 200 groups, and all are listed"),
    ("SELECT COUNT(*) FROM people_groups", "when a group is made, and there are at most 200"),
    (
        "SELECT … FROM (people_group_members INNER JOIN people ON (people.id = people_group_members.person))",
        "a group has at most 200 members, and all are listed",
    ),
    (
        "SELECT people.address FROM (people_group_members INNER JOIN people",
        "there are at most 2,000 people, and a group may have a tenth of them",
    ),
    ("SELECT published.rid FROM published ORDER BY published.rid DESC LIMIT ?", "the newest comes first, and it alone is read"),
    ("SELECT name AS line FROM sqlite_master", "at a start, and there are few tables"),
    ("SELECT __diesel_schema_migrations.version", "at a start, and there are few migrations"),
];
/// Indexes of open, queued or failed rows only. They stay small, however many rows the table has.
const PARTIAL: &[&str] =
    &["logins_by_due", "outbox_due", "outbox_failed", "suspensions_open", "suspensions_stopped", "tasks_by_due_at"];

/// Tables that never have more than some hundreds of rows.
const SMALL: &[&str] = &[
    "__diesel_schema_migrations",
    "log_keys",
    "people_groups",
    "presence",
    "published_offset",
    "secrets",
    "server_log",
    "witnesses",
];
/// SQL for rows that one does not get by copying the rows of one day. Idempotency keys may be used again, and the tables of
/// returned messages, of agents' bytes, assignments and access, of people, portfolios, tasks, coordinators, retries and subscriptions become large.
const ANOTHER_DAY: &str = "DELETE FROM suspension_keys WHERE suspension < 1000000; \
                           INSERT INTO agent_bytes SELECT 'agent-' || number, 100000, 0, 1 FROM generate_series(1, 20000) AS number; \
                           ANALYZE agent_bytes; \
                           INSERT INTO server_events SELECT number, 'key.created', now(), '', '' FROM generate_series(1000000, 1020000) AS number; \
                           ANALYZE server_events; \
                           INSERT INTO assignments SELECT rid, 'agent-' || rid, last_event FROM intents; ANALYZE assignments; \
                           INSERT INTO access_entries SELECT rid, 'agent-' || rid, id, 0, NULL, last_event FROM intents; ANALYZE access_entries; \
                           INSERT INTO access_requests SELECT rid, id, 'agent', 'agent-' || rid, 'owner', 0, last_event FROM intents; \
                           ANALYZE access_requests; \
                           INSERT INTO announcements SELECT rid, id, 1, now() + interval '9 years', 'agent', 'owner' FROM intents ON CONFLICT DO NOTHING; ANALYZE announcements; \
                           INSERT INTO client_ids SELECT intent, 'id-' || rid, rid FROM suspensions; ANALYZE client_ids; \
                           INSERT INTO portfolios (id, status, creator, creator_owner, name, metadata, governance_policy, created_at, updated_at, \
                           last_sequence, last_hash) SELECT id, 0, 'agent-' || rid, 'owner', '\"n\"', '{}', '{}', now(), now(), 1, '' FROM intents; \
                           ANALYZE portfolios; \
                           INSERT INTO portfolio_events SELECT rid, 9, 'portfolio_status_changed', now(), '', '' FROM portfolios; ANALYZE portfolio_events; \
                           INSERT INTO portfolio_members SELECT p.rid, i.rid, i.id, 0, 0, now(), 0 FROM portfolios p JOIN intents i ON i.id = p.id \
                           ON CONFLICT DO NOTHING; \
                           ANALYZE portfolio_members; \
                           INSERT INTO subscriptions (id, intent, creator, creator_owner, key_id, event_types, webhook_url, created_at, expires_at, sequence, \
                           missed, tries, due_at) SELECT id, rid, 'agent-' || rid, 'owner', id, '[]', 'https://a.example/', now(), now() + interval '9 years', \
                           last_sequence, 0, 0, now() FROM intents; ANALYZE subscriptions; \
                           INSERT INTO wake_posts SELECT 'endpoint', rid, 0, now() + rid * interval '1 minute' FROM suspensions; ANALYZE wake_posts; \
                           INSERT INTO graph_edges SELECT rid, kind, rid, false FROM intents, (VALUES (0), (1)) AS kinds (kind) ON CONFLICT DO NOTHING; \
                           ANALYZE graph_edges; \
                           INSERT INTO tasks (id, intent, status, facts, body) SELECT id, rid, 1, '{}', '{}' FROM intents ON CONFLICT DO NOTHING; ANALYZE tasks; \
                           INSERT INTO plans (id, intent, state, facts, body) SELECT id, rid, 3, '{}', '{}' FROM intents ON CONFLICT DO NOTHING; ANALYZE plans; \
                           INSERT INTO coordinators (id, intent, facts, body) SELECT id, rid, '{}', '{}' FROM intents ON CONFLICT DO NOTHING; ANALYZE coordinators; \
                            INSERT INTO retries (intent, facts) SELECT rid, '{}' FROM intents ON CONFLICT DO NOTHING; ANALYZE retries; \
                           INSERT INTO people (id, address, role, added_at, added_by) SELECT id, 'person-' || rid, 3, now(), 'a' FROM intents LIMIT 1900; ANALYZE people; \
                           INSERT INTO people_groups (name) SELECT 'group-' || number FROM generate_series(1, 150) AS number; ANALYZE people_groups; \
                           INSERT INTO people_group_members SELECT g.rid, p.id FROM people_groups g JOIN people p ON p.rid % 10 = g.rid % 10; \
                           ANALYZE people_group_members; \
                           INSERT INTO passkeys (credential_id, person, public_key, algorithm, rp_id, counter, added_at) \
                           SELECT id::text::bytea, id, '', -7, 'a.example', 0, now() FROM intents; ANALYZE passkeys; \
                           INSERT INTO identities (issuer, subject, person, bound_at) SELECT 'https://a.example', id::text, id, now() FROM intents; \
                           ANALYZE identities; \
                           INSERT INTO openid_logins (hash, browser, expires_at) SELECT id::text::bytea, id::text::bytea, now() + interval '9 years' FROM intents; \
                           ANALYZE openid_logins; \
                           INSERT INTO logins (id, person, asked_at, expires_at) SELECT id, id, now() + interval '9 years', now() FROM intents; ANALYZE logins; \
                           INSERT INTO sessions (id, person, hash, began_at, used_at, ends_at) SELECT id, id, id::text::bytea, now(), now(), \
                           now() + interval '9 years' FROM intents; ANALYZE sessions; \
                           INSERT INTO views SELECT rid, 'person-' || rid, now() FROM suspensions ON CONFLICT DO NOTHING; ANALYZE views; \
                           INSERT INTO counted_answers SELECT rid, 'person-' || rid, event FROM suspensions ON CONFLICT DO NOTHING; ANALYZE counted_answers; \
                           INSERT INTO inbox SELECT 'person:' || rid, now(), rid FROM suspensions ON CONFLICT DO NOTHING; ANALYZE inbox; \
                           INSERT INTO answered SELECT 'person-' || rid, rid FROM suspensions ON CONFLICT DO NOTHING; ANALYZE answered; \
                           INSERT INTO unsent_answers SELECT s.rid, i.id, '', '', now() FROM suspensions s JOIN intents i ON i.rid = s.intent; \
                           ANALYZE unsent_answers; \
                           INSERT INTO stops SELECT rid, 0, NULL, NULL FROM suspensions; ANALYZE stops; \
                           INSERT INTO drafts SELECT rid, 'person-' || rid, '{}', now() FROM suspensions; ANALYZE drafts; \
                           INSERT INTO alerts (suspension, person) SELECT s.rid, i.id FROM suspensions s JOIN intents i ON i.rid = s.intent; ANALYZE alerts; \
                           INSERT INTO errands SELECT rid, 'asker-' || rid, 'talk-' || rid, 0, now() FROM intents ON CONFLICT DO NOTHING; ANALYZE errands; \
                           INSERT INTO bounces (outbox, hard, reported_at) SELECT rid, true, now() FROM outbox; ANALYZE bounces";

/// Asks for an approval, lists approvals and escalations, and works on an intent under a policy.
async fn requests(agent: &Api, operator: &Api, path: &str) {
    let approval = agent.post(&format!("{path}/approvals"), json!({"action": "complete"})).await.ok();
    operator.post(&format!("{path}/approvals/{}/approve", approval["id"].as_str().unwrap()), json!({})).await.ok();
    for list in [format!("{path}/approvals"), "api/v1/escalations?status=pending".to_owned()] {
        agent.get(&list).await.ok();
        operator.get(&list).await.ok();
    }
    let governed = json!({"title": "t", "status": "active", "governance_policy": {"completion_mode": "require_approval"}});
    let governed = agent.post("api/v1/intents", governed).await.ok();
    let one = format!("api/v1/intents/{}", governed["id"].as_str().unwrap());
    agent
        .send(
            agent
                .request("PUT", &format!("{one}/governance"))
                .header("if-match", "1")
                .json(&json!({"completion_mode": "require_approval", "max_cost": 9})),
        )
        .await
        .ok();
    agent.post(&format!("{one}/costs"), json!({"cost_type": "t", "amount": 1, "unit": "u"})).await.ok();
    assert_eq!(agent.post_at(&format!("{one}/status"), "2", json!({"status": "completed"})).await.status, 403);
}

/// Suspends as the OpenIntent client does: once with a question that is answered, and once with an announcement that no question
/// follows.
async fn three_calls(app: &TestApp) {
    let (agent, operator) = (Api::new(&app.base, Some(&app.new_client_key("python").await)), app.operator());
    let record = json!({"id": "one", "question": "Go?", "response_type": "text"});
    for asks in [true, false] {
        let intent = agent.active_intent().await;
        let path = format!("api/v1/intents/{intent}");
        agent.post_at(&format!("{path}/status"), "1", json!({"status": "suspended_awaiting_input"})).await.ok();
        if asks {
            let patches = json!({"patches": [{"op": "set", "path": "_suspension", "value": record}]});
            agent.post_at(&format!("{path}/state"), "2", patches.clone()).await.ok();
            assert_eq!(agent.post_at(&format!("{path}/state"), "2", patches).await.problem().1, "record_id_used");
            operator.respond(intent, "one", "yes").await.ok();
        }
    }
    app.advance(10).await;
}

/// Creates tasks, lists them, completes one, and lets the agent of another lose it.
async fn tasks(app: &TestApp) {
    let agent = app.agent();
    let intent = agent.active_intent().await;
    let create = async |needed: &[&str]| {
        let body = json!({"intent_id": intent, "name": "n", "timeout_seconds": 5, "depends_on": needed});
        let made = agent.post("api/v1/tasks", body).await.ok();
        format!("api/v1/tasks/{}", made["id"].as_str().unwrap())
    };
    let one = create(&[]).await;
    let two = create(&[one.rsplit('/').next().unwrap()]).await;
    agent.post(&format!("{one}/claim"), json!({})).await.ok();
    agent.send(agent.request("PATCH", &one).header("if-match", "3").json(&json!({"status": "running"}))).await.ok();
    agent.post(&format!("{one}/complete"), json!({"output": {"a": 1}})).await.ok();
    agent.post(&format!("{two}/claim"), json!({})).await.ok();
    app.advance(5).await;
    agent.get(&two).await.ok();
    for query in ["", "?status=ready&limit=1&offset=0"] {
        agent.get(&format!("api/v1/intents/{intent}/tasks{query}")).await.ok();
    }
    let three = create(&[]).await;
    let after = three.rsplit('/').next().unwrap();
    let body = json!({"intent_id": intent, "tasks": [after], "checkpoints": [{"id": "c", "name": "n", "after_task": after}]});
    let plan = agent.post("api/v1/plans", body).await.ok();
    let plan = format!("api/v1/plans/{}", plan["id"].as_str().unwrap());
    agent.send(agent.request("PATCH", &plan).header("if-match", "1").json(&json!({"state": "active"}))).await.ok();
    agent.get(&plan).await.ok();
    agent.get(&format!("api/v1/intents/{intent}/plans")).await.ok();
    let body = json!({"title": "t", "status": "active", "depends_on": [intent]});
    let waiting = agent.post("api/v1/intents", body).await.ok();
    let held = agent.post("api/v1/tasks", json!({"intent_id": waiting["id"], "name": "n"})).await.ok();
    agent.asked(intent).await;
    let refused = agent.post(&format!("api/v1/tasks/{}/claim", held["id"].as_str().unwrap()), json!({})).await;
    assert_eq!(refused.problem().1, "io_upstream_suspended");
}

/// Takes the lease of a coordinator, records a decision, and lets the lease run out.
async fn coordinators(app: &TestApp) {
    let agent = app.agent();
    let intent = agent.active_intent().await;
    let made = agent.post("api/v1/coordinators", json!({"agent_id": "test-agent", "intent_id": intent})).await.ok();
    let one = format!("api/v1/coordinators/{}", made["id"].as_str().unwrap());
    let decision = json!({"coordinator_id": made["id"], "intent_id": intent, "decision_type": "plan_created", "summary": "s", "rationale": "r"});
    agent.post("api/v1/decisions", decision).await.ok();
    app.advance(60).await;
    agent.post(&format!("{one}/heartbeat"), json!({})).await.ok();
    app.advance(120).await;
    app.advance(180).await;
    assert_eq!(agent.get(&one).await.ok()["status"], "failed_over");
    for list in ["coordinators", "coordinator-decisions"] {
        agent.get(&format!("api/v1/intents/{intent}/{list}")).await.ok();
    }
}

/// Reports failures until another agent takes over.
async fn failures(app: &TestApp) {
    let agent = app.agent();
    let intent = agent.active_intent().await;
    let policy = json!({"strategy": "fixed", "failure_threshold": 2, "fallback_agent_id": "second"});
    agent.send(agent.request("PUT", &format!("api/v1/intents/{intent}/retry-policy")).json(&policy)).await.ok();
    for _ in 0..2 {
        agent.post(&format!("api/v1/intents/{intent}/failures"), json!({})).await.ok();
        app.advance(1).await;
    }
    assert_eq!(agent.event_types(intent).await.last().unwrap(), "retry.handed_over");
}

/// Asks by A2A, lists the tasks in each way, and cancels one.
async fn errands(agent: &Api, operator: &Api) {
    async fn call(api: &Api, method: &str, params: Value) -> Value {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        // The rows that fill the tables of PostgreSQL are no errands of anyone, so a list of all of them cannot be shown.
        api.send(api.request("POST", "a2a").header("a2a-version", "1.0").json(&call)).await.body["result"].clone()
    }
    let message = json!({"messageId": "m", "contextId": "talk", "role": "ROLE_USER", "parts": [{"text": "May I?"}]});
    let task = call(agent, "SendMessage", json!({"message": message})).await["task"]["id"].clone();
    for filter in [
        json!({}),
        json!({"pageToken": format!("1-{}", task.as_str().unwrap())}),
        json!({"status": "TASK_STATE_COMPLETED"}),
        json!({"contextId": "talk", "status": "TASK_STATE_AUTH_REQUIRED", "statusTimestampAfter": "2026-01-01T00:00:00Z"}),
    ] {
        call(agent, "ListTasks", filter.clone()).await;
        call(operator, "ListTasks", filter).await;
    }
    call(agent, "CancelTask", json!({"id": task})).await;
}

/// Creates intents that need each other, lists them, and completes them.
async fn graph(app: &TestApp) {
    let agent = app.agent();
    let (needed, other) = (agent.active_intent().await, agent.active_intent().await);
    let made = json!({"title": "t", "status": "active", "depends_on": [needed]});
    let made = agent.post(&format!("api/v1/intents/{other}/children"), made).await.ok();
    let path = format!("api/v1/intents/{}", made["id"].as_str().unwrap());
    let further = agent.active_intent().await;
    let version = made["version"].to_string();
    let added = agent.post_at(&format!("{path}/dependencies"), &version, json!({"dependency_id": further})).await.ok();
    for root in [format!("api/v1/intents/{other}"), path.clone()] {
        for word in ["children", "descendants", "ancestors", "dependencies", "dependents", "ready", "blocked", "graph"] {
            agent.get(&format!("{root}/{word}")).await.ok();
        }
    }
    let removed = agent.request("DELETE", &format!("{path}/dependencies/{further}"));
    agent.send(removed.header("if-match", added["version"].to_string())).await.ok();
    agent.post_at(&format!("api/v1/intents/{needed}/status"), "1", json!({"status": "completed"})).await.ok();
    agent.get(&path).await.ok();
    // If an agent may not read an intent, the server looks for one of its children, or an intent that needs it, on which the
    // agent works.
    let stranger = Api::new(&app.base, Some(&app.new_key(Role::Agent, &format!("stranger-{needed}")).await));
    assert_eq!(stranger.get(&path).await.status, 404);
}

/// Puts an intent into a portfolio and takes it out, and reads both as an agent and as people do.
async fn portfolios(agent: &Api, operator: &Api, path: &str) {
    let made =
        agent.post("api/v1/portfolios", json!({"name": "n", "governance_policy": {"require_all_completed": true}})).await.ok();
    let one = format!("api/v1/portfolios/{}", made["id"].as_str().unwrap());
    let intent = path.rsplit('/').next().unwrap();
    agent.post(&format!("{one}/intents"), json!({"intent_id": intent})).await.ok();
    let stream = format!("{}/subscribe", &one["api/v1/".len()..]);
    drop(Stream::open(agent, &stream, Some("1-1")).await.next().await);
    for reader in [agent, operator] {
        for page in [
            &*one,
            &format!("{one}/intents?offset=1"),
            &format!("{one}/events"),
            "api/v1/portfolios",
            "api/v1/portfolios?created_by=test-agent",
            &format!("{path}/portfolios"),
        ] {
            reader.get(page).await.ok();
        }
    }
    let working = agent.active_intent().await;
    agent.post(&format!("{one}/intents"), json!({"intent_id": working})).await.ok();
    let asked = agent.asked(working).await;
    let deadline = json!({"governance_policy": {"deadline": "2030-01-01T00:00:00Z"}});
    agent.send(agent.request("PATCH", &one).json(&deadline)).await.ok();
    operator.respond(working, &asked, "approve").await.ok();
    agent.send(agent.request("DELETE", &format!("{one}/intents/{intent}"))).await.ok();
    agent.send(agent.request("PATCH", &format!("{one}/status")).json(&json!({"status": "completed"}))).await.ok();
}

/// Subscribes an endpoint to the events of an intent, lists subscriptions, and ends this one.
async fn subscriptions(app: &TestApp, path: &str) {
    let agent = app.agent();
    let endpoint = json!({"intent_id": path.rsplit('/').next(), "webhook_url": "http://127.0.0.1:1/"});
    let made = agent.post("api/v1/subscriptions", endpoint).await.ok();
    agent.post(&format!("{path}/events"), json!({"event_type": "comment", "payload": {}})).await.ok();
    app.settle().await;
    for reader in [&agent, &app.operator()] {
        for query in ["", &format!("?intent_id={}", path.rsplit('/').next().unwrap())] {
            reader.get(&format!("api/v1/subscriptions{query}")).await.ok();
        }
    }
    let one = format!("api/v1/subscriptions/{}", made["id"].as_str().unwrap());
    assert_eq!(agent.send(agent.request("DELETE", &one)).await.status, 204);
    app.store().forget_expired().await.unwrap();
}

/// Lists a person and a group, changes both, and removes them.
async fn directory(admin: &Api, store: &dyn Store) {
    let person = admin.post("api/v1/people", json!({"address": "ada@example.com", "role": "operator"})).await.ok();
    let one = format!("api/v1/people/{}", person["id"].as_str().unwrap());
    admin.send(admin.request("PATCH", &one).json(&json!({"role": "auditor"}))).await.ok();
    let group = "api/v1/groups/finance";
    admin.send(admin.request("PUT", group).json(&json!({"members": ["ada@example.com"]}))).await.ok();
    for list in ["people", "groups"] {
        admin.get(&format!("api/v1/{list}")).await.ok();
    }
    by_issuer(store, "ada@example.com").await;
    admin.send(admin.request("DELETE", &one)).await.ok();
    admin.send(admin.request("DELETE", group)).await.ok();
}

/// Asks a person who is in a group, counts an answer and takes it back, and reads each list of the inbox, from its beginning and further on.
async fn inbox(app: &TestApp) {
    let admin = app.api(Role::Admin);
    let person = admin.post("api/v1/people", json!({"address": CLEO, "role": "operator"})).await.ok();
    admin.send(admin.request("PUT", "api/v1/groups/desk").json(&json!({"members": [CLEO]}))).await.ok();
    let (intent, id) = app
        .ask(json!({"assignees": {"groups": ["desk"], "roles": ["operator", "admin"]}, "quorum": {"required_approvals": 1}}))
        .await;
    let key = admin.post("api/v1/keys", json!({"role": "operator", "name": format!("cleo-{id}"), "subject": CLEO})).await.ok();
    let key = Api::new(&app.base, key["key"].as_str());
    let cleo = Principal::person(CLEO, Role::Operator, SessionId(SystemEntropy.uuid(chrono::DateTime::UNIX_EPOCH)));
    for list in List::ALL {
        for (after, words) in [(None, vec![]), (Some("1-1"), vec![]), (Some("9"), vec!["refund".to_owned()])] {
            let after = after.map(|after| after.parse().unwrap());
            let filter = InboxFilter { list, agent: None, kind: None, due: None, risk: None, words, after };
            app.store().inbox(cleo.clone(), Ok(filter)).await.unwrap();
        }
    }
    for group in [None, Some("desk".to_owned())] {
        // The rows that fill the tables of PostgreSQL say that questions ended, and not when, so the window cannot be understood there.
        drop(app.store().dashboard(cleo.clone(), Ok(DashboardFilter { group })).await);
    }
    app.store().history(cleo, SuspensionId::parse(&id).unwrap()).await.unwrap();
    app.store().people_changed(0).await.unwrap();
    key.respond(intent, &id, "approve").await.ok();
    admin.send(admin.request("DELETE", &format!("api/v1/people/{}", person["id"].as_str().unwrap()))).await.ok();
    admin.send(admin.request("DELETE", "api/v1/groups/desk")).await.ok();
}

/// Logs a person in by an issuer, for the first time and again, with a group that follows it.
async fn by_issuer(store: &dyn Store, address: &str) {
    let identity = Identity::read("https://login.example.com", "248289761001").unwrap();
    for is_member in [false, true] {
        let state = OpenIdState::new([u8::from(is_member); 32]);
        store.begin_openid_login(state.clone(), [7; 32], None).await.unwrap();
        assert!(store.take_openid_login(state, [7; 32]).await.unwrap().is_some());
        let groups = vec![("finance".to_owned(), is_member)];
        let proved = Proved {
            identity: identity.clone(),
            address: Some(address.to_owned()),
            auth_time: None,
            recent: TimeDelta::minutes(5),
            groups,
        };
        assert!(matches!(store.log_in_by_openid(proved, None).await.unwrap(), Entry::Begun { .. }));
    }
}

/// Uses everything that an intent can have beside it.
async fn beside(app: &TestApp, path: &str) {
    let (agent, operator) = (app.agent(), app.operator());
    requests(&agent, &operator, path).await;
    graph(app).await;
    tasks(app).await;
    coordinators(app).await;
    failures(app).await;
    errands(&agent, &operator).await;
    portfolios(&agent, &operator, path).await;
    subscriptions(app, path).await;
    directory(&app.api(Role::Admin), &*app.store()).await;
}

/// Brings about each ending of a question that is asked in one call, then asks as the OpenIntent client does, and then sets the
/// clock back.
async fn endings(app: &mut TestApp) {
    every_ending(app).await;
    three_calls(app).await;
    app.clock.set_by(TimeDelta::seconds(-3));
    app.settle().await;
}

/// Two questions of one kind: the second one names how the first one was decided.
async fn decided_before(app: &mut TestApp) {
    let kind = json!({"question_key": "refund"});
    let (intent, id) = app.ask(kind.clone()).await;
    app.operator().respond(intent, &id, "approve").await.ok();
    let (_, id) = app.ask(kind).await;
    assert_eq!(app.agent().suspension(&id).await["earlier_decisions"][0]["response"], "approve");
}

/// Does each thing that a server does in a day once.
async fn a_day(app: &mut TestApp) {
    app.smtp.mailed().await; // The mails of the day before are removed.
    endings(app).await;
    let (agent, operator, auditor) = (app.agent(), app.operator(), app.api(Role::Auditor));
    let change = json!({
        "timeout_seconds": 7200, "fallback_policy": "complete_with_fallback", "fallback_value": "deny",
        "retry_policy": {"max_attempts": 3, "interval_seconds": 600},
    });
    let (intent, id) = app.ask(change).await;
    let path = format!("api/v1/intents/{intent}");
    agent.post(&format!("{path}/state"), json!({"patches": [{"op": "set", "path": "step", "value": 1}]})).await;
    agent.post(&format!("{path}/events"), json!({"event_type": "comment", "payload": {}})).await.ok();
    let entry = agent.post(&format!("{path}/acl/entries"), json!({"principal_id": "helper"})).await.ok();
    agent.get(&format!("{path}/acl")).await.ok();
    agent.send(agent.request("DELETE", &format!("{path}/acl/entries/{}", entry["id"].as_str().unwrap()))).await;
    let asked = agent.post(&format!("{path}/access-requests"), json!({"principal_id": "helper"})).await.ok();
    let denied = format!("{path}/access-requests/{}/deny", asked["id"].as_str().unwrap());
    operator.post(&denied, json!({})).await.ok();
    let lease = agent.post(&format!("{path}/leases"), json!({"scope": "refund"})).await.ok();
    agent.get(&format!("{path}/leases")).await.ok();
    agent.send(agent.request("DELETE", &format!("{path}/leases/{}", lease["id"].as_str().unwrap()))).await.ok();
    agent.post(&format!("{path}/agents"), json!({"agent_id": "helper"})).await.ok();
    beside(app, &path).await;
    inbox(app).await;
    for stream in ["agents/test-agent", &path["api/v1/".len()..]] {
        drop(Stream::open(&agent, &format!("{stream}/subscribe"), Some("1-1")).await.next().await);
    }
    operator.post(&format!("api/v1/suspensions/{id}/extend"), json!({"seconds": 60})).await;
    app.advance(601).await;
    operator.post(&format!("api/v1/suspensions/{id}/remind"), json!({})).await;
    app.settle().await;
    let link = app.smtp.received().last().unwrap().link(&app.base);
    app.person().open(&link).await;
    for page in [
        "intents",
        "intents?status=active",
        "intents?cursor=9",
        "suspensions",
        "suspensions?state=open",
        "suspensions?idempotency_key=k",
        "deliveries?state=failed",
        "keys",
        "server/events",
    ] {
        for reader in [&agent, &auditor, &app.api(Role::Admin)] {
            reader.get(&format!("api/v1/{page}")).await;
        }
    }
    for page in ["", "/events", "/events?event_type=comment"] {
        agent.get(&format!("{path}{page}")).await.ok();
    }
    agent.get(&format!("api/v1/suspensions/{id}/deliveries")).await.ok();
    decided_before(app).await;
    app.ask(json!({})).await;
    let (intent, id) = app.ask(json!({})).await;
    let path = format!("api/v1/intents/{intent}/suspend/respond");
    operator.post_once(&path, "key", json!({"suspension_id": id, "value": "approve"})).await.ok();
    let first = auditor.get("api/v1/suspensions?limit=1").await.ok();
    auditor.get(&format!("api/v1/suspensions?limit=1&cursor={}", first["next_cursor"].as_str().unwrap())).await.ok();
    app.smtp.script(Fault::RejectRecipient);
    app.ask(json!({})).await;
    let failed = app.api(Role::Admin).get("api/v1/deliveries?state=failed").await.ok()["deliveries"][0]["id"].clone();
    app.api(Role::Admin).post(&format!("api/v1/deliveries/{}/redrive", failed.as_str().unwrap()), json!({})).await;
    app.settle().await;
    auditor.get("metrics").await;
    app.anonymous().get("readyz").await;
    app.store().forget_expired().await.unwrap();
    app.outage(3600).await;
    app.settle().await;
}

/// Fails if a statement reads a whole table and is not listed with a reason.
fn nothing_is_searched_from_end_to_end(plans: &Plans, whole: impl Fn(&str) -> bool) {
    assert!(plans.len() > 50, "only {} statements were seen", plans.len());
    let known = |statement: &str| WHOLE.iter().any(|(beginning, _)| statement.starts_with(beginning));
    let searched: Vec<_> = plans
        .iter()
        .filter(|(statement, steps)| steps.iter().any(|step| whole(step)) && !known(statement))
        .map(|(statement, steps)| format!("{statement}\n    {}", steps.join("\n    ")))
        .collect();
    assert!(searched.is_empty(), "{} statements search a whole table:\n{}", searched.len(), searched.join("\n"));
}

fn shown(plans: &Plans) -> String {
    let plan = |(statement, steps): (&String, &Vec<String>)| {
        std::iter::once(statement.clone()).chain(steps.iter().map(|step| format!("    {step}"))).collect::<Vec<_>>()
    };
    plans.iter().flat_map(plan).collect::<Vec<_>>().join("\n")
}

/// A server that has run for years must find rows as fast as a new one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_finds_everything_by_an_index() {
    let mut app = TestApp::start().await;
    plans::listen(&app);
    app.restart().await;
    a_day(&mut app).await;
    let plans = plans::of_sqlite(&app);
    insta::assert_snapshot!("plans_of_sqlite", shown(&plans));
    let is_partial = |step: &str| PARTIAL.iter().any(|index| step.split_whitespace().any(|word| word == *index));
    // These are no tables: the statements themselves compute them, a list of channels and one of intents that wait.
    let is_computed = |step: &str| ["SCAN queued", "SCAN held_up", "SCAN first_held", "SCAN all_held"].contains(&step);
    nothing_is_searched_from_end_to_end(&plans, |step| step.starts_with("SCAN ") && !is_computed(step) && !is_partial(step));
    app.finish().await;
}

/// The same for the plans that PostgreSQL chooses when its tables are large and analyzed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_finds_everything_by_an_index() {
    let mut app = TestApp::start_on(Backend::Postgres, |_| {}).await;
    a_day(&mut app).await;
    // More than a day later the same keys can be used again.
    app.advance(90_000).await;
    app.ask(json!({"retry_policy": {"max_attempts": 3, "interval_seconds": 600}})).await; // Its timers wait.
    plans::multiply(&app).await;
    let name = app.scratch().unwrap().name();
    Cluster::of_this_process().sql(name, ANOTHER_DAY).await;
    plans::log_plans(&app).await;
    a_day(&mut app).await;
    let plans = plans::of_postgres(&app);
    insta::assert_snapshot!("plans_of_postgres", shown(&plans));
    let is_small = |table: &str| SMALL.contains(&table) || table.starts_with("pg_");
    nothing_is_searched_from_end_to_end(&plans, |step| {
        step.split_once("Seq Scan on ").is_some_and(|(_, table)| !is_small(table))
    });
    app.discard().await;
}
