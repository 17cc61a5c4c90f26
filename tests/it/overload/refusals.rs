//! An overloaded server: which requests are refused, with which reply, and that a refused request has no effect.
//!
//! The tests occupy the server's places for requests themselves, so that they know exactly how many are left.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use std::num::NonZeroU32;

use domain::people::principal::Role;
use harness::api::{Api, Reply};
use harness::app::{Backend, TestApp};
use harness::on_each_store;
use harness::postgres::Cluster;
use harness::wire::Wire;
use placet_server::edge::admission::{Class, Place};
use placet_server::edge::body::{BODIES_BYTES_MAX, BODY_BYTES_MAX, BODY_WAIT, PAGE_BODIES_BYTES_MAX};
use reqwest::Method;
use serde_json::{Value, json};
use store::link::LinkToken;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Takes every place of a class.
async fn fill(app: &TestApp, class: Class) -> Vec<Place> {
    let mut places = Vec::new();
    while let Ok(place) = app.admission().enter(class).await {
        places.push(place);
    }
    places
}

/// Takes every place for writes and answers, including the reserved ones. It takes exactly as many as there are, because a
/// request for one more would wait.
async fn fill_answers(app: &TestApp) -> Vec<Place> {
    let mut places = Vec::new();
    for _ in 0..app.limits().concurrent_requests {
        places.push(app.admission().enter(Class::Respond).await.unwrap());
    }
    places
}

/// Checks that a request was refused because no place was free: in the form `form` of errors, and with the seconds after which to
/// try again.
fn assert_turned_away(reply: &Reply, form: &str, seconds: &str) {
    assert_eq!(reply.problem(), (503, "overloaded"), "{}", reply.text);
    assert_eq!(
        (&reply.headers["content-type"], &reply.headers["retry-after"]),
        (&form.parse().unwrap(), &seconds.parse().unwrap())
    );
    assert!(reply.headers.contains_key("x-request-id"));
}

/// Sends incomplete large bodies until they fill the `room` bytes that the server keeps for bodies, so that the request of `send`
/// is refused with 503.
async fn large_bodies(app: &TestApp, room: usize, head: &str, send: impl AsyncFn() -> u16) -> Vec<Wire> {
    let bytes = format!("{head}host: placet\r\ncontent-length: {BODY_BYTES_MAX}\r\n\r\n{}", "x".repeat(240 * 1024));
    let mut wires = Vec::new();
    let filled = async {
        while wires.len() < room / BODY_BYTES_MAX || send().await != 503 {
            let mut wire = Wire::connect(app.address()).await.unwrap();
            // Bodies beyond the room are refused while they are being sent.
            drop(wire.write(bytes.as_bytes()).await);
            wires.push(wire);
        }
    };
    timeout(BODY_WAIT, filled).await.unwrap();
    wires
}

#[expect(clippy::disallowed_methods, reason = "the wait is joined by its test, which sees its panic")]
fn spawn(wait: impl Future<Output = Reply> + Send + 'static) -> JoinHandle<Reply> {
    tokio::spawn(wait)
}

const OURS: &str = "application/problem+json";
const OPENINTENTS: &str = "application/json";

