//! Tasks: the parts into which an agent divides the work of an intent (RFC-0012).

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::asking::policy::Asking;
use domain::asking::tasking;
use domain::base::field::FieldError;
use domain::base::ids::{IntentId, LeaseId, SuspensionId, TaskId};
use domain::container::task::{TaskCommand, TaskStatus, TaskStep};
use domain::intent::command::Command;
use domain::people::authority::{Action, Object, authorize};
use domain::problem::Rejection;
use domain::wire::{
    ClaimTaskRequest, CompleteTaskRequest, CreateTaskRequest, DelegateTaskRequest, EscalateTaskRequest, FailTaskRequest,
    ReportProgressRequest, SuspensionRecord, TaskView, UpdateTaskRequest,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use store::{Outcome, Target, TaskFilter};

use super::records::unreadable;
use crate::edge::admission::Work;
use crate::edge::auth::Caller;
use crate::edge::body::Json;
use crate::edge::problem::{Detail, Failure, Surface};
use crate::edge::query::{OFFSET_MAX, Query};
use crate::edge::route::{Routes, get, intent_id, patch, post};
use crate::edge::shared::Shared;
use crate::edge::write::{Write, respond};

/// The most tasks on one page; a page has this many unless the request asks for fewer.
pub(super) const TASKS_PAGE_MAX: u32 = 100;

pub(super) fn routes(routes: &mut Routes<'_>) {
    let surface = Surface::OpenIntent;
    routes.keyed(surface, "/tasks", [post(Work::Write, create)]);
    routes.keyed(surface, "/tasks/{task_id}", [get(Work::Read, show), patch(Work::Write, update)]);
    routes.keyed(surface, "/tasks/{task_id}/claim", [post(Work::Write, claim)]);
    routes.keyed(surface, "/tasks/{task_id}/complete", [post(Work::Write, complete)]);
    routes.keyed(surface, "/tasks/{task_id}/fail", [post(Work::Write, fail)]);
    routes.keyed(surface, "/tasks/{task_id}/progress", [post(Work::Write, progress)]);
    routes.keyed(surface, "/tasks/{task_id}/delegate", [post(Work::Write, delegate)]);
    routes.keyed(surface, "/tasks/{task_id}/escalate", [post(Work::Write, escalate)]);
}

pub(super) fn intent_routes(routes: &mut Routes<'_>) {
    routes.keyed(Surface::OpenIntent, "/intents/{intent_id}/tasks", [get(Work::List, list)]);
}

/// The task in the path; a text that is no UUID is refused as not found.
fn task_id(request: &HttpRequest) -> Result<TaskId, Rejection> {
    request.match_info().get("task_id").and_then(|text| text.parse().ok()).ok_or(Rejection::NotFound)
}

/// The intent that the body names, and the body. The intent is needed before the body is read as a whole. An id that is no UUID is treated
/// like the id of an intent that does not exist.
pub(super) fn named_intent(request: &HttpRequest) -> Result<(Target, Json), Failure> {
    let body = Json::of(request)?;
    let Some(named) = body.0.get("intent_id").and_then(Value::as_str) else {
        authorize(&Caller::of(request)?.principal, Action::WorkOnTask, Object::Server)?;
        return Err(Rejection::invalid("intent_id", "required", "must name the intent whose work it is").into());
    };
    let target = Target::Intent(named.parse().unwrap_or(IntentId(uuid::Uuid::nil())));
    Ok((target, body))
}

/// A write about a task.
struct TaskWrite {
    target: Target,
    id: TaskId,
    scope: &'static str,
    if_match_required: bool,
}

impl TaskWrite {
    /// A write to the task in the path.
    fn to(request: &HttpRequest, scope: &'static str) -> Result<Self, Rejection> {
        let id = task_id(request)?;
        Ok(Self { target: Target::Task(id), id, scope, if_match_required: false })
    }

    async fn send<T: DeserializeOwned>(
        self,
        request: &HttpRequest,
        shared: &Shared,
        body: Json,
        step: impl FnOnce(T) -> Result<TaskStep, Vec<FieldError>>,
    ) -> Result<HttpResponse, Detail> {
        let caller = Caller::of(request)?;
        let (agent_id, lease_id) = (caller.agent_id(request), LeaseId(shared.entropy.uuid(shared.clock.now())));
        let Self { target, id, scope, if_match_required } = self;
        let write = Write { action: Action::WorkOnTask, scope, if_match_required };
        let command = |body| Ok(Command::Task(Box::new(TaskCommand { id, agent_id, lease_id, step: step(body)? })));
        Ok(respond(write.send_to(target, request, caller, shared, body, command).await?))
    }
}

/// Creates a task of an intent: `ready`, or `pending` while it waits for others.
#[utoipa::path(post, path = "/api/v1/tasks", tag = "tasks", request_body = CreateTaskRequest,
    params(("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = TaskView), (status = 403), (status = 404, description = "`not_found`: the intent"),
    (status = 409, description = "`intent_ended`"), (status = 422)))]
