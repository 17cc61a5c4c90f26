//! The part of the answer page by which a person claims a question, releases it, or hands the own place to another person.

use domain::asking::handing;
use domain::intent::hands::HandStep;
use domain::people::authority::Action;
use domain::wire::DelegateRequest;
use store::{LinkView, Precondition, Request, Target, Unreadable};

use super::view::HandsShown;

/// The button that was pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HandButton {
    Claim,
    Release,
    Delegate,
}

impl HandButton {
    /// The button with this value.
    pub(super) fn read(value: &str) -> Option<Self> {
        match value {
            "claim" => Some(Self::Claim),
            "release" => Some(Self::Release),
            "delegate" => Some(Self::Delegate),
            _ => None,
        }
    }

    /// The request of the person who pressed the button; `to` is the typed address.
    pub(super) fn request(self, way: &Way, link: &LinkView, to: &str) -> Request {
        let id = link.suspension.id;
        let command = match self {
            Self::Claim => Ok(handing::hand(id, HandStep::Claim)),
            Self::Release => Ok(handing::hand(id, HandStep::Release)),
            Self::Delegate => handing::delegating(id, &DelegateRequest { to: to.to_owned() }),
        };
        Request {
            principal: way.principal(link),
            target: Target::Suspension(id),
            precondition: Precondition::None,
            idempotency: None,
            trace_parent: None,
            command: command.map_err(|errors| Unreadable { action: Action::Delegate, errors }),
        }
    }
}

/// In whose hands the question is, for the page.
pub(super) fn hands(link: &LinkView, to: &str) -> HandsShown {
    let hands = &link.suspension.hands;
    let reader = link.recipient.to_lowercase();
    HandsShown {
        claim: hands.claim.as_ref().map(|claim| (claim.person.clone(), claim.at)),
        is_own: hands.claim.as_ref().is_some_and(|claim| claim.person == reader),
        handed: hands.handed.iter().map(|handed| (handed.from.clone(), handed.to.clone())).collect(),
        left_to: hands.handed.iter().rev().find(|handed| handed.from == reader).map(|handed| handed.to.clone()),
        to: to.to_owned(),
    }
}
