//! Measures in a real browser where hostile words end up: every text must be inside its box, and visible and clickable.
//!
//! `./test` tries a sample. This command tries all texts, here and on a terminal:
//! `PLACET_TEXTS=all cargo test -p placet-tests --test it -- geometry hostile_texts`.

#![expect(clippy::unwrap_used, reason = "these functions serve tests alone")]

use channels::Template;
use domain::suspension::channel::{EMAIL, Reach};
use harness::app::TestApp;
use harness::browser::{Browser, BrowserOptions};
use harness::receiver::{Receiver, add, webhook};
use placet_server::config::Mode;
use serde_json::{Value, json};

use crate::pages::browser::{saved, shots};
use crate::pages::looks::WIDTHS;
use crate::pages::texts::{chosen, in_words, on_a_line, with_choices, with_fields};

/// A script that lists the misplaced texts of a page. A text is misplaced if it leaves the window or a box that would clip it, or
/// if another element covers its beginning or end. The script also counts the texts.
const MEASURE: &str = "((SLACK) => {
    const wrong = [], room = document.documentElement.clientWidth;
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    let count = 0;
    const name = (node) => `${node.parentElement.localName}.${node.parentElement.className} “${node.data.trim().slice(0, 40)}”`;
    while (walker.nextNode()) {
        const node = walker.currentNode, parent = node.parentElement;
        if (!node.data.trim() || parent.closest('.vh, .skip, option, script, style, textarea')) continue;
        // Text in a part that is folded away has a place, but no reader sees it.
        if (!parent.checkVisibility()) continue;
        // Spaces that hang over the end of a line are invisible, so words are measured one by one.
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

async fn browsers() -> Vec<(u32, Browser)> {
    let mut browsers = Vec::new();
    for width in WIDTHS {
        let options = BrowserOptions { width, height: 800, dark: false, javascript: false };
        browsers.push((width, Browser::start(options).await));
    }
    browsers
}

/// Asks a question. Returns the link and the HTML of its mail.
async fn asked(app: &TestApp, title: &str, question: Value) -> (String, String) {
    let agent = app.agent();
    let intent = agent.post("api/v1/intents", json!({"title": title, "status": "active"})).await.ok();
    agent.suspend(intent["id"].as_str().unwrap().parse().unwrap(), question).await.ok();
    app.settle().await;
    let mail = app.smtp.next_mail().await;
    (mail.link(&app.base), mail.html())
}

/// Measures a page. Misplaced texts are added to `wrong`, so that one run reports all of them.
async fn measured(browser: &Browser, what: &str, words_min: u64, wrong: &mut Vec<String>) -> Value {
    let found = browser.evaluate(MEASURE).await;
    if found["wrong"] != json!([]) {
        browser.screenshot(&shots().join("geometry.png")).await;
        wrong.push(format!("{what}: {:#}", found["wrong"]));
    }
    assert!(found["count"].as_u64().unwrap() >= words_min, "{what} shows too little: {found}");
    found
}

/// An agent's words must not leave their box, cover other words, or widen the page beyond the window.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_word_of_a_page_and_a_mail_is_in_its_box() {
    let app = TestApp::start().await;
    let (browsers, mut wrong) = (browsers().await, Vec::new());
    for (name, text) in chosen() {
        let title = on_a_line(&text, 500);
        for (kind, question) in [("choices", with_choices(&text)), ("fields", with_fields(&text)), ("words", in_words(&text))] {
            let (link, mail) = asked(&app, &title, question).await;
            let file = saved("geometry-mail", &mail);
            for (width, browser) in &browsers {
                for page in [link.clone(), format!("{link}?show=everything"), format!("{link}?show=everything&end=reached")] {
                    browser.open(&page).await;
                    let found = measured(browser, &format!("{name}: {kind} at {width} px ({page})"), 15, &mut wrong).await;
                    assert_eq!(found["values"], json!(if kind == "choices" { 2 } else { 0 }), "{name} at {width}");
                }
                browser.open(&file).await;
                measured(browser, &format!("{name}: the mail of {kind} at {width} px"), 10, &mut wrong).await;
            }
        }
        println!("page and mail: {name}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    app.finish().await;
}

/// In development mode the mailbox page shows the same mails, so its words are measured too.
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
    let mut wrong = Vec::new();
    for (name, text) in chosen() {
        let agent = app.agent();
        let title = json!({"title": on_a_line(&text, 500), "status": "active"});
        let intent = agent.post("api/v1/intents", title).await.ok();
        agent.suspend(intent["id"].as_str().unwrap().parse().unwrap(), with_choices(&text)).await.ok();
        app.settle().await;
        for (width, browser) in &browsers {
            browser.open(&app.base).await;
            measured(browser, &format!("{name}: the mailbox at {width} px"), 5, &mut wrong).await;
            browser.press("#live a").await;
            measured(browser, &format!("{name}: a mail in the mailbox at {width} px"), 5, &mut wrong).await;
        }
        println!("mailbox: {name}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    app.finish().await;
}

/// In a room's message each line that an agent wrote is marked, and each value stands on a line of its own after "sends".
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
                "You cannot answer in this room",
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
