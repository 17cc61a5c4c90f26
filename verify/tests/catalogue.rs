//! Every kind of tampering is found, and honest logs never are.
#![expect(clippy::unwrap_used, reason = "a test ends when it cannot go on")]

mod forge;

use forge::tampering::{Case, cases};
use forge::{Chance, Export, Log, SMALL, Shape};
use verify::report::{Comparison, Kind, Report, Verdict};
use verify::{Kept, Options, Watchers, verify};

/// How many honest logs are verified here; `tests/verifier/run` verifies more.
const HONEST: u64 = 200;

fn options(keys: &[String], kept: &[String]) -> Options {
    let mut options = Options::with_keys(keys.iter().map(|key| key.parse().unwrap()).collect());
    options.kept = kept.iter().map(|note| Kept { file: "kept".into(), note: note.clone() }).collect();
    options
}

fn check(text: &[u8], options: &Options) -> Report {
    verify("export", text, options, Watchers::default())
}

/// The worst report of a case, and the first finding of all its files.
fn judge(case: &Case) -> Report {
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<_> = (0..case.files.len()).map(|number| folder.path().join(number.to_string())).collect();
    files.iter().zip(&case.files).for_each(|(file, bytes)| std::fs::write(file, bytes).unwrap());
    let outcome = verify::verify_files(&files, &options(&case.keys, &case.kept), |_, _, _| {});
    outcome.exports.into_iter().max_by_key(|report| report.verdict).unwrap()
}

/// If one of these is not found, a log can be changed and still verify.
#[test]
fn every_kind_of_tampering_is_found_for_the_right_reason() {
    let (mut count, mut right) = (0, 0);
    for seed in 0..2 {
        for case in cases(seed, None) {
            let report = judge(&case);
            let first = report.findings.first().map(|finding| finding.code.text());
            assert_ne!(report.verdict, Verdict::Verified, "{} (seed {seed}) is not found", case.name);
            count += 1;
            if first.is_some_and(|first| case.expected.contains(&first)) {
                right += 1;
            } else {
                println!("{}: {first:?} instead of {:?}: {:?}", case.name, case.expected, report.findings);
            }
        }
    }
    let kinds = cases(0, None).count();
    println!("{kinds} kinds of tampering; {count} cases, all found; {right} for the right reason");
    assert!(kinds >= 40);
    assert!(right * 100 >= count * 95, "{right} of {count}");
}

/// A verifier that accuses an honest server is not believed when it accuses another one.
#[test]
fn honest_logs_are_verified() {
    for seed in 0..HONEST {
        let mut chance = Chance::new(seed);
        let log = Log::random(&mut chance, SMALL);
        for (export, kept) in honest(&mut chance, &log) {
            let options = options(&[log.key.verifying().to_string()], &[kept]);
            let report = check(export.write().as_bytes(), &options);
            assert_eq!(report.verdict, Verdict::Verified, "seed {seed}: {:?}", report.findings);
            assert_eq!(report.events, export.lines.len() as u64);
        }
    }
}

/// The forger reads the exports of servers; if events were changed by that, each kind of tampering would be found for that reason.
#[test]
fn an_export_that_the_forger_reads_stays_the_same() {
    for seed in 0..20 {
        let log = Log::random(&mut Chance::new(seed), SMALL);
        let export = log.export(log.events.len(), None);
        let read = Log { key: log.key, ..Log::read(&export.write()) };
        assert_eq!(read.export(read.events.len(), None).write(), export.write());
    }
}

/// A whole export and a selection of it, each with a checkpoint from before.
fn honest(chance: &mut Chance, log: &Log) -> Vec<(Export, String)> {
    let size = log.events.len();
    let whole = (log.export(size, None), log.checkpoint(chance.place(size + 1)));
    let chosen = log.choose(chance, size);
    vec![whole, (log.export(size, Some(&chosen)), log.checkpoint(size))]
}

/// The order of the file decides which finding comes first, and no state is lost, however few logs fit into memory.
#[test]
fn tampering_is_found_however_few_logs_fit_into_memory() {
    let shape = Shape { events_max: 300, logs_max: 40, has_erasures: true };
    for seed in 0..8 {
        let mut chance = Chance::new(seed);
        let log = Log::random(&mut chance, shape);
        let mut export = log.export(log.events.len(), None);
        let key = log.key.verifying().to_string();
        let mut few = options(&[key], &[]);
        few.logs_in_memory = 5;
        let text = export.write();
        let report = check(text.as_bytes(), &few);
        assert_eq!(report.verdict, Verdict::Verified, "seed {seed}: {:?}", report.findings);
        let logs: std::collections::BTreeSet<_> = log.events.iter().map(|event| event.log().1.to_string()).collect();
        assert_eq!(report.logs, logs.len() as u64);
        // An event is missing and the leaves are numbered anew, so that only its chain shows it.
        let Some(place) = log.events.iter().position(|event| event.members["sequence"] == 2) else { continue };
        if !log.events.iter().any(|event| event.log() == log.events[place].log() && event.members["sequence"] == 3) {
            continue;
        }
        export.lines.remove(place);
        (0..).zip(&mut export.lines).for_each(|(leaf, line)| line.leaf = leaf);
        let report = check(export.write_anew().as_bytes(), &few);
        let codes: Vec<_> = report.findings.iter().map(|finding| finding.code.text()).collect();
        assert!(codes.contains(&"wrong_sequence"), "seed {seed}: {codes:?}");
    }
}

