//! Tests of the metrics that Prometheus scrapes. They also check that the dashboard and the alerts use only series that exist.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]
#![expect(clippy::float_cmp, reason = "counts and times of a clock that stands still are whole numbers")]

use std::collections::BTreeMap;

use domain::base::ids::SuspensionId;
use domain::people::principal::Role;
use domain::suspension::channel::{EMAIL, Reach};
use harness::app::TestApp;
use harness::on_each_store;
use harness::receiver::{self, Receiver};
use harness::smtp::Fault;
use placet_server::config::Config;
use serde_json::json;

/// How often a link is opened until the limit must have been reached. A slow machine needs more, since the limit recovers
/// meanwhile.
const TRIES_MAX: u32 = 2_000;

/// One scrape: every sample by its name and labels, spelled as in the reply.
struct Scrape {
    text: String,
    samples: BTreeMap<String, f64>,
}

impl Scrape {
    async fn of(app: &TestApp) -> Self {
        let text = app.api(Role::Auditor).get("metrics").await.text;
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let samples =
            lines.map(|line| line.rsplit_once(' ').unwrap()).map(|(name, value)| (name.to_owned(), value.parse().unwrap()));
        Self { samples: samples.collect(), text }
    }

    /// The value of a sample. A missing sample fails the test.
    fn sample(&self, name: &str) -> f64 {
        *self.samples.get(name).unwrap_or_else(|| panic!("no {name} in:\n{}", self.text))
    }

    /// Asserts the values of samples, given by name or by name and labels.
    fn has(&self, expected: &[(&str, f64)]) {
        let found: Vec<(&str, f64)> = expected.iter().map(|(name, _)| (*name, self.sample(name))).collect();
        assert_eq!(found, expected, "{}", self.text);
    }

    /// The sum of all decisions, whatever their outcome.
    fn decisions(&self) -> f64 {
        self.samples.iter().filter(|(name, _)| name.starts_with("placet_decisions_total")).map(|(_, value)| value).sum()
    }
}

/// The words of an expression that name series.
fn series_in(expression: &str) -> Vec<&str> {
    let words = expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("placet_") || word.starts_with("process_")).collect()
}

/// The `label="value"` pairs of an expression.
fn labels_in(expression: &str) -> Vec<String> {
    let inside = expression.split('{').skip(1).map(|rest| rest.split('}').next().unwrap());
    inside.flat_map(|inside| inside.split(',').map(str::trim)).filter(|pair| pair.contains("=\"")).map(str::to_owned).collect()
}

/// The series and labels of an expression that are missing from a scrape.
fn unanswered(expression: &str, scrape: &Scrape) -> Vec<String> {
    let known = |series: &str| scrape.samples.keys().any(|name| name.split('{').next() == Some(series));
    let unknown = series_in(expression).into_iter().filter(|series| !known(series)).map(str::to_owned);
    let foreign = labels_in(expression).into_iter().filter(|pair| !scrape.text.contains(pair.as_str()));
    unknown.chain(foreign).collect()
}

/// All expressions of the dashboard.
fn dashboard() -> Vec<String> {
    let board: serde_json::Value = serde_json::from_str(include_str!("../../../docs/grafana/placet.json")).unwrap();
    let panels = board["panels"].as_array().unwrap();
    let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    targets.map(|target| target["expr"].as_str().unwrap().to_owned()).collect()
}

/// All expressions of the alert rules. Each rule has one expression, on one line.
fn alerts() -> Vec<String> {
    let rules = include_str!("../../../docs/grafana/alerts.yml");
    let expressions: Vec<String> =
        rules.lines().filter_map(|line| line.trim().strip_prefix("expr: ")).map(str::to_owned).collect();
    assert_eq!(expressions.len(), rules.matches("- alert: ").count());
    expressions
}

/// Takes a server through each kind of event, so that every series appears, and returns a scrape.
async fn everything(app: &TestApp) -> Scrape {
    assert_eq!(app.anonymous().get("readyz").await.status, 503, "no loop has turned yet");
    every_ending(app).await;
    let agent = app.agent();
    let intent = agent.active_intent().await;
    app.smtp.script(Fault::Defer);
    agent.asked(intent).await;
    app.settle().await;
    app.advance(5).await;
    let link = app.smtp.received().last().unwrap().link(&app.base);
    let mut person = app.person();
    // The limit uses the machine's clock: on a slow machine it recovers some of the tries meanwhile.
    let mut tries = 1;
    while person.open(&link).await.status != 429 {
        assert!(tries < TRIES_MAX, "no limit holds");
        tries += 1;
    }
    app.anonymous().get("metrics").await;
    Scrape::of(app).await; // Each scrape counts only those before it.
    Scrape::of(app).await
}

