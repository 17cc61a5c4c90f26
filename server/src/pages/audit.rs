//! The audit pages: what was asked, who was asked, and how it ended, for auditors and admins who logged in. They change nothing.

use std::borrow::Cow;

use actix_web::http::StatusCode;
use actix_web::http::header::CONTENT_DISPOSITION;
use actix_web::web::{Data, Path, Payload};
use actix_web::{HttpRequest, HttpResponse};
use chrono::{DateTime, Datelike as _, Days, NaiveDate, Utc};
use domain::base::field::FieldError;
use domain::base::ids::IntentId;
use domain::base::time::rfc3339;
use domain::base::words::Language;
use domain::people::authority::{Action, Object, authorize};
use domain::people::hold::HoldScope;
use domain::problem::{Rejection, edge};
use serde_json::Value;
use store::StoreError;
use store::audit::{AuditFilter, Found, FoundQuestion, Outcome};
use store::overview::{Overview, OverviewFilter};

use super::inbox::typed_fields;
use super::language::in_languages;
use super::session::Session;
use super::session::see_other;
use super::view::{
    Held, INSIDE_STYLESHEET as STYLESHEET, Manner, OverviewPage, Page, RecordPage, Trouble, Visitor, line, machine, second,
};
use super::{AUDIT, Pages};
use crate::edge::admission::Class;
use crate::edge::export;
use crate::edge::problem::{Failure, Problem};
use crate::edge::shared::Shared;

/// How many people one line of the list names.
const PEOPLE_MAX: usize = 5;
/// The outcomes by their names in the search.
const OUTCOMES: [(&str, Outcome); 6] = [
    ("waiting", Outcome::Waiting),
    ("answered", Outcome::Answered),
    ("not_answered", Outcome::NotAnswered),
    ("withdrawn", Outcome::Withdrawn),
    ("replaced", Outcome::Replaced),
    ("not_reached", Outcome::NotReached),
];

struct RefusedPage {
    page: Page,
    visitor: Visitor,
}

in_languages!(RefusedPage, "refused.html");

struct NoRecordPage {
    page: Page,
    visitor: Visitor,
    /// Whether there is an intent, with a log too long for a page.
    is_too_long: bool,
}

in_languages!(NoRecordPage, "norecord.html");

struct AuditPage {
    page: Page,
    visitor: Visitor,
    typed: Typed,
    problems: Vec<Wrong>,
    rows: Vec<Row>,
    looked_at: u32,
    looked_to: Option<DateTime<Utc>>,
    /// Where the search goes on.
    next: Option<String>,
    /// The legal holds in force.
    holds: Vec<Held>,
    /// How many days content is kept.
    days: Option<i64>,
    /// The fields of the export of this search; absent if there is none.
    exported: Option<Vec<(&'static str, String)>>,
}

in_languages!(AuditPage, "audit.html");

impl AuditPage {
    fn is_wrong(&self, field: &str) -> bool {
        self.problems.iter().any(|wrong| wrong.field() == field)
    }
}

/// A fault of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    /// The first day is no date.
    From,
    /// The last day is no date.
    To,
    /// The last day is before the first one.
    Order,
    Outcome,
    Intent,
}

impl Wrong {
    /// The name of the field.
    fn field(self) -> &'static str {
        match self {
            Self::From => "from",
            Self::To | Self::Order => "to",
            Self::Outcome => "outcome",
            Self::Intent => "intent",
        }
    }

    /// The rule that the field breaks; absent if it breaks one together with another field.
    fn text(self, language: Language) -> Option<&'static str> {
        match self {
            Self::From | Self::To => Some(language.not_a_date()),
            Self::Order => None,
            Self::Outcome => Some(language.no_such_outcome()),
            Self::Intent => Some(language.not_an_intent_id()),
        }
    }
}

struct NoExportPage {
    page: Page,
    visitor: Visitor,
    why: NotExported,
}

/// Why nothing was exported.
enum NotExported {
    /// These fields break a rule.
    Fields(Vec<FieldError>),
    /// The log refused it.
    Refused(String),
    /// A stored event is damaged.
    Damaged {
        detail: String,
        /// The intent of the event.
        intent: Option<String>,
    },
    /// The server is busy, or failed.
    NotNow,
}

in_languages!(NoExportPage, "noexport.html");

