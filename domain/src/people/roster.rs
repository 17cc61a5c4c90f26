//! The people and groups that the configuration file names.
//!
//! Guarantee: the people and groups that the file names are as the file says, and those that it named before are gone; people and groups
//! that an admin added stay as they are. Mechanism: each person and group that the file made or took over is marked as managed, and
//! the differences are computed from the lists as they are. Failure: a file that does not fit to those lists is refused with the field that
//! is wrong, and nothing changes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::base::field::FieldError;
use crate::people::group::{GROUPS_MAX, Group, NAME_RULE, members_in};
use crate::people::person::{PEOPLE_MAX, Person, ROLES, address_in};
use crate::people::preferences::Preferences;
use crate::people::principal::Role;
use crate::suspension::channel::is_channel_name;

/// A person as the configuration file names the person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The address.
    pub address: String,
    /// The role.
    pub role: Role,
    /// The name of the time zone, if the file says it.
    pub time_zone: Option<String>,
    /// The locale, if the file says it.
    pub locale: Option<String>,
}

/// A person whom the file names.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NamedPerson {
    address: String,
    role: Role,
    /// Time zone and locale, as far as the file says them. If it says neither, both stay as the person chose them.
    preferences: Preferences,
}

/// The people and groups that the configuration file names, in the order of the file. Addresses are in small letters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roster {
    people: Vec<NamedPerson>,
    groups: Vec<Group>,
}

/// A change that makes the lists of the server be as the file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The file does not name this group any more.
    RemoveGroup(Group),
    /// The file does not name this person any more.
    RemovePerson(Person),
    /// The file gives this person another role, time zone or locale, or names a person who was added otherwise; the person as it is from now on.
    ChangePerson(Person),
    /// The file names a person who is not listed.
    AddPerson {
        /// The address.
        address: String,
        /// The role.
        role: Role,
        /// Time zone and locale, as far as the file says them.
        preferences: Preferences,
    },
    /// The file makes this group, gives it other members, or names a group that was made otherwise; the group as it is from now on.
    SetGroup(Group),
}

impl Roster {
    /// Whether the file names a group of this name.
    pub fn has_group(&self, name: &str) -> bool {
        self.groups.iter().any(|group| group.name == name)
    }

    /// Reads what the file says: people, and groups with the addresses of their members.
    ///
    /// # Errors
    ///
    /// Each field that breaks a rule.
    pub fn read(people: &[Entry], groups: &BTreeMap<String, Vec<String>>) -> Result<Self, Vec<FieldError>> {
        let mut errors = Vec::new();
        let roster = Self { people: read_people(people, &mut errors), groups: read_groups(groups, &mut errors) };
        if errors.is_empty() { Ok(roster) } else { Err(errors) }
    }

    /// The changes after which the lists are as the file says, in the order in which they can be made.
    ///
    /// # Errors
    ///
    /// Each member of a group who would not be listed; too many people or groups, those that the file does not name included.
    pub fn changes(&self, people: &[Person], groups: &[Group]) -> Result<Vec<Change>, Vec<FieldError>> {
        let named: BTreeSet<&str> = self.people.iter().map(|person| person.address.as_str()).collect();
        let is_named = |name: &str| self.groups.iter().any(|group| group.name == name);
        let (leaving, others): (Vec<&Person>, Vec<&Person>) =
            people.iter().filter(|person| !named.contains(person.address.as_str())).partition(|person| person.managed);
        let (gone, other_groups): (Vec<&Group>, Vec<&Group>) =
            groups.iter().filter(|group| !is_named(&group.name)).partition(|group| group.managed);
        let errors = self.misfits(&named, &others, other_groups.len());
        if !errors.is_empty() {
            return Err(errors);
        }
        let mut changes: Vec<Change> = gone.into_iter().cloned().map(Change::RemoveGroup).collect();
        changes.extend(leaving.iter().map(|person| Change::RemovePerson((*person).clone())));
        changes.extend(self.changes_of_people(people));
        let leaving: BTreeSet<&str> = leaving.into_iter().map(|person| person.address.as_str()).collect();
        changes.extend(self.groups.iter().filter_map(|group| change_of_group(group, groups, &leaving)));
        Ok(changes)
    }

