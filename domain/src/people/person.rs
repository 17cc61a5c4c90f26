//! People who are listed: they may log in, and they are the members of groups.

use chrono::{DateTime, Utc};

use crate::base::address;
use crate::base::field::FieldError;
use crate::base::ids::PersonId;
use crate::people::absence::Absence;
use crate::people::preferences::{Locale, Preferences, TimeZone};
use crate::people::principal::Role;
use crate::problem::Rejection;

/// The most people who are listed at a time: a change of a group reads all of them.
pub const PEOPLE_MAX: u32 = 2_000;
/// The roles that a person can have.
pub const ROLES: [Role; 3] = [Role::Auditor, Role::Operator, Role::Admin];

/// A person who is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// The person's id.
    pub id: PersonId,
    /// The address to which login links are sent, in small letters: two spellings are one person.
    pub address: String,
    /// The role that says what the person may do.
    pub role: Role,
    /// When the person was added.
    pub added_at: DateTime<Utc>,
    /// The name of the account that added the person.
    pub added_by: String,
    /// When the person first logged in; absent before.
    pub confirmed_at: Option<DateTime<Utc>>,
    /// Whether the configuration file names the person, so that the role is changed only there.
    pub managed: bool,
    /// When the person is out of office, and who answers meanwhile; absent if the person has not said so.
    pub absence: Option<Absence>,
    /// The time zone and the locale, as far as they are known.
    pub preferences: Preferences,
}

/// A change of a person; a member that is `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PersonChange {
    /// The role from now on.
    pub role: Option<Role>,
    /// The time zone from now on; `Some(None)` if it is not known.
    pub time_zone: Option<Option<TimeZone>>,
    /// The locale from now on; `Some(None)` if it is not known.
    pub locale: Option<Option<Locale>>,
}

impl PersonChange {
    /// Reads a change.
    ///
    /// # Errors
    ///
    /// The role is for keys of programs, or a name is none of a time zone or of a locale.
    pub fn read(
        role: Option<Role>,
        time_zone: Option<Option<String>>,
        locale: Option<Option<String>>,
    ) -> Result<Self, Rejection> {
        let role = role.map(check_role).transpose()?;
        let named = Preferences::read(
            "",
            time_zone.iter().flatten().next().map(String::as_str),
            locale.iter().flatten().next().map(String::as_str),
        );
        let named = named.map_err(|errors| Rejection::Invalid { errors })?;
        Ok(Self { role, time_zone: time_zone.map(|_| named.time_zone), locale: locale.map(|_| named.locale) })
    }

    /// The person after the change.
    #[must_use]
    pub fn of(self, person: Person) -> Person {
        let Preferences { time_zone, locale, managed } = person.preferences;
        let preferences =
            Preferences { time_zone: self.time_zone.unwrap_or(time_zone), locale: self.locale.unwrap_or(locale), managed };
        Person { role: self.role.unwrap_or(person.role), preferences, ..person }
    }
}

/// Reads the address of a person.
///
/// # Errors
///
/// The text is no plain address.
pub fn read_address(text: &str) -> Result<String, Rejection> {
    address_in("address", text).map_err(|error| Rejection::Invalid { errors: vec![error] })
}

/// Reads the address of a person in the member `field` of a request.
pub(crate) fn address_in(field: impl Into<String>, text: &str) -> Result<String, FieldError> {
    let rule = || format!("must be one plain e-mail address ({})", address::PLAIN_RULE);
    let address = address::exact(text.trim()).ok_or_else(|| FieldError::new(field, "format", rule()))?;
    Ok(address.to_lowercase())
}

/// Checks that a person can have this role.
///
/// # Errors
///
/// The role is for keys of programs.
pub fn check_role(role: Role) -> Result<Role, Rejection> {
    let is_for_people = ROLES.contains(&role);
    let message = "must be auditor, operator or admin; other roles are for keys of programs";
    if is_for_people { Ok(role) } else { Err(Rejection::invalid("role", "choice", message)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_spellings_of_an_address_are_one_person() {
        for typed in ["Ada@Example.com", " ada@example.COM "] {
            assert_eq!(read_address(typed).as_deref(), Ok("ada@example.com"));
        }
        for wrong in
            ["", "ada", "ada@", "Ada <ada@example.com>", "ada@example.com, bob@example.com", "ada@127.0.0.1", "a da@example.com"]
        {
            assert!(read_address(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_change_leaves_what_it_does_not_name() {
        let person = Person {
            id: PersonId(uuid::Uuid::from_u128(7)),
            address: "ada@example.com".to_owned(),
            role: Role::Operator,
            added_at: DateTime::UNIX_EPOCH,
            added_by: "root".to_owned(),
            confirmed_at: None,
            managed: false,
            absence: None,
            preferences: Preferences::read("", Some("Europe/Berlin"), Some("de")).unwrap(),
        };
        let change = |role, time_zone: Option<Option<&str>>, locale: Option<Option<&str>>| {
            let owned = |named: Option<Option<&str>>| named.map(|named| named.map(str::to_owned));
            let changed = PersonChange::read(role, owned(time_zone), owned(locale)).unwrap().of(person.clone());
            (changed.role, changed.preferences.names())
        };
        let names = |zone: Option<&str>, locale: Option<&str>| (zone.map(str::to_owned), locale.map(str::to_owned));
        assert_eq!(change(None, None, None), (Role::Operator, names(Some("Europe/Berlin"), Some("de"))));
        assert_eq!(change(Some(Role::Admin), Some(None), None), (Role::Admin, names(None, Some("de"))));
        assert_eq!(change(None, Some(Some("UTC")), Some(Some("en"))), (Role::Operator, names(Some("UTC"), Some("en"))));
        assert!(PersonChange::read(Some(Role::Agent), None, None).is_err());
        assert!(PersonChange::read(None, Some(Some("Mars/Base".to_owned())), None).is_err());
    }

    #[test]
    fn a_person_has_a_role_of_people() {
        for role in Role::ALL {
            assert_eq!(check_role(role).is_ok(), ROLES.contains(&role), "{role}");
        }
    }
}
