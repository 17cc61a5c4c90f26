//! Where hostile words end up, measured in a real browser: each inside of its box, and each of ours to be seen and hit.
//!
//! `./test` tries a sample. All of them, in a quarter of an hour: `PLACET_TEXTS=all cargo test -p placet-tests --test it geometry`.

#![expect(clippy::unwrap_used, reason = "these functions serve tests alone")]

use channels::Template;
use domain::channel::{EMAIL, Reach};
use harness::app::TestApp;
use harness::browser::{Browser, BrowserOptions};
use harness::receiver::{Receiver, add, webhook};
use placet_server::config::Mode;
use serde_json::{Value, json};

use crate::browser::{saved, shots};
use crate::texts::texts;

/// A desk, a phone, a small phone or 400 % zoom.
const WIDTHS: [u32; 3] = [1280, 390, 320];

/// How many of the texts `./test` takes.
const SAMPLE: usize = 4;

/// What is wrong with where the words of a page are: each text inside of the window and of every box that would clip it, and hit where
/// it begins and ends. Also counts the texts.
const MEASURE: &str = "((SLACK) => {
    const wrong = [], room = document.documentElement.clientWidth;
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    let count = 0;
    const name = (node) => `${node.parentElement.localName}.${node.parentElement.className} “${node.data.trim().slice(0, 40)}”`;
    while (walker.nextNode()) {
        const node = walker.currentNode, parent = node.parentElement;
        if (!node.data.trim() || parent.closest('.vh, .skip, option, script, style, textarea')) continue;
        // Spaces hang at the end of a line and are nothing to see; words are measured one by one.
        const ranges = [...node.data.matchAll(/\\S+/gu)].map((word) => {
            const range = document.createRange();
            range.setStart(node, word.index);
            range.setEnd(node, word.index + word[0].length);
            return range;
        });
        const boxes = () => ranges.flatMap((range) => [...range.getClientRects()]).filter((box) => box.width >= 1 && box.height >= 1);
        let rects = boxes();
        if (!rects.length) continue;
        count++;
        const [left, right] = [Math.min(...rects.map((r) => r.left)), Math.max(...rects.map((r) => r.right))];
        if (left < -SLACK || right > room + SLACK) wrong.push(`${name(node)} leaves the window: ${left} to ${right} of ${room}`);
        for (let box = parent; box; box = box.parentElement) {
            const style = getComputedStyle(box);
            if (style.display === 'inline' || (style.overflowX === 'visible' && !box.matches('.sheet, .said, .choice, .state'))) continue;
            const edge = box.getBoundingClientRect();
            if (left < edge.left - SLACK || right > edge.right + SLACK) wrong.push(`${name(node)} leaves ${box.localName}.${box.className}: ${left} to ${right} of ${edge.left} to ${edge.right}`);
        }
        for (const which of [0, rects.length - 1]) {
            const middle = (rects[0].top + rects[0].bottom) / 2;
            window.scrollBy(0, (which ? (rects.at(-1).top + rects.at(-1).bottom) / 2 : middle) - innerHeight / 2);
            rects = boxes();
            const rect = rects[Math.min(which, rects.length - 1)];
            const hit = document.elementFromPoint((rect.left + rect.right) / 2, (rect.top + rect.bottom) / 2);
            if (!hit || !(hit === parent || parent.contains(hit) || (hit.contains(parent) && getComputedStyle(parent).display === 'inline')))
                wrong.push(`${name(node)} is covered by ${hit && `${hit.localName}.${hit.className}`}`);
        }
    }
    const sends = [...document.querySelectorAll('.choice .sends')];
    const whole = sends.every((line) => line === line.parentElement.querySelector('.sends:last-of-type, .sends') && line.scrollWidth <= line.clientWidth + SLACK);
    if (!whole) wrong.push('a value is cut');
    return { count, values: sends.length, wrong };
})(1)";

/// Text of an agent, as long as a field may be, whole characters, without what the field refuses.
fn fit(text: &str, chars_max: usize) -> String {
    let chars: String = text.chars().take(chars_max).collect();
    // A question has two of them, and 4 KiB.
    chars[..chars.floor_char_boundary(2_000)].to_owned()
}

fn on_a_line(text: &str, chars_max: usize) -> String {
    let plain: String = text.chars().filter(|c| !c.is_control()).collect();
    let plain = if plain.trim().is_empty() { "blank".to_owned() } else { plain };
    fit(&plain, chars_max)
}

/// One text in every field an agent fills, of a question with choices.
fn with_choices(text: &str) -> Value {
    let (long, key) = (fit(text, 900), fit(text, 300));
    json!({
        "question": format!("x{long}\n{long}"),
        "choices": [
            {"value": on_a_line(text, 200), "label": on_a_line(text, 200), "description": fit(text, 2_000), "style": "primary", "metadata": {key.clone(): long}},
            {"value": "deny", "label": format!("{} deny", on_a_line(text, 190)), "style": "danger"},
        ],
        "context": {key.clone(): text, "group": {key.clone(): long}, format!("{key} group"): {"a": long}, "list": [long, "x"], "deep": {"a": {"b": long}}},
        "decision_record": {key: long}, "confidence": 0.25,
        "fallback_policy": "complete_with_fallback", "fallback_value": "deny", "timeout_seconds": 3600,
    })
}

/// The same of a form and of a question that is answered in words.
fn with_fields(text: &str) -> Value {
    let long = fit(text, 900);
    json!({
        "question": format!("x{long}"), "response_type": "form", "choices": [],
        "context": {"fields": [
            {"name": on_a_line(text, 64), "label": long, "description": long, "note": long},
            {"name": "pick", "options": [on_a_line(text, 150), "other"], "type": "text"},
            {"name": "tick", "label": long, "type": "boolean", "description": long},
        ]},
        "fallback_policy": "complete_with_fallback", "fallback_value": {fit(text, 300): long}, "timeout_seconds": 3600,
    })
}

