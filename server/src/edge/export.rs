//! An export of the log: every event, or a selection, each with the way to a signed checkpoint (`docs/log-format.md`).
//!
//! An export is the same bytes whenever it is made for one checkpoint and one selection. So one that broke off goes on with `after`, and
//! the hash in its manifest is that of the whole export.
//!
//! An export can take long, so the right of its reader is looked up again for each page, and each page takes a place among the other
//! requests. A reader who lost the right gets a broken transfer without a manifest, and so does not take a part for the whole.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::web::{Bytes, Data};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::base::field::FieldError;
use domain::base::ids::IntentId;
use domain::base::time;
use domain::log::export::{Format, cef, csv, ocsf};
use domain::people::authority::{Action, Object, authorize};
use domain::people::event::LogExported;
use domain::people::principal::Principal;
use domain::problem::Rejection;
use domain::wire::LogCheckpointView;
use futures_util::{StreamExt, stream};
use proof::checkpoint::TreeHead;
use proof::key::VerifyingKey;
use proof::succession::Succession;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use store::{CheckpointFilter, CheckpointId, ExportFilter, ExportOutcome, Exported, LogKeyRow, Store, StoreError};

use super::admission::Class;
use super::problem::{Failure, Problem};
use super::query::Query;
use super::reader::Reader;
use super::shared::Shared;

/// The version of the format of an export.
const VERSION: u32 = 1;
/// How often a step is tried again, and after which pause, if the server is busy or its database is away.
const RETRIES_MAX: u32 = 10;
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// The longest name of an agent or a person in a filter, in characters.
const NAME_CHARS_MAX: usize = 200;
/// The form of a time in a filter.
const A_TIME: &str = "a time in the years 1 to 9999, for example 2026-11-01T00:00:00Z";

/// The wishes of a request.
struct Wanted {
    filter: ExportFilter,
    selection: Option<Map<String, Value>>,
    /// The number of leaves of the checkpoint; the newest checkpoint if it is absent.
    size: Option<u64>,
    /// The last leaf that the caller has.
    after: Option<u64>,
    format: Format,
    /// Whether the manifest alone is wanted.
    manifest_only: bool,
}

impl Wanted {
    fn of(query: &str) -> Result<Self, Rejection> {
        refuse_empty(query)?;
        let mut query = Query::new(query);
        let mut selection = Map::new();
        // The header of the export has the times of its selection, so every program must be able to read them.
        let plain = |text: &str| time::parse(text).filter(|time| time::is_plain(*time));
        let name = |text: &str| (text.chars().count() <= NAME_CHARS_MAX).then(|| text.to_owned());
        let from = query.parsed("from", A_TIME, plain);
        let to = query.parsed("to", A_TIME, plain);
        let intent = query.parsed("intent_id", "the id of an intent", |text| text.parse().ok().map(IntentId));
        let agent = query.parsed("agent", "a name of at most 200 characters", name);
        let person = query.parsed("person", "a name of at most 200 characters", name);
        let outcome = query.parsed("outcome", "answered, expired, undeliverable or cancelled", |text| {
            ExportOutcome::ALL.into_iter().find(|outcome| outcome.as_str() == text)
        });
        let size = query.parsed("size", "the number of leaves of a checkpoint", |text| text.parse().ok());
        let after = query.parsed("after", "the number of a leaf", |text| text.parse().ok());
        let format = query.parsed("format", "jsonl, csv, ocsf or cef", Format::parse).unwrap_or(Format::Jsonl);
        let manifest_only = query.parsed("manifest", "only", |text| (text == "only").then_some(())).is_some();
        query.finish(true)?;
        if from.is_some_and(|from| to.is_some_and(|to| to <= from)) {
            return Err(Rejection::invalid("to", "range", "must be later than the time in from"));
        }
        if after.is_some() && size.is_none() {
            return Err(Rejection::invalid("size", "required", "must name the checkpoint of the export that goes on"));
        }
        if after.is_some() && format != Format::Jsonl {
            return Err(Rejection::invalid("after", "range", "is for the format jsonl alone; other formats begin anew"));
        }
        let mut add = |name: &str, value: Option<String>| {
            selection.extend(value.map(|value| (name.to_owned(), Value::from(value))));
        };
        add("from", from.map(time::rfc3339));
        add("to", to.map(time::rfc3339));
        add("intent_id", intent.map(|id| id.to_string()));
        add("agent", agent.clone());
        add("person", person.clone());
        add("outcome", outcome.map(|outcome| outcome.as_str().to_owned()));
        let selection = (!selection.is_empty()).then_some(selection);
        Ok(Self {
            filter: ExportFilter { from, to, intent, agent, person, outcome },
            selection,
            size,
            after,
            format,
            manifest_only,
        })
    }
}

