//! The inbox, as it is shown.

use chrono::{DateTime, Utc};
use domain::base::words::Language;
use domain::people::principal::{Principal, Role};
use domain::suspension::demand::Risk;
use domain::suspension::requested::{APPROVE, DENY};
use domain::suspension::{Kind, NO, Question, Resolution, ResponseType, Suspension, SuspensionChoice, YES};
use store::audit::Outcome;
use store::inbox::{COUNTED_MAX, Inbox, InboxQuestion, List, Tally};
use uuid::Uuid;

use super::super::inbox::{DUES, INBOX, KINDS, LISTS, Problem, RISKS, mark};
use super::super::language::in_languages;
use super::super::said::{in_short, said};
use super::super::together::{TOGETHER, TOGETHER_MAX, fits};
use super::moment::{Countdown, Manner, machine, minute, second};
use super::{INSIDE_STYLESHEET as STYLESHEET, Page, Visitor, line, phrase};
use crate::config::Together;

/// How many people one question names.
const PEOPLE_MAX: usize = 5;
/// How many choices one question shows: those that have a key.
const CHOICES_MAX: usize = 9;

/// The page.
pub(in crate::pages) struct InboxPage {
    pub page: Page,
    pub visitor: Visitor,
    pub typed: TypedSearch,
    pub problems: Vec<Problem>,
    pub shown: Shown,
    pub times_path: String,
    pub script_path: String,
}

in_languages!(InboxPage, "inbox.html");

/// The part of the page with the list.
pub(in crate::pages) struct InboxListPage {
    pub shown: Shown,
    pub manner: Manner,
}

in_languages!(InboxListPage, "inboxlist.html", |this| this.manner);

/// The fields of the search as they were typed.
#[derive(Clone, Debug, Default)]
pub(in crate::pages) struct TypedSearch {
    pub list: String,
    pub words: String,
    pub agent: String,
    pub kind: String,
    pub due: String,
    pub risk: String,
    pub after: String,
    pub is_too_long: bool,
}

impl TypedSearch {
    fn has_conditions(&self) -> bool {
        [&self.agent, &self.kind, &self.due, &self.risk].into_iter().any(|field| !field.is_empty())
    }

    /// The address of a list under the same conditions.
    fn address(&self, list: List, after: Option<String>) -> String {
        let name = LISTS.iter().find(|(_, other)| *other == list).map_or("", |(name, _)| name);
        let fields =
            [("words", &self.words), ("agent", &self.agent), ("kind", &self.kind), ("due", &self.due), ("risk", &self.risk)];
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.append_pair("list", name);
        query.extend_pairs(fields.into_iter().filter(|(_, value)| !value.is_empty()));
        query.extend_pairs(after.map(|after| ("after", after)));
        format!("{INBOX}?{}", query.finish())
    }
}

/// A list of questions.
pub(in crate::pages) struct Shown {
    mark: String,
    list: List,
    role: Role,
    tabs: Vec<Tab>,
    rows: Vec<Row>,
    looked_at: u32,
    /// Whether the search was not made, because it is wrong.
    is_refused: bool,
    /// Whether the list is searched under conditions.
    is_filtered: bool,
    /// The address of the list without conditions.
    plain: String,
    /// Where the list goes on.
    next: Option<String>,
    /// Whether questions of the list may be chosen to be answered together.
    offers_together: bool,
    now: DateTime<Utc>,
}

/// The way to a list.
struct Tab {
    list: List,
    href: String,
    tally: Option<Tally>,
}

/// A question.
struct Row {
    /// The id, for the addresses of the question: a person who logged in and may read the list may read the question.
    id: Uuid,
    /// The first line; absent if the question cannot be read.
    question: Option<String>,
    agent: String,
    kind: Kind,
    /// The risk that the agent declares.
    risk: Option<Risk>,
    at: DateTime<Utc>,
    left: Option<Left>,
    soon: bool,
    ended: Option<Ended>,
    /// The answer in few words, if a person gave one.
    answer: Option<String>,
    /// How many people have given the approval that most have given, and how many must, as the record says.
    approvals: Option<(u32, u32)>,
    people: String,
    is_assigned: bool,
    /// The value of the box by which it is chosen; absent if it may not be answered together with others.
    pick: Option<Uuid>,
    /// All words of an open question that can be read.
    words: Option<String>,
    /// Whether the agent asks the same question more than once on this page.
    same: Same,
    choices: Vec<Offered>,
    more_choices: usize,
    may_claim: bool,
    claim: Option<Claimed>,
}

