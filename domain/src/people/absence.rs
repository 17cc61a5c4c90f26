//! The time for which a person is out of office.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::base::field::FieldError;
use crate::base::ids::PersonId;
use crate::base::time;

/// The longest time for which a person is out of office.
pub const ABSENCE_MAX: TimeDelta = TimeDelta::days(366);

/// The time for which a person is out of office. It is also stored in the person's row, so its members never change their names or forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Absence {
    /// When it begins.
    #[serde(with = "time::z")]
    pub from: DateTime<Utc>,
    /// When it ends.
    #[serde(with = "time::z")]
    pub until: DateTime<Utc>,
    /// The person who answers meanwhile.
    pub deputy: PersonId,
}

impl Absence {
    /// The faults of the time of an absence: an end that is not after the beginning or is past already, or a time that is too long.
    pub fn faults(&self, now: DateTime<Utc>) -> Vec<FieldError> {
        let Self { from, until, .. } = *self;
        let written = [("from", from), ("until", until)].into_iter().filter(|(_, time)| !time::is_plain(*time));
        let written: Vec<_> = written.map(|(field, _)| FieldError::new(field, "calendar", time::MUST_BE_PLAIN)).collect();
        if !written.is_empty() {
            return written;
        }
        if until <= from || until <= now {
            return vec![FieldError::new("until", "order", "must be after from, and in the future")];
        }
        if until - from > ABSENCE_MAX {
            let message = format!("must be at most {} days after from", ABSENCE_MAX.num_days());
            return vec![FieldError::new("until", "range", message)];
        }
        Vec::new()
    }

    /// Whether the person is out of office at this time.
    pub fn is_in_force(&self, now: DateTime<Utc>) -> bool {
        self.from <= now && now < self.until
    }

    /// The time in which both are in force, with the deputy of the other one; `None` if there is none.
    pub(crate) fn shared_with(&self, other: &Self) -> Option<Self> {
        let shared = Self { from: self.from.max(other.from), until: self.until.min(other.until), deputy: other.deputy };
        (shared.from < shared.until).then_some(shared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeZone as _;
    use uuid::Uuid;

    fn at(hour: u32) -> DateTime<Utc> {
        Utc.with_ymd_and_hms(2026, 11, 24, hour, 0, 0).unwrap()
    }

    /// A time that cannot be written and read again would make the person's row unreadable.
    #[test]
    fn an_absence_is_in_years_that_can_be_written() {
        let lasting = |from, until| Absence { from, until, deputy: PersonId(Uuid::from_u128(2)) }.faults(at(3)).is_empty();
        let last: DateTime<Utc> = "9999-12-31T23:59:59.999999Z".parse().unwrap();
        assert!(lasting(last - TimeDelta::days(1), last) && !lasting(last - TimeDelta::days(1), last + TimeDelta::seconds(1)));
        let [late, leap] = ["9999-12-31T23:59:59-01:00", "2026-12-31T23:59:60Z"].map(|text| time::parse(text).unwrap());
        assert!(!lasting(last - TimeDelta::days(1), late) && !lasting(at(4), leap));
    }

    #[test]
    fn an_absence_has_an_end_in_the_future_and_a_bound() {
        let lasting = |from, until| Absence { from, until, deputy: PersonId(Uuid::from_u128(2)) }.faults(at(3)).is_empty();
        assert!(lasting(at(1), at(4)) && lasting(at(5), at(6)));
        assert!(!lasting(at(4), at(4)) && !lasting(at(1), at(3)) && !lasting(at(6), at(5)));
        assert!(lasting(at(4), at(4) + ABSENCE_MAX) && !lasting(at(4), at(5) + ABSENCE_MAX));
        // The page has words for the bound alone under this rule.
        let rules = |until| {
            let faults = Absence { from: at(4), until, deputy: PersonId(Uuid::from_u128(2)) }.faults(at(3));
            faults.into_iter().map(|fault| fault.rule).collect::<Vec<_>>()
        };
        let never = time::parse("9999-12-31T23:59:59-01:00").unwrap();
        assert_eq!((rules(at(5) + ABSENCE_MAX), rules(never)), (vec!["range".to_owned()], vec!["calendar".to_owned()]));
    }
}
