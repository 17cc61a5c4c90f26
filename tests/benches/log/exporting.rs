//! The export of the whole log, and its verification.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use harness::bench::figures::{Figure, Report};
use harness::bench::subject::Subject;
use harness::bench::{peak_mebibytes_of, processor_seconds, resident_mebibytes};
use harness::crawler::http_client_builder;
use serde_json::{Value, json};
use verify::report::Verdict;
use verify::{Options, verify_files};

use super::VERIFY;

/// How often the log is exported and verified.
const TIMES: usize = 3;

/// Exports the log into a file; returns how many bytes it has.
async fn export(subject: &Subject, key: &str, file: &Path) -> f64 {
    let client = http_client_builder().build().unwrap();
    let request = client.get(format!("{}api/v1/export", subject.site.base())).header("x-api-key", key);
    let mut response = request.send().await.unwrap().error_for_status().unwrap();
    let (mut file, mut bytes) = (File::create(file).unwrap(), 0);
    while let Some(chunk) = response.chunk().await.unwrap() {
        file.write_all(&chunk).unwrap();
        bytes += chunk.len();
    }
    f64::from(u32::try_from(bytes / 1_024).unwrap()) / 1_024.0
}

/// Verifies an export; returns what that took this process, as JSON.
pub(super) fn verified(file: &Path) -> String {
    let mut options = Options::with_keys(Vec::new());
    options.trusts_export_key = true;
    let outcome = verify_files(&[file.to_owned()], &options, |_, _, _| {});
    assert_eq!(outcome.verdict, Verdict::Verified, "{:?}", outcome.exports);
    let this = std::process::id();
    let [export] = &outcome.exports[..] else { panic!("one file was verified") };
    json!({
        "events": export.events, "logs": export.logs, "decisions": export.decisions,
        "seconds": processor_seconds(this), "peak": peak_mebibytes_of(this),
    })
    .to_string()
}

/// Verifies an export in a process that does nothing else.
fn verify_apart(file: &Path) -> Value {
    let verified = Command::new(std::env::current_exe().unwrap()).arg(VERIFY).arg(file).output().unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    serde_json::from_slice(&verified.stdout).unwrap()
}

pub(super) async fn measure(subject: &mut Subject, report: &mut Report) {
    let (_, key) = subject.site.key("auditor", &format!("exporter-{}", subject.site.port())).await;
    // A server that has just started has its peak in the export.
    subject.kill().await;
    subject.start_again().await;
    let before = resident_mebibytes(subject.server());
    let (server, file) = (subject.server().id(), subject.site.folder().join("export.jsonl"));
    let [mut paces, mut sizes, mut processor, mut verifying, mut peaks] = [const { Vec::new() }; 5];
    let mut about = Value::Null;
    for _ in 0..TIMES {
        let (began, used) = (Instant::now(), processor_seconds(server));
        let mebibytes = export(subject, &key, &file).await;
        let (took, used) = (began.elapsed().as_secs_f64(), processor_seconds(server) - used);
        about = verify_apart(&file);
        let of = |name: &str| about[name].as_f64().unwrap();
        paces.push(of("events") / took);
        sizes.push(mebibytes / took);
        processor.push(of("events") / used);
        verifying.push(of("events") / of("seconds"));
        peaks.push(of("peak"));
    }
    let number = |name: &str| about[name].as_u64().unwrap();
    let what = format!("export of {} events as JSON lines", number("events"));
    report.add(Figure::new("W11", what.clone(), "/s", paces));
    report.add(Figure::new("W11", what.clone(), "MiB/s", sizes));
    report.add(Figure::new("W11", format!("{what}, in a second of the server's processor time"), "/s", processor));
    report.add(Figure::new("W11", format!("{what}, the server's memory before"), "MiB", vec![before]));
    report.add(Figure::new("W11", format!("{what}, the server's memory at the peak"), "MiB", vec![peak_mebibytes_of(server)]));
    let what = format!("that export verified, {} decisions replayed in {} logs", number("decisions"), number("logs"));
    report.add(Figure::new("W11", format!("{what}, events in a second of processor time"), "/s", verifying).at_least(200_000.0));
    report.add(Figure::new("W11", format!("{what}, memory at the peak"), "MiB", peaks).at_most(256.0));
}
