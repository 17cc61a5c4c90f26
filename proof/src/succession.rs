//! The statement by which the key that signs a log names the key that signs after it, so that people who trust the earlier key can check
//! what the later one signed.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::key::{SigningKey, VerifyingKey};

/// The first line of the signed text.
const KIND: &str = "placet-log-key/1";

/// The end of one key and the beginning of the next. It may come from anywhere: [`successors`] checks it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Succession {
    /// The public key that signed before, in the form of a signed note's key.
    pub replaces: String,
    /// The public key that signs from now on.
    pub key: String,
    /// The signature of `replaces` under the text of this statement, in base64.
    pub signature: String,
}

impl Succession {
    /// States that `key` signs after `by`.
    pub fn sign(by: &SigningKey, key: &VerifyingKey) -> Self {
        let signature = STANDARD.encode(by.sign(text(by.verifying(), key).as_bytes()));
        Self { replaces: by.verifying().to_string(), key: key.to_string(), signature }
    }

    /// The key before and the key after, if the first has signed this and both are keys of one log.
    fn read(&self) -> Option<(VerifyingKey, VerifyingKey)> {
        let (replaces, key): (VerifyingKey, VerifyingKey) = (self.replaces.parse().ok()?, self.key.parse().ok()?);
        let signature = STANDARD.decode(&self.signature).ok()?;
        let is_right = replaces.name() == key.name() && replaces.verifies(text(&replaces, &key).as_bytes(), &signature);
        is_right.then_some((replaces, key))
    }
}

/// The text that is signed.
fn text(replaces: &VerifyingKey, key: &VerifyingKey) -> String {
    format!("{KIND}\n{replaces}\n{key}\n")
}

/// The keys that those in `keys` lead to, in the order of `successions`, which begins with the oldest. A statement that is not signed by
/// a key that is trusted already counts for nothing.
pub fn successors(keys: &[VerifyingKey], successions: &[Succession]) -> Vec<VerifyingKey> {
    let mut found: Vec<VerifyingKey> = Vec::new();
    for (replaces, key) in successions.iter().filter_map(Succession::read) {
        let is_known = |wanted: &VerifyingKey| keys.contains(wanted) || found.contains(wanted);
        if is_known(&replaces) && !is_known(&key) {
            found.push(key);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str, seed: u8) -> SigningKey {
        SigningKey::new(name, &[seed; 32]).unwrap()
    }

    #[test]
    fn a_trusted_key_leads_to_those_after_it_and_to_no_other() {
        let (first, second, third) = (key("log", 1), key("log", 2), key("log", 3));
        let all = [Succession::sign(&first, second.verifying()), Succession::sign(&second, third.verifying())];
        let from = |key: &SigningKey, successions: &[Succession]| successors(&[key.verifying().clone()], successions);
        assert_eq!(from(&first, &all), [second.verifying().clone(), third.verifying().clone()]);
        assert_eq!(from(&second, &all), [third.verifying().clone()]);
        assert_eq!(from(&third, &all), [], "a later key says nothing of an earlier one");
        assert_eq!(from(&first, &all[1..]), [], "a statement is missing");
        assert_eq!(from(&key("log", 4), &all), [], "a key that no statement names");
    }

    #[test]
    fn a_statement_that_was_changed_counts_for_nothing() {
        let (first, second, other) = (key("log", 1), key("log", 2), key("log", 9));
        let whole = Succession::sign(&first, second.verifying());
        let forged = [
            Succession { key: other.verifying().to_string(), ..whole.clone() },
            Succession { signature: Succession::sign(&other, second.verifying()).signature, ..whole.clone() },
            Succession { signature: "no base64".to_owned(), ..whole.clone() },
            Succession { key: "no key".to_owned(), ..whole.clone() },
            Succession::sign(&first, key("another-log", 2).verifying()),
        ];
        for forged in forged {
            assert_eq!(successors(&[first.verifying().clone()], &[forged]), []);
        }
        assert_eq!(successors(&[first.verifying().clone()], &[whole]), [second.verifying().clone()]);
    }

    #[test]
    fn the_signed_text_is_the_one_of_the_format() {
        let (first, second) = (key("log", 1), key("log", 2));
        let expected = format!("placet-log-key/1\n{}\n{}\n", first.verifying(), second.verifying());
        let signature = STANDARD.decode(Succession::sign(&first, second.verifying()).signature).unwrap();
        assert!(first.verifying().verifies(expected.as_bytes(), &signature));
    }
}
