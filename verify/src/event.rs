//! The members of an event that a verifier looks at, read from their canonical bytes.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, NaiveDate, Utc};

use crate::finding::Code;

/// A SHA-256 hash.
pub(crate) type Hash32 = [u8; 32];

/// The prefix of every hash of an event.
const HASH_KIND: &[u8] = b"sha256:";
/// The number of characters of 32 bytes in base64url.
const HASH_CHARS: usize = 43;
/// The largest integer of an event (2⁵³−1).
pub(crate) const INTEGER_MAX: u64 = (1 << 53) - 1;

macro_rules! names {
    ($($place:literal $constant:ident $name:literal,)+) => {
        /// The members of an event, in their canonical order.
        const NAMES: &[&[u8]] = &[$($name),+];
        $(const $constant: usize = $place;)+

        /// The place of a name among [`NAMES`].
        fn place(name: &[u8]) -> Option<usize> {
            // A match is several times as fast as a search, and this is asked of each member of each event.
            match name {
                $($name => Some($place),)+
                _ => None,
            }
        }
    };
}

names! {
    0 ACTOR b"actor",
    1 CLAIMED_ACTOR b"claimed_actor",
    2 CREATED_AT b"created_at",
    3 EVENT_HASH b"event_hash",
    4 EVENT_TYPE b"event_type",
    5 ID b"id",
    6 INTENT_ID b"intent_id",
    7 LOG b"log",
    8 PARENT b"parent_event_id",
    9 PAYLOAD b"payload",
    10 PORTFOLIO_ID b"portfolio_id",
    11 PREVIOUS b"previous_event_hash",
    12 SALT b"salt",
    13 SEQUENCE b"sequence",
    14 TRACE_ID b"trace_id",
}

/// The kinds of logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LogKind {
    /// The events of an intent.
    Intent,
    /// The events of a portfolio.
    Portfolio,
    /// The events of the server itself.
    Server,
}

/// Names a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LogId {
    /// The kind of the log.
    pub kind: LogKind,
    /// The id of the intent or the portfolio; zero for the server.
    pub id: [u8; 16],
}

impl LogId {
    /// The log of the server itself.
    pub const SERVER: Self = Self { kind: LogKind::Server, id: [0; 16] };
    /// The number of bytes of [`LogId::to_bytes`].
    pub(crate) const BYTES: usize = 17;

    /// Bytes that sort as ids do.
    pub(crate) fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [self.kind as u8; Self::BYTES];
        bytes[1..].copy_from_slice(&self.id);
        bytes
    }

    pub(crate) fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        let [kind, id @ ..] = bytes;
        let kind = match kind {
            0 => LogKind::Intent,
            1 => LogKind::Portfolio,
            _ => LogKind::Server,
        };
        Self { kind, id }
    }
}

impl fmt::Display for LogId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            LogKind::Intent => f.write_str("intent ")?,
            LogKind::Portfolio => f.write_str("portfolio ")?,
            LogKind::Server => return f.write_str("server"),
        }
        for (place, byte) in self.id.iter().enumerate() {
            let hyphen = if matches!(place, 4 | 6 | 8 | 10) { "-" } else { "" };
            write!(f, "{hyphen}{byte:02x}")?;
        }
        Ok(())
    }
}

/// A time in UTC with microseconds. It is packed into a number, because one is kept of each log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Time(pub(crate) u64);

impl Time {
    /// Reads `2026-11-21T08:13:35.889468`, the one form of a time in an event.
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        const FORM: &[u8; 26] = b"dddd-dd-ddTdd:dd:dd.dddddd";
        let text: &[u8; 26] = text.try_into().ok()?;
        // All bytes are looked at without a way out in between: this is done of each event, and few times are wrong.
        let is_as = |(form, byte): (&u8, &u8)| if *form == b'd' { byte.is_ascii_digit() } else { form == byte };
        if !FORM.iter().zip(text).fold(true, |is_time, pair| is_time & is_as(pair)) {
            return None;
        }
        let number = |from: usize, to: usize| text[from..to].iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
        let (year, month, day) = (number(0, 4), number(5, 7), number(8, 10));
        let (hour, minute, second, micros) = (number(11, 13), number(14, 16), number(17, 19), number(20, 26));
        let is_time = (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second < 60;
        // Each part has as many bits as its largest value needs, so packed times sort as times do.
        let packed = [(month, 4), (day, 5), (hour, 5), (minute, 6), (second, 6), (micros, 20)];
        is_time.then(|| Self(packed.iter().fold(year, |sum, (part, bits)| (sum << bits) | part)))
    }

    /// The same time for calculating; `None` if the month does not have this day.
    pub(crate) fn to_utc(self) -> Option<DateTime<Utc>> {
        let mut rest = self.0;
        let mut take = |bits: u32| {
            let part = rest & ((1 << bits) - 1);
            rest >>= bits;
            u32::try_from(part).ok()
        };
        let (micros, second, minute, hour, day, month) = (take(20)?, take(6)?, take(6)?, take(5)?, take(5)?, take(4)?);
        let date = NaiveDate::from_ymd_opt(i32::try_from(rest).ok()?, month, day)?;
        date.and_hms_micro_opt(hour, minute, second, micros).map(|time| time.and_utc())
    }
}

