//! Groups of listed people, for admins: make, replace, list, remove.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::people::group::{read_group, read_name};
use domain::problem::Rejection;
use domain::wire::{GroupList, GroupView, SetGroupRequest};

use crate::edge::admission::Work;
use crate::edge::auth::Caller;
use crate::edge::body::Json;
use crate::edge::problem::{Problem, Surface};
use crate::edge::route::{Routes, delete, get, put};
use crate::edge::shared::Shared;

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.keyed(Surface::Ours, "/groups", [get(Work::List, list)]);
    routes.keyed(Surface::Ours, "/groups/{group}", [put(Work::Write, set), delete(Work::Write, remove)]);
}

/// The name in the path, as it was sent.
fn name(request: &HttpRequest) -> &str {
    request.match_info().get("group").unwrap_or_default()
}

/// Makes a group, or gives it other members in place of those that it has.
///
/// A repeat with the same members, in whatever order, changes nothing.
#[utoipa::path(put, path = "/api/v1/groups/{group}", tag = "groups", params(("group" = String, Path)),
    request_body = SetGroupRequest, responses((status = 200, body = GroupView), (status = 403),
    (status = 409, description = "`managed_by_configuration`: the server's configuration file names the group"), (status = 422)))]
pub(super) async fn set(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let group = body.into().map_err(|errors| Rejection::Invalid { errors });
    let group = group.and_then(|SetGroupRequest { members }| read_group(name(&request), &members));
    Ok(HttpResponse::Ok().json(GroupView::from(shared.store.set_group(caller.principal, group).await?)))
}

/// Lists the groups, in the order of the characters of their names.
#[utoipa::path(get, path = "/api/v1/groups", tag = "groups", responses((status = 200, body = GroupList), (status = 403)))]
pub(super) async fn list(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let groups = shared.store.groups(caller.principal).await?;
    Ok(HttpResponse::Ok().json(GroupList { groups: groups.into_iter().map(GroupView::from).collect() }))
}

/// Removes a group. Its members stay listed. The reply is the group as it was.
#[utoipa::path(delete, path = "/api/v1/groups/{group}", tag = "groups", params(("group" = String, Path)),
    responses((status = 200, body = GroupView), (status = 403), (status = 404),
    (status = 409, description = "`managed_by_configuration`: the server's configuration file names the group")))]
pub(super) async fn remove(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    // A text that cannot name a group names none.
    let name = read_name(name(&request)).map_err(|_| Rejection::NotFound);
    Ok(HttpResponse::Ok().json(GroupView::from(shared.store.remove_group(caller.principal, name).await?)))
}
