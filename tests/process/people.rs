//! `placet people` and `placet groups`: the people who may log in, and their groups, beside a running server.

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
        (&["add", "ADA@example.com", "--role", "admin"], "to give another role, change the role of that person"),
        (&["add", "ada@", "--role", "auditor"], "address must be one plain e-mail address"),
        (&["add", "bob@example.com", "--role", "agent"], "role must be auditor, operator or admin"),
        (&["add", "bob@example.com", "--role", "root"], "expected auditor, operator or admin"),
        (&["add", "bob@example.com"], "--role"),
        (&["change", "bob@example.com", "--role", "admin"], "bob@example.com is not listed; placet people list"),
        (&["change", "ada@example.com", "--role", "agent"], "role must be auditor, operator or admin"),
        (&["change", "ada@example.com"], "--role"),
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
    let changed = site.run(people(&["change", "Ada@example.com", "--role", "operator"])).await;
    assert!(changed.succeeded().contains("ada@example.com has the role operator now"), "{changed:?}");
    assert_eq!(site.run(people(&["passkeys"])).await.succeeded().trim(), "[]");
    let reset = site.run(people(&["reset-passkeys", "Ada@example.com"])).await;
    assert!(reset.succeeded().contains("ada@example.com had no passkeys"), "{reset:?}");
    let removed = site.run(people(&["remove", "ada@example.com"])).await;
    assert!(removed.succeeded().contains("Removed ada@example.com"), "{removed:?}");
    assert_eq!(site.run(people(&["list"])).await.succeeded(), "");
}

/// A group decides later who may answer, so a mistyped name or address must not pass as one that is known.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn groups_are_set_listed_and_removed_in_clear_words() {
    let site = Site::development();
    let _server = site.serve().await;
    let groups = |more: &[&str]| site.command([&["groups"], more].concat());
    for address in ["ada@example.com", "bob@example.com"] {
        site.run(site.command(["people", "add", address, "--role", "operator"])).await.succeeded();
    }
    assert_eq!(site.run(groups(&["list"])).await.succeeded(), "");
    let set = site.run(groups(&["set", "finance", "Bob@example.com", "ada@example.com"])).await;
    let words = "The group finance has these members now: ada@example.com, bob@example.com.";
    assert!(set.succeeded().contains(words), "{set:?}");
    for (arguments, words) in [
        (&["set", "Finance", "ada@example.com"][..], "group must be 1 to 64 small letters, digits and hyphens"),
        (&["set", "finance", "ada@example.com", "eve@example.com"], "members[1] eve@example.com is no listed person"),
        (&["set", "finance", "ada@example.com", "ADA@example.com"], "members[1] ada@example.com is named twice"),
        (&["set", "finance", "ada"], "members[0] must be one plain e-mail address"),
        (&["set", "finance"], "<ADDRESS>"),
        (&["remove", "board"], "there is no group board; placet groups list shows all"),
        (&["remove", "Board"], "group must be 1 to 64 small letters, digits and hyphens"),
    ] {
        let refused = site.run(groups(arguments)).await;
        assert!(!refused.status.success() && refused.stderr.contains(words), "{arguments:?}: {refused:?}");
    }
    assert_eq!(site.run(groups(&["list"])).await.succeeded(), "finance  ada@example.com, bob@example.com\n");
    let people = site.run(site.command(["people", "list"])).await;
    assert!(people.succeeded().lines().all(|line| line.ends_with("not confirmed  groups finance")), "{people:?}");
    site.run(site.command(["people", "remove", "bob@example.com"])).await.succeeded();
    let json = site.run(groups(&["list", "--json"])).await;
    let finance: Value = serde_json::from_str(json.succeeded().trim()).unwrap();
    assert_eq!(finance, json!({"name": "finance", "members": ["ada@example.com"], "managed": false}));
    site.run(site.command(["people", "remove", "ada@example.com"])).await.succeeded();
    assert_eq!(site.run(groups(&["list"])).await.succeeded(), "finance  no members\n");
    let removed = site.run(groups(&["remove", "finance"])).await;
    assert!(removed.succeeded().contains("Removed the group finance; its members stay listed."), "{removed:?}");
    assert_eq!(site.run(groups(&["list"])).await.succeeded(), "");
}

/// In the wrong folder, an empty list would look like a server that no person may look at.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_makes_no_database() {
    let site = Site::development();
    for arguments in [
        &["people", "list"][..],
        &["people", "change", "ada@example.com", "--role", "admin"],
        &["people", "remove", "ada@example.com"],
        &["groups", "list"],
        &["groups", "set", "finance", "ada@example.com"],
        &["groups", "remove", "finance"],
    ] {
        site.run(site.command(arguments)).await.refused(&["there is no database at"]);
    }
    assert!(!site.database().exists());
}
