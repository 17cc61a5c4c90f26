//! On PostgreSQL, answers that arrive at the same time share a transaction. No caller may notice the sharing.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::base::ids::IntentId;
use domain::people::principal::Role;
use futures_util::future::join_all;
use futures_util::join;
use harness::api::Api;
use harness::app::{Backend, TestApp};
use harness::postgres::{Cluster, Rival};
use serde_json::json;

/// The number of answers given at once. One group (the answers that are decided in one transaction) cannot hold so many.
const ANSWERS: usize = 40;
/// The number of groups that are decided at the same time.
const GROUPS: usize = 4;

async fn start() -> TestApp {
    TestApp::start_on(Backend::Postgres, |_| {}).await
}

async fn ask(agent: &Api, count: usize) -> Vec<(IntentId, String)> {
    let mut asked = Vec::new();
    for _ in 0..count {
        let intent = agent.active_intent().await;
        asked.push((intent, agent.asked(intent).await));
    }
    asked
}

/// The value of a metric.
async fn metric(app: &TestApp, name: &str) -> usize {
    let scrape = app.api(Role::Auditor).get("metrics").await.text;
    let line = scrape.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in:\n{scrape}")).parse().unwrap()
}

/// Each answer waits for the disk. Forty answers given at once must not wait for forty commits one after the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_wait_share_commits() {
    let app = start().await;
    let (agent, operator) = (app.agent(), app.operator());
    let (first, asked) = (ask(&agent, GROUPS).await, ask(&agent, ANSWERS).await);
    app.settle().await;
    let before = metric(&app, "placet_writer_batch_jobs_count").await;
    let answers = join_all(asked.iter().map(|(intent, id)| operator.respond(*intent, id, "approve")));
    for reply in Box::pin(in_one_group(&app, &first, ANSWERS, answers)).await {
        assert_eq!(reply.status, 200, "{}", reply.text);
    }
    let commits = metric(&app, "placet_writer_batch_jobs_count").await - before;
    assert!(commits < ANSWERS / 2, "{commits} commits for {ANSWERS} answers");
    for (intent, id) in &asked {
        assert_eq!(agent.suspension(id).await["response"], "approve");
        assert_eq!(agent.event_types(*intent).await.iter().filter(|event| *event == "intent.resumed").count(), 1);
    }
    app.finish().await;
}

/// Some answers do not count: one that the database rejects, a late one, one to an unknown question, and one that is not among
/// the choices. In a group, each of them is refused as it would be alone, and the other answers of the group are recorded.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_cannot_count_leaves_those_beside_it_alone() {
    let app = start().await;
    let (agent, operator) = (app.agent(), app.operator());
    let (first, asked) = (ask(&agent, GROUPS).await, ask(&agent, ANSWERS).await);
    let late = ask(&agent, 1).await.remove(0);
    operator.respond(late.0, &late.1, "approve").await.ok();
    let refuse = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                  RAISE EXCEPTION 'a value is out of range' USING ERRCODE = 'numeric_value_out_of_range'; END $$; \
                  CREATE TRIGGER refuse BEFORE UPDATE ON suspensions FOR EACH ROW WHEN (NEW.response::text = '\"deny\"') \
                  EXECUTE FUNCTION refuse()";
    Cluster::of_this_process().sql(app.scratch().unwrap().name(), refuse).await;
    app.settle().await;
    let answer = |number: usize| match number {
        7 | 23 => "deny",
        11 => "perhaps",
        _ => "approve",
    };
    let mut answers: Vec<_> =
        asked.iter().enumerate().map(|(number, (intent, id))| (*intent, id.clone(), answer(number))).collect();
    answers.push((late.0, late.1.clone(), "deny"));
    answers.push((IntentId(uuid::Uuid::nil()), late.1, "approve"));
    // The same answer again on the same intent.
    answers.push(answers[3].clone());
    let given = join_all(answers.iter().map(|(intent, id, value)| operator.respond(*intent, id, *value)));
    let replies = Box::pin(in_one_group(&app, &first, answers.len(), given)).await;
    for (number, reply) in replies.iter().enumerate() {
        let expected: &[u16] = match number {
            7 | 23 => &[503],
            11 => &[422],
            number if number == ANSWERS => &[409],
            number if number == ANSWERS + 1 => &[404],
            3 => &[200, 409],
            number if number == ANSWERS + 2 => &[200, 409],
            _ => &[200],
        };
        assert!(expected.contains(&reply.status), "{number}: {} {}", reply.status, reply.text);
    }
    assert_ne!(replies[3].status, replies[ANSWERS + 2].status, "of two answers to one question one counts");
    for (number, (intent, id)) in asked.iter().enumerate() {
        let counts = answer(number) == "approve";
        assert_eq!(agent.suspension(id).await["response"], if counts { json!("approve") } else { json!(null) }, "{number}");
        let resumed = agent.event_types(*intent).await.iter().filter(|event| *event == "intent.resumed").count();
        assert_eq!(resumed, usize::from(counts), "{number}");
    }
    app.finish().await;
}

