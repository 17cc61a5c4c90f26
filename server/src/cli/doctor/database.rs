//! The database: whether it is there, whole, of this program, and able to take more data.

use std::io::Write;
use std::path::Path;

use domain::base::time::rfc3339;
use store::sqlite::{inspect, second_name, version};
use store::{Inspection, Schema};

use super::finding::Finding;
use crate::edge::instance::INSTANCE_SECRET;

const CHECK: &str = "database";
/// With less free space, in bytes, the next busy day fills the disk.
#[cfg(unix)]
const FREE_BYTES_WISE: u64 = 1024 * 1024 * 1024;
/// With less free space, in bytes, the write-ahead log alone fills the disk: it may grow to 64 MiB.
#[cfg(unix)]
const FREE_BYTES_MIN: u64 = 64 * 1024 * 1024;
/// Zeros, as many bytes as a page of the database has. The doctor writes them to see whether the disk takes data.
const PAGE: [u8; 4096] = [0; 4096];

/// Looks at the file without making or changing one; returns its inspection if it can be read.
pub(super) fn check(path: &Path, needs_key: bool, findings: &mut Vec<Finding>) -> Option<Inspection> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    findings.push(match version() {
        Ok(version) => Finding::ok("sqlite", format!("SQLite {version} is compiled in.")),
        Err(error) => Finding::fail("sqlite", format!("{error:#}."), "Build the program again; its SQLite does not start."),
    });
    if !path.exists() {
        missing(path, folder, needs_key, findings);
        return None;
    }
    writable(path, folder, findings);
    match inspect(path, INSTANCE_SECRET) {
        Ok(inspection) => {
            contents(path, &inspection, needs_key, findings);
            Some(inspection)
        }
        Err(error) => {
            findings.push(Finding::fail(
                CHECK,
                format!("The database cannot be read: {error:#}."),
                "If it is another file, correct PLACET_DATABASE_URL; if it is not readable, run as the server's own user; otherwise restore a backup.",
            ));
            None
        }
    }
}

fn missing(path: &Path, folder: &Path, needs_key: bool, findings: &mut Vec<Finding>) {
    let first = if needs_key { "placet keys create --role admin --name admin" } else { "placet serve" };
    findings.push(Finding::warn(
        CHECK,
        format!("There is no database at {} yet.", path.display()),
        format!("`{first}` makes it, with its folder and its tables. If there should be one, correct PLACET_DATABASE_URL."),
    ));
    // The folder may be missing too. It is then made in the nearest folder that exists, which must take new files.
    let Some(nearest) = folder.ancestors().map(or_here).find(|folder| folder.exists()) else { return };
    takes_files(nearest, findings);
}

/// `a/b` has the ancestor "", which stands for the working directory.
fn or_here(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}

fn writable(path: &Path, folder: &Path, findings: &mut Vec<Finding>) {
    // The permission is asked for without opening the file: closing the file again would drop every lock that SQLite has on it
    // in this process.
    #[cfg(unix)]
    if let Err(error) = rustix::fs::accessat(rustix::fs::CWD, path, rustix::fs::Access::WRITE_OK, rustix::fs::AtFlags::EACCESS) {
        findings.push(Finding::fail(
            CHECK,
            format!("{} cannot be written: {}.", path.display(), std::io::Error::from(error)),
            "Let it belong to the server's own user, on a disk that is not read-only.",
        ));
    }
    findings.extend(second_name(path).map(|why| {
        Finding::fail(CHECK, format!("{why}."), "Remove the other names; no server starts on this file before that.")
    }));
    takes_files(folder, findings);
}

/// Reports a folder that takes no new files or whose disk takes no data. The file of this test has no name and disappears by
/// itself.
fn takes_files(folder: &Path, findings: &mut Vec<Finding>) {
    let written = tempfile::tempfile_in(folder).and_then(|mut file| {
        file.write_all(&PAGE)?;
        file.sync_all()
    });
    if let Err(error) = written {
        findings.push(Finding::fail(
            CHECK,
            format!("The folder {} takes no files: {error}.", folder.display()),
            "Make room, or choose a folder of the server's own user on a disk that is not read-only; SQLite keeps files beside the database.",
        ));
        return;
    }
    #[cfg(unix)]
    findings.extend(free_space(folder));
}

