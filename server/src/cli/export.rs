//! `placet export`: fetches the log, whole or a selection, into a file that `placet verify` checks without this server.
//!
//! The file is written beside its place under another name until it is whole. If the download breaks off, the next try goes on behind the
//! last line that arrived.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, IsTerminal, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use secrecy::ExposeSecret;
use serde_json::Value;
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
    #[command(flatten)]
    remote: RemoteArgs,
}

pub(super) async fn run(args: ExportArgs) -> ExitCode {
    remote::exit_code(exported(&args).await)
}

async fn exported(args: &ExportArgs) -> anyhow::Result<()> {
    let remote = args.remote.connect("export", "auditor or admin")?;
    let key = args.remote.key()?;
    let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build()?;
    if args.out.exists() {
        bail!("{} exists; name another file, or remove it", args.out.display());
    }
    let mut part = Part::open(&args.out)?;
    if part.last.is_some() {
        tell(format!("going on with {}, where an earlier download broke off", part.path.display()));
    }
    let mut tries = 0;
    loop {
        let before = part.length;
        let request = http.get(args.address(&remote, &part)?).header("X-API-Key", key.expose_secret());
        match fetch(&remote, request, &mut part).await {
            Ok(()) => break,
            Err(Ended::Refused(why)) => return Err(why),
            Err(Ended::Broken(why)) => {
                tries = if part.length > before { 0 } else { tries + 1 };
                if tries == TRIES_MAX {
                    return Err(why.context("the download broke off; run the same command again, it goes on where it ended"));
                }
                tokio::time::sleep(PAUSE).await;
                part.keep_whole_lines()?;
            }
        }
    }
    let manifest = part.finish(&args.out)?;
    let events = manifest["events"].as_u64().unwrap_or_default();
    let next = "Verify it with the log's public key, which its holder gives you: placet verify --key KEY FILE (or the program placet-verify)";
    print_laid_out(&format!("{}: {events} events.\n{next}", args.out.display()))
}

/// Why a download ended early.
enum Ended {
    /// The server refused it.
    Refused(anyhow::Error),
    /// It may go on.
    Broken(anyhow::Error),
}

async fn fetch(remote: &Remote, request: reqwest::RequestBuilder, part: &mut Part) -> Result<(), Ended> {
    let broken = |error: reqwest::Error| Ended::Broken(anyhow::Error::new(error.without_url()));
    let mut response = remote.heard(request.send()).await.map_err(broken)?;
    let status = response.status();
    if !status.is_success() {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(broken)? {
            body.extend_from_slice(&chunk);
            if body.len() > REFUSAL_BYTES_MAX {
                break;
            }
        }
        let why = serde_json::from_slice::<Value>(&body).ok();
        let why = why.as_ref().and_then(|body| body["detail"].as_str()).unwrap_or("no reason was given");
        let error = anyhow::anyhow!("{} refused the export ({}): {why}", remote.shown(), status.as_u16());
        return Err(if status.is_server_error() { Ended::Broken(error) } else { Ended::Refused(error) });
    }
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        part.add(&chunk).map_err(Ended::Refused)?;
    }
    if part.is_whole().map_err(Ended::Refused)? { Ok(()) } else { Err(Ended::Broken(anyhow::anyhow!("the export has no end"))) }
}

impl ExportArgs {
    /// The address of the export, or of the rest of it.
    fn address(&self, remote: &Remote, part: &Part) -> anyhow::Result<Url> {
        let mut url = remote.url.join("/api/v1/export")?;
        let given = [
            ("from", &self.from),
            ("to", &self.to),
            ("intent_id", &self.intent),
            ("agent", &self.agent),
            ("person", &self.person),
            ("outcome", &self.outcome),
        ];
        for (name, value) in given {
            if let Some(value) = value {
                url.query_pairs_mut().append_pair(name, value);
            }
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
    /// The last leaf that arrived whole.
    last: Option<u64>,
    is_shown: bool,
}

impl Part {
    fn open(out: &Path) -> anyhow::Result<Self> {
        let mut name = out.file_name().context("--out must name a file")?.to_owned();
        name.push(".part");
        let path = out.with_file_name(name);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).with_context(|| format!("failed to write {}", path.display()))?;
        let mut part = Self { path, file, length: 0, size: None, last: None, is_shown: std::io::stderr().is_terminal() };
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
            let Ok(read) = serde_json::from_slice::<Value>(&line) else { break };
            if read["placet_export"].is_u64() {
                self.size = read["size"].as_u64();
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

    fn add(&mut self, chunk: &[u8]) -> anyhow::Result<()> {
        self.file.write_all(chunk).with_context(|| format!("failed to write {}", self.path.display()))?;
        self.length += chunk.len() as u64;
        if self.is_shown {
            drop(write!(std::io::stderr(), "\r{} MiB", self.length >> 20));
        }
        Ok(())
    }

    /// The last line, if it is the manifest.
    fn manifest(&mut self) -> anyhow::Result<Option<Value>> {
        self.file.seek(SeekFrom::Start(0))?;
        let last = BufReader::new(&self.file).lines().last().transpose()?.unwrap_or_default();
        self.file.seek(SeekFrom::End(0))?;
        Ok(serde_json::from_str::<Value>(&last).ok().and_then(|mut line| Some(line.get_mut("manifest")?.take())))
    }

    fn is_whole(&mut self) -> anyhow::Result<bool> {
        Ok(self.manifest()?.is_some())
    }

    /// Puts the whole file in its place, and returns its manifest.
    fn finish(mut self, out: &Path) -> anyhow::Result<Value> {
        if self.is_shown {
            drop(write!(std::io::stderr(), "\r\u{1b}[K"));
        }
        let manifest = self.manifest()?.context("the export has no manifest")?;
        self.file.sync_all()?;
        std::fs::rename(&self.path, out).with_context(|| format!("failed to write {}", out.display()))?;
        Ok(manifest)
    }
}
