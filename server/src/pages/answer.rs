//! The answer page: GET shows, one POST decides (`/a/{token}`).
//!
//! Guarantee: opening a link changes nothing, however often and by any program or person. Mechanism: only POST builds a command,
//! and only with the cookie and nonce of a page that was shown. Failure: a POST that cannot be accepted shows the page again with
//! the typed text; the link stays good until its question ends.

use actix_web::http::header::{HeaderValue, RETRY_AFTER};
use actix_web::http::{ConnectionType, Method, StatusCode};
use actix_web::web::{Data, Path, Payload};
use actix_web::{HttpRequest, HttpResponse};
use chrono::TimeDelta;
use domain::asking::accepting;
use domain::base::text::quoted;
use domain::base::words::Language;
use domain::intent::command::{Command, Respond};
use domain::people::authority::Action;
use domain::people::principal::Principal;
use domain::problem::Rejection;
use domain::suspension::channel::Channels;
use domain::suspension::demand::COMMENT;
use domain::suspension::errand::Via;
use domain::suspension::plan::Plan;
use domain::suspension::proposal::Named;
use domain::suspension::quorum::Counted;
use domain::suspension::{CHOICE_LABEL_MAX, RequiredAssurance, ResponseType, SuspensionChoice};
use domain::wire::RespondRequest;
use serde_json::{Map, Value};
use store::host::task::spawn_named;
use store::link::LinkToken;
use store::{LinkView, Request, Signer, StoreError, Target, Unreadable};

use super::Pages;
use super::ended::{ending, silence};
use super::form::{Form, Sent, seen};
use super::hands::{HandButton, hands};
use super::reasons::{Reasons, comment};
use super::scripts::{ANSWER, PASSKEY, TIMES, UNLOCK};
use super::session::see_other;
use super::signature::usable;
use super::view::{
    Answers, Asked, Choices, CountedShown, FieldProblem, FormError, GroundsShown, Kept, Next, OpenQuestion, Outcome,
    PasskeyNeeded, PlanRow, QuorumShown, Reading, Trouble, UnknownLink,
};
use super::way::Way;
use super::{drafting, drafts, proposing};
use crate::edge::admission::{Class, Refused};
use crate::edge::auth::to_its_end;
use crate::edge::body;
use crate::edge::problem::{Failure, RETRY_AFTER_SECONDS, TurnedAway};
use crate::edge::rates::seconds_until;
use crate::edge::shared::Shared;

/// How long after the end of a question its links show the outcome.
const OUTCOME_SHOWN: TimeDelta = TimeDelta::days(30);
/// The query of the redirect after an answer that did not count. It only chooses a sentence of the page.
const TRIED: &str = "tried";

/// The state in which an open question is shown.
struct Shown<'a> {
    /// The text that was typed before.
    form: &'a Form,
    /// How much of the question has been seen.
    reading: Reading,
    /// Why the question is shown again.
    error: Option<FormError>,
    /// The part of the form that was kept over a login.
    kept: Option<Kept>,
    /// The address of the person whose draft stands in the form.
    drafted: Option<String>,
    /// Whether the form was sent, although nothing was remarked on it.
    is_typed: bool,
    /// The question that waits next.
    next: Option<Next>,
}

impl<'a> Shown<'a> {
    /// The question with a form on which nothing was remarked.
    fn of(form: &'a Form) -> Self {
        Self { form, reading: Reading::Begun, error: None, kept: None, drafted: None, is_typed: false, next: None }
    }
}

/// Shows the question, or its outcome.
pub(super) async fn show(request: HttpRequest, token: Path<String>, shared: Data<Shared>, pages: Pages) -> HttpResponse {
    if pages.is_under_another_name(&request) {
        return pages.trouble(StatusCode::MISDIRECTED_REQUEST, Trouble::AnotherName);
    }
    let (token, link) = match opened(&token, &shared, &pages).await {
        Ok(found) => found,
        Err(refusal) => return refusal,
    };
    if link.is_open && request.method() == Method::GET {
        note_view(&shared, &link);
    }
    let way = Way::by_link(token, &link, &request, &shared, &pages).await;
    page_for(&request, &shared, &pages, &way, &link).await
}

