//! Answers: accepted ones, and refused ones.

use chrono::{DateTime, Utc};
use domain::asking::errands::Words;
use domain::base::text::quoted;
use domain::base::time::rfc3339;
use domain::intent::command::{Command, Respond};
use domain::intent::decide::decide;
use domain::intent::event::{AnswerTakenBack, Event};
use domain::log::payload::{AnswerCounted, Payload, RefusedAnswer, Resumed};
use domain::people::authority::Action;
use domain::people::principal::{Assurance, Credential, Principal, Role};
use domain::problem::Rejection;
use domain::suspension::evidence::action_digest;
use domain::suspension::proposal::Named;
use domain::suspension::{RequiredAssurance, Suspension};
use serde_json::Value;

use super::change::at_least;
use super::course::{Course, Due, Happened};
use super::doubt::{Doubt, Doubts, Fault, Judged};
use super::keys::{Acted, SHOWN_MAX};
use super::links::Link;
use super::rebuilt;
use super::standing::{Claim, Standing};
use crate::finding::Code;

/// Compares the events to which an answer leads with the log.
type Comparison<'a> = dyn Fn(&[Event], &Suspension) -> Result<(), Fault> + 'a;

const NOT_OWN: &str = "An answer was taken back that was not counted, or that another person had given.";

/// An answer, or that a person takes one back, as the log has it.
struct Attempt<'a> {
    event: &'a Happened,
    open: &'a Suspension,
    by: &'a Principal,
    respond: Respond,
    action: Action,
    /// When the server judged it.
    at: DateTime<Utc>,
    /// The person, for findings.
    person: &'a str,
    claim: Claim<'a>,
}

