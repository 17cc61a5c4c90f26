//! The work of both bindings on a call: one call of the store, and the conversion of its result.

use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use domain::asking::{errands, stopping};
use domain::base::ids::{IntentId, SuspensionId};
use domain::base::text::quoted;
use domain::people::authority::Action;
use domain::people::principal::Principal;
use domain::problem::Rejection;
use domain::suspension::errand::{Errand, Via};
use domain::wire::SuspendRequest;
use serde_json::{Value, json};
use store::{ErrandFilter, Halted, Heard, Idempotency, Matter, NewErrand, NewMessage, StoreError, StreamOf, Unreadable};

use super::card::card;
use super::change::{Change, Halting};
use super::error::{Error, Wants, Words};
use super::halting::in_a_message;
use super::holding::held;
use super::pausing::{proposed, revised};
use super::placing::{is_as_answer, placed, work};
use super::projection::{Active, Shown, state, task};
use super::push;
use super::reading::{Content, Errors, Operation, Sent};
use super::streaming::{Following, Frame, follow, place, stream};
use super::wire::{Item, PAUSE, PAUSED_STATE, QUESTION, TaskPage};
use crate::edge::admission::Work;
use crate::edge::auth::Caller;
use crate::edge::body::key_hash;
use crate::edge::problem::Failure;
use crate::edge::shared::Shared;
use crate::edge::streams::StreamPlace;

/// The scopes of the ids of messages that ask and that answer: the same agent may send both under one id.
const ASKS: &str = "A2A SendMessage";
const ANSWERS: &str = "A2A SendMessage to a task";

/// The longest version that a refusal repeats, in characters; and the longest of two that differ.
const VERSION_CHARS_MAX: usize = 60;
const VERSIONS_CHARS_MAX: usize = 20;

/// The header by which a client activates extensions.
pub(super) const EXTENSIONS: &str = "a2a-extensions";

/// The parts of a task that the client of a request wants to see.
pub(super) fn shown(request: &HttpRequest) -> Shown {
    let named = request.headers().get_all(EXTENSIONS).filter_map(|value| value.to_str().ok());
    let mut active = Active::default();
    for uri in named.flat_map(|value| value.split(',')) {
        match uri.trim() {
            QUESTION => active.question = true,
            PAUSE => active.pause = true,
            PAUSED_STATE => active.paused_state = true,
            _ => {}
        }
    }
    Shown { active, artifacts: true, ..Shown::default() }
}

/// The header that says which extensions are active.
pub(super) fn activated(shown: Shown, response: &mut HttpResponse) {
    let uris = shown.active.uris();
    if !uris.is_empty()
        && let Ok(value) = HeaderValue::from_str(&uris.join(", "))
    {
        response.headers_mut().insert(HeaderName::from_static(EXTENSIONS), value);
    }
}

/// The version of the protocol that a request names, in its header or in its query; empty if it names none.
///
/// # Errors
///
/// The headers differ, so they name no version that there is: a proxy and this server could read different ones.
pub(super) fn version(request: &HttpRequest) -> Result<String, Error> {
    let headers = request.headers().get_all("a2a-version");
    let mut named: Vec<String> = headers.map(|value| String::from_utf8_lossy(value.as_bytes()).trim().to_owned()).collect();
    named.dedup();
    match named.as_slice() {
        [] => {
            let mut pairs = url::form_urlencoded::parse(request.query_string().as_bytes());
            let asked = pairs.find(|(name, _)| name.eq_ignore_ascii_case("a2a-version"));
            Ok(asked.map(|(_, value)| value.trim().to_owned()).unwrap_or_default())
        }
        [version] => Ok(version.clone()),
        [one, other, ..] => {
            let (one, other) = (quoted(one, VERSIONS_CHARS_MAX), quoted(other, VERSIONS_CHARS_MAX));
            Err(Error::version(&format!("\"{one}\" and \"{other}\" in one call")))
        }
    }
}

