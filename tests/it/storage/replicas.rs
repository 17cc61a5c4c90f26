//! Several servers on one PostgreSQL database: each promise that one of them makes is kept by all.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use domain::base::clock::Clock;
use domain::base::ids::IntentId;
use domain::base::time::{parse, rfc3339};
use domain::people::principal::Role;
use domain::suspension::channel::Reach;
use futures_util::FutureExt;
use futures_util::stream::{self, StreamExt};
use harness::api::{Api, Reply};
use harness::app::{Backend, TestApp};
use harness::postgres::Cluster;
use harness::receiver::{Answer, Receiver, add, webhook};
use harness::severed::{Cut, Wire};
use harness::wish::wished;
use placet_server::app::hold_after_restore;
use serde_json::json;
use store::host::clock::{SystemClock, SystemEntropy};
use store::sqlite::Exclusive;
use store::{Hold, Store, Surroundings, open};

use crate::storage::faults::start_over;

/// The number of questions that two people answer at two servers at once.
const CONTESTED: usize = 200;
/// The number of requests under way at the same time.
const AT_ONCE: usize = 16;
/// A wait that ends within this time was woken by the other server's notification. Polling would take up to two seconds.
const TOLD: Duration = Duration::from_secs(1);
/// A wait that ends within this time was woken and did not time out.
const WOKEN: Duration = Duration::from_secs(20);

async fn start() -> TestApp {
    TestApp::start_on(Backend::Postgres, |_| {}).await
}

async fn ask(agent: &Api, count: usize) -> Vec<(IntentId, String)> {
    let ask = async |_| {
        let intent = agent.active_intent().await;
        (intent, agent.asked(intent).await)
    };
    stream::iter(0..count).map(ask).buffer_unordered(AT_ONCE).collect().await
}

async fn count(agent: &Api, intent: IntentId, wanted: &str) -> usize {
    agent.event_types(intent).await.iter().filter(|event| *event == wanted).count()
}

/// Starts a wait of the longest kind and returns when the server has started it.
#[expect(clippy::disallowed_methods, reason = "every wait is joined by its test, which sees its panic")]
async fn wait(api: &Api, id: &str) -> tokio::task::JoinHandle<Reply> {
    let (waiting, path) = (api.clone(), format!("api/v1/suspensions/{id}?wait=50"));
    let wait = tokio::spawn(async move { waiting.get(&path).await });
    for _ in 0..5 {
        api.suspension(id).await;
    }
    assert!(!wait.is_finished(), "there was something to wait for");
    wait
}

/// Of two answers at two servers one counts. If two people could both be told that theirs counts, no answer would mean anything.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_answers_at_two_servers_one_counts() {
    let app = start().await;
    let replica = app.replica().await;
    let agent = app.agent();
    let alice = app.operator();
    let bob = replica.api(&Api::new(&app.base, Some(&app.new_key(Role::Operator, "bob").await)));
    let questions = ask(&agent, CONTESTED).await;
    let contest = async |(index, (intent, id)): (usize, &(IntentId, String))| {
        // The answer that is polled first has a head start of microseconds, so the two take turns.
        let (yes, no) = if index.is_multiple_of(2) {
            tokio::join!(alice.respond(*intent, id, "approve"), bob.respond(*intent, id, "deny"))
        } else {
            let (no, yes) = tokio::join!(bob.respond(*intent, id, "deny"), alice.respond(*intent, id, "approve"));
            (yes, no)
        };
        let (winner, by, loser) = match (yes.status, no.status) {
            (200, 409) => ("approve", "test-operator", no),
            (409, 200) => ("deny", "bob", yes),
            statuses => panic!("{statuses:?}: {} {}", yes.text, no.text),
        };
        assert_eq!(loser.problem(), (409, "already_resolved"));
        let record = replica.api(&agent).suspension(id).await;
        assert_eq!((&record["response"], &record["responded_by"]), (&json!(winner), &json!(by)));
        winner
    };
    let winners: Vec<&str> = stream::iter(questions.iter().enumerate()).map(contest).buffer_unordered(AT_ONCE).collect().await;
    let winners: BTreeSet<&str> = winners.into_iter().collect();
    // The logs are read one after the other, because the server reads only a few logs at the same time and refuses further
    // requests.
    for (intent, _) in &questions {
        assert_eq!(count(&agent, *intent, "intent.resumed").await, 1);
        assert_eq!(count(&agent, *intent, "intent.response_rejected").await, 1);
    }
    assert_eq!(winners.len(), 2, "the race was no race: {winners:?} won every time");
    replica.stop().await;
    app.finish().await;
}