impl Course<'_> {
    /// An answer is a choice or a value that the question accepts, in time, and from someone who may answer. If several people must agree,
    /// it is the one with which enough of them did.
    pub(super) fn answered(&mut self, event: &Happened, answer: &Resumed) -> Judged {
        let agreed: Vec<String> = answer.agreed.iter().map(|agreed| agreed.person.clone()).collect();
        let is_same = |decided: &[Event], open: &Suspension| compare(decided, event, answer, open);
        let (open, doubts) = match self.given(event, answer, Claim::Agreed(&agreed), &is_same) {
            Ok(Some(given)) => given,
            Ok(None) => return self.not_open(answer.suspension_id),
            Err(fault) => return Err(fault),
        };
        if open.kind.stops_intent() {
            self.due.push_back(Due::Status { is_abandoned: false });
        }
        Ok(doubts)
    }

    /// An answer that counts towards a quorum keeps the rules of every answer, and is not enough.
    pub(super) fn counted(&self, event: &Happened, counted: &AnswerCounted) -> Judged {
        let is_same = |decided: &[Event], _: &Suspension| match decided.first().map(Payload::of) {
            Some(Payload::AnswerCounted(due)) if *due == *counted => Ok(()),
            Some(Payload::AnswerCounted(due)) => {
                let name = first(&*due, counted);
                Err(differs(format!("The answer that was counted says another {name} than the question and the credential do.")))
            }
            Some(_) | None => Err(differs("The answer does not have the effect of one after which more people must agree.")),
        };
        let (answer, value) = (counted.to_answer(), counted.value.clone());
        match self.given(event, &answer, Claim::Counted(counted.approvals.given, &value), &is_same)? {
            Some((_, doubts)) => Ok(doubts),
            None => self.not_open(counted.suspension_id),
        }
    }

    /// A person takes back an own answer that counts, before the deadline.
    pub(super) fn taken_back(&self, event: &Happened, taken: &AnswerTakenBack) -> Judged {
        let Some(open) = self.intent.opened(taken.suspension_id) else { return self.not_open(taken.suspension_id) };
        // A gateway acts under its own name for the person.
        let is_gateway = taken.taken_back_by.to_lowercase() != taken.person;
        let role = if is_gateway { Role::Channel } else { Role::Operator };
        let (subject, assurance) = (&*taken.taken_back_by, Assurance::ApiKey);
        let who = self.keys.person(&Acted { event, subject, role, assurance, credential: taken.credential })?;
        let by_link = self.was_sent_to(open, event, taken.credential)?;
        let by = &who.principal;
        let respond = Respond {
            claimed_responded_by: (by.role == Role::Channel).then(|| taken.person.clone()),
            takes_back: true,
            ..about(open)
        };
        let is_same = |decided: &[Event], _: &Suspension| match decided.first() {
            Some(Event::AnswerTakenBack(due)) if due == taken => Ok(()),
            Some(_) | None => Err(differs(NOT_OWN)),
        };
        let (claim, at) = (Claim::TakenBack, at_least(event, open));
        let attempt = Attempt { event, open, by, respond, action: Action::Decide, at, person: &taken.person, claim };
        let mut doubts = self.judge_attempt(attempt, &is_same)?;
        // The clock may have shown a time before the deadline, and the event does not say which one.
        if !event.is_exact && open.is_expired(event.at) {
            doubts.insert(Doubt::Clock);
        }
        doubts.extend(who.doubts);
        doubts.extend(by_link);
        Ok(doubts)
    }

    /// Judges an answer, whatever its effect is; `is_same` compares that effect with the log. `None` if the question is not open.
    fn given(
        &self,
        event: &Happened,
        answer: &Resumed,
        claim: Claim<'_>,
        is_same: &Comparison<'_>,
    ) -> Result<Option<(Suspension, Doubts)>, Fault> {
        let Some(open) = self.intent.opened(answer.suspension_id).cloned() else { return Ok(None) };
        if answer.responded_at > event.at || (event.is_exact && answer.responded_at != event.at) {
            return Err(differs("The answer says that it was given at another time than its event."));
        }
        let subject = answer.responded_by.as_deref().unwrap_or_default();
        let Resumed { role, assurance, credential, .. } = *answer;
        let who = self.keys.person(&Acted { event, subject, role, assurance, credential })?;
        let mut doubts = self.was_sent_to(&open, event, credential)?;
        let mut by = who.principal.clone();
        doubts.extend(who.doubts);
        if let Some(assertion) = &answer.assertion {
            doubts.extend(self.passkeys.signed(event, answer, assertion)?);
            by.assurance = Assurance::Passkey;
        }
        let question = self.questions.get(&open.id);
        let proposal = question.and_then(|question| question.proposal.as_ref());
        if proposal.is_some() && answer.evidence.is_none() {
            return Err(differs("The question proposes an action, and the answer has no hash of the action that was approved."));
        }
        let by = &by;
        let claimed = if by.role == Role::Channel { &answer.responded_by } else { &answer.claimed_responded_by };
        let respond = Respond {
            // An accepted answer has a value; a form may be answered with null.
            value: Some(answer.value.clone().unwrap_or_default()),
            claimed_responded_by: claimed.clone(),
            metadata: Some(answer.metadata.clone()),
            expects: (!open.kind.stops_intent()).then_some(open.kind),
            // The texts of questions are not kept, so the hashes over them are taken as they are.
            evidence: answer.evidence,
            assertion: answer.assertion.clone(),
            comment_on_refusal: question.and_then(|question| question.comment_on_refusal.clone()),
            proposal: proposal.cloned(),
            named: Named { action: answer.proposal.clone(), based_on: None },
            via: answer.via,
            ..about(&open)
        };
        let action = if open.kind.stops_intent() { Action::Respond } else { Action::Decide };
        let person = answer.responded_by.as_deref().unwrap_or(&event.actor);
        let attempt = Attempt { event, open: &open, by, respond, action, at: answer.responded_at, person, claim };
        doubts.extend(self.judge_attempt(attempt, is_same)?);
        Ok(Some((open, doubts)))
    }

    /// Judges an answer, or that a person takes one back, by each state in which people may have been. It is right if it is right by one
    /// of them: a fault that does not depend on people is one by all of them.
    fn judge_attempt(&self, mut attempt: Attempt<'_>, is_same: &Comparison<'_>) -> Judged {
        let Attempt { event, open, by, claim, .. } = attempt;
        let claimed = attempt.respond.claimed_responded_by.as_deref();
        let (standings, is_sure) = self.standings(open, by, claimed, claim, event);
        let mut judged = Ok(Doubts::new());
        for standing in standings {
            judged = self.judge_standing(&mut attempt, &standing, is_same);
            if judged.is_ok() {
                break;
            }
        }
        let mut doubts = judged?;
        if !is_sure {
            doubts.insert(Doubt::People);
        }
        if self.is_about_work(open) {
            doubts.insert(Doubt::Plan);
        }
        if open.kind.stops_intent() && !self.intent.member_of.is_empty() {
            doubts.insert(Doubt::Portfolio);
        }
        Ok(doubts)
    }

    /// Judges an answer, or that a person takes one back, as if people had stood like this.
    fn judge_standing(&self, attempt: &mut Attempt<'_>, standing: &Standing, is_same: &Comparison<'_>) -> Judged {
        let Attempt { event, by, action, at, .. } = *attempt;
        let open = self.with_standing(attempt.open, standing);
        attempt.respond.answerer.clone_from(&standing.answerer);
        attempt.respond.in_place_of = self.in_place_of(&open, standing);
        // The log does not say from which action a person began; the server refused one that was not the newest.
        let current = attempt.respond.proposal.as_ref().map(|proposal| proposal.current(&open.counted));
        attempt.respond.named.based_on = current.and_then(action_digest);
        let (alone, command) = (self.with_only(&open), Command::Respond(Box::new(attempt.respond.clone())));
        let decided = decide(&alone, &command, by, at).map_err(|refusal| why(&refusal.rejection, attempt))?;
        let allowed = self.allowed((by, &standing.holders), action, &open, &command, &alone, event);
        let doubts = allowed.map_err(|rejection| not_allowed(&rejection, by, event))?;
        is_same(&decided, &open)?;
        Ok(doubts)
    }

    /// Refuses an answer by the link of a message that was about another question, or went to another person.
    pub(super) fn was_sent_to(&self, open: &Suspension, event: &Happened, credential: Option<Credential>) -> Judged {
        self.links.judge(Link::of(event, open.id, credential).as_ref())
    }

    /// An answer is refused only after the question has ended, and for that reason.
    pub(super) fn refused(&self, event: &Happened, refused: &RefusedAnswer) -> Judged {
        let id = refused.suspension_id;
        if let Some(open) = self.intent.opened(id).cloned() {
            let mut doubts = self.refused_in_time(event, refused, &open)?;
            doubts.extend(self.links.judge_refused(Link::of(event, id, refused.credential).as_ref())?);
            return Ok(doubts);
        }
        let Some(ended) = self.intent.ended.iter().find(|ended| ended.id == id) else { return self.not_open(id) };
        let (subject, role, assurance) = (&*refused.responded_by, Role::Operator, Assurance::ApiKey);
        let mut who = self.keys.who(&Acted { event, subject, role, assurance, credential: refused.credential })?;
        // A refused answer decides nothing, but it says what its person wanted.
        who.doubts.extend(self.links.judge_refused(Link::of(event, id, refused.credential).as_ref())?);
        let mut alone = self.with_only(ended);
        (alone.open, alone.beside, alone.ended) = (None, Vec::new(), vec![ended.clone()]);
        let respond = Respond { value: refused.value.clone(), ..about(ended) };
        let refusal = decide(&alone, &Command::Respond(Box::new(respond)), &who.principal, event.at).err();
        let record = refusal.and_then(|refusal| refusal.record);
        if record.is_some_and(|record| record.event_type() != event.event_type) {
            let text = "A refused answer is recorded under another reason than the one for which it was refused.";
            return Err(Fault::new(Code::DecisionDiffers, text));
        }
        Ok(who.doubts)
    }
}

