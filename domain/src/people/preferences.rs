//! The time zone and the locale of a person: how times are told to the person, and in which language.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, NaiveDate, NaiveDateTime, TimeZone as _, Utc};
use chrono_tz::Tz;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::base::field::{FieldError, UNSUPPORTED};
use crate::base::words::Language;

/// The longest name of a time zone, in bytes. No name in the database is longer than half of it.
pub const TIME_ZONE_MAX: usize = 64;
/// The longest tag of a locale, in bytes: the length that every program takes (RFC 5646 §4.4.1).
pub const LOCALE_MAX: usize = 35;
/// The longest part of a tag, in bytes (RFC 5646 §2.1).
const SUBTAG_MAX: usize = 8;

/// The time zone and the locale of a person. It is also stored in the person's row, so its members never change their names or forms.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preferences {
    /// The time zone in which times are told to the person; absent if it is not known.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<TimeZone>,
    /// The locale whose language the person reads; absent if it is not known.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    pub locale: Option<Locale>,
    /// Whether the configuration file says them, so that they are changed only there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub managed: bool,
}

/// Reads a member of a stored document. A name that this version does not know, for example of a zone that is newer, counts as none.
fn known<'de, D: Deserializer<'de>, T: FromStr>(from: D) -> Result<Option<T>, D::Error> {
    Ok(Option::<String>::deserialize(from)?.and_then(|text| text.parse().ok()))
}

impl Preferences {
    /// Reads the names of a time zone and a locale, as members of a request or a file below `prefix`.
    ///
    /// # Errors
    ///
    /// Each name that is none.
    pub fn read(prefix: &str, time_zone: Option<&str>, locale: Option<&str>) -> Result<Self, Vec<FieldError>> {
        let (time_zone, locale) = (named(prefix, "time_zone", time_zone), named(prefix, "locale", locale));
        match (time_zone, locale) {
            (Ok(time_zone), Ok(locale)) => Ok(Self { time_zone, locale, managed: false }),
            (time_zone, locale) => Err([time_zone.err(), locale.err()].into_iter().flatten().collect()),
        }
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.time_zone.is_none() && self.locale.is_none()
    }

    /// The language that the person reads, if it is known.
    pub fn language(&self) -> Option<Language> {
        self.locale.as_ref().map(Locale::language)
    }

    /// The names, as events and replies have them.
    pub fn names(&self) -> (Option<String>, Option<String>) {
        (self.time_zone.map(|zone| zone.to_string()), self.locale.as_ref().map(Locale::to_string))
    }
}

/// Reads the name in the member `field`.
fn named<T: FromStr<Err = Unknown>>(prefix: &str, field: &str, text: Option<&str>) -> Result<Option<T>, FieldError> {
    let read = text.map(str::parse).transpose();
    read.map_err(|Unknown(rule, message)| FieldError::new(format!("{prefix}{field}"), rule, message))
}

/// Why a text names no time zone or locale: the broken rule, and a sentence about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{1}")]
pub struct Unknown(&'static str, String);

/// A time zone of the IANA database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeZone(Tz);

impl TimeZone {
    /// The names of all time zones, in the order of their characters.
    pub fn all() -> impl Iterator<Item = &'static str> {
        chrono_tz::TZ_VARIANTS.iter().map(|zone| zone.name())
    }

    /// The zone.
    pub fn tz(self) -> Tz {
        self.0
    }

    /// The time on the clocks of this zone. The result is in UTC in form alone.
    pub fn clock(self, at: DateTime<Utc>) -> DateTime<Utc> {
        at.with_timezone(&self.0).naive_local().and_utc()
    }

    /// The moment at which the clocks of this zone show a time; the earlier one if they show it twice, because they are set back. `None` if
    /// they never show it, because they are set forward over it.
    pub fn moment(self, there: NaiveDateTime) -> Option<DateTime<Utc>> {
        self.0.from_local_datetime(&there).earliest().map(|at| at.to_utc())
    }

    /// The first moment of a day in this zone. `None` if the zone leaves the day out.
    pub fn day(self, day: NaiveDate) -> Option<DateTime<Utc>> {
        // Some zones set their clocks forward at midnight.
        (0..24).find_map(|hour| self.moment(day.and_hms_opt(hour, 0, 0)?))
    }
}

