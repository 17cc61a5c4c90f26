//! Whether two texts look alike to a person.

use unicode_normalization::UnicodeNormalization as _;
use unicode_security::confusable_detection::skeleton as prototype;

use crate::base::text::is_invisible;

/// The look of `text`: two texts with one skeleton can be mistaken for each other. It is for comparing, never for showing.
///
/// Compatibility forms (`Ｄｅｎｙ`, `𝗗𝗲𝗻𝘆`), case, look-alikes of other scripts (Cyrillic `е`) and characters that show nothing make no
/// difference (NFKC, case folding and the table of confusables of Unicode TS 39).
pub fn skeleton(text: &str) -> String {
    let plain: String = text.nfkc().filter(|c| !is_invisible(*c)).collect();
    // Look-alikes are replaced before the case is folded, because a capital looks like other letters than its small one:
    // `I` is an `l`, `Ρ` is a `p`.
    let seen: String = prototype(&plain).flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
    // They are replaced once more, because folding may have made a letter with a look-alike. An `i` may have
    // been an `I`, which is an `l`.
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
