//! How a question ended, and what happens if no person answers it, as pages tell it.

use domain::base::words::Language;
use domain::suspension::{FallbackPolicy, Resolution, ResolutionReason};
use serde_json::Value;
use store::LinkView;

use super::said::said;
use super::view::{Ending, Given, Silence};

fn given(link: &LinkView, value: Option<&Value>, language: Language) -> Given {
    let value = value.cloned().unwrap_or_default();
    let said = said(link.suspension.schema.as_deref(), &link.question.context, &value, language);
    Given { label: link.suspension.choice(&value).map(|choice| choice.label.clone()), value, said }
}

pub(super) fn silence(link: &LinkView, language: Language) -> Silence {
    if !link.suspension.kind.stops_intent() {
        Silence::Beside
    } else if link.suspension.policy_in_silence() == FallbackPolicy::Fail {
        Silence::Ends
    } else {
        Silence::Fallback(given(link, link.suspension.fallback_value.as_ref(), language))
    }
}

pub(super) fn ending(link: &LinkView, language: Language) -> Ending {
    let suspension = &link.suspension;
    let Some(ended) = &suspension.ending else {
        // The deadline has passed, and its timer is about to record that.
        return Ending::Expired { at: suspension.ends_at().unwrap_or(link.now), silence: None };
    };
    let note = |name: &str| ended.metadata.as_ref().and_then(|metadata| metadata.get(name)?.as_str().map(str::to_owned));
    match (ended.resolution, ended.reason) {
        (Resolution::Responded, _) => {
            let given = given(link, ended.response.as_ref(), language);
            let by = ended.by.clone().unwrap_or_default();
            if by == link.recipient {
                let (comment, in_place_of) = (note("comment"), link.in_place_of.clone());
                Ending::AnsweredByYou { given, at: ended.at, comment, received_at: None, in_place_of }
            } else {
                Ending::AnsweredByAnother { by, given, at: ended.at, in_place_of: link.in_place_of.clone() }
            }
        }
        (Resolution::Expired, _) => {
            let silence =
                ended.response.as_ref().map_or(Silence::Ends, |value| Silence::Fallback(given(link, Some(value), language)));
            Ending::Expired { at: suspension.expires_at.unwrap_or(ended.at), silence: Some(silence) }
        }
        (Resolution::Cancelled, Some(ResolutionReason::Superseded)) => {
            Ending::Superseded { at: ended.at, changed: None, newer_href: None }
        }
        (Resolution::Cancelled, Some(ResolutionReason::PortfolioDeadline)) => {
            Ending::Expired { at: ended.portfolio_deadline().unwrap_or(ended.at), silence: Some(Silence::Ends) }
        }
        (Resolution::Cancelled, Some(ResolutionReason::QuorumUnmet)) => Ending::QuorumUnmet { at: ended.at },
        (Resolution::Cancelled, Some(ResolutionReason::TimeLost)) => Ending::TimeLost { at: ended.at },
        (Resolution::Cancelled, Some(ResolutionReason::Undeliverable)) => {
            Ending::Undeliverable { at: ended.at, messages: link.messages }
        }
        (Resolution::Cancelled, Some(ResolutionReason::Withdrawn) | None) => Ending::Withdrawn {
            at: ended.at,
            by: ended.by.clone().filter(|by| *by != suspension.asked_by.name),
            reason: note("reason"),
        },
    }
}
