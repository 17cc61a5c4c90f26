//! SQLite's C interface: all unsafe code of the project.
#![expect(unsafe_code, reason = "a VFS is a table of C functions")]

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use libsqlite3_sys as ffi;

use crate::disk::{Disk, Handle};

static DISKS: Mutex<Vec<Weak<Disk>>> = Mutex::new(Vec::new());
static BEFORE: OnceLock<Before> = OnceLock::new();

/// The previous VFS, which lives as long as the process.
struct Before(*mut ffi::sqlite3_vfs);

// SAFETY: SQLite itself uses the VFS from all threads; nothing here writes to it.
unsafe impl Send for Before {}
// SAFETY: as above.
unsafe impl Sync for Before {}

/// From now on the paths below the disk's folder are on the disk.
pub(crate) fn mount(disk: &Arc<Disk>) {
    let mut disks = DISKS.lock().unwrap();
    disks.retain(|disk| disk.strong_count() > 0);
    disks.push(Arc::downgrade(disk));
    drop(disks);
    BEFORE.get_or_init(register);
}

/// Makes this SQLite's default VFS, in front of the previous one.
fn register() -> Before {
    // SAFETY: the name may be null, for the default; SQLite initializes itself first.
    let before = unsafe { ffi::sqlite3_vfs_find(ptr::null()) };
    assert!(!before.is_null(), "SQLite has no VFS");
    // SAFETY: it is not null, and there are no more writes to it.
    let before_it = unsafe { *before };
    let own_size = c_int::try_from(size_of::<OpenFile>()).unwrap();
    // All other functions are those of the previous VFS. SQLite calls them with this VFS as their argument. They use only its
    // data, which is a copy of the data of the previous VFS.
    let own = Box::new(ffi::sqlite3_vfs {
        szOsFile: before_it.szOsFile.max(own_size),
        pNext: ptr::null_mut(),
        zName: c"placet-disk".as_ptr(),
        xOpen: Some(open),
        xDelete: Some(delete),
        xAccess: Some(access),
        ..before_it
    });
    // SAFETY: a registered VFS is never freed.
    let registered = unsafe { ffi::sqlite3_vfs_register(Box::into_raw(own), 1) };
    assert_eq!(registered, ffi::SQLITE_OK, "SQLite takes the VFS");
    Before(before)
}

/// The disk on which a path lies; null names a temporary file, which lies on none.
///
/// # Safety
///
/// `name` is null or a C string.
unsafe fn find<'a>(name: *const c_char) -> Option<(Arc<Disk>, &'a Path)> {
    if name.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    let path = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(name) }.to_bytes()));
    let disks = DISKS.lock().unwrap();
    let disk = disks.iter().filter_map(Weak::upgrade).find(|disk| disk.holds(path))?;
    Some((disk, path))
}

fn before() -> *mut ffi::sqlite3_vfs {
    BEFORE.get().map_or(ptr::null_mut(), |before| before.0)
}

/// The memory that SQLite allocates for a file and passes back with every call.
#[repr(C)]
struct OpenFile {
    base: ffi::sqlite3_file,
    handle: *mut Handle,
}

static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 2, // With shared memory, without memory-mapped files.
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};

unsafe extern "C" fn open(
    _: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    flags_out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes null or a C string.
    let Some((disk, path)) = (unsafe { find(name) }) else {
        // SAFETY: SQLite's own arguments go on to its own function, and the file is large enough for both.
        return unsafe { (*before()).xOpen.map_or(ffi::SQLITE_CANTOPEN, |open| open(before(), name, file, flags, flags_out)) };
    };
    let file = file.cast::<OpenFile>();
    match disk.open(path, flags & ffi::SQLITE_OPEN_CREATE != 0) {
        Ok(handle) => {
            // SAFETY: SQLite has allocated `szOsFile` bytes for the file, and no other code uses it.
            unsafe {
                file.write(OpenFile {
                    base: ffi::sqlite3_file { pMethods: &raw const METHODS },
                    handle: Box::into_raw(Box::new(handle)),
                });
                if !flags_out.is_null() {
                    *flags_out = flags;
                }
            }
            ffi::SQLITE_OK
        }
        Err(code) => {
            // SAFETY: as above; without methods SQLite does not close a file that was not opened.
            unsafe { (*file).base.pMethods = ptr::null() };
            code
        }
    }
}

