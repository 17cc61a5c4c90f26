//! Keys, tokens and ids that are capabilities must not appear in logs, in the database's files or in refusals.

#![expect(clippy::unwrap_used, reason = "these functions serve tests alone")]

use std::io::{self, Write};
use std::sync::Mutex;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use domain::base::ids::SuspensionId;
use domain::people::principal::Role;
use harness::api::{Api, Reply};
use harness::app::TestApp;
use harness::on_each_store;
use harness::person::Page;
use harness::smtp::Fault;
use placet::{Client, Question, Source};
use reqwest::Method;
use serde_json::json;
use tracing_subscriber::EnvFilter;

/// Logs everything from the server and its crates, and from all other crates the default level.
const FILTER: &str =
    "info,placet=trace,store=trace,channels=trace,domain=trace,actix_web=trace,actix_http=trace,actix_server=trace";
/// Texts of agents and people, which must not be logged.
const WRITTEN: [&str; 4] = ["CONFIDENTIAL-QUESTION", "CONFIDENTIAL-CONTEXT", "CONFIDENTIAL-COMMENT", "CONFIDENTIAL-ANSWER"];

/// Everything that this process logs, including other tests of this binary.
static LOGS: Mutex<Vec<u8>> = Mutex::new(Vec::new());

struct Log;

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOGS.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// All refusals, and all secrets that must not be found.
#[derive(Default)]
struct Hoard {
    keys: Vec<String>,
    tokens: Vec<String>,
    ids: Vec<String>,
    /// The nonces of cookies and forms, which must not be in a log either.
    nonces: Vec<String>,
    refusals: Vec<String>,
}

impl Hoard {
    /// Keeps the body of a refusal. Any other reply fails the test.
    fn refused(&mut self, reply: Reply) {
        assert!((400..500).contains(&reply.status), "{} {}", reply.status, reply.text);
        self.refusals.push(reply.text);
    }

    fn refused_page(&mut self, page: Page) {
        assert!((400..500).contains(&page.status), "{} {}", page.status, page.html);
        self.refusals.push(page.html);
    }

    fn keep_link(&mut self, link: &str) -> String {
        self.tokens.push(link.rsplit('/').next().unwrap().to_owned());
        link.to_owned()
    }
}

/// A question with a confidential text in each field that must not be logged.
fn question() -> serde_json::Value {
    json!({"question": WRITTEN[0], "context": {"note": WRITTEN[1]}, "response_type": "text", "choices": []})
}

/// Every kind of mistake about a question, each by a caller who might make it.
async fn mistakes(app: &TestApp, hoard: &mut Hoard) {
    let (agent, operator, admin) = (app.agent(), app.operator(), app.api(Role::Admin));
    let intent = agent.active_intent().await;
    let id = agent.suspend(intent, question()).await.ok()["id"].as_str().unwrap().to_owned();
    hoard.ids.push(id.clone());
    let respond = format!("api/v1/intents/{intent}/suspend/respond");
    let near_miss = format!("{id}0");
    let answer = |id: &str| json!({"suspension_id": id, "value": WRITTEN[3]});
    for (who, path, body) in [
        (&app.anonymous(), respond.as_str(), answer(&id)),
        (&agent, &respond, answer(&id)),
        (&operator, &respond, answer(&near_miss)),
        (&operator, &respond, answer(&hoard.keys[0])),
        (&operator, &respond, json!({"suspension_id": id, "value": 7})),
        (&operator, &respond, json!({"suspension_id": id, "value": ""})),
        (&operator, &respond, json!({"suspension_id": [id], "value": "x"})),
        (&operator, &format!("api/v1/suspensions/{id}/cancel"), json!({})),
        (&admin, &format!("api/v1/suspensions/{id}/cancel"), json!({"reason": id.repeat(200)})),
        (&agent, &format!("api/v1/suspensions/{id}/nowhere"), json!({})),
        (&agent, &format!("api/v1/intents/{intent}/suspend"), question()),
        (
            &agent,
            &format!("api/v1/intents/{intent}/state"),
            json!({"patches": [{"op": "set", "path": "_suspension", "value": id}]}),
        ),
    ] {
        hoard.refused(who.post(path, body).await);
    }
    let malformed = format!("{{\"suspension_id\": \"{id}\", \"value\": ");
    hoard.refused(operator.post_bytes(&respond, malformed).await);
    hoard.refused(operator.post_at(&respond, "999", answer(&id)).await);
    hoard.refused(agent.send(agent.request("DELETE", &format!("api/v1/suspensions/{id}"))).await);
    hoard.refused(agent.get(&format!("api/v1/suspensions/{id}?wait=x&id={id}")).await);
    hoard.refused(Api::new(&app.base, Some(&format!("{}x", hoard.keys[0]))).get(&respond).await);
    hoard.refused(agent.post_once(&format!("api/v1/intents/{intent}/suspend"), "once", json!({"supersedes": near_miss})).await);
    app.settle().await;
    let link = hoard.keep_link(&app.next_link().await);
    operator.post(&respond, answer(&id)).await.ok();
    hoard.refused(operator.post(&respond, answer(&id)).await);
    hoard.refused(admin.post(&format!("api/v1/suspensions/{id}/cancel"), json!({})).await);

    let mut person = app.person();
    hoard.refused_page(person.open(&format!("{link}/more")).await);
    hoard.refused_page(person.open(&format!("{link}x")).await);
    hoard.refused_page(person.send(person.request(Method::DELETE, &link)).await);
}

