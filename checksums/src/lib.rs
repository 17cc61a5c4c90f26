//! A checksum in each page of a SQLite database (ADR 62).
//!
//! Guarantee: after [`install`], no connection of this process reads a page whose bytes have changed since they were written; the read
//! fails with SQLite's `SQLITE_CORRUPT`. Mechanism: SQLite leaves the last [`RESERVED`] bytes of each page free, and the functions
//! between SQLite and the file write a checksum there and compare it. Failure: a page that another program wrote has no checksum
//! (zeros), or a wrong one if the program changed a page that had one.

mod found;
mod page;
mod scan;
mod sqlite;

pub use self::found::{DamagedPage, REMEMBERED_MAX, found};
pub use self::page::RESERVED;
pub use self::scan::{Scan, Seen, is_protected};
pub use self::sqlite::install;
