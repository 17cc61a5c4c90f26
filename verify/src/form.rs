//! Takes a line of an export apart.
//!
//! There are two ways. The quick one reads a line that has exactly the form in which exports are written. If it fails, the slow
//! one parses the line as JSON and says what is wrong. Guarantee: a line that the quick way reads has no fault of form, and the
//! slow way reads the same in it; a test compares both.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::base::canonical::{HASH_NAME, Numbers, members, open_members};
use domain::base::json;
use proof::tree::NodeHash;
use serde_json::{Map, Value};

use crate::event::{Facts, Fields, Hash32, INTEGER_MAX, Misshapen, hash};
use crate::finding::Code;

/// A number of at most this many digits is always below [`INTEGER_MAX`].
const DIGITS_SAFE: usize = INTEGER_MAX.ilog10() as usize;
/// The number of characters of 32 bytes in base64url.
const HASH_CHARS: usize = 43;
/// The members of an event that its leaf does not have.
const PAYLOAD: &str = "payload";
const SALT: &str = "salt";

/// A line with an event.
#[derive(Debug)]
pub(crate) struct Line<'a> {
    pub(crate) number: u64,
    pub(crate) is_erased: bool,
    /// Whether the line is written in its one form.
    pub(crate) is_canonical: bool,
    /// The canonical bytes that the event's hash is computed from, without the last brace; empty for an erased event.
    pub(crate) event: &'a [u8],
    /// The leaf.
    pub(crate) leaf: &'a [u8],
    /// The hash that the event carries.
    pub(crate) hash: Hash32,
    pub(crate) facts: Result<Facts<'a>, Misshapen>,
    pub(crate) proof: Proof,
}

/// The path from a leaf to the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    /// A whole export has none.
    Absent,
    Path(Vec<NodeHash>),
    /// Something that is no list of hashes.
    Misshapen,
}

/// A line without an event.
#[derive(Debug)]
pub(crate) enum Other {
    /// An object that names the format.
    Header(Value),
    /// An object with a manifest.
    Manifest(Value),
    /// No line of an export.
    Fault(Misshapen),
}

/// Where an event's bytes are written while it is read.
#[derive(Default)]
pub(crate) struct Scratch {
    event: Vec<u8>,
    leaf: Vec<u8>,
    members: Vec<(String, Vec<u8>)>,
}

/// Takes a line apart; in a selection (`has_proofs`) each event has a proof.
pub(crate) fn read<'a>(line: &'a [u8], has_proofs: bool, scratch: &'a mut [Scratch; 2]) -> Result<Line<'a>, Other> {
    let [first, second] = scratch;
    match quick(line, has_proofs, first) {
        Some(line) => Ok(line),
        None => slow(line, has_proofs, second),
    }
}

fn quick<'a>(line: &'a [u8], has_proofs: bool, scratch: &'a mut Scratch) -> Option<Line<'a>> {
    let rest = line.strip_prefix(b"{\"leaf\":")?.strip_suffix(b"}")?;
    let (number, rest) = rest.split_at(rest.iter().position(|byte| !byte.is_ascii_digit())?);
    let number: u64 = match number {
        [b'0', _, ..] => None,
        number => str::from_utf8(number).ok().filter(|number| number.len() <= DIGITS_SAFE)?.parse().ok(),
    }?;
    let (rest, proof) = if has_proofs { split_proof(rest)? } else { (rest, Proof::Absent) };
    let mut fields = Fields::default();
    let Scratch { event, leaf, .. } = scratch;
    event.clear();
    if let Some(redacted) = rest.strip_prefix(b",\"redacted\":") {
        members(redacted, |name, value| fields.set(name, value))?;
        let hash = hash(fields.event_hash().strip_prefix(b"\"")?.strip_suffix(b"\"")?)?;
        let facts = Facts::read(&fields, true);
        let is_erased = true;
        return is_in_range(redacted).then_some(Line {
            number,
            is_erased,
            is_canonical: true,
            event,
            leaf: redacted,
            hash,
            facts,
            proof,
        });
    }
    let (event, hash_text) = cut(rest.strip_prefix(b",\"event\":")?)?;
    take_apart(event, hash_text, &mut fields, leaf)?;
    let (hash, facts) = (hash(hash_text)?, Facts::read(&fields, false));
    Some(Line { number, is_erased: false, is_canonical: true, event, leaf, hash, facts, proof })
}