#[cfg(unix)]
fn free_space(folder: &Path) -> Option<Finding> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let what = format!("{} MiB are free on the disk of {}.", free / (1024 * 1024), folder.display());
    let what_to_do = "Make room: on a full disk no question can be asked or answered.";
    Some(if free < FREE_BYTES_MIN {
        Finding::fail("disk", what, what_to_do)
    } else if free < FREE_BYTES_WISE {
        Finding::warn("disk", what, what_to_do)
    } else {
        Finding::ok("disk", what)
    })
}

fn contents(path: &Path, seen: &Inspection, needs_key: bool, findings: &mut Vec<Finding>) {
    // The length is asked for without opening the file, for the reason in `writable`.
    let has_no_bytes = seen.schema == Schema::Empty && std::fs::metadata(path).is_ok_and(|file| file.len() == 0);
    let path = path.display();
    if let Some(damage) = &seen.damage {
        findings.push(Finding::fail(
            CHECK,
            format!("The database is damaged: {}.", domain::base::text::visible_line(damage)),
            "Stop the server, keep a copy of the file, and restore a backup; `sqlite3 placet.db .recover` saves what can be read.",
        ));
    }
    findings.push(if has_no_bytes {
        Finding::warn(
            CHECK,
            format!("{path} has 0 bytes and is no database yet; a server that starts on it makes a new, empty database."),
            "If there were questions in it, the file was lost: start no server, and restore a backup. Otherwise you need not do anything.",
        )
    } else {
        tables(&path.to_string(), &seen.schema)
    });
    if let Some(moved_to) = &seen.moved_to {
        findings.push(Finding::fail(
            CHECK,
            format!("The data of {path} was moved to {moved_to}; no server starts here any more."),
            "Set PLACET_DATABASE_URL to that database, and keep the file as a backup.",
        ));
    }
    let ours = matches!(seen.schema, Schema::Older(_) | Schema::Current);
    if ours && !seen.write_ahead {
        findings.push(Finding::warn(
            CHECK,
            "The database is not in write-ahead mode, perhaps after a restore.",
            "You need not do anything: the server sets it at its next start.",
        ));
    }
    findings.extend(held(seen));
    keys(seen, needs_key, findings);
}

/// The program to which these tables belong, and the changes that a start would make to them.
pub(super) fn tables(database: &str, schema: &Schema) -> Finding {
    match schema {
        Schema::Empty => Finding::ok(CHECK, format!("{database} is empty; the first start makes its tables.")),
        Schema::Foreign => Finding::fail(
            CHECK,
            format!("{database} is the database of another program."),
            "Correct PLACET_DATABASE_URL; a server would add its tables to that program's.",
        ),
        Schema::Half => Finding::fail(
            CHECK,
            format!("{database} is being filled by `placet migrate`, which has not finished."),
            "Run that command again; it goes on where it ended.",
        ),
        Schema::Older(missing) => Finding::warn(
            CHECK,
            format!("{database} was written by an older placet; the next start changes its tables ({missing} migrations)."),
            "Make a backup first: an older placet cannot open the database afterwards.",
        ),
        Schema::Newer(migration) => Finding::fail(
            CHECK,
            format!("{database} was written by a newer placet (migration {migration})."),
            "Use that version, or restore a backup from before it.",
        ),
        Schema::Current => Finding::ok(CHECK, format!("{database} is whole and of this version.")),
    }
}

/// Whether deadlines and messages wait since a restore.
pub(super) fn held(seen: &Inspection) -> Option<Finding> {
    let since = seen.held_since?;
    Some(Finding::warn(
        CHECK,
        format!("The database was restored: deadlines and messages wait since {}.", rfc3339(since)),
        "Look at the open questions (placet answer), then: placet release",
    ))
}

/// Reports a database without a valid key: without any key, a server is of no use.
pub(super) fn keys(seen: &Inspection, needs_key: bool, findings: &mut Vec<Finding>) {
    if matches!(seen.schema, Schema::Older(_) | Schema::Current) && needs_key && seen.keys == 0 {
        findings.push(Finding::fail(
            "keys",
            "The database has no valid key: no agent can ask, and no person can answer with a key.",
            "Make one: placet keys create --role admin --name admin",
        ));
    }
}
