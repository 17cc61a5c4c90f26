//! `placet export`: fetches the log, whole or a selection, into a file that `placet verify` checks without this server.
//!
//! The file is written beside its place under another name until it is whole. If the download breaks off, the next try goes on behind the
//! last line that arrived. Two downloads are joined only if both are of one selection, and the hash in the manifest is that of the bytes.
//! The formats that lose something, for spreadsheets and SIEMs, begin anew instead.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, IsTerminal, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use clap::Args;
use domain::asking::attesting::hex;
use domain::base::time;
use domain::log::export::{Format, csv};
use domain::problem::edge;
use placet::TransportError;
use secrecy::ExposeSecret;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use url::Url;
use verify::LINE_BYTES_MAX;

use super::remote::{self, EXIT_CODES, Remote, RemoteArgs, print_laid_out, tell};

/// How often a download that breaks off is taken up again without a new line in between.
const TRIES_MAX: u32 = 5;
/// The pause before that.
const PAUSE: Duration = Duration::from_secs(1);
/// The longest refusal that is read.
const REFUSAL_BYTES_MAX: usize = 64 * 1024;
/// The error if the server sends something else.
const NO_EXPORT: &str = "what the server sent is no export of a log";

#[derive(Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct ExportArgs {
    /// The file to write. It holds questions and answers, so only its owner may read it.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Only events from this time on: 2026-11-01T00:00:00Z.
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Only events before this time.
    #[arg(long, value_name = "TIME")]
    to: Option<String>,
    /// Only events of this intent.
    #[arg(long, value_name = "ID")]
    intent: Option<String>,
    /// Only events of intents that this agent created.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only events that this person caused, or that name the person as recipient or as the one who answered.
    #[arg(long, value_name = "NAME")]
    person: Option<String>,
    /// Only events that ended a question so: answered, expired, undeliverable, cancelled.
    #[arg(long, value_name = "OUTCOME")]
    outcome: Option<String>,
    /// The format: jsonl, which loses nothing and alone can be verified; csv for spreadsheets; ocsf or cef for a SIEM.
    #[arg(long, value_name = "FORMAT", default_value = "jsonl", value_parser = format)]
    format: Format,
    #[command(flatten)]
    remote: RemoteArgs,
}

fn format(text: &str) -> Result<Format, &'static str> {
    Format::parse(text).ok_or("must be jsonl, csv, ocsf or cef")
}

pub(super) async fn run(args: ExportArgs) -> ExitCode {
    remote::exit_code(exported(&args).await)
}

async fn exported(args: &ExportArgs) -> anyhow::Result<()> {
    args.refuse_empty()?;
    let remote = args.remote.connect("export", "auditor or admin")?;
    if args.out.is_dir() {
        bail!("{} is a directory; name a file in it", args.out.display());
    }
    if args.out.exists() {
        bail!("{} exists; name another file, or remove it", args.out.display());
    }
    let mut part = Part::open(&args.out, args.format)?;
    if part.lines.last.is_some() {
        let shown = part.path.display();
        if part.lines.header["selection"] != args.selection() {
            bail!("{shown} is a part of an export with other filters; give the same filters again, or remove that file");
        }
        tell(format!("going on with {shown}, where an earlier download broke off"));
    }
    let fetched = fetch(&remote, args, &mut part).await;
    fetched.inspect_err(|_| part.remove_if_empty())?;
    let Part { lines, records, .. } = part.finish(&args.out)?;
    let shown = args.out.display();
    let has_subject = lines.has_subject || records.has_subject;
    let nothing = if has_subject || args.given().next().is_none() {
        String::new()
    } else {
        format!("No event of an intent fits {}. The file has the server's own log alone.\n", args.filters().join(" and "))
    };
    if args.format != Format::Jsonl {
        let (events, format) = (records.count, args.format.as_str());
        let next = "Only an export in the format jsonl can be verified.";
        return print_laid_out(&format!("{shown}: {events} events in the format {format}.\n{nothing}{next}"));
    }
    let events = lines.manifest["events"].as_u64().unwrap_or_default();
    let next = "Verify it with the log's public key, which its holder gives you: placet verify --key KEY FILE (or the program placet-verify)";
    print_laid_out(&format!("{shown}: {events} events.\n{nothing}{next}"))
}