/// Reads the members of an event, and writes its leaf: its bytes without the payload and the salt, and with its hash.
fn take_apart<'a>(event: &'a [u8], hash_text: &[u8], fields: &mut Fields<'a>, leaf: &mut Vec<u8>) -> Option<()> {
    leaf.clear();
    let (mut is_twice, mut is_written) = (false, false);
    // Where the next member begins, and the part of the event that is not yet in its leaf. Few long parts are copied in place of many
    // short ones.
    let (mut at, mut part) = (1, 0);
    let numbers = open_members(event, |name, value| {
        let begin = at;
        // Each member is `"name":value`, and a comma stands behind it.
        at += name.len() + value.len() + 4;
        is_twice |= name == HASH_NAME.as_bytes();
        if !is_written && name > HASH_NAME.as_bytes() {
            leaf.extend_from_slice(&event[part..begin]);
            for piece in [b"\"", HASH_NAME.as_bytes(), b"\":\"", hash_text, b"\","] {
                leaf.extend_from_slice(piece);
            }
            (is_written, part) = (true, begin);
        }
        if name == PAYLOAD.as_bytes() || name == SALT.as_bytes() {
            leaf.extend_from_slice(&event[part..begin]);
            part = at;
        }
        fields.set(name, value);
    })?;
    match event.get(part..) {
        Some(rest) => leaf.extend_from_slice(rest),
        // The last member is left out, and the comma before it as well.
        None => drop(leaf.pop()),
    }
    leaf.push(b'}');
    let is_in_range = numbers == Numbers::Short || is_in_range(event);
    (is_written && !is_twice && is_in_range).then_some(())
}

/// The stored members of a served event without the last brace, and the text of its hash.
fn cut(event: &[u8]) -> Option<(&[u8], &[u8])> {
    const BEFORE: &[u8] = b",\"event_hash\":\"";
    let (rest, _) = event.strip_suffix(b"\"}")?.split_last_chunk::<HASH_CHARS>()?;
    let stored = rest.strip_suffix(b"sha256:")?.strip_suffix(BEFORE)?;
    // Behind an opening brace alone, the comma would not be JSON.
    (stored.len() > 1).then(|| (stored, &event[stored.len() + BEFORE.len()..event.len() - 2]))
}

/// Splits the proof off the end of a line.
fn split_proof(rest: &[u8]) -> Option<(&[u8], Proof)> {
    let rest = rest.strip_suffix(b"]")?;
    // No hash has a bracket, so the last one begins the list.
    let (before, list) = rest.split_at(rest.iter().rposition(|byte| *byte == b'[')? + 1);
    let hash = |step: &[u8]| {
        let mut hash = [0; 33];
        let length = STANDARD.decode_slice(step.strip_prefix(b"\"")?.strip_suffix(b"\"")?, &mut hash).ok()?;
        hash[..length].try_into().ok()
    };
    let path: Option<_> = if list.is_empty() { Some(Vec::new()) } else { list.split(|byte| *byte == b',').map(hash).collect() };
    Some((before.strip_suffix(b",\"proof\":[")?, Proof::Path(path?)))
}

/// Whether all integers outside of texts lie within ±(2⁵³−1).
pub(crate) fn is_in_range(json: &[u8]) -> bool {
    // Most events have no number that could be too large: a run of so many digits covers a byte at a multiple of this step.
    let is_run = |place: usize| {
        let digits = |bytes: &mut dyn Iterator<Item = &u8>| bytes.take_while(|byte| byte.is_ascii_digit()).count();
        digits(&mut json[place..].iter()) + digits(&mut json[..place].iter().rev()) > DIGITS_SAFE
    };
    let step = DIGITS_SAFE + 1;
    if !(0..json.len()).step_by(step).any(|place| json[place].is_ascii_digit() && is_run(place)) {
        return true;
    }
    let mut rest = json;
    while let Some(place) = rest.iter().position(|byte| *byte == b'"' || byte.is_ascii_digit()) {
        let found = &rest[place..];
        if found[0] == b'"' {
            rest = behind_text(&found[1..]);
            continue;
        }
        let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
        let (number, behind) = found.split_at(found.iter().position(|byte| !is_part(byte)).unwrap_or(found.len()));
        rest = behind;
        let is_whole = number.iter().all(u8::is_ascii_digit);
        let number = str::from_utf8(number).ok().and_then(|number| number.parse::<u64>().ok());
        if is_whole && number.is_none_or(|number| number > INTEGER_MAX) {
            return false;
        }
    }
    true
}

