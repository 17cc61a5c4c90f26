//! Verifies one export, line by line.

use std::io::{self, BufRead};

use domain::base::passkey::KnownPasskey;
use proof::key::VerifyingKey;
use proof::succession::successors;
use serde_json::Value;

use crate::body::Body;
use crate::chains::LOGS_IN_MEMORY;
use crate::event::Misshapen;
use crate::finding::{Code, Findings, Place};
use crate::form::{Line, Other, Scratch, read};
use crate::header::Header;
use crate::kept::{Kept, Others};
use crate::line::{End, LINE_BYTES_MAX, Lines};
use crate::report::{Kind, Remark, Report, Verdict};
use crate::tally::Seen;

/// The first bytes of a file that gzip compressed.
const GZIP: &[u8] = &[0x1f, 0x8b];
/// The bytes that some editors put before UTF-8.
pub(crate) const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The beginnings of files in the formats that cannot be verified: a table, lines of the Common Event Format, and of OCSF.
const OTHER_FORMATS: [&[u8]; 3] = [b"leaf,created_at,", b"CEF:0|", b"{\"activity_id\":"];
/// The finding about these files.
pub(crate) const NOT_JSONL: &str =
    "The file is an export in the format csv, ocsf or cef, which cannot be verified. Only the format jsonl can be verified.";

fn is_in_other_format(line: &[u8]) -> bool {
    OTHER_FORMATS.iter().any(|begin| line.starts_with(begin))
}

/// The things that a verification takes into account.
#[derive(Clone, Debug)]
pub struct Options {
    /// The public keys that the user trusts.
    pub keys: Vec<VerifyingKey>,
    /// Whether the user trusts the key that an export names itself.
    pub trusts_export_key: bool,
    /// The checkpoints that the user kept.
    pub kept: Vec<Kept>,
    /// The passkeys that the user knew beforehand.
    pub passkeys: Vec<KnownPasskey>,
    /// How many logs are kept in memory.
    pub logs_in_memory: usize,
}

impl Options {
    /// Trusts these keys, and knows nothing else.
    pub fn with_keys(keys: Vec<VerifyingKey>) -> Self {
        Self { keys, trusts_export_key: false, kept: Vec::new(), passkeys: Vec::new(), logs_in_memory: LOGS_IN_MEMORY }
    }

    /// The keys that are trusted for an export with this header.
    pub(crate) fn keys_for(&self, header: &Header) -> Vec<VerifyingKey> {
        let own = self.trusts_export_key.then(|| header.key.parse().ok()).flatten();
        let mut keys: Vec<VerifyingKey> = self.keys.iter().cloned().chain(own).collect();
        keys.extend(successors(&keys, &header.succession));
        keys
    }
}

/// The parts of a verification that its caller wants to see.
#[derive(Default)]
pub struct Watchers<'w> {
    /// Hears after each line how many bytes were read.
    pub progress: Option<&'w mut dyn FnMut(u64)>,
}

/// A verification of one export.
pub(crate) struct Verification<'a, 'w> {
    options: &'a Options,
    others: &'a Others,
    watchers: Watchers<'w>,
    findings: Findings,
    report: Report,
    body: Option<Body>,
    has_crlf: bool,
}

/// Whether further lines are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Line,
    End,
}

impl<'a, 'w> Verification<'a, 'w> {
    pub(crate) fn new(file: &str, options: &'a Options, others: &'a Others, watchers: Watchers<'w>) -> Self {
        let (findings, report) = (Findings::default(), Report::new(file));
        Self { options, others, watchers, findings, report, body: None, has_crlf: false }
    }

    /// Verifies the export that `reader` reads.
    pub(crate) fn run(mut self, reader: impl BufRead) -> Report {
        match self.read(reader) {
            Ok(true) if self.findings.count() > 0 => self.report.verdict = Verdict::NotVerified,
            Ok(true) => {}
            Ok(false) => {
                let text = "The file is compressed with gzip. Decompress it (gunzip FILE) and verify the result.";
                self.findings.add(Place::default(), Code::Compressed, text);
                self.report.verdict = Verdict::Failed;
            }
            Err(error) => {
                let text = format!("The export cannot be read to its end: {error}.");
                self.findings.add(Place::default(), Code::Unreadable, text);
                self.report.verdict = Verdict::Failed;
            }
        }
        self.report.findings_count = self.findings.count();
        self.report.findings = self.findings.into_kept();
        self.report
    }

    /// Reads all lines; `false` if the file is compressed.
    fn read(&mut self, mut reader: impl BufRead) -> io::Result<bool> {
        if reader.fill_buf()?.starts_with(GZIP) {
            return Ok(false);
        }
        let (mut lines, mut scratch, mut is_ended) = (Lines::new(reader), <[Scratch; 2]>::default(), false);
        while let Some(end) = lines.advance()? {
            if let Some(progress) = &mut self.watchers.progress {
                progress(lines.bytes());
            }
            if self.line(&lines, end, &mut scratch)? == Next::End {
                is_ended = true;
                break;
            }
        }
        match self.body.take() {
            Some(body) => body.end(&mut self.findings, &mut self.report)?,
            None if is_ended => {}
            None => {
                let text = "The file has no header, so it is not an export of a log.";
                self.findings.add(Place::default(), Code::NoHeader, text);
            }
        }
        Ok(true)
    }

