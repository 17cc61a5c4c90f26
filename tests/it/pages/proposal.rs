//! Editing a proposed action before approving it: over HTTP and in a browser, with scripts and without.

use harness::app::TestApp;
use harness::browser::{Browser, BrowserOptions};
use harness::{on_each_store, on_one_store};
use serde_json::{Value, json};

use super::inbox::enter;
use crate::answering::proposal::{paying, payment, proposing};
use crate::pages::looks::{fits, looks};
use crate::people::assignees::{directory, list, mails};
use crate::people::quorums;

/// Asks, and returns the id of the question and the link in its mail.
async fn asked(app: &TestApp, question: Value) -> (String, String) {
    let (_, id) = app.agent().ask(question).await;
    app.settle().await;
    (id, app.next_link().await)
}

/// The value of a hidden input.
fn hidden(html: &str, name: &str) -> String {
    let from = html.find(&format!("name=\"{name}\" value=\"")).map(|at| at + name.len() + 15).expect("the input is there");
    html[from..].split('"').next().unwrap_or_default().to_owned()
}

/// The form of the page with these texts, and the value of a button.
fn typed<'a>(nonce: &'a str, digests: &'a (String, String), more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let texts = [
        ("field./amount", "2500"),
        ("field./purpose", "Invoice 7"),
        ("field./to/name", "ACME"),
        ("base./amount", "2500"),
        ("base./purpose", "Invoice 7"),
        ("base./to/name", "ACME"),
    ];
    let mut form: Vec<(&str, &str)> = vec![("nonce", nonce), ("based_on", &digests.0), ("shown", &digests.1)];
    form.extend(texts.into_iter().filter(|(name, _)| !more.iter().any(|(other, _)| other == name)));
    form.extend(more);
    form
}

