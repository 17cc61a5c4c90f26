//! The inbox of a person who logged in: the questions that wait, and those that the person answered. It answers no question.
//!
//! Guarantee: the page is complete without a script. Mechanism: each list is a GET, and the script only asks for the part with the list
//! again when the server says that it changed ([`super::arrivals`]). Failure: the page stays as it was served.

use actix_web::http::StatusCode;
use actix_web::http::header::{ETAG, EntityTag, IF_NONE_MATCH};
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::TimeDelta;
use domain::base::ids::SuspensionId;
use domain::people::principal::{Principal, Role};
use domain::suspension::Kind;
use domain::suspension::demand::Risk;
use store::inbox::{Due, Inbox, InboxFilter, List, Tally};
use store::{OpenSession, StoreError};

use super::Pages;
use super::scripts::{INBOX as SCRIPT, TIMES};
use super::view::{InboxListPage, InboxPage, Shown, TypedSearch};
use crate::config::Together;
use crate::edge::admission::{Class, Place};
use crate::edge::shared::Shared;

/// The first page after the login.
pub(super) const INBOX: &str = "/inbox";
/// The longest text of one field of the search, in characters.
pub(in crate::pages) const FIELD_CHARS_MAX: usize = 200;
/// The lists by their names in the address.
pub(in crate::pages) const LISTS: [(&str, List); 4] =
    [("mine", List::Mine), ("groups", List::Groups), ("everything", List::Everything), ("done", List::Done)];
/// The kinds of questions by their names in the search.
pub(in crate::pages) const KINDS: [(&str, Kind); 4] = [
    ("question", Kind::AwaitingInput),
    ("approval", Kind::Approval),
    ("escalation", Kind::Escalation),
    ("arbitration", Kind::Arbitration),
];
/// The conditions on the deadline by their names in the search.
pub(in crate::pages) const DUES: [(&str, Due); 4] = [
    ("hour", Due::Within(TimeDelta::hours(1))),
    ("day", Due::Within(TimeDelta::days(1))),
    ("week", Due::Within(TimeDelta::days(7))),
    ("never", Due::Never),
];

/// The risks by their names in the search.
pub(in crate::pages) const RISKS: [(&str, Risk); 4] =
    [("low", Risk::Low), ("medium", Risk::Medium), ("high", Risk::High), ("critical", Risk::Critical)];

/// Why a search cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pages) enum Problem {
    /// A field is longer than a search may be.
    TooLong,
    /// A list, kind, deadline, risk or place that does not exist.
    NoSuchChoice,
}

/// The fields of a search as they were typed: the name, the text, which is cut at its bound, and whether that is all of it.
pub(super) fn typed_fields(query: &str) -> impl Iterator<Item = (String, String, bool)> {
    url::form_urlencoded::parse(query.as_bytes()).map(|(name, value)| {
        let value = value.trim();
        let is_whole = value.chars().count() <= FIELD_CHARS_MAX;
        (name.into_owned(), value.chars().take(FIELD_CHARS_MAX).collect(), is_whole)
    })
}

impl TypedSearch {
    /// Reads the fields as they were typed. A field that is too long is cut, and the search is not made.
    pub(super) fn read(query: &str) -> Self {
        let mut typed = Self::default();
        for (name, value, is_whole) in typed_fields(query) {
            typed.is_too_long |= !is_whole;
            match name.as_str() {
                "list" => typed.list = value,
                "words" => typed.words = value,
                "agent" => typed.agent = value,
                "kind" => typed.kind = value,
                "due" => typed.due = value,
                "risk" => typed.risk = value,
                "after" => typed.after = value,
                _ => {}
            }
        }
        typed
    }

    /// The search, and what is wrong with it.
    pub(super) fn filter(&self) -> (InboxFilter, Vec<Problem>) {
        let named = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let list = named(&self.list).map_or(Some(List::Mine), |list| one_of(&LISTS, &list));
        let kind = one_of(&KINDS, &self.kind);
        let due = one_of(&DUES, &self.due);
        let risk = one_of(&RISKS, &self.risk);
        let after = self.after.parse().ok();
        let is_unknown = list.is_none()
            || kind.is_none() && !self.kind.is_empty()
            || due.is_none() && !self.due.is_empty()
            || risk.is_none() && !self.risk.is_empty()
            || after.is_none() && !self.after.is_empty();
        let mut problems = Vec::new();
        problems.extend(self.is_too_long.then_some(Problem::TooLong));
        problems.extend((is_unknown && !self.is_too_long).then_some(Problem::NoSuchChoice));
        let filter = InboxFilter {
            list: list.unwrap_or(List::Mine),
            agent: named(&self.agent),
            kind,
            due,
            risk,
            words: self.words.split_whitespace().map(str::to_owned).collect(),
            after,
        };
        (filter, problems)
    }
}

fn one_of<T: Copy>(names: &[(&str, T)], wanted: &str) -> Option<T> {
    names.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value)
}

/// Shows a list.
pub(super) async fn show(request: HttpRequest, shared: Data<Shared>, pages: Pages) -> HttpResponse {
    let session = match pages.session(&request, &shared).await {
        Ok(session) => session,
        Err(response) => return response,
    };
    let typed = TypedSearch::read(request.query_string());
    let (filter, problems) = typed.filter();
    let found = if problems.is_empty() {
        found(&session.principal, &filter, &shared).await
    } else {
        Ok(Inbox { now: shared.clock.now(), ..Inbox::default() })
    };
    let Ok(found) = found else { return pages.cannot_read() };
    let status = if problems.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let page = InboxPage {
        page: pages.plain(),
        visitor: session.visitor(&pages),
        shown: Shown::new((&session.principal, kinds(&session.principal, &pages)), &typed, filter.list, found, pages.language()),
        typed,
        problems,
        times_path: TIMES.path(),
        script_path: SCRIPT.path(),
    };
    pages.page_under(&pages.inside_live_policy, status, page.render())
}

