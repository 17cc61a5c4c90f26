//! Reads the bodies of requests, limited in size and time, and parses them strictly. Malformed JSON is refused at once; fields
//! that break rules are reported later, and only to a caller that may do what the request asks for.

use std::sync::Arc;
use std::time::Duration;

use actix_web::http::header::CONTENT_TYPE;
use actix_web::web::{self, BytesMut};
use actix_web::{HttpMessage, HttpRequest};
use domain::base::field::{EMPTY, FieldError, UNSUPPORTED};
use domain::base::json;
use domain::base::name;
use domain::people::principal::Principal;
use domain::problem::edge;
use futures_util::StreamExt;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest, Sha256};
use store::{Idempotency, Precondition};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::fields::Fields;
use super::keys::hash;
use super::problem::Failure;
use super::wording::in_words_of_json;

/// The largest body, in bytes.
pub const BODY_BYTES_MAX: usize = 256 * 1024;
/// The largest body of a call that names many intents, in bytes: as many ids as it may name, one on a line, with a reason.
pub const MANY_BODY_BYTES_MAX: usize = 512 * 1024;
/// How many bytes of each body do not count against the memory that all bodies share. People and most agents send smaller bodies
/// than this, so the large bodies of others cannot keep theirs out.
const BODY_FREE_BYTES: usize = 16 * 1024;
/// How much memory the bodies of all requests with a key may take together, beyond the free part of each, until they are parsed.
pub const BODIES_BYTES_MAX: usize = 32 * 1024 * 1024;
/// The same for the answers that people send from pages. They have room of their own: the bodies of agents must not keep out the
/// answers for which agents wait.
pub const PAGE_BODIES_BYTES_MAX: usize = 8 * 1024 * 1024;
/// The same for messages with a signature in place of a key. A body has to be read before its signature can be checked, so bodies of
/// strangers must not keep out those of agents.
pub(crate) const SIGNED_BODIES_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The unit, in bytes, in which the memory for bodies is counted.
const ROOM_BYTES: usize = 1024;
/// How long a body may take to arrive.
pub const BODY_WAIT: Duration = Duration::from_secs(10);
/// The longest `Idempotency-Key`, in characters.
pub const IDEMPOTENCY_KEY_MAX: usize = 255;

/// Members that ask for an effect. A request with one of them is refused if its type of body does not have the member, because
/// the sender would count on the effect.
const DEMANDING: [&str; 43] = [
    "acl",
    "agents",
    "allowed_agents",
    "approvers",
    "assignees",
    "budget",
    "channel_hint",
    "comment_on_refusal",
    "completion_mode",
    "conditions",
    "cost_limit",
    "deadline",
    "editable",
    "escalate_to",
    "expected_version",
    "expires_at",
    "fallback_policy",
    "fallback_value",
    "filter",
    "headers",
    "max_cost",
    "not_before",
    "notify_to",
    "permissions",
    "portfolio_id",
    "proposal",
    "question_key",
    "questions",
    "quorum",
    "quorum_threshold",
    "read_only",
    "required_approvers",
    "required_assurance",
    "retry_policy",
    "reversibility",
    "risk",
    "schema",
    "scopes",
    "secret",
    "supersedes",
    "timeout_seconds",
    "valid_until",
    "write_scope",
];
/// The message about one of these members.
const UNMET: &str = "must be absent: in this request the member would have no effect";

/// A body that is JSON within this server's limits.
pub(crate) struct Json(pub(crate) Value);

impl Json {
    /// Reads the body of a request as JSON: another type (415) is refused before malformed JSON (422). A body that is too slow
    /// (408) or too large (413) was refused before the request got its place. An absent body counts as an empty object: `cancel` and
    /// `release` need none.
    pub(crate) fn of(request: &HttpRequest) -> Result<Self, Failure> {
        Self::read(request, b"{}")
    }

    /// As [`Json::of`], and an absent body is malformed.
    pub(crate) fn present(request: &HttpRequest) -> Result<Self, Failure> {
        Self::read(request, b"")
    }

    /// Reads the body of a request; `absent` stands for a body that is not there.
    fn read(request: &HttpRequest, absent: &[u8]) -> Result<Self, Failure> {
        // The memory that was counted for the body is given back here. From now on the limits of the fields bound its values.
        let Body { bytes, .. } = received(request)?;
        let content_type = request.headers().get(CONTENT_TYPE).map(|value| value.to_str().unwrap_or_default());
        let is_json = content_type.is_none_or(|text| {
            let essence = text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
            essence == "application/json" || essence.ends_with("+json")
        });
        if !is_json {
            return Err(Failure::edge(edge::UNSUPPORTED_MEDIA, "send the body as application/json"));
        }
        let bytes = if bytes.is_empty() { absent } else { &bytes[..] };
        json::parse(bytes)
            .map(Self)
            .map_err(|error| Failure::edge(edge::MALFORMED, format!("the body is no JSON this server reads: {error}")))
    }

