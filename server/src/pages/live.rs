//! Keeps an open page up to date, with a small answer to the requests of its script.
//!
//! Guarantee: the page is complete without the script. Mechanism: the script only changes the display, and the small answer says
//! whether the question is open and for how long. Failure: the page stays as it was served, and the server decides at the POST.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::web::{Data, Path};
use domain::suspension::{Ending, Resolution, ResolutionReason};
use serde::Serialize;
use store::LinkView;

use super::Pages;
use super::answer::opened;
use super::view::{Manner, machine, minute};
use crate::edge::shared::Shared;

/// The facts for a page that a person is reading.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct State {
    /// How the question ended; absent while it can be answered.
    ended: Option<&'static str>,
    /// Whether the question is open and others answer it: it was handed on, or assigned to other people.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    others: bool,
    /// The time until the deadline; absent if there is no deadline. It is a duration, because the reader's clock may be wrong.
    left_ms: Option<i64>,
    /// The deadline, absent if there is none. It may have moved to a later time since the page was made.
    deadline: Option<Deadline>,
}

/// When the question closes, in the words of the page.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Deadline {
    /// For programs, as in the page.
    at: String,
    /// For people, as in the page.
    text: String,
    /// The length of the whole window.
    window_ms: i64,
}

/// Says whether the question behind a link is still open. It counts as one opening of that link.
pub(super) async fn state(token: Path<String>, shared: Data<Shared>, pages: Pages) -> HttpResponse {
    let (_, link) = match opened(&token, &shared, &pages).await {
        Ok(found) => found,
        Err(refusal) => return refusal,
    };
    State::of(&link, pages.manner()).reply(&pages)
}

impl State {
    pub(super) fn reply(&self, pages: &Pages) -> HttpResponse {
        pages.headers(HttpResponse::build(StatusCode::OK)).insert_header((CONTENT_TYPE, "application/json")).json(self)
    }

    pub(super) fn of(link: &LinkView, manner: Manner) -> Self {
        // When a portfolio's deadline has ended the question, the suspension itself has only the question's own deadline left.
        let ended_by_portfolio = link.suspension.ending.as_ref().and_then(Ending::portfolio_deadline);
        let ends_at = ended_by_portfolio.or_else(|| link.suspension.ends_at());
        let left_ms = ends_at.map(|at| (at - link.now).num_milliseconds().max(0));
        let deadline = ends_at.map(|at| Deadline {
            at: machine(&at),
            text: minute(&at, &link.now, manner),
            window_ms: (at - link.suspension.suspended_at).num_milliseconds(),
        });
        let others = link.is_open && !link.may_answer;
        Self { ended: (!link.is_open).then(|| ended(link)), others, left_ms, deadline }
    }
}

/// How the question ended. If its deadline has passed it counts as expired, even before the timer has recorded that.
fn ended(link: &LinkView) -> &'static str {
    let ending = link.suspension.ending.as_ref();
    match ending.map_or((Resolution::Expired, None), |ending| (ending.resolution, ending.reason)) {
        (Resolution::Responded, _) => "answered",
        (Resolution::Expired, _) | (Resolution::Cancelled, Some(ResolutionReason::PortfolioDeadline)) => "expired",
        (Resolution::Cancelled, Some(ResolutionReason::Superseded)) => "superseded",
        (Resolution::Cancelled, Some(ResolutionReason::QuorumUnmet)) => "quorum_unmet",
        (Resolution::Cancelled, Some(ResolutionReason::TimeLost)) => "time_lost",
        (Resolution::Cancelled, Some(ResolutionReason::Undeliverable)) => "undeliverable",
        (Resolution::Cancelled, Some(ResolutionReason::Withdrawn) | None) => "withdrawn",
    }
}