/// Two servers work on the same deadlines and the same queue: each deadline fires once, and each person gets one mail.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deadlines_bind_once_and_mails_leave_once_for_two_servers() {
    let app = start().await;
    let replica = app.replica().await;
    let agent = app.agent();
    let questions = ask(&agent, 96).await;
    let (ours, theirs) = (app.deliveries(), replica.deliveries.clone());
    let (one, other) = tokio::join!(ours.run_due(), theirs.run_due());
    assert_eq!(one.unwrap().0 + other.unwrap().0, questions.len());
    assert_eq!(app.smtp.received().len(), questions.len());

    app.clock.jump(TimeDelta::seconds(3600));
    let (ours, theirs) = (app.deadlines(), replica.deadlines.clone());
    let fire = async |deadlines: &placet_server::worker::deadlines::Deadlines| {
        let mut fired = 0;
        // A due row that the other server holds yields no work now, but the loop must not end yet.
        while let (rows, Some(_)) = deadlines.run_due().await.unwrap() {
            fired += rows;
            harness::pause::pause().await;
        }
        fired
    };
    tokio::join!(fire(&ours), fire(&theirs));
    for (intent, _) in &questions {
        assert_eq!(count(&agent, *intent, "intent.suspension_expired").await, 1);
        assert_eq!(count(&agent, *intent, "delivery.sent").await, 1);
        assert_eq!(agent.status(*intent).await, "abandoned");
    }
    replica.stop().await;
    app.finish().await;
}

/// An agent that lost the reply asks again and reaches the other server. It must find its own question there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_key_at_two_servers_at_once_asks_once() {
    let app = start().await;
    let replica = app.replica().await;
    let (here, there) = (app.agent(), replica.api(&app.agent()));
    for round in 0..32 {
        let key = format!("create-{round}");
        let body = json!({"title": "Refund", "status": "active"});
        let (one, other) =
            tokio::join!(here.post_once("api/v1/intents", &key, body.clone()), there.post_once("api/v1/intents", &key, body));
        let (one, other) = (one.ok(), other.ok());
        assert_eq!(one, other);
        let intent: IntentId = one["id"].as_str().unwrap().parse().unwrap();
        let path = format!("api/v1/intents/{intent}/suspend");
        let body = json!({"question": "Go?", "response_type": "confirm", "timeout_seconds": 60});
        let key = format!("suspend-{round}");
        let (one, other) = tokio::join!(here.post_once(&path, &key, body.clone()), there.post_once(&path, &key, body));
        assert_eq!(one.ok()["id"], other.ok()["id"]);
        assert_eq!(count(&here, intent, "intent.suspended").await, 1);
    }
    replica.stop().await;
    app.finish().await;
}

/// Returns when `count` transactions wait for a lock.
async fn until_waiting(app: &TestApp, count: i64) {
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
    while Cluster::of_this_process().number(app.scratch().expect("a database of its own").name(), waiting).await < count {}
}

