//! An event as it is stored, its hash, and the chain that the hashes form.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use thiserror::Error;

use super::canonical::{self, HASH_NAME, Links, NULL, PAYLOAD_NAME, PREVIOUS_NAME, REDACTED_NAME, SEQUENCE_NAME};
use super::{json, time};

/// The prefix of every hash.
const HASH_KIND: &str = "sha256:";
/// The number of characters of a hash, which has 32 bytes, in base64.
const HASH_CHARS: usize = 43;

/// The hash of one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// Hashes canonical bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Reads a hash as it is written; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        Self::of_base64(text.strip_prefix(HASH_KIND)?.as_bytes())
    }

    fn of_base64(text: &[u8]) -> Option<Self> {
        URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok().map(Self)
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(input)?)
            .ok_or_else(|| D::Error::custom("not a hash: sha256: and 43 characters of base64url"))
    }
}

impl std::fmt::Display for Hash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{HASH_KIND}{}", URL_SAFE_NO_PAD.encode(self.0))
    }
}

/// An event as it is stored and served: the bytes that were hashed, and their hash. If its payload and salt were erased, the bytes are the
/// event's leaf in the tree over all events, which has the hash among its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// Canonical JSON (RFC 8785) of the whole event but its hash; of an erased event, without payload and salt and with the hash.
    pub bytes: Vec<u8>,
    /// SHA-256 of `bytes` as they were before an erasure.
    pub hash: Hash,
}

impl Sealed {
    /// Takes a served event apart, as it came over the network; `None` if it does not have that form.
    ///
    /// A served event is canonical, and its hash stands last and is cut off. An event that was rewritten on its way is read as by
    /// [`from_served`](Self::from_served), unless it has two members of one name: another reader might see the other one.
    pub fn from_served_bytes(served: &[u8]) -> Option<Self> {
        if let Some((event, hash)) = cut(served) {
            let mut bytes = Vec::with_capacity(event.len() + 1);
            bytes.extend_from_slice(event);
            bytes.push(b'}');
            if canonical::links(&bytes).is_some() {
                return Some(Self { bytes, hash: Hash::of_base64(hash)? });
            }
        }
        Self::from_served(&json::unambiguous(served).ok()?)
    }

    /// Takes a served event apart, so that its reader can verify it; `None` if it does not have that form. Parse the event's text
    /// with [`json::unambiguous`]: a parsed value no longer shows that a name came twice.
    pub fn from_served(served: &Value) -> Option<Self> {
        let mut event = served.as_object()?.clone();
        let written = event.remove(HASH_NAME)?;
        let hash = Hash::of_base64(written.as_str()?.strip_prefix(HASH_KIND)?.as_bytes())?;
        // A program that read the event into a type may have written the absent payload as an empty one.
        let is_empty = |payload: &Value| payload.is_null() || payload.as_object().is_some_and(Map::is_empty);
        if event.get(REDACTED_NAME) == Some(&Value::Bool(true)) && event.get(PAYLOAD_NAME).is_some_and(is_empty) {
            event.remove(REDACTED_NAME);
            event.remove(PAYLOAD_NAME);
            event.insert(HASH_NAME.to_owned(), written);
        }
        Some(Self { bytes: json::canonical(&event).ok()?, hash })
    }

    /// Whether the bytes give the hash; for an erased event, whether they name it.
    pub fn is_whole(&self) -> bool {
        if self.is_erased() {
            let named = canonical::links_of_erased(&self.bytes).map(|(_, hash)| hash);
            return named.is_some_and(|named| *named == *format!("\"{}\"", self.hash).as_bytes());
        }
        Hash::of(&self.bytes) == self.hash
    }

    /// Whether payload and salt were erased.
    pub fn is_erased(&self) -> bool {
        canonical::has_hash(&self.bytes)
    }

    /// The number of the event in its log; `None` if the event does not have that form.
    pub fn sequence(&self) -> Option<u64> {
        let text = |number: &[u8]| str::from_utf8(number).ok()?.parse().ok();
        match canonical::links(&self.bytes) {
            Some(links) => text(&links.sequence),
            None => json::unambiguous(&self.bytes).ok()?.get(SEQUENCE_NAME)?.as_u64(),
        }
    }

    /// The type of the event; `None` if the event does not have that form.
    pub fn event_type(&self) -> Option<String> {
        self.text("event_type")
    }

    /// When the event happened; `None` if the event does not have that form.
    pub fn created_at(&self) -> Option<DateTime<Utc>> {
        self.text("created_at").as_deref().and_then(time::parse)
    }

    /// A member of the event that is a text.
    fn text(&self, wanted: &str) -> Option<String> {
        let mut found = None;
        let seen = canonical::members(&self.bytes, |name, value| {
            if name == wanted.as_bytes() {
                found = Some(value);
            }
        });
        match seen {
            Some(()) => serde_json::from_slice(found?).ok(),
            None => Some(json::unambiguous(&self.bytes).ok()?.get(wanted)?.as_str()?.to_owned()),
        }
    }