/// A question in the list.
struct Row {
    intent_id: IntentId,
    /// The first line; absent if the question cannot be read.
    question: Option<String>,
    agent: String,
    at: DateTime<Utc>,
    outcome: Outcome,
    ended_at: Option<DateTime<Utc>>,
    by: Option<String>,
    asked: String,
}

impl Row {
    fn of(found: FoundQuestion, language: Language) -> Self {
        let FoundQuestion { suspension, question, asked } = found;
        let outcome = Outcome::of(&suspension);
        let names: Vec<String> = asked.iter().take(PEOPLE_MAX).map(|name| line(name)).collect();
        // No question is asked without words, so one without them was erased.
        let headline = |question: String| match line(question.trim().lines().next().unwrap_or_default()) {
            _ if question.is_empty() => language.erased().to_owned(),
            empty if empty.is_empty() => language.empty().to_owned(),
            headline => headline,
        };
        Self {
            intent_id: suspension.intent_id,
            question: question.map(headline),
            agent: line(&suspension.asked_by.name),
            at: suspension.suspended_at,
            outcome,
            ended_at: suspension.ending.as_ref().map(|ending| ending.at),
            by: suspension.ending.and_then(|ending| ending.by).map(|by| line(&by)),
            asked: if asked.is_empty() { String::new() } else { language.people(&names, asked.len() - names.len()) },
        }
    }
}

/// The fields of the search as they were typed.
#[derive(Clone, Default)]
struct Typed {
    from: String,
    to: String,
    agent: String,
    person: String,
    outcome: String,
    words: String,
    intent: String,
    before: String,
}

impl Typed {
    fn read(query: &str) -> Self {
        let mut typed = Self::default();
        for (name, value, _) in typed_fields(query) {
            match name.as_str() {
                "from" => typed.from = value,
                "to" => typed.to = value,
                "agent" => typed.agent = value,
                "person" => typed.person = value,
                "outcome" => typed.outcome = value,
                "words" => typed.words = value,
                "intent" => typed.intent = value,
                "before" => typed.before = value,
                _ => {}
            }
        }
        typed
    }

    /// The search, and what is wrong with it.
    fn filter(&self, manner: Manner) -> (AuditFilter, Vec<Wrong>) {
        let mut problems = Vec::new();
        let mut day = |text: &str, days: u64, wrong: Wrong| {
            let day = text.parse::<NaiveDate>().ok().and_then(|day| manner.day(day.checked_add_days(Days::new(days))?));
            if !text.is_empty() && day.is_none() {
                problems.push(wrong);
            }
            day
        };
        // The last day of a search belongs to it.
        let (from, to) = (day(&self.from, 0, Wrong::From), day(&self.to, 1, Wrong::To));
        if from.zip(to).is_some_and(|(from, to)| to <= from) {
            problems.push(Wrong::Order);
        }
        let named = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let outcome = OUTCOMES.iter().find(|(name, _)| *name == self.outcome).map(|(_, outcome)| *outcome);
        if !self.outcome.is_empty() && outcome.is_none() {
            problems.push(Wrong::Outcome);
        }
        let filter = AuditFilter {
            from,
            to,
            agent: named(&self.agent),
            person: named(&self.person),
            outcome,
            words: self.words.split_whitespace().map(str::to_owned).collect(),
            before: self.before.parse().ok(),
        };
        (filter, problems)
    }

    /// The address at which the search goes on.
    fn next(&self, before: i64) -> String {
        let fields = [
            ("from", &self.from),
            ("to", &self.to),
            ("agent", &self.agent),
            ("person", &self.person),
            ("outcome", &self.outcome),
            ("words", &self.words),
        ];
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(fields.into_iter().filter(|(_, value)| !value.is_empty()));
        query.append_pair("before", &before.to_string());
        format!("{AUDIT}?{}", query.finish())
    }
}

/// The fields of an export that selects by what the search selects, apart from the words. `None` if no export selects by its outcome: an
/// export without this field would have more than the page shows.
fn exported(filter: &AuditFilter) -> Option<Vec<(&'static str, String)>> {
    let outcome = match filter.outcome {
        None => None,
        Some(Outcome::Answered) => Some("answered"),
        Some(Outcome::NotReached) => Some("undeliverable"),
        // An export goes by the type of the event that ended the question. No event ended these, or one that also ends others.
        Some(Outcome::Waiting | Outcome::NotAnswered | Outcome::Withdrawn | Outcome::Replaced) => return None,
    };
    // The day after the last one of the calendar has no form that every program reads, and every event is before it.
    let to = filter.to.filter(|to| to.year() <= 9_999);
    let fields = [
        ("from", filter.from.map(rfc3339)),
        ("to", to.map(rfc3339)),
        ("agent", filter.agent.clone()),
        ("person", filter.person.clone()),
        ("outcome", outcome.map(str::to_owned)),
    ];
    Some(fields.into_iter().filter_map(|(name, value)| Some((name, value?))).collect())
}