/// The page of a question for a person who came by this way, or its outcome.
pub(super) async fn page_for(request: &HttpRequest, shared: &Shared, pages: &Pages, way: &Way, link: &LinkView) -> HttpResponse {
    let next = way.next(link, shared).await;
    if !link.is_open {
        let tried = request.query_string() == TRIED;
        pages.outcome_shown.send_replace(true);
        let timeline = way.timeline(link, shared).await;
        return pages.live_page(StatusCode::OK, Outcome { timeline, ..outcome(pages, way, link, (tried, next)) }.render());
    }
    let reading = Reading::of_query(request.query_string());
    let (form, kept, drafted) = way.typed_before(link, (pages.typist(request), pages.language()), shared).await;
    open_page(request, shared, pages, way, link, Shown { reading, kept, drafted, next, ..Shown::of(&form) }).await
}

/// Notes for the audit pages that the link opened the page. The page does not wait for the note, and is shown without it.
pub(super) fn note_view(shared: &Shared, link: &LinkView) {
    let (store, id, recipient) = (shared.store.clone(), link.suspension.id, link.recipient.clone());
    drop(spawn_named("view", async move {
        if let Err(error) = store.note_view(id, recipient).await {
            tracing::debug!(error = %error, "failed to note that a page was opened");
        }
    }));
}

/// The question behind an opened link, or the page that refuses the link. Each opening counts towards the limit on
/// openings of one link in a minute.
pub(super) async fn opened(token: &str, shared: &Shared, pages: &Pages) -> Result<(LinkToken, LinkView), HttpResponse> {
    let token = LinkToken::parse(token).ok_or_else(|| unknown(pages))?;
    let class = pages.class(&token);
    let _place = shared.admission.enter(class).await.map_err(|refused| turned_away(pages, refused, Trouble::CannotRead))?;
    let link = match shared.store.link(token.clone()).await {
        Ok(Some(link)) => link,
        Ok(None) => return Err(unknown(pages)),
        Err(_) => return Err(pages.cannot_read()),
    };
    // The page of a link that opens nothing must not tell of its reader, so the reader counts once the question is shown.
    if is_shown(&link) {
        pages.speak_to(&link.preferences);
    }
    pages.gets.check_key(&token.hash()).map_err(|refused| pages.too_many(&refused))?;
    if is_shown(&link) { Ok((token, link)) } else { Err(unknown(pages)) }
}

/// The page for a request that was refused because the server works on too many requests already.
fn turned_away(pages: &Pages, Refused(class): Refused, trouble: Trouble) -> HttpResponse {
    let mut page = pages.later(class.retry_after_seconds(), StatusCode::SERVICE_UNAVAILABLE, trouble, None);
    page.extensions_mut().insert(TurnedAway);
    page
}

/// The token of a form, if a server on this database made it; whether it still opens a question is checked later.
pub(super) async fn invited(token: &str, shared: &Shared, pages: &Pages) -> Result<LinkToken, HttpResponse> {
    let token = LinkToken::parse(token).ok_or_else(|| answers_nothing(pages))?;
    let class = pages.class(&token);
    if class == Class::Respond {
        return Ok(token);
    }
    let _place = shared.admission.enter(class).await.map_err(|refused| turned_away(pages, refused, Trouble::CannotSave))?;
    match shared.store.link(token.clone()).await {
        Ok(Some(_)) => Ok(token),
        Ok(None) => Err(answers_nothing(pages)),
        Err(_) => Err(pages.later(RETRY_AFTER_SECONDS, StatusCode::SERVICE_UNAVAILABLE, Trouble::CannotSave, None)),
    }
}