impl Course<'_> {
    /// An answer that was refused while its question was open is the asker's own, or words that are no answer to the question.
    fn refused_in_time(&self, event: &Happened, refused: &RefusedAnswer, open: &Suspension) -> Judged {
        let (subject, role, assurance) = (&*refused.responded_by, Role::Operator, Assurance::ApiKey);
        let who = self.keys.who(&Acted { event, subject, role, assurance, credential: refused.credential })?;
        let is_right = match &*refused.code {
            "self_response" => {
                let (alone, command) = (self.with_only(open), Command::Respond(Box::new(about(open))));
                let allowed = self.allowed((&who.principal, &[]), Action::Respond, open, &command, &alone, event);
                // A stand-in for a principal that is not known may be anyone's.
                !who.doubts.is_empty() || matches!(allowed, Err(Rejection::SelfResponse))
            }
            "invalid_choice" | "invalid" => {
                let is_no_answer =
                    |value: &Value| value.as_str().is_some_and(|text| Words::Text(text.to_owned()).meant(open).is_none());
                refused.value.as_ref().is_none_or(is_no_answer)
            }
            _ => false,
        };
        if is_right {
            return Ok(who.doubts);
        }
        let text = "An answer is recorded as refused, although the question was open: the server left out an answer.";
        Err(Fault::new(Code::RefusedInTime, text))
    }
}