on_each_store! {
    /// Without scripts an edit is shown once before it counts; then one more press approves it.
    async fn an_edit_is_shown_before_it_is_approved(app: &mut TestApp) {
        let (id, link) = asked(app, proposing()).await;
        let mut person = app.person();
        let page = person.open(&link).await;
        for part in ["The proposed action", "DE02 1203 0000", "name=\"field./amount\"", "value=\"2500\"", "id=\"changes\"", "Show my changes"] {
            assert!(page.html.contains(part), "{part} is missing in {}", page.html);
        }
        let (nonce, digests) = (page.nonce(), (hidden(&page.html, "based_on"), hidden(&page.html, "shown")));
        assert_eq!(digests.0, digests.1);
        let wrong = person.post(&link, &typed(&nonce, &digests, &[("field./amount", "6000"), ("value", "approve")])).await;
        assert_eq!(wrong.status, 422);
        assert!(wrong.html.contains("“<bdi>Amount</bdi>” must be at most 5000") && wrong.html.contains("value=\"6000\""), "{}", wrong.html);
        let look = person.post(&link, &typed(&nonce, &digests, &[("field./amount", "2400"), ("look", "changes")])).await;
        assert_eq!(look.status, 422);
        let unseen = person.post(&link, &typed(&nonce, &digests, &[("field./amount", "2400"), ("value", "approve")])).await;
        assert_eq!(unseen.status, 422);
        for page in [look, unseen] {
            for part in ["Look at your changes", "2500</del>", "2400</ins>", "value=\"2400\""] {
                assert!(page.html.contains(part), "{part} is missing in {}", page.html);
            }
            assert_ne!(hidden(&page.html, "shown"), digests.1);
        }
        assert_eq!(app.agent().suspension(&id).await["resolution"], json!(null));
        let page = person.post(&link, &typed(&nonce, &digests, &[("field./amount", "2400"), ("value", "approve")])).await;
        let digests = (hidden(&page.html, "based_on"), hidden(&page.html, "shown"));
        let approved = person.post(&link, &typed(&nonce, &digests, &[("field./amount", "2400"), ("value", "approve")])).await;
        assert_eq!(approved.status, 303, "{}", approved.html);
        let record = app.agent().suspension(&id).await;
        assert_eq!((&record["proposal"], &record["original_proposal"]), (&paying(2400), &payment()));
    }

    /// An edit counts only with the text from which it began. A form that lacks that is refused at the field, and nothing is left out in
    /// silence; a form without any of the fields approves the action as it is.
    async fn an_edit_that_does_not_say_from_which_text_it_began_is_refused(app: &mut TestApp) {
        let (id, link) = asked(app, proposing()).await;
        let mut person = app.person();
        let page = person.open(&link).await;
        let (nonce, based_on) = (page.nonce(), hidden(&page.html, "based_on"));
        let sent = |more: &[(&'static str, &'static str)], has_digest: bool| {
            let mut form = vec![("nonce", nonce.clone()), ("value", "approve".to_owned()), ("shown", "live".to_owned())];
            form.extend(has_digest.then(|| ("based_on", based_on.clone())));
            form.extend(more.iter().map(|(name, text)| (*name, (*text).to_owned())));
            form
        };
        let edit = ("field./amount", "2400");
        for (form, label) in [
            (sent(&[edit], false), "“<bdi>Amount</bdi>” was edited"),
            (sent(&[edit, ("base./amount", "2500")], false), "“<bdi>Amount</bdi>” was edited"),
            (sent(&[edit], true), "“<bdi>Amount</bdi>” was edited"),
            (sent(&[edit, ("base./amount", "2400")], true), "“<bdi>Amount</bdi>” was edited"),
            (sent(&[("field./to/iban", "DE99")], true), "“<bdi>/to/iban</bdi>” may not be edited"),
        ] {
            let form: Vec<(&str, &str)> = form.iter().map(|(name, text)| (*name, &**text)).collect();
            let refused = person.post(&link, &form).await;
            assert_eq!(refused.status, 422, "{form:?}");
            assert!(refused.html.contains(label), "{form:?}: {}", refused.html);
            let is_left = !form.contains(&edit) || form.contains(&("base./amount", "2400"));
            assert!(is_left || refused.html.contains("value=\"2400\""), "what was typed stays: {}", refused.html);
        }
        assert_eq!(app.agent().suspension(&id).await["resolution"], json!(null));
        let approved = person.post(&link, &[("nonce", &nonce), ("value", "approve")]).await;
        assert_eq!(approved.status, 303, "{}", approved.html);
        assert_eq!(app.agent().suspension(&id).await["proposal"], payment());
    }

    /// A form that was left as it was approves the action as it is; a no drops what was typed.
    async fn what_was_left_as_it_was_is_approved_as_it_is(app: &mut TestApp) {
        for (value, more) in [("approve", vec![]), ("deny", vec![("field./amount", "1")])] {
            let (id, link) = asked(app, proposing()).await;
            let mut person = app.person();
            let page = person.open(&link).await;
            let (nonce, digests) = (page.nonce(), (hidden(&page.html, "based_on"), hidden(&page.html, "shown")));
            let more: Vec<_> = more.into_iter().chain([("value", value)]).collect();
            assert_eq!(person.post(&link, &typed(&nonce, &digests, &more)).await.status, 303);
            let record = app.agent().suspension(&id).await;
            assert_eq!((&record["response"], &record["proposal"]), (&json!(value), &payment()));
        }
    }

    /// Afterwards the page and the audit record show the action as it was approved, say that it was edited, and call its members what the
    /// form called them; an action that was refused is called approved nowhere.
    async fn an_edited_action_is_shown_as_it_was_approved(app: &mut TestApp) {
        list(app, "dan@example.com", "auditor").await;
        let mut dan = enter(app, "dan@example.com").await;
        for (value, is_edited) in [("approve", true), ("deny", false)] {
            let (intent, id) = app.agent().ask(proposing()).await;
            app.settle().await;
            let link = app.next_link().await;
            let edit = if is_edited { json!({"proposal": paying(2400)}) } else { json!({}) };
            let mut body = json!({"suspension_id": id, "value": value});
            body.as_object_mut().unwrap().extend(edit.as_object().unwrap().clone());
            app.operator().post(&format!("api/v1/intents/{intent}/suspend/respond"), body).await.ok();
            let outcome = app.person().open(&link).await.html;
            let record = dan.open(&format!("{}audit/{intent}", app.base)).await.html;
            for (page, html) in [("outcome", &outcome), ("record", &record)] {
                for words in ["The action as it was approved", "It was edited before it was approved.", "What was changed", ">2400</div>"] {
                    assert_eq!(html.contains(words), is_edited, "{page}: {words}: {html}");
                }
            }
            for words in ["dir=\"auto\">Recipient</th>", "DE02 1203 0000", "The proposed action"] {
                assert!(record.contains(words), "{words}: {record}");
            }
        }
    }

    /// A co-approver edited the action while the page was open: the page comes back with what changed, and keeps what was typed.
    async fn a_stale_edit_comes_back_with_what_changed(app: &mut TestApp) {
        directory(app).await;
        let (_, id) = quorums::asked(app, quorums::two(), proposing()).await;
        let links = mails(app).await;
        let [mut ada, mut bob] = [app.person(), app.person()];
        let (first, second) = (&links[0].1, &links[1].1);
        let [page, other] = [ada.open(first).await, bob.open(second).await];
        let (nonce, digests) = (page.nonce(), (hidden(&page.html, "based_on"), "live".to_owned()));
        let edit = typed(&nonce, &digests, &[("field./amount", "2400"), ("value", "approve")]);
        assert_eq!(ada.post(first, &edit).await.status, 303);
        let nonce = other.nonce();
        let stale = bob.post(second, &typed(&nonce, &digests, &[("field./purpose", "Part of invoice 7"), ("value", "approve")])).await;
        assert_eq!(stale.status, 412, "{}", stale.html);
        for part in ["was edited while this page was open", "ada@example.com", "2400</ins>", "value=\"2400\"", "value=\"Part of invoice 7\""] {
            assert!(stale.html.contains(part), "{part} is missing in {}", stale.html);
        }
        assert_eq!(app.agent().suspension(&id).await["resolution"], json!(null));
        let page = bob.open(second).await;
        let (nonce, digests) = (page.nonce(), (hidden(&page.html, "based_on"), hidden(&page.html, "shown")));
        let base = [("field./amount", "2400"), ("base./amount", "2400"), ("value", "approve")];
        let agreed = bob.post(second, &typed(&nonce, &digests, &base)).await;
        assert_eq!(agreed.status, 303, "{}", agreed.html);
        let record = app.agent().suspension(&id).await;
        assert_eq!((&record["resolution"], &record["proposal"]), (&json!("responded"), &paying(2400)));
    }

    /// Two people edit one field. The page of the second shows what the first made of it, under that name, and keeps the own text apart.
    async fn a_stale_edit_of_the_same_field_shows_the_edit_of_the_other(app: &mut TestApp) {
        directory(app).await;
        let (intent, id) = quorums::asked(app, quorums::two(), proposing()).await;
        let link = mails(app).await[1].1.clone();
        let mut bob = app.person();
        let page = bob.open(&link).await;
        assert!(!page.html.contains("id=\"edits\""), "no person has edited it: {}", page.html);
        let (nonce, digests) = (page.nonce(), (hidden(&page.html, "based_on"), "live".to_owned()));
        let [ada, ..] = quorums::keys(app).await;
        let edited = json!({"suspension_id": id, "value": "approve", "proposal": paying(2400)});
        ada.post(&format!("api/v1/intents/{intent}/suspend/respond"), edited).await.ok();
        let stale = bob.post(&link, &typed(&nonce, &digests, &[("field./amount", "2300"), ("value", "approve")])).await;
        assert_eq!(stale.status, 412, "{}", stale.html);
        let part = |id: &str| {
            let (_, part) = stale.html.split_once(&format!("id=\"{id}\"")).unwrap_or_else(|| panic!("no {id}: {}", stale.html));
            part.split_once("</div>").map_or(part, |(part, _)| part)
        };
        let (edits, own) = (part("edits"), part("changes"));
        assert!(edits.contains("What <bdi>ada@example.com</bdi> changed</h3>") && own.contains("What you change</h3>"), "{edits} {own}");
        let icon = |part: &str| part.split_once("<svg").and_then(|(_, rest)| rest.split_once("</svg>")).map(|(icon, _)| icon.to_owned());
        assert!(icon(edits).is_some() && icon(edits) != icon(own), "{edits} {own}");
        let original = "This is what the agent proposed at first. A person has edited it since.";
        assert!(stale.html.contains(original) && !page.html.contains(original), "{}", stale.html);
        assert!(edits.contains("ada@example.com") && edits.contains("2500</del>") && edits.contains("2400</ins>"), "{edits}");
        assert!(!edits.contains("2300"), "{edits}");
        assert!(own.contains("2400</del>") && own.contains("2300</ins>") && !own.contains("ada@example.com"), "{own}");
        assert!(stale.html.contains("name=\"field./amount\"") && stale.html.contains("value=\"2300\""), "{}", stale.html);
        assert!(stale.html.contains("name=\"base./amount\" value=\"2400\""), "the own edit now begins from the other one: {}", stale.html);
        assert_eq!(app.agent().suspension(&id).await["resolution"], json!(null));
    }

    /// An edit drops the approvals before it: the page names their people before it is sent.
    async fn a_page_says_whose_approval_an_edit_drops(app: &mut TestApp) {
        directory(app).await;
        let (intent, id) = quorums::asked(app, quorums::two(), proposing()).await;
        let links = mails(app).await;
        let [_, bob, _] = quorums::keys(app).await;
        let warning = "If you edit this, the approval of <b><bdi>bob@example.com</bdi></b> does not count any more.";
        let html = app.person().open(&links[0].1).await.html;
        assert!(!html.contains("If you edit this"), "{html}");
        bob.respond(intent, &id, "approve").await.ok();
        let html = app.person().open(&links[0].1).await.html;
        assert!(html.contains(warning), "{html}");
        let html = app.person().open(&links[1].1).await.html;
        assert!(!html.contains("If you edit this"), "the own approval is given anew with an edit: {html}");
        quorums::take_back(&bob, &id).await.ok();
        let edited = json!({"suspension_id": id, "value": "approve", "proposal": paying(2400)});
        bob.post(&format!("api/v1/intents/{intent}/suspend/respond"), edited).await.ok();
        let html = app.person().open(&links[0].1).await.html;
        assert!(html.contains("that approval does not count any more") && !html.contains("If you edit this"), "{html}");
        let html = app.person().open(&links[1].1).await.html;
        assert!(html.contains("What you changed before</h3>") && !html.contains("</bdi> changed</h3>"), "the own edit: {html}");
    }

    /// The action, its fields and the edits are text of others. None of it becomes markup.
    async fn hostile_text_in_an_action_stays_text(app: &mut TestApp) {
        let hostile = "</ins></form><script>alert(1)</script>\"' {{ 7*7 }} https://evil.example/x";
        let unseen = format!("{hostile}\u{202e}\u{200b}\u{0}");
        let action = json!({"a": hostile, hostile: unseen, "deep": {"x": {"y": unseen}}});
        let editable = json!({"type": "object", "title": hostile, "properties": {"a": {"type": "string", "title": hostile, "description": hostile}}});
        let (_, link) = asked(app, json!({"proposal": action, "editable": editable})).await;
        let mut person = app.person();
        let page = person.open(&link).await;
        let (nonce, digests) = (page.nonce(), (hidden(&page.html, "based_on"), hidden(&page.html, "shown")));
        let form = [("nonce", &*nonce), ("based_on", &digests.0), ("shown", &digests.1), ("field./a", "<img src=x onerror=alert(2)>"), ("value", "approve")];
        let again = person.post(&link, &form).await;
        assert_eq!(again.status, 422);
        assert!(again.html.contains("&#60;img src=x onerror=alert(2)&#62;</ins>"), "{}", again.html);
        for page in [page, again] {
            for wrong in ["<script>alert", "<img src=x", "\u{202e}", "\u{200b}", "\u{0}", "href=\"https://evil.example"] {
                assert!(!page.html.contains(wrong), "{wrong} in {}", page.html);
            }
        }
    }
}

