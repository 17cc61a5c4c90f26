//! The challenge that a passkey signs for an answer (`/a/{token}/challenge`).
//!
//! Guarantee: asking for a challenge decides nothing and keeps nothing. Mechanism: the challenge is computed from the question and from
//! the answer in the form, and computed anew when the answer comes. Failure: a question that changed in between has another challenge,
//! so the answer is refused and the page is shown again.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Path, Payload};
use actix_web::{HttpRequest, HttpResponse};
use domain::base::words::Language;
use domain::suspension::evidence::Evidence;
use serde_json::Value;
use store::{LinkView, Signer};

use super::Pages;
use super::answer::{invited, is_shown};
use super::form::Form;
use super::proposing;
use super::signature::{Asked, usable};
use super::way::Way;
use crate::edge::admission::Class;
use crate::edge::body;
use crate::edge::shared::Shared;

/// Gives the challenge for the answer in a form. A refusal has no words: the script then sends the form as it is, and the page that comes
/// back says why.
pub(super) async fn challenge(
    request: HttpRequest,
    token: Path<String>,
    payload: Payload,
    shared: Data<Shared>,
    pages: Pages,
) -> HttpResponse {
    let token = match invited(&token, &shared, &pages).await {
        Ok(token) => token,
        Err(refusal) => return refusal,
    };
    let refuse = |status: StatusCode| pages.headers(HttpResponse::build(status)).finish();
    let Ok(body) = body::read(&pages.bodies, &request, payload).await else { return refuse(StatusCode::BAD_REQUEST) };
    let form = Form::read(&body.bytes);
    let Ok(_place) = shared.admission.enter(Class::Respond).await else { return refuse(StatusCode::SERVICE_UNAVAILABLE) };
    let link = match shared.store.link(token.clone()).await {
        Ok(Some(link)) if is_shown(&link) => link,
        Ok(_) => return refuse(StatusCode::NOT_FOUND),
        Err(_) => return refuse(StatusCode::SERVICE_UNAVAILABLE),
    };
    let way = Way::by_link(token, &link, &request, &shared, &pages).await;
    challenge_for(&request, &pages, &way, &link, &form)
}

/// The challenge for the answer in a form of this way.
pub(super) fn challenge_for(request: &HttpRequest, pages: &Pages, way: &Way, link: &LinkView, form: &Form) -> HttpResponse {
    let refuse = |status: StatusCode| pages.headers(HttpResponse::build(status)).finish();
    if pages.posts.check_key(&way.tries()).is_err() {
        return refuse(StatusCode::TOO_MANY_REQUESTS);
    }
    if !pages.is_from_our_page(request.headers()) || !way.fits(form, request, pages) {
        return refuse(StatusCode::FORBIDDEN);
    }
    match asked(form, link, pages).filter(|_| form.repeated.is_empty()) {
        Some(asked) => asked.reply(pages),
        None => refuse(StatusCode::UNPROCESSABLE_ENTITY),
    }
}

/// The hashes of the answer in a form: of the action as the person has edited it.
fn evidence(form: &Form, link: &LinkView, value: &Value, language: Language) -> Option<Evidence> {
    let shown = Evidence::of(&link.suspension, &link.question)?;
    let Some(proposal) = &link.question.proposal else { return Some(shown) };
    let named = proposing::named(form, link, language).ok()?;
    shown.about(&proposal.decided(&link.suspension.counted, value, &named).ok()?)
}

fn asked(form: &Form, link: &LinkView, pages: &Pages) -> Option<Asked> {
    let (Some(Signer::Person(passkeys)), Some(site)) = (&link.signer, &pages.site) else { return None };
    let value = form.answer(link, pages.language()).ok()?;
    let evidence = evidence(form, link, &value, pages.language())?;
    let challenge = evidence.challenge(link.suspension.id, &value)?;
    let passkeys = usable(passkeys, &site.rp_id);
    (link.is_open && !passkeys.is_empty()).then(|| Asked::signature(&challenge, &site.rp_id, passkeys))
}
