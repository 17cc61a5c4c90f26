//! SQLite's C interface: the functions between SQLite and the files of databases.
#![expect(unsafe_code, reason = "a VFS is a table of C functions")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::PathBuf;
use std::ptr;
use std::sync::{Mutex, OnceLock, PoisonError};

use libsqlite3_sys as ffi;

use crate::found::{DamagedPage, note};
use crate::page::{HEADER_BYTES, Layout, RESERVED, Verdict, bare, judge, seal};

static BEFORE: OnceLock<Before> = OnceLock::new();
/// For each table of functions of the previous VFS, the table with this module's functions for reading and writing.
static TABLES: Mutex<Vec<(Table, Table)>> = Mutex::new(Vec::new());

/// The previous VFS, which lives as long as the process, and the number of bytes that it uses for each file.
struct Before(*mut ffi::sqlite3_vfs, usize);

// SAFETY: SQLite itself uses the VFS from all threads; nothing here writes to it.
unsafe impl Send for Before {}
// SAFETY: as above.
unsafe impl Sync for Before {}

/// A table of functions, which lives as long as the process.
#[derive(Clone, Copy)]
struct Table(*const ffi::sqlite3_io_methods);

// SAFETY: nothing writes to a table.
unsafe impl Send for Table {}

/// The facts about an open database. They lie in memory that SQLite allocates for the file, behind the part of the previous VFS. So the
/// previous VFS finds its own part where it expects it.
struct State {
    methods: *const ffi::sqlite3_io_methods,
    name: *const c_char,
    layout: Option<Layout>,
}

/// From now on, each connection of this process writes a checksum into each page and compares it when it reads the page. A database that
/// keeps no room for checksums gets it when it is made or vacuumed.
///
/// # Panics
///
/// SQLite refuses a new VFS, which it does only without memory.
pub fn install() {
    BEFORE.get_or_init(register);
}

fn register() -> Before {
    // SAFETY: the name may be null, for the default; SQLite initializes itself first.
    let before = unsafe { ffi::sqlite3_vfs_find(ptr::null()) };
    assert!(!before.is_null(), "SQLite has no VFS");
    // SAFETY: it is not null, and there are no more writes to it.
    let before_it = unsafe { *before };
    let used = usize::try_from(before_it.szOsFile).unwrap_or_default().next_multiple_of(align_of::<State>());
    // All other functions are those of the previous VFS. SQLite calls them with this VFS as their argument. They use only its data, which
    // is a copy of the data of the previous VFS.
    let own = Box::new(ffi::sqlite3_vfs {
        szOsFile: c_int::try_from(used + size_of::<State>()).unwrap_or(c_int::MAX),
        pNext: ptr::null_mut(),
        zName: c"placet-checksums".as_ptr(),
        xOpen: Some(open),
        ..before_it
    });
    // SAFETY: a registered VFS is never freed.
    let registered = unsafe { ffi::sqlite3_vfs_register(Box::into_raw(own), 1) };
    assert_eq!(registered, ffi::SQLITE_OK, "SQLite takes the VFS");
    // SAFETY: the function has the form that SQLite calls.
    let extended = unsafe { ffi::sqlite3_auto_extension(Some(reserve)) };
    assert_eq!(extended, ffi::SQLITE_OK, "SQLite takes the extension");
    Before(before, used)
}

/// Asks for room at the end of each page, in a new connection. SQLite gives the room to a database that it makes or vacuums.
unsafe extern "C" fn reserve(db: *mut ffi::sqlite3, _: *mut *mut c_char, _: *const ffi::sqlite3_api_routines) -> c_int {
    let mut bytes = c_int::from(RESERVED);
    // SAFETY: SQLite passes its connection, and the operation takes the address of a number.
    unsafe { ffi::sqlite3_file_control(db, c"main".as_ptr(), ffi::SQLITE_FCNTL_RESERVE_BYTES, (&raw mut bytes).cast()) };
    ffi::SQLITE_OK
}

unsafe extern "C" fn open(
    _: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    flags_out: *mut c_int,
) -> c_int {
    // SQLite may open a file from another thread before `register` has returned.
    let Before(before, used) = BEFORE.wait();
    // SAFETY: SQLite's own arguments go on to its own function, and the file has at least the size that the function expects.
    let opened = unsafe { (**before).xOpen.map_or(ffi::SQLITE_CANTOPEN, |open| open(*before, name, file, flags, flags_out)) };
    if opened == ffi::SQLITE_OK && flags & ffi::SQLITE_OPEN_MAIN_DB != 0 {
        // SAFETY: SQLite has allocated `used` bytes and a state behind them, at the alignment of a state.
        unsafe {
            let methods = (*file).pMethods;
            file.byte_add(*used).cast::<State>().write(State { methods, name, layout: None });
            (*file).pMethods = table_for(methods);
        }
    }
    opened
}

/// The previous VFS's table with this module's functions for reading and writing, and without memory-mapped files, which are read without
/// a call.
///
/// # Safety
///
/// `methods` is a table of the previous VFS.
unsafe fn table_for(methods: *const ffi::sqlite3_io_methods) -> *const ffi::sqlite3_io_methods {
    let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, own)) = tables.iter().find(|(before, _)| before.0 == methods) {
        return own.0;
    }
    // SAFETY: the caller's promise.
    let before = unsafe { *methods };
    let own = ffi::sqlite3_io_methods { iVersion: before.iVersion.min(2), xRead: Some(read), xWrite: Some(write), ..before };
    let own: &'static _ = Box::leak(Box::new(own));
    tables.push((Table(methods), Table(own)));
    own
}

