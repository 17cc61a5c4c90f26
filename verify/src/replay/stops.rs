//! Intents that are stopped, and go on: one stop at a time, ended once, by a principal who may.

use domain::base::ids::SuspensionId;
use domain::base::name::SENDER;
use domain::base::text::quoted;
use domain::intent::stop_event::{Closed, Extended, Parked, Paused, Resumed, Settled, StopEvent, Stopping, TakenOver};
use domain::people::authority::{Action, Object, authorize};
use domain::people::principal::{Assurance, Credential, Principal, Role};
use domain::people::stopping::{Stopped, Work};
use domain::suspension::stop::{Cause, Fired, OnTimeout, Provider, Stage, Stop};
use domain::suspension::{Asker, Kind};

use super::course::{Course, Due, Happened};
use super::doubt::{Doubt, Doubts, Fault, Judged};
use super::keys::{Acted, SHOWN_MAX, Who};
use crate::finding::Code;

impl Course<'_> {
    /// Judges an event about a stop.
    pub(super) fn stop(&mut self, event: &Happened, change: &StopEvent) -> Judged {
        match change {
            StopEvent::Paused(paused) => self.paused(event, paused),
            StopEvent::Parked(parked) => self.parked(event, parked),
            StopEvent::Stopping(stopping) => self.stopping(event, stopping),
            StopEvent::TakenOver(taken) => self.taken_over(event, taken),
            StopEvent::Extended(extended) => self.extended_stop(event, extended),
            StopEvent::Settled(settled) => self.settled(event, settled),
            StopEvent::Resumed(resumed) => self.resumed(event, resumed),
            StopEvent::Closed(closed) => self.closed(event, closed),
        }
    }

    fn closed(&mut self, event: &Happened, closed: &Closed) -> Judged {
        let Some(stop) = self.open_stop(closed.suspension_id) else { return self.not_stopped(closed.suspension_id) };
        let is_over = closed.cause == Cause::Timeout;
        let is_ending = stop.suspension.kind == Kind::Stopping;
        match closed.cause {
            Cause::Timeout if is_ending && stop.suspension.is_expired(event.at) => {}
            Cause::Timeout => timed_out(stop, event, OnTimeout::Fail)?,
            Cause::Closed | Cause::Stopped => {}
            Cause::HandedOver if is_ending => {}
            Cause::HandedOver | Cause::ExplicitResume | Cause::ExternalEvent | Cause::ConditionFired => {
                let text = "The stop of the intent ended with the intent, for a reason for which an intent goes on.";
                return Err(Fault::new(Code::DecisionDiffers, text));
            }
        }
        if closed.handoff.is_some() && closed.cause != Cause::HandedOver {
            return Err(Fault::new(Code::DecisionDiffers, "A document was handed in by an end that is none of the agent's."));
        }
        let who = self.who_stops(event, &closed.closed_by, closed.credential)?;
        if closed.cause == Cause::HandedOver && who.doubts.is_empty() && who.principal.role != Role::Agent {
            return Err(not_allowed(&who.principal, event, "handed in what the agent had"));
        }
        if closed.cause == Cause::Stopped {
            let doubts = self.may_stop(event, &who, Action::Stop, None, "ended the work on the intent")?;
            self.due.push_back(if is_ending { Due::Status { is_abandoned: true } } else { Due::Stopping { withdrew: false } });
            return Ok(doubts);
        }
        if is_over && who.principal != Principal::server() {
            return Err(not_allowed(&who.principal, event, "ended a time that was over"));
        }
        self.due.push_back(Due::Status { is_abandoned: true });
        Ok(who.doubts)
    }

    fn stopping(&self, event: &Happened, stopping: &Stopping) -> Judged {
        if self.intent.open.is_some() {
            return Err(Fault::new(Code::QuestionOpen, "The work on the intent was ended although its question was open."));
        }
        if self.intent.stop.is_some() {
            let text = "The work on the intent was ended, and no event says how the stop before it ended.";
            return Err(Fault::new(Code::DecisionDiffers, text));
        }
        if !self.keeps_stage(stopping) {
            let text = "The work on the intent was ended while it was stopped, and the event names another stage of the agent than the one it had reached.";
            return Err(Fault::new(Code::DecisionDiffers, text));
        }
        let who = self.who_stops(event, &stopping.stopped_by, stopping.credential)?;
        self.may_stop(event, &who, Action::Stop, None, "ended the work on the intent")
    }

    /// A person takes a pause over from the agent that made it, once.
    fn taken_over(&self, event: &Happened, taken: &TakenOver) -> Judged {
        let Some(stop) = self.open_stop(taken.suspension_id) else { return self.not_stopped(taken.suspension_id) };
        if !stop.is_an_agents_pause() {
            return Err(Fault::new(Code::DecisionDiffers, "A pause was taken over that was no agent's."));
        }
        let who = self.who_stops(event, &taken.taken_over_by, taken.credential)?;
        if who.doubts.is_empty() && !matches!(who.principal.role, Role::Operator | Role::Admin) {
            return Err(not_allowed(&who.principal, event, "took a pause over"));
        }
        Ok(who.doubts)
    }

    fn paused(&self, event: &Happened, paused: &Paused) -> Judged {
        if self.intent.open.is_some() {
            let text = "The intent was paused although its question was open.";
            return Err(Fault::new(Code::QuestionOpen, text));
        }
        if self.intent.stop.is_some() {
            return Err(Fault::new(Code::DecisionDiffers, "The intent was paused although it was stopped already."));
        }
        let who = self.who_stops(event, &paused.paused_by, paused.credential)?;
        self.may_stop(event, &who, Action::Pause, None, "paused the intent")
    }

    fn parked(&self, event: &Happened, parked: &Parked) -> Judged {
        if self.intent.open.is_some() {
            return Err(Fault::new(Code::QuestionOpen, "The intent was parked although its question was open."));
        }
        if self.intent.stop.is_some() {
            return Err(Fault::new(Code::DecisionDiffers, "The intent was parked although it was stopped already."));
        }
        let who = self.who_stops(event, &parked.parked_by, parked.credential)?;
        if who.doubts.is_empty() && who.principal.role != Role::Agent {
            return Err(not_allowed(&who.principal, event, "parked the intent"));
        }
        Ok(who.doubts)
    }

    fn extended_stop(&self, event: &Happened, extended: &Extended) -> Judged {
        let Some(stop) = self.open_stop(extended.suspension_id) else { return self.not_stopped(extended.suspension_id) };
        if stop.suspension.expires_at != Some(extended.old_expires_at) || extended.new_expires_at <= extended.old_expires_at {
            return Err(Fault::new(
                Code::DecisionDiffers,
                "The time of a parked intent was not moved later, or had another end before.",
            ));
        }
        if event.actor != Principal::server().name {
            return Err(Fault::new(Code::ChangeNotAllowed, "The server alone gives the time of an outage back."));
        }
        Ok(Doubts::new())
    }

    fn resumed(&self, event: &Happened, resumed: &Resumed) -> Judged {
        let Some(stop) = self.open_stop(resumed.suspension_id) else { return self.not_stopped(resumed.suspension_id) };
        if stop.suspension.kind == Kind::Stopping {
            return Err(Fault::new(Code::DecisionDiffers, "The intent went on although its work was being ended."));
        }
        let who = self.who_stops(event, &resumed.resumed_by, resumed.credential)?;
        match resumed.cause {
            Cause::ExplicitResume => {}
            Cause::Timeout => {
                let on_timeout = if resumed.digest.is_some() { OnTimeout::ResumeWithSummary } else { OnTimeout::ResumeWithInput };
                timed_out(stop, event, on_timeout)?;
                gives_what_was_said(stop, resumed, on_timeout)?;
                let is_server = who.principal == Principal::server();
                return if is_server {
                    Ok(who.doubts)
                } else {
                    Err(not_allowed(&who.principal, event, "ended a time that was over"))
                };
            }
            Cause::ExternalEvent | Cause::ConditionFired => {
                return woken(stop, event, resumed, who);
            }
            Cause::Closed | Cause::Stopped | Cause::HandedOver => {
                return Err(Fault::new(Code::DecisionDiffers, "The intent went on because it was abandoned."));
            }
        }
        self.may_stop(event, &who, Action::Resume, Some(stop), "let the intent go on")
    }

    fn settled(&self, event: &Happened, settled: &Settled) -> Judged {
        let Some(stop) = self.open_stop(settled.suspension_id) else { return self.not_stopped(settled.suspension_id) };
        if settled.stage <= stop.stage {
            return Err(Fault::new(Code::DecisionDiffers, "The agent had stopped as far before."));
        }
        let who = self.who_stops(event, &event.actor, settled.credential)?;
        if who.doubts.is_empty() && who.principal.role != Role::Agent {
            return Err(not_allowed(&who.principal, event, "said how far the agent had stopped"));
        }
        Ok(who.doubts)
    }

    /// Whether the end of the work leaves the agent at the stage that it had reached in the stop that gave place to the end. Older servers
    /// wrote that the agent had stopped, whatever it had said.
    fn keeps_stage(&self, stopping: &Stopping) -> bool {
        let gave_place = |past: &&Stop| past.gone.as_ref().is_some_and(|gone| gone.cause == Cause::Stopped);
        let before = self.intent.past_stop.as_deref().filter(gave_place);
        before.is_none_or(|past| stopping.stage == past.stage || stopping.stage == Stage::Suspended)
    }

    fn open_stop(&self, id: SuspensionId) -> Option<&Stop> {
        self.intent.stop.as_deref().filter(|stop| stop.suspension.id == id)
    }

    /// The judgement on an event about a stop that is not open.
    fn not_stopped(&self, id: SuspensionId) -> Judged {
        if self.intent.past_stop.as_deref().is_some_and(|past| past.suspension.id == id) {
            return Err(Fault::new(Code::AlreadyEnded, "The stop of the intent had ended before: a stop ends once."));
        }
        self.not_open(id)
    }

    fn who_stops(&self, event: &Happened, subject: &str, credential: Option<Credential>) -> Result<Who, Fault> {
        let (role, assurance) = (Role::Operator, Assurance::ApiKey);
        let mut who = self.keys.who(&Acted { event, subject, role, assurance, credential })?;
        // No page of a mailed link stops work or lets it go on.
        if let Some(Credential::EmailLink(_)) = credential {
            who.doubts.insert(Doubt::Link);
        }
        Ok(who)
    }

    /// Whether a principal may stop the intent, or let it go on. The log of the intent does not say which agent created its parent, nor
    /// which agents may write it by an entry, nor whose keys these had then, so an agent is judged as far as it is known. The rules that keep
    /// owners apart are in no log.
    pub(super) fn may_stop(&self, event: &Happened, who: &Who, action: Action, stop: Option<&Stop>, what: &str) -> Judged {
        let (by, mut doubts) = (&who.principal, who.doubts.clone());
        if !doubts.is_empty() {
            return Ok(doubts);
        }
        let stopped = stop.map(|stop| Stopped { kind: stop.suspension.kind, by: stop.holder() });
        let creators = self.possible(by, self.knows_creator.then_some(&self.intent.created_by.name));
        let itself = Asker { name: by.name.clone(), owner: by.owner.clone() };
        let is_allowed = |created_by: &Asker, parent_created_by: Option<&Asker>| {
            let (assigned, entries, workers) = (&self.intent.assigned[..], &[][..], &[][..]);
            let work = Work { created_by, parent_created_by, assigned, entries, workers, stopped, is_kept_apart: false };
            authorize(by, action, Object::Work(work)).is_ok()
        };
        if creators.iter().all(|creator| is_allowed(creator, None)) {
            return Ok(doubts);
        }
        // The agent may have created the parent of the intent.
        if !creators.iter().any(|creator| is_allowed(creator, Some(&itself))) {
            return Err(not_allowed(by, event, what));
        }
        doubts.insert(if self.knows_creator { Doubt::Owner } else { Doubt::Selection });
        Ok(doubts)
    }
}

