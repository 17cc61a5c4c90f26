//! People with a real browser and scripts off: the pages that they see, the buttons that they press, and the answers that the
//! agent gets.

#![expect(clippy::unwrap_used, reason = "these functions serve tests alone")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use futures_util::future::join_all;
use harness::api::Api;
use harness::app::{OPERATOR, TestApp};
use harness::browser::{Browser, BrowserOptions, SHOTS};
use harness::smtp::Fault;
use harness::{on_each_store, on_one_store};
use placet::{Answer, Choice, Choices, Client, IntentId, Question, RequestInputError, Source, Style};
use placet_server::config::Mode;
use placet_server::edge::admission::Class;
use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::pages::looks::{fits, looks, picture};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Refund {
    Approve,
    Deny,
    Half,
}

impl Choices for Refund {
    fn choices() -> Vec<(Self, Choice)> {
        vec![
            (Self::Approve, Choice::new("approve", "Refund €412.00").description("To the card that paid").style(Style::Primary)),
            (Self::Deny, Choice::new("deny", "Do not refund").description("The case is closed").style(Style::Danger)),
            (Self::Half, Choice::new("half", "Refund half, €206.00")),
        ]
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Contract {
    cap: u32,
    law: String,
    starts: Option<String>,
    notes: Option<String>,
    copy: bool,
}

/// A browser that runs no script.
async fn browser(width: u32, dark: bool) -> Browser {
    Browser::start(BrowserOptions { width, height: 800, dark, javascript: false }).await
}

/// Asks in a task of its own, as an agent does.
fn asking<T: Send + 'static>(
    client: Client,
    intent: IntentId,
    question: Question<T>,
) -> JoinSet<Result<Answer<T>, RequestInputError>> {
    let mut task = JoinSet::new();
    task.spawn(async move { client.request_input(intent, question).await });
    task
}

/// The answer that the asking task got.
async fn got<T: 'static>(mut task: JoinSet<Result<Answer<T>, RequestInputError>>) -> Answer<T> {
    task.join_next().await.unwrap().unwrap().unwrap()
}

on_each_store! {
    /// The whole promise in one test: an agent waits, a person gets a mail, opens the link, presses, and the agent goes on with the
    /// person's answer as a value of its own type. Nothing on the way may need a script.
    async fn a_person_answers_in_a_browser_and_the_agent_gets_its_own_type(app: &mut TestApp) {
        let browser = browser(390, false).await;
        let intent = app.agent().active_intent().await;

        let question = Question::choice::<Refund>("Refund order 12345?").context("order", "12345").timeout_seconds(3600);
        let waiting = asking(app.client(), intent, question);
        let mail = app.carried().await;
        assert_eq!(mail.subject(), "[Placet] Refund order 12345?");
        browser.open(&mail.link(&app.base)).await;
        let text = browser.text().await;
        for shown in ["You answer as ops@example.com", "test-agent asks", "Refund order 12345?", "Refund €412.00", "1 h left"] {
            assert!(text.contains(shown), "{shown} is missing in {text}");
        }
        browser.press("button[value=half]").await;
        assert!(browser.text().await.contains("Your answer was recorded"));
        let answer = got(waiting).await;
        assert_eq!((answer.value, answer.choice_label.as_deref()), (Refund::Half, Some("Refund half, €206.00")));
        assert!(matches!(answer.source, Source::Human { by, .. } if by == OPERATOR));

        let question = Question::confirm("Deploy 4.18.0?").labels("Yes, deploy", "No, wait").timeout_seconds(600);
        let waiting = asking(app.client(), intent, question);
        browser.open(&app.carried().await.link(&app.base)).await;
        browser.type_into("#comment", "Not on a Friday").await;
        browser.press("button[value=no]").await;
        let answer = got(waiting).await;
        assert_eq!((answer.value, &answer.metadata["comment"]), (false, &json!("Not on a Friday")));

        let waiting = asking(app.client(), intent, Question::text("What shall we write?").timeout_seconds(600));
        browser.open(&app.carried().await.link(&app.base)).await;
        browser.type_into("#answer", "Liebe Frau Groß,\nes tut uns leid.").await;
        browser.press("button[type=submit]").await;
        assert_eq!(got(waiting).await.value, "Liebe Frau Groß,\nes tut uns leid.");

        let waiting = asking(app.client(), intent, contract());
        browser.open(&app.carried().await.link(&app.base)).await;
        browser.type_into("[name='field.cap']", "250000").await;
        browser.click("[name='field.law'] option[value=Norway]").await;
        browser.click("[name='field.copy']").await;
        browser.press("button[type=submit]").await;
        assert!(browser.text().await.contains("Your answer was recorded"), "{}", browser.text().await);
        let expected = Contract { cap: 250_000, law: "Norway".into(), starts: None, notes: None, copy: true };
        assert_eq!(got(waiting).await.value, expected);
        assert_eq!(browser.console_errors().await, [""; 0]);
    }
}

