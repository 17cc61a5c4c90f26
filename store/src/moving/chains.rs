//! Recomputes every intent's chain of events from the bytes that are read back from the target, the database that is being
//! filled.

use anyhow::{Context, bail};
use domain::log::{Follower, Hash, Sealed};

/// One event of an intent's log in the target, and the end of that log as the row of the intent records it. If the log is empty,
/// there is no event.
pub(super) struct Link {
    pub(super) intent: i64,
    pub(super) head: Head,
    pub(super) event: Option<(i64, Sealed)>,
}

/// The end of a log, according to its intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) event: i64,
    pub(super) sequence: u64,
    pub(super) hash: Hash,
}

/// The chain that is being recomputed, and how many chains before it were whole.
#[derive(Default)]
pub(super) struct Chains {
    open: Option<Open>,
    whole: u64,
}

struct Open {
    intent: i64,
    head: Head,
    followed: Follower,
    last: Option<i64>,
}

impl Chains {
    /// Takes the next event. The caller must give the events of one intent one after the other, oldest first.
    ///
    /// # Errors
    ///
    /// A chain that breaks, or does not end where its intent says.
    pub(super) fn follow(&mut self, link: &Link) -> anyhow::Result<()> {
        if self.open.as_ref().is_none_or(|open| open.intent != link.intent) {
            self.close()?;
            self.open = Some(Open { intent: link.intent, head: link.head, followed: Follower::default(), last: None });
        }
        let (Some(open), Some((rid, sealed))) = (&mut self.open, &link.event) else { return Ok(()) };
        open.followed.follow(sealed).with_context(|| format!("the log of intent {} is broken", open.intent))?;
        open.last = Some(*rid);
        Ok(())
    }

    /// Ends the last chain, and returns how many chains were whole.
    pub(super) fn finish(mut self) -> anyhow::Result<u64> {
        self.close()?;
        Ok(self.whole)
    }

    fn close(&mut self) -> anyhow::Result<()> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let found = open.last.zip(open.followed.head());
        let found = found.map(|(event, hash)| Head { event, sequence: open.followed.length(), hash });
        if found != Some(open.head) {
            bail!("the log of intent {} does not end where the intent says", open.intent);
        }
        self.whole += 1;
        Ok(())
    }
}
