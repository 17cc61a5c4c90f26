//! The file to which checkpoints of the log are appended: whether it can be read and written, and whether it covers more events than the
//! database has. The server itself also compares the hashes, before each signature.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::Path;

use proof::checkpoint::TreeHead;
use store::Inspection;

use super::finding::Finding;
use crate::config::Config;
use crate::log::file::last_head;

const CHECK: &str = "checkpoint file";

/// The end of a checkpoint file, as it was found.
type Last = anyhow::Result<Option<TreeHead>>;

/// Reads the end of the file. This comes before the look at the database: a server that runs adds to the database first and then to the
/// file, and must not look like one whose database was rolled back.
pub(super) fn read(config: &Config) -> Option<Last> {
    config.log.checkpoint_file.as_deref().map(last_head)
}

/// Examines the file, whose end was read before the database was looked at.
pub(super) fn check(config: &Config, last: Option<Last>, seen: Option<&Inspection>) -> Option<Finding> {
    config.log.checkpoint_file.as_deref().zip(last).map(|(path, last)| finding(path, last, seen))
}

fn finding(path: &Path, last: Last, seen: Option<&Inspection>) -> Finding {
    let shown = path.display();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // A file that is opened for appending and not written to is not changed.
    match OpenOptions::new().append(true).open(path) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound && folder.is_dir() => {
            return Finding::ok(
                CHECK,
                format!("{shown} does not exist yet; the server makes it with the next checkpoint of the log."),
            );
        }
        Err(error) => {
            return Finding::warn(
                CHECK,
                format!("Checkpoints of the log cannot be appended to {shown}: {error}."),
                "Mount its volume, or let the user that runs the server write to the file. The server signs without it meanwhile.",
            );
        }
    }
    match last {
        Ok(Some(head)) => seen
            .and_then(|seen| contradiction(path, &head, seen))
            .unwrap_or_else(|| Finding::ok(CHECK, format!("The last checkpoint in {shown} covers {} events.", head.size))),
        Ok(None) => Finding::ok(CHECK, format!("{shown} holds no checkpoint yet.")),
        Err(error) => Finding::warn(
            CHECK,
            format!("The end of the checkpoint file cannot be used: {error:#}."),
            "Find out what changed the file, and move it away. The server signs without it meanwhile.",
        ),
    }
}

/// The finding if the file is of another log, or covers more events than the database has.
fn contradiction(path: &Path, head: &TreeHead, seen: &Inspection) -> Option<Finding> {
    let shown = path.display();
    if let Some(key) = seen.log_key.as_ref().filter(|key| key.name != head.origin) {
        return Some(Finding::fail(
            CHECK,
            format!("{shown} holds checkpoints of another log, {}, and the log of the database is {}.", head.origin, key.name),
            "Name the checkpoint file of this log in PLACET_LOG_CHECKPOINT_FILE. The server signs nothing meanwhile.",
        ));
    }
    let size = seen.tree_size.filter(|size| *size < head.size)?;
    Some(Finding::fail(
        CHECK,
        format!(
            "The last checkpoint in {shown} covers {} events, and the log in the database has {size}. That proves that the database was \
             rolled back or replaced after the server wrote the checkpoint.",
            head.size
        ),
        "Find out why before you do anything else. If the reason is a restore, move the file away. The server signs nothing meanwhile.",
    ))
}

#[cfg(test)]
mod tests {
    use proof::key::SigningKey;

    use super::*;
    use crate::cli::doctor::finding::Level;

    #[test]
    fn a_checkpoint_file_that_cannot_be_used_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("checkpoints");
        let found = |words: &str, level: Level| {
            let finding = finding(&path, last_head(&path), None);
            assert!(finding.level == level && finding.what.contains(words), "{finding:?}");
        };
        found("does not exist yet", Level::Ok);
        assert!(!path.exists(), "the doctor changes nothing");
        let note = TreeHead::sign(7, [3; 32], &SigningKey::new("log.example", &[1; 32]).unwrap());
        std::fs::write(&path, format!("{note}\n")).unwrap();
        found("covers 7 events", Level::Ok);
        std::fs::write(&path, "something else\n\n\u{2014} log.example AAAAAAAA\n\nmore").unwrap();
        found("cannot be used", Level::Warn);
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        found("cannot be appended", Level::Warn);
        let nowhere = folder.path().join("none/checkpoints");
        assert_eq!(finding(&nowhere, last_head(&nowhere), None).level, Level::Warn);
    }
}
