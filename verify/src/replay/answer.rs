//! Answers: accepted ones, and refused ones.

use domain::base::text::quoted;
use domain::base::time::rfc3339;
use domain::intent::command::{Command, Respond};
use domain::intent::decide::decide;
use domain::intent::event::Event;
use domain::log::payload::{Payload, RefusedAnswer, Resumed};
use domain::people::authority::Action;
use domain::people::principal::{Assurance, Credential, Principal, Role};
use domain::problem::Rejection;
use domain::suspension::Suspension;
use serde_json::Value;

use super::course::{Course, Due, Happened};
use super::doubt::{Doubt, Doubts, Fault, Judged};
use super::keys::{Acted, SHOWN_MAX};
use super::rebuilt;
use crate::finding::Code;

impl Course<'_> {
    /// An answer is a choice or a value that the question accepts, in time, and from someone who may answer.
    pub(super) fn answered(&mut self, event: &Happened, answer: &Resumed) -> Judged {
        let Some(open) = self.intent.opened(answer.suspension_id).cloned() else { return self.not_open(answer.suspension_id) };
        if answer.responded_at > event.at || (event.is_exact && answer.responded_at != event.at) {
            let text = "The answer says that it was given at another time than its event.";
            return Err(Fault::new(Code::DecisionDiffers, text));
        }
        let subject = answer.responded_by.as_deref().unwrap_or_default();
        let Resumed { role, assurance, credential, .. } = *answer;
        let who = self.keys.who(&Acted { event, subject, role, assurance, credential })?;
        self.was_sent_to(&open, event, credential)?;
        let mut by = who.principal.clone();
        let mut of_signature = Doubts::new();
        if let Some(assertion) = &answer.assertion {
            of_signature = self.passkeys.signed(event, answer, assertion)?;
            by.assurance = Assurance::Passkey;
        }
        let by = &by;
        let claimed = if by.role == Role::Channel { &answer.responded_by } else { &answer.claimed_responded_by };
        let respond = Respond {
            suspension_id: open.id.expose(),
            checkpoint: None,
            // An accepted answer has a value; a form may be answered with null.
            value: Some(answer.value.clone().unwrap_or_default()),
            claimed_responded_by: claimed.clone(),
            metadata: Some(answer.metadata.clone()),
            expects: (!open.kind.stops_intent()).then_some(open.kind),
            // The texts of questions are not kept, so the hashes over them are taken as they are.
            evidence: answer.evidence,
            assertion: answer.assertion.clone(),
        };
        let (alone, command) = (self.with_only(&open), Command::Respond(Box::new(respond)));
        let decided = decide(&alone, &command, by, answer.responded_at);
        let decided = decided.map_err(|refusal| why(&refusal.rejection, &open, event, answer))?;
        let action = if open.kind.stops_intent() { Action::Respond } else { Action::Decide };
        let allowed = self.allowed(by, action, &open, &command, &alone);
        let allowed = allowed.map_err(|rejection| not_allowed(&rejection, by, event))?;
        compare(&decided, event, answer, &open)?;
        if open.kind.stops_intent() {
            self.due.push_back(Due::Status { is_abandoned: false });
        }
        let mut doubts = who.doubts;
        doubts.extend(allowed);
        doubts.extend(of_signature);
        if self.is_about_work(&open) {
            doubts.insert(Doubt::Plan);
        }
        if open.kind.stops_intent() && !self.intent.member_of.is_empty() {
            doubts.insert(Doubt::Portfolio);
        }
        Ok(doubts)
    }

    /// Refuses an answer by the link of a message that was about another question, or went to another person.
    fn was_sent_to(&self, open: &Suspension, event: &Happened, credential: Option<Credential>) -> Result<(), Fault> {
        let Some(Credential::EmailLink(id)) = credential else { return Ok(()) };
        // If the message is not known yet, its report may come later than the answer.
        let Some((asked, recipient)) = self.messages.get(&id) else { return Ok(()) };
        if *asked == open.id && *recipient == event.actor {
            return Ok(());
        }
        let text = format!(
            "{} answered by the link of a message that went to {} or was about another question.",
            quoted(&event.actor, SHOWN_MAX),
            quoted(recipient, SHOWN_MAX)
        );
        Err(Fault::new(Code::AnswerNotAllowed, text))
    }

    /// An answer is refused only after the question has ended, and for that reason.
    pub(super) fn refused(&self, event: &Happened, refused: &RefusedAnswer) -> Judged {
        let id = refused.suspension_id;
        if self.intent.opened(id).is_some() {
            let text = "An answer is recorded as refused, although the question was open: the server left out an answer.";
            return Err(Fault::new(Code::RefusedInTime, text));
        }
        let Some(ended) = self.intent.ended.iter().find(|ended| ended.id == id) else { return self.not_open(id) };
        let (subject, role, assurance) = (&*refused.responded_by, Role::Operator, Assurance::ApiKey);
        let who = self.keys.who(&Acted { event, subject, role, assurance, credential: refused.credential })?;
        let mut alone = self.with_only(ended);
        (alone.open, alone.beside, alone.ended) = (None, Vec::new(), vec![ended.clone()]);
        let respond = Respond {
            suspension_id: id.expose(),
            checkpoint: None,
            value: refused.value.clone(),
            claimed_responded_by: None,
            metadata: None,
            expects: None,
            evidence: None,
            assertion: None,
        };
        let refusal = decide(&alone, &Command::Respond(Box::new(respond)), &who.principal, event.at).err();
        let record = refusal.and_then(|refusal| refusal.record);
        if record.is_some_and(|record| record.event_type() != event.event_type) {
            let text = "A refused answer is recorded under another reason than the one for which it was refused.";
            return Err(Fault::new(Code::DecisionDiffers, text));
        }
        Ok(who.doubts)
    }
}