/// Sends the part of the page with the list, for its script, or says that the script has the newest one. This is no use of the session:
/// a page that is open, and before which no person sits, must not keep the session alive.
pub(super) async fn list(request: HttpRequest, shared: Data<Shared>, pages: Pages) -> HttpResponse {
    let principal = match looking(&request, &shared, &pages).await {
        Ok(Some(principal)) => principal,
        Ok(None) => return pages.headers(HttpResponse::Unauthorized()).finish(),
        Err(_) => return pages.cannot_read(),
    };
    let typed = TypedSearch::read(request.query_string());
    let (filter, problems) = typed.filter();
    if !problems.is_empty() {
        return pages.headers(HttpResponse::UnprocessableEntity()).finish();
    }
    let Ok(found) = found(&principal, &filter, &shared).await else { return pages.cannot_read() };
    let tag = EntityTag::new_strong(mark(&found));
    let known = request.headers().get(IF_NONE_MATCH).and_then(|known| known.to_str().ok());
    if known == Some(tag.to_string().as_str()) {
        return pages.headers(HttpResponse::NotModified()).finish();
    }
    let shown = Shown::new((&principal, kinds(&principal, &pages)), &typed, filter.list, found, pages.language());
    let mut page =
        pages.page_under(&pages.inside_policy, StatusCode::OK, InboxListPage { shown, manner: pages.manner() }.render());
    if let Ok(tag) = tag.to_string().parse() {
        page.headers_mut().insert(ETAG, tag);
    }
    page
}

/// The kinds of questions that the person may answer together.
fn kinds<'a>(principal: &Principal, pages: &'a Pages) -> &'a [Together] {
    match principal.role {
        Role::Operator | Role::Admin => &pages.inbox.together,
        Role::Agent | Role::Auditor | Role::Channel | Role::Verifier => &[],
    }
}

/// The person whose open session a script uses. The use is not noted.
pub(super) async fn looking(request: &HttpRequest, shared: &Shared, pages: &Pages) -> Result<Option<Principal>, StoreError> {
    let Some(token) = pages.brought_session(request) else { return Ok(None) };
    let found = shared.store.session(token).await?;
    Ok(found.map(|OpenSession { principal, preferences, .. }| {
        pages.speak_to(&preferences);
        principal
    }))
}

/// Reads a page of a list, in the class of people who read in order to answer.
pub(super) async fn found(principal: &Principal, filter: &InboxFilter, shared: &Shared) -> Result<Inbox, StoreError> {
    let _place = entered(shared).await?;
    shared.store.inbox(principal.clone(), Ok(filter.clone())).await
}

/// Reads which question waits next for the person besides the question `but`, and how many wait, in the same class.
pub(super) async fn next_question(
    principal: &Principal,
    but: SuspensionId,
    shared: &Shared,
) -> Result<(Option<SuspensionId>, Tally), StoreError> {
    let _place = entered(shared).await?;
    shared.store.next_question(principal.clone(), but).await
}

async fn entered(shared: &Shared) -> Result<Place, StoreError> {
    let busy = |_| StoreError::Unavailable("the server is busy".to_owned());
    shared.admission.enter(Class::Inbox).await.map_err(busy)
}

/// A mark that differs if the page of a list differs, but for the time that is left.
pub(super) fn mark(found: &Inbox) -> String {
    use sha2::{Digest, Sha256};
    let mut hash = Sha256::new();
    for (list, tally) in &found.tallies {
        hash.update(format!("{list:?} {} {}\n", tally.number, tally.has_more));
    }
    for asked in &found.questions {
        let (id, version) = (asked.suspension.id, asked.suspension.version);
        hash.update(format!("{} {version} {:?} {:?}\n", id.0, asked.approvals, asked.suspension.expires_at));
    }
    hash.update(format!("{:?}", found.next));
    let bytes = hash.finalize();
    URL_SAFE_NO_PAD.encode(&bytes[..12])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_searched_up_to_its_bound_and_not_beyond() {
        let read = |length: usize| TypedSearch::read(&format!("words={}", "x".repeat(length))).filter();
        let (filter, problems) = read(FIELD_CHARS_MAX);
        assert!(problems.is_empty() && filter.words[0].len() == FIELD_CHARS_MAX);
        assert_eq!(read(FIELD_CHARS_MAX + 1).1, [Problem::TooLong]);
    }

    #[test]
    fn an_unknown_list_kind_deadline_or_place_is_no_search() {
        let problems = |query: &str| TypedSearch::read(query).filter().1;
        for query in ["list=all", "kind=x", "due=x", "risk=x", "after=x", "after=-1", "list=mine&due=Hour"] {
            assert_eq!(problems(query), [Problem::NoSuchChoice], "{query}");
        }
        for query in ["", "list=", "list=done&kind=approval&due=never&risk=high&after=1-2&agent=a&words=b+c&other=d"] {
            assert!(problems(query).is_empty(), "{query}");
        }
    }
}