/// Takes the answer, once.
pub(super) async fn decide(
    request: HttpRequest,
    token: Path<String>,
    payload: Payload,
    shared: Data<Shared>,
    pages: Pages,
) -> Result<HttpResponse, actix_web::Error> {
    let token = match invited(&token, &shared, &pages).await {
        Ok(token) => token,
        Err(refusal) => return Ok(refusal),
    };
    // The body is read only now, so that a client that makes links up cannot use up the memory for the answers of people.
    let body = body::read(&pages.bodies, &request, payload).await;
    let sent = body.map(Sent::read);
    let place = match shared.admission.enter(Class::Respond).await {
        Ok(place) => place,
        Err(Refused(class)) => {
            let mut page = cannot_save(&request, &pages, sent.ok().as_ref(), class.retry_after_seconds());
            page.extensions_mut().insert(TurnedAway);
            return Ok(page);
        }
    };
    to_its_end(async move {
        let _place = place;
        decided(request, token, sent, shared, pages).await
    })
    .await
}

/// The page for an answer that could not be recorded. It holds the typed text, if the text is known, so that the person can send
/// it again.
fn cannot_save(request: &HttpRequest, pages: &Pages, sent: Option<&Sent>, seconds: u32) -> HttpResponse {
    let again = sent.and_then(|sent| sent.form.again(request, pages));
    pages.later(seconds, StatusCode::SERVICE_UNAVAILABLE, Trouble::CannotSave, again)
}

async fn decided(
    request: HttpRequest,
    token: LinkToken,
    sent: Result<Sent, Failure>,
    shared: Data<Shared>,
    pages: Pages,
) -> HttpResponse {
    let link = match shared.store.link(token.clone()).await {
        Ok(Some(link)) if is_shown(&link) => link,
        Ok(_) => return answers_nothing(&pages),
        Err(_) => return cannot_save(&request, &pages, sent.ok().as_ref(), RETRY_AFTER_SECONDS),
    };
    pages.speak_to(&link.preferences);
    // An answer that was refused for want of memory for its body does not count among the tries of a link.
    if let Some(seconds) = sent.as_ref().err().and_then(|failure| failure.more.retry_after) {
        return cannot_save(&request, &pages, None, seconds);
    }
    let way = Way::by_link(token, &link, &request, &shared, &pages).await;
    if let Ok(sent) = &sent {
        return sent_by(&request, &shared, &pages, &way, &link, &sent.form).await;
    }
    if let Err(refused) = pages.posts.check_key(&way.tries()) {
        return pages.later(seconds_until(&refused), StatusCode::TOO_MANY_REQUESTS, Trouble::TooManyTries, None);
    }
    if !pages.is_from_our_page(request.headers()) {
        return pages.trouble(StatusCode::FORBIDDEN, Trouble::ForeignForm);
    }
    let status = sent.err().and_then(|failure| StatusCode::from_u16(failure.entry.status).ok());
    pages.trouble(status.unwrap_or(StatusCode::BAD_REQUEST), Trouble::Unreadable)
}

