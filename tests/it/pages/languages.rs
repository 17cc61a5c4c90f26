//! The pages in German, for readers whose browsers ask for it: whole, or not at all.

#![expect(clippy::unwrap_used, reason = "these functions serve tests alone")]

use std::path::Path;

use domain::suspension::draft::DRAFT_BYTES_MAX;
use harness::app::TestApp;
use harness::browser::{Browser, BrowserOptions};
use harness::on_each_store;
use harness::person::{Page, Person};
use placet_server::config::Mode;
use reqwest::Method;
use serde_json::{Value, json};

use super::looks::{WIDTHS, fits};
use crate::people::assignees::{ADA, EVE, directory, mails};
use crate::people::logins::log_in;

/// The header of a browser in Vienna.
const AUSTRIA: &str = "de-AT,de;q=0.9,en;q=0.8";
/// A shorter text is the same word in both languages too often.
const SENTENCE_CHARS_MIN: usize = 12;

fn read_all(folder: &str, keep: impl Fn(&str) -> bool) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| keep(path.file_name().unwrap().to_str().unwrap()));
    files.map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

/// The text of a template without its tags and commands, in pieces.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut depth = 0_u32;
    for c in text.chars() {
        match c {
            '<' | '{' => {
                depth += 1;
                pieces.push(String::new());
            }
            '>' | '}' => depth = depth.saturating_sub(1),
            _ if depth == 0 => pieces.last_mut().unwrap().push(c),
            _ => {}
        }
    }
    let pieces = pieces.into_iter().map(|piece| piece.split_whitespace().collect::<Vec<_>>().join(" "));
    pieces.filter(|piece| piece.chars().count() >= SENTENCE_CHARS_MIN && piece.contains(' ')).collect()
}

/// The sentences of the English catalogue that pages show, as far as they have no value in them.
fn english() -> Vec<String> {
    let german = pieces(&read_all("server/src/pages/templates/de/words", |_| true));
    let code = read_all("domain/src/base/words", |name| name.starts_with("en"));
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let literals: Vec<String> = lines.flat_map(|line| line.split('"').skip(1).step_by(2)).flat_map(pieces).collect();
    let macros = pieces(&read_all("server/src/pages/templates/en/words", |_| true));
    macros.into_iter().chain(literals).filter(|piece| !german.contains(piece)).collect()
}

async fn open_in(person: &mut Person, url: &str, languages: &str) -> Page {
    let request = person.request(Method::GET, url).header("accept-language", languages);
    person.send(request).await
}

async fn post_in(person: &mut Person, url: &str, fields: &[(&str, &str)], languages: &str) -> Page {
    let request = person.form(url, fields).header("accept-language", languages);
    person.send(request).await
}

/// Checks that a page is German, and that no sentence on it is one of ours in English.
fn assert_german(name: &str, page: &Page, english: &[String]) {
    assert!(page.html.contains("<html lang=\"de\">"), "{name}: {} {}", page.status, page.html);
    assert_eq!((page.header("content-language"), page.header("vary")), ("de", "accept-language"), "{name}");
    let (_, shown) = page.html.split_once("</style>").unwrap();
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let found: Vec<&String> = english.iter().filter(|sentence| shown.contains(*sentence)).collect();
    assert!(found.is_empty(), "{name} says {found:?} in English: {shown}");
}

/// The questions of each kind, with all that a page can say about them.
fn questions() -> Vec<Value> {
    let schema = json!({"type": "object", "required": ["reason"], "properties": {
        "reason": {"type": "string", "minLength": 3, "title": "Grund"},
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
        "mail": {"type": "string", "format": "email"},
        "gift": {"type": "boolean"},
    }});
    let context = json!({"leer": "", "ja": true, "nichts": null, "Liste": [null, 1], "Adresse": "https://example.com"});
    vec![
        json!({"context": context, "confidence": 0.5}),
        json!({"response_type": "text", "choices": [], "context": {"Lang": "Zeile\n".repeat(40)}}),
        json!({"response_type": "form", "choices": [], "schema": schema}),
        json!({"response_type": "confirm", "choices": [], "timeout_seconds": null, "fallback_policy": null}),
    ]
}

