//! Dependencies and children: which intents wait, when they go on, and which callers may let them go on without a person.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use std::collections::BTreeSet;

use domain::base::ids::IntentId;
use domain::base::words::WAITING_COUNTED_MAX;
use domain::intent::dependency::DEPENDENCIES_MAX;
use domain::people::principal::Role;
use futures_util::future::join_all;
use harness::api::{Api, Reply};
use harness::app::TestApp;
use harness::on_each_store;
use harness::stream::Stream;
use serde_json::{Value, json};

const INTENTS: &str = "api/v1/intents";
const NOBODYS: &str = "019ab0f2-0000-7000-8000-000000000000";

fn id_of(intent: &Value) -> IntentId {
    intent["id"].as_str().unwrap().parse().unwrap()
}

async fn made(api: &Api, depends_on: &[IntentId]) -> Reply {
    api.post(INTENTS, json!({"title": "work", "status": "active", "depends_on": depends_on})).await
}

/// An active intent that waits for these.
async fn waiting(api: &Api, depends_on: &[IntentId]) -> IntentId {
    id_of(&made(api, depends_on).await.ok())
}

async fn child(api: &Api, parent: IntentId, depends_on: &[IntentId]) -> Reply {
    let body = json!({"title": "part", "status": "active", "depends_on": depends_on});
    api.post(&format!("{INTENTS}/{parent}/children"), body).await
}

async fn version(api: &Api, intent: IntentId) -> String {
    api.intent(intent).await["version"].to_string()
}

async fn add(api: &Api, intent: IntentId, dependency: impl serde::Serialize) -> Reply {
    let version = version(api, intent).await;
    api.post_at(&format!("{INTENTS}/{intent}/dependencies"), &version, json!({"dependency_id": dependency})).await
}

async fn remove(api: &Api, intent: IntentId, dependency: IntentId) -> Reply {
    let version = version(api, intent).await;
    let path = format!("{INTENTS}/{intent}/dependencies/{dependency}");
    api.send(api.request("DELETE", &path).header("if-match", version)).await
}

async fn set(api: &Api, intent: IntentId, status: &str) -> Reply {
    let version = version(api, intent).await;
    api.post_at(&format!("{INTENTS}/{intent}/status"), &version, json!({"status": status, "reason": "test"})).await
}

async fn complete(api: &Api, intent: IntentId) {
    assert_eq!(set(api, intent, "completed").await.ok()["status"], "completed");
}

async fn related(api: &Api, intent: IntentId, word: &str) -> Vec<IntentId> {
    let listed = api.get(&format!("{INTENTS}/{intent}/{word}")).await.ok();
    assert_eq!(listed["truncated"], false);
    listed[word].as_array().unwrap().iter().map(id_of).collect()
}

/// The types of the events of an intent, and for changes of status the statuses and the reason.
async fn told(api: &Api, intent: IntentId) -> Vec<String> {
    let log = api.get(&format!("{INTENTS}/{intent}/events?include=all&limit=1000")).await.ok();
    let log = log.as_array().unwrap().iter().rev();
    let told = log.map(|event| {
        let payload = &event["payload"];
        let word = |member: &str| payload[member].as_str().unwrap_or("-").to_owned();
        match event["event_type"].as_str().unwrap() {
            "status_changed" => {
                format!("{} -> {} ({})", word("old_status"), word("new_status"), word("reason"))
            }
            other => other.to_owned(),
        }
    });
    told.collect()
}

/// Checks that the intent is blocked by exactly these dependencies, and that its record names them.
async fn assert_blocked(api: &Api, intent: IntentId, by: &[IntentId]) {
    let shown = api.intent(intent).await;
    assert_eq!(shown["status"], "blocked");
    assert_eq!(shown["blocked_reason"], "dependencies");
    let shown: BTreeSet<IntentId> = serde_json::from_value(shown["blocked_by"].clone()).unwrap();
    assert_eq!(shown, by.iter().copied().collect());
}

async fn assert_active(api: &Api, intent: IntentId) {
    let shown = api.intent(intent).await;
    assert_eq!((&shown["status"], &shown["blocked_reason"], &shown["blocked_by"]), (&json!("active"), &Value::Null, &json!([])));
}