fn decision(outcome: &str, method: &str) -> String {
    format!("placet_decisions_total{{outcome=\"{outcome}\",method=\"{method}\"}}")
}

/// Brings about every ending of a question once, and each kind of repeat that must not be counted.
pub(crate) async fn every_ending(app: &TestApp) {
    let (agent, operator) = (app.agent(), app.operator());
    let intent = agent.active_intent().await;
    let id = agent.asked(intent).await;
    app.settle().await;
    app.advance(45).await;
    operator.respond(intent, &id, "approve").await.ok();
    assert_eq!(operator.respond(intent, &id, "approve").await.status, 409);

    let intent = agent.active_intent().await;
    agent.asked(intent).await;
    app.settle().await;
    app.smtp.next_mail().await;
    let link = app.next_link().await;
    app.person().answer(&link, "deny").await;

    let intent = agent.active_intent().await;
    let suspend = format!("api/v1/intents/{intent}/suspend");
    let question = json!({"question": "Again?", "choices": [{"value": "a", "label": "A"}], "timeout_seconds": 60});
    let first = agent.post_once(&suspend, "k", question.clone()).await.ok();
    agent.post_once(&suspend, "k", question).await.ok(); // This is a replay: the question was asked once.
    let second = agent.suspend(intent, json!({"supersedes": first["id"]})).await.ok();
    let cancel = format!("api/v1/suspensions/{}/cancel", second["id"].as_str().unwrap());
    agent.post_once(&cancel, "c", json!({})).await.ok();
    agent.post_once(&cancel, "c", json!({})).await.ok(); // This is a replay: it was withdrawn once.

    let intent = agent.active_intent().await;
    agent.suspend(intent, json!({"fallback_policy": "complete_with_fallback", "fallback_value": "deny"})).await.ok();
    let intent = agent.active_intent().await;
    agent.asked(intent).await;
    app.settle().await;
    let intent = agent.active_intent().await;
    agent.asked(intent).await;
    app.smtp.script(Fault::RejectRecipient);
    app.settle().await;
    app.advance(3_607).await;
}

