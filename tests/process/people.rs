//! `placet people`: who may log in, beside a running server.

use harness::process::Site;
use serde_json::{Value, json};

/// The words must tell a typo from a person who is listed, because the login form must not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_are_added_listed_and_removed_in_clear_words() {
    let site = Site::development();
    let _server = site.serve().await;
    let people = |more: &[&str]| site.command([&["people"], more].concat());
    let added = site.run(people(&["add", "Ada@Example.com", "--role", "auditor"])).await;
    assert!(added.succeeded().contains("Added ada@example.com with the role auditor"), "{added:?}");
    for (arguments, words) in [
        (&["add", "ada@example.com", "--role", "auditor"][..], "listed already, with the role auditor"),
        (&["add", "ADA@example.com", "--role", "admin"], "to give another role, remove the person first"),
        (&["add", "ada@", "--role", "auditor"], "address must be one plain e-mail address"),
        (&["add", "bob@example.com", "--role", "agent"], "role must be auditor, operator or admin"),
        (&["add", "bob@example.com", "--role", "root"], "expected agent, operator"),
        (&["add", "bob@example.com"], "--role"),
        (&["remove", "bob@example.com"], "bob@example.com is not listed; placet people list"),
        (&["reset-passkeys", "bob@example.com"], "bob@example.com is not listed; placet people list"),
        (&["remove", "bob"], "address must be one plain e-mail address"),
    ] {
        let refused = site.run(people(arguments)).await;
        assert!(!refused.status.success() && refused.stderr.contains(words), "{arguments:?}: {refused:?}");
    }
    let listed = site.run(people(&["list"])).await;
    assert!(listed.succeeded().starts_with("ada@example.com  auditor") && listed.stdout.contains("not confirmed"), "{listed:?}");
    let json = site.run(people(&["list", "--json"])).await;
    let ada: Value = serde_json::from_str(json.succeeded().trim()).unwrap();
    assert_eq!(
        (&ada["address"], &ada["role"], &ada["confirmed_at"]),
        (&json!("ada@example.com"), &json!("auditor"), &json!(null))
    );
    assert_eq!(site.run(people(&["passkeys"])).await.succeeded().trim(), "[]");
    let reset = site.run(people(&["reset-passkeys", "Ada@example.com"])).await;
    assert!(reset.succeeded().contains("ada@example.com had no passkeys"), "{reset:?}");
    let removed = site.run(people(&["remove", "ada@example.com"])).await;
    assert!(removed.succeeded().contains("Removed ada@example.com"), "{removed:?}");
    assert_eq!(site.run(people(&["list"])).await.succeeded(), "");
}

/// In the wrong folder, an empty list would look like a server that no person may look at.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_makes_no_database() {
    let site = Site::development();
    for arguments in [&["people", "list"][..], &["people", "remove", "ada@example.com"]] {
        site.run(site.command(arguments)).await.refused(&["there is no database at"]);
    }
    assert!(!site.database().exists());
}