    /// The fields of the file that do not fit to people and groups that were added otherwise.
    fn misfits(&self, named: &BTreeSet<&str>, others: &[&Person], other_groups: usize) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let bounds = [
            ("people", self.people.len(), others.len(), PEOPLE_MAX as usize),
            ("groups", self.groups.len(), other_groups, GROUPS_MAX as usize),
        ];
        for (field, count, others, most) in bounds {
            if count + others > most {
                let message = format!("names {count}, and {others} were added otherwise; together there are at most {most}");
                errors.push(FieldError::new(field, "count", message));
            }
        }
        let listed: BTreeSet<&str> = others.iter().map(|person| person.address.as_str()).collect();
        for group in &self.groups {
            let members = group.members.iter().enumerate();
            for (index, address) in
                members.filter(|(_, address)| ![named, &listed].iter().any(|people| people.contains(address.as_str())))
            {
                let message =
                    format!("{address} is no listed person: name the person under [[people]] as well, or add the person first");
                errors.push(FieldError::new(format!("groups.{}[{index}]", group.name), "unknown", message));
            }
        }
        errors
    }

    fn changes_of_people<'a>(&'a self, people: &'a [Person]) -> impl Iterator<Item = Change> + 'a {
        let listed: HashMap<&str, &Person> = people.iter().map(|person| (person.address.as_str(), person)).collect();
        self.people.iter().filter_map(move |named| match listed.get(named.address.as_str()) {
            None => {
                let NamedPerson { address, role, preferences } = named.clone();
                Some(Change::AddPerson { address, role, preferences })
            }
            Some(person) => {
                let wanted = named.over(person);
                (wanted != **person).then_some(Change::ChangePerson(wanted))
            }
        })
    }
}

impl NamedPerson {
    /// The listed person as the file wants the person. Without a word of the file, time zone and locale stay as the person chose them.
    fn over(&self, person: &Person) -> Person {
        let is_said = self.preferences.managed || person.preferences.managed;
        let preferences = if is_said { &self.preferences } else { &person.preferences };
        Person { role: self.role, managed: true, preferences: preferences.clone(), ..person.clone() }
    }
}

/// The change that makes a group be as the file says, if it is not. People who leave are out of it already: their removal says so.
fn change_of_group(wanted: &Group, groups: &[Group], leaving: &BTreeSet<&str>) -> Option<Change> {
    let mut members = wanted.members.clone();
    members.sort_unstable();
    let is_as_wanted = |group: &Group| {
        let staying = group.members.iter().filter(|address| !leaving.contains(address.as_str()));
        group.name == wanted.name && group.managed && staying.eq(&members)
    };
    let is_there = groups.iter().any(is_as_wanted);
    (!is_there).then(|| Change::SetGroup(Group { name: wanted.name.clone(), members, managed: true }))
}

fn read_people(people: &[Entry], errors: &mut Vec<FieldError>) -> Vec<NamedPerson> {
    if people.len() > PEOPLE_MAX as usize {
        errors.push(FieldError::new("people", "count", format!("must be at most {PEOPLE_MAX} people")));
    }
    let (mut read, mut seen) = (Vec::with_capacity(people.len()), BTreeSet::new());
    for (index, Entry { address: text, role, time_zone, locale }) in people.iter().enumerate() {
        let preferences = Preferences::read(&format!("people[{index}]."), time_zone.as_deref(), locale.as_deref());
        let preferences = preferences.unwrap_or_else(|wrong| {
            errors.extend(wrong);
            Preferences::default()
        });
        let preferences = Preferences { managed: !preferences.is_empty(), ..preferences };
        let field = format!("people[{index}].address");
        match address_in(&field, text) {
            Err(error) => errors.push(error),
            Ok(address) if !seen.insert(address.clone()) => {
                errors.push(FieldError::new(field, "unique", format!("{address} is named twice")));
            }
            Ok(address) => read.push(NamedPerson { address, role: *role, preferences }),
        }
        if !ROLES.contains(role) {
            let message = "must be auditor, operator or admin";
            errors.push(FieldError::new(format!("people[{index}].role"), "choice", message));
        }
    }
    read
}