/// No byte of an export is without meaning: each that is changed is found, and none makes the verifier panic.
#[test]
fn each_changed_byte_is_found() {
    let mut chance = Chance::new(7);
    let log = Log::random(&mut chance, Shape { events_max: 7, logs_max: 3, has_erasures: true });
    let options = options(&[log.key.verifying().to_string()], &[]);
    for (export, _) in honest(&mut chance, &log) {
        let text = export.write().into_bytes();
        for place in 0..text.len() {
            let mut changed = text.clone();
            changed[place] ^= [1, 0x20, 0x80][place % 3];
            let report = check(&changed, &options);
            assert_ne!(report.verdict, Verdict::Verified, "byte {place}: {}", String::from_utf8_lossy(&changed));
            if place % 16 == 0 {
                let report = check(&text[..place], &options);
                assert_ne!(report.verdict, Verdict::Verified, "cut at {place}");
            }
        }
    }
}

/// A checkpoint that is newer than an export is no fault of the export if a larger one in the same call has both, and only then.
#[test]
fn a_larger_export_shows_that_a_newer_checkpoint_belongs_to_an_older_export() {
    let shape = Shape { events_max: 60, logs_max: 8, has_erasures: false };
    let log = (0..1_000).map(|seed| Log::random(&mut Chance::new(seed), shape)).find(|log| log.events.len() > 20).unwrap();
    let size = log.events.len();
    let chosen = log.choose(&mut Chance::new(0), size);
    let early: Vec<usize> = chosen.iter().copied().filter(|place| *place < size / 3).collect();
    let (old, whole) = (log.export(size / 3, None).write(), log.export(size, None).write());
    let (of_old, of_whole) = (log.export(size / 3, Some(&early)).write(), log.export(size, Some(&chosen)).write());
    let (larger, changed) = (log.export(size / 2 - 1, None).write(), whole.replacen("bot", "bat", 1));
    let options = options(&[log.key.verifying().to_string()], &[log.checkpoint(size / 2)]);
    let newer = Some("kept_newer");
    for (files, expected) in [
        ([&old, &whole], [None, None]),
        ([&whole, &old], [None, None]),
        ([&of_old, &whole], [None, None]),
        // A selection has no root at the size of another one.
        ([&old, &of_whole], [newer, None]),
        ([&old, &larger], [newer, newer]),
        ([&old, &changed], [newer, Some("wrong_hash")]),
        ([&old, &old], [newer, newer]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let names = [folder.path().join("first"), folder.path().join("second")];
        names.iter().zip(files).for_each(|(name, text)| std::fs::write(name, text).unwrap());
        let outcome = verify::verify_files(&names, &options, |_, _, _| {});
        let codes: Vec<_> = outcome.exports.iter().map(|report| report.findings.first().map(|found| found.code.text())).collect();
        assert_eq!(codes, expected);
    }
}

#[test]
fn checkpoints_are_compared_and_what_cannot_be_compared_is_said() {
    let mut chance = Chance::new(3);
    let log = Log::random(&mut chance, Shape { events_max: 60, logs_max: 8, has_erasures: false });
    let size = log.events.len();
    let options =
        options(&[log.key.verifying().to_string()], &[log.checkpoint(size / 2), log.checkpoint(size), log.checkpoint(0)]);
    let whole = check(log.export(size, None).write().as_bytes(), &options);
    assert_eq!(whole.checkpoints.iter().map(|compared| compared.result).collect::<Vec<_>>(), [Comparison::Consistent; 3]);
    let chosen = log.choose(&mut chance, size);
    let selection = check(log.export(size, Some(&chosen)).write().as_bytes(), &options);
    assert_eq!((selection.verdict, selection.kind), (Verdict::Verified, Some(Kind::Selection)));
    let results: Vec<_> = selection.checkpoints.iter().map(|compared| compared.result).collect();
    // The empty tree is the beginning of each.
    assert_eq!(results, [Comparison::Consistent, Comparison::NotCheckable, Comparison::Consistent]);
    assert!(selection.not_checkable.iter().any(|remark| remark.code == "kept_checkpoint"));
    assert!(selection.not_checkable.iter().any(|remark| remark.code == "omissions"));
}
