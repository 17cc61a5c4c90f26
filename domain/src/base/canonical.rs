//! Recognises canonical bytes of an event (RFC 8785) in one pass, and reads the members that link a chain.
//!
//! Guarantee: bytes that pass are canonical. Mechanism: no space, members in order, one way to write each text and number.
//! Failure: rare forms (a member's name with an escape, or beyond U+D7FF) do not pass although they may be canonical; the caller
//! then checks the bytes by reading and writing them again, which takes ten times as long.

use std::borrow::Cow;

use serde_json::Number;

use super::json::{self, DEPTH_MAX, INTEGER_MAX};

/// The member that a served event has besides the stored ones.
pub const HASH_NAME: &str = "event_hash";
/// The member that says what happened.
pub const PAYLOAD_NAME: &str = "payload";
/// The random bytes that keep a payload from being guessed by the event's hash.
pub const SALT_NAME: &str = "salt";
/// The member, `true`, that a served event has if its payload and salt were erased.
pub const REDACTED_NAME: &str = "redacted";
/// The members that link a chain.
pub(crate) const SEQUENCE_NAME: &str = "sequence";
pub(crate) const PREVIOUS_NAME: &str = "previous_event_hash";
/// The value of an absent link.
pub(crate) const NULL: &str = "null";
/// A number of at most this many digits is always below [`INTEGER_MAX`].
const DIGITS_SAFE: usize = INTEGER_MAX.ilog10() as usize;
/// After so many words of eight bytes a text counts as long, and then so many bytes are looked at together.
const WORDS_SHORT: usize = 2;
const LONG_BYTES: usize = 32;
/// How deep an event may nest: deeper than a request, because the event and its payload are two further objects around the data.
const EVENT_DEPTH_MAX: usize = DEPTH_MAX + 2;
/// The members that link a chain, as they stand in an event's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Links<'a> {
    pub(crate) sequence: Cow<'a, [u8]>,
    pub(crate) previous: Cow<'a, [u8]>,
}

/// The links of an event in canonical bytes; `None` if the bytes are not canonical, or are in a rare form.
pub(crate) fn links(bytes: &[u8]) -> Option<Links<'_>> {
    let (mut sequence, mut previous, mut has_hash) = (NULL.as_bytes(), NULL.as_bytes(), false);
    members(bytes, |name, value| {
        if name == SEQUENCE_NAME.as_bytes() {
            sequence = value;
        } else if name == PREVIOUS_NAME.as_bytes() {
            previous = value;
        } else if name == HASH_NAME.as_bytes() {
            has_hash = true;
        }
    })?;
    (!has_hash).then_some(Links { sequence: sequence.into(), previous: previous.into() })
}

/// The members that link an erased event, which is its leaf: it has a hash, and neither payload nor salt. The hash stands as it is written
/// there. `None` if the bytes are not canonical or in a rare form, or if they are those of an event with its payload.
pub(crate) fn links_of_erased(bytes: &[u8]) -> Option<(Links<'_>, &[u8])> {
    let (mut sequence, mut previous, mut hash, mut has_more) = (NULL.as_bytes(), NULL.as_bytes(), None, false);
    members(bytes, |name, value| {
        if name == SEQUENCE_NAME.as_bytes() {
            sequence = value;
        } else if name == PREVIOUS_NAME.as_bytes() {
            previous = value;
        } else if name == HASH_NAME.as_bytes() {
            hash = Some(value);
        }
        has_more |= name == PAYLOAD_NAME.as_bytes() || name == SALT_NAME.as_bytes();
    })?;
    let links = Links { sequence: sequence.into(), previous: previous.into() };
    hash.filter(|_| !has_more).map(|hash| (links, hash))
}

/// Whether an object in canonical bytes has the member `event_hash`. Its place is before that of the payload, so the payload is not read.
pub(crate) fn has_hash(bytes: &[u8]) -> bool {
    let mut walk = Walk { rest: bytes, is_ascii: false, numbers: Numbers::Short };
    let mut is_found = || {
        walk.take(b'{')?;
        loop {
            let name = walk.text()?.bytes;
            walk.take(b':')?;
            if name >= HASH_NAME.as_bytes() {
                return Some(name == HASH_NAME.as_bytes());
            }
            walk.value(1)?;
            walk.take(b',')?;
        }
    };
    is_found().unwrap_or(false)
}

