//! The file to which each signed checkpoint is appended, best on a volume that the server's database is not on.
//!
//! Guarantee: the tree is signed only if it extends the last checkpoint of the file, so a log that was rolled back or rewritten by
//! someone who holds database and key is not signed any further. Mechanism: the end of the file is read before each signature, and what
//! is missing is appended and synced after it. Failure: a file that cannot be read or written holds nothing up; it is reported, and
//! written as soon as it can be. An append that a crash cut off is completed with exactly the bytes that are missing.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use proof::checkpoint::{CHECKPOINT_BYTES_MAX, CheckpointError, TreeHead, pieces, without_cosignatures};
use proof::key::VerifyingKey;
use store::{CheckpointRow, Store, StoreError};

/// How much of the end of the file is read. It holds a whole checkpoint, and one that was cut off.
const END_BYTES: u64 = 4 * CHECKPOINT_BYTES_MAX as u64;
/// How many checkpoints are appended in one turn.
pub const APPENDED_MAX: u32 = 1_000;

/// The file.
#[derive(Clone, Debug)]
pub(crate) struct CheckpointFile {
    path: PathBuf,
}

/// The end of the file.
#[derive(Debug, Default)]
pub(crate) struct End {
    /// The head of the last whole checkpoint.
    last: Option<TreeHead>,
    /// The text behind it that is no whole checkpoint.
    begun: String,
    /// Whether the empty line behind the last checkpoint is missing.
    is_open: bool,
}

/// The result of comparing the file with the tree.
#[derive(Debug)]
pub(crate) enum Compared {
    /// The tree extends the last checkpoint of the file.
    Extends(End),
    /// It does not; the reason is for the log.
    Contradicts(String),
    /// The file tells nothing, because it cannot be read.
    Unreadable(anyhow::Error),
}

impl CheckpointFile {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Compares the end of the file with the tree of the store.
    pub(crate) async fn compare(&self, store: &dyn Store, key: &VerifyingKey) -> Result<Compared, StoreError> {
        let path = self.path.clone();
        let (end, note) = match tokio::task::spawn_blocking(move || read_end(&path)).await {
            Ok(Ok(end)) => end,
            Ok(Err(error)) => return Ok(Compared::Unreadable(error)),
            Err(panicked) => return Ok(Compared::Unreadable(panicked.into())),
        };
        let Some(note) = note else { return Ok(Compared::Extends(end)) };
        let shown = self.path.display();
        match TreeHead::verify(&note, std::slice::from_ref(key)) {
            // A key that was in force earlier may have signed it.
            Ok(_) | Err(CheckpointError::NotSigned) => {}
            Err(CheckpointError::OtherOrigin(origin)) => {
                return Ok(Compared::Contradicts(format!("{shown} holds checkpoints of another log, \"{origin}\"")));
            }
            Err(error) => return Ok(Compared::Unreadable(anyhow::Error::new(error).context(format!("failed to use {shown}")))),
        }
        let Some(head) = end.last.clone() else { return Ok(Compared::Extends(end)) };
        if store.extends(head.size, head.root).await? {
            return Ok(Compared::Extends(end));
        }
        Ok(Compared::Contradicts(format!(
            "the log does not extend the last checkpoint in {shown}, of {} events: it was rolled back or rewritten",
            head.size
        )))
    }

    /// Appends the checkpoints that the file lacks; returns the size of the last one that it holds then.
    pub(crate) async fn catch_up(&self, store: &dyn Store, end: End) -> anyhow::Result<u64> {
        let after = end.last.as_ref().map_or(0, |head| head.size);
        let missing = store.checkpoints_after(after, APPENDED_MAX).await?;
        let line_up = |notes: String, checkpoint: &CheckpointRow| notes + without_cosignatures(&checkpoint.note) + "\n";
        let notes = missing.iter().fold(String::new(), line_up);
        let Some(rest) = notes.strip_prefix(&end.begun) else {
            bail!("{} ends with something that is no checkpoint of this log; move it away", self.path.display());
        };
        let text = if end.is_open { format!("\n{rest}") } else { rest.to_owned() };
        if !text.is_empty() {
            let path = self.path.clone();
            tokio::task::spawn_blocking(move || append(&path, &text)).await??;
        }
        Ok(missing.last().map_or(after, |checkpoint| checkpoint.size))
    }
}

