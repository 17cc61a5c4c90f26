//! The paths of push configurations in the binding HTTP+JSON.

use actix_web::dev::Payload;
use actix_web::http::Method;
use actix_web::web::{Data, Path};
use actix_web::{FromRequest, HttpRequest, HttpResponse};
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
    let is_post = request.method() == Method::POST;
    let mut members = match if is_post { body(request)? } else { Value::Object(query(request)?) } {
        Value::Object(members) => members,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Err(Error::wrong("body", "must be an object"));
        }
    };
    let config_id = config_id(request);
    for (member, named) in [("taskId", request.match_info().get("task_id")), ("id", config_id.as_deref())] {
        let Some(named) = named else { continue };
        let given = members.insert(member.to_owned(), json!(named));
        if given.is_some_and(|given| given != json!(named) && given != json!("")) {
            return Err(Error::wrong(member, "must be that of the path, or be left out"));
        }
    }
    let method = match (request.method(), &config_id) {
        (&Method::POST, _) => "CreateTaskPushNotificationConfig",
        (&Method::DELETE, _) => "DeleteTaskPushNotificationConfig",
        (_, Some(_)) => "GetTaskPushNotificationConfig",
        (_, None) => "ListTaskPushNotificationConfigs",
    };
    let read = push::read(method, &Value::Object(members), false, true);
    let call = read.unwrap_or_else(|| Err(Error::no_method("there is nothing of this name")))?;
    Ok(Operation::Push(Box::new(call)))
}

/// The id of the configuration in the path. Routes are found with `%2F`, `%25` and `%2B` as they are written, and an id may have these letters.
fn config_id(request: &HttpRequest) -> Option<String> {
    let path = Path::<(String, String)>::from_request(request, &mut Payload::None).into_inner();
    path.ok().map(|path| path.into_inner().1)
}