/// Calls `seen` with each member of the object in canonical bytes: its name, and its value as it stands there. `None` if the bytes
/// are not canonical, or are in a rare form; `seen` may then have been called for some members.
pub fn members<'a>(bytes: &'a [u8], seen: impl FnMut(&'a [u8], &'a [u8])) -> Option<()> {
    let mut walk = Walk::over(bytes)?;
    walk.members(0, seen)?;
    walk.rest.is_empty().then_some(())
}

/// The canonical bytes of a value whose members stand in canonical order: the same bytes as [`json::canonical`] returns, but faster. The
/// order is checked, so a value in another order is only slower.
///
/// # Errors
///
/// As [`json::canonical`]; only a floating-point number that is none (NaN) becomes `null` here. JSON has no such number, so none was ever
/// read.
pub fn in_order(value: &impl serde::Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let bytes = serde_json::to_vec(value)?;
    if members(&bytes, |_, _| {}).is_some() { Ok(bytes) } else { json::canonical(value) }
}

/// The numbers of an object in canonical bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// Each one is a whole number of few digits, which every reader understands alike.
    Short,
    /// There may be others.
    Any,
}

/// As [`members`], for the bytes of an object without its last brace: so an event is read within the bytes of a served one, which has a
/// further member at its end. Says of which kind the numbers are.
pub fn open_members<'a>(bytes: &'a [u8], mut seen: impl FnMut(&'a [u8], &'a [u8])) -> Option<Numbers> {
    let mut walk = Walk::over(bytes)?;
    walk.take(b'{')?;
    let mut before = None;
    while !walk.rest.is_empty() {
        walk.member(&mut before, 0, &mut seen)?;
    }
    Some(walk.numbers)
}

/// The bytes that are still to be read.
struct Walk<'a> {
    rest: &'a [u8],
    /// Whether all bytes are ASCII.
    is_ascii: bool,
    /// The numbers so far.
    numbers: Numbers,
}

impl<'a> Walk<'a> {
    /// Begins to read these bytes. Bytes beyond ASCII may stand in a text as they are if they are valid UTF-8, which is checked here.
    fn over(bytes: &'a [u8]) -> Option<Self> {
        let is_ascii = bytes.is_ascii();
        let is_text = is_ascii || str::from_utf8(bytes).is_ok();
        is_text.then_some(Self { rest: bytes, is_ascii, numbers: Numbers::Short })
    }