on_each_store! {
    /// If all places of a class of requests are taken, requests of this class are refused before they have any effect. Other
    /// classes are still served. As soon as one place is free, the class is served again.
    async fn who_finds_no_place_is_refused_and_told_when_to_come_back(app: &mut TestApp) {
        let agent = app.agent();
        let (intent, id) = agent.ask(json!({})).await;
        let read = format!("api/v1/suspensions/{id}");
        let log = format!("api/v1/intents/{intent}/events");

        let mut lists = fill(app, Class::List).await;
        assert_turned_away(&agent.get("api/v1/suspensions").await, OURS, "5");
        assert_turned_away(&agent.get("api/v1/intents").await, OPENINTENTS, "5");
        assert_turned_away(&agent.get(&log).await, OPENINTENTS, "5");
        assert_turned_away(&agent.get("api/v1/intent%73").await, OPENINTENTS, "5"); // This is the same list, spelled differently.
        assert_turned_away(&agent.get("api/v1/nothing").await, OURS, "5");
        agent.get(&read).await.ok();
        lists.pop();
        agent.get(&log).await.ok();

        let mut reads = fill(app, Class::Read).await;
        assert_turned_away(&agent.get(&read).await, OURS, "2");
        assert_turned_away(&agent.get(&format!("api/v1/intents/{intent}")).await, OPENINTENTS, "2");
        let (other, _) = agent.ask(json!({})).await;
        reads.pop();
        agent.get(&read).await.ok();

        let before = agent.everything(other).await;
        let mut writes = fill(app, Class::Write).await;
        assert_turned_away(&agent.post("api/v1/intents", json!({"title": "t"})).await, OPENINTENTS, "1");
        assert_turned_away(&agent.suspend(other, json!({})).await, OURS, "1");
        assert_turned_away(&agent.respond(other, &id, "approve").await, OPENINTENTS, "1"); // Askers have no reserved place.
        let status = format!("api/v1/intents/{other}/status");
        assert_turned_away(&agent.post_at(&status, "2", json!({"status": "abandoned"})).await, OPENINTENTS, "1");
        assert_eq!(agent.everything(other).await, before, "nothing was done");
        writes.pop();
        agent.post("api/v1/intents", json!({"title": "t"})).await.ok();
    }

    /// Agents wait for the answers of people, so answers are taken even when writes, reads and lists fill the server.
    async fn answers_are_taken_when_everything_else_is_full(app: &mut TestApp) {
        let agent = app.agent();
        let (first, first_id) = app.ask(json!({})).await;
        let link = app.next_link().await;
        let (second, second_id) = app.ask(json!({})).await;
        let mut full = Vec::new();
        for class in [Class::List, Class::Read, Class::Write] {
            full.extend(fill(app, class).await);
        }
        assert_eq!(agent.suspend(first, json!({})).await.status, 503);
        // An operator or gateway that answers without a link must read the question first.
        for reader in [app.operator(), app.api(Role::Channel)] {
            reader.get(&format!("api/v1/suspensions/{second_id}")).await.ok();
            reader.get(&format!("api/v1/intents/{second}")).await.ok();
        }
        let listed = app.operator().get("api/v1/suspensions?state=open").await.ok();
        assert_eq!(listed["suspensions"].as_array().unwrap().len(), 2);
        assert_eq!(app.operator().get("api/v1/intents").await.status, 503, "a log or a list that no answer needs");
        let mut person = app.person();
        let nonce = person.open(&link).await.nonce();
        let posted = person.post(&link, &[("nonce", &nonce), ("value", "approve")]).await;
        assert_eq!(person.follow(&link, &posted).await.heading(), "Your answer was recorded");
        assert_eq!(person.open(&format!("{link}/state")).await.status, 200);
        app.operator().respond(second, &second_id, "deny").await.ok();
        drop(full);
        assert_eq!(agent.suspension(&first_id).await["response"], "approve");
        assert_eq!(agent.suspension(&second_id).await["response"], "deny");
    }

    /// All methods of A2A over JSON-RPC have one path. Each call takes a place of the class of its method.
    async fn a_call_over_json_rpc_counts_as_what_its_method_does(app: &mut TestApp) {
        let (intent, _) = app.agent().ask(json!({})).await;
        let call = async |api: Api, method: &str, params: Value| {
            let call = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
            api.send(api.request("POST", "a2a").header("a2a-version", "1.0").json(&call)).await
        };
        let mut full = fill(app, Class::List).await;
        let listed = call(app.agent(), "ListTasks", json!({})).await;
        assert_eq!((listed.status, &listed.body["error"]["code"]), (503, &json!(-32603)));
        assert_eq!(&listed.headers["retry-after"], "5");
        assert_eq!(call(app.agent(), "GetTask", json!({"id": intent})).await.status, 200);
        full.extend(fill(app, Class::Read).await);
        assert_eq!(call(app.agent(), "GetTask", json!({"id": intent})).await.status, 503);
        full.extend(fill(app, Class::Write).await);
        let said = json!({"message": {"messageId": "m", "role": "ROLE_USER", "taskId": intent, "parts": [{"text": "approve"}]}});
        assert_eq!(call(app.agent(), "SendMessage", said.clone()).await.status, 503);
        let answered = call(app.operator(), "SendMessage", said).await;
        assert!(answered.status == 200 && answered.body["error"].is_null(), "{}", answered.text);
        drop(full);
    }

    /// An answer is refused only if every place stays taken for seconds. The person is then told that it was not recorded.
    async fn an_answer_is_refused_last_and_told_so(app: &mut TestApp) {
        let (intent, id) = app.ask(json!({})).await;
        let link = app.next_link().await;
        let mut person = app.person();
        let nonce = person.open(&link).await.nonce();
        let mut full = fill_answers(app).await;
        let answer = [("nonce", nonce.as_str()), ("value", "approve"), ("comment", "Twice,\r\nthis & <that>")];
        let (mut reader, mut second, mut foreign) = (person.clone(), person.clone(), person.clone());
        let operator = app.operator();
        let forged = foreign.bare_form(&link, &answer).header("origin", "https://evil.example");
        let (shown, posted, forged, by_key) = tokio::join!(
            reader.open(&link),
            second.post(&link, &answer),
            foreign.send(forged),
            operator.respond(intent, &id, "deny")
        );
        assert_eq!((shown.status, shown.header("retry-after")), (503, "1"));
        assert_eq!(shown.heading(), "The server cannot show this question right now");
        assert_eq!((posted.status, posted.header("retry-after")), (503, "1"));
        assert!(posted.html.contains("Your answer was <strong>not</strong> recorded."), "{}", posted.html);
        // The page keeps the typed text, so that it can be sent again. Text from another site is not repeated.
        assert!(posted.html.contains("name=\"value\" dir=\"auto\" readonly value=\"approve\">"), "{}", posted.html);
        assert!(posted.html.contains("readonly>\nTwice,\nthis &#38; &#60;that&#62;</textarea>"), "{}", posted.html);
        assert!(forged.status == 503 && !forged.has_form() && !forged.html.contains("Twice"), "{}", forged.html);
        assert_turned_away(&by_key, OPENINTENTS, "1");
        assert_eq!(app.agent().suspension(&id).await["resolution"], json!(null));
        full.pop();
        let nonce = posted.nonce();
        let posted = person.post(&link, &[("nonce", nonce.as_str()), answer[1], answer[2]]).await;
        assert_eq!(person.follow(&link, &posted).await.heading(), "Your answer was recorded");
        let record = app.agent().suspension(&id).await;
        assert_eq!((&record["response"], &record["metadata"]["comment"]), (&json!("approve"), &json!("Twice,\nthis & <that>")));
    }

    /// Anyone can make up links. Made-up links take no place and no time from people with real ones.
    async fn who_makes_links_up_takes_no_place_of_people(app: &mut TestApp) {
        app.ask(json!({})).await;
        let link = app.next_link().await;
        let made_up = format!("{}a/{}", app.base, LinkToken::new(1, [9; 32]).expose());
        let mut person = app.person();
        assert_eq!(person.open(&made_up).await.status, 404);
        let reads = fill(app, Class::Read).await;
        let answer = [("nonce", "x"), ("value", "approve")];
        for page in [
            person.open(&made_up).await,
            person.open(&format!("{made_up}/state")).await,
            person.post(&made_up, &answer).await,
        ] {
            assert_eq!((page.status, page.header("retry-after")), (503, "2"), "{}", page.html);
        }
        assert_eq!(person.answer(&link, "deny").await.heading(), "Your answer was recorded");
        drop(reads);
        assert_eq!(person.post(&made_up, &answer).await.status, 404);
    }

    /// The body of a request to a made-up link is not read, so it takes no part of the memory that the server keeps for bodies.
    async fn no_body_is_awaited_for_a_link_that_opens_nothing(app: &mut TestApp) {
        app.ask(json!({})).await;
        let sent = app.next_link().await.rsplit('/').next().unwrap().to_owned();
        for (token, is_read) in [("x", false), (LinkToken::new(1, [9; 32]).expose().as_str(), false), (sent.as_str(), true)] {
            let mut wire = Wire::connect(app.address()).await.unwrap();
            let head = format!("POST /a/{token} HTTP/1.1\r\nhost: placet\r\ncontent-length: 1000\r\n\r\n");
            let answer = timeout(BODY_WAIT / 2, wire.send(head.as_bytes())).await;
            assert_eq!(answer.is_err(), is_read, "{token}");
            if let Ok(answer) = answer {
                let answer = answer.unwrap();
                assert_eq!((answer.status, answer.header("connection")), (404, Some("close")), "{token}");
            }
        }
    }

    /// Large bodies from agents must not keep out long answers from people. Long answers must not keep out the bodies of agents
    /// either.
    async fn agents_and_people_have_room_of_their_own(app: &mut TestApp) {
        let text = json!({"response_type": "text", "choices": []});
        app.ask(text.clone()).await;
        let first = app.next_link().await;
        app.ask(text).await;
        let second = app.next_link().await;
        let (agent, large) = (app.agent(), "x".repeat(255 * 1024));
        let long = "ä".repeat(8 * 1024); // These are 48 KiB in a form.
        let mut person = app.person();
        let nonce = person.open(&first).await.nonce();

        let head = format!("POST /api/v1/intents HTTP/1.1\r\nx-api-key: {}\r\n", agent.key());
        let sends = async || agent.post_bytes("api/v1/intents", large.clone()).await.status;
        let held = large_bodies(app, BODIES_BYTES_MAX, &head, sends).await;
        assert_eq!(person.post(&first, &[("nonce", &nonce), ("value", &long)]).await.status, 303);
        drop(held);

        let nonce = person.open(&second).await.nonce();
        let head = format!("POST /a/{} HTTP/1.1\r\n", second.rsplit('/').next().unwrap());
        let answers = async || app.person().post(&first, &[("value", &large)]).await.status;
        let held = large_bodies(app, PAGE_BODIES_BYTES_MAX, &head, answers).await;
        assert_eq!(sends().await, 422, "it is read, and no JSON");
        // A short answer, as most are, needs no room.
        assert_eq!(person.post(&second, &[("nonce", &nonce), ("value", "yes")]).await.status, 303);
        drop(held);
    }

    /// Thousands of requests may wait for answers at the same time. If each kept its place while it waits, no answer could get
    /// in.
    async fn who_waits_keeps_no_place(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let (intent, id) = agent.ask(json!({})).await;
        let mut reads = fill(app, Class::Read).await;
        reads.pop();
        let path = format!("api/v1/suspensions/{id}?wait=50");
        let waiter = agent.clone();
        let wait = spawn(async move { waiter.get(&path).await });
        while !app.api(Role::Auditor).get("metrics").await.text.contains("placet_waiters 1\n") {
            harness::pause::pause().await;
        }
        // The waiting request gives its place back; otherwise this loop never ends.
        let place = loop {
            if let Ok(place) = app.admission().enter(Class::Read).await {
                break place;
            }
        };
        drop(place);
        agent.suspension(&id).await;
        operator.respond(intent, &id, "approve").await.ok();
        assert_eq!(wait.await.unwrap().ok()["response"], "approve", "the request that waited got a place again for its reply");
    }

    /// The metrics show how many requests of each class are refused, and that places are given back.
    async fn admissions_and_refusals_are_counted_by_class(app: &mut TestApp) {
        let (agent, intent) = (app.agent(), app.agent().active_intent().await);
        let writes = fill(app, Class::Write).await;
        let text = app.api(Role::Auditor).get("metrics").await.text;
        let has = |text: &str, line: String| assert!(text.contains(&format!("{line}\n")), "{line} is not in {text}");
        has(&text, format!("placet_admissions_total{{class=\"write\"}} {}", writes.len() + 1));
        has(&text, format!("placet_requests_under_way{{class=\"write\"}} {}", writes.len()));
        has(&text, "placet_admission_refusals_total{class=\"write\"} 1".to_owned());
        assert_eq!(agent.suspend(intent, json!({})).await.status, 503);
        drop(writes);
        let text = app.api(Role::Auditor).get("metrics").await.text;
        has(&text, "placet_requests_under_way{class=\"write\"} 0".to_owned());
        has(&text, "placet_admission_refusals_total{class=\"write\"} 2".to_owned());
        has(&text, "placet_admission_refusals_total{class=\"respond\"} 0".to_owned());
        has(&text, "placet_http_requests_total{route=\"/api/v1/intents/{intent_id}/suspend\",method=\"POST\",status=\"5xx\"} 1".to_owned());
    }

    /// A page that gets an unknown method tells people so, and tells programs the known methods (RFC 9110 §15.5.6).
    async fn pages_name_the_methods_they_know(app: &mut TestApp) {
        app.ask(json!({})).await;
        let link = app.next_link().await;
        let mut person = app.person();
        for (url, known) in [
            (link.clone(), "GET, HEAD, POST"),
            (format!("{link}/state"), "GET"),
            (format!("{}a/x", app.base), "GET, HEAD, POST"),
            (format!("{}assets/x", app.base), "GET"),
            (format!("{}docs", app.base), "GET, HEAD"),
            (format!("{}dev/x", app.base), "GET"),
        ] {
            for method in [Method::PUT, Method::DELETE, Method::PATCH, Method::OPTIONS] {
                let page = person.send(person.request(method.clone(), &url)).await;
                assert_eq!((page.status, page.header("allow")), (405, known), "{method} {url}");
                assert_eq!(page.heading(), "This cannot be done here", "{method} {url}");
            }
        }
        assert_eq!(person.answer(&link, "deny").await.heading(), "Your answer was recorded");
    }

    /// Requests for readiness need no key, so anyone could make the server check its disk. However many of them arrive at once,
    /// the disk is checked at most twice.
    async fn many_questions_for_readiness_share_a_look(app: &mut TestApp) {
        let anonymous = app.anonymous();
        let batches = async || {
            let text = app.api(Role::Auditor).get("metrics").await.text;
            let line = text.lines().find_map(|line| line.strip_prefix("placet_writer_batch_jobs_sum ")).unwrap();
            line.parse::<f64>().unwrap()
        };
        let before = batches().await;
        let replies = futures_util::future::join_all((0..200).map(|_| anonymous.get("readyz"))).await;
        assert!(replies.iter().all(|reply| reply.status == 503 && reply.text.contains("the deadline loop does not run")));
        let looks = batches().await - before;
        // Each wave of connections that arrives at once causes at most two checks. A slow machine may split the requests into
        // many waves.
        assert!(looks < 150.0, "the disk was checked {looks} times for 200 requests");
    }
}

