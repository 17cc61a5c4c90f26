//! Passkeys in a real browser with a virtual authenticator: registration, and an answer that one signs.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::base::passkey::{Assertion, KnownPasskey};
use domain::base::sealed::Hash;
use domain::people::principal::Role;
use domain::suspension::evidence::Evidence;
use harness::app::TestApp;
use harness::browser::{Browser, BrowserOptions};
use harness::on_each_store;
use proof::passkey::verify_known;
use serde_json::{Value, json};
use store::host::account;

use super::browser::shots;
use super::looks::{fits, looks, picture};
use crate::answering::proposal::{digest, paying, payment, proposing};
use crate::people::logins::{ADA, list};
use crate::people::passkeys::{ask, ask_for, at_home, recorded};

async fn browser(javascript: bool) -> Browser {
    Browser::start(BrowserOptions { width: 390, height: 800, dark: false, javascript }).await
}

/// Logs in with the browser, by the link in the mail.
async fn log_in(app: &TestApp, browser: &Browser) {
    browser.open(&format!("{}login", app.base)).await;
    browser.type_into("#address", ADA).await;
    browser.press("button.choice").await;
    app.settle().await;
    browser.open(&app.next_link().await).await;
    browser.press("button.choice").await;
}

/// A browser with an authenticator, in which a listed person has logged in and added a first passkey; and the authenticator's id.
async fn with_passkey(app: &mut TestApp) -> (Browser, String) {
    at_home(app).await;
    list(app, ADA, Role::Auditor).await;
    let browser = browser(true).await;
    let authenticator = browser.add_authenticator().await;
    log_in(app, &browser).await;
    browser.open(&format!("{}passkeys", app.base)).await;
    assert!(browser.text().await.contains("You have no passkey yet."));
    browser.press("form[action='/passkeys'] button").await;
    (browser, authenticator)
}

/// Looks at the present page at each width, and takes its pictures.
async fn look(browser: &Browser, name: &str) {
    for (width, dark) in looks() {
        browser.emulate(BrowserOptions { width, height: 800, dark, javascript: true }).await;
        fits(browser, name, (width, dark)).await;
    }
}

/// Holds the next passkey back until the script's `make()` is called, and says so in `isAsked`.
const HOLD: &str = "(() => {
    const create = navigator.credentials.create.bind(navigator.credentials);
    navigator.credentials.create = async (options) => {
        await new Promise((yes) => { window.make = yes; window.isAsked = true; });
        return create(options);
    };
})()";

async fn count(browser: &Browser) -> Value {
    browser.evaluate("document.querySelectorAll('tbody tr').length").await
}

/// Whether the answer in this event is signed by one of these passkeys.
fn is_signed(payload: &Value, known: &[KnownPasskey]) -> bool {
    let assertion: Assertion = serde_json::from_value(payload["assertion"].clone()).unwrap();
    let hash = |name: &str| Hash::parse(payload[name].as_str().unwrap()).unwrap();
    let proposed_digest = payload["proposed_digest"].as_str().map(|text| Hash::parse(text).unwrap());
    let evidence = Evidence { action_digest: hash("action_digest"), proposed_digest, presented_hash: hash("presented_hash") };
    let suspension = payload["suspension_id"].as_str().and_then(domain::base::ids::SuspensionId::parse).unwrap();
    let challenge = evidence.challenge(suspension, &payload["value"]).unwrap();
    verify_known(&assertion, &challenge, ADA, known) == Ok(true)
}