/// Why a download ended early.
enum Ended {
    /// The server refused it, or another try would end in the same way.
    Refused(anyhow::Error),
    /// It may go on.
    Broken(anyhow::Error),
}

/// Fetches the export, or the rest of it. A download that breaks off is taken up again.
async fn fetch(remote: &Remote, args: &ExportArgs, part: &mut Part) -> anyhow::Result<()> {
    let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build()?;
    let mut tries = 0;
    loop {
        let before = part.lines.length;
        let request = http.get(args.address(remote, part)?).header("X-API-Key", remote.key.expose_secret());
        let Err(ended) = receive(remote, request, part).await else { return Ok(()) };
        part.cut()?;
        // The lengths are compared after the cut: the bytes of a line that breaks off each time are no progress.
        if part.lines.length > before {
            tries = 0;
        }
        match ended {
            Ended::Broken(_) if tries < TRIES_MAX => {
                tries += 1;
                tokio::time::sleep(PAUSE).await;
            }
            Ended::Broken(why) if part.lines.length > 0 => {
                let shown = part.path.display();
                let next = format!("{shown} has what arrived so far; run the same command again, and it goes on from there");
                return Err(why.context(next));
            }
            Ended::Broken(why) | Ended::Refused(why) => return Err(why),
        }
    }
}

/// Appends the body of the answer to the file. A body that ends early is an error, and so is one that is not what the server hashed.
async fn receive(remote: &Remote, request: reqwest::RequestBuilder, part: &mut Part) -> Result<(), Ended> {
    let broken_off = |why: anyhow::Error| Ended::Broken(why.context("the download broke off"));
    let broken = |error: reqwest::Error| broken_off(error.without_url().into());
    let unreached = |error: reqwest::Error| Ended::Broken(remote.lost(TransportError::Network(error.without_url())));
    let mut response = remote.heard(request.send()).await.map_err(unreached)?;
    let status = response.status();
    if !status.is_success() {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(broken)? {
            body.extend_from_slice(&chunk);
            if body.len() > REFUSAL_BYTES_MAX {
                break;
            }
        }
        let body = serde_json::from_slice::<Value>(&body).unwrap_or_default();
        let why = reason(&body);
        let error = anyhow!("{} refused the export ({}): {why}{}", remote.shown(), status.as_u16(), part.hint(&body["code"]));
        // A damaged event stays damaged, so another try would end in the same way.
        let may_go_on = status.is_server_error() && body["code"] != edge::DAMAGED.code;
        return Err(if may_go_on { Ended::Broken(error) } else { Ended::Refused(error) });
    }
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        part.add(&chunk).map_err(Ended::Refused)?;
    }
    if part.is_jsonl && part.lines.manifest.is_null() {
        return Err(broken_off(anyhow!("the export has no end")));
    }
    if part.is_jsonl && part.lines.manifest["sha256"] != hex(&part.lines.hash.clone().finalize()) {
        return Err(Ended::Refused(anyhow!(
            "the file is not the export that the server made, because its hash is not the one in the manifest: {} was changed, a \
             witness signed the checkpoint, or the server was updated meanwhile; remove it, and run the command again",
            part.path.display()
        )));
    }
    Ok(())
}

/// Why the server refused an export.
fn reason(body: &Value) -> &str {
    body["detail"].as_str().unwrap_or("no reason was given")
}

impl ExportArgs {
    /// The filters that are given: each with its name in a request, its flag, and its value.
    fn given(&self) -> impl Iterator<Item = (&'static str, &'static str, &str)> {
        let all = [
            ("from", "--from", &self.from),
            ("to", "--to", &self.to),
            ("intent_id", "--intent", &self.intent),
            ("agent", "--agent", &self.agent),
            ("person", "--person", &self.person),
            ("outcome", "--outcome", &self.outcome),
        ];
        all.into_iter().filter_map(|(name, flag, value)| Some((name, flag, value.as_deref()?)))
    }

