//! The work that is stopped now, and who may let it go on (`/stops`).
//!
//! Guarantee: a person resumes work by the same unit as a key does, with the same rights. Mechanism: the form sends the command of
//! `POST /api/v1/suspensions/{id}/resume` in the name of the person. Failure: the page says why, and nothing has changed.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use chrono::{DateTime, Utc};
use domain::asking::stopping;
use domain::base::ids::SuspensionId;
use domain::base::text::{defanged, visible};
use domain::people::authority::Action;
use domain::people::principal::Role;
use domain::problem::Rejection;
use domain::suspension::Kind;
use domain::suspension::stop::{Initiator, Stage};
use domain::wire::ResumeRequest;
use serde_json::Value;
use store::{Request, StoppedWork, StoreError, Target, Unreadable};

use super::Pages;
use super::inbox::typed_fields;
use super::language::in_languages;
use super::session::{Session, see_other};
use super::view::{Awaited, Effect, INSIDE_STYLESHEET as STYLESHEET, Page, Visitor, line, machine, second};
use crate::edge::admission::Class;
use crate::edge::shared::Shared;

/// The address of the page.
pub(super) const STOPS: &str = "/stops";

struct StopsPage {
    page: Page,
    visitor: Visitor,
    rows: Vec<Row>,
    /// Where this page begins; absent for the newest stops.
    before: Option<i64>,
    /// The address of the next page.
    next: Option<String>,
    /// Whether the role of the person resumes work.
    may_resume: bool,
    problem: Option<Problem>,
    /// The text that was typed before an error, and its stop.
    typed: Form,
}

in_languages!(StopsPage, "stops.html");

/// Why work stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    Paused,
    Parked,
    Ending,
}

impl Held {
    fn of(kind: Kind) -> Self {
        match kind {
            Kind::Parked => Self::Parked,
            Kind::Stopping => Self::Ending,
            Kind::Paused | Kind::AwaitingInput | Kind::Approval | Kind::Escalation | Kind::Arbitration => Self::Paused,
        }
    }
}

/// One stop.
struct Row {
    id: String,
    title: String,
    intent_id: String,
    held: Held,
    /// Whether the agent has stopped.
    has_stopped: bool,
    at: DateTime<Utc>,
    /// The conditions of parked work; absent if it only waits to be resumed.
    awaited: Option<Awaited>,
    /// When work that is being ended ends at the latest.
    until: Option<DateTime<Utc>>,
    by: Option<String>,
    /// Whether another agent stopped it, which may resume it as well.
    is_by_agent: bool,
    reason: Option<String>,
}

impl Row {
    fn of(work: StoppedWork) -> Self {
        let StoppedWork { title, record } = work;
        let (held, until) = (Held::of(record.kind), record.expires_at);
        Self {
            id: record.id.expose(),
            title: defanged(&line(&title)),
            intent_id: record.intent_id.to_string(),
            held,
            has_stopped: record.stage == Stage::Suspended,
            at: record.suspended_at,
            awaited: Awaited::of(record.conditions.as_ref(), until).filter(|_| held == Held::Parked),
            until: until.filter(|_| held == Held::Ending),
            by: record.initiated_by.map(|by| line(&by)),
            is_by_agent: record.initiator == Some(Initiator::Parent),
            // Words of agents, as on every other page: nothing in them is hidden, or turns the words around it about.
            reason: record.reason.map(|reason| defanged(&visible(&reason))),
        }
    }

    /// Whether a person may let it go on at all.
    fn goes_on(&self) -> bool {
        self.held != Held::Ending
    }
}

/// Why the work does not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Problem {
    /// The person may not resume it.
    MayNot,
    /// It was resumed or ended before.
    IsOver,
    /// The text cannot be given to the agent.
    Input,
}

/// The fields of the form.
#[derive(Clone, Default)]
struct Form {
    id: String,
    input: String,
    /// Where the page begins that was sent.
    before: Option<i64>,
}

impl Form {
    fn field(&mut self, name: &str, text: &str) {
        match name {
            "id" => text.clone_into(&mut self.id),
            "input" => text.trim().clone_into(&mut self.input),
            "before" => self.before = text.parse().ok(),
            _ => {}
        }
    }
}

/// The address of the page that begins there.
fn address(before: Option<i64>) -> String {
    before.map_or_else(|| STOPS.to_owned(), |row| format!("{STOPS}?before={row}"))
}

/// Shows the work that is stopped.
pub(super) async fn show(request: HttpRequest, shared: Data<Shared>, pages: Pages) -> HttpResponse {
    let session = match pages.entered(&request, &shared).await {
        Ok(session) => session,
        Err(response) => return response,
    };
    let before =
        typed_fields(request.query_string()).find(|(name, ..)| name == "before").and_then(|(_, row, _)| row.parse().ok());
    let Ok(_place) = shared.admission.enter(Class::Read).await else { return pages.cannot_read() };
    page(&session, &shared, &pages, before, None).await
}

/// The page; `refused` is what was sent before an error, with the error.
async fn page(
    session: &Session,
    shared: &Shared,
    pages: &Pages,
    before: Option<i64>,
    refused: Option<(Form, Problem)>,
) -> HttpResponse {
    let read = shared.store.stopped_work(session.principal.clone(), before).await;
    let Ok((stopped, next)) = read else { return pages.cannot_read() };
    let (typed, problem) = refused.map_or_else(Default::default, |(typed, problem)| (typed, Some(problem)));
    let status = match problem {
        None => StatusCode::OK,
        Some(Problem::MayNot) => StatusCode::FORBIDDEN,
        Some(Problem::IsOver) => StatusCode::CONFLICT,
        Some(Problem::Input) => StatusCode::UNPROCESSABLE_ENTITY,
    };
    let html = StopsPage {
        page: pages.plain(),
        visitor: session.visitor(pages),
        rows: stopped.into_iter().map(Row::of).collect(),
        before,
        next: next.map(|row| address(Some(row))),
        may_resume: matches!(session.principal.role, Role::Operator | Role::Admin),
        problem,
        typed,
    }
    .render();
    pages.page_under(&pages.inside_policy, status, html)
}

/// Lets work go on.
pub(super) async fn resume(request: HttpRequest, payload: Payload, shared: Data<Shared>, pages: Pages) -> HttpResponse {
    let (form, session) = match pages.sent(&request, payload, &shared, Form::field).await {
        Ok(sent) => sent,
        Err(refusal) => return refusal,
    };
    let Ok(_place) = shared.admission.enter(Class::Write).await else { return pages.cannot_read() };
    let Some(id) = SuspensionId::parse(&form.id) else {
        return page(&session, &shared, &pages, form.before, Some((form, Problem::IsOver))).await;
    };
    let input = Some(&form.input).filter(|input| !input.is_empty()).map(|input| Value::from(input.as_str()));
    let command = stopping::resuming(id, ResumeRequest { input, ..ResumeRequest::default() }, shared.clock.now());
    let request = Request::plain(
        session.principal.clone(),
        Target::Suspension(id),
        command.map_err(|errors| Unreadable { action: Action::Resume, errors }),
    );
    let problem = match shared.store.execute(request).await {
        Ok(_) => return see_other(&address(form.before)),
        Err(StoreError::Rejected(Rejection::Forbidden { .. })) => Problem::MayNot,
        Err(StoreError::Rejected(Rejection::Invalid { .. })) => Problem::Input,
        Err(StoreError::Rejected(_)) => Problem::IsOver,
        Err(_) => return pages.cannot_read(),
    };
    page(&session, &shared, &pages, form.before, Some((form, problem))).await
}