/// A portfolio's deadline and the answer to a question under it are decided one after the other, and dated in that order. Otherwise the
/// logs would tell of an answer that counted after the deadline.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_waits_for_a_change_of_the_deadline_above_it_and_is_dated_after_it() {
    let app = start().await;
    let (agent, operator) = (app.agent(), app.operator());
    let deadline = app.clock.now() + TimeDelta::seconds(600);
    let body = json!({"name": "Phases", "governance_policy": {"deadline": rfc3339(deadline)}});
    let portfolio = format!("api/v1/portfolios/{}", agent.post("api/v1/portfolios", body).await.ok()["id"].as_str().unwrap());
    let intent = agent.active_intent().await;
    agent.post(&format!("{portfolio}/intents"), json!({"intent_id": intent})).await.ok();
    let asked = agent.suspend(intent, json!({})).await.ok()["id"].as_str().unwrap().to_owned();
    let rival = app.scratch().unwrap().rival().await;
    let freed_after = async |seconds| {
        tokio::time::timeout(Duration::from_secs(30), until_waiting(&app, 1)).await.expect("the request waits for the portfolio");
        app.clock.jump(TimeDelta::seconds(seconds));
        rival.sql("ROLLBACK").await;
    };
    rival.sql("BEGIN; SELECT 1 FROM portfolios FOR UPDATE").await;
    let change = json!({"governance_policy": {"deadline": rfc3339(deadline - TimeDelta::seconds(60))}});
    let began = app.clock.now();
    let (moved, ()) = tokio::join!(agent.send(agent.request("PATCH", &portfolio).json(&change)), freed_after(30));
    moved.ok();
    let events = agent.get(&format!("{portfolio}/events")).await.ok();
    let dated = events.as_array().unwrap().iter().filter_map(|event| event["created_at"].as_str()).max().unwrap().to_owned();
    assert_eq!(parse(&dated), Some(began + TimeDelta::seconds(30)));
    rival.sql("BEGIN; SELECT 1 FROM portfolios FOR UPDATE").await;
    let (refused, ()) = tokio::join!(operator.respond(intent, &asked, "approve"), freed_after(600));
    assert_eq!(refused.problem(), (409, "expired"));
    app.finish().await;
}

/// A key counts for a day from its first use, not until midnight. A repeat just after midnight must not create a second intent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_key_on_both_sides_of_midnight_begins_once() {
    let app = start().await;
    let agent = app.agent();
    let midnight = 86_400 - app.clock.now().timestamp().rem_euclid(86_400);
    app.clock.jump(TimeDelta::seconds(midnight - 1));
    let rival = app.scratch().unwrap().rival().await;
    // The later request may have started before midnight or after it.
    for seconds in [2, -2] {
        let create = async || {
            agent.post_once("api/v1/intents", &format!("key {seconds}"), json!({"title": "Refund", "status": "active"})).await
        };
        rival.sql("BEGIN; LOCK TABLE intents IN SHARE MODE").await;
        let later = async {
            until_waiting(&app, 1).await;
            app.clock.jump(TimeDelta::seconds(seconds));
            let free = async {
                until_waiting(&app, 2).await;
                rival.sql("ROLLBACK").await;
            };
            tokio::join!(create(), free).0
        };
        let (one, other) = tokio::join!(create(), later);
        assert_eq!(one.ok()["id"], other.ok()["id"]);
    }
    app.clock.jump(TimeDelta::seconds(2));
    app.finish().await;
}

/// A restored database is prepared only if no server runs on it. A running server would send and decide what the restore must
/// hold back, and the links that it makes would stay valid.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restored_database_is_not_prepared_while_a_server_runs_on_it() {
    let mut app = start().await;
    let database = app.scratch().unwrap().database();
    let prepare = async || hold_after_restore(&database, app.clock.clone(), Arc::new(SystemEntropy)).await;
    let refused = prepare().await.unwrap_err().to_string();
    assert!(refused.contains("in use by a running placet") && refused.contains("--after-restore"), "{refused}");
    assert_eq!(app.store().hold().await.unwrap(), None);
    let replica = app.replica().await;
    assert!(prepare().await.is_err());
    replica.stop().await;
    app.restore().await;
    assert!(matches!(app.store().hold().await.unwrap(), Some(Hold::Restore { .. })));
    app.store().release().await.unwrap();
    app.finish().await;
}

/// Each server holds a lock by which the others see that it lives. After a lost connection the database may still hold the old
/// lock for a while, so the server must try again. Otherwise the others would take it for dead and send its messages a second
/// time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_does_not_get_its_lock_at_once_gets_it_later() {
    let app = start().await;
    let scratch = app.scratch().unwrap();
    let number = async |sql: &str| Cluster::of_this_process().number(scratch.name(), sql).await;
    let held = "FROM pg_locks WHERE locktype = 'advisory' AND classid = 1886151011 AND granted \
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    let server = number(&format!("SELECT objid::bigint {held}")).await;
    let rival = scratch.rival().await;
    let deafen = async {
        until_waiting(&app, 1).await;
        number(&format!("SELECT count(pg_terminate_backend(pid, 10000)) {held}")).await
    };
    let take = format!("SELECT pg_advisory_lock(1886151011, {server})");
    tokio::join!(rival.sql(&take), deafen);
    let tried = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_try_advisory_lock%' AND state = 'idle' \
                 AND datname = current_database()";
    let until = async |sql: &str| while number(sql).await != 1 {};
    tokio::time::timeout(WOKEN, until(tried)).await.expect("it hears again");
    rival.sql("SELECT pg_advisory_unlock_all()").await;
    tokio::time::timeout(WOKEN, until(&format!("SELECT count(*) {held}"))).await.expect("it takes its lock again");
    app.finish().await;
}

