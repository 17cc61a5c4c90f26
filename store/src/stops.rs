//! The part of the store for suspensions of both kinds: questions and stops.

use chrono::{DateTime, Utc};
use domain::base::ids::SuspensionId;
use domain::people::authority::Action;
use domain::people::principal::Principal;
use domain::problem::Rejection;
use domain::wire::{StopRecord, SuspensionView};

use crate::backend::Backend;
use crate::error::Unit;
use crate::host::clock_watch::ClockWatch;
use crate::reads::{may, suspension};
use crate::rows::Decided;
use crate::rows::prelude::*;
use crate::stopped::stop_of;

/// Suspensions of both kinds.
pub trait Stops {
    /// Reads a suspension: a question or a stop.
    fn either(&self, principal: Principal, id: SuspensionId) -> Unit<'_, SuspensionView>;
}

impl<B: Backend> Stops for B {
    fn either(&self, principal: Principal, id: SuspensionId) -> Unit<'_, SuspensionView> {
        let (now, watch) = (self.clock().now(), self.watch().clone());
        self.authorized("either", move |rows| either(rows, &principal, id, now, &watch))
    }
}

fn either<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    id: SuspensionId,
    now: DateTime<Utc>,
    watch: &ClockWatch,
) -> Decided<SuspensionView> {
    let Some(row) = rows.any_suspension(id)?.filter(|row| row.suspension.kind.is_stop()) else {
        return Ok(suspension(rows, principal, id, now, watch)?.map(|record| SuspensionView::Question(Box::new(record))));
    };
    let intent = rows.intent_at(row.intent)?;
    if let Err(rejection) = may(rows, principal, Action::Read, &intent, Some(row.rid), now)? {
        return Ok(Err(rejection));
    }
    let stop = stop_of(rows, &row)?;
    Ok(Ok::<_, Rejection>(SuspensionView::Stop(Box::new(StopRecord::of(&stop)))))
}