/// The person who works on a question.
struct Claimed {
    person: String,
    /// Whether that is the person who looks.
    is_own: bool,
}

/// Whether the same question stands on the page more than once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Same {
    /// It does not.
    Once,
    /// This is the first of so many.
    First { times: usize },
    /// The first one stands above.
    Again,
}

/// The time until a deadline.
struct Left {
    at: DateTime<Utc>,
    text: String,
    ms: i64,
}

/// How a question ended.
struct Ended {
    outcome: Outcome,
    at: DateTime<Utc>,
    by: Option<String>,
    /// The other person in whose place that person answered.
    in_place_of: Option<String>,
}

/// A choice, which leads to the question.
struct Offered {
    index: usize,
    label: String,
    /// Whether it is the yes or the no of a question.
    says: Option<&'static str>,
}

impl Shown {
    pub(in crate::pages) fn new(
        (principal, kinds): (&Principal, &[Together]),
        typed: &TypedSearch,
        list: List,
        found: Inbox,
        language: Language,
    ) -> Self {
        let tally = |list: List| found.tallies.iter().find(|(counted, _)| *counted == list).map(|(_, tally)| *tally);
        let tab = |list: List| Tab { list, href: typed.address(list, None), tally: tally(list) };
        let is_filtered = typed.has_conditions() || !typed.words.is_empty();
        Self {
            mark: mark(&found),
            list,
            role: principal.role,
            tabs: List::ALL.into_iter().map(tab).collect(),
            looked_at: found.looked_at,
            is_refused: !typed.filter().1.is_empty(),
            is_filtered,
            plain: TypedSearch::default().address(list, None),
            next: found.next.map(|next| typed.address(list, Some(next.to_string()))),
            now: found.now,
            offers_together: list != List::Done && !kinds.is_empty(),
            rows: beside_each_other(
                found.questions.into_iter().map(|asked| Row::of(asked, found.now, (principal, kinds), language)).collect(),
            ),
        }
    }

    /// How many questions wait for the person; absent if that was not counted, and for auditors, who answer none.
    fn mine(&self) -> Option<Tally> {
        let mine = self.tabs.iter().find(|tab| tab.list == List::Mine)?;
        mine.tally.filter(|_| !self.is_filtered && !self.is_auditor())
    }

    /// Whether a question of this page can be chosen to be answered together with others.
    fn has_boxes(&self) -> bool {
        self.rows.iter().any(|row| row.pick.is_some())
    }

    fn is_auditor(&self) -> bool {
        self.role == Role::Auditor
    }
}