/// Takes what was sent: an answer, a change of the hands, or what belongs to a draft.
pub(super) async fn sent_by(
    request: &HttpRequest,
    shared: &Shared,
    pages: &Pages,
    way: &Way,
    link: &LinkView,
    form: &Form,
) -> HttpResponse {
    if let Err(refused) = pages.posts.check_key(&way.tries()) {
        let again = form.again(request, pages);
        return pages.later(seconds_until(&refused), StatusCode::TOO_MANY_REQUESTS, Trouble::TooManyTries, again);
    }
    if !pages.is_from_our_page(request.headers()) {
        return pages.trouble(StatusCode::FORBIDDEN, Trouble::ForeignForm);
    }
    if let Some(error) = form.sent_twice(link, pages.language()) {
        return if link.is_open {
            refused(request, shared, pages, way, link, form, (error, StatusCode::UNPROCESSABLE_ENTITY)).await
        } else {
            to_outcome(request)
        };
    }
    let reading = Reading::of_query(request.query_string());
    if reading != Reading::Begun {
        return read_on(request, shared, pages, way, link, (form, reading)).await;
    }
    let Some(button) = &form.draft else { return answered(request, shared, pages, way, link, form).await };
    if !link.is_open {
        return to_outcome(request);
    }
    if !way.fits(form, request, pages) {
        return refused(request, shared, pages, way, link, form, (FormError::PageTooOld, StatusCode::FORBIDDEN)).await;
    }
    let shown = Shown { reading: Reading::ToTheEnd, ..Shown::of(form) };
    match button {
        drafts::DraftButton::Take(author) => match link.drafts.iter().find(|draft| draft.by == *author) {
            Some(draft) => {
                let taken = drafting::taking_over(form, draft, link);
                let shown = Shown { form: &taken, drafted: Some(draft.by.clone()), ..shown };
                open_page(request, shared, pages, way, link, shown).await
            }
            // The draft was taken back, or its author may not answer any more. The form stays as it was typed.
            None => refused(request, shared, pages, way, link, form, (FormError::DraftIsGone, StatusCode::OK)).await,
        },
        drafts::DraftButton::Save => {
            let from = (way.principal(link), pages.typist(request));
            match drafting::save(shared, from, link, form, pages.language()).await {
                Ok(drafts) => {
                    way.forget(link, shared).await;
                    let saved = !drafting::typed(form, link).is_empty();
                    let shown = Shown { drafted: saved.then(|| link.recipient.to_lowercase()), ..shown };
                    open_page(request, shared, pages, way, &LinkView { drafts, ..link.clone() }, shown).await
                }
                Err(None) => to_outcome(request),
                Err(Some(error)) => refused(request, shared, pages, way, link, form, error).await,
            }
        }
    }
}

/// Shows the question again with the form, because of this error, or because the page was made for another person.
async fn refused(
    request: &HttpRequest,
    shared: &Shared,
    pages: &Pages,
    way: &Way,
    link: &LinkView,
    form: &Form,
    error: (FormError, StatusCode),
) -> HttpResponse {
    // Only a page that showed the whole question has a nonce. So if the nonce fits, the answers need not be locked again.
    let fits = way.fits(form, request, pages);
    let reading = if fits { Reading::ToTheEnd } else { Reading::Everything };
    // The words of one person are not shown to another.
    let nothing = Form::default();
    let is_anothers = !fits && way.is_anothers(form);
    let form = if is_anothers { &nothing } else { form };
    let (error, status) = if is_anothers { (FormError::OtherPerson, StatusCode::FORBIDDEN) } else { error };
    let shown = Shown { reading, error: Some(error), ..Shown::of(form) };
    let mut page = open_page(request, shared, pages, way, link, shown).await;
    *page.status_mut() = status;
    if status == StatusCode::SERVICE_UNAVAILABLE {
        page.headers_mut().insert(RETRY_AFTER, HeaderValue::from(RETRY_AFTER_SECONDS));
    }
    page
}

/// Shows more of a long question, with what was typed beside the part that was shown. Nothing is decided, so the form needs no nonce: a page
/// that leaves text out has none.
async fn read_on(
    request: &HttpRequest,
    shared: &Shared,
    pages: &Pages,
    way: &Way,
    link: &LinkView,
    (form, reading): (&Form, Reading),
) -> HttpResponse {
    if !link.is_open {
        return to_outcome(request);
    }
    // The words of one person are not shown to another.
    let nothing = Form::default();
    let form = if way.is_anothers(form) { &nothing } else { form };
    open_page(request, shared, pages, way, link, Shown { reading, is_typed: true, ..Shown::of(form) }).await
}

/// Takes the answer in a form.
async fn answered(
    request: &HttpRequest,
    shared: &Shared,
    pages: &Pages,
    way: &Way,
    link: &LinkView,
    form: &Form,
) -> HttpResponse {
    match recorded(request, shared, pages, way, link, form).await {
        Ok(page) => page,
        Err(error) => refused(request, shared, pages, way, link, form, error).await,
    }
}