/// Refuses parameters without a value. An empty filter would mean no filter: a script whose variable is not set would hand out the whole
/// log instead of a selection.
fn refuse_empty(query: &str) -> Result<(), Rejection> {
    let empty = url::form_urlencoded::parse(query.as_bytes()).filter(|(_, value)| value.is_empty());
    let errors: Vec<_> = empty
        .map(|(name, _)| FieldError::new(name, "length", "must not be empty; leave it out if you do not want to filter by it"))
        .collect();
    if errors.is_empty() { Ok(()) } else { Err(Rejection::Invalid { errors }) }
}

/// Exports the events of all logs for the reader; `query` names the format and the selection. Each export is an event of the server's
/// own log.
///
/// # Errors
///
/// The reader may not export, the query breaks a rule, or the store failed.
pub(crate) async fn export(query: &str, shared: &Data<Shared>, reader: Reader) -> Result<HttpResponse, Problem> {
    authorize(reader.principal(), Action::Export, Object::Server)?;
    let wanted = Wanted::of(query)?;
    let checkpoint = checkpoint(shared, reader.principal(), wanted.size).await?;
    if shared.checkpoints.key().is_none() {
        return Err(Rejection::LogNotSigned.into());
    }
    let signer = Signer::of(&shared.store.log_keys().await?, &checkpoint.note)?;
    let about = LogExported {
        format: wanted.format.as_str().to_owned(),
        size: checkpoint.event_count,
        after: wanted.after,
        selection: wanted.selection.clone(),
        credential: None,
    };
    shared.store.begin_export(reader.principal().clone(), Ok(about)).await?;
    let (format, manifest_only) = (wanted.format, wanted.manifest_only);
    let lines = Lines::new(shared.store.clone(), wanted, &checkpoint, &signer);
    let mut transfer = Transfer { shared: shared.clone(), reader, lines, has_begun: false };
    if manifest_only {
        while transfer.lines.next.is_some() {
            transfer.step().await?;
        }
        return Ok(HttpResponse::Ok().content_type("application/json").body(transfer.lines.manifest()));
    }
    // The header and the first events are made before the status is sent, because events may have been erased after the checkpoint.
    let mut first = Vec::new();
    for _ in 0..2 {
        first.extend(transfer.next().await?);
    }
    transfer.has_begun = true;
    let rest = stream::try_unfold(transfer, async |mut transfer| match transfer.next().await {
        Ok(bytes) => Ok(bytes.map(|bytes| (bytes, transfer))),
        Err(failure) => Err(broken(failure)),
    });
    let body = stream::iter(first.into_iter().map(Ok)).chain(rest);
    Ok(HttpResponse::Ok().content_type(format.content_type()).streaming(body))
}

/// Every event up to the newest checkpoint, as an export has them. No event records that.
///
/// # Errors
///
/// The principal may not read the checkpoints, nothing is signed yet, or the store failed.
#[cfg(feature = "simulator")]
pub async fn whole(store: Arc<dyn Store>, principal: Principal) -> Result<String, StoreError> {
    let newest = newest(&*store, &principal).await?;
    let signer = Signer::of(&store.log_keys().await?, &newest.note)?;
    let mut lines = Lines::new(store, Wanted::of("")?, &newest, &signer);
    let mut bytes = Vec::new();
    while let Some(chunk) = lines.next(&principal).await? {
        bytes.extend_from_slice(&chunk);
    }
    String::from_utf8(bytes).map_err(|error| StoreError::Failed(error.into()))
}

/// The error that breaks a transfer off.
fn broken(failure: Failure) -> io::Error {
    tracing::debug!(why = failure.detail, "an export breaks off");
    io::Error::new(io::ErrorKind::ConnectionReset, failure.detail)
}