fn contract() -> Question<Contract> {
    let fields = json!([
        {"name": "cap", "label": "Liability cap", "type": "number", "description": "In euros, between 50,000 and 500,000"},
        {"name": "law", "label": "Governing law", "options": ["Germany", "Norway"]},
        {"name": "starts", "label": "First day", "type": "date", "required": false},
        {"name": "notes", "label": "Notes", "type": "textarea", "required": false},
        {"name": "copy", "label": "Send a copy to legal", "type": "boolean"},
    ]);
    Question::form::<Contract>("Which terms does the contract get?").context("fields", fields).timeout_seconds(86_400)
}

/// Pages by name, each with the element to press on it before the checks.
type Gallery = Vec<(&'static str, String, Option<&'static str>)>;

/// Asks a question on a new intent. Returns the intent, the suspension's id, and the links by recipient.
async fn asked(app: &TestApp, change: Value) -> (IntentId, String, BTreeMap<String, String>) {
    let agent = app.agent();
    let title = json!({"title": "Support automation", "status": "active"});
    let intent = agent.post("api/v1/intents", title).await.ok()["id"].as_str().unwrap().parse().unwrap();
    let asked = agent.suspend(intent, change).await.ok();
    app.settle().await;
    let mut links = BTreeMap::new();
    while app.smtp.has_unread() {
        let mail = app.smtp.next_mail().await;
        links.insert(mail.to[0].clone(), mail.link(&app.base));
    }
    (intent, asked["id"].as_str().unwrap().to_owned(), links)
}

async fn link(app: &TestApp, change: Value) -> String {
    let (intent, _, mut links) = asked(app, change).await;
    let events = app.agent().events(intent).await;
    links.remove(OPERATOR).unwrap_or_else(|| panic!("no mail came: {events:#?}"))
}

fn refund() -> Value {
    json!({
        "question": "Refund €412.00 to Marta Kowalska for order 10-88421?\nThe parcel was reported lost on 20 November and the carrier has confirmed it.",
        "choices": [
            {"value": "approve", "label": "Refund €412.00", "description": "The whole amount goes back to the card that paid.", "style": "primary"},
            {"value": "deny", "label": "Do not refund", "description": "The case is closed and the customer is told.", "style": "danger"},
            {"value": "partial_refund_of_one_half_of_it", "label": "Refund half, €206.00"},
        ],
        "context": {"order_id": "10-88421", "amount": 412.0, "customer": {"name": "Marta Kowalska", "since": "2019"},
            "carrier_note": "See https://carrier.example/track?id=1 for the log."},
        "timeout_seconds": 30 * 86_400,
    })
}

fn with(mut question: Value, more: Value) -> Value {
    let Value::Object(more) = more else { panic!("an object is expected") };
    question.as_object_mut().unwrap().extend(more);
    question
}

