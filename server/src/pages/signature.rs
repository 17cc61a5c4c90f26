//! The signature of a passkey: what a browser needs to ask for it, and the fields of a form that carry it.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::CONTENT_TYPE;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::base::passkey::{Assertion, Octets};
use domain::people::passkey::Passkey;
use serde::Serialize;

use super::Pages;

/// The things that a browser needs to ask for a passkey.
#[derive(Serialize)]
pub(super) struct Asked {
    challenge: String,
    rp_id: String,
    /// The passkeys of which one signs.
    passkeys: Vec<Octets>,
    /// The person who gets a passkey; absent if none is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<User>,
    /// The algorithms that a new passkey may have.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    algorithms: &'static [i64],
}

/// The person who gets a passkey.
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

/// The signature of a passkey, as a form carries it.
#[derive(Default)]
pub(super) struct SignedFields {
    credential_id: String,
    authenticator_data: String,
    client_data_json: String,
    signature: String,
}

impl SignedFields {
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
