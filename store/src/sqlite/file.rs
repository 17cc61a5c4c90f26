//! Makes the files of a database, for their owner alone, and names and locks them.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::Context;
use diesel::connection::Connection;
use diesel::result::ConnectionResult;
use diesel::sqlite::SqliteConnection;

/// The ending of the file that a server locks; SQLite's own locks come and go with each transaction.
pub(super) const SERVE_LOCK: &str = ".serve-lock";

/// The path of a file that SQLite or this program keeps beside a database, under this ending.
pub fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    PathBuf::from(name)
}

/// A path as SQLite takes it.
pub(crate) fn url_of(path: &Path) -> anyhow::Result<String> {
    Ok(path.to_str().context("the database path is not valid UTF-8")?.to_owned())
}

/// Opens a database by the name that SQLite takes. Each page of it has a checksum (ADR 62).
pub(crate) fn connect(url: &str) -> ConnectionResult<SqliteConnection> {
    checksums::install();
    SqliteConnection::establish(url)
}

/// Creates a missing folder or file, readable for its owner alone: tokens and keys are stored as hashes, but questions are not.
pub(super) fn create(path: &Path) -> anyhow::Result<()> {
    if path.is_dir() {
        anyhow::bail!("it is a folder");
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let mut options = std::fs::DirBuilder::new();
        options.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut options, 0o700);
        #[cfg(unix)]
        let made: Vec<&Path> = folder.ancestors().take_while(|folder| !folder.exists()).collect();
        options.create(folder).with_context(|| format!("failed to create the folder {}", folder.display()))?;
        #[cfg(unix)]
        sync_names(&made).with_context(|| format!("failed to sync the folder above {}", folder.display()))?;
    }
    if !path.exists() {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(path).with_context(|| format!("failed to create {}", path.display()))?;
    }
    Ok(())
}

/// Makes the names of new folders durable: SQLite syncs the folder that holds its files, but not the folders above.
#[cfg(unix)]
fn sync_names(made: &[&Path]) -> std::io::Result<()> {
    for above in made.iter().filter_map(|folder| folder.parent()) {
        let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
        File::open(above)?.sync_all()?;
    }
    Ok(())
}

/// Locks a file beside the database, for as long as the returned file is open.
pub(crate) fn lock(path: &Path) -> anyhow::Result<File> {
    let name = beside(path, SERVE_LOCK);
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(&name);
    let file = file.with_context(|| format!("failed to open {}", name.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => anyhow::bail!("another placet serves {} already; stop it first", path.display()),
        Err(TryLockError::Error(error)) => Err(error).with_context(|| format!("failed to lock {}", name.display())),
    }
}