/// A question whose escalation ladder names other people at every second attempt.
fn climbing(max_attempts: u32) -> Value {
    let people = |attempt: u32| (0..5).map(|person| format!("duty.manager.{attempt}.{person}@example.com")).collect::<Vec<_>>();
    let rungs: Vec<Value> =
        (2..=max_attempts).step_by(2).map(|attempt| json!({"attempt": attempt, "notify_to": people(attempt)})).collect();
    let policy = json!({"max_attempts": max_attempts, "interval_seconds": 7 * 86_400, "escalation_ladder": rungs});
    with(refund(), json!({"timeout_seconds": 7 * 86_400, "retry_policy": policy}))
}

/// One page for each way in which a question can end.
async fn endings(app: &TestApp, agent: &Api) -> Gallery {
    let two = json!({"notify_to": [OPERATOR, "jonas@example.com"]});
    let mut pages = Gallery::new();
    let mine = link(app, refund()).await;
    app.person().answer(&mine, "approve").await;
    pages.push(("answered-by-you", mine, None));

    let (_, _, links) = asked(app, with(refund(), two)).await;
    let mut late = app.person();
    let nonce = late.open(&links[OPERATOR]).await.nonce();
    app.person().answer(&links["jonas@example.com"], "deny").await;
    app.advance(6).await;
    let posted = late.post(&links[OPERATOR], &[("nonce", &nonce), ("value", "approve")]).await;
    assert_eq!(posted.status, 303);
    pages.push(("answered-by-another", links[OPERATOR].clone(), None));
    pages.push(("yours-was-not-counted", format!("{}?tried", links[OPERATOR]), None));

    let (_, id, links) = asked(app, refund()).await;
    agent.post(&format!("api/v1/suspensions/{id}/cancel"), json!({"reason": "the customer found the parcel"})).await.ok();
    pages.push(("withdrawn", links[OPERATOR].clone(), None));

    let (intent, id, links) = asked(app, refund()).await;
    agent.suspend(intent, json!({"supersedes": id})).await.ok();
    app.settle().await;
    app.smtp.next_mail().await;
    pages.push(("superseded", links[OPERATOR].clone(), None));

    let hour = json!({"timeout_seconds": 3600});
    pages.push(("expired", link(app, with(refund(), hour.clone())).await, None));
    let fallback = json!({"fallback_policy": "complete_with_fallback", "fallback_value": "deny", "timeout_seconds": 3600});
    pages.push(("expired-with-fallback", link(app, with(refund(), fallback)).await, None));
    // Two tries: one that arrives without the server knowing, one that is refused for good.
    app.smtp.script(Fault::KeepThenDrop);
    pages.push(("undeliverable", link(app, with(refund(), hour)).await, None));
    app.smtp.script(Fault::RejectRecipient);
    app.advance(5).await;
    app.advance(3600).await;
    pages.push(("unknown", format!("{}a/plc_mistyped", app.base), None));
    pages
}

/// Saved copies of pages that refuse a request. The browser cannot open them itself: they answer requests that it does not send,
/// or a state of the server that has passed by then.
async fn refusals(app: &TestApp) -> Gallery {
    let written = link(app, json!({"response_type": "text", "choices": []})).await;
    let link = link(app, refund()).await;
    let mut person = app.person();
    let nonce = person.open(&link).await.nonce();
    let foreign = person.bare_form(&link, &[]).header("origin", "https://evil.example");
    let fields = [("nonce", nonce.as_str()), ("value", "maybe"), ("comment", "Ask the carrier first")];
    let mut pages = vec![
        ("foreign", person.send(foreign).await),
        ("no-choice", person.post(&link, &fields).await),
        ("too-old", person.post(&link, &[("nonce", "x"), ("value", "approve")]).await),
        ("unreadable", person.post(&link, &[("value", &"x".repeat(256 * 1024))]).await),
    ];
    let mut last = person.post(&link, &fields).await;
    while last.status != 429 {
        last = person.post(&link, &fields).await;
    }
    pages.push(("too-many-tries", last));
    pages.push(("no-method", person.send(person.request(Method::PUT, &link)).await));
    let nonce = person.open(&written).await.nonce();
    let letter =
        "Dear Ms Groß,\n\nthe carrier lost your parcel. We are sorry, and we pay you back what you paid for it.\n\nYours";
    let mut places = Vec::new();
    for _ in 0..app.limits().concurrent_requests {
        places.push(app.admission().enter(Class::Respond).await.unwrap());
    }
    let (mut reader, fields) = (person.clone(), [("nonce", nonce.as_str()), ("value", letter), ("comment", "Ask the carrier")]);
    let (shown, posted) = tokio::join!(reader.open(&written), person.post(&written, &fields));
    pages.extend([("cannot-show", shown), ("cannot-save", posted)]);
    drop(places);
    let served = pages.into_iter().map(|(name, page)| (name, saved(name, &page.html), None));
    served.collect()
}

