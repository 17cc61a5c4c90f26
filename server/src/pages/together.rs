//! Several questions answered at once (`/inbox/together`): those that the person chose in the inbox, each shown whole, and one button for
//! all of them.
//!
//! Guarantee: each question is decided for itself, by the same rules as on its own page, and only a question that this page showed whole
//! is decided. Mechanism: each has a nonce of its own beside the hash of everything that was shown, and each answer is a request of its
//! own to the store. Failure: a question that changed, ended or may not be answered here stays as it is, and the page with the results
//! says why (`docs/adr/0082-questions-answered-together.md`).

use actix_web::http::StatusCode;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use domain::base::ids::SuspensionId;
use domain::problem::Rejection;
use domain::suspension::demand::RequiredAssurance;
use domain::suspension::evidence::Evidence;
use domain::suspension::proposal::Named;
use domain::suspension::{Question, ResponseType, Suspension};
use serde_json::Value;
use store::inbox::SHOWN_MAX;
use store::{LinkView, StoreError};

use super::Pages;
use super::answer::{answer, note_view};
use super::form::{Form, QUESTION};
use super::question::read;
use super::reasons::{self, Reasons};
use super::scripts::TIMES;
use super::session::{Session, see_other};
use super::view::{Apart, Choices, Line, Manner, TogetherPage, TogetherTold, Togetherness, Whole};
use super::way::tries_of;
use crate::config::Together;
use crate::edge::admission::Class;
use crate::edge::auth::to_its_end;
use crate::edge::shared::Shared;

/// Where the chosen questions are shown.
pub(super) const TOGETHER: &str = "/inbox/together";
/// Where the results are shown.
pub(super) const DONE: &str = "/inbox/together/done";
/// How many questions may be answered together: as many as one page of the inbox shows.
pub(super) const TOGETHER_MAX: usize = SHOWN_MAX;

/// Why a question is not answered together with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pages) enum Unfit {
    /// The configuration does not name its kind.
    NotNamed,
    /// It demands a passkey, a comment, or several people.
    Demands,
    /// Other people may answer it.
    NotYours,
    /// It has ended.
    Ended,
    /// It is too long to be shown at once, or its words may mislead.
    OnItsOwnPage,
}

/// Why nothing was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pages) enum Problem {
    /// More questions were chosen than may be answered together.
    TooMany,
    /// The page was not shown in this browser to this person, or was open for too long.
    PageTooOld,
    /// The button is no choice of all the questions.
    NotAChoice,
    /// A reason for a no stands beside another answer.
    ReasonWithoutNo,
    /// A field came twice in the form.
    CameTwice,
}

/// Why one answer was refused, by its name in the address of the results. It only chooses a sentence about a question that is still open.
pub(in crate::pages) const TOLD: [(&str, TogetherTold); 7] = [
    ("changed", TogetherTold::Changed),
    ("unfit", TogetherTold::Unfit),
    ("choice", TogetherTold::NotAChoice),
    ("people", TogetherTold::NotYours),
    ("tries", TogetherTold::TooManyTries),
    ("held", TogetherTold::NotSaved),
    ("unheard", TogetherTold::Unheard),
];

/// Whether a question is of a kind that may be answered together, as far as it stands in the log.
pub(super) fn fits(suspension: &Suspension, question: &Question, kinds: &[Together]) -> Result<(), Unfit> {
    // A demand that is added to questions must be thought of here, so that no question slips through.
    let Question {
        question: _,
        context: _,
        channel_hint: _,
        timeout_seconds: _,
        retry_policy: _,
        confidence_at_suspension: _,
        decision_record: _,
        recipients: _,
        asked_before: _,
        requested: _,
        client_id: _,
        required_assurance,
        assignees: _,
        risk: _,
        separation: _,
        comment_on_refusal,
        proposal,
        grounds: _,
        errand: _,
    } = question;
    if suspension.ending.is_some() {
        return Err(Unfit::Ended);
    }
    match suspension.response_type {
        ResponseType::Confirm | ResponseType::Choice => {}
        ResponseType::Text | ResponseType::Form => return Err(Unfit::NotNamed),
    }
    if !kinds.iter().any(|kind| kind.names(&suspension.asked_by.name, suspension.response_type)) {
        return Err(Unfit::NotNamed);
    }
    // A passkey signs one answer, and a login does not stay recent while several questions are read.
    let needs_more = required_assurance.is_some_and(|required| required > RequiredAssurance::Session);
    // A question that another person works on, or whose places were handed on, says so on its own page alone.
    let is_in_hands = !suspension.hands.is_untouched();
    if needs_more || comment_on_refusal.is_some() || proposal.is_some() || suspension.quorum.is_some() || is_in_hands {
        return Err(Unfit::Demands);
    }
    Ok(())
}

