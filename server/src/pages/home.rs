//! `/`: what this server is and what to do next; in development, for the browser that was let in, also the open questions and the
//! mails.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use channels::StoredMail;
use chrono::{DateTime, Utc};
use domain::base::ids::{IntentId, SuspensionId};
use domain::base::name::{DEVELOPMENT, Owner};
use domain::base::text::{quoted, time_left};
use domain::base::words::Language;
use domain::intent::body::IntentBody;
use domain::intent::command::{Command, Suspend};
use domain::intent::status::Status;
use domain::people::principal::{Assurance, Principal, Role};
use domain::suspension::channel::EMAIL;
use domain::suspension::delivery::DeliveryState;
use domain::suspension::{Resolution, ResolutionReason, ResponseType, Suspension};
use domain::wire::SuspendRequest;
use serde_json::json;
use store::mailbox::{Asked, MailboxView, Mailed};
use store::{CreateIntent, NewIntent, Request, StoreError, Target};

use super::development::{Development, Holder, home, not_here};
use super::inbox::INBOX;
use super::language::in_languages;
use super::mailbox::login_of;
use super::posted::Posted;
use super::scripts::{HOME, TIMES};
use super::session::see_other;
use super::view::{Page, STYLESHEET, Trouble, line, machine, second};
use super::{Pages, guard};
use crate::edge::admission::Class;
use crate::edge::body;
use crate::edge::problem::RETRY_AFTER_SECONDS;
use crate::edge::shared::Shared;

/// How many mails, and how many open questions, the page shows.
const SHOWN_MAX: u32 = 50;
/// How many login links the page shows.
const LOGINS_SHOWN_MAX: usize = 5;
/// How long a question asked on this page waits, in seconds.
const TRY_SECONDS: u32 = 600;
/// The longest answer shown in a list, in characters.
const ANSWER_CHARS_MAX: usize = 40;

struct HomePage {
    page: Page,
    development: bool,
    /// Whether people can log in.
    has_login: bool,
    inside: Option<Inside>,
}

in_languages!(HomePage, "home.html");

/// The parts for the browser that was let in.
struct Inside {
    waiting: Vec<WaitingRow>,
    mails: Vec<MailRow>,
    /// The mails with login links that this process remembers.
    logins: Vec<LoginRow>,
    /// Ties the form to the browser.
    nonce: String,
    /// The text in the form.
    question: String,
    /// Why the question was not asked.
    problem: Option<String>,
    operators: Vec<String>,
    times_path: String,
    script_path: String,
}

/// A mail with a login link.
struct LoginRow {
    recipient: String,
    href: String,
    at: DateTime<Utc>,
}

/// An open question.
struct WaitingRow {
    intent_id: IntentId,
    question: String,
    agent: String,
    left: Option<String>,
    /// The address of its newest mail that can be opened.
    href: Option<String>,
}

/// A mail, and the state of its question.
struct MailRow {
    question: String,
    agent: String,
    recipient: String,
    channel: Option<String>,
    /// Where the message can be opened; absent if it cannot. See [`href`].
    href: Option<String>,
    undelivered: Option<&'static str>,
    state: String,
    at: DateTime<Utc>,
}

/// Shows the page.
pub(super) async fn show(request: HttpRequest, shared: Data<Shared>, pages: Pages) -> HttpResponse {
    if let Some(holder) = pages.holder(&request) {
        return inside(&holder, &shared, &pages, Tried::default()).await;
    }
    // A person who logged in works in the inbox.
    if let Some(token) = pages.brought_session(&request)
        && let Ok(Some(_)) = shared.store.session(token).await
    {
        return see_other(INBOX);
    }
    let page =
        HomePage { page: pages.plain(), development: pages.development.is_some(), has_login: pages.has_login(), inside: None };
    pages.page(StatusCode::OK, page.render())
}

/// A question that could not be asked, to be shown again.
#[derive(Default)]
struct Tried {
    question: Option<String>,
    problem: Option<String>,
}

async fn inside(holder: &Holder<'_>, shared: &Shared, pages: &Pages, tried: Tried) -> HttpResponse {
    let Ok(_place) = shared.admission.enter(Class::List).await else { return busy(pages, Trouble::CannotRead) };
    let Ok(view) = shared.store.mailbox(SHOWN_MAX).await else { return busy(pages, Trouble::CannotRead) };
    let now = shared.clock.now();
    let status = if tried.problem.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let inside = Inside {
        waiting: view
            .waiting
            .iter()
            .map(|asked| WaitingRow::of(asked, &view, holder.development, now, pages.language()))
            .collect(),
        mails: view
            .messages
            .iter()
            .map(|mailed| MailRow::of(mailed, href(mailed, &view, holder.development), now, pages.language()))
            .collect(),
        logins: logins(holder.development),
        nonce: pages.form_nonce(guard::Form::Development, &holder.cookie),
        question: tried.question.unwrap_or_else(|| pages.language().try_question().to_owned()),
        problem: tried.problem,
        operators: shared.asking.operators.clone(),
        times_path: TIMES.path(),
        script_path: HOME.path(),
    };
    let page = HomePage { page: pages.plain(), development: true, has_login: pages.has_login(), inside: Some(inside) };
    pages.live_page(status, page.render())
}

