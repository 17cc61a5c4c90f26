//! The people and groups of the file: whether they fit to those of the database, which people the next start would remove, and whether
//! the groups with floors exist.

use domain::people::roster::Change;
use store::{Directory, Inspection, Schema};

use super::finding::Finding;
use crate::config::{Config, wrong_fields};

const CHECK: &str = "people";
const FLOORS: &str = "floors";
/// How many people the finding about a removal names.
const NAMED_MAX: usize = 10;

/// Examines the people and groups of the file. Nothing is known of the people in tables of another version.
pub(super) fn check(config: &Config, seen: Option<&Inspection>) -> Option<Finding> {
    let roster = config.roster.as_ref()?;
    let Directory { people, groups } = directory(config, seen)?;
    let changes = match roster.changes(&people, &groups) {
        Ok(changes) => changes,
        Err(errors) => {
            return Some(Finding::fail(
                CHECK,
                format!("The people and groups of the file do not fit to those of the database: {}.", wrong_fields(&errors)),
                "Correct the file; a server does not start like this.",
            ));
        }
    };
    let removed = changes.iter().filter_map(|change| match change {
        Change::RemovePerson(person) => Some(person.address.as_str()),
        Change::RemoveGroup(_) | Change::ChangePerson(_) | Change::AddPerson { .. } | Change::SetGroup(_) => None,
    });
    let removed: Vec<&str> = removed.collect();
    (!removed.is_empty()).then(|| {
        let (count, named) = (removed.len(), removed.iter().take(NAMED_MAX).copied().collect::<Vec<_>>().join(", "));
        let more = if count > NAMED_MAX { ", …" } else { "" };
        Finding::warn(
            CHECK,
            format!("The next start removes people whom the file does not name any more ({count}): {named}{more}."),
            "If they belong there, name them under [[people]]; all servers on one database share one file.",
        )
    })
}

/// Examines the floors of groups. A floor of a group that does not exist never holds, which a typing error makes easily.
pub(super) fn floors(config: &Config, seen: Option<&Inspection>) -> Option<Finding> {
    let Directory { groups, .. } = directory(config, seen)?;
    let exists = |name: &str| {
        groups.iter().any(|group| group.name == name) || config.roster.as_ref().is_some_and(|roster| roster.has_group(name))
    };
    let missing: Vec<&str> = config.asking.floors.groups.keys().map(String::as_str).filter(|name| !exists(name)).collect();
    (!missing.is_empty()).then(|| {
        Finding::warn(
            FLOORS,
            format!("[floors.groups] names groups that do not exist: {}. Their floors hold for no question.", missing.join(", ")),
            "Correct the name, or make the group: placet groups set NAME ADDRESS….",
        )
    })
}

fn directory(config: &Config, seen: Option<&Inspection>) -> Option<Directory> {
    match seen {
        Some(Inspection { schema: Schema::Empty, .. }) => Some(Directory::default()),
        Some(seen) => seen.directory.clone(),
        None if config.database.file().is_some_and(|file| !file.exists()) => Some(Directory::default()),
        None => None,
    }
}