/// Links of an older version do not hold the proof that the server made them. They still work, but their requests take places of
/// reads and not of people, because without a proof they look like made-up links.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_without_a_proof_works_and_takes_no_place_of_people() {
    let mut app = TestApp::start_on(Backend::Postgres, |_| {}).await;
    app.ask(json!({})).await;
    let link = app.next_link().await;
    Cluster::of_this_process().sql(app.scratch().unwrap().name(), "DELETE FROM secrets WHERE name = 'link'").await;
    app.restart().await;
    let mut person = app.person();
    let reads = fill(&app, Class::Read).await;
    assert_eq!(person.open(&link).await.status, 503);
    drop(reads);
    let people = fill_answers(&app).await;
    assert!(person.open(&link).await.has_form());
    drop(people);
    assert_eq!(person.answer(&link, "deny").await.heading(), "Your answer was recorded");
    app.finish().await;
}

/// A limit per key is the operator's choice. It stops only that key, and it never stops an answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_makes_as_many_requests_as_it_may() {
    let app = TestApp::start_with(|config| config.limits.key_requests_per_minute = NonZeroU32::new(3)).await;
    let (agent, operator) = (app.agent(), app.operator());
    let (intent, id) = agent.ask(json!({})).await;
    agent.get(&format!("api/v1/suspensions/{id}")).await.ok();
    for (path, form) in [("api/v1/suspensions", OURS), ("api/v1/intents", OPENINTENTS), ("api/v1/nowhere", OURS)] {
        let refused = agent.get(path).await;
        assert_eq!(refused.problem(), (429, "rate_limited"), "{path}");
        assert_eq!(refused.headers["content-type"], form);
        let seconds: u32 = refused.headers["retry-after"].to_str().unwrap().parse().unwrap();
        assert!((1..=20).contains(&seconds), "one of three in a minute comes back every 20 seconds, not in {seconds}");
    }
    // 429 comes before any check of the body.
    assert_eq!(agent.post_bytes("api/v1/intents", "{").await.status, 429);
    for _ in 0..3 {
        operator.get(&format!("api/v1/suspensions/{id}")).await.ok();
    }
    assert_eq!(operator.get("api/v1/suspensions").await.status, 429, "each key has its own");
    operator.respond(intent, &id, "approve").await.ok();
    assert_eq!(operator.respond(intent, &id, "approve").await.status, 409, "answers are not counted");
    assert_eq!(app.anonymous().get("api/v1/intents").await.status, 401, "401 comes first");
}

