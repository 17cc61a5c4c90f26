//! A disk for SQLite that loses its power, fills up and fails.
//!
//! [`Disk::mount`] puts one under a folder: from then on every database of this process below that folder lies on it, in memory,
//! whoever opens it and however. Nothing in the code under test knows. Everything else stays on the file system.
//!
//! Guarantee: what SQLite has synced survives a power cut, nothing else need. Mechanism: a VFS, registered as SQLite's default, that
//! keeps what a page cache would hold apart from what has reached the platter (`content`), and hands foreign paths on to the VFS
//! there was. Left out: files other than SQLite's, whose folder stays a real one.
#![expect(clippy::missing_panics_doc, reason = "a disk whose lock is poisoned ends its test")]

mod content;
mod disk;
mod locks;
mod sqlite;

pub use crate::disk::{Disk, FailedPages, Syncs, Weather};
pub use crate::sqlite::{query, rewrite};
