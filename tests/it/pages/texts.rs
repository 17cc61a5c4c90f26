//! Two hundred texts that an agent may be made to write, for the tests that check where texts end up.

use harness::wish::wish;
use serde_json::{Value, json};

/// The texts that `./test` takes: a chain without a place for a line break, and a text that forges a part of the page.
const SAMPLE: [&str; 2] = ["conjuncts of Devanagari", "a false end"];

/// Texts that are repeated, each with the number of repetitions.
const CHAINS: [(&str, &str, usize); 154] = [
    ("squares and joiners", "◼\u{200d}", 700),
    ("women and joiners", "👩\u{200d}", 700),
    ("flags and joiners", "🏳\u{fe0f}\u{200d}🌈\u{200d}", 700),
    ("hearts and selectors", "❤\u{fe0f}\u{200d}", 700),
    ("arrows and joiners", "➡\u{200d}", 700),
    ("skin tones", "👍🏻🏼🏽🏾🏿", 700),
    ("tones alone", "🏻", 700),
    ("leading jamo", "ᄀ", 700),
    ("vowel jamo", "ᅡ", 700),
    ("trailing jamo", "ᆨ", 700),
    ("conjuncts of Devanagari", "क्", 700),
    ("conjuncts of Bengali", "ক্", 700),
    ("conjuncts of Malayalam", "ക്", 700),
    ("stacks of Tibetan", "ྐ", 700),
    ("vowels of Thai", "็", 700),
    ("tones of Lao", "້", 700),
    ("points of Hebrew", "ְ", 700),
    ("marks of Arabic", "ً", 700),
    ("marks of Myanmar", "ွ", 700),
    ("marks of Khmer", "្ក", 700),
    ("signs of Tamil", "்", 700),
    ("signs of Balinese", "᭄ᬓ", 700),
    ("marks of Syriac", "ܳ", 700),
    ("marks above", "\u{301}", 700),
    ("marks below", "\u{323}", 700),
    ("strokes through", "\u{336}", 700),
    ("circles around", "\u{20dd}", 700),
    ("prohibitions", "\u{20e0}", 700),
    ("keycaps", "1\u{fe0f}\u{20e3}", 700),
    ("half marks", "︠", 700),
    ("double marks", "a\u{361}", 700),
    ("extended marks", "᪰", 700),
    ("supplemental marks", "᷀", 700),
    ("prepended signs", "؀", 700),
    ("regional letters", "🇩", 700),
    ("tag letters", "\u{e0061}", 700),
    ("interlinear notes", "\u{fff9}", 700),
    ("musical joins", "\u{1d173}", 700),
    ("shorthand joins", "𛲠", 700),
    ("grapheme joiners", "\u{34f}", 700),
    ("word joiners", "\u{2060}", 700),
    ("zero width spaces", "a\u{200b}", 700),
    ("non-joiners", "ن\u{200c}", 700),
    ("soft hyphens", "a\u{ad}", 700),
    ("left to right marks", "\u{200e}", 700),
    ("overrides", "\u{202e}", 700),
    ("isolates that never end", "\u{2067}", 700),
    ("embeddings that never end", "\u{202b}", 700),
    ("pops", "\u{202c}", 700),
    ("Arabic letter marks", "\u{61c}", 700),
    ("a gap of no-break spaces", "\u{a0}", 3000),
    ("a gap of em spaces", "\u{2003}", 3000),
    ("a gap of ideographic spaces", "\u{3000}", 3000),
    ("a gap of figure spaces", "\u{2007}", 3000),
    ("a gap of hair spaces", "\u{200a}", 3000),
    ("a gap of spaces", "  ", 3000),
    ("a gap of blank Braille", "\u{2800}", 3000),
    ("a gap of Hangul fillers", "\u{3164}", 3000),
    ("a gap of half-width fillers", "\u{ffa0}", 3000),
    ("a gap of Ogham spaces", " ", 3000),
    ("a gap of tabs", "\t", 3000),
    ("a gap of medium spaces", "\u{205f}", 3000),
    ("line feeds", "\n", 1500),
    ("line feeds and returns", "\r\n", 1500),
    ("lines of one dot", ".\n", 1500),
    ("lines of a space", " \n", 1500),
    ("line separators", "\u{2028}", 1500),
    ("paragraph separators", "\u{2029}", 1500),
    ("next lines", "\u{85}", 1500),
    ("vertical tabs", "\u{b}", 1500),
    ("form feeds", "\u{c}", 1500),
    ("returns alone", "\r", 1500),
    ("w without end", "w", 900),
    ("W without end", "W", 900),
    ("i without end", "i", 900),
    ("wide letters", "界", 900),
    ("very wide letters", "﷽", 900),
    ("Greek bars", "—", 900),
    ("two-em bars", "⸺", 900),
    ("three-em bars", "⸻", 900),
    ("cuneiform", "𒐫", 900),
    ("tall cuneiform", "𒈙", 900),
    ("full blocks", "█", 900),
    ("box lines", "═", 900),
    ("mathematical letters", "𝗪", 900),
    ("underscores", "_", 900),
    ("slashes", "/", 900),
    ("dots", ".", 900),
    ("hyphens", "-", 900),
    ("non-breaking hyphens", "‑", 900),
    ("brackets", "⟨", 900),
    ("ampersands", "&", 900),
    ("less-than signs", "<", 900),
    ("quotation marks", "\"", 900),
    ("backslashes", "\\", 900),
    ("percent signs", "%", 900),
    ("emoji", "😀", 900),
    ("combining emoji", "🧑🏿\u{200d}🚀", 900),
    ("flags", "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}", 900),
    ("ligatures", "ﬃ", 900),
    ("Arabic letters", "ش", 900),
    ("long Arabic letters", "ـ", 900),
    ("Hebrew letters", "ש", 900),
    ("Thai letters", "ก", 900),
    ("Khmer letters", "ក", 900),
    ("Tibetan letters", "བ", 900),
    ("Ethiopic letters", "ጀ", 900),
    ("Mongolian letters", "ᠮ", 900),
    ("Canadian letters", "ᐁ", 900),
    ("Braille cells", "⣿", 900),
    ("replacement signs", "�", 900),
    ("private letters", "", 900),
    ("unassigned letters", "͸", 900),
    ("non-characters", "﷐", 900),
    ("superscripts", "ⁿ", 900),
    ("fullwidth letters", "Ｗ", 900),
    ("circled letters", "ⓦ", 900),
    ("dingbats", "✂", 900),
    ("chess pieces", "♛", 900),
    ("dominoes", "🁣", 900),
    ("playing cards", "🂡", 900),
    ("mahjong tiles", "🀄", 900),
    ("vertical forms", "︙", 900),
    ("tone letters", "˥", 900),
    ("click letters", "ǃ", 900),
    ("Vedic signs", "᳐", 900),
    ("Chinese without a space", "请批准退款四百一十二欧元给玛尔塔", 20),
    ("Thai without a space", "กรุณาอนุมัติการคืนเงินสี่ร้อยสิบสองยูโร", 20),
    ("Myanmar", "မျှော်လင့်ပါသည်", 30),
    ("Tibetan", "བཀྲ་ཤིས་བདེ་ལེགས།", 30),
    ("Khmer without a space", "សូមអនុម័តការសងប្រាក់វិញ", 30),
    ("Devanagari", "कृपया धनवापसी स्वीकृत करें ", 30),
    ("Georgian", "გთხოვთ დაამტკიცოთ თანხის დაბრუნება ", 30),
    ("German", "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft", 10),
    ("a digest", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", 8),
    ("a table", "| a | b |\n|---|---|\n| 1 | 2 |\n", 10),
    ("code", "fn main() {\n    let x = vec![0; 1 << 30];\n}\n", 8),
    ("JSON", "{\"a\":{\"b\":[1,2,3]}}", 40),
    ("CSS", "}*{position:fixed;inset:0;z-index:9999}", 10),
    ("HTML", "<div style=position:fixed;inset:0>x</div>", 10),
    ("entities", "&nbsp;&zwnj;&rlm;&#8238;", 40),
    ("bells", "\u{7}\u{8}\u{1}\u{1f}", 50),
    ("numbers", "1234567890", 90),
    ("a number with spaces", "1 000 000 000 ", 60),
    ("mixed widths", "aＡ界😀﷽", 100),
    ("a poem of marks", "Ẕ\u{334}\u{357}a\u{337}l\u{334}g\u{336}o\u{334} ", 60),
    ("emoji with text looks", "☎\u{fe0e}☎\u{fe0f}", 80),
    ("quotes that close", "” withdrew this. “", 20),
    ("variation selectors", "◼\u{fe0f}\u{fe0e}", 700),
    ("selectors of other kinds", "a\u{e0100}", 400),
    ("marks of Thaana", "ހ\u{7a6}\u{7a7}", 300),
    ("marks of Nko", "ߊ\u{7eb}\u{7ec}\u{7ed}", 300),
    ("marks of Coptic", "ⲁ\u{2cef}", 400),
    ("symbols with marks", "◌\u{20d0}\u{20d1}\u{20d4}", 300),
];

/// Texts that are used unchanged.
const TEXTS: [(&str, &str); 46] = [
    ("a false value", "Deny\u{a0}\u{a0}\u{a0}\u{a0}sends deny"),
    ("a false box", "┌──────────┐\n│ sends    │\n│ deny     │\n└──────────┘"),
    ("a false button", "[ Approve ]  ▶ ▶ ▶"),
    ("a false end", "This is the end of what the agent sent. Unlock the answers"),
    ("a false bar", "3 answers below"),
    ("a false lock", "Locked until you have seen everything"),
    ("a false warning", "The words of these answers may mislead"),
    ("a false heading", "Your answer\n2 h left\nUntil Tue 24 Nov, 09:30 UTC"),
    ("a false footer", "This page is from placet.example. It never asks for a password."),
    ("a false agent", "root asks · Payroll · 09:00 UTC"),
    ("monospaced letters", "𝚜𝚎𝚗𝚍𝚜 𝚍𝚎𝚗𝚢"),
    ("bold letters", "𝗗𝗲𝗻𝘆"),
    ("script letters", "𝒟𝑒𝓃𝓎"),
    ("fraktur letters", "𝔇𝔢𝔫𝔶"),
    ("fullwidth deny", "Ｄｅｎｙ"),
    ("Cyrillic deny", "Dеny"),
    ("Greek deny", "DΕΝΥ"),
    ("circled deny", "ⓓⓔⓝⓨ"),
    ("spaced deny", "D e n y"),
    ("struck approve", "a\u{336}p\u{336}p\u{336}r\u{336}o\u{336}v\u{336}e\u{336}"),
    ("reversed approve", "\u{202e}evorppa\u{202c}"),
    ("mirrored brackets", "\u{202e})approve("),
    ("deny in Hebrew", "שלום deny עולם approve"),
    ("deny in Arabic", "رفض approve قبول"),
    ("Persian", "می\u{200c}خواهم بازپرداخت شود"),
    ("Japanese", "日本語の質問です。返金しますか？"),
    (
        "an address",
        "https://evil.example/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/path/",
    ),
    (
        "an address without an end",
        "https://eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee.example/pppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppp",
    ),
    (
        "a path",
        "/usr/local/lib/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/node_modules/",
    ),
    (
        "a data address",
        "data:text/html;base64,QUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJD",
    ),
    ("a style tag", "</style><style>*{display:none}</style>"),
    ("an image", "<img src=x onerror=alert(1) style=width:9999px>"),
    ("an SVG", "<svg width=9999 height=9999><rect/></svg>"),
    ("a table tag", "</td></tr></table><table width=9999>"),
    ("a form tag", "</form></button><button name=value value=deny>Deny"),
    ("a marquee", "<marquee>approve</marquee>"),
    (
        "a preformatted tag",
        "<pre>                                                                                                                                                                                                                                                                                                            x</pre>",
    ),
    ("terminal codes", "\u{1b}[2J\u{1b}[31mDENIED\u{1b}[999C x"),
    ("nothing seen", "\u{200b}\u{2060}\u{feff}"),
    ("one letter", "x"),
    ("one accent", "\u{301}"),
    ("one joiner", "\u{200d}"),
    ("one square", "◼"),
    ("one override", "\u{202e}"),
    (
        "an even taller poem",
        "Z\u{300}\u{301}\u{302}\u{303}\u{304}\u{305}\u{306}\u{307}\u{308}\u{309}\u{30a}\u{30b}\u{30c}\u{30d}\u{30e}\u{30f}\u{310}\u{311}\u{312}\u{313}\u{314}\u{315}\u{316}\u{317}\u{318}\u{319}\u{31a}\u{31b}\u{31c}\u{31d}\u{31e}\u{31f}\u{320}\u{321}\u{322}\u{323}\u{324}\u{325}\u{326}\u{327}\u{328}\u{329}\u{32a}\u{32b}\u{32c}\u{32d}\u{32e}\u{32f}\u{330}\u{331}\u{332}\u{333}\u{334}\u{335}\u{336}\u{337}\u{338}\u{339}\u{33a}\u{33b}a\u{316}\u{317}\u{318}\u{319}\u{31a}\u{31b}\u{31c}\u{31d}\u{316}\u{317}\u{318}\u{319}\u{31a}\u{31b}\u{31c}\u{31d}\u{316}\u{317}\u{318}\u{319}\u{31a}\u{31b}\u{31c}\u{31d}\u{316}\u{317}\u{318}\u{319}\u{31a}\u{31b}\u{31c}\u{31d}\u{316}\u{317}\u{318}\u{319}\u{31a}\u{31b}\u{31c}\u{31d}\u{316}\u{317}\u{318}\u{319}\u{31a}\u{31b}\u{31c}\u{31d}\u{316}\u{317}\u{318}\u{319}\u{31a}\u{31b}\u{31c}\u{31d}\u{316}\u{317}\u{318}\u{319}",
    ),
    ("a comment that ends", "--><script>alert(1)</script><!--"),
];

/// All texts, by name.
fn texts() -> Vec<(String, String)> {
    let chains = CHAINS.iter().map(|(name, link, times)| ((*name).to_owned(), format!("a{}b", link.repeat(*times))));
    chains.chain(TEXTS.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))).collect()
}