/// Gives the answer in a form to the store; else the error of the page that comes back.
async fn recorded(
    request: &HttpRequest,
    shared: &Shared,
    pages: &Pages,
    way: &Way,
    link: &LinkView,
    form: &Form,
) -> Result<HttpResponse, (FormError, StatusCode)> {
    // If the question has ended, its outcome is shown instead of the form.
    let ended = !link.is_open;
    let fits = way.fits(form, request, pages);
    let (typed, named) = typed(form, link, pages.language());
    let value = match typed {
        _ if !fits && ended => return Ok(to_outcome(request)),
        _ if !fits => return Err((FormError::PageTooOld, StatusCode::FORBIDDEN)),
        Err(_) if ended => return Ok(to_outcome(request)),
        Err(error) => return Err((error, StatusCode::UNPROCESSABLE_ENTITY)),
        Ok(value) => value,
    };
    let named = match named {
        Err(_) if ended => return Ok(to_outcome(request)),
        Err(error) => {
            let status = proposing::status(&error);
            return Err((error, status));
        }
        Ok(_) if !ended && !form.takes_back && form.hand.is_none() && !form.saw(link) => {
            return Err((FormError::Answered, StatusCode::CONFLICT));
        }
        Ok(named) => named,
    };
    let wanted = match form.hand {
        Some(button) => button.request(way.principal(link), link.suspension.id, form.typed_hands()),
        None => answer(way.principal(link), link, value, named, form),
    };
    match shared.store.execute(wanted).await {
        Ok(_) => {
            let still_open = way.still_answering(link, form, shared).await;
            let Some(now) = still_open else { return Ok(see_other(request.path())) };
            // Only a page that showed the whole question has a nonce, so the answers need not be locked again.
            let shown = Shown { reading: Reading::ToTheEnd, ..Shown::of(form) };
            Ok(open_page(request, shared, pages, way, &now, shown).await)
        }
        Err(StoreError::Rejected(Rejection::Invalid { errors })) if let Some(button) = form.hand => {
            Err((button.refused(&errors, form.typed_hands()), StatusCode::UNPROCESSABLE_ENTITY))
        }
        Err(StoreError::Rejected(Rejection::SelfResponse)) => {
            let chooses = form.hand == Some(HandButton::Reassign) && !link.owns_the_asker;
            Err((FormError::OwnQuestion { chooses }, StatusCode::FORBIDDEN))
        }
        Err(StoreError::Rejected(rejection)) if let Some(error) = refusal(&rejection, link, pages) => Err(error),
        Err(StoreError::Rejected(Rejection::AssuranceTooLow { required, .. })) => {
            let is_kept = form.keep(link.suspension.id, &link.recipient, pages.typist(request), shared).await;
            let error = match required {
                RequiredAssurance::Passkey => FormError::NotSigned,
                RequiredAssurance::Session => FormError::NoLogin { is_kept, is_old: false },
                RequiredAssurance::RecentLogin => FormError::NoLogin { is_kept, is_old: way.session().is_some() },
            };
            Err((error, StatusCode::FORBIDDEN))
        }
        Err(StoreError::Rejected(_)) => Ok(to_outcome(request)),
        Err(error @ (StoreError::Unavailable(_) | StoreError::Held(_) | StoreError::Damaged(_) | StoreError::Failed(_))) => {
            // The page may say that nothing was recorded only after `Held`: with this error the store has written nothing.
            let told = if matches!(error, StoreError::Held(_)) { FormError::CannotSave } else { FormError::Unheard };
            Err((told, StatusCode::SERVICE_UNAVAILABLE))
        }
    }
}

