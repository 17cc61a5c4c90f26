//! Permission that depends on the contents of a command; [`crate::people::authority`] judges by the role alone.

use crate::base::confusable::skeleton;
use crate::base::name::{form, is_same};
use crate::intent::Intent;
use crate::intent::announcement::Announcement;
use crate::intent::command::{Command, Respond};
use crate::intent::entries;
use crate::intent::portfolios;
use crate::intent::record::Record;
use crate::intent::status::Status;
use crate::intent::vocabulary::client_may_append;
use crate::people::principal::{Principal, Role};
use crate::problem::Rejection;
use crate::suspension::{Asker, Suspension};

/// Decides whether `by` may give this command, as far as that depends on its contents;
/// [`crate::people::authority::authorize`] has checked the role before. If `by` is a tied gateway (a key of the role `channel`
/// that passes on the messages of certain channels only), `handed_for` holds the recipients of the messages about the question
/// that `by` was handed.
///
/// # Errors
///
/// `Forbidden`, `ReservedEventType` or `SelfResponse`.
pub fn permit(intent: &Intent, command: &Command, by: &Principal, handed_for: &[String]) -> Result<(), Rejection> {
    match command {
        // A client that announces a question is judged by `decide`, which looks at the question that is open.
        Command::SetStatus { status, announces: None, .. } => match (&intent.open, &intent.announcement) {
            // Outside a suspension, a person has no part in an agent's work. But an intent that needs an abandoned one would wait for
            // ever, so a person may complete it.
            (None, None) if by.role != Role::Agent && *status == Status::Completed => Ok(()),
            (None, None) if by.role == Role::Admin && intent.stop.is_some() => Ok(()),
            (_, _) if by.role == Role::Operator => {
                let reason = "an operator changes no status, but may complete an intent that is not suspended";
                Err(Rejection::Forbidden { reason: reason.into() })
            }
            (None, None) if by.role == Role::Admin => {
                let reason = "an admin changes the status of a suspended intent only, and may complete one that is not";
                Err(Rejection::Forbidden { reason: reason.into() })
            }
            // An agent may not lift its own suspension: that would be an answer.
            (Some(_), _) if *status == Status::Active && by.role != Role::Admin => {
                let reason = "only an admin may set a suspended intent active; cancel the suspension instead".into();
                Err(Rejection::Forbidden { reason })
            }
            // An agent may not end the question of another agent either.
            (Some(Suspension { asked_by, .. }), _) | (None, Some(Announcement { by: asked_by, .. }))
                if by.role == Role::Agent && !intent.is_created_by(by) && !is_same(&asked_by.name, &by.name) =>
            {
                Err(Rejection::others_question())
            }
            (None | Some(_), None | Some(_)) => Ok(()),
        },
        Command::Suspend(suspend) if !intent.is_created_by(by) => match &intent.open {
            Some(open) if suspend.names(open.id) && !is_same(&open.asked_by.name, &by.name) => Err(Rejection::others_question()),
            Some(_) | None => Ok(()),
        },
        Command::Append(event) if !client_may_append(&event.event_type) => {
            Err(Rejection::ReservedEventType { event_type: event.event_type.clone() })
        }
        Command::Record(record) => recording(intent, record, by),
        Command::Respond(respond) if by.role == Role::Channel => gateway(intent, respond, by, handed_for),
        Command::Access(change) => entries::permit(intent, change, by),
        Command::Join(_) => portfolios::permit_joining(intent, by),
        Command::Assign(assign) => entries::permit_assigning(intent, &assign.agent_id, by),
        Command::PatchState { .. }
        | Command::Append(_)
        | Command::Unassign { .. }
        | Command::Leave(_)
        | Command::AddDependency(_)
        | Command::RemoveDependency(_)
        | Command::DependencyCompleted(_)
        | Command::Task(_)
        | Command::Plan(_)
        | Command::Coordinate(_)
        | Command::RetryDue { .. }
        | Command::Govern(_)
        | Command::AcquireLease { .. }
        | Command::RenewLease { .. }
        | Command::ReleaseLease { .. }
        | Command::Suspend(_)
        | Command::SetStatus { announces: Some(_), .. }
        | Command::SuspendByRecord(_)
        | Command::AnnouncementDue
        | Command::Respond(_)
        | Command::Hand(_)
        | Command::Stop(_)
        | Command::Cancel { .. }
        | Command::Extend { .. }
        | Command::Remind { .. }
        | Command::DeadlineReached { .. }
        | Command::AttemptDue { .. }
        | Command::RecordDelivery(_)
        | Command::Redrive(_) => Ok(()),
    }
}

