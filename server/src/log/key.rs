//! The key that signs checkpoints: made at the first start, and opened at each start.
//!
//! The secret half is in the database, encrypted under a key in a file outside it, so that neither a copy of the database nor a copy of
//! the file lets anyone sign. Several servers on one database share the file. A server that cannot open the key serves as always, signs
//! nothing, and says so: a question must not wait for a file.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use domain::base::ids::Entropy;
use domain::people::principal::Principal;
use proof::key::{KeyFile, SigningKey, VerifyingKey, open, seal};
use proof::succession::Succession;
use store::{LogKeyRow, Store};
use url::Url;

use crate::config::LogConfig;
#[cfg(unix)]
use crate::permissions;

/// The number of random bytes that make a log's name unlike that of another deployment at the same address.
const NAME_BYTES: usize = 4;

/// The key with which this server signs; `None` if it cannot sign, and then a warning says why.
///
/// # Errors
///
/// A database that fails, or a log that has another name than the settings say.
pub(crate) async fn load(
    store: &dyn Store,
    config: &LogConfig,
    public_url: &Url,
    entropy: &dyn Entropy,
) -> anyhow::Result<Option<Arc<SigningKey>>> {
    let in_force = store.log_keys().await?.pop();
    if let (Some(in_force), Some(name)) = (&in_force, &config.origin)
        && in_force.name != *name
    {
        bail!(
            "PLACET_LOG_ORIGIN is {name}, but this database holds the log {}, and a log keeps its name; remove the setting",
            in_force.name
        );
    }
    let path = config.key_file.as_deref();
    if let Some(warning) = path.and_then(open_to_others) {
        tracing::warn!("{warning}");
    }
    let opened = match (begun(path, in_force.is_none(), entropy).and_then(|()| read(path)), in_force) {
        (Err(error), _) => Err(error),
        (Ok(file), Some(in_force)) => open_with(file, &in_force),
        (Ok(file), None) => {
            let name = config.origin.clone().unwrap_or_else(|| name_at(public_url, entropy));
            begin(store, file, &name, entropy).await
        }
    };
    match opened {
        Ok(key) => Ok(Some(Arc::new(key))),
        Err(error) => {
            tracing::warn!(error = %format!("{error:#}"), "this server signs no checkpoints of the log; events are written as always");
            Ok(None)
        }
    }
}

/// Makes a missing key file if the log has no key yet.
fn begun(path: Option<&Path>, is_first: bool, entropy: &dyn Entropy) -> anyhow::Result<()> {
    match path.filter(|path| is_first && !path.exists()) {
        Some(path) => make(path, &KeyFile::write(&entropy.bytes32()))
            .with_context(|| format!("failed to make the key file {}", path.display())),
        None => Ok(()),
    }
}

/// Reads the key file.
fn read(path: Option<&Path>) -> anyhow::Result<KeyFile> {
    let Some(path) = path else {
        bail!("no key file is named; set PLACET_LOG_KEY_FILE to a file that all servers on this database share");
    };
    let text = std::fs::read_to_string(path).with_context(|| format!("failed to read the key file {}", path.display()))?;
    KeyFile::read(&text).with_context(|| format!("failed to use {}", path.display()))
}

/// A warning if other users of the machine can read or change the key file.
#[cfg(unix)]
pub(crate) fn open_to_others(path: &Path) -> Option<String> {
    let mode = permissions::mode(path)?;
    let can = permissions::others_can(mode)?;
    let shown = path.display();
    Some(format!(
        "others can {can} the key file of the log, {shown} (mode {mode:o}): a program that reads it and the database signs checkpoints in \
         this server's name; run: chmod 600 {shown}"
    ))
}

/// Other systems have other permissions, so there is no warning.
#[cfg(not(unix))]
pub(crate) fn open_to_others(_: &Path) -> Option<String> {
    None
}

/// Writes the file as a whole, or finds that another server has just made it.
fn make(path: &Path, text: &str) -> anyhow::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // A temporary file is open to its owner alone.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Ok(_) => {
            tracing::info!(path = %path.display(), "made the key file of the log; keep a copy of it apart from copies of the database");
            Ok(())
        }
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error.error.into()),
    }
}

/// Opens the key in force with the key file at `path`.
///
/// # Errors
///
/// A file that is missing, or that does not open this key.
pub(crate) fn reopen(path: Option<&Path>, in_force: &LogKeyRow) -> anyhow::Result<SigningKey> {
    open_with(read(path)?, in_force)
}

