//! `placet export`: fetches the log, whole or a selection, into a file that `placet verify` checks without this server.
//!
//! The file is written beside its place under another name until it is whole. If the download breaks off, the next try goes on behind the
//! last line that arrived. Two downloads are joined only if both are of one selection, and the hash in the manifest is that of the bytes.
//! The formats that lose something, for spreadsheets and SIEMs, begin anew instead.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, IsTerminal, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use domain::asking::attesting::hex;
use domain::base::time;
use domain::log::export::Format;
use placet::TransportError;
use secrecy::ExposeSecret;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use url::Url;

use super::remote::{self, EXIT_CODES, Remote, RemoteArgs, print_laid_out, tell};

/// How often a download that breaks off is taken up again without a new line in between.
const TRIES_MAX: u32 = 5;
/// The pause before that.
const PAUSE: Duration = Duration::from_secs(1);
/// The longest refusal that is read.
const REFUSAL_BYTES_MAX: usize = 64 * 1024;

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
    let key = args.remote.key()?;
    let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build()?;
    if args.out.exists() {
        bail!("{} exists; name another file, or remove it", args.out.display());
    }
    let mut part = Part::open(&args.out)?;
    if args.format != Format::Jsonl {
        fetch_at_once(&remote, args, &http, &mut part).await?;
        part.finish(&args.out)?;
        let format = args.format.as_str();
        return print_laid_out(&format!("{}: {format}. Only an export in the format jsonl can be verified.", args.out.display()));
    }
    if part.last.is_some() {
        if part.selection != args.selection() {
            let shown = part.path.display();
            bail!("{shown} is a part of an export with other filters; give the same filters again, or remove that file");
        }
        tell(format!("going on with {}, where an earlier download broke off", part.path.display()));
    }
    let mut tries = 0;
    let whole = loop {
        let before = part.length;
        let request = http.get(args.address(&remote, &part)?).header("X-API-Key", key.expose_secret());
        match fetch(&remote, request, &mut part).await {
            Ok(whole) => break whole,
            Err(Ended::Refused(why)) => {
                part.remove_if_empty();
                return Err(why);
            }
            Err(Ended::Broken(why)) => {
                tries = if part.length > before { 0 } else { tries + 1 };
                part.keep_whole_lines()?;
                if tries == TRIES_MAX && part.last.is_none() {
                    part.remove_if_empty();
                    return Err(why);
                }
                if tries == TRIES_MAX {
                    return Err(why.context("the download broke off; run the same command again, it goes on where it ended"));
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
    };
    part.finish(&args.out)?;
    let nothing = if whole.fits_none {
        format!("No event of an intent fits {}. The file has the server's own log alone.\n", args.filters().join(" and "))
    } else {
        String::new()
    };
    let events = whole.manifest["events"].as_u64().unwrap_or_default();
    let next = "Verify it with the log's public key, which its holder gives you: placet verify --key KEY FILE (or the program placet-verify)";
    print_laid_out(&format!("{}: {events} events.\n{nothing}{next}", args.out.display()))
}

/// Why a download ended early.
enum Ended {
    /// The server refused it.
    Refused(anyhow::Error),
    /// It may go on.
    Broken(anyhow::Error),
}

/// Fetches an export in a format that does not go on where it ended.
async fn fetch_at_once(remote: &Remote, args: &ExportArgs, http: &reqwest::Client, part: &mut Part) -> anyhow::Result<()> {
    let key = args.remote.key()?;
    let mut tries = 0;
    loop {
        part.begin_anew()?;
        let request = http.get(args.address(remote, part)?).header("X-API-Key", key.expose_secret());
        let why = match receive(remote, request, part).await {
            Ok(()) => return Ok(()),
            Err(Ended::Broken(_)) if tries < TRIES_MAX => {
                tries += 1;
                tokio::time::sleep(PAUSE).await;
                continue;
            }
            Err(Ended::Broken(why) | Ended::Refused(why)) => why,
        };
        part.begin_anew()?;
        part.remove_if_empty();
        return Err(why);
    }
}

async fn fetch(remote: &Remote, request: reqwest::RequestBuilder, part: &mut Part) -> Result<Whole, Ended> {
    receive(remote, request, part).await?;
    part.whole().map_err(Ended::Refused)?.ok_or_else(|| Ended::Broken(anyhow::anyhow!("the export has no end")))
}

/// Appends the body of the answer to the file. A body that ends early is an error.
async fn receive(remote: &Remote, request: reqwest::RequestBuilder, part: &mut Part) -> Result<(), Ended> {
    let broken = |error: reqwest::Error| Ended::Broken(anyhow::Error::new(error.without_url()));
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
        let why = body["detail"].as_str().unwrap_or("no reason was given");
        let error =
            anyhow::anyhow!("{} refused the export ({}): {why}{}", remote.shown(), status.as_u16(), part.hint(&body["code"]));
        return Err(if status.is_server_error() { Ended::Broken(error) } else { Ended::Refused(error) });
    }
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        part.add(&chunk).map_err(Ended::Refused)?;
    }
    Ok(())
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
        if let Some(size) = part.size {
            url.query_pairs_mut().append_pair("size", &size.to_string());
        }
        if let Some(last) = part.last {
            url.query_pairs_mut().append_pair("after", &last.to_string());
        }
        Ok(url)
    }
}

