//! An event of an intent, a portfolio or the server, and how it is sealed: written as canonical bytes, which contain the hash of
//! the event before it.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};
use serde_json::Value;
use uuid::Uuid;

use crate::base::canonical::{PREVIOUS_NAME, SEQUENCE_NAME};
use crate::base::ids::{IntentId, PortfolioId};
use crate::base::json;
use crate::base::sealed::{Hash, Sealed};
use crate::base::time::naive;
use crate::intent::event::Event;
use crate::log::payload::{Payload, ServerPayload};
use crate::people::event::ServerEvent;
use crate::portfolio::event::PortfolioEvent;

/// The value of the member `log` in the server's own events, which have it in place of `intent_id`.
const SERVER_LOG: &str = "server";

/// The members of an event besides its kind and payload.
#[derive(Clone, Debug)]
pub struct Envelope<'a> {
    /// The event's id.
    pub id: Uuid,
    /// The number of the event in its log, from 1, without gaps.
    pub sequence: u64,
    /// The principal that caused it.
    pub actor: &'a str,
    /// When it happened.
    pub created_at: DateTime<Utc>,
    /// The hash of the event before it.
    pub previous: Option<Hash>,
    /// 32 random bytes, so that a removed payload cannot be guessed from its hash.
    pub salt: [u8; 32],
}

/// An event, and the log it belongs to.
#[derive(Clone, Copy, Debug)]
pub enum Entry<'a> {
    /// An event of this intent.
    Intent(IntentId, &'a Event),
    /// An event of this portfolio.
    Portfolio(PortfolioId, &'a PortfolioEvent),
    /// An event of the server itself.
    Server(&'a ServerEvent),
}

impl<'a> Entry<'a> {
    /// The event's type.
    pub fn event_type(self) -> &'a str {
        match self {
            Self::Intent(_, event) => event.event_type(),
            Self::Portfolio(_, event) => event.event_type(),
            Self::Server(event) => event.event_type(),
        }
    }

    fn of_intent(self) -> Option<&'a Event> {
        match self {
            Self::Intent(_, event) => Some(event),
            Self::Portfolio(..) | Self::Server(_) => None,
        }
    }

    fn payload(self) -> Result<Value, serde_json::Error> {
        match self {
            Self::Intent(_, event) => serde_json::to_value(Payload::of(event)),
            Self::Portfolio(_, event) => serde_json::to_value(event),
            Self::Server(event) => serde_json::to_value(ServerPayload::of(event)),
        }
    }
}

