//! `/docs`: the page for people must match the description of the interface and load nothing from other sites.

#![expect(clippy::unwrap_used, reason = "these functions serve tests alone")]

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use domain::log::Hash;
use harness::browser::{Browser, BrowserOptions};
use harness::on_one_store;
use serde_json::Value;

use crate::pages::looks::{long_page_fits, looks};

/// The texts that follow each occurrence of `start`, up to `end`.
fn between<'a>(html: &'a str, start: &str, end: char) -> Vec<&'a str> {
    html.split(start).skip(1).map(|rest| rest.split(end).next().unwrap()).collect()
}

on_one_store! {
    /// The reference must have every operation and schema, because its readers take a missing one for one that does not exist.
    async fn every_operation_and_schema_has_its_place_and_a_call_to_copy(app: &mut TestApp) {
        let html = app.anonymous().get("docs").await.text;
        let description = app.anonymous().get("openapi.json").await.ok();
        let mut operations = 0;
        for (path, item) in description["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                let id = operation["operationId"].as_str().unwrap();
                let (_, rest) = html.split_once(&format!(r#"<h3 id="{id}">"#)).unwrap_or_else(|| panic!("{id} is missing"));
                let (article, _) = rest.split_once("</article>").unwrap();
                let method = method.to_uppercase();
                assert!(article.contains(&format!(r#"<b class="verb">{method}</b> <code>{path}</code>"#)), "{id}");
                assert!(article.contains(&format!("curl -X {method} &#34;{}", app.base)), "{id}");
                let open = operation.get("security").is_some_and(|ways| ways.as_array().unwrap().is_empty());
                assert_eq!((article.contains("no key needed"), article.contains("$PLACET_API_KEY")), (open, !open), "{id}");
                for status in operation["responses"].as_object().unwrap().keys() {
                    assert!(article.contains(&format!("<code>{status}</code>")), "{id} {status}");
                }
                for parameter in operation["parameters"].as_array().into_iter().flatten() {
                    assert!(article.contains(&format!("<code>{}</code>", parameter["name"].as_str().unwrap())), "{id}");
                }
                let example = operation["requestBody"]["content"]["application/json"].get("example");
                assert_eq!(example.is_some(), operation.get("requestBody").is_some(), "{id} has no example");
                operations += 1;
            }
        }
        assert!(operations > 20);
        assert!(!html.contains("-H &#34;X-API-Key") && !html.contains("-H \"X-API-Key"), "command lines are seen by others");
        for name in description["components"]["schemas"].as_object().unwrap().keys() {
            assert!(html.contains(&format!(r#"<h3 id="schema-{name}">"#)), "{name}");
        }
        for section in ["authentication", "errors", "parameters", "schemas"] {
            assert!(html.contains(&format!(r#"<h2 id="{section}">"#)), "{section}");
        }
    }

    /// The page loads at once because it is short and folded, and it is about the interface, not about the program from which it
    /// was generated.
    async fn the_reference_is_short_folded_and_about_http(app: &mut TestApp) {
        let html = app.anonymous().get("docs").await.text;
        let (articles, folded) = (html.matches("<article").count(), html.matches("<article><details><summary><h3 id=").count());
        assert!(articles == folded && articles > 80 && !html.contains("<details open"), "{folded} of {articles} are folded");
        assert!(html.len() < 1_400 * articles, "{} bytes in {articles} articles", html.len());
        let description = app.anonymous().get("openapi.json").await.text;
        let (_, words) = html.split_once("</style>").unwrap();
        for (name, text) in [("the page", words), ("the description", &description)] {
            for rust in ["::", "[`", "_MAX", "Option<", "Vec<"] {
                assert!(!text.contains(rust), "{rust} is in {name}: {}", text.split_once(rust).unwrap().1.get(..80).unwrap_or_default());
            }
        }
        assert!(!html.contains("PLACET_KEY"), "the variable is PLACET_API_KEY everywhere");
        // Texts that are common to all operations stand once. An operation lists only its own statuses and parameters.
        let (_, errors) = html.split_once("What each status means").unwrap();
        let (errors, _) = errors.split_once("</section>").unwrap();
        for status in [401, 403, 404, 408, 413, 415, 422, 429, 500, 503] {
            assert!(errors.contains(&format!("<dt><code>{status}</code></dt>")), "{status}: {errors}");
        }
    }

    /// A reference that loads something from another site would reveal its readers to that site, and would fail offline.
    async fn the_reference_is_one_closed_page_whose_links_lead_somewhere(app: &mut TestApp) {
        let reply = app.anonymous().get("docs").await;
        assert_eq!(reply.status, 200);
        let html = &reply.text;
        let (_, rest) = html.split_once("<style>").unwrap();
        let hash = BASE64_STANDARD.encode(Hash::of(rest.split_once("</style>").unwrap().0.as_bytes()).0);
        for (header, value) in [
            ("content-type", "text/html; charset=utf-8".to_owned()),
            ("referrer-policy", "same-origin".to_owned()),
            ("x-content-type-options", "nosniff".to_owned()),
            ("cross-origin-opener-policy", "same-origin".to_owned()),
            ("content-security-policy", format!(
                "default-src 'none'; style-src 'sha256-{hash}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
            )),
        ] {
            assert_eq!(reply.headers[header], value, "{header}");
        }
        assert!(!html.contains("<script") && !html.contains(" style=") && !html.contains(" src=") && !html.contains("url("));
        let anchors = between(html, " id=\"", '"');
        for link in between(html, "href=\"", '"') {
            let inside = link.strip_prefix('#').is_some_and(|anchor| anchors.contains(&anchor));
            assert!(inside || link == "/openapi.json", "{link} leads nowhere, or out");
        }
        let unique: std::collections::BTreeSet<&&str> = anchors.iter().collect();
        assert_eq!(unique.len(), anchors.len(), "an anchor is there twice");
        for url in between(html, "http://", '"') {
            assert!(format!("http://{url}").starts_with(&app.base), "{url}");
        }
        // An example mentions the address of an endpoint. The page only shows it and loads nothing from there.
        assert!(!html.replace("https://hooks.example.com/placet", "").contains("https://"));
    }

    /// The reference is readable on a phone, at 400 % zoom and in dark mode: one column, no sideways scrolling, headings in
    /// order.
    async fn the_reference_fits_every_width(app: &mut TestApp) {
        for (width, dark) in looks() {
            let browser = Browser::start(BrowserOptions { width, height: 800, dark, javascript: false }).await;
            browser.open(&format!("{}docs", app.base)).await;
            long_page_fits(&browser, "docs", (width, dark)).await;
            let headings = browser.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(h => Number(h.tagName[1]))").await;
            let levels: Vec<u64> = headings.as_array().unwrap().iter().filter_map(Value::as_u64).collect();
            assert_eq!((levels[0], levels.iter().filter(|level| **level == 1).count()), (1, 1));
            assert!(levels.len() > 60 && levels.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{levels:?}");
            assert_eq!(browser.console_errors().await, Vec::<String>::new());
        }
    }
}
