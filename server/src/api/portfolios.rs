//! Portfolios: intents that belong together, under one name (RFC-0007).

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::asking::grouping;
use domain::base::ids::{MembershipId, PortfolioId};
use domain::intent::command::Command;
use domain::people::authority::Action;
use domain::portfolio::{MEMBERS_MAX, PORTFOLIOS_OF_INTENT_MAX};
use domain::wire::{
    AddToPortfolioRequest, CreatePortfolioRequest, MemberList, MembershipView, PortfolioEventView, PortfolioView,
    RemovedFromPortfolio, SetPortfolioStatusRequest, UpdatePortfolioRequest, WholePortfolioView,
};
use serde_json::{Value, json};
use store::{NewPortfolio, PortfolioFilter};

use crate::edge::admission::Work;
use crate::edge::auth::Caller;
use crate::edge::body::Json;
use crate::edge::problem::{Detail, Surface};
use crate::edge::query::{OFFSET_MAX, Query};
use crate::edge::route::{Routes, delete, get, intent_id, patch, portfolio_id, post};
use crate::edge::shared::Shared;
use crate::edge::write::{Write, repeatable, respond};

/// The most portfolios on one page; a page has this many unless the request asks for fewer.
pub(super) const PORTFOLIOS_PAGE_MAX: u32 = 100;
/// The largest offset from which the intents of a portfolio can be read.
pub(super) const MEMBERS_OFFSET_MAX: u32 = 1_000;

// An intent is in no more portfolios than one page holds, and the largest offset reaches every intent of a portfolio.
const _: () = assert!(PORTFOLIOS_OF_INTENT_MAX <= PORTFOLIOS_PAGE_MAX as usize && MEMBERS_MAX <= MEMBERS_OFFSET_MAX as usize);

pub(super) fn routes(routes: &mut Routes<'_>) {
    routes.keyed(Surface::OpenIntent, "/portfolios", [get(Work::List, list), post(Work::Write, create)]);
    routes.keyed(Surface::OpenIntent, "/portfolios/{portfolio_id}", [get(Work::List, show), patch(Work::Write, update)]);
    routes.keyed(Surface::OpenIntent, "/portfolios/{portfolio_id}/status", [patch(Work::Write, set_status)]);
    routes.keyed(Surface::OpenIntent, "/portfolios/{portfolio_id}/events", [get(Work::List, events)]);
    routes.keyed(Surface::OpenIntent, "/portfolios/{portfolio_id}/intents", [get(Work::List, members), post(Work::Write, add)]);
    routes.keyed(Surface::OpenIntent, "/portfolios/{portfolio_id}/intents/{intent_id}", [delete(Work::Write, remove)]);
}

pub(super) fn intent_routes(routes: &mut Routes<'_>) {
    routes.keyed(Surface::OpenIntent, "/intents/{intent_id}/portfolios", [get(Work::List, of_intent)]);
}

/// Creates a portfolio, `active` and empty. Its rules can require that all its intents are completed before the portfolio is, and set
/// a deadline for the questions of its intents; every other rule is refused.
#[utoipa::path(post, path = "/api/v1/portfolios", tag = "portfolios", request_body = CreatePortfolioRequest,
    params(("Idempotency-Key" = Option<String>, Header)), responses((status = 200, body = PortfolioView), (status = 403), (status = 422)))]
pub(super) async fn create(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let (principal, body) = (caller.principal, Json::of(&request)?);
    let id = PortfolioId(shared.entropy.uuid(shared.clock.now()));
    let new = |body: CreatePortfolioRequest| Ok(NewPortfolio { id, body: grouping::new_portfolio(body, &principal.name)? });
    let write = repeatable(&request, &principal, "POST /portfolios", body, new);
    Ok(respond(shared.store.create_portfolio(principal, write).await?))
}

/// Lists portfolios, newest first. An agent finds its own, and a person finds all.
#[utoipa::path(get, path = "/api/v1/portfolios", tag = "portfolios", params(("created_by" = Option<String>, Query),
    ("limit" = Option<u32>, Query), ("offset" = Option<u32>, Query)),
    responses((status = 200, body = Vec<PortfolioView>), (status = 403), (status = 422)))]
pub(super) async fn list(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let mut query = Query::new(request.query_string());
    let filter = PortfolioFilter {
        limit: query.number("limit", 1..=PORTFOLIOS_PAGE_MAX, PORTFOLIOS_PAGE_MAX),
        offset: query.number("offset", 0..=OFFSET_MAX, 0),
        created_by: query.parsed("created_by", "the name of a key", |text| Some(text.to_owned())),
        intent: None,
    };
    let filter = query.wanted(false, filter);
    Ok(HttpResponse::Ok().json(shared.store.portfolios(caller.principal, filter).await?))
}

/// Lists the portfolios that an intent is in, newest first, as far as the caller may read them.
#[utoipa::path(get, path = "/api/v1/intents/{intent_id}/portfolios", tag = "portfolios", params(("intent_id" = String, Path)),
    responses((status = 200, body = Vec<PortfolioView>), (status = 403), (status = 404)))]
pub(super) async fn of_intent(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let intent = Some(intent_id(&request)?);
    let filter = PortfolioFilter { limit: PORTFOLIOS_PAGE_MAX, offset: 0, created_by: None, intent };
    Ok(HttpResponse::Ok().json(shared.store.portfolios(caller.principal, Ok(filter)).await?))
}

/// Reads a portfolio with its intents, as far as the caller may read them, and with the progress of all of them.
#[utoipa::path(get, path = "/api/v1/portfolios/{portfolio_id}", tag = "portfolios", params(("portfolio_id" = String, Path)),
    responses((status = 200, body = WholePortfolioView), (status = 403), (status = 404)))]