/// Writes a page to a file and returns the file's address.
pub(crate) fn saved(name: &str, html: &str) -> String {
    let file = shots().join(format!("{name}.html"));
    std::fs::write(&file, html).unwrap();
    format!("file://{}", file.canonicalize().unwrap().display())
}

/// A question without a place where a line could break.
fn long_words() -> Value {
    let word = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft".repeat(3);
    json!({
        "question": format!("{word}?\n{word}"), "timeout_seconds": 600,
        "choices": [{"value": &word[..190], "label": &word[..190], "description": word}, {"value": "no", "label": "No"}],
        "context": {word.clone(): word, "list": [word, word], "deep": {"a": {"b": [word]}}},
        "fallback_policy": "complete_with_fallback", "fallback_value": "no",
    })
}

/// Asks the same person twice and then another, an hour apart.
fn ladder() -> Value {
    json!({
        "timeout_seconds": 3600,
        "retry_policy": {
            "max_attempts": 3, "interval_seconds": 3600,
            "escalation_ladder": [{"attempt": 3, "notify_to": "lead@example.com"}],
        },
    })
}

/// A form with a field of every kind.
fn contract_fields() -> Value {
    json!({
        "question": "Which terms does the contract get?", "response_type": "form", "choices": [], "timeout_seconds": 86_400,
        "context": {"fields": [
            {"name": "cap", "label": "Liability cap", "type": "number", "description": "In euros, between 50,000 and 500,000"},
            {"name": "law", "label": "Governing law", "options": ["Germany", "Norway"]},
            {"name": "starts", "label": "First day", "type": "date", "required": false},
            {"name": "notes", "label": "Notes", "type": "textarea", "required": false},
            {"name": "copy", "label": "Send a copy to legal", "type": "boolean", "description": "They keep it for ten years"},
        ], "clause": "7.2 Limitation of liability"},
    })
}

/// Asks for an approval on a new intent and returns the link in its mail.
async fn approval_link(app: &TestApp) -> String {
    let agent = app.agent();
    let intent = agent.active_intent().await;
    let approval = json!({
        "action": "Refund €412.00 to Marta Kowalska", "reason": "The parcel was reported lost on 20 November.",
        "context": {"order_id": "10-88421", "amount": 412.0},
    });
    agent.post(&format!("api/v1/intents/{intent}/approvals"), approval).await.ok();
    app.carried().await.link(&app.base)
}

