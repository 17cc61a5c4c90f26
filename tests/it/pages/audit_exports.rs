//! The exports of searches on the audit page: each says what it has, and has no more.

use domain::people::principal::Role;
use harness::on_each_store;
use harness::person::Page;
use serde_json::json;

use super::audit::{auditor, open};

const EXPORTS: &str = "value=\"jsonl\"";

/// The hidden fields of the form of the export, apart from its nonce.
fn fields(page: &Page) -> Vec<(String, String)> {
    let Some((_, form)) = page.html.split_once("action=\"/audit/export\"") else { return Vec::new() };
    let form = form.split("</form>").next().unwrap_or_default();
    let inputs = form.split("<input type=\"hidden\" name=\"").skip(1).filter_map(|input| input.split_once('"'));
    let read = |(name, rest): (&str, &str)| {
        let value = rest.split('"').nth(1).unwrap_or_default();
        (name.to_owned(), value.to_owned())
    };
    inputs.map(read).filter(|(name, _)| name != "nonce").collect()
}

fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

on_each_store! {
    /// A search that an export cannot follow must not lead to an export of everything.
    async fn a_search_that_no_export_can_follow_has_none(app: &mut TestApp) {
        app.ask(json!({})).await;
        let mut ada = auditor(app).await;
        for outcome in ["waiting", "withdrawn", "replaced", "not_answered"] {
            let page = open(app, &mut ada, &format!("?outcome={outcome}")).await;
            assert!(page.status == 200 && page.html.contains("An export cannot select by this outcome"), "{outcome}: {}", page.html);
            assert!(!page.html.contains(EXPORTS), "{outcome}: {}", page.html);
        }
        for query in ["?from=2026-13-01", "?outcome=foo", "?intent=7&agent=bot"] {
            let page = open(app, &mut ada, query).await;
            assert!(page.status == 422 && page.html.contains("it has no export"), "{query}: {}", page.html);
            assert!(!page.html.contains(EXPORTS), "{query}: {}", page.html);
        }
    }

    /// The page says which events its button exports, and the form has the fields for them.
    async fn an_export_of_a_search_says_what_it_has(app: &mut TestApp) {
        app.ask(json!({})).await;
        let mut ada = auditor(app).await;
        for query in ["", "?words=refund"] {
            let page = open(app, &mut ada, query).await;
            assert!(page.html.contains("The whole log, because the search names no day"), "{query}: {}", page.html);
            assert!(page.html.contains(EXPORTS) && fields(&page).is_empty(), "{query}: {}", page.html);
        }
        for (query, expected) in [
            ("?outcome=answered&agent=bot", vec![pair("agent", "bot"), pair("outcome", "answered")]),
            ("?outcome=not_reached", vec![pair("outcome", "undeliverable")]),
            ("?from=2026-11-24&to=9999-12-31", vec![pair("from", "2026-11-24T00:00:00.000000Z")]),
        ] {
            let page = open(app, &mut ada, query).await;
            assert!(page.html.contains("An export selects events, not questions"), "{query}: {}", page.html);
            assert_eq!(fields(&page), expected, "{query}");
        }
    }

    /// A refusal names the field and its rule, and nothing is recorded as exported.
    async fn a_refused_export_names_the_field(app: &mut TestApp) {
        let mut ada = auditor(app).await;
        let nonce = open(app, &mut ada, "").await.nonce();
        let url = format!("{}audit/export", app.base);
        for (field, value, words) in [
            ("to", "+10000-01-01T00:00:00.000000Z", "a time in the years 1 to 9999"),
            ("agent", "", "must not be empty"),
            ("colour", "red", "is no parameter"),
        ] {
            let refused = ada.post(&url, &[("nonce", &nonce), ("format", "jsonl"), (field, value)]).await;
            assert!(refused.status == 422 && refused.html.contains(words), "{field}: {}", refused.html);
            assert!(refused.html.contains(&format!("<code>{field}</code>")), "{field}: {}", refused.html);
        }
        let inverted = [("from", "2026-11-25T00:00:00Z"), ("to", "2026-11-24T00:00:00Z")];
        let refused = ada.post(&url, &[("nonce", &nonce), ("format", "jsonl"), inverted[0], inverted[1]]).await;
        assert!(refused.status == 422 && refused.html.contains("<code>to</code> must be later"), "{}", refused.html);
        let events = app.api(Role::Auditor).get("api/v1/server/events?limit=1000").await.ok();
        assert!(events.as_array().is_some_and(|events| events.iter().all(|event| event["event_type"] != "log.exported")), "{events}");
    }
}
