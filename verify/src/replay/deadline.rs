//! The passing of time: deadlines, fallbacks, and attempts.

use chrono::{DateTime, Utc};
use domain::base::ids::SuspensionId;
use domain::base::time::rfc3339;
use domain::intent::command::Command;
use domain::intent::decide::decide;
use domain::intent::event::{Event, ExpiryReason};
use domain::intent::status::Status;
use domain::log::payload::{Escalated, Expired, Payload, Renotified};
use domain::people::principal::Principal;
use domain::suspension::{FallbackPolicy, Suspension};

use super::answer::first;
use super::course::{Course, Due, Happened};
use super::doubt::{Doubt, Doubts, Fault, Judged};
use super::rebuilt;
use crate::finding::Code;

impl Course<'_> {
    /// Silence has the effect that the question's policy says, and not before the deadline.
    pub(super) fn expired(&mut self, event: &Happened, logged: &Expired) -> Judged {
        let Some(mut open) = self.intent.opened(logged.suspension_id).cloned() else {
            return self.not_open(logged.suspension_id);
        };
        let mut doubts = Doubts::new();
        if logged.reason == ExpiryReason::PortfolioDeadline {
            let is_member = self.intent.member_of.iter().any(|member| Some(member.portfolio_id) == logged.portfolio_id);
            if !is_member && self.hole.is_none() {
                let text = "The deadline of a portfolio ended the question, and the intent is not in that portfolio.";
                return Err(Fault::new(Code::FallbackDiffers, text));
            }
            open.portfolio_deadline = rebuilt::portfolio(logged.portfolio_id, logged.portfolio_deadline);
            // After an absence of the server a question gets time back, so its own deadline does not end it. That of the portfolio does,
            // even if it was the later one. A question whose policy is `fail` gets no time back.
            let gets_time_back = open.fallback_policy != FallbackPolicy::Fail;
            let is_due = |own: &DateTime<Utc>| logged.portfolio_deadline.is_none_or(|portfolio| portfolio <= *own);
            open.expires_at = open.expires_at.filter(|own| !gets_time_back || is_due(own));
            doubts.insert(Doubt::Portfolio);
        }
        let is_right =
            |events: &[Event]| matches!(events.first().map(Payload::of), Some(Payload::Expired(due)) if due == *logged);
        let Some(decided) = self.ended_by_deadline(&open, event.at, is_right) else {
            return Err(self.why_not(&open, event, Some(logged)));
        };
        self.follow_up(&decided[1..]);
        Ok(doubts)
    }

    /// The deadline passed while no person could be reached.
    pub(super) fn undeliverable(&mut self, event: &Happened, id: SuspensionId) -> Judged {
        let Some(open) = self.intent.opened(id).cloned() else { return self.not_open(id) };
        let is_right = |events: &[Event]| matches!(events.first(), Some(Event::SuspensionUndeliverable { .. }));
        let Some(decided) = self.ended_by_deadline(&open, event.at, is_right) else {
            return Err(self.why_not(&open, event, None));
        };
        self.follow_up(&decided[1..]);
        Ok(Doubts::new())
    }

    /// The events of the deadline, if they are as `is_right` wants them. The log does not say whether the server's policy applied a
    /// fallback only if a person had been reached, and sometimes not whether one was reached: each that is possible is tried.
    fn ended_by_deadline(
        &self,
        open: &Suspension,
        now: DateTime<Utc>,
        is_right: impl Fn(&[Event]) -> bool,
    ) -> Option<Vec<Event>> {
        let reached = if self.is_reach_unsure { vec![open.reached, !open.reached] } else { vec![open.reached] };
        let possible =
            reached.into_iter().flat_map(|reached| [true, false].map(|requires_delivery| (reached, requires_delivery)));
        possible.into_iter().find_map(|(reached, requires_delivery)| {
            let alone = self.with_only(&Suspension { reached, requires_delivery, ..open.clone() });
            let command = Command::DeadlineReached { suspension_id: open.id };
            decide(&alone, &command, &Principal::server(), now).ok().filter(|events| is_right(events))
        })
    }

    /// Expects the events that belong to the same decision.
    fn follow_up(&mut self, events: &[Event]) {
        for event in events {
            if let Event::StatusChanged { new, .. } = event {
                self.due.push_back(Due::Status { is_abandoned: *new == Status::Abandoned });
            } else if let Payload::Expired(expired) = Payload::of(event) {
                self.due.push_back(Due::Expired(expired));
            }
        }
    }

    /// Why the end of a question by time is wrong, in words.
    fn why_not(&self, open: &Suspension, event: &Happened, logged: Option<&Expired>) -> Fault {
        let at = rfc3339(event.at);
        match open.ends_at() {
            None => {
                let text = format!("The question ended at {at} because its time was over, and it had no deadline.");
                return Fault::new(Code::ExpiredEarly, text);
            }
            Some(until) if event.at < until => {
                let until = rfc3339(until);
                let text = format!("The question ended at {at} because its time was over, and people had time until {until}.");
                return Fault::new(Code::ExpiredEarly, text);
            }
            Some(_) => {}
        }
        let Some(logged) = logged else {
            let text = "The question ended because no person could be reached, and its log says that one was reached, or its fallback does not need that.";
            return Fault::new(Code::FallbackDiffers, text);
        };
        let is_right = |events: &[Event]| matches!(events.first(), Some(Event::SuspensionExpired(_)));
        let Some(decided) = self.ended_by_deadline(open, event.at, is_right) else {
            let text =
                "The question ended without an answer, and no person had been reached: it is not recorded as undeliverable.";
            return Fault::new(Code::FallbackDiffers, text);
        };
        let member = match decided.first().map(Payload::of) {
            Some(Payload::Expired(due)) => first(&due, logged),
            Some(_) | None => "member".to_owned(),
        };
        let policy = match open.fallback_policy {
            FallbackPolicy::Fail => "fail",
            FallbackPolicy::CompleteWithFallback => "complete_with_fallback",
            FallbackPolicy::UseDefaultAndContinue => "use_default_and_continue",
        };
        let text = format!(
            "The end of the question by time has another {member} than the question's own policy gives it, which is {policy}."
        );
        Fault::new(Code::FallbackDiffers, text)
    }

    /// People are asked again at the times and in the way that the question's policy says.
    pub(super) fn renotified(&mut self, event: &Happened, logged: &Renotified) -> Judged {
        let id = logged.suspension_id;
        let Some(open) = self.intent.opened(id) else { return self.not_open(id) };
        let Some(question) = self.questions.get(&id) else { return Ok(Doubts::from([Doubt::Unknown])) };
        let command = Command::AttemptDue { suspension_id: id, question: Box::new(question.clone()) };
        let decided = decide(&self.with_only(open), &command, &Principal::server(), event.at).unwrap_or_default();
        let mut due = decided.iter().map(Payload::of);
        match due.next() {
            Some(Payload::Renotified(due)) if due == *logged => {}
            _ if !event.is_exact => return Ok(Doubts::from([Doubt::Clock])),
            Some(Payload::Renotified(due)) => {
                let text = format!(
                    "People were asked again, and the {} is another one than the question's policy says.",
                    first(&due, logged)
                );
                return Err(Fault::new(Code::AttemptDiffers, text));
            }
            Some(_) | None => {
                let text = format!(
                    "People were asked again at {}, and the question's policy has no attempt at this time.",
                    rfc3339(event.at)
                );
                return Err(Fault::new(Code::AttemptDiffers, text));
            }
        }
        for payload in due {
            if let Payload::Renotified(due) = payload {
                self.due.push_back(Due::Renotified(due));
            } else if let Payload::Escalated(due) = payload {
                self.due.push_back(Due::Escalated(due));
            }
        }
        Ok(Doubts::new())
    }

    /// The step of the escalation ladder at the attempt in force takes effect.
    pub(super) fn escalated(&self, logged: &Escalated) -> Judged {
        let id = logged.suspension_id;
        let Some(open) = self.intent.opened(id) else { return self.not_open(id) };
        let Some(question) = self.questions.get(&id) else { return Ok(Doubts::from([Doubt::Unknown])) };
        let rung = question.retry_policy.as_ref().and_then(|policy| policy.rung_at(logged.attempt));
        let is_right = logged.attempt == open.attempt
            && rung.is_some_and(|rung| rung.channel_hint == logged.channel_hint)
            && question.recipients_at(logged.attempt) == logged.escalated_to;
        if is_right {
            return Ok(Doubts::new());
        }
        let text = "Other people were asked, and the question's policy does not name them for this attempt.";
        Err(Fault::new(Code::AttemptDiffers, text))
    }
}
