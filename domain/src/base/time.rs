//! The two written forms of a time. The naive form is a time in UTC without a zone; it stands in events, and in replies to the
//! OpenIntent client. The other form ends with `Z`; Placet's own endpoints use it. The types in `wire` choose the form of each
//! time.

use chrono::{DateTime, Datelike as _, NaiveDate, NaiveDateTime, SecondsFormat, SubsecRound, TimeDelta, Utc};
use serde::{Deserialize, Deserializer, Serializer};

/// Cuts a time to whole microseconds, the precision of every time that the server shows or hashes.
pub fn to_micros(time: DateTime<Utc>) -> DateTime<Utc> {
    time.trunc_subsecs(6)
}

/// Writes `2026-11-21T08:13:35.889468`: naive UTC with microseconds, as the OpenIntent client needs it.
pub fn naive(time: DateTime<Utc>) -> String {
    let mut text = rfc3339(time);
    text.pop();
    text
}

/// Writes `2026-11-21T08:13:35.889468Z` (RFC 3339).
pub fn rfc3339(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Micros, true)
}

/// Reads either form, and also times that are not [plain](is_plain).
pub fn parse(text: &str) -> Option<DateTime<Utc>> {
    if let Some(time) = written_here(text.as_bytes()) {
        return Some(time);
    }
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Some(to_micros(time.with_timezone(&Utc)));
    }
    let naive = NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f").ok()?;
    Some(to_micros(naive.and_utc()))
}

/// Whether every program can read a time that this server writes: its year in UTC is 1 to 9999, and it is no leap second. RFC 3339 has four
/// digits for the year, and Python knows neither a year 0 nor leap seconds.
pub fn is_plain(time: DateTime<Utc>) -> bool {
    (1..=9_999).contains(&time.year()) && time.timestamp_subsec_nanos() < 1_000_000_000
}

/// The sentence about a time that is not [plain](is_plain).
pub const MUST_BE_PLAIN: &str = "must be in the years 1 to 9999, and no leap second";

/// Reads a time in one of the two forms that this server writes, which takes a tenth of the time of a parser for all forms. `None` for
/// every other text, and for a time that is on no calendar.
fn written_here(text: &[u8]) -> Option<DateTime<Utc>> {
    const FORM: &[u8; 26] = b"dddd-dd-ddTdd:dd:dd.dddddd";
    let text: &[u8; 26] = text.strip_suffix(b"Z").unwrap_or(text).try_into().ok()?;
    if !FORM.iter().zip(text).all(|(form, byte)| if *form == b'd' { byte.is_ascii_digit() } else { form == byte }) {
        return None;
    }
    let number = |from: usize, to: usize| text[from..to].iter().fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'));
    let date = NaiveDate::from_ymd_opt(i32::try_from(number(0, 4)).ok()?, number(5, 7), number(8, 10))?;
    date.and_hms_micro_opt(number(11, 13), number(14, 16), number(17, 19), number(20, 26)).map(|time| time.and_utc())
}

/// Microseconds since 1970, the form in which SQLite stores a time.
pub fn micros(time: DateTime<Utc>) -> i64 {
    time.timestamp_micros()
}

/// The time `micros` after 1970; a time beyond the calendar becomes the nearest bound.
pub fn from_micros(micros: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_micros(micros).unwrap_or(if micros < 0 {
        DateTime::<Utc>::MIN_UTC
    } else {
        DateTime::<Utc>::MAX_UTC
    })
}

/// Whole seconds as a span of time.
pub fn seconds(seconds: u32) -> TimeDelta {
    TimeDelta::seconds(i64::from(seconds))
}

/// `#[serde(with = "time::z")]`: RFC 3339 with microseconds and `Z`; both forms on input.
pub mod z {
    use super::{DateTime, Deserialize, Deserializer, Serializer, Utc, parse, rfc3339};

    /// Writes the RFC 3339 form.
    pub fn serialize<S: Serializer>(time: &DateTime<Utc>, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&rfc3339(*time))
    }

    /// Reads either form.
    pub fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<DateTime<Utc>, D::Error> {
        let text = String::deserialize(input)?;
        parse(&text).ok_or_else(|| serde::de::Error::custom("expected an RFC 3339 time"))
    }
}

/// `#[serde(with = "time::naive_form")]`: naive UTC with microseconds; both forms on input.
pub mod naive_form {
    pub use super::z::deserialize;
    use super::{DateTime, Serializer, Utc, naive};

    /// Writes the naive form.
    pub fn serialize<S: Serializer>(time: &DateTime<Utc>, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&naive(*time))
    }
}

/// `#[serde(with = "time::naive_option")]`: as [`naive_form`], for an optional time.
pub mod naive_option {
    pub use super::z_option::deserialize;
    use super::{DateTime, Serializer, Utc, naive};

    /// Writes the naive form or null.
    pub fn serialize<S: Serializer>(time: &Option<DateTime<Utc>>, out: S) -> Result<S::Ok, S::Error> {
        match time {
            Some(time) => out.serialize_str(&naive(*time)),
            None => out.serialize_none(),
        }
    }
}

/// `#[serde(with = "time::z_option")]`: as [`z`], for an optional time.
pub mod z_option {
    use super::{DateTime, Deserialize, Deserializer, Serializer, Utc, parse, rfc3339};

    /// Writes the RFC 3339 form or null.
    pub fn serialize<S: Serializer>(time: &Option<DateTime<Utc>>, out: S) -> Result<S::Ok, S::Error> {
        match time {
            Some(time) => out.serialize_str(&rfc3339(*time)),
            None => out.serialize_none(),
        }
    }

    /// Reads either form or null.
    pub fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Option<DateTime<Utc>>, D::Error> {
        let text = Option::<String>::deserialize(input)?;
        text.map(|text| parse(&text).ok_or_else(|| serde::de::Error::custom("expected an RFC 3339 time"))).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read_and_each_is_written_back() {
        let time = parse("2026-11-21T08:13:35.889468Z").unwrap();
        assert_eq!(naive(time), "2026-11-21T08:13:35.889468");
        assert_eq!(parse(&naive(time)), Some(time));
        assert_eq!(parse("2026-11-21T09:13:35.889468999+01:00"), Some(time));
        assert_eq!(parse("yesterday"), None);
    }
}
