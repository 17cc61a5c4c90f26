//! Questions as the people see them who answer on a page: by the link of a message, or after a login.

use chrono::{DateTime, TimeDelta, Utc};
use domain::base::ids::{DeliveryId, SuspensionId};
use domain::people::authority::Action;
use domain::people::principal::{Principal, Role};
use domain::problem::Rejection;
use domain::suspension::demand::RequiredAssurance;
use domain::suspension::draft::Draft;
use domain::suspension::{Question, ResolutionReason};

use crate::assigning::{Met, counted_now, is_assigned_to, kept_out, listed, out_of_reach, signer_of};
use crate::drafts::{permitted, standing};
use crate::earlier;
use crate::host::clock_watch::ClockWatch;
use crate::link::{LinkToken, LinkView};
use crate::reads::{WAITING_COUNTED, hold, in_portfolios, is_readable, may};
use crate::rows::prelude::*;
use crate::rows::{Decided, RowsResult, SuspensionRow, UnsentRow};

/// How long a form is kept that a person sent before a login.
pub const UNSENT_LASTS: TimeDelta = TimeDelta::hours(24);
/// The largest form that is kept, in bytes: as large as an answer form may be.
pub const UNSENT_BYTES_MAX: usize = 256 * 1024;

/// From how many browsers the forms of one person are kept, beside the one of pages that were made for the person.
pub const UNSENT_BROWSERS_MAX: usize = 5;

/// How a form that is kept came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Typist {
    /// From the page that was made for the person who had logged in: the person typed it.
    Person,
    /// From the page of a link, in the browser whose cookie has this hash. Every holder of the link could have typed it.
    Browser([u8; 32]),
}

impl Typist {
    /// The key of the row in which the form is kept.
    pub(crate) fn browser(self) -> Vec<u8> {
        match self {
            Self::Person => Vec::new(),
            Self::Browser(hash) => hash.to_vec(),
        }
    }
}

/// A form that a person sent before a login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsent {
    /// The form as the browser sent it.
    pub form: Vec<u8>,
    pub kept_at: DateTime<Utc>,
    /// Whether it came from the page of a link in another browser, so that another holder of the link may have typed it.
    pub is_from_elsewhere: bool,
}

/// The question behind an answer link.
pub(crate) fn behind<R: ReadRows>(rows: &mut R, token: &LinkToken, watch: &ClockWatch) -> RowsResult<Option<LinkView>> {
    let Some(kept) = rows.token(token.row())?.filter(|kept| token.matches(&kept.hash)) else { return Ok(None) };
    // A restore makes all older links void: links in the wrong hands may be the reason why the database was restored.
    if rows.presence()?.is_some_and(|presence| kept.rid <= presence.tokens_void_to) {
        return Ok(None);
    }
    let row = rows.suspension_at(kept.suspension)?;
    let holder = Principal::link_holder(&kept.recipient, kept.delivery);
    let Some(mut view) = view(rows, row, &holder, kept.delivery, watch)? else { return Ok(None) };
    // A link has no rights of its own. The asker tied the questions together, so its rights count.
    let asker = &view.suspension.asked_by;
    let asker = Principal::agent(&asker.name, asker.owner.clone());
    earlier::read(rows, &mut view.question, |rows, earlier| is_readable(rows, &asker, earlier, watch.now()))?;
    Ok(Some(view))
}

/// A question for a person who logged in, and who may read the intent.
pub(crate) fn shown_to<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    id: SuspensionId,
    watch: &ClockWatch,
) -> Decided<LinkView> {
    // Pages show questions to people, not to keys.
    let row = if principal.session_id().is_some() { rows.suspension(id)? } else { None };
    let Some(row) = row else { return Ok(Err(Rejection::NotFound)) };
    let intent = rows.intent_at(row.intent)?;
    if let Err(rejection) = may(rows, principal, Action::Read, &intent, Some(row.rid), watch.now())? {
        return Ok(Err(rejection));
    }
    let Some(mut view) = view(rows, row, principal, None, watch)? else { return Ok(Err(Rejection::NotFound)) };
    earlier::read(rows, &mut view.question, |rows, earlier| is_readable(rows, principal, earlier, watch.now()))?;
    // An auditor reads, and answers nothing.
    view.may_answer &= principal.role != Role::Auditor;
    Ok(Ok(view))
}

/// The form that a person who logged in sent before; `None` if the question is not open any more.
pub(crate) fn unsent<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    id: SuspensionId,
    browser: Typist,
    now: DateTime<Utc>,
) -> Decided<Option<Unsent>> {
    let person = if principal.session_id().is_some() { rows.person_called(&principal.name)? } else { None };
    let Some(person) = person else { return Ok(Err(Rejection::NotFound)) };
    let open = rows.suspension(id)?.filter(|row| row.suspension.ending.is_none());
    let Some(row) = open else { return Ok(Ok(None)) };
    let mut kept = rows.unsent(row.rid, person.id)?;
    kept.retain(|kept| now < kept.kept_at + UNSENT_LASTS);
    // The forms that the person certainly typed come first.
    let browser = browser.browser();
    let is_from_elsewhere = |kept: &UnsentRow| !kept.browser.is_empty() && kept.browser != browser;
    kept.sort_by_key(is_from_elsewhere);
    let first = kept.into_iter().next();
    Ok(Ok(first.map(|kept| Unsent { is_from_elsewhere: is_from_elsewhere(&kept), form: kept.form, kept_at: kept.kept_at })))
}