pub(super) async fn create(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let id = TaskId(shared.entropy.uuid(shared.clock.now()));
    let (target, body) = named_intent(&request)?;
    let write = TaskWrite { target, id, scope: "POST /tasks", if_match_required: false };
    write.send(&request, &shared, body, tasking::new_task).await
}

/// Reads a task.
#[utoipa::path(get, path = "/api/v1/tasks/{task_id}", tag = "tasks", params(("task_id" = String, Path)),
    responses((status = 200, body = TaskView), (status = 404)))]
pub(super) async fn show(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let task = shared.store.task(caller.principal, task_id(&request)?).await?;
    Ok(HttpResponse::Ok().insert_header(("etag", format!("\"{}\"", task.version))).json(task))
}

/// Lists the tasks of an intent, oldest first.
#[utoipa::path(get, path = "/api/v1/intents/{intent_id}/tasks", tag = "tasks", params(("intent_id" = String, Path),
    ("status" = Option<TaskStatus>, Query), ("limit" = Option<u32>, Query), ("offset" = Option<u32>, Query)),
    responses((status = 200, body = Vec<TaskView>), (status = 403), (status = 404), (status = 422)))]
pub(super) async fn list(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let mut query = Query::new(request.query_string());
    let filter = TaskFilter {
        status: query.parsed("status", "the status of a task", |text| serde_json::from_value(json!(text)).ok()),
        limit: query.number("limit", 1..=TASKS_PAGE_MAX, TASKS_PAGE_MAX),
        offset: query.number("offset", 0..=OFFSET_MAX, 0),
    };
    let filter = query.wanted(false, filter);
    Ok(HttpResponse::Ok().json(shared.store.tasks(caller.principal, intent_id(&request)?, filter).await?))
}

/// Changes the status of a task: `ready` to `claimed` or `running`, `claimed` to `running`, `running` to `completed`, `failed` or
/// `blocked`, `blocked` to `running`, `failed` to `ready`, `pending` to `skipped`, and any that is not finished to `cancelled`.
#[utoipa::path(patch, path = "/api/v1/tasks/{task_id}", tag = "tasks", request_body = UpdateTaskRequest,
    params(("task_id" = String, Path), ("If-Match" = String, Header), ("X-Agent-ID" = Option<String>, Header),
    ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = TaskView), (status = 403), (status = 404),
    (status = 409, description = "`version_conflict`, `invalid_transition`, `lease_conflict`, `intent_suspended`, `intent_blocked`, `intent_ended`, `plan_not_active`"),
    (status = 422, description = "`invalid`, `io_inputs`, `io_upstream_suspended`"),
    (status = 428, description = "`precondition_required`: `If-Match` is missing")))]
pub(super) async fn update(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let write = TaskWrite { if_match_required: true, ..TaskWrite::to(&request, "PATCH /tasks/{id}")? };
    write.send(&request, &shared, Json::of(&request)?, tasking::changed).await
}

/// Claims a task that is ready: the agent holds it by a lease, which each report of progress prolongs.
#[utoipa::path(post, path = "/api/v1/tasks/{task_id}/claim", tag = "tasks", request_body = ClaimTaskRequest,
    params(("task_id" = String, Path), ("X-Agent-ID" = Option<String>, Header), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = TaskView), (status = 403), (status = 404),
    (status = 409, description = "`invalid_transition`, `lease_conflict`, `intent_suspended`, `intent_blocked`, `intent_ended`, `plan_not_active`"),
    (status = 422, description = "`invalid`, `io_inputs`, `io_upstream_suspended`")))]