pub(super) async fn show(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    Ok(HttpResponse::Ok().json(shared.store.portfolio(caller.principal, portfolio_id(&request)?, Ok(0)).await?))
}

/// Reads the intents of a portfolio, as far as the caller may read them, and the progress of all of them.
#[utoipa::path(get, path = "/api/v1/portfolios/{portfolio_id}/intents", tag = "portfolios",
    params(("portfolio_id" = String, Path), ("offset" = Option<u32>, Query)),
    responses((status = 200, body = MemberList), (status = 403), (status = 404), (status = 422)))]
pub(super) async fn members(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let mut query = Query::new(request.query_string());
    let offset = query.number("offset", 0..=MEMBERS_OFFSET_MAX, 0);
    let offset = query.wanted(false, offset);
    let portfolio = shared.store.portfolio(caller.principal, portfolio_id(&request)?, offset).await?;
    Ok(HttpResponse::Ok().json(portfolio.into_members()))
}

/// Reads the log of a portfolio, oldest first: its creation and its changes of status. The log of an intent says when the intent
/// was put into portfolios.
#[utoipa::path(get, path = "/api/v1/portfolios/{portfolio_id}/events", tag = "portfolios", params(("portfolio_id" = String, Path)),
    responses((status = 200, body = Vec<PortfolioEventView>), (status = 403), (status = 404)))]
pub(super) async fn events(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let events = shared.store.portfolio_events(caller.principal, portfolio_id(&request)?).await?;
    Ok(HttpResponse::Ok().content_type("application/json").body(format!("[{}]", events.join(","))))
}

/// Changes the name, the description, the data or the rules of an active portfolio. Its creator and admins may do so. A new deadline
/// counts at once, also for questions that are open. A deadline that has passed cannot be changed.
#[utoipa::path(patch, path = "/api/v1/portfolios/{portfolio_id}", tag = "portfolios", request_body = UpdatePortfolioRequest,
    params(("portfolio_id" = String, Path), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = PortfolioView), (status = 403), (status = 404),
    (status = 409, description = "`portfolio_not_active`, `portfolio_deadline_passed`"), (status = 422)))]
pub(super) async fn update(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let (principal, body, id) = (caller.principal, Json::of(&request)?, portfolio_id(&request)?);
    let write = repeatable(&request, &principal, "PATCH /portfolios/{id}", body, grouping::updated_portfolio);
    Ok(respond(shared.store.update_portfolio(principal, id, write).await?))
}

/// Changes the status of a portfolio. Its creator and admins may do so. `completed` and `abandoned` are final.
#[utoipa::path(patch, path = "/api/v1/portfolios/{portfolio_id}/status", tag = "portfolios", request_body = SetPortfolioStatusRequest,
    params(("portfolio_id" = String, Path), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = PortfolioView), (status = 403), (status = 404),
    (status = 409, description = "`invalid_transition`, `members_incomplete`"), (status = 422)))]
pub(super) async fn set_status(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let (principal, body, id) = (caller.principal, Json::of(&request)?, portfolio_id(&request)?);
    let status = |body: SetPortfolioStatusRequest| Ok(body.status);
    let write = repeatable(&request, &principal, "PATCH /portfolios/{id}/status", body, status);
    Ok(respond(shared.store.set_portfolio_status(principal, id, write).await?))
}

/// Puts an intent into a portfolio, or changes its place there. The creator of the portfolio may do so, if it may write to the intent.
#[utoipa::path(post, path = "/api/v1/portfolios/{portfolio_id}/intents", tag = "portfolios", request_body = AddToPortfolioRequest,
    params(("portfolio_id" = String, Path), ("Idempotency-Key" = Option<String>, Header)), responses(
    (status = 200, body = MembershipView), (status = 403), (status = 404, description = "`not_found`: the portfolio or the intent"),
    (status = 409, description = "`portfolio_not_active`, `portfolio_deadline_passed`"), (status = 422)))]
pub(super) async fn add(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let (principal, body, id) = (caller.principal, Json::of(&request)?, portfolio_id(&request)?);
    let place = MembershipId(shared.entropy.uuid(shared.clock.now()));
    let joining = |body: AddToPortfolioRequest| grouping::joining(place, id, &body);
    let write = repeatable(&request, &principal, "POST /portfolios/{id}/intents", body, joining);
    Ok(respond(shared.store.add_to_portfolio(principal, id, write).await?))
}

/// Takes an intent out of a portfolio. The creator of either may do so, and admins.
#[utoipa::path(delete, path = "/api/v1/portfolios/{portfolio_id}/intents/{intent_id}", tag = "portfolios",
    params(("portfolio_id" = String, Path), ("intent_id" = String, Path)),
    responses((status = 200, body = RemovedFromPortfolio), (status = 403), (status = 404),
    (status = 409, description = "`expired`: the question of the intent has just ended; `portfolio_deadline_passed`"), (status = 422)))]
pub(super) async fn remove(request: HttpRequest, shared: Data<Shared>) -> Result<HttpResponse, Detail> {
    let caller = Caller::of(&request)?;
    let id = portfolio_id(&request)?;
    let write = Write { action: Action::LeavePortfolio, scope: "DELETE /portfolios/{id}/intents/{id}", if_match_required: false };
    write.send(&request, caller, &shared, Json(json!({})), |_: Value| Ok(Command::Leave(id))).await?;
    Ok(HttpResponse::Ok().json(RemovedFromPortfolio { message: "Intent removed from portfolio".to_owned() }))
}