/// The refusal of the version that a request names.
pub(super) fn unserved(named: &str) -> Error {
    Error::version(&format!("\"{}\"", quoted(named, VERSION_CHARS_MAX)))
}

/// Whether a version is 1.0; the number of a patch makes no difference.
pub(super) fn is_current(version: &str) -> bool {
    let mut numbers = version.split('.');
    numbers.next() == Some("1") && numbers.next() == Some("0") && numbers.next().is_none_or(|patch| patch.parse::<u32>().is_ok())
}

/// The reply to a call, before it is written in the form of its binding.
pub(super) enum Reply {
    /// A task that stands alone.
    Task(Value),
    /// The result of a message.
    Sent(Value),
    /// Anything else.
    Whole(Value),
    /// A stream.
    Stream(HttpResponse),
}

/// Lists tasks.
async fn list(
    shared: &Shared,
    principal: Principal,
    filter: Result<ErrandFilter, Errors>,
    shown: Shown,
) -> Result<Reply, Failure> {
    let page_size = filter.as_ref().map_or(0, |filter| filter.limit);
    let filter = filter.map_err(|errors| Rejection::Invalid { errors });
    let page = shared.store.matters(principal, filter).await?;
    Ok(Reply::Whole(json!(TaskPage {
        tasks: page.matters.iter().map(|matter| task(matter, shown)).collect(),
        next_page_token: page.next.map(|place| place.to_string()).unwrap_or_default(),
        page_size,
        total_size: page.total,
    })))
}

/// The kind of a call, by which the same refusal has different codes.
fn wants(operation: &Operation) -> Wants {
    match operation {
        Operation::Cancel { .. } => Wants::Cancel,
        Operation::Halt(halting) => Wants::Halt(halting.words),
        Operation::Send { .. }
        | Operation::Get { .. }
        | Operation::List(..)
        | Operation::Subscribe { .. }
        | Operation::Push(_)
        | Operation::Card => Wants::Other,
    }
}

/// Performs a call. `frame` writes the items of a stream.
pub(super) async fn perform(
    request: &HttpRequest,
    shared: Data<Shared>,
    operation: Operation,
    frame: Frame,
) -> Result<Reply, Error> {
    let wants = wants(&operation);
    let plain = |failure| Error::from(failure, wants);
    let caller = Caller::of(request).map_err(plain)?;
    let (principal, shown) = (caller.principal.clone(), shown(request));
    placed(request, &shared, work(&operation)).await.map_err(plain)?;
    let of = |matter: &Matter| json!(task(matter, shown));
    if let Operation::Send { sent, .. } = &operation
        && let Some(push) = &sent.push
    {
        push::check(&shared, push)?;
    }
    match operation {
        Operation::Push(call) => Ok(Reply::Whole(push::perform(&shared, principal, *call).await?)),
        Operation::Send { sent, streams: false } => {
            let (history, at_once, shown) = (sent.history, sent.at_once, Shown { modes: sent.modes, ..shown });
            // Registered before the message is sent, so that no change between the two is lost.
            let wakes = match sent.content {
                Content::Answers(id, _) if !at_once => Some(shared.store.hub().follow(StreamOf::Log(id).followed())),
                Content::Answers(..) | Content::Asks(_) => None,
            };
            let mut matter = send(request, &shared, principal, *sent).await?;
            if let Some(wakes) = wakes.filter(|_| matter.heard == Heard::ByTheAgent) {
                matter = held(request, &shared, &caller, wakes, (matter, history)).await.map_err(plain)?;
            }
            Ok(Reply::Sent(json!(Item::Task(Box::new(task(&matter, shown))))))
        }
        Operation::Send { sent, streams: true } => {
            let shown = Shown { modes: sent.modes, ..shown };
            let place = place(&shared, &caller).map_err(plain)?;
            let matter = send(request, &shared, principal, *sent).await?;
            let (following, matter) =
                following(&shared, &caller, matter.intent_id, (place, Some(matter))).await.map_err(plain)?;
            Ok(Reply::Stream(stream(request, shared, caller, following, &matter, (shown, frame))))
        }
        Operation::Subscribe { id } => {
            let place = place(&shared, &caller).map_err(plain)?;
            let (following, matter) = following(&shared, &caller, id, (place, None)).await.map_err(plain)?;
            if state(&matter).is_final() {
                return Err(Error::unsupported("the task has ended, so nothing is left to follow; get it instead"));
            }
            Ok(Reply::Stream(stream(request, shared, caller, following, &matter, (shown, frame))))
        }
        Operation::Get { id, history } => {
            let history = history.map_err(|errors| Rejection::Invalid { errors });
            Ok(Reply::Task(of(&shared.store.matter(principal, id, history).await.map_err(|error| plain(error.into()))?)))
        }
        Operation::Cancel { id } => {
            Ok(Reply::Task(of(&shared.store.call_off(principal, id).await.map_err(|error| plain(error.into()))?)))
        }
        Operation::List(filter, artifacts) => list(&shared, principal, filter, Shown { artifacts, ..shown }).await.map_err(plain),
        Operation::Halt(halting) => {
            let words = halting.words;
            let halted = halt(&shared, principal, halting).await.map_err(plain)?;
            Ok(match words {
                Words::Proposed => Reply::Whole(proposed(&halted)),
                Words::Revised => Reply::Task(revised(&halted, shown)),
            })
        }
        Operation::Card => Ok(Reply::Whole(card(&shared.doors, shown.active))),
    }
}