impl FromStr for TimeZone {
    type Err = Unknown;

    fn from_str(text: &str) -> Result<Self, Unknown> {
        if text.len() > TIME_ZONE_MAX {
            return Err(Unknown("length", format!("must be at most {TIME_ZONE_MAX} bytes")));
        }
        let message = "must be the name of a time zone in the IANA database, as in Europe/Berlin";
        text.parse().map(Self).map_err(|_| Unknown("unknown", message.to_owned()))
    }
}

impl fmt::Display for TimeZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

impl Serialize for TimeZone {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

/// A locale (BCP 47) whose language is one in which Placet speaks, in the usual case of letters: `de-AT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locale {
    tag: String,
    language: Language,
}

impl Locale {
    /// The language.
    pub fn language(&self) -> Language {
        self.language
    }
}

impl FromStr for Locale {
    type Err = Unknown;

    fn from_str(text: &str) -> Result<Self, Unknown> {
        if text.len() > LOCALE_MAX {
            return Err(Unknown("length", format!("must be at most {LOCALE_MAX} bytes")));
        }
        let subtags: Vec<&str> = text.split('-').collect();
        let is_subtag =
            |part: &&str| (1..=SUBTAG_MAX).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
        // One letter or digit alone says what the parts behind it are, so there must be one.
        let ends = subtags.last().is_some_and(|last| subtags.len() > 1 && last.len() == 1 && !is_private(&subtags));
        if !subtags.iter().all(is_subtag) || ends {
            return Err(Unknown("format", "must be a language tag, as in de or en-GB".to_owned()));
        }
        let language = match subtags.first().map(|first| first.to_ascii_lowercase()).as_deref() {
            Some("en") => Language::English,
            Some("de") => Language::German,
            _ => return Err(Unknown(UNSUPPORTED, "must be a language tag that begins with en or de".to_owned())),
        };
        Ok(Self { tag: usual(&subtags), language })
    }
}

/// Whether the tag has a part for private use before its last part: there, one letter alone is a part like others.
fn is_private(subtags: &[&str]) -> bool {
    subtags.iter().rev().skip(1).any(|part| part.eq_ignore_ascii_case("x"))
}

/// The tag in the usual case of letters (RFC 5646 §2.1.1), so that two spellings are one locale.
fn usual(subtags: &[&str]) -> String {
    let (mut usual, mut plain) = (Vec::with_capacity(subtags.len()), true);
    for (place, part) in subtags.iter().enumerate() {
        let small = part.to_ascii_lowercase();
        usual.push(match part.len() {
            2 if plain && place > 0 => small.to_ascii_uppercase(),
            4 if plain && place > 0 => small[..1].to_ascii_uppercase() + &small[1..],
            _ => small,
        });
        plain &= part.len() > 1;
    }
    usual.join("-")
}

impl fmt::Display for Locale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.tag)
    }
}

impl Serialize for Locale {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone as _;
    use serde_json::json;

    use super::*;