/// The sentence about other work in the newest mail, which must be on the page as well.
async fn seen(app: &TestApp) -> Option<String> {
    app.settle().await;
    let mail = app.smtp.received().pop().unwrap();
    let page = app.person().open(&mail.link(&app.base)).await;
    let sentence = |text: &str| text.lines().find(|line| line.contains("piece") && line.contains("of work")).map(str::to_owned);
    let told = sentence(&mail.text());
    assert_eq!(told.is_some(), page.html.contains("of work wait"), "{told:?}");
    if let Some(told) = &told {
        assert!(page.html.contains(told.as_str()), "{told}");
    }
    told
}

on_each_store! {
    /// The point of a dependency: the intent that waits cannot be active before the other one is completed, and is active then.
    async fn an_intent_waits_until_all_its_dependencies_are_completed(app: &mut TestApp) {
        let agent = app.agent();
        let (first, second) = (agent.active_intent().await, agent.active_intent().await);
        let report = waiting(&agent, &[first, second]).await;
        assert_blocked(&agent, report, &[first, second]).await;
        complete(&agent, first).await;
        assert_blocked(&agent, report, &[second]).await;
        app.restart().await;
        assert_blocked(&agent, report, &[second]).await;
        complete(&agent, second).await;
        assert_active(&agent, report).await;
        assert_eq!(
            told(&agent, report).await,
            [
                "intent_created", "dependency_added", "dependency_added", "active -> blocked (dependencies_incomplete)",
                "intent.dependency_completed", "intent.dependency_completed", "blocked -> active (dependencies_completed)",
            ]
        );
        assert_eq!(agent.intent(report).await["depends_on"], json!([first, second]));
    }

    /// A draft with a dependency stays a draft. If it is to become active before the dependency is completed, it becomes blocked.
    async fn a_draft_with_a_dependency_is_blocked_once_it_is_to_be_active(app: &mut TestApp) {
        let agent = app.agent();
        let needed = agent.active_intent().await;
        let draft = id_of(&agent.post(INTENTS, json!({"title": "later", "depends_on": [needed]})).await.ok());
        assert_eq!(agent.status(draft).await, "draft");
        let shown = set(&agent, draft, "active").await.ok();
        assert_eq!((&shown["status"], &shown["blocked_reason"]), (&json!("blocked"), &json!("dependencies")));
        let refused = set(&agent, draft, "active").await;
        assert_eq!(refused.problem(), (409, "dependencies_incomplete"));
        let told: Value = serde_json::from_str(&refused.text).unwrap();
        assert_eq!(told["blocking_intents"], json!([{"id": needed, "status": "active"}]));
        let other = id_of(&agent.post(INTENTS, json!({"title": "later", "depends_on": [needed]})).await.ok());
        complete(&agent, needed).await;
        assert_active(&agent, draft).await;
        assert_eq!(agent.status(other).await, "draft");
        assert_eq!(set(&agent, other, "active").await.ok()["status"], "active");
    }

    /// A person who is asked sees how much work waits for the answer: on the page and in the mail, through intents in between, and
    /// without those that have ended.
    async fn a_person_sees_how_much_work_waits(app: &mut TestApp) {
        let api = app.agent();
        let review = api.active_intent().await;
        let (_, alone) = api.ask(json!({})).await;
        assert_eq!(seen(app).await, None);
        app.operator().respond(api.suspension(&alone).await["intent_id"].as_str().unwrap().parse().unwrap(), &alone, "deny").await.ok();
        // Those that have ended do not count, however many there are.
        for _ in 0..=WAITING_COUNTED_MAX {
            let ended = waiting(&api, &[review]).await;
            set(&api, ended, "abandoned").await.ok();
        }
        let report = waiting(&api, &[review]).await;
        let asked = api.asked(review).await;
        assert_eq!(seen(app).await.as_deref(), Some("One other piece of work waits for this."));
        app.operator().respond(review, &asked, "deny").await.ok();
        // The intent of a letter waits for its child, and another one for the letter.
        let letter = api.active_intent().await;
        id_of(&child(&api, letter, &[report, review]).await.ok());
        waiting(&api, &[letter]).await;
        let abandoned = waiting(&api, &[review]).await;
        waiting(&api, &[abandoned]).await;
        set(&api, abandoned, "abandoned").await.ok();
        let asked = api.asked(review).await;
        assert_eq!(seen(app).await.as_deref(), Some("4 other pieces of work wait for this."));
        app.operator().respond(review, &asked, "deny").await.ok();
        for _ in 0..WAITING_COUNTED_MAX - 4 {
            waiting(&api, &[review]).await;
        }
        let asked = api.asked(review).await;
        assert_eq!(seen(app).await.as_deref(), Some("99 other pieces of work wait for this."));
        app.operator().respond(review, &asked, "deny").await.ok();
        waiting(&api, &[letter]).await;
        api.asked(review).await;
        assert_eq!(seen(app).await.as_deref(), Some("More than 99 other pieces of work wait for this."));
    }

    /// RFC-0026, rule 2: a suspended intent is not completed, and an answer does not complete it.
    async fn an_answer_does_not_unblock_the_dependents_and_completion_does(app: &mut TestApp) {
        let agent = app.agent();
        let review = agent.active_intent().await;
        let report = waiting(&agent, &[review]).await;
        let asked = agent.asked(review).await;
        app.settle().await;
        assert_blocked(&agent, report, &[review]).await;
        app.operator().respond(review, &asked, "approve").await.ok();
        assert_blocked(&agent, report, &[review]).await;
        complete(&agent, review).await;
        assert_active(&agent, report).await;
    }

    /// An intent that got a dependency while it waited for a person does not become active when the person has answered.
    async fn a_dependency_added_during_a_question_counts_after_the_answer(app: &mut TestApp) {
        let agent = app.agent();
        for ends in ["answer", "silence", "withdrawal"] {
            let (intent, needed) = (agent.active_intent().await, agent.active_intent().await);
            let fallback = json!({"timeout_seconds": 60, "fallback_policy": "complete_with_fallback", "fallback_value": "deny"});
            let asked = agent.suspend(intent, fallback).await.ok()["id"].as_str().unwrap().to_owned();
            app.settle().await;
            add(&agent, intent, needed).await.ok();
            assert_eq!(agent.status(intent).await, "suspended_awaiting_input");
            match ends {
                "answer" => drop(app.operator().respond(intent, &asked, "approve").await.ok()),
                "silence" => app.advance(61).await,
                _ => drop(agent.post(&format!("api/v1/suspensions/{asked}/cancel"), json!({})).await.ok()),
            }
            assert_blocked(&agent, intent, &[needed]).await;
            complete(&agent, needed).await;
            assert_active(&agent, intent).await;
        }
    }

    /// If an agent has blocked its own intent, the completion of a dependency does not unblock it.
    async fn completing_a_dependency_lifts_no_other_reason(app: &mut TestApp) {
        let agent = app.agent();
        let (needed, held) = (agent.active_intent().await, agent.active_intent().await);
        set(&agent, held, "blocked").await.ok();
        assert_eq!(agent.intent(held).await["blocked_reason"], "manual");
        add(&agent, held, needed).await.ok();
        assert_eq!(agent.intent(held).await["blocked_reason"], "dependencies");
        complete(&agent, needed).await;
        let shown = agent.intent(held).await;
        assert_eq!((&shown["status"], &shown["blocked_reason"]), (&json!("blocked"), &json!("manual")));
        assert_eq!(set(&agent, held, "active").await.ok()["status"], "active");
    }

    /// An abandoned dependency never counts as completed. The waiting intent can drop it, or be abandoned itself.
    async fn an_abandoned_dependency_holds_until_it_is_removed(app: &mut TestApp) {
        let agent = app.agent();
        let needed = agent.active_intent().await;
        let report = waiting(&agent, &[needed]).await;
        set(&agent, needed, "abandoned").await.ok();
        assert_blocked(&agent, report, &[needed]).await;
        let shown = remove(&agent, report, needed).await.ok();
        assert_eq!((&shown["status"], &shown["depends_on"]), (&json!("active"), &json!([])));
        assert_eq!(told(&agent, report).await[3..], ["dependency_removed", "blocked -> active (dependency_removed)"]);
    }

    /// An agent could try to go on without a person's answer by removing its dependency on the intent that waits for the person.
    /// That is refused until a person has answered.
    async fn an_agent_cannot_remove_a_dependency_that_waits_for_a_person(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let review = agent.active_intent().await;
        let (report, other) = (waiting(&agent, &[review]).await, waiting(&agent, &[review]).await);
        let asked = agent.asked(review).await;
        let before = agent.everything(report).await;
        let refused = remove(&agent, report, review).await;
        assert_eq!(refused.problem(), (409, "upstream_intent_suspended"));
        assert!(refused.text.contains(&review.to_string()));
        // After the agent has withdrawn its question, no person has answered about the review, so the removal is still refused.
        agent.post(&format!("api/v1/suspensions/{asked}/cancel"), json!({})).await.ok();
        assert_eq!(remove(&agent, report, review).await.problem(), (409, "upstream_intent_unanswered"));
        assert_eq!(agent.everything(report).await, before);
        // A key of the agent's own owner is not another person.
        let keys = app.api(Role::Admin);
        let own = keys.post("api/v1/keys", json!({"name": "own-op", "role": "operator", "owner": "test-agent"})).await.ok();
        let own = Api::new(&app.base, own["key"].as_str());
        assert_eq!(remove(&own, report, review).await.problem(), (409, "upstream_intent_unanswered"));
        assert_eq!(remove(&operator, report, review).await.ok()["status"], "active");
        // Once a person has answered, the agent may remove the dependency.
        let asked = agent.asked(review).await;
        operator.respond(review, &asked, "approve").await.ok();
        assert_eq!(remove(&agent, other, review).await.ok()["status"], "active");
    }

    /// A dependency that would make intents wait for each other is refused, because they would wait for ever. A parent waits for
    /// its children, so circles through children are refused too.
    async fn no_intents_wait_for_each_other(app: &mut TestApp) {
        let agent = app.agent();
        let first = agent.active_intent().await;
        let second = waiting(&agent, &[first]).await;
        let third = waiting(&agent, &[second]).await;
        for (intent, dependency, cycle) in
            [(first, first, vec![first, first]), (first, second, vec![first, second, first]), (first, third, vec![first, third, second, first])]
        {
            let before = agent.everything(intent).await;
            let refused = add(&agent, intent, dependency).await;
            assert_eq!(refused.problem(), (400, "dependency_cycle"));
            let told: Value = serde_json::from_str(&refused.text).unwrap();
            assert_eq!(told["cycle"], json!(cycle));
            assert_eq!(agent.everything(intent).await, before);
        }
        let parent = agent.active_intent().await;
        let below = id_of(&child(&agent, parent, &[]).await.ok());
        assert_eq!(add(&agent, below, parent).await.problem(), (400, "dependency_cycle"));
        assert_eq!(child(&agent, parent, &[parent]).await.problem(), (400, "dependency_cycle"));
        let user = waiting(&agent, &[parent]).await;
        assert_eq!(child(&agent, below, &[user]).await.problem(), (400, "dependency_cycle"));
        assert_eq!(add(&agent, below, user).await.problem(), (400, "dependency_cycle"));
    }

    /// Each of the two additions would be allowed alone, but together they close a circle. So exactly one of them is refused.
    async fn of_two_additions_at_once_that_close_a_circle_one_is_refused(app: &mut TestApp) {
        let agent = app.agent();
        for _ in 0..10 {
            let (one, other) = (agent.active_intent().await, agent.active_intent().await);
            let (first, second) = futures_util::future::join(add(&agent, one, other), add(&agent, other, one)).await;
            let mut statuses = [first.status, second.status];
            statuses.sort_unstable();
            assert_eq!(statuses, [200, 400], "{} {}", first.text, second.text);
        }
    }

    /// If a dependency is completed at the moment at which it is added to an intent, that intent must not wait for ever.
    async fn an_addition_and_a_completion_at_once_leave_no_intent_waiting(app: &mut TestApp) {
        let agent = app.agent();
        for _ in 0..10 {
            let (intent, needed) = (agent.active_intent().await, agent.active_intent().await);
            let (added, completed) = futures_util::future::join(add(&agent, intent, needed), set(&agent, needed, "completed")).await;
            assert_eq!((added.status, completed.status), (200, 200));
            assert_active(&agent, intent).await;
        }
    }

    /// If two dependencies of one intent are completed at the same time, the intent becomes active, and once. Without a lock on
    /// the intent, each completion could take the other dependency for incomplete.
    async fn two_dependencies_completed_at_once_unblock_once(app: &mut TestApp) {
        let agent = app.agent();
        for _ in 0..10 {
            let (one, other) = (agent.active_intent().await, agent.active_intent().await);
            let report = waiting(&agent, &[one, other]).await;
            let (first, second) = futures_util::future::join(set(&agent, one, "completed"), set(&agent, other, "completed")).await;
            assert_eq!((first.status, second.status), (200, 200));
            assert_active(&agent, report).await;
            let lifted = told(&agent, report).await.into_iter().filter(|told| told.starts_with("blocked -> active")).count();
            assert_eq!(lifted, 1);
        }
    }

    /// One transaction unblocks only a hundred of the intents that wait for a completed one. The deadline loop unblocks the rest,
    /// also after a restart.
    async fn every_dependent_of_many_is_unblocked(app: &mut TestApp) {
        let agent = app.agent();
        let hub = agent.active_intent().await;
        let mut dependents = Vec::new();
        for _ in 0..10 {
            dependents.extend(join_all((0..25).map(async |_| waiting(&agent, &[hub]).await)).await);
        }
        complete(&agent, hub).await;
        let active = async |agent: &Api| {
            let mut active = 0;
            for part in dependents.chunks(25) {
                let all = join_all(part.iter().map(|id| agent.status(*id))).await;
                active += all.iter().filter(|status| *status == "active").count();
            }
            active
        };
        assert_eq!(active(&agent).await, 100);
        app.restart().await;
        app.settle().await;
        assert_eq!(active(&agent).await, dependents.len());
        // If an intent is added that needs the completed one, it does not have to wait at all.
        assert_active(&agent, waiting(&agent, &[hub]).await).await;
    }

    /// An intent is completed only after everything that it needs. A person may complete it earlier and must give a reason, and
    /// the log then names the intents that were not completed.
    async fn an_intent_is_completed_after_its_children_unless_a_person_says_otherwise(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let parent = agent.active_intent().await;
        let (first, second) = (id_of(&child(&agent, parent, &[]).await.ok()), id_of(&child(&agent, parent, &[]).await.ok()));
        let refused = set(&agent, parent, "completed").await;
        assert_eq!(refused.problem(), (409, "dependencies_incomplete"));
        let told: Value = serde_json::from_str(&refused.text).unwrap();
        assert_eq!(told["blocking_intents"], json!([{"id": first, "status": "active"}, {"id": second, "status": "active"}]));
        complete(&agent, first).await;
        set(&agent, second, "abandoned").await.ok();
        assert_eq!(set(&agent, parent, "completed").await.problem(), (409, "dependencies_incomplete"));
        let version = version(&agent, parent).await;
        let path = format!("{INTENTS}/{parent}/status");
        let bare = operator.post_at(&path, &version, json!({"status": "completed"})).await;
        assert_eq!(bare.field_problem(), (422, "invalid", "reason", "required"));
        assert_eq!(operator.post_at(&path, &version, json!({"status": "abandoned"})).await.problem(), (403, "forbidden"));
        let keys = app.api(Role::Admin);
        let own = keys.post("api/v1/keys", json!({"name": "own-op", "role": "operator", "owner": "test-agent"})).await.ok();
        let own = Api::new(&app.base, own["key"].as_str());
        assert_eq!(set(&own, parent, "completed").await.problem(), (409, "dependencies_incomplete"));
        assert_eq!(set(&operator, parent, "completed").await.ok()["status"], "completed");
        let log = agent.events(parent).await;
        let completed = log.iter().find(|event| event["payload"]["new_status"] == "completed").unwrap();
        assert_eq!(completed["payload"]["overrides"], json!([second]));
        assert_eq!(child(&agent, parent, &[]).await.problem(), (409, "intent_ended"));
        assert_eq!(add(&agent, parent, first).await.problem(), (409, "intent_ended"));
    }

    async fn the_lists_hold_the_intents_they_name(app: &mut TestApp) {
        let agent = app.agent();
        let root = agent.active_intent().await;
        let fetch = id_of(&child(&agent, root, &[]).await.ok());
        let review = id_of(&child(&agent, root, &[fetch]).await.ok());
        let part = id_of(&child(&agent, review, &[]).await.ok());
        for (word, listed) in [
            ("children", vec![fetch, review]),
            ("descendants", vec![fetch, review, part]),
            ("ancestors", vec![]),
            ("dependencies", vec![]),
            ("dependents", vec![]),
            ("ready", vec![fetch]),
            ("blocked", vec![review]),
        ] {
            assert_eq!(related(&agent, root, word).await, listed, "{word}");
        }
        assert_eq!(related(&agent, part, "ancestors").await, [review, root]);
        assert_eq!(related(&agent, review, "dependencies").await, [fetch]);
        assert_eq!(related(&agent, fetch, "dependents").await, [review]);
        agent.asked(fetch).await;
        let graph = agent.get(&format!("{INTENTS}/{root}/graph")).await.ok();
        assert_eq!(graph["root_id"], json!(root));
        let node = |id: IntentId| graph["nodes"].as_array().unwrap().iter().find(|node| id_of(node) == id).cloned().unwrap();
        assert_eq!(graph["nodes"].as_array().unwrap().len(), 4);
        let shown = node(review);
        assert_eq!((&shown["parent_id"], &shown["depends_on"]), (&json!(root), &json!([fetch])));
        assert_eq!((&shown["blocked_by"], &shown["suspension"]), (&json!([fetch]), &Value::Null));
        assert!(node(fetch)["suspension"]["expires_at"].is_string());
        let edges: BTreeSet<String> = graph["edges"].as_array().unwrap().iter().map(Value::to_string).collect();
        let edge = |from: IntentId, to: IntentId, kind: &str| json!({"from": from, "to": to, "type": kind}).to_string();
        let expected = [
            edge(root, fetch, "parent"), edge(root, review, "parent"), edge(review, part, "parent"), edge(fetch, review, "dependency"),
        ];
        assert_eq!(edges, BTreeSet::from(expected));
        let counted = &graph["aggregate_status"];
        assert_eq!((&counted["total"], &counted["by_status"]["suspended_awaiting_input"]), (&json!(3), &json!(1)));
        assert_eq!((&counted["blocking_intents"], &counted["ready_intents"]), (&json!([fetch]), &json!([part])));
    }

    /// An agent needs the results of the intents on which its own one depends, and may read those, and no further ones.
    async fn an_agent_reads_the_direct_dependencies_and_the_parent_of_its_intent(app: &mut TestApp) {
        let agent = app.agent();
        let helper = Api::new(&app.base, Some(&app.new_key(Role::Agent, "helper").await));
        let far = agent.active_intent().await;
        let near = waiting(&agent, &[far]).await;
        let parent = agent.active_intent().await;
        let work = id_of(&child(&agent, parent, &[near]).await.ok());
        assert_eq!(helper.get(&format!("{INTENTS}/{near}")).await.problem(), (404, "not_found"));
        agent.post(&format!("{INTENTS}/{work}/agents"), json!({"agent_id": "helper"})).await.ok();
        assert_eq!(helper.get(&format!("{INTENTS}/{near}")).await.status, 200);
        assert_eq!(helper.get(&format!("{INTENTS}/{parent}")).await.status, 200);
        assert_eq!(related(&helper, work, "dependencies").await, [near]);
        assert_eq!(helper.get(&format!("{INTENTS}/{far}")).await.problem(), (404, "not_found"));
        // The right to read along an edge is no right to change or to read the log.
        assert_eq!(helper.get(&format!("{INTENTS}/{near}/events")).await.problem(), (404, "not_found"));
        // An agent that may read an intent only along an edge does not see the question of that intent.
        agent.asked(parent).await;
        let lent = helper.intent(parent).await;
        assert_eq!((&lent["status"], &lent["state"]), (&json!("suspended_awaiting_input"), &json!({})));
        // An agent gains no right by adding an edge itself.
        let own = helper.active_intent().await;
        assert_eq!(add(&helper, own, far).await.problem(), (404, "not_found"));
        assert_eq!(made(&helper, &[far]).await.problem(), (404, "not_found"));
        assert_eq!(made(&helper, &[near]).await.problem(), (404, "not_found"));
        // An edge lends no more than the right of the agent that made it.
        let granted = agent.post(&format!("{INTENTS}/{far}/acl/entries"), json!({"principal_id": "helper"})).await.ok();
        let own = waiting(&helper, &[far]).await;
        assert_eq!(related(&helper, own, "dependencies").await, [far]);
        let entry = format!("{INTENTS}/{far}/acl/entries/{}", granted["id"].as_str().unwrap());
        assert_eq!(agent.send(agent.request("DELETE", &entry)).await.status, 204);
        assert_eq!(helper.get(&format!("{INTENTS}/{far}")).await.problem(), (404, "not_found"));
        assert_eq!(related(&helper, own, "dependencies").await, []);
    }

    /// A child keeps its parent from being completed, so an agent that may only read the parent must not give it one.
    async fn a_reader_gives_an_intent_no_children(app: &mut TestApp) {
        let agent = app.agent();
        let helper = Api::new(&app.base, Some(&app.new_key(Role::Agent, "helper").await));
        let parent = agent.active_intent().await;
        let entry = |permission: &str| json!({"principal_id": "helper", "permission": permission});
        agent.post(&format!("{INTENTS}/{parent}/acl/entries"), entry("read")).await.ok();
        assert_eq!(child(&helper, parent, &[]).await.problem(), (403, "forbidden"));
        let other = helper.post(INTENTS, json!({"title": "t", "parent_id": parent})).await;
        assert_eq!(other.problem(), (403, "forbidden"));
        complete(&agent, parent).await;
        let parent = agent.active_intent().await;
        agent.post(&format!("{INTENTS}/{parent}/acl/entries"), entry("write")).await.ok();
        child(&helper, parent, &[]).await.ok();
        assert_eq!(set(&agent, parent, "completed").await.problem(), (409, "dependencies_incomplete"));
    }

    /// The intent that waits for a person may be several dependencies away. Removing a nearer dependency would bypass the person
    /// as well, so that is refused too.
    async fn an_agent_cannot_cut_an_edge_above_one_that_waits_for_a_person(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let review = agent.active_intent().await;
        let middle = waiting(&agent, &[review]).await;
        let report = waiting(&agent, &[middle]).await;
        let above = agent.active_intent().await;
        let asking = id_of(&child(&agent, above, &[]).await.ok());
        let other = waiting(&agent, &[above]).await;
        agent.asked(review).await;
        agent.asked(asking).await;
        for (intent, dependency, waits) in [(report, middle, review), (other, above, asking)] {
            let refused = remove(&agent, intent, dependency).await;
            assert_eq!(refused.problem(), (409, "upstream_intent_suspended"));
            assert!(refused.text.contains(&waits.to_string()), "{}", refused.text);
            assert_eq!(remove(&operator, intent, dependency).await.ok()["status"], "active");
        }
    }

    /// An operator's key of the asker's owner counts as the asker's own side, like one of the creator's owner. It must not remove
    /// the dependency.
    async fn the_owner_of_the_asker_cannot_remove_the_dependency_either(app: &mut TestApp) {
        let agent = app.agent();
        let helper = Api::new(&app.base, Some(&app.new_key(Role::Agent, "helper").await));
        let review = agent.active_intent().await;
        let report = waiting(&agent, &[review]).await;
        agent.post(&format!("{INTENTS}/{review}/agents"), json!({"agent_id": "helper"})).await.ok();
        helper.asked(review).await;
        let body = json!({"name": "helper-op", "role": "operator", "owner": "helper"});
        let own = app.api(Role::Admin).post("api/v1/keys", body).await.ok();
        let own = Api::new(&app.base, own["key"].as_str());
        assert_eq!(remove(&own, report, review).await.problem(), (409, "upstream_intent_suspended"));
        assert_eq!(remove(&app.operator(), report, review).await.status, 200);
    }

    /// An abandoned dependency would hold its dependent for ever, so a person may complete the dependent.
    async fn a_person_completes_an_intent_whose_dependency_was_abandoned(app: &mut TestApp) {
        let agent = app.agent();
        let needed = agent.active_intent().await;
        let report = waiting(&agent, &[needed]).await;
        set(&agent, needed, "abandoned").await.ok();
        assert_eq!(set(&agent, report, "completed").await.problem(), (409, "dependencies_incomplete"));
        assert_eq!(set(&app.operator(), report, "completed").await.ok()["status"], "completed");
        let log = agent.events(report).await;
        let completed = log.iter().find(|event| event["payload"]["new_status"] == "completed").unwrap();
        assert_eq!((&completed["payload"]["overrides"], &completed["payload"]["reason"]), (&json!([needed]), &json!("test")));
        // The dependents of the report go on like those of any completed intent.
        assert_active(&agent, waiting(&agent, &[report]).await).await;
    }

    /// The OpenIntent client drops an assignment to an intent that still waits for its dependencies. So the server announces the
    /// assignment again when the intent can go on.
    async fn assigned_agents_are_told_when_their_intent_can_go_on(app: &mut TestApp) {
        let agent = app.agent();
        let helper = Api::new(&app.base, Some(&app.new_key(Role::Agent, "helper").await));
        let needed = agent.active_intent().await;
        let work = waiting(&agent, &[needed]).await;
        agent.post(&format!("{INTENTS}/{work}/agents"), json!({"agent_id": "helper"})).await.ok();
        let mut stream = Stream::begin(&helper, "agents/helper/subscribe").await.0;
        complete(&agent, needed).await;
        let signal = stream.next().await;
        let told = signal.data;
        assert_eq!(signal.name, "AGENT_ASSIGNED");
        assert_eq!((&told["intent_id"], &told["agent_id"]), (&json!(work), &json!("helper")));
    }

    async fn what_cannot_be_a_dependency_is_refused(app: &mut TestApp) {
        let agent = app.agent();
        let (intent, needed) = (agent.active_intent().await, agent.active_intent().await);
        add(&agent, intent, needed).await.ok();
        let before = agent.everything(intent).await;
        assert_eq!(add(&agent, intent, needed).await.problem(), (400, "dependency_exists"));
        for unknown in [NOBODYS, "no id", ""] {
            assert_eq!(add(&agent, intent, unknown).await.problem(), (404, "not_found"), "{unknown}");
            let created = agent.post(INTENTS, json!({"title": "t", "depends_on": [unknown]})).await;
            assert_eq!(created.problem(), (404, "not_found"), "{unknown}");
        }
        let twice = agent.post(INTENTS, json!({"title": "t", "depends_on": [needed, needed]})).await;
        assert_eq!(twice.field_problem(), (422, "invalid", "depends_on", "unique"));
        let path = format!("{INTENTS}/{intent}/dependencies");
        assert_eq!(agent.post(&path, json!({"dependency_id": needed})).await.problem(), (400, "if_match_required"));
        assert_eq!(agent.post_at(&path, "99", json!({"dependency_id": needed})).await.problem(), (409, "version_conflict"));
        assert_eq!(remove(&agent, intent, intent).await.problem(), (404, "not_found"));
        let elsewhere = json!({"title": "t", "parent_intent_id": needed});
        let elsewhere = agent.post(&format!("{INTENTS}/{intent}/children"), elsewhere).await;
        assert_eq!(elsewhere.field_problem(), (422, "invalid", "parent_intent_id", "one"));
        assert_eq!(agent.everything(intent).await, before);
    }

    async fn an_intent_has_so_many_dependencies(app: &mut TestApp) {
        let agent = app.agent();
        let mut needed = Vec::new();
        while needed.len() <= DEPENDENCIES_MAX {
            needed.extend(join_all((0..25).map(|_| agent.active_intent())).await);
        }
        let (most, over) = (&needed[..DEPENDENCIES_MAX], &needed[..=DEPENDENCIES_MAX]);
        assert_eq!(made(&agent, over).await.field_problem(), (422, "invalid", "depends_on", "count"));
        let full = waiting(&agent, most).await;
        assert_blocked(&agent, full, most).await;
        let refused = add(&agent, full, over[DEPENDENCIES_MAX]).await;
        assert_eq!(refused.field_problem(), (422, "invalid", "dependency_id", "count"));
    }
}