/// A move (`placet migrate`) marks the database that it fills and then looks for servers. A server looks at the tables and then
/// registers itself. In whatever order these four steps happen, no server may serve a half-filled database.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_looked_just_before_a_move_began_is_refused() {
    let scratch = Cluster::of_this_process().scratch().await;
    let rival = scratch.rival().await;
    rival.sql("BEGIN; LOCK TABLE __diesel_schema_migrations IN ACCESS EXCLUSIVE MODE").await;
    let outside = Surroundings::alone(Arc::new(SystemClock), Arc::new(SystemEntropy));
    let database = scratch.database();
    let begin = async {
        let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
        while Cluster::of_this_process().number(scratch.name(), waiting).await == 0 {}
        // The server has already looked at the tables and has seen no mark.
        Cluster::of_this_process().sql(scratch.name(), "CREATE TABLE moving (source text NOT NULL)").await;
        rival.sql("ROLLBACK").await;
    };
    let (opened, ()) = tokio::join!(open(&database, Exclusive::Serve, outside), begin);
    let refused = opened.err().expect("it is refused").to_string();
    assert!(refused.contains("is being filled by `placet migrate`"), "{refused}");
    scratch.forget().await;
}

/// An agent goes on the moment a person has answered, whichever server took the answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_at_one_server_wakes_who_waits_at_another() {
    let app = start().await;
    let replica = app.replica().await;
    let mut fastest = Duration::MAX;
    for _ in 0..5 {
        let (intent, id) = ask(&app.agent(), 1).await.remove(0);
        let waiting = wait(&replica.api(&app.agent()), &id).await;
        app.operator().respond(intent, &id, "approve").await.ok();
        let answered = Instant::now();
        let record = tokio::time::timeout(WOKEN, waiting).await.unwrap().unwrap().ok();
        fastest = fastest.min(answered.elapsed());
        assert_eq!(record["response"], json!("approve"));
    }
    assert!(fastest < TOLD, "{fastest:?}");
    replica.stop().await;
    app.finish().await;
}

/// An admin who sends a failed message again (a redrive) says that its endpoint is back. Every server must learn of it: a server
/// that still takes the endpoint for gone would fail the messages that it takes from the queue.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redrive_at_one_server_closes_the_circuit_of_every_other() {
    let receiver = Receiver::start().await;
    let channels = vec![(webhook("pager", &receiver), Reach::People)];
    let app = TestApp::start_on(Backend::Postgres, |config| add(config, channels, &["pager"])).await;
    let replica = app.replica().await;
    receiver.script([Answer::Status(410, vec![]), Answer::Status(410, vec![])]);
    for worker in [&app.deliveries(), &replica.deliveries] {
        app.agent().ask(json!({})).await;
        worker.run_due().await.unwrap();
    }
    assert_eq!(receiver.posted().len(), 2, "each server has heard that the endpoint is gone");

    let admin = app.api(Role::Admin);
    let failed = admin.get("api/v1/deliveries?state=failed").await.ok();
    let id = failed["deliveries"][0]["id"].as_str().unwrap();
    while replica.store.hub().delivery().now_or_never().is_some() {}
    admin.post(&format!("api/v1/deliveries/{id}/redrive"), json!({})).await.ok();
    tokio::time::timeout(WOKEN, replica.store.hub().delivery()).await.unwrap();
    replica.deliveries.run_due().await.unwrap();
    let posted = receiver.posted();
    assert_eq!((posted.len(), posted[0].headers["webhook-id"].as_str()), (1, id));
    replica.stop().await;
    app.settle().await;
    app.finish().await;
}

