//! Changes of an open question: it is withdrawn, replaced, or gets a later deadline.

use chrono::{DateTime, TimeDelta, Utc};
use domain::base::text::quoted;
use domain::base::time::rfc3339;
use domain::intent::command::{Command, Later};
use domain::intent::decide::decide;
use domain::intent::event::{Event, ExtensionCause};
use domain::log::payload::{Cancelled, Extended, Payload};
use domain::people::authority::Action;
use domain::people::principal::{Assurance, Credential, Principal, Role};
use domain::problem::Rejection;
use domain::suspension::{ResolutionReason, Suspension};

use super::answer::first;
use super::course::{Course, Due, Happened};
use super::doubt::{Doubts, Fault, Judged};
use super::keys::{Acted, SHOWN_MAX};
use crate::finding::Code;

impl Course<'_> {
    /// A question is withdrawn in time, by its asker, the creator of the intent or an admin. The server itself ends one after it
    /// lost time.
    pub(super) fn cancelled(&mut self, event: &Happened, logged: &Cancelled) -> Judged {
        let Some(open) = self.intent.opened(logged.suspension_id).cloned() else { return self.not_open(logged.suspension_id) };
        match logged.resolution_reason {
            ResolutionReason::TimeLost => return self.time_lost(event, logged, &open),
            ResolutionReason::QuorumUnmet => return self.quorum_unmet(event, logged, &open),
            ResolutionReason::Withdrawn | ResolutionReason::Superseded => {}
            ResolutionReason::Undeliverable | ResolutionReason::PortfolioDeadline => {
                let text = "The question is recorded as withdrawn for a reason for which no one withdraws it.";
                return Err(Fault::new(Code::DecisionDiffers, text));
            }
        }
        let (subject, role, assurance) = (&*logged.cancelled_by, Role::Agent, Assurance::ApiKey);
        let who = self.keys.who(&Acted { event, subject, role, assurance, credential: logged.credential })?;
        // The requests beside an intent end with it: that is no decision of its own.
        if !open.kind.stops_intent() && self.intent.status.is_final() {
            return Ok(who.doubts);
        }
        no_link(event, logged.credential, "withdrew the question")?;
        let (alone, by) = (self.with_only(&open), &who.principal);
        let command = Command::Cancel { suspension_id: open.id, reason: logged.reason.clone() };
        let decided = decide(&alone, &command, by, at_least(event, &open));
        let decided = decided.map_err(|refusal| why(&refusal.rejection, &open, event))?;
        if let Some(Payload::Cancelled(due)) = decided.first().map(Payload::of) {
            let due = Cancelled { resolution_reason: logged.resolution_reason, ..due };
            if due != *logged {
                return Err(differs(&first(&due, logged)));
            }
        }
        let mut doubts = who.doubts.clone();
        let is_superseded = logged.resolution_reason == ResolutionReason::Superseded;
        if is_superseded {
            self.due.push_back(Due::Asked);
        }
        // A stand-in for a principal that is not known may be anyone's.
        if doubts.is_empty() {
            let allowed = self.allowed((by, &[]), Action::Cancel, &open, &command, &alone, event);
            let allowed = allowed
                .and_then(|allowed| if is_superseded && by.role != Role::Agent { Err(Rejection::NotFound) } else { Ok(allowed) });
            if allowed.is_err() && !is_superseded && open.kind.stops_intent() {
                // A principal that ends the work on an intent ends its question with it.
                let ends = self.may_stop(event, &who, Action::Stop, None, "withdrew the question of another")?;
                self.due.push_back(Due::Stopping { withdrew: true });
                doubts.extend(ends);
                return Ok(doubts);
            }
            doubts.extend(allowed.map_err(|_| not_allowed(by, event, "withdrew the question of another"))?);
        }
        Ok(doubts)
    }

    fn time_lost(&mut self, event: &Happened, logged: &Cancelled, open: &Suspension) -> Judged {
        let command = Command::Extend {
            suspension_id: open.id,
            later: Later::By(TimeDelta::zero()),
            reason: None,
            cause: ExtensionCause::Outage,
        };
        let decided = decide(&self.with_only(open), &command, &Principal::server(), event.at).unwrap_or_default();
        match decided.first().map(Payload::of) {
            Some(Payload::Cancelled(due)) if due == *logged => {
                if decided.iter().any(|event| matches!(event, Event::StatusChanged { .. })) {
                    self.due.push_back(Due::Status { is_abandoned: false });
                }
                Ok(Doubts::new())
            }
            Some(Payload::Cancelled(due)) => Err(differs(&first(&due, logged))),
            Some(_) | None => {
                let text = "The question ended because the server lost time, and its deadline was none that cannot be moved.";
                Err(Fault::new(Code::DecisionDiffers, text))
            }
        }
    }

    /// A question ends at its deadline, because people have answered and not enough of them agree.
    fn quorum_unmet(&mut self, event: &Happened, logged: &Cancelled, open: &Suspension) -> Judged {
        let command = Command::DeadlineReached { suspension_id: open.id };
        let decided = decide(&self.with_only(open), &command, &Principal::server(), event.at).unwrap_or_default();
        match decided.first().map(Payload::of) {
            Some(Payload::Cancelled(due)) if due == *logged => {
                if open.kind.stops_intent() {
                    self.due.push_back(Due::Status { is_abandoned: true });
                }
                Ok(Doubts::new())
            }
            Some(Payload::Cancelled(due)) => Err(differs(&first(&due, logged))),
            Some(_) | None => {
                let text = "The question ended for want of a quorum, before its deadline or although no person had answered.";
                Err(Fault::new(Code::DecisionDiffers, text))
            }
        }
    }

    /// A deadline is moved later, by someone who may, before it has passed.
    pub(super) fn extended(&self, event: &Happened, logged: &Extended) -> Judged {
        let Some(open) = self.intent.opened(logged.suspension_id) else { return self.not_open(logged.suspension_id) };
        let (subject, role, assurance) = (&*logged.extended_by, Role::Operator, Assurance::ApiKey);
        let acted = Acted { event, subject, role, assurance, credential: logged.credential };
        let is_outage = logged.cause == ExtensionCause::Outage;
        let who = if is_outage { self.keys.who(&acted)? } else { self.keys.person(&acted)? };
        let by = &who.principal;
        no_link(event, logged.credential, "moved the deadline")?;
        let command = Command::Extend {
            suspension_id: open.id,
            later: Later::Until(logged.new_expires_at),
            reason: logged.reason.clone(),
            cause: logged.cause,
        };
        let alone = self.with_only(open);
        let decided = decide(&alone, &command, by, at_least(event, open));
        let decided = decided.map_err(|refusal| why(&refusal.rejection, open, event))?;
        match decided.first().map(Payload::of) {
            Some(Payload::Extended(due)) if due == *logged => {}
            Some(Payload::Extended(due)) => return Err(differs(&first(&due, logged))),
            Some(_) | None => return Err(differs("effect")),
        }
        let mut doubts = who.doubts.clone();
        if is_outage {
            let is_server = *by == Principal::server();
            return if is_server { Ok(doubts) } else { Err(not_allowed(by, event, "gave back the time of an outage")) };
        }
        if doubts.is_empty() {
            let allowed = self.allowed((by, &[]), Action::Extend, open, &command, &alone, event);
            doubts.extend(allowed.map_err(|_| not_allowed(by, event, "moved the deadline"))?);
        }
        Ok(doubts)
    }
}

