//! The pages of development mode and who may see them: `/`, the mailbox with its mails, and the form that asks a question.

#![expect(clippy::unwrap_used, reason = "these functions serve tests alone")]

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use domain::people::principal::Role;
use harness::api::Api;
use harness::app::{Backend, OPERATOR, TestApp};
use harness::browser::{Browser, BrowserOptions};
use harness::person::{Page, Person};
use placet_server::config::Mode;
use reqwest::Method;
use serde_json::json;
use store::PRODUCTION_MARK;

use crate::people::logins::{ADA, ask, list};
use crate::people::secrets::{database, holds};

/// The question that the agent asks in these tests.
const QUESTION: &str = "Refund order 4711 to Marta?";

/// A server in development mode.
async fn start(backend: Backend) -> TestApp {
    TestApp::start_on(backend, |config| {
        config.mode = Mode::Development;
        config.mail = None;
    })
    .await
}

/// A person whose browser opened the printed address, so that the server let it in.
async fn let_in(app: &TestApp) -> Person {
    let mut person = app.person();
    let entered = person.open(&app.development_address()).await;
    assert_eq!((entered.status, entered.header("location")), (303, "/"), "{}", entered.html);
    person
}

/// The paths of the mails to which a page links, newest first.
fn mails(page: &Page) -> Vec<String> {
    let (_, mailbox) = page.html.split_once(">Mailbox<").unwrap_or_else(|| panic!("no mailbox: {}", page.html));
    let paths = mailbox.split("href=\"/").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned());
    paths.filter(|path| path.starts_with("mailbox/")).collect()
}

/// The answer link in a mail.
async fn link(app: &TestApp, person: &mut Person, path: &str) -> String {
    let mail = person.open(&format!("{}{path}", app.base)).await;
    assert_eq!(mail.status, 200, "{}", mail.html);
    let prefix = format!("{}a/plc_", app.base);
    let rest = mail.html.split_once(&prefix).unwrap_or_else(|| panic!("no link: {}", mail.html)).1;
    format!("{prefix}{}", rest.split(['"', '<']).next().unwrap())
}

/// Whether a page shows content that is only for the browser that was let in.
fn is_inside(page: &Page) -> bool {
    page.html.contains(QUESTION) || page.html.to_lowercase().contains("mailbox") || page.html.contains(OPERATOR)
}

