//! Rebuilds the domain's events from what the log says of them, as far as the state of a course depends on them.

use domain::intent::Intent;
use domain::intent::event::{AnswerCounted, Event, Expired, Extended, RefusedAnswer, Renotified, Resumed};
use domain::log::payload::{Payload, Tracked};
use domain::suspension::delivery::Delivery;
use domain::suspension::{Ending, Kind, PortfolioDeadline, Resolution};

/// The report about a message.
pub(super) fn delivered(tracked: Tracked) -> Event {
    let Tracked { delivery, reached } = tracked;
    let domain::log::payload::Delivery { suspension_id, delivery_id, sequence, attempt, channel, recipient, detail, tries } =
        delivery;
    let delivery = Delivery { suspension_id, delivery_id, attempt, sequence, channel, recipient, detail, tries };
    Event::DeliverySent { delivery, reached }
}

/// The event with this payload; `None` if the state of a course does not depend on it.
#[expect(clippy::wildcard_enum_match_arm, reason = "the state of a course depends on few of the events")]
pub(super) fn event(intent: &Intent, payload: Payload) -> Option<Event> {
    Some(match payload {
        Payload::StatusChanged(changed) => Event::StatusChanged {
            old: changed.old_status,
            new: changed.new_status,
            reason: changed.reason,
            blocked_reason: changed.blocked_reason,
            overrides: changed.overrides,
        },
        Payload::Resumed(answer) => {
            let kind = intent.opened(answer.suspension_id).map_or(Kind::AwaitingInput, |open| open.kind);
            Event::Resumed(Box::new(resumed(*answer, kind)))
        }
        Payload::AnswerCounted(counted) => {
            let (person, gateway, tally) = (counted.person.clone(), counted.gateway(), counted.approvals);
            let answer = resumed(counted.to_answer(), Kind::AwaitingInput);
            let clears = counted.clears;
            Event::AnswerCounted(Box::new(AnswerCounted { answer, person, gateway, tally, clears }))
        }
        Payload::AnswerTakenBack(taken) => Event::AnswerTakenBack(taken),
        Payload::Expired(logged) => Event::SuspensionExpired(Box::new(expired(logged))),
        Payload::Undeliverable(ended) => Event::SuspensionUndeliverable { suspension_id: ended.suspension_id },
        Payload::Cancelled(cancelled) => Event::SuspensionCancelled {
            suspension_id: cancelled.suspension_id,
            reason: cancelled.resolution_reason,
            note: cancelled.reason,
            cancelled_by: cancelled.cancelled_by,
            credential: cancelled.credential,
        },
        Payload::Renotified(again) => Event::SuspensionRenotified(Box::new(Renotified {
            suspension_id: again.suspension_id,
            attempt: again.attempt,
            max_attempts: again.max_attempts,
            channel_hint: again.channel_hint,
            notify_to: again.notify_to,
            next_attempt_at: again.next_attempt_at,
            skipped: again.skipped,
            makes_up_from: again.attempt,
        })),
        Payload::Extended(extended) => Event::SuspensionExtended(Box::new(Extended {
            suspension_id: extended.suspension_id,
            cause: extended.cause,
            old_expires_at: extended.old_expires_at,
            new_expires_at: extended.new_expires_at,
            reason: extended.reason,
            extended_by: extended.extended_by,
            credential: extended.credential,
        })),
        // For the state, a late answer and another refused one are the same.
        Payload::RefusedAnswer(refused) => Event::LateAnswer(RefusedAnswer {
            suspension_id: refused.suspension_id,
            code: "",
            value: None,
            responded_by: refused.responded_by,
            credential: refused.credential,
            via: refused.via,
        }),
        Payload::Assigned(assigned) => Event::AgentAssigned(assigned),
        Payload::Unassigned(unassigned) => Event::AgentUnassigned(unassigned),
        _ => return None,
    })
}

/// An answer to a question of this kind.
pub(super) fn resumed(answer: domain::log::payload::Resumed, kind: Kind) -> Resumed {
    Resumed {
        suspension_id: answer.suspension_id,
        kind,
        ending: Ending {
            resolution: Resolution::Responded,
            reason: None,
            at: answer.responded_at,
            response: answer.value,
            by: answer.responded_by,
            metadata: Some(answer.metadata),
        },
        choice_label: answer.choice_label,
        choice_description: answer.choice_description,
        role: answer.role,
        assurance: answer.assurance,
        credential: answer.credential,
        claimed_responded_by: answer.claimed_responded_by,
        evidence: answer.evidence,
        assertion: answer.assertion,
        agreed: answer.agreed,
        in_place_of: answer.in_place_of,
        via: answer.via,
        action: answer.proposal,
    }
}

fn expired(logged: domain::log::payload::Expired) -> Expired {
    Expired {
        suspension_id: logged.suspension_id,
        reason: logged.reason,
        attempts: logged.attempts,
        fallback_policy: logged.fallback_policy,
        fallback_value: logged.fallback_value,
        reached: logged.reached,
        portfolio: portfolio(logged.portfolio_id, logged.portfolio_deadline),
    }
}

/// The deadline of a portfolio that an event names.
pub(super) fn portfolio(
    id: Option<domain::base::ids::PortfolioId>,
    at: Option<chrono::DateTime<chrono::Utc>>,
) -> Option<PortfolioDeadline> {
    id.zip(at).map(|(portfolio_id, at)| PortfolioDeadline { portfolio_id, at })
}
