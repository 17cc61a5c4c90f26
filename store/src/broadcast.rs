//! The part of the store that pauses many intents by one call.

use domain::base::ids::IntentId;
use domain::intent::status::Status;
use domain::people::authority::{Action, Object, authorize};
use domain::people::principal::Principal;
use domain::problem::Rejection;
use domain::suspension::broadcast::{Broadcast, Struck, Targets};
use futures_util::{FutureExt, StreamExt, stream};

use crate::backend::Backend;
use crate::error::{Unit, Wanted};
use crate::filter::IntentFilter;
use crate::rows::prelude::*;
use crate::rows::{Decided, RowsResult};
use crate::units;

/// How many intents one look finds.
const INTENTS_PER_LOOK: u32 = 500;
/// How many intents are paused at the same time. Answers find their place between them.
const PAUSES_AT_ONCE: usize = 8;

/// The outcome of a broadcast.
#[derive(Clone, Debug, Default)]
pub struct BroadcastOutcome {
    /// Each intent with its outcome, in the order of the ids, or the newest first.
    pub struck: Vec<(IntentId, Struck)>,
    /// The intent behind which the next call goes on; absent at the end.
    pub next: Option<IntentId>,
}

/// Many intents at once.
pub trait Broadcasts {
    /// Pauses intents, each in a transaction of its own and by the unit of work of every pause. A call that breaks off has paused some of
    /// them; a repeated one pauses the others.
    fn broadcast(&self, principal: Principal, wanted: Wanted<Broadcast>) -> Unit<'_, BroadcastOutcome>;
}

impl<B: Backend> Broadcasts for B {
    fn broadcast(&self, principal: Principal, wanted: Wanted<Broadcast>) -> Unit<'_, BroadcastOutcome> {
        async move {
            let mut heard = BroadcastOutcome::default();
            let mut place = Place { before: None, left: u32::MAX };
            loop {
                let (by, asked) = (principal.clone(), wanted.clone());
                let look = self.authorized("targets", move |rows| targets(rows, &by, asked, place)).await?;
                let Ok(broadcast) = &wanted else { return Ok(heard) };
                let pauses = stream::iter(look.found).map(|id| {
                    let (by, broadcast) = (principal.clone(), broadcast.clone());
                    let pause =
                        self.decide("broadcast", move |rows, env| units::broadcast::pause(rows, env, &by, id, &broadcast));
                    async move { (id, pause.await) }
                });
                let mut pauses = pauses.buffered(PAUSES_AT_ONCE);
                while let Some((id, struck)) = pauses.next().await {
                    heard.struck.push((id, struck?));
                }
                match look.next {
                    Next::Look(next) => place = next,
                    Next::Call => {
                        heard.next = heard.struck.last().map(|(id, _)| *id);
                        return Ok(heard);
                    }
                    Next::End => return Ok(heard),
                }
            }
        }
        .boxed()
    }
}

/// How far the looks have come.
#[derive(Clone, Copy)]
struct Place {
    /// Only intents before this row.
    before: Option<i64>,
    /// How many more may be found.
    left: u32,
}

struct Look {
    found: Vec<IntentId>,
    next: Next,
}

/// The next step after a look.
enum Next {
    Look(Place),
    /// There are more than one call finds.
    Call,
    End,
}

/// The next intents of a broadcast.
fn targets<R: ReadRows>(rows: &mut R, principal: &Principal, wanted: Wanted<Broadcast>, place: Place) -> Decided<Look> {
    if let Err(rejection) = authorize(principal, Action::Broadcast, Object::Server) {
        return Ok(Err(rejection));
    }
    let (created_by, after, limit) = match wanted.map(|broadcast| broadcast.targets) {
        Err(rejection) => return Ok(Err(rejection)),
        Ok(Targets::Ids(found)) => return Ok(Ok(Look { found, next: Next::End })),
        Ok(Targets::Running { created_by, after, limit }) => (created_by, after, limit),
    };
    let (left, before) = (
        place.left.min(limit),
        match (place.before, after) {
            (None, Some(after)) => match rows.intent(after)? {
                Some(row) => Some(row.rid),
                None => return Ok(Ok(Look { found: Vec::new(), next: Next::End })),
            },
            (before, _) => before,
        },
    );
    // One more than is paused, to know whether there are more.
    let wanted = left.min(INTENTS_PER_LOOK);
    // Both are read before the first of them is paused: afterwards the active ones are blocked.
    let mut found = Vec::new();
    for status in [Status::Active, Status::Blocked] {
        let filter = IntentFilter { limit: wanted + 1, offset: 0, status: Some(status), before };
        found.extend(rows.intents(created_by.as_deref(), filter)?.into_iter().map(|row| (row.rid, row.intent.id)));
    }
    if let Some(name) = created_by.as_deref().filter(|_| found.is_empty())
        && !is_known(rows, name)?
    {
        return Ok(Err(Rejection::invalid("filter.created_by", "unknown", "must be the name of a key of this server")));
    }
    found.sort_unstable_by_key(|(rid, _)| std::cmp::Reverse(*rid));
    let has_more = found.len() > wanted as usize;
    found.truncate(wanted as usize);
    let next = match found.last() {
        Some((rid, _)) if has_more && left > wanted => Next::Look(Place { before: Some(*rid), left: left - wanted }),
        Some(_) if has_more => Next::Call,
        Some(_) | None => Next::End,
    };
    Ok(Ok(Look { found: found.into_iter().map(|(_, id)| id).collect(), next }))
}

/// Whether a key has this name, or an intent was created under it. A misspelt name must not read as an agent that has no work to pause.
fn is_known<R: ReadRows>(rows: &mut R, name: &str) -> RowsResult<bool> {
    if rows.keys()?.iter().any(|key| key.name == name) {
        return Ok(true);
    }
    let any = IntentFilter { limit: 1, offset: 0, status: None, before: None };
    Ok(!rows.intents(Some(name), any)?.is_empty())
}