/// One page for each form that an open question can have.
async fn open_questions(app: &TestApp) -> Gallery {
    let hostile = json!({
        "question": "</h1><script>alert(1)</script>\u{202e}Refund?\r\n\u{7}{{ 7*7 }} <a href=\"https://evil.example\">x</a>",
        "choices": [{"value": "approve", "label": "Deny \u{202e}"}, {"value": "deny", "label": "<img src=x onerror=alert(1)>"}],
        "context": {"<b>key</b>": "<iframe src=//evil.example>", "url": "https://evil.example/login"},
        "timeout_seconds": null,
    });
    let fields = contract_fields();
    let confirm =
        json!({"question": "Deploy 4.18.0 to production?", "response_type": "confirm", "choices": [], "timeout_seconds": 7200});
    let text =
        json!({"question": "What shall we write to Ms Groß?", "response_type": "text", "choices": [], "timeout_seconds": 7200});
    let free_form = json!({"response_type": "form", "choices": [], "context": {"schema": {"type": "object"}}});
    let (text, fields) = (link(app, text).await, link(app, fields).await);
    let clause = (1..=53).map(|line| format!("{line}. The carrier is liable for what it loses.")).collect::<Vec<_>>().join("\n");
    let long = link(app, with(refund(), json!({"context": {"proposed_text": clause, "amount": 412.0}}))).await;
    let long_text =
        json!({"question": "What shall we write?", "response_type": "text", "choices": [], "context": {"log": clause}});
    let (fine_print, plain) = (clause.replace("carrier", "bank"), json!({"value": "deny", "label": "Deny"}));
    let described = json!([{"value": "approve", "label": "Approve", "description": &fine_print[..1_900]}, plain]);
    let both = link(app, with(refund(), json!({"choices": described, "context": {"proposed_text": clause}}))).await;
    let explained = json!([{"name": "cap", "type": "number", "description": clause}, {"name": "copy", "type": "boolean"}]);
    let explained = link(app, with(contract_fields(), json!({"context": {"fields": explained}}))).await;
    vec![
        ("described", format!("{both}?show=everything"), None),
        ("explained", format!("{explained}?show=everything"), None),
        ("locked", long.clone(), None),
        ("everything", format!("{long}?show=everything"), None),
        ("unlocked", format!("{long}?show=everything&end=reached"), None),
        ("locked-text", link(app, long_text).await, None),
        ("choice", link(app, refund()).await, None),
        ("confirm", link(app, confirm).await, None),
        ("text", text.clone(), None),
        ("text-error", text, Some("button[type=submit]")),
        ("fields", fields.clone(), None),
        ("fields-error", fields, Some("button[type=submit]")),
        ("form", link(app, free_form).await, None),
        ("long-words", link(app, long_words()).await, None),
        ("hostile", link(app, hostile).await, None),
        ("approval", approval_link(app).await, None),
        ("ladder", link(app, climbing(3)).await, None),
        ("long-ladder", link(app, climbing(20)).await, None),
    ]
}

/// The folder for screenshots, below `target/`, for people to look at.
pub(crate) fn shots() -> PathBuf {
    std::fs::create_dir_all(SHOTS).unwrap();
    SHOTS.into()
}

on_one_store! {
    /// A page that scrolls sideways hides the end of a question or a button from a person with a phone or large letters.
    async fn no_page_scrolls_sideways_and_none_is_refused_by_its_own_policy(app: &mut TestApp) {
        let agent = app.agent();
        let mut pages = endings(app, &agent).await;
        pages.extend(open_questions(app).await);
        pages.extend(refusals(app).await);
        for two in looks().chunks(2) {
            join_all(two.iter().map(|(width, dark)| look(*width, *dark, &pages))).await;
        }
    }
}