    fn take(&mut self, expected: u8) -> Option<()> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        (*first == expected).then_some(())
    }

    fn word(&mut self, expected: &[u8]) -> Option<()> {
        self.rest = self.rest.strip_prefix(expected)?;
        Some(())
    }

    fn value(&mut self, depth: usize) -> Option<()> {
        match self.rest.first()? {
            b'"' => self.text().map(|_| ()),
            b'{' => self.members(depth, |_, _| {}),
            b'[' => self.items(depth),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => self.number(),
        }
    }

    fn members(&mut self, depth: usize, mut seen: impl FnMut(&'a [u8], &'a [u8])) -> Option<()> {
        self.take(b'{')?;
        if depth == EVENT_DEPTH_MAX {
            return None;
        }
        let mut before = None;
        while self.rest.first() != Some(&b'}') {
            self.member(&mut before, depth, &mut seen)?;
        }
        self.take(b'}')
    }

    /// Reads a member behind the one whose name is `before`, with the comma between both.
    fn member(&mut self, before: &mut Option<&'a [u8]>, depth: usize, seen: &mut impl FnMut(&'a [u8], &'a [u8])) -> Option<()> {
        if before.is_some() {
            self.take(b',')?;
        }
        let Text { bytes: name, has_escape } = self.text()?;
        // The canonical order compares UTF-16 units. UTF-8 bytes sort in the same order below U+E000, whose first byte is 0xEE.
        let sorts_as_it_is = !has_escape && (self.is_ascii || name.iter().all(|byte| *byte < 0xEE));
        if !sorts_as_it_is || before.is_some_and(|before| !is_sorted(before, name)) {
            return None;
        }
        *before = Some(name);
        self.take(b':')?;
        let value = self.rest;
        self.value(depth + 1)?;
        seen(name, &value[..value.len() - self.rest.len()]);
        Some(())
    }

    fn items(&mut self, depth: usize) -> Option<()> {
        self.take(b'[')?;
        if depth == EVENT_DEPTH_MAX {
            return None;
        }
        let mut is_first = true;
        while self.rest.first() != Some(&b']') {
            if !is_first {
                self.take(b',')?;
            }
            is_first = false;
            self.value(depth + 1)?;
        }
        self.take(b']')
    }

    /// Reads a text.
    fn text(&mut self) -> Option<Text<'a>> {
        self.take(b'"')?;
        let (text, mut has_escape) = (self.rest, false);
        loop {
            self.rest = &self.rest[plain_length(self.rest)?..];
            match self.rest {
                [b'"', rest @ ..] => {
                    let length = text.len() - self.rest.len();
                    self.rest = rest;
                    return Some(Text { bytes: &text[..length], has_escape });
                }
                [b'\\', b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't', rest @ ..] => self.rest = rest,
                [b'\\', b'u', b'0', b'0', high, low, rest @ ..] if is_only_escape(*high, *low) => self.rest = rest,
                _ => return None,
            }
            has_escape = true;
        }
    }

    fn number(&mut self) -> Option<()> {
        let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
        let length = self.rest.iter().position(|byte| !is_part(byte)).unwrap_or(self.rest.len());
        let (number, rest) = self.rest.split_at(length);
        self.rest = rest;
        let digits = number.strip_prefix(b"-").unwrap_or(number);
        let is_whole = digits.len() <= DIGITS_SAFE && digits.iter().all(u8::is_ascii_digit);
        match digits.first()? {
            b'1'..=b'9' if is_whole => Some(()),
            b'0' if number.len() == 1 => Some(()),
            _ => {
                self.numbers = Numbers::Any;
                let read: Number = serde_json::from_slice(number).ok()?;
                (json::canonical(&read).ok()? == number).then_some(())
            }
        }
    }
}

/// A text in canonical bytes.
struct Text<'a> {
    /// The bytes between its quotes.
    bytes: &'a [u8],
    has_escape: bool,
}

/// Whether the name `before` stands before `name` in the order of bytes.
fn is_sorted(before: &[u8], name: &[u8]) -> bool {
    // Most neighbours differ in their first letter, and then the call that compares the rest is saved.
    match (before.first(), name.first()) {
        (Some(left), Some(right)) if left != right => left < right,
        _ => before < name,
    }
}

/// How many bytes stand for themselves until a quote, a backslash or a control character comes; `None` if none comes.
///
/// All events are read this way to make leaves and to verify, so eight bytes are looked at together, and more of a long text.
fn plain_length(bytes: &[u8]) -> Option<usize> {
    const fn each(byte: u8) -> u64 {
        u64::from_le_bytes([byte; 8])
    }
    const HIGH_BITS: u64 = each(0x80);
    // A byte below `bound` gets its high bit, unless it had it. A borrow can mark only a byte behind one that is marked rightly, and the
    // first mark is the one that counts.
    let below = |word: u64, bound: u8| word.wrapping_sub(each(bound)) & !word & HIGH_BITS;
    let first = |words: &[[u8; 8]]| {
        words.iter().enumerate().find_map(|(place, word)| {
            let word = u64::from_le_bytes(*word);
            let marks = below(word, 0x20) | below(word ^ each(b'"'), 1) | below(word ^ each(b'\\'), 1);
            (marks != 0).then(|| place * 8 + marks.trailing_zeros() as usize / 8)
        })
    };
    let is_other = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
    let (words, _) = bytes.as_chunks::<8>();
    if let Some(place) = first(&words[..words.len().min(WORDS_SHORT)]) {
        return Some(place);
    }
    // Without a way out of its middle, this loop over a chunk becomes a few wide instructions.
    let is_plain = |chunk: &&[u8; LONG_BYTES]| !chunk.iter().fold(false, |found, byte| found | is_other(byte));
    let (chunks, _) = bytes.as_chunks::<LONG_BYTES>();
    let begin = chunks.iter().take_while(is_plain).count() * LONG_BYTES;
    let (words, rest) = bytes[begin..].as_chunks::<8>();
    let place = first(words).or_else(|| Some(words.len() * 8 + rest.iter().position(is_other)?))?;
    Some(begin + place)
}