    /// Converts the body into a type. An error names a field of the wrong type, or a member in [`DEMANDING`] that this type of
    /// body does not have. Other unknown members are ignored, unless the type itself refuses them (`deny_unknown_fields`).
    pub(crate) fn into<T: DeserializeOwned>(self) -> Result<T, Vec<FieldError>> {
        let given: Vec<&str> =
            DEMANDING.into_iter().filter(|name| self.0.get(name).is_some_and(|value| !value.is_null())).collect();
        let (mut ignored, mut track) = (Vec::new(), serde_path_to_error::Track::new());
        let fields = serde_path_to_error::Deserializer::new(Fields(self.0), &mut track);
        let read = serde_ignored::deserialize(fields, |path| ignored.push(path.to_string()));
        let body = read.map_err(|error| {
            let message = error.to_string();
            vec![FieldError::new(field(&track.path().to_string(), &message), rule(&message), in_words_of_json(&message))]
        })?;
        let unmet = given.into_iter().filter(|name| ignored.iter().any(|path| path == name));
        let errors: Vec<FieldError> = unmet.map(|name| FieldError::new(name, UNSUPPORTED, UNMET)).collect();
        if errors.is_empty() { Ok(body) } else { Err(errors) }
    }

    /// The hash by which two requests with the same `Idempotency-Key` are compared, made from the ids in the path and from the
    /// body. The spacing of the JSON and the order of its members do not change it.
    fn hash(&self, request: &HttpRequest) -> [u8; 32] {
        let mut hash = Sha256::new();
        for (_, id) in request.match_info().iter() {
            // Upper and lower case make no difference in a UUID, but they do in the name of an agent.
            let is_uuid = id.len() == 36 && uuid::Uuid::try_parse(id).is_ok();
            hash.update(if is_uuid { id.to_ascii_lowercase() } else { id.to_owned() });
            hash.update([0]);
        }
        hash.chain_update(json::canonical(&self.0).unwrap_or_default()).finalize().into()
    }
}

/// The field that an error is about. serde names a missing or unknown field in its message, not in its path.
fn field(path: &str, message: &str) -> String {
    let named =
        message.split('`').nth(1).filter(|_| message.starts_with("missing field") || message.starts_with("unknown field"));
    match (path, named) {
        // The path already ends in the dot before the name.
        (path, Some("")) => match path.trim_end_matches('.') {
            "" => EMPTY.to_owned(),
            above => format!("{above}.{EMPTY}"),
        },
        ("." | "", Some(name)) => name.to_owned(),
        // The path of an unknown field already ends in its name.
        (path, Some(name)) if path == name || path.ends_with(&format!(".{name}")) => path.to_owned(),
        (path, Some(name)) => format!("{path}.{name}"),
        (".", None) => "body".to_owned(),
        (path, None) => path.to_owned(),
    }
}

fn rule(message: &str) -> &'static str {
    if message.starts_with("missing field") {
        "required"
    } else if message.starts_with("unknown field") {
        "unknown"
    } else {
        "type"
    }
}

/// The memory that all bodies of one kind share: those of requests with a key, or those of answers on pages.
pub(crate) struct Bodies(Arc<Semaphore>);

impl Bodies {
    /// Allows `bytes_max` bytes in all, not counting the free part of each body.
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self(Arc::new(Semaphore::new(bytes_max / ROOM_BYTES)))
    }
}

/// A body as it arrived, with the share of the memory that it takes until it is parsed.
pub(crate) struct Body {
    pub(crate) bytes: BytesMut,
    room: Option<OwnedSemaphorePermit>,
}

impl Body {
    /// Takes room for the bytes by which the body has grown.
    fn make_room(&mut self, bodies: &Bodies) -> Result<(), Failure> {
        let taken = self.room.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let needed = self.bytes.len().saturating_sub(BODY_FREE_BYTES).div_ceil(ROOM_BYTES);
        if needed <= taken {
            return Ok(());
        }
        let more = u32::try_from(needed - taken).unwrap_or(u32::MAX);
        let more = bodies.0.clone().try_acquire_many_owned(more).map_err(|_| {
            Failure::overloaded("too many large requests arrive at present; nothing was done, send the same request again", 1)
        })?;
        match &mut self.room {
            Some(room) => room.merge(more),
            None => self.room = Some(more),
        }
        Ok(())
    }
}

/// Reads a body whole, bounded in size and time.
pub(crate) async fn read(bodies: &Bodies, request: &HttpRequest, payload: web::Payload) -> Result<Body, Failure> {
    read_up_to(BODY_BYTES_MAX, bodies, request, payload).await
}