on_one_store! {
    /// Edit with diff: the changes are shown as they are typed, or without scripts before they count, and the agent gets the final action.
    async fn an_action_is_edited_in_a_browser(app: &mut TestApp) {
        for (width, javascript) in [(390, true), (1280, true), (390, false), (1280, false)] {
            let (id, link) = asked(app, proposing()).await;
            let browser = Browser::start(BrowserOptions { width, height: 800, dark: false, javascript }).await;
            browser.open(&link).await;
            assert_eq!(browser.evaluate("document.getElementById('changes').hidden").await, true);
            browser.evaluate("document.getElementById('f0').value = ''").await;
            // Enter, which is the Go key of a phone, decides nothing.
            browser.type_into("#f0", "2400\u{E007}").await;
            assert_eq!(browser.evaluate("document.getElementById('f0').value").await, "2400");
            assert_eq!(app.agent().suspension(&id).await["resolution"], json!(null));
            if !javascript {
                browser.press("button[name=look]").await;
                assert!(browser.text().await.contains("Look at your changes"));
            }
            let changes = "[...document.querySelectorAll('#changes li')].filter((row) => !row.hidden).map((row) => row.querySelector('del').textContent + ' ' + row.querySelector('ins').textContent)";
            assert_eq!(browser.evaluate(changes).await, json!(["2500 2400"]));
            browser.press("button[value=approve]").await;
            assert_eq!(browser.find_all_text("h1").await, ["Your answer was recorded"], "{}", browser.text().await);
            let approved = browser.find_all_text("#approved").await.concat();
            assert!(approved.contains("2400") && approved.contains("2500"), "the page says what was approved: {approved}");
            let record = app.agent().suspension(&id).await;
            assert_eq!((&record["proposal"], &record["original_proposal"]), (&paying(2400), &payment()));
            let errors = browser.console_errors().await;
            assert!(errors.iter().all(|error| error.contains("status of 422")), "{errors:?}");
        }
    }

    /// The same in a browser, with scripts and without: the text of another person stands under that name, and the own one in its field.
    async fn a_stale_edit_is_compared_in_a_browser(app: &mut TestApp) {
        directory(app).await;
        let [ada, ..] = quorums::keys(app).await;
        for javascript in [true, false] {
            let (intent, id) = quorums::asked(app, quorums::two(), proposing()).await;
            let link = mails(app).await[1].1.clone();
            let browser = Browser::start(BrowserOptions { width: 390, height: 800, dark: false, javascript }).await;
            browser.open(&link).await;
            browser.evaluate("document.getElementById('f0').value = ''").await;
            browser.type_into("#f0", "2300").await;
            let edited = json!({"suspension_id": id, "value": "approve", "proposal": paying(2400)});
            ada.post(&format!("api/v1/intents/{intent}/suspend/respond"), edited).await.ok();
            browser.press("button[value=approve]").await;
            assert!(browser.text().await.contains("was edited while this page was open"), "{}", browser.text().await);
            let edits = browser.find_all_text("#edits").await.concat();
            assert!(edits.contains("ada@example.com") && edits.contains("2400") && !edits.contains("2300"), "{edits}");
            let own = "[...document.querySelectorAll('#changes li')].filter((row) => !row.hidden).map((row) => row.querySelector('del').textContent + ' ' + row.querySelector('ins').textContent)";
            assert_eq!(browser.evaluate(own).await, json!(["2400 2300"]));
            assert_eq!(browser.evaluate("document.getElementById('f0').value").await, "2300");
        }
    }

    async fn a_proposed_action_fits_every_width_and_breaks_no_rule_of_accessibility(app: &mut TestApp) {
        let (_, link) = asked(app, proposing()).await;
        for look in looks() {
            let browser = Browser::start(BrowserOptions { width: look.0, height: 800, dark: look.1, javascript: false }).await;
            browser.open(&link).await;
            fits(&browser, "proposal", look).await;
            browser.evaluate("document.getElementById('f0').value = ''").await;
            browser.type_into("#f0", "2400").await;
            browser.press("button[name=look]").await;
            fits(&browser, "proposal-changes", look).await;
        }
    }
}
