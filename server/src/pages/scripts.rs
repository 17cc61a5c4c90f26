//! The scripts of the pages, each served under a name that holds its hash.

use std::sync::LazyLock;

use actix_web::HttpResponse;
use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use actix_web::web::Path;
use sha2::{Digest, Sha256};

/// How many bytes of a script's hash are in its address: enough that two versions have different addresses.
const HASH_BYTES: usize = 8;

/// A script, and the name under which it is served: another version has another name, so browsers may keep it for ever.
pub(super) struct Script {
    text: String,
    name: String,
}

impl Script {
    /// A script as it is served: without indentation, empty lines, and comments on lines of their own.
    fn new(name: &str, text: &str) -> Self {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
        let text: String = lines.flat_map(|line| [line, "\n"]).collect();
        let hash = Sha256::digest(&text);
        let start = hash.first_chunk::<HASH_BYTES>().map_or(0, |bytes| u64::from_be_bytes(*bytes));
        Self { text, name: format!("{name}-{start:016x}.js") }
    }

    /// The script's address, for a page.
    pub(super) fn path(&self) -> String {
        format!("/assets/{}", self.name)
    }
}

/// The script of the answer page.
pub(super) static ANSWER: LazyLock<Script> = LazyLock::new(|| Script::new("answer", include_str!("assets/answer.js")));

/// The script of the first page of development mode.
pub(super) static HOME: LazyLock<Script> = LazyLock::new(|| Script::new("home", include_str!("assets/home.js")));

/// The script of the inbox.
pub(super) static INBOX: LazyLock<Script> = LazyLock::new(|| Script::new("inbox", include_str!("assets/inbox.js")));

/// The script that opens the question that waits next by a key, on every page that leads to it.
pub(super) static NEXT: LazyLock<Script> = LazyLock::new(|| Script::new("next", include_str!("assets/next.js")));

/// The script that asks for passkeys, on the answer page and on the page of a person's passkeys.
pub(super) static PASSKEY: LazyLock<Script> = LazyLock::new(|| Script::new("passkey", include_str!("assets/passkey.js")));

/// The script that shows the edits of a proposed action, on its answer page.
pub(super) static PROPOSAL: LazyLock<Script> = LazyLock::new(|| Script::new("proposal", include_str!("assets/proposal.js")));

/// The script that shows times in the reader's own zone, on every page that has times.
pub(super) static TIMES: LazyLock<Script> = LazyLock::new(|| Script::new("times", include_str!("assets/times.js")));

/// The script that unlocks the answers to a question too long to be shown at once, on the page that shows all of it.
pub(super) static UNLOCK: LazyLock<Script> = LazyLock::new(|| Script::new("unlock", include_str!("assets/unlock.js")));

/// Serves a script.
pub(super) async fn serve(name: Path<String>) -> HttpResponse {
    let scripts = [&*ANSWER, &*TIMES, &*UNLOCK, &*HOME, &*PASSKEY, &*INBOX, &*NEXT, &*PROPOSAL];
    let Some(script) = scripts.into_iter().find(|script| script.name == *name) else {
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

#[cfg(test)]
mod tests {
    use super::*;

    // Every open page fetches its scripts besides itself, so for slow networks the scripts of a page must be small together.
    #[test]
    fn the_script_is_small_and_has_an_address_of_its_own() {
        // An answer page and the first page of development mode have two scripts each.
        for script in [&*ANSWER, &*HOME] {
            let bytes = script.text.len() + TIMES.text.len();
            assert!(bytes <= 4 * 1_024 + 512, "{bytes} bytes with {}", script.name);
        }
        assert!(INBOX.text.len() + TIMES.text.len() <= 16 * 1_024, "{} bytes in the inbox", INBOX.text.len());
        assert!(NEXT.text.len() <= 1_024, "{} bytes more where a question waits next", NEXT.text.len());
        assert!(PASSKEY.text.len() <= 3 * 1_024, "{} bytes more where a passkey signs", PASSKEY.text.len());
        assert!(PROPOSAL.text.len() <= 2 * 1_024, "{} bytes more where an action is edited", PROPOSAL.text.len());
        assert!(UNLOCK.text.len() <= 1_024, "{} bytes more on a long question", UNLOCK.text.len());
        assert!(
            ANSWER.path().starts_with("/assets/answer-") && ANSWER.path().len() == "/assets/answer-.js".len() + 2 * HASH_BYTES
        );
    }
}
