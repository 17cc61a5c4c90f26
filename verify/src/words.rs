//! The result of a verification, as people read it.

use std::collections::BTreeMap;
use std::fmt::Write;

use domain::base::text::visible_line;

use crate::export::NOT_JSONL;
use crate::finding::{Code, Finding};
use crate::report::{Comparison, Kind, Report, Verdict};

/// How many findings are shown.
const SHOWN_MAX: usize = 10;

/// The report in a few plain lines.
pub fn words(report: &Report) -> String {
    let mut out = String::new();
    // Writing to a text does not fail.
    if write(&mut out, report).is_err() {
        out.push_str("The report cannot be written.\n");
    }
    out
}

fn write(out: &mut String, report: &Report) -> std::fmt::Result {
    let verdict = match report.verdict {
        Verdict::Verified => "VERIFIED",
        Verdict::NotVerified => "NOT VERIFIED",
        Verdict::Failed => "NOT READ",
    };
    writeln!(out, "{verdict}  {}", visible_line(&report.file))?;
    write_subject(out, report)?;
    if report.verdict == Verdict::Verified {
        write_checked(out, report)?;
    } else {
        write_findings(out, report)?;
    }
    for warning in &report.warnings {
        writeln!(out, "  Warning: {}", warning.text)?;
    }
    if report.verdict == Verdict::Verified {
        writeln!(out, "  Not shown by this:")?;
        for remark in &report.not_checkable {
            let count = remark.count.map(|count| format!(" ({})", counted(count, "event"))).unwrap_or_default();
            writeln!(out, "  - {}{count}", remark.text)?;
        }
    }
    writeln!(out, "  Next: {}", next(report))
}

fn counted(count: u64, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

fn write_subject(out: &mut String, report: &Report) -> std::fmt::Result {
    let (Some(origin), Some(kind), Some(size)) = (&report.origin, report.kind, report.size) else { return Ok(()) };
    let (events, logs) = (counted(report.events, "event"), counted(report.logs, "log"));
    let (origin, is_verified) = (visible_line(origin), report.verdict == Verdict::Verified);
    match kind {
        Kind::Whole if is_verified => write!(out, "  The whole log of {origin}: {events} in {logs}")?,
        Kind::Whole => write!(out, "  It should be the whole log of {origin}, {size} events; read were {events} in {logs}")?,
        Kind::Selection => write!(out, "  A selection of the log of {origin}: {events} of {size}, in {logs}")?,
    }
    match &report.exported_at {
        Some(time) => writeln!(out, ", exported at {} (UTC).", visible_line(time.trim_end_matches('Z'))),
        None => writeln!(out, "."),
    }
}

fn write_checked(out: &mut String, report: &Report) -> std::fmt::Result {
    if let Some(key) = &report.key {
        writeln!(out, "  Its checkpoint is signed by the key {}.", visible_line(key))?;
    }
    match report.kind {
        Some(Kind::Selection) => {
            writeln!(out, "  Each of these events was in the log when the checkpoint was signed, and none was changed since.")?;
        }
        Some(Kind::Whole) | None => writeln!(
            out,
            "  These are all events that the log had when the checkpoint was signed: none was changed, added, removed or moved."
        )?,
    }
    if report.decisions > 0 {
        writeln!(
            out,
            "  {} replayed, each valid, in time, and by someone allowed or as the question's policy says.",
            counted(report.decisions, "decision")
        )?;
    }
    // A file of a server holds thousands of checkpoints. The newest one covers the others, which are counted.
    let mut of_files: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for compared in report.checkpoints.iter().filter(|compared| compared.result == Comparison::Consistent) {
        let (size, count) = of_files.entry(&compared.file).or_default();
        (*size, *count) = ((*size).max(compared.size.unwrap_or_default()), *count + 1);
    }
    for (file, (size, count)) in of_files {
        let (size, file) = (counted(size, "event"), visible_line(file));
        match count {
            1 => writeln!(out, "  The log still begins with the {size} of the checkpoint in {file}.")?,
            _ => writeln!(
                out,
                "  The log still begins with the {size} of the newest of {count} checkpoints in {file}, and with those of the others."
            )?,
        }
    }
    if report.checkpoints.iter().any(|compared| compared.result == Comparison::Newer) {
        let text = "Checkpoints that you kept are newer than this export. A newer whole export that was verified with it has the \
                    events of both.";
        writeln!(out, "  {text}")?;
    }
    Ok(())
}

fn write_findings(out: &mut String, report: &Report) -> std::fmt::Result {
    for finding in report.findings.iter().take(SHOWN_MAX) {
        writeln!(out, "  - {}{} ({})", place(finding), visible_line(&finding.text), finding.code.text())?;
    }
    let further = report.findings_count.saturating_sub(SHOWN_MAX as u64);
    if further > 0 {
        writeln!(out, "  - … and {further} more; --json shows the first {}.", crate::finding::FINDINGS_MAX)?;
    }
    Ok(())
}

fn place(finding: &Finding) -> String {
    let parts = [
        finding.line.map(|line| format!("line {line}")),
        finding.leaf.map(|leaf| format!("leaf {leaf}")),
        finding.log.clone(),
        finding.sequence.map(|sequence| format!("event {sequence}")),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    if parts.is_empty() { String::new() } else { format!("{}: ", parts.join(", ")) }
}

/// The codes of a checkpoint that is not one of this log by a key that is trusted.
const OF_KEPT: [Code; 3] = [Code::KeptForm, Code::KeptOrigin, Code::KeptSignature];
/// The codes that a key of another log leads to as well.
const OF_KEYS: [Code; 5] = [Code::WrongOrigin, Code::UnknownKey, Code::KeptForm, Code::KeptOrigin, Code::KeptSignature];

/// Whether nothing is wrong but what has one of these codes.
fn has_only(report: &Report, codes: &[Code]) -> bool {
    // If there are more findings than are kept, the others are not known.
    let are_all_known = report.findings_count == report.findings.len() as u64;
    are_all_known && report.findings.iter().all(|finding| codes.contains(&finding.code))
}

fn next(report: &Report) -> &'static str {
    match report.verdict {
        Verdict::Verified if report.kind == Some(Kind::Selection) => {
            "to show that nothing was left out, verify a whole export. Keep this file, too."
        }
        Verdict::Verified => {
            "keep this file in a place that the log's holder cannot change. Next time verify both files together, so that a \
             rewritten log is noticed."
        }
        Verdict::NotVerified if report.findings.iter().any(|finding| finding.text == NOT_JSONL) => {
            "export the log again in the format jsonl (placet export without --format), and verify that file."
        }
        Verdict::NotVerified if has_only(report, &[Code::KeptForm]) => {
            "no fault of the export was found, but it was not compared with that file. Give the file in which you kept checkpoints \
             of this log, or verify without it."
        }
        Verdict::NotVerified if has_only(report, &OF_KEPT) => {
            "no fault of the export was found, but it was not compared with that checkpoint. If the log's key was replaced, give the \
             keys before and after (--key may be repeated). Otherwise look whether the checkpoint is one of this log and is as you \
             kept it; if it is, ask the log's holder about the first line above."
        }
        Verdict::NotVerified if has_only(report, &OF_KEYS) => {
            "look whether the key is that of this log: ask the log's holder for it by another way than this file, and give each key \
             that the log has had (--key may be repeated). If the key is right, do not rely on this export, and ask for a new one."
        }
        Verdict::NotVerified => {
            "do not rely on this export, and keep the file as it is. Ask for a new export; if that has the same fault, ask the \
             log's holder about the first line above."
        }
        Verdict::Failed => "give a file that can be read.",
    }
}