fn read_groups(groups: &BTreeMap<String, Vec<String>>, errors: &mut Vec<FieldError>) -> Vec<Group> {
    if groups.len() > GROUPS_MAX as usize {
        errors.push(FieldError::new("groups", "count", format!("must be at most {GROUPS_MAX} groups")));
    }
    let mut read = Vec::with_capacity(groups.len());
    for (name, members) in groups {
        if !is_channel_name(name) {
            errors.push(FieldError::new("groups", "format", format!("{name:?} is no name of a group: it {NAME_RULE}")));
            continue;
        }
        match members_in(&format!("groups.{name}"), members) {
            Ok(members) => read.push(Group { name: name.clone(), members, managed: true }),
            Err(wrong) => errors.extend(wrong),
        }
    }
    read
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use uuid::Uuid;

    use super::*;
    use crate::base::ids::PersonId;
    use crate::people::group::GROUP_MEMBERS_MAX;

    const ADA: &str = "ada@example.com";
    const BOB: &str = "bob@example.com";
    const EVE: &str = "eve@example.com";

    fn roster(people: &[(&str, Role)], groups: &[(&str, &[&str])]) -> Roster {
        read(people, groups).unwrap()
    }

    fn read(people: &[(&str, Role)], groups: &[(&str, &[&str])]) -> Result<Roster, Vec<FieldError>> {
        let people: Vec<Entry> = people.iter().map(|(address, role)| entry(address, *role, None, None)).collect();
        let groups = groups.iter().map(|(name, members)| ((*name).to_owned(), owned(members))).collect();
        Roster::read(&people, &groups)
    }

    fn entry(address: &str, role: Role, time_zone: Option<&str>, locale: Option<&str>) -> Entry {
        let [time_zone, locale] = [time_zone, locale].map(|named| named.map(str::to_owned));
        Entry { address: address.to_owned(), role, time_zone, locale }
    }

    fn owned(members: &[&str]) -> Vec<String> {
        members.iter().map(|member| (*member).to_owned()).collect()
    }

    fn person(address: &str, role: Role, managed: bool) -> Person {
        Person {
            id: PersonId(Uuid::from_u128(7)),
            address: address.to_owned(),
            role,
            added_at: DateTime::UNIX_EPOCH,
            added_by: "root".to_owned(),
            confirmed_at: None,
            managed,
            absence: None,
            preferences: Preferences::default(),
        }
    }

    fn group(name: &str, members: &[&str], managed: bool) -> Group {
        Group { name: name.to_owned(), members: owned(members), managed }
    }

    /// The fields and rules that are broken.
    fn broken<T: std::fmt::Debug>(refused: Result<T, Vec<FieldError>>) -> Vec<(String, String)> {
        refused.unwrap_err().into_iter().map(|error| (error.field, error.rule)).collect()
    }

    fn field(field: &str, rule: &str) -> (String, String) {
        (field.to_owned(), rule.to_owned())
    }

    #[test]
    fn a_start_makes_what_is_missing_and_removes_what_the_file_dropped() {
        let roster = roster(&[("Ada@Example.com", Role::Admin), (BOB, Role::Operator)], &[("finance", &[BOB, ADA])]);
        let people =
            [person(ADA, Role::Auditor, true), person(EVE, Role::Operator, true), person("own@example.com", Role::Admin, false)];
        let groups = [group("board", &[ADA], true), group("own", &[EVE, "own@example.com"], false)];
        let changes = roster.changes(&people, &groups).unwrap();
        let (address, preferences) = (BOB.to_owned(), Preferences::default());
        let bob = Change::AddPerson { address, role: Role::Operator, preferences };
        let expected = [
            Change::RemoveGroup(group("board", &[ADA], true)),
            Change::RemovePerson(person(EVE, Role::Operator, true)),
            Change::ChangePerson(person(ADA, Role::Admin, true)),
            bob,
            Change::SetGroup(group("finance", &[ADA, BOB], true)),
        ];
        assert_eq!(changes, expected);
    }

    #[test]
    fn lists_that_are_as_the_file_says_are_left_alone() {
        let roster = roster(&[(BOB, Role::Operator), (ADA, Role::Admin)], &[("finance", &[BOB, ADA])]);
        let people = [person(ADA, Role::Admin, true), person(BOB, Role::Operator, true), person(EVE, Role::Admin, false)];
        let groups = [group("finance", &[ADA, BOB], true), group("own", &[EVE], false)];
        assert_eq!(roster.changes(&people, &groups), Ok(vec![]));
        assert_eq!(Roster::default().changes(&people[2..], &groups[1..]), Ok(vec![]));
    }

    /// The log shows from when on the file decides about them, although nothing else changes.
    #[test]
    fn people_and_groups_that_were_added_otherwise_are_taken_over() {
        let roster = roster(&[(ADA, Role::Admin)], &[("finance", &[ADA])]);
        let taken_over = roster.changes(&[person(ADA, Role::Admin, false)], &[group("finance", &[ADA], false)]).unwrap();
        let expected = [Change::ChangePerson(person(ADA, Role::Admin, true)), Change::SetGroup(group("finance", &[ADA], true))];
        assert_eq!(taken_over, expected);
    }

    /// If the file says neither time zone nor locale, the person chooses; if it says one of them, it says both.
    #[test]
    fn time_zone_and_locale_are_as_the_file_says_if_it_says_one_of_them() {
        let with = |time_zone: Option<&str>, locale: Option<&str>, managed| Person {
            preferences: Preferences { managed, ..Preferences::read("", time_zone, locale).unwrap() },
            ..person(ADA, Role::Admin, true)
        };
        let changes = |time_zone, locale, listed: &Person| {
            let roster = Roster::read(&[entry(ADA, Role::Admin, time_zone, locale)], &BTreeMap::new()).unwrap();
            roster.changes(std::slice::from_ref(listed), &[]).unwrap()
        };
        let (chosen, said) = (with(Some("UTC"), Some("en"), false), with(None, Some("de-AT"), true));
        assert_eq!(changes(None, None, &chosen), []);
        assert_eq!(changes(None, Some("de-at"), &chosen), [Change::ChangePerson(said.clone())]);
        assert_eq!(changes(None, Some("de-AT"), &said), []);
        assert_eq!(
            changes(None, None, &said),
            [Change::ChangePerson(person(ADA, Role::Admin, true))],
            "the file says them no more"
        );
        let wrong = Roster::read(&[entry(ADA, Role::Admin, Some("Mars"), Some("fr"))], &BTreeMap::new());
        assert_eq!(broken(wrong), [field("people[0].time_zone", "unknown"), field("people[0].locale", "unsupported")]);
    }

    /// The removal of a person says already that the person is in no group any more.
    #[test]
    fn a_group_that_only_loses_a_removed_person_is_not_written_again() {
        let roster = roster(&[(ADA, Role::Admin)], &[("finance", &[ADA])]);
        let people = [person(ADA, Role::Admin, true), person(BOB, Role::Operator, true)];
        let changes = roster.changes(&people, &[group("finance", &[ADA, BOB], true)]);
        assert_eq!(changes, Ok(vec![Change::RemovePerson(person(BOB, Role::Operator, true))]));
    }

    /// A member who would not be listed after the start is refused, also one who is listed still and leaves by this very file.
    #[test]
    fn each_member_is_in_the_file_or_was_added_otherwise() {
        let roster = roster(&[(ADA, Role::Admin)], &[("finance", &[ADA, BOB, EVE])]);
        let added = |managed| [person(BOB, Role::Operator, false), person(EVE, Role::Operator, managed)];
        assert_eq!(
            broken(roster.changes(&[], &[])),
            [field("groups.finance[1]", "unknown"), field("groups.finance[2]", "unknown")]
        );
        assert_eq!(broken(roster.changes(&added(true), &[])), [field("groups.finance[2]", "unknown")]);
        assert!(roster.changes(&added(false), &[]).is_ok());
    }

    #[test]
    fn people_and_groups_of_both_kinds_are_counted_together() {
        let others: Vec<Person> =
            (1..PEOPLE_MAX).map(|number| person(&format!("a{number}@example.com"), Role::Admin, false)).collect();
        assert!(roster(&[(ADA, Role::Admin)], &[]).changes(&others, &[]).is_ok());
        let both = roster(&[(ADA, Role::Admin), (BOB, Role::Admin)], &[]);
        assert_eq!(broken(both.changes(&others, &[])), [field("people", "count")]);
        assert!(both.changes(&others[1..], &[]).is_ok());
        let taken_over = roster(&[(ADA, Role::Admin), ("a7@example.com", Role::Admin)], &[]);
        assert!(taken_over.changes(&others, &[]).is_ok(), "a person who is taken over counts once");
        let leaving: Vec<Person> = others.iter().cloned().map(|person| Person { managed: true, ..person }).collect();
        assert!(both.changes(&leaving, &[]).is_ok(), "people who leave make room");
        let groups: Vec<Group> = (1..GROUPS_MAX).map(|number| group(&format!("g{number}"), &[], false)).collect();
        assert!(roster(&[(ADA, Role::Admin)], &[("a", &[ADA])]).changes(&[], &groups).is_ok());
        let both = roster(&[(ADA, Role::Admin)], &[("a", &[ADA]), ("b", &[ADA])]);
        assert_eq!(broken(both.changes(&[], &groups)), [field("groups", "count")]);
    }

    #[test]
    fn a_wrong_file_is_refused_by_its_fields() {
        let long: Vec<String> = (0..=GROUP_MEMBERS_MAX).map(|number| format!("a{number}@example.com")).collect();
        let long: Vec<&str> = long.iter().map(String::as_str).collect();
        let refused = read(
            &[("ada", Role::Admin), (BOB, Role::Agent), ("BOB@example.com", Role::Admin)],
            &[("Finance", &[BOB]), ("all", &long), ("none", &[]), ("two", &[BOB, "bob@Example.com", "eve"])],
        );
        let expected = [
            ("people[0].address", "format"),
            ("people[1].role", "choice"),
            ("people[2].address", "unique"),
            ("groups", "format"),
            ("groups.all", "count"),
            ("groups.none", "count"),
            ("groups.two[1]", "unique"),
            ("groups.two[2]", "format"),
        ];
        assert_eq!(broken(refused), expected.map(|(name, rule)| field(name, rule)));
        assert!(read(&[(BOB, Role::Admin)], &[("all", &long[1..])]).is_ok());
    }
}