/// The question as it is shown whole, if it may be answered together with others.
fn whole(link: &LinkView, kinds: &[Together], manner: Manner) -> Result<Whole, Unfit> {
    fits(&link.suspension, &link.question, kinds)?;
    if !link.is_open {
        return Err(Unfit::Ended);
    }
    if !link.may_answer {
        return Err(Unfit::NotYours);
    }
    Whole::of(link, manner).ok_or(Unfit::OnItsOwnPage)
}

/// The questions that were chosen, as they are now.
struct Chosen {
    /// Those that may be answered together.
    links: Vec<(LinkView, Whole)>,
    /// Those that may not.
    apart: Vec<Apart>,
}

impl Chosen {
    /// Reads the questions one by one: each is what its own page would show.
    async fn read(ids: &[SuspensionId], session: &Session, shared: &Shared, pages: &Pages) -> Result<Self, HttpResponse> {
        let mut chosen = Self { links: Vec::new(), apart: Vec::new() };
        for id in ids {
            let Some(link) = read(session, *id, shared, pages).await? else {
                chosen.apart.push(Apart::missing());
                continue;
            };
            match whole(&link, &pages.inbox.together, pages.manner()) {
                Ok(whole) => chosen.links.push((link, whole)),
                Err(unfit) => chosen.apart.push(Apart::of(&link, unfit, pages.language())),
            }
        }
        Ok(chosen)
    }

    /// The choices that all questions have, with the same words.
    fn choices(&self) -> Choices {
        let mut links = self.links.iter().map(|(link, _)| &link.suspension.choices);
        let mut common = links.next().cloned().unwrap_or_default();
        for choices in links {
            common.retain(|choice| choices.iter().any(|other| other.value == choice.value && other.label == choice.label));
        }
        for choice in &mut common {
            // Each question shows its own descriptions.
            (choice.description, choice.metadata) = (None, None);
        }
        Choices::new(common)
    }
}

/// Shows the questions that were chosen in the inbox.
pub(super) async fn show(request: HttpRequest, shared: Data<Shared>, pages: Pages) -> HttpResponse {
    let session = match pages.session(&request, &shared).await {
        Ok(session) => session,
        Err(response) => return response,
    };
    let ids = ids(request.query_string().as_bytes());
    if ids.len() > TOGETHER_MAX {
        let nothing = Chosen { links: Vec::new(), apart: Vec::new() };
        return shown(&request, (&session, &shared, &pages), &nothing, (&Form::default(), Some(Problem::TooMany)));
    }
    let chosen = match Chosen::read(&ids, &session, &shared, &pages).await {
        Ok(chosen) => chosen,
        Err(response) => return response,
    };
    for (link, _) in &chosen.links {
        note_view(&shared, link);
    }
    shown(&request, (&session, &shared, &pages), &chosen, (&Form::default(), None))
}

/// The ids in a query or a form, each once.
fn ids(fields: &[u8]) -> Vec<SuspensionId> {
    let mut ids = Vec::new();
    for (name, value) in url::form_urlencoded::parse(fields) {
        let id = SuspensionId::parse(&value).filter(|_| name == "id");
        ids.extend(id.filter(|id| !ids.contains(id)));
    }
    ids
}

