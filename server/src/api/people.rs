//! People who are listed, for admins: add, list, change, remove.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::base::field::FieldError;
use domain::base::ids::PersonId;
use domain::people::person::{PersonChange, check_role, read_address};
use domain::people::preferences::Preferences;
use domain::problem::Rejection;
use domain::wire::{AddPersonRequest, ChangePersonRequest, OutOfOffice, PersonList, PersonView};
use store::{Named, NewPerson};

use crate::edge::admission::Work;
use crate::edge::auth::Caller;
use crate::edge::body::Json;
use crate::edge::problem::{Problem, Surface};
use crate::edge::route::{Routes, delete, get, patch, post, put};
use crate::edge::shared::Shared;

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.keyed(Surface::Ours, "/people", [get(Work::List, list), post(Work::Write, add)]);
    routes.keyed(Surface::Ours, "/people/{person_id}", [patch(Work::Write, change), delete(Work::Write, remove)]);
    routes.keyed(Surface::Ours, "/people/{person_id}/out_of_office", [put(Work::Write, leave), delete(Work::Write, come_back)]);
}

fn invalid(errors: Vec<FieldError>) -> Rejection {
    Rejection::Invalid { errors }
}

/// The person in the path; a text that is no id of ours is refused as not found.
fn named(request: &HttpRequest) -> Result<Named, Rejection> {
    let id = request.match_info().get("person_id").and_then(|text| text.parse::<PersonId>().ok());
    id.map(Named::Id).ok_or(Rejection::NotFound)
}

/// Lists a person. From now on the address gets login links, and can be a member of groups.
#[utoipa::path(post, path = "/api/v1/people", tag = "people", request_body = AddPersonRequest,
    responses((status = 200, body = PersonView), (status = 403), (status = 422)))]
pub(super) async fn add(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let id = PersonId(shared.entropy.uuid(shared.clock.now()));
    let person = body.into().map_err(invalid).and_then(|AddPersonRequest { address, role, time_zone, locale }| {
        let (address, role) = (read_address(&address)?, check_role(role)?);
        let preferences = Preferences::read("", time_zone.as_deref(), locale.as_deref()).map_err(invalid)?;
        Ok(NewPerson { id, address, role, preferences })
    });
    Ok(HttpResponse::Ok().json(shared.store.add_person(caller.principal, person).await?))
}

/// Lists the people, in the order in which they were added.
#[utoipa::path(get, path = "/api/v1/people", tag = "people", responses((status = 200, body = PersonList), (status = 403)))]
pub(super) async fn list(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    Ok(HttpResponse::Ok().json(PersonList { people: shared.store.people(caller.principal).await? }))
}

/// Gives a person another role, which counts at once, in open sessions as well, or another time zone or locale.
#[utoipa::path(patch, path = "/api/v1/people/{person_id}", tag = "people", params(("person_id" = String, Path)),
    request_body = ChangePersonRequest,
    responses((status = 200, body = PersonView), (status = 403), (status = 404),
    (status = 409, description = "`managed_by_configuration`: the server's configuration file names the person"), (status = 422)))]
pub(super) async fn change(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let body = Json::of(&request)?;
    let change = body.into().map_err(invalid);
    let change = change.and_then(|ChangePersonRequest { role, time_zone, locale }| PersonChange::read(role, time_zone, locale));
    Ok(HttpResponse::Ok().json(shared.store.change_person(caller.principal, named(&request), change).await?))
}

/// Removes a person from the list and from all groups, with the person's passkeys, and ends the person's sessions.
///
/// The reply is the person as it was.
#[utoipa::path(delete, path = "/api/v1/people/{person_id}", tag = "people", params(("person_id" = String, Path)),
    responses((status = 200, body = PersonView), (status = 403), (status = 404),
    (status = 409, description = "`managed_by_configuration`: the server's configuration file names the person, or has a group with the person")))]
pub(super) async fn remove(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    Ok(HttpResponse::Ok().json(shared.store.remove_person(caller.principal, named(&request)).await?))
}

/// Says for which time a person is out of office, instead of what was said before. Meanwhile the deputy answers the questions that were
/// assigned to the person by name, those that wait already, too.
#[utoipa::path(put, path = "/api/v1/people/{person_id}/out_of_office", tag = "people", params(("person_id" = String, Path)),
    request_body = OutOfOffice,
    responses((status = 200, body = PersonView), (status = 403), (status = 404), (status = 422)))]
pub(super) async fn leave(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    let absence = Json::of(&request)?.into().map(Some).map_err(invalid);
    Ok(HttpResponse::Ok().json(shared.store.set_absence(caller.principal, named(&request), absence).await?))
}

/// Says that a person is back in office. Questions that have moved to a deputy stay there.
#[utoipa::path(delete, path = "/api/v1/people/{person_id}/out_of_office", tag = "people", params(("person_id" = String, Path)),
    responses((status = 200, body = PersonView), (status = 403), (status = 404)))]
pub(super) async fn come_back(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let caller = Caller::of(&request)?;
    Ok(HttpResponse::Ok().json(shared.store.set_absence(caller.principal, named(&request), Ok(None)).await?))
}
