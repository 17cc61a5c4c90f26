//! The passkeys of the person who logged in (`/passkeys`): a list, a form that adds one, and one that removes one.
//!
//! Guarantee: a stolen session adds no passkey to those of a person, and removes none. Mechanism: after the first passkey, each change is
//! signed by one that the person has; the challenge works once, for five minutes, in the session to which it was given. Failure: the page
//! says which check failed, and nothing has changed.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use chrono::{DateTime, Utc};
use domain::base::passkey::{Assertion, CREDENTIAL_ID_BYTES_MAX, Octets, PART_BYTES_MAX};
use domain::base::passkey_fault::PasskeyFault;
use domain::people::passkey::Passkey;
use domain::problem::Rejection;
use proof::passkey::ALGORITHMS;
use store::{NewPasskey, PasskeyChallenge, StoreError, Unit};

use super::Pages;
use super::language::in_languages;
use super::scripts::PASSKEY;
use super::session::Session;
use super::session::see_other;
use super::signature::{Asked, SignedFields, User, usable};
use super::view::{INSIDE_STYLESHEET as STYLESHEET, Page, Visitor, line, machine, second};
use crate::edge::admission::Class;
use crate::edge::shared::Shared;

/// The address of the page.
const PASSKEYS: &str = "/passkeys";

struct PasskeysPage {
    page: Page,
    visitor: Visitor,
    /// The domain for which passkeys are made; absent if there can be none.
    domain: Option<String>,
    rows: Vec<Row>,
    /// Why nothing was changed.
    problem: Option<String>,
    script_path: String,
}

in_languages!(PasskeysPage, "passkeys.html");

/// A passkey in the list.
struct Row {
    id: String,
    added_at: DateTime<Utc>,
    used_at: Option<DateTime<Utc>>,
    /// Whether it was made for another domain, on which the server was before.
    is_elsewhere: bool,
}

/// The fields of the forms.
#[derive(Default)]
struct Form {
    /// The passkey that is removed.
    removed: String,
    /// Whether a passkey is to be made.
    adds: bool,
    new_authenticator_data: String,
    new_client_data_json: String,
    signature: SignedFields,
}

impl Form {
    fn field(&mut self, name: &str, text: &str) {
        match name {
            "removed" => text.clone_into(&mut self.removed),
            "adds" => self.adds = true,
            "new_authenticator_data" => text.clone_into(&mut self.new_authenticator_data),
            "new_client_data_json" => text.clone_into(&mut self.new_client_data_json),
            name => self.signature.field(name, text),
        }
    }

    /// The passkey that the browser made; `None` if a part is missing or has another form.
    fn new_passkey(&self) -> Option<NewPasskey> {
        Some(NewPasskey {
            authenticator_data: Octets::read(&self.new_authenticator_data, PART_BYTES_MAX)?,
            client_data_json: Octets::read(&self.new_client_data_json, PART_BYTES_MAX)?,
            allowed_by: self.signature.assertion(),
        })
    }

    /// The passkey that is removed, and the signature that allows it.
    fn removal(&self) -> Option<(Octets, Assertion)> {
        Some((Octets::read(&self.removed, CREDENTIAL_ID_BYTES_MAX)?, self.signature.assertion()?))
    }
}

/// The page with the person's passkeys.
async fn page(session: Session, shared: &Shared, pages: &Pages, problem: Option<String>) -> HttpResponse {
    let Ok(passkeys) = shared.store.own_passkeys(session.principal.clone()).await else { return pages.cannot_read() };
    let domain = pages.site.as_ref().map(|site| site.rp_id.clone());
    let row = |passkey: Passkey| Row {
        id: passkey.credential_id.to_string(),
        added_at: passkey.added_at,
        used_at: passkey.used_at,
        is_elsewhere: Some(&passkey.rp_id) != domain.as_ref(),
    };
    let rows = passkeys.into_iter().map(row).collect();
    let status = if problem.is_some() { StatusCode::FORBIDDEN } else { StatusCode::OK };
    let visitor = session.visitor(pages);
    let html = PasskeysPage { page: pages.plain(), visitor, domain, rows, problem, script_path: PASSKEY.path() }.render();
    pages.page_under(&pages.inside_live_policy, status, html)
}

/// Shows the passkeys of the person.
pub(super) async fn show(request: HttpRequest, shared: Data<Shared>, pages: Pages) -> HttpResponse {
    let session = match pages.entered(&request, &shared).await {
        Ok(session) => session,
        Err(response) => return response,
    };
    let Ok(_place) = shared.admission.enter(Class::Read).await else { return pages.cannot_read() };
    page(session, &shared, &pages, None).await
}

/// Gives out the challenge for a change of the passkeys.
pub(super) async fn challenge(request: HttpRequest, payload: Payload, shared: Data<Shared>, pages: Pages) -> HttpResponse {
    let (form, session) = match pages.sent(&request, payload, &shared, Form::field).await {
        Ok(sent) => sent,
        Err(refusal) => return refusal,
    };
    let Some(site) = &pages.site else {
        return pages.headers(HttpResponse::build(StatusCode::UNPROCESSABLE_ENTITY)).finish();
    };
    let Ok(_place) = shared.admission.enter(Class::Write).await else { return pages.cannot_read() };
    let name = session.principal.name.clone();
    let Ok(begun) = shared.store.challenge_passkey(session.principal).await else { return pages.cannot_read() };
    let PasskeyChallenge { challenge, person, passkeys } = begun;
    let asked = Asked::signature(&challenge, &site.rp_id, usable(&passkeys, &site.rp_id));
    let user = User { id: Octets(person.0.as_bytes().to_vec()), name };
    let asked = if form.adds { asked.and_new(user, &ALGORITHMS) } else { asked };
    asked.reply(&pages)
}

/// Adds a passkey.
pub(super) async fn add(request: HttpRequest, payload: Payload, shared: Data<Shared>, pages: Pages) -> HttpResponse {
    let (form, session) = match pages.sent(&request, payload, &shared, Form::field).await {
        Ok(sent) => sent,
        Err(refusal) => return refusal,
    };
    let Ok(_place) = shared.admission.enter(Class::Write).await else { return pages.cannot_read() };
    let new = form.new_passkey().ok_or_else(not_used);
    changed(shared.store.add_passkey(session.principal.clone(), new), session, &shared, &pages).await
}

/// Removes a passkey.
pub(super) async fn remove(request: HttpRequest, payload: Payload, shared: Data<Shared>, pages: Pages) -> HttpResponse {
    let (form, session) = match pages.sent(&request, payload, &shared, Form::field).await {
        Ok(sent) => sent,
        Err(refusal) => return refusal,
    };
    let Ok(_place) = shared.admission.enter(Class::Write).await else { return pages.cannot_read() };
    let removed = form.removal().ok_or_else(not_used);
    changed(shared.store.remove_passkey(session.principal.clone(), removed), session, &shared, &pages).await
}

/// The form came without what only a script can put into it.
fn not_used() -> Rejection {
    Rejection::PasskeyRefused { reason: PasskeyFault::NotAsked }
}

async fn changed<T>(change: Unit<'_, T>, session: Session, shared: &Shared, pages: &Pages) -> HttpResponse {
    match change.await {
        Err(StoreError::Rejected(Rejection::PasskeyRefused { reason })) => {
            page(session, shared, pages, Some(reason.words(pages.language()))).await
        }
        // Another refusal says that the passkey was removed in the meantime.
        Ok(_) | Err(StoreError::Rejected(_)) => see_other(PASSKEYS),
        Err(_) => pages.cannot_read(),
    }
}
