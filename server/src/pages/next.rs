//! Where a page about a question leads beside its own form: to the login, to the inbox, and to the question that waits next.

use domain::people::principal::Role;
use store::LinkView;

use super::Pages;
use super::inbox::next_question;
use super::scripts::NEXT;
use super::view::{Leads, Next, Page};
use super::way::{Way, page_of};
use crate::edge::shared::Shared;

impl Way {
    /// The parts of every page about this question.
    pub(super) fn page(&self, pages: &Pages, link: &LinkView, next: Option<Next>) -> Page {
        let can_log_in = link.is_listed && pages.has_login();
        let leads = match self {
            Self::Session { .. } | Self::Link { session: Some(_), .. } => Leads::Inbox(next),
            Self::Link { session: None, other: None, .. } if can_log_in => Leads::Login,
            Self::Link { session: None, .. } => Leads::Nowhere,
        };
        Page { host: pages.host(), answering_as: Some(link.recipient.clone()), leads, manner: pages.manner() }
    }

    /// The question that waits next for a person who logged in and has nothing more to do here. The page is shown without it if it cannot be
    /// read.
    pub(super) async fn next(&self, link: &LinkView, shared: &Shared) -> Option<Next> {
        let principal = &self.session()?.principal;
        let mut counted = link.suspension.counted.iter().filter(|counted| counted.may_answer);
        let has_answered = counted.any(|counted| counted.person.eq_ignore_ascii_case(&link.recipient));
        let may_answer = matches!(principal.role, Role::Operator | Role::Admin);
        if !may_answer || link.is_open && !has_answered {
            return None;
        }
        match next_question(principal, link.suspension.id, shared).await {
            Ok((next, tally)) => Some(Next { href: next.map(page_of), tally, script_path: NEXT.path() }),
            Err(error) => {
                tracing::debug!(error = %error, "failed to read which question waits next");
                None
            }
        }
    }
}