/// The time by which the server judged. If the event has the time of the one before it, the clock may have shown an earlier one.
pub(super) fn at_least(event: &Happened, open: &Suspension) -> DateTime<Utc> {
    if event.is_exact { event.at } else { event.at.min(open.suspended_at) }
}

fn differs(member: &str) -> Fault {
    Fault::new(Code::DecisionDiffers, format!("The event has another {member} than the question and the credential give it."))
}

fn why(rejection: &Rejection, open: &Suspension, event: &Happened) -> Fault {
    if let Rejection::Expired { .. } = rejection {
        let (until, at) = (open.ends_at().map(rfc3339).unwrap_or_default(), rfc3339(event.at));
        let text = format!("The question was changed at {at}, after its deadline {until}, when its end was decided.");
        return Fault::new(Code::ChangeLate, text);
    }
    Fault::new(Code::DecisionDiffers, format!("The question could not be changed in this way: {rejection}."))
}

/// Refuses what no page of a mailed link does: a link answers its question, and hands it on.
fn no_link(event: &Happened, credential: Option<Credential>, what: &str) -> Result<(), Fault> {
    let Some(Credential::EmailLink(_)) = credential else { return Ok(()) };
    let text = format!("{} {what} by the link of a message, which can only answer.", quoted(&event.actor, SHOWN_MAX));
    Err(Fault::new(Code::ChangeNotAllowed, text))
}

fn not_allowed(by: &Principal, event: &Happened, what: &str) -> Fault {
    let text =
        format!("{} {what}, with a credential of the role {}, which may not do this.", quoted(&event.actor, SHOWN_MAX), by.role);
    Fault::new(Code::ChangeNotAllowed, text)
}