    /// The event as served: the stored object with its `event_hash` added. An erased event has the payload `null`, and says that it is erased.
    pub fn served(&self) -> String {
        // The stored bytes are a JSON object, so they end in a closing brace.
        let inner = String::from_utf8_lossy(&self.bytes[..self.bytes.len().saturating_sub(1)]);
        let hash = format!("\"{HASH_NAME}\":\"{}\"", self.hash);
        if self.is_erased() {
            // The quotes in a text have backslashes before them, so the first place that reads like the member is the member.
            let inner = inner.replacen(&format!("{hash},"), "", 1);
            return format!("{inner},\"{PAYLOAD_NAME}\":null,\"{REDACTED_NAME}\":true,{hash}}}");
        }
        format!("{inner},{hash}}}")
    }
}

/// A served event's stored members, without the last brace, and its hash; `None` if the event does not end with its hash.
pub(crate) fn cut(served: &[u8]) -> Option<(&[u8], &[u8])> {
    let (rest, hash) = served.strip_suffix(b"\"}")?.split_last_chunk::<HASH_CHARS>()?;
    let rest = rest.strip_suffix(HASH_KIND.as_bytes())?.strip_suffix(b"\":\"")?;
    Some((rest.strip_suffix(HASH_NAME.as_bytes())?.strip_suffix(b",\"")?, hash))
}

/// The place where a chain breaks.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Broken {
    /// An event is not JSON.
    #[error("event {0} is not JSON")]
    NotJson(u64),
    /// The bytes are not canonical.
    #[error("event {0} is not in canonical form")]
    NotCanonical(u64),
    /// The bytes do not give the hash.
    #[error("the hash of event {0} does not match its bytes")]
    WrongHash(u64),
    /// The event does not name the hash of the event before it.
    #[error("event {0} does not follow the event before it")]
    WrongPrevious(u64),
    /// A number is missing or comes twice.
    #[error("event {0} has the wrong sequence number")]
    WrongSequence(u64),
}

/// Verifies a whole chain, oldest event first: canonical form, hashes, links, gapless numbers from 1. Returns its length. The hash of an
/// erased event is taken as it is, because the payload that it covers is gone; whether the erasure was recorded is for the caller to check.
///
/// # Errors
///
/// The first place where the chain breaks, by its sequence number.
pub fn verify_chain<'a>(events: impl IntoIterator<Item = &'a Sealed>) -> Result<u64, Broken> {
    let mut follower = Follower::default();
    for sealed in events {
        follower.follow(sealed)?;
    }
    Ok(follower.length())
}

/// Verifies a chain event by event, for callers that cannot hold all of it in memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Follower {
    length: u64,
    head: Option<Hash>,
}

impl Follower {
    /// Verifies that `sealed` comes next.
    ///
    /// # Errors
    ///
    /// The first fault of the event.
    pub fn follow(&mut self, sealed: &Sealed) -> Result<(), Broken> {
        let sequence = self.length + 1;
        let (links, is_right) = if sealed.is_erased() {
            let (links, hash) = canonical::links_of_erased(&sealed.bytes).ok_or(Broken::NotCanonical(sequence))?;
            (links, *hash == *format!("\"{}\"", sealed.hash).as_bytes())
        } else {
            let links = match canonical::links(&sealed.bytes) {
                Some(links) => links,
                None => links_of_any(&sealed.bytes, sequence)?,
            };
            (links, Hash::of(&sealed.bytes) == sealed.hash)
        };
        if !is_right {
            return Err(Broken::WrongHash(sequence));
        }
        if *links.sequence != *sequence.to_string().as_bytes() {
            return Err(Broken::WrongSequence(sequence));
        }
        let previous = self.head.map_or_else(|| NULL.to_owned(), |hash| format!("\"{hash}\""));
        if *links.previous != *previous.as_bytes() {
            return Err(Broken::WrongPrevious(sequence));
        }
        *self = Self { length: sequence, head: Some(sealed.hash) };
        Ok(())
    }

    /// How many events were followed.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The hash of the last event that was followed.
    pub fn head(&self) -> Option<Hash> {
        self.head
    }
}

/// Reads the links of an event after checking its bytes by the definition: bytes are canonical if reading and writing them
/// gives the same bytes.
fn links_of_any(bytes: &[u8], sequence: u64) -> Result<Links<'static>, Broken> {
    let value = json::unambiguous(bytes).map_err(|_| Broken::NotJson(sequence))?;
    // If these bytes had an `event_hash`, readers of the served event would find two members of that name.
    if value.get(HASH_NAME).is_some() || json::canonical(&value).ok().as_deref() != Some(bytes) {
        return Err(Broken::NotCanonical(sequence));
    }
    let member = |name: &str| json::canonical(&value[name]).map(Cow::Owned).map_err(|_| Broken::NotCanonical(sequence));
    Ok(Links { sequence: member(SEQUENCE_NAME)?, previous: member(PREVIOUS_NAME)? })
}
