//! Numbers as people read and write them.
//!
//! Guarantee: a text is read as one number or as none, and never as two numbers in two languages. Mechanism: a point is never a
//! decimal point where it could be the mark of thousands to a reader of this language, and a comma is read in German alone, as the decimal
//! mark. Failure: a text that could be two numbers is refused, with both ways to write it.

use serde_json::{Number, Value};

use crate::base::json;
use crate::base::words::Language;

/// A text that is no number that can be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unread {
    /// It is no number.
    NoNumber,
    /// It is a number that is written in another way.
    Written(String),
    /// It can be a large number with a mark of thousands, or a small one with decimals: both, as they are written.
    TwoNumbers(String, String),
}

impl Unread {
    /// The sentence that begins with the field's label.
    pub fn sentence(&self, language: Language) -> String {
        match self {
            Self::NoNumber => language.number_needed().to_owned(),
            Self::Written(number) => language.number_is_written(number),
            Self::TwoNumbers(large, small) => language.number_is_ambiguous(large, small),
        }
    }
}

/// The number in a text. A person is asked again about `1e999`, `NaN` and whole numbers that JSON parsers would round.
///
/// # Errors
///
/// Why the text is no number.
pub fn read(text: &str, language: Language) -> Result<Value, Unread> {
    let [decimal, thousands] = match language {
        Language::English => ['.', ','],
        Language::German => [',', '.'],
    };
    if !text.contains([',', '.']) {
        return plain(text);
    }
    if let Some(whole) = without(text, thousands) {
        return Err(if text.matches(thousands).count() == 1 {
            Unread::TwoNumbers(whole, text.replace(thousands, &decimal.to_string()))
        } else {
            Unread::Written(whole)
        });
    }
    // A point that cannot be a mark of thousands is the decimal point of English pages and of programs.
    if !text.contains(',') {
        return plain(text);
    }
    let (whole, decimals) = match language {
        Language::English => text.rsplit_once(['.', ',']),
        Language::German => text.split_once(','),
    }
    .unwrap_or((text, ""));
    let whole = without(whole, thousands).unwrap_or_else(|| whole.to_owned());
    let meant = format!("{whole}.{decimals}");
    let number = plain(&meant)?;
    match language {
        Language::English => Err(Unread::Written(meant)),
        Language::German => Ok(number),
    }
}

/// A number as people of this language write it.
pub fn written(number: &Number, language: Language) -> String {
    in_words(&number.to_string(), language)
}

/// The text of a number in JSON as people of this language write it.
pub(super) fn in_words(number: &str, language: Language) -> String {
    match language {
        Language::English => number.to_owned(),
        Language::German => number.replace('.', ","),
    }
}

/// The number in a text that is a number in JSON. A text with more digits than a number can hold is refused with the number that it would
/// become, because the person would approve another number than the one on the screen.
fn plain(text: &str) -> Result<Value, Unread> {
    let number = json::parse(text.as_bytes()).ok().filter(Value::is_number).ok_or(Unread::NoNumber)?;
    let kept = number.to_string();
    match (digits(text), digits(&kept)) {
        (typed, held) if typed == held => Ok(number),
        (_, held) if held.is_empty() => Err(Unread::NoNumber),
        _ => Err(Unread::Written(kept)),
    }
}

/// The digits of a number in JSON without those that only say how large it is: zeros at both ends, and the exponent.
fn digits(number: &str) -> String {
    let mantissa = number.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    digits.trim_matches('0').to_owned()
}