/// The whole way of a question: a mail that fails and is tried again, a page, a refusal, an answer, a wait, a deadline and a
/// restart.
async fn the_loop(app: &mut TestApp, hoard: &mut Hoard) {
    let client: Client = app.client();
    let intent = app.agent().active_intent().await;
    let asked = client.ask(intent, Question::text(WRITTEN[0]).context("note", WRITTEN[1]).timeout_seconds(600));
    let mut asked = asked.await.unwrap();
    hoard.ids.push(asked.suspension_id().expose());
    for fault in [Fault::Defer, Fault::KeepThenDrop, Fault::DropBeforeReply] {
        app.smtp.script(fault);
    }
    for pause in [0, 60, 60, 60] {
        app.advance(pause).await;
    }
    let earlier = hoard.keep_link(&app.next_link().await);
    let link = hoard.keep_link(&app.next_link().await);
    assert_ne!(earlier, link);
    app.restart().await;
    let mut person = app.person();
    let nonce = person.open(&link).await.nonce();
    hoard.nonces.extend([nonce.clone(), person.cookie.clone().unwrap().split_off(2)]);
    let typed = [("nonce", "wrong"), ("value", WRITTEN[3]), ("comment", WRITTEN[2])];
    assert_eq!(person.post(&link, &typed).await.status, 403);
    let typed = [("nonce", nonce.as_str()), ("value", WRITTEN[3]), ("comment", WRITTEN[2])];
    assert_eq!(person.post(&link, &typed).await.status, 303);
    assert_eq!(person.post(&link, &typed).await.status, 303);
    let answer = asked.answer().await.unwrap();
    assert!(answer.value == WRITTEN[3] && matches!(answer.source, Source::Human { .. }));

    let agent = app.agent();
    let refused = agent.suspend(intent, question()).await.ok();
    hoard.ids.push(refused["id"].as_str().unwrap().to_owned());
    app.smtp.script(Fault::RejectMessage);
    app.advance(3600).await;
    hoard.refused(app.operator().respond(intent, refused["id"].as_str().unwrap(), "late").await);
}

/// Everything that the database holds: the file with those beside it, including its journals, or a dump of PostgreSQL.
pub(crate) fn database(app: &TestApp) -> Vec<u8> {
    if let Some(scratch) = app.scratch() {
        return scratch.dump();
    }
    let files = std::fs::read_dir(app.folder()).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = files.map(|path| (path.display().to_string(), std::fs::read(path).unwrap())).collect();
    assert!(files.iter().any(|(name, bytes)| name.ends_with("-wal") && !bytes.is_empty()), "the journal is looked at, too");
    files.into_iter().flat_map(|(_, bytes)| bytes).collect()
}

pub(crate) fn holds(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

on_each_store! {
    /// Logs are read by people and programs that may not answer, and backups may be less protected than the server. A key, a
    /// token or the id of an open question found there would let the finder answer in another person's name.
    async fn secrets_appear_nowhere_but_where_they_belong(app: &mut TestApp) {
        let subscriber = tracing_subscriber::fmt().with_env_filter(EnvFilter::new(FILTER)).with_ansi(false);
        // The same test of the other database may have set the subscriber already. Both log to the same place.
        subscriber.with_writer(|| Log).try_init().ok();
        let keys = Role::ALL.iter().map(|role| app.api(*role).key().to_owned()).collect();
        let mut hoard = Hoard { keys, ..Hoard::default() };
        let admin = app.api(Role::Admin);
        let key = json!({"role": "operator", "name": "made over HTTP"});
        let made = admin.post_once("api/v1/keys", "once", key).await.ok();
        hoard.keys.push(made["key"].as_str().unwrap().to_owned());
        let traced = admin.request("GET", "api/v1/keys").header("x-request-id", "the-secrets-test");
        assert_eq!(admin.send(traced).await.status, 200);
        mistakes(app, &mut hoard).await;
        the_loop(app, &mut hoard).await;

        let rows = database(app);
        assert!(holds(&rows, WRITTEN[1].as_bytes()), "what is looked through is the database");
        let logs = String::from_utf8(LOGS.lock().unwrap().clone()).unwrap();
        for line in ["the-secrets-test", "request served", "message handled", "delivery will be tried again", "actix_"] {
            assert!(logs.contains(line), "{line} was not logged, so nothing is proved");
        }

        for secret in hoard.keys.iter().chain(&hoard.tokens) {
            assert!(!holds(&rows, secret.as_bytes()), "the database holds {secret}");
        }
        for token in &hoard.tokens {
            let bytes = BASE64_URL_SAFE_NO_PAD.decode(token.trim_start_matches("plc_")).unwrap();
            assert!(!holds(&rows, &bytes[8..]), "the database holds the bytes of {token}");
        }
        for secret in hoard.keys.iter().chain(&hoard.tokens).chain(&hoard.ids) {
            assert!(!logs.contains(secret), "the log holds {secret}: {}", line_with(&logs, secret));
            let told = hoard.refusals.iter().find(|body| body.contains(secret));
            assert_eq!(told, None, "a refusal tells {secret}");
        }
        for id in &hoard.ids {
            let simple = SuspensionId::parse(id).unwrap().expose().replace('-', "");
            assert!(!logs.contains(&simple), "{}", line_with(&logs, &simple));
        }
        for private in hoard.nonces.iter().map(String::as_str).chain(WRITTEN) {
            assert!(!logs.contains(private), "the log holds {private}: {}", line_with(&logs, private));
        }
    }
}

fn line_with<'a>(logs: &'a str, text: &str) -> &'a str {
    logs.lines().find(|line| line.contains(text)).unwrap_or_default()
}