on_each_store! {
    /// A browser at an address that no page has gets a page, and a program the error of the interface.
    async fn an_address_that_no_page_has_is_told(app: &mut TestApp) {
        let mut person = app.person();
        for (path, accepts, is_page) in [
            ("inbx", "text/html,*/*;q=0.8", true),
            ("inbx", "*/*", false),
            ("inbx", "application/json", false),
            ("api/inbx", "text/html", false),
        ] {
            let request = person.request(Method::GET, &format!("{}{path}", app.base)).header("accept", accepts);
            let page = person.send(request).await;
            let says = page.html.contains("<h1>There is no such page</h1>") && page.html.contains("<a href=\"/inbox\">");
            assert_eq!(says, is_page, "{path} {accepts}: {}", page.html);
            assert!(page.status == 404 || path.starts_with("api/"), "{path}: {}", page.status);
        }
    }

    /// Why a passkey or a draft is refused is said in the reader's language.
    async fn a_refused_passkey_and_a_refused_draft_say_why_in_german(app: &mut TestApp) {
        directory(app).await;
        let mut ada = log_in(app, ADA).await;
        let path = format!("{}passkeys", app.base);
        let nonce = ada.open(&path).await.nonce();
        let refused = post_in(&mut ada, &path, &[("nonce", &nonce), ("adds", "one")], "de").await;
        assert_eq!(refused.status, 403);
        assert!(refused.html.contains("Der Passkey wurde nicht angenommen: Die öffentliche Adresse des Servers hat keinen Domainnamen."), "{}", refused.html);
        let (_, id) = app.ask(json!({"response_type": "text", "choices": [], "assignees": {"people": [ADA]}})).await;
        let url = format!("{}questions/{id}", app.base);
        let nonce = ada.open(&url).await.nonce();
        let long = "x".repeat(DRAFT_BYTES_MAX + 1);
        let refused = post_in(&mut ada, &url, &[("nonce", &nonce), ("person", ADA), ("value", &long), ("draft", "save")], "de").await;
        assert_eq!(refused.status, 422, "{}", refused.html);
        assert!(refused.html.contains("Der Grund: Ein Entwurf hat höchstens 64 KiB Text."), "{}", refused.html);
        assert!(!refused.html.contains("auf Englisch"), "{}", refused.html);
        mails(app).await;
    }

    /// The first of the reader's languages counts, and a reader who asks for none of ours, or for nonsense, reads English.
    async fn the_browser_chooses_the_language(app: &mut TestApp) {
        let unknown = format!("{}a/x", app.base);
        let mut person = app.person();
        for german in ["de", "de-AT", AUSTRIA, "fr;q=0.9, de;q=0.5, en;q=0.1", "en;q=0.1,de"] {
            let page = open_in(&mut person, &unknown, german).await;
            assert_eq!(page.heading(), "Dieser Link führt zu keiner Frage", "{german}");
            assert_eq!(page.header("content-language"), "de", "{german}");
        }
        for english in ["en", "fr", "*", "", ";;q=x,,", "en;q=0.9,de;q=0.1", "de;q=0", "deutsch"] {
            let page = open_in(&mut person, &unknown, english).await;
            assert_eq!(page.heading(), "This link leads to no question", "{english}");
            assert!(page.html.contains("<html lang=\"en\">"), "{english}");
            assert_eq!((page.header("content-language"), page.header("vary")), ("en", "accept-language"), "{english}");
        }
        assert_eq!(person.open(&unknown).await.heading(), "This link leads to no question");
    }

    /// The pages behind a link, from the question to its outcome.
    async fn the_pages_of_a_link_are_german(app: &mut TestApp) {
        let english = english();
        assert!(english.len() > 400, "{} sentences are compared", english.len());
        for question in questions() {
            let agent = app.agent();
            let intent = agent.active_intent().await;
            agent.suspend(intent, question).await.ok();
            app.settle().await;
            let link = app.next_link().await;
            let mut person = app.person();
            let open = open_in(&mut person, &link, AUSTRIA).await;
            assert!(open.html.contains("Std.") || open.html.contains("Min.") || open.html.contains("keine Frist"), "{}", open.html);
            assert_german("the question", &open, &english);
            for query in ["?show=everything", "?show=everything&end=reached"] {
                assert_german(query, &open_in(&mut person, &format!("{link}{query}"), AUSTRIA).await, &english);
            }
            let page = open_in(&mut person, &format!("{link}?show=everything&end=reached"), AUSTRIA).await;
            assert_german("the work", &open_in(&mut person, &format!("{link}/work"), AUSTRIA).await, &english);
            let wrong = [("nonce", &*page.nonce()), ("value", "")];
            assert_german("an answer that needs a change", &post_in(&mut person, &link, &wrong, AUSTRIA).await, &english);
            let old = post_in(&mut person, &link, &[("nonce", "x"), ("value", "approve")], AUSTRIA).await;
            assert_german("a page that is too old", &old, &english);
            let foreign = person.bare_form(&link, &[]).header("origin", "https://evil.example").header("accept-language", AUSTRIA);
            assert_german("a form of another site", &person.send(foreign).await, &english);
            let right = [("nonce", &*page.nonce()), ("value", "approve"), ("field./reason", "Kulanz"), ("field./count", "2")];
            post_in(&mut person, &link, &right, AUSTRIA).await;
            assert_german("the outcome", &open_in(&mut person, &link, AUSTRIA).await, &english);
            let mut last = post_in(&mut person, &link, &[], AUSTRIA).await;
            while last.status != 429 {
                last = post_in(&mut person, &link, &[], AUSTRIA).await;
            }
            assert_german("too many tries", &last, &english);
        }
    }

    /// The pages behind the login.
    async fn the_pages_behind_the_login_are_german(app: &mut TestApp) {
        let english = english();
        directory(app).await;
        let id = app.ask(json!({"assignees": {"people": [ADA]}})).await.1;
        mails(app).await;
        let mut stranger = app.person();
        assert_german("the login", &open_in(&mut stranger, &format!("{}login", app.base), AUSTRIA).await, &english);
        let mut ada = log_in(app, ADA).await;
        let question = format!("questions/{id}");
        let own = ["inbox", "inbox?list=open&words=x", "inbox?risk=x", &question, "out-of-office", "settings", "passkeys", "dashboard", "stops", "audit"];
        for path in own {
            assert_german(path, &open_in(&mut ada, &format!("{}{path}", app.base), AUSTRIA).await, &english);
        }
        mails(app).await;
        let mut eve = log_in(app, EVE).await;
        for path in ["inbox", "audit", "audit?from=x&intent=y", "audit/overview", "audit/overview?to=x", "audit/x", &question] {
            assert_german(path, &open_in(&mut eve, &format!("{}{path}", app.base), AUSTRIA).await, &english);
        }
        let intent = app.agent().suspension(&id).await["intent_id"].as_str().unwrap().to_owned();
        assert_german("the record", &open_in(&mut eve, &format!("{}audit/{intent}", app.base), AUSTRIA).await, &english);
    }
}