/// # Safety
///
/// `file` was opened here as a database and is not closed yet, and SQLite uses it from one thread at a time.
unsafe fn state<'a>(file: *mut ffi::sqlite3_file) -> &'a mut State {
    let used = BEFORE.get().map_or(0, |before| before.1);
    // SAFETY: the caller's promise.
    unsafe { &mut *file.byte_add(used).cast::<State>() }
}

impl State {
    /// # Safety
    ///
    /// As [`state`]; `to` has room for `length` bytes.
    unsafe fn read(&self, file: *mut ffi::sqlite3_file, to: *mut c_void, length: c_int, offset: ffi::sqlite3_int64) -> c_int {
        // SAFETY: the caller's promise; the table is that of the previous VFS.
        unsafe { (*self.methods).xRead.map_or(ffi::SQLITE_IOERR, |read| read(file, to, length, offset)) }
    }

    /// The layout of the file, which the first read or write of its header has shown.
    ///
    /// # Safety
    ///
    /// As [`state`].
    unsafe fn layout(&mut self, file: *mut ffi::sqlite3_file) -> Option<Layout> {
        if self.layout.is_none() {
            let mut header = [0_u8; HEADER_BYTES];
            // SAFETY: the buffer has that length.
            let read = unsafe { self.read(file, header.as_mut_ptr().cast(), c_int::try_from(HEADER_BYTES).unwrap_or(0), 0) };
            self.layout = (read == ffi::SQLITE_OK).then(|| Layout::of(&header)).flatten();
        }
        self.layout
    }

    /// Remembers that a page is damaged.
    ///
    /// # Safety
    ///
    /// The file is open: SQLite keeps its name until it is closed.
    unsafe fn note(&self, page: u32) -> c_int {
        let file = if self.name.is_null() {
            PathBuf::new()
        } else {
            // SAFETY: the caller's promise.
            PathBuf::from(unsafe { CStr::from_ptr(self.name) }.to_string_lossy().into_owned())
        };
        note(DamagedPage { file, page });
        ffi::SQLITE_CORRUPT
    }
}

unsafe extern "C" fn read(file: *mut ffi::sqlite3_file, to: *mut c_void, length: c_int, offset: ffi::sqlite3_int64) -> c_int {
    // SAFETY: SQLite passes an open database.
    let state = unsafe { state(file) };
    // SAFETY: SQLite's own arguments go on.
    let code = unsafe { state.read(file, to, length, offset) };
    if code != ffi::SQLITE_OK && code != ffi::SQLITE_IOERR_SHORT_READ {
        return code;
    }
    // SAFETY: SQLite passes room for `length` bytes, and the previous VFS has filled it; behind the end of the file, with zeros.
    let buffer = unsafe { std::slice::from_raw_parts_mut(to.cast::<u8>(), usize::try_from(length).unwrap_or_default()) };
    let start = u64::try_from(offset).unwrap_or_default();
    if start == 0 && buffer.len() >= HEADER_BYTES && code == ffi::SQLITE_OK {
        state.layout = Layout::of(buffer).or(state.layout);
    }
    // SAFETY: as above.
    let Some(layout) = (unsafe { state.layout(file) }) else { return code };
    let Some(page) = layout.page_at(start, buffer.len()) else { return code };
    if code == ffi::SQLITE_IOERR_SHORT_READ {
        let mut size = 0;
        // SAFETY: SQLite's own file, and a place for the size.
        let asked = unsafe { (*state.methods).xFileSize.map_or(ffi::SQLITE_IOERR, |ask| ask(file, &raw mut size)) };
        // SQLite may ask for a page behind the end. A page of which the file has only a part was cut.
        let is_cut = asked == ffi::SQLITE_OK && size > offset;
        // SAFETY: the file is open.
        return if is_cut && layout.is_reserved { unsafe { state.note(page) } } else { code };
    }
    match judge(buffer, page, layout.is_reserved) {
        // SAFETY: the file is open.
        Verdict::Damaged => unsafe { state.note(page) },
        Verdict::Whole => {
            bare(buffer);
            code
        }
        Verdict::Bare => code,
    }
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    from: *const c_void,
    length: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite passes an open database, and `length` bytes.
    let (state, data) =
        unsafe { (state(file), std::slice::from_raw_parts(from.cast::<u8>(), usize::try_from(length).unwrap_or_default())) };
    let start = u64::try_from(offset).unwrap_or_default();
    if start == 0 {
        state.layout = Layout::of(data).or(state.layout);
    }
    // SAFETY: as above.
    let layout = unsafe { state.layout(file) }.filter(|layout| layout.is_reserved);
    let sealed = layout.and_then(|layout| layout.page_at(start, data.len())).map(|page| {
        // SQLite goes on using its own copy of the page, which has no checksum.
        let mut sealed = data.to_vec();
        seal(&mut sealed, page);
        sealed
    });
    let from = sealed.as_ref().map_or(from, |sealed| sealed.as_ptr().cast());
    // SAFETY: SQLite's own arguments go on, with as many bytes.
    unsafe { (*state.methods).xWrite.map_or(ffi::SQLITE_IOERR, |write| write(file, from, length, offset)) }
}
