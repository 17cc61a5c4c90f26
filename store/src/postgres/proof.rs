//! A row by which a transaction is told from one that gets its number after a crash.

/// A row that one transaction alone can have written. Row ids do not tell: a crash takes those back as well.
#[derive(Clone, Debug)]
pub(super) enum Proof {
    /// An event, by its hash, which covers a salt drawn for it. It is never deleted.
    Event { rid: i64, hash: Vec<u8> },
    /// A message under a lease drawn for it, which may have ended since.
    Lease { rid: i64, lease: Vec<u8> },
}