fn logins(development: &Development) -> Vec<LoginRow> {
    let row = |mail: &StoredMail| {
        Some(LoginRow { recipient: line(&mail.to), href: format!("/mailbox/{}", login_of(mail)?), at: mail.sent_at })
    };
    development.mailbox.messages().iter().filter_map(|mail| row(mail)).take(LOGINS_SHOWN_MAX).collect()
}

fn busy(pages: &Pages, trouble: Trouble) -> HttpResponse {
    pages.later(RETRY_AFTER_SECONDS, StatusCode::SERVICE_UNAVAILABLE, trouble, None)
}

impl WaitingRow {
    fn of(asked: &Asked, view: &MailboxView, development: &Development, now: DateTime<Utc>, language: Language) -> Self {
        let about = |mailed: &&Mailed| mailed.asked.suspension.id == asked.suspension.id;
        Self {
            intent_id: asked.suspension.intent_id,
            question: headline(asked),
            agent: line(&asked.suspension.asked_by.name),
            left: asked.suspension.ends_at().map(|at| time_left(at - now, language)),
            href: view.messages.iter().filter(about).find_map(|mailed| href(mailed, view, development)),
        }
    }
}

impl MailRow {
    fn of(mailed: &Mailed, href: Option<String>, now: DateTime<Utc>, language: Language) -> Self {
        Self {
            question: headline(&mailed.asked),
            agent: line(&mailed.asked.suspension.asked_by.name),
            recipient: line(&mailed.recipient),
            channel: (mailed.channel != EMAIL).then(|| line(&mailed.channel)),
            href,
            undelivered: undelivered(mailed.state, language),
            state: state(&mailed.asked.suspension, now, language),
            at: mailed.at,
        }
    }
}

/// The address at which a message is shown. There is one if this process remembers the message, or if the message is a mail that
/// was sent and may be rendered anew. A message to a webhook is never rendered anew.
fn href(mailed: &Mailed, view: &MailboxView, development: &Development) -> Option<String> {
    let is_known = || development.mailbox.get(&development.deliveries.message_id(mailed.id)).is_some();
    let is_mail = mailed.channel == EMAIL && mailed.state == DeliveryState::Sent;
    (is_mail && view.may_open || is_known()).then(|| format!("/mailbox/{}", mailed.id))
}

fn headline(asked: &Asked) -> String {
    line(asked.question.question.trim().lines().next().unwrap_or_default())
}

fn undelivered(state: DeliveryState, language: Language) -> Option<&'static str> {
    match state {
        DeliveryState::Queued | DeliveryState::Sending => Some(language.not_sent_yet()),
        DeliveryState::Sent => None,
        DeliveryState::Failed => Some(language.counts_as_lost()),
        DeliveryState::Bounced => Some(language.came_back()),
        DeliveryState::Obsolete => Some(language.never_sent()),
    }
}

/// The state of a question, in words.
fn state(suspension: &Suspension, now: DateTime<Utc>, language: Language) -> String {
    let Some(ending) = &suspension.ending else {
        return match suspension.ends_at() {
            Some(at) if at <= now => language.deadline_has_passed().to_owned(),
            Some(at) => language.waits_for(&time_left(at - now, language)),
            None => language.waits().to_owned(),
        };
    };
    match (ending.resolution, ending.reason) {
        (Resolution::Responded, _) => {
            let value = ending.response.as_ref().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
            language.was_answered(
                &quoted(&value.unwrap_or_default(), ANSWER_CHARS_MAX),
                &line(ending.by.as_deref().unwrap_or_default()),
            )
        }
        (Resolution::Expired, _) | (Resolution::Cancelled, Some(ResolutionReason::PortfolioDeadline)) => {
            language.no_person_answered().to_owned()
        }
        (Resolution::Cancelled, Some(ResolutionReason::Superseded)) => language.was_replaced().to_owned(),
        (Resolution::Cancelled, Some(ResolutionReason::QuorumUnmet)) => language.too_few_agreed().to_owned(),
        (Resolution::Cancelled, Some(ResolutionReason::TimeLost)) => language.lost_time().to_owned(),
        (Resolution::Cancelled, Some(ResolutionReason::Undeliverable)) => language.reached_no_person().to_owned(),
        (Resolution::Cancelled, Some(ResolutionReason::Withdrawn) | None) => language.was_withdrawn().to_owned(),
    }
}

