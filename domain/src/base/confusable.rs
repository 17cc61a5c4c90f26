//! Whether two texts look alike to a person.

use std::sync::LazyLock;

use unicode_security::confusable_detection::skeleton as prototype;

use crate::base::text::{is_invisible, nfkc};

/// The skeletons of the ASCII characters. Most texts are ASCII, and no ASCII character changes how another one looks, so the
/// skeleton of an ASCII text is put together from these.
static OF_ASCII: LazyLock<[String; 128]> = LazyLock::new(|| {
    std::array::from_fn(|code| of_unicode(u8::try_from(code).map(char::from).unwrap_or_default().encode_utf8(&mut [0; 4])))
});

/// The skeleton of `text`: texts with the same skeleton can be mistaken for each other. It is for comparing, never for showing.
///
/// Compatibility forms (`Ｄｅｎｙ`, `𝗗𝗲𝗻𝘆`), case, look-alikes of other scripts (Cyrillic `е`) and characters that show nothing make no
/// difference (NFKC, case folding and the table of confusables of Unicode TS 39).
pub fn skeleton(text: &str) -> String {
    if text.is_ascii() {
        return text.bytes().map(|byte| OF_ASCII[usize::from(byte)].as_str()).collect();
    }
    of_unicode(text)
}

fn of_unicode(text: &str) -> String {
    let plain: String = nfkc(text).chars().filter(|c| !is_invisible(*c)).collect();
    // Look-alikes are replaced before the case is folded, because a capital letter and its small letter have different
    // look-alikes: `I` looks like `l`, and the Greek `Ρ` like `P`.
    let seen: String = prototype(&plain).flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
    // Look-alikes are replaced once more, because folding may have made a letter that has a look-alike. An `i` becomes an `l`,
    // because it may have been an `I`, which looks like an `l`.
    prototype(&seen).map(|c| if c == 'i' { 'l' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_look_alike_have_one_skeleton() {
        let pairs = [
            ("Deny", "deny"),
            ("𝗗𝗲𝗻𝘆", "deny"),
            ("Ｄｅｎｙ", "deny"),
            ("D\u{435}ny", "deny"),
            ("d\u{200B}e\u{AD}n\u{2060}y", "deny"),
            ("рlасеt", "placet"),
            ("pIacet", "placet"),
            ("p1acet", "placet"),
            ("PLACET", "placet"),
            ("ΡLACΕΤ", "placet"),
            ("ⓟⓛⓐⓒⓔⓣ", "placet"),
            ("DENIED", "denied"),
            ("STRASSE", "straße"),
        ];
        for (one, other) in pairs {
            assert_eq!(skeleton(one), skeleton(other), "{one} {other}");
        }
    }

    /// The short way for ASCII gives the skeleton that the tables of Unicode give, for every pair of ASCII characters. Each pair
    /// stands in the middle of a word, so that each character is tried with other characters on both sides.
    #[test]
    fn the_table_of_ascii_says_the_same_as_the_tables_of_unicode() {
        for (one, other) in (0..128_u8).flat_map(|one| (0..128_u8).map(move |other| (one, other))) {
            let text = format!("a{}{}z", char::from(one), char::from(other));
            assert_eq!(skeleton(&text), of_unicode(&text), "{text:?}");
        }
    }

    #[test]
    fn texts_that_differ_to_the_eye_have_different_skeletons() {
        let words = ["deny", "approve", "placet", "planet", "dény", "日本", "日木", "yes", "no", "", "placets", "مرحبا"];
        for (at, one) in words.iter().enumerate() {
            for other in &words[at + 1..] {
                assert_ne!(skeleton(one), skeleton(other), "{one} {other}");
            }
        }
    }
}
