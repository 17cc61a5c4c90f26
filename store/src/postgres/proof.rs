//! A row by which a transaction differs from another one that gets the same number after a crash.

/// A row that only one transaction can have written. Row ids are no proof: a crash takes those back as well.
#[derive(Clone, Debug)]
pub(super) enum Proof {
    /// An event, known by its hash, which covers a random salt. Events are never deleted.
    Event { rid: i64, hash: Vec<u8> },
    /// A message, known by a lease that was drawn at random for it. The lease may have ended since.
    Lease { rid: i64, lease: Vec<u8> },
}