/// The value in a form, and the action about which it decides.
fn typed(form: &Form, link: &LinkView, language: Language) -> (Result<Value, FormError>, Result<Named, FormError>) {
    let is_no_answer = form.takes_back || form.hand.is_some();
    let value = if is_no_answer || form.proposed.looks { Ok(Value::Null) } else { form.answer(link, language) };
    (value, if is_no_answer { Ok(Named::default()) } else { proposing::named(form, link, language) })
}

/// How the page says that the answer was refused, if the question is still open and a login would not help.
fn refusal(rejection: &Rejection, link: &LinkView, pages: &Pages) -> Option<(FormError, StatusCode)> {
    let proposal = link.question.proposal.as_deref();
    if let Rejection::InvalidChoice { .. } = rejection {
        return Some((FormError::NotAChoice, StatusCode::UNPROCESSABLE_ENTITY));
    }
    if let Rejection::HasAnswered = rejection {
        return Some((FormError::HasAnswered, StatusCode::CONFLICT));
    }
    if let Rejection::ProposalChanged { .. } = rejection {
        return proposal.map(|proposal| (proposing::changed(proposal, link), StatusCode::PRECONDITION_FAILED));
    }
    if let Rejection::Invalid { errors } = rejection {
        let text = || FormError::text(FieldProblem::TooLong, pages.language());
        let error = proposal.map_or_else(text, |proposal| proposing::broken(proposal, errors.clone(), pages.language()));
        return Some((error, StatusCode::UNPROCESSABLE_ENTITY));
    }
    if let Rejection::PasskeyRefused { reason } = rejection {
        return Some((FormError::PasskeyRefused(reason.words(pages.language())), StatusCode::FORBIDDEN));
    }
    let is_anothers = matches!(rejection, Rejection::NotAssigned | Rejection::Forbidden { .. });
    is_anothers.then_some((FormError::NotAssigned, StatusCode::FORBIDDEN))
}

pub(super) fn answer(principal: Principal, link: &LinkView, value: Value, named: Named, form: &Form) -> Request {
    let comment = comment(&form.reason, &form.comment, link, &value);
    let via = if principal.session_id().is_some() { Via::Page } else { Via::Link };
    let metadata = (!comment.is_empty()).then(|| Map::from_iter([(COMMENT.to_owned(), Value::from(comment))]));
    let answer =
        RespondRequest { suspension_id: link.suspension.id.expose(), value: Some(value), metadata, ..RespondRequest::default() };
    let command = accepting::answer(answer).map(|respond| {
        let assertion = form.signature.assertion().map(Box::new);
        Command::Respond(Box::new(Respond { assertion, takes_back: form.takes_back, named, ..respond })).through(via)
    });
    // The person's click belongs to no trace.
    let command = command.map_err(|errors| Unreadable { action: Action::Respond, errors });
    Request::plain(principal, Target::Intent(link.suspension.intent_id), command)
}

pub(super) fn is_shown(link: &LinkView) -> bool {
    let ended_at = link.suspension.ending.as_ref().map(|ending| ending.at);
    ended_at.is_none_or(|at| link.now - at < OUTCOME_SHOWN)
}

/// The page for a token that leads to no question: the same bytes for each of these tokens.
fn unknown(pages: &Pages) -> HttpResponse {
    if let Err(refused) = pages.misses.check() {
        return pages.too_many(&refused);
    }
    pages.page(StatusCode::NOT_FOUND, UnknownLink::new(pages.plain()).render())
}

/// Like [`unknown`], for a form, but the connection is always closed. If it were closed only after an unread body, a client could
/// distinguish one link from another by that.
fn answers_nothing(pages: &Pages) -> HttpResponse {
    let mut page = unknown(pages);
    page.head_mut().set_connection_type(ConnectionType::Close);
    page
}

fn to_outcome(request: &HttpRequest) -> HttpResponse {
    see_other(&format!("{}?{TRIED}", request.path()))
}

