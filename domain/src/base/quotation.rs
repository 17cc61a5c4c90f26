//! Removes secrets from text of other programs: a mail server quotes the mail it refuses, and with it the answer link.
//!
//! Guarantee: no part of a quoted link that helps to guess it is kept, in whatever pieces and encoding it was quoted. Mechanism:
//! if the link is known, the text is searched for the characters of the link, whatever stands between them; if it is unknown, the
//! text is searched for everything that could be a link. Failure: if an honest reply happens to look like a link, only its status
//! code is kept.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// The prefix of every answer link's token, by which a scanner for leaked secrets can recognise one.
pub const LINK_PREFIX: &str = "plc_";
/// The length of a piece of a secret, in letters and digits. A reply that quotes a piece of this length is not kept.
const PIECE: usize = 6;
/// A word of at least this length that has letters of both cases and digits counts as a part of a token, and not as a word that
/// a person wrote.
const OPAQUE_MIN: usize = 20;
/// The longest code at the beginning of a reply, for example `550 5.7.1`.
const CODE_MAX: usize = 12;

/// The text of a reply if it quotes nothing of `secret`, or else only the reply's status code.
#[must_use]
pub fn without_secret(text: &str, secret: &str) -> String {
    let pieces: HashSet<Vec<u8>> = forms(secret.as_bytes()).iter().flat_map(|form| pieces(form)).collect();
    let quotes = |view: &str| plain(view).windows(PIECE).any(|piece| pieces.contains(piece));
    if views(text).iter().any(|view| quotes(view)) { code_of(text) } else { text.to_owned() }
}

/// The text of a reply without the tokens of answer links. A token that stands there as it is, or broken across lines of
/// quoted-printable, is cut out; if anything else could be a part of a token, only the status code of the reply is kept.
#[must_use]
pub fn without_links(text: &str) -> String {
    let joined = text.replace("=\r\n", "").replace("=\n", "");
    let mut parts = joined.split(LINK_PREFIX);
    let mut clean = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        clean.push('…');
        clean.push_str(part.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')));
    }
    let begins: Vec<Vec<u8>> = forms(LINK_PREFIX.as_bytes());
    let holds_one = |view: &String| {
        let plain = plain(view);
        let encoded = begins[1..].iter().any(|begin| plain.windows(begin.len()).any(|window| window == begin));
        encoded || view.contains(LINK_PREFIX)
    };
    if views(&clean).iter().any(holds_one) || is_broken_up(&clean) || has_opaque_word(&clean) {
        return code_of(&clean);
    }
    clean
}

/// Whether the text holds the prefix of a token with other characters between those of the prefix.
fn is_broken_up(text: &str) -> bool {
    let kept: String = text.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')).collect();
    kept.contains(LINK_PREFIX)
}

fn has_opaque_word(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '-' | '_' | '=');
    text.split(|c| !is_part(c)).any(|word| {
        let has = |of: fn(&u8) -> bool| word.bytes().any(|byte| of(&byte));
        word.len() >= OPAQUE_MIN && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit)
    })
}

/// The status code at the beginning of a mail server's reply (such as `550 5.7.1`), with a note that the rest is not kept.
fn code_of(text: &str) -> String {
    let code: String = text.chars().take(CODE_MAX).take_while(|c| c.is_ascii_digit() || matches!(c, '.' | ' ' | '-')).collect();
    format!("{} (the rest quotes the message and is not kept)", code.trim_end()).trim_start().to_owned()
}

/// The text as it is, and decoded from the encodings of mails and URLs: `=70` and `%70`.
fn views(text: &str) -> [String; 3] {
    // The text may hold marks like `⟨U+000D⟩`, which stand for invisible characters. A mark could separate two halves of a
    // token, so the marks are removed.
    let mut plain = String::with_capacity(text.len());
    for (at, part) in text.split('⟨').enumerate() {
        let shown = if at > 0 { part.split_once('⟩').map_or(part, |(_, rest)| rest) } else { part };
        plain.push_str(shown);
    }
    let (printable, percent) = (decoded(&plain, '='), decoded(&plain, '%'));
    [plain, printable, percent]
}

/// The text, in which each `mark` with two hexadecimal digits is replaced by the character that they stand for.
fn decoded(text: &str, mark: char) -> String {
    let mut parts = text.split(mark);
    let mut decoded = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                decoded.push(char::from(byte));
                decoded.push_str(&part[2..]);
            }
            None => decoded.push_str(part),
        }
    }
    decoded
}

