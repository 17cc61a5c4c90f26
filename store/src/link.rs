//! Answer links. A link holds a secret that is stored only as a hash, the row by which the hash is found, and a proof that a
//! server of this database made the link.
//!
//! The proof opens nothing. It tells a genuine link from an invented one before the database is asked, so that people who invent
//! links take no place, time or memory from people who were sent one.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};
use domain::base::ids::DeliveryId;
use domain::base::quotation::LINK_PREFIX;
use domain::base::words::Language;
use domain::people::preferences::Preferences;
use domain::suspension::draft::Draft;
use domain::suspension::{Question, Suspension};
use hmac::{Hmac, KeyInit, Mac};
use secrecy::zeroize::Zeroize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::passkey::Signer;

/// The first part of the data that is hashed, so that the hash of a token equals no other hash.
const HASH_DOMAIN: &[u8] = b"placet.link.v1";
/// The name of the secret in the database that proves answer links; it proves nothing else.
pub const LINK_SECRET: &str = "link";
/// How many bytes of a token's secret are random, so that they cannot be guessed, even from the contents of the database.
const RANDOM_BYTES: usize = 16;
/// The first part of the data that a proof signs, so that a proof is not valid as any other signature.
const PROOF_DOMAIN: &[u8] = b"placet.link.proof.v1";

/// The view that the holder of an answer link gets.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, which a page shows")]
pub struct LinkView {
    pub recipient: String,
    /// The time zone and the locale of the recipient, as far as they are known.
    pub preferences: Preferences,
    /// The message that carried the link, if that was recorded.
    pub delivery: Option<DeliveryId>,
    pub intent_title: String,
    pub agent: String,
    pub suspension: Suspension,
    pub question: Question,
    /// The person, if a passkey of the person must sign the answer.
    pub signer: Option<Signer>,
    /// Whether the recipient is listed, so that the recipient can log in.
    pub is_listed: bool,
    /// Whether the recipient may answer: the question is assigned to the recipient, or to no one in particular, and the recipient is not
    /// kept out.
    pub may_answer: bool,
    /// The addresses that may not answer because their people own the key that asked, among the recipient and the people in the question.
    pub kept_out: Vec<String>,
    /// Whether the recipient is kept from answering as the owner of the key that asked.
    pub owns_the_asker: bool,
    /// Set if more people are needed than could answer now.
    pub out_of_reach: Option<OutOfReach>,
    /// How many other intents wait for the intent that asks, at most [`WAITING_COUNTED_MAX`](domain::base::words::WAITING_COUNTED_MAX) and one; 0 if the question has ended.
    pub waiting: u32,
    /// How many messages there were about the question; counted only if the question reached no person.
    pub messages: usize,
    /// When the link was looked at, by the clock that decides whether an answer is in time.
    pub now: DateTime<Utc>,
    /// The other person in whose place the answer was given that ended the question.
    pub in_place_of: Option<String>,
    /// The action as it was approved, if the question proposed one and was answered with an approval.
    pub approved: Option<Map<String, Value>>,
    /// The drafts of answers, oldest first; empty if the recipient may not read them.
    pub drafts: Vec<Draft>,
    /// Whether the question is open. If its deadline passes while deadlines are held back, for example after a restore, it
    /// counts as open, because a deadline that is held back ends nothing.
    pub is_open: bool,
}

impl LinkView {
    /// The assignees of the question in words, without people who are kept out. The list is empty for a question without assignees. If all
    /// assignees are people who are kept out, the list names them: the question is not open to all people.
    pub fn assigned_to(&self, language: Language) -> Vec<String> {
        let Some(assignees) = &self.question.assignees else { return Vec::new() };
        let mut left = assignees.clone();
        left.people.retain(|person| !self.kept_out.contains(&person.to_lowercase()));
        let words = left.in_words(language);
        if words.is_empty() { assignees.in_words(language) } else { words }
    }
}

/// An open question that needs more people than could answer it now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfReach {
    /// Whether people who have a place in it may not answer, because they own the key that asked.
    pub keeps_owner_out: bool,
}

/// The last path segment of an answer link. Its `Debug` shows nothing.
#[derive(Clone)]
pub struct LinkToken {
    row: i64,
    /// Random bytes, followed by their proof. In tokens made before proofs existed, all bytes are random; those still work.
    secret: [u8; 32],
}

