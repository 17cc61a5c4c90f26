//! Finds the choice that a person means by the typed text: its value, its label, or the beginning of either, in any case.
//!
//! Guarantee: the beginning of a value or label counts only if it fits one choice alone, and only if no label misleads about the
//! value that it sends. Mechanism: the text is compared with all values and labels, and the choices are judged as a page judges
//! them. Failure: the person is asked for the whole value.

use std::fmt;

use domain::asking::choice::{Misleading, judge};
use domain::suspension::SuspensionChoice;

/// Why the typed text is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unclear {
    /// It is none of the values and labels, nor the beginning of one.
    Unknown,
    /// It fits more than one choice.
    Ambiguous,
    /// It fits one choice, but a label may mislead about the value it sends, or the typed word means yes or no and the value of
    /// that choice does not mean the same.
    Misleading,
}

impl fmt::Display for Unclear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "that is none of the answers to this question",
            Self::Ambiguous => "that fits more than one of the answers; type the whole value of one",
            Self::Misleading => {
                "the labels of these answers may differ from the values they send, so type a whole value; read the values again"
            }
        })
    }
}

/// The value of the one choice that `typed` means.
pub(super) fn meant(choices: &[SuspensionChoice], typed: &str) -> Result<String, Unclear> {
    if choices.iter().any(|choice| choice.value == typed) {
        return Ok(typed.to_owned());
    }
    let typed = typed.trim().to_lowercase();
    if typed.is_empty() {
        return Err(Unclear::Unknown);
    }
    let words = |choice: &SuspensionChoice| [choice.value.trim().to_lowercase(), choice.label.trim().to_lowercase()];
    let whole = |choice: &SuspensionChoice| words(choice).contains(&typed);
    let begins = |choice: &SuspensionChoice| words(choice).iter().any(|words| words.starts_with(&typed));
    let is_whole = choices.iter().any(whole);
    let fitting: Vec<&SuspensionChoice> =
        choices.iter().filter(|choice| if is_whole { whole(choice) } else { begins(choice) }).collect();
    let choice = match fitting[..] {
        [] => return Err(Unclear::Unknown),
        [choice] => choice,
        [_, _, ..] => return Err(Unclear::Ambiguous),
    };
    let honest = judge(choices).misleading.is_empty() && !contradicts(&typed, &choice.value);
    // A "no" is not taken as the beginning of `notify-all`.
    let means_so_much = is_whole || lean(&typed).is_none_or(|leaning| lean(&choice.value) == Some(leaning));
    if honest && means_so_much { Ok(choice.value.clone()) } else { Err(Unclear::Misleading) }
}

/// `Some(true)` for a word that means yes, `Some(false)` for one that means no, `None` for any other.
fn lean(word: &str) -> Option<bool> {
    match (contradicts(word, "no"), contradicts(word, "yes")) {
        (true, _) => Some(true),
        (false, true) => Some(false),
        (false, false) => None,
    }
}

fn contradicts(label: &str, value: &str) -> bool {
    let labelled =
        SuspensionChoice { label: label.to_owned(), value: value.to_owned(), ..SuspensionChoice::yes_no().swap_remove(0) };
    judge(&[labelled]).misleading.contains(&Misleading::Contradiction)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choices(pairs: &[(&str, &str)]) -> Vec<SuspensionChoice> {
        let choice =
            |(value, label): &(&str, &str)| serde_json::from_value(serde_json::json!({"value": value, "label": label})).unwrap();
        pairs.iter().map(choice).collect()
    }

    #[test]
    fn a_value_a_label_or_the_beginning_of_either_means_its_choice() {
        let refund = choices(&[("approve", "Approve refund"), ("deny", "Deny refund"), ("escalate", "Ask a senior")]);
        for (typed, value) in [
            ("approve", "approve"),
            ("APPROVE", "approve"),
            (" Approve ", "approve"),
            ("app", "approve"),
            ("a", "approve"),
            ("approve refund", "approve"),
            ("Deny Re", "deny"),
            ("d", "deny"),
            ("ask a senior", "escalate"),
            ("e", "escalate"),
        ] {
            let expected = if typed == "a" { Err(Unclear::Ambiguous) } else { Ok(value.to_owned()) };
            assert_eq!(meant(&refund, typed), expected, "{typed}");
        }
        for typed in ["", " ", "x", "approved", "refund", "pprove"] {
            assert_eq!(meant(&refund, typed), Err(Unclear::Unknown), "{typed}");
        }
        let confirm = SuspensionChoice::yes_no();
        for (typed, value) in [("yes", "yes"), ("Y", "yes"), ("YES", "yes"), ("n", "no"), ("No", "no")] {
            assert_eq!(meant(&confirm, typed), Ok(value.to_owned()), "{typed}");
        }
    }

    #[test]
    fn what_fits_two_choices_means_neither() {
        let regions = choices(&[("eu-west", "Europe"), ("eu-north", "Finland"), ("us", "Eu… no, America")]);
        for typed in ["eu", "EU-", "e"] {
            assert_eq!(meant(&regions, typed), Err(Unclear::Ambiguous), "{typed}");
        }
        assert_eq!(meant(&regions, "eu-w"), Ok("eu-west".to_owned()));
        let cases = choices(&[("Go", "One"), ("go", "Two")]);
        assert_eq!(meant(&cases, "GO"), Err(Unclear::Ambiguous));
        assert_eq!(meant(&cases, "go"), Ok("go".to_owned()));
        // A whole label wins over the beginning of another.
        let once = choices(&[("approve_once", "Approve"), ("approve_always", "Approve always")]);
        assert_eq!(meant(&once, "approve"), Ok("approve_once".to_owned()));
    }

    /// A person types "deny", and the agent has put that label on `approve`. Then only the whole value counts.
    #[test]
    fn a_label_that_contradicts_its_value_needs_the_whole_value() {
        let swapped = choices(&[("approve", "Deny"), ("other", "Something else")]);
        for typed in ["deny", "Deny", "d", "den", "APPROVE", "some"] {
            assert_eq!(meant(&swapped, typed), Err(Unclear::Misleading), "{typed}");
        }
        assert_eq!(meant(&swapped, "approve"), Ok("approve".to_owned()));
        let crossed = choices(&[("yes", "No"), ("no", "Yes")]);
        for typed in ["No", "YES", "n", "y"] {
            assert!(meant(&crossed, typed).is_err(), "{typed}");
        }
        let sly = choices(&[("notify-all", "Notify everybody"), ("wait", "Wait")]);
        assert_eq!(meant(&sly, "no"), Err(Unclear::Misleading));
        assert_eq!(meant(&sly, "noti"), Ok("notify-all".to_owned()));
    }
}