    fn line<R: BufRead>(&mut self, lines: &Lines<R>, end: End, scratch: &mut [Scratch; 2]) -> io::Result<Next> {
        let place = Place::line(lines.number());
        let Some(text) = self.trimmed(lines, end, place) else {
            if let Some(body) = self.body.as_mut().filter(|_| end == End::TooLong) {
                body.lose_line();
            }
            return Ok(Next::Line);
        };
        let Some(body) = &mut self.body else {
            return Ok(self.first(read(text, false, scratch), place, end, is_in_other_format(text)));
        };
        let line = read(text, body.header.kind == Kind::Selection, scratch);
        if body.manifest.is_some() {
            let (code, text) = match line {
                Err(Other::Header(_)) => (
                    Code::Concatenated,
                    "Another export begins here. Put each export into a file of its own and verify the files.",
                ),
                _ => (Code::AfterManifest, "Lines follow behind the manifest, which is the last line of an export."),
            };
            self.findings.add(place, code, text);
            return Ok(Next::End);
        }
        match line {
            Ok(line) => body.event(&line, place, &mut self.findings)?,
            Err(Other::Header(_)) => {
                self.findings.add(place, Code::SecondHeader, "A second header stands among the events.");
            }
            Err(Other::Manifest(value)) => {
                body.manifest = Some(Seen { place, value, hash_before: lines.hash_before(), has_lost: body.has_lost });
            }
            Err(Other::Fault(fault)) => {
                self.fault(fault, place, end);
                if let Some(body) = &mut self.body {
                    body.lose_line();
                }
            }
        }
        Ok(Next::Line)
    }

    /// Reads the line that should be the header. `is_foreign` says that it begins as one of another format does.
    fn first(&mut self, line: Result<Line<'_>, Other>, place: Place, end: End, is_foreign: bool) -> Next {
        match line {
            Err(Other::Header(value)) => self.header(&value, place),
            // The lines of a table end as on Windows, which was reported already.
            Err(Other::Fault(_)) if is_foreign && self.has_crlf => Next::End,
            Err(Other::Fault(fault)) if is_foreign && fault.code == Code::NotJson => {
                self.findings.add(place, Code::NotJson, NOT_JSONL);
                Next::End
            }
            Err(Other::Fault(fault)) if fault.code.is_of_text() => {
                self.fault(fault, place, end);
                Next::Line
            }
            _ if is_foreign => {
                self.findings.add(place, Code::NoHeader, NOT_JSONL);
                Next::End
            }
            _ => {
                let text =
                    "The export does not begin with its header, so it is not known which log and checkpoint it belongs to.";
                self.findings.add(place, Code::NoHeader, text);
                Next::End
            }
        }
    }

    /// Notes that a line is no line of an export.
    fn fault(&mut self, fault: Misshapen, place: Place, end: End) {
        // A line that was cut off is no JSON; it was reported already.
        if end != End::Truncated || fault.code != Code::NotJson {
            self.findings.add(place, fault.code, fault.text);
        }
    }

    /// The line without its end; `None` if there is nothing to read in it.
    fn trimmed<'l, R: BufRead>(&mut self, lines: &'l Lines<R>, end: End, place: Place) -> Option<&'l [u8]> {
        let mut line = lines.line();
        match end {
            End::Whole => line = line.strip_suffix(b"\n").unwrap_or(line),
            End::Truncated => {
                let text = "The last line does not end with a line feed: the file was cut off.";
                self.findings.add(place, Code::TruncatedLine, text);
            }
            End::TooLong => {
                let text = format!("The line has more than {LINE_BYTES_MAX} bytes, which no line of an export has.");
                self.findings.add(place, Code::LineTooLong, text);
                return None;
            }
        }
        if let Some(rest) = line.strip_prefix(BYTE_ORDER_MARK).filter(|_| lines.number() == 1) {
            let text = "The file begins with a byte order mark, which an editor put there. Verify the file as it was exported.";
            self.findings.add(place, Code::ByteOrderMark, text);
            line = rest;
        }
        if let Some(rest) = line.strip_suffix(b"\r") {
            if !self.has_crlf {
                let text = if self.body.is_none() && is_in_other_format(rest) {
                    NOT_JSONL
                } else {
                    "Lines end as on Windows: a program changed the file. Verify the file as it was exported."
                };
                self.findings.add(place, Code::Crlf, text);
            }
            (self.has_crlf, line) = (true, rest);
        }
        if line.is_empty() {
            self.findings.add(place, Code::BlankLine, "The line is empty, and an export has no empty lines.");
            return None;
        }
        Some(line)
    }

    fn header(&mut self, value: &Value, place: Place) -> Next {
        let header = match Header::read(value) {
            Ok(header) => header,
            Err(Misshapen { code, text }) => {
                self.findings.add(place, code, text);
                return Next::End;
            }
        };
        let keys = self.options.keys_for(&header);
        let (head, signer) = header.check(&keys, place, &mut self.findings);
        let report = &mut self.report;
        report.origin = Some(header.origin.clone());
        report.kind = Some(header.kind);
        report.exported_at = Some(header.exported_at_text.clone());
        report.size = Some(head.as_ref().map_or(header.size, |head| head.size));
        if let Some(signer) = signer {
            if !self.options.keys.contains(&signer) {
                let (code, text) = if self.options.trusts_export_key {
                    ("key_from_export", "The key comes from the export itself: this does not show which server made the export.")
                } else {
                    (
                        "key_passed_on",
                        "A key that you trust has named the key that signed this export. Ask the log's operator whether the key was \
                         replaced.",
                    )
                };
                report.warnings.push(Remark { code, count: None, text: text.to_owned() });
            }
            report.key = Some(signer.to_string());
        }
        self.body = Some(Body::new(header, head, self.options, self.others, &keys));
        Next::Line
    }
}