    /// The flags of the filters that are given.
    fn filters(&self) -> Vec<&'static str> {
        self.given().map(|(_, flag, _)| flag).collect()
    }

    /// Refuses an empty filter: a script whose variable is not set would otherwise hand out the whole log.
    fn refuse_empty(&self) -> anyhow::Result<()> {
        match self.given().find(|(_, _, value)| value.is_empty()) {
            Some((_, flag, _)) => bail!("{flag} is empty; give it a value, or leave it out to export without this filter"),
            None => Ok(()),
        }
    }

    /// The selection as the header of the export has it.
    fn selection(&self) -> Value {
        let as_written = |name: &str, value: &str| match name {
            "from" | "to" => time::parse(value).map(time::rfc3339),
            "intent_id" => value.parse::<uuid::Uuid>().ok().map(|id| id.to_string()),
            _ => None,
        };
        let written = |(name, _, value): (&'static str, &'static str, &str)| {
            (name.to_owned(), Value::from(as_written(name, value).unwrap_or_else(|| value.to_owned())))
        };
        let selection: Map<String, Value> = self.given().map(written).collect();
        if selection.is_empty() { Value::Null } else { Value::from(selection) }
    }

    /// The address of the export, or of the rest of it.
    fn address(&self, remote: &Remote, part: &Part) -> anyhow::Result<Url> {
        let mut url = remote.url.join("/api/v1/export")?;
        for (name, _, value) in self.given() {
            url.query_pairs_mut().append_pair(name, value);
        }
        if self.format != Format::Jsonl {
            url.query_pairs_mut().append_pair("format", self.format.as_str());
        }
        if let Some(size) = part.lines.header["size"].as_u64() {
            url.query_pairs_mut().append_pair("size", &size.to_string());
        }
        if let Some(last) = part.lines.last {
            url.query_pairs_mut().append_pair("after", &last.to_string());
        }
        Ok(url)
    }
}

/// The lines of an export, read while they arrive, so that the file need not be read again at its end.
#[derive(Default)]
struct Lines {
    /// How many bytes the header and the events have that arrived whole.
    length: u64,
    /// The hash of these bytes.
    hash: Sha256,
    /// The line that has not arrived whole.
    rest: Vec<u8>,
    header: Value,
    /// The last leaf that arrived whole.
    last: Option<u64>,
    /// Whether there is an event of an intent or a portfolio.
    has_subject: bool,
    manifest: Value,
}

impl Lines {
    /// The lines of a file, up to the first one that is not of an export.
    fn of(mut file: impl BufRead) -> io::Result<Self> {
        let mut lines = Self::default();
        loop {
            let bytes = file.fill_buf()?;
            let count = bytes.len();
            if count == 0 || lines.read(bytes).is_err() {
                return Ok(lines);
            }
            file.consume(count);
        }
    }

    fn read(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.rest.extend_from_slice(piece);
            if !self.manifest.is_null() || self.rest.len() > LINE_BYTES_MAX + 1 {
                bail!(NO_EXPORT);
            }
            if piece.ends_with(b"\n") {
                self.read_line()?;
                self.rest.clear();
            }
        }
        Ok(())
    }

    fn read_line(&mut self) -> anyhow::Result<()> {
        let mut line: Value = serde_json::from_slice(&self.rest).context(NO_EXPORT)?;
        if line["manifest"].is_object() {
            self.manifest = line["manifest"].take();
            return Ok(());
        }
        if let Some(leaf) = line["leaf"].as_u64() {
            self.last = Some(leaf);
            let has_subject = |event: &Value| !event["intent_id"].is_null() || !event["portfolio_id"].is_null();
            self.has_subject |= has_subject(&line["event"]) || has_subject(&line["redacted"]);
        } else if line["placet_export"].is_u64() {
            self.header = line;
        } else {
            bail!(NO_EXPORT);
        }
        self.hash.update(&self.rest);
        self.length += self.rest.len() as u64;
        Ok(())
    }
}

/// The records of an export in another format, counted while they arrive.
struct Records {
    format: Format,
    /// The record that has not arrived whole.
    rest: Vec<u8>,
    /// Whether the record ends within quotation marks, where a table has line ends as well.
    is_quoted: bool,
    count: u64,
    /// Whether there is an event of an intent or a portfolio.
    has_subject: bool,
}

impl Records {
    fn new(format: Format) -> Self {
        Self { format, rest: Vec::new(), is_quoted: false, count: 0, has_subject: false }
    }