fn view<R: ReadRows>(
    rows: &mut R,
    row: SuspensionRow,
    principal: &Principal,
    delivery: Option<DeliveryId>,
    watch: &ClockWatch,
) -> RowsResult<Option<LinkView>> {
    let recipient = principal.name.clone();
    let mut row = in_portfolios(rows, row)?;
    let question = rows.question(&row)?;
    row.suspension.counted = counted_now(rows, &mut Met::default(), &row, &question)?;
    if question.is_erased() {
        return Ok(None);
    }
    let intent_title = rows.title(row.intent)?;
    let agent = row.suspension.asked_by.name.clone();
    let undeliverable =
        row.suspension.ending.as_ref().is_some_and(|ending| ending.reason == Some(ResolutionReason::Undeliverable));
    let messages = if undeliverable { rows.deliveries(row.rid)?.len() } else { 0 };
    let (suspension, now) = (&row.suspension, watch.now());
    // Whether deadlines are held back is read after the time. If the clock has just jumped, deadlines are held back, so the
    // wrong time does not make an open question look closed.
    let is_open = suspension.ending.is_none() && (!suspension.is_expired(now) || hold(rows, watch)?.is_some());
    let waiting = if is_open { rows.held_up(row.intent, WAITING_COUNTED)? } else { 0 };
    let needs = |assurance| question.required_assurance == Some(assurance);
    let person = listed(rows, &recipient)?;
    let signer = needs(RequiredAssurance::Passkey).then(|| signer_of(rows, person.as_ref())).transpose()?;
    let named = question.assignees.iter().flat_map(|assignees| &assignees.people);
    let kept_out = kept_out(rows, &row, &question, named.chain([&recipient]).map(String::as_str))?;
    let owns_the_asker = kept_out.contains(&recipient.to_lowercase());
    let may_answer = !owns_the_asker && is_assigned_to(rows, &row.suspension.hands, &question, &recipient)?;
    // A question that one person answers is within reach of the one who reads this.
    let is_reached = may_answer && row.suspension.quorum.is_none();
    let out_of_reach = if is_reached { None } else { out_of_reach(rows, &row, &question)? };
    let drafts = if is_open { shown_drafts(rows, principal, &row, &question, now)? } else { Vec::new() };
    let response = suspension.ending.as_ref().and_then(|ending| ending.response.as_ref());
    let is_approved = question.proposal.as_ref().zip(response).is_some_and(|(proposal, value)| !proposal.is_refused_by(value));
    let is_read = is_approved || suspension.hands.answered_in_place;
    let answer = if is_read { rows.answer(&row)?.map(|(answer, _)| answer) } else { None };
    let in_place_of = answer.as_ref().and_then(|answer| answer.in_place_of.clone());
    let approved = answer.and_then(|answer| answer.proposal).filter(|_| is_approved);
    let suspension = row.suspension;
    Ok(Some(LinkView {
        is_listed: person.is_some(),
        preferences: person.map(|person| person.preferences).unwrap_or_default(),
        recipient,
        delivery,
        intent_title,
        agent,
        suspension,
        question,
        signer,
        may_answer,
        kept_out,
        owns_the_asker,
        out_of_reach,
        waiting,
        messages,
        now,
        in_place_of,
        approved,
        drafts,
        is_open,
    }))
}

/// The drafts of a question that the principal may read; none for every other principal.
fn shown_drafts<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    row: &SuspensionRow,
    question: &Question,
    now: DateTime<Utc>,
) -> RowsResult<Vec<Draft>> {
    if !row.suspension.hands.has_drafts {
        return Ok(Vec::new());
    }
    let intent = rows.intent_at(row.intent)?;
    match permitted(rows, principal, Action::ReadDrafts, (&intent, row, question), now)? {
        Ok(_) => standing(rows, row, question),
        Err(_) => Ok(Vec::new()),
    }
}

/// The warning for the asker of a question for whose answer a person must log in, if none of the people who are asked is listed.
pub(crate) fn login_warning<R: ReadRows>(rows: &mut R, question: &Question) -> RowsResult<Option<String>> {
    let Some(RequiredAssurance::Session | RequiredAssurance::RecentLogin) = question.required_assurance else { return Ok(None) };
    let attempts = question.retry_policy.as_ref().map_or(1, |policy| policy.max_attempts);
    let asked = question.recipients_during(1..=attempts);
    // Of no one at all, the sentence would say that they are not listed.
    if asked.is_empty() {
        return Ok(None);
    }
    for person in asked {
        if listed(rows, &person)?.is_some() {
            return Ok(None);
        }
    }
    let text = "none of the people who are asked is listed on this server, so none of them can log in to answer";
    Ok(Some(text.to_owned()))
}