on_each_store! {
    /// People rely on these numbers: each ending is counted once, under its own name, and a repeat is not counted.
    async fn every_ending_is_counted_once(app: &mut TestApp) {
        assert_eq!(Scrape::of(app).await.decisions(), 0.0, "series begin at zero, so that the first increase shows");
        every_ending(app).await;
        let scrape = Scrape::of(app).await;
        for (outcome, method) in [
            ("answered", "api_key"), ("answered", "email_link"), ("superseded", "api_key"), ("withdrawn", "api_key"),
            ("expired_with_fallback", "server"), ("expired_failed", "server"), ("undeliverable", "server"),
        ] {
            scrape.has(&[(&decision(outcome, method), 1.0)]);
        }
        scrape.has(&[
            ("placet_questions_asked_total", 7.0),
            ("placet_expired_unreached_total", 1.0),
            ("placet_questions_open", 0.0),
            ("placet_answer_duration_seconds_count{method=\"api_key\"}", 1.0),
            ("placet_answer_duration_seconds_sum{method=\"api_key\"}", 45.0),
            ("placet_answer_duration_seconds_bucket{le=\"30.0\",method=\"api_key\"}", 0.0),
            ("placet_answer_duration_seconds_bucket{le=\"60.0\",method=\"api_key\"}", 1.0),
            ("placet_deadline_lateness_seconds_count", 3.0),
            ("placet_deadline_lateness_seconds_sum", 21.0),
            ("placet_deadline_lateness_seconds_bucket{le=\"5.0\"}", 0.0),
            ("placet_deadline_lateness_seconds_bucket{le=\"10.0\"}", 3.0),
        ]);
        assert_eq!(scrape.decisions(), 7.0);
    }

    /// Counters may start again with each process, but the numbers of open questions must be right in the first scrape after a
    /// restart.
    async fn gauges_are_true_after_a_restart_and_agree_with_the_list(app: &mut TestApp) {
        let agent = app.agent();
        for _ in 0..3 {
            let intent = agent.active_intent().await;
            agent.asked(intent).await;
        }
        for restarted in [false, true] {
            let listed = app.api(Role::Auditor).get("api/v1/suspensions").await.ok()["suspensions"].as_array().unwrap().len();
            assert_eq!(listed, 3);
            Scrape::of(app).await.has(&[
                ("placet_questions_open", 3.0),
                ("placet_questions_asked_total", if restarted { 0.0 } else { 3.0 }),
                ("placet_deliveries_pending{state=\"queued\"}", 3.0),
                ("placet_deliveries_pending{state=\"sending\"}", 0.0),
            ]);
            app.restart().await;
        }
        // No worker runs here, so timers and messages grow old, and the scrape reports their age.
        app.clock.jump(chrono::TimeDelta::seconds(3_700));
        Scrape::of(app).await.has(&[
            ("placet_deadline_overdue_seconds", 100.0),
            ("placet_delivery_overdue_seconds", 3_700.0),
        ]);
        app.settle().await;
        Scrape::of(app).await.has(&[
            ("placet_deadline_overdue_seconds", 0.0),
            ("placet_delivery_overdue_seconds", 0.0),
            ("placet_questions_open", 0.0),
            ("placet_deliveries_total{channel=\"email\",state=\"obsolete\"}", 3.0),
            ("placet_expired_unreached_total", 3.0),
        ]);
    }

    /// A mail server that refuses for a while and one that refuses for good need different actions at night, so they are counted
    /// apart.
    async fn tries_and_messages_are_counted_apart(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        app.smtp.script(Fault::Defer);
        agent.asked(intent).await;
        app.settle().await;
        app.advance(5).await;
        let intent = agent.active_intent().await;
        app.smtp.script(Fault::RejectRecipient);
        agent.asked(intent).await;
        app.settle().await;
        let attempts = |result: &str| format!("placet_delivery_attempts_total{{channel=\"email\",result=\"{result}\"}}");
        let messages = |state: &str| format!("placet_deliveries_total{{channel=\"email\",state=\"{state}\"}}");
        Scrape::of(app).await.has(&[
            (&attempts("retry"), 1.0),
            (&attempts("sent"), 1.0),
            (&attempts("failed"), 1.0),
            (&messages("queued"), 2.0),
            (&messages("sent"), 1.0),
            (&messages("failed"), 1.0),
        ]);
    }

    /// A message that waits for its next try is pending. It is not overdue, because the loop is not stuck.
    async fn a_message_that_waits_for_another_try_is_pending_and_not_overdue(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        app.smtp.script(Fault::Defer);
        let id = agent.asked(intent).await;
        app.settle().await;
        app.clock.jump(chrono::TimeDelta::seconds(3));
        Scrape::of(app).await.has(&[
            ("placet_delivery_overdue_seconds", 0.0),
            ("placet_deliveries_pending{state=\"queued\"}", 1.0),
        ]);
        app.clock.jump(chrono::TimeDelta::seconds(3)); // The next try was due one second ago.
        Scrape::of(app).await.has(&[("placet_delivery_overdue_seconds", 1.0)]);
        app.operator().respond(intent, &id, "approve").await.ok();
        Scrape::of(app).await.has(&[
            ("placet_delivery_overdue_seconds", 0.0),
            ("placet_deliveries_pending{state=\"queued\"}", 0.0),
        ]);
    }

    /// A new version wakes a waiting request. A request that waits for the answer then goes on waiting, so waking is not counted
    /// as an end.
    async fn a_reminder_wakes_who_waits_and_ends_no_wait(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let retry = json!({"retry_policy": {"max_attempts": 2, "interval_seconds": 60}, "timeout_seconds": 600});
        let id = agent.suspend(intent, retry).await.ok()["id"].as_str().unwrap().to_owned();
        app.settle().await;
        let path = format!("api/v1/suspensions/{id}?wait=50");
        let going_on = async {
            let mut looks = 0;
            while Scrape::of(app).await.sample("placet_waiters") == 0.0 {
                assert!(looks < TRIES_MAX, "nobody waits");
                looks += 1;
            }
            app.advance(60).await;
            let scrape = Scrape::of(app).await;
            assert!(scrape.sample("placet_waiters_woken_total") >= 1.0);
            scrape.has(&[("placet_waiters", 1.0), ("placet_questions_open", 1.0)]);
            app.operator().respond(intent, &id, "approve").await.ok();
        };
        let (waited, ()) = tokio::join!(agent.get(&path), going_on);
        let record = waited.ok();
        assert_eq!((&record["attempt"], &record["response"]), (&json!(2), &json!("approve")), "it went on to the answer");
        Scrape::of(app).await.has(&[("placet_waiters", 0.0)]);
    }

    /// A waiting request is counted while it waits, and each wake is counted once.
    async fn waits_are_measured(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let id = agent.asked(intent).await;
        let store = app.store();
        let watches = [(); 2].map(|()| store.hub().watch(SuspensionId::parse(&id).unwrap()));
        Scrape::of(app).await.has(&[("placet_waiters", 2.0), ("placet_waiters_woken_total", 0.0)]);
        operator.respond(intent, &id, "approve").await.ok();
        drop(watches);
        Scrape::of(app).await.has(&[("placet_waiters", 0.0), ("placet_waiters_woken_total", 2.0)]);
    }

    /// The metrics show how the business runs, so only auditors and admins may read them, with a credential that Prometheus can
    /// send.
    async fn only_auditors_and_admins_may_scrape(app: &mut TestApp) {
        assert_eq!(app.anonymous().get("metrics").await.problem(), (401, "unauthorized"));
        for (role, status) in
            [(Role::Agent, 403), (Role::Operator, 403), (Role::Channel, 403), (Role::Admin, 200), (Role::Auditor, 200)]
        {
            assert_eq!(app.api(role).get("metrics").await.status, status, "{role}");
            let key = app.api(role).key().to_owned();
            let anonymous = app.anonymous();
            for (header, expected) in [(format!("Bearer {key}"), status), (format!("bearer {key}"), status), (format!("Basic {key}"), 401), (key, 401)] {
                let scraped = anonymous.send(anonymous.request("GET", "metrics").header("authorization", header)).await;
                assert_eq!(scraped.status, expected, "{role}");
            }
        }
        let scraped = app.api(Role::Auditor).get("metrics").await;
        assert_eq!(scraped.headers["content-type"], "application/openmetrics-text; version=1.0.0; charset=utf-8");
        assert_eq!(scraped.headers["cache-control"], "no-store");
        assert!(scraped.text.ends_with("# EOF\n"));
        Scrape::of(app).await.has(&[("placet_auth_failures_total{route=\"/metrics\"}", 11.0)]);
    }

    /// A label that a stranger can choose would fill the memory of Prometheus, and a path in a label would reveal a link.
    async fn labels_hold_no_word_of_a_caller(app: &mut TestApp) {
        every_ending(app).await;
        let agent = app.agent();
        for path in ["nowhere-1", "nowhere/2", "api/v1/nowhere-3", "api/v1/intents/nowhere-4", "intents/x/nowhere-5", "a/nowhere-6", "dev/nowhere-7/mailbox"] {
            agent.get(path).await;
        }
        for method in ["NOWHERE", "nowhere2"] {
            agent.send(agent.request(method, "api/v1/intents")).await;
        }
        let scrape = Scrape::of(app).await;
        for word in ["nowhere", "NOWHERE", "Refund", "refund", "test-agent", "ops@", "@example.com", "placet_agent_"] {
            assert!(!scrape.text.contains(word), "{word} in:\n{}", scrape.text);
        }
        let routes: std::collections::BTreeSet<&str> =
            scrape.samples.keys().filter_map(|name| name.split_once("route=\"")?.1.split('"').next()).collect();
        assert!(routes.contains("(no route)") && routes.contains("/a/{token}"), "{routes:?}");
        assert!(routes.iter().all(|route| !route.contains(|c: char| c.is_ascii_digit() && c != '1')), "{routes:?}");
        scrape.has(&[("placet_http_requests_total{route=\"/api/v1/intents\",method=\"other\",status=\"4xx\"}", 2.0)]);
    }

    /// The writer counts its commits and the number of jobs that shared each of them.
    async fn the_writer_is_measured(app: &mut TestApp) {
        let before = Scrape::of(app).await;
        app.agent().active_intent().await;
        let after = Scrape::of(app).await;
        for name in ["placet_writer_batch_jobs_count", "placet_writer_batch_duration_seconds_count", "placet_writer_commit_duration_seconds_count"] {
            assert_eq!(after.sample(name) - before.sample(name), 1.0, "{name}");
        }
        after.has(&[("placet_writer_queue_jobs", 0.0), ("placet_writer_refusals_total", 0.0)]);
        after.has(&[(&format!("placet_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION")), 1.0)]);
        assert_eq!(after.sample("process_start_time_seconds"), 1_795_507_200.0);
    }

    /// Prometheus does not count the first value of a new series as an increase. Without a zero at the start, the first failed
    /// message would raise no alarm.
    async fn series_of_known_labels_begin_at_zero(app: &mut TestApp) {
        let scrape = Scrape::of(app).await;
        for state in ["queued", "sent", "failed", "bounced", "obsolete"] {
            scrape.has(&[(&format!("placet_deliveries_total{{channel=\"email\",state=\"{state}\"}}"), 0.0)]);
        }
        for result in ["sent", "retry", "failed"] {
            scrape.has(&[(&format!("placet_delivery_attempts_total{{channel=\"email\",result=\"{result}\"}}"), 0.0)]);
        }
    }
}