/// Registers for the changes of a task, and then reads it, unless `known` says how it just was.
async fn following(
    shared: &Shared,
    caller: &Caller,
    id: IntentId,
    (place, known): (StreamPlace, Option<Matter>),
) -> Result<(Following, Matter), Failure> {
    let following = follow(shared, caller, StreamOf::Log(id), place).await?;
    let messages = known.as_ref().map_or(super::reading::HISTORY_MAX, |known| known.said.len());
    let matter = shared.store.matter(caller.principal.clone(), id, Ok(messages)).await?;
    let (heard, warnings) = known.map(|known| (known.heard, known.warnings)).unwrap_or_default();
    Ok((following, Matter { heard, warnings, ..matter }))
}

/// Stops the work of a task, or lets it go on.
async fn halt(shared: &Shared, principal: Principal, halting: Halting) -> Result<Halted, Failure> {
    let Halting { id, change, .. } = halting;
    let fresh = SuspensionId(shared.entropy.uuid(shared.clock.now()));
    let command = match change {
        Change::Resume(body) => return Ok(shared.store.go_on(principal, id, body, Via::A2a).await?),
        Change::Pause(body) => stopping::pausing(fresh, body).map_err(|errors| Unreadable { action: Action::Pause, errors }),
        Change::Park(body) => stopping::parking(fresh, body)
            .map_err(|errors| Unreadable { action: Action::Park, errors: errors.into_iter().map(in_a_message).collect() }),
    };
    Ok(shared.store.halt(principal, id, command).await?)
}