on_each_store! {
    /// A person logs in, adds a passkey, answers with it and removes it. The data that a real browser sends must fit ours.
    async fn a_person_adds_passkeys_and_answers_with_one(app: &mut TestApp) {
        let (browser, _) = with_passkey(app).await;
        assert_eq!(count(&browser).await, 1, "{}", browser.text().await);
        look(&browser, "passkeys").await;
        let known = app.store().known_passkeys(account::principal()).await.unwrap();

        let (intent, _, link) = ask(app, ADA).await;
        browser.open(&link).await;
        assert!(browser.text().await.contains("This question is answered with a passkey"));
        look(&browser, "open-passkey").await;
        browser.type_into("#comment", "signed").await;
        browser.press("button[value=yes]").await;
        assert_eq!(browser.find_all_text("h1").await, ["Your answer was recorded"], "{}", browser.text().await);
        let payload = recorded(app, &intent).await;
        assert_eq!((&payload["value"], &payload["metadata"]), (&json!("yes"), &json!({"comment": "signed"})));
        assert!(is_signed(&payload, &known));
        let mut other = payload.clone();
        other["value"] = json!("no");
        assert!(!is_signed(&other, &known));
        assert_eq!(browser.console_errors().await, [""; 0]);

        // An authenticator that holds a passkey of the person makes no second one. A removal is signed.
        browser.open(&format!("{}passkeys", app.base)).await;
        browser.click("form[action='/passkeys'] button").await;
        browser.evaluate("new Promise((yes) => setInterval(() => document.getElementById('unsigned').hidden || yes(), 50))").await;
        assert!(browser.text().await.contains("Your device was not asked, or did not sign."));
        look(&browser, "passkeys-unsigned").await;
        browser.open(&format!("{}passkeys", app.base)).await;
        browser.press("form[action='/passkeys/remove'] button").await;
        assert!(browser.text().await.contains("You have no passkey yet."), "{}", browser.text().await);
    }

    /// A person with a new device adds its passkey by a signature of the old one, and removes the old one by a signature of the new.
    async fn a_new_device_replaces_the_old_one(app: &mut TestApp) {
        let (browser, old) = with_passkey(app).await;
        let first = app.store().known_passkeys(account::principal()).await.unwrap();
        browser.evaluate(HOLD).await;
        browser.click("form[action='/passkeys'] button").await;
        browser.evaluate("new Promise((yes) => setInterval(() => window.isAsked && yes(), 20))").await;
        browser.remove_authenticator(&old).await;
        browser.add_authenticator().await;
        browser.leave_by("window.make()").await;
        assert_eq!(count(&browser).await, 2, "{}", browser.text().await);
        look(&browser, "passkeys-two").await;

        let (intent, _, link) = ask(app, ADA).await;
        browser.open(&link).await;
        browser.press("button[value=yes]").await;
        let payload = recorded(app, &intent).await;
        let both = app.store().known_passkeys(account::principal()).await.unwrap();
        assert!(is_signed(&payload, &both) && !is_signed(&payload, &first), "{payload}");

        browser.open(&format!("{}passkeys", app.base)).await;
        browser.press(&format!("form:has(input[name=removed][value='{}']) button", first[0].credential_id)).await;
        assert_eq!(count(&browser).await, 1, "{}", browser.text().await);
        let left = app.store().known_passkeys(account::principal()).await.unwrap();
        assert!(left.iter().all(|known| known.credential_id != first[0].credential_id), "{left:?}");
    }

    /// The value that is signed is the value that is recorded, whatever the kind of answer. The export is left for programs of other
    /// authors, see `tests/passkeys/run`.
    async fn each_kind_of_answer_is_signed(app: &mut TestApp) {
        let (browser, _) = with_passkey(app).await;
        let known = app.store().known_passkeys(account::principal()).await.unwrap();
        let fields = json!([{"name": "cap", "type": "number"}, {"name": "cc", "type": "boolean"}]);
        let mut with_proposal = proposing();
        (with_proposal["response_type"], with_proposal["choices"]) = (json!("confirm"), json!([]));
        for (question, typed, press, value) in [
            (json!({"question": "Pay?", "response_type": "confirm"}), None, "button[value=no]", json!("no")),
            (json!({"question": "Why?", "response_type": "text"}), Some(("#answer", "Höchstens 50 €, „bar“.")), ".send button", json!("Höchstens 50 €, „bar“.")),
            (json!({"question": "How?", "response_type": "form", "context": {"fields": fields}}), Some(("#f0", "2500.5")), ".send button", json!({"cap": 2500.5, "cc": false})),
            (with_proposal, Some(("#f0", "2400")), "button[value=yes]", json!("yes")),
        ] {
            let (intent, _, link) = ask_for(app, ADA, question).await;
            browser.open(&link).await;
            if let Some((css, text)) = typed {
                browser.evaluate(&format!("document.querySelector('{css}').value = ''")).await;
                browser.type_into(css, text).await;
            }
            browser.press(press).await;
            let payload = recorded(app, &intent).await;
            assert_eq!(payload["value"], value);
            assert!(is_signed(&payload, &known), "{payload}");
            if payload["proposal"].is_object() {
                // The passkey signs after the edit: the digest of the final action, and not of the one that was proposed.
                assert_eq!((&payload["proposal"], &payload["proposed_digest"]), (&paying(2400), &json!(digest(&payment()))));
                assert_eq!(payload["action_digest"], json!(digest(&paying(2400))));
                let mut original = payload.clone();
                original["action_digest"] = payload["proposed_digest"].clone();
                assert!(!is_signed(&original, &known), "{original}");
            }
        }
        app.checkpoints().turn().await.unwrap();
        let export = app.api(Role::Auditor).get("api/v1/export").await;
        assert_eq!(export.status, 200);
        let folder = shots().join("passkeys");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("export.jsonl"), export.text).unwrap();
        std::fs::write(folder.join("passkeys.json"), serde_json::to_string(&known).unwrap()).unwrap();
    }

    /// Without scripts no passkey can be asked for. The page says so, and an answer that is sent all the same loses no text.
    async fn without_scripts_the_page_says_why_it_cannot_be_answered(app: &mut TestApp) {
        with_passkey(app).await;
        let (_, _, link) = ask(app, ADA).await;
        let browser = browser(false).await;
        browser.open(&link).await;
        assert!(browser.text().await.contains("Your browser does not run the scripts of this page"), "{}", browser.text().await);
        assert_eq!(browser.accessibility_violations().await, [""; 0]);
        browser.type_into("#comment", "typed").await;
        browser.press("button[value=yes]").await;
        assert!(browser.text().await.contains("No passkey signed this answer"), "{}", browser.text().await);
        assert_eq!(browser.evaluate("document.getElementById('comment').value.trim()").await, "typed");
        picture(&browser, "open-passkey-unsigned-390-light").await;
        assert_eq!(browser.accessibility_violations().await, [""; 0]);
    }
}
