//! What keeps an open page up to date: one script, and the small answer it asks for.
//!
//! Guarantee: the page is complete without either. Mechanism: the script only changes what is shown, and what it asks for says
//! whether the question is open and for how long. Failure: the page stays as it was served, and the server decides at the POST.

use std::sync::LazyLock;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use actix_web::web::{Data, Path};
use domain::base::text::deadline;
use domain::suspension::{Resolution, ResolutionReason};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::answer::opened;
use super::view::machine;
use super::{Pages, home};
use crate::http::Shared;
use crate::store::LinkView;

/// How much of a script's hash its address has: enough that no two versions share one.
const HASH_BYTES: usize = 8;

/// A script, and the name it is served under: another version has another name, so browsers may keep it for ever.
pub(super) struct Script {
    text: String,
    name: String,
}

impl Script {
    /// A script as it is served: without its margins and without the comments that stand on lines of their own.
    pub(super) fn new(name: &str, text: &str) -> Self {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
        let text: String = lines.flat_map(|line| [line, "\n"]).collect();
        let hash = Sha256::digest(&text);
        let start = hash.first_chunk::<HASH_BYTES>().map_or(0, |bytes| u64::from_be_bytes(*bytes));
        Self { text, name: format!("{name}-{start:016x}.js") }
    }

    /// Its address, for a page.
    pub(super) fn path(&self) -> String {
        format!("/assets/{}", self.name)
    }
}

/// The script of the answer page.
pub(super) static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new("answer", include_str!("assets/answer.js")));

/// The script that tells times in the reader's own zone, on every page that has some.
pub(super) static TIMES: LazyLock<Script> = LazyLock::new(|| Script::new("times", include_str!("assets/times.js")));

/// The script that unlocks the answers to a question too long to be shown at once, on the page that shows all of it.
pub(super) static UNLOCK: LazyLock<Script> = LazyLock::new(|| Script::new("unlock", include_str!("assets/unlock.js")));

/// Serves a script.
pub(super) async fn script(name: Path<String>) -> HttpResponse {
    let Some(script) = [&*SCRIPT, &*TIMES, &*UNLOCK, &*home::SCRIPT].into_iter().find(|script| script.name == *name) else {
        return HttpResponse::NotFound()
            .content_type("text/plain")
            .insert_header((CACHE_CONTROL, "no-store"))
            .body("not found\n");
    };
    HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "text/javascript; charset=utf-8"))
        .insert_header((CACHE_CONTROL, "public, max-age=31536000, immutable"))
        .insert_header(("cross-origin-resource-policy", "same-origin"))
        .body(script.text.as_str())
}

/// What a page that is being read needs to know.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct State {
    /// How the question ended; absent while it can be answered.
    ended: Option<&'static str>,
    /// Until the deadline; absent without one. A duration, because the reader's clock may be wrong.
    left_ms: Option<i64>,
    /// Absent without one; somebody may have given more time since the page was made.
    deadline: Option<Deadline>,
}

/// When the question closes, as the page shows it.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Deadline {
    /// For programs, as in the page.
    at: String,
    /// For people, as in the page.
    text: String,
    /// How long all of it is.
    window_ms: i64,
}

/// Says whether the question behind a link is still open. It counts as one opening of that link.
pub(super) async fn state(token: Path<String>, shared: Data<Shared>, pages: Data<Pages>) -> HttpResponse {
    let (_, link) = match opened(&token, &shared, &pages).await {
        Ok(found) => found,
        Err(refusal) => return refusal,
    };
    let mut response = pages.headers(HttpResponse::build(StatusCode::OK));
    response.insert_header((CONTENT_TYPE, "application/json")).json(State::of(&link))
}

impl State {
    fn of(link: &LinkView) -> Self {
        let left_ms = link.suspension.expires_at.map(|at| (at - link.now).num_milliseconds().max(0));
        let deadline = link.suspension.expires_at.map(|at| Deadline {
            at: machine(&at),
            text: deadline(at, link.now),
            window_ms: (at - link.suspension.suspended_at).num_milliseconds(),
        });
        Self { ended: (!link.is_open).then(|| ended(link)), left_ms, deadline }
    }
}

/// A deadline that has passed is an ending, also in the moment before its timer has said so.
fn ended(link: &LinkView) -> &'static str {
    let ending = link.suspension.ending.as_ref();
    match ending.map_or((Resolution::Expired, None), |ending| (ending.resolution, ending.reason)) {
        (Resolution::Responded, _) => "answered",
        (Resolution::Expired, _) => "expired",
        (Resolution::Cancelled, Some(ResolutionReason::Superseded)) => "superseded",
        (Resolution::Cancelled, Some(ResolutionReason::Undeliverable)) => "undeliverable",
        (Resolution::Cancelled, Some(ResolutionReason::Withdrawn) | None) => "withdrawn",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // What every open page may fetch besides itself (it must stay quick where the net is slow).
    #[test]
    fn the_script_is_small_and_has_an_address_of_its_own() {
        // An answer page and a mailbox have two each.
        for script in [&*SCRIPT, &*home::SCRIPT] {
            let bytes = script.text.len() + TIMES.text.len();
            assert!(bytes <= 4 * 1_024, "{bytes} bytes with {}", script.name);
        }
        assert!(UNLOCK.text.len() <= 1_024, "{} bytes more on a long question", UNLOCK.text.len());
        assert!(
            SCRIPT.path().starts_with("/assets/answer-") && SCRIPT.path().len() == "/assets/answer-.js".len() + 2 * HASH_BYTES
        );
    }
}