/// A server with every kind of channel, so that the series of each kind exist.
async fn with_a_webhook() -> TestApp {
    let pager = Receiver::start().await;
    let change = |config: &mut Config| {
        receiver::add(config, vec![(receiver::webhook("pager", &pager), Reach::People)], &[EMAIL]);
        // The series of second places begin with the places.
        config.log.checkpoint_file = config.log.key_file.as_ref().map(|file| file.with_file_name("checkpoints"));
    };
    TestApp::start_with(change).await
}

/// A panel over a series that does not exist would stay empty and look as if all were well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dashboard_and_alerts_speak_of_series_that_exist() {
    let app = with_a_webhook().await;
    let scrape = everything(&app).await;
    let (dashboard, alerts) = (dashboard(), alerts());
    assert!(dashboard.len() > 25 && alerts.len() > 10);
    for expression in dashboard.iter().chain(&alerts) {
        assert!(!series_in(expression).is_empty(), "{expression}");
        assert_eq!(unanswered(expression, &scrape), Vec::<String>::new(), "{expression}");
    }
    // The check itself must find an unknown series and an unknown label.
    assert_eq!(
        unanswered("rate(placet_decision_total{outcome=\"lost\"}[5m])", &scrape),
        ["placet_decision_total", "outcome=\"lost\""]
    );
    app.finish().await;
}

