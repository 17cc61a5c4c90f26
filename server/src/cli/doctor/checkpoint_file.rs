//! The file to which checkpoints of the log are appended: whether it can be read and written. The server itself compares it with the
//! database, before each signature.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::Path;

use super::finding::Finding;
use crate::config::Config;
use crate::log::file::last_size;

const CHECK: &str = "checkpoint file";

pub(super) fn check(config: &Config) -> Option<Finding> {
    config.log.checkpoint_file.as_deref().map(finding)
}

fn finding(path: &Path) -> Finding {
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
    match last_size(path) {
        Ok(Some(size)) => Finding::ok(CHECK, format!("The last checkpoint in {shown} covers {size} events.")),
        Ok(None) => Finding::ok(CHECK, format!("{shown} holds no checkpoint yet.")),
        Err(error) => Finding::warn(
            CHECK,
            format!("The end of the checkpoint file cannot be used: {error:#}."),
            "Find out what changed the file, and move it away. The server signs without it meanwhile.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use proof::checkpoint::TreeHead;
    use proof::key::SigningKey;

    use super::*;
    use crate::cli::doctor::finding::Level;

    #[test]
    fn a_checkpoint_file_that_cannot_be_used_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("checkpoints");
        let found = |words: &str, level: Level| {
            let finding = finding(&path);
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
        assert_eq!(super::finding(&folder.path().join("none/checkpoints")).level, Level::Warn);
    }
}