/// The head of the last checkpoint of a file; `None` if it holds none.
pub(crate) fn last_head(path: &Path) -> anyhow::Result<Option<TreeHead>> {
    Ok(read_end(path)?.0.last)
}

/// Reads the end of the file, and the text of its last whole checkpoint.
fn read_end(path: &Path) -> anyhow::Result<(End, Option<String>)> {
    let failed = || format!("failed to read {}", path.display());
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok((End::default(), None)),
        Err(error) => return Err(error).with_context(failed),
    };
    let length = file.metadata().with_context(failed)?.len();
    let start = length.saturating_sub(END_BYTES);
    file.seek(SeekFrom::Start(start)).with_context(failed)?;
    let mut bytes = Vec::new();
    file.take(END_BYTES).read_to_end(&mut bytes).with_context(failed)?;
    let text = String::from_utf8_lossy(&bytes);
    // The first piece of a long file may lack its beginning.
    let whole_from = usize::from(start > 0);
    let mut pieces: Vec<&str> = pieces(&text).into_iter().skip(whole_from).collect();
    let begun = pieces.pop_if(|last| TreeHead::read(last).is_err()).unwrap_or_default().to_owned();
    let last = pieces.pop().map(|note| TreeHead::read(note).map(|head| (head, note.to_owned()))).transpose();
    let last = last.with_context(|| format!("failed to use {}", path.display()))?;
    // A piece that was cut off within a character is completed like any other, so no replacement character may stand in it.
    if begun.contains(char::REPLACEMENT_CHARACTER) {
        bail!("{} ends within a character; move it away", path.display());
    }
    let is_open = last.is_some() && begun.is_empty() && !text.ends_with("\n\n");
    let (last, note) = last.unzip();
    Ok((End { last, begun, is_open }, note))
}

/// Appends text, and waits until the disk has it.
fn append(path: &Path, text: &str) -> anyhow::Result<()> {
    let failed = || format!("failed to write {}", path.display());
    let is_new = !path.exists();
    let mut file = OpenOptions::new().append(true).create(true).open(path).with_context(failed)?;
    file.write_all(text.as_bytes()).with_context(failed)?;
    file.sync_all().with_context(failed)?;
    if is_new {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder).and_then(|folder| folder.sync_all()).with_context(failed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proof::key::SigningKey;

    use super::*;

    fn end_of(text: &[u8]) -> anyhow::Result<(End, Option<String>)> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("checkpoints");
        std::fs::write(&path, text)?;
        read_end(&path)
    }

    /// A crash may cut an append off at any byte. The end tells what is missing, so that the rest can be appended.
    #[test]
    fn a_file_that_was_cut_off_is_completed_with_the_bytes_that_are_missing() {
        let key = SigningKey::new("log.example", &[1; 32]).unwrap();
        let [first, second] = [3, 9].map(|size| format!("{}\n", TreeHead::sign(size, [7; 32], &key)));
        let whole = format!("{first}{second}");
        for cut in first.len() - 1..whole.len() {
            if !whole.is_char_boundary(cut) {
                assert!(end_of(&whole.as_bytes()[..cut]).is_err(), "the file ends within a character");
                continue;
            }
            let (end, note) = end_of(&whole.as_bytes()[..cut]).unwrap();
            let size = end.last.as_ref().unwrap().size;
            assert_eq!(size, if cut < whole.len() - 1 { 3 } else { 9 });
            assert_eq!(TreeHead::read(&note.unwrap()).unwrap().size, size);
            let missing = if size == 3 { second.as_str() } else { "" };
            let rest = missing.strip_prefix(end.begun.as_str()).unwrap();
            let completed = format!("{}{}{rest}", &whole[..cut], if end.is_open { "\n" } else { "" });
            assert_eq!(completed, whole, "cut at {cut}");
        }
        let (empty, note) = end_of(b"").unwrap();
        assert!(empty.last.is_none() && empty.begun.is_empty() && !empty.is_open && note.is_none());
    }

    /// Only the end of a long file is read.
    #[test]
    fn the_last_checkpoint_of_a_long_file_is_found() {
        let key = SigningKey::new("log.example", &[1; 32]).unwrap();
        let notes = (1..=1_000).fold(String::new(), |notes, size| notes + &TreeHead::sign(size, [7; 32], &key) + "\n");
        assert!(notes.len() as u64 > END_BYTES);
        assert_eq!(end_of(notes.as_bytes()).unwrap().0.last.unwrap().size, 1_000);
    }
}