fn in_words(text: &str) -> Value {
    let long = fit(text, 900);
    json!({
        "question": format!("{long}?\n{long}"), "response_type": "text", "choices": [],
        "fallback_policy": "complete_with_fallback", "fallback_value": format!("x{long}"), "timeout_seconds": 3600,
    })
}

#[expect(clippy::disallowed_methods, reason = "all texts by hand are asked for by a variable")]
fn all() -> bool {
    std::env::var("PLACET_TEXTS").is_ok_and(|which| which == "all")
}

/// The sample is spread over all kinds.
fn chosen() -> Vec<(String, String)> {
    let texts = texts();
    assert_eq!(texts.len(), 200);
    let apart = if all() { 1 } else { texts.len() / SAMPLE };
    texts.into_iter().step_by(apart).collect()
}

async fn browsers() -> Vec<(u32, Browser)> {
    let mut browsers = Vec::new();
    for width in WIDTHS {
        let options = BrowserOptions { width, height: 800, dark: false, javascript: false };
        browsers.push((width, Browser::start(options).await));
    }
    browsers
}

/// Asks and returns the link and the HTML of the mail.
async fn asked(app: &TestApp, title: &str, question: Value) -> (String, String) {
    let agent = app.agent();
    let intent = agent.post("api/v1/intents", json!({"title": title, "status": "active"})).await.ok();
    agent.suspend(intent["id"].as_str().unwrap().parse().unwrap(), question).await.ok();
    app.settle().await;
    let mail = app.smtp.next_mail().await;
    (mail.link(&app.base), mail.html())
}

async fn assert_in_its_place(browser: &Browser, what: &str, words_min: u64) -> Value {
    let found = browser.evaluate(MEASURE).await;
    let wrong = &found["wrong"];
    if wrong != &json!([]) {
        browser.screenshot(&shots().join("geometry.png")).await;
        panic!("{what}: {wrong:#}");
    }
    assert!(found["count"].as_u64().unwrap() >= words_min, "{what} shows too little: {found}");
    found
}

/// No word of an agent may leave its box, cover another's or one of ours, or have it scrolled out of the window.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_word_of_a_page_and_a_mail_is_in_its_box() {
    let app = TestApp::start().await;
    let browsers = browsers().await;
    for (name, text) in chosen() {
        let title = on_a_line(&text, 500);
        for (kind, question) in [("choices", with_choices(&text)), ("fields", with_fields(&text)), ("words", in_words(&text))] {
            let (link, mail) = asked(&app, &title, question).await;
            let file = saved("geometry-mail", &mail);
            for (width, browser) in &browsers {
                for page in [link.clone(), format!("{link}?show=everything"), format!("{link}?show=everything&end=reached")] {
                    browser.open(&page).await;
                    let found = assert_in_its_place(browser, &format!("{name}: {kind} at {width} px ({page})"), 15).await;
                    assert_eq!(found["values"], json!(if kind == "choices" { 2 } else { 0 }), "{name} at {width}");
                }
                browser.open(&file).await;
                assert_in_its_place(browser, &format!("{name}: the mail of {kind} at {width} px"), 10).await;
            }
        }
    }
    app.finish().await;
}

/// The mailbox shows the same mails to developers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_word_of_the_mailbox_is_in_its_box() {
    let app = TestApp::start_with(|config| {
        config.mode = Mode::Development;
        config.mail = None;
    })
    .await;
    let browsers = browsers().await;
    for (_, browser) in &browsers {
        browser.open(&app.development_address()).await;
    }
    for (name, text) in chosen() {
        let agent = app.agent();
        let title = json!({"title": on_a_line(&text, 500), "status": "active"});
        let intent = agent.post("api/v1/intents", title).await.ok();
        agent.suspend(intent["id"].as_str().unwrap().parse().unwrap(), with_choices(&text)).await.ok();
        app.settle().await;
        for (width, browser) in &browsers {
            browser.open(&app.base).await;
            assert_in_its_place(browser, &format!("{name}: the mailbox at {width} px"), 5).await;
            browser.press("#live a").await;
            assert_in_its_place(browser, &format!("{name}: a mail in the mailbox at {width} px"), 5).await;
        }
    }
    app.finish().await;
}

/// In a room each line of an agent is marked, and each value stands alone behind our word for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_text_speaks_for_the_server_in_a_room() {
    let receiver = Receiver::start().await;
    let app = TestApp::start_with(|config| {
        let mut room = webhook("room", &receiver);
        (room.settings.links, room.settings.template) = (false, Template::Slack);
        add(config, vec![(room, Reach::Audience("ops-room".into()))], &["room", EMAIL]);
    })
    .await;
    for (name, text) in chosen() {
        asked(&app, &on_a_line(&text, 500), with_choices(&text)).await;
        let posted = receiver.posted().remove(0).json();
        let text = posted["text"].as_str().unwrap();
        let (mut answers, mut sends) = (0, 0);
        for line in text.lines() {
            let ours = [
                "test-agent asks:",
                "Possible answers:",
                "The words of these answers",
                "sends ",
                "Open until",
                "Nothing can be answered here",
            ];
            assert!(line.starts_with("&gt; ") || ours.iter().any(|words| line.starts_with(words)), "{name} says {line}");
            answers += usize::from(line == "Possible answers:");
            sends += usize::from(line.starts_with("sends "));
        }
        assert_eq!((answers, sends), (1, 2), "{name}: {text}");
        assert!(text.contains("\nsends deny\n"), "{name}: {text}");
    }
    app.finish().await;
}
