//! Reads the pages of a file beside SQLite, to find damage before a decision needs the page.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::found::{DamagedPage, note};
use crate::page::{HEADER_BYTES, Layout, Verdict, judge};

/// SQLite locks the page with this byte and never reads or writes that page.
const LOCK_BYTE: u64 = 1 << 30;
/// How often a page is read that seems to be damaged. SQLite may be writing it at this moment.
const READS_MAX: u32 = 4;
/// How long to wait before such a page is read again.
const AGAIN_AFTER: Duration = Duration::from_millis(20);

/// How many pages show whether a file has checksums.
const SAMPLE: u64 = 64;

/// The files that this process scans. They stay open: a process that closes a file loses the locks that SQLite has on it.
static OPEN: Mutex<Option<HashMap<PathBuf, Arc<File>>>> = Mutex::new(None);

/// Whether most pages of the file have checksums, judged by a sample of them. The file must not be in use by this process, whose locks on it
/// would be lost.
///
/// # Errors
///
/// The file cannot be read.
pub fn is_protected(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let mut header = [0; HEADER_BYTES];
    if !fill(&mut file, 0, &mut header)? {
        return Ok(false);
    }
    let Some(layout) = Layout::of(&header).filter(|layout| layout.is_reserved) else { return Ok(false) };
    let pages = file.metadata()?.len() / layout.page_bytes as u64;
    let (mut page, mut bare, mut seen) = (vec![0; layout.page_bytes], 0, 0);
    for place in (0..pages).step_by(usize::try_from(pages.div_ceil(SAMPLE).max(1)).unwrap_or(usize::MAX)) {
        if fill(&mut file, place * layout.page_bytes as u64, &mut page)? {
            let number = u32::try_from(place + 1).unwrap_or(u32::MAX);
            bare += u64::from(judge(&page, number, true) == Verdict::Bare);
            seen += 1;
        }
    }
    Ok(bare * 2 <= seen)
}

/// Fills the buffer from the offset on; false if the file ends before.
fn fill(file: &mut File, offset: u64, buffer: &mut [u8]) -> io::Result<bool> {
    file.seek(SeekFrom::Start(offset))?;
    match file.read_exact(buffer) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| true),
    }
}

/// The pages that a scan has seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// How many pages were compared with their checksums.
    pub checked: u32,
    /// How many pages have no checksum, because another program wrote them.
    pub bare: u32,
    /// The damaged pages.
    pub damaged: Vec<u32>,
    /// The next page; absent after the last.
    pub next: Option<u32>,
}

/// A file to scan.
pub struct Scan {
    path: PathBuf,
    file: Arc<File>,
}

impl Scan {
    /// Opens the file for reading. It is not closed before the process ends.
    ///
    /// # Errors
    ///
    /// The file cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let open = open.get_or_insert_default();
        let file = if let Some(file) = open.get(path) {
            file.clone()
        } else {
            let file = Arc::new(File::open(path)?);
            open.insert(path.to_owned(), file.clone());
            file
        };
        Ok(Self { path: path.to_owned(), file })
    }

    /// Compares up to `count` pages, from page `from` on, with their checksums. Damaged pages are also remembered for [`found`](crate::found).
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn pages(&self, from: u32, count: u32) -> io::Result<Seen> {
        let (mut file, mut seen, mut header) = (&*self.file, Seen::default(), [0; HEADER_BYTES]);
        let length = file.seek(SeekFrom::End(0))?;
        if !fill_shared(&self.file, 0, &mut header)? {
            return Ok(seen);
        }
        let Some(layout) = Layout::of(&header) else {
            seen.damaged.push(1);
            return Ok(seen);
        };
        let last = u32::try_from(length.div_ceil(layout.page_bytes as u64)).unwrap_or(u32::MAX);
        let (from, mut page) = (from.max(1), vec![0; layout.page_bytes]);
        let end = from.saturating_add(count).min(last.saturating_add(1));
        for number in from..end {
            let offset = u64::from(number - 1) * layout.page_bytes as u64;
            if (offset..offset + layout.page_bytes as u64).contains(&LOCK_BYTE) {
                continue;
            }
            match self.verdict(number, offset, layout, &mut page)? {
                Verdict::Whole => seen.checked += 1,
                Verdict::Bare => seen.bare += 1,
                Verdict::Damaged => {
                    seen.damaged.push(number);
                    note(DamagedPage { file: self.path.clone(), page: number });
                }
            }
        }
        seen.next = (end <= last).then_some(end);
        Ok(seen)
    }

    fn verdict(&self, number: u32, offset: u64, layout: Layout, page: &mut [u8]) -> io::Result<Verdict> {
        for _ in 1..READS_MAX {
            let is_read = fill_shared(&self.file, offset, page)?;
            let verdict = judge(page, number, layout.is_reserved);
            if is_read && verdict != Verdict::Damaged {
                return Ok(verdict);
            }
            std::thread::sleep(AGAIN_AFTER);
        }
        let is_read = fill_shared(&self.file, offset, page)?;
        Ok(if is_read { judge(page, number, layout.is_reserved) } else { Verdict::Damaged })
    }
}

/// Fills the buffer from a file that several scans may read at once.
#[cfg(unix)]
fn fill_shared(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<bool> {
    match std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| true),
    }
}

/// Fills the buffer. On other systems the file's one position is shared, so a second scan may read other bytes; those are then read again.
#[cfg(not(unix))]
fn fill_shared(mut file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<bool> {
    file.seek(SeekFrom::Start(offset))?;
    match file.read_exact(buffer) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| true),
    }
}