async fn open_page(
    request: &HttpRequest,
    shared: &Shared,
    pages: &Pages,
    way: &Way,
    link: &LinkView,
    Shown { form, reading, error, kept, drafted, is_typed, next }: Shown<'_>,
) -> HttpResponse {
    let language = pages.language();
    let timeline = way.timeline(link, shared).await;
    let is_typed = is_typed || error.is_some() || kept.is_some() || drafted.is_some() || form.hand.is_some();
    let (cookie, fresh) = pages.cookie(request, &*shared.entropy);
    let proposal = proposing::shown(link, form, is_typed, pages.language());
    let page = OpenQuestion {
        page: way.page(pages, link, next),
        asked: asked(link),
        before: link.question.asked_before.clone(),
        context: Value::Object(link.question.context.clone()),
        beside: beside(link, pages.language()),
        answers: answers(link, form, is_typed, language),
        now: link.now,
        expires_at: link.suspension.ends_at(),
        silence: silence(link, language),
        waiting: link.waiting,
        is_grouped: link.suspension.portfolio_deadline.is_some(),
        plan: plan(link, &shared.asking.channels, pages.language()),
        form_action: request.path().to_owned(),
        times_path: TIMES.path(),
        script_path: ANSWER.path(),
        unlock_path: UNLOCK.path(),
        nonce: nonce(pages, &cookie, way, link),
        comment: form.comment.clone(),
        timeline,
        reasons: Reasons::of(&pages.inbox.reasons, &form.reason, link).map(Box::new),
        error,
        reading,
        assignees: link.assigned_to(language),
        may_answer: link.may_answer,
        owns_the_asker: link.owns_the_asker,
        out_of_reach: link.out_of_reach,
        quorum: quorum(link),
        hands: hands(link, form.typed_hands(), way.needs_login_for_hands(link)),
        passkey: passkey(request, pages, link),
        login: way.needs_login(link),
        other: way.other(),
        person: way.is_session().then(|| link.recipient.clone()),
        kept,
        drafts: drafts::shown(link, drafted.as_deref()),
        risk: link.question.risk,
        needs_comment: link.question.comment_on_refusal.is_some(),
        proposal,
        grounds: GroundsShown::of(link.question.grounds.as_deref(), Some(link.now), pages.manner()),
    };
    let mut response = pages.live_page(StatusCode::OK, page.render());
    if let Some(fresh) = fresh
        && let Err(error) = response.add_cookie(&fresh)
    {
        tracing::error!(error = %error, "failed to set the cookie of an answer page");
    }
    response
}

/// The nonce of a form. If several people must agree, the hash of everything that the page shows stands behind it.
fn nonce(pages: &Pages, cookie: &str, way: &Way, link: &LinkView) -> String {
    let nonce = way.nonce(pages, cookie);
    match seen(link) {
        Some(seen) => format!("{nonce}.{seen}"),
        None => nonce,
    }
}

/// How many people must agree, and who has answered so far.
fn quorum(link: &LinkView) -> Option<QuorumShown> {
    let label = |value: &Value| {
        let choice = link.suspension.choice(value).map(|choice| choice.label.clone());
        choice.unwrap_or_else(|| value.as_str().unwrap_or_default().to_owned())
    };
    let shown = |counted: &Counted| CountedShown {
        person: counted.person.clone(),
        label: label(&counted.value),
        at: counted.at,
        may_answer: counted.may_answer,
        in_place_of: counted.in_place_of.clone(),
    };
    let counted = &link.suspension.counted;
    let own = counted.iter().find(|counted| counted.may_answer && counted.person.eq_ignore_ascii_case(&link.recipient));
    Some(QuorumShown {
        quorum: link.suspension.quorum.clone()?,
        counted: counted.iter().map(shown).collect(),
        own: own.map(|own| label(&own.value)),
    })
}