/// The session of an auditor or an admin. Other people get a page that says why they see nothing.
async fn admitted(request: &HttpRequest, shared: &Shared, pages: &Pages) -> Result<Session, HttpResponse> {
    let session = pages.session(request, shared).await?;
    if authorize(&session.principal, Action::Export, Object::Server).is_err() {
        let page = RefusedPage { page: pages.plain(), visitor: session.visitor(pages) };
        return Err(pages.inside_page(StatusCode::FORBIDDEN, page.render()));
    }
    Ok(session)
}

/// Shows the search and what it found. An id of an intent leads to its record.
pub(super) async fn show(request: HttpRequest, shared: Data<Shared>, pages: Pages) -> HttpResponse {
    let session = match admitted(&request, &shared, &pages).await {
        Ok(session) => session,
        Err(response) => return response,
    };
    let typed = Typed::read(request.query_string());
    if let Ok(id) = typed.intent.parse::<IntentId>() {
        return see_other(&format!("{AUDIT}/{id}"));
    }
    let (filter, mut problems) = typed.filter(pages.manner());
    if !typed.intent.is_empty() {
        problems.push(Wrong::Intent);
    }
    let Ok(_place) = shared.admission.enter(Class::List).await else { return pages.cannot_read() };
    let found = if problems.is_empty() {
        match shared.store.search(session.principal.clone(), Ok(filter.clone())).await {
            Ok(found) => found,
            Err(_) => return pages.cannot_read(),
        }
    } else {
        Found::default()
    };
    let Ok(holds) = shared.store.holds(session.principal.clone()).await else { return pages.cannot_read() };
    let Found { questions, looked_at, looked_to, next } = found;
    let (status, exported) =
        if problems.is_empty() { (StatusCode::OK, exported(&filter)) } else { (StatusCode::UNPROCESSABLE_ENTITY, None) };
    let page = AuditPage {
        page: pages.plain(),
        visitor: session.visitor(&pages),
        problems,
        rows: questions.into_iter().map(|found| Row::of(found, pages.language())).collect(),
        looked_at,
        looked_to,
        next: next.map(|before| typed.next(before)),
        holds: holds.into_iter().map(Held::of).collect(),
        days: pages.retention.map(|kept| kept.num_days()),
        exported,
        typed,
    };
    pages.inside_page(status, page.render())
}

/// Shows the newest questions in numbers.
pub(super) async fn overview(request: HttpRequest, shared: Data<Shared>, pages: Pages) -> HttpResponse {
    let session = match admitted(&request, &shared, &pages).await {
        Ok(session) => session,
        Err(response) => return response,
    };
    let typed = Typed::read(request.query_string());
    // The overview has no other fields that can be wrong.
    let (AuditFilter { to, agent, .. }, problems) =
        Typed { agent: typed.agent.clone(), to: typed.to.clone(), ..Typed::default() }.filter(pages.manner());
    let problem = problems.first().and_then(|wrong| wrong.text(pages.language()));
    let Ok(_place) = shared.admission.enter(Class::List).await else { return pages.cannot_read() };
    let found = match problem {
        None => shared.store.overview(session.principal.clone(), Ok(OverviewFilter { to, agent })).await,
        Some(_) => Ok(Overview::default()),
    };
    let Ok(found) = found else { return pages.cannot_read() };
    let status = if problem.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let page = OverviewPage::new((pages.plain(), session.visitor(&pages)), (typed.to, typed.agent, problem), &found);
    pages.inside_page(status, page.render())
}