/// The page with the chosen questions.
fn shown(
    request: &HttpRequest,
    (session, shared, pages): (&Session, &Shared, &Pages),
    chosen: &Chosen,
    (form, problem): (&Form, Option<Problem>),
) -> HttpResponse {
    let (cookie, fresh) = pages.cookie(request, &*shared.entropy);
    let person = session.principal.name.clone();
    let sealed = |(link, whole): &(LinkView, Whole)| {
        let id = link.suspension.id;
        let seen = presented(link)?;
        Some(whole.clone().sealed(format!("{}.{}.{seen}", id.expose(), pages.question_nonce(&cookie, id, &person))))
    };
    let page = TogetherPage::new(
        (pages.plain(), session.visitor(pages)),
        Togetherness {
            problem,
            questions: chosen.links.iter().filter_map(sealed).collect(),
            apart: chosen.apart.clone(),
            choices: chosen.choices(),
            reasons: chosen.links.first().and_then(|(link, _)| Reasons::of(&pages.inbox.reasons, &form.reason, link)),
            comment: form.comment.clone(),
            person,
            times_path: TIMES.path(),
        },
    );
    let status = match problem {
        None => StatusCode::OK,
        Some(Problem::PageTooOld) => StatusCode::FORBIDDEN,
        Some(Problem::TooMany | Problem::NotAChoice | Problem::ReasonWithoutNo | Problem::CameTwice) => {
            StatusCode::UNPROCESSABLE_ENTITY
        }
    };
    let mut response = pages.page_under(&pages.inside_live_policy, status, page.render());
    if let Some(fresh) = fresh
        && let Err(error) = response.add_cookie(&fresh)
    {
        tracing::error!(error = %error, "failed to set the cookie of a page with several questions");
    }
    response
}

/// The hash of everything that a question shows.
fn presented(link: &LinkView) -> Option<String> {
    Evidence::of(&link.suspension, &link.question).map(|evidence| evidence.presented_hash.to_string())
}

/// A question in a form, as its page sealed it.
struct SealedQuestion {
    id: SuspensionId,
    nonce: String,
    seen: String,
}

/// The questions in a form; `None` if one of them cannot be read, or if there are none.
fn sealed(fields: &[u8]) -> Option<Vec<SealedQuestion>> {
    let mut questions: Vec<SealedQuestion> = Vec::new();
    for (_, value) in url::form_urlencoded::parse(fields).filter(|(name, _)| name == QUESTION) {
        let mut parts = value.splitn(3, '.');
        let (id, nonce, seen) = (parts.next()?, parts.next()?, parts.next()?);
        let id = SuspensionId::parse(id)?;
        if !questions.iter().any(|question| question.id == id) {
            questions.push(SealedQuestion { id, nonce: nonce.to_owned(), seen: seen.to_owned() });
        }
    }
    (!questions.is_empty()).then_some(questions)
}

/// Takes one answer for each question, and leads to the results.
pub(super) async fn decide(
    request: HttpRequest,
    payload: Payload,
    shared: Data<Shared>,
    pages: Pages,
) -> Result<HttpResponse, actix_web::Error> {
    let body = match pages.posted(&request, payload).await {
        Ok(body) => body,
        Err(refusal) => return Ok(refusal),
    };
    let session = match pages.session(&request, &shared).await {
        Ok(session) => session,
        Err(response) => return Ok(response),
    };
    to_its_end(async move {
        let form = Form::read(&body.bytes);
        decided(&request, (&session, &shared, &pages), (&form, sealed(&body.bytes))).await
    })
    .await
}

