//! The folders of the tests' servers.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// The file system in memory that Linux offers to every program.
const IN_MEMORY: &str = "/dev/shm";
/// The room that it must have, in bytes. Containers often give it 64 MiB, which is too little for a PostgreSQL.
const ROOM_MIN: u64 = 4 * 1024 * 1024 * 1024;

/// A new folder that disappears with its handle, in memory if there is room.
///
/// A run of all tests makes and deletes hundreds of thousands of files. On a disk that takes as long as the tests themselves. No test
/// that uses this folder depends on a disk: processes that are killed leave their files in memory as well.
pub fn quick(prefix: &str) -> TempDir {
    let parent = roomy(Path::new(IN_MEMORY)).unwrap_or_else(std::env::temp_dir);
    TempDir::with_prefix_in(prefix, parent).expect("failed to make a folder")
}

fn roomy(folder: &Path) -> Option<PathBuf> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    let is_writable = rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok();
    (is_writable && disk.f_bavail.saturating_mul(disk.f_frsize) >= ROOM_MIN).then(|| folder.to_owned())
}