unsafe extern "C" fn delete(_: *mut ffi::sqlite3_vfs, name: *const c_char, sync: c_int) -> c_int {
    // SAFETY: SQLite passes a C string.
    match unsafe { find(name) } {
        Some((disk, path)) => code(disk.delete(path, sync != 0)),
        // SAFETY: SQLite's own arguments go on to its own function.
        None => unsafe { (*before()).xDelete.map_or(ffi::SQLITE_IOERR, |delete| delete(before(), name, sync)) },
    }
}

unsafe extern "C" fn access(_: *mut ffi::sqlite3_vfs, name: *const c_char, flags: c_int, result: *mut c_int) -> c_int {
    // SAFETY: SQLite passes a C string.
    match unsafe { find(name) } {
        Some((disk, path)) => {
            // SAFETY: SQLite passes a place for the result.
            unsafe { *result = c_int::from(disk.exists(path)) };
            ffi::SQLITE_OK
        }
        // SAFETY: SQLite's own arguments go on to its own function.
        None => unsafe { (*before()).xAccess.map_or(ffi::SQLITE_IOERR, |access| access(before(), name, flags, result)) },
    }
}

fn code(result: Result<(), c_int>) -> c_int {
    result.err().unwrap_or(ffi::SQLITE_OK)
}

/// # Safety
///
/// `file` was opened here and is not closed yet, and SQLite uses it from one thread at a time.
unsafe fn handle<'a>(file: *mut ffi::sqlite3_file) -> &'a mut Handle {
    // SAFETY: the caller's promise.
    unsafe { &mut *(*file.cast::<OpenFile>()).handle }
}

/// An offset or a length, which SQLite never passes negative.
fn size(bytes: impl TryInto<usize>) -> usize {
    bytes.try_into().unwrap_or_default()
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: SQLite closes a file once, and the handle was boxed when it was opened.
    unsafe {
        drop(Box::from_raw((*file.cast::<OpenFile>()).handle));
        (*file).pMethods = ptr::null();
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn read(file: *mut ffi::sqlite3_file, to: *mut c_void, bytes: c_int, offset: ffi::sqlite3_int64) -> c_int {
    // SAFETY: SQLite passes an open file, and room for `bytes` bytes at `to`.
    let (handle, buffer) = unsafe { (handle(file), std::slice::from_raw_parts_mut(to.cast::<u8>(), size(bytes))) };
    match handle.read(size(offset), buffer) {
        Ok(length) if length == buffer.len() => ffi::SQLITE_OK,
        Ok(length) => {
            buffer[length..].fill(0);
            ffi::SQLITE_IOERR_SHORT_READ
        }
        Err(code) => code,
    }
}

unsafe extern "C" fn write(file: *mut ffi::sqlite3_file, from: *const c_void, bytes: c_int, offset: ffi::sqlite3_int64) -> c_int {
    // SAFETY: SQLite passes an open file, and `bytes` bytes at `from`.
    let (handle, data) = unsafe { (handle(file), std::slice::from_raw_parts(from.cast::<u8>(), size(bytes))) };
    code(handle.write(size(offset), data))
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, length: ffi::sqlite3_int64) -> c_int {
    // SAFETY: SQLite passes an open file.
    code(unsafe { handle(file) }.truncate(size(length)))
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, _: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    code(unsafe { handle(file) }.sync())
}

unsafe extern "C" fn file_size(file: *mut ffi::sqlite3_file, result: *mut ffi::sqlite3_int64) -> c_int {
    // SAFETY: SQLite passes an open file.
    match unsafe { handle(file) }.len() {
        Ok(length) => {
            // SAFETY: and a place for the result.
            unsafe { *result = i64::try_from(length).unwrap_or(i64::MAX) };
            ffi::SQLITE_OK
        }
        Err(code) => code,
    }
}

unsafe extern "C" fn lock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    code(unsafe { handle(file) }.lock(level))
}

unsafe extern "C" fn unlock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    code(unsafe { handle(file) }.unlock(level))
}

unsafe extern "C" fn check_reserved_lock(file: *mut ffi::sqlite3_file, result: *mut c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    match unsafe { handle(file) }.is_reserved() {
        Ok(reserved) => {
            // SAFETY: and a place for the result.
            unsafe { *result = c_int::from(reserved) };
            ffi::SQLITE_OK
        }
        Err(code) => code,
    }
}

unsafe extern "C" fn file_control(_: *mut ffi::sqlite3_file, _: c_int, _: *mut c_void) -> c_int {
    ffi::SQLITE_NOTFOUND
}

