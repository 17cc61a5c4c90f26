//! The part of the answer page by which a person claims a question, releases it, hands the own place to another person, or assigns it to others.

use domain::asking::handing;
use domain::base::field::FieldError;
use domain::base::ids::SuspensionId;
use domain::base::text::visible_line;
use domain::intent::hands::HandStep;
use domain::people::authority::Action;
use domain::people::principal::Principal;
use domain::suspension::assignees::{ASSIGNEES_MAX, Assignees};
use domain::wire::{DelegateRequest, ReassignRequest};
use store::{LinkView, Request, Target, Unreadable};

use super::view::{FormError, HandRefused, HandsShown, LoginNeeded, line};

/// The texts that were typed about other people.
#[derive(Debug, Clone, Copy)]
pub(super) struct TypedHands<'a> {
    /// The address of the person who is to have the reader's place.
    pub(super) to: &'a str,
    /// The people and groups to whom the question is to be assigned.
    pub(super) who: &'a str,
}

/// The button that was pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HandButton {
    Claim,
    Release,
    Delegate,
    Reassign,
}

impl HandButton {
    /// The button with this value.
    pub(super) fn read(value: &str) -> Option<Self> {
        match value {
            "claim" => Some(Self::Claim),
            "release" => Some(Self::Release),
            "delegate" => Some(Self::Delegate),
            "reassign" => Some(Self::Reassign),
            _ => None,
        }
    }

    /// The request of the person who pressed the button, with what was typed.
    pub(super) fn request(self, principal: Principal, id: SuspensionId, typed: TypedHands<'_>) -> Request {
        let (action, command) = match self {
            Self::Claim => (Action::Claim, Ok(handing::hand(id, HandStep::Claim))),
            Self::Release => (Action::Release, Ok(handing::hand(id, HandStep::Release))),
            Self::Delegate => (Action::Delegate, handing::delegating(id, &DelegateRequest { to: typed.to.to_owned() })),
            Self::Reassign => {
                (Action::Reassign, handing::reassigning(id, ReassignRequest { assignees: typed_assignees(typed.who) }))
            }
        };
        Request::plain(principal, Target::Suspension(id), command.map_err(|errors| Unreadable { action, errors }))
    }

    /// Why the change that this button asks for was refused, with the people and groups that were typed.
    pub(super) fn refused(self, errors: &[FieldError], typed: TypedHands<'_>) -> FormError {
        let named = typed_assignees(typed.who);
        let name = |field: &str| match self {
            Self::Reassign => entry(field, "people", &named.people).or_else(|| entry(field, "groups", &named.groups)),
            Self::Claim | Self::Release | Self::Delegate => (field == "to").then_some(typed.to),
        };
        let mut refused: Vec<HandRefused> = Vec::new();
        for error in errors.iter().take(ASSIGNEES_MAX) {
            let name = name(&error.field).map(line).filter(|name| !name.is_empty());
            let rule = self.rule(error);
            // One sentence is enough for all names that break the same rule.
            match refused.iter_mut().find(|same| name.is_some() && !same.names.is_empty() && same.rule == rule) {
                Some(same) => same.names.extend(name),
                None => refused.push(HandRefused {
                    names: name.into_iter().collect(),
                    rule: rule.to_owned(),
                    reason: visible_line(&error.message),
                }),
            }
        }
        match self {
            Self::Reassign => FormError::NotReassigned(refused),
            Self::Claim | Self::Release | Self::Delegate => FormError::NotHanded(refused),
        }
    }

    /// The rule that is broken, by the name that it has among the words of the page. Where one person is named, the page speaks of no group.
    fn rule(self, error: &FieldError) -> &str {
        match (self, &*error.rule) {
            (_, "count") if error.field.starts_with("quorum") => "quorum",
            (Self::Delegate, "format") => "address",
            (Self::Delegate, "unknown") => "no_person",
            (Self::Delegate, "assigned") => "outside",
            (_, rule) => rule,
        }
    }
}

/// The entry of a list of the assignees that a field of a refusal names, such as `assignees.people[1]`.
fn entry<'a>(field: &str, list: &str, entries: &'a [String]) -> Option<&'a str> {
    let place = field.strip_prefix("assignees.")?.strip_prefix(list)?.strip_prefix('[')?.strip_suffix(']')?;
    entries.get(place.parse::<usize>().ok()?).map(String::as_str)
}

/// The people and groups that were typed: each word with an at sign is an address, and each other word is a group.
fn typed_assignees(typed: &str) -> Assignees {
    let words = typed.split(|c: char| c == ',' || c == ';' || c.is_whitespace()).filter(|word| !word.is_empty());
    let (people, groups) = words.map(str::to_owned).partition(|word: &String| word.contains('@'));
    Assignees { people, groups, ..Assignees::default() }
}

/// In whose hands the question is, for the page.
pub(super) fn hands(link: &LinkView, typed: TypedHands<'_>, login: Option<LoginNeeded>) -> HandsShown {
    let hands = &link.suspension.hands;
    let reader = link.recipient.to_lowercase();
    HandsShown {
        claim: hands.claim.as_ref().map(|claim| (claim.person.clone(), claim.at)),
        is_own: hands.claim.as_ref().is_some_and(|claim| claim.person == reader),
        handed: hands.handed.iter().map(|handed| (handed.from.clone(), handed.to.clone())).collect(),
        left_to: hands.handed.iter().rev().find(|handed| handed.from == reader).map(|handed| handed.to.clone()),
        to: typed.to.to_owned(),
        who: typed.who.to_owned(),
        login,
    }
}