/// As [`read`], with a size of its own.
pub(crate) async fn read_up_to(
    bytes_max: usize,
    bodies: &Bodies,
    request: &HttpRequest,
    mut payload: web::Payload,
) -> Result<Body, Failure> {
    let too_large = || Failure::edge(edge::TOO_LARGE, format!("a body is at most {bytes_max} bytes"));
    let declared = request.headers().get("content-length").and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if declared.is_some_and(|length| length > bytes_max) {
        return Err(too_large());
    }
    let whole = async {
        // A buffer of the declared length is allocated at once; its memory costs nothing until the bytes arrive. A buffer that
        // grows by doubling could take twice as much.
        let mut body = Body { bytes: BytesMut::with_capacity(declared.unwrap_or_default()), room: None };
        while let Some(chunk) = payload.next().await {
            let chunk = chunk.map_err(|_| Failure::edge(edge::MALFORMED, "the body broke off"))?;
            if body.bytes.len() + chunk.len() > bytes_max {
                return Err(too_large());
            }
            body.bytes.extend_from_slice(&chunk);
            body.make_room(bodies)?;
        }
        Ok(body)
    };
    let seconds = BODY_WAIT.as_secs();
    tokio::time::timeout(BODY_WAIT, whole)
        .await
        .unwrap_or_else(|_| Err(Failure::edge(edge::TOO_SLOW, format!("a body must arrive within {seconds} seconds"))))
}

/// Takes the body that was read before the request got its place.
fn received(request: &HttpRequest) -> Result<Body, Failure> {
    // Every route with a body stands behind `authenticate`, which reads it.
    request.extensions_mut().remove::<Body>().ok_or_else(|| Failure::edge(edge::MALFORMED, "the body was read before"))
}

/// The precondition in `If-Match`; `3`, `"3"` and `W/"3"` are the same.
pub(crate) fn if_match(request: &HttpRequest, required: bool) -> Precondition {
    let Some(header) = request.headers().get("if-match") else {
        return if required { Precondition::Missing } else { Precondition::None };
    };
    let text = header.to_str().unwrap_or_default().trim();
    let text = text.strip_prefix("W/").unwrap_or(text);
    let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    // The parser would take "+3" as well.
    let digits = Some(text).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    digits.and_then(|digits| digits.parse().ok()).map_or(Precondition::Missing, Precondition::Version)
}

/// The key in `Idempotency-Key`, hashed with the name of its sender and with `scope`. The API key is not part of the hash, so an
/// agent whose API key was replaced can still repeat its requests.
pub(crate) fn idempotency(
    request: &HttpRequest,
    principal: &Principal,
    scope: &str,
    body: &Json,
) -> Result<Option<Idempotency>, FieldError> {
    let Some(header) = request.headers().get("idempotency-key") else { return Ok(None) };
    let valid = header.to_str().ok().filter(|key| is_key(key));
    let Some(key) = valid else {
        return Err(FieldError::new(
            "Idempotency-Key",
            "length",
            format!("must be 1 to {IDEMPOTENCY_KEY_MAX} printable ASCII characters"),
        ));
    };
    Ok(Some(Idempotency { key_hash: key_hash(principal, scope, key), body_hash: body.hash(request) }))
}

/// Whether a text can be an `Idempotency-Key`.
pub(crate) fn is_key(text: &str) -> bool {
    (1..=IDEMPOTENCY_KEY_MAX).contains(&text.len()) && text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// The hash under which an `Idempotency-Key` is kept.
pub(crate) fn key_hash(principal: &Principal, scope: &str, key: &str) -> [u8; 32] {
    // Without the lengths, two different sets of parts could make the same text.
    let name = name::form(&principal.name);
    hash(&format!("{}:{name}{}:{scope}{key}", name.len(), scope.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(kibibytes: usize) -> Body {
        Body { bytes: BytesMut::zeroed(kibibytes * 1024), room: None }
    }

    /// Large bodies share a limited memory, and a body that does not fit is refused. Small bodies need none of it, so the large
    /// ones do not keep them out.
    #[test]
    fn large_bodies_share_a_room_that_small_ones_do_not_need() {
        let bodies = Bodies(Arc::new(Semaphore::new(240)));
        let (mut first, mut second, mut small) = (body(256), body(17), body(16));
        assert!(first.make_room(&bodies).is_ok() && first.make_room(&bodies).is_ok(), "room is taken once");
        let refused = second.make_room(&bodies).err().unwrap();
        assert_eq!((refused.entry.status, refused.entry.code, refused.more.retry_after), (503, "overloaded", Some(1)));
        assert!(small.make_room(&bodies).is_ok());
        drop(first);
        assert!(second.make_room(&bodies).is_ok());
        second.bytes.resize(18 * 1024, 0);
        assert!(second.make_room(&bodies).is_ok());
        assert_eq!(bodies.0.available_permits(), 238, "what it has grown by");
        drop(second);
        assert_eq!(bodies.0.available_permits(), 240);
    }
}
