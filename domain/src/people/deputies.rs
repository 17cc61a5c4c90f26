//! The deputies of people who are out of office.

use chrono::{DateTime, Utc};

use crate::base::field::FieldError;
use crate::base::ids::PersonId;
use crate::people::absence::Absence;
use crate::people::person::Person;
use crate::people::principal::Role;

/// How many deputies are asked one after the other, if each of them is out of office as well.
pub const DEPUTIES_MAX: usize = 5;

/// Why the places of a person who is out of office stay with that person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoDeputy {
    /// A deputy is no longer listed.
    Gone,
    /// A deputy is an auditor, and auditors answer no questions.
    Auditor,
    /// The deputies lead back to one of them.
    Circle,
    /// All deputies up to [`DEPUTIES_MAX`] are out of office.
    TooLong,
}

/// The deputies of a person, by their addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deputies {
    /// Those who are out of office as well, in the order in which they would be asked.
    pub via: Vec<String>,
    /// The one who answers.
    pub to: String,
}

/// The deputies of an absence: the first one in office answers. `is_away` says which absences count.
fn follow(
    person: PersonId,
    absence: &Absence,
    people: &[Person],
    mut is_away: impl FnMut(&Absence) -> bool,
) -> Result<Deputies, NoDeputy> {
    let (mut seen, mut via, mut next) = (vec![person], Vec::new(), absence.deputy);
    loop {
        if seen.contains(&next) {
            return Err(NoDeputy::Circle);
        }
        let deputy = people.iter().find(|person| person.id == next).ok_or(NoDeputy::Gone)?;
        if deputy.role == Role::Auditor {
            return Err(NoDeputy::Auditor);
        }
        let Some(absence) = deputy.absence.as_ref().filter(|absence| is_away(absence)) else {
            return Ok(Deputies { via, to: deputy.address.clone() });
        };
        via.push(deputy.address.clone());
        if via.len() == DEPUTIES_MAX {
            return Err(NoDeputy::TooLong);
        }
        seen.push(next);
        next = absence.deputy;
    }
}

/// The deputies of a person who is out of office now; `None` for a person who is not.
///
/// # Errors
///
/// The person has no deputy who is in office.
pub fn deputies(person: &Person, people: &[Person], now: DateTime<Utc>) -> Option<Result<Deputies, NoDeputy>> {
    let absence = person.absence.as_ref().filter(|absence| absence.is_in_force(now))?;
    Some(follow(person.id, absence, people, |other| other.is_in_force(now)))
}