/// Whether `\u00` with these digits is the only way to write a control character, because it has no shorter one.
fn is_only_escape(high: u8, low: u8) -> bool {
    match (high, low) {
        (b'0', b'8' | b'9' | b'a' | b'c' | b'd') => false,
        (b'0' | b'1', b'0'..=b'9' | b'a'..=b'f') => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn passes(text: &str) -> bool {
        links(text.as_bytes()).is_some()
    }

    /// The verdict of the general canonicalizer.
    fn is_canonical(text: &str) -> bool {
        serde_json::from_str::<Value>(text).is_ok_and(|value| json::canonical(&value).is_ok_and(|bytes| bytes == text.as_bytes()))
    }

    fn samples() -> Vec<Value> {
        let escapes: String =
            (0..0x20).map(char::from).chain(['"', '\\', '/', '\u{7f}', '\u{d7ff}', '\u{e000}', '\u{1f600}']).collect();
        vec![
            json!({}),
            json!({"a": [], "b": {}, "c": [[], {}, [true, false, null], ""]}),
            json!({"a": [0, -1, 1, 10, 0.5, 499.99, 1e21, 1e-7, 5e-324, f64::MAX, 123_456_789.25]}),
            json!({"a": [999_999_999_999_999_i64, INTEGER_MAX, -INTEGER_MAX]}),
            json!({"": 0, "B": 1, "a": {"aa": escapes.as_str(), "ab": 2, "z": 3}, "é": 4, "\u{d7ff}": 5}),
        ]
    }

    #[test]
    fn what_is_written_canonically_passes() {
        for value in samples() {
            let text = String::from_utf8(json::canonical(&value).unwrap()).unwrap();
            assert!(passes(&text), "{text}");
            assert_eq!(in_order(&value).unwrap(), text.as_bytes());
        }
    }

    /// Each byte is taken for what it is at each place among the eight that are looked at together, beside each other byte.
    #[test]
    fn plain_bytes_end_at_the_first_other_one() {
        let is_plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
        for length in (0..20).chain([31, 32, 33, 47, 48, 70, 97]) {
            for place in (0..length).filter(|place| length < 20 || place % 5 == 0 || place + 9 > length) {
                for byte in 0..=u8::MAX {
                    for behind in [b'a', 0, 0x1f, 0x20, 0x21, b'"', b'#', b'\\', b']', 0x7f, 0x80, 0xff] {
                        let mut bytes = vec![b'a'; length];
                        bytes[place] = byte;
                        bytes[place + 1..].fill(behind);
                        let first = bytes.iter().position(|byte| !is_plain(*byte));
                        assert_eq!(plain_length(&bytes), first, "{bytes:?}");
                    }
                }
            }
        }
    }

    /// Only canonical bytes pass the quick check, so that a log that was tampered with does not pass because it was checked
    /// quickly.
    #[test]
    fn nothing_passes_that_is_not_canonical() {
        for text in [
            "",
            "{",
            "{}}",
            "{} ",
            " {}",
            "{,}",
            r#"{"a"}"#,
            r#"{"a":}"#,
            r#"{"a":1,}"#,
            r#"{"a":1"b":2}"#,
            r#"{"a" :1}"#,
            r#"{"a": 1}"#,
            r#"{"b":1,"a":2}"#,
            r#"{"a":1,"a":2}"#,
            r#"{"\u0061":1}"#,
            r#"{"a":[1,]}"#,
            r#"{"a":[,1]}"#,
            r#"{"a":[1 ,2]}"#,
            r#"{"a":[1}"#,
            r#"{"a":tru}"#,
            r#"{"a":nul1}"#,
            r#"{"a":01}"#,
            r#"{"a":-0}"#,
            r#"{"a":-01}"#,
            r#"{"a":+1}"#,
            r#"{"a":-}"#,
            r#"{"a":1.0}"#,
            r#"{"a":1e3}"#,
            r#"{"a":1E400}"#,
            r#"{"a":0.10}"#,
            r#"{"a":9007199254740993}"#,
            r#"{"a":"\/"}"#,
            r#"{"a":"\u0041"}"#,
            r#"{"a":"\u000a"}"#,
            r#"{"a":"\u001F"}"#,
            r#"{"a":"\u0020"}"#,
            r#"{"a":"\"}"#,
            r#"{"a":"\x"}"#,
            "{\"a\":\"\n\"}",
            "{\"\u{1f600}\":1,\"\u{e000}\":2,\"a\":3}",
            // Their bytes are in order, and their characters are not.
            "{\"a\":3,\"\u{e000}\":1,\"\u{1f600}\":2}",
            r#"{"A":1,"\n":2}"#,
        ] {
            assert!(!is_canonical(text), "a wrong case: {text}");
            assert!(!passes(text), "{text}");
        }
        assert_eq!(links(b"{\"a\":\"\xff\"}"), None);
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(!passes(&deep));
    }

    /// Removes, doubles and exchanges each byte of each sample, and checks that whatever still passes is canonical by the
    /// general way, too.
    #[test]
    fn whatever_passes_after_a_change_of_a_byte_is_canonical_the_general_way() {
        let mut passed = 0;
        for value in samples() {
            let honest = json::canonical(&value).unwrap();
            for place in 0..honest.len() {
                let others = b"\"\\{}[]:,. 0-1e9aEutz\x1f\xc3";
                let changes = others.iter().map(|other| vec![*other]).chain([vec![], vec![honest[place]; 2]]);
                for change in changes {
                    let mut bytes = honest.clone();
                    bytes.splice(place..=place, change);
                    let Ok(text) = String::from_utf8(bytes) else { continue };
                    if let Some(open) = text.strip_suffix('}') {
                        let numbers = open_members(open.as_bytes(), |_, _| {});
                        assert_eq!(numbers.is_some(), passes(&text), "{text}");
                    }
                    if passes(&text) {
                        passed += 1;
                        assert!(is_canonical(&text), "{text}");
                    }
                }
            }
        }
        assert!(passed > 1_000, "a text with another letter is as canonical: {passed}");
    }

    /// Without its last brace an object is read alike, so that no event passes within a served one that would not pass alone.
    #[test]
    fn an_object_without_its_last_brace_has_the_same_members() {
        for value in samples() {
            let bytes = json::canonical(&value).unwrap();
            let (mut whole, mut open) = (Vec::new(), Vec::new());
            members(&bytes, |name, value| whole.push((name, value))).unwrap();
            open_members(&bytes[..bytes.len() - 1], |name, value| open.push((name, value))).unwrap();
            assert_eq!(open, whole, "{value}");
        }
        for text in [
            "",
            "{\"a\":1,",
            "{\"a\":1}",
            "{\"a\":1}}",
            "{\"a\":",
            "{\"a\"",
            "{\"b\":1,\"a\":1",
            "{\"a\":{\"b\":1",
            "[",
            "{\"a\":1 ",
        ] {
            assert_eq!(open_members(text.as_bytes(), |_, _| {}), None, "{text}");
        }
        assert_eq!(open_members(b"{\"a\":\"\xff\"", |_, _| {}), None);
        for (number, numbers) in [
            ("-7", Numbers::Short),
            ("999999999999999", Numbers::Short),
            ("\"9007199254740993\"", Numbers::Short),
            ("1000000000000000", Numbers::Any),
            ("9007199254740992", Numbers::Any),
            ("-1000000000000000", Numbers::Any),
            ("0.5", Numbers::Any),
        ] {
            let text = format!("{{\"a\":[{{\"b\":{number}}}],\"c\":1");
            assert_eq!(open_members(text.as_bytes(), |_, _| {}), Some(numbers), "{text}");
        }
    }

    #[test]
    fn the_links_are_those_of_the_event_itself() {
        let text = r#"{"payload":{"previous_event_hash":"x","sequence":9},"previous_event_hash":"sha256:y","sequence":12}"#;
        let of = |sequence: &'static str, previous: &'static str| {
            Some(Links { sequence: sequence.as_bytes().into(), previous: previous.as_bytes().into() })
        };
        assert_eq!(links(text.as_bytes()), of("12", "\"sha256:y\""));
        assert_eq!(links(b"{}"), of("null", "null"));
    }
}