/// The file while it is not whole.
struct Part {
    path: PathBuf,
    file: File,
    length: u64,
    /// The number of leaves that the header names.
    size: Option<u64>,
    /// The selection that the header names; null if the export is whole.
    selection: Value,
    /// The last leaf that arrived whole.
    last: Option<u64>,
    is_shown: bool,
}

/// A file that is whole.
struct Whole {
    manifest: Value,
    /// Whether it is a selection that no event of an intent or a portfolio fits.
    fits_none: bool,
}

impl Part {
    fn open(out: &Path) -> anyhow::Result<Self> {
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
        let is_shown = std::io::stderr().is_terminal();
        let mut part = Self { path, file, length: 0, size: None, selection: Value::Null, last: None, is_shown };
        part.keep_whole_lines()?;
        Ok(part)
    }

    /// Cuts off a line that did not arrive whole, and finds the place behind which the download goes on. A file without an event begins
    /// anew.
    fn keep_whole_lines(&mut self) -> anyhow::Result<()> {
        (self.size, self.last) = (None, None);
        self.file.seek(SeekFrom::Start(0))?;
        let (mut lines, mut line, mut whole) = (BufReader::new(&self.file), Vec::new(), 0_u64);
        while lines.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            let Ok(mut read) = serde_json::from_slice::<Value>(&line) else { break };
            if read["placet_export"].is_u64() {
                self.size = read["size"].as_u64();
                self.selection = read["selection"].take();
            } else if let Some(leaf) = read["leaf"].as_u64() {
                self.last = Some(leaf);
            } else {
                break;
            }
            whole += line.len() as u64;
            line.clear();
        }
        if self.last.is_none() || self.size.is_none() {
            (self.size, self.last, whole) = (None, None, 0);
        }
        self.file.set_len(whole)?;
        self.file.seek(SeekFrom::Start(whole))?;
        self.length = whole;
        Ok(())
    }

    /// Forgets all that arrived.
    fn begin_anew(&mut self) -> anyhow::Result<()> {
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        (self.length, self.size, self.last) = (0, None, None);
        Ok(())
    }

    fn add(&mut self, chunk: &[u8]) -> anyhow::Result<()> {
        self.file.write_all(chunk).with_context(|| format!("failed to write {}", self.path.display()))?;
        self.length += chunk.len() as u64;
        if self.is_shown {
            drop(write!(std::io::stderr(), "\r{} MiB", self.length >> 20));
        }
        Ok(())
    }

    /// The advice about the file after its rest was refused.
    fn hint(&self, code: &Value) -> String {
        let shown = self.path.display();
        match code.as_str() {
            Some("not_found") if self.last.is_some() => {
                format!("; {shown} is a part of an export of another server: remove it, and run the command again")
            }
            Some("export_outdated") if self.last.is_some() => format!("; remove {shown}, and run the command again"),
            Some(_) | None => String::new(),
        }
    }

    /// Removes the file if nothing of the export is in it.
    fn remove_if_empty(&self) {
        if self.length == 0 {
            drop(std::fs::remove_file(&self.path));
        }
    }

    /// Reads the whole file; `None` if its last line is no manifest.
    ///
    /// # Errors
    ///
    /// The bytes before the manifest are not those that the server hashed.
    fn whole(&mut self) -> anyhow::Result<Option<Whole>> {
        self.file.seek(SeekFrom::Start(0))?;
        let (mut lines, mut line, mut hash) = (BufReader::new(&self.file), Vec::new(), Sha256::new());
        let (mut is_selection, mut fits) = (false, false);
        while lines.read_until(b'\n', &mut line)? > 0 {
            if line.starts_with(b"{\"manifest\":") {
                break;
            }
            hash.update(&line);
            if !fits {
                let read = serde_json::from_slice::<Value>(&line).unwrap_or_default();
                is_selection |= read["selection"].is_object();
                let of_server = |event: &Value| event["intent_id"].is_null() && event["portfolio_id"].is_null();
                fits = !of_server(&read["event"]) || !of_server(&read["redacted"]);
            }
            line.clear();
        }
        let Ok(mut last) = serde_json::from_slice::<Value>(&line) else { return Ok(None) };
        let manifest = last["manifest"].take();
        if manifest["sha256"] != hex(&hash.finalize()) {
            let shown = self.path.display();
            bail!(
                "the file is not the export that the server made, because its hash is not the one in the manifest: {shown} was changed, or a \
                 witness signed the checkpoint meanwhile; remove it, and run the command again"
            );
        }
        Ok(Some(Whole { manifest, fits_none: is_selection && !fits }))
    }

    /// Puts the whole file in its place.
    fn finish(self, out: &Path) -> anyhow::Result<()> {
        if self.is_shown {
            drop(write!(std::io::stderr(), "\r\u{1b}[K"));
        }
        self.file.sync_all()?;
        std::fs::rename(&self.path, out).with_context(|| format!("failed to write {}", out.display()))
    }
}