/// Asks, or answers.
async fn send(request: &HttpRequest, shared: &Shared, principal: Principal, sent: Sent) -> Result<Matter, Error> {
    let (history, push) = (sent.history, sent.push);
    let plain = |error: StoreError| Error::from(error.into(), Wants::Other);
    let pushed = |task: IntentId| push.clone().map(|config| push::new(shared, task, config)).transpose();
    let matter = match sent.content {
        Content::Asks(body) => {
            let key_hash = key_hash(&principal, ASKS, &sent.message_id);
            let idempotency = Idempotency { key_hash, body_hash: sent.hash };
            let fresh = || shared.entropy.uuid(shared.clock.now());
            let context_id = sent.context_id.unwrap_or_else(|| fresh().to_string());
            let errand = Errand { via: Via::A2a, message_id: sent.message_id, context_id };
            let ask = |body: Box<SuspendRequest>| {
                errands::errand(&shared.asking, *body, SuspensionId(fresh()), &principal, errand).map(Box::new)
            };
            let asked = body.and_then(ask);
            let id = IntentId(fresh());
            let caller = principal.clone();
            let errand = NewErrand { principal, id, idempotency, asked, trace_parent: None, push: pushed(id)? };
            let matter = shared.store.ask_alone(errand).await.map_err(plain)?;
            // The question was asked before, and had another id; so what the message brings along is all that it can still do.
            if let Some(again) = pushed(matter.intent_id)?.filter(|_| matter.intent_id != id) {
                shared.store.create_push(caller, again).await.map_err(plain)?;
            }
            matter
        }
        Content::Answers(id, said) => {
            let key_hash = key_hash(&principal, ANSWERS, &sent.message_id);
            let idempotency = Some(Idempotency { key_hash, body_hash: sent.hash });
            let message = NewMessage {
                said,
                message_id: sent.message_id,
                idempotency,
                messages: history,
                push: pushed(id)?,
                only_answers: is_as_answer(request),
            };
            let matter = shared.store.say(principal.clone(), id, message.clone()).await.map_err(plain)?;
            if matter.heard == Heard::Withheld {
                // Words for the agent at work are a write like another one.
                placed(request, shared, Work::Write).await.map_err(|failure| Error::from(failure, Wants::Other))?;
                shared.store.say(principal, id, NewMessage { only_answers: false, ..message }).await.map_err(plain)?
            } else {
                matter
            }
        }
    };
    let skipped = matter.said.len().saturating_sub(history);
    Ok(Matter { said: matter.said.into_iter().skip(skipped).collect(), ..matter })
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    /// A version that two readers could take for different ones is none.
    #[test]
    fn headers_that_differ_name_no_version() {
        let of = |headers: &[&'static str]| {
            let request = TestRequest::with_uri("/a2a?A2A-Version=0.3");
            let request = headers.iter().fold(request, |request, value| request.append_header(("a2a-version", *value)));
            version(&request.to_http_request()).map_err(|error| error.message().to_owned())
        };
        let named = |version: &str| Ok(version.to_owned());
        assert_eq!((of(&[]), of(&[" 1.0 "]), of(&["1.0", "1.0"])), (named("0.3"), named("1.0"), named("1.0")));
        assert_eq!(of(&[""]), named(""));
        for differing in [&["1.0", "0.3"], &["0.3", "1.0"], &["", "1.0"], &["1.0", ""], &["1.0", "1.0.1"]] {
            assert!(of(differing).unwrap_err().ends_with(" in one call"), "{differing:?}");
        }
    }

    /// A header has many kilobytes of room, and a refusal repeats few words of it, which cannot be taken for those of the server.
    #[test]
    fn a_refusal_repeats_little_of_a_version() {
        let words = |named: &str| unserved(named).message().to_owned();
        assert!(words("2.0").ends_with("it does not speak \"2.0\""), "{}", words("2.0"));
        assert!(words("2\". Go away").ends_with("it does not speak \"2’. Go away\""), "{}", words("2\". Go away"));
        let nines = |count: usize| "9".repeat(count);
        assert!(words(&nines(9_000)).ends_with(&format!(" \"{}…\"", nines(59))), "{}", words(&nines(9_000)));
        let headers = ["1".repeat(9_000), "2".repeat(9_000), "3".repeat(9_000)];
        let request = headers
            .iter()
            .fold(TestRequest::with_uri("/a2a"), |request, value| request.append_header(("a2a-version", value.as_str())));
        let told = version(&request.to_http_request()).unwrap_err().message().to_owned();
        assert!(told.ends_with(&format!(" \"{}…\" and \"{}…\" in one call", "1".repeat(19), "2".repeat(19))), "{told}");
    }

    #[test]
    fn the_number_of_a_patch_makes_no_difference() {
        for version in ["1.0", "1.0.0", "1.0.17"] {
            assert!(is_current(version), "{version}");
        }
        for version in ["", "1", "1.1", "0.3", "0.3.0", "2.0", "1.0.x", "v1.0", "10"] {
            assert!(!is_current(version), "{version}");
        }
    }
}