/// A client that tries keys, or that does not know its key was revoked, is slowed down. Valid keys from the same address are not,
/// since all clients may share a proxy's address.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_presents_so_many_keys_that_do_not_count() {
    let app = TestApp::start_with(|config| config.limits.bad_keys_per_minute = NonZeroU32::new(60).unwrap()).await;
    let (anonymous, agent) = (app.anonymous(), app.agent());
    let try_key = async |number: u32, path: &str| {
        let request = anonymous.request("GET", path).header("x-api-key", format!("placet_agent_{number}"));
        anonymous.send(request).await
    };
    for number in 0..60 {
        assert_eq!(try_key(number, "api/v1/intents").await.problem(), (401, "unauthorized"), "{number}");
    }
    // One try is allowed again every second, and the machine may be slow.
    let mut refused = try_key(0, "api/v1/suspensions").await;
    for number in 0..60 {
        if refused.status == 429 {
            break;
        }
        refused = try_key(number, "api/v1/suspensions").await;
    }
    assert_eq!(refused.problem(), (429, "rate_limited"));
    assert_eq!(
        (&refused.headers["content-type"], &refused.headers["retry-after"]),
        (&OURS.parse().unwrap(), &"1".parse().unwrap())
    );
    agent.get("api/v1/intents").await.ok();
    let new = app.new_key(Role::Agent, "made-meanwhile").await;
    let reply = anonymous.send(anonymous.request("GET", "api/v1/intents").header("x-api-key", new)).await;
    assert_eq!(reply.status, 200, "a key nobody has seen yet counts too");
    assert_eq!(anonymous.get("api/v1/intents").await.status, 401, "who presents none tries none");
}
