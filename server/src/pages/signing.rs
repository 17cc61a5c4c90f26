//! The challenge that a passkey signs for an answer (`/a/{token}/challenge`), and the signature as a form carries it.
//!
//! Guarantee: asking for a challenge decides nothing and keeps nothing. Mechanism: the challenge is computed from the question and from
//! the answer in the form, and computed anew when the answer comes. Failure: a question that changed in between has another challenge,
//! so the answer is refused and the page is shown again.

use actix_web::http::StatusCode;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::web::{Data, Path, Payload};
use actix_web::{HttpRequest, HttpResponse};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::base::passkey::{Assertion, Octets};
use domain::people::passkey::Passkey;
use domain::suspension::evidence::Evidence;
use serde::Serialize;
use store::{LinkView, Signer};

use super::Pages;
use super::answer::{Form, invited, is_shown};
use crate::edge::admission::Class;
use crate::edge::body;
use crate::edge::shared::Shared;

/// The things that a browser needs to ask for a passkey.
#[derive(Serialize)]
pub(super) struct Asked {
    challenge: String,
    rp_id: String,
    /// The passkeys of which one signs.
    passkeys: Vec<Octets>,
    /// The person for whom a passkey is made; absent if none is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<User>,
    /// The algorithms that a new passkey may have.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    algorithms: &'static [i64],
}

/// The person for whom a passkey is made.
#[derive(Serialize)]
pub(super) struct User {
    pub(super) id: Octets,
    pub(super) name: String,
}

impl Asked {
    /// A signature of one of these passkeys.
    pub(super) fn signature(challenge: &[u8; 32], rp_id: &str, passkeys: Vec<Octets>) -> Self {
        let challenge = URL_SAFE_NO_PAD.encode(challenge);
        Self { challenge, rp_id: rp_id.to_owned(), passkeys, user: None, algorithms: &[] }
    }

    /// Also a new passkey.
    pub(super) fn and_new(self, user: User, algorithms: &'static [i64]) -> Self {
        Self { user: Some(user), algorithms, ..self }
    }

    pub(super) fn reply(&self, pages: &Pages) -> HttpResponse {
        pages.headers(HttpResponse::build(StatusCode::OK)).insert_header((CONTENT_TYPE, "application/json")).json(self)
    }
}

/// Reads one field of a form into the parts of a signature.
#[derive(Default)]
pub(super) struct Signature {
    credential_id: String,
    authenticator_data: String,
    client_data_json: String,
    signature: String,
}

impl Signature {
    /// Keeps a field, if it is one of a signature.
    pub(super) fn field(&mut self, name: &str, value: &str) {
        let part = match name {
            "credential_id" => &mut self.credential_id,
            "authenticator_data" => &mut self.authenticator_data,
            "client_data_json" => &mut self.client_data_json,
            "signature" => &mut self.signature,
            _ => return,
        };
        value.clone_into(part);
    }

    /// The assertion; `None` if a part is missing or has another form.
    pub(super) fn assertion(&self) -> Option<Assertion> {
        Assertion::read(&self.credential_id, &self.authenticator_data, &self.client_data_json, &self.signature)
    }
}

/// The ids of the passkeys that work on this server's domain.
pub(super) fn usable(passkeys: &[Passkey], rp_id: &str) -> Vec<Octets> {
    let here = passkeys.iter().filter(|passkey| passkey.rp_id == rp_id);
    here.map(|passkey| passkey.credential_id.clone()).collect()
}

/// Gives the challenge for the answer in a form. A refusal has no words: the script then sends the form as it is, and the page that comes
/// back says why.
pub(super) async fn challenge(
    request: HttpRequest,
    token: Path<String>,
    payload: Payload,
    shared: Data<Shared>,
    pages: Data<Pages>,
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
    if pages.posts.check_key(&token.hash()).is_err() {
        return refuse(StatusCode::TOO_MANY_REQUESTS);
    }
    let fits = pages.brought_cookie(&request).is_some_and(|cookie| pages.nonce_fits(&form.nonce, &cookie, &token));
    if !pages.is_from_our_page(request.headers()) || !fits {
        return refuse(StatusCode::FORBIDDEN);
    }
    match asked(&form, &link, &pages) {
        Some(asked) => asked.reply(&pages),
        None => refuse(StatusCode::UNPROCESSABLE_ENTITY),
    }
}

fn asked(form: &Form, link: &LinkView, pages: &Pages) -> Option<Asked> {
    let (Some(Signer::Person(passkeys)), Some(site)) = (&link.signer, &pages.site) else { return None };
    let value = form.answer(link).ok()?;
    let challenge = Evidence::of(&link.suspension, &link.question)?.challenge(link.suspension.id, &value)?;
    let passkeys = usable(passkeys, &site.rp_id);
    (link.is_open && !passkeys.is_empty()).then(|| Asked::signature(&challenge, &site.rp_id, passkeys))
}