/// The digits of a number with marks of thousands, without these marks; `None` if it has none, or has them elsewhere.
fn without(text: &str, mark: char) -> Option<String> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (first, rest) = digits.split_once(mark)?;
    let are_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let begins = (1..=3).contains(&first.len()) && are_digits(first) && !first.starts_with('0');
    let goes_on = rest.split(mark).all(|part| part.len() == 3 && are_digits(part));
    (begins && goes_on).then(|| text.replace(mark, ""))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_comma_is_the_decimal_mark_in_german_alone() {
        let german = |text: &str| read(text, Language::German);
        for (text, number) in [
            ("41,50", json!(41.50)),
            ("-0,5", json!(-0.5)),
            ("1.234,50", json!(1234.50)),
            ("-1.234.567,5", json!(-1_234_567.5)),
            ("250000", json!(250_000)),
            ("41.50", json!(41.50)),
            ("0.125", json!(0.125)),
            ("1,5e3", json!(1500.0)),
            ("1234.567", json!(1234.567)),
        ] {
            assert_eq!(german(text), Ok(number), "{text}");
        }
        let two = |large: &str, small: &str| Err(Unread::TwoNumbers(large.to_owned(), small.to_owned()));
        assert_eq!(german("1.000"), two("1000", "1,000"));
        assert_eq!(german("-12.345"), two("-12345", "-12,345"));
        assert_eq!(german("1.234.567"), Err(Unread::Written("1234567".to_owned())));
        for text in ["1,2,3", "1,", ",5", "1.23,4", "1,234.5", "1,000.000", "a", "NaN", "1e999", "0x10", "--1", "01,5"] {
            assert_eq!(german(text), Err(Unread::NoNumber), "{text}");
        }
    }

    /// A number whose digits would be lost is no approval of the number that was typed.
    #[test]
    fn a_number_that_cannot_be_held_is_refused() {
        for language in [Language::English, Language::German] {
            assert_eq!(read("1e-400", language), Err(Unread::NoNumber));
            assert_eq!(read("41.50000000000000000000001", language), Err(Unread::Written("41.5".to_owned())));
            for (text, number) in [("1e3", json!(1000.0)), ("0", json!(0)), ("0.0", json!(0.0)), ("-120e-1", json!(-12.0))] {
                assert_eq!(read(text, language), Ok(number), "{text}");
            }
        }
    }

    #[test]
    fn a_comma_in_english_is_refused_with_the_way_to_write_the_number() {
        let english = |text: &str| read(text, Language::English);
        assert_eq!((english("41.50"), english("1.000"), english("12")), (Ok(json!(41.50)), Ok(json!(1.0)), Ok(json!(12))));
        let written = |text: &str| Err(Unread::Written(text.to_owned()));
        assert_eq!((english("41,50"), english("-0,5")), (written("41.50"), written("-0.5")));
        assert_eq!((english("12,345.67"), english("1,234,567")), (written("12345.67"), written("1234567")));
        assert_eq!(english("1,000"), Err(Unread::TwoNumbers("1000".to_owned(), "1.000".to_owned())));
        for text in ["1,2,3", "1.234,50.1", ",", "a,b", "1,e", "NaN"] {
            assert_eq!(english(text), Err(Unread::NoNumber), "{text}");
        }
    }

    /// A draft or a form that was kept may be read in another language than the one in which it was typed.
    #[test]
    fn no_text_is_two_numbers_in_two_languages() {
        let parts = ["", "-", "0", "1", "12", "123", "1234", "000", "5", "50", "500"];
        for (whole, decimals) in parts.iter().flat_map(|one| parts.iter().map(move |other| (one, other))) {
            for text in [format!("{whole}.{decimals}"), format!("{whole},{decimals}"), format!("{whole}.{decimals},5")] {
                if let (Ok(one), Ok(other)) = (read(&text, Language::English), read(&text, Language::German)) {
                    assert_eq!(one, other, "{text}");
                }
            }
        }
    }

    #[test]
    fn a_number_is_written_so_that_it_is_read_again() {
        for number in [json!(1.125), json!(-0.5), json!(1000), json!(1.5e-7)] {
            let Value::Number(number) = number else { continue };
            for language in [Language::English, Language::German] {
                assert_eq!(read(&written(&number, language), language), Ok(Value::Number(number.clone())), "{number}");
            }
        }
    }
}
