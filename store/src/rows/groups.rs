//! Groups of listed people.

use std::collections::BTreeMap;

use domain::base::ids::PersonId;
use domain::people::group::Group;

use super::error::RowsResult;

/// Writes groups, in one transaction.
pub(crate) trait WriteGroups {
    /// Makes a group, or gives it these members in place of those that it has, and notes whether the configuration file names it. Either
    /// way the group's row is locked first.
    fn save_group(&mut self, group: &Group, members: &[PersonId]) -> RowsResult<()>;
    /// Until the transaction ends, these groups are not changed or removed.
    fn hold_groups(&mut self, names: &[String]) -> RowsResult<()>;
    fn delete_group(&mut self, name: &str) -> RowsResult<()>;
    /// Takes a person out of all groups.
    fn leave_groups(&mut self, person: PersonId) -> RowsResult<()>;
}

/// Reads groups, inside a transaction that writes or outside. Names and addresses are in the order of their characters.
pub(crate) trait ReadGroups {
    fn group(&mut self, name: &str) -> RowsResult<Option<Group>>;
    fn groups(&mut self) -> RowsResult<Vec<Group>>;
    fn group_count(&mut self) -> RowsResult<u32>;
    /// The names of the groups that a person is in.
    fn groups_of(&mut self, person: PersonId) -> RowsResult<Vec<String>>;
    /// The name of the first group that a person is in and that the configuration file names.
    fn managed_group_of(&mut self, person: PersonId) -> RowsResult<Option<String>>;
}

/// Texts in the order of their characters. A database may order them by the language of its machine, and an order that two servers
/// do not share would make two logs of one change.
pub(crate) fn ordered(mut texts: Vec<String>) -> Vec<String> {
    texts.sort_unstable();
    texts
}

/// Puts groups together from their rows, names and marks, and the rows of the groups with the addresses of their members.
pub(crate) fn joined(named: Vec<(i64, String, bool)>, members: Vec<(i64, String)>) -> Vec<Group> {
    let mut addresses: BTreeMap<i64, Vec<String>> = BTreeMap::new();
    for (rid, address) in members {
        addresses.entry(rid).or_default().push(address);
    }
    let with_members = |(rid, name, managed): (i64, String, bool)| Group {
        name,
        members: ordered(addresses.remove(&rid).unwrap_or_default()),
        managed,
    };
    let mut groups: Vec<Group> = named.into_iter().map(with_members).collect();
    groups.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    groups
}