    fn read(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let has_odd_quotes = piece.split(|byte| *byte == b'"').count().is_multiple_of(2);
            self.is_quoted ^= self.format == Format::Csv && has_odd_quotes;
            let room = LINE_BYTES_MAX.saturating_sub(self.rest.len());
            self.rest.extend_from_slice(&piece[..piece.len().min(room)]);
            if piece.ends_with(b"\n") && !self.is_quoted {
                self.read_record();
                self.rest.clear();
            }
        }
    }

    /// Notes the log of a record. A text within a record has other characters in the place of quotation marks and equals signs.
    fn read_record(&mut self) {
        let record = String::from_utf8_lossy(&self.rest);
        if self.format == Format::Csv && record == csv::HEADER {
            return;
        }
        self.count += 1;
        self.has_subject |= ["intent", "portfolio"].iter().any(|log| match self.format {
            Format::Csv => record.split(',').nth(2).is_some_and(|field| field.trim_matches('"') == *log),
            Format::Ocsf | Format::Jsonl => record.contains(&format!("\"log_name\":\"{log}\"")),
            Format::Cef => record.contains(&format!(" cat={log} ")),
        });
    }
}

/// The file while it is not whole.
struct Part {
    path: PathBuf,
    file: File,
    /// Whether the download goes on where it ended. In another format it begins anew, and its records are counted alone.
    is_jsonl: bool,
    lines: Lines,
    records: Records,
    is_shown: bool,
}