/// The fields of the form.
#[derive(Default)]
struct Form {
    nonce: String,
    question: String,
}

impl Form {
    fn read(body: &[u8]) -> Self {
        let mut form = Self::default();
        for (name, value) in url::form_urlencoded::parse(body) {
            match name.as_ref() {
                "nonce" => form.nonce = value.into_owned(),
                // Browsers send line breaks as CR LF.
                "question" => form.question = value.replace("\r\n", "\n"),
                _ => {}
            }
        }
        form
    }
}

/// Asks the question that was typed into the form. It is checked by the same rules as an agent's question, and given to the store
/// with the same commands. This page cannot answer it: a person who opens the page has no key, and answers with the link in the
/// mail.
pub(super) async fn ask(request: HttpRequest, payload: Payload, shared: Data<Shared>, pages: Pages) -> HttpResponse {
    let Some(holder) = pages.holder(&request) else { return not_here() };
    let Ok(body) = body::read(&pages.bodies, &request, payload).await else {
        return pages.trouble(StatusCode::BAD_REQUEST, Trouble::Unreadable);
    };
    if !Pages::is_from(request.headers(), &holder.origin) {
        return pages.trouble(StatusCode::FORBIDDEN, Trouble::ForeignPage);
    }
    let posted = Posted::read(&body.bytes, &[]);
    if !posted.repeated.is_empty() {
        return pages.came_twice(&request, &posted);
    }
    let form = Form::read(&body.bytes);
    let again = |problem: String| Tried { question: Some(form.question.clone()), problem: Some(problem) };
    if !pages.form_nonce_fits(&form.nonce, guard::Form::Development, &holder.cookie) {
        return inside(&holder, &shared, &pages, again(pages.language().page_was_open_too_long().to_owned())).await;
    }
    let question = SuspendRequest {
        question: form.question.trim().to_owned(),
        response_type: Some(ResponseType::Confirm),
        timeout_seconds: Some(TRY_SECONDS),
        ..SuspendRequest::default()
    };
    let id = SuspensionId(shared.entropy.uuid(shared.clock.now()));
    let accepted = match shared.asking.accept(question, id, &Principal::server(), None) {
        Ok(accepted) => accepted,
        Err(errors) => {
            let first = errors.first().map(|error| format!("{} {}", error.field, error.message)).unwrap_or_default();
            return inside(&holder, &shared, &pages, again(first)).await;
        }
    };
    let Ok(place) = shared.admission.enter(Class::Write).await else { return busy(&pages, Trouble::CannotRead) };
    let asked = put(&shared, &form.question, accepted).await;
    drop(place);
    match asked {
        Ok(()) => home(),
        Err(StoreError::Rejected(rejection)) => inside(&holder, &shared, &pages, again(rejection.to_string())).await,
        Err(StoreError::Unavailable(_) | StoreError::Held(_) | StoreError::Damaged(_) | StoreError::Failed(_)) => {
            busy(&pages, Trouble::CannotRead)
        }
    }
}

/// Creates an intent and asks the question on it.
async fn put(shared: &Shared, title: &str, suspend: Suspend) -> Result<(), StoreError> {
    let principal = asker();
    let id = IntentId(shared.entropy.uuid(shared.clock.now()));
    let body = IntentBody {
        title: line(title),
        description: String::new(),
        created_by: DEVELOPMENT.to_owned(),
        parent_intent_id: None,
        depends_on: Vec::new(),
        constraints: json!({}),
        state: serde_json::Map::new(),
        governance_policy: None,
        confidence: 0.0,
    };
    let intent = Ok(NewIntent { id, status: Status::Active, body });
    shared.store.create(CreateIntent { principal: principal.clone(), idempotency: None, below: None, intent }).await?;
    let request = Request::plain(principal, Target::Intent(id), Ok(Command::Suspend(Box::new(suspend))));
    shared.store.execute(request).await.map(drop)
}

/// The asker of this page's questions: a principal without a key, under a name that no key may have.
fn asker() -> Principal {
    Principal {
        credential: None,
        name: DEVELOPMENT.to_owned(),
        subject: DEVELOPMENT.to_owned(),
        owner: Owner(DEVELOPMENT.to_owned()),
        role: Role::Agent,
        tied_to: None,
        client: None,
        assurance: Assurance::Server,
    }
}
