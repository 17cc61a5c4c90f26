//! Keeps track of the files a store has open. A name can be given to another file while a server runs, and a
//! file can get a second name.
//!
//! SQLite finds a database's log by the database's name. Under a second name it makes a second log, and two servers
//! that share the file but not the log overwrite each other. A file that was deleted still takes every write, but all
//! the writes are gone when the file is closed.

use std::fs::Metadata;
use std::io::ErrorKind;
#[cfg(unix)]
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::Context;

use super::file::{SERVE_LOCK, beside};

/// The files beside a database that must not change while it is open: the log, its index, and the lock of the server.
const BESIDE: [&str; 3] = ["-wal", "-shm", SERVE_LOCK];

/// The files of an open database, by device and number.
pub(super) struct Identity {
    database: PathBuf,
    files: Vec<(PathBuf, (u64, u64))>,
    /// The message about the first file that was no longer under its name. It stays even if the file comes back, because
    /// connections may meanwhile have opened another file of that name.
    lost: OnceLock<String>,
}

impl Identity {
    /// The files as they are now. A file beside the database that does not exist (on the tests' own disk) is not tracked.
    ///
    /// # Errors
    ///
    /// The database cannot be looked at.
    pub(super) fn of(database: &Path) -> anyhow::Result<Self> {
        let about = database.metadata().with_context(|| format!("failed to look at {}", database.display()))?;
        let mut files = vec![(database.to_owned(), number(&about))];
        for path in BESIDE.map(|ending| beside(database, ending)) {
            if let Ok(about) = path.metadata() {
                files.push((path, number(&about)));
            }
        }
        Ok(Self { database: database.to_owned(), files, lost: OnceLock::new() })
    }

    /// Returns a message if a file is no longer under its name, or was not at an earlier look: writes then do not reach the file
    /// that has the name.
    pub(super) fn lost(&self) -> Option<String> {
        if let Some(why) = self.lost.get() {
            return Some(why.clone());
        }
        self.files.iter().find_map(|(path, opened)| {
            let became = match path.metadata() {
                Ok(about) if number(&about) == *opened => return None,
                Ok(_) => "replaced",
                Err(error) if error.kind() == ErrorKind::NotFound => "deleted or moved",
                // The next attempt to look may succeed, so this message is returned but not remembered.
                Err(error) => return Some(format!("{} cannot be looked at: {error}", path.display())),
            };
            let path = path.display();
            let why = format!("{path} was {became} while the server ran: stop the server, put the file back, and start it");
            Some(self.lost.get_or_init(|| why).clone())
        })
    }

    /// Whether the database itself is no longer under its name.
    pub(super) fn is_astray(&self) -> bool {
        let (path, opened) = &self.files[0];
        path.metadata().map_or(true, |about| number(&about) != *opened)
    }

    /// Returns a message if the database has a second name.
    pub(super) fn second_name(&self) -> Option<String> {
        second_name(&self.database)
    }
}

/// Returns a message if the file has more than one name.
pub fn second_name(database: &Path) -> Option<String> {
    let names = names(&database.metadata().ok()?);
    (names > 1).then(|| {
        format!(
            "{} has {names} names (hard links); a server on another one would overwrite what this one writes: remove the others",
            database.display()
        )
    })
}

#[cfg(unix)]
fn number(about: &Metadata) -> (u64, u64) {
    (about.dev(), about.ino())
}

#[cfg(unix)]
fn names(about: &Metadata) -> u64 {
    about.nlink()
}

// On other systems an open file keeps its name: it can be neither deleted nor replaced.
#[cfg(not(unix))]
fn number(_: &Metadata) -> (u64, u64) {
    (0, 0)
}

#[cfg(not(unix))]
fn names(_: &Metadata) -> u64 {
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_lost_its_name_and_one_that_got_a_second_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("placet.db");
        std::fs::write(&path, "").unwrap();
        std::fs::write(beside(&path, "-wal"), "").unwrap();
        let looked_at = || Identity::of(&path).unwrap();
        let identity = looked_at();
        assert_eq!((identity.lost(), identity.second_name()), (None, None));

        let link = folder.path().join("other.db");
        std::fs::hard_link(&path, &link).unwrap();
        assert!(identity.lost().is_none() && identity.second_name().unwrap().contains("has 2 names"));
        std::fs::remove_file(&link).unwrap();
        assert_eq!(identity.second_name(), None);
        let replaced = looked_at();
        std::fs::rename(&path, &link).unwrap();
        assert!(identity.lost().unwrap().contains("placet.db was deleted or moved"));
        std::fs::write(&path, "").unwrap();
        assert!(replaced.lost().unwrap().contains("placet.db was replaced"));
        std::fs::rename(&link, &path).unwrap();
        assert!(identity.lost().is_some() && replaced.lost().is_some(), "a loss is for good");
        let log = looked_at();
        std::fs::remove_file(beside(&path, "-wal")).unwrap();
        assert!(log.lost().unwrap().contains("placet.db-wal was deleted"));
    }
}