/// The bytes behind a text's closing quote.
fn behind_text(mut rest: &[u8]) -> &[u8] {
    while let Some(place) = rest.iter().position(|byte| matches!(byte, b'"' | b'\\')) {
        let is_end = rest[place] == b'"';
        rest = rest.get(place + if is_end { 1 } else { 2 }..).unwrap_or(&[]);
        if is_end {
            return rest;
        }
    }
    &[]
}

fn fault(code: Code, text: impl Into<String>) -> Other {
    Other::Fault(Misshapen { code, text: text.into() })
}

/// Parses a line that is no object of an event in the one form, and says which object it is.
fn object(line: &[u8]) -> Result<Map<String, Value>, Other> {
    if str::from_utf8(line).is_err() {
        return Err(fault(Code::InvalidUtf8, "This line is not UTF-8 text, so it is no line of an export."));
    }
    let value = json::unambiguous(line).map_err(|error| match error.classify() {
        // The parser itself finds all faults of syntax; the one thing that is refused beyond them is a name that comes twice.
        serde_json::error::Category::Data => fault(
            Code::DuplicateMember,
            "An object in this line has two members of one name; two readers could see different events.",
        ),
        serde_json::error::Category::Syntax | serde_json::error::Category::Eof | serde_json::error::Category::Io => {
            fault(Code::NotJson, "This line is not JSON, so it is no line of an export.")
        }
    })?;
    if !is_in_range(line) {
        let text =
            "An integer in this line lies beyond \u{b1}(2^53\u{2212}1). Programs read it differently, so no export has one.";
        return Err(fault(Code::NumberOutOfRange, text));
    }
    if value.get("placet_export").is_some() {
        return Err(Other::Header(value));
    }
    if value.get("manifest").is_some() {
        return Err(Other::Manifest(value));
    }
    match value {
        Value::Object(members) => Ok(members),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(fault(Code::LineForm, "This line is not an object, so it is no line of an export."))
        }
    }
}

/// Reads a line with an event by parsing it.
fn slow<'a>(line: &[u8], has_proofs: bool, scratch: &'a mut Scratch) -> Result<Line<'a>, Other> {
    let members = object(line)?;
    let is_known = |name: &str| matches!(name, "leaf" | "event" | "redacted") || (name == "proof" && has_proofs);
    if let Some(name) = members.keys().find(|name| !is_known(name)) {
        let kind = if has_proofs { "selection" } else { "whole export" };
        let text = format!("The line has the member \"{name}\", which no line of a {kind} has.");
        return Err(fault(Code::UnknownMember, text));
    }
    let number = members.get("leaf").and_then(Value::as_u64).filter(|number| *number <= INTEGER_MAX);
    let (content, is_erased) = match (members.get("event"), members.get("redacted")) {
        (Some(Value::Object(event)), None) => (Some(event), false),
        (None, Some(Value::Object(leaf))) => (Some(leaf), true),
        _ => (None, false),
    };
    let (Some(number), Some(content)) = (number, content) else {
        return Err(fault(Code::LineForm, "The line is neither a header nor an event with its leaf's number nor a manifest."));
    };
    let proof = match (members.get("proof"), has_proofs) {
        (None, true) => return Err(fault(Code::ProofMissing, "The event has no proof, and in a selection each event has one.")),
        (None, false) => Proof::Absent,
        (Some(proof), _) => path(proof).map_or(Proof::Misshapen, Proof::Path),
    };
    let hash_text = content.get(HASH_NAME).and_then(Value::as_str).unwrap_or_default();
    let Some(hash) = hash(hash_text.as_bytes()) else {
        return Err(fault(Code::EventForm, "The event's member \"event_hash\" is missing or is no hash."));
    };
    let written =
        write(content, is_erased, scratch).map_err(|_| fault(Code::NotJson, "The line has a number that JSON cannot hold."))?;
    let proof_text = members.get("proof").and_then(|proof| json::canonical(proof).ok());
    let one_form = [
        format!("{{\"leaf\":{number},").as_bytes(),
        &written,
        if proof_text.is_some() { b",\"proof\":" } else { b"" },
        &proof_text.unwrap_or_default(),
        b"}",
    ]
    .concat();
    let mut fields = Fields::default();
    for (name, value) in &scratch.members {
        fields.set(name.as_bytes(), value);
    }
    let facts = Facts::read(&fields, is_erased);
    let (event, leaf) = (scratch.event.strip_suffix(b"}").unwrap_or_default(), &scratch.leaf);
    Ok(Line { number, is_erased, is_canonical: line == one_form, event, leaf, hash, facts, proof })
}

