//! The part of the store for the audit pages.

use domain::base::ids::{IntentId, SuspensionId};
use domain::people::principal::Principal;
use futures_util::FutureExt;

use crate::audit::{self, AuditFilter, Found, Record};
use crate::backend::Backend;
use crate::error::{Unit, Wanted};
use crate::overview::{self, Overview, OverviewFilter};
use crate::units;

/// What auditors read.
pub trait Audits {
    /// Notes that the link of a recipient opened the page of a question; only the first time is kept.
    fn note_view(&self, id: SuspensionId, recipient: String) -> Unit<'_, ()>;
    /// Searches the questions, newest first. It looks at a bounded number of them, and says where a search goes on.
    fn search(&self, principal: Principal, filter: Wanted<AuditFilter>) -> Unit<'_, Found>;
    /// Reads the newest questions for their numbers.
    fn overview(&self, principal: Principal, filter: Wanted<OverviewFilter>) -> Unit<'_, Overview>;
    /// Reads the record of an intent, and verifies it. `None` if its log is too long to be read at once.
    fn record(&self, principal: Principal, id: IntentId) -> Unit<'_, Option<Record>>;
}

impl<B: Backend> Audits for B {
    fn note_view(&self, id: SuspensionId, recipient: String) -> Unit<'_, ()> {
        let named = recipient.clone();
        let is_new = self.read("is_new_view", move |rows| units::views::is_new(rows, id, &named));
        async move {
            // A page is opened many times, and noted once.
            if is_new.await? {
                self.write("note_view", move |rows, env| units::views::note(rows, env, id, &recipient)).await?;
            }
            Ok(())
        }
        .boxed()
    }

    fn search(&self, principal: Principal, filter: Wanted<AuditFilter>) -> Unit<'_, Found> {
        self.authorized("search", move |rows| audit::search(rows, &principal, filter))
    }

    fn overview(&self, principal: Principal, filter: Wanted<OverviewFilter>) -> Unit<'_, Overview> {
        self.authorized("overview", move |rows| overview::overview(rows, &principal, filter))
    }

    fn record(&self, principal: Principal, id: IntentId) -> Unit<'_, Option<Record>> {
        let now = self.clock().now();
        self.authorized("record", move |rows| audit::record(rows, &principal, id, now))
    }
}