/// Reads 32 bytes in base64url.
fn bytes_32(text: &[u8]) -> Option<Hash32> {
    let mut bytes = [0; 32];
    (text.len() == HASH_CHARS && URL_SAFE_NO_PAD.decode_slice_unchecked(text, &mut bytes).ok()? == 32).then_some(bytes)
}

/// Reads the text of a hash.
pub(crate) fn hash(text: &[u8]) -> Option<Hash32> {
    bytes_32(text.strip_prefix(HASH_KIND)?)
}

/// The text of a hash.
pub(crate) fn hash_text(hash: &Hash32) -> String {
    format!("sha256:{}", URL_SAFE_NO_PAD.encode(hash))
}

/// The values of the digits of a UUID, which are small letters; [`NO_DIGIT`] of every other byte.
const DIGITS: [u8; 256] = {
    let (mut digits, mut value) = ([NO_DIGIT; 256], 0);
    while value < 16 {
        digits[b"0123456789abcdef"[value as usize] as usize] = value;
        value += 1;
    }
    digits
};
/// No digit has a bit of this value.
const NO_DIGIT: u8 = 0xF0;

/// Reads a UUID in the one form that an event has: 36 characters, hyphens, small letters.
pub(crate) fn uuid(text: &[u8]) -> Option<[u8; 16]> {
    /// Where the two digits of each byte begin.
    const PLACES: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
    let text: &[u8; 36] = text.try_into().ok()?;
    let mut others = 0;
    let id = PLACES.map(|place| {
        let (high, low) = (DIGITS[usize::from(text[place])], DIGITS[usize::from(text[place + 1])]);
        others |= high | low;
        high << 4 | low
    });
    let has_hyphens = [8, 13, 18, 23].into_iter().all(|place| text[place] == b'-');
    (has_hyphens && others & NO_DIGIT == 0).then_some(id)
}

/// The bytes between the quotes of a canonical text; `None` for another value.
fn text(value: &[u8]) -> Option<&[u8]> {
    value.strip_prefix(b"\"")?.strip_suffix(b"\"")
}

/// The members of an event as they stand in its bytes; a missing one is empty.
#[derive(Debug, Default)]
pub(crate) struct Fields<'a> {
    values: [&'a [u8]; NAMES.len()],
    unknown: Option<&'a [u8]>,
}

impl<'a> Fields<'a> {
    pub(crate) fn set(&mut self, name: &'a [u8], value: &'a [u8]) {
        match place(name) {
            Some(place) => self.values[place] = value,
            None => self.unknown = self.unknown.or(Some(name)),
        }
    }

    /// The member `event_hash`, empty if it is missing.
    pub(crate) fn event_hash(&self) -> &'a [u8] {
        self.values[EVENT_HASH]
    }
}

/// The members of an event that a verifier looks at.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) log: LogId,
    pub(crate) sequence: u64,
    pub(crate) previous: Option<Hash32>,
    pub(crate) created_at: Time,
    /// The canonical text of the actor, with its quotes.
    pub(crate) actor: &'a [u8],
    /// The canonical text of the type, with its quotes.
    pub(crate) event_type: &'a [u8],
    /// The canonical payload; empty if it was erased.
    pub(crate) payload: &'a [u8],
}

/// Why an event cannot be understood.
#[derive(Debug)]
pub(crate) struct Misshapen {
    pub(crate) code: Code,
    pub(crate) text: String,
}

impl<'a> Facts<'a> {
    /// The type without its quotes; `None` if it is no plain text.
    pub(crate) fn type_name(&self) -> Option<&'a str> {
        let name = self.event_type.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        std::str::from_utf8(name).ok()
    }

    pub(crate) fn read(fields: &Fields<'a>, is_erased: bool) -> Result<Self, Misshapen> {
        let value = |place: usize| fields.values[place];
        let unknown = fields.unknown;
        let erased = [PAYLOAD, SALT].into_iter().find(|place| is_erased && !value(*place).is_empty());
        if let Some(name) = unknown.or(erased.map(|place| NAMES[place])).map(String::from_utf8_lossy) {
            let kind = if is_erased { "an erased event" } else { "an event" };
            let text = format!("The event has the member \"{name}\", which the format does not know in {kind}.");
            return Err(Misshapen { code: Code::UnknownMember, text });
        }
        Self::of(fields, is_erased).map_err(|place| Misshapen {
            code: Code::EventForm,
            text: format!(
                "The event's member \"{}\" is missing or does not have the form that the format gives it.",
                String::from_utf8_lossy(NAMES[place])
            ),
        })
    }

    /// The facts, or the member that is missing or has another form.
    fn of(fields: &Fields<'a>, is_erased: bool) -> Result<Self, usize> {
        let value = |place: usize| fields.values[place];
        let text = |place: usize| text(value(place)).ok_or(place);
        text(ACTOR)?;
        for place in [CLAIMED_ACTOR, PARENT, TRACE_ID] {
            if !value(place).is_empty() {
                text(place)?;
            }
        }
        let created_at = Time::read(text(CREATED_AT)?).ok_or(CREATED_AT)?;
        text(EVENT_TYPE)?;
        uuid(text(ID)?).ok_or(ID)?;
        let log = log(value(INTENT_ID), value(LOG), value(PORTFOLIO_ID))?;
        let previous = match value(PREVIOUS) {
            b"null" => None,
            _ => Some(hash(text(PREVIOUS)?).ok_or(PREVIOUS)?),
        };
        if !is_erased {
            bytes_32(text(SALT)?).ok_or(SALT)?;
            if value(PAYLOAD).is_empty() {
                return Err(PAYLOAD);
            }
        }
        let sequence = str::from_utf8(value(SEQUENCE)).ok().and_then(|number| number.parse().ok());
        let sequence = sequence.filter(|number| (1..=INTEGER_MAX).contains(number)).ok_or(SEQUENCE)?;
        let (actor, event_type, payload) = (value(ACTOR), value(EVENT_TYPE), value(PAYLOAD));
        Ok(Self { log, sequence, previous, created_at, actor, event_type, payload })
    }
}