impl Envelope<'_> {
    /// Seals an event in this envelope.
    ///
    /// The members are written one by one in their canonical order, so that the payload is canonicalised only once: apart from
    /// the database, canonicalising is the most expensive part of a write.
    ///
    /// # Errors
    ///
    /// A payload that JSON cannot hold; no accepted request has one.
    pub fn seal(&self, entry: Entry<'_>) -> Result<Sealed, serde_json::Error> {
        let event = entry.of_intent();
        let mut bytes = Vec::with_capacity(1024);
        let mut member = |name: &str, value: &Value| -> Result<(), serde_json::Error> {
            bytes.push(if bytes.is_empty() { b'{' } else { b',' });
            bytes.push(b'"');
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(b"\":");
            json::write_canonical(&mut bytes, value)
        };
        // Alphabetical: the canonical order. Absent members are omitted.
        member("actor", &Value::from(self.actor))?;
        if let Some(claimed) = event.and_then(Event::claimed_actor) {
            member("claimed_actor", &Value::from(claimed))?;
        }
        member("created_at", &Value::from(naive(self.created_at)))?;
        member("event_type", &Value::from(entry.event_type()))?;
        member("id", &Value::from(self.id.hyphenated().to_string()))?;
        match entry {
            Entry::Intent(id, _) => member("intent_id", &Value::from(id.to_string()))?,
            Entry::Server(_) => member("log", &Value::from(SERVER_LOG))?,
            // The member `portfolio_id` comes later in the alphabet.
            Entry::Portfolio(..) => {}
        }
        if let Some(parent) = event.and_then(Event::parent_event_id) {
            member("parent_event_id", &Value::from(parent))?;
        }
        member("payload", &entry.payload()?)?;
        if let Entry::Portfolio(id, _) = entry {
            member("portfolio_id", &Value::from(id.to_string()))?;
        }
        member(PREVIOUS_NAME, &self.previous.map_or(Value::Null, |hash| Value::from(hash.to_string())))?;
        member("salt", &Value::from(URL_SAFE_NO_PAD.encode(self.salt)))?;
        member(SEQUENCE_NAME, &Value::from(self.sequence))?;
        if let Some(trace) = event.and_then(Event::trace_id) {
            member("trace_id", &Value::from(trace))?;
        }
        bytes.push(b'}');
        let hash = Hash::of(&bytes);
        Ok(Sealed { bytes, hash })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::base::sealed::{Broken, cut, verify_chain};
    use crate::intent::event::ClientEvent;

    fn chain(length: u64) -> Vec<Sealed> {
        let mut previous = None;
        (1..=length)
            .map(|sequence| {
                let envelope = Envelope {
                    id: Uuid::from_u128(u128::from(sequence)),
                    sequence,
                    actor: "bot \"quoted\" é",
                    created_at: crate::base::time::from_micros(1_700_000_000_000_001),
                    previous,
                    salt: [3; 32],
                };
                let event = Event::Appended(ClientEvent {
                    event_type: "comment".into(),
                    payload: json!({"z": 1, "a": [true, null, 0.5], "é": "\u{7}"}).as_object().unwrap().clone(),
                    claimed_actor: (sequence == 2).then(|| "someone".into()),
                    trace_id: (sequence == 3).then(|| "trace".into()),
                    parent_event_id: None,
                });
                let sealed = envelope.seal(Entry::Intent(IntentId(Uuid::from_u128(7)), &event)).unwrap();
                previous = Some(sealed.hash);
                sealed
            })
            .collect()
    }

    #[test]
    fn an_honest_chain_verifies_and_its_spliced_bytes_are_canonical() {
        assert_eq!(verify_chain(&chain(5)), Ok(5));
    }

    #[test]
    fn every_kind_of_tampering_is_found() {
        let honest = chain(4);
        let mut dropped = honest.clone();
        dropped.remove(1);
        assert_eq!(verify_chain(&dropped), Err(Broken::WrongSequence(2)));
        let mut swapped = honest.clone();
        swapped.swap(1, 2);
        assert!(verify_chain(&swapped).is_err());
        let mut flipped = honest.clone();
        let position = flipped[2].bytes.iter().position(|byte| *byte == b'q').unwrap();
        flipped[2].bytes[position] = b'Q';
        assert_eq!(verify_chain(&flipped), Err(Broken::WrongHash(3)));
        let mut rehashed = flipped;
        rehashed[2].hash = Hash::of(&rehashed[2].bytes);
        assert_eq!(verify_chain(&rehashed), Err(Broken::WrongPrevious(4)));
        let mut spaced = honest;
        spaced[0].bytes.push(b' ');
        assert_eq!(verify_chain(&spaced), Err(Broken::NotCanonical(1)));
    }

    /// The leaf of an event, as it stands in the database after an erasure.
    fn erased(sealed: &Sealed) -> Sealed {
        let mut event: Value = serde_json::from_slice(&sealed.bytes).unwrap();
        let members = event.as_object_mut().unwrap();
        members.retain(|name, _| name != "payload" && name != "salt");
        members.insert("event_hash".into(), sealed.hash.to_string().into());
        Sealed { bytes: json::canonical(&event).unwrap(), hash: sealed.hash }
    }

    /// An erasure takes the payload, and leaves the chain as it was. Any other change of an erased event is found.
    #[test]
    fn a_chain_with_erased_events_verifies_and_only_they_may_lack_a_payload() {
        let honest = chain(4);
        let mut some = honest.clone();
        for place in [1, 2] {
            some[place] = erased(&honest[place]);
        }
        assert_eq!(verify_chain(&some), Ok(4));
        let mut renamed = some.clone();
        renamed[1] = Sealed { hash: honest[0].hash, ..renamed[1].clone() };
        assert_eq!(verify_chain(&renamed), Err(Broken::WrongHash(2)));
        let mut moved = some.clone();
        moved.swap(1, 2);
        assert_eq!(verify_chain(&moved), Err(Broken::WrongSequence(2)));
        let mut with_payload = some;
        let text = String::from_utf8(with_payload[1].bytes.clone()).unwrap();
        with_payload[1].bytes = text.replace("\"previous", "\"payload\":{},\"previous").into_bytes();
        assert_eq!(verify_chain(&with_payload), Err(Broken::NotCanonical(2)));
    }

    #[test]
    fn a_served_event_is_the_stored_one_with_its_hash() {
        let sealed = chain(1).remove(0);
        let served: Value = serde_json::from_str(&sealed.served()).unwrap();
        assert_eq!(served["event_hash"], json!(sealed.hash.to_string()));
        assert_eq!(served["sequence"], json!(1));
        assert_eq!(Sealed::from_served(&served), Some(sealed));
        assert_eq!(Sealed::from_served(&json!({"event_hash": "md5:x"})), None);
    }

    /// Cutting the hash off the bytes of a served event gives the same result as parsing the event. A verifier of many events
    /// cuts, because that is faster.
    #[test]
    fn served_bytes_come_apart_like_the_event_they_are() {
        let sealed = chain(1).remove(0);
        let served: Value = serde_json::from_str(&sealed.served()).unwrap();
        // Python's `json.dumps` without spaces keeps the hash last and writes other escapes.
        let escaped = sealed.served().replace('é', "\\u00e9");
        assert!(escaped != sealed.served() && cut(escaped.as_bytes()).is_some());
        for text in [sealed.served(), escaped, served.to_string(), serde_json::to_string_pretty(&served).unwrap()] {
            assert_eq!(Sealed::from_served_bytes(text.as_bytes()), Some(sealed.clone()), "{text}");
        }
        let hash = sealed.hash.to_string();
        for text in [
            String::new(),
            "[]".to_owned(),
            "{}".to_owned(),
            format!("\"{hash}\"}}"),
            sealed.served().replace(&hash, "sha256:x"),
            sealed.served().replace(&hash, &hash.replace("sha256:", "sha512:")),
            sealed.served().replace(&hash[40..], "!!!!!!!!!!"),
        ] {
            let read = serde_json::from_str(&text).ok().and_then(|value| Sealed::from_served(&value));
            assert_eq!((Sealed::from_served_bytes(text.as_bytes()), read), (None, None), "{text}");
        }
    }

    /// A served event with two members of one name is refused: one reader would see the first of the two, and another reader
    /// the last.
    #[test]
    fn a_served_event_with_two_members_of_one_name_is_none() {
        let served = chain(1).remove(0).served();
        for twice in ["\"a\":1,\"a\":", "\"a\" : 1, \"a\" : ", "\"\\u0061\":\"\\\":\",\"a\":"] {
            let text = served.replace("\"a\":", twice);
            assert!(
                text != served && serde_json::from_str::<Value>(&text).is_ok_and(|value| Sealed::from_served(&value).is_some())
            );
            assert_eq!(Sealed::from_served_bytes(text.as_bytes()), None, "{text}");
        }
    }

    /// The verification refuses an event with `event_hash` among its hashed members, because it would be served with two
    /// members of that name.
    #[test]
    fn an_event_holds_no_hash_of_its_own() {
        let mut sealed = chain(1).remove(0);
        let bytes = String::from_utf8(sealed.bytes).unwrap().replace("\"event_type\"", "\"event_hash\":\"x\",\"event_type\"");
        sealed = Sealed { hash: Hash::of(bytes.as_bytes()), bytes: bytes.into_bytes() };
        assert_eq!(verify_chain([&sealed]), Err(Broken::NotCanonical(1)));
    }
}