/// Shows the record of one intent, verified while the page is made.
pub(super) async fn record(request: HttpRequest, id: Path<String>, shared: Data<Shared>, pages: Pages) -> HttpResponse {
    let session = match admitted(&request, &shared, &pages).await {
        Ok(session) => session,
        Err(response) => return response,
    };
    let Ok(_place) = shared.admission.enter(Class::List).await else { return pages.cannot_read() };
    let record = match id.parse::<IntentId>() {
        Ok(id) => shared.store.record(session.principal.clone(), id).await,
        Err(_) => Err(StoreError::Rejected(Rejection::NotFound)),
    };
    let visitor = session.visitor(&pages);
    let (status, is_too_long) = match record {
        Ok(Some(record)) => {
            return pages.inside_page(StatusCode::OK, RecordPage::new(pages.plain(), visitor, record, pages.retention).render());
        }
        Ok(None) => (StatusCode::OK, true),
        Err(StoreError::Rejected(_)) => (StatusCode::NOT_FOUND, false),
        Err(_) => return pages.cannot_read(),
    };
    pages.inside_page(status, NoRecordPage { page: pages.plain(), visitor, is_too_long }.render())
}

/// Sends an export as a file. It is asked for by a form of the session, because each export is an event of the server's log.
pub(super) async fn export(request: HttpRequest, payload: Payload, shared: Data<Shared>, pages: Pages) -> HttpResponse {
    let body = match pages.posted(&request, payload).await {
        Ok(body) => body,
        Err(refusal) => return refusal,
    };
    let session = match admitted(&request, &shared, &pages).await {
        Ok(session) => session,
        Err(response) => return response,
    };
    let fields = url::form_urlencoded::parse(&body.bytes);
    let (nonces, wishes): (Vec<_>, Vec<_>) = fields.partition(|(name, _)| name == "nonce");
    // Nothing was typed that could be sent again. The export itself refuses another field that comes twice.
    if !matches!(&nonces[..], [(_, nonce)] if session.fits(nonce, &pages)) {
        return pages.trouble(StatusCode::FORBIDDEN, Trouble::ForeignPage);
    }
    let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(&wishes).finish();
    let name = format!("attachment; filename=\"{}\"", file_name(&wishes));
    let visitor = session.visitor(&pages);
    let Ok(_place) = shared.admission.enter(Class::List).await else {
        return not_exported_page(StatusCode::SERVICE_UNAVAILABLE, NotExported::NotNow, visitor, &pages);
    };
    match export::export(&query, &shared, session.into_reader()).await {
        Ok(mut download) => {
            if let Ok(name) = name.parse() {
                download.headers_mut().insert(CONTENT_DISPOSITION, name);
            }
            download
        }
        Err(Problem(failure)) => not_exported(failure, visitor, &pages),
    }
}

/// The name of the file: an export of everything, of one record and of a selection each have another one.
fn file_name(wishes: &[(Cow<'_, str>, Cow<'_, str>)]) -> String {
    let wish = |wanted: &str| wishes.iter().find(|(name, _)| name == wanted).map(|(_, value)| &**value);
    let ending = if wish("format") == Some("csv") { "csv" } else { "jsonl" };
    // The header must have no text that came from outside.
    let id = wish("intent_id").and_then(|id| id.parse::<IntentId>().ok());
    let is_whole = wishes.iter().all(|(name, _)| name == "format");
    let kind = id.map_or_else(|| if is_whole { "log" } else { "selection" }.to_owned(), |id| id.to_string());
    format!("placet-{kind}.{ending}")
}

/// The page that says why nothing was exported.
fn not_exported(failure: Failure, visitor: Visitor, pages: &Pages) -> HttpResponse {
    let Failure { entry, detail, more } = failure;
    if entry.code == Rejection::LogNotSigned.entry().code {
        return pages.trouble(StatusCode::CONFLICT, Trouble::NoExport);
    }
    let status = StatusCode::from_u16(entry.status).unwrap_or(StatusCode::UNPROCESSABLE_ENTITY);
    let why = if entry == edge::DAMAGED {
        let intent = more.members.get("intent_id").and_then(Value::as_str).map(str::to_owned);
        NotExported::Damaged { detail, intent }
    } else if entry.status >= 500 {
        NotExported::NotNow
    } else if more.errors.is_empty() {
        NotExported::Refused(detail)
    } else {
        NotExported::Fields(more.errors)
    };
    not_exported_page(status, why, visitor, pages)
}

fn not_exported_page(status: StatusCode, why: NotExported, visitor: Visitor, pages: &Pages) -> HttpResponse {
    pages.inside_page(status, NoExportPage { page: pages.plain(), visitor, why }.render())
}