/// The log that exactly one of the three members names.
fn log(intent: &[u8], server: &[u8], portfolio: &[u8]) -> Result<LogId, usize> {
    let id = |value: &[u8], place: usize| text(value).and_then(uuid).ok_or(place);
    match (intent, server, portfolio) {
        (intent, b"", b"") => Ok(LogId { kind: LogKind::Intent, id: id(intent, INTENT_ID)? }),
        (b"", b"\"server\"", b"") => Ok(LogId::SERVER),
        (b"", b"", portfolio) => Ok(LogId { kind: LogKind::Portfolio, id: id(portfolio, PORTFOLIO_ID)? }),
        _ => Err(LOG),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_sort_as_they_are_written_and_other_forms_are_refused() {
        let times = [
            "0000-01-01T00:00:00.000000",
            "2026-11-21T08:13:35.889467",
            "2026-11-21T08:13:35.889468",
            "2026-11-21T08:13:36.000000",
            "2026-12-01T00:00:00.000000",
            "9999-12-31T23:59:59.999999",
        ];
        let read = times.map(|text| Time::read(text.as_bytes()).unwrap());
        assert!(read.is_sorted_by(|left, right| left < right));
        assert_eq!(read.map(Time::to_utc), times.map(domain::base::time::parse));
        assert_eq!(Time::read(b"2026-02-30T00:00:00.000000").unwrap().to_utc(), None, "no month has this day");
        for text in [
            "",
            "2026-11-21T08:13:35",
            "2026-11-21T08:13:35.889468Z",
            "2026-11-21 08:13:35.889468",
            "2026-13-21T08:13:35.889468",
            "2026-00-21T08:13:35.889468",
            "2026-11-32T08:13:35.889468",
            "2026-11-21T24:13:35.889468",
            "2026-11-21T08:60:35.889468",
            "2026-11-21T08:13:60.889468",
            "2026-11-21T08:13:35.88946x",
        ] {
            assert_eq!(Time::read(text.as_bytes()), None, "{text}");
        }
        let text = "2026-11-21T08:13:35.889468";
        for place in 0..text.len() {
            let mut other = text.as_bytes().to_vec();
            other[place] = b'/';
            assert_eq!(Time::read(&other), None, "{}", String::from_utf8_lossy(&other));
        }
    }

    #[test]
    fn ids_and_hashes_have_one_form() {
        let text = "01932f7a-05a1-7abc-8def-0123456789ab";
        let log = LogId { kind: LogKind::Intent, id: uuid(text.as_bytes()).unwrap() };
        assert_eq!(log.to_string(), format!("intent {text}"));
        assert_eq!(LogId::from_bytes(log.to_bytes()), log);
        assert_eq!(LogId::from_bytes(LogId::SERVER.to_bytes()), LogId::SERVER);
        for other in [text.to_uppercase(), text.replace('-', ""), text.replacen('-', "0", 1), format!("{text}0")] {
            assert_eq!(uuid(other.as_bytes()), None, "{other}");
        }
        // Each byte counts, at each place.
        for place in 0..text.len() {
            for byte in 0..=u8::MAX {
                let mut other = text.as_bytes().to_vec();
                other[place] = byte;
                let is_form =
                    if text.as_bytes()[place] == b'-' { byte == b'-' } else { matches!(byte, b'0'..=b'9' | b'a'..=b'f') };
                let expected = is_form.then(|| uuid::Uuid::try_parse_ascii(&other).unwrap().into_bytes());
                assert_eq!(uuid(&other), expected, "{}", String::from_utf8_lossy(&other));
            }
        }
        let written = hash_text(&[7; 32]);
        assert_eq!(hash(written.as_bytes()), Some([7; 32]));
        // The last character holds two bits that are no part of the 32 bytes.
        for other in
            [written.replace("sha256", "sha512"), written[..49].to_owned(), format!("{}d", &written[..49]), format!("{written}A")]
        {
            assert_eq!(hash(other.as_bytes()), None, "{other}");
        }
    }
}
