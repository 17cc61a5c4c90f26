//! Verifies files: several exports of one log are compared with one another.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use domain::base::json;
use proof::checkpoint::TreeHead;
use serde::Serialize;

use crate::export::{BYTE_ORDER_MARK, Options, Verification, Watchers};
use crate::finding::{Code, Finding};
use crate::header::Header;
use crate::kept::{Kept, OtherExport, Others};
use crate::line::LINE_BYTES_MAX;
use crate::report::{Kind, Report, Verdict};

/// The result of a verification of several files.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// The version of this report.
    pub placet_verify: u32,
    /// The worst verdict of all files.
    pub verdict: Verdict,
    /// The files, in the order in which they were given.
    pub exports: Vec<Report>,
}

/// Verifies one export alone.
pub fn verify(file: &str, reader: impl BufRead, options: &Options, watchers: Watchers<'_>) -> Report {
    Verification::new(file, options, &Others::default(), watchers).run(reader)
}

/// Verifies files, and compares exports of the same log with one another. `progress` hears the file, how many of its bytes were
/// read, and how many it has.
pub fn verify_files(files: &[PathBuf], options: &Options, mut progress: impl FnMut(&Path, u64, u64)) -> Outcome {
    let heads: Vec<_> = files.iter().map(|file| if files.len() > 1 { head(file, options) } else { None }).collect();
    // The larger ones come first: a checkpoint that is newer than a smaller one is then known to be right or not.
    let mut order: Vec<usize> = (0..files.len()).collect();
    order.sort_by_key(|place| Reverse(heads[*place].as_ref().map(|own| own.head.size)));
    let mut reports: BTreeMap<usize, Report> = BTreeMap::new();
    for place in order {
        let file = &files[place];
        let others = others_of(place, &heads, &reports);
        let options = Options { kept: kept_for(options, heads[place].as_ref(), &heads), ..options.clone() };
        let name = file.display().to_string();
        let report = match File::open(file).and_then(|opened| opened.metadata().map(|about| (opened, about.len()))) {
            Ok((opened, length)) => {
                let mut progress = |read: u64| progress(file, read, length);
                let watchers = Watchers { progress: Some(&mut progress) };
                Verification::new(&name, &options, &others, watchers).run(BufReader::new(opened))
            }
            Err(error) => unreadable(&name, &error),
        };
        reports.insert(place, report);
    }
    let exports: Vec<Report> = reports.into_values().collect();
    let verdict = exports.iter().map(|report| report.verdict).max().unwrap_or(Verdict::Failed);
    Outcome { placet_verify: 1, verdict, exports }
}

/// The other exports of the log of the one at `place`. `reports` are those of the larger ones.
fn others_of(place: usize, heads: &[Option<OtherExport>], reports: &BTreeMap<usize, Report>) -> Others {
    let Some(own) = &heads[place] else { return Others::default() };
    let of_log = |head: &TreeHead| head.origin == own.head.origin;
    let is_smaller = |other: &&OtherExport| of_log(&other.head) && other.head.size <= own.head.size;
    let others = heads.iter().enumerate().filter(|(other, _)| *other != place).filter_map(|(_, head)| head.as_ref());
    // A right report stands for each comparison: a checkpoint that did not fit would be a finding. A selection has no roots to compare.
    let is_right = |report: &&Report| report.verdict == Verdict::Verified && report.kind == Some(Kind::Whole);
    let larger = reports.iter().filter(|(_, report)| is_right(report)).filter_map(|(other, _)| heads[*other].as_ref());
    let verified_size = larger.filter(|other| of_log(&other.head)).map(|other| other.head.size).max();
    Others { smaller: others.filter(is_smaller).cloned().collect(), verified_size: verified_size.unwrap_or_default() }
}

/// The kept checkpoints for one export: those of its log, and those that belong to none of the exports.
fn kept_for(options: &Options, own: Option<&OtherExport>, heads: &[Option<OtherExport>]) -> Vec<Kept> {
    let belongs_elsewhere = |kept: &&Kept| {
        TreeHead::read(&kept.note).is_ok_and(|kept| {
            own.is_none_or(|own| own.head.origin != kept.origin)
                && heads.iter().flatten().any(|other| other.head.origin == kept.origin)
        })
    };
    options.kept.iter().filter(|kept| !belongs_elsewhere(kept)).cloned().collect()
}

fn unreadable(name: &str, error: &io::Error) -> Report {
    let mut report = Report::new(name);
    report.verdict = Verdict::Failed;
    report.findings_count = 1;
    let text = format!("The file cannot be opened: {error}.");
    report.findings.push(Finding { code: Code::Unreadable, line: None, leaf: None, log: None, sequence: None, text });
    report
}

/// The checkpoint in the header of a file, if a trusted key has signed it.
fn head(file: &Path, options: &Options) -> Option<OtherExport> {
    // A pipe can be read only once.
    if !file.metadata().is_ok_and(|about| about.is_file()) {
        return None;
    }
    let mut line = Vec::new();
    BufReader::new(File::open(file).ok()?).take(LINE_BYTES_MAX as u64).read_until(b'\n', &mut line).ok()?;
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line);
    let header = Header::read(&json::unambiguous(line).ok()?).ok()?;
    let head = TreeHead::verify(&header.checkpoint, &options.keys_for(&header)).ok()?;
    Some(OtherExport { file: file.display().to_string(), head })
}