fn not_allowed(by: &Principal, event: &Happened, what: &str) -> Fault {
    let actor = quoted(&event.actor, SHOWN_MAX);
    Fault::new(
        Code::ChangeNotAllowed,
        format!("{actor} {what}, with a credential of the role {}, which may not do this.", by.role),
    )
}

/// Judges that an event let the intent go on. A sender of signed messages has no credential in any log, and acts in no other way.
fn woken(stop: &Stop, event: &Happened, resumed: &Resumed, mut who: Who) -> Judged {
    if !is_met(stop, resumed, &who) {
        return Err(Fault::new(Code::DecisionDiffers, "The intent went on because of an event for which it did not wait."));
    }
    let is_sender = event.actor.starts_with(SENDER) && event.actor == resumed.resumed_by && resumed.credential.is_none();
    if is_sender && who.doubts.remove(&Doubt::Credential) {
        who.doubts.insert(Doubt::Sender);
    }
    authorize(&who.principal, Action::FireEvent, Object::Server)
        .map_or_else(|_| Err(not_allowed(&who.principal, event, "told of an event")), |()| Ok(who.doubts))
}

/// Whether an event is one for which the intent waited. Those of gateways are another provider's than those of operators and admins.
fn is_met(stop: &Stop, resumed: &Resumed, who: &Who) -> bool {
    let Some(conditions) = stop.terms.as_ref().and_then(|terms| terms.conditions.as_ref()) else { return false };
    let name = resumed.event.clone().unwrap_or_default();
    let fired = |provider| Fired { name: name.clone(), provider, payload: None, webhook_id: None };
    let is_met_by = |provider| conditions.met_by(&fired(provider)) == Some(resumed.cause);
    // No key may have a name that begins so, so it is that of a sender, whose messages come from one provider.
    if resumed.resumed_by.starts_with(SENDER) {
        return is_met_by(Provider::Webhook);
    }
    if !who.doubts.is_empty() {
        return Provider::ALL.into_iter().any(is_met_by);
    }
    is_met_by(if who.principal.role == Role::Channel { Provider::Webhook } else { Provider::Placet })
}