/// Checks the deputy of an absence that a person or an admin sets.
///
/// # Errors
///
/// The person would be the own deputy, also by way of others who are out of office in the same time, or the deputy answers no questions.
pub fn check_deputy(person: &Person, absence: &Absence, people: &[Person]) -> Result<(), FieldError> {
    let refused = |rule: &str, message: String| Err(FieldError::new("deputy", rule, message));
    if people.iter().all(|person| person.id != absence.deputy) {
        return refused("unknown", "must be a listed person".to_owned());
    }
    // A deputy of a deputy is asked only in the time in which all before are out of office.
    let mut shared = *absence;
    let is_away = |other: &Absence| match shared.shared_with(other) {
        Some(narrower) => {
            shared = narrower;
            true
        }
        None => false,
    };
    match follow(person.id, absence, people, is_away) {
        Ok(_) => Ok(()),
        Err(NoDeputy::Gone) => {
            refused("gone", "must not be out of office in the same time with a deputy who is no longer listed".to_owned())
        }
        Err(NoDeputy::Auditor) => refused("role", "must be no auditor: auditors answer no questions".to_owned()),
        Err(NoDeputy::Circle) if absence.deputy == person.id => {
            refused("self", "must be another person than the one who is out of office".to_owned())
        }
        Err(NoDeputy::Circle) => {
            refused("cycle", "must not be out of office in the same time with deputies who lead back to one of them".to_owned())
        }
        Err(NoDeputy::TooLong) => {
            refused("chain", format!("must not be out of office in the same time as all of {DEPUTIES_MAX} deputies in a row"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::people::preferences::Preferences;
    use chrono::TimeZone as _;
    use uuid::Uuid;

    fn at(hour: u32) -> DateTime<Utc> {
        Utc.with_ymd_and_hms(2026, 11, 24, hour, 0, 0).unwrap()
    }

    fn id(number: u128) -> PersonId {
        PersonId(Uuid::from_u128(number))
    }

    /// A person who is out of office between these hours, and has this deputy.
    fn person(number: u128, away: Option<(u32, u32, u128)>) -> Person {
        Person {
            id: id(number),
            address: format!("p{number}@example.com"),
            role: Role::Operator,
            added_at: at(0),
            added_by: "root".into(),
            confirmed_at: None,
            managed: false,
            absence: away.map(|(from, until, deputy)| Absence { from: at(from), until: at(until), deputy: id(deputy) }),
            preferences: Preferences::default(),
        }
    }

    #[test]
    fn the_first_deputy_in_office_answers() {
        let people = [person(1, Some((1, 5, 2))), person(2, Some((2, 3, 3))), person(3, None), person(4, Some((1, 9, 7)))];
        let of = |number: usize, hour| deputies(&people[number - 1], &people, at(hour));
        assert_eq!(of(1, 0), None);
        assert_eq!(of(1, 1), Some(Ok(Deputies { via: vec![], to: "p2@example.com".into() })));
        assert_eq!(of(1, 2), Some(Ok(Deputies { via: vec!["p2@example.com".into()], to: "p3@example.com".into() })));
        assert_eq!(of(1, 3), Some(Ok(Deputies { via: vec![], to: "p2@example.com".into() })), "2 is back");
        assert_eq!(of(1, 5), None, "the end is no part of it");
        assert_eq!(of(4, 2), Some(Err(NoDeputy::Gone)));
        let auditor = [person(1, Some((1, 5, 2))), Person { role: Role::Auditor, ..person(2, None) }];
        assert_eq!(deputies(&auditor[0], &auditor, at(2)), Some(Err(NoDeputy::Auditor)));
    }

    #[test]
    fn deputies_go_neither_in_a_circle_nor_on_for_ever() {
        let circle = [person(1, Some((1, 5, 2))), person(2, Some((1, 5, 3))), person(3, Some((4, 6, 1)))];
        assert_eq!(deputies(&circle[0], &circle, at(4)), Some(Err(NoDeputy::Circle)));
        assert!(deputies(&circle[0], &circle, at(3)).unwrap().is_ok(), "3 is there until then");
        let rule = |person: &Person, people: &[Person]| match check_deputy(person, &person.absence.unwrap(), people) {
            Ok(()) => "fits".to_owned(),
            Err(error) => error.rule,
        };
        assert_eq!(rule(&circle[0], &circle), "cycle", "it would be one at some time");
        assert_eq!(rule(&person(1, Some((1, 5, 1))), &circle), "self");
        assert_eq!(rule(&person(1, Some((1, 5, 9))), &circle), "unknown");
        assert_eq!(rule(&person(4, Some((5, 6, 3))), &circle[2..]), "gone", "the deputy's deputy is not listed");
        // 2 is back before 3 leaves, so 3 never sends a place of 1 back to 1.
        let partly = [person(1, Some((1, 9, 2))), person(2, Some((1, 3, 3))), person(3, Some((4, 6, 1)))];
        assert!((1..9).all(|hour| deputies(&partly[0], &partly, at(hour)).unwrap().is_ok()));
        assert_eq!(rule(&partly[0], &partly), "fits", "at no time all of them are away");
        assert_eq!(rule(&partly[2], &partly), "fits");
        let row: Vec<Person> = (1..=8).map(|number| person(number, (number < 8).then_some((1, 5, number + 1)))).collect();
        assert_eq!(rule(&row[0], &row), "chain");
        assert_eq!(deputies(&row[0], &row, at(2)), Some(Err(NoDeputy::TooLong)));
        assert_eq!(rule(&row[3], &row), "fits");
    }
}
