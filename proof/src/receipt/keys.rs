//! The public keys with which a third party checks receipts.

use crate::key::VerifyingKey;

/// The public keys of a log, as its holder gave them to a third party.
///
/// A log can get another key, and a receipt from before then has a statement that the earlier key signed. An earlier key counts for
/// that signature alone, because it may have been stolen. Its thief can sign a statement, but not the tree in which an event must
/// carry the statement's hash. A key in both lists counts for everything.
#[derive(Clone, Copy, Debug)]
pub struct LogKeys<'a> {
    /// Keys that count for everything.
    pub trusted: &'a [VerifyingKey],
    /// Keys that count for the signatures of statements alone.
    pub earlier: &'a [VerifyingKey],
}

impl<'a> LogKeys<'a> {
    /// The keys that may have signed a statement.
    pub(super) fn of_statements(self) -> impl Iterator<Item = &'a VerifyingKey> {
        self.trusted.iter().chain(self.earlier)
    }
}

/// Keys that count for everything, without earlier ones.
impl<'a, T: AsRef<[VerifyingKey]> + ?Sized> From<&'a T> for LogKeys<'a> {
    fn from(keys: &'a T) -> Self {
        Self { trusted: keys.as_ref(), earlier: &[] }
    }
}
