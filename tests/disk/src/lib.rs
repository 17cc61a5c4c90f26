//! A disk for SQLite that loses its power, fills up and fails.
//!
//! [`Disk::mount`] puts one under a folder: from then on every database of this process below that folder lies on it, in memory,
//! whatever code opens it. The code under test does not know. Everything else stays on the file system.
//!
//! Guarantee: data that SQLite has synced survives a power cut; other data need not. Mechanism: a VFS (the part of SQLite that
//! reaches files), registered as SQLite's default. It keeps the contents of the page cache apart from the contents of the platter
//! (`content`), and passes all other paths on to the previous VFS. Left out: files that SQLite does not open, which lie in the
//! real folder.
#![expect(clippy::missing_panics_doc, reason = "a disk whose lock is poisoned ends its test")]

mod content;
mod disk;
mod locks;
mod sqlite;

pub use crate::disk::{Disk, FailedPages, Syncs, Weather};
pub use crate::sqlite::{open_sync, query, rewrite};