/// The checkpoint with so many leaves, or one that is signed now.
async fn checkpoint(shared: &Shared, principal: &Principal, size: Option<u64>) -> Result<LogCheckpointView, Problem> {
    if let Some(size) = size {
        let id = CheckpointId { size, intent: None };
        return Ok(shared.store.checkpoint(principal.clone(), Ok(id)).await?);
    }
    shared.checkpoints.turn().await?;
    Ok(newest(&*shared.store, principal).await?)
}

async fn newest(store: &dyn Store, principal: &Principal) -> Result<LogCheckpointView, StoreError> {
    let newest = Ok(CheckpointFilter { intent: None, before: None, limit: 1 });
    Ok(store.checkpoints(principal.clone(), newest).await?.pop().ok_or(Rejection::NotFound)?)
}

/// The key that signed the checkpoint of an export.
struct Signer {
    key: VerifyingKey,
    /// How the log came from its first key to this one.
    succession: Vec<Succession>,
}

impl Signer {
    /// Finds the key that signed `note` among the keys of the log, of which the oldest is the first.
    fn of(keys: &[LogKeyRow], note: &str) -> Result<Self, StoreError> {
        let mut before: Option<VerifyingKey> = None;
        let mut succession = Vec::new();
        for row in keys {
            let key = row.verifying().map_err(|error| StoreError::Failed(error.into()))?;
            if let (Some(before), Some(signature)) = (&before, &row.signature) {
                let signature = signature.clone();
                succession.push(Succession { replaces: before.to_string(), key: key.to_string(), signature });
            }
            if TreeHead::verify(note, std::slice::from_ref(&key)).is_ok() {
                return Ok(Self { key, succession });
            }
            before = Some(key);
        }
        Err(StoreError::Failed(anyhow::anyhow!("no key of the log has signed the checkpoint of this export")))
    }
}

/// An export on its way to its reader.
struct Transfer {
    shared: Data<Shared>,
    reader: Reader,
    lines: Lines,
    /// Whether the status is sent. Until then the request has a place among the others, and a failure has a status.
    has_begun: bool,
}

impl Transfer {
    /// The next bytes; `None` at the end. A busy server, or a database that is away for a moment, does not break off a transfer that has
    /// begun: most formats cannot go on later, so the step is tried again.
    ///
    /// # Errors
    ///
    /// The reader may not export any more, or the store failed.
    async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        let mut retries = 0;
        while !self.lines.is_done {
            match self.step().await {
                Ok(Some(chunk)) if chunk.is_empty() => retries = 0,
                Err(failure) if self.has_begun && failure.entry.status == 503 && retries < RETRIES_MAX => {
                    retries += 1;
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
                step => return step,
            }
        }
        Ok(None)
    }

    /// The next step of the lines, if the reader may still export.
    async fn step(&mut self) -> Result<Option<Bytes>, Failure> {
        let _place = if self.has_begun { Some(self.shared.admission.enter_again(Class::List).await?) } else { None };
        self.reader = self.reader.again(&self.shared).await?;
        authorize(self.reader.principal(), Action::Export, Object::Server)?;
        Ok(self.lines.next(self.reader.principal()).await?)
    }
}

/// The lines of an export, made page by page.
struct Lines {
    store: Arc<dyn Store>,
    filter: Arc<ExportFilter>,
    format: Format,
    size: u64,
    checkpoint: String,
    after: Option<u64>,
    /// The leaf at which the next page begins; absent when the manifest is due.
    next: Option<u64>,
    header: Option<String>,
    is_done: bool,
    hash: Sha256,
    counts: Counts,
}

/// The counts of the manifest.
#[derive(Default)]
struct Counts {
    events: u64,
    redacted: u64,
    first_leaf: Option<u64>,
    last_leaf: Option<u64>,
    by_type: BTreeMap<String, u64>,
}

