//! The headers of every page.

#![expect(clippy::unwrap_used, reason = "these functions serve tests alone")]

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use domain::log::Hash;
use harness::app::TestApp;
use harness::on_each_store;
use harness::person::{Page, Person};
use serde_json::json;

/// Asks a question and returns the link from its mail.
async fn link(app: &TestApp, public_url: &str) -> String {
    let agent = app.agent();
    let intent = agent.active_intent().await;
    agent.suspend(intent, json!({"response_type": "text", "choices": []})).await.ok();
    app.settle().await;
    app.smtp.next_mail().await.link(public_url)
}

/// One page of every kind that a link leads to.
async fn every_page(app: &TestApp, person: &mut Person, link: &str) -> Vec<(&'static str, u16, Page)> {
    let open = person.open(link).await;
    let nonce = open.nonce();
    let foreign = person.bare_form(link, &[]).header("origin", "https://evil.example");
    let mut pages = vec![
        ("open", 200, open),
        ("refused", 403, person.post(link, &[("nonce", "x"), ("value", "mine")]).await),
        ("not yet right", 422, person.post(link, &[("nonce", &nonce), ("value", "")]).await),
        ("foreign", 403, person.send(foreign).await),
        ("unknown", 404, person.open(&format!("{}a/x", app.base)).await),
    ];
    assert_eq!(person.post(link, &[("nonce", &nonce), ("value", "mine")]).await.status, 303);
    pages.push(("outcome", 200, person.open(link).await));
    let mut last = person.post(link, &[]).await;
    while last.status != 429 {
        last = person.post(link, &[]).await;
    }
    pages.push(("limited", 429, last));
    pages
}