/// Writes the canonical bytes of an event and of its leaf; returns the member of the line in its one form.
fn write(content: &Map<String, Value>, is_erased: bool, scratch: &mut Scratch) -> Result<Vec<u8>, serde_json::Error> {
    let (mut event, mut leaf) = (content.clone(), content.clone());
    scratch.event.clear();
    scratch.members.clear();
    let hash = event.remove(HASH_NAME);
    let written = if is_erased {
        [b"\"redacted\":".as_slice(), &json::canonical(content)?].concat()
    } else {
        scratch.event = json::canonical(&event)?;
        leaf.remove(PAYLOAD);
        leaf.remove(SALT);
        let inner = &scratch.event[..scratch.event.len().saturating_sub(1)];
        [b"\"event\":".as_slice(), inner, b",\"event_hash\":", &json::canonical(&hash)?, b"}"].concat()
    };
    scratch.leaf = json::canonical(&leaf)?;
    for (name, value) in if is_erased { content } else { &event } {
        scratch.members.push((name.clone(), json::canonical(value)?));
    }
    Ok(written)
}

/// Reads a list of hashes.
fn path(proof: &Value) -> Option<Vec<NodeHash>> {
    let hash = |step: &Value| STANDARD.decode(step.as_str()?).ok()?.try_into().ok();
    proof.as_array()?.iter().map(hash).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: &str = concat!(
        r#"{"actor":"bot","created_at":"2026-11-21T08:13:35.889468","event_type":"x","#,
        r#""id":"01932f7a-05a1-7abc-8def-0123456789ab","log":"server","#,
        r#""payload":{"a":[1,0.5,"é\n\"","1234567890123456789"],"n":9007199254740991},"previous_event_hash":null,"#,
        r#""salt":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","sequence":1,"#,
        r#""event_hash":"sha256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}"#
    );
    const LEAF: &str = concat!(
        r#"{"actor":"bot","created_at":"2026-11-21T08:13:35.889468","#,
        r#""event_hash":"sha256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","event_type":"x","#,
        r#""id":"01932f7a-05a1-7abc-8def-0123456789ab","log":"server","previous_event_hash":null,"sequence":1}"#
    );
    const HASH: &str = r#""AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=""#;

    fn lines() -> Vec<(String, bool)> {
        vec![
            (format!("{{\"leaf\":0,\"event\":{EVENT}}}"), false),
            (format!("{{\"leaf\":12,\"redacted\":{LEAF}}}"), false),
            (format!("{{\"leaf\":123,\"event\":{EVENT},\"proof\":[]}}"), true),
            (format!("{{\"leaf\":123,\"event\":{EVENT},\"proof\":[{HASH}]}}"), true),
            (format!("{{\"leaf\":123,\"redacted\":{LEAF},\"proof\":[{HASH},{HASH}]}}"), true),
        ]
    }

    /// The parts that both ways must read alike.
    fn seen(line: &Line<'_>) -> String {
        let facts = line.facts.as_ref().map_err(|misshapen| misshapen.code);
        let texts = [line.event, line.leaf].map(String::from_utf8_lossy);
        format!("{} {} {} {texts:?} {:?} {facts:?} {:?}", line.number, line.is_erased, line.is_canonical, line.hash, line.proof)
    }

    #[test]
    fn a_line_in_its_one_form_is_read_the_quick_way() {
        for (line, has_proofs) in lines() {
            let mut scratch = <[Scratch; 2]>::default();
            let [first, second] = &mut scratch;
            let quick = quick(line.as_bytes(), has_proofs, first).unwrap_or_else(|| panic!("{line}"));
            assert!(quick.facts.is_ok(), "{line}");
            assert_eq!(seen(&quick), seen(&slow(line.as_bytes(), has_proofs, second).unwrap()), "{line}");
            assert!(super::quick(line.as_bytes(), !has_proofs, &mut Scratch::default()).is_none(), "{line}");
        }
    }

    /// Removes, doubles and exchanges each byte. If the quick way still reads the line, the slow way finds no fault of form in it
    /// and reads the same. So no change is overlooked because it is looked at quickly.
    #[test]
    fn both_ways_read_the_same_after_a_change_of_a_byte() {
        let mut passed = 0;
        for (line, has_proofs) in lines() {
            for place in 0..line.len() {
                let others = b"\"\\{}[]:,. 0-19eAz=\x1f\xc3".iter().map(|other| vec![*other]);
                for change in others.chain([vec![], vec![line.as_bytes()[place]; 2]]) {
                    let mut bytes = line.clone().into_bytes();
                    bytes.splice(place..=place, change);
                    let [first, second] = &mut <[Scratch; 2]>::default();
                    let Some(quick) = quick(&bytes, has_proofs, first) else { continue };
                    passed += 1;
                    let text = String::from_utf8_lossy(&bytes);
                    let slow = slow(&bytes, has_proofs, second).unwrap_or_else(|other| panic!("{text}: {other:?}"));
                    assert!(slow.is_canonical, "{text}");
                    assert_eq!(seen(&quick), seen(&slow), "{text}");
                }
            }
        }
        assert!(passed > 1_000, "an event with another letter has the same form: {passed}");
    }

    /// The leaf is cut out of the event's bytes, so it must be right wherever the members stand that it does not have.
    #[test]
    fn the_leaf_of_an_odd_event_is_the_same_both_ways() {
        let hash = "sha256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
        for members in [
            r#""payload":{}"#,
            r#""salt":1"#,
            r#""payload":{"payload":1},"salt":",""#,
            r#""a":1,"payload":{},"salt":1"#,
            r#""a":1,"payload":{},"z":2"#,
            r#""a":[1,{"salt":2}],"f":1,"payload":{},"salt":1,"z":{"payload":3}"#,
            r#""f":"é","payload":1,"q":2,"salt":1"#,
            r#""f":1"#,
        ] {
            let line = format!("{{\"leaf\":7,\"event\":{{{members},\"event_hash\":\"{hash}\"}}}}");
            let [first, second] = &mut <[Scratch; 2]>::default();
            let quick = quick(line.as_bytes(), false, first).unwrap_or_else(|| panic!("{line}"));
            assert_eq!(seen(&quick), seen(&slow(line.as_bytes(), false, second).unwrap()), "{line}");
        }
        // Without a member behind it, the hash has no place in the leaf that the quick way finds.
        // Nor is a number read the quick way that is too large.
        for members in [r#""a":1"#, r#""event_hash":1,"f":2"#, r#""b":1,"a":2"#, r#""f":1,"n":9007199254740992"#] {
            let line = format!("{{\"leaf\":7,\"event\":{{{members},\"event_hash\":\"{hash}\"}}}}");
            assert!(super::quick(line.as_bytes(), false, &mut Scratch::default()).is_none(), "{line}");
        }
    }

    #[test]
    fn the_leaf_is_the_one_of_the_server() {
        let line = format!("{{\"leaf\":0,\"event\":{EVENT}}}");
        let sealed = domain::base::sealed::Sealed::from_served_bytes(EVENT.as_bytes()).unwrap();
        let mut scratch = <[Scratch; 2]>::default();
        let read = read(line.as_bytes(), false, &mut scratch).unwrap();
        assert_eq!([read.event, b"}"].concat(), sealed.bytes);
        assert_eq!(read.leaf, proof::leaf::of(&sealed).unwrap());
    }

    #[test]
    fn only_integers_outside_of_texts_are_too_large() {
        for (text, is_right) in [
            ("", true),
            ("[9007199254740991,-9007199254740991]", true),
            ("[9007199254740992]", false),
            ("[-9007199254740992]", false),
            ("[1234567890123456789012345678901234567890]", false),
            ("[0.12345678901234567890]", true),
            ("[1.2345678901234567e+25,1e300]", true),
            (r#"["9007199254740992"]"#, true),
            (r#"["\"9007199254740992"]"#, true),
            (r#"["\\",9007199254740992,""]"#, false),
            (r#"{"9007199254740992":9007199254740992}"#, false),
        ] {
            for padding in 0..20 {
                let text = format!("{}{text}", " ".repeat(padding));
                assert_eq!(is_in_range(text.as_bytes()), is_right, "{text}");
            }
        }
        // An unfinished text must not be read beyond its end.
        for text in ["\"1234567890123456789\\", "1234567890123456\"\\\"", "\"9007199254740992"] {
            is_in_range(text.as_bytes());
        }
    }
}
