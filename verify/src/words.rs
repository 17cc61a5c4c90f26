//! The result of a verification, as people read it.

use std::collections::BTreeMap;
use std::fmt::Write;

use domain::base::text::visible_line;

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

/// Whether nothing is wrong but that a file with kept checkpoints holds something else.
fn is_of_kept_files(report: &Report) -> bool {
    // If there are more findings than are kept, the others are not known.
    report.findings_count == report.findings.len() as u64 && report.findings.iter().all(|finding| finding.code == Code::KeptForm)
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
        Verdict::NotVerified if is_of_kept_files(report) => {
            "no fault of the export was found, but it was not compared with that file. Give the file in which you kept checkpoints \
             of this log, or verify without it."
        }
        Verdict::NotVerified => {
            "do not rely on this export, and keep the file as it is. Ask for a new export; if that has the same fault, ask the \
             log's holder about the first line above."
        }
        Verdict::Failed => "give a file that can be read.",
    }
}