/// Every series has a description, an entry in the documentation and a panel.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_series_is_described_documented_and_shown() {
    let app = with_a_webhook().await;
    let scrape = everything(&app).await;
    let lines = |kind: &str| -> BTreeMap<String, String> {
        let words = scrape.text.lines().filter_map(|line| line.strip_prefix(kind)?.split_once(' '));
        words.map(|(name, rest)| (name.to_owned(), rest.to_owned())).collect()
    };
    let (types, helps) = (lines("# TYPE "), lines("# HELP "));
    assert!(types.len() > 20);
    assert!(types.keys().eq(helps.keys()));
    let mut sampled: Vec<&str> = scrape.samples.keys().map(|name| name.split('{').next().unwrap()).collect();
    sampled.dedup();
    let shown = dashboard().concat();
    let documented = include_str!("../../../docs/operating.md");
    for (family, kind) in &types {
        let suffixes: &[&str] = match kind.as_str() {
            "counter" => &["_total"],
            "gauge" => &[""],
            "histogram" => &["_bucket", "_count", "_sum"],
            other => panic!("{family} is a {other}"),
        };
        for suffix in suffixes {
            let name = format!("{family}{suffix}");
            assert!(sampled.contains(&name.as_str()), "{name}");
            sampled.retain(|sample| *sample != name);
        }
        let name = if kind == "counter" { format!("{family}_total") } else { family.clone() };
        assert!(documented.contains(&format!("| `{name}` | {kind} |")), "{name} is not in docs/operating.md");
        assert!(shown.contains(&name), "{name} is on no panel");
    }
    assert_eq!(sampled, Vec::<&str>::new(), "samples of no family");
    app.finish().await;
}