/// Defines each test on both databases.
macro_rules! in_development {
    ($($(#[$doc:meta])* async fn $name:ident($app:ident: &mut TestApp) $body:block)*) => {
        $($(#[$doc])* mod $name {
            use super::*;

            async fn on(backend: Backend) {
                let mut app = start(backend).await;
                test(&mut app).await;
                app.finish().await;
            }

            async fn test($app: &mut TestApp) $body

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_sqlite() {
                on(Backend::Sqlite).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_postgres() {
                on(Backend::Postgres).await;
            }
        })*
    };
}

in_development! {
    /// Without a mail server, the mail with a login link is in the mailbox of the person who runs the server.
    async fn a_login_link_is_in_the_mailbox(app: &mut TestApp) {
        list(app, ADA, Role::Operator).await;
        let mut person = let_in(app).await;
        ask(app, &mut person, ADA).await;
        let home = person.open(&app.base).await;
        let mail = person.open(&format!("{}{}", app.base, mails(&home)[0])).await;
        let link = mail.html.split_once(&format!("{}login/", app.base)).unwrap_or_else(|| panic!("{} {}", mail.status, mail.html)).1;
        let link = format!("{}login/{}", app.base, link.split(['"', '<']).next().unwrap());
        let nonce = person.open(&link).await.nonce();
        assert_eq!(person.post(&link, &[("nonce", &nonce)]).await.header("location"), "/inbox");
        // Another browser on the machine sees neither the mail nor whether there is one.
        assert_eq!(app.person().open(&format!("{}{}", app.base, mails(&home)[0])).await.status, 404);
    }

    /// An agent on the same machine can send any request. No request may show it the mail with its own question. The agent cannot
    /// read the terminal, so the address printed there must work for the person who reads it.
    async fn the_printed_address_lets_one_browser_in(app: &mut TestApp) {
        app.agent().ask(json!({"question": QUESTION})).await;
        app.settle().await;
        let outside = app.person().open(&app.base).await;
        assert_eq!((outside.status, outside.set_cookie()), (200, None));
        assert!(!is_inside(&outside), "{}", outside.html);
        assert!(outside.html.contains("href=\"/docs\"") && outside.html.contains("runs in development"), "{}", outside.html);

        let printed = app.development_address();
        assert!(printed.starts_with(&app.base), "{printed}");
        let mut person = app.person();
        let entered = person.open(&printed).await;
        assert_eq!((entered.status, entered.header("location"), entered.header("cache-control")), (303, "/", "no-store"));
        let port = app.address().port();
        let cookie = entered.set_cookie().unwrap().to_owned();
        assert!(cookie.starts_with(&format!("development-{port}=")), "{cookie}");
        let mut attributes: Vec<&str> = cookie.split("; ").skip(1).collect();
        attributes.sort_unstable();
        assert_eq!(attributes, ["HttpOnly", "Path=/", "SameSite=Lax"]);
        let inside = person.follow(&printed, &entered).await;
        for shown in [QUESTION, "test-agent", "One question waits", "1 h left", OPERATOR, "Mailbox"] {
            assert!(inside.html.contains(shown), "{shown} is missing in {}", inside.html);
        }

        // The address works once. A second browser is refused and told why. A browser that was let in before goes on.
        let late = app.person().open(&printed).await;
        assert_eq!((late.status, late.heading().as_str(), late.set_cookie()), (410, "This address was used before", None));
        assert!(late.html.contains("take the new address that the server printed"), "{}", late.html);
        assert_eq!(person.open(&printed).await.status, 303);
        let next = app.development_address();
        assert_ne!(next, printed);
        assert_eq!(person.open(&next).await.status, 303);
        assert_eq!(app.development_address(), next, "who is in already uses up no address");
        assert_eq!(app.person().open(&next).await.status, 303);
        for made_up in ["dev/x", "dev/AAAAAAAAAAAAAAAAAAAAAA", "mailbox/x", "mailbox/019ab0f2-7c11-7d3a-9a55-3f1f0d6b2c10"] {
            assert_eq!(app.person().open(&format!("{}{made_up}", app.base)).await.status, 404, "{made_up}");
        }
        app.restart().await;
        assert!(is_inside(&person.open(&app.base).await), "the cookie is this database's, not this process's");
        assert_eq!(app.person().open(&next).await.status, 404, "another process knows nothing of the address");
    }

    /// A made-up cookie, or a request with a foreign host name, must not let anyone in.
    async fn nobody_is_let_in_by_a_made_up_cookie_or_name(app: &mut TestApp) {
        app.agent().ask(json!({"question": QUESTION})).await;
        app.settle().await;
        let mut person = let_in(app).await;
        let mail = mails(&person.open(&app.base).await).remove(0);
        let (name, value) = person.cookie.clone().unwrap().split_once('=').map(|(n, v)| (n.to_owned(), v.to_owned())).unwrap();
        let mut bytes = BASE64_URL_SAFE_NO_PAD.decode(&value).unwrap();
        bytes[3] ^= 1;
        let forged = BASE64_URL_SAFE_NO_PAD.encode(&bytes);
        for wrong in [forged.as_str(), &value[..22], "", "AAAA", &"A".repeat(64)] {
            let mut stranger = app.person();
            stranger.cookie = Some(format!("{name}={wrong}"));
            assert!(!is_inside(&stranger.open(&app.base).await), "{wrong}");
            for path in [mail.clone(), format!("{mail}/html")] {
                assert_eq!(stranger.open(&format!("{}{path}", app.base)).await.status, 404, "{wrong}");
            }
        }
        let next = app.development_address();
        for host in ["evil.example", "127.0.0.1.evil.example:80", "localhost.evil.example", "192.168.1.5:7420", ""] {
            for url in [&app.base, &next, &format!("{}{mail}", app.base)] {
                let request = person.request(Method::GET, url).header("host", host);
                let page = person.send(request).await;
                assert!(!is_inside(&page) && page.set_cookie().is_none() && page.status != 303, "{host} {url}: {}", page.html);
            }
        }
        assert_eq!(app.development_address(), next, "nothing of this has used it up");
        let other_name = person.request(Method::GET, &app.base).header("host", format!("localhost:{}", app.address().port()));
        assert!(is_inside(&person.send(other_name).await), "this machine goes by several names");
    }

    /// The browser that was let in sees the work around each question that waits, of every agent; no other browser does.
    async fn the_work_around_a_question_is_inside_only(app: &mut TestApp) {
        let (intent, id) = app.agent().ask(json!({"question": QUESTION})).await;
        let other = Api::new(&app.base, Some(&app.new_key_of(Role::Agent, "other", "others").await));
        app.agent().post(&format!("api/v1/intents/{intent}/agents"), json!({"agent_id": "other"})).await.ok();
        other.post("api/v1/intents", json!({"title": "Fire the clerk", "status": "active", "depends_on": [intent]})).await.ok();
        app.settle().await;
        app.restart().await;
        let mut person = let_in(app).await;
        let path = format!("work/{intent}");
        let home = person.open(&app.base).await;
        assert!(home.html.contains(&format!("href=\"/{path}\"")), "{}", home.html);
        let address = format!("{}{path}", app.base);
        let page = person.open(&address).await;
        assert_eq!((page.status, page.heading().as_str()), (200, "Other work around this question"));
        for words in ["Fire the clerk", "Cannot go on", "Waits for a person", "href=\"/\""] {
            assert!(page.html.contains(words), "{words}: {}", page.html);
        }
        assert!(!page.html.contains("the agent that asks may read"), "{}", page.html);
        assert_eq!(app.person().open(&address).await.status, 404);
        let foreign = person.request(Method::GET, &address).header("host", "evil.example");
        assert_eq!(person.send(foreign).await.status, 404);
        for made_up in ["work/x", "work/019ab0f2-7c11-7d3a-9a55-3f1f0d6b2c10"] {
            assert_eq!(person.open(&format!("{}{made_up}", app.base)).await.status, 404, "{made_up}");
        }
        assert_eq!(person.send(person.request(Method::HEAD, &address)).await.status, 200);
        assert_eq!(person.send(person.request(Method::POST, &address)).await.status, 405);
        app.operator().respond(intent, &id, "approve").await.ok();
        let after = person.open(&address).await;
        assert_eq!((after.status, after.header("location")), (303, "/"));
    }

    /// A restart removes the mails from memory. People who have not answered yet must find their mails again, with links that
    /// work. The token of a link must not lie in the database, neither before the restart nor after it.
    async fn after_a_restart_a_mail_is_opened_with_a_link_of_its_own(app: &mut TestApp) {
        let agent = app.agent();
        let (_, first) = agent.ask(json!({"question": QUESTION})).await;
        let (_, second) = agent.ask(json!({"question": "And the other one?", "notify_to": ["jonas@example.com"]})).await;
        app.settle().await;
        let mut person = let_in(app).await;
        let before = mails(&person.open(&app.base).await);
        assert_eq!(before.len(), 2);
        let link_before = link(app, &mut person, &before[1]).await;
        app.restart().await;

        let page = person.open(&app.base).await;
        assert_eq!(mails(&page), before, "newest first, and under the same addresses");
        let (_, mailbox) = page.html.split_once(">Mailbox<").unwrap();
        assert!(mailbox.find("And the other one?").unwrap() < mailbox.find(QUESTION).unwrap());
        let link_after = link(app, &mut person, &before[1]).await;
        assert_ne!(link_after, link_before);
        assert_eq!(link(app, &mut person, &before[1]).await, link_after, "one link for each process, not one for each look");
        let html = person.open(&format!("{}{}/html", app.base, before[1])).await;
        assert!(html.html.contains(&link_after) && html.header("content-security-policy").starts_with("default-src 'none'"));
        let rows = database(app);
        assert!(holds(&rows, QUESTION.as_bytes()), "what is looked through is the database");
        for token in [&link_before, &link_after] {
            let token = token.rsplit('/').next().unwrap();
            let bytes = BASE64_URL_SAFE_NO_PAD.decode(token.trim_start_matches("plc_")).unwrap();
            assert!(!holds(&rows, token.as_bytes()) && !holds(&rows, &bytes[8..]), "the database holds {token}");
        }

        assert_eq!(app.person().answer(&link_after, "approve").await.heading(), "Your answer was recorded");
        assert_eq!(agent.suspension(&first).await["responded_by"], OPERATOR, "the link is that of whoever the mail went to");
        agent.post(&format!("api/v1/suspensions/{second}/cancel"), json!({})).await.ok();
        let page = person.open(&app.base).await;
        for state in ["answered “approve” by ops@example.com", "withdrawn", "No question waits"] {
            assert!(page.html.contains(state), "{state} is missing in {}", page.html);
        }
        assert_eq!(app.person().open(&link_before).await.status, 200, "the link that left with the mail is one of that person");
    }

    /// In a production database each mail went to a real person. Development mode must not make links in the names of those
    /// people.
    async fn mails_of_production_are_not_opened_again(app: &mut TestApp) {
        app.agent().ask(json!({"question": QUESTION})).await;
        app.settle().await;
        let mut person = let_in(app).await;
        let [mail] = mails(&person.open(&app.base).await).try_into().unwrap();
        app.store().secret(PRODUCTION_MARK).await.unwrap();
        app.restart().await;
        let page = person.open(&app.base).await;
        assert!(page.html.contains(QUESTION) && mails(&page).is_empty(), "{}", page.html);
        assert_eq!(person.open(&format!("{}{mail}", app.base)).await.status, 404);
    }

    /// The button on the first page asks a real question: the rules for agents hold, and the button cannot answer a question.
    async fn a_question_asked_there_is_a_real_one(app: &mut TestApp) {
        let url = format!("{}ask", app.base);
        let mut person = let_in(app).await;
        let nonce = person.open(&app.base).await.nonce();
        let mut stranger = app.person();
        assert_eq!(stranger.post(&url, &[("nonce", &nonce), ("question", QUESTION)]).await.status, 404);
        let foreign = person.bare_form(&url, &[("nonce", &nonce), ("question", QUESTION)]).header("origin", "https://evil.example");
        assert_eq!(person.send(foreign).await.status, 403);
        let beside = person.bare_form(&url, &[("nonce", &nonce), ("question", QUESTION)]).header("sec-fetch-site", "same-site");
        assert_eq!(person.send(beside).await.status, 403, "another port of this machine is another program");
        for wrong in ["", "x", &nonce[..20]] {
            let refused = person.post(&url, &[("nonce", wrong), ("question", QUESTION)]).await;
            assert!(refused.status == 422 && refused.html.contains(QUESTION), "what was typed is kept: {}", refused.html);
        }
        let long = "x".repeat(5_000);
        for (question, why) in [("", "question"), ("   ", "question"), (long.as_str(), "question")] {
            let refused = person.post(&url, &[("nonce", &nonce), ("question", question)]).await;
            assert!(refused.status == 422 && refused.html.contains("The question was not asked"), "{}", refused.html);
            assert!(refused.html.contains(why), "{}", refused.html);
        }
        assert_eq!(person.post(&url, &[("nonce", &nonce), ("question", &"x".repeat(300_000))]).await.status, 400);
        let operator = app.operator();
        assert_eq!(operator.get("api/v1/suspensions").await.ok()["suspensions"], json!([]), "none of these asked anything");

        // Further fields are ignored: the form asks the question and does not answer it.
        let fields = [("nonce", nonce.as_str()), ("question", QUESTION), ("value", "yes"), ("response", "yes")];
        assert_eq!(person.post(&url, &fields).await.status, 303);
        app.settle().await;
        let listed = operator.get("api/v1/suspensions").await.ok();
        let question = &listed["suspensions"][0];
        assert_eq!((&question["question"], &question["asked_by"]), (&json!(QUESTION), &json!("placet/development")));
        assert_eq!((&question["resolution"], &question["timeout_seconds"]), (&json!(null), &json!(600)));
        let mail = mails(&person.open(&app.base).await).remove(0);
        let link = link(app, &mut person, &mail).await;
        assert_eq!(app.person().answer(&link, "yes").await.heading(), "Your answer was recorded");
        assert!(person.open(&app.base).await.html.contains("answered “yes” by ops@example.com"));
    }
}

/// A new mail appears at once on a page that is open already. People must not have to load the page again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_open_mailbox_shows_a_mail_when_it_arrives() {
    let app = start(Backend::Sqlite).await;
    let browser = Browser::start(BrowserOptions { width: 390, height: 800, dark: false, javascript: true }).await;
    browser.open(&app.development_address()).await;
    browser.type_into("#question", " Half of it?").await;
    app.agent().ask(json!({"question": QUESTION})).await;
    app.settle().await;
    let arrived = "new Promise((yes) => {
        const check = () => document.querySelector('#live li a') && yes(document.querySelector('#live li a').textContent);
        new MutationObserver(check).observe(document.body, {subtree: true, childList: true});
        check();
    })";
    assert_eq!(browser.evaluate(arrived).await, QUESTION);
    assert_eq!(browser.evaluate("document.getElementById('news').textContent").await, "A mail arrived");
    let typed = browser.evaluate("document.getElementById('question').value").await;
    assert!(typed.as_str().unwrap().ends_with("Half of it?"), "what is typed stays: {typed}");
    browser.press("#live li a").await;
    browser.press("main pre a").await;
    assert_eq!(browser.find_all_text("h1").await, [QUESTION]);
    assert_eq!(browser.console_errors().await, [""; 0]);
    app.finish().await;
}

/// In production the first page says what Placet is and links to the documentation. It shows nothing about the questions.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn production_shows_what_it_is_and_lets_nobody_in() {
    let app = TestApp::start().await;
    app.ask(json!({"question": QUESTION})).await;
    app.smtp.next_mail().await;
    let page = app.person().open(&app.base).await;
    assert_eq!((page.status, page.heading().as_str(), page.header("cache-control")), (200, "Placet", "no-store"));
    assert!(page.html.contains("href=\"/docs\"") && !is_inside(&page) && !page.html.contains("development"), "{}", page.html);
    assert!(!page.has_form() && !page.html.contains("<script"));
    for (method, path) in [(Method::GET, "dev/x"), (Method::GET, "mailbox/x"), (Method::POST, "ask")] {
        let person = app.person();
        let request = person.request(method, &format!("{}{path}", app.base));
        assert_eq!(person.clone().send(request).await.status, 404, "{path}");
    }
    app.finish().await;
}