pub(super) async fn claim(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let write = TaskWrite::to(&request, "POST /tasks/{id}/claim")?;
    write.send(&request, &shared, Json::of(&request)?, tasking::claimed).await
}

/// Completes a task that runs.
#[utoipa::path(post, path = "/api/v1/tasks/{task_id}/complete", tag = "tasks", request_body = CompleteTaskRequest,
    params(("task_id" = String, Path), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = TaskView), (status = 403), (status = 404),
    (status = 409, description = "`invalid_transition`, `lease_conflict`"), (status = 422)))]
pub(super) async fn complete(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let write = TaskWrite::to(&request, "POST /tasks/{id}/complete")?;
    write.send(&request, &shared, Json::of(&request)?, tasking::completed).await
}

/// Ends the attempt at a task that runs: it failed.
#[utoipa::path(post, path = "/api/v1/tasks/{task_id}/fail", tag = "tasks", request_body = FailTaskRequest,
    params(("task_id" = String, Path), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = TaskView), (status = 403), (status = 404),
    (status = 409, description = "`invalid_transition`, `lease_conflict`"), (status = 422)))]
pub(super) async fn fail(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let write = TaskWrite::to(&request, "POST /tasks/{id}/fail")?;
    write.send(&request, &shared, Json::of(&request)?, tasking::failed).await
}

/// Says how far a task is, and holds it for longer.
#[utoipa::path(post, path = "/api/v1/tasks/{task_id}/progress", tag = "tasks", request_body = ReportProgressRequest,
    params(("task_id" = String, Path), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = TaskView), (status = 403), (status = 404),
    (status = 409, description = "`invalid_transition`, `lease_conflict`"), (status = 422)))]
pub(super) async fn progress(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let write = TaskWrite::to(&request, "POST /tasks/{id}/progress")?;
    write.send(&request, &shared, Json::of(&request)?, tasking::progress).await
}

/// Hands a part of the work of a task that runs on to a new task, which is the reply. The first task is blocked until the new one is
/// finished.
#[utoipa::path(post, path = "/api/v1/tasks/{task_id}/delegate", tag = "tasks", request_body = DelegateTaskRequest,
    params(("task_id" = String, Path), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = TaskView), (status = 403), (status = 404),
    (status = 409, description = "`invalid_transition`, `intent_ended`"), (status = 422)))]
pub(super) async fn delegate(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let part = TaskId(shared.entropy.uuid(shared.clock.now()));
    let write = TaskWrite::to(&request, "POST /tasks/{id}/delegate")?;
    write.send(&request, &shared, Json::of(&request)?, |body| tasking::delegated(body, part)).await
}

/// Asks people how to go on with a task that runs: suspends the intent, and blocks the task until the suspension has ended. The reply is
/// the suspension.
#[utoipa::path(post, path = "/api/v1/tasks/{task_id}/escalate", tag = "tasks", request_body = EscalateTaskRequest,
    params(("task_id" = String, Path), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = SuspensionRecord), (status = 403), (status = 404),
    (status = 409, description = "`invalid_transition`, `lease_conflict`, `intent_suspended`, `not_active`"), (status = 422)))]
pub(super) async fn escalate(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let (task, id) = (task_id(&request)?, SuspensionId(shared.entropy.uuid(shared.clock.now())));
    let write = Write { action: Action::Suspend, scope: "POST /tasks/{id}/escalate", if_match_required: false };
    let by = caller.principal.clone();
    let asking = Asking { policy: &shared.asking, by: &by };
    let ask = |body| Ok(Command::Suspend(Box::new(tasking::escalated(asking, &body, task, id)?)));
    let asked = write.send_to(Target::Task(task), &request, caller, &shared, Json::of(&request)?, ask).await?;
    // `If-Match` is about the task, so the reply names no version of the intent.
    let Outcome::Suspension { record, .. } = asked else { return Err(unreadable().into()) };
    Ok(HttpResponse::Ok().json(record))
}