/// Why an answer is none, in words.
fn why(rejection: &Rejection, open: &Suspension, event: &Happened, answer: &Resumed) -> Fault {
    let person = quoted(answer.responded_by.as_deref().unwrap_or(&event.actor), SHOWN_MAX);
    if let Rejection::Expired { .. } = rejection {
        let until = open.ends_at().map(rfc3339).unwrap_or_default();
        let at = rfc3339(answer.responded_at);
        let text = format!("{person} answered at {at}, after the deadline: the question could be answered until {until}.");
        return Fault::new(Code::AnswerLate, text);
    }
    if let Rejection::InvalidChoice { given, valid_choices } = rejection {
        let offered = quoted(&valid_choices.join(", "), SHOWN_MAX);
        let text = format!("The answer \"{given}\" names a choice that the question did not have; its choices were {offered}.");
        return Fault::new(Code::AnswerInvalid, text);
    }
    if let Rejection::Invalid { .. } = rejection {
        let text = format!("The answer of {person} is not of the kind that the question asked for: {rejection}.");
        return Fault::new(Code::AnswerInvalid, text);
    }
    Fault::new(Code::AnswerNotAllowed, format!("{person} could not answer this question: {rejection}."))
}

fn not_allowed(rejection: &Rejection, by: &Principal, event: &Happened) -> Fault {
    let actor = quoted(&event.actor, SHOWN_MAX);
    if let Rejection::AssuranceTooLow { required } = rejection {
        let text = format!("The question demanded a {required}, and the answer of {actor} carries no signature of one.");
        return Fault::new(Code::PasskeyMissing, text);
    }
    let text = match (rejection, by.role) {
        (Rejection::SelfResponse, _) | (_, Role::Agent) => {
            format!("{actor} answered, and {rejection}: the answer is the asker's own.", rejection = Rejection::SelfResponse)
        }
        (_, role) => format!("{actor} answered with a key of the role {role}, which may not answer this question: {rejection}."),
    };
    Fault::new(Code::AnswerNotAllowed, text)
}

/// Compares an answer with the event to which its command leads.
fn compare(decided: &[Event], event: &Happened, answer: &Resumed, open: &Suspension) -> Result<(), Fault> {
    let differs = |text: String| Err(Fault::new(Code::DecisionDiffers, text));
    let Some(due) = decided.iter().find(|event| matches!(event, Event::Resumed(_))) else {
        return differs("The answer does not have the effect of an answer.".to_owned());
    };
    let (Payload::Resumed(mut wanted), mut logged) = (Payload::of(due), answer.clone()) else { return Ok(()) };
    logged.value.get_or_insert_default();
    // Older servers did not write these members.
    for (wanted, logged) in [
        (&mut wanted.choice_label, &mut logged.choice_label),
        (&mut wanted.choice_description, &mut logged.choice_description),
        (&mut wanted.decision, &mut logged.decision),
    ] {
        if logged.is_none() {
            *wanted = None;
        }
    }
    wanted.approval_id = wanted.approval_id.filter(|_| logged.approval_id.is_some());
    if *wanted != logged {
        return differs(format!("The answer says another {} than the question and the credential do.", first(&*wanted, &logged)));
    }
    let event_type = Event::Resumed(Box::new(rebuilt::resumed(logged, open.kind))).event_type().to_owned();
    if event_type != event.event_type {
        return differs(format!("The answer is an event {}, and its value makes it an event {event_type}.", event.event_type));
    }
    Ok(())
}

/// The name of the first member in which two payloads differ.
pub(super) fn first<P: serde::Serialize>(wanted: &P, logged: &P) -> String {
    let members = |payload: &P| match serde_json::to_value(payload) {
        Ok(Value::Object(members)) => members,
        Ok(_) | Err(_) => serde_json::Map::new(),
    };
    let (wanted, logged) = (members(wanted), members(logged));
    let names = logged.keys().chain(wanted.keys());
    let mut differing = names.filter(|name| wanted.get(*name) != logged.get(*name));
    differing.next().cloned().unwrap_or_else(|| "member".to_owned())
}
