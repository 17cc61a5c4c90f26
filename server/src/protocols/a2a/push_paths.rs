//! The paths of push configurations in the binding HTTP+JSON.

use actix_web::http::Method;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use serde_json::{Value, json};

use super::error::Error;
use super::push;
use super::reading::Operation;
use super::rest::{SURFACE, answer, body, query};
use crate::edge::admission::Work;
use crate::edge::route::{Routes, delete, get, post};
use crate::edge::shared::Shared;

pub(super) fn routes(routes: &mut Routes<'_>) {
    let all = "/a2a/tasks/{task_id}/pushNotificationConfigs";
    routes.keyed(SURFACE, all, [get(Work::Read, over_rest), post(Work::Write, over_rest)]);
    let one = "/a2a/tasks/{task_id}/pushNotificationConfigs/{config_id}";
    routes.keyed(SURFACE, one, [get(Work::Read, over_rest), delete(Work::Write, over_rest)]);
}

/// A call over HTTP+JSON.
async fn over_rest(request: HttpRequest, shared: Data<Shared>) -> HttpResponse {
    let operation = if shared.doors.push.is_some() { rest_call(&request) } else { Err(Error::no_push()) };
    answer(request, shared, operation).await
}

fn rest_call(request: &HttpRequest) -> Result<Operation, Error> {
    let path = request.match_info();
    let is_post = request.method() == Method::POST;
    let mut members = match if is_post { body(request)? } else { Value::Object(query(request)) } {
        Value::Object(members) => members,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Err(Error::wrong("body", "must be an object"));
        }
    };
    for (member, name) in [("taskId", "task_id"), ("id", "config_id")] {
        let Some(named) = path.get(name) else { continue };
        let given = members.insert(member.to_owned(), json!(named));
        if given.is_some_and(|given| given != json!(named) && given != json!("")) {
            return Err(Error::wrong(member, "must be that of the path, or be left out"));
        }
    }
    let method = match (request.method(), path.get("config_id")) {
        (&Method::POST, _) => "CreateTaskPushNotificationConfig",
        (&Method::DELETE, _) => "DeleteTaskPushNotificationConfig",
        (_, Some(_)) => "GetTaskPushNotificationConfig",
        (_, None) => "ListTaskPushNotificationConfigs",
    };
    let read = push::read(method, &Value::Object(members), false, true);
    let call = read.unwrap_or_else(|| Err(Error::no_method("there is nothing of this name")))?;
    Ok(Operation::Push(Box::new(call)))
}