/// During an update a server without the new channel must leave that channel's messages to the server that has it. If no server
/// has the channel any more, they must not wait for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_of_a_channel_only_another_server_has_is_left_to_it() {
    let receiver = Receiver::start().await;
    let channels = vec![(webhook("pager", &receiver), Reach::People)];
    let newer = TestApp::start_on(Backend::Postgres, |config| add(config, channels, &["pager"])).await;
    let replica = newer.replica().await;
    let older = newer.worker(Arc::new(channels::MemoryMailbox::new()));
    let agent = newer.agent();
    let (_, id) = agent.ask(json!({})).await;
    let state =
        async |id: &str| agent.get(&format!("api/v1/suspensions/{id}/deliveries")).await.ok()["deliveries"][0]["state"].clone();
    let (sent, next) = older.run_due().await.unwrap();
    assert_eq!((sent, next.unwrap() - newer.clock.now(), state(&id).await), (0, TimeDelta::seconds(300), json!("queued")));
    newer.settle().await;
    assert_eq!((receiver.posted().len(), state(&id).await), (1, json!("sent")));

    let (_, orphan) = agent.ask(json!({})).await;
    newer.clock.jump(TimeDelta::seconds(300) - TimeDelta::microseconds(1));
    older.run_due().await.unwrap();
    assert_eq!(state(&orphan).await, json!("queued"));
    newer.clock.jump(TimeDelta::microseconds(1));
    older.run_due().await.unwrap();
    assert_eq!(state(&orphan).await, json!("failed"));

    // This server is now the only one, so no other server can have the channel.
    let (_, lonely) = agent.ask(json!({})).await;
    replica.stop().await;
    older.run_due().await.unwrap();
    assert_eq!(state(&lonely).await, json!("failed"));
    newer.settle().await;
    newer.finish().await;
}

/// Notifications are only hints: a request that waits at a server that gets none must still be woken.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_at_a_server_that_hears_nothing_is_woken_all_the_same() {
    let app = start().await;
    let replica = app.replica().await;
    let (intent, id) = ask(&app.agent(), 1).await.remove(0);
    let waiting = wait(&replica.api(&app.agent()), &id).await;
    let deafen = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() \
                  AND pid <> pg_backend_pid() AND query NOT ILIKE '%COMMIT%' AND query NOT ILIKE '%BEGIN%'";
    Cluster::of_this_process().sql(app.scratch().unwrap().name(), deafen).await;
    app.operator().respond(intent, &id, "deny").await.ok();
    let record = tokio::time::timeout(WOKEN, waiting).await.unwrap().unwrap().ok();
    assert_eq!(record["response"], json!("deny"));
    replica.stop().await;
    app.finish().await;
}

/// After a restart of the database all connections are lost. Clients must not notice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_lost_every_connection_goes_on() {
    let app = start().await;
    let (agent, operator) = (app.agent(), app.operator());
    let (intent, id) = ask(&agent, 1).await.remove(0);
    let cut = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
    for (value, status) in [("approve", 200), ("deny", 409)] {
        Cluster::of_this_process().sql(app.scratch().unwrap().name(), cut).await;
        assert_eq!(operator.respond(intent, &id, value).await.status, status);
        assert_eq!(agent.suspension(&id).await["response"], json!("approve"));
    }
    app.finish().await;
}

/// A commit whose reply was lost may have happened or not. A guess could lose an answer or refuse one that counts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_whose_reply_was_lost_is_looked_up() {
    let wire = Wire::to(Cluster::of_this_process().port()).await;
    let scratch = Cluster::of_this_process().scratch().await;
    let app = start_over(&wire, scratch.name()).await;
    let (agent, operator) = (app.agent(), app.operator());
    for (round, cut) in [Cut::Before, Cut::After, Cut::Before, Cut::After].into_iter().enumerate() {
        let (intent, id) = ask(&agent, 1).await.remove(0);
        // The key is looked up here first, so that the next commit is the answer's own.
        operator.suspension(&id).await;
        wire.arm(cut);
        let reply = operator.respond(intent, &id, "approve").await;
        assert_eq!(reply.status, 200, "{cut:?}: {}", reply.text);
        assert_eq!(wire.cuts(), round + 1);
        assert_eq!(count(&agent, intent, "intent.resumed").await, 1, "{cut:?}");
        assert_eq!(count(&agent, intent, "intent.response_rejected").await, 0, "{cut:?}");
    }
    app.finish().await;
}