/// A transaction that holds one intent for seconds must not delay the answers to the other intents.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_whose_intent_somebody_holds_keeps_no_other_one_waiting() {
    let app = start().await;
    let (agent, operator) = (app.agent(), app.operator());
    let asked = ask(&agent, 12).await;
    let rival = app.scratch().unwrap().rival().await;
    rival.sql(&format!("BEGIN; SELECT 1 FROM intents WHERE id = '{}' FOR UPDATE", asked[5].0)).await;
    let held = operator.respond(asked[5].0, &asked[5].1, "approve");
    let others = async {
        let free = asked.iter().enumerate().filter(|(number, _)| *number != 5);
        for reply in join_all(free.map(|(_, (intent, id))| operator.respond(*intent, id, "approve"))).await {
            assert_eq!(reply.status, 200, "{}", reply.text);
        }
        assert!(agent.suspension(&asked[5].1).await["response"].is_null(), "somebody holds it");
        rival.sql("ROLLBACK").await;
    };
    let (held, ()) = join!(held, others);
    assert_eq!(held.status, 200, "{}", held.text);
    app.finish().await;
}

/// A person who answers twice with one idempotency key has answered once, even when many answers share a transaction.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_in_a_crowd_is_repeated_by_its_key() {
    let app = start().await;
    let asked = ask(&app.agent(), 12).await;
    let operator = app.operator();
    let answer = async |(intent, id): &(IntentId, String), value: &str| {
        let path = format!("api/v1/intents/{intent}/suspend/respond");
        operator.post_once(&path, id, json!({"suspension_id": id, "value": value})).await
    };
    let all = async |value| join_all(asked.iter().map(|asked| answer(asked, value))).await;
    let (first, again, other) = (all("approve").await, all("approve").await, all("deny").await);
    for (first, (again, other)) in first.iter().zip(again.iter().zip(&other)) {
        assert_eq!((first.status, again.status), (200, 200), "{} {}", first.text, again.text);
        assert_eq!(first.text, again.text);
        assert_eq!(other.problem().1, "idempotency_mismatch");
    }
    app.finish().await;
}

/// A foreign transaction that runs `sql` and keeps its locks until it is rolled back.
async fn holding(app: &TestApp, name: &str, sql: &str) -> Rival {
    let rival = app.scratch().unwrap().rival().await;
    rival.sql(&format!("SET application_name = '{name}'; BEGIN; {sql}")).await;
    rival
}

/// A query that locks the questions of some intents, but not the intents.
fn questions_of(asked: &[(IntentId, String)]) -> String {
    let intents: Vec<_> = asked.iter().map(|(intent, _)| format!("'{intent}'")).collect();
    let of_intents = format!("WHERE i.id IN ({})", intents.join(", "));
    format!("SELECT 1 FROM suspensions s JOIN intents i ON i.rid = s.intent {of_intents} FOR UPDATE OF s")
}

/// How many transactions wait for the transaction of this name.
async fn waiting_for(app: &TestApp, name: &str) -> usize {
    let blocked = "SELECT count(*) FROM pg_stat_activity waiting, pg_stat_activity holder \
                   WHERE waiting.datname = current_database() AND holder.pid = ANY(pg_blocking_pids(waiting.pid))";
    let blocked = format!("{blocked} AND holder.datname = current_database() AND holder.application_name = '{name}'");
    usize::try_from(Cluster::of_this_process().number(app.scratch().unwrap().name(), &blocked).await).unwrap()
}

/// First occupies every group with one answer of `before`, which waits for a lock. Then `answers` gives `count` answers, which
/// wait in the queue. When the lock is released, the waiting answers are decided together, as many in one group as it can hold.
async fn in_one_group<T>(app: &TestApp, before: &[(IntentId, String)], count: usize, answers: impl Future<Output = T>) -> T {
    let rival = holding(app, "before", &questions_of(before)).await;
    let operator = app.operator();
    let first = join_all(before.iter().enumerate().map(async |(number, (intent, id))| {
        while waiting_for(app, "before").await < number {}
        assert_eq!(operator.respond(*intent, id, "approve").await.status, 200);
    }));
    let behind = async {
        while waiting_for(app, "before").await < before.len() {}
        answers.await
    };
    let release = async {
        while metric(app, "placet_writer_queue_jobs").await < count {}
        rival.sql("ROLLBACK").await;
    };
    join!(first, behind, release).1
}

fn assert_nobody_waited_in_vain(app: &TestApp) {
    let log = Cluster::of_this_process().log(app.scratch().unwrap().name());
    let in_vain: Vec<_> = log.iter().filter(|entry| entry.contains("lock timeout")).collect();
    assert!(in_vain.is_empty(), "{in_vain:#?}");
}