on_one_store! {
    /// The mail is read on phones more than anywhere else, in the colours that the mail program prefers.
    async fn the_mail_fits_every_width(app: &mut TestApp) {
        let mut mails = Vec::new();
        for (name, question) in [("mail-long-words", long_words()), ("mail", with(refund(), ladder()))] {
            app.agent().suspend(app.agent().active_intent().await, question).await.ok();
            app.settle().await;
            mails.push((name, app.smtp.next_mail().await.html()));
        }
        for (name, words) in [("mail-reminder", "Reminder, message 2 of 3"), ("mail-escalation", "Asked before you")] {
            app.advance(3600).await;
            let html = app.smtp.next_mail().await.html();
            assert!(html.contains(words), "{name}: {html}");
            mails.push((name, html));
        }
        for (width, dark) in looks() {
            let browser = browser(width, dark).await;
            for (name, html) in &mails {
                browser.open(&saved(name, html)).await;
                fits(&browser, name, (width, dark)).await;
            }
        }
    }

    /// No person may agree to text that was never on the screen. The answers are locked until the end of the text has been in
    /// view, with a script or without.
    async fn the_end_of_a_long_text_unlocks_the_answers(app: &mut TestApp) {
        let terms = (1..=60).map(|line| format!("{line}. The carrier is liable for what it loses.")).collect::<Vec<_>>().join("\n");
        let live = "document.querySelectorAll('.choice:enabled').length";
        for (width, javascript) in [(390, true), (1280, true), (390, false), (1280, false)] {
            let link = link(app, with(refund(), json!({"context": {"order": "1", "terms": terms}}))).await;
            let browser = Browser::start(BrowserOptions { width, height: 800, dark: false, javascript }).await;
            browser.open(&link).await;
            assert_eq!(browser.evaluate(live).await, 0);
            browser.press("button[formaction^='?show=everything#']").await;
            let hidden = browser.evaluate("document.getElementById('r1').getBoundingClientRect().top").await;
            assert!((-1.0..400.0).contains(&hidden.as_f64().unwrap()), "it leads to what was hidden, not to {hidden}");
            assert_eq!(browser.evaluate(live).await, 0, "its end is out of sight");
            picture(&browser, &format!("everything-{width}-{javascript}")).await;
            if javascript {
                let unlocked = format!(
                    "new Promise((yes) => {{
                        new MutationObserver(() => {live} && yes(true)).observe(document.body, {{ subtree: true, childList: true, attributes: true }});
                        document.getElementById('end').scrollIntoView({{ block: 'center' }});
                    }})"
                );
                assert_eq!(browser.evaluate(&unlocked).await, true);
                assert!(!browser.text().await.contains("ocked"), "nothing is said to be locked any more");
            } else {
                browser.evaluate("document.getElementById('end').scrollIntoView({ block: 'center' })").await;
                browser.press("#end button").await;
                let below = "document.querySelector('.choice').getBoundingClientRect().top > document.querySelector('.kv').getBoundingClientRect().bottom";
                assert_eq!(browser.evaluate(below).await, true, "the answers are below the end");
            }
            assert_eq!(browser.evaluate(live).await, 3);
            picture(&browser, &format!("read-{width}-{javascript}")).await;
            browser.press("button[value=deny]").await;
            assert_eq!(browser.find_all_text("h1").await, ["Your answer was recorded"]);
            assert_eq!(browser.console_errors().await, [""; 0]);
        }
    }

    /// A long description locks the buttons until its last line was in view, although the rest of the text ends before it.
    async fn the_end_of_a_long_description_unlocks_the_answers(app: &mut TestApp) {
        let long = vec!["two"; 500].join("\n");
        let described = json!([{"value": "approve", "label": "Approve", "description": long}, {"value": "deny", "label": "Deny"}]);
        let fields = json!([{"name": "cap", "description": long}, {"name": "note", "required": false}]);
        let choices = with(refund(), json!({"choices": described, "context": {"order": "1"}}));
        let form = json!({"response_type": "form", "choices": [], "context": {"fields": fields}, "timeout_seconds": 3600});
        let live = "document.querySelectorAll('.choice:enabled').length";
        for (question, first, all, width) in
            [(&choices, "c0", 2, 1280), (&choices, "c0", 2, 390), (&form, "at-f0", 1, 1280), (&form, "at-f0", 1, 390)]
        {
            let link = link(app, question.clone()).await;
            let browser = Browser::start(BrowserOptions { width, height: 800, dark: false, javascript: true }).await;
            browser.open(&link).await;
            browser.press("button[formaction^='?show=everything#']").await;
            // A browser calls observers in the order in which they were made. When this observer is called, the one of the page's
            // script has been called before.
            let looked =
                format!("new Promise((yes) => new IntersectionObserver(() => setTimeout(() => yes({live}))).observe(document.body))");
            assert_eq!(browser.evaluate(&looked).await, 0, "the end of {first} is out of sight at {width} px");
            let top = browser.evaluate(&format!("document.getElementById('{first}').getBoundingClientRect().top")).await;
            assert!((-1.0..400.0).contains(&top.as_f64().unwrap()), "it leads to the first line, not to {top}");
            picture(&browser, &format!("described-{first}-{width}")).await;
            // When an element above disappears, some browsers keep the rest of the page in place by themselves, and others do
            // not. Here this help is off, so the page itself must keep the button in place.
            let stays = format!(
                "new Promise((yes) => {{
                    document.documentElement.style.overflowAnchor = 'none';
                    const button = [...document.querySelectorAll('.choice')].at(-1);
                    let box;
                    new MutationObserver(() => {live} && requestAnimationFrame(() =>
                            yes(button.contains(document.elementFromPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2)))))
                        .observe(document.body, {{ subtree: true, childList: true, attributes: true }});
                    document.getElementById('end-of-answers').scrollIntoView({{ block: 'center' }});
                    box = button.getBoundingClientRect();
                }})"
            );
            assert_eq!(browser.evaluate(&stays).await, true, "the last button of {first} stays under the finger at {width} px");
            assert_eq!(browser.evaluate(live).await, all);
            assert!(!browser.text().await.contains("ocked"), "nothing is said to be locked any more");
            assert_eq!(browser.text().await.contains("You can’t change it afterwards"), first == "at-f0");
            if first == "c0" {
                browser.press("button[value=deny]").await;
            } else {
                browser.type_into("[name='field.cap']", "250000").await;
                browser.press("button[type=submit]").await;
            }
            assert_eq!(browser.find_all_text("h1").await, ["Your answer was recorded"]);
            assert_eq!(browser.console_errors().await, [""; 0]);
        }
    }

    /// People on phones read before they press: the agent's text comes first, and a bar tells where the answers are.
    async fn on_a_phone_what_the_agent_sent_comes_before_the_answers(app: &mut TestApp) {
        let link = link(app, refund()).await;
        let phone = browser(390, false).await;
        phone.open(&link).await;
        let tops = "['h1', '.kv', '#d', '.choice'].map((css) => document.querySelector(css).getBoundingClientRect().top)";
        let tops: Vec<f64> = serde_json::from_value(phone.evaluate(tops).await).unwrap();
        assert!(tops.is_sorted(), "{tops:?}");
        let bar = "(() => { const bar = document.querySelector('.jump'), box = bar.getBoundingClientRect();
            const hit = document.elementFromPoint(195, (box.top + box.bottom) / 2);
            return [bar.localName, bar.textContent, box.bottom <= innerHeight + 1, hit === bar]; })()";
        assert_eq!(phone.evaluate(bar).await, json!(["a", "3 answers below", true, true]));
        phone.click(".jump").await;
        let seen = "[...document.querySelectorAll('.choice')].map((button) => { const box = button.getBoundingClientRect();
            return box.top >= 0 && button.contains(document.elementFromPoint(195, (box.top + box.bottom) / 2)); })";
        assert_eq!(phone.evaluate(seen).await, json!([true, true, true]), "it leads to them");
        let desk = browser(1280, false).await;
        desk.open(&link).await;
        assert_eq!(desk.evaluate("document.querySelector('.jump').offsetParent").await, json!(null));
        assert_eq!(desk.evaluate(seen.replace("195", "(box.left + box.right) / 2").as_str()).await, json!([true, true, true]));
    }

    /// Paper has no buttons, no dark mode and no countdown, and people who need their own colours get them without losing a
    /// border.
    async fn a_page_prints_as_text_and_bears_forced_colours(app: &mut TestApp) {
        let browser = browser(1280, true).await;
        let pages = [("choice", link(app, refund()).await), ("fields", link(app, contract_fields()).await)];
        for (name, url) in &pages {
            browser.open(url).await;
            browser.show_as("print", &[]).await;
            picture(&browser, &format!("{name}-print")).await;
            let text = browser.text().await;
            for shown in ["asks", "You answer as ops@example.com", "If no person answers", "Until"] {
                assert!(text.contains(shown), "{shown} is missing in {text}");
            }
            for hidden in [" left", "Comment", "Send this answer"] {
                assert!(!text.contains(hidden), "{hidden} in {text}");
            }
            for (css, property, value) in [("body", "backgroundColor", "rgb(255, 255, 255)"), ("h1", "color", "rgb(0, 0, 0)")] {
                let style = browser.evaluate(&format!("getComputedStyle(document.querySelector('{css}')).{property}")).await;
                assert_eq!(style, value, "{css} on paper");
            }
            browser.show_as("", &[("forced-colors", "active"), ("prefers-reduced-motion", "reduce")]).await;
            picture(&browser, &format!("{name}-forced")).await;
            assert_eq!(browser.evaluate("getComputedStyle(document.querySelector('.bar')).borderTopStyle").await, "solid");
            assert_eq!(browser.evaluate("getComputedStyle(document.querySelector('.choice')).transitionDuration").await, "0s");
            browser.show_as("", &[("prefers-color-scheme", "dark")]).await;
        }
        browser.open(&pages[0].1).await;
        browser.show_as("print", &[]).await;
        assert!(browser.text().await.contains("Do not refund"), "what can be answered is on paper");
    }

    /// A person without a mouse gets to every answer and sees where the focus is; the first Tab stop is a link past the header.
    async fn a_choice_can_be_made_with_the_keyboard_alone(app: &mut TestApp) {
        let link = link(app, refund()).await;
        let browser = browser(390, false).await;
        browser.open(&link).await;
        let mut stops = Vec::new();
        for _ in 0..5 {
            browser.key("\u{E004}").await;
            let here = browser.evaluate("[document.activeElement.value ?? document.activeElement.className, getComputedStyle(document.activeElement).outlineStyle, getComputedStyle(document.activeElement).outlineWidth]").await;
            assert_eq!((&here[1], &here[2]), (&json!("solid"), &json!("3px")), "{here}");
            stops.push(here[0].as_str().unwrap().to_owned());
        }
        assert_eq!(stops, ["skip", "jump", "approve", "deny", "partial_refund_of_one_half_of_it"]);
        browser.press_enter().await;
        assert_eq!(browser.find_all_text("h1").await, ["Your answer was recorded"]);
        assert!(browser.text().await.contains("Refund half, €206.00"));
    }
}

