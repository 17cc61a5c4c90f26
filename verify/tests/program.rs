//! The program as a person or a script starts it.
#![expect(clippy::unwrap_used, reason = "a test ends when it cannot go on")]

#[expect(dead_code, reason = "other tests need the rest")]
mod forge;

use std::path::PathBuf;
use std::process::{Command, Output};

use forge::{Chance, Log, SMALL};
use serde_json::Value;

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_placet-verify")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

struct Site {
    folder: tempfile::TempDir,
    key: String,
}

impl Site {
    /// A folder with a whole export, a selection, an older export, and one that was tampered with.
    fn new() -> Self {
        let mut chance = Chance::new(2);
        let log = Log::random(&mut chance, SMALL);
        let site = Self { folder: tempfile::tempdir().unwrap(), key: log.key.verifying().to_string() };
        let count = log.events.len();
        let chosen = log.choose(&mut chance, count);
        let whole = log.export(count, None).write();
        std::fs::write(site.file("whole"), &whole).unwrap();
        std::fs::write(site.file("selection"), log.export(count, Some(&chosen)).write()).unwrap();
        std::fs::write(site.file("older"), log.export(count / 2, None).write()).unwrap();
        std::fs::write(site.file("tampered"), whole.replacen("bot", "bat", 1)).unwrap();
        std::fs::write(site.file("checkpoint"), log.checkpoint(count / 3)).unwrap();
        std::fs::write(site.file("kept"), log.checkpoint(count)).unwrap();
        let several = format!("{}\n{}\n", log.checkpoint(count / 3), log.checkpoint(count / 2));
        std::fs::write(site.file("checkpoints"), &several).unwrap();
        // A digit of the second checkpoint's size is changed, so its signature is wrong.
        let (first, second) = several.split_at(log.checkpoint(count / 3).len() + 1);
        let changed = second.replacen(&format!("\n{}\n", count / 2), &format!("\n{}\n", count / 2 + 1), 1);
        std::fs::write(site.file("changed"), format!("{first}{changed}")).unwrap();
        std::fs::write(site.file("keys"), format!("# the log of our server\n\n{}\n", site.key)).unwrap();
        site
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn name(&self, name: &str) -> String {
        self.file(name).display().to_string()
    }
}

#[test]
fn the_exit_code_says_what_a_script_must_know() {
    let site = Site::new();
    let (key, keys) = (format!("--key={}", site.key), format!("--key-file={}", site.name("keys")));
    let (whole, tampered) = (site.name("whole"), site.name("tampered"));
    let code = |arguments: &[&str]| run(arguments).status.code();
    assert_eq!(code(&[&key, &whole]), Some(0));
    assert_eq!(code(&[&keys, &whole, &site.name("older"), &site.name("selection")]), Some(0));
    assert_eq!(code(&["--trust-export-key", &whole]), Some(0));
    assert_eq!(code(&[&key, "--checkpoint", &site.name("checkpoint"), &whole]), Some(0));
    assert_eq!(code(&[&key, "--checkpoint", &site.name("checkpoints"), &whole]), Some(0));
    assert_eq!(code(&[&key, "--checkpoint", &site.name("changed"), &whole]), Some(1), "also the last one of a file counts");
    assert_eq!(code(&[&key, &tampered]), Some(1));
    assert_eq!(code(&[&key, &whole, &tampered]), Some(1));
    for arguments in [
        vec![&*key],
        vec![&*whole],
        vec!["--key=x", &*whole],
        vec![&*key, "/nowhere"],
        vec![&*key, &*whole, "/nowhere"],
        vec![&*key, "--checkpoint=/nowhere", &*whole],
        vec![&*key, "/"],
    ] {
        assert_eq!(code(&arguments), Some(2), "{arguments:?}");
    }
}

/// A person who knows nothing of hashes reads what was checked, what was not, and what to do.
#[test]
fn a_report_says_what_was_checked_and_what_not() {
    let site = Site::new();
    let key = format!("--key={}", site.key);
    let whole = run(&[&key, &format!("--checkpoint={}", site.name("checkpoint")), &site.name("whole")]);
    let report = text(&whole.stdout);
    for words in
        ["VERIFIED", "The whole log of placet.example/", "none was changed, added, removed or moved", "still begins", "Next: "]
    {
        assert!(report.contains(words), "{words}: {report}");
    }
    let several = run(&[&key, &format!("--checkpoint={}", site.name("checkpoints")), &site.name("whole")]);
    assert!(text(&several.stdout).contains("of the newest of 2 checkpoints in "), "{}", text(&several.stdout));
    assert!(whole.stderr.is_empty(), "no progress is shown without a terminal: {}", text(&whole.stderr));
    let report = text(&run(&[&key, &site.name("selection")]).stdout);
    assert!(report.contains("This export is a selection: it does not show that nothing was left out."), "{report}");
    let report = text(&run(&[&key, &site.name("tampered")]).stdout);
    assert!(
        report.starts_with("NOT VERIFIED") && report.contains("The event was changed") && report.contains("(wrong_hash)"),
        "{report}"
    );
    let report = text(&run(&["--trust-export-key", &site.name("whole")]).stdout);
    assert!(report.contains("Warning: The key comes from the export itself"), "{report}");
    let usage = text(&run(&[&site.name("whole")]).stderr);
    assert!(usage.contains("no key is given") && usage.contains("--key-file"), "{usage}");
}

/// `placet verify` shows the same help, and ends with another code than this program if its command line cannot be understood.
#[test]
fn the_help_names_the_codes_of_both_programs() {
    let help = text(&run(&["--help"]).stdout);
    assert!(help.contains("2 if a file cannot be read or no key is given"), "{help}");
    assert!(help.contains("ends placet-verify with 2, and placet verify with 3"), "{help}");
}

/// A person who gives a wrong file does not accuse the log's holder.
#[test]
fn a_file_without_checkpoints_is_not_the_fault_of_the_export() {
    let site = Site::new();
    let key = format!("--key={}", site.key);
    std::fs::write(site.file("empty"), "").unwrap();
    for wrong in ["empty", "whole"] {
        let output = run(&[&key, &format!("--checkpoint={}", site.name(wrong)), &site.name("whole")]);
        let report = text(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{wrong}: {report}");
        let file = format!("The file {}, given as one with checkpoints, holds something else", site.name(wrong));
        assert!(report.contains(&file) && report.contains("(kept_form)"), "{wrong}: {report}");
        assert!(report.contains("no fault of the export was found") && !report.contains("do not rely"), "{wrong}: {report}");
    }
    // A fault of the export counts beside it.
    let report = text(&run(&[&key, &format!("--checkpoint={}", site.name("empty")), &site.name("tampered")]).stdout);
    assert!(report.contains("do not rely on this export"), "{report}");
}

/// A person keeps old exports beside the server's file of checkpoints, and verifies all of them with a new export.
#[test]
fn an_old_export_is_right_beside_a_newer_one_and_newer_checkpoints() {
    let site = Site::new();
    let (key, kept) = (format!("--key={}", site.key), format!("--checkpoint={}", site.name("kept")));
    let alone = run(&[&key, &kept, &site.name("older")]);
    let report = text(&alone.stdout);
    assert!(alone.status.code() == Some(1) && report.contains("(kept_newer)") && report.contains("together with"), "{report}");
    for files in [["whole", "older"], ["older", "whole"]] {
        let output = run(&[&key, &kept, &site.name(files[0]), &site.name(files[1])]);
        let report = text(&output.stdout);
        assert_eq!((output.status.code(), report.matches("VERIFIED  ").count()), (Some(0), 2), "{report}");
        assert!(report.contains("newer than this export") && !report.contains("kept_newer"), "{report}");
    }
}

/// A person who took the file of the wrong button learns which file can be verified.
#[test]
fn an_export_in_another_format_is_told_apart_from_one_that_was_changed() {
    let site = Site::new();
    let key = format!("--key={}", site.key);
    for (name, contents, code) in [
        ("log.csv", "leaf,created_at,log\r\n0,\"2026-11-28T20:00:00Z\",\"server\"\r\n", "(crlf)"),
        ("log.cef", "CEF:0|Placet|Placet|1|a|b|1|cn1=0\nCEF:0|Placet|Placet|1|a|b|1|cn1=1\n", "(not_json)"),
        ("log.ocsf.jsonl", "{\"activity_id\":1}\n{\"activity_id\":2}\n", "(no_header)"),
    ] {
        std::fs::write(site.file(name), contents).unwrap();
        let output = run(&[&key, &site.name(name)]);
        let report = text(&output.stdout);
        assert_eq!((output.status.code(), report.matches("\n  - ").count()), (Some(1), 1), "{name}: {report}");
        assert!(report.contains("csv, ocsf or cef") && report.contains(code), "{name}: {report}");
        assert!(report.contains("Next: export the log again in the format jsonl"), "{name}: {report}");
    }
}

/// A person who gives a wrong key, or a checkpoint of another key, is not told to distrust the export.
#[test]
fn a_wrong_key_may_be_the_fault_of_the_person() {
    let site = Site::new();
    let key = format!("--key={}", site.key);
    let other = Log::random(&mut Chance::new(3), SMALL);
    std::fs::write(site.file("others"), other.checkpoint(0)).unwrap();
    let report = text(&run(&["--key", &other.key.verifying().to_string(), &site.name("whole")]).stdout);
    assert!(report.contains("Next: look whether the key is that of this log"), "{report}");
    let report = text(&run(&[&key, "--checkpoint", &site.name("others"), &site.name("whole")]).stdout);
    assert!(report.contains("no fault of the export was found") && report.contains("the keys before and after"), "{report}");
    // A fault of the export counts beside it.
    let report = text(&run(&[&key, "--checkpoint", &site.name("others"), &site.name("tampered")]).stdout);
    assert!(report.contains("Next: do not rely on this export"), "{report}");
}

#[test]
fn a_program_reads_the_report_as_json() {
    let site = Site::new();
    let files = [site.name("whole"), site.name("tampered")];
    let outcome: Value = serde_json::from_slice(&run(&["--json", "--key", &site.key, &files[0], &files[1]]).stdout).unwrap();
    assert_eq!((&outcome["placet_verify"], &outcome["verdict"]), (&1.into(), &"not_verified".into()));
    let [whole, tampered] = outcome["exports"].as_array().unwrap().as_slice() else { panic!("{outcome}") };
    assert_eq!((&whole["verdict"], &whole["kind"], &whole["findings_count"]), (&"verified".into(), &"whole".into(), &0.into()));
    let first = &tampered["findings"][0];
    assert_eq!((&first["code"], first["line"].is_u64(), first["leaf"].is_u64()), (&"wrong_hash".into(), true, true), "{first}");
    assert!(first["log"].is_string() && first["sequence"].is_u64() && first["text"].is_string(), "{first}");
}