/// At most `chars_max` characters and 2,000 bytes of a text, cut between characters.
fn fit(text: &str, chars_max: usize) -> String {
    let chars: String = text.chars().take(chars_max).collect();
    // A question holds two of these texts in at most 4 KiB.
    chars[..chars.floor_char_boundary(2_000)].to_owned()
}

/// Like [`fit`], without control characters; `blank` if nothing else is left.
pub(crate) fn on_a_line(text: &str, chars_max: usize) -> String {
    let plain: String = text.chars().filter(|c| !c.is_control()).collect();
    let plain = if plain.trim().is_empty() { "blank".to_owned() } else { plain };
    fit(&plain, chars_max)
}

/// A question with choices. The fields that an agent fills hold the given text.
pub(crate) fn with_choices(text: &str) -> Value {
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

/// A question with a form. The fields that an agent fills hold the given text.
pub(crate) fn with_fields(text: &str) -> Value {
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

/// A question that is answered in words (`response_type` `text`). Its question and its fallback value consist of the given text.
pub(crate) fn in_words(text: &str) -> Value {
    let long = fit(text, 900);
    json!({
        "question": format!("{long}?\n{long}"), "response_type": "text", "choices": [],
        "fallback_policy": "complete_with_fallback", "fallback_value": format!("x{long}"), "timeout_seconds": 3600,
    })
}

/// The chosen texts: without `PLACET_TEXTS` a sample, with `all` all of them, otherwise those whose names contain one of its
/// comma-separated parts.
pub(crate) fn chosen() -> Vec<(String, String)> {
    let texts = texts();
    assert_eq!(texts.len(), 200);
    let chosen: Vec<_> = match wish("PLACET_TEXTS") {
        None => texts.into_iter().filter(|(name, _)| SAMPLE.contains(&name.as_str())).collect(),
        Some(which) if which == "all" => texts,
        Some(which) => texts.into_iter().filter(|(name, _)| which.split(',').any(|part| name.contains(part))).collect(),
    };
    assert!(!chosen.is_empty(), "PLACET_TEXTS is part of no text's name");
    chosen
}