async fn decided(
    request: &HttpRequest,
    (session, shared, pages): (&Session, &Shared, &Pages),
    (form, questions): (&Form, Option<Vec<SealedQuestion>>),
) -> HttpResponse {
    let questions = questions.unwrap_or_default();
    if questions.len() > TOGETHER_MAX {
        let nothing = Chosen { links: Vec::new(), apart: Vec::new() };
        return shown(request, (session, shared, pages), &nothing, (form, Some(Problem::TooMany)));
    }
    let ids: Vec<SuspensionId> = questions.iter().map(|question| question.id).collect();
    let chosen = match Chosen::read(&ids, session, shared, pages).await {
        Ok(chosen) => chosen,
        Err(response) => return response,
    };
    let cookie = pages.brought_cookie(request).filter(|_| form.person() == session.principal.name);
    let fits = |question: &SealedQuestion| {
        let fits = |cookie: &String| pages.question_nonce_fits(&question.nonce, cookie, question.id, form.person());
        cookie.as_ref().is_some_and(fits)
    };
    if questions.is_empty() || !questions.iter().all(fits) {
        return shown(request, (session, shared, pages), &chosen, (&Form::default(), Some(Problem::PageTooOld)));
    }
    if !form.repeated.is_empty() {
        return shown(request, (session, shared, pages), &chosen, (form, Some(Problem::CameTwice)));
    }
    let value = Value::from(form.value.clone().unwrap_or_default());
    let links = || chosen.links.iter().map(|(link, _)| link);
    if links().any(|link| link.suspension.choice(&value).is_none()) {
        return shown(request, (session, shared, pages), &chosen, (form, Some(Problem::NotAChoice)));
    }
    if links().any(|link| reasons::check(&form.reason, link, &value, pages.language()).is_err()) {
        return shown(request, (session, shared, pages), &chosen, (form, Some(Problem::ReasonWithoutNo)));
    }
    let mut results = url::form_urlencoded::Serializer::new(String::new());
    for question in &questions {
        let link = links().find(|link| link.suspension.id == question.id);
        let told = match link {
            None => Some(TogetherTold::Unfit),
            Some(link) if presented(link).as_ref() != Some(&question.seen) => Some(TogetherTold::Changed),
            Some(link) => decide_one((session, shared, pages), link, &value, form).await.err(),
        };
        let name = told.and_then(|told| TOLD.iter().find(|(_, other)| *other == told)).map(|(name, _)| format!(".{name}"));
        results.append_pair("q", &format!("{}{}", question.id.expose(), name.unwrap_or_default()));
    }
    see_other(&format!("{DONE}?{}", results.finish()))
}

/// Sends the answer to one question through the one door.
async fn decide_one(
    (session, shared, pages): (&Session, &Shared, &Pages),
    link: &LinkView,
    value: &Value,
    form: &Form,
) -> Result<(), TogetherTold> {
    if pages.posts.check_key(&tries_of(link.suspension.id, &session.principal.name)).is_err() {
        return Err(TogetherTold::TooManyTries);
    }
    let Ok(_place) = shared.admission.enter(Class::Respond).await else { return Err(TogetherTold::NotSaved) };
    match shared.store.execute(answer(session.principal.clone(), link, value.clone(), Named::default(), form)).await {
        Ok(_) => Ok(()),
        Err(StoreError::Rejected(Rejection::InvalidChoice { .. })) => Err(TogetherTold::NotAChoice),
        Err(StoreError::Rejected(Rejection::NotAssigned | Rejection::SelfResponse)) => Err(TogetherTold::NotYours),
        Err(StoreError::Rejected(_)) => Err(TogetherTold::Unfit),
        // The store has written nothing only after `Held`.
        Err(StoreError::Held(_)) => Err(TogetherTold::NotSaved),
        Err(StoreError::Unavailable(_) | StoreError::Damaged(_) | StoreError::Failed(_)) => Err(TogetherTold::Unheard),
    }
}

/// Shows the result for each question, as it stands now.
pub(super) async fn done(request: HttpRequest, shared: Data<Shared>, pages: Pages) -> HttpResponse {
    let session = match pages.session(&request, &shared).await {
        Ok(session) => session,
        Err(response) => return response,
    };
    let mut lines = Vec::new();
    let query = url::form_urlencoded::parse(request.query_string().as_bytes());
    for (_, value) in query.filter(|(name, _)| name == "q").take(TOGETHER_MAX) {
        let (id, told) = value.split_once('.').unwrap_or((&value, ""));
        let told = TOLD.iter().find(|(name, _)| *name == told).map(|(_, told)| *told);
        let Some(id) = SuspensionId::parse(id) else { continue };
        match read(&session, id, &shared, &pages).await {
            Ok(Some(link)) => lines.push(Line::of(&link, told, pages.language())),
            Ok(None) => {}
            Err(response) => return response,
        }
    }
    let page = super::view::TogetherDonePage::new((pages.plain(), session.visitor(&pages)), lines, TIMES.path());
    pages.page_under(&pages.inside_live_policy, StatusCode::OK, page.render())
}