/// Whether an agent that goes on because the time was over is given what the conditions say.
fn gives_what_was_said(stop: &Stop, resumed: &Resumed, on_timeout: OnTimeout) -> Result<(), Fault> {
    let conditions = stop.terms.as_ref().and_then(|terms| terms.conditions.as_ref());
    let said = conditions.and_then(|conditions| conditions.timeout.as_ref()).and_then(|timeout| timeout.input.as_ref());
    let is_with_input = on_timeout == OnTimeout::ResumeWithInput;
    let is_right = if is_with_input { said.is_none() || said == resumed.input.as_ref() } else { resumed.input.is_none() };
    if is_right && resumed.continue_transcript == is_with_input {
        return Ok(());
    }
    Err(Fault::new(Code::DecisionDiffers, "The agent was given something else than the conditions of its park say."))
}

/// Whether the time of a stop was over when an event says so, and this is what its conditions say about it.
fn timed_out(stop: &Stop, event: &Happened, on_timeout: OnTimeout) -> Result<(), Fault> {
    let conditions = stop.terms.as_ref().and_then(|terms| terms.conditions.as_ref());
    let said = conditions.and_then(|conditions| conditions.timeout.as_ref()).map(|timeout| timeout.on_timeout);
    if !stop.suspension.is_expired(event.at) || said != Some(on_timeout) {
        let text = "The time of a parked intent ended it before it was over, or in another way than its conditions say.";
        return Err(Fault::new(Code::DecisionDiffers, text));
    }
    Ok(())
}
