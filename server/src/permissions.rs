//! The permissions of files on Unix. Other systems have other ones, and nothing is examined there.

use std::path::Path;

/// The permission of all users to read a file.
pub(crate) const OTHERS_READ: u32 = 0o004;
/// The permission of the group or of all users to write to a file.
pub(crate) const NOT_OWNER_WRITES: u32 = 0o022;

/// The permission bits; `None` for a file that does not exist.
pub(crate) fn mode(path: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;
    Some(std::fs::metadata(path).ok()?.permissions().mode() & 0o7777)
}

/// `"change"` or `"read"`: the more that others can do with a file of this mode.
pub(crate) fn others_can(mode: u32) -> Option<&'static str> {
    if mode & NOT_OWNER_WRITES != 0 { Some("change") } else { (mode & OTHERS_READ != 0).then_some("read") }
}