/// Opens the key in force.
fn open_with(file: KeyFile, in_force: &LogKeyRow) -> anyhow::Result<SigningKey> {
    let key = match (file, &in_force.sealed) {
        (KeyFile::Wrapping(wrapping), Some(sealed)) => {
            SigningKey::new(&in_force.name, &open(&wrapping, &in_force.name, sealed)?)?
        }
        (KeyFile::Wrapping(_), None) => {
            bail!("the key file must hold the signing key itself, because an operator made the key of this log")
        }
        (KeyFile::Given(key), _) => *key,
    };
    let verifying = key.verifying();
    if verifying.public() != in_force.public || verifying.name() != in_force.name {
        bail!("the key file gives the key {verifying}, which is not the one in force");
    }
    Ok(key)
}

/// Puts the first key in force. Another server may be quicker; then its key is opened.
async fn begin(store: &dyn Store, file: KeyFile, name: &str, entropy: &dyn Entropy) -> anyhow::Result<SigningKey> {
    let (verifying, candidate) = candidate(&file, name, entropy)?;
    let in_force = store.adopt_log_key(candidate, verifying.to_string()).await?;
    if in_force.public == verifying.public() {
        tracing::info!(key = %verifying, "a log begins; give this public key to those who shall check it");
    }
    open_with(file, &in_force)
}

/// A key for the log `name`: the one in the file, or a new one that is encrypted under it.
fn candidate(file: &KeyFile, name: &str, entropy: &dyn Entropy) -> anyhow::Result<(VerifyingKey, LogKeyRow)> {
    let (verifying, sealed) = match file {
        KeyFile::Wrapping(wrapping) => {
            let seed = entropy.bytes32();
            let mut nonce = [0; 12];
            entropy.fill(&mut nonce);
            (SigningKey::new(name, &seed)?.verifying().clone(), Some(seal(wrapping, name, &seed, nonce)?))
        }
        KeyFile::Given(key) => (key.verifying().clone(), None),
    };
    let row = LogKeyRow { name: verifying.name().to_owned(), public: verifying.public(), sealed, signature: None };
    Ok((verifying, row))
}

/// Puts another key in force, which the key in force names with its last signature. Returns the old and the new public key.
///
/// The new key is made and encrypted under the key file at `path`, or comes from the key file `next`.
///
/// # Errors
///
/// A log without a key, a file that does not open the key in force, a new key that this log had before or that has another name, or
/// another key that was put in force meanwhile. Nothing has changed then.
pub async fn rotate(
    store: &dyn Store,
    by: Principal,
    (path, next): (Option<&Path>, Option<&Path>),
    entropy: &dyn Entropy,
) -> anyhow::Result<Succession> {
    let keys = store.log_keys().await?;
    let Some(in_force) = keys.last() else { bail!("this log has no key yet; a server makes it at its first start") };
    let file = read(path)?;
    let next = next.map(|next| read(Some(next))).transpose()?;
    if next.is_none() && matches!(file, KeyFile::Given(_)) {
        bail!("an operator made the key of this log, so an operator makes the next one, too: name it with --new-key-file");
    }
    let (verifying, mut row) = candidate(next.as_ref().unwrap_or(&file), &in_force.name, entropy)?;
    let old = open_with(file, in_force)?;
    if row.name != in_force.name {
        bail!("the new key has the name {}, and this log is {}; a log keeps its name", row.name, in_force.name);
    }
    if keys.iter().any(|key| key.public == row.public) {
        bail!("this log has or had the key {verifying} already; make a new one");
    }
    let succession = Succession::sign(&old, &verifying);
    row.signature = Some(succession.signature.clone());
    if !store.pass_on_log_key(by, row, succession.clone()).await? {
        bail!("another key was put in force at the same time; nothing was changed");
    }
    Ok(succession)
}

/// A name for a log at this address, with a part that tells deployments at one address apart.
fn name_at(public_url: &Url, entropy: &dyn Entropy) -> String {
    let mut random = [0; NAME_BYTES];
    entropy.fill(&mut random);
    let host = public_url.host_str().unwrap_or("localhost");
    let port = public_url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{host}{port}/{:08x}", u32::from_be_bytes(random))
}