unsafe extern "C" fn sector_size(_: *mut ffi::sqlite3_file) -> c_int {
    4_096 // SQLite's own VFS names this size for every disk, whatever its sectors.
}

unsafe extern "C" fn device_characteristics(_: *mut ffi::sqlite3_file) -> c_int {
    ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE // As above.
}

unsafe extern "C" fn shm_map(
    file: *mut ffi::sqlite3_file,
    region: c_int,
    bytes: c_int,
    make: c_int,
    result: *mut *mut c_void,
) -> c_int {
    // SAFETY: SQLite passes an open file.
    match unsafe { handle(file) }.map(size(region), size(bytes), make != 0) {
        Ok(begins) => {
            // SAFETY: and a place for the result.
            unsafe { *result = begins.map_or(ptr::null_mut(), <*mut u8>::cast) };
            ffi::SQLITE_OK
        }
        Err(code) => code,
    }
}

unsafe extern "C" fn shm_lock(file: *mut ffi::sqlite3_file, from: c_int, count: c_int, flags: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    code(unsafe { handle(file) }.change_shared(from..from + count, flags))
}

unsafe extern "C" fn shm_barrier(_: *mut ffi::sqlite3_file) {
    fence(Ordering::SeqCst);
}

unsafe extern "C" fn shm_unmap(file: *mut ffi::sqlite3_file, _: c_int) -> c_int {
    // SAFETY: SQLite passes an open file, and does not look at the memory any more.
    unsafe { handle(file) }.unmap();
    ffi::SQLITE_OK
}

/// Writes a file of a disk over itself and syncs it, as [`std::fs`] would on the machine's own.
///
/// # Errors
///
/// SQLite's code for the failure of the disk.
pub fn rewrite(path: &Path) -> io::Result<()> {
    disk_of(path)?.rewrite(path).map_err(failed)
}

/// Opens a file of a disk without SQLite, and returns a function that syncs it. Once the process has been killed or the power has
/// been cut, each sync fails.
///
/// # Errors
///
/// SQLite's code for the failure of the disk.
pub fn open_sync(path: &Path) -> io::Result<Arc<dyn Fn() -> io::Result<()> + Send + Sync>> {
    let handle = disk_of(path)?.open(path, false).map_err(failed)?;
    Ok(Arc::new(move || handle.sync().map_err(failed)))
}

fn disk_of(path: &Path) -> io::Result<Arc<Disk>> {
    let disks = DISKS.lock().unwrap();
    Ok(disks.iter().filter_map(Weak::upgrade).find(|disk| disk.holds(path)).ok_or(ErrorKind::NotFound)?)
}

fn failed(code: c_int) -> io::Error {
    io::Error::other(format!("SQLite's code {code}"))
}

/// Asks a database directly, beside the server that uses it; returns the first column of each row.
///
/// # Errors
///
/// SQLite's message.
pub fn query(path: &Path, sql: &str) -> Result<Vec<String>, String> {
    let (name, sql) = (CString::new(path.as_os_str().as_bytes()), CString::new(sql));
    let (Ok(name), Ok(sql)) = (name, sql) else { return Err("a zero byte".to_owned()) };
    let (mut conn, mut statement, mut rows) = (ptr::null_mut(), ptr::null_mut(), Vec::new());
    // SAFETY: strings and places outlive the calls, the connection is used by this thread alone and closed at the end; SQLite takes a
    // null connection or statement, and a text is null or a C string until the next step.
    unsafe {
        let mut code = ffi::sqlite3_open_v2(name.as_ptr(), &raw mut conn, ffi::SQLITE_OPEN_READWRITE, ptr::null());
        if code == ffi::SQLITE_OK {
            ffi::sqlite3_busy_timeout(conn, 5_000);
            code = ffi::sqlite3_prepare_v2(conn, sql.as_ptr(), -1, &raw mut statement, ptr::null_mut());
        }
        if code == ffi::SQLITE_OK {
            code = ffi::sqlite3_step(statement);
        }
        while code == ffi::SQLITE_ROW {
            let text = ffi::sqlite3_column_text(statement, 0);
            if !text.is_null() {
                rows.push(CStr::from_ptr(text.cast()).to_string_lossy().into_owned());
            }
            code = ffi::sqlite3_step(statement);
        }
        let said = CStr::from_ptr(ffi::sqlite3_errmsg(conn)).to_string_lossy().into_owned();
        ffi::sqlite3_finalize(statement);
        ffi::sqlite3_close(conn);
        if code == ffi::SQLITE_DONE { Ok(rows) } else { Err(said) }
    }
}