/// An answer that names another intent's question is refused at once. If it waited for the other intent's lock, all other
/// answers of its group would wait with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_names_another_intents_question_waits_for_nobody() {
    let app = start().await;
    let (agent, operator) = (app.agent(), app.operator());
    let (before, asked) = (ask(&agent, GROUPS).await, ask(&agent, 8).await);
    let other = ask(&agent, 1).await.remove(0);
    app.settle().await;
    let unheld = operator.respond(asked[0].0, &other.1, "approve").await;
    let rival = holding(&app, "other", &format!("SELECT 1 FROM intents WHERE id = '{}' FOR UPDATE", other.0)).await;
    let answers = async {
        let rest = join_all(asked[1..].iter().map(|(intent, id)| operator.respond(*intent, id, "approve")));
        join!(operator.respond(asked[0].0, &other.1, "approve"), rest)
    };
    let (wrong, rest) = in_one_group(&app, &before, asked.len(), answers).await;
    assert!(unheld.status >= 400, "{}", unheld.text);
    assert_eq!(wrong.status, unheld.status, "{}", wrong.text);
    for reply in rest {
        assert_eq!(reply.status, 200, "{}", reply.text);
    }
    assert_nobody_waited_in_vain(&app);
    rival.sql("ROLLBACK").await;
    app.finish().await;
}

/// A program that uses one key for answers to two intents harms only itself: its second answer waits while the first is written,
/// and no other answer of the group waits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_whose_key_somebody_uses_keeps_no_other_one_waiting() {
    let app = start().await;
    let (agent, operator) = (app.agent(), app.operator());
    let (before, asked) = (ask(&agent, GROUPS - 1).await, ask(&agent, 9).await);
    let hold = "CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                PERFORM pg_advisory_xact_lock(4242); RETURN NULL; END $$; \
                CREATE CONSTRAINT TRIGGER hold AFTER UPDATE ON suspensions DEFERRABLE INITIALLY DEFERRED FOR EACH ROW \
                WHEN (NEW.response::text = '\"deny\"') EXECUTE FUNCTION hold()";
    Cluster::of_this_process().sql(app.scratch().unwrap().name(), hold).await;
    app.settle().await;
    let answer = async |number: usize, value: &str| {
        let (intent, id) = &asked[number];
        let body = json!({"suspension_id": id, "value": value});
        operator.post_once(&format!("api/v1/intents/{intent}/suspend/respond"), "one key", body).await
    };
    let rival = holding(&app, "commits", "SELECT pg_advisory_xact_lock(4242)").await;
    let behind = async {
        while waiting_for(&app, "commits").await == 0 {}
        let others = async {
            for reply in join_all(asked[2..].iter().map(|(intent, id)| operator.respond(*intent, id, "approve"))).await {
                assert_eq!(reply.status, 200, "{}", reply.text);
            }
            rival.sql("ROLLBACK").await;
        };
        let answers = async { join!(answer(1, "approve"), others).0 };
        in_one_group(&app, &before, asked.len() - 1, answers).await
    };
    let (first, second) = join!(answer(0, "deny"), behind);
    assert_eq!(first.status, 200, "{}", first.text);
    assert_eq!(second.problem().1, "idempotency_mismatch");
    assert_nobody_waited_in_vain(&app);
    app.finish().await;
}

/// A transaction that ends a question withdraws the messages still to be sent about it. A late answer to the same question may
/// be in a group at that moment; it must not keep a message from being withdrawn. Otherwise people would be asked tomorrow
/// about a question that has ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_left_to_another_transaction_leaves_it_the_messages() {
    let app = start().await;
    let (agent, operator) = (app.agent(), app.operator());
    let (before, asked) = (ask(&agent, GROUPS).await, ask(&agent, 2).await);
    app.settle().await;
    let [(cancelled, first), (answered, second)] = &asked[..] else { unreachable!() };
    // The message's next try is tomorrow.
    let queued = "UPDATE outbox SET state = 0, tries = 1, lease = NULL, leased_by = NULL, settled_at = NULL, \
                  due_at = due_at + interval '1 day' WHERE suspension = (SELECT open_suspension FROM intents WHERE id =";
    let database = app.scratch().unwrap().name();
    Cluster::of_this_process().sql(database, &format!("{queued} '{cancelled}')")).await;
    let still_queued = "SELECT count(*) FROM outbox WHERE state = 0";
    assert!(Cluster::of_this_process().number(database, still_queued).await > 0);
    let (ending, ended) = (questions_of(&asked[..1]), questions_of(&asked[1..]));
    let (ending, beside) = (holding(&app, "ending", &ending).await, holding(&app, "beside", &ended).await);
    let behind = async {
        while waiting_for(&app, "ending").await == 0 {}
        let release = async {
            while waiting_for(&app, "beside").await == 0 {}
            ending.sql("ROLLBACK").await;
            while agent.suspension(first).await["resolution"].is_null() {}
            beside.sql("ROLLBACK").await;
        };
        let late = operator.respond(*cancelled, first, "approve");
        let answers = async { join!(late, operator.respond(*answered, second, "approve"), release) };
        Box::pin(in_one_group(&app, &before, 2, answers)).await
    };
    let cancel = format!("api/v1/suspensions/{first}/cancel");
    let (cancel, (late, counts, ())) = join!(agent.post(&cancel, json!({})), behind);
    assert_eq!((cancel.status, late.status, counts.status), (200, 409, 200), "{} {}", late.text, counts.text);
    assert_eq!(Cluster::of_this_process().number(database, still_queued).await, 0);
    app.finish().await;
}