/// German words are longer: on a small phone, none widens the page, and the script tells times in German.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_german_page_fits_a_small_phone() {
    let app = TestApp::start().await;
    for question in questions() {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        agent.suspend(intent, question).await.ok();
        app.settle().await;
        let link = app.next_link().await;
        for width in WIDTHS {
            let browser = Browser::start(BrowserOptions { width, height: 800, dark: false, javascript: true }).await;
            browser.speak(AUSTRIA).await;
            browser.open(&link).await;
            assert_eq!(browser.evaluate("document.documentElement.lang").await, "de");
            fits(&browser, "german", (width, false)).await;
        }
    }
    app.finish().await;
}

/// The first page of development mode, with its mailbox.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_pages_of_development_mode_are_german() {
    let app = TestApp::start_with(|config| {
        config.mode = Mode::Development;
        config.mail = None;
    })
    .await;
    let english = english();
    let mut person = app.person();
    assert_german("the first page", &open_in(&mut person, &app.base, AUSTRIA).await, &english);
    let intent = app.agent().active_intent().await;
    app.agent().asked(intent).await;
    app.settle().await;
    let address = app.development_address();
    person.open(&address).await;
    assert_german("the mailbox", &open_in(&mut person, &app.base, AUSTRIA).await, &english);
    assert_german("a used address", &open_in(&mut app.person(), &address, AUSTRIA).await, &english);
    app.finish().await;
}