    fn locale(text: &str) -> Result<String, &'static str> {
        text.parse::<Locale>().map(|locale| locale.to_string()).map_err(|Unknown(rule, _)| rule)
    }

    fn zone(text: &str) -> Result<String, &'static str> {
        text.parse::<TimeZone>().map(|zone| zone.to_string()).map_err(|Unknown(rule, _)| rule)
    }

    #[test]
    fn a_locale_is_a_tag_of_english_or_german() {
        for (typed, usual) in [
            ("de", "de"),
            ("EN", "en"),
            ("de-at", "de-AT"),
            ("EN-gb", "en-GB"),
            ("de-latn-ch-1996", "de-Latn-CH-1996"),
            ("en-a-bbb-x-a", "en-a-bbb-x-a"),
            ("de-CH-u-CO-phonebk", "de-CH-u-co-phonebk"),
            ("de-x-a", "de-x-a"),
        ] {
            assert_eq!(locale(typed).as_deref(), Ok(usual), "{typed}");
            assert_eq!(locale(usual).as_deref(), Ok(usual), "two spellings are one locale");
        }
        for wrong in ["", "-", "de-", "-de", "de--AT", "de_AT", "de AT", "de-Ö", "de-123456789", "de-x", "de-a", "de\n"] {
            assert_eq!(locale(wrong), Err("format"), "{wrong:?}");
        }
        for other in ["fr", "deu", "eng", "d", "den", "i-klingon", "x-de", "fr-de"] {
            assert_eq!(locale(other), Err("unsupported"), "{other}");
        }
    }

    #[test]
    fn the_bounds_of_names() {
        let longest = "de-x-12345678-12345678-12345678-123";
        assert_eq!(longest.len(), LOCALE_MAX);
        assert_eq!(locale(longest).as_deref(), Ok(longest));
        assert_eq!(locale(&format!("{longest}4")), Err("length"));
        assert_eq!((zone(&"x".repeat(TIME_ZONE_MAX)), zone(&"x".repeat(TIME_ZONE_MAX + 1))), (Err("unknown"), Err("length")));
        assert!(TimeZone::all().all(|name| name.len() <= TIME_ZONE_MAX / 2 && zone(name).as_deref() == Ok(name)));
    }

    #[test]
    fn a_time_zone_is_one_of_the_database() {
        for known in ["Europe/Berlin", "UTC", "America/Argentina/Buenos_Aires", "Etc/GMT-14"] {
            assert_eq!(zone(known).as_deref(), Ok(known));
        }
        for wrong in ["", "Berlin", "europe/berlin", "CEST", "+01:00", "Europe/Berlin ", "Europe/Atlantis"] {
            assert_eq!(zone(wrong), Err("unknown"), "{wrong:?}");
        }
        let berlin: TimeZone = "Europe/Berlin".parse().unwrap();
        let clock = |month| berlin.clock(Utc.with_ymd_and_hms(2026, month, 24, 23, 30, 0).unwrap());
        assert_eq!(clock(11), Utc.with_ymd_and_hms(2026, 11, 25, 0, 30, 0).unwrap());
        assert_eq!(clock(7), Utc.with_ymd_and_hms(2026, 7, 25, 1, 30, 0).unwrap());
    }

    #[test]
    fn each_wrong_name_is_told() {
        let errors = Preferences::read("people[3].", Some("Mars/Base"), Some("fr")).unwrap_err();
        let fields: Vec<(&str, &str)> = errors.iter().map(|error| (&*error.field, &*error.rule)).collect();
        assert_eq!(fields, [("people[3].time_zone", "unknown"), ("people[3].locale", "unsupported")]);
        assert_eq!(Preferences::read("", None, None), Ok(Preferences::default()));
    }

    /// A row of a newer version must not make its person unreadable.
    #[test]
    fn stored_names_that_are_not_known_count_as_none() {
        let read = |value| serde_json::from_value::<Preferences>(value).unwrap();
        let known = read(json!({"time_zone": "Europe/Berlin", "locale": "de-AT", "managed": true}));
        assert_eq!(known.names(), (Some("Europe/Berlin".to_owned()), Some("de-AT".to_owned())));
        assert_eq!(
            serde_json::to_value(&known).unwrap(),
            json!({"time_zone": "Europe/Berlin", "locale": "de-AT", "managed": true})
        );
        assert_eq!(read(json!({"time_zone": "Mars/Base", "locale": "tlh", "else": 1})), Preferences::default());
        assert_eq!(serde_json::to_value(Preferences::default()).unwrap(), json!({}));
    }
}
