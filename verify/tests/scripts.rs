//! The verifiers in Python, as a person starts them.
#![expect(clippy::unwrap_used, reason = "a test ends when it cannot go on")]

#[expect(dead_code, reason = "other tests need the rest")]
mod forge;

use std::path::Path;
use std::process::Command;

use forge::{Chance, Log, SMALL, Shape};

const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/verifier");

/// The exit code, and both outputs.
fn run(folder: &Path, script: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new("python3").arg(folder.join(script)).args(arguments).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

/// Exit code 1 says that an export or a receipt is wrong, so a mistyped name must not lead to it.
#[test]
fn a_wrong_argument_is_named_and_accuses_no_file() {
    let (folder, scripts) = (tempfile::tempdir().unwrap(), Path::new(SCRIPTS));
    let log = Log::random(&mut Chance::new(2), SMALL);
    let (key, name) = (log.key.verifying().to_string(), |name: &str| folder.path().join(name).display().to_string());
    let (export, binary) = (name("export"), name("binary"));
    std::fs::write(&export, log.export(log.events.len(), None).write()).unwrap();
    std::fs::write(&binary, [0xff, 0xfe, 0]).unwrap();
    assert_eq!(run(scripts, "verify.py", &["--key", &key, &export]).0, Some(0));
    for (script, option, file) in [
        ("verify.py", "--checkpoint", name("absent")),
        ("verify.py", "--checkpoint", binary.clone()),
        ("receipt.py", "--action", name("absent")),
        ("receipt.py", "--action", binary),
    ] {
        let (code, said) = run(scripts, script, &["--key", &key, option, &file, &export]);
        let is_named = said.contains(&format!("argument {option}: the file {file} cannot be read: "));
        assert!(code == Some(2) && is_named && !said.contains("Traceback"), "{script} {option} {file}: {said}");
    }
}

/// A person keeps old exports beside the server's file of checkpoints. `placet-verify` says the same (catalogue.rs).
#[test]
fn an_old_export_is_right_beside_a_newer_one_and_a_newer_checkpoint() {
    let (folder, scripts) = (tempfile::tempdir().unwrap(), Path::new(SCRIPTS));
    let shape = Shape { events_max: 20, logs_max: 4, has_erasures: false };
    let log = (0..1_000).map(|seed| Log::random(&mut Chance::new(seed), shape)).find(|log| log.events.len() > 4).unwrap();
    let (size, key) = (log.events.len(), log.key.verifying().to_string());
    let [old, whole, kept] = ["old", "whole", "kept"].map(|name| folder.path().join(name).display().to_string());
    std::fs::write(&old, log.export(2, None).write()).unwrap();
    std::fs::write(&whole, log.export(size, None).write()).unwrap();
    std::fs::write(&kept, log.checkpoint(size - 1)).unwrap();
    let (code, said) = run(scripts, "verify.py", &["--key", &key, "--checkpoint", &kept, &old]);
    assert!(code == Some(1) && said.contains("kept_newer"), "{said}");
    for files in [[&old, &whole], [&whole, &old]] {
        let (code, said) = run(scripts, "verify.py", &["--key", &key, "--checkpoint", &kept, files[0], files[1]]);
        assert!(code == Some(0) && said.matches("verified  ").count() == 2, "{said}");
    }
}

/// The name of a file comes from the person who made the file, and may move the cursor of a terminal.
#[test]
fn a_file_name_stays_on_its_line() {
    let (folder, scripts) = (tempfile::tempdir().unwrap(), Path::new(SCRIPTS));
    let log = Log::random(&mut Chance::new(2), SMALL);
    let (key, file) = (log.key.verifying().to_string(), folder.path().join("a\u{1b}[2K\nverified  b").display().to_string());
    std::fs::write(&file, "{}").unwrap();
    for (script, expected) in [("verify.py", "not_verified  "), ("receipt.py", "not accepted: ")] {
        let (code, said) = run(scripts, script, &["--key", &key, &file]);
        assert_eq!((code, said.lines().count()), (Some(1), 1), "{script}: {said:?}");
        assert!(
            said.contains(expected) && said.contains("a\\x1b[2K\\nverified  b") && !said.contains('\u{1b}'),
            "{script}: {said:?}"
        );
    }
}

/// A person who fetched one file of two reads which one is missing.
#[test]
fn a_script_without_its_second_file_says_so() {
    let folder = tempfile::tempdir().unwrap();
    for script in ["verify.py", "receipt.py"] {
        std::fs::copy(Path::new(SCRIPTS).join(script), folder.path().join(script)).unwrap();
        let (code, said) = run(folder.path(), script, &["--help"]);
        assert_eq!((code, said.lines().count()), (Some(2), 1), "{said}");
        assert!(said.starts_with(script) && said.contains("needs the file standards.py"), "{said}");
    }
}