fn differs(text: impl Into<String>) -> Fault {
    Fault::new(Code::DecisionDiffers, text)
}

/// An answer to a question that says nothing yet.
fn about(open: &Suspension) -> Respond {
    Respond { suspension_id: open.id.expose(), ..Respond::default() }
}

/// Why an answer is none, in words.
fn why(rejection: &Rejection, attempt: &Attempt<'_>) -> Fault {
    let person = quoted(attempt.person, SHOWN_MAX);
    let takes_back = attempt.respond.takes_back;
    if let Rejection::Expired { .. } = rejection {
        let until = attempt.open.ends_at().map(rfc3339).unwrap_or_default();
        let (at, did) = (rfc3339(attempt.at), if takes_back { "took an answer back" } else { "answered" });
        let text = format!("{person} {did} at {at}, after the deadline: the question could be answered until {until}.");
        return Fault::new(Code::AnswerLate, text);
    }
    if *rejection == Rejection::NotCounted {
        return differs(NOT_OWN);
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
    if let Rejection::AssuranceTooLow { required, given: _ } = rejection {
        return match required {
            RequiredAssurance::Passkey => {
                let text = format!("The question demanded a {required}, and the answer of {actor} carries no signature of one.");
                Fault::new(Code::PasskeyMissing, text)
            }
            RequiredAssurance::RecentLogin => {
                let text = format!("The question demanded a recent login, and {actor} answered without one.");
                Fault::new(Code::AnswerNotAllowed, text)
            }
            RequiredAssurance::Session => {
                let text = format!("The question demanded that people log in, and {actor} answered without a session.");
                Fault::new(Code::AnswerNotAllowed, text)
            }
        };
    }
    let text = match (rejection, by.role) {
        (Rejection::NotAssigned, _) => format!("{actor} answered, and {rejection}."),
        (Rejection::SelfResponse, _) | (_, Role::Agent) => {
            format!("{actor} answered, and {rejection}: the answer is the asker's own.", rejection = Rejection::SelfResponse)
        }
        (_, role) => format!("{actor} answered with a key of the role {role}, which may not answer this question: {rejection}."),
    };
    Fault::new(Code::AnswerNotAllowed, text)
}

/// Compares an answer with the event to which its command leads.
fn compare(decided: &[Event], event: &Happened, answer: &Resumed, open: &Suspension) -> Result<(), Fault> {
    let differs = |text: String| Err(differs(text));
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
    let due = Event::Resumed(Box::new(rebuilt::resumed(logged, open.kind)));
    let event_type = due.event_type();
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