/// Refuses a record that the caller may not make.
fn recording(intent: &Intent, record: &Record, by: &Principal) -> Result<(), Rejection> {
    let forbidden = |reason: &str| Err(Rejection::Forbidden { reason: reason.into() });
    // A decision that a person recorded could be taken for an answer.
    if by.role != Role::Agent && matches!(record, Record::Decision(_) | Record::CoordinatorDecision(_)) {
        return forbidden("agents alone record their decisions; a person answers a question");
    }
    // A policy for failures can assign an agent, so it is judged as an assignment.
    match record.assigns() {
        Some(_) if by.role != Role::Agent => forbidden("agents alone say which agent takes over from another"),
        Some(agent) => entries::permit_assigning(intent, agent, by),
        None => Ok(()),
    }
}

/// Refuses a gateway that answers by a checkpoint, or in the name of an agent, and a tied gateway that was handed no message for the
/// person for which it answers.
fn gateway(intent: &Intent, respond: &Respond, by: &Principal, handed_for: &[String]) -> Result<(), Rejection> {
    // The id of a question is a capability, and a gateway gets those of the messages that it passes on.
    if respond.checkpoint.is_some() {
        let reason = "a gateway answers a question by the id that came with its message, and not by a checkpoint";
        return Err(Rejection::Forbidden { reason: reason.into() });
    }
    let claimed = respond.claimed_responded_by.as_ref();
    let is_agent = |agent: &str| claimed.is_some_and(|claimed| is_at_or_below(claimed, agent));
    let is_owner = |owner: &str| claimed.is_some_and(|claimed| is_alike(claimed, owner));
    if askers(intent).any(|asker| is_owner(asker.owner.as_str()))
        || agents(intent).any(|agent| is_agent(agent))
        || intent.aliases.iter().any(|alias| is_agent(&alias.name) || is_agent(&alias.subject))
    {
        return Err(Rejection::SelfResponse);
    }
    if by.tied_to.is_some() && claimed.is_some_and(|claimed| recipient(claimed, handed_for).is_none()) {
        let reason = "the webhooks this key is tied to were sent no message about this question for the person in responded_by, so the key may not answer for that person";
        return Err(Rejection::Forbidden { reason: reason.into() });
    }
    Ok(())
}

/// The askers of the loaded questions and requests, and the creator of the intent.
fn askers(intent: &Intent) -> impl Iterator<Item = &Asker> {
    let asked = intent.open.iter().chain(&intent.beside).chain(&intent.ended).map(|suspension| &suspension.asked_by);
    asked.chain(intent.announcement.as_ref().map(|announced| &announced.by)).chain([&intent.created_by])
}

/// The names of the agents that take part in the intent, as far as they are loaded: its askers, and those that are assigned to it.
pub fn agents(intent: &Intent) -> impl Iterator<Item = &String> {
    askers(intent).map(|asker| &asker.name).chain(&intent.assigned)
}

/// The recipient among `handed_for` that has the name `claimed`.
fn recipient<'a>(claimed: &str, handed_for: &'a [String]) -> Option<&'a String> {
    let exactly = handed_for.iter().find(|person| *person == claimed);
    exactly.or_else(|| handed_for.iter().find(|person| person.eq_ignore_ascii_case(claimed)))
}

/// The same answer, with the name of the person spelled as in the message that was handed to the gateway. So the log has only one
/// spelling of each name.
pub fn named_as_handed(respond: &Respond, handed_for: &[String]) -> Respond {
    let claimed = respond.claimed_responded_by.as_ref();
    let claimed = claimed.map(|claimed| recipient(claimed, handed_for).unwrap_or(claimed));
    Respond { claimed_responded_by: claimed.cloned(), ..respond.clone() }
}

/// Whether a person would take `claimed` for the name of this agent, or for one of the names below it (`agent/part`).
fn is_at_or_below(claimed: &str, agent: &str) -> bool {
    is_alike(claimed, agent) || claimed.match_indices('/').any(|(at, _)| is_alike(&claimed[..at], agent))
}

/// Whether a person would take one name for the other.
fn is_alike(one: &str, other: &str) -> bool {
    skeleton(&form(one)) == skeleton(&form(other))
}
