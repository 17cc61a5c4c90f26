//! Moments and the time between them, in words for people.

use chrono::{DateTime, Datelike as _, NaiveDate, NaiveDateTime, NaiveTime, SecondsFormat, TimeDelta, Utc};
use domain::base::words::Language;
use domain::people::preferences::TimeZone;

/// A remaining time that always counts as short, whatever the window was.
const SOON: TimeDelta = TimeDelta::minutes(15);

/// The remaining time, as text and as a bar.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Countdown {
    pub(super) at: DateTime<Utc>,
    pub(super) left: String,
    /// The remaining time in milliseconds, for the script, which keeps counting.
    pub(super) left_ms: i64,
    pub(super) window_ms: i64,
    pub(super) left_percent: i64,
    pub(super) soon: bool,
}

impl Countdown {
    /// Makes a countdown. It is amber in the last quarter or the last 15 minutes, and never red, because silence is no error.
    pub(super) fn new(asked_at: DateTime<Utc>, expires_at: DateTime<Utc>, now: DateTime<Utc>, language: Language) -> Self {
        let window_ms = (expires_at - asked_at).num_milliseconds().max(1);
        let left = (expires_at - now).max(TimeDelta::zero());
        let left_ms = left.num_milliseconds().min(window_ms);
        Self {
            at: expires_at,
            left: domain::base::text::time_left(left, language),
            left_ms: left.num_milliseconds(),
            window_ms,
            // Rounded up, so that the last part is visible until it is over.
            left_percent: (left_ms * 100 + window_ms - 1) / window_ms,
            soon: left <= SOON || left_ms * 4 <= window_ms,
        }
    }
}

/// A moment in the form of `<time datetime>`.
pub(in crate::pages) fn machine(at: &DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// How a page speaks to its manner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::pages) struct Manner {
    /// The language of the page.
    pub language: Language,
    /// The zone in which times are told; UTC if the reader's is not known.
    pub zone: Option<TimeZone>,
}

impl Manner {
    /// The name of the zone in which times are told.
    pub(in crate::pages) fn zone_name(self) -> String {
        self.zone.map_or_else(|| "UTC".to_owned(), |zone| zone.to_string())
    }

    /// The time on the reader's clocks.
    pub(in crate::pages) fn clock(self, at: DateTime<Utc>) -> DateTime<Utc> {
        self.zone.map_or(at, |zone| zone.clock(at))
    }

    /// The moment at which the reader's clocks show a time; `None` if they never show it.
    pub(in crate::pages) fn moment_at(self, there: NaiveDateTime) -> Option<DateTime<Utc>> {
        self.zone.map_or_else(|| Some(there.and_utc()), |zone| zone.moment(there))
    }

    /// The moment at which a day of the reader begins; `None` if there is no such day.
    pub(in crate::pages) fn day(self, day: NaiveDate) -> Option<DateTime<Utc>> {
        self.zone.map_or_else(|| Some(day.and_time(NaiveTime::MIN).and_utc()), |zone| zone.day(day))
    }

    /// A time on the reader's clocks, in words, with the name of the zone behind it.
    fn with_zone(self, at: DateTime<Utc>, told: &str) -> String {
        let in_zone = |zone: TimeZone| format!("{told} {}", self.language.zone(zone.tz(), at));
        self.zone.map_or_else(|| self.language.in_utc(told), in_zone)
    }

    /// A time close by, without the zone; without the date if it is today.
    pub(super) fn moment(self, at: DateTime<Utc>, now: DateTime<Utc>) -> String {
        domain::base::text::moment(self.clock(at), self.clock(now), self.language)
    }
}

/// A moment at which something was recorded, to the second, because two people may compare the times that they see.
pub(in crate::pages) fn second(at: &DateTime<Utc>, manner: Manner) -> String {
    manner.with_zone(*at, &manner.language.date_and_second(manner.clock(*at)))
}

/// A deadline, or the time at which something ended, to the minute.
pub(in crate::pages) fn minute(at: &DateTime<Utc>, now: &DateTime<Utc>, manner: Manner) -> String {
    let (there, now) = (manner.clock(*at), manner.clock(*now));
    manner.with_zone(*at, &manner.language.date_and_clock(there, there.year() != now.year()))
}

/// When the agent received the answer: as a number of seconds, or, from a minute on, as a time.
pub(super) fn received(received_at: &DateTime<Utc>, at: &DateTime<Utc>, manner: Manner) -> String {
    match (*received_at - *at).num_seconds() {
        seconds @ ..60 => manner.language.seconds_later(seconds),
        _ => manner.language.received_on(&second(received_at, manner)),
    }
}

/// A time close by; without the date if it is today.
pub(super) fn near(at: &DateTime<Utc>, now: &DateTime<Utc>, manner: Manner) -> String {
    manner.with_zone(*at, &manner.moment(*at, *now))
}

/// The time of day.
pub(super) fn hour(at: &DateTime<Utc>, manner: Manner) -> String {
    manner.with_zone(*at, &manner.language.clock(manner.clock(*at)))
}

#[cfg(test)]
mod tests {
    use super::super::samples::{at, open};
    use super::*;

    #[test]
    fn time_turns_amber_in_the_last_quarter_or_the_last_15_minutes() {
        let soon = |asked_at, expires_at, now| Countdown::new(asked_at, expires_at, now, Language::English).soon;
        let second = TimeDelta::seconds(1);
        assert!(!soon(at(0, 0), at(20, 0), at(15, 0) - second));
        assert!(soon(at(0, 0), at(20, 0), at(15, 0)));
        assert!(!soon(at(9, 0), at(9, 40), at(9, 25) - second));
        assert!(soon(at(9, 0), at(9, 40), at(9, 25)));
        assert!(soon(at(9, 0), at(9, 10), at(9, 0)));
    }

    #[test]
    fn the_bar_empties_and_stays_between_full_and_empty() {
        let left = |now| Countdown::new(at(7, 0), at(9, 0), now, Language::English).left_percent;
        assert_eq!((left(at(6, 0)), left(at(7, 30)), left(at(9, 0)), left(at(12, 0))), (100, 75, 0, 0));
        assert_eq!(left(at(9, 0) - TimeDelta::seconds(1)), 1);
        assert_eq!(Countdown::new(at(7, 0), at(7, 0), at(7, 0), Language::English).left_percent, 0);
        assert!(open().render().unwrap().contains("aria-label=\"99 percent of the time is left\""));
    }

    /// The time zone of the reader decides also which day it is.
    #[test]
    fn times_are_those_of_the_readers_clocks() {
        let manner = |language, zone: &str| Manner { language, zone: Some(zone.parse().unwrap()) };
        let (late, now) = (at(23, 30), at(22, 0));
        let utc = Manner::default();
        assert_eq!((near(&late, &now, utc), hour(&late, utc)), ("23:30 UTC".to_owned(), "23:30 UTC".to_owned()));
        let vienna = manner(Language::German, "Europe/Vienna");
        assert_eq!(near(&late, &at(23, 0), vienna), "00:30 MEZ");
        assert_eq!(minute(&late, &now, vienna), "Mi., 25. Nov., 00:30 MEZ");
        let anchorage = manner(Language::English, "America/Anchorage");
        assert_eq!(second(&late, anchorage), "Tue 24 Nov 2026 at 14:30:04 GMT-9");
        assert_eq!((utc.zone_name(), vienna.zone_name()), ("UTC".to_owned(), "Europe/Vienna".to_owned()));
    }
}