impl Lines {
    fn new(store: Arc<dyn Store>, wanted: Wanted, checkpoint: &LogCheckpointView, signer: &Signer) -> Self {
        let origin = checkpoint.note.lines().next().unwrap_or_default();
        let mut header = json!({
            "placet_export": VERSION,
            "origin": origin,
            "key": signer.key.to_string(),
            "checkpoint": checkpoint.note,
            "size": checkpoint.event_count,
            "selection": wanted.selection,
            "exported_at": time::rfc3339(checkpoint.created_at),
        });
        if !signer.succession.is_empty() {
            header["succession"] = json!(signer.succession);
        }
        let header = match wanted.format {
            Format::Jsonl => format!("{header}\n"),
            Format::Csv => csv::HEADER.to_owned(),
            Format::Ocsf | Format::Cef => String::new(),
        };
        Self {
            store,
            format: wanted.format,
            filter: Arc::new(wanted.filter),
            size: checkpoint.event_count,
            checkpoint: checkpoint.note.clone(),
            after: wanted.after,
            next: Some(0),
            header: Some(header),
            is_done: false,
            hash: Sha256::new(),
            counts: Counts::default(),
        }
    }

    /// The next bytes; `None` at the end. All lines count for the manifest, also those that the caller has already: these are no bytes.
    async fn next(&mut self, principal: &Principal) -> Result<Option<Bytes>, StoreError> {
        if let Some(header) = self.header.take() {
            self.hash.update(&header);
            return Ok(Some(if self.after.is_none() { Bytes::from(header) } else { Bytes::new() }));
        }
        let Some(first) = self.next else {
            let is_due = !std::mem::replace(&mut self.is_done, true);
            // The other formats are for programs that take each line for an event; their manifest is asked for by itself.
            return Ok((is_due && self.format == Format::Jsonl).then(|| Bytes::from(self.manifest())));
        };
        let page = self.store.export_page(principal.clone(), self.filter.clone(), self.size, first).await?;
        self.next = page.next;
        let mut chunk = String::new();
        for exported in page.events {
            let line = line(self.format, &exported)?;
            self.hash.update(&line);
            self.counts.add(&exported);
            if self.after.is_none_or(|after| exported.leaf > after) {
                chunk.push_str(&line);
            }
        }
        Ok(Some(Bytes::from(chunk)))
    }

    fn manifest(&mut self) -> String {
        let Counts { events, redacted, first_leaf, last_leaf, by_type } = std::mem::take(&mut self.counts);
        let root = TreeHead::read(&self.checkpoint).map(|head| STANDARD.encode(head.root)).unwrap_or_default();
        let digest = std::mem::take(&mut self.hash).finalize();
        let sha256 = digest.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
        let manifest = json!({ "manifest": {
            "events": events, "redacted": redacted, "first_leaf": first_leaf, "last_leaf": last_leaf, "by_type": by_type,
            "size": self.size, "root": root, "checkpoint": self.checkpoint, "sha256": sha256,
        }});
        format!("{manifest}\n")
    }
}

impl Counts {
    fn add(&mut self, exported: &Exported) {
        self.events += 1;
        self.redacted += u64::from(exported.sealed.is_erased());
        self.first_leaf = self.first_leaf.or(Some(exported.leaf));
        self.last_leaf = Some(exported.leaf);
        *self.by_type.entry(exported.sealed.event_type().unwrap_or_default()).or_default() += 1;
    }
}

fn line(format: Format, exported: &Exported) -> Result<String, StoreError> {
    let Exported { leaf, sealed, proof } = exported;
    let event = sealed.served();
    let read = |text: &str| serde_json::from_str::<Value>(text).map_err(|error| StoreError::Failed(error.into()));
    match format {
        Format::Jsonl => {}
        Format::Csv => return Ok(csv::line(*leaf, &read(&event)?)),
        Format::Ocsf => return Ok(ocsf::line(*leaf, &read(&event)?)),
        Format::Cef => return Ok(cef::line(*leaf, &read(&event)?)),
    }
    let (name, event) =
        if sealed.is_erased() { ("redacted", String::from_utf8_lossy(&sealed.bytes)) } else { ("event", event.into()) };
    Ok(match proof {
        None => format!("{{\"leaf\":{leaf},\"{name}\":{event}}}\n"),
        Some(path) => {
            let path = Value::from(path.iter().map(|hash| STANDARD.encode(hash)).collect::<Vec<_>>());
            format!("{{\"leaf\":{leaf},\"{name}\":{event},\"proof\":{path}}}\n")
        }
    })
}