impl Part {
    fn open(out: &Path, format: Format) -> anyhow::Result<Self> {
        let mut name = out.file_name().context("--out must name a file")?.to_owned();
        name.push(".part");
        let path = out.with_file_name(name);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt as _;
            options.mode(0o600).custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
        }
        let file = options.open(&path).with_context(|| {
            if path.is_symlink() {
                format!("{} is a symbolic link, which is not followed; remove it", path.display())
            } else {
                format!("failed to write {}", path.display())
            }
        })?;
        // The file may be there from before, with other permissions.
        #[cfg(unix)]
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))
            .with_context(|| format!("failed to make {} a file that only its owner may read", path.display()))?;
        let is_jsonl = format == Format::Jsonl;
        let lines = if is_jsonl { Lines::of(BufReader::new(&file))? } else { Lines::default() };
        let mut part = Self { path, file, is_jsonl, lines, records: Records::new(format), is_shown: io::stderr().is_terminal() };
        part.cut()?;
        Ok(part)
    }

    /// Cuts off what arrived behind the last whole event. A file without an event begins anew.
    fn cut(&mut self) -> anyhow::Result<()> {
        if !self.lines.header["size"].is_u64() || self.lines.last.is_none() {
            self.lines = Lines::default();
        }
        self.lines.rest.clear();
        self.lines.manifest = Value::Null;
        self.records = Records::new(self.records.format);
        self.file.set_len(self.lines.length)?;
        self.file.seek(SeekFrom::Start(self.lines.length))?;
        Ok(())
    }

    fn add(&mut self, chunk: &[u8]) -> anyhow::Result<()> {
        self.file.write_all(chunk).with_context(|| format!("failed to write {}", self.path.display()))?;
        if self.is_jsonl {
            self.lines.read(chunk)?;
        } else {
            self.lines.length += chunk.len() as u64;
            self.records.read(chunk);
        }
        if self.is_shown {
            drop(write!(io::stderr(), "\r{} MiB", self.lines.length >> 20));
        }
        Ok(())
    }

    /// The advice about the file after its rest was refused.
    fn hint(&self, code: &Value) -> String {
        let shown = self.path.display();
        match code.as_str() {
            Some("not_found") if self.lines.last.is_some() => format!(
                "; {shown} is a part of an export that belongs to another server, or to this one before its log was rolled back; \
                 move it away, and run the command again"
            ),
            Some(code) if code == edge::DAMAGED.code => "; an admin finds out more with placet doctor --deep".to_owned(),
            Some("export_outdated") if self.lines.last.is_some() => format!("; remove {shown}, and run the command again"),
            Some(_) | None => String::new(),
        }
    }

    /// Removes the file if nothing of the export is in it.
    fn remove_if_empty(&self) {
        if self.lines.length == 0 {
            drop(std::fs::remove_file(&self.path));
        }
    }

    /// Puts the whole file in its place.
    fn finish(self, out: &Path) -> anyhow::Result<Self> {
        if self.is_shown {
            drop(write!(io::stderr(), "\r\u{1b}[K"));
        }
        self.file.sync_all()?;
        std::fs::rename(&self.path, out).with_context(|| format!("failed to write {}", out.display()))?;
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = r#"{"placet_export":1,"size":2,"selection":null}"#;
    const SERVERS: &str = r#"{"leaf":0,"event":{"log":"server"}}"#;
    const INTENTS: &str = r#"{"leaf":1,"redacted":{"intent_id":"i"}}"#;
    const MANIFEST: &str = r#"{"manifest":{"events":2}}"#;

    /// The network cuts an export anywhere. If a line were read wrong at a cut, the hash would accuse the server.
    #[test]
    fn lines_are_read_in_pieces_of_any_size() {
        let before = format!("{HEADER}\n{SERVERS}\n{INTENTS}\n");
        let whole = format!("{before}{MANIFEST}\n");
        for size in 1..=whole.len() {
            let mut lines = Lines::default();
            for piece in whole.as_bytes().chunks(size) {
                lines.read(piece).unwrap();
            }
            assert_eq!((lines.length, lines.last, lines.has_subject), (before.len() as u64, Some(1), true), "{size}");
            assert_eq!(lines.hash.clone().finalize(), Sha256::digest(&before), "{size}");
            assert_eq!(lines.manifest["events"], 2);
            assert!(lines.read(b"\n").is_err(), "nothing follows the manifest");
        }
        for cut in 0..before.len() {
            let end = before[..cut].rfind('\n').map_or(0, |end| end + 1);
            assert_eq!(Lines::of(&before.as_bytes()[..cut]).unwrap().length, end as u64, "{cut}");
        }
        let servers = Lines::of(format!("{HEADER}\n{SERVERS}\n{MANIFEST}\nmore").as_bytes()).unwrap();
        assert_eq!((servers.last, servers.has_subject), (Some(0), false));
        assert!(Lines::default().read(b"<html>\n").is_err());
        assert!(Lines::default().read(&vec![b' '; LINE_BYTES_MAX + 2]).is_err(), "a line has an end");
    }

    /// An export changes nothing, so its words do not tell a person that it may have been done.
    #[test]
    fn a_database_that_takes_nothing_is_told_in_words_of_an_export() {
        use crate::edge::problem::Failure;

        let failure = Failure::from(store::StoreError::Unavailable("database or disk is full".to_owned()));
        let body = serde_json::json!({"code": "unavailable", "detail": failure.detail});
        assert!(reason(&body).starts_with("the server cannot use its database at present"), "{body}");
        assert_eq!(reason(&serde_json::json!({"detail": "not found"})), "not found");
        assert_eq!(reason(&Value::Null), "no reason was given");
    }

    /// A filter with a typing error gives a file with the server's log alone, and that must be told in each format.
    #[test]
    fn records_of_other_formats_are_counted_in_pieces_of_any_size() {
        use domain::log::export::{cef, ocsf};
        use serde_json::json;

        type Line = fn(u64, &Value) -> String;

        let hostile = "a\r\n\"b\",\"intent\" cat=intent \"log_name\":\"intent\"";
        let event = |log: &str, id: &str| {
            let payload = json!({"text": hostile});
            json!({"event_type": "comment", "actor": hostile, "created_at": "2026-11-28T20:00:00", log: id, "payload": payload})
        };
        let (of_server, of_intent) = (event("log", "server"), event("intent_id", "i"));
        let formats: [(Format, &str, Line); 3] =
            [(Format::Csv, csv::HEADER, csv::line), (Format::Ocsf, "", ocsf::line), (Format::Cef, "", cef::line)];
        for (format, header, line) in formats {
            let servers = format!("{header}{}{}", line(0, &of_server), line(1, &of_server));
            let whole = format!("{servers}{}", line(2, &of_intent));
            for size in [1, 2, 7, 100, 10_000] {
                for (text, expected) in [(header, (0, false)), (servers.as_str(), (2, false)), (whole.as_str(), (3, true))] {
                    let mut records = Records::new(format);
                    text.as_bytes().chunks(size).for_each(|piece| records.read(piece));
                    assert_eq!((records.count, records.has_subject), expected, "{format:?}, {size}: {text}");
                }
            }
        }
    }
}