/// A secret as it is, and as base64 writes it if it begins at the first, second or third byte of a group of three.
fn forms(secret: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = vec![plain(&String::from_utf8_lossy(secret))];
    for before in 0..3_usize {
        let mut bytes = vec![0; before];
        bytes.extend_from_slice(secret);
        let encoded = STANDARD_NO_PAD.encode(&bytes);
        // The first and last characters are left out if they also hold bits of the neighbouring bytes.
        let (start, end) = ((before * 8).div_ceil(6), bytes.len() * 8 / 6);
        forms.push(plain(encoded.get(start..end).unwrap_or_default()));
    }
    forms
}

/// Only the letters and digits, in small letters: they survive however the text was broken.
fn plain(text: &str) -> Vec<u8> {
    text.bytes().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_lowercase()).collect()
}

/// The pieces of a form that reveal some of it; a piece of one repeated letter reveals nothing.
fn pieces(form: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    form.windows(PIECE).filter(|piece| piece.iter().any(|byte| *byte != piece[0])).map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    const TOKEN: &str = "plc_AAAAAAAAAAdq7hXk0Yw3v-T_9mZQ1nB4cR8sLfGjPuEoI2yWVxDaKtHz";

    fn printable(text: &str) -> String {
        hex(text, '=').to_uppercase()
    }

    /// Each byte as two digits behind a mark.
    fn hex(text: &str, mark: char) -> String {
        text.bytes().fold(String::new(), |mut hex, byte| {
            write!(hex, "{mark}{byte:02x}").unwrap();
            hex
        })
    }

    /// Many ways in which a mail server may quote a part of a mail: none of them may leave a part of the link in the log.
    fn quotations() -> Vec<String> {
        let mut all = vec![
            TOKEN.to_owned(),
            TOKEN[20..].to_owned(),
            TOKEN.to_uppercase(),
            printable(TOKEN),
            printable(TOKEN).to_lowercase(),
            hex(TOKEN, '%'),
            TOKEN.chars().flat_map(|c| [c, ' ']).collect(),
            TOKEN.replace('_', "⟨U+000D⟩_"),
        ];
        for at in 1..TOKEN.len() {
            for between in ["=\r\n", "=\n", "=", "= ", "\r\n", "\n> ", " ", "⟨U+000D⟩ ", "=⟨U+000D⟩ ", "=3D", "-\r\n"] {
                all.push(format!("{}{between}{}", &TOKEN[..at], &TOKEN[at..]));
            }
        }
        for before in 0..3 {
            let encoded = STANDARD_NO_PAD.encode(format!("{}https://placet.example/a/{TOKEN} Thank you", &"xyz"[..before]));
            let lines: Vec<&str> = encoded.as_bytes().chunks(38).map(|line| str::from_utf8(line).unwrap()).collect();
            all.extend([encoded.clone(), lines.join("\r\n"), lines.join(" ")]);
        }
        all
    }

    #[test]
    fn nothing_of_a_known_secret_is_kept() {
        for quotation in quotations() {
            let reply = format!("554 5.7.1 refused: https://placet.example/a/{quotation} in line 3");
            assert_eq!(without_secret(&reply, TOKEN), "554 5.7.1 (the rest quotes the message and is not kept)", "{quotation}");
        }
        for honest in ["250 2.0.0 Ok: queued as 4bXyZ12abcDEF", "550 5.1.1 <a@b.example>: user unknown", "", "timeout after 15 s"]
        {
            assert_eq!(without_secret(honest, TOKEN), honest);
        }
    }

    /// It is not known which links a returned mail contained, so everything that could be a link must be removed.
    #[test]
    fn nothing_that_could_be_a_link_is_kept() {
        let alphanumeric = |text: &str| plain(text);
        let secret: Vec<Vec<u8>> = forms(TOKEN.as_bytes()).iter().flat_map(|form| pieces(form)).collect();
        for quotation in quotations().iter().filter(|quotation| quotation.len() > 45) {
            let kept = without_links(&format!("554 5.7.1 refused: https://placet.example/a/{quotation} in line 3"));
            let given_away = alphanumeric(&kept).windows(PIECE).filter(|piece| secret.contains(&piece.to_vec())).count();
            assert!(given_away <= OPAQUE_MIN, "{quotation}: {kept}");
        }
        for (text, clean) in [
            (format!("552 <https://placet.example/a/{TOKEN}> refused"), "552 <https://placet.example/a/…> refused"),
            (format!("{TOKEN} {TOKEN}"), "… …"),
            (format!("{}=\r\n{}.", &TOKEN[..9], &TOKEN[9..]), "…."),
            ("550 5.1.1 no such mailbox".to_owned(), "550 5.1.1 no such mailbox"),
            ("452 4.2.2 over quota (4bXyZ12abc)".to_owned(), "452 4.2.2 over quota (4bXyZ12abc)"),
        ] {
            assert_eq!(without_links(&text), clean);
        }
    }
}
