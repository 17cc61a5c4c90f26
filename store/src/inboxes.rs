//! The part of the store for the inbox.

use domain::base::ids::SuspensionId;
use domain::people::principal::Principal;

use crate::backend::Backend;
use crate::dashboard::{self, Dashboard, DashboardFilter};
use crate::error::{Unit, Wanted};
use crate::inbox::{self, Inbox, InboxFilter, Tally};

/// What people look at where they work.
pub trait Inboxes {
    /// Reads one page of a list of questions, and counts the lists.
    fn inbox(&self, principal: Principal, filter: Wanted<InboxFilter>) -> Unit<'_, Inbox>;
    /// Reads which question waits next for a person besides the question `but`, and how many wait.
    fn next_question(&self, principal: Principal, but: SuspensionId) -> Unit<'_, (Option<SuspensionId>, Tally)>;
    /// Reads the newest questions of a person, or of the people in a group, for their numbers.
    fn dashboard(&self, principal: Principal, filter: Wanted<DashboardFilter>) -> Unit<'_, Dashboard>;
}

impl<B: Backend> Inboxes for B {
    fn inbox(&self, principal: Principal, filter: Wanted<InboxFilter>) -> Unit<'_, Inbox> {
        let now = self.clock().now();
        self.authorized("inbox", move |rows| inbox::inbox(rows, &principal, filter, now))
    }

    fn next_question(&self, principal: Principal, but: SuspensionId) -> Unit<'_, (Option<SuspensionId>, Tally)> {
        let now = self.clock().now();
        self.authorized("next_question", move |rows| inbox::next_question(rows, &principal, but, now))
    }

    fn dashboard(&self, principal: Principal, filter: Wanted<DashboardFilter>) -> Unit<'_, Dashboard> {
        self.authorized("dashboard", move |rows| dashboard::dashboard(rows, &principal, filter))
    }
}