/// The passkey that must sign the answer, if the question demands one.
fn passkey(request: &HttpRequest, pages: &Pages, link: &LinkView) -> Option<PasskeyNeeded> {
    let Signer::Person(passkeys) = link.signer.as_ref()? else { return Some(PasskeyNeeded::Unknown) };
    let is_usable = pages.site.as_ref().is_some_and(|site| !usable(passkeys, &site.rp_id).is_empty());
    Some(if is_usable {
        PasskeyNeeded::Signs { challenge: format!("{}/challenge", request.path()), script_path: PASSKEY.path() }
    } else {
        PasskeyNeeded::Missing
    })
}

/// The other members that the agent sent: its confidence, its reasons for asking, and the metadata of its choices.
pub(super) fn beside(link: &LinkView, language: Language) -> Vec<(String, Value)> {
    let confidence = link.question.confidence_at_suspension.map(|sure| (language.confidence().to_owned(), Value::from(sure)));
    let decision =
        link.question.decision_record.clone().map(|record| (language.decision_record().to_owned(), Value::Object(record)));
    let choices =
        link.suspension.choices.iter().filter_map(|choice| beside_choice(link.suspension.response_type, choice, language));
    confidence.into_iter().chain(decision).chain(choices).collect()
}

/// The part of a choice that no button shows: its metadata, or all of the choice if the question has no buttons.
fn beside_choice(response_type: ResponseType, choice: &SuspensionChoice, language: Language) -> Option<(String, Value)> {
    let name = quoted(&choice.label, CHOICE_LABEL_MAX);
    match response_type {
        ResponseType::Choice | ResponseType::Confirm => {
            choice.metadata.clone().map(|metadata| (language.attached_to(&name), Value::Object(metadata)))
        }
        ResponseType::Text | ResponseType::Form => {
            let SuspensionChoice { value, label, description, metadata, style: _ } = choice;
            let all = [
                ("value", Some(Value::from(value.as_str()))),
                ("label", Some(Value::from(label.as_str()))),
                ("description", description.as_deref().map(Value::from)),
                ("metadata", metadata.clone().map(Value::Object)),
            ];
            let given = all.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
            Some((language.choice_without_button(&name), given.collect()))
        }
    }
}

pub(super) fn asked(link: &LinkView) -> Asked {
    Asked {
        agent: link.agent.clone(),
        intent_title: link.intent_title.clone(),
        question: link.question.question.clone(),
        at: link.suspension.suspended_at,
    }
}

/// How the question is answered: with what was typed, or with the defaults if nothing was sent yet.
fn answers(link: &LinkView, form: &Form, is_typed: bool, language: Language) -> Answers {
    match link.suspension.response_type {
        ResponseType::Choice | ResponseType::Confirm => Answers::Choices(Choices::new(link.suspension.choices.clone())),
        ResponseType::Text => Answers::Text { typed: form.value.clone().unwrap_or_default() },
        ResponseType::Form => {
            let schema = link.suspension.schema.clone();
            let shape = schema.as_ref().filter(|_| !is_typed).and_then(|schema| schema.shape().ok());
            let typed = shape.map_or_else(|| form.fields.clone(), |shape| shape.typed(None, language));
            Answers::Form { schema, typed }
        }
    }
}

fn plan(link: &LinkView, channels: &Channels, language: Language) -> Vec<PlanRow> {
    let plan = Plan::of(&link.suspension, &link.question, channels);
    let told =
        plan.steps.iter().map(|step| PlanRow { at: step.at, sentence: step.sentence(&link.recipient, language), end: false });
    told.chain(plan.ends_at.map(|at| PlanRow { at, sentence: plan.silence.sentence(language), end: true })).collect()
}

fn outcome(pages: &Pages, way: &Way, link: &LinkView, (tried, next): (bool, Option<Next>)) -> Outcome {
    Outcome {
        page: way.page(pages, link, next),
        asked: asked(link),
        ending: ending(link, pages.language()),
        approved: proposing::approved(link, pages.language()),
        times_path: TIMES.path(),
        tried,
        timeline: None,
        told: Vec::new(),
        now: link.now,
    }
}