/// The pages at the address of the server itself (the first page in development and in production, and the mailbox) are checked
/// like all other pages.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_page_and_the_mailbox_fit_every_width() {
    let app = TestApp::start_with(|config| {
        config.mode = Mode::Development;
        config.mail = None;
    })
    .await;
    let home = app.base.clone();
    let inside = |name| vec![(name, app.development_address(), None)];
    look(1280, false, &vec![("home-outside", home.clone(), None)]).await;
    look(390, true, &inside("mailbox-empty")).await;
    let (_, id) = app.ask(refund()).await;
    app.ask(long_words()).await;
    app.operator().post(&format!("api/v1/suspensions/{id}/extend"), json!({"seconds": 60})).await.ok();
    for (width, dark) in looks() {
        let mut pages = inside("mailbox");
        pages.push(("mailbox-mail", home.clone(), Some("#live a")));
        pages.push(("mailbox-work", home.clone(), Some("#live a[href^='/work/']")));
        look(width, dark, &pages).await;
        let used = app.development_address();
        look(width, dark, &vec![("mailbox", used.clone(), None)]).await;
        look(width, dark, &vec![("address-used", used, None), ("home-outside", home.clone(), None)]).await;
    }
    app.finish().await;

    let app = TestApp::start().await;
    look(390, false, &vec![("home-production", app.base.clone(), None)]).await;
    app.finish().await;
}

/// Opens every page in one browser, checks it and takes its picture.
async fn look(width: u32, dark: bool, pages: &Gallery) {
    let browser = browser(width, dark).await;
    for (name, url, press) in pages {
        browser.open(url).await;
        if let Some(css) = press {
            browser.press(css).await;
        }
        fits(&browser, name, (width, dark)).await;
        let styled = browser.evaluate("getComputedStyle(document.querySelector('.top')).display").await;
        assert_eq!(styled, "flex", "{name} has lost its style sheet");
        // The browser logs an error for the status of a page after a POST or an unknown link, and no other error may appear.
        let errors: Vec<String> = browser.console_errors().await;
        assert!(errors.iter().all(|error| error.contains("server responded with a status of 4")), "{name}: {errors:?}");
    }
}
