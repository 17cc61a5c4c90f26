//! Commands by which operators act on an open question without answering it: giving people more time, reminding them, and
//! sending a failed message again.

use chrono::{DateTime, TimeDelta, Utc};

use crate::base::ids::SuspensionId;
use crate::base::time::{rfc3339, seconds};
use crate::intent::Intent;
use crate::intent::command::Later;
use crate::intent::deliveries::{recipients_of, ways_again};
use crate::intent::event::{Event, Extended, ExtensionCause, Reminded};
use crate::intent::refusal::{Refusal, end_by_portfolio, expired, goes_on, why_refused, withdrawn};
use crate::people::principal::Principal;
use crate::problem::Rejection;
use crate::suspension::delivery::{Asked, Delivery};
use crate::suspension::{REMINDER_PAUSE_SECONDS, ResolutionReason, Suspension, WINDOW_SECONDS_MAX};

/// Moves the deadline of an open suspension, later only.
///
/// A later deadline on request must stay within the longest window, and the request comes too late once the deadline has passed.
/// Neither limit holds for the time of an outage, which is given back because no one could have acted in it.
pub(super) fn extend(
    intent: &Intent,
    suspension_id: SuspensionId,
    later: Later,
    reason: Option<&String>,
    cause: ExtensionCause,
    by: &Principal,
    now: DateTime<Utc>,
) -> Result<Vec<Event>, Refusal> {
    let Some(open) = intent.opened(suspension_id) else {
        return Err(why_refused(intent, &suspension_id.expose()).into());
    };
    if cause == ExtensionCause::Request && open.is_expired(now) {
        return Err(expired(intent, open));
    }
    // Time is given back to a question, but not to a portfolio: its deadline is a fixed moment.
    if let Some(portfolio) = open.portfolio_deadline.filter(|portfolio| portfolio.at <= now) {
        return Ok(end_by_portfolio(intent, open, portfolio));
    }
    let field = match later {
        Later::Until(_) => "expires_at",
        Later::By(_) => "seconds",
    };
    if open.fixed_deadline {
        return match cause {
            ExtensionCause::Request => Err(Rejection::DeadlineFixed.into()),
            ExtensionCause::Outage => Ok(time_lost(intent, open, by)),
        };
    }
    let Some(old_expires_at) = open.expires_at else {
        return Err(Rejection::invalid(field, "deadline", "the question has no deadline, so there is none to move").into());
    };
    let new_expires_at = match later {
        Later::Until(at) => at,
        Later::By(span) => old_expires_at + span,
    };
    if let Some(portfolio) = open.ended_by_portfolio().filter(|_| cause == ExtensionCause::Request) {
        let message = format!("has no effect: the deadline of a portfolio ends the question at {}", rfc3339(portfolio.at));
        return Err(Rejection::invalid(field, "portfolio_deadline", message).into());
    }
    if new_expires_at <= old_expires_at {
        return Err(Rejection::invalid(field, "later", "must be later than the present deadline").into());
    }
    if cause == ExtensionCause::Request && new_expires_at > open.suspended_at + seconds(WINDOW_SECONDS_MAX) {
        let message = format!("a question is open for at most {WINDOW_SECONDS_MAX} seconds in all");
        return Err(Rejection::invalid(field, "range", message).into());
    }
    Ok(vec![Event::SuspensionExtended(Box::new(Extended {
        suspension_id,
        cause,
        old_expires_at,
        new_expires_at,
        reason: reason.cloned(),
        extended_by: by.subject.clone(),
        credential: by.credential,
    }))])
}

/// Ends a question with a fixed deadline, because the server lost time (it was stopped, for example) while the question was
/// open. The time cannot be given back, because the asker applies the deadline by its own clock, too. And the fallback must not
/// apply: time in which people could not answer must not become consent.
fn time_lost(intent: &Intent, open: &Suspension, by: &Principal) -> Vec<Event> {
    let ended = withdrawn(open, ResolutionReason::TimeLost, None, by);
    std::iter::once(ended).chain(goes_on(intent, open, "time_lost")).collect()
}

/// Sends a failed message again, while its question can still be answered.
pub(super) fn redrive(intent: &Intent, delivery: &Delivery, by: &Principal, now: DateTime<Utc>) -> Result<Vec<Event>, Refusal> {
    let Some(open) = intent.opened(delivery.suspension_id) else {
        return Err(why_refused(intent, &delivery.suspension_id.expose()).into());
    };
    if open.is_expired(now) {
        return Err(expired(intent, open));
    }
    let (redriven_by, credential) = (by.subject.clone(), by.credential);
    Ok(vec![Event::DeliveryRedriven { delivery: delivery.clone(), redriven_by, credential }])
}

/// Reminds the people of the attempt in force. A pause must lie between two reminders, because people who get too many of them
/// stop reading.
pub(super) fn remind(
    intent: &Intent,
    suspension_id: SuspensionId,
    asked: Option<&Asked>,
    by: &Principal,
    now: DateTime<Utc>,
) -> Result<Vec<Event>, Refusal> {
    let (Some(open), Some(asked)) = (intent.opened(suspension_id), asked) else {
        return Err(why_refused(intent, &suspension_id.expose()).into());
    };
    if open.is_expired(now) {
        return Err(expired(intent, open));
    }
    let pause = seconds(REMINDER_PAUSE_SECONDS);
    // If the last reminder is dated more than a pause after `now`, the clock has been set back, and that reminder does not count.
    let left = open.reminded_at.map(|at| at + pause - now).filter(|left| *left <= pause * 2);
    if let Some(left) = left.filter(|left| *left > TimeDelta::zero()) {
        // The seconds are rounded up, so that a caller that waits for them is not refused again.
        let whole_seconds = left.num_seconds() + i64::from(left.subsec_nanos() > 0);
        let retry_after_seconds = u32::try_from(whole_seconds).unwrap_or(u32::MAX);
        return Err(Rejection::TooSoon { retry_after_seconds }.into());
    }
    let ways = ways_again(open.attempt, asked);
    let notify_to = recipients_of(&ways);
    if notify_to.is_empty() {
        return Err(Rejection::invalid("notify_to", "required", "the question names no person who could be reminded").into());
    }
    let attempt = open.attempt;
    let (reminded_by, credential) = (by.subject.clone(), by.credential);
    let reminded = Reminded { suspension_id, attempt, notify_to, ways, reminded_by, credential };
    Ok(vec![Event::SuspensionReminded(Box::new(reminded))])
}
