//! Which users can read and change the files. Tokens and keys in them are hashed; questions, answers and passwords are not.

use std::path::Path;

use super::finding::Finding;
use crate::config::ServeArgs;
#[cfg(unix)]
use crate::permissions::{NOT_OWNER_WRITES, OTHERS_READ, mode, others_can};

/// Examines the data folder, the database and the files that hold settings.
#[cfg(unix)]
pub(super) fn check(args: &ServeArgs, database: Option<&Path>, log_key: Option<&Path>, findings: &mut Vec<Finding>) {
    let before = findings.len();
    if let Some(database) = database {
        folder(database, findings);
        for ending in ["", "-wal", "-shm"] {
            secret("It holds questions and answers.", &store::sqlite::beside(database, ending), false, findings);
        }
    }
    if let Some(log_key) = log_key {
        let why =
            "It is the key file of the log: a program that reads it and the database signs checkpoints in this server's name.";
        secret(why, log_key, false, findings);
    }
    if let Some(file) = crate::config::secret_file(super::SMTP_URL) {
        secret("It holds the mail server's password.", &file, true, findings);
    }
    if let Some(file) = crate::config::secret_file(crate::config::DATABASE_URL) {
        secret("It holds the database's password.", &file, true, findings);
    }
    if let Some(file) = crate::config::secret_file(crate::config::OPENID_CLIENT_SECRET) {
        secret("It holds the secret that the issuer of identities has given to the server.", &file, true, findings);
    }
    if let Some(file) = &args.database.config {
        configuration(file, findings);
        for of_endpoint in crate::config::secret_files(file) {
            secret(
                "It holds the secret of a webhook or of the issuer of identities: a program that reads it can act in this server's name.",
                &of_endpoint,
                true,
                findings,
            );
        }
    }
    if findings.len() == before {
        findings.push(Finding::ok(CHECK, "No file is open to others."));
    }
}

/// Other systems have other permissions, so there is no check.
#[cfg(not(unix))]
pub(super) fn check(_: &ServeArgs, _: Option<&Path>, _: Option<&Path>, _: &mut Vec<Finding>) {}

#[cfg(unix)]
const CHECK: &str = "permissions";
#[cfg(unix)]
const GROUP_READS: u32 = 0o040;
#[cfg(unix)]
const STICKY: u32 = 0o1000;

#[cfg(unix)]
fn folder(database: &Path, findings: &mut Vec<Finding>) {
    let folder = database.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Some(mode) = mode(folder).filter(|_| database.exists()) else { return };
    // In a sticky folder others may add files, but cannot replace ours.
    if mode & NOT_OWNER_WRITES != 0 && mode & STICKY == 0 {
        findings.push(Finding::fail(
            CHECK,
            format!("Others can replace the database: the folder {} has mode {mode:o}.", folder.display()),
            format!("chmod 700 {}", folder.display()),
        ));
    } else if mode & OTHERS_READ != 0 {
        findings.push(Finding::warn(
            CHECK,
            format!("Everybody on this machine can look into the folder {} (mode {mode:o}).", folder.display()),
            format!("chmod 700 {}", folder.display()),
        ));
    }
}

/// Checks a file that holds a secret; `group_may_read` is true for a file that is usually given to a service through its group.
#[cfg(unix)]
fn secret(why: &str, path: &Path, group_may_read: bool, findings: &mut Vec<Finding>) {
    let Some(mode) = mode(path) else { return };
    let what_to_do = format!("chmod {} {}", if group_may_read { "640" } else { "600" }, path.display());
    if let Some(can) = others_can(mode) {
        findings.push(Finding::fail(CHECK, format!("Others can {can} {} (mode {mode:o}). {why}", path.display()), what_to_do));
    } else if mode & GROUP_READS != 0 && !group_may_read {
        let what = format!("Its group can read {} (mode {mode:o}). {why}", path.display());
        findings.push(Finding::warn(CHECK, what, what_to_do));
    }
}

#[cfg(unix)]
fn configuration(path: &Path, findings: &mut Vec<Finding>) {
    if crate::config::holds_secret(path) {
        secret(
            "It holds a secret, or an address that may contain a password: of the mail server, the database, a webhook, or the issuer of identities.",
            path,
            true,
            findings,
        );
    } else if let Some(mode) = mode(path).filter(|mode| mode & NOT_OWNER_WRITES != 0) {
        findings.push(Finding::fail(
            CHECK,
            format!("Others can change the settings in {} (mode {mode:o}).", path.display()),
            format!("chmod 644 {}", path.display()),
        ));
    }
}