fn assert_closed_in(name: &str, page: &Page) {
    for (header, value) in [
        ("content-type", "text/html; charset=utf-8"),
        ("cache-control", "no-store"),
        ("referrer-policy", "same-origin"),
        ("x-content-type-options", "nosniff"),
        ("x-robots-tag", "noindex"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        assert_eq!(page.header(header), value, "{header} of {name}");
    }
    // The policy allows exactly the served style. With one byte changed the page would have no style.
    let (_, rest) = page.html.split_once("<style>").unwrap();
    let (style, _) = rest.split_once("</style>").unwrap();
    let hash = BASE64_STANDARD.encode(Hash::of(style.as_bytes()).0);
    let policy =
        format!("default-src 'none'; style-src 'sha256-{hash}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'");
    // A page with times has the script that shows them in the reader's zone. A page that can still be answered has the script
    // that keeps it up to date, which shows the times as well. There is no other script, and none from another site.
    let kept = usize::from(page.has_form());
    let scripts = kept + usize::from(page.has_form() || name == "outcome");
    let policy = policy + ["", "; script-src 'self'; connect-src 'self'"][scripts.min(1)];
    assert_eq!(page.header("content-security-policy"), policy, "{name}");
    assert_eq!(page.html.matches("<script").count(), scripts, "{name}");
    assert_eq!(page.html.matches("<script src=\"/assets/answer-").count(), kept, "{name}");
    assert_eq!(page.html.matches("<script src=\"/assets/times-").count(), scripts - kept, "{name}");
    assert!(!page.html.contains(" style="), "{name}");
}

on_each_store! {
    /// Each page forbids other sites to show it in a frame, to run scripts in it and to read it, because they could otherwise
    /// press its buttons. Each page also forbids browsers to cache it.
    async fn every_page_is_closed_in(app: &mut TestApp) {
        let link = link(app, &app.base).await;
        for (name, status, page) in every_page(app, &mut app.person(), &link).await {
            assert_eq!(page.status, status, "{name}");
            assert_closed_in(name, &page);
            assert_eq!(page.header("strict-transport-security"), "", "{name}: there is no https here");
        }
    }

    /// Over http the cookie has neither `Secure` nor the prefix that requires it; with them, a browser would refuse the cookie.
    async fn the_cookie_on_http_is_for_the_session_and_no_script(app: &mut TestApp) {
        let link = link(app, &app.base).await;
        let page = app.person().open(&link).await;
        let cookie = page.set_cookie().unwrap();
        let (pair, attributes) = cookie.split_once("; ").unwrap();
        assert!(pair.starts_with("a=") && pair.len() == 24, "{cookie}");
        assert_eq!(sorted(attributes), ["HttpOnly", "Path=/", "SameSite=Lax"]);
        // A page without a form sets no cookie.
        assert_eq!(app.person().open(&format!("{}a/x", app.base)).await.set_cookie(), None);
    }

    /// Cookies and origins belong to a host name. A page under another name of this machine names the right address, because an
    /// answer sent from there would be refused.
    async fn a_link_under_another_name_of_this_machine_says_the_right_one(app: &mut TestApp) {
        let link = link(app, &app.base).await;
        let ours = app.base.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let port = ours.rsplit(':').next().unwrap();
        for name in [format!("localhost:{port}"), format!("[::1]:{port}"), format!("evil.example:{port}")] {
            let mut person = app.person();
            let request = person.request(reqwest::Method::GET, &link).header("host", &name);
            let page = person.send(request).await;
            assert!(page.status == 421 && page.html.contains(&format!("<strong>{ours}</strong>")), "{name}: {}", page.html);
            let theirs = name.split(':').next().unwrap();
            assert!(!page.html.contains(&name) && (theirs == "[" || !page.html.contains(theirs)), "{name}: {}", page.html);
            assert!(!page.html.contains("<button") && page.set_cookie().is_none(), "{name}: nothing can be typed in vain");
        }
        assert_eq!(app.person().open(&link).await.status, 200);
    }

    /// After an answer, going back must not show a form, and browsers must not cache the redirect.
    async fn an_answer_leads_to_its_own_link(app: &mut TestApp) {
        let link = link(app, &app.base).await;
        let mut person = app.person();
        let nonce = person.open(&link).await.nonce();
        let posted = person.post(&link, &[("nonce", &nonce), ("value", "mine")]).await;
        assert_eq!((posted.status, posted.header("cache-control")), (303, "no-store"));
        assert!(link.ends_with(posted.header("location")) && posted.header("location").starts_with("/a/plc_"));
        assert_eq!(posted.html, "");
    }
}

on_each_store! {
    /// Browsers may keep the script for ever, so its address changes with its bytes. No other name serves anything.
    async fn the_script_is_served_under_the_hash_of_its_bytes(app: &mut TestApp) {
        let link = link(app, &app.base).await;
        let mut person = app.person();
        let page = person.open(&link).await;
        for name in ["answer", "times"] {
        let start = format!("<script src=\"/assets/{name}-");
        let path = page.html.split_once(&start).unwrap().1.split('"').next().unwrap();
        let path = format!("assets/{name}-{path}");
        let script = person.open(&format!("{}{path}", app.base)).await;
        assert_eq!((script.status, script.header("content-type")), (200, "text/javascript; charset=utf-8"));
        assert_eq!(script.header("cache-control"), "public, max-age=31536000, immutable");
        assert_eq!((script.header("x-content-type-options"), script.set_cookie()), ("nosniff", None));
        let hash = u64::from_be_bytes(*Hash::of(script.html.as_bytes()).0.first_chunk().unwrap());
        assert_eq!(path, format!("assets/{name}-{hash:016x}.js"));
        }
        for other in ["assets/answer.js", "assets/answer-0000000000000000.js", "assets/..%2Fplacet.css", "assets/"] {
            assert_eq!(person.open(&format!("{}{other}", app.base)).await.status, 404, "{other}");
        }
    }
}

fn sorted(attributes: &str) -> Vec<&str> {
    let mut attributes: Vec<&str> = attributes.split("; ").collect();
    attributes.sort_unstable();
    attributes
}

/// Behind an https proxy the public URL decides about the cookie, the origin, transport security and the host.
#[tokio::test]
async fn https_adds_the_host_prefix_and_transport_security() {
    const PUBLIC: &str = "https://placet.example.com";
    let app = TestApp::start_with(|config| config.public_url = Some(PUBLIC.parse().unwrap())).await;
    let link = link(&app, PUBLIC).await.replace(&format!("{PUBLIC}/"), &app.base);
    let mut person = Person::new(PUBLIC);
    let page = person.open(&link).await;
    let (pair, attributes) = page.set_cookie().unwrap().split_once("; ").unwrap();
    assert!(pair.starts_with("__Host-a="), "{pair}");
    assert_eq!(sorted(attributes), ["HttpOnly", "Path=/", "SameSite=Lax", "Secure"]);
    assert!(page.html.contains("This page is from <b>placet.example.com</b>"), "never what the request calls itself");

    // A cookie without the prefix may come from a neighbouring host, so it counts for nothing.
    let mut neighbour = Person::new(PUBLIC);
    neighbour.cookie = Some(pair.replace("__Host-", ""));
    assert_eq!(neighbour.post(&link, &[("nonce", &page.nonce()), ("value", "mine")]).await.status, 403);
    for origin in ["http://placet.example.com", "https://placet.example.com:8443", app.base.trim_end_matches('/')] {
        let request = person.bare_form(&link, &[("nonce", &page.nonce()), ("value", "mine")]).header("origin", origin);
        let refused = person.send(request).await;
        assert_eq!((refused.status, refused.has_form()), (403, false), "{origin}");
    }
    for (name, status, page) in every_page(&app, &mut person, &link).await {
        assert_eq!(page.status, status, "{name}");
        assert_closed_in(name, &page);
        assert_eq!(page.header("strict-transport-security"), "max-age=31536000", "{name}");
    }
    app.finish().await;
}