impl Row {
    fn of(asked: InboxQuestion, now: DateTime<Utc>, (principal, kinds): (&Principal, &[Together]), language: Language) -> Self {
        let InboxQuestion { suspension, question, approvals, in_place_of } = asked;
        let is_open = suspension.ending.is_none();
        let countdown = suspension.expires_at.map(|at| Countdown::new(suspension.suspended_at, at, now, language));
        let assignees = question.as_ref().and_then(|question| question.assignees.as_ref());
        let is_assigned = assignees.is_some();
        let people = assignees.map(|assignees| assignees.in_words(language));
        let people = people.or_else(|| question.as_ref().map(|question| question.recipients.clone())).unwrap_or_default();
        let named: Vec<String> = people.iter().take(PEOPLE_MAX).map(|person| phrase(person)).collect();
        let choices = offered(&suspension);
        let is_fit = |question: &&Question| fits(&suspension, question, kinds).is_ok();
        let words = question.as_ref().filter(|_| is_open).map(|question| words_of(&question.question));
        let answer = answered(&suspension, question.as_ref(), language);
        Self {
            id: suspension.id.0,
            pick: question.as_ref().filter(is_fit).map(|_| suspension.id.0),
            same: Same::Once,
            answer,
            words,
            risk: question.as_ref().and_then(|question| question.risk),
            question: question.map(|question| headline(&question.question, language)),
            agent: line(&suspension.asked_by.name),
            kind: suspension.kind,
            at: suspension.suspended_at,
            soon: is_open && countdown.as_ref().is_some_and(|countdown| countdown.soon),
            left: countdown.map(|countdown| Left { at: countdown.at, text: countdown.left, ms: countdown.left_ms }),
            ended: suspension.ending.as_ref().map(|ending| Ended {
                outcome: Outcome::of(&suspension),
                at: ending.at,
                by: ending.by.as_deref().map(phrase),
                in_place_of: in_place_of.as_deref().map(phrase),
            }),
            approvals: approvals.map(|tally| (tally.given, tally.needed)),
            people: if named.is_empty() { String::new() } else { language.people(&named, people.len() - named.len()) },
            is_assigned,
            more_choices: if is_open { suspension.choices.len() - choices.len() } else { 0 },
            may_claim: is_open && principal.role != Role::Auditor,
            claim: suspension.hands.claim.as_ref().map(|claim| Claimed {
                person: phrase(&claim.person),
                is_own: claim.person.eq_ignore_ascii_case(&principal.subject),
            }),
            choices,
        }
    }
}

/// The answer to a question in few words, if a person gave one.
fn answered(suspension: &Suspension, question: Option<&Question>, language: Language) -> Option<String> {
    let ending = suspension.ending.as_ref().filter(|ending| ending.resolution == Resolution::Responded)?;
    let value = ending.response.as_ref()?;
    let label = suspension.choice(value).map(|choice| choice.label.as_str());
    let context = question.map(|question| &question.context).cloned().unwrap_or_default();
    let said = said(suspension.schema.as_deref(), &context, value, language);
    Some(in_short(label, &said, value, language))
}

/// The words of a question without the space between them.
fn words_of(question: &str) -> String {
    question.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Puts questions that one agent asks in the same words beside each other, at the place of the first of them. Each is still answered for
/// itself.
fn beside_each_other(rows: Vec<Row>) -> Vec<Row> {
    let mut groups: Vec<Vec<Row>> = Vec::with_capacity(rows.len());
    for row in rows {
        let is_same = |group: &&mut Vec<Row>| {
            group.first().is_some_and(|first| row.words.is_some() && (&first.agent, &first.words) == (&row.agent, &row.words))
        };
        match groups.iter_mut().find(is_same) {
            Some(group) => group.push(Row { same: Same::Again, ..row }),
            None => groups.push(vec![row]),
        }
    }
    for group in &mut groups {
        let times = group.len();
        if let Some(first) = group.first_mut().filter(|_| times > 1) {
            first.same = Same::First { times };
        }
    }
    groups.into_iter().flatten().collect()
}

/// The choices of an open question that have a key.
fn offered(suspension: &Suspension) -> Vec<Offered> {
    if suspension.ending.is_some() {
        return Vec::new();
    }
    let says = |choice: &SuspensionChoice| match choice.value.as_str() {
        YES | APPROVE => Some("yes"),
        NO | DENY => Some("no"),
        _ => None,
    };
    let offer = |(index, choice): (usize, &SuspensionChoice)| Offered {
        index,
        label: phrase(if choice.label.trim().is_empty() { &choice.value } else { &choice.label }),
        says: says(choice).filter(|_| suspension.response_type == ResponseType::Confirm || suspension.choices.len() == 2),
    };
    suspension.choices.iter().enumerate().take(CHOICES_MAX).map(offer).collect()
}

/// The first line of a question.
fn headline(question: &str, language: Language) -> String {
    match line(question.trim().lines().next().unwrap_or_default()) {
        empty if empty.is_empty() => language.empty().to_owned(),
        headline => headline,
    }
}
