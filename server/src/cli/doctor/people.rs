//! The people and groups of the file: whether they fit to those of the database, and which people the next start would remove.

use domain::people::roster::Change;
use store::{Directory, Inspection, Schema};

use super::finding::Finding;
use crate::config::{Config, wrong_fields};

const CHECK: &str = "people";
/// How many people the finding about a removal names.
const NAMED_MAX: usize = 10;

/// Examines the people and groups of the file. Nothing is known of the people in tables of another version.
pub(super) fn check(config: &Config, seen: Option<&Inspection>) -> Option<Finding> {
    let roster = config.roster.as_ref()?;
    let Directory { people, groups } = match seen {
        Some(Inspection { schema: Schema::Empty, .. }) => Directory::default(),
        Some(seen) => seen.directory.clone()?,
        None if config.database.file().is_some_and(|file| !file.exists()) => Directory::default(),
        None => return None,
    };
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
