//! Makes the write-ahead log durable before SQLite builds on it (ADR 20).

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use diesel::connection::SimpleConnection;
use diesel::sqlite::SqliteConnection;

use super::file::beside;

/// Syncs the database file.
pub type Sync = Arc<dyn Fn() -> io::Result<()> + Send + std::marker::Sync>;

/// The work on files that SQLite does not do itself: on the machine's own disk, or on that of the tests.
#[derive(Clone, Copy)]
pub struct FileWork {
    /// Writes a file's bytes over themselves and syncs them; a file that is not there needs nothing.
    pub rewrite: fn(&Path) -> io::Result<()>,
    /// Opens a database file, and returns the function that syncs it.
    pub open_sync: fn(&Path) -> io::Result<Sync>,
}

impl FileWork {
    /// The machine's own disk.
    pub const HOST: Self = Self { rewrite, open_sync };
}

/// How much is read and written at once, in bytes.
const BLOCK: usize = 1 << 20;

/// Puts the contents of the log on the disk, so that commits that build on them survive a power cut.
///
/// A process before this one may have died before a sync, or after one that failed. The page cache then holds a whole commit that
/// the disk does not have; after a failed sync the kernel even takes these pages for clean, and no later sync writes them. SQLite
/// finds the commit, and would append to the log behind it or copy it into the database. A power cut in the middle of that would
/// leave neither the log nor the database whole.
///
/// # Errors
///
/// The log could not be written or synced. The database must then be neither used nor closed: SQLite empties the log when
/// the last connection closes, and with some kernels a failed sync has changed the pages that SQLite would then copy. So
/// the connection is left open.
pub(super) fn make_durable(
    mut conn: SqliteConnection,
    database: &Path,
    rewrite: fn(&Path) -> io::Result<()>,
) -> anyhow::Result<SqliteConnection> {
    // The transaction keeps other programs from appending to the log, or beginning it anew, between reading and writing.
    conn.batch_execute("BEGIN IMMEDIATE")?;
    if let Err(error) = rewrite(&beside(database, "-wal")) {
        std::mem::forget(conn);
        return Err(error).context("its write-ahead log cannot be written to the disk");
    }
    conn.batch_execute("COMMIT")?;
    Ok(conn)
}

/// [`FileWork::open_sync`] on the machine's own disk. The process loses its locks on a file when any descriptor of that file is
/// closed, so the returned function must outlive every connection.
fn open_sync(path: &Path) -> io::Result<Sync> {
    // Some systems sync a file only for a program that may write to it.
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    Ok(Arc::new(move || file.sync_data()))
}

/// [`FileWork::rewrite`] on the machine's own disk.
fn rewrite(path: &Path) -> io::Result<()> {
    let mut file = match OpenOptions::new().read(true).write(true).open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        opened => opened?,
    };
    let mut block = vec![0; BLOCK];
    let mut at = 0;
    loop {
        let length = file.read(&mut block)?;
        if length == 0 {
            return file.sync_all();
        }
        file.seek(SeekFrom::Start(at))?;
        file.write_all(&block[..length])?;
        at += length as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_written_anew_holds_what_it_held() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        rewrite(&path).unwrap();
        assert!(!path.exists(), "what is not there stays away");
        for length in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7] {
            let bytes: Vec<u8> = (0..length).map(|at| u8::try_from(at % 251).unwrap()).collect();
            std::fs::write(&path, &bytes).unwrap();
            rewrite(&path).unwrap();
            assert!(std::fs::read(&path).unwrap() == bytes, "{length}");
        }
    }
}