impl LinkToken {
    /// Joins the row by which a token is found with its secret.
    pub fn new(row: i64, secret: [u8; 32]) -> Self {
        Self { row, secret }
    }

    /// Makes the token of a row from random bytes and their proof.
    pub(super) fn mint(link_secret: &[u8; 32], row: i64, random: [u8; RANDOM_BYTES]) -> Self {
        let mut secret = [0; 32];
        let (start, proof) = secret.split_at_mut(RANDOM_BYTES);
        start.copy_from_slice(&random);
        proof.copy_from_slice(&mac(link_secret, row, &random).finalize().into_bytes()[..32 - RANDOM_BYTES]);
        Self { row, secret }
    }

    /// Whether a server of this database made the token, in constant time. The proof says nothing about the
    /// question behind the link.
    pub fn is_proven(&self, link_secret: &[u8; 32]) -> bool {
        let (random, proof) = self.secret.split_at(RANDOM_BYTES);
        mac(link_secret, self.row, random).verify_truncated_left(proof).is_ok()
    }

    /// Reads a path segment; `None` for text that no server of ours wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text.strip_prefix(LINK_PREFIX)?).ok()?;
        let (row, secret) = bytes.split_first_chunk::<8>()?;
        Some(Self { row: i64::from_be_bytes(*row), secret: secret.try_into().ok()? })
    }

    /// Writes the path segment, for the message only.
    pub fn expose(&self) -> String {
        let mut bytes = [0; 40];
        bytes[..8].copy_from_slice(&self.row.to_be_bytes());
        bytes[8..].copy_from_slice(&self.secret);
        format!("{LINK_PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))
    }

    /// The row by which the token is found.
    pub fn row(&self) -> i64 {
        self.row
    }

    /// The hash of the token, which the database stores in place of the token.
    pub fn hash(&self) -> [u8; 32] {
        Sha256::new().chain_update(HASH_DOMAIN).chain_update(self.row.to_be_bytes()).chain_update(self.secret).finalize().into()
    }

    /// Whether `kept` is the hash of this token, in constant time.
    pub fn matches(&self, kept: &[u8]) -> bool {
        self.hash().ct_eq(kept).into()
    }
}

fn mac(link_secret: &[u8; 32], row: i64, random: &[u8]) -> Hmac<Sha256> {
    // Unwrap safety: HMAC takes a key of any length.
    let mac = Hmac::<Sha256>::new_from_slice(link_secret).unwrap_or_else(|_| unreachable!("HMAC takes any key"));
    mac.chain_update(PROOF_DOMAIN).chain_update(row.to_be_bytes()).chain_update(random)
}

impl Drop for LinkToken {
    fn drop(&mut self) {
        self.secret.zeroize();
    }
}

impl std::fmt::Debug for LinkToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LinkToken(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only the server's secret proves a token, and only for the token's own row. A request with a proven token does not wait
    /// behind requests with invented links, so no one but the server may be able to make a proven token.
    #[test]
    fn a_token_is_proven_by_the_secret_for_its_row_alone() {
        let token = LinkToken::mint(&[1; 32], 7, [9; RANDOM_BYTES]);
        let read = LinkToken::parse(&token.expose()).unwrap();
        assert!(read.is_proven(&[1; 32]) && read.matches(&token.hash()));
        assert!(!read.is_proven(&[2; 32]));
        assert!(!LinkToken { row: 8, secret: read.secret }.is_proven(&[1; 32]));
        for index in 0..32 {
            let mut secret = read.secret;
            secret[index] ^= 1;
            assert!(!LinkToken { row: 7, secret }.is_proven(&[1; 32]), "{index}");
        }
        assert!(!LinkToken::new(7, [9; 32]).is_proven(&[1; 32]), "from before there were proofs");
    }

    #[test]
    fn a_token_is_read_back_and_anything_else_is_not() {
        let token = LinkToken::new(7, [9; 32]);
        let text = token.expose();
        let read = LinkToken::parse(&text).unwrap();
        assert_eq!((read.row(), read.hash()), (7, token.hash()));
        assert!(read.matches(&token.hash()));
        assert!(!LinkToken::new(8, [9; 32]).matches(&token.hash()));
        for wrong in ["", "plc_", &text[4..], &text[..text.len() - 1], &format!("{text}A"), "plc_%00"] {
            assert!(LinkToken::parse(wrong).is_none(), "{wrong}");
        }
        assert_eq!(format!("{token:?}"), "LinkToken(…)");
    }
}