/// Servers that start together on an empty database make its tables once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_start_together_make_the_tables_once() {
    let scratch = Cluster::of_this_process().empty().await;
    let start = async || {
        let outside = Surroundings::alone(Arc::new(SystemClock), Arc::new(SystemEntropy));
        open(&scratch.database(), Exclusive::Serve, outside).await
    };
    let (one, two, three) = tokio::join!(start(), start(), start());
    let (one, two, three) = (one.unwrap(), two.unwrap(), three.unwrap());
    let secrets = tokio::join!(one.secret("s"), two.secret("s"), three.secret("s"));
    let secret = secrets.0.unwrap();
    assert_eq!((secret, secret), (secrets.1.unwrap(), secrets.2.unwrap()), "they would refuse each other's pages");
    for store in [one, two, three] {
        store.close().await;
    }
    scratch.forget().await;
}

/// How many answers race the deadline of a portfolio; the variable `PLACET_RACES` sets another number.
const RACES: usize = 400;
/// How many of them race one deadline.
const RACES_AT_ONE: usize = 100;

fn races() -> usize {
    wished("PLACET_RACES", RACES)
}

/// RFC-0026 §3, rule 5: an answer at one server and the deadline of a portfolio at another never both end a question, and one of them does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_and_the_deadline_of_a_portfolio_never_both_end_a_question() {
    let races = races();
    let app = start().await;
    let replica = app.replica().await;
    let (agent, operator) = (app.agent(), app.operator());
    let other = replica.api(&operator);
    let (mut answered, mut ended) = (0, 0);
    for _ in 0..races.div_ceil(RACES_AT_ONE) {
        let deadline = rfc3339(app.clock.now() + TimeDelta::seconds(600));
        let body = json!({"name": "Phases", "governance_policy": {"deadline": deadline}});
        let portfolio = agent.post("api/v1/portfolios", body).await.ok()["id"].as_str().unwrap().to_owned();
        let ask = async |_| {
            let intent = agent.active_intent().await;
            agent.post(&format!("api/v1/portfolios/{portfolio}/intents"), json!({"intent_id": intent})).await.ok();
            (intent, agent.asked(intent).await)
        };
        let questions: Vec<_> = stream::iter(0..RACES_AT_ONE).map(ask).buffer_unordered(AT_ONCE).collect().await;
        app.clock.jump(TimeDelta::seconds(600) - TimeDelta::microseconds(1));
        let done = AtomicUsize::new(0);
        let answer = async |(index, (intent, id)): (usize, &(IntentId, String))| {
            let person = if index.is_multiple_of(2) { &operator } else { &other };
            let reply = person.respond(*intent, id, "approve").await;
            // After half of the answers both clocks reach the deadline, while other answers are on their way.
            if done.fetch_add(1, Ordering::SeqCst) + 1 == RACES_AT_ONE / 2 {
                app.clock.jump(TimeDelta::microseconds(1));
            }
            (*intent, id.clone(), reply)
        };
        let answers = stream::iter(questions.iter().enumerate()).map(answer).buffered(AT_ONCE).collect::<Vec<_>>();
        let fire = async |store: Arc<dyn Store>| {
            while done.load(Ordering::SeqCst) < RACES_AT_ONE {
                store.fire_deadlines().await.unwrap();
            }
            while store.fire_deadlines().await.unwrap().rows > 0 {}
        };
        let (answers, (), ()) = tokio::join!(answers, fire(app.store()), fire(replica.store.clone()));
        for (intent, id, reply) in answers {
            let record = agent.suspension(&id).await;
            let ends = [count(&agent, intent, "intent.resumed").await, count(&agent, intent, "intent.suspension_expired").await];
            let status = agent.status(intent).await;
            if reply.status == 200 {
                answered += 1;
                assert_eq!((&record["resolution"], ends, status.as_str()), (&json!("responded"), [1, 0], "active"));
            } else {
                ended += 1;
                assert_eq!(reply.problem(), (409, "expired"));
                let how = (&record["resolution"], &record["resolution_reason"]);
                assert_eq!(how, (&json!("cancelled"), &json!("portfolio_deadline")));
                assert_eq!((ends, status.as_str()), ([0, 1], "abandoned"));
            }
        }
    }
    println!("{answered} questions were answered, {ended} ended with their portfolio");
    assert!(answered >= races / 2 && ended > 0);
    replica.stop().await;
    app.finish().await;
}
